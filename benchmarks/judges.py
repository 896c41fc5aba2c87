"""CPU a page of the default judge of words, beside the judge that was the default before it.

Goal: at most .5 ms a page more. Each judge reads the same pages of a recorded web in the order of
their URLs, five times from the beginning; the median counts. No network, no policy, no archive; the
words of a page, which a crawl reads once for judge and policy, each judge reads here.

    python benchmarks/judges.py FOLDER "WORDS" [PAGES]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from spoor.judges.relevance import Relevance
from spoor.judges.wish import parse
from spoor.lab.kinds.judges import old_default
from spoor.protocols import Judge, Rejudges
from spoor.types import Page
from spoor.worlds.folders import open_web

ROUNDS = 5


def cost(make: Callable[[], Judge], pages: Sequence[Page]) -> float:
    """Milliseconds of CPU a page, with what it says anew at the end."""
    spent = []
    for _ in range(ROUNDS):
        judge, began = make(), time.process_time()
        for page in pages:
            judge.judge(page)
        if isinstance(judge, Rejudges):
            judge.revise()
        spent.append(1000 * (time.process_time() - began) / len(pages))
    return statistics.median(spent)


def main(folder: str, words: str, most: str = "1000") -> None:
    world = open_web(Path(folder))
    pages = [world.page(url) for url in sorted(world.graph().urls)[: int(most)]]
    pages = [page for page in pages if page.text]
    new = cost(lambda: Relevance(parse(words)), pages)
    old = cost(lambda: old_default(words), pages)
    print(f"{len(pages)} pages: default {new:.2f} ms, before {old:.2f} ms, {new - old:+.2f} ms")


if __name__ == "__main__":
    main(*sys.argv[1:])
