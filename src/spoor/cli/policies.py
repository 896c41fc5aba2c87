"""`spoor policies`: the policies with their parameters and defaults."""

from __future__ import annotations

import inspect
import json
from typing import Any

import typer

from spoor import registry
from spoor.cli.options import AsJson
from spoor.errors import PluginError


def add(app: typer.Typer) -> None:
    app.command()(policies)


def policies(
    as_json: AsJson = False,
) -> None:
    """List the policies with their parameters."""
    rows = [describe(name) for name in registry.names("policies")]
    if as_json:
        typer.echo(json.dumps({"policies": rows}))
        return
    for policy in rows:
        typer.secho(policy["name"], bold=True, nl=False)
        typer.echo(f"  {policy['summary']}")
        for name, default in policy["parameters"].items():
            typer.echo(f"    {name} = {json.dumps(default)}")


def describe(name: str) -> dict[str, Any]:
    """A policy's name, first line of its documentation, and parameters with defaults.

    A policy of another package that cannot be imported is listed with its error.
    """
    try:
        factory = registry.find("policies", name)
    except PluginError as error:
        return {"name": name, "summary": f"cannot be used: {error}", "parameters": {}}
    summary = (inspect.getdoc(factory) or "").split("\n\n")[0].replace("\n", " ")
    parameters = {
        key: None if parameter.default is inspect.Parameter.empty else parameter.default
        for key, parameter in registry.parameters(factory).items()
    }
    return {"name": name, "summary": summary, "parameters": parameters}
