"""Tasks: a policy crawls the same web repeatedly and keeps its weights.

After Han, Wuillemin and Senellart (2018, section 4): everything but the weights is new in each
task. In the file of an experiment: `kind = "tasks"`, the `[[webs]]`, the `[[policies]]`, `seeds`
(trials), `pages` or `share` (the smaller budget holds), and under `settings` the number of `tasks`
(one, or by web) and the `topics`: tables with a `name`, the `web` if there are several, the `words`
of which any makes a page relevant, the `titles` of its main page (the first that the web has; none:
the web's root), perhaps `categories` and, by policy, `params`. `figure` names the paper's figure or
table to reproduce (`fig1`, `fig2`, `fig3`, `cost`), `same_as` an experiment of the package whose
webs, topics, policies and budget are the defaults. A policy without `model()` crawls once.
Experiments that share trials run them once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.judges.similarity import VectorCosine
from spoor.lab.cells import Kind, Row
from spoor.lab.digests import data_digest, policy_digest
from spoor.lab.experiment import Contender, Experiment, data_folder, packaged, read
from spoor.lab.tables import check_keys, strings_of, table_of, text_of, whole_number
from spoor.lab.webs import web_folder
from spoor.learn.relevance import Recurring
from spoor.process_memory import few_collections
from spoor.protocols import KnownWorld
from spoor.simulation.metrics import breadth_first_order, curve
from spoor.simulation.replay import Replay
from spoor.types import Fetch, Fetched, Judgement, Page, Reply, State, Task, Topic
from spoor.web.text import Vectors
from spoor.worlds.folders import open_web

POINTS = 101
"""At most so many points of a curve."""
SETTINGS = ("tasks", "topics", "figure", "same_as")
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
    """A cell: so many tasks of one policy on one topic, one after the other."""

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
        """Whether every fetch is answered and judged again, as in a crawl."""
        return self.figure == "cost"

    @property
    def name(self) -> str:
        return f"{self.subject.web}, {self.subject.name}, {self.contender.name}, seed {self.seed}"

    @property
    def group(self) -> str:
        """Trials of a group share the web and the verdicts on its pages."""
        return self.subject.name

    def identity(self) -> object:
        """The figure is no part of it: all figures that count tasks share their trials."""
        own = {**asdict(self), "figure": self.timed}
        return [own, data_digest(self.folder), policy_digest(self.contender.policy)]


def plan(experiment: Experiment, out: Path) -> list[Trial]:
    """All trials of an experiment."""
    experiment = completed(experiment)
    name, settings = experiment.name, experiment.settings
    subjects = [_subject(row, name) for row in settings.get("topics", ())]
    if not experiment.webs or not experiment.policies or not subjects:
        raise InputError(f"{name}: name webs, policies, and topics under settings")
    webs = {web.name: web for web in experiment.webs}
    for subject in subjects:
        if subject.web not in webs and (subject.web or len(webs) > 1):
            offer = registry.nearest(subject.web, list(webs))
            raise InputError(f"{name}: topic {subject.name!r} is of web {subject.web!r}{offer}")
    folders = {web.name: str(web_folder(web, out)) for web in experiment.webs}
    tasks = settings.get("tasks", 1)
    trials = []
    for subject in subjects:
        web = webs[subject.web or experiment.webs[0].name]
        # Seed by seed, so that what is timed is timed side by side.
        trials += [
            Trial(
                folders[web.name],
                str(data_folder() / web.vectors) if web.vectors else "",
                replace(subject, web=web.name),
                contender,
                seed,
                whole_number(
                    tasks.get(web.name, 1) if isinstance(tasks, Mapping) else tasks,
                    f"{name}: tasks",
                ),
                experiment.pages,
                experiment.share,
                settings.get("figure", ""),
            )
            for seed in range(experiment.seeds)
            for contender in experiment.policies
            if contender.seeds is None or seed < contender.seeds
        ]
    return trials


def completed(experiment: Experiment) -> Experiment:
    """The experiment with what it takes over from another. Raises InputError for bad settings."""
    name, settings = experiment.name, experiment.settings
    check_keys(settings, SETTINGS, name, "setting")
    if settings.get("figure", "") not in FIGURES:
        raise InputError(f"{name}: figure is one of {', '.join(FIGURES[1:])}")
    if "same_as" not in settings:
        return experiment
    known = packaged()
    if settings["same_as"] not in known:
        offer = registry.nearest(str(settings["same_as"]), list(known))
        raise InputError(f"{name}: no experiment {settings['same_as']!r} to be the same as{offer}")
    other = read(known[settings["same_as"]], settings["same_as"])
    webs = [web.name for web in experiment.webs or other.webs]
    topics = [row for row in other.settings["topics"] if row.get("web", webs[0]) in webs]
    return replace(
        experiment,
        webs=experiment.webs or other.webs,
        policies=experiment.policies or other.policies,
        pages=experiment.pages or other.pages,
        share=experiment.share or other.share,
        settings={**other.settings, "topics": topics, **settings},
    )


def _subject(row: Mapping[str, Any], where: str) -> Subject:
    where = f"{where}: topics"
    check_keys(row, Subject.__dataclass_fields__, where, "key")
    name, words = text_of(row, "name", where), text_of(row, "words", where)
    if not name or not words:
        raise InputError(f"{where}: each has a name and words")
    categories, params = table_of(row, "categories", where), table_of(row, "params", where)
    return Subject(
        name,
        words,
        text_of(row, "web", where),
        strings_of(row, "titles", where),
        {key: text_of(categories, key, where) for key in categories},
        {key: table_of(params, key, where) for key in params},
    )


# ---------------------------------------------------------------- webs, pages and verdicts


@cache
def _vectors(path: str) -> Vectors:
    return Vectors.read(path)


@cache
def _recurring(path: str) -> Recurring:
    return Recurring(_vectors(path))


@cache
def _opened(folder: str) -> tuple[KnownWorld, dict[str, Reply]]:
    """A web, and its replies so far."""
    return open_web(Path(folder)), {}


@cache
def _judge(folder: str, words: str) -> tuple[Keywords, dict[str, Judgement]]:
    """The judge of a topic, and its judgements of the pages of a web so far."""
    return Keywords(words.split(), threshold=1e-9), {}


class _FreshWorld:
    """A world with its judge, which parses and judges every page that is fetched."""

    def __init__(self, folder: str, words: str) -> None:
        self.answer = _opened(folder)[0].answer
        self.judge = _judge(folder, words)[0].judge


class _CachedWorld:
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


class _PreparedTopic:
    """One topic on one web, made ready."""

    def __init__(self, trial: Trial) -> None:
        subject = trial.subject
        self.vectors: Vectors | None = None
        if trial.vectors:
            self.vectors = (_vectors if trial.timed else _recurring)(trial.vectors)
        self.topic = Topic(subject.words, categories=subject.categories)
        self.root = _main_page(_opened(trial.folder)[0], subject)
        self.world = (_FreshWorld if trial.timed else _CachedWorld)(trial.folder, subject.words)
        self.reachable, self.targets = _reachable(trial.folder, subject.words, self.root)
        limits = [self.reachable]
        if trial.pages is not None:
            limits.append(trial.pages)
        if trial.share is not None:
            limits.append(max(1, round(trial.share * self.reachable)))
        self.pages = min(limits)
        self._tenths: dict[str, int] = {}
        self.similarity = VectorCosine(subject.words, self.vectors) if self.vectors else None

    def tenth(self, page: Page) -> int:
        """The tenth of [0, 1] that contains the similarity of a page to the topic, from 0."""
        if page.url not in self._tenths:
            text = f"{page.title} {page.text}"
            cosine = self.similarity.cosine(text) if self.similarity else 0.0
            self._tenths[page.url] = min(9, int(cosine * 10))
        return self._tenths[page.url]


@cache
def _reachable(folder: str, words: str, root: str) -> tuple[int, int]:
    """How many pages can be reached, and how many of them are relevant."""
    graph = _opened(folder)[0].graph(_CachedWorld(folder, words))
    order = breadth_first_order(graph, graph.index()[root])
    return len(order), int(graph.targets[order].sum())


def _main_page(world: KnownWorld, subject: Subject) -> str:
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


# ---------------------------------------------------------------- tasks


def run(trials: Sequence[Trial], out: Path) -> Iterator[list[Row]]:
    """Run trials of one topic; one row a task."""
    prepared = _PreparedTopic(trials[0])
    for trial in trials:
        yield _tasks(prepared, trial)


def _tasks(prepared: _PreparedTopic, trial: Trial) -> list[Row]:
    """One row a task: relevant pages found, their curve, and how similar to the topic they are."""
    contender, subject = trial.contender, trial.subject
    params = {**subject.params.get(contender.policy, {}), **contender.params}
    rows: list[Row] = []
    model: State | None = None
    for number in range(trial.tasks):
        rng = np.random.default_rng([trial.seed, number])
        task = Task(rng, prepared.topic, model, vectors=prepared.vectors)
        policy = registry.build("policies", contender.policy, task, settings=params)
        crawl = Crawl(policy, prepared.world, MemoryFrontier(), pages=prepared.pages)
        crawl.seed([prepared.root])
        hits: list[bool] = []
        tenths = [0] * 10
        start = time.process_time()
        with few_collections():
            for outcome in Replay(crawl, prepared.world):
                if outcome.page is None or outcome.judgement is None:
                    continue
                hits.append(outcome.judgement.relevant)
                if hits[-1] and prepared.similarity is not None:
                    tenths[prepared.tenth(outcome.page)] += 1
        rows.append(
            {
                "web": subject.web,
                "topic": subject.name,
                "contender": contender.name,
                "policy": contender.policy,
                "seed": trial.seed,
                "task": number + 1,
                "root": prepared.root,
                "fetched": len(hits),
                "found": sum(hits),
                "reachable": prepared.reachable,
                "targets_reachable": prepared.targets,
                "intervals": tenths,
                "curve": curve(hits, POINTS),
                "cpu_seconds": round(time.process_time() - start, 3),
            }
        )
        if not isinstance(policy, Teaches):
            break
        model = policy.model()
    return rows


def _rows(trial: Trial, figures: list[Row]) -> list[Row]:
    return [{**row, "figure": trial.figure} for row in figures]


KIND = Kind("tasks", plan, run, rows=_rows, row_name="tasks")
