"""Indexes: pages of sections, each with links to the pages that the site files under its heading,
such as a page of all tags, or a map of a site for people."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from itertools import pairwise

from spoor.bounded import remember
from spoor.judges.relevance.url_numbers import number_of_url, site_of
from spoor.types import Link, Page

SECTIONS = 4
"""Sections that an index has at least, …"""
LINKS = 2
"""… and the links of each."""
BETWEEN = 6
"""Words that may stand between two links of a section, such as a date."""
SHARE = 0.7
"""Of the links of a section that stand so: in running text, links stand apart. And of the sections
with links that are such lists."""
_MOST_LINKS = 5_000
"""Of a page that are looked at."""
_MOST = 20_000
"""Pages that are known to be filed."""


class Indexes:
    """The pages that indexes of their site file under just what is wanted."""

    def __init__(self) -> None:
        self._filed: OrderedDict[int, None] = OrderedDict()

    def __contains__(self, number: int) -> bool:
        """`number`: `number_of_url` of a page."""
        return number in self._filed

    def read(self, page: Page, site: int, is_wanted: Callable[[str], bool]) -> None:
        """Note what a page files under a heading that `is_wanted`. O(links) of pages that have
        such a heading, else O(headings)."""
        if len(page.headings) < SECTIONS or len(page.links) < SECTIONS * LINKS:
            return
        if not any(map(is_wanted, page.headings)):
            return
        sections: dict[tuple[str, ...], list[Link]] = {}
        for link in page.links[:_MOST_LINKS]:
            if link.anchor.region == "main" and link.anchor.headings and link.anchor.text:
                sections.setdefault(link.anchor.headings, []).append(link)
        linked = [above for above, links in sections.items() if len(links) >= LINKS]
        lists = {above: sections[above] for above in linked if _stand_together(sections[above])}
        if len(lists) < max(SECTIONS, SHARE * len(linked)):
            return
        for above, links in lists.items():
            if is_wanted(above[-1]):
                for link in links:
                    if site_of(link.url) == site and link.url != page.url:
                        remember(self._filed, number_of_url(link.url), None, _MOST)

    def save(self) -> list[int]:
        return [*self._filed]

    def load(self, filed: list[int]) -> None:
        self._filed = OrderedDict.fromkeys(map(int, filed[-_MOST:]))


def _stand_together(links: list[Link]) -> bool:
    near = sum(_is_next(one, other) for one, other in pairwise(links))
    return near >= SHARE * (len(links) - 1)


def _is_next(one: Link, other: Link) -> bool:
    """Whether little stands between two links."""
    before = other.anchor.before
    # Of a long anchor, no more than the last words may be there.
    last = one.anchor.text.rpartition(" ")[2]
    between = before.rpartition(last)
    return bool(between[1]) and len(between[2].split()) <= BETWEEN
