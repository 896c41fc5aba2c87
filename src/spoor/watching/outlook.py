"""When a watch that goes by rates of change looks at a page the next time, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from spoor.durations import DAY
from spoor.watching.columns import Floats
from spoor.watching.known import Known
from spoor.watching.page_rates import PRIOR, PageRates
from spoor.watching.urls import NEVER


@dataclass(frozen=True, slots=True)
class Outlook:
    """The next look at a URL."""

    at: float | None
    """Unix seconds, by the clock of the calls; a moment that is over: as soon as its turn comes.
    None where nothing says when."""
    why: str


_KINDS = {
    PRIOR["hub"]: "a start, feed or sitemap",
    PRIOR["feed"]: "a feed",
    PRIOR["wanted"]: "a document on topic",
    PRIOR["young"]: "a young page off topic",
    PRIOR["other"]: "a page off topic, or a copy",
    PRIOR["absent"]: "a page that could not be had",
}


def outlook(rates: PageRates, known: Known, url: int, now: float, *, once: bool) -> Outlook:
    """Of one URL. `once`: passes look at what is due alone. O(URLs)."""
    if url in known.hints.open:
        return Outlook(now, "a feed, a sitemap or a list says that something about it is new")
    if (at := known.again.get(url)) is not None:
        return Outlook(at, "it is looked at once more to see whether it is there for good")
    if (alone := known.promises.alone_until(url, now)) is not None:
        return Outlook(alone, "it says that it stays as it is until then, or asks to be left alone")
    if known.fetched[url] == NEVER:
        waiting = known.waiting.get(known.hosts[url], 0)
        others = "no other URL" if waiting <= 1 else f"{waiting - 1:,} other URLs"
        return Outlook(None, f"it was never asked for, and {others} of its host wait for that")
    rates.catch_up()
    looks, paid = int(rates.visits[url]), int(rates.changes[url])
    a_day = float(rates.pay(now, np.array([url]))[0]) * DAY
    kind = _KINDS.get(float(rates.prior[url]), "a list")
    why = f"{kind}: of {looks:,} looks after the first {paid:,} paid, so {a_day:.2g} a day may pay"
    if once and known.parent[url] < 0:
        return Outlook(now, f"each pass looks at it; {why}")
    if once:
        due = float(rates.last[url]) + math.log(2.0) * DAY / a_day
        return Outlook(
            due, f"from then on it has changed more likely than not, before in turns; {why}"
        )
    at = float(_looks_at(rates, known, now)[url])
    return Outlook(at if math.isfinite(at) else None, why)


def _looks_at(rates: PageRates, known: Known, now: float) -> Floats:
    """When each known page is worth as much as the one of its host that is now worth most: pages
    are visited when they come to that. Infinite for what was never asked for."""
    hosts = known.host_numbers()
    _, worth = rates.waiting(rates.explored(hosts, now), now)
    asked = np.array(known.fetched) > NEVER
    asked[[*known.promises.kept_alone(now), *known.free()]] = False
    level: Floats = np.zeros(int(hosts.max()) + 1)
    np.maximum.at(level, hosts[asked], worth[asked])
    since = now - rates.last
    at: Floats = np.full(len(worth), math.inf)
    its = asked & (worth > 0.0)
    at[its] = rates.last[its] + since[its] * np.sqrt(level[hosts[its]] / worth[its])
    return at
