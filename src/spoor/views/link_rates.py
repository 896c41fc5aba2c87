"""Which links of a run paid: how often links at one place, or with one word, led to a relevant
page.

The rates are measured over links that the crawl followed; they are not weights of the policy. The
policy chose these links, so the rates say what paid, not what all links of the kind would bring.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from spoor.display import shown
from spoor.formats.warc_reader import read_page
from spoor.formats.warc_records import DamagedError
from spoor.runs.reader import Run
from spoor.runs.rows import PageRow
from spoor.types import Anchor
from spoor.views.run_totals import wilson
from spoor.web.text import STOP_WORDS, tokens

MOST_PAGES = 10_000
"""First pages of a run that are looked at."""
MOST_PARENTS = 200
"""Pages whose links are read out of the archive, those with most followed links first …"""
MOST_BYTES = 10_000_000
"""… and the bytes of these: some 10 to 20 MB are read in a second, …"""
MOST_SECONDS = 3.0
"""… if they are not made to cost, or larger than the rows of a stranger say."""
MOST_GROUPS = 6
"""Most kinds of links that are shown, of those that paid and of those that did not."""
EXAMPLES = 3
LEAST_FOLLOWED = 30
LEAST_PAID = 3
"""Links that must be followed, and that must have paid, before anything is shown."""
_LEAST = 8
"""Fewest followed links of a kind that is shown."""
_Z = 2.58
"""Of an interval at 99 %: hundreds of kinds are compared."""
_WORDS = 12
"""Words of a link that are looked at."""
_PERMALINKS = "¶§ "
"""Signs behind a heading that link to itself."""

_PLACES = {
    "nav": "in the menu",
    "header": "in the page's head",
    "footer": "in the page's foot",
    "aside": "in the side column",
}


@dataclass(frozen=True, slots=True)
class Example:
    """A page that a link of a kind led to."""

    url: str
    title: str
    relevant: bool


@dataclass(frozen=True, slots=True)
class KindOfLink:
    """Links of one place, or with one word."""

    name: str
    """As in ‘in the menu under ‘Faculty’’ or ‘that say ‘calendar’’."""
    followed: int
    paid: int
    """Of these, the ones that led to a relevant page."""
    times: float
    """Its rate by the rate of all."""
    examples: Sequence[Example]

    @property
    def sentence(self) -> str:
        """It in plain words, with its counts."""
        if not self.paid:
            return f"Links {self.name} never paid: 0 of {self.followed:,}."
        counts = f"{self.paid:,} of {self.followed:,} led to a relevant page"
        only = "only " if self.times < 1 else ""
        return f"Links {self.name} pay {only}{self.times:.2g} × the average: {counts}."


@dataclass(frozen=True, slots=True)
class LinkRates:
    """What is told of the links of a run."""

    followed: int = 0
    """Links whose place and words are known."""
    paid: int = 0
    pays: Sequence[KindOfLink] = ()
    """Kinds that pay more than the average, for certain; the best first."""
    fails: Sequence[KindOfLink] = ()
    """Kinds that pay less, for certain; the worst first."""
    pages: int = 0
    """Fetched pages that were looked at."""

    @property
    def lead(self) -> str:
        """What was measured, and on how much; empty where there is nothing to measure."""
        if not self.pages:
            return ""
        measured = f"Measured on {self.followed:,} links that were followed"
        if self.followed < LEAST_FOLLOWED or self.paid < LEAST_PAID:
            return (
                f"{measured}, of which {self.paid:,} paid: too few to say which kinds of links pay."
            )
        rate = f"{measured}: {self.paid / self.followed:.0%} led to a relevant page"
        if not self.pays and not self.fails:
            return f"{rate}. No kind of links is better or worse than that for certain."
        return f"{rate}, the average. These differ from it by more than chance (99 % intervals)."


@dataclass(slots=True)
class _Group:
    followed: list[int] = field(default_factory=list)
    """Places of the pages among those looked at."""
    paid: int = 0


def link_rates(run: Run) -> LinkRates:
    """The rates of a run, by its rows and the archived pages that its links stand on; all zero for
    one without an archive. Costs about a second at most, and where pages are made to cost
    `MOST_SECONDS` and one of them."""
    pages = list(islice(run.pages(), MOST_PAGES))
    groups: dict[str, _Group] = {}
    followed = paid = 0
    for at, anchor in _links(run, pages):
        followed += 1
        paid += pages[at].relevant
        for name in _kinds(anchor):
            group = groups.setdefault(name, _Group())
            group.followed.append(at)
            group.paid += pages[at].relevant
    if followed < LEAST_FOLLOWED or paid < LEAST_PAID:
        return LinkRates(followed, paid, pages=len(pages))
    rate = paid / followed
    pays: list[KindOfLink] = []
    fails: list[KindOfLink] = []
    for name, group in _distinct(groups):
        low, high = wilson(group.paid, len(group.followed), _Z)
        if low > rate or high < rate:
            (pays if low > rate else fails).append(_told(name, group, rate, pages))
    pays.sort(key=lambda one: (-one.times * math.log(one.followed), one.name))
    fails.sort(key=lambda one: (one.times, -one.followed, one.name))
    return LinkRates(followed, paid, pays[:MOST_GROUPS], fails[:MOST_GROUPS], len(pages))


def _links(run: Run, pages: Sequence[PageRow]) -> Iterator[tuple[int, Anchor]]:
    """(place of a page among those, the link that led to it) where both are known."""
    rows = {page.url: page for page in pages}
    children: dict[str, list[int]] = {}
    for at, page in enumerate(pages):
        if len(page.path) > 1 and page.path[-2] in rows:
            children.setdefault(page.path[-2], []).append(at)
    most = Counter({parent: len(found) for parent, found in children.items()})
    room, until = MOST_BYTES, time.monotonic() + MOST_SECONDS
    for parent, _ in most.most_common(MOST_PARENTS):
        if time.monotonic() > until:
            return
        if rows[parent].size > room:
            continue
        room -= rows[parent].size
        anchors = _anchors(run, rows[parent])
        for at in children[parent]:
            anchor = anchors.get(pages[at].path[-1]) or anchors.get(pages[at].url)
            if anchor is not None:
                yield at, anchor


def _anchors(run: Run, page: PageRow) -> Mapping[str, Anchor]:
    """Target → its first link with words on an archived page."""
    if page.place is None:
        return {}
    archived, found = None, dict[str, Anchor]()
    with suppress(DamagedError):  # the kinds of documents tell it
        archived = read_page(run.path / page.place[0], *page.place[1:], page.url)
    for link in () if archived is None else archived.links:
        if link.kind in ("a", "place") and not found.get(link.url, Anchor()).text:
            found[link.url] = link.anchor
    return found


def _kinds(anchor: Anchor) -> Iterator[str]:
    """The names of the kinds that a link belongs to."""
    place = _PLACES.get(anchor.region, "")
    heading = shown(anchor.headings[-1][:60].rstrip(_PERMALINKS)) if anchor.headings else ""
    if place:
        yield place
    if heading:
        yield f"{place} under the heading ‘{heading}’".strip()
    words = dict.fromkeys(tokens(anchor.text)[:_WORDS])
    for word in words:
        if word not in STOP_WORDS and len(word) > 1 and not word.isdigit():
            yield f"that say ‘{shown(word[:40])}’"


def _distinct(groups: Mapping[str, _Group]) -> Iterator[tuple[str, _Group]]:
    """Kinds that are large enough, without those of the very same links as one before."""
    seen = set()
    for name, group in groups.items():
        key = tuple(group.followed)
        if len(key) >= _LEAST and key not in seen:
            seen.add(key)
            yield name, group


def _told(name: str, group: _Group, rate: float, pages: Sequence[PageRow]) -> KindOfLink:
    share = group.paid / len(group.followed)
    # Of what it mostly led to: relevant pages where it pays, others where it does not.
    wanted = share > rate
    which = [pages[at] for at in group.followed if pages[at].relevant == wanted]
    examples = [Example(page.url, page.title, page.relevant) for page in which[:EXAMPLES]]
    return KindOfLink(name, len(group.followed), group.paid, share / rate, examples)
