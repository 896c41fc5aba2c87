"""CSV (RFC 4180) in UTF-8, without formulas."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TextIO

from spoor.formats.exporters.columns import Options, Row, plain
from spoor.formats.exporters.jsonl import MOST_LINE

_BLANK = (
    " \u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\u3000\ufe00-\ufe0f\ufeff"
)
"""What nobody sees, and what a program may trim or leave out."""

_FORMULA = re.compile(
    f"^(?=[{_BLANK}]*[\t\r\n])"
    f"|(?:^|(?<=[;\t\r\n]))(?=[{_BLANK}]*[=+@＝＋－＠\ufe62\ufe63\ufe66\ufe6b-])"
)
"""Where a spreadsheet takes what follows for a formula: at the beginning of a cell, whatever is not
seen before it, and where programs that part cells by semicolons or tabs see one begin."""

_PARTED = re.compile("[;\t\r\n]")
"""What may stand before one, but for the beginning: without it there is one place to look at."""

_CONTROLS = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""What a terminal obeys."""


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """A line a row. A list is one cell, its items with " | " between them; an apostrophe precedes
    what a spreadsheet would read as a formula. Returns how many rows."""
    count = 0
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        made = csv.DictWriter(file, list(options.columns))
        made.writerow({name: cell(name) for name in options.columns})
        for row in rows:
            values = plain(row, options.columns)
            made.writerow({name: cell(value) for name, value in values.items()})
            count += 1
    return count


def write_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Copy an export without the rows of these URLs; returns how many went. Raises ValueError and
    csv.Error where it is none."""
    count, cells = 0, frozenset(map(cell, urls))
    with (
        source.open(encoding="utf-8", newline="") as lines,
        path.open("w", encoding="utf-8", newline="") as file,
    ):
        rows, made = _rows(lines), csv.writer(file)
        head = next(rows, [])
        column = head.index("url")
        made.writerow(head)
        for row in rows:
            if len(row) > column and row[column] in cells:
                count += 1
            else:
                made.writerow(row)
    return count


def urls(source: Path) -> Iterator[str]:
    """Those of the rows of an export, as they stand in it (`cell`). Raises ValueError and csv.Error
    where it is none."""
    with source.open(encoding="utf-8", newline="") as lines:
        rows = _rows(lines)
        column = next(rows, []).index("url")
        for row in rows:
            if len(row) > column:
                yield row[column]


def _rows(file: TextIO) -> Iterator[list[str]]:
    """Rows of at most `MOST_LINE` characters. Raises ValueError and csv.Error."""
    size = 0

    def lines() -> Iterator[str]:
        nonlocal size
        while line := file.readline(MOST_LINE + 1):
            size += len(line)
            if size > MOST_LINE:
                raise ValueError(f"a row has more than {MOST_LINE:,} characters")
            yield line

    csv.field_size_limit(MOST_LINE)
    for row in csv.reader(lines()):
        size = 0
        yield row


def cell(value: object) -> object:
    """A value as a cell of a table."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = " | ".join(map(_item, value))
    elif isinstance(value, Mapping):
        value = _item(value)
    if isinstance(value, str):
        value = _CONTROLS.sub("", value)
        if _PARTED.search(value):
            return _FORMULA.sub("'", value)
        return f"'{value}" if _FORMULA.match(value) else value
    return value


def _item(item: object) -> str:
    if isinstance(item, Mapping) and item.keys() == {"reason", "share"}:
        return f"{item['reason']} ({item['share']:+g})"
    return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
