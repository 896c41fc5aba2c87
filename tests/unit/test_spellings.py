"""English words that are spelled in two ways."""

from __future__ import annotations

import pytest

from spoor.judges.relevance.matching import Matcher
from spoor.judges.relevance.spellings import american
from spoor.judges.wish import parse


@pytest.mark.parametrize(
    ("british", "other"),
    [
        ("licence", "license"),
        ("licences", "licensing"),
        ("colour", "colors"),
        ("organisation", "organizations"),
        ("analysing", "analyze"),
        ("centre", "centers"),
        ("catalogue", "catalogs"),
        ("grey", "gray"),
        ("behaviour", "behavioral"),
    ],
)
def test_a_word_of_a_wish_is_found_however_it_is_spelled(british: str, other: str) -> None:
    for wish, page in ((british, other), (other, british)):
        assert Matcher(parse(wish)).fits(page, "english") == ((0, True, 1.0),)


@pytest.mark.parametrize(
    "word", ["hour", "four", "tour", "base", "house", "store", "nature", "ice"]
)
def test_other_words_stay_as_they_are(word: str) -> None:
    assert american(word) == word


def test_other_languages_are_left_alone() -> None:
    assert Matcher(parse("couleur")).fits("couleurs", "french") == ((0, True, 1.0),)
    (found,) = Matcher(parse("licence")).fits("license", "french")
    assert not found[1]
