"""Policy naive-bayes: bags, bins and values by hand, its training, and models that are refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spoor import registry
from spoor.cli.demo import served
from spoor.cli.main import run as spoor
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.neighbourhood import bags_of
from spoor.learn.returns import bin_of, link_values
from spoor.learn.state import pack, read, unpack
from spoor.policies.naive_bayes import (
    NaiveBayesPolicy,
    bounds_of,
    examples,
    train,
)
from spoor.simulation.replay import Replay
from spoor.testing.small_worlds import TARGET, SmallWorld, random_web
from spoor.types import Anchor, InLinks, KnownWeb, Link, Page, State, Task, Topic

S = "http://s.example"
ROOT, LIST, ANN, BOB, NEWS = (f"{S}{path}" for path in ("/", "/people/", "/~ann", "/~bob", "/n/1"))
LISTED = Anchor("Ann", "our", "teaches", ("Staff",))


def small() -> SmallWorld:
    """Front page → people, news; people → Ann, Bob (both wanted)."""
    return SmallWorld(
        [
            Page(
                ROOT,
                title="Home",
                text="welcome home",
                links=(Link(LIST, Anchor("People")), Link(NEWS, Anchor("News"))),
            ),
            Page(
                LIST,
                title="People",
                text="people of ours",
                links=(Link(ANN, LISTED), Link(BOB, Anchor("Bob")), Link(ROOT, Anchor("Home"))),
            ),
            Page(ANN, labels=frozenset({TARGET})),
            Page(BOB, labels=frozenset({TARGET})),
            Page(NEWS, links=(Link(NEWS, Anchor("again")), Link("http://o.example/", Anchor()))),
        ]
    )


def known(world: SmallWorld, name: str = "s") -> KnownWeb:
    graph = world.graph()
    return KnownWeb(name, graph, 0, lambda number: world.pages[graph.urls[number]])


def quiet(done: int, of: int) -> None:
    pass


def task(model: State | None = None, topic: str = "", seed: int = 0) -> Task:
    return Task(np.random.default_rng(seed), Topic(name=topic), model=model)


def trained(world: SmallWorld | None = None, topic: str = "", **params: Any) -> State:
    return train(task(topic=topic), [known(world or small())], quiet, **params)


# ---------------------------------------------------------------- bags and bins


def test_the_bags_of_a_hyperlink_by_hand() -> None:
    page = Page(LIST, title="Our People", text="All our people: Ann")
    anchor = Anchor("Ann Lee", "one two three", "four five", ("Staff", "Teaching"))
    url = f"{S}/dept/cs/annLee.html?x=1"
    said = {bag.name: bag.words(page, url, anchor) for bag in bags_of("related", 2)}
    assert said == {
        "head": ["our", "people", "staff", "teaching"],
        "link": ["ann", "lee"],
        "url": ["dept", "cs", "ann", "lee", "html"],
        "near": ["two", "three", "four", "five"],
    }
    said = {bag.name: bag.words(page, url, anchor) for bag in bags_of("full-page", 2)}
    assert said == {
        "page": ["our", "people", "all", "our", "people", "ann"],
        "link": ["ann", "lee", "dept", "cs", "ann", "lee", "html"],
    }
    assert [bag.name for bag in bags_of("no-url", 2)] == ["head", "link", "near"]
    assert [bag.name for bag in bags_of("learned", 2)] == ["page", "head", "link", "url", "near"]
    near = bags_of("related", 0)[3]
    assert near.words(page, url, anchor) == []


def test_the_bins_of_q_by_hand() -> None:
    distance = np.array([0, 1, 2, 3, 4, 7, -1])
    assert bin_of(distance, 2).tolist() == [0, 1, 1, 1, 1, 1, 1]
    assert bin_of(distance, 3).tolist() == [0, 1, 2, 2, 2, 2, 2]
    assert bin_of(distance, 5).tolist() == [0, 1, 2, 3, 4, 4, 4]
    assert bounds_of(4, 0.5).tolist() == [1.0, 0.5, 0.25]


@pytest.mark.parametrize("gamma", [0.1, 0.3, 0.5])
def test_up_to_a_discount_of_a_half_the_bins_are_the_intervals_of_q(gamma: float) -> None:
    webs = [
        known(random_web(np.random.default_rng(seed), pages=60), f"w{seed}") for seed in range(8)
    ]
    found = examples(webs, quiet, neighbourhood="full-page", gamma=gamma, context=0)
    assert set(found.distance.tolist()) >= {0, 1, 2}
    for bins in (2, 3, 4, 5, 8):
        between = (found.q[:, None] < bounds_of(bins, gamma)).sum(axis=1)
        assert bin_of(found.distance, bins).tolist() == between.tolist()


def test_above_a_half_a_link_to_no_target_is_not_in_the_first_bin() -> None:
    # γ = 0.9. People: Ann at 1, Bob at 2, as hyperlink to the list 0.9 + 0.81 = 1.71. Home is two
    # links away: 0.81 + 0.729 = 1.539. Both are above 1, and neither is a target.
    found = examples([known(small())], quiet, neighbourhood="related", gamma=0.9, context=5)
    assert found.q.tolist() == pytest.approx([1.71, 0.0, 1.0, 1.0, 1.539])
    assert found.distance.tolist() == [1, -1, 0, 0, 2]
    assert bin_of(found.distance, 4).tolist() == [1, 3, 0, 0, 2]
    model = trained(gamma=0.9, bins=4)
    # The last bin holds the news, from where nothing is reached.
    assert model["weights"]["value"].tolist() == pytest.approx([1.0, 1.71, 1.539, 0.0])
    groups = {group for group, _, _ in NaiveBayesPolicy(task(model)).explain()}
    assert groups == {
        "a target: 2 links, worth 1.0000",
        "1 link before a target: 1 links, worth 1.7100",
        "2 links before a target: 1 links, worth 1.5390",
        "3 or more links before a target, or none: 1 links, worth 0.0000",
    }


def test_examples_are_the_hyperlinks_within_a_site_with_the_value_of_their_destination() -> None:
    found = examples([known(small())], quiet, neighbourhood="related", gamma=0.5, context=5)
    # People: Ann at 1, Bob at 2, as hyperlink to the list: 0.5 + 0.25. News lead nowhere. Ann and
    # Bob are worth 1 each; home leads to the list, Ann and Bob: 0.25 + 0.125. The links of the
    # news to itself and to another site are left out.
    assert found.q.tolist() == [0.75, 0.0, 1.0, 1.0, 0.375]
    anchors = found.vocabularies[1]
    assert list(anchors) == ["people", "news", "ann", "bob", "home"]
    assert found.bags[1].counts.toarray()[found.bags[1].text].tolist() == np.eye(5).tolist()
    # All hyperlinks of a page without headings above them share the words of its head.
    assert found.bags[0].text.tolist() == [0, 0, 1, 2, 2]


# ---------------------------------------------------------------- values


def test_the_value_of_a_link_by_hand() -> None:
    # Full page, 3 bins. Q of the five links: 0.75 | 0 | 1, 1 | 0.375, so the bins hold 2, 1 and 2
    # links, and are worth 1, 0.75 and 0.1875.
    model = trained(neighbourhood="full-page")
    value = model["weights"]["value"]
    assert value.tolist() == [1.0, 0.75, 0.1875]
    policy = NaiveBayesPolicy(task(model))
    page = Page(f"{S}/new", title="People", text="")
    # Bag of the page: people twice and of, ours stands on the list (title and text), home twice and
    # welcome on the front page: 5 words. Its links: bin 0 has two from the list, bin 1 one from the
    # front page, bin 2 one of each.
    p_page = np.array([(1 + 4) / (5 + 8), (1 + 0) / (5 + 3), (1 + 2) / (5 + 7)])
    # Bag of the link: Ann, ann, Bob, bob in bin 0; people, people in bin 1; news, n, 1, home in
    # bin 2: 7 words.
    p_link = np.array([(1 + 2) / (7 + 4), 1 / (7 + 2), 1 / (7 + 4)])
    prior = np.array([3 / 8, 2 / 8, 3 / 8])
    share = prior * p_page * p_link
    expected = (share / share.sum()) @ value
    # The digit of the URL is a word that was never seen.
    found = policy.values(page, [(f"{S}/7", Anchor("Ann")), (f"{S}/7", Anchor("zzz"))])
    assert found[0] == pytest.approx(expected)
    assert found[1] == pytest.approx((prior * p_page / (prior * p_page).sum()) @ value)
    # By the first of three bins alone: P(Q ≥ 1).
    by_target = NaiveBayesPolicy(task(model), scoring="target")
    found = by_target.values(page, [(f"{S}/7", Anchor("Ann"))])
    assert found.tolist() == pytest.approx([share[0] / share.sum()])


def test_immediate_is_worth_the_probability_of_the_first_bin() -> None:
    model = trained(mode="immediate", neighbourhood="related", bins=5)
    assert model["weights"]["value"].tolist() == [1.0, 0.0]
    policy = NaiveBayesPolicy(task(model))
    joint = policy.log_joint(Page(LIST, title="People"), [(ANN, LISTED)])[0]
    odds = math.exp(joint[1] - joint[0])
    value = policy.values(Page(LIST, title="People"), [(ANN, LISTED)])[0]
    assert value == pytest.approx(1 / (1 + odds))
    assert value > 0.5


def test_an_empty_bin_has_the_lower_end_of_its_interval() -> None:
    # With 5 bins no link has 0.25 > Q ≥ 0.125.
    assert trained(bins=5)["weights"]["value"].tolist() == [1.0, 0.75, 0.375, 0.125, 0.0]


class _All:
    """An offer of every link."""

    def __contains__(self, link: object) -> bool:
        return True

    def __len__(self) -> int:
        return 9

    def hosts(self) -> set[str]:
        return {"s.example"}

    def draw(self, rng: np.random.Generator, k: int) -> list[int]:
        return []


@pytest.mark.parametrize("join", ["max", "mean", "last"])
def test_values_of_a_target_seen_from_several_pages_join(join: str) -> None:
    policy = NaiveBayesPolicy(task(trained()), join=join)
    anchors = [Anchor("News"), Anchor("Ann"), Anchor("People")]
    values = []
    for number, anchor in enumerate(anchors):
        page = Page(f"{S}/{number}", title="x", links=(Link(ANN, anchor),))
        seen = InLinks(page.links, [0], [7], [number == 0], number, 0.0, 1, [ANN], ["s.example"])
        seen.page = page
        policy.observe(seen)
        values.append(float(policy.values(page, [(ANN, anchor)])[0]))
    assert len(set(values)) == 3
    expected = {"max": max(values), "mean": float(np.mean(values)), "last": values[-1]}[join]
    choice = policy.choose(_All())
    assert choice.link == 7
    assert choice.why[0][1] == pytest.approx(expected)


def test_remembered_sums_are_those_of_the_words() -> None:
    policy = NaiveBayesPolicy(task(trained()))
    world = random_web(np.random.default_rng(1), pages=40)
    for page in world.pages.values():
        links = [(link.url, link.anchor) for link in page.links]
        if links:
            fresh = NaiveBayesPolicy(task(trained()))
            assert np.array_equal(policy.values(page, links), fresh.values(page, links))
            one_by_one = [policy.values(page, [link])[0] for link in links]
            assert policy.values(page, links).tolist() == one_by_one


# ---------------------------------------------------------------- training and crawling


def harvest(world: SmallWorld, policy: Any, pages: int) -> int:
    crawl = Crawl(policy, Label(TARGET), MemoryFrontier(), pages=pages)
    crawl.seed([next(iter(world.pages))])
    return sum(outcome.reward > 0 for outcome in Replay(crawl, world))


@pytest.mark.parametrize(
    "params",
    [
        {"mode": "immediate"},
        {"bins": 3},
        {"bins": 4, "neighbourhood": "learned"},
        {"bins": 4, "neighbourhood": "full-page"},
        {"smoothing": "shrinkage"},
        {"smoothing": "complement"},
        {"bins": 6, "classes": "clusters"},
    ],
    ids=str,
)
@pytest.mark.long
def test_what_it_learned_on_some_webs_it_finds_targets_by_on_others(params: dict[str, Any]) -> None:
    webs = [random_web(np.random.default_rng(seed), pages=120) for seed in range(8)]
    model = train(
        task(), [known(web, f"w{at}") for at, web in enumerate(webs[:4])], quiet, **params
    )
    found, plain = 0, 0
    for web in webs[4:]:
        found += harvest(web, NaiveBayesPolicy(task(model)), 30)
        plain += harvest(web, registry.build("policies", "breadth-first", task()), 30)
    assert found > 1.5 * plain


def test_the_same_training_gives_the_same_bytes() -> None:
    world = random_web(np.random.default_rng(2), pages=80)
    settings: list[dict[str, Any]] = [{}, {"bins": 4, "classes": "clusters"}]
    for params in settings:
        assert pack(trained(world, **params)) == pack(trained(world, **params))


@pytest.mark.parametrize("params", [{"join": "mean"}, {"online": 3.0, "scoring": "target"}])
def test_a_saved_crawl_goes_on_with_what_it_learned(params: dict[str, Any]) -> None:
    world = random_web(np.random.default_rng(4), pages=80)
    model = unpack(pack(trained(world)))

    def order(cut: int | None) -> list[str]:
        crawl = Crawl(NaiveBayesPolicy(task(model), **params), Label(TARGET), MemoryFrontier())
        crawl.seed([next(iter(world.pages))])
        urls = []
        replay = Replay(crawl, world, in_flight=1)
        for count, outcome in enumerate(replay, 1):
            assert outcome.page is not None
            urls.append(outcome.page.url)
            if count == cut:
                state = unpack(pack(crawl.save()))
                crawl = Crawl(
                    NaiveBayesPolicy(task(model), **params), Label(TARGET), MemoryFrontier()
                )
                crawl.load(state)
                rest = Replay(crawl, world, in_flight=1, start=replay.now, flying=replay.flying)
                return urls + [out.page.url for out in rest if out.page is not None]
        return urls

    assert order(20) == order(None)


def test_what_a_crawl_learns_changes_its_order_and_needs_no_training_of_its_words() -> None:
    # The training knows no word of the site: only what is followed tells "Ann" from "News".
    model = trained(bins=3)
    lists = [f"{S}/l{number}" for number in range(3)]
    wanted = [[f"{S}/{number}/w{at}" for at in range(12)] for number in range(3)]
    other = [[f"{S}/{number}/o{at}" for at in range(12)] for number in range(3)]
    pages = [Page(ROOT, links=tuple(Link(url, Anchor("list")) for url in lists))]
    for at, url in enumerate(lists):
        links = [
            Link(one, Anchor(said))
            for pair in zip(other[at], wanted[at], strict=True)
            for one, said in zip(pair, ("plover", "curlew"), strict=True)
        ]
        pages.append(Page(url, links=tuple(links)))
    pages += [Page(url, labels=frozenset({TARGET})) for urls in wanted for url in urls]
    pages += [Page(url) for urls in other for url in urls]
    world = SmallWorld(pages)
    plain = harvest(world, NaiveBayesPolicy(task(model), scoring="target"), 40)
    learning = harvest(world, NaiveBayesPolicy(task(model), scoring="target", online=1.0), 40)
    assert learning > 1.2 * plain


def test_clusters_have_no_first_bin() -> None:
    model = trained(bins=3, classes="clusters")
    for params in ({"scoring": "target"}, {"online": 1.0}):
        with pytest.raises(InputError, match="need bins by distance"):
            NaiveBayesPolicy(task(model), **params)


def test_explain_names_the_words_of_each_class_with_their_bag() -> None:
    policy = NaiveBayesPolicy(task(trained(neighbourhood="full-page")))
    rows = policy.explain()
    groups = list(dict.fromkeys(group for group, _, _ in rows))
    assert groups == [
        "Q ≥ 1: 2 links, worth 1.0000",
        "1 > Q ≥ 0.5: 1 links, worth 0.7500",
        "0.5 > Q: 2 links, worth 0.1875",
    ]
    first = {word: weight for group, word, weight in rows if group == groups[0]}
    # ann (link): (1 + 2) / (7 + 4) in the class, 1 / (7 + 6) in the others.
    assert first["ann (link)"] == pytest.approx(3 / 11 * math.log((3 / 11) / (1 / 13)))
    for group in groups:
        weights = [weight for name, _, weight in rows if name == group]
        assert weights == sorted(weights, reverse=True)
        assert min(weights) > 0


# ---------------------------------------------------------------- refused


def test_without_a_model_it_says_what_it_needs() -> None:
    with pytest.raises(InputError, match=r"naive-bayes needs --model MODEL.*spoor train"):
        NaiveBayesPolicy(task())


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"mode": "later"}, "mode is one of immediate, future, not 'later'"),
        ({"bins": 1}, "at least 2 bins, not 1"),
        ({"bins": 100_000}, "naive-bayes: bins is 100 at most, not 100000"),
        ({"bins": 100_000, "classes": "clusters"}, "bins is 100 at most"),
        (
            {"neighbourhood": "site"},
            "neighbourhood is one of full-page, related, no-url, learned, not 'site'",
        ),
        ({"gamma": 1.0}, "gamma"),
        ({"smoothing": "none"}, "unknown smoothing 'none'"),
        ({"classes": "words"}, "classes is one of q, clusters"),
        ({"classes": "clusters", "mode": "immediate"}, "mode = 'future'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        trained(**params)


def test_models_of_something_else_are_refused() -> None:
    model = trained(topic="professors")
    assert NaiveBayesPolicy(task(model, "professors"))
    for wrong, message in (
        ({**model, "policy": "td-lambda"}, "one of 'td-lambda', not of 'naive-bayes'"),
        ({**model, "features": "bags of words 0"}, "over features 'bags of words 0'"),
    ):
        with pytest.raises(InputError, match=message):
            NaiveBayesPolicy(task(wrong, "professors"))
    with pytest.raises(InputError, match="trained for 'professors', not for 'courses'"):
        NaiveBayesPolicy(task(model, "courses"))
    with pytest.raises(InputError, match="trained with bins = 3, not 4"):
        NaiveBayesPolicy(task(model, "professors"), bins=4)
    with pytest.raises(InputError, match="trained with neighbourhood = 'related'"):
        NaiveBayesPolicy(task(model, "professors"), neighbourhood="full-page")
    with pytest.raises(InputError, match="join is one of max, mean, last"):
        NaiveBayesPolicy(task(model, "professors"), join="sum")


def test_a_web_without_links_teaches_nothing() -> None:
    alone = SmallWorld([Page(ROOT, labels=frozenset({TARGET}))])
    with pytest.raises(InputError, match="no links"):
        trained(alone)


# ---------------------------------------------------------------- the command line, and live


@pytest.fixture(scope="module")
def webs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two generated webs of the same kind, and a model of the first."""
    folder = tmp_path_factory.mktemp("webs")
    for name, seed in (("known", 1), ("new", 2)):
        made = ["web", "generate", str(folder / name), "--pages", "600", "--hosts", "3"]
        assert spoor([*made, "--seed", str(seed)]) == 0
    model = folder / "model"
    target = ["--target", "label:pottery", "--topic", "pottery"]
    assert spoor(["train", "naive-bayes", str(folder / "known"), *target, "--out", str(model)]) == 0
    return {"known": folder / "known", "new": folder / "new", "model": model}


@pytest.mark.long
def test_train_explain_and_replay(
    webs: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert spoor(["explain", str(webs["model"]), "--json", "--top", "5"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["policy"] == "naive-bayes"
    immediate = next(iter(told["learned"].values()))
    assert len(immediate) == 5
    assert any("pottery (url)" in word for word, _ in immediate)
    replay = ["replay", str(webs["new"]), "--target", "label:pottery", "--topic", "pottery"]
    replay += ["--pages", "120", "--json"]
    assert spoor([*replay, "--policy", "naive-bayes", "--model", str(webs["model"])]) == 0
    with_model = json.loads(capsys.readouterr().out)
    assert spoor([*replay, "--policy", "breadth-first"]) == 0
    without = json.loads(capsys.readouterr().out)
    assert with_model["found"] > 1.5 * without["found"]


@pytest.mark.long
def test_the_command_line_refuses_what_does_not_fit(
    webs: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    replay = ["replay", str(webs["new"]), "--target", "label:pottery", "--policy", "naive-bayes"]
    assert spoor(replay) == 2
    assert "needs --model" in capsys.readouterr().err
    assert spoor([*replay, "--topic", "chess", "--model", str(webs["model"])]) == 2
    assert "trained for 'pottery', not for 'chess'" in capsys.readouterr().err
    damaged = tmp_path / "damaged"
    data = webs["model"].read_bytes()
    damaged.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert spoor([*replay, "--model", str(damaged)]) == 2
    assert "damaged" in capsys.readouterr().err


@pytest.mark.server
def test_a_live_crawl_with_a_trained_model(
    webs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    with served(webs["new"]) as port:
        for policy in ("naive-bayes", "breadth-first"):
            command = ["crawl", "http://alder.example/", "--topic", "pottery"]
            command += ["--want", r"url:/pottery/[a-z]+-", "--scope", "anywhere", "--json"]
            command += ["--connect-to", f"127.0.0.1:{port}", "--delay", "0", "--pages", "120"]
            command += ["--policy", policy, "--out", str(tmp_path / policy), "--no-warc"]
            if policy == "naive-bayes":
                command += ["--model", str(webs["model"])]
            assert spoor(command) == 0
            found[policy] = json.loads(capsys.readouterr().out)["found"]
    assert found["naive-bayes"] > 1.5 * found["breadth-first"]


def test_a_model_file_holds_arrays_and_json_only(webs: dict[str, Path]) -> None:
    model = read(webs["model"])
    assert model["about"]["training"]["bins"] == 3

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        if isinstance(value, list):
            return all(map(plain, value))
        if isinstance(value, np.ndarray):
            return bool(value.dtype != object)
        return isinstance(value, str | int | float | None)

    assert plain(model)


def test_known_webs_share_the_values_of_their_destination() -> None:
    world = random_web(np.random.default_rng(6), pages=50)
    web = known(world)
    values = link_values(web.graph)
    found = examples([web], quiet, neighbourhood="related", gamma=0.5, context=5)
    number = web.graph.index()
    expected = [
        values[number[link.url]]
        for url, page in world.pages.items()
        for link in page.links
        if link.url != url
    ]
    assert found.q.tolist() == expected
    fewer = replace(web.graph, targets=np.zeros(len(web.graph.urls), dtype=bool))
    assert not link_values(fewer).any()
