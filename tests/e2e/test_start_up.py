"""What is said without doing anything is said without importing what does it."""

from __future__ import annotations

import json
import subprocess
import sys
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
code = run(sys.argv[1:])
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def said(*arguments: str) -> tuple[int, set[str], str]:
    """Exit code, packages that were imported, and standard error, of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SAYING, *arguments], capture_output=True, text=True, check=True
    )
    code, names = json.loads(done.stdout.splitlines()[-1])
    return code, set(names), done.stderr


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["crawl", "--help"]])
def test_what_only_tells_imports_nothing_heavy(arguments: list[str]) -> None:
    code, imported, _ = said(*arguments)
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


@pytest.mark.parametrize("command", ["crawl", "watch"])
@pytest.mark.parametrize("why", ["in use", "settings", "older", "newer"])
def test_a_refusal_imports_nothing_heavy(command: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "run"
    settings = with_inputs(Settings(topic="pottery"), [SEED])
    arguments = [command, SEED, "--out", str(path)]
    if command == "crawl":
        arguments += ["--topic", "pottery"]
    else:
        # Whatever else it was begun with, who holds it is looked at first.
        settings = Settings(command="watch", seeds=(SEED,), fleet="WL")
    folder = RunWriter(path, settings)
    toml = path / "spoor.toml"
    told = "is in use by another process"
    try:
        if why != "in use":
            folder.close()
        if why == "settings":
            arguments += ["--policy", "random"] if command == "crawl" else []
            told = "was begun with policy" if command == "crawl" else "was begun with"
        elif why in ("older", "newer"):
            other = FORMAT + (1 if why == "newer" else -1)
            toml.write_text(toml.read_text().replace(f"format = {FORMAT}", f"format = {other}", 1))
            told = f"is of run format {other}; this Spoor writes {FORMAT}"
        code, imported, error = said(*arguments)
    finally:
        folder.close()
    assert code == 2
    assert told in error
    assert len(error.splitlines()) == 1
    assert not imported & HEAVY


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
    "spoor.runs.earlier": "--refresh",
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
