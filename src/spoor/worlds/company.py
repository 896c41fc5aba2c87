"""Company sites with job adverts, of an exact size: the sites of Grigoriadis and Paliouras (2004).

The sites of their Tables 1 and 2 are not public. Here each is drawn from a seed, with exactly
its pages, links and relevant pages, so that the shape of their figures can be looked at; what is
on the pages is ours. A site is a front page, sections, and a tree below each; job adverts hang
below the section of careers. The other links are navigation, and then mostly links within a
section.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from spoor.errors import InputError
from spoor.types import Fetched, Recording
from spoor.web.page import parse
from spoor.worlds.store_rows import pack
from spoor.worlds.store_writer import Writer

LABEL = "job-advert"


class CompanySite(NamedTuple):
    """The exact size of a site. Links are pairs of different pages, each counted once."""

    name: str
    pages: int
    links: int
    relevant: int


TABLE_1 = (
    CompanySite("apcinc", 24, 342, 1),
    CompanySite("en-vivo", 24, 88, 1),
    CompanySite("rowan", 10, 60, 1),
    CompanySite("harmonia", 241, 3332, 1),
    CompanySite("quarry", 92, 1712, 9),
)
"""The English sites."""

TABLE_2 = (
    CompanySite("abc", 194, 1544, 11),
    CompanySite("forthnet", 1907, 4480, 18),
    CompanySite("intracom", 555, 15599, 11),
    CompanySite("marac", 87, 1249, 3),
    CompanySite("sena", 102, 2074, 1),
)
"""The Greek sites."""

SIXTY = tuple(
    CompanySite(f"firm{at:02}", pages := 20 + 7 * at % 40, pages * (4 + at % 8), 1)
    for at in range(60)
)
"""Sixty sites of 20 to 59 pages with one advert each, which are ours: whoever wants one page from
each of many sites crawls them together."""

TABLES = {"english": TABLE_1, "greek": TABLE_2, "sixty": SIXTY}
DIRECTORY = "http://directory.example/"
"""A page that links to the front pages of all sites, by their names."""

_CAREERS, _ABOUT = "careers", "about"
_SECTIONS = {
    _CAREERS: "working staff benefits training graduates culture colleagues joining hiring people "
    "interview talent",
    _ABOUT: "company history founded mission management board offices values partners group "
    "headquarters awards",
    "products": "product specification model features price catalogue series warranty manual "
    "download version compatible",
    "news": "press release announced today quarter results conference event launch agreement award "
    "spokesman",
    "support": "help question answer problem install driver update ticket guide service repair "
    "contact",
    "investors": "shares dividend annual report earnings governance shareholders meeting fiscal "
    "audit capital outlook",
    "services": "consulting solution project customer integration maintenance outsourcing delivery "
    "planning support network quality",
    "research": "laboratory study prototype paper patent method experiment university data "
    "analysis innovation programme",
}
_ADVERT = (
    "vacancy position salary apply candidate requirements responsibilities degree experience "
    "skills deadline reference"
).split()
_COMMON = (
    "welcome site page information more contact search home copyright legal privacy terms our we "
    "your offer world new read about find"
).split()
_CALLED = {
    _CAREERS: ("Careers", "Jobs", "Work with us", "Join us", "Vacancies", "Employment"),
    _ABOUT: ("About us", "The company", "Who we are", "Profile"),
}
_VAGUE = ("more", "read more", "click here", "details", "next", "see also")


def recordings(sites: Iterable[CompanySite], seed: int) -> Iterator[Recording]:
    """The pages of these sites. The same seed gives the same site, whatever other sites are
    given."""
    for site in sites:
        rng = np.random.default_rng([seed, *site.name.encode()])
        yield from _Site(site, rng).recordings()


def _directory(sites: Iterable[CompanySite]) -> Recording:
    """The page at `DIRECTORY`."""
    links = "".join(f'<li><a href="{_front(site)}">{site.name}</a></li>' for site in sites)
    body = f"<!doctype html><title>Companies</title><ul>{links}</ul>".encode()
    made = parse(body, DIRECTORY, labels=frozenset({"other"}))
    return Recording(DIRECTORY, Fetched(0, made, size=len(body)), extra={"root": True})


def _front(site: CompanySite) -> str:
    return f"http://www.{site.name}.example/"


def write(
    folder: Path, sites: Sequence[CompanySite], seed: int, *, with_directory: bool = False
) -> None:
    """Write a recorded web of these sites; its roots are their front pages and, where it is asked
    for, `DIRECTORY`. Raises InputError as a `Writer` does, and for a size that no site can
    have."""
    with Writer(folder) as writer:
        if with_directory:
            writer.add(pack(_directory(sites)))
        for recording in recordings(sites, seed):
            writer.add(pack(recording))


def _drawn(rng: np.random.Generator, words: Sequence[str], count: int) -> list[str]:
    """So many of these, some more than once: what `choice` gives, which makes an array of them."""
    return [words[at] for at in rng.integers(len(words), size=count).tolist()]


class _Site:
    """One site while it is drawn. Page 0 is the front page; the first pages of sections follow."""

    def __init__(self, site: CompanySite, rng: np.random.Generator) -> None:
        pages, links = site.pages, site.links
        most = pages * (pages - 1)
        if not (pages >= site.relevant + 3 and pages - 1 <= links <= most and site.relevant >= 1):
            raise InputError(
                f"no site {site.name!r} can have {pages} pages, {links} links and {site.relevant} "
                f"relevant pages; {pages} pages have {pages - 1} to {most} links within reach"
            )
        self.site = site
        self.rng = rng
        others = [name for name in _SECTIONS if name not in (_CAREERS, _ABOUT)]
        count = int(np.clip(round(pages**0.5 / 2), 1, len(others)))
        drawn = [others[index] for index in rng.permutation(len(others))[:count].tolist()]
        spare = pages - 1 - site.relevant
        self.sections = [_CAREERS, _ABOUT, *drawn][:spare]
        self.name_of = {
            name: str(rng.choice(_CALLED.get(name, (name.title(), f"Our {name}"))))
            for name in self.sections
        }
        # One word that only this company uses.
        self.word = "".join(rng.choice(list("bdfgklmnprstvaeiou"), 7))
        self.section = [""] * pages
        self.advert = [False] * pages
        self.targets: list[dict[int, None]] = [{} for _ in range(pages)]
        self._tree()
        self._fill()

    def _tree(self) -> None:
        rng, heads = self.rng, len(self.sections)
        members: dict[str, list[int]] = {}
        for number, name in enumerate(self.sections, 1):
            self.section[number] = name
            members[name] = [number]
        # Where careers are not named on the front page they hang below the company's own page.
        hidden = heads >= 2 and rng.random() < 0.4
        for number in range(1, heads + 1):
            self.targets[2 if hidden and number == 1 else 0][number] = None
        self.heads = [number for number in range(1, heads + 1) if not (hidden and number == 1)]
        rest = np.arange(heads + 1, self.site.pages)
        adverts = set(rng.choice(rest, self.site.relevant, replace=False).tolist())
        for page in rest.tolist():
            name = _CAREERS if page in adverts else str(rng.choice(self.sections))
            self.section[page] = name
            self.advert[page] = page in adverts
            # Adverts have nothing below them; a tree grows broad rather than deep.
            open_ = [number for number in members[name] if not self.advert[number]]
            parent = open_[int(len(open_) * rng.random() ** 2)]
            self.targets[parent][page] = None
            members[name].append(page)
        self.members = members

    def _fill(self) -> None:
        """Navigation, then links within sections and across, until there are enough."""
        rng, pages = self.rng, self.site.pages
        missing = self.site.links - (pages - 1)
        menu = [
            (page, head)
            for head in [0, *self.heads]
            for page in range(pages)
            if page != head and head not in self.targets[page]
        ]
        if missing < len(menu):
            # Too few for a menu on every page: some pages have some of it.
            menu = [
                menu[target] for target in sorted(rng.permutation(len(menu))[:missing].tolist())
            ]
        for page, head in menu:
            self.targets[page][head] = None
        missing -= len(menu)
        while missing:
            page = int(rng.integers(pages))
            near = self.members.get(self.section[page]) if rng.random() < 0.7 else None
            other = near[rng.integers(len(near))] if near else int(rng.integers(pages))
            if len(self.targets[page]) == pages - 1:
                continue
            if near and all(target in self.targets[page] or target == page for target in near):
                other = int(rng.integers(pages))
            if other != page and other not in self.targets[page]:
                self.targets[page][other] = None
                missing -= 1

    # -- documents

    def url_of(self, page: int) -> str:
        return f"{_front(self.site)}{self._path(page) if page else ''}"

    def _path(self, page: int) -> str:
        # Half of the companies name their folders by numbers.
        plain = len(self.word) and ord(self.word[0]) % 2 == 0
        folder = f"s{self.sections.index(self.section[page])}" if plain else self.section[page]
        return f"{folder}/{'index' if page <= len(self.sections) else f'p{page}'}.html"

    def _text(self, page: int) -> str:
        rng = self.rng
        own = _SECTIONS[self.section[page]].split() if page else list(_COMMON)
        words = [*_drawn(rng, own, 25), *_drawn(rng, _COMMON, 25), self.word]
        if self.advert[page]:
            words += _drawn(rng, _ADVERT, 25)
        elif self.section[page] == _CAREERS:
            words += _drawn(rng, _ADVERT, 4)
        elif rng.random() < 0.2:
            # Talk of other things, on any page.
            (name,) = _drawn(rng, list(_SECTIONS), 1)
            words += _drawn(rng, _SECTIONS[name].split(), 8)
        return " ".join(words[at] for at in rng.permutation(len(words)).tolist())

    def _anchor(self, page: int) -> str:
        rng = self.rng
        if page == 0:
            return "Home"
        if page <= len(self.sections):
            return self.name_of[self.section[page]]
        if rng.random() < 0.35:
            return _drawn(rng, _VAGUE, 1)[0]
        # What a link says of an advert it says of any page of careers: words that only adverts'
        # anchors had would make every method by words near links look better than it is.
        own = _SECTIONS[self.section[page]].split()
        return " ".join(_drawn(rng, own, 2))

    def recordings(self) -> Iterator[Recording]:
        for page in range(self.site.pages):
            title = self.name_of[self.section[page]] if page else f"Welcome to {self.word}"
            links = "".join(
                f'<li><a href="{self.url_of(target)}">{self._anchor(target)}</a></li>'
                for target in self.targets[page]
            )
            body = (
                f"<!doctype html><title>{title}</title><h1>{title}</h1>"
                f"<p>{self._text(page)}</p><ul>{links}</ul>"
            )
            labels = frozenset({LABEL}) if self.advert[page] else frozenset({"other"})
            url = self.url_of(page)
            made = parse(body.encode(), url, labels=labels, site=self.site.name)
            root = {"root": True} if page == 0 else None
            yield Recording(url, Fetched(0, made, size=len(body)), extra=root)
