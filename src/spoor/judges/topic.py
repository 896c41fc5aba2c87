"""Topics from a TOML file or a phrase, and the judge that each stands for."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.judges.combined import AnyOf
from spoor.judges.facts import UrlPattern
from spoor.judges.keywords import Keywords
from spoor.judges.similarity import TfIdf
from spoor.protocols import Judge
from spoor.registry import nearest
from spoor.text import STOP_WORDS, tokens
from spoor.types import Topic
from spoor.urls import canonical


@dataclass(frozen=True, slots=True)
class TopicFile:
    """A topic, and what counts as relevant."""

    topic: Topic
    method: str = "keywords"
    """`keywords` or `tfidf`."""
    threshold: float | None = None
    """The method's own where None."""
    stemmed: bool = True
    language: str = "english"
    example_urls: tuple[str, ...] = ()
    """Canonical URLs of pages that are wanted: they count as relevant themselves."""
    fields: Mapping[str, float] = field(default_factory=dict)


_METHODS = ("keywords", "tfidf")
_KEYS: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "description": (str,),
    "keywords": (list,),
    "example_urls": (list,),
    "example_texts": (list,),
    "categories": (dict,),
    "relevant": (dict,),
}
_RELEVANT: dict[str, tuple[type, ...]] = {
    "method": (str,),
    "threshold": (int, float),
    "stemmed": (bool,),
    "language": (str,),
    "fields": (dict,),
}


def read_topic(path: Path | str) -> TopicFile:
    """A topic file. Raises InputError naming file and key, with the nearest known key."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = tomllib.load(file)
    except OSError as error:
        raise InputError(f"cannot read topic file {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a TOML file: {error}") from error
    _check(data, _KEYS, str(path))
    relevant = data.get("relevant", {})
    _check(relevant, _RELEVANT, f"{path}: [relevant]")
    for key in ("keywords", "example_urls", "example_texts"):
        if not all(isinstance(item, str) for item in data.get(key, [])):
            raise InputError(f"{path}: {key!r} must be a list of strings")
    method = relevant.get("method", "tfidf" if data.get("example_texts") else "keywords")
    if method not in _METHODS:
        offer = nearest(method, list(_METHODS))
        raise InputError(f"{path}: unknown method {method!r}{offer}; there are: keywords, tfidf")
    threshold = relevant.get("threshold")
    if threshold is not None and not 0.0 < threshold <= 1.0:
        raise InputError(f"{path}: 'threshold' lies in (0, 1], as scores do, not {threshold!r}")
    for name, weight in relevant.get("fields", {}).items():
        if not isinstance(weight, int | float) or isinstance(weight, bool) or not weight >= 0:
            raise InputError(f"{path}: field {name!r} has a weight from 0 on, not {weight!r}")
    topic = Topic(
        data.get("name", ""),
        data.get("description", ""),
        tuple(data.get("keywords", [])),
        tuple(data.get("example_texts", [])),
        {str(name): str(text) for name, text in data.get("categories", {}).items()},
    )
    if not (topic.text.strip() or topic.examples):
        raise InputError(f"{path}: says nothing of the topic; give 'name' or 'keywords'")
    try:
        examples = tuple(canonical(url) for url in data.get("example_urls", []))
    except ValueError as error:
        raise InputError(f"{path}: 'example_urls': {error}") from error
    return TopicFile(
        topic,
        method,
        threshold,
        relevant.get("stemmed", True),
        relevant.get("language", "english"),
        examples,
        relevant.get("fields", {}),
    )


def _check(data: Mapping[str, Any], known: Mapping[str, tuple[type, ...]], where: str) -> None:
    for key, value in data.items():
        if key not in known:
            have = ", ".join(known)
            raise InputError(
                f"{where}: unknown key {key!r}{nearest(key, known)}; there are: {have}"
            )
        kinds = known[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InputError(f"{where}: {key!r} must be {_KINDS[kinds[0]]}, not {value!r}")


_KINDS = {
    str: "a string",
    list: "a list of strings",
    dict: "a table",
    int: "a number",
    bool: "true or false",
}


def topic_of(phrase: str) -> TopicFile:
    """The topic of `--topic "…"`: its words, commas between phrases. Raises InputError if empty."""
    phrases = [part.strip() for part in phrase.split(",") if part.strip()]
    if not phrases or not tokens(phrase):
        raise InputError(f"the topic {phrase!r} has no word in it; write what you are looking for")
    return TopicFile(Topic(name=phrase, keywords=tuple(phrases) if len(phrases) > 1 else ()))


def judge_of_topic(source: TopicFile) -> Judge:
    """The judge that a topic stands for.

    Keywords where there are any; a name alone is taken both as a phrase and word by word, so that
    "cancer research" finds pages with both words apart, and prefers those with the phrase.
    """
    topic = source.topic
    made: dict[str, Callable[[], Judge]] = {
        "keywords": lambda: _keyword_judge(source),
        "tfidf": lambda: TfIdf(
            [*topic.examples, *([topic.text] if topic.text.strip() else [])],
            language=source.language,
            **_given(source),
        ),
    }
    judge = made[source.method]()
    if source.example_urls:
        pattern = "^(?:" + "|".join(map(re.escape, source.example_urls)) + ")$"
        return AnyOf([judge, UrlPattern(pattern)])
    return judge


def _keyword_judge(source: TopicFile) -> Judge:
    topic = source.topic
    settings: dict[str, Any] = {**_given(source), "stemmed": source.stemmed}
    settings["language"] = source.language
    if source.fields:
        settings["fields"] = source.fields
    if topic.keywords:
        # Any of the keywords is enough: each is a judge of its own.
        return AnyOf([Keywords([keyword], **settings) for keyword in topic.keywords])
    words = [word for word in tokens(topic.name) if word not in STOP_WORDS] or tokens(topic.text)
    return Keywords(list(dict.fromkeys(words)), **settings)


def _given(source: TopicFile) -> dict[str, Any]:
    return {} if source.threshold is None else {"threshold": float(source.threshold)}
