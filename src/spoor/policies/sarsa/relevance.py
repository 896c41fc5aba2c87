"""What relevance is measured by: the topic, its categories, and word vectors, which a crawl without
any learns from its own pages."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from spoor.errors import InputError
from spoor.files import read_plain
from spoor.learn.relevance import Relevance
from spoor.policies.sarsa.categories import find_categories
from spoor.types import Page, State, Topic
from spoor.web.text import Vectors, learn_vectors, tokens

FIRST_VECTORS = 64
"""Pages after which vectors are learned from the crawl, and again whenever it is four times as
long."""
MOST_BACKGROUND = 1 << 28
"""Bytes of a file of background texts."""
CORPUS = 2_000
CORPUS_WORDS = 500


class TopicRelevance(Relevance):
    """Nearness to a topic and to its categories, which are found where none are `given`.

    `count` categories are found from the `background` texts, the `vectors` or the crawl.
    """

    def __init__(
        self,
        topic: Topic,
        given: Mapping[str, str],
        count: int,
        vectors: Vectors | None,
        *,
        background: str,
        context: int,
        words: int,
    ) -> None:
        self._topic = topic.text
        self.count = count
        self._learns_vectors = vectors is None
        self._to_find = 0 if given else count
        self.categories: dict[str, str] = dict(given) or find_categories(
            self._topic, count, vectors, _texts_of(background)
        )
        """Name → text of those in use; empty until they are found."""
        self._texts_read: deque[list[str]] = deque(maxlen=CORPUS)
        self._read = 0
        super().__init__(self._topic_texts(), vectors, context=context, words=words)

    def _topic_texts(self) -> list[str]:
        texts = [self._topic, *self.categories.values()]
        return texts + [""] * (1 + self.count - len(texts))

    def read(self, page: Page, rng: np.random.Generator) -> None:
        """Learn vectors from the crawl as it goes, where none were given."""
        self._read += 1
        if not self._learns_vectors:
            return
        self._texts_read.append(tokens(f"{page.title} {page.text}")[:CORPUS_WORDS])
        due = FIRST_VECTORS
        while due < self._read:
            due *= 4
        if self._read == due:
            vectors = learn_vectors(self._texts_read, rng=rng)
            if vectors is not None:
                if self._to_find:
                    categories = find_categories(
                        self._topic, self._to_find, vectors, self._texts_read
                    )
                    # Once found they stay: weights have been learned for them.
                    self.categories = self.categories or categories
                self.look_through(self._topic_texts(), vectors)

    def save(self) -> State:
        return {
            "categories": dict(self.categories),
            "vectors": pack_vectors(self.vectors) if self._learns_vectors else None,
            "texts": [" ".join(text) for text in self._texts_read],
            "pages": self._read,
        }

    def load(self, state: State) -> None:
        self.categories = dict(state["categories"])
        vectors = self.vectors
        if self._learns_vectors:
            vectors = unpack_vectors(state["vectors"])
        self.look_through(self._topic_texts(), vectors)
        self._texts_read = deque((text.split() for text in state["texts"]), maxlen=CORPUS)
        self._read = state["pages"]


def pack_vectors(vectors: Vectors | None) -> State | None:
    """Word vectors as a state."""
    if vectors is None:
        return None
    return {"words": vectors.words(), "matrix": vectors.matrix, "source": vectors.source}


def unpack_vectors(state: Any) -> Vectors | None:
    """What `pack_vectors` was given."""
    if state is None:
        return None
    return Vectors(state["words"], state["matrix"], source=state["source"])


def _texts_of(path: str) -> list[list[str]]:
    if not path:
        return []
    try:
        text = read_plain(Path(path), MOST_BACKGROUND).decode("utf-8", "replace")
        return [tokens(line) for line in text.splitlines()]
    except OSError as error:
        raise InputError(f"cannot read background {path}: {error.strerror}") from error
