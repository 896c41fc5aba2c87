"""Seconds of an hour and of a day, and since 1970."""

from datetime import UTC, datetime

HOUR = 3_600.0
DAY = 24 * HOUR


def is_moment(value: object) -> bool:
    """Whether a value of a stranger's says when something was, in Unix seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return False
    return True
