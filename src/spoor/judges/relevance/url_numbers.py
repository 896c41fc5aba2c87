"""Numbers that stand for URLs and sites in what a judge keeps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from spoor.hashing import hash64, url_hash64
from spoor.web.urls import registrable_domain


def number_of_url(url: str) -> int:
    """The number of a link, and of the page that it leads to, in [0, 2^63): by it pages speak for
    one another, so that no stranger may find a URL with the number of another."""
    return hash64(url) >> 1


def site_of(url: str) -> int:
    """The number of a page's site, which is its registrable domain."""
    return _site(url.partition("://")[2].partition("/")[0])


@lru_cache(maxsize=65_536)
def _site(host: str) -> int:
    return hash64(registrable_domain(host))


def numbers_of_links(urls: Sequence[str]) -> list[int]:
    """`number_of_url` of each link of a page."""
    return [number >> 1 for number in map(url_hash64, urls)]


def as_id(number: int) -> int:
    """The 32 bits of a number of a link or place by which it is a column of the model."""
    return number & 0xFFFFFFFF


def as_ids(numbers: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """The same of each."""
    return (numbers & np.uint64(0xFFFFFFFF)).astype(np.uint32)
