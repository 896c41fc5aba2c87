"""What the records of an earlier run's archive are called, for the revisit records of a refresh."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from spoor.formats.warc_writer import record_name, warc_date
from spoor.types import State


class Originals:
    """What a revisit record says of the record that it stands for, by the page's number: 24 bytes
    a page, so that none has to be read again."""

    def __init__(self, identifiers: NDArray[np.void], dates: NDArray[np.float64]) -> None:
        self._identifiers, self._dates = identifiers, dates

    @classmethod
    def of(cls, said: Iterable[tuple[str, Mapping[str, str]]], count: int) -> Originals:
        """From the URL of each page and the headers of its record. One that is not as Spoor writes
        them is left out."""
        identifiers, dates = np.zeros(count, dtype="V16"), np.full(count, np.nan)
        for number, (url, headers) in enumerate(said):
            if headers.get("warc-type") != "response" or headers.get("warc-target-uri") != url:
                continue
            name = headers.get("warc-record-id", "")
            with suppress(ValueError, OverflowError):
                date = datetime.fromisoformat(headers.get("warc-date", "")).timestamp()
                key = bytes.fromhex(name[10:-1].replace("-", ""))
                named = len(key) == 16 and record_name(key) == name
                if named and warc_date(date) == headers["warc-date"]:
                    identifiers[number], dates[number] = key, date
        return cls(identifiers, dates)

    def said(self, number: int) -> tuple[str, str] | None:
        """Date and identifier; None for a page that was left out."""
        date = float(self._dates[number])
        if math.isnan(date):
            return None
        return warc_date(date), record_name(self._identifiers[number].tobytes())

    def save(self) -> State:
        return {"identifiers": self._identifiers.view(np.uint8), "dates": self._dates}

    @classmethod
    def load(cls, state: State) -> Originals:
        """From `save`."""
        rows = np.ascontiguousarray(state["identifiers"], dtype=np.uint8)
        if len(rows) != 16 * len(state["dates"]):
            raise ValueError("there are not as many identifiers of records as dates")
        return cls(rows.view("V16"), np.asarray(state["dates"], dtype=np.float64))
