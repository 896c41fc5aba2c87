"""What another policy would have harvested, estimated from one run (off-policy evaluation).

A run fetched some of the pages that it knew of, each by a choice whose probability it noted. The
other policy crawls the web *as the run saw it*: the pages that the run fetched, and the links
between them. Every page that it takes there stands for pages like it, which the run could as well
have fetched and did not, with the weight 1/e, where e is the chance that the run fetched this page
at all: e = 1 − (1 − p)^T, with p the probability of the choice that took it and T the choices made
since its link was first seen, as if p had been its probability all that time. The other policy's
crawl ends when its pages stand for as many as the budget; the harvest is the weight of the relevant
ones. A page with p = 1 stands for itself alone.

This is importance weighting decision by decision. Weights of whole crawls, products over thousands
of choices, would leave an effective sample of one page. It cannot see pages that the run had no
chance to take, nor ways through pages that it did not fetch; so nothing is said of a run whose
policy took every link with probability 1. And there is no doubly robust form of it: a model could
guess whether an unfetched page is relevant, but not where its links lead.

The interval holds the spread over the pages taken (bootstrap) and that over halves of the run,
together. How often it holds the truth is measured by benchmarks/whatif.py: docs/guides/lab.md.

Horvitz and Thompson, JASA 47, 1952; Hájek, Annals of Mathematical Statistics 35, 1964; Li et al.,
"Unbiased offline evaluation of contextual-bandit-based news article recommendation algorithms",
WSDM 2011 (replay); Swaminathan and Joachims, "The self-normalized estimator for counterfactual
learning", NIPS 2015.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from spoor import registry
from spoor.archive.warc_in import Warc
from spoor.crawl import Crawl
from spoor.drivers.http.folder import read_settings, reading
from spoor.drivers.http.run import wanted
from spoor.drivers.replay import Replay
from spoor.errors import InputError
from spoor.protocols import LookAhead
from spoor.stores.memory import MemoryFrontier
from spoor.text import Vectors
from spoor.types import (
    Failed,
    Fetch,
    Fetched,
    Judgement,
    Link,
    Page,
    Redirected,
    Reply,
    State,
    Task,
    Topic,
    urls_of,
)

CONFIDENCE = 0.95
RESAMPLES = 2_000
FEW = 30
"""Effective pages below which an estimate says little."""

HALVES = 10
"""Halves of the run from which the spread by what it happened to fetch is taken."""

Floats = NDArray[np.float64]

NEVER = 1.0 - 1e-9
"""Probability from which on a choice left nothing to chance."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A page that the run fetched."""

    page: Page
    """As it answered; its URL may be another than the one that was asked for."""
    judgement: Judgement
    probability: float | None


@dataclass(frozen=True, slots=True)
class Log:
    """What a run did, in the order of its choices."""

    seeds: Sequence[str]
    taken: Sequence[Taken]
    topic: Topic = field(default_factory=Topic)
    redirects: Mapping[str, str] = field(default_factory=dict)
    policy: str = ""
    vectors: str = ""
    pages_lost: int = 0
    """Pages of the run whose text is in no archive."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What another policy would have found, as far as a run can tell."""

    policy: str
    pages: int
    """The budget that the estimate is for: pages of the run."""
    run_found: int
    """What the run itself found."""
    found: float
    low: float
    high: float
    """95 % interval of `found`."""
    replayed: int
    """Pages of the run that the other policy took."""
    effective: float
    """Effective sample size: (Σ w)² / Σ w²."""
    stands_for: float
    """Pages that they stand for; less than `pages` where the run's pages ran out."""
    chosen: int
    """Pages of the run that it chose with a probability below 1."""

    @property
    def warnings(self) -> list[str]:
        """What makes the estimate weak, in one line each."""
        said = []
        if self.effective < FEW:
            said.append(
                f"the effective sample is {self.effective:.0f} pages: too few to rely on; a run of "
                "more pages, or one that explores more, says more"
            )
        if self.stands_for < 0.9 * self.pages:
            said.append(
                f"the pages that {self.policy} comes to in this run stand for only "
                f"{self.stands_for:.0f} of {self.pages} pages: what it would have found behind "
                "links that the run left open is not known"
            )
        return said


# ---------------------------------------------------------------- the estimate


def estimate(
    log: Log,
    policy: str,
    *,
    params: Mapping[str, Any] | None = None,
    model: State | None = None,
    seed: int = 0,
) -> Estimate:
    """What `policy` would have found in as many pages as the run has.

    Raises InputError where the run cannot say: its policy left nothing to chance, or noted no
    probabilities; a policy that looks ahead or needs the whole web.
    """
    weights = weights_of(log)
    budget = float(len(log.taken))

    def replay(some: Log, weights: Mapping[str, float]) -> tuple[float, Floats, Floats]:
        crawl, world = _crawl(some, policy, params, model, seed)
        return _harvest(crawl, world, weights, budget)

    found, w, r = replay(log, weights)
    total = float(w.sum())
    rng = np.random.default_rng(seed)
    halves = []
    for _ in range(HALVES):
        half = _half(log, rng)
        # A page stands for twice as many where every second one is left out; a seed for itself.
        heavier = {url: value if url in log.seeds else 2 * value for url, value in weights.items()}
        halves.append(replay(half, heavier)[0])
    error = float(np.hypot(_bootstrap(w, r, min(budget, total)), np.std(halves, ddof=1)))
    low, high = _wilson(w, r, min(budget, total))
    reach = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * error
    return Estimate(
        policy,
        len(log.taken),
        sum(item.judgement.relevant for item in log.taken),
        found,
        max(0.0, min(low, found - reach)),
        min(budget, max(high, found + reach)),
        len(w),
        float(total**2 / (w @ w)) if total else 0.0,
        total,
        sum((item.probability or 1.0) < NEVER for item in log.taken),
    )


def _harvest(
    crawl: Crawl, world: _Seen, weights: Mapping[str, float], budget: float
) -> tuple[float, Floats, Floats]:
    """(pages found in `budget`, weight of each page taken, whether it was relevant)."""
    taken: list[float] = []
    hits: list[bool] = []
    total = 0.0
    for outcome in Replay(crawl, world):
        if outcome.page is None or outcome.judgement is None:
            continue
        # The last one stands for what is left.
        taken.append(min(weights[outcome.page.url], budget - total))
        hits.append(outcome.judgement.relevant)
        total += taken[-1]
        if total >= budget - 1e-9:
            break
    w, r = np.array(taken), np.array(hits, dtype=np.float64)
    return float(w @ r), w, r


def _half(log: Log, rng: np.random.Generator) -> Log:
    """The run with every page but its seeds left out with probability ½."""
    kept = rng.random(len(log.taken)) < 0.5
    taken = [
        item
        for item, keep in zip(log.taken, kept.tolist(), strict=True)
        if keep or item.page.url in log.seeds
    ]
    return replace(log, taken=taken)


def weights_of(log: Log) -> dict[str, float]:
    """URL of a page → how many pages it stands for: 1/e. Raises InputError where nothing was left
    to chance, or was not noted."""
    unknown = sum(item.probability is None for item in log.taken)
    if unknown:
        raise InputError(
            f"{log.policy or 'the policy'} noted no probability for {unknown} of its "
            f"{len(log.taken)} choices, so nothing can be estimated from them; crawl with random, "
            "or with a policy that explores (sarsa, q-learning, host-bandit)"
        )
    if all((item.probability or 1.0) >= NEVER for item in log.taken):
        raise InputError(
            f"{log.policy or 'the policy'} took every link with probability 1: what it never takes "
            "it says nothing of, and no other policy can be judged by it; crawl with random, or "
            "with a policy that explores (sarsa, q-learning, host-bandit)"
        )
    seen = _first_seen(log)
    last = len(log.taken)
    weights: dict[str, float] = {}
    for at, item in enumerate(log.taken):
        p = item.probability or 1.0
        choices = last - min(at, seen.get(item.page.url, at))
        weights[item.page.url] = 1.0 if p >= NEVER else 1.0 / -np.expm1(choices * np.log1p(-p))
    return weights


def _first_seen(log: Log) -> dict[str, int]:
    """URL of a page → choices made before a link to it was known."""
    seen = {_end(url, log.redirects): 0 for url in log.seeds}
    for at, item in enumerate(log.taken, 1):
        for url in urls_of(item.page.links):
            seen.setdefault(_end(url, log.redirects), at)
    return seen


def _end(url: str, redirects: Mapping[str, str]) -> str:
    for _ in range(20):
        if url not in redirects:
            break
        url = redirects[url]
    return url


def _bootstrap(w: Floats, r: Floats, scale: float) -> float:
    """Standard error of `scale · Σ w r / Σ w` over the pages."""
    if not len(w):
        return 0.0
    draws = np.random.default_rng(0).integers(len(w), size=(RESAMPLES, len(w)))
    shares = (w * r)[draws].sum(1) / w[draws].sum(1)
    return scale * float(shares.std())


def _wilson(w: Floats, r: Floats, scale: float) -> tuple[float, float]:
    """What an effective sample leaves open of a share, times `scale`: not a point where none or all
    are relevant, as a bootstrap says."""
    if not len(w):
        return 0.0, scale
    share, n = float(w @ r / w.sum()), float(w.sum() ** 2 / (w @ w))
    told = binomtest(round(share * n), max(1, round(n))).proportion_ci(CONFIDENCE, "wilson")
    return scale * float(told.low), scale * float(told.high)


class _Seen:
    """The web as the run saw it, and its verdicts: links lead to pages that it fetched only."""

    def __init__(self, log: Log) -> None:
        self._redirects = log.redirects
        self._taken = {item.page.url: item for item in log.taken}
        self._pages: dict[str, Page] = {}

    def answer(self, fetch: Fetch) -> Reply:
        end = _end(fetch.url, self._redirects)
        item = self._taken.get(end)
        if item is None:
            return Failed(fetch.ticket, "absent", "not fetched by the run")
        if end != fetch.url:
            return Redirected(fetch.ticket, end)
        return Fetched(fetch.ticket, self._page(item.page))

    def judge(self, page: Page) -> Judgement:
        return self._taken[page.url].judgement

    def _page(self, page: Page) -> Page:
        if page.url not in self._pages:
            inside: list[Link] = [link for link in page.links if self._known(link.url)]
            self._pages[page.url] = replace(page, links=inside)
        return self._pages[page.url]

    def _known(self, url: str) -> bool:
        return _end(url, self._redirects) in self._taken


def _crawl(
    log: Log, policy: str, params: Mapping[str, Any] | None, model: State | None, seed: int
) -> tuple[Crawl, _Seen]:
    if policy in registry.LAB_ONLY:
        raise InputError(f"{policy} knows the whole web, which no run does")
    vectors = Vectors.read(log.vectors) if log.vectors else None
    task = Task(np.random.default_rng(seed), log.topic, model, vectors=vectors)
    made = registry.build("policies", policy, task, settings=params)
    if isinstance(made, LookAhead) and made.look_ahead:
        raise InputError(f"{policy} looks ahead: what it expands is not chosen among links")
    world = _Seen(log)
    crawl = Crawl(made, world, MemoryFrontier())
    crawl.seed(log.seeds)
    return crawl, world


# ---------------------------------------------------------------- the log of a run


def read_log(path: Path) -> Log:
    """What a live run did, from its folder. Raises InputError for one without pages or archive."""
    settings = read_settings(path)
    told = settings["crawl"]
    with reading(path) as db:
        rows = db.execute(
            "SELECT url, score, relevant, probability FROM pages ORDER BY ticket"
        ).fetchall()
    if not rows:
        raise InputError(f"{path}: the run has fetched nothing yet")
    pages: dict[str, Page] = {}
    redirects: dict[str, str] = {}
    for file in sorted(path.glob("pages*.warc.gz")):
        for job in Warc(file).jobs():
            recording = job()
            if recording is None:
                continue
            if isinstance(recording.reply, Fetched):
                pages[recording.url] = recording.reply.page
            elif isinstance(recording.reply, Redirected):
                redirects[recording.url] = recording.reply.location
    taken = [
        Taken(
            pages[row["url"]],
            Judgement(row["score"], bool(row["relevant"]), float(row["relevant"])),
            row["probability"],
        )
        for row in rows
        if row["url"] in pages
    ]
    if not taken:
        raise InputError(f"{path}: none of its pages is in its archive; crawl without --no-warc")
    topic_file = Path(told["topic_file"]) if told["topic_file"] else None
    _, subject = wanted(told["topic"] or None, topic_file, told["want"])
    return Log(
        told["seeds"],
        taken,
        subject.topic if subject else Topic(),
        {url: end for url, end in redirects.items() if url not in pages},
        told["policy"],
        told["vectors"],
        len(rows) - len(taken),
    )


def describe(told: Estimate, run: str) -> str:
    """An estimate for a person."""
    lines = [
        f"{told.policy}, had it crawled instead of {run}: {told.found:.0f} relevant pages in "
        f"{told.pages:,}",
        f"  95 % interval   {told.low:.0f} … {told.high:.0f}",
        f"  the run found   {told.run_found}",
        f"  based on        {told.replayed:,} of the run's pages, an effective sample of "
        f"{told.effective:.0f}",
        *(f"  warning: {line}" for line in told.warnings),
    ]
    return "\n".join(lines)


def as_json(told: Estimate) -> str:
    """The same for programs."""
    return json.dumps({**asdict(told), "warnings": told.warnings})
