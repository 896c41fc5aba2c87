"""Wishes: what a user types for the pages that are wanted. The modules:

- `tokens`: words, phrases, fields and signs;
- `sentences`: what people write around a wish ("find me pages about kilns");
- `parse`: the tree of a wish, and how it is shown back.
"""

from spoor.judges.wish.parse import (
    MOST,
    AllOf,
    AnyOf,
    Field,
    Part,
    Phrase,
    Wish,
    Words,
    parse,
    words_within,
)

__all__ = [
    "MOST",
    "AllOf",
    "AnyOf",
    "Field",
    "Part",
    "Phrase",
    "Wish",
    "Words",
    "parse",
    "words_within",
]
