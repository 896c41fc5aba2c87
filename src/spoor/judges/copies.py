"""Copies among the results of a crawl: pages of a host with the same title and the same text."""

from __future__ import annotations

from spoor.judges.kept_pages import KeptPage
from spoor.web.urls import host

COPIED = 16
"""Terms of its own from which on a page with the title and text of another one of its host shows
that again; with fewer it may be a frame that a script fills."""


class Copies:
    """The first result of each owner with each content."""

    def __init__(self) -> None:
        self._first: dict[tuple[str, int], str] = {}

    def add(self, page: KeptPage) -> None:
        """Take up a page that came in this crawl and is a result."""
        self._first.setdefault(_shared(page), page.url)

    def is_first(self, page: KeptPage) -> bool:
        return self._first.get(_shared(page)) == page.url

    def has(self, page: KeptPage) -> bool:
        """Whether another page with its title and text was taken up before it."""
        if not page.content or page.terms < COPIED:
            return False
        return self._first.get(_shared(page), page.url) != page.url


def _shared(page: KeptPage) -> tuple[str, int]:
    return _owner(page.url), page.content


def _owner(url: str) -> str:
    """What the owner of a page has: a host, or a folder `/~ann/` of it."""
    path = url.partition("?")[0] + "/"
    at = path.rfind("/~")
    return path[: path.find("/", at + 1)] if at >= 0 else host(url)
