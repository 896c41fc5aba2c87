"""The command `spoor`: exit code 0 done, 1 stopped with something lost or failed, 2 bad input."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from types import FrameType
from typing import Any

import typer
from typer.main import get_command

from spoor.display import masked, printable
from spoor.distribution import VERSION
from spoor.errors import InputError, SpoorError

COMMANDS = (
    *("demo", "crawl", "watch", "label", "replay"),
    *(
        "train",
        "explain",
        "ui",
        "show",
        "search",
        "export",
        "forget",
        "lab",
        "web",
        "topic",
        "mcp",
        "policies",
        "settings",
    ),
)
"""Modules of this package, each with `add(app)`, in the order of `spoor --help`."""

INTERRUPTED = 130
"""Typer's exit code of an interrupt that was not caught."""


@cache
def command_tree(*commands: str) -> Any:
    """The tree of `commands`: a callable for a list of arguments.

    typer takes half a second for all of them, since it reads every option's annotations.
    """
    app = typer.Typer(
        name="spoor",
        help="A focused web crawler that learns which links lead to what you want.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def root(
        show: bool = typer.Option(False, "--version", help="Print the version and end."),
    ) -> None:
        if show:
            typer.echo(f"spoor {VERSION}")
            raise typer.Exit

    for name in commands:
        import_module(f"spoor.cli.{name}").add(app)
    return get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. Errors of ours are printed without a
    traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Only the given command is built; all of them if the first argument is not one (--help).
    commands = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    try:
        with _interrupted_by(signal.SIGTERM, signal.SIGHUP):
            code = command_tree(*commands)(arguments, standalone_mode=False)
        if code == INTERRUPTED:
            return _say("stopped", 1)
        return code if isinstance(code, int) else 0
    except InputError as error:
        return _say(error, 2)
    except typer.TyperException as error:
        message = " ".join(error.format_message().split())
        return _say(message, 2) if message else 2  # empty where the help has been printed
    except (typer.Abort, KeyboardInterrupt):
        return _say("stopped", 1)
    except BrokenPipeError:
        return 1
    except SpoorError as error:
        return _say(error, 1)
    except OSError as error:  # a disk that is full, a folder that is none, …
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{error.strerror or error}", 1)


@contextmanager
def _interrupted_by(*numbers: signal.Signals) -> Iterator[None]:
    """Signals that would end the process at once end it as an interrupt does, so that folders and
    processes that were made for a while are cleared away. A second one changes nothing."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for known in before:
            signal.signal(known, signal.SIG_IGN)
        raise KeyboardInterrupt

    before: list[signal.Signals] = []
    if threading.current_thread() is threading.main_thread():
        before += [one for one in numbers if signal.getsignal(one) is signal.SIG_DFL]
    for number in before:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in before:
            signal.signal(number, signal.SIG_DFL)


def _say(message: object, code: int) -> int:
    # The message may quote a server or a file.
    lines = [printable(masked(line)) for line in str(message).splitlines()]
    typer.echo("spoor: " + "\n".join(lines), err=True)
    return code
