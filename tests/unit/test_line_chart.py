from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.views.line_chart import Chart, line_chart

NUMBERS = st.floats(0, 1e9)
SVG = "{http://www.w3.org/2000/svg}"


def places(path: str) -> list[tuple[float, float]]:
    """The points of a line."""
    return [(float(x), float(y)) for x, y in (at.split() for at in path[1:].split("L"))]


def test_a_line_by_hand() -> None:
    # 4 by 2 inches: axes of 212 by 92 points, 62 from the left and 10 from the top. The y axis ends
    # at 1.05 × 10.
    root = ElementTree.fromstring(
        line_chart({"found": [[0, 0], [50, 10], [100, 10]]}, x="pages", y="of them", size=(4, 2))
    )
    line = next(path for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "2")
    drawn = places(line.attrib["d"])
    assert drawn == [pytest.approx(at, abs=0.06) for at in ((62, 102), (168, 14.4), (274, 14.4))]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert texts == ["0", "50", "100", "0", "10", "pages", "of them"]
    assert root.get("viewBox") == "0 0 288 144"


def test_names_stand_below_with_their_colours_and_are_escaped() -> None:
    svg = line_chart(
        {"<b>one</b>": [[0, 1]], "two": [[0, 2]]}, x="", y="", marks={"paper": [[0, 1]]}
    )
    root = ElementTree.fromstring(svg)
    assert [text.text for text in root.iter(f"{SVG}text")][-3:] == ["<b>one</b>", "two", "paper"]
    assert Chart(svg)._repr_svg_() == svg


def test_a_wide_interval_does_not_hide_the_line() -> None:
    svg = line_chart({"found": [[0, 0], [10, 5]]}, x="", y="", level=(8, 6, 10_000))
    assert ">10<" in svg
    assert "10,000" not in svg


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=300).map(sorted), st.none() | NUMBERS)
def test_every_point_lies_inside_and_little_is_drawn(
    points: list[tuple[float, float]], until: float | None
) -> None:
    root = ElementTree.fromstring(line_chart({"found": points}, x="", y="", until=until))
    lines = [path for path in root.iter(f"{SVG}path") if path.get("stroke-width") == "2"]
    assert len(lines) == bool(points)
    for x, y in (at for line in lines for at in places(line.attrib["d"])):
        assert 61.9 <= x <= 562.1
        assert 9.9 <= y <= 217.3


@pytest.mark.parametrize("until", [1.0, 40_000.0, 1_000_000.0])
def test_no_number_is_cut_at_the_right(until: float) -> None:
    root = ElementTree.fromstring(line_chart({"found": [[0, 1]]}, x="", y="", until=until))
    for text in root.iter(f"{SVG}text"):
        assert float(text.attrib["x"]) + 6.2 * len(text.text or "") / 2 <= 576.1
