"""From the settings of a run to its crawl: judge, policy, frontier and filter, put together."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.spec import judge_and_topic
from spoor.judges.topic import SUFFIXES, TopicFile, read_topic, topic_of
from spoor.learn.state import read
from spoor.protocols import Judge, Outbox
from spoor.types import Task, Topic
from spoor.web.link_filter import CrawlFilter
from spoor.web.scope import Scope
from spoor.web.text import Vectors
from spoor.web.traps import Traps
from spoor.wrappers.fallback import Fallback
from spoor.wrappers.sitemaps_first import SitemapsFirst


def wanted(
    topic: str | None, topic_file: Path | None, want: Sequence[str]
) -> tuple[Judge, TopicFile | None]:
    """The judge of a crawl, and the words that its policy may go by."""
    subject = topic_of(topic) if topic else read_topic(topic_file) if topic_file else None
    found = judge_and_topic(subject, want)
    if found is None:
        raise InputError('say what is wanted: --topic "…", --topic-file FILE or --want SPEC')
    return found


def wanted_by(settings: Mapping[str, Any]) -> tuple[Judge, TopicFile | None]:
    """As `wanted`, of a run's settings."""
    told = located(settings)
    file = Path(told["topic_file"]) if told["topic_file"] else None
    return wanted(told["topic"] or None, file, told["want"])


def located(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a run crawls by; each file that it names as seen from the folder where it was begun,
    or, where that has none of the name, as it is named."""
    told, folder = dict(settings["crawl"]), settings.get("folder", "")

    def place(name: str) -> str:
        there = os.path.join(folder, name)
        return there if name and os.path.isfile(there) else name

    for key in ("topic_file", "model", "vectors"):
        told[key] = place(told[key])
    if told["topic"].endswith(SUFFIXES):
        told["topic"] = place(told["topic"])
    told["want"] = [
        f"topic:{place(spec.removeprefix('topic:'))}" if spec.startswith("topic:") else spec
        for spec in told["want"]
    ]
    return told


def make_crawl(
    settings: Mapping[str, Any],
    judge: Judge,
    subject: TopicFile | None,
    outbox: Outbox | None = None,
) -> Crawl:
    """The crawl of a run's settings; with a `outbox`, one shard of it. Raises InputError as the
    registry does."""
    told = located(settings)
    name = told["policy"]
    if name in registry.LAB_ONLY:
        raise InputError(f"policy {name!r} needs to know the whole web; it runs in replay only")
    task = Task(
        np.random.default_rng(told["seed"]),
        subject.topic if subject else Topic(),
        model=read(Path(told["model"])) if told["model"] else None,
        vectors=Vectors.read(told["vectors"]) if told["vectors"] else None,
    )
    policy = registry.build("policies", name, task, settings=told["params"])
    plain = replace(task, rng=np.random.default_rng(told["seed"]), model=None)
    depth = None if told["max_depth"] < 0 else told["max_depth"]
    kept = Fallback(policy, lambda: registry.build("policies", "best-first", plain))
    return Crawl(
        SitemapsFirst(kept) if told["sitemaps"] else kept,
        judge,
        MemoryFrontier(
            delay=settings["politeness"]["delay"], per_host=settings["politeness"]["per_host"]
        ),
        pages=settings["pages"],
        link_filter=CrawlFilter(
            Scope.of(told["seeds"], told["scope"], depth),
            traps=None if told["traps"] else Traps(),
            per_host=told["pages_per_host"] or None,
            per_domain=told["pages_per_domain"] or None,
        ),
        outbox=outbox,
    )
