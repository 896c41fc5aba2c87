"""`spoor demo`: the first thing that a newcomer runs."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from forked_commands import run as run_command
from spoor.cli.main import run
from spoor.registry import DEFAULT_POLICY

FETCHED_BY_A_READER = re.compile(
    r"""<(?:script|link|img|iframe|object|embed|video|audio|source|base)\b
      | @import
      | url\(\s*["']?\s*(?:https?:)?//
      | \b(?:src|srcset|poster|data|xlink:href|action|background)\s*=\s*["']?\s*(?:https?:)?//
      | http-equiv\s*=\s*["']?refresh
      | \bon[a-z]+\s*=\s*["']
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What makes a browser ask somebody for something; a link that a reader may follow does not."""


def forked(command: list[str], **how: Any) -> Any:
    """A command of the demo in a process that need not import all anew."""
    assert command[:4] == [sys.executable, "-P", "-m", "spoor"]
    del how["stdout"], how["stderr"], how["text"], how["check"]
    return run_command([*command[:1], *command[2:]], **how)


def test_a_demo_finds_more_with_aim_than_without(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spoor.cli.demo.PAGES", 250)
    monkeypatch.setattr("spoor.cli.demo.subprocess.run", forked)
    out = tmp_path / "demo"
    assert run(["demo", "--pages", "40", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    focused, blind = told["runs"][DEFAULT_POLICY], told["runs"]["breadth-first"]
    assert focused["fetched"] == blind["fetched"] == 40
    assert focused["found"] >= blind["found"]

    names = {path.name for path in out.iterdir()}
    assert names == {"web", DEFAULT_POLICY, "breadth-first", "report.html"}

    report = Path(told["report"]).read_text("utf-8")
    assert Path(told["report"]) == out / "report.html"
    assert not FETCHED_BY_A_READER.search(report)
    assert "default-src 'none'" in report
    assert 'name="viewport"' in report, "it reads well on a phone"
    for policy, summary in told["runs"].items():
        assert f"found by {policy}" in report
        assert (Path(summary["out"]) / "pages.warc.gz").stat().st_size > 1000
    found = (Path(focused["out"]) / "relevant.jsonl").read_text("utf-8").splitlines()
    assert len(found) == focused["found"]
    for line in found[:20]:
        assert json.loads(line)["url"] in report
