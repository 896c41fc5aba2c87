"""Compares contenders: paired differences with intervals and tests, corrected for their number.

What is paired is a *crawl*: the same web, site and target, each policy's seeds averaged first, so
that a policy with many seeds does not count more than one with nothing random in it: seeds alone
say nothing of another site. A fleet's pair is a web, a sequence of tasks' a topic. A difference is
claimed where two things agree: its 95 % interval leaves out 0, and a permutation test of the signs
(exact up to 13 pairs) does, after correction. Five pairs or fewer can therefore show nothing: that
test has no p below 0.0625. What a paper claims is decided by the same rule (`answer`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.errors import InputError
from spoor.lab.intervals import CONFIDENCE, RESAMPLES, interval
from spoor.lab.results import Results, contender_of
from spoor.registry import nearest

PAIRS = ("crawl", "site", "seed")
"""What is paired: every site and target; every site, its targets averaged; every seed of those."""

CORRECTIONS = ("holm", "fdr", "none")

HOLDS, FAILS, UNTOLD = ANSWERS = ("holds", "does not hold", "cannot be told at this size")

MEASURE = {
    "harvest": "auc",
    "bins": "accuracy",
    "tasks": "found_share",
    "fleets": "share_found",
    "shards": "found",
}
"""What is compared by default, by the kind of an experiment."""

LESS_IS_BETTER = ("requests_to", "age_hours", "delay_hours", "seconds", "cpu_seconds", "peak_rss")

Key = tuple[str, ...]
Units = Mapping[Key, Mapping[str, float]]
"""Pair → contender → value."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One contender against another; all differences are in favour of `one` where positive."""

    one: str
    other: str
    pairs: int
    wins: int
    ties: int
    losses: int
    """Pairs in which `one` is better, the same, worse."""
    difference: float
    """Mean over the pairs."""
    low: float | None = None
    high: float | None = None
    """95 % interval over the pairs; None for a single pair."""
    p: float | None = None
    """Two-sided, by permutation of signs."""
    adjusted: float | None = None
    """The same, corrected."""

    @property
    def verdict(self) -> str:
        """`win`, `loss` or `tie` of `one` at 95 %; `tie` where the pairs do not decide."""
        return self._verdict(self.adjusted)

    @property
    def uncorrected(self) -> str:
        """The verdict without correction, for claims that a contender does *not* lose."""
        return self._verdict(self.p)

    def _verdict(self, p: float | None) -> str:
        if p is None or self.low is None or self.high is None or p >= 1 - CONFIDENCE:
            return "tie"
        if self.low > 0:
            return "win"
        return "loss" if self.high < 0 else "tie"

    @property
    def swapped(self) -> Comparison:
        """The same, seen from the other."""
        return replace(
            self,
            one=self.other,
            other=self.one,
            wins=self.losses,
            losses=self.wins,
            difference=-self.difference,
            low=None if self.high is None else -self.high,
            high=None if self.low is None else -self.low,
        )


# ---------------------------------------------------------------- what is paired


def value(row: Mapping[str, Any], measure: str) -> float | None:
    """A figure of a cell, under its name in `cells.csv`. What was never reached costs all pages."""
    if measure.startswith("requests_to_"):
        if not row.get("targets_reachable"):
            return None
        share = row["requests_to"][measure.removeprefix("requests_to_")]
        return 1.0 if share is None else float(share)
    if measure == "found_share":
        targets = row["targets_reachable"]
        return row["found"] / targets if targets else None
    if measure == "found_by_half":
        curve, targets = row["curve"], row["targets_reachable"]
        return curve[(len(curve) - 1) // 2][1] / targets if targets else None
    if measure in WINDOWED:
        return WINDOWED[measure](row["windows"])
    if measure.startswith("relevance_"):
        first, last = map(int, measure.split("_")[1:])
        return float(sum(row["intervals"][first : last + 1]))
    number = row.get(measure)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    return float(number)


Windows = Sequence[Sequence[float | None]]
"""Of a fleet's run, 3 hours each; [1] is what was downloaded, [3] what of it was relevant."""

DAY = 8
"""Windows of a day."""


def _unevenness(windows: Windows) -> float | None:
    """Standard deviation of a fleet's download efficiency from window to window, over its mean."""
    shares = [_efficiency([window]) for window in windows]
    mean = float(np.mean(shares)) if shares else 0.0
    return float(np.std(shares)) / mean if mean else None


def _later_efficiency(windows: Windows) -> float | None:
    """Download efficiency of the last day over that of the second: the first has all that was new
    when the run began. None for fewer than three days."""
    second = _efficiency(windows[DAY : 2 * DAY])
    return _efficiency(windows[-DAY:]) / second if len(windows) >= 3 * DAY and second else None


def _efficiency(windows: Windows) -> float:
    relevant, downloaded = (sum(float(window[at] or 0) for window in windows) for at in (3, 1))
    return relevant / max(1.0, downloaded)


WINDOWED = {"unevenness": _unevenness, "later_efficiency": _later_efficiency}
"""Measures of a fleet that are made from its windows."""


def check_measure(results: Sequence[Results], measure: str) -> None:
    """Raises InputError for a measure that no cell has."""
    row = results[0].rows[0]
    names = [name for name, cell in row.items() if value(row, name) is not None and cell != ""]
    names += [f"requests_to_{share}" for share in row.get("requests_to", ())]
    names += ["found_share"] if "targets_reachable" in row else []
    rows = (row for item in results for row in item.rows)
    if measure not in names and all(value(row, measure) is None for row in rows):
        raise InputError(
            f"no cell has a measure {measure!r}{nearest(measure, names)}; there are: "
            f"{', '.join(names)}"
        )


def units(results: Sequence[Results], measure: str, by: str = "crawl") -> Units:
    """The values of a measure by pair and contender, the mean over seeds; by seed, a contender with
    fewer seeds than others has its mean in each seed's pair."""
    measured: dict[Key, dict[str, dict[int, list[float]]]] = {}
    for item in results:
        for row in item.rows:
            number = value(row, measure)
            if number is not None:
                key = _key(row, by)
                seeds = measured.setdefault(key, {}).setdefault(contender_of(row), {})
                seeds.setdefault(int(row["seed"]), []).append(number)
    if by == "seed":
        return _by_seed(measured)
    return {
        key: {
            name: float(np.mean([np.mean(values) for values in seeds.values()]))
            for name, seeds in contenders.items()
        }
        for key, contenders in measured.items()
    }


def _key(row: Mapping[str, Any], by: str) -> Key:
    if "fleet" in row:
        return (str(row["web"]), str(row.get("drawn", "")))
    if "topic" in row and "task" in row:
        return (str(row["topic"]),)
    place = (str(row["web"]), str(row.get("site") or row["root"]))
    return place if by == "site" else (*place, str(row["target"]))


def _by_seed(measured: Mapping[Key, Mapping[str, Mapping[int, Sequence[float]]]]) -> Units:
    pairs: dict[Key, dict[str, float]] = {}
    for key, contenders in measured.items():
        for seed in sorted({seed for seeds in contenders.values() for seed in seeds}):
            pair = pairs[(*key, str(seed))] = {}
            for name, seeds in contenders.items():
                if seed in seeds:
                    pair[name] = float(np.mean(seeds[seed]))
                elif len(seeds) == 1:  # nothing random in it
                    pair[name] = float(np.mean(next(iter(seeds.values()))))
    return pairs


# ---------------------------------------------------------------- one against another


def paired(
    one: str, other: str, pairs: Sequence[tuple[float, float]], *, less: bool = False
) -> Comparison:
    """The comparison of (one, other) values; `less`: the smaller value is the better one."""
    difference = np.array([a - b for a, b in pairs]) * (-1.0 if less else 1.0)
    difference[np.abs(difference) < 1e-12] = 0.0
    low, high = interval(difference)
    return Comparison(
        one,
        other,
        len(difference),
        int((difference > 0).sum()),
        int((difference == 0).sum()),
        int((difference < 0).sum()),
        float(difference.mean()) if len(difference) else 0.0,
        low,
        high,
        sign_test(difference) if len(difference) > 1 else None,
    )


def answer(pairs: Sequence[tuple[float, float]], low: float | None, high: float | None) -> str:
    """One of `ANSWERS` to the claim that `one` is more than `low` and less than `high` times
    `other` (None: no such limit), for (one, other) values.

    It holds where `one` differs from each limit to the inside, and does not where it differs from
    one of them to the outside, as `Comparison.uncorrected` claims a difference; else it cannot be
    told."""
    inside: list[str] = []
    for limit, side in ((low, "win"), (high, "loss")):
        if limit is not None:
            told = paired("", "", [(one, limit * other) for one, other in pairs]).uncorrected
            inside.append(UNTOLD if told == "tie" else HOLDS if told == side else FAILS)
    return next((state for state in (FAILS, UNTOLD) if state in inside), HOLDS)


def sign_test(difference: NDArray[np.float64]) -> float:
    """Two-sided p that paired differences have mean 0, by permutation of their signs: all of them
    where these are no more than `RESAMPLES`, else so many that are drawn."""
    if not difference.any():
        return 1.0
    if 2 ** len(difference) <= RESAMPLES:
        return _exact_sign_test(difference)
    from scipy.stats import permutation_test  # takes most of a second

    def mean(x: NDArray[np.float64], y: NDArray[np.float64], axis: int = -1) -> Any:
        return np.mean(x - y, axis=axis)

    result = permutation_test(
        (difference, np.zeros_like(difference)),
        mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(0),
    )
    return float(result.pvalue)


def _exact_sign_test(difference: NDArray[np.float64]) -> float:
    """As SciPy has it, which asks for each choice of signs by itself."""
    pairs = np.arange(len(difference))
    signs = 1.0 - 2.0 * ((np.arange(2 ** len(difference))[:, None] >> pairs) & 1)
    means, observed = np.mean(signs * difference, axis=1), float(np.mean(difference))
    near = 100 * np.finfo(np.float64).eps * abs(observed)
    less, more = np.mean(means <= observed + near), np.mean(means >= observed - near)
    return min(1.0, 2.0 * float(min(less, more)))


def _false_discovery(p: Sequence[float]) -> Sequence[float]:
    from scipy.stats import false_discovery_control

    return false_discovery_control(p).tolist() if p else []


def corrected(comparisons: Sequence[Comparison], how: str = "holm") -> list[Comparison]:
    """The comparisons with their p corrected for how many there are: `holm` (no false claim at all
    in 95 % of such tables), `fdr` (5 % of the claims false, Benjamini and Hochberg) or `none`."""
    tested = [comparison.p for comparison in comparisons if comparison.p is not None]
    adjust: Callable[[Sequence[float]], Sequence[float]] = {
        "holm": holm,
        "fdr": _false_discovery,
        "none": lambda p: p,
    }[how]
    new = iter(adjust(tested))
    return [
        comparison if comparison.p is None else replace(comparison, adjusted=next(new))
        for comparison in comparisons
    ]


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction."""
    order = np.argsort(p, kind="stable")
    steps = [min(1.0, (len(p) - rank) * p[place]) for rank, place in enumerate(order)]
    adjusted = np.empty(len(p))
    adjusted[order] = list(itertools.accumulate(steps, max))
    return [float(value) for value in adjusted]


# ---------------------------------------------------------------- all of them


def contenders(
    results: Sequence[Results],
    one: str,
    other: str,
    *,
    measure: str = "",
    by: str = "crawl",
    correct: str = "holm",
) -> list[Comparison]:
    """Two contenders: over all there is, then web by web and target by target. Raises InputError
    for a name that nothing has."""
    names = list(dict.fromkeys(name for item in results for name in item.contenders))
    for name in (one, other):
        if name not in names:
            raise InputError(
                f"nothing is called {name!r}{nearest(name, names)}; there are: {', '.join(names)}"
            )
    measure, less = _measure(results, measure)
    pairs = units(results, measure, by)
    groups: dict[str, list[tuple[float, float]]] = {"all": []}
    for key, values in pairs.items():
        if one in values and other in values:
            pair = (values[one], values[other])
            groups["all"].append(pair)
            groups.setdefault(", ".join((key[0], *key[2:3])), []).append(pair)
    if len(groups) == 2:
        groups.pop(list(groups)[1])
    comparisons = [paired(one, other, rows, less=less) for rows in groups.values()]
    comparisons = corrected(comparisons, correct)
    return [
        comparison if name == "all" else replace(comparison, one=f"{comparison.one} ({name})")
        for name, comparison in zip(groups, comparisons, strict=True)
    ]


def folders(
    first: Sequence[Results],
    second: Sequence[Results],
    *,
    measure: str = "",
    by: str = "crawl",
    correct: str = "holm",
) -> list[Comparison]:
    """Every contender that both have, the first's results against the second's: two versions of
    the code, two sets of settings. Raises InputError where they have none in common."""
    measure, less = _measure(first, measure)
    ours, theirs = (units(results, measure, by) for results in (first, second))
    names = [name for item in first for name in item.contenders]
    there = {name for item in second for name in item.contenders}
    common = [name for name in dict.fromkeys(names) if name in there]
    comparisons = []
    for name in common:
        pairs = [
            (values[name], theirs[key][name])
            for key, values in ours.items()
            if name in values and name in theirs.get(key, {})
        ]
        if pairs:
            comparisons.append(paired(name, name, pairs, less=less))
    if not comparisons:
        raise InputError("the two have no contender, web and target in common")
    return corrected(comparisons, correct)


def matrix(
    results: Sequence[Results], *, measure: str = "", by: str = "crawl", correct: str = "holm"
) -> dict[tuple[str, str], Comparison]:
    """(one, other) → their comparison, for every pair of contenders that met; corrected for all of
    them together."""
    measure, less = _measure(results, measure)
    pairs = units(results, measure, by)
    names = list(dict.fromkeys(name for item in results for name in item.contenders))
    comparisons = []
    for one, other in itertools.combinations(names, 2):
        met = [
            (values[one], values[other])
            for values in pairs.values()
            if one in values and other in values
        ]
        if met:
            comparisons.append(paired(one, other, met, less=less))
    table: dict[tuple[str, str], Comparison] = {}
    for comparison in corrected(comparisons, correct):
        table[comparison.one, comparison.other] = comparison
        table[comparison.other, comparison.one] = comparison.swapped
    return table


def _measure(results: Sequence[Results], measure: str) -> tuple[str, bool]:
    measure = measure or MEASURE[results[0].kind]
    check_measure(results, measure)
    return measure, measure.startswith(LESS_IS_BETTER)


def never_losing(table: Mapping[tuple[str, str], Comparison]) -> list[str]:
    """Contenders that win or tie against every other that they met. Losses count without the
    correction here: the more a table is corrected, the more of it is ties."""
    names = dict.fromkeys(first for first, _ in table)
    return [
        name
        for name in names
        if all(
            comparison.uncorrected != "loss"
            for (first, _), comparison in table.items()
            if first == name
        )
    ]


def line(comparison: Comparison) -> list[str]:
    """A comparison as the cells of a table: who, difference, interval, pairs, p, verdict."""
    it = comparison
    return [
        it.one,
        it.other,
        f"{it.difference:+.3f}",
        "–" if it.low is None else f"{it.low:+.3f} … {it.high:+.3f}",
        f"{it.wins} : {it.ties} : {it.losses}",
        "–" if it.adjusted is None else f"{it.adjusted:.4f}",
        it.verdict if it.p is not None else "one pair: no claim",
    ]


HEAD = (
    "contender",
    "against",
    "difference",
    "95 %",
    "better : same : worse",
    "p, corrected",
    "verdict",
)
