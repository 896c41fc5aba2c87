"""How a link was come to: the URLs from a seed to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spoor.protocols import Frontier
from spoor.types import LEFT_OUT, LinkId

MOST_STEPS = 64
MOST_CHARACTERS = 16_384
"""Of a path that is told. Each page is written with its path, so that without a bound a chain of n
pages would be n² addresses."""


def path_to(
    frontier: Frontier, link: LinkId, before: Mapping[LinkId, Sequence[str]] | None = None
) -> list[str]:
    """URLs from a seed to a link, along the pages on which each was first seen; of a long path
    `LEFT_OUT` and the last ones: `MOST_STEPS`, or as many as have `MOST_CHARACTERS` in all, but two
    at least. `before`: of a first link, the path to it. O(`MOST_STEPS`)."""
    steps = frontier.path(link, MOST_STEPS + 1)
    first = () if before is None else before.get(steps[0], ())
    return _last([*first, *map(frontier.url, steps)])


def _last(path: Sequence[str]) -> list[str]:
    room, found = MOST_CHARACTERS, list[str]()
    for url in reversed(path[-MOST_STEPS:]):
        room -= len(url)
        if url == LEFT_OUT or (room < 0 and len(found) >= 2):
            break
        found.append(url)
    return [*([LEFT_OUT] if len(found) < len(path) else []), *reversed(found)]
