"""What a page says that it is filed under: its tags, its categories, its section."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from spoor.web.tree_walk import MOST_KEYWORDS, Walk

_WORDS = 8
"""Of a tag."""


def keywords_of(
    walk: Walk, words: Sequence[str], counts: Sequence[int], *, of_first: bool
) -> tuple[str, ...]:
    """What a page's head says, and the tags of its document: links with `rel=tag` that do not
    stand beside its main part. Where several articles have tags, those of the first alone if
    `of_first`, since others are related ones; else none, since the page is a list of them. `words`
    and `counts` are of the walk's text. O(tags)."""
    keywords = dict.fromkeys(filter(None, walk.keywords))
    article: tuple[int, bool] | None = None
    tags = list[str]()
    for number in walk.tags:
        found, end = walk.found[number], walk.ends[number]
        if end < 0 or found.place.is_beside:
            continue
        its = bisect_right(walk.articles, found.begin), found.place.in_article
        if article is not None and its != article:
            tags = tags if of_first else []
            break
        article = its
        tags.append(" ".join(words[counts[found.begin] : counts[end]][:_WORDS]))
    if len(tags) <= MOST_KEYWORDS:
        keywords.update(dict.fromkeys(filter(None, tags)))
    return tuple(keywords)
