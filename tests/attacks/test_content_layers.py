"""A body under several encodings, of which one makes megabytes and the next makes nothing of them."""

from __future__ import annotations

import gzip
import zlib

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.formats.warc_reader import _http, _response
from spoor.types import Failed, Fetched
from spoor.web.content_encoding import Layers, decoded

ROOM = 10 << 20


class Bits:
    """Bits of a deflate stream, the lowest first."""

    def __init__(self) -> None:
        self.held = self.count = 0
        self.out = bytearray()

    def put(self, value: int, bits: int) -> None:
        self.held |= value << self.count
        self.count += bits
        while self.count >= 8:
            self.out.append(self.held & 255)
            self.held >>= 8
            self.count -= 8


def blocks_of_nothing() -> bytes:
    """Deflate blocks that each have tables of their own, and no symbol but their end
    (RFC 1951, 3.2.7)."""
    bits = Bits()
    for _ in range(8):
        for value, size in ((0, 1), (2, 2), (0, 5), (0, 5), (14, 4)):
            bits.put(value, size)
        for order in (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1):
            bits.put(order in (18, 1), 3)
        for value, size in ((1, 1), (127, 7), (1, 1), (107, 7), (0, 1), (0, 1), (0, 1)):
            bits.put(value, size)
    return bytes(bits.out)


def test_a_layer_that_makes_megabytes_for_the_next_is_given_up_early() -> None:
    inner = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + blocks_of_nothing() * 60_000
    assert Layers("gzip").feed(inner[:1_000], ROOM) == b"", "valid, and nothing"
    wire = gzip.compress(inner)
    layers = Layers("gzip, gzip")
    with pytest.raises(ValueError, match="grows"):
        layers.feed(wire, ROOM)
    assert len(inner) > 5_000_000
    assert layers.between <= (1 << 16) + 4 * len(wire) + (1 << 16)


TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=2_000)


@given(TEXTS, st.integers(1, 60), st.sampled_from([1, 700, 1 << 16]))
def test_an_honest_body_comes_through_several_layers(text: str, times: int, size: int) -> None:
    body = text.encode() * times
    wire = zlib.compress(gzip.compress(body))
    layers = Layers("utf-8, gzip, deflate")
    out = b"".join(layers.feed(wire[at : at + size], ROOM) for at in range(0, len(wire), size))
    assert out == body
    assert layers.complete
    assert decoded(wire, "identity, gzip, deflate", len(body)) == body


PAGE = b"<html><title>Kiln</title><body><p>" + b"".join(
    b"The kiln is lit on day %d, and so are %d lamps. " % (number, 7 * number)
    for number in range(900)
)


@pytest.mark.parametrize(
    ("encoding", "body", "begins"),
    [
        ("gzip", gzip.compress(PAGE, mtime=0), PAGE[:20]),
        ("gzip", PAGE, PAGE[:20]),  # many archives hold what was decoded already
        ("br", PAGE, PAGE[:20]),
        ("gzip", "\ufeff<html>é".encode("utf-16"), b"\xff\xfe"),
        ("gzip", b"%PDF-1.4 \0\1", b"%PDF"),
        ("gzip", brotli.compress(PAGE), None),
        ("br", b"\x7f\x01" * 3_000, None),
        ("br, gzip", gzip.compress(b"\x7f\x01" * 3_000, mtime=0), None),
        ("gzip, gzip, gzip, gzip, gzip", gzip.compress(PAGE, mtime=0), None),
        ("gzip, gzip", gzip.compress(b"\x1f\x8b\xff" * 99, mtime=0), None),
        ("gzip", gzip.compress(PAGE, mtime=0)[:5_000] + b"\xff" * 9_000, PAGE[:20]),
    ],
)
def test_what_is_packed_is_not_read_as_text_out_of_an_archive(
    encoding: str, body: bytes, begins: bytes | None
) -> None:
    """Nor is what came before it broke lost: a crawl reads that, too."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {encoding}\r\n\r\n"
    block = head.encode() + body
    reply = _response("http://pots.example/", block, None, "here", None).reply
    assert isinstance(reply, Failed | Fetched)
    if begins is None:
        assert isinstance(reply, Failed)
        assert reply.reason.endswith("cannot be undone")
        return
    assert isinstance(reply, Fetched) or reply.reason == "the PDF is damaged"
    read = _http(block)[2]
    assert read is not None
    assert read.startswith(begins)


@pytest.mark.parametrize("encoding", ["br", "gzip"])
def test_a_small_body_in_an_archive_does_not_unpack_to_megabytes(encoding: str) -> None:
    """The bound of the file alone sees little: records of one file may all hold the same."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: {encoding}\r\n\r\n"
    pack = brotli.compress if encoding == "br" else gzip.compress
    for text, most in ((b"kiln " * (1 << 20), 1 << 20), (b"kiln " * 1_000, 0)):
        block = head.encode() + pack(text)
        reply = _response("http://pots.example/", block, None, "here", None).reply
        if not most:
            assert isinstance(reply, Fetched)
            continue
        assert isinstance(reply, Failed)
        assert reply.kind == "limit"
        assert reply.reason == "a decompression bomb: it grows more than 200-fold"
        run = _http(block)[2]
        assert run == text, "the crawl of a run had a bound of its own"
