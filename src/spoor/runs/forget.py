"""Takes pages out of a run: rows, archive, results, labels, the index of searches, and exports that
lie in its folder.

The archive is written anew, without the records of these pages, under a name that was not used
before; one transaction then takes the rows out and names the new files, and the old ones are
deleted. Whenever the process dies, the run opens: before that transaction with all pages, after it
without them, and what is left over of the files goes at the next opening.

What stays, since nothing could be undone by taking it out: that the URL was asked for, so that the
crawl does not fetch it again; that it lies on the path to other pages; and what the policy learned.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from spoor.errors import DiskError, InputError, mend_of_disk
from spoor.files import remove_left, sync_folder
from spoor.formats.export import form_by_ending, form_of_parts, remove
from spoor.formats.exporters.target import LIST
from spoor.formats.exporters.warc import copy_without
from spoor.formats.warc_records import DAMAGE
from spoor.runs import files, shards
from spoor.runs.checkpoints import drop_unused_chunks
from spoor.runs.database import has_table
from spoor.runs.events import events_of
from spoor.runs.lock import Lock
from spoor.runs.recovery import damaged, forgotten, mend_results, telling
from spoor.runs.requisite_queue import forget_requisites, forgotten_requisites
from spoor.runs.saved_files import remove_saved
from spoor.runs.schema import read_settings
from spoor.runs.snapshot import parts, settings_of_crawl
from spoor.runs.writer import RunWriter
from spoor.web.urls import canonical

POINTS = ("archive written", "swap noted", "archive named", "committed", "old deleted", "done")
"""Steps, passed to `failpoint` when they are reached: where a test may end the process."""


@dataclass(slots=True)
class Forgotten:
    """What was taken out."""

    pages: int = 0
    failures: int = 0
    records: int = 0
    """Of the archive."""
    requisites: int = 0
    """What a page needed to be shown and no other page does."""
    labels: int = 0
    """Lines of people."""
    saved: int = 0
    """Documents saved as files."""
    exports: dict[str, int] = field(default_factory=dict)
    """File or folder → rows, records or files taken out."""
    failed: dict[str, str] = field(default_factory=dict)
    """Export → why its pages could not be taken out."""
    not_found: list[str] = field(default_factory=list)
    """URLs of which the run had nothing."""


def forget(
    path: Path,
    urls: Sequence[str],
    *,
    exports: Sequence[Path] = (),
    failpoint: Callable[[str], None] = lambda step: None,
) -> Forgotten:
    """Take the pages of these URLs out of a run that no process holds, and out of the `exports`
    that are named and those that lie in its folder.

    Raises InputError for what is no URL, for a watch, where the run is held by another process, was
    ended in the middle (its journal needs the pages: go on with it once), or cannot be written.
    Costs reading and writing each archive that holds one of the pages.
    """
    try:
        wanted = {canonical(url, routes=True) for url in urls}
    except ValueError as error:
        raise InputError(str(error)) from None
    settings_of_crawl(path)  # what a watch told stands in more files
    named = [(one, _form(one)) for one in exports]
    told = Forgotten()
    found: set[str] = set()
    gone = {*wanted}
    """With what only these pages needed."""
    for part in parts(path):
        _recover(part)
        with Lock(part) as lock:
            lock.hold()
            lock.hold_database()
            with telling(part):
                try:
                    known, requisites = _forget(part, wanted, told, failpoint)
                    found |= known
                    gone |= requisites
                finally:
                    _remove_parts(part)
    told.labels = _blank_labels(path, wanted)
    if path not in parts(path):
        shards.write_results(path)
    for folder in {path, *parts(path)}:
        told.saved += sum(remove_saved(folder, url) for url in wanted)
        for end in ("", "-journal", "-wal", "-shm"):
            (folder / f"{files.SEARCH}{end}").unlink(missing_ok=True)
        _remove_leftovers(folder)
    for export, form in [*_exports(path), *named]:
        try:
            count = remove(export, form, gone)
        except InputError as error:
            told.failed[str(export)] = str(error)
            continue
        if count:
            told.exports[str(export)] = count
    told.not_found = sorted(wanted - found)
    failpoint("done")
    return told


def _recover(path: Path) -> None:
    """Bring a run back to its last commit."""
    RunWriter(path, replace(read_settings(path), warc=False)).close()


def _forget(
    path: Path, urls: Collection[str], told: Forgotten, failpoint: Callable[[str], None]
) -> tuple[set[str], set[str]]:
    """Of one folder; returns which URLs were found, and those of requisites that went."""
    marks = ", ".join("?" * len(urls))
    with closing(sqlite3.connect(path / files.DATABASE, isolation_level=None)) as db:
        for pragma in ("synchronous=FULL", "secure_delete=ON", "wal_autocheckpoint=0"):
            db.execute(f"PRAGMA {pragma}")
        _refuse_open_journal(path, db)
        has_requisites = has_table(db, "requisites")
        archived = {"pages": "seq", **({"requisites": "number"} if has_requisites else {})}
        _refuse_damaged_places(path, db, archived)
        found = {
            url
            for table in ("pages", "failures")
            for (url,) in db.execute(f"SELECT url FROM {table} WHERE url IN ({marks})", tuple(urls))
        }
        ends: dict[str, int] = json.loads(db.execute("SELECT warc FROM ends").fetchone()[0])
        requisites = forgotten_requisites(db, urls) if has_requisites else set[str]()
        told.requisites += len(requisites)
        found |= requisites & {*urls}
        all_urls = {*urls, *requisites}
        new = _rewrite(path, all_urls, ends, db, told, archived)
        failpoint("archive written")
        if new:
            names = [name for pair in new.items() for name in (pair[0], pair[1][0])]
            db.execute("INSERT OR REPLACE INTO meta VALUES ('swapped', ?)", (json.dumps(names),))
            failpoint("swap noted")
            for name, *_ in new.values():
                _part(path, name).rename(path / name)
            sync_folder(path)
            failpoint("archive named")
        db.execute("BEGIN IMMEDIATE")
        for old, (name, size, dropped) in new.items():
            _move(db, old, name, dropped, archived)
            del ends[old]
            ends[name] = size
        db.execute("UPDATE ends SET warc = ?", (json.dumps(ends),))
        if has_requisites:
            forget_requisites(db, requisites)
        tickets = f"SELECT ticket FROM pages WHERE url IN ({marks})"
        db.execute(f"DELETE FROM renders WHERE ticket IN ({tickets})", tuple(urls))
        if has_table(db, "asked_in_browser"):
            db.execute(f"DELETE FROM asked_in_browser WHERE url IN ({marks})", tuple(urls))
        for table in ("pages", "failures"):
            gone = db.execute(f"DELETE FROM {table} WHERE url IN ({marks})", tuple(urls)).rowcount
            setattr(told, table, getattr(told, table) + gone)
            note = (f"forgotten {table}", str(forgotten(db, table) + gone))
            if gone:
                db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", note)
        for table in ("validators", "freshness", "rendered"):
            db.execute(f"DELETE FROM {table} WHERE url IN ({marks})", tuple(urls))
        newest = "(SELECT max(generation) FROM checkpoints)"
        db.execute(f"DELETE FROM checkpoints WHERE generation < {newest}")
        db.execute("DELETE FROM journal WHERE seq <= (SELECT min(seq) FROM checkpoints)")
        drop_unused_chunks(db, str(path / files.DATABASE))
        db.execute("COMMIT")
        failpoint("committed")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        for old in new:
            (path / old).unlink(missing_ok=True)
        sync_folder(path)
        failpoint("old deleted")
        db.execute("DELETE FROM meta WHERE name = 'swapped'")
        mend_results(path, db)
        _rewrite_recovered(path, all_urls, told)
    return found, requisites


def _refuse_open_journal(path: Path, db: sqlite3.Connection) -> None:
    """Raises InputError where pages were fetched since the newest checkpoint: going on needs them
    as they were."""
    row = db.execute("SELECT coalesce(max(seq), 0) FROM checkpoints").fetchone()
    rows = db.execute("SELECT events FROM journal WHERE seq > ?", (row[0],))
    if any(event[0] in ("page", "call") for (entry,) in rows for event in events_of(entry)):
        raise InputError(
            f"the last process of {path} was ended in the middle; give its command again and let "
            "it end, then forget"
        )


def _refuse_damaged_places(path: Path, db: sqlite3.Connection, archived: Mapping[str, str]) -> None:
    """Raises InputError where a row does not say where in the archive it stands, before any file is
    written: SQLite keeps any type in any column. `archived`: table → column of its numbers, of
    those whose rows stand in the archive."""
    for table, number in archived.items():
        row = db.execute(
            f"SELECT {number} FROM {table} WHERE warc_file IS NOT NULL"
            " AND (typeof(warc_offset) != 'integer' OR warc_offset < 0)"
        ).fetchone()
        if row is not None:
            raise damaged(path, f"row {row[0]} of its {table} names no place in the archive")


def _rewrite(
    path: Path,
    urls: Collection[str],
    ends: dict[str, int],
    db: sqlite3.Connection,
    told: Forgotten,
    archived: Iterable[str],
) -> dict[str, tuple[str, int, list[tuple[int, int]]]]:
    """Write each archive that has records of these URLs anew, beside itself: old name → new name,
    size, and what was left out. `archived`: the tables whose rows stand there."""
    selects = [f"SELECT warc_offset, url FROM {table} WHERE warc_file = ?1" for table in archived]
    places = " UNION ALL ".join(selects)
    _remove_parts(path)
    new: dict[str, tuple[str, int, list[tuple[int, int]]]] = {}
    number = max([_number(file.name) for file in files.archives(path)], default=0)
    for file in files.archives(path):
        if file.name not in ends:
            continue
        name = files.archive(number + 1)
        part = _part(path, name)
        try:
            dropped = copy_without(file, part, urls, dict(db.execute(places, (file.name,))))
            if not dropped:
                part.unlink()
                continue
            with part.open("rb") as written:
                os.fsync(written.fileno())
        except DAMAGE as error:
            if isinstance(error, OSError) and (mend := mend_of_disk(error)):
                why = f"cannot write {file} anew: {error.strerror}; {mend}"
                raise DiskError(why) from error
            raise InputError(f"cannot write {file} anew: {error}") from error
        number += 1
        told.records += len(dropped)
        new[file.name] = (name, part.stat().st_size, dropped)
    return new


def _rewrite_recovered(path: Path, urls: Collection[str], told: Forgotten) -> None:
    """Do the same with records that were kept aside: no row names a place in these files."""
    for file in path.glob(f"recovered-{files.WARC}*.warc.gz"):
        with suppress(InputError):
            told.records += remove(file, "warc", urls)


def _remove_parts(path: Path) -> None:
    """Remove what was written beside archives and did not take their place."""
    for leftover in path.glob("forgetting-*.part"):
        with suppress(OSError):  # a folder, which is not ours
            leftover.unlink()


def _part(path: Path, name: str) -> Path:
    return path / f"forgetting-{name}.part"


def _number(name: str) -> int:
    digits = name.removeprefix(files.WARC).removesuffix(".warc.gz").lstrip("-")
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _move(
    db: sqlite3.Connection,
    old: str,
    new: str,
    dropped: Sequence[tuple[int, int]],
    archived: Iterable[str],
) -> None:
    """Make the rows of these tables that stand in an archive name their places in the new one."""
    starts = [offset for offset, _ in dropped]
    before = [0]
    for _, length in dropped:
        before.append(before[-1] + length)

    def moved(offset: int) -> int:
        return offset - before[bisect_left(starts, offset)]

    db.create_function("moved", 1, moved, deterministic=True)
    for table in archived:
        db.execute(
            f"UPDATE {table} SET warc_file = ?, warc_offset = moved(warc_offset) "
            "WHERE warc_file = ?",
            (new, old),
        )


def _blank_labels(path: Path, urls: Collection[str]) -> int:
    """Overwrite the labels of these pages with blanks: how far labels were read stays right."""
    count = 0
    for folder in {path, *parts(path)}:
        file = files.labels(folder)
        if folder != path and file == files.labels(path):
            continue
        try:
            opened = os.fdopen(files.open_own(file, os.O_RDWR), "r+b")
        except FileNotFoundError:
            continue
        with opened:
            start = 0
            for line in opened.read(files.MOST_BYTES).splitlines(keepends=True):
                with suppress(ValueError, LookupError, TypeError, RecursionError):
                    if json.loads(line)["url"] in urls:
                        os.pwrite(opened.fileno(), b" " * (len(line.rstrip(b"\n"))), start)
                        count += 1
                start += len(line)
            os.fsync(opened.fileno())
    return count


_UNNAMED = re.compile(r"tmp[a-z0-9_]{8}")
_ITS_FILES = re.compile(r"pages|data\.warc\.gz|lines-\d+")
"""The folders without a name of exports that died, and what lies in them."""


def _remove_leftovers(path: Path) -> None:
    """Remove what processes left half written in the run's folder when they died: it may hold any
    page, and nobody reads it."""
    remove_left(path)
    for entry in [*path.iterdir()]:
        name = entry.name
        own = name.endswith(".part") and files.is_own(name.removesuffix(".part"))
        is_folder = entry.is_dir() and not entry.is_symlink()
        if is_folder and _UNNAMED.fullmatch(name):
            own = all(_ITS_FILES.fullmatch(one.name) for one in entry.iterdir())
        if own:
            if is_folder:
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _exports(path: Path) -> list[tuple[Path, str]]:
    """The exports that lie in the run's folder, with their form."""
    found = []
    for entry in sorted(path.iterdir()):
        if entry.is_symlink() or files.is_own(entry.name) or entry in files.shards(path):
            continue
        form = _form_by_name(entry)
        if form is not None:
            found.append((entry, form))
    return found


def _form(path: Path) -> str:
    form = _form_by_name(path) if path.exists() else None
    if form is None:
        raise InputError(f"{path} is no export that pages can be taken out of")
    return form


def _form_by_name(path: Path) -> str | None:
    if path.is_dir():
        return "markdown" if (path / LIST).is_file() else form_of_parts(path)
    return form_by_ending(path.name)
