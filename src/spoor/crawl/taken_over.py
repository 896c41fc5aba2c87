"""URLs that redirects of another domain led to first.

A link may cross from domain to domain a few times only, and a URL belongs to one link. So that
whoever led a long chain to a page does not use up what the page's own redirects need, a link begins
to count anew once the domain of the URL links to it itself.
"""

from __future__ import annotations

from collections.abc import Callable

from spoor.types import LinkId, State


class TakenOver:
    """Of each such link, the URL at which it came to the present domain, or shard. O(1) a call."""

    def __init__(self) -> None:
        self._links: dict[str, LinkId] = {}
        self._urls: dict[LinkId, str] = {}
        self._own: set[LinkId] = set()
        """In flight; their domains link to them meanwhile."""
        self._failed: set[LinkId] = set()
        """That crossed too often, and were closed."""

    def __bool__(self) -> bool:
        return bool(self._links)

    def take(self, link: LinkId, url: str) -> None:
        """A redirect of another domain led a link to a URL."""
        self.forget(link)
        self._links[url], self._urls[link] = link, url

    def forget(self, link: LinkId) -> None:
        """Nothing of what led to a link counts any more."""
        if (url := self._urls.pop(link, None)) is not None:
            del self._links[url]
            self._own.discard(link)
            self._failed.discard(link)

    def leave(self, owns: Callable[[str], bool]) -> None:
        """Nothing counts here of URLs that belong to another shard."""
        for link in [link for link, url in self._urls.items() if not owns(url)]:
            self.forget(link)

    def failed(self, link: LinkId) -> None:
        """A link is closed since it crossed too often."""
        if link in self._urls:
            self._failed.add(link)

    def ended(self, link: LinkId) -> None:
        """A link is done; nothing of it is kept unless it crossed too often."""
        if link not in self._failed:
            self.forget(link)

    def is_own(self, link: LinkId) -> bool:
        """Whether the domain of a link in flight links to it itself."""
        return link in self._own

    def __contains__(self, url: str) -> bool:
        return url in self._links

    def linked(self, url: str) -> LinkId | None:
        """The own domain of a URL links to it; returns the link if it is closed and to be opened
        again."""
        link = self._links[url]
        if link not in self._failed:
            self._own.add(link)
            return None
        self.forget(link)
        return link

    def save(self) -> State:
        """Go on with `load`."""
        return {
            "urls": [[link, url] for link, url in self._urls.items()],
            "own": sorted(self._own),
            "failed": sorted(self._failed),
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self._urls = dict(state["urls"])
        self._links = {url: link for link, url in self._urls.items()}
        self._own, self._failed = set(state["own"]), set(state["failed"])
