"""JSON of strangers, with a bounded number of values."""

from __future__ import annotations

import json
import re
from typing import Any

MOST_VALUES = 500_000
VALUES_A_BYTE = 2
"""JSON in a frame may have `MOST_VALUES` values, and so many for each byte of the frame: an empty
list, three bytes of which a thousand are packed into one, takes 160 bytes of memory. States of
crawls have .2 values for each byte."""

_BYTES_FOR_TWO = 64
"""Bytes of a line for two more values: a page with 150,000 links is read."""

_SIGNS = (b",", b"[", b"{")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
"""One that does not end reaches to the end of the text, which is none of JSON then: looked for from
each of its quotes, its end would take quadratic time."""


def values_in(*parts: bytes) -> int:
    """About how many values a JSON text has, in parts that cut no string; signs in its strings
    count, too, as long as all are few."""
    count = sum(part.count(sign) for part in parts for sign in _SIGNS)
    if count <= MOST_VALUES:
        return count
    bare = (_STRING.sub(b"", part) for part in parts)
    return sum(part.count(sign) for part in bare for sign in _SIGNS)


def least_for(values: int) -> int:
    """The fewest bytes that a frame may have which holds JSON of so many values."""
    return -(-(values - MOST_VALUES) // VALUES_A_BYTE)


def json_of(text: bytes, frame: int = 0) -> Any:
    """The value of a JSON text that came out of a frame of so many bytes, or out of none.
    Raises ValueError where it is none, is not in UTF-8, has more values than the module says, or is
    nested too deep."""
    most = MOST_VALUES + VALUES_A_BYTE * frame
    if values_in(text) > most:
        raise ValueError(f"it has more than {most:,} values")
    try:
        # Not of bytes, which may be UTF-16 or UTF-32: their strings end elsewhere.
        return json.loads(text.decode("utf-8-sig", "surrogatepass"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def json_of_line(line: bytes) -> Any:
    """The value of one line of JSON that may be a page, with more values the longer it is. Raises
    ValueError as `json_of` does."""
    return json_of(line, len(line) // _BYTES_FOR_TWO)
