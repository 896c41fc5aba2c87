"""How often Python collects garbage in cycles while a crawl runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (10_000, 10, 50)
"""New objects before the youngest generation is collected, and how often each before the next one.
All threads wait meanwhile: 100,000 objects take some 10 ms, so the second never has more."""


@contextmanager
def few_collections() -> Iterator[None]:
    """Seldom: a page leaves hardly any garbage, and a collection visits all live objects, of which
    there are many. Collections took 1/15 of the time of a live crawl, and 1/9 of a replay's.
    What was there before is not visited at all."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
