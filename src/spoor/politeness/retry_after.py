"""How long a Retry-After header asks to wait."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

from spoor.durations import DAY


def retry_after(value: str, now: float) -> float | None:
    """Seconds to wait by a Retry-After header, which gives seconds or a date; at most a day. None
    where it gives neither. `now`: Unix seconds."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), DAY)
    try:
        until = parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
    return min(max(0.0, until - now), DAY)
