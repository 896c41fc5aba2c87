"""A run as it stood at its last checkpoint: what its policy has learned, and what it would ask for
next.

The state is loaded into a crawl of this process and that one is asked; the run is not touched.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from spoor.crawl import Crawl
from spoor.errors import CallerError, InputError, SpoorError
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.learn.state import unpack
from spoor.protocols import Explains, FallsBack, ValuesLinks
from spoor.runs import files
from spoor.runs.assemble import judge_and_topic, make_crawl
from spoor.runs.database import reading
from spoor.runs.labels import labelled_since
from spoor.runs.schema import read_settings
from spoor.runs.shards import has_begun
from spoor.settings import Settings
from spoor.types import NO_PARENT, Choice, Judgement, State
from spoor.web.traps import closed_groups

NEXT = 20
"""Links that a policy is asked for."""

_AT_LEISURE = 1e18
"""A moment so late that every host's delay is over, and any other delay adds nothing to it, s."""

Why = Sequence[tuple[str, float]]
"""Reasons in words, with their share."""


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

    at: float
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
    traps: Sequence[tuple[str, int, int]] = ()
    """(group of URLs, pages that were new, near-duplicates) of what was closed."""
    fault: str = ""
    """Of a policy that failed and was replaced."""
    missing: str = ""
    """Why there is nothing of the policy."""


def settings_of(path: Path) -> Settings:
    """The settings of a crawl. Raises InputError where there is none."""
    settings = read_settings(path)
    if settings.command != "crawl":
        raise InputError(f"{path} is no crawl; what `spoor watch` wrote is in its {files.NEWS}")
    return replace(settings, folder=os.path.join(path, settings.folder))


def crawl_of(path: Path) -> tuple[Crawl, str]:
    """The crawl of a run's settings, nothing loaded, and what its topic is called. Raises
    InputError where its topic, model or vectors are no longer to be had."""
    settings = settings_of(path)
    _, subject = judge_and_topic(settings)
    called = (subject.topic.name or subject.topic.text) if subject else ""
    return make_crawl(settings), called


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The last that a run wrote."""

    at: float
    """Unix seconds."""
    state: dict[str, Any]
    labels: Sequence[tuple[str, Judgement, Judgement]]
    """(URL, before, after) of what a person said of its pages since."""

    def load_into(self, crawl: Crawl) -> None:
        """Bring a crawl of the run's settings to this point."""
        crawl.load(self.state)
        for url, before, after in self.labels:
            with suppress(CallerError):  # a page that was found since
                crawl.relabel(url, before, after)


def last_checkpoint(path: Path) -> Checkpoint | None:
    """The last checkpoint of a run; None before the first."""
    with reading(path) as db:
        row = db.execute(
            "SELECT at, seq, state FROM checkpoints ORDER BY generation DESC LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        labels = labelled_since(db, row["seq"])
    return Checkpoint(row["at"], unpack(row["state"], source=f"{path / files.DATABASE}"), labels)


def snapshot(path: Path, *, crawl: Crawl | None = None, links: int = NEXT) -> Snapshot | None:
    """What the last checkpoint of a run says; None before the first.

    `crawl` is one of the run's settings to load the state into, whatever it has done before; None
    makes one. Whatever is wrong with a policy, model or topic is told in `missing`: a report is
    not to fail for it. Costs what opening the run costs.
    """
    shards = files.shards(path)
    if shards:
        every = [snapshot(shard, links=links) for shard in filter(has_begun, shards)]
        return _together([one for one in every if one is not None], links)
    found = last_checkpoint(path)
    if found is None:
        return None
    state, link_filter = found.state, found.state["link_filter"]
    known = Snapshot(
        found.at,
        state["counts"]["requests"],
        state["counts"]["skipped"],
        state["counts"]["pages"],
        state["counts"]["failed"],
        traps=closed_groups(link_filter["traps"]) if link_filter and link_filter["traps"] else (),
    )
    with ExitStack() as after:
        try:
            engine = crawl_of(path)[0] if crawl is None else crawl
            frontier = _frontier(path, state["frontier"], after)
            chosen: list[NextLink] = []
            if frontier is None:
                engine.policy.load(state["policy"])
            else:
                engine.frontier = frontier
                found.load_into(engine)
                known = replace(known, open_links=frontier.open_count, hosts=_clocks(frontier))
            rows = explained(engine)
            if frontier is not None:
                chosen = list(_choices(engine, frontier, links))
        except SpoorError as error:
            return replace(known, missing=str(error))
        except Exception as error:  # a plug-in's, whose state says nothing to this version of it
            what = f"{type(error).__name__}: {error}"
            return replace(known, missing=f"this Spoor cannot load its state ({what})")
    fault = engine.policy.fault() if isinstance(engine.policy, FallsBack) else ""
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
        at=min(one.at for one in every),
        requests=sum(one.requests for one in every),
        skipped=sum(one.skipped for one in every),
        pages=sum(one.pages for one in every),
        failed=sum(one.failed for one in every),
        open_links=sum(known) if len(known) == len(every) else None,
        next=turns[:links],
        hosts=hosts,
        traps=[group for one in every for group in one.traps],
    )


def _frontier(path: Path, state: State, after: ExitStack) -> MemoryFrontier | None:
    """A frontier to load this state into, with room for any number of requests to a host; None for
    one on disk while the run goes on: its file is for the crawl alone then."""
    if "digest" not in state:
        return MemoryFrontier()
    if is_running(path):
        return None
    found = SqliteFrontier(path / files.FRONTIER)
    after.callback(found.close)
    return found


def _parts(path: Path) -> Sequence[Path]:
    """The folders that hold a run's states: its own, or those of its shards that have begun."""
    return [*filter(has_begun, files.shards(path))] or [path]


def open_urls(path: Path) -> frozenset[str] | None:
    """URLs that a run knew of and had not asked for at its last checkpoint; None where nobody can
    tell, before the first one or while they lie on the disk of a crawl that goes on."""
    every: set[str] = set()
    for shard in _parts(path):
        found = last_checkpoint(shard)
        with ExitStack() as after:
            frontier = None if found is None else _frontier(shard, found.state["frontier"], after)
            if found is None or frontier is None:
                return None
            frontier.load(found.state["frontier"])
            every.update(map(frontier.url, frontier.open()))
    return frozenset(every)


def _clocks(frontier: MemoryFrontier) -> dict[str, HostClock]:
    return {name: HostClock(frontier.delay(name), count) for name, count, *_ in frontier.hosts()}


def is_running(path: Path) -> bool:
    """Whether a process holds the run, or a shard of it."""
    if any(map(is_running, files.shards(path))):
        return True
    try:
        with (path / files.LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def explained(crawl: Crawl) -> list[tuple[str, str, float]]:
    """What the policy of a crawl can say of what it has learned; nothing where it cannot."""
    return list(crawl.policy.explain()) if isinstance(crawl.policy, Explains) else []


def _choices(crawl: Crawl, frontier: MemoryFrontier, most: int) -> Iterator[NextLink]:
    """What would be chosen next if every host were free, and stayed so: only the policy has a
    say."""
    for name, *_ in frontier.hosts():
        frontier.hold(name, _AT_LEISURE)
    for _ in range(most):
        offer = frontier.offer(_AT_LEISURE)
        if not len(offer):
            return
        choice = crawl.policy.choose(offer)
        yield _told(frontier, choice)
        frontier.take(choice.link, _AT_LEISURE)


def _told(frontier: MemoryFrontier, choice: Choice) -> NextLink:
    seen = frontier.in_links(choice.link)
    anchor = next((in_link.anchor.text for in_link in seen if in_link.anchor.text), "")
    parent = seen[0].parent if seen else NO_PARENT
    page = "" if parent == NO_PARENT else frontier.url(parent)
    return NextLink(frontier.url(choice.link), anchor, page, choice.why, choice.probability)


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
    for shard in _parts(path):
        found = last_checkpoint(shard)
        if found is None:
            continue
        with ExitStack() as after:
            crawl = crawl_of(shard)[0]
            frontier = _frontier(shard, found.state["frontier"], after)
            if frontier is None:
                raise InputError(f"{path} is going on, and its open links lie on disk; wait for it")
            crawl.frontier = frontier
            found.load_into(crawl)
            link = frontier.find(url)
            if link is None or not frontier.in_links(link):
                continue
            policy = crawl.policy
            choice = policy.weigh(link) if isinstance(policy, ValuesLinks) else None
            return OpenLink(
                url,
                frontier.depth(link),
                [
                    (
                        "" if one.parent == NO_PARENT else frontier.url(one.parent),
                        one.anchor.text,
                        one.parent_score,
                    )
                    for one in frontier.in_links(link)
                ],
                () if choice is None else choice.why,
            )
    return None
