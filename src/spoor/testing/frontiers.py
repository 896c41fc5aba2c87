"""The laws of a frontier, checked call by call against a model of the plainest code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spoor.errors import CallerError, SpoorError
from spoor.learn.state import pack, unpack
from spoor.protocols import Frontier, HostClocks, ListsHosts, RestsHosts
from spoor.types import NO_PARENT, Anchor, Link, LinkId
from spoor.web.urls import host as host_of

Make = Callable[..., Frontier]
"""Called as `make(delay=seconds, per_host=requests)`; returns an empty frontier each time."""

Call = tuple[str, int, int]
"""Name of a call, and two numbers that select its arguments."""

CALLS = (
    *("add", "take", "settle", "retry", "redirect"),
    *("due", "wait", "hold", "rest", "wake", "pace", "reload"),
)
_SHARES = (0.22, 0.26, 0.13, 0.07, 0.08, 0.06, 0.09, 0.02, 0.01, 0.01, 0.02, 0.03)
_HOSTS = 4
_PAGES = 8
"""Pages a host: few, so that calls meet the same link again."""

SETTINGS = tuple((delay, per_host) for delay in (0.0, 2.0) for per_host in (0, 1, 2))


def check_frontier(make: Make, *, walks: int = 60, steps: int = 120, seed: int = 0) -> None:
    """Check a frontier, made as `make(delay=…, per_host=…)`, against the laws of its protocol.

    At most `per_host` requests to a host at a time (0: no limit), `delay` seconds from the end of
    one to the start of the next where `per_host` is 1, from start to start otherwise. Random calls
    are compared with a naive model; a failing walk is shortened before it is reported. Raises
    AssertionError with the law that was broken and the calls that led there. Takes some seconds.
    """
    rng = np.random.default_rng(seed)
    for walk in range(walks):
        delay, per_host = SETTINGS[walk % len(SETTINGS)]
        kinds = rng.choice(len(CALLS), size=steps, p=_SHARES).tolist()
        numbers = rng.integers(1 << 16, size=(steps, 2)).tolist()
        calls = [(CALLS[kind], a, b) for kind, (a, b) in zip(kinds, numbers, strict=True)]
        wrong = _error(make, calls, delay, per_host)
        if wrong is not None:
            calls = _shorter(make, calls, delay, per_host)
            check_calls(make, calls, delay=delay, per_host=per_host)
    check_draws(make)


def check_live_frontier(make: Make, *, walks: int = 12, steps: int = 120, seed: int = 0) -> None:
    """Check that a live crawl can use a frontier, made as `make(delay=…, per_host=…)`: it has
    `configure` and `hosts`, and configured it keeps the laws of `check_frontier`, also where it is
    saved in the state of a run and loaded into a new one. Raises AssertionError as that does."""

    def configured(*, delay: float, per_host: int) -> Frontier:
        frontier = make(delay=delay + 5.0, per_host=per_host + 3)
        assert isinstance(frontier, HostClocks), "configure() or hosts() is missing"
        frontier.configure(delay=delay, per_host=per_host)
        return frontier

    check_frontier(configured, walks=walks, steps=steps, seed=seed)


def check_calls(make: Make, calls: Sequence[Call], *, delay: float, per_host: int) -> None:
    """Make these calls and compare what a frontier answers with what the model says."""
    walk = _Walk(make, delay, per_host)
    try:
        for number, call in enumerate(calls, 1):
            walk.make_call(call)
            walk.compare(links=number % 4 == 0 or number == len(calls))
    except AssertionError as error:
        raise AssertionError(f"{error}\n{walk.log()}") from None
    except SpoorError as error:
        raise AssertionError(f"{error}\n{walk.log()}") from error
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}\n{walk.log()}") from error


def _error(make: Make, calls: Sequence[Call], delay: float, per_host: int) -> str | None:
    try:
        check_calls(make, calls, delay=delay, per_host=per_host)
    except AssertionError as error:
        return str(error)
    return None


def _shorter(make: Make, calls: list[Call], delay: float, per_host: int) -> list[Call]:
    """The calls without those that the failure does not need."""
    size = len(calls) // 2
    while size:
        start = 0
        while start < len(calls):
            without = calls[:start] + calls[start + size :]
            if _error(make, without, delay, per_host) is not None:
                calls = without
            else:
                start += size
        size //= 2
    return calls


# ---------------------------------------------------------------- the model


@dataclass
class _Target:
    """One link of the model."""

    url: str
    host: str
    parent: LinkId
    depth: int
    state: str = "open"
    retry_at: float = 0.0
    seen: list[tuple[str, LinkId]] = field(default_factory=list)
    """Anchor texts and parents, oldest first."""


@dataclass
class _Host:
    delay: float
    in_flight: int = 0
    free_at: float = -math.inf
    rests: list[tuple[float, float, float]] = field(default_factory=list)
    """(until, what `rest` returned, `free_at` before), oldest first."""
    strangers: list[LinkId] = field(default_factory=list)
    """Redirects from other domains that wait for their turn; `turns` other requests began."""
    called: LinkId | None = None
    turns: int = 0


class _Model:
    """A naive frontier: it searches all links for every answer."""

    def __init__(self, delay: float, per_host: int) -> None:
        self._delay = delay
        self._per_host = per_host
        self.targets: list[_Target] = []
        self.ids: dict[str, LinkId] = {}
        self.hosts: dict[str, _Host] = {}

    def host(self, name: str) -> _Host:
        return self.hosts.setdefault(name, _Host(self._delay))

    def add(
        self, page_links: Sequence[Link], parent: LinkId, depth: int
    ) -> list[tuple[int, LinkId, bool]]:
        shown = []
        for index, link in enumerate(page_links):
            number = self.ids.get(link.url)
            new = number is None
            if number is None:
                number = self.ids[link.url] = len(self.targets)
                self.targets.append(_Target(link.url, host_of(link.url), parent, depth))
            target = self.targets[number]
            if target.state != "done":
                target.seen.append((link.anchor.text, parent))
                shown.append((index, number, new))
        return shown

    def rows(self) -> list[tuple[str, int, int]]:
        """(host, open links, requests in flight) of each host with a link."""
        opened = Counter(self.targets[link].host for link in self.in_state("open"))
        known = dict.fromkeys(target.host for target in self.targets)
        return [(name, opened[name], self.host(name).in_flight) for name in known]

    def in_state(self, state: str) -> list[LinkId]:
        return [link for link, target in enumerate(self.targets) if target.state == state]

    def busy(self, host: str) -> bool:
        return bool(self._per_host) and self.host(host).in_flight >= self._per_host

    def _ready_at(self, host: str) -> float:
        """When the host may get a request; infinite while it is busy."""
        return math.inf if self.busy(host) else self.host(host).free_at

    def offered(self, now: float) -> list[LinkId]:
        return [
            link for link in self.in_state("open") if self._ready_at(self.targets[link].host) <= now
        ]

    def _due_at(self, link: LinkId) -> float:
        target = self.targets[link]
        if link in self.host(target.host).strangers:
            return math.inf
        return max(target.retry_at, self._ready_at(target.host))

    def due(self, now: float) -> list[LinkId]:
        return [link for link in self.in_state("waiting") if self._due_at(link) <= now]

    def next_due(self, now: float) -> float:
        return max(now, min(map(self._due_at, self.in_state("waiting")), default=math.inf))

    def next_ready(self, now: float) -> float:
        turns = (self._ready_at(self.targets[link].host) for link in self.in_state("open"))
        return min(self.next_due(now), max(now, min(turns, default=math.inf)))

    def take(self, link: LinkId, now: float) -> tuple[str, str]:
        target = self.targets[link]
        host = self.host(target.host)
        target.state = "taken"
        host.in_flight += 1
        host.free_at = max(host.free_at, now + host.delay)
        host.turns += 1
        if host.called == link:
            host.called, host.turns = None, 0
        self._call(target.host)
        return target.url, target.host

    def _call(self, name: str) -> None:
        """Let the first stranger of a host be due, if it is the turn of one."""
        host = self.host(name)
        own = any(self.targets[link].host == name for link in self.in_state("open"))
        if host.called is None and host.strangers and (not own or host.turns >= 9):
            host.called = host.strangers.pop(0)

    def _end(self, link: LinkId, now: float) -> None:
        host = self.host(self.targets[link].host)
        host.in_flight -= 1
        if self._per_host == 1:
            host.free_at = max(host.free_at, now + host.delay)

    def settle(self, link: LinkId, now: float, retry_at: float | None) -> None:
        self._end(link, now)
        self.targets[link].state = "done" if retry_at is None else "waiting"
        self.targets[link].retry_at = retry_at or 0.0

    def redirect(self, link: LinkId, url: str, now: float, stranger: bool) -> bool:
        self._end(link, now)
        target, other = self.targets[link], self.ids.get(url)
        if other is not None and (stranger or other == link or self.targets[other].state != "open"):
            target.state = "done"
            return False
        if other is not None:
            self.targets[other].state = "done"
        self.ids[url] = link
        target.url, target.host = url, host_of(url)
        target.state, target.retry_at = "waiting", now
        host = self.host(target.host)
        if stranger:
            if host.called is None and not host.strangers:
                host.turns = 0
            host.strangers.append(link)
            target.retry_at = -math.inf
        self._call(target.host)
        return True

    def path(self, link: LinkId) -> list[LinkId]:
        steps = [link]
        while self.targets[steps[0]].parent != NO_PARENT:
            steps.insert(0, self.targets[steps[0]].parent)
        return steps


# ---------------------------------------------------------------- a walk


def _demand(holds: bool, sentence: str, *values: object) -> None:
    """`values` go into the sentence where it does not hold: to write takes longer than to look."""
    if not holds:
        raise AssertionError(sentence.format(*values) if values else sentence)


class _Walk:
    """A frontier and its model, which get the same calls."""

    def __init__(self, make: Make, delay: float, per_host: int) -> None:
        self._make = make
        self._settings: dict[str, Any] = {"delay": delay, "per_host": per_host}
        self._frontier = make(**self._settings)
        self._model = _Model(delay, per_host)
        self._now = 0.0
        self._log: list[str] = []

    def log(self) -> str:
        settings = ", ".join(f"{key}={value}" for key, value in self._settings.items())
        return "\n".join([f"with {settings}, after", *(f"  {line}" for line in self._log)])

    def make_call(self, call: Call) -> None:
        kind, a, b = call
        getattr(self, f"_{kind}")(a, b)

    def _url(self, number: int) -> str:
        host, page = number % _HOSTS, number // _HOSTS % _PAGES
        return f"http://h{host}.example/{page}"

    def _pick(self, among: Sequence[LinkId], number: int) -> LinkId | None:
        return among[number % len(among)] if among else None

    # -- calls

    def _add(self, a: int, b: int) -> None:
        parent = self._pick(self._model.in_state("done"), a)
        depth = 0 if parent is None else self._model.targets[parent].depth + 1
        parent = NO_PARENT if parent is None else parent
        urls = [self._url(a * 31 + b * (step + 1)) for step in range(b % 6)]
        page_links = [Link(url, Anchor(f"{a} {at}", position=at)) for at, url in enumerate(urls)]
        score = a % 5 / 4
        self._log.append(f"add({urls}, parent={parent}, depth={depth})")
        seen = self._frontier.add(page_links, parent, score, depth)
        expected = self._model.add(page_links, parent, depth)
        shown = list(zip(seen.indices, seen.links, seen.first, strict=True))
        _demand(
            [(at, link, bool(new)) for at, link, new in shown] == expected,
            f"add shows (place, link, first) {shown}, not {expected}",
        )
        for in_link, (at, link, _) in zip(seen, expected, strict=True):
            target = self._model.targets[link]
            _demand(in_link.host == target.host, f"add gives link {link} host {in_link.host!r}")
            _demand(in_link.url in (urls[at], target.url), f"add gives link {link} {in_link.url!r}")
            got = (in_link.anchor, in_link.parent, in_link.parent_score, in_link.depth)
            put = (page_links[at].anchor, parent, score, depth)
            _demand(got == put, f"add gives link {link} {got}, not {put}")

    def _take(self, a: int, b: int) -> None:
        now, offer = self._now, self._frontier.offer(self._now)
        rng = np.random.default_rng(a)
        size = len(offer)
        drawn = list(offer.draw(rng, b % (size + 2)))
        _demand(
            len(drawn) == min(size, b % (size + 2)) == len(set(drawn)),
            f"draw(rng, {b % (size + 2)}) of {size} links gives {drawn}",
        )
        _demand(all(link in offer for link in drawn), f"draw gives {drawn}, some not on offer")
        link = self._pick(self._model.offered(now), a)
        if link is not None:
            self._begin(link)
        closed = self._pick([*self._model.in_state("done"), *self._model.in_state("taken")], b)
        if closed is not None:
            self._refused(f"take({closed})", lambda: self._frontier.take(closed, now))

    def _refused(self, what: str, call: Callable[[], object]) -> None:
        try:
            call()
        except CallerError:
            return
        raise AssertionError(f"{what} raises no CallerError where the link's state forbids it")

    def _begin(self, link: LinkId) -> None:
        self._log.append(f"take({link}, now={self._now})")
        got = tuple(self._frontier.take(link, self._now))
        expected = self._model.take(link, self._now)
        _demand(got == expected, f"take({link}) returns {got}, not {expected}")

    def _settle(self, a: int, b: int) -> None:
        self._end(a, None)
        idle = self._pick([*self._model.in_state("open"), *self._model.in_state("done")], b)
        if idle is not None:
            now = self._now
            self._refused(f"settle({idle})", lambda: self._frontier.settle(idle, now))

    def _retry(self, a: int, b: int) -> None:
        self._end(a, self._now + b % 4)

    def _end(self, a: int, retry_at: float | None) -> None:
        link = self._pick(self._model.in_state("taken"), a)
        if link is None:
            return
        self._log.append(f"settle({link}, now={self._now}, retry_at={retry_at})")
        self._frontier.settle(link, self._now, retry_at)
        self._model.settle(link, self._now, retry_at)

    def _redirect(self, a: int, b: int) -> None:
        link = self._pick(self._model.in_state("taken"), a)
        if link is None:
            return
        url, stranger = self._url(b), bool(a // 64 % 2)
        self._log.append(f"redirect({link}, {url!r}, now={self._now}, stranger={stranger})")
        got = self._frontier.redirect(link, url, self._now, stranger=stranger)
        expected = self._model.redirect(link, url, self._now, stranger)
        _demand(got is expected, f"redirect({link}, {url!r}) returns {got}, not {expected}")

    def _due(self, a: int, b: int) -> None:
        """What a crawl does: a link that is due is taken at once, until none is."""
        while True:
            expected = self._model.due(self._now)
            link = self._frontier.due(self._now)
            if link is None:
                _demand(not expected, f"due({self._now}) is None, and {expected} are due")
                return
            _demand(link in expected, f"due({self._now}) is {link}; due are {expected}")
            self._begin(link)

    def _wait(self, a: int, b: int) -> None:
        """Advance the time: to the frontier's `next_ready`, or by a little."""
        self._due(a, b)
        ready = self._frontier.next_ready(self._now) if a % 2 else None
        self._now = max(self._now, self._now + (b % 8) / 2 if ready is None else ready)
        self._log.append(f"now={self._now}")

    def _hold(self, a: int, b: int) -> None:
        host, until = f"h{a % _HOSTS}.example", self._now + b % 5 - 1
        self._log.append(f"hold({host!r}, until={until})")
        self._frontier.hold(host, until)
        self._model.host(host).free_at = max(self._model.host(host).free_at, until)

    def _rest(self, a: int, b: int) -> None:
        if isinstance(self._frontier, RestsHosts):
            host, until = f"h{a % _HOSTS}.example", self._now + 1 + b % 50
            self._log.append(f"rest({host!r}, until={until})")
            free_at = self._frontier.rest(host, until)
            if isinstance(self._frontier, ListsHosts):
                listed = {name: links for name, links, *_ in self._frontier.hosts()}
                _demand(
                    self._frontier.open_of(host) == listed[host], "open_of() is not as in hosts()"
                )
            known = self._model.host(host)
            known.rests.append((until, free_at, known.free_at))
            known.free_at = max(known.free_at, until)

    def _wake(self, a: int, b: int) -> None:
        host, frontier = f"h{a % _HOSTS}.example", self._frontier
        known = self._model.host(host)
        if isinstance(frontier, RestsHosts) and known.rests and not self._model.in_state("waiting"):
            until, free_at, before = known.rests.pop()
            self._log.append(f"wake({host!r}, {until}, {free_at})")
            frontier.wake(host, until, free_at)
            if known.free_at == until:
                known.free_at = before

    def _pace(self, a: int, b: int) -> None:
        host, delay = f"h{a % _HOSTS}.example", float(b % 4)
        self._log.append(f"pace({host!r}, {delay})")
        self._frontier.pace(host, delay)
        self._model.host(host).delay = max(self._model.host(host).delay, delay)

    def _reload(self, a: int, b: int) -> None:
        self._log.append("load(save()) into a new one")
        saved = pack(self._frontier.save())
        again = self._make(**self._settings)
        again.load(unpack(saved))
        _demand(pack(again.save()) == saved, "a state that is loaded and saved again is another")
        now = self._now
        size = len(self._frontier.offer(now))
        one, two = (
            list(frontier.offer(now).draw(np.random.default_rng(a), b % (size + 1)))
            for frontier in (self._frontier, again)
        )
        _demand(one == two, f"draw gives {one} before save and load, {two} after")
        self._frontier = again

    # -- comparing

    def compare(self, *, links: bool = True) -> None:
        """Compare everything that does not change the frontier; `due` only if nothing is due, and
        what is known of each link only where `links` is set."""
        frontier, model, now = self._frontier, self._model, self._now
        expected = model.offered(now)
        offer = frontier.offer(now)
        inside = [link for link in range(len(model.targets)) if link in offer]
        _demand(inside == expected, "at {} the offer holds {}, not {}", now, inside, expected)
        _demand(len(offer) == len(inside), "the offer says it holds {} of {}", len(offer), inside)
        every = sorted(offer.draw(np.random.default_rng(0), len(expected)))
        _demand(every == expected, "draw of all gives {}, not {}", every, expected)
        hosts = {model.targets[link].host for link in expected}
        offered = set(offer.hosts())
        _demand(offered == hosts, "hosts() are {}, not {}", offered, hosts)
        _demand(-1 not in offer and "x" not in offer, "the offer holds what is no link")
        opened, found = model.in_state("open"), list(frontier.open())
        _demand(found == opened, "open() gives {}", found)
        _demand(frontier.open_count == len(opened), "open_count is {}", frontier.open_count)
        for link, target in enumerate(model.targets if links else ()):
            url, depth, path = frontier.url(link), frontier.depth(link), list(frontier.path(link))
            steps = model.path(link)
            _demand(url == target.url, "url({}) is {!r}", link, url)
            _demand(depth == target.depth, "depth({}) is not {}", link, target.depth)
            _demand(path == steps, "path({}) is {}, not {}", link, path, steps)
            last = list(frontier.path(link, 2))
            _demand(last == path[-2:], "path({}, 2) is {}, not {}", link, last, path[-2:])
            seen = [(one.anchor.text, one.parent) for one in frontier.in_links(link)]
            if target.state == "done":
                _demand(not seen, "in-links({}) of a fetched link are {}", link, seen)
            else:
                first = target.seen[: len(seen)]
                same = bool(seen) and seen == first
                _demand(same, "in-links({}) are {}, not {}", link, seen, first)
        if isinstance(frontier, HostClocks):
            expected_rows = model.rows()
            names = {name for name, *_ in expected_rows}
            rows = [row[:3] for row in frontier.hosts() if row[0] in names]
            same = sorted(rows) == sorted(expected_rows)
            _demand(same, "hosts() are {}, not {}", rows, expected_rows)
        for name, host in model.hosts.items():
            _demand(frontier.delay(name) == host.delay, "delay({!r}) is not {}", name, host.delay)
        if not model.due(now):
            due = frontier.due(now)
            _demand(due is None, "due({}) is {}, and nothing is due", now, due)
            self._times("next_due", frontier.next_due(now), model.next_due(now))
            self._times("next_ready", frontier.next_ready(now), model.next_ready(now))

    def _times(self, name: str, got: float | None, expected: float) -> None:
        """A time that is too early costs a look; one that is too late costs the crawl's speed."""
        now = self._now
        if got is None:
            _demand(math.isinf(expected), f"{name}({now}) is None, and at {expected} there is work")
            return
        _demand(got >= now, f"{name}({now}) is {got}, in the past")
        _demand(got <= expected, f"{name}({now}) is {got}, and at {expected} there is work")
        if expected > now:
            _demand(got > now, f"{name}({now}) is now, and there is nothing to ask for")


# ---------------------------------------------------------------- draws


def check_draws(make: Make, *, trials: int = 1_500) -> None:
    """Draws are uniform over what is on offer, few hosts of many being free, or most."""
    for busy in (0, 1, 4):
        frontier = make(delay=1.0, per_host=1)
        urls = [f"http://h{page % 5}.example/{page}" for page in range(40)]
        urls += [f"http://h0.example/more{page}" for page in range(20)]
        frontier.add([Link(url) for url in urls], NO_PARENT, 0.0, 0)
        for host in range(busy):
            frontier.hold(f"h{host}.example", 100.0)
        offer = frontier.offer(0.0)
        size = len(offer)
        rng = np.random.default_rng(busy)
        for k in (1, 3, size - 2):
            counts: Counter[LinkId] = Counter()
            for _ in range(trials):
                counts.update(offer.draw(rng, k))
            share = k / size
            margin = 5 * math.sqrt(trials * share * (1 - share))
            for link, url in enumerate(urls):
                if link in offer:
                    _demand(
                        abs(counts[link] - trials * share) <= margin,
                        f"draw(rng, {k}) of {size} links gave {url} {counts[link]} times in "
                        f"{trials}; a uniform one gives it about {trials * share:.0f} times",
                    )
