"""JSON lines in: one page a line.

`{"url", "html" | "body_base64" | "text" and "links" | "body_absent": true, "status",
"content_type", "fetched_at" (RFC 3339 or Unix seconds), "label" (one or a list), "site", "title",
"root": true}`; unknown keys are kept as they are. `links` are `{"url", "anchor", "context"}`,
`[url, anchor]`, or `{"to": id of another row, "anchor", "pos": place of the anchor in the text}`.
A row with a status of 3xx and a `location` is a redirect; one of 4xx or 5xx is a failure.

`categories` become labels: `Sports.Football` gives `Sports.Football` and `Sports`, so that a
category matches all its subcategories. What lies deeper than `MOST_LEVELS` is left out.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from spoor.bounded_json import json_of_line
from spoor.documents.errors import UnreadableError
from spoor.errors import InputError
from spoor.formats.source_file import CHUNK, File, FileSource, Job, moment
from spoor.formats.words_around import words_around
from spoor.isolate.helper_pool import check_size
from spoor.isolate.parsing import parse_reply
from spoor.types import Anchor, Failed, Fetched, Link, Page, Recording, Redirected, Reply
from spoor.web.urls import Joiner, canonical

MAX_LINE = 1 << 26
"""Longest line in bytes; a longer one is no page."""

MOST_LEVELS = 20
"""Of a category: each level is a label with the names of all above it."""

JOINER = Joiner()
"""Joins of this process; it only saves work."""

ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
ANYWHERE = "http://anywhere.invalid/"
"""Any base: an absolute URL is joined to it without a change."""

ELSEWHERE = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
"""Beginnings of URLs that are not of the web."""

MARKS = {"<frame>": "frame", "<iframe>": "iframe", "<area>": "area", "<meta>": "refresh"}
"""Placeholder for the anchor text of a link without one → kind of the link."""


class JsonLines(FileSource):
    """A file of JSON lines, compressed or not."""

    def jobs(self) -> Iterator[Job]:
        ids = _ids(self._path)
        with self._file:
            for number, line in _lines(self._file):
                yield partial(recording, line, f"{self._path} line {number}", ids)


def _lines(file: File) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line), blank ones left out."""
    number = 0
    reader = io.BufferedReader(file, CHUNK)
    while line := reader.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise InputError(f"{file.path} line {number}: longer than {MAX_LINE >> 20} MiB")
        if line.strip():
            yield number, line


def _ids(path: Path) -> Mapping[str, str] | None:
    """The URLs behind the ids of the rows, where the first row's links name rows; else None."""
    ids: dict[str, str] = {}
    with File(path) as file:
        for number, line in _lines(file):
            try:
                row = json_of_line(line)
            except (ValueError, RecursionError):
                if number == 1:
                    return None
                continue
            if not isinstance(row, dict):
                continue
            links = row.get("links")
            if number == 1:
                names = isinstance(links, list) and all(
                    isinstance(link, dict) and "to" in link for link in links
                )
                if "id" not in row or not names:
                    return None
            if isinstance(row.get("id"), str) and isinstance(row.get("url"), str):
                ids[row["id"]] = row["url"]
    return ids


def recording(line: bytes, where: str, ids: Mapping[str, str] | None = None) -> Recording | None:
    """What one line says; None for a page that is not on the web (`file:`, `ftp:`). Raises
    InputError naming `where`."""
    try:
        row = json_of_line(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON ({error.msg}, column {error.colno})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error})") from error
    if not isinstance(row, dict):
        raise InputError(f"{where}: not a JSON object")
    try:
        return _recording(row, where, ids, len(line))
    except _BadError as error:
        raise InputError(f"{where}: {error}") from error


class _BadError(ValueError):
    """What is wrong with a row."""


def _recording(
    row: dict[str, Any], where: str, ids: Mapping[str, str] | None, length: int
) -> Recording | None:
    """Of a line of so many bytes."""
    given = _take(row, "url", str)
    if given is None:
        raise _BadError("no url")
    if ELSEWHERE.match(given):
        return None
    try:
        url = canonical(given)
    except ValueError as error:
        raise _BadError(f"no URL that can be fetched: {given!r}") from error
    time = _time(row.pop("fetched_at", None))
    status = _take(row, "status", int)
    if status is not None and not 0 <= status < 1000:
        raise _BadError(f"status is {str(status)[:40]}, not one of HTTP")
    status = 200 if status is None else status
    try:
        if "links" in row:
            check_size(length)
        reply = _reply(row, url, status, time, ids)
    except UnreadableError as error:
        reply, row = error.failed(status=status), {}
    aliases = (given,) if given != url else ()
    return Recording(url, reply, where, time, aliases, row)


def _reply(
    row: dict[str, Any], url: str, status: int, time: float | None, ids: Mapping[str, str] | None
) -> Reply:
    """The reply that a row records; takes the keys that it understands out of the row."""
    location = _take(row, "location", str)
    if 300 <= status < 400 and location is not None:
        try:
            return Redirected(0, canonical(location, url), status)
        except ValueError as error:
            raise _BadError(f"no URL that can be fetched: {location!r}") from error
    if not 200 <= status < 300:
        return Failed(0, "http", f"status {status}", status)
    content_type = _take(row, "content_type", str) or "text/html"
    labels = _labels(row)
    site = _take(row, "site", str) or ""
    body: bytes | None = None
    media = content_type
    if isinstance(row.get("html"), str):
        body = row.pop("html").encode("utf-8", "replace")
        media = f"{content_type.partition(';')[0]}; charset=utf-8"
    elif (encoded := _take(row, "body_base64", str)) is not None:
        try:
            body = base64.b64decode(encoded, validate=True)
        except ValueError as error:
            raise _BadError(f"body_base64 is not base64 ({error})") from error
    if body is not None:
        return parse_reply(
            body,
            url,
            content_type=media,
            status=status,
            labels=labels,
            site=site,
            fetched_at=time,
            joiner=JOINER,
        )
    absent = row.pop("body_absent", False)
    text = _take(row, "text", str)
    entries = _take(row, "links", list)
    if text is None and entries is None and not absent:
        raise _BadError("no html, body_base64, text, links or body_absent")
    flags = frozenset() if content_type.startswith("text/html") else frozenset({"not-html"})
    page = Page(
        url,
        status,
        content_type,
        _take(row, "title", str) or "",
        text=text or "",
        links=_links(entries or [], url, text or "", ids),
        flags=flags,
        labels=labels,
        site=site,
        fetched_at=time,
    )
    return Fetched(0, page, size=len(page.text.encode("utf-8", "replace")))


def _take(row: dict[str, Any], key: str, kind: type) -> Any:
    """The value under a key, taken out; None where it is missing or null."""
    value = row.pop(key, None)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise _BadError(f"{key} is {json.dumps(value)[:40]}, not {NAMES[kind]}")
    return value


NAMES = {str: "a string", int: "a whole number", list: "a list"}


def _time(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = moment(value)
    else:
        try:
            date = datetime.fromisoformat(str(value))
        except ValueError as error:
            raise _BadError(
                f"fetched_at is {str(value)[:40]!r}, not a time as in RFC 3339"
            ) from error
        seconds = moment((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())
    if seconds is None:
        raise _BadError(f"fetched_at is {str(value)[:40]!r}, not between 1970 and the year 9999")
    return float(seconds)


def _labels(row: dict[str, Any]) -> frozenset[str]:
    label = row.pop("label", None)
    labels = label if isinstance(label, list) else [] if label is None else [label]
    categories = _take(row, "categories", list) or []
    if not all(isinstance(name, str) for name in (*labels, *categories)):
        raise _BadError("a label is not a string")
    prefixes = set(labels)
    for category in categories:
        parts = category.split(".", MOST_LEVELS)[:MOST_LEVELS]
        prefixes.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return frozenset(prefixes)


def _links(
    entries: list[Any], url: str, text: str, ids: Mapping[str, str] | None
) -> tuple[Link, ...]:
    """Links to what can be fetched; mail addresses and the like are left out."""
    links: list[Link] = []
    for item in entries:
        target, words, place, context = _parts(item, ids)
        resolved = JOINER.join(target, ANYWHERE if ABSOLUTE.match(target) else url)
        if resolved is None:
            continue
        kind = MARKS.get(words, "a")
        if kind != "a":
            words = ""
        before, after = _around(text, words, place, context)
        links.append(Link(resolved, Anchor(words, before, after, position=len(links)), kind))
    return tuple(links)


def _parts(item: Any, ids: Mapping[str, str] | None) -> tuple[str, str, int, str]:
    """Target, anchor text, its place in the text (-1: unknown), context of one link."""
    target: Any
    words: Any
    place: Any = -1
    context: Any = None
    if isinstance(item, dict) and "to" in item:
        target, words, place = _target(item["to"], ids), item.get("anchor"), item.get("pos", -1)
    elif isinstance(item, dict):
        target, words, context = item.get("url"), item.get("anchor"), item.get("context")
    elif isinstance(item, list) and len(item) in (1, 2):
        target, words = item[0], item[-1] if len(item) == 2 else None
    else:
        target, words = item, None
    words, context = words or "", context or ""
    strings = all(isinstance(part, str) for part in (target, words, context))
    if not strings or not isinstance(place, int):
        raise _BadError(f"a link is {json.dumps(item)[:60]}")
    return target, words, place, context


def _target(to: object, ids: Mapping[str, str] | None) -> str:
    if ids is None:
        raise _BadError("a link names a row by id, but the links of the first row do not")
    if not isinstance(to, str) or to not in ids:
        raise _BadError(f"a link leads to row {to!r}, which is not there")
    return ids[to]


def _around(text: str, anchor: str, place: int, context: str) -> tuple[str, str]:
    """Words before and after an anchor: from the text where its place is known, else from the
    context that the row gives."""
    if place >= 0:
        return words_around(text, anchor, place)
    before_it, matched, after_it = context.partition(anchor) if anchor else (context, "", "")
    return (before_it.strip(), after_it.strip()) if matched else (context.strip(), "")
