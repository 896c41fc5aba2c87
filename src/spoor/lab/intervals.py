"""Confidence intervals: every interval that the lab reports is one of these."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

CONFIDENCE = 0.95
RESAMPLES = 9_999
FEW = 10
"""Values below which a bootstrap is too narrow."""

Floats = NDArray[np.float64]
Interval = tuple[float, float] | tuple[None, None]
"""(low, high); (None, None) where there are too few values for one."""


def interval(values: Sequence[float] | Floats) -> Interval:
    """95 % interval of a mean: percentile bootstrap, or Student's t below ten values; none for
    fewer than two."""
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2:
        return None, None
    if np.ptp(sample) == 0:
        return float(sample[0]), float(sample[0])
    if len(sample) < FEW:
        from scipy.stats import ttest_1samp  # takes most of a second

        limits = ttest_1samp(sample, 0.0).confidence_interval(CONFIDENCE)
        return float(limits.low), float(limits.high)
    return bootstrap_interval(np.mean, [sample])


def bootstrap_interval(
    statistic: Callable[..., Floats], samples: Sequence[Floats], *, resamples: int = RESAMPLES
) -> Interval:
    """95 % percentile bootstrap interval of a statistic of paired samples; `statistic` takes the
    samples and an `axis`. None where the statistic has no spread."""
    from scipy.stats import bootstrap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all values alike: an interval of width 0
        limits = bootstrap(
            samples,
            statistic,
            paired=len(samples) > 1,
            vectorized=True,
            n_resamples=resamples,
            confidence_level=CONFIDENCE,
            method="percentile",
            rng=np.random.default_rng(0),
        ).confidence_interval
    low, high = float(limits.low), float(limits.high)
    # Where all values are alike, rounding may put the low end above the high one.
    return (None, None) if np.isnan(low) or np.isnan(high) else (low, max(low, high))


def student_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """(mean, half of its 95 % interval by Student's t; None for a single value)."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5
    return mean, _reach(len(values) - 1) * error


def ratio_interval(
    ours: Sequence[float], theirs: Sequence[float]
) -> tuple[float, float | None, float | None]:
    """(ratio of the means, its 95 % interval over the pairs): the ratios r for which `interval` of
    ours − r · theirs has 0 inside. By paired bootstrap, or Fieller's theorem below ten pairs; none
    for a single pair, or where theirs may be 0."""
    one, other = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if not other.any():
        return float("nan"), None, None
    ratio = float(one.mean() / other.mean())
    if len(one) < 2:
        return ratio, None, None
    if not np.any(one - ratio * other):
        return ratio, ratio, ratio
    if len(one) >= FEW:
        return ratio, *bootstrap_interval(_of_means, (one, other))
    # (mean of ours − r theirs)² = t² its variance: a quadratic in r.
    count = len(one)
    spread = np.cov(one, other) / count * _reach(count - 1) ** 2
    a = other.mean() ** 2 - spread[1, 1]
    b = one.mean() * other.mean() - spread[0, 1]
    c = one.mean() ** 2 - spread[0, 0]
    root = b * b - a * c
    if a <= 0 or root < 0:
        return ratio, None, None
    return ratio, float((b - root**0.5) / a), float((b + root**0.5) / a)


def _of_means(first: Floats, second: Floats, axis: int = -1) -> Floats:
    means: Floats = first.mean(axis) / second.mean(axis)
    return means


def _reach(freedom: float) -> float:
    from scipy.stats import t as student

    return float(student.ppf(0.5 + CONFIDENCE / 2, freedom))
