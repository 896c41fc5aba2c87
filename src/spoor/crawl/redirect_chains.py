"""Addresses in the middle of redirects, which a page or another redirect may lead to as well.

A URL belongs to one link, and so does each address that the link came through; how many redirects
a link may follow is counted from where it began. So that whoever led a long chain to a page does
not use up what the shorter way to it needs, a link begins to count anew at an address that another
one leads to, and one that was closed since its redirects were too many is opened again where it
stands.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from spoor.types import LinkId, State

_CLOSED = 50_000
"""Links that were closed since their redirects were too many, and may be opened again; the oldest
are forgotten."""


class Hops(NamedTuple):
    """Redirects of a link."""

    crossed: int = 0
    """From one domain or shard to another."""
    on_domain: int = 0
    """On the domain to which these led."""

    def further(self, *, crosses: bool) -> Hops:
        """With one more."""
        return Hops(self.crossed + 1) if crosses else Hops(self.crossed, self.on_domain + 1)

    def since(self, earlier: Hops) -> Hops:
        """Those after some of them."""
        same = self.crossed == earlier.crossed
        return Hops(self.crossed - earlier.crossed, self.on_domain - same * earlier.on_domain)

    def after(self, earlier: Hops) -> Hops:
        """These and those before them."""
        same = not self.crossed
        return Hops(earlier.crossed + self.crossed, self.on_domain + same * earlier.on_domain)

    def least(self, other: Hops) -> Hops:
        """The fewer of each kind."""
        return Hops(min(self.crossed, other.crossed), min(self.on_domain, other.on_domain))


@dataclass(slots=True)
class _Chain:
    counted: Hops
    """That count."""
    addresses: dict[str, Hops] = field(default_factory=dict)
    """Where the link came through, and stands last → redirects that led there."""

    @property
    def all(self) -> Hops:
        """Redirects that led to where the link stands."""
        return next(reversed(self.addresses.values()), Hops())


class RedirectChains:
    """The addresses of each link that was redirected. O(1) a call."""

    def __init__(self) -> None:
        self._links: dict[str, LinkId] = {}
        self._chains: dict[LinkId, _Chain] = {}
        self._closed: OrderedDict[LinkId, None] = OrderedDict()
        """Whose redirects were too many."""

    def __bool__(self) -> bool:
        return bool(self._chains)

    def __contains__(self, url: object) -> bool:
        return url in self._links

    def follow(self, link: LinkId, url: str, counted: Hops, *, crosses: bool) -> None:
        """A redirect led a link to a URL; so many of them count now."""
        if (other := self._links.get(url)) is not None:
            del self._chains[other].addresses[url]
        chain = self._chains.setdefault(link, _Chain(counted))
        chain.addresses[url] = chain.all.further(crosses=crosses)
        chain.counted, self._links[url] = counted, link

    def counted(self, link: LinkId) -> Hops | None:
        """The redirects of a link that count; None where it was not redirected."""
        chain = self._chains.get(link)
        return None if chain is None else chain.counted

    def linked(self, url: str, hops: Hops) -> LinkId | None:
        """A page leads to an address, or so many redirects do; returns the link if it is closed,
        and to be opened again."""
        link = self._links[url]
        chain = self._chains[link]
        shorter = chain.all.since(chain.addresses[url]).after(hops)
        if (least := chain.counted.least(shorter)) == chain.counted:
            return None
        chain.counted = least
        if link not in self._closed:
            return None
        del self._closed[link]
        return link

    def too_many(self, link: LinkId) -> None:
        """A link is closed since its redirects are too many."""
        if link in self._chains:
            self._closed[link] = None
            if len(self._closed) > _CLOSED:
                self.forget(next(iter(self._closed)))

    def ended(self, link: LinkId) -> None:
        """A link is done; nothing of it is kept unless its redirects were too many."""
        if link not in self._closed:
            self.forget(link)

    def forget(self, link: LinkId) -> None:
        """Nothing of what led to a link counts any more."""
        self._closed.pop(link, None)
        if (chain := self._chains.pop(link, None)) is not None:
            for url in chain.addresses:
                del self._links[url]

    def leave(self, owns: Callable[[str], bool]) -> None:
        """Nothing counts here of URLs that belong to another shard."""
        for link, chain in list(self._chains.items()):
            if not all(map(owns, chain.addresses)):
                self.forget(link)

    def save(self) -> State:
        return {
            "chains": [
                [link, *chain.counted, [[url, *hops] for url, hops in chain.addresses.items()]]
                for link, chain in self._chains.items()
            ],
            "closed": list(self._closed),
        }

    def load(self, state: State) -> None:
        self._chains = {
            link: _Chain(Hops(crossed, hops), {url: Hops(*its) for url, *its in addresses})
            for link, crossed, hops, addresses in state["chains"]
        }
        self._links = {url: link for link, chain in self._chains.items() for url in chain.addresses}
        self._closed = OrderedDict.fromkeys(state["closed"])
