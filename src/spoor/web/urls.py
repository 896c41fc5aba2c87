"""URLs: parsing and joining by the WHATWG rules, a canonical form, hosts and their domains.

Two strings name the same page for Spoor when their canonical forms are equal.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import can_ada
from publicsuffixlist import PublicSuffixList

TRACKING_PARAMETERS = frozenset(
    "_ga _gl _hsenc _hsmi dclid fbclid gbraid gclid gclsrc igshid mc_cid mc_eid mkt_tok msclkid"
    " oly_anon_id oly_enc_id s_cid twclid vero_id wbraid wickedid yclid ysclid"
    " utm_campaign utm_cid utm_content utm_id utm_medium utm_name utm_pubreferrer utm_reader"
    " utm_referrer utm_social utm_source utm_swu utm_term utm_viz_id".split()
)
"""Query parameters that name a campaign or a click, never a page."""

SESSION_PARAMETERS = frozenset(
    "aspsessionid cfid cftoken jsessionid phpsessid sessid sessionid sid viewstate".split()
)
"""Query and path parameters that name a visit, never a page."""

MARKING_PARAMETERS = frozenset({"highlight", "hilit"})
"""Query parameters by which a page marks words that were searched for, unless they are numbers."""

_PARTED = re.compile("[&;]")
_NAMED = re.compile(r"(?:/[a-z][a-z_-]{0,20}:[^/:]+){2,}/?$")
"""Parameters at the end of a path."""

MAX_LENGTH = 8_192
"""Longer URLs are not fetched."""

_LONGEST_ORIGIN = len("https://") + 253 + len(":65535")
"""A host has at most 253 characters (RFC 1035, section 2.3.4)."""

_SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid|sessionid)=[^/?;]*", re.IGNORECASE)
_ROUTE = re.compile(r"#(?:/|!/?)[^/!]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_NOT_NORMAL = re.compile(
    r"%([0-9A-F][a-f]|[a-f][0-9A-Fa-f]|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])"
)
"""Escapes in lower case, and escapes of unreserved characters: a URL in another script is made of
thousands of escapes that are normal already."""
_BEFORE_QUERY = re.compile(r"[^?#]*")
_INDEX = re.compile(r"(?:^|/)index\.(?:html?|php)$")
_STRAY = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_NORMAL = {byte: chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in range(256)}
_WORD_BREAK = re.compile(r"[^0-9a-z]+|(?<=[a-z])(?=[0-9])|(?<=[0-9])(?=[a-z])")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DOTTED_QUAD = re.compile(r"\d+\.\d+\.\d+\.\d+")


def resolve(url: str, base: str | None = None, *, routes: bool = False) -> str:
    """WHATWG join of `url` with `base`, without fragment and userinfo.

    `routes`: a fragment that names a page for the scripts of a site (`#/guide`, `#!guide`) stays.
    `#/` and `#!` alone name the page itself. Raises ValueError where the result is no fetchable
    http(s) URL.
    """
    try:
        parsed = can_ada.parse(url) if base is None else _parsed(base) + url
    except (ValueError, TypeError):  # TypeError: half a surrogate pair
        against = "" if base is None else f" against {base!r}"
        raise ValueError(f"{url!r}{against} is not a valid URL") from None
    href: str = parsed.href
    if not href.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not an http or https URL")
    if "@" in href and (parsed.username or parsed.password):
        parsed.username = ""
        parsed.password = ""
        href = parsed.href
    if href.find("/", 8) > _LONGEST_ORIGIN:
        raise ValueError("a host has at most 253 characters")
    if href.startswith(("http://.", "https://.")):
        raise ValueError(f"the host of {url!r} begins with a dot, and is not a name")
    if "^" in href:  # can-ada's edition of the standard escapes it in paths not yet
        href = _BEFORE_QUERY.sub(lambda match: match[0].replace("^", "%5E"), href, count=1)
    if "#" not in href:
        return href
    page, mark, fragment = href.partition("#")
    return href if routes and _ROUTE.match(mark + fragment) else page


@lru_cache(maxsize=64)
def _parsed(base: str) -> can_ada.URL:
    return can_ada.parse(base)


def canonical(
    url: str, base: str | None = None, *, strip_tracking: bool = False, routes: bool = False
) -> str:
    """The one spelling of a URL: `resolve`, and percent-encoding in normal form.

    Escapes are upper-case, and unreserved characters are not escaped (RFC 3986, 6.2.2). With
    `strip_tracking` the parameters of `TRACKING_PARAMETERS`, `SESSION_PARAMETERS` and
    `MARKING_PARAMETERS` are dropped.
    Idempotent. `routes` and ValueError: as `resolve`.
    """
    href = resolve(url, base, routes=routes)
    if "%" in href:
        normal = _ESCAPES.sub(_normal_escapes, href) if _NOT_NORMAL.search(href) else href
        if normal != href and len(_STRAY.findall(normal)) != len(_STRAY.findall(href)):
            # A decoded escape and a stray percent sign made a new escape: "%%37%37".
            normal = _ESCAPES.sub(_normal_escapes, _STRAY.sub("%25", href))
        href = normal
        # An unescaped dot may have made a segment that the parser folds.
        if "/." in href:
            href = resolve(href, routes=routes)
    if strip_tracking:
        href = _strip(href)
    return href


def _normal_escapes(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("latin-1").translate(_NORMAL)


def forms(url: str) -> Iterator[str]:
    """A canonical URL, and others by which people name the same page: without what names a visit,
    with a slash at the end or `index.html` or without, by the other scheme, with `www.` or without.
    Some forty at most, the nearest first; each may be a page of its own."""
    for its in dict.fromkeys((url, canonical(plain(url), strip_tracking=True))):
        path, mark, query = its.partition("?")
        scheme, _, begin, rest = path.split("/", 3)
        folder = _INDEX.sub("", rest).rstrip("/")
        ends = dict.fromkeys((rest, folder, f"{folder}/"[not folder :], f"{folder}/index.html"))
        bare = begin.removeprefix("www.")
        for one, name, end in product(
            dict.fromkeys((scheme, "https:", "http:")),
            dict.fromkeys((begin, bare, f"www.{bare}")),
            ends,
        ):
            yield f"{one}//{name}/{end.lstrip('/')}{mark}{query}"


def plain(url: str) -> str:
    """A canonical URL as it is asked for: without the fragment that names a page for scripts."""
    return url.partition("#")[0]


def _strip(href: str) -> str:
    if "#" in href:
        page, mark, route = href.partition("#")
        return f"{_strip(page)}{mark}{route}"
    path, mark, query = href.partition("?")
    if ";" in path:
        begin = path.index("/", 8)  # a host may have such a sign, too
        path = resolve(path[:begin] + _SESSION_IN_PATH.sub("", path[begin:]))
    if not mark:
        return path
    parts = [part for part in query.split("&") if not _names_a_visit(part)]
    return f"{path}?{'&'.join(parts)}" if parts else path


def _names_a_visit(part: str) -> bool:
    name, _, value = part.partition("=")
    name = name.lower()
    if name in MARKING_PARAMETERS:
        return not value.isdecimal()
    return name in TRACKING_PARAMETERS or name in SESSION_PARAMETERS


def host(url: str) -> str:
    """Host of a canonical URL, with its port where that is not the scheme's own; `host.`, the same
    server, comes without its dot."""
    name = url.split("/", 3)[2]
    if name[-1:] == "." or ".:" in name:
        name = name.rstrip(".").replace(".:", ":")
    return name


def bare_host(url: str) -> str:
    """The same without `www.`: with and without it, it is one site."""
    return host(url).removeprefix("www.")


def origin(url: str) -> str:
    """Scheme and host of a canonical URL: what the data of a page is bound to."""
    return f"{url.partition(':')[0]}://{host(url)}"


def site(url: str) -> str:
    """Its scheme and domain: what came in the clear may be anybody's."""
    return f"{url.partition(':')[0]}:{domain_of(url)}"


def names_host(url: str) -> bool:
    """Whether a text, which may be no URL, has a host where a canonical URL has it."""
    parts = url.split("/", 3)
    return len(parts) > 2 and bool(parts[2].strip(".:"))


@lru_cache(maxsize=1)
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList(accept_unknown=True)


def is_public_suffix(name: str) -> bool:
    """Whether anybody may register names under a domain (`com`, `co.uk`), by the same list."""
    return bool(name) and _suffixes().publicsuffix(name) == name


@lru_cache(maxsize=65_536)
def registrable_domain(name: str) -> str:
    """The registered domain of a host, by the public suffix list of the package.

    A port is ignored; an address, and a host that is itself a suffix, are returned unchanged.
    """
    name = name.rstrip(".")
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    name = name.partition(":")[0]
    if _DOTTED_QUAD.fullmatch(name):
        return name
    return _suffixes().privatesuffix(name) or name


def domain_of(url: str) -> str:
    """The registrable domain of a canonical URL."""
    return registrable_domain(host(url))


def shard_of(name: str, shards: int) -> int:
    """Which of `shards` owns a host: by its registrable domain, the same on every machine."""
    return divided(registrable_domain(name), shards)


def divided(name: str, shards: int) -> int:
    """The number of the shard that owns a name, from 0 to `shards` − 1.

    Rendezvous hashing: an added shard takes 1/shards of the names; no others move. O(shards).
    """
    encoded = name.encode()

    def weight(shard: int) -> bytes:
        return hashlib.blake2b(encoded, digest_size=8, key=shard.to_bytes(4, "big")).digest()

    return max(range(shards), key=weight)


class UrlWords(NamedTuple):
    """The words of a URL, lower-case, by part of the URL."""

    host: tuple[str, ...]
    directories: tuple[str, ...]
    file: tuple[str, ...]
    query: tuple[str, ...]


def words(url: str) -> UrlWords:
    """Split a canonical URL into words, at punctuation, digits and capitals."""
    rest = url.partition("://")[2]
    rest, _, query = rest.partition("?")
    name, _, path = rest.partition("/")
    directories, _, file = path.rpartition("/")
    return UrlWords(_words(name), _words(directories), _words(file), _words(query))


@lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    if not text:
        return ()
    text = _ESCAPE.sub(" ", _CAMEL.sub(" ", text)).lower()
    return tuple(word for word in _WORD_BREAK.split(text) if word)


_UNRESERVED_START = r"[A-Za-z0-9_~!$&()*+,;=@-]"
_PLAIN_PATH = (
    rf"(?:{_UNRESERVED_START}[A-Za-z0-9._~!$&()*+,;=@-]*/)*"
    rf"(?:{_UNRESERVED_START}[A-Za-z0-9._~!$&()*+,;=@-]*)?"
)
_PLAIN_REST = r"(\?[A-Za-z0-9._~!$&()*+,;=@/:?-]*)?(?:#[!-~]*)?"
_PLAIN_REFERENCE = re.compile(rf"(/|(?:\.\./)*)({_PLAIN_PATH}){_PLAIN_REST}")
"""A reference that has no scheme, host, escape, or dots but leading ones: what it is joined to is
put before it as it stands. Steps up or `/`; path; query."""
_PLAIN_URL = re.compile(rf"(https?://[a-z0-9.-]{{1,253}}(?::[0-9]+)?)(/{_PLAIN_PATH}){_PLAIN_REST}")
"""A URL whose path is such a reference: origin, path, query."""


class Joiner:
    """Canonical joins with a cache: navigation repeats the same links on every page.

    The cache holds at most `size` URLs, some 400 bytes each, and is then emptied. `join` returns
    None where there is no fetchable URL.
    """

    __slots__ = ("_above", "_aboves", "_base", "_directory", "_here", "_kept", "_memo", "_size")

    def __init__(self, *, size: int = 4_096) -> None:
        self._memo: dict[str, dict[str, str | None]] = {}
        """What references were joined to → reference → URL."""
        self._kept = 0
        """How many these are."""
        self._size = size
        self._base = self._directory = ""
        """The last base, its directory, …"""
        self._here: dict[str, str | None] = {}
        """… and what is known of references to that."""
        self._above: list[str] | None = None
        """That and the directories above it, down to the host; none if the base is not canonical,
        None if nobody asked."""
        self._aboves: dict[str, list[str]] = {}
        """The same of directories, and origins, that are known to be canonical."""

    def route(self, href: str, base: str) -> str | None:
        """As `join`, with the fragment where that names a page for scripts."""
        try:
            joined = canonical(href, base, routes=True)
        except ValueError:
            return None
        return joined if len(joined) <= MAX_LENGTH else None

    def join(self, href: str, base: str) -> str | None:
        """The canonical URL of `href` on a page whose canonical base is `base`."""
        if base is not self._base:
            self._base, self._directory = base, base.partition("?")[0].rpartition("/")[0]
            self._above, self._here = None, self._known(self._directory)
        if (joined := self._here.get(href, "")) != "":
            return joined
        # A reference depends on the base's directory only, unless its path is empty; blanks and
        # a scheme without slashes may precede it ("http:?page=2").
        head, known = href[:1], self._here
        if href.startswith(("http://", "https://")):
            known = self._known("")
        elif head <= " " or head in "?#" or (head in "hH" and ":" in href):
            known = self._known(f"{base}?")  # which is no directory
            href = "#" if head == "#" else href  # whatever place on the page it names
        if known is not self._here and (joined := known.get(href, "")) != "":
            return joined
        joined = None
        if known is self._here:
            if plain := _PLAIN_REFERENCE.fullmatch(href):
                joined = self._join_plain(plain)
        elif plain := _PLAIN_URL.fullmatch(href):
            joined = self._join_path(plain)
        if joined is None:
            with contextlib.suppress(ValueError):
                joined = canonical(href, base)
        answer = joined if joined is not None and len(joined) <= MAX_LENGTH else None
        if self._kept >= self._size:
            self._memo.clear()
            self._aboves.clear()
            self._kept = 0
            self._here = self._known(self._directory)
        else:
            known[href] = answer
            self._kept += 1
        return answer

    def _known(self, to: str) -> dict[str, str | None]:
        """What is known of references to a directory, to a page, or to nothing."""
        if (known := self._memo.get(to)) is None:
            known = self._memo[to] = {}
            self._kept += 1
        return known

    def _join_plain(self, reference: re.Match[str]) -> str | None:
        """The same of a plain reference, in a tenth of the time; None where there is more to it."""
        up, path, query = reference.groups("")
        if not (up or path):
            return None
        if self._above is None:
            self._above = self._aboves.get(self._directory, [])
            if not self._above and is_canonical(self._base):
                self._above = self._aboves[self._directory] = _directories(self._directory)
        if not self._above:
            return None
        steps = len(self._above) if up == "/" else len(up) // 3
        return f"{self._above[min(steps, len(self._above) - 1)]}/{path}{query}"

    def _join_path(self, url: re.Match[str]) -> str | None:
        """The same of a plain path on any host: a reference to it from that host."""
        origin, path, query = url.groups("")
        if origin not in self._aboves:
            if not is_canonical(f"{origin}/"):
                return None
            self._aboves[origin] = [origin]
        return f"{origin}{path}{query}"


def is_canonical(url: str) -> bool:
    """Whether a URL is in its canonical form."""
    try:
        return canonical(url) == url
    except ValueError:
        return False


def _directories(directory: str) -> list[str]:
    """The directory of a canonical URL, and those above it down to the host."""
    found = [directory]
    while found[-1].count("/") > 2:
        found.append(found[-1].rpartition("/")[0])
    return found


@lru_cache(maxsize=16_384)
def with_query(url: str) -> str:
    """A canonical URL with the parameters that its path ends with, two or more, in a query:
    `/q/?tags=clay&page=2` of `/q/tags:clay/page:2/`. One alone may be the name of a page, as in a
    wiki."""
    if "?" in url or ":" not in url[8:]:
        return url
    found = _NAMED.search(url)
    if found is None:
        return url
    named = found[0].strip("/").replace(":", "=").replace("/", "&")
    return f"{url[: found.start()]}/?{named}"


def parameters(url: str) -> tuple[str, list[str]]:
    """A URL without its query, and the parts of its query."""
    path, _, query = url.partition("?")
    return path, [part for part in query.split("&") if part]


def query_parts(query: str) -> list[str]:
    """The parts of a query, of programs too that part them by semicolons; one for an empty query,
    which is empty."""
    return _PARTED.split(query)


def without(url: str, names: frozenset[str]) -> str:
    """A URL without these parameters."""
    path, parts = parameters(url)
    kept = [part for part in parts if part.partition("=")[0] not in names]
    return f"{path}?{'&'.join(kept)}" if kept else path
