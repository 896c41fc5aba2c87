"""WACZ 1.1.1: an archive with its index and a list of its pages, in one ZIP file that players such
as ReplayWeb.page open where it lies (https://specs.webrecorder.net/wacz/1.1.1/).

The records are copied as they were archived. The index is CDXJ in compressed blocks (ZipNum),
sorted on the disk, so that memory stays flat.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import re
import shutil
import tempfile
import zlib
from base64 import b32encode
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote_to_bytes, urlsplit
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from spoor.bounded_json import json_of_line
from spoor.display import printable
from spoor.distribution import NAME, VERSION
from spoor.formats.exporters.columns import Options, Row, asked_of
from spoor.formats.exporters.jsonl import MOST_LINE, json_line, read_lines
from spoor.formats.exporters.warc import Archives, records_of, with_requisites
from spoor.formats.source_file import MAX_BYTES, MAX_RATIO

BLOCK = 300
"""Lines of the index in one compressed block, as many as the `wacz` tool takes."""

SORTED_AT_ONCE = 50_000
"""Lines of the index that are sorted in memory."""

_PIECE = 1 << 18

ARCHIVE = "data.warc.gz"
_EXTRA = b"SP\0\0"
"""An empty extra field of each part. A part may turn out larger than 2 GB, so its sizes stand in an
extra field of its own head (ZIP64); players look for one there only where the directory at the end
of the file names one, too."""

_WWW = re.compile(r"^www\d*\.")
_BLANK = re.compile(r"[\x00-\x20]")
_PRINTABLE = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
_MOST_NESTED = 64
"""Escapes of escapes that are looked through."""
_FIRST = datetime(1980, 1, 1, tzinfo=UTC)
"""The first time that ZIP can store."""


def write(rows: Iterable[Row], path: Path, options: Options) -> int:
    """One archive of all rows; returns how many pages. One that was not archived is left out.
    Raises InputError where none was. Costs some disk beside `path` while it is written: the index
    and the list of pages."""
    parts: list[dict[str, Any]] = []
    with ExitStack() as undo:
        beside = Path(undo.enter_context(tempfile.TemporaryDirectory(dir=path.parent)))
        file = undo.enter_context(ZipFile(path, "w", ZIP_STORED, allowZip64=True))
        pages = undo.enter_context((beside / "pages").open("w+b"))
        archives = undo.enter_context(Archives(options))
        lines = _Sorted(beside)
        with _entry(file, f"archive/{ARCHIVE}", parts, compress=False) as out:
            count, first, latest = _archive(rows, options, archives, out, pages, lines)
        with _entry(file, "indexes/index.cdx.gz", parts, compress=False) as out:
            blocks = list(_blocks(lines.merged(), out))
        with _entry(file, "indexes/index.idx", parts) as out:
            head = {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}
            out.write(f"!meta 0 {json.dumps(head)}\n".encode())
            for block in blocks:
                out.write(block)
        pages.seek(0)
        with _entry(file, "pages/pages.jsonl", parts) as out:
            head = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
            named = {"columns": options.asked} if options.asked else {}
            out.write(json_line({**head, "hasText": "text" in options.columns, **named}))
            shutil.copyfileobj(pages, out)
        package = json.dumps(_package(parts, options, first, latest), indent=2).encode()
        with _entry(file, "datapackage.json", []) as out:
            out.write(package)
        with _entry(file, "datapackage-digest.json", []) as out:
            out.write(json.dumps({"path": "datapackage.json", "hash": _digest(package)}).encode())
    return count


def write_without(source: Path, path: Path, urls: Collection[str]) -> int:
    """Make an archive anew of its own records and list of pages, without these URLs; returns how
    many pages went. Raises ValueError, LookupError and OSError where it is none."""
    gone = 0
    with ZipFile(source) as file, tempfile.TemporaryDirectory(dir=path.parent) as folder:
        archive = Path(folder) / ARCHIVE
        stored = file.getinfo(f"archive/{ARCHIVE}")
        if stored.compress_type != ZIP_STORED:  # it might unpack to a thousand times
            raise ValueError("its archive is compressed again, which no export does")
        for entry in file.infolist():
            if entry.file_size > MAX_BYTES + MAX_RATIO * entry.compress_size:
                raise ValueError(f"{entry.filename} unpacks to over {MAX_RATIO} times its size")
        with file.open(stored) as records, archive.open("wb") as out:
            shutil.copyfileobj(records, out)
        with file.open("datapackage.json") as opened:
            package = json_of_line(opened.read(MOST_LINE))

        def rows(lines: Iterator[bytes]) -> Iterator[Row]:
            nonlocal gone
            held: dict[str, Any] | None = None
            rest: list[Row] = []
            for page, place, requisites in _pages_of(archive, lines):
                kept = [one for one in requisites if one["url"] not in urls]
                gone += len(requisites) - len(kept)
                if page["url"] in urls:  # what others need may stand behind it
                    gone += 1
                    (rest if held is None else held["requisites"]).extend(kept)
                    continue
                if held is not None:
                    yield held
                held = {**page, "fetched_at": page["ts"], "archive": place}
                held["requisites"], rest = [*rest, *kept], []
            if held is not None:
                yield held

        with file.open("pages/pages.jsonl") as opened:
            lines = read_lines(opened)
            head = json_of_line(next(lines, b""))
            columns = {"text": "string"} if head.get("hasText") else {}
            asked = tuple(map(str, head.get("columns", ())))
            title = str(package.get("title", ""))
            options = Options(columns, Path(folder), title=title, asked=asked)
            write(rows(lines), path, options)
    return gone


def _pages_of(
    archive: Path, lines: Iterator[bytes]
) -> Iterator[tuple[dict[str, Any], tuple[str, int], list[Row]]]:
    """Each page of a list, the place of its response in the archive, and what stands behind it up
    to the next page: what it needs to be shown. Raises ValueError where they do not agree."""
    responses: Iterator[Row] = (
        {
            "url": record.headers.get("warc-target-uri", "").strip("<>"),
            "fetched_at": record.headers.get("warc-date", ""),
            "archive": (ARCHIVE, offset),
        }
        for offset, record in records_of(archive)
        if record.kind == "response"
    )
    following = next(responses, None)
    pages = map(json_of_line, lines)
    page = next(pages, None)
    while page is not None:
        if following is None or following["url"] != page["url"]:
            raise ValueError("its list of pages is not that of its archive")
        place, requisites = following["archive"], list[Row]()
        after, following = next(pages, None), next(responses, None)
        while following is not None and (after is None or following["url"] != after["url"]):
            requisites.append(following)
            following = next(responses, None)
        yield page, place, requisites
        page = after


def _archive(
    rows: Iterable[Row],
    options: Options,
    archives: Archives,
    out: _Counted,
    pages: IO[bytes],
    lines: _Sorted,
) -> tuple[int, str, str]:
    """Copy the records of all rows; returns their number, the first URL, and the latest time."""
    count, first, latest = 0, "", ""
    for row in archives.archived(rows):
        url, when = row["url"], row["fetched_at"]
        for one in with_requisites(row):
            out.write(archives.first_record(one))
            for index, (member, head) in enumerate(archives.records(one)):
                if not index:
                    digest = payload_digest(member, head)
                    for line in cdxj(one["url"], head, digest, out.size, len(member)):
                        lines.add(line)
                out.write(member)
            latest = max(latest, one["fetched_at"])
        page = {"id": f"page-{count + 1}", "url": url, "ts": when, "title": printable(row["title"])}
        if row.get("text") is not None:
            page["text"] = row["text"]
        page |= asked_of(row, options, *page, "text")
        pages.write(json_line(page))
        first = first or url
        count += 1
    return count, first, latest


def _package(
    parts: list[dict[str, Any]], options: Options, first: str, latest: str
) -> dict[str, Any]:
    created = datetime.fromisoformat(latest) if latest else _FIRST
    package = {
        "profile": "data-package",
        "wacz_version": "1.1.1",
        "title": printable(options.title) or "Pages",
        "software": f"{NAME} {VERSION}",
        "created": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "resources": parts,
    }
    return package | ({"mainPageUrl": first} if first else {})


# ---------------------------------------------------------------- parts of the ZIP file


class _Counted:
    """A part of a ZIP file as it is written: its size and digest so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self._file.write(data)
        self._digest.update(data)
        self.size += len(data)
        return len(data)

    @property
    def digest(self) -> str:
        return f"sha256:{self._digest.hexdigest()}"


@contextmanager
def _entry(
    file: ZipFile, name: str, parts: list[dict[str, Any]], *, compress: bool = True
) -> Iterator[_Counted]:
    """A part of the file, and its line in the list of all. Archive and index are not compressed
    again, so that a player can read one record."""
    info = ZipInfo(name, _FIRST.timetuple()[:6])
    info.compress_type = ZIP_DEFLATED if compress else ZIP_STORED
    info.external_attr = 0o644 << 16
    info.extra = _EXTRA
    with file.open(info, "w", force_zip64=True) as stream:
        counted = _Counted(stream)
        yield counted
    parts.append(
        {
            "name": name.rpartition("/")[2],
            "path": name,
            "hash": counted.digest,
            "bytes": counted.size,
        }
    )


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


# ---------------------------------------------------------------- the index


class _Sorted:
    """Lines in any order, sorted through files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lines: list[bytes] = []
        self._files: list[Path] = []

    def add(self, line: bytes) -> None:
        self._lines.append(line)
        if len(self._lines) >= SORTED_AT_ONCE:
            file = self._folder / f"lines-{len(self._files)}"
            file.write_bytes(b"".join(sorted(self._lines)))
            self._files.append(file)
            self._lines.clear()

    def merged(self) -> Iterator[bytes]:
        """All lines, in the order of bytes."""
        with ExitStack() as undo:
            runs: list[Iterable[bytes]] = [
                undo.enter_context(file.open("rb")) for file in self._files
            ]
            yield from heapq.merge(sorted(self._lines), *runs)


def _blocks(lines: Iterator[bytes], out: _Counted) -> Iterator[bytes]:
    """Write the index in compressed blocks; yields the line that names each."""
    while block := list(islice(lines, BLOCK)):
        packer = zlib.compressobj(wbits=31)
        data = packer.compress(b"".join(block)) + packer.flush()
        place = {"offset": out.size, "length": len(data), "digest": _digest(data)}
        yield block[0].partition(b"{")[0] + json.dumps(place).encode() + b"\n"
        out.write(data)


def cdxj(url: str, head: bytes, digest: str, offset: int, length: int) -> Iterator[bytes]:
    """The lines of a response in the index, one for each of its `keys`. `head` is the beginning of
    its record, with its headers and those of HTTP; `digest` that of its body."""
    warc, _, http = head.partition(b"\r\n\r\n")
    status, _, fields = http.partition(b"\r\n\r\n")[0].partition(b"\r\n")
    words = status.split()
    value = {
        "url": url,
        "mime": _header(fields, b"content-type").partition(";")[0].strip().lower() or "unk",
        "status": words[1].decode("latin-1") if len(words) > 1 else "",
        "digest": digest,
        "length": str(length),
        "offset": str(offset),
        "filename": ARCHIVE,
    }
    date, said = _stamp(_header(warc, b"warc-date")), json.dumps(value)
    for key in keys(url):
        yield f"{key} {date} {said}\n".encode()


def payload_digest(member: bytes, head: bytes = b"") -> str:
    """SHA-1 of the body in a response record, as archives name it: base 32. `head`: the beginning
    of the record; one that is whole in it is not decompressed again."""
    digest = hashlib.sha1(usedforsecurity=False)
    start, left = _body(head) or (0, -1)
    if 0 <= left <= len(head) - start:
        digest.update(head[start : start + left])
        return _named(digest.digest())
    decoder = zlib.decompressobj(wbits=31)
    head, left, data = b"", -1, member
    while (left != 0) and (data or not decoder.eof):
        piece = decoder.decompress(data, _PIECE)
        data = decoder.unconsumed_tail
        if not piece and not data:
            break
        if left < 0:
            head += piece
            found = _body(head)
            if found is None:
                if len(head) > _PIECE:  # no such headers
                    break
                continue
            start, left = found
            piece = head[start:]
        digest.update(piece[:left])
        left -= min(left, len(piece))
    return _named(digest.digest())


def _body(head: bytes) -> tuple[int, int] | None:
    """Where the body of a response begins in its record, and its size; None where the headers are
    not there, or not whole."""
    warc = head.find(b"\r\n\r\n")
    http = head.find(b"\r\n\r\n", warc + 4)
    if warc < 0 or http < 0:
        return None
    size = _header(head[:warc], b"content-length")[:18]
    whole = int(size) if size.isascii() and size.isdigit() else 0
    return http + 4, max(0, whole - (http - warc))


def _named(digest: bytes) -> str:
    return f"sha1:{b32encode(digest).decode()}"


def _header(lines: bytes, name: bytes) -> str:
    """The value of a header among lines; empty where it is not there."""
    found = re.search(rb"(?i)(?:\A|\r\n)%b[ \t]*:([^\r\n]*)" % name, lines)
    return found[1].decode("utf-8", "replace").strip() if found else ""


def _stamp(date: str) -> str:
    return re.sub(r"\D", "", date)[:14].ljust(14, "0")


def keys(url: str) -> Sequence[str]:
    """The keys of a URL in an index: its host from the right, then the path, in lower case, the
    parameters in order. One as ReplayWeb.page looks it up and, where that is another, one as pywb
    does, which takes `/a//b/` for `/a/b` and `%7C` for `|`, but leaves out no parameters of
    sessions, as pywb does. A URL that a player cannot take apart, as a stranger's run may have, is
    its own key."""
    try:
        parts = urlsplit(url.lower())
        host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
    except ValueError:
        return (_in_one_word(url.lower()),)
    path, query = parts.path or "/", f"?{_ordered(parts.query)}" if parts.query else ""
    literal = f"[{host}]" if ":" in host else host
    player = f"{_reversed(literal)}{port}){path}{query}"
    host, path = _reversed(host.replace("..", ".").strip(".")), _without_dots(_unescaped(path))
    parameters = [name.split("=", 1) for name in _unescaped(parts.query).split("&")]
    query = f"?{'&'.join(map('='.join, sorted(parameters)))}" if parts.query else ""
    both = dict.fromkeys((player, f"{host}{port}){path}{query}"))
    return [*map(_in_one_word, both)]


def _in_one_word(key: str) -> str:
    return _BLANK.sub(lambda match: f"%{ord(match[0]):02x}", key)


def _reversed(host: str) -> str:
    return ",".join(reversed(_WWW.sub("", host).split(".")))


def _unescaped(part: str) -> str:
    """A part of a URL as pywb has it: what was escaped more than once, too, and only what is no
    printable ASCII, `#` and `%` escaped."""
    found = part.encode()
    for _ in range(_MOST_NESTED):
        if (plain := unquote_to_bytes(found)) == found:
            break
        found = plain
    return quote(found, safe=_PRINTABLE).lower()


def _without_dots(path: str) -> str:
    kept: list[str] = []
    for name in path.split("/")[1:]:
        if name == ".." and kept:
            kept.pop()
        elif name != ".":
            kept.append(name)
    return "/" + "/".join(filter(None, kept))


def _ordered(query: str) -> str:
    return "&".join(sorted(query.split("&")))
