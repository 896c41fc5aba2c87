"""`spoor train`: trains a model for a policy on completely known webs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from spoor.cli.options import Param, Seed, VectorsFile
from spoor.cli.screen import progress


def add(app: typer.Typer) -> None:
    app.command()(train)


def train(
    policy: Annotated[str, typer.Argument(help="A policy that can be trained.")],
    webs: Annotated[list[Path], typer.Argument(help="Folders of recorded webs.")],
    target: Annotated[list[str], typer.Option(help="The pages to find, as for `spoor replay`.")],
    out: Annotated[Path, typer.Option(help="File of the model.")],
    topic: Annotated[str | None, typer.Option(help="Words that the policy may use.")] = None,
    param: Param = None,
    site: Annotated[list[str] | None, typer.Option(help="Train on this site only.")] = None,
    without: Annotated[list[str] | None, typer.Option(help="Leave this site out.")] = None,
    vectors: VectorsFile = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Episodes of the training, if it has them.")
    ] = None,
    seed: Seed = 0,
) -> None:
    """Train POLICY on WEBS; each recorded site is one training site."""
    from spoor.judges.topic import topic_of
    from spoor.learn.state import write
    from spoor.registry import find, parse_params
    from spoor.simulation.training import known_webs
    from spoor.simulation.training import train as train_policy
    from spoor.web.text import Vectors

    find("trainers", policy)
    params = parse_params(param or [])
    if episodes is not None:
        params["episodes"] = episodes
    known = known_webs(webs, target, only=site or [], without=without or [])
    with progress("training steps", None) as report_progress:
        model = train_policy(
            policy,
            known,
            target,
            topic=topic_of(topic).topic if topic else None,
            params=params,
            seed=seed,
            vectors=Vectors.read(str(vectors)) if vectors else None,
            progress=lambda done, total: report_progress(done),
        )
    write(out, model)
    pages = sum(len(web.graph.urls) for web in known)
    targets = sum(int(web.graph.targets.sum()) for web in known)
    sites = f"{len(known)} site{'s' if len(known) > 1 else ''}"
    typer.echo(
        f"{out}: {policy} trained on {sites} ({', '.join(web.name for web in known)}), "
        f"{pages:,} pages, {targets:,} targets"
    )
