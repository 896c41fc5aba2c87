"""What a notebook needs: a crawl, a replay and a picture of them, in a few lines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoor.judges.topic import topic_of
from spoor.learn.state import read
from spoor.live.live_crawl import LiveCrawl
from spoor.registry import DEFAULT_POLICY
from spoor.runs.assemble import make_crawl
from spoor.runs.inputs import with_inputs
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.simulation.crawls import CrawlSetup, simulate_crawl
from spoor.views.report import write_report
from spoor.views.sums import curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Result:
    """What a crawl or a replay found."""

    name: str
    fetched: int
    found: int
    curve: Sequence[Sequence[float]]
    """[pages fetched, relevant pages found], from [0, 0] on."""
    figures: Mapping[str, Any]
    """All that `--json` would print."""


def replay(
    web: str | Path,
    target: str | Sequence[str],
    *,
    policy: str = DEFAULT_POLICY,
    topic: str | None = None,
    root: str | None = None,
    pages: int | None = None,
    seed: int = 0,
    params: Mapping[str, Any] | None = None,
    model: str | Path | None = None,
) -> Result:
    """Replay a policy over a recorded or generated web, as `spoor replay` does.

    Raises InputError as the command line says it.
    """
    targets = (target,) if isinstance(target, str) else tuple(target)
    told = topic_of(topic).topic if topic else None
    setup = CrawlSetup(
        str(web),
        targets,
        policy,
        root=root,
        topic=told,
        params=params or {},
        seed=seed,
        pages=pages,
    )
    figures = simulate_crawl(setup, model=read(Path(model)) if model else None)
    return Result(policy, figures["fetched"], figures["found"], figures["curve"], figures)


def run(
    seeds: str | Sequence[str],
    topic: str = "",
    *,
    out: str | Path,
    **more: Any,
) -> Result:
    """Crawl live, as `spoor crawl` does; the same call on the same folder goes on.

    `more` are the settings of `spoor.settings.Settings`, by name: pages, policy, delay, shards, ….
    Works in a notebook, whose event loop runs already. Raises InputError as the command line says
    it.
    """
    given = [seeds] if isinstance(seeds, str) else seeds
    settings = with_inputs(Settings.of({"topic": topic, **more}), given)
    engine = make_crawl(settings)

    def crawl() -> Mapping[str, Any]:
        if settings.shards or settings.cluster:
            from spoor.integrations import ray

            return ray.crawl(Path(out), settings)
        # The folder's database belongs to the thread that opened it.
        folder = RunWriter(Path(out), settings)
        try:
            live = LiveCrawl(folder, engine)
            return live.summary(live.run())
        finally:
            folder.close()

    figures = _outside_of_loops(crawl)
    write_report(Path(out))
    points = curve(Run(Path(out)).verdicts())
    return Result(settings.policy, figures["fetched"], figures["found"], points, figures)


def _outside_of_loops(crawl: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return crawl()
    ended: list[Mapping[str, Any] | BaseException] = []

    def work() -> None:
        try:
            ended.append(crawl())
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0]


def plot(*results: Result) -> Figure:
    """Relevant pages found against pages fetched, one line a result."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for result in results:
        axes.plot(
            [point[0] for point in result.curve],
            [point[1] for point in result.curve],
            label=result.name,
        )
    axes.set_xlabel("pages fetched")
    axes.set_ylabel("relevant pages found")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure
