"""Patterns over URLs, as a user writes them: globs, and `re:` with a regular expression.

A glob fits a whole URL: with its scheme where it has `://`, its path and query where it begins with
`/`, else all behind the scheme. `*` stands for any characters, also for slashes and none.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import translate
from typing import Any
from urllib.parse import quote

from spoor.web.expressions import compiled

_LONGEST = 0.25
"""Seconds that one search may take: patterns backtrack, and URLs come from strangers."""


class UrlPatterns:
    """Several patterns, of which a URL fits the first that it fits.

    A regular expression that takes too long on a URL is from then on tried only on URLs of half
    that length; so all its searches in vain take 3 seconds at most. Raises InputError for what is
    no pattern.
    """

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        self._patterns = [_Pattern(text) for text in patterns if text]

    def __len__(self) -> int:
        return len(self._patterns)

    def fitting(self, url: str, *, undecided: bool) -> str:
        """The pattern that a canonical URL fits; empty for none. `undecided`: whether one that
        cannot be decided in time counts as fitting."""
        for pattern in self._patterns:
            fits = pattern.fits(url)
            if undecided if fits is None else fits:
                return pattern.text
        return ""


class _Pattern:
    __slots__ = ("_from", "_longest", "_regex", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._longest = 1 << 30
        """Characters of the longest URL that it is tried on."""
        self._from = "all"
        if text.startswith("re:"):
            self._regex = compiled(text[3:], text)
            return
        glob = quote(text, safe="".join(map(chr, range(33, 127))))
        if "://" not in glob:
            self._from = "path" if glob.startswith("/") else "host"
        self._regex = _of_glob(translate(glob))

    def fits(self, url: str) -> bool | None:
        """None where it cannot be decided in time."""
        if len(url) > self._longest:
            return None
        if self._from != "all":
            url = url.partition("://")[2]
            if self._from == "path":
                url = "/" + url.partition("/")[2]
        try:
            return self._regex.search(url, timeout=_LONGEST) is not None
        except TimeoutError:
            self._longest = len(url) // 2
            return None


def _of_glob(pattern: str) -> Any:
    """It fits from the beginning to the end. It has neither groups nor repetitions of a number."""
    import regex  # it takes long, and few runs need it

    return regex.compile(rf"\A{pattern}")
