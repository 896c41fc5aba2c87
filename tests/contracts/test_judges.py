"""Every registered judge keeps the laws; none escapes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import walk_packages

import numpy as np
import pytest
from numpy.typing import NDArray

from rejudging import Warming
from spoor import judges, registry
from spoor.judges.classifier import Classifier, TextModel
from spoor.judges.combined import AllOf, AnyOf, Not, WeightedSum
from spoor.judges.facts import Function, Label, MediaType, TextPattern, UrlAmong, UrlPattern
from spoor.judges.keywords import Keywords
from spoor.judges.llm import Answer, Llm
from spoor.judges.relevance import Relevance
from spoor.judges.second_opinion import Limits, SecondOpinion
from spoor.judges.semantic import Semantic
from spoor.judges.similarity import Bm25, TfIdf, VectorCosine
from spoor.judges.spec import judge_of
from spoor.judges.topic import judge_of_topic, topic_of
from spoor.judges.wish import parse
from spoor.protocols import Judge
from spoor.testing import check_judge
from spoor.testing.judges import odd_pages, ordinary_pages
from spoor.types import Judgement, Page, State
from spoor.web.text import DocumentFrequencies, Vectors

WORDS = ("kiln", "glaze", "clay", "pottery", "harbour", "engine")
EXAMPLE = Page("http://a.example/", title="A kiln", text="The kiln is hot. Glaze and clay.")
TEXT = "kilns, glaze and clay: all of pottery"


def vectors() -> Vectors:
    return Vectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 8)))


def classifier() -> TextModel:
    words = ("clay", "kiln", "ledger")
    weights = np.array([1.0, 2.0, -3.0])
    return TextModel(words, np.ones(3), weights, bias=-0.5, slope=2.0, offset=0.25)


def letters(texts: Sequence[str]) -> NDArray[np.float64]:
    """How often each letter stands in a text."""
    return np.array(
        [[text.lower().count(letter) for letter in "aeioukglnt"] for text in texts], float
    )


def asked(text: str, prompt: str) -> Answer:
    if "lone" in text:
        raise TimeoutError
    return Answer(float("kiln" in text), 2.0, prompt)


def share(page: Page) -> float:
    return min(1.0, len(page.text) / 1000)


MADE: dict[str, Callable[[], Judge]] = {
    "all-of": lambda: AllOf([Keywords(["kiln"]), TfIdf([TEXT]), UrlPattern("p")]),
    "any-of": lambda: AnyOf([Label("target"), Keywords(["glaze"]), TfIdf([TEXT])]),
    "bm25": lambda: Bm25("kiln and glaze"),
    "classifier": lambda: Classifier(classifier()),
    "function": lambda: Function(share),
    "keywords": lambda: Keywords(["kiln", "clay pot", "pottery"]),
    "label": lambda: Label("target"),
    "llm": lambda: Llm(asked, TfIdf([TEXT]), prompt="Pots?", budget=20.0),
    "media-type": lambda: MediaType("application/*"),
    "not": lambda: Not(Label("target")),
    "relevance": lambda: Relevance(parse("kiln, clay pottery, -harbour"), positive=[EXAMPLE]),
    "second-opinion": lambda: SecondOpinion(
        Keywords(["kiln", "pottery"]), asked, prompt="Pots?", limits=Limits(asks=6, share=1.0)
    ),
    "semantic": lambda: Semantic([TEXT, "harbours"], letters, threshold=0.9),
    "text-pattern": lambda: TextPattern(r"kil(n|ns)\b"),
    "tf-idf": lambda: TfIdf([TEXT, "harbours"]),
    "url": lambda: UrlPattern(r"/p\d"),
    "url-among": lambda: UrlAmong([ordinary_pages()[0].url]),
    "vectors": lambda: VectorCosine(TEXT, vectors()),
    "weighted-sum": lambda: WeightedSum([Label("target"), TfIdf([TEXT])], [1, 3]),
}
"""Each registered judge, made with what it asks for."""

MORE: dict[str, Callable[[], Judge]] = {
    "words": lambda: Relevance(parse('glaze "clay pot", title:kiln OR 陶芸 lang:en')),
    "examples": lambda: Relevance(positive=[EXAMPLE], negative=[Page("http://a/", text="ledger")]),
    "a topic": lambda: judge_of_topic(topic_of("pottery, kiln and clay")),
    "specifications": lambda: judge_of(["label:target", "url:kiln", "text:glaze clay"]),
    "not of a sum": lambda: Not(WeightedSum([Keywords(["kiln"]), Label("target")], [1, 1])),
    "words as they stand": lambda: Keywords(["Kiln"], stemmed=False, fields={"title": 1.0}),
    "given frequencies": lambda: TfIdf(
        [TEXT], frequencies=DocumentFrequencies(), learning=False, threshold=0.05
    ),
    "one that judges anew": Warming,
    "one of several that judges anew": lambda: WeightedSum([Warming(), Not(Warming())], [1, 2]),
    "a second opinion on one that judges anew": lambda: SecondOpinion(Warming(), asked),
    "one asked that judges anew": lambda: Llm(asked, Warming(), budget=20.0),
}


@pytest.mark.parametrize("name", [*MADE, *MORE])
def test_judge_keeps_the_laws(name: str) -> None:
    check_judge((MADE | MORE)[name])


@pytest.mark.parametrize("name", MADE)
def test_judge_tells_pages_apart(name: str) -> None:
    """A judge that says the same of all pages would keep every law."""
    judge = MADE[name]()
    pages = [*ordinary_pages(), *(page for _, page in odd_pages())]
    assert len({judge.judge(page).relevant for page in pages}) == 2


def test_every_registered_judge_is_checked() -> None:
    assert MADE.keys() == registry.BUILT_IN["judges"].keys()
    for name, make in MADE.items():
        assert type(make()) is registry.find("judges", name)


def test_every_class_that_judges_is_registered() -> None:
    found = set()
    for file in walk_packages(judges.__path__, "spoor.judges."):
        module = import_module(file.name)
        found |= {
            made
            for _, made in inspect.getmembers(module, inspect.isclass)
            if made.__module__ == module.__name__ and hasattr(made, "judge")
        }
    assert found == {registry.find("judges", name) for name in registry.BUILT_IN["judges"]}


# ---------------------------------------------------------------- the checks can fail


class Over:
    def judge(self, page: Page) -> Judgement:
        return Judgement(1.0 + len(page.text), True, 1.0, (("long", 1.0),))


class Wordless:
    def judge(self, page: Page) -> Judgement:
        return Judgement(1.0, True, 1.0)


class Needy:
    def judge(self, page: Page) -> Judgement:
        yes = page.title[0] == "k"
        return Judgement(float(yes), yes, float(yes), (("its title", 1.0),))


class Nothing:
    def judge(self, page: Page) -> None:
        return None


class Grudging:
    """Likes every second page."""

    def __init__(self) -> None:
        self.seen = 0

    def judge(self, page: Page) -> Judgement:
        self.seen += 1
        yes = self.seen % 2 == 0
        return Judgement(float(yes), yes, float(yes), (("its turn", float(yes)),))


class Forgetful(Grudging):
    def save(self) -> State:
        return {}

    def load(self, state: State) -> None:
        pass


class Tally:
    seen = 0

    def judge(self, page: Page) -> Judgement:
        Tally.seen += 1
        return Judgement(1 / Tally.seen, False, 0.0, (("its turn", 1.0),))


class Numpy:
    def judge(self, page: Page) -> Judgement:
        yes = np.float64(len(page.text)) > 10
        # A NumPy bool is the fault that is looked for.
        return Judgement(float(yes), yes, float(yes), (("its length", 1.0),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (Over, "does not lie in"),
        (Wordless, "no word why"),
        (Needy, "raised IndexError"),
        (Nothing, "not a Judgement"),
        (Grudging, "what came before it"),
        (Forgetful, "judges differently"),
        (Tally, "disagree"),
        (Numpy, "no bool"),
    ],
)
def test_a_broken_judge_is_found(broken: type, told: str) -> None:
    with pytest.raises(AssertionError, match=told) as caught:
        check_judge(broken)
    assert broken.__name__ in str(caught.value)
