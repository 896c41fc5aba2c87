"""Waiting for a turn (`spoor.turns`)."""

from __future__ import annotations

import asyncio

import pytest

from spoor.turns import CrowdedError, Waiting


def nothing() -> None:
    """Nobody begins at once."""


def test_a_turn_begins_where_it_is_given_and_ends_where_it_is_refused() -> None:
    async def main() -> None:
        waiting = Waiting[str]()
        first, second = (asyncio.ensure_future(waiting.turn(x, nothing, nothing)) for x in "ab")
        await asyncio.sleep(0)
        assert list(waiting) == ["a", "b"]
        waiting.begin("b")
        waiting.refuse("a", CrowdedError)
        assert list(waiting) == []
        await second
        with pytest.raises(CrowdedError):
            await first

    asyncio.run(main())


@pytest.mark.parametrize("begun", [True, False])
def test_what_is_cancelled_gives_back_only_a_turn_that_had_begun(begun: bool) -> None:
    async def main() -> None:
        waiting, back = Waiting[str](), list[str]()
        mine = asyncio.ensure_future(waiting.turn("a", nothing, lambda: back.append("a")))
        await asyncio.sleep(0)
        if begun:
            waiting.begin("a")
        mine.cancel()
        assert list(waiting) == [], "no turn is given to it any more"
        with pytest.raises(asyncio.CancelledError):
            await mine
        assert back == ["a"] * begun

    asyncio.run(main())


def test_what_is_refused_and_cancelled_had_no_turn_to_give_back() -> None:
    async def main() -> None:
        waiting, back = Waiting[str](), list[str]()
        mine = asyncio.ensure_future(waiting.turn("a", nothing, lambda: back.append("a")))
        await asyncio.sleep(0)
        waiting.refuse("a", CrowdedError)
        mine.cancel()
        with pytest.raises(asyncio.CancelledError):
            await mine
        assert back == []

    asyncio.run(main())
