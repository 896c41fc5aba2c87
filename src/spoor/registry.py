"""Names of plug-ins, and how they are made. A plug-in is imported only when it is used.

Built-in plug-ins are in the table below; another package adds its own by an entry point in the
group `spoor.KIND`, where KIND is a key of that table, and who has no package by the environment
variable `SPOOR_PLUG_INS`. The page
docs/guides/add-a-plug-in.md says how plug-ins of each kind are made; `spoor.testing` checks them.
"""

from __future__ import annotations

import difflib
import inspect
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from spoor.errors import InputError, PluginError, taking_in
from spoor.files import toml_of

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

BUILT_IN: dict[str, dict[str, str]] = {
    "policies": {
        "best-first": "spoor.policies.best_first:BestFirst",
        "best-n-first": "spoor.policies.best_n_first:BestNFirst",
        "breadth-first": "spoor.policies.breadth_first:BreadthFirst",
        "context-graph": "spoor.policies.context_graph:ContextGraph",
        "depth-first": "spoor.policies.depth_first:DepthFirst",
        "fish-search": "spoor.policies.fish_search:FishSearch",
        "host-bandit": "spoor.policies.host_bandit:HostBandit",
        "intelligent-crawling": "spoor.policies.intelligent_crawling:IntelligentCrawling",
        "naive-bayes": "spoor.policies.naive_bayes:NaiveBayesPolicy",
        "online-svm": "spoor.policies.online_svm:OnlineSvm",
        "oracle": "spoor.policies.oracle:Oracle",
        "pagerank": "spoor.policies.pagerank:PageRank",
        "parent-quality": "spoor.policies.parent_quality:ParentQuality",
        "q-learning": "spoor.policies.q_learning:QLearning",
        "random": "spoor.policies.random:Random",
        "sarsa": "spoor.policies.sarsa:Sarsa",
        "shark-search": "spoor.policies.shark_search:SharkSearch",
        "tag-path-bandit": "spoor.policies.tag_path_bandit:TagPathBandit",
        "td-lambda": "spoor.policies.td_lambda:TDLambda",
        "trail": "spoor.policies.trail:Trail",
        "tres": "spoor.policies.tres:Tres",
        "url-keywords": "spoor.policies.url_keywords:UrlKeywords",
    },
    "trainers": {
        "context-graph": "spoor.policies.context_graph:train",
        "naive-bayes": "spoor.policies.naive_bayes:train",
        "sarsa": "spoor.policies.sarsa:train",
        "td-lambda": "spoor.policies.td_lambda:train",
        "trail": "spoor.policies.trail.training:train",
    },
    "judges": {
        "all-of": "spoor.judges.combined:AllOf",
        "any-of": "spoor.judges.combined:AnyOf",
        "bm25": "spoor.judges.similarity:Bm25",
        "classifier": "spoor.judges.classifier:Classifier",
        "function": "spoor.judges.facts:Function",
        "keywords": "spoor.judges.keywords:Keywords",
        "label": "spoor.judges.facts:Label",
        "llm": "spoor.judges.llm:Llm",
        "media-type": "spoor.judges.facts:MediaType",
        "not": "spoor.judges.combined:Not",
        "relevance": "spoor.judges.relevance:Relevance",
        "second-opinion": "spoor.judges.second_opinion:SecondOpinion",
        "semantic": "spoor.judges.semantic:Semantic",
        "text-pattern": "spoor.judges.facts:TextPattern",
        "tf-idf": "spoor.judges.similarity:TfIdf",
        "url": "spoor.judges.facts:UrlPattern",
        "url-among": "spoor.judges.facts:UrlAmong",
        "vectors": "spoor.judges.similarity:VectorCosine",
        "weighted-sum": "spoor.judges.combined:WeightedSum",
    },
    "frontiers": {
        "memory": "spoor.frontier.memory:MemoryFrontier",
        "sqlite": "spoor.frontier.sqlite:SqliteFrontier",
    },
    "fleets": {
        "RL": "spoor.foragers.fleets:rl",
        "WL": "spoor.foragers.fleets:wl",
        "WLRL": "spoor.foragers.fleets:wlrl",
        "change-rate": "spoor.foragers.fleets:change_rate",
        "mixed": "spoor.foragers.fleets:mixed",
        "round-robin": "spoor.foragers.fleets:round_robin",
    },
    "worlds": {
        "evolving": "spoor.worlds.evolving:EvolvingWorld",
        "generated": "spoor.worlds.generated:GeneratedWorld",
        "recorded": "spoor.worlds.recorded:RecordedWorld",
    },
}
"""kind → name → "module:attribute"."""

DEFAULT_POLICY = "trail"
"""The policy of crawls and replays by default."""

LAB_ONLY = frozenset({"oracle"})
"""Policies that need the complete web, which a live crawl does not have."""


def names(kind: str) -> list[str]:
    """All names of a kind, including those of other packages, sorted."""
    return sorted([*BUILT_IN[kind], *outside(kind)])


def outside(kind: str) -> list[str]:
    """Names of a kind that other packages add, sorted."""
    added = {entry.name for entry in entry_points(group=f"spoor.{kind}")}
    return sorted(added - BUILT_IN[kind].keys())


def entry_points(*, group: str, name: str | None = None) -> EntryPoints:
    from importlib import metadata  # with all that reads mail headers

    found = metadata.entry_points(group=group)
    if os.environ.get(VARIABLE):
        found = metadata.EntryPoints([*_of_environment(group), *found])
    return found if name is None else found.select(name=name)


VARIABLE = "SPOOR_PLUG_INS"
"""Environment variable of plug-ins without a package: `KIND.NAME=MODULE:ATTRIBUTE` each, with
blanks or commas between, as in `policies.mine=my_policy:Mine`."""

_ONE = re.compile(r"(\w+)\.([\w-]+)=([\w.]+:\w+)")


def _of_environment(group: str) -> list[EntryPoint]:
    from importlib import metadata

    found = []
    for text in os.environ.get(VARIABLE, "").replace(",", " ").split():
        one = _ONE.fullmatch(text)
        if one is None or one[1] not in BUILT_IN:
            raise InputError(
                f"{VARIABLE}: {text!r} is not KIND.NAME=MODULE:ATTRIBUTE, as in "
                f"policies.mine=my_policy:Mine; kinds are {', '.join(BUILT_IN)}"
            )
        if group == f"spoor.{one[1]}":
            found.append(metadata.EntryPoint(one[2], one[3], group))
    return found


def find(kind: str, name: str) -> Callable[..., Any]:
    """The factory of this name.

    Raises InputError for an unknown name, with the nearest known one; PluginError for an entry
    point that cannot be imported.
    """
    if name in BUILT_IN[kind]:
        module, _, attribute = BUILT_IN[kind][name].partition(":")
        factory: Callable[..., Any] = getattr(import_module(module), attribute)
        return factory
    for entry in entry_points(group=f"spoor.{kind}", name=name):
        try:
            loaded: Callable[..., Any] = entry.load()
        except Exception as error:
            hint = "; set PYTHONPATH to its folder" * isinstance(error, ModuleNotFoundError)
            raise PluginError(name, "import", f"failed: {error}{hint}") from error
        return loaded
    raise InputError(
        f"unknown {SINGULAR[kind]} {name!r}{nearest(name, names(kind))}; "
        f"there are: {', '.join(names(kind))}{_OWN.format(kind) * (':' in name)}"
    )


_OWN = f"; one of your own has a name by an entry point 'spoor.{{0}}' or by {VARIABLE}={{0}}.NAME=…"


SINGULAR = {
    "policies": "policy",
    "trainers": "policy with a training",
    "judges": "judge",
    "frontiers": "frontier",
    "fleets": "fleet",
    "worlds": "world",
}


def parameters(factory: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a factory: the settings that a user may give."""
    return {
        name: parameter
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def build(
    kind: str, name: str, *fixed: object, settings: Mapping[str, object] | None = None
) -> Any:
    """Make a plug-in: `factory(*fixed, **settings)`. Raises InputError as `check` does, and for a
    model in a task that it cannot take in."""
    factory = check(kind, name, settings)
    if all(getattr(one, "model", None) is None for one in fixed):
        return factory(*fixed, **(settings or {}))
    with taking_in(f"the model of {name}", "train it anew"):
        return factory(*fixed, **(settings or {}))


def check(kind: str, name: str, settings: Mapping[str, object] | None = None) -> Callable[..., Any]:
    """The factory of this name, which accepts these settings.

    Raises InputError for an unknown setting, with the nearest known one, and for a value of another
    type than its default.
    """
    factory = find(kind, name)
    known = parameters(factory)
    for key, value in (settings or {}).items():
        if key not in known:
            have = ", ".join(known) or "none"
            raise InputError(
                f"{SINGULAR[kind]} {name!r} has no parameter {key!r}{nearest(key, known)}; "
                f"it has: {have}"
            )
        expected = _expected(known[key], value)
        if expected:
            raise InputError(f"{SINGULAR[kind]} {name!r}: {key} is {expected}, not {value!r}")
    return factory


def _expected(parameter: inspect.Parameter, value: object) -> str:
    """The type that a value should have, by the default of its parameter; empty if it has it."""
    default = parameter.default
    if isinstance(default, bool):
        return "" if isinstance(value, bool) else "true or false"
    if isinstance(default, Real):
        integer = parameter.annotation in (int, "int")
        fits = isinstance(value, Integral if integer else Real) and not isinstance(value, bool)
        # NaN would only fail much later, in a comparison.
        if fits and not (isinstance(value, float) and math.isnan(value)):
            return ""
        return "a whole number" if integer else "a number"
    if isinstance(default, str):
        return "" if isinstance(value, str) else "a string"
    if isinstance(default, tuple | list):
        return "" if isinstance(value, tuple | list) else "a list"
    return ""


def parse_params(given: Sequence[str]) -> dict[str, Any]:
    """Parse `key=value` settings of a plug-in. Values are TOML; what is not TOML is a string.

    Raises InputError for a setting without `=`.
    """
    params: dict[str, Any] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key.strip():
            raise InputError(f"parameter {item!r} is not of the form name=value")
        try:
            params[key.strip()] = toml_of(f"value = {value}")["value"]
        except ValueError:
            params[key.strip()] = value
    return params


def nearest(name: str, among: Mapping[str, object] | list[str]) -> str:
    """` (did you mean 'x'?)`, or nothing."""
    close = difflib.get_close_matches(name, list(among), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
