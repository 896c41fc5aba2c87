"""Files that are written whole or not at all, files of strangers, and names that are safe on every
system."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

_UNSAFE = re.compile(r"\.*[^\w.]+\.*")
_DOTS = re.compile(r"\.{2,}")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
"""Names of devices on Windows, also with an ending."""


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file under another name and then rename it, so that readers find the old file or the
    new one, also after a crash. A link under the other name is not followed. Text is written as
    UTF-8. Raises OSError."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with open(part, "xb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    part.replace(path)


def plain(path: Path) -> Path:
    """The same path, of a file that may be a stranger's. Raises OSError for a device or a pipe,
    which could be read or waited for without end."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a plain file")
    return path


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


def read_plain(path: Path, most: int) -> bytes:
    """The bytes of a plain file, whose name may come from a stranger. Raises OSError, also for a
    device, a pipe, and a file of more than `most` bytes."""
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError(errno.EINVAL, "not a plain file")
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes")
    return data


def read_toml(path: Path, most: int = 16 << 20) -> dict[str, Any]:
    """The table in a plain TOML file of at most `most` bytes. Raises OSError, and ValueError for a
    text that is not TOML."""
    return toml_of(read_plain(path, most).decode())


def toml_of(text: str) -> dict[str, Any]:
    """The table that a TOML text describes. Raises ValueError, also for deep nesting: a name of
    many parts (`a.b.c`) takes memory that grows with the square of their number."""
    if _DEEP.search(text):
        raise ValueError("a name has more than eight parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_DEEP = re.compile(rf"(?<![\w.-]){_PART}(?:\.[ \t]*+{_PART}){{8}}")


def sync_folder(path: Path) -> None:
    """Make the names of the files in a folder durable on the disk. Raises OSError."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
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
