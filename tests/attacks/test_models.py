"""Models and saved orderers of strangers: nothing is imported, and any value in one is told in one
line."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import zipfile
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacks.test_damaged_files import MANY, OTHERS, bounded, places, put
from spoor import Orderer
from spoor.cli.main import run
from spoor.compression import compressor, packed, unpacked
from spoor.errors import InputError, SpoorError
from spoor.judges.classifier import TextModel
from spoor.judges.semantic import NEEDED, encoder_of
from spoor.learn.state import MAGIC, pack, read, unpack, write
from spoor.views.explain import of_model
from spoor.web.text import Vectors


def orderer() -> Orderer:
    made = Orderer("kiln", clock=lambda: 5.0)
    made.add([f"http://a.example/{number}" for number in range(9)])
    for url in made.next(4):
        made.feedback(url, f"<p>A kiln, {url}<a href=/x{len(url)}>kiln and glaze</a>")
    return made


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    orderer().save(tmp_path / "saved")
    return tmp_path / "saved"


def test_a_saved_orderer_imports_nothing(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    state = read(saved)
    state["settings"]["crawl"]["second_opinion"] = "evil_module:function"
    write(saved, state)
    Orderer.load(saved, clock=lambda: 5.0).next(1)
    assert "evil_module" not in sys.modules


def told_in_one_line(base: Any, file: Path, use: Callable[[], object], step: int) -> None:
    """Another value in each place of a state."""
    values = cycle(OTHERS)
    for place in list(places(base, 5))[:: 1 if MANY else step]:
        state = unpack(pack(base))
        put(state, place, next(values))
        write(file, state)
        try:
            with bounded():
                use()
        except SpoorError as error:
            told = str(error)
            assert "\n" not in told, place
        except Exception as error:
            raise AssertionError(f"{place}: {error!r}") from error


def test_any_value_in_a_saved_orderer_is_told_in_one_line(saved: Path) -> None:
    told_in_one_line(read(saved), saved, lambda: Orderer.load(saved, clock=lambda: 5.0), 9)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("web") / "web"
    assert run(["web", "generate", str(path), "--pages", "40"]) == 0
    return path


@pytest.mark.parametrize("policy", ["td-lambda", "naive-bayes", "context-graph", "trail", "sarsa"])
def test_any_value_in_a_model_is_told_in_one_line(policy: str, web: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    assert run(["train", policy, str(web), "--target", "url:1", "--out", str(model)]) == 0

    def use() -> None:
        made = Orderer(want=("url:1",), policy=policy, model=model, clock=lambda: 1.0)
        made.add(["http://a.example/1", "http://a.example/2"])
        for url in made.next(2):
            made.feedback(url, "<p>A kiln<a href=/11>number 11</a>")
        of_model(model, 5)

    told_in_one_line(read(model), model, use, 4)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1j])
@pytest.mark.parametrize("policy", ["td-lambda", "naive-bayes", "context-graph", "trail"])
def test_a_model_with_a_number_that_is_none_is_told(
    policy: str, value: complex, web: Path, tmp_path: Path
) -> None:
    """Every choice would be one of chance, without a word."""
    model = tmp_path / "model"
    assert run(["train", policy, str(web), "--target", "url:1", "--out", str(model)]) == 0
    state = read(model)
    arrays = [
        place
        for place in places(state, 5)
        if isinstance(found := at(state, place), np.ndarray) and found.dtype.kind == "f"
    ]
    assert arrays
    for place in arrays:
        broken = unpack(pack(state))
        numbers = at(broken, place)
        put(broken, place, np.full(numbers.shape, value, np.result_type(numbers, type(value))))
        write(model, broken)
        with pytest.raises(InputError, match="holds a number that is none"):
            Orderer(want=("url:1",), policy=policy, model=model)


def at(state: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        state = state[key]
    return state


@pytest.fixture(params=["/dev/zero", "a pipe"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a file that has no end."""
    if request.param == "a pipe":
        os.mkfifo(tmp_path / "pipe")
        return str(tmp_path / "pipe")
    return str(request.param)


def test_a_model_is_a_plain_file(device: str) -> None:
    with bounded(), pytest.raises(InputError, match="not a plain file"):
        Orderer("kiln", policy="td-lambda", model=device)


def test_a_parameter_names_no_device(device: str) -> None:
    with bounded(), pytest.raises(InputError, match="cannot read background"):
        Orderer("kiln", policy="sarsa", params={"background": device})


@pytest.mark.parametrize("head", [b"", b"9999999 300\n"])
def test_vectors_unpack_to_a_bounded_size(head: bytes, tmp_path: Path) -> None:
    packed = gzip.compress(head + bytes(1 << 26), 1)
    (tmp_path / "bomb.gz").write_bytes(packed)
    with bounded(), pytest.raises(InputError, match="times its size"):
        Vectors.read(tmp_path / "bomb.gz")


def test_vectors_in_a_zip_unpack_to_a_bounded_size(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", words=["a"], vectors=np.zeros((1, 1 << 24)))
    with bounded(), pytest.raises(InputError, match="times its size"):
        Vectors.read(tmp_path / "bomb.npz")


ARRAYS = {
    "a shape without an end": b"{'descr': '<f8', 'fortran_order': False, 'shape': (2,",
    "deep": b"(" * 9_000,
    "letters that are none": b"{'descr': '<U1', 'fortran_order': False, 'shape': (2,)}",
    "parts of numbers": b"{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}",
    "no array": b"",
}
"""What an array may be in a file of a stranger: its shape as text, and letters or numbers."""


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, 99])
def test_any_arrays_of_a_stranger_are_told_in_one_line(
    kind: str, method: int, tmp_path: Path
) -> None:
    """Five errors of NumPy and of Python's zipfile ended in tracebacks."""
    head = ARRAYS[kind] + b"\n"
    array = b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + 16 * b"\xff"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as parts:
        for name in ("words", "vectors", "idf", "weights", "sigmoid", "language"):
            parts.writestr(f"{name}.npy", array if ARRAYS[kind] else b"")
    data = bytearray(made.getvalue())
    at = data.find(b"PK\1\2")
    data[at + 10] = method
    (tmp_path / "arrays.npz").write_bytes(data)
    for read_it in (TextModel.read, Vectors.read):
        with bounded(), pytest.raises(InputError) as told:
            read_it(tmp_path / "arrays.npz")
        assert "\n" not in str(told.value)


def test_vectors_are_a_plain_file_without_a_hole(device: str, tmp_path: Path) -> None:
    """A pipe beside a stranger's topic was waited for."""
    with bounded(), pytest.raises(InputError, match="plain file"):
        Vectors.read(device)
    (tmp_path / "hole.txt").write_bytes(b"kiln 1 2\n")
    os.truncate(tmp_path / "hole.txt", 1 << 40)
    with bounded(), pytest.raises(InputError, match="times its size"):
        Vectors.read(tmp_path / "hole.txt")


def npy(kind: str, shape: tuple[int, ...]) -> bytes:
    """An array of no byte."""
    head = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + len(head).to_bytes(2, "little") + head


NOTHINGS = [("<U0", (10**9,)), ("<U1", (10**9, 0)), ("|S0", (10**12,))]
"""Billions of texts in no byte."""


@pytest.mark.parametrize(("kind", "shape"), NOTHINGS)
def test_words_without_end_in_no_byte_are_not_made(
    kind: str, shape: tuple[int, ...], tmp_path: Path
) -> None:
    file = tmp_path / "x.npz"
    with zipfile.ZipFile(file, "w") as parts:
        for name in ("words", "vectors", "idf", "weights", "sigmoid", "language"):
            parts.writestr(f"{name}.npy", npy(kind, shape))
    with bounded(), pytest.raises(InputError, match="words"):
        Vectors.read(file)
    with bounded(), pytest.raises(InputError, match="no classifier"):
        TextModel.read(file)


@pytest.mark.parametrize(("kind", "shape"), NOTHINGS)
def test_an_array_of_nothing_is_no_state(kind: str, shape: tuple[int, ...]) -> None:
    data = pack({"words": np.zeros(3, np.int8)})
    head = b'{"words": {"__array__": 0}}'
    frame = packed(len(head).to_bytes(8, "little") + head + npy(kind, shape), compressor())
    digest = hashlib.sha256(frame).hexdigest().encode() + b"\n"
    with bounded(), pytest.raises(InputError, match="holds nothing"):
        unpack(data[: len(MAGIC)] + digest + frame)


def test_an_array_is_taken_once() -> None:
    """What loads a state makes lists of each, and the same one could stand in 500,000 places."""
    array = np.arange(1 << 12)
    data, magic = pack({"a": array, "b": array}), len(MAGIC)
    content = unpacked(data[magic + 65 :])
    assert unpack(data)["b"].tolist() == array.tolist()
    twice = packed(content.replace(b'{"__array__": 1}', b'{"__array__": 0}'), compressor())
    digest = hashlib.sha256(twice).hexdigest().encode() + b"\n"
    with pytest.raises(InputError, match="damaged"):
        unpack(data[:magic] + digest + twice)


def test_no_file_of_an_encoder_has_a_hole(tmp_path: Path) -> None:
    for name in NEEDED:
        (tmp_path / name).write_text("{}")
    os.truncate(tmp_path / "config.json", 1 << 40)
    with bounded(), pytest.raises(InputError, match=r"config\.json has 1,099,511,627,776 bytes"):
        encoder_of(str(tmp_path))
