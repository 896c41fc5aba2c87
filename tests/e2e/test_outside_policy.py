"""A policy outside the package is an equal: the file and entry point of docs/guides/add-a-policy.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from outside_package import OutsidePackage

NAME = "anchor-first"
WORDS = "pottery, kiln, glaze, clay, wheel, stoneware, porcelain, firing, slip"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> OutsidePackage:
    """The guide's package, and a generated web."""
    package = OutsidePackage(tmp_path_factory.mktemp("outside"), "add-a-policy.md")
    package.install("spoor_anchor.py")
    package.run("web", "generate", "web", "--pages", "400", "--hosts", "4", "--seed", "3")
    return package


def test_it_is_listed_with_its_parameters(place: OutsidePackage) -> None:
    found = {policy["name"]: policy for policy in place.json("policies")["policies"]}
    assert found[NAME]["parameters"] == {"surroundings": False}
    assert found[NAME]["summary"].startswith("Links whose anchor")
    assert "No module named 'no_such_module'" in found["broken"]["summary"]


def test_it_replays(place: OutsidePackage) -> None:
    about = ("replay", "web", "--target", "label:pottery", "--pages", "100", "--scope", "web")
    own = place.json(*about, "--policy", NAME, "--param", "surroundings=true")
    plain = place.json(*about, "--policy", "breadth-first")
    assert own["policy"] == NAME
    assert own["params"] == {"surroundings": True}
    assert own["fetched"] == plain["fetched"] == 100
    assert own["found"] > plain["found"]


def test_a_wrong_name_or_parameter_is_refused_with_the_nearest(place: OutsidePackage) -> None:
    about = ("replay", "web", "--target", "label:pottery", "--policy")
    assert f"did you mean {NAME!r}?" in place.run(*about, "anchor-frist", code=2).stderr
    wrong = place.error(*about, NAME, "--param", "surounding=true")
    assert "did you mean 'surroundings'?" in wrong


@pytest.fixture
def served(place: OutsidePackage) -> Iterator[int]:
    with place.served("web") as port:
        yield port


def test_it_crawls_live_and_goes_on(place: OutsidePackage, served: int) -> None:
    def crawl(pages: int) -> dict[str, Any]:
        return place.json(
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
    replayed = place.json("replay", "web", *about, "--policy", NAME)
    assert both["found"] == replayed["found"] > 0, "one fetch at a time: the same crawl as replayed"
    assert (place.folder / "run" / "report.html").exists()
