"""What another policy would have harvested, estimated from one run (off-policy evaluation).

A run fetched some of the pages that it knew of, each by a choice whose probability it noted. The
other policy crawls the web *as the run saw it*: the pages that the run fetched, and the links
between them. Every page that it takes there stands for pages like it, which the run could as well
have fetched and did not, with the weight 1/e, where e is the chance that the run fetched this page
at all: e = 1 − (1 − p)^T, with p the probability of the choice that took it and T the choices made
since its link was first seen, as if p had been its probability all that time. The other policy's
crawl ends when its pages stand for as many as the budget; the harvest is the weight of the relevant
ones. A page with p = 1 stands for itself alone.

This is importance weighting decision by decision (`weighted`). Weights of whole crawls, products
over thousands of choices, would leave an effective sample of one page. It cannot see pages that the
run had no chance to take; so nothing is said of a run whose policy took every link with
probability 1.

The doubly robust estimate (`found`) lets the other policy crawl the web *as far as the run knew of
it*: links that were left open, too. What stands behind an open link is told by a model, fitted to
the run's own pages, of how likely a page is relevant by the links to it; it answers with the
content of a page of the run that is relevant or not, as was drawn, and with no links of its own.
Over the pages S that the other policy takes, m what the model says of a page that it was not
fitted to, and r what the run saw,

    Σ_S m + |S| · Σ_{S, fetched} w (r − m) / Σ_{S, fetched} w,    w = 1/e.

Where the model is right the sum is right whatever the weights are; where it is wrong, the weighted
residuals of the pages that the run happened to fetch correct it. What neither can tell is where the
links of unfetched pages lead. `worst` and `best` say what cannot be known at all: the same crawl
with every page that the run never fetched taken for irrelevant, or for relevant.

The intervals hold the spread over the pages taken (bootstrap), over what was drawn, and over halves
of the run, together; the doubly robust one also what half a run sees too little of, since the
whole sees too little in the same way. How often they hold the truth is measured by
benchmarks/whatif.py: docs/guides/lab.md.

Horvitz and Thompson, JASA 47, 1952; Hájek, Annals of Mathematical Statistics 35, 1964; Precup,
Sutton and Singh, "Eligibility traces for off-policy policy evaluation", ICML 2000 (by decision); Li
et al., "Unbiased offline evaluation of contextual-bandit-based news article recommendation
algorithms", WSDM 2011 (replay); Swaminathan and Joachims, "The self-normalized estimator for
counterfactual learning", NIPS 2015. Doubly robust: Cassel, Särndal and Wretman, Biometrika 63, 1976
(the sum above, of a finite population); Dudík, Langford and Li, ICML 2011; Jiang and Li, ICML 2016;
Thomas and Brunskill, ICML 2016 (weighted); fitted to other pages: Chernozhukov et al.,
Econometrics Journal 21, 2018. Worst and best: Manski, American Economic Review 80, 1990.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, hstack
from scipy.special import expit
from scipy.stats import binomtest

from spoor import registry
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.formats.warc_reader import Warc
from spoor.frontier.memory import MemoryFrontier
from spoor.protocols import LookAhead, Policy
from spoor.replay_driver import Replay
from spoor.runs.assemble import judge_and_topic
from spoor.runs.reader import Run
from spoor.runs.snapshot import settings_of
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
from spoor.web.text import STOP_WORDS, Vectors, stem, tokens
from spoor.web.urls import words as url_words

CONFIDENCE = 0.95
RESAMPLES = 2_000
FEW = 30
"""Effective pages below which an estimate says little."""

HALVES = 10
"""Halves of the run from which the spread by what it happened to fetch is taken."""

DRAWS = 4
"""Times that what stands behind open links is drawn."""

FOLDS = 5
BITS = 14
KEEP = 8
"""Links to a page by which it is known."""

Floats = NDArray[np.float64]

HARDLY = 0.75
"""Share of unseen pages from which on an estimate is hardly more than its model."""

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
    open: Collection[str] | None = None
    """URLs that it knew and never asked for; None: all that its pages link to."""
    failed: Collection[str] = ()
    """URLs that brought no page."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What another policy would have found, as far as a run can tell."""

    policy: str
    pages: int
    """The budget that the estimate is for: pages of the run."""
    run_found: int
    """What the run itself found."""
    found: float
    """Doubly robust."""
    low: float
    high: float
    """95 % interval of `found`."""
    unseen: float
    """Pages of these that the run never fetched: the model speaks for them."""
    worst: float
    best: float
    """Were none of those relevant, or all."""
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
        """What makes the estimate weak, in one line each."""
        said = []
        if self.effective < FEW:
            said.append(
                f"the effective sample is {self.effective:.0f} pages: too few to rely on; a run of "
                "more pages, or one that explores more, says more"
            )
        if self.reached < 0.9 * self.pages:
            said.append(
                f"{self.policy} comes to only {self.reached:.0f} pages by the links that this run "
                f"saw, not to {self.pages}: what lies behind them is not known"
            )
        if self.unseen > HARDLY * self.pages:
            said.append(
                f"{self.unseen:.0f} of the {self.pages} pages that {self.policy} would take were "
                "never fetched: a model of what their links say speaks for them"
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

    def build() -> Policy:
        return _policy(log, policy, params, model, seed)

    found, w, r = _harvest(log, build(), weights, budget)
    total = float(w.sum())
    rng = np.random.default_rng(seed)
    robust, chances = _robust(log, build, weights, len(log.taken), rng, DRAWS)
    first = _beginnings(log)
    halves, robust_halves = [], []
    for _ in range(HALVES):
        half = _half(log, rng)
        # A page stands for twice as many where every second one is left out; a seed for itself.
        heavier = {url: value if url in first else 2 * value for url, value in weights.items()}
        halves.append(_harvest(half, build(), heavier, budget)[0])
        robust_halves.append(_robust(half, build, heavier, len(log.taken), rng, 1)[0].found)
    reach = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    error = reach * float(np.hypot(_bootstrap(w, r, min(budget, total)), np.std(halves, ddof=1)))
    low, high = _wilson(w, r, min(budget, total))
    spread = reach * float(np.hypot(robust.error, np.std(robust_halves, ddof=1)))
    # What the whole found beyond its halves, more pages yet would find beyond the whole.
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
        found,
        max(0.0, min(low, found - error)),
        min(budget, max(high, found + error)),
        robust.size,
        len(w),
        float(total**2 / (w @ w)) if total else 0.0,
        sum((item.probability or 1.0) < NEVER for item in log.taken),
    )


def _harvest(
    log: Log, policy: Policy, weights: Mapping[str, float], budget: float
) -> tuple[float, Floats, Floats]:
    """By weights alone: (pages found in `budget`, weight of each page taken, whether it was
    relevant)."""
    taken: list[float] = []
    hits: list[bool] = []
    total = 0.0
    for url, relevant in _crawl(log, policy, _Known(log)):
        # The last one stands for what is left.
        taken.append(min(weights[url], budget - total))
        hits.append(relevant)
        total += taken[-1]
        if total >= budget - 1e-9:
            break
    w, r = np.array(taken), np.array(hits, dtype=np.float64)
    return float(w @ r), w, r


@dataclass(frozen=True, slots=True)
class _Sum:
    found: float
    error: float
    """Standard error: of the residuals, of what is relevant among the unseen, of the draws."""
    size: float
    """Pages taken."""
    unseen: float


def _robust(
    log: Log,
    build: Callable[[], Policy],
    weights: Mapping[str, float],
    pages: int,
    rng: np.random.Generator,
    draws: int,
) -> tuple[_Sum, Mapping[str, float]]:
    """The doubly robust sum, mean of so many draws, and the model's chances of each URL."""
    seen = _links_to(log)
    chances = _chances(log, seen, rng)
    sums = []
    for _ in range(draws):
        world = _Known(log, chances, rng)
        taken = [url for url, _ in _crawl(log, build(), world, pages)]
        sums.append(doubly_robust(taken, chances, weights, world.relevant))
    within = float(np.mean([one.error**2 for one in sums]))
    between = float(np.var([one.found for one in sums], ddof=1)) if draws > 1 else 0.0
    mean = [float(np.mean([getattr(s, name) for s in sums])) for name in ("size", "unseen")]
    found = float(np.mean([one.found for one in sums]))
    return _Sum(found, float(np.sqrt(within + between)), *mean), chances


def doubly_robust(
    taken: Sequence[str],
    chances: Mapping[str, float],
    weights: Mapping[str, float],
    relevant: Mapping[str, bool],
) -> _Sum:
    """Relevant pages among those `taken`: what the model says of all (`chances`), and the weighted
    residuals of those that the run fetched (`relevant`)."""
    fetched = [url for url in taken if url in relevant]
    unseen = [chances[url] for url in taken if url not in relevant]
    w = np.array([weights[url] for url in fetched])
    residuals = np.array([relevant[url] - chances[url] for url in fetched])
    told = sum(chances[url] for url in taken)
    if len(w):
        told += len(taken) * float(w @ residuals / w.sum())
    error = np.hypot(
        _bootstrap(w, residuals, len(taken)), np.sqrt(sum(m * (1 - m) for m in unseen))
    )
    return _Sum(min(float(len(taken)), max(0.0, told)), float(error), len(taken), len(unseen))


def _extreme(
    log: Log, build: Callable[[], Policy], chances: Mapping[str, float], relevant: bool
) -> tuple[float, float]:
    """Relevant pages where every page that the run never fetched is `relevant`, or is not: (those
    that the run saw, those and all that it did not see)."""
    pages = len(log.taken)
    world = _Known(log, dict.fromkeys(chances, float(relevant)), np.random.default_rng(0))
    taken = [url for url, _ in _crawl(log, build(), world, pages)]
    seen = sum(world.relevant.get(url, False) for url in taken)
    return float(seen), float(seen + pages - sum(url in world.relevant for url in taken))


def _beginnings(log: Log) -> set[str]:
    """URLs of the pages that its seeds lead to."""
    return {_end(url, log.redirects) for url in log.seeds}


def _half(log: Log, rng: np.random.Generator) -> Log:
    """The run with every page but its seeds left out with probability ½."""
    drawn, first = rng.random(len(log.taken)) < 0.5, _beginnings(log)
    kept = [keep or item.page.url in first for item, keep in zip(log.taken, drawn, strict=True)]
    taken = [item for item, keep in zip(log.taken, kept, strict=True) if keep]
    left_out = {item.page.url for item, keep in zip(log.taken, kept, strict=True) if not keep}
    return replace(log, taken=taken, open=None if log.open is None else left_out.union(log.open))


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


# ---------------------------------------------------------------- the model


def _links_to(log: Log) -> dict[str, list[tuple[Taken, Link]]]:
    """URL of a page → links to it on pages of the run, the first `KEEP`."""
    seen: dict[str, list[tuple[Taken, Link]]] = {}
    for item in log.taken:
        for at, url in enumerate(urls_of(item.page.links)):
            end = _end(url, log.redirects)
            told = seen.setdefault(end, [])
            if len(told) < KEEP and end != item.page.url:
                told.append((item, item.page.links[at]))
    return seen


def _chances(
    log: Log, seen: Mapping[str, Sequence[tuple[Taken, Link]]], rng: np.random.Generator
) -> dict[str, float]:
    """URL → the chance that its page is relevant, of pages that the run fetched and of links that
    it left open: logistic regression on the links to it, each fetched page judged by a fit to other
    pages."""
    fetched = {item.page.url: float(item.judgement.relevant) for item in log.taken}
    known = seen.keys() if log.open is None else seen.keys() & set(log.open)
    open_ = sorted(known - fetched.keys() - set(log.failed))
    sparse, dense = _features([*fetched, *open_], seen, log.topic)
    y, n = np.array([*fetched.values()]), len(fetched)
    folds = min(FOLDS, n)
    if folds < 2:
        return dict.fromkeys([*fetched, *open_], 0.5)
    fold = rng.permutation(n) % folds
    chances = np.zeros(n + len(open_))
    for one in range(folds):
        others, mine = np.flatnonzero(fold != one), np.flatnonzero(fold == one)
        weights = _logistic(sparse[others], dense[others], y[others])
        chances[mine] = _logit(sparse[mine], dense[mine], weights)
        chances[n:] += _logit(sparse[n:], dense[n:], weights) / folds
    return dict(zip([*fetched, *open_], chances.tolist(), strict=True))


DENSE = 7
"""Plain numbers of a page: see `_features`."""


def _features(
    urls: Sequence[str], seen: Mapping[str, Sequence[tuple[Taken, Link]]], topic: Topic
) -> tuple[Any, Floats]:
    """Hashed words (sparse) and plain numbers of pages by the links to them."""
    wanted = frozenset(stem(word for word in tokens(topic.text) if word not in STOP_WORDS))
    rows: list[int] = []
    columns: list[int] = []
    values: list[float] = []
    dense = np.zeros((len(urls), DENSE))
    for row, url in enumerate(urls):
        links = seen.get(url, ())
        share = 1.0 / max(1, len(links))
        told: dict[str, float] = defaultdict(float)
        named = set(stem(word for part in url_words(url)[1:] for word in part))
        told |= dict.fromkeys([f"url {word}" for word in named], 1.0)
        told[f"directory {url.rpartition('/')[0]}"] = 1.0
        numbers = dense[row]
        numbers[0], numbers[1] = 1.0, bool(named & wanted)
        for item, link in links:
            anchor = link.anchor
            words = set(stem(tokens(anchor.text)))
            around = set(stem(tokens(anchor.before)[-10:] + tokens(anchor.after)[:10]))
            heading = set(stem(tokens(anchor.headings[-1]))) if anchor.headings else set[str]()
            for kind, some, weight in (
                ("anchor", words, 1.0),
                ("around", around, 0.5),
                ("heading", heading, 0.5),
                ("path", {anchor.tag_path}, 0.5),
            ):
                for word in some:
                    told[f"{kind} {word}"] += weight * share
            hit = item.judgement.relevant
            numbers[2] += share * bool(words & wanted)
            numbers[3] += share * bool(around & wanted)
            numbers[4] += share * hit
            numbers[5] = max(numbers[5], hit)
        numbers[6] = np.log1p(len(links))
        rows += [row] * len(told)
        columns += [crc32(name.encode()) & ((1 << BITS) - 1) for name in told]
        values += told.values()
    return csr_matrix((values, (rows, columns)), shape=(len(urls), 1 << BITS)), dense


def _logistic(sparse: Any, dense: Floats, y: Floats) -> Floats:
    """Weights of a logistic regression with a Gaussian prior, by Newton's method."""
    used = np.unique(sparse.indices)
    x = hstack([csr_matrix(dense), sparse[:, used]], format="csr")
    xt = x.T.tocsr()
    precision = np.concatenate([[1e-3], np.full(DENSE - 1, 0.3), np.full(len(used), 2.0)])

    def loss(b: Floats) -> float:
        z = x @ b
        return float(np.sum(np.logaddexp(0.0, z) - y * z) + 0.5 * np.sum(precision * b * b))

    def slope(b: Floats) -> Floats:
        gradient: Floats = xt @ (expit(x @ b) - y) + precision * b
        return gradient

    def curvature(b: Floats, v: Floats) -> Floats:
        p = expit(x @ b)
        product: Floats = xt @ (p * (1.0 - p) * (x @ v)) + precision * v
        return product

    start = np.zeros(x.shape[1])
    # To a thousandth of a unit of log-odds: no chance is told more exactly.
    found = minimize(
        loss, start, method="Newton-CG", jac=slope, hessp=curvature, options={"xtol": 1e-3}
    ).x
    weights = np.zeros(DENSE + (1 << BITS))
    weights[:DENSE], weights[DENSE + used] = found[:DENSE], found[DENSE:]
    return weights


def _logit(sparse: Any, dense: Floats, weights: Floats) -> Floats:
    chances: Floats = expit(dense @ weights[:DENSE] + sparse @ weights[DENSE:])
    return chances


# ---------------------------------------------------------------- the web as far as it is known


class _Known:
    """The web as the run saw it, and its verdicts. Without `chances` links lead to pages that it
    fetched only; with them also to open ones, of which what they hold is drawn."""

    def __init__(
        self,
        log: Log,
        chances: Mapping[str, float] | None = None,
        rng: np.random.Generator | None = None,
    ) -> None:
        self._log = log
        self._taken = {item.page.url: item for item in log.taken}
        self._chances = {} if chances is None else chances
        self._rng = rng or np.random.default_rng(0)
        self._pages: dict[str, Page] = {}
        self._drawn: dict[str, Judgement] = {}
        self._failing = len(log.failed) / max(1, len(log.failed) + len(log.taken))
        self.relevant = {url: item.judgement.relevant for url, item in self._taken.items()}

    def answer(self, fetch: Fetch) -> Reply:
        end = _end(fetch.url, self._log.redirects)
        if not self._leads(end):
            return Failed(fetch.ticket, "absent", "not fetched by the run")
        if end != fetch.url:
            return Redirected(fetch.ticket, end)
        page = self._page(end)
        return Failed(fetch.ticket, "absent") if page is None else Fetched(fetch.ticket, page)

    def judge(self, page: Page) -> Judgement:
        item = self._taken.get(page.url)
        return self._drawn[page.url] if item is None else item.judgement

    def _page(self, url: str) -> Page | None:
        if url not in self._taken:
            return self._draw(url)
        if url not in self._pages:
            page = self._taken[url].page
            ends = (_end(to, self._log.redirects) for to in urls_of(page.links))
            inside = [page.links[at] for at, end in enumerate(ends) if self._leads(end)]
            self._pages[url] = replace(page, links=inside)
        return self._pages[url]

    def _leads(self, end: str) -> bool:
        return end in self._taken or end in self._chances

    def _draw(self, url: str) -> Page | None:
        """A page of the run in place of one that it never fetched."""
        if self._rng.random() < self._failing:
            return None
        relevant = bool(self._rng.random() < self._chances[url])
        alike = [item for item in self._log.taken if item.judgement.relevant == relevant]
        donors = alike or self._log.taken
        donor = donors[int(self._rng.integers(len(donors)))]
        bare = Judgement(float(relevant), relevant, float(relevant))
        self._drawn[url] = donor.judgement if alike else bare
        return replace(donor.page, url=url, links=())


def _policy(
    log: Log, policy: str, params: Mapping[str, Any] | None, model: State | None, seed: int
) -> Policy:
    if policy in registry.LAB_ONLY:
        raise InputError(f"{policy} knows the whole web, which no run does")
    vectors = Vectors.read(log.vectors) if log.vectors else None
    task = Task(np.random.default_rng(seed), log.topic, model, vectors=vectors)
    made: Policy = registry.build("policies", policy, task, settings=params)
    if isinstance(made, LookAhead) and made.look_ahead:
        raise InputError(f"{policy} looks ahead: what it expands is not chosen among links")
    return made


def _crawl(
    log: Log, policy: Policy, world: _Known, pages: int | None = None
) -> Iterator[tuple[str, bool]]:
    """URL of each page that a policy takes of a world, and whether it is relevant."""
    crawl = Crawl(policy, world, MemoryFrontier(), pages=pages)
    crawl.seed(log.seeds)
    for outcome in Replay(crawl, world):
        if outcome.page is not None and outcome.judgement is not None:
            yield outcome.page.url, outcome.judgement.relevant


# ---------------------------------------------------------------- the log of a run


def read_log(path: Path) -> Log:
    """What a live run did, from its folder. Raises InputError for one without pages or archive."""
    settings, run = settings_of(path), Run(path)
    rows = sorted(run.pages(), key=lambda row: row.ticket)
    failed = {row.url for row in run.failures()}
    if not rows:
        raise InputError(f"{path}: the run has fetched nothing yet")
    pages: dict[str, Page] = {}
    redirects: dict[str, str] = {}
    for file in run.archives:
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
            pages[row.url],
            Judgement(row.score, row.relevant, float(row.relevant)),
            row.probability,
        )
        for row in rows
        if row.url in pages
    ]
    if not taken:
        raise InputError(f"{path}: none of its pages is in its archive; crawl without --no-warc")
    _, subject = judge_and_topic(settings)
    return Log(
        settings.seeds,
        taken,
        subject.topic if subject else Topic(),
        {url: end for url, end in redirects.items() if url not in pages},
        settings.policy,
        settings.vectors,
        len(rows) - len(taken),
        run.open_urls(),
        failed,
    )


def describe(told: Estimate, run: str) -> str:
    """An estimate for a person."""
    lines = [
        f"{told.policy}, had it crawled instead of {run}:",
        f"  would find      {told.found:.0f} relevant pages in {told.pages:,} (doubly robust)",
        f"  95 % interval   {told.low:.0f} … {told.high:.0f}",
        f"  worst … best    {told.worst:.0f} … {told.best:.0f}: nothing, or all, that was never "
        "fetched is relevant",
        f"  by weights      {told.weighted:.0f} ({told.weighted_low:.0f} … "
        f"{told.weighted_high:.0f}), without a model",
        f"  the run found   {told.run_found}",
        f"  the run says    {told.replayed:,} pages of it, an effective sample of "
        f"{told.effective:.0f}",
        f"  the model says  {told.unseen:,.0f} pages that were never fetched",
        *(f"  warning: {line}" for line in told.warnings),
    ]
    return "\n".join(lines)


def as_json(told: Estimate) -> str:
    """The same for programs."""
    return json.dumps({**asdict(told), "warnings": told.warnings})
