"""The policy `td-lambda`: golden traces of both scorings, its training, its models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.state import pack, unpack
from spoor.learn.temporal_difference import Network
from spoor.learn.trained_model import pack_model
from spoor.policies.td_lambda import FEATURES, TDLambda, train, words_of
from spoor.simulation.crawls import CrawlSetup, PreparedWeb, simulate_crawl
from spoor.simulation.replay import Replay
from spoor.testing import check_policy
from spoor.testing.policies import TOPIC
from spoor.testing.small_worlds import TARGET, SmallWorld, random_web
from spoor.types import Anchor, Fetched, KnownWeb, Link, Page, State, Task, WebGraph
from spoor.worlds.company import LABEL, CompanySite, recordings


def page(name: str, text: str, links: str = "", *, target: bool = False) -> Page:
    found = [Link(f"http://w/{link}", Anchor(f"to {link}")) for link in links.split()]
    return Page(
        f"http://w/{name}", text=text, links=found, labels=frozenset({TARGET} if target else ())
    )


def model_by_hand(*values: dict[str, float], gamma: float = 0.5) -> State:
    """A linear network for each table of keyword values."""
    words = sorted({word for table in values for word in table})
    networks = []
    for table in values:
        network = Network(len(words), 0, np.random.default_rng(0))
        network.weights[:-1] = [table.get(word, 0.0) for word in words]
        networks.append(network.save())
    weights = {"keywords": words, "networks": networks, "links": {}}
    return pack_model("td-lambda", FEATURES, TOPIC, weights, training={"gamma": gamma})


def policy(model: State, **settings: Any) -> TDLambda:
    return TDLambda(Task(np.random.default_rng(0), TOPIC, model=model), **settings)


def crawl_of(world: SmallWorld, made: TDLambda, pages: int | None = None) -> Crawl:
    crawl = Crawl(made, Label(TARGET), MemoryFrontier(), pages=pages)
    crawl.seed([next(iter(world.pages))])
    return crawl


def order(world: SmallWorld, made: TDLambda) -> str:
    """Names of the pages in the order of their fetching."""
    outcomes = Replay(crawl_of(world, made), world)
    return " ".join(outcome.page.url.rpartition("/")[2] for outcome in outcomes if outcome.page)


# ---------------------------------------------------------------- golden traces

VALUES = {"low": 0.1, "middle": 0.5, "high": 0.9}

PARENTS = SmallWorld(
    [
        page("root", "middle", "a b c d"),
        page("a", "high", "x y z"),
        page("b", "low", "y"),
        page("c", "low", "y"),
        page("d", "none"),
        page("x", "low"),
        page("y", "low"),
        page("z", "none", "y x d"),
    ]
)


def test_inherit_is_the_mean_over_the_pages_that_show_a_link() -> None:
    # root: a b c d at 0.5. a: x y z at 0.9; x goes first, then y (0.1 + 0.9 …) is not yet lowered.
    # z shows y at 0: (0.9 + 0) / 2 = 0.45, below b, c and d (0.25 after z).
    world = SmallWorld([*PARENTS.pages.values()])
    assert order(world, policy(model_by_hand(VALUES))) == "root a x y z b c d"


def test_a_new_parent_moves_a_waiting_link_down_and_up() -> None:
    world = SmallWorld(
        [
            page("root", "middle", "a b c d"),
            page("a", "high", "m"),
            page("m", "none", "b b"),
            page("b", "none"),
            page("c", "high", "d"),
            page("d", "none"),
        ]
    )
    made = policy(model_by_hand(VALUES))
    crawl = crawl_of(world, made)
    why = {
        outcome.page.url.rpartition("/")[2]: outcome.choice.why
        for outcome in Replay(crawl, world)
        if outcome.page
    }
    # b: (0.5 + 0) / 2, counted once for a page that shows it twice; d: (0.5 + 0.9) / 2.
    assert list(why) == ["root", "a", "m", "c", "d", "b"]
    assert why.pop("root") == ()
    assert {name: reasons[0][0] for name, reasons in why.items()} == {
        "a": "value of its page",
        "m": "value of its page",
        "c": "value of its page",
        "d": "value of its page, mean of 2",
        "b": "value of its page, mean of 2",
    }
    shares = {name: reasons[0][1] for name, reasons in why.items()}
    assert shares == pytest.approx({"a": 0.5, "m": 0.9, "c": 0.5, "d": 0.7, "b": 0.25})


AHEAD = SmallWorld(
    [
        page("root", "none", "a b c"),
        page("a", "low", "d e"),
        page("b", "high", "f g"),
        page("c", "middle", "h"),
        page("d", "none"),
        page("e", "none"),
        page("f", "none", target=True),
        page("g", "middle", "i"),
        page("h", "none"),
        page("i", "none"),
    ]
)


def test_look_ahead_fetches_all_a_page_links_to_and_expands_the_best() -> None:
    # Expanded: root, b (0.9), c (0.5, fetched before g), g (0.5), a (0.1), the rest.
    made = policy(model_by_hand(VALUES), scoring="look-ahead")
    assert order(SmallWorld([*AHEAD.pages.values()]), made) == "root a b c f g h i d e"


def test_the_score_is_the_mean_of_the_networks() -> None:
    # The second network alone would expand c first, the two together b.
    model = model_by_hand({"high": 0.9, "middle": 0.1}, {"high": 0.2, "middle": 0.4})
    made = policy(model, scoring="look-ahead")
    assert order(SmallWorld([*AHEAD.pages.values()]), made).startswith("root a b c f g")


def figures(**settings: Any) -> dict[str, Any]:
    world = SmallWorld([*AHEAD.pages.values()])
    graph = world.graph()
    prepared = PreparedWeb(world, graph, "http://w/root", list(range(10)))  # type: ignore[arg-type]  # a world of the lab, as far as a replay needs one
    params = {"scoring": "look-ahead", **settings.pop("params", {})}
    setup = CrawlSetup(
        "by hand", (f"label:{TARGET}",), "td-lambda", topic=TOPIC, params=params, **settings
    )
    return simulate_crawl(setup, web=prepared, model=model_by_hand(VALUES), compare=False)


def test_every_download_counts_unless_looking_ahead_is_free() -> None:
    counted, free = figures(), figures(free_look_ahead=True)
    # f is the fifth page fetched, but the sixth expanded: root, b, c, g, a, and then f.
    assert counted["requests_to"]["50"] == 0.5
    assert free["requests_to"]["50"] == 0.6
    assert counted["fetched"] == free["fetched"] == 10
    assert counted["downloads"] == free["downloads"] == 10


def test_with_the_reward_a_wanted_page_is_expanded_at_once() -> None:
    free = figures(free_look_ahead=True, params={"add_reward": True})
    # root, b, and then f: 1 + 0.5 · 0.
    assert free["requests_to"]["50"] == 0.3


def test_a_budget_of_a_free_look_ahead_is_one_of_expanded_pages() -> None:
    cut = figures(free_look_ahead=True, pages=3)
    # To expand three, seven were fetched; h came with the third.
    assert (cut["fetched"], cut["found"]) == (3, 0)
    assert cut["downloads"] > 3


# ---------------------------------------------------------------- laws


def test_it_keeps_the_laws_with_its_own_values_of_links() -> None:
    check_policy(TDLambda, model=trained(3, links="naive-bayes"), links=0.5)


@pytest.mark.parametrize("scoring", ["inherit", "look-ahead"])
def test_a_crawl_cut_anywhere_goes_on_as_if_nothing_had_happened(scoring: str) -> None:
    model = trained(3)
    world = random_web(np.random.default_rng(9))
    whole = order(world, policy(model, scoring=scoring)).split()
    for cut in (1, 7, 30):
        crawl = crawl_of(world, policy(model, scoring=scoring))
        replay = Replay(crawl, world)
        names = [outcome.page for _, outcome in zip(range(cut), replay, strict=False)]
        state = unpack(pack(crawl.save()))
        again = Crawl(policy(model, scoring=scoring), Label(TARGET), MemoryFrontier())
        again.load(state)
        names += [outcome.page for outcome in Replay(again, world)]
        assert [found.url.rpartition("/")[2] for found in names if found] == whole


# ---------------------------------------------------------------- training


def known(seed: int) -> KnownWeb:
    world = random_web(np.random.default_rng(seed))
    pages = list(world.pages.values())
    return KnownWeb(f"site{seed}", world.graph(), 0, lambda at: pages[at])


def trained(*seeds: int, seed: int = 0, **settings: Any) -> State:
    settings = {"episodes": 150, "keywords": 20, "hidden": 4, **settings}
    task = Task(np.random.default_rng(seed), TOPIC)
    return train(task, [known(at) for at in seeds], lambda done, of: None, **settings)


def test_the_same_seed_gives_the_same_model() -> None:
    assert pack(trained(1, 2)) == pack(trained(1, 2))
    assert pack(trained(1, 2)) != pack(trained(1, 2, seed=1))


def test_a_model_holds_one_network_a_site_and_how_each_learned() -> None:
    told: list[tuple[int, int]] = []
    task = Task(np.random.default_rng(0), TOPIC)
    model = train(
        task,
        [known(1), known(2)],
        lambda done, of: told.append((done, of)),
        episodes=50,
        keywords=20,
    )
    assert len(model["weights"]["networks"]) == 2
    assert model["about"]["sites"] == ["site1", "site2"]
    assert model["about"]["learning"].keys() == {"site1", "site2"}
    assert model["about"]["learning"]["site1"][-1]["episode"] == 50
    assert told == [(done, 100) for done in range(1, 101)]


def test_keywords_are_those_that_tell_targets() -> None:
    chosen = trained(1, 2, 3, keywords=5)["weights"]["keywords"]
    assert set(chosen) == {"kiln", "glaze", "clay", "pottery", "stoneware"}


def test_a_site_without_a_target_in_reach_has_no_network() -> None:
    bare = known(4)
    graph = WebGraph(
        bare.graph.urls, bare.graph.indptr, bare.graph.indices, np.zeros(60, dtype=bool)
    )
    sites = [known(1), KnownWeb("bare", graph, 0, bare.page)]
    task = Task(np.random.default_rng(0), TOPIC)
    model = train(task, sites, lambda done, of: None, episodes=20, keywords=20)
    assert (model["about"]["sites"], model["about"]["left_out"]) == (["site1"], ["bare"])
    with pytest.raises(InputError, match="no site has a target"):
        train(task, sites[1:], lambda done, of: None)


@pytest.mark.long
def test_what_was_learned_leads_sooner_to_targets_of_other_sites() -> None:
    sites = [CompanySite(f"firm{at}", 80, 400, 4) for at in range(8)]
    worlds = []
    for site in sites:
        replies = [recording.reply for recording in recordings([site], 1)]
        worlds.append(SmallWorld([reply.page for reply in replies if isinstance(reply, Fetched)]))
    task = Task(np.random.default_rng(0), TOPIC)
    known_sites = []
    for site, world in zip(sites[:4], worlds[:4], strict=True):
        pages = list(world.pages.values())
        known_sites.append(KnownWeb(site.name, world.graph(LABEL), 0, pages.__getitem__))
    model = train(task, known_sites, lambda done, of: None, keywords=60)
    fetches: dict[str, int] = {"td-lambda": 0, "random": 0}
    for world in worlds[4:]:
        for name in fetches:
            task = Task(np.random.default_rng(2), TOPIC, model=model)
            crawl = Crawl(registry.build("policies", name, task), Label(LABEL), MemoryFrontier())
            crawl.seed([next(iter(world.pages))])
            outcomes = list(Replay(crawl, world))
            hits = [
                at for at, out in enumerate(outcomes, 1) if out.judgement and out.judgement.relevant
            ]
            fetches[name] += sum(hits)
    # The sum of the steps at which the 16 adverts are found.
    assert fetches["td-lambda"] < 0.7 * fetches["random"]


# ---------------------------------------------------------------- explain, errors


def test_explain_says_which_words_raise_and_lower_a_value() -> None:
    rows = policy(model_by_hand({"near": 0.4, "nearer": 0.6, "far": -0.2}, {"near": 0.2})).explain()
    assert [row[:2] for row in rows] == [
        ("a wanted page is near", "near"),
        ("a wanted page is near", "nearer"),
        ("a wanted page is far", "far"),
    ]
    assert [row[2] for row in rows] == pytest.approx([0.3, 0.3, -0.1])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"scoring": "lookahead"}, "scoring is one of inherit, look-ahead, not 'lookahead'"),
        ({"links": 2.0}, "links lies in"),
        ({"links": 0.5}, "train it with links = 'naive-bayes'"),
        ({"links": 0.5, "scoring": "look-ahead"}, "'inherit' only"),
    ],
)
def test_settings_that_do_not_go_together(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        policy(model_by_hand(VALUES), **settings)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"episodes": 0}, "episodes is a whole number from 1 on, not 0"),
        ({"hidden": -1}, "hidden"),
        ({"keywords": 1.5}, "keywords"),
        ({"alpha": 1.1}, r"alpha lies in \[0, 1\]"),
        ({"lam": -0.1}, "lam lies"),
        ({"links": "best-first"}, "unknown policy with a training 'best-first'"),
    ],
)
def test_trainings_that_cannot_be(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        trained(1, **settings)


def test_words_by_markup_are_features_of_their_own() -> None:
    one = Page("http://s.example/", title="Jobs 9", headings=("Open jobs",), text="Jobs and a post")
    assert words_of(one) == {"jobs", "post"}
    assert words_of(one, markup=True) == {
        "jobs",
        "post",
        "title:jobs",
        "heading:open",
        "heading:jobs",
    }
    # A word of the text alone is another state than the same word in the title.
    plain, titled = (Page("u", title=title, text="clay") for title in ("", "clay"))
    assert words_of(plain, markup=True) < words_of(titled, markup=True)
    assert words_of(plain) == words_of(titled)


def test_a_model_with_markup_values_a_page_by_the_title_it_has() -> None:
    pages: dict[int, Page] = {}
    for number in range(1, 9):
        far = number % 2 == 0
        title, text = ("", "jobs") if far else ("jobs", "jobs")
        after = f"http://s.example/{'end' if far else 'ad'}"
        pages[number] = Page(
            f"http://s.example/{number}", title=title, text=text, links=(Link(after),)
        )
    pages[0] = Page("http://s.example/", links=tuple(Link(pages[at].url) for at in pages))
    pages[9] = Page("http://s.example/ad", labels=frozenset({TARGET}))
    pages[10] = Page("http://s.example/end")
    world = SmallWorld([pages[at] for at in range(11)])
    web = KnownWeb("s", world.graph(), 0, lambda at: pages[at])
    values = {}
    for markup in (False, True):
        model = train(
            Task(np.random.default_rng(0)),
            [web],
            lambda done, of: None,
            markup=markup,
            hidden=0,
            alpha=0.05,
        )
        made = TDLambda(Task(np.random.default_rng(0), model=unpack(pack(model))))
        values[markup] = [made._value(pages[at]) for at in (1, 2)]
    assert values[False][0] == values[False][1]
    assert values[True][0] > values[True][1] + 0.2
