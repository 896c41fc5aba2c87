"""What a page says behind a label that it is filed under, as trackers, wikis and archives do."""

from __future__ import annotations

import pytest

from spoor.web.page import parse


def keywords(html: str) -> tuple[str, ...]:
    return parse(f"<h1>Apple</h1>{html}".encode(), "http://a.org/7").keywords


@pytest.mark.parametrize(
    "html",
    [
        "<div class=label>Category:</div><div class=value>Food</div></div><div>Start:</div>",
        "<tr><th>\n Component:\n<td>\n<a href=/query?component=Food&s=new>Food</a>\n<th>Version:",
        "<a href=/all>Categories</a>: <ul><li><a href=/Category:Food>Food</a></ul>",
        "<p>Filed under: <b>Food</b></p><p><a href=/edit>Edit</a></p>",
        "<p>Tags: Food</p>",
        "<dt>Schlagwörter:<dd>Food",
        "<p>分类：Food</p>",
    ],
)
def test_what_stands_behind_a_label_is_what_a_page_is_filed_under(html: str) -> None:
    assert keywords(html) == ("Food",)


@pytest.mark.parametrize(
    "html",
    [
        "<p>Tags: Food, Drink</p>",
        "Tags: <a href=/f>Food</a> <a href=/d>Drink</a> <p><a href=/edit>Edit</a>",
        "Tags: <a href=/f>Food</a>, <a href=/d>Drink</a> <p><a href=/edit>Edit</a>",
        "<a href=/c>Categories</a>: <ul><li><a href=/f>Food</a><li><a href=/d>Drink</a></ul>",
    ],
)
def test_several_are_told(html: str) -> None:
    assert keywords(html) == ("Food", "Drink")


@pytest.mark.parametrize(
    "html",
    [
        "<p>Category:</p><p>Version:</p>",  # nothing is filled in
        "Category: <select><option>Food<option>Drink</select>",
        "<p>There are two topics: Food and what it costs in a village.</p>",
        "<p>Tags: 17</p>",
        "<p>Tags: food is what everybody in this house speaks of when nobody else is there</p>",
        "<p>Tags: see <a href=/food>Food</a></p>",
        "<nav>Categories: <a href=/food>Food</a></nav>",
        "<p>Tags: Food</p><h2>Wine</h2><p>Tags: Drink</p>",  # of two documents
        "<p>Topic: Food</p>",  # a title, in a forum
    ],
)
def test_nothing_else_is(html: str) -> None:
    assert keywords(html) == ()


def test_tags_may_stand_below_a_heading() -> None:
    """Where their URLs have what they say, and there are no more than a page has."""
    links = [f"<a href='/tags/?tag={name}'><b>{name}</b></a>" for name in ("Food", "Drink")]
    assert keywords("<h3>Tags</h3>" + "".join(links)) == ("Food", "Drink")
    assert keywords("<h3>More</h3>" + "".join(links)) == ()
    assert keywords("<h3>Tags</h3><a href=/other>Food</a>") == ()
    cloud = "".join(f"<a href='/tags/?tag=kiln{name}'>kiln{name}</a> " for name in "abcdefghij")
    assert keywords("<h3>Tags</h3>" + cloud) == ()
    assert keywords("<aside><h3>Tags</h3>" + "".join(links) + "</aside>") == ()


def test_a_page_of_labels_costs_what_it_is_long() -> None:
    many = keywords("<p>Tags:</p>" * 20_000 + "<a href=/f>Food</a>" * 2_000)
    assert many == ()
