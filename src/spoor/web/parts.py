"""Parts of a document: pages that lead to the first one by its number, and whose URL is that of the
first one with a number, such as `/story/2/` and `/story?page=2` of `/story`."""

from __future__ import annotations

import re

from spoor.types import Page, urls_of
from spoor.web.urls import query_parts

_FIRST = re.compile(r"\D{0,12}0{0,2}1")
"""What a link to the first part says."""
_SEGMENT = re.compile(r"/(?:[^/\d]{1,12}/)?[^/\d]{0,12}(\d{1,4})/?")
"""What the path of a part has more than that of the first one."""
_SUFFIX = re.compile(r"[-_,](?:page|p)?[-_]?(\d{1,4})((?:\.[a-z]{2,5})?)$")
"""The end of the URL of a part, as of `/story-2.html` of `/story.html`."""
_VALUE = re.compile(r"[^=]+=(\d{1,4})")
_MAY_BE_ONE = re.compile(r"\d(?:\.[a-z]{2,5})?/?(?:\?|$)|=\d{1,4}(?:&|$)")
"""A URL that has a number where a further part may have it."""


def first_part(page: Page) -> str:
    """The URL of the first part of the document that a page is another part of; empty where it is
    none by what it says. O(links)."""
    if not _MAY_BE_ONE.search(page.url):
        return ""
    path, _, query = page.url.partition("?")
    begin, parts = path.rstrip("/"), frozenset(query_parts(query))
    suffix = _SUFFIX.search(page.url)
    shorter = "" if suffix is None else page.url[: suffix.start()] + suffix[2]
    for at, url in enumerate(urls_of(page.links)):
        its_path, _, its_query = url.partition("?")
        if url == shorter:
            number = suffix
        elif not begin.startswith(above := its_path.rstrip("/")):
            continue  # most links lead elsewhere; their words are looked at last
        elif its_query == query:
            number = _SEGMENT.fullmatch(path[len(above) :])
        elif its_path == path:
            number = _value(parts, its_query)
        else:
            continue
        if number is None or int(number[1]) < 2:
            continue
        if _FIRST.fullmatch(page.links[at].anchor.text.strip()):
            return url
    return ""


def _value(parts: frozenset[str], query: str) -> re.Match[str] | None:
    """The one part, a parameter whose value is a number, that the query of a URL has more than
    another query. O(length of the latter)."""
    if len(parts) > 2 + len(query):
        return None  # there is more than one
    more = parts.difference(query_parts(query))
    return _VALUE.fullmatch(next(iter(more))) if len(more) == 1 else None
