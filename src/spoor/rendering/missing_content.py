"""What plain HTML lacks that its scripts may add, and the shape of a URL."""

from __future__ import annotations

import re

from spoor.types import Page

NO_TEXT = "no text"
APP_ROOT = "an empty app root"
ASKS = "a text that asks for JavaScript"
EMPTY_LIST = "an empty list"
FEW_LINKS = "few links"
ROUTE = "an address behind #"
ROUTES = "links behind #"
SCRIPTS = "nothing that shows, but it has scripts"

FEW_WORDS = 40
"""Fewer words than this are the frame of a page, and no text."""
_SOME_WORDS = 200
_LEAST_LINKS = 3
_READ = 1 << 18
"""Bytes of the source that are looked at."""
_LISTS_READ = 1 << 16
"""Bytes in which an empty list is looked for."""
_NOSCRIPTS = 8
"""`noscript` elements that are looked at."""

# Of a source in lower case. None of these goes back over more than the inside of one tag.
_SCRIPT = re.compile(
    rb"""<script\b(?![^<>]{0,200}\btype\s{0,9}=\s{0,9}["']?"""
    rb"""(?:application/(?:ld\+)?json|importmap|speculationrules|text/(?!javascript|babel)))""",
)
_EMPTY = rb"""[^<>]{0,200}>[^<>]{0,60}(?:<!--[^<>]{0,100}-->)?\s{0,60}</"""
"""The rest of a tag, and nothing inside but a few words such as `Loading…`."""
_ROOT = re.compile(
    rb"""<(?:div|main|section)\b[^<>]{0,200}?\bid\s{0,9}=\s{0,9}["']?(?:app|root|__next|__nuxt|"""
    rb"""___gatsby|svelte|q-app|react-root|main-app|application|mount)["'\s>/]"""
    rb"""(?<=.)(?:(?<=>)|[^<>]{0,200}>)[^<>]{0,60}(?:<!--[^<>]{0,100}-->)?\s{0,60}</(?:div|main|sec)"""
    rb"""|<(?:app|ng)-[a-z]{2,30}""" + _EMPTY + rb"""(?:app|ng)-""",
    re.S,
)
_LIST = re.compile(
    rb"""<(?:ul|ol|tbody)\b[^<>]{0,200}>\s{0,60}(?:<!--[^<>]{0,100}-->)?\s{0,60}</(?:ul|ol|tbody)"""
    rb"""|<(?:div|section|nav|aside|main|article)\b[^<>]{0,100}?\b(?:id|class)=["']?[^"'<>]{0,40}?"""
    rb"""(?:list|result|feed|item|content|entries|posts|articles|cards|grid|stream|rows|more)"""
    + _EMPTY
    + rb"""(?:div|section|nav|aside|main|article)""",
)


_ROUTES = re.compile(rb"""\bhref\s{0,9}=\s{0,9}["']?[^"'\s>#]{0,200}#(?:/|!/?)[^"'\s>/!]""")


def lacks(body: bytes, page: Page) -> str:
    """What the plain HTML of a page lacks, in words; empty where it runs no script, so that
    rendering can bring nothing. `page` is made of `body`. O(256 KiB)."""
    if b"<script" not in body and b"<SCRIPT" not in body:
        return ""
    source = body[:_READ].lower()
    if _SCRIPT.search(source) is None:
        return ""
    if "#" in page.url:
        return ROUTE
    words = page.text.count(" ") + bool(page.text)
    if words < _SOME_WORDS:
        if _ROOT.search(source):
            return APP_ROOT
        if _asks(source):
            return ASKS
        if words < FEW_WORDS:
            return NO_TEXT
    if (b"#/" in source or b"#!" in source) and _ROUTES.search(source):
        return ROUTES
    if _LIST.search(source, 0, _LISTS_READ):
        return EMPTY_LIST
    return FEW_LINKS if words < _SOME_WORDS and len(page.links) < _LEAST_LINKS else SCRIPTS


def _asks(source: bytes) -> bool:
    """Whether a `noscript` element speaks of JavaScript."""
    end = 0
    for _ in range(_NOSCRIPTS):
        start = source.find(b"<noscript", end)
        if start < 0:
            return False
        end = source.find(b"</noscript", start)
        end = start + 600 if end < 0 else end
        if b"javascript" in source[start : min(end, start + 600)]:
            return True
    return False


def shape(url: str) -> str:
    """URLs of one shape are likely made by one template: the directories of the path, numbers as
    `#`, the file as `*`, and the names of the query. `url` is canonical."""
    path, _, query = url.split("/", 3)[3].partition("?")
    *directories, file = path.split("/")
    parts = [re.sub(r"\d+", "#", name)[:40] for name in directories[:3]]
    if file:
        parts.append(f"*.{file.rpartition('.')[2][:6]}" if "." in file else "*")
    names = sorted({part.partition("=")[0][:20] for part in query.split("&")})[:4] if query else []
    return "/" + "/".join(parts) + (f"?{'&'.join(names)}" if names else "")
