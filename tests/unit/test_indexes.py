"""What an index of a site files under a heading."""

from __future__ import annotations

import pytest

from spoor.judges.relevance.indexes import Indexes
from spoor.judges.relevance.url_numbers import number_of_url, site_of
from spoor.web.page import parse

SITE = "http://a.test/"
TOPICS = ("Novels", "Railways", "Islands", "Elements")


def section(name: str, between: str = "") -> str:
    of = name.lower()
    links = between.join(f'<li><a href="/{of}/{n}">Some {of} {n}</a></li>' for n in range(3))
    return f"<h2>{name}</h2><ul>{links}</ul>"


def filed(html: str, wanted: str = "Novels") -> list[str]:
    indexes = Indexes()
    page = parse(f"<title>Tags</title><h1>Tags</h1>{html}".encode(), f"{SITE}tags")
    indexes.read(page, site_of(SITE), lambda heading: heading == wanted)
    again = Indexes()
    again.load(indexes.save())
    urls = dict.fromkeys(link.url for link in page.links)
    return [url.removeprefix(SITE) for url in urls if number_of_url(url) in again]


def test_an_index_files_its_links_under_their_headings() -> None:
    html = "".join(map(section, TOPICS))
    assert filed(html) == ["novels/0", "novels/1", "novels/2"]
    assert filed(html, "Poems") == []
    dated = section("Novels", "<li>5 June 2025, by somebody</li>")
    assert len(filed(dated + "".join(map(section, TOPICS[1:])))) == 3


@pytest.mark.parametrize(
    "html",
    [
        "".join(map(section, TOPICS[:3])),  # few sections
        section("Novels", f"<li>{'They tell of a life at sea. ' * 3}</li>")  # a text with links
        + "".join(map(section, TOPICS[1:])),
        section("Novels")  # one list beside texts
        + "".join(section(name, f"<li>{'running text ' * 5}</li>") for name in TOPICS[1:]),
        f"<nav>{''.join(map(section, TOPICS))}</nav>",
        "".join(map(section, TOPICS)).replace('href="/', 'href="http://b.test/'),
    ],
    ids=["few", "text", "one", "menu", "another site"],
)
def test_what_is_no_index_files_nothing(html: str) -> None:
    assert filed(html) == []
