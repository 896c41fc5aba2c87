"""The links that one shard of a crawl sends to other shards and receives from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from spoor.crawl.paths import path_to
from spoor.errors import CallerError
from spoor.protocols import Frontier, Outbox
from spoor.types import NO_PARENT, Anchor, InLink, InLinks, Link, LinkBatch, LinkId, Page, State


class ShardLinks:
    """What one shard knows of the links that it sent or received. `outbox` sends them; `nearest` is
    the filter's."""

    def __init__(
        self,
        outbox: Outbox,
        frontier: Frontier,
        nearest: Callable[[Page, int], int] = lambda page, depth: depth,
    ) -> None:
        self._outbox = outbox
        self._nearest = nearest
        self.frontier = frontier
        self._paths: dict[LinkId, tuple[str, ...]] = {}
        """Link that another shard sent → URLs from a seed to the page that links to it."""
        self._crossed: dict[LinkId, int] = {}
        """Link that redirects in other shards led to → how many led to another domain or shard."""
        self._away: set[LinkId] = set()
        """Links sent to another shard, which may send them back."""

    def owns(self, url: str) -> bool:
        return self._outbox.owns(url)

    def path(self, link: LinkId) -> list[str]:
        """See `path_to`."""
        return path_to(self.frontier, link, self._paths)

    def crossed(self, link: LinkId) -> int:
        """How many redirects to another domain or shard led to this link. Call it once, when the
        link is requested, or its own domain links to it: then they count no more."""
        return self._crossed.pop(link, 0)

    def recount(self, link: LinkId, crossed: int) -> None:
        """So many redirects at most led to this link."""
        if link in self._crossed:
            self._crossed[link] = min(crossed, self._crossed[link])

    def enter(self, batch: LinkBatch) -> InLinks:
        """Enter the links that another shard sent; returns those to targets that are not fetched
        yet. Call `close_done` for the batch once the policy has observed them."""
        frontier = self.frontier
        links = self._outbox.keep(
            batch.page,
            batch.links,
            batch.score,
            batch.depth,
            lambda: batch.path,
            batch.crossed,
            passed_on=True,
        )
        back = set[LinkId]()
        for arrived in links:
            link = frontier.find(arrived.url) if self._away else None
            # A link that left after a redirect has another URL here, which stays closed.
            if link in self._away and frontier.url(link) == arrived.url:
                self._away.discard(link)
                frontier.reopen(link)
                back.add(link)
        parent = NO_PARENT if batch.page is None or not links else self.fetched_elsewhere(batch)
        seen = frontier.add(links, parent, batch.score, batch.depth)
        new = [link for link, first in zip(seen.links, seen.first, strict=True) if first]
        # To the policy, which may have chosen it once, what came back is new.
        seen.first = [
            link in back or first for link, first in zip(seen.links, seen.first, strict=True)
        ]
        if batch.crossed:
            self._crossed |= dict.fromkeys([*new, *back], batch.crossed)
        if parent == NO_PARENT:
            if batch.path:
                self._paths |= dict.fromkeys(new, batch.path)
        else:
            seen.page = batch.page
        return seen

    def close_done(self, urls: Sequence[str]) -> None:
        """Close the links of URLs that are done in another shard. A link that was redirected since
        stands for its target, of which the name of its first URL says nothing."""
        entered = self._enter_unknown(urls)
        found = ((self.frontier.find(url), url) for url in urls)
        done = {at for at, url in found if at is not None and self.frontier.url(at) == url}
        self._away -= done
        for link in filter(done.__contains__, entered):
            # A link in flight moved here since; it is done when its reply arrives.
            with suppress(CallerError):
                self.frontier.drop(link)

    def send(self, link: LinkId, url: str, crossed: int) -> None:
        """Send a link to the shard that owns `url`, its target, with its in-links; `crossed`
        redirects to another domain or shard led there."""
        frontier = self.frontier
        in_links: Sequence[InLink | None] = frontier.in_links(link) or (None,)
        for seen in in_links:
            anchor, kind = (Anchor(), "a") if seen is None else (seen.anchor, seen.kind)
            score, depth, parent = 0.0, frontier.depth(link), NO_PARENT
            if seen is not None:
                score, depth, parent = seen.parent_score, seen.depth, seen.parent
            path = list(self._paths.get(link, ())) if parent == NO_PARENT else self.path(parent)
            page = Page(path[-1]) if path else None
            depth = self._nearest(Page(url), depth + 1) - 1
            self._outbox.keep(page, [Link(url, anchor, kind)], score, depth, path.copy, crossed)

    def send_open(self, left: set[LinkId]) -> int:
        """Send all open links that other shards own, and report their URLs that are done; `left`
        were sent before. Returns how many links left in all."""
        outbox, frontier = self._outbox, self.frontier
        for link in list(frontier.open()):
            if not outbox.owns(url := frontier.url(link)):
                self.send(link, url, self.crossed(link))
                left.add(link)
                frontier.drop(link)
        self._away |= left
        away = set(map(frontier.url, self._away))
        outbox.done(url for url in frontier.done() if url not in away and not outbox.owns(url))
        return len(left)

    def save(self) -> State:
        return {
            "away": sorted(self._away),
            "came": [[link, list(path)] for link, path in self._paths.items()],
            "crossed": list(self._crossed.items()),
        }

    def load(self, state: State) -> None:
        self._paths = {link: tuple(path) for link, path in state["came"]}
        self._crossed = dict(map(tuple, state["crossed"]))
        self._away = set(state["away"])

    def _enter_unknown(self, urls: Sequence[str]) -> list[LinkId]:
        """The open links of these URLs; unknown URLs are entered."""
        seen = self.frontier.add([Link(url) for url in urls], NO_PARENT, 0.0, 0)
        return list(dict.fromkeys(seen.links))

    def fetched_elsewhere(self, batch: LinkBatch) -> LinkId:
        """The link of a page that another shard fetched; it is done, as pages fetched here are."""
        assert batch.page is not None
        link = self.frontier.find(batch.page.url)
        if link is None:
            (link,) = self._enter_unknown([batch.page.url])
            self.frontier.drop(link)
        if len(self.frontier.path(link, 2)) == 1:
            # A link that was only reported as done has no path yet; this batch has it.
            self._paths.setdefault(link, batch.path[:-1])
        return link
