"""Confidence intervals: every interval that the lab reports is one of these."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap, ttest_1samp
from scipy.stats import t as student

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
        limits = ttest_1samp(sample, 0.0).confidence_interval(CONFIDENCE)
        return float(limits.low), float(limits.high)
    return bootstrap_interval(np.mean, [sample])


def bootstrap_interval(
    statistic: Callable[..., Floats], samples: Sequence[Floats], *, resamples: int = RESAMPLES
) -> Interval:
    """95 % percentile bootstrap interval of a statistic of paired samples; `statistic` takes the
    samples and an `axis`. None where the statistic has no spread."""
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


def welch_interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float | None]:
    """(mean difference, half of its 95 % interval by Welch's t; None for single values)."""
    difference = float(np.mean(first) - np.mean(second))
    if len(first) < 2 or len(second) < 2:
        return difference, None
    a, b = (float(np.var(values, ddof=1)) / len(values) for values in (first, second))
    if a + b == 0.0:
        return difference, 0.0
    freedom = (a + b) ** 2 / (a**2 / (len(first) - 1) + b**2 / (len(second) - 1))
    return difference, _reach(freedom) * (a + b) ** 0.5


def _reach(freedom: float) -> float:
    return float(student.ppf(0.5 + CONFIDENCE / 2, freedom))
