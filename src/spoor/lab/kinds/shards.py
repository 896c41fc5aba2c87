"""Crawls in shards: the cost of splitting in harvest, and the gain of learning together.

In the file of an experiment: `kind = "shards"`, the `[[webs]]`, `[[targets]]` and `[[policies]]`,
`pages` or `share` (the smaller budget holds, for all shards together), `seeds`, and under
`settings` the numbers of `shards`, perhaps what the hosts are divided `by` (`domain`, as in a live
crawl, or `host`), each for all webs or in a table by web (`other`: all others), `merge` (pages a
shard after which learning is shared for the first time) and `every` (pages of a shard between two
exchanges). A crawl begins at all roots of its web. Each seed is another division of the hosts, the
first that of a live crawl; a policy's `seeds` are those of its crawls in one shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from spoor import registry
from spoor.errors import InputError
from spoor.judges.spec import judge_of, words_of
from spoor.judges.topic import topic_of
from spoor.lab.cells import Kind, Row
from spoor.lab.digests import data_digest, policy_digest, topic_digests
from spoor.lab.experiment import Contender, Experiment
from spoor.lab.kinds.harvest import check_policies
from spoor.lab.tables import check_keys, whole_number
from spoor.lab.webs import web_folder
from spoor.protocols import Mergeable
from spoor.sharding.coordinator import MERGE_PAGES
from spoor.simulation.crawls import CrawlSetup, PreparedWeb, prepare
from spoor.simulation.metrics import breadth_first_order
from spoor.simulation.shards import BY, simulate_shards
from spoor.types import Topic
from spoor.worlds.folders import open_web

SETTINGS = ("shards", "by", "merge", "every")
EVERY = 4


@dataclass(frozen=True, slots=True)
class ShardCell:
    """One crawl in shards."""

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
    """Pages of all shards before they first share what they learned; 0: they never do."""
    every: int
    pages: int | None
    share: float | None

    @property
    def name(self) -> str:
        contender = f"{self.contender.name} in {self.shards} shards"
        return f"{self.web}, {self.target}, {contender}, seed {self.seed}"

    @property
    def group(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Cells of a group share the web and its targets."""
        return self.folder, self.roots, self.want

    def identity(self) -> object:
        policy = policy_digest(self.contender.policy)
        topics = topic_digests(self.want, self.topic)
        return [asdict(self), data_digest(self.folder), policy, topics]


def plan(experiment: Experiment, out: Path) -> list[ShardCell]:
    """All cells of an experiment."""
    name, settings = experiment.name, experiment.settings
    check_keys(settings, SETTINGS, name, "setting")
    if not experiment.webs or not experiment.targets or not experiment.policies:
        raise InputError(f"{name}: name webs, targets and policies")
    for contender in experiment.policies:
        if contender.train:
            raise InputError(f"{name}: {contender.name} is trained; crawls in shards begin anew")
    check_policies(experiment)
    every = whole_number(settings.get("every", EVERY), f"{name}: every")
    merge = whole_number(settings.get("merge", MERGE_PAGES), f"{name}: merge")
    cells = []
    for web in experiment.webs:
        counts, by = _counts(settings, web.name, name), _of_web(settings, "by", web.name, BY[0])
        if by not in BY:
            raise InputError(f"{name}: by is {' or '.join(BY)}, not {by!r}")
        folder = web_folder(web, out)
        roots = web.roots or tuple(open_web(folder).roots())
        targets = experiment.targets_of(web)
        for target, contender, shards in product(targets, experiment.policies, counts):
            judge_of(target.want)
            cell = ShardCell(
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
                cells.append(replace(cell, seed=seed))
                if shards > 1 and _merges(contender.policy):
                    cells.append(replace(cell, seed=seed, merge=merge * shards))
    return cells


def _counts(settings: Mapping[str, Any], web: str, where: str) -> list[int]:
    counts = _of_web(settings, "shards", web, ())
    if not isinstance(counts, list) or not counts:
        raise InputError(f"{where}: settings name shards, as in shards = [1, 2, 4]")
    # All is measured against one shard.
    return sorted({1, *(whole_number(count, f"{where}: shards") for count in counts)})


def _of_web(settings: Mapping[str, Any], key: str, web: str, default: Any) -> Any:
    """A setting for a web, where it may be a table by web; in one, `other` is all other webs."""
    value = settings.get(key, default)
    if isinstance(value, Mapping):
        return value.get(web, value.get("other", default))
    return value


def _merges(policy: str) -> bool:
    factory = registry.find("policies", policy)
    return isinstance(factory, type) and issubclass(factory, Mergeable)


def run(cells: Sequence[ShardCell], out: Path) -> Iterator[Row]:
    """Simulate cells of one group."""
    web = _prepared(cells[0])
    for cell in cells:
        figures = simulate_shards(
            replace(_setup(cell), pages=web.budget(cell.pages, cell.share)),
            cell.shards,
            merge_pages=cell.merge,
            every=cell.every,
            web=web,
            seeds=cell.roots,
            by=cell.by,
            draw=cell.seed,
        )
        shards = f"{cell.shards} shard{'s' if cell.shards > 1 else ''}"
        together = ", together" if cell.merge else ""
        yield {
            "web": cell.web,
            "root": web.root,
            "target": cell.target,
            "contender": f"{cell.contender.name}, {shards}{together}",
            "name": cell.contender.name,
            "together": bool(cell.merge),
            "by": cell.by,
            "seed": cell.seed,
            **figures,
        }


def _setup(cell: ShardCell) -> CrawlSetup:
    return CrawlSetup(
        cell.folder,
        cell.want,
        cell.contender.policy,
        root=cell.roots[0],
        topic=topic_of(cell.topic).topic if cell.topic else Topic(name=words_of(cell.want)),
        params=cell.contender.params,
        seed=cell.seed,
        scope="web",
    )


def _prepared(cell: ShardCell) -> PreparedWeb:
    """The web made ready, with all pages that can be reached from any of the roots."""
    web = prepare(_setup(cell))
    index = web.graph.index()
    roots = [index[web.world.page(root).url] for root in cell.roots]
    return replace(web, order=breadth_first_order(web.graph, *roots))


KIND = Kind("shards", plan, run)
