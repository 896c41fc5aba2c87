"""Titles without the name of their site, which stands in each of them: "Story - The Daily Branch"
under a heading that names the site."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from spoor.web.urls import host

SEVERAL = 3
"""Titles of a host that end in the same words, from which on these name the site …"""

MOST = 0.6
"""… where so large a share of its titles do, in [0, 1]."""

LEAST = 4
"""Letters and digits of a name that its host has too, from which on one title is enough."""

MOST_PARTS = 8
"""Of a title, from its end, that are looked at: a stranger's title has no bound."""

_BETWEEN = re.compile(r" [-–—|·•»:]+ ")


def without_site_names(lines: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Lines of a watch (`spoor.live.changes.Line`) with titles that leave out what names the site
    at their end, and at their beginning where the host has the same name. O(characters)."""
    titles = dict[str, set[str]]()
    for line in lines:
        titles.setdefault(host(line["url"]), set()).update(_titles(line))
    ends = {name: _common_ends(its) for name, its in titles.items()}
    return [_shortened(line, ends[host(line["url"])]) for line in lines]


def _titles(line: Mapping[str, Any]) -> list[str]:
    return [line[name] for name in ("title", "title_before") if line.get(name)]


def _ends(title: str) -> list[str]:
    """What follows each place where a title is parted, the longest first."""
    places = [found.start() for found in _BETWEEN.finditer(title)]
    return [title[at:] for at in places[-MOST_PARTS:] if title[:at].strip()]


def _common_ends(titles: Iterable[str]) -> set[str]:
    titles = list(titles)
    counts = Counter(end for title in titles for end in _ends(title))
    least = max(SEVERAL, MOST * len(titles))
    return {end for end, count in counts.items() if count >= least}


def _shortened(line: Mapping[str, Any], ends: set[str]) -> dict[str, Any]:
    name, short = _letters(host(line["url"])), dict(line)
    for field in ("title", "title_before"):
        if title := line.get(field):
            short[field] = _without(title, ends, name)
    return short


def _without(title: str, ends: set[str], name: str) -> str:
    for end in _ends(title):
        if end in ends or _names(end, name):
            return title[: -len(end)].strip()
    begin, between, rest = title.partition(": ")
    if found := _BETWEEN.search(title):
        begin, between, rest = title[: found.start()], found[0], title[found.end() :]
    return rest.strip() if between and rest.strip() and _names(begin, name) else title


def _names(words: str, name: str) -> bool:
    """Whether words have the name of a host, but for an article."""
    letters = _letters(re.sub(r"^\W*the\s", "", words.lower()))
    return len(letters) >= LEAST and letters in name


def _letters(text: str) -> str:
    return re.sub(r"\W|_", "", text.lower())
