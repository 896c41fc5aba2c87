"""Documents of which a server says with status 200 that they are not there: nothing is left of what
such a page said, nor of its title, and it says little else."""

from __future__ import annotations

from collections.abc import Collection

from spoor.bounded import forget
from spoor.types import Page, State
from spoor.watching.contents import BETWEEN, Contents
from spoor.web.sentences import content, plain, title

NOTICE = 50
"""Words of its own from which on a page says something."""

LEAST_SENTENCES = 3
"""Of its own, that such a page had: one that says "It is open." says "It is closed." tomorrow."""

WHOLE = 2 * NOTICE
"""Words of a page that shows that its site has pages."""

AGAIN = 600.0
"""Seconds after which such a page is looked at once more; then as many as it has been so."""


class Emptied:
    """Pages that say nothing any more, and whether it is for their own sake: while a site is being
    changed, all its pages say that."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}
        """Page → when it was seen to say nothing first, since it said something."""
        self._whole: dict[str, float] = {}
        """Host → when one of its pages said something last."""

    def see(
        self,
        url: int,
        host: str,
        page: Page | None,
        contents: Contents,
        now: float,
        *,
        as_seen: bool = False,
    ) -> bool | None:
        """Take in a download, None for what is as it was; `as_seen`: it says what the page said
        when it was taken for itself last. Whether nothing is left of the document
        that stood there, and its site has shown since that it still has others, so that this one
        is gone; None where it has not yet. O(words), and for a page with many words or with its old
        title next to nothing."""
        if page is not None and page.flags & {"feed", "sitemap", "not-html"}:
            return False
        is_empty = url in self._since
        if page is not None:
            is_empty = not as_seen and self._says_nothing(url, host, page, contents)
        if not is_empty:
            self._since.pop(url, None)
            if page is None or len((page.main or page.text).split(None, WHOLE)) >= WHOLE:
                self._whole[host] = now
            return False
        since = self._since.setdefault(url, now)
        return True if self._whole.get(host, since) > since else None

    def _says_nothing(self, url: int, host: str, page: Page, contents: Contents) -> bool:
        if len(page.text.split(None, 8 * NOTICE)) > 8 * NOTICE or url not in contents:
            return False
        before = plain(BETWEEN.split(contents.title(url), maxsplit=1)[0])
        if not before or f" {before} " in f" {plain(title(page))} ":
            return False
        says = content(page)
        if sum(len(sentence.split()) for sentence in says.values()) >= NOTICE:
            return False
        own = contents.own(url, host)
        return len(own) >= LEAST_SENTENCES and own.isdisjoint(says)

    def again_at(self, url: int, now: float) -> float | None:
        """When a page that says nothing is to be looked at once more; None for any other."""
        since = self._since.get(url)
        return None if since is None else now + max(AGAIN, now - since)

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        forget(left, self._since)

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        forget(left, self._whole)

    def save(self) -> State:
        return {"since": [list(one) for one in self._since.items()], "whole": dict(self._whole)}

    def load(self, state: State) -> None:
        self._since = {int(url): since for url, since in state["since"]}
        self._whole = dict(state["whole"])
