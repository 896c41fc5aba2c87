"""A crawl of a completely known web, for policies that are trained by crawling."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from spoor.types import (
    NO_PARENT,
    Anchor,
    Fetched,
    InLinks,
    Judgement,
    KnownWeb,
    Link,
    LinkId,
    Outcome,
)

if TYPE_CHECKING:
    import numpy as np

    from spoor.protocols import Policy


def crawl_known(web: KnownWeb, policy: Policy, pages: int) -> list[bool]:
    """Crawl up to `pages` pages from the web's root, one at a time, every host free.

    Returns whether each page fetched was a target. Links that lead to no page of the web are not
    shown; a target's score and reward are 1.
    """
    index = web.graph.index()
    known: dict[str, LinkId] = {}
    urls: list[str] = []
    hosts: list[str] = []
    depth: list[int] = []
    done: set[LinkId] = set()
    offer = _Open()

    def show(links: Sequence[Link], parent: LinkId, score: float, of_depth: int) -> InLinks:
        places, numbers, first = [], [], []
        for place, link in enumerate(links):
            number = known.get(link.url)
            new = number is None
            if number is None:
                if link.url not in index:
                    continue
                number = known[link.url] = len(urls)
                urls.append(link.url)
                hosts.append(link.url.split("/", 3)[2])
                depth.append(of_depth)
                offer.add(number, hosts[-1])
            elif number in done:
                continue
            places.append(place)
            numbers.append(number)
            first.append(new)
        seen_urls = [urls[number] for number in numbers]
        seen_hosts = [hosts[number] for number in numbers]
        return InLinks(
            links, places, numbers, first, parent, score, of_depth, seen_urls, seen_hosts
        )

    policy.observe(show([Link(web.graph.urls[web.root], Anchor(), "seed")], NO_PARENT, 0.0, 0))
    hits: list[bool] = []
    while len(offer) and len(hits) < pages:
        choice = policy.choose(offer)
        link = choice.link
        offer.remove(link, hosts[link])
        done.add(link)
        number = index[urls[link]]
        page = web.page(number)
        target = bool(web.graph.targets[number])
        hits.append(target)
        seen = show(page.links, link, float(target), depth[link] + 1)
        seen.page = page
        if len(seen):
            policy.observe(seen)
        judgement = Judgement(float(target), target, float(target))
        policy.learn(Outcome(choice, Fetched(len(hits), page), judgement, float(target)))
    return hits


class _Open:
    """Every open link; all hosts are free."""

    def __init__(self) -> None:
        self._links: list[LinkId] = []
        self._place: dict[LinkId, int] = {}
        self._hosts: dict[str, int] = {}

    def add(self, link: LinkId, host: str) -> None:
        self._place[link] = len(self._links)
        self._links.append(link)
        self._hosts[host] = self._hosts.get(host, 0) + 1

    def remove(self, link: LinkId, host: str) -> None:
        place, last = self._place.pop(link), self._links.pop()
        if last != link:
            self._links[place] = last
            self._place[last] = place
        self._hosts[host] -= 1
        if not self._hosts[host]:
            del self._hosts[host]

    def __len__(self) -> int:
        return len(self._links)

    def __contains__(self, link: object) -> bool:
        return link in self._place

    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        places = rng.choice(len(self._links), size=min(k, len(self._links)), replace=False)
        return [self._links[place] for place in places.tolist()]

    def hosts(self) -> Collection[str]:
        return self._hosts.keys()
