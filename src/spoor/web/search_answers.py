"""What the search of a site answers: which URLs are answers, and each as a list of pages.

Pure: URL → query, page → page. What asks is found by `spoor.web.search_forms`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from urllib.parse import parse_qsl, unquote, urlsplit

from spoor.types import Link, Page
from spoor.web.search_forms import MOST_LENGTH, SEARCH_NAMES, SEARCH_WORD, is_less_safe
from spoor.web.urls import domain_of, host, parameters

WHY = (("site search", 1.0),)
"""Reason of a Choice whose target is fetched as an answer of a site's search."""

KIND = "search"
"""Of the links to them."""

_KEPT = {"nofollow", "noai", "tdm-reserved"}
"""What an answer asks of those who read it."""

MOST_RESULTS = 200
"""Links of an answer."""
_MOST_PARTS = 500
"""Links to other parts of it, and to other forms, among which the next part is looked for."""

_MOST_FIELDS = 400
"""Of a URL that are read: a form has no more."""


_FOLDER = re.compile(rf"(?<![^\W_])(?:{SEARCH_WORD.pattern})", re.IGNORECASE)
"""Folder of answers: none of research."""
_NEXT = re.compile(
    r"\b(?:next|older|more results|weiter|nächste|suivant|siguiente|próxim|successiv|volgende)|"
    r"następn|další|seuraava|след|далее|次|下一|다음|^\s*[›»→>]+\s*$",
    re.IGNORECASE,
)
"""Text of a link to the next part of an answer."""
_MARKS = re.compile(r"s\[\]|q|hl|hilit\w*|highlight\w*|search\w*|query", re.IGNORECASE)
"""Parameters of a page by which it marks the words that were searched for."""


def asked_for(url: str, queries: Sequence[str], first: str = "") -> str:
    """Which of the queries a URL asks for, by a parameter of a search or a folder of answers; empty
    for none, as where the site led from its search to the page that has this name. `first`: the URL
    that was asked for, if it led here: a parameter that asked there does so here, on hosts of one
    domain alone."""
    if first and domain_of(first) != domain_of(url):
        return ""
    known = {_plainly(query): query for query in queries}
    names = {name for name, value in _fields(first or url) if value in known}
    for name, value in _fields(url):
        if value in known and (
            name in names or name.lower() in SEARCH_NAMES or SEARCH_WORD.search(name)
        ):
            return known[value]
    folders = [unquote(part) for part in urlsplit(url).path.split("/")]
    asked = (name for folder, name in pairwise(folders) if _FOLDER.search(folder))
    return next((known[name] for name in map(_plainly, asked) if name in known), "")


def _fields(url: str) -> list[tuple[str, str]]:
    pairs = urlsplit(url).query.split("&", _MOST_FIELDS)[:_MOST_FIELDS]
    return [(name, _plainly(value)) for name, value in parse_qsl("&".join(pairs))]


def _plainly(text: str) -> str:
    return " ".join(text.replace("+", " ").casefold().split())


def answer_of(page: Page, query: str) -> Page:
    """What a site answers, as a list of pages: links of kind `listed` under the heading of what was
    asked for, those of its main part where that has any, and the next part of the answer, of kind
    `search`; without what shows the answer otherwise. Of a page that leads on by itself, only where
    it leads: on the same path that is the answer. One that lists nothing has no next part. It has
    no words, so it is no document."""
    links, again, led_on = list[Link](), list[Link](), list[Link]()
    asks_again = _asks_again(page.url, query)
    for link in page.links:
        if link.kind == "refresh" and link.url != page.url and asked_for(page.url, [query]):
            led_on.append(link)
        elif link.kind in ("a", "place"):
            (again if asks_again(link.url) else links).append(link)
    parts = _next_part(_answers_among(again, page.url, query))
    if led_on:
        links, parts = led_on[:1], []
        # Another name of the answer, or a page?
        if parameters(links[0].url)[0] == parameters(page.url)[0]:
            links, parts = [], [Link(its.url, kind=KIND) for its in _answers_among(links, page.url)]
    main = [link for link in links if link.anchor.region == "main"]
    listed = dict[str, Link]()
    for link in main or links:
        url = _unmarked(link.url, query)
        if url not in listed:
            anchor = link.anchor._replace(headings=(*link.anchor.headings[:1], query))
            listed[url] = Link(url, anchor, link.kind if link.kind == "place" else "listed")
        if len(listed) == MOST_RESULTS:
            break
    return Page(
        page.url,
        page.status,
        page.content_type,
        links=[*listed.values(), *(parts if listed or led_on else ())],
        flags=page.flags & _KEPT | {"sitemap", "answer", "not-html"},
        fetched_at=page.fetched_at,
    )


def _asks_again(answer: str, query: str) -> Callable[[str], bool]:
    """Whether a URL on an answer leads to another part or form of it: it says the same by the same
    parameter, or has the same place and that parameter, or none where the answer has none."""
    plain, its = parameters(answer)
    asked = {pair for pair in its if _says(pair) == query.casefold()}
    names = {_name(pair) for pair in asked}

    def asks_again(url: str) -> bool:
        if url == answer:
            return True
        place, pairs = parameters(url)
        if place == plain and names.intersection(map(_name, pairs)):
            return True
        return bool(asked.intersection(pairs)) if asked else place.startswith(plain)

    return asks_again


def _answers_among(links: Sequence[Link], answer: str, query: str = "") -> list[Link]:
    """Those links that lead to answers of the same host, and will be read as such: by the query,
    where the URL of the answer asks for it."""
    asks = query and asked_for(answer, [query])
    return [
        link
        for link in links[:_MOST_PARTS]
        if host(link.url) == host(answer)
        and len(link.url) <= MOST_LENGTH
        and not is_less_safe(link.url, answer)
        and (not asks or asked_for(link.url, [query], answer))
    ]


def _next_part(again: Sequence[Link]) -> list[Link]:
    """The link to the next part: parts are numbered, and the number that lacks is the answer's; or
    the word says so."""
    parts = dict[int, Link]()
    for link in again:
        text = link.anchor.text.strip()
        if text.isdecimal() and len(text) < 4:
            parts.setdefault(int(text), link)
    number = next(part for part in range(1, len(parts) + 2) if part not in parts)
    if number + 1 in parts:
        return [Link(parts[number + 1].url, kind=KIND)]
    named = (link for link in again if _NEXT.search(link.anchor.text))
    return [Link(link.url, kind=KIND) for link in islice(named, 1)]


def _name(pair: str) -> str:
    return unquote(pair.partition("=")[0])


def _says(pair: str) -> str:
    return unquote(pair.partition("=")[2].replace("+", " ")).casefold()


def _unmarked(url: str, query: str) -> str:
    """Without parameters by which a page marks the words: `id=kilns&s[]=glaze` leads to `kilns`."""
    plain, pairs = parameters(url)
    words = {query.casefold(), *query.casefold().split()}
    kept = [pair for pair in pairs if _says(pair) not in words or not _MARKS.fullmatch(_name(pair))]
    return f"{plain}?{'&'.join(kept)}" if kept else plain
