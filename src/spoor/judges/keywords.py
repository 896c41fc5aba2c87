"""Keywords and phrases, found as whole words, weighed by where they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from spoor.errors import InputError
from spoor.types import Judgement, Page
from spoor.web.text import stem, tokens, words_of
from spoor.web.urls import words as url_words

FIELD_WEIGHTS: Mapping[str, float] = {"title": 1.0, "headings": 0.8, "url": 0.8, "text": 0.5}
"""What one occurrence in each part of a page is worth."""

_TEXT_WORDS = 50_000


class Keywords:
    """Score: share of the phrases that the page holds, each weighed by the best place it stands in.

    A phrase that stands in the text alone counts more the oftener it does: `weight · (1 − 2^−n)`
    with n occurrences a thousand words (in all of a shorter text), so a long page is not about
    everything that it mentions once. A page is relevant from `threshold` on. Words are compared
    lower-case, by their stems unless `stemmed` is False; a phrase of several words must stand in
    that order.
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
            phrase: words for phrase in phrases if (words := _words(tokens(phrase), self._language))
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
            value, reason = self._find(words, parts)
            if value:
                share = value / self._best / len(self._phrases)
                total += share
                why.append((f"{phrase!r} {reason}", share))
        score = min(1.0, total)
        relevant = score >= self.threshold
        return Judgement(score, relevant, float(relevant), tuple(why))

    def _find(
        self, words: tuple[str, ...], parts: Mapping[str, tuple[str, ...]]
    ) -> tuple[float, str]:
        best, reason = 0.0, ""
        for field, weight in self._fields.items():
            if weight <= best:
                continue
            found = occurrences(words, parts[field])
            if not found:
                continue
            if field == "text":
                often = found * 1000.0 / max(len(parts[field]), 1000)
                weight *= 1.0 - 2.0**-often
            if weight > best:
                times = f" {found} times" if found > 1 else ""
                best, reason = weight, f"in its {field}{times}"
        return best, reason


def _words(words: Sequence[str], language: str | None) -> tuple[str, ...]:
    return tuple(stem(words, language) if language else words)


@lru_cache(maxsize=1)  # a topic may have many judges, and each sees the same page
def _parts(
    language: str | None, title: str, headings: tuple[str, ...], url: str, text: str
) -> Mapping[str, tuple[str, ...]]:
    """The words of each part of a page."""
    told = {
        "title": tokens(title),
        # Between two headings stands a word that no phrase has.
        "headings": [word for heading in headings for word in (*tokens(heading), "")],
        "url": [word for part in url_words(url) for word in part],
        "text": words_of(text).first(_TEXT_WORDS),
    }
    return {name: _words(words, language) for name, words in told.items()}


def occurrences(phrase: tuple[str, ...], words: Sequence[str]) -> int:
    """How often the words of a phrase stand one after the other. O(words)."""
    first, size = phrase[0], len(phrase)
    if size == 1:
        return words.count(first)
    count, at = 0, 0
    while True:
        try:
            at = words.index(first, at)
        except ValueError:
            return count
        count += tuple(words[at : at + size]) == phrase
        at += 1
