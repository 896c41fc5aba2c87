"""Frames of strangers unpack to a bounded number of bytes; ours always unpack."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from spoor import compression
from spoor.compression import MOST_BYTES, padded, unpacked
from spoor.errors import InputError
from spoor.learn.state import MAGIC, pack, unpack


def frame(data: bytes, **settings: bool) -> bytes:
    return zstandard.ZstdCompressor(**settings).compress(data)  # type: ignore[arg-type]


def test_a_frame_of_a_stranger_is_not_unpacked_without_end() -> None:
    bomb = frame(bytes(2 * MOST_BYTES))
    with pytest.raises(ValueError, match="more than"):
        unpacked(bomb)
    assert len(unpacked(padded(bomb, 2 * MOST_BYTES))) == 2 * MOST_BYTES
    silent = frame(b"words" * 9, write_content_size=False)
    for broken in (b"", b"x" * 50, bomb[:20], frame(b"words" * 9)[:-3], silent):
        with pytest.raises(ValueError, match=r"."):
            unpacked(broken)


@given(st.binary(max_size=99))
def test_what_is_packed_is_unpacked(data: bytes) -> None:
    assert unpacked(padded(frame(data), len(data))) == data


def sealed(head: bytes, arrays: bytes = b"") -> bytes:
    """A state whose digest fits, of any JSON and any arrays."""
    packed = frame(len(head).to_bytes(8, "little") + head + arrays)
    return MAGIC + hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def test_arrays_come_back_as_they_were() -> None:
    for array in (
        *(np.arange(4.0), np.zeros((0,)), np.zeros((0, 5), "i4"), np.array(3), np.array([True])),
        *(np.asfortranarray(np.arange(6).reshape(2, 3)), np.arange(24).reshape(2, 3, 4)[:, ::2]),
        *(np.array(["a", "bcd"]), np.array([b"x"]), np.array([1, 2], "M8[s]"), np.array([1 + 2j])),
    ):
        back = unpack(pack({"a": array}))["a"]
        assert (back == array).all()
        assert (back.dtype, back.shape, back.flags.writeable) == (array.dtype, array.shape, True)


ARRAY = npy(np.arange(4.0))
POINTS = b'{"a": {"__array__": 0}}'


@pytest.mark.parametrize(
    ("head", "arrays"),
    [
        *((b"[" * 100_000, b""), (b"[]", b""), (b"{", b""), (b"\xff", b""), (POINTS, b"")),
        (b'{"a": {"__array__": [0]}}', ARRAY),
        (POINTS, ARRAY[:-1]),
        (POINTS, ARRAY.replace(b"(4,)", b"(9999999999,)")),
        (POINTS, ARRAY.replace(b"(4,)", b"(4L,)")),
        (POINTS, ARRAY.replace(b"'<f8'", b"'|O8'")),
        (POINTS, ARRAY.replace(b"(4,)", b"(4,")),
        (POINTS, b"\x93NUMPY\1\0" + (60_000).to_bytes(2, "little") + b"{" * 60_000),
    ],
)
def test_a_state_of_a_stranger_is_refused_in_one_line(head: bytes, arrays: bytes) -> None:
    with pytest.raises(InputError, match="damaged") as refused:
        unpack(sealed(head, arrays))
    assert "\n" not in str(refused.value)


def test_a_state_that_is_packed_tightly_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compression, "MOST_BYTES", 1_000)
    state = {"zeros": np.zeros(10_000)}
    assert not unpack(pack(state))["zeros"].any()
    with pytest.raises(InputError, match="unpacks to more than"):
        unpack(sealed(b'{"z": "' + b"z" * 100_000 + b'"}'))
