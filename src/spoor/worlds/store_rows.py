"""One recording as the bytes of its row in a recorded web, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from spoor.compression import compressor, is_frame, packed, unpacked
from spoor.types import Anchor, Fetched, Link, Page, Recording, Redirected
from spoor.worlds.store import FAILURE, PAGE, REDIRECT

_SMALL = 2_000
"""Bytes of a record that is not packed."""


class Packed(NamedTuple):
    """One recording as its row, without the numbers that only the complete web gives."""

    url: str
    where: str
    time: float | None
    aliases: tuple[str, ...]
    kind: int
    words: bytes
    anchors: bytes
    extra: bytes
    targets: str
    """URLs of the links, one a line; of a redirect, its location."""
    links: int
    labels: tuple[str, ...]
    site: str
    type: str
    language: str
    encoding: str
    flags: tuple[str, ...]
    status: int
    size: int
    root: bool
    digest: bytes
    """Of all that makes two recordings of a URL the same."""


def pack(recording: Recording) -> Packed:
    """The costly half of writing a recording; needs nothing of the web, so it can run anywhere."""
    reply = recording.reply
    extra = dict(recording.extra or {})
    root = extra.pop("root", None)
    if root is not None and not isinstance(root, bool):
        extra["root"] = root
    page = Page(recording.url)
    anchors, targets, kind, size = b"", "", PAGE, 0
    if isinstance(reply, Fetched):
        page, size = reply.page, reply.size
        words = _words_of(page)
        anchors = _pack_anchors(page.links)
        targets = "\n".join([link.url for link in page.links])
        status = page.status
    elif isinstance(reply, Redirected):
        kind, words, targets, status = REDIRECT, b"", reply.location, reply.status
    else:
        kind, words, status = FAILURE, _join([reply.kind, reply.reason]), reply.status
    digest = hashlib.blake2b(words, digest_size=8)
    for part in (anchors, targets.encode(), f"{kind} {status}".encode()):
        digest.update(part)
    more = json.dumps(extra, ensure_ascii=False).encode("utf-8", "replace") if extra else b""
    words, anchors, more = _stored(words, anchors, more)
    time = recording.time if recording.time is not None else page.fetched_at
    return Packed(
        url=recording.url,
        where=recording.where,
        time=time,
        aliases=recording.aliases,
        kind=kind,
        words=words,
        anchors=anchors,
        extra=more,
        targets=targets,
        links=targets.count("\n") + 1 if targets else 0,
        labels=tuple(sorted({*map(_text, page.labels)})),
        site=_text(page.site),
        type=_text(page.content_type),
        language=_text(page.language),
        encoding=_text(page.encoding),
        flags=tuple(sorted(map(_text, page.flags))),
        status=status,
        size=size,
        root=root is True,
        digest=digest.digest(),
    )


def _stored(*records: bytes) -> list[bytes]:
    """Each as it is stored: the large ones packed, by one compressor."""
    if max(map(len, records)) <= _SMALL:
        return [*records]
    its = compressor()
    return [data if len(data) <= _SMALL else packed(data, its) for data in records]


def restored(record: bytes) -> bytes:
    """The data of a record of words, anchors or extra. Raises ValueError where it is damaged."""
    return unpacked(record) if is_frame(record) else record


def _text(value: str) -> str:
    """A text without half a pair of UTF-16, which JSON may hold and no file."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _words_of(page: Page) -> bytes:
    keywords = "\n".join(page.keywords)
    before = (page.title, page.description, page.canonical or "", keywords)
    return _join([*before, page.text, *page.headings])


def _join(parts: Sequence[str]) -> bytes:
    """Strings as one, NUL between two."""
    joined = "\0".join(parts)
    if joined.count("\0") != len(parts) - 1:
        joined = "\0".join([part.replace("\0", "\ufffd") for part in parts])
    return joined.encode("utf-8", "replace")


def unpack_words(data: bytes) -> list[str]:
    """Title, description, canonical, text, headings."""
    return data.decode("utf-8").split("\0")


def _pack_anchors(links: Sequence[Link]) -> bytes:
    """Six columns of numbers, then all texts, words before, words after, and the strings that
    the numbers index: kinds, regions, tag paths, headings."""
    if not links:
        return b""
    table: dict[str, int] = {}

    def number(value: str) -> int:
        return table.setdefault(value, len(table))

    columns = zip(*[link.anchor for link in links], strict=True)
    texts, befores, afters, headings, paths, positions, regions, nofollows = columns
    numbers = (
        [number(link.kind) for link in links],
        [number(region) for region in regions],
        [number(path) for path in paths],
        [number("\x01".join(above)) for above in headings],
        positions,
        nofollows,
    )
    return np.array(numbers, dtype="<i4").tobytes() + _join([*texts, *befores, *afters, *table])


class Anchors:
    """The anchors of one page's links, by place."""

    __slots__ = ("_columns", "_count", "_headings", "_strings")

    def __init__(self, data: bytes, count: int) -> None:
        """Raises ValueError where the data is damaged."""
        split = 24 * count
        self._count = count
        columns = np.frombuffer(data[:split], dtype="<i4").reshape(6, count)
        self._columns = columns.tolist()
        self._strings = data[split:].decode("utf-8").split("\0")
        known = len(self._strings) - 3 * count
        if count and columns[:4].view("<u4").max() >= known:  # where it is below 0, too
            raise ValueError("its links have words that are not there")
        self._headings: dict[int, tuple[str, ...]] = {}

    def link(self, place: int, url: str) -> Link:
        """The link at a place of the page as it was recorded."""
        count, strings = self._count, self._strings
        kind, region, path, heading, position, nofollow = self._columns
        table = 3 * count
        return Link(
            url,
            Anchor(
                strings[place],
                strings[place + count],
                strings[place + count + count],
                self._headings_of(heading[place]),
                strings[table + path[place]],
                position[place],
                strings[table + region[place]],
                nofollow[place] == 1,
            ),
            strings[table + kind[place]],
        )

    def _headings_of(self, number: int) -> tuple[str, ...]:
        headings = self._headings.get(number)
        if headings is None:
            joined = self._strings[3 * self._count + number]
            headings = self._headings[number] = tuple(joined.split("\x01")) if joined else ()
        return headings
