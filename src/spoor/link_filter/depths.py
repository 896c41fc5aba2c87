"""How many links from a seed a page is, by the shortest way that is known, and what waits for a
shorter one.

A crawl may find a page by a long way first, and anybody may lay one; so that a limit of depth is
one of the web and not of the order of the crawl, a page counts as near as any page that links it
makes it, and links that were too deep are let in once a shorter way is found. Pure.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from spoor.bounded import remember
from spoor.hashing import hash64
from spoor.link_filter.waiting_places import WaitingPlaces
from spoor.types import NO_PARENT, HeldLink, Link, LinkId, State, Ways
from spoor.web.urls import domain_of

_KNOWN = 500_000
"""URLs whose depths are known; of others the first way counts. The domain whose pages link to most
of them loses the one that it linked last."""
_LINKS = 500_000
"""Links of pages that may still come nearer; the domain with the most loses those of its last
page."""
_WAITING = 20_000
"""Links that wait; the domain with the most loses its oldest page."""
_EVERY = 16
"""Pages between two looks at what waits."""


class Depths:
    """The shortest known ways to the URLs of a crawl whose links lead at most `most` away from a
    seed. O(1) for each link, and for each link of a page that comes nearer."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[str, dict[int, int]] = {}
        """Domain whose page links to it → URL → its depth."""
        self._whose: dict[int, str] = {}
        """URL → that domain."""
        self._places = WaitingPlaces(_KNOWN)
        self._links: dict[int, array[int]] = {}
        """Page → what it links to, which comes nearer with it."""
        self._linking: dict[str, dict[int, None]] = {}
        """Domain → such pages."""
        self._links_places = WaitingPlaces(_LINKS)
        self._leads: OrderedDict[int, int] = OrderedDict()
        """URL → the one to which it is redirected."""
        self._cut: dict[str, list[HeldLink]] = {}
        """Page → its links, which are too deep."""
        self._cut_keys: set[int] = set()
        self._waiting: Counter[str] = Counter()
        """Domain → such links of its pages."""
        self._elsewhere: dict[int, tuple[str, list[HeldLink], int]] = {}
        """Page that may still come nearer → its domain, its links to pages of other shards, and how
        much deeper these are than it."""
        self._sent_places = WaitingPlaces(_WAITING)
        self._again: dict[int, int] = {}
        """Such a page that came nearer → the depth of its links."""
        self._nearer = False
        """Whether any URL came nearer since the last look."""
        self._pages = 0

    def seed(self, urls: Sequence[str]) -> None:
        for url in urls:
            self._way(hash64(url), 0, domain_of(url), domain_of(url))

    def of_links(self, url: str, depth: int) -> int:
        """Depth of what a page links to, which is `depth` by the way on which it was found."""
        known = self._depth(hash64(url))
        return depth if known is None else min(depth, known + 1)

    def _depth(self, key: int) -> int | None:
        domain = self._whose.get(key)
        return None if domain is None else self._known[domain][key]

    def beyond(self, keys: Iterable[int]) -> set[int]:
        """Those of hashed URLs that no known way makes near enough."""
        return {key for key in keys if (depth := self._depth(key)) is None or depth > self._most}

    def redirected(self, url: str, to: str, *, leaves: bool = False) -> None:
        """A URL is redirected to another one, which is as near; it `leaves` to another shard, or
        does not."""
        key, lead = hash64(url), hash64(to)
        remember(self._leads, key, lead)
        depth = self._depth(key)
        if depth is not None:
            self._way(lead, depth, self._whose[key], domain_of(to))
            if leaves:
                self._send(lead, domain_of(url), [HeldLink(Link(to), NO_PARENT, 0, 0, False)], 0)
                self._again[lead] = depth
                self._nearer = True

    def link(self, page: str, urls: Sequence[str], depth: int) -> None:
        """A page links to these URLs, whose depth is thus `depth` at most."""
        self._pages += 1
        key, domain = hash64(page), domain_of(page)
        self._way(key, depth - 1, domain, domain)
        far = array("Q")
        for url in urls:
            link = hash64(url)
            known = self._depth(link)
            if known is None or known > depth:
                self._way(link, depth, domain, domain_of(url))
            if depth > 2 and (known is None or known > 2):
                far.append(link)
        if far:
            self._forget_links(domain, key)
            self._links[key] = far
            self._linking.setdefault(domain, {})[key] = None
            self._links_places.add(domain, len(far))
        while fullest := self._links_places.too_many():
            self._forget_links(fullest, next(reversed(self._linking[fullest])))
        while fullest := self._places.too_many():
            del self._whose[self._known[fullest].popitem()[0]]
            self._places.add(fullest, -1)

    def elsewhere(self, page: str, links: Sequence[HeldLink]) -> None:
        """A page has these links to pages of other shards, which are told if it comes nearer."""
        links = [held for held in links if held.depth > 2]
        if not links:
            return
        self._send(hash64(page), domain_of(page), links, 1)

    def _send(self, key: int, domain: str, links: Sequence[HeldLink], step: int) -> None:
        self._forget_sent(key)
        self._elsewhere[key] = (domain, list(links), step)
        self._sent_places.add(domain, len(links))
        while fullest := self._sent_places.too_many():
            of_domain = (one for one, its in self._elsewhere.items() if its[0] == fullest)
            self._forget_sent(next(of_domain))

    def _forget_sent(self, key: int) -> None:
        if (its := self._elsewhere.pop(key, None)) is not None:
            self._again.pop(key, None)
            self._sent_places.add(its[0], -len(its[1]))

    def arrived(self, urls: Sequence[str], depth: int, site: str) -> None:
        """Another shard has a page of a domain that links to these URLs."""
        for url in urls:
            own = domain_of(url)
            self._way(hash64(url), depth, site or own, own)

    def _forget_links(self, domain: str, key: int) -> None:
        if (known := self._links.pop(key, None)) is not None:
            self._links_places.add(domain, -len(known))
            del self._linking[domain][key]
            if not self._linking[domain]:
                del self._linking[domain]

    def _way(self, key: int, depth: int, domain: str, own: str) -> None:
        """A page of a domain leads to a URL of the domain `own` by so many links, and on to what it
        leads to."""
        todo = [(key, depth, domain, own)]
        for key, depth, domain, own in todo:
            known = self._depth(key)
            if known is not None and known <= depth:
                continue
            self._nearer |= known is not None or key in self._cut_keys
            # What its own domain links to stays its own, whoever links it nearer.
            owner = self._whose.get(key)
            keeps = owner is not None and own in ("", owner)
            self._enter(key, depth, owner if keeps and owner else domain)
            if (lead := self._leads.get(key)) is not None:
                todo.append((lead, depth, domain, ""))
            if known is not None:
                if (its := self._elsewhere.get(key)) is not None:
                    self._again[key] = depth + its[2]
                todo += [(link, depth + 1, domain, "") for link in self._links.get(key, ())]

    def _enter(self, key: int, depth: int, domain: str) -> None:
        owner = self._whose.get(key)
        if owner != domain:
            if owner is not None:
                del self._known[owner][key]
                self._places.add(owner, -1)
            self._whose[key] = domain
            self._places.add(domain)
        self._known.setdefault(domain, {})[key] = depth

    def move(
        self, urls: Iterable[str], find: Callable[[str], LinkId | None], owns: Callable[[str], bool]
    ) -> list[Ways]:
        """The hosts were divided anew: what comes nearer with pages that another shard `owns` now,
        and is forgotten here. Of others, what they lead to on other shards is noted. `urls`: all
        that are known, with their links by `find`. O(all that is known)."""
        names = {hash64(url): url for url in (*urls, *self._cut)}
        for _, sent, _ in self._elsewhere.values():
            names |= {hash64(held.link.url): held.link.url for held in sent}
        linking = (key for pages in self._linking.values() for key in pages)
        gone: list[Ways] = []
        for key in dict.fromkeys([*linking, *map(hash64, self._cut), *self._leads]):
            if (url := names.get(key)) is None:
                continue
            ways = self._ways(key, url, names)
            if not owns(url):
                gone.append(ways)
                self._forget_links(domain_of(url), key)
                self._leads.pop(key, None)
                if url in self._cut:
                    self._drop(url)
            parent = find(url)
            self._forget_sent(key)
            self._lead_elsewhere(ways, NO_PARENT if parent is None else parent, owns)
        return gone

    def _ways(self, key: int, url: str, names: Mapping[int, str]) -> Ways:
        deep = self._cut.get(url, ())
        depth = self._depth(key)
        if depth is None:  # forgotten, since too many were known
            depth = deep[0].depth - 1 if deep else self._most
        lead = names.get(self._leads.get(key, 0), "")
        links = tuple(names[link] for link in self._links.get(key, ()) if link in names)
        score = deep[0].score if deep else 0.0
        told = key not in self._again
        return Ways(url, depth, lead, links, tuple(held.link for held in deep), score, told)

    def _lead_elsewhere(self, ways: Ways, page: LinkId, owns: Callable[[str], bool]) -> None:
        if not owns(ways.url):
            return
        place = page, ways.score, ways.depth + 1, False
        self.elsewhere(
            ways.url, [HeldLink(Link(link), *place) for link in ways.links if not owns(link)]
        )
        if not ways.told and (key := hash64(ways.url)) in self._elsewhere:
            self._again[key] = ways.depth + 1
        if ways.lead and not owns(ways.lead):
            lead = HeldLink(Link(ways.lead), NO_PARENT, 0.0, 0, False)
            self._send(hash64(ways.lead), domain_of(ways.url), [lead], 0)

    def moved(self, ways: Ways, page: LinkId, owns: Callable[[str], bool]) -> None:
        """The same, from the shard that had it before; `page` is the page's own link."""
        key, domain = hash64(ways.url), domain_of(ways.url)
        self._way(key, ways.depth, domain, domain)
        depth = self.of_links(ways.url, ways.depth + 1)
        self.link(ways.url, ways.links, depth)
        if ways.lead:
            self.redirected(ways.url, ways.lead)
        told = ways.told and depth - 1 >= ways.depth
        self._lead_elsewhere(ways._replace(depth=depth - 1, told=told), page, owns)
        if ways.deep:
            place = page, ways.score, ways.depth + 1, False
            self.cut(ways.url, [HeldLink(link, *place) for link in ways.deep])
        self._nearer = True

    def cut(self, page: str, links: Sequence[HeldLink]) -> None:
        """Let links of a page, which are too deep, wait for a shorter way."""
        domain = domain_of(page)
        self._cut[page] = list(links)
        self._cut_keys.add(hash64(page))
        self._waiting[domain] += len(links)
        while self._waiting.total() > _WAITING:
            (most, _), *_ = self._waiting.most_common(1)
            self._drop(next(one for one in self._cut if domain_of(one) == most))

    def _drop(self, page: str) -> list[HeldLink]:
        links = self._cut.pop(page)
        self._cut_keys.discard(hash64(page))
        self._waiting[domain_of(page)] -= len(links)
        return links

    def release(self, *, over: bool) -> list[HeldLink]:
        """Links that are no longer too deep, and those to pages of other shards that are nearer
        than was told. `over`: no other link is open."""
        if not self._nearer or not (over or self._pages >= _EVERY):
            return []
        self._nearer, self._pages = False, 0
        found = [
            held._replace(depth=depth)
            for key, depth in self._again.items()
            for held in self._elsewhere[key][1]
        ]
        self._again = {}
        for page in list(self._cut):
            depth = self.of_links(page, self._most + 1)
            if depth <= self._most:
                links = self._drop(page)
                self.link(page, [held.link.url for held in links], depth)
                found += [held._replace(depth=depth) for held in links]
        return found

    def save(self) -> State:
        cut = [[page, [held.row() for held in links]] for page, links in self._cut.items()]
        known = [[domain, list(map(list, its.items()))] for domain, its in self._known.items()]
        rows = [
            [domain, [[key, np.array(self._links[key], np.uint64)] for key in pages]]
            for domain, pages in self._linking.items()
        ]
        leads = [list(row) for row in self._leads.items()]
        elsewhere = [
            [key, domain, [held.row() for held in links], step]
            for key, (domain, links, step) in self._elsewhere.items()
        ]
        return {
            "known": known,
            "cut": cut,
            "nearer": self._nearer,
            "pages": self._pages,
            "leads": leads,
            "links": rows,
            "elsewhere": elsewhere,
            "again": list(map(list, self._again.items())),
        }

    def load(self, state: State) -> None:
        self._known, self._whose, self._places = {}, {}, WaitingPlaces(_KNOWN)
        for domain, pairs in state["known"]:
            self._known[domain] = its = dict(map(tuple, pairs))
            self._whose |= dict.fromkeys(its, domain)
            self._places.add(domain, len(its))
        self._links, self._linking, self._links_places = {}, {}, WaitingPlaces(_LINKS)
        for domain, rows in state["links"]:
            self._linking[domain] = {}
            for key, links in rows:
                self._linking[domain][key] = None
                self._links[key] = array("Q", links.astype(np.uint64).tobytes())
                self._links_places.add(domain, len(links))
        self._leads = OrderedDict(map(tuple, state["leads"]))
        self._elsewhere, self._sent_places = {}, WaitingPlaces(_WAITING)
        for key, domain, rows, step in state["elsewhere"]:
            self._elsewhere[key] = (domain, list(map(HeldLink.of, rows)), step)
            self._sent_places.add(domain, len(rows))
        self._again = dict(map(tuple, state["again"]))
        self._nearer, self._pages = state["nearer"], state["pages"]
        self._cut, self._waiting, self._cut_keys = {}, Counter(), set()
        for page, rows in state["cut"]:
            self.cut(page, [HeldLink.of(row) for row in rows])
