"""docs/reference/exit-codes-and-json.md: every command is in it, and prints what it says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loopback import ADDRESS, Loopback, beside, page
from spoor.cli.main import COMMANDS, command_tree, run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "exit-codes-and-json.md"
ROW = re.compile(r"^\| `spoor ([a-z ]+)` \| (object|list|no) \|(.*)\|$", re.MULTILINE)
ROWS = {
    name: (kind, re.findall(r"`(\w+)`", keys)) for name, kind, keys in ROW.findall(PAGE.read_text())
}


def leaves(tree: Any, name: tuple[str, ...] = ()) -> Iterator[tuple[str, bool]]:
    """(name, whether it has --json) of each command."""
    below = getattr(tree, "commands", None)
    if not below:
        yield " ".join(name), any("--json" in getattr(one, "opts", ()) for one in tree.params)
        return
    for one, command in below.items():
        yield from leaves(command, (*name, one))


def test_every_command_is_on_the_page_with_whether_it_has_json() -> None:
    said = {name: kind != "no" for name, (kind, _) in ROWS.items()}
    assert dict(leaves(command_tree(*COMMANDS))) == said


@pytest.mark.server
def test_commands_print_the_keys_that_the_page_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kiln.html").write_text("<title>Kiln</title><p>A kiln")
    site = Loopback(lambda asked: page("/1", "/2", text=f"<title>Kiln</title><p>{asked.path}"))

    def told(*arguments: str) -> Any:
        capsys.readouterr()
        assert run([*arguments, "--json"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 1, "one line and nothing else"
        return json.loads(lines[0])

    assert run(["web", "generate", "small", "--pages", "60"]) == 0
    with beside(site.serving):
        asked = ["http://a.example/", "--delay", "0", "--connect-to", f"{ADDRESS}:{site.port}"]
        seen = {
            "crawl": told("crawl", *asked, "--topic", "kiln", "--pages", "3", "--out", "run"),
            "watch": told("watch", *asked, "--out", "watch", "--for", "1s"),
        }
    url = "http://a.example/"
    seen |= {
        "explain": told("explain", "run"),
        "search": told("search", "run", "kiln"),
        "show": told("show", "run", url),
        "label": told("label", "run", url, "yes"),
        "forget": told("forget", "run", url),
        "policies": told("policies"),
        "replay": told("replay", "small", "--target", "label:pottery", "--pages", "5"),
        "web info": told("web", "info", "small"),
        "topic test": told("topic", "test", "kiln", "kiln.html"),
        "lab list": told("lab", "list"),
    }
    page_row = told("explain", "run", f"{url}1")
    assert (type(page_row["relevant"]), type(page_row["flags"])) == (bool, list)
    for name, value in seen.items():
        kind, keys = ROWS[name]
        assert isinstance(value, dict if kind == "object" else list), name
        row = value if kind == "object" else value[0]
        assert set(keys) <= set(row), name


def test_the_exit_codes_are_those_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = ["http://127.0.0.1:9/", "--topic", "kiln", "--delay", "0", "--backoff", "0"]
    for code, arguments in {
        0: ["policies"],
        3: ["crawl", *refused, "--out", "run"],
        2: ["crawl", "nothing", "--topic", "kiln"],
    }.items():
        assert run(arguments) == code
        errors = capsys.readouterr().err.splitlines()
        if code == 2:
            assert [line[:7] for line in errors] == ["spoor: "]
    meanings = dict(re.findall(r"^\| (\d) \| (\w+)", PAGE.read_text("utf-8"), re.MULTILINE))
    assert meanings == {"0": "done", "1": "stopped", "2": "the", "3": "a"}


def test_the_help_of_all_commands_is_made_of_the_first_lines_of_each() -> None:
    whole = command_tree(*COMMANDS).commands
    first = {name: " ".join(one.help.split("\n\n")[0].split()) for name, one in whole.items()}
    assert first == COMMANDS
