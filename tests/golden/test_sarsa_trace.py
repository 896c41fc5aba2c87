"""sarsa by hand: twelve pages, every feature and every value worked out on paper.

Vectors have two dimensions, so that a text of one word has a relevance to the topic ("kiln") and
to its one category ("soil") that can be read off: kiln (1, 0), soil (0, 1), pot (24, 7) / 25 =
(.96, .28), mud (8, 15) / 17 = (.47, .88), rust (5, 12) / 13 = (.38, .92).

With α = .01, γ = .9, ε = 0, β = .4. Digits are tenths (a tenth k stands for bucket k // 2 of five
and (k + 1) // 2 of six); of a state: relevance, change, category, all parents, relevant parents,
distance; of an action: relevance, category, all parents, relevant parents. A state has 10 active
weights, an action 8.

    page  word  state          shown by R       A                C           F           G
    R     mud   4 0 8 0 0 9
    A     kiln  9 2 0 4 0 0    pot 9 2 4 0
    B     rust  3 3 9 7 9 1    mud 4 8 4 0      rust 3 9 7 9
    C     soil  0 4 9 4 0 9    soil 0 9 4 0
    D     -                                     kiln 9 0 9 9
    E     soil  0 3 9 0 0 9                                      mud 4 8 0 0
    F     pot   9 2 2 0 0 9                                      kiln 9 0 0 0
    G     kiln  9 2 0 9 0 0                                                  pot 9 2 9 0
    H     -                                                                  soil 0 9 9 0
    I     -                                                                              kiln 9 0 9 9

Once A is fetched B has two parents, R (.47) and A (1, relevant): mean .74, of the relevant 1. So
its link on R is now action 4 8 7 9. J and K stand behind D and are never seen.
"""

from __future__ import annotations

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.policies.sarsa import Sarsa
from spoor.simulation.replay import Replay
from spoor.testing.small_worlds import TARGET, SmallWorld
from spoor.types import Anchor, Link, Page, Task, Topic
from spoor.web.text import Vectors

WORDS = {"kiln": (1, 0), "soil": (0, 1), "pot": (24, 7), "mud": (8, 15), "rust": (5, 12)}
PAGES = {
    "R": ("mud", "A pot, B mud, C soil"),
    "A": ("kiln", "D kiln, B rust"),
    "B": ("rust", ""),
    "C": ("soil", "E mud, F kiln"),
    "D": ("pot", "J pot, K pot"),
    "E": ("soil", ""),
    "F": ("pot", "G pot, H soil"),
    "G": ("kiln", "I kiln"),
    "H": ("soil", ""),
    "I": ("kiln", ""),
    "J": ("mud", ""),
    "K": ("mud", ""),
}


def url(name: str) -> str:
    return f"http://w.example/{name.lower()}"


def page(name: str) -> Page:
    word, shown = PAGES[name]
    links = [link.split() for link in shown.split(", ") if link]
    return Page(
        url(name),
        text=word,
        links=[Link(url(to), Anchor(anchor)) for to, anchor in links],
        labels=frozenset({TARGET} if word == "kiln" else ()),
    )


def policy_task() -> Task:
    vectors = Vectors(list(WORDS), np.array(list(WORDS.values())))
    topic = Topic("kiln", categories={"earth": "soil"})
    return Task(np.random.default_rng(0), topic, vectors=vectors)


def trace(update: str, pages: int) -> tuple[str, list[float], Sarsa]:
    """Pages in the order of their fetching, the value of each choice after the seed's, and the
    policy as it stands then."""
    policy = Sarsa(policy_task(), update=update, alpha=0.01, epsilon=0.0)
    crawl = Crawl(policy, Label(TARGET), MemoryFrontier(), pages=pages)
    crawl.seed([url("R")])
    order, values = "", []
    for outcome in Replay(crawl, SmallWorld([page(name) for name in PAGES])):
        assert outcome.page is not None
        order += outcome.page.url[-1].upper()
        if outcome.choice.why:
            values.append(sum(share for _, share in outcome.choice.why))
    return order, values, policy


def test_states_and_actions_are_those_worked_out_by_hand() -> None:
    _, _, policy = trace("synchronous", 7)
    states = [f"{key:06d}" for key in policy.values.states.digits()]
    assert states == ["408009", "920400", "049409", "339791", "922009", "039009", "920900"]
    actions = [f"{key:04d}" for key in policy.values.actions.digits()]
    assert actions == [
        *("9240", "4840", "0940"),  # A, B, C on R
        *("9099", "4879", "3979"),  # D on A; B on R, whose parents are two now; B on A
        *("4800", "9000"),  # E, F on C
        *("9290", "0990"),  # G, H on F; I on G is as D on A
    ]


def test_the_synchronous_trace() -> None:
    """Overlaps are counts of active weights that two pairs share; amounts are α δ.

    1. All values are 0: the pair entered first, (R, A). Relevant: .01 · (30 − 0) = .3.
    2. (R, C): 10 + 4 shared, 14 · .3 = 4.2; (R, B) 3.0; (A, D) 1.2; (A, B) .6. C is not relevant,
       r = −1; a' is F: (4 + 4) · .3 = 2.4; δ = −1 + .9 · 2.4 − 4.2 = −3.04; amount −.0304.
    3. (R, B): 3.0 − .304 − .0304 = 2.6656; (C, F): 2.2176; (C, E): 1.5872; (A, D): 1.1392.
       B has no links: δ = −1 − 2.6656; amount −.036656.
    4. (C, F): 4 · .232944 + 1.2 − .0608 = 2.070976; (C, E): 1.293952; (A, D): .992576. F is not
       relevant, but its relevance is .96: r = 30. a' is G: 5 · .232944 + 1.8 − .0608 = 2.90392;
       δ = 30 + .9 · 2.90392 − 2.070976 = 30.542552; amount .30542552.
    5. (C, E): 1.293952 + 14 · .30542552 = 5.56990928; (F, G): 5.04189864; (A, D): 3.43598016.
       E has no links: δ = −1 − 5.56990928; amount −.0656990928.
    6. (F, G): 5.04189864 − 5 · .0656990928 = 4.713403176; (A, D): 3.1731837888; (F, H) below.
    """
    order, values, _ = trace("synchronous", 7)
    assert order == "RACBFEG"
    by_hand = [0.0, 4.2, 2.6656, 2.070976, 5.56990928, 4.713403176]
    assert values == pytest.approx(by_hand, abs=1e-7)  # weights stand on a grid of 2 to the −32


def test_the_asynchronous_trace() -> None:
    """After A only its own links have values of then: (A, D) 1.2, (A, B) .6; those on R keep 0, and
    so has the pair that B moved to before the update."""
    order, values, _ = trace("asynchronous", 3)
    assert order == "RAD"
    assert values == pytest.approx([0.0, 1.2], abs=1e-7)


def test_the_moderated_update_is_a_step_of_alpha_times_one_minus_gamma() -> None:
    """The third page, D, is not relevant: its update is eq. (3) or eq. (4)."""
    _, _, plain = trace("asynchronous", 3)
    _, _, moderated = trace("moderated", 3)
    _, _, before = trace("asynchronous", 2)
    step = plain.values.w - before.values.w
    slow = moderated.values.w - before.values.w
    assert step.any()
    assert slow == pytest.approx((1 - 0.9) * step, abs=1e-8)


def test_quantiles_take_the_place_of_fixed_relevances() -> None:
    """Rewards are (30, 30, 20, −1). Of relevances .47, 0, .385, .2, .1, 0 in this order the first is
    held against `nearly` (.5, .4), the others against (.5, .25) of those before: 0 of 1 are below 0;
    1 of 2 below .385; 1 of 3 below .2; 1 of 4 below .1; and none below 0."""
    made = Sarsa(policy_task(), quantiles=[0.5, 0.25])
    relevances = (0.47, 0.0, 0.385, 0.2, 0.1, 0.0)
    rewards = [made._visit(at, (0, one), False)[1] for at, one in enumerate(relevances)]
    assert rewards == [20.0, -1.0, 30.0, 20.0, 20.0, -1.0]
    # Without them .47 is over .4 and nothing else is over anything.
    plain = Sarsa(policy_task())
    rewards = [plain._visit(at, (0, one), False)[1] for at, one in enumerate(relevances)]
    assert rewards == [20.0, -1.0, -1.0, -1.0, -1.0, -1.0]
    for wrong in ([0.5], [0.5, 1.0]):
        with pytest.raises(InputError, match="quantiles are two shares"):
            Sarsa(policy_task(), quantiles=wrong)
