"""What the baseline policies are made of, against plainer code and by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.dqn import DoubleDqn, Network
from spoor.learn.hashed_linear import HashedLinear, grams, join, split
from spoor.learn.link_words import link_words
from spoor.learn.randomized_queue import RandomizedQueue
from spoor.learn.state import pack, unpack
from spoor.learn.svm import pegasos, platt
from spoor.policies.best_first import BestFirst
from spoor.policies.context_graph import layers_of, reduced
from spoor.policies.fish_search import FishSearch
from spoor.policies.host_bandit import HostBandit
from spoor.policies.intelligent_crawling import Ratios, log_ratio
from spoor.policies.online_svm import Example, OnlineSvm, words_of
from spoor.policies.tag_path_bandit import Arms, TagPathBandit, UrlClassifier, projection
from spoor.policies.tres import Leaf, Split, TreeFrontier, best_split
from spoor.policies.url_keywords import UrlKeywords
from spoor.protocols import Policy
from spoor.types import (
    Anchor,
    Fetch,
    Fetched,
    Link,
    LinkId,
    Page,
    Task,
    Topic,
    WebGraph,
)

HOSTS = ["a", "b", "c"]
RNG = np.random.default_rng


class Offered:
    """An offer of these links, by host."""

    def __init__(self, links: dict[LinkId, str]) -> None:
        self._links = links

    def __len__(self) -> int:
        return len(self._links)

    def __contains__(self, link: object) -> bool:
        return link in self._links

    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        return [int(at) for at in rng.permutation(list(self._links))[:k]]

    def hosts(self) -> Collection[str]:
        return set(self._links.values())


def crawl_of(policy: Policy, pages: dict[str, Page], label: str = "wanted") -> list[str]:
    """URLs in the order in which the policy takes them, one at a time, from the first page on."""
    crawl = Crawl(policy, Label(label), MemoryFrontier())
    crawl.seed([next(iter(pages))])
    taken = []
    while isinstance(step := crawl.next(0.0), Fetch):
        taken.append(step.url)
        crawl.receive(Fetched(step.ticket, pages[step.url]), 0.0)
    return taken


def site(links: dict[str, str], wanted: str = "") -> dict[str, Page]:
    """Pages named by one letter, each with the letters it links to."""

    def url(name: str) -> str:
        return f"http://a.org/{name}"

    return {
        url(name): Page(
            url(name),
            links=[Link(url(to), Anchor(position=at)) for at, to in enumerate(to_all)],
            labels=frozenset({"wanted"} if name in wanted else ()),
        )
        for name, to_all in links.items()
    }


# ---------------------------------------------------------------- bags


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans())),
    st.sets(st.sampled_from(HOSTS)),
    st.sets(st.integers(0, 20)),
)
def test_a_bag_holds_what_was_entered_and_draws_what_is_on_offer(
    moves: list[tuple[int, bool]], free: set[str], gone: set[int]
) -> None:
    bag, held = RandomizedQueue(), set()
    for link, enters in moves:
        if enters and link not in held:
            bag.add(link, HOSTS[link % 3])
            held.add(link)
        elif not enters:
            bag.discard(link)
            held.discard(link)
    assert dict(bag) == {link: HOSTS[link % 3] for link in held}
    again = RandomizedQueue.load(bag.save())
    assert again.save() == bag.save()
    offered = {at: HOSTS[at % 3] for at in held - gone if HOSTS[at % 3] in free}
    drawn = bag.draw(Offered(offered), RNG(0))
    assert drawn in offered if offered else drawn is None


def test_a_bag_draws_each_link_as_often() -> None:
    bag, rng = RandomizedQueue(), RNG(0)
    for link in range(5):
        bag.add(link, HOSTS[link % 3])
    offer = Offered({link: HOSTS[link % 3] for link in range(5) if link != 1})
    drawn = Counter(bag.draw(offer, rng) for _ in range(4_000))
    assert set(drawn) == {0, 2, 3, 4}
    assert all(abs(count - 1_000) < 150 for count in drawn.values())


# ---------------------------------------------------------------- hashed letters


def test_grams_are_those_of_the_bytes() -> None:
    assert len(grams("abab", 2, 2)) == 2  # ab, ba
    assert len(grams("abcd", 2, 3)) == 5
    assert grams("ab", 3, 5) == set()
    assert grams("abc", 3, 3, mark="URL").isdisjoint(grams("abc", 3, 3, mark="text"))


def test_a_hashed_row_has_length_one() -> None:
    model = HashedLinear(10)
    row = model.row({1, 2, 3, 4, 1 + 1024})
    assert row.tolist() == [1, 2, 3, 4]
    model.step(row, 0.5)
    assert model.value(row) == pytest.approx(0.5)
    assert model.value(model.row(set())) == 0.0
    assert model.value(model.row({1})) == pytest.approx(0.25)


@given(st.lists(st.sets(st.integers(0, 50), max_size=6), max_size=8))
def test_values_of_many_rows_are_those_of_each(found: list[set[int]]) -> None:
    model = HashedLinear(6)
    model.w[:] = RNG(0).normal(size=64)
    rows = [model.row(hashes) for hashes in found]
    assert np.allclose(model.values(rows), [model.value(row) for row in rows])
    again = split(unpack(pack(join(rows))))
    assert [row.tolist() for row in again] == [row.tolist() for row in rows]


# ---------------------------------------------------------------- tag-path bandit


def test_tag_paths_join_the_nearest_arm() -> None:
    arms = Arms(0.75)
    assert arms.of("html/body/div#main/ul.news/li/a") == 0
    assert arms.of("html/body/div#nav/table/a") == 1
    # 6 of 7 2-grams in common with one more li
    assert arms.of("html/body/div#main/ul.news/li/li/a") == 0
    assert arms.of("html/body/div#nav/table/a") == 1
    assert arms.count == 2
    again = Arms(0.75)
    again.load(unpack(pack(arms.save())))
    assert pack(again.save()) == pack(arms.save())


def test_a_projection_counts_pairs() -> None:
    places, counts = projection("a/b/a/b")
    assert sorted(counts.tolist()) == [1.0, 1.0, 1.0, 2.0]  # ^a, ab twice, ba, b$
    assert places.tolist() == sorted(places.tolist())


def test_url_classifier_needs_both_kinds_and_then_tells_them() -> None:
    urls = UrlClassifier(batch=2, rate=0.5)
    for at in range(20):
        urls.learn(f"http://a.org/data/{at}.csv", True)
    assert urls.chance("http://a.org/data/99.csv") == 0.0
    for at in range(20):
        urls.learn(f"http://a.org/news/{at}.html", False)
        urls.learn(f"http://a.org/data/{at}.csv", True)
    assert urls.chance("http://a.org/data/99.csv") > 0.5 > urls.chance("http://a.org/news/99.html")


def test_arms_that_lead_to_targets_are_tried_more() -> None:
    # Two lists of 30 pages under the root: every page of one is wanted, none of the other.
    def link(kind: str, at: int) -> Link:
        return Link(f"http://a.org/{at * 2 + (kind == 'ul')}", Anchor(tag_path=f"html/{kind}/a"))

    pages = {
        one.url: Page(one.url, labels=frozenset({"wanted"} if kind == "ul" else ()))
        for kind in ("ul", "ol")
        for at in range(30)
        for one in [link(kind, at)]
    }
    root = Page(
        "http://a.org/", links=[link(kind, at) for at in range(30) for kind in ("ol", "ul")]
    )
    pages = {root.url: root, **pages}
    policy = TagPathBandit(Task(RNG(0)), alpha=0.5, batch=0)
    first = crawl_of(policy, pages)[1:31]
    assert sum("wanted" in pages[url].labels for url in first) > 22


# ---------------------------------------------------------------- support vector machines


def test_pegasos_tells_apart_what_a_line_tells_apart() -> None:
    rng = RNG(0)
    x = np.hstack([rng.normal(size=(300, 2)), np.ones((300, 1))])
    y = np.where(x @ np.array([1.0, -2.0, 0.5]) > 0, 1.0, -1.0)[:, None]
    w = pegasos(x, y, rng, lam=1e-3, steps=2_000, batch=32)
    assert np.mean(np.sign(x @ w) == y) > 0.97
    assert np.linalg.norm(w) <= 1e-3**-0.5 + 1e-9


def test_platt_finds_the_optimum_that_another_optimizer_finds() -> None:
    from scipy.optimize import minimize

    rng = RNG(1)
    margins = rng.normal(size=200)
    positive = rng.random(200) < 1 / (1 + np.exp(-2 * margins + 1))
    n = positive.sum()
    wanted = np.where(positive, (n + 1) / (n + 2), 1 / (200 - n + 2))

    def loss(ab: np.ndarray) -> float:
        p = 1 / (1 + np.exp(ab[0] * margins + ab[1]))
        return float(-(wanted * np.log(p) + (1 - wanted) * np.log(1 - p)).sum())

    best = minimize(loss, np.zeros(2)).x
    assert platt(margins, positive) == pytest.approx(best, abs=1e-3)


def trained_svm(*, mended: bool) -> OnlineSvm:
    """One that learned that ‘courses’ leads to relevant pages, and ‘pictures’ nowhere."""
    policy = OnlineSvm(Task(RNG(0)), mended=mended)

    class NoLinks:
        def open(self) -> list[LinkId]:
            return []

        def in_links(self, link: LinkId) -> list[object]:
            return []

    policy.attach(NoLinks())  # type: ignore[arg-type]  # there are none to look at
    for at in range(30):
        word, hops = (("courses", 0), ("pictures", 2), ("people", 2))[at % 3]
        policy._done[at] = Example((word,), (f"anchor {word[:4]}",), hops)
    policy._train()
    return policy


def test_the_faithful_machine_prefers_what_is_surely_of_no_use_and_the_mended_one_does_not() -> (
    None
):
    for mended in (False, True):
        policy = trained_svm(mended=mended)
        good = policy._score(("courses",), ("anchor cour",))
        sure, unsure = policy._score(("pictures",), ("anchor pict",)), policy._score((), ())
        assert good > 200 > max(sure, unsure)
        assert (sure < unsure) is mended


def test_the_faithful_machine_does_not_find_the_words_of_urls_again() -> None:
    faithful, mended = trained_svm(mended=False), trained_svm(mended=True)
    assert "URL courses" in faithful._columns
    assert faithful._matched(("courses",), ()) == []
    assert mended._matched(("courses",), ()) == [mended._columns["URL cours"]]


def test_words_of_a_link() -> None:
    anchor = Anchor("Our Courses", before="one two three", after="four five six")
    url, near = words_of("http://a.org/courses/cs1.html", anchor, 2)
    assert "courses" in url
    assert near == ("anchor cours", "around two", "around three", "around four", "around five")


_PIECES = st.sampled_from(
    [
        "kiln",
        "Kilns",
        "FIRING",
        "fired",
        "o'clock",
        "’tis'",
        "the",
        " ",
        "\n",
        "-",
        "_",
        "é",
        "ΣΑΣ",
        "窯",
    ]
)
_TEXT = st.lists(_PIECES, max_size=12).map("".join)


@given(st.lists(_TEXT, min_size=1, max_size=3), _TEXT, _TEXT, _TEXT, st.integers(0, 5))
def test_best_first_reads_the_words_of_those_links_alone_that_share_one_with_the_topic(
    path: list[str], text: str, before: str, after: str, context: int
) -> None:
    policy = BestFirst(Task(RNG(0), Topic("firing a kiln 窯 ΣΑΣ o'clock")), context=context)
    url = f"http://a/{'/'.join(path)}"
    words = link_words(url, Anchor(text, before, after), context)
    assert policy._value((url, text, before, after)) == policy._cosine(words)


# ---------------------------------------------------------------- fish-search, host bandit


def test_keywords_count_where_they_stand_in_the_url() -> None:
    urls = ["plain", "kilnworks/2", "raku-kiln/glaze", "GLAZE", "glaze/kiln-b"]
    links = [Link(f"http://a/{url}") for url in urls]
    pages = {"http://a/": Page("http://a/", links=links)}
    pages |= {link.url: Page(link.url) for link in links}
    topic = Topic(name="pottery", keywords=("kiln", "glaze", "raku"))
    order = crawl_of(UrlKeywords(Task(RNG(0), topic)), pages)
    assert order[1:] == [f"http://a/{urls[at]}" for at in (2, 4, 1, 3, 0)]


def test_fish_search_by_hand() -> None:
    # r is not wanted: its first link a scores ½ (width 1), b and c 0. a is wanted: its first two
    # links (1.5 · 1 is 1 after rounding down) d scores 1, e 0. So: r a d b c e.
    pages = site({"r": "abc", "a": "de", "b": "", "c": "", "d": "", "e": ""}, wanted="a")
    taken = crawl_of(FishSearch(Task(RNG(0)), width=1), pages)
    assert [url[-1] for url in taken] == ["r", "a", "d", "b", "c", "e"]


def test_a_fish_that_finds_nothing_dies() -> None:
    # With depth 1, c lies two links below any seed: its links come after all others.
    pages = site({"r": "ab", "a": "c", "b": "", "c": "d", "d": ""})
    taken = crawl_of(FishSearch(Task(RNG(0)), depth=1), pages)
    assert [url[-1] for url in taken] == ["r", "a", "b", "c", "d"]


def test_the_host_of_more_relevant_pages_is_preferred() -> None:
    policy = HostBandit(Task(RNG(0)), lam=0.0)
    policy._pages = [5, 5]
    policy._hosts = {"a": [5.0, 4.0], "b": [5.0, 1.0]}
    assert policy._rate("a") == pytest.approx(4.5 / 6)
    assert policy._rate("b") == pytest.approx(1.5 / 6)
    assert policy._rate("new") == pytest.approx(0.5)


def test_odds_of_a_link_by_hand() -> None:
    policy = HostBandit(Task(RNG(0)))
    policy._pages = [8, 2]
    policy._counts = {"URL ‘course’": [0, 2]}
    share = 3 / 12
    expected = math.log(3 / 9) + math.log((2 + share) / 3) - math.log(share / 9)
    assert policy._odds(("URL ‘course’",)) == pytest.approx(expected)
    unseen = math.log(3 / 9) + math.log((1 / 12) / 3) - math.log((1 / 12) / 9)
    assert policy._odds(("never seen",)) == pytest.approx(unseen)


# ---------------------------------------------------------------- intelligent crawling


def test_interest_ratios() -> None:
    ratios = Ratios(significance=2.0)
    for at in range(10):
        ratios.learn("often", at < 9)
        ratios.learn("average", at < 2)
    assert ratios.log("often", 0.2) == pytest.approx(math.log(9.2 / (11 * 0.2)))
    assert ratios.log("average", 0.2) == ratios.log("never seen", 0.2) == 0.0
    assert log_ratio(0, 0, 0.3) == pytest.approx(0.0)


# ---------------------------------------------------------------- context graphs


def test_layers_are_the_links_to_the_nearest_target() -> None:
    # 0 → 1 → 2 → 3 (target) → 0, 4 → 2, 5 alone
    arcs = [[1], [2], [3], [0], [2], []]
    indptr = np.cumsum([0, *map(len, arcs)])
    indices = np.array([to for of in arcs for to in of], dtype=np.int32)
    targets = np.array([at == 3 for at in range(6)])
    graph = WebGraph([str(at) for at in range(6)], indptr, indices, targets)
    assert layers_of(graph, 2) == [3, 2, 1, 0, 2, 3]
    assert layers_of(graph, 3) == [3, 2, 1, 0, 2, 4]


def test_a_page_is_its_most_telling_words() -> None:
    idf = {"rare": 3.0, "common": 1.0, "the": 0.0}
    words = ["the", "common", "rare", "common", "the", "the"]
    assert reduced(words, lambda word: idf[word], 1) == ["rare"]
    assert reduced(words, lambda word: idf[word], 9) == ["rare", "common", "common"]


# ---------------------------------------------------------------- TRES


def test_gradients_are_those_of_finite_differences() -> None:
    rng = RNG(3)
    network = Network((4, 6, 3), rng)
    x, goals = rng.normal(size=(5, 4)), rng.normal(size=5)
    gradients = network.gradients(x, goals)
    for w, g in zip(network.weights, gradients, strict=True):
        assert w.shape == g.shape
        for at in np.ndindex(w.shape):
            losses = []
            for nudge in (1e-6, -2e-6):
                w[at] += nudge
                losses.append(float(((network.values(x) - goals) ** 2).mean() / 2))
            w[at] += 1e-6
            assert g[at] == pytest.approx((losses[0] - losses[1]) / 2e-6, abs=1e-5)


def test_double_q_learning_finds_the_value_of_a_short_chain() -> None:
    # (1, 0) leads to (0, 1), which pays 1 and ends: Q = γ and 1.
    dqn = DoubleDqn(2, (16,), RNG(0), gamma=0.5, alpha=1e-2, batch=16, copy=20, memory=64)
    first, second = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for _ in range(32):
        dqn.remember(first, 0.0, second[None, :])
        dqn.remember(second, 1.0, np.zeros((0, 2)))
    for _ in range(600):
        dqn.step()
    assert dqn.online.values(np.array([first, second])) == pytest.approx([0.5, 1.0], abs=0.02)


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.0, 1.0])),
        min_size=1,
        max_size=12,
    )
)
def test_the_best_split_is_that_of_trying_them_all(rows: list[tuple[int, int, float]]) -> None:
    leaf = Leaf(0)
    leaf.rows = [np.array([a, b], dtype=float) for a, b, _ in rows]
    leaf.rewards = [reward for *_, reward in rows]

    def spread(rewards: list[float]) -> float:
        return float(np.var(rewards) * len(rewards)) if rewards else 0.0

    def after(feature: int, threshold: float) -> float:
        sides: tuple[list[float], list[float]] = ([], [])
        for row, reward in zip(leaf.rows, leaf.rewards, strict=True):
            sides[bool(row[feature] > threshold)].append(reward)
        return spread(sides[0]) + spread(sides[1])

    least = min(after(feature, cut) for feature in (0, 1) for cut in (0.5, 1.5, 2.5))
    found = best_split(leaf)
    if found is None:
        assert least >= spread(leaf.rewards) - 1e-9
    else:
        assert after(*found) == pytest.approx(least, abs=1e-9)


def test_a_leaf_that_is_split_shares_out_its_links() -> None:
    tree = TreeFrontier(depth=3)
    rows = {link: np.array([float(link)] + [0.0] * 7) for link in range(6)}
    for link in (0, 1, 4, 5):
        tree.leaf(rows[link]).bag.add(link, "a")
    tree.learn(rows[2], 0.0, rows)
    tree.learn(rows[3], 1.0, rows)
    assert isinstance(tree.nodes[0], Split)
    assert [sorted(dict(leaf.bag)) for leaf in tree.leaves()] == [[0, 1], [4, 5]]
    again = TreeFrontier(depth=3)
    again.load(unpack(pack({"tree": tree.save()}))["tree"])
    assert pack({"tree": again.save()}) == pack({"tree": tree.save()})


# ---------------------------------------------------------------- bad settings


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("tag-path-bandit", {"batch": -1}),
        ("online-svm", {"every": 0}),
        ("q-learning", {"temperature": 0.0}),
        ("q-learning", {"replay": 0}),
        ("host-bandit", {"lam": 1.5}),
        ("fish-search", {"depth": 0}),
        ("parent-quality", {"join": "least"}),
        ("tres", {"every": 0}),
        ("tres", {"copy": 0}),
    ],
    ids=str,
)
def test_bad_settings_are_refused_in_one_line(name: str, settings: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        registry.build("policies", name, Task(RNG(0), Topic("x")), settings=settings)
    assert "\n" not in str(caught.value)
