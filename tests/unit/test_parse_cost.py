"""Documents that may cost a parser much are told from ordinary ones by counts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from spoor.web.parse_cost import MOST_BYTES, MOST_ELEMENTS, may_cost_much


def made(source: str) -> tuple[int, int]:
    """Elements of the tree that lexbor makes, and characters of their attributes."""
    elements = characters = 0
    for node in LexborHTMLParser(source).css("*"):
        elements += 1
        characters += sum(len(key) + len(value or "") for key, value in node.attributes.items())
    return elements, characters


def test_ordinary_documents_cost_little() -> None:
    row = '<tr><td><code>x</code><td><b>y <span class="z">z</span></b><td><a href="w">w</a></tr>\n'
    for source in (
        "",
        "<div><p>a<b>b</b></div>" * 200 + "<div>" * 50 + "<svg><path/></svg>",
        f"<table>{row * 280}</table>",
        "<ul>" + '<li><a class="reference internal" href="/x">A link of a menu</a>' * 900 + "</ul>",
        f"<p>{'word ' * 50_000}",
        f'<img src="data:image/png;base64,{"A" * 4_000}">' * 20,
    ):
        assert not may_cost_much(source.encode())


def test_what_reopens_copies_or_compares_may_cost_much() -> None:
    heavy = "".join(f"<b id={'x' * 3_000}{n}>" for n in range(8))
    for source in (
        heavy + "<p>" * 990,
        "".join(f"<b id={n}>" for n in range(900)) + "<p>" * 900,
        f"<p {' '.join(f'a{n}' for n in range(2_000))}>",
        "<div>" * 20_000,
    ):
        assert may_cost_much(source.encode())


name = st.sampled_from(
    "a b p div span font table td th li ul button h1 select object nobr i code svg form".split()
)
tag = st.builds(
    lambda slash, name, rest: f"<{slash}{name}{rest}>",
    st.sampled_from(["", "", "", "/"]),
    name,
    st.sampled_from(["", "", " id=x", f" id={'y' * 300}", " id='>'", ' a="', "/"]),
)
shape = st.tuples(st.lists(tag, max_size=8), st.lists(tag, max_size=8)).map(
    lambda parts: "".join(parts[0]) * 60 + "".join(parts[1]) * 200
)


@settings(max_examples=100)
@given(shape)
def test_what_is_parsed_here_makes_no_more_than_is_allowed(source: str) -> None:
    if may_cost_much(source.encode()):
        return
    elements, characters = made(source)
    tags = source.count("<")
    assert elements <= MOST_ELEMENTS + 4 * tags + 10
    assert characters <= 2 * MOST_BYTES + len(source)
