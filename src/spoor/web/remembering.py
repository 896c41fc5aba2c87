"""Tables of a crawl that forget what is oldest."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

REMEMBERED = 50_000
"""Entries of a table."""


def remember(table: OrderedDict[Any, Any], key: Any, value: Any, most: int = REMEMBERED) -> Any:
    """Returns the key that was forgotten for it, if any."""
    table[key] = value
    table.move_to_end(key)
    return table.popitem(last=False)[0] if len(table) > most else None
