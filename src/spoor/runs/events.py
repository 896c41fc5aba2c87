"""The events of a journal, each a call of its crawl or an answer, and entries that hold them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from spoor import compression
from spoor.bounded_json import json_of, least_for, values_in
from spoor.errors import InputError
from spoor.types import Judgement, Revision

Event = list[Any]
"""Its kind, its time, and what else went in or must come out again."""


def label_event(url: str, before: Judgement, after: Judgement, now: float) -> Event:
    """A call of `relabel`."""
    return ["label", now, url, *_verdict_rows(before, after)]


def verdicts_of(event: Event) -> Iterator[tuple[str, Judgement, Judgement]]:
    """(URL, before, after) of the changed judgements in an event: a label, or revisions."""
    kind, _, *values = event
    rows = values[0] if kind == "revised" else [[0, 0, *values]] if kind == "label" else ()
    for *_, url, before, after in rows:
        yield url, Judgement(*before), Judgement(*after)


def revision_rows(revisions: Sequence[Revision]) -> list[list[Any]]:
    """What an event holds of revisions."""
    return [
        [one.number, one.ticket, one.url, *_verdict_rows(one.before, one.after)]
        for one in revisions
    ]


def _verdict_rows(*judgements: Judgement) -> list[list[float]]:
    return [[one.score, one.relevant, one.reward] for one in judgements]


def events_of(entry: bytes) -> list[Event]:
    """The events of an entry, without the bodies of their pages. Raises InputError if it is
    damaged."""
    try:
        return parts_of(entry)[0]
    except ValueError as error:
        raise InputError("an entry of the journal is damaged") from error


def packed(
    events: Sequence[Event],
    bodies: Sequence[bytes] = (),
    compressor: compression.zstd.ZstdCompressor | None = None,
) -> bytes:
    """An entry of the journal. Pass a `compressor` for many entries: making one costs more than
    compressing a small entry."""
    head = json.dumps(events).encode()
    entry = b"".join((len(head).to_bytes(8, "little"), head, *bodies))
    least = least_for(values_in(head))
    return compression.packed(entry, compressor or new_compressor(), least)


def new_compressor() -> compression.zstd.ZstdCompressor:
    """One for entries."""
    return compression.compressor(1, checksum=True)


def parts_of(entry: bytes) -> tuple[list[Event], bytes]:
    """Events and bodies of an entry. Raises ValueError if it is damaged."""
    data = compression.unpacked(entry)
    end = 8 + int.from_bytes(data[:8], "little")
    events: list[Event] = json_of(data[8:end], len(entry))
    return events, data[end:]
