"""The path to a link: the URLs from a seed to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spoor.protocols import Frontier
from spoor.types import LEFT_OUT, LinkId

MOST_STEPS = 64
MOST_CHARACTERS = 16_384
"""Limits of a path that is written. Each page is written with its path, so without a limit a chain
of n pages would need n² URLs."""


def path_to(
    frontier: Frontier, link: LinkId, before: Mapping[LinkId, Sequence[str]] | None = None
) -> list[str]:
    """URLs from a seed to a link, along the pages on which each was first seen. A long path is cut
    to `LEFT_OUT` and its last URLs: at most `MOST_STEPS` and `MOST_CHARACTERS`, but at least two.
    `before`: first link of a path → the path to it in other shards. O(`MOST_STEPS`)."""
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
