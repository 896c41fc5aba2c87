"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, data: str | bytes) -> None:
    """Write a file under another name first, which then takes its place: whoever reads meanwhile,
    or after the process died, finds the old one or the new one. A link that lies under the other
    name is not followed. Text as UTF-8. Raises OSError."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    with open(part, "xb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    part.replace(path)


def sync_folder(path: Path) -> None:
    """Bring the names of the files in a folder onto the disk. Raises OSError."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
