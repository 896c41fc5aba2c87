"""Links that wait: what is more than may wait is told, also once the others have entered."""

from __future__ import annotations

from functools import partial

import pytest

from spoor import bounded
from spoor.learn.state import pack, unpack
from spoor.types import Anchor, HeldLink, Link
from spoor.views.explain import left_out_lines
from spoor.web import domain_shares, traps
from spoor.web.link_filter import TOO_MANY, CrawlFilter
from spoor.web.scope import Scope
from spoor.web.traps import Traps


def _held(url: str, *, dropped: bool = False) -> HeldLink:
    return HeldLink(Link(url, Anchor()), 0, 0.0, 1, dropped)


def test_links_that_were_more_than_may_wait_are_told_after_the_others_entered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(domain_shares, "_WAITING", 3)
    monkeypatch.setattr(traps, "_WAITING", 2)
    within = CrawlFilter(Scope(), traps=Traps())
    assert within._domains is not None
    assert within._traps is not None
    for number in range(10):
        within._domains.hold(_held(f"http://a.example/{number}"))
        within._traps.hold("b.example/#", _held(f"http://b.example/{number}"))
    assert sum(links for _, links, _ in within.left_out().held) == 20
    again = CrawlFilter(Scope(), traps=Traps())
    for one in (within, again):
        if one is again:
            again.load(unpack(pack(within.save())))
        while one._domains is not None and one._domains.release(over=True):
            pass
        assert one._traps is not None
        one._traps._open("b.example/#", one._traps._count("b.example/#"))
        assert len(one._traps.release(over=False)) == 2 * (one is within)
        left_out = one.left_out()
        assert (left_out.rules, left_out.held) == ({TOO_MANY: 7 + 8}, [])
        assert left_out_lines(left_out) == ["left out 15 links that were more than may wait"]


def test_what_waits_for_a_group_that_is_forgotten_may_enter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traps, "remember", partial(bounded.remember, most=2))
    guard = Traps()
    for number in range(3):
        guard.hold(f"{number}.example/#", _held(f"http://{number}.example/1", dropped=True))
    released = [held.link.url for held in guard.release(over=False)]
    assert released == ["http://0.example/1"], "dropped by the frontier, it would be lost"
    assert [group.name for group in guard.held_groups()] == ["1.example/#", "2.example/#"]
