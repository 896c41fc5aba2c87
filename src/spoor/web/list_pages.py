"""Whether a page is a list of documents: the front page of a blog, the pages of a tag or a month.

Such a page is made of entries: a heading that links to a document, a few words of it, and its date.
A forum's thread has no such headings, a team's page no dates, and an article with related ones
below has a long text of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from spoor.web.text import UNSPACED

if TYPE_CHECKING:
    from spoor.web.tree_walk import Walk

LEAST = 3
"""Entries of a list, where they are told by their dates alone."""
DATED = 0.8
"""Least share of its entries that have a date or are marked as such (hAtom, h-entry)."""
SHARE = 0.5
"""Least share of the words of its page, without links beside it."""
LONGEST = 3.0
"""An entry counts with so many times the median at most: what stands between the site's name and
the first related article is none."""
OWN = 80
"""Words without a link before the first entry, at most, …"""
TEXT = 100
"""… and in an entry, …"""
TEXTS = 3.5
"""… or so many times the median size of three or more: what is longer is an article."""
_BESIDE = frozenset({"nav", "aside", "footer", "header"})


def is_list_page(walk: Walk, words: Sequence[str], counts: Sequence[int], url: str) -> bool:
    """Of a page that was walked; `counts`: words before each cut. O(links)."""
    entries = _entries(walk, url)
    marked = [walk.found[number].place.in_entry for number in entries]
    if len(entries) < LEAST and not (entries and all(marked)):
        return False
    cuts = [walk.found[number].begin for number in entries]
    begins = [counts[cut] for cut in cuts]
    end, beside = _around(walk, counts, entries[-1])
    sizes = [after - before for before, after in pairwise([*begins, end])]
    usual = median(sizes)
    if sum(min(size, LONGEST * usual) for size in sizes) < SHARE * (end - beside):
        return False
    longest = max(TEXT, TEXTS * usual) if len(entries) >= LEAST else TEXT
    for begin, size in _texts(walk, counts):
        if begin < end and size > (OWN if begin < begins[0] else longest):
            return False
    dated = _dated(walk.times, cuts) if _are_titles(walk, words, counts, entries) else marked
    return sum(map(max, dated, marked)) >= DATED * len(entries)


def _entries(walk: Walk, url: str) -> list[int]:
    """The links in headings that lead to other pages of the site, each page once; none to a folder
    that this page is in, or to the home page."""
    site, seen, entries = _site(url), {url, walk.canonical}, list[int]()
    for number in walk.titles:
        to, place = walk.urls[number], walk.found[number].place
        if to in seen or _site(to) != site or (to.endswith("/") and url.startswith(to)):
            continue
        if walk.ends[number] < 0 or place.in_text:
            continue
        if place.in_entry or place.region not in ("nav", "aside", "footer"):
            seen.add(to)
            entries.append(number)
    return entries


def _site(url: str) -> str:
    """The host of a URL; empty for a chapter of a book, which has none."""
    return url.partition("://")[2].partition("/")[0]


def _around(walk: Walk, counts: Sequence[int], last: int) -> tuple[int, int]:
    """Words before the end of the list whose last entry has this number, and how many of these are
    links beside it: of menus."""
    beside = 0
    for number, (found, end) in enumerate(zip(walk.found, walk.ends, strict=True)):
        if found.place.region in _BESIDE and not found.place.in_entry and end >= 0:
            if number > last:
                return counts[found.begin], beside
            beside += counts[end] - counts[found.begin]
    return counts[-1], beside


def _texts(walk: Walk, counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Texts without a link: where each begins, and its words."""
    last = 0
    for found, end in zip(walk.found, walk.ends, strict=True):
        yield last, counts[found.begin] - last
        last = counts[end] if end >= 0 else last
    yield last, counts[-1] - last


def _are_titles(
    walk: Walk, words: Sequence[str], counts: Sequence[int], entries: Sequence[int]
) -> bool:
    """Whether most of these links have more than a word, as the names of a thread's authors."""
    titles = [
        words[counts[walk.found[number].begin] : counts[walk.ends[number]]] for number in entries
    ]
    long = sum(len(title) > 1 or UNSPACED.match("".join(title)) is not None for title in titles)
    return 2 * long > len(entries)


def _dated(times: Sequence[int], cuts: Sequence[int]) -> list[bool]:
    """Whether a time stands between each entry and the next, or the one before where dates come
    first."""
    at = [bisect_left(times, cut) for cut in cuts]
    after = [end > begin for begin, end in pairwise([*at, len(times)])]
    before = [end > begin for begin, end in pairwise([0, *at])]
    return max(after, before, key=sum)
