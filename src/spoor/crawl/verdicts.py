"""The newest verdict on each page of a crawl whose judge revises its judgements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from spoor.crawl.plugin_calls import call_plugin, check_judgement
from spoor.protocols import Rejudges
from spoor.types import Judgement, LinkId, Revision, State

_FIRST = 16
"""Pages after which the judge is first asked for revisions."""
_MOST = 1_000
"""Most pages between two times, or an eighth of all pages if that is more: so each page is judged
again some eight times in all, however long the crawl."""


class Verdicts:
    """The newest verdict on each page, and when the judge is asked for newer ones. `find` gives the
    link of a URL. A person's label of a page stands."""

    def __init__(self, judge: Rejudges, find: Callable[[str], LinkId | None]) -> None:
        self._judge = judge
        self._find = find
        self._newest: dict[LinkId, tuple[int, float, bool, float]] = {}
        """Link → ticket, score, relevant, reward."""
        self._by_person: set[LinkId] = set()
        self._early: dict[str, Judgement] = {}
        """URL → revision of a page that the crawl has not received yet: Scrapy judges a page before
        the spider gets it."""
        self.revisions = 0
        """Number of revisions so far."""
        self._next = _FIRST
        self._pages = 0
        """Number of pages when the judge was last asked."""
        self.keeps_early = True
        """Whether a revision of a page that was not received is kept until it is."""
        self.labelled = False
        """Whether a person has labelled a page since then."""

    def due(self, pages: int) -> bool:
        """Whether to ask the judge now, after so many pages."""
        return pages >= self._next or self.labelled

    def note(self, link: LinkId, ticket: int, judgement: Judgement) -> None:
        """Keep the verdict at arrival."""
        self._newest[link] = (ticket, *_values(judgement))

    def label(self, link: LinkId, judgement: Judgement) -> None:
        """Keep the verdict of a person."""
        self._by_person.add(link)
        if (known := self._newest.get(link)) is not None:
            self._newest[link] = (known[0], *_values(judgement))
        self.labelled = True

    def revise(self, pages: int) -> Sequence[Revision]:
        """Ask the judge; returns its revisions of pages that were received, numbered. Empty if
        neither a page nor a label came since it was last asked."""
        if pages == self._pages and not self.labelled:
            return []
        self._pages, self.labelled = pages, False
        self._next = pages + max(_FIRST, min(pages, max(_MOST, pages // 8)))
        revised = call_plugin(self._judge, "revise", self._judge.revise)
        return list(self._changed([*self._early.items(), *revised]))

    def _changed(self, revised: Sequence[tuple[str, Judgement]]) -> Iterator[Revision]:
        self._early = {}
        for url, after in revised:
            check_judgement(self._judge, "revise", url, after)
            link = self._find(url)
            known = None if link is None else self._newest.get(link)
            if known is None:
                if self.keeps_early:
                    self._early[url] = after
            elif link is not None and link not in self._by_person and known[1:] != _values(after):
                ticket, score, relevant, reward = known
                self._newest[link] = (ticket, *_values(after))
                self.revisions += 1
                before = Judgement(score, relevant, reward)
                yield Revision(self.revisions, ticket, link, url, before, after)

    def save(self) -> State:
        """All verdicts, as columns."""
        columns: Any = zip(*self._newest.values(), strict=True) if self._newest else ([],) * 4
        tickets, scores, relevant, rewards = columns
        return {
            "links": np.array(list(self._newest), dtype=np.int64),
            "tickets": np.array(tickets, dtype=np.int64),
            "scores": np.array(scores, dtype=np.float64),
            "relevant": np.array(relevant, dtype=np.bool_),
            "rewards": np.array(rewards, dtype=np.float64),
            "by_person": sorted(self._by_person),
            "early": {url: list(_values(verdict)) for url, verdict in self._early.items()},
            "revisions": self.revisions,
            "next": self._next,
            "pages": self._pages,
            "labelled": self.labelled,
        }

    def load(self, state: State) -> None:
        """Continue from a state of `save`."""
        columns = [state[name].tolist() for name in ("tickets", "scores", "relevant", "rewards")]
        self._newest = dict(zip(state["links"].tolist(), zip(*columns, strict=True), strict=True))
        self._by_person = set(state["by_person"])
        self._early = {url: Judgement(*values) for url, values in state["early"].items()}
        self.revisions = int(state["revisions"])
        self._next, self._pages = int(state["next"]), int(state["pages"])
        self.labelled = bool(state["labelled"])


def _values(judgement: Judgement) -> tuple[float, bool, float]:
    return float(judgement.score), bool(judgement.relevant), float(judgement.reward)
