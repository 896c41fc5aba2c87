"""A page of a script without spaces has a term for each pair of its letters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from spoor.judges.relevance import Relevance
from spoor.judges.relevance.reading import TEXT_LETTERS, _first_letters
from spoor.judges.relevance.word_counts import Pairs
from spoor.judges.wish import parse
from spoor.types import Page


@given(st.lists(st.text(min_size=1, max_size=9), max_size=40), st.integers(1, 99))
def test_the_first_letters_are_read(words: list[str], most: int) -> None:
    found = _first_letters(words, most)
    assert "".join(found) == "".join(words)[:most]
    assert len(words) <= most or len(found) <= most


def test_no_more_letters_are_made_terms_than_a_page_with_spaces_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A million took 1.7 s of the crawl's turn, for a page that is 23 kB on the way."""
    letters = "".join(map(chr, range(0x4E00, 0x9FA0))) * 20
    read = list[int]()

    count_pairs = Pairs.of

    def counted(pairs: Pairs, runs: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        read.append(len(runs))
        return count_pairs(pairs, runs)

    judge = Relevance(parse("窯"))
    monkeypatch.setattr(Pairs, "of", counted)
    judgement = judge.judge(Page("http://site.example/", title="窯", text=f"窯 {letters}"))
    assert judgement.score > 0.0
    assert TEXT_LETTERS <= sum(read) < TEXT_LETTERS + 100
