"""Every code block of the documentation runs.

A ```python block runs in an empty folder; the blocks of one page share their names, from top to bottom. In a
```console block each line that begins with `$ ` runs in the same folder and must end with exit code 0; the
other lines show what it prints and are not compared. A line that is a `spoor` command alone runs in this
process, or in one that is forked where it goes on or has variables before it; every other one in a shell. A line that ends with ` &` goes on until the page is done. A block whose fence says `{.no-run}` is shown only, and says why in the text around it; what it would
ask of a site of others is asked of a `stand_in`.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from forked_commands import Command
from forked_commands import run as run_command
from loopback import free_ports
from ray_in_process import in_process
from spoor.cli.main import run as run_spoor

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(python|console)([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
SITE = Path("/usr/share/cppreference/doc/html")
"""A real site, which the tutorial crawls: a package of Debian. Where it is not installed, the
tutorial runs on a `stand_in`."""
PORT = re.compile(r"(?:--port |http\.server |--metrics 127\.0\.0\.1:)(\d+)")
DATA = Path(os.environ.get("SPOOR_DATA", ROOT / "../shared/data")).resolve()


SITE_OF_OTHERS = re.compile(r"spoor (?:crawl|watch) https://")


def blocks(page: Path, *, shown: bool = False) -> list[tuple[str, str, int]]:
    """(language, code, line) of those that run, or of those that are only shown."""
    text = page.read_text("utf-8")
    return [
        (match[1], match[3], text[: match.start()].count("\n") + 2)
        for match in FENCE.finditer(text)
        if ("no-run" in match[2]) == shown
    ]


def commands(code: str) -> list[str]:
    lines: list[str] = []
    for line in code.splitlines():
        if lines and lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1] + line.removeprefix("> ").strip()
        elif line.startswith("$ "):
            lines.append(line[2:])
    return lines


def with_free_ports(found: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """The blocks with other ports for their servers: what else runs here may listen on those that
    a page names."""
    named = sorted({port for _, code, _ in found for port in PORT.findall(code)})
    other = dict(zip(named, free_ports(len(named)), strict=True))
    number = re.compile(rf"\b({'|'.join(named)})\b" if named else "(?!)")
    return [
        (kind, number.sub(lambda port: str(other[port[1]]), code), line)
        for kind, code, line in found
    ]


def of_others(page: Path) -> list[str]:
    """Commands of a page that ask a site of others, but for those that want what their block
    installs."""
    shown = [code for _, code, _ in blocks(page, shown=True) if "pip install" not in code]
    return [one for code in shown for one in commands(code) if SITE_OF_OTHERS.match(one)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = blocks(page)
    if any("SPOOR_DATA" in code for _, code, _ in found) and not DATA.exists():
        pytest.skip("needs the recorded webs of SPOOR_DATA")
    if any(str(SITE) in code for _, code, _ in found) and not SITE.exists():
        stand_in(tmp_path / "site")
        found = [(kind, code.replace(str(SITE), "site"), line) for kind, code, line in found]
    found = with_free_ports(found)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPOOR_DATA", str(DATA))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    names: dict[str, object] = {"__name__": "__docs__"}
    with ExitStack() as until_done:
        for language, code, line in found:
            if language == "python":
                with in_process():
                    exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)
                continue
            for command in commands(code):
                if command.endswith(" &"):
                    until_done.enter_context(beside(command.removesuffix(" &")))
                    continue
                ended, errors = run(command)
                assert ended == 0, f"{page.name}:{line}: {command}\n{errors}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if of_others(page)], ids=lambda page: page.stem
)
def test_what_is_asked_of_others_runs_on_a_stand_in(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same commands, with fewer pages and no delay."""
    stand_in(tmp_path / "site")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    (port,) = free_ports(1)
    with beside(f"python3 -m http.server {port} --bind 127.0.0.1 --directory site"):
        for command in of_others(page):
            less = "--for 3s" if command.startswith("spoor watch") else "--pages 12"
            asked = f"{command} {less} --delay 0 --connect-to 127.0.0.1:{port}"
            ended, errors = run(asked.replace("https://", "http://", 1))
            assert ended == 0, f"{page.name}: {command}\n{errors}"
        assert list(tmp_path.rglob("pages.warc.gz"))


def test_fences_are_such_as_the_site_reads() -> None:
    """Another word after the language, and the site's generator takes the fence for text, and the
    headings up to the next fence for code."""
    for page in PAGES:
        for info in re.findall(r"^```(.+)$", page.read_text("utf-8"), re.MULTILINE):
            assert re.fullmatch(r"\w+( \{\.no-run\})?", info), f"{page}: ```{info}"


SECTIONS = "algorithm chrono container io iterator locale memory numeric string thread".split()


def stand_in(folder: Path) -> None:
    """A site with the addresses that the tutorial names: a start page, sections with a list each,
    thirty pages a section; those of one section speak of locks."""
    rng = Random(0)

    def write(name: str, title: str, links: Sequence[tuple[str, str]], words: str = "") -> None:
        listed = "".join(f'<li><a href="/en/{to}">{text}</a></li>' for to, text in links)
        filler = " ".join("".join(rng.choices("aeiounrst", k=6)) for _ in range(60))
        body = f"<h1>{title}</h1><p>{words} {filler}</p><ul>{listed}</ul>"
        file = folder / "en" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<!doctype html><title>{title}</title>{body}", encoding="utf-8")

    lists = [(f"cpp/{name}.html", f"{name} library") for name in SECTIONS]
    write("index.html", "Reference", lists)
    for name in SECTIONS:
        locks = name == "thread"
        first = {"thread": "lock_guard", "container": "vector"}.get(name, "first")
        pages = [
            f"cpp/{name}/{part}.html" for part in (first, *(f"{name}_{at}" for at in range(29)))
        ]
        named = [(page, f"{'mutex' if locks else name} {page[4:-5]}") for page in pages]
        write(f"cpp/{name}.html", f"{name} library", named)
        for page, title in named:
            words = "A mutex, a semaphore and a condition variable." if locks else ""
            write(page, title, [*lists, *rng.sample(named, 5)], words)


@contextmanager
def beside(command: str) -> Iterator[None]:
    """A server that a page starts; it ends with the page."""
    process: subprocess.Popen[Any]
    nowhere = subprocess.DEVNULL
    if (told := of_spoor(command)) is not None:
        process = Command(told[1], env=told[0], stdout=nowhere, stderr=nowhere)
    else:
        process = subprocess.Popen(
            # A test that is killed itself leaves nothing behind for long.
            f"exec timeout 900 {command}",
            shell=True,
            stdout=nowhere,
            stderr=nowhere,
            start_new_session=True,
        )
    try:
        port = PORT.search(command)
        assert port, f"{command}: no port to wait for"
        await_port(int(port[1]), process)
        yield
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def await_port(port: int, process: subprocess.Popen[Any]) -> None:
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        with socket.socket() as knock:
            if not knock.connect_ex(("127.0.0.1", port)):
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing answers at port {port}")


OF_A_SHELL = re.compile(r"[|&;<>()$`*?\[\]#~{}\n]")
"""What makes a line one for a shell."""

QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
"""What a shell takes as it is."""


VARIABLES = re.compile(r"(?:export )?((?:[A-Z_]+=\S+ +)+)(?:&& )?(?=spoor )")


def of_spoor(command: str) -> tuple[dict[str, str], list[str]] | None:
    """Environment and arguments of what is nothing but `spoor …`, maybe after some variables; None
    for any other line."""
    variables = VARIABLES.match(command)
    rest = command[variables.end() :] if variables else command
    if not rest.startswith("spoor ") or OF_A_SHELL.search(QUOTED.sub("", rest)):
        return None
    more = dict(one.split("=", 1) for one in variables[1].split()) if variables else {}
    return {**os.environ, **more}, [sys.executable, "-m", *shlex.split(rest)]


def run(command: str) -> tuple[int, str]:
    """Exit code and errors of a command. What is nothing but `spoor …` is called, since to start a
    process takes longer than most of them; pytest shows what it says. Shards are threads:
    `test_shards.py` has those of a Ray."""
    if (told := of_spoor(command)) is None:
        return run_in_shell(command)
    if not command.startswith("spoor "):
        ended = run_command(told[1], env=told[0])
        return ended.returncode, ended.stderr
    with in_process():
        return run_spoor(told[1][3:]), "(printed to standard error)"


def run_in_shell(command: str) -> tuple[int, str]:
    """The same by a shell; what it started ends with it when it takes too long."""
    process = subprocess.Popen(
        command,
        shell=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        errors = process.communicate(timeout=400)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, errors
