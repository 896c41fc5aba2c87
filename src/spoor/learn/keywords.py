"""Binary keyword features: whether a page has one of the words that distinguish targets best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def information_gain(counts: NDArray[np.int64], pages: NDArray[np.int64]) -> NDArray[np.float64]:
    """Information about the class, in bits, in whether a word occurs.

    `counts` (words, classes): pages of a class with the word; `pages` (classes,): all of them.
    H(C) − P(w) H(C | w) − P(¬w) H(C | ¬w) (Yang and Pedersen 1997, section 2.2).
    """
    total = pages.sum()
    having = counts.sum(axis=1)
    without = pages - counts
    return np.asarray(
        _entropy(pages[None, :])
        - having / total * _entropy(counts)
        - (total - having) / total * _entropy(without)
    )


def _entropy(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each row, in bits; 0 for a row of zeros."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.asarray(-np.sum(share * np.log2(np.where(share > 0, share, 1.0)), axis=1))


def choose_keywords(
    pages: Iterable[tuple[Collection[str], bool]], most: int, *, least: int = 3
) -> list[str]:
    """The `most` words of the highest information gain among those on `least` pages or more.

    Each page: its distinct words, and whether it is a target. A tie goes to the first word in
    the alphabet.
    """
    having: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    number = [0, 0]
    for words, relevant in pages:
        having[relevant].update(words)
        number[relevant] += 1
    often = having[False] + having[True]
    known = sorted(word for word, n in often.items() if n >= least)
    counts = np.array([[having[0][word], having[1][word]] for word in known], dtype=np.int64)
    gain = information_gain(counts.reshape(-1, 2), np.array(number, dtype=np.int64))
    order = np.argsort(-gain, kind="stable")[:most]
    return [known[column] for column in order]


class Keywords:
    """Pages → the numbers of the keywords on them."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self._number = {word: column for column, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def ones(self, words: Iterable[str]) -> NDArray[np.int32]:
        """Numbers of the keywords among `words`, ascending."""
        number = self._number
        columns = sorted({number[word] for word in words if word in number})
        return np.array(columns, dtype=np.int32)
