"""A MediaWiki XML dump in (`*-pages-articles.xml`, .bz2 or .gz): articles with their links.

Reads one page at a time, so its memory does not grow with the dump. Only articles (namespace 0)
become pages; categories become labels, redirects redirects. Of the wikitext, the visible words,
headings and links count: links in the parameters of templates and in footnotes are links of the
page, but their words are no part of its text. Templates are not expanded. Wikitext is parsed by
mwparserfromhell, which the extra `mediawiki` installs.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.formats.source_file import CHUNK, FileSource, Job, moment
from spoor.formats.words_around import words_around
from spoor.isolate.helper import GivenUpError
from spoor.isolate.helper_pool import bounded
from spoor.learn.state import link_row, revive_link
from spoor.types import Anchor, Failed, Fetched, Link, Page, Recording, Redirected
from spoor.web.encoding import encoding_of_xml
from spoor.web.urls import canonical

INTERWIKI = re.compile(
    r"[a-z]{2,3}(-[a-z]+)*|simple|wikt|wiktionary|wikipedia|commons|species|meta"
)
"""Prefixes that lead to another wiki; which ones a wiki has is not in its dump."""

MARKUP = re.compile(r"'{2,5}|__[A-Z]+__")
MAIN_PAGE = "http://wiki.invalid/wiki/Main_Page"
FILES = frozenset(["file", "image", "media"])
CATEGORIES = frozenset(["category"])
SKIPPED_TAGS = frozenset(["gallery", "math", "chem", "score", "timeline", "templatestyles"])
MAX_DEPTH = 40
MAX_PAGE = 1 << 24
"""Characters of XML from one page to the next; the longest article of Wikipedia has an eighth."""

MAX_ELEMENTS = 10_000
"""From one page to the next."""

DOCUMENT_TYPE = "<!DOCTYPE"
"""A document type may declare entities that expand without end."""


@dataclass(frozen=True, slots=True)
class Site:
    """What the head of a dump says of its wiki."""

    base: str = MAIN_PAGE
    """URL of the main page."""
    language: str = ""
    first_letter: bool = True
    """Whether titles begin with a capital even where the link does not."""
    files: frozenset[str] = FILES
    """Names of the namespaces of pictures, in lower case."""
    categories: frozenset[str] = CATEGORIES
    others: frozenset[str] = frozenset()

    def url(self, title: str) -> str:
        """URL of the page with this title."""
        path = quote(title.replace(" ", "_"), safe="/~!$&'()*,;:@")
        return canonical(f"{self.base.rpartition('/')[0]}/{path}")

    def title(self, target: str) -> str:
        """A title in the one spelling of the wiki, without its section; empty for none."""
        title = " ".join(target.partition("#")[0].replace("_", " ").split())
        return title[:1].upper() + title[1:] if self.first_letter else title


class Dump(FileSource):
    """A MediaWiki dump, compressed or not."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._characters = self._elements = 0
        """Since the last page."""
        import_extra("mediawiki", f"{path} is a MediaWiki dump, which", "mwparserfromhell")

    def jobs(self) -> Iterator[Job]:
        site, root = Site(), None
        try:
            for event, element in self._events():
                if event == "start":
                    root = element if root is None else root
                    continue
                name = element.tag.rpartition("}")[2]
                self._elements += 1
                if self._elements > MAX_ELEMENTS:
                    raise self._endless()
                if name == "siteinfo":
                    site = _site(element, root)
                elif name == "page":
                    self._characters = self._elements = 0
                    job = self._job(element, site)
                    if job is not None:
                        yield job
                    assert root is not None
                    root.clear()
        except (ElementTree.ParseError, UnicodeDecodeError) as error:
            raise InputError(
                f"{self._path}: cut short or damaged XML ({error}); get it again, or give "
                "--keep-going to take what it holds"
            ) from error

    def _events(self) -> Iterator[tuple[str, ElementTree.Element]]:
        """Starts and ends of elements, which are dropped as soon as they are read."""
        parser: Any = ElementTree.XMLPullParser(("start", "end"))
        before = ""
        with self._file:
            stream: Any = io.BufferedReader(self._file, CHUNK)
            for text in self._texts(stream):
                if DOCUMENT_TYPE in before + text:
                    raise InputError(f"{self._path}: declares a document type, which no dump does")
                before = text[-len(DOCUMENT_TYPE) :]
                # Given text, it reads no declaration of an encoding.
                parser.feed(text)
                yield from parser.read_events()
                self._characters += len(text)
                if self._characters > MAX_PAGE:
                    raise self._endless()
            parser.close()
            yield from parser.read_events()

    def _texts(self, stream: Any) -> Iterator[str]:
        """The text of the file, in pieces."""
        data = stream.read(CHUNK)
        decoder = codecs.getincrementaldecoder(encoding_of_xml(data))()
        while data:
            yield decoder.decode(data)
            data = stream.read(CHUNK)
        yield decoder.decode(b"", True)

    def _endless(self) -> InputError:
        return InputError(
            f"{self._path}: holds a page of over {MAX_PAGE:,} characters or "
            f"{MAX_ELEMENTS:,} elements"
        )

    def _job(self, page: ElementTree.Element, site: Site) -> Job | None:
        fields = {child.tag.rpartition("}")[2]: child for child in page}
        if (fields["ns"].text if "ns" in fields else "0") != "0":
            return None
        title = (fields["title"].text or "") if "title" in fields else ""
        where = f"{self._path} page {title!r}"
        redirect = fields.get("redirect")
        target = None if redirect is None else redirect.get("title")
        revision = {
            child.tag.rpartition("}")[2]: child.text for child in fields.get("revision", ())
        }
        if revision.get("model") not in (None, "wikitext"):
            return None
        return partial(
            recording,
            title,
            target,
            revision.get("text") or "",
            revision.get("timestamp"),
            site,
            where,
        )


def _site(siteinfo: ElementTree.Element, root: ElementTree.Element | None) -> Site:
    base, first_letter = MAIN_PAGE, True
    files, categories, others = set(FILES), set(CATEGORIES), set[str]()
    for element in siteinfo.iter():
        name = element.tag.rpartition("}")[2]
        if name == "base" and element.text:
            base = element.text
        elif name == "case":
            first_letter = element.text != "case-sensitive"
        elif name == "namespace" and element.text:
            key, words = element.get("key"), element.text.lower()
            group = categories if key == "14" else files if key in ("6", "-2") else others
            group.add(words)
    attributes = {} if root is None else root.attrib
    language = next((value for key, value in attributes.items() if key.endswith("lang")), "")
    return Site(
        base, language, first_letter, frozenset(files), frozenset(categories), frozenset(others)
    )


def recording(
    title: str, target: str | None, wikitext: str, timestamp: str | None, site: Site, where: str
) -> Recording:
    """One article. Raises InputError naming `where`."""
    try:
        url = site.url(title)
        if target is not None:
            return Recording(url, Redirected(0, site.url(site.title(target)), 301), where)
    except ValueError as error:
        raise InputError(f"{where}: no URL can be made of it ({error})") from error
    time = _time(timestamp)
    body = wikitext.encode("utf-8", "replace")
    facts = {key: sorted(v) if isinstance(v, frozenset) else v for key, v in _items(site)}
    try:
        row = bounded(article_row, body, {"title": title, "site": facts})
    except GivenUpError as error:
        return Recording(url, Failed(0, "limit", str(error), 200), where, time)
    text, headings, links, categories = row
    page = Page(
        url,
        title=title,
        headings=(title, *headings),
        text=text,
        links=tuple(map(revive_link, links)),
        language=site.language,
        labels=frozenset(categories),
        fetched_at=time,
    )
    extra = {"root": True} if url == canonical(site.base) else None
    return Recording(url, Fetched(0, page, size=len(body)), where, time, (), extra)


def _items(site: Site) -> list[tuple[str, Any]]:
    return [(field.name, getattr(site, field.name)) for field in fields(site)]


def article_row(body: bytes, title: str, site: dict[str, Any]) -> list[Any]:
    """Text, headings, links and categories of a page's wikitext, as JSON values; what is parsed
    under limits (`spoor.isolate`), since a parser of wikitext may take long for any of it."""
    for name in ("files", "categories", "others"):
        site[name] = frozenset(site[name])
    article = _read(body.decode("utf-8"), title, Site(**site))
    text = "".join(article.pieces)
    links = [link_row(_link(link, place, text)) for place, link in enumerate(article.links)]
    return [MARKUP.sub("", text).strip(), article.headings, links, article.categories]


def _time(timestamp: str | None) -> float | None:
    try:
        date = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return moment((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp())


@dataclass(slots=True)
class _WikiLink:
    """A link as it was met."""

    url: str
    text: str
    place: int
    """Where its words begin in the text of the page, or -1 if they are no part of it."""
    headings: tuple[str, ...]
    region: str


def _link(link: _WikiLink, position: int, text: str) -> Link:
    before, after = words_around(text, link.text, link.place)
    anchor = Anchor(
        MARKUP.sub("", link.text).strip(),
        MARKUP.sub("", before),
        MARKUP.sub("", after),
        link.headings,
        position=position,
        region=link.region,
    )
    return Link(link.url, anchor)


@dataclass(slots=True)
class _Article:
    """What has been read of one page."""

    site: Site
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    headings: list[str] = field(default_factory=list)
    above: dict[int, str] = field(default_factory=dict)
    """Level → the heading in force."""
    links: list[_WikiLink] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)

    def append(self, words: str) -> None:
        self.pieces.append(words)
        self.length += len(words)

    def enter(self, url: str, words: str, region: str) -> None:
        place = self.length if region == "main" else -1
        self.links.append(_WikiLink(url, words, place, tuple(self.above.values()), region))


def _read(wikitext: str, title: str, site: Site) -> _Article:
    import mwparserfromhell

    article = _Article(site)
    article.above[1] = title
    _walk(mwparserfromhell.parse(wikitext, skip_style_tags=True), article, "main", 0)
    return article


def _walk(code: Any, article: _Article, region: str, depth: int) -> None:
    """Reads nodes in order. Outside the region `main`, links count and words do not."""
    from mwparserfromhell import nodes

    if code is None or depth > MAX_DEPTH:
        return
    for node in code.nodes:
        if isinstance(node, nodes.Text):
            if region == "main":
                article.append(node.value)
        elif isinstance(node, nodes.Wikilink):
            _wikilink(node, article, region, depth)
        elif isinstance(node, nodes.ExternalLink):
            _external(node, article, region)
        elif isinstance(node, nodes.Template):
            for parameter in node.params:
                _walk(parameter.value, article, "aside", depth + 1)
        elif isinstance(node, nodes.Tag):
            name = str(node.tag).strip().lower()
            if name not in SKIPPED_TAGS:
                _walk(node.contents, article, "footer" if name == "ref" else region, depth + 1)
                if region == "main" and name in ("br", "li", "td", "th", "tr", "table", "p", "div"):
                    article.append("\n")
        elif isinstance(node, nodes.Heading):
            _heading(node, article, region, depth)
        elif isinstance(node, nodes.HTMLEntity) and region == "main":
            article.append(_entity(node))


def _entity(node: Any) -> str:
    try:
        return str(node.normalize())
    except (ValueError, OverflowError):
        return " "


def _heading(node: Any, article: _Article, region: str, depth: int) -> None:
    words = MARKUP.sub("", str(node.title.strip_code())).strip()
    level = int(node.level)
    for lower in [other for other in article.above if other >= level and other > 1]:
        del article.above[lower]
    if level > 1:
        article.above[level] = words
    article.headings.append(words)
    _walk(node.title, article, region, depth + 1)


def _wikilink(node: Any, article: _Article, region: str, depth: int) -> None:
    site, target = article.site, str(node.title).strip()
    prefix, colon, _ = target.partition(":")
    name = prefix.strip().replace("_", " ").lower()
    if colon and name in site.categories:
        article.categories.append(site.title(target.partition(":")[2].strip()))
        return
    if colon and name in site.files:
        # A picture: its caption is the last part, and may hold links.
        if node.text is not None:
            _walk(node.text, article, "aside", depth + 1)
        return
    if colon and name not in site.others and INTERWIKI.fullmatch(prefix.strip()):
        return
    title = site.title(target.lstrip(":"))
    words = str(title if node.text is None else node.text.strip_code())
    if node.text is None:
        words = target.lstrip(":")
    if title:
        with contextlib.suppress(ValueError):
            article.enter(site.url(title), words, region)
    if region == "main":
        article.append(words)


def _external(node: Any, article: _Article, region: str) -> None:
    words = "" if node.title is None else str(node.title.strip_code())
    with contextlib.suppress(ValueError):
        article.enter(canonical(str(node.url).strip()), words, region)
    if region == "main":
        article.append(words)
