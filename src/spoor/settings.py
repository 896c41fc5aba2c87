"""How the live driver behaves: limits, politeness, and what it calls itself."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

MIB = 1 << 20


def user_agent(contact: str = "") -> str:
    """`Spoor/VERSION (+CONTACT)`: an operator must be able to reach whoever crawls."""
    name = f"Spoor/{version('spoor')}"
    return f"{name} (+{contact})" if contact else name


@dataclass(frozen=True, slots=True)
class HttpSettings:
    """Defaults are polite and bounded; every one can be set."""

    agent: str = ""
    """User-Agent; empty: `user_agent(contact)`."""
    contact: str = ""
    """URL or mail address of whoever runs the crawl."""
    in_flight: int = 16
    per_host: int = 0
    """Requests at a time to a host, those for robots.txt included; 0: as the crawl says."""
    per_domain: int = 0
    """Requests at a time to all hosts of a registrable domain; 0: no limit."""
    per_address: int = 0
    """Requests at a time to all hosts at one address; 0: no limit."""
    noai: bool = False
    """Leave out what asks not to be used by machines that learn (noai, noimageai, noml)."""
    robots: bool = True
    sitemaps: bool = False
    """Take links from the sitemaps that robots.txt names, or from /sitemap.xml."""
    robots_max_age: float = 24 * 3600.0
    """Seconds that a robots.txt is kept."""
    max_crawl_delay: float = 60.0
    """A longer Crawl-delay is cut to this, s."""
    allow_private: frozenset[str] = frozenset()
    """Hosts whose private or loopback addresses may be connected to."""
    connect_to: tuple[str, int] | None = None
    """(address, port) that every host name stands for: a web served for a test."""
    timeout: float = 30.0
    """Of one whole exchange, s."""
    connect_timeout: float = 10.0
    body_limit: int = 10 * MIB
    """Bytes after decompression; what comes later is cut and flagged."""
    ratio_limit: float = 200.0
    """Decompressed bytes for each received, beyond the first MiB."""
    header_limit: int = 256 * 1024
    """Bytes of all headers of one reply."""
    accept: tuple[str, ...] = ("text/*", "application/xhtml+xml", "application/xml")
    """Media types whose bodies are downloaded; of others the headers are enough."""
    verify_tls: bool = True

    @property
    def user_agent(self) -> str:
        return self.agent or user_agent(self.contact)
