"""Parameters of URLs that say nothing: the same page comes whatever their value is.

What a parameter does is known of a path only where URLs that differ in it alone were read there: of
`/about?id=1` every value gives the same page, and of `/news?id=1` each gives another. So one is
left out at the paths at which it was tried, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np

from spoor.bounded import BoundedDict, forget
from spoor.columns import column
from spoor.hashing import hash64
from spoor.types import State
from spoor.web.url_groups import MAX_PARAMETERS
from spoor.web.urls import parameters, without

COPIES = 2
"""Copies at a path under URLs that differ in one parameter, from which on it is left out there."""

PATHS = 3
"""Paths of a host at which a parameter is idle, from which on one copy is enough at another; unless
there is one at which it is not."""

MOST_PATHS = 1_000
"""Pairs of path and parameter of a host that are known; the oldest leave."""

MOST_URLS = 4_000
"""The same of URLs without a parameter."""

_UNKNOWN, _IDLE, _TELLS = range(3)


class _Host:
    """What is known of the parameters of a host."""

    def __init__(self) -> None:
        self.tried: dict[int, tuple[str, int, int]] = {}
        """Path and parameter → the parameter, copies that differ in it alone, and other pages."""
        self.contents = BoundedDict[int, int](MOST_URLS)
        """A URL without a parameter, and that → the content read first."""
        self._paths: dict[str, list[int]] = {}
        """Parameter → paths at which nothing is known of it, at which it is idle, and at which it
        tells pages apart."""

    def count(self, key: int, name: str, same: int, others: int) -> None:
        """So many more copies and other pages at a path."""
        before = self.tried.get(key, (name, 0, 0))
        self.tried[key] = (name, before[1] + same, before[2] + others)
        paths = self._paths.setdefault(name, [0, 0, 0])
        paths[_kind(*before[1:])] -= before != (name, 0, 0)
        paths[_kind(*self.tried[key][1:])] += 1
        if len(self.tried) > MOST_PATHS:
            name, *counts = self.tried.pop(next(iter(self.tried)))
            self._paths[name][_kind(*counts)] -= 1
            if not any(self._paths[name]):
                del self._paths[name]

    def is_idle(self, key: int, name: str) -> bool:
        """Whether a parameter says nothing at a path."""
        _, same, others = self.tried.get(key, (name, 0, 0))
        if not same or same <= others:
            return False
        paths = self._paths[name]
        return same >= COPIES or (paths[_IDLE] >= PATHS and not paths[_TELLS])


class IdleParameters:
    """The parameters of all hosts. Some 2 µs a parameter of a URL."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def see(self, url: str, host: str, content: int) -> None:
        """A page came at a URL that nobody else chose: who chooses URLs chooses which parameters
        are tried. `content`: 64 bits of what it says."""
        path, parts = parameters(url)
        known = self._hosts.get(host)
        if known is None:
            known = self._hosts[host] = _Host()
        for name in _names(parts):
            rest = without(url, frozenset((name,)))
            key = hash64(f"{rest} {name}")
            before = known.contents.get(key, known.contents.get(hash64(rest)))
            if before is None:
                known.contents[key] = content
            else:
                known.count(hash64(f"{path} {name}"), name, before == content, before != content)
        known.contents[hash64(url)] = content

    def without(self, url: str, host: str) -> str:
        """A URL without the parameters that say nothing at its path."""
        known = self._hosts.get(host)
        if known is None or not known.tried or "?" not in url:
            return url
        path, parts = parameters(url)
        idle = [name for name in _names(parts) if known.is_idle(hash64(f"{path} {name}"), name)]
        return without(url, frozenset(idle)) if idle else url

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        forget(left, self._hosts)

    def save(self) -> State:
        """Its state."""
        return {
            host: {
                "paths": column(known.tried, len(known.tried), np.uint64),
                "tried": [list(counts) for counts in known.tried.values()],
                "contents": column(
                    chain.from_iterable(known.contents.items()), 2 * len(known.contents), np.uint64
                ),
            }
            for host, known in self._hosts.items()
        }

    def load(self, state: State) -> None:
        self._hosts = {}
        for host, saved in state.items():
            known = self._hosts[host] = _Host()
            for key, counts in zip(saved["paths"].tolist(), saved["tried"], strict=True):
                known.count(key, *counts)
            for key, content in saved["contents"].reshape(-1, 2).tolist():
                known.contents[key] = content


def _kind(same: int, others: int) -> int:
    if others and others >= same:
        return _TELLS
    return _IDLE if same >= COPIES else _UNKNOWN


def _names(parts: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(part.partition("=")[0] for part in parts))[:MAX_PARAMETERS]
