"""What a page of HTML says of itself: language, date, author and licence, by its meta elements,
linked data and rel values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from spoor.documents.blocks import one_line
from spoor.documents.declared import iso_date, language_tag, people

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from spoor.web.urls import Joiner

_PUBLISHED = (
    "article:published_time",
    "datepublished",
    "citation_publication_date",
    "citation_date",
    "dc.date",
    "dc.date.issued",
    "dcterms.issued",
    "dcterms.created",
    "dcterms.date",
    "date",
    "pubdate",
    "publish-date",
    "article:modified_time",
    "dcterms.modified",
    "og:updated_time",
)
_BELOW_TITLE = ", ".join(f"{place}time[datetime]" for place in ("h1 ~ ", "h1 + * ", "h1 > "))
"""Where the date of a document stands that has one title."""

_OF_ENTRY = ".hentry .published[datetime], .h-entry .dt-published[datetime]"
"""The date of an entry (hAtom, h-entry)."""
_OF_OTHERS = frozenset({"li", "aside", "nav", "footer", "article"})
"""Elements in which dates of other things stand: comments, related articles, the site."""
_MOST_TIMES = 50
_MOST_ABOVE = 64

_AUTHORS = (
    "author",
    "citation_author",
    "dc.creator",
    "dcterms.creator",
    "article:author",
    "creator",
)
_FOOTERS = "footer, [role=contentinfo], [class*=footer], [id*=footer]"
_MOST_OF_A_FOOTER = 4_000
_UNDER = re.compile(
    r"([^.|©]{0,100})\b(?:licen[cs]ed|available) under (?:the |an? )?"
    r"(?=[^.]{0,60}\b(?:licen[cs]e|CC|GPL|MIT|BSD))((?:[^.|]|\.(?=\d)){2,80})",
    re.IGNORECASE,
)
"""What stands before a licence in its sentence, and the licence."""
_OTHER_WORKS = re.compile(r"\b(?:themes?|templates?|icons?|software|code|fonts?)\b", re.IGNORECASE)
"""Whose licence is not that of the page."""
_OF_POSTS = ("article:published_time", "article:section", "article:tag", "datepublished", "date")
"""Meta elements that a post has: to plugins each page of a site is an `article`."""
_MOST_DATA = 1 << 18
_MOST_ITEMS = 200
_ARTICLE = re.compile(
    r"article|blog|news|(?:.*schema\.org/)?(?:[A-Za-z]*Article|[A-Za-z]*BlogPosting|Report|Review)"
)
"""Of og:type; types of schema.org."""


class Facts:
    """Meta elements, linked data and rel values of a page."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._metas: dict[str, list[str]] = {}
        for meta in tree.css("meta[content]")[:500]:
            attributes = meta.attributes
            name = attributes.get("name") or attributes.get("property") or ""
            name = name or attributes.get("itemprop") or attributes.get("http-equiv") or ""
            value = one_line((attributes.get("content") or "")[:2_000])
            self._metas.setdefault(name.strip().lower(), []).append(value)
        self._data = list(_linked_data(tree))

    def first(self, *names: str) -> str:
        """The first value that is not empty, of the first of these names that has one."""
        values = (value for name in names for value in self._metas.get(name, ()))
        return next(filter(None, values), "")

    def says_article(self) -> bool:
        """Whether the page says that it is one article, report or post."""
        kinds = [self.first("og:type")] if self.first(*_OF_POSTS) else []
        kinds += [kind for item in self._data for kind in _as_list(item.get("@type"))]
        for node in self._tree.css("[itemtype]")[:_MOST_ITEMS]:
            kinds += (node.attributes.get("itemtype") or "").split()
        if any(_ARTICLE.fullmatch(str(kind)[-200:]) for kind in kinds):
            return True
        if self._tree.css_first(".hentry .entry-content, .h-entry .e-content") is not None:
            return True
        return len(self._tree.css(".entry-content")) == 1  # what is around it may not be marked

    def language(self) -> str:
        return language_tag(self.first("content-language", "og:locale", "dc.language"))

    def date(self) -> str:
        told: list[object] = [self.first(name) for name in _PUBLISHED[:1]]
        told += [item.get("datePublished") for item in self._data]
        told += [self.first(name) for name in _PUBLISHED[1:]]
        told += [item.get("dateModified") for item in self._data]
        for node in self._tree.css("time[itemprop=datePublished], time[pubdate]")[:3]:
            told.append(node.attributes.get("datetime"))
        entries = self._tree.css(_OF_ENTRY)
        told += [node.attributes.get("datetime") for node in entries if len(entries) == 1]
        if len(self._tree.css("h1")) == 1:
            told += [node.attributes.get("datetime") for node in self._tree.css(_BELOW_TITLE)[:1]]
            told += self._only_time()
        return next(filter(None, map(iso_date, told)), "")

    def _only_time(self) -> list[object]:
        """The time of a page that has one alone beside those of comments and the like."""
        times = self._tree.css("time[datetime]")
        if not times or len(times) > _MOST_TIMES:
            return []
        own: set[object] = {
            node.attributes.get("datetime") for node in times if not _is_of_others(node)
        }
        return [*own] if len(own) == 1 else []

    def author(self) -> str:
        for name in _AUTHORS:
            if found := people(self._metas.get(name, ())[:50]):
                return found
        names: list[object] = []
        for item in self._data:
            authors = item.get("author")
            listed = authors if isinstance(authors, list) else [authors]
            names += [one.get("name") if isinstance(one, dict) else one for one in listed]
        if found := people(name for name in names if isinstance(name, str)):
            return found
        nodes = self._tree.css("[rel~=author], [itemprop=author]")[:5]
        return people(node.text(deep=True) for node in nodes)

    def licence(self, joiner: Joiner, base: str) -> str:
        for node in self._tree.css("a[rel~=license], link[rel~=license]")[:1]:
            return joiner.join(node.attributes.get("href") or "", base) or ""
        for item in self._data:
            if isinstance(told := item.get("license"), str):
                return one_line(told)[:500]
        told = self.first("dcterms.license", "dcterms.rights", "dc.rights")[:500]
        return told or self._of_footer(joiner, base)

    def _of_footer(self, joiner: Joiner, base: str) -> str:
        """The licence that the last footer says its page is under: where the link to it leads, or
        else its name."""
        for node in self._tree.css(_FOOTERS)[-1:]:
            said = _UNDER.search(one_line(node.text(deep=True, separator=" "))[:_MOST_OF_A_FOOTER])
            if said is None or _OTHER_WORKS.search(said[1]):
                return ""
            for link in node.css("a[href]")[:_MOST_TIMES]:
                text = one_line(link.text(deep=True))
                if text and said[2].startswith(text):
                    return joiner.join(link.attributes.get("href") or "", base) or ""
            return said[2].strip()
        return ""


def _is_of_others(node: LexborNode) -> bool:
    above = node.parent
    for _ in range(_MOST_ABOVE):
        if above is None:
            return False
        if above.tag in _OF_OTHERS:
            return True
        above = above.parent
    return True


def _as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _linked_data(tree: LexborHTMLParser) -> Iterator[dict[str, Any]]:
    for node in tree.css('script[type="application/ld+json"]')[:20]:
        text = node.text(deep=True)
        try:
            found = json.loads(text) if len(text) < _MOST_DATA else None
        except (ValueError, RecursionError):
            continue
        items = found if isinstance(found, list) else [found]
        for item in items[:50]:
            if isinstance(item, dict):
                yield item
                graph = item.get("@graph")
                for inner in graph[:50] if isinstance(graph, list) else ():
                    if isinstance(inner, dict):
                        yield inner
