"""Off-policy estimates: weights by hand, what is refused, and the truth on a web known whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from loopback import ADDRESS, Loopback, beside, page, reply
from spoor import registry
from spoor.cli.main import run as spoor
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.lab.whatif import run_log
from spoor.lab.whatif.run_log import LoggedPage, RunLog, read_log
from spoor.lab.whatif.weights import weights_of
from spoor.simulation.replay import Replay
from spoor.types import Judgement, Link, Page, Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

if TYPE_CHECKING:
    from spoor.lab.whatif.estimate import Estimate

pytestmark = pytest.mark.server

YES, NO = Judgement(1.0, True, 1.0), Judgement(0.0, False, 0.0)
A, B, C, D = (f"http://a.example/{name}" for name in "abcd")


def estimate(log: RunLog, policy: str) -> Estimate:
    """As in the module, which SciPy takes half a second to import: not while tests are collected."""
    from spoor.lab.whatif import estimate as module

    return module.estimate(log, policy)


def taken(url: str, links: tuple[str, ...], p: float | None, hit: bool = False) -> LoggedPage:
    return LoggedPage(Page(url, links=tuple(map(Link, links))), YES if hit else NO, p)


def test_weights_by_hand() -> None:
    # B and C are known after A, when two choices are left; D after B, when one is.
    log = RunLog(
        [A], [taken(A, (B, C), 1.0), taken(B, (D,), 0.5, True), taken(D, (), 0.5)], policy="random"
    )
    weights = weights_of(log)
    assert weights[A] == 1.0
    assert weights[B] == pytest.approx(1 / (1 - 0.5**2))
    assert weights[D] == pytest.approx(1 / (1 - 0.5))


def test_an_estimate_by_hand() -> None:
    log = RunLog(
        [A],
        [taken(A, (C, B), 1.0), taken(B, (D,), 0.5, True), taken(D, (), 0.5)],
        policy="random",
    )
    told = estimate(log, "breadth-first")
    # C was not fetched. A stands for 1 page, B for 4/3 (relevant), D for what is left of 3.
    assert told.weighted == pytest.approx(4 / 3)
    assert (told.replayed, told.pages, told.run_found, told.chosen) == (3, 3, 1, 2)
    w = np.array([1, 4 / 3, 2 / 3])
    assert told.effective == pytest.approx(9 / (w @ w))
    assert told.weighted_low <= told.weighted <= told.weighted_high
    assert told.low <= told.found <= told.high
    assert any("too few" in line for line in told.warnings)
    # Of the known web it takes A, C (never fetched) and B: B is relevant, C may be.
    assert (told.unseen, told.worst, told.best) == (1, 1, 2)


def test_a_doubly_robust_sum_by_hand() -> None:
    from spoor.lab.whatif.estimate import doubly_robust

    chances = {A: 0.1, B: 0.5, C: 0.2, D: 0.9}
    weights, relevant = {A: 1.0, B: 4.0}, {A: False, B: True}
    told = doubly_robust([A, B, C], chances, weights, relevant)
    # The model says 0.8; the residuals −0.1 and 0.5, weighing 1 and 4, are +0.38 a page.
    assert told.found == pytest.approx(0.8 + 3 * (1.0 * -0.1 + 4.0 * 0.5) / 5.0)
    assert (told.size, told.unseen) == (3, 1)
    # A model that is right about what the run saw needs no correction, whatever the weights are.
    right = doubly_robust([A, B, C], {A: 0.0, B: 1.0, C: 0.2}, weights, relevant)
    assert right.found == pytest.approx(1.2)
    assert right.error == pytest.approx(np.sqrt(0.2 * 0.8))
    # A model that says the same of every page is corrected to the weighted share.
    dull = doubly_robust([A, B], {A: 0.3, B: 0.3}, weights, relevant)
    assert dull.found == pytest.approx(2 * 4 / 5)


def test_links_out_of_reach_are_no_part_of_the_web() -> None:
    pages = [taken(A, (B, C, D), 1.0), taken(B, (), 0.5, True)]
    for told in (RunLog([A], pages, open={C}), RunLog([A], pages, failed={D})):
        assert estimate(told, "breadth-first").best == 1.0, "A, then B: two pages, one relevant"
    log = RunLog([A], [*pages, taken("http://a.example/e", (), 0.5)], open=set())
    known = estimate(log, "breadth-first")
    assert (known.unseen, known.reached) == (0, 2)
    assert (known.worst, known.best) == (1, 2), "of three pages it can reach two"


def test_redirects_lead_to_the_page_that_answered() -> None:
    log = RunLog([C], [taken(A, (D,), 1.0), taken(B, (), 0.5, True)], redirects={C: A, D: B})
    told = estimate(log, "breadth-first")
    assert told.replayed == 2
    assert told.weighted == pytest.approx(1.0)


def test_what_ran_out_is_told() -> None:
    pages = [taken(A, (B,), 1.0), taken(B, (), 0.99), taken(C, (), 0.99), taken(D, (), 0.99)]
    told = estimate(RunLog([A], pages), "breadth-first")
    assert told.reached == 2
    assert any("only 2 pages by the links that this run saw" in line for line in told.warnings)


@pytest.mark.parametrize(
    ("p", "said"), [(1.0, "took every link with probability 1"), (None, "noted no probability")]
)
def test_nothing_left_to_chance_says_nothing(p: float | None, said: str) -> None:
    log = RunLog([A], [taken(A, (B,), 1.0), taken(B, (), p)], policy="trail")
    with pytest.raises(InputError, match=f"trail {said}"):
        estimate(log, "best-first")


def test_whoever_knows_the_web_is_refused() -> None:
    log = RunLog([A], [taken(A, (B,), 1.0), taken(B, (), 0.5)])
    with pytest.raises(InputError, match="oracle knows the whole web"):
        estimate(log, "oracle")


# ---------------------------------------------------------------- the truth


def crawl(world: GeneratedWorld, name: str, seed: int, pages: int) -> list[LoggedPage]:
    task = Task(np.random.default_rng(seed), Topic(name="pottery"))
    done = Crawl(
        registry.build("policies", name, task), Label("pottery"), MemoryFrontier(), pages=pages
    )
    done.seed(world.roots())
    return [
        LoggedPage(outcome.page, outcome.judgement, outcome.choice.probability)
        for outcome in Replay(done, world)
        if outcome.page is not None and outcome.judgement is not None
    ]


@pytest.mark.long
def test_estimates_hold_the_truth_on_webs_known_whole() -> None:
    """Four webs, a random run on a third of each; what best-first and random itself find in as many
    pages lies in nearly all intervals and between worst and best, best-first is told to be the
    better one, and the doubly robust estimates are nearer than those by weights alone."""
    inside, between, better = 0, 0, 0
    errors = np.zeros(2)
    for seed in range(4):
        world = GeneratedWorld(GeneratedSettings(pages=450, hosts=1, seed=seed, target_share=0.15))
        pages = 150
        log = RunLog(world.roots(), crawl(world, "random", seed, pages), Topic(name="pottery"))
        told = {}
        for name in ("best-first", "random"):
            real = sum(item.judgement.relevant for item in crawl(world, name, 9, pages))
            told[name] = estimate(log, name)
            inside += told[name].low <= real <= told[name].high
            between += told[name].worst <= real <= told[name].best
            errors += abs(told[name].found - real), abs(told[name].weighted - real)
        better += told["best-first"].found > told["random"].found
    assert inside >= 7, "of 8"
    assert between >= 7, "of 8"
    assert better >= 3, "of 4"
    assert errors[0] <= errors[1]


def test_a_run_that_saw_everything_knows_the_truth() -> None:
    """Where the run fetched all there is, each page stands for itself and nothing is guessed."""
    world = GeneratedWorld(GeneratedSettings(pages=120, hosts=1, seed=1))
    log = RunLog(world.roots(), crawl(world, "random", 0, 10_000), Topic(name="pottery"))
    assert len(log.taken) > 100
    told = estimate(log, "best-first")
    assert told.found <= sum(item.judgement.relevant for item in log.taken) + 1e-9
    assert told.found == pytest.approx(told.run_found, rel=0.5)


# ---------------------------------------------------------------- a run on the network


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    rng = np.random.default_rng(0)
    pages: dict[str, bytes] = {}
    for at in range(60):
        links = [f"/{to}" for to in rng.choice(60, 6, replace=False)]
        pages[f"/{at}"] = page(*links, text="<p>kiln and glaze</p>" if at % 4 == 0 else "<p>x</p>")
    pages["/"] = page("/1", "/2", "/3", "/old")
    server = Loopback(lambda asked: _answer(asked.path, pages))
    with beside(server.serving):
        arguments = ["crawl", "http://site.example/", "--want", "text:kiln", "--topic", "kiln"]
        arguments += ["--policy", "random", "--pages", "30", "--delay", "0", "--traps", "--json"]
        connect = ["--connect-to", f"{ADDRESS}:{server.port}", "--out", str(tmp_path / "run")]
        assert spoor([*arguments, *connect]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(server.asked) == told["requests"] + told["robots_requests"], "all are counted"
    return tmp_path / "run"


def _answer(path: str, pages: dict[str, bytes]) -> bytes:
    if path == "/old":
        return reply(status=301, Location="/5")
    return pages.get(path, reply("", 404))


def test_whatif_of_a_live_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    log = read_log(run)
    assert len(log.taken) == 30
    assert all(item.probability is not None for item in log.taken)
    assert any((item.probability or 1) < 1 for item in log.taken)
    assert spoor(["lab", "whatif", str(run), "--policy", "best-first", "--json"]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert told["pages"] == 30
    assert told["low"] <= told["found"] <= told["high"] <= 30
    assert 0 <= told["worst"] <= told["best"] <= 30
    assert log.open is not None
    assert not {item.page.url for item in log.taken}.intersection(log.open)
    assert 0 < told["effective"] <= told["replayed"] <= 30
    assert spoor(["lab", "whatif", str(run), "--policy", "best-first"]) == 0
    shown = capsys.readouterr().out
    assert "95 % interval" in shown
    assert "worst … best" in shown
    assert max(map(len, shown.partition("warning")[0].splitlines()[1:])) <= 80


def test_texts_that_say_one_thing_for_megabytes_are_cut_and_keep_no_run_from_whatif(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [item.page.text for item in read_log(run).taken]
    most = sum(map(len, texts)) // 2
    monkeypatch.setattr(run_log, "MAX_BYTES", most)
    monkeypatch.setattr(run_log, "MAX_RATIO", 0)
    monkeypatch.setattr(run_log, "MAX_TEXT", 64)
    cut = [item.page.text for item in read_log(run).taken]
    assert sum(map(len, cut)) <= most
    longest = max(map(len, cut))
    assert longest in (32, 16, 8, 4, 2)
    assert cut == [text[:longest] for text in texts]
    capsys.readouterr()
    assert spoor(["lab", "whatif", str(run), "--policy", "best-first", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pages"] == 30


def test_whatif_refuses_in_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    for arguments, message in (
        ([str(run), "--policy", "bestfirst"], "did you mean 'best-first'"),
        ([str(run), "--policy", "oracle"], "knows the whole web"),
        ([str(run.parent), "--policy", "best-first"], "is no run"),
    ):
        assert spoor(["lab", "whatif", *arguments]) == 2
        errors = capsys.readouterr().err
        assert message in errors
        assert errors.count("\n") == 1
