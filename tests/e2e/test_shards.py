"""A crawl in shards on a real Ray, from the command line to its files."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from spoor.cli.explain import of_page
from spoor.cli.main import run
from spoor.drivers.http.folder import reading
from spoor.lab.reading import report_of_run
from spoor.learn.state import unpack
from spoor.testing.kills import CountedWeb, served
from spoor.urls import host, shard_of

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs Ray: pip install 'spoor[ray]'"
)

PAGES = 150


def crawl(web: CountedWeb, out: Path, shards: int, *more: str) -> dict[str, Any]:
    told = web.command(out, "--json", "--shards", str(shards), *more)
    ended = subprocess.run(told, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr
    summary: dict[str, Any] = json.loads(ended.stdout)
    return summary


def state(folder: Path) -> dict[str, Any]:
    with reading(folder) as db:
        (blob,) = db.execute("SELECT state FROM checkpoints ORDER BY generation DESC").fetchone()[
            :1
        ]
    return unpack(blob)


@needs_ray
def test_shards_fetch_each_page_once_and_are_read_as_one_run(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with served(PAGES, hosts=8) as web:
        told = crawl(web, out, 2, "--pages", "60")
        assert (told["fetched"], told["shards"]) == (60, 2)
        assert told["stopped_because"] == "budget of 60 pages reached"
        assert sum(one["pages"] for one in told["each"]) == 60
        posts = [state(out / f"shard-{at}")["post"] for at in range(2)]
        assert sum(post["posted"] for post in posts) > 0
        for at in range(2):
            with reading(out / f"shard-{at}") as db:
                hosts = [row["host"] for row in db.execute("SELECT host FROM pages")]
            assert hosts
            assert {shard_of(name, 2) for name in hosts} == {at}

        told = crawl(web, out, 3)
        assert told["resumed"]
        assert told["stopped_because"] == "no open link left"
        assert told["fetched"] == PAGES
        assert web.again <= 2 * 16, "only what was in flight is asked for again"

    with reading(out) as db:
        rows = db.execute("SELECT * FROM pages ORDER BY seq").fetchall()
        assert [row["seq"] for row in rows] == list(range(1, PAGES + 1))
        assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
        assert max(Counter(row["url"] for row in rows).values()) == 1
    for row in rows:
        assert json.loads(row["path"])[0] == web.root
        assert (out / row["warc_file"]).exists()
    posts = [state(out / f"shard-{at}")["post"] for at in range(3)]
    assert all(not parcels for post in posts for _, _, parcels in post["out"])
    found = [json.loads(line) for line in (out / "relevant.jsonl").read_text("utf-8").splitlines()]
    assert {row["url"] for row in found} == {row["url"] for row in rows if row["relevant"]}
    report = report_of_run(out).read_text("utf-8")
    assert f"{PAGES:,}" in report
    page = of_page(out, rows[-1]["url"])
    assert page["fetched"]
    assert host(page["url"]) == page["host"]


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
        (["--shards", "2", "--metrics", "127.0.0.1:0"], "look at one process"),
        (["--cluster", "127.0.0.1:1"], "no Ray at 127.0.0.1:1"),
        (["--cluster", "ray://head:10001"], "is not HOST:PORT"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(tmp_path: Path, more: list[str], said: str) -> None:
    arguments = ["crawl", "http://a.example/", "--topic", "kilns", "--out", str(tmp_path / "run")]
    ended = subprocess.run(
        [sys.executable, "-m", "spoor", *arguments, *more],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


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
    ended = subprocess.run(told, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["spoor", "2"]
