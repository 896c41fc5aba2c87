"""Only the order: which link to fetch next, for those who have a downloader of their own.

The same crawl as that of `spoor crawl`, without network, robots.txt and folder. Scrapy's scheduler
and Crawlee's request manager stand on it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

from spoor.clock import CrawlClock
from spoor.crawl import Crawl
from spoor.crawl.plugin_calls import judge_page
from spoor.documents.errors import UnreadableError
from spoor.errors import InputError, taking_in
from spoor.isolate.parsing import parse_page
from spoor.judges.facts import Function
from spoor.judges.topic import TopicFile
from spoor.learn.state import link_row, read, revive_link, write
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.protocols import HostClocks, Judge, Policy
from spoor.registry import DEFAULT_POLICY
from spoor.runs.assemble import (
    judge_and_topic,
    make_frontier,
    make_policy,
    scope_of,
    task_of,
    topic_of_settings,
)
from spoor.settings import Settings
from spoor.types import (
    NO_PARENT,
    Anchor,
    Failed,
    Fetch,
    Fetched,
    Judgement,
    Link,
    LinkId,
    Outcome,
    Page,
    State,
)
from spoor.web.urls import canonical
from spoor.wrapping import Wrapper

FORMAT = 1
"""Of a saved orderer."""

Found = str | tuple[str, str] | Link
"""A link: its URL, with its words, or as a page of ours has it."""

Feedback = Page | bytes | str | float | bool | None
"""What came of a URL: a page, HTML, a score in [0, 1], whether it is relevant, or nothing."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an orderer is made of."""

    policy: Policy
    judge: Judge
    pages: int | None = None
    """Budget of pages; None: no limit."""
    backoff: float = 5.0
    """Seconds before a request is tried again; twice as long each time."""
    name: str = ""
    """Name of the policy with its parameters; what was saved continues only with the same."""
    link_filter: CrawlFilter = field(default_factory=lambda: CrawlFilter(Scope()))
    """The scope, for who hands over all links of a site."""

    @classmethod
    def of(cls, settings: Settings, judge: Any = None, called: str = "judge") -> Self:
        """The parts of settings of the kind `scrapy`. `judge`: a judge, or a function of a page
        that returns a bool, a score or a Judgement, instead of `want`; `called`: its name in an
        error. Raises InputError as the registry and the judges do."""
        if settings.want and judge:
            raise InputError(f"set {called} or what is wanted (want), not both")
        topic: TopicFile | None
        if judge:
            own, topic = judge_of(judge, called), topic_of_settings(settings)
        else:
            own, topic = judge_and_topic(settings)
        return cls(
            make_policy(settings, task_of(settings, topic)),
            own,
            settings.pages,
            settings.backoff,
            f"{settings.policy} {settings.params}" if settings.params else settings.policy,
            CrawlFilter(scope_of(replace(settings, nofollow=False)), actions=settings.actions),
        )


def judge_of(given: Any, called: str) -> Judge:
    """A judge, made of a class of judges or of a function of a page where it is one. Raises
    InputError for anything else."""
    if isinstance(given, type) and hasattr(given, "judge"):
        given = given()
    if hasattr(given, "judge"):
        judge: Judge = given
        return judge
    if not callable(given):
        raise InputError(f"{called} {given!r} is neither a judge nor a function of a page")
    return Function(given)


@dataclass(frozen=True, slots=True)
class _More:
    """Links that are yet to enter: those of a page without its links, or seeds."""

    links: Iterator[Link]
    page: Page | None = None
    link: LinkId = NO_PARENT
    score: float = 0.0


class GivenJudgement(Wrapper):
    """Returns the judgement that is known already, where there is one: each page is judged once."""

    kind = Judge

    def __init__(self, judge: Judge) -> None:
        self.judged_by = judge
        self.judgement: Judgement | None = None
        self.hold(judge)

    def judge(self, page: Page) -> Judgement:
        judgement, self.judgement = self.judgement, None
        return self.judged_by.judge(page) if judgement is None else judgement


class _Unwanted:
    """The judge of an orderer that is told scores only."""

    def judge(self, page: Page) -> Judgement:
        raise RuntimeError(f"{page.url} came without a score")


class Orderer:
    """The order of links, learned while they are fetched.

        orderer = spoor.Orderer("kiln, glaze")
        orderer.add(["https://example.org/"])
        while urls := orderer.next(8):
            for url in urls:
                orderer.feedback(url, my_download(url))  # its HTML, or a score, or None

    `topic`, `topic_file`, `want`, `policy`, `params`, `model`, `vectors` and `seed` are settings of
    a crawl. `judge`: a function of a page that returns a bool or a score, or a judge; with neither
    a topic nor a judge `feedback` takes scores only. `delay`: seconds between two URLs of a host;
    by default politeness is that of the downloader. Not for several threads at once.

    Raises InputError as `spoor.run` does.
    """

    def __init__(
        self,
        topic: str = "",
        *,
        topic_file: str | Path = "",
        want: Sequence[str] = (),
        judge: Any = None,
        policy: str = DEFAULT_POLICY,
        params: Mapping[str, Any] | None = None,
        model: str | Path = "",
        vectors: str | Path = "",
        seed: int = 0,
        delay: float = 0.0,
        clock: Callable[[], float] | None = None,
    ) -> None:
        given = (topic, topic_file, tuple(want), policy, params, model, vectors, seed)
        settings = Settings.of(dict(zip(_SETTINGS, given, strict=True)), "scrapy")
        if not (topic or topic_file or want or judge):
            judge = _Unwanted()
        self._make(Parts.of(settings, judge), delay=delay, clock=clock)
        self._settings = settings

    @classmethod
    def of(
        cls,
        parts: Parts,
        *,
        delay: float = 0.0,
        per_host: int = 0,
        clock: Callable[[], float] | None = None,
        **limits: Any,
    ) -> Self:
        """One of parts that are made already; `limits` are those of `Crawl`."""
        made = cls.__new__(cls)
        made._make(parts, delay=delay, per_host=per_host, clock=clock, **limits)
        made._settings = None
        return made

    _settings: Settings | None

    def _make(
        self,
        parts: Parts,
        *,
        delay: float,
        clock: Callable[[], float] | None,
        per_host: int = 0,
        **limits: Any,
    ) -> None:
        self._name, self._last = parts.name, 0.0
        self._given_clock = clock
        self._clock = CrawlClock() if clock is None else clock
        self._judge = GivenJudgement(parts.judge)
        self.crawl = Crawl(
            parts.policy,
            self._judge,
            make_frontier("memory", delay=delay, per_host=per_host or int(delay > 0)),
            pages=parts.pages,
            backoff=parts.backoff,
            **limits,
        )
        self._given: dict[str, Fetch] = {}
        self._links: dict[str, list[Link]] = {}
        self._more: deque[_More] = deque()

    # -- links in, URLs out, what came of them

    def add(self, links: Iterable[Found], found_on: str | None = None) -> int:
        """Enter links; returns how many of them are usable (http and https).

        `found_on`: URL of the page that they stand on, of which they then may be relative. Where
        `next` gave that and its feedback is yet to come, they enter with the page, which is what a
        policy learns from; any others are entered at once, as seeds are.
        """
        base = None if found_on is None else canonical(found_on)
        usable = [link for one in links if (link := _link(one, base)) is not None]
        if base in self._given:
            self._links.setdefault(base, []).extend(usable)
        else:
            self.crawl.seed(usable)
        return len(usable)

    def next(self, k: int = 1) -> list[str]:
        """The `k` URLs to fetch next, best first; fewer where no more are known, or free by
        `delay`. Each is given once, and awaits its `feedback`."""
        urls: list[str] = []
        while len(urls) < k:
            step = self.crawl.next(self.now())
            if not isinstance(step, Fetch):
                break
            self._given[step.url] = step
            urls.append(step.url)
        return urls

    def feedback(
        self,
        url: str,
        came: Feedback,
        *,
        judgement: Judgement | None = None,
        followed: Mapping[str, str] | None = None,
    ) -> Judgement | None:
        """What came of a URL that `next` gave: a page (`spoor.parse`) or its HTML, which the judge
        reads, and whose links enter; a score in [0, 1], or whether it is relevant; None where
        nothing came. `judgement`: what `judge` said of the page already; `followed`: as of
        `deliver`. Returns the judgement.

        Raises InputError for a URL that is not out, and for a score out of range.
        """
        known = canonical(url)
        fetch = self._given.get(known)
        if fetch is None:
            raise InputError(f"{url} is not out: feedback is for what next() gave, once each")
        if came is None:
            found = self._links.pop(known, [])
            del self._given[known]
            self.crawl.receive(Failed(fetch.ticket, "http", "nothing came"), self.now())
            self.crawl.seed(found)
            return None
        if isinstance(came, bool | float | int):
            score = float(came)
            if not 0.0 <= score <= 1.0:
                raise InputError(f"score {came!r} is not a number from 0 to 1")
            judgement = Judgement(score, score >= 0.5, score, (("told", score),))
            page = Page(known)
        elif isinstance(self._judge.judged_by, _Unwanted):
            raise InputError("a page needs a judge: give Orderer a topic, or feedback a score")
        else:
            page = came if isinstance(came, Page) else _parsed(came, known, self._date())
        if found := self._links.pop(known, []):
            on_page = {link.url for link in page.links}
            added = [link for link in found if link.url not in on_page]
            page = replace(page, links=[*page.links, *added])
        outcome = self.deliver(fetch.ticket, page, judgement, now=self.now(), followed=followed)
        del self._given[known]
        return outcome.judgement

    def why(self, url: str) -> tuple[tuple[str, float], ...]:
        """Why a URL that is out was chosen: (reason, share) rows, the most telling first."""
        fetch = self._given.get(canonical(url))
        return () if fetch is None else fetch.choice.why

    @property
    def waiting(self) -> int:
        """Links that `next` may still give."""
        return self.crawl.frontier.open_count

    @property
    def out(self) -> Sequence[str]:
        """URLs that were given and await their feedback, oldest first."""
        return list(self._given)

    def has_next(self) -> bool:
        """Whether `next` would give something now."""
        crawl, now = self.crawl, self.now()
        if crawl.pages is not None and crawl.counts.pages + crawl.in_flight >= crawl.pages:
            return False
        ready = crawl.frontier.next_ready(now)
        if ready is not None and ready <= now:
            return True
        return bool(crawl.unexpanded and not crawl.in_flight and not crawl.frontier.open_count)

    # -- for drivers that keep tickets themselves

    def now(self) -> float:
        """Seconds that never go back, not even where a saved orderer goes on."""
        self._last = max(self._last, self._clock())
        return self._last

    def _date(self) -> float:
        """When a page is read, by the machine's clock."""
        return time.time() if self._given_clock is None else self.now()

    def judge(self, page: Page) -> Judgement:
        """What the judge says of a page, for `deliver` later. Raises PluginError."""
        return judge_page(self._judge.judged_by, page)

    def deliver(
        self,
        ticket: int,
        page: Page,
        judgement: Judgement | None,
        *,
        now: float,
        seconds: float = 0.0,
        size: int = 0,
        followed: Mapping[str, str] | None = None,
    ) -> Outcome:
        """The page of a ticket of the crawl, judged already or not. `followed`: the links that
        enter instead of those of the page, canonical URL → words; the first `AT_ONCE` enter now,
        the others with calls of `enter_some`."""
        links = iter(()) if followed is None else links_of(page, followed)
        if followed is not None:
            page = replace(page, links=list(islice(links, AT_ONCE)))
        self._judge.judgement = judgement
        outcome = self.crawl.receive(Fetched(ticket, page, seconds, size), now)
        assert isinstance(outcome, Outcome)
        if followed is not None and len(page.links) == AT_ONCE:
            score = 0.0 if outcome.judgement is None else outcome.judgement.score
            self._more.append(_More(links, page, outcome.choice.link, score))
        return outcome

    def add_later(self, urls: Iterable[str]) -> None:
        """Enter canonical URLs that no page has, as seeds, with calls of `enter_some`."""
        self._more.append(_More(map(Link, urls)))

    @property
    def has_more(self) -> bool:
        """Whether links wait for calls of `enter_some`."""
        return bool(self._more)

    def enter_some(self) -> bool:
        """Enter the next `AT_ONCE` links of those that wait, of one page after the other by turns;
        whether there were any that could enter."""
        for _ in range(len(self._more)):
            more = self._more.popleft()
            page, link = more.page, more.link
            if page is not None and self.crawl.is_held(link):
                self._more.append(more)
                continue
            links = list(islice(more.links, AT_ONCE))
            if len(links) == AT_ONCE:
                self._more.append(more)
            if page is None:
                self.crawl.seed([one.url for one in links])
            elif links:
                self.crawl.enter_more(replace(page, links=links), link, more.score)
            return True
        return False

    # -- save and load

    def restore(self, state: State, last: float) -> None:
        """Continue from what `crawl.save` returned when `now` gave `last`: what was out is asked
        for again, a whole delay from now, since nobody knows when its last request was. Raises
        InputError as `Crawl.load`.
        """
        self._last = last
        if self._given_clock is None:
            self._clock = CrawlClock(since=last)
        self.crawl.load(state)
        self.crawl.reissue(self.now())
        frontier = self.crawl.frontier
        assert isinstance(frontier, HostClocks)
        for host, *_ in frontier.hosts():
            if delay := frontier.delay(host):
                frontier.hold(host, self.now() + delay)

    def save(self, path: str | Path) -> None:
        """Write all of it to a file, whole or not at all. Raises InputError where it was made of
        parts, and OSError."""
        if self._settings is None:
            raise InputError("an orderer made of parts is saved by its owner")
        links = {url: [link_row(link) for link in found] for url, found in self._links.items()}
        write(
            Path(path),
            {
                "orderer": FORMAT,
                "policy": self._name,
                "settings": self._settings.to_dict(),
                "crawl": self.crawl.save(),
                "links": links,
                "last": self._last,
            },
        )

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        judge: Any = None,
        delay: float = 0.0,
        clock: Callable[[], float] | None = None,
    ) -> Self:
        """One that was saved; a `judge` and a `delay` are given again. What was out is given by
        `next` again. Raises InputError for what is none, or of another version."""
        state = read(Path(path))
        if repr(state.get("orderer")) != repr(FORMAT):
            raise InputError(f"{path} is no orderer that this Spoor reads (format {FORMAT})")
        with taking_in(str(path), "put it back from a copy, or begin anew"):
            saved = Settings.from_dict(state["settings"], str(path))
            # A stranger's may name more, as functions of modules that it would import.
            settings = Settings.of({name: getattr(saved, name) for name in _SETTINGS}, "scrapy")
            wanted = settings.topic or settings.topic_file or settings.want
            made = cls.__new__(cls)
            parts = Parts.of(settings, judge if judge or wanted else _Unwanted())
            made._make(parts, delay=delay, clock=clock)
            made._settings = settings
            links = state["links"].items()
            made._links = {url: list(map(revive_link, rows)) for url, rows in links}
            made.restore(state["crawl"], float(state["last"]))
        return made


AT_ONCE = 500
"""Links of a page that a loop enters at once: some 10 ms."""

_CHARACTERS = 500
"""Of the words of a link: as many as are kept of one on a page (`spoor.web.page_links`)."""

_SETTINGS = ("topic", "topic_file", "want", "policy", "params", "model", "vectors", "seed")
"""That an orderer has."""


def links_of(page: Page, followed: Mapping[str, str]) -> Iterator[Link]:
    """The links of a page that were followed, canonical URL → words. One that is not on the page
    has these words, of which `_CHARACTERS` are kept."""
    links = [link for link in page.links if link.url in followed]
    yield from links
    on_page = {link.url for link in links}
    missing = ((url, text) for url, text in followed.items() if url not in on_page)
    for position, (url, text) in enumerate(missing, len(page.links)):
        yield Link(url, Anchor(text[:_CHARACTERS], position=position))


def _link(one: Found, base: str | None) -> Link | None:
    """A link with its canonical URL; None where that is none of http and https."""
    url, words = (one, "") if isinstance(one, str) else (one[0], one[1])
    try:
        known = canonical(url, base)
    except ValueError:
        return None
    if isinstance(one, Link):
        return one._replace(url=known)
    return Link(known, Anchor(str(words)))


def _parsed(body: bytes | str, url: str, now: float) -> Page:
    """A page of its HTML, in bounded time; without words where it cannot be read."""
    kind = "text/html; charset=utf-8" if isinstance(body, str) else "text/html"
    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    try:
        return parse_page(data, url, content_type=kind, status=200, fetched_at=now)
    except UnreadableError:
        return Page(url, flags=frozenset({"truncated"}), fetched_at=now)
