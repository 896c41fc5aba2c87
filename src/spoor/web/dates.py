"""When a page was changed last, by its own word."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from itertools import islice

from spoor.durations import DAY
from spoor.web.exchange import Exchange

MAX_BYTES = 1 << 19
"""Bytes of a page that are searched for its dates."""

_OF_URL = re.compile(
    r"/((?:19[89]|20\d)\d)([/-]?)([01]\d)(?:(?<=\d)\2([0-3]\d)(?![\d])|(?<=/\d\d)(?=/))"
)

MOST_DATES = 20
"""Of a kind that are looked at."""

_NAMES = re.compile(rb"article:(?:published|modified)_time|og:updated_time")
_CONTENT = re.compile(rb"content\s*=\s*[\"']([^\"']{8,40})[\"']", re.IGNORECASE)
_LINKED_DATA = re.compile(rb"\"date(?:Published|Modified)\"\s{0,20}:\s{0,20}\"([^\"]{8,40})\"")


def last_modified(exchange: Exchange) -> float | None:
    """When the content of a reply was changed last, Unix seconds; None where nothing says.

    The latest of the dates that the page itself states (article:published_time,
    article:modified_time, og:updated_time; datePublished and dateModified of linked data) and does
    not place in the future; else Last-Modified, unless that is the time of the reply, as it is
    where pages are made when asked for.
    """
    latest = exchange.began + 60.0
    stated = [date for date in dates_in(exchange.body) if 0.0 <= date <= latest]
    if stated:
        return max(stated)
    header = http_date(exchange.header("Last-Modified"))
    made = http_date(exchange.header("Date"))
    if header is None or header < 0.0 or header >= (exchange.began if made is None else made) - 2.0:
        return None
    return header


def dates_in(body: bytes) -> list[float]:
    """All dates that a page states about itself."""
    head, written = body[:MAX_BYTES], list[bytes]()
    # Most pages have neither, and the others at one place.
    names = _NAMES.finditer(head, *_between(head, b"ed_time"))
    linked = _LINKED_DATA.finditer(head, *_between(head, b'"datePublished"', b'"dateModified"'))
    for name in islice(names, MOST_DATES):
        # The enclosing tag, within a window, so that a hostile page costs no more than another.
        begin = head.rfind(b"<", max(0, name.start() - 250), name.start())
        end = head.find(b">", name.end(), name.end() + 250)
        if begin >= 0 and end >= 0 and head[begin : begin + 5].lower() == b"<meta":
            written += _CONTENT.findall(head[begin:end])
    written += [match[1] for match in islice(linked, MOST_DATES)]
    return [date for date in map(_iso_date, written) if date is not None]


def _between(head: bytes, *words: bytes) -> tuple[int, int]:
    """From where to where these words stand, with what belongs to each; nowhere without one."""
    first = [at for word in words if (at := head.find(word)) >= 0]
    if not first:
        return 0, 0
    return max(0, min(first) - 32), max(map(head.rfind, words)) + 128


def _iso_date(written: bytes) -> float | None:
    try:
        date = datetime.fromisoformat(written.decode("ascii").strip())
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=64)  # replies of one second have one
def http_date(written: str) -> float | None:
    """A date of a header, Unix seconds; None where it is none."""
    try:
        return parsedate_to_datetime(written).timestamp()
    except (ValueError, OverflowError):
        return None


def date_of_url(url: str) -> tuple[float, float] | None:
    """Begin and end (Unix seconds, UTC) of the day or month that the path of a URL names as those
    of news and logs do (`/2024/03/05/`, `/2024/03/`, `/2024-03-05-…`, `/20240305/`); None where it
    names none. O(characters)."""
    path = url.partition("?")[0][:2_000]
    match = _OF_URL.search(path, path.find("/", 8))
    if match is None:
        return None
    year, month, day = (int(part) if part else 0 for part in (match[1], match[3], match[4]))
    try:
        begin = datetime(year, month, day or 1, tzinfo=UTC)
        after = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
    except ValueError:
        return None
    end = begin.timestamp() + DAY if day else after.timestamp()
    return begin.timestamp(), end - 1.0


def day_of_url(url: str) -> str:
    """The day that the path of a URL names, `2024-03-05`; empty where it names none."""
    named = date_of_url(url)
    if named is None or named[1] - named[0] > DAY:
        return ""
    return datetime.fromtimestamp(named[0], UTC).date().isoformat()
