"""From the settings of a run to its crawl: judge, policy, frontier and filter, put together."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.documents.kinds import Types, need_reader
from spoor.errors import InputError, PluginError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges import named, spec
from spoor.judges.relevance import Relevance
from spoor.judges.topic import (
    METHODS,
    SUFFIXES,
    TopicFile,
    judge_by_keywords,
    read_topic,
    topic_of,
    with_second_opinion,
)
from spoor.learn.state import read
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.revisits import Revisits
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.politeness.request_slots import PATIENCE
from spoor.protocols import FallsBack, HostClocks, Judge, LiveFrontier, Outbox, Policy
from spoor.setting import WITH_TEXT
from spoor.settings import Settings
from spoor.types import NOTHING_LEFT_OUT, Judgement, LeftOut, Page, Task, Topic
from spoor.web.other_ways import names_data
from spoor.web.search_forms import queries_of
from spoor.web.text import Vectors
from spoor.wrappers.compared import Compared
from spoor.wrappers.fallback import Fallback
from spoor.wrappers.judge_fallback import JudgeFallback
from spoor.wrappers.lists_first import EarlierFirst, SearchesFirst, SitemapsFirst

LATE_AFTER = PATIENCE
"""Seconds that a request at the end of a budget is waited for before another one is made, too. The
coordinator of shards lends out each place of a budget, so that none is given away there."""


def judge_and_topic(settings: Settings) -> tuple[Judge, TopicFile | None]:
    """The judge of a crawl, and the topic that its policy may go by. Raises InputError where the
    settings give neither a topic nor a target, and where a file of theirs cannot be read."""
    named_topic, specs = topic_of_settings(settings), located(settings).want
    lists = settings.list_pages
    found = spec.judge_and_topic(named_topic, specs, settings.beta, list_pages=lists)
    if found is None:
        raise InputError(
            'say what is wanted: --topic "…", --topic-file FILE or --want SPEC; '
            "--want url:. wants every page"
        )
    judge, subject = found
    if isinstance(judge, Relevance):
        judge.tells_once = settings.command == "watch"
        judge.takes_wordless = not {*Types.of(settings).taken} <= {*WITH_TEXT}
    for wanted in located(settings).want:
        kind, _, value = wanted.partition(":")
        if kind == "type":
            need_reader(value.strip().lower())
    if name := located(settings).second_opinion:
        if subject is None:
            raise InputError(
                "--second-opinion is asked about a topic: give --topic or --topic-file"
            )
        kind = "encoder" if os.path.isdir(name) else "ask"
        named.allow(name)
        limits = {"asks": settings.second_asks, "seconds": settings.second_seconds}
        second = {kind: os.path.abspath(name) if kind == "encoder" else name, **limits}
        judge = with_second_opinion(judge, replace(subject, second=second))
    return JudgeFallback(judge, None if settings.want else _fallback_of(subject)), subject


def _fallback_of(subject: TopicFile | None) -> Callable[[], Judge] | None:
    """Makes what takes the place of a judge of ours: a judge of the topic's words alone, if it has
    any."""
    if subject is None or subject.method not in METHODS:
        return None
    return partial(judge_by_keywords, subject) if subject.topic.text.strip() else None


def topic_for_policy(settings: Settings) -> TopicFile | None:
    """The topic that the policy of a crawl may go by, if any, without its judge. Raises InputError
    as `read_topic` does."""
    return spec.topic_for_policy(topic_of_settings(settings), located(settings).want)


def queries(settings: Settings) -> Sequence[str]:
    """What the search of a site is asked for: the words of the wish, where there is one; none where
    it wants a language alone. Raises InputError as `read_topic` does."""
    subject = topic_for_policy(settings) if settings.site_search else None
    if subject is None:
        return ()
    if subject.wish is None:
        return queries_of(subject.topic)
    return () if subject.wish.wanted is None else queries_of(subject.wish.topic)


def topic_of_settings(settings: Settings) -> TopicFile | None:
    """The topic that settings give in words or as a file, if any. Raises InputError as
    `read_topic` does."""
    settings = located(settings)
    if settings.topic:
        return topic_of(settings.topic)
    return read_topic(Path(settings.topic_file)) if settings.topic_file else None


def located(settings: Settings) -> Settings:
    """Settings with each file that they name as seen from the folder where the run was begun, or,
    where that has none of the name, as it is named."""

    def place(name: str) -> str:
        there = os.path.join(settings.folder, name)
        if name and os.path.exists(there) and not os.path.isfile(there):
            raise InputError(f"{name} is not a plain file")
        return there if name and os.path.isfile(there) else name

    def folder(name: str) -> str:
        there = os.path.join(settings.folder, name)
        return there if name and os.path.isdir(there) else name

    its: dict[str, Any] = {
        "topic": place(settings.topic) if settings.topic.endswith(SUFFIXES) else settings.topic,
        "want": tuple(
            f"topic:{place(item.removeprefix('topic:'))}" if item.startswith("topic:") else item
            for item in settings.want
        ),
        "topic_file": place(settings.topic_file),
        "second_opinion": folder(settings.second_opinion),
        "model": place(settings.model),
        "vectors": place(settings.vectors),
    }
    elsewhere = {name: value for name, value in its.items() if value != getattr(settings, name)}
    # Each new settings are checked whole, and a crawl that is made asks for these five times.
    return replace(settings, **elsewhere) if elsewhere else settings


BUILT_IN_FRONTIERS = ("auto", "memory", "disk")
"""What `--frontier` may be beside the name of another package's frontier. One that is to lie on
disk, or may, begins in memory."""


def make_frontier(name: str, *, delay: float, per_host: int) -> LiveFrontier:
    """An empty frontier: `name` is what `--frontier` was. Raises InputError as the registry does,
    PluginError for one that a live crawl cannot use."""
    politeness: dict[str, Any] = {"delay": delay, "per_host": per_host}
    if name in BUILT_IN_FRONTIERS:
        return MemoryFrontier(**politeness)
    frontier: LiveFrontier = registry.build("frontiers", name, settings=politeness)
    if not isinstance(frontier, HostClocks):
        raise PluginError(name, "configure", "or hosts() is missing; a live crawl needs both")
    return frontier


def task_of(settings: Settings, subject: TopicFile | None) -> Task:
    """What the policy of a crawl is given. Raises InputError for a model or vectors that cannot be
    read."""
    settings = located(settings)
    return Task(
        np.random.default_rng(settings.seed),
        subject.topic if subject else Topic(),
        model=read(Path(settings.model)) if settings.model else None,
        vectors=Vectors.read(settings.vectors) if settings.vectors else None,
    )


def scope_of(settings: Settings) -> Scope:
    """The scope of a run, its seeds in it."""
    return Scope.of(
        settings.seeds,
        settings.scope,
        settings.max_depth,
        settings.nofollow,
        include=settings.include,
        exclude=settings.exclude,
    )


def fault_of(part: object) -> str:
    """How a policy or judge broke its protocol, and what replaces it; empty if it did not."""
    return part.fault() if isinstance(part, FallsBack) else ""


def faults_of(crawl: Crawl) -> str:
    """The faults of its policy and its judge."""
    return "; ".join(filter(None, map(fault_of, (crawl.policy, crawl.judge))))


def left_out_of(crawl: Crawl) -> LeftOut:
    """The links that the filter of a crawl left out or holds back."""
    return NOTHING_LEFT_OUT if crawl.link_filter is None else crawl.link_filter.left_out()


def make_policy(settings: Settings, task: Task) -> Policy:
    """The policy that a live crawl is to follow. Raises InputError as the registry does, and for
    one that runs in replay only."""
    name = settings.policy
    if name in registry.LAB_ONLY:
        raise InputError(f"policy {name!r} needs to know the whole web; it runs in replay only")
    policy: Policy = registry.build("policies", name, task, settings=settings.params)
    return policy


class NoJudge:
    """Stands where the judge of a run would, whose crawl fetches nothing."""

    def judge(self, page: Page) -> Judgement:
        raise RuntimeError(f"{page.url} is judged by a crawl that was made to look at")


def make_crawl_to_look_at(settings: Settings) -> Crawl:
    """The crawl of a run, to load its state into and ask what it would do. It has no judge: the
    topic of a run may name functions of modules, which only a crawl that its user began imports.
    Raises InputError as the registry does."""
    return _make_crawl(settings, JudgeFallback(NoJudge()), topic_for_policy(settings))


def make_crawl(settings: Settings, outbox: Outbox | None = None) -> Crawl:
    """The crawl of a run's settings; with an `outbox`, one shard of it, whose pages are granted.
    Raises InputError as the registry does."""
    return _make_crawl(settings, *judge_and_topic(settings), outbox)


def _make_crawl(
    settings: Settings, judge: Judge, subject: TopicFile | None, outbox: Outbox | None = None
) -> Crawl:
    if settings.refresh and (settings.shards or outbox is not None):
        raise InputError("--refresh runs in one process; leave out --shards")
    if settings.follow_seeds and (settings.shards or outbox is not None):
        raise InputError("--follow-seeds runs in one process; leave out --shards")
    if settings.requisites != "none" and (settings.shards or outbox is not None):
        raise InputError("--requisites runs in one process; leave out --shards")
    if settings.requisites != "none" and not settings.warc:
        raise InputError("--requisites is for the archive; leave out --no-warc")
    task = task_of(settings, subject)
    plain = replace(task, rng=np.random.default_rng(settings.seed), model=None)

    def safe(policy: Policy) -> Policy:
        return Fallback(policy, lambda: registry.build("policies", "best-first", plain))

    def trail() -> Policy:
        return safe(registry.build("policies", "trail", plain))

    policy = safe(make_policy(settings, task))
    if task.model is not None and settings.worse_model != "off":
        policy = Compared(
            policy, settings.policy, trail if settings.worse_model == "trail" else None
        )
    lists = settings.search_index or settings.site_search
    policy = SearchesFirst(policy) if lists else policy
    policy = SitemapsFirst(policy) if settings.sitemaps or settings.refresh else policy
    crawl = Crawl(
        EarlierFirst(policy) if settings.refresh else policy,
        judge,
        make_frontier(settings.frontier, delay=settings.delay, per_host=settings.per_host),
        pages=None if settings.refresh else settings.pages if outbox is None else 0,
        link_filter=CrawlFilter(
            scope_of(settings),
            traps=None if settings.traps else Traps(),
            actions=settings.actions,
            per_host=settings.pages_per_host,
            per_domain=settings.pages_per_domain,
            found_per_host=settings.found_per_host,
            sitemaps=settings.sitemaps or lists,
            sitemaps_last=not settings.sitemaps,
            follow_seeds=settings.follow_seeds,
            data=names_data((*settings.want, *settings.include)),
            unwanted=Types.of(settings).leaves_out,
        ),
        backoff=settings.backoff,
        late_after=LATE_AFTER if outbox is None else math.inf,
        outbox=outbox,
    )
    if settings.refresh:
        set_revisits(crawl, Revisits())
    return crawl


def set_revisits(crawl: Crawl, revisits: Revisits) -> None:
    """The pages of an earlier run that a crawl visits again."""
    assert isinstance(crawl.link_filter, CrawlFilter)
    crawl.link_filter.revisits = revisits
    crawl.judged_before()
