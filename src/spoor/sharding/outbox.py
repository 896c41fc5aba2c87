"""The outbox of one shard: it sends links to hosts of other shards to their owners.

A crawl in shards divides its links by registrable domain (`spoor.web.urls.shard_of`), so that one
shard has the clock of each host. The links of a page to hosts of another shard are sent there as a
*batch*, with their anchors, the score of the page and the path to it. Batches to one shard are
numbered from 0. The sender stores each until the receiver reports that it is durable there; the
receiver enters batches in order, and by their numbers each only once: they are delivered at least
once and entered exactly once. The numbers are part of the crawl's state, and the journal repeats
the calls after a crash, so that the same batches get the same numbers.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from spoor.bounded_json import json_of, least_for, values_in
from spoor.compression import compressor, packed, unpacked
from spoor.durations import DAY
from spoor.errors import InputError
from spoor.hashing import hash64
from spoor.learn.state import link_row, revive_link
from spoor.sharding.batch_checks import check, check_counts
from spoor.types import Link, LinkBatch, Page, State, Ways, urls_of
from spoor.web.urls import host, shard_of

REPEATS = 2
"""Times that one URL is sent to its shard: further in-links say little new. `trail` uses two
in-links of a link as well."""

PASSED_ON = 255
"""Times that one URL which came from another shard is sent on: its owner may have closed it when it
sent it away. Two versions of Spoor that divide hosts otherwise would do so without end."""

MAX_REMEMBERED = 1 << 20
"""Most URLs of other shards whose repeats are counted; the oldest is dropped first."""

TEXT_CHARACTERS = 600
"""Characters of a page's text that are sent with its links."""

MAX_WAITING = 20_000
"""With so many links in its outbox, a shard chooses no more pages."""

_TIMES, _FAR = PASSED_ON + 1, 1 << 32
"""How often a URL was sent, and the least depth with which it was, are one number."""

_LARGEST = 1 << 62
"""Above all numbers of shards, pages, links and batches in a state."""

DONE_PER_BATCH = 500
"""Most URLs of done pages in one batch, when hosts move."""

MAX_REST = DAY
"""Seconds for which a host that moves is left alone at most: a Retry-After is cut to as many."""


class Outbox:
    """The outbox of shard `number` of `shards`. `grant`: the part of the budget that the shard may
    use. `owner(host, shards)` returns the shard of a host; the lab tries other divisions."""

    def __init__(
        self,
        number: int,
        shards: int,
        *,
        owner: Callable[[str, int], int] = shard_of,
    ) -> None:
        self.number = number
        self.shards = shards
        self.grant = 0
        self.posted = 0
        """Links sent so far."""
        self.entered = 0
        """Links received so far."""
        self.by_depth = False
        """Whether a URL is sent once more for each shorter way to it."""
        self._division = owner
        self._owners: dict[str, int] = {}
        self._announced: dict[int, int] = {}
        self._out: dict[int, deque[LinkBatch]] = {}
        self._base: dict[int, int] = {}
        """Shard → number of the first batch that is stored for it."""
        self._sent: dict[int, int] = {}
        self._durable: dict[int, int] = {}
        """Shard → number up to which batches are durable here and may be sent; not saved."""
        self._next_in: dict[int, int] = {}
        self._size = 0

    # -- calls of the crawl

    def owner(self, url: str) -> int:
        """The shard of a canonical URL."""
        return self._owner_of(host(url))

    def owns_host(self, name: str) -> bool:
        """Whether this shard owns a host."""
        return self._owner_of(name) == self.number

    def _owner_of(self, name: str) -> int:
        shard = self._owners.get(name)
        if shard is None:
            if len(self._owners) >= MAX_REMEMBERED:
                self._owners.clear()
            shard = self._owners[name] = self._division(name, self.shards)
        return shard

    def owns(self, url: str) -> bool:
        return self.owner(url) == self.number

    def keep(
        self,
        page: Page | None,
        links: Sequence[Link],
        score: float,
        depth: int,
        path: Callable[[], Sequence[str]],
        crossed: int = 0,
        passed_on: bool = False,
    ) -> Sequence[Link]:
        """The links that this shard owns; the others are put into batches."""
        urls = urls_of(links)
        own, owner = self.number, self.owner
        owners = [owner(url) for url in urls]
        if all(shard == own for shard in owners):
            return links
        mine: list[Link] = []
        away: dict[int, list[Link]] = {}
        for index, shard in enumerate(owners):
            if shard == own:
                mine.append(links[index])
            elif self._announce(urls[index], depth, PASSED_ON if passed_on else REPEATS):
                away.setdefault(shard, []).append(links[index])
        if away:
            stub, steps = _stub(page), tuple(path())
            for shard, sent in away.items():
                batch = LinkBatch(stub, score, depth, steps, tuple(sent), crossed=crossed)
                self.send(shard, batch)
        return mine

    def _announce(self, url: str, depth: int, most: int) -> bool:
        key, depth = hash64(url), min(depth, _FAR) if self.by_depth else 0
        told, times = divmod(self._announced.get(key, _FAR * _TIMES), _TIMES)
        if times >= most and depth >= told:
            return False
        if not times and len(self._announced) >= MAX_REMEMBERED:
            del self._announced[next(iter(self._announced))]
        self._announced[key] = min(depth, told) * _TIMES + min(times + 1, PASSED_ON)
        return True

    def send(self, shard: int, batch: LinkBatch) -> None:
        """Store a batch until it is delivered."""
        self._out.setdefault(shard, deque()).append(batch)
        self.posted += batch.weight
        self._size += batch.weight

    def done(self, urls: Iterable[str]) -> None:
        """Report to the shards that own these URLs now that they are done."""
        done: dict[int, list[str]] = {}
        for url in urls:
            done.setdefault(self.owner(url), []).append(url)
        done.pop(self.number, None)
        for shard, urls_done in done.items():
            for start in range(0, len(urls_done), DONE_PER_BATCH):
                part = tuple(urls_done[start : start + DONE_PER_BATCH])
                self.send(shard, LinkBatch(None, 0.0, 0, (), (), part))

    def rest(self, hosts: Iterable[tuple[str, float]]) -> None:
        """Tell the shards that own these hosts now for how many seconds each is left alone."""
        rests: dict[int, list[tuple[str, float]]] = {}
        for name, seconds in hosts:
            rests.setdefault(self._owner_of(name), []).append((name, min(seconds, MAX_REST)))
        rests.pop(self.number, None)
        for shard, its in rests.items():
            for start in range(0, len(its), DONE_PER_BATCH):
                part = tuple(its[start : start + DONE_PER_BATCH])
                self.send(shard, LinkBatch(None, 0.0, 0, (), (), rests=part))

    def move(self, ways: Ways, path: Sequence[str]) -> None:
        """Tell the shard that owns a page now what comes nearer with it; `path`: to the page."""
        page, depth = Page(ways.url), ways.depth + 1
        batch = LinkBatch(page, ways.score, depth, tuple(path), (), ways=ways)
        self.send(self.owner(ways.url), batch)

    def split(self, shards: int) -> None:
        """Divide the hosts among so many shards from now on. The crawl must then send away the
        links that are no longer its own."""
        self.shards = shards
        self._owners.clear()
        self._announced.clear()

    # -- calls of the worker

    @property
    def waiting(self) -> int:
        """Links in batches that are not known to be durable at their shard."""
        return self._size

    @property
    def full(self) -> bool:
        return self._size >= MAX_WAITING

    def seal(self) -> None:
        """All batches so far are durable here and may be sent."""
        self._durable = {shard: self._end(shard) for shard in self._out}

    def _end(self, shard: int) -> int:
        return self._base.get(shard, 0) + len(self._out.get(shard, ()))

    def outgoing(self, shard: int, links: int) -> tuple[int, list[LinkBatch]]:
        """(number of the first, batches): the next batches for a shard, of about `links` links at
        most."""
        base = self._base.get(shard, 0)
        first = max(base, self._sent.get(shard, 0))
        batches: list[LinkBatch] = []
        queue = self._out.get(shard, ())
        for index in range(first - base, min(len(queue), self._durable.get(shard, 0) - base)):
            if links <= 0:
                break
            batches.append(queue[index])
            links -= queue[index].weight
        self._sent[shard] = first + len(batches)
        return first, batches

    def resend(self) -> None:
        """The coordinator was replaced: send all stored batches again."""
        self._sent.clear()

    def destinations(self) -> list[int]:
        """Shards with stored batches."""
        return [shard for shard, queue in self._out.items() if queue]

    def delivered(self, shard: int, end: int) -> None:
        """The batches below number `end` are durable with `shard`. Raises InputError where it never
        got one of those that are stored no more, or has one that was never posted."""
        queue, base = self._out.get(shard, deque()), self._base.get(shard, 0)
        if not base <= end <= base + len(queue):
            raise self._misfit(shard)
        for _ in range(end - base):
            batch = queue.popleft()
            self._size -= batch.weight
        self._base[shard] = end

    def _misfit(self, other: int) -> InputError:
        """What a shard has of this one's batches is durable before they are dropped here, so no
        death leads to that."""
        return InputError(
            f"shards {self.number} and {other} do not fit each other: the folder of one is an "
            "older copy, or of another run; put back all folders of shards from one copy, or "
            "choose another --out"
        )

    def stored_from(self, shard: int) -> int:
        """The number of the first stored batch to a shard."""
        return self._base.get(shard, 0)

    def expects(self, shard: int) -> int:
        """The number of the next batch from a shard."""
        return self._next_in.get(shard, 0)

    def received(self) -> dict[int, int]:
        """Shard → the number of the next batch from it."""
        return dict(self._next_in)

    def arrived(self, shard: int, first: int, batches: Sequence[LinkBatch]) -> Sequence[LinkBatch]:
        """The batches that had not arrived before. Raises InputError for a gap."""
        expected = self.expects(shard)
        if first > expected:
            raise self._misfit(shard)
        new = batches[expected - first :]
        self._next_in[shard] = expected + len(new)
        self.entered += sum(len(batch.links) for batch in new)
        return new

    # -- saving

    def save(self) -> State:
        announced = np.array(list(self._announced.items()), dtype=np.uint64).reshape(-1, 2)
        return {
            "number": self.number,
            "shards": self.shards,
            "grant": self.grant,
            "posted": self.posted,
            "entered": self.entered,
            "announced": announced,
            "out": [
                [shard, self._base.get(shard, 0), [batch_row(batch) for batch in queue]]
                for shard, queue in sorted(self._out.items())
            ],
            "in": sorted(self._next_in.items()),
        }

    def load(self, state: State) -> None:
        """Raises ValueError, TypeError and LookupError for what no shard of this number saved."""
        if state["number"] != self.number:
            raise ValueError(f"it is of shard {state['number']!r:.40}")
        counts = [state[name] for name in ("shards", "grant", "posted", "entered")]
        waiting, arrived = state["out"], state["in"]
        check_counts(*counts, *(n for row in waiting for n in row[:2]), most=_LARGEST)
        check_counts(*(n for row in arrived for n in row), most=_LARGEST)
        self.shards, self.grant, self.posted, self.entered = counts
        self._owners.clear()
        self._announced = dict(state["announced"].tolist())
        self._out = {shard: deque(map(revive_batch, rows)) for shard, _, rows in waiting}
        self._base = {shard: base for shard, base, _ in waiting}
        self._size = sum(batch.weight for queue in self._out.values() for batch in queue)
        self._next_in = dict(arrived)
        self._sent = {}
        self._durable = {}


def _stub(page: Page | None) -> Page | None:
    """The parts of a page that are sent with its links."""
    if page is None:
        return None
    return Page(
        page.url,
        title=page.title[:200],
        headings=tuple(heading[:100] for heading in page.headings[:8]),
        text=page.text[:TEXT_CHARACTERS],
        description=page.description[:200],
    )


def batch_row(batch: LinkBatch) -> list[Any]:
    """A batch as JSON values."""
    page = batch.page
    about = page and [page.url, page.title, list(page.headings), page.text, page.description]
    links = [link_row(link) for link in batch.links]
    rest = [batch.score, batch.depth, list(batch.path), links, list(batch.done), batch.crossed]
    moved = None
    if (ways := batch.ways) is not None:
        moved = [*ways[:4], [link_row(link) for link in ways.deep], *ways[5:]]
    if batch.rests:
        return [about, *rest, moved, [list(one) for one in batch.rests]]
    return [about, *rest] if moved is None else [about, *rest, moved]


def revive_batch(row: Sequence[Any]) -> LinkBatch:
    """The batch of a `batch_row`. Raises ValueError and TypeError for anything else."""
    about, score, depth, path, links, done, crossed, *more = row
    page = None
    if about is not None:
        url, title, headings, text, description = about
        page = Page(url, title=title, headings=tuple(headings), text=text, description=description)
    revived = tuple(map(revive_link, links))
    ways = None
    moved = more[0] if more else None
    rests = more[1] if len(more) > 1 else ()
    if moved is not None:
        at, steps, lead, known, deep, *its = moved
        ways = Ways(at, steps, lead, tuple(known), tuple(map(revive_link, deep)), *its)
    held = tuple((name, _seconds(rest)) for name, rest in rests)
    batch = LinkBatch(page, score, depth, tuple(path), revived, tuple(done), crossed, ways, held)
    return check(batch)


def _seconds(rest: Any) -> float:
    """For which a host is left alone. Raises ValueError for more than there is (`MAX_REST`)."""
    if not 0.0 <= rest <= MAX_REST:
        raise ValueError(f"{rest!r} is no time to rest")
    return float(rest)


def pack_batches(batches: Sequence[LinkBatch]) -> bytes:
    """Encode batches for a message."""
    rows = json.dumps([batch_row(batch) for batch in batches], ensure_ascii=False)
    data = rows.encode("utf-8", "surrogatepass")
    return packed(data, compressor(1, checksum=True), least_for(values_in(data)))


def unpack_batches(data: bytes) -> list[LinkBatch]:
    """Decode the batches of `pack_batches`. Raises InputError for damaged bytes, and for more
    values than `spoor.bounded_json` allows."""
    try:
        return list(map(revive_batch, json_of(unpacked(data), len(data))))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"batches of links are damaged: {error}") from error
