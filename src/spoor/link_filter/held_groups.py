"""Groups that are held back (`traps.py`): what is known of each, the links of them that
wait, and when these are tried again. Pure: what came of pages → what waits.

Every table is bounded; the oldest entries are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from spoor.bounded import remember
from spoor.link_filter.chosen_by_others import is_of_stranger, owner
from spoor.link_filter.novelty import News
from spoor.link_filter.trap_groups import (
    NEVER,
    VOUCHED,
    Count,
    counts_of,
    in_rests,
    is_anywhere,
    is_asked_last,
    is_below_others,
    is_of_copies,
    longest_run,
    narrowest,
    saved_counts,
)
from spoor.link_filter.trap_rests import Rests, worth
from spoor.link_filter.trap_tries import Tries
from spoor.link_filter.waiting_places import MOST_WAITING, HeldGroup, WaitingLinks
from spoor.types import HeldLink, State
from spoor.web.urls import host, registrable_domain

SEES_MORE = 4
"""What has one name below other documents is another view of them, whose words come with whichever
is read first. So one page of it with news opens nothing, only one in fewer than so many …"""
_SEES_MORE_ANYWHERE = 2
"""… or than so many, where they are below documents of any folder."""

_FIRST_TRY = 32
"""Pages of the crawl after which a group is tried again; then twice as many each time."""
_EACH = 2
"""Links of a group that are tried at a time."""
_LAST = 5
"""Tries of a group where nothing else is left."""

_AT_FIRST = 16
"""Links of a group that opened that enter at once. Then one enters with each page of the crawl …"""
_ONE_MORE = 8
"""… and one more for each so many pages of the group since: a group with a page of news now and
then opens again and again, and each link that entered until it is held back once more is chosen
in vain …"""
_AT_ONCE = 64
"""… but of all groups no more than so many at a time."""
_SHAPES = 4 * MOST_WAITING
"""URLs whose look is remembered, those that wait among them."""


class HeldGroups:
    """All groups of a crawl; `name in it`: whether one is held back."""

    def __init__(self) -> None:
        self._groups: OrderedDict[str, Count] = OrderedDict()
        self._held: dict[str, None] = {}
        """Those that are held back."""
        self.of_strangers = 0
        """How many of these are of links of other domains."""
        self.waiting = WaitingLinks(owner)
        """Of these groups."""
        self._opened: dict[str, int] = {}
        """Groups that hold nothing back, with links that still wait → their pages at that time."""
        self._looking: dict[str, int] = {}
        """Groups of copies that are looked at again → of how many of their links it is to be told
        whether they are still copies."""
        self._shapes: dict[str, str] = {}
        """URL that waits → its narrowest group: what all of them look like takes half a second."""
        self._tries = Tries()
        self._rests = Rests()
        self._ready: list[HeldLink] = []
        """Links to enter again at once."""
        self._trying: set[str] = set()
        self._tried: OrderedDict[str, bool] = OrderedDict()
        """URLs that are asked for as tries."""
        self._pages = 0
        self._due = 0
        """Pages of the crawl at which a group is tried next."""

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __bool__(self) -> bool:
        """Whether any is held back."""
        return bool(self._held)

    def known(self, name: str) -> Count | None:
        """What is known of a group."""
        return self._groups.get(name)

    def count(self, name: str) -> Count:
        """The same, to be counted on: it is the newest now."""
        count = self._groups.get(name)
        if count is None:
            count = Count()
        # What waits for a group that is forgotten is asked for like any link.
        if forgotten := remember(self._groups, name, count):
            self._let_go(forgotten)
            self._ready += self.waiting.all(forgotten)
        return count

    # -- what waits

    def hold(self, name: str, held: HeldLink) -> None:
        """Let a link wait until its group is tried again."""
        count = self.count(name)
        if name not in self._held:
            self._hold_back(name, count)
        self.waiting.add(name, held)
        self._shapes[held.link.url] = narrowest(held.link.url)
        if len(self._shapes) > _SHAPES:
            self._shapes = {url: self._shapes[url] for url in self.waiting.urls()}
        self._due = min(self._due, count.next)

    def look_again(self, site: str) -> None:
        """What waits as a copy on a host may be none any more: `release` finds out."""
        for name in self._held:
            if is_of_copies(name) and name.startswith(f"{site}/"):
                self._looking[name] = self.waiting.count(name)

    def open(self, name: str) -> None:
        """A group holds nothing back, and what waited for it is asked for like any link."""
        self._let_go(name)
        count = self.count(name)
        if name in self.waiting and name not in self._opened:
            self._opened[name] = count.pages
            self._ready += self._longest(name, _AT_FIRST)
        count.held = count.tries = 0

    def _hold_back(self, name: str, count: Count) -> None:
        last = is_asked_last(name)
        count.held, count.next = 1, NEVER if last else self._pages + _FIRST_TRY
        self._held[name] = None
        self.of_strangers += is_of_stranger(name)

    def _let_go(self, name: str) -> None:
        """A group holds nothing back any more."""
        if name in self._held:
            del self._held[name]
            self.of_strangers -= is_of_stranger(name)

    def waits_no_longer(self, url: str, names: Callable[[], Iterable[str]]) -> None:
        """A page came, for whichever of some groups its URL waited."""
        for name in names() if self.waiting else ():
            self.waiting.drop(name, url)

    def leave(self, owns: Callable[[str], bool]) -> list[HeldLink]:
        """Links that were dropped and wait no longer, since their URLs are another shard's."""
        gone = [held for held in self._ready if held.dropped and not owns(held.link.url)]
        self._ready = [held for held in self._ready if not held.dropped or owns(held.link.url)]
        return gone + self.waiting.leave(owns)

    def largest(self) -> list[HeldGroup]:
        """The groups that hold links back, the largest first."""
        found = [
            HeldGroup(name, self.waiting.count(name), count.why(name))
            for name in self._held
            if (count := self._groups.get(name)) is not None and name in self.waiting
        ]
        return sorted(found, key=lambda group: -group.links)

    # -- tries

    def release(self, copied: Callable[[str], str], *, over: bool) -> Sequence[HeldLink]:
        """Links that may enter the frontier again. `copied` gives the group of copies in which a
        URL waits (empty for none); `over`: there are no others in any shard."""
        ready, self._ready = self._ready + self._from_opened() + self._no_copies(copied), []
        while over and not ready and self._looking:
            ready = self._no_copies(copied)
        if not over and self._pages < self._due:
            return ready
        self._due = self._pages + _FIRST_TRY
        for name in list(self._held):
            count = self.count(name)
            if name not in self.waiting:
                continue
            last = over and count.tries < _LAST and not in_rests(name)
            if not (self._pages >= count.next or last):
                continue
            if not self._tries.left(self.waiting.domain(name)):
                continue
            count.tries += 1
            count.next = self._pages + (_FIRST_TRY << min(count.tries, 20))
            for turn in range(_EACH):
                held = self.waiting.newest(name) if turn else self.waiting.first(name)
                if held is not None:
                    self._trying.add(held.link.url)
                    ready.append(held)
        if over and not ready:
            ready = [held for domain in self.waiting.domains() for held in self._rest(domain)]
        return ready

    def _from_opened(self) -> list[HeldLink]:
        """Some of the links that waited for groups that opened."""
        found: list[HeldLink] = []
        for name, pages in list(self._opened.items()):
            if name not in self._held:
                since = self.count(name).pages - pages
                most = 1 + max(since, 0) // _ONE_MORE
                found += self._longest(name, min(most, _AT_ONCE - len(found)))
            if name in self._held or name not in self.waiting:
                del self._opened[name]
            if len(found) == _AT_ONCE:
                break
        return found

    def _no_copies(self, copied: Callable[[str], str]) -> list[HeldLink]:
        """Of some links that waited as copies, those that are none any more."""
        found, looks = list[HeldLink](), _AT_ONCE
        for name, left in list(self._looking.items()):
            links = self._longest(name, min(left, looks))
            looks -= len(links)
            self._looking[name] -= len(links)
            for held in links:
                if still := copied(held.link.url):
                    self.hold(still, held)
                else:
                    found.append(held)
            if name not in self.waiting:
                self._let_go(name)
            if name not in self.waiting or not self._looking[name]:
                del self._looking[name]
            if not looks:
                break
        return found

    def _longest(self, name: str, most: int) -> list[HeldLink]:
        """So many links of a group, those that waited longest, which wait no longer."""
        first = (self.waiting.first(name) for _ in range(most))
        return [held for held in first if held is not None]

    def _rest(self, domain: str) -> Sequence[HeldLink]:
        """Links of a domain to ask for once there are no others."""
        most, waiting = self._rests.most(domain, self._tries.pages(domain)), self.waiting
        for name in waiting.groups(domain) if most else ():
            if in_rests(name) and (links := waiting.best(name, most, self._worth)):
                urls = [held.link.url for held in links]
                self._rests.ask(domain, urls)
                self._trying.update(urls)
                return links
        return ()

    def _worth(self, url: str) -> float:
        count = self._groups.get(self._shapes[url])
        return worth(0, 0) if count is None else worth(count.new, count.pages)

    def tries(self, url: str) -> bool:
        """Whether a URL is about to be tried."""
        return url in self._trying

    def passes_as_try(self, url: str) -> bool:
        """Whether a URL that is about to be asked for is tried; it passes once."""
        if url not in self._trying:
            return False
        self._trying.discard(url)
        remember(self._tried, url, True)
        return True

    # -- what came

    def came(self, url: str, asked: str, *, news: bool) -> bool:
        """Count a page of the crawl; whether it was tried. `asked`: the URL that was asked for."""
        self._pages += 1
        self._tries.count(registrable_domain(host(url)), pages=1)
        return self._was_tried(url, asked, news=news)

    def failed(self, url: str) -> bool:
        """A URL brought no page; whether it was tried."""
        return self._was_tried(url, url, news=False)

    def _was_tried(self, url: str, asked: str, *, news: bool) -> bool:
        tried = self._tried.pop(url, False)
        return not self._rests.ended(asked, news=news) and tried

    def add(self, name: str, url: str, news: int, weight: int, same: bool, *, tried: bool) -> None:
        """Count a page for a group. `weight`: in quarters of a page without news; `same`: it
        brought not even new numbers."""
        count = self.count(name)
        count.pages += 1
        if news == News.WORDS:
            count.new += 1
            most = _SEES_MORE_ANYWHERE if is_anywhere(name) else SEES_MORE
            if is_below_others(name) and most * count.new <= count.pages:
                return
            count.run = count.same = 0
            self.open(name)
        elif news != VOUCHED:
            count.run += weight
            count.same = count.same + weight if same else 0
            if name in self._held:
                self._tries.count(owner(name, url), vain=tried)
            elif count.run >= longest_run(name, url):
                self._hold_back(name, count)
                self._due = min(self._due, count.next)

    # -- saving

    def save(self) -> State:
        return {
            "groups": saved_counts(self._groups),
            "held": list(self._held),
            **self.waiting.save(),
            "opened": [[name, pages] for name, pages in self._opened.items()],
            "looking": [[name, left] for name, left in self._looking.items()],
            "ready": [held.row() for held in self._ready],
            "trying": sorted(self._trying),
            "pages": self._pages,
            "tried": list(self._tried),
            "in_vain": self._tries.save(),
            "rests": self._rests.save(),
            "due": self._due,
        }

    def load(self, state: State) -> None:
        self._groups = counts_of(state["groups"])
        held = state["held"]
        self._held = dict.fromkeys(held)
        self.of_strangers = sum(map(is_of_stranger, held))
        self.waiting.load(state)
        self._shapes = {url: narrowest(url) for url in self.waiting.urls()}
        self._tried = OrderedDict.fromkeys(state["tried"], True)
        self._tries.load(state["in_vain"])
        self._rests.load(state["rests"])
        self._opened = dict(state["opened"])
        self._looking = dict(state["looking"])
        self._ready = list(map(HeldLink.of, state["ready"]))
        self._trying = set(state["trying"])
        self._pages, self._due = state["pages"], state["due"]
