"""What a page and a style sheet name as needed to show them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.web.requisites import MAX_STYLE, of_html, of_style
from spoor.web.urls import is_canonical

URL = "http://a.example/d/page"


def named(html: str) -> list[str]:
    urls, left = of_html(html.encode(), URL, "text/html; charset=utf-8", 100)
    assert left == 0
    return [f"{url.removeprefix('http://a.example')}{'*' * style}" for url, style in urls.items()]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<img src=p.png alt=x>", ["/d/p.png"]),
        ("<img srcset='a.png, b.png 2x,c,d.png 3x' src=a.png>", ["/d/a.png", "/d/b.png", "/d/c,d.png"]),
        ("<picture><source srcset='s.webp 100w, t.webp'><img></picture>", ["/d/s.webp", "/d/t.webp"]),
        ("<link rel='Alternate Stylesheet' href=s.css>", ["/d/s.css*"]),
        ("<link rel='shortcut icon' href=/i.ico><link rel=canonical href=c>", ["/i.ico"]),
        ("<link rel=preload as=style href=p.css><link rel=preload as=font href=f>", ["/d/p.css*", "/d/f"]),
        ("<link rel=preload as=video href=v.mp4><link rel=preload as=track href=t><link rel=preload href=x>", ["/d/x"]),
        ("<link rel=next href=n><link rel=dns-prefetch href=//x.example>", []),
        ("<script src=s.js></script><script>img = 'x.png'</script>", ["/d/s.js"]),
        ("<input type=IMAGE src=b.gif><input type=text src=n.gif>", ["/d/b.gif"]),
        ("<video poster=p.jpg src=v.mp4><source src=v.webm></video><audio src=a.mp3>", ["/d/p.jpg"]),
        ("<body background=b.png><p style='background: URL( \"c.png\" )'>", ["/d/b.png", "/d/c.png"]),
        ("<style>@import 'i.css'; p { background: url(j.png) }</style>", ["/d/i.css*", "/d/j.png"]),
        ("<p style='background: u\\72l(e.png)'>", ["/d/e.png"]),
        ("<svg><image href=i.svg /><use xlink:href='u.svg#a' /><use href='#b' /></svg>", ["/d/i.svg", "/d/u.svg"]),
        ("<object type=image/svg+xml data=o.svg></object><object type=text/html data=h>", ["/d/o.svg"]),
        ("<base href=/other/><img src=p.png><base href=/third/>", ["/other/p.png"]),
        ("<img src=data:image/png;base64,AA><img src=''><img src='#x'><img src=page>", []),
        ("<img src=javascript:x><img src=ftp://x/y><iframe src=f></iframe><a href=a>", []),
        ("<noscript><img src=lazy.png></noscript>", ["/d/lazy.png"]),
    ],
)  # fmt: skip
def test_a_page_names_what_a_browser_needs_to_show_it(html: str, found: list[str]) -> None:
    assert named(html) == found


def test_a_style_sheet_names_fonts_pictures_and_other_sheets() -> None:
    css = """@charset "utf-8"; @namespace url(http://www.w3.org/1999/xhtml);
    @import url("x.css") layer(a) supports(display: grid); @import "y.css" screen;
    @font-face { src: url(f.woff2) format("woff2"), url("f.ttf") }
    a { background: image-set("1.png" 1x, url(2.png) 2x); content: "no.png" }
    @media print { b { mask: url(../m.svg#part) } } /* url(comment.png) */"""
    urls, _ = of_style(css.encode(), "http://a.example/css/s.css", "text/css", 100)
    names = [f"{url.removeprefix('http://a.example')}{'*' * style}" for url, style in urls.items()]
    assert names == [
        *("/css/x.css*", "/css/y.css*", "/css/f.woff2", "/css/f.ttf"),
        *("/css/1.png", "/css/2.png", "/m.svg"),
    ]
    late = b" " * MAX_STYLE + b"a { background: url(late.png) }"
    assert of_style(late, "http://a.example/s.css", "text/css", 100) == ({}, 0)
    utf16 = "a { background: url(\u00e4.png) }".encode("utf-16")
    assert [*of_style(utf16, URL, "text/css", 1)[0]] == ["http://a.example/d/%C3%A4.png"]


_PIECES = st.sampled_from(
    ["url(", '"', "'", ")", "{", "}", "@import ", ";", "\\", "a.png", "<style>", "<img srcset='", ",", " 2x", "/*", "\x00"]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=5)), max_size=40))
def test_whatever_comes_only_urls_that_can_be_asked_for_are_named(pieces: list[str]) -> None:
    data = "".join(pieces).encode("utf-8", "replace")
    for read in (of_html, of_style):
        urls, left = read(data, URL, "text/html", 2)
        assert len(urls) <= 2
        assert left >= 0
        assert all(map(is_canonical, urls))
