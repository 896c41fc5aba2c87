"""Wishes: what a user types for the pages that are wanted, parsed into a tree and shown back.

    blur filters                 pages about both words, best close together
    kiln, glaze; 陶芸             any of them
    "virtual table"              these words in this order
    kiln glaze OR glazing        kiln, and glaze or glazing
    kiln -oven                   but not about this
    title:kiln  url:docs         in this part of the page
    lang:de                      in this language
    (kiln, oven) lang:de         brackets group

OR binds words more tightly than their neighbours; a comma binds least. What is not understood is an
InputError of one line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from spoor.errors import InputError
from spoor.judges.languages import LANGUAGES, language_code
from spoor.judges.wish.sentences import reduced
from spoor.judges.wish.tokens import Token, not_understood, tokens
from spoor.types import Topic

MOST = 10_000
"""Characters of a wish."""
_DEEPEST = 20
"""Brackets within brackets."""


# ---------------------------------------------------------------- the tree


@dataclass(frozen=True, slots=True)
class Words:
    """All of these words, in any order; the nearer to one another the better."""

    words: tuple[str, ...]
    """As typed; at least one. A run of a script without spaces is one word."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """These words, one after the other."""

    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """What must be in one part of the page."""

    name: str
    """`title` or `url`."""
    part: Part


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of two or more parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Each of two or more parts."""

    parts: tuple[Part, ...]


Part = Words | Phrase | Field | AnyOf | AllOf


@dataclass(frozen=True, slots=True)
class Wish:
    """What is wanted. `str` gives it in plain words."""

    wanted: Part | None
    """None where only a language is wanted."""
    unwanted: tuple[Part, ...] = ()
    """A page about one of these is not wanted."""
    languages: tuple[str, ...] = ()
    """Codes of ISO 639-1, one of which the page is to be in; none: any language."""
    unwanted_languages: tuple[str, ...] = ()

    def __str__(self) -> str:
        """`pages about *kiln* and (*glaze* or *glazing*), not *oven*, in German`."""
        parts = ["pages"]
        if self.wanted is not None:
            verb = "with" if _only_fields(self.wanted) else "about"
            parts = [f"pages {verb} {_plain(self.wanted)}"]
        if self.unwanted:
            parts.append("not " + " or ".join(_plain(part, inner=True) for part in self.unwanted))
        for word, codes in (("in", self.languages), ("not in", self.unwanted_languages)):
            if codes:
                parts.append(f"{word} " + " or ".join(LANGUAGES[code] for code in codes))
        return " ".join(parts) if self.wanted is None else ", ".join(parts)

    @property
    def query(self) -> str:
        """The wish in its own language: `parse` makes the same tree of it."""
        parts = [] if self.wanted is None else [_query(self.wanted)]
        if parts:
            # Its words would be left off as those of a sentence: all of them where more follows.
            begin = f"{parts[0]} kiln" if self._limits else parts[0]
            if (isinstance(self.wanted, AnyOf) and self._limits) or reduced(begin)[0] != begin:
                parts = [f"({parts[0]})"]
        parts += [f"-{_query(part, atom=True)}" for part in self.unwanted]
        parts += [f"lang:{code}" for code in self.languages]
        parts += [f"-lang:{code}" for code in self.unwanted_languages]
        return " ".join(parts)

    @property
    def _limits(self) -> bool:
        return bool(self.unwanted or self.languages or self.unwanted_languages)

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that speaks for a page, once, in lower case and in the order typed."""
        return tuple(dict.fromkeys(word.lower() for word in words_within(self.wanted)))

    @property
    def topic(self) -> Topic:
        """The wish for a policy: what is wanted, without what is not."""
        wanted = self.wanted
        if wanted is None:
            return Topic(name=" ".join(LANGUAGES[code] for code in self.languages))
        alternatives = wanted.parts if isinstance(wanted, AnyOf) else ()
        keywords = tuple(" ".join(words_within(part)) for part in alternatives)
        return Topic(", ".join(keywords) or " ".join(words_within(wanted)), keywords=keywords)

    def with_words(self, instead: Callable[[str], str]) -> Wish:
        """The same wish with other words: `instead` gives what stands for a word that speaks for a
        page."""
        if self.wanted is None:
            return self
        return replace(self, wanted=_changed(self.wanted, instead))


def words_within(part: Part | None) -> Iterator[str]:
    if isinstance(part, Words | Phrase):
        yield from part.words
    elif isinstance(part, Field):
        yield from words_within(part.part)
    elif part is not None:
        for one in part.parts:
            yield from words_within(one)


def _changed(part: Part, instead: Callable[[str], str]) -> Part:
    if isinstance(part, Words | Phrase):
        return type(part)(tuple(map(instead, part.words)))
    if isinstance(part, Field):
        return Field(part.name, _changed(part.part, instead))
    return type(part)(tuple(_changed(one, instead) for one in part.parts))


def _only_fields(part: Part) -> bool:
    if isinstance(part, AnyOf | AllOf):
        return all(map(_only_fields, part.parts))
    return isinstance(part, Field)


_SHOWN_FIELDS = {"title": "the title", "url": "the URL"}


def _plain(part: Part, *, inner: bool = False) -> str:
    """A part in plain words; `inner`: in brackets where it has several."""
    match part:
        case Words(words):
            return f"*{' '.join(words)}*"
        case Phrase(words):
            return f'*"{" ".join(words)}"*'
        case Field(name, of):
            return f"{_plain(of, inner=True)} in {_SHOWN_FIELDS[name]}"
        case AnyOf(parts):
            text = " or ".join(_plain(one, inner=True) for one in parts)
        case AllOf(parts):
            text = " and ".join(_plain(one, inner=True) for one in parts)
    return f"({text})" if inner else text


def _query(part: Part, *, atom: bool = False) -> str:
    """A part in the language of wishes; `atom`: as one that a minus or a field may stand before."""
    match part:
        case Words(words):
            text, single = " ".join(words), len(words) == 1
        case Phrase(words):
            return f'"{" ".join(words)}"'
        case Field(name, of):
            return f"{name}:{_query(of, atom=True)}"
        case AnyOf(parts):
            text, single = ", ".join(_query(one) for one in parts), False
        case AllOf(parts):
            text, single = " ".join(_within_all(one) for one in parts), False
    return f"({text})" if atom and not single else text


def _within_all(part: Part) -> str:
    return _query(part, atom=isinstance(part, AnyOf))


def _any_of(parts: Iterable[Part]) -> Part:
    return _joined(AnyOf, parts)


def _all_of(parts: Iterable[Part]) -> Part:
    """Words that stand side by side become one part."""
    joined: list[Part] = []
    for part in dict.fromkeys(_flat(AllOf, parts)):
        if isinstance(part, Words) and joined and isinstance(joined[-1], Words):
            joined[-1] = Words(joined[-1].words + part.words)
        else:
            joined.append(part)
    return _joined(AllOf, joined)


def _joined(kind: type[AnyOf] | type[AllOf], parts: Iterable[Part]) -> Part:
    different = tuple(dict.fromkeys(_flat(kind, parts)))
    return different[0] if len(different) == 1 else kind(different)


def _flat(kind: type[AnyOf] | type[AllOf], parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, kind):
            yield from part.parts
        else:
            yield part


# ---------------------------------------------------------------- the parser


class _Parser:
    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0
        self.unwanted: list[Part] = []
        self.languages: list[str] = []
        self.unwanted_languages: list[str] = []

    def parse(self) -> Part | None:
        part = self._any_of(0)
        assert self._peek() is None, "a closing bracket is a token only where one is open"
        return part

    def _peek(self) -> str | None:
        return self._tokens[self._at].kind if self._at < len(self._tokens) else None

    def _take(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _any_of(self, depth: int) -> Part | None:
        """Parts with commas between them, up to the end or a closing bracket."""
        if depth > _DEEPEST:
            raise not_understood(
                self._text, f"it has more than {_DEEPEST} brackets within brackets"
            )
        parts = [self._all_of(depth)]
        while self._peek() == ",":
            self._take()
            parts.append(self._all_of(depth))
        some = [part for part in parts if part is not None]
        return _any_of(some) if some else None

    def _all_of(self, depth: int) -> Part | None:
        parts: list[Part] = []
        while self._peek() not in (None, ",", ")"):
            if self._peek() == "&":
                self._take()
                continue
            part = self._alternatives(depth)
            if part is not None:
                parts.append(part)
        return _all_of(parts) if parts else None

    def _alternatives(self, depth: int) -> Part | None:
        """One part, or several with OR between them."""
        if self._peek() == "|":
            raise self._lonely(self._take())
        parts = [self._item(depth)]
        while self._peek() == "|":
            sign = self._take()
            if self._peek() in (None, ",", ")", "|", "&"):
                raise self._lonely(sign)
            parts.append(self._item(depth))
            if None in parts:
                raise self._lonely(sign)
        some = [part for part in parts if part is not None]
        return _any_of(some) if some else None

    def _lonely(self, sign: Token) -> InputError:
        return not_understood(
            self._text, f"{sign.text} stands between two words, as in glaze OR glazing"
        )

    def _item(self, depth: int) -> Part | None:
        """One word, phrase, field or bracket; None for what limits the whole wish."""
        token = self._take()
        if token.kind == "-":
            self._without(depth)
            return None
        if token.kind == "field" and token.text == "lang":
            self.languages += self._languages(depth)
            return None
        return self._atom(token, depth)

    def _without(self, depth: int) -> None:
        if depth:
            raise not_understood(
                self._text, "a minus holds for the whole wish: write it outside of brackets"
            )
        while self._peek() == "&":
            self._take()
        if self._peek() in (None, ",", "|", "-"):
            raise not_understood(self._text, "a minus stands before a word, as in -oven")
        token = self._take()
        if token.kind == "field" and token.text == "lang":
            self.unwanted_languages += self._languages(depth)
        else:
            self.unwanted.append(self._atom(token, depth))

    def _languages(self, depth: int) -> list[str]:
        if depth:
            raise not_understood(
                self._text, "lang: holds for the whole wish: write it outside of brackets"
            )
        if self._peek() not in ("word", "phrase"):
            raise not_understood(self._text, "lang: needs a language, as in lang:de")
        return [language_code(self._take().text)]

    def _atom(self, token: Token, depth: int) -> Part:
        if token.kind == "word":
            return Words((token.text,))
        if token.kind == "phrase":
            words = tuple(word for word in token.text.split() if any(map(str.isalnum, word)))
            return Phrase(words)
        if token.kind == "field":
            if self._peek() not in ("word", "phrase", "("):
                raise not_understood(
                    self._text, f"{token.text}: needs a word, as in {token.text}:kiln"
                )
            part = self._atom(self._take(), depth)
            if any(isinstance(one, Field) for one in _all_parts(part)):
                raise not_understood(
                    self._text, f"{token.text}: holds another field; write them apart"
                )
            return Field(token.text, part)
        assert token.kind == "(", token
        part_or_none = self._any_of(depth + 1)
        self._take()
        if part_or_none is None:
            raise not_understood(self._text, "there is nothing between its brackets")
        return part_or_none


def _all_parts(part: Part) -> Iterator[Part]:
    yield part
    if isinstance(part, AnyOf | AllOf):
        for one in part.parts:
            yield from _all_parts(one)


def parse(text: str) -> Wish:
    """The wish that a user typed. Raises InputError with one line for what is not understood: a
    quote or bracket that is not closed, a field that is none, nothing that is wanted.

    A sentence around it (`find me pages about …`, in eleven languages) is left off; `or`, `and` and
    `not` then join its parts. O(length).
    """
    if len(text) > MOST:
        raise InputError(f"a topic of {len(text):,} characters; write at most {MOST:,}")
    bare, connectives = reduced(text)
    parser = _Parser(bare, list(tokens(bare, connectives)))
    wanted = parser.parse()
    languages = tuple(dict.fromkeys(parser.languages))
    if wanted is None and not languages:
        if parser.unwanted or parser.unwanted_languages:
            raise not_understood(
                text, "it says only what is not wanted; say what is, as in kiln -oven"
            )
        raise InputError(f"the topic {text!r} has no word in it; write what you are looking for")
    return Wish(
        wanted,
        tuple(dict.fromkeys(parser.unwanted)),
        languages,
        tuple(dict.fromkeys(parser.unwanted_languages)),
    )
