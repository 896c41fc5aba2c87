"""`spoor web news` and `spoor web evolve`: webs that change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spoor.display import command_line
from spoor.durations import DAY
from spoor.errors import InputError

if TYPE_CHECKING:
    from spoor.worlds.evolving import EvolvingWorld


def add(web: typer.Typer) -> None:
    web.command()(news)
    web.command()(evolve)


def news(
    dest: Annotated[Path, typer.Argument(help="Folder to write.")],
    days: Annotated[float, typer.Option(min=0.01, help="Days that the web lasts.")] = 18.0,
    backlog_days: Annotated[
        float, typer.Option(min=0, help="Days of articles before the start.")
    ] = 120.0,
    articles_a_day: Annotated[float, typer.Option(min=1, help="New articles a day.")] = 170.0,
    sections: Annotated[int, typer.Option(min=1, help="Sections.")] = 10,
    navigation: Annotated[
        bool, typer.Option(help="Articles link to the front page and their section.")
    ] = True,
    out_exponent: Annotated[
        float, typer.Option(help="Exponent of the number of links of an article.")
    ] = 1.3,
    in_exponent: Annotated[
        float, typer.Option(help="Exponent of the number of links to an article.")
    ] = 2.57,
    triads: Annotated[float, typer.Option(help="Share of links that close triangles.")] = 0.3,
    local: Annotated[float, typer.Option(help="Share of links within the section.")] = 0.7,
    updates: Annotated[float, typer.Option(min=0, help="Mean updates of an article.")] = 1.5,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    rewire: Annotated[
        int | None, typer.Option(min=0, help="Rewire all links at random, with this seed.")
    ] = None,
) -> None:
    """Write a generated news web: sections, a front page that rolls over, articles, updates."""
    from spoor.worlds.newsweb import NewsSettings, news_web

    world = news_web(
        NewsSettings(
            days=days,
            backlog_days=backlog_days,
            articles_a_day=articles_a_day,
            sections=sections,
            navigation=navigation,
            out_exponent=out_exponent,
            in_exponent=in_exponent,
            triads=triads,
            local=local,
            updates=updates,
            seed=seed,
        )
    )
    _write(world, dest, rewire)


def evolve(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="SRC... DEST",
            help="JSON lines, WARC or run folders with several captures of a URL; a recorded news "
            "front page or wiki history; then the folder to write.",
        ),
    ],
    start: Annotated[float | None, typer.Option(help="Unix seconds; recordings need it.")] = None,
    days: Annotated[
        float | None, typer.Option(min=0.01, help="Days that the web lasts; recordings need it.")
    ] = None,
    rewire: Annotated[
        int | None, typer.Option(min=0, help="Rewire all links at random, with this seed.")
    ] = None,
) -> None:
    """Make an evolving web of recordings with several captures of a URL."""
    from spoor.worlds.import_evolving import from_recordings

    if len(paths) < 2:
        raise InputError("give at least one source, then the folder to write: SRC... DEST")
    *sources, dest = paths
    _write(from_recordings(sources, start=start, days=days), dest, rewire)


def _write(world: EvolvingWorld, dest: Path, rewire: int | None) -> None:
    import numpy as np

    from spoor.worlds.evolving import rewired

    if rewire is not None:
        world = rewired(world, np.random.default_rng(rewire))
    world.save(dest)
    counts = world.counts()
    typer.echo(
        f"{dest}: {counts['pages']:,} pages, {counts['at_start']:,} of them there at the start; "
        f"{counts['versions']:,} versions in {(world.end - world.start) / DAY:.2f} days"
    )
    typer.echo(f"  {command_line('watch', '--replay', dest)}")
    typer.echo(f"  {command_line('web', 'serve', dest, '--speed', 60)}")
