"""A judge, a frontier and a world of another package are the equals of those that are built in: the
files and entry points of docs/guides/add-a-plug-in.md, used by the commands."""

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

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "add-a-plug-in.md"
LINES = """\
http://kiln.example/\tA kiln .\thttp://kiln.example/a\thttp://kiln.example/b
http://kiln.example/a\tkiln and kiln\thttp://kiln.example/c
http://kiln.example/b\tnothing\thttp://kiln.example/
http://kiln.example/c\tKiln by kiln by kiln\thttp://kiln.example/a\thttp://kiln.example/d
http://kiln.example/d\tno more\thttp://elsewhere.example/
"""


def blocks(language: str) -> list[str]:
    text = GUIDE.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as an installer leaves it, a web in its format, and one of ours."""
    folder = tmp_path_factory.mktemp("outside")
    site = folder / "site"
    project = tomllib.loads(blocks("toml")[0])["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    plugins, tests = blocks("python")
    (site / "spoor_small.py").write_text(plugins, "utf-8")
    imports = "from pathlib import Path\nfrom spoor_small import CountingFrontier, Often, TextWeb\n"
    (folder / "test_small.py").write_text(imports + tests, "utf-8")
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n", "utf-8"
    )
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", "broken = no_such_module:Thing"]
        lines += [f"{name} = {path}" for name, path in entries.items()]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "web").mkdir()
    (folder / "web" / "pages.txt").write_text(LINES, "utf-8")
    run(folder, "web", "generate", "ours", "--pages", "200", "--hosts", "3", "--seed", "3")
    return folder


def environment(folder: Path) -> dict[str, str]:
    paths = (str(folder / "site"), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}


def run(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "spoor", *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def printed(folder: Path, *arguments: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(run(folder, *arguments, "--json").stdout)
    return figures


def error(folder: Path, *arguments: str, code: int = 2) -> str:
    lines = run(folder, *arguments, code=code).stderr.strip()
    assert len(lines.splitlines()) == 1
    return lines


def test_they_keep_the_laws(place: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_small.py"],
        cwd=place,
        env=environment(place),
        check=True,
        timeout=120,
    )


def test_its_web_is_replayed_with_its_judge(place: Path) -> None:
    figures = printed(place, "replay", "web", "--target", "often:kiln", "--policy", "breadth-first")
    assert (figures["fetched"], figures["found"], figures["targets"]) == (5, 2, 2)
    assert figures["root"] == "http://kiln.example/"
    both = ("--target", "often:more", "--target", "url:/a$")
    assert printed(place, "replay", "web", *both, "--policy", "random")["found"] == 1


def test_its_judge_is_a_method_of_topic_files(place: Path) -> None:
    topic = place / "kilns.toml"
    topic.write_text('name = "kiln"\n[relevant]\nmethod = "often"\ntimes = 3\n', "utf-8")
    figures = printed(place, "replay", "web", "--target", f"topic:{topic}", "--policy", "random")
    assert figures["found"] == 1
    topic.write_text('name = "kiln"\n[relevant]\nmethod = "often"\ntime = 3\n', "utf-8")
    assert "did you mean 'times'?" in error(place, "replay", "web", "--target", f"topic:{topic}")
    topic.write_text('name = "kiln"\n[relevant]\nmethod = "oftn"\n', "utf-8")
    assert "did you mean 'often'?" in error(place, "replay", "web", "--target", f"topic:{topic}")


def test_what_does_not_exist_or_cannot_be_imported_is_one_line(place: Path) -> None:
    assert "did you mean 'often'?" in error(place, "replay", "web", "--target", "oftn:kiln")
    assert "no_such_module" in error(place, "replay", "web", "--target", "broken:kiln", code=1)
    crawl = ("crawl", "http://a.example/", "--want", "often:x", "--frontier")
    assert "did you mean 'counting'?" in error(place, *crawl, "countin")
    assert "no_such_module" in error(place, *crawl, "broken", code=1)


@pytest.fixture
def served(place: Path) -> Iterator[int]:
    """Our web over real HTTP on loopback; yields the port."""
    with subprocess.Popen(
        [sys.executable, "-m", "spoor", "web", "serve", "ours", "--for", "100"],
        cwd=place,
        env=environment(place),
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout
        match = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
        assert match
        yield int(match[1])
        server.terminate()
        server.communicate(timeout=30)


def test_its_frontier_crawls_live_and_resumes(place: Path, served: int) -> None:
    def crawl(pages: int, frontier: str, out: str) -> tuple[str, ...]:
        return (
            *("crawl", "http://alder.example/", "--connect-to", f"127.0.0.1:{served}"),
            *("--want", "often:pottery", "--policy", "breadth-first", "--scope", "anywhere"),
            *("--pages", str(pages), "--delay", "0", "--in-flight", "1"),
            *("--frontier", frontier, "--out", out),
        )

    first = printed(place, *crawl(15, "counting", "run"))
    assert (first["fetched"], first["resumed"]) == (15, False)
    assert "begun with --frontier counting" in error(place, *crawl(30, "memory", "run"))
    both = printed(place, *crawl(30, "counting", "run"))
    assert (both["fetched"], both["resumed"]) == (30, True)
    plain = printed(place, *crawl(30, "memory", "plain"))
    assert (both["found"], both["open_links"]) == (plain["found"], plain["open_links"])
    assert (place / "run" / "report.html").exists()
    explained = run(place, "explain", "run").stdout
    assert "breadth-first" in explained
