"""Lists of sites as people have them: one a line, or a table with a column of addresses."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import chain, islice
from pathlib import Path

from spoor.errors import InputError
from spoor.files import read_plain
from spoor.runs import files

_URL_COLUMNS = ("url", "website", "site", "domain", "homepage")
"""What the column of a table with the addresses may be called; the first of these counts. Where
none is called so, the one column counts in which most cells are addresses."""

_LOOKED_AT = 200
"""Rows of a table of which it is seen in which column the addresses are."""

_FIRST_ROW = 100_000
"""Characters of the first row of a table that are looked at."""

_MOST_COLUMNS = 16_384
"""Of a table, as of one of a spreadsheet."""

_SEPARATORS = ",;\t"
"""Between the cells of a table: spreadsheets write a semicolon where the decimal sign is a
comma."""

_FILES = "csv|html?|json|jsonl|list|ods|tsv|txt|urls|warc|xlsx?|xml"
"""How names of files end that are no names of hosts."""

_SITE = re.compile(
    rf"(?:[\w-]{{1,63}}\.){{1,9}}(?!(?:{_FILES})(?:/|$))[a-z]{{2,24}}(?:/\S{{0,200}})?",
    re.IGNORECASE,
)
"""A name of a host, and maybe a path, as people write an address and do not call a file."""

_HTTP = re.compile(r"https?://\S+", re.IGNORECASE)

_COMMENT = re.compile(r"\s#.*")
"""What follows an address in its line, as in Heritrix's lists of seeds."""


@dataclass(frozen=True, slots=True)
class SiteList:
    """The rows of a list."""

    names: tuple[str, ...]
    """Of the columns of a table, empty where it has no line of names; none where it is no table."""
    column: int
    """That has the addresses."""
    rows: Iterator[tuple[list[str], int]]
    """The cells of each row, and its line; blank lines of a plain list, and its comments, are left
    out. Read once. Raises InputError where a table is damaged."""

    def addresses(self) -> Iterator[tuple[str, int]]:
        """(address, line) of each row that has one."""
        for cells, line in self.rows:
            if found := self.address(cells):
                yield found, line

    def address(self, cells: list[str]) -> str:
        """That of a row, as it stands there; empty where it has none."""
        cell = cells[self.column].strip() if self.column < len(cells) else ""
        return "" if cell.startswith("#") else cell


def with_scheme(address: str) -> str:
    """An address; a site without a scheme is taken as of https."""
    return f"https://{address}" if has_no_scheme(address) else address


def has_no_scheme(address: str) -> bool:
    """Whether an address is a site without a scheme."""
    return _SITE.fullmatch(address) is not None


def read_list(path: Path) -> SiteList:
    """A list of sites. O(bytes). Raises InputError where it cannot be read."""
    try:
        data = read_plain(path, files.MOST_SETTINGS)
        wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))  # as spreadsheets write "Unicode text"
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the seed file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"the seed file {path} is no text in UTF-8: {error}; a spreadsheet saves it so as "
            "CSV UTF-8"
        ) from error
    is_table = path.suffix.lower() in (".csv", ".tsv")
    return _table(path, text) if is_table else SiteList((), 0, _plain(text))


def _plain(text: str) -> Iterator[tuple[list[str], int]]:
    for number, line in enumerate(text.splitlines(), 1):
        address = _COMMENT.sub("", line).strip()
        if address and not address.startswith("#"):
            yield [address], number


def _table(path: Path, text: str) -> SiteList:
    """The column that has the addresses is known by its name, or by its cells."""
    rows = _cells(path, text, _separator(text))
    begin = [*islice(rows, _LOOKED_AT)]
    first, line = begin[0] if begin else ([], 1)
    if len(first) > _MOST_COLUMNS:
        raise InputError(f"{path}, line {line}: more than {_MOST_COLUMNS:,} columns are no list")
    names = [cell.strip().lower() for cell in first]
    column = next((at for at, name in enumerate(names) if name in _URL_COLUMNS), None)
    if column is None:
        column = _column_of_addresses(path, line, first, [cells for cells, _ in begin[1:]])
        if len(first) <= 1 or _is_address(first[column]):  # no line of names
            every = chain(begin, rows)
            return SiteList(("",) * len(first) if len(first) > 1 else (), column, every)
    return SiteList(tuple(first), column, chain(begin[1:], rows))


def _column_of_addresses(path: Path, line: int, first: list[str], rows: list[list[str]]) -> int:
    """The column in which most cells that are not empty are addresses. Raises InputError where
    there is none, or several."""
    if len(first) <= 1:
        return 0
    found = []
    for at in range(len(first)):
        cells = [row[at].strip() for row in rows or [first] if at < len(row) and row[at].strip()]
        if cells and 2 * sum(map(_is_address, cells)) > len(cells):
            found.append(at)
    if len(found) == 1:
        return found[0]
    called = ", ".join(_URL_COLUMNS)
    if not found:
        raise InputError(f"{path}, line {line}: no column is named {called}, or has addresses")
    several = " and ".join(repr(first[at].strip()[:100]) for at in found[:2])
    raise InputError(
        f"{path}, line {line}: {several} both have addresses; call the one to begin at url"
    )


def _is_address(cell: str) -> bool:
    cell = cell.strip()
    return bool(_HTTP.fullmatch(cell) or has_no_scheme(cell))


def _separator(text: str) -> str:
    """What stands between the cells of a table: what makes most cells of its first row."""
    row = re.split("[\r\n]", text[:_FIRST_ROW].lstrip("\r\n"), maxsplit=1)[0]

    def cells(separator: str) -> int:
        return len(next(csv.reader([row], delimiter=separator), []))

    return max(_SEPARATORS, key=cells)


def _cells(path: Path, text: str, separator: str) -> Iterator[tuple[list[str], int]]:
    rows = csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in rows:
            yield row, rows.line_num
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: {error}") from error
