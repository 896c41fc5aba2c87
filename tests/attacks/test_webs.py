"""Webs of strangers, recorded and generated: whatever lies in their folders is told in one line."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path

import pytest
import zstandard as zstd

from attacks.test_damaged_files import DAMAGES, MANY, OTHERS, bounded
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.types import Choice, Fetch
from spoor.web.urls import host
from spoor.worlds.evolving import EvolvingWorld, Version
from spoor.worlds.folders import open_web
from spoor.worlds.recorded import RecordedWorld

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


@pytest.mark.filterwarnings("ignore:Reading `.npy`")
@pytest.mark.parametrize("name", [*FILES, "anchors.bin", "outside.txt", "aliases.txt"])
def test_any_damage_to_a_recorded_web_is_told_in_one_line(
    name: str, made: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(made / "recorded", tmp_path / "web")
    whole = (folder / name).read_bytes()
    rng = random.Random(name)
    refused = 0
    for _ in range(400 if MANY else 30):
        (folder / name).write_bytes(mutated(whole, rng))
        told = ""
        try:
            with bounded():
                read_whole(folder)
        except InputError as error:
            told = str(error)
        refused += bool(told)
        assert "\n" not in told
    assert refused > 5


def mutated(whole: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(whole) + 1)
    end = rng.randrange(at, len(whole) + 1)
    piece = rng.choice([b"", b"9" * 12, b"\xff" * 8, b'["x"]', b"\n\n", b"null", bytes([at % 256])])
    return whole[:at] + piece + whole[rng.choice([at, at + len(piece), end]) :]


def read_whole(folder: Path) -> None:
    for absent in (False, True):
        web = open_web(folder, absent=absent)
        assert isinstance(web, RecordedWorld)
        for number, page in enumerate(web.pages()):
            assert len([*page.links]) == len(page.links)
            web.extra(page.url)
            web.answer(Fetch(number, page.url, "", Choice(0, 1.0)))
        web.answer(Fetch(0, "http://elsewhere.example/1", "", Choice(0, 1.0)))
        web.roots(), web.labels(), web.graph(), web.counts(), web.sites()


@pytest.mark.parametrize("name", ["evolving.json", "versions.jsonl.zst"])
def test_any_value_in_an_evolving_web_is_told_in_one_line(name: str, tmp_path: Path) -> None:
    links = ("http://a.example/2", "http://b.example/")
    versions = [
        Version(
            float(number), f"http://a.example/{number % 3}", "kiln", "A kiln.", links, number > 7
        )
        for number in range(9)
    ]
    EvolvingWorld(versions).save(tmp_path)
    file, rng, refused = tmp_path / name, random.Random(name), 0
    packed = name.endswith(".zst")
    data = file.read_bytes()
    whole = (zstd.ZstdDecompressor().decompressobj().decompress(data) if packed else data).split(
        b"\n"
    )
    whole = [line for line in whole if line]
    for _ in range(600 if MANY else 60):
        row = json.loads(whole[at := rng.randrange(len(whole))])
        row[rng.choice([*row, "x\ny"])] = rng.choice(OTHERS[:-3])
        lines = b"\n".join([*whole[:at], json.dumps(row).encode(), *whole[at + 1 :], b""])
        file.write_bytes(zstd.ZstdCompressor().compress(lines) if packed else lines)
        told = ""
        try:
            with bounded():
                web = EvolvingWorld.open(tmp_path)
                web.advance(web.end)
                web.counts(), web.arcs(), web.roots()
                for number, url in enumerate(web.urls):
                    web.answer(Fetch(number, url, host(url), Choice(0, 1.0)))
        except InputError as error:
            told = str(error)
        refused += bool(told)
        assert "\n" not in told
    assert refused > 20
