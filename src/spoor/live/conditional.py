"""When a page is asked for by the validators that its server gave, and which servers' validators
lie.

Every so often a page is asked for whole although it has validators. Where it then differs in what
counts, and has the same validators as before, they say nothing: that host is asked whole from then
on.
"""

from __future__ import annotations

from collections.abc import Callable

from spoor.web.exchange import Exchange
from spoor.web.validators import Validators

SAMPLED = 40
"""Of so many conditional requests to a host one is made without conditions."""


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
        if asked % SAMPLED == 0:
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
