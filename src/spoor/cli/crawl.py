"""`spoor crawl`: a live, polite, focused crawl that can be stopped and gone on with."""

from __future__ import annotations

import json
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

from spoor.display import shown
from spoor.errors import InputError
from spoor.registry import DEFAULT_POLICY
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
    policy: Annotated[str, typer.Option(help="See `spoor policies`.")] = DEFAULT_POLICY,
    param: Annotated[list[str] | None, typer.Option(help="A parameter: name=value.")] = None,
    model: Annotated[Path | None, typer.Option(help="What `spoor train` wrote.")] = None,
    vectors: Annotated[Path | None, typer.Option(help="Word vectors (GloVe, word2vec).")] = None,
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
    delay: Annotated[float, typer.Option(min=0, help="Seconds between two requests.")] = 1.0,
    per_host: Annotated[int, typer.Option(min=1, help="Requests to a host at a time.")] = 1,
    per_domain: Annotated[
        int, typer.Option(min=0, help="Requests to a domain at a time; 0: no limit.")
    ] = 0,
    per_address: Annotated[
        int, typer.Option(min=0, help="Requests to an address at a time; 0: no limit.")
    ] = 0,
    in_flight: Annotated[int, typer.Option(min=1, help="Requests in flight in all.")] = 16,
    frontier: Annotated[
        str, typer.Option(help="memory, disk, or auto: on disk from 50,000 open links on.")
    ] = "auto",
    scope: Annotated[str, typer.Option(help="host, domain (of the seeds) or anywhere.")] = "domain",
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
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    allow_private: Annotated[
        list[str] | None,
        typer.Option(help="A host whose loopback or private address may be connected to."),
    ] = None,
    connect_to: Annotated[
        str | None, typer.Option(help="ADDRESS:PORT that every host stands for (a served web).")
    ] = None,
    contact: Annotated[str, typer.Option(help="URL or mail address of whoever crawls.")] = "",
    robots: Annotated[bool, typer.Option(help="Obey robots.txt.")] = True,
    noai: Annotated[
        bool, typer.Option("--noai", help="Leave out pages that ask for it (noai, noml).")
    ] = False,
    warc: Annotated[bool, typer.Option(help="Write pages.warc.gz.")] = True,
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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Crawl from SEEDS for what is wanted. The same command on the same --out goes on."""
    from spoor.cli.live_screen import screen
    from spoor.drivers.http.folder import RunFolder
    from spoor.drivers.http.metrics import watchers
    from spoor.drivers.http.run import (
        Run,
        StopRule,
        make_crawl,
        make_http,
        read_seeds,
        run_settings,
        wanted,
    )
    from spoor.lab.cell import parse_params
    from spoor.lab.reading import report_of_run

    urls = read_seeds(seeds)
    judge, subject = wanted(topic, topic_file, want or [])
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
    engine = make_crawl(settings, judge, subject)
    http = make_http(settings)
    path = out or Path("runs") / time.strftime("%Y-%m-%d-%H%M%S")
    rule = StopRule(found, floor, window, saturation, least)
    if shards or cluster:
        from spoor.cli import shards as split

        if metrics or otel:
            raise InputError("--metrics and --otel look at one process; leave out --shards")
        summary = split.run(
            path,
            settings,
            shards=shards or 2,
            cluster=cluster,
            stop=rule,
            warc=warc,
            as_json=as_json,
        )
        report_of_run(path)
        split.echo(summary, as_json=as_json, described=describe(summary, path))
        if summary["stopped_because"] == "interrupted" or not summary["fetched"]:
            raise typer.Exit(1)
        return
    with ExitStack() as after:
        watching = watchers(engine, metrics, otel)
        for watcher in watching:
            after.callback(watcher.close)
        folder = RunFolder(path, settings, warc=warc)
        after.callback(folder.close)
        run = Run(folder, engine, http, urls, stop=rule)
        # Standard output is for the JSON; a person at a terminal still sees what goes on.
        shown = screen(engine, run.estimate, quiet=as_json and not sys.stderr.isatty())
        hearing = [shown.step, *(watcher.step for watcher in watching)]

        def tell(fetch: Fetch, step: Outcome | Deferred) -> None:
            for hear in hearing:
                hear(fetch, step)

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
            f"  results  {path / 'relevant.jsonl'}",
            f"  report   {path / 'report.html'}",
        ]
    )
