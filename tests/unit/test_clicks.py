"""Clicks on a rendered page, on one that is made up: a list in steps, whose items may lead on."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from spoor.rendering import click_scripts, clicks
from spoor.rendering.clicks import ClickedPage, ClickValues
from spoor.rendering.visit import MOST_LINKS, ClickedLinks

HOME = "http://a.test/"


class MadeUp:
    """Twelve things in steps of four; with `links`, they are links, else items that lead to
    `/thing/N` where `leads`. A button shows the next four: `grows` beside, or in place of the ones
    before."""

    def __init__(
        self, *, links: bool, grows: bool = True, leads: bool = True, replaces: bool = False
    ) -> None:
        self.links, self.grows, self.leads, self.replaces = links, grows, leads, replaces
        self.step, self.at, self.before, self.clicks, self.restarts = 0, HOME, 1, 0, 0

    def shown(self) -> range:
        return range(0 if self.grows else 4 * self.step, min(12, 4 * self.step + 4))

    def button(self) -> list[int]:
        return [1, len(self.shown())]

    async def ask(self, script: str) -> Any:
        items = {f"thing {n}": [1, at] for at, n in enumerate(self.shown())}
        is_list = self.at == HOME
        if script == click_scripts.ADDRESS:
            return [self.at, self.before]
        if script == click_scripts.LINKS:
            return {f"{HOME}thing/{words[6:]}": words for words in items} if self.links else {}
        if script == click_scripts.CONTROLS:
            there = is_list and self.step < 2
            return [{"path": self.button(), "words": "More 7", "kind": "BUTTON"}] if there else []
        if script == click_scripts.ITEMS:
            listed = [[path, words] for words, path in items.items()]
            return [{"items": listed, "kind": "DIV"}] if is_list and not self.links else []
        if script == click_scripts.BACK:
            self.at, self.before, self.step = HOME, self.before - 1, 0
        if script == click_scripts.click(self.button()) and self.step < 2:
            self.step, self.clicks = self.step + 1, self.clicks + 1
        for words, path in items.items():
            if script == click_scripts.words_at(path):
                return words if is_list else None
            if script == click_scripts.click(path):
                self.clicks += 1
                if self.leads:
                    self.at = f"{HOME}thing/{words[6:]}"
                    self.before += not self.replaces
        return None

    async def settle(self) -> None: ...

    async def restart(self) -> None:
        self.step, self.restarts = 0, self.restarts + 1


def clicked(page: MadeUp, values: ClickValues) -> tuple[bool, set[str]]:
    async def go() -> tuple[bool, set[str]]:
        found = ClickedLinks()
        made = ClickedPage("a.test", page.ask, page.settle, page.restart, values, found)
        whole = await made.extend_lists()
        await made.follow_items()
        return whole, set(found.links)

    return asyncio.run(go())


ALL = {f"{HOME}thing/{n}" for n in range(12)}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clicks, "_STEP", 0.0)


def test_what_extends_a_list_is_clicked_until_nothing_comes() -> None:
    page = MadeUp(links=True)
    assert clicked(page, ClickValues()) == (True, set())  # the document has them all
    assert (page.step, page.clicks) == (2, 2)


def test_links_in_place_of_others_are_kept_beside_the_document() -> None:
    whole, links = clicked(MadeUp(links=True, grows=False), ClickValues())
    assert (whole, links) == (False, {url for url in ALL if int(url[len(HOME) + 6 :]) > 3})


@pytest.mark.parametrize("grows", [True, False])
def test_items_that_are_no_links_are_followed_on_each_step(grows: bool) -> None:
    page = MadeUp(links=False, grows=grows)
    assert clicked(page, ClickValues())[1] == ALL
    assert page.at == HOME
    assert page.restarts == 1


def test_items_that_lead_nowhere_are_clicked_twice_on_a_site() -> None:
    values = ClickValues()
    page = MadeUp(links=False, leads=False)
    assert clicked(page, values)[1] == set()
    assert page.clicks == 2 + 2  # the button, and two items
    again = MadeUp(links=False, leads=False)
    clicked(again, values)
    assert again.clicks == 2


def test_a_page_that_does_not_come_back_is_left() -> None:
    """Its address was replaced: what lies before it is another page."""
    page = MadeUp(links=False, replaces=True)
    assert clicked(page, ClickValues())[1] == {f"{HOME}thing/0"}
    assert page.before == 1


def test_a_site_on_which_all_clicks_were_in_vain_is_left_alone() -> None:
    values = ClickValues()
    for number in range(8):
        assert values.pays("a.test", f"BUTTON{number}")
        values.learn("a.test", f"BUTTON{number}", 0)
    assert not values.pays("a.test", "BUTTON9")
    assert values.pays("b.test", "BUTTON9")
    values.learn("a.test", "LI", 3)
    assert values.pays("a.test", "BUTTON9")
    assert values.pays("a.test", "BUTTON1")
    values.learn("a.test", "BUTTON1", 0)
    assert not values.pays("a.test", "BUTTON1")


def test_links_of_clicks_are_few_and_short() -> None:
    found = ClickedLinks()
    for number in range(MOST_LINKS + 10):
        found.led_to(f"http://a.test/{number}")
    assert len(found.links) == MOST_LINKS
    other = ClickedLinks()
    for url in ("about:blank", "http://a.test/" + "x" * 100_000, "javascript:1"):
        other.led_to(url)
    assert other.links == {}


def test_what_ends_pages_is_clicked_twice_on_a_site() -> None:
    """Each page with it took all the time that it had."""
    values, clicks = ClickValues(), 0

    class Hanging(MadeUp):
        async def ask(self, script: str) -> Any:
            if script == click_scripts.click(self.button()):
                nonlocal clicks
                clicks += 1
                raise TimeoutError
            return await super().ask(script)

    for _ in range(4):
        page = Hanging(links=True)
        made = ClickedPage("a.test", page.ask, page.settle, page.restart, values, ClickedLinks())
        try:
            asyncio.run(made.extend_lists())
        except TimeoutError:
            made.end()
    assert clicks == 2
