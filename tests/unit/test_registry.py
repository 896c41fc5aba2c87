"""Plug-ins by name: built in or from outside, with settings that are checked before use."""

from __future__ import annotations

from importlib.metadata import EntryPoint
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
