"""The frontier of state-action pairs against a plain one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spoor.learn.pairs import Pairs

MOVES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 7)), max_size=60)


@given(MOVES, st.lists(st.sampled_from([0.0, -0.5, -1.0]), min_size=8, max_size=8))
def test_a_pair_gives_its_links_in_their_order(
    moves: list[tuple[int, int]], orders: list[float]
) -> None:
    pairs = Pairs()
    plain: dict[int, set[int]] = {}
    for state, link in moves:
        pair = pairs[state, 0, pairs.host_number("a.example")]
        links = plain.setdefault(pair, set())
        if link in links:
            links.remove(link)
            pairs.leave(pair, link)
        else:
            links.add(link)
            pairs.enter(pair, link, orders[link])
        again = Pairs.restored(pairs.save())
        for told in (pairs, again):
            assert set(told.live) == {pair for pair, links in plain.items() if links}
            assert told.size.tolist() == [len(links) for links in plain.values()]
            for pair in told.live:
                links = plain[pair]
                assert told.head(pair) == min(links, key=lambda link: (orders[link], link))
