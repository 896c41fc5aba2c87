"""Experiments with shards: what splitting costs in harvest, and what learning together gives back.

In the file of an experiment: `kind = "shards"`, the `[[webs]]`, `[[targets]]` and `[[policies]]`,
`pages` or `share` (the smaller budget holds, for all shards together), `seeds`, and under
`settings` the numbers of `shards`, perhaps what the hosts are divided `by` (`domain`, as in a live
crawl, or `host`), each for all webs or in a table by web (`other`: all others), `merge` (pages a
shard after which learning is shared for the first time) and `every` (pages of a shard between two
exchanges). A crawl begins at all roots of its web. Each seed is another division of the hosts, the
first that of a live crawl; a policy's `seeds` are those of its crawls in one shard. Finished cells
are kept under a hash of what they were, of the code and of the data.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.judges.spec import judge_of, words_of
from spoor.judges.topic import topic_of
from spoor.lab.cell import Cell, Ground, prepare
from spoor.lab.compare import interval
from spoor.lab.experiment import Contender, Experiment
from spoor.lab.figures import breadth_first_order
from spoor.lab.shards import BY, simulate
from spoor.lab.sweep import (
    code_digest,
    data_digest,
    policy_digest,
    split_digest,
    topic_digests,
    web_folder,
)
from spoor.lab.webs import open_web
from spoor.lab.workers import finish
from spoor.protocols import Mergeable
from spoor.sharding.coordinator import MERGE_PAGES
from spoor.types import Topic
from spoor.views.plots import curves

Tell = Callable[[int], None]
"""(cells done)."""
Rows = Sequence[Mapping[str, Any]]

SETTINGS = ["shards", "by", "merge", "every"]
EVERY = 4


@dataclass(frozen=True, slots=True)
class Split:
    """One crawl in shards as planned; plain values, so that it can go to another process."""

    web: str
    folder: str
    roots: tuple[str, ...]
    target: str
    want: tuple[str, ...]
    topic: str
    contender: Contender
    shards: int
    by: str
    seed: int
    merge: int
    """Pages of all shards before they first tell what they learned; 0: they never do."""
    every: int
    pages: int | None
    share: float | None

    def file(self, out: Path) -> Path:
        """Where its figures are kept."""
        told = [asdict(self), code_digest(), split_digest(), data_digest(self.folder)]
        told += [policy_digest(self.contender.policy), topic_digests(self.want, self.topic)]
        said = json.dumps(told, sort_keys=True)
        return out / "cells" / f"shards-{hashlib.sha256(said.encode()).hexdigest()[:24]}.json"


def plan(experiment: Experiment, out: Path) -> list[Split]:
    """All cells; a web that is missing is made under `out`. Raises InputError for bad settings."""
    name, told = experiment.name, experiment.settings
    for key in told:
        if key not in SETTINGS:
            raise InputError(f"{name}: unknown setting {key!r}{registry.nearest(key, SETTINGS)}")
    if not experiment.webs or not experiment.targets or not experiment.policies:
        raise InputError(f"{name}: name webs, targets and policies")
    for contender in experiment.policies:
        registry.check("policies", contender.policy, contender.params)
        if contender.train:
            raise InputError(f"{name}: {contender.name} is trained; crawls in shards begin anew")
    every = _whole(told.get("every", EVERY), f"{name}: every")
    merge = _whole(told.get("merge", MERGE_PAGES), f"{name}: merge")
    found = []
    for web in experiment.webs:
        counts, by = _shards(told, web.name, name), _of(told.get("by", BY[0]), web.name, BY[0])
        if by not in BY:
            raise InputError(f"{name}: by is {' or '.join(BY)}, not {by!r}")
        folder = web_folder(web, out)
        roots = web.roots or tuple(open_web(folder).roots())
        targets = [item for item in experiment.targets if not item.webs or web.name in item.webs]
        for target, contender, shards in product(targets, experiment.policies, counts):
            judge_of(target.want)
            one = Split(
                web.name,
                str(folder),
                roots,
                target.name,
                target.want,
                target.topic,
                contender,
                shards,
                by,
                0,
                0,
                every,
                experiment.pages,
                experiment.share,
            )
            seeds = contender.seeds if shards == 1 else None
            for seed in range(seeds or experiment.seeds):
                found.append(replace(one, seed=seed))
                if shards > 1 and _merges(contender.policy):
                    found.append(replace(one, seed=seed, merge=merge * shards))
    return found


def _shards(told: Mapping[str, Any], web: str, where: str) -> list[int]:
    counts = _of(told.get("shards", ()), web, ())
    if not isinstance(counts, list) or not counts:
        raise InputError(f"{where}: settings name shards, as in shards = [1, 2, 4]")
    # All is measured against one.
    return sorted({1, *(_whole(count, f"{where}: shards") for count in counts)})


def _of(value: Any, web: str, otherwise: Any) -> Any:
    """A setting for a web, where it may be a table by web; in one, `other` is all other webs."""
    if isinstance(value, Mapping):
        return value.get(web, value.get("other", otherwise))
    return value


def _whole(value: object, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InputError(f"{what}: a whole number from 1 on, not {value!r}")
    return value


def _merges(policy: str) -> bool:
    factory = registry.find("policies", policy)
    return isinstance(factory, type) and issubclass(factory, Mergeable)


def run(
    plan: Sequence[Split], out: Path, *, jobs: int = 1, tell: Tell = lambda done: None
) -> list[dict[str, Any]]:
    """Run every cell that is not kept in `out` yet; the figures of all, in the plan's order."""
    # One process runs all cells of a target on a web: it reads the web once.
    return finish(
        _work,
        plan,
        out,
        file=lambda cell: cell.file(out),
        ground=lambda cell: (cell.folder, cell.roots, cell.want),
        jobs=jobs,
        tell=tell,
    )


def _work(batch: Sequence[Split], out: Path, done: Callable[[], None]) -> None:
    ground = _ground(batch[0])
    for split in batch:
        limits = [ground.reachable]
        limits += [split.pages] if split.pages is not None else []
        limits += [max(1, round(split.share * ground.reachable))] if split.share else []
        told = simulate(
            replace(_cell(split), pages=min(limits)),
            split.shards,
            merge_pages=split.merge,
            every=split.every,
            ground=ground,
            seeds=split.roots,
            by=split.by,
            draw=split.seed,
        )
        said = f"{split.shards} shard{'s' if split.shards > 1 else ''}"
        row = {
            "web": split.web,
            "root": ground.root,
            "target": split.target,
            "contender": f"{split.contender.name}, {said}" + (", together" if split.merge else ""),
            "name": split.contender.name,
            "together": bool(split.merge),
            "by": split.by,
            "seed": split.seed,
            **told,
        }
        write_whole(split.file(out), json.dumps(row))
        done()


def _cell(split: Split) -> Cell:
    return Cell(
        split.folder,
        split.want,
        split.contender.policy,
        root=split.roots[0],
        topic=topic_of(split.topic).topic if split.topic else Topic(name=words_of(split.want)),
        params=split.contender.params,
        seed=split.seed,
        scope="web",
    )


def _ground(split: Split) -> Ground:
    """The web made ready, with what can be reached from any of the roots."""
    ground = prepare(_cell(split))
    index = ground.graph.index()
    roots = [index[ground.world.page(root).url] for root in split.roots]
    return replace(ground, order=breadth_first_order(ground.graph, *roots))


# ---------------------------------------------------------------- what they say


HEAD = (
    *("web", "policy", "shards", "pages a shard", "harvest, each by itself", "against one shard"),
    *("harvest, learning together", "against one shard", "against each by itself"),
)


def harvest(rows: Rows) -> list[list[str]]:
    """By web, policy and number of shards: the share of the pages fetched that are wanted, each
    shard by itself and learning together, and how it differs, in points: means over targets and
    divisions with their 95 % intervals; nothing of learning together where the pages ended before
    it. The first row is the head."""
    lines = [list(HEAD)]
    for web, name in dict.fromkeys((row["web"], row["name"]) for row in rows):
        mine = [row for row in rows if (row["web"], row["name"]) == (web, name)]
        one = {target: share for (target, _), share in _shares(mine, 1, False).items()}
        for shards in sorted({row["shards"] for row in mine}):
            some = [row for row in mine if row["shards"] == shards]
            pages = np.mean([row["fetched"] for row in some]) / shards
            alone, together = (_shares(some, shards, how) for how in (False, True))
            if not any(row["merges"] for row in some):
                together = {}
            differences = (
                {key: share - one[key[0]] for key, share in alone.items()} if shards > 1 else {},
                {key: share - one[key[0]] for key, share in together.items()},
                {key: share - alone[key] for key, share in together.items()},
            )
            less, more, gain = map(_points, differences)
            figures = (_mean(alone), less, _mean(together), more, gain)
            lines.append([web, name, str(shards), f"{pages:,.0f}", *figures])
    return lines


Shares = Mapping[tuple[str, int], float]
"""(target, seed) → share of the pages fetched that are wanted, in percent."""


def _shares(rows: Rows, shards: int, together: bool) -> Shares:
    found: dict[tuple[str, int], float] = {}
    for row in rows:
        if (row["shards"], row["together"]) == (shards, together):
            found[row["target"], row["seed"]] = 100 * row["found"] / max(1, row["fetched"])
    if shards == 1:  # no division: the mean of its seeds stands for each
        for target in dict.fromkeys(target for target, _ in found):
            mean = float(np.mean([value for key, value in found.items() if key[0] == target]))
            found |= {key: mean for key in found if key[0] == target}
    return found


def _mean(shares: Shares) -> str:
    return f"{np.mean([*shares.values()]):.1f} %" if shares else "–"


def _points(differences: Shares) -> str:
    if not differences:
        return "–"
    values = np.array([*differences.values()])
    said = f"{values.mean():+.1f}"
    if len(values) < 2:
        return said
    low, high = interval(values)
    return f"{said} ({low:+.1f} … {high:+.1f})"


TRAFFIC = (
    ("links that leave", "links_per_page", ".2f"),
    ("bytes of links", "bytes_per_page", ",.0f"),
    ("bytes of models", "model_bytes_per_page", ",.0f"),
    ("turns", "turns_per_page", ".2f"),
    ("ms to take in models", "merge_ms_per_page", ".2f"),
    ("merges", "merges", ".1f"),
    ("share of the busiest shard", "busiest", ".0%"),
    ("shards without a page", "idle", ".1f"),
)
"""(name, key, format) of what the exchange costs."""


def traffic(rows: Rows) -> list[list[str]]:
    """What the exchange costs a page, where shards learn together if they can: means. The first row
    is the head."""
    lines = [["web", "policy", "shards", *(name for name, _, _ in TRAFFIC)]]
    groups: dict[tuple[str, str, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["shards"] > 1 and row["together"] == row["mergeable"]:
            groups.setdefault((row["web"], row["name"], row["shards"]), []).append(row)
    for (web, name, shards), some in groups.items():
        means = [f"{np.mean([row[key] for row in some]):{form}}" for _, key, form in TRAFFIC]
        lines.append([web, name, str(shards), *means])
    return lines


def picture(rows: Rows, web: str) -> str:
    """The harvest on one web against how many shards share the pages, as SVG."""
    lines: dict[str, list[list[float]]] = {}
    mine = [row for row in rows if row["web"] == web]
    for name, together in product(dict.fromkeys(row["name"] for row in mine), (False, True)):
        own = [row for row in mine if row["name"] == name]
        points = []
        for shards in sorted({row["shards"] for row in own}):
            shares = _shares(own, shards, together and shards > 1)
            if shares:
                points.append([float(np.log2(shards)), float(np.mean([*shares.values()]))])
        if len(points) > 1:
            how = "learning together" if together else "each by itself"
            lines[f"{name}, {how}"] = points
    return curves(lines, x="log₂ shards", y="% of the pages are wanted", salt=f"spoor {web}")
