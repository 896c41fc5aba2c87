"""Politeness against plain models: random replies, clocks and hosts."""

from __future__ import annotations

import heapq
from collections import defaultdict
from datetime import UTC, datetime
from email.utils import format_datetime
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from spoor.durations import DAY
from spoor.politeness.request_limits import RequestLimits, Turn
from spoor.politeness.retry_after import retry_after
from spoor.politeness.robots import ROBOTS_HOPS, RobotsCache, RobotsFetch, origin_of
from spoor.web.robots import DISALLOW_ALL
from spoor.web.urls import registrable_domain

PATHS = ("/", "/a", "/b", "/a/b")
ORIGINS = ("http://one.example", "https://two.example:8080")
MAX_AGE, RETRY, MAX_RETRY = 100.0, 5.0, 30.0

replies = st.one_of(
    st.tuples(st.just("file"), st.sets(st.sampled_from(PATHS[1:])), st.integers(0, 4)),
    st.tuples(
        st.sampled_from(["absent", "error", "silence", "cut"]), st.just(set[str]()), st.just(0)
    ),
    st.tuples(st.just("redirects"), st.sets(st.sampled_from(PATHS[1:])), st.integers(1, 9)),
)
"""What a server does when its robots.txt is requested: kind, paths that it forbids, number (of the
Crawl-delay, or of redirects)."""


def fetched(origin: str, reply: tuple[str, set[str], int]) -> RobotsFetch:
    """A fetch of robots.txt from a server that replies so."""
    kind, shut, number = reply
    fetch = RobotsFetch(origin, "Spoor/1.0")
    text = "".join(f"Disallow: {path}$\n" for path in sorted(shut))
    body = f"User-agent: *\n{text}Crawl-delay: {number}\n".encode()
    requests = 0
    while fetch.rules is None:
        requests += 1
        assert requests <= ROBOTS_HOPS + 1
        if kind == "silence":
            fetch.fail("no reply in time")
        elif kind == "redirects" and requests <= number:
            fetch.reply(302, b"", location=f"/robots-{requests}")
        elif kind in ("file", "redirects"):
            fetch.reply(200, body)
        else:
            fetch.reply({"absent": 404, "error": 503, "cut": 200}[kind], body, broken=kind == "cut")
    return fetch


@given(
    st.lists(
        st.tuples(st.sampled_from(ORIGINS), st.floats(0.0, 90.0), replies), min_size=1, max_size=30
    )
)
def test_robots(steps: list[tuple[str, float, tuple[str, set[str], int]]]) -> None:
    cache = RobotsCache(max_age=MAX_AGE, max_crawl_delay=3.0, retry=RETRY, max_retry=MAX_RETRY)
    # Of the model, by origin: the paths forbidden (None: all), until when, and failures in a row.
    shut: dict[str, set[str] | None] = {}
    until: dict[str, float] = {}
    failures: dict[str, int] = defaultdict(int)
    now = 1000.0
    for origin, seconds, reply in steps:
        now += seconds
        rules = cache.rules(origin, now)
        assert (rules is None) == (until.get(origin, 0.0) <= now), "due when it expires, not before"
        if rules is None:
            fetch = fetched(origin, reply)
            assert fetch.rules is not None
            rules = cache.store(origin, fetch.rules, now, fetch.reason)
            kind, paths, number = reply
            if kind in ("error", "silence", "cut"):
                failures[origin] += 1
                shut.setdefault(origin, None)
                until[origin] = now + min(RETRY * 2 ** (failures[origin] - 1), MAX_RETRY)
                assert cache.failure(origin) == ("robots", fetch.reason)
                assert fetch.reason
            else:
                failures[origin] = 0
                until[origin] = now + MAX_AGE
                followed = kind == "file" or (kind == "redirects" and number <= ROBOTS_HOPS)
                shut[origin] = paths if followed else set()
                kept = followed and number <= 3
                assert cache.crawl_delay(rules) == (number if kept else None)
                assert bool(cache.too_slow(rules)) == (followed and number > 3)
        forbidden = shut[origin]
        for path in PATHS:
            expected = forbidden is not None and path not in forbidden
            assert rules.allowed(f"{origin}{path}") == expected, path
        assert rules.allowed(f"{origin}/robots.txt")
        assert cache.wait(origin, now) == until[origin] - now
        assert (origin in cache.unreachable()) == (forbidden is None) == (rules is DISALLOW_ALL)


@given(st.integers(0, 10**12), st.integers(-(10**6), 10**7))
def test_retry_after_is_seconds_or_a_date_and_at_most_a_day(seconds: int, offset: int) -> None:
    now = 1_700_000_000.0
    assert retry_after(f" {seconds} ", now) == min(seconds, DAY)
    date = format_datetime(datetime.fromtimestamp(now + offset, UTC), usegmt=True)
    assert retry_after(date, now) == min(max(0, offset), DAY)


@given(st.text())
def test_any_other_retry_after_says_nothing(value: str) -> None:
    seconds = retry_after(value, 0.0)
    assert seconds is None or 0.0 <= seconds <= DAY


HOSTS = ("a.one.example", "b.one.example", "two.test", "three.test:8080")
ADDRESSES = dict(zip(HOSTS, ("192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.1"), strict=True))

requests = st.lists(
    st.tuples(
        st.sampled_from(HOSTS),
        st.sampled_from([0.0, 0.5, 1.0, 3.0]),  # when it asks, after the one before
        st.sampled_from([0.0, 1.0, 2.5]),  # how long it lasts
        st.booleans(),  # whether it is given up where it has to wait
    ),
    max_size=40,
)
limits = st.fixed_dictionaries(
    {
        "per_host": st.integers(0, 2),
        "per_domain": st.integers(0, 2),
        "per_address": st.integers(0, 3),
    }
)


@given(requests, limits, st.sampled_from([0.0, 1.0, 2.0]))
def test_requests_at_a_time(
    asked: list[tuple[str, float, float, bool]], limits: dict[str, int], delay: float
) -> None:
    """A driver that does as it is told: no group has more requests than its limit, a group of one
    at a time is left alone for its delay, and every request gets its turn, in order."""
    politeness = RequestLimits(**limits)
    now, pending = 0.0, list[tuple[float, int, str]]()
    for number, (_, after, _, _) in enumerate(asked):
        now += after
        heapq.heappush(pending, (now, number, "ask"))
    turns: dict[Turn, int] = {}
    began: dict[int, float] = {}
    ended: dict[int, float] = {}
    given_up: set[int] = set()
    rounds = 0
    while pending:
        rounds += 1
        assert rounds < 20 * len(asked) + 20, "it ends"
        now, number, event = heapq.heappop(pending)
        host, _, _, impatient = asked[max(number, 0)]
        if event == "ask":
            turns[politeness.ask(host, delay, now, ADDRESSES[host])] = number
        elif event == "end":
            ended[number] = now
            politeness.end(next(turn for turn, it in turns.items() if it == number), now)
        begin, again = politeness.admit(now)
        for turn in begin:
            began[turns[turn]] = now
            heapq.heappush(pending, (now + asked[turns[turn]][2], turns[turn], "end"))
        if event == "ask" and impatient and number not in began:
            given_up.add(number)
            politeness.end(next(turn for turn, it in turns.items() if it == number), now)
            begin, again = politeness.admit(now)
            assert not begin, "who waited last held up nobody"
        if again is not None:
            assert again > now
            heapq.heappush(pending, (again, -1, "wait"))
    assert set(began) | given_up == set(range(len(asked)))
    assert not set(began) & given_up
    for kind, limit in limits.items():
        groups = defaultdict(list)
        for number in sorted(began):
            host = asked[number][0]
            name = {
                "per_host": host,
                "per_domain": registrable_domain(host),
                "per_address": ADDRESSES[host],
            }[kind]
            groups[name].append((began[number], ended[number]))
        for times in groups.values() if limit else ():
            for start, _ in times:
                running = sum(begin <= start < end for begin, end in times)
                assert running <= limit
            if limit == 1:
                for (_, end), (start, _) in pairwise(sorted(times)):
                    assert start >= end + delay
    if not any(limits.values()):
        assert began == {number: ended[number] - asked[number][2] for number in began}
    if limits["per_host"]:
        for host in HOSTS:
            starts = [began[number] for number in sorted(began) if asked[number][0] == host]
            assert starts == sorted(starts), "first come, first served"


def test_the_origin_of_a_url() -> None:
    assert origin_of("http://a.example:8080/path?q=http://b.example/") == "http://a.example:8080"
