"""Naive Bayes after Rennie and McCallum, worked by hand: bins by the distance to the nearest target,
crawling by the probability of a target, learning from the crawl's own links, and weights of bags."""

from __future__ import annotations

import numpy as np
import pytest

from spoor.errors import InputError
from spoor.learn.bag_weights import bag_weights, most_likely, scores_of_others
from spoor.learn.naive_bayes import NaiveBayes, Vocabulary, one_hot
from spoor.learn.online_bayes import FIRST_FIT, OnlineBayes
from spoor.policies.naive_bayes import NaiveBayesPolicy, train
from spoor.testing.small_worlds import TARGET, SmallWorld
from spoor.types import NO_PARENT, Anchor, KnownWeb, Link, Page, Task, Topic

# ---------------------------------------------------------------- bins, and two ways to go by them

S = "http://s.example/"


def page(name: str, *links: tuple[str, str], target: bool = False) -> Page:
    """A page with links (page, anchor)."""
    shown = tuple(Link(S + to, Anchor(text)) for to, text in links)
    return Page(S + name, links=shown, labels=frozenset({TARGET} if target else ()))


def test_bins_by_distance_and_the_order_by_value_and_by_the_probability_of_a_target() -> None:
    """γ = .9. The front page shows the list ("far"), a target ("goal") and a dead end ("dead"); the
    list shows three targets ("goal"). A link to a target is worth 1, one to the list .9 + .81 + .729
    = 2.439, more than 1 though it is no target: by distance it is in the second of three bins."""
    targets = [page(f"t{number}", target=True) for number in range(4)]
    front = page("", ("list", "far"), ("t0", "goal"), ("dead", "dead"))
    listed = page("list", *((f"t{number}", "goal") for number in (1, 2, 3)))
    world = SmallWorld([front, listed, page("dead"), *targets])
    graph = world.graph()
    web = KnownWeb("s", graph, 0, lambda number: world.pages[graph.urls[number]])
    rng = np.random.default_rng(0)
    model = train(
        Task(rng, Topic()), [web], lambda done, of: None, gamma=0.9, neighbourhood="no-url"
    )
    assert model["weights"]["value"].tolist() == pytest.approx([1.0, 2.439, 0.0])
    # Links by bin: 4, 1, 1, so P(c) = 5/9, 2/9, 2/9. P(goal | c) = 5/7, 1/4, 1/4; P(far | c) = 1/7,
    # 2/4, 1/4; P(dead | c) = 1/7, 1/4, 2/4. Joint of "goal": 25/63, 1/18, 1/18; and so on.
    links = [(link.url, link.anchor) for link in front.links]
    by_value = NaiveBayesPolicy(Task(rng, model=model))
    assert by_value.values(front, links) == pytest.approx([1.424065, 1.048016, 0.873323], abs=1e-6)
    by_target = NaiveBayesPolicy(Task(rng, model=model), scoring="target")
    assert by_target.values(front, links) == pytest.approx([10 / 31, 25 / 32, 10 / 31])


# ---------------------------------------------------------------- learning while crawling

# A training saw "a" once in class 0 and once in class 2, "b" once in class 1 and once in class 2.
TRAINED = NaiveBayes([np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])], np.array([1.0, 1.0, 2.0]))


def crawled(weight: float = 2.0) -> OnlineBayes:
    """0 is the seed and shows 1 ("a") and 2 ("b"); 1 shows 3 ("c c") and 2 again ("a"); 3 is
    followed and is a target; 2 is open."""
    online = OnlineBayes(TRAINED, [["a", "b"]], weight)
    online.saw(0, NO_PARENT, [["seed"]])
    online.learn(0, target=False)
    online.saw(1, 0, [["a"]])
    online.saw(2, 0, [["b"]])
    online.learn(1, target=False)
    online.saw(3, 1, [["c", "c"]])
    online.saw(2, 1, [["a"]])
    online.learn(3, target=True)
    return online


def test_links_followed_become_examples_by_how_far_the_target_found_is() -> None:
    online = crawled()
    model, vocabularies = online.fit()
    # 3 is a target, 1 links to it, and 0 links to 1: classes 0, 1 and 2, each worth 2.
    assert dict(online.distances()) == {3: 0, 1: 1, 0: 2}
    assert vocabularies == [{"a": 0, "b": 1, "seed": 2, "c": 3}]
    # The table of the training, and below it: "a" 2 in class 1, "seed" 2 in class 2, "c" 4 in 0.
    assert model.counts[0].tolist() == [[1, 2, 1], [0, 1, 1], [0, 0, 2], [4, 0, 0]]
    assert model.sizes.tolist() == [3, 3, 4]
    # eq. (5): (1 + n) / (3 + 10); eq. (4): (1 + N) / (4 + 5), (4 + 3), (4 + 4).
    assert np.exp(model.log_prior) == pytest.approx([4 / 13, 4 / 13, 5 / 13])
    assert np.exp(model.log_words[0][3]) == pytest.approx([5 / 9, 1 / 7, 1 / 8])
    # What is open has the texts of both pages that show it.
    (row,) = online.open()
    assert row[0] == 2
    assert [online.texts(0)[text] for (text,) in row[1]] == [("b",), ("a",)]


def test_a_page_judged_anew_changes_class_at_the_next_fit_and_its_parents_do() -> None:
    online = crawled()
    before = online.fit()[0]
    online.relearn(3, target=False)
    assert online.distances() == {3: 0, 1: 1, 0: 2}
    after = online.fit()[0]
    assert not online.distances()
    # Nothing is known to lead anywhere: all three are of the last class.
    assert after.sizes.tolist() == [1, 1, 8]
    assert before.sizes.tolist() == [3, 3, 4]


def test_a_link_without_a_page_says_nothing_and_fits_come_ever_rarer() -> None:
    online = OnlineBayes(TRAINED, [["a", "b"]], 1.0)
    online.saw(1, NO_PARENT, [["a"]])
    online.forget(1)
    assert list(online.open()) == []
    due = []
    for page in range(1, 120):
        if online.learn(100 + page, target=False):
            due.append(page)
            online.fit()
    assert due == [FIRST_FIT, 32, 48, 64, 80, 100]


def test_it_goes_on_from_a_saved_state_with_the_tables_of_its_last_fit() -> None:
    online = crawled()
    model, vocabularies = online.fit()
    online.saw(4, 3, [["d"]])
    online.learn(4, target=True)  # not fitted yet
    again = OnlineBayes(TRAINED, [["a", "b"]], 2.0)
    assert again.restored() is None
    again.load(online.save())
    restored = again.restored()
    assert restored is not None
    assert restored[1] == vocabularies
    assert np.array_equal(restored[0].counts[0], model.counts[0])
    assert np.array_equal(again.fit()[0].counts[0], online.fit()[0].counts[0])


# ---------------------------------------------------------------- how much a bag counts


def test_the_weight_of_a_bag_that_is_right_three_times_of_four() -> None:
    # The bag says ln P = 2 for one of two classes and 0 for the other, and is right 3 times of 4:
    # 1 / (1 + e^(-2w)) = 3/4 makes that most likely, which is w = ln(3) / 2. A second bag that says
    # the same of both classes has no part in it, and one that is wrong 3 times of 4 gets 0.
    says = np.array([[[2.0, 0.0]]] * 4)
    prior = np.full((4, 2), np.log(0.5))
    truth = one_hot(np.array([0, 0, 0, 1]), 2)
    assert most_likely(says, prior, truth) == pytest.approx([np.log(3) / 2], abs=1e-3)
    assert most_likely(-says, prior, truth).tolist() == [0.0]


def test_the_words_of_a_site_are_scored_by_those_of_the_others() -> None:
    words = Vocabulary()
    bag = words.bag([words.add(["x"]), words.add(["y"]), words.add(["x", "z"])])
    share = one_hot(np.array([0, 1, 1]), 2)
    # Without the third link "x" is seen once in class 0 and "y" once in class 1, so that
    # P(x | c) = (1 + 1) / (2 + 1) and (1 + 0) / (2 + 1); nothing is known of "z".
    scores, prior = scores_of_others([bag], share, np.array([False, False, True]), "laplace")
    assert np.exp(scores[0, 0]) == pytest.approx([2 / 3, 1 / 3])
    assert np.exp(prior[0]) == pytest.approx([1 / 2, 1 / 2])
    with pytest.raises(InputError, match="there is one site only"):
        bag_weights([bag], share, np.array([0, 0, 0]), "laplace")
