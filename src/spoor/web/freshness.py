"""For how long a reply stands for its page, by its own word: `Cache-Control`, `Expires`, `Age`, and
where they say nothing the age that the page had (RFC 9111, section 4.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from spoor.durations import DAY
from spoor.web.dates import http_date

LONGEST = 365 * DAY
"""Seconds: whoever promises more is taken at so much."""

HEURISTIC = 0.1
"""Share of a page's age that it stays what it is where nobody says for how long, as section 4.2.2
proposes."""

_SECONDS = re.compile(r"(?:^|[,\s])(s-maxage|max-age)\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_NEVER = re.compile(r"(?:^|[,\s])(?:no-cache|no-store)(?:$|[,\s=])", re.IGNORECASE)


def fresh_for(headers: Mapping[str, str]) -> float:
    """Seconds in [0, `LONGEST`] for which a reply says that it need not be asked for again; 0 where
    it says nothing. 2 µs where it has no such header."""
    control, expires = headers.get("Cache-Control"), headers.get("Expires")
    if control is None and expires is None:
        return 0.0
    control = (control or "")[:1000]
    if _NEVER.search(control):
        return 0.0
    ages = {name.lower(): float(value) for name, value in _SECONDS.findall(control)}
    if ages:
        written = headers.get("Age", "")
        seconds = ages.get("max-age", ages.get("s-maxage", 0.0))
        seconds -= float(written) if written.isascii() and written.isdigit() else 0.0
    else:
        until, made = http_date(expires or ""), http_date(headers.get("Date", ""))
        seconds = 0.0 if until is None or made is None else until - made
    return min(LONGEST, max(0.0, seconds))


def heuristically_fresh_for(last_modified: str, fetched: float) -> float:
    """The same for a page that says no more than when it was changed last (a header's value), and
    was fetched at `fetched`, Unix seconds."""
    changed = http_date(last_modified)
    return 0.0 if changed is None else min(LONGEST, max(0.0, HEURISTIC * (fetched - changed)))
