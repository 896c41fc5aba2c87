"""The words around a link whose place in a plain text is known."""

from __future__ import annotations

from spoor.web.page_links import CONTEXT_WORDS

REACH = 12 * CONTEXT_WORDS
"""Characters that are looked at on either side; so many words seldom take more."""


def words_around(text: str, anchor: str, place: int) -> tuple[str, str]:
    """Words before and after the anchor that begins at `place` of the text; none for a place of
    -1."""
    if place < 0:
        return "", ""
    end = place + len(anchor)
    before = text[max(0, place - REACH) : place].split()[-CONTEXT_WORDS:]
    after = text[end : end + REACH].split()[:CONTEXT_WORDS]
    return " ".join(before), " ".join(after)
