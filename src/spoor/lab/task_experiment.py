"""Experiments of tasks: a policy crawls the same web again and again and keeps what it learned.

After Han, Wuillemin and Senellart (2018, section 4): from task to task all is made anew but the
weights. In the file of an experiment: `kind = "tasks"`, the `[[webs]]`, the `[[policies]]`, `seeds`
(trials), `pages` or `share` (the smaller budget holds), and under `settings` the number of `tasks`
(one, or by web) and the `topics`: tables with a `name`, the `web` if there are several, the `words`
of which any makes a page relevant, the `titles` of its main page (the first that the web has; none:
the web's root), perhaps `categories` and, by policy, `params`. `figure` says which of the paper's
its table is (`fig1`, `fig2`, `fig3`, `cost`), `same_as` names an experiment of the package whose
webs, topics, policies and budget are taken where none are given. A policy that has no `model()` to
keep crawls once. Finished trials are kept under a hash of what they were, of the code and of the
data, so experiments that share trials run them once.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.frontier.memory import MemoryFrontier
from spoor.garbage import few_collections
from spoor.judges.keywords import Keywords
from spoor.judges.similarity import VectorCosine
from spoor.lab.experiment import Contender, Experiment, data_folder, packaged, read
from spoor.lab.figures import breadth_first_order
from spoor.lab.fleet_experiment import interval
from spoor.lab.sweep import code_digest, data_digest, web_folder
from spoor.lab.webs import LabWorld, open_web
from spoor.lab.workers import finish
from spoor.learn.relevance import Recurring
from spoor.replay_driver import Replay
from spoor.types import Fetch, Fetched, Judgement, Page, Reply, State, Task, Topic
from spoor.views.plots import curves
from spoor.web.text import Vectors

Tell = Callable[[int], None]
"""Trials done."""

STEPS = 100
"""Points of a curve."""
SETTINGS = ["tasks", "topics", "figure", "same_as"]
FIGURES = ("", "fig1", "fig2", "fig3", "cost")


@runtime_checkable
class Teaches(Protocol):
    """A policy whose learning can be handed to the next task."""

    def model(self) -> State: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """A topic of the experiment."""

    name: str
    words: str
    web: str = ""
    titles: tuple[str, ...] = ()
    categories: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trial:
    """So many tasks of one policy on one topic, one after the other."""

    folder: str
    vectors: str
    subject: Subject
    contender: Contender
    seed: int
    tasks: int
    pages: int | None
    share: float | None
    figure: str = ""

    @property
    def timed(self) -> bool:
        """Whether every fetch is answered and judged anew, as a crawl has to."""
        return self.figure == "cost"

    def file(self, out: Path) -> Path:
        """Where its figures are kept; all that count tasks share them."""
        own = {**asdict(self), "figure": self.timed}
        said = json.dumps([own, code_digest(), data_digest(self.folder)], sort_keys=True)
        return out / "cells" / f"tasks-{hashlib.sha256(said.encode()).hexdigest()[:24]}.json"


def plan(experiment: Experiment, out: Path) -> list[Trial]:
    """All trials; a web that is missing is made under `out`. Raises InputError for bad settings."""
    experiment = whole(experiment)
    name, told = experiment.name, experiment.settings
    subjects = [_subject(row, name) for row in told.get("topics", ())]
    if not experiment.webs or not experiment.policies or not subjects:
        raise InputError(f"{name}: name webs, policies, and topics under settings")
    webs = {web.name: web for web in experiment.webs}
    for subject in subjects:
        if subject.web not in webs and (subject.web or len(webs) > 1):
            offer = registry.nearest(subject.web, list(webs))
            raise InputError(f"{name}: topic {subject.name!r} is of web {subject.web!r}{offer}")
    folders = {web.name: str(web_folder(web, out)) for web in experiment.webs}
    tasks = told.get("tasks", 1)
    found = []
    for subject in subjects:
        web = webs[subject.web or experiment.webs[0].name]
        # Seed by seed, so that what is timed is timed side by side.
        found += [
            Trial(
                folders[web.name],
                str(data_folder() / web.vectors) if web.vectors else "",
                replace(subject, web=web.name),
                contender,
                seed,
                int(tasks.get(web.name, 1) if isinstance(tasks, Mapping) else tasks),
                experiment.pages,
                experiment.share,
                told.get("figure", ""),
            )
            for seed in range(experiment.seeds)
            for contender in experiment.policies
            if contender.seeds is None or seed < contender.seeds
        ]
    return found


def whole(experiment: Experiment) -> Experiment:
    """The experiment with what it takes over from another. Raises InputError for bad settings."""
    name, told = experiment.name, experiment.settings
    for key in told:
        if key not in SETTINGS:
            offer = registry.nearest(key, SETTINGS)
            raise InputError(f"{name}: unknown setting {key!r}{offer}")
    if told.get("figure", "") not in FIGURES:
        raise InputError(f"{name}: figure is one of {', '.join(FIGURES[1:])}")
    if "same_as" not in told:
        return experiment
    known = packaged()
    if told["same_as"] not in known:
        offer = registry.nearest(str(told["same_as"]), list(known))
        raise InputError(f"{name}: no experiment {told['same_as']!r} to be the same as{offer}")
    other = read(known[told["same_as"]], told["same_as"])
    webs = [web.name for web in experiment.webs or other.webs]
    topics = [row for row in other.settings["topics"] if row.get("web", webs[0]) in webs]
    return replace(
        experiment,
        webs=experiment.webs or other.webs,
        policies=experiment.policies or other.policies,
        pages=experiment.pages or other.pages,
        share=experiment.share or other.share,
        settings={**other.settings, "topics": topics, **told},
    )


def _subject(row: Mapping[str, Any], where: str) -> Subject:
    for key in row:
        if key not in Subject.__dataclass_fields__:
            offer = registry.nearest(key, list(Subject.__dataclass_fields__))
            raise InputError(f"{where}: a topic has no {key!r}{offer}")
    if not row.get("name") or not row.get("words"):
        raise InputError(f"{where}: each topic has a name and words")
    return Subject(**{**row, "titles": tuple(row.get("titles", ()))})


def run(
    plan: Sequence[Trial], out: Path, *, jobs: int = 1, tell: Tell = lambda done: None
) -> list[dict[str, Any]]:
    """Run every trial that is not kept in `out` yet; one row a task, in the plan's order."""
    # One process runs all trials of a topic: it reads the web once.
    kept = finish(
        _work,
        plan,
        out,
        file=lambda trial: trial.file(out),
        ground=lambda trial: trial.subject.name,
        jobs=jobs,
        tell=tell,
    )
    return [
        {**row, "figure": trial.figure}
        for trial, rows in zip(plan, kept, strict=True)
        for row in rows
    ]


def _work(batch: Sequence[Trial], out: Path, done: Callable[[], None]) -> None:
    """Run the trials of one topic."""
    ground = _Ground(batch[0])
    for trial in batch:
        write_whole(trial.file(out), json.dumps(tasks(ground, trial)))
        done()


@cache
def _vectors(path: str) -> Vectors:
    return Vectors.read(path)


@cache
def _recurring(path: str) -> Recurring:
    return Recurring(_vectors(path))


@cache
def _opened(folder: str) -> tuple[LabWorld, dict[str, Reply]]:
    """A web, and what it has answered."""
    return open_web(Path(folder)), {}


@cache
def _judge(folder: str, words: str) -> tuple[Keywords, dict[str, Judgement]]:
    """The judge of a topic, and how it has judged the pages of a web."""
    return Keywords(words.split(), threshold=1e-9), {}


class _Judged:
    """A world with its judge."""

    def __init__(self, folder: str, words: str) -> None:
        self.answer = _opened(folder)[0].answer
        self.judge = _judge(folder, words)[0].judge


class _Held:
    """The same, which parses and judges a page once, however many tasks fetch it."""

    def __init__(self, folder: str, words: str) -> None:
        self._world, self._replies = _opened(folder)
        self._judge, self._judged = _judge(folder, words)

    def answer(self, fetch: Fetch) -> Reply:
        reply = self._replies.get(fetch.url)
        if reply is None:
            reply = self._world.answer(fetch)
            if isinstance(reply, Fetched):
                reply = replace(reply, page=replace(reply.page, links=tuple(reply.page.links)))
            self._replies[fetch.url] = reply
        return replace(reply, ticket=fetch.ticket)

    def judge(self, page: Page) -> Judgement:
        known = self._judged.get(page.url)
        if known is None:
            known = self._judged[page.url] = self._judge.judge(page)
        return known


class _Ground:
    """One topic on one web, made ready."""

    def __init__(self, trial: Trial) -> None:
        subject = trial.subject
        world = _opened(trial.folder)[0]
        self.vectors: Vectors | None = None
        if trial.vectors:
            self.vectors = (_vectors if trial.timed else _recurring)(trial.vectors)
        self.topic = Topic(subject.words, categories=subject.categories)
        self.root = _main_page(world, subject)
        self.world = (_Judged if trial.timed else _Held)(trial.folder, subject.words)
        self.reachable, self.targets = _reachable(trial.folder, subject.words, self.root)
        limits = [self.reachable]
        if trial.pages is not None:
            limits.append(trial.pages)
        if trial.share is not None:
            limits.append(max(1, round(trial.share * self.reachable)))
        self.pages = min(limits)
        self._near: dict[str, int] = {}
        self.near = VectorCosine(subject.words, self.vectors) if self.vectors else None

    def tenth(self, page: Page) -> int:
        """In which tenth the relevance of a page lies."""
        if page.url not in self._near:
            near = self.near.cosine(f"{page.title} {page.text}") if self.near else 0.0
            self._near[page.url] = min(9, int(near * 10))
        return self._near[page.url]


@cache
def _reachable(folder: str, words: str, root: str) -> tuple[int, int]:
    """How many pages can be reached, and how many of them are relevant."""
    graph = _opened(folder)[0].graph(_Held(folder, words))
    order = breadth_first_order(graph, graph.index()[root])
    return len(order), int(graph.targets[order].sum())


def _main_page(world: LabWorld, subject: Subject) -> str:
    titles: dict[str, str] = {}
    if subject.titles:
        for page in world.pages():
            titles.setdefault(page.title, page.url)
    for title in subject.titles:
        if title in titles:
            return titles[title]
    roots = world.roots()
    if not roots:
        raise InputError(f"topic {subject.name!r}: the web has none of its titles, and no root")
    return roots[0]


def tasks(ground: _Ground, trial: Trial) -> list[dict[str, Any]]:
    """One row a task: relevant pages found, their curve, and how near to the topic they are."""
    contender, subject = trial.contender, trial.subject
    params = {**subject.params.get(contender.policy, {}), **contender.params}
    rows: list[dict[str, Any]] = []
    model: State | None = None
    for number in range(trial.tasks):
        rng = np.random.default_rng([trial.seed, number])
        task = Task(rng, ground.topic, model, vectors=ground.vectors)
        policy = registry.build("policies", contender.policy, task, settings=params)
        crawl = Crawl(policy, ground.world, MemoryFrontier(), pages=ground.pages)
        crawl.seed([ground.root])
        found: list[bool] = []
        intervals = [0] * 10
        began = time.process_time()
        with few_collections():
            for outcome in Replay(crawl, ground.world):
                if outcome.page is None or outcome.judgement is None:
                    continue
                found.append(outcome.judgement.relevant)
                if found[-1] and ground.near is not None:
                    intervals[ground.tenth(outcome.page)] += 1
        totals = [0, *accumulate(map(int, found))]
        at = sorted({round(step) for step in np.linspace(0, len(found), STEPS + 1)})
        rows.append(
            {
                "web": subject.web,
                "topic": subject.name,
                "contender": contender.name,
                "policy": contender.policy,
                "seed": trial.seed,
                "task": number + 1,
                "root": ground.root,
                "fetched": len(found),
                "found": sum(found),
                "reachable": ground.reachable,
                "targets_reachable": ground.targets,
                "intervals": intervals,
                "curve": [[step, totals[step]] for step in at],
                "cpu_seconds": round(time.process_time() - began, 3),
            }
        )
        if not isinstance(policy, Teaches):
            break
        model = policy.model()
    return rows


# ---------------------------------------------------------------- what they say


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """By topic and policy, what the experiment's figure of the paper shows, in numbers: means ±
    half of their 95 % interval over the trials. Without a figure: relevant pages of the first and
    the last task, and of all, and their ratio to the first policy's."""
    head, cells = _COLUMNS[rows[0].get("figure", "")]
    last = max(row["task"] for row in rows)
    heads = ["topic", "policy", *head(last)]
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for topic in dict.fromkeys(row["topic"] for row in rows):
        contenders = _contenders(rows, topic)
        first = next(iter(contenders.values()))
        lines += [
            "| " + " | ".join([topic, contender, *cells(mine, first, last)]) + " |"
            for contender, mine in contenders.items()
        ]
    return "\n".join(lines)


_Rows = Sequence[Mapping[str, Any]]


def _by_trial(rows: _Rows, value: Callable[[Mapping[str, Any]], float]) -> list[float]:
    """Mean over the tasks of each trial."""
    seeds = dict.fromkeys(row["seed"] for row in rows)
    return [float(np.mean([value(row) for row in rows if row["seed"] == seed])) for seed in seeds]


def _overview(mine: _Rows, first: _Rows, last: int) -> list[str]:
    own = max(row["task"] for row in mine)
    found, plain = (_by_trial(some, lambda row: row["found"]) for some in (mine, first))
    ratio = f"{np.mean(found) / np.mean(plain):.2f}" if any(plain) else "–"
    return [
        *(_shown([row["found"] for row in mine if row["task"] == task]) for task in (1, own)),
        _shown(found),
        ratio,
        f"{np.mean([row['cpu_seconds'] for row in mine]):.1f}",
    ]


def _at_quarters(mine: _Rows, first: _Rows, last: int) -> list[str]:
    def after(row: Mapping[str, Any], part: int) -> float:
        return float(row["curve"][(len(row["curve"]) - 1) * part // 4][1])

    return [
        _shown(_by_trial(mine, lambda row, part=part: after(row, part)))  # type: ignore[misc]
        for part in range(1, 5)
    ]


def _by_relevance(mine: _Rows, first: _Rows, last: int) -> list[str]:
    return [
        _shown(_by_trial(mine, lambda row, at=at: row["intervals"][at]))  # type: ignore[misc]
        for at in range(10)
    ]


def _by_task(mine: _Rows, first: _Rows, last: int) -> list[str]:
    own = max(row["task"] for row in mine)
    return [
        _shown([row["found"] for row in mine if row["task"] == min(task, own)])
        for task in range(1, last + 1)
    ]


def _cost(mine: _Rows, first: _Rows, last: int) -> list[str]:
    took, plain = (_by_trial(some, lambda row: row["cpu_seconds"]) for some in (mine, first))
    ratios = [one / other for one, other in zip(took, plain, strict=False)]
    return [f"{np.median(took):.2f}", f"{np.median(ratios):.2f}", str(len(took))]


_COLUMNS: Mapping[str, tuple[Callable[[int], list[str]], Callable[[_Rows, _Rows, int], list[str]]]]
_COLUMNS = {
    "": (
        lambda last: ["first task", "last task", "all", "against the first policy", "CPU s a task"],
        _overview,
    ),
    "fig1": (
        lambda last: ["¼ of the pages fetched", "½", "¾", "all"],
        _at_quarters,
    ),
    "fig2": (
        lambda last: [f".{at}–" for at in range(10)],
        _by_relevance,
    ),
    "fig3": (
        lambda last: [f"task {task}" for task in range(1, last + 1)],
        _by_task,
    ),
    "cost": (
        lambda last: ["CPU s a task, median", "against the first policy, median", "trials"],
        _cost,
    ),
}


def _shown(counts: Sequence[float]) -> str:
    mean, half = interval([float(count) for count in counts])
    return f"{mean:.0f}" if not half else f"{mean:.0f} ± {half:.0f}"


def _contenders(
    rows: Sequence[Mapping[str, Any]], topic: str
) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["topic"] == topic:
            found.setdefault(row["contender"], []).append(row)
    return found


def figures(rows: Sequence[Mapping[str, Any]], topic: str) -> dict[str, str]:
    """The three figures of the paper for one topic, as SVG: relevant pages against step (mean of
    all tasks), by relevance, and against task (mean of the trials)."""
    fig1, fig2, fig3 = {}, {}, {}
    last = max(row["task"] for row in rows)
    for contender, mine in _contenders(rows, topic).items():
        fig1[contender] = np.mean([row["curve"] for row in mine], axis=0).tolist()
        levels = np.mean([row["intervals"] for row in mine], axis=0).tolist()
        fig2[contender] = [[(at + 0.5) / 10, count] for at, count in enumerate(levels)]
        own = max(row["task"] for row in mine)
        means = [
            float(np.mean([row["found"] for row in mine if row["task"] == min(task, own)]))
            for task in range(1, last + 1)
        ]
        fig3[contender] = [[task, count] for task, count in enumerate(means, 1)]
    return {
        "fig1": curves(fig1, x="pages fetched", y="relevant pages found"),
        "fig2": curves(fig2, x="relevance", y="relevant pages found"),
        "fig3": curves(fig3, x="task", y="relevant pages found"),
    }
