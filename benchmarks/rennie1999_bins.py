"""How well naive-bayes sorts hyperlinks of a site it has never seen into its bins.

    .venv/bin/python benchmarks/rennie1999_bins.py WEB --target SPEC [--target SPEC] [--site SITE]

The inside figures of Rennie & McCallum (1999, section 4), leave one site out: WEB is a folder that
`spoor web import` wrote; each site named (all, if none is) is sorted by models of the others. One
Markdown table a target: accuracy over all bins, accuracy when all bins but the first are one,
recall of the first bin (links to targets), recall of the rest, and what always saying the largest
bin would get; means over the sites that have a target.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.learn.returns import distances_to_target, horizon_of
from spoor.policies.naive_bayes import NaiveBayesPolicy, bin_of
from spoor.simulation.training import known_webs, train
from spoor.types import KnownWeb, State, Task

KINDS: Mapping[str, Mapping[str, Any]] = {
    "immediate (2 bins)": {"mode": "immediate"},
    "future 3": {"bins": 3},
    "future 4": {"bins": 4},
    "future 5": {"bins": 5},
}
MODELS: Mapping[str, Mapping[str, Any]] = {
    f"{said}, {neighbourhood}": {**params, "neighbourhood": neighbourhood}
    for neighbourhood in ("full-page", "related")
    for said, params in KINDS.items()
}
PUBLISHED = {
    "immediate (2 bins), full-page": "85 %, –, 95 %",
    "future 3, full-page": "77 %, 92 %, 88 %",
    "future 4, full-page": "59 %, 95 %, –",
    "immediate (2 bins), related": "–, –, 71 %",
}
"""Accuracy, accuracy on 2, recall, on Cora."""


def sorted_links(model: State, web: KnownWeb) -> Iterator[tuple[NDArray[np.float64], list[int]]]:
    """Of each page, ln P(bin, words) of its links within the site, and how far each is from the
    nearest target."""
    number = web.graph.index()
    horizon = horizon_of(model["weights"]["settings"]["gamma"])
    distances = distances_to_target(web.graph, horizon).tolist()
    policy = NaiveBayesPolicy(Task(np.random.default_rng(0), model=model))
    for at in range(len(web.graph.urls)):
        page = web.page(at)
        links = [link for link in page.links if number.get(link.url, at) != at]
        if links:
            joint = policy.log_joint(page, [(link.url, link.anchor) for link in links])
            yield joint, [distances[number[link.url]] for link in links]


def figures(model: State, web: KnownWeb, bins: int) -> list[float]:
    """Accuracy, accuracy on 2 bins, recall of the first, recall of the rest, largest bin."""
    parts = list(sorted_links(model, web))
    said = np.concatenate([joint.argmax(axis=1) for joint, _ in parts])
    true = bin_of(np.array([far for _, distances in parts for far in distances]), bins)
    first = true == 0
    return [
        float((said == true).mean()),
        float(((said == 0) == first).mean()),
        float((said[first] == 0).mean()),
        float((said[~first] != 0).mean()),
        float(np.bincount(true).max() / len(true)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("web", type=Path)
    parser.add_argument("--target", action="append", required=True)
    parser.add_argument("--site", action="append", default=[])
    told = parser.parse_args()
    for target in told.target:
        webs = known_webs([told.web], [target], only=told.site)
        rows: dict[str, list[list[float]]] = {name: [] for name in MODELS}
        for left_out in webs:
            # A site where no link leads to a target has no recall.
            linked = np.unique(left_out.graph.indices)
            if not left_out.graph.targets[linked].any():
                continue
            others = [web for web in webs if web is not left_out]
            for name, params in MODELS.items():
                model = train("naive-bayes", others, [target], params=params)
                bins = model["weights"]["settings"]["bins"]
                rows[name].append(figures(model, left_out, bins))
        sites = len(next(iter(rows.values())))
        print(f"\n{target}, mean of {sites} sites\n")
        print(
            "| model | accuracy | on 2 bins | recall of Q ≥ 1 | of the rest | largest bin | paper |"
        )
        print("| --- " * 7 + "|")
        for name, measured in rows.items():
            shown = " | ".join(f"{value:.1%}" for value in np.mean(measured, axis=0))
            print(f"| {name} | {shown} | {PUBLISHED.get(name, '')} |", flush=True)


if __name__ == "__main__":
    main()
