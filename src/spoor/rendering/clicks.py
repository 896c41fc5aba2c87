"""Clicks on a rendered page that bring links: on what extends a list (*Load more*, *Next*), and on
the items of a list that lead somewhere without being links.

Nothing that a click asks for leaves the browser in another way than the rest of the page: only
requests that read (GET), by the rules of the crawl; no form is sent, and where a click would leave
the page, that address is a link of the page, and not visited. What never brought a link on a site
is not clicked there any more.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from spoor.bounded import BoundedDict
from spoor.rendering import click_scripts
from spoor.rendering.visit import ClickedLinks

MOST_EXTENSIONS = 10
"""Clicks on one page that extend its lists."""
MOST_ITEMS = 60
"""Items of one page that are clicked."""
_TRIES = 4
"""Controls of one page that are tried."""
_MOST_SITES = 5_000
"""That are remembered."""
_MOST_KINDS = 100
"""Of one site that are remembered."""
_IN_VAIN = 2
"""Clicks on one kind of thing that brought nothing, after which none is clicked any more, …"""
_ALL_IN_VAIN = 8
"""… and those of a site, whatever was clicked."""
_RESTARTS = 3
"""Times that one page is made anew."""
_STEP = 0.02
"""Seconds between two looks at the page."""
_LEADS = 20
"""Looks until a click on an item must have led somewhere."""
_RETURNS = 100
"""Looks until the list must be there again."""

Ask = Callable[[str], Awaitable[Any]]
"""The value of an expression in the page."""


@dataclass(slots=True)
class _Site:
    in_vain: int = 0
    paid: bool = False
    kinds: dict[str, int] = field(default_factory=dict)
    """Kind of a thing → clicks on it in a row that brought nothing."""


class ClickValues:
    """Learns on which sites clicks on which kinds of things bring links."""

    def __init__(self) -> None:
        self._sites = BoundedDict[str, _Site](_MOST_SITES)

    def pays(self, site: str, kind: str) -> bool:
        """Whether a click may bring something, as far as is known."""
        known = self._sites.get(site)
        if known is None:
            return True
        if not known.paid and known.in_vain >= _ALL_IN_VAIN:
            return False
        return known.kinds.get(kind, 0) < _IN_VAIN

    def learn(self, site: str, kind: str, links: int) -> None:
        """A click brought so many links."""
        known = self._sites.get(site)
        if known is None:
            known = self._sites[site] = _Site()
        known.paid = known.paid or links > 0
        known.in_vain += links == 0
        if kind in known.kinds or len(known.kinds) < _MOST_KINDS:
            known.kinds[kind] = 0 if links else known.kinds.get(kind, 0) + 1


class _Item(NamedTuple):
    path: list[int]
    words: str
    kind: str
    level: int
    """Clicks on controls after which it was first seen."""


class ClickedPage:
    """A page in the browser that is clicked: `ask` gives the value of an expression in it, `settle`
    waits until it is complete, and `restart` makes it as it was at first."""

    def __init__(
        self,
        site: str,
        ask: Ask,
        settle: Callable[[], Awaitable[None]],
        restart: Callable[[], Awaitable[None]],
        values: ClickValues,
        clicked: ClickedLinks,
    ) -> None:
        self._site, self._ask, self._settle, self._restart = site, ask, settle, restart
        self._values, self._clicked = values, clicked
        self._extending: list[str] = []
        """The kind of the control that each click was on that extended a list."""
        self._is_changed = False
        """Whether it may show something else than at first, or after a click on an item."""
        self._items: dict[str, _Item] = {}
        """Words → the item of a list that is no link, where it was first seen."""
        self._kind = ""
        """The kind of what is being clicked."""

    async def extend_lists(self) -> bool:
        """Click on what extends its lists. Returns whether its document has more links or items
        now, and all that it had: else the links that clicks brought are in `clicked` alone."""
        before = await self._listed()
        known, now = dict(before), before
        kinds = [_kind_of(control) for control in await self._ask(click_scripts.CONTROLS) or []]
        worth = [kind for kind in dict.fromkeys(kinds) if self._values.pays(self._site, kind)]
        for kind in worth[:_TRIES]:
            while len(self._extending) < MOST_EXTENSIONS:
                self._is_changed, self._kind = True, kind
                if not await self._extended(kind):
                    return False
                self._extending.append(kind)
                now = await self._listed()
                new = {name: words for name, words in now.items() if name not in known}
                self._values.learn(self._site, kind, len(new))
                known |= new
                for name, words in new.items():
                    self._clicked.led_to(name, words)
                if not new:
                    self._extending.pop()
                    break
        whole = len(known) > len(before) and before.keys() <= now.keys()
        if whole:
            for name in now:
                self._clicked.links.pop(name, None)
        return whole

    async def follow_items(self) -> None:
        """Click on the items of its lists that are no links, and note where they lead. Of each list
        the first two tell whether its items lead anywhere."""
        self._clicked.is_leaving = True
        first = {item.kind: item for item in reversed(self._items.values())}
        clicks = restarts = 0
        for item in sorted(self._items.values(), key=lambda item: item.level):
            if not self._values.pays(self._site, item.kind):
                continue
            if clicks >= MOST_ITEMS:
                return
            if self._is_changed:
                if restarts >= _RESTARTS:
                    return
                restarts += 1
                await self._restart()
            self._is_changed = not await self._is_there(item)
            if not self._is_changed:
                clicks, self._kind = clicks + 1, item.kind
                count = len(self._clicked.links)
                self._is_changed = not await self._followed(item, first[item.kind])
                self._values.learn(self._site, item.kind, len(self._clicked.links) - count)

    def end(self) -> None:
        """A click ended the page, or the time that it has: it brought nothing."""
        if self._kind:
            self._values.learn(self._site, self._kind, 0)

    async def _listed(self) -> dict[str, str]:
        """URL → words of its links, and words of its items that are no links → words."""
        words = {}
        for items in await self._ask(click_scripts.ITEMS) or []:
            for path, said in items["items"]:
                words[said] = said
                if said not in self._items:
                    level = len(self._extending)
                    self._items[said] = _Item(path, said, str(items["kind"]), level)
        return words | dict(await self._ask(click_scripts.LINKS) or {})

    async def _is_there(self, item: _Item) -> bool:
        """Whether an item is there; lists are extended again for that, as they were before."""
        for kind in [*self._extending[: item.level], ""]:
            if await self._ask(click_scripts.words_at(item.path)) == item.words:
                return True
            if kind and not await self._extended(kind):
                return False
        return False

    async def _extended(self, kind: str) -> bool:
        """Click on the first control of a kind; it may stand elsewhere since the last click.
        Returns whether the page is there afterwards."""
        controls = await self._ask(click_scripts.CONTROLS) or []
        control = next((control for control in controls if _kind_of(control) == kind), None)
        if control is None:
            return True
        begun = await self._ask(click_scripts.ADDRESS)
        self._clicked.begin(control["words"])
        await self._ask(click_scripts.click(control["path"]))
        await self._settle()
        there = await self._returned(begun)
        self._clicked.clicking = ""
        return there

    async def _followed(self, item: _Item, first: _Item) -> bool:
        """Click on an item. Returns whether the page is there afterwards, and the first item of the
        list on it."""
        begun = await self._ask(click_scripts.ADDRESS)
        count = len(self._clicked.links)
        self._clicked.begin(item.words)
        await self._ask(click_scripts.click(item.path))
        for _ in range(_LEADS):
            await asyncio.sleep(_STEP)
            led = len(self._clicked.links) > count
            if led or await self._ask(click_scripts.ADDRESS) != begun:
                break
        there = await self._returned(begun)
        self._clicked.clicking = ""
        for _ in range(_RETURNS if there else 0):
            for known in (first, item):
                if await self._ask(click_scripts.words_at(known.path)) == known.words:
                    return True
            await asyncio.sleep(_STEP)
        return False

    async def _returned(self, begun: list[Any]) -> bool:
        """Go back to the address of the page, where a click has left it; that was a link."""
        address, before = await self._ask(click_scripts.ADDRESS)
        if address == begun[0]:
            return True
        self._clicked.led_to(address)
        if before <= begun[1]:  # the page is gone for good
            return False
        await self._ask(click_scripts.BACK)
        for _ in range(_RETURNS):
            await asyncio.sleep(_STEP)
            if (await self._ask(click_scripts.ADDRESS))[0] == begun[0]:
                return True
        return False


def _kind_of(control: dict[str, Any]) -> str:
    return f"{control['kind']} {re.sub('[0-9]+', '#', control['words'].lower())}"
