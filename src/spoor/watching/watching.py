"""What a watch makes of each download: whether it is on topic, what changed in it, since when it is
there, and whether it is a copy of another document."""

from __future__ import annotations

import re
from array import array
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import forget, remember
from spoor.columns import column
from spoor.durations import DAY
from spoor.protocols import Judge, Rejudges, Stateful, TakesLabels
from spoor.types import BY_PERSON, Judgement, Page, State
from spoor.watching.compact_tables import NOTHING, KeyIndex, NumberSet, reach
from spoor.watching.contents import BETWEEN, Change, Contents, identity_of
from spoor.watching.hints import pairs
from spoor.watching.idle_parameters import IdleParameters
from spoor.watching.near_copies import LEAST_TITLE, NearCopies
from spoor.watching.retired_documents import Memory
from spoor.web.dates import date_of_url
from spoor.web.sentences import content, plain, signature, title
from spoor.web.view_relations import Relations

NEVER = float("-inf")


FUTURE = 60.0
"""Seconds by which a server's clock may be ahead: a date that is later is nobody's."""

JUST_NOW = 60.0
"""A date that is that close before the download may be made with the page."""

MOST_LOOKS = 200
"""Headings of a page that are looked for within lines of its main text."""
LEAST_MAIN = 25
"""Words of a main text that is judged in place of the whole page."""

NOTICE = 50
"""Words of a page in place of a document."""

SAME_DATE = 3
"""Pages of a host that state the same second, from which on it is their template's."""

SAME_DAY = 10
"""The same for dates without a time."""

MOST_DATES = 2_000
"""Different dates of a host that are counted."""

FIRST_REVISION = 16
"""Pages after which the judge is asked for newer verdicts first; then whenever there are twice as
many, …"""

SETTLED = 128
"""… and from so many pages on …"""

EIGHTH = 8
"""… whenever there are an eighth more, at the latest 1,000: what is new of a site comes slowly, and
waits for that."""

MOST_TITLED = 75_000
"""Titles by which pages are found; those noted longest ago leave."""

_ANSWER = re.compile(r"^\s*(?:re|aw|sv)\s*:\s*", re.IGNORECASE)
"""Before the title of what is answered, as mail has it."""

MOST_VERDICTS = 5_000
"""Pages of which the reasons of the judge are kept."""


class Watching:
    """The contents, verdicts and dates of the pages of a fleet, by the URL's number."""

    def __init__(self, judge: Judge | None = None) -> None:
        self.judge = judge
        """Of the topic; None: everything is wanted."""
        self.contents = Contents()
        self.wanted = NumberSet()
        """Pages on topic by the newest verdict; feeds and sitemaps are none."""
        self.verdicts: OrderedDict[int, tuple[float, list[Any], str]] = OrderedDict()
        """Score, reasons and topic of the newest verdicts on pages that were wanted."""
        self.copy_of: dict[int, int] = {}
        """Pages whose first content another page of the host had; −1 for one that was left."""
        self.change: Change | None = None
        """What changed in the page that was taken in last."""
        self.judgement: Judgement | None = None
        """The verdict on it, where there is a judge."""
        self.taken: Judgement | None = None
        """The verdict on it, also without a judge; None where it was not taken in, or is a feed or
        sitemap."""
        self.labels: dict[str, bool] = {}
        """URL → whether a person said that its page is wanted."""
        self.labelled = False
        """Whether the judge has yet to judge anew by a label."""
        self.on_verdict: Callable[[int, Judgement], None] = lambda url, judgement: None
        """Called with each newer verdict of the judge on a page."""
        self.stated: float | None = None
        """The date that the page of which `date` was asked last states of itself, where it counts;
        one that may be made with the reply does not."""
        self.content = 0
        """64 bits of it at its host, if it was read for the first time; else 0, as of nothing."""
        self.parameters = IdleParameters()
        self.views = Relations()
        """How the URLs of other views stand to those of their documents."""
        self.near = NearCopies()
        """Of the pages whose contents are kept."""
        self._titled: OrderedDict[int, int] = OrderedDict()
        """Title of such a page at its host → the one that was noted last with it."""
        self.like: list[int] = []
        """Pages that may resemble the one that was taken in last."""
        self._newest = array("Q")
        """The page that had a content first, and has it or had no other since → that content; 0 for
        other pages."""
        self._same = KeyIndex(self._newest)
        """The content → that page."""
        self._earlier: dict[int, None] = {}
        """Contents of pages that have others now, of which 64 bits will be kept."""
        self._left = Memory()
        """Such, and those of pages that were left by a compaction."""
        self._dates: dict[str, OrderedDict[int, int]] = {}
        """Host → second that is stated → pages that state it."""
        self._dates_of_urls: dict[str, tuple[int, int]] = {}
        """Host → pages whose URL has the date that they state, and such as have another one."""
        self._pages = 0
        self._asked = 0
        """Pages that were judged when the judge was asked for newer verdicts last."""
        self._next = FIRST_REVISION

    def take(self, url: int, host: str, page: Page, first: bool) -> bool:
        """Judge and compare a content that is not bit for bit that of the last download. Returns
        whether it counts as another content."""
        self.change, self.content, self.like = None, 0, []
        self.taken = self._judged(url, page)
        self.judgement = None if self.judge is None else self.taken
        if self.judgement is not None:
            self._pages += 1
        before = self._content_of(url)
        if url not in self.wanted:
            self.contents.forget(url)
            if first or self.judgement is not None:
                its = content(page)
                key = _key(its, host, page)
                if first and (like := self.near.candidates(host, its, title(page))):
                    self.like = like
                    self.contents.note(url, page, its)
                if first or not before:
                    self._find_copy(url, key, first=first)
                elif key and self._same.find(key) < 0:
                    # The judge may want it later, and it is no news then unless it was edited.
                    self._has(url, key, kept=False)
            return first
        known = url in self.contents
        self.change = self.contents.see(url, host, page)
        keys = self.contents.keys(url)
        key = _key(keys, host, page)
        if self.change is not None or not known:
            of_page = host, keys, self.contents.title(url)
            self.like = self.near.candidates(*of_page) if first else []
            self.near.note(url, *of_page)
            self.note_title(url, host)
        # Of one without a content that it had first, any is another.
        other = not before or key != before
        counts = self.change is not None or (not known and (first or other))
        original = self.copy_of.get(url, -1)
        if counts and not (first or known) and original >= 0 and original not in self.wanted:
            del self.copy_of[url]  # both said that nothing is there
        if counts:
            self._find_copy(url, key, first=first)
        return counts

    def _find_copy(self, url: int, key: int, *, first: bool) -> None:
        """Note which page of a host had a content first, and that a new page is a copy of it."""
        if key:
            other = self._same.find(key)
            if other in (NOTHING, url):
                other = url
                if key in self._earlier or self._left.find(key) is not None:
                    other = -1
                else:
                    self._has(url, key)
            if first:
                self.content = key
                if other != url:
                    self.copy_of[url] = other

    def nearest(self, url: int, host: str) -> tuple[float, int]:
        """Of the page that was taken in last, if it is wanted and was read for the first time: how
        much another page of its host resembles it, in [0, 1], and which; (0.0, −1) where none says
        nearly the same."""
        its = (one for one in self.like if one != url)
        found = [(self.contents.resemblance(url, one, host), one) for one in its]
        return max(found, default=(0.0, -1))

    def note_title(self, url: int, host: str) -> None:
        """A page, whose contents are kept, has its title now."""
        if key := _title_key(host, self.contents.title(url)):
            remember(self._titled, key, url, MOST_TITLED)

    def titled(self, host: str, name: str) -> int:
        """The page of a host of which a name, as an entry of a feed has, is the title, or answers
        it; −1 where there is none."""
        for key in (_title_key(host, name), _title_key(host, _ANSWER.sub("", name))):
            url = self._titled.get(key, -1)
            if url in self.wanted and _title_key(host, self.contents.title(url)) == key:
                return url
        return -1

    def same_title(self, url: int, other: int) -> bool:
        """Whether two pages have the same title, of so many words that it says something."""
        one, two = (_words(self.contents.title(page)) for page in (url, other))
        return one == two and len(one) >= LEAST_TITLE

    def other_title(self, url: int, other: int) -> bool:
        """Whether two pages have titles of two documents: before the name of the site, either says
        a word that the other has not."""
        titles = (BETWEEN.split(self.contents.title(page), maxsplit=1) for page in (url, other))
        one, two = (set(_words(title[0])) for title in titles)
        return bool(one - two) and bool(two - one)

    def stand_for(self, url: int) -> None:
        """A page that was taken for a copy of another now stands for it."""
        other = self.copy_of.pop(url)
        self.copy_of[other] = url
        if key := self._content_of(other):
            self._same.remove(key)
            self._newest[other] = 0
            if before := self._content_of(url):
                self._same.remove(before)
            reach(self._newest, url, 0)
            self._newest[url] = key
            self._same.add(url)

    def _content_of(self, url: int) -> int:
        """The content that a page had first and has; 0 where there is none."""
        return self._newest[url] if url < len(self._newest) else 0

    def _has(self, url: int, key: int, *, kept: bool = True) -> None:
        """A page has this content now; the one before is `kept` as such, or forgotten."""
        before = self._content_of(url)
        if before == key:
            return
        if before:
            self._same.remove(before)
            if kept:
                self._earlier[before] = None
        reach(self._newest, url, 0)
        self._newest[url] = key
        self._same.add(url)

    def _judged(self, url: int, page: Page) -> Judgement | None:
        if page.flags & {"feed", "sitemap"}:
            self.wanted.discard(url)
            return None
        judgement = _WANTED if self.judge is None else self.judge.judge(_without_others(page))
        if (said := self.labels.get(page.url)) is not None:
            judgement = by_person(said)
        self._note(url, judgement)
        return judgement

    def unchanged(self) -> None:
        """What came last is what it was."""
        self.change = self.judgement = self.taken = None

    def label(self, url: int | None, address: str, relevant: bool) -> None:
        """A person says whether a page is wanted, which stands from now on, whatever it says then.
        `url`: None where it is not known any more."""
        self.labels[address], judge = relevant, self.judge
        if judge is not None and isinstance(judge, TakesLabels):
            judge.label(address, relevant)
            self.labelled = isinstance(judge, Rejudges)
        if url is not None:
            self._note(url, by_person(relevant))

    def _note(self, url: int, judgement: Judgement) -> None:
        if not judgement.relevant:
            self.verdicts.pop(url, None)
            self.wanted.discard(url)
            return
        self.wanted.add(url)
        if self.judge is None:
            return
        why = [[reason, round(share, 4)] for reason, share in judgement.why]
        verdict = round(float(judgement.score), 4), why, judgement.topic
        remember(self.verdicts, url, verdict, MOST_VERDICTS)

    @property
    def learned(self) -> bool:
        """Whether the judge has judged pages, or was told of some, since it was asked for newer
        verdicts last."""
        return self.labelled or self._pages > self._asked

    def revise(self, find: Callable[[str], int | None], *, now: bool = False) -> list[int]:
        """Ask the judge for newer verdicts where it is time, or `now`; pages that are wanted only
        now."""
        judge = self.judge
        due = now or self.labelled or self._pages >= self._next
        if judge is None or not due or not isinstance(judge, Rejudges):
            return []
        self._asked, self.labelled = self._pages, False
        more = self._pages if self._pages < SETTLED else self._pages // EIGHTH
        self._next = self._pages + max(FIRST_REVISION, min(more, 1_000))
        wanted = []
        for address, judgement in judge.revise():
            url = find(address)
            if url is None or address in self.labels:
                continue
            before = url in self.wanted
            self._note(url, judgement)
            self.on_verdict(url, judgement)
            if url in self.wanted and not before:
                wanted.append(url)
        return wanted

    # -- dates

    def date(self, host: str, page: Page, now: float, *, first: bool, born: float) -> float:
        """When a content was published: NEVER where nothing says that it is new.

        `born`: when its URL appeared on a known page; of one that was looked at before, that look.
        A date that the page states counts unless it lies in the future, is made with each reply,
        or stands on other pages of its host too; no document is younger than the first link to it,
        and no change older than the look that did not show it. Where a page states none, its URL
        may (`spoor.web.dates.date_of_url`), unless those of its host were wrong before.
        """
        published = dict(page.dated).get(page.url) if first else None
        stated = page.modified if published is None else published
        if stated is not None and (stated > now + FUTURE or self._of_template(host, stated)):
            stated = published = None
        self.stated = None if stated is not None and stated > now - JUST_NOW else stated
        if not first:
            return now if stated is None or stated < born else stated
        by_url = self._of_url(host, page.url, published)
        if stated is None:
            if by_url is None or born == NEVER:
                return born
            self.stated = by_url
            return min(by_url, born)
        if born == NEVER:
            # At the first look, a date that is that of the request says nothing.
            return NEVER if stated > now - JUST_NOW else stated
        return min(_end_of(stated), born)

    def _of_url(self, host: str, url: str, published: float | None) -> float | None:
        """When a page was published at the latest, by its URL; it is noted whether that is right
        by what the page says."""
        found = date_of_url(url)
        if found is None:
            return None
        begin, end = found
        right, wrong = self._dates_of_urls.get(host, (0, 0))
        if published is not None:
            of_url = begin - DAY <= published <= end + DAY
            self._dates_of_urls[host] = right + of_url, wrong + (not of_url)
        return None if wrong > max(2, right) else end + DAY / 2

    def _of_template(self, host: str, stated: float) -> bool:
        dates = self._dates.setdefault(host, OrderedDict())
        second = int(stated)
        count = dates.get(second, 0) + 1
        remember(dates, second, count, MOST_DATES)
        return count > (SAME_DAY if second % 86_400 == 0 else SAME_DATE)

    # -- for good

    def age(self, now: float) -> None:
        """Of contents that pages had before, 64 bits stay."""
        self._left.add(self._earlier, [False] * len(self._earlier), now)
        self._earlier = {}

    def leave(self, left: Mapping[int, str]) -> None:
        """Pages, with their hosts, are known no more; of their contents 64 bits stay, once it
        ages."""
        for url, host in left.items():
            if key := self._content_of(url):
                self._same.remove(key)
                self._newest[url] = 0
                self._earlier[key] = None
            self.near.leave(url, host, self.contents.keys(url), self.contents.title(url))
            self.contents.forget(url)
            self.verdicts.pop(url, None)
            self.copy_of.pop(url, None)
        self.wanted.difference_update(left.keys())
        for url, other in self.copy_of.items():
            if other in left:
                self.copy_of[url] = -1

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        forget(left, self._dates, self._dates_of_urls)
        self.contents.leave_hosts(left)
        self.parameters.leave_hosts(left)

    # -- durable

    def _contents_had(self) -> NDArray[np.uint64]:
        """(content, page that had it first), by page."""
        contents = np.array(self._newest, dtype=np.uint64)
        pages = np.flatnonzero(contents)
        return np.column_stack([contents[pages], pages.astype(np.uint64)])

    def save(self) -> State:
        judge = None
        if self.judge is not None and isinstance(self.judge, Stateful):
            judge = self.judge.save()
        return {
            "contents": self.contents.save(),
            "wanted": self.wanted.numbers(),
            "verdicts": [[url, *verdict] for url, verdict in self.verdicts.items()],
            "copy_of": pairs(self.copy_of.items()),
            "same": self._contents_had(),
            "near": self.near.save(),
            "titles": column(self._titled, len(self._titled), np.uint64),
            "titled": column(self._titled.values(), len(self._titled), np.int64),
            "earlier": column(self._earlier, len(self._earlier), np.uint64),
            "left": self._left.save(),
            "dates": {host: pairs(dates.items()) for host, dates in self._dates.items()},
            "dates_of_urls": [[host, *pages] for host, pages in self._dates_of_urls.items()],
            "parameters": self.parameters.save(),
            "views": self.views.rows(),
            "labels": self.labels,
            "labelled": self.labelled,
            "pages": self._pages,
            "asked": self._asked,
            "next": self._next,
            "judge": judge,
        }

    def load(self, state: State) -> None:
        self.contents.load(state["contents"])
        self.wanted = NumberSet(state["wanted"].tolist())
        self.verdicts = OrderedDict(
            (url, (score, why, topic)) for url, score, why, topic in state["verdicts"]
        )
        self.copy_of = dict(map(tuple, state["copy_of"].tolist()))
        self.near.load(state["near"])
        if "titled" in state:
            its = zip(state["titles"].tolist(), state["titled"].tolist(), strict=True)
            self._titled = OrderedDict(its)
        self._newest, self._earlier = array("Q"), {}
        self._same = KeyIndex(self._newest)
        for key, url in state["same"].tolist():
            self._has(url, key)
        self._earlier |= dict.fromkeys(state["earlier"].tolist())
        self._left.load(state["left"])
        self._dates = {
            host: OrderedDict(map(tuple, dates.tolist())) for host, dates in state["dates"].items()
        }
        self._dates_of_urls = {
            host: (right, wrong) for host, right, wrong in state["dates_of_urls"]
        }
        self.parameters.load(state["parameters"])
        self.views.load(state.get("views", ()))
        labels = state.get("labels", {})
        self.labels = {str(url): bool(relevant) for url, relevant in labels.items()}
        self.labelled = bool(state.get("labelled"))
        self._pages, self._asked, self._next = state["pages"], state["asked"], state["next"]
        if self.judge is not None and isinstance(self.judge, Stateful):
            self.judge.load(state["judge"])


_WANTED = Judgement(1.0, True, 1.0)
"""Where there is no judge."""


def by_person(relevant: bool) -> Judgement:
    """What a person said."""
    value = float(relevant)
    return Judgement(value, relevant, value, ((BY_PERSON, value or -1.0),))


def _without_others(page: Page) -> Page:
    """A page without what it says of others: headlines of most read and related stories, menus,
    advertisements. Where hardly a main text was found, all of it."""
    words = page.main.split()
    if len(words) < LEAST_MAIN:
        return page
    text = " ".join(words)
    lines = {" ".join(line.split()) for line in page.main.splitlines()}
    looks = iter(range(MOST_LOOKS))  # most are lines of their own, and each look costs the text
    return replace(
        page,
        text=text,
        headings=tuple(
            one
            for one in page.headings
            if one in lines or (next(looks, None) is not None and one in text)
        ),
    )


def _title_key(host: str, name: str) -> int:
    """64 bits of a title, before the name of the site, at a host; 0 for one without words."""
    words = plain(BETWEEN.split(name, maxsplit=1)[0])
    return signature(f"{host} {words}") if words else 0


def _words(title: str) -> list[str]:
    """With the numbers, which tell one issue from the next."""
    return re.findall(r"\w+", title.lower())


def _end_of(stated: float) -> float:
    """The latest moment that a date means: a midnight stands for a day."""
    return stated if stated % DAY else stated + DAY - 1.0


def _key(keys: Iterable[int], host: str, page: Page) -> int:
    """64 bits of a content at its host; 0 where there is none. Of a page that says as little as
    that one has to subscribe to read on, the title tells which document it is."""
    same = identity_of(keys)
    if not same:
        return 0
    notice = len((page.main or page.text).split(None, NOTICE - 1)) < NOTICE
    its = " ".join([host, *_words(title(page))]) if notice else host
    return same ^ signature(its)
