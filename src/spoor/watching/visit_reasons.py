"""Why a watch that goes by rates of change looks at a page again, in words."""

from __future__ import annotations

import numpy as np

from spoor.durations import DAY
from spoor.watching.known_urls import Known
from spoor.watching.page_rates import PRIOR, PageRates
from spoor.watching.urls import NEVER

_KINDS = {
    PRIOR["hub"]: "a start, feed or sitemap",
    PRIOR["feed"]: "a feed",
    PRIOR["wanted"]: "a document on topic",
    PRIOR["young"]: "a young page off topic",
    PRIOR["other"]: "a page off topic, or a copy",
    PRIOR["absent"]: "a page that could not be had",
}


def why_again(rates: PageRates, known: Known, url: int, now: float) -> str:
    """Of one URL; the first reason that there is."""
    if url in known.hints.open:
        return "a feed, a sitemap or a list says that something about it is new"
    if url in known.again:
        return "it is looked at once more to see whether it is there for good"
    if known.promises.is_kept_alone(url, now):
        return "it says that it stays as it is until then, or asks to be left alone"
    if known.fetched[url] == NEVER:
        waiting = known.waiting.get(known.hosts[url], 0)
        others = "no other URL" if waiting <= 1 else f"{waiting - 1:,} other URLs"
        return f"it was never asked for, and {others} of its host wait for that"
    rates.catch_up()
    kind = _KINDS.get(float(rates.prior[url]), "a list")
    looks, paid = int(rates.visits[url]), int(rates.changes[url])
    a_day = float(rates.pay(now, np.array([url]))[0]) * DAY
    return f"{kind}: of {looks:,} looks after the first {paid:,} paid, so {a_day:.2g} a day may pay"
