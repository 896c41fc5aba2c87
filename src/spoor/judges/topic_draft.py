"""Making a topic file: its method, its examples, the classifier trained on them.

The caller reads the examples; this module writes only the topic file and its model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import tomli_w

from spoor.display import shown
from spoor.distribution import VERSION
from spoor.errors import InputError, cannot_write
from spoor.files import write_whole
from spoor.judges.classifier import FEW_PAGES, MIN_SITES, Quality, fit, strongest_words
from spoor.judges.topic import METHODS, TopicFile, judge_of_topic
from spoor.protocols import Judge, Rejudges, Stateful
from spoor.registry import nearest
from spoor.types import Judgement, Page, Topic

EXAMPLE_TEXT = 4_000
"""Characters of an example page that a topic file holds."""
NOWHERE = "http://file.invalid/"
"""The URL of a page read from a file: it has no words, and no host has this name."""

KEYWORDS = 12
"""Most words of a classifier that its topic file lists."""

METHOD_OF = {
    "ask": "llm",
    "encoder": "encoder",
    "vectors": "vectors",
    "positive": "classifier",
    "query": "bm25",
    "keyword": "keywords",
    "pattern": "patterns",
}
"""Option that is given → method; the first of these counts."""

OWNERS = (
    ("--negative", "classifier"),
    ("--background", "classifier"),
    ("--vectors", "vectors"),
    ("--encoder", "encoder"),
    ("--ask", "llm"),
    ("--prompt", "llm"),
    ("--budget", "llm"),
)
"""(option, the only method that it goes with)."""


class Example(Protocol):
    """An example that a user named: its page, or why it has none."""

    @property
    def name(self) -> str: ...
    @property
    def page(self) -> Page | None: ...
    @property
    def failure(self) -> str: ...


def choose_method(method: str, given: Mapping[str, bool], options: Mapping[str, bool]) -> str:
    """The method of a topic file: `method`, or if that is empty, the first that `METHOD_OF` has for
    the given options.

    `given`: key of `METHOD_OF` → whether it is given; `options`: the same for `OWNERS`. Raises
    InputError if nothing is given, for an unknown method, and for an option of another method.
    """
    chosen = method or next((METHOD_OF[key] for key in METHOD_OF if given[key]), "")
    if not chosen:
        raise InputError("give a topic: --positive, --query, --keyword, --pattern or --ask")
    if chosen not in METHODS:
        have = ", ".join(METHODS)
        raise InputError(f"unknown method {chosen!r}{nearest(chosen, METHODS)}; there are: {have}")
    for option, owner in OWNERS:
        if options[option] and chosen != owner:
            raise InputError(f"{option} goes with the method {owner!r}, and this is {chosen!r}")
    return chosen


@dataclass(slots=True)
class TopicDraft:
    """A topic file that is not written yet."""

    name: str = ""
    query: str = ""
    keywords: Sequence[str] = ()
    texts: Sequence[str] = ()
    example_urls: Sequence[str] = ()
    """Pages that count as soon as the crawl fetches them."""
    negative_texts: Sequence[str] = ()
    patterns: Sequence[str] = ()
    url_patterns: Sequence[str] = ()
    language: str = "english"
    relevant: dict[str, Any] = field(default_factory=dict)
    """The table `relevant`: how a page is judged."""
    made: dict[str, Any] = field(default_factory=dict)
    """The table `made`: how a classifier was trained."""
    summary: str = ""
    notes: list[str] = field(default_factory=list)
    """Lines for the user."""

    def title(self) -> str:
        return self.name or self.query

    def pages(self, kind: str, examples: Sequence[Example]) -> list[Page]:
        """The pages of some examples; adds a note for each one without a page. Raises InputError if
        no example has a page."""
        for missing in [item for item in examples if item.page is None]:
            self.notes.append(
                f"  {kind} page left out: {shown(missing.name)}: {shown(missing.failure)}"
            )
        pages = [item.page for item in examples if item.page is not None]
        if examples and not pages:
            raise InputError(f"no {kind} page came: {examples[0].name}: {examples[0].failure}")
        return pages

    def take_texts(self, examples: Sequence[Example]) -> None:
        """Add the texts of positive examples."""
        self.texts = [text_of(page) for page in self.pages("positive", examples)]

    def take_few(self, positive: Sequence[Page], negative: Sequence[Page]) -> None:
        """Add examples, fewer than a classifier needs: the default judge learns what they have in
        common, against the pages of the crawl."""
        self.texts = [text_of(page) for page in positive]
        self.example_urls = [page.url for page in positive if page.url.startswith("http")]
        self.negative_texts = [text_of(page) for page in negative]
        self.relevant["method"] = "words"
        if any("list" in page.flags for page in positive):
            self.relevant["list_pages"] = True
            self.notes.append("  note: examples list documents, so that list pages count, too")
        self.summary = f", by likeness to {len(positive)} pages, against what the crawl sees"

    def learn(
        self,
        out: Path,
        positive: Sequence[Page],
        negative: Sequence[Page],
        background: Sequence[Page],
        *,
        source: str,
        seed: int,
    ) -> None:
        """Train a classifier, and write its model beside the topic file `out`. `source` describes
        the origin of the background pages. Raises InputError without pages of both kinds."""
        # The background must not have the examples themselves.
        known = {page.url for page in positive} - {NOWHERE} | {text_of(page) for page in positive}
        rest = [page for page in background if page.url not in known and text_of(page) not in known]
        if not negative and not rest:
            raise InputError(
                "there are no irrelevant pages to learn from: give --negative, or "
                "--background with pages of any kind (a web, an archive, a folder)"
            )
        threshold = float(self.relevant.get("threshold", 0.5))
        model, quality = fit(
            positive, [*negative, *rest], threshold=threshold, language=self.language, seed=seed
        )
        words = strongest_words(model, positive, KEYWORDS)
        self.keywords = self.keywords or words
        self.name = self.title() or ", ".join(words[:3])
        path = out.with_suffix(".npz")
        model.write(path)
        self.relevant |= {
            "model": path.name,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "threshold": threshold,
        }
        others = f"{len(rest)} pages {source}"
        figures = {name: getattr(quality, name) for name in ("auc", "brier", "precision", "recall")}
        self.made |= {
            "positives": quality.positives,
            "negatives": quality.negatives,
            "negatives_are": "; ".join(["given as such"] * bool(negative) + [others] * bool(rest)),
            "folds": quality.folds,
            "held_out_by": quality.by,
            **{name: round(figure, 4) for name, figure in figures.items()},
        }
        self.summary = (
            f", from {quality.positives} positive and {quality.negatives} negative pages with "
            f"different texts; its model is {path.name}"
        )
        self.notes += quality_notes(quality, threshold, words, others if rest else "")

    def check(self, out: Path) -> None:
        """Raises InputError if its judge cannot be made, a missing file for instance."""
        method = self.relevant["method"]
        topic = Topic(self.title(), "", tuple(self.keywords), tuple(self.texts))
        if not (topic.text.strip() or topic.examples or self.patterns or self.url_patterns):
            raise InputError(f"the method {method!r} needs words: give --name, --query or examples")
        judge_of_topic(
            TopicFile(
                topic,
                method,
                self.relevant.get("threshold"),
                language=self.language,
                patterns=tuple(self.patterns),
                url_patterns=tuple(self.url_patterns),
                settings={
                    key: self.relevant[key] for key in METHODS[method] if key in self.relevant
                },
                path=out,
                negative_texts=tuple(self.negative_texts),
            )
        )

    def write(self, out: Path) -> None:
        """Write the topic file. Raises InputError if that fails."""
        table: dict[str, Any] = {"name": self.title()} if self.title() else {}
        for key, value in (
            ("keywords", self.keywords),
            ("patterns", self.patterns),
            ("url_patterns", self.url_patterns),
            ("example_urls", self.example_urls),
            ("example_texts", self.texts),
            ("negative_texts", self.negative_texts),
        ):
            if value:
                table[key] = list(value)
        table["relevant"] = self.relevant
        table["made"] = {"with": f"spoor {VERSION}", **self.made}
        try:
            write_whole(out, tomli_w.dumps(table))
        except OSError as error:
            raise cannot_write(out, error) from error


def text_of(page: Page) -> str:
    """The text of an example in a topic file."""
    return f"{page.title}\n{page.text}".strip()[:EXAMPLE_TEXT]


def quality_notes(
    quality: Quality, threshold: float, words: Sequence[str], others: str
) -> list[str]:
    """Lines about the quality of a classifier on held-out pages, and about its limits."""
    held_out = f"pages ({quality.folds} folds, not by site)"
    if quality.by == "site":
        held_out = f"sites ({quality.sites} in {quality.folds} folds)"
    notes = [
        f"  held-out {held_out}: area under ROC {quality.auc:.3f}, Brier "
        f"{quality.brier:.3f}; at {threshold:g} precision {quality.precision:.2f}, "
        f"recall {quality.recall:.2f}",
        f"  strongest words: {', '.join(words)}",
    ]
    if others:
        notes.append(
            f"  note: {others} count as irrelevant; relevant ones among them make the "
            "probabilities too low"
        )
    if quality.by == "page" and quality.sites != 1:
        notes.append(
            f"  note: pages of {MIN_SITES} sites or more, two of each kind, would be held out by "
            "site, which says more about new sites"
        )
    if min(quality.positives, quality.negatives) < FEW_PAGES:
        notes.append(
            f"  note: fewer than {FEW_PAGES} pages of a kind: these figures, and the "
            "probabilities, are unreliable"
        )
    return notes


# ---------------------------------------------------------------- try it


@dataclass(frozen=True, slots=True)
class _Apart:
    """An example whose page has a URL of its own."""

    name: str
    page: Page | None
    failure: str


def _apart(example: Example, number: int) -> Example:
    page = example.page
    if page is not None and page.url == NOWHERE:
        page = replace(page, url=f"{NOWHERE}{number}")
    return _Apart(example.name, page, example.failure)


def verdicts(judge: Judge, examples: Sequence[Example]) -> list[dict[str, Any]]:
    """The judgement of each page with its reasons; for an example without a page, why it has none.
    A judge that learns has seen all pages: it judges anew, or it sees them all once before."""
    newest: dict[str, Judgement] = {}
    examples = [_apart(example, number) for number, example in enumerate(examples)]
    if isinstance(judge, Stateful):
        for example in examples:
            if example.page is not None:
                newest[example.page.url] = judge.judge(example.page)
    if isinstance(judge, Rejudges):
        newest |= judge.revise()
    rows: list[dict[str, Any]] = []
    for example in examples:
        if example.page is None:
            rows.append({"page": example.name, "relevant": None, "lost": example.failure})
            continue
        judges_anew = isinstance(judge, Rejudges)
        judgement = newest[example.page.url] if judges_anew else judge.judge(example.page)
        why = sorted(judgement.why, key=lambda reason: -reason[1])
        rows.append(
            {
                "page": example.name,
                "title": example.page.title,
                "score": round(judgement.score, 4),
                "relevant": judgement.relevant,
                "why": [[reason, round(share, 4)] for reason, share in why],
            }
        )
    return rows
