"""Bytes → Page: text, and every link with its neighbourhood.

The tree is built by lexbor and walked once, in reading order. Nothing that a page contains raises
or takes more than linear time: what is too much is cut and flagged.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from spoor.types import Anchor, Link, Page
from spoor.web.encoding import decode
from spoor.web.media_types import is_html
from spoor.web.urls import Joiner, canonical

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_LINKS = 5_000
MAX_TEXT = 1 << 20
MAX_SOURCE = 1 << 22
"""Characters of HTML that are read: a tree takes forty bytes for each, and most of a second."""
MAX_FEEDS = 5
"""That a page may name as its own."""
MAX_DEPTH = 512
"""Deeper elements are left out: browsers stop at about the same depth."""

CONTEXT_WORDS = 10
_CONTEXT_CHARACTERS = 200
_ANCHOR_WORDS = 50
_ANCHOR_CHARACTERS = 500
_PATH_ELEMENTS = 32
_WORD_CHARACTERS = 1_000
"""A word that is put together from more is taken for several."""

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "math", "object", "iframe"})
RESERVED = "tdm-reserved"
"""The flag of a page that reserves text and data mining (TDMRep)."""
_BLOCKS = frozenset(
    """address article aside blockquote body br caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol
    option p pre section select summary table tbody td textarea tfoot th thead tr ul""".split()
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_REGIONS = {"nav": "nav", "header": "header", "footer": "footer", "aside": "aside", "main": "main"}
_ROLES = {
    "navigation": "nav",
    "banner": "header",
    "contentinfo": "footer",
    "complementary": "aside",
    "main": "main",
}
_SOURCES = {"frame": "src", "iframe": "src", "area": "href", "a": "href"}
_REFRESH = re.compile(r"""^\s*[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?["']?\s*([^"'>]+)""", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})


@dataclass(slots=True)
class _Place:
    """A position on a page, shared by all elements that have the same path."""

    path: str
    region: str
    below: dict[object, _Place] = field(default_factory=dict)
    """By tag, or by everything that distinguishes elements."""


@dataclass(slots=True)
class _Open:
    """A link whose place on the page is known and whose words may be incomplete."""

    url: str
    kind: str
    begin: int
    """Number of words before it."""
    headings: tuple[str, ...]
    place: _Place
    nofollow: bool
    words: str = ""
    """Its text where the element has none of its own (image, area, frame)."""
    end: int = -1


@dataclass(slots=True)
class _Walk:
    """What one pass over the tree collects."""

    base: str
    joiner: Joiner
    max_links: int
    max_text: int
    words: list[str] = field(default_factory=list)
    based: bool = False
    """A base element was seen."""
    glued: bool = False
    """The last word continues in the next text, as in `foo<b>bar</b>`."""
    size: int = 0
    links: list[_Open] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    heading_room: int = 0
    """Characters of headings that may still be read."""
    above: dict[int, str] = field(default_factory=dict)
    above_now: tuple[str, ...] = ()
    title: str = ""
    metas: dict[str, str] = field(default_factory=dict)
    canonical: str | None = None
    feeds: list[str] = field(default_factory=list)
    language: str = ""
    flags: set[str] = field(default_factory=set)
    chain: list[LexborNode] = field(default_factory=list)
    """Elements that are open now, outermost first."""
    tags: list[str] = field(default_factory=list)
    """Their tags."""
    places: list[_Place] = field(default_factory=list)
    """Places of the outermost of them, computed on demand."""
    top: _Place = field(default_factory=lambda: _Place("", "main"))


def parse(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    status: int = 200,
    labels: frozenset[str] = frozenset(),
    site: str = "",
    fetched_at: float | None = None,
    modified: float | None = None,
    truncated: bool = False,
    robots: str = "",
    max_links: int = MAX_LINKS,
    max_text: int = MAX_TEXT,
    joiner: Joiner | None = None,
) -> Page:
    """One document as a Page. `url` is canonical; `robots` is the X-Robots-Tag header.

    HTML and XHTML give text and links; other text gives its text; anything else gives neither and
    the flag `not-html`. More than `max_links` links, `max_text` characters, or `MAX_SOURCE` of
    source are cut (flag `truncated`). Never raises for what a page contains; O(bytes).
    """
    media = content_type.partition(";")[0].strip().lower()
    flags = {"truncated"} if truncated else set()
    if not is_html(body, content_type):
        flags.add("not-html")
        text, encoding = "", ""
        if media.startswith("text/"):
            text, encoding, clean = decode(body[: 4 * max_text], content_type)
            flags |= set() if clean else {"undecodable"}
        flags |= robots_flags(robots)
        return Page(
            url=url,
            status=status,
            content_type=media,
            text=_SPACE.sub(" ", text[:max_text]).strip(),
            encoding=encoding,
            flags=frozenset(flags),
            labels=labels,
            site=site,
            fetched_at=fetched_at,
            modified=modified,
        )
    source, encoding, clean = decode(body, content_type)
    if not clean:
        flags.add("undecodable")
    if len(source) > MAX_SOURCE:
        flags.add("truncated")
        source = source[:MAX_SOURCE]
    walk = _Walk(
        url, joiner or Joiner(), max_links, max_text, heading_room=8 * len(source), flags=flags
    )
    root = LexborHTMLParser(source).root
    if root is not None:
        _walk(root, walk)
    flags |= robots_flags(f"{robots},{walk.metas.get('robots', '')}")
    if walk.metas.get("tdm-reservation") == "1":
        flags.add(RESERVED)
    links = _finish(walk, "nofollow" in flags)
    return Page(
        url=url,
        status=status,
        content_type=media or "text/html",
        title=walk.title,
        headings=tuple(walk.headings),
        text=" ".join(walk.words),
        links=links,
        description=walk.metas.get("description", ""),
        canonical=walk.canonical if walk.canonical != url else None,
        language=walk.language,
        encoding=encoding,
        flags=frozenset(flags),
        labels=labels,
        site=site,
        fetched_at=fetched_at,
        modified=modified,
        feeds=tuple(walk.feeds),
    )


def robots_flags(directives: str) -> set[str]:
    """The flags that the directives of X-Robots-Tag and robots meta elements set; among them may be
    `RESERVED` itself, for a header of TDMRep."""
    names = {part.strip().lower() for part in directives.replace(":", ",").split(",")}
    if "none" in names:
        names |= {"noindex", "nofollow"}
    if names & {"noai", "noimageai", "noml"}:
        names.add("noai")
    return names & {"noindex", "nofollow", "noai", RESERVED}


def _walk(root: LexborNode, walk: _Walk) -> None:
    """Depth first without recursion: enter an element, its children, leave it."""
    node, tag = root, root.tag or ""
    chain, tags, places = walk.chain, walk.tags, walk.places
    open_links: list[_Open] = []
    depth, innermost = 0, -1
    """Length of the chain, and index in it of the innermost open link."""
    depths = [innermost]
    while True:
        child = None
        if tag == "-text":
            content = node.text_content
            if content:
                _on_text(content, walk)
        elif tag not in _SKIPPED or tag == "iframe":
            if tag in _BLOCKS:
                walk.glued = False
            if tag in _HANDLERS:
                link = _HANDLERS[tag](node, tag, walk)
                if link is not None and tag == "a":
                    open_links.append(link)
                    depths.append(innermost)
                    innermost = depth
            if tag != "title" and tag != "iframe":
                child = node.child
                if child is not None and depth >= MAX_DEPTH:
                    walk.flags.add("too-deep")
                    child = None
        if child is not None:
            chain.append(node)
            tags.append(tag)
            depth += 1
            node, tag = child, child.tag or ""
            continue
        while True:
            # Leave the element: its link ends here, and so does its line.
            if innermost == depth:
                open_links.pop().end = len(walk.words)
                innermost = depths.pop()
                walk.glued = False
            elif tag in _BLOCKS:
                walk.glued = False
            following = node.next
            if following is not None:
                node, tag = following, following.tag or ""
                break
            if depth <= 1:
                return
            node, tag = chain.pop(), tags.pop()
            depth -= 1
            if len(places) > depth:
                places.pop()


def _on_text(content: str, walk: _Walk) -> None:
    room = walk.max_text - walk.size
    if room <= 0:
        return
    if len(content) > room:
        content = content[:room]
        walk.flags.add("truncated")
    walk.size += len(content)
    words = content.split()
    if not words:
        walk.glued = False
        return
    if walk.glued and not content[0].isspace() and len(walk.words[-1]) < _WORD_CHARACTERS:
        walk.words[-1] += words[0]
        del words[0]
    walk.words += words
    walk.glued = not content[-1].isspace()


def _on_link(node: LexborNode, tag: str, walk: _Walk) -> _Open | None:
    attributes = node.attributes
    href = attributes.get(_SOURCES[tag])
    if not href or len(walk.links) >= walk.max_links:
        if href:
            walk.flags.add("truncated")
        return None
    target = walk.joiner.join(href, walk.base)
    if target is None:
        return None
    rel = attributes.get("rel")
    words = ""
    if tag != "a":
        words = attributes.get("alt") or attributes.get("title") or attributes.get("name") or ""
    else:
        words = attributes.get("title") or ""
    walk.glued = False
    link = _Open(
        target,
        tag,
        len(walk.words),
        walk.above_now,
        _place(tag, attributes, walk),
        rel is not None and "nofollow" in rel.lower().split(),
        words,
    )
    walk.links.append(link)
    return link


def _on_image(node: LexborNode, tag: str, walk: _Walk) -> None:
    if walk.links and walk.links[-1].end < 0 and walk.links[-1].kind == "a":
        alternative = node.attributes.get("alt")
        if alternative:
            walk.glued = False
            _on_text(f" {alternative[:_CONTEXT_CHARACTERS]} ", walk)
    return


def _on_heading(node: LexborNode, tag: str, walk: _Walk) -> None:
    if walk.heading_room <= 0:
        return
    text = node.text(deep=True)
    # The text of headings in headings is read again for each.
    walk.heading_room -= len(text)
    text = _SPACE.sub(" ", text[: 2 * _CONTEXT_CHARACTERS]).strip()
    level = _HEADINGS[tag]
    above = {rank: words for rank, words in walk.above.items() if rank < level}
    if text:
        above[level] = text
        walk.headings.append(text)
    walk.above = above
    walk.above_now = tuple(above.values())
    return


def _on_title(node: LexborNode, tag: str, walk: _Walk) -> None:
    if not walk.title:
        walk.title = _SPACE.sub(" ", node.text(deep=True)[:2_000]).strip()
    return


def _on_meta(node: LexborNode, tag: str, walk: _Walk) -> None:
    attributes = node.attributes
    content = attributes.get("content") or ""
    name = (attributes.get("name") or "").strip().lower()
    if name in ("robots", "description", "tdm-reservation"):
        walk.metas.setdefault(name, _SPACE.sub(" ", content[:2_000]).strip())
    elif (attributes.get("http-equiv") or "").strip().lower() == "refresh":
        match = _REFRESH.match(content)
        target = walk.joiner.join(match[1].strip(), walk.base) if match else None
        if target is not None and ("url" in content.lower() or "/" in content):
            if len(walk.links) >= walk.max_links:
                walk.flags.add("truncated")
                return
            place = _place(tag, attributes, walk)
            walk.links.append(_Open(target, "refresh", len(walk.words), (), place, False))
    return


def _on_base(node: LexborNode, tag: str, walk: _Walk) -> None:
    # Only the first one with an href counts; it is resolved against the page's own URL.
    href = node.attributes.get("href")
    if href is not None and not walk.based:
        walk.based = True
        with contextlib.suppress(ValueError):
            walk.base = canonical(href, walk.base)
    return


def _on_rel(node: LexborNode, tag: str, walk: _Walk) -> None:
    attributes = node.attributes
    rel = (attributes.get("rel") or "").lower().split()
    if "canonical" in rel and walk.canonical is None:
        walk.canonical = walk.joiner.join(attributes.get("href") or "", walk.base)
    kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
    if "alternate" in rel and kind in _FEEDS and len(walk.feeds) < MAX_FEEDS:
        target = walk.joiner.join(attributes.get("href") or "", walk.base)
        if target is not None and target not in walk.feeds:
            walk.feeds.append(target)
    return


def _on_html(node: LexborNode, tag: str, walk: _Walk) -> None:
    walk.language = (node.attributes.get("lang") or "").strip()[:35]
    return


_HANDLERS = {
    "a": _on_link,
    "area": _on_link,
    "frame": _on_link,
    "iframe": _on_link,
    "img": _on_image,
    "title": _on_title,
    "meta": _on_meta,
    "base": _on_base,
    "link": _on_rel,
    "html": _on_html,
} | dict.fromkeys(_HEADINGS, _on_heading)


def _finish(walk: _Walk, nofollow: bool) -> list[Link]:
    """The links with the words around them."""
    words = walk.words
    links: list[Link] = []
    for position, link in enumerate(walk.links):
        begin, end = link.begin, max(link.begin, link.end)
        text = " ".join(words[begin : min(end, begin + _ANCHOR_WORDS)]) or link.words
        before = " ".join(words[max(0, begin - CONTEXT_WORDS) : begin])
        after = " ".join(words[end : end + CONTEXT_WORDS])
        place = link.place
        anchor = Anchor(
            text[:_ANCHOR_CHARACTERS],
            before[-_CONTEXT_CHARACTERS:],
            after[:_CONTEXT_CHARACTERS],
            link.headings,
            place.path,
            position,
            place.region,
            link.nofollow or nofollow,
        )
        links.append(Link(link.url, anchor, link.kind))
    return links


def _place(tag: str, attributes: Mapping[str, str | None], walk: _Walk) -> _Place:
    """The place of an element inside the open elements; each parent's place is computed once."""
    places, chain = walk.places, walk.chain
    for depth in range(len(places), len(chain)):
        above = places[-1] if places else walk.top
        places.append(_below(above, walk.tags[depth], chain[depth].attributes))
    return _below(places[-1] if places else walk.top, tag, attributes)


def _below(above: _Place, tag: str, attributes: Mapping[str, str | None]) -> _Place:
    key: object = tag
    if attributes:
        key = (tag, attributes.get("id"), attributes.get("class"), attributes.get("role"))
    place = above.below.get(key)
    if place is None:
        place = above.below[key] = _new_place(above, tag, attributes)
    return place


def _new_place(above: _Place, tag: str, attributes: Mapping[str, str | None]) -> _Place:
    path, region, step = above.path, above.region, tag
    name, classes, role = (attributes.get(of) for of in ("id", "class", "role"))
    if name:
        step += "#" + name[:40]
    if classes:
        step += "." + ".".join(classes.split()[:3])[:60]
    if role:
        region = _ROLES.get(role.lower(), region)
    region = _REGIONS.get(tag, region)
    if path.count("/") < _PATH_ELEMENTS:
        path = intern(f"{path}/{step}" if path else step)
    return _Place(path, region)
