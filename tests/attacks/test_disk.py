"""Disks that are full, read-only, slow, fail to sync, or keep no locks."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import disk_faults
from kills import finish_small
from spoor.cli.main import run
from spoor.errors import DiskError, InputError
from spoor.files import write_whole
from spoor.formats.exporters.target import Folder, new_file, new_folder
from spoor.runs import shards, writer
from spoor.runs.forget import forget
from spoor.runs.reader import Run
from spoor.runs.recovery import telling
from spoor.settings import Settings
from spoor.worlds.evolving import EvolvingWorld, Version
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("disk") / "run"
    finish_small(path)
    return path


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)
def test_a_disk_that_fails_pauses_a_crawl_and_nothing_is_lost(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, disk_faults.__file__, str(tmp_path)],
        env={**os.environ, "LD_PRELOAD": str(disk_faults.library(tmp_path))},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    rows = json.loads(ended.stdout)
    assert len(rows) == len(disk_faults.FAULTS)
    for (kind, file, _, error, _), said, failed, pages in rows:
        assert failed, f"no {kind} of {file}"
        assert pages == disk_faults.PAGES
        assert "\n" not in said
        if kind == "lock":
            assert said.startswith("InputError: cannot lock RUN"), said
            assert "choose an --out on a local disk" in said
        elif error:
            assert said.startswith("PausedError: paused: cannot write RUN"), said
        else:
            assert said == "no open link left", "a slow disk only takes longer"


READS = """
import resource, signal, sys
from pathlib import Path
from spoor.errors import InputError
from spoor.runs.recovery import telling
from spoor.settings import Settings
from spoor.runs.shards import connect
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True  # Python would keep the first bytes of it as if they were all
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # nothing can be written, as on a full disk
try:
    with telling(Path(sys.argv[1])):
        print([row[0] for row in connect(Path(sys.argv[1], "state.db")).execute("SELECT * FROM t")])
except InputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
@pytest.mark.parametrize("writing", [False, True])
def test_a_full_disk_is_not_taken_for_damage(tmp_path: Path, writing: bool) -> None:
    """Where nobody wrote last, the database is read without a list beside it."""
    file = tmp_path / "state.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE t AS SELECT 7")
        for beside in ("", "-wal") if writing else ():
            shutil.copy(f"{file}{beside}", f"{tmp_path / 'copy'}{beside}")
    if writing:  # and was killed: what it committed stands beside the file
        for beside in ("", "-wal"):
            shutil.move(f"{tmp_path / 'copy'}{beside}", f"{file}{beside}")
    done = subprocess.run(
        [sys.executable, "-c", READS, str(tmp_path)], capture_output=True, text=True, check=False
    )
    if writing:
        assert "make room, and give the same command again" in done.stdout, done
        assert "damaged" not in done.stdout
    else:
        assert done.stdout == "[7]\n", done.stdout + done.stderr


NO_ROOM = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True  # Python would keep the first bytes of it as if they were all
from spoor.cli.main import run
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
@pytest.mark.parametrize("name", ["out.jsonl", "out.sqlite", "out.parquet"])
def test_an_export_to_a_full_disk_may_be_tried_again(made: Path, tmp_path: Path, name: str) -> None:
    """Exit code 1, as for each full disk: 2 is never worth a retry."""
    out = tmp_path / name
    done = subprocess.run(
        [sys.executable, "-c", NO_ROOM, "export", str(made), str(out), "--all", "--text"],
        capture_output=True,
        text=True,
        check=False,
    )
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"spoor: cannot write {out}: ")
    assert line.endswith(
        (
            "make room, and give the same command again",
            "mend the disk, and give the same command again",
        )
    )
    assert done.returncode == 1
    assert [*tmp_path.iterdir()] == []


def test_what_cannot_be_written_whole_leaves_nothing_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fsync(file: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    out = tmp_path / "out"
    out.write_text("before")
    with pytest.raises(OSError, match="No space left") as raised:
        write_whole(out, "after")
    assert raised.value.filename == str(out)
    assert [*tmp_path.iterdir()] == [out], "half a file takes room where there is none"
    assert out.read_text() == "before"


@pytest.mark.parametrize("room", [False, True])
def test_what_cannot_be_opened_is_damaged_only_where_something_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: bool
) -> None:
    """SQLite says the same of a file that is no database, and of one that it can make no list
    beside."""
    if not room:
        monkeypatch.setattr(tempfile, "TemporaryFile", _raising(errno.ENOSPC))
    with pytest.raises(InputError) as raised, telling(tmp_path):
        shards.connect(tmp_path / "none")
    assert isinstance(raised.value, DiskError) != room
    assert ("make room" in str(raised.value)) != room
    assert ("damaged" in str(raised.value)) == room


def _raising(number: int) -> Callable[..., None]:
    def fails(*arguments: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    return fails


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES])
def test_a_new_run_without_room_may_be_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Exit code 1, where a folder that nobody may write has 2."""
    monkeypatch.setattr(writer, "open_folder", _raising(error))
    with pytest.raises(InputError, match="cannot write the run folder") as raised:
        writer.RunWriter(tmp_path / "run", Settings())
    assert isinstance(raised.value, DiskError) == (error == errno.ENOSPC)


def test_no_half_archive_is_left_where_pages_cannot_be_forgotten(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shutil.copytree(made, tmp_path / "run")
    before = {file.name for file in path.iterdir()}

    def fails(step: str) -> None:
        assert step == "archive written"
        assert {file.name for file in path.iterdir()} > before
        raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(InputError):
        forget(path, [next(Run(path).pages()).url], failpoint=fails)
    assert not [*path.glob("*.part")]


def _folder(out: Path) -> None:
    with new_folder(out) as part:
        documents = Folder(part)
        for host in ("a.example", "b.example"):
            documents.write(f"http://{host}/", host, "Kiln", ".md", "A kiln.")
        documents.close()


def _file(out: Path) -> None:
    with new_file(out) as part:
        part.write_text("kiln")


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize(
    "write", [_folder, _file, lambda out: write_whole(out, "kiln")], ids=["folder", "file", "whole"]
)
def test_what_is_said_to_be_written_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[Path], None]
) -> None:
    """Each file and folder is synced before it has its name, and then the folder that has it."""
    out, synced, at = tmp_path / "out", dict[int, int](), list[int]()

    def fsync(file: int) -> None:
        at.append(os.fstat(file).st_ino)
        if not out.exists():
            found = os.fstat(file)
            synced[found.st_ino] = found.st_size

    monkeypatch.setattr(os, "fsync", fsync)
    write(out)
    for path in (out, *out.rglob("*")):
        assert path.stat().st_ino in synced, path
        assert synced[path.stat().st_ino] == path.stat().st_size, "all of it"
    if write in (_folder, _file):
        assert at[-1] == tmp_path.stat().st_ino


GENERATED = """
import resource, signal, sys
from pathlib import Path
from spoor.errors import InputError
from spoor.worlds.evolving import EvolvingWorld
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True  # Python would keep the first bytes of it as if they were all
at = Path(sys.argv[1])
one = GeneratedWorld(GeneratedSettings(pages=20, hosts=2))
two = EvolvingWorld.open(at / "two")
resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
for web, name in ((one, "one"), (two, "two")):
    try:
        web.save(at / name)
    except InputError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of a process")
def test_a_web_that_is_made_anew_on_a_full_disk_stays_as_it_was(tmp_path: Path) -> None:
    """A half `web.toml` took the place of a whole one."""
    GeneratedWorld(GeneratedSettings(pages=10, hosts=2)).save(tmp_path / "one")
    versions = [Version(float(at), f"http://a.example/{at}", "kiln") for at in range(3)]
    EvolvingWorld(versions, roots=["http://a.example/0"]).save(tmp_path / "two")
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    done = subprocess.run(
        [sys.executable, "-c", GENERATED, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert [line.partition(":")[0].split()[0] for line in done.stdout.splitlines()] == [
        "cannot"
    ] * 2
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert GeneratedWorld.open(tmp_path / "one").settings.pages == 10


@pytest.mark.skipif(sys.platform == "win32", reason="syncs folders")
def test_a_folder_that_fails_to_sync_is_named_and_nothing_is_lost(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At each sync of a folder in turn; `spoor: Input/output error` said not where."""
    sync, path, left = os.fsync, tmp_path / "run", 0
    before = {one.url for one in Run(made).documents(everything=True)}
    gone = min(before)

    def fails(file: int) -> None:
        nonlocal left
        left -= stat.S_ISDIR(os.fstat(file).st_mode)
        if left == 0:
            left = -1
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(file)

    for nth in range(1, 9):
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(made, path)
        left = nth
        monkeypatch.setattr(os, "fsync", fails)
        code = run(["forget", str(path), gone])
        monkeypatch.setattr(os, "fsync", sync)
        told = capsys.readouterr().err
        if code == 0:
            break
        assert code == 1
        assert str(path) in told, told
        assert told.count("\n") == 1
        assert run(["forget", str(path), gone]) == 0
        assert {one.url for one in Run(path).documents(everything=True)} == before - {gone}
    assert nth > 1
