"""Exchanges as they go into the archive of a run, and bodies as they come out of it again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from spoor.errors import InputError
from spoor.formats.warc_writer import Captured, Place, profile, response_at
from spoor.runs import files
from spoor.setting import MOST_OF_A_BODY
from spoor.web.content_encoding import decoded
from spoor.web.urls import plain
from spoor.web.validators import is_conditional

if TYPE_CHECKING:
    from spoor.web.exchange import Exchange

_TRUNCATED = {"length": "length", "ratio": "length", "time": "time", "disconnect": "disconnect"}
"""Why a body is cut off, by the words of WARC."""

_MOST_HEAD = 1 << 20

_FRAMING = frozenset(("transfer-encoding", "content-length"))


def captured(exchange: Exchange, revisit: Mapping[str, str] | None = None) -> Captured:
    """One exchange as the archive holds it: as a revisit record with these headers, without its
    body. So is a 304 to a conditional request: the record says whose validators were sent, or that
    they were those of the document before it at this URL. No more stands beside it, and not even
    the headers of the 304 in it: WARC 1.1, section 6.7.3, needs none, and players send those that
    they find, so that a browser would show an empty page."""
    unchanged = exchange.status == 304 and is_conditional(exchange.request_headers)
    if unchanged and not revisit:
        revisit = {
            "WARC-Profile": profile(of_payload=False),
            "WARC-Refers-To-Target-URI": exchange.url,
        }
    cut = exchange.truncated or ("skipped" if exchange.skipped else "")
    return Captured(
        exchange.url,
        exchange.began,
        b"" if unchanged else _request(exchange),
        b"" if unchanged else _response(exchange, body=not revisit),
        _TRUNCATED.get(cut, "unspecified") if cut else "",
        None if exchange.document is exchange.body else (exchange.media_type, exchange.document),
        revisit,
    )


def read_body(path: Path, place: Place, size: int, limit: int) -> bytes:
    """The body of an exchange that was archived without a cut, decompressed, or what a browser made
    of it: `size` bytes. `limit`: bytes of any body that the run reads. Takes twice its memory.

    Raises InputError where the archive in the run's folder is damaged, or the place is not in it.
    """
    files.archive_at(path, place.file)
    # A document of a browser may be four times as long.
    head, raw = response_at(path, place, min(4 * limit, MOST_OF_A_BODY) + _MOST_HEAD)
    encodings = [
        value.strip()
        for name, _, value in (line.partition(":") for line in head.split("\r\n"))
        if name.lower() == "content-encoding"
    ]
    try:
        return decoded(raw, encodings[0] if encodings else "", size)
    except ValueError as error:
        file = path / place.file
        raise InputError(f"{file} is damaged at byte {place.offset}: {error}") from error


def _request(exchange: Exchange) -> bytes:
    _, _, host, *rest = plain(exchange.url).split("/", 3)
    target = rest[0] if rest else ""
    head = f"GET /{target} HTTP/1.1\r\nHost: {host}\r\n{_lines(exchange.request_headers)}\r\n"
    return head.encode("utf-8", "replace")


@lru_cache(maxsize=4)  # a run has one
def _lines(headers: tuple[tuple[str, str], ...]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers)


def _response(exchange: Exchange, *, body: bool) -> bytes:
    """The reply as received, except that chunking is undone: its header keeps its old value under
    another name, as Common Crawl does."""
    lines = [f"HTTP/1.1 {exchange.status} {exchange.reason}"]
    for name, value in exchange.headers.items():
        if name.lower() in _FRAMING:
            name = f"X-Crawler-{name}"
        elif name.lower() in ("set-cookie", "set-cookie2"):
            # Whoever has an archive should not be able to go on with the session of who crawled.
            value = f"{value.partition('=')[0]}=(left out)"
        lines.append(f"{name}: {value}")
    raw = exchange.raw if body else b""
    # Of a revisit, too, it is that of the payload: players send these headers before the payload.
    lines.append(f"Content-Length: {len(exchange.raw)}\r\n\r\n")
    return b"".join(("\r\n".join(lines).encode("utf-8", "surrogateescape"), raw))
