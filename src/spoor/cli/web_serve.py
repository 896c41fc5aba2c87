"""`spoor web generate` and `spoor web serve`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from spoor.display import command_line
from spoor.errors import InputError


def add(web: typer.Typer) -> None:
    web.command()(generate)
    web.command()(serve)


def generate(
    dest: Annotated[Path, typer.Argument(help="Folder to write; it holds settings only.")],
    pages: Annotated[int, typer.Option(min=1, help="Pages, up to 10⁹.")] = 5_000,
    hosts: Annotated[int, typer.Option(min=1, help="Named hosts.")] = 12,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    topics: Annotated[int, typer.Option(min=2, help="Topics; the first is pottery.")] = 12,
    target_share: Annotated[float, typer.Option(help="Share of pages about pottery.")] = 0.06,
    locality: Annotated[float, typer.Option(help="Share of links within a topic.")] = 0.7,
    anchor_noise: Annotated[
        float, typer.Option(help="Share of anchors without words of the topic.")
    ] = 0.3,
    trap: Annotated[
        list[str] | None, typer.Option(help="A trap in the web: calendar, session or facets.")
    ] = None,
) -> None:
    """Write the settings of a generated web: endless, deterministic, computed when asked."""
    from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

    settings = GeneratedSettings(
        pages=pages,
        hosts=hosts,
        seed=seed,
        topics=topics,
        target_share=target_share,
        locality=locality,
        anchor_noise=anchor_noise,
        traps=tuple(trap or ()),
    )
    world = GeneratedWorld(settings)
    world.save(dest)
    typer.echo(f"{pages:,} pages on {hosts} hosts, computed when asked; root {world.url_of(0)}")
    typer.echo(f"  {command_line('replay', dest, '--target', f'label:{world.topics[0]}')}")
    typer.echo(f"  {command_line('web', 'serve', dest)}")


def serve(
    web: Annotated[Path, typer.Argument(help="Folder of a recorded or generated web.")],
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0: a free one.")] = 0,
    latency: Annotated[float, typer.Option(min=0, help="Milliseconds before each answer.")] = 0.0,
    faults: Annotated[
        str, typer.Option(help="Shares by kind: 404, 500, 429, slow, reset, as in 500=0.05.")
    ] = "",
    robots: Annotated[Path | None, typer.Option(help="A robots.txt for every host.")] = None,
    speed: Annotated[
        float, typer.Option(min=0, help="How fast an evolving web changes: 60 is an hour a minute.")
    ] = 1.0,
    for_seconds: Annotated[
        float | None, typer.Option("--for", min=0, help="End after so many seconds.")
    ] = None,
) -> None:
    """Serve WEB over HTTP on loopback, its hosts by name."""
    from spoor.http.world_server import Faults, Server, plain
    from spoor.worlds.clocked import Clocked
    from spoor.worlds.evolving import FILE as EVOLVING
    from spoor.worlds.evolving import EvolvingWorld
    from spoor.worlds.folders import open_web
    from spoor.worlds.generated import GeneratedWorld

    evolving = (web / EVOLVING).exists()
    world = (
        Clocked(EvolvingWorld.open(web), time.monotonic, speed=speed) if evolving else open_web(web)
    )
    robots_text = ""
    if robots is not None:
        try:
            robots_text = robots.read_text("utf-8")
        except OSError as error:
            raise InputError(f"cannot read {robots}: {error.strerror}") from error
    source = None
    if isinstance(world, GeneratedWorld):
        generated = world

        def source(url: str) -> str | None:
            document = generated.document(url)
            return None if document is None else document[1]

    server = Server(
        world,
        source=source,
        roots=world.roots(),
        robots=robots_text,
        latency=latency / 1000,
        faults=Faults.parse(faults),
    )
    asyncio.run(_serve(server, port, for_seconds, plain(world.roots()[0]), watched=evolving))


async def _serve(
    server: object, port: int, seconds: float | None, root: str, *, watched: bool
) -> None:
    from spoor.http.world_server import Server, serving

    assert isinstance(server, Server)
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, over.set)
    async with serving(server, port=port) as bound:
        typer.echo(f"serving on http://127.0.0.1:{bound}/ – crawl it with")
        for_a_crawl = '--topic "…" --scope anywhere --delay 0'
        command = "watch" if watched else "crawl"
        typer.echo(
            f"  {command_line(command, root, '--connect-to', f'127.0.0.1:{bound}')} "
            + ("--delay 0.05" if watched else for_a_crawl)
        )
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await over.wait()
    typer.echo(f"served {server.requests} requests")
