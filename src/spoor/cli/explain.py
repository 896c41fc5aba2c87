"""`spoor explain`: what a model has learned, in words."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer

from spoor.display import shown
from spoor.errors import InputError


def add(app: typer.Typer) -> None:
    app.command()(explain)


def explain(
    model: Annotated[Path, typer.Argument(help="What `spoor train` wrote.")],
    top: Annotated[int, typer.Option(min=1, help="Features of each group.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print what MODEL has learned: the most telling features of each group."""
    from spoor.learn.state import read

    state = read(model)
    rows = learned(state)
    groups: dict[str, list[tuple[str, float]]] = {
        name: [(feature, weight) for _, feature, weight in group][:top]
        for name, group in groupby(rows, key=lambda row: row[0])
    }
    if as_json:
        about = {key: state[key] for key in ("policy", "features", "topic", "about")}
        typer.echo(json.dumps({**about, "learned": groups}))
        return
    typer.echo(f"{state['policy']} for {state['topic']!r}, over {state['features']}")
    for name, features in groups.items():
        typer.echo(f"\n{name}")
        width = max(len(feature) for feature, _ in features)
        for feature, weight in features:
            typer.echo(f"  {shown(feature):<{width}}  {weight:+.5g}")


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
