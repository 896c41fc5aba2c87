"""The experiments of Han, Wuillemin and Senellart (2018, section 4) on a recorded web.

    python benchmarks/han2018.py WEB --topics wikipedia|links [--vectors FILE] [--tasks 10]
        [--trials 1] [--variants paper|all] [--out DIR]

WEB is a folder that `spoor web import` wrote: Wikispeedia, a MediaWiki dump, or (`--topics links`)
the link texts of a department crawl. A task crawls 10,000 pages, or a quarter of those that can be
reached where they are fewer, from the topic's main page; from task to task weights are kept and
everything else is made anew. A page is relevant if a word of the topic occurs in it. Written to
DIR: `tasks.md` (relevant pages a task, 95 % intervals over trials), and for each topic fig1 (found
against step, mean of the tasks), fig2 (by relevance) and fig3 (found against task). What is
finished is kept in DIR, so a run that was cut goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.drivers.replay import Replay
from spoor.judges.keywords import Keywords
from spoor.lab.figures import breadth_first_order
from spoor.lab.pictures import curves
from spoor.lab.webs import LabWorld, open_scope
from spoor.learn.relevance import Relevance, Tenths
from spoor.policies.sarsa import Sarsa, model_of
from spoor.stores.memory import MemoryFrontier
from spoor.text import Vectors
from spoor.types import (
    Fetch,
    Fetched,
    Judgement,
    Page,
    Reply,
    Sightings,
    State,
    Task,
    Topic,
)


@dataclass(frozen=True)
class Subject:
    """A topic of the experiments."""

    name: str
    words: str
    """Any of them on a page makes it relevant."""
    titles: tuple[str, ...] = ()
    """Main page: the first of these titles that the web has; none: the web's root."""
    categories: Mapping[str, str] = field(default_factory=dict)
    alpha: float = 0.001


def _named(*names: str) -> dict[str, str]:
    return {name: name.lower() for name in names}


SUBJECTS = {
    "wikipedia": (
        Subject(
            "Cancer", "cancer", ("Cancer",), _named("Disease", "Medicine", "Oncology", "Health")
        ),
        Subject("Fiction", "fiction", ("Fiction", "Novel"), _named("Literature", "Arts"), 0.0005),
        Subject("Olympics", "olympics olympic", ("Olympic Games",), _named("Sports"), alpha=0.0005),
        Subject(
            "Cameras",
            "cameras camera",
            ("Camera", "Photography"),
            _named("Photography", "Movies", "Arts"),
        ),
        Subject("Geology", "geology", ("Geology",), _named("Earth", "Science")),
        Subject("Poetry", "poetry", ("Poetry",), _named("Literature", "Arts")),
    ),
    "links": tuple(
        Subject(words.title(), words)
        for words in ("learning", "seminar", "software", "bioinformatics", "security", "robots")
    ),
}
Variants = dict[str, tuple[str, dict[str, Any]]]
PAPER: Variants = {
    "no learning": ("best-first", {}),
    "synchronous": ("sarsa", {"update": "synchronous"}),
    "asynchronous": ("sarsa", {}),
    "moderated": ("sarsa", {"update": "moderated"}),
}
OURS: Variants = {
    "synchronous, index": ("sarsa", {"update": "synchronous", "encoding": "index"}),
    "synchronous, ε halved every 200": ("sarsa", {"update": "synchronous", "halving": 200}),
    "synchronous, ε = 0": ("sarsa", {"update": "synchronous", "epsilon": 0.0}),
    "synchronous, nearest": ("sarsa", {"update": "synchronous", "within": "nearest"}),
    "synchronous, ε = 0, nearest": (
        "sarsa",
        {"update": "synchronous", "epsilon": 0.0, "within": "nearest"},
    ),
    "synchronous, ε = 0, nearest, prior": (
        "sarsa",
        {"update": "synchronous", "epsilon": 0.0, "within": "nearest", "prior": 30.0},
    ),
    "asynchronous, ε = 0, nearest, prior": (
        "sarsa",
        {"epsilon": 0.0, "within": "nearest", "prior": 30.0},
    ),
}
VARIANTS: dict[str, Variants] = {
    "paper": PAPER,
    "all": {**PAPER, **OURS},
}


class Remembered(Relevance):
    """Measures a text once, however many tasks read it."""

    def __init__(self, texts: Sequence[str], vectors: Vectors | None) -> None:
        super().__init__(texts, vectors)
        self._own: dict[tuple[int, str], list[float]] = {}

    def of_page(self, text: str, seen: Sightings | None) -> tuple[list[float], list[Tenths]]:
        key = (len(text), text[:200])
        own = self._own.get(key)
        if own is None:
            own, links = super().of_page(text, seen)
            self._own[key] = own
            return own, links
        return own, super().of_page("", seen)[1]


class Held:
    """A world that parses a page once, however many tasks fetch it."""

    def __init__(self, world: LabWorld) -> None:
        self._world = world
        self._replies: dict[str, Reply] = {}

    def answer(self, fetch: Fetch) -> Reply:
        reply = self._replies.get(fetch.url)
        if reply is None:
            reply = self._world.answer(fetch)
            if isinstance(reply, Fetched):
                reply = replace(reply, page=replace(reply.page, links=tuple(reply.page.links)))
            self._replies[fetch.url] = reply
        return replace(reply, ticket=fetch.ticket)


class Known:
    """A judge that judges a page once, however many tasks fetch it."""

    def __init__(self, words: str) -> None:
        self._judge = Keywords(words.split(), threshold=1e-9)
        self._known: dict[str, Judgement] = {}

    def judge(self, page: Page) -> Judgement:
        known = self._known.get(page.url)
        if known is None:
            known = self._known[page.url] = self._judge.judge(page)
        return known


@dataclass
class Ground:
    """One topic on one web, made ready."""

    world: Held
    subject: Subject
    topic: Topic
    root: str
    pages: int
    judge: Known
    measure: Remembered
    vectors: Vectors | None


def make(
    world: LabWorld, root: str, reachable: int, subject: Subject, vectors: Vectors | None
) -> Ground:
    titles = {page.title: page.url for page in world.pages()} if subject.titles else {}
    root = next((titles[title] for title in subject.titles if title in titles), root)
    topic = Topic(subject.words, categories=subject.categories)
    plain = Sarsa(Task(np.random.default_rng(0), topic, vectors=vectors))
    topic = Topic(subject.words, categories=plain.categories)
    measure = Remembered(plain.relevance.texts, vectors)
    pages = min(10_000, reachable // 4)
    return Ground(Held(world), subject, topic, root, pages, Known(subject.words), measure, vectors)


def crawl(
    ground: Ground, policy: str, params: Mapping[str, Any], seed: int, model: State | None
) -> tuple[dict[str, Any], State | None]:
    """One task: its figures, and the weights that it leaves."""
    task = Task(np.random.default_rng(seed), ground.topic, model, vectors=ground.vectors)
    made = registry.build("policies", policy, task, settings=params)
    if isinstance(made, Sarsa):
        made.relevance = ground.measure
    engine = Crawl(made, ground.judge, MemoryFrontier(), pages=ground.pages)
    engine.seed([ground.root])
    found: list[bool] = []
    intervals = [0] * 10
    began = time.process_time()
    for outcome in Replay(engine, ground.world):
        if outcome.page is not None and outcome.judgement is not None:
            found.append(outcome.judgement.relevant)
            if outcome.judgement.relevant:
                own, _ = ground.measure.of_page(f"{outcome.page.title} {outcome.page.text}", None)
                intervals[min(9, int(own[0] * 10))] += 1
    seconds = time.process_time() - began
    steps = [0, *accumulate(map(int, found))]
    at = sorted({round(step) for step in np.linspace(0, len(found), 101)})
    figures = {
        "found": sum(found),
        "curve": [[step, steps[step]] for step in at],
        "intervals": intervals,
        "cpu_seconds": round(seconds, 2),
    }
    return figures, model_of(made, task, {}, 1, []) if isinstance(made, Sarsa) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("web", type=Path)
    parser.add_argument("--topics", choices=list(SUBJECTS), default="wikipedia")
    parser.add_argument("--only", help="One topic.")
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--trials", type=int, default=1)
    parser.add_argument("--variants", choices=list(VARIANTS), default="paper")
    parser.add_argument("--out", type=Path, default=Path("han2018-out"))
    told = parser.parse_args()
    told.out.mkdir(parents=True, exist_ok=True)
    vectors = Vectors.read(told.vectors) if told.vectors else None
    world, root = open_scope(told.web, None, "web")
    graph = world.graph()
    reachable = len(breadth_first_order(graph, graph.index()[root]))
    rows: list[str] = []
    for subject in SUBJECTS[told.topics]:
        if told.only in (None, subject.name):
            ground = make(world, root, reachable, subject, vectors)
            rows += measure(ground, told.tasks, told.trials, VARIANTS[told.variants], told.out)
    head = "| topic | variant | first task | last task | mean | against no learning | CPU s |"
    table = "\n".join([head, "| --- | --- | --- | --- | --- | --- | --- |", *rows])
    (told.out / "tasks.md").write_text(table + "\n", encoding="utf-8")
    print(table)


def measure(
    ground: Ground,
    tasks: int,
    trials: int,
    variants: Mapping[str, tuple[str, dict[str, Any]]],
    out: Path,
) -> list[str]:
    """Every variant on one topic: pictures, and rows of the table."""
    subject = ground.subject
    fig1, fig2, fig3 = {}, {}, {}
    rows = []
    plain = 0.0
    for name, (policy, params) in variants.items():
        done = [kept(ground, policy, params, trial, tasks, out) for trial in range(trials)]
        counts = np.array([[task["found"] for task in trial] for trial in done], dtype=float)
        curve = np.mean([[task["curve"] for task in trial] for trial in done], axis=(0, 1))
        fig1[name] = curve.tolist()
        levels = np.mean([[task["intervals"] for task in trial] for trial in done], axis=(0, 1))
        fig2[name] = [[(level + 0.5) / 10, count] for level, count in enumerate(levels)]
        means = counts.mean(axis=0)
        steps = means if policy == "sarsa" else np.repeat(means, tasks)
        fig3[name] = [[task + 1, count] for task, count in enumerate(steps)]
        plain = plain or float(means.mean())
        spread = 1.96 * counts[:, -1].std(ddof=1) / trials**0.5 if trials > 1 else None
        last = f"{means[-1]:.0f}" + (f" ± {spread:.0f}" if spread is not None else "")
        seconds = np.mean([task["cpu_seconds"] for trial in done for task in trial])
        rows.append(
            f"| {subject.name} | {name} | {means[0]:.0f} | {last} | {means.mean():.0f} "
            f"| {means.mean() / plain:.2f} | {seconds:.1f} |"
        )
        print(rows[-1], flush=True)
    pictures = {
        "fig1": curves(fig1, x="pages fetched", y="relevant pages found"),
        "fig2": curves(fig2, x="relevance", y="relevant pages found"),
        "fig3": curves(fig3, x="task", y="relevant pages found"),
    }
    for name, picture in pictures.items():
        (out / f"{name}-{subject.name.lower()}.svg").write_text(picture, encoding="utf-8")
    return rows


def kept(
    ground: Ground, policy: str, params: Mapping[str, Any], trial: int, tasks: int, out: Path
) -> list[dict[str, Any]]:
    """The tasks of one trial, from the file of an earlier run where there is one."""
    if policy == "best-first":
        tasks = 1  # nothing is random in it, and nothing learned
    else:
        params = {"alpha": ground.subject.alpha, **params}
    said = "-".join(f"{key}={value}" for key, value in sorted(params.items()))
    file = out / f"{ground.subject.name}-{policy}-{said}-{trial}.json"
    done: list[dict[str, Any]] = json.loads(file.read_text("utf-8")) if file.exists() else []
    if len(done) >= tasks:
        return done[:tasks]
    done, model = [], None
    for task in range(tasks):
        figures, model = crawl(ground, policy, params, 1_000 * trial + task, model)
        done.append(figures)
    file.write_text(json.dumps(done), encoding="utf-8")
    return done


if __name__ == "__main__":
    main()
