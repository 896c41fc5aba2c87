"""`spoor explain`: what a model or a run has learned, or why a page was fetched, in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoor.cli.options import AsJson
from spoor.display import shown
from spoor.errors import InputError

if TYPE_CHECKING:
    from spoor.runs.snapshot import NextLink


def add(app: typer.Typer) -> None:
    app.command()(explain)


def explain(
    what: Annotated[
        Path, typer.Argument(metavar="MODEL|RUN", help="What `spoor train` wrote, or a run.")
    ],
    url: Annotated[str | None, typer.Argument(help="A page of the run, or an open link.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Features of each group, and open links.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Print what MODEL or RUN has learned and what a RUN would ask for next, or why URL was chosen
    or waits."""
    from spoor.learn.state import read

    if url is not None:
        told = of_page(what, url)
        typer.echo(json.dumps(told) if as_json else "\n".join(page_lines(told)))
        return
    state = of_run(what, top) if what.is_dir() else read(what)
    rows = learned(state) if "rows" not in state else state["rows"]
    groups: dict[str, list[tuple[str, float]]] = {
        name: [(feature, weight) for _, feature, weight in group][:top]
        for name, group in groupby(rows, key=lambda row: row[0])
    }
    if as_json:
        about = {key: state[key] for key in ("policy", "features", "topic", "about")}
        coming = [asdict(link) for link in state.get("next", ())]
        typer.echo(json.dumps({**about, "learned": groups, "next": coming}))
        return
    called = state.get("called", state["topic"])
    typer.echo(f"{state['policy']} for {called!r}, over {state['features']}")
    for name, features in groups.items():
        typer.echo(f"\n{name}")
        named = [(shown(feature) or "(none)", weight) for feature, weight in features]
        width = max(len(feature) for feature, _ in named)
        for feature, weight in named:
            typer.echo(f"  {feature:<{width}}  {weight:+.5g}")
    for line in next_lines(state.get("next", ())):
        typer.echo(line)


def of_run(path: Path, top: int) -> dict[str, Any]:
    """What the policy of a run had learned at its last checkpoint, and what it would ask for."""
    from spoor.runs.snapshot import crawl_of, settings_of, snapshot

    policy = settings_of(path).policy
    crawl, topic = crawl_of(path)
    found = snapshot(path, crawl=crawl, links=top)
    if found is None:
        raise InputError(f"{path} has no state yet")
    if found.missing:
        raise InputError(found.missing)
    if not found.learned and not found.next:
        raise InputError(f"{policy} can't say what it has learned, and nothing is open")
    return {
        "policy": policy,
        "features": "this run",
        "topic": topic,
        "about": {"requests": found.requests},
        "rows": [(name, *row) for name, rows in found.learned.items() for row in rows],
        "next": found.next,
    }


def of_page(path: Path, url: str) -> dict[str, Any]:
    """Why a page of a run was fetched, and what came of it; or why an open link waits."""
    from spoor.runs.database import reading
    from spoor.runs.snapshot import open_link
    from spoor.web.urls import canonical

    try:
        name = canonical(url)
    except ValueError as error:
        raise InputError(str(error)) from None
    with reading(path) as db:
        row = db.execute("SELECT * FROM pages WHERE url = ?", (name,)).fetchone()
        if row is not None:
            found = dict(row)
            for key in ("path", "why", "choice_why"):
                found[key] = json.loads(found[key] or "[]")
            return {**found, "fetched": True}
        row = db.execute("SELECT * FROM failures WHERE url = ?", (name,)).fetchone()
    if row is not None:
        return {**dict(row), "fetched": False}
    link = open_link(path, name)
    if link is None:
        raise InputError(f"{path} never asked for {name}, and does not wait for it either")
    return {**asdict(link), "open": True}


def page_lines(told: dict[str, Any]) -> list[str]:
    """The same for a person."""
    lines = [shown(told["url"])]
    if "open" in told:
        lines.append(f"  open, {told['depth']} links from a seed, at the last checkpoint")
        lines += [f"    {shown(reason)}  {share:+.3g}" for reason, share in told["why"]]
        lines.append("  seen")
        return [*lines, *(f"    {_seen(*seen)}" for seen in told["seen"])]
    if not told["fetched"]:
        return [*lines, f"  did not come: {shown(told['reason'] or told['kind'])}"]
    verdict = "relevant" if told["relevant"] else "not relevant"
    lines.append(f"  page {told['seq']} of the run, {verdict}, score {told['score']:.2f}")
    lines += [f"    {shown(reason)}  {share:+.3g}" for reason, share in told["why"]]
    lines.append("  chosen because of")
    lines += [f"    {shown(reason)}  {share:+.3g}" for reason, share in told["choice_why"]]
    if told["probability"] is not None and told["probability"] < 1:
        lines.append(f"    with probability {told['probability']:.3g}")
    lines.append("  path from the seed")
    lines += [f"    {shown(step)}" for step in told["path"]]
    return lines


def _seen(page: str, words: str, score: float) -> str:
    if not page:
        return "as a seed"
    return shown(f"on {page} (score {score:.2f}), as ‘{words}’")


def next_lines(links: Sequence[NextLink]) -> list[str]:
    """What a run would ask for next, best first, with reasons."""
    lines = ["", "what it would ask for next"] if links else []
    for link in links:
        lines.append(f"  {shown(link.url)}")
        lines += [f"    {shown(reason)}  {share:+.2f}" for reason, share in link.why[:3]]
    return lines


def learned(model: dict[str, Any]) -> list[tuple[str, str, float]]:
    """(group, feature, weight) of a model, by the policy that it belongs to."""
    import numpy as np

    from spoor import registry
    from spoor.protocols import Explains
    from spoor.types import Task

    if "policy" not in model:
        raise InputError("this is a Spoor state, but no model; `spoor train` writes models")
    settings = model["about"].get("params", {})
    task = Task(np.random.default_rng(0), model=model)
    policy = registry.build("policies", model["policy"], task, settings=settings)
    if not isinstance(policy, Explains):
        raise InputError(f"{model['policy']} can't say what it has learned")
    return list(policy.explain())
