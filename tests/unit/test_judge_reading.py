"""What the judge of words counts on a page, by quick ways, is what its terms say one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.judges import feedback
from spoor.judges.feedback import Frequencies, Topic
from spoor.judges.matching import Matcher, Tree
from spoor.judges.reading import Reader
from spoor.judges.surest import Likeness
from spoor.judges.tree_value import value_of, value_on_page
from spoor.judges.wish import parse
from spoor.judges.word_counts import number_of
from spoor.types import Page
from spoor.web.text import terms, words_of

LETTERS = "데이터 확장のーデタ数 kiln's 12٣၁"


@given(st.text(LETTERS, max_size=40), st.text(LETTERS, max_size=40))
def test_terms_are_counted_as_one_by_one(title: str, text: str) -> None:
    wish = parse("데이터 확장, ーー, データ, kiln")
    matcher = Matcher(wish)
    reader = Reader(wish, matcher)
    kept, *_ = reader.read(Page("http://pots.example/", title=title, text=text))
    words = words_of(text).first(1_000)
    each = [*terms(title), *(term for word in words for term in terms(word))]
    expected = Counter(number_of(term) for term in each if not term.isdigit())
    found = kept.ids[: kept.terms].tolist()
    assert dict(zip(found, kept.often.tolist(), strict=False)) == expected
    fits = Counter(fit for word in words for term in terms(word) for fit in matcher.fits(term, ""))
    exact, like = reader._memo("").count(words)
    assert exact == {part: n for (part, same, _), n in fits.items() if same}
    assert set(like) == {part for part, same, _ in fits if not same}


@given(st.text("abrewit", max_size=9))
def test_what_fits_may_fit(word: str) -> None:
    matcher = Matcher(parse("rewrite, tab, ab, writer, bear"))
    if matcher.fits(word, "english"):
        assert matcher.may_fit([word])(word)


def test_rare_numbers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feedback, "VOCABULARY", 10)
    frequencies = Frequencies()
    for page in range(6):
        slots = [frequencies.slots[number] for number in (1, 2, 100 + page, 200 + page)]
        counts, numbers = frequencies.add(np.array(slots))
        assert numbers.tolist() == [1, 2, 100 + page, 200 + page]
        assert counts.tolist() == [page + 1, page + 1, 1, 1]
    assert frequencies.forgot == 1
    # Forgotten after the fifth page, when twelve were known.
    assert frequencies.of([1, 2, 100, 105, 999]).tolist() == [6, 6, 1, 1, 1]
    assert frequencies.save()["ids"].tolist() == [1, 2, 105, 205]


def test_frequencies_are_saved_whatever_was_read_meanwhile() -> None:
    one, other = Frequencies(), Frequencies()
    other.slots[7]  # of an anchor: no page has it
    for frequencies in (one, other):
        frequencies.add(np.array([frequencies.slots[number] for number in (9, 3)]))
    other.load(other.save())
    for frequencies in (one, other):
        frequencies.add(np.array([frequencies.slots[number] for number in (7, 3)]))
    for name, its in one.save().items():
        assert np.array_equal(its, other.save()[name])


def times_of(wish: str, text: str) -> tuple[float, float]:
    """How often the only leaf of a wish stands in a text, as it is and as something like it."""
    matcher = Matcher(parse(wish))
    (leaf,) = range(len(matcher.leaves))
    exact: dict[int, float] = {}
    like: dict[int, float] = {}
    for term in terms(text):
        for part, same, likeness in matcher.fits(term, "english"):
            found = exact if same else like
            found[part] = found.get(part, 0.0) + likeness
    return matcher.leaf_counts(leaf, exact, like, text)


@pytest.mark.parametrize(
    ("wish", "text", "times"),
    [
        ("e-mail", "Send an e-mail. An email? Emails!", 3),
        ("email", "Send an e-mail. An email? Emails!", 3),
        ("UTF-8", "UTF-8 or utf8", 2),
        ("log-in", "log in: the login form", 2),
        ("email", "females", 0),
    ],
)
def test_a_word_with_a_hyphen_stands_in_one_as_well(wish: str, text: str, times: float) -> None:
    assert times_of(wish, text) == (times, 0)


def test_mail_is_like_e_mail_and_is_counted_once() -> None:
    assert times_of("e-mail", "the mail of an e-mail server") == (1, 1)
    assert times_of("re-use", "use it") == (0, 0)


def test_another_first_letter_is_no_slip() -> None:
    assert times_of("clocks", "blocks of memory") == (0, 0)
    assert times_of("clocks", "a clokcs and a clcks")[1] > 0


@given(
    st.dictionaries(st.integers(0, 30), st.floats(-1, 1), max_size=9),
    st.lists(st.integers(0, 30), unique=True, max_size=9),
    st.sampled_from([3, 1_000]),
)
def test_likeness_is_that_of_the_numbers_whatever_was_forgotten(
    weights: dict[int, float], ids: list[int], vocabulary: int
) -> None:
    frequencies = Frequencies()
    likeness = Likeness([Topic(weights, 2.0)], frequencies)
    values = np.linspace(0.1, 1.0, len(ids))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feedback, "VOCABULARY", vocabulary)
        for page in range(3):  # the second one makes the first forgotten
            new = [*ids, 100 + page, 200 + page, 300 + page]
            frequencies.add(np.array([frequencies.slots[number] for number in new]))
            slots = np.array([frequencies.slots[number] for number in ids], np.int64)
            (found,) = likeness.of(slots, values)
            said = [
                weights.get(number, 0.0) * value for number, value in zip(ids, values, strict=True)
            ]
            assert found == pytest.approx(sum(said) / 2.0)


TREES = st.recursive(
    st.integers(0, 3),
    lambda node: st.lists(node, min_size=1, max_size=2).flatmap(
        lambda nodes: st.sampled_from(["all", "any"]).map(lambda kind: (kind, *nodes))
    ),
    max_leaves=7,
)
SHARES = st.lists(st.floats(0, 1), min_size=4, max_size=4)


@given(TREES, SHARES, SHARES, st.none() | SHARES, st.booleans(), st.booleans())
def test_one_page_has_the_value_that_it_has_among_others(
    node: Tree | int,
    leaves: list[float],
    weights: list[float],
    tells: list[float] | None,
    several: bool,
    loose: bool,
) -> None:
    tree = ("all", node)
    weights = [0.1 + weight for weight in weights]
    tells = None if tells is None else [0.1 + its for its in tells]
    worth, all_loose = (
        {tree: 0.5},
        [one for one in (node, tree) if loose and isinstance(one, tuple)],
    )
    alone = value_on_page(
        tree, leaves, weights, worth, tells=tells, several=several, loose=all_loose
    )
    among = value_of(
        tree,
        np.array([leaves]),
        np.array(weights),
        {tree: np.array([0.5])},
        tells=None if tells is None else np.array(tells),
        several=several,
        loose=all_loose,
    )
    assert alone == among[0]
