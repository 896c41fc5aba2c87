"""Options that mean the same in more than one command; each command says its own default."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spoor.runs import files

Policy = Annotated[str, typer.Option(help="See `spoor policies`.")]
Param = Annotated[list[str] | None, typer.Option(help="A parameter: name=value.")]
ModelFile = Annotated[Path | None, typer.Option(help="What `spoor train` wrote.")]
VectorsFile = Annotated[Path | None, typer.Option(help="Word vectors (GloVe, word2vec).")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]

# ---------------------------------------------------------------- of what asks the network

Scope = Annotated[str, typer.Option(help="host, domain (of the seeds) or anywhere.")]
Delay = Annotated[float, typer.Option(min=0, help="Seconds between two requests to a host.")]
PerHost = Annotated[int, typer.Option(min=1, help="Requests to a host at a time.")]
InFlight = Annotated[int, typer.Option(min=1, help="Requests in flight in all.")]
Contact = Annotated[str, typer.Option(help="URL or mail address of whoever asks.")]
Robots = Annotated[bool, typer.Option(help="Obey robots.txt.")]
Warc = Annotated[bool, typer.Option(help=f"Write {files.archive(0)}.")]
AllowPrivate = Annotated[
    list[str] | None,
    typer.Option(help="A host whose loopback or private address may be connected to."),
]
ConnectTo = Annotated[
    str | None, typer.Option(help="ADDRESS:PORT that every host stands for (a served web).")
]
