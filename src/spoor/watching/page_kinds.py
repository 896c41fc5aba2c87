"""What pages say of themselves that makes them no documents: that they list others, or that nobody
is to find them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from spoor.types import Page, State
from spoor.watching.compact_tables import NumberMap, NumberSet
from spoor.web.url_groups import lists_tags

_CLOSED = frozenset({"noindex", "nofollow"})


class PageKinds:
    """By the numbers of URLs, as their last downloads said."""

    def __init__(self) -> None:
        self._lists = NumberSet()
        self._closed = NumberSet()
        self._elsewhere = NumberSet()
        self._first = NumberMap()
        """A further part of something → the first one of it."""
        self._last: dict[int, int] = {}
        """Such a first part → the one of which it was learned last that it is a further one."""
        self._open = set[str]()
        """Hosts that have pages to be found: where all of one is closed, that says nothing."""

    def see(self, url: int, host: str, page: Page, first: int | None) -> None:
        """Take in a download. `first`: of the parts of which it is a further one (`first_part`)."""
        self._first.pop(url)
        if first is not None:
            self._first[url] = first
            self._last[first] = max(url, self._last.get(first, url))
        for its, has in (
            (self._lists, "list" in page.flags or lists_tags(page.url)),
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

    def first_of(self, url: int) -> int:
        """The first part of that of which a page is a further one; −1 where it is none."""
        first = self._first.get(url)
        return -1 if first is None else first

    def last_of(self, url: int) -> int:
        """The further part of a document that was found last; itself where it has none."""
        return self._last.get(url, url)

    def is_view(self, url: int, host: str) -> bool:
        """Whether a page is neither for search engines nor are its links, as others of its host
        are: a version, the history or another view of one."""
        return url in self._closed and host in self._open

    def is_at_another(self, url: int) -> bool:
        """Whether a page names another URL as its own."""
        return url in self._elsewhere

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        parts = self._first.pairs()
        for url in parts[np.isin(parts, list(left)).any(axis=1), 0].tolist():
            self._first.pop(url)
        gone = set(left)
        self._last = {one: at for one, at in self._last.items() if not {one, at} & gone}
        self._lists.difference_update(left)
        self._closed.difference_update(left)
        self._elsewhere.difference_update(left)

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        self._open.difference_update(left)

    def save(self) -> State:
        return {
            "lists": self._lists.numbers(),
            "closed": self._closed.numbers(),
            "elsewhere": self._elsewhere.numbers(),
            "first": self._first.pairs(),
            "open": sorted(self._open),
        }

    def load(self, state: State) -> None:
        self._lists = NumberSet(state["lists"].tolist())
        self._closed = NumberSet(state["closed"].tolist())
        if "elsewhere" in state:
            self._elsewhere = NumberSet(state["elsewhere"].tolist())
        self._first = NumberMap(map(tuple, state["first"].tolist() if "first" in state else ()))
        for url, first in self._first.pairs().tolist():
            self._last[first] = url
        self._open = set(state["open"])
