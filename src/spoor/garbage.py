"""How often Python looks for garbage in cycles while a crawl goes on."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_collections() -> Iterator[None]:
    """Seldom: a page leaves hardly any, and what is alive, all of which is gone through now and
    then, is much. It took one part in fifteen of a live crawl's time, and in nine of a replay's."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
