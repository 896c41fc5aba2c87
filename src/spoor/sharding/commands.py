"""The commands of a coordinator to the crawl of a shard; the journal applies them again by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from spoor.crawl import Crawl
from spoor.learn.state import unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.protocols import Mergeable
from spoor.sharding.outbox import Outbox, unpack_batches
from spoor.types import Anchor, Link


def apply(crawl: Crawl, name: str, now: float, arguments: Sequence[Any], body: bytes) -> None:
    """Apply one command: `seed` further URLs, enter the `sitemaps` of a host, enter `links` that
    arrived, delete batches that are `delivered`, set the `grant` of pages, `split` into another
    number of shards, `merge` the models of others, or enter what is kept for when the whole crawl
    is `over`. All but the first two are for shards."""
    if name == "seed":
        crawl.seed(*arguments)
        return
    if name == "sitemaps":
        its = crawl.link_filter
        assert isinstance(its, CrawlFilter)
        taken = [url for url in arguments[0] if not its.why_not(url) or its.takes_sitemap(url)]
        crawl.seed([Link(url, Anchor(), "sitemap") for url in taken])
        return
    outbox = crawl.outbox
    assert isinstance(outbox, Outbox)
    if name == "links":
        source, first = arguments
        for batch in outbox.arrived(source, first, unpack_batches(body)):
            crawl.enter(batch)
            for host, seconds in batch.rests:
                crawl.frontier.hold(host, now + seconds)
    elif name == "delivered":
        outbox.delivered(*arguments)
    elif name == "grant":
        (outbox.grant,) = arguments
        crawl.pages = outbox.grant
    elif name == "split":
        outbox.split(*arguments)
        crawl.split(now)
    elif name == "merge":
        assert isinstance(crawl.policy, Mergeable)
        crawl.policy.merge([unpack(blob, source="what a shard learned") for blob in parts(body)])
    elif name == "over":
        crawl.last_resort()
    else:
        raise AssertionError(f"no command {name!r}")


def join(blobs: Sequence[bytes]) -> bytes:
    """Join several byte strings into one; empty ones are left out."""
    return b"".join(len(blob).to_bytes(8, "little") + blob for blob in blobs if blob)


def parts(data: bytes) -> Iterator[bytes]:
    """The byte strings that `join` joined."""
    offset = 0
    while offset < len(data):
        start = offset + 8
        offset = start + int.from_bytes(data[offset:start], "little")
        yield data[start:offset]
