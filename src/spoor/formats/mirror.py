"""Reading a mirror folder of `wget -r`, HTTrack or a static site generator.

A file's URL is rebuilt from its path. Where the folder holds one folder a host (`wget -r`,
HTTrack), or is itself named as a host, the host is known, and its scheme is taken to be http;
otherwise `base_url` is the URL of the folder. `index.html` is its folder; a name with a `?`
(`page.php?id=3`, `page.php?id=3.html`) is the page with that query; a page that HTTrack signed has
the URL of the signature. Links written for the file names still lead to the pages.

Style sheets, scripts, fonts and images are left out; files without text are pages without words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from urllib.parse import quote

from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import kind_of_media
from spoor.errors import InputError
from spoor.files import files_below
from spoor.formats.source_file import MAX_BODY, Job, moment
from spoor.isolate.helper import GivenUpError
from spoor.isolate.parsing import parse_page
from spoor.setting import WITH_TEXT
from spoor.types import Fetched, Page, Recording
from spoor.web.media_types import media_of_name
from spoor.web.urls import Joiner, canonical

HOST = re.compile(
    r"(?:localhost|(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]+|\d+\.\d+\.\d+\.\d+)(?:[:+]\d+)?", re.IGNORECASE
)
SIGNATURE = re.compile(rb"<!-- Mirrored from (\S+) by HTTrack [^\]]*\], ([^>]*?) -->")
HTTRACK = ("hts-cache", "hts-log.txt")
FURNITURE = re.compile(r"text/css|.*javascript.*|font/.*|image/.*|application/.*font.*")
JOINER = Joiner()
"""Joins of this process; it only saves work."""


class Mirror:
    """A folder of downloaded pages."""

    def __init__(self, path: Path, base_url: str | None = None) -> None:
        roots = _roots(path, base_url)
        self._files = [
            (file, f"{base}{quote(os.fsencode(file.relative_to(root).as_posix()), safe=SAFE)}")
            for root, base in roots
            for file in _walk(root)
        ]
        self.total = sum(file.stat().st_size for file, _ in self._files)
        self.done = 0

    def jobs(self) -> Iterator[Job]:
        for file, url in self._files:
            self.done += file.stat().st_size
            yield partial(recording, file, url)


SAFE = "/~!$&'()*+,;=:@"
"""Characters of a URL's path that are not escaped, beside letters, digits and `-._`."""


def _roots(path: Path, base_url: str | None) -> list[tuple[Path, str]]:
    """Folders to read, each with its URL."""
    if base_url is not None:
        try:
            return [(path, canonical(base_url if base_url.endswith("/") else f"{base_url}/"))]
        except ValueError as error:
            raise InputError(f"--base-url {base_url!r} is no URL that can be fetched") from error
    folders = [entry for entry in _folders(path) if not entry.name.startswith((".", "hts-"))]
    if folders and all(entry.name in ("http", "https") for entry in folders):
        return [
            (host, f"{scheme.name}://{host.name.replace('+', ':')}/")
            for scheme in folders
            for host in _folders(scheme)
        ]
    loose = any(entry.is_file() and not entry.name.startswith(".") for entry in path.iterdir())
    signed = any((path / name).exists() for name in HTTRACK)
    hosts = [entry for entry in folders if HOST.fullmatch(entry.name)]
    if hosts and (signed or (len(hosts) == len(folders) and not loose)):
        return [(host, f"http://{host.name.replace('+', ':')}/") for host in hosts]
    name = path.resolve().name
    if HOST.fullmatch(name):
        return [(path, f"http://{name.replace('+', ':')}/")]
    raise InputError(f"{path}: cannot tell what site this folder mirrors; say so with --base-url")


def _folders(path: Path) -> list[Path]:
    """Folders within a folder, in a stable order; links are not followed."""
    return [entry for entry in sorted(path.iterdir()) if entry.is_dir() and not entry.is_symlink()]


def _walk(root: Path) -> Iterator[Path]:
    """Files in a stable order, without hidden ones."""
    return files_below(root, lambda name: not name.startswith((".", "hts-cache")))


def recording(file: Path, file_url: str) -> Recording | None:
    """The page of a file whose URL is `file_url`; None where it is no page."""
    media = media_of_name(file.name.partition("?")[0])
    if FURNITURE.fullmatch(media):
        return None
    try:
        size = file.stat().st_size
        with file.open("rb") as opened:
            head = opened.read(4096)
            if media in ("", "application/octet-stream") or not media.startswith("text/"):
                media = "text/html" if _looks_like_html(head) else media
            has_text = kind_of_media(media) in WITH_TEXT
            body = head + opened.read(MAX_BODY) if has_text else b""
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    url, time = _address(file_url, head)
    kind = media or "application/octet-stream"
    page = Page(url, content_type=kind, flags=frozenset({"not-html"}), fetched_at=time)
    if has_text:
        try:
            read = parse_page(body, file_url, content_type=media, fetched_at=time, joiner=JOINER)
            page = _moved(read, url)
        except GivenUpError as error:
            raise InputError(f"{file}: {error}") from error
        except UnreadableError:
            pass  # a page without words, as others that have none
    aliases = (file_url,) if file_url != url else ()
    return Recording(url, Fetched(0, page, size=size), str(file), time, aliases)


def _looks_like_html(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith(b"<") and (b"<html" in start or b"<!doctype html" in start)


def _address(file_url: str, head: bytes) -> tuple[str, float | None]:
    """The URL that the page had on the web, and its time of fetching, where they are known."""
    time = None
    url = file_url
    signature = SIGNATURE.search(head)
    if signature is not None:
        url = f"http://{signature[1].decode('utf-8', 'replace')}"
        try:
            date = parsedate_to_datetime(signature[2].decode("ascii", "replace"))
            time = moment(date.timestamp())
        except (ValueError, OverflowError):
            time = None
    elif "%3F" in file_url:
        path, _, query = file_url.partition("%3F")
        url = f"{path}?{query.removesuffix('.html')}"
    elif file_url.endswith("/index.html"):
        url = file_url.removesuffix("index.html")
    try:
        return canonical(url), time
    except ValueError:
        return file_url, time


def _moved(page: Page, url: str) -> Page:
    """The same page under its own URL."""
    return page if page.url == url else replace(page, url=url)
