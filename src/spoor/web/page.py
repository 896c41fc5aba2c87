"""Bytes → Page: text, and every link with its neighbourhood.

The tree is built by lexbor and walked once, in reading order. Nothing that a page contains raises
or takes more than linear time: what is too much is cut and flagged.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from spoor.types import Anchor, Link, Page
from spoor.web.encoding import decode
from spoor.web.media_types import is_html
from spoor.web.tag_paths import PLACES, Place
from spoor.web.urls import Joiner, canonical, plain
from spoor.web.xhtml import with_end_tags

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
_SOURCES = {"frame": "src", "iframe": "src", "area": "href", "a": "href"}
_REFRESH = re.compile(r"""^\s*[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?["']?\s*([^"'>]+)""", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})


_Found = tuple[str, str, int, tuple[str, ...], Place, bool, str]
"""A link whose place on the page is known: URL, kind, number of words before it, headings above it,
place, nofollow, and its text where the element has none of its own (image, area, frame)."""


@dataclass(slots=True)
class _Walk:
    """What one pass over the tree collects."""

    base: str
    joiner: Joiner
    max_links: int
    max_text: int
    routes: bool = False
    words: list[str] = field(default_factory=list)
    based: bool = False
    """A base element was seen."""
    glued: bool = False
    """The last word continues in the next text, as in `foo<b>bar</b>`."""
    size: int = 0
    links: list[_Found] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    """Of each link, the number of words to its end; −1 before that, and for one without content."""
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
    places: list[Place] = field(default_factory=list)
    """Places of the outermost of them, computed on demand."""
    top: Place = field(default_factory=lambda: PLACES.top)


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
    routes: bool = False,
) -> Page:
    """One document as a Page. `url` is canonical; `robots` is the X-Robots-Tag header. `routes`: a
    browser made it, so that links which differ only behind `#/` or `#!` lead to different pages.

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
        url,
        joiner or Joiner(),
        max_links,
        max_text,
        routes,
        heading_room=8 * len(source),
        flags=flags,
    )
    root = LexborHTMLParser(with_end_tags(source)).root
    if root is not None:
        _walk(root, walk)
    flags |= robots_flags(f"{robots},{walk.metas.get('robots', '')}")
    if walk.metas.get("tdm-reservation") == "1":
        flags.add(RESERVED)
    links = _finish(walk, "nofollow" in flags)
    if routes:
        links = _without_sections(links, url, source)
        if "#" in url and walk.canonical == plain(url):
            walk.canonical = None  # the shell names itself, whatever its scripts show
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


def _without_sections(links: list[Link], url: str, source: str) -> list[Link]:
    """Links without those to a place on this very page, as documentation made by scripts writes
    them: `#/guide?id=install` beside an element with that id."""
    here = _route(url)

    def is_section(link: Link) -> bool:
        page, mark, name = link.url.partition("?id=")
        return bool(mark) and _route(page) == here and f'id="{unquote(name)}"' in source

    return [link for link in links if "#" not in link.url or not is_section(link)]


def _route(url: str) -> tuple[str, str]:
    page, _, route = url.partition("#")
    return page, route.partition("?")[0].strip("/!")


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
    """Depth first without recursion: enter an element, its children, leave it. Elements are told
    by the numbers of their tags: a name is a new string each time."""
    node, words, chain, places = root, walk.words, walk.chain, walk.places
    kind = _KINDS.get(node.tag_id, _INLINE)
    kinds: list[_Kind] = []
    """Of the chain."""
    open_links: list[int] = []
    depth, innermost = 0, -1
    """Length of the chain, and index in it of the innermost open link."""
    depths = [innermost]
    while True:
        child = None
        if kind is _TEXT:
            content = node.text_content
            if content:
                size = walk.size + len(content)
                if size > walk.max_text or walk.glued:
                    _on_text(content, walk)
                else:
                    walk.size = size
                    words += (found := content.split())
                    walk.glued = bool(found) and not content[-1].isspace()
        elif kind is _INLINE:
            child = node.child
        else:
            if kind.block:
                walk.glued = False
            if kind.enter is not None and kind.enter(node, kind.tag, walk):
                open_links.append(len(walk.links) - 1)
                depths.append(innermost)
                innermost = depth
            if kind.children:
                child = node.child
        if child is not None:
            if depth < MAX_DEPTH:
                chain.append(node)
                kinds.append(kind)
                depth += 1
                node = child
                kind = _KINDS.get(node.tag_id, _INLINE)
                continue
            walk.flags.add("too-deep")
        while True:
            # Leave the element: its link ends here, and so does its line.
            if innermost == depth:
                walk.ends[open_links.pop()] = len(words)
                innermost = depths.pop()
                walk.glued = False
            elif kind.block:
                walk.glued = False
            following = node.next
            if following is not None:
                node = following
                kind = _KINDS.get(node.tag_id, _INLINE)
                break
            if depth <= 1:
                return
            node, kind = chain.pop(), kinds.pop()
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


def _on_link(node: LexborNode, tag: str, walk: _Walk) -> bool:
    attributes = node.attributes
    href = attributes.get(_SOURCES[tag])
    if not href or len(walk.links) >= walk.max_links:
        if href:
            walk.flags.add("truncated")
        return False
    is_route = walk.routes and ("#/" in href or "#!" in href)
    join = walk.joiner.route if is_route else walk.joiner.join
    target = join(href, walk.base)
    if target is None:
        return False
    rel = attributes.get("rel")
    words = ""
    if tag != "a":
        words = attributes.get("alt") or attributes.get("title") or attributes.get("name") or ""
    else:
        words = attributes.get("title") or ""
    walk.glued = False
    nofollow = rel is not None and "nofollow" in rel.lower().split()
    place = _place(tag, attributes, walk)
    walk.links.append((target, tag, len(walk.words), walk.above_now, place, nofollow, words))
    walk.ends.append(-1)
    return tag == "a"


def _on_image(node: LexborNode, tag: str, walk: _Walk) -> None:
    if walk.links and walk.ends[-1] < 0 and walk.links[-1][1] == "a":
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
            walk.links.append((target, "refresh", len(walk.words), (), place, False, ""))
            walk.ends.append(-1)
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


_Enter = Callable[["LexborNode", str, _Walk], bool | None]
"""What is done at an element; true for a link with content."""
_HANDLERS: Mapping[str, _Enter] = {
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


class _Kind(NamedTuple):
    """What the walk does with elements of one tag."""

    tag: str
    block: bool = False
    enter: _Enter | None = None
    children: bool = True


_TEXT, _INLINE = _Kind("-text", children=False), _Kind("")


def _kinds() -> dict[int, _Kind]:
    """By the number that lexbor gives a tag; all others are `_INLINE`."""
    text = LexborHTMLParser("<p>text").css_first("p")
    assert text is not None
    assert text.child is not None
    kinds = {text.child.tag_id: _TEXT}
    document = LexborHTMLParser("")
    for tag in sorted(_SKIPPED | _BLOCKS | set(_HANDLERS)):
        enter = None if tag in _SKIPPED and tag != "iframe" else _HANDLERS.get(tag)
        children = tag not in _SKIPPED and tag != "title"
        kinds[document.create_node(tag).tag_id] = _Kind(tag, tag in _BLOCKS, enter, children)
    return kinds


_KINDS = _kinds()


def _finish(walk: _Walk, nofollow: bool) -> list[Link]:
    """The links with the words around them."""
    words, make = walk.words, tuple.__new__
    links: list[Link] = []
    for position, (url, kind, begin, headings, place, its_nofollow, own) in enumerate(walk.links):
        end = walk.ends[position]
        if end > begin:
            text = " ".join(words[begin : min(end, begin + _ANCHOR_WORDS)])[:_ANCHOR_CHARACTERS]
        else:
            end, text = begin, own[:_ANCHOR_CHARACTERS]
        before = " ".join(words[max(0, begin - CONTEXT_WORDS) : begin])
        after = " ".join(words[end : end + CONTEXT_WORDS])
        # As `Anchor(…)` and `Link(…)`, in a third of their time.
        anchor = make(
            Anchor,
            (
                text,
                before[-_CONTEXT_CHARACTERS:],
                after[:_CONTEXT_CHARACTERS],
                headings,
                place.path,
                position,
                place.region,
                its_nofollow or nofollow,
            ),
        )
        links.append(make(Link, (url, anchor, kind)))
    return links


def _place(tag: str, attributes: Mapping[str, str | None], walk: _Walk) -> Place:
    """The place of an element inside the open elements; each parent's place is computed once."""
    places, chain = walk.places, walk.chain
    above = places[-1] if places else walk.top
    for depth in range(len(places), len(chain)):
        node = chain[depth]
        if of := node.attributes:
            key: object = (node.tag_id, of.get("id"), of.get("class"), of.get("role"))
        else:
            key = node.tag_id
        above = above.below.get(key) or PLACES.new(above, key, node.tag or "", of)
        places.append(above)
    key = tag
    if attributes:
        key = (tag, attributes.get("id"), attributes.get("class"), attributes.get("role"))
    return above.below.get(key) or PLACES.new(above, key, tag, attributes)
