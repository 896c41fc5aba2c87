"""Hosts that refuse are asked less."""

from __future__ import annotations

from spoor.protocols import Politeness
from spoor.types import Failed, Fetched, LiveReply

SLOWEST = 60.0
"""Seconds between two requests to a host that refuses, at most."""


class RefusingHosts:
    """Half as often each time that a host refuses, at least once in `SLOWEST` seconds; and twice as
    often with each page that it gives, up to what it was."""

    def __init__(self, hosts: Politeness) -> None:
        self._hosts = hosts
        self._usual: dict[str, float] = {}
        """Host that refused → its delay before."""

    def see(self, host: str, reply: LiveReply) -> None:
        """A reply of a host."""
        if isinstance(reply, Failed) and reply.kind == "refused":
            delay = self._hosts.delay(host)
            self._usual.setdefault(host, delay)
            self._hosts.pace(host, max(delay, min(SLOWEST, 2.0 * max(delay, 1.0))))
        elif isinstance(reply, Fetched) and host in self._usual:
            delay = self._hosts.delay(host) / 2
            usual = self._usual[host]
            if delay <= usual:
                del self._usual[host]
            self._hosts.pace(host, max(delay, usual))
