"""Target specifications: `label:X`, `url:REGEX`, `type:MIME-GLOB`, `text:WORDS`, `query:WORDS`,
`match:REGEX`, `topic:FILE`, and `NAME:VALUE` for the judge NAME of another package."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spoor import registry
from spoor.errors import InputError
from spoor.judges.combined import AnyOf
from spoor.judges.facts import Label, MediaType, TextPattern, UrlPattern
from spoor.judges.keywords import Keywords
from spoor.judges.topic import (
    NO_PREFERENCE,
    SUFFIXES,
    TopicFile,
    judge_of_topic,
    preferring,
    read_topic,
    taking_lists,
    topic_of_phrase,
)
from spoor.protocols import Judge
from spoor.registry import nearest
from spoor.setting import MOST_WANTED, too_many
from spoor.web.text import tokens

KINDS: dict[str, Callable[[str], Judge]] = {
    "label": Label,
    "url": UrlPattern,
    "type": MediaType,
    "text": lambda words: Keywords(tokens(words)),
    "query": lambda words: judge_of_topic(topic_of_phrase(words)),
    "match": TextPattern,
    "topic": lambda path: judge_of_topic(read_topic(path)),
}
_TOPICS: dict[str, Callable[[str], TopicFile]] = {"query": topic_of_phrase, "topic": read_topic}


def judge_of(specs: Sequence[str], beta: float | None = None, *, list_pages: bool = False) -> Judge:
    """The judge of target specifications; a page is relevant if one of them matches. `beta` is how
    much more recall counts than precision, of those in words; with `list_pages` these take list
    pages as well.

    Raises InputError for more than `MOST_WANTED`, for an unknown kind, with the nearest known one,
    for an empty value, for a bad pattern, and for a `beta` that none of them takes.
    """
    if not specs:
        raise InputError("no target given; write one as in 'label:faculty' or 'url:\\.pdf$'")
    if len(specs) > MOST_WANTED:
        raise InputError(too_many("the target", len(specs), MOST_WANTED))
    judges = [_judge_of_spec(spec, beta, list_pages=list_pages) for spec in specs]
    if beta is not None and not any(spec.partition(":")[0] in _TOPICS for spec in specs):
        raise InputError(NO_PREFERENCE.format(", ".join(specs)))
    return judges[0] if len(judges) == 1 else AnyOf(judges, list(specs))


def _judge_of_spec(spec: str, beta: float | None, *, list_pages: bool) -> Judge:
    kind, colon, value = spec.partition(":")
    names = [*KINDS, *(() if kind in KINDS else registry.outside("judges"))]
    if kind not in names or not colon:
        have = ", ".join(f"{name}:…" for name in names)
        raise InputError(f"target {spec!r} is of no known kind{nearest(kind, names)}; write {have}")
    if not value.strip():
        raise InputError(f"target {spec!r} says nothing after the colon")
    if kind in _TOPICS:
        source = preferring(_TOPICS[kind](value.strip()), beta)
        return judge_of_topic(taking_lists(source) if list_pages else source)
    if kind in KINDS:
        return KINDS[kind](value.strip())
    judge: Judge = registry.build("judges", kind, value.strip())
    return judge


def judge_and_topic(
    subject: TopicFile | None,
    specs: Sequence[str],
    beta: float | None = None,
    *,
    list_pages: bool = False,
) -> tuple[Judge, TopicFile | None] | None:
    """The judge of a crawl, and the topic that its policy may use: the judge of the specifications
    if there are any, else that of the topic. None if neither is given. `beta` and
    `list_pages` as in `judge_of`."""
    topic = topic_for_policy(subject, specs)
    if topic is not None and list_pages:
        topic = taking_lists(topic)
    if specs:
        return judge_of(specs, beta, list_pages=list_pages), topic
    return None if topic is None else (judge_of_topic(preferring(topic, beta)), topic)


def topic_for_policy(subject: TopicFile | None, specs: Sequence[str]) -> TopicFile | None:
    """The topic that a policy may go by: the one given, else the words of the specifications."""
    words = words_of(specs)
    return subject or (topic_of_phrase(words) if words else None)


def files_of(specs: Sequence[str], topic: str = "", topic_file: str = "") -> list[str]:
    """All files that specifications and a topic need: topic files and the files that they name.
    Raises InputError as `read_topic` does."""
    named = [topic] if topic.endswith(SUFFIXES) else []
    named += [topic_file] if topic_file else []
    named += [spec.removeprefix("topic:") for spec in specs if spec.startswith("topic:")]
    return [file for name in named for file in (name, *map(str, read_topic(name).files))]


def words_of(specs: Sequence[str]) -> str:
    """The words of target specifications that describe the topic: labels, texts and queries."""
    parts = [spec.partition(":") for spec in specs]
    return " ".join(value.strip() for kind, _, value in parts if kind in ("label", "text", "query"))
