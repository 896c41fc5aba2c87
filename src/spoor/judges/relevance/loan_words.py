"""Loan words of English in Korean, told by their sound: a page that is not translated has *network*
where the wish says 네트워크.

A sound is what both ways of writing keep: the consonants that Korean tells apart (p also for b, f
and v; t for d; k for g and hard c; s for z, j, ch and sh; r for l), and a V where vowels stand. The
vowel *eu* (as in 크) is put between consonants where Korean needs one, and counts for none.
"""

from __future__ import annotations

import re
from functools import lru_cache

_FIRST = "k k n t t r m p p s s - s s s k t p h".replace("-", "").split(" ")
_LAST = " k k k n n n t r k m p r r p r m p p t t n s s k t p h".split(" ")
_FILLER = 18
"""The vowel *eu*."""
_BORROWED = (15, 16, 17)
"""The aspirated consonants, as in 크, 트 and 프, which begin few syllables of other words."""
_SYLLABLES = 11_172
_LONGEST = 32
LEAST_LETTERS = 4
"""Letters of an English word that is told by its sound."""
_CONSONANTS = 3
_SPELLED = (
    ("tion", "SVN"), ("sion", "SVN"), ("ph", "P"), ("ck", "K"), ("sch|sh|tch|ch", "S"),
    ("qu", "KV"), ("x", "KS"), ("wh", "V"), ("ng", "N"), ("[cg](?=[eiy])", "S"),
)  # fmt: skip
_RULES = [(re.compile(spelled), sound) for spelled, sound in _SPELLED]
_SILENT_R = re.compile("r(?![aeiouyV])")
_VOWELS = re.compile("[aeiouywV]+")
_AGAIN = re.compile(r"(.)\1+")
_SAME = str.maketrans("bfvdcgqlzjPKSTN", "ppptkkkrsspkstn")
_SPELLINGS = {"p": "pbfv", "t": "td", "s": "szcjgt", "k": "kcgqx", "r": "rl", "V": "aeiouyw"}


def sound_of_hangul(word: str) -> str:
    """Of a word that may be borrowed: one of three consonants or more, with a letter that few other
    words have; with two of them in a word of two syllables, since 표준, a standard, sounds like
    *version*. Else empty."""
    sound: list[str] = []
    marks = 0
    for letter in word[:_LONGEST]:
        number = ord(letter) - ord("가")
        if not 0 <= number < _SYLLABLES:
            return ""
        first, vowel, last = number // 588, number // 28 % 21, number % 28
        sound += (_FIRST[first], "" if vowel == _FILLER else "V", _LAST[last])
        marks += (first in _BORROWED) + (vowel == _FILLER)
    found = _AGAIN.sub(r"\1", "".join(sound))
    enough = len(found) - found.count("V") >= _CONSONANTS and len(found) > _CONSONANTS
    return found if enough and marks >= (1 if len(word) > 2 else 2) else ""


def first_letters(sound: str) -> str:
    """Letters with which an English word of a sound begins."""
    return _SPELLINGS.get(sound[0], sound[0])


@lru_cache(maxsize=16_384)
def sounds_of_latin(word: str) -> frozenset[str]:
    """How an English word in lower case may sound in Korean; none of a very short or long one. An r
    after a vowel is heard in no Korean word."""
    if not LEAST_LETTERS <= len(word) <= _LONGEST or not word.isascii() or not word.isalpha():
        return frozenset()
    if word[-1] == "e" and word[-2] not in "aeiouy":
        word = word[:-1]
    found = set[str]()
    for heard in "ST":
        sound = word.replace("th", heard)
        for spelled, its in _RULES:
            sound = spelled.sub(its, sound)
        sound = _VOWELS.sub("V", _SILENT_R.sub("", sound))
        found.add(_AGAIN.sub(r"\1", sound.translate(_SAME)))
    return frozenset(found)
