"""The sentences of a page, and signatures by which two versions of one are compared.

A signature leaves out what changes by itself: dates and times, session ids, and the digits of short
phrases ("12 comments", "5 minutes ago", "page 3 of 9"). A number inside a longer sentence counts:
a correction of it is news.
"""

from __future__ import annotations

import calendar
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence

from spoor.hashing import hash64
from spoor.types import Page

MOST = 2_000
"""Sentences of a page that are compared."""

MOST_LETTERS = 1 << 18
"""Characters of a text in which these are, some 130 each: a MiB of long ones takes .4 s, and six
times as long where all of them are others at the next look."""

SHORT = 6
"""Words up to which the digits of a phrase do not count."""

LITTLE = 2
"""Words of a row beside those of its links, up to which it says nothing of its own."""

MOST_OF_A_LINK = 12
"""Words of the text of a link that is looked for in rows."""

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
    rf"(?:\b(?:{_DAYS}|today|yesterday)\b\s?[.,]?\s{{1,3}})?(?:"
    rf"\d{{1,4}}[-/.]\d{{1,2}}[-/.]\d{{1,4}}|\d{{1,2}}:\d\d(?::\d\d)?(?:\s*[ap]\.?m\b)?"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\.?\s+(?:{_MONTHS})\b\.?(?:,?\s+\d{{4}})?"
    rf"|\b(?:{_MONTHS})\.?\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s+\d{{4}})?"
    r"|(?:\b(?:(?:less|more)\s+than|about|almost|over)\s{1,3})?(?:(?<!\d)\d+|\ban?)\s+"
    r"(?:seconds?|minutes?|mins?|hours?|days?|weeks?|months?|years?)\s+ago)"
)
_IN_TIMES = re.compile(r"\d[-/.:]\d")
"""A part of each of these that has neither the name of a month nor "ago": to look for all of them
takes ten times as long."""
_COUNTER = re.compile(r"[(\[][^()\[\]]{0,40}\d[^()\[\]]{0,40}[)\]]$")
"""What stands behind the name of something: "(3 replies)"."""
_ID = re.compile(r"(?<!\w)(?=\w*\d)(?=\w*[a-z])\w{12,}|[0-9a-f]{16,}")
"""What looks made by a machine: a session, a digest."""
_LETTERS = re.compile("[a-f]{16,}")
"""The same where there is no digit. Nothing else that is left out has none, and most sentences: a
search for all takes ten times as long as a search for one."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, in reading order; at most `MOST`. A line ends one too, and a row of
    a table is one."""
    found: list[str] = []
    for part in _parts(text[:MOST_LETTERS]):
        part = part.strip()
        if part:
            found += _pieces(part)
        if len(found) >= MOST:
            break
    return found[:MOST]


def _parts(text: str) -> Iterator[str]:
    if "\t" not in text:
        yield from _END.split(text)
        return
    for line in text.splitlines():
        yield from [line] if "\t" in line else _END.split(line)


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

    A sentence that is the text of a link to another page says something of that, and is left out,
    also with a counter in brackets behind it; so is one without words. Of a row of a table what
    such links say does not count, nor do its numbers: the index of a forum names the newest thread
    of each part, and when that came.
    """
    links, own = page.links, page.url
    said = [link.anchor.text for link in links if link.anchor.text and link.url != own]
    teasers = set(map(plain, said))
    text = page.main or page.text
    in_rows, sizes = set[str](), dict[str, list[int]]()
    if "\t" in text:  # most pages have no row
        in_rows = teasers.union(" ".join(_WORD.findall(its.lower())) for its in said)
        sizes = _sizes(in_rows)
    found: dict[int, str] = {}
    for sentence in sentences(text):
        words = plain(sentence)
        if not words or words in teasers:
            continue
        counted = _COUNTER.search(sentence) if sentence[-1] in ")]" else None
        if counted is not None and plain(sentence[: counted.start()]) in teasers:
            continue
        if "\t" in sentence:
            every = words.split()
            rest = _without(every, in_rows, sizes)
            if len(rest) < len(every):
                if len(rest) <= LITTLE:
                    continue
                words = " ".join(rest)
        found.setdefault(signature(words), sentence)
    return found


def _sizes(teasers: Collection[str]) -> dict[str, list[int]]:
    """First word of texts of links → the lengths of these texts, in words, the longest first."""
    found: dict[str, set[int]] = {}
    for words in filter(None, teasers):
        first, _, rest = words.partition(" ")
        size = rest.count(" ") + 2 if rest else 1
        if size <= MOST_OF_A_LINK:
            found.setdefault(first, set()).add(size)
    return {first: sorted(its, reverse=True) for first, its in found.items()}


def _without(
    words: Sequence[str], teasers: Collection[str], sizes: Mapping[str, Sequence[int]]
) -> list[str]:
    """Words without texts of links, and without the numbers beside them; all where there are none
    of these."""
    rest, at = list[str](), 0
    while at < len(words):
        its = sizes.get(words[at], ())
        size = next((one for one in its if " ".join(words[at : at + one]) in teasers), 0)
        if not size:
            rest.append(words[at])
        at += max(1, size)
    if len(rest) == len(words):
        return rest
    return [word for word in rest if not word.isdecimal()]


def title(page: Page) -> str:
    """The title without a counter before it: "(3) Inbox"."""
    return re.sub(r"^\s*[(\[]\d+[)\]]\s*", "", page.title).strip()
