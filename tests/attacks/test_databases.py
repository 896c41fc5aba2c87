"""Databases in a stranger's run: nothing that they hold is executed, and none deletes a file."""

from __future__ import annotations

import shutil
import sqlite3
import struct
import tomllib
import tracemalloc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from kills import finish_small
from spoor.cli.main import run
from spoor.errors import DiskError, InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.frontier.sqlite import SqliteFrontier
from spoor.runs import files, search, shards, snapshot
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.types import Link

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few pages."""
    path = tmp_path_factory.mktemp("made") / "run"
    finish_small(path)
    return path


def naming(file: Path) -> bytes:
    """A rollback journal that changes nothing, and names a file as the journal of a transaction
    over two databases does."""
    magic, name = bytes.fromhex("d9d505f920a163d7"), str(file).encode()
    head = magic + struct.pack(">IIIII", 0, 1, 0, 512, 4096)
    tail = struct.pack(">I", 0x40000000 // 4096 + 1) + name
    return head.ljust(512, b"\0") + tail + struct.pack(">II", len(name), sum(name)) + magic


@pytest.mark.parametrize("database", [files.DATABASE, files.SEARCH, files.FRONTIER])
def test_no_journal_deletes_a_file_outside(
    made: Path, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(made, tmp_path / "run")
    url = next(page.url for page in Run(path).pages())
    outside = tmp_path / "outside"
    outside.write_text("mine")
    assert run(["search", str(path), "the"]) == 0
    journal = path / f"{database}-journal"
    journal.write_bytes(naming(outside))
    capsys.readouterr()
    for command in (
        ["search", str(path), "the"],
        ["forget", str(path), url],
        ["show", str(path), url],
    ):
        assert run(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{journal.name} would have another file deleted" in line
    assert outside.read_text() == "mine"
    journal.write_bytes(b"")
    assert run(["show", str(path), url]) == 0


def changed(name: str, change: Callable[[str], str]) -> Callable[[sqlite3.Connection], None]:
    def alter(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA writable_schema=ON")
        sql = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
        values = change(sql), name
        assert values[0] != sql
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", values)

    return alter


PROGRAMS = {
    "a computed column": changed("pages", lambda sql: sql.replace("title TEXT", "title AS (url)")),
    "a check": changed("meta", lambda sql: f"{sql[:-1]}, CHECK (length(value)))"),
    "an index of an expression": lambda db: db.execute("CREATE INDEX i ON pages (upper(url))"),
    "a part of an index": lambda db: db.execute("CREATE INDEX i ON pages (url) WHERE seq"),
    "a column whose name is SQL": lambda db: db.execute('CREATE TABLE t (a, "1 AS b, (SELECT 1)")'),
    "a name in quotes": lambda db: db.execute('CREATE TABLE t ("a b")'),
    "a view": lambda db: db.execute("CREATE VIEW v AS SELECT 1"),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("version", [None, 0])
def test_a_database_holds_no_program(
    made: Path,
    program: Callable[[sqlite3.Connection], object],
    version: int | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = shutil.copytree(made, tmp_path / "run")
    with closing(sqlite3.connect(path / files.DATABASE, isolation_level=None)) as db:
        program(db)
        if version is not None:
            db.execute(f"PRAGMA user_version={version}")
    assert run(["show", str(path), "http://a.example/"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "which no run makes" in line


def test_an_index_that_holds_a_program_is_made_anew(made: Path, tmp_path: Path) -> None:
    path = shutil.copytree(made, tmp_path / "run")
    assert run(["search", str(path), "the"]) == 0
    file = path / files.SEARCH
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        changed("words_content", lambda sql: f"{sql[:-1]}, CHECK (length(c0) < 9))")(db)
    assert run(["search", str(path), "the"]) == 0
    with closing(sqlite3.connect(file)) as db:
        assert "CHECK" not in str(db.execute("SELECT sql FROM sqlite_master").fetchall())


def test_rows_in_a_ring_end() -> None:
    """A tree whose pages are the same page again and again has rows without end."""
    rows = [{"seq": 1}, {"seq": 2}, {"seq": 1}]

    class Ring:
        def execute(self, *query: object) -> list[dict[str, int]]:
            return rows

    looked_at = Run.__new__(Run)
    looked_at.path, looked_at._db = Path("run"), Ring()  # type: ignore[assignment]
    with pytest.raises(InputError, match="its rows are in no order"):
        list(looked_at._chunks("", 0, 1000, ()))


@pytest.mark.parametrize("parents", [[0, 1, 2], [-1, 2, 1], [-1, 0, -3]])
def test_links_that_are_found_on_later_ones_are_refused(parents: list[int], tmp_path: Path) -> None:
    frontier = MemoryFrontier()
    frontier.add([Link(f"http://a.example/{n}") for n in range(3)], -1, 0.0, 0)
    state = frontier.save()
    disk = SqliteFrontier(tmp_path / "frontier.db")
    disk.load(state)
    saved = disk.save()
    disk.close()
    with pytest.raises(ValueError, match="found on a later one"):
        MemoryFrontier().load({**state, "parent": np.array(parents, dtype=np.int64)})
    with closing(sqlite3.connect(tmp_path / "frontier.db")) as db:
        db.executemany(
            "UPDATE links SET parent = ? WHERE link = ?", zip(parents, range(3), strict=True)
        )
        db.commit()
    disk = SqliteFrontier(tmp_path / "frontier.db")
    disk.load(saved)
    with pytest.raises(InputError, match="found on a later one"):
        list(map(disk.path, range(3)))
    disk.close()


def test_labels_of_one_page_are_one_row(made: Path, tmp_path: Path) -> None:
    """Each label looked through all others that were not committed yet."""
    path = shutil.copytree(made, tmp_path / "run")
    url = next(page.url for page in Run(path).pages())
    with closing(RunWriter(path, Run(path).settings)) as folder:
        for turn in range(6):
            assert folder.relabel(url, relevant=bool(turn % 2)) is not None or turn == 0
        assert len(folder._rows.labels) == 1


@pytest.mark.parametrize(
    "pattern", ["re:" + "(?:" * 300 + "a" + "){1,9}" * 300, "re:" + "ab|" * 20_000, "*" * 100_000]
)
def test_a_pattern_of_a_stranger_is_told_in_one_line(
    made: Path, pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(made, tmp_path / "run")
    tables = tomllib.loads((path / files.SETTINGS).read_text())
    tables["crawl"]["exclude"] = [pattern]
    (path / files.SETTINGS).write_text(tomli_w.dumps(tables))
    assert run(["explain", str(path), "http://a.example/"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "a pattern over URLs" in line or "a regular expression of" in line
    assert len(line) < 2_000


def broken(statement: str, *values: object) -> Callable[[sqlite3.Connection], object]:
    def alter(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA writable_schema=ON")
        assert db.execute(statement, values).rowcount

    return alter


@pytest.mark.parametrize(
    "damage",
    [
        broken("UPDATE meta SET value = CAST(X'7BFF0A' AS TEXT) WHERE name = 'settings'"),
        broken(
            "UPDATE sqlite_master SET sql = CAST(CAST(sql AS BLOB) || X'2F2AFF0A2A2F' AS TEXT) "
            "WHERE name = 'pages'"
        ),
        broken("UPDATE sqlite_master SET sql = sql || ? WHERE name = 'pages'", " '\n\n"),
    ],
    ids=["a text that is none", "a table's text that is none", "a table's that does not end"],
)
def test_a_damaged_text_is_no_lack_of_room(
    made: Path,
    damage: Callable[[sqlite3.Connection], object],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """SQLite has one kind of error for a disk that is full and for a text that is no UTF-8."""
    path = shutil.copytree(made, tmp_path / "run")
    url = next(page.url for page in Run(path).pages())
    with closing(sqlite3.connect(path / files.DATABASE, isolation_level=None)) as db:
        damage(db)
    for command in (["label", str(path), url, "yes"], ["forget", str(path), url]):
        assert run(command) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert files.DATABASE in line
        assert "make room" not in line


def test_a_damaged_text_of_a_frontier_is_no_lack_of_room(tmp_path: Path) -> None:
    file = tmp_path / files.FRONTIER
    SqliteFrontier(file).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        broken(
            "UPDATE sqlite_master SET sql = CAST(CAST(sql AS BLOB) || X'2F2AFF0A2A2F' AS TEXT) "
            "WHERE name = 'links'"
        )(db)
    with pytest.raises(InputError, match="is damaged") as told:
        SqliteFrontier(file)
    assert "\n" not in str(told.value)


NO_TEXT = "UPDATE sqlite_master SET sql = CAST(X'43524541544520ACAC' AS TEXT) WHERE name = ?"
"""SQLite quotes it, and Python cannot read what SQLite says."""


def test_a_schema_that_cannot_be_quoted_is_told_or_made_anew(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(made, tmp_path / "run")
    assert run(["search", str(path), "the"]) == 0
    with closing(sqlite3.connect(path / files.SEARCH, isolation_level=None)) as db:
        broken(NO_TEXT, "words")(db)
    assert run(["search", str(path), "the"]) == 0
    file = tmp_path / files.FRONTIER
    SqliteFrontier(file).close()
    for where, table in ((file, "links"), (path / files.DATABASE, "pages")):
        with closing(sqlite3.connect(where, isolation_level=None)) as db:
            broken(NO_TEXT, table)(db)
    with pytest.raises(InputError, match="is damaged"):
        SqliteFrontier(file)
    capsys.readouterr()
    for command in ("show", "forget"):
        assert run([command, str(path), "http://a.example/"]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_long_text_in_an_index_takes_no_memory(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An index of 400 MB, 1 MB as it is sent, took 15 GB and 58 s."""
    path = shutil.copytree(made, tmp_path / "run")
    assert run(["search", str(path), "page"]) == 0
    with closing(sqlite3.connect(path / files.SEARCH, isolation_level=None)) as db:
        db.execute("UPDATE words_content SET c1 = printf('%.*c', ?, 'x')", (search.MOST_VALUE,))
        db.execute("UPDATE words_content SET c1 = c1 || c1")
    capsys.readouterr()
    assert run(["search", str(path), "page"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("too big); delete it")


@pytest.mark.parametrize("size", [1 << 23, files.MOST_VALUE + 1])
def test_long_texts_of_a_run_are_not_in_memory_together(
    made: Path, size: int, tmp_path: Path
) -> None:
    """1,000 rows were read at once, whatever stood in them, before the first one was refused."""
    path = shutil.copytree(made, tmp_path / "run")
    with closing(sqlite3.connect(path / files.DATABASE, isolation_level=None)) as db:
        db.execute("UPDATE pages SET title = printf('%.*c', ?, 'x')", (size,))
    opened = Run(path)
    ways: list[Callable[[], object]] = [
        lambda: next(opened.pages()),
        lambda: opened.numbered(range(6)),
        lambda: opened.latest(6),
    ]
    for way in ways:
        tracemalloc.start()
        try:
            with pytest.raises(InputError, match="is damaged"):
                way()
            assert tracemalloc.get_traced_memory()[1] < 40 << 20
        finally:
            tracemalloc.stop()


def lead_to_one_text(file: Path, table: str, column: str) -> int:
    """Make many rows of the one of a table, with a text of 4 MiB that stands in the file once;
    returns how many they are."""
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute(f"DELETE FROM {table} WHERE seq > (SELECT min(seq) FROM {table})")
        db.execute(f"UPDATE {table} SET seq = 1, {column} = printf('%.*c', ?, 'x')", (4 << 20,))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        begin, size = root.fetchone()[0], db.execute("PRAGMA page_size").fetchone()[0]
    data, begin = bytearray(file.read_bytes()), (begin - 1) * size
    assert data[begin] == 13  # a leaf, which holds the row
    (cell,) = struct.unpack_from(">H", data, begin + 8)
    length = min(size - cell, 4_061)
    one = bytes(data[begin + cell : begin + cell + length])
    number = next(at for at in range(9) if one[at] < 128) + 1  # behind the length of the row
    payload = 0
    for byte in one[:number]:
        payload = payload << 7 | byte & 127
    least = (size - 12) * 32 // 255 - 23
    local = least + (payload - least) % (size - 4)
    length = number + 1 + (local if local <= size - 35 else least) + 4
    count = int((size - 8) // (length + 2))
    for at in range(count):
        place = size - (at + 1) * length
        copied = one[:number] + bytes([at + 1]) + one[number + 1 : length]
        data[begin + place : begin + place + length] = copied
        struct.pack_into(">H", data, begin + 8 + 2 * at, place)
    struct.pack_into(">HHH", data, begin + 1, 0, count, size - count * length)
    file.write_bytes(data)
    with closing(shards.connect(file)) as db:
        query = f"SELECT count(*), min(length({column})) FROM {table}"
        assert tuple(db.execute(query).fetchone()) == (count, 4 << 20)
    return count


def test_rows_of_shards_that_lead_to_one_text_fill_no_disk(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run in shards is read from a copy of its tables, which had the text once for each row. SQLite
    says "full" of its bound and of a disk: the user is told which."""
    path = tmp_path / "run"
    folder = files.shard(path, 0)
    shutil.copytree(made, folder)
    shards.merged(path).close()
    assert lead_to_one_text(folder / files.DATABASE, "pages", "title") >= 7
    with pytest.raises(InputError, match="many rows of its shards lead to one text"):
        shards.merged(path)
    nothing = shutil.disk_usage(tmp_path)._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: nothing)
    with pytest.raises(DiskError, match=r"no room for a copy in .*; make room"):
        shards.merged(path)


def test_entries_of_a_journal_that_lead_to_one_text_fill_no_memory(
    made: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(made, tmp_path / "run")
    assert lead_to_one_text(path / files.DATABASE, "journal", "events") >= 7
    with closing(sqlite3.connect(path / files.DATABASE, isolation_level=None)) as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('labels', '1')")
        db.execute("UPDATE checkpoints SET seq = 0")
    ways: list[Callable[[], object]] = [
        lambda: list(Run(path).journal()),
        lambda: snapshot.last_checkpoint(path),
    ]
    for way in ways:
        with pytest.raises(InputError, match="many rows lead to one text"):
            way()
