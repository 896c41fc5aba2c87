"""`spoor watch`: foragers that watch changing sites, and report new documents."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from spoor.cli.options import AsJson, no_start, takes_settings
from spoor.display import shown
from spoor.errors import InputError, cannot_write
from spoor.files import write_whole
from spoor.runs import files
from spoor.setting import seconds
from spoor.settings import WITHOUT_EFFECT, Settings


def add(app: typer.Typer) -> None:
    app.command()(watch)


@takes_settings("watch", after={"for_": "fleet", "out": "for_", "from_": "out"})
def watch(
    settings: Settings,
    seeds: Annotated[
        list[str] | None, typer.Argument(help="URLs to watch from, or files of URLs, one a line.")
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="End after this time: 90s, 30m, 12h, 7d.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (runs/watch-TIME).")] = None,
    from_: Annotated[
        Path | None,
        typer.Option("--from", help="Watch what an earlier crawl found, from its best hubs."),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(help="Run on an evolving web instead, or on captures in an archive."),
    ] = None,
    as_json: AsJson = False,
    recheck: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Watch sites from SEEDS: print and store new and changed documents as they are found; with
    --topic or --want only those that are about it.

    The same command with the same --out continues.
    """
    if recheck is not None:
        raise InputError(f"--recheck: {WITHOUT_EFFECT['crawl', 'recheck']}")
    limit = None if for_ is None else seconds(for_, "--for")
    if replay is not None:
        if seeds:
            raise InputError("give seeds or --replay, not both: an evolving web has its roots")
        show(simulated(replay, settings, limit, out, quiet=as_json), as_json)
        return
    if not seeds and from_ is None:
        wanted = "say what to watch: a URL, a file of URLs, --from RUN or --replay WORLD"
        raise no_start(out, wanted)
    from spoor.cli import screen
    from spoor.runs.inputs import with_inputs

    with files.run_folder(out, "watch-") as path:
        found: list[str] = []
    if from_ is not None:
        from spoor.runs.watched_run import begun_from, watched_run

        if files.is_run(path):  # it goes on where it began, whatever the crawl has found since
            found, settings = begun_from(path, settings)
        else:
            found, settings = watched_run(from_, settings)
    settings = with_inputs(settings, [*(seeds or ()), *found], screen.say)
    summary = live(settings, limit, path, quiet=as_json)
    show(summary, as_json)
    if summary["stopped_because"] in ("interrupted", "aborted") or not summary["fetched"]:
        raise typer.Exit(1)


def live(settings: Settings, limit: float | None, path: Path, *, quiet: bool) -> dict[str, Any]:
    """Watch over the network for `limit` seconds; returns the summary."""
    from spoor.process_memory import allow_many_files, share_heap
    from spoor.runs.writer import RunWriter

    share_heap()
    allow_many_files()
    with ExitStack() as after:
        folder = None
        if files.is_run(path):  # as in `spoor crawl`: an existing run refuses first
            folder = after.enter_context(closing(RunWriter(path, settings)))
        from spoor.cli import screen
        from spoor.cli.plan import watch_plan
        from spoor.http.client import check_user
        from spoor.live.watch import Watch
        from spoor.rendering.browser import require_browser
        from spoor.runs.assemble_fleet import make_fleet
        from spoor.runs.recovery import kept_aside

        check_user(settings)
        require_browser(settings.render, settings.chromium)
        seeds = list(settings.seeds)
        fleet = make_fleet(settings, seeds)
        if folder is None:
            folder = after.enter_context(closing(RunWriter(path, settings)))
            if not quiet:
                for line in watch_plan(settings, path):
                    screen.say(line)
        running = Watch(folder, fleet, title=title_of(settings, seeds))
        for aside in folder.recovered:
            typer.echo(shown(kept_aside(aside)), err=True)
        if not quiet:
            running.on_line = say
        running.on_interrupt = lambda: typer.echo(
            "stopping: requests in flight are finished first; Ctrl-C again ends at once", err=True
        )
        running.on_fault = lambda line: typer.echo(shown(line), err=True)
        reason = running.run(limit)
    return running.summary(reason)


def title_of(settings: Settings, seeds: list[str]) -> str:
    """What its feeds and its digest are called."""
    wanted = settings.topic or settings.topic_file or " ".join(settings.want)
    where = " ".join(seeds[:3]) + (f" and {len(seeds) - 3} more" if len(seeds) > 3 else "")
    return f"{wanted} – {where}" if wanted else where


def simulated(
    replay: Path, settings: Settings, limit: float | None, out: Path | None, *, quiet: bool
) -> dict[str, Any]:
    """Watch an evolving web with a simulated clock; returns the summary with the lab's measures."""
    from spoor.cli.screen import progress
    from spoor.live.changes import ChangeTracker
    from spoor.live.news import write_news
    from spoor.runs.assemble_fleet import make_fleet
    from spoor.simulation.fleets import figures, simulate_fleet
    from spoor.worlds.import_evolving import open_evolving

    world = open_evolving(replay)
    alone = replace(settings, in_flight=1, scope="anywhere")
    fleet = make_fleet(alone, world.roots())
    tracker = ChangeTracker(fleet, settings.changes)
    lines: list[dict[str, Any]] = []
    end = world.end if limit is None else min(world.end, world.start + limit)
    with progress("downloads", None, quiet=quiet) as report_progress:
        run = simulate_fleet(
            fleet,
            world,
            end=end,
            progress=report_progress,
            on_step=lambda step, now: lines.extend(tracker.lines(step, now)),
        )
    if fleet.revise(run.now):
        lines.extend(tracker.found(run.now))
    summary = figures(fleet, world, run, {"fleet": settings.fleet, "seed": settings.seed})
    summary["stopped_because"] = "time is over"
    summary["fetched"], summary["found"] = summary["downloaded"], summary["relevant"]
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
            rows = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]
            write_whole(out / files.NEWS, "".join(rows))
            write_news(out, lines, title_of(settings, [str(replay)]), tracker.sources)
        except OSError as error:
            raise cannot_write(out, error) from error
        summary["out"] = str(out)
    return summary


def say(line: dict[str, Any]) -> None:
    """Print one found document for a person."""
    time_found = line["found_at"][11:19]
    typer.echo(
        f"{time_found}  {line['kind']:<7}  {shown(line['title'] or '–')}  {shown(line['url'])}"
    )


def show(summary: dict[str, Any], as_json: bool) -> None:
    """Print the summary of a watch."""
    if as_json:
        typer.echo(json.dumps(summary))
        return
    lines = [f"{summary['stopped_because']}"]
    if not summary["fetched"]:
        lines.append(f"  nothing came: {summary.get('last_failure', '')}")
    urls = summary.get("found_urls", summary.get("known_urls", 0))
    lines.append(
        f"  fetched  {summary['fetched']:,} documents, {summary['failed']:,} failed; "
        f"{urls:,} URLs known"
    )
    if now := summary.get("this_time"):
        lines.append(
            f"  now      {now['fetched']:,} of these documents, by {now['requests']:,} requests"
        )
    if rendered := summary.get("rendered"):
        lines += [f"  rendered {line}" for line in rendered["lines"]]
    if now:
        first = (
            ""
            if summary["resumed"]
            else "; pages that are there at the first look are not reported"
        )
        lines.append(f"  reported {summary['lines']:,}, {now['lines']:,} of them now{first}")
    else:
        lines.append(f"  found    {summary['found']:,} new of {summary['sent']:,} sent")
    if "share_found" in summary:
        for name in ("share_found", "delay_hours", "freshness", "age_hours"):
            value = summary[name]
            shown = "–" if value is None else f"{value:.3f}"
            lines.append(f"  {name.replace('_', ' '):<12} {shown}")
    if "out" in summary:
        lines.append(f"  read     {summary['out']}/{files.DIGEST_HTML}, {files.FEED}, {files.NEWS}")
    typer.echo("\n".join(lines), file=sys.stdout)
