"""robots.txt by RFC 9309: text → rules. Pure; `spoor.politeness` says when it is fetched.

Patterns are matched by Protego. Grouping is done here first, because it must hold to the letter:
a line that is neither a user agent nor a rule never ends a group, and a group is ours when its
product token equals ours, not when it begins like it.
"""

from __future__ import annotations

import codecs
import contextlib
import math
import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from protego import Protego

from spoor.web.urls import resolve

FORBIDDEN = "robots.txt forbids it"
"""Why a URL is not asked for."""
LIMIT = 500 * 1024
"""Bytes that are read; the rest is ignored (RFC 9309, 2.5)."""

MAX_SITEMAPS = 1_000
"""That are read of one robots.txt."""

MAX_RULE = 1 << 15
"""Characters; no URL that is fetched is as long as what a longer rule says."""

MAX_WILDCARDS = 2_000
"""Rules with a `*`, which take time for each URL that is asked about. Whose file has more is left
alone; no real one has a tenth of them."""

MEMORY_OF_RULE = 400
"""Bytes, beside its characters."""

_AGENT = re.compile(r"user[- ]?agent\s*[:\s]\s*(.*)", re.IGNORECASE)
_RULE = re.compile(r"(allow|d[ei]s+al+[ao]w|diasllow)\s*[:\s]\s*(.*)", re.IGNORECASE)
_DELAY = re.compile(r"crawl[- ]delay\s*[:\s]\s*(.*)", re.IGNORECASE)
_SITEMAP = re.compile(r"site-?maps?\s*[:\s]\s*(\S+)", re.IGNORECASE)
_ORIGIN = re.compile(r"(https?://[^/]*)(?=/)", re.IGNORECASE)
_EVERYONE = re.compile(r"\*(?:\s|$)")
_TOKEN = re.compile(r"[a-zA-Z_-]+")
_LINE_ENDS = re.compile(r"[\r\n]+")
_UTF16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Rules:
    """What one robots.txt says to one agent."""

    crawl_delay: float | None = None
    """Seconds; None where the file gives no usable value."""
    sitemaps: tuple[str, ...] = ()
    everything: bool | None = None
    """True: all is allowed; False: nothing is; None: as the patterns say."""
    size: int = 0
    """Number of its lines for this agent; `allowed` takes time for each."""
    memory: int = 0
    """Bytes that it takes, about."""
    _patterns: Protego | None = None

    @property
    def head(self) -> Rules:
        """What they say beside their patterns, which may be long."""
        return self if self._patterns is None else replace(self, _patterns=None)

    def allowed(self, url: str) -> bool:
        """Whether this agent may fetch the URL. robots.txt itself always may be."""
        if self.everything is not None:
            return self.everything or urlsplit(url).path == "/robots.txt"
        return self._patterns is None or self._patterns.can_fetch(url, "*")


ALLOW_ALL = Rules(everything=True)
DISALLOW_ALL = Rules(everything=False)


def token_of(agent: str) -> str:
    """The product token of a User-Agent: `Spoor/1.0 (+https://…)` → `spoor`."""
    match = _TOKEN.match(agent.strip())
    return match[0].lower() if match else ""


def parse(robots_txt: str | bytes, agent: str, *, url: str | None = None) -> Rules:
    """The rules for `agent` (its User-Agent or product token). Never raises; O(length).

    With `url`, the file's own URL, sitemaps may be relative to it, and rules that are URLs of
    another host are left out.
    """
    us = token_of(agent)
    # Only groups for us or for all agents are kept: a file may name thousands of others.
    groups: dict[str, list[str]] = {}
    sitemaps: dict[str, None] = {}
    current: set[str] = set()
    naming = False
    for line in _LINE_ENDS.split(_decode(robots_txt)):
        line = line.partition("#")[0].strip()
        if match := _AGENT.match(line):
            if not naming:
                current = set()
            naming = True
            for name in match[1].split(","):
                name = name.strip()
                token = "*" if _EVERYONE.match(name) else token_of(name)
                if token and token in ("*", us):
                    groups.setdefault(token, [])
                    current.add(token)
        elif match := _RULE.match(line):
            naming = False
            kind = "allow" if match[1][0] in "aA" else "disallow"
            path = _path(match[2], url)
            if path and len(path) <= MAX_RULE:
                for token in current:
                    groups[token].append(f"{kind}: {path}")
        elif match := _DELAY.match(line):
            # An extension, which never ends a group (2.2.4): it holds for the agents so far.
            for token in current:
                groups[token].append(f"crawl-delay: {match[1]}")
        elif len(sitemaps) < MAX_SITEMAPS and (match := _SITEMAP.match(line)):
            with contextlib.suppress(ValueError):
                sitemaps[resolve(match[1], url)] = None
    mine = groups.get(us, groups.get("*"))
    if mine is None:
        return Rules(sitemaps=tuple(sitemaps))
    if sum("*" in rule for rule in mine) > MAX_WILDCARDS:
        return Rules(None, tuple(sitemaps), everything=False)
    patterns = Protego.parse("\n".join(["user-agent: *", *mine]))
    # Each set of rules knows the parser, which holds it: in such a cycle they would stay in memory
    # until garbage is collected, which is seldom.
    for rules in patterns._user_agents.values():
        del rules._parser_instance
    delay = patterns.crawl_delay("*")
    usable = delay is not None and math.isfinite(delay) and delay >= 0
    memory = sum(map(len, mine)) + sum(map(len, sitemaps)) + MEMORY_OF_RULE * len(mine)
    return Rules(delay if usable else None, tuple(sitemaps), None, len(mine), memory, patterns)


def _path(rule: str, url: str | None) -> str:
    """A rule as a path: sites write URLs, and forget the first slash, and mean what they say. Empty
    for a URL of another host than that of the robots.txt at `url`, which is not theirs to close."""
    origin = _ORIGIN.match(rule)
    if origin:
        if url is not None and _host(origin[1]) != _host(url):
            return ""
        rule = rule[origin.end() :]
    return rule if not rule or rule.startswith(("/", "*", "$")) else f"/{rule}"


def _host(url: str) -> str:
    """The host of a URL as a rule may write it; `www.` says nothing of which site is meant."""
    name = url.partition("://")[2].partition("/")[0].rpartition("@")[2].lower()
    return name.partition(":")[0].rstrip(".").removeprefix("www.")


def _decode(robots_txt: str | bytes) -> str:
    text = _text(robots_txt[:LIMIT])
    if len(robots_txt) <= LIMIT:
        return text
    # A rule that was cut may forbid more than it did: "Disallow: /" is the beginning of any.
    return text[: max(text.rfind("\n"), text.rfind("\r")) + 1]


def _text(robots_txt: str | bytes) -> str:
    if isinstance(robots_txt, str):
        return robots_txt.removeprefix("\ufeff")
    for mark, encoding in _UTF16:
        if robots_txt.startswith(mark):
            return robots_txt[2:].decode(encoding, "replace")
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        halves = robots_txt[first:64:2]
        if halves and not any(halves):  # UTF-16 without its mark
            return robots_txt.decode(encoding, "replace")
    # Other zero bytes hide no rule.
    plain = robots_txt.removeprefix(codecs.BOM_UTF8).replace(b"\0", b"")
    return plain.decode("utf-8", "replace")


def from_reply(status: int, body: bytes, agent: str, *, url: str | None = None) -> Rules:
    """The rules that a reply to a request for robots.txt means (RFC 9309, 2.3.1).

    2xx: the rules of the file. 4xx except 429 and 407, which is a proxy's word and not the site's,
    and 3xx that lead nowhere: everything is allowed. Any other status, and no reply at all (status
    0): nothing is allowed.
    """
    if 200 <= status < 300:
        return parse(body, agent, url=url)
    if 300 <= status < 500 and status not in (407, 429):
        return ALLOW_ALL
    return DISALLOW_ALL
