"""A policy outside the package is an equal: the file and entry point of docs/guides/add-a-policy.md."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-policy.md"
NAME = "anchor-first"
WORDS = "pottery, kiln, glaze, clay, wheel, stoneware, porcelain, firing, slip"


def blocks(language: str) -> list[str]:
    text = GUIDE.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as an installer leaves it, and a generated web."""
    folder = tmp_path_factory.mktemp("outside")
    site = folder / "site"
    project = tomllib.loads(blocks("toml")[0])["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (site / "spoor_anchor.py").write_text(blocks("python")[0], "utf-8")
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", "utf-8"
    )
    lines = [f"[{group}]" for group in project["entry-points"]]
    lines += [f"{name} = {at}" for name, at in project["entry-points"]["spoor.policies"].items()]
    lines.append("broken = no_such_module:Policy")
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    run(folder, "web", "generate", "web", "--pages", "400", "--hosts", "4", "--seed", "3")
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "spoor", *arguments]


def environment(folder: Path) -> dict[str, str]:
    paths = (str(folder / "site"), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def run(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def said(folder: Path, *arguments: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(run(folder, *arguments, "--json").stdout)
    return told


def test_it_is_listed_with_its_parameters(place: Path) -> None:
    found = {policy["name"]: policy for policy in said(place, "policies")["policies"]}
    assert found[NAME]["parameters"] == {"surroundings": False}
    assert found[NAME]["summary"].startswith("Links whose anchor")
    assert "No module named 'no_such_module'" in found["broken"]["summary"]


def test_it_keeps_the_laws(place: Path) -> None:
    source = (
        "from spoor import registry; from spoor.testing import check_policy\n"
        f"check_policy(registry.find('policies', {NAME!r}), beats_random=True)"
    )
    subprocess.run(
        [sys.executable, "-c", source], env=environment(place), check=True, timeout=120, cwd=place
    )


def test_it_replays(place: Path) -> None:
    about = ("replay", "web", "--target", "label:pottery", "--pages", "100", "--scope", "web")
    own = said(place, *about, "--policy", NAME, "--param", "surroundings=true")
    plain = said(place, *about, "--policy", "breadth-first")
    assert own["policy"] == NAME
    assert own["params"] == {"surroundings": True}
    assert own["fetched"] == plain["fetched"] == 100
    assert own["found"] > plain["found"]


def test_a_wrong_name_or_parameter_is_told_with_the_nearest(place: Path) -> None:
    about = ("replay", "web", "--target", "label:pottery", "--policy")
    told = run(place, *about, "anchor-frist", code=2).stderr
    assert f"did you mean {NAME!r}?" in told
    told = run(place, *about, NAME, "--param", "surounding=true", code=2).stderr
    assert "did you mean 'surroundings'?" in told
    assert len(told.strip().splitlines()) == 1


@pytest.fixture
def served(place: Path) -> Iterator[int]:
    """The web over real HTTP on loopback; yields the port."""
    with subprocess.Popen(
        command("web", "serve", "web", "--for", "100"),
        cwd=place,
        env=environment(place),
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        found = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
        assert found
        yield int(found[1])
        server.terminate()
        server.communicate(timeout=30)


def test_it_crawls_live_and_goes_on(place: Path, served: int) -> None:
    def crawl(pages: int) -> dict[str, Any]:
        return said(
            place,
            *("crawl", "http://alder.example/", "--connect-to", f"127.0.0.1:{served}"),
            *("--want", "url:/pottery/", "--topic", WORDS, "--policy", NAME),
            *("--pages", str(pages), "--delay", "0", "--in-flight", "1"),
            *("--scope", "anywhere", "--out", "run"),
        )

    first = crawl(25)
    assert (first["fetched"], first["resumed"]) == (25, False)
    both = crawl(50)
    assert (both["fetched"], both["resumed"]) == (50, True)
    about = ("--target", "url:/pottery/", "--topic", WORDS, "--scope", "web", "--pages", "50")
    replayed = said(place, "replay", "web", *about, "--policy", NAME)
    assert both["found"] == replayed["found"] > 0, "one fetch at a time: the same crawl as replayed"
    assert (place / "run" / "report.html").exists()
