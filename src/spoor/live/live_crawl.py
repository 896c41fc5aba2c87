"""A live run: a crawl, its folder and the network, from the settings to the end.

The command line and the notebook both use it.
"""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from spoor.clock import CrawlClock
from spoor.crawl import Crawl
from spoor.display import shown
from spoor.hashing import KEY_SIZE
from spoor.http import failures
from spoor.judges.advice import NONE_AFTER, Advice, Advisor, answers_in_words
from spoor.learn.harvest_estimate import Estimate, Harvest, in_words
from spoor.link_filter.link_filter import CrawlFilter
from spoor.live.byte_grant import ByteGrant
from spoor.live.checkpoint_times import CheckpointTimes
from spoor.live.driver import HttpDriver
from spoor.live.frontier_store import FrontierStore
from spoor.live.labels_and_stops import run_listening
from spoor.live.loop_watch import LoopWatch
from spoor.live.renders import Renders
from spoor.live.signals import stop_on_signals
from spoor.live.slow_start import SlowStart
from spoor.live.stop_rule import StopRule
from spoor.live.waits import STILL, Request, Wait, waits_for
from spoor.politeness.request_slots import slow_places
from spoor.process_memory import release_memory
from spoor.protocols import (
    BoundsSlowHosts,
    Engine,
    FallsBack,
    GivesUpAnswers,
    HostClocks,
    KeepsAnswers,
    KeepsSample,
    LookAhead,
    Mergeable,
    Stateful,
)
from spoor.runs import files
from spoor.runs.assemble import (
    fault_of,
    faults_of,
    left_out_of,
    queries,
    set_revisits,
)
from spoor.runs.journal import Journal
from spoor.runs.recovery import going_on, telling
from spoor.runs.renders import all_renders
from spoor.runs.topic_advice import NEAR, WORDS, advisor_of, new_advisor
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Fetched, Outcome, State
from spoor.web.exchange import Exchange

if TYPE_CHECKING:
    from spoor.live.requisites import Requisites

CHECKPOINT_SHARE = 0.02
"""At most this share of the time goes into checkpoints, once there is much to save; more, where a
replay would take long (`live/checkpoint_times.py`)."""

ESTIMATE_EVERY = 10
"""Pages between two estimates of what is left, where a run ends by them."""

FIRST_ADVICE = 20
"""Pages after which the user is first advised on the topic; then whenever the pages have doubled,
and at the end."""

COMMIT_SECONDS = 0.025
"""Seconds between two commits: replies that arrive meanwhile share one wait for the disk."""

CHECKPOINT_SECONDS = 20.0
"""Seconds between two checkpoints, where a replay of what came between them would be short."""


class LiveCrawl:
    """A crawl, its folder and the network; `on_step` sees what the crawl made of each reply."""

    def __init__(
        self,
        folder: RunWriter,
        engine: Crawl,
        *,
        on_step: Callable[[Fetch, Outcome | Deferred], None] | None = None,
    ) -> None:
        self.folder = folder
        # A shard ends with the others, by what their coordinator says.
        self._rule = StopRule(folder.settings if engine.outbox is None else Settings())
        self._recent: deque[bool] = deque(maxlen=self._rule.settings.window)
        """Verdicts on the last pages of this process."""
        self._harvest = Harvest(folder.verdicts())
        self._revisions = engine.revisions
        self._advisor: Advisor | None = None
        self._advice = Advice()
        self._advised_at = FIRST_ADVICE // 2
        """Pages when the user was advised last."""
        self._driver: HttpDriver | None = None
        self.renders: Renders | None = None
        self._requisites: Requisites | None = None
        self._requisites_told: dict[str, Any] | None = None
        self._rule_applied = False
        self.crawl = engine
        self._began = time.monotonic()
        self._pages_before = 0
        self._seconds_before, used = folder.used()
        """Seconds that the run took in earlier processes."""
        limited = bool(folder.settings.max_bytes and engine.outbox)
        self.bytes = ByteGrant(used, limited=limited)
        self._checkpoints = CheckpointTimes(time.monotonic(), time.process_time())
        self._failed: tuple[str, Failed] | None = None
        """URL and reply of the last request that brought no page."""
        self._refreshed: dict[str, Any] | None = None
        self.loop_watch = LoopWatch()
        self.now = CrawlClock()
        """Seconds by the crawl's clock."""
        self.on_step = on_step
        self._steps: list[tuple[Fetch, Outcome | Deferred]] = []
        self._deferred: dict[int, Deferred] = {}
        """Ticket that will be requested again → when, and why."""
        self._page_at = 0.0
        """When the last page came, or the run began, by the crawl's clock."""
        self._waits = ""
        """What the crawl waits for, as noted last."""
        self.on_second: Callable[[Wait | None], None] = lambda wait: None
        """Called once a second, between two turns; with what the crawl waits for, if no page came
        for `STILL` seconds."""
        self.on_interrupt: Callable[[], None] = lambda: None
        self.on_fault: Callable[[str], None] = lambda line: None
        """Called once with a line about a policy that failed and was replaced, a judge whose budget
        is spent or that gave no answer, and each document that is found damaged."""
        folder.on_damage = lambda line: self.on_fault(line)
        self.on_advice: Callable[[Advice], None] = lambda advice: None
        """Called with advice on the topic, if it says something new."""
        if isinstance(engine.judge, KeepsAnswers):
            answers = folder.path / files.ANSWERS
            engine.judge.keep_answers(answers, lambda line: self.on_fault(line))
        self.journal = Journal(engine, folder, self._resume)
        judge_state: State | None = None
        learned: list[State] = []
        if folder.settings.refresh:
            from spoor.runs.refreshed_run import originals_of, revisits_of

            folder.revisits, judge_state, learned = revisits_of(folder.path, folder.settings)
            folder.originals = originals_of(folder.path)
            set_revisits(engine, folder.revisits)
        self._frontiers = FrontierStore(folder)
        self._going_on: Callable[[], AbstractContextManager[None]] = nullcontext
        """Tells what fails since the state was not as it should be."""
        state = folder.state(self._frontiers.usable)
        if state is None:
            self._configure(folder.settings)
            if judge_state is not None or learned:
                self._going_on = partial(going_on, folder.path)
            if isinstance(engine.judge, KeepsSample):
                engine.judge.key_sample(secrets.token_bytes(KEY_SIZE))
            if judge_state is not None and isinstance(engine.judge, Stateful):
                with telling(folder.path):
                    engine.judge.load(judge_state)
            if learned and isinstance(engine.policy, Mergeable):
                with telling(folder.path):
                    engine.policy.merge(learned)
            if folder.revisits is None:
                engine.seed(folder.settings.seeds)
            else:
                engine.seed(folder.revisits.first())
            with self._going_on():
                self._checkpoint()
        else:
            self._continue(state)
        for part in (engine.policy, engine.judge):
            if isinstance(part, FallsBack):
                part.report_fault(lambda line: self.on_fault(line))

    def _continue(self, state: State) -> None:
        """Load the last checkpoint, and replay the journal since then."""
        with telling(self.folder.path):
            self._frontiers.open(self.crawl, state)
        self._configure(self.folder.checkpoint_settings)
        with telling(self.folder.path):
            self.crawl.load(state)
            self.journal.replay(state)
        self._checkpoints.replayed(time.process_time())
        self._going_on = partial(going_on, self.folder.path)
        with self._going_on():
            # The crawl's clock never goes back, even where the machine's does.
            self.now = CrawlClock(self.journal.last)
            self.journal.resume(self.now(), self.folder.settings.to_dict(fixed=False))
            if self.folder.added_seeds:
                self.journal.call("seed", self.now(), self.folder.added_seeds)
        self._pages_before = self.crawl.counts.pages

    def _configure(self, settings: Settings) -> None:
        self._settings = settings
        frontier = self.crawl.frontier
        assert isinstance(frontier, HostClocks)
        frontier.configure(delay=settings.delay, per_host=settings.per_host)
        if isinstance(frontier, BoundsSlowHosts):
            frontier.bound_slow_hosts(slow_places(settings.in_flight))
        if isinstance(link_filter := self.crawl.link_filter, CrawlFilter):
            link_filter.limit(
                settings.pages_per_host, settings.pages_per_domain, settings.found_per_host
            )
        outbox = self.crawl.outbox
        self.crawl.pages = settings.pages if outbox is None else outbox.grant
        if self.folder.revisits is not None:
            self.crawl.pages, self.folder.revisits.most_new = None, settings.pages

    def _resume(self, now: float, changeable: Mapping[str, Any]) -> None:
        """Request again what was in flight, a whole delay from now, since nobody knows when the
        earlier process sent its last request. Politeness and budget may have changed."""
        if changeable != self._settings.to_dict(fixed=False):
            self._configure(Settings.from_dict(changeable))
        self.crawl.reissue(now)
        if isinstance(link_filter := self.crawl.link_filter, CrawlFilter):
            link_filter.go_on()
        self.crawl.reopen_seeds(self.folder.settings.seeds)
        frontier = self.crawl.frontier
        assert isinstance(frontier, HostClocks)
        for host, *_ in frontier.hosts():
            frontier.pace(host, self._settings.delay)
            delay = frontier.delay(host)
            if delay:
                frontier.hold(host, now + delay)

    @property
    def fault(self) -> str:
        """How its policy or judge broke its protocol, and what replaces it; or empty."""
        return faults_of(self.crawl)

    def run(self) -> str:
        """Crawl to the end; returns why it ended."""
        return asyncio.run(self.serve(self.driver()))

    def estimate(self) -> Estimate | None:
        """How much is left to find; None if too little is known."""
        counts = self.crawl.counts
        return self._harvest.estimate(self.crawl.frontier.open_count, counts.requests)

    def driver(
        self, engine: Engine | None = None, owns: Callable[[str], bool] = lambda url: True
    ) -> HttpDriver:
        """The driver of the journal, or of an `engine` in front of it, for the URLs that it `owns`.
        Raises InputError if all pages are to be rendered and no browser is there."""
        if self.folder.settings.render != "never":
            self.renders = Renders(
                self.folder.settings,
                known=self._knows,
                harvest=self._harvest_rate,
                note=self.folder.note_render,
                later=isinstance(self.crawl.policy, LookAhead) and self.crawl.policy.look_ahead,
                earlier=all_renders(self.folder.path),
                report=lambda line: self.on_fault(line),
            )
        self._requisites = self._made_requisites()
        self._driver = HttpDriver(
            self.journal if engine is None else engine,
            self.folder.settings,
            clock=self.now,
            wall=time.time,
            record=self._record,
            on_step=self._step,
            commit=self.commit,
            gather=COMMIT_SECONDS,
            kept_cookies=self.folder.path / files.COOKIES,
            renders=self.renders,
            owns=owns,
            admits=self.bytes.admits,
            slow_start=self._slow_start(),
            queries=queries(self.folder.settings),
            requisites=self._requisites,
            **self._of_earlier(),
        )
        return self._driver

    def _slow_start(self) -> SlowStart | None:
        """None where an earlier run found what is requested again."""
        settings, crawl = self.folder.settings, self.crawl
        if settings.refresh:
            return None
        # The frontier is another one once it has moved to disk.
        return SlowStart(
            settings.in_flight, lambda link: crawl.frontier.depth(link), crawl.counts.requests
        )

    def _made_requisites(self) -> Requisites | None:
        """None where the settings ask for none."""
        if self.folder.requisites is None:
            return None
        from spoor.live.requisites import Requisites

        return Requisites(
            self.folder,
            self.folder.requisites,
            hosts=lambda: self.journal.frontier,
            clock=self.now,
            wall=time.time,
            commit=lambda: self.journal.commit(noted=True),
            report=lambda line: self.on_fault(line),
            on_bytes=self._took,
        )

    def _took(self, size: int) -> None:
        """A requisite has so many bytes."""
        self.bytes.used += size
        self._stop_if_used()

    def _of_earlier(self) -> dict[str, Any]:
        """Arguments of the driver about pages of an earlier run."""
        folder, revisits = self.folder, self.folder.revisits
        if revisits is None:
            return {}
        return {
            "validators": folder.validators,
            "whole": lambda url: url in revisits.numbers and not folder.broke_off(url),
        }

    def used_time(self, seconds: float) -> None:
        """Set how long the run has taken so far, by the clock of the shards' coordinator."""
        self._seconds_before = seconds - (time.monotonic() - self._began)

    def _knows(self, url: str) -> bool:
        return self.crawl.frontier.find(url) is not None

    def _harvest_rate(self) -> float:
        counts = self.crawl.counts
        return counts.relevant / counts.pages if counts.pages else 0.0

    async def serve(self, driver: HttpDriver) -> str:
        """As `run`, in an event loop that runs already."""
        with self._going_on():
            return await self._serve(driver)

    async def _serve(self, driver: HttpDriver) -> str:
        stop_on_signals(driver, self.on_interrupt)
        # A shard may be executing its first order, and commit, in the thread of turns.
        await driver.apart(lambda: self.folder.note("stopped", ""))
        self._page_at = self.now()
        most = self._rule.settings.max_time
        if not self._stop_if_used() and most:
            loop = asyncio.get_running_loop()
            loop.call_later(most - self._seconds(), lambda: self._stop_if_used(most))
        self.loop_watch.start()
        try:
            reason = await run_listening(driver, self, self._second)
        finally:
            self.loop_watch.stop()
        self.folder.note("stopped", reason)
        self.folder.note("waiting", "")
        self.folder.note("seconds", f"{self._seconds():.3f}")
        if reason != "aborted":
            if self.folder.has_labels():  # given in the last second
                self.take_labels()
            self.journal.revise(self.now())
            self.journal.commit()
            self.journal.commit(noted=self.folder.stand_in())
            self._advise(over=True)
        self._refreshed = self.folder.refreshed(self.crawl.counts.unchanged)
        if reason != "aborted":
            if self._refreshed:
                from spoor.runs.refreshed_run import in_words as refreshed_in_words

                self.folder.note("refreshed", json.dumps(refreshed_in_words(self._refreshed)))
            self._checkpoint()
        if self.folder.requisites is not None:
            totals = self.folder.requisites.totals()
            self._requisites_told = {**asdict(totals), "words": str(totals)}
        return reason

    def _second(self, requests: Sequence[Request]) -> None:
        frontier, now, wait = self.crawl.frontier, self.now(), None
        assert isinstance(frontier, HostClocks)
        if now - self._page_at >= STILL:
            timeout = self.folder.settings.timeout
            wait = waits_for(
                requests,
                self._deferred.values(),
                frontier.hosts(),
                frontier.delay,
                timeout=timeout,
                now=now,
            )
        if self._requisites is not None:
            wait = self._requisites.words or wait
        words = "" if wait is None else wait.words(now)
        if words != self._waits:
            self._waits = words
            self.folder.note("waiting", words)
            self.journal.commit(noted=True)
        self.on_second(wait)

    def take_labels(self) -> None:
        # Labels concern committed pages, so the rest is committed first.
        self.commit()
        for url, relevant in self.folder.labels():
            changed = self.folder.relabel(url, relevant)
            if changed is not None:
                self.journal.relabel(url, *changed, self.now())
        self.commit()
        self._count_again()

    def _count_again(self) -> None:
        """Read all verdicts again, since some have changed; all are committed."""
        verdicts = self.folder.verdicts()
        self._harvest = Harvest(verdicts)
        self._recent.extend(verdicts[len(verdicts) - len(self._recent) :])
        if self._requisites is not None:
            self._requisites.look_again()

    def _record(self, fetch: Fetch, exchange: Exchange) -> bool:
        same = self.journal.record(fetch, exchange)
        if same and exchange.sitemaps:  # no page brings them
            self.journal.call("sitemaps", self.now(), list(exchange.sitemaps))
        return same

    def _step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        path: list[str] = []
        if isinstance(step, Outcome):
            reply = step.reply
            # Nothing is written of a page that is as it was; a path costs two queries.
            if not (isinstance(reply, Failed) and reply.kind == "unchanged"):
                path = self.crawl.path(step.choice.link)
        self.folder.step(fetch, step, path, time.time())
        self._steps.append((fetch, step))
        if isinstance(step, Deferred):
            self._deferred[fetch.ticket] = step
        else:
            self._deferred.pop(fetch.ticket, None)
        if isinstance(step, Outcome) and isinstance(step.reply, Fetched):
            self._page_at = self.now()
            self.bytes.used += step.reply.size
            self._stop_if_used()
            if self._requisites is not None:
                self._requisites.came(fetch.host)
        if isinstance(step, Outcome) and step.judgement is not None:
            self._recent.append(step.judgement.relevant)
            self._harvest.add(step.judgement.relevant)
            if step.page is not None and (advisor := self._adviser()) is not None:
                advisor.see(step.page)
            if not self._rule_applied and self._rule.has_found(self.crawl.counts.relevant):
                self.journal.revise(self.now())  # some may be results no more
            due = self._rule.estimates and self._harvest.pages % ESTIMATE_EVERY == 0
            estimate = self.estimate() if due else None
            reason = self._rule.reason(self.crawl.counts.relevant, self._recent, estimate)
            if reason is not None and not self._rule_applied and self._driver is not None:
                self._rule_applied = True
                self._driver.stop(reason, pages_only=True)
        if isinstance(step, Outcome) and isinstance(step.reply, Failed) and step.reply.counts:
            self._failed = fetch.url, step.reply

    def _seconds(self) -> float:
        """Seconds that the run has taken, in all its processes."""
        return self._seconds_before + time.monotonic() - self._began

    def _stop_if_used(self, seconds: float = 0.0) -> bool:
        """End at once if the budget of time or bytes is used; returns whether it is."""
        reason = self._rule.used(max(seconds, self._seconds()), self.bytes.used)
        # A rule ends the pages alone: what they need goes on, until this ends it.
        applied = self._rule_applied and self._requisites is None
        if reason is not None and not applied and self._driver is not None:
            self._rule_applied = True
            # What is in flight is requested again when the run goes on, so it does not count.
            self.end(reason)
        return reason is not None

    def end(self, reason: str) -> None:
        """End at once, also where the judge waits for an answer."""
        assert self._driver is not None
        self._driver.abort(reason)
        if isinstance(self.crawl.judge, GivesUpAnswers):
            self.crawl.judge.give_up_answers()

    def commit(self) -> None:
        """Make all that was done durable."""
        if self.folder.settings.max_time:
            self.folder.note("seconds", f"{self._seconds():.3f}")
        now = time.monotonic()
        # A young run has more to show, and less to save.
        least = min(CHECKPOINT_SECONDS, max(1.0, (now - self._began) / 2))
        if self._checkpoints.due(now, time.process_time(), least, CHECKPOINT_SHARE):
            self._checkpoint()
        else:
            self.journal.commit()
        if self._revisions != self.crawl.revisions:
            self._revisions = self.crawl.revisions
            self._count_again()
        counts = self.crawl.counts
        finds_nothing = counts.relevant <= 1 and counts.pages >= NONE_AFTER > self._advised_at
        if self._advisor is not None and (counts.pages >= 2 * self._advised_at or finds_nothing):
            self._advise()
        # Only what is durable is shown.
        steps, self._steps = self._steps, []
        if self.on_step is not None:
            for fetch, step in steps:
                self.on_step(fetch, step)

    def _adviser(self) -> Advisor | None:
        """Who advises, or None in a shard: made when the first page comes, since it reads pages of
        earlier processes once more."""
        if self._advisor is None and self.crawl.outbox is None:
            settings = self.folder.settings
            if self.folder.resumed:
                self._advisor = advisor_of(self.folder.path, settings)
            else:
                self._advisor = new_advisor(settings)
        return self._advisor

    def _advise(self, *, over: bool = False) -> None:
        """Note the advice on the topic, from all committed pages."""
        self._advised_at = max(self._advised_at, self.crawl.counts.pages)
        if (advisor := self._adviser()) is None:
            return
        before, self._advice = (
            self._advice,
            advisor.advice(self.folder.judged(), over=over),
        )
        self.folder.note(WORDS, json.dumps(list(self._advice.known)))
        self.folder.note(NEAR, json.dumps([page.url for page in self._advice.near]))
        lines, judge = self._advice.lines(near=False), self.crawl.judge
        if isinstance(judge, KeepsAnswers):
            lines.append(f"judge    {answers_in_words(judge.costs())}")
        self.folder.note("advice", json.dumps(lines))
        if self._advice.news != before.news:
            self.on_advice(self._advice)

    def _checkpoint(self) -> None:
        began, cpu = time.monotonic(), time.thread_time()
        self._frontiers.move(self.crawl, self._settings)
        self.journal.checkpoint(time.time(), self.now())
        self._frontiers.saved(self.crawl.frontier)
        release_memory()
        cost = time.thread_time() - cpu
        self._checkpoints.made(began, time.monotonic(), cost, time.process_time())

    def _last_failure(self) -> str:
        if self._failed is None:
            return ""
        url, reply = self._failed
        return f"{shown(url)}: {shown(failures.in_words(reply))}"

    def summary(self, reason: str) -> dict[str, Any]:
        """What the run did, for `--json`; `reason` is why it ended."""
        counts = self.crawl.counts
        seconds = time.monotonic() - self._began
        requisites = self._requisites
        after = None if requisites is None else requisites.after
        of_pages = seconds if after is None else after - self._began
        judge = self.crawl.judge
        left_out = left_out_of(self.crawl)
        return {
            "out": str(self.folder.path),
            "resumed": self.folder.resumed,
            "stopped_because": reason,
            "fetched": counts.pages,
            "found": counts.relevant,
            "judged_anew": self.crawl.revisions,
            "advice": self._advice.as_json(str(self.folder.path)),
            "refreshed": self._refreshed,
            "failed": counts.failed,
            "skipped": counts.skipped,
            **left_out.as_json(),
            "requests": counts.requests,
            "rendered": None if self.renders is None else self.renders.as_json(),
            "requisites": self._requisites_told,
            "robots_requests": self._driver.robots_requests if self._driver else 0,
            "harvest_rate": round(counts.relevant / counts.pages, 4) if counts.pages else 0.0,
            "open_links": self.crawl.frontier.open_count,
            "estimate": _as_json(self.estimate(), left_out.waiting),
            "last_failure": self._last_failure(),
            "policy_fault": fault_of(self.crawl.policy),
            "judge_fault": fault_of(self.crawl.judge),
            "judge": dict(judge.costs()) if isinstance(judge, KeepsAnswers) else {},
            "seconds": round(seconds, 2),
            "pages_per_second": round((counts.pages - self._pages_before) / max(of_pages, 1e-9), 2),
        }


def _as_json(estimate: Estimate | None, held: int) -> dict[str, Any] | None:
    """An estimate as JSON values: [low, middle, high] of each."""
    if estimate is None:
        return None
    return {
        "left": [round(value, 1) for value in estimate.left],
        "next_hundred": [round(value, 1) for value in estimate.next],
        "requests_each": [
            round(value, 1) if math.isfinite(value) else None for value in estimate.cost
        ],
        "words": in_words(estimate, held),
    }
