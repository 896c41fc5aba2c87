"""English words that are spelled in two ways."""

from __future__ import annotations

import pytest

from spoor.judges.relevance.matching import Matcher
from spoor.judges.wish import parse
from spoor.policies.trail.columns import DENSE
from spoor.policies.trail.features import LinkFeatures
from spoor.types import Anchor, Topic
from spoor.web.spellings import american


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


@pytest.mark.parametrize(
    ("topic", "text"), [("serialisation", "serialization"), ("center", "centre")]
)
def test_a_link_is_like_a_topic_that_is_spelled_otherwise(topic: str, text: str) -> None:
    for one, other in ((topic, text), (text, topic)):
        features = LinkFeatures(Topic(name=one, keywords=(one,)), 12)
        link = ("http://a.example/x", "a.example", Anchor(f"on {other}"))
        _, numbers = features.rows([link], None, 0, 0.0, 1)
        assert DENSE[1].name == "anchor like the topic"
        assert numbers[0, 1] > 0


def test_other_languages_are_left_alone() -> None:
    assert Matcher(parse("couleur")).fits("couleurs", "french") == ((0, True, 1.0),)
    (found,) = Matcher(parse("licence")).fits("license", "french")
    assert not found[1]
