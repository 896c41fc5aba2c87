"""Links that look as if they did something and lead to documents: `?op=new&id=5`, `/docs/edit`.

A shape is a host with the parameter or segment that makes a URL look so. It is let in where the
site itself says that such URLs are documents (a sitemap lists them), or where one of it that was
fetched (a seed, say) is relevant. A shape whose request only shows a form (edit, reply) is also
tried where a link to it has a text like that of a document, not the name of an action: `TRIES`
links of it; the rest waits. Nothing else is ever tried: a request that deletes, votes, buys or logs
out is not undone.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict

from spoor.link_filter.waiting_places import WaitingPlaces
from spoor.types import HeldLink, State
from spoor.web.actions import SEGMENTS, action, shape
from spoor.web.urls import domain_of, registrable_domain

TRIES = 3
"""Links of a shape that are tried, at most."""

_SHAPES = 500
"""That are known, at most; the domain with the most gives up its newest."""
_WAIT = 200
"""Links of a shape that wait for what its tries bring, at most."""
_HARMLESS = ("edit", "reply")
_ACTS = frozenset(" ".join(SEGMENTS.values()).split()) | frozenset(
    """action add answer antworten cite comment create erstellen new nouveau nuevo post preview
    quote raw répondre responder save section source submit upload view wiki""".split()
)
"""Words of links that do something."""
_NEVER = re.compile(r"redlink=|veaction=|preload=|rollback|purge|revert", re.IGNORECASE)


class ActionTrials:
    """Which shapes are let in, and what is known of the others."""

    def __init__(self) -> None:
        self._let_in: dict[str, None] = {}
        self._places_in = WaitingPlaces(_SHAPES)
        self._tries: OrderedDict[str, int] = OrderedDict()
        """Shape → links that were let through to try it."""
        self._places = WaitingPlaces(_SHAPES)
        self._trying: set[str] = set()
        """URLs that were let through."""
        self._listed: Counter[str] = Counter()
        """Domain → its URLs that were let through."""
        self._waiting: dict[str, dict[str, HeldLink]] = {}
        self._ready: list[HeldLink] = []

    def takes(self, url: str) -> bool:
        """Whether a URL that does something by its look may be asked for."""
        return url in self._trying or shape(url) in self._let_in

    def offer(self, held: HeldLink, *, listed: bool) -> bool:
        """A link that does something by its look; whether it is followed, to try its shape, or
        since a sitemap has it (`listed`). Else it may wait."""
        url, name = held.link.url, shape(held.link.url)
        if url in self._trying:
            return True
        # A domain alone has half of what there is, two have a third each.
        if listed and self._listed[domain_of(url)] < _SHAPES * _WAIT - len(self._trying):
            self._let_through(url)
            return True
        if action(url) not in _HARMLESS or _NEVER.search(url):
            return False
        if not _is_title(held.link.anchor.text):
            return False
        if name not in self._tries and not self._enter(name):
            return False
        if self._tries[name] < TRIES:
            self._tries[name] += 1
            self._let_through(url)
            return True
        waiting = self._waiting.setdefault(name, {})
        if len(waiting) < _WAIT:
            waiting[url] = held
        return False

    def _let_through(self, url: str) -> None:
        self._trying.add(url)
        self._listed[domain_of(url)] += 1

    def _enter(self, name: str) -> bool:
        """A shape is known from now on; whether there is room for it."""
        self._tries[name] = 0
        self._places.add(_domain(name))
        if fullest := self._places.too_many():
            newest = next(one for one in reversed(self._tries) if _domain(one) == fullest)
            del self._tries[newest]
            self._waiting.pop(newest, None)
            self._places.add(fullest, -1)
        return name in self._tries

    def ended(self, url: str, *, success: bool) -> bool:
        """What came of a URL: whether its page is relevant and brought news. Whether a shape was
        let in by it."""
        if not success or not action(url):
            return False
        name = shape(url)
        if name in self._let_in:
            return False
        self._let_in[name] = None
        self._places_in.add(_domain(name))
        if fullest := self._places_in.too_many():
            newest = next(one for one in reversed(self._let_in) if _domain(one) == fullest)
            del self._let_in[newest]
            self._places_in.add(fullest, -1)
        if name not in self._let_in:
            return False
        self._ready += self._waiting.pop(name, {}).values()
        return True

    def release(self) -> list[HeldLink]:
        """The links that waited for what was let in since the last time."""
        ready, self._ready = self._ready, []
        return ready

    def save(self) -> State:
        return {
            "let_in": list(self._let_in),
            "tries": list(self._tries.items()),
            "trying": sorted(self._trying),
            "waiting": [
                [held.row() for held in waiting.values()] for waiting in self._waiting.values()
            ],
            "ready": [held.row() for held in self._ready],
        }

    def load(self, state: State) -> None:
        self._let_in, self._trying = dict.fromkeys(state["let_in"]), set(state["trying"])
        self._tries = OrderedDict(map(tuple, state["tries"]))
        self._listed = Counter(map(domain_of, self._trying))
        self._places, self._places_in = WaitingPlaces(_SHAPES), WaitingPlaces(_SHAPES)
        for name in self._tries:
            self._places.add(_domain(name))
        for name in self._let_in:
            self._places_in.add(_domain(name))
        every = [[HeldLink.of(row) for row in rows] for rows in state["waiting"]]
        self._waiting = {
            shape(rows[0].link.url): {held.link.url: held for held in rows}
            for rows in every
            if rows
        }
        self._ready = [HeldLink.of(row) for row in state["ready"]]


def _domain(name: str) -> str:
    """Of a shape."""
    return registrable_domain(name.partition(" ")[0])


def _is_title(text: str) -> bool:
    """Whether a link's text is like a document's title: two words or more, none of which names an
    action."""
    words = [word for word in re.findall(r"[^\W\d_]+", text.lower()) if len(word) > 1]
    return len(words) > 1 and _ACTS.isdisjoint(words)
