"""Documents that a site shows under several URLs with the same numbers, as a thread of a forum and
its lite view: which of these is the document, and which are its other views.

The document is the one to which more pages link. Once it is known how the URLs of views stand to
those of documents (`spoor.web.view_relations`), no view is asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spoor.watching.urls import Urls
from spoor.watching.watching import Watching
from spoor.web.view_relations import twins


def compare(known: Urls, watching: Watching, url: int, is_list: Callable[[int], bool]) -> bool:
    """A page was read for the first time: compare it with its twins that were read before; whether
    it is a view of one. O(its sentences), and O(pages of its shape) when a relation is learned."""
    host = known.hosts[url]
    if known.guessed(url) or is_list(url):
        return False
    for other in watching.like:
        if (
            other == url
            or known.hosts[other] != host
            or not twins(known.urls[other], known.urls[url])
            or known.guessed(other)
            or is_list(other)
        ):
            continue
        view, whole = sorted((url, other), key=lambda one: _rank(known, one))
        contents = watching.contents
        found = contents.holds(whole, view, host), contents.holds(view, whole, host)
        if found == (None, None):
            continue
        before = watching.views.whole_of(known.urls[view])
        watching.views.count_twins(known.urls[whole], known.urls[view], holds=any(found))
        if any(found):
            _is_view(known, watching, view, whole)
        if not before and watching.views.whole_of(known.urls[view]):
            like = np.flatnonzero(np.array(known.shape) == known.shape[view])
            for one in like.tolist():
                if one in watching.wanted and one not in watching.copy_of:
                    _find_whole(known, watching, one)
    _find_whole(known, watching, url)
    return watching.copy_of.get(url, -1) in watching.like


def _find_whole(known: Urls, watching: Watching, url: int) -> None:
    """Where a document that was read is known to have all of a page, by their URLs, the page is a
    view of it."""
    whole = known.find(watching.views.whole_of(known.urls[url]))
    if whole is not None and whole in watching.wanted and whole != url:
        _is_view(known, watching, url, whole)


def _is_view(known: Urls, watching: Watching, view: int, whole: int) -> None:
    """A page is a view of a document, and none itself."""
    copies = watching.copy_of
    if copies.get(whole) == view:
        watching.stand_for(whole)
    copies[view] = whole


def _rank(known: Urls, url: int) -> tuple[int, int, int]:
    """What is a document rather than a view comes last: by the pages that link to it, the parts of
    its path, and that it was known earlier."""
    return known.cited[url], -known.depth[url], -url
