"""The writer of a recorded web: rows one by one, then the numbers that need the complete web."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from spoor.errors import InputError, cannot_write
from spoor.files import new_part, sync_folder, sync_tree
from spoor.web.urls import is_canonical
from spoor.worlds.store import FORMAT, PAGE, ROW, TABLES, first_of_places, place_of
from spoor.worlds.store_rows import Packed


@dataclass(slots=True)
class Summary:
    """What an import wrote, and what it left out."""

    pages: int = 0
    redirects: int = 0
    failures: int = 0
    links: int = 0
    resolved: int = 0
    """Links whose target is recorded."""
    merged: int = 0
    """Recordings equal to another one of the same page."""
    respelt: int = 0
    """Recordings left out because another spelling of their URL holds other content."""
    replaced: int = 0
    """Recordings that are older than another one of the same URL."""
    elsewhere: int = 0
    """Records of the sources that are no page of the web: `file:` and `dns:` URLs, requests."""
    skipped: int = 0
    """Bad recordings that were left out with `keep_going`."""
    notes: list[str] = field(default_factory=list)
    """Error messages of the first of them."""
    unlabelled: list[str] = field(default_factory=list)
    """URLs of the label files that no recording had."""
    bytes: int = 0
    """Size of the folder."""


@dataclass(slots=True)
class _Blob:
    """A file that grows."""

    file: BinaryIO
    size: int = 0

    def append(self, data: bytes) -> int:
        offset = self.size
        self.file.write(data)
        self.size += len(data)
        return offset


@dataclass(slots=True)
class _Table:
    """Strings by number, in the order of their first mention."""

    numbers: dict[Any, int] = field(default_factory=dict)

    def number(self, value: Any) -> int:
        return self.numbers.setdefault(value, len(self.numbers))


class Writer:
    """Writes a recorded web; `with Writer(folder) as writer: writer.add(pack(recording)) ...`.

    All goes to a hidden folder beside it, which takes the folder's name when the `with` ends
    without an error and is removed when it ends with one. One that a process left that was killed
    is removed by the next that writes to the same folder.

    Two recordings of one URL are one page where they are equal or one has no body. Else the later
    one counts if both have a time; else the one whose source spelt the URL canonically, if the
    other did not (a fragment, a missing slash); else they are a conflict, which raises
    InputError.

    Memory: the URLs, and some 250 bytes a page; no text.
    """

    def __init__(self, folder: Path, *, replace: bool = False) -> None:
        self._folder = folder
        _check_free(folder, replace)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._part, self._lock = new_part(folder)
        except OSError as error:
            raise cannot_write(folder.parent, error) from error
        self._words = self._blob("words.bin")
        self._anchors = self._blob("anchors.bin")
        self._extra = self._blob("extra.bin")
        self._targets = self._blob("targets.part")
        self._tables = {name: _Table() for name in TABLES}
        self._ids: dict[str, int] = {}
        self._row_of: dict[int, int] = {}
        self._rows = np.zeros(1024, dtype=ROW)
        self._url_ids = array("q")
        self._times = array("d")
        self._labels: list[tuple[int, ...]] = []
        self._digests: list[bytes] = []
        self._wheres: list[str] = []
        self._aliases: dict[str, int] = {}
        self._respelt: set[int] = set()
        self.summary = Summary()

    def _blob(self, name: str) -> _Blob:
        return _Blob((self._part / name).open("wb"))

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._finish()
        except OSError as failed:
            raise cannot_write(self._folder, failed) from failed
        finally:
            self._close()
            shutil.rmtree(self._part, ignore_errors=True)
            os.close(self._lock)

    def add(self, packed: Packed) -> None:
        """Enter one recording. Raises InputError for one that contradicts an earlier one."""
        number = self._ids.setdefault(packed.url, len(self._ids))
        row = self._row_of.get(number)
        labels = self._tables["labels"]
        mine = tuple(labels.number(label) for label in packed.labels)
        if row is None:
            row = len(self._url_ids)
            if row == len(self._rows):
                self._rows = np.concatenate([self._rows, np.zeros(row, dtype=ROW)])
            self._row_of[number] = row
            self._url_ids.append(number)
            self._times.append(np.nan if packed.time is None else packed.time)
            self._labels.append(mine)
            self._digests.append(packed.digest)
            self._wheres.append(packed.where)
            self._rows[row] = self._record(packed)
            if packed.aliases:
                self._respelt.add(row)
        else:
            self._labels[row] = tuple(dict.fromkeys(self._labels[row] + mine))
            if self._prevails(packed, row):
                self._times[row] = np.nan if packed.time is None else packed.time
                self._digests[row] = packed.digest
                self._wheres[row] = packed.where
                if not packed.aliases:
                    self._respelt.discard(row)
                root = self._rows[row]["root"]
                self._rows[row] = self._record(packed)
                self._rows[row]["root"] |= root
            else:
                self._rows[row]["root"] |= packed.root
        for alias in packed.aliases:
            if place_of(alias) != place_of(packed.url) and is_canonical(alias):
                self._aliases.setdefault(alias, row)

    def _prevails(self, packed: Packed, row: int) -> bool:
        """Whether this recording takes the place of the one that the row holds."""
        old = self._rows[row]
        if packed.digest == self._digests[row] or _bodiless(packed):
            self.summary.merged += 1
            return False
        if old["kind"] == PAGE and not (old["links"] or old["size"]):
            self.summary.merged += 1
            return True
        if packed.time is not None and not np.isnan(self._times[row]):
            self.summary.replaced += 1
            return packed.time > self._times[row]
        if packed.aliases:
            self.summary.respelt += 1
            return False
        if row in self._respelt:
            self.summary.respelt += 1
            return True
        raise InputError(
            f"{packed.where}: {packed.url} is in {self._wheres[row]} already, with other "
            "content; keep one of the two, or give --keep-going to keep the first"
        )

    def _record(self, packed: Packed) -> tuple[Any, ...]:
        tables, ids = self._tables, self._ids
        urls = packed.targets.split("\n") if packed.targets else []
        numbers = array("i", [ids.setdefault(url, len(ids)) for url in urls])
        return (
            self._words.append(packed.words),
            len(packed.words),
            self._anchors.append(packed.anchors),
            len(packed.anchors),
            self._extra.append(packed.extra),
            len(packed.extra),
            self._targets.append(numbers.tobytes()) // 4,
            len(numbers),
            0,
            0,
            tables["sites"].number(packed.site),
            tables["types"].number(packed.type),
            tables["languages"].number(packed.language),
            tables["encodings"].number(packed.encoding),
            tables["flags"].number(packed.flags),
            packed.status,
            packed.size,
            np.nan if packed.time is None else packed.time,
            packed.kind,
            packed.root,
        )

    # -- the end: numbers that only the complete web gives

    def _finish(self) -> None:
        count = len(self._url_ids)
        if not count:
            raise InputError("nothing to record: the sources hold no page")
        for blob in (self._words, self._anchors, self._extra, self._targets):
            blob.file.close()
        rows, ids = self._rows[:count], np.array(self._url_ids, dtype=np.int64)
        urls = list(self._ids)
        places = first_of_places([urls[url_id] for url_id in self._url_ids])
        same = self._same_under_another_form(urls, places)
        order = [row for row in range(count) if row not in same]
        order.sort(key=lambda row: int(rows["kind"][row]))
        place = np.full(count, -1, dtype=np.int64)
        place[order] = np.arange(len(order))
        for row, other in same.items():
            place[row] = place[other]
            merged = dict.fromkeys(self._labels[other] + self._labels[row])
            self._labels[other] = tuple(merged)
            rows["root"][other] |= rows["root"][row]
        number = np.full(len(urls), -1, dtype=np.int64)
        number[ids] = place
        for alias, row in self._aliases.items():
            url_id = self._ids.get(alias)
            if url_id is not None and number[url_id] < 0:
                number[url_id] = place[row]
        outside = self._number_the_rest(urls, number, places, place, len(order))
        self._write_rows(rows[order], order)
        resolved = self._write_links(rows[order], number, len(order))
        self._write_lists(urls, ids, order, outside, place)
        self._write_header(rows[order], resolved, len(outside))
        self._close()
        (self._part / "targets.part").unlink()
        self.summary.bytes = sum(path.stat().st_size for path in self._part.iterdir())
        umask = os.umask(0)
        os.umask(umask)
        self._part.chmod(0o777 & ~umask)
        self._move()

    def _same_under_another_form(
        self, urls: Sequence[str], places: dict[str, int]
    ) -> dict[int, int]:
        """Rows that hold the same as the first one of their place → that row."""
        same = {}
        for row, url_id in enumerate(self._url_ids):
            first = places[place_of(urls[url_id])]
            if first != row and self._digests[first] == self._digests[row]:
                same[row] = first
                self.summary.merged += 1
                self._aliases.setdefault(urls[url_id], first)
        return same

    def _number_the_rest(
        self,
        urls: Sequence[str],
        number: NDArray[np.int64],
        places: dict[str, int],
        place: NDArray[np.int64],
        rows: int,
    ) -> list[str]:
        """Number the URLs that are not recorded: that of a row of the same place, or a new one.
        Returns those that have none."""
        outside: list[str] = []
        for url_id in np.flatnonzero(number < 0).tolist():
            row = places.get(place_of(urls[url_id]))
            if row is not None:
                number[url_id] = place[row]
            else:
                number[url_id] = rows + len(outside)
                outside.append(urls[url_id])
        return outside

    def _write_rows(self, rows: NDArray[np.void], order: Sequence[int]) -> None:
        labels = [self._labels[row] for row in order]
        rows["labels"] = [len(mine) for mine in labels]
        rows["labels_at"] = np.cumsum(rows["labels"], dtype=np.int64) - rows["labels"]
        flat = np.fromiter((label for mine in labels for label in mine), dtype="<i4")
        np.save(self._part / "labels.npy", flat)
        moved = rows.copy()
        moved["links_at"] = np.cumsum(rows["links"], dtype=np.int64) - rows["links"]
        np.save(self._part / "rows.npy", moved)

    def _write_links(self, rows: NDArray[np.void], number: NDArray[np.int64], recorded: int) -> int:
        """The targets by their final numbers, row after row; returns how many are recorded."""
        total = int(rows["links"].sum())
        old = np.fromfile(self._part / "targets.part", dtype="<i4")
        new = np.empty(total, dtype="<i4")
        end = 0
        for start, links in zip(rows["links_at"].tolist(), rows["links"].tolist(), strict=True):
            new[end : end + links] = number[old[start : start + links]]
            end += links
        np.save(self._part / "links.npy", new)
        of_pages = int(rows["links"][rows["kind"] == PAGE].sum())
        return int(np.count_nonzero(new[:of_pages] < recorded))

    def _write_lists(
        self,
        urls: Sequence[str],
        ids: NDArray[np.int64],
        order: Sequence[int],
        outside: Sequence[str],
        place: NDArray[np.int64],
    ) -> None:
        recorded = "".join(f"{urls[url_id]}\n" for url_id in ids[order].tolist())
        (self._part / "urls.txt").write_text(recorded, "utf-8", newline="\n")
        (self._part / "outside.txt").write_text(
            "".join(f"{url}\n" for url in outside), "utf-8", newline="\n"
        )
        (self._part / "aliases.txt").write_text(
            "".join(f"{alias}\t{place[row]}\n" for alias, row in self._aliases.items()),
            "utf-8",
            newline="\n",
        )

    def _write_header(self, rows: NDArray[np.void], resolved: int, outside: int) -> None:
        summary = self.summary
        kinds = np.bincount(rows["kind"], minlength=3).tolist()
        summary.pages, summary.redirects, summary.failures = kinds
        summary.links = int(rows["links"][rows["kind"] == PAGE].sum())
        summary.resolved = resolved
        header = {
            "format": FORMAT,
            "pages": summary.pages,
            "redirects": summary.redirects,
            "failures": summary.failures,
            "links": int(rows["links"].sum()),
            "outside": outside,
            "words": self._words.size,
            "anchors": self._anchors.size,
            "extra": self._extra.size,
            **{name: list(table.numbers) for name, table in self._tables.items()},
        }
        (self._part / "web.json").write_text(
            json.dumps(header, ensure_ascii=False), "utf-8", newline="\n"
        )

    def _move(self) -> None:
        folder = self._folder
        sync_tree(self._part)
        if folder.exists() and any(folder.iterdir()):
            with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as old:
                folder.rename(Path(old) / "old")
                self._part.rename(folder)
        else:
            self._part.rename(folder)
        sync_folder(folder.parent)

    def _close(self) -> None:
        for blob in (self._words, self._anchors, self._extra, self._targets):
            blob.file.close()


def _check_free(folder: Path, replace: bool) -> None:
    """A folder that holds something else is never written over."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder for the web")
    if not any(folder.iterdir()):
        return
    if not (folder / "web.json").exists():
        raise InputError(f"{folder} holds something that is not a web; give another folder")
    if not replace:
        raise InputError(f"{folder} is a web already; give another folder, or --replace")


def _bodiless(packed: Packed) -> bool:
    return packed.kind == PAGE and not packed.links and not packed.size
