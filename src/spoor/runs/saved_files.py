"""Relevant documents as they came, as files of their own: `files/HOST/NAME-DIGEST.ENDING`.

A name is made of the URL alone: what is readable of its last part, and a digest of the whole, so
that no two URLs have one name, on any file system, and none leads out of the folder.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from spoor.documents.kinds import KINDS, kind_of_media, tell
from spoor.files import safe_name
from spoor.runs import files
from spoor.runs.rows import PageRow
from spoor.web.media_types import ending_of, media_of, media_of_name

_ENDING = re.compile(r"\.([a-z0-9]{1,5})$")
_MOST_BYTES = 100
"""Of the readable part of a name."""


def saved_name(url: str, media_type: str) -> tuple[str, str]:
    """(folder, file) of the document of this type at a canonical URL."""
    parts = urlsplit(url)
    last = unquote(parts.path.rstrip("/").rpartition("/")[2])
    kind = kind_of_media(media_of(media_type))
    ending = _ending(last, kind, media_type)
    stem = last[: -len(ending) - 1] if last.lower().endswith(f".{ending}") else last
    readable = safe_name(stem, _MOST_BYTES, "index")
    folder = safe_name(parts.netloc.lower(), 2 * _MOST_BYTES, "host")
    return folder, f"{readable}-{_digest(url)}.{ending}"


def _digest(url: str) -> str:
    digest = hashlib.blake2b(url.encode(), digest_size=10).digest()
    return base64.b32encode(digest).decode().lower()


def _ending(name: str, kind: str, media_type: str) -> str:
    """Of the name, where it fits the kind; else the usual one of the kind."""
    own = _ENDING.search(name.lower())
    if own:
        guessed = media_of_name(f"x.{own[1]}")
        if guessed and kind_of_media(guessed) == kind:
            return own[1]
    usual = KINDS[kind]
    media = media_of(media_type)
    known = media == usual.media_type or kind not in ("image", "audio", "video", "archive")
    return usual.ending if known else ending_of(media) or "bin"


def save(path: Path, url: str, media_type: str, body: bytes) -> Path:
    """Write a document into the folder of a run, whole or not at all; where it is now. Raises
    OSError, also where a folder on the way is a symbolic link."""
    folder, name = saved_name(url, media_type)
    with _opened(path, folder, make=True) as inside:
        part = f"{name}.part"
        with suppress(FileNotFoundError):  # of a process that died, or a pipe of a stranger
            os.unlink(part, dir_fd=inside)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(part, flags, 0o644, dir_fd=inside), "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, name, src_dir_fd=inside, dst_dir_fd=inside)
    return path / files.SAVED / folder / name


def follow_verdicts(path: Path, pages: Iterable[PageRow]) -> list[str]:
    """Save the relevant ones of these documents as `save` does, out of the archive of the run, and
    delete the files of the others. One that the archive does not have, or has damaged, is left as
    it is, so that nothing is lost; returns what is damaged, a line each. Raises OSError."""
    from spoor.formats.warc_reader import reply_at  # a run that saves nothing needs no reader
    from spoor.formats.warc_records import DamagedError

    damaged = []
    for page in pages:
        reply = None
        try:
            if page.place is not None:
                reply = reply_at(path / page.place[0], *page.place[1:], page.url)
        except DamagedError as error:
            damaged.append(f"{error}; its file in {files.SAVED}/ does not follow the verdict")
        if reply is None or not reply.body:
            continue
        if page.relevant:
            told = tell(reply.body, reply.content_type, page.url)
            save(path, page.url, told.media_type or KINDS[told.kind].media_type, reply.body)
        else:
            remove_saved(path, page.url)
    return damaged


def remove_saved(path: Path, url: str) -> int:
    """Delete the files of this URL; how many there were. Raises OSError."""
    folder, name = saved_name(url, "")
    digest = name.rpartition("-")[2].partition(".")[0]
    removed = 0
    with suppress(FileNotFoundError), _opened(path, folder, make=False) as inside:
        for one in os.listdir(inside):
            if one.rpartition("-")[2].partition(".")[0] == digest:
                os.unlink(one, dir_fd=inside)
                removed += 1
    return removed


@contextmanager
def _opened(path: Path, folder: str, *, make: bool) -> Iterator[int]:
    """The folder of a host, opened without following a link."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    opened = [os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
    try:
        for name in (files.SAVED, folder):
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=opened[-1])
            opened.append(os.open(name, flags, dir_fd=opened[-1]))
        yield opened[-1]
    finally:
        for one in opened:
            os.close(one)
