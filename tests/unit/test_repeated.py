"""What a site repeats on its pages tells nothing of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisy_news import article
from spoor.judges.relevance import Relevance
from spoor.judges.relevance import repeated as repeated_module
from spoor.judges.relevance.kept_pages import MOST_LINKS
from spoor.judges.relevance.repeated import (
    FIRST,
    LONG,
    MENU,
    MOST,
    TEXTS,
    InText,
    Repeated,
    as_arrays,
    common,
    from_arrays,
    pieces_of,
    repeating,
)
from spoor.judges.relevance.url_places import folder_of
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
    begins, alone = pieces_of(numbers(text))
    assert begins[0] == 0
    assert len(begins) == len(alone)
    _, behind = pieces_of(numbers(before + text))
    # All but the first, whose begin is another.
    assert set(alone[1:].tolist()) <= set(behind.tolist())


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


def test_headings_of_parts_that_most_pages_have_are_left_out() -> None:
    repeated = Repeated()
    own: list[list[str]] = []
    for at in range(80):
        folder = 7 + at % 8  # a tenth of the pages have "Clefs", half of a folder's "Examples"
        repeated.page(1, folder)
        headings = [f"Part {at}", "See also", *["Clefs"] * (at % 10 == 0)]
        headings += ["Examples"] * (folder == 7)
        own.append([*repeated.own_headings(1, folder, headings)[0]])
    assert own[10] == ["Part 10", "See also", "Clefs"]  # nothing is known of the site yet
    assert own[70] == ["Part 70", "Clefs"]
    assert own[72] == ["Part 72"]
    repeated.page(2, 3)
    assert repeated.own_headings(2, 3, ["See also"])[0] == ["See also"]
    assert repeated.own_headings(1, 7, [])[0] == []


def test_what_nearly_all_pages_of_a_site_are_filed_under_is_left_out() -> None:
    repeated = Repeated()
    own = []

    def no(keyword: str) -> bool:
        return False

    for at in range(64):
        repeated.page(1, 7)
        own.append([*repeated.own_keywords(1, ["News", *["Kilns"] * (at % 2)], no)])
    assert own[15] == ["News", "Kilns"]
    assert own[62:] == [[], ["Kilns"]]
    assert repeated.own_keywords(2, ["News"], no) == ["News"], "another site"


@pytest.mark.parametrize("url", ["http://a.example/{}/", "http://u{}.a.example/post"])
def test_a_heading_of_few_pages_of_a_site_is_none_of_a_folder_with_one_page(url: str) -> None:
    repeated, own = Repeated(), 0
    for at in range(120):
        repeated.page(1, folder_of(url.format(at)))
        headings = ["The kiln"] if at % 10 == 0 else [f"Part {at}"]
        own += len(repeated.own_headings(1, folder_of(url.format(at)), headings)[0])
    assert own == 120


@pytest.mark.parametrize("letters", [10, 60_000])
def test_headings_of_early_pages_are_taken_back_however_many_letters_they_have(
    letters: int,
) -> None:
    judge = Relevance(parse("kiln"))
    for at in range(24):
        rest = f"part {at} " + "letters " * (letters // 8)
        judge.judge(
            Page(f"http://a.example/{at}", headings=("On the kiln", rest), text=f"pot {at}")
        )
    judge.revise()
    assert [page.evidence.any() for page in judge._pages.values()] == [False] * 24


def test_links_of_a_long_menu_tell_nothing_where_there_is_a_text() -> None:
    repeated = Repeated()
    menu, own = numbers([*range(MENU)]), numbers([500, 501])
    both = np.append(menu, own)
    for number in range(60):
        repeated.page(1, 7)
        repeated.page(3, 8)
        left = repeated.own_links(1, 7, np.append(menu, 1_000 + number), words=LONG)
        assert left.tolist() == ([MENU] if number >= FIRST - 1 else [*range(MENU + 1)])
        repeated.own_links(3, 8, menu[1:], words=LONG)
    assert repeated.own_links(1, 7, both, words=LONG).tolist() == [MENU, MENU + 1]
    assert len(repeated.own_links(1, 7, both, words=LONG - 1)) == MENU + 2
    assert len(repeated.own_links(3, 8, both, words=LONG)) == MENU + 2, "no long one"
    assert len(repeated.own_links(1, 7, both[:0], words=LONG)) == 0


def test_links_that_another_site_lists_stay() -> None:
    """Strangers list the links of a page of a site, on as many pages as they please."""
    repeated, links = Repeated(), numbers([*range(60)])
    for number in range(100):
        repeated.page(2, 9)
        repeated.own_links(2, 9, links, words=LONG)
        repeated.page(1, number)
        repeated.own_links(1, number, numbers([1_000 + number]), words=LONG)
    repeated.page(1, 7)
    assert len(repeated.own_links(1, 7, links, words=LONG)) == 60


def test_what_a_text_says_is_less_by_the_share_of_repeated_places() -> None:
    half = np.array([0.5])
    # 1 − .5 · (1 − .5 · (1 − .5 ** often)), and of headings .4 for .5 there
    for of_headings, some in (
        (0, ([0.6875, 0.734375], [0.625, 0.6875])),
        (2, ([0.71, 0.7436],) * 2),
    ):
        its = InText(
            np.array([[0.5, 0.5]]),
            np.array([[0.0, 0.0] if of_headings else [2.0, 4.0]]),
            np.array([[2.0, 4.0] if of_headings else [0.0, 0.0]]),
            pieces=numbers([5, 6]),
            leaves=np.zeros(2, np.uint16),
            of_headings=of_headings,
        )
        of = {
            one: its.evidence(half, half, np.array(one))[0].tolist()
            for one in ((False, False), (True, False), (True, True))
        }
        assert of[False, False] == pytest.approx(some[0])
        assert of[True, False] == pytest.approx([0.65, 0.71] if of_headings else some[1])
        assert of[True, True] == pytest.approx([0.5, 0.5])


def test_saved_texts_that_do_not_fit_are_refused() -> None:
    ones = np.ones((2, 2))
    its = InText(ones, ones, ones, 3, numbers([5]), np.array([1], np.uint16), 1, True)
    saved = dict(as_arrays([None, its], 2))
    assert [*saved] == [*TEXTS]
    (at,) = from_arrays(saved, 2)
    assert at == 1
    assert from_arrays(saved, 2)[1].is_less
    assert from_arrays(as_arrays([None], 2), 1) == {}
    for name, other in (("leaves", np.array([2], np.uint16)), ("pieces", numbers([]))):
        with pytest.raises(ValueError, match="text"):
            from_arrays({**saved, name: other}, 2)


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


def test_what_a_page_says_is_not_repeated_by_looking_at_it_again() -> None:
    """A watch looks at a story fifty times, whose comments are others each time."""

    def story(number: int, comments: int = 0) -> Page:
        about = ["Potters praise the kiln."] * (number % 5 == 0)
        others = " ".join([*article(number, 20), *article(10_000 + comments, 6)])
        links = [Link(f"http://a.example/{number}/{other}") for other in range(50)]
        text = " ".join([others.replace("kiln", "mill"), *about])
        return Page(f"http://a.example/{number}", title="Story", text=text, links=links)

    judge = Relevance(parse("kilns"))
    for number in range(80):
        judge.judge(story(number))
    judge.revise()
    for look in range(1, 50):
        judgement = judge.judge(story(5, look))
        assert judgement.relevant
        assert judgement.why[0][0] == "'kilns' in its text"
    kept = judge._pages["http://a.example/5"]
    assert len(kept.links) == MOST_LINKS, "no menu"
    assert judge._reader.repeated.pages(kept.site) == 80


def test_a_footer_is_told_from_what_a_paper_writes_about() -> None:
    """Ten sites of six pages: of one the footer says it, of another each page in other words."""
    none = np.zeros((1, 2))

    def text(*pieces: int) -> InText:
        leaves = np.zeros(len(pieces), np.uint16)
        return InText(none, none, none, pieces=numbers([*pieces]), leaves=leaves)

    footer = [(1, text(77)) for _ in range(6)]
    paper = [(2, text(100 + at, 200 + at, 300)) for at in range(6)]
    assert repeating([*footer, *paper]) == {1}
    assert repeating(footer[:3]) == set(), "too few pages"
    other_sites = [(site, text(77)) for site in range(6)]
    assert repeating(other_sites) == set(), "a stranger says it, too"


def _with_number(number: int) -> list[int]:
    """Words of a piece of its own with this number: what `pieces_of` does, backwards."""
    inverse = pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    words = []
    for part in (number - 8, 8) if number % 8 else (number,):
        for _ in range(2):
            part = (part ^ part >> 32) * inverse % (1 << 64)
        words.append((part - 1) % (1 << 64))
    return words


def _menu_left(repeated: Repeated, site: int, own: int) -> int:
    text = [word * 7_919 for word in (*range(200), *range(1_000 * own, 1_000 * own + 50))]
    repeated.page(site, site)
    repeated.own_links(site, site, numbers([own, own + 1]), words=LONG)
    repeated.own_headings(site, site, ["Part", f"Part {own}"])
    left, _ = repeated.add(site, site, numbers(text))
    return len(text) if left is None else int(left.sum())


def test_no_site_says_what_another_one_repeats() -> None:
    """A stranger has pages of pieces with the numbers of those of another site, whatever the names
    of both add to them."""
    repeated, stranger, victim = Repeated(), 5, 9
    text = numbers([word * 7_919 for word in range(5_000, 5_200)])
    _, pieces = pieces_of(text)
    forged = [
        word
        for number in pieces.tolist()
        for move in (0, victim - stranger)
        for word in _with_number((number + move) % (1 << 64))
    ]
    assert {*pieces.tolist()} <= {*pieces_of(numbers(forged))[1].tolist()}
    for _ in range(60):
        repeated.page(stranger, stranger)
        repeated.add(stranger, stranger, numbers(forged))
    for own in range(1, FIRST + 1):
        _menu_left(repeated, victim, own)
    repeated.page(victim, victim)
    left, _ = repeated.add(victim, victim, numbers([*text.tolist(), *range(90, 140)]))
    assert left is None or left[: len(text)].all()


def test_a_flood_of_pieces_and_folders_takes_no_menu_of_another_site() -> None:
    repeated = Repeated()
    before = [_menu_left(repeated, 1, own) for own in range(1, 40)]
    for number in range(60_000):
        repeated.page(2, folder=100 + number)
    for page in range(60):
        for _ in range(4):  # each piece on as many pages as a menu's
            flood = RNG.permutation(np.arange(8_000 * page, 8_000 * page + 8_000)) * 104_729
            repeated.page(2, 3)
            repeated.add(2, 3, flood.astype(np.uint64))
    assert _menu_left(repeated, 1, 41) == pytest.approx(before[-1], abs=20)
    its = repeated._pieces
    assert sum(map(len, its.of_sites.values())) == its.size <= 32_768


def test_many_sites_keep_the_pieces_of_those_that_came_last() -> None:
    repeated = Repeated()
    for site in range(3_000):
        _menu_left(repeated, site, site)
    its = repeated._pieces
    assert its.size == sum(map(len, its.of_sites.values())) <= 32_768
    assert [*its.of_sites] == sorted(its.of_sites)
    assert 2_999 in its.of_sites
    assert 0 not in its.of_sites


def test_a_text_has_a_bounded_number_of_pieces() -> None:
    ends = numbers([_with_number(8 * number)[0] for number in range(20_000)])
    begins, alone = pieces_of(ends)
    assert len(begins) == len(alone) == MOST + 1


KINDS = [np.float64, np.int64, np.uint64, np.uint32]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", Repeated().save())
def test_a_state_of_other_numbers_is_refused(name: str, kind: type[np.generic]) -> None:
    repeated = Repeated()
    for own in range(1, 20):
        _menu_left(repeated, 1, own)
    saved = dict(unpack(pack(repeated.save())))
    right = saved[name].dtype == kind
    most = np.full(len(saved[name]), np.nan if kind is np.float64 else np.iinfo(kind).max, kind)  # type: ignore[type-var]
    if not right or kind is np.uint32:
        with pytest.raises(ValueError, match=r"numbers|crawl"):
            Repeated().load({**saved, name: most})
    for other in (None, 3, [3], saved[name][None], saved[name].astype(str)):
        with pytest.raises(ValueError, match="numbers"):
            Repeated().load({**saved, name: other})
    if not name.endswith("menus"):
        with pytest.raises(ValueError):  # noqa: PT011
            Repeated().load({**saved, name: saved[name][:0]})


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("misses", np.full((1, 2, 2), np.nan)),
        ("misses", np.full((1, 2, 2), 1e308)),
        ("often", np.full((1, 2, 2), np.inf)),
        ("often", np.full((1, 2, 2), -1.0)),
        ("often", np.ones((1, 2, 3))),
        ("headings", np.full((1, 2, 2), -1.0)),
        ("headings", np.ones((1, 3, 2))),
        ("of_headings", np.array([2], np.uint32)),
        ("at", np.full(1, 2**32 - 1, np.uint32)),
        ("of", np.array([2], np.uint32)),
        ("of", np.array([1, 1], np.uint32)),
        ("sizes", np.array([2**32 - 1], np.uint32)),
        ("leaves", np.array([0.0])),
        ("pieces", np.array([[5]], np.uint64)),
    ],
)
def test_a_saved_text_of_other_numbers_is_refused(name: str, other: np.ndarray) -> None:
    ones = np.ones((2, 2))
    its = InText(ones, ones, ones, 3, numbers([5]), np.array([1], np.uint16), 1, True)
    with pytest.raises(ValueError, match=r"text|numbers|zip|page"):
        from_arrays({**as_arrays([None, its], 2), name: other}, 2)


@st.composite
def small_sites(draw: st.DrawFn) -> list[Page]:
    """Pages of up to three sites with menus in the order of a crawl, some in folders, some copies."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    menus = [list(rng.choice(WORDS, 130)) for _ in range(3)]
    pages = []
    for at in range(draw(st.integers(30, 40))):
        site, folder = int(rng.integers(0, 3)) if at % 4 else 0, int(rng.integers(0, 3))
        own = [*rng.choice(WORDS, rng.integers(0, 40)), *rng.choice([*CHAPTERS, "日本語の文"], 2)]
        menu = menus[site] if rng.random() < 0.8 else []
        text = " ".join([*menu, *own] if rng.random() < 0.5 else [*own, *menu])
        links = [
            Link(f"http://s{site}.example/{number % 3}/{number}", Anchor(WORDS[number]))
            for number in (*range(40 * bool(menu)), *map(int, rng.integers(0, 200, 5)))
        ]
        url = f"http://s{site}.example/{folder}/{int(rng.integers(0, 200))}"
        pages.append(Page(url, title=" ".join(own[-2:]), text=text, links=links))
    return pages


@settings(max_examples=15, deadline=None)
@given(small_sites(), st.sampled_from(["rhythms", "vocal OR pitches", "lang:en layout"]), st.data())
def test_a_crawl_that_is_resumed_anywhere_judges_the_same(
    pages: list[Page], wish: str, data: st.DataObject
) -> None:
    positive = pages[:1] if data.draw(st.booleans()) else []
    once = data.draw(st.booleans())
    stops = data.draw(st.sets(st.integers(0, len(pages)), max_size=4))
    whole, parts = (Relevance(parse(wish), positive=positive) for _ in range(2))
    whole.tells_once = parts.tells_once = once
    for at, page in enumerate(pages):
        if at in stops:
            saved = parts.save()
            parts = Relevance(parse(wish), positive=positive)
            parts.tells_once = once
            parts.load(unpack(pack(saved)))
        if at % 7 == 3:
            for judge in (whole, parts):
                judge.label(pages[at - 2].url, relevant=at % 2 == 0)
        if at % 29 == 28:
            assert parts.revise() == whole.revise()
        assert parts.judge(page) == whole.judge(page)
    assert parts.revise() == whole.revise()
    assert pack(parts.save()) == pack(whole.save())
