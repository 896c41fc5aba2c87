"""Settings: each in one place, and from there in all others; what is wrong is named in one line."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from spoor.cli.main import run as run_spoor
from spoor.cli.settings import markdown, python
from spoor.errors import InputError
from spoor.notebook import functions
from spoor.notebook.crawls import settings_of
from spoor.runs.inputs import with_inputs
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.setting import Setting
from spoor.settings import WHOLE_SITE, Settings, described
from spoor.views.resume_page import command_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "settings.md"


def test_the_page_of_the_reference_is_that_of_the_code() -> None:
    assert PAGE.read_text("utf-8") == markdown(Settings), "make it anew: spoor settings"
    code = Path(functions.__file__).read_text("utf-8")
    assert code == python(Settings), "make it anew: spoor settings --keywords"


# ---------------------------------------------------------------- a field more

ONE_MORE = """
import dataclasses, json, sys, tomllib
import spoor.settings as module
from pathlib import Path

more = module.setting(7, module.CRAWL, "Owls at a time.", ge=1, commands=module.EVERYWHERE)
module.Settings = dataclasses.make_dataclass(
    "Settings", [("owls", int, more)], bases=(module.Settings,), frozen=True, kw_only=True
)

from scrapy.settings import Settings as ScrapySettings
from spoor.cli.main import run
from spoor.cli.main import run as run_spoor
from spoor.cli.settings import markdown, python
from spoor.integrations.scrapy.components import read_settings
import spoor

ADDRESS = "http://127.0.0.1:9/"  # refused: nothing is fetched
crawl = ["crawl", ADDRESS, "--topic", "owls", "--out", "run", "--json"]
codes = [run([*crawl, "--owls", "5"]), run([*crawl, "--owls", "6"]), run([*crawl, "--owls", "0"])]
toml = tomllib.loads(Path("run/spoor.toml").read_text())
try:
    spoor.run(ADDRESS, "owls", out="other", owls=4)
except spoor.InputError:
    pass  # there is no page
codes.append(run(["watch", ADDRESS, "--owls", "0", "--out", "watch"]))
try:
    spoor.run(ADDRESS, "owls", out="third", owls="many")
except spoor.InputError as error:
    wrong = str(error)
message = module.Settings(owls=2).to_dict()
seen = {
    "codes": codes,
    "toml": toml["crawl"]["owls"],
    "python": tomllib.loads(Path("other/spoor.toml").read_text())["crawl"]["owls"],
    "wrong": wrong,
    "scrapy": read_settings(ScrapySettings({"SPOOR_OWLS": "9"})).owls,
    "message": module.Settings.from_dict(json.loads(json.dumps(message))).owls,
    "page": [line for line in markdown(module.Settings).splitlines() if "owls" in line],
}
print("SEEN", json.dumps(seen))
for command in ("crawl", "watch"):
    run([command, "--help"])
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "one", [one for one in described(Settings).values() if one.choices and not one.inner]
)
def test_help_names_each_choice(one: Setting) -> None:
    """What an option takes is read in its help: it is shown as `<str>` there."""
    assert set(one.choices) <= set(re.findall(r"[\w-]+", one.help))


def test_a_field_more_is_at_once_in_all_places(tmp_path: Path) -> None:
    """In a process of its own: the field is added to `spoor.settings` before anything else is
    imported, as if it had been written there."""
    done = subprocess.run(
        [sys.executable, "-c", ONE_MORE],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "200"},
    )
    seen = json.loads(done.stdout.partition("SEEN ")[2].splitlines()[0])
    errors = done.stderr.splitlines()
    assert seen["codes"] == [3, 2, 2, 2]
    assert any("was begun with owls = 5, not 6" in line for line in errors)
    assert errors.count("spoor: --owls 0 is not a whole number from 1 on") == 2
    assert (seen["toml"], seen["python"]) == (5, 4)
    assert seen["wrong"] == "owls 'many' is not a whole number from 1 on"
    assert (seen["scrapy"], seen["message"]) == (9, 2)
    assert seen["page"] == [
        "| `owls` | Owls at a time. | a whole number from 1 on | `7` | `--owls` | crawl, watch | "
        "`SPOOR_OWLS` |"
    ]
    assert done.stdout.count("Owls at a time. [default: 7]") == 2, (
        "in crawl --help and watch --help"
    )


# ---------------------------------------------------------------- to and fro


def values(one: Setting) -> st.SearchStrategy[Any]:
    """Values that a setting may have."""
    low, high = one.ge or 0, one.le or 1_000
    if one.choices:
        return st.sampled_from(one.choices)
    if one.form is not None:
        texts = "127.0.0.1:80 a.example pdf pdf=9 direct X-A:b https://b.c/ 2".split()
        fitting = next(text for text in texts if one.form[1](text))
        return st.just(fitting) if one.kind is str else st.lists(st.just(fitting)).map(tuple)
    kinds: dict[type, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(int(low), 10_000) | (st.none() if one.none is not None else st.nothing()),
        float: st.floats(low, high, allow_subnormal=False),
        str: st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
        tuple: st.lists(st.text("ab:. é", max_size=5), max_size=3).map(tuple),
        dict: st.dictionaries(st.text("abc", min_size=1), st.integers(0, 9) | st.text("ab")),
    }
    return kinds[one.kind]


@given(st.data(), st.sampled_from(["crawl", "watch", "scrapy"]))
def test_settings_come_back_as_they_went(data: st.DataObject, command: str) -> None:
    known = Settings.of_command(command)
    names = data.draw(st.sets(st.sampled_from(sorted(known.keys() - {"command", "topic_file"}))))
    chosen = {name: data.draw(values(known[name]), name) for name in names}
    settings = Settings.of(chosen, command)
    whole = settings.to_dict(secret=True)
    assert Settings.from_dict(json.loads(json.dumps(whole))) == settings
    assert Settings.from_dict(tomllib.loads(tomli_w.dumps(whole))) == settings
    part = Settings.from_dict(settings.to_dict(fixed=False))
    for name, one in described(Settings).items():
        if one.secret:
            assert f'"{name}"' not in json.dumps(settings.to_dict())
            assert getattr(part, name) == one.default
        elif not one.group.fixed:
            assert getattr(part, name) == getattr(settings, name)


def test_what_is_missing_has_its_default() -> None:
    assert Settings.from_dict({}) == Settings()
    assert Settings.from_dict({"budget": {"pages": 5}}) == Settings(pages=5)


# ---------------------------------------------------------------- one line for what is wrong

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a table unknown": ({"polite": 1}, "polite 1 is not a table of settings"),
    "a key unknown": (
        {"politeness": {"dealy": 2}},
        "unknown setting politeness.dealy = 2 (did you mean 'delay'?)",
    ),
    "a key of another table": ({"crawl": {"delay": 2}}, "unknown setting crawl.delay = 2"),
    "a key of another command": (
        {"crawl": {"command": "watch", "policy": "trail"}},
        "unknown setting crawl.policy",
    ),
    "a command unknown": ({"crawl": {"command": "swim"}}, "unknown command 'swim'; it is 'crawl'"),
    "a text for a number": (
        {"politeness": {"delay": "1s"}},
        "politeness.delay '1s' is not a number from 0 on",
    ),
    "no number": (
        {"politeness": {"delay": float("nan")}},
        "politeness.delay nan is not a number from 0 on",
    ),
    "a switch for a number": ({"budget": {"pages": True}}, "budget.pages True is not a whole"),
    "a half": ({"budget": {"pages": 2.5}}, "budget.pages 2.5 is not a whole number from 1 on"),
    "too little": ({"budget": {"pages": -3}}, "budget.pages -3 is not a whole number from 1 on"),
    "too much": ({"budget": {"floor": 2}}, "budget.floor 2.0 is not a number from 0 to 1"),
    "a number for a switch": ({"process": {"warc": 1}}, "process.warc 1 is not true or false"),
    "a text for a list": (
        {"crawl": {"want": "url:x"}},
        "crawl.want 'url:x' is not a list of texts",
    ),
    "a list of numbers": ({"crawl": {"want": [1]}}, "crawl.want 1 is not a list of texts"),
    "a choice unknown": (
        {"crawl": {"scope": "domian"}},
        "unknown scope 'domian' (did you mean 'domain'?); it is 'page', 'directory', 'host', 'domain', 'list' or 'anywhere'",
    ),
    "no address": (
        {"politeness": {"connect_to": "a.example:80"}},
        "politeness.connect_to 'a.example:80' is not ADDRESS:PORT, as in 127.0.0.1:8080",
    ),
    "no host": (
        {"politeness": {"allow_private": ["http://b/"]}},
        "politeness.allow_private 'http://b/' is not a host; give its name or address alone",
    ),
    "two topics": (
        {"crawl": {"topic": "x", "topic_file": "t.toml"}},
        "give crawl.topic or crawl.topic_file, not both",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_is_refused_in_one_line(case: str) -> None:
    tables, line = WRONG[case]
    with pytest.raises(InputError) as caught:
        Settings.from_dict(tables, "t.toml")
    assert line in str(caught.value)
    assert "t.toml" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_whole_site_is_archived_but_for_what_is_given_beside_it(tmp_path: Path) -> None:
    page = "http://127.0.0.1:9/"  # refused: nothing is fetched
    line = ["crawl", page, "--whole-site", "--pages", "1000", "--requisites", "relevant"]
    run_spoor([*line, "--out", str(tmp_path / "run"), "--json"])
    one = Run(tmp_path / "run").settings
    assert (one.want, one.policy, one.types) == (("url:.",), "breadth-first", ("*/*",))
    assert (one.traps, one.sitemaps) == (True, True)
    assert (one.pages, one.requisites) == (1000, "relevant")
    run_spoor([*shlex.split(command_of(one, tmp_path / "same"))[1:]])
    assert Run(tmp_path / "same").settings == one
    topic = Settings.of({"whole_site": True, "topic": "kilns"})
    assert (topic.want, topic.pages) == ((), WHOLE_SITE["pages"])


def test_times_are_written_with_a_unit() -> None:
    assert Settings.of({"new_for": "90m"}, "watch").new_for == 5400.0
    with pytest.raises(InputError, match="new_for 'soon' is no time; write 90s, 30m, 12h or 7d"):
        Settings.of({"new_for": "soon"}, "watch")


def test_python_is_told_of_an_unknown_name() -> None:
    with pytest.raises(InputError, match=r"unknown setting pagse \(did you mean 'pages'\?\)"):
        Settings.of({"pagse": 5})
    with pytest.raises(InputError, match="scope"):
        Settings(scope="planet")


def test_a_run_keeps_what_decides_it_and_takes_what_may_change(tmp_path: Path) -> None:
    first = with_inputs(Settings(topic="owls", pages=5), ["http://a.example/"])
    RunWriter(tmp_path, first).close()
    later = with_inputs(Settings(topic="owls", pages=9, timeout=3.0), ["http://a.example/"])
    again = RunWriter(tmp_path, later)
    assert again.settings.pages == 9
    again.close()
    other = with_inputs(Settings(topic="owls", backoff=9.0), ["http://a.example/"])
    with pytest.raises(InputError, match=r"begun with backoff = 5\.0, not 9\.0"):
        RunWriter(tmp_path, other)


def test_what_is_said_of_a_refresh_counts_also_where_it_is_a_default(tmp_path: Path) -> None:
    begun = Settings(topic="owls", requisites="all", delay=9.0, pages=5)
    RunWriter(tmp_path, with_inputs(begun, ["http://a.example/"])).close()
    again = with_inputs(Settings.of({"refresh": str(tmp_path)}), [])
    assert (again.requisites, again.delay) == ("all", 9.0)
    none = with_inputs(Settings.of({"refresh": str(tmp_path), "requisites": "none"}), [])
    assert (none.requisites, none.delay, none.topic) == ("none", 9.0, "owls")
    assert "said" not in described(Settings)


def test_python_cannot_give_a_default() -> None:
    """Each keyword of a call has a value."""
    keywords = {n: one.default for n, one in described(Settings).items() if not one.inner}
    known = Settings.of_command("crawl").keys() & keywords.keys()
    given = {name: keywords[name] for name in known}
    whole = settings_of("http://a.example/", given | {"whole_site": True, "pages": 7})
    assert (whole.requisites, whole.policy, whole.pages) == ("all", "breadth-first", 7)


@pytest.mark.parametrize(
    "given",
    [
        {"body_limit": 1 << 40},
        {"header_limit": 1 << 40},
        {"type_limits": ("pdf=1000000000000",)},
        {"type_limits": ("pdf=00000000000001000000000000",)},
    ],
)
def test_no_settings_have_a_body_of_any_size_read_into_memory(given: dict[str, Any]) -> None:
    """Those of a stranger's run neither."""
    with pytest.raises(InputError, match=r"268435456|16777216"):
        Settings.of(given)
    with pytest.raises(InputError, match=r"268435456|16777216"):
        Settings.from_dict(
            {
                "limits": {
                    name: list(value) if isinstance(value, tuple) else value
                    for name, value in given.items()
                }
            },
            "spoor.toml",
        )
