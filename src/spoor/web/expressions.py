"""Regular expressions, compiled within bounds: they come with topics and runs of strangers, too.

A search has a limit of time (`search` of the package `regex`), but compiling has none: a part that
has to come n times becomes n parts, so that 18 characters take 5 GB. Searching goes on beyond its
limit within one long literal text, by the cube of its length. Nor does it have a limit of memory:
an expression within itself takes 360 MB in a quarter of a second, and so do groups in groups, each
of which is kept for every step back.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any

from spoor.errors import InputError

MOST_CHARACTERS = 1_000
"""Of an expression."""

MOST_PARTS = 50_000
"""Of what it becomes: 900 bytes each at most."""

MOST_NESTED = 4
"""Groups in one another of which each keeps what it found."""

_WITHIN_ITSELF = re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")

_LEAST = re.compile(r"\{\s*(\d+)")
"""How often a part has to come, at least."""

_ESCAPED = re.compile(r"\\.", re.DOTALL)
_UNSURE = re.compile(r"#|\[\^?\]|\[\[|\[:|V1|\[[^\]]*[()]")
"""What may be a parenthesis that is text, or hide where a text ends in which it is."""


def compiled(expression: str, shown: str, *, any_case: bool = False) -> Any:
    """A compiled expression; `shown`: how it was written. Raises InputError for what is none, is
    too long, or would become more than `MOST_PARTS` parts."""
    import regex  # it takes long, and few runs need it

    if len(expression) > MOST_CHARACTERS:
        raise InputError(
            f"a regular expression of {len(expression):,} characters: {shown[:80]!r} …; write at "
            f"most {MOST_CHARACTERS:,}"
        )
    if _parts(expression) > MOST_PARTS:
        raise InputError(f"{shown!r} repeats too much; write smaller numbers in its {{}}")
    if _WITHIN_ITSELF.search(expression):
        raise InputError(f"bad regular expression {shown[:80]!r}: a part of it is within itself")
    try:
        made = regex.compile(expression, regex.IGNORECASE if any_case else 0)
    except regex.error as error:
        raise InputError(f"bad regular expression {shown!r}: {error}") from error
    except (RecursionError, OverflowError):
        raise InputError(f"bad regular expression {shown[:80]!r}: nested too deep") from None
    if made.groups > MOST_NESTED and _depth(expression) > MOST_NESTED:
        raise InputError(
            f"bad regular expression {shown[:80]!r}: nested too deep; write (?:…) for most groups"
        )
    return made


def _parts(expression: str) -> int:
    """No fewer than the parts that an expression becomes: repetitions multiply where they are
    within one another, so at most as many as groups are, and one."""
    least = sorted((int(number) for number in _LEAST.findall(expression)), reverse=True)
    return len(expression) * prod(max(1, number) for number in least[: _depth(expression) + 1])


def _depth(expression: str) -> int:
    """No less than how deep its groups are within one another."""
    expression = _ESCAPED.sub("x", expression)
    if _UNSURE.search(expression):
        return expression.count("(")
    deepest = depth = 0
    for sign in expression:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
    return deepest
