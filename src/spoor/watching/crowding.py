"""What a watch leaves sooner of a site without end: so many URLs of each registrable domain are
known whole, and of the others 64 bits of each URL and content (`spoor.watching.remembered`)."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from spoor.watching.urls import Urls
from spoor.web.urls import registrable_domain

MOST_KNOWN = 100_000
"""URLs of one registrable domain that are known whole: beyond, those leave about which nothing was
new for longest, until `ROOM` of them are left, but for what no compaction takes. A tenth more may
come before anybody looks."""

ROOM = 0.8


def oldest_of(urls: Urls) -> dict[str, float]:
    """Hosts of domains of which too much is known → since when nothing may have been new about what
    leaves. O(URLs)."""
    hosts, counts = defaultdict[str, list[str]](list), Counter[str]()
    for name, count in urls.counted_hosts().items():
        domain = registrable_domain(name)
        hosts[domain].append(name)
        counts[domain] += count
    oldest = dict[str, float]()
    for domain, count in counts.items():
        if count > MOST_KNOWN:
            its = np.isin(urls.host_numbers(), urls.numbers_of_hosts(hosts[domain]))
            its[urls.free()] = False
            active = np.sort(np.array(urls.active)[its])
            at = float(active[count - int(ROOM * MOST_KNOWN)])
            oldest |= dict.fromkeys(hosts[domain], at)
    return oldest


def looked_at_from(known: int) -> int:
    """URLs in all from which on a domain may be crowded, where so many are known after a look: what
    cannot leave is not looked at again before more has come."""
    return max(MOST_KNOWN, known + MOST_KNOWN // 10)
