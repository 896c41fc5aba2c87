"""Hostile markup: what a parser is given stays shallow and small, whatever the page tries."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from spoor.web import nesting
from spoor.web.nesting import flatten

DATA = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[2] / "../shared/data")).resolve()
TOKENIZER = DATA / "conformance" / "html5lib" / "tokenizer"


def shape(source: str) -> tuple[int, int, int]:
    """Depth of the tree that lexbor makes, its elements, and the most attributes of one."""
    node = LexborHTMLParser(source).root
    deepest = elements = attributes = depth = 0
    while node is not None:
        if node.tag and node.tag[0] not in "-!":
            elements += 1
            attributes = max(attributes, len(node.attributes))
        deepest = max(deepest, depth)
        if node.child is not None:
            node, depth = node.child, depth + 1
            continue
        while node.next is None:
            if node.parent is None or depth == 0:
                return deepest, elements, attributes
            node, depth = node.parent, depth - 1
        node = node.next
    return deepest, elements, attributes


def test_ordinary_documents_come_back_as_they_are() -> None:
    source = "<div><p>a<b>b</b></div>" * 200 + "<div>" * 50 + "<svg><path/></svg>"
    assert flatten(source) == (source, False)


N = 20_000
NUMBERS = range(N)
HOSTILE = {
    "blocks": "<div>" * N,
    "lists": "<ul><li>" * N,
    "tables": "<table><td>" * N,
    "links": "<a href=x><div>" * N,
    "elements nobody knows": "<x>" * N,
    "formatting": "".join(f"<b id={n}>" for n in NUMBERS),
    "formatting opened again": "".join(f"<b id={n}>" for n in range(500)) + "</p><p>x" * N,
    "formatting across blocks": "<b><p>" * N + "</b>" * N,
    "end tags that close nothing": "<span><p></span>" * N,
    "end tags beyond a table": "<div><table><td></div>" * N,
    "end tags in comments": "<div><!-- </div> -->" * N,
    "end tags in empty comments": "<!--><div><!--></div><!-- -->" * N,
    "end tags in attributes": "<div title='</div>'>" * N,
    "end tags in attributes 2": "<div a=b'c='</div>'>" * N,
    "items kept open": "<li><p><noscript>" * N,
    "end tags of noscript": "</noscript><noscript><div>" * N,
    "end tags in scripts": "<div><script></div></script>" * N,
    "end tags in scripts in scripts": "<script><!--<script></script></div>--></script><div>" * N,
    "end tags in titles": "<div><title></div></title>" * N,
    "start tags in images": "<svg><style><div></style>" * N,
    "start tags in images 2": "<svg><![CDATA[</div>]]></svg><div>" * N,
    "start tags in list boxes": "<select><style></select><div>" * N,
    "start tags in frames": "<frameset><style><frameset></style>" * N,
    "templates": "<template><col><title></template><div></title>" * N,
    "attributes": "<a " + "".join(f"attribute{n} " for n in NUMBERS) + ">",
    "attributes of the root": "".join(f"<html a{n}><body b{n}>" for n in NUMBERS),
    "names": "".join(f"<p a{n}></p>" for n in NUMBERS),
    "names of elements": "".join(f"<x{n}></x{n}>" for n in NUMBERS),
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.long
def test_hostile_documents_become_shallow_and_small(source: str) -> None:
    flat, _ = flatten(source)
    assert len(flat) <= 2 * len(source)
    depth, elements, attributes = shape(flat)
    assert depth <= 1_300
    assert elements <= 12 * source.count("<") + 10
    assert attributes <= 2_000


def test_what_is_beyond_the_limits_keeps_its_text_and_links() -> None:
    flat, lost = flatten("<div>" * N + '<h1>over <b>there</b></h1><a href="/x">y</a>')
    assert lost
    tree = LexborHTMLParser(flat)
    link = tree.css_first("a")
    assert link is not None
    assert link.attributes == {"href": "/x"}
    assert tree.root is not None
    assert tree.root.text() == "over therey"


def test_a_long_document_that_is_well_formed_is_not_touched() -> None:
    row = '<tr class="even"><td><a href="/x?a=1&b=2">one</a><td><b>two</b> <i>three</i></tr>\n'
    source = f"<title>t</title><table>{row * 3_000}</table><p>a<p>b<ul>{'<li>x' * 3_000}</ul>"
    assert flatten(source) == (source, False)


def test_a_long_list_of_links_keeps_them_all() -> None:
    # Its attributes have some ten thousand words, and two names.
    item = '<li><a href="/place/{0}" title="What stands on page w{0} of x{0}">Entry {0}</a></li>\n'
    source = f"<ul>{''.join(map(item.format, range(4_900)))}</ul>"
    assert len(source) > nesting.MANY_CHARACTERS
    assert flatten(source) == (source, False)


def test_a_tag_of_too_many_attributes_loses_them_and_no_other_does() -> None:
    names = " ".join(f"n{number}" for number in range(50_000))
    source = f'<p {names}>one<p><a href="/x" title="{names[:8000]}">two</a>'
    flat, _ = flatten(source)
    assert "two</a>" in flat
    assert 'href="/x"' in flat
    assert shape(flat)[2] <= 2


NAMES = """a b p div span font table tr td th caption li ul dd option select button form h1 h2 svg
    title style script textarea template object noscript frameset nobr html body math x col br
    foreignObject mi image input marquee head colgroup iframe desc optgroup ruby rt pre""".split()
name = st.sampled_from(NAMES)
tag = st.builds(
    lambda start, name, rest: f"{start}{name}{rest}>",
    st.sampled_from(["<", "<", "<", "</"]),
    name,
    st.sampled_from(["", "", "", "", " a='", ' a="', "'", " a=b", "/", " a='>'", "\x0b"]),
)
soup = st.lists(
    tag
    | st.sampled_from(["x", "<!--", "-->", "--!>", "<!", "<!-->", "'", '"', "<![CDATA[", "]]>"]),
    max_size=10,
).map("".join)


@settings(max_examples=250)
@given(soup, soup)
@pytest.mark.long
def test_no_soup_gets_past_the_books(head: str, body: str) -> None:
    source = head + body * 400
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "MANY_TAGS", -1)
        patch.setattr(nesting, "_MOST_OPEN", 20)
        flat, _ = flatten(source)
    depth, elements, _ = shape(flat)
    # 20 open, 32 more for links, a table's parts that nobody wrote, formatting opened again.
    assert depth <= 250
    assert elements <= 12 * source.count("<") + 10


closed = st.sampled_from(
    [
        *("<b>x</b>", '<i a="1">y</i>', "<code><span>z</span></code>", "<s></s>", "<u>x<p></u>"),
        *('<b title=">x</b>">', "<b><i>x</b>", "<tt>x<td></tt>", "<b a='>'>x</b>", "</p>x", "x"),
    ]
)


@settings(max_examples=250)
@given(soup, st.lists(closed | tag, max_size=10).map("".join))
def test_what_is_closed_at_once_is_not_opened_again(head: str, body: str) -> None:
    source = head + body * 100
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_MANY_REOPENED", 2_000)
        flat, _ = flatten(source)
    _, elements, _ = shape(flat)
    assert elements <= 12 * source.count("<") + 2_000 + 10


def test_a_long_table_of_code_needs_no_books(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nesting, "_Books", None)
    row = '<tr><td><code>x</code><td><b>y <span class="z">z</span></b><td><a href="w">w</a></tr>\n'
    source = f"<table>{row * 400}</table>"
    assert flatten(source) == (source, False)


@pytest.mark.data
@pytest.mark.skipif(not TOKENIZER.exists(), reason="needs conformance/html5lib of SPOOR_DATA")
def test_tokens_are_those_of_the_standard() -> None:
    checked = 0
    for file in sorted(TOKENIZER.glob("*.test")):
        for case in json.loads(file.read_text("utf-8"))["tests"]:
            states = case.get("initialStates", ["Data state"])
            if "Data state" not in states or case.get("doubleEscaped"):
                continue
            expected = [
                (token[0] == "EndTag", token[1])
                for token in case["output"]
                if token[0] in ("StartTag", "EndTag")
            ]
            found = [
                (bool(token[1]), token[2].lower().replace("\0", "\ufffd"))
                for token in nesting.TOKEN.finditer(case["input"])
                # A tag that the end of the file cuts is none.
                if token[2] and token[0].endswith(">")
            ]
            assert found == expected, case["description"]
            checked += 1
    assert checked > 1_000
