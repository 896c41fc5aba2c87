"""The in-links of a frontier in memory, as a state holds them: in columns, each text once. Most of
their texts (headings, places, neighbouring words) come with many links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from spoor.columns import column, pieces_of
from spoor.types import Anchor, Link, LinkId, State

Seen = tuple[Sequence[Link], int, LinkId, float, int, bool]
"""Links of a page, which of them it is, number of the page, its score, depth, whether the link was
unknown before."""

_TEXTS = ("text", "before", "after", "tag_path", "region")
"""Of an anchor."""


class _Numbers(dict[Any, int]):
    """Value → its number, in the order of first sight."""

    def __missing__(self, value: Any) -> int:
        number = self[value] = len(self)
        return number

    def of(self, name: str, things: Sequence[Any]) -> np.ndarray[Any, Any]:
        """The numbers of an attribute of some things."""
        values = map(attrgetter(name), things)
        return column(map(self.__getitem__, values), len(things), np.uint32)


def saved(seen: Mapping[LinkId, Sequence[Seen]]) -> State:
    """The in-links of each link."""
    every = [one for in_links in seen.values() for one in in_links]
    found = [links[offset] for links, offset, *_ in every]
    anchors = [link.anchor for link in found]
    texts, headings = _Numbers(), _Numbers()

    def of_anchors(name: str, dtype: Any) -> np.ndarray[Any, Any]:
        return column(map(attrgetter(name), anchors), len(anchors), dtype)

    def of_every(at: int, dtype: Any) -> np.ndarray[Any, Any]:
        return column(map(itemgetter(at), every), len(every), dtype)

    return {
        "links": np.fromiter(seen, np.int64, len(seen)),
        "counts": np.fromiter(map(len, seen.values()), np.int64, len(seen)),
        "url": texts.of("url", found),
        "kind": texts.of("kind", found),
        **{name: texts.of(name, anchors) for name in _TEXTS},
        "headings": headings.of("headings", anchors),
        "position": of_anchors("position", np.int64),
        "nofollow": of_anchors("nofollow", np.bool_),
        "parent": of_every(2, np.int64),
        "score": of_every(3, np.float64),
        "depth": of_every(4, np.int64),
        "first": of_every(5, np.bool_),
        "texts": list(texts),
        "all headings": [list(one) for one in headings],
    }


def revived(state: Any) -> Iterator[tuple[LinkId, list[Seen]]]:
    """What `saved` was given."""
    texts: list[str] = state["texts"]
    headings = [tuple(one) for one in state["all headings"]]
    urls, kinds, text, before, after, tag_paths, regions = (
        map(texts.__getitem__, state[name].tolist()) for name in ("url", "kind", *_TEXTS)
    )
    above = map(headings.__getitem__, state["headings"].tolist())
    places, barred = state["position"].tolist(), state["nofollow"].tolist()
    anchors = map(Anchor, text, before, after, above, tag_paths, places, regions, barred)
    links = map(Link, urls, anchors, kinds)
    columns = (state[name].tolist() for name in ("parent", "score", "depth", "first"))
    every: list[Seen] = [((link,), 0, *rest) for link, *rest in zip(links, *columns, strict=True)]
    yield from zip(state["links"].tolist(), pieces_of(every, state["counts"]), strict=True)
