"""Whom a crawl asks as: headers, passwords and tokens of its user, and the host of each.

Each is bound to one host. It goes there over https; over plain http only where the user named that
host as a seed by http and never by https. So nothing follows a redirect or a link to another host,
a subdomain or another port, and nothing that was meant for https is ever sent in the clear. What
is sent is part of no archive, journal, report, log or export.

Passwords and tokens come from a netrc file (`--netrc`) or from the environment: `SPOOR_BASIC` and
`SPOOR_BEARER` with one `HOST=USER:PASSWORD` or `HOST=TOKEN` a line. They are never taken from a URL
or from the command line, which every user of the machine can read.
"""

from __future__ import annotations

import base64
import errno
import netrc
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from yarl import URL

from spoor.errors import InputError
from spoor.setting import host_and_port, split_header
from spoor.settings import Settings

Headers = tuple[tuple[str, str], ...]

BASIC = "SPOOR_BASIC"
BEARER = "SPOOR_BEARER"

_MOST_PLACES = 10_000
"""Origins whose headers are remembered."""


@dataclass(frozen=True, slots=True)
class _Given:
    """A header for one host."""

    host: str
    port: int | None
    """None where the user named none: the usual one of https, and those of the seeds."""
    name: str
    value: str = field(repr=False)


class Credentials:
    """The headers that belong to a URL. Raises InputError where a netrc file or a variable of the
    environment cannot be read."""

    def __init__(self, settings: Settings, environ: Mapping[str, str] = os.environ) -> None:
        self._seeds: dict[str, set[tuple[str, int | None]]] = {}
        for url in map(URL, settings.seeds):
            self._seeds.setdefault(url.raw_host or "", set()).add((url.scheme, url.port))
        # What is given by a header of its own goes before a password of the same host.
        self._passwords = [*_from_netrc(settings.netrc), *_from_environment(environ)]
        self._given: dict[str, list[_Given]] = {}
        """By host."""
        for one in (*self._passwords, *self._from_headers(settings.header)):
            self._given.setdefault(one.host, []).append(one)
        self._named: dict[str, set[str]] = {}
        """Domain → by which schemes the user named hosts of it as seeds."""
        for host, origins in self._seeds.items():
            labels, schemes = host.split("."), {scheme for scheme, _ in origins}
            for at in range(len(labels)):
                self._named.setdefault(".".join(labels[at:]), set()).update(schemes)
        self._known: dict[URL, Headers] = {}

    @property
    def are_given(self) -> bool:
        """Whether there are any."""
        return bool(self._given)

    def headers(self, url: URL) -> Headers:
        """What is sent with a request for this URL."""
        if not self._given:
            return ()
        origin = url.origin()
        if origin not in self._known:
            if len(self._known) >= _MOST_PLACES:
                self._known.clear()
            chosen = {
                one.name.lower(): (one.name, one.value)
                for one in self._given.get(url.raw_host or "", ())
                if self._belongs(one, origin)
            }
            self._known[origin] = tuple(chosen.values())
        return self._known[origin]

    def is_plain(self, domain: str) -> bool:
        """Whether the user named hosts of a domain as seeds by http, and none by https."""
        return self._named.get(domain) == {"http"}

    def password(self, host: str, port: int) -> tuple[str, str]:
        """(user, password) for a proxy; empty where the user gave none. One without a port is not
        for a proxy on a seed's host: it is that site's."""
        ports = (port,) if host in self._seeds else (port, None)
        fitting = [
            one for of in ports for one in self._passwords if (one.host, one.port) == (host, of)
        ]
        for one in fitting:
            if one.value.startswith("Basic "):
                user, _, password = base64.b64decode(one.value[6:]).decode().partition(":")
                return user, password
        return "", ""

    def _belongs(self, given: _Given, origin: URL) -> bool:
        if origin.raw_host != given.host or given.port not in (None, origin.port):
            return False
        seeds = self._seeds.get(given.host, set())
        named = (origin.scheme, origin.port) in seeds
        if origin.scheme == "https":
            return named or given.port is not None or origin.port == 443
        return named and "https" not in {scheme for scheme, _ in seeds}

    def _from_headers(self, lines: tuple[str, ...]) -> Iterator[_Given]:
        for line in lines:
            place, name, value = split_header(line)
            if place:
                yield _Given(*host_and_port(place), name, value)
            else:
                for host in self._seeds:
                    yield _Given(host, None, name, value)


def basic(user: str, password: str) -> str:
    """The value of a header that names them (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _from_netrc(name: str) -> Iterator[_Given]:
    """Of the machines of a netrc file; its `default`, which would go to any host, is left out."""
    if not name:
        return
    path = Path(name).expanduser()
    try:
        if path.is_char_device():  # a pipe may hold what a program prints
            raise OSError(errno.EINVAL, "not a plain file")
        hosts = netrc.netrc(str(path)).hosts
    except netrc.NetrcParseError as error:  # its message may hold a password
        raise InputError(f"--netrc {name}: line {error.lineno} is no netrc") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InputError(f"cannot read --netrc {name}: {reason}") from None
    for host, (user, _, password) in hosts.items():
        if host != "default":
            yield _Given(*host_and_port(host), "Authorization", basic(user, password or ""))


def _from_environment(environ: Mapping[str, str]) -> Iterator[_Given]:
    for variable in (BASIC, BEARER):
        for number, line in enumerate(environ.get(variable, "").splitlines(), 1):
            if not (line := line.strip()):
                continue
            host, _, secret = line.partition("=")
            user, colon, password = secret.partition(":")
            if not host or not secret or (variable == BASIC and not colon):
                form = "HOST=USER:PASSWORD" if variable == BASIC else "HOST=TOKEN"
                raise InputError(f"line {number} of the variable {variable} is not {form}")
            if not secret.isprintable() or not (variable == BASIC or secret.isascii()):
                raise InputError(f"line {number} of the variable {variable} is no plain text")
            value = basic(user, password) if variable == BASIC else f"Bearer {secret}"
            yield _Given(*host_and_port(host.strip()), "Authorization", value)
