"""What is below two folders alike is asked for once: versions of a manual, languages into which
nobody put it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.crawl import Crawl
from spoor.errors import DAMAGED
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.mirrored_folders import CHECKED, Folders, MirroredFolders
from spoor.link_filter.novelty import Novelty
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.policies.breadth_first import BreadthFirst
from spoor.simulation.replay import Replay
from spoor.types import Fetch, Fetched, HeldLink, Link, Page, Task
from spoor.web.page import parse

HOME = "http://a.example/"
WORDS = np.random.default_rng(5).integers(97, 117, (20_000, 8), dtype=np.uint8)
CHAPTERS = 40


def words(number: int, count: int = 90) -> str:
    at = number * count % (len(WORDS) - count)
    return " ".join(bytes(word).decode() for word in WORDS[at : at + count])


def page(path: str, text: str, title: str = "", canonical: str | None = None) -> Page:
    name = title or f"Chapter {path.rpartition('/')[2]}"
    link = f'<link rel="canonical" href="{HOME}{canonical}">' if canonical is not None else ""
    return parse(f"{link}<title>{name}</title><h1>{name}</h1>{text}".encode(), HOME + path)


class Mirrors(MirroredFolders):
    """That read pages by themselves."""

    def __init__(self) -> None:
        super().__init__()
        self.novelty = Novelty()

    def read(self, path: str, number: int, title: str = "", canonical: str | None = None) -> object:
        return self.take(page(path, words(number), title, canonical))

    def take(self, one: Page) -> object:
        self.novelty.page("a.example", one.url, one.text)
        assert self.novelty.last is not None
        return self.page(one, self.novelty.last)

    def others(self) -> Mirrors:
        """After pages that tell what the frame is."""
        for at in range(8):
            self.read(f"other{at}", 100 + at)
        return self


def learned(one: str, other: str, copies: int = 3) -> Mirrors:
    mirrors = Mirrors().others()
    for folder in (one, other):
        for at in range(copies):
            mirrors.read(f"{folder}c{'abcdefghijklmnop'[at]}", at)
    return mirrors


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("en/5.0/", "en/4.2/"),
        ("docs/", "docs/next/"),
        ("", "fr/"),
        ("manual/2/", "manual/3/"),
    ],
)
def test_a_page_waits_whose_twin_was_fetched(one: str, other: str) -> None:
    mirrors = learned(one, other)
    mirrors.read(f"{one}later", 50)
    assert mirrors.copy_of(f"{HOME}{other}later") == Folders(HOME + other, HOME + one)
    assert mirrors.copy_of(f"{HOME}{other}unknown") is None
    assert mirrors.copy_of(f"{HOME}{one}unknown") is None
    assert mirrors.copy_of(f"http://b.example/{other}later") is None


def test_two_copies_say_nothing() -> None:
    mirrors = learned("en/5.0/", "en/4.2/", copies=2)
    mirrors.read("en/5.0/later", 50)
    assert not mirrors
    assert mirrors.copy_of(f"{HOME}en/4.2/later") is None


def test_pages_by_other_names_are_no_copies() -> None:
    """What a manual says of a method of two classes is the same, and these are two."""
    mirrors = Mirrors().others()
    for name in ("Map", "Set"):
        for at in range(6):
            mirrors.read(f"api/{name}/m{'abcdef'[at]}", at, title=f"{name}.m{'abcdef'[at]}")
    assert not mirrors


def test_a_number_in_a_title_makes_no_difference() -> None:
    mirrors = Mirrors().others()
    for version in ("1.4", "2.0"):
        for at in range(3):
            mirrors.read(f"en/{version}/c{'abc'[at]}", at, title=f"Pooling, Library {version}")
    assert mirrors


def table(at: int, year: int) -> str:
    """Rows with numbers of that year."""
    figures = np.random.default_rng([year, at]).integers(100, 10_000, 90).tolist()
    rows = words(at, 30).split()
    return " ".join(f"{row} {figures[3 * n : 3 * n + 3]}" for n, row in enumerate(rows))


@pytest.mark.parametrize("text", ["", "the same of each year "])
@pytest.mark.parametrize("rows", ["own", "of all"])
def test_tables_of_two_years_are_no_copies(text: str, rows: str) -> None:
    mirrors = Mirrors().others()
    for year in range(2019, 2024):
        for at in range(6):
            about = words(40 + at, 40) if text else ""
            name = f"Team {'abcdef'[at]} in {year}"
            its = table(at if rows == "own" else 7, 10 * year + at)
            mirrors.take(page(f"{year}/{'abcdef'[at]}", about + its, name))
    assert not mirrors


def test_the_same_tables_are_copies() -> None:
    mirrors = Mirrors().others()
    for version in ("1", "2"):
        for at in range(4):
            name = f"Part {'abcd'[at]}, edition {version}"
            mirrors.take(page(f"{version}/{'abcd'[at]}", table(at, 2020), name))
    assert mirrors


def test_a_row_of_the_same_words_is_one() -> None:
    mirrors = Mirrors().others()
    for folder in ("a", "b"):
        for at in range(4):
            own = words(20 + at + 10 * (folder == "b"), 20)
            mirrors.take(page(f"{folder}/{'cdef'[at]}", own + " none" * 400))
    assert not mirrors


@pytest.mark.parametrize(("one", "other"), [("~ann/", "~bob/"), ("~ann/", ""), ("a/~b/", "a/~c/")])
def test_folders_of_two_owners_are_not_compared(one: str, other: str) -> None:
    assert not learned(one, other)
    assert learned(f"{one}en/", f"{one}de/")


def test_a_page_that_names_its_twin_is_a_copy() -> None:
    mirrors = Mirrors()
    for at in "abc":
        mirrors.read(f"docs/1.0/{at}", ord(at), canonical=f"docs/{at}")
    mirrors.read("docs/later", 50)
    assert mirrors.copy_of(f"{HOME}docs/1.0/later") == Folders(f"{HOME}docs/1.0/", f"{HOME}docs/")
    mirrors.read("docs/1.0/new", 51)
    assert mirrors.copy_of(f"{HOME}docs/new") is None


@pytest.mark.parametrize("canonical", ["", "docs/", "other/a", "http://b.example/docs/a"])
def test_a_canonical_url_that_is_no_twin_says_nothing(canonical: str) -> None:
    mirrors = Mirrors()
    for at in range(6):
        mirrors.read(f"docs/1.0/{'abcdef'[at]}", at, canonical=canonical)
    assert not mirrors


def test_what_names_a_twin_and_differs_does_not_wait() -> None:
    mirrors = Mirrors().others()
    for at in range(6):
        mirrors.read(f"good/{'abcdef'[at]}", at)
        mirrors.read(f"bad/{'abcdef'[at]}", 200 + at, canonical=f"good/{'abcdef'[at]}")
    mirrors.read("good/later", 50)
    mirrors.read("bad/new", 51)
    assert mirrors.copy_of(f"{HOME}bad/later") is None
    assert mirrors.copy_of(f"{HOME}good/new") is None


def test_what_was_long_the_same_is_found_out() -> None:
    mirrors = learned("de/", "en/", copies=16)
    for at in range(400):
        mirrors.read(f"en/p{at}", 200 + at)
    for at in range(400):
        if mirrors.waits(f"{HOME}de/p{at}") is None:
            mirrors.read(f"de/p{at}", 700 + at)
        if not mirrors:
            break
    assert at < 120


def test_where_a_language_and_a_version_differ() -> None:
    mirrors = learned("docs/", "docs/next/")
    for at in "abc":
        mirrors.read(f"fr/docs/c{at}", ord(at) - 97)
    mirrors.read("docs/later", 50)
    assert mirrors.copy_of(f"{HOME}fr/docs/next/later") is not None
    mirrors.read("fr/docs/next/later", 50)
    folders = {name for one, other, *_ in mirrors.save()["pairs"] for name in (one, other)}
    assert folders <= {HOME + name for name in ("", "docs/", "docs/next/", "fr/", "fr/docs/")}


def test_a_third_folder_in_the_same_place_takes_one_copy() -> None:
    mirrors = learned("docs/", "docs/next/")
    mirrors.read("docs/1.0/ca", 0)
    mirrors.read("docs/later", 50)
    assert mirrors.copy_of(f"{HOME}docs/1.0/later") is not None
    mirrors.read("docs/1.0/cb", 300)
    assert mirrors.copy_of(f"{HOME}docs/1.0/later") is None


def test_one_in_eight_is_asked_for_and_ends_it_where_it_differs() -> None:
    mirrors = learned("de/", "en/")
    for at in range(160):
        mirrors.read(f"en/p{at}", 200 + at)
    passed = [at for at in range(160) if mirrors.waits(f"{HOME}de/p{at}") is None]
    assert 160 / CHECKED / 2 < len(passed) < 160 / CHECKED * 2
    assert passed == [at for at in passed if mirrors.waits(f"{HOME}de/p{at}") is None]
    ended = mirrors.read(f"de/p{passed[0]}", 600)
    assert ended
    assert not mirrors


def test_a_folder_below_decides_for_itself() -> None:
    mirrors = learned("1/", "2/", copies=14)
    ended = []
    for at in range(3):
        mirrors.read(f"1/changes/{'abc'[at]}", 300 + at)
        ended.append(mirrors.read(f"2/changes/{'abc'[at]}", 400 + at))
    mirrors.read("1/changes/later", 500)
    mirrors.read("1/later", 501)
    assert mirrors.copy_of(f"{HOME}2/changes/later") is None
    assert mirrors.copy_of(f"{HOME}2/later") is not None
    assert ended == [False, False, True]


PATHS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "1.0", "2.0", ""]), st.integers(0, 3)),
    min_size=1,
    max_size=4,
)


@settings(max_examples=50)
@given(st.lists(st.tuples(PATHS, st.integers(0, 2)), max_size=40))
def test_a_saved_state_goes_on_the_same(pages: list[tuple[list[tuple[str, int]], int]]) -> None:
    first, second = Mirrors().others(), Mirrors()
    paths = ["/".join(name for name, _ in steps) for steps, _ in pages]
    for path, (_, text) in zip(paths, pages, strict=True):
        first.read(path, text, title="same")
    second.load(unpack(pack(first.save())))
    second.novelty = first.novelty
    for path in paths:
        assert first.waits(HOME + path) == second.waits(HOME + path)
        one = page(path, words(1), "same")
        own = first.novelty.last
        assert own is not None
        assert first.page(one, own) == second.page(one, own)
    assert pack(first.save()) == pack(second.save())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("names", np.zeros(12, np.int64)),
        ("lengths", []),
        ("sketches", np.zeros((2, 8), np.uint32)),
        ("sketches", np.array(["a"])),
        ("fetched", np.array([-1])),
        ("pages", [1]),
        ("pairs", [["a"]]),
        ("pairs", [["a", "b", "c", 1, 1, 1, 1]]),
        ("pairs", [[HOME, HOME, 4.5, 1, 1, 1, 1]]),
        ("pairs", []),
        ("mirrored", [[HOME, f"{HOME}other/"]]),
        ("mirrored", [[1, 2]]),
    ],
)
def test_a_damaged_state_is_told_when_it_is_read(name: str, value: object) -> None:
    state = learned("de/", "en/").save()
    with pytest.raises(DAMAGED):
        MirroredFolders().load({**state, name: value})


class Manual:
    """A manual in three versions, each page of which leads to the next and to other versions."""

    def __init__(self, translated: bool = False) -> None:
        self.asked: list[str] = []
        self.translated = translated

    def answer(self, fetch: Fetch) -> Fetched:
        path = fetch.url.removeprefix(HOME)
        self.asked.append(path)
        if not path:
            links = "".join(f'<a href="/en/{one}/c0">{one}</a>' for one in (1, 2, 3))
            return Fetched(fetch.ticket, parse(f"<title>Manual</title>{links}".encode(), HOME))
        _, version, name = path.split("/")
        at = int(name[1:])
        others = "".join(f'<a href="/en/{one}/{name}">{one}</a>' for one in (1, 2, 3))
        following = f'<a href="/en/{version}/c{(at + 1) % CHAPTERS}">next</a>'
        text = words(at + CHAPTERS * int(version) * self.translated)
        return Fetched(fetch.ticket, page(path, text + others + following))


def crawled(manual: Manual, pages: int, traps: Traps | None = None) -> Crawl:
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    guard = CrawlFilter(Scope(), traps=traps or Traps())
    crawl = Crawl(policy, Keywords("kiln"), MemoryFrontier(), pages=pages, link_filter=guard)
    crawl.seed([HOME])
    for _ in Replay(crawl, manual):
        pass
    return crawl


def test_a_manual_is_read_once_and_its_versions_in_the_end() -> None:
    manual, traps = Manual(), Traps()
    crawled(manual, 60, traps)
    chapters = {path.rpartition("/")[2] for path in manual.asked if path}
    assert len(chapters) == CHAPTERS
    held = [group for group in traps.held_groups() if ": copies of /en/" in group.name]
    assert {group.why for group in held} == {"asked for last"}
    assert "held back: a.example/en/" in CrawlFilter(Scope(), traps=traps).explained(
        next(f"{HOME}en/{one}/c39" for one in (1, 2, 3) if f"en/{one}/c39" not in manual.asked)
    )


def test_what_waits_on_a_way_through_folders_that_differ_is_asked_for_again() -> None:
    """And what is still a copy waits once more."""
    traps = Traps()

    def read(path: str, number: int) -> None:
        traps.ended(page(path, words(number)), relevant=False)

    for at in range(8):
        read(f"other{at}", 100 + at)
    for version in "12":
        for at, name in enumerate("abcdefghijklmn"):
            read(f"{version}/c{name}", at)
    for at, name in enumerate("abcd"):
        read(f"1/changes/{name}", 300 + at)
    read("1/later", 50)
    for url in (f"{HOME}2/changes/d", f"{HOME}2/later"):
        traps.hold(traps.passes(url), HeldLink(Link(url), 0, 0.0, 1, True))
    for at, name in enumerate("abc"):
        read(f"2/changes/{name}", 400 + at)
    freed = [held.link.url for held in traps.release(over=False)]
    assert freed == [f"{HOME}2/changes/d"]


def test_what_differs_in_each_folder_is_all_read() -> None:
    manual = Manual(translated=True)
    crawled(manual, 500)
    assert len({*manual.asked}) == 3 * CHAPTERS + 1
