"""What pages say of themselves that makes them no documents: that they list others, or that nobody
is to find them."""

from __future__ import annotations

from collections.abc import Collection

from spoor.foragers.flat import NumberSet
from spoor.types import Page, State

_CLOSED = frozenset({"noindex", "nofollow"})


class PageKinds:
    """By the numbers of URLs, as their last downloads said."""

    def __init__(self) -> None:
        self._lists = NumberSet()
        self._closed = NumberSet()
        self._elsewhere = NumberSet()
        self._open = set[str]()
        """Hosts that have pages to be found: where all of one is closed, that says nothing."""

    def see(self, url: int, host: str, page: Page) -> None:
        """Take in a download."""
        for its, has in (
            (self._lists, "list" in page.flags),
            (self._closed, page.flags >= _CLOSED),
            (self._elsewhere, page.canonical is not None),
        ):
            if has:
                its.add(url)
            else:
                its.discard(url)
        if not page.flags & {"noindex", "not-html"}:
            self._open.add(host)

    def is_list(self, url: int) -> bool:
        """Whether a page leads to many others, and says little of each."""
        return url in self._lists

    def is_view(self, url: int, host: str) -> bool:
        """Whether a page is neither for search engines nor are its links, as others of its host
        are: a version, the history or another view of one."""
        return url in self._closed and host in self._open

    def is_at_another(self, url: int) -> bool:
        """Whether a page names another URL as its own."""
        return url in self._elsewhere

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        self._lists.difference_update(left)
        self._closed.difference_update(left)
        self._elsewhere.difference_update(left)

    def save(self) -> State:
        return {
            "lists": self._lists.numbers(),
            "closed": self._closed.numbers(),
            "elsewhere": self._elsewhere.numbers(),
            "open": sorted(self._open),
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self._lists = NumberSet(state["lists"].tolist())
        self._closed = NumberSet(state["closed"].tolist())
        if "elsewhere" in state:
            self._elsewhere = NumberSet(state["elsewhere"].tolist())
        self._open = set(state["open"])
