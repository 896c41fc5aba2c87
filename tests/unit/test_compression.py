"""Frames of strangers unpack to a bounded number of bytes; ours always unpack."""

from __future__ import annotations

import hashlib
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor import compression
from spoor.compression import MOST_BYTES, packed, unpacked, windows_up_to, zstd
from spoor.errors import InputError
from spoor.learn.state import MAGIC, pack, unpack
from spoor.runs import events


def frame(data: bytes, **options: int) -> bytes:
    named = {int(zstd.CompressionParameter[name]): value for name, value in options.items()}
    return zstd.compress(data, options=named)


def test_a_frame_of_a_stranger_is_not_unpacked_without_end() -> None:
    bomb = frame(bytes(2 * MOST_BYTES))
    with pytest.raises(ValueError, match="more than"):
        unpacked(bomb)
    assert len(unpacked(packed(bytes(2 * MOST_BYTES), compression.compressor()))) == 2 * MOST_BYTES
    silent = frame(b"words" * 9, content_size_flag=0)
    for broken in (b"", b"x" * 50, bomb[:20], frame(b"words" * 9)[:-3], silent):
        with pytest.raises(ValueError, match=r"."):
            unpacked(broken)


@given(st.binary(max_size=99))
def test_what_is_packed_is_unpacked(data: bytes) -> None:
    assert unpacked(packed(data, compression.compressor())) == data


def test_a_frame_that_holds_more_than_it_says_is_not_unpacked_further() -> None:
    """Its first block says 20 bytes, its head 5; and one with 16 MiB of blocks behind such a head."""
    whole = frame(b"words")
    assert whole[4:6] == b"\x20\x05"  # one segment, of 5 bytes; then a raw block
    more = (20 << 3 | 1).to_bytes(3, "little") + b"w" * 20
    with pytest.raises(ValueError, match=r"."):
        unpacked(whole[:6] + more)
    repeated = ((1 << 17) << 3 | 2).to_bytes(3, "little") + b"w"  # 128 KiB of one letter
    with pytest.raises(ValueError, match=r"."):
        unpacked(whole[:6] + repeated * 128)


def test_a_window_larger_than_allowed_is_refused() -> None:
    wide = frame(bytes(range(256)) * 40_000, window_log=23, content_size_flag=0)
    assert zstd.decompress(wide, options=windows_up_to(8 << 20))
    with pytest.raises(zstd.ZstdError, match="memory"):
        zstd.decompress(wide, options=windows_up_to((8 << 20) - 1))


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


def state_frame(text: bytes) -> bytes:
    """A state of a stranger."""
    packed_text = zstd.compress(len(text).to_bytes(8, "little") + text)
    return MAGIC + hashlib.sha256(packed_text).hexdigest().encode() + b"\n" + packed_text


def test_values_of_json_in_a_frame_have_a_bound() -> None:
    """1.6 kB took 886 MB and 16 s."""
    for text in (b'{"a": [%s0]}' % (b"[]," * 5_000_000), b'{"a": [%s0]}' % (b"0," * 5_000_000)):
        assert len(state_frame(text)) < 3_000
        with pytest.raises(InputError, match="it has more than 50"):
            unpack(state_frame(text))
        entry = zstd.compress(len(text).to_bytes(8, "little") + text)
        with pytest.raises(ValueError, match="it has more than 50"):
            events.parts_of(entry)
    signs = json.dumps('[,{\\" ,' * 200_000).encode()
    assert unpack(state_frame(b'{"a": %s}' % signs))["a"].count("[") == 200_000


def test_our_own_states_and_entries_are_read_however_many_values_they_have() -> None:
    rows = [[number % 3, []] for number in range(300_000)]
    assert unpack(pack({"rows": rows, "words": "a, b" * 9}))["rows"] == rows
    assert events.parts_of(events.packed([["next", 0.0, rows]]))[0][0][2] == rows
    assert len(pack({"words": [",[" * 400_000]})) < 3_000  # not for what stands in texts
