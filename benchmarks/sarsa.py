"""What the updates of `sarsa` cost, beside best-first without learning.

    python benchmarks/sarsa.py WEB [--pages 10000] [--rounds 5] [--vectors FILE] [--topic WORDS]
        [--root URL]
    python benchmarks/sarsa.py --growth [--sizes 10000,100000,1000000] [--only NAME,NAME]

The first crawls WEB (a folder that `spoor web import` wrote) by best-first and by each update, in
one process: each round runs them in turn, every second round backwards. It prints the median CPU
time of the rounds and of the ratios within a round; and, since on a machine that others use too all
of these are too long, the sum of the least CPU time of every 50 pages over the rounds, which do the
same work each time. The second fills frontiers up to 10⁴, 10⁵ and
10⁶ open links with pages of 50 links, whose words are drawn from the vectors', and prints the
milliseconds of CPU that the last 300 pages cost (choose, observe, learn): the median and the mean.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402  # after the number of threads is set

from spoor import registry  # noqa: E402
from spoor.crawl import Crawl  # noqa: E402
from spoor.frontier.memory import MemoryFrontier  # noqa: E402
from spoor.judges.keywords import Keywords  # noqa: E402
from spoor.policies.sarsa import Sarsa  # noqa: E402
from spoor.process_memory import few_collections  # noqa: E402
from spoor.protocols import Policy  # noqa: E402
from spoor.simulation.replay import Replay  # noqa: E402
from spoor.types import (  # noqa: E402
    NO_PARENT,
    Anchor,
    Fetched,
    InLinks,
    Judgement,
    Link,
    LinkId,
    Outcome,
    Page,
    Task,
    Topic,
)
from spoor.web.text import Vectors  # noqa: E402
from spoor.worlds.folders import open_scope  # noqa: E402

POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
    "best-first": ("best-first", {}),
    "asynchronous": ("sarsa", {"update": "asynchronous"}),
    "moderated": ("sarsa", {"update": "moderated"}),
    "synchronous": ("sarsa", {"update": "synchronous"}),
}
LINKS = 50
MEASURED = 300
BLOCK = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("web", type=Path, nargs="?")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--topic", default="security")
    parser.add_argument("--root", help="where the crawl begins, of a web of several roots")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--only", default=",".join(POLICIES), help="with --growth: of these")
    parser.add_argument("--sizes", default="10000,100000,1000000")
    told = parser.parse_args()
    vectors = Vectors.read(told.vectors) if told.vectors else None
    if told.growth:
        sizes = [int(size) for size in told.sizes.split(",")]
        growth(told.only.split(","), vectors, told.topic, sizes)
    elif told.web is None:
        parser.error("name a web, or give --growth")
    else:
        crawls(told.web, told.root, vectors, told.topic, told.pages, told.rounds)


def crawls(
    web: Path, root: str | None, vectors: Vectors | None, words: str, pages: int, rounds: int
) -> None:
    world, root = open_scope(web, root, "web")
    judge = Keywords(words.split(), threshold=1e-9)
    took: dict[str, list[float]] = {name: [] for name in POLICIES}
    least: dict[str, list[float]] = {}
    said: dict[str, str] = {}
    for at in range(rounds):
        for name in list(POLICIES)[:: -1 if at % 2 else 1]:
            policy, settings = POLICIES[name]
            task = Task(np.random.default_rng(0), Topic(words), vectors=vectors)
            made = registry.build("policies", policy, task, settings=settings)
            crawl = Crawl(made, judge, MemoryFrontier(), pages=pages)
            crawl.seed([root])
            gc.collect()
            marks = [time.process_time()]
            with few_collections():
                for page, _ in enumerate(Replay(crawl, world), 1):
                    if page % BLOCK == 0:
                        marks.append(time.process_time())
            blocks = np.diff(marks).tolist()
            took[name].append(sum(blocks))
            least[name] = list(map(min, blocks, least.get(name, blocks)))
            pairs = f", {len(made._frontier.pairs.size):,} pairs" if isinstance(made, Sarsa) else ""
            said[name] = (
                f"{crawl.counts.relevant:,} relevant, {crawl.frontier.open_count:,} open{pairs}"
            )
    quiet = {name: sum(blocks) for name, blocks in least.items()}
    print(f"{web.name}: {pages:,} pages, topic {words!r}, {rounds} rounds, s of CPU")
    print(f"{'':<15}{'median':>8}{'× best-first':>14}{'least':>9}{'× best-first':>14}")
    for name, seconds in took.items():
        against, of_least = _ratio(seconds, took["best-first"]), quiet[name] / quiet["best-first"]
        cost = f"{median(seconds):8.2f}{against:14.2f}{quiet[name]:9.2f}{of_least:14.2f}"
        print(f"{name:<15}{cost}   {said[name]}")
    of_medians = _ratio(took["synchronous"], took["asynchronous"])
    of_least = quiet["synchronous"] / quiet["asynchronous"]
    print(f"synchronous / asynchronous: median {of_medians:.2f}, least {of_least:.2f}")


def _ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median over the rounds."""
    return median(one / other for one, other in zip(ours, theirs, strict=True))


class _All:
    """An offer of every open link of one host."""

    def __init__(self) -> None:
        self.open: dict[LinkId, None] = {}

    def __len__(self) -> int:
        return len(self.open)

    def __contains__(self, link: object) -> bool:
        return link in self.open

    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        return list(self.open)[:k]

    def hosts(self) -> Collection[str]:
        return {"w.example"}


def drawn(vectors: Vectors | None, rng: np.random.Generator) -> Iterator[list[str]]:
    """Words of texts: some near to one another, as words of a page are."""
    words = vectors.words()[:20_000] if vectors else [f"word{at}" for at in range(2_000)]
    while True:
        at = int(rng.integers(len(words)))
        yield [words[(at + int(step)) % len(words)] for step in rng.integers(0, 40, size=4)]


def growth(names: Sequence[str], vectors: Vectors | None, words: str, sizes: Sequence[int]) -> None:
    print(f"{'open links':<13}" + "".join(f"{size:>16,}" for size in sizes))
    for name in names:
        print(f"{name:<13}", end="", flush=True)
        for cell in grown(name, vectors, words, sizes):
            print(f"{cell:>16}", end="", flush=True)
        print()


def grown(name: str, vectors: Vectors | None, words: str, sizes: Sequence[int]) -> Iterator[str]:
    """Milliseconds a page at each size: median, mean."""
    policy, settings = POLICIES[name]
    rng = np.random.default_rng(0)
    task = Task(np.random.default_rng(0), Topic(words), vectors=vectors)
    made: Policy = registry.build("policies", policy, task, settings=settings)
    offer, texts = _All(), drawn(vectors, rng)
    known = 1
    offer.open[0] = None
    made.observe(_shown([Link("http://w.example/0")], [0], [True], NO_PARENT))
    for size in sizes:
        measured: list[float] = []
        for left in _countdown(offer, size):
            link_words = [next(texts) for _ in range(LINKS)]
            fresh = list(range(known, known + LINKS))
            links = [
                Link(f"http://w.example/{at}", Anchor(" ".join(text)))
                for at, text in zip(fresh, link_words, strict=True)
            ]
            known += LINKS
            text = " ".join(word for some in link_words for word in some)
            page = Page("http://w.example/", text=text, links=links)
            relevant = bool(rng.random() < 0.1)
            judgement = Judgement(float(relevant), relevant, float(relevant))
            began = time.process_time()
            choice = made.choose(offer)
            del offer.open[choice.link]
            made.observe(_shown(links, fresh, [True] * LINKS, choice.link))
            offer.open.update(dict.fromkeys(fresh))
            made.learn(Outcome(choice, Fetched(0, page), judgement, float(relevant)))
            if left < MEASURED:
                measured.append(1000 * (time.process_time() - began))
        yield f"{median(measured):.2f}, {fmean(measured):.2f}"


def _countdown(offer: _All, size: int) -> Iterator[int]:
    """Pages still to come until the frontier holds so many links."""
    while len(offer) < size:
        yield (size - len(offer)) // LINKS


def _shown(
    links: Sequence[Link], numbers: Sequence[LinkId], first: Sequence[bool], parent: LinkId
) -> InLinks:
    at = list(range(len(links)))
    urls = [link.url for link in links]
    hosts = ["w.example"] * len(links)
    return InLinks(links, at, numbers, first, parent, 0.0, 1, urls, hosts)


if __name__ == "__main__":
    main()
