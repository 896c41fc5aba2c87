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
_VALUE = re.compile(r"[^=]+=(\d{1,4})")
_MAY_BE_ONE = re.compile(r"\d/?(?:\?|$)|=\d{1,4}(?:&|$)")
"""A URL that has a number where a further part may have it."""


def first_part(page: Page) -> str:
    """The URL of the first part of the document that a page is another part of; empty where it is
    none by what it says. O(links)."""
    if not _MAY_BE_ONE.search(page.url):
        return ""
    begin = page.url.partition("?")[0].rstrip("/")
    for at, url in enumerate(urls_of(page.links)):
        # Most links lead elsewhere; their words are looked at last.
        above = begin.startswith(url.partition("?")[0].rstrip("/")) and _is_part(page.url, url)
        if above and _FIRST.fullmatch(page.links[at].anchor.text.strip()):
            return url
    return ""


def _is_part(url: str, first: str) -> bool:
    """Whether a URL is another one with a number above 1, in its path or as a parameter."""
    path, _, query = url.partition("?")
    its_path, _, its_query = first.partition("?")
    if query == its_query:
        number = _SEGMENT.fullmatch(path[len(its_path.rstrip("/")) :])
    elif path == its_path:
        more = [part for part in query_parts(query) if part not in query_parts(its_query)]
        number = _VALUE.fullmatch(more[0]) if len(more) == 1 else None
    else:
        return False
    return number is not None and int(number[1]) > 1
