"""SPOOR_* settings → the judge, the policy and the limits of a crawl."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scrapy.utils.misc import load_object

from spoor import registry
from spoor.errors import InputError
from spoor.judges.facts import Function
from spoor.judges.spec import judge_and_topic
from spoor.judges.topic import TopicFile, read_topic, topic_of
from spoor.learn.state import read
from spoor.types import Task, Topic
from spoor.web.text import Vectors

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from spoor.protocols import Judge, Policy

WANTED = ("SPOOR_TOPIC", "SPOOR_TOPIC_FILE", "SPOOR_WANT", "SPOOR_JUDGE")
"""Settings that say what is wanted: without any of them a crawl is none of ours."""

KNOWN: Mapping[str, object] = dict.fromkeys(WANTED) | {
    "SPOOR_POLICY": "best-first",
    "SPOOR_PARAMS": {},
    "SPOOR_MODEL": "",
    "SPOOR_VECTORS": "",
    "SPOOR_PAGES": 0,
    "SPOOR_SEED": 0,
    "SPOOR_BACKOFF": 5.0,
    "SPOOR_CONTACT": "",
}
"""Every setting with its default."""


@dataclass(frozen=True, slots=True)
class Components:
    """What the scheduler makes its crawl of."""

    policy: Policy
    judge: Judge
    pages: int | None = None
    """Budget of pages; None is without end."""
    backoff: float = 5.0
    """Seconds before a request is tried again; twice as long each time."""
    name: str = ""
    """Of the policy, with its parameters: a paused job goes on with the same only."""


class ComponentsOwner:
    """Where the scheduler finds the components of its crawler (`Crawler.get_addon`)."""

    components: Components


def any_wanted(settings: BaseSettings) -> bool:
    """Whether the settings say what is wanted."""
    return any(settings.get(name) for name in WANTED)


def read_components(settings: BaseSettings) -> Components:
    """The components that the settings ask for.

    Raises InputError, which names the setting, for what cannot be used.
    """
    for name in settings:
        if name.startswith("SPOOR_") and name not in KNOWN:
            have = ", ".join(KNOWN)
            raise InputError(
                f"unknown setting {name}{registry.nearest(name, KNOWN)}; there are: {have}"
            )
    judge, subject = _wanted(settings)
    policy = settings.get("SPOOR_POLICY", KNOWN["SPOOR_POLICY"])
    if policy in registry.LAB_ONLY:
        raise InputError(
            f"SPOOR_POLICY {policy!r} needs to know the whole web; it runs in replay only"
        )
    model, vectors = settings.get("SPOOR_MODEL"), settings.get("SPOOR_VECTORS")
    task = Task(
        np.random.default_rng(_number(settings, "SPOOR_SEED", int)),
        subject.topic if subject else Topic(),
        model=read(Path(model)) if model else None,
        vectors=Vectors.read(vectors) if vectors else None,
    )
    try:
        params = settings.getdict("SPOOR_PARAMS")
    except ValueError:
        raise InputError("SPOOR_PARAMS is not a dict of the policy's parameters") from None
    return Components(
        registry.build("policies", policy, task, settings=params),
        judge,
        _number(settings, "SPOOR_PAGES", int) or None,
        _number(settings, "SPOOR_BACKOFF", float),
        f"{policy} {params}" if params else policy,
    )


def _wanted(settings: BaseSettings) -> tuple[Judge, TopicFile | None]:
    """The judge, and the words that the policy may go by."""
    topic, file = settings.get("SPOOR_TOPIC"), settings.get("SPOOR_TOPIC_FILE")
    want, judge = settings.get("SPOOR_WANT"), settings.get("SPOOR_JUDGE")
    if topic and file:
        raise InputError("set SPOOR_TOPIC or SPOOR_TOPIC_FILE, not both")
    if want and judge:
        raise InputError("set SPOOR_WANT or SPOOR_JUDGE, not both")
    subject = topic_of(topic) if topic else read_topic(file) if file else None
    if judge:
        return _judge(judge), subject
    specs = ([want] if isinstance(want, str) else [str(spec) for spec in want]) if want else []
    found = judge_and_topic(subject, specs)
    if found is None:
        raise InputError(f"say what is wanted: set one of {', '.join(WANTED)}")
    return found


def _judge(given: Any) -> Judge:
    """A judge, or a function of a page, or the import path of either."""
    try:
        found = load_object(given)
    except (ValueError, ImportError, NameError, TypeError) as error:
        raise InputError(f"SPOOR_JUDGE {given!r} cannot be imported: {error}") from error
    if isinstance(found, type) and hasattr(found, "judge"):
        found = found()
    if hasattr(found, "judge"):
        judge: Judge = found
        return judge
    if not callable(found):
        raise InputError(f"SPOOR_JUDGE {given!r} is neither a judge nor a function of a page")
    return Function(found)


def _number(settings: BaseSettings, name: str, kind: type[Any]) -> Any:
    value = settings.get(name, KNOWN[name])
    try:
        number = kind(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, not {value!r}") from None
    if number < 0:
        raise InputError(f"{name} must not be negative, and is {value!r}")
    return number
