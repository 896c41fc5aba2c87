"""CPU by stage of a process that crawls: which part of the program its threads were in.

`Stages()` puts a watch around the functions of `STAGES`, wherever they are imported by name. Each
thread has a stack of stages; what its processor clock counts between two changes belongs to the
stage on top, so that no time is counted twice, and neither waiting nor other processes count. What
lies in no stage is the rest: the event loop, or the replay. `FINE` parts a stage further, by the
wall clock, which costs a twentieth, for functions that are called for each link. What the reading
of the clocks takes is measured beforehand and taken out.

    stages = Stages()
    crawl()
    stages.end()          # {"parse": seconds, …}, and the processor time of all threads
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from importlib import import_module
from typing import Any

STAGES: dict[str, tuple[str, ...]] = {
    "connect": ("spoor.http.connections:BoundedConnector.connect",),
    "request": ("spoor.http.client:Client.get",),
    "receive": (
        "spoor.http.connections:_BoundedHandler.data_received",
        "spoor.http.client:Client._read",
    ),
    "driver": ("spoor.live.driver:HttpDriver._exchange", "spoor.live.driver:HttpDriver._turn"),
    "checks": (
        "spoor.http.replies:helper_for",
        "spoor.http.replies:may_take_long",
        "spoor.http.replies:without_refusal",
        "spoor.documents.kinds:tell",
    ),
    "decode": ("spoor.web.encoding:decode",),
    "parse": ("spoor.web.page:LexborHTMLParser",),
    "text": ("spoor.web.page:parse",),
    "helper": ("spoor.isolate.parsing:parse_page",),
    "near-duplicates, traps": (
        "spoor.link_filter.traps:Traps.read",
        "spoor.link_filter.traps:Traps.holder",
        "spoor.link_filter.traps:Traps.ended",
    ),
    "world": ("spoor.worlds.recorded:RecordedWorld.answer",),
    "filter": (
        "spoor.link_filter.scope:Scope.__call__",
        "spoor.link_filter.link_filter:CrawlFilter.admit",
        "spoor.link_filter.link_filter:CrawlFilter.skip",
    ),
    "judge": ("spoor.crawl.plugin_calls:judge_page",),
    "judge anew": ("spoor.crawl.crawl:Crawl.revise", "spoor.judges.relevance:Relevance._learn"),
    "features": ("spoor.policies.trail.features:LinkFeatures.rows",),
    "learn": (
        "spoor.policies.trail.policy:Trail.observe",
        "spoor.policies.trail.policy:Trail.learn",
        "spoor.policies.trail.policy:Trail.relearn",
    ),
    "choose": ("spoor.crawl.plugin_calls:choose",),
    "frontier": (
        *(
            f"spoor.frontier.memory:MemoryFrontier.{method}"
            for method in ("add", "take", "settle", "offer", "path", "due")
        ),
        "spoor.frontier.sqlite:SqliteFrontier.add",
        "spoor.frontier.sqlite:SqliteFrontier.take",
    ),
    "crawl": ("spoor.crawl.crawl:Crawl.receive", "spoor.crawl.crawl:Crawl.next"),
    "journal": (
        "spoor.runs.journal:Journal.receive",
        "spoor.runs.journal:Journal.next",
        "spoor.runs.journal:Journal.commit",
    ),
    "archive": (
        "spoor.runs.writer:RunWriter.record",
        "spoor.runs.writer:RunWriter._describe",
        "spoor.formats.warc_writer:WarcWriter.sync",
    ),
    "rows": (
        "spoor.live.live_crawl:LiveCrawl._step",
        "spoor.live.live_crawl:LiveCrawl.commit",
        "spoor.runs.writer:RunWriter._write",
    ),
    "checkpoint": (
        "spoor.live.live_crawl:LiveCrawl._checkpoint",
        "spoor.runs.writer:RunWriter.checkpoint",
    ),
}
"""Stage → `module:name` of its functions; one inside another counts for itself."""

FINE = {
    "links": (
        "text",
        (
            "spoor.web.tree_walk:_place",
            "spoor.web.tree_walk:_on_link",
            "spoor.web.urls:Joiner.join",
        ),
    )
}
"""Part of a stage → the stage, and its functions."""

REST = "loop"


class _Thread(threading.local):
    """What is known of one thread."""

    def __init__(self) -> None:
        self.stack = [REST]
        self.since = time.thread_time()
        self.wall = 0.0
        self.fine = 0.0


class Stages:
    """A watch around all stages, from now on."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.looks: Counter[str] = Counter()
        """How many halves of an entering or leaving fall into each stage."""
        self._threads = _Thread()
        self._parted = {whole: part for part, (whole, _) in FINE.items()}
        self._cost = self._cost_of_a_look()
        for stage, names in STAGES.items():
            for name in names:
                _wrap(name, functools.partial(self._around, stage))
        for _, names in FINE.values():
            for name in names:
                _wrap(name, self._around_fine)
        self._threads.since = time.thread_time()
        self._began = time.process_time()
        self.seconds.clear()
        self.looks.clear()

    def end(self) -> tuple[dict[str, float], float]:
        """Seconds of each stage, and the processor time of all threads meanwhile."""
        whole = time.process_time() - self._began
        self._change()
        seconds = {
            stage: max(0.0, self.seconds[stage] - self._cost * self.looks[stage])
            for stage in (*STAGES, *FINE, REST)
            if self.seconds[stage]
        }
        return seconds, whole - self._cost * sum(self.looks.values())

    def _change(self) -> None:
        here = self._threads
        now = time.thread_time()
        self.seconds[here.stack[-1]] += now - here.since
        here.since = now

    def _enter(self, stage: str) -> None:
        self._change()
        here = self._threads
        self.looks[here.stack[-1]] += 2
        self.looks[stage] += 2
        here.stack.append(stage)
        if stage in self._parted:
            here.wall, here.fine = time.perf_counter(), 0.0

    def _leave(self) -> None:
        here = self._threads
        stage = here.stack[-1]
        if part := self._parted.get(stage):
            before = self.seconds[stage]
            self._change()
            share = here.fine / max(1e-9, time.perf_counter() - here.wall)
            fine = (self.seconds[stage] - before) * min(1.0, share)
            self.seconds[part] += fine
            self.seconds[stage] -= fine
        else:
            self._change()
        here.stack.pop()

    def _around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def staged_steps(*values: Any, **named: Any) -> Any:
                return await _Steps(self, stage, function(*values, **named))

            return staged_steps

        @functools.wraps(function, updated=())
        def staged(*values: Any, **named: Any) -> Any:
            self._enter(stage)
            try:
                return function(*values, **named)
            finally:
                self._leave()

        return staged

    def _around_fine(self, function: Callable[..., Any]) -> Callable[..., Any]:
        clock, here = time.perf_counter, self._threads

        @functools.wraps(function)
        def timed(*values: Any, **named: Any) -> Any:
            began = clock()
            try:
                return function(*values, **named)
            finally:
                here.fine += clock() - began

        return timed

    def _cost_of_a_look(self) -> float:
        """Seconds that half of an entering or leaving takes: four of them are a call."""
        nothing = self._around("nothing", lambda: None)
        began = time.thread_time()
        for _ in range(5_000):
            nothing()
        return (time.thread_time() - began) / 20_000


class _Steps:
    """A coroutine in a stage while it runs, not while it waits."""

    def __init__(self, stages: Stages, stage: str, steps: Any) -> None:
        self._stages, self._stage, self._steps = stages, stage, steps

    def __await__(self) -> Generator[Any, Any, Any]:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def __iter__(self) -> _Steps:
        return self

    def send(self, value: Any) -> Any:
        self._stages._enter(self._stage)
        try:
            return self._steps.send(value)
        finally:
            self._stages._leave()

    def throw(self, *error: Any) -> Any:
        self._stages._enter(self._stage)
        try:
            return self._steps.throw(*error)
        finally:
            self._stages._leave()

    def close(self) -> None:
        self._steps.close()


def _wrap(name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put something around a function, or a method of a class, under each name that it has."""
    module, _, path = name.partition(":")
    owner: Any = import_module(module)
    *parents, last = path.split(".")
    for parent in parents:
        owner = getattr(owner, parent)
    before = owner.__dict__[last]
    after = around(before)
    setattr(owner, last, after)
    if parents:
        return
    for other_name, other in list(sys.modules.items()):
        for known, value in list(vars(other).items()) if other_name.startswith("spoor") else ():
            if value is before:
                setattr(other, known, after)
