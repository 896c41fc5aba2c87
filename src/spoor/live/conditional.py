"""When a page is asked for by the validators that its server gave, and which servers' validators
lie.

Every so often a page is asked for whole although it has validators. Where it then differs in what
counts, and has the same validators as before, they say nothing: that host is asked whole from then
on. The counts go on from pass to pass: one of `--once` may ask for no more than a front page.
"""

from __future__ import annotations

from collections.abc import Callable

from spoor.hashing import hash64
from spoor.types import State
from spoor.web.exchange import Exchange
from spoor.web.validators import Validators

SAMPLED = 40
"""Of so many conditional requests to a host one is made without conditions; which, a hash says: in
passes of as many pages it would else be the same page each time. Of the first so many also the
second, fourth, eighth …"""


class Conditions:
    """`known` gives the validators of the document that a URL gave last."""

    def __init__(self, known: Callable[[str], Validators | None]) -> None:
        self._known = known
        self._asked: dict[str, int] = {}
        self._samples: dict[str, Validators] = {}
        """URL that was asked for whole → the validators that it had."""
        self._suspect = ""
        """The URL of the last reply, where it is such a sample and has the same validators."""
        self.liars: set[str] = set()
        """Hosts whose validators lie."""

    def validators(self, url: str, host: str) -> Validators | None:
        """What to ask a URL with; None: ask for all of it."""
        if host in self.liars or (known := self._known(url)) is None:
            return None
        asked = self._asked[host] = self._asked.get(host, 0) + 1
        early = asked <= SAMPLED and asked > 1 and asked & (asked - 1) == 0
        if early or hash64(f"{asked} {url}") % SAMPLED == 0:
            self._samples[url] = known
            return None
        return known

    def received(self, exchange: Exchange) -> None:
        """A reply came."""
        before = self._samples.pop(exchange.url, None)
        same = before is not None and Validators.of(exchange.headers) == before
        self._suspect = exchange.url if same else ""

    def judged(self, url: str, host: str, changed: bool) -> None:
        """Whether what came differs from what was known."""
        if changed and self._suspect == url:
            self.liars.add(host)
        self._suspect = ""

    def forget(self, url: str, host: str, *, last: bool) -> None:
        """A URL is known no more; `last`: of its host none is."""
        self._samples.pop(url, None)
        if last:
            self._asked.pop(host, None)
            self.liars.discard(host)

    def save(self) -> State:
        """What is known of the hosts."""
        return {"asked": dict(self._asked), "liars": sorted(self.liars)}

    def load(self, state: State) -> None:
        self._asked, self.liars = dict(state["asked"]), set(state["liars"])
