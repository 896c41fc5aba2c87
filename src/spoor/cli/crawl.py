"""`spoor crawl`: a live, polite, focused crawl that can be stopped and gone on with."""

from __future__ import annotations

import json
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
    ModelFile,
    Param,
    PerHost,
    Policy,
    Robots,
    Scope,
    Seed,
    VectorsFile,
    Warc,
)
from spoor.display import shown
from spoor.registry import DEFAULT_POLICY, parse_params
from spoor.runs import files
from spoor.types import Deferred, Fetch, Outcome


def add(app: typer.Typer) -> None:
    app.command()(crawl)


def crawl(
    seeds: Annotated[
        list[str], typer.Argument(help="URLs to begin at, or files of URLs, one a line.")
    ],
    topic: Annotated[
        str | None, typer.Option(help="What is wanted: words, or a .topic file.")
    ] = None,
    topic_file: Annotated[Path | None, typer.Option(help="What is wanted: a TOML file.")] = None,
    want: Annotated[
        list[str] | None,
        typer.Option(
            help="url:REGEX, match:REGEX, type:GLOB, text:WORDS, query:WORDS or topic:FILE; "
            "several are or-ed."
        ),
    ] = None,
    policy: Policy = DEFAULT_POLICY,
    param: Param = None,
    model: ModelFile = None,
    vectors: VectorsFile = None,
    pages: Annotated[int, typer.Option(min=1, help="Budget of pages.")] = 1000,
    found: Annotated[int | None, typer.Option(min=1, help="End with so many found.")] = None,
    floor: Annotated[
        float,
        typer.Option(min=0, max=1, help="End when the last pages' harvest rate falls below it."),
    ] = 0.0,
    window: Annotated[int, typer.Option(min=1, help="Pages that --floor looks at.")] = 200,
    saturation: Annotated[
        float,
        typer.Option(min=0, max=1, help="End when, by estimate, less than this share is left."),
    ] = 0.0,
    least: Annotated[
        float,
        typer.Option("--yield", min=0, help="End when the next 100 pages will find fewer."),
    ] = 0.0,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (runs/TIME).")] = None,
    delay: Delay = 1.0,
    per_host: PerHost = 1,
    per_domain: Annotated[
        int, typer.Option(min=0, help="Requests to a domain at a time; 0: no limit.")
    ] = 0,
    per_address: Annotated[
        int, typer.Option(min=0, help="Requests to an address at a time; 0: no limit.")
    ] = 0,
    in_flight: InFlight = 16,
    frontier: Annotated[
        str, typer.Option(help="memory, disk, or auto: on disk from 10,000 open links on.")
    ] = "auto",
    scope: Scope = "domain",
    max_depth: Annotated[int | None, typer.Option(min=0, help="Links from a seed.")] = None,
    pages_per_host: Annotated[int | None, typer.Option(min=1, help="Pages of one host.")] = None,
    pages_per_domain: Annotated[
        int | None, typer.Option(min=1, help="Pages of one registrable domain.")
    ] = None,
    traps: Annotated[
        bool, typer.Option("--traps", help="Walk into traps too: copies, endless calendars.")
    ] = False,
    sitemaps: Annotated[
        bool, typer.Option("--sitemaps", help="Take links from sitemaps; each counts as a page.")
    ] = False,
    seed: Seed = 0,
    allow_private: AllowPrivate = None,
    connect_to: ConnectTo = None,
    contact: Contact = "",
    robots: Robots = True,
    noai: Annotated[
        bool, typer.Option("--noai", help="Leave out pages that ask for it (noai, noml).")
    ] = False,
    warc: Warc = True,
    metrics: Annotated[
        str, typer.Option(help="Serve Prometheus metrics at this ADDRESS:PORT while it runs.")
    ] = "",
    otel: Annotated[
        bool,
        typer.Option("--otel", help="Send OpenTelemetry traces and metrics (OTEL_… say where)."),
    ] = False,
    shards: Annotated[
        int, typer.Option(min=0, help="Crawl in so many processes, on Ray; 0: in this one.")
    ] = 0,
    cluster: Annotated[
        str | None, typer.Option(help="Address of the Ray cluster that they run on.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Crawl from SEEDS for what is wanted. The same command on the same --out goes on."""
    from spoor.runs.plan import read_seeds, run_settings
    from spoor.runs.writer import RunWriter

    urls = read_seeds(seeds)
    settings = run_settings(
        urls,
        topic=topic or "",
        topic_file=str(topic_file or ""),
        want=want or [],
        policy=policy,
        params=parse_params(param or []),
        model=str(model or ""),
        vectors=str(vectors or ""),
        pages=pages,
        frontier=frontier,
        scope=scope,
        max_depth=max_depth,
        pages_per_host=pages_per_host,
        pages_per_domain=pages_per_domain,
        traps=traps,
        sitemaps=sitemaps,
        seed=seed,
        delay=delay,
        per_host=per_host,
        per_domain=per_domain,
        per_address=per_address,
        in_flight=in_flight,
        robots=robots,
        noai=noai,
        contact=contact,
        allow_private=allow_private or [],
        connect_to=connect_to or "",
    )
    path = out or Path("runs") / time.strftime("%Y-%m-%d-%H%M%S")
    with ExitStack() as after:
        folder = None
        if files.is_run(path) and not (shards or cluster):
            # A run that was begun says no before anything heavy is imported; a new one is made
            # after all that may be wrong with its settings.
            folder = after.enter_context(closing(RunWriter(path, settings, warc=warc)))
        from spoor.cli.live_screen import screen
        from spoor.live.live_crawl import LiveCrawl, make_http
        from spoor.live.metrics import Download, crawl_metrics, exporters
        from spoor.live.stop_rule import StopRule
        from spoor.runs.assemble import make_crawl, wanted
        from spoor.views.reading import report_of_run

        engine = make_crawl(settings, *wanted(topic, topic_file, want or []))
        http = make_http(settings)
        rule = StopRule(found, floor, window, saturation, least)
        if shards or cluster:
            from spoor.cli import shards as split

            summary = split.run(
                path,
                settings,
                shards=shards or 2,
                cluster=cluster,
                stop=rule,
                warc=warc,
                as_json=as_json,
                metrics=metrics,
                otel=otel,
            )
            report_of_run(path)
            split.echo(summary, as_json=as_json, described=describe(summary, path))
            if summary["stopped_because"] == "interrupted" or not summary["fetched"]:
                raise typer.Exit(1)
            return
        exporting = exporters(lambda: crawl_metrics(engine), metrics, otel)
        for exporter in exporting:
            after.callback(exporter.close)
        if folder is None:
            folder = after.enter_context(closing(RunWriter(path, settings, warc=warc)))
        run = LiveCrawl(folder, engine, http, urls, stop=rule)
        # Standard output is for the JSON; a person at a terminal still sees what goes on.
        shown = screen(engine, run.estimate, quiet=as_json and not sys.stderr.isatty())

        def tell(fetch: Fetch, step: Outcome | Deferred) -> None:
            shown.step(fetch, step)
            if exporting and (download := Download.of(fetch, step)) is not None:
                for exporter in exporting:
                    exporter.add(download)

        run.on_step = tell
        run.on_interrupt = lambda: shown.say(
            "stopping: what is in flight comes in; once more ends at once"
        )
        run.on_fault = shown.say
        with shown:
            reason = run.run()
    summary = run.summary(reason)
    report_of_run(path, engine)
    typer.echo(json.dumps(summary) if as_json else describe(summary, path))
    if reason in ("interrupted", "aborted") or not summary["fetched"]:
        raise typer.Exit(1)


def describe(summary: dict[str, Any], path: Path) -> str:
    """The end of a crawl for a person."""
    left = summary["estimate"]["words"] if summary.get("estimate") else []
    lost = [f"  nothing came: {shown(summary['last_failure'])}"] if not summary["fetched"] else []
    if summary["judge"]:
        asked = summary["judge"]
        lost.append(
            f"  judge    {asked['asked']:g} answers, cost {asked['cost']:g}; "
            f"{asked['fell_back']:g} pages judged without"
        )
    if summary["policy_fault"]:
        lost.append(f"  policy   {shown(summary['policy_fault'])}")
    return "\n".join(
        [
            f"{summary['stopped_because']}",
            *lost,
            f"  fetched  {summary['fetched']} pages ({summary['pages_per_second']} a second), "
            f"{summary['failed']} failed, {summary['skipped']} passed over",
            f"  found    {summary['found']} ({summary['harvest_rate']:.1%} of the pages)",
            *(f"  {head:<9}{line}" for head, line in zip(("left", "next"), left, strict=False)),
            f"  results  {path / files.RELEVANT}",
            f"  report   {path / files.REPORT}",
        ]
    )
