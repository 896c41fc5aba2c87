"""What a run reads before it begins: where it begins, and fingerprints of the files it goes by.

Apart from the run itself, so that a command that is refused for them has imported nothing heavy.
"""

from __future__ import annotations

import csv
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from spoor.errors import InputError
from spoor.files import read_plain
from spoor.runs import files
from spoor.settings import Settings
from spoor.web.urls import canonical

MOST_SEEDS = 200_000
"""Of a run: `spoor.toml`, which names them, is read by whoever looks at it."""

_AROUND = 8
"""Bytes around a URL there."""


def with_inputs(settings: Settings, seeds: Sequence[str]) -> Settings:
    """Settings with what they name read: the seeds, which are URLs or files of URLs, fingerprints
    of the topic's files, the model and the vectors, and the working folder that these are seen
    from; with those of an earlier run that is visited again. Raises InputError as `read_seeds` and
    `read_topic` do."""
    if settings.refresh:
        from spoor.runs.earlier import as_begun

        settings = as_begun(settings)
    found = read_seeds([*settings.seeds, *seeds], routes=settings.render != "never")
    size = sum(len(url) + _AROUND for url in found)
    if len(found) > MOST_SEEDS or size > files.MOST_SETTINGS:
        raise InputError(
            f"{len(found):,} seeds of {size:,} bytes are more than a run has in {files.SETTINGS}: "
            f"{MOST_SEEDS:,} of {files.MOST_SETTINGS:,} bytes; give some of them to another run"
        )
    return replace(
        settings,
        seeds=tuple(found),
        files={name: _fingerprint(Path(name)) for name in _files(settings)},
        folder=os.getcwd(),
    )


_PASSWORD = re.compile(r"\s*(?!mailto:)(?:https?:[/\\]*)?[^/\\?#:]*:[^/\\?#]+@", re.IGNORECASE)
"""A URL that has one, or what is one but for its scheme."""


_URL_COLUMNS = ("url", "website", "site", "domain", "homepage")
"""What the column of a table with the seeds may be called; the first of these counts."""

_SITE = re.compile(
    r"(?:[\w-]{1,63}\.){1,9}(?!(?:txt|csv|list|urls)\b)[a-z]{2,24}(?:/\S{0,200})?", re.IGNORECASE
)
"""A name of a host, and maybe a path, as people write an address and do not call a file."""


def read_seeds(given: Sequence[str], *, routes: bool = False) -> list[str]:
    """Canonical URLs from arguments and files: one a line, or a column of a table (`.csv`).
    `routes`: as for `canonical`. Raises InputError naming file and line."""
    urls = dict[str, None]()
    for item in given:
        path = Path(item)
        lines: Iterable[tuple[str, int]] = [(item, 0)]
        if "://" not in item:
            if not _is_file(path):
                if _PASSWORD.match(item):
                    raise InputError(_HAS_PASSWORD.format("the seed"))
                meant = f"; did you mean https://{item}?" if _SITE.fullmatch(item) else ""
                raise InputError(
                    f"seed {shortened(item)!r} is neither a URL (http://…) nor a file of URLs that "
                    f"exists{meant}"
                )
            lines = _lines_of(path)
        for line, number in lines:
            where = f"{path}, line {number}: " if number else ""
            has_password = _PASSWORD.match(line)
            try:
                url = canonical(line, routes=routes)
            except ValueError as error:
                if has_password:
                    raise InputError(where + _HAS_PASSWORD.format("the address")) from None
                why = error if len(line) <= _SHOWN else f"{shortened(line)!r} is no URL"
                raise InputError(f"{where}{why}") from None
            if has_password:
                raise InputError(where + _HAS_PASSWORD.format(f"the address {shortened(url)}"))
            urls[url] = None
    return list(urls)


_HAS_PASSWORD = "{} has a password before it; give that by --netrc or the variable SPOOR_BASIC"

_SHOWN = 1_000
"""Characters of a line that a message quotes whole."""


def _lines_of(path: Path) -> Iterator[tuple[str, int]]:
    """(URL, number) of each line of a seed file; a site without a scheme is taken as of https."""
    try:
        text = read_plain(path, files.MOST_SETTINGS).decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the seed file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"the seed file {path} is no text in UTF-8: {error}") from error
    told = False
    for url, number in (_column if path.suffix.lower() == ".csv" else _plain)(path, text):
        if url and not url.startswith("#"):
            told = True
            yield f"https://{url}" if _SITE.fullmatch(url) else url, number
    if not told:
        raise InputError(f"the seed file {path} has no URL in it; write one a line")


def _plain(path: Path, text: str) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(text.splitlines(), 1):
        yield line.strip(), number


def _column(path: Path, text: str) -> Iterator[tuple[str, int]]:
    """The column of a table that has the URLs, by its name; the only one needs none."""
    rows = csv.reader(text.splitlines(), strict=True)
    begun, column = False, 0
    try:
        for row in rows:
            if not begun and rows.line_num == 1:
                names = [cell.strip().lower() for cell in row]
                named = [at for at, name in enumerate(names) if name in _URL_COLUMNS]
                if not named and len(row) > 1:
                    have = ", ".join(_URL_COLUMNS)
                    raise InputError(f"{path}, line 1: no column is named {have}")
                column = named[0] if named else 0
                if named:
                    continue
            begun = True
            yield row[column].strip() if column < len(row) else "", rows.line_num
    except csv.Error as error:
        raise InputError(f"{path}, line {rows.line_num}: {error}") from error


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for one
        return False


def shortened(text: str) -> str:
    """A text cut for a message."""
    return text if len(text) <= 100 else f"{text[:99]}…"


def _files(settings: Settings) -> list[str]:
    """Every file that a crawl goes by."""
    named = [file for file in (settings.model, settings.vectors) if file]
    want, topic, topic_file = settings.want, settings.topic, settings.topic_file
    if not topic_file and "." not in topic and not any(":" in spec for spec in want):
        return named
    from spoor.judges.spec import files_of

    return [*files_of(want, topic, topic_file), *named]


def _fingerprint(path: Path) -> str:
    """Of a file that a crawl goes by: of its size, its beginning and its end, since vectors may
    have gigabytes. Empty where it cannot be read: whoever needs it will say so."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            digest = hashlib.sha256(f"{size}\n".encode() + file.read(1 << 20))
            file.seek(max(0, size - (1 << 20)))
            digest.update(file.read())
    except OSError:
        return ""
    return digest.hexdigest()[:16]
