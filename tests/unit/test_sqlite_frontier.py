"""The file of a frontier on disk: what a save writes, what an opening finds, what is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.errors import InputError, PausedError
from spoor.frontier import sqlite
from spoor.frontier.frontier_file import FORMAT
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.judges.keywords import Keywords
from spoor.policies.breadth_first import BreadthFirst
from spoor.types import NO_PARENT, Anchor, Fetch, Fetched, Link, Page, State, Task


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "frontier.db"


@pytest.fixture
def frontier(file: Path) -> Iterator[SqliteFrontier]:
    made = SqliteFrontier(file, buffer=50)
    yield made
    made.close()


def links(first: int, end: int, hosts: int = 7) -> list[Link]:
    return [
        Link(f"http://h{at % hosts}.example/page/{at}", Anchor(f"page {at}", headings=("a", "b")))
        for at in range(first, end)
    ]


def opened(file: Path, state: State) -> SqliteFrontier:
    made = SqliteFrontier(file, buffer=50)
    made.load(state)
    return made


def rows(file: Path, query: str) -> int:
    db = sqlite3.connect(file)
    try:
        count: int = db.execute(query).fetchone()[0]
    finally:
        db.close()
    return count


def test_what_came_after_the_last_save_was_never_there(
    frontier: SqliteFrontier, file: Path
) -> None:
    frontier.add(links(0, 200), NO_PARENT, 0.0, 0)
    frontier.take(3, 0.0)
    state = frontier.save()
    frontier.add(links(200, 500), 3, 1.0, 1)
    frontier.redirect(3, "http://elsewhere.example/", 1.0)
    assert rows(file, "SELECT count(*) FROM links") > 200
    # As after kill -9: nothing is closed or saved.
    again = opened(file, state)
    assert again.open_count == 199
    assert again.find("http://h0.example/page/210") is None
    assert again.url(3) == "http://h3.example/page/3"
    seen = again.add(links(300, 420), 3, 0.5, 1)
    assert list(seen.links) == list(range(200, 320))
    assert all(seen.first)
    assert again.url(250) == "http://h0.example/page/350"
    assert [one.anchor.text for one in again.in_links(250)] == ["page 350"]
    assert again.path(250) == [3, 250]
    again.close()


def test_rows_that_were_read_are_of_the_state_that_is_loaded(frontier: SqliteFrontier) -> None:
    frontier.add(links(0, 200), NO_PARENT, 0.0, 0)
    state = frontier.save()
    frontier.add(links(200, 300), 3, 1.0, 1)
    assert frontier.path(250) == [3, 250]
    frontier.load(state)
    frontier.add(links(300, 400), 4, 1.0, 1)
    assert frontier.path(250) == [4, 250]
    assert frontier.url(250) == "http://h0.example/page/350"


def test_few_of_the_rows_that_were_read_are_kept(
    frontier: SqliteFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_ROWS", 5)
    frontier.add(links(0, 200), NO_PARENT, 0.0, 0)
    frontier.save()
    assert [frontier.url(link) for link in range(200)] == [link.url for link in links(0, 200)]
    assert list(frontier._rows) == [195, 196, 197, 198, 199]


def test_states_can_be_loaded_until_they_are_forgotten(
    frontier: SqliteFrontier, file: Path
) -> None:
    states = []
    for at in range(4):
        frontier.add(links(100 * at, 100 * at + 100), NO_PARENT, 0.0, 0)
        if at:
            frontier.take(at, 0.0)
            frontier.settle(at, 1.0)
        states.append(frontier.save())
        assert frontier.save() == states[-1], "unchanged, it is the same"
    assert all(frontier.holds(state) for state in states)
    for at in (1, 3):
        copy = file.with_name(f"copy{at}.db")
        copy.write_bytes(file.read_bytes())
        again = opened(copy, states[at])
        assert again.open_count == 100 * (at + 1) - at
        assert [one.anchor.text for one in again.in_links(at + 1)] == [f"page {at + 1}"]
        assert again.save() == states[at]
        again.close()
    frontier.forget(but=states[2:])
    assert [frontier.holds(state) for state in states] == [False, False, True, True]
    # Links 1 and 2 are done with in both that are left, 3 only in the newer one.
    assert rows(file, "SELECT count(*) FROM in_links WHERE link < 4") == 2
    for state, left in ((states[2], 298), (states[3], 397)):
        again = opened(file, state)
        assert again.open_count == left
        draws = again.offer(2.0).draw(np.random.default_rng(0), left)
        assert sorted(draws) == list(again.open())
        again.close()
    with pytest.raises(InputError, match=r"frontier\.db is damaged \(it does not hold"):
        opened(file, states[0])


def test_a_link_that_comes_back_keeps_what_is_seen_of_it_since(
    frontier: SqliteFrontier, file: Path
) -> None:
    frontier.add(links(0, 100), NO_PARENT, 0.0, 0)
    frontier.save()
    frontier.drop(5)
    states = [frontier.save()]
    frontier.reopen(5)
    frontier.add([Link("http://h5.example/page/5", Anchor("again"))], 7, 0.5, 3)
    states.append(frontier.save())
    frontier.forget(but=states)
    frontier.drop(6)
    again = opened(file, frontier.save())
    assert [one.anchor.text for one in again.in_links(5)] == ["again"]
    assert [one.anchor.text for one in frontier.in_links(5)] == ["again"]
    again.close()


@pytest.mark.long
def test_a_save_writes_what_changed(frontier: SqliteFrontier, file: Path) -> None:
    frontier.add(links(0, 60_000, hosts=500), NO_PARENT, 0.0, 0)
    frontier.save()
    before = rows(file, "SELECT count(*) FROM chunks")
    for link in (5, 30_000, 59_999):
        frontier.take(link, 0.0)
        frontier.settle(link, 1.0)
    frontier.save()
    assert before > 50
    # Three links in seven arrays, and the last ones, which took their places.
    assert rows(file, "SELECT count(*) FROM chunks") - before < 25
    frontier.forget(but=[frontier.saved()])
    assert rows(file, "SELECT count(*) FROM chunks") == before


def test_it_takes_over_a_frontier_in_memory(file: Path) -> None:
    memory = MemoryFrontier(delay=2.0, per_host=1)
    memory.add(links(0, 30), NO_PARENT, 0.0, 0)
    memory.add(links(10, 40), 0, 1.0, 1)
    for link in (0, 1, 2):
        memory.take(link, 0.0)
    memory.settle(0, 1.0, retry_at=7.0)
    memory.redirect(1, "http://h2.example/page/9", 1.0)  # known and open
    memory.redirect(2, "http://new.example/", 1.0)
    memory.pace("h5.example", 9.0)
    disk = SqliteFrontier(file, delay=2.0, per_host=1)
    disk.load(memory.save())
    again = SqliteFrontier(file, delay=2.0, per_host=1)
    again.load(disk.save())
    for other in (disk, again):
        assert [other.url(link) for link in range(41 - 1)] == [
            memory.url(link) for link in range(40)
        ]
        assert list(other.open()) == list(memory.open())
        assert sorted(other.done()) == sorted(memory.done())
        for url in ("http://h2.example/page/9", "http://h1.example/page/1", "http://new.example/"):
            assert other.find(url) == memory.find(url)
        for link in range(40):
            assert other.in_links(link) == memory.in_links(link)
            assert other.path(link) == memory.path(link)
        assert other.delay("h5.example") == 9.0
        assert [other.due(at) for at in (3.0, 3.0, 7.0)] == [1, 2, 0]
        other.close()


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda file: file.write_text("no database at all, but long enough" * 200), "is damaged"),
        (lambda file: file.write_bytes(file.read_bytes()[:-9000]), "is damaged"),
        (
            lambda file: version(file, FORMAT + 1),
            f"format {FORMAT + 1}; this Spoor writes {FORMAT}",
        ),
        (lambda file: file.unlink(), "does not hold the frontier of the last checkpoint"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(file: Path, spoil: object, told: str) -> None:
    frontier = SqliteFrontier(file)
    frontier.add(links(0, 3000), NO_PARENT, 0.0, 0)
    state = frontier.save()
    frontier.close()
    assert callable(spoil)
    spoil(file)
    with pytest.raises(InputError, match=rf"frontier\.db .*{told}") as caught:
        opened(file, state)
    assert "\n" not in str(caught.value)


def version(file: Path, number: int) -> None:
    db = sqlite3.connect(file)
    db.execute(f"PRAGMA user_version = {number}")
    db.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write .*frontier\.db"):
        SqliteFrontier(tmp_path / "missing" / "frontier.db")


def test_a_full_disk_pauses_and_nothing_saved_is_lost(frontier: SqliteFrontier, file: Path) -> None:
    frontier.add(links(0, 100), NO_PARENT, 0.0, 0)
    state = frontier.save()
    frontier._file._db.execute("PRAGMA max_page_count = 1")  # SQLite raises it to what the file has
    with pytest.raises(PausedError, match=r"paused: cannot write .*make room"):
        frontier.add(links(100, 9000), NO_PARENT, 0.0, 0)
    again = opened(file, state)
    assert again.open_count == 100
    again.close()


def test_a_url_that_is_not_what_was_written_is_told(frontier: SqliteFrontier, file: Path) -> None:
    frontier.add(links(0, 10), NO_PARENT, 0.0, 0)
    state = frontier.save()
    frontier.close()
    db = sqlite3.connect(file)
    db.execute("UPDATE links SET url = 'http://evil.example/' WHERE link = 4")
    db.commit()
    db.close()
    again = opened(file, state)
    with pytest.raises(InputError, match="the URL of link 4 is another"):
        again.take(4, 0.0)
    again.close()


@pytest.mark.parametrize(
    "program",
    [
        "CREATE TRIGGER t AFTER INSERT ON links BEGIN DELETE FROM links; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE more (x DEFAULT (randomblob(1)))",
    ],
)
def test_a_file_holds_no_program(frontier: SqliteFrontier, file: Path, program: str) -> None:
    frontier.save()
    frontier.close()
    with closing(sqlite3.connect(file)) as db:
        db.execute(program)
    with pytest.raises(InputError, match="which no run makes"):
        SqliteFrontier(file)


def test_a_crawl_goes_on_with_a_frontier_that_takes_the_place_of_its_own(tmp_path: Path) -> None:
    policy = BreadthFirst(Task(np.random.default_rng(0)))
    crawl = Crawl(policy, Keywords(["kiln"]), MemoryFrontier())
    crawl.seed(["http://a.example/"])
    first = crawl.next(0.0)
    assert isinstance(first, Fetch)
    new = SqliteFrontier(tmp_path / "frontier.db")
    with closing(new):
        new.load(crawl.frontier.save())
        crawl.frontier = new
        page = Page(first.url, links=(Link("http://a.example/1"), Link("http://a.example/2")))
        crawl.receive(Fetched(first.ticket, page), 0.0)
        assert new.open_count == 2
        assert isinstance(crawl.next(1.0), Fetch)
