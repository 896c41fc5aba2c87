"""Explains a run or a model: what its policy has learned, and why it chose a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from spoor import registry
from spoor.errors import InputError, taking_in
from spoor.learn.state import read
from spoor.link_filter.link_filter import BEYOND, NOFOLLOW
from spoor.link_filter.waiting_places import TOO_MANY
from spoor.protocols import Explains
from spoor.runs.reader import Run
from spoor.runs.refreshed_run import revisited
from spoor.runs.renders import render_of
from spoor.runs.requisites import RequisiteRow, requisite_at
from spoor.runs.rows import FailureRow, PageRow, Why
from spoor.runs.shards import just_begun
from spoor.runs.site_lists import with_scheme
from spoor.runs.snapshot import NextLink, OpenLink, why_not
from spoor.types import LeftOut, Task
from spoor.views import watch_text
from spoor.views.link_rates import LinkRates, link_rates
from spoor.views.watch_text import WatchedDocument
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
    with taking_in(str(path), "train it anew"):
        return _of_model(model, top)


def _of_model(model: Mapping[str, Any], top: int) -> Learned:
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
    if run.is_watch:
        raise InputError(f"{path} is a watch: name a URL, or give `spoor show` for all of it")
    topic = run.topic()
    policy = run.settings.policy
    known = run.snapshot(top)
    if known is None:
        raise just_begun(path)
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


def of_page(path: Path, url: str) -> Explained:
    """The row of a page, of a failed request or of a requisite, or an open link; of a watch all
    that it has of a URL. Where the run has none of these for this URL, of the page that people name
    so (`forms`). Raises InputError if there is none either."""
    run, url = Run(path), with_scheme(url)
    try:
        named, url, wide = run.named(url), canonical(url), canonical(url, routes=True)
    except ValueError as error:
        raise InputError(str(error)) from None
    if run.is_watch:
        return watch_text.of_document(run, named)
    if wide != url and (found := run.page(wide) or run.failure(wide) or run.open_link(wide)):
        url = found.url
    if (page := run.page(url)) is not None:
        return replace(page, rendered=render_of(path, page), revisited=revisited(path, page.url))
    known = run.failure(url) or run.open_link(url)
    if known is None and (requisite := requisite_at(path, url)) is not None:
        return requisite
    if known is None and (why := why_not(path, url)):
        return LeftOutUrl(url, why)
    if known is None and named != url:
        return of_page(path, named)
    if known is None:
        raise InputError(
            f"{path} never requested {url}, and it is no open link: no page of the run links to it"
        )
    return known


@dataclass(frozen=True, slots=True)
class LeftOutUrl:
    """A URL that a run does not ask for."""

    url: str
    why: str


Explained = PageRow | FailureRow | OpenLink | LeftOutUrl | RequisiteRow | WatchedDocument
"""What a run has of a URL."""


def as_json(row: Explained) -> dict[str, Any]:
    """The output of `spoor explain --json` for a page."""
    if isinstance(row, WatchedDocument):
        return watch_text.as_json(row)
    values = asdict(row)
    if isinstance(row, RequisiteRow):
        told = {name: values[name] for name in ("url", "found_on", "status", "outcome", "reason")}
        return {**told, "requisite": True}
    if isinstance(row, OpenLink):
        return {**values, "open": True}
    if isinstance(row, LeftOutUrl):
        return {**values, "left_out": True}
    if row.shard is None:
        del values["shard"], values["number"]
    values = {("at" if name == "time" else name): value for name, value in values.items()}
    if isinstance(row, PageRow):
        if row.rendered is None:
            del values["rendered"]
        if not row.revisited:
            del values["revisited"]
        values |= {"relevant": bool(row.relevant), "flags": list(row.flags)}
    return {**values, "fetched": isinstance(row, PageRow)}


def in_lines(row: Explained) -> list[str]:
    """The same as lines for a person; text from the web is not escaped yet."""
    if isinstance(row, WatchedDocument):
        return [*watch_text.in_lines(row)]
    if isinstance(row, OpenLink):
        return [
            row.url,
            f"  open, {row.depth} links from a seed, at the last checkpoint",
            *_reasons(row.why),
            "  seen",
            *(f"    {_seen(*in_link)}" for in_link in row.seen),
        ]
    if isinstance(row, RequisiteRow):
        return [row.url, f"  {row.in_words}"]
    if isinstance(row, LeftOutUrl):
        return [row.url, f"  left out: {row.why}{option_for(row.why)}"]
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
        *([f"  {row.revisited}"] if row.revisited else []),
        "  chosen because of",
        *_reasons(row.choice_why),
        *([] if certain else [f"    with probability {row.probability:.3g}"]),
        "  path from the seed",
        *(f"    {step}" for step in row.path),
    ]


def option_for(rule: str) -> str:
    """The option that takes what a rule leaves out, in brackets, where the rule does not name
    it."""
    if rule.startswith("it does something"):
        return " (--actions follows it)"
    if rule == NOFOLLOW:
        return "; give it as a seed"
    return "" if rule.startswith("--") else " (--traps follows it)"


def left_out_lines(left_out: LeftOut) -> list[str]:
    """What a crawl left out, for a person: a line of each kind of rule, and one of what is held
    back."""
    lines = []
    rules = left_out.rules
    doing = {rule.partition(": ")[2]: n for rule, n in rules.items() if rule.startswith("it does")}
    if doing:
        parts = ", ".join(f"{count} {what}" for what, count in _largest(doing))
        total = _links(sum(doing.values()))
        lines.append(f"left out {total} that do something ({parts}): --actions")
    named = {rule: count for rule, count in rules.items() if rule.startswith("--")}
    if named:
        by = ": " + ", ".join(f"{count} by {rule}" for rule, count in _largest(named))
        if len(named) == 1:
            by = f" by {next(iter(named))}"
        lines.append(f"left out {_links(sum(named.values()))}{by}")
    if barred := rules.get(NOFOLLOW, 0):
        lines.append(f"left out {_links(barred)} that pages ask not to follow: --no-nofollow")
    if beyond := rules.get(BEYOND, 0) + rules.get(TOO_MANY, 0):
        lines.append(f"left out {_links(beyond)} that were more than may wait")
    odd = sum(rules.values()) - sum(doing.values()) - sum(named.values()) - barred - beyond
    if odd:
        lines.append(f"left out {_links(odd)} with odd addresses (repeated, too long): --traps")
    if left_out.held:
        name, links, why = left_out.held[0]
        more = len(left_out.held) - 1
        others = f", and {more} more group{'s' * (more > 1)}" if more else ""
        waiting = _links(left_out.waiting)
        lines.append(
            f"held back {waiting} that lead to nothing new: {links} like {name} ({why}){others}: "
            "--traps"
        )
    return lines


def _largest(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: -item[1])[:5]


def _links(count: int) -> str:
    return f"{count} link{'' if count == 1 else 's'}"


def _reasons(why: Iterable[tuple[str, float]]) -> list[str]:
    return [f"    {reason}  {share:+.3g}" for reason, share in why]


def _seen(page: str, words: str, score: float) -> str:
    return f"on {page} (score {score:.2f}), as ‘{words}’" if page else "as a seed"
