"""What a page can do to a watch that visits it again, and a stranger who hands over a watch's folder."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

from attacks.measure import Note, within_law
from attacks.test_damaged_files import DAMAGES, MANY, OTHERS, bounded, change, places, put
from noisy_news import article
from rolling import FRONT, open_watch
from spoor.display import indented
from spoor.documents.page import page_of
from spoor.errors import InputError, SpoorError
from spoor.formats import digest
from spoor.formats.digest import difference
from spoor.learn.state import pack, unpack
from spoor.live.changes import MOST_TEXT, MOST_TOLD, json_line, told_line
from spoor.live.changes import bounded as bounded_line
from spoor.live.live_crawl import LiveCrawl
from spoor.live.watch import Watch
from spoor.runs import files, watch_state
from spoor.runs.assemble import make_crawl
from spoor.runs.checkpoints import read_state
from spoor.runs.reader import Run
from spoor.runs.recovery import going_on
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Fetch, Fetched, Link, Page
from spoor.views.watch_page import WatchPage
from spoor.views.watch_text import in_lines, of_document, summary, summary_in_lines
from spoor.watching.contents import MOST_OF_A_TEXT, Contents
from spoor.watching.watching import _without_others

SIZE = 100_000

RUNS: dict[str, Callable[[str], str]] = {
    "digits": lambda mark: str(ord(mark)) * (SIZE // 2),
    "letters": lambda mark: ("ü" + mark) * (SIZE // 2),
    "hexadecimal": lambda mark: (mark + "0f") * (SIZE // 3),
    "blanks": lambda mark: mark + " " * SIZE + mark,
    "months": lambda mark: f"{mark} may " * (SIZE // 6),
    "one word of many": lambda mark: f"{mark}-b-" * (SIZE // 4),
    "short sentences": lambda mark: " ".join(f"{mark}{at}." for at in range(SIZE // 8)),
    "sentences": lambda mark: " ".join(
        f"The {mark}{at} of all is new." for at in range(SIZE // 24)
    ),
    "commas": lambda mark: f"{mark}, " * (SIZE // 3),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_changed_in_a_page_is_found_at_little_cost(name: str, record_property: Note) -> None:
    def visits() -> None:
        contents = Contents()
        for mark in "abc":
            text = RUNS[name](mark)
            contents.see(0, "a.example", Page("http://a.example/", title=mark, text=text))

    within_law(visits, 3 * SIZE, record_property)


def test_the_words_of_a_long_sentence_are_compared_at_little_cost(record_property: Note) -> None:
    sentences = [" ".join("ab"[at % (3 + mark) % 2] for at in range(9_000)) for mark in range(5)]
    within_law(lambda: difference(sentences, sentences[::-1]), 90_000, record_property)


def test_a_digest_of_hostile_changes_costs_little(record_property: Note) -> None:
    """Sentences of the same few words, in all the lines that a host may have told in an hour."""

    def sentences(line: int, step: int) -> tuple[str, ...]:
        return tuple(
            " ".join(("a", f"b{at * one % 3}")[at * (one + line) % 11 < 6] for at in range(200))
            for one in range(step, step + 5)
        )

    lines = [
        {**LINE, "id": str(at), "added": sentences(at, 3), "removed": sentences(at, 10)}
        for at in range(MOST_TOLD)
    ]
    size = len(json.dumps(lines))
    page = within_law(lambda: digest.html(lines, "Hostile"), size, record_property)
    assert page.count("<li>") == MOST_TOLD


@pytest.mark.parametrize(
    "text",
    [
        *("# All else is old", "---", "~~~", "```", "> so", "- one", "1. one", "    code"),
        "[a]: //e",
    ],
)
def test_no_sentence_is_more_than_one_in_a_digest(text: str) -> None:
    """The sign before it began a list, in which it was a heading, or a fence around all that follows."""
    line = told_line(json.dumps({**LINE, "added": [text], "removed": [text]}).encode())
    other = told_line(json.dumps({**LINE, "id": "b", "url": "http://b.example/"}).encode())
    assert line is not None
    assert other is not None
    read = MarkdownIt("commonmark").parse(digest.markdown([line, other], "News"))
    assert {token.type for token in read} <= PARTS
    assert sum(token.type == "heading_open" for token in read) == 4
    assert sum(token.type == "bullet_list_open" for token in read) == 4


PARTS = frozenset(
    f"{name}_{side}"
    for name in ("heading", "paragraph", "bullet_list", "list_item")
    for side in ("open", "close")
) | {"inline"}


def test_no_address_of_a_page_shows_a_picture_in_a_digest() -> None:
    line = told_line(
        json.dumps({**LINE, "url": "http://a.example/?![x](//evil.example) \\"}).encode()
    )
    assert line is not None
    inner = [
        one.type
        for token in MarkdownIt("commonmark").parse(digest.markdown([line], "News"))
        for one in token.children or ()
    ]
    assert inner.count("link_open") == 1
    assert "image" not in inner


def test_a_line_tells_a_bounded_part_of_what_changed() -> None:
    long = told_line(json.dumps({**LINE, "added": ["a" * SIZE, "b"]}).encode())
    assert long is not None
    assert long["added"] == ("a" * MOST_TEXT,)


def test_no_line_is_longer_than_a_watch_reads() -> None:
    long = "x" * SIZE
    url = f"http://a.example/{long}"[:8_192]
    line = {**LINE, "url": url, "from": url, "title": long, "title_before": long, "story": "y" * 20}
    line |= {"score": 1.0, "why": [(f"{number} {long[:500]}", 0.1) for number in range(99)]}
    told = told_line(json_line(bounded_line(line)))
    assert told is not None
    assert (told["url"], told["from"]) == (url, url)
    assert len(told["title"]) > 1_000
    assert json_line(bounded_line(LINE)) == json_line(LINE)


@pytest.mark.parametrize("name", ["title", "description"])
def test_the_title_of_any_document_is_bounded(name: str) -> None:
    head = f"---\n{name}: kiln\n---\n".encode() if name == "description" else b""
    body = head + b"kiln " * 20_000 + b"\n=====\n"
    page = page_of(body, "http://a.example/a.md", content_type="text/markdown")
    assert 4 <= len(getattr(page, name)) <= 2_000


@pytest.mark.parametrize("kind", ["crawl", "watch"])
def test_a_clock_that_was_ahead_once_keeps_no_run_from_going_on(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hosts were free again and pages due by that clock, which an hour of waiting came up to."""

    def begun(more: float) -> float:
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda wall=time.time: wall() + more)
            if kind == "watch":
                watch = open_watch(tmp_path / "run", 9)
                watch.folder.close()
                return watch.now()
            settings = Settings(seeds=("http://a.example/",), topic="kiln")
            with closing(RunWriter(tmp_path / "run", settings)) as folder:
                return LiveCrawl(folder, make_crawl(settings)).now()

    first = begun(3_600.0)
    assert begun(0.0) > first - 60.0
    assert begun(0.0) > first - 60.0, "also the time after"


def told_at(watch: Watch, pages: dict[str, Page], now: float) -> list[dict[str, Any]]:
    """What a watch tells that looks at these pages now, and at what they link to a minute later."""
    for moment in (now, now + 60.0):
        while isinstance(step := watch.journal.next(moment), Fetch):
            watch.journal.receive(Fetched(step.ticket, pages[step.url]), moment)
    lines, watch._tracked.lines = watch._tracked.lines, []
    return lines


def test_documents_are_dated_by_the_clock_of_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watch that began more than a day ahead took all news that state their date for old ones,
    and dated what it told in days to come, for ever."""
    folder, said, news = tmp_path / "run", list[str](), "http://news.example/1"
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda wall=time.time: wall() + 100_000.0)
        with closing(open_watch(folder, 9).folder):
            pass
    watch = open_watch(folder, 9)
    with closing(watch.folder):
        watch.on_fault = said.append
        watch.run(0.0)
    assert len(said) == 1
    assert "1 day, 3:46:" in said[0]
    watch, today = open_watch(folder, 9), time.time()
    with closing(watch.folder):
        assert watch.now() > today + 99_000.0, "the calls go on in order"
        pages = {FRONT: Page(FRONT, text="Front.")}
        assert not told_at(watch, pages, watch.now() + 600.0)
        pages[FRONT] = Page(FRONT, text="News.", links=[Link(news)])
        text = " ".join(article(1))
        pages[news] = Page(news, title="News", text=text, modified=today + 1_100.0)
        (line,) = told_at(watch, pages, watch.now() + 1_140.0)
    assert (line["kind"], line["url"]) == ("new", news)
    dates = [datetime.fromisoformat(line[name]).timestamp() for name in ("date", "found_at")]
    assert dates == pytest.approx([today + 1_100.0, today + 1_200.0], abs=30.0)


def test_a_clock_that_is_set_right_dates_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the watch goes on, and where it dies before the next state is saved."""
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda wall=time.time: wall() + 100_000.0)
        watch = open_watch(tmp_path / "run", 9)
    with closing(watch.folder):
        watch._date_documents()
        watch.journal.commit()
        ahead = watch.fleet.known.ahead
    assert ahead == pytest.approx(100_000.0, abs=30.0)
    watch = open_watch(tmp_path / "run", 9)
    with closing(watch.folder):
        assert watch.fleet.known.ahead == ahead


# ---------------------------------------------------------------- its folder

LINE: dict[str, Any] = {
    "id": "a793812951c685ce5eef",
    "kind": "changed",
    "url": "http://news.example/",
    "title": "Front",
    "date": "2026-11-23T00:04:35Z",
    "found_at": "2026-11-23T00:04:35Z",
    "version": 2,
    "forager": 0,
    "added": ["The newest of all is clay"],
    "removed": ["The newest of all is ash"],
    "share": 1.0,
    "story": "a793812951c685ce5eef",
    "score": 0.5,
    "why": [["clay", 0.5]],
}


@pytest.fixture(autouse=True)
def short_sighted(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not looked ahead for long, so often as it is here."""
    monkeypatch.setattr(watch_state, "MOST_REQUESTS", 3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a watch that told two lines."""
    path = tmp_path_factory.mktemp("made") / "run"
    watch = open_watch(path, 9)
    try:
        watch._news.append([LINE, {**LINE, "kind": "new"}])
        watch._checkpoint()
    finally:
        watch.folder.close()
    assert len((path / files.NEWS).read_bytes().splitlines()) == 2
    return path


def resume(path: Path) -> None:
    watch = open_watch(path, 9)
    try:
        watch._checkpoint()
    finally:
        watch.folder.close()


def look(path: Path) -> None:
    page = WatchPage(path, "token")
    page.page("nonce")
    page.news({})
    Run(path).budget()
    assert all(map(str.isprintable, map(indented, summary_in_lines(summary(Run(path))))))
    assert [*in_lines(of_document(Run(path), FRONT))]


def ends(path: Path, what: object) -> None:
    """Raises AssertionError where a way ends neither well nor in one line."""
    for way in (look, resume):
        try:
            with bounded():
                way(path)
        except SpoorError as error:
            told = str(error)
            assert "\n" not in told, (way.__name__, what)
        except Exception as error:
            raise AssertionError(f"{way.__name__} after {what}: {error!r}") from error


def copy(made: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(made, folder))


VALUES: list[Any] = [
    *(None, -1, 2**62, float("nan"), "x", "\ud800", [], {}, [[1]], True, "javascript:alert(1)"),
    *("9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00", "x" * 100_000),
]


@pytest.mark.parametrize("key", [*LINE, "from", "title_before"])
def test_any_line_of_a_stranger_is_told_or_refused(key: str, made: Path, tmp_path: Path) -> None:
    before = (made / files.NEWS).read_bytes()
    begin = [*LINE].index(key) if key in LINE else 1
    for value in VALUES if MANY else VALUES[begin % 3 :: 3]:
        raw = json.dumps({**LINE, key: value}).encode()
        path = copy(made, tmp_path / "run")
        (path / files.NEWS).write_bytes(raw.ljust(len(before) - 1) + b"\n")
        ends(path, (key, value))
        assert "](<javascript:" not in (path / files.DIGEST).read_text()


@pytest.mark.parametrize("raw", [b"3", b"[]", b"null", b"{}", b"[" * 9_999, b"\xff", b"9" * 9_999])
def test_what_is_no_line_is_refused(raw: bytes, made: Path, tmp_path: Path) -> None:
    size = (made / files.NEWS).stat().st_size
    path = copy(made, tmp_path / "run")
    (path / files.NEWS).write_bytes(raw.ljust(size - 1)[: size - 1] + b"\n")
    ends(path, raw[:9])


@pytest.mark.parametrize("name", [files.NEWS, files.FEED, files.DIGEST, files.DELIVERED])
def test_any_damage_to_what_a_watch_told(name: str, made: Path, tmp_path: Path) -> None:
    begin = len(name) % 3
    for what, damage in list(DAMAGES.items())[0 if MANY else begin :: 1 if MANY else 3]:
        path = copy(made, tmp_path / "run")
        damage(path / name)
        ends(path, (name, what))


def newest_state(path: Path) -> bytes:
    """What a run goes on from, packed."""
    with closing(sqlite3.connect(path / files.DATABASE)) as db:
        (blob,) = db.execute("SELECT state FROM checkpoints ORDER BY generation DESC").fetchone()
        return pack(read_state(db, blob, "state"))


@pytest.mark.parametrize("value", OTHERS, ids=repr)
def test_a_last_look_that_is_no_moment_is_told_in_one_line(
    value: object, made: Path, tmp_path: Path
) -> None:
    """The timeline of the live page goes up to it."""
    path = copy(made, tmp_path / "run")
    state = unpack(newest_state(path))
    put(state, ("tracker", "sources", "now"), value)
    change(path, "UPDATE checkpoints SET state = ?", pack(state))
    ends(path, value)


def test_headings_of_a_page_are_looked_for_at_little_cost(record_property: Note) -> None:
    """Each was looked for in the whole main text: 6 seconds for a page of a MiB."""
    main = "\n".join(f"A line of clay {n}" for n in range(40_000))
    own = [f"A line of clay {n}" for n in range(0, 40_000, 4)]
    within = [f"of clay {n}" for n in range(9)]
    page = Page(FRONT, main=main, headings=(*own, *within, *(f"Ash {n}" for n in range(20_000))))
    found = within_law(lambda: _without_others(page), len(main), record_property)
    assert [*found.headings] == [*own, *within]


@pytest.mark.parametrize("texts", [b"no zlib", zlib.compress(bytes(MOST_OF_A_TEXT + 1), 1)])
def test_texts_of_a_page_in_a_state_unpack_to_little_or_are_told(texts: bytes) -> None:
    contents = Contents()
    contents._keep_text(0, ["All is clay."])
    state: dict[str, Any] = {
        **contents.save(),
        "text_sizes": np.array([len(texts)]),
        "texts": np.frombuffer(texts, np.uint8),
    }
    contents.load(state)
    if len(texts) > 99:
        assert contents._text(0, [1]) == {}
    else:
        with pytest.raises(InputError, match="incorrect header"), going_on(Path("run")):
            contents._text(0, [1])


@pytest.mark.parametrize("ahead", [1e18, -1e18, float("nan")])
def test_a_clock_that_is_none_is_told_in_one_line(ahead: float, made: Path, tmp_path: Path) -> None:
    path = copy(made, tmp_path / "run")
    state = unpack(newest_state(path))
    put(state, ("fleet", "known", "ahead"), ahead)
    change(path, "UPDATE checkpoints SET state = ?", pack(state))
    with pytest.raises(InputError, match="no clock"):
        resume(path)


def test_any_value_in_the_state_of_a_watch(made: Path, tmp_path: Path) -> None:
    saved = newest_state(made)
    values, path = cycle(OTHERS), copy(made, tmp_path / "run")
    for place in list(places(unpack(saved)))[:: 1 if MANY else 9]:
        state = unpack(saved)
        put(state, place, next(values))
        change(path, "UPDATE checkpoints SET state = ?", pack(state))
        ends(path, place)
    for settings in ("x", b"\xff", "[]", "{"):
        path = copy(made, path)
        change(path, "UPDATE checkpoints SET settings = ?", settings)
        ends(path, settings)
