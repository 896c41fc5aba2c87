"""How fast the exact returns of hyperlinks are computed, and links are scored.

    .venv/bin/python benchmarks/naive_bayes.py [--pages 50000] [--links 600000] [--targets 2263]

1. Q of every hyperlink of a generated web with random targets, in CPU seconds on one core and
   peak memory; the goal for 50,000 pages and 600,000 links is 10 minutes and 4 GB.
2. Links scored a second on one core: hyperlinks as a crawl sees them (page, URL, anchor) through
   tokens, look-ups and eq. (3) to an expected return, remembered texts and all; then the same with
   nothing remembered; then rows of word counts through the classifier alone. The goal is 50,000.
3. A training of each neighbourhood, on the same pages.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from spoor.judges.facts import Label
from spoor.learn.naive_bayes import NaiveBayes, posterior
from spoor.learn.returns import distances_to_target, error_bound, horizon_of, link_values
from spoor.policies.naive_bayes import NaiveBayesPolicy, examples, train
from spoor.types import Anchor, KnownWeb, Page, Task, WebGraph
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

SCORED_PAGES = 2_000


@contextmanager
def timed(what: str, amount: float = 0, unit: str = "") -> Iterator[None]:
    began = time.process_time()
    yield
    seconds = time.process_time() - began
    rate = f", {amount / seconds:,.0f} {unit} a second" if amount else ""
    print(f"{what}: {seconds:.2f} CPU s{rate}", flush=True)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def returns(pages: int, links: int, targets: int) -> None:
    # Half of the wanted degree at least, and a tail: about `links` in all.
    settings = GeneratedSettings(pages=pages, hosts=50, least_links=max(1, links // pages // 3))
    world = GeneratedWorld(settings)
    graph = world.graph()
    rng = np.random.default_rng(0)
    mask = np.zeros(pages, dtype=bool)
    mask[rng.choice(pages, targets, replace=False)] = True
    print(f"{pages:,} pages, {len(graph.indices):,} links; memory before {peak_mb():,.0f} MB")
    horizon = horizon_of(0.5)
    for count in (targets, 1):
        if count == 1:
            mask = np.arange(pages) == int(rng.integers(pages))
        with timed(f"Q with {count:,} targets"):
            values = link_values(WebGraph(graph.urls, graph.indptr, graph.indices, mask))
        with timed("how far the nearest target is, for the bins"):
            distances_to_target(WebGraph(graph.urls, graph.indptr, graph.indices, mask), horizon)
        print(
            f"  mean {values.mean():.4f}, largest {values.max():.4f}; horizon {horizon}, at most "
            f"{error_bound(0.5, horizon):.1e} too small; peak memory {peak_mb():,.0f} MB"
        )


def scoring() -> None:
    world = GeneratedWorld(GeneratedSettings(pages=SCORED_PAGES, seed=1))
    graph = world.graph(Label("pottery"))
    parsed = [world.page(url) for url in graph.urls]
    web = KnownWeb("generated", graph, 0, parsed.__getitem__)
    for neighbourhood in ("related", "full-page"):
        task = Task(np.random.default_rng(0))
        with timed(f"{neighbourhood}: training on {SCORED_PAGES:,} pages"):
            model = train(task, [web], lambda done, of: None, neighbourhood=neighbourhood)
        seen = [(page, [(link.url, link.anchor) for link in page.links]) for page in parsed]
        count = sum(len(links) for _, links in seen)
        told = Task(np.random.default_rng(0), model=model)
        policy = NaiveBayesPolicy(told)
        with timed(f"{neighbourhood}: {count:,} links in page order", count, "links"):
            for page, links in seen:
                policy.values(page, links)
        fresh = [(replace(page, at), unlike(links, at)) for at, (page, links) in enumerate(seen)]
        policy = NaiveBayesPolicy(told)
        with timed(f"{neighbourhood}: {count:,} links, no text twice", count, "links"):
            for page, links in fresh:
                policy.values(page, links)
        found = examples(
            [web], lambda done, of: None, neighbourhood=neighbourhood, gamma=0.5, context=5
        )
        classifier = NaiveBayes.load(model["weights"]["classifier"])
        with timed(f"{neighbourhood}: the classifier alone", len(found.q), "links"):
            posterior(classifier.log_joint(found.bags))


def replace(page: Page, number: int) -> Page:
    """The page under another URL and title, so that nothing of it is remembered."""
    return Page(f"{page.url}/{number}", title=f"{page.title} {number}", text=page.text)


def unlike(links: list[tuple[str, Anchor]], page: int) -> list[tuple[str, Anchor]]:
    """The same links with a number in every text."""
    made = []
    for at, (url, anchor) in enumerate(links):
        mark = f" {page} {at}"
        other = anchor._replace(
            text=anchor.text + mark, before=anchor.before + mark, after=anchor.after + mark
        )
        made.append((f"{url}/{page}/{at}", other))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--links", type=int, default=600_000)
    parser.add_argument("--targets", type=int, default=2_263)
    told = parser.parse_args()
    returns(told.pages, told.links, told.targets)
    scoring()


if __name__ == "__main__":
    main()
