"""Judges: what each tells of the same pages, from words as users type them and from examples.

In the file of an experiment: `kind = "judges"`, the `[[webs]]`, and the `[[targets]]`, each with
its `webs`, its `topic` (the words as typed) and the truth, `want`: facts only (labels, URLs), so
that no judge made it. `pages` is how many of a web are judged, breadth-first from its roots. Under
`settings`, by web: its `languages`, which `half` it belongs to (`development` or `report`), and
`within`, a fact that all its pages have. `added`, a list of webs whose tasks came later: the page
gives the figures without them, too, so that no choice of tasks passes for progress. `crawls`, a
list of numbers of pages: each wish is also crawled for by `trail` with the default judge, half of
the web at most, and the first so many pages of that crawl are judged; far more of these are wanted
than of those in breadth-first order.

A row is one judge with one form of the wish: precision, recall and F1 of its verdicts, average
precision, and F1 at the threshold that is best for this very task, which nobody knows; `when` is
`arrival` (each page judged once, in the order of the crawl) or `end` (all revisions made). `crawl`
is the number of pages of a focused crawl, 0 in breadth-first order.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.relevance import Relevance
from spoor.judges.similarity import Bm25, TfIdf, page_stems
from spoor.judges.spec import judge_of
from spoor.judges.topic import TopicFile, judge_of_topic, topic_of_phrase
from spoor.judges.wish import parse
from spoor.lab.cells import Kind, Row
from spoor.lab.digests import data_digest
from spoor.lab.experiment import Experiment
from spoor.lab.tables import check_keys, table_of, text_of
from spoor.lab.webs import web_folder
from spoor.protocols import Judge, Rejudges
from spoor.simulation.metrics import breadth_first_order
from spoor.simulation.replay import Replay
from spoor.types import Judgement, Page, Topic
from spoor.types import Task as PolicyTask
from spoor.worlds.folders import open_web

SETTINGS = ("languages", "half", "within")
"""By web."""
EXAMPLES = (1, 3, 10)
FORMS_OF = 3
"""All forms of a wish are tried with each task whose number has this divisor, unless the experiment
sets `forms_of`; there are many."""
FOLDS = 3
FEATURES = 10_000
"""Words of the classifier that is told all labels."""


@dataclass(frozen=True, slots=True)
class Task:
    """A cell: one wish on one web, by all judges."""

    web: str
    folder: str
    sites: tuple[str, ...]
    roots: tuple[str, ...]
    within: str
    pages: int
    want: tuple[str, ...]
    words: str
    language: str
    half: str
    all_forms: bool
    """Whether all forms of the wish are tried."""
    crawls: tuple[int, ...] = ()
    """Pages of focused crawls that are judged too."""
    added: bool = False
    """Whether it came to the experiment later than the others."""

    @property
    def name(self) -> str:
        return f"{self.web}, {self.words}"

    @property
    def group(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Tasks of a group share the pages."""
        return self.folder, self.sites, self.roots

    def identity(self) -> object:
        return [asdict(self), data_digest(self.folder)]


def plan(experiment: Experiment, out: Path) -> list[Task]:
    """All tasks of an experiment."""
    name, settings = experiment.name, experiment.settings
    check_keys(settings, (*SETTINGS, "added", "crawls", "forms_of"), name, "setting")
    forms_of = settings.get("forms_of", FORMS_OF)
    if type(forms_of) is not int or forms_of < 1:
        raise InputError(f"{name}: forms_of is a number from 1 on")
    crawls = settings.get("crawls", [])
    if not isinstance(crawls, list) or not all(type(n) is int and n > 0 for n in crawls):
        raise InputError(f"{name}: crawls is a list of numbers of pages, as in [100, 300]")
    added = settings.get("added", [])
    names = [web.name for web in experiment.webs]
    if not isinstance(added, list) or not all(one in names for one in added):
        raise InputError(f"{name}: added is a list of names of its webs")
    if not experiment.webs or not experiment.targets:
        raise InputError(f"{name}: name webs and targets")
    cells: list[Task] = []
    for web in experiment.webs:
        folder = web_folder(web, out)
        for target in experiment.targets_of(web):
            judge_of(target.want)
            by_web = [text_of(table_of(settings, key, name), web.name, name) for key in SETTINGS]
            cells.append(
                Task(
                    web.name,
                    str(folder),
                    web.sites,
                    web.roots,
                    by_web[2],
                    experiment.pages or 1_000,
                    target.want,
                    target.topic,
                    by_web[0] or "English",
                    by_web[1] or "report",
                    len(cells) % forms_of == 0,
                    tuple(sorted(crawls)),
                    web.name in added,
                )
            )
    return cells


# ---------------------------------------------------------------- pages


@lru_cache(maxsize=1)
def pages_of(
    folder: str, sites: tuple[str, ...], roots: tuple[str, ...], within: str, most: int
) -> list[Page]:
    """The pages of a web that are judged, breadth-first."""
    fact = judge_of([within]) if within else None
    pages: list[Page] = []
    seen: set[str] = set()
    for world in [open_web(Path(folder), site=site) for site in sites] or [open_web(Path(folder))]:
        graph = world.graph()
        number = graph.index()
        for root in roots or world.roots():
            for at in breadth_first_order(graph, number[root]):
                url = graph.urls[at]
                if url in seen:
                    continue
                seen.add(url)
                page = world.page(url)
                if fact is None or fact.judge(page).relevant:
                    pages.append(replace(page, links=tuple(page.links)))
                if len(pages) >= most:
                    return pages
    return pages


def fetched_by_crawl(task: Task) -> list[Page]:
    """The pages that a focused crawl for the wish fetches, in its order: by `trail` with the
    default judge, as many as the largest of `crawls`, of half the web at most."""
    fact = judge_of([task.within]) if task.within else None
    world = open_web(Path(task.folder), site=task.sites[0] if task.sites else None)
    most = min(max(task.crawls), len(world.graph().urls) // 2)
    topic = topic_of_phrase(task.words).topic
    policy = registry.build("policies", "trail", PolicyTask(np.random.default_rng(0), topic))
    crawl = Crawl(policy, BY_WORDS["relevance"](task.words), MemoryFrontier(), pages=most)
    crawl.seed(task.roots or world.roots()[:1])
    pages = (out.page for out in Replay(crawl, world, in_flight=1) if out.page is not None)
    return [
        replace(page, links=tuple(page.links))
        for page in pages
        if fact is None or fact.judge(page).relevant
    ]


# ---------------------------------------------------------------- forms of a wish


def forms(words: str) -> dict[str, str]:
    """The same wish, as other people type it."""
    parts = re.findall(r"[^\s,]+", words)
    found = {"as typed": words, "pages about": f"pages about {words}"}
    if len(parts) > 1:
        longest = max(parts, key=len)
        found |= {"spaces": " ".join(parts), "commas": ", ".join(parts), "one word": longest}
        found["phrase"] = f'"{" ".join(parts)}"'
    slip = _slip(max(parts, key=len))
    if slip:
        found["one slip"] = words.replace(max(parts, key=len), slip)
    if words.isascii():
        last = parts[-1]
        found["plural"] = words[: -len(last)] + (last[:-1] if last.endswith("s") else f"{last}s")
    return {name: form for name, form in found.items() if name == "as typed" or form != words}


def _slip(word: str) -> str:
    """The word with two neighbouring letters exchanged; empty for a short word."""
    middle = len(word) // 2
    if len(word) < 6 or ord(max(word)) > 0x4FF:
        return ""
    return word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]


# ---------------------------------------------------------------- judges


def old_default(words: str) -> Judge:
    """The judge of `--topic WORDS` until this experiment: keywords, any part between commas."""
    phrases = [part.strip() for part in words.split(",") if part.strip()]
    topic = Topic(words, keywords=tuple(phrases) if len(phrases) > 1 else ())
    return judge_of_topic(TopicFile(topic, "keywords"))


BY_WORDS: Mapping[str, Callable[[str], Judge]] = {
    "relevance": lambda words: Relevance(parse(words)),
    "old default": old_default,
    "BM25": Bm25,
    "tf-idf": lambda words: TfIdf([words]),
}
"""Judges by words: the default, and what came before it."""

Verdicts = Sequence[tuple[float, bool]]
"""Score and relevance of each page."""


def judged(judge: Judge, pages: Sequence[Page]) -> dict[str, Verdicts]:
    """What a judge says of all pages: `arrival`, and `end` where it revises."""
    said = {page.url: judge.judge(page) for page in pages}
    found = {"arrival": _verdicts(said, pages)}
    if isinstance(judge, Rejudges):
        said.update(judge.revise())
        found["end"] = _verdicts(said, pages)
    return found


def _verdicts(judgements: Mapping[str, Judgement], pages: Sequence[Page]) -> Verdicts:
    return [(judgements[page.url].score, judgements[page.url].relevant) for page in pages]


BY_EXAMPLES: Mapping[str, Callable[[Sequence[Page]], Judge]] = {
    "relevance": lambda pages: Relevance(positive=pages),
    "tf-idf": lambda pages: TfIdf([f"{page.title} {page.text}"[:4_000] for page in pages]),
}
"""Judges by examples: the default, and what `topic make` gave for a few positive pages."""


def ceiling(pages: Sequence[Page], truth: Sequence[bool]) -> Verdicts:
    """A classifier that is told all labels: each page by the model of the other folds."""
    linear, extraction, selection = import_extra(
        "classifier",
        "the ceiling",
        "sklearn.linear_model",
        "sklearn.feature_extraction.text",
        "sklearn.model_selection",
    )
    labels = np.array(truth)
    least = int(min(labels.sum(), (~labels).sum()))
    if least < 2:
        return [(0.0, False)] * len(pages)
    grams = extraction.TfidfVectorizer(
        analyzer=page_stems if _spaced(pages) else "char",
        **({} if _spaced(pages) else {"ngram_range": (2, 2)}),
        sublinear_tf=True,
        max_features=FEATURES,
    )
    texts = pages if _spaced(pages) else [f"{page.title} {page.text[:3_000]}" for page in pages]
    rows = grams.fit_transform(texts)
    scores = selection.cross_val_predict(
        linear.LogisticRegression(C=10.0, class_weight="balanced", max_iter=300),
        rows,
        labels,
        cv=selection.StratifiedKFold(min(FOLDS, least), shuffle=True, random_state=0),
        method="predict_proba",
    )[:, 1]
    return [(float(score), bool(score >= 0.5)) for score in scores]


def _spaced(pages: Sequence[Page]) -> bool:
    sample = "".join(page.text[:500] for page in pages[:200])
    return sum("\u3040" <= letter <= "\u9fff" for letter in sample) < 0.15 * len(sample)


# ---------------------------------------------------------------- figures


def figures(verdicts: Verdicts, truth: Sequence[bool]) -> Row:
    """Precision, recall and F1 of verdicts, average precision, and the best F1 of any threshold."""
    hits = sum(yes and true for (_, yes), true in zip(verdicts, truth, strict=True))
    told, wanted = sum(yes for _, yes in verdicts), sum(truth)
    scores = np.array([score for score, _ in verdicts])
    order = np.argsort(-scores, kind="stable")
    found = np.cumsum(np.array(truth)[order])
    last = np.append(np.diff(scores[order]) != 0, True)  # equal scores stand or fall together
    counts = np.arange(1, len(order) + 1)
    f1 = 2 * found / (counts + wanted)
    precision = np.where(last, found / counts, 0.0)
    # Of equal scores each has the precision of all of them.
    steps = np.flatnonzero(last)
    gained = np.diff(np.append(0, found[steps]))
    return {
        "told": told,
        "precision": hits / told if told else 0.0,
        "recall": hits / wanted,
        "f1": 2 * hits / (told + wanted),
        "average_precision": float((gained * precision[steps]).sum() / wanted),
        "best_f1": float(f1[last].max()),
    }


def run(cells: Sequence[Task], out: Path) -> Iterator[list[Row]]:
    """The rows of each task of one web."""
    for cell in cells:
        pages = pages_of(cell.folder, cell.sites, cell.roots, cell.within, cell.pages)
        fact = judge_of(cell.want)
        truth = [fact.judge(page).relevant for page in pages]
        rows = list(_rows(cell, pages, truth)) if 2 < sum(truth) < len(truth) else []
        if cell.crawls:
            rows += _of_crawls(cell, fact)
        yield rows


def _of_crawls(cell: Task, fact: Judge) -> Iterator[Row]:
    """The rows of the default judge on the first pages of a focused crawl."""
    fetched = fetched_by_crawl(cell)
    sizes = [size for at, size in enumerate(cell.crawls) if [0, *cell.crawls][at] < len(fetched)]
    for size in sizes:
        pages = fetched[:size]
        truth = [fact.judge(page).relevant for page in pages]
        if not 2 < sum(truth) < len(truth):
            continue
        for when, verdicts in judged(BY_WORDS["relevance"](cell.words), pages).items():
            yield {
                **_named(cell, pages, truth),
                "contender": "relevance",
                "form": "as typed",
                "when": when,
                "crawl": size,
                **figures(verdicts, truth),
            }


def _named(cell: Task, pages: Sequence[Page], truth: Sequence[bool]) -> Row:
    """What a row says of its task."""
    return {
        "half": cell.half,
        "language": cell.language,
        "web": cell.web,
        "words": cell.words,
        "pages": len(pages),
        "wanted": sum(truth),
        "crawl": 0,
        "added": cell.added,
    }


def _rows(cell: Task, pages: Sequence[Page], truth: Sequence[bool]) -> Iterator[Row]:
    task = _named(cell, pages, truth)

    def row(judge: str, form: str, when: str, verdicts: Verdicts, seconds: float) -> Row:
        milliseconds = round(1000 * seconds / len(pages), 3)
        rest = figures(verdicts, truth)
        name = {"contender": judge, "form": form, "when": when}
        return {**task, **name, **rest, "cpu_ms_per_page": milliseconds}

    for name, make in BY_WORDS.items():
        for form, words in forms(cell.words).items():
            if form == "as typed" or (cell.all_forms and name in ("relevance", "old default")):
                try:
                    judge = make(words)
                except InputError:  # no word that it knows
                    yield row(name, form, "arrival", [(0.0, False)] * len(pages), 0.0)
                    continue
                start = time.process_time()
                said = judged(judge, pages)
                seconds = time.process_time() - start
                for when, verdicts in said.items():
                    yield row(name, form, when, verdicts, seconds)
    yield row("classifier, all labels", "as typed", "end", ceiling(pages, truth), 0.0)
    yield from _by_examples(task, pages, truth)


def _by_examples(task: Row, pages: Sequence[Page], truth: Sequence[bool]) -> Iterator[Row]:
    """Judges by examples, which are drawn among the wanted pages and are not counted."""
    wanted = [at for at, true in enumerate(truth) if true]
    for count in EXAMPLES:
        if len(wanted) < count + 3:
            continue
        key = f"{task['web']} {task['words']}".encode()
        chosen = sorted(wanted, key=lambda at: sha256(key + pages[at].url.encode()).digest())
        given = [pages[at] for at in chosen[:count]]
        urls = {page.url for page in given}
        rest = [at for at, page in enumerate(pages) if page.url not in urls]
        others, labels = [pages[at] for at in rest], [truth[at] for at in rest]
        for name, make in BY_EXAMPLES.items():
            start = time.process_time()
            said = judged(make(given), others)
            seconds = time.process_time() - start
            for when, verdicts in said.items():
                yield {
                    **task,
                    "contender": name,
                    "form": f"{count} examples",
                    "when": when,
                    **figures(verdicts, labels),
                    "cpu_ms_per_page": round(1000 * seconds / len(others), 3),
                }


def _all_rows(cell: Task, rows: list[Row]) -> list[Row]:
    return rows


KIND = Kind("judges", plan, run, rows=_all_rows, row_name="rows")
