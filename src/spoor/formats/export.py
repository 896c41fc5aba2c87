"""Exports of the pages of a run: the forms, the form that a file name asks for, and how pages are
removed from an export.

Rows are read and written one by one, so memory stays flat. A file or a folder appears complete or
not at all.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.files import remove_left
from spoor.formats.exporters.columns import Options, Row
from spoor.formats.exporters.target import new_file, new_folder, remove_files


@dataclass(frozen=True, slots=True)
class Form:
    """One form of an export."""

    module: str
    """Of `spoor.formats.exporters`."""
    suffix: str = ""
    """Ending of file names that ask for it; empty if none does."""
    function: str = "write"
    """That writes rows. Of a file, the one whose name ends with `_without` copies such an export
    without some URLs."""
    is_folder: bool = False
    is_table: bool = False
    """Of rows that need not be documents."""
    is_bare: bool = False
    """It has no columns."""
    is_archive: bool = False
    """Of records, with those of what the pages need to be shown."""
    needs: tuple[str, ...] = ()
    """Columns on request that it always has, and `passages`."""

    def write(self, rows: Iterable[Row], path: Path, options: Options) -> int:
        """Write the rows to an empty file or folder; returns how many."""
        call: Callable[[Iterable[Row], Path, Options], int] = self._function(self.function)
        return call(rows, path, options)

    def write_without(self, source: Path, path: Path, urls: Collection[str]) -> int:
        """Copy an export that is a file to an empty one, without these URLs; returns how many rows,
        passages or records went. Each library has its own errors for what is no such export."""
        name = f"{self.function}_without"
        call: Callable[[Path, Path, Collection[str]], int] = self._function(name)
        return call(source, path, urls)

    def urls(self, source: Path) -> Iterator[str]:
        """The URLs of the rows of such an export, of a form in `PARTED`."""
        call: Callable[[Path], Iterator[str]] = self._function("urls")
        return call(source)

    def _function(self, name: str) -> Any:
        return getattr(import_module(f"spoor.formats.exporters.{self.module}"), name)


FORMS: Mapping[str, Form] = {
    "jsonl": Form("jsonl", ".jsonl", is_table=True),
    "csv": Form("csv", ".csv", is_table=True),
    "parquet": Form("parquet", ".parquet", is_table=True),
    "jsonl.gz": Form("jsonl", ".jsonl.gz", "write_gz", is_table=True),
    "jsonl.zst": Form("jsonl", ".jsonl.zst", "write_zst", is_table=True),
    "log": Form("crawl_log", ".log", is_table=True),
    "bulk": Form("jsonl", ".ndjson", "write_bulk"),
    "warc": Form("warc", ".warc.gz", is_bare=True, is_archive=True),
    "wacz": Form("wacz", ".wacz", is_archive=True),
    "sqlite": Form("sqlite", ".sqlite", needs=("text",)),
    "markdown": Form(
        "markdown",
        is_folder=True,
        needs=("kind", "language", "date", "author", "licence", "markdown"),
    ),
    "text": Form("markdown", function="write_text", is_folder=True, needs=("text",)),
    "passages": Form("passages", ".passages.jsonl", needs=("language", "licence", "passages")),
}


def form_of(out: Path, chosen: str | None) -> str:
    """The form of an export: the `chosen` one, else the one that the ending of the name asks for; a
    name without an ending is a folder of Markdown. Raises InputError if neither names a form."""
    if chosen is not None:
        if chosen not in FORMS:
            raise InputError(f"unknown format {chosen!r}; there are: {', '.join(FORMS)}")
        return chosen
    form = form_by_ending(out.name)
    if form is not None:
        return form
    if not out.suffix:
        return "markdown"
    endings = ", ".join(form.suffix for form in FORMS.values() if form.suffix)
    raise InputError(
        f"{out} does not say its format; give --format, or a name that ends with one of {endings}, "
        "or with none of them for a folder of Markdown (of plain text: --format text)"
    )


def form_by_ending(name: str) -> str | None:
    """The form of a file with such a name, by the longest ending that fits, if any does."""
    by_ending = sorted(FORMS.items(), key=lambda item: -len(item[1].suffix))
    endings = ((form, one.suffix) for form, one in by_ending if one.suffix)
    return next((form for form, suffix in endings if name.endswith(suffix)), None)


PARTED = ("jsonl", "jsonl.gz", "jsonl.zst", "csv", "parquet")
"""Forms that may be a folder of several files."""


def write(
    rows: Iterable[Row], out: Path, form: str, options: Options, rows_per_file: int | None = None
) -> int:
    """Write rows to a file, which is replaced if it is there, or to a folder, which may be there
    from an earlier export; returns how many. `rows_per_file`: of a form in `PARTED`, to a folder of
    files `part-00000…` with so many each. Raises InputError where that cannot be written."""
    chosen = FORMS[form]
    if rows_per_file is None:
        with (new_folder if chosen.is_folder else new_file)(out) as path:
            return chosen.write(rows, path, options)
    if form not in PARTED:
        raise InputError(f"{form} is one whole; in several files are: {', '.join(PARTED)}")
    if rows_per_file < 1:
        raise InputError(f"{rows_per_file} rows are no file; give 1 or more")
    with new_folder(out) as path:
        count, left = 0, iter(rows)
        for number in itertools.count():
            some = itertools.islice(left, rows_per_file)
            first = next(some, None)
            if first is None and number:
                return count
            begun = () if first is None else (first,)
            file = path / f"part-{number:05}{chosen.suffix}"
            count += chosen.write(itertools.chain(begun, some), file, options)
    raise AssertionError


def form_of_parts(folder: Path) -> str | None:
    """The form of the files of an export in several; None where a folder is none."""
    return next((form_by_ending(file.name) for file in parts(folder)), None)


def parts(folder: Path) -> list[Path]:
    """The files of an export in several, in their order."""
    return sorted(folder.glob("part-[0-9]*"))


def urls_of(path: Path) -> Iterator[str]:
    """The URLs of the documents of an export that is a table, in one file or several. Raises
    InputError where it is none that can be read."""
    files = parts(path) if path.is_dir() else [path]
    try:
        if not files:
            raise ValueError("it has no file of an export")
        for file in files:
            form = form_by_ending(file.name)
            if form not in PARTED:
                raise ValueError(f"it is none of {', '.join(PARTED)}")
            if not file.is_file():
                raise ValueError("it is no file")  # a pipe would be waited for
            yield from FORMS[form].urls(file)
    except InputError:
        raise
    except Exception as error:  # what a stranger wrote breaks each library in its own way
        what = str(error) or "it is no export"
        raise InputError(f"cannot read the export {path}: {what}") from error


def remove(path: Path, form: str, urls: Collection[str]) -> int:
    """Take the pages of these canonical URLs out of an export of a form; returns how many rows,
    passages, records or files went. It is written anew beside itself and swapped; where nothing
    goes it is left alone. Raises InputError where it cannot be read or written."""
    wanted = frozenset(urls)
    try:
        remove_left(path.parent, path.name)
        if path.is_dir() and FORMS[form].is_folder:
            return remove_files(path, wanted)
        if path.is_dir():
            return sum(remove(file, form, wanted) for file in parts(path) if not file.is_symlink())
        if not path.is_file():
            raise ValueError("it is no plain file")  # a pipe would be waited for
        with new_file(path) as part:
            count = FORMS[form].write_without(path, part, wanted)
            if not count:
                part.unlink()
        return count
    except InputError:
        raise
    except Exception as error:  # what a stranger wrote breaks each library in its own way
        what = str(error) or "it is no export"
        raise InputError(f"cannot take pages out of {path}: {what}") from error
