"""Which proxy a request goes through: the user's, or the environment's.

What a proxy may not reach is decided here, by the addresses of the name as they are seen here: a
name that is at no public address, or at none, is refused before the proxy hears of it, unless
`--allow-private` names it. A SOCKS5 proxy is then given the address, so that it looks nothing up;
an HTTP proxy is given the name, as it expects, and looks it up once more: so none of its addresses
may be other than public, of whatever kind.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from multidict import CIMultiDict
from yarl import URL

from spoor.errors import InputError
from spoor.http.credentials import Headers, basic
from spoor.setting import is_address, is_proxy, normal_host
from spoor.settings import Settings

_PORTS = {"http": 80, "https": 443, "socks5": 1080}


class SocksError(OSError):
    """What is wrong with what a SOCKS5 proxy answers."""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that its user named."""

    scheme: str
    """`http`, `https` or `socks5`."""
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def url(self) -> URL:
        """Without user and password."""
        return URL.build(scheme=self.scheme, host=self.host, port=self.port)

    @property
    def headers(self) -> Headers:
        """Those that are for the proxy alone."""
        return (("Proxy-Authorization", basic(self.user, self.password)),) if self.user else ()

    async def tunnel(self, address: str, port: int, timeout: float | None) -> socket.socket:
        """A socket that leads through a SOCKS5 proxy to an address. Raises OSError, also
        where the proxy refuses."""
        # Few crawls have one, and no start should wait for it.
        from python_socks import ProxyError, ProxyType
        from python_socks.async_.asyncio import Proxy as SocksProxy

        told = (self.user or None, self.password or None)
        known = SocksProxy(ProxyType.SOCKS5, self.host, self.port, *told, rdns=False)
        try:
            return await known.connect(address, port, timeout=timeout)
        except ProxyError as error:
            raise SocksError(str(error)) from error


class ByName(NamedTuple):
    """How a request is sent through an HTTP proxy, which is given the name of its host."""

    proxy: URL
    """Without user and password."""
    proxy_headers: CIMultiDict[str]
    """Of a request for a tunnel."""
    headers: Headers
    """Of the request itself, where the proxy reads it."""


class Proxies:
    """The proxy of each URL. `password`: (user, password) for a host and port, empty where there
    are none. Raises InputError for a variable of the environment that names no proxy."""

    def __init__(self, settings: Settings, password: Callable[[str, int], tuple[str, str]]) -> None:
        self._one: Proxy | None = None
        self._environment: dict[str, Proxy] = {}
        self._bypassed: dict[str, str] = {}
        if settings.proxy == "direct" or settings.connect_to:
            return
        if settings.proxy:
            self._one = _proxy(settings.proxy, "--proxy", password)
            return
        found = getproxies_environment()
        self._bypassed = {"no": found.pop("no", "")}
        for scheme in ("http", "https"):
            if url := found.get(scheme) or found.get("all", ""):
                self._environment[scheme] = _proxy(url, f"{scheme}_proxy", password)

    @property
    def are_given_names(self) -> bool:
        """Whether any of them looks up names by itself."""
        known = (self._one, *self._environment.values())
        return any(one is not None and one.scheme != "socks5" for one in known)

    def of(self, url: URL) -> Proxy | None:
        """The proxy for a URL; None where it is asked without."""
        if self._one is not None or not self._environment:
            return self._one
        host = url.raw_host or ""
        # The environment means others than this machine, whatever it leaves out.
        here = host == "localhost" or (is_address(host) and normal_host(host) in _HERE)
        if here or proxy_bypass_environment(f"{host}:{url.port}", self._bypassed):
            return None
        return self._environment.get(url.scheme)

    def by_name(self, url: URL) -> ByName | None:
        """How a request of a URL is sent through an HTTP proxy; None where it is asked without, or
        through one that is given an address."""
        proxy = self.of(url)
        if proxy is None or proxy.scheme == "socks5":
            return None
        headers = () if url.scheme == "https" else proxy.headers
        return ByName(proxy.url, CIMultiDict(proxy.headers), headers)


_HERE = ("127.0.0.1", "::1")


def _proxy(text: str, source: str, password: Callable[[str, int], tuple[str, str]]) -> Proxy:
    """Of a URL, which in the environment may have user and password and lack scheme and port."""
    text = text if "://" in text else f"http://{text}"
    try:
        url = URL(text)
        scheme = "socks5" if url.scheme == "socks5h" else url.scheme
        host, port = normal_host(url.raw_host or ""), url.explicit_port or _PORTS[scheme]
        if not is_proxy(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"):
            raise ValueError
    except (ValueError, KeyError):
        raise InputError(f"{source} is not the URL of an http, https or socks5 proxy") from None
    user, secret = unquote(url.raw_user or ""), unquote(url.raw_password or "")
    if not user:
        user, secret = password(host, port)
    return Proxy(scheme, host, port, user, secret)
