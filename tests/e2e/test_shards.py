"""A crawl in shards on a real Ray, from the command line to its files."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kills import CountedWeb, served
from loopback import free_ports
from ray_in_process import in_process
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.integrations.ray.cluster import started
from spoor.runs import files
from spoor.runs.checkpoints import read_state
from spoor.runs.database import reading
from spoor.runs.reader import Run
from spoor.runs.rows import PageRow
from spoor.views.explain import of_page
from spoor.views.html import write_report
from spoor.views.live_page import LivePage
from spoor.views.report import Reporter
from spoor.web.urls import host, shard_of

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs Ray: pip install 'spoor-crawler[ray]'"
)

PAGES = 150


def crawl(web: CountedWeb, out: Path, *more: str) -> dict[str, Any]:
    told = web.command(out, "--json", *more)
    ended = subprocess.run(told, capture_output=True, text=True, timeout=400, check=False)
    assert ended.returncode == 0, ended.stderr
    summary: dict[str, Any] = json.loads(ended.stdout)
    return summary


def state(folder: Path) -> dict[str, Any]:
    with reading(folder) as db:
        (blob,) = db.execute("SELECT state FROM checkpoints ORDER BY generation DESC").fetchone()[
            :1
        ]
        return read_state(db, blob, "state")


@needs_ray
def test_shards_fetch_each_page_once_and_are_read_as_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first part on a Ray; to go on with another number of shards asks nothing more of it."""
    out = tmp_path / "run"
    with served(PAGES, hosts=8) as web:
        bounds = ("--pages", "60", "--max-time", "1h", "--max-bytes", "9999999")
        told = crawl(web, out, "--shards", "2", *bounds)
        assert (told["fetched"], told["shards"]) == (60, 2)
        assert told["stopped_because"] == "budget of 60 pages reached"
        assert sum(one["pages"] for one in told["each"]) == 60
        assert told["judged_anew"] >= 0
        assert told["advice"]["pages"] == 60
        posts = [state(out / f"shard-{at}")["outbox"] for at in range(2)]
        assert sum(outbox["posted"] for outbox in posts) > 0
        for at in range(2):
            with reading(out / f"shard-{at}") as db:
                hosts = [row["host"] for row in db.execute("SELECT host FROM pages")]
            assert hosts
            assert {shard_of(name, 2) for name in hosts} == {at}

        with in_process():
            assert run(web.command(out, "--json", "--shards", "3")[3:]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["resumed"]
        assert told["stopped_because"] == "no open link left"
        assert told["fetched"] == PAGES
        assert web.again <= 2 * 16, "only what was in flight is asked for again"

    with reading(out) as db:
        rows = db.execute("SELECT * FROM pages ORDER BY seq").fetchall()
        assert [row["seq"] for row in rows] == list(range(1, PAGES + 1))
        assert [row["time"] for row in rows] == sorted(row["time"] for row in rows)
        assert max(Counter(row["url"] for row in rows).values()) == 1
    for row in rows:
        assert json.loads(row["path"])[0] == web.root
        assert (out / row["warc_file"]).exists()
    posts = [state(out / f"shard-{at}")["outbox"] for at in range(3)]
    assert all(not batches for outbox in posts for _, _, batches in outbox["out"])
    found = [json.loads(line) for line in (out / "relevant.jsonl").read_text("utf-8").splitlines()]
    assert {row["url"] for row in found} == {row["url"] for row in rows if row["relevant"]}
    report = write_report(out).read_text("utf-8")
    assert f"{PAGES:,}" in report
    page = of_page(out, rows[-1]["url"])
    assert isinstance(page, PageRow)
    assert host(page.url) == page.host
    reader = Run(out)
    for row in rows:
        assert (one := reader.page(row["url"])) is not None
        assert replace(one, seq=row["seq"]) == PageRow.of(row)
    own = next(row for row in rows if row["shard"] == shard_of(row["host"], 3))
    for folder in files.shards(out):
        if files.shard_number(folder) != own["shard"]:
            (folder / files.DATABASE).write_bytes(b"no database")
    assert reader.page(own["url"]) is not None, "only the shard that owns its host is read"


def test_a_run_in_shards_goes_on_in_shards(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "run" / "shard-0").mkdir(parents=True)
    told = ["crawl", "http://a.example/", "--topic", "kilns", "--out", str(tmp_path / "run")]
    assert run(told) == 2
    assert "is a run in shards; go on with --shards" in capsys.readouterr().err


@needs_ray
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--shards", "-1"], "0"),
        (["--shards", "2", "--metrics", "9464"], "is not ADDRESS:PORT"),
        (["--cluster", "127.0.0.1:1"], "no Ray at 127.0.0.1:1"),
        (["--cluster", "ray://head:10001"], "is not HOST:PORT"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], said: str
) -> None:
    arguments = ["crawl", "http://a.example/", "--topic", "kilns", "--out", str(tmp_path / "run")]
    assert run([*arguments, *more]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert said in line
    assert not (tmp_path / "run" / "shard-0").exists()


def until(told: Callable[[], Any], process: subprocess.Popen[bytes]) -> Any:
    """What is told, once it is anything."""
    end = time.monotonic() + 400
    while time.monotonic() < end:
        assert process.poll() is None, process.communicate()
        with contextlib.suppress(InputError, OSError):
            if found := told():
                return found
        time.sleep(0.05)
    raise AssertionError("it never came")


def values(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=100) as got:
        lines = [line.rpartition(" ") for line in got.read().decode().splitlines()]
    return {name: float(value) for name, _, value in lines if name[:1] not in ("#", "")}


def ray_folders() -> set[Path]:
    return set(Path("/tmp").glob(".spoor.*"))


def listening_elsewhere(process: int) -> list[str]:
    """What a process and all that it started listen on besides loopback."""
    psutil = pytest.importorskip("psutil")
    root = psutil.Process(process)
    return [
        f"{one.name()} {socket.laddr.ip}:{socket.laddr.port}"
        for one in [root, *root.children(recursive=True)]
        for socket in one.net_connections("inet")
        if socket.status == psutil.CONN_LISTEN
        and socket.laddr.ip.removeprefix("::ffff:") not in ("127.0.0.1", "::1")
    ]


@needs_ray
def test_a_crawl_in_shards_is_looked_at_and_labelled_while_it_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("prometheus_client", reason="the extra metrics is not installed")
    out = tmp_path / "run"
    (port,) = free_ports()
    # Started in a folder of a stranger's, nothing of which is imported.
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "spoor.py").write_text("raise SystemExit('imported')")
    with served(600, hosts=8) as web:
        told = web.command(out, "--json", "--shards", "2", "--metrics", f"127.0.0.1:{port}")
        told.insert(1, "-P")
        told[told.index("--delay") + 1] = (
            "1.5"  # so that it still goes on when a slow machine has looked
        )
        environment = {**os.environ, "OTEL_TRACES_EXPORTER": "console"}
        environment |= {"OTEL_METRICS_EXPORTER": "none", "HOME": str(tmp_path)}
        before = ray_folders()
        # Files, not pipes: every request writes a span, and nobody reads while it goes on.
        with (
            (tmp_path / "stdout").open("wb") as stdout,
            (tmp_path / "stderr").open("wb") as stderr,
            subprocess.Popen(
                [*told, "--otel"], stdout=stdout, stderr=stderr, env=environment, cwd=stranger
            ) as process,
        ):
            try:
                look_and_label(out, port, process, capsys)
                assert listening_elsewhere(process.pid) == []
                own = ray_folders() - before  # beside those of other tests
                assert own
                assert not any(one.stat().st_mode & 0o077 for one in own), "only the user reads it"
                assert run(["stop", str(out / "shard-0")]) == 2
                assert f"spoor stop {out}" in capsys.readouterr().err
                assert run(["stop", str(out)]) == 0
                process.wait(timeout=200)
            finally:
                process.kill()
    assert own - ray_folders()
    assert not (tmp_path / ".ray").exists(), "no token is left in a file"
    summary = json.loads((tmp_path / "stdout").read_text("utf-8"))
    err = (tmp_path / "stderr").read_text("utf-8")
    assert summary["stopped_because"] == "interrupted"
    with reading(out) as db:
        rows = db.execute("SELECT url, relevant, why FROM pages").fetchall()
    assert len(rows) == summary["fetched"] == err.count('"url.full"')
    labelled = [row for row in rows if "a person said so" in row["why"]]
    assert {row["relevant"] for row in labelled} == {1}
    assert len(labelled) == 2
    results = (out / "relevant.jsonl").read_text("utf-8")
    assert all(f'"url": "{row["url"]}"' in results for row in labelled)
    # After it, too: the results of the whole follow.
    assert run(["label", str(out), labelled[0]["url"], "no"]) == 0
    results = (out / "relevant.jsonl").read_text("utf-8")
    assert [f'"url": "{row["url"]}"' in results for row in labelled] == [False, True]


def look_and_label(
    out: Path, port: int, process: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    def irrelevant() -> list[str]:
        """A page of each shard that is not relevant."""
        with reading(out) as db:
            rows = db.execute("SELECT url, min(seq) FROM pages WHERE NOT relevant GROUP BY shard")
            return found if len(found := [row["url"] for row in rows]) == 2 else []

    def asked(*arguments: str) -> str:
        capsys.readouterr()
        assert run(list(arguments)) == 0
        return capsys.readouterr().out

    # From the first moment on it answers, in one line where there is nothing to say yet.
    until(lambda: (out / "spoor.toml").exists(), process)
    assert run(["explain", str(out)]) == 2
    assert "has only just begun" in capsys.readouterr().err
    one, other = until(irrelevant, process)

    hours = count(0, 3600)
    page = LivePage(out, "token", lambda: time.time() + next(hours), wait=100.0)
    assert page.news({})["running"]
    assert "within a second" in asked("label", str(out), one, "yes")
    with reading(out) as db:
        (number,) = db.execute("SELECT number FROM pages WHERE url = ?", (other,)).fetchone()
    # The crawl takes the first label in meanwhile, so that rows differ in their verdicts.
    shown = [row.number for row in Reporter(out).report(None, recent=True).recent]
    assert [row.number for row in Run(out).numbered(shown)] == shown
    assert "within a second" in page.label(number, True)

    def taken_in() -> bool:
        with reading(out) as db:
            rows = db.execute("SELECT relevant FROM pages WHERE url IN (?, ?)", (one, other))
            return all(row["relevant"] for row in rows)

    until(taken_in, process)
    # There is none while every link of the last checkpoint has been fetched since.
    until(lambda: "would ask for next" in asked("explain", str(out)), process)
    assert "fetched" in asked("explain", str(out), one, "--json")
    asked("export", str(out), "--out", str(out.parent / "pages.jsonl"))
    exported = (out.parent / "pages.jsonl").read_text("utf-8")
    assert one in exported
    assert other in exported
    assert "Shards</h2>" in write_report(out).read_text("utf-8")

    def sections() -> dict[str, dict[str, Any]]:
        return {part["id"]: part for part in page.news({})["sections"]}

    def stands(text: str, section: str) -> bool:
        return text in sections().get(section, {"html": ""})["html"]

    until(lambda: stands("on their way", "shards") and stands(one, "best"), process)
    digest = until(lambda: sections().get("next"), process)["digest"]
    until(lambda: sections().get("next", {"digest": digest})["digest"] != digest, process)

    # The numbers of all shards, as of one process, and those of each.
    found = values(port)
    each = [found[f'spoor_shard_pages_total{{shard="{at}"}}'] for at in range(2)]
    assert all(each)
    assert found["spoor_pages_total"] == sum(each)
    assert found["spoor_download_seconds_count"] <= sum(each)
    assert found["spoor_budget_pages"] == 100_000
    assert found['spoor_shard_up{shard="1"}'] == 1
    assert found["spoor_exchange_links_total"] > 0


def test_a_ray_that_does_not_start_is_told_in_one_line() -> None:
    class Slow:
        job_config = SimpleNamespace(JobConfig=SimpleNamespace)

        def init(self, **told: object) -> None:
            # Ray's own kind, and its words.
            raise Exception("The current node timed out during startup. This could happen")

    with (
        pytest.raises(InputError, match="no Ray on this machine: The current node timed out"),
        started(Slow(), None, 2),
    ):
        pass


def test_a_cluster_that_wants_a_token_is_told_how(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ray:
        job_config = SimpleNamespace(JobConfig=SimpleNamespace)

        def init(self, **settings: object) -> None:
            raise ConnectionError(f"Failed to connect to Ray cluster at {settings['address']}")

    def said(cluster: str | None) -> str:
        with pytest.raises(InputError) as caught, started(Ray(), cluster, 2):
            raise AssertionError
        return str(caught.value)

    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    assert said("192.0.2.10:6379").startswith("no Ray at 192.0.2.10:6379: Failed to connect")
    assert said("192.0.2.10:6379").endswith("wants RAY_AUTH_MODE=token in the environment")
    assert "RAY_AUTH_MODE" not in said(None)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    assert "RAY_AUTH_MODE" not in said("192.0.2.10:6379")


CLUSTER = """
import sys, yaml
from ray.autoscaler._private.util import prepare_config, validate_config
with open(sys.argv[1]) as file:
    config = prepare_config(yaml.safe_load(file))
validate_config(config)
print(config["cluster_name"], config["max_workers"])
"""


@needs_ray
def test_the_cluster_of_the_guide_is_one_to_ray() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "cluster" / "ray.yaml"
    told = [sys.executable, "-c", CLUSTER, str(guide)]
    ended = subprocess.run(told, capture_output=True, text=True, timeout=400, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["spoor", "2"]
