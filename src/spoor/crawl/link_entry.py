"""Enters links into the frontier of a crawl, except those that the filter rejects or holds back, or
that other shards own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby

from spoor.crawl.paths import path_to
from spoor.crawl.redirect_chains import Hops, RedirectChains
from spoor.crawl.shard_links import ShardLinks
from spoor.protocols import Frontier, LinkFilter, Outbox
from spoor.types import (
    NO_PARENT,
    Anchor,
    HeldLink,
    InLink,
    InLinks,
    Link,
    LinkBatch,
    LinkId,
    Outcome,
    Page,
    Ways,
    urls_of,
)
from spoor.web.urls import domain_of, host


class LinkEntry:
    """Enters links into a frontier. `observe` is called with those that entered, if there are any;
    `admit`, `link_filter` and `outbox` are the crawl's."""

    def __init__(
        self,
        frontier: Frontier,
        observe: Callable[[InLinks], None],
        *,
        admit: Callable[[Page, int], Sequence[Link]] | None,
        link_filter: LinkFilter | None,
        outbox: Outbox | None,
    ) -> None:
        self.frontier = frontier
        self._observe = observe
        self._admit = admit
        self._filter = link_filter
        self._outbox = outbox
        if link_filter is not None:
            link_filter.knows = self._knows
            link_filter.linked_by(self._linked_from)
        if link_filter is not None and outbox is not None:
            link_filter.owns = outbox.owns
            outbox.by_depth = link_filter.by_depth
        self.shards: ShardLinks | None = None
        """Links that went to other shards or came from them; None without shards."""
        if outbox is not None:
            its = () if link_filter is None else (link_filter.nearest,)
            self.shards = ShardLinks(outbox, frontier, *its)
        self.chains = RedirectChains()

    def go_on_with(self, frontier: Frontier) -> None:
        """Use this frontier, which holds the same, from now on."""
        self.frontier = frontier
        if self.shards is not None:
            self.shards.frontier = frontier

    def _knows(self, url: str) -> bool:
        return self.frontier.find(url) is not None

    def _linked_from(self, url: str) -> list[tuple[str, str]]:
        """The pages that link to a URL, as far as they are kept (empty for a seed's), and the texts
        of their links."""
        link = self.frontier.find(url)
        return [
            ("" if one.parent == NO_PARENT else self.frontier.url(one.parent), one.anchor.text)
            for one in (() if link is None else self.frontier.in_links(link))
        ]

    def seed(self, urls: Iterable[str | Link]) -> int:
        """Enter seeds; returns how many were new. Those that other shards own are left to them."""
        links = [
            Link(one, Anchor(position=index), "seed") if isinstance(one, str) else one
            for index, one in enumerate(urls)
        ]
        if self._filter is not None:
            self._filter.seed([link.url for link in links if link.kind == "seed"])
        if self._outbox is not None:
            links = [link for link in links if self._outbox.owns(link.url)]
        return self._enter(links, NO_PARENT, 0.0, 0)

    def page(self, page: Page, parent: LinkId, score: float) -> None:
        """Enter the links of a page with this score; `parent` is the page's own link."""
        depth = self.frontier.depth(parent) + 1
        if self._filter is not None:
            depth = self._filter.nearest(page, depth)
            links = self._filter.admit(page, depth, parent, score, partial(self.found_on, parent))
        else:
            links = page.links if self._admit is None else self._admit(page, depth)
        if self._outbox is not None:
            links = self._outbox.keep(page, links, score, depth, lambda: self.path(parent))
        self._enter(links, parent, score, depth, page)

    def batch(self, batch: LinkBatch) -> int:
        """Enter the links that another shard sent; returns how many were new."""
        assert self.shards is not None
        if self._filter is not None:
            self._filter.arrived(batch)
            if batch.ways is not None:
                self._moved(batch.ways, batch)
        seen = self.shards.enter(batch)
        if len(seen):
            self._observe(seen)
        if batch.crossed:
            for link, first in zip(seen.links, seen.first, strict=True):
                if first:
                    hops = Hops(batch.crossed)
                    self.chains.follow(link, self.frontier.url(link), hops, crosses=True)
        if self.chains and batch.links:
            self._linked(batch.links, NO_PARENT, batch.score, batch.depth, Hops(batch.crossed))
        self.shards.close_done(batch.done)
        return sum(seen.first)

    def seed_again(self, urls: Iterable[str]) -> None:
        """Open seeds again that the frontier has closed."""
        for url in urls:
            if (link := self.frontier.find(url)) is not None:
                self._enter([Link(url, Anchor(), "seed")], NO_PARENT, 0.0, 0, reopened=link)

    def again(self, link: LinkId, first: InLink) -> None:
        """Open a link again that the frontier has closed; `first` is its first in-link."""
        links = [Link(self.frontier.url(link), first.anchor, first.kind)]
        self._enter(links, first.parent, first.parent_score, first.depth, reopened=link)

    def skip_reason(self, link: LinkId, url: str) -> str:
        """Why the filter rejects this URL of a chosen or redirected link; empty if it does not."""
        if self._filter is None:
            return ""
        return self._filter.skip(link, url, partial(self._linked_by, link))

    def _linked_by(self, link: LinkId) -> set[str]:
        """The domains of the pages that link to a link, as far as they are kept; empty for that of
        a seed."""
        parents = {seen.parent for seen in self.frontier.in_links(link)}
        return {"" if one == NO_PARENT else domain_of(self.frontier.url(one)) for one in parents}

    def drop(self, link: LinkId, url: str) -> None:
        """Close a chosen link, with this URL, without a request."""
        if self._filter is not None:
            seen = self.frontier.in_links(link)
            self._filter.dropped(url, seen[-1] if seen else None)
        self.frontier.drop(link)

    def redirect_dropped(self, link: LinkId, url: str) -> None:
        """The redirect of a link leads to this URL, which the filter rejects, maybe for now."""
        if self._filter is not None and self.frontier.find(url) is None:
            seen = self.frontier.in_links(link)
            self._filter.dropped(url, seen[-1] if seen else None, redirected=True)

    def ended(self, outcome: Outcome) -> None:
        """Tell the filter the outcome of a requested link."""
        if self._filter is not None:
            self._filter.ended(outcome, partial(self.found_on, outcome.choice.link))

    def release(self, *, over: bool, last: bool) -> bool:
        """Enter the links that the filter no longer holds back; returns whether any link is open.
        `over`: the crawl, or this shard of it, has no other; `last`: the crawl would end."""
        if self._filter is None:
            return False
        # Of some that are released, all may be known.
        while released := self._filter.release(over=over, last=last):
            for (parent, score, depth, dropped, _), group in groupby(released, _batch_key):
                links = self._own([held.link for held in group], parent, score, depth)
                known = self.frontier.find(links[0].url) if dropped and links else None
                self._enter(links, parent, score, depth, reopened=known)
            if not over or self.frontier.open_count:
                break
        return self.frontier.open_count > 0

    def leave(self) -> set[LinkId]:
        """Send the held links that were dropped, and that other shards own, to these."""
        left: set[LinkId] = set()
        if self._filter is not None and self._outbox is not None:
            for held in self._filter.leave(self._outbox.owns):
                if (link := self.frontier.find(held.link.url)) is not None:
                    left.add(link)
                self._own([held.link], held.parent, held.score, held.depth)
        return left

    def move(self) -> None:
        """Send what comes nearer with pages of other shards to these."""
        if self._filter is None or self._outbox is None or not self._outbox.by_depth:
            return
        frontier, owns = self.frontier, self._outbox.owns
        urls = [*frontier.done(), *map(frontier.url, frontier.open())]
        for ways in self._filter.move(urls, frontier.find, owns):
            link = frontier.find(ways.url)
            self._outbox.move(ways, [] if link is None else self.path(link))

    def _moved(self, ways: Ways, batch: LinkBatch) -> None:
        assert self.shards is not None
        assert self._filter is not None
        assert self._outbox is not None
        if self._outbox.owns(ways.url):
            self._filter.moved(ways, self.shards.fetched_elsewhere(batch))
        else:  # the hosts were divided once more meanwhile
            self._outbox.move(ways, batch.path)

    def _own(
        self, links: Sequence[Link], parent: LinkId, score: float, depth: int
    ) -> Sequence[Link]:
        """Those of held links that this shard owns; the others are sent."""
        if self._outbox is None:
            return links
        page = None if parent == NO_PARENT else Page(self.frontier.url(parent))
        path = [] if parent == NO_PARENT else self.path(parent)
        return self._outbox.keep(page, links, score, depth, path.copy)

    def path(self, link: LinkId) -> list[str]:
        """See `path_to`."""
        return path_to(self.frontier, link) if self.shards is None else self.shards.path(link)

    def found_on(self, link: LinkId) -> str:
        """URL of the page on which a link was first seen; empty for a seed."""
        steps = self.frontier.path(link, 2)
        if len(steps) == 2:
            return self.frontier.url(steps[0])
        return "".join(self.path(link)[-2:-1])

    def _enter(
        self,
        links: Sequence[Link],
        parent: LinkId,
        score: float,
        depth: int,
        page: Page | None = None,
        *,
        reopened: LinkId | None = None,
    ) -> int:
        """Returns how many were new. `reopened`: the link among them that is opened again; to the
        policy, which chose it once, it is new."""
        if reopened is not None:
            self.frontier.reopen(reopened)
        seen = self.frontier.add(links, parent, score, depth)
        seen.page = page
        if reopened is not None:
            seen.first = [True] * len(seen)
        if len(seen):
            self._observe(seen)
        if self.chains and reopened is None:
            self._linked(links, parent, score, depth, Hops())
        return sum(seen.first)

    def _linked(
        self, links: Sequence[Link], parent: LinkId, score: float, depth: int, hops: Hops
    ) -> None:
        """Count anew where links, or so many redirects, lead to addresses that redirects led to
        before; what was closed there is opened again."""
        for index, url in enumerate(urls_of(links)):
            if url not in self.chains:
                continue
            link = self.chains.linked(url, hops)
            known = self.frontier.find(url)
            if self.shards is not None and known is not None:
                self.shards.recount(known, hops.crossed)
            if link is not None:
                _, anchor, kind = links[index]
                first = InLink(link, url, host(url), anchor, kind, parent, score, depth, True)
                self.again(link, first)

    def led_to(self, url: str, seen: InLink, hops: Hops) -> None:
        """So many redirects of a link, which was `seen` so, lead to an address of another one."""
        links = [Link(url, seen.anchor, seen.kind)]
        self._linked(links, seen.parent, seen.parent_score, seen.depth, hops)

    def taken_over(self, link: LinkId) -> Hops:
        """Redirects that counted for an open link, whose place another one takes."""
        crossed = 0 if self.shards is None else self.shards.crossed(link)
        hops = self.chains.counted(link) or Hops(crossed)
        self.chains.forget(link)
        return hops


def _batch_key(held: HeldLink) -> tuple[LinkId, float, int, bool, str]:
    """Held links with the same key enter in one call; those that were dropped enter one by one."""
    return held.parent, held.score, held.depth, held.dropped, held.link.url if held.dropped else ""
