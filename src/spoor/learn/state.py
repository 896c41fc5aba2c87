"""States as bytes: JSON and NumPy arrays with a format version and a digest, no pickle.

Used for checkpoints and for model files. Layout: the magic line, the SHA-256 of
the rest in hex and a line end, then a zstandard frame of: length of the JSON (8 bytes, little
endian), the JSON, the arrays in .npy format one after the other. In the JSON an array is
{"__array__": its place}. Version 2 has long arrays in chunks beside it
(`spoor.learn.state_chunks`); in its JSON such an array is {"__chunks__": the place of their
numbers and digests, "kind": its type, "shape": its shape}.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, takewhile
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from spoor.bounded_json import json_of, least_for, values_in
from spoor.columns import SLICE
from spoor.compression import compressor, packed_parts, unpacked
from spoor.errors import InputError, cannot_write
from spoor.files import read_plain, write_whole
from spoor.learn.state_chunks import ChunkReader, ChunkWriter
from spoor.types import Anchor, Link, Page, State

MOST_OF_A_FILE = 1 << 30
"""Bytes of a file with a state, which is read into memory."""

MAGIC = b"spoor-state 1\n"
CHUNKED = b"spoor-state 2\n"


FAST = 1
"""Level of compression of what is written often: a third less time than the usual one, and a sixth
more bytes."""


def pack(state: State, level: int = 3, chunks: ChunkWriter | None = None) -> bytes:
    """A state as bytes; the same state gives the same bytes. `chunks`: takes its long arrays, which
    the bytes then only name.

    Raises TypeError (the plug-in's fault) for a value that is neither JSON nor an array.
    """
    making = _Plain(chunks)
    plain, arrays = making.of(state), making.arrays
    texts = [_ENCODER.encode(plain)] if making.items <= SLICE else _json(plain)
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    size = sum(map(len, parts))
    parts.insert(0, size.to_bytes(8, "little"))
    heads = list(map(_head, arrays))
    size += 8 + sum(map(len, heads)) + sum(array.nbytes for array in arrays)
    # Piece by piece, since a crawl should not need the memory of its state once more.
    values = (piece for pair in zip(heads, map(_values, arrays), strict=True) for piece in pair)
    pieces: Iterable[bytes] = chain(parts, values)
    if size <= _TOGETHER:
        pieces = (b"".join(pieces),)
    digest, whole = hashlib.sha256(), io.BytesIO()
    magic, least = (CHUNKED, chunks.least(size)) if chunks else (MAGIC, 0)
    least = max(least, least_for(values_in(*parts[1:])))
    whole.write(magic + bytes(2 * digest.digest_size) + b"\n")
    for part in packed_parts(pieces, size, compressor(level), least):
        digest.update(part)
        whole.write(part)
    whole.seek(len(MAGIC))
    whole.write(digest.hexdigest().encode())
    return whole.getvalue()


def _head(array: np.ndarray[Any, Any]) -> bytes:
    """What stands before the values of an array in .npy format."""
    return _head_of(array.dtype, array.shape, array.flags.fnc)


@lru_cache(maxsize=1_000)
def _head_of(kind: np.dtype[Any], shape: tuple[int, ...], fortran: bool) -> bytes:
    head = io.BytesIO()
    told = {"shape": shape, "fortran_order": fortran, "descr": np.lib.format.dtype_to_descr(kind)}
    np.lib.format.write_array_header_1_0(head, told)
    return head.getvalue()


def _values(array: np.ndarray[Any, Any]) -> bytes:
    """What follows its head."""
    return array.tobytes("C" if array.flags.c_contiguous else "A")


_TOGETHER = 1 << 16
"""Bytes of a state that are compressed at once."""


def _json(value: Any) -> Iterator[str]:
    """The parts of what `json.dumps` gives."""
    if isinstance(value, dict | list) and len(value) > SLICE:
        of: Any = dict if isinstance(value, dict) else list
        items = iter(value.items() if isinstance(value, dict) else value)
        before, closing = "{}" if of is dict else "[]"
        while part := of(islice(items, SLICE)):
            yield before + _ENCODER.encode(part)[1:-1]
            before = ", "
        yield closing
    elif value and isinstance(value, dict):
        before = "{"
        for key, item in value.items():
            yield f"{before}{_ENCODER.encode(key)}: "
            yield from _json(item)
            before = ", "
        yield "}"
    else:
        yield _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False)
"""Of what `_Plain` gives, which went through all of it."""


class _Plain:
    """Makes JSON values of a state; its arrays are added to `arrays`, or to `chunks`."""

    def __init__(self, chunks: ChunkWriter | None) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.items = 0
        """Of all lists and objects so far."""
        self._chunks = chunks

    def of(self, value: Any) -> Any:
        """The value as JSON values. Raises TypeError for an array of Python objects, and for a key
        that stands for arrays."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is list or kind is tuple:
            self.items += len(value)
            if _PLAIN.issuperset(map(type, value)):
                return value if kind is list else [*value]
            return [one if type(one) in _PLAIN else self.of(one) for one in value]
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, Mapping):
            for key in ("__array__", "__chunks__"):
                if key in value:
                    raise TypeError(f"the key {key!r} stands for arrays and cannot be saved")
            self.items += len(value)
            return {str(key): self.of(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            self.items += len(value)
            return [self.of(item) for item in value]
        if isinstance(value, np.generic):
            return value.item()
        return value

    def _array(self, array: np.ndarray[Any, Any]) -> dict[str, Any]:
        if array.dtype.hasobject:
            raise TypeError("an array of Python objects cannot be saved")
        kept = None if self._chunks is None else self._chunks.enter(array)
        self.arrays.append(array if kept is None else kept)
        place = len(self.arrays) - 1
        if kept is None:
            return {"__array__": place}
        return {"__chunks__": place, "kind": array.dtype.str, "shape": list(array.shape)}


_PLAIN = frozenset((str, int, float, bool, type(None)))
"""What most of a state is: these and no types made of them."""


def unpack(
    data: bytes, *, source: str = "state", chunks: ChunkReader | None = None
) -> dict[str, Any]:
    """The state that `pack` was given, of which `chunks` has long arrays. Raises InputError naming
    `source` for damaged bytes."""
    if not data.startswith(MAGIC[:12]):
        raise InputError(f"{source}: not a Spoor state or model file")
    if not data.startswith(MAGIC) and (chunks is None or not data.startswith(CHUNKED)):
        version = data[12:20].split(b"\n")[0].decode("ascii", "replace")
        raise InputError(f"{source}: format version {version}; this Spoor reads version 1")
    digest, packed = data[len(MAGIC) : len(MAGIC) + 65], data[len(MAGIC) + 65 :]
    if hashlib.sha256(packed).hexdigest().encode() + b"\n" != digest:
        raise InputError(f"{source}: damaged (its digest does not fit its content)")
    try:
        return _content(packed, chunks)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise InputError(f"{source}: damaged ({error})") from error


def _content(packed: bytes, chunks: ChunkReader | None) -> dict[str, Any]:
    content = memoryview(unpacked(packed))
    if chunks is not None:
        chunks.begin(len(packed), len(content))
    begin = 8 + int.from_bytes(content[:8], "little")
    header = json_of(bytes(content[8:begin]), len(packed))
    if not isinstance(header, dict):
        raise ValueError("it is no object")
    arrays: dict[int, np.ndarray[Any, Any]] = {}
    while begin < len(content):
        arrays[len(arrays)], begin = _array(content, begin)
    state: dict[str, Any] = _rich(header, arrays, chunks)
    return state


def _array(content: memoryview, begin: int) -> tuple[np.ndarray[Any, Any], int]:
    """The array in .npy format at a byte, and the byte after it. NumPy's own reader takes what
    memory the head asks for, and Python's parser for heads that no NumPy of today writes."""
    data = begin + 10 + int.from_bytes(content[begin + 8 : begin + 10], "little")
    head = bytes(content[begin:data])
    kind, shape, order = (_told if len(head) <= _USUAL else _told.__wrapped__)(head)
    size = prod(shape) * kind.itemsize
    end = data + size
    if end > len(content):
        raise ValueError("an array is cut short")
    # Lists without end would be made of texts of no letter, or of rows of no number.
    if not size and prod(takewhile(bool, shape)) > _MOST_EMPTY:
        raise ValueError("an array holds nothing")
    return np.ndarray(shape, kind, bytes(content[data:end]), order=order).copy(order), end


_MOST_EMPTY = 1 << 16
"""Rows of an array that takes no bytes."""

_USUAL = 256
"""Bytes of a head that is kept with what it says: the same heads come again and again."""


@lru_cache(maxsize=1_000)
def _told(head: bytes) -> tuple[np.dtype[Any], tuple[int, ...], Literal["F", "C"]]:
    """What a head says of its array: its type, its shape and its order."""
    known = _NPY.fullmatch(head)
    if known is None:
        raise ValueError("the head of an array is none")
    shape = tuple(map(int, _NUMBER.findall(known["shape"])))
    return np.dtype(known["kind"].decode()), shape, "F" if known["fortran"] == b"True" else "C"


_TYPE = r"[<>|][?a-zA-NP-UW-Z][0-9]{1,9}(?:\[[a-zA-Z0-9]{1,9}\])?"
_KIND = re.compile(_TYPE)
"""The type of an array."""

_NPY = re.compile(
    rb"\x93NUMPY\x01\0.."
    rb"\{'descr': '(?P<kind>" + _TYPE.encode() + rb")', "
    rb"'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(?:(?:[0-9]{1,18}, )*[0-9]{1,18},?)?)\), \} *\n",
    re.DOTALL,
)
"""No `*+` around what backtracks: Python before 3.11.5 then goes on at a wrong place."""
_NUMBER = re.compile(rb"\d+")


def _rich(value: Any, arrays: dict[int, np.ndarray[Any, Any]], chunks: ChunkReader | None) -> Any:
    """The value that `_Plain.of` was given. Each array is taken once: what loads a state may take
    memory for each place in it."""
    if isinstance(value, dict):
        if value.keys() == {"__array__"}:
            return arrays.pop(value["__array__"])
        if chunks is not None and value.keys() == {"__chunks__", "kind", "shape"}:
            if not _KIND.fullmatch(value["kind"]):
                raise ValueError("an array is of no type")
            kind, place = np.dtype(value["kind"]), value["__chunks__"]
            return chunks.array(kind, value["shape"], arrays.pop(place))
        return {key: _rich(item, arrays, chunks) for key, item in value.items()}
    if isinstance(value, list):
        return [_rich(item, arrays, chunks) for item in value]
    return value


def write(path: Path, state: State) -> None:
    """Write a state file completely or not at all."""
    try:
        write_whole(path, pack(state))
    except OSError as error:
        raise cannot_write(path, error) from error


def read(path: Path) -> dict[str, Any]:
    """Read a state file. Raises InputError where it is missing or damaged."""
    try:
        data = read_plain(path, MOST_OF_A_FILE)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    return unpack(data, source=str(path))


def link_row(link: Link) -> list[Any]:
    """A link as JSON values."""
    return [link.url, list(link.anchor), link.kind]


def revive_link(row: Sequence[Any]) -> Link:
    """The link that `link_row` was given."""
    url, (text, before, after, headings, *rest), kind = row
    return Link(url, Anchor(text, before, after, tuple(headings), *rest), kind)


def page_row(page: Page) -> dict[str, Any]:
    """A page as JSON values."""
    row = {name: getattr(page, name) for name in Page.__slots__}
    row["links"] = [link_row(link) for link in page.links]
    for name in ("flags", "labels"):
        row[name] = sorted(row[name])
    return row


def revive_page(row: Mapping[str, Any]) -> Page:
    """The page that `page_row` was given."""
    fields = dict(row)
    fields["links"] = [revive_link(link) for link in row["links"]]
    for name in ("headings", "feeds", "keywords"):
        fields[name] = tuple(row.get(name, ()))
    fields["dated"] = tuple((url, date) for url, date in row.get("dated", ()))
    for name in ("flags", "labels"):
        fields[name] = frozenset(row[name])
    return Page(**fields)


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """The random state as JSON values."""
    state: dict[str, Any] = dict(rng.bit_generator.state)
    return state


def restore_generator(rng: np.random.Generator, state: Mapping[str, Any]) -> None:
    """Set a generator of the same kind back to a saved state."""
    rng.bit_generator.state = dict(state)
