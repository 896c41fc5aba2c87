"""The wheel as a user gets it, alone and with each extra, beside what it asks for and nothing else.

Nothing is downloaded: the dependencies are links to what is installed here."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from functools import cache
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from spoor.distribution import NAME, VERSION
from spoor.documents.kinds import _READERS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (file,) = folder.iterdir()
    return file


@pytest.fixture(scope="module")
def metadata(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Distribution:
    folder = tmp_path_factory.mktemp("metadata")
    with ZipFile(wheel) as packed:
        packed.extractall(folder)
    (found,) = distributions(path=[str(folder)])
    return found


def install(wheel: Path, *arguments: str, python: str = sys.executable) -> None:
    """pip, with the folder of the wheel as its only source."""
    command = [python, "-m", "pip", "install", "--no-index", "--find-links", str(wheel.parent)]
    command += ["--quiet", "--disable-pip-version-check", "--no-compile", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # pip only warns of an extra that the wheel does not have.
    assert (done.returncode, done.stderr) == (0, "")


@cache
def requires(found: Distribution) -> list[Requirement]:
    return [Requirement(line) for line in found.requires or []]


def requirements(found: Distribution, extras: set[str]) -> Iterator[Requirement]:
    """What a distribution with `extras` asks for on this machine."""
    for one in requires(found):
        if one.marker is None or any(one.marker.evaluate({"extra": e}) for e in extras | {""}):
            yield one


installed = cache(distribution)


@cache
def closure(found: Distribution, extra: str) -> set[str]:
    """Names of all distributions that come with `extra` ("" for none), its own left out; each is
    installed here in a version that is asked for."""
    reached: set[tuple[str, frozenset[str]]] = set()
    waiting = [(canonicalize_name(NAME), frozenset({extra} - {""}))]
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            here = found if one[0] == NAME else installed(one[0])
            for other in requirements(here, set(one[1])):
                if other.name != NAME:
                    version = installed(other.name).version
                    assert other.specifier.contains(version, prereleases=True), (one, other)
                waiting.append((canonicalize_name(other.name), frozenset(other.extras)))
    return {name for name, _ in reached} - {NAME}


def test_its_name_and_version(wheel: Path, metadata: Distribution) -> None:
    assert NAME == PROJECT["name"] == metadata.metadata["Name"]
    assert metadata.version == VERSION
    assert wheel.name.startswith(f"{NAME.replace('-', '_')}-{VERSION}-")


def test_the_wheel_holds_this_package_and_nothing_else(wheel: Path, metadata: Distribution) -> None:
    source = {file.relative_to(ROOT / "src") for file in (ROOT / "src").rglob("*")}
    source = {file for file in source if (ROOT / "src" / file).is_file()}
    source = {file for file in source if "__pycache__" not in file.parts}
    inside = {Path(str(file)) for file in metadata.files or []}
    info = f"{NAME.replace('-', '_')}-{VERSION}.dist-info"
    assert {file for file in inside if file.parts[0] != info} == source
    assert (metadata.read_text("top_level.txt") or "spoor").split() == ["spoor"]


def test_all_is_every_extra(metadata: Distribution) -> None:
    assert metadata.metadata.get_all("Provides-Extra") == EXTRAS
    everything = set().union(*(closure(metadata, extra) for extra in EXTRAS if extra != "all"))
    assert closure(metadata, "all") == everything


def test_messages_name_extras_that_exist() -> None:
    source = "".join(file.read_text("utf-8") for file in (ROOT / "src").rglob("*.py"))
    named = re.findall(r'\b(?:import|need)_extra\(\s*"([^"]+)"', source)
    named += [extra for _, extra, _ in _READERS.values()]
    assert set(named) <= set(EXTRAS)
    own_driver = {"scrapy", "crawlee", "langchain", "llama-index"}  # imported with its extra
    assert set(EXTRAS) - set(named) <= own_driver | {"all"}


def test_pages_and_messages_name_this_distribution() -> None:
    """`spoor[EXTRA]` would install another project's code."""
    for file in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]:
        text = file.read_text("utf-8")
        assert not re.search(rf"\bspoor\[({'|'.join(EXTRAS)})", text), file


def test_each_extra_asks_for_what_is_installed_here_and_for_no_other_spoor(
    metadata: Distribution,
) -> None:
    """So that what the tests try is what a user of the extra gets."""
    for extra in EXTRAS:
        names = closure(metadata, extra)
        assert "spoor" not in names
        assert names >= closure(metadata, "")


@pytest.mark.parametrize(("holds", "extras"), [("", [""]), ("all", EXTRAS)])
def test_it_installs_by_its_name_with_each_extra(
    holds: str, extras: list[str], wheel: Path, metadata: Distribution, tmp_path: Path
) -> None:
    """In an environment with the dependencies of `holds` and nothing else; one call of pip, whose
    start takes longest. What all extras ask for is there already (`closure`): pip would read the
    metadata of hundreds again."""
    venv.create(tmp_path, with_pip=False, symlinks=True)
    (site,) = tmp_path.glob("lib/python*/site-packages")
    for name in closure(metadata, holds) | {"pip"}:
        recorded = installed(name).read_text("RECORD") or ""
        entries = {re.split("[/,]", line, maxsplit=1)[0] for line in recorded.splitlines()}
        for entry in entries - {".."}:
            if not (site / entry).exists():
                (site / entry).symlink_to(str(installed(name).locate_file(entry)))
    before = set(site.iterdir())
    named = [f"{NAME}[{extra}]" if extra else NAME for extra in extras]
    install(
        wheel, *(["--no-deps"] if holds else []), *named, python=str(tmp_path / "bin" / "python")
    )
    added = {entry.name for entry in set(site.iterdir()) - before}
    assert added == {"spoor", f"{NAME.replace('-', '_')}-{VERSION}.dist-info"}
    said = [
        subprocess.run(
            [tmp_path / "bin" / "spoor", *arguments],
            cwd=tmp_path,
            env={},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for arguments in (["--version"], ["policies", "--json"])
    ]
    assert said[0] == f"spoor {VERSION}\n"
    assert '"trail"' in said[1]
