"""Other ways to a page: links to a place within it, to its newest part, to its neighbour, to a
print or the plain source of it, to the text that it is made of, to what it shows as data. Told by
conventions that programs share.

What such a link leads to is on the page, which has a URL of its own. So it is asked for last: once
a crawl has no other link (`spoor.link_filter.traps`). A thread of a forum is else asked for once
for each of its posts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from urllib.parse import unquote

from spoor.types import Link, Page, kinds_of, urls_of
from spoor.web.actions import is_view, is_view_by
from spoor.web.page_links import those
from spoor.web.urls import parameters, query_parts, with_query, without

_NUMBER = re.compile(r"(?<!\d)\d+$")
"""The search starts where a run of digits begins, not at each digit of it."""
_PART = re.compile(r"[&;?/]")
_JUMP = re.compile(
    r"(?:^|[&;])("
    r"(action|view|goto|do|mode)=(last_?post|new_?post|first_?new|unread|get_?(new|last)_?post"
    r"|find_?post|next_?(oldest|newest)|threaded|linear|hybrid|who_?posted"
    r"|find_?(user|all|posts|threads|user_?threads))"
    r"|(view|goto|prev_next)=(next|prev(ious)?)"
    r"|(print|printable|printer|print_?view|print_?version|printer_?friendly)(=(1|y|yes|true|on)?)?"
    r"|(action|view|mode|do|format|layout|tmpl|type|output|display)=print(able|er|page|view"
    r"|version|friendly|thread)?"
    r"|a=(\w+_plain|blame\w*|snapshot|commitdiff|blobdiff|patch(es)?|history|search|search_help"
    r"|(rss|atom|log|shortlog)(?=[&;](f|h|hb)=)|(blob|tree)(?=[&;].{0,500}\bhb=[0-9a-f]{40}\b))"
    r")(?=[&;]|$)"
)
"""Parameters of a jump within a page, a list of who wrote it, a print; and the views that gitweb
names by letters, among them the feeds and logs of a file or from a commit on, and files and folders
as a commit left them."""
_PRINT = re.compile(
    r"/(print_?(thread|view|page|topic|post|article|version)?|printable|who_?posted)"
    r"\.(php|asp|aspx|jsp|do|cgi|pl|cfm)$"
)
_ORDER = re.compile(
    r"([a-z_-]{0,40}[_-])?(sort|order)([_-]?by)?|(sort|order)[_-]?(dir|direction|order)|dir|direction"
    r"|view_?mode|per_?page|page_?size|product_list_(mode|limit)"
)
"""Names of parameters that put a list in another order or form."""
_FLAG = re.compile(r"(desc(ending)?|asc(ending)?|reverse)(=([01]|true|false|yes|no)?)?")
"""A parameter that says by itself in which direction."""
_DIRECTION = re.compile(r"[^=]+=(asc|desc)(ending)?|o=[ad]")
"""Parameters that say in which direction, whatever says by what: Apache's `C=N;O=D`."""
_ORDERS = 3
"""In which a page links to its list, with the same other parameters."""
_AS_IT_IS = re.compile(r"page=1|[^=]+=all")
"""The first page of a list, and a filter that lets all pass."""
_PAGE = re.compile(r"page=\d{1,9}")
_VALUES = re.compile(r",|\||\+|%2c|%7c|%20", re.IGNORECASE)
_SOURCE = frozenset("tree blob src source file files browse view commit commits log show".split())
"""Segments of a code browser's page of a file or a commit …"""
_OF_ANY = frozenset("log history stats".split())
"""… and of the other views of the same, which the page of all files has of each, too …"""
_OF_SOURCE = _OF_ANY | frozenset("plain raw blame annotate diff rawdiff patch commit".split())
"""… or not: of a path, `commit` is the last one that changed it."""
_OF_TREE = re.compile(r"/(tree|plain|blame|log|stats|atom)/")
_AS_OF = re.compile(r"([^&]*&){0,9}id=[0-9a-f]{40}(?=&|$)")
"""Path and query of a file, folder or log as a commit left it: cgit's."""
_ARCHIVE = re.compile(r"/snapshot/[^/?]+\.(tar(\.\w{1,4})?|tgz|zip)$")
"""All files as a commit left them."""

_MAIL = re.compile(r"(.*/)[^/?@]+@[^/?]+/([tT]/)?")
_OF_MAIL = re.compile(
    r"[^/?@]+@[^/?]+/(?:raw|t/|t\.atom|t\.mbox\.gz)|\?t=\d{14}-?|([^/?@]+@[^/?]+/(?:T/)?)"
)
"""Of public-inbox, a message or the thread that it is of; and behind the URL of its list other
ways to both, what was written at the same time, and messages or threads."""

_FILE = re.compile(r"[^=]+=((?:[^/]*/)*[^/]*\w\.[A-Za-z]\w{0,7})")
"""A parameter whose value is the name of a file."""

_ENDS = tuple(
    f".{end}" for end in "md mdx mdwn markdown rst adoc asciidoc org textile wiki ipynb txt".split()
)
"""Of what a page is made of."""
_INDEX = re.compile(r"(^|/)(index|readme|_index)$")
_DATA = "json jsonld geojson ndjson csv tsv yaml yml ttl nt n3"
"""Forms of data that a program writes of what it shows. Feeds lead on, and a PDF is a document."""
_DATA_ENDS = tuple(f".{end}" for end in _DATA.split())
_SPEAKS_OF_DATA = re.compile(rf"\b({_DATA.replace(' ', '|')})\b|^type:.*\*", re.IGNORECASE)
_MOST_PARTS = 32
"""Parameters of a list of which other orders are told, each of whose links is compared with them,
and of a URL that is known without one: of thousands each would be left out in turn."""
_A_NAME = 3
"""Characters that the name of a page has at least."""
_AS_DATA = re.compile(rf"[._]?(format|fmt|output|export|out)=({_DATA.replace(' ', '|')}|tab)")


def place_within(href: str) -> bool:
    """Whether a reference leads to a place within a page that a program looks up for it: its
    fragment ends in the number of a parameter or of the last segment (`?pid=7#pid7`,
    `/posts/7/#post-7`)."""
    page, mark, fragment = href.partition("#")
    if not (mark and page) or (number := _NUMBER.search(fragment)) is None:
        return False
    if number.start() == 0:
        return False
    parts = _PART.split(page.rstrip("/"))
    of_query = parts[1:] if "?" in page or ";" in page else []
    return parts[-1] == fragment or any(
        (end := _NUMBER.search(part)) is not None and end[0] == number[0]
        for part in of_query
        if "=" in part
    )


@lru_cache(maxsize=16_384)
def other_way(url: str) -> bool:
    """Whether a canonical URL is by its look another way to a page."""
    path, _, query = url.partition("?")
    if not query:
        return False
    if _JUMP.search(query.lower()) or (_AS_OF.match(query) and _OF_TREE.search(path)):
        return True
    return _PRINT.search(path.lower()) is not None


def shorter(url: str) -> Sequence[str]:
    """A canonical URL without each of its parameters, where a few others stay."""
    names = dict.fromkeys(part.partition("=")[0] for part in parameters(url)[1])
    if not 2 <= len(names) <= _MOST_PARTS:
        return ()
    return [without(url, frozenset((name,))) for name in names]


def narrows(url: str, page: str) -> bool:
    """Whether a URL is that of a page with a query and has further parameters: another order or a
    part of what it shows."""
    (path, parts), (own, its) = parameters(url), parameters(page)
    return path == own and bool(its) and {*its} < {*parts}


def may_show_source(page: str) -> bool:
    """Whether a page may have another view that `view_of_source` tells."""
    segments = page.partition("?")[0].split("/")[3:]
    return not (_SOURCE.isdisjoint(segments) and _OF_SOURCE.isdisjoint(segments))


def view_of_source(url: str, page: str) -> bool:
    """Whether a canonical URL is, for a code browser, another view of what `page` shows, which
    links to it: `/blame/a.py` of `/tree/a.py`, `/diff/a.py?id=1` of `/commit/?id=1`."""
    own, _, query = url.partition("?")
    parts = own.split("/")
    at = next((at for at, part in enumerate(parts) if part in _OF_SOURCE and at > 2), 0)
    if not at:
        return False
    its, _, its_query = page.partition("?")
    others = its.split("/")
    if len(others) <= at or others[:at] != parts[:at]:
        return False
    if others[at] not in _SOURCE and others[at] not in _OF_SOURCE:
        return False
    rest, its_rest = [part for part in parts[at + 1 :] if part], [*filter(None, others[at + 1 :])]
    if rest[: len(its_rest)] != its_rest or its_query.count("&") > query.count("&"):
        return False
    return {*its_query.split("&")} <= {"", *query.split("&")} and (
        bool(its_rest or (query and parts[at] != "commit")) or (parts[at] in _OF_ANY and bool(rest))
    )


def of_mail(url: str, mail: re.Match[str]) -> bool:
    """Whether a canonical URL is another way to a message, or to one that stands on the page of its
    thread: `a@b/raw` and `a@b/t/` of `a@b/`, `c@d/` and `c@d/T/` of `a@b/T/`. `mail`: what `_MAIL`
    says of the page that links to it."""
    its = _OF_MAIL.fullmatch(url, len(mail[1])) if url.startswith(mail[1]) else None
    return its is not None and (its[1] is None or mail[2] is not None)


def markup_of(url: str, page: str) -> bool:
    """Whether a canonical URL is the text that `page`, which links to it, is made of: `a/index.md`
    or `a.md` of `a/`, `a.md` of `a.html`, Sphinx's `_sources/a.rst.txt` of `a.html`."""
    its = page.partition("?")[0]
    folder, _, file = its.rpartition("/")
    stem, dot, end = file.rpartition(".")
    if not url.endswith(_ENDS) or "?" in url or (dot and "htm" not in end):
        return False
    own, here = url.rpartition(".")[0], f"{folder}/{stem if dot else file}".rstrip("/")
    if own.endswith(_ENDS):  # Sphinx adds a second end
        own = own.rpartition(".")[0]
    begin, sources, rest = own.partition("/_sources/")
    if sources:
        own = f"{begin}/{rest}"
    return _INDEX.sub("", own) == _INDEX.sub("", here)


def data_of(url: str, page: str) -> bool:
    """Whether a canonical URL gives as data what `page`, which links to it, shows: `a.json?q=7` of
    `a?q=7`, `a/index.csv` of `a/`, `a?format=json` of `a`."""
    own, _, query = url.partition("?")
    its, known, _ = _asked(page)
    if not (_AS_DATA.search(query) if own == its else own.endswith(_DATA_ENDS)):
        return False
    parts = {*query_parts(query)}
    if not known.keys() <= parts or its.endswith(_DATA_ENDS):
        return False
    if own == its:
        return any(map(_AS_DATA.fullmatch, parts - known.keys()))
    folder, _, file = its.rpartition("/")
    stem, dot, end = file.rpartition(".")
    here = f"{folder}/{stem if dot and 'htm' in end else file}".rstrip("/")
    return _INDEX.sub("", own.rpartition(".")[0]).rstrip("/") == _INDEX.sub("", here)


@lru_cache(maxsize=16)
def _asked(page: str) -> tuple[str, Counter[str], int]:
    """The URL of a page without its query, the parts of that, and their characters: once for all of
    its links."""
    path, _, query = with_query(page).partition("?")
    parts = Counter(filter(None, query_parts(query)))
    return path, parts, sum(map(len, parts.elements()))


def names_page(url: str, page: str) -> bool:
    """Whether a canonical URL has the name of what stands at another one of its host in it:
    `/w?title=Kiln&action=history` that of `/wiki/Kiln`, `/doku?id=kiln&do=diff` that of
    `/doku?id=kiln`. What is below a page is a document of its own."""
    own, _, query = url.partition("?")
    its, _, its_query = page.partition("?")
    parts, asked = query_parts(query), {*filter(None, query_parts(its_query))}
    if own.split("/")[:3] != its.split("/")[:3] or url == page:
        return False
    if asked or own == its:
        return own == its and asked <= {*parts}
    name = its.rstrip("/").rpartition("/")[2]
    if len(name) < _A_NAME:
        return False
    below = own.startswith(f"{its.rstrip('/')}/")
    last = own.rstrip("/").rpartition("/")[2]
    return (name == last and not below) or name in (part.partition("=")[2] for part in parts)


def names_data(patterns: Iterable[str]) -> bool:
    """Whether one of some patterns of URLs or media types speaks of a form of data: who asks for
    tables wants them beside the pages that show them."""
    return any(_SPEAKS_OF_DATA.search(pattern) for pattern in patterns)


def view_of_list(url: str, page: str) -> bool:
    """Whether a canonical URL shows a part of the list on `page`, which links to it, or all of it
    in another order, from its first page on: it changes nothing but the order, or adds a filter
    where that has one already, or one more value to it (`tags=clay,kiln` of `tags=clay`)."""
    path, mark, query = with_query(url).partition("?")
    its, others, _ = _asked(page)
    if not mark or path != its or len(others) > _MOST_PARTS:
        return False
    if len(parts := query_parts(query)) > _MOST_PARTS:
        return False
    own = Counter(filter(None, parts))
    added, removed = _telling(own - others), _telling(others - own)
    if not added:
        if removed and all(_FLAG.fullmatch(part.lower()) for part in removed):
            return any(map(_orders, own))
        changed = [*(own - others), *(others - own)]
        return bool(changed) and not removed and all(part == "page=1" for part in changed)
    if all(map(_orders, added)) and all(_orders(part) or _PAGE.fullmatch(part) for part in removed):
        return True
    if len(added) == 2 and any(_DIRECTION.fullmatch(part.lower()) for part in added):
        return not removed
    rest = [part for part in added if not _orders(part)]
    narrower = [part for part in removed if not (_orders(part) or _PAGE.fullmatch(part))]
    return (
        is_view(page)
        and all(map(is_view_by, rest))
        and all(any(_has_more(part, before) for part in rest) for before in narrower)
    )


def of_same_file(page: Page, links: Sequence[Link]) -> frozenset[str]:
    """Those of the URLs that a page links to that show by another program a file that it is, or
    that another link names: `/blame?file=a/b.c` and `/info?name=a/b.c` of `/file?name=a/b.c`, or
    beside a link to that which says `b.c`. O(links)."""
    programs: dict[str, dict[str, bool]] = {}
    for at, url in enumerate(urls_of(links)):
        if "." in url.partition("?")[2]:
            for name in _files_in(url):
                its = programs.setdefault(name, {})
                its[url] = its.get(url, False) or links[at].anchor.text == name.rpartition("/")[2]
    ways = set[str]()
    own = frozenset(_files_in(page.url)) if programs else frozenset[str]()
    for name, its in programs.items():
        says_it = [page.url] if name in own else [url for url, names_it in its.items() if names_it]
        if len(says_it) == 1:
            path = says_it[0].partition("?")[0]
            folder = path.rpartition("/")[0] + "/"
            ways |= {
                url
                for url in its
                if url.startswith(folder) and url.partition("?")[0] not in (path, folder)
            }
    return frozenset(ways)


def _files_in(url: str) -> list[str]:
    """The names of files that are values of parameters of a URL."""
    found = (_FILE.fullmatch(unquote(part)) for part in query_parts(url.partition("?")[2])[:9])
    return [its[1] for its in found if its is not None]


def orders_of_list(page: str, urls: Sequence[str]) -> frozenset[str]:
    """Those of the URLs that a page links to that show its list in other orders, and say what it
    shows all the same: all with the same parameters beside (`days=all&sort=name&order=asc` and
    `days=all&sort=size&order=desc`)."""
    path, known, _ = _asked(page)
    if len(known) > _MOST_PARTS:
        return frozenset()
    orders: dict[str, tuple[str, ...]] = {}
    rests = set[tuple[str, ...]]()
    for url in urls:
        its, mark, query = url.partition("?")
        if not mark or its != path or len(found := query_parts(query)) > _MOST_PARTS:
            continue
        parts = Counter(filter(None, found))
        added, removed = parts - known, known - parts
        order = tuple(filter(_orders, added))
        rest = tuple(sorted(part for part in added if not _orders(part)))
        if order and rest and all(map(_PAGE.fullmatch, removed)):
            orders[url] = order
            rests.add(rest)
    told_apart = len({*orders.values()}) >= _ORDERS and len(rests) == 1
    return frozenset(orders) if told_apart else frozenset()


def orders_in(url: str) -> Sequence[str]:
    """The parameters of a canonical URL that put a list in another order."""
    return [part for part in query_parts(url.partition("?")[2])[:_MOST_PARTS] if _orders(part)]


def _telling(parts: Iterable[str]) -> list[str]:
    """Parameters without those that leave a list as it is: its first page, and all of it."""
    return [part for part in parts if not _AS_IT_IS.fullmatch(part)]


def _has_more(part: str, before: str) -> bool:
    """Whether a parameter has the values that it had before, and more."""
    name, _, value = part.partition("=")
    its, _, earlier = before.partition("=")
    return name == its and {*_VALUES.split(value)} > {*_VALUES.split(earlier)}


def _orders(part: str) -> bool:
    """Whether a parameter puts a list in another order: `order=17` is a thing that was ordered."""
    name, _, value = part.lower().partition("=")
    orders = _ORDER.fullmatch(name) is not None and not (name == "order" and value.isdigit())
    return orders or _FLAG.fullmatch(part.lower()) is not None


def other_ways(page: Page, links: Sequence[Link], *, data: bool = True) -> frozenset[str]:
    """The URLs of a page's links that are other ways to a page, and nothing else on this one.
    `data`: what it shows as data is one, too."""
    own, urls, kinds = page.url, urls_of(links), kinds_of(links)
    source, mail = may_show_source(own), _MAIL.fullmatch(own)
    may_be = urls if source or mail is not None else list(filter(_may_be, urls))
    ways = {
        url
        for url in may_be
        if ("?" in url and other_way(url))
        or (source and view_of_source(url, own))
        or (mail is not None and of_mail(url, mail))
        or ("/snapshot/" in url and _ARCHIVE.search(url) is not None)
        or (url.endswith(_ENDS) and markup_of(url, own))
        or (("?" in url or ":" in url[url.find("/", 8) :]) and view_of_list(url, own))
        or (data and ("?" in url or url.endswith(_DATA_ENDS)) and data_of(url, own))
    }
    if may_be:
        ways |= orders_of_list(own, may_be) | of_same_file(page, links)
    if "place" in kinds:
        by_kind = list(zip(urls, kinds, strict=True))
        plainly = {url for url, kind in by_kind if kind != "place"}
        ways |= {url for url, kind in by_kind if kind == "place"} - plainly
    return frozenset(ways)


@lru_cache(maxsize=16_384)
def _may_be(url: str) -> bool:
    """Whether a canonical URL may be another way to a page, by its look alone."""
    return (
        "?" in url
        or ":" in url[url.find("/", 8) :]
        or url.endswith(_ENDS + _DATA_ENDS)
        or "/snapshot/" in url
    )


def without_repeats(
    page: Page, links: Sequence[Link], *, all_but_places: bool = False
) -> Sequence[Link]:
    """Those of a page's links that are no other way to what it is or links to, by one parameter.
    `all_but_places`: nor another way to anything, unless it is a place within a page."""
    ways = other_ways(page, links)
    if not ways:
        return links
    urls = urls_of(links)
    known = {page.url, *urls}
    repeats = {
        url
        for url in ways
        if not known.isdisjoint(shorter(url)) or (all_but_places and other_way(url))
    }
    return those(links, [at for at, url in enumerate(urls) if url not in repeats])
