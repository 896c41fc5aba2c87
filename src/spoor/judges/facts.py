"""Judges of simple facts: the label, URL or media type of a page, a pattern in its text, or the
result of a Python function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any

from spoor.errors import InputError
from spoor.stopwatch import timed
from spoor.types import Judgement, Page
from spoor.web.expressions import compiled
from spoor.web.media_types import media_of, media_of_name

_NO = Judgement(0.0, False, 0.0)
_TEXT = 200_000
"""Characters of a text that are searched for a pattern."""
_SHOWN = 80
_LONGEST = 0.25
"""Seconds that a search may take. One that backtracks for longer finds nothing: patterns come from
strangers too, and an honest one may meet a hostile page."""
_TOGETHER = 2.0
"""Seconds that all patterns of a topic may take of one page; what is not looked for by then is not
found."""


class SearchTime:
    """What is left to the patterns of one topic of the time for a page."""

    def __init__(self) -> None:
        self._page: Page | None = None
        self._left = 0.0

    def first(self, pattern: Any, page: Page, text: str) -> str | None:
        """What matches first in a text of the page; None for nothing, or nothing in time."""
        if page is not self._page:
            self._page, self._left = page, _TOGETHER
        if self._left <= 0.0:
            return None
        longest = min(_LONGEST, self._left)
        match, seconds = timed(lambda: _first(pattern, text, longest))
        self._left -= seconds
        return match


def _first(pattern: Any, text: str, longest: float) -> str | None:
    try:
        match = pattern.search(text, timeout=longest)
    except (TimeoutError, MemoryError):
        return None
    return None if match is None else str(match[0])


def _yes(why: str) -> Judgement:
    return Judgement(1.0, True, 1.0, ((why, 1.0),))


class Label:
    """Relevant: pages that were recorded with this label."""

    def __init__(self, label: str) -> None:
        self.wanted = label

    def judge(self, page: Page) -> Judgement:
        return _yes(f"is labelled {self.wanted!r}") if self.wanted in page.labels else _NO


class UrlPattern:
    """Relevant: pages whose URL matches a regular expression anywhere. `time`: that of all patterns
    of its topic. Raises InputError as `compiled` does."""

    def __init__(self, pattern: str, time: SearchTime | None = None) -> None:
        self._pattern = compiled(pattern, pattern)
        self._time = time or SearchTime()

    def judge(self, page: Page) -> Judgement:
        match = self._time.first(self._pattern, page, page.url)
        return _NO if match is None else _yes(f"its URL has {match!r}")


class TextPattern:
    """Relevant: pages whose title or text matches a regular expression anywhere, in any case.
    `time`: that of all patterns of its topic. Raises InputError as `compiled` does."""

    def __init__(self, pattern: str, time: SearchTime | None = None) -> None:
        self._pattern = compiled(pattern, pattern, any_case=True)
        self._time = time or SearchTime()

    def judge(self, page: Page) -> Judgement:
        for part, text in (("title", page.title), ("text", page.text[:_TEXT])):
            match = self._time.first(self._pattern, page, text)
            if match is not None:
                words = " ".join(match.split())
                return _yes(f"its {part} has {words[:_SHOWN]!r}")
        return _NO


class UrlAmong:
    """Relevant: pages with one of these canonical URLs."""

    def __init__(self, urls: Iterable[str]) -> None:
        self._urls = frozenset(urls)

    def judge(self, page: Page) -> Judgement:
        return _yes(f"its URL has {page.url!r}") if page.url in self._urls else _NO


class MediaType:
    """Relevant: documents whose media type matches a pattern as in `application/pdf`, `image/*`, or
    is that of an ending as in `pdf`."""

    def __init__(self, pattern: str) -> None:
        wanted = pattern.strip().lower()
        self._pattern = wanted if "/" in wanted else media_of_name(f"x.{wanted}")
        if not self._pattern:
            raise InputError(f"media type {pattern!r} has no '/'; write it as in 'application/pdf'")

    def judge(self, page: Page) -> Judgement:
        fits = fnmatchcase(media_of(page.content_type), self._pattern)
        return _yes(f"is {page.content_type}") if fits else _NO


class Function:
    """Judges by a function of a page, which returns a bool, a score in [0, 1] or a Judgement."""

    def __init__(
        self, function: Callable[[Page], bool | float | Judgement], *, threshold: float = 0.5
    ) -> None:
        self._function = function
        self.threshold = threshold

    def judge(self, page: Page) -> Judgement:
        result = self._function(page)
        if isinstance(result, Judgement):
            return result
        score = float(result)
        relevant = score >= self.threshold
        name = getattr(self._function, "__name__", "the function")
        return Judgement(score, relevant, float(relevant), ((f"{name} says so", score),))
