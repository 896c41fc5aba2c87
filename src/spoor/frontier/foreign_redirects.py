"""Redirects from other domains: they wait for the own links of the host to which they lead.

Pure. Whoever has many hosts may answer every link with a redirect to another host; as a redirect
goes before all open links, that host would get no turn for its own. So such redirects stand in a
line of their own, by host, and the first of it is called where the host has no open link, or after
`OWN_TURNS` other requests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spoor.types import LinkId

OWN_TURNS = 9
"""Requests of a host's own between two redirects from other domains."""

_NOBODY = -1


@dataclass(slots=True)
class _Line:
    waiting: list[LinkId] = field(default_factory=list)
    called: LinkId = _NOBODY
    """Whose turn it is; it waits for its host to be free."""
    turns: int = 0
    """Other requests since the last one of the line."""


class Strangers:
    """The lines of all hosts; a host without a redirect from another domain has none."""

    def __init__(self) -> None:
        self._lines: dict[str, _Line] = {}

    def __len__(self) -> int:
        return len(self._lines)

    def wait(self, host: str, link: LinkId) -> None:
        """A redirect joins the line of a host."""
        self._lines.setdefault(host, _Line()).waiting.append(link)

    def call(self, host: str, *, own: bool) -> LinkId | None:
        """Whose turn it is from now on, if anybody's; `own`: the host has open links."""
        line = self._lines.get(host)
        if line is None or line.called != _NOBODY or not line.waiting:
            return None
        if own and line.turns < OWN_TURNS:
            return None
        line.called, line.turns = line.waiting.pop(0), 0
        return line.called

    def taken(self, host: str, link: LinkId) -> None:
        """A request to the host begins."""
        line = self._lines.get(host)
        if line is None:
            return
        if link == line.called:
            line.called = _NOBODY
        elif link in line.waiting:
            line.waiting.remove(link)
        else:
            line.turns += 1
        if line.called == _NOBODY and not line.waiting:
            del self._lines[host]

    def save(self, numbers: Mapping[str, int]) -> list[int]:
        """The lines as numbers: of each its host, turns, who is called, and how many wait, who."""
        return [
            number
            for host, line in self._lines.items()
            for number in (
                numbers[host],
                line.turns,
                line.called,
                len(line.waiting),
                *line.waiting,
            )
        ]

    @classmethod
    def of(cls, saved: Iterable[int], names: list[str]) -> Strangers:
        """The lines that were saved; `names`: of the hosts, by number."""
        made, numbers = cls(), iter(saved)
        for host in numbers:
            turns, called, count = next(numbers), next(numbers), next(numbers)
            waiting = [next(numbers) for _ in range(count)]
            made._lines[names[host]] = _Line(waiting, called, turns)
        return made
