"""What a live crawl keeps out of: links out of scope, traps, hosts that have had their share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spoor.types import Link, LinkId, Outcome, Page, State
from spoor.web.scope import Scope
from spoor.web.traps import Traps
from spoor.web.urls import host, registrable_domain


class CrawlFilter:
    """No URL outside of `scope` is fetched, by a link or by a redirect. `traps` is None without
    trap detection.

    At most `per_host` pages of a host and `per_domain` of a registrable domain are fetched (None:
    no limit). Pages in flight count too: a URL over the limit is skipped for good, even if one of
    them fails later.
    """

    def __init__(
        self,
        scope: Scope,
        *,
        traps: Traps | None = None,
        per_host: int | None = None,
        per_domain: int | None = None,
    ) -> None:
        self._scope = scope
        self._traps = traps
        self._shares = ((host, per_host, "host"), (_domain, per_domain, "domain"))
        self._pages: Counter[str] = Counter()
        """Of a host or a domain, in flight or fetched."""
        self._flying: dict[LinkId, str] = {}

    def admit(self, page: Page, depth: int) -> Sequence[Link]:
        links = self._scope(page, depth)
        return links if self._traps is None else self._traps.see(page, links)

    def skip(self, link: LinkId, url: str) -> str:
        before = self._flying.pop(link, None)
        if before is not None:
            self._count(before, -1)
        if url not in self._scope:
            return f"{host(url)} is out of scope ({self._scope.scope})"
        for part, most, unit in self._shares:
            if most is not None and self._pages[f"{unit} {part(url)}"] >= most:
                return f"{part(url)} has had its {most} pages"
        why = "" if self._traps is None else self._traps.closed(url)
        if not why:
            self._flying[link] = url
            self._count(url, 1)
        return why

    def ended(self, outcome: Outcome) -> None:
        url = self._flying.pop(outcome.choice.link, None)
        if url is not None and outcome.page is None:
            self._count(url, -1)

    def _count(self, url: str, by: int) -> None:
        for part, most, unit in self._shares:
            if most is not None:
                self._pages[f"{unit} {part(url)}"] += by

    def save(self) -> State:
        return {
            "traps": None if self._traps is None else self._traps.save(),
            "pages": dict(self._pages),
            "flying": [[link, url] for link, url in self._flying.items()],
        }

    def load(self, state: State) -> None:
        if self._traps is not None:
            self._traps.load(state["traps"])
        self._pages = Counter(state["pages"])
        self._flying = dict(state["flying"])


def _domain(url: str) -> str:
    return registrable_domain(host(url))
