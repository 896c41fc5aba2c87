"""How URLs of one host stand to one another, and what is known of those that stand alike: whether
one page has all that the other has (`spoor.link_filter.page_views`).

*Twins* are URLs with the same numbers. Of two forms of one page, as `/lite/?thread-7.html` and
`/thread?id=7`, that is how one is told from the other before it was asked for.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from spoor.bounded import remember
from spoor.hashing import url_hash64
from spoor.web.url_groups import without_numbers
from spoor.web.urls import host, query_parts

VIEWS = 3
"""Views from which on a relation is one of views …"""
PAGES = 2
"""… and pages that had all of them, at least."""
SAME = 3
"""URLs of which links say the same."""

_ALL = 0.75
"""Share of what is a view's own that the other page has, at least …"""
_SOME = 0.4
"""… or this, where hardly a line is missing:"""
_LINE = 12
"""words, or triples of these: who wrote it and when."""

RELATIONS = 2_000
"""That are known."""
_FORMS = 4
"""Of one page, of whose URLs it is known how they stand to those of one shape."""
_TEXTS = 32
"""Texts of links of one relation."""
_LONG = 16
"""Characters of a segment with numbers, or of a value, that is a name of something."""
_SUFFIX = re.compile(r"\.[a-z][a-z\d]{0,4}$")
_DIGITS = re.compile(r"\d+")
_OF_TWINS = "twins "
"""Begin of the names of relations of URLs that have the same numbers."""
_HASH = re.compile(r"(?<![0-9a-z])(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{7,64}(?![0-9a-z])")
"""The name of a version: hexadecimal digits, letters among them."""


def _masked(segment: str) -> str:
    shape = without_numbers(segment)
    if shape == segment or (len(segment) < _LONG and shape.count("#") == 1):
        return shape
    found = _SUFFIX.search(shape)
    return f"*{found[0]}" if found else "*"


def relation(page: str, url: str) -> str:
    """How a canonical URL stands to that of another page of its host: so many segments up, and what
    of its path and query is not in the other's, with numbers and names masked. Empty for the same
    URL, for another host, and for the same place in another folder: `/de/3` is a translation of
    `/en/3`, or to be one."""
    steps, known = _parted(page)
    own, _, query = url.partition("?")
    path = own.split("/")[2:]
    if page == url or steps[:1] != path[:1]:
        return ""
    pairs = zip(steps, path, strict=False)
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), None)
    if same is None:
        same = min(len(steps), len(path))
    if len(steps) - same > 1 and _in_another_folder(steps[same:], path[same:]):
        return ""
    new = sorted({_parameter(part) for part in query_parts(query) if part not in known})
    rest = "/".join(map(_masked, path[same:]))
    return f"{path[0]} {len(steps) - same}/{rest}?{'&'.join(new)}"


@lru_cache(maxsize=64)
def _parted(page: str) -> tuple[Sequence[str], frozenset[str]]:
    """The host and the segments of a URL, and the parts of its query: once for all links of its
    page."""
    path, _, query = page.partition("?")
    return path.rstrip("/").split("/")[2:], frozenset(query_parts(query))


@lru_cache(maxsize=16_384)
def shape_of(url: str) -> str:
    """The host of a URL, and its path and query, masked."""
    path, _, query = url.partition("?")
    parts = sorted({_parameter(part) for part in query_parts(query)})
    name, *segments = path.split("/")[2:]
    return f"{'/'.join((name, *map(_masked, segments)))}?{'&'.join(parts)}"


@lru_cache(maxsize=16_384)
def end_of(url: str) -> str:
    """The host of a URL, and the names of its parameters or its last segment, masked."""
    path, mark, query = url.partition("?")
    parts = (part if "=" in part else without_numbers(part) for part in query_parts(query))
    names = sorted({part.partition("=")[0] for part in parts})
    last = path.rstrip("/").rpartition("/")[2]
    return f"{host(url)} {'?' + '&'.join(names) if mark else _masked(last)}"


@lru_cache(maxsize=16_384)
def versions(url: str) -> tuple[str, str]:
    """A URL with the names of versions masked, and the relation of all URLs with such names in the
    same places; empty for one without."""
    masked = _HASH.sub("#", url)
    if masked == url:
        return "", ""
    path, _, query = masked.partition("?")
    parts = [part.partition("=")[0] for part in query_parts(query) if "#" in part]
    return masked, f"version {host(url)} {'/' * ('#' in path)}{'&'.join(sorted(parts))}"


def numbers_of(url: str) -> tuple[str, ...]:
    """The host of a URL and the numbers behind that; empty for one without."""
    rest = url.split("/", 3)
    numbers = _DIGITS.findall(rest[3]) if len(rest) > 3 else []
    return (rest[2], *numbers) if numbers else ()


def twins(page: str, url: str) -> str:
    """The relation of a URL to that of another page where both have the same numbers, and tell one
    thing in two forms: `/lite/?thread-7.html` and `/thread?id=7`. Empty for other URLs."""
    numbers = numbers_of(url)
    name = relation(page, url) if numbers and numbers == numbers_of(page) else ""
    return name and f"{_OF_TWINS}{shape_of(page)} {name}"


def _in_another_folder(steps: Sequence[str], path: Sequence[str]) -> bool:
    """Whether the first of some segments is a folder, not the name of one thing, or the others are
    the same."""
    folder = _masked(steps[0])
    return not folder.startswith("*") and (folder == steps[0] or steps[1:] == path[1:])


def _parameter(part: str) -> str:
    name, mark, value = part.partition("=")
    if not mark:
        return without_numbers(name)
    is_name = len(value) > _LONG or any(map(str.isdigit, value))
    return f"{name}=#" if is_name else name + mark + value


def above(url: str) -> Iterator[str]:
    """The page without the query of a URL, and those that may be above it."""
    path, mark, _ = url.partition("?")
    if mark:
        yield path
    folder = path.rstrip("/").rpartition("/")[0]
    if folder.count("/") > 2:
        yield f"{folder}/"
        yield folder


def has_all(own: int, held: int) -> bool:
    """Whether a page that has `held` of what is another one's own has all of it, but for little."""
    return held >= (_SOME if own - held <= _LINE else _ALL) * own


class Relation:
    """What is known of one."""

    __slots__ = ("example", "frame", "more", "pages", "plain", "texts", "titled", "views")

    def __init__(
        self,
        views: int = 0,
        more: int = 0,
        pages: Sequence[int] = (),
        texts: Iterable[tuple[str, Sequence[int]]] = (),
        plain: int = 0,
        titled: int = 0,
        frame: Sequence[int] = (),
        example: Sequence[str] | None = ("", ""),
    ) -> None:
        self.views = views
        self.more = more
        """What pages that had more count against it."""
        self.pages = list(pages)
        """Hashes of URLs of pages that had all of a view; `PAGES` of them at most."""
        self.texts = {text: list(urls) for text, urls in texts}
        """Text of links → hashes of their URLs, `SAME` of them at most."""
        self.plain = plain
        """Times that a page linked to a URL by such texts alone …"""
        self.titled = titled
        """… and by another text as well: the title of a post beside “5 comments”."""
        self.frame = np.array(frame, np.uint32)
        """What the last page of it had that the other page had not, in order, if that was not much:
        a form that stands on all of them."""
        self.example: tuple[str, str] | None = None if example is None else (example[0], example[1])
        """Of twins: a page and a view of it, of whose URLs the numbers alone make all others; None
        where there were such that they do not make."""

    @property
    def of_views(self) -> bool:
        return self.views >= VIEWS and len(self.pages) >= PAGES and self.more <= self.views

    @property
    def has_no_titles(self) -> bool:
        """Whether most links to its URLs say the same of `SAME` of them, and nothing else."""
        return self.plain > self.titled

    def says_the_same(self, text: str) -> bool:
        return len(self.texts.get(text, ())) >= SAME

    def note(self, text: str, url: str) -> None:
        """A page links to this URL with this text."""
        if text not in self.texts and len(self.texts) >= _TEXTS:
            rare = next((one for one, urls in self.texts.items() if len(urls) < SAME), None)
            if rare is None:
                return
            del self.texts[rare]
        _enter(self.texts.setdefault(text, []), url_hash64(url), SAME)

    def row(self) -> list[Any]:
        """As a saved state holds it."""
        texts = list(self.texts.items())
        rest = [self.plain, self.titled, self.frame.tolist(), self.example]
        return [self.views, self.more, self.pages, texts, *rest]


class Relations:
    """What is known of each relation by its name, at most `RELATIONS` of them."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Relation] = OrderedDict()
        self._of_twins: OrderedDict[str, list[str]] = OrderedDict()
        """Shape of a URL that was compared with a twin → names of these relations."""

    def known(self, name: str) -> Relation:
        """That of a name, which is kept from now on."""
        its = self._known.get(name) or Relation()
        remember(self._known, name, its, RELATIONS)
        return its

    def get(self, name: str) -> Relation | None:
        """The same, None where nothing is known."""
        return self._known.get(name)

    def count(self, name: str, whole: str, against: int = 2) -> None:
        """Count a page of a relation; `whole` has all of it (empty for none, which counts so much
        `against` it)."""
        its = self.known(name)
        if whole:
            its.views += 1
            _enter(its.pages, url_hash64(whole), PAGES)
        else:
            its.more += against

    def count_twins(self, page: str, url: str, *, holds: bool) -> None:
        """The pages of two URLs that are `twins` were compared; the first `holds` all of the
        other's, or not."""
        name = twins(page, url)
        self.count(name, page if holds else "")
        its = self._known[name]
        if not holds or its.example is None:
            return
        if not its.example[0]:
            its.example = page, url
            self._enter(name, url)
        elif _with_numbers(its.example[0], url) != page:
            its.example = None

    def whole_of(self, url: str) -> str:
        """The URL of the page that has all of what stands at a URL, as those of its shape were seen
        to have twins that do; empty where none is known to. Nobody need have asked for either."""
        names = self._of_twins.get(shape_of(url), ()) if self._of_twins else ()
        found = (self._known.get(name) for name in names)
        its = [one for one in found if one is not None and one.of_views and one.example]
        best = max(its, key=lambda one: one.views, default=None)
        if best is None or best.example is None:
            return ""
        back = self._known.get(twins(best.example[1], best.example[0]))
        if back is not None and back.views >= best.views:
            return ""
        whole = _with_numbers(best.example[0], url)
        return whole if self._known.get(twins(whole, url)) is best else ""

    def _enter(self, name: str, url: str) -> None:
        names = self._of_twins.get(shape_of(url), [])
        _enter(names, name, _FORMS)
        remember(self._of_twins, shape_of(url), names, RELATIONS)

    def rows(self) -> list[Any]:
        """As a saved state holds them."""
        return [[name, *its.row()] for name, its in self._known.items()]

    def load(self, rows: Iterable[Sequence[Any]]) -> None:
        """Go on from `rows`."""
        self._known = OrderedDict((name, Relation(*row)) for name, *row in rows)
        self._of_twins.clear()
        for name, its in self._known.items():
            if its.example and its.example[1]:
                self._enter(name, its.example[1])


def _with_numbers(url: str, other: str) -> str:
    """A URL with the numbers of another one behind its host; empty where it has more or fewer."""
    at, numbers = len(url) - len(url.split("/", 3)[3]), numbers_of(other)[1:]
    its = iter(numbers)
    if len(_DIGITS.findall(url, at)) != len(numbers):
        return ""
    return url[:at] + _DIGITS.sub(lambda _: next(its), url[at:])


def _enter(table: list[Any], one: Any, most: int) -> None:
    if len(table) < most and one not in table:
        table.append(one)
