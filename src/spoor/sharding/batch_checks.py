"""Whether batches of links are what a shard of this version sends.

They come from other processes, maybe of another machine and another version of Spoor. What a crawl
is made to enter changes it step by step, so all of a batch is looked at before any of it enters.
"""

from __future__ import annotations

from collections.abc import Iterable

from spoor.types import Anchor, Link, LinkBatch, Page, Ways
from spoor.web.urls import host

_MOST = 1 << 31
"""Above all depths, positions and counts of redirects."""

_ENCODED = "utf-8"


def check(batch: LinkBatch) -> LinkBatch:
    """The same batch. Raises ValueError where a value is of another kind than `LinkBatch` says, or
    out of its range. O(characters of the URLs)."""
    _texts(batch.path, batch.done)
    _urls(batch.done)
    check_counts(batch.depth, batch.crossed)
    _share(batch.score)
    if batch.page is not None:
        _page(batch.page)
    _links(batch.links)
    if batch.ways is not None:
        _ways(batch.ways)
    for name, seconds in batch.rests:
        _texts((name,))
        if type(seconds) is not float:
            raise ValueError(f"{seconds!r} is no time")
    return batch


def _page(page: Page) -> None:
    _urls((page.url,))
    _texts((page.title, page.text, page.description), page.headings)


def _links(links: Iterable[Link]) -> None:
    for url, anchor, kind in links:
        _urls((url,))
        _anchor(anchor)
        _texts((kind,))


def _anchor(anchor: Anchor) -> None:
    text, before, after, headings, tag_path, position, region, nofollow = anchor
    _texts((text, before, after, tag_path, region), headings)
    check_counts(position)
    if type(nofollow) is not bool:
        raise ValueError(f"{nofollow!r} is neither true nor false")


def _ways(ways: Ways) -> None:
    _urls((ways.url, *ways.links))
    if ways.lead:
        _urls((ways.lead,))
    _texts((ways.lead,))
    check_counts(ways.depth)
    _share(ways.score)
    _links(ways.deep)
    if type(ways.told) is not bool:
        raise ValueError(f"{ways.told!r} is neither true nor false")


def _texts(*groups: Iterable[object]) -> None:
    for group in groups:
        for text in group:
            if type(text) is not str:
                raise ValueError(f"{text!r:.40} is no text")


def _urls(urls: Iterable[object]) -> None:
    for url in urls:
        if type(url) is not str or not url.startswith(("http://", "https://")) or not host(url):
            raise ValueError(f"{url!r:.40} is no URL of a page")
        url.encode(_ENCODED)  # a UnicodeEncodeError is a ValueError


def check_counts(*counts: object, most: int = _MOST) -> None:
    """Raises ValueError where one is no whole number from 0 up to below `most`."""
    for count in counts:
        if type(count) is not int or not 0 <= count < most:
            raise ValueError(f"{count!r:.40} is no count")


def _share(score: object) -> None:
    if type(score) not in (int, float) or not 0.0 <= float(score) <= 1.0:  # type: ignore[arg-type]
        raise ValueError(f"{score!r:.40} is no score")
