"""Which documents of a run are meant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from spoor.errors import InputError
from spoor.runs.rows import TOLD


@dataclass(frozen=True, slots=True)
class Selection:
    """A part of the pages of a run."""

    everything: bool = False
    """Not only the relevant ones, of a watch those that it told of, but no lists of pages:
    sitemaps, and search indexes, which have every word of their site."""
    min_score: float | None = None
    """Least score, in [0, 1]."""
    since: float | None = None
    """Fetched at this moment or later, Unix seconds."""
    copies: bool = True
    """False: without near-copies, of which one of a seed's domain, or else the one fetched first,
    stands for the others."""
    languages: tuple[str, ...] = ()
    """Only those whose main content is in one of these by an identifier (ISO 639-1), or, where that
    is not sure, that declare one. None: of any. It is seen when a document is read."""

    def __post_init__(self) -> None:
        score = self.min_score
        if score is not None and not (math.isfinite(score) and 0 <= score <= 1):
            raise InputError(f"the least score is {score:g}; scores are from 0 to 1")

    def condition(self, *, of_watch: bool) -> tuple[str, tuple[float, ...]]:
        """As SQL over the table of pages, each condition behind an AND, with its values. Of a watch
        the documents that it told of stand in the place of those that are relevant."""
        parts: list[str] = []
        values: list[float] = []
        flagged = " AND instr(' ' || flags || ' ', ' {} ')"
        its = f"{flagged.format(TOLD)} > 0" if of_watch else " AND relevant"
        parts.append(f"{flagged.format('sitemap')} = 0" if self.everything else its)
        for name, value in (("score", self.min_score), ("time", self.since)):
            if value is not None:
                parts.append(f" AND {name} >= ?")
                values.append(value)
        return "".join(parts), tuple(values)


def moment(text: str) -> float:
    """Unix seconds of a date or time in ISO 8601, in UTC unless it says otherwise. Raises
    InputError."""
    try:
        parsed = datetime.fromisoformat(text.strip())
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError(f"{text!r} is no date; write 2026-01-31 or 2026-01-31T18:00Z") from None
