"""What the site of each seed gave: its best page, or why there is none.

Whoever wants one page from each of a thousand sites reads a table of a thousand rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spoor.runs.rows import PageRow
from spoor.runs.site_lists import read_list, with_scheme
from spoor.runs.stored_run import StoredRun
from spoor.web.urls import canonical, host, registrable_domain

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
        led = run.redirects()
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


def sites_of_seeds(run: StoredRun, asked: Sequence[str] | None = None) -> Iterator[SeedSite]:
    """Each seed of a run, in its order, with what its site gave (`_Sites`); or those `asked`, in
    theirs, which need not be seeds. O(pages + failures + asked) time, O(seeds + asked) memory."""
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
        every = dict(zip(sites.begins, sites.of_seeds(), strict=True))
        asked = [*every] if asked is None else asked
        for start in range(0, len(asked), _ROWS):
            some = [(seed, every.get(seed)) for seed in asked[start : start + _ROWS]]
            numbers = [site.best[2] for _, site in some if site is not None and site.best[2]]
            pages = {page.number: page for page in run.numbered(numbers)}
            for seed, site in some:
                if site is None:
                    yield SeedSite(seed, note="no seed of this run")
                    continue
                failed = failures[seed] or failures[sites.begins[seed]]
                note = "" if site.relevant else _why(site, failed)
                yield SeedSite(seed, site.pages, site.relevant, pages.get(site.best[2]), note)


@dataclass(frozen=True, slots=True)
class ListedSites:
    """The rows of a list of sites, for a table with the best page of each beside them."""

    columns: Sequence[str]
    """Of the list, but for the one of the addresses, as they are called there."""
    rows: Sequence[tuple[str, str, str, Sequence[str]]]
    """Of each row its address as it stands there, as a seed or else empty, why it is none, and its
    cells by `columns`."""


def listed_sites(path: Path, *, routes: bool) -> ListedSites:
    """The list of sites in a file, for which a run was begun. `routes`: as for `canonical`.
    O(bytes) time and memory. Raises InputError where it cannot be read."""
    sites = read_list(path)
    places = [at for at in range(len(sites.names)) if at != sites.column]
    rows = []
    for cells, _ in sites.rows:
        given = sites.address(cells)
        seed, why = _seed_of(given, routes=routes)
        rows.append((given, seed, why, [cells[at] if at < len(cells) else "" for at in places]))
    return ListedSites([sites.names[at].strip() for at in places], rows)


def _seed_of(given: str, *, routes: bool) -> tuple[str, str]:
    if not given:
        return "", "the list has no address for it"
    try:
        return canonical(with_scheme(given), routes=routes), ""
    except ValueError as error:
        return "", str(error)


def seeds_found(run: StoredRun) -> tuple[int, int] | None:
    """Seeds on whose site a page counts, and all; None unless a page of each is what is wanted.
    O(pages) time, O(seeds) memory."""
    if not (run.settings.found_per_host and len(run.settings.seeds) > 1):
        return None
    with run.at_once():
        counts = [site.relevant > 0 for site in _Sites(run).of_seeds()]
    return sum(counts), len(counts)


def brought(run: StoredRun, most: int) -> list[tuple[str, int, int]]:
    """(host of a seed, pages of its site that count, its pages) of a run that begins at several
    sites, `most` at most; else nothing. O(pages) time."""
    if not 1 < len(run.settings.seeds) <= most:
        return []
    with run.at_once():
        sites = _Sites(run)
        each = zip(sites.begins, sites.of_seeds(), strict=True)
        named = {id(site): (host(seed), site.relevant, site.pages) for seed, site in each}
    return [*named.values()] if len(named) > 1 else []


def _why(site: _Site, failed: str) -> str:
    if failed:
        return failed
    if site.pages:
        if site.pages == 1:
            return "the only page of its site does not count"
        return f"none of the {site.pages:,} pages of its site counts"
    return site.failed or "no page came: it leads to another site, or its turn did not come"
