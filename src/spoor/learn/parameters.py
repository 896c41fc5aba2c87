"""Parameters of policies: fields of a dataclass with what each may be, checked when one is made.

@dataclass(eq=False)
class Walk:
    task: InitVar[Task]
    _: KW_ONLY
    epsilon: float = between(0, 1, 0.1)
    order: str = one_of(("first", "last"), "first")

    def __post_init__(self, task: Task) -> None:
        check_parameters("walk", self)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, fields
from typing import Any, TypeVar

from spoor.errors import InputError

Number = TypeVar("Number", int, float)

Range = tuple[float, float, float]
"""A value, the least and the most that it may be; `math.inf` is no bound."""


def between(least: float, most: float, default: Number) -> Number:
    """A parameter in [least, most]."""
    number: Number = field(default=default, metadata={"range": (least, most)})
    return number


def at_least(least: float, default: Number) -> Number:
    """A finite parameter without an upper bound."""
    return between(least, math.inf, default)


def one_of(allowed: Sequence[str], default: str) -> str:
    """A parameter that is one of some words."""
    word: str = field(default=default, metadata={"allowed": allowed})
    return word


def check_parameters(owner: str, given: Any) -> None:
    """Raises InputError for the first parameter of a dataclass that is not what it may be."""
    for parameter in fields(given):
        value = getattr(given, parameter.name)
        if "range" in parameter.metadata:
            in_range(owner, **{parameter.name: (value, *parameter.metadata["range"])})
        elif "allowed" in parameter.metadata:
            check_word(owner, parameter.name, value, parameter.metadata["allowed"])


def in_range(owner: str, **given: Range) -> None:
    """Raises InputError for the first parameter of `owner` outside of its range, or is
    infinite or no number."""
    for name, (value, least, most) in given.items():
        if math.isfinite(value) and least <= value <= most:
            continue
        bounds = f"lies in [{least:g}, {most:g}]"
        if most == math.inf:
            bounds = "is a finite number" if least == -math.inf else f"is at least {least:g}"
        raise InputError(f"{owner}: {name} {bounds}, not {value:g}")


def check_word(owner: str, name: str, value: str, allowed: Sequence[str]) -> None:
    """Raises InputError for a value that is not one of those allowed."""
    if value not in allowed:
        raise InputError(f"{owner}: {name} is one of {', '.join(allowed)}, not {value!r}")
