"""Where an element stands on a page: the path of tags to it, and the region that it is in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import intern

_PATH_ELEMENTS = 32
_REGIONS = {"nav": "nav", "header": "header", "footer": "footer", "aside": "aside", "main": "main"}
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
    below: dict[object, Place] = field(default_factory=dict)
    """By tag, by everything that distinguishes elements, and by path and region."""


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
        if name:
            step += "#" + name[:40]
        if classes:
            step += "." + ".".join(classes.split()[:3])[:60]
        if role:
            region = _ROLES.get(role.lower(), region)
        region = _REGIONS.get(tag, region)
        if path.count("/") < _PATH_ELEMENTS:
            path = intern(f"{path}/{step}" if path else step)
        # Many a site names the page in a class of its body: what lies below is the same place.
        same = (path, region)
        place = above.below.get(same)
        if place is None:
            place = above.below[same] = Place(path, region)
        above.below[key] = place
        return place


PLACES = Places()
"""Of all pages that this process parses."""
