"""`spoor mcp`: crawls as tools for agents, within limits of whoever starts it."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import AllowPrivate, ConnectTo, Contact, Delay
from spoor.errors import InputError
from spoor.setting import endpoint
from spoor.settings import Settings


def add(app: typer.Typer) -> None:
    app.command()(mcp)


def mcp(
    out: Annotated[Path, typer.Option(help="Folder of the crawls.")] = Path("runs/mcp"),
    host: Annotated[
        list[str] | None,
        typer.Option(
            help="A host that may be crawled, *.example.org for all below; none: any public one."
        ),
    ] = None,
    pages: Annotated[int, typer.Option(help="Pages of all crawls together.", min=1)] = 500,
    megabytes: Annotated[int, typer.Option(help="Of all bodies together.", min=1)] = 200,
    seconds: Annotated[float, typer.Option(help="Of one crawl.", min=1)] = 600.0,
    http: Annotated[
        str, typer.Option(help="ADDRESS:PORT of this machine for HTTP; without, stdio.")
    ] = "",
    delay: Delay = 1.0,
    contact: Contact = "",
    allow_private: AllowPrivate = None,
    connect_to: ConnectTo = "",
) -> None:
    """Serve crawls as tools for agents (Model Context Protocol). No prompt can lift the limits."""
    from spoor.distribution import import_extra

    import_extra("mcp", "`spoor mcp`", "mcp.server.mcpserver")
    from spoor.integrations.mcp import AgentCrawls, AgentLimits
    from spoor.integrations.mcp.server import make_server
    from spoor.isolate.helper_pool import ending
    from spoor.process_memory import allow_many_files

    for one in host or ():
        if re.search(r"[/@?#\s]|^[^:]*:\d+$", one):
            raise InputError(
                f"--host {one!r} is more than a host; leave out scheme, port and path, as in "
                "docs.example.org or *.example.org"
            )
    given = {
        "delay": delay,
        "contact": contact,
        "allow_private": tuple(allow_private or ()),
        "connect_to": connect_to,
    }
    limits = AgentLimits(
        tuple(host or ()), pages, megabytes * 1_000_000, seconds, Settings.of(given)
    )
    place = endpoint(http) if http else None
    if http and (place is None or place[0] not in ("127.0.0.1", "::1")):
        raise InputError(
            f"--http {http!r} is not ADDRESS:PORT of this machine, as in 127.0.0.1:8000; put a "
            "proxy that authenticates before it to serve others"
        )
    allow_many_files()
    crawls = AgentCrawls(out, limits)
    server = make_server(crawls)
    with ExitStack() as stack:

        def end() -> None:
            crawls.close()
            stack.enter_context(ending())  # until the threads that read for the client have ended

        if place is None:
            from spoor.integrations.mcp.stdio import serve as serve_pipe

            serve_pipe(server, end)
        else:
            from spoor.http.listening import HEAD_SECONDS, MOST_CONNECTIONS
            from spoor.integrations.mcp.http_server import serve

            serve(server, *place, end, most=MOST_CONNECTIONS, seconds=HEAD_SECONDS)
