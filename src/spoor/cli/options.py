"""Options of commands: made from the settings, and those that several commands have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from spoor.errors import InputError
from spoor.registry import parse_params
from spoor.runs.files import SETTINGS, is_run
from spoor.setting import Setting
from spoor.settings import Settings, described

ADVANCED = "Limits and details"
"""The help panel of options that few users need."""
_MOST_LINE = 1_500
"""Characters of a command that is named whole; the line of an error is cut at some more."""
PANELS = {"crawl": "What it looks for, and how", "budget": "When it ends"}
PANELS |= {"politeness": "How hosts are asked", "process": "How it is run"}
"""Group of settings → the help panel of its options."""
FIRST = frozenset(
    "topic want whole_site pages max_time delay contact scope include exclude allow_private".split()
)
"""Settings whose options a new user needs: they stand before the panels."""


def flag(name: str) -> str:
    """The option of a setting: `--per-host`."""
    return described(Settings)[name].flag


def option(name: str) -> Any:
    """The typer option of a setting."""
    one = described(Settings)[name]
    return typer.Option(one.flag, help=one.help, min=one.ge, max=one.le)


def takes_settings(
    command: str, after: Mapping[str, str]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorates a function with a parameter `settings`: it gets an option for each setting of the
    command. Its parameter `seeds` is the first argument, and its other options follow those of the
    settings, except those in `after`: own parameter → option that it follows."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        known = {n: one for n, one in Settings.of_command(command).items() if not one.inner}

        def run(context: typer.Context, **values: Any) -> None:
            said = {name: values.pop(name) for name in known}
            given = {
                name: _value(known[name], value)
                for name, value in said.items()
                if not _is_default(context, name)
            }
            function(settings=Settings.of(given, command, flag), **values)

        own = dict(inspect.signature(function, eval_str=True).parameters)
        del own["settings"]
        context = inspect.signature(run, eval_str=True).parameters["context"]
        order = [context, own.pop("seeds"), *(_parameter(one) for one in known.values())]
        for name, before in after.items():
            place = [parameter.name for parameter in order].index(before)
            order.insert(place + 1, own.pop(name))
        vars(run)["__signature__"] = inspect.Signature([*order, *own.values()])
        run.__name__, run.__doc__ = function.__name__, function.__doc__
        return run

    return decorate


def _is_default(context: typer.Context, name: str) -> bool:
    """Whether the user said nothing of an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT"


def _parameter(one: Setting) -> inspect.Parameter:
    """The parameter from which typer makes the option of a setting. Numbers are parsed by the
    setting, whose error messages are better than typer's."""
    # For a switch that is on by default, typer itself makes `--name / --no-name`.
    names = () if one.kind is bool and one.default else (one.flag,)
    apart = one.advanced or one.group.advanced
    panel = None if one.name in FIRST else ADVANCED if apart else PANELS[one.group.name]
    default, kind, metavar = one.default, one.kind, None
    if one.kind in (dict, tuple):
        kind, default = list[str], None
    elif one.path:
        kind, default = Path, None
    elif one.time:
        kind, default = str, one.time
    elif one.kind in (int, float):
        kind, metavar = str, _range(one)
        default = None if default is None else str(default)
    made = typer.Option(*names, help=one.help, rich_help_panel=panel, metavar=metavar)
    hint: Any = kind if default is not None else kind | None
    annotation: Any = Annotated[hint, made]
    return inspect.Parameter(
        one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation
    )


def _range(one: Setting) -> str:
    """The kind of a number, as typer writes it: `<int range> [x>=1]`."""
    if one.ge is None:
        return f"<{one.kind.__name__}>"
    bounds = f"x>={one.ge:.12g}" if one.le is None else f"{one.ge:.12g}<=x<={one.le:.12g}"
    return f"<{one.kind.__name__} range> [{bounds}]"


def _value(one: Setting, value: Any) -> Any:
    """The value of a setting, from the value of its option."""
    if one.kind is dict:
        return parse_params(value or [])
    if value is None:
        return one.default
    if one.secret:
        return [text for given in value for text in _secrets(one, given)]
    return one.parsed(value) if one.kind in (int, float) and not one.time else value


_MOST = 1 << 20
"""Bytes of a file of secrets."""


def _secrets(one: Setting, given: str) -> list[str]:
    """The value of a secret, or the lines of the file that `@FILE` names: any user of the machine
    may read the arguments of a process. Raises InputError for a file that cannot be read."""
    if not given.startswith("@"):
        return [given]
    try:
        with open(given[1:], "rb") as file:
            lines = file.read(_MOST).decode().splitlines()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
        raise InputError(f"cannot read {given[1:]} ({one.flag}): {reason}") from error
    return [line for line in map(str.strip, lines) if line]


# ---------------------------------------------------------------- options of several commands

Policy = Annotated[str, option("policy")]
Param = Annotated[list[str] | None, option("params")]
ModelFile = Annotated[Path | None, option("model")]
VectorsFile = Annotated[Path | None, option("vectors")]
Seed = Annotated[int, option("seed")]
Delay = Annotated[float, option("delay")]
Contact = Annotated[str, option("contact")]
AllowPrivate = Annotated[list[str] | None, option("allow_private")]
ConnectTo = Annotated[str, option("connect_to")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def no_start(out: Path | None, wanted: str) -> InputError:
    """What is said where nothing says where to begin: what is `wanted`, or, of a run that exists,
    the command that goes on with it. A folder may be of a stranger: it begins nothing by itself."""
    if out is None or not is_run(out):
        return InputError(wanted)
    from spoor.runs.reader import Run
    from spoor.views.resume_page import command_of

    settings = Run(out).latest_settings()
    line = command_of(settings, out)
    if len(line) > _MOST_LINE:
        line = (
            f"{command_of(replace(settings, seeds=('FILE',)), out)} where FILE has its "
            f"{len(settings.seeds):,} seeds, one a line; they are in {out / SETTINGS}"
        )
    return InputError(f"{out} goes on by: {line}")
