"""Where a crawl may go: which URLs are in its scope, wherever they were named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spoor.errors import InputError
from spoor.types import Link, Page, urls_of
from spoor.web.page_links import at_hand, not_to_follow, those
from spoor.web.url_patterns import UrlPatterns
from spoor.web.urls import bare_host, host, registrable_domain

WEB_PORTS = ("", "80", "443", "8000", "8008", "8080", "8081", "8443", "8888")
"""Ports of web servers: with `--scope domain` a page leads to no other, but for those of seeds. Who
links all ports of a host would else have it scanned, each port at the pace of a host."""

OTHER_SERVICES = frozenset(
    "1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 "
    "113 115 117 119 123 135 137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 "
    "548 554 556 563 587 601 636 989 990 993 995 1719 1720 1723 2049 3306 3389 3659 4045 4190 5060 "
    "5061 5432 6000 6379 6566 6665 6666 6667 6668 6669 6679 6697 10080 11211".split()
)
"""Ports to which no browser sends HTTP (Fetch standard, port blocking), and those of databases. No
page leads there, whatever the scope."""

_MEMO = 16_384
"""URLs whose verdict is cached: navigation repeats the same ones on every page."""


class Scope:
    """The URLs that a crawl may ask for. `scope` is one of
    `spoor.setting.SCOPES`; seeds, which may be added at any
    time, are always in it. Of other URLs with `include` those that fit none of these patterns are
    left out, and those that fit one of `exclude`.

    `nofollow`: obey rel=nofollow, meta robots and X-Robots-Tag. Raises InputError for what is no
    pattern.
    """

    def __init__(
        self,
        scope: str = "anywhere",
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        max_depth: int | None = None,
        nofollow: bool = True,
    ) -> None:
        self.scope = scope
        self.max_depth = max_depth
        self.nofollow = nofollow
        self._include, self._exclude = UrlPatterns(include), UrlPatterns(exclude)
        if scope == "list" and not len(self._include):
            raise InputError("--scope list holds what --include lists: give --include PATTERN")
        self._seeds: dict[str, None] = {}
        self._hosts: set[str] = set()
        """Of the seeds."""
        self._places: set[str] = set()
        """Of the seeds: hosts, domains, folders or pages."""
        self._ports = set(WEB_PORTS)
        """Those of `--scope domain`."""
        self._memo: dict[str, str] = {}

    @classmethod
    def of(
        cls,
        seeds: Iterable[str],
        scope: str,
        max_depth: int | None = None,
        nofollow: bool = True,
        *,
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
    ) -> Scope:
        """The scope of a crawl that begins at these seeds."""
        made = cls(scope, include=include, exclude=exclude, max_depth=max_depth, nofollow=nofollow)
        made.seed(seeds)
        return made

    @property
    def seeds(self) -> Sequence[str]:
        return list(self._seeds)

    def excludes(self, url: str) -> bool:
        """Whether a pattern of `exclude` leaves out a URL."""
        return bool(len(self._exclude) and self._exclude.fitting(url, undecided=True))

    def is_seed(self, url: str) -> bool:
        """Whether a canonical URL is a seed."""
        return url in self._seeds

    def has_host(self, url: str) -> bool:
        """Whether the host of a canonical URL is that of a seed. O(1), however many seeds."""
        return host(url) in self._hosts

    def is_elsewhere(self, url: str) -> bool:
        """Whether nothing but `scope` leaves out a canonical URL, which is on a port of the web."""
        return self.why_not(url) == f"--scope {self.scope}" and _port(url) in WEB_PORTS

    def seed(self, urls: Iterable[str]) -> None:
        """Canonical URLs are seeds as well from now on."""
        for url in urls:
            self._seeds[url] = None
            self._hosts.add(host(url))
            self._places.add(self._place(url))
            self._ports.add(_port(url))
        self._memo.clear()

    def forget_seeds(self) -> None:
        """There are no seeds, until others are added."""
        self._seeds.clear()
        self._hosts.clear()
        self._places.clear()
        self._memo.clear()

    def __call__(self, page: Page, depth: int) -> Sequence[Link]:
        if self.ends(page, depth):
            return ()
        links, known, why_not = at_hand(page.links), self._memo.get, self.why_not
        barred = not_to_follow(links) if self.nofollow else ()
        allowed = []
        for index, url in enumerate(urls_of(links)):
            why = known(url)
            if not (why_not(url) if why is None else why) and index not in barred:
                allowed.append(index)
        return those(links, allowed)

    def __contains__(self, url: str) -> bool:
        return not self.why_not(url)

    def ends(self, page: Page, depth: int) -> bool:
        """Whether none of the links of a page, which lead `depth` links from a seed, count."""
        return bool(self.why_ended(page, depth))

    def why_ended(self, page: Page, depth: int) -> str:
        """The rule by which none of the links of a page count; empty where they do."""
        if self.max_depth is not None and depth > self.max_depth:
            return f"--max-depth {self.max_depth}"
        return "nofollow" if self.nofollow and "nofollow" in page.flags else ""

    def why_not(self, url: str) -> str:
        """Which rule leaves out a canonical URL; empty for none. O(1) for one that was seen."""
        why = self._memo.get(url)
        if why is None:
            if len(self._memo) >= _MEMO:
                self._memo.clear()
            why = self._memo[url] = self._why_not(url)
        return why

    def _why_not(self, url: str) -> str:
        if url in self._seeds:
            return ""
        if _port(url) in OTHER_SERVICES:
            return "a port of another service"
        if self.scope not in ("anywhere", "list") and not self._holds(url):
            return f"--scope {self.scope}"
        if len(self._include) and not self._include.fitting(url, undecided=False):
            return "--include"
        pattern = self._exclude.fitting(url, undecided=True) if len(self._exclude) else ""
        return f"--exclude {pattern}" if pattern else ""

    def _holds(self, url: str) -> bool:
        if self.scope == "domain" and _port(url) not in self._ports:
            return False
        if self.scope != "directory":
            return self._place(url) in self._places
        folder = self._place(url)
        while folder not in self._places:
            folder, cut, _ = folder.rstrip("/").rpartition("/")
            if not cut:
                return False
            folder += "/"
        return True

    def _place(self, url: str) -> str:
        if self.scope == "domain":
            return registrable_domain(host(url))
        name = bare_host(url)
        rest = url.split("/", 3)[3]
        if self.scope == "directory":
            return f"{name}/{rest.partition('?')[0].rpartition('/')[0]}".rstrip("/") + "/"
        return name if self.scope == "host" else f"{name}/{rest}".rstrip("/")


def _port(url: str) -> str:
    """The port of a canonical URL, where it is not its scheme's own."""
    if url.find(":", 8) < 0:
        return ""
    name = host(url)
    return name.rpartition(":")[2] if ":" in name.rpartition("]")[2] else ""
