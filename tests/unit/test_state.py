"""Saved states: what goes in comes out, the same bytes for the same state, damage is told."""

from __future__ import annotations

import gc
import hashlib
import json
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from spoor.columns import SLICE, column, parts_of, texts_column, texts_of
from spoor.errors import InputError
from spoor.learn.hashed_linear import split
from spoor.learn.state import (
    MAGIC,
    _json,
    generator_state,
    link_row,
    pack,
    page_row,
    read,
    restore_generator,
    revive_link,
    revive_page,
    unpack,
    write,
)
from spoor.policies.trail.rows import split_again
from spoor.types import Anchor, Link, Page
from spoor.watching import contents

text = st.text(st.characters(exclude_categories=[]), max_size=8)
array = arrays.arrays(
    st.sampled_from(["<f4", "<f8", "<i8", "<i4", "u1", "?", "<U3"]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
plain = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | text
    | array
    | array.map(lambda values: values.T)
)
states = st.dictionaries(
    text.filter(lambda key: key != "__array__"),
    st.recursive(
        plain,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(text.filter(lambda key: key != "__array__"), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=4,
)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and one.tobytes() == other.tobytes()
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


@given(states)
def test_what_goes_in_comes_out(state: dict[str, Any]) -> None:
    data = pack(state)
    assert same(unpack(data), state)
    assert pack(state) == data
    assert pack(unpack(data)) == data


def test_a_large_state_is_encoded_in_parts() -> None:
    state = {
        "list": [[n, f"☃{n}"] for n in range(2 * SLICE + 1)],
        "object": {f"k{n}": [n] * (n == 7) * 2 * SLICE for n in range(SLICE)},
        "large": {f"k{n}": None for n in range(SLICE + 1)},
        "nothing": [{}, [], "", 1.5, True, None],
    }
    parts = list(_json(state))
    assert "".join(parts) == json.dumps(state, ensure_ascii=False)
    assert max(map(len, parts)) < 20 * SLICE


def test_what_is_turned_into_something_else() -> None:
    state = {"pair": (1, 2), "number": np.float32(0.5), "flag": np.bool_(True), "by": {3: "three"}}
    assert unpack(pack(state)) == {
        "pair": [1, 2],
        "number": 0.5,
        "flag": True,
        "by": {"3": "three"},
    }
    assert unpack(pack({"x": float("inf")})) == {"x": float("inf")}


@pytest.mark.parametrize(
    "value",
    [
        {1, 2},
        b"bytes",
        object(),
        Path("x"),
        np.array([object()]),
        [np.array([None])],
        {"__array__": 3},
        {"deep": [{"__array__": 0, "x": np.zeros(2)}]},
    ],
)
def test_what_cannot_be_saved_is_the_plugins_fault(value: object) -> None:
    with pytest.raises(TypeError):
        pack({"key": value})


STATE = {"weights": np.arange(6.0).reshape(2, 3), "name": "é", "steps": [1, 2]}


def test_every_damaged_byte_is_detected() -> None:
    data = pack(STATE)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x41
        with pytest.raises(InputError, match=r"^here: ") as raised:
            unpack(bytes(damaged), source="here")
        assert "\n" not in str(raised.value)
    for size in range(len(data)):
        with pytest.raises(InputError, match=r"^here: "):
            unpack(data[:size], source="here")
    with pytest.raises(InputError, match=r"^here: damaged"):
        unpack(data + b"x", source="here")


def test_other_formats_are_told() -> None:
    with pytest.raises(InputError, match="x: not a Spoor state or model file"):
        unpack(b"PK\x03\x04", source="x")
    with pytest.raises(InputError, match="x: format version 2; this Spoor reads version 1"):
        unpack(pack(STATE).replace(b"spoor-state 1\n", b"spoor-state 2\n", 1), source="x")
    # A digest that fits what is no state at all.
    body = b"nonsense"
    forged = MAGIC + hashlib.sha256(body).hexdigest().encode() + b"\n" + body
    with pytest.raises(InputError, match="x: damaged"):
        unpack(forged, source="x")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "model.spoor"
    write(path, STATE)
    assert same(read(path), STATE)
    write(path, {"other": 1})
    assert read(path) == {"other": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["model.spoor"]
    with pytest.raises(TypeError):
        write(path, {"bad": {1}})
    assert read(path) == {"other": 1}
    with pytest.raises(InputError, match=r"cannot read .*none: No such file"):
        read(tmp_path / "none")
    with pytest.raises(InputError, match=r"cannot write .*model: No such file"):
        write(tmp_path / "none" / "model", STATE)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"model\.spoor: damaged"):
        read(path)


# ---------------------------------------------------------------- pages, links, generators

anchors = st.builds(
    Anchor,
    text,
    text,
    text,
    st.lists(text, max_size=3).map(tuple),
    text,
    st.integers(0, 99),
    st.sampled_from(["main", "nav"]),
    st.booleans(),
)
links = st.builds(Link, text, anchors, st.sampled_from(["a", "frame"]))
pages = st.builds(
    Page,
    url=text,
    status=st.integers(100, 599),
    title=text,
    headings=st.lists(text, max_size=3).map(tuple),
    text=text,
    links=st.lists(links, max_size=3),
    canonical=st.none() | text,
    flags=st.frozensets(text, max_size=3),
    labels=st.frozensets(text, max_size=3),
    fetched_at=st.none() | st.floats(0, 1e10),
)


@given(pages)
def test_pages_and_links_come_back(page: Page) -> None:
    assert revive_page(unpack(pack(page_row(page)))) == page
    for link in page.links:
        assert revive_link(link_row(link)) == link


def test_generators_go_on() -> None:
    rng = np.random.default_rng(7)
    rng.random(5)
    saved = pack({"rng": generator_state(rng)})
    expected = rng.random(4).tolist()
    other = np.random.default_rng(0)
    restore_generator(other, unpack(saved)["rng"])
    assert other.random(4).tolist() == expected


def test_packing_and_unpacking_leave_nothing_to_be_cleared_away() -> None:
    gc.disable()
    try:
        values = np.arange(9)
        left = [weakref.ref(values)]
        data = pack({"deep": [{"values": values}]})
        del values
        back = unpack(data)
        left.append(weakref.ref(back["deep"][0]["values"]))
        del back
        assert [one() for one in left] == [None, None]
    finally:
        gc.enable()


@pytest.mark.parametrize("count", [0, 1, SLICE, SLICE + 1, 3 * SLICE - 1])
def test_a_column_is_made_of_slices(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """No thread runs while NumPy takes one."""
    taken, fromiter = list[int](), np.fromiter

    def watched(values: Any, dtype: Any, size: int) -> Any:
        taken.append(size)
        return fromiter(values, dtype, size)

    monkeypatch.setattr(np, "fromiter", watched)
    values = [2**64 - 1 - number for number in range(count)]
    made = column(iter(values), count, np.uint64)
    assert made.dtype == np.uint64
    assert made.tolist() == values
    assert sum(taken) == count
    assert max(taken, default=0) <= SLICE


@given(st.lists(text, max_size=30))
def test_texts_in_columns_come_out_again(texts: list[str]) -> None:
    saved = texts_column(texts)
    assert texts_of(unpack(pack(saved))) == texts
    more = texts_column([*texts, "kiln"])
    for name, array in saved.items():
        assert more[name][: len(array)].tolist() == array.tolist(), "new ones are at the end"


@pytest.mark.parametrize(
    "damage",
    [
        {"sizes": np.array([4, 3], np.uint32)},
        {"sizes": np.array([4, 5], np.uint32)},
        {"sizes": np.array([], np.uint32)},
        {"sizes": np.array([2**32 - 1, 2**32 - 1], np.uint32)},
        {"letters": np.array([0xFF] * 8, np.uint8)},
        {"sizes": np.array([8, -8, 8])},
        {"sizes": np.array([8, 2**64 - 8, 8], np.uint64)},
        {"sizes": np.array([8.0])},
    ],
)
def test_texts_in_columns_that_are_damaged_are_refused(damage: dict[str, Any]) -> None:
    saved = texts_column(["kiln", "clay"])
    with pytest.raises(ValueError, match=r".*"):
        texts_of({**saved, **damage})


@pytest.mark.parametrize(
    "cut",
    [
        lambda sizes, values: split({"lengths": sizes, "at": values}),
        lambda sizes, values: split_again(values, sizes),
        lambda sizes, values: contents._rows({"sizes": sizes, "values": values}),
        lambda sizes, values: [*contents._pieces(values.astype(np.uint8), sizes)],
        lambda sizes, values: [values[begin:end] for begin, end in parts_of([*sizes.tolist()], 4)],
    ],
)
def test_no_part_of_a_state_has_what_another_one_has(cut: Callable[[Any, Any], Any]) -> None:
    """By sizes that go back each of many could have all of it: gigabytes of a kilobyte."""
    values = np.arange(4, dtype=np.int32)
    assert [[*part] for part in cut(np.array([1, 0, 3]), values)] == [[0], [], [1, 2, 3]]
    with pytest.raises(ValueError, match="sizes"):
        cut(np.array([4, -4, 4]), values)
