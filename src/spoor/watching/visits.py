"""What a fleet saw at its looks at each URL: its state, its date, its content's digest, its links.

URLs are numbers here (`spoor.watching.urls`). The paper keeps states by forager; a fleet on one
computer shares them, and each forager reads what was downloaded last.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.durations import DAY
from spoor.types import Failed, Fetched, Link, NotModified, Page, urls_of
from spoor.watching import twin_pages
from spoor.watching.freshness_lifetimes import Promises
from spoor.watching.hints import Hints
from spoor.watching.near_copies import LESS, MOVED, SAME
from spoor.watching.page_kinds import PageKinds
from spoor.watching.page_states import Describe
from spoor.watching.sitemap_entries import Listed
from spoor.watching.soft_404s import Emptied
from spoor.watching.teaser_lists import Age, Boxes, in_main, rows_of, spots
from spoor.watching.urls import NEVER, Urls
from spoor.watching.watching import FUTURE, JUST_NOW, Watching
from spoor.web.parts import first_part
from spoor.web.url_groups import lists_tags
from spoor.web.urls import host, registrable_domain
from spoor.web.view_relations import twins

LIST = 3
"""URLs that appeared on a page, from which on it is a list; or pages that link to one and are older
than it says it is."""

NEW = DAY
"""Seconds within which a date that a page states of itself has to be borne out."""

RESTS = 21_600.0
"""Seconds after a look at a document within which a copy of it under another URL says nothing: some
sites have a new URL for it at each look."""

YOUNG = 2 * DAY
"""Seconds before its link appears up to which a page is young …"""

OLD = 7 * DAY
"""… and from which on it is old; before the last look at the page to which its link comes."""

Admit = Callable[[Page, int], Sequence[Link]]

Reply = Fetched | Failed | NotModified


def digest(page: Page) -> int:
    """64 bits of a page's content; never 0. The same content has the same digest anywhere."""
    text = page.text or ("\n".join(urls_of(page.links)) if "sitemap" in page.flags else "")
    content = f"{page.title}\n{text}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little") or 1


def _key(page: Page) -> int:
    """The same in this process alone, and never 0: next to nothing where it was asked before."""
    return hash((hash(page.text), hash(page.title))) or 1


class Looks(Urls):
    """What was seen of each URL, by its last download."""

    def __init__(
        self, describe: Describe, admit: Admit | None = None, watching: Watching | None = None
    ) -> None:
        super().__init__(watched=watching is not None)
        self.watching = watching
        """What is wanted and what counts as a change; None: everything, as in the paper."""
        self.hints = Hints()
        self.promises = Promises()
        self.boxes = Boxes()
        self.emptied = Emptied()
        self.released: list[int] = []
        """URLs that were held (`Boxes`) and are new from now on, for whom it concerns: who asks
        empties it."""
        self.doubted: dict[int, int] = {}
        """URL → another one that says nearly the same, and is its copy if it itself is no more."""
        self.again: dict[int, float] = {}
        """URL that is looked at once more, in a watch → when."""
        self.hubs: set[int] = set()
        """Feeds and sitemaps, in a watch."""
        self.kinds = PageKinds()
        self.listed = Listed()
        self.sitemaps: set[int] = set()
        """URLs that are asked for as sitemaps."""
        self.left_out: dict[str, int] = {}
        """Host → links that were left out because too many wait."""
        self.ahead = 0.0
        """Seconds by which the clock of the calls is ahead of that by which documents are dated."""
        self._absent: dict[int, float] = {}
        """URL at which nothing ever was, in a watch → when it was asked for last."""
        self.states: NDArray[np.float32] = np.zeros((1024, describe.size), dtype=np.float32)
        """Row by URL number: Algorithm 2's state(URL); zeros before its first download."""
        self.date = array("d")
        """Publication time of the content downloaded last; NEVER if unknown."""
        self.digests = array("Q")
        """Of the content that was downloaded last; 0 before the first download."""
        self.version = array("i")
        """Contents so far; 0 before the first download."""
        self.looked = array("d")
        """When each URL was downloaded last, or its server said that it is what it was."""
        self.dead = array("d")
        """In a watch: when the server of each URL said first, since its last download, that nothing
        is there; NEVER where it did not."""
        self.not_before = array("d")
        """In a watch: the last look that did not show yet what each URL says now, at it or at the
        page on which its link appeared; infinite where there was none."""
        self.shown_again: list[int] = []
        """Of the links that appeared on the page that was taken in last, those that had appeared
        on another page before."""
        self.relinked = False
        """Whether its links are not those of its look before."""
        self._previous = NEVER
        """When the page that was taken in last had been looked at before."""
        self._unsettled: set[int] = set()
        self._keys = array("q")
        """Hash of the last content in this process, 0 before the first: a string keeps its own once
        made, so that a world's unchanged page costs no digest."""
        self._describe = describe
        self._admit = admit

    def _place(self) -> int:
        number = super()._place()
        if number >= len(self.states):
            self.states = np.vstack([self.states, np.zeros_like(self.states)])
        return number

    def _columns(self) -> tuple[tuple[list[str] | array[Any], Any], ...]:
        return (
            *super()._columns(),
            (self.date, NEVER),
            (self.digests, 0),
            (self.version, 0),
            (self.looked, NEVER),
            (self.dead, NEVER),
            (self.not_before, math.inf),
            (self._keys, 0),
        )

    def dated(self, now: float) -> float:
        """The moment of a call on the clock by which documents are dated. `fetched` and `active`
        are moments of calls; what pages state, `date`, and when URLs appeared are such dates."""
        return now - self.ahead

    def fresh(self, url: int, now: float, new_for: float) -> bool:
        """Whether what was downloaded last is a new document that is wanted. Its age counts from
        when it was not there yet: what waited for the next look has not become old."""
        counts_from = self.dated(min(now, self.not_before[url]))
        if self.date[url] < counts_from - new_for or url in self.told_before or self.is_view(url):
            return False
        if self.kinds.first_of(url) >= 0 and (self.part_of(url) >= 0 or self.is_list(url)):
            return False
        watching = self.watching
        if watching is None:
            return True
        wanted = url in watching.wanted and url not in watching.copy_of
        return wanted and not self.lists_tags(url)

    def lists_tags(self, url: int) -> bool:
        """Whether a page is that of all tags or categories of its site, in a watch of a topic: it
        shows where documents are. Not where a person said that it is wanted."""
        watching, address = self.watching, self.urls[url]
        asked = watching is None or watching.judge is None or watching.labels.get(address, False)
        return not asked and lists_tags(address)

    def see(self, url: int, page: Page, now: float) -> bool:
        """Take in a download; True if its content is not that of the last one.

        The date is the page's own where it states one. Else it is the time of this download for a
        content that has changed, and for a first one the time at which its URL appeared on a page
        whose links were known before; NEVER for the rest: nothing says that they are new.
        """
        self.tried(url, now)
        self.dead[url] = NEVER
        self._answers(url)
        self._previous, self.looked[url] = self.looked[url], now
        if self._is_as_seen(url, page):
            return self._unchanged(url)
        self._keys[url] = _key(page)
        content = digest(page)
        if content == self.digests[url]:
            if url in self._unsettled:
                self._store(url, page)
            return self._unchanged(url)
        first, watching = not self.digests[url], self.watching
        if (since := self._absent.pop(url, None)) is not None and self._born[url] == NEVER:
            self._appears(url, self.parent[url] if self.guessed(url) else url, now, since)
        born = self._born[url]
        self.digests[url] = content
        self._store(url, page)
        if watching is None:
            counts = True
            stated = born if first else self.dated(now)
            self.date[url] = stated if page.modified is None else page.modified
        else:
            counts = watching.take(url, self.hosts[url], page, first)
            self.kinds.see(url, self.hosts[url], page, self.find(first_part(page)))
            if page.flags & {"feed", "sitemap"}:
                self.hubs.add(url)
            if first and self._stands_for_its_original(url):
                watching.stand_for(url)
            if first:
                self._find_original(watching, url, page, now)
                if url not in watching.wanted:
                    watching.contents.forget(url)
            if counts:
                self.date[url] = self._date(watching, url, page, self.dated(now), first=first)
                if first and born > NEVER:
                    self._check_age(watching, url, self.dated(now))
            if watching.content and not self.guessed(url):
                watching.parameters.see(self.urls[url], self.hosts[url], watching.content)
            if counts and not first:
                self.not_before[url] = self._previous
            if counts and (whole := self.part_of(url)) >= 0:
                self.version[whole] += not first or born > NEVER
        self.hints.settle(url, counts)
        self.version[url] += counts
        if counts:
            self.active[url] = now
        return counts

    def _is_as_seen(self, url: int, page: Page) -> bool:
        """Whether a download has the text and the title of the last one that was taken in."""
        return self._keys[url] == _key(page) and url not in self._unsettled

    def _find_original(self, watching: Watching, url: int, page: Page, now: float) -> None:
        """A page was read for the first time: whether it is another URL of a document that is
        known. Where its link appeared, that is looked at once more: it has moved, or there are two
        of it. What says only nearly the same is held until it is known whether the other is
        there. So is what the judge does not want as yet."""
        copies = watching.copy_of
        if url in watching.contents and twin_pages.compare(self, watching, url, self.is_list):
            return
        if url not in copies and url in watching.contents:
            came = self._came_from(watching, url)
            if came >= 0:
                copies[url] = copies.get(came, came)
            elif self._born[url] > NEVER and not self.kinds.is_list(url):
                self._find_near_copy(watching, url, page, now)
        other = copies.get(url, -1)
        if self._born[url] == NEVER or other not in watching.wanted:
            return
        rests = self.looked[other] >= now - RESTS or self.redirects.end(other) == url
        if not rests or other in self.doubted:
            self.again[other] = now

    def _came_from(self, watching: Watching, url: int) -> int:
        """The document that stands at this URL since the one that it had leads here: it has the
        same title, or says some of the same; −1 where there is none."""
        contents = watching.contents
        shares = {
            one: contents.resemblance(url, one, self.hosts[url])
            for one in self.redirects.leading_to(url)
            if one in contents and self._may_be(one, url)
        }
        if not shares:
            return -1
        came = max(shares, key=lambda one: (shares[one], -one))  # of equals the one known first
        return came if shares[came] >= LESS or watching.same_title(url, came) else -1

    def _may_be(self, old: int, url: int) -> bool:
        """Whether a document may be that of a URL: one of another site is not, which may lead to
        whatever it likes, and what only strangers lead to is none that its own site shows."""
        its, own = (registrable_domain(self.hosts[one]) for one in (old, url))
        return its == own and (not self.guessed(old) or self.guessed(url))

    def _find_near_copy(self, watching: Watching, url: int, page: Page, now: float) -> None:
        """A page was read whose link appeared: whether another one says nearly the same."""
        share, near = watching.nearest(url, self.hosts[url])
        near = watching.copy_of.get(near, near)
        if near in (-1, url) or self.is_view(near) or not self._may_be(near, url):
            return
        gone = self.dead[near] > NEVER or self.redirects.end(near) == url
        if not gone and self._born[near] >= self._born[url]:
            return  # they appeared together
        same = share >= SAME and not self._is_another(watching, url, near, page, now)
        rests = self.looked[near] >= now - RESTS
        least = LESS if watching.same_title(url, near) else MOVED
        if same or (share >= least and (gone or not rests)):
            watching.copy_of[url] = near
            if not same and not gone:
                self.doubted[near] = url

    def _is_another(self, watching: Watching, url: int, near: int, page: Page, now: float) -> bool:
        """Whether a page that says nearly what an older one says is another document by its title,
        or by the day on which it says that it was published: the report of the next week."""
        if watching.other_title(url, near):
            return True
        published = dict(page.dated).get(page.url, NEVER)
        date = self.date[near]
        return date > NEVER and date + DAY < published < self.dated(now) - JUST_NOW

    def leads(self, url: int, target: int, *, lasting: bool) -> None:
        """A URL leads to another one. Whether what was taken for its document stands at the end is
        known when that answers (`arrived`)."""
        self.redirects.note(url, target, lasting=lasting)
        if self.doubted.get(url) == self.redirects.end(target):
            del self.doubted[url]

    def arrived(self, url: int) -> None:
        """The end of redirects was asked for: what is not the document that stands there is another
        one than that which led there."""
        for old in self.redirects.leading_to(url):
            if self.doubted.get(old) == url:
                del self.doubted[old]
            else:
                self.separate(old)

    def _answers(self, url: int) -> None:
        """A URL was asked for, and what it is of stands there."""
        self.redirects.forget(url)
        self.separate(url)

    def separate(self, url: int) -> None:
        """A document has not moved: what says only nearly the same is another one."""
        watching, other = self.watching, self.doubted.pop(url, -1)
        if watching is not None and watching.copy_of.get(other) == url:
            del watching.copy_of[other]
            self.released.append(other)

    def _check_age(self, watching: Watching, url: int, now: float) -> None:
        """A page was read whose link appeared: where it says nothing of its age, and a box alone
        that is not believed shows it, it is held."""
        other = watching.copy_of.get(url, -1)
        if other >= 0 and self._age(now)(other) == "old":
            self._release(self.boxes.dated(url, young=False), now)
        elif watching.stated is not None:
            young = watching.stated > self._born[url] - YOUNG
            self._release(self.boxes.dated(url, young=young), now)
        elif not self.boxes.believes(url):
            born = self._born[url]
            self._brought(self.parent[url], born, -1)
            self._brought(self.parent[url], NEVER, 1)
            self._born[url] = self.date[url] = NEVER
            self.boxes.held[url] = born

    def _release(self, urls: Sequence[int], now: float) -> None:
        """What was held is new after all; what was late appears."""
        for url in urls:
            born = self.boxes.held.pop(url, now)
            self._brought(self.parent[url], NEVER, -1)
            self._brought(self.parent[url], born, 1)
            self._born[url] = born
            if self.digests[url]:
                if self.date[url] == NEVER:
                    self.date[url] = born
                self.released.append(url)

    def _age(self, now: float) -> Callable[[int], Age]:
        """How old URLs are by what is known of them at a look; nothing for those of some days."""
        since = min(now, self.dated(self._previous))

        def age(url: int) -> Age:
            born = self._born[url]
            if born == now and self.fetched[url] == NEVER:
                return "new"
            date = self.date[url] if self.date[url] > NEVER else born
            if date < since - OLD:
                return "old"
            return "young" if date > since - YOUNG else ""

        return age

    def _stands_for_its_original(self, url: int) -> bool:
        """Whether a page has the content of one to which only strangers linked, and its own site
        links to it; or of a view, and is none."""
        assert self.watching is not None
        other = self.watching.copy_of.get(url, -1)
        if other < 0:
            return False
        guessed = self.guessed(other) and not self.guessed(url)
        return guessed or (self.is_view(other) and not self.is_view(url))

    def _date(self, watching: Watching, url: int, page: Page, now: float, *, first: bool) -> float:
        """When what a watch downloaded was published. No document is younger than what is known of
        its URL. Where a topic is given a list is no document: what changes on it is news at its
        links."""
        born = self._born[url] if first else self.dated(self._previous)
        date = watching.date(self.hosts[url], page, now, first=first, born=born)
        if not first:
            return self.date[url] if self._will_be_list(url, page) else date
        # Of a seed nothing: whoever names it knows it.
        known_since = self.dated(self.active[url])
        if born == NEVER and date > known_since + FUTURE:
            return NEVER  # it was there before: what it states is when it was edited
        date = min(date, known_since)
        if born == NEVER and date > now - NEW and self._is_older(url, date):
            return NEVER
        return date

    def is_list(self, url: int) -> bool:
        """Whether a page is no document, in a watch of a topic: it shows where documents are."""
        watching = self.watching
        if watching is None or watching.judge is None:
            return False
        its = {url, self.kinds.first_of(url)} - {-1}
        grown = any(self.brought[one] >= LIST or self.boxes.grown(one) >= LIST for one in its)
        return grown or any(map(self.kinds.is_list, its))

    def is_view(self, url: int) -> bool:
        """Whether a page is a view of another one (`PageKinds.is_view`)."""
        return self.kinds.is_view(url, self.hosts[url])

    def part_of(self, url: int) -> int:
        """The document on topic of which a page is a further part, as page 2 of a thread: what
        comes there is its change; −1 where it is none."""
        first = self.kinds.first_of(url)
        watching = self.watching
        is_part = first >= 0 and watching is not None and first in watching.wanted
        return first if is_part and not self.is_list(first) else -1

    def view_of(self, url: int) -> int:
        """The document of which a page is another view; −1 where it is none."""
        other = -1 if self.watching is None else self.watching.copy_of.get(url, -1)
        return other if other >= 0 and twins(self.urls[other], self.urls[url]) else -1

    def views_of(self, url: int) -> list[int]:
        """Pages that are other views of a document, and were read. O(copies)."""
        copies = {} if self.watching is None else self.watching.copy_of
        return [one for one, other in copies.items() if other == url == self.view_of(one)]

    def _will_be_list(self, url: int, page: Page) -> bool:
        """The same with the links of a download that have yet to be entered."""
        watching, name = self.watching, self.hosts[url]
        if watching is None or watching.judge is None:
            return False
        links = page.links if self._admit is None else self._admit(page, 0)
        if self.is_list(url) or self.brought[url] + self._brings(url, links) >= LIST:
            return True
        plain = map(self.plain, urls_of(links))
        unknown: dict[str, int] = {}
        own = [
            self._numbers.get(one, len(self.urls) + unknown.setdefault(one, len(unknown)))
            for one in plain
        ]
        placed = spots(links, name, page.title)
        grown = self.boxes.grows(url, rows_of(placed, own))
        its = in_main(page, links, placed, grown)
        return self.boxes.grown(url) + sum(its.values()) >= LIST

    def _brings(self, url: int, links: Sequence[Link]) -> int:
        """How many URLs of its host nobody knew before, of those that a download links to and that
        may be followed."""
        name, watching = self.hosts[url], self.watching
        assert watching is not None
        targets = {one for one in urls_of(links) if host(one) == name}
        return sum(one not in self._numbers for one in set(map(self.plain, targets)))

    def _is_older(self, url: int, date: float) -> bool:
        """Whether pages that were there a day before a date link to a URL already. Of a link in a
        box of all pages, as of the newest posts, their dates say nothing: most pages that were
        looked at since then have it, and none had it before."""
        if self.cited[url] < LIST or 2 * self.cited[url] > self._looked_at_since(url, date):
            return False
        old = (page for page in self._links.to(url) if NEVER < self.date[page] < date - NEW)
        return sum(1 for _ in islice(old, LIST)) == LIST

    def _looked_at_since(self, url: int, date: float) -> int:
        """Pages of the host of a URL that were looked at since a date. O(URLs)."""
        looked = np.array(self.looked) - self.ahead >= date
        return sum(self.hosts[page] is self.hosts[url] for page in np.flatnonzero(looked))

    def unchanged(self, url: int, now: float) -> None:
        """Its server says that it is what it was."""
        self.tried(url, now)
        self.dead[url] = NEVER
        self._answers(url)
        self.looked[url] = now
        self._unchanged(url)

    def absent(self, url: int, now: float) -> None:
        """Its server says that nothing is there: what comes is younger."""
        if self.watching is None:
            return
        self.hints.settle(url, self.dead[url] == NEVER and bool(self.digests[url]))
        self.doubted.pop(url, None)
        self.redirects.forget(url)
        if self.dead[url] == NEVER:
            self.dead[url] = now
        if not self.digests[url]:
            self._absent[url] = now

    def without_lost(self, reply: Reply, url: int, now: float) -> Reply:
        """The reply; where nothing is left of the document that stood at a URL, a failure that says
        so, and the URL is looked at once more until it is known whether that is for good."""
        if self.watching is None or isinstance(reply, Failed):
            return reply
        page = reply.page if isinstance(reply, Fetched) else None
        if page is not None and (target := self._is_now_at(url, page)):
            number = self.moved(url, target, now)
            if self.redirects.next(url) != number:
                self.leads(url, number, lasting=True)
                self.again[number] = now
            return Failed(reply.ticket, "duplicate", f"its document is now {target}", 200)
        as_seen, contents = page is not None and self._is_as_seen(url, page), self.watching.contents
        gone = self.emptied.see(url, self.hosts[url], page, contents, now, as_seen=as_seen)
        if gone is False:
            return reply
        self.hints.settle(url, True)
        if gone:
            return Failed(reply.ticket, "absent", "it says nothing of what it said", 200)
        return Failed(reply.ticket, "gated", "it says nothing of what it said, as yet", 200)

    def _is_now_at(self, url: int, page: Page) -> str:
        """Where the document is that stood at a URL, by what the page there says (`canonical`), as
        that of a wiki of which the title is another now; empty where it names none, or one as
        ever, or one that was read before: some sites name their front page, or another, on all."""
        watching, target = self.watching, page.canonical
        if watching is None or not target or url not in watching.contents:
            return ""
        number = self._numbers.get(target, -1)
        is_read = number >= 0 and self.looked[number] > NEVER
        stood = is_read and self._born[number] <= self.dated(self.looked[url])
        if stood or self.kinds.is_at_another(url):
            return ""
        its, own = (registrable_domain(host(one)) for one in (target, page.url))
        same = its == own and watching.contents.resembles(url, self.hosts[url], page)
        return target if same and self.admits(target) else ""

    def tried(self, url: int, now: float) -> None:
        """It was asked for."""
        if self.watching is not None and self.fetched[url] == NEVER:
            self._waits_no_more(url)
        self.fetched[url] = now
        self.again.pop(url, None)
        again = self.emptied.again_at(url, now)
        if again is not None and self.dead[url] == NEVER:
            self.again[url] = again

    def _unchanged(self, url: int) -> bool:
        if self.watching is not None:
            self.watching.unchanged()
        self.hints.settle(url, False)
        return False

    def _store(self, url: int, page: Page) -> None:
        """Algorithm 2: the classifier's outputs for a page, stored under its URL."""
        if self._describe.settled:
            self._unsettled.discard(url)
        else:
            self._unsettled.add(url)
        self.states[url] = self._describe(page)

    def moved(self, url: int, location: str, now: float) -> int:
        target = super().moved(url, location, now)
        self.boxes.moved(url, target)
        return target

    def superseded(self, url: int) -> bool:
        """Whether another URL that is known leads to the same."""
        watching = self.watching
        if watching is None or self.fetched[url] > NEVER:
            return False
        own = self.urls[url]
        plain = self._whole(watching.parameters.without(own, self.hosts[url]))
        return plain != own and plain in self._numbers

    def plain(self, url: str) -> str:
        """A URL without what says nothing in it; of another view of a document, where the view is
        not known yet, the URL of the document."""
        watching = self.watching
        assert watching is not None
        url = watching.parameters.without(url, host(url))
        return url if url in self._numbers else self._whole(url)

    def _whole(self, url: str) -> str:
        """The URL of the document of which one is another view; itself where it is none, or where
        that is not there."""
        whole = "" if self.watching is None else self.watching.views.whole_of(url)
        if not (whole and self.admits(whole)):
            return url
        number = self._numbers.get(whole)
        return whole if number is None or self.dead[number] == NEVER else url

    def is_new(self, url: int) -> bool:
        """Whether something is new about a URL, so that it is asked for before what is known: it
        appeared, is said to have changed, or is looked at once more."""
        return self.appeared(url) or url in self.hints.open or url in self.again

    def admits(self, url: str) -> bool:
        """Whether a redirect may lead to a URL, as a link may."""
        return self._admit is None or bool(self._admit(Page(url, links=[Link(url)]), 0))

    def _appears(self, number: int, parent: int, now: float, not_before: float) -> None:
        """A URL that was known before appears now, on a page; at `not_before` it had not yet."""
        self.not_before[number] = not_before
        self._brought(self.parent[number], NEVER, -1)
        self._brought(parent, now, 1)
        self._born[number], self.active[number] = self.dated(now), now
        self.parent[number] = parent
