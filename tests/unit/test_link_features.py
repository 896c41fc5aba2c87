"""Rows of links: memories change nothing, and numbers tell by their length only."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.policies.trail.columns import COLUMNS, DENSE, START
from spoor.policies.trail.features import LinkFeatures
from spoor.types import Anchor, Page, Topic
from spoor.web.text import Vectors

TOPIC = Topic(name="kiln glaze")
texts = st.sampled_from(["", "kiln", "the kiln 12", "Read more", "glaze kiln glaze", "raku 2024"])
paths = st.sampled_from(
    [
        "",
        "kiln/7.html",
        "kiln/12.html",
        "~ann/index.html",
        "a/b/c/kiln12.php?id=3&x=44",
        "a/%C3%BC9",
    ]
)
anchors = st.builds(
    Anchor,
    text=texts,
    before=texts,
    after=texts,
    headings=st.sampled_from([(), ("Kilns",), ("All", "Glaze", "Deep")]),
    tag_path=st.sampled_from(["html/body/ul/li/a", "html/nav/a", "html/div#m12/a"]),
    region=st.sampled_from(["main", "nav"]),
)
links = st.lists(st.tuples(paths, anchors), min_size=1, max_size=6)
pages = st.lists(
    st.tuples(paths, texts, st.sampled_from([0.0, 1.0]), links), min_size=1, max_size=5
)


def rows(
    features: LinkFeatures, number: int, told: tuple[str, str, float, list[tuple[str, Anchor]]]
) -> list[object]:
    path, title, score, shown = told
    page = Page(f"http://a.example/{path}", title=title)
    links = [(f"http://b.example/{at}", "b.example", anchor) for at, anchor in shown]
    return [part.tolist() for part in features.rows(links, page, number, score, number)]


@settings(max_examples=60)
@given(pages)
def test_what_was_seen_before_changes_no_row(
    told: list[tuple[str, str, float, list[tuple[str, Anchor]]]],
) -> None:
    used = LinkFeatures(TOPIC, 16)
    for number, page in enumerate(told):
        fresh = LinkFeatures(TOPIC, 16)
        expected = rows(fresh, number, page)
        assert rows(used, number, page) == expected
        assert fresh.names.items() <= used.names.items()
    # Names that were given back are known, and those that come up later are added.
    again = LinkFeatures(TOPIC, 16)
    again.load_names(used.save_names())
    used.load_names([])
    assert [rows(again, at, page) for at, page in enumerate(told)] == [
        rows(used, at, page) for at, page in enumerate(told)
    ]
    assert used.names == again.names


@pytest.mark.parametrize(
    ("one", "other", "same"), [("7", "4", True), ("12", "99", True), ("7", "12", False)]
)
def test_numbers_in_urls_tell_by_their_length(one: str, other: str, same: bool) -> None:
    features = LinkFeatures(TOPIC, 16)
    page = Page("http://a.example/")
    links = [
        (f"http://a.example/kiln/{number}.html", "a.example", Anchor()) for number in (one, other)
    ]
    slots, dense = features.rows(links, page, 0, 0.0, 1)
    assert slots.shape == (2, COLUMNS)
    assert dense.shape == (2, len(DENSE))
    words = slots[:, START["URL"] : START["URL kept"]].tolist()
    assert (words[0] == words[1]) is same
    assert sum(map(bool, words[0])) == 3, "kiln, a number, html"


@pytest.mark.parametrize(
    ("topic", "like"),
    [("UTF-16", {"UTF": True, "12": False}), ("2024", {"2024": True, "kiln": False})],
)
def test_a_number_is_like_the_topic_only_where_the_topic_is_nothing_else(
    topic: str, like: dict[str, bool]
) -> None:
    features = LinkFeatures(Topic(name=topic), 16)
    links = [("http://a.example/x", "a.example", Anchor(text)) for text in like]
    _, dense = features.rows(links, Page("http://a.example/"), 0, 0.0, 1)
    column = [number.name for number in DENSE].index("anchor like the topic")
    assert (dense[:, column] > 0).tolist() == list(like.values())


@pytest.mark.parametrize(
    ("topic", "anchor", "mentions"),
    [
        ("JSON", Anchor("jsonb_set", before="see the function", after="for json and for text"), 2),
        ("UTF-16", Anchor("SQLITE_UTF16LE", before="16 or 12"), 1),
        ("threads", Anchor("start", after=f"{'one ' * 9}thread"), 1),
        ("threads", Anchor("breadth", before="a multithreaded one"), 0),
        ("AI", Anchor("main", before="ai aims", after="paint"), 1),
        ("", Anchor("any", before="words", after="at all"), 0),
    ],
)
def test_words_that_begin_like_the_topic_mention_it(
    topic: str, anchor: Anchor, mentions: int
) -> None:
    features = LinkFeatures(Topic(name=topic), 16)
    link = ("http://a.example/x", "a.example", anchor)
    _, dense = features.rows([link], Page("http://a.example/"), 0, 0.0, 1)
    column = [number.name for number in DENSE].index("mentions of the topic")
    assert dense[0, column] == pytest.approx(math.log1p(mentions))


def test_a_password_is_no_word() -> None:
    features = LinkFeatures(TOPIC, 16)
    page = Page("http://a.example/?token=hunter2", title="clay token=hunter2")
    anchor = Anchor("see token=hunter2", before="token=hunter2", headings=("key=hunter2",))
    link = ("http://a.example/x?api_key=hunter2&q=kiln", "a.example", anchor)
    features.rows([link], page, 0, 0.0, 1)
    assert any("kiln" in name for name in features.names.values())
    assert not any("hunter" in name for name in features.names.values())


def test_word_vectors_tell_of_what_is_nearer_than_nearly_all_words() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(2_000, 16)).astype(np.float32)
    matrix[1] = matrix[0] + 0.1 * matrix[1]
    words = ["kiln", "furnace", *(f"word{number}" for number in range(1_998))]
    likest = 2 + int(np.argmax([_cosine(matrix[0], row) for row in matrix[2:1_000]]))
    usual = words[likest]
    assert _cosine(matrix[0], matrix[likest]) > 0.5

    features = LinkFeatures(Topic(name="kiln"), 16, Vectors(words, matrix * 3))
    near = [column.name for column in DENSE].index("vectors like the topic")
    page = Page("http://a.example/")
    shown = [("http://a.example/", "a.example", _anchor(text)) for text in ("furnace", usual, "")]
    furnace, common, none = features.rows(shown, page, 0, 0.0, 0)[1][:, near].tolist()

    assert 0.8 < furnace < 1.0
    assert 0.0 <= common < 0.2
    assert none == 0.0


def test_word_vectors_without_the_topic_tell_nothing() -> None:
    vectors = Vectors(["oven"], np.ones((1, 4), np.float32))
    features = LinkFeatures(Topic(name="kiln"), 16, vectors)
    shown = [("http://a.example/", "a.example", _anchor("oven"))]
    dense = features.rows(shown, Page("http://a.example/"), 0, 0.0, 0)[1]
    assert dense[0, [column.name for column in DENSE].index("vectors like the topic")] == 0.0


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def _anchor(text: str) -> Anchor:
    return Anchor(text, tag_path="html/body/a")


@pytest.mark.parametrize(
    ("topic", "language", "text", "like", "mentions"),
    [
        ("seleccionar columnas", "es", "Selección", True, True),
        ("слои карты", "ru", "Список слоёв", True, True),
        ("Datenbanken", "de-AT", "Die Datenbank", True, True),
        ("検索で使える関数", "ja", "検索", True, True),
        ("検索で使える関数", "", "関数の一覧", True, True),
        ("데이터베이스", "ko", "데이터베이스를 만들기", True, True),
        ("base de datos", "", "de", False, False),
        ("una guía", "es", "una", False, False),
        ("слои и карты", "ru", "и", False, False),
        ("de", "", "de", True, True),
        ("die casting", "en", "die", True, True),
        ("die Uhr", "de", "die", False, False),
        ("DE layouts", "", "de", True, True),
        ("検索", "ja", "手順", False, False),
        ("がく", "ja", "かく", False, False),
    ],
)
def test_links_are_like_a_topic_in_the_language_of_their_page(
    topic: str, language: str, text: str, like: bool, mentions: bool
) -> None:
    features = LinkFeatures(Topic(name=topic), 16)
    page = Page("http://a.example/", language=language)
    anchor = Anchor(text)
    _, dense = features.rows([("http://a.example/x", "a.example", anchor)], page, 0, 0.0, 1)
    names = [column.name for column in DENSE]
    assert bool(dense[0, names.index("anchor like the topic")] > 0) is like
    assert bool(dense[0, names.index("mentions of the topic")] > 0) is mentions
    assert features.tells(anchor, page) is mentions


def test_pages_in_several_languages_have_rows_of_their_own() -> None:
    link = [("http://a.example/x", "a.example", Anchor("Datenbanken pottery", before="kilns"))]
    pages = [Page(f"http://a.example/{code}", language=code) for code in ("en", "de", "ja", "fr")]
    used = LinkFeatures(TOPIC, 16)
    for at in (0, 1, 2, 3, 1, 0):
        alone = LinkFeatures(TOPIC, 16)
        shown = [part.tolist() for part in used.rows(link, pages[at], at, 0.0, 1)]
        assert shown == [part.tolist() for part in alone.rows(link, pages[at], at, 0.0, 1)]
    assert "anchor ‘potteri’" in used.names.values()
    assert "anchor ‘datenbank’" in used.names.values()


def test_only_the_words_that_have_a_column_are_worked_out() -> None:
    """A text without spaces has as many words as characters; each was named and kept."""
    features = LinkFeatures(TOPIC, 16)
    words = [f"word{n}" for n in range(1_000)]
    few = features.slots_of("anchor", words)
    assert len(features.names) * 4 == len(few)
    assert few == LinkFeatures(TOPIC, 16).slots_of("anchor", words[: len(few) // 4])
