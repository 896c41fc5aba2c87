"""What a browser needs to show a page: pictures, styles, scripts and fonts that HTML and CSS name.

Frames are no requisites, since they are links to documents; neither are films and sounds, which a
browser gets when somebody plays them. Pure; never raises for what a document contains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from spoor.web.encoding import decode, header_charset
from spoor.web.page import MAX_SOURCE
from spoor.web.urls import Joiner
from spoor.web.xhtml import with_end_tags

MAX_STYLE = 1 << 20
"""Characters of a style sheet that are read, and of all styles within one page."""

_ELEMENTS = ", ".join(
    (
        *("link[rel][href]", "link[rel][imagesrcset]", "script[src]", "style"),
        *("img", "source[srcset]", "input[type][src]", "video[poster]"),
        *("image", "use", "object[type][data]", "embed[type][src]", "[background]", "[style]"),
    )
)
_RELATIONS = frozenset(
    "stylesheet icon apple-touch-icon apple-touch-icon-precomposed mask-icon manifest preload "
    "modulepreload".split()
)
_NOT_SHOWN = frozenset(("document", "audio", "video", "track"))
"""What a preload may be that is no requisite."""
_CANDIDATE = re.compile(r"[\s,]*+(?:(\S*+)(?<=,)|(\S++)[^,]*+)")
"""Of a srcset: a URL that a comma ends, or one with what is said of it."""
_MOST_CANDIDATES = 1_000
"""Of one srcset that are read."""
_NAMES_URLS = re.compile(r"url|@import|image-set|src\(|\\", re.IGNORECASE)
"""What a style that names a URL has in it: an escape may hide the rest."""
_OF_STRINGS = frozenset(("url", "src", "image-set", "-webkit-image-set"))
"""Functions of CSS whose strings are URLs."""


class _Found:
    """The URLs of a document, each once, in its order."""

    def __init__(self, base: str, most: int) -> None:
        self.base = base
        self.urls: dict[str, bool] = {}
        """URL → whether it is a style sheet."""
        self.left = 0
        """References for which there was no room."""
        self._own = base
        self._most = most
        self._joiner = Joiner()

    def add(self, reference: str | None, *, style: bool = False) -> None:
        reference = (reference or "").strip()
        if not reference or reference.startswith("#") or reference[:5].lower() == "data:":
            return
        if len(self.urls) >= self._most:
            self.left += 1
            return
        url = self._joiner.join(reference, self.base)
        if url is not None and url != self._own:
            self.urls[url] = self.urls.get(url, False) or style

    def rebase(self, href: str | None) -> None:
        """Read what follows relative to a `base` element."""
        self.base = self._joiner.join(href or "", self.base) or self.base


def of_html(body: bytes, url: str, content_type: str, most: int) -> tuple[dict[str, bool], int]:
    """The first `most` requisites that a page names, URL → whether it is a style sheet; and how
    many references there are beyond them. O(bytes)."""
    found = _Found(url, most)
    source = with_end_tags(decode(body, content_type)[0][:MAX_SOURCE])
    tree = LexborHTMLParser(source)
    if (base := tree.css_first("base[href]")) is not None:
        found.rebase(base.attributes.get("href"))
    room = MAX_STYLE
    for node in tree.css(_ELEMENTS):
        _of_element(node, found)
        for css in _styles(node):
            _of_css(css[:room], found)
            room -= min(room, len(css))
    return found.urls, found.left


def _of_element(node: LexborNode, found: _Found) -> None:
    said, tag = node.attributes, node.tag
    if tag == "link":
        relations = _RELATIONS.intersection((said.get("rel") or "").lower().split())
        preloads = (said.get("as") or "").lower()
        if relations and preloads not in _NOT_SHOWN:
            style = "stylesheet" in relations or preloads == "style"
            found.add(said.get("href"), style=style)
            _of_srcset(said.get("imagesrcset"), found)
    elif tag in ("img", "source"):
        if tag == "img":
            found.add(said.get("src"))
        _of_srcset(said.get("srcset"), found)
    elif tag == "script":
        found.add(said.get("src"))
    elif tag == "input":
        if (said.get("type") or "").lower() == "image":
            found.add(said.get("src"))
    elif tag == "video":
        found.add(said.get("poster"))
    elif tag in ("image", "use"):
        found.add(said.get("href") or said.get("xlink:href"))
    elif tag in ("object", "embed") and (said.get("type") or "").lower().startswith("image/"):
        found.add(said.get("data") or said.get("src"))
    found.add(said.get("background"))


def _styles(node: LexborNode) -> Iterator[str]:
    if node.tag == "style":
        yield node.text(deep=True)
    if style := node.attributes.get("style"):
        yield style


def _of_srcset(srcset: str | None, found: _Found) -> None:
    # Of blanks at the end no candidate comes, which would be tried from each of them.
    for one in islice(_CANDIDATE.finditer((srcset or "").rstrip()), _MOST_CANDIDATES):
        found.add((one[1] or "").rstrip(",") or one[2])


def of_style(body: bytes, url: str, content_type: str, most: int) -> tuple[dict[str, bool], int]:
    """The same of a style sheet."""
    from tinycss2.bytes import decode_stylesheet_bytes

    found = _Found(url, most)
    charset = header_charset(content_type) or None
    css, _ = decode_stylesheet_bytes(body[: 4 * MAX_STYLE], protocol_encoding=charset)
    _of_css(css[:MAX_STYLE], found)
    return found.urls, found.left


def _of_css(css: str, found: _Found) -> None:
    if not _NAMES_URLS.search(css):
        return
    from tinycss2 import parse_component_value_list

    # (tokens that are left, the rule that they are of, whether their strings are URLs): nesting has
    # no bound, so that nothing here calls itself.
    open_blocks = [(iter(parse_component_value_list(css, skip_comments=True)), "", False)]
    while open_blocks:
        tokens, rule, strings = open_blocks.pop()
        for token in tokens:
            kind = token.type
            if kind == "at-keyword":
                rule = token.lower_value
            elif kind == "literal" and token.value == ";":
                rule = ""
            elif kind == "url" or (kind == "string" and (strings or rule == "import")):
                if rule != "namespace":
                    found.add(token.value, style=rule == "import")
                rule = "" if rule == "import" else rule  # its conditions follow
            elif (inner := _within(token)) is not None:
                by_strings = kind == "function" and token.lower_name in _OF_STRINGS
                within = rule if kind == "function" else ""
                rule = "" if kind == "{} block" or (by_strings and rule == "import") else rule
                open_blocks.append((tokens, rule, strings))
                open_blocks.append((iter(inner), within, by_strings))
                break


def _within(token: Any) -> Iterable[Any] | None:
    """The tokens within a block or function; None where it is none."""
    if token.type == "function":
        arguments: Iterable[Any] = token.arguments
        return arguments
    if token.type.endswith(" block"):
        content: Iterable[Any] = token.content
        return content
    return None


def requisites_row_of(
    body: bytes, url: str, content_type: str, style: bool, most: int
) -> dict[str, Any]:
    """The first requisites that a page, or a style sheet, names, and how many references were
    `left` out, as JSON values."""
    urls, left = (of_style if style else of_html)(body, url, content_type, most)
    return {"urls": [*urls.items()], "left": left}
