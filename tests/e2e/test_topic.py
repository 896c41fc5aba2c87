"""`spoor topic make | test`, and crawls by what they made, over real HTTP on loopback."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forked_commands import run as run_command
from loopback import ADDRESS, MISSING, Asked, Logged, Loopback, beside, logged, reply
from spoor.cli.main import run
from spoor.views.report import report_of
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

WORLD = GeneratedWorld(GeneratedSettings(pages=150, hosts=3, seed=5, target_share=0.3))
WANTED = [WORLD.url_of(at) for at in range(150) if WORLD.label_of(at) == "pottery"]
OTHERS = [WORLD.url_of(at) for at in range(150) if WORLD.label_of(at) != "pottery"]

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def served() -> Iterator[Logged]:
    with logged(WORLD) as server:
        yield server


def at(server: Logged) -> list[str]:
    return ["--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0"]


def told(capsys: Capture, *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    ended = run(list(arguments))
    out, err = capsys.readouterr()
    assert ended == code, out + err
    return out


def test_a_topic_from_examples(
    served: Logged, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("wanted.txt").write_text("# examples\n" + "\n".join(WANTED[:20]))
    Path("others.txt").write_text("\n".join(OTHERS[:30]))
    make = ("topic", "make", "--out", "pots.topic", *at(served))
    said = told(capsys, *make, "--positive", "wanted.txt", "--negative", "others.txt")
    assert "classifier, from 20 positive and 30 negative pages" in said
    assert "held-out sites (3 in 3 folds)" in said
    # Each page once, and robots.txt of each host before.
    assert sorted(served.pages) == sorted([*WANTED[:20], *OTHERS[:30]])
    assert len(served.asked) - len(served.pages) == len({url.split("/")[2] for url in served.pages})
    topic = tomllib.loads(Path("pots.topic").read_text())
    assert topic["relevant"]["method"] == "classifier"
    assert topic["made"]["negatives_are"] == "given as such"

    lines = json.loads(
        told(
            capsys,
            "topic",
            "test",
            "pots.topic",
            *WANTED[20:28],
            *OTHERS[30:38],
            *at(served),
            "--json",
        )
    )
    assert [row["relevant"] for row in lines["pages"]].count(True) == lines["relevant"]
    assert sum(row["relevant"] for row in lines["pages"][:8]) >= 7
    assert sum(row["relevant"] for row in lines["pages"][8:]) <= 1
    assert lines["threshold"] == 0.5

    crawl = ("crawl", WORLD.url_of(0), "--topic", "pots.topic", "--out", "run", "--pages", "40")
    found = json.loads(told(capsys, *crawl, "--scope", "anywhere", *at(served), "--json"))
    rows = [json.loads(line) for line in Path("run/relevant.jsonl").read_text().splitlines()]
    assert len(rows) == found["found"] >= 5
    assert sum(row["url"] in WANTED for row in rows) / len(rows) > 0.8
    # The model is part of what the run was begun with.
    Path("pots.npz").write_bytes(Path("pots.npz").read_bytes() + b" ")
    assert run([*crawl, "--scope", "anywhere", *at(served)]) == 2
    assert "pots.npz changed since run was begun" in capsys.readouterr().err


def test_few_examples_are_enough_for_a_topic(
    served: Logged, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three pages are a topic of the default judge, with some that are not wanted or without."""
    monkeypatch.chdir(tmp_path)
    wanted, others = WANTED[3:23], OTHERS[2:42]
    make = ("topic", "make", "--out", "t.topic", *at(served), "--positive", *WANTED[:1])
    make = (*make, *(item for url in WANTED[1:3] for item in ("--positive", url)))
    for more in ((), ("--negative", OTHERS[0], "--negative", OTHERS[1])):
        assert "t.topic: words, by likeness to 3 pages" in told(capsys, *make, *more)
        assert ("negative_texts" in tomllib.loads(Path("t.topic").read_text())) == bool(more)
        test = ("topic", "test", "t.topic", *wanted, *others, *at(served), "--json")
        rows = json.loads(told(capsys, *test))["pages"]
        found = {row["page"] for row in rows if row["relevant"]}
        assert len(found & set(wanted)) >= 16
        assert len(found & set(others)) <= 4
        # The examples themselves count, whatever else the pages say.
        assert tomllib.loads(Path("t.topic").read_text())["example_urls"] == WANTED[:3]
        rows = json.loads(told(capsys, *test[:3], *WANTED[:3], *at(served), "--json"))["pages"]
        assert [(row["score"], row["why"][0][0]) for row in rows] == [(1.0, "a person said so")] * 3


def test_pages_at_random_stand_for_the_rest_and_it_is_said(
    served: Logged, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "pots.topic"
    make = ("topic", "make", "--out", str(out), "--background-pages", "25", *at(served))
    said = told(capsys, *make, *(item for url in WANTED[:8] for item in ("--positive", url)))
    assert "pages taken at random from" in said
    assert "make the probabilities too low" in said
    assert "fewer than 20 pages of a kind" in said
    made = tomllib.loads(out.read_text())["made"]
    assert "taken at random from" in made["negatives_are"]
    assert made["positives"] == 8
    assert 5 <= made["negatives"] <= 25


def test_a_test_of_a_topic_says_why_and_what_did_not_come(
    served: Logged, tmp_path: Path, capsys: Capture
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<title>The kiln</title><p>Kilns and \x1b[31mglaze")
    plain = tmp_path / "notes.txt"
    plain.write_text("A ledger of accounts.")
    missing = WORLD.url_of(0).rstrip("/") + "/nothing-here"
    pages = (str(page), str(plain), missing)
    said = told(capsys, "topic", "test", "kiln, glaze", *pages, *at(served), code=1)
    assert "relevant  0.730" in said
    assert "'kiln' in its title" in said
    assert "nothing on it speaks for the topic" in said
    assert "404" in said
    assert "1 of 2 pages would count as relevant" in said
    assert "\x1b" not in said
    assert [url for url in served.pages if "nothing-here" in url] == [missing]


def test_robots_and_private_addresses_hold_for_a_test_too(tmp_path: Path, capsys: Capture) -> None:
    def answer(asked: Asked) -> bytes:
        pages = {
            "/robots.txt": reply("User-agent: *\nDisallow: /closed", media="text/plain"),
            "/open": reply("<title>kiln</title>"),
        }
        return pages.get(asked.path, MISSING)

    server = Loopback(answer)
    with beside(server.serving):
        site = f"http://{ADDRESS}:{server.port}"
        command = ("topic", "test", "kiln", f"{site}/closed", f"{site}/open", "--delay", "0")
        said = told(capsys, *command, code=1)
        assert said.count("give --allow-private 127.0.0.1 if you mean it") == 2
        assert not server.asked
        said = told(capsys, *command, "--allow-private", ADDRESS, code=1)
    assert "robots.txt forbids it" in said
    assert "1 of 1 pages would count as relevant" in said
    assert server.pages == ["/open"]


def test_topics_of_words_patterns_and_archives(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = ["A kiln of clay", "Kiln and glaze", "A ledger", "Accounts and a ledger"]
    Path("pages.jsonl").write_text(
        "".join(
            json.dumps({"url": f"http://a.example/{n}", "html": f"<p>{text}"}) + "\n"
            for n, text in enumerate(texts)
        )
    )
    for arguments, relevant in (
        (["--query", "kiln clay"], 1),
        (["--keyword", "kiln", "--keyword", "glaze", "--threshold", "0.2"], 2),
        (["--pattern", "led.er$"], 2),
        (["--url-pattern", "/[12]$"], 2),
        (["--positive", "pages.jsonl", "--method", "tfidf", "--threshold", "0.9"], 4),
    ):
        told(capsys, "topic", "make", "--out", "t.topic", *arguments)
        found = json.loads(told(capsys, "topic", "test", "t.topic", "pages.jsonl", "--json"))
        assert found["relevant"] == relevant, (arguments, found)


# ---------------------------------------------------------------- a judge that costs

MODULE = """
import os, random, signal
from spoor.judges.llm import Answer
from spoor.judges.named import for_topics

@for_topics
def ask(text, prompt):
    with open("questions", "a") as log:
        log.write(text.split("\\n")[0] + "\\n")
    if os.path.exists("die") and sum(1 for line in open("questions")) == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    # As a language model, it never says the same twice.
    return Answer(random.random(), cost=0.5, why="it feels so")
"""


def test_a_judge_that_costs_is_part_of_the_run(served: Logged, tmp_path: Path) -> None:
    (tmp_path / "oracle_of_pots.py").write_text(MODULE)
    (tmp_path / "t.topic").write_text(
        'name = "pottery"\n[relevant]\nask = "oracle_of_pots:ask"\nbudget = 10\n'
    )
    command = [
        *(sys.executable, "-m", "spoor", "crawl", WORLD.url_of(0), "--topic", "t.topic", "--json"),
        *("--out", "run", "--pages", "30", "--scope", "anywhere", "--in-flight", "2", *at(served)),
    ]

    def crawl() -> subprocess.CompletedProcess[str]:
        return run_command(
            command,
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(tmp_path),
                "SPOOR_FUNCTIONS": "oracle_of_pots:ask",
            },
        )

    (tmp_path / "die").touch()
    assert crawl().returncode == -signal.SIGKILL
    kept = answers(tmp_path)
    assert len(kept) == 8
    (tmp_path / "die").unlink()

    # Without the answers the run cannot be gone through again, and says so.
    file = tmp_path / "run" / "answers.jsonl"
    data = file.read_bytes()
    file.unlink()
    done = crawl()
    assert done.returncode == 2, done.stderr
    assert "cannot be gone through again" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    file.write_bytes(data)
    log = (tmp_path / "questions").read_text().splitlines()

    done = crawl()
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["fetched"] == 30
    # What was answered was not asked for again: 20 answers of 0.5 make the budget of 10.
    assert summary["judge"] == {"asked": 20, "cost": 10.0, "fell_back": 10}
    asked = (tmp_path / "questions").read_text().splitlines()[len(log) :]
    assert len(asked) == 20 - 8
    assert answers(tmp_path)[:8] == kept
    with sqlite3.connect(tmp_path / "run" / "state.db") as db:
        rows = db.execute("SELECT score, why FROM pages ORDER BY seq").fetchall()
    # What was in flight at the kill may come in another order.
    judged = sorted(score for score, why in rows if "it feels so" in why)
    assert judged == sorted(row["score"] for row in answers(tmp_path))
    assert sum("its budget of 10 is spent" in why for _, why in rows) == 10


def answers(folder: Path) -> list[dict[str, Any]]:
    file = folder / "run" / "answers.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_user_is_told_of_a_wish(
    served: Logged, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    crawl = ("crawl", WORLD.url_of(0), "--scope", "anywhere", "--pages", "70", *at(served))
    assert run([*crawl, "--topic", "potery, klin", "--out", "run"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("looking for pages about *potery* or *klin*\n")
    for text in (out, err, Path("run/report.html").read_text()):
        assert "did you mean pottery, kiln?" in text
    # One slip in a word costs little: what it is like is found.
    assert len(Path("run/relevant.jsonl").read_text().splitlines()) > 20
    assert (
        "Looking for pages about <em>potery</em> or <em>klin</em>."
        in Path("run/report.html").read_text()
    )
    told_again = json.loads(told(capsys, *crawl, "--topic", "pottery", "--out", "two", "--json"))
    advice = told_again["advice"]
    assert (advice["wish"], advice["known"]) == ("pages about *pottery*", ["pottery"])
    assert not advice["warning"]
    page = advice["near"][0]
    assert any(f"spoor label two {page['url']} " in line for line in advice["lines"])
    # The report shows these pages themselves.
    assert [near.url for near in report_of(Path("two")).near] == [p["url"] for p in advice["near"]]
    report = Path("two/report.html").read_text()
    assert f'<a class="title" href="{page["url"]}"' in report.partition(">To check</h2>")[2]
    assert "spoor label two" not in report

    tried = told(capsys, "topic", "test", "Find me pages about kilns", *WANTED[:6], *at(served))
    assert "looking for pages about *kilns*" in tried
    assert "the pages have 1 of 1 words of the topic" in tried
    assert "cannot" not in tried
    capsys.readouterr()
    assert run([*crawl, "--topic", "pottery zymurgy", "--out", "none"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " words of the topic" in line]
    assert len(lines) == 1, "what was told is not told again with the warning that comes later"
    assert run([*crawl, "--topic", 'pottery "kiln', "--out", "three"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
