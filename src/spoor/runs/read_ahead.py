"""Reads many documents of a run before they are asked for, in several helper processes at once.

A page of HTML takes some ms, so several are sent at a time, each with a short limit. What is not
ordinary (a document that takes longer, says much, or costs its helper) is left to whoever asks for
it: it is read alone then, with the limits that it has everywhere. The documents keep their order.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue

from spoor.isolate.helper import Question
from spoor.isolate.helper_pool import Answer, HelperQueue, more_queues
from spoor.runs.documents import RunDocument
from spoor.runs.pass_costs import PassCosts
from spoor.runs.rows import PageRow

MOST_READERS = 4
"""Helpers; no more than the processors that this process may use. Whoever writes what they read
does so in one process, which keeps no more of them busy."""

TOGETHER, BYTES_TOGETHER = 16, 1 << 18
"""Documents that are sent to a helper at once, and their bytes, beyond which no more are."""
ROWS_TOGETHER = 256
"""The same where few of them, or none, are read."""
MOST_BYTES = 16 << 20
"""Bytes of documents that wait, beyond which no more are read."""

Wanted = Callable[[PageRow], Collection[str]]
"""What will be asked of a document, of `spoor.documents.document.PARTS`."""


def readers() -> int:
    """How many helpers read ahead."""
    usable = getattr(os, "sched_getaffinity", None)  # not on macOS
    return min(MOST_READERS, len(usable(0)) if usable is not None else os.cpu_count() or 1)


def read_ahead(
    documents: Iterable[RunDocument], wanted: Wanted, costs: PassCosts
) -> Iterator[RunDocument]:
    """The documents, in their order, when what is `wanted` of them has been read. `costs`: of the
    pass that they are of. Memory: some `MOST_BYTES`, and a helper for each of `readers`. Raises
    PausedError where no helper can be started."""
    with more_queues(readers()) as queues, closing(_Readers(queues)) as helpers:
        some, waiting = _Together(), deque[_Together]()
        for document in documents:
            names = wanted(document.row)
            question = document.question(names) if names else None
            if question is not None and not costs.begin_ahead(question.bounds.seconds):
                some = _sent(some, helpers, waiting)
                while waiting:
                    yield from waiting.popleft().read(costs)
                if not costs.begin_ahead(question.bounds.seconds):
                    question = None  # it is read alone, in what time there is
            some.add(document, question)
            if some.is_full:
                some = _sent(some, helpers, waiting)
            while len(waiting) > 2 * len(queues) or _bytes(some, waiting) > MOST_BYTES:
                if not waiting:
                    some = _sent(some, helpers, waiting)
                yield from waiting.popleft().read(costs)
        _sent(some, helpers, waiting)
        while waiting:
            yield from waiting.popleft().read(costs)


class _Readers:
    """Helpers beside one another, each with a thread that waits for it."""

    def __init__(self, queues: Sequence[HelperQueue]) -> None:
        self._free: SimpleQueue[HelperQueue] = SimpleQueue()
        for queue in queues:
            self._free.put(queue)
        self._threads = ThreadPoolExecutor(len(queues), "reads-ahead")

    def read(self, questions: Sequence[Question]) -> Future[list[Answer]]:
        return self._threads.submit(self._read, questions)

    def _read(self, questions: Sequence[Question]) -> list[Answer]:
        queue = self._free.get()
        try:
            return list(queue.ask_all(questions))
        finally:
            self._free.put(queue)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Together:
    """Documents that follow one another, of which some are read together."""

    def __init__(self) -> None:
        self.size = 0
        """Bytes of those that are read."""
        self._documents: deque[tuple[RunDocument, Question | None]] = deque()
        self._questions: list[Question] = []
        self._answers: Future[list[Answer]] | None = None

    def add(self, document: RunDocument, question: Question | None) -> None:
        self._documents.append((document, question))
        if question is not None:
            self._questions.append(question)
            self.size += len(question.body)

    @property
    def is_full(self) -> bool:
        is_long = self.size >= BYTES_TOGETHER or len(self._documents) >= ROWS_TOGETHER
        return is_long or len(self._questions) >= TOGETHER

    def send(self, helpers: _Readers) -> None:
        if self._questions:
            self._answers = helpers.read(self._questions)

    def read(self, costs: PassCosts) -> Iterator[RunDocument]:
        """The documents, each with its answer."""
        answers = iter(() if self._answers is None else self._answers.result())
        self._questions, self._answers = [], None
        while self._documents:
            document, question = self._documents.popleft()
            if question is not None:
                answer = next(answers)
                document.take(question, answer.value)
                costs.end_ahead(document.length, question.bounds.seconds, answer.seconds)
            yield document


def _sent(some: _Together, helpers: _Readers, waiting: deque[_Together]) -> _Together:
    """Send some documents; the next ones to add to."""
    some.send(helpers)
    waiting.append(some)
    return _Together()


def _bytes(some: _Together, waiting: Iterable[_Together]) -> int:
    return some.size + sum(one.size for one in waiting)
