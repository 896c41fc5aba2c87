"""Lists of the pages of a site wait until they may pay: its search index, and what its own search
answers.

A crawl asks for those of a host once `LEAST` of its pages or more have come, the one that names
them among them, of which fewer than half are relevant. So a site whose first page leads to what is
wanted costs no request more, and one of thousands of pages says where to look. The next part of an
answer is asked for once `TRIED` of the pages that it lists, or all of fewer, have been asked for,
of which one in `PAYS` is relevant. At most `MOST` lists of a host are asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from spoor.bounded import remember
from spoor.hashing import hash64
from spoor.types import HeldLink, Page, State
from spoor.web.urls import host

LEAST = 2
TRIED = 5
PAYS = 3
MOST = 10

_HOSTS = 100_000
"""Hosts that are remembered …"""
_ANSWERS = 10_000
"""… and answers whose next part waits, …"""
_LISTED = 100_000
"""… and pages that these list; the oldest are forgotten."""


class HeldLists:
    """The lists of all hosts. O(1) a page."""

    def __init__(self) -> None:
        self._hosts: OrderedDict[str, list[Any]] = OrderedDict()
        """Host → its lists that wait, its pages since one was known, the relevant ones of these,
        and how many of its lists there were."""
        self._answers: OrderedDict[str, list[Any]] = OrderedDict()
        """Answer → its next part, how many of its pages are to be tried, those that were, and the
        relevant ones of these."""
        self._listed: OrderedDict[int, str] = OrderedDict()
        """Page that an answer lists, hashed → the answer."""
        self._ready: list[HeldLink] = []

    def hold(self, held: HeldLink) -> None:
        """A page of a host names a list of it."""
        its = self._of_host(held)
        if its[3] < MOST:
            its[3] += 1
            its[0].append(held)

    def hold_next_part(self, answer: str, held: HeldLink, listed: Iterable[str]) -> None:
        """An answer has a next part, and lists pages."""
        its = self._of_host(held)
        if its[3] < MOST:
            its[3] += 1
            keys = {hash64(url) for url in listed}
            remember(self._answers, answer, [held, min(TRIED, len(keys)), 0, 0], _ANSWERS)
            for key in keys:
                remember(self._listed, key, answer, _LISTED)

    def _of_host(self, held: HeldLink) -> list[Any]:
        name = host(held.link.url)
        if name not in self._hosts:
            remember(self._hosts, name, [[], 0, 0, 0], _HOSTS)
        return self._hosts[name]

    def ended(self, asked: str, page: Page | None, *, relevant: bool) -> None:
        """The URL that was asked for brought a page, which is no list, or none."""
        answer = self._listed.pop(hash64(asked), "")
        if answer in self._answers:
            self._tried(answer, relevant=relevant)
        its = None if page is None else self._hosts.get(host(page.url))
        if its is not None and its[0]:
            its[1] += 1
            its[2] += relevant
            if its[1] >= LEAST and 2 * its[2] < its[1]:
                self._ready += its[0]
                its[0] = []

    def _tried(self, answer: str, *, relevant: bool) -> None:
        its = self._answers[answer]
        its[2] += 1
        its[3] += relevant
        part, least, tried, found = its
        if tried >= least and PAYS * found >= tried:
            self._ready.append(part)
            del self._answers[answer]

    def release(self, *, over: bool) -> list[HeldLink]:
        """Lists that may enter now. `over`: no other link is open."""
        ready, self._ready = self._ready, []
        if over:
            for its in self._hosts.values():
                ready += its[0]
                its[0] = []
        return ready

    def save(self) -> State:
        """Go on with `load`."""
        return {
            "hosts": [
                [name, [held.row() for held in lists], *counts]
                for name, (lists, *counts) in self._hosts.items()
            ],
            "answers": [[url, held.row(), *its] for url, (held, *its) in self._answers.items()],
            "listed": [[*row] for row in self._listed.items()],
            "ready": [held.row() for held in self._ready],
        }

    def load(self, state: State) -> None:
        """Go on from `save`."""
        self._hosts = OrderedDict(
            (name, [[HeldLink.of(row) for row in lists], *counts])
            for name, lists, *counts in state["hosts"]
        )
        self._answers = OrderedDict(
            (url, [HeldLink.of(row), *its]) for url, row, *its in state["answers"]
        )
        self._listed = OrderedDict((key, answer) for key, answer in state["listed"])
        self._ready = [HeldLink.of(row) for row in state["ready"]]
