"""The parts of an Office file (OPC), each read where it is asked for: what is damaged beside those
with text, as a picture, a font or a theme, costs no word."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import import_reader
from spoor.documents.zipped import damaged_in, listed, part_of

_NO_MEMORY = 2
"""The code of the syntax error that libxml2 reports where it gets no memory."""


class Relation(NamedTuple):
    """What a part leads to."""

    kind: str
    """The last word of its type: `image`, `hyperlink`."""
    target: str
    """The name of a part; an address where it is `external`."""
    external: bool


class Package:
    """An Office file of a `kind` (`docx`), which an extra reads; InputError without it."""

    def __init__(self, archive: zipfile.ZipFile, kind: str) -> None:
        _, self._etree = import_reader(kind, "lxml.etree")
        self._archive = archive
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
        for one in () if tree is None else tree.iter("{*}Relationship"):
            target, external = one.get("Target") or "", one.get("TargetMode") == "External"
            if not external:
                target = posixpath.join("/", folder, unquote(target.partition("#")[0]))
                target = posixpath.normpath(target).lstrip("/")
            kind = (one.get("Type") or "").rpartition("/")[2]
            found[one.get("Id") or ""] = Relation(kind, target, external)
        return found

    def trees(self, relations: Mapping[str, Relation], kind: str) -> Iterator[Any]:
        """The parts of a kind that a part leads to, as far as they can be read."""
        for one in relations.values():
            if (
                one.kind == kind
                and not one.external
                and (tree := self.tree(one.target)) is not None
            ):
                yield tree

    def tree(self, name: str, *, needed: bool = True) -> Any:
        """A part that is XML; None where it cannot be read, which is noted if it is `needed` or
        there."""
        parser = self._etree.XMLParser(remove_blank_text=True, resolve_entities=False)
        try:
            return self._etree.fromstring(part_of(self._archive, name), parser)
        except (UnreadableError, self._etree.XMLSyntaxError, ValueError) as error:
            if getattr(error, "code", None) == _NO_MEMORY:
                raise MemoryError from error
            if needed or name in self._archive.NameToInfo:
                self._lost[name] = None
            return None

    def needed(self, name: str) -> Any:
        """A part without which there is no document. Raises UnreadableError."""
        if (tree := self.tree(name)) is None:
            raise UnreadableError(f"its part {name[:80]} is damaged")
        return tree

    def notes(self) -> list[str]:
        """What is damaged, in a line for parts with text and one for others. All are unpacked."""
        lost = [f"{listed([*self._lost])} left out: damaged, or missing"] if self._lost else []
        return lost + damaged_in(self._archive, self._lost)
