"""The text in the neighbourhood of a hyperlink, as bags of words (Rennie and McCallum 1999, section
3)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple

from spoor.learn.parameters import check_word
from spoor.types import Anchor, Page
from spoor.web.text import tokens
from spoor.web.urls import words as url_words

NEIGHBOURHOODS = ("full-page", "related", "no-url", "learned")

Words = Callable[[Page, str, Anchor], list[str]]
Key = Callable[[Page, str, Anchor], Hashable]


class BagOf(NamedTuple):
    """One bag of a hyperlink: its words, given the page, the target's URL and the anchor."""

    name: str
    key: Key
    """Hyperlinks with the same key have the same words."""
    words: Words


def bags_of(neighbourhood: str, context: int) -> tuple[BagOf, ...]:
    """The bags of a neighbourhood (section 3); `no-url` is `related` without the words of
    the URL, and `learned` has all bags that do not hold another's words.
    Raises InputError for an unknown one."""
    check_word("naive-bayes", "neighbourhood", neighbourhood, NEIGHBOURHOODS)

    def near(page: Page, url: str, anchor: Anchor) -> list[str]:
        before = tokens(anchor.before)
        return before[max(0, len(before) - context) :] + tokens(anchor.after)[:context]

    whole = BagOf("page", lambda page, url, anchor: page.url, lambda page, url, anchor: _all(page))
    if neighbourhood == "full-page":
        return (
            whole,
            BagOf(
                "link",
                lambda page, url, anchor: (anchor.text, url),
                lambda page, url, anchor: [*tokens(anchor.text), *_path(url)],
            ),
        )
    related = (
        BagOf(
            "head",
            lambda page, url, anchor: (page.title, anchor.headings),
            lambda page, url, anchor: tokens(" ".join((page.title, *anchor.headings))),
        ),
        BagOf(
            "link",
            lambda page, url, anchor: anchor.text,
            lambda page, url, anchor: tokens(anchor.text),
        ),
        BagOf("url", lambda page, url, anchor: url, lambda page, url, anchor: _path(url)),
        BagOf("near", lambda page, url, anchor: (anchor.before, anchor.after), near),
    )
    if neighbourhood == "no-url":
        return tuple(bag for bag in related if bag.name != "url")
    return (whole, *related) if neighbourhood == "learned" else related


def _all(page: Page) -> list[str]:
    return tokens(f"{page.title} {page.text}")


def _path(url: str) -> list[str]:
    parts = url_words(url)
    return [*parts.directories, *parts.file]
