"""The links of a parsed page, each of which is made when it is asked for: of a page's hundred
links, most lead to pages that are known, and nobody asks for the words around them."""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from sys import intern
from typing import Any, NamedTuple, overload

import numpy as np

from spoor.types import Anchor, Link
from spoor.web.tag_paths import Place

CONTEXT_WORDS = 10
_CONTEXT_CHARACTERS = 200
_ANCHOR_WORDS = 50
_ANCHOR_CHARACTERS = 500


class Found(NamedTuple):
    """A link whose place on its page is known."""

    kind: str
    begin: int
    """Number of the cut before it."""
    headings: tuple[str, ...]
    """Above it."""
    place: Place
    nofollow: bool
    own: str
    """Its text where the element has none in it (image, area, frame)."""


class Read(NamedTuple):
    """What the links of one page are made of."""

    words: Sequence[str]
    """All of the page."""
    counts: Sequence[int]
    """Words before each cut: a place where a link begins or ends."""
    found: Sequence[Found]
    ends: Sequence[int]
    """Of each link, the number of the cut at its end; −1 for one without content."""
    nofollow: bool
    """The whole page asks not to be followed."""
    anchors: dict[int, Anchor]
    """Those that were made."""


class PageLinks(Sequence[Link]):
    """Links of one page. Equal to any sequence of the same links."""

    __slots__ = ("_numbers", "_read", "urls")
    stored = False

    def __init__(self, urls: Sequence[str], numbers: Sequence[int], read: Read) -> None:
        self.urls = urls
        """URL of each link."""
        self._numbers = numbers
        """Of each link among all of the page."""
        self._read = read

    def __len__(self) -> int:
        return len(self.urls)

    @overload
    def __getitem__(self, index: int, /) -> Link: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[Link]: ...
    def __getitem__(self, index: int | slice, /) -> Link | Sequence[Link]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        number = self._numbers[index]
        anchor = self._read.anchors.get(number) or self._anchor(number)
        kind = self._read.found[number].kind
        # As `Link(…)`, and `Anchor(…)` below, in a third of its time.
        return tuple.__new__(Link, (self.urls[index], anchor, kind))

    def _anchor(self, number: int) -> Anchor:
        words, counts, found, ends, page_nofollow, anchors = self._read
        _, cut, headings, place, nofollow, own = found[number]
        begin = end = counts[cut]
        if ends[number] >= 0:
            end = counts[ends[number]]
        if end > begin:
            text = " ".join(words[begin : min(end, begin + _ANCHOR_WORDS)])[:_ANCHOR_CHARACTERS]
        else:
            text = own[:_ANCHOR_CHARACTERS]
        before = " ".join(words[max(0, begin - CONTEXT_WORDS) : begin])[-_CONTEXT_CHARACTERS:]
        after = " ".join(words[end : end + CONTEXT_WORDS])[:_CONTEXT_CHARACTERS]
        barred = nofollow or page_nofollow
        said = (text, before, after, headings, place.path, number, place.region, barred)
        anchor = anchors[number] = tuple.__new__(Anchor, said)
        return anchor

    def __iter__(self) -> Iterator[Link]:
        return map(self.__getitem__, range(len(self.urls)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def __reduce__(self) -> tuple[type[list[Link]], tuple[list[Link]]]:
        return list, (list(self),)

    @property
    def kinds(self) -> list[str]:
        """Kind of each link. Makes no anchor."""
        return [self._read.found[number].kind for number in self._numbers]

    @property
    def not_to_follow(self) -> Collection[int]:
        """Which are not to be followed, as their anchors have it."""
        if self._read.nofollow:
            return range(len(self.urls))
        found = self._read.found
        return {at for at, number in enumerate(self._numbers) if found[number].nofollow}

    def places(self) -> list[tuple[str, tuple[str, ...], str]]:
        """As `places_of`. Makes no anchor."""
        found = [self._read.found[number] for number in self._numbers]
        return [(one.place.path, one.headings, one.place.region) for one in found]

    def those(self, indices: Sequence[int], urls: Sequence[str] | None = None) -> PageLinks:
        """Some of them, with other URLs where these are given."""
        if urls is None:
            urls = [self.urls[index] for index in indices]
        return PageLinks(urls, [self._numbers[index] for index in indices], self._read)

    def row(self) -> dict[str, Any]:
        """As JSON values in columns, without the words of the page. Makes no anchor; O(links)."""
        _, counts, found, ends, nofollow, _ = self._read
        kinds, begins, above, at, barred, own = zip(*found, strict=True) if found else ((),) * 6
        steps = [(place.path, place.region) for place in at]
        row: dict[str, Any] = {"urls": self.urls, "nofollow": nofollow}
        for name, values in (
            ("kinds", kinds),
            ("headings", above),
            ("places", steps),
            ("own", own),
        ):
            number_of = {one: number for number, one in enumerate(dict.fromkeys(values))}
            row |= {f"all_{name}": [*number_of], name: _packed(map(number_of.__getitem__, values))}
        columns = {"counts": counts, "numbers": self._numbers, "begins": begins, "ends": ends}
        row |= {name: _packed(values) for name, values in columns.items()}
        return row | {"barred": _packed(map(int, barred))}

    @classmethod
    def of(cls, row: Mapping[str, Any], words: Sequence[str]) -> PageLinks:
        """The links that `row` was made of, on a page of these words. Raises ValueError or
        TypeError for anything else: it may come from whoever took a parser over."""
        urls, all_kinds, all_own = row["urls"], row["all_kinds"], row["all_own"]
        "".join([*urls, *all_kinds, *all_own])  # nothing but texts
        headings = [tuple(map(str, above)) for above in row["all_headings"]]
        places = [Place(intern(path), str(region)) for path, region in row["all_places"]]
        kinds = _unpacked(row["kinds"], 0, len(all_kinds))
        found = len(kinds)
        counts = _unpacked(row["counts"], 0, len(words) + 1)
        numbers = _unpacked(row["numbers"], 0, found, length=len(urls))
        begins = _unpacked(row["begins"], 0, len(counts), length=found)
        ends = _unpacked(row["ends"], -1, len(counts), length=found)
        above = _unpacked(row["headings"], 0, len(headings), length=found)
        at = _unpacked(row["places"], 0, len(places), length=found)
        own = _unpacked(row["own"], 0, len(all_own), length=found)
        columns = (
            map(all_kinds.__getitem__, kinds),
            begins,
            map(headings.__getitem__, above),
            map(places.__getitem__, at),
            map(bool, _unpacked(row["barred"], 0, 2, length=found)),
            map(all_own.__getitem__, own),
        )
        # As `Found(…)`, in a third of its time.
        every = [*map(partial(tuple.__new__, Found), zip(*columns, strict=True))]
        return cls(urls, numbers, Read(words, counts, every, ends, bool(row["nofollow"]), {}))


def _packed(numbers: Iterable[int]) -> str:
    """Whole numbers as one text: as numbers of JSON they take three times as long, both ways."""
    return b64encode(array("i", numbers)).decode()


def _unpacked(column: str, least: int, end: int, *, length: int | None = None) -> list[int]:
    """What was `_packed`: numbers in [least, end), so many where that is told. Raises ValueError or
    TypeError."""
    numbers = np.frombuffer(b64decode(column, validate=True), np.intc)
    if length is not None and len(numbers) != length:
        raise ValueError(f"a column of {len(numbers)}")
    if len(numbers) and not (least <= numbers.min() and numbers.max() < end):
        raise ValueError(f"a number outside of [{least}, {end})")
    found: list[int] = numbers.tolist()
    return found


def places_of(links: Sequence[Link]) -> list[tuple[str, tuple[str, ...], str]]:
    """Tag path, headings above and region of each link; of a parsed page without their words."""
    if isinstance(links, PageLinks):
        return links.places()
    anchors = [link.anchor for link in links]
    return [(anchor.tag_path, anchor.headings, anchor.region) for anchor in anchors]


SEARCHES = ("index", "search")
"""Kinds of links to a search index, and to an answer of a site's search."""
LISTS = ("sitemap", *SEARCHES)
"""Kinds of links to lists, which no page has itself."""


def on_page(links: Sequence[Link]) -> int:
    """How many links stand on their page: behind them are lists that robots.txt names, or that the
    host is asked for, with the first page of it that a process reads."""
    count = len(links)
    if isinstance(links, PageLinks):
        return count  # as they were parsed
    while count and (last := links[count - 1]).kind in LISTS and not last.anchor.tag_path:
        count -= 1
    return count


def at_hand(links: Sequence[Link]) -> Sequence[Link]:
    """Links of which many will be asked for: those of other sources than a
    parsed page are made at once."""
    return links if isinstance(links, PageLinks) else list(links)


def not_to_follow(links: Sequence[Link]) -> Collection[int]:
    """Which of the links of a page are not to be followed, as their anchors have it."""
    if isinstance(links, PageLinks):
        return links.not_to_follow
    return {at for at, link in enumerate(links) if link.anchor.nofollow}


def those(
    links: Sequence[Link], indices: Sequence[int], urls: Sequence[str] | None = None
) -> Sequence[Link]:
    """Some of the links of a page, with other URLs where these are given."""
    if isinstance(links, PageLinks):
        return links.those(indices, urls)
    chosen = [links[index] for index in indices]
    if urls is None:
        return chosen
    return [
        link if link.url == url else link._replace(url=url)
        for link, url in zip(chosen, urls, strict=True)
    ]
