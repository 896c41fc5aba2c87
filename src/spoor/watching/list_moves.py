"""What the order of a list says of the pages that it shows. One that rose above others was touched
since the last look, as in a list by the last reply; one that came from elsewhere may have been; and
one that is gone from between others may be gone itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

ROSE, CAME, WENT = range(3)

STAY = 5
"""Links of a list that stay in their order, from which on others are said to have risen."""


class Move(NamedTuple):
    """A link that moved in a list."""

    url: int
    kind: int
    """`ROSE` above others, or came above all that stayed; `CAME` elsewhere in it; `WENT`."""
    path: int
    """Markup of the list (`spoor.watching.teaser_lists.Spot`)."""


def risen(before: Sequence[int], now: Sequence[int]) -> set[int]:
    """Links of a list that stand above all those that are in their order: they rose, or kept above
    such as rose. Nothing where fewer than `STAY` stayed, or not twice as many as rose: a box shows
    its links in any order, which of a few may be that by chance."""
    places = {url: at for at, url in enumerate(before)}
    kept = [url for url in now if url in places]
    begin = 0
    for at, (one, two) in enumerate(pairwise(kept), 1):
        if places[two] < places[one]:
            begin = at
    return set(kept[:begin]) if len(kept) - begin >= max(STAY, 2 * begin) else set()


def moves(
    before: Iterable[tuple[int, int, int]], now: Iterable[tuple[int, int, int]]
) -> list[Move]:
    """How the links of a page moved in its lists between two looks, each given by (path, list, URL)
    of each link; list 0 is none. O(links)."""
    lists: tuple[dict[int, dict[int, None]], ...] = ({}, {})
    paths = dict[int, int]()
    for its, links in zip(lists, (before, now), strict=True):
        for path, name, url in links:
            its.setdefault(name, {})[url] = None
            paths[name] = path
    stood, there = ({url for urls in its.values() for url in urls} for its in lists)
    found = list[Move]()
    for name, previous in lists[0].items():
        own = lists[1].get(name, {})
        if name and own and list(previous) != list(own):
            kinds = _moved(list(previous), list(own), stood, there)
            found += (Move(url, kind, paths[name]) for url, kind in kinds)
    return found


def _moved(
    before: Sequence[int], now: Sequence[int], stood: Collection[int], there: Collection[int]
) -> Iterator[tuple[int, int]]:
    """(link, how it moved) of a list."""
    places = {url: at for at, url in enumerate(before)}
    up = risen(before, now)
    stays = [url for url in now if url in places and url not in up]
    top = places[stays[0]] if stays else len(before)
    for url in now:
        if url in up and places[url] > top:
            yield url, ROSE
    above = bool(stays)
    for url in now:
        above = above and url != stays[0]
        if url not in stood:
            yield url, ROSE if above else CAME
    kept = [at for url, at in places.items() if url in there]
    for url, at in places.items():
        if url not in there and kept and kept[0] < at < kept[-1]:
            yield url, WENT
