"""The command `spoor`: exit code 0 done, 1 stopped with something lost or failed, 2 bad input."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from types import FrameType
from typing import Any

import typer
from typer.main import get_command

from spoor.display import masked, printable
from spoor.distribution import VERSION
from spoor.errors import InputError, PausedError, SpoorError, mend_of_disk

COMMANDS = {
    "demo": "Crawl a generated web over real HTTP, focused and breadth-first, and compare.",
    "crawl": (
        "Crawl from SEEDS for relevant pages. The same command with the same --out continues."
    ),
    "watch": (
        "Watch sites from SEEDS: print and store new and changed documents as they are found; with "
        "--topic or --want only those that are about it."
    ),
    "label": (
        "Label the page URL of RUN as relevant or not; its judge and policy learn that if they can."
    ),
    "replay": "Replay a policy over WEB and say how soon it finds the targets.",
    "train": "Train POLICY on WEBS; each recorded site is one training site.",
    "explain": (
        "Print what MODEL or RUN has learned and what a RUN would ask for next, or why URL was "
        "chosen or waits; of a watch, why it told of URL or did not, and when it looks there next."
    ),
    "ui": "Show RUN, or a control room for a folder of runs, on this machine, until Ctrl-C.",
    "stop": (
        "End RUN as Ctrl-C in its terminal does: requests in flight are finished; it can go on."
    ),
    "show": (
        "Print the document URL of RUN as Markdown; without URL what a watch has told, its sources "
        "and where it looks next."
    ),
    "search": "Find the documents of RUN that hold WORDS, best first.",
    "export": "Write the relevant documents of RUN to a file or folder for another program.",
    "forget": (
        "Take the pages URL… out of RUN: rows, archive, results, labels, and exports in its folder."
    ),
    "lab": "Run experiments, compare, report.",
    "web": "Make, import, describe and serve webs.",
    "topic": "Make and test topic files.",
    "mcp": (
        "Serve crawls as tools for agents (Model Context Protocol). No prompt can lift the limits."
    ),
    "policies": "List the policies with their parameters.",
    "settings": "List every setting with its option, range and default, as Markdown.",
}
"""Modules of this package, each with `add(app)`, in the order of `spoor --help`, and the first
paragraph of their help."""

_TELLING = {"--help", "-h", "--version"}
"""First arguments for which no command has to be known but by its name."""

INTERRUPTED = 130
"""Typer's exit code of an interrupt that was not caught."""


@cache
def command_tree(*commands: str, names_only: bool = False) -> Any:
    """The tree of `commands`: a callable for a list of arguments. `names_only`: they have a name
    and a help, and do nothing.

    typer takes half a second for all of them, since it reads every option's annotations. A list of
    names is plain text: rich, which draws boxes, takes longer to import than all the rest.
    """
    app = typer.Typer(
        name="spoor",
        help="A focused web crawler that learns which links lead to what you want.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if names_only else "rich",
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
        if names_only:
            app.command(name, short_help=COMMANDS[name])(lambda: None)
            continue
        import_module(f"spoor.cli.{name}").add(app)
    return get_command(app)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    code = 1
    _open_streams()

    def end() -> None:
        # What waits for a server that does not answer is ended with the process, and not before:
        # compiled packages would say of all that such a thread still holds that it leaked.
        if any(thread.daemon for thread in threading.enumerate()):
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)

    atexit.register(end)
    code = run(arguments)
    sys.exit(code)


def _open_streams() -> None:
    """Open the standard streams that whoever began this process closed (`2>&-`), to nowhere: else
    the next file gets the number of one, and what a library prints."""
    for name in ("stdin", "stdout", "stderr"):  # in this order they get 0, 1 and 2
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(opened, True)
            setattr(sys, name, os.fdopen(opened, "r" if name == "stdin" else "w", encoding="utf-8"))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code. Errors of ours are printed without a
    traceback."""
    arguments = sys.argv[1:] if arguments is None else arguments
    # Only the given command is built; all of them if the first argument is not one (--help).
    known = arguments[:1] if arguments and arguments[0] in COMMANDS else [*COMMANDS]
    names_only = not arguments or arguments[0] in _TELLING
    try:
        with _interrupted_by(signal.SIGTERM, signal.SIGHUP):
            tree = command_tree(
                *known, names_only=names_only and "_SPOOR_COMPLETE" not in os.environ
            )
            code = tree(arguments, prog_name="spoor", standalone_mode=False)
        if code == INTERRUPTED:
            return _say("stopped", 1)
        return code if isinstance(code, int) else 0
    except InputError as error:
        return _say(error, 1 if isinstance(error, PausedError) else 2)
    except typer.TyperException as error:
        message = " ".join(error.format_message().split())
        context = getattr(error, "ctx", None)
        if message and context is not None:
            end = "" if message.endswith((".", "?")) else "."
            usage = " ".join(context.get_usage().split())
            message = f"{message}{end} {usage}; {context.command_path} --help tells more"
        return _say(message, 2) if message else 2  # empty where the help has been printed
    except (typer.Abort, KeyboardInterrupt):
        return _say("stopped", 1)
    except BrokenPipeError:
        return 1
    except SpoorError as error:
        return _say(error, 1)
    except OSError as error:  # a disk that is full, a folder that is none, …
        where = f"{error.filename}: " if error.filename else ""
        mend = mend_of_disk(error)
        return _say(f"{where}{error.strerror or error}{'; ' * bool(mend)}{mend}", 1)


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


_LONGEST = 2_000
"""Characters of a line of an error."""


def _cut(line: str) -> str:
    """A line without its middle, if it is long: what it quotes may have megabytes, and what mends
    it stands at the end."""
    half = _LONGEST // 2
    return line if len(line) <= _LONGEST else f"{line[:half]} … {line[-half:]}"


def _say(message: object, code: int) -> int:
    # The message may quote a server or a file.
    lines = [_cut(printable(masked(line))) for line in str(message).splitlines()]
    typer.echo("spoor: " + "\n".join(lines), err=True)
    return code
