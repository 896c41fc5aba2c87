"""`spoor replay`: a policy over a recorded or generated web, without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from spoor.cli.options import AsJson, ModelFile, Param, Policy, Seed, VectorsFile, flag
from spoor.cli.screen import progress, sparkline
from spoor.errors import InputError
from spoor.registry import DEFAULT_POLICY, parse_params
from spoor.settings import refuse_two


def add(app: typer.Typer) -> None:
    app.command()(replay)


def replay(
    web: Annotated[Path, typer.Argument(help="Folder of a recorded or generated web.")],
    target: Annotated[
        list[str],
        typer.Option(
            help="The pages to find: label:X, url:REGEX, type:GLOB, text:WORDS, topic:FILE…"
        ),
    ],
    topic: Annotated[
        str | None, typer.Option(help="What the policy may use: words, or a .topic file.")
    ] = None,
    topic_file: Annotated[Path | None, typer.Option(help="The same, from a TOML file.")] = None,
    root: Annotated[str | None, typer.Option(help="Where the crawl begins.")] = None,
    policy: Policy = DEFAULT_POLICY,
    param: Param = None,
    model: ModelFile = None,
    vectors: VectorsFile = None,
    pages: Annotated[int | None, typer.Option(min=1, help="Budget of pages.")] = None,
    seed: Seed = 0,
    in_flight: Annotated[int, typer.Option(min=1, help="Fetches in flight.")] = 1,
    delay: Annotated[float, typer.Option(min=0, help="Simulated delay of a host, s.")] = 0.0,
    scope: Annotated[str, typer.Option(help="site: the root's site only; web: all.")] = "site",
    absent: Annotated[str, typer.Option(help="Links not recorded: skip or answer.")] = "skip",
    found_per_host: Annotated[
        int | None, typer.Option(min=1, help="Leave a host once so many were found there.")
    ] = None,
    free_look_ahead: Annotated[
        bool, typer.Option("--free-look-ahead", help="Don't count pages that were only looked at.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Replay a policy over WEB and say how soon it finds the targets."""
    from spoor.judges.topic import read_topic, topic_of
    from spoor.learn.state import read
    from spoor.simulation.crawls import CrawlSetup, prepare, simulate_crawl

    if absent not in ("skip", "answer"):
        raise InputError(f"--absent is 'skip' or 'answer', not {absent!r}")
    refuse_two(topic, topic_file, flag)
    words = topic_of(topic).topic if topic else None
    setup = CrawlSetup(
        str(web),
        tuple(target),
        policy,
        root=root,
        topic=read_topic(topic_file).topic if topic_file else words,
        params=parse_params(param or []),
        seed=seed,
        pages=pages,
        in_flight=in_flight,
        delay=delay,
        scope=scope,
        absent=absent == "answer",
        vectors=str(vectors) if vectors else None,
        found_per_host=found_per_host,
        free_look_ahead=free_look_ahead,
    )
    prepared = prepare(setup)
    with progress("pages", prepared.budget(pages), quiet=as_json) as report_progress:
        figures = simulate_crawl(
            setup,
            web=prepared,
            model=read(model) if model else None,
            progress=report_progress,
        )
    typer.echo(json.dumps(figures) if as_json else describe(figures))


def describe(figures: Mapping[str, Any]) -> str:
    """The figures of a replay for a person."""
    reach, found = figures["reachable"], figures["found"]
    lines = [
        f"{figures['policy']} on {figures['web']} from {figures['root']}",
        f"  targets found   {found} of {figures['targets_reachable']} reachable"
        f" ({figures['targets']} in all)",
        f"  pages fetched   {figures['fetched']} of {reach} reachable"
        f" ({figures['pages_per_second']:,.0f} a second)",
    ]
    if figures["targets"] and not figures["targets_reachable"]:
        lines.append("  no link leads there from this root: begin elsewhere by --root")
    if figures.get("measured_by"):
        lines.append(f"  relevance by    {figures['measured_by']}")
    if figures["downloads"] != figures["fetched"]:
        lines.append(f"  downloads       {figures['downloads']}, pages only looked at included")
    for share, value in figures["requests_to"].items():
        shown = "not reached" if value is None else f"{value:.1%} of the pages"
        lines.append(f"  {share:>3} % of targets  {shown}")
    lines.append(f"  area under curve {_number(figures['auc'])}")
    lines.append(
        f"  breadth-first {_number(figures['auc_breadth_first'])}, "
        f"oracle {_number(figures['auc_oracle'])}, gap closed {_number(figures['gap_closed'])}"
    )
    if (figures["gap_closed"] or 0) > 1:
        lines.append("  (the oracle goes to the nearest target each time, and may be beaten)")
    lines.append("  " + sparkline([count for _, count in figures["curve"]]))
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
