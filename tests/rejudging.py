"""A judge that judges anew, for the tests: it knows little of a page at first, and more later."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from spoor.types import Judgement, Page, State


class Warming:
    """At arrival it guesses by the page's URL; with every page it knows the truth of a larger part
    of the pages: those with the `label`, or without one half of all. What a person says of a page,
    it also says of those whose URL has the same length."""

    def __init__(self, label: str = "") -> None:
        self._label = label
        self.judged: list[str] = []
        self._truth: dict[str, bool] = {}
        self._said: dict[str, bool] = {}
        self._people: dict[str, bool] = {}

    def judge(self, page: Page) -> Judgement:
        self.judged.append(page.url)
        truth = self._label in page.labels if self._label else _number(page.url[::-1]) % 2 == 0
        self._truth[page.url] = truth
        self._said[page.url] = guess = _number(page.url) % 3 == 0
        return _verdict(guess)

    def revise(self) -> Sequence[tuple[str, Judgement]]:
        known = len(self._truth) / (len(self._truth) + 20)
        revised = []
        for url, truth in self._truth.items():
            now = truth if _number(url) % 100 < 100 * known else self._said[url]
            now = self._people.get(str(len(url)), now)
            if now != self._said[url]:
                self._said[url] = now
                revised.append((url, _verdict(now)))
        return revised

    def label(self, url: str, relevant: bool) -> None:
        if url in self._truth:
            self._people[str(len(url))] = relevant

    def save(self) -> State:
        return {"truth": self._truth, "said": self._said, "people": self._people}

    def load(self, state: State) -> None:
        self._truth, self._said = dict(state["truth"]), dict(state["said"])
        self._people = dict(state["people"])


def _number(url: str) -> int:
    return zlib.crc32(url.encode())


def _verdict(relevant: bool) -> Judgement:
    return Judgement(0.9 if relevant else 0.1, relevant, float(relevant), (("a guess", 0.5),))
