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
"""Times that one URL is told of to its shard: a second page that shows it is news, a third hardly.
`trail` looks at two in-links of a link as well."""

MEMORY = 1 << 20
"""URLs of other shards whose tellings are counted; the oldest is forgotten first."""

TEXT = 600
"""Characters of a page's text that travel with its links."""

FULL = 20_000
"""Links that may wait in an outbox before its shard chooses no more pages."""

DONE_AT_A_TIME = 500
"""Names of fetched pages in a batch, where hosts move."""


class Outbox:
    """Of shard `me` of `shards`. `grant` is the part of the budget that it may use. `owner`: of a
    host among so many shards; the lab tries other divisions."""

    def __init__(
        self,
        me: int,
        shards: int,
        *,
        repeats: int = REPEATS,
        owner: Callable[[str, int], int] = shard_of,
    ) -> None:
        self.me = me
        self.shards = shards
        self.grant = 0
        self.posted = 0
        """Links that left, ever."""
        self.entered = 0
        """Links that came, ever."""
        self._repeats = repeats
        self._division = owner
        self._owners: dict[str, int] = {}
        self._told: dict[int, int] = {}
        self._out: dict[int, deque[LinkBatch]] = {}
        self._base: dict[int, int] = {}
        """Number of the first batch that is kept for a shard."""
        self._sent: dict[int, int] = {}
        self._safe: dict[int, int] = {}
        """Up to where batches are durable here and may leave; not part of the state."""
        self._next_in: dict[int, int] = {}
        self._size = 0

    # -- what the crawl asks

    def owner(self, url: str) -> int:
        """The shard of a canonical URL."""
        return self._owner_of(host(url))

    def owns_host(self, name: str) -> bool:
        """Whether a host is this shard's."""
        return self._owner_of(name) == self.me

    def _owner_of(self, name: str) -> int:
        shard = self._owners.get(name)
        if shard is None:
            if len(self._owners) >= MEMORY:
                self._owners.clear()
            shard = self._owners[name] = self._division(name, self.shards)
        return shard

    def owns(self, url: str) -> bool:
        return self.owner(url) == self.me

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
        me, owner = self.me, self.owner
        owners = [owner(url) for url in urls]
        if all(shard == me for shard in owners):
            return links
        mine: list[Link] = []
        away: dict[int, list[Link]] = {}
        for at, shard in enumerate(owners):
            if shard == me:
                mine.append(links[at])
            elif self._news(urls[at]):
                away.setdefault(shard, []).append(links[at])
        if away:
            stub, steps = _stub(page), tuple(path())
            for shard, gone in away.items():
                self.send(shard, LinkBatch(stub, score, depth, steps, tuple(gone)))
        return mine

    def _news(self, url: str) -> bool:
        key = int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest(), "little")
        times = self._told.get(key, 0)
        if times >= self._repeats:
            return False
        if not times and len(self._told) >= MEMORY:
            del self._told[next(iter(self._told))]
        self._told[key] = times + 1
        return True

    def send(self, shard: int, batch: LinkBatch) -> None:
        """Put a batch where it waits for its turn."""
        self._out.setdefault(shard, deque()).append(batch)
        weight = len(batch.links) + len(batch.done)
        self.posted += weight
        self._size += weight

    def done(self, urls: Iterable[str]) -> None:
        """Tell other shards, whose hosts these are now, that they are done with."""
        names: dict[int, list[str]] = {}
        for url in urls:
            names.setdefault(self.owner(url), []).append(url)
        names.pop(self.me, None)
        for shard, told in names.items():
            for at in range(0, len(told), DONE_AT_A_TIME):
                part = tuple(told[at : at + DONE_AT_A_TIME])
                self.send(shard, LinkBatch(None, 0.0, 0, (), (), part))

    def split(self, shards: int) -> None:
        """From now on there are so many shards. The crawl then lets go of what is not its own."""
        self.shards = shards
        self._owners.clear()
        self._told.clear()

    # -- what the exchange asks

    @property
    def waiting(self) -> int:
        """Links that left and are not known to be durable elsewhere."""
        return self._size

    @property
    def full(self) -> bool:
        return self._size >= FULL

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
        for at in range(first - base, min(len(queue), self._safe.get(shard, 0) - base)):
            if links <= 0:
                break
            batches.append(queue[at])
            links -= len(queue[at].links) + len(queue[at].done)
        self._sent[shard] = first + len(batches)
        return first, batches

    def rewind(self) -> None:
        """Whoever carried the batches is gone: all that are kept will be sent again."""
        self._sent.clear()

    def destinations(self) -> list[int]:
        """Shards that batches are kept for."""
        return [shard for shard, queue in self._out.items() if queue]

    def delivered(self, shard: int, upto: int) -> None:
        """The batches below number `upto` are durable with `shard`."""
        queue, base = self._out.get(shard, deque()), self._base.get(shard, 0)
        if upto > base + len(queue):
            raise CallerError(f"shard {shard} has batch {upto - 1}, which was never posted")
        for _ in range(max(0, upto - base)):
            batch = queue.popleft()
            self._size -= len(batch.links) + len(batch.done)
        self._base[shard] = max(base, upto)

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
        """Those of these batches that have not come before. Raises CallerError for a gap."""
        expected = self.expects(shard)
        if first > expected:
            raise CallerError(f"batch {first} of shard {shard} came before batch {expected}")
        new = batches[expected - first :]
        self._next_in[shard] = expected + len(new)
        self.entered += sum(len(batch.links) for batch in new)
        return new

    # -- saving

    def save(self) -> State:
        told = np.array(list(self._told.items()), dtype=np.uint64).reshape(-1, 2)
        return {
            "me": self.me,
            "shards": self.shards,
            "grant": self.grant,
            "posted": self.posted,
            "entered": self.entered,
            "told": told,
            "out": [
                [shard, self._base.get(shard, 0), [batch_row(batch) for batch in queue]]
                for shard, queue in sorted(self._out.items())
            ],
            "in": sorted(self._next_in.items()),
        }

    def load(self, state: State) -> None:
        self.me = state["me"]
        self.shards = state["shards"]
        self.grant = state["grant"]
        self.posted = state["posted"]
        self.entered = state["entered"]
        self._owners.clear()
        self._told = dict(state["told"].tolist())
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
        text=page.text[:TEXT],
        description=page.description[:200],
    )


def batch_row(batch: LinkBatch) -> list[Any]:
    """A batch as JSON values."""
    page = batch.page
    about = page and [page.url, page.title, list(page.headings), page.text, page.description]
    links = [link_row(link) for link in batch.links]
    told = [batch.score, batch.depth, list(batch.path), links, list(batch.done)]
    return [about, *told]


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
        raise InputError(f"batches of links came damaged: {error}") from error
    return [revive_batch(row) for row in rows]
