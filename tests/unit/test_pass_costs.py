"""What the documents of one pass over a run may cost together."""

from __future__ import annotations

from pathlib import Path

import pytest

from spoor.errors import InputError
from spoor.isolate.bounds import DOCUMENT
from spoor.runs.pass_costs import LEAST, SPARE, PassCosts


class _Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _read(costs: PassCosts, time: _Time, length: int, wants: float) -> None:
    """A document that takes so many seconds, or as many as it may."""
    with costs.reading(length):
        time.now += min(wants, costs.seconds(length))


def test_small_documents_that_take_long_take_a_minute_and_then_little_each() -> None:
    costs = PassCosts(time := _Time())
    for _ in range(1_000):
        _read(costs, time, 300, 8.0)
    assert time.now <= SPARE + DOCUMENT.seconds + 1_000 * LEAST


def test_ordinary_documents_beside_them_are_read_whole() -> None:
    costs = PassCosts(time := _Time())
    for _ in range(100):
        _read(costs, time, 300, 8.0)
    assert costs.seconds(25_000) > 20 * 0.02, "a page"
    assert costs.seconds(1_000_000) == DOCUMENT.seconds, "a report as PDF"
    costs = PassCosts(time)
    for _ in range(1_000):
        _read(costs, time, 1_000_000, 6.0)
    assert costs.seconds(300) == DOCUMENT.seconds, "they have what their bytes give them"


def test_one_document_again_and_again_ends_with_the_time(tmp_path: Path) -> None:
    costs = PassCosts(time := _Time())
    (file := tmp_path / "a").write_bytes(bytes(1_000))

    def again() -> None:
        for _ in range(20):
            costs.unpacked(file, 0, 300, 1_000)
            _read(costs, time, 300, 8.0)

    with pytest.raises(InputError, match="again and again"):
        again()
    assert time.now <= SPARE + DOCUMENT.seconds


def test_what_lies_in_another_record_is_read_again(tmp_path: Path) -> None:
    """A member that is stored holds another one: each is as long as what is left."""
    costs = PassCosts(_Time())
    (file := tmp_path / "a").write_bytes(bytes(1_000_000))

    def nested() -> None:
        for offset in range(1_000):
            costs.unpacked(file, offset * 20, 1_000_000 - 20 * offset, 1_000_000)

    with pytest.raises(InputError, match="again and again"):
        nested()
