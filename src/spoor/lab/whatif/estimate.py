"""The estimate: importance weights alone, doubly robust, and the bounds of both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from spoor.lab.intervals import CONFIDENCE, Floats
from spoor.lab.whatif.partial_web import PartialWeb, build_policy, crawl_partial
from spoor.lab.whatif.relevance_model import chances_of
from spoor.lab.whatif.run_log import RunLog, half_of, links_to, seed_pages
from spoor.lab.whatif.weights import CERTAIN, weights_of
from spoor.protocols import Policy
from spoor.types import State
from spoor.views.run_totals import wilson

RESAMPLES = 2_000
FEW = 30
"""Effective pages below which an estimate says little."""

HALVES = 10
"""Halves of the run from which the spread by what it happened to fetch is taken."""

DRAWS = 4
"""Times that the pages behind open links are drawn."""

HARDLY = 0.75
"""Share of unseen pages from which on an estimate is hardly more than its model."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """How many relevant pages another policy would have found, estimated from a run."""

    policy: str
    pages: int
    """The budget that the estimate is for: pages of the run."""
    run_found: int
    """Relevant pages of the run itself."""
    found: float
    """Relevant pages of the other policy, doubly robust."""
    low: float
    high: float
    """95 % interval of `found`."""
    unseen: float
    """Pages among these that the run never fetched: only the model values them."""
    worst: float
    best: float
    """`found` if none of the unseen pages were relevant, or all."""
    weighted: float
    weighted_low: float
    weighted_high: float
    """By importance weights alone, with its 95 % interval."""
    reached: float
    """Pages that the other policy takes of all that the run knew of, at most `pages`."""
    replayed: int
    """Pages of the run that the other policy took."""
    effective: float
    """Effective sample size: (Σ w)² / Σ w²."""
    chosen: int
    """Pages of the run that it chose with a probability below 1."""

    @property
    def warnings(self) -> list[str]:
        """Weaknesses of the estimate, one line each."""
        warnings = []
        if self.effective < FEW:
            warnings.append(
                f"the effective sample is {self.effective:.0f} pages: too few to rely on; a run of "
                "more pages, or one that explores more, says more"
            )
        if self.reached < 0.9 * self.pages:
            warnings.append(
                f"{self.policy} comes to only {self.reached:.0f} pages by the links that this run "
                f"saw, not to {self.pages}: what lies behind them is not known"
            )
        if self.unseen > HARDLY * self.pages:
            warnings.append(
                f"{self.unseen:.0f} of the {self.pages} pages that {self.policy} would take were "
                "never fetched: a model of what their links say speaks for them"
            )
        return warnings


def estimate(
    log: RunLog,
    policy: str,
    *,
    params: Mapping[str, Any] | None = None,
    model: State | None = None,
    seed: int = 0,
) -> Estimate:
    """Estimate how many relevant pages `policy` would have found in as many pages as the run has.

    Raises InputError where that is impossible: the run's policy is deterministic or logged no
    probabilities; `policy` looks ahead or needs the entire web.
    """
    weights = weights_of(log)
    budget = float(len(log.taken))

    def build() -> Policy:
        return build_policy(log, policy, params, model, seed)

    weighted_sum, w, r = _harvest(log, build(), weights, budget)
    total = float(w.sum())
    rng = np.random.default_rng(seed)
    robust, chances = _robust(log, build, weights, len(log.taken), rng, DRAWS)
    first = seed_pages(log)
    halves, robust_halves = [], []
    for _ in range(HALVES):
        half = half_of(log, rng)
        # In half a run a page represents twice as many pages; a seed represents itself.
        heavier = {url: value if url in first else 2 * value for url, value in weights.items()}
        halves.append(_harvest(half, build(), heavier, budget)[0])
        robust_halves.append(_robust(half, build, heavier, len(log.taken), rng, 1)[0].found)
    error = _REACH * float(np.hypot(_bootstrap(w, r, min(budget, total)), np.std(halves, ddof=1)))
    low, high = _wilson(w, r, min(budget, total))
    spread = _REACH * float(np.hypot(robust.error, np.std(robust_halves, ddof=1)))
    # The complete run finds more than its halves; more pages would find as much more again.
    drift = robust.found - float(np.mean(robust_halves))
    worst, best = (_extreme(log, build, chances, relevant) for relevant in (False, True))
    return Estimate(
        policy,
        len(log.taken),
        sum(item.judgement.relevant for item in log.taken),
        robust.found,
        max(0.0, robust.found - spread + min(0.0, drift)),
        min(budget, robust.found + spread + max(0.0, drift)),
        robust.unseen,
        min(worst, best)[0],
        max(worst[1], best[1]),
        weighted_sum,
        max(0.0, min(low, weighted_sum - error)),
        min(budget, max(high, weighted_sum + error)),
        robust.size,
        len(w),
        float(total**2 / (w @ w)) if total else 0.0,
        sum((item.probability or 1.0) < CERTAIN for item in log.taken),
    )


def _harvest(
    log: RunLog, policy: Policy, weights: Mapping[str, float], budget: float
) -> tuple[float, Floats, Floats]:
    """By weights alone: (pages found in `budget`, weight of each page taken, whether it was
    relevant)."""
    taken: list[float] = []
    hits: list[bool] = []
    total = 0.0
    for url, relevant in crawl_partial(log, policy, PartialWeb(log)):
        # The last page takes the remaining weight.
        taken.append(min(weights[url], budget - total))
        hits.append(relevant)
        total += taken[-1]
        if total >= budget - 1e-9:
            break
    w, r = np.array(taken), np.array(hits, dtype=np.float64)
    return float(w @ r), w, r


@dataclass(frozen=True, slots=True)
class RobustSum:
    found: float
    error: float
    """Standard error: of the residuals, of what is relevant among the unseen, of the draws."""
    size: float
    """Pages taken."""
    unseen: float


def _robust(
    log: RunLog,
    build: Callable[[], Policy],
    weights: Mapping[str, float],
    pages: int,
    rng: np.random.Generator,
    draws: int,
) -> tuple[RobustSum, Mapping[str, float]]:
    """The doubly robust sum, mean of so many draws, and the model's chances of each URL."""
    seen = links_to(log)
    chances = chances_of(log, seen, rng)
    sums = []
    for _ in range(draws):
        world = PartialWeb(log, chances, rng)
        taken = [url for url, _ in crawl_partial(log, build(), world, pages)]
        sums.append(doubly_robust(taken, chances, weights, world.relevant))
    within = float(np.mean([item.error**2 for item in sums]))
    between = float(np.var([item.found for item in sums], ddof=1)) if draws > 1 else 0.0
    mean = [float(np.mean([getattr(s, name) for s in sums])) for name in ("size", "unseen")]
    mean_found = float(np.mean([item.found for item in sums]))
    return RobustSum(mean_found, float(np.sqrt(within + between)), *mean), chances


def doubly_robust(
    taken: Sequence[str],
    chances: Mapping[str, float],
    weights: Mapping[str, float],
    relevant: Mapping[str, bool],
) -> RobustSum:
    """Relevant pages among those `taken`: what the model says of all (`chances`), and the weighted
    residuals of those that the run fetched (`relevant`)."""
    fetched = [url for url in taken if url in relevant]
    unseen = [chances[url] for url in taken if url not in relevant]
    w = np.array([weights[url] for url in fetched])
    residuals = np.array([relevant[url] - chances[url] for url in fetched])
    total = sum(chances[url] for url in taken)
    if len(w):
        total += len(taken) * float(w @ residuals / w.sum())
    error = np.hypot(
        _bootstrap(w, residuals, len(taken)), np.sqrt(sum(m * (1 - m) for m in unseen))
    )
    return RobustSum(min(float(len(taken)), max(0.0, total)), float(error), len(taken), len(unseen))


def _extreme(
    log: RunLog, build: Callable[[], Policy], chances: Mapping[str, float], relevant: bool
) -> tuple[float, float]:
    """Relevant pages where every page that the run never fetched is `relevant`, or is not: (those
    that the run saw, those and all that it did not see)."""
    pages = len(log.taken)
    world = PartialWeb(log, dict.fromkeys(chances, float(relevant)), np.random.default_rng(0))
    taken = [url for url, _ in crawl_partial(log, build(), world, pages)]
    seen = sum(world.relevant.get(url, False) for url in taken)
    return float(seen), float(seen + pages - sum(url in world.relevant for url in taken))


def _bootstrap(w: Floats, r: Floats, scale: float) -> float:
    """Standard error of `scale · Σ w r / Σ w` over the pages."""
    if not len(w):
        return 0.0
    draws = np.random.default_rng(0).integers(len(w), size=(RESAMPLES, len(w)))
    shares = (w * r)[draws].sum(1) / w[draws].sum(1)
    return scale * float(shares.std())


_REACH = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
"""Standard errors on either side of an estimate."""


def _wilson(w: Floats, r: Floats, scale: float) -> tuple[float, float]:
    """What an effective sample leaves open of a share, times `scale`: not a point where none or all
    are relevant, as a bootstrap says."""
    if not len(w):
        return 0.0, scale
    size = float(w.sum() ** 2 / (w @ w))
    hits = round(float(w @ r / w.sum()) * size)
    low, high = wilson(hits, max(1, round(size)), _REACH)
    return scale * low, scale * high


def describe(it: Estimate, run: str) -> str:
    """An estimate for a person."""
    lines = [
        f"{it.policy}, had it crawled instead of {run}:",
        f"  would find      {it.found:.0f} relevant pages in {it.pages:,} (doubly robust)",
        f"  95 % interval   {it.low:.0f} … {it.high:.0f}",
        f"  worst … best    {it.worst:.0f} … {it.best:.0f}: nothing, or all, that was never "
        "fetched is relevant",
        f"  by weights      {it.weighted:.0f} ({it.weighted_low:.0f} … "
        f"{it.weighted_high:.0f}), without a model",
        f"  the run found   {it.run_found}",
        f"  the run says    {it.replayed:,} pages of it, an effective sample of {it.effective:.0f}",
        f"  the model says  {it.unseen:,.0f} pages that were never fetched",
        *(f"  warning: {line}" for line in it.warnings),
    ]
    return "\n".join(lines)


def as_json(it: Estimate) -> str:
    """The same for programs."""
    return json.dumps({**asdict(it), "warnings": it.warnings})
