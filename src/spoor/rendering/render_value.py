"""Learns what rendering a page is worth: an action with a cost, as following a link is.

The state is what the plain page lacks, the shape of its URL, and its host. The actions are to
render the page or to leave it. The reward is what the render brought, in units of a request. Card:
`docs/algorithms/rendering.md`. Pure.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from spoor.bounded import BoundedDict
from spoor.rendering.missing_content import (
    APP_ROOT,
    ASKS,
    EMPTY_LIST,
    FEW_LINKS,
    NO_TEXT,
    ROUTE,
    ROUTES,
    SCRIPTS,
)
from spoor.web.urls import registrable_domain

PRICE = 0.5
"""Of a render, in requests."""
PROBES = 3
"""Renders of a host without any gain, after which no more follow."""
_CAP = 4.0
"""Most that one render counts for: the next one will not bring the same links again."""
_TEXT, _RELEVANT, _IN_VAIN = 0.6, 3.0, 0.2
"""A page that would have been asked for in vain and can be judged now; one that is relevant; one of
a host none of whose texts is relevant, though so many pages of the crawl would have had"""
_ENOUGH = 4.0
"""relevant ones among them."""
_LINK = (0.5, 0.1)
"""Each of the first two links that the crawl did not know, and each further one."""
_FORGET = 0.85
"""What a render still counts for at the next one of its host or shape."""
_ELSEWHERE = 3
"""Renders of one domain from which is learned what a lack is worth elsewhere: whoever has a domain
has as many hosts as they like."""
_LEAST_WORDS = 20

_PRIORS = {
    NO_TEXT: 2.0,
    APP_ROOT: 2.0,
    ROUTE: 2.0,
    ROUTES: 1.0,
    ASKS: 1.0,
    EMPTY_LIST: 1.0,
    FEW_LINKS: 0.7,
    SCRIPTS: 0.25,
}
"""What a render is expected to bring before the first, by what the plain page lacks."""
_WEIGHT = 10.0
"""Renders that this expectation counts for."""


class Arm(NamedTuple):
    """Pages of which rendering is expected to bring much the same."""

    host: str
    shape: str
    lack: str


@dataclass(slots=True)
class _Seen:
    """Renders of one kind."""

    count: float = 0.0
    gain: float = 0.0

    def add(self, gain: float, forget: float = 1.0) -> None:
        self.count = forget * self.count + 1
        self.gain = forget * self.gain + gain

    def mean(self, expected: float, weight: float = 1.0) -> float:
        return (weight * expected + self.gain) / (weight + self.count)


@dataclass(slots=True)
class _Host:
    renders: int = 0
    pending: int = 0
    paid: bool = False
    texts: int = 0
    """Renders that brought a text."""
    relevant: int = 0
    """Relevant texts among them."""
    skipped: int = 0
    """Pages left as they were since the last render."""
    patience: int = 8
    """Pages that are left before one is rendered all the same."""
    lacks: dict[str, _Seen] = field(default_factory=dict)
    arms: dict[tuple[str, str], _Seen] = field(default_factory=dict)


class Brought(NamedTuple):
    """What a render brought."""

    links: int = 0
    """That entered the crawl by it, and that it did not know."""
    text: bool = False
    """Whether most of the text of the page came by it."""
    relevant: bool = False
    """Whether that text is relevant."""


class Decision(NamedTuple):
    """What to do with a page."""

    action: str
    """`render`, `leave`, or `wait`: until a render of its host that is under way has brought what
    it brings."""
    why: str = ""


MOST_HOSTS = 20_000
"""Hosts that are remembered; the oldest are forgotten first."""
_MOST_ARMS = 200
"""Of one host."""


class RenderValues:
    """Learns where rendering pays. Deterministic: the same calls bring the same decisions."""

    def __init__(self) -> None:
        self._lacks: dict[str, _Seen] = {}
        self._taught = BoundedDict[str, int](MOST_HOSTS)
        """Domain → renders from which was learned what a lack is worth elsewhere."""
        self._pending: dict[str, Counter[str]] = {}
        """Lack → renders under way, by domain."""
        self._hosts = BoundedDict[str, _Host](MOST_HOSTS)

    def settled(self, name: str) -> bool:
        """Whether no page of a host will be rendered, whatever it lacks."""
        host = self._hosts.get(name)
        return host is not None and not host.paid and host.renders >= PROBES

    def decide(self, arm: Arm) -> Decision:
        """What to do with a page. A `render` is under way from now on: `learn` or
        `cancel` is due."""
        host = self._host(arm.host)
        if not host.paid and host.renders + host.pending >= PROBES:
            return Decision("wait" if host.pending and host.renders < PROBES else "leave")
        mean, most = self._worth(host, arm)
        if most >= PRICE:
            seen = host.arms.get(arm[1:])
            if seen is None and self._worth(host, arm, self._domains(arm.lack))[1] < PRICE:
                # Renders of other domains that are under way may tell that it is not worth it.
                return Decision("wait")
            if seen is None:
                why = f"it has {arm.lack}: a probe" if "nothing" not in arm.lack else "a probe"
            else:
                why = f"{arm.lack}; renders like it bring {mean:.1f} requests' worth"
        elif host.paid and host.skipped >= host.patience:
            host.patience *= 2
            why = f"{arm.lack}; others of this host did pay: a probe"
        else:
            host.skipped += 1
            return Decision("leave")
        host.skipped = 0
        self.begin(arm)
        return Decision("render", why)

    def begin(self, arm: Arm) -> None:
        """A render is under way that was decided elsewhere; `learn` or `cancel` is due."""
        self._host(arm.host).pending += 1
        self._pending.setdefault(arm.lack, Counter())[registrable_domain(arm.host)] += 1

    def _domains(self, lack: str) -> int:
        """The number of domains of which pages with this lack are being rendered."""
        return len(self._pending.get(lack, ()))

    def worth(self, arm: Arm) -> tuple[float, float]:
        """What rendering such a page is expected to bring, and its upper confidence bound, in
        requests' worth."""
        return self._worth(self._hosts.get(arm.host) or _Host(), arm)

    def _worth(self, host: _Host, arm: Arm, in_vain: int = 0) -> tuple[float, float]:
        """`in_vain`: if renders of this lack in so many more domains brought nothing."""
        seen = self._lacks.get(arm.lack, _Seen())
        seen = _Seen(seen.count + in_vain, seen.gain)
        anywhere = seen.mean(_PRIORS.get(arm.lack, 0.0), _WEIGHT)
        here = host.lacks.get(arm.lack, _Seen()).mean(anywhere)
        like_it = host.arms.get(arm[1:], _Seen())
        mean = like_it.mean(here)
        # The deviation of the posterior of a rate, whose prior counts for one render.
        return mean, mean + math.sqrt(mean / (1.0 + like_it.count))

    def learn(self, arm: Arm, brought: Brought, harvest: float) -> float:
        """A render has brought this, in a crawl of whose pages a share of `harvest` is relevant.
        Returns what that is worth, in requests, for `again`."""
        host = self._host(arm.host)
        self._ended(arm, host)
        first, further = _LINK
        gain = first * min(brought.links, 2) + further * max(0, brought.links - 2)
        if brought.relevant:
            gain += _RELEVANT
        elif brought.text:
            gain += _TEXT if host.relevant or host.texts * harvest < _ENOUGH else _IN_VAIN
        gain = min(gain, _CAP)
        self.again(arm, gain, brought)
        return gain

    def again(self, arm: Arm, gain: float, brought: Brought) -> None:
        """As `learn`, of a render that an earlier process learned from."""
        host = self._host(arm.host)
        domain = registrable_domain(arm.host)
        taught = self._taught.get(domain, 0)
        if taught < _ELSEWHERE:
            self._taught[domain] = taught + 1
            self._lacks.setdefault(arm.lack, _Seen()).add(gain)
        host.renders += 1
        host.texts += brought.text
        host.relevant += brought.relevant
        host.paid = host.paid or gain >= PRICE
        host.lacks.setdefault(arm.lack, _Seen()).add(gain, _FORGET)
        if len(host.arms) < _MOST_ARMS or arm[1:] in host.arms:
            host.arms.setdefault(arm[1:], _Seen()).add(gain, _FORGET)

    def _host(self, name: str) -> _Host:
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host()
        return host

    def cancel(self, arm: Arm) -> None:
        """A render that was under way ended without an answer."""
        self._ended(arm, self._hosts.get(arm.host))

    def _ended(self, arm: Arm, host: _Host | None) -> None:
        pending, domain = self._pending.get(arm.lack, Counter()), registrable_domain(arm.host)
        pending[domain] -= 1
        if pending[domain] <= 0:
            del pending[domain]
        if host is not None:
            host.pending = max(0, host.pending - 1)


def is_text(new_words: int, plain_words: int) -> bool:
    """Whether words that a render brought are the text of the page: as many as it had without,
    and some."""
    return new_words >= max(_LEAST_WORDS, plain_words)
