"""The parts of a page (headings, paragraphs, items, code, tables, quotes), each with its Markdown:
read from lexbor's tree in one walk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from selectolax.lexbor import LexborHTMLParser

from spoor.documents.blocks import escaped, link_target, one_line
from spoor.documents.html_code import is_listing, lines_of, text_of_code
from spoor.web.tag_paths import HEADINGS
from spoor.web.tree_walk import MAX_DEPTH
from spoor.web.urls import Joiner

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

MARK = 0x100000
_MOST_PARTS = 32_000
"""Of a page; indexes of 4 MB have 20,000."""
MOST_MARKS = 60_000
"""Texts that are marked; a page with more is taken as it is."""

BESIDE = 3
"""Parts that share one of so many containers, the innermost, stand beside one another."""
_BOXES = 2 * BESIDE
"""Containers that are kept of a part."""
_SKIPPED = frozenset(
    """script style noscript template svg math object iframe head select button textarea input
    audio video canvas""".split()
)
_PERMALINKS = frozenset("¶ # § 🔗 ⚓ ∞ \u200b".split(" "))
"""Words of links of a heading to itself."""
_ICONS = re.compile(r"\s*[\ue000-\uf8ff][\ue000-\uf8ff\s]*")
"""Signs of a font of pictures, as Sphinx's theme for Read the Docs has in such links."""
_FEW_NODES = 20
"""Elements and texts in such a link at most."""
_WAYS = frozenset(
    """breadcrumb breadcrumbs headerlink nav-panel navbar navfooter navheader navigation onthispage
    prev-next-area prev-next-footer prev-next-bottom skip-link skiplink sphinxsidebar""".split()
)
"""Classes by which generators of documentation name what leads to other pages."""
_WHOLE = frozenset(("body", "main", "article"))
_CONTAINERS = frozenset(("article", "center", "dd", "div", "form", "main", "section", "td"))
_MOST_WIDE = 8
"""Elements that are said to be navigation and hold half of the page: after these nothing is."""
_PARTS = frozenset(("article", "aside", "main", "section"))
ASIDE = frozenset(("nav", "footer", "aside"))
NAVIGATION = frozenset(("nav",))
_MOST_SKIPS = 3
"""Links at the begin of a page that may lead past its menus."""
_NAME = re.compile(r"[\w-]{1,100}")
_BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog dir div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol p pre
    section summary table tbody td tfoot th thead tr ul""".split()
)
_MARKUP = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "kbd": "`", "samp": "`"}
_MARKUP |= {"tt": "`", "a": "", "s": "~~", "del": "~~"}
_OF_LAYOUT = frozenset("table h1 h2 h3 h4 h5 h6 pre form ul ol blockquote".split())
"""What no table of data has in it."""
_MOST_MARKUP = 8
"""Open elements with markup."""
_CODE = frozenset(tag for tag, mark in _MARKUP.items() if mark == "`")
_ESCAPED = re.compile(r"\\([\\`*_\[\]<])")
_TICKS = re.compile("`+")
_LISTS = frozenset(("ul", "ol", "menu", "dir"))
_LANGUAGE = re.compile(r"(?:lang(?:uage)?|brush|highlight(?:-source)?)[-:]\s*([\w+#.]+)")


@dataclass(slots=True)
class Part:
    """What becomes a block, if it is content."""

    kind: str
    text: str
    markdown: str = ""
    level: int = 0
    number: int = 0
    rows: list[list[str]] = field(default_factory=list)
    mark: int = -1
    aside: bool = False
    linked: int = 0
    """Characters of the text that are in links, but names of code, which are in links wherever a
    page has their description."""
    coded: int = 0
    """Characters of the text that are code."""
    boxes: tuple[int, ...] = ()
    """The innermost containers that it stands in, by their addresses, the innermost last."""
    titled: bool = False
    """It stands in a section of a title (`html_sections.py`)."""


@dataclass(slots=True)
class _List:
    ordered: bool
    number: int = 0


@dataclass(slots=True)
class Reader:
    """What the walk over the tree collects."""

    base: str
    own: str
    """The page's own address: what leads there are words, since a link has no fragment."""
    joiner: Joiner
    beside: frozenset[str]
    """Elements that are no main content."""
    parts: list[Part] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    markup: list[tuple[str, int, str]] = field(default_factory=list)
    """Open elements with markup: tag, where their content begins in `written`, target."""
    links: int = 0
    codes: int = 0
    """How many of these are links, and code."""
    size: int = 0
    """Characters of the page, once they are asked for."""
    wide: int = 0
    """Elements that are said to be navigation and hold half of it."""
    skips: int = 0
    """Links at its begin that were looked at."""
    code_link: tuple[str, str] = "", ""
    """The words and the target of the last link within code."""
    lists: list[_List] = field(default_factory=list)
    item: bool = False
    """The next part is the first of a list's item."""
    heading: int = 0
    quotes: int = 0
    asides: int = 0
    boxes: list[int] = field(default_factory=list)
    """Open containers, by their addresses."""
    titled: frozenset[int] = frozenset()
    """Addresses of the sections of a title."""
    linked: int = 0
    coded: int = 0
    """Characters of the open part, as in `Part`."""
    mark: int = -1
    marks: int = 0
    room: int = 0
    """Characters that addresses of links may yet take."""
    bare: bool = False
    """No Markdown is wanted."""

    def add(self, part: Part) -> None:
        """Take a part that ends here."""
        part.aside = self.asides > 0
        part.boxes = tuple(self.boxes[-_BOXES:])
        part.titled = self.is_titled()
        self.parts.append(part)

    def is_titled(self) -> bool:
        """Whether the walk is in a section of a title."""
        return bool(self.titled) and not self.titled.isdisjoint(self.boxes)

    def is_beside(self, tag: str) -> bool:
        """Whether such an element is no main content. In a section of a title an `aside` is: it
        holds a note of the document."""
        return tag in self.beside and not (tag == "aside" and self.is_titled())


class _Kind(NamedTuple):
    """What the walk does with elements of one tag."""

    tag: str
    skipped: bool = False
    block: bool = False
    markup: bool = False
    box: bool = False


_TEXT, _INLINE = _Kind("-text"), _Kind("")


def _kinds() -> dict[int, _Kind]:
    """By the number that lexbor gives a tag; all others are `_INLINE`."""
    paragraph = LexborHTMLParser("<p>text<!-- comment -->").css_first("p")
    assert paragraph is not None
    text, comment = paragraph.iter(include_text=True), paragraph.last_child
    kinds = {next(text).tag_id: _TEXT}
    assert comment is not None
    kinds[comment.tag_id] = _Kind("-comment", skipped=True)
    document = LexborHTMLParser("")
    for tag in sorted(_SKIPPED | _BLOCKS | _CONTAINERS | set(_MARKUP) | {"br"}):
        kinds[document.create_node(tag).tag_id] = _Kind(
            tag, tag in _SKIPPED, tag in _BLOCKS, tag in _MARKUP, tag in _CONTAINERS
        )
    return kinds


_KINDS = _kinds()


def read_parts(body: LexborNode, reader: Reader) -> bool:
    """Depth first, without recursion; what is nested deeper than browsers show is left out. Returns
    whether it came to the end."""
    # Elements are told by the numbers of their tags: a name is a new string each time.
    kind_of, parts = _KINDS.get, reader.parts
    chain: list[tuple[LexborNode, _Kind]] = [(body, kind_of(body.tag_id, _INLINE))]
    node = body.first_child
    while len(parts) < _MOST_PARTS:
        if node is None:
            if len(chain) == 1:
                break
            node, kind = chain.pop()
            if kind is not _INLINE:
                _leave(kind, reader)
                if kind.box:
                    reader.boxes.pop()
            node = node.next
            continue
        kind = kind_of(node.tag_id, _INLINE)
        if kind is _TEXT:
            if content := node.text_content:
                _on_text(node, content, reader)
        elif not kind.skipped and len(chain) < MAX_DEPTH:
            attributes = node.attributes
            may_lead = attributes or kind.tag == "header"
            if may_lead and _leads_away(node, kind.tag, attributes, body, reader):
                if kind.block and reader.words:
                    _flush(reader)
            else:
                enters = kind is _INLINE or _enter(node, kind, attributes, reader)
                if enters and (child := node.first_child) is not None:
                    chain.append((node, kind))
                    if kind.box:
                        reader.boxes.append(node.mem_id)
                    node = child
                    continue
                if kind is not _INLINE:
                    _leave(kind, reader)
        node = node.next
    _flush(reader)
    return len(parts) < _MOST_PARTS


def _leads_away(
    node: LexborNode,
    tag: str,
    attributes: Mapping[str, str | None],
    body: LexborNode,
    reader: Reader,
) -> bool:
    """Whether an element is no text of the page: a link of a heading to itself, or what is said to
    be navigation, or the header of the whole site, and holds less than half of the page."""
    if tag == "a" and (href := attributes.get("href") or "").startswith("#"):
        return _is_permalink(node) or _skips(href[1:], body, reader)
    named = attributes.get("class")
    is_said = named is not None and not _WAYS.isdisjoint(named.split())
    is_said = is_said or attributes.get("role") == "navigation"
    is_whole = "footer" not in reader.beside
    if not is_said and (tag != "header" or is_whole or not _is_of_site(node)):
        return False
    if tag in _WHOLE or reader.wide >= _MOST_WIDE:
        return False
    reader.size = reader.size or len(body.text(deep=True))
    if 2 * len(node.text(deep=True)) < reader.size:
        return True
    reader.wide += 1
    return False


def _is_of_site(header: LexborNode) -> bool:
    """Whether a header is that of the whole site: it has a menu and no title, and stands in no part
    of the page."""
    if header.css_first("nav") is None or header.css_first("h1") is not None:
        return False
    above, depth = header.parent, 0
    while above is not None and depth < MAX_DEPTH:
        if above.tag in _PARTS:
            return False
        above, depth = above.parent, depth + 1
    return True


def _skips(fragment: str, body: LexborNode, reader: Reader) -> bool:
    """Whether a link at the begin of a page leads to its main content: to what holds half of it, or
    to its title. A title may lead to the section that it begins."""
    past = reader.parts or reader.heading or reader.skips >= _MOST_SKIPS
    if past or "".join(reader.words).strip():
        return False
    reader.skips += 1
    if _NAME.fullmatch(fragment) is None or (to := body.css_first(f'[id="{fragment}"]')) is None:
        return False
    reader.size = reader.size or len(body.text(deep=True))
    return to.tag == "h1" or 2 * len(to.text(deep=True)) >= reader.size


def _is_permalink(node: LexborNode) -> bool:
    """Whether a link has one sign of `_PERMALINKS` alone, or pictures of a font. Links may stand in
    links, so of each a few elements are looked at."""
    inside = list(islice(node.traverse(include_text=True), _FEW_NODES + 1))
    if len(inside) > _FEW_NODES:
        return False
    words = "".join(inner.text_content or "" for inner in inside if inner.tag == "-text")
    return words.strip() in _PERMALINKS or _ICONS.fullmatch(words) is not None


def _enter(
    node: LexborNode, kind: _Kind, attributes: Mapping[str, str | None], reader: Reader
) -> bool:
    """Whether its children are to be read."""
    tag = kind.tag
    if kind.block and reader.words:
        _flush(reader)
    if kind.markup:
        if len(reader.markup) < _MOST_MARKUP:
            target = ""
            if tag == "a":
                reader.links += 1
                if reader.bare:
                    reader.markup.append((tag, 0, ""))
                    return True
                target = reader.joiner.join(attributes.get("href") or "", reader.base) or ""
                reader.room -= len(target)
                if reader.room < 0 or target == reader.own:
                    target = ""
            elif tag in _CODE:
                reader.codes += 1
                reader.code_link = "", ""
            reader.markup.append((tag, len(reader.written), target))
        return True
    if tag == "br":
        reader.words.append("\n")
        reader.written.append("\n")
    elif tag == "pre":
        _on_code(node, text_of_code(node), reader)
        return False
    elif tag == "div":
        if attributes and is_listing(node, attributes):
            _on_code(node, lines_of(node), reader)
            return False
    elif tag == "table":
        if rows := _rows(node):
            _on_table(node, rows, reader)
            return False
    elif tag in _LISTS:
        start = str(attributes.get("start") or "1")
        first = int(start) if start.isdecimal() and len(start) < 9 else 1
        reader.lists.append(_List(tag == "ol", first - 1))
    elif tag == "li":
        if reader.lists:
            reader.lists[-1].number += 1
            reader.item = True
    elif tag == "blockquote":
        reader.quotes += 1
    elif reader.is_beside(tag):
        reader.asides += 1
    elif tag in HEADINGS:
        reader.heading = HEADINGS[tag]
    return True


def _leave(kind: _Kind, reader: Reader) -> None:
    tag = kind.tag
    if kind.markup:
        if reader.markup and reader.markup[-1][0] == tag:
            _leave_markup(reader)
        return
    if not kind.block:
        return
    if reader.words:
        _flush(reader)
    if tag in _LISTS:
        if reader.lists:
            reader.lists.pop()
            reader.item = False
    elif tag == "blockquote":
        reader.quotes -= 1
    elif reader.is_beside(tag):
        reader.asides -= 1
    elif tag in HEADINGS:
        reader.heading = 0


def _leave_markup(reader: Reader) -> None:
    """Leave the innermost open element with markup."""
    tag, begin, target = reader.markup.pop()
    if tag == "a":
        reader.links -= 1
    elif tag in _CODE:
        reader.codes -= 1
    if reader.bare:
        return
    written = reader.written
    content = written[begin] if len(written) == begin + 1 else "".join(written[begin:])
    if reader.codes:
        # Within code all markup is text: it stays words, and one link that is all of the code
        # goes around it.
        if tag == "a":
            reader.code_link = content.strip(), target
        return
    marked = _marked(tag, content, target)
    if tag in _CODE and reader.code_link[0] == content.strip():
        marked = _marked("a", marked, reader.code_link[1])
    if marked.startswith("`") and begin and written[begin - 1].endswith("`"):
        # The fences of two pieces of code would be one, and what is in them no code.
        marked = f" {marked}"
    written[begin:] = [marked]


def _marked(tag: str, content: str, target: str) -> str:
    """Inline Markdown; blanks at the edges stay outside."""
    inner = content.strip()
    if not inner or "\n" in inner:
        return content
    if tag == "a":
        if not target:
            return content
        marked = f"[{inner}]{link_target(target)}"
    elif _MARKUP[tag] == "`":
        plain = _ESCAPED.sub(r"\1", inner) if "\\" in inner else inner
        within = "`" in plain
        tick = "`" * (1 + max(map(len, _TICKS.findall(plain)))) if within else "`"
        blank = " " if within else ""
        marked = f"{tick}{blank}{plain}{blank}{tick}"
    else:
        marked = f"{_MARKUP[tag]}{inner}{_MARKUP[tag]}"
    if len(inner) == len(content):
        return marked
    begin = content.find(inner)
    return content[:begin] + marked + content[begin + len(inner) :]


def _on_text(node: LexborNode, content: str, reader: Reader) -> None:
    """A text that is not empty, with single spaces."""
    text = " ".join(content.split())
    if not text:
        text = " "
    else:
        if content[0].isspace():
            text = f" {text}"
        if content[-1].isspace():
            text = f"{text} "
        if reader.mark < 0:
            reader.mark = _mark(node, reader)
    if reader.codes:
        reader.coded += len(text)
    elif reader.links:
        reader.linked += len(text)
    reader.words.append(text)
    if not reader.bare:
        reader.written.append(escaped(text))


def _mark(node: LexborNode, reader: Reader) -> int:
    if reader.marks >= MOST_MARKS:
        return -1
    mark = reader.marks
    reader.marks += 1
    node.insert_before(chr(MARK + mark))
    return mark


def _flush(reader: Reader) -> None:
    """End the part that is open."""
    if not reader.words:
        return
    text, written = "".join(reader.words), "".join(reader.written)
    reader.words.clear()
    reader.written.clear()
    if reader.markup:
        reader.markup = [(tag, 0, target) for tag, _, target in reader.markup]
    mark, reader.mark = reader.mark, -1
    linked, reader.linked = reader.linked, 0
    coded, reader.coded = reader.coded, 0
    if not text.strip():
        return
    part = Part("paragraph", text, written, mark=mark, linked=linked, coded=coded)
    if reader.heading:
        part.kind, part.level = "heading", reader.heading
    elif reader.item:
        part.kind, part.level = "item", len(reader.lists) - 1
        part.number = reader.lists[-1].number if reader.lists[-1].ordered else 0
        reader.item = False
    elif reader.quotes > 0:
        part.kind = "quote"
    reader.add(part)


def _on_code(node: LexborNode, text: str, reader: Reader) -> None:
    if not text.strip():
        return
    classes = [node.attributes.get("class") or "", node.attributes.get("lang") or ""]
    inner = node.css_first("code")
    if inner is not None:
        classes.append(inner.attributes.get("class") or "")
    language = _LANGUAGE.search(" ".join(classes))
    first = _first_text(node)
    mark = -1 if first is None else _mark(first, reader)
    reader.add(Part("code", text, language[1] if language else "", mark=mark))


def _rows(table: LexborNode) -> list[list[LexborNode]]:
    """The cells of a table of data; none for a table that lays out a page."""
    # No further than to the first of these: what is in it is gone through once more for itself.
    if any(inner.tag in _OF_LAYOUT for inner in islice(table.traverse(), 1, None)):
        return []
    rows = [[cell for cell in row.iter() if cell.tag in ("td", "th")] for row in table.css("tr")]
    if len(rows) < 2 or max(map(len, rows)) < 2:
        return []
    if table.css_first("th, caption") is None:
        sizes = [len(cell.text(deep=True)) for row in rows for cell in row]
        if sum(sizes) > 300 * len(sizes):
            return []
    return rows


def _on_table(table: LexborNode, rows: list[list[LexborNode]], reader: Reader) -> None:
    caption = table.css_first("caption")
    if caption is not None and (words := one_line(caption.text(deep=True))):
        first = _first_text(caption)
        mark = -1 if first is None else _mark(first, reader)
        for link in caption.css("a")[-1:]:
            if _is_permalink(link):
                words = words.removesuffix(one_line(link.text(deep=True))).rstrip()
        reader.add(Part("paragraph", words, mark=mark))
    cells = [[cell.text(deep=True, separator=" ") for cell in row] for row in rows]
    part = Part("table", "\n".join("\t".join(row) for row in cells), rows=cells)
    # The head is often taken for something else than the body.
    middle = [cell for row in rows[1:] or rows for cell in row]
    if middle:
        first = _first_text(max(middle, key=lambda cell: len(cell.text(deep=True))))
        part.mark = -1 if first is None else _mark(first, reader)
    reader.add(part)


def _first_text(node: LexborNode) -> LexborNode | None:
    for inner in node.traverse(include_text=True):
        if inner.tag == "-text" and (inner.text_content or "").strip():
            return inner
    return None
