"""A run at its last checkpoint: what its policy has learned, and what it would ask for next.

The state is loaded into a crawl of this process and that one is asked; the run is not touched.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from spoor.crawl import Crawl
from spoor.errors import CallerError, InputError, SpoorError
from spoor.frontier.sqlite import SqliteFrontier
from spoor.learn.harvest_estimate import Estimate, Harvest
from spoor.protocols import BoundsSlowHosts, Explains, LiveFrontier, ValuesLinks
from spoor.runs import files
from spoor.runs.assemble import faults_of, left_out_of, make_crawl_to_look_at, make_frontier
from spoor.runs.checkpoints import read_state
from spoor.runs.database import noted, reading
from spoor.runs.events import events_of, verdicts_of
from spoor.runs.lock import is_running
from spoor.runs.recovery import telling
from spoor.runs.rows import Why
from spoor.runs.schema import read_settings
from spoor.runs.shards import each_once, has_begun
from spoor.settings import Settings
from spoor.types import NO_PARENT, NOTHING_LEFT_OUT, Choice, Judgement, LeftOut

NEXT = 20
"""Links that a policy is asked for."""

_AT_LEISURE = 1e18
"""A moment so late that every host's delay is over, and any other delay adds nothing to it, s."""

AHEAD = 4
"""Times as many links as are shown are asked for at a checkpoint: those that are fetched until the
next one give place to them."""


@dataclass(frozen=True, slots=True)
class NextLink:
    """An open link that the policy would take."""

    url: str
    anchor: str
    """Words of the link where it was seen first."""
    page: str
    """URL of the page that it was seen on first; empty for a seed."""
    why: Why
    probability: float | None
    """With which the policy takes it; None where it cannot say."""


@dataclass(frozen=True, slots=True)
class HostClock:
    """What a frontier knows of a host."""

    delay: float
    """Seconds between two requests."""
    open_links: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a checkpoint says."""

    time: float
    """Unix seconds."""
    requests: int = 0
    skipped: int = 0
    """Links that were chosen and then passed over."""
    pages: int = 0
    """Fetched by then, as are `failed` links that brought none."""
    failed: int = 0
    open_links: int | None = None
    """None where they lie on disk and the run goes on; `hosts` and `next` are empty then."""
    next: Sequence[NextLink] = ()
    learned: Mapping[str, Why] = field(default_factory=dict)
    """Group → its features with their weights, most telling first."""
    hosts: Mapping[str, HostClock] = field(default_factory=dict)
    left_out: LeftOut = NOTHING_LEFT_OUT
    """Links that were left out, and those that are held back."""
    fault: str = ""
    """Of a policy that failed and was replaced."""
    missing: str = ""
    """Why there is nothing of the policy."""

    def estimate(self, verdicts: Sequence[bool | int]) -> Estimate | None:
        """What is left, by the verdicts on all pages so far; None where nothing can be said."""
        if self.open_links is None:
            return None
        requests = max(self.requests, len(verdicts))
        return Harvest(map(bool, verdicts)).estimate(self.open_links, requests)


def settings_of(path: Path) -> Settings:
    """The settings of a run. Raises InputError where there is none."""
    settings = read_settings(path)
    return replace(settings, folder=os.path.join(path, settings.folder))


def settings_of_crawl(path: Path) -> Settings:
    """The same of a crawl. Raises InputError for a watch, too."""
    settings = settings_of(path)
    if settings.command != "crawl":
        raise InputError(f"{path} is a watch, and this is for crawls alone")
    return settings


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last that a run wrote."""

    path: Path
    """Of the run, or of one of its shards."""
    time: float
    """Unix seconds."""
    state: dict[str, Any]
    labels: Sequence[tuple[str, Judgement, Judgement]]
    """(URL, before, after) of the labels and newer verdicts of its pages since."""

    def frontier(self, after: ExitStack) -> LiveFrontier | None:
        """A frontier to load the state into, with room for any number of requests to a host; None
        for one on disk while the run goes on: its file is for the crawl alone then."""
        if "digest" not in self.state["frontier"]:
            return make_frontier(read_settings(self.path).frontier, delay=0.0, per_host=0)
        if is_running(self.path):
            return None
        on_disk = SqliteFrontier(self.path / files.FRONTIER)
        after.callback(on_disk.close)
        return on_disk

    def load_into(self, crawl: Crawl, frontier: LiveFrontier | None) -> None:
        """Bring a crawl of the run's settings to this point; its policy only where the frontier is
        not to be had."""
        if frontier is None:
            crawl.policy.load(self.state["policy"])
            return
        crawl.frontier = frontier
        crawl.load(self.state)
        for url, before, after in self.labels:
            with suppress(CallerError):  # a page that was fetched since
                crawl.relabel(url, before, after)


def last_checkpoint(path: Path) -> Checkpoint | None:
    """The last checkpoint of a run; None before the first."""
    with telling(path):
        return _last_checkpoint(path)


def _last_checkpoint(path: Path) -> Checkpoint | None:
    with reading(path, states=True) as db:
        db.execute("BEGIN")  # the crawl may delete chunks of this state meanwhile
        row = db.execute(
            "SELECT time, seq, state FROM checkpoints ORDER BY generation DESC LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        query = "SELECT events FROM journal WHERE seq > ? ORDER BY seq"
        changed = noted(db, "labels") is not None or noted(db, "revised") is not None
        rows = db.execute(query, (row["seq"],)) if changed else ()
        entries = [*each_once(path, rows)]
        state = read_state(db, row["state"], f"{path / files.DATABASE}")
    labels = [
        changed
        for (entry,) in entries
        for event in events_of(entry)
        for changed in verdicts_of(event)
    ]
    return Checkpoint(path, row["time"], state, labels)


def snapshot(path: Path, *, crawl: Crawl | None = None, links: int = NEXT) -> Snapshot | None:
    """What the last checkpoint of a run says; None before the first.

    `crawl` is one of the run's settings to load the state into, whatever it has done before; None
    makes one. Whatever is wrong with a policy, model or topic is said in `missing`: a report is
    not to fail for it. Costs what opening the run costs.
    """
    settings = settings_of_crawl(path)
    if files.shards(path):
        every = [snapshot(shard, links=links) for shard in parts(path) if shard != path]
        return _together([one for one in every if one is not None], links)
    last = last_checkpoint(path)
    if last is None:
        return None
    with telling(path):
        counts = last.state["counts"]
        known = Snapshot(
            last.time,
            int(counts["requests"]),
            int(counts["skipped"]),
            int(counts["pages"]),
            int(counts["failed"]),
        )
    with ExitStack() as after:
        try:
            engine = make_crawl_to_look_at(settings) if crawl is None else crawl
            frontier = last.frontier(after)
            last.load_into(engine, frontier)
            if frontier is not None:
                known = replace(known, open_links=frontier.open_count, hosts=_clocks(frontier))
                known = replace(known, left_out=left_out_of(engine))
            rows = explained(engine)
            chosen = [] if frontier is None else list(_choices(engine, frontier, links))
        except SpoorError as error:
            return replace(known, missing=str(error))
        except Exception as error:  # a plug-in's, whose state says nothing to this version of it
            reason = f"{type(error).__name__}: {error}"
            return replace(known, missing=f"this Spoor cannot load its state ({reason})")
    fault = faults_of(engine)
    groups = {
        name: [(feature, weight) for _, feature, weight in group]
        for name, group in groupby(rows, key=lambda row: row[0])
    }
    return replace(known, next=chosen, learned=groups, fault=fault)


def _together(every: Sequence[Snapshot], links: int) -> Snapshot | None:
    """What the shards of a run say, as one; what was learned is that of the busiest."""
    if not every:
        return None
    busiest = max(every, key=lambda one: one.requests)
    hosts: dict[str, HostClock] = {}
    for one in every:
        for name, clock in one.hosts.items():
            # Each host is one shard's; the others have heard of it at most.
            if name not in hosts or clock.open_links > hosts[name].open_links:
                hosts[name] = clock
    turns = [link for turn in zip_longest(*(one.next for one in every)) for link in turn if link]
    known = [one.open_links for one in every if one.open_links is not None]
    return replace(
        busiest,
        time=min(one.time for one in every),
        requests=sum(one.requests for one in every),
        skipped=sum(one.skipped for one in every),
        pages=sum(one.pages for one in every),
        failed=sum(one.failed for one in every),
        open_links=sum(known) if len(known) == len(every) else None,
        next=turns[:links],
        hosts=hosts,
        left_out=LeftOut.of(*(one.left_out.as_json() for one in every)),
    )


def why_not(path: Path, url: str) -> str:
    """Why a run would not ask for a canonical URL, by its last checkpoint; empty where nothing
    speaks against it."""
    for part in parts(path):
        last = last_checkpoint(part)
        if last is not None:
            with telling(part):
                crawl = make_crawl_to_look_at(settings_of_crawl(part))
                assert crawl.link_filter is not None
                crawl.link_filter.load(last.state["link_filter"])
                if why := crawl.link_filter.explained(url):
                    return why
    return ""


def parts(path: Path) -> Sequence[Path]:
    """The folders that hold a run's states: its own, or those of its shards that have begun."""
    return [*filter(has_begun, files.shards(path))] or [path]


def open_urls(path: Path) -> frozenset[str] | None:
    """URLs that a run knew of and had not asked for at its last checkpoint; None where nobody can
    tell, before the first one or while they lie on the disk of a crawl that goes on."""
    every: set[str] = set()

    def take(frontier: LiveFrontier) -> None:
        every.update(map(frontier.url, frontier.open()))

    return frozenset(every) if _each_frontier(path, take) else None


def open_links_by_host(path: Path) -> Mapping[str, int] | None:
    """Host → links that a run had not asked for at its last checkpoint; None where nobody can tell,
    as for `open_urls`. O(links)."""
    every = Counter[str]()

    def take(frontier: LiveFrontier) -> None:
        every.update({name: count for name, count, *_ in frontier.hosts() if count})

    return every if _each_frontier(path, take) else None


def _each_frontier(path: Path, take: Callable[[LiveFrontier], None]) -> bool:
    """Call `take` with the frontier of each of the folders of a run, as at its last checkpoint;
    whether all can be told."""
    settings_of_crawl(path)
    for part in parts(path):
        last = last_checkpoint(part)
        with telling(part), ExitStack() as after:
            frontier = None if last is None else last.frontier(after)
            if last is None or frontier is None:
                return False
            frontier.load(last.state["frontier"])
            take(frontier)
    return True


def _clocks(frontier: LiveFrontier) -> dict[str, HostClock]:
    return {name: HostClock(frontier.delay(name), count) for name, count, *_ in frontier.hosts()}


def explained(crawl: Crawl) -> list[tuple[str, str, float]]:
    """What the policy of a crawl can say of what it has learned; nothing where it cannot."""
    return list(crawl.policy.explain()) if isinstance(crawl.policy, Explains) else []


def _choices(crawl: Crawl, frontier: LiveFrontier, most: int) -> Iterator[NextLink]:
    """What would be chosen next if every host were free, and stayed so: only the policy has a
    say."""
    if isinstance(frontier, BoundsSlowHosts):
        # At that moment every request in flight is late.
        frontier.bound_slow_hosts(0)
    for name, *_ in frontier.hosts():
        frontier.hold(name, _AT_LEISURE)
    for _ in range(most):
        offer = frontier.offer(_AT_LEISURE)
        if not len(offer):
            return
        choice = crawl.policy.choose(offer)
        yield _next_link(frontier, choice)
        frontier.take(choice.link, _AT_LEISURE)


def _next_link(frontier: LiveFrontier, choice: Choice) -> NextLink:
    in_links = frontier.in_links(choice.link)
    anchor = next((in_link.anchor.text for in_link in in_links if in_link.anchor.text), "")
    page = _page_of(frontier, in_links[0].parent) if in_links else ""
    return NextLink(frontier.url(choice.link), anchor, page, choice.why, choice.probability)


def _page_of(frontier: LiveFrontier, parent: int) -> str:
    """URL of the page that a link was seen on; empty for a seed."""
    return "" if parent == NO_PARENT else frontier.url(parent)


@dataclass(frozen=True, slots=True)
class OpenLink:
    """A link of a run that nobody has asked for yet."""

    url: str
    depth: int
    """Links from a seed."""
    seen: Sequence[tuple[str, str, float]]
    """Page that it was seen on (empty for a seed), words of the link, score of that page."""
    why: Why
    """What it is worth to the policy; empty where that cannot say."""


def open_link(path: Path, url: str) -> OpenLink | None:
    """An open link as it stood at the last checkpoint of a run; None where it is not one."""
    for part in parts(path):
        last = last_checkpoint(part)
        if last is None:
            continue
        with telling(part), ExitStack() as after:
            crawl = make_crawl_to_look_at(settings_of_crawl(part))
            frontier = last.frontier(after)
            if frontier is None:
                raise InputError(f"{path} is going on, and its open links lie on disk; wait for it")
            last.load_into(crawl, frontier)
            link = frontier.find(url)
            if link is None or not (in_links := frontier.in_links(link)):
                continue
            policy = crawl.policy
            choice = policy.weigh(link) if isinstance(policy, ValuesLinks) else None
            return OpenLink(
                url,
                frontier.depth(link),
                [
                    (_page_of(frontier, one.parent), one.anchor.text, one.parent_score)
                    for one in in_links
                ],
                () if choice is None else choice.why,
            )
    return None
