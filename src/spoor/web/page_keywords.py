"""What a page says that it is filed under: its tags, its categories, its section, and what the
links pass through that lead back from it to the home page."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from spoor.web.tree_walk import MOST_KEYWORDS, Walk

_WORDS = 8
"""Of a tag."""
_LONGEST_TRAIL = 8
"""Links: what has more is no way back."""


def keywords_of(
    walk: Walk, words: Sequence[str], counts: Sequence[int], url: str, *, of_first: bool
) -> tuple[str, ...]:
    """What a page's head says, the tags of its document, and what the links say that lead back from
    it. Tags are links with `rel=tag` that do not stand beside its main part. Where several articles
    have tags, those of the first alone if `of_first`, since others are related ones; else none,
    since the page is a list of them. `words` and `counts` are of the walk's text. O(tags)."""
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
    keywords.update(dict.fromkeys(_passed(walk, words, counts, url)))
    return tuple(keywords)


def _passed(walk: Walk, words: Sequence[str], counts: Sequence[int], url: str) -> list[str]:
    """What the links say that lead back from the page of a URL, but for those to itself and to the
    home page of its host."""
    own = {url, walk.canonical, "/".join(url.split("/", 3)[:3]) + "/"}
    numbers = [at for at in walk.trail if walk.urls[at] not in own and walk.ends[at] >= 0]
    if len({walk.urls[at] for at in numbers}) > _LONGEST_TRAIL:
        return []
    said = (words[counts[walk.found[at].begin] : counts[walk.ends[at]]] for at in numbers)
    return [" ".join(its[:_WORDS]) for its in said if its]
