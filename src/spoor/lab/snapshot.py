"""A run as it stood at its last checkpoint: what its policy has learned, and what it would ask for
next.

The state is loaded into a crawl of this process and that one is asked; the run is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from spoor.crawl import Crawl
from spoor.drivers.http.folder import read_settings, reading
from spoor.drivers.http.labels import labelled_since
from spoor.drivers.http.run import make_crawl, wanted
from spoor.drivers.http.standby import Standby
from spoor.errors import CallerError, InputError, SpoorError
from spoor.learn.state import unpack
from spoor.protocols import Explains
from spoor.stores.memory import MemoryFrontier
from spoor.traps import closed_groups
from spoor.types import Judgement, LinkId, State

NEXT = 20
"""Links that a policy is asked for."""

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
    open_links: int = 0
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


def settings_of(path: Path) -> dict[str, Any]:
    """The settings of a crawl. Raises InputError where there is none."""
    told = read_settings(path)
    if "topic" not in told.get("crawl", {}):
        raise InputError(f"{path} is no crawl; what `spoor watch` wrote is in its news.jsonl")
    return told


def crawl_of(path: Path) -> tuple[Crawl, str]:
    """The crawl of a run's settings, nothing loaded, and the words of its topic. Raises InputError
    where its topic, model or vectors are no longer to be had."""
    told = settings_of(path)
    topic = told["crawl"]["topic"] or None
    file = told["crawl"]["topic_file"]
    judge, subject = wanted(topic, Path(file) if file else None, told["crawl"]["want"])
    return make_crawl(told, judge, subject), subject.topic.text if subject else ""


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
    return Checkpoint(row["at"], unpack(row["state"], source=f"{path / 'state.db'}"), labels)


def snapshot(path: Path, *, crawl: Crawl | None = None, links: int = NEXT) -> Snapshot | None:
    """What the last checkpoint of a run says; None before the first.

    `crawl` is one of the run's settings to load the state into, whatever it has done before; None
    makes one. Whatever is wrong with a policy, model or topic is told in `missing`: a report is
    not to fail for it. Costs what opening the run costs.
    """
    found = last_checkpoint(path)
    if found is None:
        return None
    state = found.state
    counts, guard = state["counts"], state["guard"]
    frontier = state["frontier"]
    known = Snapshot(
        found.at,
        counts["requests"],
        counts["skipped"],
        len(frontier["open"]),
        hosts={
            row[0]: HostClock(row[1], len(open_links))
            for row, open_links in zip(frontier["hosts"], frontier["host_open"], strict=True)
        },
        traps=closed_groups(guard["traps"]) if guard and guard["traps"] else (),
    )
    try:
        engine = crawl_of(path)[0] if crawl is None else crawl
        engine.frontier = MemoryFrontier()
        free = {**state, "frontier": at_leisure(frontier)}
        replace(found, state=free).load_into(engine)
        rows = explained(engine)
        chosen = list(_choices(engine, links))
        fault = next((p.fault for p in _policies(engine) if isinstance(p, Standby)), "")
    except SpoorError as error:
        return replace(known, missing=str(error))
    except Exception as error:  # a plug-in's, whose state says nothing to this version of it
        return replace(known, missing=f"{type(error).__name__}: {error}")
    groups = {
        name: [(feature, weight) for _, feature, weight in group]
        for name, group in groupby(rows, key=lambda row: row[0])
    }
    return replace(known, next=chosen, learned=groups, fault=fault)


def at_leisure(frontier: Mapping[str, Any]) -> State:
    """A saved frontier whose hosts are all free, and stay so: what would be chosen if only the
    policy had a say."""
    hosts = [[name, 0.0, 0, None] for name, *_ in frontier["hosts"]]
    ready = [row[0] for row, links in zip(hosts, frontier["host_open"], strict=True) if links]
    return {**frontier, "hosts": hosts, "ready": ready, "later": [], "due": []}


def explained(crawl: Crawl) -> list[tuple[str, str, float]]:
    """What the policy of a crawl can say of what it has learned; nothing where it cannot."""
    for policy in _policies(crawl):
        if isinstance(policy, Explains) and not isinstance(policy, Standby):
            return list(policy.explain())
    return []


def _policies(crawl: Crawl) -> Iterator[Any]:
    """The policy of a crawl, and those that it holds."""
    policy: Any = crawl.policy
    while policy is not None:
        yield policy
        policy = getattr(policy, "policy", None)


def _choices(crawl: Crawl, most: int) -> Iterator[NextLink]:
    frontier = crawl.frontier
    for _ in range(most):
        offer = frontier.offer(0.0)
        if not len(offer):
            return
        choice = crawl.policy.choose(offer)
        yield _told(crawl, choice.link, choice.why, choice.probability)
        frontier.take(choice.link, 0.0)


def _told(crawl: Crawl, link: LinkId, why: Why, probability: float | None) -> NextLink:
    frontier = crawl.frontier
    seen = frontier.sightings(link)
    anchor = next((sighting.anchor.text for sighting in seen if sighting.anchor.text), "")
    parent = seen[0].parent if seen else -1
    page = frontier.url(parent) if parent >= 0 else ""
    return NextLink(frontier.url(link), anchor, page, why, probability)
