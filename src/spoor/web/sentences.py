"""The sentences of a page, and signatures by which two versions of one are compared.

A signature leaves out what changes by itself: dates and times, session ids, and the digits of short
phrases ("12 comments", "5 minutes ago", "page 3 of 9"). A number inside a longer sentence counts:
a correction of it is news.
"""

from __future__ import annotations

import calendar
import re
import zlib
from collections.abc import Iterator

from spoor.hashing import hash64
from spoor.types import Page

MOST = 2_000
"""Sentences of a page that are compared."""

SHORT = 6
"""Words up to which the digits of a phrase do not count."""

LONG = 60
"""Words from which on a sentence is cut, at words that their own hash names: so a word more in a
text without full stops changes one part of it and not all."""

# The searches below start where a run of blanks, digits or letters begins, and not in each place
# of it: a page may be one such run, and the time would be quadratic.
_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]?\s+|(?<=[。！？])|(?<!\s)\s*\n\s*")
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
_MONTH_NAMES = frozenset(
    name.lower() for names in (calendar.month_name, calendar.month_abbr) for name in names if name
)
_MONTHS = "|".join(sorted(_MONTH_NAMES, key=len, reverse=True))
_DAYS = "|".join(name.lower() for names in (calendar.day_name, calendar.day_abbr) for name in names)
_TIMES = re.compile(
    rf"(?:\b(?:{_DAYS})\b[.,]?\s{{1,3}})?(?:"
    rf"\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}|\d{{1,2}}:\d\d(?::\d\d)?(?:\s*[ap]\.?m\b)?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\.?\s+(?:{_MONTHS})\b\.?(?:,?\s+\d{{4}})?"
    rf"|\b(?:{_MONTHS})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}})?"
    r"|(?:\b(?:(?:less|more)\s+than|about|almost|over)\s{1,3})?(?:(?<!\d)\d+|\ban?)\s+"
    r"(?:seconds?|minutes?|mins?|hours?|days?|weeks?|months?|years?)\s+ago)"
)
_IN_TIMES = re.compile(r"\d[-/.:]\d")
"""A part of each of these that has neither the name of a month nor "ago": to look for all of them
takes ten times as long."""
_ID = re.compile(r"(?<!\w)(?=\w*\d)(?=\w*[a-z])\w{12,}|[0-9a-f]{16,}")
"""What looks made by a machine: a session, a digest."""
_LETTERS = re.compile("[a-f]{16,}")
"""The same where there is no digit. Nothing else that is left out has none, and most sentences: a
search for all takes ten times as long as a search for one."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, in reading order; at most `MOST`. A line ends one too."""
    found: list[str] = []
    for part in _END.split(text):
        part = part.strip()
        if part:
            found += _pieces(part)
        if len(found) >= MOST:
            break
    return found[:MOST]


def _pieces(sentence: str) -> Iterator[str]:
    words = sentence.split()
    if len(words) <= LONG:
        yield sentence
        return
    begin = 0
    for at, word in enumerate(words, 1):
        cut = zlib.crc32(word.encode("utf-8", "replace")) % 16 == 0
        if (cut and at - begin >= SHORT) or at - begin >= LONG:
            yield " ".join(words[begin:at])
            begin = at
    if begin < len(words):
        yield " ".join(words[begin:])


def plain(sentence: str) -> str:
    """The words of a sentence without what changes by itself; empty where nothing else is left."""
    text = sentence.lower()
    has_digit = _DIGITS.search(text) is not None
    if "ago" in text or (has_digit and (_IN_TIMES.search(text) or _names_month(text))):
        text = _TIMES.sub(" ", text)
    text = (_ID if has_digit else _LETTERS).sub(" ", text)
    words = _WORD.findall(text)
    if len(words) <= SHORT:
        words = [word for word in words if not word.isdecimal()]
    return " ".join(words)


def _names_month(text: str) -> bool:
    return not _MONTH_NAMES.isdisjoint(_WORD.findall(text))


def signature(words: str) -> int:
    """64 bits of the words of a sentence, as `plain` gives them."""
    return hash64(words)


def without_digits(words: str) -> str:
    """Words in which no number counts: how a counter is known again."""
    return _DIGITS.sub("0", words)


def content(page: Page) -> dict[int, str]:
    """Signature → sentence of what a page says: its main text where that was read
    (`Page.main`), else all its text; in reading order.

    A sentence that is the text of a link to another page says something of that, and is left out;
    so is one without words.
    """
    links, own = page.links, page.url
    teasers = {plain(link.anchor.text) for link in links if link.anchor.text and link.url != own}
    found: dict[int, str] = {}
    for sentence in sentences(page.main or page.text):
        words = plain(sentence)
        if words and words not in teasers:
            found.setdefault(signature(words), sentence)
    return found


def title(page: Page) -> str:
    """The title without a counter before it: "(3) Inbox"."""
    return re.sub(r"^\s*[(\[]\d+[)\]]\s*", "", page.title).strip()
