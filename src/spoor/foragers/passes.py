"""What a pass of `spoor watch --once` looks at: what has changed by now, and a share of the
rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spoor.foragers.columns import Floats, Integers
from spoor.foragers.host_turns import ranks
from spoor.foragers.known import Known
from spoor.foragers.page_rates import PRIOR, PageRates
from spoor.foragers.settings import DAY
from spoor.foragers.urls import NEVER

LOOKED_AT = 0.05
LEAST_LOOKED_AT = 10
"""Share of the known pages of a host, and so many at least, that each pass looks at,
those first that are most worth it: hardly a rate is known before a page has changed. In so many
passes every page is seen again where none has paid; those that have come more often, and the others
later for it."""


OF_DEAD = 0.1
"""Share of these that may be dead links: URLs at which nothing is, as their server said before."""

RESTS, RESTS_AT_MOST = DAY, 64 * DAY
"""Seconds after which a dead link is looked at once more; then as many as it has been dead, so that
each rest is about twice the last, up to so many."""


def of_pass(
    rates: PageRates, known: Known, hosts: Integers, worth: Floats, began: float, now: float
) -> NDArray[np.bool_]:
    """What a pass that began then looks at: what has changed by now, and the rest of its share."""
    dead, rested = _dead(rates, known, now)
    may = _changed(rates, known, began, now) & ~dead
    rest, of_dead = _rest_of_pass(rates, hosts, began, dead)
    before = np.flatnonzero(_not_in_this_pass(rates, known, began, now) & ~may & (~dead | rested))
    before = before[np.argsort(-worth[before], kind="stable")]
    own = dead[before]
    takes = ~own
    takes[own] = ranks(hosts[before[own]]) < of_dead[hosts[before[own]]]
    before = before[takes]
    rest -= np.bincount(hosts, may).astype(np.int64)
    may[before[ranks(hosts[before]) < rest[hosts[before]]]] = True
    return may


def due(rates: PageRates, known: Known, began: float, now: float) -> Integers:
    """URLs never asked for, pages that have changed by now, and those of which a pass has yet to
    look at some."""
    new = np.array(known.fetched) == -np.inf
    new[known.free()] = False
    hosts = known.host_numbers()
    dead, rested = _dead(rates, known, now)
    rest, of_dead = _rest_of_pass(rates, hosts, began, dead)
    may = np.where(dead, rested & (of_dead[hosts] > 0), rest[hosts] > 0) & (rest[hosts] > 0)
    its = _not_in_this_pass(rates, known, began, now) & may
    return np.flatnonzero(new | (_changed(rates, known, began, now) & ~dead) | its)


def _dead(
    rates: PageRates, known: Known, now: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Dead links, and which of them have rested. Starts, feeds and sitemaps are none."""
    since = np.array(known.dead)
    dead = (since > NEVER) & (rates.prior != PRIOR["hub"])
    rests = np.clip(rates.last - since, RESTS, RESTS_AT_MOST)
    return dead, dead & (rates.last + rests <= now)


def _not_in_this_pass(
    rates: PageRates, known: Known, began: float, now: float
) -> NDArray[np.bool_]:
    """Pages that were asked for before this pass, and not in it."""
    before: NDArray[np.bool_] = (rates.last > 0.0) & (rates.last <= began)
    before[[*known.promises.kept_alone(now), *known.free()]] = False
    return before


def _rest_of_pass(
    rates: PageRates, hosts: Integers, began: float, dead: NDArray[np.bool_]
) -> tuple[Integers, Integers]:
    """By host, how many of its known pages this pass has yet to look at (`LOOKED_AT`), and at how
    many dead links at most."""
    before = (rates.first > 0.0) & (rates.first <= began)
    pages = np.bincount(hosts, before)
    done = before & (rates.last > began)
    least = np.maximum(LEAST_LOOKED_AT, np.ceil(LOOKED_AT * pages))
    rest: Integers = (least - np.bincount(hosts, done)).astype(np.int64)
    of_dead: Integers = (OF_DEAD * least - np.bincount(hosts, done & dead)).astype(np.int64)
    return rest, of_dead


def _changed(rates: PageRates, known: Known, began: float, now: float) -> NDArray[np.bool_]:
    """Pages that have changed by now, more likely than not; seeds once in each pass."""
    changed = rates.pay() * (now - rates.last) > np.log(2.0)
    changed[known.promises.kept_alone(now)] = False
    seeds = np.array(known.parent) < 0
    tried = np.array(known.fetched) > -np.inf
    tried[known.free()] = False
    both: NDArray[np.bool_] = tried & (changed | (seeds & (rates.last <= began)))
    return both
