"""Typed values of the TOML tables of experiments and data sets.

Each function raises InputError in one line that names the place, `where`, and the key.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from spoor.errors import InputError
from spoor.registry import nearest


def check_keys(
    table: Mapping[str, Any], keys: Collection[str], where: str, noun: str = "key"
) -> None:
    """Raises InputError for a key that a table cannot have."""
    for key in table:
        if key not in keys:
            have = ", ".join(sorted(keys))
            raise InputError(
                f"{where}: unknown {noun} {key!r}{nearest(key, list(keys))}; there are: {have}"
            )


def tables_of(
    table: Mapping[str, Any], key: str, where: str
) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """The tables under a key, each with its number from 1."""
    items = table.get(key, [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise InputError(f"{where}: {key} are tables, written [[{key}]]")
    return list(enumerate(items, 1))


def table_of(table: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    """The table under a key; empty if there is none."""
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise InputError(f"{where}: {key} is a table, as in {key} = {{ … }}, not {value!r}")
    return value


def share_of(table: Mapping[str, Any], where: str) -> float | None:
    """The number in (0, 1] under the key `share`; None if there is none."""
    value = table.get("share")
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise InputError(f"{where}: share is a share of the pages in (0, 1], not {value!r}")
    return float(value)


def text_of(table: Mapping[str, Any], key: str, where: str) -> str:
    """The string under a key; empty if there is none."""
    value = table.get(key, "")
    if not isinstance(value, str):
        raise InputError(f"{where}: {key} is a string, not {value!r}")
    return value


def strings_of(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """The string or strings under a key; empty if there are none."""
    value = table.get(key, [])
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise InputError(f"{where}: {key} is a list of strings, not {value!r}")
    return tuple(items)


def whole_number(value: object, name: str, most: int = sys.maxsize) -> int:
    """The value, if it is a whole number from 1 to `most`; else raises InputError."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        till = f"from 1 on{f' to {most:,}' if most < sys.maxsize else ''}"
        raise InputError(f"{name} is a whole number {till}, not {value!r}"[:300])
    return value
