"""Run an experiment: its cells in processes, each kept, so that a run that was cut goes on.

A finished cell is kept under a hash of what it was, the code that ran it and the data it ran on;
the same cell is never run twice, and a change of any of the three runs it anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from spoor import registry
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.judges.spec import files_of, judge_of
from spoor.judges.topic import topic_of
from spoor.lab.cell import Cell, prepare, replay_cell
from spoor.lab.experiment import Contender, Experiment, TargetSpec, WebSpec, data_folder
from spoor.lab.figures import gap_closed
from spoor.lab.training import known_webs, train
from spoor.lab.webs import open_web
from spoor.lab.workers import finish
from spoor.learn.state import read, write
from spoor.types import KnownWeb, State
from spoor.worlds import company
from spoor.worlds.generated import GeneratedWorld, settings_of
from spoor.worlds.import_web import record

Tell = Callable[[int], None]
"""(cells done)."""


@dataclass(frozen=True, slots=True)
class Planned:
    """One cell as planned; plain values, so that it can go to another process."""

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
    vectors: str
    trained_on: tuple[str, ...] = ()
    """Sites that a training may see, but for the cell's own; none named: all."""

    def key(self) -> str:
        """What the finished cell is kept under."""
        told = [asdict(self), code_digest(), data_digest(self.folder)]
        told += [policy_digest(self.contender.policy), topic_digests(self.want, self.topic)]
        said = json.dumps(told, sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:24]


def plan(experiment: Experiment, out: Path) -> list[Planned]:
    """All cells of an experiment; webs that are missing are made under `out`.

    Raises InputError for data that is missing and names what it looked for, and for a policy, a
    parameter or a target that there is not: now, not hours later in its cell.
    """
    if experiment.kind != "harvest":
        raise InputError(f"experiment {experiment.name}: unknown kind {experiment.kind!r}")
    for contender in experiment.policies:
        registry.check("policies", contender.policy, contender.params)
        if contender.train:
            registry.find("trainers", contender.policy)
    for target in experiment.targets:
        judge_of(target.want)
    try:
        (out / "cells").mkdir(parents=True, exist_ok=True)
        (out / "models").mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}") from error
    return list(_plan(experiment, out))


def run(
    plan: Sequence[Planned], out: Path, *, jobs: int = 1, tell: Tell = lambda done: None
) -> list[dict[str, Any]]:
    """Run every cell that is not kept in `out` yet; the figures of all in the order of the plan."""
    # Cells on one ground share the web, the oracle and the models: one process runs them together.
    return finish(
        _work,
        plan,
        out,
        file=lambda cell: _file(out, cell),
        ground=lambda cell: (cell.folder, cell.root, cell.target),
        jobs=jobs,
        tell=tell,
    )


def _plan(experiment: Experiment, out: Path) -> Iterator[Planned]:
    for web in experiment.webs:
        folder = web_folder(web, out)
        for site, root in _roots(web, folder):
            for target in experiment.targets:
                if target.webs and web.name not in target.webs:
                    continue
                for contender in experiment.policies:
                    for seed in range(contender.seeds or experiment.seeds):
                        yield _planned(experiment, web, folder, site, root, target, contender, seed)


def _planned(
    experiment: Experiment,
    web: WebSpec,
    folder: Path,
    site: str,
    root: str,
    target: TargetSpec,
    contender: Contender,
    seed: int,
) -> Planned:
    return Planned(
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
        str(data_folder() / web.vectors) if web.vectors else "",
        web.sites if contender.train == "leave-one-crawled-out" else (),
    )


def web_folder(web: WebSpec, out: Path) -> Path:
    """The folder of a web, made first where it must be imported or generated."""
    if web.path:
        return Path(web.path)
    if web.generated:
        settings = settings_of(web.generated, f"web {web.name!r}")
        digest = hashlib.sha256(json.dumps(asdict(settings)).encode()).hexdigest()[:12]
        folder = out / "webs" / f"{web.name}-{digest}"
        if not folder.exists():
            GeneratedWorld(settings).save(folder)
        return folder
    if web.company:
        return _company_folder(web, out)
    sources = [data_folder() / source for source in web.sources]
    for source in sources:
        if not source.exists():
            raise InputError(f"{source} is missing; SPOOR_DATA names the folder of recorded webs")
    said = [[str(source), source.stat().st_size, source.stat().st_mtime_ns] for source in sources]
    digest = hashlib.sha256(json.dumps([said, store_digest()]).encode()).hexdigest()[:12]
    folder = out / "webs" / f"{web.name}-{digest}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        if part.exists():
            shutil.rmtree(part)
        part.parent.mkdir(parents=True, exist_ok=True)
        record(sources, part, keep_going=True)
        part.rename(folder)
    return folder


def _company_folder(web: WebSpec, out: Path) -> Path:
    table, seed = web.company.get("table"), web.company.get("seed", 0)
    if table not in company.TABLES or not isinstance(seed, int):
        have = " or ".join(company.TABLES)
        raise InputError(f"web {web.name!r}: company = {{ table = {have}, seed = a number }}")
    said = f"{store_digest()}{_digest_of('worlds/company.py')}{table} {seed}"
    folder = out / "webs" / f"{web.name}-{hashlib.sha256(said.encode()).hexdigest()[:12]}"
    if not folder.exists():
        company.write(folder, company.TABLES[table], seed)
    return folder


def _roots(web: WebSpec, folder: Path) -> list[tuple[str, str]]:
    """(site, root) of every crawl of a web."""
    if web.roots:
        return [("", root) for root in web.roots]
    world = open_web(folder)
    sites = list(world.sites())
    if not sites:
        return [("", root) for root in world.roots()]
    chosen = web.sites or sites
    for site in chosen:
        if site not in sites:
            raise InputError(f"web {web.name!r} has no site {site!r}; it has {', '.join(sites)}")
    return [(site, open_web(folder, site=site).roots()[0]) for site in chosen]


def _work(batch: Sequence[Planned], out: Path, told: Callable[[], None]) -> None:
    ground = prepare(_cell(batch[0]))
    oracle: float | None = None
    for number, planned in enumerate(batch):
        cell = _cell(planned)
        if planned.share is not None and planned.pages is None:
            cell = _cell(planned, pages=max(1, round(planned.share * ground.reachable)))
        model = _model(planned, out)
        figures = replay_cell(cell, ground=ground, model=model, compare=number == 0)
        if number == 0:
            oracle = figures["auc_oracle"]
        elif oracle is not None:
            figures = with_oracle(figures, oracle)
        figures |= {
            "web": planned.web,
            "site": planned.site,
            "target": planned.target,
            "contender": planned.contender.name,
            "trained": planned.contender.train,
        }
        write_whole(_file(out, planned), json.dumps(figures))
        told()


def with_oracle(figures: Mapping[str, Any], oracle: float) -> dict[str, Any]:
    """The figures, measured against an oracle that ran before."""
    gap = gap_closed(figures["auc"], figures["auc_breadth_first"], oracle)
    return {**figures, "auc_oracle": oracle, "gap_closed": gap}


def _cell(planned: Planned, *, pages: int | None = None) -> Cell:
    return Cell(
        planned.folder,
        planned.want,
        planned.contender.policy,
        root=planned.root or None,
        topic=topic_of(planned.topic).topic if planned.topic else None,
        params=planned.contender.params,
        seed=planned.seed,
        pages=pages or planned.pages,
        in_flight=planned.in_flight,
        vectors=planned.vectors or None,
        free_look_ahead=planned.contender.free_look_ahead,
    )


def _model(planned: Planned, out: Path) -> State | None:
    contender = planned.contender
    if not contender.train:
        return None
    said = [
        contender.policy,
        dict(contender.training),
        planned.folder,
        planned.site,
        planned.want,
        planned.topic,
        planned.seed,
        planned.trained_on,
    ]
    said += [code_digest(), data_digest(planned.folder), policy_digest(contender.policy)]
    said += topic_digests(planned.want, planned.topic)
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:24]
    file = out / "models" / digest
    if not file.exists():
        webs = _known(planned.folder, planned.want, planned.trained_on, planned.site)
        topic = topic_of(planned.topic).topic if planned.topic else None
        model = train(
            contender.policy,
            webs,
            planned.want,
            topic=topic,
            params=contender.training,
            seed=planned.seed,
        )
        write(file, model)
    return read(file)


@lru_cache(maxsize=1)
def _known(
    folder: str, want: tuple[str, ...], only: tuple[str, ...], without: str
) -> list[KnownWeb]:
    """The sites to train on: the same for every contender and seed of a batch, and read once."""
    return known_webs([Path(folder)], want, only=only, without=[without])


_SHOWN = "compare describe notebook pages papers pictures reading report results snapshot"
_SPLIT = ("drivers/shards", "lab/shards.py", "lab/shard_experiment.py")

ASIDE = (
    "cli",
    "testing",
    "drivers/http",
    "drivers/scrapy",
    "drivers/ray",
    *_SPLIT,
    *(f"lab/{name}.py" for name in (*_SHOWN.split(), "tables", "whatif")),
)
"""What no cell runs: a change of it leaves finished cells as they are."""


@cache
def code_digest() -> str:
    """What the code is that a cell may run: every module of Spoor but those `ASIDE`."""
    root = Path(str(files("spoor")))
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(ASIDE):
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def policy_digest(name: str) -> str:
    """What the code is of a policy that comes from outside of Spoor; empty for one of ours."""
    module = registry.find("policies", name).__module__
    if module.split(".")[0] == "spoor":
        return ""
    source = getattr(sys.modules.get(module), "__file__", None)
    return hashlib.sha256(Path(source).read_bytes()).hexdigest() if source else ""


def topic_digests(want: Sequence[str], topic: str) -> list[str]:
    """What the topic files hold that a target or a topic is read from."""
    files = files_of(want, topic)
    return [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in files]


@cache
def store_digest() -> str:
    """What the code is that a store is written by."""
    return "".join(_digest_of(part) for part in ("archive", "worlds/store.py", "web/page.py"))


@cache
def split_digest() -> str:
    """What the code is that only crawls in shards run."""
    return "".join(_digest_of(part) for part in _SPLIT)


def _digest_of(part: str) -> str:
    root = Path(str(files("spoor"))) / part
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")) if root.is_dir() else [root]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def data_digest(folder: str) -> str:
    """What a web is, by the names and sizes of its files and the head that describes it."""
    digest = hashlib.sha256()
    for path in sorted(Path(folder).iterdir()):
        digest.update(f"{path.name} {path.stat().st_size}\n".encode())
        if path.suffix in (".json", ".toml"):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _file(out: Path, cell: Planned) -> Path:
    return out / "cells" / f"{cell.key()}.json"
