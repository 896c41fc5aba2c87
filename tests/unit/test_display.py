"""Nothing from outside reaches a terminal, a log or a report as it came."""

from __future__ import annotations

import io
import json
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from loopback import ADDRESS, MISSING, Loopback, beside, page, reply
from spoor.cli import live_screen
from spoor.cli.main import run
from spoor.crawl import Crawl
from spoor.display import masked, printable, shown
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.policies.breadth_first import BreadthFirst
from spoor.runs.recovery import result_line
from spoor.types import Choice, Failed, Fetch, Outcome, Task

pytestmark = pytest.mark.server

SECRET = "hunter2"


@pytest.mark.parametrize(
    "written",
    [
        "http://e.example/?token={}",
        "http://e.example/?a=1&access_token={}&b=2",
        "http://e.example/p;jsessionid={}?x=1",
        "http://e.example/?X-Amz-Signature={}",
        "http://e.example/?api_key={}#f",
        "http://e.example/?APIKEY={}",
        "http://e.example/?user[password]={}",
        "http://e.example/?sid={}",
        "http://e.example/?key={}",
        "redirects to https://e.example/?client_secret={}, known already",
        "http://user:{}@e.example/",
        "cannot open 'ftp://{}@e.example/x'",
        "password={}",
    ],
)
def test_secrets_are_masked(written: str) -> None:
    text = masked(written.format(SECRET))
    assert SECRET not in text
    assert "***" in text
    assert masked(text) == text


@pytest.mark.parametrize(
    "written",
    [
        "http://e.example/?keyword=clay&monkey=1",
        "http://e.example/key/token/?page=2",
        "http://e.example/?q=token",
        "mail me@e.example",
        "http://e.example/@user/?pinned=1&sidebar=2",
    ],
)
def test_what_is_no_secret_stays(written: str) -> None:
    assert masked(written) == written


@pytest.mark.parametrize(
    "written", ["x = ?" + "token" * 20_000, "?" + "key_" * 25_000 + "=1", "?=" * 50_000]
)
def test_masking_takes_time_in_proportion_to_the_text(written: str) -> None:
    begun = time.process_time()
    masked(written)
    assert time.process_time() - begun < 1.0, "seven seconds where each keyword is tried anew"


HOSTILE = "\x1b]0;pwned\x07\x1b[2J\u202egpj.exe\u2066\u200b\x9b31m\r\x08\x00\ud800"


@given(st.text() | st.text(st.sampled_from(HOSTILE + "a [red]=?&")))
@pytest.mark.long
def test_nothing_that_steers_is_shown(text: str) -> None:
    for char in shown(text):
        if char in "\u200c\u200d":
            continue  # between letters that it joins
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert printable("Größe 漢字") == "Größe 漢字"


def test_blanks_and_joiners_are_no_controls() -> None:
    assert printable("10\u00a0km, 陶器\u3000窯 می\u200cخواهم") == "10 km, 陶器 窯 می\u200cخواهم"
    family = "\U0001f469\u200d\U0001f4bb"
    assert printable(f"{family} ki\u200dln\u202e") == f"{family} ki�ln�"
    assert printable("one\ttwo\n") == "one�two�"


def hostile_step(url: str) -> tuple[Fetch, Outcome]:
    choice = Choice(0, None, ((f"[red]{HOSTILE}", 1.0),))
    failed = Failed(0, "http", HOSTILE)
    return Fetch(0, url, "e.example", choice), Outcome(choice, failed, None, 0.0)


@pytest.mark.parametrize("terminal", [True, False])
def test_screens(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    import numpy as np

    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, width=300, color_system=None)
    monkeypatch.setattr("rich.console.Console", lambda **_: console)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1" if terminal else "")
    monkeypatch.setattr(sys, "stderr", out)
    task = Task(np.random.default_rng(0))
    crawl = Crawl(BreadthFirst(task), Keywords(["clay"]), MemoryFrontier())
    with live_screen.screen(crawl, lambda: None, quiet=False) as screen:
        screen.step(*hostile_step(f"http://e.example/?token={SECRET}"))
        screen.say(f"[/nonsense] {HOSTILE} key={SECRET}")
        screen.second(None)
        assert isinstance(screen, live_screen._Panel) == terminal
        if isinstance(screen, live_screen._Panel):
            console.print(screen.render())
    text = out.getvalue()
    assert SECRET not in text
    assert "[/nonsense]" in text, "and what looks like markup is none"
    for char in ("\x07", "\u202e", "\x9b", "\x00", "\x1b]", "\x1b[2J\u202e"):
        assert char not in text


def test_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crawl", f"http://[{HOSTILE[:-1]}?token={SECRET}", "--topic", "clay"]) == 2
    said = capsys.readouterr().err
    assert SECRET not in said
    assert not any(char in said for char in "\x1b\x07\u202e\x9b\x00")


def test_a_whole_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report, what the command says; the archive and the results keep the URL as it is."""
    title = f"<title>clay &lt;script&gt; {HOSTILE[:-2]} token={SECRET}</title><p>clay"
    pages = {
        "/": page(f"/found?token={SECRET}", f"/lost?api_key={SECRET}", text="clay"),
        f"/found?token={SECRET}": reply(title),
    }
    server = Loopback(lambda asked: pages.get(asked.path, MISSING))
    with beside(server.serving):
        command = ["crawl", "http://a.example/", "--want", "text:clay"]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0"]
        command += ["--out", str(tmp_path), "--in-flight", "1"]
        assert run([*command, "--json"]) == 0
    said = "".join(capsys.readouterr())
    report = (tmp_path / "report.html").read_text("utf-8")
    assert json.loads(said)["last_failure"] == "http://a.example/lost?api_key=***: 404 Not Found"
    assert f"/lost?api_key={SECRET}" in server.pages
    for text in (said, report):
        assert SECRET not in text
        assert not any(char in text for char in "\x1b\x07\u202e\u2066\x9b\x00")
        assert "<script>" not in text
    assert f"token={SECRET}" in (tmp_path / "relevant.jsonl").read_text("utf-8")


def test_json_that_is_shown_steers_no_terminal() -> None:
    title = "".join(map(chr, (*range(0x7F, 0xA0), 0x2028, 0x202E, 0x2069))) + "Töpfe 陶器 😀"
    line = result_line("http://a.example/", 1.0, title, [], [])
    assert json.loads(line)["title"] == title
    assert line.strip("\n").isprintable()
    assert "Töpfe 陶器 😀" in line
