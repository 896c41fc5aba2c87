"""Looks up the addresses of hosts, so that a name server that is slow or mute keeps nobody waiting
but those who asked for its names.

Look-ups have threads of their own, which neither the event loop nor the end of the process waits
for, and a bound on how many there are. Addresses are kept; those that are old are used while they
are looked up anew (RFC 8767).
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from aiohttp.abc import AbstractResolver, ResolveResult

from spoor.durations import DAY

_LOOK_UPS = 256
"""Look-ups at a time: the system gives one up after 10 seconds for each name server."""
_KEEP = 300.0
_STALE = DAY
"""Seconds that addresses are used, and that they are where new ones are not to be had."""
_KEEP_FAILURE = 5.0
"""Seconds that a name without addresses is not looked up again."""
_FRESH = 1.0
"""Seconds that new addresses are waited for where there are old ones."""
_NAMES = 50_000
"""Names that are kept."""
MOST_KEPT = 64
"""Addresses of a name that are kept: an answer may have thousands, and each connection looks at
them."""


@dataclass(frozen=True, slots=True)
class _Known:
    addresses: Sequence[ResolveResult] | OSError
    at: float
    """Loop time."""
    keep: float


class Names(AbstractResolver):
    """The system's resolver, for one event loop. `all_kinds`: it also looks for addresses of a kind
    (IPv4, IPv6) that this machine does not have."""

    def __init__(
        self, *, look_ups: int = _LOOK_UPS, keep: float = _KEEP, all_kinds: bool = False
    ) -> None:
        self._flags = 0 if all_kinds else socket.AI_ADDRCONFIG
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._pending: dict[str, asyncio.Future[Sequence[ResolveResult] | OSError]] = {}
        self._waiting: dict[str, None] = {}
        """Names whose look-up has not begun, in the order in which they were asked for."""
        self._wanted: Counter[str] = Counter()
        """Name → who waits for it."""
        self._look_ups = look_ups
        self._running = 0
        self._keep = keep
        self._loop = asyncio.get_running_loop()

    def knows(self, host: str) -> bool:
        """Whether its addresses are known, and not old."""
        known = self._known.get(host)
        return known is not None and self._loop.time() - known.at <= known.keep

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Its addresses. Raises OSError where it has none."""
        if self.knows(host):
            found = self._known[host].addresses
        else:
            found = await self._fresh(host, self._known.get(host))
        if isinstance(found, OSError):
            raise found
        return [{**one, "port": port} for one in found if family in (0, one["family"])]

    async def _fresh(self, host: str, known: _Known | None) -> Sequence[ResolveResult] | OSError:
        usable = known is not None and self._loop.time() - known.at <= _STALE
        if known is None or not usable or isinstance(known.addresses, OSError):
            return await self._look_up(host)
        try:
            async with asyncio.timeout(_FRESH):
                found = await self._look_up(host)
        except TimeoutError:
            return known.addresses
        return known.addresses if isinstance(found, OSError) else found

    async def _look_up(self, host: str) -> Sequence[ResolveResult] | OSError:
        """Look a name up; there is one look-up at a time for each. One that did not begin before
        everybody gave up does not begin."""
        pending = self._pending.get(host)
        if pending is None:
            pending = self._pending[host] = self._loop.create_future()
            self._waiting[host] = None
            self._start()
        self._wanted[host] += 1
        try:
            return await asyncio.shield(pending)
        finally:
            self._wanted[host] -= 1
            if not self._wanted[host]:
                del self._wanted[host]
                if host in self._waiting:
                    del self._waiting[host], self._pending[host]

    def _start(self) -> None:
        while self._waiting and self._running < self._look_ups:
            host = next(iter(self._waiting))
            thread = threading.Thread(
                target=self._in_thread, args=(host,), name="look-up", daemon=True
            )
            try:
                thread.start()
            except RuntimeError as error:  # the system has no more threads
                if not self._running:
                    self._running += 1
                    del self._waiting[host]
                    self._loop.call_soon(self._ended, host, OSError(str(error)))
                return
            self._running += 1
            del self._waiting[host]

    def _in_thread(self, host: str) -> None:
        found: Sequence[ResolveResult] | OSError
        try:
            found = _addresses(host, self._flags)
        except Exception as error:  # a name that cannot be encoded is a UnicodeError
            found = error if isinstance(error, OSError) else OSError(str(error))
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._ended, host, found)

    def _ended(self, host: str, found: Sequence[ResolveResult] | OSError) -> None:
        self._running -= 1
        keep = _KEEP_FAILURE if isinstance(found, OSError) else self._keep
        known = self._known.get(host)
        if known is None or not isinstance(found, OSError):
            self._known[host] = _Known(found, self._loop.time(), keep)
            self._known.move_to_end(host)
        if len(self._known) > _NAMES:
            self._known.popitem(last=False)
        pending = self._pending.pop(host)
        if not pending.done():
            pending.set_result(found)
        self._start()

    async def close(self) -> None:
        """Nobody waits any more."""
        self._waiting.clear()
        for pending in self._pending.values():
            pending.cancel()


def _addresses(host: str, flags: int) -> list[ResolveResult]:
    rows = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM, flags=flags)
    found: list[ResolveResult] = []
    for family, _, proto, _, address in rows[:MOST_KEPT]:
        name = str(address[0])
        if family == socket.AF_INET6 and len(address) == 4 and address[3]:
            name, _ = socket.getnameinfo(address, socket.NI_NUMERICHOST | socket.NI_NUMERICSERV)
        found.append(
            ResolveResult(
                hostname=host,
                host=name,
                port=0,
                family=family,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
        )
    return found
