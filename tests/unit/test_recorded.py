"""The store of a recorded web gives back what was put in, and the world answers from it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.judges.facts import Label
from spoor.types import (
    Anchor,
    Choice,
    Failed,
    Fetch,
    Fetched,
    Link,
    Page,
    Recording,
    Redirected,
    Reply,
    urls_of,
)
from spoor.worlds import store_rows
from spoor.worlds.recorded import RecordedLinks, RecordedWorld
from spoor.worlds.store import place_of
from spoor.worlds.store_rows import pack, restored
from spoor.worlds.store_writer import Summary, Writer

A = "http://a.example/"


def write(folder: Path, recordings: Iterable[Recording]) -> Summary:
    with Writer(folder) as writer:
        for recording in recordings:
            writer.add(pack(recording))
    return writer.summary


def recorded(
    url: str, *links: str, where: str = "", time: float | None = None, **more: object
) -> Recording:
    aliases = more.pop("aliases", ())
    extra = more.pop("extra", None)
    found = tuple(
        Link(target, Anchor(f"to {target}", position=at)) for at, target in enumerate(links)
    )
    page = Page(url, links=found, fetched_at=time, **more)  # type: ignore[arg-type]
    size = 1 + len(page.text)
    return Recording(url, Fetched(0, page, size=size), where, time, aliases, extra)  # type: ignore[arg-type]


def ask(world: RecordedWorld, url: str) -> Reply:
    return world.answer(Fetch(7, url, url.split("/")[2], Choice(0)))


def targets(page: Page) -> list[str]:
    return list(urls_of(page.links))


# ---------------------------------------------------------------- what goes in comes out

words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
anchors = st.builds(
    Anchor,
    text=words,
    before=words,
    after=words,
    headings=st.lists(words.filter(lambda w: w and "\x01" not in w), max_size=3).map(tuple),
    tag_path=words,
    position=st.integers(0, 5000),
    region=st.sampled_from(["main", "nav", "footer"]),
    nofollow=st.booleans(),
)
urls = st.integers(0, 9).map(lambda n: f"http://h{n % 3}.example/p{n}")
links = st.lists(
    st.builds(Link, urls, anchors, st.sampled_from(["a", "frame", "area"])), max_size=6
).map(tuple)


@st.composite
def webs(draw: st.DrawFn) -> dict[str, Page]:
    chosen = draw(st.lists(urls, min_size=1, max_size=6, unique=True))
    return {
        url: Page(
            url,
            status=draw(st.sampled_from([200, 203])),
            content_type=draw(st.sampled_from(["text/html", "application/pdf"])),
            title=draw(words),
            headings=tuple(draw(st.lists(words, max_size=3))),
            text=draw(words),
            links=draw(links),
            description=draw(words),
            canonical=draw(st.none() | urls),
            language=draw(st.sampled_from(["", "en"])),
            encoding=draw(st.sampled_from(["", "utf-8"])),
            flags=draw(st.frozensets(st.sampled_from(["noindex", "truncated"]))),
            labels=draw(st.frozensets(st.sampled_from(["x", "y", "z z"]))),
            site=draw(st.sampled_from(["", "s"])),
            fetched_at=draw(st.none() | st.floats(0, 2e9)),
            keywords=tuple(draw(st.lists(words.filter(lambda w: w and "\n" not in w), max_size=3))),
        )
        for url in chosen
    }


@settings(max_examples=30)
@given(webs())
@pytest.mark.long
def test_every_field_of_every_page_comes_back(
    tmp_path_factory: pytest.TempPathFactory, pages: dict[str, Page]
) -> None:
    folder = tmp_path_factory.mktemp("web") / "web"
    write(folder, [Recording(url, Fetched(0, page, size=9)) for url, page in pages.items()])
    world = RecordedWorld(folder, absent=True)
    assert [page.url for page in world.pages()] == list(pages)
    for page in world.pages():
        put = pages[page.url]
        for name in Page.__slots__:
            if name != "links":
                assert getattr(page, name) == getattr(put, name)
        assert list(page.links) == list(put.links)
        assert page.links[:2] == list(put.links[:2])
    inside = RecordedWorld(folder)
    for page in inside.pages():
        put_links = [link for link in pages[page.url].links if link.url in pages]
        assert list(page.links) == put_links
        assert [page.links[at] for at in range(len(page.links))] == put_links


def test_separators_and_broken_characters_do_not_mix_up_fields(tmp_path: Path) -> None:
    anchor = Anchor("a\0b", "c\0", "\ud800d")
    page = Page(A, title="t\0t", text="x\0\ud83d", headings=("h\0h",), links=(Link(A, anchor),))
    write(tmp_path / "w", [Recording(A, Fetched(0, page))])
    back = RecordedWorld(tmp_path / "w").page(A)
    assert (back.title, back.text, back.headings) == ("t\ufffdt", "x\ufffd?", ("h\ufffdh",))
    assert back.links[0].anchor[:3] == ("a\ufffdb", "c\ufffd", "?d")


def test_links_are_lazy_and_share_their_urls(tmp_path: Path) -> None:
    write(tmp_path / "w", [recorded(A, A + "b", A + "x"), recorded(A + "b", A + "b")])
    world = RecordedWorld(tmp_path / "w")
    first, second = world.page(A).links, world.page(A + "b").links
    assert isinstance(first, RecordedLinks)
    assert isinstance(second, RecordedLinks)
    assert first.urls == [A + "b"]
    assert first.urls[0] is second.urls[0] is world.page(A + "b").url  # one string for all
    assert first.absent == 1


def test_extra_keys_are_kept(tmp_path: Path) -> None:
    write(
        tmp_path / "w",
        [recorded(A, extra={"root": True, "head": "X: ü", "n": [1, None]}), recorded(A + "b")],
    )
    world = RecordedWorld(tmp_path / "w")
    assert world.extra(A) == {"head": "X: ü", "n": [1, None]}
    assert world.extra(A + "b") == {}
    assert world.roots() == [A]


# ---------------------------------------------------------------- answers


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two sites, a redirect, a failure, and links to what is not there."""
    write(
        tmp_path / "w",
        [
            recorded(
                A, A + "b", A + "old", A + "gone", A + "nowhere", "http://b.example/", site="a"
            ),
            recorded(A + "b", A, A + "b", A, site="a", labels=frozenset({"x"})),
            recorded("http://b.example/", A + "b", site="b", labels=frozenset({"x", "y"})),
            Recording(A + "old", Redirected(0, A + "b", 308)),
            Recording(A + "gone", Failed(0, "http", "status 410", 410)),
            Recording(A + "away", Redirected(0, "http://c.example/", 302)),
        ],
    )
    return tmp_path / "w"


def test_each_kind_of_answer(small: Path) -> None:
    world = RecordedWorld(small, seconds=0.5, absent=True)
    got = ask(world, A)
    assert isinstance(got, Fetched)
    assert (got.ticket, got.page.url, got.seconds, got.size) == (7, A, 0.5, 1)
    assert ask(world, A + "old") == Redirected(7, A + "b", 308, 0.5)
    assert ask(world, A + "away") == Redirected(7, "http://c.example/", 302, 0.5)
    assert ask(world, A + "gone") == Failed(7, "http", "status 410", 410, seconds=0.5)
    assert ask(world, A + "nowhere") == Failed(7, "absent", "not recorded", 404, seconds=0.5)


def test_links_out_of_the_world_are_left_out_unless_asked_for(small: Path) -> None:
    every = [A + "b", A + "old", A + "gone", A + "nowhere", "http://b.example/"]
    assert targets(RecordedWorld(small, absent=True).page(A)) == every
    assert targets(RecordedWorld(small).page(A)) == [*every[:3], every[4]]
    assert targets(RecordedWorld(small, site="a").page(A)) == every[:3]
    assert targets(RecordedWorld(small, site="a", absent=True).page(A)) == every[:4]


def test_another_site_is_not_there(small: Path) -> None:
    world = RecordedWorld(small, site="a")
    assert (len(world), world.urls()) == (2, [A, A + "b"])
    assert ask(world, "http://b.example/") == Failed(7, "absent", "not recorded", 404)
    with pytest.raises(InputError, match=r"no site 'c'; there are: a, b"):
        RecordedWorld(small, site="c")


def test_counts_labels_sites(small: Path) -> None:
    world = RecordedWorld(small)
    assert world.labels() == {"x": 2, "y": 1}
    assert world.labels(np.array([True, True, False])) == {"x": 1}
    assert world.sites() == {"a": 2, "b": 1}
    counts = world.counts()
    assert (counts["pages"], counts["redirects"], counts["failures"]) == (3, 2, 1)
    assert (counts["links"], counts["links_to_recorded_pages"], counts["absent"]) == (9, 7, 1)


def test_graph_follows_redirects_and_leaves_out_repeats_and_loops(small: Path) -> None:
    world = RecordedWorld(small)
    graph = world.graph(Label("x"))
    assert graph.urls == [A, A + "b", "http://b.example/"]
    assert graph.indptr.tolist() == [0, 2, 3, 4]
    assert graph.indices.tolist() == [1, 2, 0, 1]
    assert graph.targets.tolist() == [False, True, True]
    for site in (None, "a", "b"):
        scope = RecordedWorld(small, site=site)
        for label in ("x", "y", "none"):  # as the pages themselves say
            said = [label in page.labels for page in scope.pages()]
            assert scope.graph(Label(label)).targets.tolist() == said
    within = RecordedWorld(small, site="a").graph(np.array([True, False]))
    assert (within.indices.tolist(), within.targets.tolist()) == ([1, 0], [True, False])


def test_a_chain_of_redirects_ends_at_its_page_and_a_ring_nowhere(tmp_path: Path) -> None:
    chain = [Recording(f"{A}{n}", Redirected(0, f"{A}{n + 1}", 301)) for n in range(3)]
    ring = [
        Recording(A + "r1", Redirected(0, A + "r2")),
        Recording(A + "r2", Redirected(0, A + "r1")),
    ]
    write(tmp_path / "w", [recorded(A, A + "0", A + "r1"), recorded(A + "3"), *chain, *ring])
    world = RecordedWorld(tmp_path / "w")
    assert world.graph().indices.tolist() == [1]
    assert world.page(A + "0").url == A + "3"
    assert targets(world.page(A)) == [A + "0"]
    with pytest.raises(InputError, match="no page"):
        world.page(A + "r1")


# ---------------------------------------------------------------- forms of one page


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/", "http://a.example/index.html"),
        ("http://a.example/d/", "https://a.example/d/Default.htm"),
        ("http://a.example/d", "http://a.example/d/"),
        ("http://a.example/d//e", "http://a.example/d/e"),
        ("http://a.example/d/?q=1", "http://a.example/d/index.php?q=1"),
    ],
)
def test_forms_of_one_place(one: str, other: str) -> None:
    assert place_of(one) == place_of(other)


@pytest.mark.parametrize(
    "other",
    ["http://a.example/d/e", "http://a.example/d?q=1", "http://b.example/d", "http://a.example/D"],
)
def test_other_places(other: str) -> None:
    assert place_of("http://a.example/d") != place_of(other)


def test_links_to_another_form_lead_to_the_recorded_page(tmp_path: Path) -> None:
    write(tmp_path / "w", [recorded(A, A + "d", A + "d/index.html", A + "d//"), recorded(A + "d/")])
    world = RecordedWorld(tmp_path / "w")
    assert targets(world.page(A)) == [A + "d/"] * 3
    assert ask(world, A + "index.html") == Redirected(7, A, 301)
    assert world.page("https://a.example/index.html").url == A


def test_two_forms_with_the_same_content_are_one_page(tmp_path: Path) -> None:
    summary = write(
        tmp_path / "w",
        [
            recorded(A + "index.html", A + "b", labels=frozenset({"x"}), text="front"),
            recorded(A, A + "b", labels=frozenset({"y"}), text="front", extra={"root": True}),
            recorded(A + "b", A + "index.html", A),
        ],
    )
    world = RecordedWorld(tmp_path / "w")
    assert (summary.pages, summary.merged) == (2, 1)
    front = world.page(A)
    assert (front.url, sorted(front.labels)) == (A + "index.html", ["x", "y"])
    assert targets(world.page(A + "b")) == [A + "index.html"] * 2
    assert world.roots() == [A + "index.html"]


def test_two_forms_with_other_content_stay_two_and_the_folder_takes_the_links(
    tmp_path: Path,
) -> None:
    write(
        tmp_path / "w",
        [
            recorded(A + "d", text="moved"),
            recorded(A + "d//", text="here"),
            recorded(A, A + "d/", A + "d"),
        ],
    )
    world = RecordedWorld(tmp_path / "w")
    assert len(world) == 3
    assert targets(world.page(A)) == [A + "d//", A + "d"]


def test_aliases_lead_to_their_page(tmp_path: Path) -> None:
    page = recorded(A + "p?id=3", aliases=(A + "p%3Fid=3.html", "not a url", A + "p?id=3#x"))
    write(tmp_path / "w", [page, recorded(A, A + "p%3Fid=3.html")])
    world = RecordedWorld(tmp_path / "w")
    assert targets(world.page(A)) == [A + "p?id=3"]
    assert ask(world, A + "p%3Fid=3.html") == Redirected(7, A + "p?id=3", 301)


# ---------------------------------------------------------------- two recordings of one URL


def test_the_same_twice_is_one_page_with_the_labels_of_both(tmp_path: Path) -> None:
    pages = [recorded(A, text="t", labels=frozenset({label})) for label in "xy"]
    summary = write(tmp_path / "w", pages)
    assert (summary.pages, summary.merged) == (1, 1)
    assert RecordedWorld(tmp_path / "w").page(A).labels == {"x", "y"}


def test_other_content_is_a_conflict_that_names_both_places(tmp_path: Path) -> None:
    pages = [recorded(A, text="one", where="f line 1"), recorded(A, text="two", where="f line 2")]
    with pytest.raises(InputError, match=r"^f line 2: http://a.example/ is in f line 1 already"):
        write(tmp_path / "w", pages)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("order", [1, -1])
def test_the_later_capture_counts(tmp_path: Path, order: int) -> None:
    pages = [recorded(A, text="old", time=1.0), recorded(A, text="new", time=2.0)][::order]
    summary = write(tmp_path / "w", pages)
    assert RecordedWorld(tmp_path / "w").page(A).text == "new"
    assert (summary.pages, summary.replaced) == (1, 1)


@pytest.mark.parametrize("order", [1, -1])
def test_the_url_that_is_spelt_right_counts(tmp_path: Path, order: int) -> None:
    pages = [recorded(A, text="right"), recorded(A, text="part", aliases=(A + "#part",))][::order]
    summary = write(tmp_path / "w", pages)
    assert RecordedWorld(tmp_path / "w").page(A).text == "right"
    assert summary.respelt == 1


@pytest.mark.parametrize("order", [1, -1])
def test_a_body_counts_more_than_none(tmp_path: Path, order: int) -> None:
    bodiless = Recording(A, Fetched(0, Page(A, labels=frozenset({"document"}))))
    pages = [recorded(A, text="body"), bodiless][::order]
    write(tmp_path / "w", pages)
    page = RecordedWorld(tmp_path / "w").page(A)
    assert (page.text, sorted(page.labels)) == ("body", ["document"])


# ---------------------------------------------------------------- roots


def test_without_marked_roots_each_site_begins_at_its_front_page_or_its_hub(tmp_path: Path) -> None:
    write(
        tmp_path / "w",
        [
            recorded(A + "x", A, site="a"),
            recorded(A + "index.html", A + "x", site="a"),
            recorded("http://b.example/1", "http://b.example/2", site="b"),
            recorded("http://b.example/2", "http://b.example/1", site="b"),
            recorded("http://b.example/3", "http://b.example/2", site="b"),
        ],
    )
    assert RecordedWorld(tmp_path / "w").roots() == [A + "index.html", "http://b.example/2"]


# ---------------------------------------------------------------- the folder


def test_without_a_front_page_the_highest_of_the_menu_is_the_root(tmp_path: Path) -> None:
    names = ("docs/a/x", "docs/b/y", "docs/", "docs/a/z", "z")
    menu = [f"http://h/{name}" for name in names[:3]]
    often = [f"{menu[0]}#{part}" for part in range(30)]
    write(tmp_path / "w", [recorded(f"http://h/{name}", *menu, *often) for name in names])
    assert RecordedWorld(tmp_path / "w").roots() == ["http://h/docs/"]


def test_nothing_is_left_where_writing_fails(tmp_path: Path) -> None:
    def stopped() -> Iterable[Recording]:
        yield recorded(A)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "w", stopped())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="hold no page"):
        write(tmp_path / "w", [])
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_over_but_a_web_and_only_on_request(tmp_path: Path) -> None:
    write(tmp_path / "w", [recorded(A)])
    with pytest.raises(InputError, match="is a web already"):
        write(tmp_path / "w", [recorded(A)])
    with Writer(tmp_path / "w", replace=True) as writer:
        writer.add(pack(recorded(A + "new")))
    assert RecordedWorld(tmp_path / "w").urls() == [A + "new"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/letter").write_text("dear")
    with pytest.raises(InputError, match="not a web"):
        Writer(tmp_path / "mine", replace=True)
    with pytest.raises(InputError, match="is a file"):
        Writer(tmp_path / "mine/letter")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "w"]


def test_the_same_recordings_give_the_same_bytes(tmp_path: Path) -> None:
    for name in "12":
        write(tmp_path / name, [recorded(A, A + "b", labels=frozenset("xyz")), recorded(A + "b")])
    for path in sorted((tmp_path / "1").iterdir()):
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()


@pytest.mark.parametrize(
    "name",
    ["words.bin", "anchors.bin", "links.npy", "rows.npy", "urls.txt", "web.json", "labels.npy"],
)
@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_damaged_folder_is_told_when_it_is_opened(small: Path, name: str, how: str) -> None:
    file = small / name
    data = file.read_bytes()
    file.unlink()
    if how == "cut":
        file.write_bytes(data[:-3])
    with pytest.raises(InputError, match=r"damaged|no recorded web"):
        RecordedWorld(small)


def test_a_later_format_is_told(small: Path) -> None:
    header = json.loads((small / "web.json").read_text())
    (small / "web.json").write_text(json.dumps(header | {"format": 99}))
    with pytest.raises(InputError, match="format 99"):
        RecordedWorld(small)


def read(world: RecordedWorld) -> list[tuple[str, str, list[Link]]]:
    return [(page.title, page.text, list(page.links)) for page in world.pages()]


def test_a_web_of_format_1_with_all_its_records_packed_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [
        recorded(A, A + "b", A + "c", title="Ä", text="a few words"),
        recorded(A + "b", A, text="many words " * 1_000, extra={"note": "ü"}),
        Recording(A + "c", Failed(0, "absent", "gone", 410)),
    ]
    write(tmp_path / "now", pages)
    monkeypatch.setattr(store_rows, "_SMALL", 0)

    def words_of(page: Page) -> bytes:
        said = (page.title, page.description, page.canonical or "", page.text, *page.headings)
        return store_rows._join(said)

    monkeypatch.setattr(store_rows, "_words_of", words_of)
    write(tmp_path / "before", pages)
    header = json.loads((tmp_path / "before" / "web.json").read_text())
    (tmp_path / "before" / "web.json").write_text(json.dumps(header | {"format": 1}))

    now, before = RecordedWorld(tmp_path / "now"), RecordedWorld(tmp_path / "before")
    sizes = [(tmp_path / name / "words.bin").stat().st_size for name in ("now", "before")]
    assert sizes[0] != sizes[1]
    assert read(now) == read(before)
    assert ask(now, A + "c") == ask(before, A + "c") == Failed(7, "absent", "gone", 410)
    assert now.extra(A + "b") == before.extra(A + "b") == {"note": "ü"}


@given(st.text(max_size=5_000).map(str.encode) | st.integers(1_990, 2_010).map(bytes))
def test_a_record_comes_back_whether_it_is_packed_or_not(data: bytes) -> None:
    assert [*map(restored, store_rows._stored(data, b"few"))] == [data, b"few"]
