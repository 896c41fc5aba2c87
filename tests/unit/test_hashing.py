"""Hashes of many texts, and of those that come again, are those of each text alone."""

from hypothesis import given
from hypothesis import strategies as st

from spoor.hashing import hash64, hashes64, url_hash64

TEXTS = st.lists(st.text(st.characters(codec=None)))
"""With halves of surrogate pairs, too."""


@given(TEXTS)
def test_of_many_at_once(texts: list[str]) -> None:
    assert hashes64(texts).tolist() == [hash64(text) for text in texts]


@given(TEXTS)
def test_of_one_that_comes_again(texts: list[str]) -> None:
    assert [url_hash64(text) for text in texts * 2] == [hash64(text) for text in texts * 2]


def test_another_process_has_the_same() -> None:
    assert hash64("http://a.example/") == 14118563748124723002
