"""How `naive-bayes` sorts hyperlinks of a site it has never seen into its bins, and by which words.

After Rennie and McCallum (1999, section 4 and Table 2). An experiment has the form of a `harvest`
(webs, targets, policies with their training) and shares its models; nothing is crawled. A model has
one row with its figures, and one for each of its classes, `NAME, class 1` the first, with the share
of the class's ten words that Table 2 has under "immediate" (`immediate_words`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from spoor import registry
from spoor.errors import InputError
from spoor.lab.cells import Kind, Row
from spoor.lab.experiment import Experiment
from spoor.lab.kinds import harvest
from spoor.learn.returns import bin_of, distances_to_target, horizon_of
from spoor.simulation.training import known_webs
from spoor.types import Anchor, KnownWeb, Page, State, Task

MEASURES = ("accuracy", "accuracy_on_two", "recall", "recall_of_rest", "largest_bin")
"""Right bin of all; right of two, all bins but the first taken as one; of the links to targets, and
of the others, the share told as such; and what always saying the largest bin would get."""

WORDS = 10
"""Words of a class that count, as many as Table 2 has."""

IMMEDIATE = frozenset(
    "board corpinfo information executive directors team beckman anrpt management".split()
)
"""Words of the class "immediate" in Table 2."""


class Sorts(Protocol):
    """What is asked of `naive-bayes`."""

    def log_joint(self, page: Page, links: Sequence[tuple[str, Anchor]]) -> NDArray[np.float64]: ...

    def explain(self) -> Sequence[tuple[str, str, float]]: ...


def plan(experiment: Experiment, out: Path) -> list[harvest.HarvestCell]:
    """All cells of an experiment. Raises InputError for a policy that has no bins."""
    for contender in experiment.policies:
        if contender.policy != "naive-bayes" or not contender.train:
            raise InputError(
                f"{experiment.name}: bins are of naive-bayes with a training, and "
                f"{contender.name!r} has none"
            )
    return harvest.plan(experiment, out)


def run(cells: Sequence[harvest.HarvestCell], out: Path) -> Iterator[list[Row]]:
    """Sort the links of one site by each model."""
    first = cells[0]
    only = [first.site] if first.site else []
    (web,) = known_webs([Path(first.folder)], first.want, only=only)
    for cell in cells:
        model = harvest.model_of(cell, out)
        assert model is not None  # `plan` lets no other through
        task = Task(np.random.default_rng(0), model=model)
        policy = cast(Sorts, registry.build("policies", "naive-bayes", task))
        name = cell.contender.name
        rows: list[Row] = [
            {"contender": name, "policy": "naive-bayes", **sorting(policy, model, web)}
        ]
        classes: dict[str, list[str]] = {}
        for group, word, _ in policy.explain():
            classes.setdefault(group, []).append(word)
        for number, (group, words) in enumerate(classes.items(), 1):
            theirs = [word.split(" (")[0] in IMMEDIATE for word in words[:WORDS]]
            rows.append(
                {
                    "contender": f"{name}, class {number}",
                    "class": group.partition(":")[0],
                    "words": words[:WORDS],
                    "immediate_words": sum(theirs) / WORDS,
                }
            )
        yield [
            {
                **row,
                "web": cell.web,
                "site": cell.site,
                "root": cell.root,
                "target": cell.target,
                "seed": cell.seed,
            }
            for row in rows
        ]


def sorting(policy: Sorts, model: State, web: KnownWeb) -> dict[str, float | None]:
    """`MEASURES` of the links between pages of a site; None where it has no links of a kind."""
    settings = model["weights"]["settings"]
    parts = list(sorted_links(policy, web, horizon_of(settings["gamma"])))
    if not parts:
        return dict.fromkeys(MEASURES)
    said = np.concatenate([joint.argmax(axis=1) for joint, _ in parts])
    true = bin_of(np.array([far for _, distances in parts for far in distances]), settings["bins"])
    first = true == 0
    figures = (
        said == true,
        (said == 0) == first,
        said[first] == 0,
        said[~first] != 0,
        true == np.bincount(true).argmax(),
    )
    return {
        name: float(right.mean()) if len(right) else None
        for name, right in zip(MEASURES, figures, strict=True)
    }


def sorted_links(
    policy: Sorts, web: KnownWeb, horizon: int
) -> Iterator[tuple[NDArray[np.float64], list[int]]]:
    """Of each page, ln P(bin, words) of its links within the site, and how far each is from the
    nearest target."""
    number = web.graph.index()
    distances = distances_to_target(web.graph, horizon).tolist()
    for at in range(len(web.graph.urls)):
        page = web.page(at)
        links = [link for link in page.links if number.get(link.url, at) != at]
        if links:
            joint = policy.log_joint(page, [(link.url, link.anchor) for link in links])
            yield joint, [distances[number[link.url]] for link in links]


KIND = Kind("bins", plan, run, rows=lambda cell, rows: rows, row_name="models")
