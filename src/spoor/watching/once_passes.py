"""What a pass of `spoor watch --once` looks at: what has changed by now, documents that were told,
the newest most often, and a share of the rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spoor.durations import DAY
from spoor.watching.columns import Floats, Integers
from spoor.watching.discoveries import Discoveries
from spoor.watching.host_turns import ranks
from spoor.watching.known_urls import Known
from spoor.watching.page_rates import PRIOR, PageRates
from spoor.watching.urls import NEVER

LOOKED_AT = 0.05
LEAST_LOOKED_AT = 10
"""Share of the known pages of a host, and so many at least, that each pass looks at,
those first that are most worth it: hardly a rate is known before a page has changed. In so many
passes every page is seen again where none has paid; those that have come more often, and the others
later for it."""


OF_DEAD = 0.1
"""Share of these that may be dead links: URLs at which nothing is, as their server said before."""

OF_AGE = 0.1
"""A document that was told rests for so much of the time since then: in a pass a day it is looked
at in each for ten days, then in every second for ten …"""

TOLD, LEAST_TOLD = 0.02, 50
"""Share of the known pages of a host, and so many at least, that are such documents in each pass at
most, those first that are due for longest."""

LITTLE = 100
"""Looks that a pass may take at a host beside these; where `LOOKED_AT` is more, these are part of
it, so that a pass over a large site costs no more than that."""

RESTS, RESTS_AT_MOST = DAY, 64 * DAY
"""Seconds after which a dead link is looked at once more; then as many as it has been dead, so that
each rest is about twice the last, up to so many."""


def of_pass(
    rates: PageRates,
    known: Known,
    hosts: Integers,
    worth: Floats,
    began: float,
    now: float,
    told: Floats,
) -> NDArray[np.bool_]:
    """What a pass that began then looks at: what has changed by now, what was told, and the rest of
    its share. `told`: when each URL was told last (`told_at`)."""
    dead, rested = _dead(rates, known, now)
    may = _changed(rates, known, began, now) & ~dead
    told = np.where(dead, NEVER, told)
    of_told, looks = _told(rates, known, hosts, began, now, told)
    may |= of_told
    rest, of_dead = _rest_of_pass(rates, hosts, began, dead, told, looks)
    its = _not_in_this_pass(rates, known, began, now) & ~may & (~dead | rested)
    before = np.flatnonzero(its & (told == NEVER))
    before = before[np.argsort(-worth[before], kind="stable")]
    own = dead[before]
    takes = ~own
    takes[own] = ranks(hosts[before[own]]) < of_dead[hosts[before[own]]]
    before = before[takes]
    rest -= np.bincount(hosts, may & (told == NEVER)).astype(np.int64)
    may[before[ranks(hosts[before]) < rest[hosts[before]]]] = True
    return may


def due(rates: PageRates, known: Known, began: float, now: float, told: Floats) -> Integers:
    """URLs never asked for, pages that have changed by now, documents that were told and have
    rested, and pages of which a pass has yet to look at some."""
    new = np.array(known.fetched) == -np.inf
    new[known.free()] = False
    hosts = known.host_numbers()
    dead, rested = _dead(rates, known, now)
    told = np.where(dead, NEVER, told)
    of_told, looks = _told(rates, known, hosts, began, now, told)
    rest, of_dead = _rest_of_pass(rates, hosts, began, dead, told, looks)
    may = np.where(dead, rested & (of_dead[hosts] > 0), rest[hosts] > 0) & (rest[hosts] > 0)
    its = _not_in_this_pass(rates, known, began, now) & may & (told == NEVER)
    its |= of_told
    return np.flatnonzero(new | (_changed(rates, known, began, now) & ~dead) | its)


def told_at(known: Known, discoveries: Discoveries) -> Floats:
    """When each URL was told last as a document, or was a copy of one that was; NEVER for others,
    and for those that lead elsewhere."""
    found: Floats = np.full(len(known.urls), NEVER)
    urls, moments = discoveries.told()
    found[urls] = moments  # of one that was told twice the last
    if len(urls) and known.watching is not None:
        for url, other in known.watching.copy_of.items():
            if other >= 0:
                found[url] = max(found[url], found[other])
    found[list(known.redirects)] = NEVER
    return found


def _told(
    rates: PageRates,
    known: Known,
    hosts: Integers,
    began: float,
    now: float,
    told: Floats,
) -> tuple[NDArray[np.bool_], Integers]:
    """Documents that were told, have rested, and have yet to have their turn in this pass; and by
    host, how many looks at such this pass takes in all."""
    documents = told > NEVER
    before = (rates.first > 0.0) & (rates.first <= began)
    pages = np.bincount(hosts, before)
    done = np.bincount(hosts, documents & before & (rates.last > began)).astype(np.int64)
    most = np.maximum(LEAST_TOLD, np.ceil(TOLD * pages))
    # Where a host has too few others for its share, they have the places of these.
    others = np.bincount(hosts, before & ~documents)
    spare = _share(pages) - others
    rest = np.maximum(OF_AGE * (began - told), 1.0)
    waits = (began - rates.last) / rest
    its = np.flatnonzero(documents & _not_in_this_pass(rates, known, began, now))
    its = its[np.argsort(-waits[its], kind="stable")]
    places, host = ranks(hosts[its]) + done[hosts[its]], hosts[its]
    turns = ((waits[its] >= 1.0) & (places < most[host])) | (places < spare[host])
    found: NDArray[np.bool_] = np.zeros(len(hosts), dtype=np.bool_)
    found[its[turns]] = True
    return found, done + np.bincount(hosts, found).astype(np.int64)


def _share(pages: Integers) -> Floats:
    """How many of so many known pages of a host each pass looks at (`LOOKED_AT`)."""
    share: Floats = np.maximum(LEAST_LOOKED_AT, np.ceil(LOOKED_AT * pages))
    return share


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
    rates: PageRates,
    hosts: Integers,
    began: float,
    dead: NDArray[np.bool_],
    told: Floats,
    looks: Integers,
) -> tuple[Integers, Integers]:
    """By host, how many of its known pages this pass has yet to look at (`LOOKED_AT`), and at how
    many dead links at most. Documents that were told have turns of their own, of so many looks."""
    before = (rates.first > 0.0) & (rates.first <= began) & (told == NEVER)
    pages = np.bincount(hosts, before)
    done = before & (rates.last > began)
    least = _share(pages)
    least -= np.clip(looks, 0, np.maximum(least - LITTLE, 0.0))
    rest: Integers = (least - np.bincount(hosts, done)).astype(np.int64)
    of_dead: Integers = (OF_DEAD * least - np.bincount(hosts, done & dead)).astype(np.int64)
    return rest, of_dead


def _changed(rates: PageRates, known: Known, began: float, now: float) -> NDArray[np.bool_]:
    """Pages that have changed by now, more likely than not; seeds once in each pass."""
    changed = rates.pay(now) * (now - rates.last) > np.log(2.0)
    changed[known.promises.kept_alone(now)] = False
    seeds = np.array(known.parent) < 0
    tried = np.array(known.fetched) > -np.inf
    tried[known.free()] = False
    both: NDArray[np.bool_] = tried & (changed | (seeds & (rates.last <= began)))
    return both
