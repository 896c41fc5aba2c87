"""Which links of a page may enter the frontier, and which URLs may be asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spoor.types import Link, Page
from spoor.web.urls import host, registrable_domain


@dataclass(frozen=True, slots=True)
class Scope:
    """Which links of a page may enter the frontier."""

    scope: str = "anywhere"
    """`host`, `domain` (of the seeds) or `anywhere`."""
    hosts: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    max_depth: int | None = None
    nofollow: bool = True
    """Obey rel=nofollow, meta robots and X-Robots-Tag."""

    @classmethod
    def of(
        cls, seeds: Iterable[str], scope: str, max_depth: int | None = None, nofollow: bool = True
    ) -> Scope:
        """The admission of a crawl that begins at these seeds."""
        hosts = frozenset(host(seed) for seed in seeds)
        domains = frozenset(registrable_domain(name) for name in hosts)
        return cls(scope, hosts, domains, max_depth, nofollow)

    def __call__(self, page: Page, depth: int) -> Sequence[Link]:
        if self.max_depth is not None and depth > self.max_depth:
            return ()
        if self.nofollow and "nofollow" in page.flags:
            return ()
        if self.scope == "anywhere":
            if not self.nofollow:
                return page.links
            return [link for link in page.links if not link.anchor.nofollow]
        return [link for link in page.links if self._fits(link)]

    def __contains__(self, url: str) -> bool:
        """Whether a canonical URL, wherever it was named, is at the hosts or domains in scope."""
        if self.scope == "anywhere":
            return True
        name = host(url)
        if self.scope == "host":
            return name in self.hosts
        return registrable_domain(name) in self.domains

    def _fits(self, link: Link) -> bool:
        return not (self.nofollow and link.anchor.nofollow) and link.url in self
