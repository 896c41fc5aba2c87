"""The words of links and texts, as several policies read them."""

from __future__ import annotations

from spoor.types import Anchor
from spoor.web.text import STOP_WORDS, stem, tokens
from spoor.web.urls import words


def content_words(text: str) -> list[str]:
    """The words of a text, stop words left out."""
    return [word for word in tokens(text) if word not in STOP_WORDS]


def content_stems(text: str) -> list[str]:
    """Their stems."""
    return stem(content_words(text))


def url_words(url: str) -> list[str]:
    """The words of a URL's directories, file name and query, without its host."""
    parts = words(url)
    return [*parts.directories, *parts.file, *parts.query]


def words_around(anchor: Anchor, context: int) -> list[str]:
    """Up to `context` words on either side of a link."""
    around: list[str] = []
    if context:
        if anchor.before:
            around += tokens(anchor.before)[-context:]
        if anchor.after:
            around += tokens(anchor.after)[:context]
    return around


def link_words(url: str, anchor: Anchor, context: int) -> list[str]:
    """The words of a link's URL and anchor, and up to `context` on either side of it."""
    return [*url_words(url), *tokens(anchor.text), *words_around(anchor, context)]
