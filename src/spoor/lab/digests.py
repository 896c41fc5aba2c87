"""Digests under which finished cells are stored: of the code that ran them and of the data they
read."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

from spoor import registry
from spoor.judges.spec import files_of

NOT_RUN = (
    *("__main__", "cli", "http", "integrations", "live", "notebook", "runs", "testing", "views"),
    "lab",
)
"""Parts of Spoor that no cell runs; if they change, finished cells stay valid."""

OF_KIND = {
    "fleets": ("simulation/fleets.py",),
    "shards": ("sharding", "simulation/shards.py"),
}
"""Parts that only the cells of one kind run."""


def digest(value: object, length: int = 24) -> str:
    """Hexadecimal digest of a value that JSON can hold."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:length]


@cache
def code_digest(kind: str = "") -> str:
    """Digest of all modules of Spoor that a cell of this kind may run."""
    others = [part for name, parts in OF_KIND.items() if name != kind for part in parts]
    return part_digest("", leave_out=(*NOT_RUN, *others)) + (
        part_digest(f"lab/kinds/{kind}.py") if kind else ""
    )


@cache
def part_digest(part: str, *, leave_out: tuple[str, ...] = ()) -> str:
    """Digest of a module or package of Spoor, by its path."""
    root = Path(str(files("spoor")))
    folder = root / part
    content = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
        name = path.relative_to(root).as_posix()
        if not name.startswith(leave_out):
            content.update(name.encode() + path.read_bytes())
    return content.hexdigest()


def data_digest(folder: str) -> str:
    """Digest of a web: the names and sizes of its files, and its header."""
    return _digest_at(Path(folder).resolve())


@cache
def _digest_at(folder: Path) -> str:
    content = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        content.update(f"{path.name} {path.stat().st_size}\n".encode())
        if path.suffix in (".json", ".toml"):
            content.update(path.read_bytes())
    return content.hexdigest()


@cache
def policy_digest(name: str) -> str:
    """Digest of the module of a policy from another package; empty for one of ours."""
    module = registry.find("policies", name).__module__
    if module.split(".")[0] == "spoor":
        return ""
    source = getattr(sys.modules.get(module), "__file__", None)
    return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else ""


def topic_digests(targets: Sequence[str], topic: str) -> list[str]:
    """Digests of the topic files that targets or a topic name."""
    return [
        hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in files_of(targets, topic)
    ]
