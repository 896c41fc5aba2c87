"""Replays of policies, and curves of what crawls and replays found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spoor.display import html_table
from spoor.judges.topic import topic_of
from spoor.learn.state import read
from spoor.registry import DEFAULT_POLICY
from spoor.simulation.crawls import CrawlSetup, simulate_crawl

if TYPE_CHECKING:
    from spoor.views.line_chart import Chart


class HasCurve(Protocol):
    """What `plot` draws: a replay or a run."""

    @property
    def name(self) -> str: ...
    @property
    def curve(self) -> Sequence[Sequence[float]]: ...


@dataclass(frozen=True, slots=True)
class Result:
    """What a replay found."""

    name: str
    fetched: int
    found: int
    curve: Sequence[Sequence[float]]
    """[pages fetched, relevant pages found], from [0, 0] on."""
    figures: Mapping[str, Any]
    """All that `--json` would print."""

    def _repr_html_(self) -> str:
        rate = f"{self.found / self.fetched:.1%}" if self.fetched else "none"
        rows = [[escape(self.name), str(self.fetched), str(self.found), rate]]
        return html_table(("policy", "fetched", "found", "of the pages"), rows)


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
    found_per_host: int | None = None,
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
        found_per_host=found_per_host,
    )
    figures = simulate_crawl(setup, model=read(Path(model)) if model else None)
    return Result(policy, figures["fetched"], figures["found"], figures["curve"], figures)


def plot(*results: HasCurve) -> Chart:
    """Relevant pages found against pages fetched, one line a result: a chart that a notebook shows
    and that `save` writes as SVG."""
    from spoor.views.line_chart import Chart, line_chart

    lines = {result.name: result.curve for result in results}
    return Chart(line_chart(lines, x="pages fetched", y="relevant pages found", size=(7.0, 4.0)))
