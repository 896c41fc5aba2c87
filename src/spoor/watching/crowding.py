"""What a watch leaves sooner of a site without end: so many URLs of each registrable domain are
known whole, and of the others 64 bits of each URL and content
(`spoor.watching.retired_documents`)."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from spoor.watching.columns import Floats
from spoor.watching.urls import Urls
from spoor.web.urls import registrable_domain

MOST_KNOWN = 100_000
"""URLs of one registrable domain that are known whole: beyond, those leave about which nothing was
new for longest, until `ROOM` of them are left, but for what no compaction takes. A tenth more may
come before anybody looks."""

BYTES = 4_000
"""Of the links and the sentences of a page that are kept: a page with more counts as several, up to
nine. Most have less than a thousand."""

ROOM = 0.8


def weights(sizes: Floats) -> Floats:
    """For how many each URL counts, by the bytes that are kept of its page."""
    found: Floats = np.maximum(sizes / BYTES, 1.0)
    return found


def oldest_of(urls: Urls, weights: Floats) -> dict[str, float]:
    """Hosts of domains of which too much is known → since when nothing may have been new about what
    leaves. `weights`: for how many each URL counts; free numbers count for none, from now on.
    O(URLs)."""
    hosts, counts = defaultdict[str, list[str]](list), Counter[str]()
    numbers = urls.host_numbers()
    weights[urls.free()] = 0.0
    of_hosts = np.bincount(numbers, weights, len(urls.numbered_hosts())).tolist()
    for name, count in zip(urls.numbered_hosts(), of_hosts, strict=True):
        if name:
            domain = registrable_domain(name)
            hosts[domain].append(name)
            counts[domain] += count
    oldest = dict[str, float]()
    for domain, count in counts.items():
        if count > MOST_KNOWN:
            its = np.isin(numbers, urls.numbers_of_hosts(hosts[domain]))
            its[urls.free()] = False
            active, order = np.array(urls.active)[its], np.argsort(np.array(urls.active)[its])
            leaves = np.cumsum(weights[its][order])
            last = np.searchsorted(leaves, count - int(ROOM * MOST_KNOWN), side="right")
            at = float(active[order][min(int(last), len(active) - 1)])
            oldest |= dict.fromkeys(hosts[domain], at)
    return dict(sorted(oldest.items()))


def looked_at_from(known: int) -> int:
    """URLs in all from which on a domain may be crowded, where so many are known after a look: what
    cannot leave is not looked at again before more has come."""
    return max(MOST_KNOWN, known + MOST_KNOWN // 10)
