"""Small webs for tests: pages given by hand, or drawn at random from a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spoor.types import (
    Anchor,
    Failed,
    Fetch,
    Fetched,
    Link,
    Page,
    Redirected,
    Reply,
    WebGraph,
)

TARGET = "target"
"""The label of relevant pages in `random_web`."""

_TARGET_WORDS = ("kiln", "glaze", "clay", "pottery", "stoneware")
_OTHER = ("ledger", "harbour", "engine", "orchard", "census", "violin", "granite", "ferry")


class SmallWorld:
    """Pages by URL; redirects by URL; failures by URL, the first `times` requests of each."""

    def __init__(
        self,
        pages: Sequence[Page],
        *,
        redirects: Mapping[str, str] | None = None,
        failures: Mapping[str, int] | None = None,
        seconds: float = 0.0,
    ) -> None:
        self.pages = {page.url: page for page in pages}
        self.redirects = dict(redirects or {})
        self.failures = dict(failures or {})
        self.asked: list[str] = []
        """URLs in the order in which they were asked for."""
        self._seconds = seconds

    def answer(self, fetch: Fetch) -> Reply:
        self.asked.append(fetch.url)
        if self.failures.get(fetch.url, 0) > 0:
            self.failures[fetch.url] -= 1
            return Failed(fetch.ticket, "timeout", transient=True, seconds=self._seconds)
        if fetch.url in self.redirects:
            return Redirected(fetch.ticket, self.redirects[fetch.url], seconds=self._seconds)
        page = self.pages.get(fetch.url)
        if page is None:
            return Failed(fetch.ticket, "absent", status=404, seconds=self._seconds)
        return Fetched(fetch.ticket, page, seconds=self._seconds, size=len(page.text))

    def graph(self, label: str = TARGET) -> WebGraph:
        """The whole web, with the pages of a label as targets."""
        urls = list(self.pages)
        number = {url: at for at, url in enumerate(urls)}
        rows = [
            [number[link.url] for link in self.pages[url].links if link.url in number]
            for url in urls
        ]
        return WebGraph(
            urls,
            np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64),
            np.array([target for row in rows for target in row], dtype=np.int32),
            np.array([label in self.pages[url].labels for url in urls], dtype=bool),
        )


def random_web(
    rng: np.random.Generator,
    *,
    pages: int = 60,
    hosts: int = 3,
    degree: int = 5,
    target_share: float = 0.15,
    locality: float = 0.7,
) -> SmallWorld:
    """A web whose target pages (a share of `target_share`) link to one another with probability
    `locality`.

    Page 0 (`root`) is the seed; every page can be reached from it. The anchors of links to targets
    have words of the topic most of the time.
    """
    is_target = rng.random(pages) < target_share
    is_target[0] = False
    if not is_target.any():
        is_target[-1] = True
    urls = [f"http://h{page % hosts}.example/d{page % 4}/p{page}.html" for page in range(pages)]
    groups = {True: np.flatnonzero(is_target), False: np.flatnonzero(~is_target)}
    targets: list[list[int]] = [[] for _ in range(pages)]
    for page in range(1, pages):
        # A tree keeps everything within reach; parents are earlier pages, so it has no cycle.
        targets[int(rng.integers(page))].append(page)
    for page in range(pages):
        for _ in range(int(rng.integers(degree + 1))):
            same = rng.random() < locality
            group = groups[bool(is_target[page]) == same]
            targets[page].append(int(group[rng.integers(len(group))]))

    def words(of: bool, count: int) -> str:
        sure = rng.random() < 0.8
        pool = _TARGET_WORDS if of and sure else _OTHER
        # Not `choice`, which takes ten times as long for the same numbers, as an array of few does.
        if count <= 3:
            return " ".join([pool[int(rng.integers(len(pool)))] for _ in range(count)])
        return " ".join([pool[at] for at in rng.integers(len(pool), size=count).tolist()])

    made = []
    for page in range(pages):
        links = [
            Link(
                urls[target],
                Anchor(
                    words(bool(is_target[target]), 2),
                    words(bool(is_target[page]), 3),
                    words(bool(is_target[target]), 3),
                    (words(bool(is_target[page]), 1),),
                    f"html/body/ul.{'list' if is_target[target] else 'menu'}/li/a",
                    position,
                ),
            )
            for position, target in enumerate(targets[page])
        ]
        made.append(
            Page(
                urls[page],
                title=words(bool(is_target[page]), 2),
                text=words(bool(is_target[page]), 30),
                links=links,
                labels=frozenset({TARGET} if is_target[page] else ()),
                site=f"h{page % hosts}",
            )
        )
    return SmallWorld(made)
