"""Policies on webs: every policy, for every target, from every root of every web, by every seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from spoor import registry
from spoor.files import subfolder
from spoor.judges.spec import judge_of
from spoor.judges.topic import topic_of
from spoor.lab.cells import Kind, Row
from spoor.lab.digests import code_digest, data_digest, digest, policy_digest, topic_digests
from spoor.lab.experiment import Contender, Experiment, data_folder
from spoor.lab.webs import roots_of, web_folder
from spoor.learn.state import read, write
from spoor.simulation.crawls import CrawlSetup, prepare, simulate_crawl
from spoor.simulation.metrics import gap_closed
from spoor.simulation.training import known_webs, train
from spoor.types import KnownWeb, State, Topic


@dataclass(frozen=True, slots=True)
class HarvestCell:
    """One policy on one web."""

    web: str
    folder: str
    site: str
    root: str
    target: str
    want: tuple[str, ...]
    topic: str
    contender: Contender
    seed: int
    pages: int | None
    share: float | None
    in_flight: int
    found_per_host: int | None
    vectors: str
    trained_on: tuple[str, ...] = ()
    """Sites that a training may use, except the cell's own; none named: all."""

    @property
    def name(self) -> str:
        return ", ".join(
            part
            for part in (self.web, self.root, self.target, self.contender.name, f"seed {self.seed}")
            if part
        )

    @property
    def group(self) -> tuple[str, str, str]:
        """Cells of a group share the web, the oracle and the models."""
        return self.folder, self.root, self.target

    def identity(self) -> object:
        policy = policy_digest(self.contender.policy)
        topics = topic_digests(self.want, self.topic)
        return [asdict(self), data_digest(self.folder), policy, topics]


def check_policies(experiment: Experiment) -> None:
    """Raises InputError for a policy, a parameter or a training that does not exist."""
    for contender in experiment.policies:
        registry.check("policies", contender.policy, contender.params)
        if contender.train:
            registry.check("trainers", contender.policy, contender.training)


def plan(experiment: Experiment, out: Path) -> list[HarvestCell]:
    """All cells of an experiment."""
    check_policies(experiment)
    for target in experiment.targets:
        judge_of(target.want)
    return list(_plan(experiment, out))


def _plan(experiment: Experiment, out: Path) -> Iterator[HarvestCell]:
    for web in experiment.webs:
        folder = web_folder(web, out)
        for site, root in roots_of(web, folder):
            for target in experiment.targets_of(web):
                for contender in experiment.policies:
                    for seed in range(contender.seeds or experiment.seeds):
                        yield HarvestCell(
                            web.name,
                            str(folder),
                            site,
                            root,
                            target.name,
                            target.want,
                            target.topic,
                            contender,
                            seed,
                            experiment.pages,
                            experiment.share,
                            experiment.in_flight,
                            experiment.found_per_host,
                            str(data_folder() / web.vectors) if web.vectors else "",
                            web.sites if contender.train == "leave-one-crawled-out" else (),
                        )


def run(cells: Sequence[HarvestCell], out: Path) -> Iterator[Row]:
    """Simulate cells of one group; the first of them also runs the oracle, for all."""
    web = prepare(_setup(cells[0], cells[0].pages))
    oracle: float | None = None
    for number, cell in enumerate(cells):
        pages = cell.pages
        if pages is None and cell.share is not None:
            pages = web.budget(None, cell.share)
        model = model_of(cell, out)
        figures = simulate_crawl(_setup(cell, pages), web=web, model=model, compare=number == 0)
        if number == 0:
            oracle = figures["auc_oracle"]
        elif oracle is not None:
            figures["auc_oracle"] = oracle
            figures["gap_closed"] = gap_closed(figures["auc"], figures["auc_breadth_first"], oracle)
        yield figures | {
            "web": cell.web,
            "site": cell.site,
            "target": cell.target,
            "contender": cell.contender.name,
            "trained": cell.contender.train,
        }


def _setup(cell: HarvestCell, pages: int | None) -> CrawlSetup:
    return CrawlSetup(
        cell.folder,
        cell.want,
        cell.contender.policy,
        root=cell.root or None,
        topic=_topic(cell),
        params=cell.contender.params,
        seed=cell.seed,
        pages=pages,
        in_flight=cell.in_flight,
        found_per_host=cell.found_per_host,
        vectors=cell.vectors or None,
        free_look_ahead=cell.contender.free_look_ahead,
    )


def _topic(cell: HarvestCell) -> Topic | None:
    return topic_of(cell.topic).topic if cell.topic else None


def model_of(cell: HarvestCell, out: Path) -> State | None:
    """The model of a cell that is trained; trained first where it is not stored yet."""
    contender = cell.contender
    if not contender.train:
        return None
    training = [contender.policy, dict(contender.training), cell.seed, cell.trained_on]
    web = [cell.folder, cell.site, cell.want, cell.topic, data_digest(cell.folder)]
    code = [code_digest("harvest"), policy_digest(contender.policy)]
    name = digest([training, web, code, topic_digests(cell.want, cell.topic)])
    file = subfolder(out, "models") / name
    if not file.exists():
        model = train(
            contender.policy,
            _training_webs(cell.folder, cell.want, cell.trained_on, cell.site),
            cell.want,
            topic=_topic(cell),
            params=contender.training,
            seed=cell.seed,
        )
        write(file, model)
    return read(file)


@lru_cache(maxsize=1)
def _training_webs(
    folder: str, want: tuple[str, ...], only: tuple[str, ...], without: str
) -> list[KnownWeb]:
    """The sites to train on: the same for every contender and seed of a group, and read once."""
    return known_webs([Path(folder)], want, only=only, without=[without])


KIND = Kind("harvest", plan, run)
