"""Lists of sites as people have them: one a line, or a table with a column of addresses."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from spoor.errors import InputError
from spoor.files import read_plain
from spoor.runs import files

_URL_COLUMNS = ("url", "website", "site", "domain", "homepage")
"""What the column of a table with the addresses may be called; the first of these counts."""

SITE = re.compile(
    r"(?:[\w-]{1,63}\.){1,9}(?!(?:txt|csv|list|urls)\b)[a-z]{2,24}(?:/\S{0,200})?", re.IGNORECASE
)
"""A name of a host, and maybe a path, as people write an address and do not call a file."""

_COMMENT = re.compile(r"\s#.*")
"""What follows an address in its line, as in Heritrix's lists of seeds."""


@dataclass(frozen=True, slots=True)
class SiteList:
    """The rows of a list."""

    names: tuple[str, ...]
    """Of the columns of a table; none where it has no line of names, or is no table."""
    column: int
    """That has the addresses."""
    rows: Iterator[tuple[list[str], int]]
    """The cells of each row, and its line; blank lines of a plain list, and its comments, are left
    out. Read once. Raises InputError where a table is damaged."""

    def addresses(self) -> Iterator[tuple[str, int]]:
        """(address with its scheme, line) of each row that has one."""
        for cells, line in self.rows:
            if found := self.address(cells):
                yield with_scheme(found), line

    def address(self, cells: list[str]) -> str:
        """That of a row, as it stands there; empty where it has none."""
        cell = cells[self.column].strip() if self.column < len(cells) else ""
        return "" if cell.startswith("#") else cell


def with_scheme(address: str) -> str:
    """An address; a site without a scheme is taken as of https."""
    return f"https://{address}" if SITE.fullmatch(address) else address


def read_list(path: Path) -> SiteList:
    """A list of sites. O(bytes). Raises InputError where it cannot be read."""
    try:
        text = read_plain(path, files.MOST_SETTINGS).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the seed file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the seed file {path} is no text in UTF-8: {error}") from error
    return _table(path, text) if path.suffix.lower() == ".csv" else SiteList((), 0, _plain(text))


def _plain(text: str) -> Iterator[tuple[list[str], int]]:
    for number, line in enumerate(text.splitlines(), 1):
        address = _COMMENT.sub("", line).strip()
        if address and not address.startswith("#"):
            yield [address], number


def _table(path: Path, text: str) -> SiteList:
    """The column that has the addresses is known by its name; the only one needs none."""
    rows = _cells(path, text)
    first, line = next(rows, ([], 1))
    names = [cell.strip().lower() for cell in first]
    column = next((at for at, name in enumerate(names) if name in _URL_COLUMNS), None)
    if column is not None:
        return SiteList(tuple(first), column, rows)
    if len(first) > 1:
        raise InputError(f"{path}, line {line}: no column is named {', '.join(_URL_COLUMNS)}")

    def all_rows() -> Iterator[tuple[list[str], int]]:
        yield first, line
        yield from rows

    return SiteList((), 0, all_rows())


def _cells(path: Path, text: str) -> Iterator[tuple[list[str], int]]:
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        for row in rows:
            yield row, rows.line_num
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: {error}") from error
