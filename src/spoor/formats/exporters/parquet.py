"""Parquet, as pandas, DuckDB, Polars and `datasets` read it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from spoor.distribution import import_extra
from spoor.formats.exporters.columns import Options, Row, plain

BATCH = 1_000
"""Rows of a group."""


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """One table with a fixed schema, in groups of `BATCH` rows; what varies from page to page
    (JSON-LD, tables) stands as JSON text. Returns how many rows. Raises InputError without the
    extra."""
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
    columns.setdefault("text", "string")
    schema = arrow.schema([(name, kinds[kind]) for name, kind in columns.items()])
    nested = [name for name, kind in columns.items() if kind == "json"]
    count = 0
    with format_.ParquetWriter(path, schema, compression="zstd") as writer:
        every = iter(rows)
        while batch := list(islice(every, BATCH)):
            values = [_values(row, columns, nested) for row in batch]
            writer.write_table(arrow.Table.from_pylist(values, schema=schema))
            count += len(batch)
    return count


def _values(row: Row, columns: Iterable[str], nested: Iterable[str]) -> dict[str, Any]:
    values = plain(row, dict.fromkeys(columns, ""))
    values["fetched_at"] = datetime.fromisoformat(row["fetched_at"])
    for name in nested:
        if values.get(name) is not None:
            values[name] = json.dumps(values[name], ensure_ascii=False)
    return {name: _readable(value) for name, value in values.items()}


def _readable(value: Any) -> Any:
    """A text without half characters, which Arrow refuses."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return value
