"""The main text of an article, by trafilatura where that is installed (the extra `articles`).

It is told the parts of a page as `spoor.documents.html` tells them to Resiliparse, by a mark before
each text; the marks that come out again are of the parts that it takes for the article. Trafilatura
drops characters that are not printed, and knows what is around an article by its first words, which
a letter would hide: so a mark is two signs of Braille, which a page seldom has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec

from spoor.distribution import import_extra

MOST = 1 << 20
"""Characters of HTML, beyond which lxml's tree takes more memory than a document may."""
_BRAILLE, _SIGNS = 0x2800, 256
MARKS = 8_192
"""Texts of a page, of `_SIGNS` ** 2 that can be marked: those of newspapers have 400 at most, and
with 28,000 short ones trafilatura takes more than a second."""
_TAGS = 16_384
"""Begins and ends of elements, and attributes: more take trafilatura more time, or memory, than a
document may. Newspapers have 3,100 and 3,700 at most."""
_ANY = re.compile("[\u2800-\u28ff]")
_PAIR = re.compile("([\u2800-\u28ff])([\u2800-\u28ff])")


@lru_cache(maxsize=1)
def is_installed() -> bool:
    """Whether the extra is there."""
    return find_spec("trafilatura") is not None


def article_of(pieces: Sequence[str]) -> set[int] | None:
    """Which texts of a page are its article: `pieces` is its body as HTML, cut before each text.
    None where that cannot be told: nothing is found, the page is too large, or the extra cannot be
    used. Some 15 ms for a page of a newspaper; memory some 30 times its size."""
    if len(pieces) > MARKS or sum(map(len, pieces)) > MOST:
        return None
    if any(sum(piece.count(sign) for piece in pieces) > _TAGS for sign in ("<", '="')):
        return None
    first, *others = (_ANY.sub(" ", piece) for piece in pieces)
    body = first + "".join(f"{_mark(at)}{piece}" for at, piece in enumerate(others))
    try:
        (trafilatura,) = import_extra("articles", "The text of articles", "trafilatura")
        text = trafilatura.extract(f"<html><body>{body}</body></html>", include_comments=False)
    except MemoryError:
        raise
    except Exception:  # of a library that reads what strangers write, or lacks one of its own
        return None
    found = {
        (ord(high) - _BRAILLE) * _SIGNS + ord(low) - _BRAILLE
        for high, low in _PAIR.findall(text or "")
    }
    return found or None


def _mark(number: int) -> str:
    return chr(_BRAILLE + number // _SIGNS) + chr(_BRAILLE + number % _SIGNS)
