"""Best-first without learning: the cosine of a link's words with the topic.

The baseline of Han, Wuillemin and Senellart (2018, section 4): a link's priority is the cosine
between the topic and the words of its URL, its anchor and the text around it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import KW_ONLY, InitVar, dataclass

import numpy as np

from spoor.bounded import Cache
from spoor.learn.link_words import content_words, link_words, url_words
from spoor.learn.parameters import at_least, check_parameters
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.queue_order import QueueOrder
from spoor.types import Anchor, InLinks, Task
from spoor.web.text import STOP_WORDS, Vectors, stem, tokens

CACHED = 16_384
"""Links whose cosine is remembered, since navigation repeats the same words on every page."""


@dataclass(eq=False)
class BestFirst(QueueOrder):
    """Highest cosine of topic with URL, anchor and surrounding words first.

    With word vectors in the task the cosine is that of mean vectors, as in the paper; without, that
    of word counts (stems, stop words left out). A link seen again has its best cosine; a tie goes
    to the link discovered first. `context` words are taken on either side of the link.
    """

    task: InitVar[Task]
    _: KW_ONLY
    context: int = at_least(0, 5)

    WHY = "likeness of its words to the topic"

    def __post_init__(self, task: Task) -> None:
        check_parameters("best-first", self)
        self._queue = PriorityQueue()
        self._vectors = task.vectors if isinstance(task.vectors, Vectors) else None
        topic = content_words(task.topic.text)
        self._topic = Counter(stem(topic))
        self._norm = math.sqrt(sum(n * n for n in self._topic.values()))
        self._mean = self._vectors.mean(topic) if self._vectors else None
        self._values = Cache[tuple[str, str, str, str], float](self._value, CACHED)
        self._shares = Cache[str, bool](lambda word: self._is_shared(tokens(word)), CACHED)
        self._urls = Cache[str, bool](lambda url: self._is_shared(url_words(url)), CACHED)

    def observe(self, seen: InLinks) -> None:
        push, values = self._queue.push_if_higher, self._values
        for index, (link, url, host) in enumerate(
            zip(seen.links, seen.urls, seen.hosts, strict=True)
        ):
            anchor = seen.anchor(index)
            push(link, host, values[url, anchor.text, anchor.before, anchor.after])

    def _value(self, of: tuple[str, str, str, str]) -> float:
        """The cosine of a link's words, of its URL, its text and the text on either side."""
        url, text, before, after = of
        # Most links share no word with the topic. No word crosses a blank, so that each is looked
        # up as it stands there.
        if self._vectors is None and not (
            self._urls[url]
            or any(map(self._shares.__getitem__, f"{text} {before} {after}".split()))
        ):
            return 0.0
        return self._cosine(link_words(url, Anchor(text, before, after), self.context))

    def _is_shared(self, words: Iterable[str]) -> bool:
        """Whether the topic has one of these words."""
        return not self._topic.keys().isdisjoint(stem(words))

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
