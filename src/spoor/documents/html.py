"""The main content of HTML.

Resiliparse says which parts of a page are content; the parts themselves, with their tables, lists,
code and links, are read from lexbor's tree. One private character marks each part in the source
that Resiliparse reads, and those that come out again are content. So are parts between them that
stand beside them and are more than links: it leaves out what a class or an id calls `related` or
`sidebar`, whatever is in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser

from spoor.documents.blocks import Blocks, escaped, one_line
from spoor.documents.declared import language_tag
from spoor.documents.document import Document, Limits
from spoor.documents.html_bounds import readable
from spoor.documents.html_facts import Facts
from spoor.documents.kinds import as_html
from spoor.web.encoding import decode
from spoor.web.page import MAX_SOURCE, parse
from spoor.web.tree_walk import MAX_DEPTH
from spoor.web.urls import Joiner
from spoor.web.xhtml import with_end_tags

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_MARK = 0xF0000
_MOST_PARTS = 32_000
"""Of a page; indexes of 4 MB have 20,000."""
_MOST_MARKS = 60_000
"""Texts that are marked; a page with more is taken as it is."""

_DEEPER = "<body><div><div><div>"
"""Resiliparse takes each list near the body for a menu of the site, and so all of a plain page."""
_BESIDE = 3
"""Parts that share one of so many containers, the innermost, stand beside one another."""
_SAYS = 4
"""Words of a part that says something."""
_FEW = 150
"""Where fewer characters are called content, everything outside navigation is."""

_SKIPPED = frozenset(
    """script style noscript template svg math object iframe head select button textarea input
    audio video canvas""".split()
)
_PERMALINKS = frozenset("¶ # § 🔗 ⚓ ∞".split())
"""Words of links of a heading to itself."""
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
_ASIDE = frozenset(("nav", "footer", "aside"))
_NAVIGATION = frozenset(("nav",))
_BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog dir div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr legend li main menu nav ol p pre
    section summary table tbody td tfoot th thead tr ul""".split()
)
_MARKUP = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "kbd": "`", "samp": "`"}
_MARKUP |= {"tt": "`", "a": "", "s": "~~", "del": "~~"}
_OF_LAYOUT = frozenset("table h1 h2 h3 h4 h5 h6 pre form ul ol blockquote".split())
"""What no table of data has in it."""
_CODE = frozenset(tag for tag, mark in _MARKUP.items() if mark == "`")
_SPACE = re.compile(r"\s+")
_ADDRESSES, _ADDRESSES_PER_BYTE = 1 << 18, 4
"""Characters of the addresses in the Markdown of a page, and more for each byte of it: by a long
`base` its short links would be a hundred times the page. Links beyond are their words alone."""
_LANGUAGE = re.compile(r"(?:lang(?:uage)?|brush|highlight(?:-source)?)[-:]\s*([\w+#.]+)")


@dataclass(slots=True)
class _Part:
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
    """Characters of the text that are in links."""
    boxes: tuple[int, ...] = ()
    """The innermost containers that it stands in, by their addresses."""


@dataclass(slots=True)
class _List:
    ordered: bool
    number: int = 0


@dataclass(slots=True)
class _Reader:
    """What the walk over the tree collects."""

    base: str
    own: str
    """The page's own address: what leads there are words, since a link has no fragment."""
    joiner: Joiner
    beside: frozenset[str]
    """Elements that are no main content."""
    parts: list[_Part] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    markup: list[tuple[str, int, str]] = field(default_factory=list)
    """Open elements with markup: tag, where their content begins in `written`, target."""
    size: int = 0
    """Characters of the page, once they are asked for."""
    wide: int = 0
    """Elements that are said to be navigation and hold half of it."""
    code_link: tuple[str, str] = "", ""
    """The words and the target of the last link within code."""
    lists: list[_List] = field(default_factory=list)
    item: bool = False
    """The next part is the first of a list's item."""
    heading: int = 0
    quotes: int = 0
    asides: int = 0
    boxes: list[tuple[int, int]] = field(default_factory=list)
    """Open containers: how deep their content is, and their address."""
    linked: int = 0
    """Characters of the open part that are in links."""
    mark: int = -1
    marks: int = 0
    room: int = 0
    """Characters that addresses of links may yet take."""

    def add(self, part: _Part) -> None:
        """Take a part that ends here."""
        part.aside = self.asides > 0
        part.boxes = tuple(box for _, box in self.boxes[-_BESIDE:])
        self.parts.append(part)


def read_html(
    content_type: str, url: str, body: bytes, limits: Limits, *, whole: bool = False
) -> Document:
    """The document that a page holds; never raises for what it contains. `whole`: all of it is main
    content, navigation apart."""
    joiner, content_type = Joiner(), as_html(body, content_type)
    source = decode(body, content_type)[0][:MAX_SOURCE]
    most = readable(body, source)
    cut = most < len(source)
    if cut:
        source = source[:most]
        body = source.encode("utf-8", "replace")
        content_type = f"{content_type.partition(';')[0]}; charset=utf-8"
    page = parse(body, url, content_type=content_type, joiner=joiner, max_links=limits.links)
    tree = _tree(source)
    base = tree.css_first("base[href]")
    reader = _Reader(url, joiner.join(url, url) or url, joiner, _NAVIGATION if whole else _ASIDE)
    reader.room = _ADDRESSES + _ADDRESSES_PER_BYTE * len(body)
    if base is not None:
        reader.base = joiner.join(base.attributes.get("href") or "", url) or url
    facts = Facts(tree)
    title = page.title or facts.first("og:title", "twitter:title", "dc.title")
    language = language_tag(page.language) or facts.language()
    date, author, licence = facts.date(), facts.author(), facts.licence(reader.joiner, reader.base)
    description = page.description or facts.first("og:description")
    blocks = Blocks(limits.characters)
    if tree.body is not None:
        cut |= not _read(tree.body, reader)
        within = "" if whole or reader.marks >= _MOST_MARKS else tree.body.inner_html or ""
        del base, facts, tree  # it takes as much memory as that of Resiliparse
        for part in _content(within, reader, limits.comments) if within else _outside(reader):
            _add(part, blocks)
    notes = []
    if cut or blocks.cut or "truncated" in page.flags:
        notes.append("the text or the links are cut")
    if "too-deep" in page.flags:
        notes.append("elements nested too deep are left out")
    return Document(
        url,
        "html",
        "application/xhtml+xml" if "xhtml" in content_type else "text/html",
        title,
        language,
        date,
        author,
        description,
        tuple(blocks.blocks),
        tuple(page.links),
        tuple(notes),
        licence,
    )


def _tree(source: str) -> LexborHTMLParser:
    tree = LexborHTMLParser(with_end_tags(source))
    for anchor in tree.css("a:not([href])"):
        # No link; and one that XHTML ends at once would hold all that follows, in HTML.
        anchor.unwrap()
    return tree


def _content(within: str, reader: _Reader, comments: bool) -> Iterator[_Part]:
    """The parts that are main content, of a body with marks."""
    text = extract_plain_text(
        f"{_DEEPER}{within}", main_content=True, preserve_formatting=False, comments=comments
    )
    kept = {ord(character) - _MARK for character in text if character >= chr(_MARK)}
    if sum(len(part.text) for part in reader.parts if part.mark in kept) >= _FEW:
        return iter(_with_gaps(reader.parts, kept))
    return _outside(reader)


def _with_gaps(parts: Sequence[_Part], kept: Set[int]) -> list[_Part]:
    """The parts with these marks, and those between them that belong to them. What follows the last
    is left out, as comments are."""
    main = [at for at, part in enumerate(parts) if part.mark in kept]
    boxes = {box for at in main for box in parts[at].boxes}
    within = parts[main[0] : main[-1] + 1]
    return [part for part in within if part.mark in kept or _belongs(part, boxes)]


def _belongs(part: _Part, boxes: Set[int]) -> bool:
    """Whether a part stands beside content, and says something."""
    if part.aside or boxes.isdisjoint(part.boxes):
        return False
    if part.kind in ("code", "table", "heading"):
        return True
    return len(part.text.split()) >= _SAYS and 2 * part.linked < len(part.text.strip())


def _outside(reader: _Reader) -> Iterator[_Part]:
    return (part for part in reader.parts if not part.aside)


def _add(part: _Part, blocks: Blocks) -> None:
    if part.kind == "heading":
        blocks.heading(part.level, part.text, part.markdown)
    elif part.kind == "item":
        blocks.item(part.text, part.markdown, part.level, part.number)
    elif part.kind == "code":
        blocks.code(part.text, part.markdown)
    elif part.kind == "table":
        blocks.table(part.rows)
    else:
        blocks.paragraph(part.text, part.markdown, part.kind)


# ---------------------------------------------------------------- the walk


def _read(body: LexborNode, reader: _Reader) -> bool:
    """Depth first, without recursion; what is nested deeper than browsers show is left out. Returns
    whether it came to the end."""
    chain: list[LexborNode] = [body]
    node = body.child
    while len(reader.parts) < _MOST_PARTS:
        if node is None:
            if len(chain) == 1:
                break
            node = chain.pop()
            _leave(node.tag or "", reader)
            if reader.boxes and reader.boxes[-1][0] > len(chain):
                reader.boxes.pop()
            node = node.next
            continue
        tag = node.tag or ""
        if tag == "-text":
            _on_text(node, reader)
        elif not tag or not tag[0].isalpha() or tag in _SKIPPED or len(chain) >= MAX_DEPTH:
            pass
        elif _leads_away(node, tag, body, reader):
            if tag in _BLOCKS:
                _flush(reader)
        else:
            if _enter(node, tag, reader) and node.child is not None:
                chain.append(node)
                if tag in _CONTAINERS:
                    reader.boxes.append((len(chain), node.mem_id))
                node = node.child
                continue
            _leave(tag, reader)
        node = node.next
    _flush(reader)
    return len(reader.parts) < _MOST_PARTS


def _leads_away(node: LexborNode, tag: str, body: LexborNode, reader: _Reader) -> bool:
    """Whether an element is no text of the page: a link of a heading to itself, or what is said to
    be navigation and holds less than half of the page."""
    attributes = node.attributes
    if not attributes or tag in _WHOLE:
        return False
    if tag == "a" and (attributes.get("href") or "").startswith("#"):
        return _is_permalink(node)
    named = (attributes.get("class") or "").split()
    is_said = attributes.get("role") == "navigation" or not _WAYS.isdisjoint(named)
    if not is_said or reader.wide >= _MOST_WIDE:
        return False
    reader.size = reader.size or len(body.text(deep=True))
    if 2 * len(node.text(deep=True)) < reader.size:
        return True
    reader.wide += 1
    return False


def _is_permalink(node: LexborNode) -> bool:
    """Whether a link has one sign of `_PERMALINKS` alone. Links may stand in links, so of each a
    few elements are looked at."""
    inside = list(islice(node.traverse(include_text=True), _FEW_NODES + 1))
    if len(inside) > _FEW_NODES:
        return False
    words = "".join(inner.text_content or "" for inner in inside if inner.tag == "-text")
    return words.strip() in _PERMALINKS


def _enter(node: LexborNode, tag: str, reader: _Reader) -> bool:
    """Whether its children are to be read."""
    if tag in _BLOCKS:
        _flush(reader)
    if tag in _MARKUP:
        if len(reader.markup) < 8:
            target = ""
            if tag == "a":
                target = reader.joiner.join(node.attributes.get("href") or "", reader.base) or ""
                reader.room -= len(target)
                if reader.room < 0 or target == reader.own:
                    target = ""
            if tag in _CODE:
                reader.code_link = "", ""
            reader.markup.append((tag, len(reader.written), target))
        return True
    if tag == "br":
        reader.words.append("\n")
        reader.written.append("\n")
    elif tag == "pre":
        _on_code(node, node.text(deep=True), reader)
        return False
    elif tag == "div" and _is_listing(node):
        _on_code(node, _lines(node), reader)
        return False
    elif tag == "table" and (rows := _rows(node)):
        _on_table(node, rows, reader)
        return False
    elif tag in ("ul", "ol", "menu", "dir"):
        start = str(node.attributes.get("start") or "1")
        first = int(start) if start.isdecimal() and len(start) < 9 else 1
        reader.lists.append(_List(tag == "ol", first - 1))
    elif tag == "li" and reader.lists:
        reader.lists[-1].number += 1
        reader.item = True
    elif tag == "blockquote":
        reader.quotes += 1
    elif tag in reader.beside:
        reader.asides += 1
    elif tag[0] == "h" and tag[1:] in ("1", "2", "3", "4", "5", "6"):
        reader.heading = int(tag[1])
    return True


def _leave(tag: str, reader: _Reader) -> None:
    if tag in _MARKUP:
        if reader.markup and reader.markup[-1][0] == tag:
            _, begin, target = reader.markup.pop()
            content = "".join(reader.written[begin:])
            if any(outer in _CODE for outer, _, _ in reader.markup):
                # Within code all markup is text: it stays words, and one link that is all of the
                # code goes around it.
                if tag == "a":
                    reader.code_link = content.strip(), target
                return
            marked = _marked(tag, content, target)
            if tag in _CODE and reader.code_link[0] == content.strip():
                marked = _marked("a", marked, reader.code_link[1])
            if marked.startswith("`") and begin and reader.written[begin - 1].endswith("`"):
                # The fences of two pieces of code would be one, and what is in them no code.
                marked = f" {marked}"
            reader.written[begin:] = [marked]
        return
    if tag not in _BLOCKS:
        return
    _flush(reader)
    if tag in ("ul", "ol", "menu", "dir") and reader.lists:
        reader.lists.pop()
        reader.item = False
    elif tag == "blockquote":
        reader.quotes -= 1
    elif tag in reader.beside:
        reader.asides -= 1
    elif tag[0] == "h" and tag[1:].isdecimal():
        reader.heading = 0


def _marked(tag: str, content: str, target: str) -> str:
    """Inline Markdown; blanks at the edges stay outside."""
    inner = content.strip()
    if not inner or "\n" in inner:
        return content
    if tag == "a":
        marked = f"[{inner}](<{target}>)" if target else inner
        marked = marked if set(target) & set("()<> ") else marked.replace("](<", "](", 1)[:-2] + ")"
        marked = marked if target else inner
    elif _MARKUP[tag] == "`":
        plain = re.sub(r"\\([\\`*_\[\]<])", r"\1", inner)
        tick = "`" * (1 + max(map(len, re.findall("`+", plain)), default=0))
        blank = " " if "`" in plain else ""
        marked = f"{tick}{blank}{plain}{blank}{tick}"
    else:
        marked = f"{_MARKUP[tag]}{inner}{_MARKUP[tag]}"
    begin = content.find(inner)
    return content[:begin] + marked + content[begin + len(inner) :]


def _on_text(node: LexborNode, reader: _Reader) -> None:
    text = _SPACE.sub(" ", node.text_content or "")
    if not text:
        return
    if text != " " and reader.mark < 0:
        reader.mark = _mark(node, reader)
    if any(tag == "a" for tag, _, _ in reader.markup):
        reader.linked += len(text)
    reader.words.append(text)
    reader.written.append(escaped(text))


def _mark(node: LexborNode, reader: _Reader) -> int:
    if reader.marks >= _MOST_MARKS:
        return -1
    mark = reader.marks
    reader.marks += 1
    node.insert_before(chr(_MARK + mark))
    return mark


def _flush(reader: _Reader) -> None:
    """End the part that is open."""
    if not reader.words:
        return
    text, written = "".join(reader.words), "".join(reader.written)
    reader.words.clear()
    reader.written.clear()
    reader.markup = [(tag, 0, target) for tag, _, target in reader.markup]
    mark, reader.mark = reader.mark, -1
    linked, reader.linked = reader.linked, 0
    if not text.strip():
        return
    part = _Part("paragraph", text, written, mark=mark, linked=linked)
    if reader.heading:
        part.kind, part.level = "heading", reader.heading
    elif reader.item:
        part.kind, part.level = "item", len(reader.lists) - 1
        part.number = reader.lists[-1].number if reader.lists[-1].ordered else 0
        reader.item = False
    elif reader.quotes > 0:
        part.kind = "quote"
    reader.add(part)


def _is_listing(node: LexborNode) -> bool:
    """Whether it is a listing of Doxygen, which makes an element of each line."""
    first = node.child
    while first is not None and first.tag == "-text":
        first = first.next
    return first is not None and "fragment" in _classes(node) and "line" in _classes(first)


def _lines(listing: LexborNode) -> str:
    """The lines of a listing, without their numbers. What folds holds lines, too; a line in a line
    is text of it."""
    lines: list[str] = []
    above: list[LexborNode] = []
    node = listing.child
    while node is not None or above:
        if node is None:
            node = above.pop().next
            continue
        if node.tag == "div" and "line" in _classes(node):
            lines.append(_line(node))
        elif node.child is not None and len(above) < MAX_DEPTH:
            above.append(node)
            node = node.child
            continue
        node = node.next
    return "\n".join(lines)


def _line(line: LexborNode) -> str:
    written = line.text(deep=True).replace("\xa0", " ")
    number = line.css_first("span.lineno")
    return written if number is None else written.replace(number.text(), "", 1)


def _classes(node: LexborNode) -> list[str]:
    return (node.attributes.get("class") or "").split()


def _on_code(node: LexborNode, text: str, reader: _Reader) -> None:
    if not text.strip():
        return
    classes = [node.attributes.get("class") or "", node.attributes.get("lang") or ""]
    inner = node.css_first("code")
    if inner is not None:
        classes.append(inner.attributes.get("class") or "")
    language = _LANGUAGE.search(" ".join(classes))
    first = _first_text(node)
    mark = -1 if first is None else _mark(first, reader)
    reader.add(_Part("code", text, language[1] if language else "", mark=mark))


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


def _on_table(table: LexborNode, rows: list[list[LexborNode]], reader: _Reader) -> None:
    caption = table.css_first("caption")
    if caption is not None and (words := one_line(caption.text(deep=True))):
        first = _first_text(caption)
        mark = -1 if first is None else _mark(first, reader)
        reader.add(_Part("paragraph", words, mark=mark))
    cells = [[cell.text(deep=True, separator=" ") for cell in row] for row in rows]
    part = _Part("table", "\n".join("\t".join(row) for row in cells), rows=cells)
    # The head is often taken for something else than the body.
    middle = [cell for row in rows[1:] or rows for cell in row]
    for cell in sorted(middle, key=lambda cell: -len(cell.text(deep=True)))[:1]:
        first = _first_text(cell)
        part.mark = -1 if first is None else _mark(first, reader)
    reader.add(part)


def _first_text(node: LexborNode) -> LexborNode | None:
    for inner in node.traverse(include_text=True):
        if inner.tag == "-text" and (inner.text_content or "").strip():
            return inner
    return None
