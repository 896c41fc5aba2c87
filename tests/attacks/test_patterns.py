"""Regular expressions of a stranger's topic or run."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest

from attacks.measure import Note, within_law
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.judges.facts import TextPattern, UrlPattern
from spoor.judges.topic import judge_of_topic, read_topic
from spoor.runs.assemble import make_crawl
from spoor.settings import Settings
from spoor.types import Page
from spoor.web.expressions import MOST_CHARACTERS, MOST_NESTED, compiled
from spoor.web.url_patterns import UrlPatterns

AT = "http://a.example/"
LARGE = [
    "s{199999}",
    "(?:s?){000000000199999}t",
    "(?:(?:s?){450}){450}",
    "(?:(?:(?:s??){99}){99}){99,}+",
    "(?x)(?: (?: s? #)\n ) { 450 } #)\n ) { 450 }",
    "(?:[)](?:[])]s?){450}){450}",
    r"(?:\)(?:[[:alpha:])]s?){450}){450}",
    "(?V1)(?:[[a])](?:s?){450}){450}",
    "(?:(?#[)(?:s?){450}){450}",
]
"""Each became a hundred megabytes and more."""


@pytest.mark.parametrize("expression", LARGE)
def test_a_short_expression_becomes_no_large_one(expression: str, record_property: Note) -> None:
    def made() -> str:
        with pytest.raises(InputError, match="repeats too much") as told:
            compiled(expression, expression)
        return str(told.value)

    assert "{" in within_law(made, len(expression), record_property)


def test_settings_with_a_large_one_are_read_and_used_within_bounds(record_property: Note) -> None:
    """They are those of a stranger's run, which is looked at before anything is asked for."""

    def refused() -> str:
        large = [f"re:{expression}" for expression in ("(?:s?){9999999}", *LARGE)]
        settings = Settings.from_dict({"crawl": {**crawl, "include": large}})
        with pytest.raises(InputError, match="repeats too much") as told:
            make_crawl(settings)
        return str(told.value)

    crawl = {"seeds": [AT], "topic": "kiln"}
    make_crawl(Settings.from_dict({"crawl": crawl}))  # what it imports is not the pattern's
    assert "{" in within_law(refused, 300, record_property)


@pytest.mark.parametrize(
    "expression",
    [
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})",
        r"(?:\(\d{3}\) |\d{3}-)\d{3}-\d{4}",
        "kiln.{0,200}glaze.{0,200}porcelain.{0,200}raku",
        r"\bISO \d{4,5}\b",
        "|".join(f"kiln{number}" for number in range(100)),
        r"\((\d{3})\) (\d{3})-(\d{4})(?: x(\d{1,4}))?|(a)(b)(c)(?:d(?:e(f)))",
        "(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)",
    ],
)
def test_an_honest_expression_is_compiled(expression: str) -> None:
    assert compiled(expression, expression).search("") is None


def test_groups_within_groups_are_told() -> None:
    expression = "(" * 500 + ")" * 500
    for make in (TextPattern, UrlPattern, lambda text: UrlPatterns([f"re:{text}"])):
        with pytest.raises(InputError, match="nested too deep"):
            make(expression)


def test_a_topic_with_deep_groups_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.toml").write_text(f'name = "x"\npatterns = ["{"(" * 450}{")" * 450}"]\n')
    (tmp_path / "page.html").write_text("<title>Kiln</title><p>fired")
    assert run(["topic", "test", str(tmp_path / "t.toml"), str(tmp_path / "page.html")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nested too deep" in line


def test_a_long_literal_that_ignores_the_time_is_told() -> None:
    """Of 10,000 letters, a first search took 200 seconds."""
    with pytest.raises(InputError, match=f"at most {MOST_CHARACTERS:,}"):
        TextPattern("(?i)" + "ß" * 2_000)


def test_patterns_of_a_topic_take_a_share_of_each_page(tmp_path: Path) -> None:
    """Each had a quarter of a second: 5,000 of them 20 minutes."""
    listed = ", ".join(f'"(?:a|aa|a{number})+z"' for number in range(40))
    file = tmp_path / "t.toml"
    file.write_text(f'name = "x"\npatterns = [{listed}, "kiln"]\n')
    judge = judge_of_topic(read_topic(file))
    began = time.process_time()
    judge.judge(Page(AT, title="x", text="z " + 5_000 * "a"))
    assert time.process_time() - began < 5.0
    assert judge.judge(Page(AT, title="The kiln", text="is lit")).relevant


@pytest.mark.parametrize(
    "expression",
    [
        *("(?R)?a", "(a(?1)?b|a)+[wx]", "(?P<n>a(?&n)?)+[wx]", "(?P<n>a(?P>n)?)+[wx]"),
        *("(" * depth + "a|b" + ")" * depth + "*[wx]" for depth in (5, 50)),
    ],
)
def test_no_expression_takes_memory_by_its_steps_back(expression: str) -> None:
    """A search of a quarter of a second took up to 360 MB."""
    with pytest.raises(InputError, match=r"within itself|nested too deep"):
        compiled(expression, expression)


@pytest.mark.parametrize("depth", [1, MOST_NESTED])
def test_groups_in_one_another_take_little_memory(depth: int, record_property: Note) -> None:
    text = "ab" * 100_000

    def searched() -> bool:
        made = compiled("(" * depth + "a|b" + ")" * depth + "*[wx]", "")
        with suppress(TimeoutError):
            made.search(text, timeout=0.25)
        return True

    assert within_law(searched, len(text), record_property)
