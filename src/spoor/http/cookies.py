"""Cookies: those of the user's file, and those that sites set, by RFC 6265 with public suffixes.

The jar is aiohttp's. What is added here: no site sets a cookie for a public suffix (`co.uk`); what
came over https is never sent over http; there is a bound on what the cookies of one site, with all
its hosts, take, and those of all; and the user's file is read as curl and yt-dlp read it.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Collection, Mapping
from http.cookies import Morsel
from pathlib import Path
from typing import Any

import aiohttp
from yarl import URL

from spoor.errors import InputError
from spoor.files import read_json
from spoor.setting import normal_host
from spoor.web.urls import is_public_suffix, registrable_domain

MOST_BYTES = 4 << 20
"""Of a file of cookies; more than is kept of all sites."""
MOST_HELD = 2 << 20
MOST_OF_SITE = 1 << 17
"""Bytes that the cookies of all sites, and those of one, may take in the file; beyond, the oldest
leave."""
MOST_SENT = 7_000
"""Bytes of all cookies of a request: many servers refuse a line of more than 8 KiB, and another
host of the same domain could have them refuse every request."""
_LONGEST = 4096
"""Bytes of one cookie (RFC 6265, section 6.1)."""
_LONGEST_ATTRIBUTE = 1024
"""Bytes (RFC 6265bis, section 5.6)."""
_FRAME = 800
"""Bytes that a cookie counts beside its own, more than the names of its fields take in the file: so
all sites have fewer than the 3,000 from which on aiohttp's jar sorts all for each that comes."""
_SAVE_EVERY = 1.0
"""Seconds between two times that changed cookies are saved."""


class _Jar(aiohttp.CookieJar):
    """Of one run."""

    def __init__(self) -> None:
        no_loop: Any = object()  # a jar keeps its loop, and does nothing with it
        super().__init__(unsafe=True, quote_cookie=False, loop=no_loop)
        self._sizes: dict[str, int] = {}
        """Site → bytes of its cookies, the one that set any last at the end."""

    def secure_names(self, site: str) -> set[str]:
        """Names of a site's cookies that go over https only."""
        return {
            one.key for one in self if one["secure"] and registrable_domain(one["domain"]) == site
        }

    def receive(
        self, cookies: Mapping[str, Morsel[str]], url: URL, secure: Collection[str] = ()
    ) -> bool:
        """Take what a reply sets; whether it was anything. `secure`: names that only https may
        set."""
        host = url.raw_host or ""
        try:
            URL.build(scheme="https", host=host)
        except ValueError:  # the file of a jar with its cookies would not be read again
            return False
        taken = []
        for name, morsel in cookies.items():
            if name.startswith("__") and not _keeps_prefix(name, morsel, url):
                continue
            if url.scheme != "https" and name in secure:
                continue  # RFC 6265bis, section 5.7: whoever is on the way would be the user
            if len(name) + len(morsel.value) > _LONGEST:
                continue
            if any(len(str(value)) > _LONGEST_ATTRIBUTE for value in morsel.values()):
                continue
            domain = morsel["domain"].strip(".").lower()
            if domain and domain != host and is_public_suffix(domain):
                continue
            if domain == host and (is_public_suffix(domain) or ":" in domain):
                morsel["domain"] = ""
            if url.scheme == "https":
                morsel["secure"] = True
            elif morsel["secure"]:
                continue  # RFC 6265bis, section 5.7: only a secure origin sets one
            taken.append((name, morsel))
        self.update_cookies(taken, url)
        if taken:
            self._bound(registrable_domain(host))
        return bool(taken)

    def _bound(self, site: str) -> None:
        """Let the oldest cookies of a site leave, and those of the oldest sites, where there are
        too many."""
        its = [one for one in self if registrable_domain(one["domain"]) == site]
        sizes = [_size(one) for one in its]
        leave, of_site = set[int](), sum(sizes)
        for one, size in zip(its, sizes, strict=True):
            if of_site <= MOST_OF_SITE:
                break
            leave.add(id(one))
            of_site -= size
        self._sizes.pop(site, None)
        self._sizes[site] = of_site
        sites = set[str]()
        while sum(self._sizes.values()) > MOST_HELD:
            sites.add(oldest := next(iter(self._sizes)))
            del self._sizes[oldest]
        if leave or sites:
            self.clear(lambda one: id(one) in leave or registrable_domain(one["domain"]) in sites)

    def load(self, file_path: Any) -> None:
        super().load(file_path)
        self._sizes.clear()
        for one in self:
            site = registrable_domain(one["domain"])
            self._sizes[site] = self._sizes.get(site, 0) + _size(one)


class Cookies:
    """What is sent and kept in one run.

    `given`: a file of the user's, in the form of Netscape. `kept`: where the cookies that sites set
    are kept, None where they are not taken. `is_plain`: whether the user named a host by http: a
    cookie of the file that may go over http goes so to such a host only. Raises InputError where a
    file cannot be read.
    """

    def __init__(
        self,
        given: str = "",
        kept: Path | None = None,
        *,
        take: bool = True,
        is_plain: Callable[[str], bool] = lambda host: False,
    ) -> None:
        self._given = _Jar()
        self._set = _Jar() if take else None
        self._kept = kept if take else None
        self._changed = False
        self._saved = 0.0
        if given:
            read_cookies(Path(given).expanduser(), self._given, is_plain)
        if self._kept is not None and self._kept.exists() and self._set is not None:
            _load(self._kept, self._set)

    def header(self, url: URL) -> str:
        """The value of `Cookie` for a request, of at most MOST_SENT bytes; empty where there is
        none. A value that a site set goes before that of the file; where there are too many, those
        of the file, and then those of the host itself, go before what another host set for the
        whole domain."""
        given = dict(self._given.filter_cookies(url)) if self._given else {}
        its = dict(self._set.filter_cookies(url)) if self._set else {}
        pairs = {name: f"{name}={one.value}" for name, one in {**given, **its}.items()}
        if sum(map(len, pairs.values())) + 2 * len(pairs) > MOST_SENT:
            own = {one.key for one in self._set or () if one["domain"] == url.raw_host}
            pairs = _first(pairs, lambda name: (name not in given, name not in own))
        return "; ".join(pairs.values())

    def receive(self, reply: aiohttp.ClientResponse, url: URL) -> None:
        """Take what a reply sets."""
        if self._set is not None and "Set-Cookie" in reply.headers:
            secure = set[str]()
            if url.scheme != "https":
                site = registrable_domain(url.raw_host or "")
                secure = self._given.secure_names(site) | self._set.secure_names(site)
            self._changed |= self._set.receive(reply.cookies, url, secure)
            self.save(least=_SAVE_EVERY)

    def save(self, *, least: float = 0.0) -> None:
        """Keep what changed, in a file that only its user may read, if the last time is so many
        seconds ago. Raises OSError."""
        if not self._changed or self._kept is None or self._set is None:
            return
        if time.monotonic() - self._saved < least:
            return
        part = self._kept.with_name(f"{self._kept.name}.part")
        part.unlink(missing_ok=True)
        self._set.save(part)
        os.replace(part, self._kept)
        self._changed, self._saved = False, time.monotonic()


def _keeps_prefix(name: str, morsel: Morsel[str], url: URL) -> bool:
    """Whether a cookie is as its name promises (RFC 6265bis, section 4.1.3)."""
    folded = name.lower()
    secured = url.scheme == "https" and bool(morsel["secure"])
    if folded.startswith("__host-"):
        return secured and morsel["path"] == "/" and not morsel["domain"]
    return secured or not folded.startswith("__secure-")


def _size(cookie: Morsel[str]) -> int:
    """Bytes of a cookie in the file."""
    values = (cookie.key, cookie.value, cookie.coded_value, *map(str, cookie.values()))
    return len(json.dumps(values)) + _FRAME


def _first(pairs: Mapping[str, str], rank: Callable[[str], Any]) -> dict[str, str]:
    """As many of the cookies as MOST_SENT holds, those of a low rank first."""
    sent, left = {}, MOST_SENT
    for name in sorted(pairs, key=rank):
        if len(pairs[name]) + 2 <= left:
            left -= len(pairs[name]) + 2
            sent[name] = pairs[name]
    return sent


def _load(path: Path, jar: _Jar) -> None:
    try:
        if path.is_symlink():
            raise ValueError
        read_json(path, MOST_BYTES)  # aiohttp takes what is no JSON for a pickle
        jar.load(path)
    except Exception:  # whatever a stranger wrote there
        raise InputError(f"{path} is damaged; delete it to go on without its cookies") from None


def read_cookies(path: Path, jar: _Jar, is_plain: Callable[[str], bool]) -> None:
    """Read a `cookies.txt` into a jar: seven columns with tabs between them (domain, whether
    subdomains are meant, path, whether https only, Unix seconds of its end or 0, name, value);
    lines that begin with `#` are left out, but those with `#HttpOnly_`. Raises InputError, which
    names file and line, and no value."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        lines = data.decode("utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"cannot read --cookies {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"--cookies {path} is no text in UTF-8") from None
    if len(data) > MOST_BYTES:
        raise InputError(f"--cookies {path} has more than {MOST_BYTES:,} bytes")
    for number, line in enumerate(lines, 1):
        line = line.removeprefix("#HttpOnly_")
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) == 6:
            columns.append("")  # a cookie without a value, its last tab lost
        try:
            domain, below, where, secure, ends, name, value = columns
            end = float(ends or 0)
            if not {below.upper(), secure.upper()} <= {"TRUE", "FALSE"}:
                raise ValueError
            if not name or not domain or not name.isprintable() or not value.isprintable():
                raise ValueError
            if not math.isfinite(end):
                raise ValueError
            host = normal_host(domain.lstrip("."))
            place = URL.build(scheme="https", host=host)
        except ValueError:
            raise InputError(
                f"--cookies {path}, line {number} is not of seven columns with tabs between them, "
                "as a browser's cookies.txt has them"
            ) from None
        if 0 < end < time.time():
            continue
        # Names that `Morsel.set` refuses: servers set them, and browsers keep them.
        morsel: Morsel[str] = Morsel()
        state = {"key": name, "value": value, "coded_value": value}
        morsel.__setstate__(state)  # type: ignore[attr-defined]
        morsel["path"] = where or "/"
        morsel["secure"] = secure.upper() == "TRUE" or not is_plain(host)
        if below.upper() == "TRUE" and not is_public_suffix(host):
            morsel["domain"] = host
        if end:
            morsel["max-age"] = str(int(end - time.time()) + 1)
        jar.update_cookies([(name, morsel)], place)
