"""A tree of lexbor walked once, in reading order: its words, links, headings and metadata."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from spoor.web.other_ways import place_within
from spoor.web.page_links import Found, PageLinks, Read
from spoor.web.tag_paths import HEADINGS, PLACES, Place
from spoor.web.urls import Joiner, canonical, host

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MAX_FEEDS = 5
"""That a page may name as its own."""
MAX_DEPTH = 512
"""Deeper elements are left out: browsers stop at about the same depth."""
MOST_LANGUAGE = 35
"""Characters of the language that a page says."""
_HEADING_CHARACTERS = 400
_ALTERNATIVE_CHARACTERS = 200
"""Of an image."""
_WORD_CHARACTERS = 1_000
"""A word that is put together from more is taken for several."""

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "math", "object", "iframe"})
_BLOCKS = frozenset(
    """address article aside blockquote body br caption center dd details dialog dir div dl dt
    fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol
    option p pre section select summary table tbody td textarea tfoot th thead tr ul""".split()
)
_SOURCES = {"frame": "src", "iframe": "src", "area": "href", "a": "href"}
_LINKS = ", ".join(f"{tag}[{source}]" for tag, source in _SOURCES.items())
_REFRESH = re.compile(r"""^\s*[\d.]*\s*[;,]?\s*(?:url\s*=\s*)?["']?\s*([^"'>]+)""", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_CHANGED = re.compile(r"modified|updated")
"""In the name of a date at which a document was changed."""
_NO_WAY_BACK = re.compile(r"[.#_-](?:aside|trace|visited|history)(?![^./#])")
"""At the end of a name or class among the links that lead back to the home page: what stands beside
them (a link to the source), or the pages that were visited last, as DokuWiki shows them."""
_FEEDS = frozenset({"application/rss+xml", "application/atom+xml", "application/feed+json"})
BREAK = "\n "
"""Text that parts words where a block begins or ends. One of two characters is no text of a page:
Python has one object for all strings of the same single character."""
_CUT = " \0 "
"""The same where a link begins or ends. A parser leaves no NUL in a text."""
_SOFT_CUT = "\0 "
"""Where a link begins that parts no words."""
MOST_KEYWORDS = 32
"""Of a page; one with more tags is a list of them."""
_KEYWORD_CHARACTERS = 100
_FILED_UNDER = frozenset({"article:tag", "article:section"})
"""Properties of metas (Open Graph) whose content is one."""


@dataclass(slots=True)
class Walk:
    """What one pass over the tree collects."""

    base: str
    joiner: Joiner
    max_links: int
    room: int | None
    """Characters of text that may still be read; None where there are no more."""
    heading_room: int
    """Characters of headings that may still be read."""
    link_room: int
    """Characters that links may still have, their place and the headings above each included: one
    long heading, or one long base, would be kept with every link of its page."""
    routes: bool
    flags: set[str]
    texts: list[str] = field(default_factory=list)
    """Of text nodes in reading order, and breaks: words go on in the next text but for these."""
    cuts: int = 0
    """How many there are among the texts."""
    soft: bool = False
    """Soft ones are among them."""
    urls: list[str] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    """The link to each URL."""
    ends: list[int] = field(default_factory=list)
    """Of each link, the number of the cut at its end; −1 before that, and for one without
    content."""
    based: bool = False
    """A base element was seen."""
    titles: list[int] = field(default_factory=list)
    """Numbers of the links in headings, and of those that hold one."""
    tags: list[int] = field(default_factory=list)
    """Numbers of the links to what the page is filed under (`rel=tag`), of which there may be
    those of other pages, too."""
    trail: list[int] = field(default_factory=list)
    """Numbers of the links that lead back from the page to the home page."""
    keywords: list[str] = field(default_factory=list)
    """What its head says of that."""
    times: list[int] = field(default_factory=list)
    """How many cuts stand before each `time` element, …"""
    heads: list[int] = field(default_factory=list)
    """… before each heading, …"""
    articles: list[int] = field(default_factory=list)
    """… and before each `article`, …"""
    nested: list[bool] = field(default_factory=list)
    """… and whether that stands in another one."""
    first_time: int = 0
    """Texts before the first `time` element."""
    choices: list[tuple[int, int]] = field(default_factory=list)
    """How many cuts stand before each list of choices in a form, and its words."""
    is_dated: bool = False
    """Whether it says when something on it was published: by such an element that does not say when
    it was changed, or by a meta element."""
    heads_before: list[int] = field(default_factory=list)
    """How many headings stand before each `article`."""
    headings: list[str] = field(default_factory=list)
    above: dict[int, str] = field(default_factory=dict)
    above_now: tuple[str, ...] = ()
    above_size: int = 0
    """Their characters."""
    title: str = ""
    metas: dict[str, str] = field(default_factory=dict)
    canonical: str | None = None
    feeds: list[str] = field(default_factory=list)
    language: str = ""
    chain: list[LexborNode] = field(default_factory=list)
    """Elements that are open now, outermost first."""
    places: list[Place] = field(default_factory=list)
    """Places of the outermost of them, computed on demand."""
    top: Place = field(default_factory=lambda: PLACES.top)

    def add_link(self, url: str, kind: str, place: Place, nofollow: bool, own: str) -> None:
        """A link that begins here."""
        cut, above = _CUT, self.above_now
        if kind == "refresh":
            cut, above, self.soft = _SOFT_CUT, (), True
        self.link_room -= len(url) + len(place.path) + self.above_size
        # As `Found(…)`, in a third of its time.
        self.found.append(tuple.__new__(Found, (kind, self.cuts, above, place, nofollow, own)))
        self.texts.append(cut)
        self.cuts += 1
        self.urls.append(url)
        self.ends.append(-1)

    def adder(self) -> Callable[[str], None]:
        """What takes each text, which is not empty."""
        return self.texts.append if self.room is None else self._add_within

    def _add_within(self, text: str) -> None:
        """Add a text as far as there is room."""
        assert self.room is not None
        if len(text) > self.room:
            if not self.room:
                return
            text = text[: self.room]
            self.flags.add("truncated")
        self.room -= len(text)
        self.texts.append(text)

    def read(self) -> tuple[list[str], list[int]]:
        """All words, and how many stand before each cut."""
        words, counts = list[str](), list[int]()
        parts = [] if self.soft else "".join(self.texts).split(_CUT)
        for part in parts:
            found = part.split()
            if _may_have_long(part) and max(map(len, found), default=0) > _WORD_CHARACTERS:
                break
            words += found
            counts.append(len(words))
        if len(counts) != self.cuts + 1:
            return _read_one_by_one(self.texts)
        return words, counts

    def before_first_time(self, counts: Sequence[int]) -> int:
        """Words before the first `time` element; all where there is none."""
        if not self.times:
            return counts[-1]
        since_cut = list[str]()
        for at in range(self.first_time - 1, -1, -1):
            if is_cut(text := self.texts[at]):
                break
            since_cut.append(text)
        cut = self.times[0]
        words = len("".join(reversed(since_cut)).split())
        return words + (counts[cut - 1] if cut else 0)

    def links(self, words: Sequence[str], counts: Sequence[int], nofollow: bool) -> PageLinks:
        """The links that were found, between all words, with the number of words before each
        cut."""
        read = Read(words, counts, self.found, self.ends, nofollow, {})
        return PageLinks(self.urls, range(len(self.urls)), read)


def is_cut(text: str) -> bool:
    """Whether a link begins or ends here, of the texts of a walk."""
    return text is _CUT or text is _SOFT_CUT


def cuts_among(texts: Sequence[str]) -> int:
    """How often a link begins or ends among the texts of a walk. O(texts)."""
    return texts.count(_CUT) + texts.count(_SOFT_CUT)


def _may_have_long(text: str) -> bool:
    """Whether a word may have more than `_WORD_CHARACTERS`: such a one holds half as many without
    a blank, from wherever these are counted. O(1) as a rule for each of these."""
    half = _WORD_CHARACTERS // 2
    return len(text) > _WORD_CHARACTERS and any(
        _SPACE.search(text, at, at + half) is None for at in range(0, len(text) - half + 1, half)
    )


def _read_one_by_one(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """As `Walk.read`, whatever the texts hold. A word goes on in the next text, but not once it is
    long."""
    words, counts = list[str](), list[int]()
    goes_on = False
    for text in texts:
        if text is _CUT or text is _SOFT_CUT:
            counts.append(len(words))
            goes_on = goes_on and text is _SOFT_CUT
            continue
        found = text.split()
        if found and goes_on and not text[0].isspace() and len(words[-1]) < _WORD_CHARACTERS:
            words[-1] += found.pop(0)
        words += found
        goes_on = not text[-1].isspace()
    return words, [*counts, len(words)]


def walk_tree(root: LexborNode, walk: Walk) -> None:
    """Depth first without recursion: enter an element, its children, leave it. Elements are told by
    the numbers of their tags: a name is a new string each time."""
    kind_of, chain, places, add = _KINDS.get, walk.chain, walk.places, walk.adder()
    part, ends = walk.texts.append, walk.ends
    node = root
    kind = kind_of(node.tag_id, _INLINE)
    kinds: list[_Kind] = []
    """Of the chain."""
    opened: list[int] = []
    """Numbers of open links."""
    depth, innermost = 0, -1
    """Length of the chain, and index in it of the innermost open link."""
    depths = [innermost]
    while True:
        if kind is _TEXT:
            if content := node.text_content:
                add(content)
        else:
            child = None
            if kind is _INLINE:
                child = node.first_child
            elif kind is _BLOCK:
                part(BREAK)
                child = node.first_child
            else:
                tag, block, enter, children = kind
                if block:
                    part(BREAK)
                if enter is not None and enter(node, tag, walk):
                    opened.append(len(ends) - 1)
                    depths.append(innermost)
                    innermost = depth
                if children:
                    child = node.first_child
            if child is not None:
                if depth < MAX_DEPTH:
                    kind_inside = kind_of(child.tag_id, _INLINE)
                    if kind_inside is _TEXT:
                        # Most texts stand alone in their element, which need not be opened then.
                        if content := child.text_content:
                            add(content)
                        child = child.next
                        if child is not None:
                            kind_inside = kind_of(child.tag_id, _INLINE)
                    if child is not None:
                        chain.append(node)
                        kinds.append(kind)
                        depth += 1
                        node, kind = child, kind_inside
                        continue
                else:
                    walk.flags.add("too-deep")
        while True:
            # Leave the element: its link ends here, and so does its line. A text has neither.
            if kind is _BLOCK:
                part(BREAK)
            elif kind is not _INLINE and kind is not _TEXT:
                if innermost == depth:
                    _leave(walk, opened.pop())
                    innermost = depths.pop()
                elif kind.block:
                    part(BREAK)
            following = node.next
            if following is not None:
                break
            if depth <= 1:
                return
            node, kind = chain.pop(), kinds.pop()
            depth -= 1
            if len(places) > depth:
                places.pop()
        node = following
        kind = kind_of(node.tag_id, _INLINE)


def _leave(walk: Walk, link: int) -> None:
    """Leave a link with content."""
    walk.texts.append(_CUT)
    walk.ends[link] = walk.cuts
    walk.cuts += 1


_ASKS = frozenset(
    ("onclick", "data-confirm", "data-turbo-confirm", "data-method", "data-turbo-method")
)
_CONFIRMS = re.compile(r"\bconfirm\s*\(")


def _does_something(attributes: Mapping[str, str | None]) -> bool:
    """Whether a page asks before a link is followed, or sends it by another method than GET: on its
    own host it does something there. Elsewhere it may ask before one leaves."""
    for name in ("data-method", "data-turbo-method"):
        if (attributes.get(name) or "get").lower() != "get":
            return True
    if "data-confirm" in attributes or "data-turbo-confirm" in attributes:
        return True
    return _CONFIRMS.search(attributes.get("onclick") or "") is not None


def _on_link(node: LexborNode, tag: str, walk: Walk) -> bool:
    attributes = node.attributes
    href = attributes.get(_SOURCES[tag])
    if not href:
        return False
    number = len(walk.urls)
    if number >= walk.max_links or walk.link_room <= 0:
        walk.flags.add("truncated")
        return False
    is_route = walk.routes and ("#/" in href or "#!" in href)
    join = walk.joiner.route if is_route else walk.joiner.join
    target = join(href, walk.base)
    if target is None:
        return False
    own = attributes.get("title") or ""
    nofollow = False
    if rel := attributes.get("rel"):
        rels = rel.lower().split()
        nofollow = "nofollow" in rels
        if "tag" in rels:
            walk.tags.append(number)
    if not (nofollow or _ASKS.isdisjoint(attributes)):
        nofollow = _does_something(attributes) and host(target) == host(walk.base)
    place = _place(tag, attributes, walk)
    if tag != "a":
        own = attributes.get("alt") or own or attributes.get("name") or ""
        walk.add_link(target, tag, place, nofollow, own)
        return False
    if place.in_trail and not nofollow and _NO_WAY_BACK.search(place.path) is None:
        walk.trail.append(number)
    kind = tag
    if "#" in href and place_within(href):
        kind = "place"
    elif place.is_heading:
        walk.titles.append(number)
    walk.add_link(target, kind, place, nofollow, own)
    return True


def _on_image(node: LexborNode, tag: str, walk: Walk) -> None:
    if walk.ends and walk.ends[-1] < 0 and walk.found[-1].kind in ("a", "place"):
        alternative = node.attributes.get("alt")
        if alternative:
            walk.adder()(f" {alternative[:_ALTERNATIVE_CHARACTERS]} ")


def _on_choices(node: LexborNode, tag: str, walk: Walk) -> None:
    walk.choices.append((walk.cuts, len(node.text(deep=True, separator=" ").split())))


def _on_heading(node: LexborNode, tag: str, walk: Walk) -> None:
    walk.heads.append(walk.cuts)
    if walk.heading_room <= 0:
        return
    text = node.text(deep=True)
    # The text of headings in headings is read again for each.
    walk.heading_room -= len(text)
    text = _SPACE.sub(" ", text[:_HEADING_CHARACTERS]).strip()
    level = HEADINGS[tag]
    above = {rank: words for rank, words in walk.above.items() if rank < level}
    if text:
        above[level] = text
        walk.headings.append(text)
    walk.above = above
    walk.above_now = tuple(above.values())
    walk.above_size = sum(map(len, walk.above_now))
    if walk.ends and walk.ends[-1] < 0 and walk.found[-1].kind == "a":
        walk.titles.append(len(walk.ends) - 1)


def _on_time(node: LexborNode, tag: str, walk: Walk) -> None:
    if not walk.times:
        walk.first_time = len(walk.texts)
    walk.times.append(walk.cuts)
    if not walk.is_dated:
        attributes = node.attributes
        names = f"{attributes.get('itemprop') or ''} {attributes.get('class') or ''}".lower()
        walk.is_dated = "published" in names or _CHANGED.search(names) is None


def _on_article(node: LexborNode, tag: str, walk: Walk) -> None:
    walk.articles.append(walk.cuts)
    walk.nested.append(_above(walk).in_article)
    walk.heads_before.append(len(walk.heads))


def _on_title(node: LexborNode, tag: str, walk: Walk) -> None:
    if not walk.title:
        walk.title = _SPACE.sub(" ", node.text(deep=True)[:2_000]).strip()


def _on_meta(node: LexborNode, tag: str, walk: Walk) -> None:
    attributes = node.attributes
    content = attributes.get("content") or ""
    name = (attributes.get("name") or "").strip().lower()
    if name in ("robots", "description", "tdm-reservation"):
        walk.metas.setdefault(name, _SPACE.sub(" ", content[:2_000]).strip())
    elif attributes.get("property") == "article:published_time":
        walk.is_dated = True
    elif (attributes.get("property") or "").strip().lower() in _FILED_UNDER:
        if len(walk.keywords) < MOST_KEYWORDS:
            walk.keywords.append(_SPACE.sub(" ", content[:_KEYWORD_CHARACTERS]).strip())
    elif (attributes.get("http-equiv") or "").strip().lower() == "refresh":
        match = _REFRESH.match(content)
        target = walk.joiner.join(match[1].strip(), walk.base) if match else None
        if target is not None and ("url" in content.lower() or "/" in content):
            if len(walk.urls) >= walk.max_links or walk.link_room <= 0:
                walk.flags.add("truncated")
                return
            place = _place(tag, attributes, walk)
            walk.add_link(target, "refresh", place, False, "")


def _on_base(node: LexborNode, tag: str, walk: Walk) -> None:
    # Only the first one with an href counts; it is resolved against the page's own URL.
    href = node.attributes.get("href")
    if href is not None and not walk.based:
        walk.based = True
        with contextlib.suppress(ValueError):
            walk.base = canonical(href, walk.base)


def _on_rel(node: LexborNode, tag: str, walk: Walk) -> None:
    attributes = node.attributes
    rel = (attributes.get("rel") or "").lower().split()
    if "canonical" in rel and walk.canonical is None:
        walk.canonical = walk.joiner.join(attributes.get("href") or "", walk.base)
    kind = (attributes.get("type") or "").partition(";")[0].strip().lower()
    if "alternate" in rel and kind in _FEEDS and len(walk.feeds) < MAX_FEEDS:
        target = walk.joiner.join(attributes.get("href") or "", walk.base)
        if target is not None and target not in walk.feeds:
            walk.feeds.append(target)


def _on_noscript(node: LexborNode, tag: str, walk: Walk) -> None:
    """The links that a page has for whoever runs no scripts, as the frame with the contents of an
    mdBook, if they lead to its own host: others count visitors. The rest of the element says that
    scripts are needed. Nothing where a browser made the document, which has run them."""
    if walk.routes:
        return
    own_host = host(walk.base)
    for inside in node.css(_LINKS):
        tag = inside.tag or ""
        target = walk.joiner.join(inside.attributes.get(_SOURCES[tag]) or "", walk.base)
        if target is None or host(target) != own_host or not _on_link(inside, tag, walk):
            continue
        if text := inside.text(deep=True):
            walk.adder()(text[:_ALTERNATIVE_CHARACTERS])
        _leave(walk, len(walk.ends) - 1)


def _on_html(node: LexborNode, tag: str, walk: Walk) -> None:
    walk.language = (node.attributes.get("lang") or "").strip()[:MOST_LANGUAGE]


_Enter = Callable[["LexborNode", str, Walk], bool | None]
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
    "noscript": _on_noscript,
    "time": _on_time,
    "article": _on_article,
    "select": _on_choices,
} | dict.fromkeys(HEADINGS, _on_heading)


class _Kind(NamedTuple):
    """What the walk does with elements of one tag."""

    tag: str
    block: bool = False
    enter: _Enter | None = None
    children: bool = True


_TEXT, _INLINE, _BLOCK = _Kind("-text", children=False), _Kind(""), _Kind("", block=True)


def _kinds() -> dict[int, _Kind]:
    """By the number that lexbor gives a tag; plain blocks are `_BLOCK`, all others `_INLINE`."""
    text = LexborHTMLParser("<p>text").css_first("p")
    assert text is not None
    assert text.child is not None
    kinds = {text.child.tag_id: _TEXT}
    document = LexborHTMLParser("")
    for tag in sorted(_SKIPPED | _BLOCKS | set(_HANDLERS)):
        enter = _HANDLERS.get(tag)
        children = tag not in _SKIPPED and tag != "title"
        kind = _Kind(tag, tag in _BLOCKS, enter, children)
        plain = kind.block and enter is None and children
        kinds[document.create_node(tag).tag_id] = _BLOCK if plain else kind
    return kinds


_KINDS = _kinds()
_KNOWN_TAGS = 1 << 12
"""Lexbor numbers the tags that it knows from 1. To any other it gives an address in the document,
at which another document may have another tag."""


def _above(walk: Walk) -> Place:
    """The place of the innermost open element; that of each is computed once."""
    places, chain = walk.places, walk.chain
    above = places[-1] if places else walk.top
    for node in chain[len(places) :]:
        number = node.tag_id
        key: object = number if number < _KNOWN_TAGS else node.tag
        if of := node.attributes:
            classes = of.get("class")
            if classes and len(of) == 1:  # as most that have any
                key = (key, classes)
            else:
                key = (key, of.get("id"), classes, of.get("role"), of.get("aria-label"))
        above = above.below.get(key) or PLACES.new(above, key, node.tag or "", of)
        places.append(above)
    return above


def _place(tag: str, attributes: Mapping[str, str | None], walk: Walk) -> Place:
    """The place of an element inside the open elements."""
    places = walk.places
    above = places[-1] if places and len(places) == len(walk.chain) else _above(walk)
    key: object = tag
    if len(attributes) > 1:  # one is its target
        key = (tag, attributes.get("id"), attributes.get("class"), attributes.get("role"))
    return above.below.get(key) or PLACES.new(above, key, tag, attributes)
