"""Every file of a run's folder, and every value in it, damaged in every way: whatever opens the
folder ends, with what it was asked for or with one line."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sqlite3
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import numpy as np
import pytest
import tomli_w

from attacks.measure import Note
from kills import finish_small
from spoor.cli.main import run
from spoor.errors import SpoorError
from spoor.formats.exporters.warc import records_of
from spoor.learn.state import pack, unpack
from spoor.live.live_crawl import LiveCrawl
from spoor.runs import files
from spoor.runs.assemble import make_crawl
from spoor.runs.checkpoints import read_state
from spoor.runs.forget import forget
from spoor.runs.pass_costs import PassCosts
from spoor.runs.reader import Run
from spoor.runs.saved_files import saved_name
from spoor.runs.schema import read_settings
from spoor.runs.writer import RunWriter
from spoor.views import link_rates as rates
from spoor.views.kinds import Kinds
from spoor.views.link_rates import link_rates
from spoor.views.preview import Previews
from spoor.views.run_totals import Sums
from spoor.views.snippets import Snippets
from spoor.web.urls import names_host

MEMORY = 768 << 20
"""Bytes that opening a small folder may take."""

IN_MEMORY = Path("/dev/shm")

SECONDS = 60.0
"""By the clock: what waits, waits for ever."""

MANY = "SPOOR_ATTACKS" in os.environ
"""Whether all is tried; a part of it otherwise."""

NAMES = sorted(
    {value for name, value in vars(files).items() if name.isupper() and isinstance(value, str)}
    - {files.WARC}
)
PLACES = [
    *NAMES,
    *(f"{name}.part" for name in (NAMES if MANY else NAMES[:1])),
    *(f"{files.DATABASE}-wal", f"{files.DATABASE}-shm", files.archive(0), files.archive(1)),
    *(f"shard-0/{name}" for name in (files.SETTINGS, files.DATABASE, files.RELEVANT)),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few pages."""
    path = tmp_path_factory.mktemp("made") / "run"
    finish_small(path)
    page = next(Run(path).pages())
    Run(path).label(page.url, not page.relevant)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where each example has its copy: in memory, if there is a file system there, since on a disk
    they wait half of the time for what is written to be there after a loss of power."""
    if not os.access(IN_MEMORY, os.W_OK):
        yield tmp_path_factory.mktemp("copies") / "copy"
        return
    with TemporaryDirectory(dir=IN_MEMORY, prefix="spoor-damaged-") as path:
        yield Path(path) / "copy"


@contextmanager
def bounded() -> Iterator[None]:
    """Raises MemoryError beyond the memory, TimeoutError beyond the time."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    status = Path("/proc/self/status").read_text()
    used = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData"))
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    resource.setrlimit(resource.RLIMIT_DATA, (1024 * used + MEMORY, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def resume(path: Path) -> None:
    """As far as to the first request."""
    settings = read_settings(path)
    with closing(RunWriter(path, settings)) as run:
        LiveCrawl(run, make_crawl(settings))


def look(path: Path) -> None:
    run = Run(path)
    Sums(run).refresh()
    run.failures()
    run.revision()
    run.budget()
    known = run.snapshot()
    if known is not None:
        run.still_open(known)
        known.estimate([])


def read(path: Path) -> None:
    run = Run(path)
    run.export(path.parent / "out.jsonl", everything=True, text=MANY)
    run.labels()
    run.topic()
    list(run.journal())
    run.open_urls()
    run.open_link("http://a.example/")


def without_copies(path: Path) -> None:
    Run(path).export(path.parent / "out.jsonl", everything=True, copies=False)


def take_out(path: Path) -> None:
    with closing(sqlite3.connect(path / files.DATABASE)) as db:
        found = [url for (url,) in db.execute("SELECT url FROM pages") if names_host(str(url))]
    forget(path, found[:1])


def label(path: Path) -> None:
    Run(path).label("http://a.example/", relevant=True)


WAYS: Sequence[Callable[[Path], None]] = (look, read, label, resume)


def ends(path: Path, what: object, ways: Sequence[Callable[[Path], object]] = WAYS) -> None:
    """Raises AssertionError where a way ends otherwise than it may."""
    for way in ways:
        try:
            with bounded():
                way(path)
        except SpoorError as error:
            told = str(error)
            assert told.strip(), (way.__name__, what)
            assert "\n" not in told, (way.__name__, what, told)
        except Exception as error:
            raise AssertionError(f"{way.__name__} after {what}: {error!r}") from error


def again(made: Path, folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return Path(shutil.copytree(made, folder, symlinks=True))


# ---------------------------------------------------------------- files


def huge(file: Path) -> None:
    with file.open("r+b" if file.exists() else "wb") as opened:
        opened.truncate(1 << 34)


def half(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] if file.exists() else b"")


def written(data: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(data)


def replaced(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def damage(file: Path) -> None:
        file.unlink(missing_ok=True)
        make(file)

    return damage


DAMAGES: dict[str, Callable[[Path], object]] = {
    "gone": replaced(lambda file: None),
    "empty": written(b""),
    "half": half,
    "huge": huge,
    "zeros": written(bytes(4096)),
    "no text": written(b"\xff\xfe\x00\xd8" * 99),
    "deep": written(b"[" * 100_000),
    "another type": written(b"3\n"),
    "a list": written(b"[]\n"),
    "a pipe": replaced(os.mkfifo),
    "a link": replaced(lambda file: file.symlink_to("/dev/zero")),
    "a link to nothing": replaced(lambda file: file.symlink_to("/nowhere/file")),
    "a folder": replaced(Path.mkdir),
}


@pytest.mark.parametrize("place", PLACES)
def test_any_damage_to_any_file_is_told_in_one_line(
    place: str, made: Path, folder: Path, record_property: Note
) -> None:
    begin = PLACES.index(place)
    tried = list(DAMAGES.items())[0 if MANY else begin % 4 :: 1 if MANY else 4]
    for name, damage in tried:
        path = again(made, folder)
        (path / place).parent.mkdir(exist_ok=True)
        damage(path / place)
        ends(path, (place, name))
    record_property("bound", f"one line, {MEMORY >> 20} MB")
    record_property("measured", f"{len(tried) * len(WAYS)} of {len(tried) * len(WAYS)}")


# ---------------------------------------------------------------- values

DEEP = "[" * 100_000
VALUES = [
    *(None, -1, 2**62, 1e308, "x", b"\xff", "[]", "{}", "[[1]]", DEEP, '{"a": 1}', 0.5, ""),
    *("[null]", b"\x28\xb5\x2f\xfd", '["x", 1]', "\ud7ff\0"),
]


def columns(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path / files.DATABASE)) as db:
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        return [
            (table, row[1]) for table in tables for row in db.execute(f"PRAGMA table_info({table})")
        ]


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path / files.DATABASE)) as db, db:
        db.execute(statement, values)


def test_any_value_in_the_database_is_told_in_one_line(made: Path, folder: Path) -> None:
    values = cycle(VALUES)
    for table, column in columns(made):
        for _ in range(len(VALUES) if MANY else 1):
            value = next(values)
            path = again(made, folder)
            with suppress(sqlite3.IntegrityError):
                change(path, f"UPDATE {table} SET {column} = ?", value)
            ways = (*WAYS, without_copies, take_out) if MANY else (look, read, resume)
            ends(path, (table, column, str(value)[:20]), ways)


@pytest.mark.parametrize("column", ["url", "host", "title", "flags", "warc_file", "warc_offset"])
@pytest.mark.parametrize("value", ["", "0x10", "http:/", None, -(2**63), b"\xff"])
def test_any_value_of_a_page_is_told_in_one_line(
    column: str, value: object, made: Path, folder: Path
) -> None:
    """By what compares pages, and by what takes them out."""
    path = again(made, folder)
    with suppress(sqlite3.IntegrityError):
        change(path, f"UPDATE pages SET {column} = ? WHERE seq = 3", value)
    ends(path, (column, value), (without_copies, take_out))


SCHEMAS = [
    "DROP TABLE {table}",
    "ALTER TABLE {table} RENAME TO other",
    "DELETE FROM {table}",
    "ALTER TABLE {table} ADD COLUMN another TEXT",
]


@pytest.mark.parametrize("statement", SCHEMAS)
def test_any_other_schema_is_told_in_one_line(statement: str, made: Path, folder: Path) -> None:
    for table in dict.fromkeys(table for table, _ in columns(made)):
        path = again(made, folder)
        change(path, statement.format(table=table))
        ends(path, statement.format(table=table), WAYS if MANY else (look, resume))


# ---------------------------------------------------------------- states

OTHERS: list[Any] = [
    *(None, "x", -1, 2**62, 0.5, [], {}, [[1]], {"a": 1}, True, [None], float("nan")),
    *(np.zeros(3), np.zeros((0, 2)), np.array(["x"])),
]


def places(value: Any, depth: int = 4) -> Iterator[tuple[Any, ...]]:
    """Ways to the values in a state: keys and numbers."""
    if depth and isinstance(value, dict):
        for key, item in value.items():
            yield (key,)
            yield from ((key, *rest) for rest in places(item, depth - 1))
    elif depth and isinstance(value, list) and value:
        yield (0,)
        yield from ((0, *rest) for rest in places(value[0], depth - 1))


def put(state: Any, place: tuple[Any, ...], value: Any) -> None:
    for key in place[:-1]:
        state = state[key]
    state[place[-1]] = value


def test_any_value_in_a_state_is_told_in_one_line(made: Path, folder: Path) -> None:
    with closing(sqlite3.connect(made / files.DATABASE)) as db:
        (blob,) = db.execute("SELECT state FROM checkpoints ORDER BY generation DESC").fetchone()
        saved = pack(read_state(db, blob, "state"))
    values = cycle(OTHERS)
    path = again(made, folder)
    for place in list(places(unpack(saved)))[:: 1 if MANY else 8]:
        state = unpack(saved)
        put(state, place, next(values))
        change(path, "UPDATE checkpoints SET state = ?", pack(state))
        ends(path, place, (look, read, resume))


@pytest.mark.parametrize("value", OTHERS, ids=repr)
def test_a_state_without_a_frontier_is_told_in_one_line(
    value: object, made: Path, folder: Path
) -> None:
    """By what reads its open links alone."""
    path = again(made, folder)
    with closing(sqlite3.connect(path / files.DATABASE)) as db:
        (blob,) = db.execute("SELECT state FROM checkpoints ORDER BY generation DESC").fetchone()
        state = unpack(pack(read_state(db, blob, "state")))
    change(path, "UPDATE checkpoints SET state = ?", pack(state | {"frontier": value}))
    ends(path, ("frontier", value), (lambda path: Run(path).open_urls(),))


def test_any_value_in_the_settings_is_told_in_one_line(made: Path, folder: Path) -> None:
    tables = tomllib.loads((made / files.SETTINGS).read_text())
    values = cycle(value for value in OTHERS[1:-3] if value != [None])
    for place in list(places(tables))[:: 1 if MANY else 3]:
        path = again(made, folder)
        changed = json.loads(json.dumps(tables))
        put(changed, place, next(values))
        (path / files.SETTINGS).write_text(tomli_w.dumps(changed))
        ends(path, place)


# ---------------------------------------------------------------- a byte of the archive

WAYS_OUT = [
    ["show", "RUN", "URL"],
    *(["export", "RUN", f"OUT/a{ending}", "--all"] for ending in (".warc.gz", ".wacz", ".sqlite")),
    *(["export", "RUN", f"OUT/a{ending}", "--all", "--text"] for ending in (".jsonl", ".csv")),
    *(["export", "RUN", "OUT/a", "--all", "--format", form] for form in ("markdown", "text")),
    ["export", "RUN", "OUT/a.passages.jsonl", "--all", "--format", "passages"],
    ["export", "RUN", "OUT/a.jsonl", "--all", "--no-copies"],
    ["search", "RUN", "word"],
    ["crawl", "--refresh", "RUN", "--out", "OUT/run", "--connect-to", "SERVER"],
]


@pytest.fixture(scope="module")
def flipped(made: Path) -> tuple[Path, str]:
    """A run in whose archive one bit of a document is another, and the document's URL."""
    path = shutil.copytree(made, made.parent / "flipped")
    page = list(Run(path).pages())[2]
    assert page.place is not None
    name, offset, length = page.place
    with (path / name).open("r+b") as archive:
        data = bytearray(archive.read())
        data[offset + length // 2] ^= 1
        archive.seek(0)
        archive.write(data)
    return path, page.url


@pytest.mark.parametrize("arguments", WAYS_OUT, ids=" ".join)
def test_a_flipped_bit_of_a_document_is_named_by_every_way_out(
    flipped: tuple[Path, str],
    arguments: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, url = flipped
    words = {"RUN": str(path), "URL": url, "SERVER": read_settings(path).connect_to}
    given = [words.get(one, one.replace("OUT", str(tmp_path))) for one in arguments]
    assert run(given) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{files.archive(0)} is damaged at byte" in line
    assert all(word in line for word in ("from a copy", f"spoor forget {path} {url}"))
    assert not [*tmp_path.glob("a*")]


def test_a_saved_file_that_cannot_follow_its_verdict_is_told(
    flipped: tuple[Path, str], tmp_path: Path
) -> None:
    source, url = flipped
    path = shutil.copytree(source, tmp_path / "run")
    tables = tomllib.loads((path / files.SETTINGS).read_text())
    tables["process"]["save_files"] = True
    other = next(page.url for page in Run(path).pages() if page.url != url)

    def damaged(page: str, relevant: bool) -> tuple[str, ...]:
        (path / files.SETTINGS).write_text(tomli_w.dumps(tables))
        return Run(path).label(page, relevant).damaged

    for relevant in (True, False, True):
        (line,) = damaged(url, relevant)
        assert f"{files.archive(0)} is damaged at byte" in line
        assert url in line
        assert line.endswith("its file in files/ does not follow the verdict")
        assert not damaged(other, relevant)
    (saved,) = (path / files.SAVED).rglob("*.html")
    assert saved.name == saved_name(other, "text/html")[1]


def test_a_report_names_a_document_that_is_damaged(flipped: tuple[Path, str]) -> None:
    path, _ = flipped
    assert [kind.pages for kind in Kinds(Run(path)).refresh() if kind.name == "damaged"] in (
        [],
        [1],
    )
    page = next(page for page in Run(path).pages() if page.url == flipped[1])
    shown = Previews(Run(path), PassCosts()).of(page)
    assert shown is not None
    assert shown.kind == "damaged"
    assert "is damaged at byte" in shown.facts[0][1]


@pytest.mark.parametrize("record", ["response", "request", "warcinfo"])
def test_a_damaged_record_leaves_a_run_with_its_page(
    made: Path, record: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(made, tmp_path / "run")
    archive, pages = path / files.archive(0), list(Run(path).pages())
    own = {page.place[1]: page.url for page in pages if page.place is not None}
    starts = [(at, one.kind) for at, one in records_of(archive)]
    first = sorted(own)[2]
    at = (
        first
        if record == "response"
        else min(at for at, kind in starts if kind == record and (at > first or kind == "warcinfo"))
    )
    data = bytearray(archive.read_bytes())
    data[at + 30] ^= 1
    archive.write_bytes(data)
    assert run(["export", str(path), str(tmp_path / "a.warc.gz"), "--all"]) == 2
    assert run(["forget", str(path), own[first]]) == 0
    assert run(["export", str(path), str(tmp_path / "a.warc.gz"), "--all"]) == 0
    assert run(["export", str(path), str(tmp_path / "a.jsonl"), "--all", "--text"]) == 0
    left = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["url"] for row in left] == [page.url for page in pages if page.url != own[first]]
    assert all(row["text"] for row in left)


def test_documents_that_take_long_do_not_hold_a_report(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crawl writes one at its end: 28 pages of 2 MB that cost took two minutes. Of a stranger's
    pages the rows may say that they are short."""
    run = Run(made)
    page = next(run.pages())
    spent = PassCosts(spare=0.0, in_order=False)
    with monkeypatch.context() as patch:
        patch.setattr(Run, "document_of", None)
        patch.setattr(Run, "text", None)
        previews = Previews(run, spent)
        shown = previews.of(page)
        assert shown is not None
        assert "took long" in dict(shown.facts)["note"]
        assert Snippets(run, None, previews, spent).of(page) == ()
    assert link_rates(run).followed
    monkeypatch.setattr(rates, "MOST_SECONDS", -1.0)
    assert not link_rates(run).followed
