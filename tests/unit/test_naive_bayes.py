"""Naive Bayes over several bags: by hand, against scikit-learn, and what its parts must hold."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from spoor.errors import InputError
from spoor.learn.naive_bayes import (
    Bag,
    NaiveBayes,
    Vocabulary,
    cluster,
    fit,
    laplace,
    one_hot,
    posterior,
)
from spoor.learn.state import pack, unpack

Counts = NDArray[np.float64]
Labels = NDArray[np.int64]


def bag(counts: Counts, text: list[int] | None = None) -> Bag:
    rows = np.arange(len(counts)) if text is None else np.array(text)
    return Bag(sparse.csr_array(counts.astype(np.float64)), rows.astype(np.int64))


@st.composite
def samples(draw: st.DrawFn) -> tuple[Counts, Labels, int]:
    """Counts (n, words) and classes, each class at least once."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    classes, words = draw(st.integers(2, 5)), draw(st.integers(1, 12))
    size = classes + draw(st.integers(0, 30))
    counts = rng.poisson(0.7, (size, words)).astype(np.float64)
    labels = np.concatenate([np.arange(classes), rng.integers(classes, size=size - classes)])
    return counts, labels, classes


@given(samples())
@settings(max_examples=60)
def test_one_bag_equals_multinomial_naive_bayes_of_scikit_learn(
    sample: tuple[Counts, Labels, int],
) -> None:
    counts, labels, classes = sample
    mine = fit([bag(counts)], one_hot(labels, classes))
    from sklearn.naive_bayes import MultinomialNB  # type: ignore[import-untyped]  # has no types

    theirs = MultinomialNB(alpha=1.0, class_prior=np.exp(mine.log_prior)).fit(counts, labels)
    assert np.abs(mine.log_words[0].T - theirs.feature_log_prob_).max() < 1e-9
    probability = posterior(mine.log_joint([bag(counts)]))
    assert np.abs(probability - theirs.predict_proba(counts)).max() < 1e-9


@given(samples())
@settings(max_examples=40)
def test_complement_smoothing_equals_complement_naive_bayes_of_scikit_learn(
    sample: tuple[Counts, Labels, int],
) -> None:
    counts, labels, classes = sample
    mine = fit([bag(counts)], one_hot(labels, classes), "complement")
    from sklearn.naive_bayes import ComplementNB

    theirs = ComplementNB(alpha=1.0, norm=False).fit(counts, labels)
    assert np.abs(mine.log_words[0].T - theirs.feature_log_prob_).max() < 1e-9


def test_the_equations_by_hand() -> None:
    # Words: board, staff. Class 0: "board board staff", "board"; class 1: "staff".
    counts = np.array([[2, 1], [1, 0], [0, 1]], dtype=np.float64)
    model = fit([bag(counts)], one_hot(np.array([0, 0, 1]), 2))
    # eq. (4): (1 + 3) / (2 + 4), (1 + 1) / (2 + 4); (1 + 0) / (2 + 1), (1 + 1) / (2 + 1)
    words = np.exp(model.log_words[0])
    assert words == pytest.approx(np.array([[4 / 6, 1 / 3], [2 / 6, 2 / 3]]))
    # eq. (5): (1 + 2) / (2 + 3), (1 + 1) / (2 + 3)
    assert np.exp(model.log_prior) == pytest.approx([3 / 5, 2 / 5])
    # eq. (3) for "board staff": 3/5 · 2/3 · 1/3 against 2/5 · 1/3 · 2/3
    one, other = Fraction(3, 5) * Fraction(2, 9), Fraction(2, 5) * Fraction(2, 9)
    new = bag(np.array([[1, 1]], dtype=np.float64))
    expected = [float(one / (one + other)), float(other / (one + other))]
    assert posterior(model.log_joint([new]))[0] == pytest.approx(expected)
    # Table 2: P(w|c) ln(P(w|c) / P(w|not c)); with two classes "not c" is the other class.
    assert model.log_odds(0)[0, 0] == pytest.approx(4 / 6 * math.log((4 / 6) / (1 / 3)))
    assert model.log_odds(0)[1, 1] == pytest.approx(2 / 3 * math.log((2 / 3) / (2 / 6)))


@given(samples(), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_likelihoods_of_several_bags_multiply_and_shared_texts_are_as_if_written_out(
    sample: tuple[Counts, Labels, int], seed: int
) -> None:
    counts, labels, classes = sample
    rng = np.random.default_rng(seed)
    text = rng.integers(3, size=len(labels)).tolist()
    second = rng.poisson(1.0, (3, 4)).astype(np.float64)
    share = one_hot(labels, classes)
    both = fit([bag(counts), bag(second, text)], share)
    one, other = fit([bag(counts)], share), fit([bag(second[text])], share)
    joint = both.log_joint([bag(counts), bag(second, text)])
    apart = one.log_joint([bag(counts)]) + other.log_joint([bag(second[text])]) - one.log_prior
    assert np.abs(joint - apart).max() < 1e-9


@given(samples(), st.sampled_from(["laplace", "shrinkage"]))
@settings(max_examples=40)
def test_words_of_a_class_are_a_distribution(
    sample: tuple[Counts, Labels, int], smoothing: str
) -> None:
    counts, labels, classes = sample
    model = fit([bag(counts)], one_hot(labels, classes), smoothing)
    assert np.exp(model.log_words[0]).sum(axis=0) == pytest.approx(np.ones(classes))
    assert np.exp(model.log_prior).sum() == pytest.approx(1.0)
    assert np.isfinite(model.log_words[0]).all()


def test_shrinkage_trusts_a_class_that_repeats_its_own_words() -> None:
    # Class 0 says the same two words again and again; each word of class 1 stands there once.
    counts = np.zeros((2, 42))
    counts[0, :2] = 50
    counts[1, 2:] = 1
    own, others, uniform = fit([bag(counts)], np.eye(2), "shrinkage").mixture[0].T
    assert own[0] > 0.9
    assert own[1] < 0.1
    # The words of class 1 are none of class 0's either: nothing but the uniform explains them.
    assert uniform[1] > 0.9
    assert others[1] < 0.1


def test_clusters_part_texts_that_share_no_words() -> None:
    rng = np.random.default_rng(3)
    counts = np.zeros((60, 20))
    counts[:30, :10] = rng.poisson(1.5, (30, 10))
    counts[30:, 10:] = rng.poisson(1.5, (30, 10))
    share = cluster([bag(counts)], 2, np.random.default_rng(0))
    assert share.sum(axis=1) == pytest.approx(np.ones(60))
    found = share.argmax(axis=1)
    assert len(set(found[:30].tolist())) == len(set(found[30:].tolist())) == 1
    assert found[0] != found[-1]
    again = cluster([bag(counts)], 2, np.random.default_rng(0))
    assert np.array_equal(share, again)


def test_a_vocabulary_counts_texts_in_order_of_first_sight() -> None:
    words = Vocabulary()
    assert [words.add(["b", "a", "b"]), words.add([]), words.add(["c", "a"])] == [0, 1, 2]
    made = words.bag([0, 2, 2, 1])
    assert words.words == {"b": 0, "a": 1, "c": 2}
    assert made.counts.toarray().tolist() == [[2, 1, 0], [0, 0, 0], [0, 1, 1]]
    assert made.text.tolist() == [0, 2, 2, 1]


@pytest.mark.parametrize("smoothing", ["laplace", "shrinkage", "complement"])
def test_a_saved_classifier_says_the_same(smoothing: str) -> None:
    rng = np.random.default_rng(5)
    counts = rng.poisson(1.0, (20, 6)).astype(np.float64)
    model = fit([bag(counts)], one_hot(rng.integers(3, size=20), 3), smoothing)
    again = NaiveBayes.load(unpack(pack(model.save())))
    assert np.array_equal(model.log_joint([bag(counts)]), again.log_joint([bag(counts)]))


def test_a_class_or_vocabulary_without_anything_is_no_trouble() -> None:
    empty = bag(np.zeros((2, 0)))
    for smoothing in ("laplace", "shrinkage", "complement"):
        model = fit([empty], one_hot(np.array([0, 0]), 3), smoothing)
        assert posterior(model.log_joint([empty])).sum(axis=1) == pytest.approx([1.0, 1.0])
    assert laplace(np.zeros((4, 1)))[:, 0].tolist() == [0.25] * 4


def test_an_unknown_smoothing_is_refused() -> None:
    with pytest.raises(InputError, match="smoothing 'none'"):
        fit([bag(np.ones((1, 1)))], np.ones((1, 1)), "none")
