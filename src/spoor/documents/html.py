"""The main content of HTML.

Resiliparse says which parts of a page are content; the parts themselves, with their tables, lists,
code and links, are read from lexbor's tree. One private character marks each part in the source
that Resiliparse reads, and those that come out again are content. So are parts between them that
stand beside them and are more than links, and those of a section of the title: it leaves out what a
class or an id calls `related` or `sidebar`, whatever is in it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence, Set

from resiliparse.extract.html2text import extract_plain_text
from selectolax.lexbor import LexborHTMLParser

from spoor.documents.articles import article_of, is_installed
from spoor.documents.blocks import Blocks
from spoor.documents.declared import language_tag
from spoor.documents.document import PARTS, Document, Limits
from spoor.documents.html_bounds import readable
from spoor.documents.html_facts import Facts
from spoor.documents.html_sections import unname_sections
from spoor.documents.html_walk import (
    ASIDE,
    BESIDE,
    MARK,
    MOST_MARKS,
    NAVIGATION,
    Part,
    Reader,
    read_parts,
)
from spoor.documents.kinds import as_html
from spoor.types import Page
from spoor.web.dates import day_of_url
from spoor.web.encoding import decode
from spoor.web.page import MAX_SOURCE, parse
from spoor.web.tree_walk import MOST_LANGUAGE
from spoor.web.urls import Joiner
from spoor.web.xhtml import with_end_tags

_OF_PAGE = frozenset(("title", "links"))
"""What is read from the page as a crawl sees it, whose links take a fifth of the time."""
_OF_FACTS = frozenset("title language date author licence".split())

_MARKS = re.compile(f"[{chr(MARK)}-\U0010ffff]")
"""What the walk sets; those that a page has of itself are left out, such as icons of a font."""
_REFERENCES = re.compile(
    r"&#(?:[xX]0*10[\da-fA-F]{4}|0*(?:104[89]\d{3}|10[5-9]\d{4}|11[01]\d{4}))(?![\da-fA-F]);?"
)
"""The same by their numbers."""
_DEEPER = "<body><div><div><div>"
"""Resiliparse takes each list near the body for a menu of the site, and so all of a plain page."""
_SAYS = 4
"""Words of a part that says something."""
_ALWAYS = frozenset(("code", "table", "heading"))
"""Parts that are content however short, and whatever is a link in them."""
_FEW = 150
"""Where fewer characters are called content, everything outside navigation is."""
_ADDRESSES, _ADDRESSES_PER_BYTE = 1 << 18, 4
"""Characters of the addresses in the Markdown of a page, and more for each byte of it: by a long
`base` its short links would be a hundred times the page. Links beyond are their words alone."""


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
    source = _without_marks(source)
    only = PARTS if limits.only is None else limits.only
    page = None
    if limits.only is None or not only.isdisjoint(_OF_PAGE):
        page = parse(body, url, content_type=content_type, joiner=joiner, max_links=limits.links)
    tree = _tree(source)
    base = tree.css_first("base[href]")
    reader = Reader(url, joiner.join(url, url) or url, joiner, NAVIGATION if whole else ASIDE)
    reader.room = _ADDRESSES + _ADDRESSES_PER_BYTE * len(body)
    if base is not None:
        reader.base = joiner.join(base.attributes.get("href") or "", url) or url
    facts = Facts(tree)
    told = _told(facts, tree, page, reader) if not only.isdisjoint(_OF_FACTS) else {}
    reader.bare = "markdown" not in only
    blocks = Blocks(limits.characters, bare=reader.bare)
    if tree.body is not None:
        reader.titled = frozenset() if whole else unname_sections(tree.body)
        cut |= not read_parts(tree.body, reader)
        within = "" if whole or reader.marks >= MOST_MARKS else tree.body.inner_html or ""
        is_article = bool(within) and facts.says_article()
        del base, facts, tree  # it takes as much memory as that of Resiliparse
        if not within:
            parts = _outside(reader)
        elif is_article:
            parts = _article(within, reader, limits)
        else:
            parts = _content(within, reader, limits.comments)
        for part in parts:
            _add(part, blocks)
    notes = []
    flags = frozenset[str]() if page is None else page.flags
    if cut or blocks.cut or "truncated" in flags:
        notes.append("the text or the links are cut")
    if "too-deep" in flags:
        notes.append("elements nested too deep are left out")
    return Document(
        url,
        "html",
        "application/xhtml+xml" if "xhtml" in content_type else "text/html",
        blocks=tuple(blocks.blocks),
        # An anchor of each is made as it is put into a tuple.
        links=() if page is None else page.links if limits.only else tuple(page.links),
        notes=tuple(notes),
        **told,
    )


def _told(
    facts: Facts, tree: LexborHTMLParser, page: Page | None, reader: Reader
) -> dict[str, str]:
    """What a page says of itself, by the names of a Document's fields."""
    root = tree.root
    if page is not None:
        language = page.language
    else:  # as the walk for a Page reads it
        said = None if root is None else root.attributes.get("lang")
        language = (said or "").strip()[:MOST_LANGUAGE]
    return {
        "title": (page.title if page else "")
        or facts.first("og:title", "twitter:title", "dc.title"),
        "language": language_tag(language) or facts.language(),
        "date": facts.date() or day_of_url(reader.own),
        "author": facts.author(),
        "description": (page.description if page else "") or facts.first("og:description"),
        "licence": facts.licence(reader.joiner, reader.base),
    }


def _without_marks(source: str) -> str:
    if not source.isascii():
        source = _MARKS.sub("", source)
    return _REFERENCES.sub("", source) if "&#" in source else source


def _tree(source: str) -> LexborHTMLParser:
    tree = LexborHTMLParser(with_end_tags(source))
    for anchor in tree.css("a:not([href])"):
        # No link; and one that XHTML ends at once would hold all that follows, in HTML.
        anchor.unwrap()
    return tree


def _article(within: str, reader: Reader, limits: Limits) -> Iterator[Part]:
    """The parts that are main content of a page that says that it is an article: without comments,
    and without what else stands beside it."""
    if limits.articles and is_installed():
        marks = [ord(mark) - MARK for mark in _MARKS.findall(within)]
        found = article_of(_MARKS.split(within))
        if found is not None:
            begins = [-1, *(part.mark for part in reader.parts if part.mark >= 0)]
            kept = {begins[bisect_right(begins, marks[at]) - 1] for at in found if at < len(marks)}
            kept.discard(-1)
            if _is_enough(reader, kept):
                return (part for part in reader.parts if part.mark in kept or _is_of_title(part))
    kept = _kept(within, comments=False)
    if not _is_enough(reader, kept):
        return _outside(reader)
    return (
        part
        for part in reader.parts
        if (part.mark in kept and not part.aside) or _is_of_title(part)
    )


def _content(within: str, reader: Reader, comments: bool) -> Iterator[Part]:
    """The parts that are main content, of a body with marks."""
    kept = _kept(within, comments=comments)
    return iter(_with_gaps(reader.parts, kept)) if _is_enough(reader, kept) else _outside(reader)


def _kept(within: str, *, comments: bool) -> set[int]:
    """The marks of what Resiliparse takes for main content."""
    text = extract_plain_text(
        f"{_DEEPER}{within}", main_content=True, preserve_formatting=False, comments=comments
    )
    return {ord(mark[0]) - MARK for mark in _MARKS.finditer(text)}


def _is_enough(reader: Reader, kept: Set[int]) -> bool:
    return sum(len(part.text) for part in reader.parts if part.mark in kept) >= _FEW


def _with_gaps(parts: Sequence[Part], kept: Set[int]) -> list[Part]:
    """The parts with these marks, and those between them that belong to them. What follows the last
    is left out, as comments are; but no section of the title."""
    main = [at for at, part in enumerate(parts) if part.mark in kept]
    boxes = {box for at in main for box in parts[at].boxes[-BESIDE:]}
    sections = set[int]()
    """Containers between them that begin with a heading: what it says is content, and the rest."""
    content = []
    for at, part in enumerate(parts):
        if part.mark in kept or _is_of_title(part):
            content.append(part)
        elif main[0] < at < main[-1] and _belongs(part, boxes, sections):
            content.append(part)
            if part.kind == "heading":
                sections.update(part.boxes[-1:])
    return content


def _is_of_title(part: Part) -> bool:
    """Whether a part stands in a section of the title, and is no entry of a menu."""
    return part.titled and not part.aside and (part.kind != "item" or _is_more_than_links(part))


def _belongs(part: Part, boxes: Set[int], sections: Set[int]) -> bool:
    """Whether a part stands beside content or in one of the sections, and says something."""
    is_beside = not (boxes.isdisjoint(part.boxes[-BESIDE:]) and sections.isdisjoint(part.boxes))
    if part.aside or not is_beside:
        return False
    coded = 2 * part.coded >= len(part.text.strip())
    says = coded or part.kind in _ALWAYS or len(part.text.split()) >= _SAYS
    return says and _is_more_than_links(part)


def _is_more_than_links(part: Part) -> bool:
    return part.kind in _ALWAYS or 2 * part.linked < len(part.text.strip())


def _outside(reader: Reader) -> Iterator[Part]:
    return (part for part in reader.parts if not part.aside)


def _add(part: Part, blocks: Blocks) -> None:
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
