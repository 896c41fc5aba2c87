"""Pages that say that they are articles: their text without comments and without what stands beside
it, by trafilatura where that is installed."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.documents import articles
from spoor.documents.articles import MARKS, article_of
from spoor.documents.document import Document
from spoor.documents.extract import extract
from spoor.documents.page import page_of

URL = "http://a.example/2024/kilns/"
TEXT = (
    "A potter fires the kiln slowly, since wet clay cracks when it is heated too fast.",
    "On the second day the glaze melts, and the cones in the window bend one after another.",
    "Then the fire is closed for a night, and nobody opens the door before the morning comes.",
)
SAYS = {
    "og": '<meta property="og:type" content="article">'
    '<meta property="article:published_time" content="2024-05-06">',
    "linked data": '<script type="application/ld+json">{"@type": ["NewsArticle"]}</script>',
    "a graph": '<script type="application/ld+json">{"@graph": [{"@type": "BlogPosting"}]}</script>',
}


def body(beside: str = "", within: str = "") -> str:
    paragraphs = "".join(f"<p>{text} {text.lower()}</p>" for text in TEXT)
    return (
        '<body><div id="menu"><ul><li><a href="/">Home</a></li><li><a href="/b">Blog</a></li></ul>'
        f"</div><main><article><h1>Three days at a kiln</h1>{paragraphs}{within}</article>{beside}"
        "</main></body>"
    )


def text_of(head: str, inside: str) -> str:
    html = f'<!doctype html><html lang="en"><head><title>Kilns</title>{head}</head>{inside}</html>'
    read = extract("text/html; charset=utf-8", URL, html.encode())
    assert isinstance(read, Document)
    return read.text


BESIDE = (
    '<div class="related-box"><p>You may also like our other long story about the harbour, read by'
    ' many.</p></div><section id="comments" class="comments"><h2>2 comments</h2><p>What a lovely'
    " kiln, I wish that I had one of my own in the garden.</p></section>"
)


@pytest.mark.parametrize("installed", [False, True], ids=["without the extra", "with it"])
@pytest.mark.parametrize("says", SAYS.values(), ids=SAYS)
def test_comments_are_no_text_of_an_article(
    says: str, installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(articles, "find_spec", lambda name: object() if installed else None)
    articles.is_installed.cache_clear()
    text = text_of(says, body(BESIDE))
    articles.is_installed.cache_clear()
    assert all(part in text for part in TEXT)
    assert "lovely kiln" not in text
    assert "Home" not in text


@pytest.mark.parametrize(
    "head",
    [
        "",
        '<meta property="og:type" content="website">',
        '<meta property="og:type" content="article">',
        '<script type="application/ld+json">{"@type": "Organization"}</script>',
        '<script type="application/ld+json">{"@type": {"a": 1}}</script>',
    ],
)
def test_another_page_is_read_as_before(head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_asked(pieces: Sequence[str]) -> set[int]:
        raise AssertionError

    monkeypatch.setattr("spoor.documents.html.article_of", not_asked)
    assert all(part in text_of(head, body()) for part in TEXT)


def test_what_an_article_holds_keeps_its_form() -> None:
    within = (
        "<h2>What it took</h2><ul><li>four cubic metres of dry beech wood</li><li>two nights</li>"
        "</ul><pre><code>cone = 1280</code></pre><table><tr><th>Day</th><th>Degrees</th></tr>"
        "<tr><td>first</td><td>300</td></tr><tr><td>second</td><td>1280</td></tr></table>"
    )
    html = f"<html><head>{SAYS['og']}</head>{body(BESIDE, within)}</html>"
    read = extract("text/html", URL, html.encode())
    assert isinstance(read, Document)
    assert "## What it took" in read.markdown
    assert "- four cubic metres of dry beech wood" in read.markdown
    assert "cone = 1280" in read.markdown
    assert "| second | 1280 |" in read.markdown


def test_signs_by_which_texts_are_told_may_stand_on_a_page() -> None:
    odd = f"<p>{TEXT[0]} ⠅⠊⠇⠝ {chr(0xF0001)} is braille for a kiln, and stays as it is.</p>"
    text = text_of(SAYS["og"], body("", odd))
    assert "⠅⠊⠇⠝" in text
    assert all(part in text for part in TEXT)


@pytest.mark.parametrize("says", ["", SAYS["og"]], ids=["any page", "an article"])
@pytest.mark.parametrize(
    "icon", [chr(0xF0001), chr(0x100001), "&#x100001;", "&#1048577;", chr(0x10FFFF)], ids=ascii
)
def test_icons_of_a_font_name_no_texts_of_a_page(icon: str, says: str) -> None:
    """As signs by which texts are told, they would take the menu for content."""
    odd = "".join(f"<p>{icon} {text}</p>" for text in TEXT)
    text = text_of(says, body("", odd))
    assert text.count(TEXT[0]) == 2
    assert "Home" not in text
    assert "Blog" not in text


def test_an_article_that_only_a_form_holds_is_read() -> None:
    """Trafilatura takes what is in a button for text, and here it is no part of the page."""
    within = f"<button><p>{chr(0xF0001)} {'some words ' * 40}</p></button>"
    assert text_of(SAYS["linked data"], f"<body>{within}</body>") == ""


@pytest.mark.parametrize("error", [ValueError("damaged"), RecursionError()])
def test_where_it_fails_the_page_is_read_without_it(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> str:
        raise error

    monkeypatch.setattr("trafilatura.extract", fails)
    assert all(part in text_of(SAYS["og"], body(BESIDE)) for part in TEXT)


def test_where_the_extra_lacks_a_library_pages_are_read_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)  # importing it fails
    assert all(part in text_of(SAYS["og"], body(BESIDE)) for part in TEXT)


def test_a_large_page_is_read_without_it() -> None:
    assert article_of(["x"] * (MARKS + 2)) is None
    assert article_of(["x" * (1 << 20), "y"]) is None


@given(
    st.lists(
        st.sampled_from(("<p>", "</p>", "<b>", "a b", "⠿", "<ul>", "<li>", "<table>")), max_size=30
    )
)
def test_whatever_a_page_holds_marks_are_of_its_texts(pieces: list[str]) -> None:
    found = article_of(["<div>", *pieces])
    assert found is None or found <= set(range(len(pieces)))


def test_a_watch_compares_what_does_not_depend_on_what_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def not_asked(pieces: Sequence[str]) -> set[int]:
        raise AssertionError

    monkeypatch.setattr("spoor.documents.html.article_of", not_asked)
    html = f"<html><head>{SAYS['og']}</head>{body(BESIDE)}</html>"
    page = page_of(html.encode(), URL, content_type="text/html", main=True)
    assert TEXT[0] in page.main


@pytest.mark.parametrize(
    ("path", "inside", "date"),
    [
        ("", '<article class="hentry"><h1>K</h1><footer><time class="published" {}>5</time>', "5"),
        ("", '<div class="h-entry"><h1>K</h1><p>P</p><time class="dt-published" {}>5</time>', "5"),
        ("", "<h1>K</h1><p>P</p><div>Posted <time {}>5</time></div><li><time {}>6</time>", "5"),
        ("", "<h1>K</h1><p>P</p><p><time {}>5</time></p><p><time {}>6</time></p>", ""),
        ("", "<h1>K</h1><p>P</p><footer><time {}>5</time></footer>", ""),
        (
            "",
            2 * '<article class="hentry"><h2>K</h2><time class="published" {}>5</time></article>',
            "",
        ),
        ("2024/05/05/kilns", "<h1>K</h1>", "5"),
        ("2024/05/kilns", "<h1>K</h1>", ""),
    ],
)
def test_a_document_says_when_it_was_published(path: str, inside: str, date: str) -> None:
    html = inside.format('datetime="2024-05-05"', 'datetime="2024-05-06"')
    read = extract("text/html", f"http://s.example/{path}", html.encode())
    assert isinstance(read, Document)
    assert read.date == (f"2024-05-0{date}" if date else "")


def test_comments_are_no_text_of_the_content_of_an_entry() -> None:
    """Also where what is around that is not marked as an entry (hAtom)."""
    paragraphs = "".join(f"<p>{text} {text.lower()}</p>" for text in TEXT)
    inside = f'<body><h1>Kilns</h1><div class="entry-content">{paragraphs}</div>{BESIDE}</body>'
    assert TEXT[2] in text_of("", inside)
    assert "lovely kiln" not in text_of("", inside)
    assert "lovely kiln" in text_of("", inside.replace("entry-content", "text"))
