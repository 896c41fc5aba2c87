"""Bytes → Page: text, and every link with its neighbourhood.

The tree is built by lexbor and walked once, in reading order. Nothing that a page contains raises
or takes more than linear time: what is too much is cut and flagged.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import TypedDict, Unpack
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from spoor.types import Page
from spoor.web.dates import date_of_url
from spoor.web.encoding import decode
from spoor.web.list_pages import is_list_page
from spoor.web.media_types import is_html, media_of
from spoor.web.page_keywords import keywords_of
from spoor.web.page_links import PageLinks
from spoor.web.tree_walk import Walk, walk_tree
from spoor.web.urls import Joiner, plain
from spoor.web.xhtml import with_end_tags

MAX_LINKS = 5_000
LINK_CHARACTERS = 1 << 20
"""Of all links of a page and of what is kept with each, and 20 for each character of its source."""

MAX_TEXT = 1 << 20
MAX_SOURCE = 1 << 22
"""Characters of HTML that are read: a tree takes forty bytes for each, and most of a second."""
RESERVED = "tdm-reserved"
"""The flag of a page that reserves text and data mining (TDMRep)."""
_SPACE = re.compile(r"\s+")


class Facts(TypedDict, total=False):
    """What a document does not say itself, as a Page has it."""

    status: int
    labels: frozenset[str]
    site: str
    fetched_at: float | None
    modified: float | None


def parse(
    body: bytes,
    url: str,
    *,
    content_type: str = "",
    truncated: bool = False,
    robots: str = "",
    max_links: int = MAX_LINKS,
    max_text: int = MAX_TEXT,
    joiner: Joiner | None = None,
    routes: bool = False,
    **facts: Unpack[Facts],
) -> Page:
    """One document as a Page. `url` is canonical; `robots` is the X-Robots-Tag header. `routes`: a
    browser made it, so that links which differ only behind `#/` or `#!` lead to different pages.

    HTML and XHTML give text and links; other text gives its text; anything else gives neither and
    the flag `not-html`. More than `max_links` links, `max_text` characters, or `MAX_SOURCE` of
    source are cut (flag `truncated`). Never raises for what a page contains; O(bytes).
    """
    media = media_of(content_type)
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
            content_type=media,
            text=_SPACE.sub(" ", text[:max_text]).strip(),
            encoding=encoding,
            flags=frozenset(flags),
            **facts,
        )
    source, encoding, clean = decode(body, content_type)
    written = source
    if not clean:
        flags.add("undecodable")
    if len(source) > MAX_SOURCE:
        flags.add("truncated")
        source = source[:MAX_SOURCE]
    walk = Walk(
        url,
        joiner or Joiner(),
        max_links,
        # No text of a tree is longer than its source.
        max_text if len(source) > max_text else None,
        heading_room=8 * len(source),
        link_room=LINK_CHARACTERS + 20 * len(source),
        routes=routes,
        flags=flags,
    )
    marked = with_end_tags(source)
    # The parser reads UTF-8: what came as that need not be encoded again.
    as_sent = marked is written and clean and encoding == "utf-8" and not body.startswith(BOM_UTF8)
    root = LexborHTMLParser(body if as_sent else marked).root
    if root is not None:
        walk_tree(root, walk)
    flags |= robots_flags(f"{robots},{walk.metas.get('robots', '')}")
    if walk.metas.get("tdm-reservation") == "1":
        flags.add(RESERVED)
    words, counts = walk.read()
    text = " ".join(words)
    if is_list_page(walk, words, counts, text, url):
        flags.add("list")
    if walk.is_dated or date_of_url(url) is not None:
        flags.add("dated")
    links = walk.links(words, counts, "nofollow" in flags)
    if routes:
        links = _without_sections(links, url, source)
        if "#" in url and walk.canonical == plain(url):
            walk.canonical = None  # the shell names itself, whatever its scripts show
    return Page(
        url=url,
        content_type=media or "text/html",
        title=walk.title,
        headings=tuple(walk.headings),
        text=text,
        links=links,
        description=walk.metas.get("description", ""),
        keywords=keywords_of(walk, words, counts, text, url, of_first="list" not in flags),
        canonical=walk.canonical if walk.canonical != url else None,
        language=walk.language,
        encoding=encoding,
        flags=frozenset(flags),
        feeds=tuple(walk.feeds),
        **facts,
    )


def _without_sections(links: PageLinks, url: str, source: str) -> PageLinks:
    """Links without those to a place on this very page, as documentation made by scripts writes
    them: `#/guide?id=install` beside an element with that id."""
    here = _route(url)

    def is_section(link: str) -> bool:
        page, mark, name = link.partition("?id=")
        return bool(mark) and _route(page) == here and f'id="{unquote(name)}"' in source

    return links.those(
        [at for at, link in enumerate(links.urls) if "#" not in link or not is_section(link)]
    )


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
