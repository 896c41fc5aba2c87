"""The first lines of a crawl: what it looks for, what counts, how far it goes, and how long that
takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spoor.cli.screen import say
from spoor.display import few, in_time
from spoor.documents.kinds import Told, Types
from spoor.protocols import Judge
from spoor.runs.assemble import topic_of_settings
from spoor.setting import SCOPES
from spoor.settings import WHOLE_SITE, Settings
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
    lines = _looking_for(settings)
    if settings.want == WHOLE_SITE["want"]:
        lines.append("counts: every page")
    elif settings.want:
        lines.append(f"counts: a page that fits {' or '.join(settings.want)}")
    elif isinstance(threshold := getattr(judge, "threshold", None), float):
        lines.append(
            f"counts: a page that scores {threshold:.2g} or more for it, from 0 to 1; "
            "`spoor topic test` shows what scores how"
        )
    hosts = list(dict.fromkeys(map(host, settings.seeds)))
    budget = "pages until no link is left" if settings.pages is None else _pages(settings, done)
    if settings.refresh:
        budget = f"the pages of {settings.refresh} again, and {budget} that are new"
    lines.append(f"takes: {budget}, from {_from(settings, hosts)}")
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


def watch_plan(settings: Settings, path: Path) -> list[str]:
    """What a new watch is about to do. Raises InputError as `topic_of_settings` does."""
    hosts = list(dict.fromkeys(map(host, settings.seeds)))
    about = "" if settings.wants else ", whatever it is about"
    pace = f"{settings.delay:g} s between two requests to a host"
    if settings.requests_per_day:
        pace += f", {settings.requests_per_day:,} of them in a day, a tenth of these at once"
    return [
        *_looking_for(settings),
        f"tells: what is new or changes{about}, on {_from(settings, hosts)}",
        f"first: it gets to know the sites, and tells of what stands there only pages that state "
        f"that they are not older than {in_time(settings.new_for)} (--new-for)",
        f"pace: {pace} (--requests-per-day)" if settings.requests_per_day else f"pace: {pace}",
        f"keeps: all in {path}; Ctrl-C stops, and the same command with --out {path} goes on; "
        f"spoor ui {path} shows it",
    ]


def _looking_for(settings: Settings) -> list[str]:
    subject = topic_of_settings(settings)
    wish = None if subject is None or settings.want else subject.wish
    return [] if wish is None else [f"looking for {wish}"]


def _from(settings: Settings, hosts: Sequence[str]) -> str:
    """Some of the hosts that it begins at, and which others it asks."""
    more = len(hosts) - _NAMED
    named = few(hosts, _NAMED) + (f" host{'s'[: more > 1]}" if more > 0 else "")
    return f"{named}; {_REACH.get(settings.scope) or SCOPES[settings.scope]} (--scope)"


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
