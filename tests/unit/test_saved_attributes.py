"""Attributes with forms: what a class lists is saved and loaded; fields with ranges are checked;
dicts of bounded size; a push that only raises a value."""

from __future__ import annotations

from collections import deque
from dataclasses import KW_ONLY, InitVar, dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.bounded import BoundedDict, Cache
from spoor.errors import InputError
from spoor.learn.parameters import at_least, between, check_parameters, one_of
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved_attributes import (
    ARRAY,
    GENERATOR,
    KEYS,
    PAIRS,
    PART,
    QUEUE,
    TUPLE,
    VALUE,
    Saved,
    attributes,
    numbers,
    rows,
)
from spoor.learn.state import pack, unpack


class Everything(Saved):
    """One attribute of each form."""

    SAVED = attributes(
        _rng=GENERATOR,
        _array=ARRAY,
        _count=VALUE,
        _list=VALUE,
        _pair=TUPLE,
        _numbers=numbers(np.int64),
        _queue=PART,
        _none=PART,
        _deque=QUEUE,
        _keys=KEYS,
        _values=PAIRS,
        _rows=rows(),
        _lists=rows(list),
        open=VALUE,
    )

    def __init__(self, seed: int) -> None:
        rng = self._rng = np.random.default_rng(seed)
        self._array = rng.normal(size=(3, 2))
        self._count = seed
        self._list = [seed, "a"]
        self._pair = (seed, 2)
        self._numbers = [seed, 3]
        self._queue = PriorityQueue()
        self._queue.push(seed, "a.example", 0.5)
        self._none = None
        self._deque = deque([seed], maxlen=4)
        self._keys = {seed: None, 1000: None}
        self._values = BoundedDict[int, float](3)
        self._values[seed] = 0.25
        self._rows = {seed: ("a", 1)}
        self._lists = {"a": [seed, 1]}
        self.open = f"{seed}"


@given(st.integers(0, 99), st.integers(0, 99))
def test_what_is_listed_is_saved_and_loaded(seed: int, other: int) -> None:
    one, two = Everything(seed), Everything(other)
    one._rng.random(seed)
    state = unpack(pack(one.save()))
    assert set(state) == {name.lstrip("_") for name in Everything.SAVED}
    two.load(state)
    assert pack(two.save()) == pack(one.save())
    assert two._rng.random() == one._rng.random()
    assert type(two._values) is BoundedDict
    assert two._deque.maxlen == 4
    assert isinstance(two._rows[seed], tuple)
    assert isinstance(two._lists["a"], list)
    # Nothing is shared with the state, which others may still read.
    two._list.append("b")
    two._lists["a"].append(7)
    assert pack(unpack(pack(one.save()))) == pack(one.save())
    assert state["list"] == [seed, "a"]


@dataclass(eq=False)
class Parameters:
    task: InitVar[None]
    _: KW_ONLY
    share: float = between(0, 1, 0.5)
    count: int = at_least(1, 3)
    order: str = one_of(("first", "last"), "first")

    def __post_init__(self, task: None) -> None:
        check_parameters("example", self)


def test_parameters_are_what_they_may_be() -> None:
    made = Parameters(None)
    assert (made.share, made.count, made.order) == (0.5, 3, "first")
    for name, value, words in (
        ("share", 1.5, r"example: share lies in \[0, 1\], not 1.5"),
        ("count", 0, "example: count is at least 1, not 0"),
        ("order", "best", "example: order is one of first, last, not 'best'"),
    ):
        with pytest.raises(InputError, match=words):
            Parameters(None, **{name: value})  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(1, 8))
def test_dicts_stay_within_their_bounds(keys: list[int], limit: int) -> None:
    latest = BoundedDict[int, int](limit)
    made: list[int] = []

    def make(key: int) -> int:
        made.append(key)
        return -key

    cache = Cache[int, int](make, limit)
    for at, key in enumerate(keys):
        latest[key] = at
        known = key in cache
        assert cache[key] == -key
        assert (len(made) and made[-1] == key) or known
        assert len(latest) <= limit
        assert len(cache) <= limit
        assert latest[key] == at


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-9, 9)), max_size=40))
def test_a_push_if_higher_keeps_the_highest(pushes: list[tuple[int, float]]) -> None:
    queue = PriorityQueue()
    highest: dict[int, float] = {}
    for link, value in pushes:
        queue.push_if_higher(link, "a.example", value)
        highest[link] = max(value, highest.get(link, value))
        assert {one: queue.value(one) for one in queue} == highest
