"""Looks up the addresses of hosts, so that a name server that is slow or mute keeps nobody waiting
but those who asked for its names.

Look-ups have threads of their own, which neither the event loop nor the end of the process waits
for, and a bound on how many there are; names whose look-up was late and in vain have a quarter of
them. Names that find no thread wait in line, and keep their place there. Addresses are kept; those
that are old are used while they are looked up anew (RFC 8767).
"""

from __future__ import annotations

import asyncio
import resource
import socket
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from aiohttp.abc import AbstractResolver, ResolveResult

from spoor.durations import DAY

_LOOK_UPS = 1024
"""Look-ups at a time, if the process may open `_FILES` files for each: the system gives one up
after 10 seconds for each name server. A thread that waits takes 20 KB, and a socket."""
_FILES = 4
_LATE_SHARE = 4
"""One look-up in so many is for names whose last one was late, and brought nothing."""
_KEEP = 300.0
_STALE = DAY
"""Seconds that addresses are used, and that they are where new ones are not to be had."""
_KEEP_FAILURE = 5.0
"""Seconds that a name without addresses is not looked up again."""
_FRESH = 1.0
"""Seconds that new addresses are waited for where there are old ones; a look-up in vain that took
longer was late."""
_NAMES = 50_000
"""Names that are kept, and that wait."""
MOST_KEPT = 64
"""Addresses of a name that are kept: an answer may have thousands, and each connection looks at
them."""


@dataclass(frozen=True, slots=True)
class _Known:
    addresses: Sequence[ResolveResult] | OSError
    at: float
    """Loop time."""
    keep: float
    late: bool = False
    """Whether the last look-up was late, and brought nothing."""


class Names(AbstractResolver):
    """The system's resolver, for one event loop. `all_kinds`: it also looks for addresses of a kind
    (IPv4, IPv6) that this machine does not have."""

    def __init__(
        self, *, look_ups: int | None = None, keep: float = _KEEP, all_kinds: bool = False
    ) -> None:
        self._flags = 0 if all_kinds else socket.AI_ADDRCONFIG
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._pending: dict[str, asyncio.Future[Sequence[ResolveResult] | OSError]] = {}
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._waiting_late: dict[str, None] = {}
        """Names whose look-up has not begun, in the order in which they were asked for; those with
        old addresses first, and those that were late apart."""
        self._running: dict[str, float] = {}
        """Name → when its look-up began."""
        self._running_late: set[str] = set()
        """Of these, those that were late before."""
        self._look_ups = _most_look_ups() if look_ups is None else look_ups
        self._keep = keep
        self._loop = asyncio.get_running_loop()

    def knows(self, host: str) -> bool:
        """Whether its addresses are known, and not old."""
        known = self._known.get(host)
        return known is not None and self._loop.time() - known.at <= known.keep

    def waits(self, host: str) -> bool:
        """Whether its look-up has not begun, since others come before it."""
        return host in self._waiting or host in self._waiting_late

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
        everybody gave up keeps its place in line, since they will ask again."""
        pending = self._pending.get(host)
        if pending is None:
            if len(self._pending) >= _NAMES:
                return OSError("too many names wait to be looked up")
            pending = self._pending[host] = self._loop.create_future()
            known = self._known.get(host)
            if known is not None and known.late:
                self._waiting_late[host] = None
            else:
                self._waiting[host] = None
                if known is not None and not isinstance(known.addresses, OSError):
                    self._waiting.move_to_end(host, last=False)
            self._start()
        return await asyncio.shield(pending)

    def _start(self) -> None:
        while len(self._running) < self._look_ups:
            most_late = max(1, self._look_ups // _LATE_SHARE)
            late = bool(self._waiting_late) and len(self._running_late) < most_late
            waiting = self._waiting_late if late else self._waiting
            if not waiting:
                return
            host = next(iter(waiting))
            thread = threading.Thread(
                target=self._in_thread, args=(host,), name="look-up", daemon=True
            )
            failed: RuntimeError | None = None
            try:
                thread.start()
            except RuntimeError as error:  # the system has no more threads
                if self._running:
                    return
                failed = error
            del waiting[host]
            self._running[host] = self._loop.time()
            if late:
                self._running_late.add(host)
            if failed is not None:
                self._loop.call_soon(self._ended, host, OSError(str(failed)))
                return

    def _in_thread(self, host: str) -> None:
        found: Sequence[ResolveResult] | OSError
        try:
            found = _addresses(host, self._flags)
        except Exception as error:  # a name that cannot be encoded is a UnicodeError
            found = error if isinstance(error, OSError) else OSError(str(error))
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._ended, host, found)

    def _ended(self, host: str, found: Sequence[ResolveResult] | OSError) -> None:
        now = self._loop.time()
        late = now - self._running.pop(host) > _FRESH
        self._running_late.discard(host)
        known = self._known.get(host)
        if not isinstance(found, OSError):
            self._known[host] = _Known(found, now, self._keep)
        elif known is None or isinstance(known.addresses, OSError):
            self._known[host] = _Known(found, now, _KEEP_FAILURE, late)
        else:
            self._known[host] = replace(known, late=late)
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
        self._waiting_late.clear()
        for pending in self._pending.values():
            pending.cancel()


def _most_look_ups() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _LOOK_UPS if files == resource.RLIM_INFINITY else max(1, min(_LOOK_UPS, files // _FILES))


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
