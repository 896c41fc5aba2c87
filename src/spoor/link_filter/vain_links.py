"""How many of the links that each domain gives may come to nothing.

A budget of pages bounds what is fetched, and not what fails: whoever has a domain can name links
without end that bring an error, or megabytes that nobody can read. So links on pages of a domain
may come to nothing `LEAST` times, and `FOR_EACH` times more for each that brought a page; a domain
without seeds has a tenth of that to begin with. So many MiB may their bodies have: `BYTES` times as
many as links. The other links of its pages wait then, unless a page of another domain has them too,
until one brought a page or the run is gone on with. A link is counted for whoever has it, not for
the host that it leads to, of which there are names without end.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import filterfalse

from spoor.bounded import remember
from spoor.link_filter.waiting_places import HeldGroup, Holder, WaitingLinks
from spoor.types import (
    Failed,
    HeldLink,
    Link,
    LinkId,
    Origin,
    Outcome,
    Page,
    State,
    urls_of,
)
from spoor.web.page_links import those
from spoor.web.urls import domain_of, host

LEAST = 1_000
"""Links of a domain with a seed that may come to nothing before any brought a page."""
OF_OTHERS = 100
"""The same of any other domain."""
FOR_EACH = 20
"""Links more for each that brought a page."""
BYTES = 4 << 20
"""Bytes for each of these links, of the bodies of all of them together."""
_NOT_ASKED = ("later", "cancelled", "unchanged")
_REDIRECTS = ("skipped", "duplicate", "moved")
"""Failures of links that led out of the scope, to what is known or to another shard. A directory of
links has many, and they cost little: four count as one."""


def _group_of(group: str, url: str) -> str:
    return group


class VainLinks(Holder):
    """O(1) a call where no domain has had its share."""

    def __init__(self) -> None:
        self._named: set[str] = set()
        """Domains of seeds."""
        self._came: Counter[str] = Counter()
        """Domain → links of its pages that brought a page …"""
        self._vain: Counter[str] = Counter()
        """… and those that came to nothing …"""
        self._redirects: Counter[str] = Counter()
        """… of which so many were `_REDIRECTS` …"""
        self._bytes: Counter[str] = Counter()
        """… and the bytes of their bodies."""
        self._forgiven: dict[str, float] = {}
        """Links that had come to nothing when the run was gone on with last, and their bytes."""
        self._full: set[str] = set()
        """Domains that have had their share."""
        self._refused: OrderedDict[str, None] = OrderedDict()
        """Hosts whose robots.txt forbade a link, or could not be had: counted once each."""
        self._asked_for: dict[LinkId, str] = {}
        """Links in flight → the domain for whose page they are asked for, where any had had its
        share."""
        super().__init__(WaitingLinks(_group_of))

    def seed(self, urls: Iterable[str]) -> None:
        """Canonical URLs are seeds."""
        self._named.update(map(domain_of, urls))

    def __bool__(self) -> bool:
        """Whether any domain has had its share."""
        return bool(self._full)

    def choose(self, link: LinkId, domains: Collection[str]) -> str:
        """The domain for which a link waits, of those whose pages have it ("" for a seed's); empty
        where it need not wait, and is asked for."""
        if domains and self._full.issuperset(domains):
            return min(domains)
        self._asked_for[link] = min(filterfalse(self._full.__contains__, domains), default="")
        return ""

    def worth_a_request(
        self, page: Page, links: Sequence[Link], origin: Origin, knows: Callable[[str], bool]
    ) -> Sequence[Link]:
        """Those of a page's links that need not wait; the others do from now on."""
        if (domain := domain_of(page.url)) not in self._full:
            return links
        kept = list[int]()
        for index, url in enumerate(urls_of(links)):
            if knows(url):
                kept.append(index)
            else:
                self.hold(domain, origin.held(links[index]))
        return those(links, kept)

    def ended(self, outcome: Outcome, url: str, found_on: Callable[[], str]) -> None:
        """Count the outcome of a link to a URL for the domain whose page has it, and the page of a
        seed for its own. `found_on` gives the URL of the page on which it was first seen, empty for
        a seed."""
        domain = self._asked_for.pop(outcome.choice.link, None)
        if domain is None:
            where = found_on()
            domain = domain_of(where) if where else ""
        if outcome.page is not None:
            self._came[domain := domain or domain_of(url)] += 1
            if domain in self._full:
                self._look(domain)
        elif domain and isinstance(outcome.reply, Failed) and self._counts(outcome.reply, url):
            self._vain[domain] += 1
            self._redirects[domain] += outcome.reply.kind in _REDIRECTS
            self._bytes[domain] += outcome.reply.size
            self._look(domain)

    def _counts(self, reply: Failed, url: str) -> bool:
        """Whether anything was asked for in vain: where it is robots.txt alone, once a host."""
        if reply.of_robots:
            new = host(url) not in self._refused
            remember(self._refused, host(url), None)
            return new
        return reply.kind not in _NOT_ASKED

    def _look(self, domain: str) -> None:
        least = LEAST if domain in self._named else OF_OTHERS
        most = least + FOR_EACH * self._came[domain]
        links, size = f"links {domain}", f"bytes {domain}"
        full = (
            self._cost(domain) - self._forgiven.get(links, 0) >= most
            or self._bytes[domain] - self._forgiven.get(size, 0) >= most * BYTES
        )
        if full:
            self._full.add(domain)
        elif domain in self._full:
            self._full.discard(domain)
            self._freed[domain] = None

    def _cost(self, domain: str) -> float:
        return self._vain[domain] - 0.75 * self._redirects[domain]

    def go_on(self) -> None:
        """Somebody wants the run to go on: each domain may have as many as at first."""
        for domain in sorted(self._full):
            self._forgiven[f"links {domain}"] = self._cost(domain)
            self._forgiven[f"bytes {domain}"] = self._bytes[domain]
            self._look(domain)

    def release(self) -> list[HeldLink]:
        """Links that need not wait any more."""
        return self._all_freed()

    def held_groups(self) -> list[HeldGroup]:
        return [
            HeldGroup(f"what {domain} links", links, self._why(domain))
            for domain, links in self._waiting.counts().items()
        ]

    def _why(self, domain: str) -> str:
        came, vain = self._came[domain], self._vain[domain]
        size = self._bytes[domain] >> 20
        took = f" and took {size:,} MiB" if size >= vain else ""
        return f"{vain:,} came to nothing{took}, and {came:,} to a page"

    def save(self) -> State:
        return {
            "came": dict(self._came),
            "vain": dict(self._vain),
            "redirects": dict(self._redirects),
            "bytes": dict(self._bytes),
            "forgiven": dict(self._forgiven),
            "refused": list(self._refused),
            "asked_for": [[link, domain] for link, domain in self._asked_for.items()],
            **super().save(),
        }

    def load(self, state: State) -> None:
        """Go on from `save`; the seeds are given before."""
        self._came, self._vain = Counter(state["came"]), Counter(state["vain"])
        self._redirects, self._bytes = Counter(state["redirects"]), Counter(state["bytes"])
        self._forgiven = dict(state["forgiven"])
        self._refused = OrderedDict.fromkeys(state["refused"])
        self._asked_for = dict(state["asked_for"])
        super().load(state)
        self._full.clear()
        for domain in self._vain:
            self._look(domain)
