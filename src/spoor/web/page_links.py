"""The links of a parsed page, each of which is made when it is asked for: of a page's hundred
links, most lead to pages that are known, and nobody asks for the words around them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple, overload

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
        return Link(self.urls[index], anchor, self._read.found[number].kind)

    def _anchor(self, number: int) -> Anchor:
        words, counts, found, ends, page_nofollow, anchors = self._read
        _, cut, headings, place, nofollow, own = found[number]
        begin = counts[cut]
        end = counts[ends[number]] if ends[number] >= 0 else begin
        if end > begin:
            text = " ".join(words[begin : min(end, begin + _ANCHOR_WORDS)])[:_ANCHOR_CHARACTERS]
        else:
            text = own[:_ANCHOR_CHARACTERS]
        before = " ".join(words[max(0, begin - CONTEXT_WORDS) : begin])
        after = " ".join(words[end : end + CONTEXT_WORDS])
        anchor = anchors[number] = Anchor(
            text,
            before[-_CONTEXT_CHARACTERS:],
            after[:_CONTEXT_CHARACTERS],
            headings,
            place.path,
            number,
            place.region,
            nofollow or page_nofollow,
        )
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
    def not_to_follow(self) -> Collection[int]:
        """Which are not to be followed, as their anchors have it."""
        if self._read.nofollow:
            return range(len(self.urls))
        found = self._read.found
        return {at for at, number in enumerate(self._numbers) if found[number].nofollow}

    def those(self, indices: Sequence[int], urls: Sequence[str] | None = None) -> PageLinks:
        """Some of them, with other URLs where these are given."""
        if urls is None:
            urls = [self.urls[index] for index in indices]
        return PageLinks(urls, [self._numbers[index] for index in indices], self._read)


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
