"""What the site of each seed gave: its best page, or why there is none.

Whoever wants one page from each of a thousand sites reads a table of a thousand rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from spoor.runs.rows import PageRow
from spoor.runs.stored_run import StoredRun
from spoor.web.urls import host, registrable_domain

_ROWS = 500
"""Pages that are read at a time."""


@dataclass(slots=True)
class SeedSite:
    """A seed, and what its site gave."""

    seed: str
    pages: int = 0
    relevant: int = 0
    best: PageRow | None = None
    """A page that counts before one that does not, of these the one with the highest score, of
    equal ones the first."""
    note: str = ""
    """Why no page counts; empty where one does."""


@dataclass(slots=True)
class _Site:
    pages: int = 0
    relevant: int = 0
    best: tuple[bool, float, int] = (False, -1.0, 0)
    """Whether it counts, its score, and its number."""
    failed: str = ""
    """The first URL of it that failed, and why."""

    def add(self, relevant: bool, score: float, number: int) -> None:
        """A page of it."""
        self.pages += 1
        self.relevant += relevant
        if (relevant, score) > self.best[:2]:
            self.best = relevant, score, number


class _Sites:
    """The sites of the seeds of a run, and what was fetched of each: the domain to which a seed
    leads, or the host where several hosts of the domain are those of seeds. O(pages) time, O(seeds)
    memory. To be made within `run.at_once`."""

    def __init__(self, run: StoredRun) -> None:
        led = run.redirected_seeds()
        self.begins = {seed: led.get(seed, seed) for seed in run.settings.seeds}
        """Seed → where it leads, each once, in their order."""
        names = set(map(host, self.begins.values()))
        self._hosts = Counter(map(registrable_domain, names))
        self._sites = {self._key(name): _Site() for name in names}
        for row in run.outcomes():
            site = self.of_host(str(row["host"]))
            if site is not None:
                site.add(bool(row["relevant"]), float(row["score"]), row["number"])

    def _key(self, name: str) -> str:
        domain = registrable_domain(name)
        return name if self._hosts[domain] > 1 else domain

    def of_host(self, name: str) -> _Site | None:
        """The site of a host; None where no seed leads there."""
        return self._sites.get(self._key(name))

    def of_seeds(self) -> list[_Site]:
        """That of each seed, in their order."""
        return [self._sites[self._key(host(url))] for url in self.begins.values()]


def sites_of_seeds(run: StoredRun) -> Iterator[SeedSite]:
    """Each seed of a run, in its order, with what its site gave (`_Sites`). O(pages + failures)
    time, O(seeds) memory."""
    with run.at_once():
        sites = _Sites(run)
        failures = dict.fromkeys([*sites.begins, *sites.begins.values()], "")
        for failure in run.failures():
            why = failure.reason or failure.kind
            if failure.url in failures:
                failures[failure.url] = why
            site = sites.of_host(failure.host)
            if site is not None:
                site.failed = site.failed or f"{failure.url}: {why}"
        every = [*zip(sites.begins.items(), sites.of_seeds(), strict=True)]
        for start in range(0, len(every), _ROWS):
            some = every[start : start + _ROWS]
            numbers = [site.best[2] for _, site in some if site.best[2]]
            pages = {page.number: page for page in run.numbered(numbers)}
            for (seed, begin), site in some:
                note = "" if site.relevant else _why(site, failures[seed] or failures[begin])
                yield SeedSite(seed, site.pages, site.relevant, pages.get(site.best[2]), note)


def seeds_found(run: StoredRun) -> tuple[int, int] | None:
    """Seeds on whose site a page counts, and all; None unless a page of each is what is wanted.
    O(pages) time, O(seeds) memory."""
    if not (run.settings.found_per_host and len(run.settings.seeds) > 1):
        return None
    with run.at_once():
        counts = [site.relevant > 0 for site in _Sites(run).of_seeds()]
    return sum(counts), len(counts)


def _why(site: _Site, failed: str) -> str:
    if failed:
        return failed
    if site.pages:
        which = f"none of the {site.pages:,} pages" if site.pages > 1 else "not the only page"
        return f"{which} of its site counts"
    return site.failed or "no page came: it leads to another site, or its turn did not come"
