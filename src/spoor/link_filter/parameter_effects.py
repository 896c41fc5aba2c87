"""Which parameters of URLs matter: the same page without one, again and again, says it does not.

Sessions, sources and prints are such. A URL with one is not asked for where the page without it, or
this page with it, was fetched.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import remember
from spoor.columns import column
from spoor.hashing import hash64
from spoor.types import State
from spoor.web.urls import host, parameters, without

_SAME = 4
"""Pages that are the same without a parameter, before it counts as one that does not matter."""
_QUERY = 6
"""Parameters of a URL that are looked at one by one."""


class ParameterEffects:
    """What a crawl has seen of them. Every table is bounded. True once one does not matter."""

    def __init__(self) -> None:
        self._texts: OrderedDict[int, int] = OrderedDict()
        """URL, as it is and without each parameter → content of the first page there."""
        self._longer: OrderedDict[int, str] = OrderedDict()
        """URL without one of its parameters → `host?name=` of that one, of the first page so."""
        self._same: OrderedDict[str, list[int]] = OrderedDict()
        """`host?name=` → [pages that are the same without it, others]."""
        self._idle: OrderedDict[str, None] = OrderedDict()
        """Hosts that have had a parameter that does not matter."""

    def __bool__(self) -> bool:
        return bool(self._idle)

    def knows_without(self, url: str) -> bool:
        """Whether the page without all parameters was fetched."""
        return hash64(parameters(url)[0]) in self._texts

    def note(self, url: str, text: int, *, chosen: bool) -> list[str]:
        """Take in a page with a content; returns the parameters, as `host?name=`, of which it says
        that they matter. `chosen`: by another domain, so that it counts only where it says so."""
        matter: list[str] = []
        _, parts = parameters(url)
        names = {part.partition("=")[0] for part in parts[:_QUERY]}
        for name in sorted(names):
            key = hash64(without(url, frozenset((name,))))
            group = f"{host(url)}?{name}="
            before = self._texts.get(key)
            if before is not None:
                if not chosen or before != text:
                    self._compare(group, before, text, matter)
            elif not chosen:
                remember(self._texts, key, text)
                remember(self._longer, key, group)
        if chosen:
            return matter
        own = hash64(url)
        before = self._texts.get(own)
        if before is None:
            remember(self._texts, own, text)
        elif longer := self._longer.pop(own, ""):
            self._compare(longer, before, text, matter)
        return matter

    def _compare(self, group: str, before: int, text: int, matter: list[str]) -> None:
        """Count two pages that one parameter sets apart."""
        counts = self._same.get(group) or [0, 0]
        counts[before != text] += 1
        remember(self._same, group, counts)
        if self._is_idle(group):
            remember(self._idle, group.partition("?")[0], None)
        if before != text:
            matter.append(group)

    def _is_idle(self, group: str) -> bool:
        """Whether a parameter, `host?name=`, was seen not to matter."""
        same, others = self._same.get(group, (0, 0))
        return same >= _SAME and not others

    def repeats(self, url: str) -> str:
        """A parameter that does not matter, `host?name=`, where the page of a URL was fetched with
        it, or without all such; empty where it was not."""
        if not self._idle or host(url) not in self._idle:
            return ""
        longer = self._longer.get(hash64(url), "")
        if longer and self._is_idle(longer):
            return longer
        idle = self.idle(url)
        return idle[0] if idle and hash64(self.without_idle(url)) in self._texts else ""

    def without_idle(self, url: str) -> str:
        """The URL without its parameters that do not matter; the same one where it has none."""
        names = frozenset(name[:-1].partition("?")[2] for name in self.idle(url))
        return without(url, names) if names else url

    def idle(self, url: str) -> list[str]:
        """The parameters of a URL that do not matter, each as `host?name=`."""
        if not self._idle or host(url) not in self._idle:
            return []
        names = {part.partition("=")[0] for part in parameters(url)[1]}
        return list(filter(self._is_idle, (f"{host(url)}?{name}=" for name in sorted(names))))

    def save(self) -> State:
        longer = {name: at for at, name in enumerate(dict.fromkeys(self._longer.values()))}
        at = map(longer.__getitem__, self._longer.values())
        return {
            "texts": _pairs(self._texts, self._texts.values()),
            "longer": _pairs(self._longer, at),
            "parameters": list(longer),
            "same": [[name, *counts] for name, counts in self._same.items()],
        }

    def load(self, state: State) -> None:
        self._texts = OrderedDict(map(tuple, state["texts"].tolist()))
        names = state["parameters"]
        self._longer = OrderedDict((key, names[at]) for key, at in state["longer"].tolist())
        self._same = OrderedDict((name, counts) for name, *counts in state["same"])
        self._idle = OrderedDict(
            (name.partition("?")[0], None) for name in self._same if self._is_idle(name)
        )


def _pairs(keys: Collection[int], values: Iterable[int]) -> NDArray[np.uint64]:
    columns = [column(each, len(keys), np.uint64) for each in (keys, values)]
    return np.column_stack(columns)
