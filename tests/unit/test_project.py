"""The files around the code: what they name exists, and nothing stands twice."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # has no types

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_no_two_files_of_the_documentation_are_identical() -> None:
    by_content: dict[bytes, list[Path]] = defaultdict(list)
    for file in (ROOT / "docs").rglob("*"):
        if file.is_file():
            by_content[hashlib.sha256(file.read_bytes()).digest()].append(file)
    assert not [files for files in by_content.values() if len(files) > 1]


def test_every_picture_is_shown() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        (page.parent / target).resolve()
        for page in pages
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8"))
    }
    assert shown == set((ROOT / "docs").rglob("*.svg"))


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md"])
def test_the_files_that_a_page_names_exist(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    # A test in a file is looked for by tests/unit/test_security_page.py.
    named = set(re.findall(r"`((?:src|tests|docs|changelog\.d|requirements)/[^`\s:]*)[`:]", text))
    named |= {file.removesuffix("/") for file in re.findall(r"\]\(((?!https?:)[^)#]+)\)", text)}
    assert named
    missing = [file for file in named if "NAME" not in file and not (ROOT / file).exists()]
    assert not missing


def test_continuous_integration_runs_what_a_clone_runs_on_each_supported_python() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    test = workflow["jobs"]["test"]
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert test["strategy"]["matrix"]["python"] == supported
    assert ".ci/run" in [step.get("run") for step in test["steps"]]
    rules = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    runs = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]
    assert {run.split()[1] for run in runs if run.startswith("make ")} <= set(rules)


def test_the_page_of_packages_has_the_floors_that_are_checked() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    (layers,) = (
        contract["layers"]
        for contract in tool["importlinter"]["contracts"]
        if contract["type"] == "layers"
    )
    text = (ROOT / "docs" / "packages.md").read_text("utf-8")
    floors = re.findall(r"^## Floor (\d+): (.+)$", text, re.MULTILINE)
    assert [int(number) for number, _ in floors] == list(range(1, len(layers) + 1))
    assert [set(names.split(", ")) for _, names in floors] == [
        set(layer.split(" | ")) for layer in layers
    ]


def test_every_package_has_its_section() -> None:
    text = (ROOT / "docs" / "packages.md").read_text("utf-8")
    sections = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    for section in sections:
        assert re.match(r"\w+\n- Enters: .+\n- Leaves: .+\n(- May touch: .+\n)?", section), section
    package = ROOT / "src" / "spoor"
    found = [path for path in package.iterdir() if path.suffix == ".py" or path.is_dir()]
    names = {path.stem for path in found} - {"__init__", "__main__", "__pycache__"}
    assert {section.splitlines()[0] for section in sections} == names


def test_the_container_file_is_clean_and_its_images_have_no_rights() -> None:
    file = ROOT / "Containerfile"
    done = subprocess.run(["hadolint", str(file)], capture_output=True, text=True, env=PATHS)
    assert (done.returncode, done.stdout) == (0, "")
    stages = re.split(r"^FROM ", file.read_text("utf-8"), flags=re.MULTILINE)[1:]
    users = {stage.split()[2]: re.findall(r"^USER (\w+)", stage, re.MULTILINE) for stage in stages}
    assert users == {"wheel": [], "base": [], "browser": ["10001"], "default": ["10001"]}
    assert stages[-1].split()[2] == "default"
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", file.read_text("utf-8"), re.MULTILINE)
    kept = (ROOT / ".dockerignore").read_text("utf-8").split()
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in kept


PATHS = {"PATH": f"{Path(sys.executable).parent}"}


def test_the_page_of_what_is_stable_says_what_each_dependency_is_for() -> None:
    page = (ROOT / "docs" / "stability.md").read_text("utf-8")
    said = dict(re.findall(r"^\| ([a-z][a-z0-9.-]*) \| (.+) \|$", page, re.MULTILINE))
    said.pop("package", None)
    names = {re.split(r"[^a-z0-9.-]", asked)[0] for asked in PROJECT["dependencies"]}
    assert set(said) == names
    assert all(said.values())
