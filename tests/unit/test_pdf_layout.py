"""What becomes of the lines of a PDF: running heads, titles, paragraphs, lists and code."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spoor.documents.blocks import Blocks
from spoor.documents.pdf_layout import Line, PageOfLines, lay_out

LONG = "The kiln burns for two days, and whoever opens it too soon will lose"


def written(*pages: PageOfLines) -> list[str]:
    blocks = Blocks(10_000)
    lay_out(pages, blocks)
    return [block.markdown for block in blocks.blocks]


def page(*texts: str, titles: list[tuple[int, str]] | None = None) -> PageOfLines:
    return PageOfLines([Line(text) for text in texts], titles or [])


def test_running_heads_go_and_rows_of_a_long_table_stay() -> None:
    """Left and right pages differ; the first title of a book is no running head of the next pages."""
    book = [
        page("OF KILNS", "One.", "12 340 0.7", "2"),
        page("3  Of kilns", "Two.", "13 341 0.9"),
        page("OF KILNS", "Three.", "19 390 1.1", "4"),
        page("5  Of kilns", "Four.", "20 400 1.5"),
    ]
    said = "\n".join(written(*book))
    assert said.count("OF KILNS") == 1
    assert "Of kilns" not in said
    assert not {"2", "4"} & set(said.split())
    assert all(row in said for row in ("12 340 0.7", "13 341 0.9", "19 390 1.1", "20 400 1.5"))


def test_titles_stand_where_a_line_says_them() -> None:
    """With or without a number, and in two lines; what no line says opens its page."""
    titles = [(1, "Fire"), (2, "Wood that was dried for years"), (2, "Unsaid")]
    lines = (
        "Of before.",
        "2.1 Fire",
        "It burns.",
        "Wood that was dried",
        "for years",
        "It is dry.",
    )
    assert written(page(*lines, titles=titles)) == [
        *("## Unsaid", "Of before.", "# Fire", "It burns."),
        *("## Wood that was dried for years", "It is dry."),
    ]


def test_without_an_outline_large_letters_are_titles() -> None:
    lines = [Line("Kilns", 20), Line("of old", 20), Line("Fire", 14), *[Line(f"{LONG}.", 10)] * 4]
    assert written(PageOfLines(lines))[:2] == ["# Kilns of old", "## Fire"]


def test_a_sentence_goes_on_on_the_next_page() -> None:
    first, second = page(f"{LONG} hours of"), page("work. So wait.")
    assert written(first, second) == [f"{LONG} hours of work. So wait."]
    assert len(written(first, page("Work is long."))) == 2


def test_space_and_first_lines_begin_paragraphs() -> None:
    at = [(72, 700), (72, 688), (72, 676), (82, 664), (72, 652), (72, 632), (72, 620)]
    lines = [Line(f"{LONG} {n}.", 10, False, left, base) for n, (left, base) in enumerate(at)]
    assert [len(part.split(LONG)) - 1 for part in written(PageOfLines(lines))] == [3, 2, 2]


def test_code_is_moved_in_as_on_the_page_and_lists_are_lists() -> None:
    lines = [
        *(Line("Burn it:", 10, False, 72), Line("while wood:", 10, True, 90)),
        *(Line("burn()", 10, True, 112), Line("• oak", 10, False, 72), Line("• ash", 10)),
        *[Line(LONG, 10, False, 72)] * 3,
    ]
    assert written(PageOfLines(lines))[:3] == [
        *("Burn it:", "```\nwhile wood:\n    burn()\n```", "- oak"),
    ]
    letter = [Line("All of it is typed.", 10, True)] * 3
    assert not written(PageOfLines(letter))[0].startswith("`"), "a typed letter is no program"


@given(
    st.lists(
        st.lists(
            st.builds(
                Line,
                st.text(alphabet="a1 .-•\xad\n", max_size=12),
                st.sampled_from((0.0, 9.0, 20.0)),
                st.booleans(),
                st.floats(-1e4, 1e4),
                st.floats(-1e4, 1e4),
            ),
            max_size=6,
        ),
        max_size=4,
    ),
    st.lists(st.tuples(st.integers(1, 6), st.text(alphabet="a1 .", max_size=5)), max_size=3),
)
def test_no_letter_but_of_running_heads_is_lost(
    lines: list[list[Line]], titles: list[tuple[int, str]]
) -> None:
    """And the same pages give the same parts."""
    pages = [PageOfLines(one, titles) for one in lines]
    said = written(*pages)
    assert said == written(*pages)
    if len(pages) == 1 and not titles:
        letters = "".join(line.text for line in lines[0]).count("a")
        assert "".join(said).count("a") == letters
