"""Links of documents that are not HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from spoor.documents.blocks import one_line
from spoor.types import Anchor, Link
from spoor.web.urls import Joiner

_BARE = re.compile(r"\bhttps?://[^\s<>\"'`{}|\\^\[\]]{3,2000}", re.IGNORECASE)
_END = ".,;:!?*_'\""
_WORDS = 10
_CHARACTERS = 200
_HEADING_CHARACTERS = 400
_MOST_CHARACTERS = 4 << 20
"""Of all links of a document, with the headings above each: addresses of a few letters may be long
ones below that of the document."""


class Links:
    """Collects the links of a document, each target and text once, at most `room` of them."""

    def __init__(self, url: str, room: int) -> None:
        self.cut = False
        """Whether there are more."""
        self._url = url
        self._room = room
        self._characters = 0
        self._joiner = Joiner()
        self._links: dict[tuple[str, str], Link] = {}

    def add(
        self,
        href: object,
        text: str = "",
        *,
        before: str = "",
        after: str = "",
        headings: Iterable[str] = (),
    ) -> None:
        """A link; one that cannot be fetched is left out. `before` and `after` are the text around
        it, of which the nearest words are kept."""
        if len(self._links) >= self._room or self._characters > _MOST_CHARACTERS:
            self.cut = True
            return
        target = self._joiner.join(str(href).strip(), self._url) if href else None
        if target is None or target == self._url:
            return
        text = one_line(text[:500])
        anchor = Anchor(
            text,
            " ".join(before[-_CHARACTERS:].split()[-_WORDS:]),
            " ".join(after[:_CHARACTERS].split()[:_WORDS]),
            tuple(heading[:_HEADING_CHARACTERS] for heading in headings),
            "",
            len(self._links),
        )
        self._characters += len(target) + len(text) + sum(map(len, anchor.headings))
        self._links.setdefault((target, text), Link(target, anchor))

    def add_within(
        self,
        href: str,
        text: str,
        whole: str,
        begin: int,
        end: int,
        headings: Iterable[str] = (),
    ) -> None:
        """A link that stands in a whole text from `begin` to `end`."""
        before, after = whole[max(0, begin - _CHARACTERS) : begin], whole[end : end + _CHARACTERS]
        self.add(href, text, before=before, after=after, headings=headings)

    def add_bare(self, text: str, headings: Iterable[str] = ()) -> None:
        """The URLs that stand in a text."""
        for match in _BARE.finditer(text):
            url = match[0].rstrip(_END)
            if url.endswith(")") and "(" not in url:
                url = url.rstrip(")" + _END)
            begin = match.start()
            self.add_within(url, "", text, begin, begin + len(url), headings)
            if self.cut:
                return

    def __iter__(self) -> Iterator[Link]:
        return iter(self._links.values())
