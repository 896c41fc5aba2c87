"""What a run is told: where it begins, and the settings that its folder keeps.

Apart from the run itself, so that a command that is refused for them has imported nothing heavy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spoor import registry
from spoor.errors import InputError
from spoor.web.urls import canonical

FRONTIERS = ("auto", "memory", "disk")


def read_seeds(given: Sequence[str]) -> list[str]:
    """Canonical URLs from arguments and files. Raises InputError naming file and line."""
    urls: list[str] = []
    for item in given:
        path = Path(item)
        lines = [(item, "")]
        if "://" not in item:
            if not _is_file(path):
                raise InputError(
                    f"seed {shortened(item)!r} is neither a URL (http://…) nor a file of URLs that "
                    "exists"
                )
            try:
                text = path.read_text("utf-8")
            except OSError as error:
                raise InputError(f"cannot read the seed file {path}: {error.strerror}") from error
            except UnicodeDecodeError as error:
                raise InputError(f"the seed file {path} is no text in UTF-8: {error}") from error
            numbered = enumerate(text.splitlines(), 1)
            lines = [
                (line.strip(), f"{path}, line {number}: ")
                for number, line in numbered
                if line.strip() and not line.lstrip().startswith("#")
            ]
            if not lines:
                raise InputError(f"the seed file {path} has no URL in it; write one a line")
        for line, where in lines:
            try:
                urls.append(canonical(line))
            except ValueError as error:
                raise InputError(f"{where}{error}") from None
    return list(dict.fromkeys(urls))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long for one
        return False


def shortened(text: str) -> str:
    """A text cut for a message."""
    return text if len(text) <= 100 else f"{text[:99]}…"


def refuse_two(topic: object, topic_file: object) -> None:
    """Raises InputError where both say what is wanted."""
    if topic and topic_file:
        raise InputError("give --topic or --topic-file, not both")


def run_settings(
    seeds: Sequence[str],
    *,
    topic: str = "",
    topic_file: str = "",
    want: Sequence[str] = (),
    policy: str = registry.DEFAULT_POLICY,
    params: Mapping[str, Any] | None = None,
    model: str = "",
    vectors: str = "",
    pages: int = 1000,
    frontier: str = "auto",
    scope: str = "domain",
    max_depth: int | None = None,
    pages_per_host: int | None = None,
    pages_per_domain: int | None = None,
    traps: bool = False,
    sitemaps: bool = False,
    seed: int = 0,
    delay: float = 1.0,
    per_host: int = 1,
    per_domain: int = 0,
    per_address: int = 0,
    in_flight: int = 16,
    robots: bool = True,
    noai: bool = False,
    contact: str = "",
    allow_private: Sequence[str] = (),
    connect_to: str = "",
) -> dict[str, Any]:
    """The settings of a run as its folder keeps them. `crawl` may not change when a run goes on;
    politeness, the budget and where the frontier lies may. With `traps` nothing is kept out of
    them. Files are named from the working `folder`, which is kept too.
    `frontier`: in `memory`, on `disk`, or `auto`: on disk once it is large."""
    refuse_two(topic, topic_file)
    if frontier not in FRONTIERS:
        raise InputError(f"unknown frontier {frontier!r}; it is 'auto', 'memory' or 'disk'")
    if scope not in ("host", "domain", "anywhere"):
        raise InputError(f"unknown scope {scope!r}; it is 'host', 'domain' or 'anywhere'")
    return {
        "crawl": {
            "seeds": list(seeds),
            "topic": topic,
            "topic_file": topic_file,
            "want": list(want),
            "policy": policy,
            "params": dict(params or {}),
            "model": model,
            "vectors": vectors,
            "scope": scope,
            "max_depth": -1 if max_depth is None else max_depth,
            "pages_per_host": pages_per_host or 0,
            "pages_per_domain": pages_per_domain or 0,
            "traps": traps,
            "sitemaps": sitemaps,
            "seed": seed,
            "files": {
                name: _fingerprint(Path(name))
                for name in (
                    *_files(want, topic, topic_file),
                    *(file for file in (model, vectors) if file),
                )
            },
        },
        "politeness": {
            "delay": delay,
            "per_host": per_host,
            "per_domain": per_domain,
            "per_address": per_address,
            "in_flight": in_flight,
            "robots": robots,
            "noai": noai,
            "contact": contact,
            "allow_private": list(allow_private),
            "connect_to": connect_to,
        },
        "pages": pages,
        "frontier": frontier,
        "folder": os.getcwd(),
    }


def _files(want: Sequence[str], topic: str, topic_file: str) -> list[str]:
    """Every file that what is wanted is read from."""
    if not topic_file and "." not in topic and not any(":" in spec for spec in want):
        return []
    from spoor.judges.spec import files_of

    return files_of(want, topic, topic_file)


def _fingerprint(path: Path) -> str:
    """Of a file that a crawl goes by: of its size, its beginning and its end, since vectors may
    have gigabytes. Empty where it cannot be read: whoever needs it will say so."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(0)
            told = hashlib.sha256(f"{size}\n".encode() + file.read(1 << 20))
            file.seek(max(0, size - (1 << 20)))
            told.update(file.read())
    except OSError:
        return ""
    return told.hexdigest()[:16]
