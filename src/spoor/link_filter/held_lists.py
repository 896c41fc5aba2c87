"""Lists of the pages of a site wait until they may pay: its search index, and what its own search
answers.

A crawl asks for those of a host once `LEAST` of its pages or more have come, the one that names
them among them, of which fewer than half are relevant. So a site whose first page leads to what is
wanted costs no request more, and one of thousands of pages says where to look. The next part of an
answer is asked for once `TRIED` of the new pages that it lists, or all of fewer, have been asked
for, or there is no other link, and one in `PAYS` of them is relevant. At most `MOST` lists of a
host are asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from spoor.bounded import remember
from spoor.hashing import hash64
from spoor.types import NO_PARENT, HeldLink, LinkId, Page, State
from spoor.web.urls import host

LEAST = 2
TRIED = 5
PAYS = 3
MOST = 10

_HOSTS = 100_000
"""Hosts that are remembered, …"""
_WAITING = 10_000
"""… those of them whose lists wait, …"""
_ANSWERS = 10_000
"""… answers whose next part waits, …"""
_LISTED = 100_000
"""… and pages that these list; the oldest are forgotten."""


@dataclass(slots=True)
class _Host:
    """A host that has lists."""

    waiting: list[HeldLink] = field(default_factory=list)
    pages: int = 0
    """That came since a list was known, …"""
    relevant: int = 0
    """… and those of them that are."""
    lists: int = 0
    """That there were."""
    named_by: LinkId = NO_PARENT
    """The page that named them."""


@dataclass(slots=True)
class _Answer:
    """An answer that has a next part."""

    next_part: HeldLink
    least: int
    """Of the pages that it lists are to be tried, …"""
    tried: int = 0
    """… were, …"""
    relevant: int = 0
    """… and are."""

    @property
    def pays(self) -> bool:
        return PAYS * self.relevant >= self.tried


class HeldLists:
    """The lists of all hosts. O(1) a page."""

    def __init__(self) -> None:
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        self._waiting: OrderedDict[str, None] = OrderedDict()
        """Hosts whose lists wait."""
        self._answers: OrderedDict[str, _Answer] = OrderedDict()
        """By their URLs."""
        self._listed: OrderedDict[int, str] = OrderedDict()
        """Page that an answer lists, hashed → the answer."""
        self._ready: list[HeldLink] = []

    def hold(self, held: HeldLink) -> None:
        """A page of a host names a list of it. The first that does so counts: another process, that
        goes on with the crawl, reads it anew on other pages, where a form may have another token.
        """
        its = self._host_of(held)
        if not its.lists:
            its.named_by = held.parent
        waits = held.link.url in (one.link.url for one in its.waiting)
        if its.lists < MOST and its.named_by == held.parent and not waits:
            its.lists += 1
            its.waiting.append(held)
            name = host(held.link.url)
            if forgotten := remember(self._waiting, name, None, _WAITING):
                self._take(forgotten)

    def takes(self, held: HeldLink) -> bool:
        """Whether a list may be asked for at once; it is one of those of its host then."""
        its = self._host_of(held)
        its.lists += 1
        return its.lists <= MOST

    def _take(self, name: str) -> list[HeldLink]:
        """The lists of a host that wait no longer."""
        self._waiting.pop(name, None)
        its = self._hosts.get(name, _Host())
        taken, its.waiting = its.waiting, []
        return taken

    def hold_next_part(self, answer: str, held: HeldLink, listed: Iterable[str]) -> None:
        """An answer has a next part, and lists pages that were not known."""
        its = self._host_of(held)
        if its.lists < MOST:
            its.lists += 1
            keys = {hash64(url) for url in listed}
            remember(self._answers, answer, _Answer(held, min(TRIED, len(keys))), _ANSWERS)
            for key in keys:
                remember(self._listed, key, answer, _LISTED)

    def _host_of(self, held: HeldLink) -> _Host:
        name = host(held.link.url)
        if name not in self._hosts:
            remember(self._hosts, name, _Host(), _HOSTS)
        return self._hosts[name]

    def ended(self, asked: str, page: Page | None, *, relevant: bool) -> None:
        """The URL that was asked for brought a page, which is no list, or none."""
        answer = self._listed.pop(hash64(asked), "")
        if answer in self._answers:
            self._tried(answer, relevant=relevant)
        name = "" if page is None else host(page.url)
        its = self._hosts.get(name)
        if its is not None and its.waiting:
            its.pages += 1
            its.relevant += relevant
            if its.pages >= LEAST and 2 * its.relevant < its.pages:
                self._ready += self._take(name)

    def _tried(self, answer: str, *, relevant: bool) -> None:
        its = self._answers[answer]
        its.tried += 1
        its.relevant += relevant
        if its.tried >= its.least and its.pays:
            self._ready.append(its.next_part)
            del self._answers[answer]

    def release(self, *, over: bool) -> list[HeldLink]:
        """Lists that may enter now. `over`: no other link is open."""
        ready, self._ready = self._ready, []
        if over:
            for name in list(self._waiting):
                ready += self._take(name)
            for answer in [url for url, its in self._answers.items() if its.pays]:
                ready.append(self._answers.pop(answer).next_part)
        return ready

    def save(self) -> State:
        return {
            "hosts": [
                [name, _rows(its.waiting), its.pages, its.relevant, its.lists, its.named_by]
                for name, its in self._hosts.items()
            ],
            "answers": [
                [url, its.next_part.row(), its.least, its.tried, its.relevant]
                for url, its in self._answers.items()
            ],
            "listed": [[*row] for row in self._listed.items()],
            "ready": _rows(self._ready),
        }

    def load(self, state: State) -> None:
        self._hosts = OrderedDict(
            (name, _Host([HeldLink.of(row) for row in waiting], *counts))
            for name, waiting, *counts in state["hosts"]
        )
        self._waiting = OrderedDict.fromkeys(
            name for name, its in self._hosts.items() if its.waiting
        )
        self._answers = OrderedDict(
            (url, _Answer(HeldLink.of(row), *counts)) for url, row, *counts in state["answers"]
        )
        self._listed = OrderedDict((key, answer) for key, answer in state["listed"])
        self._ready = [HeldLink.of(row) for row in state["ready"]]


def _rows(links: Iterable[HeldLink]) -> list[list[Any]]:
    return [held.row() for held in links]
