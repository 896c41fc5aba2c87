"""The estimate of what is left: fitted on some webs, tested on others.

    .venv/bin/python benchmarks/remaining.py --webs FOLDER --keep FOLDER [--fit]
        [--manuals CACHE --tasks TASKS.toml]

`--webs` holds the imported webs webkb, webkbd (with documents), company-sites, wikispeedia and
uci-ics (`spoor web import`). Each crawl is replayed whole (uci-ics and the large generated webs:
6,000 and 4,000 pages) and kept in `--keep`, which is used again. Prints how often the truth lay
within the bounds of `spoor.learn.harvest_estimate` at moments 1.25 times apart, by web and policy;
with `--fit` the laws are fitted anew first, on the tuning webs alone: cornell, texas, company
sites and generated webs. `CACHE` and `TASKS.toml` are those of `benchmarks/trail_prior.py`: their
tasks are crawled by `trail`, 3,000 pages each, and are never fitted to. Then where runs would have
ended by `--saturation` and `--yield`. Half an hour.
"""

from __future__ import annotations

import argparse
import math
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import (  # type: ignore[import-untyped]  # it has no stubs
    QuantileRegressor,
)

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.spec import judge_of, words_of
from spoor.judges.topic import topic_of
from spoor.learn import harvest_estimate
from spoor.learn.harvest_estimate import NEXT, Harvest
from spoor.live.live_crawl import ESTIMATE_EVERY
from spoor.live.stop_rule import LEAST_PAGES
from spoor.simulation.crawls import CrawlSetup, prepare
from spoor.simulation.replay import Replay
from spoor.types import Task, Topic
from spoor.worlds.folders import open_web
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

POLICIES = ("trail", "best-first", "breadth-first")
QUANTILES = (0.1, 0.5, 0.9)
ROOTS = {
    "cornell": "http://www.cs.cornell.edu/",
    "texas": "http://www.cs.utexas.edu/",
    "washington": "http://www.cs.washington.edu/",
    "wisconsin": "http://www.cs.wisc.edu/",
}
TUNING = ("webkb-cornell", "webkb-texas", "webkbd-cornell", "webkbd-texas", "gen", "company")
SUBJECTS = (
    *("Science", "Geography", "Science.Biology", "People", "History", "Countries"),
    *("Science.Physics", "Everyday_life", "Language_and_literature", "Citizenship"),
)
LINKS = (
    ("pub", "text:publications", "publications"),
    ("fac", "url:~[a-z]+/?$", "faculty home page"),
    ("course", "url:(courses?|classes|ics[0-9]+)", "courses"),
)


@dataclass(frozen=True)
class Case:
    name: str
    web: Path
    target: str
    policies: Sequence[str] = POLICIES
    root: str | None = None
    topic: str = ""
    pages: int | None = None


@dataclass(frozen=True)
class Run:
    """A crawl of a web that is known whole."""

    name: str
    policy: str
    hits: np.ndarray
    """(pages,) whether each was relevant."""
    open_links: np.ndarray
    """(pages,) after each."""
    total: int
    reachable: int

    @property
    def tuning(self) -> bool:
        return self.name.startswith(TUNING)

    @property
    def group(self) -> str:
        first, *rest = self.name.split("-")
        if first.startswith("webkb"):
            return rest[0] + (", with documents" if first == "webkbd" else "")
        if first == "manual":
            return f"manual of {rest[0]}"
        return "generated, large" if self.name.startswith("gen-big") else first


def manuals(cache: Path, tasks: Path) -> Iterator[Case]:
    data = tomllib.loads(tasks.read_text())
    for task in data["task"]:
        web, name = data["web"][task["web"]], f"{task['web']}.{task['name']}"
        yield Case(
            f"manual-{task['web']}-{task['name']}",
            cache / "webs" / task["web"],
            f"topic:{cache / 'truth' / name}.topic",
            POLICIES[:1],
            web["base"] + web["start"],
            task["topic"],
            3000,
        )


def cases(webs: Path, made: Path) -> Iterator[Case]:
    rng = np.random.default_rng(5)
    for at in range(24):
        pages = int(np.exp(rng.uniform(np.log(400), np.log(5000))))
        share = float(np.exp(rng.uniform(np.log(0.01), np.log(0.25))))
        settings = {"locality": float(rng.uniform(0.3, 0.9))}
        settings |= {"anchor_noise": float(rng.uniform(0.1, 0.95))}
        hosts = int(rng.integers(1, 15))
        yield generated(made, f"gen-{at}", at, pages, share, hosts, 100 + at, settings, None)
    rng = np.random.default_rng(11)
    for at in range(5):
        pages = int(np.exp(rng.uniform(np.log(8000), np.log(40000))))
        share = float(np.exp(rng.uniform(np.log(0.004), np.log(0.1))))
        hosts = int(rng.integers(1, 40))
        settings = {"locality": float(rng.uniform(0.2, 0.8))}
        settings |= {"anchor_noise": float(rng.uniform(0.3, 0.95))}
        settings |= {"same_host": float(rng.uniform(0.5, 0.98))}
        settings |= {
            "least_links": int(rng.integers(1, 3)),
            "most_links": int(rng.integers(10, 60)),
        }
        yield generated(made, f"gen-big{at}", at + 1, pages, share, hosts, 300 + at, settings, 4000)
    for site, root in ROOTS.items():
        for label in ("faculty", "project", "course", "student"):
            yield Case(f"webkb-{site}-{label}", webs / "webkb", f"label:{label}", root=root)
        for label in ("document", "course"):
            yield Case(f"webkbd-{site}-{label}", webs / "webkbd", f"label:{label}", root=root)
    companies = open_web(webs / "company-sites")
    for root in companies.roots():
        name = f"company-{companies.page(root).site}-news"
        yield Case(name, webs / "company-sites", "label:news", root=root)
    for label in SUBJECTS:
        topic = label.split(".")[-1].replace("_", " ")
        web = webs / "wikispeedia"
        yield Case(f"wiki-{label}", web, f"label:{label}", POLICIES[:2], topic=topic)
    for name, target, topic in LINKS:
        web = webs / "uci-ics"
        yield Case(f"uci-{name}", web, target, POLICIES[:1], topic=topic, pages=6000)


def generated(
    made: Path,
    name: str,
    at: int,
    pages: int,
    share: float,
    hosts: int,
    seed: int,
    settings: dict[str, float],
    budget: int | None,
) -> Case:
    told = GeneratedSettings(
        pages=pages,
        hosts=hosts,
        seed=seed,
        target_share=share,
        **settings,  # type: ignore[arg-type]
    )
    GeneratedWorld(told).save(made / name)
    policies = ("trail", "best-first" if at % 2 else "breadth-first")
    words = "pottery, kiln, glaze"
    return Case(name, made / name, "label:pottery", policies, topic=words, pages=budget)


def crawled(case: Case, policy: str) -> Run:
    web = prepare(CrawlSetup(str(case.web), (case.target,), policy, root=case.root))
    topic = topic_of(case.topic).topic if case.topic else Topic(name=words_of((case.target,)))
    made = registry.build("policies", policy, Task(np.random.default_rng(0), topic))
    budget = min(case.pages or web.reachable, web.reachable)
    crawl = Crawl(made, judge_of((case.target,)), MemoryFrontier(), pages=budget)
    crawl.seed([web.root])
    rows = zip(web.graph.urls, web.graph.targets.tolist(), strict=True)
    wanted = {url for url, target in rows if target}
    hits, open_links = [], []
    for outcome in Replay(crawl, web.world):
        if outcome.page is not None:
            hits.append(outcome.page.url in wanted)
            open_links.append(crawl.frontier.open_count)
    total, reachable = web.targets_reachable, web.reachable
    return Run(case.name, policy, np.array(hits), np.array(open_links), total, reachable)


def runs(every: Iterable[Case], keep: Path) -> Iterator[Run]:
    for case in every:
        for policy in case.policies:
            file = keep / f"{case.name}--{policy}.npz"
            if not file.exists():
                run = crawled(case, policy)
                np.savez(
                    file,
                    hits=run.hits,
                    open_links=run.open_links,
                    total=run.total,
                    reachable=run.reachable,
                )
            with np.load(file) as rows:
                counts = (int(rows["total"]), int(rows["reachable"]))
                yield Run(case.name, policy, rows["hits"], rows["open_links"], *counts)


@dataclass(frozen=True)
class Moment:
    run: Run
    harvest: Harvest
    open_links: int
    left: int
    next: int | None
    """Relevant among the next hundred; None where the replay ended before."""


def moments(run: Run) -> Iterator[Moment]:
    pages = 20
    while pages < len(run.hits):
        harvest = Harvest(run.hits[:pages].tolist())
        open_links = int(run.open_links[pages - 1])
        whole = pages + NEXT <= len(run.hits) or len(run.hits) >= run.reachable
        coming = int(run.hits[pages : pages + NEXT].sum()) if whole else None
        if harvest.estimate(open_links) is not None and open_links:
            yield Moment(run, harvest, open_links, run.total - harvest.relevant, coming)
        pages = int(pages * 1.25) + 1


def law(rows: Sequence[tuple[tuple[float, ...], int, float]]) -> harvest_estimate.Law:
    """The quantiles of ln(1 + y) by its features; every crawl counts alike."""
    x = np.array([features for features, *_ in rows])[:, 1:]
    y = np.log1p(np.array([value for _, value, _ in rows], dtype=float))
    weights = np.array([weight for *_, weight in rows])
    mean, spread = x.mean(axis=0), x.std(axis=0)
    found = []
    for quantile in QUANTILES:
        model = QuantileRegressor(quantile=quantile, alpha=1e-4, solver="highs")
        model.fit((x - mean) / spread, y, sample_weight=weights)
        slopes = model.coef_ / spread
        found.append((round(float(model.intercept_ - slopes @ mean), 3), *np.round(slopes, 3)))
    low, middle, high = (tuple(map(float, row)) for row in found)
    return low, middle, high


def fit(all_runs: Sequence[Run]) -> None:
    left: list[tuple[tuple[float, ...], int, float]] = []
    coming: list[tuple[tuple[float, ...], int, float]] = []
    for run in all_runs:
        if run.tuning:
            known = list(moments(run))
            for moment in known:
                features = moment.harvest.left_features(moment.open_links)
                left.append((features, moment.left, 1 / len(known)))
                if moment.next is not None:
                    features = moment.harvest.next_features()
                    coming.append((features, moment.next, 1 / len(known)))
    harvest_estimate.LEFT_LAW, harvest_estimate.NEXT_LAW = law(left), law(coming)
    for name in ("LEFT_LAW", "NEXT_LAW"):
        print(f"{name} =", *getattr(harvest_estimate, name), sep="\n    ")


def coverage(all_runs: Sequence[Run]) -> None:
    """Share of moments with the truth within the bounds."""
    table: dict[tuple[bool, str, str], list[tuple[bool, bool, float, bool | None, float]]] = (
        defaultdict(list)
    )
    for run in all_runs:
        for moment in moments(run):
            told = moment.harvest.estimate(moment.open_links)
            assert told is not None
            low, middle, high = map(round, told.left)
            factor = abs(math.log((middle + 1) / (moment.left + 1)))
            within = None
            if moment.next is not None:
                within = round(told.next.low) <= moment.next <= round(told.next.high)
            wide = (told.left.high + 1) / (told.left.low + 1)
            row = (low <= moment.left <= high, moment.left > high, factor, within, wide)
            table[run.tuning, run.group, run.policy].append(row)
    for (tuning, group, policy), rows in sorted(table.items()):
        inside, above, factors, coming, widths = zip(*rows, strict=True)
        known = [within for within in coming if within is not None]
        print(
            f"{'fitted to' if tuning else 'held out'}  {group:<26} {policy:<13} "
            f"{len(rows):>4} moments: left {np.mean(inside):.2f} (above {np.mean(above):.2f}), "
            f"typically off {math.exp(float(np.median(factors))):.1f} times, upper bound typically "
            f"{np.median(widths):.0f} times the lower (each + 1); "
            f"next hundred {np.mean(known):.2f}"
        )


def endings(all_runs: Sequence[Run]) -> None:
    """What is left, and how much of the web was fetched, where runs of trail end by a rule."""
    rules = [("saturation", share) for share in (0.5, 0.25, 0.1)]
    rules += [("yield", least) for least in (20.0, 10.0, 8.0, 6.0)]
    for name, value in rules:
        missed, fetched = [], []
        for run in all_runs:
            if run.policy == "trail" and not run.tuning and run.total:
                pages, found = _ended(run, name, value)
                missed.append(1 - found / run.total)
                fetched.append(pages / run.reachable)
        print(
            f"--{name} {value:g}: left on average {np.mean(missed):.2f}, median "
            f"{np.median(missed):.2f}, most {np.max(missed):.2f}; "
            f"{np.mean(fetched):.2f} of the pages fetched"
        )


def _ended(run: Run, name: str, value: float) -> tuple[int, int]:
    harvest = Harvest()
    for pages, (hit, open_links) in enumerate(zip(run.hits, run.open_links, strict=True), 1):
        harvest.add(bool(hit))
        if pages % ESTIMATE_EVERY == 0 and pages >= LEAST_PAGES:
            told = harvest.estimate(int(open_links))
            if told is not None:
                high = told.share_left.high if name == "saturation" else told.next.high
                if high < value:
                    break
    return harvest.pages, harvest.relevant


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--webs", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--manuals", type=Path)
    parser.add_argument("--tasks", type=Path)
    told = parser.parse_args()
    told.keep.mkdir(parents=True, exist_ok=True)
    told_cases = list(cases(told.webs, told.keep))
    if told.manuals and told.tasks:
        told_cases += manuals(told.manuals, told.tasks)
    every = list(runs(told_cases, told.keep))
    if told.fit:
        fit(every)
    coverage(every)
    endings(every)


if __name__ == "__main__":
    main()
