"""Links that wait: what is more than may wait is told, also once the others have entered."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor import bounded
from spoor.learn.state import pack, unpack
from spoor.link_filter import held_groups, waiting_places
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.link_filter.waiting_places import TOO_MANY, WaitingLinks
from spoor.types import Anchor, HeldLink, Link, LinkId
from spoor.views.explain import left_out_lines
from spoor.web.page import parse
from spoor.web.urls import domain_of


def _held(url: str, *, dropped: bool = False) -> HeldLink:
    return HeldLink(Link(url, Anchor()), 0, 0.0, 1, dropped)


def test_links_that_were_more_than_may_wait_are_told_after_the_others_entered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting_places, "MOST_WAITING", 3)
    within = CrawlFilter(Scope(), traps=Traps())
    assert within._domains is not None
    assert within._traps is not None
    for number in range(10):
        within._domains.hold("a.example", _held(f"http://a.example/{number}"))
        within._traps.hold("b.example/#", _held(f"http://b.example/{number}"))
    assert sum(links for _, links, _ in within.left_out().held) == 20
    again = CrawlFilter(Scope(), traps=Traps())
    for one in (within, again):
        if one is again:
            again.load(unpack(pack(within.save())))
        while one._domains is not None and one._domains.release(over=True):
            pass
        assert one._traps is not None
        one._traps._groups.open("b.example/#")
        assert len(one._traps.release(over=False)) == 3 * (one is within)
        left_out = one.left_out()
        assert (left_out.rules, left_out.held) == ({TOO_MANY: 7 + 7}, [])
        assert left_out_lines(left_out) == ["left out 14 links that were more than may wait"]


def test_what_waits_for_a_group_that_is_forgotten_may_enter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(held_groups, "remember", partial(bounded.remember, most=2))
    guard = Traps()
    for number in range(3):
        guard.hold(f"{number}.example/#", _held(f"http://{number}.example/1", dropped=True))
    released = [held.link.url for held in guard.release(over=False)]
    assert released == ["http://0.example/1"], "dropped by the frontier, it would be lost"
    assert [group.name for group in guard.held_groups()] == ["1.example/#", "2.example/#"]


MOST = 6
CALLS = st.lists(
    st.tuples(
        st.sampled_from([*["add"] * 12, "first", "newest", "all", "leave", "reload"]),
        st.sampled_from("abc"),  # the domain
        st.integers(0, 2),  # which of its groups
        st.integers(0, 4),  # which link of the group
        st.booleans(),  # whether the frontier dropped it
    ),
    min_size=40,
    max_size=60,
)


def _few_waiting() -> WaitingLinks:
    waiting = WaitingLinks()
    waiting._places = waiting_places.WaitingPlaces(MOST)
    return waiting


def _is_not_of(domain: str, url: str) -> bool:
    return f".{domain}." not in url


@given(CALLS)
@settings(max_examples=100)
def test_links_that_wait_in_groups_are_those_of_the_plainest_list(
    calls: list[tuple[str, str, int, int, bool]],
) -> None:
    """A list of (group, link), the oldest first, from which the domain with the most loses the
    newest of its newest group; nothing is lost that is not counted."""
    waiting = _few_waiting()
    plain: list[tuple[str, HeldLink]] = []
    began: list[str] = []
    entered = given_up = 0
    gone: list[HeldLink] = []
    for call, domain, which, number, dropped in calls:
        group = f"{domain} {which}"
        held = _held(f"http://{which}.{domain}.example/{number}", dropped=dropped)
        its = [one for name, one in plain if name == group]
        if call == "add":
            known = next((one for one in its if one.link == held.link), None)
            waiting.add(group, held)
            if known is None:
                entered += 1
                plain.append((group, held))
                began += [group] * (group not in began)
            elif dropped:
                plain[plain.index((group, known))] = group, held
            if len(plain) > MOST:
                of = Counter(domain_of(one.link.url) for _, one in plain)
                fullest = min(of, key=lambda one: (-of[one], one))
                newest = [one for one in began if one.startswith(fullest[0])][-1]
                plain.remove([row for row in plain if row[0] == newest][-1])
                given_up += 1
        elif call in ("first", "newest"):
            found = waiting.first(group) if call == "first" else waiting.newest(group)
            assert found == (its[-1 if call == "newest" else 0] if its else None)
            if found is not None:
                gone.append(found)
                plain.remove((group, found))
        elif call == "all":
            assert waiting.all(group) == its
            gone += its
            plain = [row for row in plain if row[0] != group]
        elif call == "leave":
            left = waiting.leave(partial(_is_not_of, domain))
            leaving = [(name, one) for name, one in plain if name[0] == domain and one.dropped]
            assert sorted(left) == sorted(one for _, one in leaving)
            gone += left
            plain = [row for row in plain if row not in leaving]
        else:
            state = unpack(pack(waiting.save()))
            waiting = _few_waiting()
            waiting.load(state)
        began = [one for one in began if any(name == one for name, _ in plain)]
        assert list(waiting) == began
        assert bool(waiting) == bool(plain)
        rows = [[one, [its.row() for name, its in plain if name == one]] for one in began]
        assert waiting.save()["waiting"] == rows
        assert entered == sum(waiting.counts().values()) + waiting.lost + len(gone)
        assert sum(waiting.left().values()) + waiting.lost == given_up


def test_what_a_limit_gave_up_is_told_after_its_group_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting_places, "MOST_WAITING", 2)
    within = CrawlFilter(Scope(), per_host=1)
    for number in range(9):
        held = _held(f"http://{number}.a.example/")
        within._limits.hold(f"host {number}.a.example", held)
    left_out = within.left_out()
    assert left_out.rules == {"--pages-per-host 1": 2, TOO_MANY: 7}


def test_a_link_that_the_frontier_knows_does_not_wait_for_its_domain() -> None:
    guard = CrawlFilter(Scope(), traps=Traps())
    assert guard._domains is not None
    guard._domains.hold("b.example", _held("http://b.example/waits"))
    guard.knows = "http://b.example/known".__eq__
    source = b'<a href="http://b.example/known">a</a><a href="http://b.example/other">b</a>'
    page = parse(source, "http://a.example/")
    admitted = guard.admit(page, 1, LinkId(0), 0.0, str)
    assert [link.url for link in admitted] == ["http://b.example/known"]
    assert [links for _, links, _ in guard._domains.held_groups()] == [2]
