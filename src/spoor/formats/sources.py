"""Opening sources: format and compression are recognised by content, not by name."""

from __future__ import annotations

import io
from pathlib import Path

from spoor.errors import InputError
from spoor.formats.jsonlines import JsonLines
from spoor.formats.mediawiki import Dump
from spoor.formats.mirror import Mirror
from spoor.formats.source_file import CHUNK, File, Source
from spoor.formats.warc_reader import Warc


def sniff(path: Path) -> str:
    """`mirror`, `warc`, `mediawiki` or `jsonlines`. Raises InputError for anything else."""
    if path.is_dir():
        return "mirror"
    with File(path) as file:
        head = io.BufferedReader(file, CHUNK).peek(4096)[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"WARC/"):
        return "warc"
    if head.startswith(b"{"):
        return "jsonlines"
    if b"<mediawiki" in head:
        return "mediawiki"
    if not head:
        raise InputError(f"{path}: empty")
    raise InputError(
        f"{path}: none of JSON lines, WARC, a MediaWiki XML dump and a folder (it begins with "
        f"{head[:16]!r})"
    )


def open_source(path: Path, *, base_url: str | None = None) -> Source:
    """The source at a path; `base_url` is the URL that a mirror folder had on the web.

    Raises InputError where it is missing or has no known format.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    kind = sniff(path)
    if kind == "mirror":
        return Mirror(path, base_url)
    if kind == "warc":
        return Warc(path)
    if kind == "mediawiki":
        return Dump(path)
    return JsonLines(path)
