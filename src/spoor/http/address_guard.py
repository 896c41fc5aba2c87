"""Which addresses may be connected to. What is refused here is refused before any connection.

With `connect_to` there is one: every name leads there, and nothing else is ever connected to.

Three checks: an address in a URL is checked before the request, since no resolver sees it; a
name passes the resolver, which refuses one whose addresses are not public; and every address passes
the socket factory just before the connection, whatever the other two found.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from functools import cached_property
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from spoor.http.names import MOST_KEPT, Names
from spoor.link_filter.scope import OTHER_SERVICES
from spoor.setting import endpoint, is_address, normal_host
from spoor.settings import Settings
from spoor.web.urls import host as host_of

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_SPECIAL = [
    ipaddress.ip_network(text)
    for text in (
        # IANA's registries of special addresses: what Python knows of them hangs on its version.
        *("192.0.0.0/24", "192.88.99.0/24", "64:ff9b:1::/48", "100::/63", "3fff::/20", "5f00::/16"),
        "168.63.129.16/32",  # of the host below each machine of Azure
    )
]


MOST_ADDRESSES = 16
"""Of a name, that are connected to."""


class BlockedAddressError(OSError):
    """An address that a crawler has no business with."""


def is_public(text: str) -> bool:
    """Whether an address is out on the Internet: not loopback, private, link-local (where clouds
    keep their metadata), shared, multicast, reserved, unspecified or of a cloud's host, nor an
    IPv6 one that stands for such an IPv4 one."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None and address.teredo is not None:
            inner = address.teredo[1]
        if inner is not None:
            return is_public(str(inner))
        if address.is_site_local:
            return False
    if any(address in network for network in _SPECIAL):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved


class AddressGuard(AbstractResolver):
    """Resolver and socket factory of the live driver."""

    def __init__(self, settings: Settings, resolver: AbstractResolver | None = None) -> None:
        self._names = frozenset(normal_host(name) for name in settings.allow_private)
        self._connect_to = endpoint(settings.connect_to)
        self._seeds = settings.seeds
        # Names add their addresses when they are resolved.
        self._open = {name for name in self._names if is_address(name)}
        self._resolver = resolver
        self._all_kinds = False

    def look_for_proxies(self) -> None:
        """From now on names are looked up for proxies, too, which may have addresses of a kind
        (IPv4, IPv6) that this machine does not have. Before any look-up."""
        self._all_kinds = True

    def check(self, host: str, port: int) -> None:
        """Raises BlockedAddressError for an address in a URL that may not be connected to, and for
        a port of another service that no seed has: robots.txt and what pages need may lead to any.

        That a name was let in lets in nobody who calls it by its address.
        """
        name = normal_host(host)
        if is_address(name):
            self._refuse(name, port, name in self._names)
        if str(port) not in OTHER_SERVICES:
            return
        if (f"[{name}]:{port}" if ":" in name else f"{name}:{port}") not in self._of_seeds:
            raise BlockedAddressError(f"port {port} is one of another service")

    @cached_property
    def _of_seeds(self) -> frozenset[str]:
        """Hosts and ports that the user named."""
        return frozenset(map(host_of, self._seeds))

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Addresses of a name that may be connected to. Raises BlockedAddressError for none."""
        if self._connect_to is not None:
            address, port = self._connect_to
            return [_result(host, address, port)]
        found = await self._all(host, port, family)
        if normal_host(host) in self._names:
            self._open |= {normal_host(result["host"]) for result in found}
            return found
        public = [result for result in found if is_public(result["host"])][:MOST_ADDRESSES]
        if found and not public:
            raise BlockedAddressError(f"{host} is at {found[0]['host']}, not a public address")
        return public

    async def _all(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        if self._resolver is None:
            self._resolver = Names(all_kinds=self._all_kinds)
        return await self._resolver.resolve(host, port, family)

    async def check_name(self, host: str) -> None:
        """Raises BlockedAddressError for a name that a proxy may not be asked for: the proxy
        chooses among all its addresses."""
        name = normal_host(host)
        if name in self._names or is_address(name):
            return
        known: list[ResolveResult] = []
        with suppress(OSError):
            known = await self._all(host)
        if not known:
            raise BlockedAddressError(
                f"{host} has no address here, so the proxy might find it at one that is not "
                "public; name the host by --allow-private if you mean it"
            )
        if len(known) >= MOST_KEPT:
            raise BlockedAddressError(
                f"{host} has {MOST_KEPT} addresses and more, so the proxy might choose one that is "
                "not public; name the host by --allow-private if you mean it"
            )
        for one in known:
            if not is_public(one["host"]):
                raise BlockedAddressError(f"{host} is at {one['host']}, not a public address")

    def knows(self, host: str) -> bool:
        """Whether the addresses of a host, with its port if it has one, need no look-up now."""
        if self._connect_to is not None:
            return True
        name = _name_of(host)
        if is_address(name) or self._resolver is None:
            return is_address(name)
        knows = getattr(self._resolver, "knows", None)
        return knows is None or bool(knows(name))

    def waits(self, host: str) -> bool:
        """Whether the look-up of a host, with its port if it has one, has not begun, since those of
        others come before it."""
        return isinstance(self._resolver, Names) and self._resolver.waits(_name_of(host))

    async def look_up(self, host: str) -> None:
        """Wait until the addresses of a host, with its port if it has one, are known, or that it
        has none."""
        with suppress(OSError):
            await self.resolve(_name_of(host))

    async def addresses_of(self, host: str) -> tuple[str, ...]:
        """Where a host is, its port left out, sorted, IPv4 first; the host itself where nobody
        knows."""
        name = _name_of(host)
        if is_address(name):
            return (name,)
        try:
            found = {normal_host(result["host"]) for result in await self.resolve(name)}
        except OSError:
            found = set()
        return tuple(sorted(found, key=lambda one: (":" in one, one))) or (name,)

    def socket(self, info: tuple[Any, ...]) -> socket.socket:
        """A socket for an address about to be connected to. Raises BlockedAddressError."""
        family, kind, proto, _, sockaddr = info
        address = normal_host(str(sockaddr[0]))
        self._refuse(address, sockaddr[1], address in self._open)
        return socket.socket(family=family, type=kind, proto=proto)

    def _refuse(self, address: str, port: int, allowed: bool) -> None:
        """Raises BlockedAddressError unless this may be connected to; `allowed` by name."""
        if self._connect_to is not None:
            if (address, port) != self._connect_to:
                raise BlockedAddressError(f"{address} is not where --connect-to leads")
        elif not allowed and not is_public(address):
            raise BlockedAddressError(f"{address} is not a public address")

    async def close(self) -> None:
        if self._resolver is not None:
            await self._resolver.close()


def _name_of(host: str) -> str:
    """A host without its port."""
    return normal_host(host.partition("]")[0] if host[:1] == "[" else host.partition(":")[0])


def _result(name: str, address: str, port: int) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return ResolveResult(
        hostname=name,
        host=address,
        port=port,
        family=family,
        proto=socket.IPPROTO_TCP,
        flags=socket.AI_NUMERICHOST,
    )
