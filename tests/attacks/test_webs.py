"""Webs of strangers, recorded and generated: whatever lies in their folders is told in one line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from attacks.test_damaged_files import DAMAGES, bounded
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.worlds.folders import open_web

FILES = ["web.json", "rows.npy", "labels.npy", "links.npy", "urls.txt", "words.bin"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made")
    pages = path / "site.example"
    pages.mkdir()
    for number in range(9):
        links = f'<a href="{number + 1}.html">next</a><a href="http://b.example/">other</a>'
        (pages / f"{number}.html").write_text(f"<title>{number}</title><p>A kiln. {links}")
    assert run(["web", "import", str(pages), str(path / "recorded")]) == 0
    assert run(["web", "generate", str(path / "generated"), "--pages", "20"]) == 0
    return path


@pytest.mark.parametrize("name", [*FILES, ""])
def test_no_device_of_a_web_is_read(name: str, made: Path, tmp_path: Path) -> None:
    source = made / ("recorded" if name else "generated")
    name = name or next(source.iterdir()).name
    for damage in ("a pipe", "a link", "a folder"):
        folder = tmp_path / damage
        shutil.copytree(source, folder)
        DAMAGES[damage](folder / name)
        with bounded(), pytest.raises(InputError, match=name.replace(".", r"\.")) as told:
            open_web(folder).roots()
        assert "\n" not in str(told.value)
