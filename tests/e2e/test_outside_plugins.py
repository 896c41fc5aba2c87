"""A judge, a frontier and a world of another package are the equals of those that are built in: the
files and entry points of docs/guides/add-a-plug-in.md, used by the commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from outside_package import OutsidePackage

LINES = """\
http://kiln.example/\tA kiln .\thttp://kiln.example/a\thttp://kiln.example/b
http://kiln.example/a\tkiln and kiln\thttp://kiln.example/c
http://kiln.example/b\tnothing\thttp://kiln.example/
http://kiln.example/c\tKiln by kiln by kiln\thttp://kiln.example/a\thttp://kiln.example/d
http://kiln.example/d\tno more\thttp://elsewhere.example/
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> OutsidePackage:
    """The guide's package, a web in its format, and one of ours."""
    folder = tmp_path_factory.mktemp("outside")
    package = OutsidePackage(folder, "add-a-plug-in.md")
    package.install("spoor_small.py")
    imports = "from pathlib import Path\nfrom spoor_small import CountingFrontier, Often, TextWeb\n"
    (folder / "test_small.py").write_text(imports + package.blocks("python")[1], "utf-8")
    (folder / "web").mkdir()
    (folder / "web" / "pages.txt").write_text(LINES, "utf-8")
    package.run("web", "generate", "ours", "--pages", "200", "--hosts", "3", "--seed", "3")
    return package


def test_they_keep_the_laws(place: OutsidePackage) -> None:
    done = place.python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_small.py")
    assert done.returncode == 0, done.stdout


def test_its_web_is_replayed_with_its_judge(place: OutsidePackage) -> None:
    figures = place.json("replay", "web", "--target", "often:kiln", "--policy", "breadth-first")
    assert (figures["fetched"], figures["found"], figures["targets"]) == (5, 2, 2)
    assert figures["root"] == "http://kiln.example/"
    both = ("--target", "often:more", "--target", "url:/a$")
    assert place.json("replay", "web", *both, "--policy", "random")["found"] == 1


def test_its_judge_is_a_method_of_topic_files(place: OutsidePackage) -> None:
    topic = place.folder / "kilns.toml"
    topic.write_text('name = "kiln"\n[relevant]\nmethod = "often"\ntimes = 3\n', "utf-8")
    figures = place.json("replay", "web", "--target", f"topic:{topic}", "--policy", "random")
    assert figures["found"] == 1
    topic.write_text('name = "kiln"\n[relevant]\nmethod = "often"\ntime = 3\n', "utf-8")
    assert "did you mean 'times'?" in place.error("replay", "web", "--target", f"topic:{topic}")
    topic.write_text('name = "kiln"\n[relevant]\nmethod = "oftn"\n', "utf-8")
    assert "did you mean 'often'?" in place.error("replay", "web", "--target", f"topic:{topic}")


def test_what_does_not_exist_or_cannot_be_imported_is_one_line(place: OutsidePackage) -> None:
    assert "did you mean 'often'?" in place.error("replay", "web", "--target", "oftn:kiln")
    assert "no_such_module" in place.error("replay", "web", "--target", "broken:kiln", code=1)
    crawl = ("crawl", "http://a.example/", "--want", "often:x", "--frontier")
    assert "did you mean 'counting'?" in place.error(*crawl, "countin")
    assert "no_such_module" in place.error(*crawl, "broken", code=1)


@pytest.fixture
def served(place: OutsidePackage) -> Iterator[int]:
    with place.served("ours") as port:
        yield port


def test_its_frontier_crawls_live_and_resumes(place: OutsidePackage, served: int) -> None:
    def crawl(pages: int, frontier: str, out: str) -> tuple[str, ...]:
        return (
            *("crawl", "http://alder.example/", "--connect-to", f"127.0.0.1:{served}"),
            *("--want", "often:pottery", "--policy", "breadth-first", "--scope", "anywhere"),
            *("--pages", str(pages), "--delay", "0", "--in-flight", "1"),
            *("--frontier", frontier, "--out", out),
        )

    first = place.json(*crawl(15, "counting", "run"))
    assert (first["fetched"], first["resumed"]) == (15, False)
    assert "begun with --frontier counting" in place.error(*crawl(30, "memory", "run"))
    both = place.json(*crawl(30, "counting", "run"))
    assert (both["fetched"], both["resumed"]) == (30, True)
    plain = place.json(*crawl(30, "memory", "plain"))
    assert (both["found"], both["open_links"]) == (plain["found"], plain["open_links"])
    assert (place.folder / "run" / "report.html").exists()
    explained = place.run("explain", "run").stdout
    assert "breadth-first" in explained
