"""Parquet, as pandas, DuckDB, Polars and `datasets` read it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from spoor.distribution import import_extra
from spoor.formats.exporters.columns import Options, Row, plain
from spoor.formats.source_file import bounded
from spoor.process_memory import at_most

BATCH = 1_000
"""Rows of a group at most."""

CHARACTERS = 1 << 24
"""Of the texts of a group, the row apart that reaches it."""

MOST_MEMORY = 512 << 20
"""Bytes for a group that is read again."""


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """One table with a fixed schema, in groups of rows; what varies from page to page
    (JSON-LD, tables) stands as JSON text. Returns how many rows; one that the library refuses is
    left out. Raises InputError without the extra."""
    arrow, format_ = import_extra("parquet", "Parquet", "pyarrow", "pyarrow.parquet")
    reason = arrow.struct([("reason", arrow.string()), ("share", arrow.float64())])
    kinds = {
        "list<string>": arrow.list_(arrow.string()),
        "list<reason>": arrow.list_(reason),
        "string": arrow.string(),
        "json": arrow.string(),
        "time": arrow.timestamp("ms", tz="UTC"),
        "float64": arrow.float64(),
        "bool": arrow.bool_(),
        "int32": arrow.int32(),
        "int64": arrow.int64(),
    }
    columns = {**options.columns}
    if "title" in columns:  # a row is a document
        columns.setdefault("text", "string")
    schema = arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    nested = [name for name, kind in columns.items() if kind == "json"]
    refused = arrow.ArrowException, ValueError, TypeError, OverflowError
    count = 0
    # A name may be no text, which the library cannot open.
    with path.open("wb") as file, format_.ParquetWriter(file, schema, compression="zstd") as writer:
        for batch in _batches(_values(row, columns, nested) for row in rows):
            try:
                table = arrow.Table.from_pylist(batch, schema=schema)
            except refused:
                fits = []
                for row in batch:
                    try:
                        arrow.Table.from_pylist([row], schema=schema)
                        fits.append(row)
                    except refused as error:
                        options.left_out.add(row, " ".join(str(error).split()))
                table = arrow.Table.from_pylist(fits, schema=schema)
            writer.write_table(table)
            count += table.num_rows
    return count


def write_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Copy a table without the rows of these URLs, a group at a time; returns how many went. Raises
    InputError without the extra, and the library's errors where it is none."""
    arrow, format_ = import_extra("parquet", "Parquet", "pyarrow", "pyarrow.parquet")
    compute = import_extra("parquet", "Parquet", "pyarrow.compute")[0]
    count = 0
    gone = arrow.array(sorted(urls), arrow.string())
    # What a page of a file takes is told by the file alone, and seen when it was unpacked. Of a
    # pool of the library's own the system knows only what was set apart for it.
    arrow.set_memory_pool(arrow.system_memory_pool())
    with (
        at_most(MOST_MEMORY),
        source.open("rb") as opened,
        path.open("wb") as made,
        format_.ParquetFile(opened) as file,
    ):
        schema = file.schema_arrow
        with format_.ParquetWriter(made, schema, compression="zstd") as writer:
            for group in range(file.num_row_groups):
                if file.metadata.row_group(group).num_rows > BATCH:  # a dictionary is repeated
                    raise ValueError(f"more than {BATCH:,} rows in a group, as no export has")
                table = file.read_row_group(group)
                kept = table.filter(compute.invert(compute.is_in(table["url"], value_set=gone)))
                count += table.num_rows - kept.num_rows
                writer.write_table(kept)
    return count


def urls(source: Path) -> Iterator[str]:
    """Those of the rows of a table. Raises InputError without the extra, ValueError where it
    unpacks to `MAX_BYTES` and `MAX_RATIO` times its size, and the library's errors where it is
    none."""
    arrow, format_ = import_extra("parquet", "Parquet", "pyarrow", "pyarrow.parquet")
    arrow.set_memory_pool(arrow.system_memory_pool())
    size = source.stat().st_size
    with at_most(MOST_MEMORY), source.open("rb") as opened, format_.ParquetFile(opened) as file:
        batches = file.iter_batches(BATCH, columns=["url"])
        for batch in bounded(batches, lambda batch: 32 * int(batch.num_rows), size):
            yield from map(str, batch.column(0).to_pylist())


def _batches(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += sum(map(_characters, row.values()))
        if len(batch) >= BATCH or characters >= CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def _characters(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    return sum(map(_characters, value)) if isinstance(value, list | tuple) else 8


def _values(row: Row, columns: Iterable[str], nested: Iterable[str]) -> dict[str, Any]:
    values = plain(row, dict.fromkeys(columns, ""))
    if row["fetched_at"] is not None:
        values["fetched_at"] = datetime.fromisoformat(row["fetched_at"])
    for name in nested:
        if values.get(name) is not None:
            values[name] = json.dumps(values[name], ensure_ascii=False)
    return {name: _readable(value) for name, value in values.items()}


def _readable(value: Any) -> Any:
    """A value, its texts without half characters, which Arrow refuses."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_readable(one) for one in value]
    if isinstance(value, dict):
        return {name: _readable(one) for name, one in value.items()}
    return value
