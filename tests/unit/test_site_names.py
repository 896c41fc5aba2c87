"""A digest and feeds name a site once, and not in the title of each of its documents."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.formats.digest import html, markdown
from spoor.formats.feeds import json_feed, rss
from spoor.formats.site_names import without_site_names


def line(title: str, site: str = "news.example", **more: Any) -> dict[str, Any]:
    url = f"http://{site}/{abs(hash(title))}"
    when = "2026-11-10T06:00:01Z"
    its = {"id": url, "kind": "new", "url": url, "title": title, "date": when, "version": 1}
    return {**its, "found_at": when, "story": url, **more}


def titles(*lines: dict[str, Any]) -> list[str]:
    return [its["title"] for its in without_site_names(lines)]


def test_what_ends_most_titles_of_a_site_is_left_out() -> None:
    told = [line(f"Story {name} - The Daily Branch") for name in ("one", "two - three", "four")]
    other = line("A kiln - and a fire", "other.example")
    assert titles(*told, other) == [
        "Story one", "Story two - three", "Story four", "A kiln - and a fire"
    ]  # fmt: skip
    # Of two titles nobody knows, and what few of many have is theirs.
    assert titles(*told[:2]) == [its["title"] for its in told[:2]]
    mixed = [line(f"Story {one}") for one in range(3)]
    assert titles(*told, *mixed)[0] == told[0]["title"]


@pytest.mark.parametrize(
    ("title", "short"),
    [
        ("Kiln lit – The Daily Branch", "Kiln lit"),
        ("Kiln lit | dailybranch", "Kiln lit"),
        ("The Daily Branch: Kiln lit", "Kiln lit"),
        ("Daily Branch | Kiln lit", "Kiln lit"),
        ("The Daily Branch", "The Daily Branch"),
        ("Corrected: Kiln lit", "Corrected: Kiln lit"),
        ("Kiln lit - the", "Kiln lit - the"),
    ],
)
def test_a_site_that_has_the_name_of_its_host_is_known_by_one_title(title: str, short: str) -> None:
    assert titles(line(title, "www.dailybranch.example")) == [short]


@given(st.lists(st.text("ab -|:", max_size=12), max_size=8))
def test_no_title_is_lost(some: list[str]) -> None:
    lines = [line(title, f"{number}.ab.example") for number, title in enumerate(some)]
    same = [line(title) for title in some]
    for title, short in zip(some + some, titles(*lines) + titles(*same), strict=True):
        assert short in title
        assert bool(short.strip()) == bool(title.strip())


def test_digest_and_feeds_name_no_site_and_say_what_a_change_was() -> None:
    told = [line(f"Story {name} - The Daily Branch") for name in ("one", "two")]
    told.append(
        line(
            "Corrected: Kiln lit - The Daily Branch",
            kind="changed",
            title_before="Kiln lit - The Daily Branch",
            added=[],
            date="2026-11-08T23:59:59Z",
        )
    )
    told.append(line("An old page - The Daily Branch", kind="changed"))
    shown = [markdown(told, "kilns"), html(told, "kilns"), rss(told, "kilns").decode()]
    for text in shown:
        assert "Branch" not in text
        assert "an old page that is about it now" in text
    assert "(changed; of 2026-11-08; its title was “Kiln lit”)" in shown[0]
    items = json.loads(json_feed(told, "kilns"))["items"]
    assert items[1]["title"] == "Changed: Corrected: Kiln lit"
    assert items[1]["_spoor"] == told[2]
