"""The outbox of one shard: links to hosts of other shards leave by it, each once.

A crawl that is split keeps its links apart by registrable domain (`spoor.web.urls.shard_of`), so
that politeness and the host's clock stay with one shard. What a page shows of another shard's hosts
goes there as a *batch*: the links with their words, the page's score and the path to it. Batches to
one shard are numbered from 0. The sender keeps each until the receiver says that it is durable
there; the receiver takes them in order and only once, by the highest number it has: delivered at
least once, entered once. The numbers are part of the crawl's state, and the journal makes the calls
again after a crash, so that the same batches come out under the same numbers.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import zstandard

from spoor.errors import CallerError, InputError
from spoor.learn.state import link_row, revive_link
from spoor.types import Link, LinkBatch, Page, State, urls_of
from spoor.web.urls import host, shard_of

REPEATS = 2
"""Times that one URL is sent to its shard: what a third page says of it is hardly new.
`trail` looks at two in-links of a link as well."""

MAX_REMEMBERED = 1 << 20
"""URLs of other shards whose repeats are counted; the oldest is forgotten first."""

TEXT_CHARACTERS = 600
"""Characters of a page's text that travel with its links."""

MAX_WAITING = 20_000
"""Links that may wait in an outbox before its shard chooses no more pages."""

DONE_PER_BATCH = 500
"""Names of fetched pages in a batch, where hosts move."""


class Outbox:
    """Of shard `number` of `shards`. `grant`: the part of the budget that it may use. `owner` gives
    the shard of a host among so many shards; the lab tries other divisions."""

    def __init__(
        self,
        number: int,
        shards: int,
        *,
        repeats: int = REPEATS,
        owner: Callable[[str, int], int] = shard_of,
    ) -> None:
        self.number = number
        self.shards = shards
        self.grant = 0
        self.posted = 0
        """Links that left, ever."""
        self.entered = 0
        """Links that arrived, ever."""
        self._repeats = repeats
        self._division = owner
        self._owners: dict[str, int] = {}
        self._announced: dict[int, int] = {}
        self._out: dict[int, deque[LinkBatch]] = {}
        self._base: dict[int, int] = {}
        """Number of the first batch that is kept for a shard."""
        self._sent: dict[int, int] = {}
        self._safe: dict[int, int] = {}
        """Up to where batches are durable here and may leave; not part of the state."""
        self._next_in: dict[int, int] = {}
        self._size = 0

    # -- calls of the crawl

    def owner(self, url: str) -> int:
        """The shard of a canonical URL."""
        return self._owner_of(host(url))

    def owns_host(self, name: str) -> bool:
        """Whether a host is this shard's."""
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
    ) -> Sequence[Link]:
        """Which of these links are this shard's; the others are posted."""
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
            elif self._announce(urls[index]):
                away.setdefault(shard, []).append(links[index])
        if away:
            stub, steps = _stub(page), tuple(path())
            for shard, gone in away.items():
                self.send(shard, LinkBatch(stub, score, depth, steps, tuple(gone)))
        return mine

    def _announce(self, url: str) -> bool:
        key = int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest(), "little")
        times = self._announced.get(key, 0)
        if times >= self._repeats:
            return False
        if not times and len(self._announced) >= MAX_REMEMBERED:
            del self._announced[next(iter(self._announced))]
        self._announced[key] = times + 1
        return True

    def send(self, shard: int, batch: LinkBatch) -> None:
        """Put a batch where it waits for its turn."""
        self._out.setdefault(shard, deque()).append(batch)
        weight = len(batch.links) + len(batch.done)
        self.posted += weight
        self._size += weight

    def done(self, urls: Iterable[str]) -> None:
        """Let other shards, whose hosts these are now, know that they are done with."""
        names: dict[int, list[str]] = {}
        for url in urls:
            names.setdefault(self.owner(url), []).append(url)
        names.pop(self.number, None)
        for shard, urls_done in names.items():
            for start in range(0, len(urls_done), DONE_PER_BATCH):
                part = tuple(urls_done[start : start + DONE_PER_BATCH])
                self.send(shard, LinkBatch(None, 0.0, 0, (), (), part))

    def split(self, shards: int) -> None:
        """From now on there are so many shards. The crawl then lets go of what is not its own."""
        self.shards = shards
        self._owners.clear()
        self._announced.clear()

    # -- calls of the worker

    @property
    def waiting(self) -> int:
        """Links that left and are not known to be durable elsewhere."""
        return self._size

    @property
    def full(self) -> bool:
        return self._size >= MAX_WAITING

    def seal(self) -> None:
        """All that was posted so far is durable here and may leave."""
        self._safe = {shard: self._end(shard) for shard in self._out}

    def _end(self, shard: int) -> int:
        return self._base.get(shard, 0) + len(self._out.get(shard, ()))

    def outgoing(self, shard: int, links: int) -> tuple[int, list[LinkBatch]]:
        """The next batches for a shard, of about so many links at most, and the first's number."""
        base = self._base.get(shard, 0)
        first = max(base, self._sent.get(shard, 0))
        batches: list[LinkBatch] = []
        queue = self._out.get(shard, ())
        for index in range(first - base, min(len(queue), self._safe.get(shard, 0) - base)):
            if links <= 0:
                break
            batches.append(queue[index])
            links -= len(queue[index].links) + len(queue[index].done)
        self._sent[shard] = first + len(batches)
        return first, batches

    def resend(self) -> None:
        """Whoever carried the batches is gone: send all that are kept again."""
        self._sent.clear()

    def destinations(self) -> list[int]:
        """Shards that batches are kept for."""
        return [shard for shard, queue in self._out.items() if queue]

    def delivered(self, shard: int, end: int) -> None:
        """The batches below number `end` are durable with `shard`."""
        queue, base = self._out.get(shard, deque()), self._base.get(shard, 0)
        if end > base + len(queue):
            raise CallerError(f"shard {shard} has batch {end - 1}, which was never posted")
        for _ in range(max(0, end - base)):
            batch = queue.popleft()
            self._size -= len(batch.links) + len(batch.done)
        self._base[shard] = max(base, end)

    def kept_from(self, shard: int) -> int:
        """The number of the first batch to a shard that is still kept."""
        return self._base.get(shard, 0)

    def expects(self, shard: int) -> int:
        """The number of the next batch from a shard."""
        return self._next_in.get(shard, 0)

    def received(self) -> dict[int, int]:
        """Shard → the number of the next batch from it."""
        return dict(self._next_in)

    def arrived(self, shard: int, first: int, batches: Sequence[LinkBatch]) -> Sequence[LinkBatch]:
        """Those of these batches that have not arrived before. Raises CallerError for a gap."""
        expected = self.expects(shard)
        if first > expected:
            raise CallerError(f"batch {first} of shard {shard} arrived before batch {expected}")
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
        self.number = state["number"]
        self.shards = state["shards"]
        self.grant = state["grant"]
        self.posted = state["posted"]
        self.entered = state["entered"]
        self._owners.clear()
        self._announced = dict(state["announced"].tolist())
        self._out = {shard: deque(map(revive_batch, rows)) for shard, _, rows in state["out"]}
        self._base = {shard: base for shard, base, _ in state["out"]}
        self._size = sum(
            len(batch.links) + len(batch.done) for queue in self._out.values() for batch in queue
        )
        self._next_in = dict(state["in"])
        self._sent = {}
        self._safe = {}


def _stub(page: Page | None) -> Page | None:
    """As much of a page as its links need elsewhere."""
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
    rest = [batch.score, batch.depth, list(batch.path), links, list(batch.done)]
    return [about, *rest]


def revive_batch(row: Sequence[Any]) -> LinkBatch:
    """The batch that `batch_row` was given."""
    about, score, depth, path, links, done = row
    page = None
    if about is not None:
        url, title, headings, text, description = about
        page = Page(url, title=title, headings=tuple(headings), text=text, description=description)
    return LinkBatch(page, score, depth, tuple(path), tuple(map(revive_link, links)), tuple(done))


def pack_batches(batches: Sequence[LinkBatch]) -> bytes:
    """Batches as they travel."""
    rows = json.dumps([batch_row(batch) for batch in batches], ensure_ascii=False)
    data = rows.encode("utf-8", "surrogatepass")
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(data)


def unpack_batches(data: bytes) -> list[LinkBatch]:
    """The batches that `pack_batches` was given. Raises InputError for damaged bytes."""
    try:
        text = zstandard.ZstdDecompressor().decompress(data).decode("utf-8", "surrogatepass")
        rows: list[Any] = json.loads(text)
    except (zstandard.ZstdError, ValueError) as error:
        raise InputError(f"batches of links are damaged: {error}") from error
    return [revive_batch(row) for row in rows]
