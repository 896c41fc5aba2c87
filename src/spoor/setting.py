"""What is known of one setting: its range, its places, and how a value is checked."""

from __future__ import annotations

import ipaddress
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from numbers import Integral, Real
from typing import Any

from spoor.errors import InputError
from spoor.registry import nearest, outside

MIB = 1 << 20

MOST_OF_A_BODY = 256 * MIB
"""The most that a limit of bodies may say: each is in memory, and a run of a stranger says its
limits itself."""


MOST_WANTED = 200
"""Specifications of what is wanted; one in words takes as long as a topic, of every page."""

LIVE = ("crawl", "watch")
SCRAPY = ("crawl", "scrapy")
EVERYWHERE = ("crawl", "watch", "scrapy")


@dataclass(frozen=True, slots=True)
class Group:
    """Settings that belong together: a table of a run's `spoor.toml`."""

    name: str
    help: str
    commands: tuple[str, ...] = ("crawl",)
    """Commands that its settings apply to, unless a setting names others."""
    fixed: bool = False
    """A run that is continued must have the same values."""
    advanced: bool = False
    """Its options are shown in a separate panel of the help."""


_MAY = "may change when a run goes on."
CRAWL = Group("crawl", "What decides the crawl; a run goes on with the same only.", fixed=True)
POLITENESS = Group("politeness", f"How hosts are asked; {_MAY}", LIVE)
LIMITS = Group("limits", f"Limits of one request and its reply; {_MAY}", LIVE, advanced=True)
BUDGET = Group("budget", f"When it ends; {_MAY}")
PROCESS = Group("process", f"How it is run; {_MAY}")
GROUPS = (CRAWL, POLITENESS, LIMITS, BUDGET, PROCESS)


@dataclass(frozen=True, slots=True)
class Setting:
    """All that is known of one field of `Settings`."""

    group: Group
    help: str
    ge: float | None = None
    """The least value."""
    le: float | None = None
    """The greatest value."""
    most: int | None = None
    """How many texts a list has at most, with each of which every page is compared."""
    choices: tuple[str, ...] = ()
    plugins: str = ""
    """Kind of plug-ins of other packages whose names are choices, too."""
    form: tuple[str, Callable[[str], bool]] | None = None
    """(what a text, or each of a list, must be, in words; whether it is). Empty texts pass."""
    none: int | None = None
    """The number that stands for None in TOML and in Scrapy."""
    commands: tuple[str, ...] = ()
    """Commands that it applies to: crawl, watch, scrapy. Empty: those of its group."""
    option: str = ""
    """Its option of the command line, if that differs from its name."""
    inner: bool = False
    """Users cannot set it: it has no option, no keyword and no setting of Scrapy."""
    advanced: bool = False
    """Its option is shown in a separate panel of the help."""
    secret: bool = False
    """It is never written to a file; a run that is continued must be given it again."""
    another: bool = False
    """A run goes on with another number, though its group is fixed."""
    path: bool = False
    """A text that names a file."""
    reaches: bool = False
    """It names a program, a folder or another machine, as a `path` names a file."""
    time: str = ""
    """A time, written with a unit (`90s`); this is its default."""
    in_scrapy: Any = ...
    """Its default in Scrapy, where that differs."""
    name: str = ""
    kind: type = str
    """bool, int, float, str, tuple (of texts) or dict."""
    default: Any = None

    @property
    def flag(self) -> str:
        """Its option: `--per-host`."""
        return self.option or f"--{self.name.replace('_', '-')}"

    @property
    def fixed(self) -> bool:
        """Whether a run goes on with the same value only."""
        return self.group.fixed and not self.another

    @property
    def allowed(self) -> str:
        """Its values, in words."""
        if self.form is not None:
            return self.form[0]
        if self.choices:
            *others, last = map(repr, self.choices)
            return f"{', '.join(others)} or {last}"
        if self.time:
            return "a time, as in 90s, 30m, 12h or 7d"
        words = _KINDS[self.kind]
        if self.ge is not None:
            words += f" from {self.ge:.12g} "
            words += "on" if self.le is None else f"to {self.le:.12g}"
        return words

    def arguments(self, value: Any) -> list[str]:
        """The options of the command line that set it to a value; empty if the value is the
        default, and if the command line cannot set it."""
        if self.inner or value is None or value == self.default or (not value and not self.default):
            return []
        if self.kind is bool:
            return [self.flag if value else f"--no-{self.name.replace('_', '-')}"]
        if self.kind is tuple:
            return [f"{self.flag}={one}" for one in value]
        if self.kind is dict:  # TOML takes what JSON writes
            return [f"{self.flag}={name}={json.dumps(one)}" for name, one in value.items()]
        return [f"{self.flag}={value}"]

    def parsed(self, value: Any) -> Any:
        """A text converted to the type of the setting; a text that cannot be converted is
        returned."""
        if not isinstance(value, str) or self.kind is str:
            return value
        if self.kind is tuple:
            return (value,)
        try:
            if self.kind in (bool, dict):
                return json.loads(value.lower() if self.kind is bool else value)
            return self.kind(value)
        except ValueError:
            return value

    def checked(self, given: Any, key: str) -> Any:
        """The value, converted to its type. Raises InputError, which names the setting `key`, for
        another type and for a value out of range."""
        if type(given) is self.kind and given == self.default:
            return given
        value: Any = {} if given is None and self.kind is dict else given
        if value is None and self.none is not None:
            return None
        integral = isinstance(value, Integral) and not isinstance(value, bool)
        if self.time and isinstance(value, str):
            value = seconds(value, key)
        elif self.kind is float and (integral or isinstance(value, Real)):
            value = value if isinstance(value, bool) else float(value)
        elif self.kind is int and integral:
            value = int(value)
        elif self.kind is str and isinstance(value, os.PathLike):
            value = os.fspath(value)
        elif self.kind is tuple and isinstance(value, list):
            value = tuple(value)
        elif self.kind is dict and isinstance(value, Mapping):
            value = dict(value)
        kind: Any = self.kind
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{key} {value!r} is not {self.allowed}")
        if self.most is not None and len(value) > self.most:
            raise InputError(too_many(key, len(value), self.most))
        if self.choices and value not in self.choices:
            added = outside(self.plugins) if self.plugins else []
            if value not in added:
                raise InputError(
                    f"unknown {self.name} {value!r}{nearest(value, [*self.choices, *added])}; "
                    f"it is {self.allowed}"
                )
        # Written so that NaN is in no range.
        low, high = self.ge, self.le
        if self.kind in (int, float) and not (
            (low is None or value >= low) and (high is None or value <= high) and value == value
        ):
            raise InputError(f"{key} {value!r} is not {self.allowed}")
        if isinstance(value, str | tuple | dict) and not _is_written(value):
            what = key if self.secret else f"{key} {value!r}"
            raise InputError(f"{what} is no text in UTF-8")
        for text in value if self.kind is tuple else [value] if self.form else []:
            if not isinstance(text, str) or (text and self.form and not self.form[1](text)):
                long = f"{text[:500]}…" if isinstance(text, str) and len(text) > 500 else text
                what = key if self.secret else f"{key} {long!r}"
                raise InputError(f"{what} is not {self.allowed}")
        return value


def too_many(key: str, count: int, most: int) -> str:
    """What is said of a list with each item of which every page is compared."""
    return (
        f"{key} has {count:,} items, and each page is compared with all; keep the {most:,} that "
        "say most"
    )


def _is_written(value: object) -> bool:
    """Whether the texts of a value can be written as UTF-8. Bytes of a command line that are not
    UTF-8 become halves of surrogates; JSON may have these too."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list of texts",
    dict: "a table of names and values",
}


def setting(default: Any, group: Group, help: str, **more: Any) -> Any:  # noqa: A002
    """A field of `Settings`; `more` are further fields of `Setting`."""
    more.setdefault("commands", group.commands)
    known = Setting(group, help, **more)
    return field(default=default, metadata={"setting": known}, repr=not known.secret)


# ---------------------------------------------------------------- forms of texts


WITH_TEXT = tuple("html pdf text markdown feed xml json docx xlsx pptx odt ods odp epub".split())
"""Kinds of documents that have words (`spoor.documents.kinds`)."""

DOCUMENT_KINDS = (*WITH_TEXT, "image", "audio", "video", "archive", "other")
"""All kinds of documents."""


SCOPES: Mapping[str, str] = {
    "page": "the seeds alone",
    "directory": "what lies below the folders of the seeds",
    "host": "the hosts of the seeds, with and without www.",
    "domain": "the domains of the seeds, with all their hosts",
    "list": "what --include lists, on any host",
    "anywhere": "every host",
}
"""What each scope holds, beside the seeds themselves."""


UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str, key: str) -> float:
    """Seconds of `90s`, `30m`, `12h`, `7d` or a bare number of seconds. Raises InputError."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    if match is None:
        raise InputError(f"{key} {text!r} is no time; write 90s, 30m, 12h or 7d")
    return float(match[1]) * UNITS[match[2] or "s"]


@lru_cache(maxsize=256)  # asked for each request, of few hosts
def is_address(name: str) -> bool:
    """Whether a host is an address and no name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def normal_host(name: str) -> str:
    """A host's name or address in one spelling."""
    name = name.strip().strip("[]").rstrip(".").lower()
    return str(ipaddress.ip_address(name)) if is_address(name) else name


def is_host(text: str) -> bool:
    """Whether a text can be a host: an address, or a name without scheme, port and path."""
    name = normal_host(text)
    return is_address(name) or (bool(name) and not any(mark in name for mark in ":/@[]?# \t"))


def endpoint(text: str) -> tuple[str, int] | None:
    """(address, port) of `ADDRESS:PORT`; None where it is none."""
    address, _, port = text.rpartition(":")
    address = "127.0.0.1" if address == "localhost" else address.strip("[]")
    number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0
    return (normal_host(address), number) if is_address(address) and 0 < number < 1 << 16 else None


def is_types(text: str) -> bool:
    """Whether a text lists kinds of documents and media types, commas between them."""
    return all(one in DOCUMENT_KINDS or "/" in one for one in text.replace(" ", "").split(","))


def is_type_limit(text: str) -> bool:
    """Whether a text is `KIND=BYTES`."""
    kind, _, size = text.partition("=")
    if kind not in DOCUMENT_KINDS or not (size.isascii() and size.isdigit()):
        return False
    digits = size.lstrip("0")
    return 0 < len(digits) <= 12 and int(digits) <= MOST_OF_A_BODY


def host_and_port(text: str) -> tuple[str, int | None]:
    """Of `HOST` or `HOST:PORT`; an address of IPv6 with a port has brackets."""
    if is_address(text.strip("[]")):
        return normal_host(text), None
    host, colon, port = text.rpartition(":")
    if colon and port.isascii() and port.isdigit() and 0 < int(port[:6]) < 1 << 16:
        return normal_host(host), int(port)
    return normal_host(text), None


def split_header(text: str) -> tuple[str, str, str]:
    """(host, name, value) of `Name: value` or `HOST|Name: value`; the host is empty without."""
    head, _, value = text.partition(":") if "|" not in text.partition(": ")[0] else ("", "", "")
    place = ""
    if not head:
        place, _, rest = text.partition("|")
        head, _, value = rest.partition(":")
    return place.strip(), head.strip(), value.strip()


_OURS = frozenset(
    "accept-encoding authorization connection content-length cookie expect host if-modified-since"
    " if-none-match keep-alive proxy-authorization range referer te trailer transfer-encoding"
    " upgrade user-agent".split()
)
"""Headers that have an option of their own, or that belong to the connection."""


def is_header(text: str) -> bool:
    """Whether a text is `Name: value` or `HOST|Name: value`, with a header that a user may set."""
    place, name, value = split_header(text)
    return (
        re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) is not None
        and name.lower() not in _OURS
        and bool(value)
        and value.isprintable()
        and (not place or is_host(host_and_port(place)[0]))
    )


def is_proxy(text: str) -> bool:
    """Whether a text is `direct` or the URL of a proxy without user and password."""
    scheme, mark, place = text.rstrip("/").partition("://")
    host, port = host_and_port(place)
    known = scheme in ("http", "https", "socks5") and bool(mark)
    return text == "direct" or (known and port is not None and is_host(host))


TYPES = (
    f"a kind of document ({', '.join(DOCUMENT_KINDS)}) or a media type, as in application/zip",
    is_types,
)
TYPE_LIMIT = (f"KIND=BYTES, as in pdf=50000000, {MOST_OF_A_BODY} at most", is_type_limit)
PREFERENCES = {"precision": 0.5, "balanced": 1.0, "recall": 2.0}
"""How much more recall counts than precision, as in F-beta, by name."""


def beta_of(text: str) -> float | None:
    """The beta that a preference stands for, by name or as a number; None where it is neither."""
    try:
        beta = PREFERENCES.get(text) or float(text)
    except ValueError:
        return None
    return beta if 0.1 <= beta <= 10 else None


PREFERENCE = (
    f"{', '.join(PREFERENCES)}, or a number from 0.1 to 10",
    lambda text: beta_of(text) is not None,
)


MOST_PATTERN = 1 << 15
"""Characters of a glob: it takes a quarter of a second to be compiled."""


def is_pattern(text: str) -> bool:
    """Whether a text may be a pattern over URLs. What it says is read where it is used, within
    bounds (`spoor.web.url_patterns`): settings of a stranger's run are read to be shown, too."""
    return len(text) <= MOST_PATTERN


URL_PATTERN = (
    "a pattern over URLs: a glob, as in */docs/*, or re: and a regular expression, of at most "
    f"{MOST_PATTERN:,} characters",
    is_pattern,
)
HOST = ("a host; give its name or address alone, as in localhost or 127.0.0.1", is_host)
ENDPOINT = ("ADDRESS:PORT, as in 127.0.0.1:8080", lambda text: endpoint(text) is not None)
HEADER = (
    "'Name: value' or 'HOST|Name: value' (cookies: --cookies; passwords and tokens: --netrc or the "
    "variables SPOOR_BASIC and SPOOR_BEARER; --user-agent)",
    is_header,
)
PROXY = (
    "http://HOST:PORT, https://HOST:PORT, socks5://HOST:PORT or direct (its user and password: "
    "--netrc or the variable SPOOR_BASIC)",
    is_proxy,
)
LINE = ("a line of printable text", str.isprintable)
HTTPS = (
    "an https URL, as in https://bot.example.org/",
    lambda text: re.fullmatch(r"https://[^\s\"\\/?#@]+/?\S*", text) is not None and text.isascii(),
)
