"""Forms of a list of documents: the same list sorted, or a part of it, by the parameters of its
URL. What is left of a list by a filter may be two documents, or none, and looks like no list."""

from __future__ import annotations

from collections import OrderedDict

from spoor.bounded import remember
from spoor.hashing import hash64
from spoor.types import Page
from spoor.web.actions import is_view, is_view_by
from spoor.web.urls import query_parts

_LISTS = 5_000


class ListForms:
    """The lists of a crawl that were seen. O(letters of its URL) a page."""

    def __init__(self) -> None:
        self._lists: OrderedDict[int, None] = OrderedDict()

    def is_list(self, page: Page) -> bool:
        """Whether a page is a list of documents by itself, or because it has the URL of one, but
        for parameters that sort or filter, and its title."""
        if not page.title:
            return "list" in page.flags
        path, mark, query = page.url.partition("?")
        if mark and is_view(page.url):
            query = "&".join(part for part in query_parts(query) if not is_view_by(part))
        number = hash64(f"{path}?{query}\n{page.title}")
        if "list" in page.flags:
            remember(self._lists, number, None, _LISTS)
        return number in self._lists

    def save(self) -> list[int]:
        return [*self._lists]

    def load(self, lists: list[int]) -> None:
        self._lists = OrderedDict.fromkeys(map(int, lists[-_LISTS:]))
