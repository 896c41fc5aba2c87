"""Which numbers of links (a queue may hold pairs) a saved policy may have: arrays with
a place for each number would take gigabytes for one that no link has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from numpy.typing import NDArray

from spoor.types import LinkId

_url_of: ContextVar[Callable[[LinkId], object]] = ContextVar("url_of", default=lambda link: None)


@contextmanager
def knowing(url_of: Callable[[LinkId], object]) -> Iterator[None]:
    """Within it, a link is one that has a URL. `url_of` raises for any other."""
    token = _url_of.set(url_of)
    try:
        yield
    finally:
        _url_of.reset(token)


def checked_links(links: NDArray[Any]) -> NDArray[Any]:
    """Numbers of links of a state. Raises ValueError, or what `url_of` raises, where one is none.
    O(links)."""
    if links.size:
        if links.dtype.kind not in "iu" or links.min() < 0:
            raise ValueError("a link has another number than links have")
        _url_of.get()(int(links.max()))
    return links
