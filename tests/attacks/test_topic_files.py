"""A topic file of a stranger is used or told in one line, whatever its values are."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.judges.topic import METHODS, judge_of_topic, read_topic
from spoor.types import Page

PAGE = Page("http://pots.example/", title="Kiln", text="a kiln and its glaze " * 30)
NAMES = [*METHODS, "", "kiln", "\0", "\ud7ff", "../x", "/dev/zero", "a" * 300, "(a+)+$", "["]
VALUES = st.recursive(
    st.sampled_from(NAMES) | st.booleans() | st.floats() | st.integers(-(2**40), 2**40),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner),
    max_leaves=4,
)
KEYS = "wish keywords example_urls example_texts negative_texts patterns url_patterns judge".split()


@st.composite
def topics(draw: st.DrawFn) -> dict[str, Any]:
    method = draw(st.sampled_from([*METHODS]))
    asked = st.sampled_from([*METHODS[method], "threshold", "fields", "language", "method"])
    relevant = {"method": method, **draw(st.dictionaries(asked, VALUES, max_size=3))}
    more = draw(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=2))
    return {"name": "kiln, glaze", **more, "relevant": relevant}


def judged(path: Path, topic: dict[str, Any]) -> None:
    """Judge a page by a topic file. Raises InputError where it is none."""
    path.write_text(tomli_w.dumps(topic), "utf-8")
    judge_of_topic(read_topic(path)).judge(PAGE)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(topics())
def test_any_value_is_used_or_told(tmp_path: Path, topic: dict[str, Any]) -> None:
    with suppress(InputError):
        judged(tmp_path / "kilns.topic", topic)


@pytest.mark.parametrize(
    ("relevant", "why"),
    [
        ({"method": ["bm25"]}, "'method' must be a string"),
        ({"method": "vectors", "vectors": "\0"}, "no name of a file"),
        ({"method": "encoder", "encoder": "a" * 300}, "a" * 300),
        ({"method": "bm25", "language": "\ud7ff"}, "no stemmer for language"),
    ],
)
def test_what_was_a_traceback(relevant: dict[str, Any], why: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=why):
        judged(tmp_path / "kilns.topic", {"name": "kiln", "relevant": relevant})
