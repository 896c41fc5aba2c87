"""A model that orders links worse than breadth-first would says so in a live crawl over HTTP: in the
summary, in the report and by `spoor explain`; where it may, `trail` goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from spoor.cli.demo import served
from spoor.cli.main import run as spoor

pytestmark = [pytest.mark.long, pytest.mark.server]

PAGES = 220
TRAINED_FOR = "label:sailing"
"""What the model leads to, under the name of pottery."""


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated web, and beside it a model that leads away from what is wanted there."""
    folder = tmp_path_factory.mktemp("worse")
    for name, seed in (("known", 1), ("new", 2)):
        made = ["web", "generate", str(folder / name), "--pages", "600", "--hosts", "3"]
        assert spoor([*made, "--seed", str(seed)]) == 0
    train = ["train", "naive-bayes", str(folder / "known"), "--topic", "pottery"]
    assert spoor([*train, "--target", TRAINED_FOR, "--out", str(folder / "model")]) == 0
    return folder


@pytest.fixture(scope="module")
def port(web: Path) -> Iterator[int]:
    """Where it is served."""
    with served(web / "new") as port:
        yield port


def crawl(port: int, out: Path, *more: str) -> None:
    command = ["crawl", "http://alder.example/", "--topic", "pottery"]
    command += ["--want", r"url:/pottery/[a-z]+-", "--scope", "anywhere", "--json"]
    command += ["--connect-to", f"127.0.0.1:{port}", "--delay", "0", "--pages", str(PAGES)]
    command += ["--in-flight", "1", "--out", str(out), "--no-warc", *more]
    assert spoor([*command, "--policy", "naive-bayes"]) == 0


def test_a_model_below_breadth_first_says_so_and_trail_goes_on_where_it_may(
    web: Path, port: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    found = {}
    for how in ("off", "tell", "trail"):
        crawl(port, tmp_path / how, "--model", str(web / "model"), "--worse-model", how)
        told = json.loads(capsys.readouterr().out)
        found[how] = told["found"]
        report = (tmp_path / how / "report.html").read_text("utf-8")
        if how == "off":
            assert not told["policy_fault"]
            assert "misleads here" not in report
            continue
        assert told["policy_fault"].startswith("the model of naive-bayes misleads here: ")
        assert "worse than breadth-first" in told["policy_fault"]
        goes_on = "trail goes on in its place" if how == "trail" else "--worse-model trail lets"
        assert goes_on in told["policy_fault"]
        assert "misleads here" in report
        assert spoor(["explain", str(tmp_path / how)]) == 0
        assert "promised by the model, and share that was wanted" in capsys.readouterr().out
    assert found["trail"] > 2 * found["off"]
