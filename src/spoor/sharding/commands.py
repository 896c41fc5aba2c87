"""What a shard is told beyond the two calls of a driver: each a call of its crawl, by name, so that
the journal can make it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spoor.crawl import Crawl
from spoor.learn.state import unpack
from spoor.protocols import Mergeable
from spoor.sharding.outbox import Outbox, unpack_batches


def apply(crawl: Crawl, name: str, now: float, told: Sequence[Any], body: bytes) -> None:
    """Make one call: `links` that arrived, `delivered` ones that need not be kept, a `grant` of
    pages, a `split` into another number of shards, or a `merge` with what others learned."""
    outbox = crawl.outbox
    assert isinstance(outbox, Outbox)
    if name == "links":
        source, first = told
        for batch in outbox.arrived(source, first, unpack_batches(body)):
            crawl.enter(batch)
    elif name == "delivered":
        outbox.delivered(*told)
    elif name == "grant":
        (outbox.grant,) = told
        crawl.pages = outbox.grant
    elif name == "split":
        outbox.split(*told)
        crawl.split(now)
    elif name == "merge":
        assert isinstance(crawl.policy, Mergeable)
        crawl.policy.merge([unpack(blob, source="what a shard learned") for blob in parts(body)])
    else:
        raise AssertionError(f"no call {name!r}")


def join(blobs: Sequence[bytes]) -> bytes:
    """Several in one; empty ones are left out."""
    return b"".join(len(blob).to_bytes(8, "little") + blob for blob in blobs if blob)


def parts(data: bytes) -> Iterator[bytes]:
    """What `join` was given."""
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        yield data[at + 8 : at + 8 + size]
        at += 8 + size
