"""`spoor web`: recorded and generated webs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from spoor.cli import web_evolve, web_serve
from spoor.cli.options import AsJson
from spoor.display import shown
from spoor.errors import InputError

web = typer.Typer(name="web", help="Make, import, describe and serve webs.", no_args_is_help=True)

PLAIN_EVERY = 10.0
"""Seconds between two plain lines of progress."""


def add(app: typer.Typer) -> None:
    web_serve.add(web)
    web_evolve.add(web)
    app.add_typer(web)


# ---------------------------------------------------------------- import


@web.command("import")
def import_(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="SRC... DEST",
            help="JSON lines, WARC, a MediaWiki dump or a mirror folder; then the folder to write.",
        ),
    ],
    base_url: Annotated[
        str | None, typer.Option(help="URL of the site that a mirror folder is a copy of.")
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(
            help="CSV of URL, label: labels of pages. A list of URLs has its file's name."
        ),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Leave out bad records, and count them.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace a web that DEST holds.")
    ] = False,
    jobs: Annotated[
        int, typer.Option(min=0, max=1_000, help="Processes that parse; 0: as many as help.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Make a recorded web of the sources."""
    from spoor.worlds.import_web import record

    if len(paths) < 2:
        raise InputError("give at least one source, then the folder to write: SRC... DEST")
    *sources, folder = paths
    began = time.monotonic()
    with _progress() as report_progress:
        summary = record(
            sources,
            folder,
            base_url=base_url,
            labels=labels or (),
            keep_going=keep_going,
            replace=replace,
            jobs=jobs,
            progress=report_progress,
        )
    seconds = time.monotonic() - began
    if as_json:
        counts = {name: getattr(summary, name) for name in summary.__slots__}
        counts["unlabelled"] = len(summary.unlabelled)
        typer.echo(json.dumps({"web": str(folder), **counts, "seconds": round(seconds, 2)}))
        return
    resolved = summary.resolved / max(1, summary.links)
    typer.echo(
        f"{folder}: {summary.pages:,} pages, {summary.links:,} links, {resolved:.0%} of them to "
        f"recorded pages, {summary.bytes / 1e6:,.1f} MB in {seconds:,.1f} s"
    )
    for count, label in (
        (summary.redirects, "redirects"),
        (summary.failures, "failures (status 4xx, 5xx)"),
        (summary.merged, "records that repeat another one of the same page: merged"),
        (
            summary.respelt,
            "records of a page that another one has under its canonical URL: left out",
        ),
        (summary.replaced, "records older than another one of the same URL: left out"),
        (summary.elsewhere, "records that are no page of the web: left out"),
        (summary.skipped, "bad records: left out"),
        (
            len(summary.unlabelled),
            f"URLs of --labels are not in this web, as {shown(''.join(summary.unlabelled[:1]))}",
        ),
    ):
        if count:
            typer.echo(f"  {count:,} {label}")
    for note in summary.notes:
        typer.echo(f"    {note}")


@contextmanager
def _progress() -> Iterator[Callable[[int, float], None]]:
    """Yields `report_progress(records, share read)`: a bar on a terminal, plain lines elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    began = last = time.monotonic()

    def due(every: float) -> bool:
        nonlocal last
        now = time.monotonic()
        if now - last < every:
            return False
        last = now
        return True

    if not console.is_terminal:

        def plain(records: int, share: float) -> None:
            if due(PLAIN_EVERY):
                spent = last - began
                left = f", {spent / share - spent:,.0f} s left" if share > 0 else ""
                rate = records / spent
                done = f"{records:,} records, {rate:,.0f} a second, {share:.0%}{left}"
                typer.echo(done, err=True)

        yield plain
        return
    columns = (
        TextColumn("{task.fields[records]:,} records"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[rate]:,.0f} a second"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0, records=0, rate=0.0)

        def report_progress(records: int, share: float) -> None:
            if due(0.1):
                rate = records / (last - began)
                bar.update(task, completed=share, records=records, rate=rate)

        yield report_progress


# ---------------------------------------------------------------- info


@web.command()
def info(
    folder: Annotated[Path, typer.Argument(metavar="WEB", help="Folder of a web.")],
    site: Annotated[str | None, typer.Option(help="Only the pages recorded with it.")] = None,
    sources: Annotated[
        int | None, typer.Option(min=1, help="Pages from which distances are measured.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random choice of these pages.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say what WEB holds: pages, links, labels, reach from its roots, graph measures."""
    from spoor.worlds.describe import describe_folder

    description = describe_folder(folder, site=site, seed=seed, sources=sources)
    if as_json:
        typer.echo(json.dumps(description))
        return
    known = evolving_lines if "versions" in description else known_lines
    typer.echo("\n".join(known(description) + graph_lines(description["graph"])))


MOST = 12
"""Labels and sites that are shown; --json has all."""


def known_lines(web: dict[str, Any]) -> list[str]:
    """The description of a recorded or generated web for a person, without its graph."""
    lines = [
        f"{web['web']}: {web['pages']:,} pages, {web['documents']:,} of them documents without "
        f"text; {web['redirects']:,} redirects, {web['failures']:,} failures",
        f"  {web['links']:,} links, {web['resolved']:.1%} of them to recorded pages; "
        f"{web['absent']:,} URLs that are linked but not recorded",
    ]
    tables = [name for name in ("labels", "sites") if web[name]]
    lines += [f"  {name}: {_most(web[name])}" for name in tables]
    for root in web["roots"]:
        where = f" within {root['site']}" if root["site"] else ""
        lines.append(f"from {root['root']}")
        lines.append(
            f"  reached {root['reached']:,} of {root['pages']:,} pages{where}; by depth "
            f"{_depths(root['depths'])}"
        )
        if root["documents_reached"]:
            lines.append(
                f"  documents among them: {root['documents_reached']:,}; by depth "
                f"{_depths(root['document_depths'])}"
            )
        if root["labels"]:
            lines.append(f"  labels reached: {_most(root['labels'])}")
    return lines


def evolving_lines(web: dict[str, Any]) -> list[str]:
    """The description of an evolving web for a person, without its graph."""
    return [
        f"{web['web']}: {web['pages']:,} pages, {web['at_start']:,} of them there at the start, "
        f"{web['versions']:,} versions in {web['days']:.2f} days, {web['vanished']:,} vanish",
        f"  roots: {', '.join(web['roots'])}",
        "links of all versions together:",
    ]


def _depths(counts: list[int]) -> str:
    some = ", ".join(map(str, counts[: 2 * MOST]))
    return some + (f", … down to {len(counts) - 1}" if len(counts) > 2 * MOST else "")


def _most(counts: dict[str, int]) -> str:
    some = [f"{name} {count:,}" for name, count in list(counts.items())[:MOST]]
    more = len(counts) - MOST
    return ", ".join(some) + (f", {more:,} more" if more > 0 else "")


def graph_lines(graph: dict[str, Any]) -> list[str]:
    """The measures of a graph for a person."""
    lines = [
        f"graph of {graph['pages']:,} pages and {graph['arcs']:,} arcs (each pair once)",
        f"  links out: {graph['mean_degree']:.2f} on average, {graph['most_links_out']:,} at most; "
        f"links in: {graph['most_links_in']:,} at most; {graph['reciprocity']:.1%} reciprocated",
        f"  largest component: {graph['weak_component']:.1%} of the pages, "
        f"{graph['strong_component']:.1%} strongly connected",
    ]
    for key, name in (("distances", "shortest ways"), ("undirected_distances", "undirected")):
        ways = graph[key]
        error = f" ± {ways['error']:.2f}" if ways["error"] else ""
        bound = "at least " if ways["error"] else ""
        lines.append(
            f"  {name}: {ways['mean']:.2f}{error} links on average, {ways['within_90']} for 90 % "
            f"of the pairs, diameter {bound}{ways['longest']} (from {ways['sources']:,} pages)"
        )
    if "missing" in graph:
        lines.append(f"  {graph['missing']}")
        return lines
    lines.append(f"  clustering {graph['clustering']:.3f}")
    for way, law in graph["degrees"].items():
        if law is None:
            lines.append(f"  degrees {way}: too few for a power law")
            continue
        lines.append(
            f"  degrees {way}: exponent {law['alpha']:.2f} ± {1.96 * law['sigma']:.2f} from "
            f"{law['xmin']} on ({law['tail']:,} pages), Kolmogorov-Smirnov {law['distance']:.3f}, "
            f"against a lognormal {law['against_lognormal']:+.1f} (p = {law['p']:.2g})"
        )
    return lines
