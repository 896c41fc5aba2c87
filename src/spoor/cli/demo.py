"""`spoor demo`: generates a web, serves it on loopback, and crawls it focused and breadth-first."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from spoor.cli.crawl import describe
from spoor.cli.options import AsJson
from spoor.errors import SpoorError, cannot_write
from spoor.files import write_whole
from spoor.registry import DEFAULT_POLICY
from spoor.runs import files

PAGES = 5_000
TOPIC = "pottery, kiln, glaze, clay, porcelain, stoneware, ceramic"
_PORT = re.compile(r"http://127\.0\.0\.1:(\d+)/")


def add(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the web, the runs and the report.")] = Path(
        "demo"
    ),
    pages: Annotated[int, typer.Option(min=10, help="Budget of each crawl.")] = 700,
    seed: Annotated[int, typer.Option(help="Seed of the web.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Crawl a generated web over real HTTP, focused and breadth-first, and compare."""
    import shutil

    from spoor.views.html import render
    from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

    world = GeneratedWorld(GeneratedSettings(pages=PAGES, seed=seed))
    web = out / "web"
    world.save(web)
    if not as_json:
        hosts = world.settings.hosts
        typer.echo(f"A web of {PAGES:,} pages on {hosts} hosts, served on this machine.")
        typer.echo(f"Wanted: pages about pottery. Budget: {pages} pages for each crawl.\n")
    summaries: dict[str, dict[str, Any]] = {}
    with served(web) as port:
        for policy in (DEFAULT_POLICY, "breadth-first"):
            run = out / policy
            # Each demo starts anew; it deletes only runs of an earlier demo.
            if files.is_run(run):
                shutil.rmtree(run)
            summaries[policy] = _crawl(world.url_of(0), port, policy, pages, run, quiet=as_json)
            if not as_json:
                typer.echo(f"{policy}: {describe(summaries[policy], run)}\n")
    report = out / "report.html"
    try:
        write_whole(report, render(compare(out, list(summaries))))
    except OSError as error:
        raise cannot_write(report, error) from error
    if as_json:
        typer.echo(json.dumps({"report": str(report), "runs": summaries}))
        return
    for policy, summary in summaries.items():
        typer.echo(f"{policy:>14}  found {summary['found']:>4}  {summary['harvest_rate']:6.1%}")
    typer.echo(f"\nThe report, with both curves: {report}")


def _crawl(
    root: str, port: int, policy: str, pages: int, out: Path, *, quiet: bool
) -> dict[str, Any]:
    """Run `spoor crawl` in a process of its own; returns its JSON."""
    command = [sys.executable, "-P", "-m", "spoor", "crawl", root, "--topic", TOPIC]
    command += ["--policy", policy, "--pages", str(pages), "--out", str(out), "--json"]
    command += ["--connect-to", f"127.0.0.1:{port}", "--scope", "anywhere"]
    command += ["--delay", "0", "--per-host", "4"]
    if not quiet:
        typer.echo("$ " + " ".join(["spoor", *command[4:6], f'--topic "{TOPIC}"', *command[8:]]))
    # At a terminal the screen of the crawl is shown.
    errors = None if sys.stderr.isatty() else subprocess.PIPE
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False, timeout=150
    )
    if done.returncode:
        raise SpoorError(f"the crawl of the demo ended with {done.returncode}: {done.stderr or ''}")
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


@contextmanager
def served(web: Path) -> Iterator[int]:
    """`spoor web serve` in a process of its own; yields the port."""
    command = [sys.executable, "-P", "-u", "-m", "spoor", "web", "serve", str(web), "--for", "170"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        match = _PORT.search(process.stdout.readline())
        if match is None:
            raise SpoorError("the web of the demo could not be served")
        yield int(match[1])
    finally:
        process.terminate()
        process.communicate(timeout=10)


def compare(out: Path, policies: list[str]) -> Any:
    """One report of several runs: curves of all, pages of the first."""
    from dataclasses import replace

    from spoor.views.report import report_of

    runs = {policy: report_of(out / policy) for policy in policies}
    first = runs[policies[0]]
    lines = {policy: run.lines[policy] for policy, run in runs.items()}
    found = {policy: int(line[-1][1]) for policy, line in lines.items()}
    return replace(
        first,
        title="A focused crawl and a blind one",
        lead="Both crawls had the same budget on the same web, over HTTP on this machine.",
        numbers=[(f"found by {policy}", f"{count:,}") for policy, count in found.items()]
        + list(first.numbers),
        lines=lines,
        caption="Relevant pages found against pages fetched, one line a policy.",
    )
