"""What strangers choose: links of one domain to pages of another.

Who writes a link chooses the sample by which a group of pages is judged (`traps.py`). So the
links of each other domain to a group are a group by themselves, whose tries and places are of the
domain that links.
"""

from __future__ import annotations

from spoor.web.urls import domain_of, host

_FROM = ", linked by "
"""Between the names of a group and of a domain."""


def linking_domain(url: str, found_on: str) -> str:
    """The domain on whose page a link was found (empty for a seed), if it is another one; else
    empty."""
    if not found_on or f"//{host(url)}/" in found_on:
        return ""
    domain = domain_of(found_on)
    return "" if domain == domain_of(url) else domain


def of_stranger(name: str, domain: str) -> str:
    """The name of the group of the links of a domain to a group of another one."""
    return f"{name}{_FROM}{domain}"


def is_of_stranger(name: str) -> bool:
    """Whether it is the name of such a group."""
    return _FROM in name


def owner(name: str, url: str) -> str:
    """The domain whose tries and places a group takes, to which a URL belongs."""
    return name.partition(_FROM)[2] or domain_of(url)
