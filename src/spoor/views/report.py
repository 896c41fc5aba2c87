"""The contents of the report of a run, from its rows and its last checkpoint."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from spoor.crawl import Crawl
from spoor.display import few, pace_in_words, shown
from spoor.errors import InputError
from spoor.runs.by_seed import seeds_found
from spoor.runs.labelling import policy_learns
from spoor.runs.pass_costs import PassCosts
from spoor.runs.reader import Run
from spoor.runs.renders import render_totals
from spoor.runs.requisites import requisite_totals
from spoor.runs.rows import PageRow
from spoor.runs.snapshot import HostClock, Snapshot, settings_of_crawl
from spoor.runs.topic_advice import NEAR
from spoor.views.kinds import Kind, Kinds
from spoor.views.link_rates import LinkRates, link_rates
from spoor.views.preview import Preview, Previews
from spoor.views.run_totals import REFUSED, Directory, Failure, Host, Sums, curve
from spoor.views.snippets import Snippet, Snippets

RECENT = 20
NEAR_SHOWN = 4
DOCUMENTS = 5.0
"""Seconds that the texts of a report may take beyond what their bytes give them (`PassCosts`), and
so may their snippets: a crawl writes its report before it ends."""
FAILURES = 30
_TOLD_APART = frozenset((*REFUSED, "unreadable"))
DIRECTORIES = 12
MIN_PAGES = 3
"""Fewest pages of a directory in the report."""


@dataclass(frozen=True, slots=True)
class Left:
    """The estimate of the relevant pages that are left."""

    lead: str
    """One or two sentences."""
    numbers: Sequence[tuple[str, str]] = ()
    total: tuple[float, float, float] | None = None
    """Estimate of all relevant pages, with the ends of its interval, for the plot."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """The contents of a report."""

    title: str
    lead: str
    numbers: Sequence[tuple[str, str]]
    lines: Mapping[str, Sequence[Sequence[float]]]
    """Name → [pages fetched, relevant pages found] points."""
    caption: str = "Relevant pages found against pages fetched."
    budget: int | None = None
    """Pages."""
    wish: str = ""
    """What is looked for, in plain words."""
    advice: Sequence[str] = ()
    """Lines on the words of the topic, and warnings."""
    left: Left | None = None
    best: Sequence[PageRow] = ()
    near: Sequence[PageRow] = ()
    """Near the threshold: a person's yes or no to these tells most."""
    recent: Sequence[PageRow] = ()
    """Fetched last, newest first; in the live page only."""
    snippets: Mapping[int, Snippet] = field(default_factory=dict)
    """Number of one of the best pages → its snippet."""
    previews: Mapping[int, Preview] = field(default_factory=dict)
    """Number of one of the best pages → its text."""
    kinds: Sequence[Kind] = ()
    """Kinds of all documents."""
    labels: Mapping[str, bool] = field(default_factory=dict)
    """URL → whether a person labelled it as relevant."""
    learns: bool = True
    """Whether the policy learns from labels."""
    snapshot: Snapshot | None = None
    since: int = 0
    """Pages fetched since that snapshot."""
    paid: LinkRates = field(default_factory=LinkRates)
    """Which links paid."""
    directories: Sequence[Directory] = ()
    hosts: Sequence[Host] = ()
    """All hosts, those with most pages first."""
    pace: str = ""
    """Which host sets the pace of a run that goes on."""
    rate: float | None = None
    """Pages a second, over the latest ones; None where nothing goes on."""
    shards: Mapping[str, Any] | None = None
    """The state of the shards of a run in shards (`Run.shard_status`)."""
    refused: Sequence[Failure] = ()
    """Links rejected by robots.txt, the filters of traps and private addresses, or limits."""
    failures: Sequence[Failure] = ()
    unreadable: Sequence[Failure] = ()
    """Each document that could not be read."""
    settings: Sequence[tuple[str, str]] = field(default_factory=list)


class Reporter:
    """Makes the report of a run repeatedly; each time it reads only new rows.

    `rows`: most that are read at once (`Sums`). Raises InputError, at once or later, if there is no
    crawl or it cannot be read.
    """

    def __init__(self, path: Path, rows: int | None = None) -> None:
        self.run = run = Run(path)
        settings = settings_of_crawl(path)
        try:
            topic = run.topic()
        except InputError:  # its file is gone
            topic = None
        names = (topic.name if topic else "", settings.topic, settings.topic_file)
        self._topic = next(filter(None, names), ", ".join(settings.want))
        self._wish = shown(run.wish())
        self._previews = Previews(run, PassCosts(spare=DOCUMENTS, in_order=False))
        costs = PassCosts(spare=DOCUMENTS, in_order=False)
        self._snippets = Snippets(run, topic, self._previews, costs)
        self._kinds = Kinds(run)
        self.sums = Sums(run, rows)
        self._paid, self._paid_at = LinkRates(), (0, 0)

    def refresh(self) -> tuple[int, ...]:
        """Read new rows; returns numbers that change with every change."""
        return self.sums.refresh()

    def report(
        self, known: Snapshot | None, *, recent: bool = False, quick: bool = False
    ) -> RunReport:
        """The report of all rows read so far, and of the last checkpoint; a `quick` one without
        what is read out of the archive."""
        run, sums, settings = self.run, self.sums, self.run.settings
        with run.at_once():
            budget, stopped, advice = run.budget(), run.noted("stopped"), run.noted("advice")
            again, urls = run.noted("refreshed"), _lines(run.noted(NEAR))[:NEAR_SHOWN]
            near = [page for url in urls if (page := run.page(url)) is not None]
            best = run.numbered(sums.best)
            latest = run.latest(RECENT) if recent else []
            if known is not None:
                known = run.still_open(known)
        rendered, requisites = render_totals(run.path), requisite_totals(run.path)
        rate = _rate_of(latest) if recent and run.is_running else None
        clocks = {} if known is None else known.hosts
        hosts = sorted(
            (_with_clock(host, clocks.get(host.name)) for host in sums.hosts.values()),
            key=lambda host: (-host.pages, host.name),
        )
        directories = sorted(sums.directories.values(), key=lambda row: (-row.pages, row.name))
        failures = sorted(sums.failures.values(), key=lambda failure: -failure.times)
        seeds, ended = few(settings.seeds), f"; ended: {stopped}" if stopped else ""
        return RunReport(
            title=f"Crawl for “{self._topic}”",
            lead=f"Policy {settings.policy}, from {seeds}{ended}",
            numbers=[
                *_numbers(sums, known, budget, rate),
                *([] if recent else _sites(run)),
                *([("rendered", f"{rendered.pages:,}")] if rendered.pages else []),
                *([] if requisites is None else [("requisites", f"{requisites.came:,}")]),
            ],
            lines={settings.policy: curve(sums.relevant)},
            budget=budget,
            wish=self._wish,
            advice=[
                *(_lines(advice) if sums.pages or run.is_running else _nothing_came(failures)),
                *_lines(again),
                *([f"rendered {rendered}"] if rendered.pages else []),
                *([] if requisites is None else [f"requisites {requisites}"]),
            ],
            left=left(sums.relevant, known),
            best=best,
            near=near,
            recent=latest,
            snippets={page.number: () if quick else self._snippets.of(page) for page in best},
            previews=self._texts(best) if not recent else {},
            kinds=() if quick else self._kinds.refresh(),
            labels=sums.labels,
            learns=policy_learns(settings.policy),
            snapshot=known,
            since=0 if known is None else max(0, sums.pages - known.pages),
            paid=LinkRates() if quick else self._link_rates(),
            directories=[row for row in directories[:DIRECTORIES] if row.pages >= MIN_PAGES],
            hosts=hosts,
            pace=_pace(known) if rate is not None else "",
            rate=rate,
            shards=run.shard_status(),
            refused=[row for row in failures if row.kind in REFUSED][:FAILURES],
            failures=[row for row in failures if row.kind not in _TOLD_APART][:FAILURES],
            unreadable=sums.unreadable,
            settings=flat(replace(settings, folder="").to_dict()),
        )

    def _link_rates(self) -> LinkRates:
        """Measured anew where much is new: it reads pages out of the archive."""
        now, (before, labels) = (self.sums.pages, len(self.sums.labels)), self._paid_at
        if now != self._paid_at and (
            now[0] >= before + max(1, before // 4) or now[1] != labels or not self.run.is_running
        ):
            self._paid_at, self._paid = now, link_rates(self.run)
        return self._paid

    def _texts(self, pages: Sequence[PageRow]) -> dict[int, Preview]:
        made = {page.number: self._previews.of(page) for page in pages}
        return {number: one for number, one in made.items() if one is not None}


def report_of(path: Path, crawl: Crawl | None = None) -> RunReport:
    """The report of a run, from its folder. `crawl`: the crawl of the run if it is over and in
    memory, with the same state as the last checkpoint."""
    reporter = Reporter(path)
    return reporter.report(reporter.run.snapshot(crawl=crawl))


def _lines(noted: str) -> list[str]:
    """The lines of a note; a run may come from a stranger."""
    with suppress(ValueError, RecursionError):
        lines = json.loads(noted[:100_000])
        if isinstance(lines, list):
            return [shown(line[:2_000]) for line in lines if isinstance(line, str)]
    return []


def _with_clock(host: Host, clock: HostClock | None) -> Host:
    return host if clock is None else replace(host, delay=clock.delay, open_links=clock.open_links)


def _rate_of(latest: Sequence[PageRow]) -> float | None:
    """Pages a second over the latest pages, newest first; None where there are too few."""
    seconds = latest[0].time - latest[-1].time if latest else 0.0
    return (len(latest) - 1) / seconds if seconds > 0 else None


def _pace(known: Snapshot | None) -> str:
    """Which host sets the pace, by the last checkpoint; empty where none does."""
    if known is None or known.open_links is None:
        return ""
    rows = ((name, host.open_links, host.delay) for name, host in known.hosts.items())
    return pace_in_words(rows, known.open_links)


def _sites(run: Run) -> list[tuple[str, str]]:
    found = seeds_found(run)
    return [] if found is None else [("sites with a page", f"{found[0]:,} of {found[1]:,}")]


def _numbers(
    sums: Sums, known: Snapshot | None, budget: int, rate: float | None
) -> list[tuple[str, str]]:
    """The figures of the summary."""
    pages, relevant = sums.pages, sum(sums.relevant)
    failed = sum(host.failed for host in sums.hosts.values())
    numbers = [
        (f"pages of {budget:,}", f"{pages:,}"),
        ("relevant", f"{relevant:,}"),
        ("harvest rate", f"{relevant / pages:.1%}" if pages else "–"),
        ("failed", f"{failed:,}"),
        ("hosts", f"{len(sums.hosts):,}"),
    ]
    if rate is not None:
        numbers.insert(1, ("pages a second", f"{rate:.1f}"))
    if known is not None:
        requests = pages + sum(failure.times for failure in sums.failures.values())
        numbers[-2:-2] = [("requests", f"{max(known.requests, requests):,}")]
        if known.open_links is not None:
            numbers.append(("open links", f"{known.open_links:,}"))
    return numbers


def _nothing_came(failures: Sequence[Failure]) -> list[str]:
    """Why no page came at all."""
    from spoor.http.failures import with_advice

    return [
        f"No seed brought a page: {one.example}: {with_advice(one.kind, one.reason)}"
        for one in failures[:3]
    ]


def left(relevant: Sequence[int], known: Snapshot | None) -> Left | None:
    """The estimate of the relevant pages that are left; None without an estimate."""
    if known is None:
        return None
    if not relevant:
        return None
    if known.open_links == 0 and len(relevant) <= known.pages:
        if waiting := known.left_out.waiting:
            links = "the link that is" if waiting == 1 else f"the {waiting:,} links that are"
            return Left(f"No link is left open but {links} held back: --traps follows them.")
        return Left("No link is left open: this crawl has come to all that its scope lets it see.")
    estimate = known.estimate(relevant)
    if estimate is None:
        return None
    lead = "Of crawls that stood like this one, 8 of 10 had their truth within these bounds."
    rest, coming, cost = estimate.left, estimate.next, estimate.cost
    numbers = [("relevant pages left", str(rest)), ("in the next hundred pages", str(coming))]
    if math.isfinite(cost.middle):
        numbers.append(("requests for each of these", f"about {cost.middle:,.0f}"))
    fetched = estimate.relevant
    return Left(lead, numbers, (fetched + rest.middle, fetched + rest.low, fetched + rest.high))


def flat(settings: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Nested settings as (dotted name, value) rows, without empty values."""
    rows: list[tuple[str, str]] = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            rows += flat(value, f"{above}{key}.")
        elif value not in ("", [], None):
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            rows.append((f"{above}{key}", text))
    return rows
