"""Whether a change of the code left every crawl as it was: replays whose digests are kept.

    .venv/bin/python benchmarks/frozen_replays.py record [--only POLICY_OR_WEB ...]
    .venv/bin/python benchmarks/frozen_replays.py check [--only POLICY_OR_WEB ...] [--jobs 2]

`record` runs every policy of the registry, the modes that policies have, fleets of foragers and
crawls in shards on several webs, 300 pages each (fleets 2,000), and writes digests to
frozen_replays.json beside this file: of the order of what was fetched, of the probabilities and
reasons of the choices, and of the state at the end. `check` runs all of it again and says what
differs; it ends with 1 where anything does. Other processes, and other replays before it, change no
digest, so `--only` says the same of some, and records them anew in the file. All of it takes ten
minutes of one core at most, in which the webs are imported too (SPOOR_DATA names the folder of the
recorded ones); with `--webs FOLDER` they are kept for the next time.

Not all of the numbers are the same on every machine, nor with every NumPy: record with the code as
it was before, and check on the same machine. A key of a state that has a new name goes into
RENAMED, one that is no more into GONE; a number of a format (`format`) is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

# All that this program needs of Spoor stands here, after the number of threads is set.
# ruff: noqa: E402
import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.judges.spec import judge_of
from spoor.judges.topic import topic_of
from spoor.lab.experiment import WebSpec, data_folder
from spoor.lab.kinds.fleets import Remembered, background
from spoor.lab.webs import web_folder
from spoor.learn.state import pack, unpack
from spoor.process_memory import few_collections
from spoor.sharding.coordinator import Coordinator
from spoor.sharding.outbox import Outbox
from spoor.simulation.crawls import CrawlSetup, PreparedWeb, prepare
from spoor.simulation.fleets import simulate_fleet
from spoor.simulation.replay import Replay
from spoor.simulation.shards import LocalCrawl, LocalShard, division, split_crawl
from spoor.simulation.training import known_webs, train
from spoor.types import Deferred, Failed, Outcome, State, Task, Topic
from spoor.web.text import Vectors
from spoor.worlds.folders import open_web
from spoor.worlds.import_evolving import make as evolving_web

RENAMED: Mapping[str, str] = {
    "outbox": "post",
    "link_filter": "guard",
    "in_links": "sightings",
    "precision": "hold",
    "weighted_mean": "pull",
    "dense_precision": "dense_hold",
    "dense_weighted_mean": "dense_pull",
    "received": "told",
    "pending": "told",
    "pairs_of": "stands_in",
    "announced": "told",
    "outbox.number": "me",
}
"""Key of a state as it is now, behind the key that holds it where others have the same one → as it
was when the file was written."""

GONE: Mapping[str, object] = {"stopped": None}
"""Keys that the state of a crawl or fleet no longer has, with what they held when the file was
written."""

FILE = Path(__file__).with_suffix(".json")
PAGES = 300
FLEET_PAGES = 2_000
"""Fewer, and foragers have hardly learned anything."""
MARK = 5
"""Pages between two marks, by which the place of a difference is found."""
SHARDS = 3
SIXTY_FOUR = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

# ---------------------------------------------------------------- what is replayed


@dataclass(frozen=True, slots=True)
class Web:
    """A web, where a crawl of it begins, and what is wanted there."""

    name: str
    spec: WebSpec
    targets: tuple[str, ...]
    topic: str
    site: str = ""
    school: WebSpec | None = None
    """What models for it are trained on; None: nothing is trained for it."""
    absent: bool = False
    scope: str = "site"
    delay: float = 0.0
    """Of a host, in the replays with several fetches in flight."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy in one of its modes."""

    policy: str
    mode: str = ""
    """Empty: the plain one, which is replayed on every web."""
    params: Mapping[str, Any] = field(default_factory=dict)
    training: Mapping[str, Any] | None = None
    """Parameters of its training; None: it has no model."""
    topic: bool = True
    """Whether it is told the words of the topic."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One replay. `how`: `memory` or `sqlite` (the frontier), `resumed` (saved half-way, and gone
    on with by another crawl), `shards` or `fleet`."""

    web: str
    policy: str
    mode: str
    how: str
    seed: int

    @property
    def name(self) -> str:
        policy = f"{self.policy} ({self.mode})" if self.mode else self.policy
        return f"{self.web} / {policy} / {self.how} / {self.seed}"


_WEBKB = WebSpec("webkb", sources=("webkb/pages.jsonl.zst",))
_WISCONSIN = replace(_WEBKB, sites=("wisconsin",))
_GREEK = WebSpec("greek", company={"table": "greek", "seed": 0})
_VECTORS = "word_vectors/minilm_static.npz"
_WIKI = WebSpec("wikispeedia", sources=("wikispeedia/pages.jsonl.zst",), vectors=_VECTORS)
_UCI = WebSpec("uci-ics", sources=("uci-ics/links.jsonl.zst",), vectors=_VECTORS)
_TELLING = WebSpec("telling", generated={"pages": 3000, "seed": 11})
_TRAPS = WebSpec(
    "traps",
    generated={
        "pages": 2000,
        "seed": 12,
        "anchor_noise": 0.9,
        "traps": ["calendar", "session", "facets"],
    },
)
_OTHER = WebSpec("other", generated={"pages": 400, "seed": 21})
_POTTERY = "pottery, kiln, glaze"

WEBS = (
    Web("cornell", _WEBKB, ("label:faculty",), "faculty", "cornell", _WISCONSIN),
    Web("texas", _WEBKB, ("label:course",), "course", "texas", _WISCONSIN, absent=True),
    Web("washington", _WEBKB, ("label:student",), "student", "washington", _WISCONSIN),
    Web("wikispeedia", _WIKI, (r"match:\bcancer",), "cancer"),
    Web("uci-ics", _UCI, ("text:learning",), "learning"),
    Web("telling", _TELLING, ("label:pottery",), _POTTERY, school=_OTHER, delay=1.0),
    Web("traps", _TRAPS, ("query:pottery kiln",), _POTTERY, school=_OTHER, scope="web", delay=0.5),
    Web(
        "intracom",
        _GREEK,
        ("label:job-advert",),
        "job advert, careers",
        "intracom",
        replace(_GREEK, sites=("forthnet",)),
    ),
)
MODES_ON = ("cornell", "telling")
"""Webs on which modes are replayed, too."""

_ASYNCHRONOUS = {"update": "asynchronous"}
_SYNCHRONOUS = {"update": "synchronous"}
_SMALL = {"episodes": 40, "keywords": 200}

CONTENDERS = (
    Contender("best-first"),
    Contender("best-first", "wide context", {"context": 20}),
    Contender("best-n-first"),
    Contender("best-n-first", "n = 8", {"n": 8}),
    Contender("breadth-first"),
    Contender("context-graph", training={}),
    Contender("context-graph", "threshold", {"threshold": 0.5}, {"layers": 3, "words": 20}),
    Contender("depth-first"),
    Contender("fish-search"),
    Contender("fish-search", "narrow", {"width": 3, "depth": 2}),
    Contender("host-bandit"),
    Contender("intelligent-crawling"),
    Contender("intelligent-crawling", "content only", {"url": 0.0, "link": 0.0, "sibling": 0.0}),
    Contender("naive-bayes", training={}),
    Contender("naive-bayes", "mean, no topic", {"join": "mean"}, {}, topic=False),
    Contender("naive-bayes", "immediate", {}, {"mode": "immediate", "neighbourhood": "full-page"}),
    Contender("naive-bayes", "shrinkage", {"join": "last"}, {"bins": 4, "smoothing": "shrinkage"}),
    Contender("naive-bayes", "complement", {}, {"smoothing": "complement"}),
    Contender("naive-bayes", "clusters", {}, {"classes": "clusters", "bins": 8}),
    Contender("online-svm", params={"every": 100}),
    Contender("online-svm", "mended", {"mended": True, "drop": False, "every": 50}),
    Contender("oracle"),
    Contender("pagerank"),
    Contender("parent-quality"),
    Contender("parent-quality", "mean", {"join": "mean"}),
    Contender("parent-quality", "first", {"join": "first"}),
    Contender("q-learning"),
    Contender("random"),
    Contender("sarsa", params=_ASYNCHRONOUS),
    Contender("sarsa", "synchronous", _SYNCHRONOUS),
    Contender("sarsa", "moderated", {"update": "moderated"}),
    Contender("sarsa", "index", {**_SYNCHRONOUS, "encoding": "index"}),
    Contender(
        "sarsa", "nearest", {**_ASYNCHRONOUS, "within": "nearest", "prior": 30.0, "halving": 100}
    ),
    Contender("sarsa", "no topic", _ASYNCHRONOUS, topic=False),
    Contender("sarsa", "trained", _ASYNCHRONOUS, {**_ASYNCHRONOUS, "episodes": 2, "pages": 80}),
    Contender("shark-search"),
    Contender("tag-path-bandit"),
    Contender("td-lambda", training=_SMALL),
    Contender("td-lambda", "look-ahead", {"scoring": "look-ahead"}, _SMALL),
    Contender("td-lambda", "reward added", {"scoring": "look-ahead", "add_reward": True}, _SMALL),
    Contender(
        "td-lambda", "links", {"links": 0.5}, {**_SMALL, "links": "naive-bayes", "through": True}
    ),
    Contender("trail"),
    Contender("trail", "no topic", topic=False),
    Contender("trail", "trained", training={}),
    Contender("trail", "trained, no topic", {}, {}, topic=False),
    Contender("trail", "one sighting", {"in_links": 1, "capacity": 2000}),
    Contender("trail", "no credit", {"credit": False, "guard": False, "optimism": 0.0}),
    Contender("tres", params={"warm": 40}),
    Contender("url-keywords"),
)
ON_DISK = ("breadth-first", "best-first", "online-svm", "sarsa", "td-lambda", "trail")
"""Policies that are replayed with a frontier on disk, on the webs of the modes."""
RESUMED_ON = "telling"
SPLIT_ON = "telling"
SPLIT = ("best-first", "breadth-first", "naive-bayes", "online-svm", "sarsa", "trail")
"""Policies that are replayed in shards; what needs a model has none there."""

_NEWS = {"days": 0.5, "articles_a_day": 120.0, "backlog_days": 6.0, "sections": 6}
EVOLVING: Mapping[str, dict[str, Any]] = {
    "news": {"news": {**_NEWS, "seed": 3}},
    "news rewired": {"news": {**_NEWS, "navigation": False}, "rewired": 5},
}
FLEETS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("RL", "", {"slice_seconds": 60.0}),
    ("WL", "", {"slice_seconds": 60.0}),
    ("WLRL", "", {}),
    ("WLRL", "version", {"identity": "version", "slice_seconds": 60.0, "max_foragers": 4}),
    ("change-rate", "", {"batch": 40}),
    ("mixed", "", {"slice_seconds": 60.0}),
    ("round-robin", "", {"abreast": 3}),
)


def plan() -> list[Planned]:
    """All of them, those of one web together."""
    for kind, have in (
        ("policies", {contender.policy for contender in CONTENDERS}),
        ("fleets", {fleet for fleet, _, _ in FLEETS}),
    ):
        if missing := sorted(registry.BUILT_IN[kind].keys() - have):
            raise SystemExit(f"{kind} that are not replayed: {', '.join(missing)}")
    found = [planned for web in WEBS for planned in _crawls(web)]
    for name in EVOLVING:
        found += [Planned(name, *fleet[:2], "fleet", seed) for fleet in FLEETS for seed in (0, 1)]
    return found


def _crawls(web: Web) -> Iterator[Planned]:
    for contender in CONTENDERS:
        policy, mode = contender.policy, contender.mode
        if contender.training is not None and web.school is None:
            continue
        if mode and web.name not in MODES_ON:
            continue
        for seed in (0, 1):
            yield Planned(web.name, policy, mode, "memory", seed)
        if not mode and web.name in MODES_ON and policy in ON_DISK:
            yield Planned(web.name, policy, mode, "sqlite", 1)
        if web.name == RESUMED_ON and (not mode or mode in ("trained", "look-ahead")):
            yield Planned(web.name, policy, mode, "resumed", 1)
        if web.name == SPLIT_ON and not mode and policy in SPLIT and contender.training is None:
            for seed in (0, 1):
                yield Planned(web.name, policy, mode, "shards", seed)


# ---------------------------------------------------------------- one replay


@dataclass(slots=True)
class Seen:
    """What one replay did."""

    order: list[str] = field(default_factory=list)
    probabilities: list[float | None] = field(default_factory=list)
    reasons: list[Sequence[tuple[str, float]]] = field(default_factory=list)
    state: State = field(default_factory=dict)

    def add(self, url: str, outcome: Outcome) -> None:
        reply = outcome.reply
        self.order.append(f"{url} {reply.kind}" if isinstance(reply, Failed) else url)
        self.probabilities.append(outcome.choice.probability)
        # The last bits of sums over vectors depend on where the machine keeps them.
        self.reasons.append([(name, float(f"{share:.6g}")) for name, share in outcome.choice.why])


class Webs:
    """The webs of one process, each opened once, and the models that were trained for them."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = folders
        self._models: dict[str, State] = {}
        self.ground = cache(self._ground)

    def cell(self, web: Web) -> CrawlSetup:
        """What is the same in all replays of a web."""
        folder = self._folders[web.spec.name]
        return CrawlSetup(
            str(folder),
            web.targets,
            "breadth-first",
            root=open_web(folder, site=web.site or None).roots()[0],
            topic=topic_of(web.topic).topic,
            scope=web.scope,
            absent=web.absent,
        )

    def _ground(self, web: str) -> PreparedWeb:
        return prepare(self.cell(_web(web)))

    def model(self, web: Web, contender: Contender) -> State | None:
        """Trained as `spoor train` does, on the school of its web; None without a training."""
        if contender.training is None or web.school is None:
            return None
        key = json.dumps([web.name, contender.policy, contender.training, contender.topic])
        if key not in self._models:
            school = web.school
            known = known_webs([self._folders[school.name]], web.targets, only=school.sites)
            self._models[key] = train(
                contender.policy,
                [replace(site, name="school") for site in known],
                web.targets,
                topic=topic_of(web.topic).topic if contender.topic else Topic(),
                params=contender.training,
            )
        return self._models[key]


def _web(name: str) -> Web:
    return next(web for web in WEBS if web.name == name)


@cache
def _vectors(path: str) -> Vectors:
    vectors = Vectors.read(str(data_folder() / path))
    vectors.source = f"word vectors/{path}"  # reasons name it, and the folder has other names
    return vectors


def task_of(planned: Planned, contender: Contender, webs: Webs, rng: np.random.Generator) -> Task:
    web = _web(planned.web)
    lab_only = planned.policy in registry.LAB_ONLY
    return Task(
        rng,
        topic_of(web.topic).topic if contender.topic else Topic(),
        model=webs.model(web, contender),
        graph=webs.ground(web.name).graph if lab_only else None,
        vectors=_vectors(web.spec.vectors) if web.spec.vectors else None,
    )


def replayed(planned: Planned, webs: Webs) -> Seen:
    """A crawl; that of seed 1 has four fetches in flight, and hosts that are to be left alone."""
    web, ground = _web(planned.web), webs.ground(planned.web)
    contender = _contender(planned)
    abreast = 4 if planned.seed else 1
    delay = web.delay if planned.seed else 0.0
    seen, place = Seen(), tempfile.TemporaryDirectory()

    def new() -> Crawl:
        rng = np.random.default_rng(planned.seed)
        task = task_of(planned, contender, webs, rng)
        policy = registry.build("policies", planned.policy, task, settings=contender.params)
        told = {"delay": delay, "per_host": 1 if delay else 0}
        fixed = (Path(place.name) / "frontier",) if planned.how == "sqlite" else ()
        kind = "sqlite" if planned.how == "sqlite" else "memory"
        frontier = registry.build("frontiers", kind, *fixed, settings=told)
        return Crawl(policy, judge_of(web.targets), frontier, pages=PAGES)

    with place:
        crawl = new()
        crawl.seed([ground.root])
        steps = Replay(crawl, ground.world, in_flight=abreast)
        for outcome in steps:
            seen.add(crawl.frontier.url(outcome.choice.link), outcome)
            if planned.how == "resumed" and len(seen.order) == PAGES // 2:
                break
        if planned.how == "resumed":
            state = unpack(pack(crawl.save()))
            crawl = new()
            crawl.load(state)
            flying = steps.flying
            steps = Replay(crawl, ground.world, in_flight=abreast, start=steps.now, flying=flying)
            for outcome in steps:
                seen.add(crawl.frontier.url(outcome.choice.link), outcome)
        seen.state = {**crawl.save(), **GONE}
        if isinstance(crawl.frontier, SqliteFrontier):
            crawl.frontier.close()
    return seen


def _contender(planned: Planned) -> Contender:
    wanted = (planned.policy, planned.mode)
    return next(one for one in CONTENDERS if (one.policy, one.mode) == wanted)


def in_shards(planned: Planned, webs: Webs) -> Seen:
    """A crawl in shards of one process, which share what they learned twice."""
    web, ground = _web(planned.web), webs.ground(planned.web)
    contender, seen = _contender(planned), Seen()

    def make(outbox: Outbox) -> Crawl:
        rng = np.random.default_rng([planned.seed, outbox.number])
        task = task_of(planned, contender, webs, rng)
        policy = registry.build("policies", planned.policy, task, settings=contender.params)
        return split_crawl(policy, judge_of(web.targets), MemoryFrontier(), outbox, [ground.root])

    owner = division("host", planned.seed)
    outboxes = [Outbox(at, SHARDS, owner=owner) for at in range(SHARDS)]
    members = [LocalShard(outbox, make, ground.world) for outbox in outboxes]

    def note(shard: int, outcome: Outcome) -> None:
        seen.add(members[shard].crawl.frontier.url(outcome.choice.link), outcome)

    LocalCrawl(members, Coordinator(SHARDS, PAGES, merge_pages=60), 4, note).run()
    seen.state = {f"shard {at}": {**shard.crawl.save(), **GONE} for at, shard in enumerate(members)}
    return seen


@cache
def _evolving(name: str) -> tuple[Any, Remembered]:
    world = evolving_web(dict(EVOLVING[name]), data_folder())
    return world, Remembered(background(world))


def foraged(planned: Planned, webs: Webs) -> Seen:
    """A fleet on an evolving web."""
    world, describe = _evolving(planned.web)
    world.rewind()
    seen, told = Seen(), {(fleet, mode): settings for fleet, mode, settings in FLEETS}
    task = FleetTask(world.roots(), describe, np.random.default_rng(planned.seed))
    settings = told[planned.policy, planned.mode]
    fleet: Fleet = registry.build("fleets", planned.policy, task, settings=settings)

    def note(outcome: Outcome | Deferred, now: float) -> None:
        if isinstance(outcome, Outcome):
            seen.add(fleet.known.urls[outcome.choice.link], outcome)
            if len(seen.order) >= FLEET_PAGES:
                raise StopIteration

    with suppress(StopIteration):
        simulate_fleet(fleet, world, on_step=note)
    seen.state = {**fleet.save(), **GONE}
    return seen


RUN: Mapping[str, Callable[[Planned, Webs], Seen]] = {
    "memory": replayed,
    "sqlite": replayed,
    "resumed": replayed,
    "shards": in_shards,
    "fleet": foraged,
}

# ---------------------------------------------------------------- digests

Digests = dict[str, Any]
"""Part → digest, `marks` (part → one letter every MARK pages) and `keys` (key → digest)."""


def plain(value: Any, parent: str = "") -> Any:
    """As JSON values, arrays by their digests, keys by the names that they had; `parent` is the key
    whose value it is."""
    if isinstance(value, np.ndarray):
        content = hashlib.sha256(value.tobytes()).hexdigest()
        return {"array": [value.dtype.str, list(value.shape), content]}
    if isinstance(value, Mapping):
        kept = {str(key): item for key, item in value.items() if key != "format"}
        names = {key: RENAMED.get(f"{parent}.{key}", RENAMED.get(key, key)) for key in kept}
        if len(set(names.values())) < len(kept):
            raise ValueError(f"RENAMED makes two keys one: {', '.join(sorted(kept))}")
        return {names[key]: plain(item, key) for key, item in kept.items()}
    if isinstance(value, list | tuple):
        return [plain(item, parent) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def digest(value: Any) -> str:
    """Of what `plain` made: a quarter of its SHA-256."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("utf-8")).hexdigest()[:16]


def marks(rows: Sequence[Any]) -> str:
    """A letter for every MARK rows and all before them, and one for the end."""
    told, letters = hashlib.sha256(), []
    for at, row in enumerate(rows, 1):
        told.update(json.dumps(row).encode("utf-8") + b"\n")
        if at % MARK == 0 or at == len(rows):
            letters.append(SIXTY_FOUR[told.digest()[0] % 64])
    return "".join(letters)


def digests(seen: Seen) -> Digests:
    state = plain(seen.state)
    keys = {key: digest(item)[:8] for key, item in state.items()}
    for outer in ("policy", "crew", *(f"shard {at}" for at in range(SHARDS))):
        if isinstance(state.get(outer), Mapping):
            keys |= {f"{outer}.{key}": digest(item)[:8] for key, item in state[outer].items()}
    rows = {
        "order": plain(seen.order),
        "probabilities": plain(seen.probabilities),
        "reasons": plain(seen.reasons),
    }
    return {
        **{part: digest(told) for part, told in rows.items()},
        "state": digest(state),
        "marks": {part: marks(told) for part, told in rows.items() if part != "reasons"},
        "keys": keys,
    }


def differences(before: Digests, after: Digests) -> Iterator[str]:
    """What differs, one line a part."""
    if "raised" in after:
        yield f"raised {after['raised']}"
        return
    for part in ("order", "probabilities", "reasons"):
        if before[part] != after[part]:
            yield part + _where(before["marks"].get(part, ""), after["marks"].get(part, ""))
    if before["state"] != after["state"]:
        old, new = before["keys"], after["keys"]
        said = [
            key if key in old and key in new else f"{key} ({'gone' if key in old else 'new'})"
            for key in sorted(old.keys() | new.keys())
            if old.get(key) != new.get(key)
        ]
        yield f"state: {', '.join(said)}"


def _where(before: str, after: str) -> str:
    for at, (old, new) in enumerate(zip(before, after, strict=False)):
        if old != new:
            return f": first in fetches {at * MARK + 1} to {at * MARK + MARK}"
    same = min(len(before), len(after)) * MARK
    return f": from fetch {same + 1} on" if len(before) != len(after) else ""


# ---------------------------------------------------------------- all of them


def work(group: Sequence[Planned], folders: Mapping[str, Path]) -> dict[str, Digests]:
    """The replays of one web."""
    webs, began, found = Webs(folders), time.process_time(), {}
    with few_collections():
        for planned in group:
            try:
                found[planned.name] = digests(RUN[planned.how](planned, webs))
            except Exception as error:
                found[planned.name] = {"raised": f"{type(error).__name__}: {error}"}
    seconds = time.process_time() - began
    print(f"{group[0].web}: {len(group)} replays, {seconds:.1f} s of CPU", flush=True)
    return found


def run(chosen: Sequence[Planned], out: Path, jobs: int) -> dict[str, Digests]:
    """All that are chosen, in the order of the plan."""
    groups: dict[str, list[Planned]] = {}
    for planned in chosen:
        groups.setdefault(planned.web, []).append(planned)
    folders: dict[str, Path] = {}
    for web in WEBS:
        for spec in (web.spec, web.school):
            if web.name in groups and spec is not None and spec.name not in folders:
                print(f"web {spec.name}", flush=True)
                folders[spec.name] = web_folder(replace(spec, sites=()), out)
    found: dict[str, Digests] = {}
    if jobs == 1:
        for group in groups.values():
            found |= work(group, folders)
        return found
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        # The largest first, so that no process ends long before the others.
        largest = sorted(groups.values(), key=len, reverse=True)
        for done in [pool.submit(work, group, folders) for group in largest]:
            found |= done.result()
    return {planned.name: found[planned.name] for planned in chosen}


def made_with() -> dict[str, str]:
    """What the digests may depend on, besides the code."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }


def write(found: Mapping[str, Digests]) -> None:
    """One line a replay; the keys of states, which many have in common, stand in a table."""
    tables: list[list[str]] = []
    lines = []
    for replay, told in found.items():
        names = list(told["keys"])
        if names not in tables:
            tables.append(names)
        row = {**told, "keys": [tables.index(names), "".join(told["keys"].values())]}
        lines.append(f"{json.dumps(replay)}: {json.dumps(row, separators=(',', ':'))}")
    head = f'"made with": {json.dumps(made_with())},\n"keys": {json.dumps(tables)}'
    body = ",\n".join(lines)
    FILE.write_text(f'{{{head},\n"replays": {{\n{body}\n}}}}\n', encoding="utf-8")


def read() -> tuple[dict[str, str], dict[str, Digests]]:
    """What the file was made with, and the digests in it."""
    whole = json.loads(FILE.read_text(encoding="utf-8"))
    for told in whole["replays"].values():
        table, said = told["keys"]
        names = whole["keys"][table]
        told["keys"] = {key: said[8 * at : 8 * at + 8] for at, key in enumerate(names)}
    return whole["made with"], whole["replays"]


def check(found: Mapping[str, Digests], known: Mapping[str, Digests]) -> bool:
    """Say what differs; whether nothing does."""
    equal = 0
    for replay, after in found.items():
        told = ["not in the file"]
        if replay in known:
            told = list(differences(known[replay], after))
        for line in told:
            print(f"{replay}: {line}")
        equal += not told
    print(f"{equal} of {len(found)} replays equal")
    return equal == len(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("record", "check"))
    parser.add_argument("--only", nargs="+", help="policies, fleets or webs")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--webs", type=Path, help="folder where imported webs are kept")
    told = parser.parse_args()
    chosen = plan()
    made, known = read() if told.only or told.what == "check" else (made_with(), {})
    if told.only and told.what == "record" and made != made_with():
        parser.error(f"the file was made with {made}, and this is {made_with()}: record all")
    if told.only:
        chosen = [one for one in chosen if one.web in told.only or one.policy in told.only]
        if not chosen:
            parser.error(f"no policy, fleet or web is named {' or '.join(told.only)}")
    with tempfile.TemporaryDirectory() as place:
        found = run(chosen, told.webs or Path(place), told.jobs)
    if told.what == "check":
        if made != made_with():
            print(f"the file was made with {made}, and this is {made_with()}")
        known = known if not told.only else {one.name: known[one.name] for one in chosen}
        if gone := known.keys() - found.keys():
            print(f"replays of the file that are no more: {', '.join(sorted(gone))}")
        sys.exit(0 if check(found, known) and not gone else 1)
    if raised := [f"{name}: {row['raised']}" for name, row in found.items() if "raised" in row]:
        sys.exit("\n".join(raised))
    write(known | found)
    print(
        f"{FILE.name}: {len(found)} of {len(known | found)} replays, {FILE.stat().st_size:,} bytes"
    )


if __name__ == "__main__":
    main()
