"""Parameters are held to their ranges where they come in, and not where they do harm."""

from __future__ import annotations

import math

from spoor.errors import InputError

Range = tuple[float, float, float]
"""A value, the least and the most that it may be; `math.inf` is no bound."""


def in_range(owner: str, **given: Range) -> None:
    """Raises InputError for the first parameter of `owner` that lies outside of its range, or is
    infinite or no number."""
    for name, (value, least, most) in given.items():
        if math.isfinite(value) and least <= value <= most:
            continue
        bounds = f"lies in [{least:g}, {most:g}]"
        if most == math.inf:
            bounds = "is a finite number" if least == -math.inf else f"is at least {least:g}"
        raise InputError(f"{owner}: {name} {bounds}, not {value:g}")
