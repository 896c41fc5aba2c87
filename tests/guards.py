"""What holds links back, with limits so small that the webs of the laws meet them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from spoor.link_filter import (
    depths,
    domain_shares,
    held_groups,
    listed_links,
    novelty,
    sitemap_shares,
    trap_groups,
    traps,
)
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.testing.small_worlds import SmallWorld
from spoor.types import Anchor, Link

SMALL = (
    *((domain_shares, "LEAST", 2), (domain_shares, "_EACH", 2), (domain_shares, "_LOOK", 5)),
    *(
        (listed_links, "AT_ONCE", 1),
        (listed_links, "AT_A_PAGE", 1),
        (listed_links, "AT_THE_END", 2),
    ),
    *((sitemap_shares, "LEAST", 1), (sitemap_shares, "OF_PAGES", 10)),
    *((sitemap_shares, "_AT_ONCE", 1),),
    *((trap_groups, "SAMPLE", 2), (trap_groups, "VIEWS", 1), (trap_groups, "WIDE", 3)),
    *(
        (held_groups, "_FIRST_TRY", 4),
        (held_groups, "_LAST", 2),
        (traps, "_UNTRIED", 1),
        (depths, "_EVERY", 3),
    ),
    # What a shard keeps at each turn is mostly these tables, which are empty.
    *((novelty, "_BITS", 18), (novelty, "_PLACE", np.uint64((1 << 18) - 1))),
    (novelty, "_COUNTS", 16),
)

GUARDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # of the scope, of the filter
    "shares of domains": ({}, {}),
    "depth": ({"max_depth": 3}, {"per_domain": 1_000}),
    "depth and shares": ({"max_depth": 3}, {}),
    "limit of hosts": ({}, {"per_host": 4}),
    "limit of domains": ({}, {"per_domain": 4}),
    "limit of finds": ({}, {"found_per_host": 1}),
    "traps": ({}, {"traps": True, "per_domain": 1_000}),
    "traps and shares": ({}, {"traps": True}),
    "sitemaps": ({}, {"sitemaps": True, "per_domain": 1_000}),
    "all": ({"max_depth": 3}, {"traps": True, "sitemaps": True, "per_host": 12}),
}


def guard(name: str, root: str) -> CrawlFilter | None:
    """The filter of this name for a crawl from `root`."""
    if not name:
        return None
    of_scope, of_filter = GUARDS[name]
    its = of_filter | {"traps": Traps() if "traps" in of_filter else None}
    return CrawlFilter(Scope.of([root], "anywhere", **of_scope), **its)


def with_sitemaps(world: SmallWorld, rng: np.random.Generator) -> None:
    """Some pages of the web become sitemaps."""
    urls = list(world.pages)
    chosen = {urls[int(at)] for at in rng.choice(np.arange(1, len(urls)), 9, replace=False)}
    for url, page in world.pages.items():
        links = [
            Link(link.url, Anchor(link.anchor.text, position=at), "listed")
            if url in chosen
            else link
            for at, link in enumerate(page.links)
        ]
        links = [link._replace(kind="sitemap") if link.url in chosen else link for link in links]
        flags = frozenset({"sitemap", "not-html"} if url in chosen else ())
        world.pages[url] = replace(page, links=links, flags=flags)


@contextmanager
def small() -> Iterator[None]:
    """With these limits."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in SMALL:
            patch.setattr(module, name, value)
        yield
