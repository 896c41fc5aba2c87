"""Which pages of a crawl are rendered, and what that brought."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

from spoor.bounded import BoundedDict
from spoor.distribution import NAME
from spoor.errors import InputError
from spoor.rendering import browser
from spoor.rendering.browser import Browser
from spoor.rendering.browser_thread import BrowserThread
from spoor.rendering.missing_content import EMPTY_LIST, SCRIPTS, lacks, shape
from spoor.rendering.render_value import MOST_HOSTS, Arm, Brought, RenderValues, is_text
from spoor.rendering.visit import Load
from spoor.runs.renders import RenderTotals
from spoor.runs.rows import RenderRow
from spoor.settings import Settings
from spoor.types import Deferred, Fetch, Outcome, Page
from spoor.web.exchange import Exchange, Rendered, Requisite

MOST_LINKS = 1_000
"""Links of a rendered page that are looked up."""
_ANSWERED = range(200, 300)
_A_TEXT = 1_500
"""Characters of a page that has a text."""


class _Plain(NamedTuple):
    """A page as it came, beside which the rendered one is held."""

    arm: Arm | None
    """None where nothing is learned from its render."""
    urls: frozenset[str]
    words: frozenset[str]


class Renders:
    """Renders pages as `settings.render` says.

    `known` says whether the crawl knows a URL, `harvest` the share of its pages that is relevant;
    `note` is called with what each render brought, its page's URL and what that asked for, in the
    turn of its page. `earlier`: what was noted by processes before this one. `later`: links enter
    the crawl some time after their page (`spoor.protocols.LookAhead`).

    A watch comes again to each page, and would take one that is rendered at one visit and not at
    another for one that changed. With `visits`, the URLs that it has rendered so far, these are
    rendered at each visit, and `note_visit` is called with each further one; of later visits
    nothing is learned.

    Raises InputError where all pages are to be rendered and nothing is there to do it.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        known: Callable[[str], bool],
        harvest: Callable[[], float],
        note: Callable[[RenderRow, str, Sequence[Requisite]], None],
        later: bool = False,
        earlier: Iterable[RenderRow] = (),
        visits: Iterable[str] | None = None,
        note_visit: Callable[[str], None] = lambda url: None,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        browser.require_browser(settings.render, settings.chromium)
        self._settings = settings
        self._known, self._harvest, self._note = known, harvest, note
        self._report, self._later = report, later
        self._visited = None if visits is None else set(visits)
        self._note_visit = note_visit
        self._values = RenderValues()
        self._lock = threading.Lock()
        """Pages are chosen in the loop's thread, and learned from in that of the turn."""
        self._plain: dict[int, _Plain] = {}
        self._brought_last = BoundedDict[Arm, frozenset[str]](MOST_LINKS)
        """Words that the last render of its kind brought: what each brings again is no text."""
        self._whole: dict[str, int] = {}
        """Host → pages with a text in a row that lacked nothing."""
        self._waiting: list[asyncio.Future[None]] = []
        self._browser: BrowserThread | None = None
        self._able = settings.render == "always" or browser.is_installed()
        self._load: Load | None = None
        self.totals = RenderTotals()
        self.unrendered = 0
        """Pages that lack something without JavaScript, and nothing was there to render them; …"""
        self.unfilled = 0
        """… those of them that have a text, and a list that scripts may fill."""
        for row in earlier:
            self.totals.add(RenderTotals.of(row))
            arm = Arm(row.host, row.shape, row.lack)
            self._values.again(arm, row.gain, Brought(row.links, row.text, row.relevant))

    def open(self, load: Load, *, clicks: bool) -> None:
        """Pages may come; `load` brings what they ask for. With `clicks` they are clicked on, but
        not in a watch: what it looks for stands first in a list. The browser starts with the first
        page that is rendered."""
        self._load = load
        settings = self._settings
        self._loop = asyncio.get_running_loop()
        self._browser = BrowserThread(
            Browser(
                settings.chromium,
                user_agent=settings.user_agent,
                timeout=settings.render_timeout,
                body_limit=settings.body_limit,
                clicks=clicks and self._visited is None,
                report=self._report_here,
            )
        )

    def _report_here(self, line: str) -> None:
        self._loop.call_soon_threadsafe(self._report, line)

    def as_json(self) -> dict[str, Any]:
        """What rendering took and brought in all, for `--json`; `lines`: the same for a person."""
        lines = [str(self.totals)] if self.totals.pages else []
        if self.unrendered:
            little = self.unrendered - self.unfilled
            pages = "1 page shows" if little == 1 else f"{little:,} pages show"
            said = [f"{pages} little without JavaScript"] if little else []
            pages = "1 page has" if self.unfilled == 1 else f"{self.unfilled:,} pages have"
            said += [f"{pages} a list that scripts may fill"] if self.unfilled else []
            lines.append(
                f"nothing: {', '.join(said)}; install a Chromium and pip install "
                f"'{NAME}[render]', or give --render never"
            )
        return {**asdict(self.totals), "unrendered": self.unrendered, "lines": lines}

    async def close(self) -> None:
        """End the browser."""
        if self._browser is not None:
            await self._browser.close()

    async def rendered(self, fetch: Fetch, exchange: Exchange, page: Page) -> Exchange:
        """An exchange with what a browser made of it, where that pays; `page` is its page as it
        came."""
        if "not-html" in page.flags or exchange.truncated or exchange.status not in _ANSWERED:
            return exchange
        arm: Arm | None
        if self.needs(exchange.url):
            if not self._able:
                return exchange
            arm, why = None, "it was rendered at its first visit"
        elif self._settings.render == "always":
            lack = lacks(exchange.body, page) or "no script"
            arm, why = Arm(fetch.host, shape(exchange.url), lack), "all pages are rendered"
            with self._lock:
                self._values.begin(arm)
        else:
            with self._lock:
                settled = self._values.settled(fetch.host)
            if settled or ("#" not in page.url and self._is_whole(fetch, page)):
                return exchange
            lack = lacks(exchange.body, page)
            arm = Arm(fetch.host, shape(exchange.url), lack)
            why = await self._decided(arm) if lack else ""
            if why or lack not in ("", SCRIPTS):
                self._whole.pop(fetch.host, None)
        if not why:
            return exchange
        return await self._by_browser(fetch, exchange, page, arm, why)

    def needs(self, url: str) -> bool:
        """Whether a page must be rendered: it is known as a browser makes it."""
        return self._visited is not None and url in self._visited

    def forget_visits(self, urls: Iterable[str]) -> None:
        """Pages are visited no more."""
        if self._visited is not None:
            self._visited.difference_update(urls)

    def keeps(self, plain: Page, rendered: Page) -> bool:
        """Whether a rendered document takes the place of the plain one. In a watch it does so only
        where it brought something, since it then does for good."""
        if self._visited is None or self._settings.render == "always" or self.needs(plain.url):
            return True
        if {link.url for link in rendered.links} - {link.url for link in plain.links}:
            return True
        words = set(plain.text.split())
        return is_text(len(set(rendered.text.split()) - words), len(words))

    def _is_whole(self, fetch: Fetch, page: Page) -> bool:
        """Whether a page is not looked at any closer: it has a text, and there is nothing to render
        it with, or the last pages of its host lacked nothing; of these each eighth is looked at."""
        if len(page.text) < _A_TEXT:
            return False
        if not self._able:
            return True
        calm = self._whole.get(fetch.host, 0)
        if len(self._whole) > MOST_HOSTS:
            self._whole.clear()
        self._whole[fetch.host] = calm + 1
        return calm >= 3 and calm % 8 != 0

    async def _decided(self, arm: Arm) -> str:
        """Why a page is to be rendered; empty where it is not."""
        while self._able:
            with self._lock:
                decision = self._values.decide(arm)
                if decision.action != "wait":
                    return decision.why
                learned = self._loop.create_future()
                self._waiting.append(learned)
            await learned
        self._lacks(arm)
        return ""

    def _lacks(self, arm: Arm | None) -> None:
        """A page is not rendered, whatever it lacks."""
        if arm is not None:
            self.unrendered += arm.lack != SCRIPTS
            self.unfilled += arm.lack == EMPTY_LIST

    async def _by_browser(
        self, fetch: Fetch, exchange: Exchange, page: Page, arm: Arm | None, why: str
    ) -> Exchange:
        assert self._browser is not None
        assert self._load is not None
        try:
            made = await self._browser.render(exchange, self._load)
        except BaseException as error:
            self._cancel(arm)
            if not isinstance(error, InputError) or self._settings.render == "always":
                raise
            self._lacks(arm)
            if self._able:  # and no other page told it
                self._able = False
                self._report(f"no page is rendered: {error}")
            return exchange
        urls = frozenset(link.url for link in page.links)
        self._plain[fetch.ticket] = _Plain(arm, urls, frozenset(page.text.split()))
        return replace(exchange, rendered=replace(made, why=why))

    def _cancel(self, arm: Arm | None) -> None:
        if arm is None:
            return
        with self._lock:
            self._values.cancel(arm)
        self._wake()

    def forget(self, fetch: Fetch) -> None:
        """Nothing will be learned from this fetch, if it was rendered: its reply is not that."""
        if (plain := self._plain.pop(fetch.ticket, None)) is not None:
            self._cancel(plain.arm)

    def _wake(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for learned in waiting:
            if not learned.done():
                learned.set_result(None)

    def receive(
        self, fetch: Fetch, rendered: Rendered, page: Page | None, receive: Callable[[], _Step]
    ) -> _Step:
        """Receive a reply that was rendered, whose page is this, and learn what that brought."""
        plain = self._plain.pop(fetch.ticket)
        arm = plain.arm
        if arm is None:
            failed, seconds = int(bool(rendered.failed)), rendered.seconds
            self.totals.add(RenderTotals(1, failed, seconds, rendered.requests))
            return receive()
        if self._visited is not None and rendered.html and page is not None:
            self._visited.add(page.url)
            self._note_visit(page.url)
        new: list[str] = []
        if page is not None and rendered.html:
            others = {link.url for link in page.links} - plain.urls
            new = [url for url in sorted(others)[:MOST_LINKS] if not self._known(url)]
        step = receive()
        brought, words = Brought(), 0
        if page is not None and rendered.html:
            came = frozenset(page.text.split()) - plain.words
            words = len(came - self._brought_last.get(arm, frozenset()))
            self._brought_last[arm] = came
            judged = step.judgement if isinstance(step, Outcome) else None
            text = is_text(words, len(plain.words))
            entered = len(new) if self._later else sum(map(self._known, new))
            brought = Brought(entered, text, text and judged is not None and judged.relevant)
        with self._lock:
            gain = self._values.learn(arm, brought, self._harvest())
        self._loop.call_soon_threadsafe(self._wake)
        row = RenderRow(
            fetch.ticket,
            *arm,
            rendered.why,
            brought.links,
            words,
            brought.text,
            brought.relevant,
            gain,
            rendered.seconds,
            rendered.requests,
            rendered.received,
            rendered.held_back,
            rendered.failed,
        )
        self.totals.add(RenderTotals.of(row))
        self._note(row, fetch.url if page is None else page.url, rendered.asked)
        return step


_Step = Outcome | Deferred
