"""`spoor topic`: make a topic file, and test it on pages."""

from __future__ import annotations

import json
import os
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
from spoor.display import command_line, printable, shown
from spoor.errors import InputError

if TYPE_CHECKING:
    from spoor.judges.topic_draft import TopicDraft
    from spoor.live.examples import ExampleReader

Sources = Annotated[
    list[str] | None,
    typer.Option(help="A URL, file of URLs, page, folder of pages, JSON lines, WARC or web."),
]

FEW_PAGES = 5
"""Pages from which a test warns that none is relevant; twice as many, that nearly all are."""


def add(app: typer.Typer) -> None:
    topic = typer.Typer(help="Make and test topic files.", no_args_is_help=True)
    topic.command()(make)
    topic.command("test")(try_out)
    app.add_typer(topic, name="topic")


def make(
    out: Annotated[Path, typer.Option(help="The topic file: NAME.topic.")],
    positive: Sources = None,
    negative: Sources = None,
    background: Sources = None,
    background_pages: Annotated[
        int,
        typer.Option(
            min=1, help="Pages taken at random if no --negative or --background is given."
        ),
    ] = 60,
    query: Annotated[str, typer.Option(help="The topic in words: ranked by BM25.")] = "",
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
    method: Annotated[
        str, typer.Option(help="How pages are judged; by default as the options given ask for.")
    ] = "",
    threshold: Annotated[
        float | None, typer.Option(help="Score from which a page is relevant, in (0, 1].")
    ] = None,
    language: Annotated[str, typer.Option(help="Language whose words are stemmed.")] = "english",
    seed: Seed = 0,
    delay: Delay = 1.0,
    contact: Contact = "",
    allow_private: AllowPrivate = None,
    connect_to: ConnectTo = "",
) -> None:
    """Make a topic file from examples, words, patterns, vectors or a function."""
    from spoor.judges.named import allow
    from spoor.judges.topic import SUFFIXES
    from spoor.judges.topic_draft import TopicDraft, choose_method

    allow(ask, encoder)

    if not out.name.endswith(SUFFIXES):
        raise InputError(f"--out {out}: the name of a topic file ends with .topic or .toml")
    if not os.path.isdir(out.parent) or os.path.isdir(out):
        raise InputError(f"cannot write {out}: its folder does not exist, or it is a folder itself")
    if threshold is not None and not 0.0 < threshold <= 1.0:
        raise InputError(f"--threshold lies in (0, 1], as scores do, not {threshold:g}")
    chosen = choose_method(
        method,
        {
            "ask": bool(ask),
            "encoder": bool(encoder),
            "vectors": bool(vectors),
            "positive": bool(positive),
            "query": bool(query),
            "keyword": bool(keyword),
            "pattern": bool(pattern or url_pattern),
        },
        {
            "--negative": bool(negative),
            "--background": bool(background),
            "--vectors": bool(vectors),
            "--encoder": bool(encoder),
            "--ask": bool(ask),
            "--prompt": bool(prompt),
            "--budget": budget is not None,
        },
    )
    draft = TopicDraft(name=name, query=query, keywords=keyword or [], language=language)
    relevant = {
        "method": chosen,
        "language": language if language != "english" else None,
        "threshold": threshold,
        "vectors": _beside(vectors, out) if vectors else None,
        "encoder": _beside(Path(encoder), out) if Path(encoder).is_dir() and encoder else encoder,
        "ask": ask,
        "prompt": prompt,
        "budget": budget,
    }
    draft.relevant = {key: value for key, value in relevant.items() if value not in (None, "")}
    with progress("pages", None) as done:
        reader = _reader(delay, contact, allow_private, connect_to, seed, done)
        if chosen == "classifier":
            few = not method and not background
            _learn(draft, reader, out, positive, negative, background, background_pages, seed, few)
            chosen = draft.relevant["method"]
        else:
            (examples,) = reader.read(positive or [])
            draft.take_texts(examples)
    draft.patterns, draft.url_patterns = pattern or [], url_pattern or []
    if chosen != "classifier":
        draft.check(out)
    draft.write(out)
    lines = [f"{out}: {chosen}{draft.summary}", *draft.notes]
    typer.echo("\n".join([*lines, f"  try it: {command_line('topic', 'test', out)} URL|FILE..."]))


def _learn(
    draft: TopicDraft,
    reader: ExampleReader,
    out: Path,
    positive: list[str] | None,
    negative: list[str] | None,
    background: list[str] | None,
    background_pages: int,
    seed: int,
    few: bool,
) -> None:
    """Read the examples and the background pages of a classifier, and train it. Where there may be
    `few`, examples that are too few for one are for the default judge."""
    from spoor.judges.classifier import MIN_PAGES
    from spoor.judges.topic_draft import NOWHERE
    from spoor.web.urls import domain_of

    if not positive:
        raise InputError("a classifier is learned from examples: give --positive")
    groups = {"positive": positive, "negative": negative or [], "background": background or []}
    read = reader.read(*groups.values())
    yes, no, rest = (
        draft.pages(kind, examples) for kind, examples in zip(groups, read, strict=True)
    )
    if few and len(yes) < MIN_PAGES:
        draft.take_few(yes, no)
        return
    source = f"of {', '.join(background or [])}"
    urls = [page.url for page in yes if page.url != NOWHERE]
    if not background:
        domains = sorted({domain_of(url) for url in urls}) if not negative else []
        source = f"taken at random from {', '.join(domains)}"
        rest = reader.at_random(urls, background_pages) if domains else []
    draft.learn(out, yes, no, rest, source=source, seed=seed)


def _reader(
    delay: float,
    contact: str,
    allow_private: list[str] | None,
    connect_to: str,
    seed: int,
    done: Any,
) -> ExampleReader:
    from spoor.live.examples import ExampleReader
    from spoor.settings import Settings

    given = {"delay": delay, "contact": contact, "seed": seed, "connect_to": connect_to}
    settings = Settings.of({**given, "allow_private": allow_private or ()}, spell=flag)
    return ExampleReader(settings, on_page=done)


def _beside(path: Path, out: Path) -> str:
    """The name of a file in a topic file: relative to its folder."""
    return os.path.relpath(path, out.parent)


# ---------------------------------------------------------------- try it


def try_out(
    topic: Annotated[str, typer.Argument(help="A topic file, or words.")],
    pages: Annotated[
        list[str], typer.Argument(metavar="URL|FILE...", help="Pages, as for `spoor topic make`.")
    ],
    prefer: Annotated[
        str, typer.Option(help="What counts more, as in `spoor crawl`: precision, recall …")
    ] = "",
    delay: Delay = 1.0,
    contact: Contact = "",
    allow_private: AllowPrivate = None,
    connect_to: ConnectTo = "",
    as_json: AsJson = False,
) -> None:
    """Show which pages TOPIC counts as relevant, and why, before a crawl."""
    from spoor.judges.advice import Advisor
    from spoor.judges.no_results import Verdict
    from spoor.judges.topic import judge_of_topic, preferring, read_topic, topic_of
    from spoor.judges.topic_draft import verdicts
    from spoor.protocols import KeepsAnswers
    from spoor.settings import Settings

    subject = read_topic(topic) if Path(topic).is_file() else topic_of(topic)
    judge = judge_of_topic(preferring(subject, Settings.of({"prefer": prefer}, spell=flag).beta))
    if isinstance(judge, KeepsAnswers):
        judge.keep_answers(Path(f"{topic}.answers.jsonl"), lambda line: typer.echo(line, err=True))
    with progress("pages", None, quiet=as_json) as done:
        (examples,) = _reader(delay, contact, allow_private, connect_to, 0, done).read(pages)
    rows = verdicts(judge, examples)
    advisor = Advisor(subject.wish)
    for example in examples:
        if example.page is not None:
            advisor.see(example.page)
    judged = [row for row in rows if row["relevant"] is not None]
    advice = advisor.advice(
        [Verdict(row["page"], row["title"], row["score"], row["relevant"]) for row in judged],
        none_after=FEW_PAGES,
        nearly_all_after=2 * FEW_PAGES,
    )
    threshold = getattr(judge, "threshold", None)
    summary = {
        "topic": topic,
        "method": subject.method,
        "threshold": threshold,
        "pages": rows,
        "relevant": sum(row["relevant"] is True for row in rows),
        "lost": sum(row["relevant"] is None for row in rows),
        "judge": dict(judge.costs()) if isinstance(judge, KeepsAnswers) else {},
        "advice": advice.as_json(),
    }
    typer.echo(json.dumps(summary) if as_json else describe(summary))
    if summary["lost"]:
        raise typer.Exit(1)


def describe(summary: dict[str, Any]) -> str:
    """The same for a person."""
    from spoor.judges.advice import answers_in_words

    threshold = summary["threshold"]
    relevant_from = f", relevant from {threshold:g}" if threshold else ""
    lines = [f"{summary['topic']}: {summary['method']}{relevant_from}"]
    if summary["advice"]["wish"]:
        lines.append(f"looking for {printable(summary['advice']['wish'])}")
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
    lines += map(printable, summary["advice"]["lines"])
    if summary["judge"]:
        lines.append(answers_in_words(summary["judge"]))
    return "\n".join(lines)
