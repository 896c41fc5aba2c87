"""The frontier of state-action pairs against a plain one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.policies.sarsa.pairs import Pairs

HOSTS = ["a.example", "b.example"]
MOVES = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(HOSTS), st.integers(0, 1), st.integers(0, 7)),
    max_size=60,
)
ORDERS = st.lists(st.sampled_from([0.0, -0.5, -1.0]), min_size=8, max_size=8)


@given(MOVES, ORDERS, st.booleans())
def test_a_pair_gives_its_links_in_their_order(
    moves: list[tuple[int, str, int, int]], orders: list[float], ranked: bool
) -> None:
    pairs = Pairs(ranked=ranked)
    plain: dict[int, set[int]] = {}
    for state, host, action, link in moves:
        pair = pairs[pairs.of(state, pairs.host_number(host)) + action]
        assert (pairs.state[pair], pairs.action[pair]) == (state, action)
        assert pairs.hosts[pairs.host[pair]] == host
        links = plain.setdefault(pair, set())
        if link in links:
            links.remove(link)
            assert pairs.leave(pair, link) == bool(links)
        else:
            assert pairs.enter(pair, link, orders[link]) == bool(links)
            links.add(link)
        again = Pairs.restored(pairs.save(), ranked=ranked)
        for told in (pairs, again):
            assert set(told.live) == {pair for pair, links in plain.items() if links}
            assert told.size == [len(links) for links in plain.values()]
            for pair in told.live:
                links = plain[pair]
                head = min(links, key=lambda link: (orders[link], link))
                assert told.head(pair) == head
                assert told.gives(head, [pair, pair]) == 2


def test_pairs_with_fewer_links_than_they_say_are_refused() -> None:
    pairs = Pairs()
    pairs.enter(pairs[pairs.of(0, pairs.host_number(HOSTS[0]))], 1, 0.0)
    state = pairs.save()
    for size in (2, -1, 2**62):
        with pytest.raises(ValueError, match="pieces"):
            Pairs.restored({**state, "size": np.array([size])})
