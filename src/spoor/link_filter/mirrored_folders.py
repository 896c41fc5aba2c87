"""Mirrored folders: what is below one folder of a host is below another one, too. The pages of a
manual for each of its versions; those of a site for each language into which nobody put them.

Two URLs of a host are *twins* where one has another folder in one place, or one folder more, and
what follows is the same: `/en/5.0/topics/auth` and `/en/4.2/topics/auth`, `/docs/intro` and
`/docs/next/intro`. A page is a copy of a twin that was fetched where that has its title and first
heading, but for numbers, and what is the page's own, with its numbers: tables of two years have the
same rows. Pages of two classes of a library may say the same of a method of each: these are two.
Folders of two owners (`/~ann/`) are not compared.

Two folders are mirrored once `COPIES` pages were copies, and `SURE` for each that was not. From
then on a page whose twin was fetched waits (`traps.py`), but for one in `CHECKED`: it shows
whether the folders are still the same. So does one below a folder of which `COPIES` pages named
their twins below another as their canonical URLs, and not the other way round: who writes pages for
one folder may not speak for another. The first folders below two are counted by themselves, too,
and decide once `COPIES` pages of them are known: the changes of each version differ, and its
examples are the same.

Substitutions in URLs that lead to similar pages are learned from samples of pages as by Z.
Bar-Yossef, I. Keidar and U. Schonfeld, "Do not crawl in the DUST: different URLs with similar
text", WWW 2007; of theirs only those of one folder. Only a host's own pages speak for it. Every
table is bounded.
"""

from __future__ import annotations

import operator
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import remember
from spoor.columns import pieces_of
from spoor.hashing import hash64, url_hash64
from spoor.link_filter.novelty import Own, Sketch, are_among, halves
from spoor.types import Page, State
from spoor.web.urls import host

COPIES = 3
"""Pages that are copies, at least, or one where two others in the same place are mirrored …"""
SURE = 4
"""… and so many for each that is none."""
CHECKED = 8
"""Of so many pages that are to wait one does not; of twice as many after as many copies."""

_HELD = 0.7
"""Share of what is a page's own that its twin has."""
_LEAST = 8
"""Triples of its own, of those that its twin's sketch is of, that a page must have."""
_SKETCH = 64
"""Triples of a page that are kept, those of the least hashes."""
_PAGES = 1_024
"""With which others are compared."""
_LAST = 24
"""Pages of two folders after which those before count half."""
_TWINS = 3
"""Of these, with which one is compared for each of its folders."""
_FETCHED = 16_384
"""Pages that are remembered as fetched."""
_PAIRS = 1_000
_MIRRORED = 128
"""Folders of one host whose pages wait for those of another."""
_DEEP = 4
"""Folders of a URL of which one may be another."""
_STEPS = 3
"""Folders in which a URL may differ from that of its copy: a language and a version, say."""
_SEEN = 64
"""URLs that are looked at for a copy of one."""
_DIGIT = re.compile(r"\d")


class _Kept(NamedTuple):
    """A page with which others are compared."""

    names: int
    """A hash of its title and first heading, but for numbers."""
    triples: Sketch
    """The least of them, in order."""


class Folders(NamedTuple):
    """Two folders, as the beginnings of the URLs below them."""

    one: str
    other: str

    @property
    def in_order(self) -> Folders:
        return Folders(*sorted(self))

    @property
    def place(self) -> str:
        """The folder that both lie in: the other one, where one lies in the other."""
        one, other = self
        if other.startswith(one) or one.startswith(other):
            return min(one, other, key=len)
        return one[: one.rstrip("/").rindex("/") + 1]

    def with_first(self, url: str) -> Folders | None:
        """The first folders below both, of a URL below `one`; None where the URL is right below."""
        end = url.partition("?")[0].find("/", len(self.one)) + 1
        first = url[len(self.one) : end]
        return Folders(self.one + first, self.other + first) if first else None


class _Pair:
    """What is known of two folders."""

    __slots__ = ("copies", "named", "named_back", "others")

    def __init__(
        self, copies: int = 0, others: int = 0, named: int = 0, named_back: int = 0
    ) -> None:
        self.copies = copies
        """Pages below one that are copies of twins below the other …"""
        self.others = others
        """… and that are not; of both some `_LAST`, the latest."""
        self.named = named
        """Pages below the first that name twins below the other as their canonical URLs …"""
        self.named_back = named_back
        """… and the other way round."""

    def count(self, *, copied: bool) -> None:
        """Count a page that was compared with its twin."""
        if self.copies + self.others >= _LAST:
            self.copies, self.others = self.copies // 2, self.others // 2
        self.copies += copied
        self.others += not copied

    @property
    def same(self) -> bool:
        return self.copies >= COPIES and self.copies >= SURE * self.others

    @property
    def different(self) -> bool:
        return self.copies + self.others >= COPIES and not self.same

    def leads(self, *, back: bool, others: bool) -> bool:
        """Whether pages below the first folder wait for those below the other, or the other way
        round. `others`: two folders in the same place are the same."""
        named = self.named_back if back else self.named
        so_far = others and self.copies >= max(1, SURE * self.others)
        return self.same or so_far or (named >= COPIES and not self.different)

    def row(self) -> list[int]:
        return [self.copies, self.others, self.named, self.named_back]


class MirroredFolders:
    """What a crawl has seen of them. O(words) a page; O(1) for a URL on a host without any, else
    O(pairs) and at most `_SEEN` URLs that are looked up."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, _Kept] = OrderedDict()
        """By URL."""
        self._like: dict[tuple[int, str], list[str]] = {}
        """Where a folder begins in URLs, and what they are without it → the URLs, the newest last.
        """
        self._fetched: OrderedDict[int, None] = OrderedDict()
        """Hashes of URLs."""
        self._pairs: OrderedDict[Folders, _Pair] = OrderedDict()
        """Of which there was a copy, each in order."""
        self._mirrored: dict[str, dict[str, dict[str, None]]] = {}
        """Host → folder below which pages wait → those below which they wait for others."""
        self._same: dict[str, dict[Folders, None]] = {}
        """Place → pairs of folders that are the same, in order."""

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._mirrored)

    def page(self, page: Page, own: Own) -> bool:
        """Take in a page that was fetched; whether pages of its host wait no longer for it."""
        url, canonical, names = page.url, page.canonical, _names(page)
        folders, ended = list(_folders(url)), False
        mine: _Mine | None = None
        for twin, pairs in self._twins(url, folders).items() if own.has_frame else ():
            its = self._pages[twin]
            copied: bool | None = False
            if its.names == names:
                mine = mine or _mine(own)
                copied = _copied(mine, its.triples)
            if twin == canonical:
                canonical = None
            known = url
            for one, other in pairs if copied is not None else ():
                ended |= self._count_both(known, Folders(one, other), copied=bool(copied))
                known = other + known[len(one) :]
        if canonical and (named := _between(url, canonical)):
            ended |= self._name(named)
        remember(self._fetched, url_hash64(url), None, _FETCHED)
        self._keep(url, _Kept(names, _least(own)), folders)
        return ended

    def _twins(self, url: str, folders: Sequence[tuple[int, int]]) -> dict[str, Sequence[Folders]]:
        """Pages that a page is compared with, each with the folders that make the difference."""
        found: dict[str, Sequence[Folders]] = {}
        like = self._like
        for at, end in folders:
            bare = url[:at] + url[end:]
            if bare in self._pages:
                found[bare] = [Folders(url[:end], url[:at])]
            for mine, twins in ((end, like.get((at, bare), ())), (at, like.get((at, url), ()))):
                for twin in twins:
                    found[twin] = [Folders(url[:mine], twin[: twin.index("/", at) + 1])]
        found.pop(url, None)
        way = self._way(url)
        if way is not None and way[0] in self._pages:
            found.setdefault(*way)
        return found

    def copy_of(self, url: str) -> Folders | None:
        """The folder of a URL, and the one that has a copy of its page, which was fetched; None
        where none has."""
        way = self._way(url)
        return None if way is None else way[1][0]

    def waits(self, url: str) -> Folders | None:
        """The same, None where the URL is to show whether the two are still the same: it is so
        each time that it is offered."""
        folders = self.copy_of(url)
        if folders is None:
            return None
        many = self._pairs[folders.in_order].copies >= 2 * CHECKED
        return None if url_hash64(url) % (2 * CHECKED if many else CHECKED) == 0 else folders

    def _way(self, url: str) -> tuple[str, Sequence[Folders]] | None:
        """A URL that was fetched, to which mirrored folders lead, and these."""
        mirrored = self._mirrored.get(host(url))
        if not mirrored:
            return None
        seen, ways = {url}, [(url, list[Folders]())]
        for _ in range(_STEPS):
            longer = []
            for known, steps in ways:
                for folders in _mirrored_above(known, mirrored):
                    mine, other = folders
                    twin = other + known[len(mine) :]
                    if twin in seen or self._differ(known, folders):
                        continue
                    way = twin, [*steps, folders]
                    if url_hash64(twin) in self._fetched:
                        return way
                    if len(seen) == _SEEN:
                        return None
                    seen.add(twin)
                    longer.append(way)
            ways = longer
        return None

    def _count_both(self, url: str, folders: Folders, *, copied: bool) -> bool:
        """Count a page for two folders, once there is a copy, and for the first ones below them; as
        `page`."""
        pair, first = folders.in_order, folders.with_first(url)
        if not copied and pair not in self._pairs:
            return False
        ended = self._count(pair, copied=copied)
        if first is None:
            return ended
        differed = self._differ(url, folders)
        ended |= self._count(first.in_order, copied=copied)
        return ended or (not differed and self._differ(url, folders))

    def _differ(self, url: str, folders: Folders) -> bool:
        """Whether the first folders on the way to a URL below two that are mirrored are not."""
        first = folders.with_first(url)
        known = self._pairs.get(first.in_order) if first else None
        return known is not None and known.different

    def _count(self, pair: Folders, *, copied: bool) -> bool:
        """Count a page that was compared with its twin; as `page`."""
        known, ended = self._known(pair)
        known.count(copied=copied)
        return self._settle(pair, known) or ended

    def _name(self, folders: Folders) -> bool:
        """A page below the first folder names its twin below the other; as `page`."""
        known, ended = self._known(folders.in_order)
        if folders == folders.in_order:
            known.named += 1
        else:
            known.named_back += 1
        return self._settle(folders.in_order, known) or ended

    def _known(self, pair: Folders) -> tuple[_Pair, bool]:
        """What is known of two folders in order; as `page` for those that are forgotten for it."""
        known = self._pairs.get(pair) or _Pair()
        forgotten = remember(self._pairs, pair, known, _PAIRS)
        return known, forgotten is not None and self._settle(forgotten, _Pair())

    def _settle(self, pair: Folders, known: _Pair) -> bool:
        """Say whether pages below two folders in order wait, by what is known; as `page`."""
        site, ended = host(pair.one), False
        same = self._same.setdefault(pair.place, {})
        if known.same:
            same[pair] = None
        else:
            same.pop(pair, None)
        if not same:
            del self._same[pair.place]
        mirrored = self._mirrored.setdefault(site, {})
        for folders, back in ((pair, False), (Folders(pair.other, pair.one), True)):
            one, other = folders
            others = mirrored.setdefault(one, {})
            if not known.leads(back=back, others=bool(same)):
                ended |= other in others
                others.pop(other, None)
            elif sum(map(len, mirrored.values())) < _MIRRORED:
                others[other] = None
            if not others:
                del mirrored[one]
        if not mirrored:
            del self._mirrored[site]
        return ended

    def _keep(self, url: str, page: _Kept, folders: Sequence[tuple[int, int]]) -> None:
        """Keep a page, the newest, for others to be compared with."""
        if url in self._pages:
            self._leave(url)
        gone = remember(self._pages, url, page, _PAGES)
        if gone is not None:
            self._leave(gone)
        for at, end in folders:
            like = self._like.setdefault((at, url[:at] + url[end:]), [])
            like.append(url)
            del like[:-_TWINS]

    def _leave(self, url: str) -> None:
        for at, end in _folders(url):
            key = at, url[:at] + url[end:]
            like = self._like.get(key, [])
            if url in like:
                like.remove(url)
            if not like:
                self._like.pop(key, None)

    def save(self) -> State:
        sketches = [page.triples for page in self._pages.values()]
        return {
            "pages": list(self._pages),
            "names": np.array([page.names for page in self._pages.values()], np.uint64),
            "lengths": [len(sketch) for sketch in sketches],
            "sketches": np.concatenate(sketches) if sketches else np.zeros(0, np.uint32),
            "fetched": np.fromiter(self._fetched, np.uint64, len(self._fetched)),
            "pairs": [[*pair, *known.row()] for pair, known in self._pairs.items()],
            "mirrored": [
                [one, other]
                for mirrored in self._mirrored.values()
                for one, others in mirrored.items()
                for other in others
            ],
        }

    def load(self, state: State) -> None:
        """Go on from `save`. Raises ValueError and its like for a state that is none."""
        sketches, names = _row(state["sketches"], np.uint32), _row(state["names"], np.uint64)
        parts = pieces_of(sketches, state["lengths"])
        self._pages.clear()
        self._like.clear()
        for url, *page in zip(state["pages"], names.tolist(), parts, strict=True):
            self._keep(url, _Kept(*page), list(_folders(url)))
        self._fetched = OrderedDict.fromkeys(_row(state["fetched"], np.uint64).tolist())
        self._pairs, self._mirrored, self._same = OrderedDict(), {}, {}
        for one, other, *counts in state["pairs"]:
            pair = Folders(one, other)
            known = self._pairs[pair] = _Pair(*map(operator.index, counts))
            if known.same:
                self._same.setdefault(pair.place, {})[pair] = None
        for one, other in state["mirrored"]:
            if Folders(one, other).in_order not in self._pairs:
                raise ValueError(f"nothing is known of {one} and {other}")
            self._mirrored.setdefault(host(one), {}).setdefault(one, {})[other] = None


def _row(values: NDArray[Any], kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """A copy of a row of numbers of a kind. Raises ValueError for what is none."""
    if values.ndim != 1 or values.dtype != kind:
        raise ValueError(f"{values.dtype} of shape {values.shape} for a row of {kind.__name__}")
    return values.copy()


def _folders(url: str) -> Iterator[tuple[int, int]]:
    """Where the folders of a URL one of which may be another begin and end: something follows
    each, and none is a person's."""
    path = url.partition("?")[0]
    at = path.find("/", path.find("//") + 2) + 1
    for _ in range(_DEEP):
        end = path.find("/", at) + 1
        if not end or end == len(path):
            return
        if path[at] != "~":
            yield at, end
        at = end


def _mirrored_above(url: str, mirrored: Mapping[str, Iterable[str]]) -> Iterator[Folders]:
    """The folders of a host that a URL lies below, and those that these are mirrored in."""
    path = url.partition("?")[0]
    end = path.find("/", path.find("//") + 2) + 1
    for _ in range(_DEEP + 1):
        if not end or end == len(url):
            return
        one = url[:end]
        for other in mirrored.get(one, ()):
            yield Folders(one, other)
        end = path.find("/", end) + 1


def _between(url: str, other: str) -> Folders | None:
    """The folders that make the difference between twins; None where two URLs are not."""
    for at, end in _folders(url):
        if not other.startswith(url[:at]):
            break
        rest = url[end:]
        if other[at:] == rest:
            return Folders(url[:end], url[:at])
        its = other.find("/", at) + 1
        if its and other[its:] == rest and other[at:its] != url[at:end]:
            return Folders(url[:end], other[:its])
    for at, end in _folders(other):
        if url[:at] + other[end:] == url and other.startswith(url[:at]):
            return Folders(url[:at], other[:end])
    return None


def _names(page: Page) -> int:
    """A hash of the title and the first heading of a page, without the words that have digits."""
    names = f"{page.title}\n{page.headings[0] if page.headings else ''}"
    if _DIGIT.search(names):
        names = " ".join(word for word in names.split() if not _DIGIT.search(word))
    return hash64(names)


def _least(own: Own) -> Sketch:
    """The least `_SKETCH` triples of a page, in order, numbers included."""
    return _distinct(own.plain)[:_SKETCH]


def _distinct(triples: NDArray[np.uint64]) -> Sketch:
    """Half of each, in order; those of a row of zeros count once."""
    found = halves(triples)
    found.sort()  # in a twentieth of the time of np.unique
    return found[np.concatenate(([True], found[1:] != found[:-1]))] if len(found) else found


class _Mine(NamedTuple):
    """Triples of a page that its twins should have, numbers included, in order."""

    own: Sketch
    """What is on few pages …"""
    figures: Sketch
    """… or has a number: the rows of a table are on many pages, and its numbers are not."""


def _mine(own: Own) -> _Mine:
    few = own.few
    return _Mine(_distinct(own.plain[few]), _distinct(own.plain[few | own.masked]))


def _copied(mine: _Mine, its: Sketch) -> bool | None:
    """Whether another page has what is a page's own, as far as its sketch tells; None where that
    tells too little."""
    held = _held(mine.own, its)
    return None if held is None else held >= _HELD and (_held(mine.figures, its) or 0.0) >= _HELD


def _held(mine: Sketch, its: Sketch) -> float | None:
    """The share of triples that a page with this sketch has; None where it tells too little."""
    known = mine[: mine.searchsorted(its[-1], "right")] if len(its) == _SKETCH else mine
    if not len(its) or len(known) < _LEAST:
        return None
    return float(are_among(known, its).mean())
