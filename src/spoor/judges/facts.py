"""Judges of plain facts: the page's label, URL, media type, a pattern in its text, or what a
Python function says."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from spoor.errors import InputError
from spoor.types import Judgement, Page

_NO = Judgement(0.0, False, 0.0)
_TEXT = 200_000
"""Characters of a text that a pattern is looked for in."""
_SHOWN = 80


def _yes(why: str) -> Judgement:
    return Judgement(1.0, True, 1.0, ((why, 1.0),))


class Label:
    """Pages that whoever recorded them gave this label."""

    def __init__(self, label: str) -> None:
        self._label = label

    def judge(self, page: Page) -> Judgement:
        return _yes(f"is labelled {self._label!r}") if self._label in page.labels else _NO


class UrlPattern:
    """Pages whose URL a regular expression is found in."""

    def __init__(self, pattern: str) -> None:
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise InputError(f"bad regular expression {pattern!r}: {error}") from error

    def judge(self, page: Page) -> Judgement:
        found = self._pattern.search(page.url)
        return _yes(f"its URL has {found[0]!r}") if found else _NO


class TextPattern:
    """Pages in whose title or text a regular expression is found; letters' case does not matter."""

    def __init__(self, pattern: str) -> None:
        try:
            self._pattern = re.compile(pattern, re.IGNORECASE)
        except re.error as error:
            raise InputError(f"bad regular expression {pattern!r}: {error}") from error

    def judge(self, page: Page) -> Judgement:
        for where, text in (("title", page.title), ("text", page.text[:_TEXT])):
            if found := self._pattern.search(text):
                said = " ".join(found[0].split())
                return _yes(f"its {where} has {said[:_SHOWN]!r}")
        return _NO


class MediaType:
    """Documents whose media type fits a pattern such as `application/pdf` or `image/*`."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern.strip().lower()
        if "/" not in self._pattern:
            raise InputError(f"media type {pattern!r} has no '/'; write it as in 'application/pdf'")

    def judge(self, page: Page) -> Judgement:
        fits = fnmatchcase(page.content_type.partition(";")[0].strip().lower(), self._pattern)
        return _yes(f"is {page.content_type}") if fits else _NO


class Function:
    """What a Python function says of a page: a bool, a score in [0, 1], or a whole Judgement."""

    def __init__(
        self, function: Callable[[Page], bool | float | Judgement], *, threshold: float = 0.5
    ) -> None:
        self._function = function
        self.threshold = threshold

    def judge(self, page: Page) -> Judgement:
        said = self._function(page)
        if isinstance(said, Judgement):
            return said
        score = float(said)
        relevant = score >= self.threshold
        name = getattr(self._function, "__name__", "the function")
        return Judgement(score, relevant, float(relevant), ((f"{name} says so", score),))
