"""English words that are spelled in two ways: *licence* and *license*, *colour* and *color*."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from spoor.web.text import stem

_AMERICAN = (
    (re.compile(r"(?<=[a-z]{2})our(?=$|s$|ed$|ing$|al|able|ful|less|er|hood|ite)"), "or"),
    (re.compile(r"(?<=[a-z]{2})([iy])s(?=(?:e|ed|es|er|ers|ing|able|ations?|ational)$)"), r"\1z"),
    (re.compile(r"(?<=[a-z]{2}[bt])re(?=s?$)"), "er"),
    (re.compile(r"(?<=[a-z]{2}en)ce(?=[ds]?$|e$|es$)"), "se"),
    (re.compile(r"(?<=[a-z]{3})ogue(?=s?$)"), "og"),
)
"""A British ending → the American one. What comes of other words (*promize*) is nobody's word, and
two words that differ are seldom made one."""
_WORDS = {
    "aluminium": "aluminum",
    "artefact": "artifact",
    "artefacts": "artifacts",
    "cheque": "check",
    "cheques": "checks",
    "grey": "gray",
    "jewellery": "jewelry",
    "mould": "mold",
    "moulds": "molds",
    "practise": "practice",
    "programme": "program",
    "programmes": "programs",
    "plough": "plow",
    "sceptic": "skeptic",
    "sulphur": "sulfur",
}


@lru_cache(1 << 14)
def american(word: str) -> str:
    """The American spelling of a word in lower case; the same where it has but one."""
    if word in _WORDS:
        return _WORDS[word]
    for ending, other in _AMERICAN:
        word = ending.sub(other, word)
    return word


def stems(words: Iterable[str], stemmer: str) -> list[str]:
    """As `spoor.web.text.stem`; in English those of the American spelling, so that *licence* and
    *license* are one word."""
    return stem(map(american, words) if stemmer == "english" else words, stemmer)
