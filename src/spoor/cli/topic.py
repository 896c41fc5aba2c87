"""`spoor topic`: make a topic file, and see what it would count as relevant."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoor.cli.options import (
    AllowPrivate,
    AsJson,
    ConnectTo,
    Contact,
    Delay,
    Seed,
    VectorsFile,
    flag,
)
from spoor.cli.screen import progress
from spoor.display import shown
from spoor.distribution import VERSION
from spoor.errors import InputError

if TYPE_CHECKING:
    from spoor.judges.classifier import Quality
    from spoor.live.examples import Example, ExampleReader
    from spoor.protocols import Judge
from spoor.types import Page

EXAMPLE_TEXT = 4_000
"""Characters of an example page that a topic file holds."""
TELLING = 12

Sources = Annotated[
    list[str] | None,
    typer.Option(help="A URL, file of URLs, page, folder of pages, JSON lines, WARC or web."),
]


def add(app: typer.Typer) -> None:
    topic = typer.Typer(help="Say what you want, in a file.", no_args_is_help=True)
    topic.command()(make)
    topic.command("test")(try_out)
    app.add_typer(topic, name="topic")


def make(
    out: Annotated[Path, typer.Option(help="The topic file: NAME.topic.")],
    positive: Sources = None,
    negative: Sources = None,
    background: Sources = None,
    background_pages: Annotated[
        int, typer.Option(min=1, help="Pages taken at random where nothing stands for the rest.")
    ] = 60,
    query: Annotated[str, typer.Option(help="What is wanted, in words: ranked by BM25.")] = "",
    keyword: Annotated[list[str] | None, typer.Option(help="A word or phrase.")] = None,
    pattern: Annotated[
        list[str] | None, typer.Option(help="Regular expression of titles and texts.")
    ] = None,
    url_pattern: Annotated[
        list[str] | None, typer.Option(help="Regular expression of URLs.")
    ] = None,
    vectors: VectorsFile = None,
    encoder: Annotated[
        str, typer.Option(help="Folder of a model2vec encoder, or module:function.")
    ] = "",
    ask: Annotated[
        str, typer.Option(help="module:function that is asked about each page, and costs.")
    ] = "",
    prompt: Annotated[str, typer.Option(help="What --ask is asked.")] = "",
    budget: Annotated[
        float | None, typer.Option(min=0, help="What the answers of --ask may cost in all.")
    ] = None,
    name: Annotated[str, typer.Option(help="The topic in a few words.")] = "",
    method: Annotated[str, typer.Option(help="How pages are judged (by what is given).")] = "",
    threshold: Annotated[
        float | None, typer.Option(help="Score from which a page is relevant, in (0, 1].")
    ] = None,
    language: Annotated[str, typer.Option(help="Of the stems of words.")] = "english",
    seed: Seed = 0,
    delay: Delay = 1.0,
    contact: Contact = "",
    allow_private: AllowPrivate = None,
    connect_to: ConnectTo = "",
) -> None:
    """Make a topic file from examples, words, patterns, vectors or a function."""
    from spoor.judges.topic import METHODS, SUFFIXES, TopicFile, judge_of_topic
    from spoor.registry import nearest
    from spoor.types import Topic

    if not out.name.endswith(SUFFIXES):
        raise InputError(f"--out {out}: the name of a topic file ends with .topic or .toml")
    if not out.parent.is_dir() or out.is_dir():
        raise InputError(f"cannot write {out}: its folder is not there, or it is one itself")
    if threshold is not None and not 0.0 < threshold <= 1.0:
        raise InputError(f"--threshold lies in (0, 1], as scores do, not {threshold:g}")
    given = {
        "ask": bool(ask),
        "encoder": bool(encoder),
        "vectors": bool(vectors),
        "positive": bool(positive),
        "query": bool(query),
        "keyword": bool(keyword),
        "pattern": bool(pattern or url_pattern),
    }
    chosen = method or next((_METHOD_OF[key] for key, there in given.items() if there), "")
    if not chosen:
        raise InputError("say what is wanted: --positive, --query, --keyword, --pattern or --ask")
    if chosen not in METHODS:
        have = ", ".join(METHODS)
        raise InputError(f"unknown method {chosen!r}{nearest(chosen, METHODS)}; there are: {have}")
    for option, there, owner in (
        ("--negative", negative, "classifier"),
        ("--background", background, "classifier"),
        ("--vectors", vectors, "vectors"),
        ("--encoder", encoder, "encoder"),
        ("--ask", ask, "llm"),
        ("--prompt", prompt, "llm"),
        ("--budget", budget is not None, "llm"),
    ):
        if there and chosen != owner:
            raise InputError(f"{option} goes with the method {owner!r}, and this is {chosen!r}")

    draft = _Draft(name=name, query=query, keywords=keyword or [], language=language)
    draft.relevant = {"method": chosen}
    if language != "english":
        draft.relevant["language"] = language
    if threshold is not None:
        draft.relevant["threshold"] = threshold
    local = encoder and Path(encoder).is_dir()
    named: dict[str, Any] = {
        "vectors": _beside(vectors, out) if vectors else "",
        "encoder": _beside(Path(encoder), out) if local else encoder,
        "ask": ask,
        "prompt": prompt,
    }
    draft.relevant |= {key: value for key, value in named.items() if value}
    if budget is not None:
        draft.relevant["budget"] = budget
    with progress("pages", None) as tell:
        reader = _reader(delay, contact, allow_private, connect_to, seed, tell)
        if chosen == "classifier":
            _learn(draft, reader, out, positive, negative, background, background_pages, seed)
        else:
            (examples,) = reader.read(positive or [])
            draft.texts = [_text(page) for page in _came(draft, "positive", examples)]
    draft.patterns, draft.url_patterns = pattern or [], url_pattern or []
    if chosen != "classifier":
        # What is named must be there and must work, before anything is written.
        about = Topic(draft.called(), "", tuple(draft.keywords), tuple(draft.texts))
        told = {key: draft.relevant[key] for key in METHODS[chosen] if key in draft.relevant}
        if not (about.text.strip() or about.examples or draft.patterns or draft.url_patterns):
            raise InputError(f"the method {chosen!r} needs words: give --name, --query or examples")
        judge_of_topic(
            TopicFile(
                about,
                chosen,
                threshold,
                language=language,
                patterns=tuple(draft.patterns),
                url_patterns=tuple(draft.url_patterns),
                settings=told,
                path=out,
            )
        )
    draft.write(out)
    lines = [f"{out}: {chosen}{draft.summary}", *draft.notes]
    typer.echo("\n".join([*lines, f"  try it: spoor topic test {out} URL|FILE..."]))


_METHOD_OF = {
    "ask": "llm",
    "encoder": "encoder",
    "vectors": "vectors",
    "positive": "classifier",
    "query": "bm25",
    "keyword": "keywords",
    "pattern": "patterns",
}
"""What is given → the method, the first of these that is."""


@dataclass(slots=True)
class _Draft:
    """A topic file in the making."""

    name: str = ""
    query: str = ""
    keywords: Sequence[str] = ()
    texts: Sequence[str] = ()
    patterns: Sequence[str] = ()
    url_patterns: Sequence[str] = ()
    language: str = "english"
    relevant: dict[str, Any] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict)
    summary: str = ""
    notes: list[str] = field(default_factory=list)

    def called(self) -> str:
        return self.name or self.query

    def write(self, out: Path) -> None:
        import tomli_w

        told: dict[str, Any] = {"name": self.called()} if self.called() else {}
        for key, value in (
            ("keywords", self.keywords),
            ("patterns", self.patterns),
            ("url_patterns", self.url_patterns),
            ("example_texts", self.texts),
        ):
            if value:
                told[key] = list(value)
        told["relevant"] = self.relevant
        told["made"] = {"with": f"spoor {VERSION}", **self.made}
        part = out.with_name(f"{out.name}.part")
        try:
            part.write_text(tomli_w.dumps(told), encoding="utf-8")
            part.replace(out)
        except OSError as error:
            raise InputError(f"cannot write {out}: {error.strerror}") from error


def _learn(
    draft: _Draft,
    reader: ExampleReader,
    out: Path,
    positive: list[str] | None,
    negative: list[str] | None,
    background: list[str] | None,
    background_pages: int,
    seed: int,
) -> None:
    """A classifier from examples: the model beside the topic file, and what to say of it."""
    from spoor.judges.classifier import FEW, SITES, fit, telling
    from spoor.live.examples import NOWHERE
    from spoor.web.urls import host, registrable_domain

    if not positive:
        raise InputError("a classifier is learned from examples: give --positive")
    groups = {"positive": positive, "negative": negative or [], "background": background or []}
    found = reader.read(*groups.values())
    wanted, others, rest = (
        _came(draft, kind, examples) for kind, examples in zip(groups, found, strict=True)
    )
    what = ", ".join(background or [])
    if (
        not background
        and not negative
        and (urls := [page.url for page in wanted if page.url != NOWHERE])
    ):
        domains = sorted({registrable_domain(host(url)) for url in urls})
        rest, what = reader.at_random(urls, background_pages), ", ".join(domains)
    # What stands for all other pages must not hold the examples themselves.
    known = {page.url for page in wanted} - {NOWHERE} | {_text(page) for page in wanted}
    rest = [page for page in rest if page.url not in known and _text(page) not in known]
    what = f"{len(rest)} pages {'of' if background else 'taken at random from'} {what}"
    if not others and not rest:
        raise InputError(
            "nothing stands for the pages that are not wanted: give --negative, or --background "
            "with pages of any kind (a web, an archive, a folder)"
        )
    threshold = float(draft.relevant.get("threshold", 0.5))
    model, quality = fit(
        wanted, [*others, *rest], threshold=threshold, language=draft.language, seed=seed
    )
    words = telling(model, wanted, TELLING)
    if not draft.keywords:
        draft.keywords = words
    draft.name = draft.called() or ", ".join(words[:3])
    path = out.with_suffix(".npz")
    model.write(path)
    draft.relevant |= {
        "model": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "threshold": threshold,
    }
    draft.made |= {
        "positives": quality.positives,
        "negatives": quality.negatives,
        "negatives_are": "; ".join(["given as such"] * bool(others) + [what] * bool(rest)),
        "folds": quality.folds,
        "held_out_by": quality.by,
        **{key: round(getattr(quality, key), 4) for key in ("auc", "brier", "precision", "recall")},
    }
    draft.summary = (
        f", from {quality.positives} positive and {quality.negatives} negative pages with "
        f"different texts; its model is {path.name}"
    )
    draft.notes += [
        f"  held-out {_held_out(quality)}: area under ROC {quality.auc:.3f}, Brier "
        f"{quality.brier:.3f}; at {threshold:g} precision {quality.precision:.2f}, "
        f"recall {quality.recall:.2f}",
        f"  speaks for it: {', '.join(words)}",
    ]
    if rest:
        draft.notes.append(
            f"  note: {what} count as not wanted; those among them that are wanted make the "
            "probabilities too low"
        )
    if quality.by == "page" and quality.sites != 1:
        draft.notes.append(
            f"  note: pages of {SITES} sites or more, two of each kind, would be held out by site, "
            "and say more of sites yet to come"
        )
    if min(quality.positives, quality.negatives) < FEW:
        draft.notes.append(
            f"  note: fewer than {FEW} pages of a kind: these figures, and the probabilities, are "
            "worth little"
        )


def _held_out(quality: Quality) -> str:
    if quality.by == "site":
        return f"sites ({quality.sites} in {quality.folds} folds)"
    return f"pages ({quality.folds} folds, not by site)"


def _came(draft: _Draft, kind: str, examples: Sequence[Example]) -> list[Page]:
    """The pages that came; a note says which did not."""
    for lost in [item for item in examples if item.page is None]:
        draft.notes.append(f"  {kind} page left out: {shown(lost.name)}: {shown(lost.failure)}")
    pages = [item.page for item in examples if item.page is not None]
    if examples and not pages:
        raise InputError(f"no {kind} page came: {examples[0].name}: {examples[0].failure}")
    return pages


def _reader(
    delay: float,
    contact: str,
    allow_private: list[str] | None,
    connect_to: str,
    seed: int,
    tell: Any,
) -> ExampleReader:
    from spoor.live.examples import ExampleReader
    from spoor.settings import Settings

    given = {"delay": delay, "contact": contact, "seed": seed, "connect_to": connect_to}
    settings = Settings.of({**given, "allow_private": allow_private or ()}, spell=flag)
    return ExampleReader(settings, on_page=tell)


def _text(page: Page) -> str:
    return f"{page.title}\n{page.text}".strip()[:EXAMPLE_TEXT]


def _beside(path: Path, out: Path) -> str:
    """How a topic file names a file: seen from its own folder."""
    return os.path.relpath(path, out.parent)


# ---------------------------------------------------------------- try it


def try_out(
    topic: Annotated[str, typer.Argument(help="A topic file, or words.")],
    pages: Annotated[
        list[str], typer.Argument(metavar="URL|FILE...", help="Pages, as for `spoor topic make`.")
    ],
    delay: Delay = 1.0,
    contact: Contact = "",
    allow_private: AllowPrivate = None,
    connect_to: ConnectTo = "",
    as_json: AsJson = False,
) -> None:
    """Show what TOPIC would count as relevant, and why, before anything is crawled."""
    from spoor.judges.topic import judge_of_topic, read_topic, topic_of
    from spoor.protocols import KeepsAnswers

    subject = read_topic(topic) if Path(topic).is_file() else topic_of(topic)
    judge = judge_of_topic(subject)
    if isinstance(judge, KeepsAnswers):
        judge.keep_answers(Path(f"{topic}.answers.jsonl"), lambda line: typer.echo(line, err=True))
    with progress("pages", None, quiet=as_json) as tell:
        (examples,) = _reader(delay, contact, allow_private, connect_to, 0, tell).read(pages)
    told = judged(judge, examples)
    threshold = getattr(judge, "threshold", None)
    summary = {
        "topic": topic,
        "method": subject.method,
        "threshold": threshold,
        "pages": told,
        "relevant": sum(row["relevant"] is True for row in told),
        "lost": sum(row["relevant"] is None for row in told),
        "judge": dict(judge.costs()) if isinstance(judge, KeepsAnswers) else {},
    }
    typer.echo(json.dumps(summary) if as_json else describe(summary))
    if summary["lost"]:
        raise typer.Exit(1)


def judged(judge: Judge, examples: Sequence[Example]) -> list[dict[str, Any]]:
    """What a judge says of each page; of one that did not come, why. A judge that learns as it
    goes sees all of them first, as it would in a crawl."""
    from spoor.protocols import Stateful

    if isinstance(judge, Stateful):
        for example in examples:
            if example.page is not None:
                judge.judge(example.page)
    rows: list[dict[str, Any]] = []
    for example in examples:
        if example.page is None:
            rows.append({"page": example.name, "relevant": None, "lost": example.failure})
            continue
        said = judge.judge(example.page)
        why = sorted(said.why, key=lambda reason: -reason[1])
        rows.append(
            {
                "page": example.name,
                "title": example.page.title,
                "score": round(said.score, 4),
                "relevant": said.relevant,
                "why": [[reason, round(share, 4)] for reason, share in why],
            }
        )
    return rows


def describe(summary: dict[str, Any]) -> str:
    """The same for a person."""
    at = summary["threshold"]
    lines = [f"{summary['topic']}: {summary['method']}" + (f", relevant from {at:g}" if at else "")]
    for row in summary["pages"]:
        if row["relevant"] is None:
            lines.append(f"{'lost':>12}        {shown(row['page'])}: {shown(row['lost'])}")
            continue
        verdict = "relevant" if row["relevant"] else "not relevant"
        lines.append(f"{verdict:>12}  {row['score']:.3f} {shown(row['page'])}")
        title = shown(row["title"])
        lines += [f"{'':20} {title}"] if title else []
        lines += [f"{'':20} {share:+.3f} {shown(reason)}" for reason, share in row["why"]]
        if not row["why"]:
            lines.append(f"{'':20} nothing on it speaks for the topic")
    count = len(summary["pages"]) - summary["lost"]
    lines.append(f"{summary['relevant']} of {count} pages would count as relevant")
    if summary["judge"]:
        asked = summary["judge"]
        lines.append(
            f"{asked['asked']:g} answers, cost {asked['cost']:g}; {asked['fell_back']:g} pages "
            "judged without"
        )
    return "\n".join(lines)
