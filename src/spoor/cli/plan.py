"""The first lines of a crawl: what it looks for, what counts, how far it goes, and how long that
takes."""

from __future__ import annotations

from pathlib import Path

from spoor.cli.screen import say
from spoor.display import in_time
from spoor.documents.kinds import Told, Types
from spoor.protocols import Judge
from spoor.runs.assemble import topic_of_settings
from spoor.setting import SCOPES
from spoor.settings import Settings
from spoor.web.urls import host, registrable_domain

_NAMED = 3
"""Hosts that are named."""
_REACH = {
    "host": "no other host",
    "domain": "hosts of the same domains only",
    "anywhere": "then from any host that they link",
}
"""What scopes say of other hosts than those of the seeds."""


def say_plan(settings: Settings, path: Path, judge: Judge, done: int = 0) -> None:
    """Print what a crawl is about to do; `done`: pages that it fetched in an earlier process."""
    for line in plan(settings, path, judge, done):
        say(line)


def plan(settings: Settings, path: Path, judge: Judge, done: int = 0) -> list[str]:
    """The lines of `say_plan`. Raises InputError as `topic_of_settings` does."""
    subject = topic_of_settings(settings)
    lines = []
    if subject is not None and subject.wish is not None and not settings.want:
        lines.append(f"looking for {subject.wish}")
    if settings.want:
        lines.append(f"counts: a page that fits {' or '.join(settings.want)}")
    elif isinstance(threshold := getattr(judge, "threshold", None), float):
        lines.append(
            f"counts: a page that scores {threshold:.2g} or more for it, from 0 to 1; "
            "`spoor topic test` shows what scores how"
        )
    hosts = list(dict.fromkeys(map(host, settings.seeds)))
    named = ", ".join(hosts[:_NAMED])
    if len(hosts) > _NAMED:
        more = len(hosts) - _NAMED
        named += f" and {more:,} more host{'s'[: more > 1]}"
    reach = _REACH.get(settings.scope) or SCOPES[settings.scope]
    budget = "pages until no link is left" if settings.pages is None else _pages(settings, done)
    if settings.refresh:
        budget = f"the pages of {settings.refresh} again, and {budget} that are new"
    lines.append(f"takes: {budget}, from {named}; {reach} (--scope)")
    if not Types.of(settings).takes(Told("html", "text/html")):
        lines.append(
            "no page of HTML is read, nor a link on one, since --types leaves html out; where such "
            "a kind is what you want, say so: --want type:application/pdf"
        )
    domains = len({*map(registrable_domain, hosts)})
    lines.append(f"pace: {pace(settings, len(hosts), domains, done)}")
    lines.append(
        f"keeps: all in {path}; Ctrl-C stops, and the same command with --out {path} goes on"
    )
    return lines


def _pages(settings: Settings, done: int) -> str:
    assert settings.pages is not None
    left = max(0, settings.pages - done)
    return f"{left:,} of {settings.pages:,} pages, as before" if done else f"up to {left:,} pages"


def pace(settings: Settings, hosts: int, domains: int, done: int = 0) -> str:
    """How often a host is asked, and how long the budget takes from so many hosts of so many
    registrable domains at that delay."""
    if not settings.delay:
        return "as fast as the hosts answer (--delay 0)"
    line = f"{settings.delay:g} s between two requests to a host"
    if settings.pages is None:
        return line
    seconds = max(0, settings.pages - done) * settings.delay
    line += f": about {in_time(seconds / max(1, hosts))} or more"
    if hosts == 1:
        line += " from one host"
    else:
        line += f" from {hosts:,} hosts, {in_time(seconds)} where only one has what is wanted"
    if domains < hosts:
        line += f", {in_time(seconds / domains)} where those of a domain share an address"
    return line
