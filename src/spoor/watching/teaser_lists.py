"""Which lists of a site show what is new, and which are boxes that show what is old ("most read",
"related", "from the archive"), by how their links come and go.

A link that comes to a list is news of itself where nothing left the list for it, or where it stands
before what stayed and what left was the oldest: a list of stories grows at one end. Anywhere else
it came in the place of another link, as in a box that shows others at each look. Whether those are
news is told by what came there before: pages that were dated, that a list of stories has shown, or
that stood there at the first look. What a box has not earned is held until a list shows it, or the
box has earned it.
"""

from __future__ import annotations

import re
import zlib
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from spoor.bounded import forget, remember
from spoor.columns import pieces_of
from spoor.durations import DAY
from spoor.types import Link, Page, State
from spoor.watching.list_moves import Move, moves, risen
from spoor.web.page_links import places_of

MOST_PAGES = 5_000
"""Pages of which it is kept where their links stand; those looked at longest ago leave."""

MOST_LISTS = 20_000
"""Lists of which it is counted what came to them."""

MOST_SHOWN = 20_000
"""URLs that only boxes have shown, by those that came last."""

LATE = DAY
"""Seconds for which it is kept that they were not known before."""

MOST_COUNTED = 100
"""Links that came to a list, beyond which all counts of it are halved: what it was is no matter."""

SURE = 3
"""Links that came to lists of stories of a host, from which on its boxes have to be borne out by
these; and how many times as many young pages as old ones a box that is believed has shown."""

FEW = 8
"""Links that came to a box, none of them known to be old, from which on it is believed on a host
that has shown no list of stories for `SETTLED` …"""

FEW_IN_LONG = 3
"""… or on any, where it stands in the main part of a page that was not looked at for `LONG`: of a
list of stories no link may be left by then."""

SETTLED, LONG = 0.9 * DAY, 1.5 * DAY
"""Seconds."""

WEIGHT = 6
"""Links that came to a box and of which nothing is known, that one weighs of which it is known that
it is old: most of what is old is not known."""

WITHDRAWN = 4
"""Links that stay in a list for each that may leave it between these."""

FOLLOWING = 5
"""Words after a link, such as of a teaser."""

LISTED = 5
"""Links of a list; what one comes to is a list of stories at once."""

Age = Literal["new", "young", "old", ""]
"""Of a link that came: nobody knew it; it is known to be young, or old; or neither."""

_ITEM = frozenset("li article tr dd dt".split())
_DIGITS = re.compile(r"\d+")


class Spot(NamedTuple):
    """Where a link stands on a page."""

    path: int
    """Number of the markup around it, without what differs from item to item."""
    list: int
    """The same with the heading above, where several links stand under it; 0: nothing is known."""
    main: bool
    """In no region of a page that is beside its matter."""


NOWHERE = Spot(0, 0, True)


def spots(links: Sequence[Link], host: str, title: str) -> list[Spot]:
    """Where links of a page of a host stand. O(links)."""
    places = places_of(links)
    under = Counter((path, headings[-1:]) for path, headings, _ in places)
    made: dict[tuple[str, tuple[str, ...], str], Spot] = {}
    found = list[Spot]()
    for path, headings, region in places:
        heading = headings[-1:]
        if heading and (under[path, heading] < 2 or heading[0] in title):
            heading = ()
        spot = made.get((path, heading, region))
        if spot is None:
            spot = NOWHERE
            if path:
                of = f"{host} {_container(path)}"
                key = _number(of)
                spot = Spot(key, _number(f"{of} {heading}") if heading else key, region == "main")
            made[path, heading, region] = spot
        found.append(spot)
    return found


@lru_cache(maxsize=4_096)
def _container(path: str) -> str:
    """The markup around the items of a list: what tells an item from another is left out."""
    parts = path.split("/")
    tags = [re.split(r"[#.]", part, maxsplit=1)[0] for part in parts]
    last = max((at for at, tag in enumerate(tags) if tag in _ITEM), default=-1)
    kept = [*parts[:last], tags[last]] if last >= 0 else parts[:-1]
    return _DIGITS.sub("", "/".join(kept))


def _number(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "replace")) or 1


class _Counts:
    """What came to a list of one page, or to all lists of its markup on a host."""

    __slots__ = ("everywhere", "host", "long", "old", "open", "young")

    def __init__(self, host: str, everywhere: int = 0) -> None:
        self.host = host
        self.everywhere = everywhere
        """Of a list of one page, number of what all of its markup share; else 0."""
        self.young = 0
        """Pages that were young, by a date or since a list of stories showed them."""
        self.open = 0
        """Pages of which nothing is known yet."""
        self.old = 0
        self.long = False
        """As of `FEW_IN_LONG`."""

    @property
    def total(self) -> int:
        return self.young + self.open + self.old

    def count(self, name: Literal["young", "open", "old"], by: int = 1) -> None:
        setattr(self, name, max(0, getattr(self, name) + by))
        if self.total > MOST_COUNTED:
            self.young, self.open, self.old = self.young // 2, self.open // 2, self.old // 2


class Boxes:
    """The lists of all pages of a fleet, by numbers of URLs."""

    def __init__(self) -> None:
        self.held: OrderedDict[int, float] = OrderedDict()
        """URL of which nothing but a box that is not believed says that it is new → when it
        appeared there."""
        self._grown: Counter[int] = Counter()
        self._paths: Counter[int] = Counter()
        """Markup of lists of stories → looks at which one had grown."""
        self._placed: OrderedDict[int, bytes] = OrderedDict()
        """Page → (path, list, URL) of each link at its last look."""
        self._lists: OrderedDict[int, _Counts] = OrderedDict()
        self._since: dict[str, float] = {}
        """Host → when a page of it was looked at first."""
        self._now = 0.0
        self._stories: Counter[str] = Counter()
        """Host → links that came to lists of stories."""
        self._shown: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        """URL that only boxes have shown, and of which nothing else is known → these."""
        self.late: OrderedDict[int, float] = OrderedDict()
        """URL that nobody knew and that stood on a page at its first look → when that was: it is
        new where a list shows it next that was looked at before, and did not have it."""

    def look(
        self,
        page: int,
        host: str,
        links: Sequence[tuple[Spot, int]],
        age: Callable[[int], Age],
        last: float,
        now: float,
        orders: Collection[int] = (),
    ) -> list[int]:
        """Take in what a page links to, which was looked at `last` before; URLs that are held, or
        late, and new from now on. `orders`: what leads to the page itself in another order, as the
        heads of a table do: no item stands before or after it. O(links)."""
        before, self._now = self._before(page), now
        self._since.setdefault(host, self._now)
        self._keep(page, links)
        if before is None:
            return []
        on_page, there = {url for _, _, url in before}, {url for _, url in links}
        came = there - on_page
        waits = there & self._shown.keys()
        if not (came or waits):
            return []
        of_list, of_path = dict[int, list[int]](), dict[int, list[int]]()
        for path, name, url in before:
            of_list.setdefault(name, []).append(url)
            of_path.setdefault(path, []).append(url)
        lists: dict[Spot, list[int]] = {}
        for spot, url in links:
            lists.setdefault(spot, []).append(url)
        shown, doubted = set[int](), dict[int, list[int]]()
        with_more = set[int]()
        for spot, urls in lists.items():
            previous = of_list.get(spot.list, of_path.get(spot.path, []))
            its = came.intersection(urls) | waits.intersection(urls).difference(previous)
            if not its:
                continue
            arrived = its
            if spot.list:
                stood, stand = (
                    [url for url in one if url not in orders] for one in (previous, urls)
                )
                arrived = _arrivals(stood, stand, there)
            if spot.list and not previous and self._stories[host] >= SURE:
                arrived = set()  # a list that was not there says nothing of what stood in it before
            own = _number(f"{page} {spot.list}") if spot.list else 0
            counts = self._counts(own, host, spot.list)
            good = not (counts.old >= 2 and counts.young < SURE * counts.old)
            counts.long = spot.main and now >= last + LONG
            for url in sorted(its):
                trusted = good and url in arrived
                its_age, names = age(url), self._shown.get(url, ())
                late = self.late.get(url, last) > last
                if its_age == "new" or names or (late and trusted):
                    if trusted:
                        shown.add(url)
                        self._count(own, "young")
                    elif own not in names:
                        doubted.setdefault(url, []).append(own)
                elif its_age and not (url in arrived or late):
                    self._count(own, its_age)
                else:
                    continue
                with_more.add(own)
        for url, of in doubted.items():
            for name in of:
                self._count(name, "open")
            both = tuple(dict.fromkeys((*self._shown.get(url, ()), *of)))
            left = remember(self._shown, url, both, MOST_SHOWN)
            if left is not None:
                self.held.pop(left, None)
        its_own = [url for url in sorted(shown) if self._settle(url, "young")]
        self._stories[host] += len(shown)
        return its_own + self._believed_now(with_more)

    def note_late(self, urls: Iterable[int], now: float) -> None:
        """These stood on a page at its first look."""
        for url in urls:
            self.late.setdefault(url, now)
        while self.late and (
            len(self.late) > MOST_SHOWN or next(iter(self.late.values())) < now - LATE
        ):
            self.late.popitem(last=False)

    def listed(self, url: int, last: float) -> list[int]:
        """A feed or sitemap, which was looked at `last`, has a URL that it had not, and says that
        it is younger than that: it alone where it was known only since then."""
        return [url] if self.late.pop(url, last) > last else []

    def grown(self, page: int) -> int:
        """What `note_grown` was told of a page."""
        return self._grown[page]

    def note_grown(self, page: int, found: Mapping[int, int]) -> None:
        """These lists of a page, which are its own matter, have so many links more."""
        self._grown[page] += sum(found.values())
        for name, its in found.items():
            if its >= LISTED:
                self._paths[self._path_of(page, name)] += 1

    def grows(self, page: int, links: Iterable[tuple[Spot, int]]) -> dict[int, int]:
        """The lists of a page that have grown at one end since its last look, or in which links
        rose above others → links that came or rose; `LISTED` where as many stand there now. A list
        that has others alone has grown where those of other pages in the same markup have."""
        before = self._before(page) or ()
        of_list, lists = dict[int, list[int]](), dict[int, list[int]]()
        paths = {name: path for path, name, _ in before}
        for _, name, url in before:
            of_list.setdefault(name, []).append(url)
        for spot, url in links:
            lists.setdefault(spot.list, []).append(url)
        on_page = {url for _, _, url in before}
        there = {url for urls in lists.values() for url in urls}
        found = dict[int, int]()
        for name, previous in of_list.items():
            now = list(dict.fromkeys(lists.get(name, ())))
            urls = set(now)
            its, long = len(urls - on_page), len(urls) >= LISTED
            if name and (up := risen(list(dict.fromkeys(previous)), now)):
                found[name] = max(its + len(up), LISTED * long)
            if not (name and its):
                continue
            known = long and self._paths[paths[name]] >= SURE
            if known or _arrivals(previous, lists[name], there):
                found[name] = max(its, LISTED * long)
        return found

    def moves(self, page: int, links: Iterable[tuple[Spot, int]]) -> list[Move]:
        """How the links of a page moved in its lists since its last look. O(links)."""
        now = ((spot.path, spot.list, url) for spot, url in links)
        return moves(self._before(page) or (), now)

    def _path_of(self, page: int, name: int) -> int:
        return next((path for path, its, _ in self._before(page) or () if its == name), 0)

    def believes(self, url: int) -> bool:
        """Whether what says nothing of its age is new, as its link appeared on a page."""
        names = self._shown.get(url)
        if names is None:
            return True
        if any(map(self._believed, names)):
            del self._shown[url]
            return True
        return False

    def dated(self, url: int, *, young: bool) -> list[int]:
        """A page that a box has shown says how old it is; URLs that are believed from now on."""
        names = self._shown.get(url, ())
        self._settle(url, "young" if young else "old")
        return self._believed_now(names)

    def moved(self, url: int, target: int) -> None:
        """What one URL is shown as stands at another one."""
        if url in self._shown and target != url:
            self._shown.setdefault(target, self._shown[url])

    def _settle(self, url: int, age: Literal["young", "old"]) -> bool:
        """It is known how old a URL is; whether it was held, or late."""
        for name in self._shown.pop(url, ()):
            self._count(name, "open", -1)
            self._count(name, age)
        return self.late.pop(url, None) is not None or url in self.held

    def _believed_now(self, names: Collection[int]) -> list[int]:
        """URLs that are held, which lists of these names have shown that are believed."""
        if not self.held or not any(map(self._believed, names)):
            return []
        own = set(names)
        also = {its.everywhere for name in own if (its := self._lists.get(name)) is not None}
        found = []
        for url in self.held:
            shown = self._shown.get(url, ())
            of = {its.everywhere for name in shown if (its := self._lists.get(name)) is not None}
            if not (own.isdisjoint(shown) and also.isdisjoint(of)) and any(
                map(self._believed, shown)
            ):
                found.append(url)
        for url in found:
            del self._shown[url]
        return found

    def _believed(self, name: int) -> bool:
        counts = self._lists.get(name)
        if counts is not None and counts.total < FEW:
            counts = self._lists.get(counts.everywhere, counts)
        if counts is None:
            return False
        young, nothing, old = counts.young, counts.open, counts.old
        if young and young >= SURE * old and 4 * young >= nothing:
            return True
        few = FEW_IN_LONG if counts.long else FEW
        alone = counts.long or (
            self._stories[counts.host] < SURE
            and self._now >= self._since.get(counts.host, self._now) + SETTLED
        )
        return alone and young + nothing >= few + WEIGHT * old

    def _counts(self, name: int, host: str, everywhere: int) -> _Counts:
        for one, of in ((everywhere, 0), (name, everywhere)):
            counts = self._lists.get(one) or _Counts(host, of)
            remember(self._lists, one, counts, MOST_LISTS)
        return counts

    def _count(self, name: int, age: Literal["young", "open", "old"], by: int = 1) -> None:
        """Of a list of a page, and of all of its markup."""
        counts = self._lists.get(name) if name else None
        if counts is not None:
            counts.count(age, by)
            if (every := self._lists.get(counts.everywhere)) is not None:
                every.count(age, by)
                every.long = counts.long

    def _keep(self, page: int, links: Iterable[tuple[Spot, int]]) -> None:
        rows = array("I")
        for spot, url in links:
            rows.extend((spot.path, spot.list, url))
        remember(self._placed, page, rows.tobytes(), MOST_PAGES)

    def _before(self, page: int) -> list[tuple[int, int, int]] | None:
        placed = self._placed.get(page)
        if placed is None:
            return None
        rows = array("I")
        rows.frombytes(placed)
        return list(zip(rows[::3], rows[1::3], rows[2::3], strict=True))

    # -- for good

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        for url in left:
            del self._grown[url]
        forget(left, self.held, self._placed, self._shown, self.late)

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        forget(left, self._stories, self._since)

    def save(self) -> State:
        """All of it."""
        return {
            "held": list(map(list, self.held.items())),
            "late": list(map(list, self.late.items())),
            "grown": [list(one) for one in self._grown.items() if one[1]],
            "paths": [list(one) for one in self._paths.items()],
            "placed": list(self._placed),
            "places": np.frombuffer(b"".join(self._placed.values()), dtype=np.uint32),
            "sizes": np.array([len(row) // 4 for row in self._placed.values()], dtype=np.int64),
            "lists": [
                [name, its.host, its.everywhere, its.young, its.open, its.old, its.long]
                for name, its in self._lists.items()
            ],
            "stories": dict(self._stories),
            "since": dict(self._since),
            "now": self._now,
            "shown": [[url, *names] for url, names in self._shown.items()],
        }

    def load(self, state: State) -> None:
        self.held, self.late = OrderedDict(state["held"]), OrderedDict(state["late"])
        self._grown = Counter(dict(state["grown"]))
        self._paths = Counter(dict(state["paths"]))
        rows = (row.tobytes() for row in pieces_of(state["places"], state["sizes"]))
        self._placed = OrderedDict(zip(state["placed"], rows, strict=True))
        self._lists = OrderedDict()
        for name, host, everywhere, *its in state["lists"]:
            counts = self._lists[name] = _Counts(host, everywhere)
            counts.young, counts.open, counts.old, counts.long = its
        self._stories, self._now = Counter(state["stories"]), state["now"]
        self._since = dict(state["since"])
        self._shown = OrderedDict((url, tuple(names)) for url, *names in state["shown"])


def _arrivals(before: Sequence[int], urls: Sequence[int], there: Collection[int]) -> set[int]:
    """Links that came to a list at the end at which it grows: what stayed is in the order as it
    was, but for those that rose above it, and none left before it there. At the other end any may
    leave, and a few between, which were withdrawn. All of them where none left."""
    previous, own = list(dict.fromkeys(before)), list(dict.fromkeys(urls))
    stood, stands = set(previous), set(own)
    if up := risen(previous, own):
        previous, own = ([url for url in one if url not in up] for one in (previous, own))
    left = [at for at, url in enumerate(previous) if url not in there]
    if not left:
        return stands - stood
    kept = [at for at, url in enumerate(previous) if url in stands]
    stays = [at for at, url in enumerate(own) if url in stood]
    if (
        len(kept) < min(2, len(previous) - 1)
        or not kept
        or [previous[at] for at in kept] != [own[at] for at in stays]
    ):
        return set()
    between = sum(kept[0] < at < kept[-1] for at in left)
    if between > max(1, len(kept) // WITHDRAWN):
        return set()
    if left[0] > kept[0]:
        return set(own[: stays[0]])
    return set(own[stays[-1] + 1 :]) if left[-1] < kept[-1] else set()


def rows_of(spots: Iterable[Spot], numbers: Iterable[int]) -> Iterator[tuple[Spot, int]]:
    """Where each URL stands; those that were left out (−1) not."""
    return ((spot, url) for spot, url in zip(spots, numbers, strict=True) if url >= 0)


def in_main(
    page: Page, links: Sequence[Link], placed: Sequence[Spot], grown: Mapping[int, int]
) -> dict[int, int]:
    """Those lists of a page that are its own matter: of most of their links the text, or what
    follows it, stands in its main text. The newest stories beside an article are not."""
    if not (grown and page.main):
        return {}
    main, said = " ".join(page.main.split()), dict[int, list[bool]]()
    for link, spot in zip(links, placed, strict=True):
        if spot.list in grown and link.anchor.text:
            after = " ".join(link.anchor.after.split()[:FOLLOWING])
            own = link.anchor.text in main or (len(after) > FOLLOWING and after in main)
            said.setdefault(spot.list, []).append(own)
    return {name: grown[name] for name, its in said.items() if 2 * sum(its) >= len(its)}
