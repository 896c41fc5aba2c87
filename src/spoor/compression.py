"""zstandard frames that may come from a stranger, and so must unpack to a bounded number of bytes.

A frame may unpack to at most `MOST_BYTES` plus `MOST_RATIO` times its size. A frame of our own that
is packed more tightly is padded with zero bytes, which no reader looks at.

`zstd` is the standard library's module, or before Python 3.14 the same from `backports`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = [
    "FIRST_BYTES",
    "MOST_BYTES",
    "MOST_RATIO",
    "compressor",
    "is_frame",
    "least_bytes",
    "packed",
    "packed_parts",
    "unpacked",
    "windows_up_to",
    "zstd",
]

MOST_BYTES = 1 << 24
MOST_RATIO = 20

FIRST_BYTES = b"\x28\xb5\x2f\xfd"
"""With which each frame begins."""


def compressor(level: int = 3, *, checksum: bool = False) -> zstd.ZstdCompressor:
    """A compressor for `packed`; it can make any number of frames."""
    return zstd.ZstdCompressor(
        options={
            zstd.CompressionParameter.compression_level: level,
            zstd.CompressionParameter.checksum_flag: int(checksum),
        }
    )


def packed(data: bytes | memoryview, compressor: zstd.ZstdCompressor, least: int = 0) -> bytes:
    """One frame with the data, padded so that `unpacked` accepts it, and to `least` bytes."""
    frame = compressor.compress(data, zstd.ZstdCompressor.FLUSH_FRAME)
    return frame.ljust(max(least, least_bytes(memoryview(data).nbytes)), b"\0")


def packed_parts(
    parts: Iterable[bytes], size: int, compressor: zstd.ZstdCompressor, least: int = 0
) -> Iterator[bytes]:
    """As `packed`, for data of this size that comes in parts; the frame comes in parts, too, and is
    padded to `least` bytes."""
    compressor.set_pledged_input_size(size)
    given, least = 0, max(least, least_bytes(size))
    for part in parts:
        if frame := compressor.compress(part):
            given += len(frame)
            yield frame
    last = compressor.flush()
    yield last
    yield bytes(max(0, least - given - len(last)))


def least_bytes(size: int) -> int:
    """The fewest bytes that a frame with `size` bytes of data may have."""
    return -(-(size - MOST_BYTES) // MOST_RATIO)


def is_frame(data: bytes) -> bool:
    """Whether bytes begin as a frame does, which no UTF-8 can."""
    return data.startswith(FIRST_BYTES)


def unpacked(frame: bytes, most: int | None = None) -> bytes:
    """The bytes in a frame. Raises ValueError if it is damaged or unpacks to too many: to more than
    `most`, or than the module says."""
    most = MOST_BYTES + MOST_RATIO * len(frame) if most is None else most
    try:
        size = zstd.get_frame_info(frame).decompressed_size
        if size is None:
            raise ValueError("it does not say how many bytes it holds")
        if size > most:
            raise ValueError(f"it unpacks to more than {most:,} bytes")
        decompressor = zstd.ZstdDecompressor()
        # It may hold more than it declares, which would be noticed at its end only.
        data = decompressor.decompress(frame, size + 1)
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error
    if len(data) != size or not decompressor.eof:
        raise ValueError("its end is missing, or it holds another number of bytes than it says")
    return data


def windows_up_to(size: int) -> dict[int, int]:
    """Options of a decompressor that refuses frames with a larger window, which is what it costs
    in memory. Windows are powers of two."""
    return {zstd.DecompressionParameter.window_log_max: size.bit_length() - 1}
