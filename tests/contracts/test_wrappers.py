"""Every wrapper has exactly the optional protocols of what it holds; no wrapper escapes."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spoor
from spoor import protocols
from spoor.judges.combined import AllOf, AnyOf, Not, WeightedSum
from spoor.judges.facts import Label
from spoor.judges.llm import Llm
from spoor.judges.second_opinion import SecondOpinion
from spoor.orderer import GivenJudgement
from spoor.policies.breadth_first import BreadthFirst
from spoor.protocols import OPTIONAL, Frontier, Judge, LookAhead, Mergeable, Policy, World
from spoor.types import Task
from spoor.wrappers.compared import Compared
from spoor.wrappers.fallback import Fallback
from spoor.wrappers.judge_fallback import JudgeFallback
from spoor.wrappers.lists_first import SearchesFirst, SitemapsFirst
from spoor.wrapping import Wrapper, members


def plain_policy() -> Policy:
    return BreadthFirst(Task(np.random.default_rng(0)))


def refuse(text: str, prompt: str) -> bool:
    raise NotImplementedError


Wrap = Callable[[Any], Any]

WRAPPERS: dict[str, tuple[type, Wrap]] = {
    "SitemapsFirst": (Policy, SitemapsFirst),
    "SearchesFirst": (Policy, SearchesFirst),
    "Fallback": (Policy, lambda policy: Fallback(policy, plain_policy)),
    "Compared": (Policy, lambda policy: Compared(policy, "x")),
    "AllOf": (Judge, lambda judge: AllOf([Label("x"), judge])),
    "AnyOf": (Judge, lambda judge: AnyOf([judge, Label("x")])),
    "Not": (Judge, Not),
    "WeightedSum": (Judge, lambda judge: WeightedSum([Label("x"), judge], [1, 2])),
    "Llm": (Judge, lambda judge: Llm(refuse, judge)),
    "SecondOpinion": (Judge, lambda judge: SecondOpinion(judge, refuse)),
    "GivenJudgement": (Judge, GivenJudgement),
    "JudgeFallback": (Judge, JudgeFallback),
}
"""Class → the kind of plug-in that it holds, and how it is put before one."""

NESTED = [
    *((kind, wrap, (name,)) for name, (kind, wrap) in WRAPPERS.items()),
    *(
        (kind, lambda held, one=one, two=two: one(two(held)), (outer, inner))
        for (outer, (kind, one)), (inner, (same, two)) in itertools.product(
            WRAPPERS.items(), repeat=2
        )
        if kind is same
    ),
]

CASES = [pytest.param(kind, wrap, names, id="-".join(names)) for kind, wrap, names in NESTED]


class Plugin:
    """A policy and a judge, with the methods of some optional protocols, which note their calls."""

    def __init__(self, optional: Sequence[type]) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.names = {name for protocol in optional for name in members(protocol)}
        for name in self.names:
            setattr(self, name, True if name == "look_ahead" else self._noting(name))

    def _noting(self, name: str) -> Callable[..., Any]:
        def method(*arguments: Any) -> Any:
            self.calls.append((name, arguments))
            return RETURNED.get(name)

        return method

    def observe(self, seen: Any) -> None:
        raise ValueError("it is broken")

    def choose(self, offer: Any) -> Any: ...
    def judge(self, page: Any) -> Any: ...


RETURNED: dict[str, Any] = {
    "save": {"kept": 1},
    "costs": {"asked": 3.0},
    "expand": 7,
    "explain": [("words", "kiln", 1.0)],
    "share": {"learned": 2},
    "fault": "",
    "revise": [],
}
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "attach": (None,),
    "expand": ([7],),
    "merge": ([{"learned": 1}],),
    "relearn": (1, None, None),
    "weigh": (1,),
    "report_fault": (print,),
    "keep_answers": (Path("no such folder"), print),
    "key_sample": (b"key",),
    "label": ("http://x.example/", True),
    "views_by": (tuple,),
}


@pytest.mark.parametrize(("kind", "wrap", "names"), CASES)
def test_it_has_what_it_holds(kind: type, wrap: Wrap, names: Sequence[str]) -> None:
    """None of the optional protocols, each alone, or all."""
    for size in (0, 1, len(OPTIONAL[kind])):
        for subset in itertools.combinations(OPTIONAL[kind], size):
            check(wrap, names, subset)


def check(wrap: Wrap, names: Sequence[str], subset: Sequence[type]) -> None:
    plugin = Plugin(subset)
    wrapper = wrap(plugin)
    for protocol in OPTIONAL[WRAPPERS[names[0]][0]]:
        held = all(name in plugin.names for name in members(protocol))
        always = any(set(members(protocol)) <= vars_of(name) for name in names)
        assert isinstance(wrapper, protocol) == (held or always), (subset, protocol)
    for name in sorted(plugin.names - {"look_ahead"}):
        if name in ("save", "load", "fault", "report_fault") and any(
            name in vars_of(it) for it in names
        ):
            continue  # what these say is the wrapper's own
        state = wrapper.save() if name == "load" else None
        plugin.calls.clear()
        arguments = (state,) if name == "load" else ARGUMENTS.get(name, ())
        got = getattr(wrapper, name)(*arguments)
        if name == "load":
            assert plugin.calls[-1] == ("load", (RETURNED["save"],))
            continue
        assert (name, arguments) in plugin.calls
        if name == "costs":
            assert got["asked"] == 3.0
        elif name in RETURNED and name != "save":
            assert got == RETURNED[name]
    if "look_ahead" in plugin.names:
        assert wrapper.look_ahead is True


def vars_of(name: str) -> set[str]:
    """Names that a class of WRAPPERS has by itself."""
    _, wrap = WRAPPERS[name]
    return set(dir(type(wrap(Plugin(())))))


def test_all_judges_of_several_are_asked() -> None:
    first, second = Plugin(OPTIONAL[Judge]), Plugin(OPTIONAL[Judge])
    for judge in (AllOf([first, second]), AnyOf([first, Not(second)])):
        assert isinstance(judge, protocols.KeepsAnswers)
        assert judge.costs() == {"asked": 6.0}
        judge.keep_answers(Path("x"), print)
        assert [plugin.calls[-1][0] for plugin in (first, second)] == ["keep_answers"] * 2


# ---------------------------------------------------------------- what is held changes


def failing(*optional: type) -> tuple[Plugin, Fallback]:
    plugin = Plugin(optional)
    fallback = Fallback(plugin, plain_policy)  # type: ignore[arg-type]  # it has what is asked for
    return plugin, fallback


@pytest.mark.parametrize(
    "outside", [lambda policy: policy, SitemapsFirst, lambda p: SitemapsFirst(SitemapsFirst(p))]
)
def test_a_failed_policy_passes_nothing_on(outside: Wrap) -> None:
    _, fallback = failing(*OPTIONAL[Policy])
    outermost = outside(fallback)
    before = {protocol for protocol in OPTIONAL[Policy] if isinstance(outermost, protocol)}
    assert before == set(OPTIONAL[Policy])
    assert outermost.fault() == ""
    fallback.observe([])  # type: ignore[arg-type]  # nobody looks at it
    assert isinstance(fallback.policy, BreadthFirst)
    after = {protocol for protocol in OPTIONAL[Policy] if isinstance(outermost, protocol)}
    # The crawl holds pages back, and asks which to expand; the wrapper's own stay.
    assert after == {LookAhead, protocols.UsesOpenLinks, protocols.FallsBack}
    assert outermost.look_ahead is True
    assert outermost.expand([3, 4]) == 3
    assert outermost.fault().startswith("Plugin.observe raised ValueError: it is broken;")


def test_what_takes_its_place_shares_nothing() -> None:
    stand_in = Plugin([*OPTIONAL[Policy], protocols.Stateful])
    fallback = Fallback(plain_policy(), lambda: stand_in)  # type: ignore[arg-type,return-value]
    outermost = SitemapsFirst(fallback)
    assert not isinstance(outermost, Mergeable)
    assert not isinstance(outermost, protocols.Explains)
    outermost.load({**outermost.save(), "policy": {"fault": "x", "chosen": [], "policy": {}}})
    assert not isinstance(outermost, Mergeable)
    assert isinstance(outermost, protocols.Explains)
    assert list(outermost.explain()) == RETURNED["explain"]


# ---------------------------------------------------------------- nothing escapes


def test_every_optional_protocol_is_in_the_list() -> None:
    found = {
        value
        for value in vars(protocols).values()
        if "_is_runtime_protocol" in getattr(value, "__dict__", {})
        and value.__module__ == protocols.__name__
    }
    listed = [protocol for optional in OPTIONAL.values() for protocol in optional]
    assert found == set(listed)
    assert len(listed) == len(set(listed))
    assert OPTIONAL.keys() == {Policy, Judge, Frontier, World}
    assert {name for protocol in listed for name in members(protocol)} >= ARGUMENTS.keys()


MAIN = {"Policy": "choose", "Judge": "judge", "Frontier": "offer"}
"""Kind → a method that each of its plug-ins has."""


def test_every_class_that_holds_a_plugin_is_a_wrapper() -> None:
    """A class that is made with a plug-in, and is one itself, stands before it."""
    source = Path(spoor.__file__).parent
    classes: dict[str, ast.ClassDef] = {}
    told = re.compile(rf"\b({'|'.join(MAIN)})\b|def ({'|'.join(MAIN.values())})\(")
    texts = [path.read_text("utf-8") for path in source.rglob("*.py")]
    for text in filter(told.search, texts):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                classes[node.name] = node
    found = {
        name
        for name, node in classes.items()
        for kind, method in MAIN.items()
        if method in functions(node) and kind in made_with(name, classes)
    }
    assert found == WRAPPERS.keys()
    for name, (kind, wrap) in WRAPPERS.items():
        made = wrap(Plugin(()))
        assert isinstance(made, Wrapper)
        assert type(made).__name__ == name
        assert made.kind is kind


def functions(node: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    return {item.name: item for item in node.body if isinstance(item, ast.FunctionDef)}


def made_with(name: str, classes: dict[str, ast.ClassDef]) -> set[str]:
    """Names in the annotations of what a class, or one that it inherits from, is made with."""
    node = classes[name]
    made = functions(node).get("__init__")
    if made is None:
        bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
        fields = [item.annotation for item in node.body if isinstance(item, ast.AnnAssign)]
        inherited = [made_with(base, classes) for base in bases & classes.keys()]
        return {word for it in fields for word in words(it)}.union(*inherited)
    arguments = [*made.args.posonlyargs, *made.args.args, *made.args.kwonlyargs]
    return {word for it in arguments if it.annotation for word in words(it.annotation)}


def words(annotation: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
