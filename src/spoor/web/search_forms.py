"""The form by which a site is searched, and the URLs that ask for what is wanted.

Pure: bytes → URLs. A form is read as a browser sends it (HTML, "Constructing the entry list", and
"Implicit submission"): fields that are not shown have their values, and the first button its own.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from spoor.types import Topic
from spoor.web.encoding import TAG, attributes_of
from spoor.web.urls import Joiner, host

MOST_QUERIES = 3
"""Alternatives of a wish, each of which is asked for."""

_MOST_LETTERS = 100
"""Of what is asked for."""
MOST_LENGTH = 2_000
"""Characters of a URL that asks: those of many hosts wait."""

_LOOKED_AT = 1 << 18
"""Bytes at the begin of a page and at its end in which forms are looked for."""

_MOST_FORMS = 6
_FORM_SIZE = 8_000
"""Bytes of a form that are read."""

SEARCH_WORD = re.compile(
    r"search|query|suche|recherch|busca|busqueda|cerca|ricerca|zoek|szukaj|hledat|haku|"
    r"поиск|検索|搜索|검색",
    re.IGNORECASE,
)
"""Word of a form, or of its field, that says what it is for …"""
SEARCH_NAMES = frozenset(
    {"q", "s", "k", "query", "search", "keyword", "keywords", "searchterm", "term"}
)
"""… and names that fields of a search have."""

_NOT_FOLLOWED = (b'"MediaWiki ', b'"DokuWiki"')
"""Generators of pages, whose answers ask that no link of them is followed."""
_BUTTONS = frozenset({"submit", "image", "button", "reset"})
_OTHERS = frozenset(
    {"password", "email", "tel", "url", "number", "range", "date", "month", "week", "time"}
    | {"datetime-local", "color", "file"}
)
"""Fields that a search of words has not."""
_SCRIPTED = (".html", ".htm")
"""A file is the same whatever it is asked for: its script searches, in a browser."""


def queries_of(topic: Topic) -> tuple[str, ...]:
    """What a site is asked for: each alternative of a wish, the first `MOST_QUERIES`."""
    parts = topic.keywords or (topic.name,)
    words = (_shortened(" ".join(part.split())) for part in parts)
    return tuple(dict.fromkeys(part for part in words if part))[:MOST_QUERIES]


def _shortened(words: str) -> str:
    """The begin of a text, of whole words where it has any."""
    if len(words) <= _MOST_LETTERS:
        return words
    return words[: _MOST_LETTERS + 1].rpartition(" ")[0] or words[:_MOST_LETTERS]


def searches_in(body: bytes, url: str, queries: Sequence[str]) -> list[str]:
    """The canonical URLs at which the site of a page of HTML, in UTF-8, answers these queries, by
    the first form for a search of its own host; none where it has no such form. Some 5 ms at most.
    """
    if not queries:
        return []
    if len(body) > 2 * _LOOKED_AT:
        body = body[:_LOOKED_AT] + b" " + body[-_LOOKED_AT:]
    for text in _forms(body):
        form = _Form(text.decode("utf-8", "replace"))
        action = form.action(url, _base(body, url))
        if action is not None:
            asked = (f"{action}?{urlencode(form.filled_in(query))}" for query in queries)
            joiner = Joiner(size=1)
            urls = [joiner.join(each, url) for each in asked]
            return [at for at in urls if at is not None and len(at) <= MOST_LENGTH]
    return []


def _base(body: bytes, url: str) -> str:
    """From where the addresses of a page count."""
    found = _BASE.search(body, 0, _LOOKED_AT)
    its = {} if found is None else attributes_of(found[1].decode("utf-8", "replace"))
    return Joiner(size=1).join(_unescaped(its.get("href", "")), url) or url


def _unescaped(text: str) -> str:
    return html.unescape(_NO_CHARACTER.sub("\ufffd", text))


def is_not_followed(body: bytes) -> bool:
    """Whether the site of a page is of a kind whose answers ask that no link of them is followed,
    as MediaWiki's do."""
    return any(name in body[:_LOOKED_AT] for name in _NOT_FOLLOWED)


_NO_CHARACTER = re.compile(r"&#(?:[0-9]{9,}+|[xX][0-9A-Fa-f]{9,}+);?")
"""Numbers of characters that there are none of: Python reads 4,300 digits at most."""
_BASE = re.compile(rb"<base\s([^<>]{1,2000})>", re.IGNORECASE)
_SCRIPT = b"<script"
_AROUND = ((b"<!--", b"-->"), (_SCRIPT, b"</script"))


def _forms(body: bytes) -> Iterator[bytes]:
    at, end = 0, b"</form"
    for begin in (b"<form", b"<FORM"):
        for _ in range(_MOST_FORMS):
            at = body.find(begin, at)
            if at < 0:
                break
            if not any(_is_within(body, at, *around) for around in _AROUND):
                yield body[at : at + _FORM_SIZE].partition(end)[0]
            at += len(begin)
        at, end = 0, end.upper()


def _is_within(body: bytes, at: int, begin: bytes, end: bytes) -> bool:
    """Whether a place is between these: what is not yet shown, or never."""
    began = body.rfind(begin, 0, at)
    if began < 0 or body.find(end, began, at) >= 0:
        return False
    return begin == _SCRIPT or body.find(b"</script", began, at) < 0


def is_less_safe(url: str, page: str) -> bool:
    """Whether a URL on a page would show others on the way what is asked for."""
    return page.startswith("https:") and not url.startswith("https:")


@dataclass
class _Control:
    """A field of a form, and what it sends."""

    name: str
    value: str = ""


class _Form:
    """A form, from its tags."""

    def __init__(self, text: str) -> None:
        self._attributes: Mapping[str, str] = {}
        self._controls: list[_Control] = []
        self._texts: list[tuple[Mapping[str, str], _Control]] = []
        self._other = False
        """Whether a field is for something else: a password, a message."""
        self._sent = False
        """Whether a button is among the fields."""
        self._select: _Control | None = None
        self._is_chosen = False
        """Whether one of its options stands for it."""
        for tag in TAG.finditer(text):
            if tag[2] and not tag[1]:
                its = {key: _unescaped(its) for key, its in attributes_of(tag[3]).items()}
                self._take(tag[2].lower(), its)

    def _take(self, tag: str, its: Mapping[str, str]) -> None:
        kind = its.get("type", "submit" if tag == "button" else "text").strip().lower()
        name, value = its.get("name", ""), its.get("value", "")
        if tag == "form":
            self._attributes = self._attributes or its
        elif "disabled" in its:
            pass
        elif tag == "textarea":
            self._other = True
        elif tag == "select":
            self._select, self._is_chosen = _Control(name), False
            self._add(self._select)
        elif tag == "option" and self._select is not None:
            if "selected" in its or not self._is_chosen:
                self._select.value, self._is_chosen = value, True
        elif tag in ("input", "button") and kind in _BUTTONS:
            if kind == "submit" and not self._sent:
                self._add(_Control(name, value))
            self._sent |= kind in ("submit", "image")
        elif tag == "input":
            self._input(kind, its, name, value)

    def _input(self, kind: str, its: Mapping[str, str], name: str, value: str) -> None:
        if kind in ("checkbox", "radio"):
            if "checked" in its:
                self._add(_Control(name, its.get("value", "on")))
        elif kind == "hidden":
            self._add(_Control(name, value))
        elif kind in _OTHERS:
            self._other = True
        else:  # a browser takes any kind that it does not know for text
            control = _Control(name, value)
            self._texts.append((its, control))
            self._add(control)

    def _add(self, control: _Control) -> None:
        if control.name:
            self._controls.append(control)

    def action(self, page: str, base: str) -> str | None:
        """Where it asks, without a query, its address counted from `base`; None where it is no
        search of the page's host."""
        form = self._attributes
        its, _ = self._asked or ({}, None)
        if self._other or not its.get("name") or not form.get("action"):
            return None
        if form.get("method", "").strip().lower() in ("post", "dialog"):
            return None
        says = [form.get(name, "") for name in ("role", "id", "class", "name", "action")]
        says += [its.get(name, "") for name in ("id", "class", "placeholder")]
        named = its["name"].lower() in SEARCH_NAMES or SEARCH_WORD.search(its["name"]) is not None
        is_search = its.get("type", "").lower() == "search" or form.get("role") == "search"
        if not is_search and not (named and any(map(SEARCH_WORD.search, says))):
            return None
        joined = Joiner(size=1).join(form["action"], base)
        if joined is None or host(joined) != host(page) or is_less_safe(joined, page):
            return None
        plain = joined.partition("?")[0]
        return None if plain.lower().endswith(_SCRIPTED) else plain

    @property
    def _asked(self) -> tuple[Mapping[str, str], _Control] | None:
        """The field for what is asked: the one for words, or that for a search beside others."""
        texts = self._texts
        if len(texts) > 1:
            texts = [its for its in texts if its[0].get("type", "").strip().lower() == "search"]
        return texts[0] if len(texts) == 1 else None

    def filled_in(self, query: str) -> list[tuple[str, str]]:
        """Names and values, as sent for a query."""
        asked = None if self._asked is None else self._asked[1]
        return [(its.name, query if its is asked else its.value) for its in self._controls]
