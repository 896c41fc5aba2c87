"""What a pass of `spoor watch --once` looks at: what has changed by now, and a share of the
rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spoor.foragers.columns import Floats, Integers
from spoor.foragers.host_turns import ranks
from spoor.foragers.known import Known
from spoor.foragers.page_rates import PageRates

LOOKED_AT = 0.05
LEAST_LOOKED_AT = 10
"""Share of the known pages of a host, and so many at least, that each pass looks at,
those first that are most worth it: hardly a rate is known before a page has changed, and in so many
passes every page is seen again."""


def of_pass(
    rates: PageRates, known: Known, hosts: Integers, worth: Floats, began: float, now: float
) -> NDArray[np.bool_]:
    """What a pass that began then looks at: what has changed by now, and the rest of its share."""
    may = _changed(rates, known, began, now)
    before = np.flatnonzero(_not_in_this_pass(rates, known, began, now) & ~may)
    before = before[np.argsort(-worth[before], kind="stable")]
    rest = _rest_of_pass(rates, hosts, began) - np.bincount(hosts, may).astype(np.int64)
    may[before[ranks(hosts[before]) < rest[hosts[before]]]] = True
    return may


def due(rates: PageRates, known: Known, began: float, now: float) -> Integers:
    """URLs never asked for, pages that have changed by now, and those of which a pass has yet to
    look at some."""
    new = np.array(known.fetched) == -np.inf
    new[known.free()] = False
    hosts = known.host_numbers()
    of_rest = _rest_of_pass(rates, hosts, began)[hosts] > 0
    rest = _not_in_this_pass(rates, known, began, now) & of_rest
    return np.flatnonzero(new | _changed(rates, known, began, now) | rest)


def _not_in_this_pass(
    rates: PageRates, known: Known, began: float, now: float
) -> NDArray[np.bool_]:
    """Pages that were asked for before this pass, and not in it."""
    before: NDArray[np.bool_] = (rates.last > 0.0) & (rates.last <= began)
    before[[*known.promises.kept_alone(now), *known.free()]] = False
    return before


def _rest_of_pass(rates: PageRates, hosts: Integers, began: float) -> Integers:
    """By host, how many of its known pages this pass has yet to look at (`LOOKED_AT`)."""
    before = (rates.first > 0.0) & (rates.first <= began)
    pages = np.bincount(hosts, before)
    done = np.bincount(hosts, before & (rates.last > began))
    least = np.maximum(LEAST_LOOKED_AT, np.ceil(LOOKED_AT * pages))
    rest: Integers = (least - done).astype(np.int64)
    return rest


def _changed(rates: PageRates, known: Known, began: float, now: float) -> NDArray[np.bool_]:
    """Pages that have changed by now, more likely than not; seeds once in each pass."""
    changed = rates.pay() * (now - rates.last) > np.log(2.0)
    changed[known.promises.kept_alone(now)] = False
    seeds = np.array(known.parent) < 0
    tried = np.array(known.fetched) > -np.inf
    tried[known.free()] = False
    both: NDArray[np.bool_] = tried & (changed | (seeds & (rates.last <= began)))
    return both
