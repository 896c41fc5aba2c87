"""Plug-ins by name: built in or from outside, with settings that are checked before use."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from spoor import registry
from spoor.errors import InputError, PluginError
from spoor.registry import BUILT_IN, SINGULAR, build, check, find, names, nearest, parameters


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, table in BUILT_IN.items() for name in table]
)
def test_every_built_in_name_stands_for_something(kind: str, name: str) -> None:
    assert callable(find(kind, name))
    assert name in names(kind)
    assert kind in SINGULAR


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (
            "policies",
            "bredth-first",
            r"unknown policy 'bredth-first' \(did you mean 'breadth-first'",
        ),
        (
            "judges",
            "keyword",
            r"unknown judge 'keyword' \(did you mean 'keywords'\?\); there are: ",
        ),
        ("policies", "zzz", r"unknown policy 'zzz'; there are: .*breadth-first"),
        ("policies", "", "unknown policy ''; there are"),
    ],
)
def test_unknown_names(kind: str, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        find(kind, name)
    assert "\n" not in str(raised.value)


def test_nearest() -> None:
    assert nearest("abcd", ["abce", "xyz"]) == " (did you mean 'abce'?)"
    assert nearest("abcd", {"xyz": 1}) == ""
    assert nearest("", []) == ""


class Made:
    """A plug-in with a setting of each kind."""

    def __init__(
        self,
        task: str,
        *,
        share: float = 0.5,
        often: int = 3,
        loud: bool = False,
        name: str = "x",
        weights: tuple[float, ...] = (1.0,),
        anything: object = None,
    ) -> None:
        self.made = (task, share, often, loud, name, weights, anything)


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> None:
    def entries(*, group: str, name: str | None = None) -> list[EntryPoint]:
        all_of_them = [
            EntryPoint("made", f"{__name__}:Made", "spoor.policies"),
            EntryPoint("broken", "no_such_module_of_mine:x", "spoor.policies"),
            EntryPoint("random", f"{__name__}:Made", "spoor.policies"),
        ]
        return [
            entry for entry in all_of_them if entry.group == group and name in (None, entry.name)
        ]

    monkeypatch.setattr(registry, "entry_points", entries)


@pytest.mark.usefixtures("outside")
def test_plugins_from_outside() -> None:
    assert find("policies", "made") is Made
    assert "made" in names("policies")
    assert names("policies") == sorted(names("policies"))
    # A built-in name is not taken over.
    assert find("policies", "random") is not Made
    with pytest.raises(PluginError, match="no_such_module_of_mine"):
        find("policies", "broken")
    with pytest.raises(InputError, match="did you mean 'made'"):
        find("policies", "mad")


@pytest.mark.usefixtures("outside")
def test_settings() -> None:
    assert list(parameters(Made)) == ["share", "often", "loud", "name", "weights", "anything"]
    made: Any = build(
        "policies",
        "made",
        "task",
        settings={"share": 1, "often": 4, "loud": True, "weights": [2.0], "anything": {1: 2}},
    )
    assert made.made == ("task", 1, 4, True, "x", [2.0], {1: 2})
    assert build("policies", "made", "task").made[0] == "task"


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"shar": 1},
            r"policy 'made' has no parameter 'shar' \(did you mean 'share'\?\); it has: ",
        ),
        ({"task": "x"}, "has no parameter 'task'"),
        ({"share": "1"}, "policy 'made': share is a number, not '1'"),
        ({"share": True}, "share is a number, not True"),
        ({"share": float("nan")}, "share is a number, not nan"),
        ({"often": 1.5}, "often is a whole number, not 1.5"),
        ({"loud": 1}, "loud is true or false, not 1"),
        ({"name": 3}, "name is a string, not 3"),
        ({"weights": 1.0}, "weights is a list, not 1.0"),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check("policies", "made", settings)


# ---------------------------------------------------------------- without a package


def test_a_plug_in_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        registry.VARIABLE, f"policies.mine={__name__}:Made, judges.too={__name__}:Made"
    )
    assert find("policies", "mine") is Made
    assert "mine" in names("policies")
    assert "mine" not in names("judges")
    assert registry.outside("judges") == ["too"]
    monkeypatch.setenv(registry.VARIABLE, "policies.gone=no_such_module_of_mine:x")
    with pytest.raises(PluginError, match="no_such_module_of_mine"):
        find("policies", "gone")


@pytest.mark.parametrize(
    "text", ["mine=x:Y", "policies.mine=x", "policy.mine=x:Y", "policies.=x:y"]
)
def test_what_the_environment_says_wrongly_is_told(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(registry.VARIABLE, text)
    with pytest.raises(InputError, match=r"SPOOR_PLUG_INS: .* is not KIND\.NAME=MODULE:ATTRIBUTE"):
        names("policies")
    with pytest.raises(InputError, match="SPOOR_PLUG_INS"):
        find("policies", "mine")
    find("policies", "random")  # ours need it not


def test_the_lab_runs_a_policy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In its processes, too; and once more when the file has changed."""
    (tmp_path / "my_policy.py").write_text("from spoor.policies.random import Random as Base\n\n\n")
    with (tmp_path / "my_policy.py").open("a") as file:
        file.write("class Mine(Base):\n    pass\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv(registry.VARIABLE, "policies.mine=my_policy:Mine")
    (tmp_path / "small.toml").write_text(
        "pages = 40\nseeds = 2\n[[webs]]\ngenerated = { pages = 120 }\n[[targets]]\n"
        'want = ["label:pottery"]\n[[policies]]\npolicy = "mine"\n'
    )
    command = [sys.executable, "-m", "spoor", "lab", "run", "small.toml", "--out", "out", "--jobs"]
    told = subprocess.run([*command, "2"], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert "mine" in (tmp_path / "out" / "small" / "cells.csv").read_text()
