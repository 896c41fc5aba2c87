"""The rivals: scripts in a folder, one file a rival, each with an environment of its own.

A script is called by the Python of its environment, where it has one, and by ours otherwise:

- `describe` prints one JSON object: `title`, `version`, `settings`, and `told`, how it says that a
  page is relevant (empty: it does not), and `tries` where it is random;
- `install --env FOLDER` installs it there, from package registries;
- `crawl --env FOLDER --start URL --wish WORDS --pages N --out FILE --work FOLDER [--hosts]
  [--durable]` crawls, and adds rows of JSON to FILE: `url`, perhaps `relevant`, `score` (a number),
  `why` (words), `markdown` (characters). With `--durable` it keeps in its work folder what the
  rival's documentation says a crawl needs to go on after its end, and goes on from that.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from spoor.errors import InputError

PLACE = "SPOOR_DUEL"
"""Environment variable: the folder of rivals and data set; by default that of the checkout out of
which Spoor runs. Programs are run out of it, so neither the working folder nor that of the output,
which may come from a stranger, is it."""
ENVIRONMENTS = "environments"
"""Folder below it of what the rivals need."""
INSTALL_SECONDS = 1800
SHARED = "adapter.py"


@dataclass(frozen=True, slots=True)
class Rival:
    """A rival that is installed."""

    name: str
    script: Path
    environment: Path
    about: Mapping[str, Any] = field(default_factory=dict)
    """What `describe` printed."""

    def command(self, verb: str, *arguments: str) -> list[str]:
        """The command of a verb."""
        python = self.environment / "bin" / "python"
        runs = str(python) if python.exists() else sys.executable
        adapter = str(self.script.with_name(SHARED))
        return [runs, adapter, self.name, verb, "--env", str(self.environment), *arguments]

    def digest(self) -> str:
        """Of its script and its version."""
        code = [self.script, self.script.with_name(SHARED)]
        content = b"".join(path.read_bytes() for path in code) + self.version.encode()
        return hashlib.sha256(content).hexdigest()[:24]

    @property
    def version(self) -> str:
        return str(self.about.get("version", ""))

    @property
    def tries(self) -> int:
        """How often a cell is run; more than once where the rival is random."""
        return int(self.about.get("tries", 1))


def home() -> Path:
    """The folder of rivals and data set. Raises InputError where there is none."""
    named = os.environ.get(PLACE)
    folder = Path(named) if named else Path(str(files("spoor"))).parents[1] / "benchmarks" / "duel"
    if not (folder / SHARED).is_file():
        raise InputError(
            f"{folder} holds no rivals; install Spoor out of a checkout (pip install -e), or "
            f"name the folder of its benchmarks/duel by {PLACE}"
        )
    return folder.resolve()


def names(folder: Path) -> list[str]:
    """The rivals that there are scripts for."""
    return [path.stem for path in sorted(folder.glob("*.py")) if path.name != SHARED]


def installed(name: str, folder: Path) -> Rival:
    """A rival, installed first where it is not. Raises InputError with the cause where it cannot be
    installed."""
    script = folder / f"{name}.py"
    if name not in names(folder):
        raise InputError(f"no rival is called {name!r}; there are: {', '.join(names(folder))}")
    environment = (folder / ENVIRONMENTS / name).resolve()
    rival = Rival(name, script, environment)
    done = environment / ".installed"
    if not done.exists():
        environment.mkdir(parents=True, exist_ok=True)
        _call(rival.command("install"), name)
        done.touch()
    about = json.loads(_call(rival.command("describe"), name))
    return Rival(name, script, environment, about)


def _call(command: list[str], name: str) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{name} cannot be installed: {error}") from error
    if done.returncode:
        lines = [line for line in (done.stderr or done.stdout).split("\n") if line.strip()]
        raise InputError(f"{name} cannot be installed: {lines[-1][:300] if lines else 'no word'}")
    return done.stdout
