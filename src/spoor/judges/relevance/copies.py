"""Copies among the results of a crawl: pages of a host with the same title and the same text."""

from __future__ import annotations

from spoor.judges.relevance.kept_pages import KeptPage
from spoor.web.urls import host

COPIED = 16
"""Terms of its own from which on a page with the title and text of another one of its host shows
that again; with fewer it may be a frame that a script fills."""


class Copies:
    """Which result shows a content of an owner: the first with it, or the one that a view with it
    shows again."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, int], str] = {}

    def add(self, page: KeptPage, shown: str = "") -> None:
        """Take up a page that came in this crawl and is a result, or a view of a `shown` one."""
        self._shown.setdefault(_shared(page), shown or page.url)

    def is_first(self, page: KeptPage) -> bool:
        return self._shown.get(_shared(page)) == page.url

    def shown(self, page: KeptPage) -> str:
        """The URL of another page that shows its title and text; empty for none."""
        if not page.content or page.terms < COPIED:
            return ""
        found = self._shown.get(_shared(page), "")
        return "" if found == page.url else found


def _shared(page: KeptPage) -> tuple[str, int]:
    return _owner(page.url), page.content


def _owner(url: str) -> str:
    """What the owner of a page has: a host, or a folder `/~ann/` of it."""
    path = url.partition("?")[0] + "/"
    at = path.rfind("/~")
    return path[: path.find("/", at + 1)] if at >= 0 else host(url)
