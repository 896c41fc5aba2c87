"""What a site repeats on its pages tells nothing of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.judges import repeated as repeated_module
from spoor.judges.relevance import Relevance
from spoor.judges.repeated import (
    FIRST,
    LONG,
    MENU,
    TEXTS,
    InText,
    Repeated,
    as_arrays,
    common,
    from_arrays,
    pieces_of,
    repeating,
)
from spoor.judges.wish import parse
from spoor.learn.state import pack, unpack
from spoor.types import Anchor, Link, Page

RNG = np.random.default_rng(4)
WORDS = ["".join(map(chr, RNG.integers(97, 117, 7))) for _ in range(3_000)]
CHAPTERS = {
    "pitches": ["accidentals", "octaves", "clefs", "transposition", "ottava", "ambitus"],
    "rhythms": ["durations", "tuplets", "rests", "beams", "bars", "syncopation"],
    "vocal": ["lyrics", "melismas", "stanzas", "chants", "opera", "psalms"],
    "layout": ["margins", "spacing", "headers", "columns", "breaks", "systems"],
    "output": ["midi", "pdf", "svg", "fonts", "colours", "excerpts"],
}
SITE = "http://music.example"


def numbers(words: list[int]) -> np.ndarray:
    return np.array(words, np.uint64)


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1), st.lists(st.integers(0, 2**32 - 1)))
def test_the_same_text_has_the_same_pieces_wherever_it_stands(
    text: list[int], before: list[int]
) -> None:
    begins, alone = pieces_of(numbers(text), 1)
    assert begins[0] == 0
    assert len(begins) == len(alone)
    _, behind = pieces_of(numbers(before + text), 1)
    # All but the first, whose begin is another.
    assert set(alone[1:].tolist()) <= set(behind.tolist())
    assert pieces_of(numbers(text), 2)[1].tolist() != alone.tolist(), "each site has its own"


def _read(repeated: Repeated, own: int, folder: int = 7) -> int:
    """Words that are left of a text with a menu of 200 words and 50 of its own."""
    text = [*range(200), *range(1_000 * own, 1_000 * own + 50)]
    repeated.page(1, folder)
    left, pieces = repeated.add(1, folder, numbers([word * 7_919 for word in text]))
    count = len(text) if left is None else int(left.sum())
    assert len(pieces) == count
    return count


def test_a_menu_is_left_out_once_the_site_is_known() -> None:
    repeated = Repeated()
    left = [_read(repeated, own) for own in range(1, 40)]
    assert set(left[: FIRST - 1]) == {250}
    assert all(50 <= one <= 70 for one in left[FIRST:]), "and what it shares a piece with stays"
    again = Repeated()
    again.load(unpack(pack(repeated.save())))
    assert [_read(again, own) for own in (50, 51)] == [_read(repeated, own) for own in (50, 51)]


def test_a_menu_of_a_folder_is_left_out_after_four_pages_of_it() -> None:
    repeated = Repeated()
    for number in range(100):
        repeated.page(1, folder=number)
    left = [_read(repeated, own, folder=500) for own in range(1, 9)]
    assert left[:4] == [250] * 4
    assert max(left[4:]) <= 70


def test_a_page_that_is_nothing_but_repeated_is_left_whole() -> None:
    repeated = Repeated()
    text = numbers([word * 7_919 for word in range(300)])
    for _ in range(60):
        repeated.page(1, 7)
        assert repeated.add(1, 7, text)[0] is None


def test_links_of_a_long_menu_tell_nothing_where_there_is_a_text() -> None:
    repeated = Repeated()
    for _ in range(60):
        repeated.page(1, 7)
    having = np.array([55.0] * MENU + [2.0, 3.0])
    assert repeated.own_links(1, 7, having, words=LONG).tolist() == [MENU, MENU + 1]
    assert len(repeated.own_links(1, 7, having, words=LONG - 1)) == MENU + 2
    assert len(repeated.own_links(1, 7, having[1:], words=LONG)) == MENU + 1, "no long one"
    assert len(repeated.own_links(2, 7, having, words=LONG)) == MENU + 2, "another site"


def test_what_a_text_says_is_less_by_the_share_of_repeated_places() -> None:
    its = InText(
        np.array([[0.5, 0.5]]),
        np.array([[2.0, 4.0]]),
        pieces=numbers([5, 6]),
        leaves=np.zeros(2, np.uint16),
    )
    weights = np.array([0.5])
    of = {
        one: its.evidence(weights, np.array(one))[0].tolist()
        for one in ((False, False), (True, False), (True, True))
    }
    # 1 − .5 · (1 − .5 · (1 − .5 ** often))
    assert of[False, False] == pytest.approx([0.6875, 0.734375])
    assert of[True, False] == pytest.approx([0.625, 0.6875]), "half as often"
    assert of[True, True] == pytest.approx([0.5, 0.5])


def test_saved_texts_that_do_not_fit_are_refused() -> None:
    its = InText(np.ones((2, 2)), np.ones((2, 2)), 3, numbers([5]), np.array([1], np.uint16), True)
    saved = dict(as_arrays([None, its], 2))
    assert [*saved] == [*TEXTS]
    (at,) = from_arrays(saved)
    assert at == 1
    assert from_arrays(saved)[1].is_less
    assert from_arrays(as_arrays([None], 2)) == {}
    for name, other in (("leaves", np.array([2], np.uint16)), ("pieces", numbers([]))):
        with pytest.raises(ValueError, match="text"):
            from_arrays({**saved, name: other})


def manual(*, first: bool) -> list[Page]:
    """A manual of five chapters with six sections each, in the order of a crawl; each page has the
    whole table of contents, before or behind its own text, in words and in links."""
    names = [*CHAPTERS, *(f"{name}-{part}" for name, parts in CHAPTERS.items() for part in parts)]
    more = [f"extra-{WORDS[at]}" for at in range(90)]
    contents = " ".join(
        f"{at} {name.replace('-', ' ')} {WORDS[at]}" for at, name in enumerate([*names, *more])
    )
    links = [
        Link(f"{SITE}/{name}.html", Anchor(name.replace("-", " "), position=at))
        for at, name in enumerate([*names, *more])
    ]
    pages = []
    for at, name in enumerate([*names, *more]):
        own = " ".join(WORDS[500 + at * 15 : 515 + at * 15])
        words = name.replace("-", " ")
        text = f"{contents} {words} {own}" if first else f"{words} {own} {contents}"
        pages.append(
            Page(f"{SITE}/{name}.html", title=f"Music manual: {words}", text=text, links=links)
        )
    return pages


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("wish", CHAPTERS)
def test_a_table_of_contents_on_each_page_says_nothing_of_it(wish: str, *, first: bool) -> None:
    pages = manual(first=first)
    judge = Relevance(parse(wish))
    said = {page.url: judge.judge(page) for page in pages[:60]}
    resumed = Relevance(parse(wish))
    resumed.load(unpack(pack(judge.save())))
    said |= {page.url: judge.judge(page) for page in pages[60:]}
    again = {page.url: resumed.judge(page) for page in pages[60:]}
    assert again == {page.url: said[page.url] for page in pages[60:]}
    revised = dict(judge.revise())
    assert dict(resumed.revise()) == revised
    said |= revised
    told = {url for url, one in said.items() if one.relevant}
    wanted = {page.url for page in pages if wish in page.title}
    assert told >= wanted
    assert len(told) <= 1.5 * len(wanted)


def test_most_of_some_pages_have_it() -> None:
    pages = [np.array(one, np.uint32) for one in ([3, 1, 2], [1, 2], [2, 9, 1], [2], [2, 8])]
    assert common(pages).tolist() == [1, 2]


def test_a_page_of_a_feedback_loses_its_menu_meanwhile() -> None:
    """The feedback at the first page of a folder that is known to repeat much."""
    pages = manual(first=True)
    judge = Relevance(parse("rhythms"))
    for page in pages:
        moved = page.url.replace(f"{SITE}/", f"{SITE}/{len(judge.save()['pages']['urls']) // 4}/")
        judge.judge(Page(moved, title=page.title, text=page.text, links=page.links))
    judge.revise()


def test_what_is_on_several_pages_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_module, "_PIECES", 400)
    repeated = Repeated()
    left = [_read(repeated, own) for own in range(1, 60)]
    assert max(left[FIRST:]) <= 70
    assert len(repeated.save()["pieces"]) <= 400


def test_a_footer_is_told_from_what_a_paper_writes_about() -> None:
    """Ten sites of six pages: of one the footer says it, of another each page in other words."""
    none = np.zeros((1, 2))

    def text(*pieces: int) -> InText:
        leaves = np.zeros(len(pieces), np.uint16)
        return InText(none, none, pieces=numbers([*pieces]), leaves=leaves)

    footer = [(1, text(77)) for _ in range(6)]
    paper = [(2, text(100 + at, 200 + at, 300)) for at in range(6)]
    assert repeating([*footer, *paper]) == {1}
    assert repeating(footer[:3]) == set(), "too few pages"
