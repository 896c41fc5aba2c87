"""For how long pages say that they stay as they are, and whom to believe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from spoor.bounded import forget
from spoor.durations import DAY
from spoor.types import State


class Promises:
    """For how long pages say that they stay as they are (`Cache-Control`), and which hosts keep
    that promise. A page is left alone once its host kept promises for as long as one lasts; every
    `SAMPLED`th is put to the test all the same, and a page that broke one is believed no more.
    A page that asks to be left alone (`Retry-After`) is."""

    SAMPLED = 10
    LONGEST = DAY
    """Seconds: a page is looked at once a day whatever it says."""
    BROKEN = 0.05
    """Share of the promises of a host that may be broken."""

    def __init__(self) -> None:
        self._until: dict[int, float] = {}
        """Page that is left alone → until when."""
        self._resting: dict[int, float] = {}
        """Page that asked for it → until when."""
        self._tests: dict[int, tuple[float, float]] = {}
        """Page that may be asked for → when it promised, and until when."""
        self._liars: set[int] = set()
        self._given: Counter[str] = Counter()
        self._kept: dict[str, float] = {}
        """Host → promises kept, each as far as it was tested."""
        self._broken: Counter[str] = Counter()

    def believed(self, host: str) -> bool:
        """Whether the pages of a host are what they promise to be."""
        kept, broken = self._kept.get(host, 0.0), self._broken[host]
        return kept >= 1.0 and broken <= self.BROKEN * (kept + broken)

    def asked(self, url: int, host: str, seconds: float, now: float, *, changed: bool) -> None:
        """A page came: whether it is another, and for how many seconds it promises to stay."""
        self._until.pop(url, None)
        if (test := self._tests.pop(url, None)) is not None:
            said, until = test
            if not changed:
                tested = min(1.0, (now - said) / (until - said))
                self._kept[host] = self._kept.get(host, 0.0) + tested
            elif now < until:
                self._broken[host] += 1
                self._liars.add(url)
        if seconds <= 0.0 or url in self._liars:
            return
        self._given[host] += 1
        until = now + min(seconds, self.LONGEST)
        if self.believed(host) and self._given[host] % self.SAMPLED:
            self._until[url] = until
        else:
            self._tests[url] = now, until

    def rest(self, url: int, until: float) -> None:
        """A page asks to be left alone until then."""
        self._resting[url] = until

    def rests(self, url: int, now: float) -> bool:
        """Whether a page is not asked for now, whatever is said of it."""
        return self._resting.get(url, now) > now

    def is_kept_alone(self, url: int, now: float) -> bool:
        """Whether a page is not asked for now."""
        return self._until.get(url, now) > now or self.rests(url, now)

    def kept_alone(self, now: float) -> list[int]:
        """Pages that are not asked for now."""
        for alone in (self._until, self._resting):
            for url in [url for url, until in alone.items() if until <= now]:
                del alone[url]
        return [*self._until, *self._resting]

    def leave(self, left: Collection[int]) -> None:
        """Pages are known no more."""
        forget(left, self._until, self._resting, self._tests)
        self._liars.difference_update(left)

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        forget(left, self._given, self._kept, self._broken)

    def next_over(self) -> float | None:
        """When the first page is no longer left alone; None where none is."""
        return min([*self._until.values(), *self._resting.values()], default=None)

    def save(self) -> State:
        return {
            "until": [list(pair) for pair in self._until.items()],
            "tests": [[url, *test] for url, test in self._tests.items()],
            "liars": sorted(self._liars),
            "given": dict(self._given),
            "kept": dict(self._kept),
            "broken": dict(self._broken),
            "resting": [list(pair) for pair in self._resting.items()],
        }

    def load(self, state: State) -> None:
        self._until = dict(map(tuple, state["until"]))
        self._resting = dict(map(tuple, state["resting"]))
        self._tests = {url: (said, until) for url, said, until in state["tests"]}
        self._liars, self._given = set(state["liars"]), Counter(state["given"])
        self._kept, self._broken = dict(state["kept"]), Counter(state["broken"])
