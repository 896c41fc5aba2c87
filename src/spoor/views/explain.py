"""Explains a run or a model: what its policy has learned, and why it chose a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.errors import InputError
from spoor.learn.state import read
from spoor.protocols import Explains
from spoor.runs.reader import Run
from spoor.runs.renders import render_of
from spoor.runs.rows import FailureRow, PageRow, Why
from spoor.runs.snapshot import NextLink, OpenLink
from spoor.types import Task
from spoor.views.link_rates import LinkRates, link_rates
from spoor.web.urls import canonical


@dataclass(frozen=True, slots=True)
class Learned:
    """What a policy has learned."""

    policy: str
    features: str
    """What its features are over."""
    topic: str
    about: Mapping[str, Any]
    learned: Mapping[str, Why]
    """Group → its features with the largest weights."""
    next: Sequence[NextLink] = ()
    """The links that a run would fetch next, best first."""
    paid: LinkRates = field(default_factory=LinkRates)
    """Of a run: which links paid."""


def of_model(path: Path, top: int) -> Learned:
    """The `top` features of each group of a model. Raises InputError if the file is no model, or if
    its policy cannot explain itself."""
    model = read(path)
    if "policy" not in model:
        raise InputError("this is a Spoor state, but no model; `spoor train` writes models")
    task = Task(np.random.default_rng(0), model=model)
    settings = model["about"].get("params", {})
    policy = registry.build("policies", model["policy"], task, settings=settings)
    if not isinstance(policy, Explains):
        raise InputError(f"{model['policy']} can't say what it has learned")
    groups = {
        name: [(feature, weight) for _, feature, weight in rows][:top]
        for name, rows in groupby(policy.explain(), key=lambda row: row[0])
    }
    return Learned(model["policy"], model["features"], model["topic"], model["about"], groups)


def of_run(path: Path, top: int) -> Learned:
    """The same for the policy of a run at its last checkpoint, and the `top` links that it would
    fetch next. Raises InputError if there is nothing to explain."""
    run = Run(path)
    topic = run.topic()
    policy = run.settings.policy
    known = run.snapshot(top)
    if known is None:
        raise InputError(f"{path} has no state yet")
    if known.missing:
        raise InputError(known.missing)
    paid = link_rates(run)
    if not known.learned and not known.next and not paid.lead:
        raise InputError(f"{policy} can't say what it has learned, and nothing is open")
    return Learned(
        policy,
        "this run",
        "" if topic is None else topic.name or topic.text,
        {"requests": known.requests},
        {name: rows[:top] for name, rows in known.learned.items()},
        known.next,
        paid,
    )


def of_page(path: Path, url: str) -> PageRow | FailureRow | OpenLink:
    """The row of a page or of a failed request, or an open link. Raises InputError if the run has
    none of these for this URL."""
    try:
        url = canonical(url)
    except ValueError as error:
        raise InputError(str(error)) from None
    run = Run(path)
    if (page := run.page(url)) is not None:
        return replace(page, rendered=render_of(path, page))
    known = run.failure(url) or run.open_link(url)
    if known is None:
        raise InputError(f"{path} never requested {url}, and it is no open link")
    return known


def as_json(row: PageRow | FailureRow | OpenLink) -> dict[str, Any]:
    """The output of `spoor explain --json` for a page."""
    values = asdict(row)
    if isinstance(row, OpenLink):
        return {**values, "open": True}
    if row.shard is None:
        del values["shard"], values["number"]
    values = {("at" if name == "time" else name): value for name, value in values.items()}
    if isinstance(row, PageRow):
        if row.rendered is None:
            del values["rendered"]
        values |= {"relevant": int(row.relevant), "flags": " ".join(row.flags)}
    return {**values, "fetched": isinstance(row, PageRow)}


def in_lines(row: PageRow | FailureRow | OpenLink) -> list[str]:
    """The same as lines for a person; text from the web is not escaped yet."""
    if isinstance(row, OpenLink):
        return [
            row.url,
            f"  open, {row.depth} links from a seed, at the last checkpoint",
            *_reasons(row.why),
            "  seen",
            *(f"    {_seen(*in_link)}" for in_link in row.seen),
        ]
    if isinstance(row, FailureRow):
        return [row.url, f"  did not come: {row.reason or row.kind}"]
    verdict = "relevant" if row.relevant else "not relevant"
    place = "the run" if row.shard is None else f"shard {row.shard}"
    certain = row.probability is None or row.probability >= 1
    return [
        row.url,
        f"  page {row.seq} of {place}, {verdict}, score {row.score:.2f}",
        *_reasons(row.why),
        *([] if row.rendered is None else [f"  {row.rendered.in_words}"]),
        "  chosen because of",
        *_reasons(row.choice_why),
        *([] if certain else [f"    with probability {row.probability:.3g}"]),
        "  path from the seed",
        *(f"    {step}" for step in row.path),
    ]


def _reasons(why: Iterable[tuple[str, float]]) -> list[str]:
    return [f"    {reason}  {share:+.3g}" for reason, share in why]


def _seen(page: str, words: str, score: float) -> str:
    return f"on {page} (score {score:.2f}), as ‘{words}’" if page else "as a seed"
