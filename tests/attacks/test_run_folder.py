"""A run's folder that comes from a stranger, or that was damaged: nothing outside is touched, nothing
is imported, nothing is lost without a word."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import sqlite3
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pytest

from kills import CountedWeb, check_run, open_run, served
from spoor.documents.kinds import Types
from spoor.errors import InputError, SpoorError
from spoor.files import toml_of
from spoor.formats.exporters.csv import cell
from spoor.formats.warc_writer import Place
from spoor.judges import answers
from spoor.learn.state import pack
from spoor.runs import exchanges, files, schema, shards
from spoor.runs.assemble import judge_and_topic
from spoor.runs.checkpoints import read_state
from spoor.runs.database import reading
from spoor.runs.exchanges import read_body
from spoor.runs.export import export_run
from spoor.runs.forget import forget
from spoor.runs.inputs import with_inputs
from spoor.runs.labels import read_labels, write_label
from spoor.runs.lock import BusyError, Lock, is_running
from spoor.runs.pass_costs import MOST_AGAIN, MOST_AGAIN_RATIO
from spoor.runs.reader import Run
from spoor.runs.saved_files import save, saved_name
from spoor.runs.schema import read_settings, write_settings
from spoor.runs.search import _query
from spoor.runs.selection import Selection
from spoor.runs.snapshot import snapshot
from spoor.runs.writer import RunWriter
from spoor.setting import CRAWL, LIMITS, MOST_OF_A_BODY, POLITENESS
from spoor.settings import Settings, described
from spoor.views.html import write_report
from spoor.views.kinds import Kinds


@pytest.fixture(scope="module")
def web() -> Iterator[CountedWeb]:
    with served(40, hosts=2) as counted:
        yield counted


@pytest.fixture(scope="module")
def made(web: CountedWeb, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "run"
    run = open_run(path, web.root, web.port, pages=12)
    run.run()
    run.folder.close()
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A run of its own."""
    return shutil.copytree(made, tmp_path / "run")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file that is no run's."""
    file = tmp_path / "precious"
    file.write_text("precious\n" * 1000)
    return file


def reopened(path: Path) -> RunWriter:
    return RunWriter(path, read_settings(path))


def change(path: Path, statement: str, *values: object) -> None:
    db = sqlite3.connect(path / files.DATABASE)
    with db:
        db.execute(statement, values)
    db.close()


# -- labels


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"url":' * 100_000, b"x" * 200_000, b"\xff"])
def test_a_line_that_is_no_label_is_passed_over(path: Path, line: bytes) -> None:
    page = next(Run(path).pages())
    (path / files.LABELS).write_bytes(line + b"\n")
    Run(path).label(page.url, not page.relevant)
    assert Run(path).labels() == {page.url: not page.relevant}
    assert Run(path).page(page.url).relevant is not page.relevant  # type: ignore[union-attr]


@pytest.mark.parametrize("rest", ['{"url": "http://half', '{"url": "http://a/", "relevant": true}'])
def test_a_label_after_half_a_line_is_kept(tmp_path: Path, rest: str) -> None:
    (tmp_path / files.LABELS).write_text(rest)
    write_label(tmp_path, "http://b/", relevant=True, now=0.0)
    labels, end = read_labels(tmp_path)
    assert labels[-1] == ("http://b/", True)
    assert len(labels) == 1 + rest.endswith("}")
    assert end == (tmp_path / files.LABELS).stat().st_size


def test_the_labels_of_a_shard_are_those_of_its_run(path: Path, tmp_path: Path) -> None:
    (path / files.DATABASE).unlink()
    shard = files.shard(path, 0)
    shard.mkdir()
    write_label(shard, "http://a/", relevant=True, now=0.0)
    assert read_labels(path)[0] == read_labels(shard)[0] == [("http://a/", True)]
    assert not list(shard.iterdir())
    plain = files.shard(tmp_path, 1)
    assert files.labels(plain) == plain / files.LABELS, "its parent is no run"


# -- links and devices

NAMES = [
    *(files.SETTINGS, files.DATABASE, files.LOCK, files.RELEVANT, files.LABELS, files.ANSWERS),
    *(f"{files.DATABASE}-wal", f"{files.DATABASE}-shm", files.COMMITTED, files.FRONTIER),
    *(f"{files.REPORT}.part", f"{files.RELEVANT}.part", f"{files.SETTINGS}.part"),
    *(files.archive(0), files.archive(1), "shard-0"),
]


def every_way(path: Path) -> list[Callable[[], object]]:
    url = "http://a.example/"
    return [
        lambda: reopened(path).close(),
        lambda: Run(path).label(url, relevant=True),
        lambda: Run(path).export(path.parent / "out.jsonl"),
        lambda: write_report(path),
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["link", "pipe", "dangling"])
def test_nothing_follows_a_link_or_waits_for_a_pipe(
    path: Path, outside: Path, name: str, kind: str
) -> None:
    file = path / name
    file.unlink(missing_ok=True)
    missing = path.parent / "missing"
    if kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(outside if kind == "link" else missing)
    before = outside.read_bytes()
    for way in every_way(path):
        with pytest.raises(InputError) as refused:
            way()
        assert "\n" not in str(refused.value)
    assert not is_running(path)
    assert outside.read_bytes() == before
    assert not missing.exists()


@pytest.mark.parametrize(
    "name", ["shard-²", f"shard-{9**99}", "shard-00", "pages-²²²²².warc.gz", "pages-.warc.gz"]
)
def test_a_name_with_other_digits_is_no_part_of_a_run(path: Path, name: str) -> None:
    (path / name).mkdir() if "shard" in name else (path / name).write_bytes(b"")
    for way in every_way(path):
        with suppress(SpoorError):  # of a page that it does not have
            way()
    assert Run(path).pages()
    assert files.shards(path) == []
    assert files.archives(path) == [path / files.archive(0)]


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_document_is_saved_into_no_link_and_no_pipe(
    tmp_path: Path, outside: Path, kind: str
) -> None:
    url, before = "http://a.example/x", outside.read_bytes()
    folder, name = saved_name(url, "text/html")
    part = tmp_path / files.SAVED / folder / f"{name}.part"
    part.parent.mkdir(parents=True)
    part.symlink_to(outside) if kind == "link" else os.mkfifo(part)
    signal.alarm(10)  # a pipe that nobody reads is waited for
    try:
        assert save(tmp_path, url, "text/html", b"<p>clay").read_bytes() == b"<p>clay"
    finally:
        signal.alarm(0)
    assert outside.read_bytes() == before
    assert not part.exists()


def test_a_setting_names_no_device(path: Path) -> None:
    write_settings(path, replace(read_settings(path), topic="", topic_file="/dev/zero"))
    known = snapshot(path)
    assert known is not None
    assert "not a plain file" in known.missing


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a = 1\n" + "#" * files.MOST_BYTES])
def test_settings_are_bounded(path: Path, text: str) -> None:
    (path / files.SETTINGS).write_text(text)
    with pytest.raises(InputError, match="is damaged"):
        Run(path)


def test_long_settings_are_read_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request of `spoor ui` read a run's 150,000 seeds anew: 5 to 15 s."""
    asked: list[str] = []

    def read(text: str) -> dict[str, Any]:
        asked.append(text)
        return toml_of(text)

    monkeypatch.setattr(schema, "toml_of", read)
    seeds = tuple(f"http://h{number}.example/" for number in range(3_000))
    write_settings(path, replace(read_settings(path), seeds=seeds))
    del asked[:]
    assert {read_settings(path).seeds for _ in range(3)} == {seeds}
    assert len(asked) == 1


# -- names and programs in the database


@pytest.mark.parametrize("name", ["../precious", "pages.warc.gz/../../precious", "/etc/passwd"])
def test_the_database_names_files_of_the_archive_only(path: Path, outside: Path, name: str) -> None:
    before = outside.read_bytes()
    change(path, "UPDATE ends SET warc = ?", json.dumps({name: 1}))
    with pytest.raises(InputError, match="names no file of its archive"):
        reopened(path)
    assert outside.read_bytes() == before
    change(path, "UPDATE pages SET warc_file = ?", name)
    for kind in ("jsonl", "warc"):
        with pytest.raises(InputError, match="names no file of its archive"):
            Run(path).export(path.parent / "out", kind, text=True, everything=True)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("path", "[" * 100_000), ("why", "{"), ("why", "[[1, 2]]"), ("time", "noon")),
        *(
            ("time", 1e300),
            ("flags", b"a b"),
            ("warc_length", -1),
            ("url", b"\xff"),
            ("score", None),
        ),
    ],
)
def test_a_row_of_other_types_is_refused_in_one_line(
    path: Path, column: str, value: object
) -> None:
    change(path, f"UPDATE pages SET {column} = ? WHERE seq = 1", value)
    with pytest.raises(InputError, match=r"damaged|cannot be read"):
        Run(path).export(path.parent / "out.jsonl", everything=True)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("time", -1e18), ("status", 1 << 40), ("title", "x" * 5_000), ("flags", "a " * 50_000)),
        *(("path", "[[]" + ",[]" * 400_000 + "]"), ("path", '{"a": 1}'), ("choice_why", "{}")),
        *(("url", f"http://a.example/{'x' * 20_000}"), ("seconds", 1e300), ("seconds", -1e300)),
    ],
)
def test_a_row_without_bounds_is_refused_wherever_it_is_read(
    path: Path, column: str, value: object
) -> None:
    """15 MB of empty lists took 2 GB, a title of 20 MB was printed, and a time of long ago ended in
    a traceback."""
    change(path, f"UPDATE pages SET relevant = 1, {column} = ? WHERE seq = 2", value)
    export = path.parent / "out.parquet"
    for way in (lambda: Run(path).export(export, everything=True), lambda: write_report(path)):
        with pytest.raises(InputError, match="row 2 of the pages is damaged") as refused:
            way()
        assert len(str(refused.value)) < 200


@pytest.mark.parametrize("column", ["warc_file", "warc_offset", "warc_length"])
def test_half_a_place_in_the_archive_is_none(path: Path, column: str) -> None:
    """The report, the live page and a label ended in a traceback."""
    change(path, f"UPDATE pages SET {column} = NULL WHERE seq = 3")
    write_report(path)
    kinds = {kind.name: kind.pages for kind in Kinds(Run(path)).refresh()}
    assert kinds["not archived"] == 1


@pytest.mark.parametrize("form", ["parquet", "wacz", "warc"])
def test_a_row_that_a_form_has_no_room_for_keeps_no_other_from_being_exported(
    path: Path, form: str
) -> None:
    places = "warc_offset = 0 WHERE seq = 3", "warc_file = NULL WHERE seq = 5"
    reasons = f"why = '[[\"x\", {1 << 60 | 1}]]' WHERE seq = 3", "why = '[]' WHERE seq = 5"
    for part in reasons if form == "parquet" else places:
        change(path, f"UPDATE pages SET {part}")
    half = '["http://a.example/\\ud800"]', '[["\\udc00", 1]]'
    change(path, "UPDATE pages SET path = ?, why = ? WHERE seq = 2", *half)
    third = list(Run(path).pages())[2].url
    exported = export_run(Run(path), path.parent / "out", form, selection=Selection(True))
    count = 1 if form == "parquet" else 2
    assert (exported.pages, exported.left_out.count) == (12 - count, count)
    assert exported.left_out.first.startswith(f"{third}: ")
    assert "\n" not in exported.left_out.first


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(("reason", "gone" * 25_000), ("kind", "http" * 25_000), ("status", 1 << 40)),
        *(("url", "http://a.example/" + "x" * 100_000), ("status", -1), ("time", 1e18)),
        *(("time", 1e300), ("time", "noon"), ("time", None)),
    ],
)
def test_a_failure_without_bounds_is_refused(path: Path, column: str, value: object) -> None:
    """A reason of 20 MB was printed, and a time without bounds was told as a fault of the file that
    an export writes."""
    row = {
        "url": "http://a.example/f",
        "kind": "http",
        "reason": "gone",
        "status": 404,
        "time": 0.0,
    }
    statement = "INSERT INTO failures VALUES (99, ?, 'a.example', ?, ?, ?, ?, 99999)"
    change(path, statement, *(row | {column: value}).values())
    with pytest.raises(InputError, match="row 99 of the failures is damaged"):
        list(Run(path).failures())


def test_documents_of_a_run_unpack_to_no_more_than_what_its_archive_says(path: Path) -> None:
    """All rows name one small record that unpacks to 15 MiB."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + bytes(15 << 20)
    head = f"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: {len(block)}\r\n\r\n"
    record = gzip.compress(head.encode() + block + b"\r\n\r\n")
    archive = path / "pages.warc.gz"
    place = archive.stat().st_size, len(record)
    with archive.open("ab") as file:
        file.write(record)
    change(path, "UPDATE pages SET relevant = 1, warc_offset = ?, warc_length = ?", *place)
    read = list[int]()
    with pytest.raises(InputError, match="unpacks to more than 200 times") as refused:
        read.extend(len(one.bytes) for one in Run(path).documents(everything=True))
    most = MOST_AGAIN + MOST_AGAIN_RATIO * archive.stat().st_size
    assert sum(read) <= most + (15 << 20), "the first time is free"
    assert "\n" not in str(refused.value)
    (first, *_) = Run(path).pages()
    assert len(Run(path).document_of(first).bytes) == 15 << 20, "single ones are read"


def _record(body: bytes, kind: bytes = b"text/plain") -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\n\r\n" + body
    head = f"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: {len(block)}\r\n\r\n"
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


def test_a_site_with_blank_pages_keeps_no_run_from_being_exported(path: Path) -> None:
    """Each page is a record of its own that unpacks to a thousand times its size."""
    archive = path / "pages.warc.gz"
    record = _record(b"kiln" + b" " * (12 << 20))
    numbers = [page.seq for page in Run(path).pages()][:8]
    for number in numbers:
        place = archive.stat().st_size, len(record)
        with archive.open("ab") as file:
            file.write(record)
        where = f"relevant = 1, warc_offset = ?, warc_length = ? WHERE seq = {number}"
        change(path, f"UPDATE pages SET {where}", *place)
    assert MOST_AGAIN + MOST_AGAIN_RATIO * archive.stat().st_size < 8 * (12 << 20)
    change(path, f"DELETE FROM pages WHERE seq > {numbers[-1]}")
    assert [len(one.bytes) for one in Run(path).documents(everything=True)] == 8 * [4 + (12 << 20)]


def test_a_body_of_a_stranger_is_not_unpacked_whole_into_memory(path: Path) -> None:
    archive = path / "pages.warc.gz"
    record = _record(bytes(100 << 20))
    place = Place(archive.name, archive.stat().st_size, len(record))
    with archive.open("ab") as file:
        file.write(record)
    with pytest.raises(InputError, match="unpacks to too much"):
        read_body(path, place, 100 << 20, 10 << 20)
    assert len(read_body(path, place, 100 << 20, 50 << 20)) == 100 << 20


def test_no_limit_of_a_stranger_has_more_than_twice_the_largest_body_in_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchanges, "MOST_OF_A_BODY", 8 << 20)
    archive = path / "pages.warc.gz"
    for size in (8 << 20, 12 << 20):
        record = _record(bytes(size))
        place = Place(archive.name, archive.stat().st_size, len(record))
        with archive.open("ab") as file:
            file.write(record)
        tracemalloc.start()
        try:
            if size == 8 << 20:
                assert len(read_body(path, place, size, 8 << 20)) == size
            else:
                with pytest.raises(InputError, match="unpacks to too much"):
                    read_body(path, place, size, 8 << 20)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 2.3 * (9 << 20)


def with_state(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Its only checkpoint is whole, by its digest, and has other values."""
    db = sqlite3.connect(path / files.DATABASE)
    with db:
        select = "SELECT generation, state FROM checkpoints ORDER BY generation DESC"
        generation, blob = db.execute(select).fetchone()
        state = read_state(db, blob, "state")
        change(state)
        db.execute("DELETE FROM checkpoints WHERE generation <> ?", (generation,))
        db.execute("UPDATE checkpoints SET state = ?", (pack(state),))
    db.close()


def part_of(state: Any, name: str) -> dict[str, Any]:
    """The part of a state that has this name, wherever it is."""
    if isinstance(state, dict):
        if name in state:
            return state
        for one in state.values():
            if found := part_of(one, name):
                return found
    return {}


STATES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no frontier": lambda state: state.pop("frontier"),
    "a frontier that is none": lambda state: state.update(frontier=None),
    "fewer requests than none": lambda state: state["counts"].update(requests=-1),
    "links without a depth": lambda state: state["frontier"].update(
        depth=state["frontier"]["depth"][:0]
    ),
    "hosts without a name": lambda state: state["frontier"].update(
        hosts=[[None, *host[1:]] for host in state["frontier"]["hosts"]]
    ),
    "headings that are lists": lambda state: state["frontier"]["seen"].update(
        {name: [[["a"], ["b"]]] * 20 for name in state["frontier"]["seen"]}
    ),
    "pages of sites that are no numbers": lambda state: part_of(state, "sites_pages").update(
        sites_pages=part_of(state, "sites_pages")["sites_pages"] * float("nan")
    ),
    "texts of no leaves": lambda state: part_of(state, "text_misses").update(
        text_misses=part_of(state, "text_misses")["text_misses"][:, :0]
    ),
    "searches of no kind": lambda state: part_of(state, "kinds").update(
        kinds=[], open=list(range(1_000))
    ),
    "searches of another kind": lambda state: part_of(state, "kinds").update(
        kinds=[[link, "x"] for link in range(1_000)], open=list(range(1_000))
    ),
    "kinds of lists": lambda state: part_of(state, "kinds").update(kinds=[[[], []]]),
    "lists of no host": lambda state: part_of(state, "lists")["lists"].update(
        hosts=[["127.0.0.1", [], "x", "y", "z"]], answers=[["a", None]]
    ),
    "lists that are none": lambda state: part_of(state, "lists").update(lists=7),
    "forms of no lists": lambda state: part_of(state, "list_forms").update(list_forms=[[7]]),
    "lists that are no links": lambda state: part_of(state, "lists")["lists"].update(ready=[[7]]),
    "links that are none": lambda state: part_of(state, "lists")["lists"].update(
        ready=[[["x", [0] * 9, 7], 0, 0, 0, 0, 0]]
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_of_any_values_is_gone_on_from_or_told_in_one_line(
    path: Path, web: CountedWeb, name: str
) -> None:
    """What its values break may break long after it was loaded."""
    with_state(path, STATES[name])

    def go_on() -> None:
        run = open_run(path, web.root, web.port, pages=40, max_time=60.0)
        with closing(run.folder):
            run.run()

    with pytest.raises(SpoorError) as told:
        go_on()
    assert "\n" not in str(told.value)
    assert files.DATABASE in str(told.value)


@pytest.mark.parametrize("number", ["1e999", "x", 0, (1 << 63) - 1])
def test_the_number_of_the_last_commit_is_one(path: Path, number: object) -> None:
    """What is written next has another one."""
    url = next(iter(Run(path).pages())).url
    change(path, "INSERT OR REPLACE INTO journal VALUES (1, x'00')")
    change(path, "UPDATE ends SET seq = ?", number)
    (path / files.COMMITTED).unlink(missing_ok=True)
    with pytest.raises(InputError, match="cannot be used"):
        Run(path).label(url, relevant=False)


def test_twice_the_limit_of_a_kind_is_no_more_than_the_largest_body() -> None:
    assert Types(limit=MOST_OF_A_BODY).largest == MOST_OF_A_BODY


@pytest.mark.parametrize(
    "program",
    [
        "CREATE TRIGGER t AFTER UPDATE ON ends BEGIN DELETE FROM pages; END",
        "CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT * "
        "FROM c",
    ],
)
def test_a_database_holds_no_program(path: Path, program: str) -> None:
    change(path, program)
    for way in every_way(path):
        with pytest.raises(InputError, match="which no run makes"):
            way()


def test_opening_imports_nothing_that_a_topic_names(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_of_a_stranger.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    for key in ("ask", "encoder"):
        topic = path / f"{key}.topic"
        topic.write_text(f'name = "clay"\n[relevant]\n{key} = "evil_of_a_stranger:f"\n')
        given = read_settings(path)
        write_settings(path, replace(given, topic="", topic_file=str(topic)))
        known = snapshot(path)
        assert known is not None
        assert not known.missing
        assert known.open_links
        page = next(Run(path).pages())
        Run(path).export(tmp_path / "out.jsonl")
        Run(path).open_link(page.url)
        assert Run(path).open_urls()
        write_settings(path, given)
    assert "evil_of_a_stranger" not in sys.modules


def test_a_topic_imports_only_what_the_user_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asked_of_a_stranger.py").write_text(
        "from spoor.judges.named import for_topics\nask = for_topics(lambda text, prompt: 1.0)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    topic, name = tmp_path / "t.topic", "asked_of_a_stranger:ask"
    for table in ("[relevant]\nask", "[relevant]\nencoder", "[relevant]\n[judge]\nask"):
        topic.write_text(f'name = "clay"\n{table} = "{name}"\n')
        with pytest.raises(InputError, match=f"SPOOR_FUNCTIONS={name}"):
            judge_and_topic(Settings(topic_file=str(topic)))
    assert "asked_of_a_stranger" not in sys.modules
    monkeypatch.setenv("SPOOR_FUNCTIONS", f"another:one,{name}")
    assert judge_and_topic(Settings(topic_file=str(topic)))[0]
    del sys.modules["asked_of_a_stranger"]
    monkeypatch.delenv("SPOOR_FUNCTIONS")
    assert judge_and_topic(Settings(topic="clay", second_opinion=name))[0]


REACHING: dict[str, Any] = {
    "second_opinion": "evil_of_a_stranger:f",
    "allow_private": ("localhost",),
    "connect_to": "192.0.2.1:80",
    "proxy": "http://proxy.example:80",
    "cookies": "cookies.txt",
    "netrc": "/root/.netrc",
    "sign_key": "key.pem",
}
"""What a run may name beyond its folder."""


@pytest.mark.parametrize("name", REACHING)
def test_a_run_that_is_visited_again_names_nothing_beyond_its_folder(
    path: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--refresh` takes the settings of an earlier run, which may be a stranger's."""
    (tmp_path / "evil_of_a_stranger.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    begun = replace(read_settings(path), connect_to="")
    write_settings(path, replace(begun, **{name: REACHING[name]}))
    asked = Settings(refresh=str(path))
    with pytest.raises(
        InputError, match=f"--{name.replace('_', '-')}=.* beyond its folder"
    ) as told:
        with_inputs(asked, [])
    assert "\n" not in str(told.value)
    again = with_inputs(replace(asked, **{name: REACHING[name]}), [])
    assert getattr(again, name) == REACHING[name]
    write_settings(path, begun)
    assert with_inputs(asked, []).topic == begun.topic


def test_a_run_that_is_visited_again_is_archived_as_it_was(path: Path) -> None:
    archived: dict[str, Any] = {
        "types": ("*/*",),
        "requisites": "all",
        "body_limit": 99,
        "render": "never",
    }
    begun = replace(read_settings(path), connect_to="", verify_tls=False)
    write_settings(path, replace(begun, **archived))
    asked = Settings(refresh=str(path))
    again = with_inputs(asked, [])
    assert {name: getattr(again, name) for name in archived} == archived
    assert again.verify_tls, "not by the word of a run that may be a stranger's"
    assert with_inputs(replace(asked, requisites="relevant"), []).requisites == "relevant"


def test_every_setting_that_reaches_is_among_them() -> None:
    reaching = {
        name
        for name, one in described(Settings).items()
        if one.group in (CRAWL, LIMITS, POLITENESS)
        and (one.reaches or (one.path and one.group is POLITENESS))
    }
    assert reaching - {"refresh"} == {*REACHING}


@pytest.mark.parametrize(
    "given",
    [
        {"topic": "k\udcffiln"},
        {"agent": "a\ud800"},
        {"include": ("*\udcff",)},
        {"params": {"a": ["\ud800"]}},
        {"agent": "a\r\nX: y"},
        {"contact": "a\nb"},
    ],
)
def test_a_setting_that_no_file_or_header_can_hold_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InputError) as refused:
        Settings(**given)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)
    str(refused.value).encode()


def test_answers_that_are_too_deep_are_refused_in_one_line(path: Path) -> None:
    file = path / files.ANSWERS
    file.write_text("[" * 100_000 + "\n")
    with pytest.raises(InputError, match="line 1 is no answer"):
        answers._read(file)


# -- names that are too long


def test_a_name_that_is_too_long_is_refused_in_one_line(path: Path) -> None:
    name = "x" * 300
    for way in (
        lambda: files.is_run(path.parent / name),
        lambda: Run(path.parent / name),
        lambda: RunWriter(path.parent / name, read_settings(path)),
        lambda: Run(path).export(path.parent / f"{name}.csv"),
    ):
        with pytest.raises(InputError, match="too long"):
            way()


# -- the lock


def test_a_lock_holds_whose_file_was_deleted(path: Path) -> None:
    with reopened_lock(path):
        (path / files.LOCK).unlink()
        assert is_running(path)
        with pytest.raises(BusyError), Lock(path) as second:
            second.hold()
    assert not is_running(path)


def linked(path: Path, other: Path) -> Path:
    """A folder with the same files under other names."""
    other.mkdir()
    for file in path.iterdir():
        os.link(file, other / file.name)
    return other


def symbolic(path: Path, other: Path) -> Path:
    other.symlink_to(path)
    return other


@pytest.mark.parametrize("other", [linked, symbolic, lambda path, other: path.rename(other)])
def test_no_second_process_opens_a_run_by_any_way(
    path: Path, other: Callable[[Path, Path], Path], tmp_path: Path
) -> None:
    program = (
        "import sys; from pathlib import Path; from spoor.runs.writer import RunWriter; "
        "from spoor.runs.schema import read_settings; path = Path(sys.argv[1]); "
        "run = RunWriter(path, read_settings(path)); print('open', flush=True); input()"
    )
    holding = [sys.executable, "-c", program, str(path)]
    with Popen(holding, stdin=PIPE, stdout=PIPE, text=True) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == "open\n"
        again = other(path, tmp_path / "again")
        (again / files.LOCK).unlink()
        with pytest.raises(BusyError, match="in use by another process"):
            reopened(again)
        page = next(Run(again).pages())
        with pytest.raises(BusyError, match="in use by another process"):
            forget(again, [page.url])
        first.stdin.close()
    reopened(again).close()


def test_no_second_run_of_a_process_opens_its_database(path: Path, tmp_path: Path) -> None:
    run = reopened(path)
    again = linked(path, tmp_path / "again")
    for _ in range(2):
        with pytest.raises(BusyError, match="in use by another process"):
            reopened(again)
    run.close()
    reopened(again).close()


def test_runs_of_several_threads_are_locked_while_others_are_deleted(tmp_path: Path) -> None:
    """As shards of one process are, and the runs of a notebook."""

    def runs(thread: int) -> None:
        for at in range(25):
            folder = tmp_path / f"{thread}-{at}"
            with Lock(folder) as lock:
                lock.hold_database()
            shutil.rmtree(folder)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor() as threads:
            list(threads.map(runs, range(6)))
    finally:
        sys.setswitchinterval(before)


def reopened_lock(path: Path) -> Lock:
    lock = Lock(path)
    lock.hold()
    return lock


# -- damage


def test_whole_records_beyond_the_last_commit_are_kept_aside(path: Path) -> None:
    archive = path / files.archive(0)
    data = archive.read_bytes()
    end = len(data)
    member = data[: data.index(b"\x1f\x8b\x08", 3)]
    archive.write_bytes(data + member * 3 + member[:-5])
    other = path / files.archive(1)
    other.write_bytes(member)
    for aside in ([member * 3, member], []):
        run = reopened(path)
        run.close()
        # The writer begins a file of its own where there is none.
        assert archive.stat().st_size == end
        assert [file.read_bytes() for file in run.recovered] == aside
        assert all(file.name.startswith("recovered-") for file in run.recovered)
    assert not other.exists()
    check_run(path)
    archive.write_bytes(archive.read_bytes() + member)
    page = next(Run(path).pages())
    told = Run(path).label(page.url, not page.relevant)
    assert [Path(name).read_bytes() for name in told.recovered] == [member]
    assert not Run(path).label(page.url, page.relevant).recovered


def killed(path: Path) -> Path:
    """A copy of a run whose log holds two commits, as a kill leaves it."""
    run = reopened(path)
    for name in ("one", "two"):
        run.note("note", name)
        run.commit(b"events")
    copy = shutil.copytree(path, path.with_name("killed"))
    run.close()
    return copy


def test_a_log_that_is_whole_is_gone_on_from(path: Path) -> None:
    run = reopened(killed(path))
    assert run._ends.seq >= 2
    run.close()


@pytest.mark.parametrize("damage", ["lost", "flipped", "cut"])
def test_a_lost_or_damaged_log_is_named(path: Path, damage: str) -> None:
    copy = killed(path)
    log = copy / f"{files.DATABASE}-wal"
    data = bytearray(log.read_bytes())
    if damage == "lost":
        log.unlink()
    elif damage == "cut":
        log.write_bytes(data[:-10])
    else:
        data[len(data) // 2] ^= 1
        log.write_bytes(data)
    for _ in range(2):
        with pytest.raises(InputError, match=r"state\.db-wal is lost or damaged.*rm ") as refused:
            reopened(copy)
    with pytest.raises(InputError, match="lost or damaged"), reading(copy):
        pass
    (copy / files.COMMITTED).unlink()  # as the message says
    assert str(copy / files.COMMITTED) in str(refused.value)
    reopened(copy).close()
    reopened(copy).close()


def test_a_fault_of_a_database_is_told_in_one_line(path: Path) -> None:
    size = (path / files.DATABASE).stat().st_size
    with (path / files.DATABASE).open("r+b") as file:
        file.seek(size - 4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(InputError, match="cannot be used") as told:
        reopened(path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("left", [0, 100])
def test_a_cut_archive_is_named_by_whatever_reads_the_run(
    path: Path, left: int, tmp_path: Path
) -> None:
    os.truncate(path / files.archive(0), left)
    (path / files.archive(0)).unlink() if not left else None
    again = Settings.of({"refresh": str(path), "seeds": [], "connect_to": "127.0.0.1:9"})
    for way in (
        lambda: list(Run(path).pages()),
        lambda: Run(path).export(tmp_path / "out.jsonl", text=True),
        lambda: Run(path).search("kiln"),
        lambda: RunWriter(tmp_path / "again", again),
    ):
        with pytest.raises(InputError, match=rf"pages\.warc\.gz is damaged: {left} of the"):
            way()


def test_what_cannot_be_read_in_the_archive_is_searched_once_it_is_back(path: Path) -> None:
    archive = path / files.archive(0)
    data = archive.read_bytes()
    archive.write_bytes(bytes(len(data)))
    with pytest.raises(InputError, match=r"pages\.warc\.gz is damaged at byte \d+"):
        Run(path).search("the")
    archive.write_bytes(data)
    document = max(Run(path).documents(everything=True), key=lambda one: len(one.text))
    found = Run(path).search(document.text.split()[0], limit=100)
    assert document.url in [one.url for one in found]


@pytest.fixture
def sharded(path: Path, tmp_path: Path) -> Path:
    """A run in two shards."""
    run = tmp_path / "sharded"
    run.mkdir()
    write_settings(run, replace(read_settings(path), shards=2))
    for number in (0, 1):
        shutil.copytree(path, files.shard(run, number))
    known: dict[str, Any] = {**dict.fromkeys(shards._COUNTS, 12), "lag": 0.0, "state": ""}
    rows = [{**known, "shard": number} for number in (0, 1)]
    exchange = dict.fromkeys(shards._EXCHANGED, 0)
    shards.write_status(run, {"at": 1.0, "shards": rows, "exchange": exchange})
    return run


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "shard-1 is lost, with 12 pages"),
        (files.DATABASE, "shard-1/state.db cannot be used"),
        (files.archive(0), "pages.warc.gz is damaged: 0 of the"),
    ],
)
def test_a_shard_that_lost_something_is_named(
    sharded: Path, name: str, says: str, tmp_path: Path
) -> None:
    assert len(list(Run(sharded).pages())) == 24
    lost = files.shard(sharded, 1) / name
    lost.unlink() if name else shutil.rmtree(lost)
    for _ in range(2):
        with pytest.raises(InputError, match=says):
            list(Run(sharded).pages())
        if not name:
            lost.mkdir(exist_ok=True)  # an empty one is none
    with pytest.raises(InputError, match=says), ExitStack() as undo:
        shards.begin(sharded, read_settings(sharded), undo)


def test_a_shard_that_lost_its_log_is_named(sharded: Path) -> None:
    shard = killed(files.shard(sharded, 1))
    shutil.rmtree(files.shard(sharded, 1))
    shard.rename(files.shard(sharded, 1))
    assert list(Run(sharded).pages())
    (files.shard(sharded, 1) / f"{files.DATABASE}-wal").unlink()
    with pytest.raises(InputError, match=r"shard-1/state\.db-wal is lost or damaged"):
        list(Run(sharded).pages())


def test_a_shard_in_the_place_of_another_is_named(path: Path, tmp_path: Path) -> None:
    settings = replace(read_settings(path), shards=2)
    for number in (0, 1):
        RunWriter(files.shard(tmp_path, number), settings).close()
    first, second = files.shard(tmp_path, 0), files.shard(tmp_path, 1)
    write_settings(tmp_path, settings)
    assert not list(Run(tmp_path).pages())
    shutil.rmtree(second)
    shutil.copytree(first, second)
    says = "shard-1 holds what shard 0 of a run fetched"
    with pytest.raises(InputError, match=says):
        RunWriter(second, settings)
    with pytest.raises(InputError, match=says):
        Run(tmp_path).pages()
    with pytest.raises(InputError, match=says):
        Run(second).pages()


@pytest.mark.parametrize("line", [b"x", b"{}", b"[" * 100_000, b"\xff", b'{"score": []}'])
def test_results_of_a_shard_that_are_damaged_are_told_in_one_line(
    sharded: Path, line: bytes
) -> None:
    file = files.shard(sharded, 1) / files.RELEVANT
    file.write_bytes(line + b"\n")
    with pytest.raises(InputError, match=r"shard-1/relevant\.jsonl cannot be used"):
        shards.write_results(sharded)


def test_results_of_a_shard_are_a_plain_file(sharded: Path, outside: Path) -> None:
    file = files.shard(sharded, 1) / files.RELEVANT
    for make in (os.mkfifo, lambda path: path.symlink_to(outside)):
        file.unlink()
        make(file)
        with pytest.raises(InputError, match="not a plain file"):
            shards.write_results(sharded)


def test_results_of_shards_may_hold_any_mark(sharded: Path) -> None:
    for number, title in enumerate(("a\u2028b\x0c", "c\x85d")):
        file = files.shard(sharded, number) / files.RELEVANT
        file.write_text(json.dumps({"score": number, "title": title}, ensure_ascii=False) + "\n")
    shards.write_results(sharded)
    rows = (sharded / files.RELEVANT).read_text("utf-8").split("\n")
    assert [json.loads(row)["title"] for row in rows[:-1]] == ["c\x85d", "a\u2028b\x0c"]


@pytest.mark.parametrize(
    "text", ["", "[1]", "[" * 100_000, '{"at": 1e400, "shards": [], "exchange": {}}', '{"at": "x"}']
)
def test_any_state_of_shards_is_read(sharded: Path, text: str) -> None:
    (sharded / files.SHARDS).write_text(text)
    assert Run(sharded).shard_status() is None
    assert Run(sharded).revision()[0] == 0
    write_report(sharded)


# -- search


@pytest.mark.parametrize(
    ("words", "query"),
    [
        ("kiln\0glaze", '"kiln glaze"'),
        ('"a b" c', '"a b" AND "c"'),
        ('"' + "a " * 1000 + '" b', '"' + " ".join("a" * 32) + '"'),
        ("b " * 1000, '"b"'),
        (" ".join(map(str, range(1000))), " AND ".join(f'"{number}"' for number in range(32))),
    ],
)
def test_a_search_is_bounded(words: str, query: str) -> None:
    assert _query(words) == query


# -- CSV


@pytest.mark.parametrize("text", [";=1+1", "; =1", "a;=1", "\t=1", ";;@x", "a\n-1", "=1"])
def test_no_part_of_a_cell_begins_a_formula(text: str) -> None:
    written = str(cell(text))
    for separator in ";\t\n":
        for part in written.split(separator):
            assert not part.strip(" ").startswith(("=", "+", "-", "@"))
    assert written.replace("'", "") == text
