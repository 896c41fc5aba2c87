"""Best-first without learning: the cosine of a link's words with the topic.

The baseline of Han, Wuillemin and Senellart (2018, section 4): a link's priority is the cosine
between the topic and the words of its URL, its anchor and the text around it.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from spoor.learn.parameters import in_range
from spoor.learn.priority_queue import PriorityQueue
from spoor.protocols import Offer
from spoor.types import Anchor, Choice, InLinks, Outcome, State, Task
from spoor.web.text import STOP_WORDS, Vectors, stem, tokens
from spoor.web.urls import words as url_words

_MEMO = 16_384


class BestFirst:
    """Highest cosine of topic with URL, anchor and surrounding words first.

    With word vectors in the task the cosine is that of mean vectors, as in the paper; without, that
    of word counts (stems, stop words left out). A link seen again has its best cosine; a tie goes
    to the link discovered first. `context` words are taken on either side of the link.
    """

    def __init__(self, task: Task, *, context: int = 5) -> None:
        in_range("best-first", context=(context, 0, math.inf))
        self._queue = PriorityQueue()
        self._context = context
        self._vectors = task.vectors if isinstance(task.vectors, Vectors) else None
        topic = [word for word in tokens(task.topic.text) if word not in STOP_WORDS]
        self._topic = Counter(stem(topic))
        self._norm = math.sqrt(sum(n * n for n in self._topic.values()))
        self._mean = self._vectors.mean(topic) if self._vectors else None
        # Navigation repeats the same words on every page.
        self._memo: dict[tuple[str, str, str, str], float] = {}

    def observe(self, seen: InLinks) -> None:
        queue = self._queue
        for at, (link, url, host) in enumerate(zip(seen.links, seen.urls, seen.hosts, strict=True)):
            value = self._value(url, seen.anchor(at))
            if link not in queue or value > queue.value(link):
                queue.push(link, host, value)

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        return Choice(link, 1.0, (("likeness of its words to the topic", value),))

    def learn(self, outcome: Outcome) -> None:
        pass

    def save(self) -> State:
        return {"queue": self._queue.save()}

    def load(self, state: State) -> None:
        self._queue.load(state["queue"])

    def _value(self, url: str, anchor: Anchor) -> float:
        key = (url, anchor.text, anchor.before, anchor.after)
        value = self._memo.get(key)
        if value is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            value = self._memo[key] = self._cosine(self._words(url, anchor))
        return value

    def _words(self, url: str, anchor: Anchor) -> list[str]:
        parts = url_words(url)
        words = [*parts.directories, *parts.file, *parts.query, *tokens(anchor.text)]
        if self._context:
            words += tokens(anchor.before)[-self._context :]
            words += tokens(anchor.after)[: self._context]
        return words

    def _cosine(self, words: list[str]) -> float:
        if self._vectors is not None:
            mean = self._vectors.mean(words)
            if mean is None or self._mean is None:
                return 0.0
            norm = float(np.linalg.norm(mean) * np.linalg.norm(self._mean))
            return float(mean @ self._mean) / norm if norm else 0.0
        if not self._norm:
            return 0.0
        counts = Counter(stem([word for word in words if word not in STOP_WORDS]))
        shared = sum(n * self._topic[word] for word, n in counts.items() if word in self._topic)
        if not shared:
            return 0.0
        return shared / (self._norm * math.sqrt(sum(n * n for n in counts.values())))
