"""The tokens of a wish: words, phrases, fields and signs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spoor.errors import InputError
from spoor.judges.wish.sentences import Connectives
from spoor.registry import nearest


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a wish that no rule takes apart."""

    kind: str
    """`word`, `phrase`, `field`, or one of `,`, `|`, `&`, `-`, `(`, `)`."""
    text: str = ""


_CLOSING = {
    '"': '"',
    "“": '”“"',
    "”": "”",
    "„": '“”‟"',
    "‟": "”",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    "〈": "〉",
    "《": "》",
    "＂": "＂",
    "‹": "›",
}
"""Opening quote → what may close it."""
_SINGLE = {"'": "'", "‘": "’", "‚": "‘’"}
"""The same of quotes that are apostrophes elsewhere: they open at the beginning of a word and close
at the end of one."""
_ANY_OF = ",;，、；؛،\n"
_OPEN, _CLOSE = "(（", ")）"
_MINUS = "-−–—"
_FIELD = re.compile(r"([^\W\d_]+)[:：](?!:)")
_FIELDS = {
    "title": "title",
    "intitle": "title",
    "url": "url",
    "inurl": "url",
    "lang": "lang",
    "language": "lang",
}
_OTHER_FIELDS = {
    "site": "give the site as the seed of the crawl, or as url:…",
    "host": "give the host as the seed of the crawl, or as url:…",
    "filetype": "say it with --want, as in --want 'type:application/pdf'",
    "ext": "say it with --want, as in --want 'type:application/pdf'",
    "type": "that is a kind of --want, as in --want 'type:application/pdf'",
    "label": "that is a kind of --want, as in --want 'label:faculty'",
    "text": "that is a kind of --want; a wish needs the words alone",
    "intext": "a wish needs the words alone",
    "query": "that is a kind of --want; a wish needs the words alone",
    "match": "that is a kind of --want, as in --want 'match:kilns?'",
    "topic": "that is a kind of --want, as in --want topic:kilns.topic",
    "http": "that is a URL: give example pages in a topic file, as example_urls",
    "https": "that is a URL: give example pages in a topic file, as example_urls",
}


def tokens(text: str, connectives: Connectives) -> Iterator[Token]:
    """The tokens of a wish in order; brackets among them close. Raises InputError for quotes and
    brackets that do not, and for a field that is none. O(length)."""
    at, size, depth = 0, len(text), 0
    begin = True  # of a word
    while at < size:
        char = text[at]
        if char in _ANY_OF and not _within_number(text, at):
            yield Token(",")
            begin = True
            at += 1
        elif char.isspace():
            begin = True
            at += 1
        elif char in _CLOSING and (char not in '"＂' or begin):
            end = _closing(text, at, _CLOSING[char])
            if end < 0:
                raise not_understood(text, f"the quote {text[at : at + 20]!r} is not closed")
            yield _phrase(text, text[at + 1 : end])
            at, begin = end + 1, True
        elif begin and char in _SINGLE and (end := _closing_single(text, at)) > 0:
            yield _phrase(text, text[at + 1 : end])
            at, begin = end + 1, True
        elif char in _OPEN and begin:
            depth += 1
            yield Token("(")
            at += 1
        elif char in _CLOSE and depth:
            depth -= 1
            yield Token(")")
            at += 1
            begin = True
        elif begin and char in _MINUS and text[at + 1 : at + 2].strip(_MINUS + " \t\n"):
            yield Token("-")
            at += 1
        elif begin and char in "+*" and text[at + 1 : at + 2].strip():
            at += 1
        elif begin and (field := _FIELD.match(text, at)) and (name := _field(text, field)):
            yield Token("field", name)
            at = field.end()
            while text[at : at + 1].isspace():
                at += 1
        else:
            end = _end_of_word(text, at, depth)
            yield from _word(text[at:end], connectives)
            at, begin = end, False
    if depth:
        raise not_understood(text, "a bracket is not closed")


def _within_number(text: str, at: int) -> bool:
    return text[at] == "," and text[at - 1 : at].isdigit() and text[at + 1 : at + 2].isdigit()


def _closing(text: str, at: int, closing: str) -> int:
    """Where the first of these stands after a quote; -1: nowhere."""
    ends = [end for quote in closing if (end := text.find(quote, at + 1)) > 0]
    return min(ends, default=-1)


def _closing_single(text: str, at: int) -> int:
    for end in range(at + 1, len(text)):
        if text[end] in _SINGLE[text[at]]:
            after = text[end + 1 : end + 2]
            if not after or not (after.isalnum() or after == "_"):
                return end
    return -1


def _end_of_word(text: str, at: int, depth: int) -> int:
    """Where a word ends. Brackets of a word itself belong to it, as in `printf()`."""
    own = 0
    for end in range(at, len(text)):
        char = text[end]
        if char.isspace() or (char in _ANY_OF and not _within_number(text, end)):
            return end
        if char in _CLOSING and char not in '"＂' and end > at:
            return end
        if char in _OPEN:
            own += 1
        elif char in _CLOSE:
            if own == 0 and depth:
                return end
            own -= 1
    return len(text)


def _phrase(text: str, within: str) -> Token:
    if not any(map(str.isalnum, within)):
        raise not_understood(text, "there is nothing between its quotes")
    return Token("phrase", within)


def _field(text: str, found: re.Match[str]) -> str:
    """The field that a word and a colon name; empty where they are a word as any other."""
    name = found[1].lower()
    if name in _FIELDS:
        return _FIELDS[name]
    if name in _OTHER_FIELDS and text[found.end() : found.end() + 1].strip():
        raise not_understood(text, f"{found[0]} is no field of a wish: {_OTHER_FIELDS[name]}")
    offer = nearest(name, _FIELDS)
    if offer and text[found.end() : found.end() + 1].strip():
        raise not_understood(text, f"{found[0]} is no field{offer}; write title:, url: or lang:")
    return ""


def _word(word: str, connectives: Connectives) -> Iterator[Token]:
    if word in ("OR", "|", "||"):
        yield Token("|", word)
    elif word in ("AND", "&", "&&"):
        yield Token("&")
    elif word == "NOT" or word.casefold() in connectives.none_of:
        yield Token("-")
    elif word.casefold() in connectives.any_of:
        yield Token(",")
    elif word.casefold() in connectives.all_of or (connectives.none_of and word == "but"):
        yield Token("&")
    else:
        for index, part in enumerate(word.split("|")):
            if index:
                yield Token("|", "|")
            if (bare := part.strip('*"＂')) and any(map(str.isalnum, bare)):
                yield Token("word", bare.rstrip(".!?:…。！？") or bare)


def not_understood(text: str, why: str) -> InputError:
    """The error of a wish, in one line."""
    return InputError(f"the topic {' '.join(text.split())[:80]!r} is not understood: {why}")
