"""Presentations (pptx): the slides in their order, with what is drawn on them and their notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice, zip_longest
from xml.etree.ElementTree import Element

from spoor.documents.blocks import MOST_COLUMNS, MOST_ROWS, Blocks
from spoor.documents.document import Limits
from spoor.documents.errors import UnreadableError
from spoor.documents.links import Links
from spoor.documents.package import Package, Relation

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_COMPATIBLE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_BREAK = f"{_A}br"
_WRITTEN = frozenset((f"{_A}t", _BREAK))
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_SLIDE = re.compile(r"ppt/slides/slide(\d{1,6})\.xml")
_GROUPS = (f"{_P}grpSp", f"{_COMPATIBLE}AlternateContent", f"{_COMPATIBLE}Choice")
_MOST_SHAPES = 10_000
_MOST_SERIES = MOST_COLUMNS - 1


def read_slides(
    package: Package, names: Iterable[str], blocks: Blocks, links: Links, limits: Limits
) -> list[str]:
    """Adds what the presentation holds; `names`: of all parts. Returns what was left out. Raises
    UnreadableError where no slide can be read."""
    slides = _slides(package, names)
    read = 0
    for name in slides[: limits.pages]:
        relations = package.relations(name)
        if (slide := package.tree(name)) is not None:
            read += 1
            _read(slide, package, relations, blocks, links)
    if slides and not read:
        raise UnreadableError("none of its slides can be read")
    if len(slides) > limits.pages:
        return [f"cut after {limits.pages} of {len(slides)} slides"]
    return []


def _slides(package: Package, names: Iterable[str]) -> list[str]:
    """The names of the slides in their order; by number where the presentation cannot be read."""
    main = package.main("ppt/presentation.xml")
    relations, tree = package.relations(main), package.tree(main)
    if tree is None or not relations:
        numbered = (found for name in names if (found := _SLIDE.fullmatch(name)))
        return [found[0] for found in sorted(numbered, key=lambda one: int(one[1]))]
    ids = (one.get(_RELATION, "") for one in tree.iterfind(f"{_P}sldIdLst/{_P}sldId"))
    return [one.target for key in ids if (one := relations.get(key)) and not one.external]


def _read(
    slide: Element,
    package: Package,
    relations: Mapping[str, Relation],
    blocks: Blocks,
    links: Links,
) -> None:
    shapes = list(_shapes(slide))
    title = next((shape for shape in shapes if _place_of(shape, "idx", "0") == "0"), None)
    heading = "" if title is None else "\n".join(map(_text, _paragraphs(title)))
    blocks.heading(2, heading)
    for shape in shapes:
        if shape is title:
            continue
        for paragraph in _paragraphs(shape):
            place = paragraph.find(f"{_A}pPr")
            level = "" if place is None else place.get("lvl") or ""
            blocks.item(_text(paragraph), depth=int(level) if level.isdecimal() else 0)
            for run in paragraph.iterfind(f"{_A}r"):
                link = run.find(f"{_A}rPr/{_A}hlinkClick")
                relation = None if link is None else relations.get(link.get(_RELATION, ""))
                if relation is not None and relation.external:
                    links.add(relation.target, _text(run), headings=(heading,))
        for table in shape.iterfind(f"{_A}graphic/{_A}graphicData/{_A}tbl"):
            rows = table.iterfind(f"{_A}tr")
            blocks.long_table([_cell(cell) for cell in row.iterfind(f"{_A}tc")] for row in rows)
    for kind, add in _DRAWN.items():
        for drawn in package.trees(relations, kind):
            add(drawn, blocks)
    for notes in package.trees(relations, "notesSlide"):
        for shape in _shapes(notes):
            if _place_of(shape, "type", "") == "body":
                blocks.paragraph("\n".join(map(_text, _paragraphs(shape))), kind="quote")


def _shapes(slide: Element) -> Iterator[Element]:
    """All shapes, those in groups too."""
    tree = slide.find(f"{_P}cSld/{_P}spTree")
    waiting = [] if tree is None else tree[::-1]
    for _ in range(_MOST_SHAPES):
        if not waiting:
            return
        shape = waiting.pop()
        if shape.tag in _GROUPS:
            waiting += shape[::-1]
        else:
            yield shape


def _place_of(shape: Element, attribute: str, usual: str) -> str:
    """What a shape that stands in a place of its layout says of that; empty for another."""
    place = next(shape.iterfind(f"*/{_P}nvPr/{_P}ph"), None)
    return "" if place is None else place.get(attribute) or usual


def _paragraphs(shape: Element) -> Iterator[Element]:
    return shape.iterfind(f"{_P}txBody/{_A}p")


def _cell(cell: Element) -> str:
    return "\n".join(map(_text, cell.iterfind(f"{_A}txBody/{_A}p")))


def _text(element: Element) -> str:
    """What is written in a paragraph or a run."""
    return "".join(
        " " if inner.tag == _BREAK else inner.text or ""
        for inner in element.iter()
        if inner.tag in _WRITTEN
    )


def _chart(space: Element, blocks: Blocks) -> None:
    """Its title, and its series as columns of a table; as the file keeps them beside the workbook
    that they came from."""
    for title in space.iter(f"{_CHART}title"):
        blocks.paragraph(_text(title))
    series = list(islice(space.iter(f"{_CHART}ser"), _MOST_SERIES))
    names = [" ".join(_values(one, "tx")) for one in series]
    labels = max((_values(one, "cat", "xVal") for one in series), key=len, default=[])
    columns = [
        [name, *_values(one, "val", "yVal")] for name, one in zip(names, series, strict=True)
    ]
    blocks.long_table(zip_longest(["", *labels], *columns, fillvalue=""))


def _values(series: Element, *names: str) -> list[str]:
    found = (series.find(_CHART + name) for name in names)
    part = next((one for one in found if one is not None), None)
    inner = [] if part is None else part.iter(f"{_CHART}v")
    return [one.text or "" for one in islice(inner, MOST_ROWS)]


def _diagram(data: Element, blocks: Blocks) -> None:
    """The points of SmartArt."""
    for paragraph in islice(data.iter(f"{_A}p"), MOST_ROWS):
        blocks.item(_text(paragraph))


_DRAWN: dict[str, Callable[[Element, Blocks], None]] = {"chart": _chart, "diagramData": _diagram}
"""What a slide holds beside its shapes, by the last word of its relation."""
