"""A generated web is what its settings promise, and the same in every process."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.judges.facts import Label
from spoor.types import Choice, Failed, Fetch, Fetched, Reply
from spoor.web.page import parse
from spoor.worlds import graph as graphs
from spoor.worlds import newsweb
from spoor.worlds.generated import (
    GeneratedSettings,
    GeneratedWorld,
    settings_of,
)
from spoor.worlds.vocabulary import VAGUE

FLAT = GeneratedSettings(pages=4000, hosts=4, seed=1, in_exponent=3.5, out_exponent=3.0)
"""Draws that rarely fall on one page twice, so that shares of links are shares of draws."""

SMALL = GeneratedSettings(pages=600, hosts=5, seed=7)


@cache
def web(told: GeneratedSettings) -> GeneratedWorld:
    return GeneratedWorld(told)


@cache
def drawn(told: GeneratedSettings) -> tuple[np.ndarray, np.ndarray]:
    """(from, to) of all links in running text."""
    world = web(told)
    rows = [world.links_of(page)["text"] for page in range(told.pages)]
    source = np.repeat(np.arange(told.pages), [len(row) for row in rows])
    return source, np.array([page for row in rows for page in row])


def topics(told: GeneratedSettings) -> np.ndarray:
    return np.array([web(told).topic_of(page) for page in range(told.pages)])


@pytest.mark.parametrize("share", [0.02, 0.06, 0.2, 0.5])
def test_the_share_of_targets(share: float) -> None:
    told = GeneratedSettings(pages=8000, hosts=4, seed=3, target_share=share)
    topic = topics(told)
    assert (topic == 0).mean() == pytest.approx(share, abs=0.01)
    others = Counter(topic[topic > 0].tolist())
    assert max(others.values()) < 2.5 * min(others.values()), "the others share the rest evenly"


def test_the_share_of_links_to_the_own_topic() -> None:
    source, target = drawn(FLAT)
    topic = topics(FLAT)
    by_chance = sum(((topic == at).mean()) ** 2 for at in range(FLAT.topics))
    expected = FLAT.locality + (1 - FLAT.locality) * by_chance
    assert (topic[source] == topic[target]).mean() == pytest.approx(expected, abs=0.03)


def test_the_share_of_links_that_stay() -> None:
    source, target = drawn(FLAT)
    expected = FLAT.same_host + (1 - FLAT.same_host) / FLAT.hosts
    stay = (source % FLAT.hosts == target % FLAT.hosts).mean()
    assert stay == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize(("outward", "inward"), [(2.3, 2.1), (2.6, 2.5), (3.0, 3.0)])
def test_degrees_follow_power_laws(outward: float, inward: float) -> None:
    """Fits of the discrete law (Clauset, Shalizi and Newman 2009) to the tail. What is drawn twice is
    one link, and locality moves some, so the exponents are met within 0.3."""
    pytest.importorskip("powerlaw", reason="needs the extra graph")
    told = GeneratedSettings(pages=6000, hosts=4, seed=1, out_exponent=outward, in_exponent=inward)
    source, target = drawn(told)
    out = graphs.power_law(np.bincount(source, minlength=told.pages), xmin=4)
    inn = graphs.power_law(np.bincount(target, minlength=told.pages), xmin=5)
    assert out is not None
    assert inn is not None
    assert out.alpha == pytest.approx(outward, abs=0.3)
    assert inn.alpha == pytest.approx(inward, abs=0.3)
    counts = np.bincount(source, minlength=told.pages)
    assert counts.max() <= told.most_links
    assert np.bincount(target).max() > 15 * np.bincount(target).mean(), "there are hubs"


def test_anchors_say_what_they_lead_to_but_for_the_noise() -> None:
    world = web(SMALL)
    vague = said = 0
    for page in world.pages():
        for link in page.links:
            if not link.anchor.tag_path.endswith("/p/a"):
                continue
            vague += link.anchor.text in VAGUE
            said += 1
    assert said > 2000
    assert vague / said == pytest.approx(SMALL.anchor_noise, abs=0.03)


def test_pages_speak_of_their_topic() -> None:
    world = web(SMALL)
    for number in range(10, 60):
        page = world.page(world.url_of(number))
        words = Counter(page.text.lower().split())
        own = world.topics[world.topic_of(number)]
        counts = {
            name: sum(words[word] for word in set(vocabulary))
            for name, vocabulary in zip(world.topics, world._vocabulary, strict=True)
        }
        assert own in sorted(counts, key=lambda name: -counts[name])[:2], number
        assert page.labels == {world.label_of(number)}


def _tree_depth(place: int) -> int:
    depth = 0
    while place:
        place = (place - 1) // 8
        depth += 1
    return depth


def test_everything_is_within_known_reach_of_the_root() -> None:
    world = web(SMALL)
    found = world.graph(Label("pottery"))
    depth = graphs.depths(found.indptr, found.indices, 0)
    for page in range(SMALL.pages):
        bound = _tree_depth(page % SMALL.hosts) + _tree_depth(page // SMALL.hosts)
        assert 0 <= depth[page] <= bound
    assert found.targets.sum() > 10
    assert found.targets.tolist() == ["pottery" in page.labels for page in world.pages()]
    for page in np.flatnonzero(found.targets).tolist():
        assert world.topic_of(page) == 0


def test_the_graph_is_what_the_pages_link_to() -> None:
    world = web(GeneratedSettings(pages=200, hosts=3, seed=2))
    found = world.graph()
    for number, page in enumerate(world.pages()):
        assert page.url == found.urls[number]
        linked = {link.url for link in page.links} - {page.url}
        row = found.indices[found.indptr[number] : found.indptr[number + 1]].tolist()
        assert linked == {found.urls[target] for target in row}


@settings(max_examples=40)
@given(
    st.integers(1, 10**9),
    st.integers(1, 200),
    st.integers(0, 2**32),
    st.data(),
)
def test_a_url_leads_back_to_its_page(
    pages: int, hosts: int, seed: int, data: st.DataObject
) -> None:
    told = GeneratedSettings(pages=max(pages, hosts), hosts=hosts, seed=seed)
    world = GeneratedWorld(told)
    page = data.draw(st.integers(0, told.pages - 1))
    url = world.url_of(page)
    assert world.number_of(url) == page
    assert world.number_of(f"{url}x") is None
    for block in world.links_of(page).values():
        for target in block:
            assert 0 <= target < told.pages
            assert world.number_of(world.url_of(target)) == target
    parsed = parse(world.html_of(page).encode(), url)
    linked = {target for block in world.links_of(page).values() for target in block}
    assert {world.number_of(link.url) for link in parsed.links} == linked


def ask(world: GeneratedWorld, url: str) -> Reply:
    return world.answer(Fetch(7, url, url.split("/")[2], Choice(0)))


def test_what_is_not_there_is_absent() -> None:
    world = web(SMALL)
    for url in (
        "http://alder.example/pottery/none-99999.html",
        "http://nobody.example/",
        "http://alder.example/calendar/1",
        "http://alder.example/-1.html",
        "http://alder.example/²",
    ):
        reply = ask(world, url)
        assert isinstance(reply, Failed)
        assert reply.kind == "absent"
    with pytest.raises(InputError, match="is not a page of this web"):
        world.page("http://nobody.example/")


@pytest.mark.parametrize("trap", ["calendar", "session", "facets"])
def test_a_trap_has_one_entrance_a_host_and_no_end(trap: str) -> None:
    told = GeneratedSettings(pages=60, hosts=3, seed=1, traps=(trap,))
    world = GeneratedWorld(told)
    entrances = [
        (page.url, link.url)
        for page in world.pages()
        for link in page.links
        if f"/{trap}/" in link.url
    ]
    fronts = [f"http://{world.host_name(host)}/" for host in range(3)]
    assert entrances == [(front, f"{front}{trap}/1") for front in fronts]
    seen = {entrances[0][1]}
    queue = list(seen)
    while queue and len(seen) < 300:
        reply = ask(world, queue.pop(0))
        assert isinstance(reply, Fetched)
        assert reply.page.labels == {"trap"}
        assert reply.page.links
        for link in reply.page.links:
            assert f"/{trap}/" in link.url, "no way out of it"
            if link.url not in seen:
                seen.add(link.url)
                queue.append(link.url)
    assert len(seen) >= 300
    assert len(world.graph().urls) == 60, "traps are no part of what there is to find"


def _digest(world: GeneratedWorld) -> str:
    pages = [0, 1, 17, 4321, world.settings.pages - 1]
    text = "".join(world.url_of(page) + world.html_of(page) for page in pages)
    return hashlib.sha256(text.encode()).hexdigest()


def test_another_process_computes_the_same_web() -> None:
    told = "GeneratedSettings(pages=10**9, hosts=100, seed=5)"
    source = (
        "from test_generated import _digest, GeneratedSettings, GeneratedWorld; "
        f"print(_digest(GeneratedWorld({told})))"
    )
    paths = (str(Path(__file__).parent), os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True, env=environment
    )
    here = _digest(GeneratedWorld(GeneratedSettings(pages=10**9, hosts=100, seed=5)))
    assert done.stdout.strip() == here
    assert here != _digest(GeneratedWorld(GeneratedSettings(pages=10**9, hosts=100, seed=6)))


def test_pages_do_not_depend_on_which_came_before() -> None:
    told = GeneratedSettings(pages=500, hosts=3, seed=4)
    forwards, backwards = GeneratedWorld(told), GeneratedWorld(told)
    some = {page: forwards.html_of(page) for page in range(0, 500, 50)}
    assert some == {page: backwards.html_of(page) for page in reversed(range(0, 500, 50))}


def test_its_file_is_its_settings(tmp_path: Path) -> None:
    told = GeneratedSettings(pages=900, hosts=7, seed=2, traps=("session",), locality=0.5)
    GeneratedWorld(told).save(tmp_path / "web")
    assert GeneratedWorld.open(tmp_path / "web").settings == told
    assert [path.name for path in (tmp_path / "web").iterdir()] == ["web.toml"]


def test_a_web_too_large_to_be_known_says_so() -> None:
    with pytest.raises(InputError, match="too large to be enumerated"):
        GeneratedWorld(GeneratedSettings(pages=10**9)).graph()


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"pages": 0}, "1 ≤ hosts ≤ pages"),
        ({"pages": 5, "hosts": 6}, "1 ≤ hosts ≤ pages"),
        ({"topics": 1}, "2 ≤ topics"),
        ({"in_exponent": 2.0}, "in_exponent > 2"),
        ({"out_exponent": 1.0}, "out_exponent > 1"),
        ({"least_links": 0}, "1 ≤ least_links"),
        ({"locality": 1.5}, "locality lies in"),
        ({"anchor_noise": float("nan")}, "anchor_noise lies in"),
        ({"out_exponent": float("nan")}, "out_exponent > 1"),
        ({"seed": -1}, "seed is a number from 0 on"),
        ({"words": 10**9}, "words is a number from 0 to 100,000"),
    ],
)
def test_settings_that_make_no_web_are_refused(given_: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GeneratedWorld(settings_of(given_, "here"))


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"days": float("nan")}, "days is a number from 0 on"),
        ({"triads": float("nan")}, "triads is a number from 0 to 1"),
        ({"seed": -1}, "seed is a number from 0 on"),
        ({"days": 1e20}, "at most 1,000,000 articles"),
        ({"articles_a_day": 1e308}, "at most 1,000,000 articles"),
        ({"front_minutes": 1e-9}, "changes at most 1,000,000 times"),
        ({"front": 10**12}, "front is a number from 0 to 10,000"),
    ],
)
def test_settings_that_make_no_news_web_are_refused(given_: dict[str, float], message: str) -> None:
    """Such as an experiment of a stranger may have: each was a traceback, or never ended."""
    with pytest.raises(InputError, match=message):
        newsweb.news_web(newsweb.settings_of(given_, "here"))
