"""The package of a page of the guides, laid out as an installer leaves it, and commands beside it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forked import run_spoor
from forked_commands import Command

GUIDES = Path(__file__).parents[1] / "docs" / "guides"


@dataclass(frozen=True)
class OutsidePackage:
    """A folder with the package in `site`, where commands run."""

    folder: Path
    guide: str

    def blocks(self, language: str) -> list[str]:
        """The code blocks of the guide in one language."""
        text = (GUIDES / self.guide).read_text("utf-8")
        return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)

    def install(self, module: str) -> None:
        """Write the guide's first Python block as `module`, with the entry points of its TOML and
        one more in each group that cannot be imported."""
        site = self.folder / "site"
        project = tomllib.loads(self.blocks("toml")[0])["project"]
        name, version = project["name"], project["version"]
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (site / module).write_text(self.blocks("python")[0], "utf-8")
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        (info / "METADATA").write_text(metadata, "utf-8")
        lines = []
        for group, entries in project["entry-points"].items():
            lines += [f"[{group}]", "broken = no_such_module:Thing"]
            lines += [f"{entry} = {path}" for entry, path in entries.items()]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n", "utf-8")

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Python with the package installed."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """A command of Spoor, which ends with `code`."""
        done = run_spoor(self.folder, self.folder / "site", *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def json(self, *arguments: str) -> dict[str, Any]:
        """What a command prints with `--json`."""
        figures: dict[str, Any] = json.loads(self.run(*arguments, "--json").stdout)
        return figures

    def error(self, *arguments: str, code: int = 2) -> str:
        """The one line with which a command refuses."""
        lines = self.run(*arguments, code=code).stderr.strip()
        assert len(lines.splitlines()) == 1
        return lines

    @contextmanager
    def served(self, web: str) -> Iterator[int]:
        """A web over real HTTP on loopback; yields the port."""
        with Command(
            [sys.executable, "-m", "spoor", "web", "serve", web, "--for", "100"],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
        ) as server:
            assert server.stdout
            match = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
            assert match
            yield int(match[1])
            server.terminate()
            server.communicate(timeout=30)

    def _environment(self) -> dict[str, str]:
        paths = (str(self.folder / "site"), os.environ.get("PYTHONPATH", ""))
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}
