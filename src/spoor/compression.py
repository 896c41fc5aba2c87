"""zstandard frames that may come from a stranger: they unpack to a bounded number of bytes.

A frame unpacks to no more than `MOST_BYTES` and `MOST_RATIO` times its size. What we pack more
tightly ourselves gets zero bytes behind its frame (`padded`), which no reader looks at.
"""

from __future__ import annotations

import zstandard

MOST_BYTES = 1 << 24
MOST_RATIO = 20


def padded(packed: bytes, size: int) -> bytes:
    """A frame of `size` bytes in such a length that `unpacked` takes it."""
    least = -(-(size - MOST_BYTES) // MOST_RATIO)
    return packed.ljust(least, b"\0")


def unpacked(packed: bytes, decompressor: zstandard.ZstdDecompressor | None = None) -> bytes:
    """The bytes in a frame. Raises ValueError where it is damaged, or holds too many. Whoever
    unpacks many keeps a decompressor."""
    most = MOST_BYTES + MOST_RATIO * len(packed)
    try:
        size = zstandard.frame_content_size(packed)
        if size > most:
            raise ValueError(f"it unpacks to more than {most:,} bytes")
        if size < 0:
            raise ValueError("it does not say how many bytes it holds")
        return (decompressor or zstandard.ZstdDecompressor()).decompress(packed)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
