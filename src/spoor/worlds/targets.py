"""Which pages of a known web are targets."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from spoor.judges.facts import Label
from spoor.protocols import Judge, Rejudges
from spoor.types import Page


def target_pages(
    judge: Judge,
    pages: Iterable[Page],
    count: int,
    labelled: Callable[[str], Iterable[bool]] | None = None,
) -> NDArray[np.bool_]:
    """Which of `count` pages a judge calls relevant once it has seen them all. `labelled` says of
    each whether it has a label: with it, the judge of a label needs no page."""
    if labelled is not None and type(judge) is Label:
        return np.fromiter(labelled(judge.wanted), dtype=bool, count=count)
    urls: list[str] = []

    def relevant(page: Page) -> bool:
        urls.append(page.url)
        return judge.judge(page).relevant

    mask = np.fromiter(map(relevant, pages), dtype=bool, count=count)
    if isinstance(judge, Rejudges):
        number = {url: index for index, url in enumerate(urls)}
        for url, judgement in judge.revise():
            mask[number[url]] = judgement.relevant
    return mask
