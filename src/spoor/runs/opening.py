"""Opens the folder of a run, new or old, for the process that writes it.

A folder that was written before is brought back to its last commit: the WARC files are cut back to
it (records that are whole are kept aside), and the file of results is mended.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from spoor.distribution import VERSION
from spoor.errors import (
    DiskError,
    InputError,
    PausedError,
    SpoorError,
    cannot_write,
    is_of_contents,
)
from spoor.runs import files
from spoor.runs.database import noted
from spoor.runs.lock import Lock
from spoor.runs.recovery import (
    Ends,
    check_database,
    committed,
    cut_archives,
    damaged,
    mend_results,
    of_disk,
    open_mark,
    read_identity,
    refuse_leftovers,
    swapped_archives,
    telling,
)
from spoor.runs.schema import (
    FORMAT,
    TABLES,
    as_kept,
    from_tables,
    read_settings,
    to_tables,
    write_settings,
)
from spoor.settings import Settings


@dataclass(frozen=True, slots=True)
class OpenedFolder:
    """What a run holds at its last commit."""

    db: sqlite3.Connection
    ends: Ends
    mark: int
    """Descriptor of the file that has the number of the last commit."""
    resumed: bool
    """Whether the run was begun before."""
    added_seeds: list[str]
    """Seeds that the run was not begun with."""
    recovered: list[Path]
    """Files into which archived records were moved that the last commit does not know."""
    labels_read: int
    """Bytes of the file of labels that the crawl has read."""


def open_folder(
    path: Path, settings: Settings, lock: Lock, failpoint: Callable[[str], None], undo: ExitStack
) -> OpenedFolder:
    """Open a folder that `lock` is for; `undo` closes what was opened if a later step fails.

    Raises InputError and PausedError as `RunWriter` does, OSError where a file cannot be written.
    """
    if files.shards(path):
        raise InputError(f"{path} is a run in shards; go on with --shards")
    lock.hold()
    files.refuse_links(path)
    in_file = read_settings(path, to_read=False) if files.is_run(path) else None
    if in_file is not None:
        settings.refuse_change(in_file, path / files.SETTINGS)
    failpoint("opened")
    lock.hold_database()
    try:
        db = sqlite3.connect(path / files.DATABASE, check_same_thread=False)
        undo.callback(db.close)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        # SQLite's log is emptied with each of our checkpoints and at no other time: so the database
        # file is consistent by itself even if the log is lost.
        db.execute("PRAGMA wal_autocheckpoint=0")
        resumed = check_database(path, db)
        if resumed:
            failpoint("checked")
        else:
            _create(path, db, settings)
            failpoint("created")
        begun = noted(db, "settings")
        if begun is None:
            raise damaged(path, "it holds no settings")
        known = from_tables(path, json.loads(begun))
        settings.refuse_change(known, path / files.SETTINGS)
        ends = committed(path, db)
    except sqlite3.OperationalError as error:  # read-only, full
        if is_of_contents(error):
            raise damaged(path, str(error)) from error
        raise unwritable(path, error) from error
    except (
        *(sqlite3.Error, ValueError, TypeError),
        *(LookupError, AttributeError, RecursionError),
    ) as error:
        raise damaged(path, str(error)) from error
    if in_file != known:
        write_settings(path, known)
    recovered = cut_archives(path, ends.warc, swapped_archives(db))
    failpoint("warc cut")
    with telling(path):
        if known.command == "crawl":
            mend_results(path, db)
        labels_read = int(noted(db, "labels") or 0)
    mark = open_mark(path)
    undo.callback(os.close, mark)
    added_seeds = [url for url in settings.seeds if url not in known.seeds]
    return OpenedFolder(db, ends, mark, resumed, added_seeds, recovered, labels_read)


def _create(path: Path, db: sqlite3.Connection, settings: Settings) -> None:
    """Make the tables of a new run, with the pages of the run that it refreshes, if any."""
    refresh = settings.refresh
    if refresh:
        from spoor.runs import refreshed_run  # which reads whole states

        if refreshed_run.left_over(path, Path(refresh)):
            refreshed_run.remove_left_over(path)
    refuse_leftovers(path)
    begun = json.dumps(to_tables(as_kept(path, settings)))
    db.executescript(f"BEGIN; {TABLES} PRAGMA user_version={FORMAT};")
    if refresh:
        warc = refreshed_run.copy_into(path, db, settings, time.time())
        (pages,) = db.execute("SELECT count(*) FROM pages").fetchone()
        db.execute("UPDATE ends SET pages = ?, warc = ?", (pages, json.dumps(warc)))
    db.execute("INSERT INTO meta VALUES ('settings', ?)", (begun,))
    db.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))
    if settings.shards and path in files.shards(path.parent):
        of = {"shard": str(files.shard_number(path)), "run": read_identity(path.parent)}
        db.executemany("INSERT INTO meta VALUES (?, ?)", [one for one in of.items() if one[1]])
    db.commit()
    empty_log(db)


def empty_log(db: sqlite3.Connection) -> None:
    """Move what is in SQLite's log into the database file."""
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def unwritable(path: Path, error: OSError | sqlite3.Error) -> SpoorError:
    """The error of a folder that cannot be written: a run that was begun pauses. If a database is
    locked though we hold the run, its disk keeps no locks, or another program has it open."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    if reason == "database is locked":
        return InputError(
            f"cannot lock {path / files.DATABASE}: choose an --out on a local disk, or "
            "end the other program that has it open"
        )
    with suppress(OSError):
        if (path / files.DATABASE).exists():
            return PausedError(paused(path, reason))
    if isinstance(error, OSError):
        return cannot_write(f"the run folder {path}", error)
    what = f"cannot write the run folder {path}: {reason}"
    return DiskError(f"{what}: {why}") if (why := of_disk(error, path)) else InputError(what)


def paused(path: Path, what: str | None) -> str:
    """The line about a run that cannot be written now."""
    return (
        f"paused: cannot write {path} ({what}); make room, or make it writable, and give the same "
        "command to go on"
    )
