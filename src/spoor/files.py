"""Files that are written whole or not at all, files of strangers, and names that are safe on every
system."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
import tomllib
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from spoor.bounded_json import json_of

_UNSAFE = re.compile(r"\.*[^\w.]+\.*")
_DOTS = re.compile(r"\.{2,}")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
"""Names of devices on Windows, also with an ending."""


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file under another name, and rename it once it is on the disk, so that readers find
    the old file or the new one, also after a loss of power. A link under the other name is not
    followed. Text is written as UTF-8. Raises OSError, which names the file, also where it is not
    `replaceable`; nothing of it is left then."""
    part = path.with_name(f"{path.name}.part")
    try:
        replaceable(path)
        part.unlink(missing_ok=True)
        with open(part, "xb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        if error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def replaceable(path: Path) -> Path:
    """The same path, of a file that another one is to replace. Raises OSError for a device, a pipe,
    and what a process has open (`/dev/stdout`): whoever names these wants no file in their place.
    """
    is_open = path.is_symlink() and os.readlink(path).startswith("/proc/")
    if is_open or (path.exists() and not path.is_file() and not path.is_dir()):
        raise OSError(errno.EINVAL, "not a plain file")
    return path


def plain(path: Path) -> Path:
    """The same path, of a file that may be a stranger's. Raises OSError for a device or a pipe,
    which could be read or waited for without end, and for what is no name of a file."""
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "no name of a file")
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a plain file")
    return path


def files_below(root: Path, passes: Callable[[str], bool] = lambda name: True) -> Iterator[Path]:
    """The plain files below a folder, which may come from a stranger, in a stable order: of each
    folder its files, then its folders. Links are not followed; what does not pass by its name is
    left out, and so is what cannot be read. `os.walk` and `Path.rglob` end with a RecursionError in
    folders a thousand deep."""
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        files: list[str] = []
        inner: list[str] = []
        with suppress(OSError), os.scandir(folder) as found:
            for entry in found:
                if passes(entry.name) and entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                elif passes(entry.name) and entry.is_dir(follow_symlinks=False):
                    inner.append(entry.name)
        for name in sorted(files):
            yield folder / name
        waiting += [folder / name for name in sorted(inner, reverse=True)]


_JOURNAL = bytes.fromhex("d9d505f920a163d7")


def names_a_file(path: Path) -> bool:
    """Whether a rollback journal of SQLite names another file, as those of transactions over two
    databases do. SQLite deletes that file, whatever it is, when the database is opened. Raises
    OSError."""
    opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(opened, "rb") as file:
        size = os.fstat(opened).st_size
        file.seek(max(0, size - len(_JOURNAL)))
        return file.read(len(_JOURNAL)) == _JOURNAL


def open_unlinked(path: Path, flags: int) -> int:
    """Open a file that Spoor writes in a folder that may come from a stranger. Raises OSError, also
    for a symbolic link, a device and a pipe."""
    opened = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise OSError(errno.EINVAL, "not a plain file")
    return opened


def subfolder(folder: Path, *names: str) -> Path:
    """A folder below one that may come from a stranger, made where it is missing. Raises OSError,
    also where one of the names is a symbolic link, which leads out of it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        folder /= name
        if folder.is_symlink():
            raise OSError(errno.ELOOP, "a link, which is not followed", str(folder))
        folder.mkdir(exist_ok=True)
    return folder


def read_plain(path: Path, most: int, flags: int = 0) -> bytes:
    """The bytes of a plain file, whose name may come from a stranger; `flags` of `os.open` beside
    the usual ones. Raises OSError, also for a device, a pipe, and a file of more than `most` bytes,
    of which nothing is read."""
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    with open(opened, "rb") as file:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a plain file")
        data = b"" if found.st_size > most else file.read(found.st_size + 1)
        if len(data) > found.st_size:  # it grows meanwhile
            data += file.read(most + 1 - len(data))
    if max(found.st_size, len(data)) > most:
        size = max(found.st_size, len(data))
        raise OSError(errno.EFBIG, f"it has {size:,} bytes, and at most {most:,} are read")
    return data


MOST_TOML = 2 << 20
"""Bytes of a TOML file that a user may be handed: a topic, an experiment, tasks. Most have some KB;
a topic may hold the texts of a hundred example pages."""

MOST_HEAD = 1 << 24
"""Bytes of a JSON file that says what a folder holds."""

_MOST_VALUES = 500_000
"""Values and their names in a TOML text; as many as it may have take a second."""


def read_json(path: Path, most: int = MOST_HEAD, flags: int = 0) -> Any:
    """The value in a plain JSON file. Raises OSError, also for one of more bytes, and ValueError
    for a text that is not JSON, or has more values than `bounded_json` says."""
    return json_of(read_plain(path, most, flags))


def read_toml(path: Path, most: int = MOST_TOML) -> dict[str, Any]:
    """The table in a plain TOML file. Raises OSError, also for one of more bytes, and ValueError
    for a text that is not TOML."""
    return toml_of(read_plain(path, most).decode())


def toml_of(text: str) -> dict[str, Any]:
    """The table that a TOML text describes. Raises ValueError, also for deep nesting and for more
    than `_MOST_VALUES`: a name of many parts (`a.b.c`) takes memory that grows with the square of
    their number."""
    if _DEEP.search(text):
        raise ValueError("a name has more than eight parts")
    if (values := _toml_values(text)) > _MOST_VALUES:
        raise ValueError(f"it has some {values:,} values, and at most {_MOST_VALUES:,} are read")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _toml_values(text: str) -> int:
    """About how many values, names and comments a TOML text has: strings and comments, signs
    outside of them, and what is escaped."""
    rest, literals = _LITERAL.subn("", text)
    signs = sum(rest.count(sign) * cost for sign, cost in _COSTS.items())
    return literals + signs + text.count("\\")


_LITERAL = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!""))*+(?:"""|\Z)|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'''(?:[^']|'(?!''))*+(?:'''|\Z)|'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
_COSTS = {",": 1, "=": 4, ".": 1, "[": 4, ":": 2}
"""Sign → the values whose time it takes at most."""

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DEEP = re.compile(rf"(?<![\w.-]){_PART}(?:\.[ \t]*+{_PART}){{8}}")


_HIDDEN = re.compile(r"(\..+)\.[a-z0-9_]{8}(\.part)?", re.DOTALL)
OLD = "old"
"""In a hidden folder: what is replaced, for a moment."""
_LONGEST = 200
"""Bytes of a name that stand in the name of its hidden folder."""


@contextmanager
def hidden_folder(path: Path) -> Iterator[Path]:
    """A new folder beside what is to be written, for all that is written on the way there; it is
    removed in the end, and where its process dies by the next that writes the same (`remove_left`).
    Raises OSError."""
    folder, lock = new_part(path)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def temporary_folder(under: str = "") -> AbstractContextManager[Path]:
    """A new folder for files that are of use to this process alone, in the system's folder for such
    ones, or in another. It goes as `hidden_folder` says. Raises OSError."""
    return hidden_folder(Path(under or tempfile.gettempdir(), "spoor"))


def new_part(path: Path) -> tuple[Path, int]:
    """A hidden folder beside what is to be written, and the lock that says that it is in use; those
    that nobody uses any more are removed. Raises OSError."""
    with suppress(PermissionError):  # a folder in which names can be made, but not listed
        remove_left(path.parent, path.name)
    while True:
        made = Path(tempfile.mkdtemp(prefix=f"{_hidden(path.name)}.", dir=path.parent))
        with suppress(FileNotFoundError):  # another process took it for one that was left
            lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                with suppress(OSError):  # a disk without locks, where nothing is removed
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # It has the name of a part once it is locked, so that nobody empties it.
                return made.rename(made.with_name(f"{made.name}.part")), lock
            except BaseException:
                os.close(lock)
                raise


def remove_left(folder: Path, name: str = "") -> None:
    """Remove the hidden folders that lie in a folder since the processes of this user died that
    wrote this name (empty: any). Raises OSError where the folder cannot be read."""
    for left in [*folder.iterdir()]:
        found = _HIDDEN.fullmatch(left.name)
        if found is None or (name and found[1] != _hidden(name)):
            continue
        if found[2] is None:  # empty, since its process died at once, or is about to name it
            with suppress(OSError):
                left.rmdir()
            continue
        with suppress(OSError):  # it is in use, or no folder
            lock = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if os.fstat(lock).st_uid == os.geteuid():
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _put_back(left)
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(lock)


def _put_back(left: Path) -> None:
    """Give what was to be replaced its name again, where its process died before it was."""
    names = {entry.name for entry in left.iterdir()}
    for name in names - {OLD}:
        if OLD in names and not os.path.lexists(left.parent / name):
            (left / OLD).rename(left.parent / name)


def _hidden(name: str) -> str:
    return f".{os.fsdecode(os.fsencode(name)[:_LONGEST])}"


def sync_tree(path: Path) -> None:
    """Make a folder durable on the disk with all that lies in it. Links are not followed. Raises
    OSError."""
    for folder, _, names, at in os.fwalk(path, topdown=False, onerror=_raise):
        for name in names:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=at)
            try:
                os.fsync(file)
            except OSError as error:
                raise OSError(error.errno, error.strerror, os.path.join(folder, name)) from error
            finally:
                os.close(file)
        sync_folder(Path(folder))


def _raise(error: OSError) -> None:
    raise error


def sync_folder(path: Path) -> None:
    """Make the names of the files in a folder durable on the disk. Raises OSError, which names the
    folder."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(folder)


def safe_name(text: str, most: int, otherwise: str = "page") -> str:
    """A name for a file or folder, made of the letters, digits, and single hyphens and dots of a
    text; `otherwise` if it has none. At most `most` + 1 bytes of UTF-8. It has no separators of
    folders, and neither begins nor ends with a dot."""
    folded = unicodedata.normalize("NFKC", text[: 4 * most])
    words = _DOTS.sub(".", _UNSAFE.sub("-", folded)).strip(".-_")
    name = words.encode("utf-8", "ignore")[:most].decode("utf-8", "ignore").strip(".-_")
    return f"_{name}" if _DEVICE.match(name) else name or otherwise
