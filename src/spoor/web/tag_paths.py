"""Where an element stands on a page: the path of tags to it, and the region that it is in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern

_NUMBERS = re.compile(r"[0-9]{3,}")
"""That name one item of many, as `post-1889`: where they differ the place is the same."""
_BESIDE = frozenset({"nav", "aside", "footer", "header"})
_WHOLE = frozenset({"html", "body", "main"})
_PATH_ELEMENTS = 32
_REGIONS = {"nav": "nav", "header": "header", "footer": "footer", "aside": "aside", "main": "main"}
HEADINGS = {f"h{level}": level for level in range(1, 7)}
"""Elements of headings, with their levels."""
_ENTRIES = frozenset({"hentry", "h-entry"})
_TEXTS = frozenset({"entry-content", "e-content"})
"""Classes of an entry and of its text, as hAtom and h-entry have them."""
_TRAIL = re.compile(r"(?<![^\W_])bread-?crumbs?(?![^\W_])", re.IGNORECASE)
"""In the name, the classes or the label of the links that lead back from a page to the home page,
through what it belongs to."""
_ROW = re.compile(r"(?:tr|li|dt|article)(?![^.#])")
"""An element that is a row, …"""
_CELL = re.compile(r"(?:tr|li|td|th|dl|dt|dd|article)(?![^.#])")
"""… or a part of one."""
_MORE = re.compile(r"[.#].*")
"""The names and classes of an element, after its tag."""
_DIGITS = re.compile(r"\d+")
_ROLES = {
    "navigation": "nav",
    "banner": "header",
    "contentinfo": "footer",
    "complementary": "aside",
    "main": "main",
}


@dataclass(slots=True)
class Place:
    """A position on a page, shared by all elements that have the same path, on any page."""

    path: str
    region: str
    is_heading: bool = False
    """It is a heading or stands in one."""
    in_entry: bool = False
    """It stands in what is marked as an entry (hAtom, h-entry), …"""
    in_text: bool = False
    """… and in the text of it."""
    in_article: bool = False
    """It stands in an `article` element, …"""
    of_article: bool = False
    """… and in the header or footer of that, which is not the page's."""
    in_trail: bool = False
    """It stands among the links that lead back to the home page."""
    row: str = ""
    """The path with that of its row, whose own classes say how it differs from others: odd, unread,
    closed. Empty for one that stands in no row, or beside the main part of its page."""
    below: dict[object, Place] = field(default_factory=dict)
    """By tag, by everything that distinguishes elements, and by path and region."""

    @property
    def is_beside(self) -> bool:
        """Whether it is beside the main part of its page: not in the header of an article."""
        return self.region in _BESIDE and not self.of_article


class Places:
    """The positions seen on pages: those of a site are alike. At most some `MOST`, and fewer where
    what distinguishes them is long: some 10 MB."""

    MOST = 16_384

    def __init__(self) -> None:
        self.top, self._count = Place("", "main"), 0

    def new(
        self, above: Place, key: object, tag: str, attributes: Mapping[str, str | None]
    ) -> Place:
        """The position of an element that is told by `key` inside another one."""
        path, region, step = above.path, above.region, tag[:40]
        name, classes, role = (attributes.get(of) or "" for of in ("id", "class", "role"))
        self._count += 1 + (len(tag) + len(name) + len(classes) + len(role)) // 128
        if self._count > self.MOST:
            self.top, self._count = Place("", "main"), 0
        names = classes.split()
        if name:
            step += "#" + _NUMBERS.sub("0", name[:40])
        if classes:
            step += "." + _NUMBERS.sub("0", ".".join(names[:3])[:60])
        if role:
            region = _ROLES.get(role.lower(), region)
        region = _REGIONS.get(tag, region)
        is_heading = above.is_heading or tag in HEADINGS
        in_entry = above.in_entry or not _ENTRIES.isdisjoint(names)
        in_text = above.in_text or (in_entry and not _TEXTS.isdisjoint(names))
        in_article = above.in_article or tag == "article"
        of_article = above.of_article
        in_trail = above.in_trail
        if not in_trail and tag not in _WHOLE:
            label = attributes.get("aria-label") or "" if tag == "nav" else ""
            in_trail = _TRAIL.search(f"{name} {classes} {label}") is not None
        if tag in _REGIONS:
            of_article = above.in_article and tag in ("header", "footer")
        if path.count("/") < _PATH_ELEMENTS:
            path = intern(f"{path}/{step}" if path else step)
        # Many a site names the page in a class of its body: what lies below is the same place.
        marks = (is_heading, in_entry, in_text, in_article, of_article, in_trail)
        same = (path, region, *marks)
        place = above.below.get(same)
        if place is None:
            place = above.below[same] = Place(path, region, *marks)
            place.row = "" if place.is_beside else _row_of(path)
        above.below[key] = place
        return place


def _row_of(path: str) -> str:
    steps = path.split("/")
    if not any(map(_ROW.match, steps)):
        return ""
    return intern(
        "/".join(
            _DIGITS.sub("#", _MORE.sub("", step) if _CELL.match(step) else step) for step in steps
        )
    )


PLACES = Places()
"""Of all pages that this process parses."""
