"""What the site of each seed gave: its best page, or why there is none.

Whoever wants one page from each of a thousand sites reads a table of a thousand rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spoor.runs.rows import PageRow
from spoor.runs.stored_run import StoredRun
from spoor.web.urls import domain_of, host, registrable_domain

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


def sites_of_seeds(run: StoredRun) -> Iterator[SeedSite]:
    """Each seed of a run, in its order. Its site is its domain, or its host where several hosts of
    the domain are seeds. O(pages + failures) time, O(seeds) memory."""
    seeds = list(dict.fromkeys(run.settings.seeds))
    hosts = Counter(map(registrable_domain, set(map(host, seeds))))
    sites: dict[str, _Site] = {}
    for url in seeds:
        sites[_site(url, hosts)] = _Site()
    with run.at_once():
        for row in run.outcomes():
            site = sites.get(_site(row["url"], hosts))
            if site is None:
                continue
            site.pages += 1
            site.relevant += bool(row["relevant"])
            best = bool(row["relevant"]), float(row["score"]), row["number"]
            if best[:2] > site.best[:2]:
                site.best = best
        failures: dict[str, str] = dict.fromkeys(seeds, "")
        for failure in run.failures():
            why = failure.reason or failure.kind
            if failure.url in failures:
                failures[failure.url] = why
            site = sites.get(_site(failure.url, hosts))
            if site is not None:
                site.failed = site.failed or f"{failure.url}: {why}"
        for start in range(0, len(seeds), _ROWS):
            some = seeds[start : start + _ROWS]
            numbers = [sites[_site(url, hosts)].best[2] for url in some]
            pages = {page.number: page for page in run.numbered([*filter(None, numbers)])}
            for url, number in zip(some, numbers, strict=True):
                site = sites[_site(url, hosts)]
                note = "" if site.relevant else _why(site, failures[url])
                yield SeedSite(url, site.pages, site.relevant, pages.get(number), note)


def _site(url: str, hosts: Mapping[str, int]) -> str:
    domain = domain_of(url)
    return host(url) if hosts.get(domain, 0) > 1 else domain


def _why(site: _Site, failed: str) -> str:
    if failed:
        return failed
    if site.pages:
        which = f"none of the {site.pages:,} pages" if site.pages > 1 else "not the only page"
        return f"{which} of its site counts"
    return site.failed or "no page came: it leads to another site, or its turn did not come"
