"""In-links of a frontier in memory, as a state holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from spoor.frontier.in_links import Seen, revived, saved
from spoor.learn.state import pack, unpack
from spoor.types import Anchor, Link

FULL = Link(
    "https://a.example/x",
    Anchor("Öfen", "vor", "nach", ("Kap. 1", "§ 2"), "html/body/a", 3, "nav", True),
    "area",
)
BARE = Link("https://a.example/x")
SEEN: dict[int, Sequence[Seen]] = {
    7: [((BARE, FULL), 1, 4, 0.25, 2, True), ((BARE,), 0, -1, 0.0, 0, False)],
    3: [],
}


def plain(seen: Mapping[int, Sequence[Seen]]) -> Any:
    return {
        link: [(links[offset], *rest) for links, offset, *rest in rows]
        for link, rows in seen.items()
    }


@pytest.mark.parametrize("seen", [SEEN, {}])
def test_in_links_come_back_as_they_were_and_in_their_order(
    seen: dict[int, Sequence[Seen]],
) -> None:
    kept = unpack(pack(saved(seen)))
    again = dict(revived(kept))
    assert list(again) == list(seen)
    assert plain(again) == plain(seen)
    assert pack(saved(again)) == pack(saved(seen))


@pytest.mark.parametrize(
    "damage",
    [{"counts": saved(SEEN)["counts"] - 1}, {"url": saved(SEEN)["url"] + 100}, {"texts": []}],
)
def test_columns_that_do_not_fit_together_are_refused(damage: dict[str, Any]) -> None:
    with pytest.raises((ValueError, IndexError)):
        dict(revived({**saved(SEEN), **damage}))
