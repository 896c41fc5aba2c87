"""Evolving webs: the clock, their sources, rewiring, and graph measures on real webs."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.compression import zstd
from spoor.errors import CallerError, InputError
from spoor.lab.kinds.fleets import run_fleet
from spoor.simulation.fleets import new_documents
from spoor.types import NO_PARENT, Choice, Failed, Fetch, Fetched, Link, Page, Recording, Redirected
from spoor.worlds import graph
from spoor.worlds.evolving import EvolvingWorld, Version, rewired
from spoor.worlds.import_evolving import (
    captures,
    from_archives,
    from_recordings,
    make,
    matcher,
    wiki_history,
)
from spoor.worlds.newsweb import NewsSettings, news_web

DATA = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[2] / "../shared/data")).resolve()
SMALL = NewsSettings(days=2.0, backlog_days=3.0, articles_a_day=60.0, sections=4, words=20, seed=5)


def fetch(url: str) -> Fetch:
    return Fetch(0, url, "h.example", Choice(NO_PARENT))


A, B, C = (f"http://h.example/{name}" for name in "abc")


def changing() -> EvolvingWorld:
    return EvolvingWorld(
        [
            Version(5.0, B, "B", "first", (A,)),
            Version(1.0, A, "A", "one", (B,)),
            Version(20.0, A, "A", "two", (B, C)),
            Version(30.0, B, gone=True),
            Version(25.0, C, "C", "new", (A,)),
            Version(90.0, C, "C", "too late", (A,)),
        ],
        roots=[A],
        start=10.0,
        end=60.0,
    )


def test_pages_appear_change_and_vanish_at_their_times() -> None:
    world = changing()

    def texts() -> list[str | None]:
        return [None if (page := world.page(url)) is None else page.text for url in (A, B, C)]

    assert texts() == ["one", "first", None]
    world.advance(20.0)
    assert texts() == ["two", "first", None]
    reply = world.answer(fetch(A))
    assert isinstance(reply, Fetched)
    assert [link.url for link in reply.page.links] == [B, C]
    assert (reply.page.modified, reply.seconds) == (20.0, 2.5)
    world.advance(31.0)
    assert texts() == ["two", None, "new"]
    gone = world.answer(fetch(B))
    assert isinstance(gone, Failed)
    assert (gone.kind, gone.status) == ("absent", 404)
    assert world.last_change(B) == 30.0
    with pytest.raises(CallerError, match="forwards"):
        world.advance(30.0)
    world.advance(60.0)
    assert texts() == ["two", None, "new"]  # what comes after the end is not seen
    world.rewind()
    assert texts() == ["one", "first", None]
    assert world.counts() == {"pages": 3, "versions": 5, "at_start": 2, "vanished": 1}


def test_the_graph_holds_every_link_once() -> None:
    indptr, indices = changing().arcs()
    urls = changing().urls
    pairs = {
        (urls[page], urls[target])
        for page in range(len(urls))
        for target in indices[indptr[page] : indptr[page + 1]].tolist()
    }
    assert pairs == {(A, B), (A, C), (B, A), (C, A)}


def test_saved_and_opened_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = news_web(SMALL)
    world.save(tmp_path / "web")
    again = EvolvingWorld.open(tmp_path / "web")
    assert again.versions == world.versions
    assert (again.start, again.end, again.roots()) == (world.start, world.end, world.roots())
    (tmp_path / "web" / "versions.jsonl.zst").write_bytes(zstd.compress(b"[" * 5_000))
    with pytest.raises(InputError, match="line 1: damaged"):
        EvolvingWorld.open(tmp_path / "web")
    (tmp_path / "web" / "versions.jsonl.zst").write_bytes(b"damaged")
    with pytest.raises(InputError, match="line 1: damaged"):
        EvolvingWorld.open(tmp_path / "web")
    line = b'{"time": 1, "url": "http://a/", "links": []}\n'
    (tmp_path / "web" / "versions.jsonl.zst").write_bytes(zstd.compress(line * 9_000))
    monkeypatch.setattr("spoor.worlds.evolving.MAX_BYTES", 1 << 16)
    with pytest.raises(InputError, match="unpacks to over 200 times its size"):
        EvolvingWorld.open(tmp_path / "web")
    with pytest.raises(InputError, match="no evolving web"):
        EvolvingWorld.open(tmp_path / "nowhere")


def test_the_same_settings_make_the_same_web() -> None:
    assert news_web(SMALL).versions == news_web(SMALL).versions
    assert (
        news_web(SMALL).versions != news_web(NewsSettings(**{**_plain(SMALL), "seed": 6})).versions
    )


def _plain(told: NewsSettings) -> dict[str, Any]:
    return {name: getattr(told, name) for name in NewsSettings.__slots__}


def test_a_news_web_rolls_over() -> None:
    world = news_web(SMALL)
    root = world.roots()[0]
    first = world.page(root)
    assert first is not None
    world.advance(world.end)
    last = world.page(root)
    assert last is not None
    assert len(last.links) == len(first.links) == 3 + 40 + 1
    assert not {link.url for link in first.links[4:]} & {link.url for link in last.links[4:]}
    # every link of a page leads to a page that has been there by then
    world.rewind()
    there = {version.url for version in world.versions if version.time <= world.start}
    for version in world.versions:
        if version.time > world.start:
            there.add(version.url)
            assert there.issuperset(version.links)
    assert any(version.gone for version in world.versions)


# ---------------------------------------------------------------- rewiring


@given(st.integers(0, 1000))
@settings(max_examples=8)
@pytest.mark.long
def test_rewiring_keeps_all_degrees(seed: int) -> None:
    world = news_web(SMALL)
    other = rewired(world, np.random.default_rng(seed))
    assert [v._replace(links=()) for v in other.versions] == [
        v._replace(links=()) for v in world.versions
    ]
    # out: every version has as many links as before, none twice, none to itself
    for before, after in zip(world.versions, other.versions, strict=True):
        assert len(after.links) == len(before.links) == len(set(after.links))
        assert after.url not in after.links
    # in: as many pages ever link to each
    ins = [_in_degrees(web) for web in (world, other)]
    assert ins[0] == ins[1]
    outs = [np.diff(web.arcs()[0]).tolist() for web in (world, other)]
    assert outs[0] == outs[1]
    assert other.versions != world.versions


def _in_degrees(world: EvolvingWorld) -> Counter[str]:
    pairs = {(version.url, link) for version in world.versions for link in version.links}
    return Counter(link for _, link in pairs)


def test_rewired_links_lead_to_what_is_there() -> None:
    world = rewired(news_web(SMALL), np.random.default_rng(0))
    there: set[str] = {v.url for v in world.versions if v.time <= world.start}
    missing = 0
    for version in world.versions:
        if version.time > world.start:
            there.add(version.url)
            missing += not there.issuperset(version.links)
    assert missing == 0


def test_rewiring_breaks_up_clusters() -> None:
    world = news_web(
        NewsSettings(**{**_plain(SMALL), "navigation": False, "articles_a_day": 200.0})
    )
    before = graph.clustering(*world.arcs())
    after = graph.clustering(*rewired(world, np.random.default_rng(0)).arcs())
    assert after < before / 2


# ---------------------------------------------------------------- sources


def test_captures_become_versions() -> None:
    def shown(text: str, *links: str) -> Fetched:
        return Fetched(0, Page(A, text=text, links=[Link(url) for url in links]))

    recordings = [
        Recording(A, shown("one", B), "x 1", 10.0),
        Recording(A, shown("one", B), "x 2", 20.0),
        Recording(A, shown("two", B, B), "x 3", 30.0),
        Recording(A, Failed(0, "http", status=500, transient=True), "x 4", 40.0),
        Recording(A, Failed(0, "absent", status=404), "x 5", 60.0),
        Recording(A, Redirected(0, B), "x 6", 50.0),
        Recording(B, Failed(0, "absent", status=404), "x 7", 5.0),
    ]
    versions = captures(recordings)
    assert [(v.time, v.text, v.links, v.gone) for v in versions] == [
        (10.0, "one", (B,), False),
        (30.0, "two", (B,), False),
        (60.0, "", (), True),
    ]
    with pytest.raises(InputError, match="x 9: no time"):
        captures([Recording(A, shown("x"), "x 9")])


def test_an_archive_with_several_captures(tmp_path: Path) -> None:
    rows = [
        {"url": A, "html": f"<p>{text}</p><a href='{B}'>b</a>", "fetched_at": time}
        for text, time in (("one", "2020-01-01T00:00:00Z"), ("two", "2020-01-02T00:00:00Z"))
    ]
    file = tmp_path / "captures.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    world = from_archives([file])
    assert [version.text for version in world.versions] == ["one b", "two b"]
    assert world.end - world.start == 24 * 3600.0
    assert world.roots() == [A]


@pytest.mark.parametrize(
    ("spec", "yes", "no"),
    [
        (
            "./bugs/* and !*/Discussion",
            ["bugs/x", "bugs/x/y"],
            ["bugs", "todo/x", "bugs/Discussion"],
        ),
        ("bugs/* or todo/*", ["bugs/x", "todo/y"], ["news/x"]),
        ("(bugs/* or todo/*) and !link(done)", ["bugs/open"], ["bugs/closed", "todo/closed"]),
        ("news/* and created_after(x)", [], ["news/x"]),
        ("page(blog/*) or news/*", ["blog/day_1", "news/x"], ["blog", "todo/x"]),
        ("page(./blog/*) and !*/Discussion", ["blog/day_1"], ["blog/Discussion", "page(x"]),
    ],
)
def test_page_patterns(spec: str, yes: list[str], no: list[str]) -> None:
    match = matcher(spec, "index", lambda page, target: page.endswith("closed"))
    assert all(match(page) for page in yes)
    assert not any(match(page) for page in no)


def test_page_patterns_below_a_folder() -> None:
    match = matcher("./bugs/*", "git/index", lambda page, target: False)
    assert match("git/bugs/x")
    assert not match("bugs/x")
    for broken in ("(a or b", "a and", ""):
        with pytest.raises(InputError, match="page pattern"):
            matcher(broken, "index", lambda page, target: False)


@pytest.mark.parametrize("spec", ["(" * 1_000, "!" * 1_000 + "a", " " * 20_000, "a or " * 2_000])
def test_a_page_pattern_has_a_bound(spec: str) -> None:
    """It comes with an archive: one ended in a traceback, another took three seconds."""
    with pytest.raises(InputError, match="too long"):
        matcher(spec, "index", lambda page, target: False)


def test_a_pattern_with_a_slip_lists_nothing_until_it_is_mended(tmp_path: Path) -> None:
    def edit(time: int, page: str, spec: str = "") -> dict[str, object]:
        row = {"t": time, "page": page, "kind": "mod", "text": page, "links": []}
        return {**row, "inline": [[spec, 10]]} if spec else row

    rows = [
        edit(1, "index", "tips/* and and !tips/old"),
        edit(2, "tips/new"),
        edit(30, "index", "tips/* and !tips/old"),
    ]
    world = wiki_history(_recording(tmp_path, versions=rows), start=10.0, days=1.0)
    index, tip = "http://wiki.example/", "http://wiki.example/tips/new/"
    assert [tip in version.links for version in world.versions if version.url == index] == [
        False,
        True,
    ]


def test_a_list_that_is_a_feed_alone_shows_nothing(tmp_path: Path) -> None:
    def made(spec: str, show: int | None) -> dict[str, object]:
        row = {"t": 1, "page": f"list{show}", "kind": "new", "text": "", "links": []}
        return {**row, "inline": [[spec, show]]}

    rows = [{"t": 0, "page": "index", "kind": "new", "text": "", "links": []}]
    rows += [made("page(tips/*)", show) for show in (None, 0, 1, -1)]
    rows += [{"t": 2, "page": f"tips/{n}", "kind": "new", "text": "", "links": []} for n in (1, 2)]
    folder = _recording(tmp_path, versions=[*rows, {**rows[-1], "t": 30}])
    world = wiki_history(folder, start=10.0, days=1.0)
    tips = {f"http://wiki.example/tips/{n}/" for n in (1, 2)}
    counts = {
        show: len(tips.intersection(*(v.links for v in world.versions if f"list{show}/" in v.url)))
        for show in (None, 0, 1, -1)
    }
    assert counts == {None: 2, 0: 2, 1: 1, -1: 0}


# ---------------------------------------------------------------- cells


@pytest.mark.parametrize("fleet", ["WL", "RL", "WLRL", "round-robin", "change-rate"])
@pytest.mark.long
def test_a_cell_measures_what_it_says(fleet: str) -> None:
    params = {"web": {"news": _plain(SMALL)}, "fleet": fleet, "days": 0.25, "seed": 2}
    told = run_fleet(params)
    again = run_fleet(params)
    timing = {"seconds", "downloads_per_second"}
    assert {k: v for k, v in told.items() if k not in timing} == {
        k: v for k, v in again.items() if k not in timing
    }
    # a quarter of a day of 2.5 s each
    assert told["downloaded"] + told["failed"] == 6 * 3600 / 2.5
    windows = told["windows"]
    assert len(windows) == 2
    for at, name in ((1, "downloaded"), (2, "sent"), (3, "relevant")):
        assert sum(window[at] for window in windows) == told[name]
    assert told["relevant"] <= told["sent"]
    assert 0 < told["share_found"] <= 1
    assert 0 <= told["freshness"] <= 1
    assert told["age_hours"] >= 0
    assert told["sent_efficiency"] == told["relevant"] / told["sent"]
    world = news_web(SMALL)
    assert told["available"] == new_documents(world, world.start + 6 * 3600.0)


def test_cells_refuse_what_they_do_not_know() -> None:
    with pytest.raises(InputError, match="did you mean 'fleet'"):
        run_fleet({"web": {"news": {}}, "flet": "WL"})
    with pytest.raises(InputError, match="unknown key 'day'"):
        run_fleet({"web": {"news": {"day": 1}}, "fleet": "WL"})
    with pytest.raises(InputError, match="is one of"):
        make({}, DATA)


# ---------------------------------------------------------------- real data

METRICS = DATA / "webgraphs/metrics.json"


@pytest.mark.data
@pytest.mark.skipif(not METRICS.exists(), reason="needs webgraphs of SPOOR_DATA")
@pytest.mark.parametrize("name", ["hollins", "eurosis", "wikispeedia"])
@pytest.mark.long
def test_graph_measures_of_real_webs(name: str) -> None:
    """Against measures that others made of the same graphs."""
    said = next(row for row in json.loads(METRICS.read_text("utf-8")) if row["graph"] == name)
    arrays = np.load(METRICS.parent / f"{name}.npz")
    indptr, indices = arrays["indptr"].astype(np.int64), arrays["indices"].astype(np.int32)
    assert (len(indptr) - 1, len(indices)) == (said["nodes"], said["arcs"])
    outgoing, incoming = graph.degrees(indptr, indices)
    assert (outgoing.max(), incoming.max()) == (said["max_out"], said["max_in"])
    weak, strong = graph.components(indptr, indices)
    assert (round(weak, 3), round(strong, 3)) == (said["wcc"], said["scc"])
    assert graph.clustering(indptr, indices) == pytest.approx(said["clustering"], rel=0.01)
    # Their distances come from a few sources: within a tenth. Ours say their error: against all
    # pairs, where these are few.
    import igraph  # type: ignore[import-untyped]  # has no types

    source = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    whole = igraph.Graph(len(indptr) - 1, np.column_stack([source, indices]), directed=True)
    rng = np.random.default_rng(0)
    for directed, key in ((True, "directed_mean_dist"), (False, "undirected_mean_dist")):
        out, to = (indptr, indices) if directed else graph.undirected(indptr, indices)
        ways = graph.distances(out, to, rng)
        if name != "wikispeedia":
            exact = whole.average_path_length(directed=directed)
            assert abs(ways.mean - exact) < 1.5 * ways.error < 0.1 * exact
        assert ways.mean == pytest.approx(said[key], rel=0.1)
        if not directed:
            assert abs(ways.within_90 - said["eff_diam90"]) <= 1
    for degree, key in ((incoming, "alpha_in"), (outgoing, "alpha_out")):
        alpha, xmin, distance, tail = said[key]
        law = graph.power_law(degree, xmin=xmin)
        assert law is not None
        # They take the closed form, which is known to be off for small xmin; ours is exact.
        tail_of = degree[degree >= xmin]
        closed = 1.0 + len(tail_of) / np.log(tail_of / (xmin - 0.5)).sum()
        assert closed == pytest.approx(alpha, abs=0.01)
        assert law.alpha == pytest.approx(alpha, abs=0.02 if xmin > 5 else 0.3)
        assert law.distance < distance + 0.01
        assert law.tail == tail


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "news_bbc_home").exists(), reason="needs news_bbc_home")
def test_a_recorded_front_page() -> None:
    start = 1_626_600_000
    world = make({"front_page": "news_bbc_home", "start": start, "days": 2.0}, DATA)
    root = world.roots()[0]
    front = world.page(root)
    assert front is not None
    assert front.modified is not None
    assert front.modified <= start
    stories = [version for version in world.versions if version.time > start and version.links]
    assert len({version.url for version in stories}) > 50
    there = set(world.urls)
    assert all(there.issuperset(version.links) for version in world.versions)


@pytest.mark.data
@pytest.mark.skipif(not (DATA / "site_gitannex").exists(), reason="needs site_gitannex")
def test_a_recorded_wiki() -> None:
    start = 1_293_840_000  # 2011-01-01
    world = make({"wiki": "site_gitannex", "start": start, "days": 30.0}, DATA)
    counts = world.counts()
    assert counts["at_start"] > 50
    assert counts["versions"] > counts["pages"]
    bugs = world.page("http://wiki.example/bugs/")
    assert bugs is not None
    linked = {link.url for link in bugs.links}
    assert len([url for url in linked if url.startswith("http://wiki.example/bugs/")]) > 5
    done = world.page("http://wiki.example/bugs/done/")
    assert done is not None
    # what is done has left the list of what is open, except for itself
    closed = {link.url for link in done.links if "/bugs/" in link.url}
    assert closed
    assert not closed & linked - {"http://wiki.example/bugs/done/", "http://wiki.example/bugs/"}


def _recording(folder: Path, **files: Sequence[object]) -> Path:
    for name, rows in files.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl.zst").write_bytes(zstd.compress(lines.encode()))
    return folder


def test_a_front_page_without_summaries_and_sections(tmp_path: Path) -> None:
    docs = [{"id": at, "url": f"http://news.example/{at}", "title": f"Story {at}"} for at in "012"]
    _recording(tmp_path, docs=docs, snapshots=[[10, ["0"]], [20, ["1", "0"]], [30, ["2", "1"]]])
    world = from_recordings([tmp_path], start=15.0, days=1.0)
    front = [version.links for version in world.versions if version.url == "http://news.example/"]
    assert front[-1] == ("http://news.example/2", "http://news.example/1")
    _recording(tmp_path, snapshots=[[10, ["0"]], [20]])
    with pytest.raises(InputError, match=r"snapshots\.jsonl\.zst, line 2: no \[time"):
        from_recordings([tmp_path], start=15.0, days=1.0)


def test_the_history_of_a_wiki_is_in_the_order_of_time(tmp_path: Path) -> None:
    def history(*times: float) -> EvolvingWorld:
        rows = [
            {"t": time, "page": f"p{at}" if at else "index", "kind": "new", "text": "", "links": []}
            for at, time in enumerate(times)
        ]
        return from_recordings([_recording(tmp_path, versions=rows)], start=5.0, days=1.0)

    # Two clocks that differ by a minute make no disorder: the row gets the time of the one before.
    made = [v.time for v in history(10, 100, 70, 110).versions if "/p" in v.url]
    assert made == [100, 100, 110]
    with pytest.raises(InputError, match=r"line 3: its time, 100, is before that of the line abov"):
        history(10, 1000, 100)
    _recording(tmp_path, versions=[{"t": 1, "page": "index", "kind": "new"}, {"t": 2, "page": "x"}])
    with pytest.raises(InputError, match="line 2: no 'kind'"):
        from_recordings([tmp_path], start=0.0, days=1.0)
