"""Lists of sites as people have them: plain lines, names without a scheme, tables of a spreadsheet."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import spoor
from spoor.errors import InputError
from spoor.runs.inputs import read_seeds, with_inputs
from spoor.settings import Settings

SITES = ["https://acme.example/", "http://www.bolt.example/de", "https://cord.example/team"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "sites.txt",
            "\ufeff# who they are\nacme.example\t# the first\r\n\n  http://www.bolt.example/de #2\n"
            "cord.example/team\n",
        ),
        ("sites.csv", "\ufeffurl\nacme.example\nhttp://www.bolt.example/de\ncord.example/team\n"),
        ("sites.csv", "acme.example\nhttp://www.bolt.example/de\ncord.example/team\n"),
        (
            "SITES.CSV",
            'Name, Website ,City\r\n"Acme, Inc.",acme.example,Bonn\r\nNone,,\r\nShort\r\n'
            '"Bolt\r\nSons",http://www.bolt.example/de,\r\nCord,cord.example/team,Rome\r\n',
        ),
        (
            "sites.csv",
            "Firma;Web site;Ort\nAcme, Inc.;acme.example;Bonn\nNone;;\nBad;n/a;\n"
            "Bolt;http://www.bolt.example/de;\nCord;cord.example/team;Rome\n",
        ),
        ("sites.csv", "A\tacme.example\nB\thttp://www.bolt.example/de\nC\tcord.example/team\n"),
        (
            "sites.csv",
            "domain,x,url\nacme.example,1,http://no.example/\nhttp://www.bolt.example/de\n"
            "cord.example/team,2,\n",
        ),
    ],
)
def test_sites_are_read(tmp_path: Path, name: str, text: str) -> None:
    file, told = tmp_path / name, list[str]()
    for encoding in ("utf-8", "utf-16"):
        file.write_text(text.removeprefix("\ufeff"), encoding, newline="")
        assert [*read_seeds([str(file)], report=told.append)] == SITES
    file.write_text(text, "utf-8", newline="")
    assert [*read_seeds([str(file)], report=told.append)] == SITES
    bad = f"left out: {file}, line 4: 'n/a' is not a valid URL"
    assert told == ([bad] * 3 if "n/a" in text else [])


def test_python_warns_of_lines_that_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "s.txt"
    file.write_text("a.example\nb.example\n?\n")
    with pytest.warns(UserWarning, match="left out: .*line 3") as told, suppress(InputError):
        spoor.run(str(file), topic="kiln", model=str(tmp_path / "none"), out=tmp_path / "run")
    assert told[0].filename == __file__


def test_names_of_other_scripts_are_sites(tmp_path: Path) -> None:
    (tmp_path / "sites.txt").write_text("münchen.example\nпример.com/a\n", "utf-8")
    assert [*read_seeds([str(tmp_path / "sites.txt")])] == [
        "https://xn--mnchen-3ya.example/",
        "https://xn--e1afmkfd.com/a",
    ]


def test_a_site_needs_no_scheme(tmp_path: Path) -> None:
    given = ["a.example", "b.example/x", "https://c.example/", "c.example", "http://a.example/"]
    assert read_seeds(given) == {
        "https://a.example/": True,
        "https://b.example/x": True,
        "https://c.example/": False,
        "http://a.example/": False,
    }
    begun = with_inputs(Settings(topic="kiln"), given)
    assert begun.any_scheme == ("https://a.example/", "https://b.example/x")
    assert with_inputs(begun, ()).any_scheme == begun.any_scheme
    for name in ("none.tsv", "none.xlsx/a", "localhost", "10.0.0.1"):
        with pytest.raises(InputError, match="nor the name of a site"):
            read_seeds([name])


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("s.txt", "acme.example\nnot a url\n", r"s\.txt, line 2: 'not a url' is not a valid URL"),
        (
            "s.txt",
            "n/a\nacme.example\n-\n?\n",
            r"line 1: 'n/a' is not a valid URL; nor can lines 3, 4 be used$",
        ),
        ("s.txt", "kiln\n", r"s\.txt, line 1: 'kiln' is not a valid URL"),
        ("s.csv", "name,place\nAcme,Bonn\n", r"s\.csv, line 1: no column is named url, website"),
        ("s.csv", "a;b\nx.example;y.example\n", r"line 1: 'a' and 'b' both have addresses; call"),
        ("s.csv", "name,url\nAcme,Bonn road\n", r"s\.csv, line 2: 'Bonn road' is not a valid URL"),
        ("s.csv", 'url\n"acme.example', r"s\.csv, line 2: unexpected end of data"),
        ("s.csv", "name,url\nAcme,\n", r"has no URL in it"),
        ("s.csv", "a\rb;url\n", r"line 1: 'a' is not a valid URL; nor can line 2"),
        (
            "list.csv",
            "," * 20_000 + "\nx",
            r"list.csv, line 1: more than 16,384 columns are no list",
        ),
    ],
)
def test_what_is_none_is_told_with_its_line(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_text(text)
    for report in (None, pytest.fail):
        with pytest.raises(InputError, match=why):
            read_seeds([str(tmp_path / name)], report=report)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80), st.sampled_from(["txt", "csv"]))
def test_no_file_gives_another_error(tmp_path: Path, content: bytes, kind: str) -> None:
    file = tmp_path / f"seeds.{kind}"
    file.write_bytes(content)
    with suppress(InputError):
        read_seeds([str(file)])


@pytest.mark.parametrize("line", ["anna:sesame@s.example", "http://anna:sesame@s.example:x/"])
def test_a_password_in_a_list_is_not_quoted(tmp_path: Path, line: str) -> None:
    (tmp_path / "s.txt").write_text(f"s.example\n{line}\n")
    with pytest.raises(InputError, match=r"s\.txt, line 2: the address has a password") as told:
        read_seeds([str(tmp_path / "s.txt")])
    assert "sesame" not in str(told.value)
    with pytest.raises(InputError, match=r"^the (seed|address) has a password"):
        read_seeds([line])


def test_lines_without_end_take_little_room(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("s.example\n" * 40_000)
    tracemalloc.start()
    try:
        assert read_seeds([str(tmp_path / "s.txt")]) == {"https://s.example/": True}
        assert tracemalloc.get_traced_memory()[1] < 4_800_000, "10 MB with a place for each line"
    finally:
        tracemalloc.stop()
    (tmp_path / "s.txt").write_text("x" * 1_000_000)
    with pytest.raises(InputError, match=r"line 1: 'xxx.*is no URL") as told:
        read_seeds([str(tmp_path / "s.txt")])
    assert len(str(told.value)) < 1_000
