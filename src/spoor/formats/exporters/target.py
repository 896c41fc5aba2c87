"""Where an export goes: a file or a folder that appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from spoor.errors import InputError, cannot_write
from spoor.files import (
    OLD,
    hidden_folder,
    replaceable,
    safe_name,
    sync_folder,
    sync_tree,
    write_whole,
)

LIST = "index.jsonl"
"""In a folder of documents: a line for each file, with the address of its document."""

_WRITTEN = re.compile(
    r"[^/]*-[0-9a-f]{10}(-[0-9]+)?\.[a-z]{2,8}|part-[0-9]{5,9}\.(jsonl(\.gz|\.zst)?|csv|parquet)"
)


@contextmanager
def new_file(out: Path) -> Iterator[Path]:
    """A path for a new file that replaces `out` once it is complete and on the disk; on an error it
    is removed. Whoever deletes it leaves `out` as it is."""
    if os.path.isdir(out):
        raise InputError(f"{out} is a folder; give the name of a file")
    try:
        with hidden_folder(replaceable(out)) as folder:
            part = folder / out.name
            part.touch()
            yield part
            if not part.exists():
                return
            with part.open("rb") as file:
                os.fsync(file.fileno())
            part.replace(out)
            sync_folder(out.parent)
    except OSError as error:
        raise cannot_write(out, error) from error


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A new folder that replaces `out` once it is complete and on the disk. What it replaces is
    empty or of an earlier export: raises InputError where anything else lies in it."""
    refuse_other_files(out)
    try:
        with hidden_folder(out) as folder:
            part, old = folder / out.name, folder / OLD
            part.mkdir()
            yield part
            sync_tree(part)
            if out.exists():
                out.rename(old)
            try:
                part.rename(out)
            except OSError:
                if old.exists():
                    old.rename(out)
                raise
            sync_folder(out.parent)
    except OSError as error:
        raise cannot_write(out, error) from error


def refuse_other_files(out: Path) -> None:
    """Raises InputError where a folder that an export would replace holds what none wrote."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise InputError(f"{out} is no folder; give the name of one")
    if not out.exists():
        return
    for folder, folders, names in os.walk(out):
        for name in folders:
            if os.path.islink(os.path.join(folder, name)):
                names.append(name)
        for name in names:
            if not _WRITTEN.fullmatch(name) and (name != LIST or folder != str(out)):
                raise InputError(
                    f"{os.path.join(folder, name)} is of no export; give the name of a new folder"
                )


class Folder:
    """Writes a file a document, in a folder a host, under names that are safe on every system."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._list = (path / LIST).open("x", encoding="utf-8", errors="replace")
        self.count = 0

    def write(
        self,
        url: str,
        host: str,
        title: str,
        suffix: str,
        text: str,
        more: Mapping[str, Any] | None = None,
    ) -> str:
        """Write one document; returns the name of its file within the folder. `more` goes into the
        list of files."""
        folder = self._path / safe_name(host.lower(), 80)
        folder.mkdir(exist_ok=True)
        digest = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()[:10]
        stem = f"{safe_name(title.lower(), 80)}-{digest}"
        file, number = folder / f"{stem}{suffix}", 1
        while file.exists():  # the same page fetched again, or the same 40 bits
            number += 1
            file = folder / f"{stem}-{number}{suffix}"
        file.write_text(text, "utf-8", errors="replace", newline="\n")
        name = file.relative_to(self._path).as_posix()
        line = {**(more or {}), "file": name, "url": url, "title": title}
        self._list.write(json.dumps(line, ensure_ascii=False) + "\n")
        self.count += 1
        return name

    def close(self) -> None:
        """End the list of files."""
        self._list.close()


def remove_files(folder: Path, urls: Collection[str]) -> int:
    """Delete the files of these URLs from a folder that `Folder` wrote; how many. Raises ValueError
    and OSError where it is none."""
    kept: list[str] = []
    gone: list[str] = []
    if (folder / LIST).is_symlink():
        raise ValueError(f"{LIST} is a link")
    (folder / f"{LIST}.part").unlink(missing_ok=True)  # of a process that died
    # A title may hold what `splitlines` takes for the end of a line.
    for line in filter(None, (folder / LIST).read_text("utf-8").split("\n")):
        row = json.loads(line)
        if row["url"] in urls:
            gone.append(row["file"])
        else:
            kept.append(f"{line}\n")
    for name in gone:
        file = folder / name
        if file.is_symlink() or file.resolve().parent.parent != folder.resolve():
            raise ValueError(f"{name} is no file of it")
        file.unlink(missing_ok=True)
        with suppress(OSError):  # others of the host are left
            file.parent.rmdir()
    if gone:
        write_whole(folder / LIST, "".join(kept))
    return len(gone)
