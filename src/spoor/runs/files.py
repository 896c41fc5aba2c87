"""The files inside a run's folder: the one place where their names are written."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from spoor.errors import InputError, SpoorError
from spoor.files import names_a_file, open_unlinked, read_plain

SETTINGS = "spoor.toml"
"""The settings that the run was begun with, for people and programs to read."""

DATABASE = "state.db"
"""What is true of the run: rows of pages and failures, journal and checkpoints (SQLite)."""

RUNS = "runs"
"""Folder of the runs that were given no folder."""

COMMITTED = "state.db-committed"
"""The number of the last commit, to find a log of the database that is lost by."""

LOCK = "lock"
"""Held by the process that writes the run."""

RELEVANT = "relevant.jsonl"
"""The relevant pages, one a line; made from the database."""

LABELS = "labels.jsonl"
"""What people say of pages, one line a label; whoever labels a page appends to it."""

WARC = "pages"
"""The archive is `pages.warc.gz`, then `pages-00001.warc.gz` and so on: see `archives`."""

SAVED = "files"
"""A folder of the relevant documents as they came (`spoor.runs.saved_files`)."""

FRONTIER = "frontier.db"
"""Open links that do not fit into memory (SQLite)."""

ANSWERS = "answers.jsonl"
"""Answers of a language model that judges pages, so that nothing is asked and paid for twice."""

COOKIES = "cookies.json"
"""Cookies that sites set, for its user alone: in no export, and to be deleted before a run is given
away."""

NEWS = "news.jsonl"
"""Documents that a watch found, one a line."""

FEED = "feed.xml"
"""The newest of them, as RSS."""

JSON_FEED = "feed.json"
"""The same, as JSON Feed."""

DIGEST = "digest.md"
DIGEST_HTML = "digest.html"
"""The same for people, by day, site and story, with what each source brought."""

DELIVERED = "delivered.json"
"""How far each receiver of a watch (`--on-new`, `--webhook`) was told."""

EARLIER = "earlier.state"
"""The pages of the earlier run that a crawl visits again."""

STOP = "stop"
"""There while whoever looks on wants the run to end (`spoor.runs.stop_request`)."""

SEARCH = "search.db"
"""Words of the documents, for `spoor search` (SQLite); made when it is first asked for."""

SHARDS = "shards.json"
"""The state of each shard of a run in shards, for whoever looks on."""

IDENTITY = "identity"
"""Drawn for a run in shards, so that the folder of another run's shard is told from its own."""

REPORT = "report.html"
"""The report for people."""

MOST_BYTES = 1 << 26
"""Of a file of a run that is read into memory at once: of states of shards, labels."""

MOST_SETTINGS = 1 << 23
"""Bytes of settings, most of which are seeds."""

MOST_VALUE = 1 << 24
"""Bytes of one value of a row that is looked at: settings, of which a crawl has the longest, are a
text of `MOST_SETTINGS` in TOML, and may be longer in JSON. Of states and journals there is no such
bound."""

_SHARD = "shard-"
_RECOVERED = "recovered-"
_OF_SHARD = re.compile(rf"{_SHARD}(0|[1-9][0-9]{{0,5}})")
_ARCHIVE = re.compile(rf"({_OF_SHARD.pattern}/)?{WARC}(-[0-9]{{5,12}})?\.warc\.gz")
"""Their numbers as this program writes them: what `str.isdigit` takes is more than `int` does."""
_OWN = (
    SETTINGS,
    DATABASE,
    LOCK,
    RELEVANT,
    LABELS,
    FRONTIER,
    ANSWERS,
    COOKIES,
    NEWS,
    FEED,
    JSON_FEED,
    DIGEST,
    DIGEST_HTML,
    DELIVERED,
    EARLIER,
    STOP,
    SEARCH,
    SHARDS,
    IDENTITY,
    REPORT,
)


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    try:
        return (path / SETTINGS).exists()
    except OSError as error:  # a name that is too long for one
        raise InputError(f"cannot use the run folder {path}: {error.strerror}") from error


def refuse_links(path: Path) -> None:
    """Raises InputError where a file of a run is a symbolic link or a device: a folder may come
    from a stranger, and what is read and written lies inside it."""
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                is_folder = entry.name == SAVED or entry.name.startswith(_SHARD)
                if is_folder or is_own(entry.name):
                    _refuse_link(entry, is_folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot use the run folder {path}: {error.strerror}") from error


def _refuse_link(entry: os.DirEntry[str], is_folder: bool) -> None:
    usual = entry.is_dir if is_folder else entry.is_file
    if not usual(follow_symlinks=False):
        kind = "folder" if is_folder else "file"
        raise InputError(
            f"{entry.path} is not a plain {kind}; a run keeps its files inside its folder and "
            f"follows no link out of it: put the {kind} itself there, or choose another --out"
        )
    if entry.name.endswith("-journal") and names_a_file(Path(entry.path)):
        raise InputError(
            f"{entry.path} would have another file deleted, and is none that a run makes; delete it"
        )


def open_own(file: Path, flags: int) -> int:
    """Open a file of a run that may change while the run is open. Raises OSError for a symbolic
    link, InputError for a device."""
    try:
        return open_unlinked(file, flags)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        raise _not_plain(file) from error


def _not_plain(file: Path) -> InputError:
    return InputError(f"{file} is not a plain file; delete it")


def read_own(file: Path, most: int = MOST_BYTES) -> str:
    """The text of a file of a run. Raises OSError, UnicodeDecodeError, and InputError for a device
    and one of more than so many bytes."""
    try:
        return read_plain(file, most, os.O_NOFOLLOW).decode()
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise InputError(f"{file} is damaged: {error.strerror}") from error
        if error.errno == errno.EINVAL:
            raise _not_plain(file) from error
        raise


def new_run(prefix: str = "", under: Path = Path(RUNS)) -> Path:
    """A new folder `runs/TIME` for a run, or one `under` another, with a number behind it where
    another run has that second."""
    name = time.strftime(f"{prefix}%Y-%m-%d-%H%M%S")
    for number in range(1, 10_000):
        path = Path(under, name if number == 1 else f"{name}-{number}")
        with suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise SpoorError(f"{under} has too many runs of one second")


@contextmanager
def run_folder(out: Path | None, prefix: str = "") -> Iterator[Path]:
    """`out`, or a new folder, which is removed again where no run is begun in it. Raises InputError
    where it cannot be made, or could not be written down."""
    try:
        os.path.abspath(out or "").encode()
    except UnicodeEncodeError:
        where = os.path.abspath(out or "")
        raise InputError(f"the folder {where!r} is no text in UTF-8; choose another") from None
    try:
        path = out or new_run(prefix)
    except OSError as error:
        raise InputError(f"cannot make a folder for the run in runs: {error.strerror}") from error
    try:
        yield path
    finally:
        with suppress(OSError):  # something is in it
            if out is None:
                path.rmdir()


@lru_cache(maxsize=64)  # a run has one for each GiB, and asks for each page
def archive_at(path: Path, name: Hashable) -> Path:
    """The file of a run's archive that a database names. Raises InputError for any other name."""
    if not isinstance(name, str) or not _ARCHIVE.fullmatch(name):
        raise InputError(f"{path / DATABASE} is damaged: {name!r} names no file of its archive")
    return path / name


def labels(path: Path) -> Path:
    """The labels of a run; those of a shard are its run's, and hold for all shards."""
    run = path.parent
    of_shard = path.name.startswith(_SHARD) and is_run(run) and not (run / DATABASE).exists()
    return (run if of_shard else path) / LABELS


def archive(number: int) -> str:
    """The name of a file of the archive, which begins with number 0."""
    return f"{WARC}-{number:05}.warc.gz" if number else f"{WARC}.warc.gz"


def archives(path: Path) -> list[Path]:
    """The files of a run's archive, oldest first."""
    found = [file for file in path.glob(f"{WARC}*.warc.gz") if _ARCHIVE.fullmatch(file.name)]
    return sorted(found, key=lambda file: (len(file.name), file.name))


def recovered(archive: Path, start: int) -> Path:
    """Where records of an archive are kept aside that stood in it from a byte on."""
    return archive.with_name(f"{_RECOVERED}{archive.name.removesuffix('.warc.gz')}-{start}.warc.gz")


def shard(path: Path, number: int | str) -> Path:
    """The folder of one shard within that of the run: a run of its own."""
    return path / f"{_SHARD}{number}"


def shards(path: Path) -> list[Path]:
    """The folders of all shards that a run ever had, by number; none where it has no shards."""
    folders = path.glob(f"{_SHARD}*")
    return sorted((one for one in folders if _OF_SHARD.fullmatch(one.name)), key=shard_number)


def shard_number(folder: Path) -> int:
    """The number of a shard, by its folder."""
    return int(folder.name.removeprefix(_SHARD))


def is_own(name: str) -> bool:
    """Whether a run itself keeps a file of this name in its folder, or may while it is written."""
    if name == SAVED or _OF_SHARD.fullmatch(name):
        return True
    if name.startswith((WARC, f"{_RECOVERED}{WARC}")) and ".warc.gz" in name:
        return True
    return any(name == own or name.startswith((f"{own}.", f"{own}-")) for own in _OWN)
