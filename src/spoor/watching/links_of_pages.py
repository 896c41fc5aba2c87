"""The links of each page, by the numbers of URLs, in four bytes a link."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from struct import Struct

import numpy as np

from spoor.columns import pieces_of
from spoor.types import State
from spoor.watching.compact_tables import ByteRows

_HEAD = Struct("=QQ")
_SIZE = array("i").itemsize


class LinksOfPages:
    """What each page linked to at its last download, with digests of its content and its links."""

    def __init__(self) -> None:
        self.rows = ByteRows()
        """By number of the page: both digests, then the links; nothing for one without a look."""

    def knows(self, page: int) -> bool:
        """Whether a page was looked at."""
        return bool(self.rows[page])

    def is_as(self, page: int, content: int, seen: int) -> bool:
        """Whether these are the digests of its content and its links."""
        return self.rows[page].startswith(_HEAD.pack(content, seen))

    def of(self, page: int) -> list[int]:
        """What a page links to."""
        return _links(self.rows[page])

    def note(self, page: int, content: int, seen: int, links: Sequence[int]) -> None:
        """A page was downloaded."""
        self.rows[page] = _HEAD.pack(content, seen) + array("i", links).tobytes()

    def keep(self, page: int, links: Sequence[int]) -> None:
        """Keep these of the links of a page."""
        self.rows[page] = self.rows[page][: _HEAD.size] + array("i", links).tobytes()

    def forget(self, page: int) -> None:
        """A page is known no more."""
        self.rows[page] = b""

    def all(self) -> Iterator[list[int]]:
        """Those of each page."""
        return map(_links, self.rows)

    def to(self, url: int) -> Iterator[int]:
        """The pages that link to a URL. O(bytes of all links), some 10⁹ a second."""
        wanted = array("i", [url]).tobytes()
        for page, row in enumerate(self.rows):
            at = row.find(wanted, _HEAD.size)
            while at >= 0 and (at - _HEAD.size) % _SIZE:
                at = row.find(wanted, at + 1)
            if at >= 0:
                yield page

    def save(self) -> State:
        """As arrays of numbers of pages, of digests, and of links one page after the other."""
        pages = [page for page, row in enumerate(self.rows) if row]
        rows = [self.rows[page] for page in pages]
        heads = np.frombuffer(b"".join([row[: _HEAD.size] for row in rows]), dtype=np.uint64)
        links = np.frombuffer(b"".join([row[_HEAD.size :] for row in rows]), dtype=np.dtype("i"))
        sizes = np.array([len(row) for row in rows], dtype=np.int64)
        return {
            "of": np.array(pages, dtype=np.int64),
            "content": heads[::2].copy(),
            "seen": heads[1::2].astype(np.int64),
            "count": (sizes - _HEAD.size) // _SIZE,
            "to": links.astype(np.int64),
        }

    def load(self, state: State, urls: int) -> None:
        """Go on from `save`, where so many URLs are known. Raises ValueError where a page is none
        of these: its row would take the memory of all before it."""
        for name, most in (("of", urls), ("content", 1 << 64), ("seen", 1 << 64)):
            its = state[name]
            least, last = its.min(initial=0), its.max(initial=0)
            if its.dtype.kind not in "iu" or least < 0 or int(last) >= most:
                raise ValueError(f"{name} of the links of pages are no such numbers")
        self.rows = ByteRows()
        parts = pieces_of(state["to"], state["count"])
        its = (state[name].tolist() for name in ("of", "content", "seen"))
        for page, content, seen, links in zip(*its, parts, strict=True):
            self.note(page, content, seen, links.tolist())


def _links(row: bytes) -> list[int]:
    links = array("i")
    links.frombytes(row[_HEAD.size :])
    return links.tolist()
