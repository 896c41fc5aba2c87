"""What the site of each seed gave: its best page, or why there is none.

Whoever wants one page from each of a thousand sites reads a table of a thousand rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spoor.rendering.missing_content import FEW_WORDS
from spoor.runs.pass_costs import PassCosts
from spoor.runs.rows import FailureRow, PageRow
from spoor.runs.site_lists import read_list, with_scheme
from spoor.runs.snapshot import open_links_by_host
from spoor.runs.stored_run import StoredRun
from spoor.web.urls import canonical, host, registrable_domain

_ROWS = 500
"""Pages that are read at a time."""

FOUND, NONE, LIMIT, WAITS, NO_SEED = "found", "none", "limit", "waits", "no seed"
"""Outcomes of a site, beside the kinds of failures: a page counts; no page counts, and there is
none left to ask for; none counts so far, and the site has had its share; none so far, and links
wait; it is no seed of the run."""

_NOT_ASKED = ("skipped", "later", "cancelled", "moved", "robots", "unchanged")
"""Kinds of failures that say nothing of how many links of a site came to nothing."""


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
    outcome: str = NONE
    """The same in one word: `FOUND`, `NONE`, `LIMIT`, `WAITS`, `NO_SEED`, or the kind of the
    failure of the seed (`spoor.types.Failed`)."""


@dataclass(slots=True)
class _Site:
    pages: int = 0
    relevant: int = 0
    in_vain: int = 0
    """Links that came to nothing."""
    waiting: int = 0
    """Links that are open."""
    flags: set[str] = field(default_factory=set)
    """Of its pages."""
    best: tuple[bool, float, int] = (False, -1.0, 0)
    """Whether it counts, its score, and its number."""
    failed: FailureRow | None = None
    """The first of it that failed."""

    def add(self, relevant: bool, score: float, number: int, flags: str) -> None:
        """A page of it."""
        self.pages += 1
        self.flags.update(flags.split())
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
                score, flags = float(row["score"]), str(row["flags"])
                site.add(bool(row["relevant"]), score, row["number"], flags)

    def _key(self, name: str) -> str:
        domain = registrable_domain(name)
        return name if self._hosts[domain] > 1 else domain

    def of_host(self, name: str) -> _Site | None:
        """The site of a host; None where no seed leads there."""
        return self._sites.get(self._key(name))

    def count_waiting(self, open_links: Mapping[str, int]) -> None:
        """Note how many links of each site are open, by those of each host."""
        for name, links in open_links.items():
            if (site := self.of_host(name)) is not None:
                site.waiting += links

    def of_seeds(self) -> list[_Site]:
        """That of each seed, in their order."""
        return [self._sites[self._key(host(url))] for url in self.begins.values()]


def sites_of_seeds(
    run: StoredRun, asked: Sequence[str] | None = None, costs: PassCosts | None = None
) -> Iterator[SeedSite]:
    """Each seed of a run, in its order, with what its site gave (`_Sites`); or those `asked`, in
    theirs, which need not be seeds. `costs`: of the pass in which documents are read.
    O(pages + failures + asked) time, O(seeds + asked) memory."""
    costs = PassCosts(in_order=False) if costs is None else costs
    with run.at_once():
        sites = _Sites(run)
        failures = dict[str, FailureRow]()
        begins = {*sites.begins, *sites.begins.values()}
        for failure in run.failures():
            if failure.url in begins:
                failures[failure.url] = failure
            site = sites.of_host(failure.host)
            if site is not None:
                site.failed = site.failed or failure
                site.in_vain += failure.kind not in _NOT_ASKED
        known = open_links_by_host(run.path)
        sites.count_waiting(known or {})
        stands = _Stands(run, known is not None)
        every = dict(zip(sites.begins, sites.of_seeds(), strict=True))
        asked = [*every] if asked is None else asked
        for start in range(0, len(asked), _ROWS):
            some = [(seed, every.get(seed)) for seed in asked[start : start + _ROWS]]
            numbers = [site.best[2] for _, site in some if site is not None and site.best[2]]
            pages = {page.number: page for page in run.numbered(numbers)}
            for seed, site in some:
                if site is None:
                    yield SeedSite(seed, note="no seed of this run", outcome=NO_SEED)
                    continue
                failed = failures.get(seed) or failures.get(sites.begins[seed])
                outcome, note, best = FOUND, "", pages.get(site.best[2])
                if not site.relevant:
                    outcome, note = _why(stands, site, failed)
                if outcome == NONE and site.pages == 1 and best is not None:
                    note += _of_only_page(run, site, best, costs)
                yield SeedSite(seed, site.pages, site.relevant, best, note, outcome)


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


class _Stands:
    """How a run stands."""

    def __init__(self, run: StoredRun, is_known: bool) -> None:
        self.goes_on = run.is_running
        self.most = run.latest_settings().pages_per_host
        self.may_have_more = self.goes_on and not is_known
        """It goes on, and which links it has open nobody can tell."""


def _why(stands: _Stands, site: _Site, failed: FailureRow | None) -> tuple[str, str]:
    """The outcome of a site without a page that counts, and the same in words."""
    if failed is not None:
        return failed.kind, failed.reason or failed.kind
    wait = "the crawl goes on" if stands.goes_on else "more pages or time would ask for them"
    if site.waiting:
        several = f"{site.waiting:,} of its links wait"
        wait = f"{several if site.waiting > 1 else 'a link of it waits'}: {wait}"
    waits = site.waiting > 0 or stands.may_have_more
    if not site.pages:
        if site.failed is not None:
            return site.failed.kind, f"{site.failed.url}: {site.failed.reason or site.failed.kind}"
        if waits:
            return WAITS, f"no page came yet; {wait}"
        return NONE, "no page came: it leads to another site, or its turn did not come"
    note = f"none of the {site.pages:,} pages of its site counts"
    if site.pages == 1:
        note = "the only page of its site does not count"
    most = stands.most
    if most is not None and site.pages >= most:
        return LIMIT, f"{note}; it has had its {most:,} (--pages-per-host)"
    if most is not None and site.in_vain >= most:
        return LIMIT, f"{note}; {most:,} of its links came to nothing (--pages-per-host)"
    return (WAITS, f"{note}; {wait}") if waits else (NONE, note)


def _of_only_page(run: StoredRun, site: _Site, page: PageRow, costs: PassCosts) -> str:
    """What the only page of a site says of why no other came. O(bytes of the page)."""
    if "nofollow" in site.flags and run.settings.nofollow:
        return "; it asks not to follow its links (--no-nofollow does)"
    if "truncated" in site.flags:
        return "; it was cut off, since it is too large or came too slowly"
    if costs.is_spent:
        return ""
    document = run.document_of(page, costs)
    few = len(document.text.split()) < FEW_WORDS
    if few and not document.links and b"<script" in document.bytes.lower():
        return "; it shows little without JavaScript (--render)"
    return ""
