"""A judge of keywords and phrases, matched as whole words and weighed by part of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from spoor.errors import InputError
from spoor.types import Judgement, Page
from spoor.web.text import UNSPACED, stem, terms, words_of
from spoor.web.urls import words as url_words

FIELD_WEIGHTS: Mapping[str, float] = {"title": 1.0, "headings": 0.8, "url": 0.8, "text": 0.5}
"""Part of a page → weight of an occurrence there."""

_TEXT_WORDS = 50_000


class Keywords:
    """Score: share of the phrases that the page has, each weighed by its best field.

    A phrase that only the text has counts more the more often it occurs: `weight · (1 − 2^−n)` with
    n occurrences per thousand words (or in all of a shorter text), so that a long page is not about
    everything that it mentions once. A page is relevant if its score is `threshold` or more. Words
    are compared in lower case, by their stems unless `stemmed` is False; the words of a phrase must
    follow one another in that order, and so must the characters of one in a script without spaces.
    """

    def __init__(
        self,
        phrases: Sequence[str],
        *,
        threshold: float = 0.4,
        stemmed: bool = True,
        language: str = "english",
        fields: Mapping[str, float] = FIELD_WEIGHTS,
    ) -> None:
        self._language = language if stemmed else None
        unknown = sorted(set(fields) - set(FIELD_WEIGHTS))
        if unknown:
            have = ", ".join(FIELD_WEIGHTS)
            raise InputError(f"unknown field {unknown[0]!r} of a page; there are: {have}")
        for field, weight in fields.items():
            if not isinstance(weight, int | float) or isinstance(weight, bool) or not weight >= 0:
                raise InputError(f"field {field!r} has a weight from 0 on, not {weight!r}")
        if not any(fields.values()):
            raise InputError("no field of a page has a weight; give one, as in title = 1.0")
        self._fields = dict(fields)
        self._phrases = {
            phrase: words for phrase in phrases if (words := _words(terms(phrase), self._language))
        }
        if not self._phrases:
            raise InputError("no keyword has a letter or digit in it; give at least one word")
        self.threshold = threshold
        self._best = max(self._fields.values())

    def judge(self, page: Page) -> Judgement:
        parts = _parts(self._language, page.title, tuple(page.headings), page.url, page.text)
        why: list[tuple[str, float]] = []
        total = 0.0
        for phrase, words in self._phrases.items():
            value, reason = self._best_match(words, parts)
            if value:
                share = value / self._best / len(self._phrases)
                total += share
                why.append((f"{phrase!r} {reason}", share))
        score = min(1.0, total)
        relevant = score >= self.threshold
        return Judgement(score, relevant, float(relevant), tuple(why))

    def _best_match(self, words: tuple[str, ...], parts: Mapping[str, Part]) -> tuple[float, str]:
        best, reason = 0.0, ""
        for field, weight in self._fields.items():
            if weight <= best:
                continue
            count = parts[field].occurrences(words)
            if not count:
                continue
            if field == "text":
                density = count * 1000.0 / max(len(parts[field].words), 1000)
                weight *= 1.0 - 2.0**-density
            if weight > best:
                times = f" {count} times" if count > 1 else ""
                best, reason = weight, f"in its {field}{times}"
        return best, reason


def _words(words: Sequence[str], language: str | None) -> tuple[str, ...]:
    return tuple(stem(words, language) if language else words)


@lru_cache(maxsize=1)  # a topic may have many judges, and each sees the same page
def _parts(
    language: str | None, title: str, headings: tuple[str, ...], url: str, text: str
) -> Mapping[str, Part]:
    """Each part of a page."""
    fields = {
        "title": terms(title),
        # An empty word, which no phrase has, separates two headings.
        "headings": [word for heading in headings for word in (*terms(heading), "")],
        "url": [word for part in url_words(url) for word in part],
        "text": _of_text(text),
    }
    return {name: Part.of(_words(words, language)) for name, words in fields.items()}


def _of_text(text: str) -> Sequence[str]:
    if text.isascii() or not UNSPACED.search(text):
        return words_of(text).first(_TEXT_WORDS)
    return terms(text)[:_TEXT_WORDS]


@dataclass(frozen=True, slots=True)
class Part:
    """The words of a part of a page, and where each stands: a topic may have thousands of phrases,
    and most stand nowhere."""

    words: tuple[str, ...]
    places: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, words: tuple[str, ...]) -> Part:
        places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            places.setdefault(word, []).append(place)
        return cls(words, places)

    def occurrences(self, phrase: tuple[str, ...]) -> int:
        """How often the words of a phrase follow one another. O(how often its first word does)."""
        found = self.places.get(phrase[0], ())
        size = len(phrase)
        if size == 1:
            return len(found)
        return sum(self.words[start : start + size] == phrase for start in found)
