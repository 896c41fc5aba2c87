"""Rows of a run: pages, what was rendered for them, and requests that brought none."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from operator import index
from pathlib import Path
from typing import Any

from spoor.durations import is_moment
from spoor.errors import InputError
from spoor.judges.no_results import REASONS, Verdict
from spoor.runs import files
from spoor.web.urls import names_host

Why = Sequence[tuple[str, float]]
"""Reasons in words, with their share."""

_FOLDER = Path()
"""Of a row whose run is not known here."""

_MOST_TEXT, _MOST_LIST = 1 << 16, 1 << 20
"""Characters of a text of a row, and of a list as JSON: a path that a crawl writes has 16,384 and
two URLs. So many as a stranger likes are listed on no screen, and take no memory."""
_MOST_URL, _MOST_TITLE = 1 << 14, 1 << 12
"""Of what stands in a list of pages, which is sent again and again: twice what a crawl writes."""

_decode = json.JSONDecoder().decode
"""Of texts: it is `json.loads` without its options."""

_NO_RESULT = " OR ".join(f"instr(why, '{reason}')" for reason in REASONS)
VERDICT = f"seq, url, title, score, relevant, NOT relevant AND ({_NO_RESULT}) AS settled"
"""Columns of pages that `verdict` reads."""


def verdict(row: sqlite3.Row) -> Verdict:
    """The newest verdict on a page."""
    _, url, title, score, relevant, settled = row
    return Verdict(url, title, score, bool(relevant), bool(settled))


FIRST_TICKET = 1 << 40
"""Of the rows that were copied from an earlier run: a crawl has none so high."""


TOLD = "told"
"""Flag of a page of a watch that told of it."""


@dataclass(frozen=True, slots=True)
class RenderRow:
    """What a browser was asked for beside a page, and what that brought."""

    ticket: int
    """Of the page."""
    host: str
    shape: str
    """Of its URL."""
    lack: str
    """What the plain page lacked."""
    why: str
    """Why it was rendered."""
    links: int
    """That entered the crawl by it, and that it did not know."""
    words: int
    """Different words that the plain page did not have, nor the page of its kind before it."""
    text: bool
    """Whether most of the text of the page came by it."""
    relevant: bool
    """Whether the page was relevant when it came, and its text came by it."""
    gain: float
    """What that was worth, in requests."""
    seconds: float
    requests: int
    """For scripts and data."""
    received: int
    """Bytes of these."""
    held_back: int
    """Requests of the page that the crawl's rules forbid."""
    failed: str
    """Why it stays as it came; empty where it does not."""

    @classmethod
    def of(cls, row: sqlite3.Row | tuple[Any, ...]) -> RenderRow:
        """A row of the table of renders. Raises InputError where it is none."""
        values = [row[at] for at in range(len(fields(cls)))]
        texts, (gain, seconds) = (*values[1:5], values[14]), values[9:11]
        whole = (values[0], *values[5:9], *values[11:14])
        if (
            not all(isinstance(text, str) for text in texts)
            or not all(isinstance(one, int) and 0 <= one < 1 << 53 for one in whole)
            or not all(isinstance(one, float) and math.isfinite(one) for one in (gain, seconds))
        ):
            raise InputError(f"the render of page {values[0]!r} is damaged")
        values[7:9] = map(bool, values[7:9])
        return cls(*values)

    @property
    def in_words(self) -> str:
        """What it brought, and what for."""
        spent = f"{self.seconds:.1f} s and {self.requests} requests"
        if self.failed:
            return f"not rendered after {spent}: {self.failed} ({self.why})"
        return f"rendered ({self.why}): {self.links} links and {self.words} words for {spent}"


def rfc3339(time: float) -> str:
    """Unix seconds as a text, to the millisecond."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page that was fetched and judged."""

    seq: int
    """From 1 in the order of fetching; in a run in shards, of time."""
    url: str
    host: str
    status: int
    time: float
    """Of its fetch, Unix seconds."""
    seconds: float | None
    """Of its download."""
    size: int
    """Bytes."""
    score: float
    relevant: bool
    title: str
    path: Sequence[str]
    """URLs from the seed to the page; of a long path `LEFT_OUT` and the last ones."""
    why: Why
    """Of its score."""
    probability: float | None
    """With which its link was chosen; None where the policy cannot say."""
    choice_why: Why
    """Why its link was chosen."""
    warc_file: str | None
    """Where its response stands in the archive; None where it was not archived."""
    warc_offset: int | None
    warc_length: int | None
    ticket: int
    flags: Sequence[str]
    shard: int | None = None
    """Which shard fetched it; None in a run without shards."""
    number: int = 0
    """Stays the same whatever is added to the run; `seq`, where there are no shards."""
    rendered: RenderRow | None = None
    """Where whoever reads it asked for that."""
    revisited: str = ""
    """What a refresh made of it, in words; the same."""

    @classmethod
    def of(cls, row: sqlite3.Row | Mapping[str, Any]) -> PageRow:
        """A row of the table of pages."""
        values = dict(row)
        try:
            for name in ("path", "why", "choice_why"):
                text = values[name]
                if text and len(text) > _MOST_LIST:
                    raise ValueError(f"its {name} is too long")
                values[name] = _decode(text) if text and text != "[]" else []
            if len(values["flags"]) > _MOST_TEXT:
                raise ValueError("its flags are too long")
            values["relevant"] = bool(values["relevant"])
            values["flags"] = values["flags"].split()
            values.setdefault("number", values["seq"])
            page = cls(**values)
            page._check()
        except (
            *(ValueError, TypeError, AttributeError, OverflowError, RecursionError),
            OSError,  # of a time that the system cannot name
        ) as error:
            raise InputError(f"row {values['seq']} of the pages is damaged: {error}") from error
        return page

    def _check(self) -> None:
        """A database may come from a stranger, and SQLite keeps any type in any column. Raises
        ValueError, TypeError, AttributeError, OverflowError, OSError."""
        # A refresh checks all rows of the earlier run: no generators here.
        texts = (self.url, self.host, self.title, *self.path, *self.flags)
        if set(map(type, texts)) != {str}:
            raise ValueError("its texts are none")
        if max(len(self.url), len(self.host)) > _MOST_URL or len(self.title) > _MOST_TITLE:
            raise ValueError("its texts are too long")
        if {type(self.path), type(self.why), type(self.choice_why)} != {list}:
            raise ValueError("its lists are none")
        if not names_host(self.url):
            raise ValueError("its URL is none")
        for reason, share in (*self.why, *self.choice_why):
            if type(reason) is not str or not math.isfinite(share):
                raise ValueError("its reasons are none")
        optional = (self.seconds, self.probability)
        numbers = (self.time, self.score, *(one for one in optional if one is not None))
        places = (self.warc_offset, self.warc_length)
        integers = (
            self.status,
            self.size,
            self.ticket,
            *(one for one in places if one is not None),
        )
        if not all(map(math.isfinite, numbers)) or min(map(index, integers)) < 0:
            raise ValueError("its numbers are none")
        if self.status >= 1 << 31:
            raise ValueError("its status is none")
        for moment in (self.time, self.time - (self.seconds or 0.0)):  # when it ended, and began
            datetime.fromtimestamp(moment, UTC)
        if self.warc_file is not None:
            files.archive_at(_FOLDER, self.warc_file)

    @property
    def place(self) -> tuple[str, int, int] | None:
        """(file, offset, length) of its response in the archive; None where it is not there."""
        if self.warc_file is None or self.warc_offset is None or self.warc_length is None:
            return None
        return self.warc_file, self.warc_offset, self.warc_length

    def exported(self) -> dict[str, Any]:
        """The row as `spoor.formats.export` writes it, without the page's text."""
        return {
            "url": self.url,
            "title": self.title,
            "score": self.score,
            "relevant": self.relevant,
            "status": self.status,
            "host": self.host,
            "fetched_at": rfc3339(self.time),
            "size": self.size,
            "depth": max(0, len(self.path) - 1),
            "path": self.path,
            "why": [{"reason": reason, "share": share} for reason, share in self.why],
            "probability": self.probability,
            "flags": self.flags,
            "archive": None if self.place is None else self.place[:2],
        }


@dataclass(frozen=True, slots=True)
class FailureRow:
    """A request that brought no page."""

    seq: int
    url: str
    host: str
    kind: str
    reason: str
    status: int | None
    time: float
    """Unix seconds."""
    ticket: int
    shard: int | None = None
    number: int = 0

    @classmethod
    def of(cls, row: sqlite3.Row | Mapping[str, Any]) -> FailureRow:
        """A row of the table of failures."""
        failure = cls(**{"number": row["seq"], **dict(row)})
        texts = (failure.url, failure.host, failure.kind, failure.reason)
        whole = (failure.status or 0, failure.ticket)
        if (
            not all(isinstance(text, str) and len(text) <= _MOST_TEXT for text in texts)
            or not all(isinstance(number, int) for number in whole)
            or not 0 <= (failure.status or 0) < 1 << 31
            or not names_host(failure.url)
            or not is_moment(failure.time)
        ):
            raise InputError(f"row {failure.seq} of the failures is damaged")
        return failure
