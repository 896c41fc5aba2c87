"""Settings as a form: its fields, what is in them, and the settings that they stand for.

All of it follows from `spoor.settings`: a setting that is added there is in the form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spoor.errors import InputError
from spoor.registry import parse_params
from spoor.runs.inputs import with_inputs
from spoor.setting import GROUPS, Group, Setting
from spoor.settings import Settings

Form = Mapping[str, Sequence[str]]
"""Name of a field → its values, as a browser sent them."""

FIRST = ("topic", "want", "pages", "delay", "scope", "contact")
"""Settings that most users set; the others are folded away."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the form."""

    setting: Setting
    text: str
    """Its value as text; of a switch `yes` or empty."""

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def label(self) -> str:
        """Its name in words."""
        return self.name.replace("_", " ")

    @property
    def kind(self) -> str:
        """The element that it is: `switch`, `choice`, `lines`, `number` or `text`."""
        one = self.setting
        if one.kind is bool:
            return "switch"
        if one.kind in (tuple, dict):
            return "lines"
        if one.choices and not one.plugins:
            return "choice"
        return "number" if one.kind in (int, float) and not one.time else "text"

    @property
    def is_changed(self) -> bool:
        """Whether its value differs from the default."""
        return self.text != _text(self.setting, self.setting.default)


def fields(command: str, form: Form | None = None) -> list[Field]:
    """All fields of a command, in the order of the settings; with what a form held, or the
    defaults."""
    if form is None:
        return [Field(one, _text(one, one.default)) for one in _settings(command)]
    return [Field(one, "\n".join(form.get(one.name, ()))[:10_000]) for one in _settings(command)]


def groups(fields_: Sequence[Field]) -> list[tuple[Group, list[Field]]]:
    """The fields that few users need, by group."""
    rest = [one for one in fields_ if one.name not in FIRST]
    rows = [(group, [one for one in rest if one.setting.group == group]) for group in GROUPS]
    return [row for row in rows if row[1]]


def settings_of_form(command: str, form: Form, *, seeded: bool = False) -> Settings:
    """The settings of a form, with its field `seeds`, which may be empty where the run is `seeded`
    otherwise. Raises InputError as `Settings.of` and `with_inputs` do."""
    known = _settings(command)
    said = [(one, value_of(one, form.get(one.name, ()))) for one in known]
    values = {one.name: value for one, value in said if value != one.default}
    settings = Settings.of(values, command, lambda name: f"“{name.replace('_', ' ')}”")
    given = [line.strip() for text in form.get("seeds", ()) for line in text.split()]
    if not given and not seeded:
        raise InputError("say where to begin: a URL, as in https://example.org/")
    return with_inputs(settings, given)


def arguments(settings: Settings) -> list[str]:
    """The options and arguments of the command line that mean these settings, without secrets: any
    user of the machine may read the arguments of a process."""
    known = Settings.of_command(settings.command)
    options = [
        text
        for name, one in known.items()
        if not one.secret
        for text in one.arguments(getattr(settings, name))
    ]
    return [settings.command, *options, "--", *settings.seeds]


def secrets(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Option → its values, of the settings that are secrets."""
    known = Settings.of_command(settings.command)
    given = {one.flag: getattr(settings, name) for name, one in known.items() if one.secret}
    return {option: values for option, values in given.items() if values}


def _settings(command: str) -> list[Setting]:
    return [one for one in Settings.of_command(command).values() if not one.inner]


def _text(one: Setting, value: Any) -> str:
    """A value as it stands in a field."""
    if one.kind is bool:
        return "yes" if value else ""
    if one.kind is tuple:
        return "\n".join(value)
    if one.kind is dict:
        return "\n".join(f"{name}={json.dumps(of)}" for name, of in (value or {}).items())
    if value is None or value == "":
        return ""
    return f"{value:g}" if one.kind is float else str(value)


def value_of(one: Setting, given: Sequence[str]) -> Any:
    """The value of a field's text; an empty text means the default."""
    text = "\n".join(given).strip()
    if one.kind is bool:
        return bool(text)
    if not text:
        return one.default
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if one.kind is dict:
        return parse_params(lines)
    return lines if one.kind is tuple else text if one.time else one.parsed(text)
