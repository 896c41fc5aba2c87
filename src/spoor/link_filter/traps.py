"""Traps: parts of the web without end and without new content. Pure: pages → verdicts on URLs.

What looks alike is a *group*: URLs that differ in numbers, in their query, within a folder; those
that only pages without news link to; hosts of one domain. Its laws:

1. A group is held back only after a bounded sample of it brought nothing new: so many pages in a
   row (`trap_groups.SAMPLE`) without a new word, or a known word in a new place
   (`novelty.py`), that no other page has, and without a new link out of their groups on
   their host. A relevant page without news counts a quarter, unless its URL sorts or filters.
2. A link that a page with news lists, from outside of its group, is held back only where the sample
   brought not even new numbers, or the same as the page without the query: a calendar leads from
   month to month, and the index of a catalogue lists its numbers. A host that such a page lists is
   not held back at all: those of one domain need not be of one owner.
   A page with a query that is a copy but for little (`Novelty`) counts as one without news, for
   groups whose URLs differ in numbers or in their query.
   What only pages without news link to is held back where others of its own shape were tried.
   Of what has one name below other documents those documents list each, and what stands beside it
   there: that says nothing for it.
3. It is tried again: two of its links after 32 more pages of the crawl, later and later, and at the
   end. One page with news opens it, and what was held back is asked for little by little (what
   has one name below other documents, `film/*/reviews/add`, is opened by a quarter, and below
   those of any folder, `*/*/add`, by half). Tries in
   vain take a thirtieth of the pages of their domain at most (`trap_tries.py`). Once no
   other link is left, in any shard of the crawl, more is asked for of what pays
   (`trap_rests.py`).
4. A parameter that was seen not to matter (the same text without it, 4 times, never another) keeps
   a URL back only where the page without it, or this page with it, was fetched: sessions, sources,
   prints.

5. A page that says `noindex` and `nofollow`, and that is not relevant or has the name of the page
   that led to it in its URL, counts as two without news, of what looks alike and of the same
   parameters anywhere on its host, where other pages of the host are for search engines: the
   history of a wiki's page. With the name, it is a view of that page. Where all of a host is left
   out, that says nothing; one that says `noindex` alone, as the further pages of a blog, may be the
   only way to others.
6. What other domains link to speaks for a group and never against it: who writes a link chooses the
   sample. It speaks against that domain's own links to the group, which are a group by themselves,
   as long as no page of the site links to them. For the same reason failures of links that stand on
   one page count a quarter, from the second on.
7. A view of a list without news says nothing of its folder.
8. What is below one folder and, the same, below another is asked for last where it was fetched once
   (`mirrored_folders.py`).

Every table is bounded; the oldest entries are dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from spoor.bounded import remember
from spoor.hashing import hash64, url_hash64
from spoor.link_filter.chosen_by_others import linking_domain, of_stranger
from spoor.link_filter.held_groups import SEES_MORE, HeldGroups
from spoor.link_filter.mirrored_folders import MirroredFolders
from spoor.link_filter.novelty import News, Novelty
from spoor.link_filter.page_views import LinkedFrom, PageViews
from spoor.link_filter.parameter_effects import ParameterEffects
from spoor.link_filter.trap_groups import (
    HOSTS,
    RELEVANT,
    SAMPLE,
    VOUCHED,
    asked_last,
    copies,
    is_anywhere,
    is_below_others,
    is_folder,
    longest_run,
    names_of,
    narrowest,
    newsless,
)
from spoor.link_filter.waiting_places import HeldGroup, Holder
from spoor.types import HeldLink, Link, Page, State, urls_of
from spoor.web.actions import is_view
from spoor.web.other_ways import names_page
from spoor.web.url_groups import anywhere, belonging_to, documents_above, groups, narrow
from spoor.web.urls import domain_of, host, registrable_domain

_UNTRIED = 3
"""Pages of one shape, below which links of pages without news say nothing of it."""
_NEWSLESS = 5_000
"""Pages without new words that are remembered; a judge keeps fewer."""
_COPY = -2
"""News of a page whose own words were on another one, but for few."""

_CLOSED = frozenset({"noindex", "nofollow"})
"""What a page says that neither is for search engines nor leads them anywhere …"""
_WEIGHT_OF_CLOSED = 2
"""… and for how many pages without news it counts."""
_CLOSED_PAGES = 5_000
"""Such pages whose URL has the name of the page that led to them, that are known."""


class Traps(Holder):
    """What a crawl has seen so far. O(words + links) for each page."""

    def __init__(self) -> None:
        self._novelty = Novelty()
        self._listed = Novelty()
        """URLs that pages with news link to, from outside of their groups."""
        self._groups = HeldGroups()
        super().__init__(self._groups.waiting)
        self._hosts: OrderedDict[str, None] = OrderedDict()
        """Hosts that have had a page."""
        self._with_text: OrderedDict[str, None] = OrderedDict()
        """Hosts that have had a page with a text."""
        self._indexed: OrderedDict[str, None] = OrderedDict()
        """Hosts that have had a page which they do not leave out of search engines."""
        self._closed: OrderedDict[str, str] = OrderedDict()
        """A page that neither is for search engines nor leads them anywhere, with the name of the
        page that led to it in its URL → that page: the history of an article, an old version."""
        self._parameters = ParameterEffects()
        self.linked_from: LinkedFrom = _nowhere
        self._views = PageViews()
        self._mirrors = MirroredFolders()
        self._told: OrderedDict[str, int] = OrderedDict()
        """URL of a page that was read and not yet counted, or the other way round → its news."""
        self._newsless: OrderedDict[int, None] = OrderedDict()
        """Hashes of URLs of pages without new words, of what may stand below a document."""

    # -- what a crawl asks

    def read(self, page: Page, links: Sequence[Link], found_on: Callable[[], str] = str) -> bool:
        """Take in an expanded page with those of its links that may be followed, which was found on
        the page of another URL (empty for a seed); whether it brought news."""
        known = self._told.pop(page.url, None)
        news = self._news(page, found_on) if known is None else known
        urls = urls_of(links)
        if news in (News.WORDS, _COPY):
            own = set(narrow(page.url))
            outside = [url for url in urls if own.isdisjoint(narrow(url))] if own else urls
            below = belonging_to(page.url, outside)
            self._listed.add([_own(url) if url in below else url for url in outside])
        elif urls:
            own_groups = set(groups(page.url))
            site = f"//{host(page.url)}/"
            away = [url for url in urls if site in url and own_groups.isdisjoint(groups(url))]
            if not self._are_listed(away):
                news = VOUCHED
        if known is None:
            remember(self._told, page.url, int(news))
        return news in (News.WORDS, _COPY)

    @property
    def may_hold(self) -> bool:
        """Whether there is anything that could hold a URL back."""
        return bool(self._groups or self._parameters)

    def _are_listed(self, urls: Sequence[str]) -> bool:
        """Whether pages with news, of other groups, link to all of these URLs."""
        others = self._listed.unknown(urls)
        return not others or self._listed.knows([_own(url) for url in others])

    def holder(self, url: str, *, listed_by: str = "", linked_by: str = "") -> str:
        """The group that holds a URL back; empty where none does. `listed_by`: a page with news, of
        another group, links to it; `linked_by`: another domain does, and nobody else is known to.
        """
        if name := self._parameters.repeats(url):
            return name
        if not self._groups:
            return ""
        if linked_by and self._groups.of_strangers:
            for name in narrow(url):
                if (theirs := of_stranger(name, linked_by)) in self._groups:
                    return theirs
        held = filter(self._groups.__contains__, self._names(url))
        return next((name for name in held if self._holds(name, url, listed_by)), "")

    def _holds(self, name: str, url: str, listed_by: str = "") -> bool:
        """Whether one of its groups that are held back keeps a URL back, too."""
        if name == newsless(url) and self._is_untried(url):
            return False
        if name.endswith("?*") and self._is_good(url):
            return False
        if is_anywhere(name) and self._is_good_here(url):
            return False
        if is_below_others(name):  # that its own document leads to it says nothing
            elsewhere = bool(listed_by) and not belonging_to(listed_by, (url,))
            listed = elsewhere or self._listed.knows([url])
        else:
            listed = bool(listed_by) or self._are_listed([url])
        # Whoever has a host below a domain chooses what its sample is of.
        known = self._groups.known(name)
        same = 0 if known is None else known.same
        return not listed or (not name.startswith(HOSTS) and same >= longest_run(name, url))

    def holder_on(self, url: str, page: Page, *, news: bool) -> str:
        """As `holder`, for a URL that a page links to; `news`: the page brought any."""
        linked_by = linking_domain(url, page.url) if self._groups.of_strangers else ""
        name = self.holder(url, linked_by=linked_by)
        # Whoever lists a URL can only speak for it, and few are held back.
        if name and news and set(narrow(page.url)).isdisjoint(narrow(url)):
            return self.holder(url, listed_by=page.url, linked_by=linked_by)
        return name

    def _is_untried(self, url: str) -> bool:
        """Whether little is known of what looks like this URL, or half of it brought news."""
        own = narrow(url)
        count = self._groups.known(own[0]) if own else None
        return bool(own) and (
            count is None or count.pages < _UNTRIED or 2 * count.new >= count.pages
        )

    def _is_good(self, url: str) -> bool:
        """Whether half of what looks like this URL brought news, whatever other parameters do."""
        count = self._groups.known(narrowest(url))
        return count is not None and count.pages > 0 and 2 * count.new >= count.pages

    def _is_good_here(self, url: str) -> bool:
        """Whether enough of what has the name of this URL below other documents of its folder
        brought news."""
        names = (name for name in names_of(url) if is_below_others(name) and not is_anywhere(name))
        counts = (count for name in names if (count := self._groups.known(name)) is not None)
        return any(one.pages >= SAMPLE and SEES_MORE * one.new > one.pages for one in counts)

    def passes(self, url: str, linked_by: Callable[[], Collection[str]] = tuple) -> str:
        """As `holder`, for a URL that is about to be asked for: one that is tried passes once.
        `linked_by` gives the domains whose pages link to it, empty for that of a seed."""
        if self._groups.passes_as_try(url):
            return ""
        name = self.holder(url)
        if not name and self._mirrors and "" not in linked_by():
            name = self._copied(url)
        if name or not self._groups.of_strangers:
            return name
        domains = linked_by()
        if "" in domains or domain_of(url) in domains:
            return ""
        names = [self.holder(url, linked_by=domain) for domain in domains]
        return names[0] if names and all(names) else ""

    def views(
        self, page: str, links: Sequence[Link], knows: Callable[[str], bool]
    ) -> frozenset[str]:
        """Of the URLs that a page links to and that the frontier does not know, those all of whose
        content is on another page (`PageViews`)."""
        return self._views.among(page, links, knows)

    def is_view(self, url: str) -> bool:
        """Whether all known links to a URL are as those to views, and it is no try."""
        return not self._groups.tries(url) and self._views.is_view(url, self.linked_from)

    def view_of(self, url: str) -> Sequence[str]:
        """The canonical URLs of pages the first of which that was fetched has all of a fetched
        page: the one without parameters that do not matter, the one of which it is a known view,
        the one whose name it has where it is not for search engines, or the document below which it
        stands, where what has its name below documents is held back and it brought no new words
        itself: of reviews below films, most of which are empty, some say much."""
        if (plain := self._parameters.without_idle(url)) != url:
            return (plain,)
        if whole := self._views.whole_of(url) or self._closed.get(url, ""):
            return (whole,)
        if not self._groups or url_hash64(url) not in self._newsless:
            return ()
        held = filter(self._groups.__contains__, filter(is_below_others, names_of(url)))
        return documents_above(url) if any(self._holds(name, url) for name in held) else ()

    def copied(self, url: str) -> str:
        """The group of copies that a URL would wait in; empty for none (`MirroredFolders`)."""
        return copies(self._mirrors.copy_of(url))

    def _copied(self, url: str) -> str:
        """The same, empty for a URL that is to show whether it is still a copy."""
        return copies(self._mirrors.waits(url))

    def tries(self, url: str) -> bool:
        """Whether a URL is about to be tried."""
        return self._groups.tries(url)

    def hold(self, group: str, held: HeldLink) -> None:
        """Let a link wait until its group is tried again."""
        self._groups.hold(group, held)

    def leave(self, owns: Callable[[str], bool]) -> list[HeldLink]:
        return self._groups.leave(owns)

    def release(self, *, over: bool) -> Sequence[HeldLink]:
        """Links that may enter the frontier again. `over`: there are no others in any shard."""
        return self._groups.release(self._copied, over=over)

    def held_groups(self) -> list[HeldGroup]:
        """The largest first."""
        return self._groups.largest()

    # -- what it learns

    def ended(
        self, page: Page, found_on: Callable[[], str] = str, *, relevant: bool, asked: str = ""
    ) -> bool:
        """Count a page that was judged, found as in `read`; whether it brought news. One without
        words says nothing of its groups, and neither does one with a title alone where no page of
        its host has had more. `asked`: the URL that was asked for, if that led to the page's."""
        news = self._told.pop(page.url, None)
        if news is None:
            news = int(self._news(page, found_on))
            remember(self._told, page.url, news)
        if news != News.WORDS and any(map(is_below_others, names_of(page.url))):
            remember(self._newsless, url_hash64(page.url), None, _NEWSLESS)
        site = host(page.url)
        tried = self._groups.came(page.url, asked or page.url, news=news == News.WORDS)
        if page.text:
            remember(self._with_text, site, None)
        stranger = linking_domain(page.url, found_on())
        self._groups.waits_no_longer(page.url, lambda: self._all_names(page.url, stranger))
        if self._says_something(page) and stranger:
            self._count_for(stranger, page, news, relevant=relevant, tried=tried)
        if self._is_closed(page) and self._belongs_to(page.url, whole := found_on()):
            remember(self._closed, page.url, whole, _CLOSED_PAGES)
        if self._says_something(page) and (news == News.WORDS or not stranger):
            news = self._count_for_groups(page, news, relevant=relevant, tried=tried)
        remember(self._hosts, site, None)
        return news == News.WORDS

    def _count_for_groups(self, page: Page, news: int, *, relevant: bool, tried: bool) -> int:
        """Count a page for the groups that it says something of; its news, of which one that is
        not for search engines has none."""
        variant = "?" in page.url and self._parameters.knows_without(page.url)
        # A list is relevant in any order; that says nothing for one more of them.
        slow = relevant and news != News.NOTHING and not is_view(page.url)
        weight = 1 if slow else RELEVANT
        unwanted = self._is_closed(page) and (not relevant or page.url in self._closed)
        if unwanted:
            news, weight = _COPY, _WEIGHT_OF_CLOSED * RELEVANT
        elif "noindex" not in page.flags:
            remember(self._indexed, host(page.url), None)
        same = variant or news in (News.NOTHING, _COPY)
        names = list(self._names(page.url))
        view = is_view(page.url) or any(
            name in self._groups for name in names if is_below_others(name)
        )
        if self._are_listed([page.url]):
            names.remove(newsless(page.url))
        if news == _COPY:
            # A whole folder of copies may well be documents that moved.
            names = list(narrow(page.url))[: 1 if unwanted else None]
            names += anywhere(page.url) if unwanted else ()
        elif page.flags >= _CLOSED:
            # The history of a page that is relevant says nothing for those of others.
            of_others = anywhere(page.url)
            names = [name for name in names if name not in of_others]
        for name in names:
            if view and news != News.WORDS and is_folder(name):
                continue  # one list in many orders says nothing of what it lists
            # What is below a relevant document is relevant by what it says of that.
            its = RELEVANT if is_below_others(name) else weight
            self._groups.add(name, page.url, news, its, same, tried=tried)
        return news

    def _is_closed(self, page: Page) -> bool:
        """Whether it neither is for search engines nor leads them anywhere, on a host that has
        pages which are for them."""
        return page.flags >= _CLOSED and host(page.url) in self._indexed

    def _belongs_to(self, url: str, whole: str) -> bool:
        """Whether a closed page has the name of the page that led to it, which is none itself."""
        return whole not in self._closed and names_page(url, whole)

    def _all_names(self, url: str, stranger: str) -> Iterator[str]:
        """All groups that a URL may wait in, where a stranger chose it (empty for none)."""
        yield from self._names(url)
        yield from (asked_last(url), self.copied(url), *self._parameters.idle(url))
        if stranger:
            yield from (of_stranger(name, stranger) for name in narrow(url))

    def _count_for(
        self, stranger: str, page: Page, news: int, *, relevant: bool, tried: bool
    ) -> None:
        """Count a page that another domain chose among those that it chose."""
        if news == VOUCHED:
            return
        domain, words = domain_of(page.url), f"{page.title} {page.text}"
        name, is_list = of_stranger(domain, stranger), "list" in page.flags
        seen, _ = self._novelty.page(name, page.url, words, is_list=is_list)
        new = max(News.NOTHING, min(news, seen))
        weight = 1 if relevant and new != News.NOTHING else RELEVANT
        for name in narrow(page.url):
            self._groups.add(
                of_stranger(name, stranger), page.url, new, weight, same=True, tried=tried
            )

    def _says_something(self, page: Page) -> bool:
        return bool(page.text or (page.title and host(page.url) in self._with_text))

    def failed(self, url: str, found_on: str = "") -> None:
        """Count a URL with a query that brought an error, or led to a known page; it was found
        on the page of another URL (empty for a seed)."""
        tried = self._groups.failed(url)
        if "?" not in url:
            return
        blamed = hash64(found_on) if found_on else 0
        stranger = linking_domain(url, found_on)
        for name in narrow(url):
            if stranger:
                name = of_stranger(name, stranger)
            again = blamed != 0 and self._groups.count(name).blamed == blamed
            weight = 1 if again else RELEVANT
            self._groups.add(name, url, News.NOTHING, weight, same=not again, tried=tried)
            self._groups.count(name).blamed = blamed

    def led_to_action(self, url: str, found_on: str = "") -> None:
        """Count a URL that redirected to what does something, a log-in say: among those of its name
        below other documents. It was found on the page of another URL (empty for a seed)."""
        tried = self._groups.failed(url)
        chosen = linking_domain(url, found_on)
        for name in () if chosen else filter(is_below_others, names_of(url)):
            self._groups.add(name, url, News.NOTHING, RELEVANT, same=True, tried=tried)

    def _news(self, page: Page, found_on: Callable[[], str]) -> int:
        words = f"{page.title} {page.text}"
        chosen = bool(linking_domain(page.url, found_on()))
        if self._says_something(page):
            for group in self._parameters.note(page.url, hash64(words), chosen=chosen):
                if group in self._groups:
                    self._groups.open(group)
        # Else another domain could have its pages say first, at other addresses, what they say.
        domain = domain_of(page.url)
        seen, is_list = self._novelty, "list" in page.flags
        news, copy = seen.page(domain, page.url, words, keep=not chosen, is_list=is_list)
        if seen.last is not None and self._says_something(page):
            self._views.page(page.url, found_on(), seen.last, is_list=is_list)
            if self._mirrors.page(page, seen.last):
                # What is still a copy waits on; the way to some led through other folders.
                self._groups.look_again(host(page.url))
        return _COPY if copy and news else news

    def _names(self, url: str) -> Sequence[str]:
        """All groups of a URL."""
        names, name = names_of(url), host(url)
        if name in self._hosts or not self._hosts:
            return names
        return (*names, f"{HOSTS}{registrable_domain(name)}")

    # -- saving

    def save(self) -> State:
        return {
            "novelty": self._novelty.save(),
            "listed": self._listed.save(),
            "hosts": list(self._hosts),
            "with_text": list(self._with_text),
            "indexed": list(self._indexed),
            **self._parameters.save(),
            "views": self._views.save(),
            "mirrors": self._mirrors.save(),
            "told": [[url, news] for url, news in self._told.items()],
            "closed": list(self._closed.items()),
            "newsless": np.array([*self._newsless], np.uint64),
            **self._groups.save(),
        }

    def load(self, state: State) -> None:
        self._novelty.load(state["novelty"])
        self._listed.load(state["listed"])
        self._hosts = OrderedDict.fromkeys(state["hosts"])
        self._with_text = OrderedDict.fromkeys(state["with_text"])
        self._indexed = OrderedDict.fromkeys(state["indexed"])
        self._parameters.load(state)
        self._views.load(state["views"])
        self._mirrors.load(state["mirrors"])
        self._told = OrderedDict(map(tuple, state["told"]))
        self._closed = OrderedDict(map(tuple, state["closed"]))
        self._newsless = OrderedDict.fromkeys(state["newsless"].tolist())
        self._groups.load(state)


def _own(url: str) -> str:
    """What stands in a table for a URL that a page lists to which it belongs."""
    return f"{url} of a page"


def _nowhere(url: str) -> Sequence[tuple[str, str]]:
    return ()
