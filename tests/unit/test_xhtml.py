"""XHTML that a server sends as HTML: nothing that XML calls empty swallows the page."""

from __future__ import annotations

import pytest

from spoor.web.page import parse
from spoor.web.xhtml import with_end_tags

HEADS = (
    '<?xml version="1.0"?><html>',
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "xhtml11.dtd"><html>',
    '<html lang="en" xmlns="http://www.w3.org/1999/xhtml">',
)
LINKS = '<a href="/one">one</a><iframe src="/ad" height="9"/><a href="/two">two</a>'


def targets(html: str) -> list[str]:
    page = parse(html.encode(), "http://h/", content_type="text/html; charset=utf-8")
    return [link.url for link in page.links]


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("tag", ["script", "SCRIPT", "title", "textarea", "noscript", "iframe"])
def test_an_empty_element_of_raw_text_ends_where_xml_ends_it(head: str, tag: str) -> None:
    html = f"{head}<{tag}/><a href='/one'>one</a><{tag} id='x' /><a href='/two'>two</a>"
    assert targets(html) == ["http://h/one", "http://h/two"]


@pytest.mark.parametrize("head", HEADS)
def test_a_frame_that_is_empty_is_a_link_as_ever(head: str) -> None:
    assert targets(head + LINKS) == ["http://h/one", "http://h/ad", "http://h/two"]


def test_other_documents_and_what_scripts_hold_stay_as_they_are() -> None:
    assert with_end_tags(LINKS) == LINKS
    for rest in (
        '<script>write("<iframe/>", "<script/>")</script><p>text',
        "<title>a</title><textarea>b</textarea><br/><p/>",
        "<script>never ends <iframe/>",
        "<styles/><scripted/>",
    ):
        assert with_end_tags(HEADS[0] + rest) == HEADS[0] + rest


def test_many_that_never_end_take_linear_time() -> None:
    many = HEADS[0] + "<iframe/>" + "<title>" * 100_000
    assert with_end_tags(many).count("</iframe>") == 1
    closed = HEADS[0] + "<script />" * 100_000
    assert with_end_tags(closed).count("</script>") == 100_000
