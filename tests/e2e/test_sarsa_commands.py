"""`--policy sarsa` by the commands: a live crawl with many fetches in flight, its replay, what they
say that relevance was measured by, and a model kept from task to task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopback import ADDRESS, Logged, logged
from spoor.cli.main import run
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

WANTED = "pottery, kiln, glaze, clay, porcelain, stoneware"
WORLD = GeneratedWorld(GeneratedSettings(pages=150, hosts=4, seed=5, target_share=0.3))
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def served() -> Iterator[Logged]:
    with logged(WORLD) as server:
        yield server


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words of the topic near to one another, in the text format of GloVe."""
    rng = np.random.default_rng(0)
    file = tmp_path_factory.mktemp("vectors") / "small.txt"
    words = sorted({word for page in WORLD.pages() for word in page.text.lower().split()})
    topic = WANTED.split(", ")
    rows = []
    for word in dict.fromkeys([*topic, *filter(str.isalpha, words)]):
        row = rng.normal(size=8) + (4.0 if word in topic else 0.0)
        rows.append(" ".join([word, *(f"{x:.4f}" for x in row)]))
    file.write_text("\n".join(rows), encoding="utf-8")
    return file


def crawl(server: Logged, out: Path, *more: str) -> list[str]:
    return [
        *("crawl", WORLD.url_of(0), "--topic", WANTED, "--policy", "sarsa", "--out", str(out)),
        *("--connect-to", f"{ADDRESS}:{server.port}", "--scope", "anywhere", "--delay", "0"),
        *("--per-host", "4", "--in-flight", "8", "--json", *more),
    ]


def said(capsys: Capture, *command: str) -> dict[str, Any]:
    """The one JSON object that a command prints."""
    capsys.readouterr()
    assert run(list(command)) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    return told


def test_a_live_crawl_with_vectors(
    served: Logged, vectors: Path, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "run"
    command = crawl(served, out, "--vectors", str(vectors), "--param", "update=synchronous")
    told = said(capsys, *command, "--pages", "40")
    assert told["fetched"] == 40
    assert told["found"] > 0
    learned = said(capsys, "explain", str(out), "--json")["learned"]
    assert learned["relevance is measured by"] == [[f"word vectors: {vectors}", 1.0]]
    assert any(weight for _, weight in learned["link: relevance"]), "rewards were learned from late"
    told = said(capsys, *command, "--pages", "60")
    assert told["resumed"]
    assert told["fetched"] == 60
    relevant = (out / "relevant.jsonl").read_text("utf-8").splitlines()
    url = json.loads(relevant[-1])["url"]
    page = said(capsys, "explain", str(out), url, "--json")
    assert f"measured by word vectors: {vectors}" in [reason for reason, _ in page["choice_why"]]


def test_a_live_crawl_learns_vectors_where_none_are_given(
    served: Logged, tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "run"
    assert said(capsys, *crawl(served, out, "--pages", "80"))["fetched"] == 80
    learned = said(capsys, "explain", str(out), "--json")["learned"]
    assert learned["relevance is measured by"] == [["word vectors: learned from 64 texts", 1.0]]


def test_a_replay_says_what_relevance_was_measured_by(
    vectors: Path, tmp_path: Path, capsys: Capture
) -> None:
    web, model = tmp_path / "web", tmp_path / "topic.model"
    WORLD.save(web)
    replay = ("replay", str(web), "--target", "text:pottery", "--scope", "web", "--pages", "80")
    sarsa = (*replay, "--policy", "sarsa", "--root", WORLD.url_of(0))
    with_file = said(capsys, *sarsa, "--json", "--vectors", str(vectors))
    assert with_file["measured_by"] == f"word vectors: {vectors}"
    assert said(capsys, *sarsa, "--json")["measured_by"] == "word vectors: learned from 64 texts"
    short = said(capsys, *sarsa[:-4], "--policy", "sarsa", "--json", "--pages", "20")
    assert short["measured_by"].startswith("counts of words")
    best_first = said(capsys, *replay, "--policy", "best-first", "--json")
    assert "measured_by" not in best_first

    train = ("train", "sarsa", str(web), "--target", "text:pottery", "--out", str(model))
    capsys.readouterr()
    assert run([*train, "--param", "episodes=2", "--vectors", str(vectors)]) == 0
    kept = said(capsys, *sarsa, "--json", "--vectors", str(vectors), "--model", str(model))
    assert kept["fetched"] == 80
    learned = said(capsys, "explain", str(model), "--json")["learned"]
    assert learned["relevance is measured by"] == [[f"word vectors: {vectors}", 1.0]]
