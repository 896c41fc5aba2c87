"""Every registered policy keeps the laws; none escapes."""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spoor import policies, registry
from spoor.errors import InputError
from spoor.judges.facts import Label
from spoor.learn.state import generator_state, pack, restore_generator
from spoor.policies.breadth_first import BreadthFirst
from spoor.policies.random import Random
from spoor.protocols import Offer
from spoor.testing import check_policy
from spoor.testing.policies import CASES, TOPIC, _Subject
from spoor.types import Choice, InLinks, KnownWeb, Outcome, State, Task
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

ROOT = Path(__file__).parents[2]
POLICIES = sorted(registry.BUILT_IN["policies"])
TRAINED = sorted(registry.BUILT_IN["trainers"])

NEEDS_MODEL = frozenset({"context-graph", "naive-bayes", "td-lambda"})
"""Policies that do nothing without a training; all others must work without a model, too."""

GOES_BY_NO_TOPIC = {
    "breadth-first": "the order of discovery",
    "depth-first": "the order of discovery",
    "random": "chance",
    "pagerank": "how well linked a page is",
    "tag-path-bandit": "where links stand on their pages",
    "oracle": "the graph; it is held to be the best on recorded webs",
}
"""Policies that need not find more than random choice, and what they go by."""

SETTINGS: dict[str, dict[str, Any]] = {
    "best-n-first": {"n": 8},  # 256 is more than the budget of the check: breadth-first, nearly
}
"""Where a policy's defaults say nothing on a web of some hundred pages."""

VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("best-first", {"context": 0}),
    ("best-n-first", {"n": 1}),
    ("context-graph", {"threshold": 0.9}),
    ("fish-search", {"width": 2, "depth": 1, "relevant": 0.2}),
    ("host-bandit", {"lam": 1.0, "half": 20}),
    ("intelligent-crawling", {"significance": 0.0, "relevant": 0.2}),
    ("naive-bayes", {"join": "last"}),
    ("naive-bayes", {"join": "mean"}),
    ("naive-bayes", {"online": 2.0, "scoring": "target"}),
    ("online-svm", {"every": 30}),
    ("online-svm", {"every": 25, "mended": True, "drop": False}),
    ("parent-quality", {"join": "mean"}),
    ("parent-quality", {"join": "first"}),
    ("q-learning", {"switch": 5, "epsilon": 0.5, "temperature": 0.1}),
    ("sarsa", {"update": "asynchronous", "quantiles": [0.9, 0.8]}),
    ("sarsa", {"update": "moderated", "epsilon": 0.5}),
    ("shark-search", {"gamma": 0.9, "delta": 0.9}),
    ("tag-path-bandit", {"theta": 1.1, "batch": 3}),
    ("tag-path-bandit", {"theta": 0.0, "batch": 0}),
    ("td-lambda", {"scoring": "look-ahead"}),
    ("tres", {"warm": 5, "batch": 8, "every": 1, "copy": 3, "relevant": 0.2}),
)
"""Settings that take another way through a policy."""

TRAINING: dict[str, dict[str, Any]] = {
    "sarsa": {"episodes": 5, "pages": 60},
    "td-lambda": {"episodes": 60, "keywords": 60},
}
"""Small trainings, where a trainer's defaults take long."""


@cache
def model_of(name: str) -> State:
    """What a training on a small generated web leaves."""
    world = GeneratedWorld(GeneratedSettings(pages=240, hosts=3, seed=77))
    graph = world.graph(Label(world.topics[0]))
    web = KnownWeb("small", graph, 0, lambda number: world.page(graph.urls[number]))
    task = Task(np.random.default_rng(5), TOPIC)
    settings = TRAINING.get(name, {})
    model: State = registry.build(
        "trainers", name, task, [web], lambda done, of: None, settings=settings
    )
    return model


@pytest.mark.parametrize("name", POLICIES)
def test_policy_keeps_the_laws(name: str) -> None:
    check_policy(
        registry.find("policies", name),
        knows_web=name in registry.LAB_ONLY,
        model=model_of(name) if name in NEEDS_MODEL else None,
        beats_random=name not in GOES_BY_NO_TOPIC,
        **SETTINGS.get(name, {}),
    )


@pytest.fixture
def two_webs(monkeypatch: pytest.MonkeyPatch) -> None:
    """One and eight in flight, with no delay; the others are tried with the settings of before."""
    monkeypatch.setattr("spoor.testing.policies.CASES", CASES[:2])


@pytest.mark.usefixtures("two_webs")
@pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
def test_policy_keeps_the_laws_with_other_settings(name: str, settings: dict[str, Any]) -> None:
    model = model_of(name) if name in NEEDS_MODEL else None
    check_policy(registry.find("policies", name), model=model, **settings)


@pytest.mark.usefixtures("two_webs")
@pytest.mark.parametrize("name", [name for name in TRAINED if name not in NEEDS_MODEL])
def test_policy_keeps_the_laws_with_a_model(name: str) -> None:
    factory = registry.find("policies", name)
    check_policy(factory, model=model_of(name), **SETTINGS.get(name, {}))


@pytest.mark.parametrize("name", sorted(NEEDS_MODEL))
def test_policy_that_needs_a_model_says_how_to_get_one(name: str) -> None:
    with pytest.raises(InputError, match="spoor train"):
        registry.build("policies", name, Task(np.random.default_rng(0), TOPIC))


def test_the_tables_name_policies_that_exist() -> None:
    assert set(TRAINED) >= NEEDS_MODEL
    assert set(POLICIES) >= GOES_BY_NO_TOPIC.keys() | SETTINGS.keys() | registry.LAB_ONLY
    assert set(POLICIES) >= {name for name, _ in VARIANTS}
    assert set(POLICIES) >= set(TRAINED)


# ---------------------------------------------------------------- complete discovery


def test_every_file_is_registered() -> None:
    assert policies.__file__
    here = Path(policies.__file__).parent
    files = {path.stem for path in here.glob("*.py")} - {"__init__"}
    files |= {path.parent.name for path in here.glob("*/__init__.py")}
    registered = {
        where.partition(":")[0].rpartition(".")[2]
        for where in registry.BUILT_IN["policies"].values()
        if where.startswith("spoor.policies.")
    }
    assert files == registered


def test_every_class_that_chooses_is_registered() -> None:
    for where in registry.BUILT_IN["policies"].values():
        module = import_module(where.partition(":")[0])
        for name, made in inspect.getmembers(module, inspect.isclass):
            if made.__module__ == module.__name__ and {"choose", "observe"} <= set(dir(made)):
                known = registry.BUILT_IN["policies"].values()
                assert f"{module.__name__}:{name}" in known or name.startswith("_")


# ---------------------------------------------------------------- cards


def card(name: str) -> str:
    path = ROOT / "docs" / "algorithms" / f"{name}.md"
    assert path.exists(), f"policy {name} has no card docs/algorithms/{name}.md"
    return path.read_text("utf-8")


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section '## {heading}'"
    return found[1]


def table(text: str) -> dict[str, Any]:
    """Rows `| `name` | `default` | … |` as name → default."""
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", text, re.MULTILINE)
    return {name: ast.literal_eval(default) for name, default in rows}


@pytest.mark.parametrize("name", POLICIES)
def test_card_has_all_its_sections(name: str) -> None:
    text = card(name)
    assert text.startswith(f"# {name}\n")
    for heading in ("Source", "What it does", "Parameters", "Departures", "Left open", "Cost"):
        assert section(text, heading).strip(), f"{name}: '## {heading}' says nothing"


@pytest.mark.parametrize("name", POLICIES)
def test_card_has_the_parameters_of_the_code(name: str) -> None:
    known = registry.parameters(registry.find("policies", name))
    defaults = {key: parameter.default for key, parameter in known.items()}
    assert table(section(card(name), "Parameters")) == defaults


@pytest.mark.parametrize("name", TRAINED)
def test_card_has_the_parameters_of_the_training(name: str) -> None:
    known = registry.parameters(registry.find("trainers", name))
    defaults = {key: parameter.default for key, parameter in known.items()}
    assert table(section(card(name), "Training")) == defaults


def test_no_card_is_left_without_its_policy() -> None:
    cards = {path.stem for path in (ROOT / "docs" / "algorithms").glob("*.md")}
    # Foragers are no policy of a crawl but fleets of a watch, with one card for all of them; what
    # rendering is worth is learned beside any policy; relevance is the default judge.
    assert cards - {"foragers", "rendering", "relevance"} <= set(POLICIES)


# ---------------------------------------------------------------- the order of sets


def digests() -> list[str]:
    """Of what each policy leaves of the same crawl."""
    found = []
    for name in POLICIES:
        model = model_of(name) if name in NEEDS_MODEL else None
        knows_web = name in registry.LAB_ONLY
        subject = _Subject(registry.find("policies", name), {}, knows_web, model, None)
        driver = subject.driver(CASES[2])
        driver.run()
        found.append(f"{name} {hashlib.sha256(pack(driver.crawl.save())).hexdigest()}")
    return found


_DIGESTS = """
import sys
sys.path.insert(0, sys.argv[1])
from contracts.test_policies import digests
print(*digests(), sep="\\n")
"""


def test_the_same_crawl_in_another_process() -> None:
    """The order of a set of strings differs between processes; no crawl may depend on it."""
    told = subprocess.run(
        [sys.executable, "-c", _DIGESTS, str(ROOT / "tests")],
        env={
            **os.environ,
            "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1",
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=400,
    )
    assert told.stdout.splitlines() == digests()


# ---------------------------------------------------------------- the checks can fail


class Positional(BreadthFirst):
    def __init__(self, task: Task, n: int = 3) -> None:
        super().__init__(task)


class Unoffered(BreadthFirst):
    def choose(self, offer: Offer) -> Choice:
        super().choose(offer)
        return Choice(10_000, 1.0)


class Silent(BreadthFirst):
    def choose(self, offer: Offer) -> Choice:
        super().choose(offer)
        return None  # type: ignore[return-value]  # the fault that is looked for


class Certain(Random):
    def choose(self, offer: Offer) -> Choice:
        return Choice(super().choose(offer).link, 1.0)


class TooSure(BreadthFirst):
    def choose(self, offer: Offer) -> Choice:
        return Choice(super().choose(offer).link, 1.5)


class Wordless(BreadthFirst):
    def choose(self, offer: Offer) -> Choice:
        return Choice(super().choose(offer).link, 1.0, (("", float("nan")),))


_HIDDEN = np.random.default_rng(0)


class HiddenRandomness(Random):
    def __init__(self, task: Task) -> None:
        self._rng = _HIDDEN


class Forgetful(Random):
    def save(self) -> State:
        return {}

    def load(self, state: State) -> None:
        pass


class SavesTooLittle(BreadthFirst):
    """Says its state is what it was given, but counts anew."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.learned = 0

    def learn(self, outcome: Outcome) -> None:
        self.learned += 1

    def choose(self, offer: Offer) -> Choice:
        return Choice(super().choose(offer).link, 1.0, (("learned from", float(self.learned)),))


class Unpackable(BreadthFirst):
    def save(self) -> State:
        return {"queue": {1, 2}}


class SavingMoves(Random):
    def save(self) -> State:
        self._rng.random()
        return {"rng": generator_state(self._rng)}

    def load(self, state: State) -> None:
        restore_generator(self._rng, state["rng"])


class NeedsPages(BreadthFirst):
    def learn(self, outcome: Outcome) -> None:
        assert outcome.page is not None


class InOrderOnly(BreadthFirst):
    """Takes what comes back to be what it chose last."""

    last = -1

    def choose(self, offer: Offer) -> Choice:
        choice = super().choose(offer)
        self.last = choice.link
        return choice

    def learn(self, outcome: Outcome) -> None:
        if outcome.choice.link != self.last:
            raise ValueError("an outcome of another link")


class Deaf(BreadthFirst):
    """Notes new links of the first pages only."""

    pages = 0

    def observe(self, seen: InLinks) -> None:
        self.pages += 1
        if self.pages < 20:
            super().observe(seen)


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Positional, "'n' is not keyword-only"),
        (Unoffered, "returned link 10000, which was not offered"),
        (Silent, "choose returned None, not a Choice"),
        (Certain, "probabilities of one offer sum to 8"),
        (TooSure, "probability 1.5"),
        (Wordless, "not pairs of words"),
        (HiddenRandomness, "the same seed gives two crawls"),
        (Forgetful, "goes on differently"),
        (SavesTooLittle, "goes on differently"),
        (Unpackable, "neither JSON nor a NumPy array"),
        (SavingMoves, "goes on differently|two states"),
        (NeedsPages, "learn raised AssertionError"),
        (InOrderOnly, "an outcome of another link"),
        (Deaf, "choose raised LookupError"),
    ],
)
def test_a_broken_policy_is_found(broken: type, told: str) -> None:
    with pytest.raises(AssertionError, match=told) as caught:
        check_policy(broken)
    assert broken.__name__ in str(caught.value)


def test_a_policy_no_better_than_chance_is_found() -> None:
    with pytest.raises(AssertionError, match="random choice"):
        check_policy(Random, beats_random=True)
