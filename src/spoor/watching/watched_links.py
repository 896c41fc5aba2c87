"""The links of each page that a fleet looks at: what they lead to is entered, and where they stand
says how old that is."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping, Sequence

from spoor.durations import DAY
from spoor.hashing import hash64
from spoor.types import Link, Page, urls_of
from spoor.watching.hints import by_lists
from spoor.watching.teaser_lists import Spot, in_main, rows_of, spots
from spoor.watching.urls import NEVER
from spoor.watching.visits import Looks
from spoor.watching.watching import FUTURE
from spoor.web.other_ways import narrows
from spoor.web.urls import host, registrable_domain

MOST_WAITING = 20_000
"""URLs of one host that were never asked for, up to which a watch takes more: an endless site fills
no memory. Links left out are taken when their page changes."""

MOST_OF_A_STRANGER = 1_000
"""Such URLs of a registrable domain to which only one other domain links: apart from its own."""

HINTED = 2 * DAY
"""Seconds up to which an entry of a sitemap that is older than that of a new page is followed."""


class LinkedLooks(Looks):
    """What was seen of each URL, and of the links between them."""

    def links(self, url: int, page: Page, now: float) -> list[int]:
        """Numbers of the pages that it links to, each once, in page order, itself left out."""
        content, count = self.digests[url], len(page.links)
        if self.watching is not None:  # links of pictures change without a word
            count = zlib.crc32("\n".join(urls_of(page.links)).encode("utf-8", "replace"))
        self.shown_again, self.relinked = [], False
        before = self._links.of(url)
        if self._links.is_as(url, content, count):
            return before
        first = not self._links.knows(url)
        born = NEVER if first else self.dated(now)
        admitted = page.links if self._admit is None else self._admit(page, 0)
        count_before = len(self)
        if self.watching is None:
            numbers = [self.number(target, born) for target in dict.fromkeys(urls_of(admitted))]
        else:
            numbers = self._watched_links(url, page, admitted, born, now)
        links = [number for number in numbers if number != url]
        if first or len(self) > count_before:
            self.active[url] = now
        self._links.note(url, content, count, links)
        if self.watching is not None:
            self.relinked = not first and before != links
            self._cite(before, -1)
            self._cite(links)
        return links

    def _watched_links(
        self, url: int, page: Page, admitted: Sequence[Link], born: float, now: float
    ) -> list[int]:
        """As `links`, with the feeds that the page names, and what it says of the ages of others;
        of a sitemap only what is new or changed. Beyond `MOST_WAITING` and `MOST_OF_A_STRANGER`
        nothing is entered; a stranger says nothing of the pages of another site."""
        watching, dated = self.watching, dict(page.dated)
        assert watching is not None
        targets = {link.url: link.kind for link in admitted}
        is_post = page.url in dated and "list" not in page.flags
        targets |= dict.fromkeys(self._feeds(page, is_post=is_post), "feed")
        lists, numbers = "sitemap" in page.flags, list[int]()
        its = (one for one, kind in targets.items() if lists and kind == "listed")
        listed, lists_now = self.listed.see(url, its) if lists else (None, set[int]())
        before, today = frozenset(self.links_before(url)), self.dated(now)
        number_of: dict[str, int] = {}
        for target, kind in targets.items():
            date = dated.get(target)
            if date is not None and date > today:
                date = None
            if kind == "listed" and lists and (date or NEVER) < today - HINTED and born == NEVER:
                continue
            name, shown = host(target), target
            target = self.plain(target)
            number, stranger = self._kept(target), self.stranger(url, name)
            if number is None:
                old = kind == "listed" and lists and (date or NEVER) < today - HINTED
                if old and (listed is None or self._stood(url, shown, listed)):
                    continue
                left = self.left.find(hash64(target)) if len(self.left) else None
                if left is not None:
                    hinted = date is not None and date > self.dated(left.at) and not stranger
                    if born > NEVER or hinted:
                        numbers.append(self.number(target, NEVER, url, now))
                    if hinted:
                        self.hints.add(numbers[-1], url)
                    continue
                if not self._has_room(name, stranger):
                    self.left_out[name] = self.left_out.get(name, 0) + 1
                    continue
                seen = born if date is None or stranger else min(today, max(date, born))
                number = self.number(target, seen, url, now)
                if born > NEVER:
                    self.not_before[number] = self._previous
            elif not stranger:
                if date is not None and date > self.dated(self.fetched[number]) > NEVER:
                    self.hints.add(number, url)
                elif born > NEVER and number not in before:
                    self._linked_by_own(number, url, now)
                    if date is not None and date > self.dated(self._previous):
                        self._release(self.boxes.listed(number, self._previous), today)
                if number in self.strangers:
                    self._belongs(number, url)
                elsewhere = self.came(number) and self.parent[number] not in (-1, url, number)
                if elsewhere and born > NEVER and number not in before:
                    self.shown_again.append(number)
            if kind == "sitemap" and not stranger:
                self.sitemaps.add(number)
            numbers.append(number)
            number_of[shown] = number
        if listed and not listed <= lists_now:
            self._hint_at_withdrawn(url, listed - lists_now)
        if "feed" in page.flags and born > NEVER:
            self._hint_at_titled(url, page, dated)
        if not page.flags & {"feed", "sitemap"}:
            self._see_boxes(url, page, admitted, number_of, born, now)
        return list(dict.fromkeys(numbers))

    def _feeds(self, page: Page, *, is_post: bool) -> list[str]:
        """The feeds that a page names and that may be asked for. What a document that says its date
        names beside a feed that is known is of its comments."""
        feeds = [feed for feed in page.feeds if self.admits(feed)]
        known = [feed for feed in feeds if is_post and self._kept(feed) is not None]
        return known or feeds

    def _see_boxes(
        self,
        url: int,
        page: Page,
        admitted: Sequence[Link],
        number_of: Mapping[str, int],
        born: float,
        now: float,
    ) -> None:
        """Where the links of a page stand, and what that says of those that came."""
        boxes, own = self.boxes, [number_of.get(one, -1) for one in urls_of(admitted)]
        placed = spots(admitted, self.hosts[url], page.title)
        links = list(rows_of(placed, own))
        if grown := boxes.grows(url, links):
            boxes.note_grown(url, in_main(page, admitted, placed, grown))
        if born > NEVER:
            self._hint_at_moved(url, links)
        today = self.dated(now)
        if born == NEVER:
            appeared = self._born[url] > NEVER
            boxes.note_late(
                (
                    number
                    for _, number in links
                    if self._born[number] == NEVER
                    and self.fetched[number] == NEVER
                    and (appeared or self.parent[number] == url)
                ),
                now,
            )
        age, last = self._age(today), self._previous
        further = (one for one in urls_of(admitted) if narrows(one, page.url))
        orders = {number_of.get(one, -1) for one in further} if "?" in page.url else set[int]()
        believed = boxes.look(url, self.hosts[url], links, age, last, now, orders)
        self._release(believed, today)

    def _hint_at_moved(self, page: int, links: Sequence[tuple[Spot, int]]) -> None:
        """What the moves of links in the lists of a page say of documents that were looked at
        before the look before at that page."""
        watching, last = self.watching, self._previous
        assert watching is not None
        for url, kind, path in self.boxes.moves(page, links):
            if (
                NEVER < self.fetched[url] <= last
                and url != page
                and url in watching.wanted
                and not (self.is_list(url) or self.is_view(url))
                and not self.stranger(page, self.hosts[url])
            ):
                self.hints.add(self.kinds.last_of(url), by_lists(path, kind))

    def _hint_at_titled(self, feed: int, page: Page, dated: Mapping[str, float]) -> None:
        """A feed whose entries are called as documents that are known, and lead elsewhere, tells of
        their changes or of answers: so those of a wiki lead to what was changed."""
        watching, name = self.watching, self.hosts[feed]
        assert watching is not None
        for link in page.links:
            date = dated.get(link.url)
            if date is None or date > self.dated(self.looked[feed]) + FUTURE:
                continue
            url = watching.titled(name, link.anchor.text)
            if url >= 0 and link.url != self.urls[url] and self.dated(self.fetched[url]) < date:
                self.hints.add(url, feed)

    def _stood(self, sitemap: int, shown: str, listed: Collection[int]) -> bool:
        """Whether a sitemap listed a URL before, or another does."""
        key = hash64(shown)
        return key in listed or self.listed.elsewhere(key, sitemap)

    def _hint_at_withdrawn(self, sitemap: int, hashes: Collection[int]) -> None:
        """A sitemap lists these no more: what it lists is all that is there. O(known URLs)."""
        watching = self.watching
        assert watching is not None
        for url in watching.wanted:
            if (key := hash64(self.urls[url])) not in hashes:
                continue
            stranger = self.stranger(sitemap, self.hosts[url])
            if not (stranger or self.listed.elsewhere(key, sitemap)):
                self.hints.add(url, sitemap)

    def _has_room(self, name: str, stranger: str) -> bool:
        """Whether one URL more of a host may wait."""
        if stranger:
            return self.of_strangers[registrable_domain(name), stranger] < MOST_OF_A_STRANGER
        return self.waiting.get(name, 0) < MOST_WAITING

    def _belongs(self, number: int, url: int) -> None:
        """A page of its own domain links to what only strangers linked to: it is its own now."""
        self._waits_no_more(number)
        self._waits(number, "")
        self._brought(self.parent[number], self._born[number], -1)
        self._brought(url, self._born[number], 1)
        self.parent[number] = url

    def _linked_by_own(self, number: int, url: int, now: float) -> None:
        """A page of its own host, or domain, links to a URL for the first time: where strangers to
        it alone did so before, it appears now, whoever guessed it. What another host of its domain
        led to appears now where nothing was ever there."""
        name, at = self.hosts[number], self.parent[number]
        if at < 0 or (self._born[number] > NEVER and number not in self._absent):
            return
        if self.digests[number] and not self.stranger(at, name):
            return
        domain = registrable_domain(name)

        def nearness(page: int) -> int:
            own = self.hosts[page]
            return (own == name) + (registrable_domain(own) == domain)

        if nearness(at) < nearness(url):
            self._appears(number, url, now, self._previous)
            if self.digests[number] and self.date[number] == NEVER:
                self.date[number] = self.dated(now)  # it states none
            if self.fetched[number] > NEVER:
                self.hints.add(number, url)
