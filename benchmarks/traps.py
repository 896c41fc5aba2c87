"""What the guard against traps costs, and what it saves.

    .venv/bin/python benchmarks/traps.py recorded WEB [WEB ...] [--truth FOLDER] [--want SPEC]
    .venv/bin/python benchmarks/traps.py wiki FOLDER [--want SPEC]
    .venv/bin/python benchmarks/traps.py small
    .venv/bin/python benchmarks/traps.py generated [--policy NAME]
    .venv/bin/python benchmarks/traps.py shards [--pages N]

`recorded`: each folder is a recorded web, crawled breadth-first from its roots to its end, with the
guard (and without links that do something) and without, by a judge that finds nothing relevant: the
guard gets no help, and every page that it loses counts. With `--truth` (topic files
WEB.TASK.topic) and `--want` also the targets of each task that were lost. `wiki`: the same of a
wiki that is recorded with all versions (`versions.jsonl.zst`), as it stood in July 2013. `small`:
400 pages that share most of their words, listed on one page. `generated`: eight traps, each beside
an honest site of 300 pages: documents lost, and the share of requests inside; with `--policy` in
its order, where all of the honest site is relevant. `shards`: the eight sites in a row, each of
which leads to the next from the second half of its pages, breadth-first in one, two and four
shards, divided in four ways: requests inside the traps before the last honest page, and in all.
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections import Counter
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Function
from spoor.judges.spec import judge_of
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.policies.breadth_first import BreadthFirst
from spoor.process_memory import few_collections
from spoor.protocols import World
from spoor.sharding.coordinator import Coordinator
from spoor.sharding.outbox import Outbox
from spoor.simulation.replay import Replay
from spoor.simulation.shards import LocalCrawl, LocalShard, division
from spoor.types import Failed, Fetch, Fetched, Page, Task
from spoor.web.page import parse
from spoor.worlds.evolving import EvolvingWorld
from spoor.worlds.folders import open_web
from spoor.worlds.import_evolving import wiki_history

JULY_2013 = 1_372_636_800.0


def make_crawl(guard: CrawlFilter, pages: int | None) -> Crawl:
    """A breadth-first crawl that finds nothing relevant."""
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    return Crawl(
        policy, Function(lambda page: False), MemoryFrontier(), pages=pages, link_filter=guard
    )


def crawled(world: World, seeds: list[str], guard: CrawlFilter) -> tuple[dict[str, Page], float]:
    """The pages of a whole crawl by the URL that answered, and its CPU seconds."""
    crawl = make_crawl(guard, None)
    crawl.seed(seeds)
    began = time.process_time()
    with few_collections():
        pages = {outcome.page.url: outcome.page for outcome in Replay(crawl, world) if outcome.page}
    return pages, time.process_time() - began


def recorded(folder: Path, truth: Path | None, wanted: list[str]) -> None:
    world = open_web(folder, absent=True)
    tasks = sorted(truth.glob(f"{folder.name}.*.topic")) if truth else []
    measured(folder.name, world, list(world.roots()), [*wanted, *(f"topic:{one}" for one in tasks)])


class Still:
    """A changing web at one moment."""

    def __init__(self, world: EvolvingWorld) -> None:
        self.answer = world.answer


def measured(name: str, world: World, seeds: list[str], tasks: list[str]) -> None:
    whole, plain = crawled(world, seeds, CrawlFilter(Scope(), actions=True))
    guard = CrawlFilter(Scope(), traps=Traps())
    guarded, cost = crawled(world, seeds, guard)
    lost = [url for url in whole if url not in guarded]
    print(
        f"{name:16} {len(whole):6} pages, {len(lost):4} lost ({len(lost) / len(whole):.2%}),"
        f" {1000 * (cost - plain) / len(whole):.2f} ms a page",
        flush=True,
    )
    for why, count in Counter(map(guard.explained, lost)).most_common(8):
        print(f"    {count:5} {why or 'only such pages link to it'}")
    for task in tasks:
        judge = judge_of([task])
        targets = [url for url, page in whole.items() if judge.judge(page).relevant]
        gone = sum(url not in guarded for url in targets)
        print(f"    {task.rpartition('/')[2]:28} {gone} of {len(targets)} targets lost", flush=True)


# ---------------------------------------------------------------- generated traps


SITE = 300
TRAPS = (*("calendar", "session", "paths", "facets", "soft404", "mirror", "scroll", "tags"),)
HOME = "http://site.example/"


class Trapped:
    """An honest site of `SITE` pages with one trap, whose entrance the pages show. The honest
    pages have new words each; those of the trap repeat what is known, with new dates or in another
    order."""

    def __init__(self, trap: str, seed: int = 0) -> None:
        self.trap = trap
        rng = np.random.default_rng(seed)
        letters = np.array(list("abcdefghijklmnoprstuvw"))
        self.words = ["".join(rng.choice(letters, 7)) for _ in range(4_000)]
        self.texts = [" ".join(rng.choice(self.words, 40)) for _ in range(SITE)]
        self.links = [[int(at) for at in rng.integers(0, SITE, 4)] for _ in range(SITE)]
        self.asked = 0
        """Requests inside the trap."""

    def answer(self, fetch: Fetch) -> Fetched | Failed:
        source, inside = self.document(fetch.url.removeprefix(HOME))
        self.asked += inside
        return Fetched(fetch.ticket, parse(source.encode(), fetch.url))

    def document(self, path: str, more: str = "") -> tuple[str, bool]:
        """The page at a path, an honest one with `more` links, and whether it is of the trap."""
        found = None if path.startswith("?") else self.honest(path)
        inside = found is None
        if found is None:
            found, more = self.inside(path), ""
        source = f"<title>{found[0]}</title><p>Our site, since ever</p>" + "".join(
            f"<p>{part}</p>" for part in found[1]
        )
        links = "".join(f'<li><a href="/{target}">{words}</a></li>' for target, words in found[2])
        return f"{source}<ul>{links}{more}</ul>", inside

    def honest(self, path: str) -> tuple[str, list[str], list[tuple[str, str]]] | None:
        if path == "":
            links = [(f"p/{at}", f"page {at}") for at in range(20)]
            return "Home", ["Welcome"], links + self.entrances(0)
        name, _, query = path.partition("?")
        number = name.removeprefix("p/")
        if query or not name.startswith("p/") or not number.isdigit() or int(number) >= SITE:
            return None
        at = int(number)
        following = [*self.links[at], (at + 1) % SITE]
        links = [(f"p/{other}", f"page {other}") for other in following]
        return f"Page {self.words[at]}", [self.texts[at]], links + self.entrances(at)

    def entrances(self, at: int) -> list[tuple[str, str]]:
        return {
            "calendar": [("calendar/2024/1", "calendar")],
            "session": [(f"p/{other}?s={at}x{other}", "see") for other in self.links[at][:2]],
            "paths": [("way/in", "in")],
            "facets": [("shop?color=red", "red"), ("shop?size=m", "m")],
            "soft404": [(f"{self.words[at]}-gone", "more")] * (at % 30 == 0),
            "mirror": [(f"p/{other}?print=1", "print") for other in self.links[at][:2]],
            "scroll": [("feed?after=1", "more")],
            "tags": [("tag/red", "red"), ("tag/blue", "blue")],
        }[self.trap]

    def inside(self, path: str) -> tuple[str, list[str], list[tuple[str, str]]]:
        name, _, query = path.partition("?")
        own = zlib.crc32(path.encode())
        rng = np.random.default_rng(own)
        some = [
            " ".join(self.texts[at].split()[:8]) for at in sorted(rng.choice(10, 5, replace=False))
        ]
        if self.trap == "calendar":
            _, year, month = name.split("/")
            step = int(year) * 12 + int(month)
            links = [(f"calendar/{at // 12}/{at % 12}", "to") for at in (step - 1, step + 1)]
            return f"Events of {month} {year}", [f"No events on {month} {year}, {own}"], links
        if self.trap in ("session", "mirror"):
            page = self.honest(name)
            assert page is not None
            if self.trap == "mirror":
                return page[0], page[1], []
            return page[0], page[1], [(f"{to}?s={own}", words) for to, words in page[2]]
        if self.trap == "paths":
            links = [(f"{name}/{self.words[int(at)]}", "on") for at in rng.integers(0, 4_000, 3)]
            return "Way", ["Go on, it is not far"], links
        if self.trap == "soft404":
            links = [(f"{self.words[int(at)]}-{own:x}", "x") for at in rng.integers(0, 4_000, 3)]
            return "Oops", [f"We looked for {name} and could not find that"], links
        if self.trap == "scroll":
            step = int(query.partition("=")[2])
            return "Feed", some, [(f"feed?after={step + 1}", "more")]
        if self.trap == "tags":
            tags = sorted({*name.removeprefix("tag/").split("+")})
            more = [tag for tag in COLOURS if tag not in tags]
            links = [(f"tag/{'+'.join(sorted([*tags, tag]))}", tag) for tag in more]
            return "Things with these tags", some, links
        chosen = dict(part.split("=") for part in query.split("&"))
        links = [
            (f"shop?{'&'.join(f'{k}={v}' for k, v in {**chosen, key: value}.items())}", value)
            for key, values in FACETS.items()
            for value in values
        ]
        return "Shop", some, links


COLOURS = "red blue green black white brown grey pink gold tan".split()
FACETS = {
    "color": COLOURS,
    "size": ["s", "m", "l", "xl"],
    "sort": ["price", "name", "new"],
    "brand": ["acme", "apex", "zenith", "orbit"],
}


def generated(trap: str, policy: str = "") -> tuple[int, int, int]:
    """(honest pages lost, requests, those inside the trap) of a crawl beside a trap."""
    world = Trapped(trap)
    guard = CrawlFilter(Scope(), traps=Traps())
    crawl = make_crawl(guard, 2 * SITE)
    if policy:
        order = registry.build("policies", policy, Task(np.random.default_rng(0)))
        judge = Function(lambda page: page.title.startswith("Page "))
        crawl = Crawl(order, judge, MemoryFrontier(), pages=2 * SITE, link_filter=guard)
    crawl.seed([HOME])
    urls = {outcome.page.url for outcome in Replay(crawl, world, in_flight=8) if outcome.page}
    honest = sum(f"{HOME}p/{at}" in urls for at in range(SITE))
    return SITE - honest, crawl.counts.requests, world.asked


class SitesInARow:
    """A site with each of the traps; the second half of its pages leads to the next one."""

    def __init__(self) -> None:
        self.sites = {f"{trap}.example": Trapped(trap, at) for at, trap in enumerate(TRAPS)}
        self.asked: list[bool] = []
        """Of each request, whether it was inside a trap."""

    def answer(self, fetch: Fetch) -> Fetched:
        name, _, path = fetch.url.removeprefix("http://").partition("/")
        following = [*self.sites, ""][list(self.sites).index(name) + 1]
        late = path.startswith("p/") and path[2:].isdigit() and int(path[2:]) >= SITE // 2
        more = f'<li><a href="http://{following}/">on</a></li>' if following and late else ""
        source, inside = self.sites[name].document(path, more)
        self.asked.append(inside)
        return Fetched(fetch.ticket, parse(source.encode(), fetch.url))


def in_shards(shards: int, pages: int, draw: int) -> tuple[int, int, int]:
    """(honest pages, requests inside the traps before the last of these, such requests in all) of a
    crawl of the sites in a row."""
    world, seed = SitesInARow(), f"http://{TRAPS[0]}.example/"

    def make(outbox: Outbox) -> Crawl:
        guard = CrawlFilter(Scope.of([seed], "anywhere"), traps=Traps(), per_domain=pages)
        policy, judge = BreadthFirst(Task(np.random.default_rng(0))), Function(lambda page: False)
        crawl = Crawl(policy, judge, MemoryFrontier(), pages=0, link_filter=guard, outbox=outbox)
        crawl.seed([seed])
        return crawl

    owner = division(draw=draw)
    outboxes = [Outbox(number, shards, owner=owner) for number in range(shards)]
    members = [LocalShard(outbox, make, world) for outbox in outboxes]
    LocalCrawl(members, Coordinator(shards, pages), every=4).run()
    last = max(at for at, inside in enumerate(world.asked) if not inside)
    return world.asked.count(False), sum(world.asked[:last]), sum(world.asked)


class Catalogue:
    """400 small pages that share all but three of their words, listed on one page."""

    def answer(self, fetch: Fetch) -> Fetched:
        number = fetch.url.removeprefix(HOME).removeprefix("item/")
        if not number:
            body = "".join(f'<a href="/item/{at}">Item {at}</a>' for at in range(400))
        else:
            frame = " ".join(f"frame{chr(97 + at)}" for at in range(26)) * 2
            body = f"<p>{frame}</p><p>Item {number}: {int(number) * 7} g, {number}.50 EUR</p>"
        source = f"<title>Parts</title>{body}"
        return Fetched(fetch.ticket, parse(source.encode(), fetch.url))


def small() -> int:
    """How many of the small pages were lost."""
    crawl = make_crawl(CrawlFilter(Scope(), traps=Traps()), None)
    crawl.seed([HOME])
    return 401 - sum(outcome.page is not None for outcome in Replay(crawl, Catalogue()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("recorded", "wiki", "small", "generated", "shards"))
    parser.add_argument("webs", nargs="*", type=Path)
    parser.add_argument("--truth", type=Path)
    parser.add_argument("--want", action="append", default=[], help="as that of spoor replay")
    parser.add_argument("--policy", default="", help="an order, for generated traps")
    parser.add_argument("--pages", type=int, default=100_000, help="budget of `shards`")
    given = parser.parse_args()
    for folder in given.webs:
        if given.part == "wiki":
            history = wiki_history(folder, start=JULY_2013, days=1.0)
            measured(folder.name, Still(history), history.roots(), given.want)
        else:
            recorded(folder, given.truth, given.want)
    if given.part == "small":
        print(f"{small()} of 400 small pages lost")
    if given.part == "generated":
        for trap in TRAPS:
            lost, requests, inside = generated(trap, given.policy)
            share = f"{inside} of {requests} requests inside ({inside / requests:.1%})"
            print(f"{trap:10} {lost} of {SITE} documents lost, {share}", flush=True)
    if given.part == "shards":
        for shards in (1, 2, 4):
            draws = range(1, 5 if shards > 1 else 2)
            told = [in_shards(shards, given.pages, draw) for draw in draws]
            honest, early, whole = (list(row) for row in zip(*told, strict=True))
            inside_early = f"inside before the last {early}, in all {whole}"
            print(f"{shards} shards: honest {honest}, {inside_early}", flush=True)


if __name__ == "__main__":
    main()
