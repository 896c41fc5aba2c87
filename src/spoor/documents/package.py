"""The parts of an Office file (OPC), each read where it is asked for: what is damaged beside those
with text, as a picture, a font or a theme, costs no word."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from spoor.documents.errors import UnreadableError
from spoor.documents.zipped import Parts, TooMuchError, listed


class Relation(NamedTuple):
    """What a part leads to."""

    kind: str
    """The last word of its type: `image`, `hyperlink`."""
    target: str
    """The name of a part; an address where it is `external`."""
    external: bool


class Package:
    """An Office file."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._lost: dict[str, None] = {}

    def main(self, usual: str) -> str:
        """The name of the part that holds the document; the `usual` one where none is named."""
        named = self.relations("").values()
        return next((one.target for one in named if one.kind == "officeDocument"), usual)

    def relations(self, part: str) -> Mapping[str, Relation]:
        """What a part leads to, by identifier; of the file itself for the empty name."""
        folder, name = posixpath.split(part)
        tree = self.tree(posixpath.join(folder, "_rels", f"{name}.rels"), needed=False)
        found: dict[str, Relation] = {}
        for one in () if tree is None else tree.iterfind(".//{*}Relationship"):
            target, external = one.get("Target") or "", one.get("TargetMode") == "External"
            if not external:
                target = posixpath.join("/", folder, unquote(target.partition("#")[0]))
                target = posixpath.normpath(target).lstrip("/")
            kind = (one.get("Type") or "").rpartition("/")[2]
            found[one.get("Id") or ""] = Relation(kind, target, external)
        return found

    def trees(self, relations: Mapping[str, Relation], kind: str) -> Iterator[Element]:
        """The parts of a kind that a part leads to, as far as they can be read."""
        for one in relations.values():
            if (
                one.kind == kind
                and not one.external
                and (tree := self.tree(one.target)) is not None
            ):
                yield tree

    def tree(self, name: str, *, needed: bool = True) -> Element | None:
        """A part that is XML; None where it cannot be read, which is noted if it is `needed` or
        there."""
        try:
            return self._parts.tree(name)
        except TooMuchError:
            return None
        except UnreadableError:
            if needed or name in self._parts.archive.NameToInfo:
                self._lost[name] = None
            return None

    def needed(self, name: str) -> Element:
        """A part without which there is no document. Raises UnreadableError."""
        if (tree := self.tree(name)) is None:
            raise UnreadableError(f"its part {name[:80]} is damaged")
        return tree

    def notes(self) -> list[str]:
        """What is damaged, in a line for parts with text and one for others. All are unpacked."""
        lost = [f"{listed([*self._lost])} left out: damaged, or missing"] if self._lost else []
        return lost + self._parts.damaged(self._lost)
