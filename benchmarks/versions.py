"""What a crawl gives of a manual that a site has in several versions or languages.

    .venv/bin/python benchmarks/versions.py WEB --version REGEX [--pages 300] "WORDS" ["WORDS" ...]
    .venv/bin/python benchmarks/versions.py WEB --whole

WEB: a recorded web (`spoor web import FOLDER WEB --base-url URL`), such as the HTML pages that the
sources of SQLAlchemy, Mako or Alembic have, of several releases. REGEX is the part of a URL that
tells the version: pages whose URLs are the same without it count once. Prints for each wish how
many pages of those that `trail` asks for in a replay, with the default judge, are different: with
the guard as it is, and where it learns no mirrored folders (`spoor.link_filter.mirrored_folders`).

`--whole`: a breadth-first crawl of all of it, by a judge that finds nothing relevant; how many
pages waited for their copies, how many of these were not asked for until the end, and how many
have less than half of their own words on the page that they waited for.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.traps import crawled

from spoor import registry
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.topic import topic_of_phrase
from spoor.lab.kinds.judges import BY_WORDS
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.mirrored_folders import MirroredFolders
from spoor.link_filter.novelty import Own
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.simulation.replay import Replay
from spoor.types import Page, Task
from spoor.worlds.folders import open_web


class Unlearned(MirroredFolders):
    """That learns nothing."""

    def page(self, page: Page, own: Own) -> bool:
        return False


class WithoutMirrors(Traps):
    def __init__(self) -> None:
        super().__init__()
        self._mirrors = Unlearned()


class Noted(Traps):
    """Notes which pages waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: dict[str, None] = {}

    def passes(self, url: str, linked_by: Callable[[], Collection[str]] = tuple) -> str:
        name = super().passes(url, linked_by)
        if name and name == self.copied(url):
            self.waited[url] = None
        return name


def asked_for(web: Path, words: str, traps: Traps, pages: int) -> list[str]:
    """The pages that a crawl for a wish has."""
    world = open_web(web, absent=True)
    policy = registry.build(
        "policies", "trail", Task(np.random.default_rng(0), topic_of_phrase(words).topic)
    )
    guard = CrawlFilter(Scope(), traps=traps)
    judge = BY_WORDS["relevance"](words)
    crawl = Crawl(policy, judge, MemoryFrontier(), pages=pages, link_filter=guard)
    crawl.seed(world.roots()[:1])
    return [done.page.url for done in Replay(crawl, world, in_flight=1) if done.page is not None]


def wished(web: Path, version: str, words: Sequence[str], pages: int) -> None:
    for wish in words:
        found = []
        for traps in (WithoutMirrors(), Traps()):
            urls = asked_for(web, wish, traps, pages)
            found.append(f"{len({re.sub(version, '', url) for url in urls})} of {len(urls)}")
        print(f"{wish:40} different pages {found[0]} without, {found[1]} as it is", flush=True)


def triples(page: Page) -> set[tuple[str, ...]]:
    words = re.sub(r"\d+", "#", page.text.lower()).split()
    return set(zip(words, words[1:], words[2:], strict=False))


def whole(web: Path) -> None:
    world, traps = open_web(web, absent=True), Noted()
    guard = CrawlFilter(Scope(), traps=traps)
    pages, _ = crawled(world, list(world.roots()), guard)
    everything, _ = crawled(world, list(world.roots()), CrawlFilter(Scope(), actions=True))
    kept, others = [url for url in traps.waited if url not in pages], 0
    for url in traps.waited:
        folders = traps._mirrors.copy_of(url)
        if folders is None or url not in everything:
            continue
        other = folders.other + url.removeprefix(folders.one)
        if other not in everything:
            continue
        mine, its = triples(everything[url]), triples(everything[other])
        others += 2 * len(mine & its) < len(mine)
    print(
        f"{web.name}: {len(everything)} pages, {len(traps.waited)} waited, {len(kept)} of them not"
        f" asked for until the end, {others} with less than half on the other page"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("web", type=Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--version", default="")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--whole", action="store_true")
    given = parser.parse_intermixed_args()
    if given.whole:
        whole(given.web)
    else:
        wished(given.web, given.version, given.words, given.pages)


if __name__ == "__main__":
    main()
