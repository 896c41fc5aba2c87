"""What a page says that it is filed under: its tags, its categories, its section, what stands
behind such a label, and what the links pass through that lead back from it to the home page."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from urllib.parse import unquote_plus

from spoor.web.labelled_facts import LABELS, VALUES, labelled
from spoor.web.tree_walk import MOST_KEYWORDS, Walk
from spoor.web.url_groups import TAG_FOLDERS

_WORDS = 8
"""Of a tag."""
_NEAR = 4
"""Signs between two tags."""
_LONGEST_TRAIL = 8
"""Links: what has more is no way back."""
_OF_TAG = re.compile(
    rf"/(?:{'|'.join(TAG_FOLDERS.split())})/([^/?#]+?)(?:\.html?|\.php)?/?|[^?]*\?[^=&]+=([^&]+)",
    re.IGNORECASE,
)
"""The end of a URL that may be that of a tag: its name is the last segment, below a folder of tags,
or the value of its only parameter."""
_WORD = re.compile(r"[^\W_]+")
_ONWARD = frozenset("› » > → :: ⇒ ▸ ▶ ➔ ⟩".split())
"""Between what belongs to what: "Forum › Birds › Kites"."""
_TOP = re.compile(r"(?:(?:index|home|start|default|main)\b[^/]*)?")
"""The last segment of the URL of a home page."""


def keywords_of(
    walk: Walk,
    words: Sequence[str],
    counts: Sequence[int],
    text: str,
    url: str,
    *,
    of_first: bool,
) -> tuple[str, ...]:
    """What a page's head says, the tags of its document, what stands behind a label, and what the
    links say that lead back from it. Tags are links with `rel=tag` that do not stand beside its
    main part, and links of an `article`, or right behind a label, whose URL has just what they say
    as a tag. Where several articles have tags, those of the first alone if `of_first`, since others
    are related ones; else none, since the page is a list of them. `words` and `counts` are of the
    walk's `text`. O(texts)."""
    keywords = dict.fromkeys(filter(None, walk.keywords))
    article: tuple[int, bool] | None = None
    tags = list[str]()
    for number in sorted({*walk.tags, *_as_tags(walk, words, counts, url)}):
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
    if of_first:
        keywords.update(dict.fromkeys(labelled(walk, text)))
    keywords.update(dict.fromkeys(_passed(walk, words, counts, text, url)))
    return tuple(keywords)


def _as_tags(walk: Walk, words: Sequence[str], counts: Sequence[int], url: str) -> Iterator[int]:
    """The links of articles whose URLs have what they say as a tag, and those behind a label."""
    names = {part.partition("=")[0] for part in url.partition("?")[2].split("&")}
    behind = _behind_labels(walk, words, counts)
    for number, (to, found) in enumerate(zip(walk.urls, walk.found, strict=True)):
        if not (found.place.in_article or number in behind) or walk.ends[number] < 0:
            continue
        its = _OF_TAG.fullmatch(to, max(0, to.rfind("/", 0, to.rstrip("/").rfind("/"))))
        if its is None:
            continue
        if its[2] and to.partition("?")[2].partition("=")[0] in names:
            continue  # the page itself is named so, and so are others that it speaks of
        said = words[counts[found.begin] : counts[walk.ends[number]]][: _WORDS + 1]
        name = _plain(unquote_plus(its[1] or its[2]))
        if any(map(str.isalpha, "".join(name))) and _plain(" ".join(said)) == name:
            yield number


def _behind_labels(walk: Walk, words: Sequence[str], counts: Sequence[int]) -> Container[int]:
    """The links right behind a word that is a label, as far as no other word follows one; none
    where these are more than a page is filed under. O(links)."""
    befores = (counts[found.begin] for found in walk.found)
    if not any(before and words[before - 1].lower() in LABELS for before in befores):
        return ()
    found, run, last = set[int](), list[int](), -1
    for number, (its, end) in enumerate(zip(walk.found, walk.ends, strict=True)):
        begin = counts[its.begin]
        if end < 0 or counts[end] == begin or not begin:
            continue
        if not (run and begin - last < _NEAR and not any(map(_WORD.search, words[last:begin]))):
            if len(run) <= VALUES:
                found.update(run)
            run = []
        if run or words[begin - 1].lower() in LABELS:
            run.append(number)
        last = counts[end]
    return found.union(run) if len(run) <= VALUES else found


def _plain(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _passed(
    walk: Walk, words: Sequence[str], counts: Sequence[int], text: str, url: str
) -> list[str]:
    """What the links say that lead back from the page of a URL, but for those to itself and to the
    home page of its host."""
    own = {url, walk.canonical, "/".join(url.split("/", 3)[:3]) + "/"}
    trail = _led_on(walk, words, counts, text, url) or walk.trail
    numbers = [at for at in trail if walk.urls[at] not in own and walk.ends[at] >= 0]
    if len({walk.urls[at] for at in numbers}) > _LONGEST_TRAIL:
        return []
    said = (words[counts[walk.found[at].begin] : counts[walk.ends[at]]] for at in numbers)
    return [" ".join(its[:_WORDS]) for its in said if its]


def _led_on(
    walk: Walk, words: Sequence[str], counts: Sequence[int], text: str, url: str
) -> list[int]:
    """The first links that follow one to the home page, or to the top of a folder that the page is
    in, with nothing but a sign before each that points onward. O(links)."""
    if not any(f" {sign} " in text for sign in _ONWARD):
        return []
    run, last = list[int](), -1
    for number, (found, end) in enumerate(zip(walk.found, walk.ends, strict=True)):
        begin = counts[found.begin]
        if end < 0 or counts[end] == begin:
            continue
        if last >= 0 and begin == last + 1 and words[last] in _ONWARD:
            run.append(number)
            last = counts[end]
        elif run:
            break
        else:
            folder, _, name = walk.urls[number].rpartition("/")
            is_top = _TOP.fullmatch(name) is not None and url.startswith(f"{folder}/")
            last = counts[end] if is_top else -1
    return run
