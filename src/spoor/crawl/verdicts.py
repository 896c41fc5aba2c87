"""The newest verdict on each page of a crawl whose judge revises its judgements."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence

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
        self._newest = _Columns()
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
        self._newest.put(link, ticket, _values(judgement))

    def label(self, link: LinkId, judgement: Judgement) -> None:
        """Keep the verdict of a person."""
        self._by_person.add(link)
        if (known := self._newest.get(link)) is not None:
            self._newest.put(link, known[0], _values(judgement))
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
            elif link is not None and link not in self._by_person:
                ticket, score, relevant, reward = known
                if (values := _values(after)) == (score, relevant, reward):
                    continue
                self._newest.put(link, ticket, values)
                self.revisions += 1
                before = Judgement(score, relevant, reward)
                yield Revision(self.revisions, ticket, link, url, before, after)

    def save(self) -> State:
        """All verdicts, as columns."""
        return {
            **self._newest.save(),
            "by_person": sorted(self._by_person),
            "early": {url: list(_values(verdict)) for url, verdict in self._early.items()},
            "revisions": self.revisions,
            "next": self._next,
            "pages": self._pages,
            "labelled": self.labelled,
        }

    def load(self, state: State) -> None:
        """Continue from a state of `save`."""
        self._newest = _Columns.load(state)
        self._by_person = set(state["by_person"])
        self._early = {url: Judgement(*values) for url, values in state["early"].items()}
        self.revisions = int(state["revisions"])
        self._next, self._pages = int(state["next"]), int(state["pages"])
        self.labelled = bool(state["labelled"])


class _Columns:
    """Ticket, score, relevant and reward of each page, in columns by the order of their coming: 37
    bytes a page, which a checkpoint copies at once, where a dictionary of tuples takes 250."""

    __slots__ = ("_links", "_place", "_relevant", "_rewards", "_scores", "_tickets")

    def __init__(self) -> None:
        self._place = array("i")
        """Link → its place in the columns, −1 where it has none."""
        self._links, self._tickets = array("q"), array("q")
        self._scores, self._rewards = array("d"), array("d")
        self._relevant = bytearray()

    def get(self, link: LinkId) -> tuple[int, float, bool, float] | None:
        """Ticket, score, relevant and reward of a link's page, if one came."""
        place = self._place[link] if link < len(self._place) else -1
        if place < 0:
            return None
        relevant = bool(self._relevant[place])
        return self._tickets[place], self._scores[place], relevant, self._rewards[place]

    def put(self, link: LinkId, ticket: int, values: tuple[float, bool, float]) -> None:
        """Keep them; a link that has them keeps its place."""
        if link >= len(self._place):
            self._place.extend([-1] * (link + 1 - len(self._place)))
        place = self._place[link]
        if place < 0:
            place = self._place[link] = len(self._links)
            self._links.append(link)
            self._tickets.append(0)
            self._scores.append(0.0)
            self._relevant.append(False)
            self._rewards.append(0.0)
        self._tickets[place] = ticket
        self._scores[place], self._relevant[place], self._rewards[place] = values

    def save(self) -> State:
        return {
            "links": np.array(self._links, np.int64),
            "tickets": np.array(self._tickets, np.int64),
            "scores": np.array(self._scores, np.float64),
            "relevant": np.array(self._relevant, np.bool_),
            "rewards": np.array(self._rewards, np.float64),
        }

    @classmethod
    def load(cls, state: State) -> _Columns:
        """What `save` gave."""
        made, links = cls(), np.asarray(state["links"], np.int64)
        if len(links):
            at = np.arange(len(links), dtype=np.int32)
            place = np.full(int(links.max()) + 1, -1, np.int32)
            place[links] = at
            if links.min() < 0 or (place[links] != at).any():
                raise ValueError("two pages have one link")
            made._place = array("i", place.tobytes())
        made._links = array("q", links.tobytes())
        made._tickets = array("q", state["tickets"].astype(np.int64).tobytes())
        made._scores = array("d", state["scores"].astype(np.float64).tobytes())
        made._relevant = bytearray(state["relevant"].astype(np.bool_).tobytes())
        made._rewards = array("d", state["rewards"].astype(np.float64).tobytes())
        lengths = {len(getattr(made, name)) for name in cls.__slots__ if name != "_place"}
        if len(lengths) > 1:
            raise ValueError("columns of verdicts are of several lengths")
        return made


def _values(judgement: Judgement) -> tuple[float, bool, float]:
    return float(judgement.score), bool(judgement.relevant), float(judgement.reward)
