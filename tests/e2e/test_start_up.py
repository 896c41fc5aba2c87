"""What is said without doing anything is said without importing what does it."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from spoor.cli.main import COMMANDS
from spoor.runs.inputs import with_inputs
from spoor.runs.schema import FORMAT
from spoor.runs.writer import RunWriter
from spoor.settings import Settings

SEED = "http://a.example/"
HEAVY = {"aiohttp", "jinja2", "matplotlib", "numpy", "ray", "scipy", "selectolax", "sklearn"}

SAYING = """
import json, sys
from spoor.cli.main import run
for arguments in json.loads(sys.argv[1]):
    code = run(arguments)
    told = [code, sorted({name.partition(".")[0] for name in sys.modules})]
    print("SAID", json.dumps(told), flush=True)
    print("SAID", file=sys.stderr, flush=True)
"""

Said = tuple[int, set[str], str]
"""Exit code of a command, packages that were imported, and standard error."""


def said_in_turn(*commands: list[str]) -> list[Said]:
    """Of commands in one process, which nothing was imported in before."""
    script = [sys.executable, "-c", SAYING, json.dumps(commands)]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    lines = [line.removeprefix("SAID ") for line in done.stdout.splitlines() if "SAID [" in line]
    told = [(code, set(names)) for code, names in map(json.loads, lines)]
    errors = done.stderr.split("SAID\n")[:-1]
    return [(*one, error) for one, error in zip(told, errors, strict=True)]


def said(*arguments: str) -> Said:
    (one,) = said_in_turn([*arguments])
    return one


def test_what_only_tells_imports_nothing_heavy() -> None:
    for code, imported, _ in said_in_turn(["--version"], ["--help"], ["crawl", "--help"]):
        assert code == 0
        assert not imported & HEAVY


def test_the_list_of_commands_has_each_in_full_and_draws_nothing() -> None:
    """What draws (rich) takes longer to import than everything else that the list needs."""
    code, imported, _ = said("--help")
    assert code == 0
    assert not imported & {"markdown_it", "pydantic", "pygments", "rich"}
    done = subprocess.run(
        [sys.executable, "-m", "spoor", "--help"], capture_output=True, text=True, check=True
    )
    words = " ".join(done.stdout.split())
    assert [text for text in COMMANDS.values() if text not in words] == []


def test_patterns_are_imported_where_a_user_gives_some() -> None:
    """The library of regular expressions with a limit of time takes long, and few crawls need it."""
    code = "import sys, spoor.runs.assemble; print('regex' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_list_of_policies_needs_no_more_than_numpy() -> None:
    code, imported, _ = said("policies")
    assert code == 0
    assert imported & HEAVY == {"numpy"}


def test_a_refusal_imports_nothing_heavy(tmp_path: Path) -> None:
    reasons = ("in use", "settings", "older", "newer")
    with ExitStack() as until_said:
        made = [
            refused(command, why, tmp_path / f"{command} {why}", until_said)
            for command in ("crawl", "watch")
            for why in reasons
        ]
        found = said_in_turn(*(arguments for arguments, _ in made))
    for (code, imported, error), (_, told) in zip(found, made, strict=True):
        assert code == 2
        assert told in error
        assert len(error.splitlines()) == 1
        assert not imported & HEAVY


def refused(command: str, why: str, path: Path, until_said: ExitStack) -> tuple[list[str], str]:
    """Arguments of a command for a folder that cannot be gone on with, and what it says."""
    settings = with_inputs(Settings(topic="pottery"), [SEED])
    arguments = [command, SEED, "--out", str(path)]
    if command == "crawl":
        arguments += ["--topic", "pottery"]
    else:
        # Whatever else it was begun with, who holds it is looked at first.
        settings = Settings(command="watch", seeds=(SEED,), fleet="WL")
    folder = RunWriter(path, settings)
    if why == "in use":
        until_said.callback(folder.close)
        return arguments, "is in use by another process"
    folder.close()
    if why == "settings":
        if command == "crawl":
            return [*arguments, "--policy", "random"], "was begun with policy"
        return arguments, "was begun with"
    other, toml = FORMAT + (1 if why == "newer" else -1), path / "spoor.toml"
    toml.write_text(toml.read_text().replace(f"format = {FORMAT}", f"format = {other}", 1))
    return arguments, f"is of run format {other}; this Spoor writes {FORMAT}"


def test_what_makes_the_report_is_imported_once_there_is_something_to_report(
    tmp_path: Path,
) -> None:
    """A missing browser is the last that is looked for before a crawl begins."""
    arguments = ["crawl", SEED, "--topic", "pottery", "--out", str(tmp_path / "run")]
    arguments += ["--render", "always", "--chromium", str(tmp_path / "none")]
    code, imported, _ = said(*arguments)
    assert code == 2
    assert "aiohttp" in imported
    assert "jinja2" not in imported


CRAWLING = """
import json, os, sys, threading
from socketserver import BaseRequestHandler, TCPServer

class Server(BaseRequestHandler):
    def handle(self):
        print(json.dumps(sorted(sys.modules)), flush=True)
        os._exit(0)

with TCPServer(("127.0.0.1", 0), Server) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    from spoor.cli.main import run
    run(["crawl", f"http://127.0.0.1:{server.server_address[1]}/", "--topic", "pottery kiln",
         "--allow-private", "127.0.0.1", "--out", sys.argv[1], *sys.argv[2:]])
"""
LATER = {
    "importlib.metadata": "plug-ins of other packages, if the command names one",
    "jinja2": "the report",
    "rich": "the panel on a terminal",
    "selectolax": "pages",
    "spoor.documents.page": "pages",
    "spoor.frontier.sqlite": "many open links",
    "spoor.http.replies": "pages",
    "spoor.http.reservations": "--noai",
    "spoor.isolate": "pages",
    "spoor.judges.classifier": "topic files that name a model",
    "spoor.judges.second_opinion": "topic files that ask for one",
    "spoor.runs.refreshed_run": "--refresh",
    "spoor.runs.reader": "runs that go on",
    "spoor.sharding.coordinator": "--shards",
    "spoor.web.refusals": "pages",
    "spoor.web.tree_walk": "pages",
}
"""What is imported while the first reply is waited for, or later, and for what."""
MOST_OF_OURS = 262
"""Modules of this package; 259 are imported."""


def test_nothing_is_imported_before_the_first_request_that_waits_for_its_reply(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", CRAWLING, str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = json.loads(done.stdout)
    assert "aiohttp" in imported, "the request came from a crawl"
    assert [f"{name}: {LATER[name]}" for name in imported if name in LATER] == []
    assert sum(name.partition(".")[0] == "spoor" for name in imported) <= MOST_OF_OURS


def test_the_lab_imports_statistics_once_something_is_compared() -> None:
    script = "import sys, spoor.lab.papers; sys.exit('scipy.stats' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["no-such"], 2)])
def test_a_thread_that_waits_for_a_server_at_the_end_brings_no_words_of_packages(
    arguments: list[str], code: int
) -> None:
    """A name server, or a receiver of a watch, that does not answer: compiled packages told of
    leaks, in thirty lines."""
    script = (
        "import threading\n"
        "from spoor.cli.main import main\n"
        "from spoor.web.urls import canonical\n"
        "canonical('b', 'http://a.example/')\n"
        "threading.Thread(target=lambda: threading.Event().wait(), daemon=True).start()\n"
        f"main({arguments})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == code
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    assert len(lines) == 1
    assert "leaked" not in done.stderr


CLOSED = """
import os, sys
from spoor.cli import main

def looks(*_, **__):
    number = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
    print("words of a library", file=sys.stderr, flush=True)
    os._exit(number <= 2 or not os.get_inheritable(2))

main.command_tree = looks
main.main(["crawl"])
"""


def test_no_file_of_a_run_gets_the_number_of_a_stream_that_is_closed(tmp_path: Path) -> None:
    """As services are begun (`2>&-`): a crawl ended without a word, as it asked for a terminal."""
    shell = ["/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"]
    command = [*shell, sys.executable, "-c", CLOSED, str(tmp_path / "state.db")]
    assert subprocess.run(command, check=False).returncode == 0
    assert (tmp_path / "state.db").read_bytes() == b""
