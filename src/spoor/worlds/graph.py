"""Measures of a web's link graph, given as compressed sparse rows.

Reach and depth need NumPy only. Degree exponents are fitted by the library `powerlaw`, clustering
is igraph's; both come with the extra `graph`. Measures that take too long on a large graph are
estimated from a sample of pages, with an error.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spoor.distribution import import_extra

Offsets = NDArray[np.int64]
Arcs = NDArray[np.int32]

SOURCES = 256
"""Pages from which distances are measured where there are more."""


def compressed(
    source: NDArray[np.int64], target: NDArray[np.int64], pages: int
) -> tuple[Offsets, Arcs]:
    """The compressed sparse rows of arcs that are sorted by source."""
    indptr = np.zeros(pages + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=pages), out=indptr[1:])
    return indptr, target.astype(np.int32)


def depths(indptr: Offsets, indices: Arcs, root: int) -> NDArray[np.int32]:
    """Links from the root to each page by the shortest way, -1 where there is none. O(links)."""
    levels = np.full(len(indptr) - 1, -1, dtype=np.int32)
    levels[root] = depth = 0
    front = np.array([root], dtype=np.int64)
    while len(front):
        depth += 1
        reached = indices[_spans(indptr, front)]
        reached = reached[levels[reached] < 0]
        levels[reached] = depth
        front = np.flatnonzero(levels == depth) if len(reached) > 4096 else np.unique(reached)
    return levels


def _spans(indptr: Offsets, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of all arcs of some rows."""
    starts, counts = indptr[rows], indptr[rows + 1] - indptr[rows]
    ends = np.cumsum(counts)
    shift: NDArray[np.int64] = np.repeat(starts - ends + counts, counts)
    return np.arange(len(shift)) + shift


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """P(degree) ~ degree ** -alpha from `xmin` on, by maximum likelihood, with the `xmin` that
    gives the least Kolmogorov-Smirnov distance (Clauset, Shalizi & Newman 2009)."""

    alpha: float
    sigma: float
    """Standard error of alpha."""
    xmin: int
    distance: float
    """Kolmogorov-Smirnov distance between the fit and the degrees from `xmin` on."""
    tail: int
    """Pages with a degree of at least `xmin`."""
    against_lognormal: float
    """Normalised log-likelihood ratio: above 0 where a power law fits better than a lognormal."""
    p: float
    """Probability of a ratio that large or small by chance."""


@dataclass(frozen=True, slots=True)
class Distances:
    """Shortest ways between pages, over the pairs that have one."""

    mean: float
    error: float
    """Half of the 95 % interval of the mean; 0 where all pages are sources."""
    within_90: int
    """Links that 90 % of the pairs take at most."""
    longest: int
    """The longest of them that was seen: the diameter where all pages are sources, else a lower
    bound of it."""
    sources: int
    pairs: float
    """Share of the ordered pairs that have a way at all."""


def degrees(indptr: Offsets, indices: Arcs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(links out of, links into) each page."""
    return np.diff(indptr), np.bincount(indices, minlength=len(indptr) - 1)


def reciprocity(indptr: Offsets, indices: Arcs) -> float:
    """Share of the arcs whose reverse is one too."""
    count = len(indptr) - 1
    source = np.repeat(np.arange(count, dtype=np.int64), np.diff(indptr))
    there, back = source * count + indices, indices * np.int64(count) + source
    return float(np.isin(there, back).mean()) if len(there) else 0.0


def components(indptr: Offsets, indices: Arcs) -> tuple[float, float]:
    """Share of the pages in the largest weakly and strongly connected component."""
    sparse, csgraph = import_extra("lab", "components", "scipy.sparse", "scipy.sparse.csgraph")
    count = len(indptr) - 1
    matrix = sparse.csr_array(
        (np.ones(len(indices), dtype=np.int8), indices, indptr), shape=(count, count)
    )
    shares = [
        np.bincount(csgraph.connected_components(matrix, connection=kind)[1]).max() / count
        for kind in ("weak", "strong")
    ]
    return float(shares[0]), float(shares[1])


def distances(
    indptr: Offsets, indices: Arcs, rng: np.random.Generator, *, sources: int = SOURCES
) -> Distances:
    """Shortest ways from each page, or from a uniform sample of `sources` of them.

    O(sources * links).
    """
    count = len(indptr) - 1
    exact = count <= sources
    chosen = np.arange(count) if exact else rng.choice(count, sources, replace=False)
    lengths = np.zeros(1, dtype=np.int64)
    sums, pairs = [], []
    for source in chosen.tolist():
        levels = depths(indptr, indices, source)
        at_distance = np.bincount(levels[levels > 0])
        if len(at_distance) > len(lengths):
            lengths = np.pad(lengths, (0, len(at_distance) - len(lengths)))
        lengths[: len(at_distance)] += at_distance
        sums.append(float(at_distance @ np.arange(len(at_distance))))
        pairs.append(float(at_distance.sum()))
    total = sum(pairs)
    if not total:
        return Distances(0.0, 0.0, 0, 0, len(chosen), 0.0)
    mean = sum(sums) / total
    # A ratio of two sums over the sources: its error by linearisation.
    residuals = np.array(sums) - mean * np.array(pairs)
    spread = float(residuals.std(ddof=1)) if len(chosen) > 1 else 0.0
    error = 0.0 if exact else 1.96 * spread * len(chosen) ** 0.5 / total
    within = int(np.searchsorted(np.cumsum(lengths), 0.9 * total))
    share = total / (len(chosen) * max(1, count - 1))
    return Distances(mean, error, within, len(lengths) - 1, len(chosen), share)


def within(indptr: Offsets, indices: Arcs, group: NDArray[np.int64]) -> tuple[Offsets, Arcs]:
    """The graph without the arcs that lead from one group of pages to another."""
    count = len(indptr) - 1
    source = np.repeat(np.arange(count), np.diff(indptr))
    same = group[source] == group[indices]
    return compressed(source[same], indices[same], count)


def undirected(indptr: Offsets, indices: Arcs) -> tuple[Offsets, Arcs]:
    """The graph with each arc both ways, once, and no loops."""
    count = len(indptr) - 1
    source = np.repeat(np.arange(count, dtype=np.int64), np.diff(indptr))
    key = np.unique(np.concatenate([source * count + indices, indices * np.int64(count) + source]))
    source, target = np.divmod(key, count)
    other = source != target
    return compressed(source[other], target[other], count)


def power_law(degree: NDArray[np.int64], *, xmin: int | None = None) -> PowerLaw | None:
    """Fit to the degrees above 0; None where they are too few or too equal.

    `xmin` fixes where the tail begins. Raises InputError without the extra `graph`.
    """
    (powerlaw,) = import_extra("graph", "the exponent of degrees", "powerlaw")
    data = degree[degree > 0]
    if len(data) < 50 or len(np.unique(data)) < 5:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of every candidate that does not fit
        # Its default range ends at 3; the exponents of many out-degrees are larger.
        ranges = {"alpha": [1.01, 20.0]}
        fit = powerlaw.Fit(data, discrete=True, verbose=False, xmin=xmin, parameter_ranges=ranges)
        law = fit.power_law
        ratio, p = fit.distribution_compare("power_law", "lognormal", normalized_ratio=True)
    tail = int((data >= fit.xmin).sum())
    return PowerLaw(
        float(law.alpha),
        float(law.standard_err),
        int(fit.xmin),
        float(law.D),
        tail,
        float(ratio),
        float(p),
    )


def clustering(indptr: Offsets, indices: Arcs) -> float:
    """Mean over the pages of the share of linked pairs among a page's neighbours, arcs taken both
    ways, pages with fewer than two neighbours counted as 0 (Watts & Strogatz 1998).

    Raises InputError without the extra `graph`.
    """
    (igraph,) = import_extra("graph", "clustering", "igraph")
    count = len(indptr) - 1
    rows, targets = undirected(indptr, indices)
    source = np.repeat(np.arange(count), np.diff(rows))
    once = source < targets
    graph = igraph.Graph(count, np.column_stack([source[once], targets[once]]))
    return float(graph.transitivity_avglocal_undirected(mode="zero"))
