"""What is known of groups of URLs, as it is saved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.columns import texts_column
from spoor.learn.state import pack, unpack
from spoor.link_filter.trap_groups import NEVER, Count, counts_of, saved_counts

_FIELDS = Count.__slots__

counts = st.dictionaries(
    st.text(max_size=9),
    st.fixed_dictionaries(
        {},
        optional={
            **dict.fromkeys(_FIELDS, st.integers(0, 99)),
            "next": st.just(NEVER),
            "blamed": st.integers(0, 2**64 - 1),
        },
    ),
    max_size=9,
)


def _count(**values: int) -> Count:
    made = Count()
    for name, value in values.items():
        setattr(made, name, value)
    return made


@given(counts)
def test_groups_are_saved_in_their_order_with_all_that_is_known(known: dict[str, Any]) -> None:
    given = {name: _count(**values) for name, values in known.items()}
    again = counts_of(unpack(pack(saved_counts(given))))
    assert [*again] == [*given]
    for name, count in given.items():
        assert [getattr(again[name], field) for field in _FIELDS] == [
            getattr(count, field) for field in _FIELDS
        ]


@pytest.mark.parametrize(
    ("part", "damage"),
    [
        ("held", np.array([7])),
        ("holds", np.zeros((0, 4), np.uint64)),
        ("pages", np.zeros((4, 1), np.int64)),
        ("names", texts_column(["b"])),
    ],
)
def test_damaged_groups_are_refused(part: str, damage: Any) -> None:
    saved = saved_counts({"a": _count(pages=3, held=1), "b": _count(pages=2)})
    with pytest.raises((ValueError, LookupError)):
        counts_of({**saved, part: damage})
