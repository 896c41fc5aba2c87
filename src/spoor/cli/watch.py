"""`spoor watch`: foragers that watch changing sites, and tell what is new."""

from __future__ import annotations

import json
import re
import sys
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Annotated, Any

import typer

from spoor.cli.options import (
    AllowPrivate,
    AsJson,
    ConnectTo,
    Contact,
    Delay,
    InFlight,
    Param,
    PerHost,
    Robots,
    Scope,
    Seed,
    Warc,
)
from spoor.display import shown
from spoor.errors import InputError
from spoor.runs import files

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def add(app: typer.Typer) -> None:
    app.command()(watch)


def watch(
    seeds: Annotated[
        list[str] | None, typer.Argument(help="URLs to watch from, or files of URLs, one a line.")
    ] = None,
    fleet: Annotated[
        str, typer.Option(help="change-rate, round-robin; foragers: WL, RL, WLRL.")
    ] = "change-rate",
    for_: Annotated[
        str | None, typer.Option("--for", help="End after this time: 90s, 30m, 12h, 7d.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (runs/watch-TIME).")] = None,
    param: Param = None,
    changes: Annotated[
        str, typer.Option(help="Changes told: of documents found, of all pages, or none.")
    ] = "found",
    new_for: Annotated[str, typer.Option(help="How long a document is new.")] = "24h",
    recheck: Annotated[
        str, typer.Option(help="How long a linked page is not asked for again.")
    ] = "30m",
    delay: Delay = 1.0,
    per_host: PerHost = 1,
    in_flight: InFlight = 16,
    scope: Scope = "domain",
    seed: Seed = 0,
    allow_private: AllowPrivate = None,
    connect_to: ConnectTo = None,
    contact: Contact = "",
    robots: Robots = True,
    warc: Warc = True,
    replay: Annotated[
        Path | None,
        typer.Option(help="Run on an evolving web instead, or on captures in an archive."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Watch sites from SEEDS: print and store new and changed documents as they are found.

    The same command on the same --out goes on.
    """
    settings = {
        "fleet": fleet,
        "new_for": duration(new_for, "--new-for"),
        "recheck": duration(recheck, "--recheck"),
        "params": list(param or []),
        "seed": seed,
        "changes": changes,
    }
    seconds = None if for_ is None else duration(for_, "--for")
    if replay is not None:
        if seeds:
            raise InputError("give seeds or --replay, not both: an evolving web has its roots")
        show(simulated(replay, settings, seconds, out, quiet=as_json), as_json)
        return
    if not seeds:
        raise InputError("say what to watch: a URL, a file of URLs, or --replay WORLD")
    politeness = {
        "delay": delay,
        "per_host": per_host,
        "in_flight": in_flight,
        "robots": robots,
        "contact": contact,
        "allow_private": list(allow_private or []),
        "connect_to": connect_to or "",
    }
    path = out or Path("runs") / time.strftime("watch-%Y-%m-%d-%H%M%S")
    summary = live(seeds, scope, settings, politeness, seconds, path, warc=warc, quiet=as_json)
    show(summary, as_json)
    if summary["stopped_because"] in ("interrupted", "aborted") or not summary["fetched"]:
        raise typer.Exit(1)


def duration(text: str, what: str) -> float:
    """Seconds of `90s`, `30m`, `12h`, `7d` or a bare number of seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", text.strip())
    if match is None:
        raise InputError(f"{what} {text!r} is no time; write 90s, 30m, 12h or 7d")
    return float(match[1]) * UNITS[match[2] or "s"]


def make_fleet(told: dict[str, Any], seeds: list[str], **rest: Any) -> Any:
    """The fleet of some settings; without a background corpus it makes its states of the first
    200 pages that it sees."""
    import numpy as np

    from spoor import registry
    from spoor.foragers.fleets import FleetTask
    from spoor.foragers.states import SelfTaught

    task = FleetTask(seeds, SelfTaught(), np.random.default_rng(told["seed"]), **rest)
    known = registry.parameters(registry.find("fleets", told["fleet"]))
    offered = {
        "new_hours": told["new_for"] / 3600.0,
        "recheck": told["recheck"],
        "abreast": told.get("abreast", 1),
    }
    params = {name: value for name, value in offered.items() if name in known}
    return registry.build(
        "fleets", told["fleet"], task, settings=params | registry.parse_params(told["params"])
    )


def live(
    seeds: list[str],
    scope: str,
    told: dict[str, Any],
    politeness: dict[str, Any],
    seconds: float | None,
    path: Path,
    *,
    warc: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Watch over the network; returns what was done."""
    from spoor.runs.plan import read_seeds, run_settings
    from spoor.runs.writer import RunWriter

    urls = read_seeds(seeds)
    # Without sitemaps: they list what is old, too, and nothing would say that it is.
    base = run_settings(urls, scope=scope, **politeness)
    settings = {"crawl": {"seeds": urls, "scope": scope, **told}, "politeness": base["politeness"]}
    with ExitStack() as after:
        folder = None
        if files.is_run(path):  # as `spoor crawl` does: a refusal comes first
            folder = after.enter_context(closing(RunWriter(path, settings, warc=warc)))
        from spoor.foragers.hosts import Hosts
        from spoor.live.live_crawl import make_http
        from spoor.live.watch import Watch
        from spoor.web.scope import Scope

        http = make_http(base)
        fleet = make_fleet(
            {**told, "abreast": politeness["in_flight"]},
            urls,
            admit=Scope.of(urls, scope),
            hosts=Hosts(delay=politeness["delay"], per_host=politeness["per_host"]),
        )
        if folder is None:
            folder = after.enter_context(closing(RunWriter(path, settings, warc=warc)))
        running = Watch(folder, fleet, http, title=" ".join(urls[:3]), changes=told["changes"])
        if not quiet:
            running.on_line = say
        running.on_interrupt = lambda: typer.echo(
            "stopping: what is in flight comes in; once more ends at once", err=True
        )
        reason = running.run(seconds)
    return running.summary(reason)


def simulated(
    replay: Path, told: dict[str, Any], seconds: float | None, out: Path | None, *, quiet: bool
) -> dict[str, Any]:
    """The same on an evolving web by a simulated clock, with the measures of the lab."""
    from spoor.cli.screen import progress
    from spoor.formats.feeds import rss
    from spoor.live.changes import ChangeTracker
    from spoor.simulation.fleets import figures, simulate_fleet
    from spoor.worlds.import_evolving import open_evolving

    world = open_evolving(replay)
    fleet = make_fleet({**told, "recheck": 0.0}, world.roots())
    tracker = ChangeTracker(fleet, told["changes"])
    lines: list[dict[str, Any]] = []
    end = world.end if seconds is None else min(world.end, world.start + seconds)
    with progress("downloads", None, quiet=quiet) as tell:
        run = simulate_fleet(
            fleet,
            world,
            end=end,
            progress=tell,
            on_step=lambda step, now: lines.extend(tracker.lines(step, now)),
        )
    summary = figures(fleet, world, run, {"fleet": told["fleet"], "seed": told["seed"]})
    summary["stopped_because"] = "time is over"
    summary["fetched"], summary["found"] = summary["downloaded"], summary["relevant"]
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
            with (out / files.NEWS).open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            (out / files.FEED).write_bytes(rss(lines[-200:], str(replay)))
        except OSError as error:
            raise InputError(f"cannot write {out}: {error.strerror}") from error
        summary["out"] = str(out)
    return summary


def say(line: dict[str, Any]) -> None:
    """One document for a person, as it is found."""
    found = line["found_at"][11:19]
    typer.echo(f"{found}  {line['kind']:<7}  {shown(line['title'] or '–')}  {shown(line['url'])}")


def show(summary: dict[str, Any], as_json: bool) -> None:
    """The end of a watch."""
    if as_json:
        typer.echo(json.dumps(summary))
        return
    lines = [f"{summary['stopped_because']}"]
    if not summary["fetched"]:
        lines.append(f"  nothing came: {summary.get('last_failure', '')}")
    lines.append(
        f"  fetched  {summary['fetched']:,} documents, {summary['failed']:,} failed; "
        f"{summary.get('found_urls', summary.get('known_urls', 0)):,} URLs known"
    )
    lines.append(f"  found    {summary['found']:,} new of {summary['sent']:,} sent")
    if "share_found" in summary:
        for name in ("share_found", "delay_hours", "freshness", "age_hours"):
            value = summary[name]
            shown = "–" if value is None else f"{value:.3f}"
            lines.append(f"  {name.replace('_', ' '):<12} {shown}")
    if "out" in summary:
        lines.append(f"  results  {summary['out']}/{files.NEWS}, {files.FEED}")
    typer.echo("\n".join(lines), file=sys.stdout)
