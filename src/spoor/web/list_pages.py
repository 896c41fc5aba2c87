"""Whether a page is a list of documents: the front page of a blog, the pages of a tag or a month.

Such a page is made of entries: a heading that leads to a document, a few words of it, and its date
or an `article` element of its own; or a link, its date, and nothing else. A forum's thread has no
such headings, a team's page no dates, and an article with related ones a long text of its own. The
listing of a folder of files is one, too: its links say the names of what lies in it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from spoor.web.other_ways import orders_in
from spoor.web.text import UNSPACED
from spoor.web.urls import query_parts

if TYPE_CHECKING:
    from spoor.web.tree_walk import Walk

LEAST = 3
"""Entries of a list, where they are not marked (hAtom, h-entry)."""
SHORT = 300
"""Words of an entry that is told by a date in words, at most."""
DATED = 0.8
"""Least share of its entries that have a date or are marked."""
SHARE = 0.5
"""Least share of the words of its page, without links beside it."""
OF_ROWS = 0.6
"""The same of links with their dates."""
FILES = 2
"""Rows of a folder of files, at least."""
LONGEST = 3.0
"""An entry counts with so many times the median at most: what stands between the site's name and
the first related article is none."""
OWN = 80
"""Words without a link in a row before the first entry, at most, …"""
BEFORE = 120
"""… and in all, where entries are not marked; …"""
OWN_DATED = 30
"""… and below a `time` there, as a short article has it above related ones, in texts …"""
RUNNING = 10
"""… of so many words at least; …"""
TEXT = 100
"""… in a row in an entry, and in its title, …"""
TEXTS = 3.5
"""… or so many times the median size of three or more: what is longer is an article."""
NEAR = 8
"""Words between a title and the begin of its date, at most: a day that is spoken of dates no
document."""
_YEAR = r"(?:19|20)\d\d"
_DAY = re.compile(
    rf"""(?<![\w/.-])(?:
    {_YEAR}([-./])[01]?\d\1[0-3]?\d (?=[\sT.,;:)]|$)        # 2025-06-05
    | [0-3]?\d([-./])[0-3]?\d\2{_YEAR} (?![\w/-])            # 05.06.2025
    | [0-3]?\d-[^\W\d]{{3}}-{_YEAR} (?![\w/-])               # 05-Jun-2025
    | {_YEAR}\s?年\s?\d\d?\s?月\s?\d\d?\s?日
    | [0-3]?\d(?:st|nd|rd|th|er|\.|º)?,?\s(?:de\s)?[^\W\d]{{3,12}}\.?,?\s(?:de\s)?{_YEAR} (?!\w)
    | [^\W\d]{{3,12}}\.?\s[0-3]?\d(?:st|nd|rd|th)?,?\s{_YEAR} (?!\w)  # June 5, 2025
    )""",
    re.VERBOSE,
)
"""A day as people write it, whatever the name of the month."""
_YEARS = re.compile(_YEAR)
_CLOCK = re.compile(r"(?<![\w:.])[0-2]?\d:[0-5]\d(?![\w:.]*\d)")
"""A time of day, below the day that stands above some rows."""
_DIGIT = re.compile(r"\d")
_PART = re.compile(r"(page|p|pg|paged|start|offset|from|seite)=\d{1,6}")
_PART_OF_PATH = re.compile(r"/?(page|seite)[/-]?\d{1,5}/?$")
"""What the URL of a part of a list has more than that of its first one."""
_NAME_WORDS = 4
"""Words of the name of a file, at most, …"""
_ENDS_OF_PARTS = re.compile(r"[?&;=]")
"""… and what ends the parts of a URL that may end in it."""
_HEAD = re.compile(r"/th(?=[.#/])")
"""In the path of a link in the head of a table."""
TITLE = 3.0
"""Words of the titles of rows, in the mean, from which on they are no names of people."""
_GROUPS = 4
"""Kinds of links in rows that may be their titles."""
_DATE_WORDS = 6
"""That it may have: `5 de junio de 2025`, and a day of the week before it."""


class _Entry(NamedTuple):
    """What leads to a document."""

    cut: int
    """Before it."""
    begin: int
    """Words before it, …"""
    title: int
    """… and before the end of its title."""
    is_marked: bool
    """As an entry (hAtom, h-entry)."""
    in_article: bool
    is_card: bool
    """The link holds a heading, or lies over what has one."""
    number: int
    """Of its link."""


def is_list_page(
    walk: Walk, words: Sequence[str], counts: Sequence[int], text: str, url: str
) -> bool:
    """Of a page that was walked; `text`: its words, `counts`: words before each cut. O(links)."""
    if _has_entries(walk, words, counts, url) or _has_sorted_table(walk, url):
        return True
    if _has_folder(walk, words, counts, url):
        return True
    may_be_dated = len(walk.times) >= FILES or text.count("20") >= FILES
    if not may_be_dated and text.count("19") + text.count("20") < FILES:
        return False
    return _has_rows(walk, words, counts, url) or _has_table(walk, words, counts, url)


def _has_entries(walk: Walk, words: Sequence[str], counts: Sequence[int], url: str) -> bool:
    entries = _entries(walk, counts, url)
    marked = [entry.is_marked for entry in entries]
    own = _own_articles(walk.articles, entries)
    if len(entries) < LEAST and not (entries and (all(marked) or _are_all(walk, own))):
        return False
    begins = [entry.begin for entry in entries]
    end, beside = _around(walk, counts, entries[-1].number)
    sizes = [after - before for before, after in pairwise([*begins, end])]
    usual = median(sizes)
    excerpts = len(entries) >= LEAST and all(own) and _go_on(walk, counts, entries)
    most = math.inf if excerpts else LONGEST * usual
    if sum(min(size, most) for size in sizes) < SHARE * (end - beside):
        return False
    longest = max(TEXT, TEXTS * usual) if len(entries) >= LEAST else TEXT
    longest = math.inf if excerpts else longest
    before = 0
    for begin, size in _said(walk, counts):
        before += min(size, max(0, begins[0] - begin))
        if begin < end and size > (OWN if begin < begins[0] else longest):
            return False
    least = DATED * len(entries)
    if sum(marked) >= least:
        return True
    if before > BEFORE or max(entry.title - entry.begin for entry in entries) > TEXT:
        return False
    if (
        not (excerpts or _are_titles(words, entries))
        or _below_date(walk, counts, begins[0]) > OWN_DATED
    ):
        return False
    if _above_nested(walk, counts, entries[0].cut, begins[0]) > OWN_DATED:
        return False
    dated = _dated(walk.times, words, entries, end)
    if any(sum(map(max, signs, marked)) >= least for signs in (dated, own)):
        return True
    return len(entries) >= LEAST and _is_in_parts(walk, url)


def _go_on(walk: Walk, counts: Sequence[int], entries: Sequence[_Entry]) -> bool:
    """Whether most entries end with a further link to what they lead to (“Read more”): however long
    their texts, these are excerpts, and their titles no names of authors."""
    ends = [*(entry.number for entry in entries[1:]), len(walk.urls)]
    go_on = (
        any(
            walk.urls[at] == walk.urls[entry.number] and counts[walk.found[at].begin] > entry.title
            for at in range(entry.number + 1, end)
        )
        for entry, end in zip(entries, ends, strict=True)
    )
    return sum(go_on) >= DATED * len(entries)


def _is_in_parts(walk: Walk, url: str) -> bool:
    """Whether the page leads to further parts of it by their numbers, as lists do, or back to the
    part before. O(links)."""
    path, _, query = url.partition("?")
    own = frozenset(part for part in query_parts(query) if not _PART.fullmatch(part))
    for to in walk.urls:
        if to.startswith(f"{path}?") and to != url:
            more = own.symmetric_difference(query_parts(to.partition("?")[2])) - {""}
            if len(more) == 1 and _PART.fullmatch(next(iter(more))):
                return True
    folder = _PART_OF_PATH.sub("/", path)
    return any(to != url and _PART_OF_PATH.sub("/", to) == folder != to for to in walk.urls)


def _has_rows(walk: Walk, words: Sequence[str], counts: Sequence[int], url: str) -> bool:
    """Whether it has little but links with a date each: titles, or names of files."""
    rows = _rows(walk, words, counts, url)
    files = len(rows) >= FILES and _are_files(walk, words, rows, url)
    if not files and (len(rows) < LEAST or not _are_titles(words, rows)):
        return False
    # What stands above files puts them in order, or leads back.
    return _are_most(walk, counts, rows, rows[0].begin if files else 0)


def _has_folder(walk: Walk, words: Sequence[str], counts: Sequence[int], url: str) -> bool:
    """Whether it has little but links that say the names of files, in which their URLs or those of
    a parameter end, each with further links behind it, to other views of the same, as a folder has
    in a code browser. O(links)."""
    if len(walk.urls) < 2 * LEAST or any(size > OWN for _, size in _texts(walk, counts)):
        return False
    site, seen = _site(url), {url, walk.canonical}
    said = [
        " ".join(words[counts[found.begin] : counts[end]][:_NAME_WORDS]).rstrip("/")
        if end >= 0 and not found.place.is_beside
        else ""
        for found, end in zip(walk.found, walk.ends, strict=True)
    ]
    named = [name in to and _is_named(to, name) for to, name in zip(walk.urls, said, strict=True)]
    if sum(named) < LEAST:
        return False
    often = Counter(said)
    rows, more, last = list[_Entry](), set[int](), ""
    for number, (to, name) in enumerate(zip(walk.urls, said, strict=True)):
        is_one = named[number] and often[name] == 1
        if is_one and _is_document(to, site, url, seen):
            seen.add(to)
            begin, end = counts[walk.found[number].begin], counts[walk.ends[number]]
            cut = walk.found[number].begin
            rows.append(_Entry(cut, begin, end, False, False, False, number))
            last = name
        elif last and last in to and _is_named(to, last):
            more.add(rows[-1].number)
    rows = [row for row in rows if row.number in more]
    return len(rows) >= LEAST and _are_most(walk, counts, rows, rows[0].begin)


def _is_named(to: str, name: str) -> bool:
    """Whether the path of a URL, or a parameter of it, ends in the name of a file."""
    if len(name) < 2:
        return False
    to = to.rstrip("/")
    if _ENDS_OF_PARTS.search(to) is None:
        return to.endswith(f"/{name}")
    return name in (part.rpartition("/")[2] for part in _ENDS_OF_PARTS.split(to))


def _are_most(walk: Walk, counts: Sequence[int], rows: Sequence[_Entry], above: int) -> bool:
    """Whether links in rows make up their page, but for so many words `above` them, and no long
    text stands there."""
    end, beside = _around(walk, counts, rows[-1].number)
    beside = max(beside, above)
    sizes = [min(after.begin, row.title + NEAR) - row.begin for row, after in pairwise(rows)]
    sizes.append(min(end, rows[-1].title + NEAR) - rows[-1].begin)
    if sum(sizes) < OF_ROWS * (end - beside):
        return False
    first = rows[0].begin
    texts = [(begin, size) for begin, size in _texts(walk, counts) if begin < rows[-1].begin]
    if sum(min(size, first - begin) for begin, size in texts if begin < first) > OWN:
        return False
    return all(size <= OWN for _, size in texts) and _below_date(walk, counts, first) <= OWN_DATED


def _has_table(walk: Walk, words: Sequence[str], counts: Sequence[int], url: str) -> bool:
    """Whether it has little but rows of a title, a date and some facts: the threads of a board, the
    issues of a tracker."""
    titled = _titles_of_rows(walk, words, counts, url)
    texts = _said(walk, counts) if titled else []
    for rows in titled:
        end = _around(walk, counts, rows[-1].number)[0]
        if _are_rows(walk, words, counts, rows, texts, end):
            return True
    return False


def _has_sorted_table(walk: Walk, url: str) -> bool:
    """Whether it has a table whose heads lead to it in other orders, and whose rows lead to
    documents, as what a tracker answers has. O(links to itself) for a page without."""
    own = f"{url.partition('?')[0]}?"
    heads = (at for at, to in enumerate(walk.urls) if to.startswith(own))
    heads = (at for at in heads if _HEAD.search(walk.found[at].place.path))
    if len({order for at in heads for order in orders_in(walk.urls[at])}) < LEAST:
        return False
    site, seen, rows = _site(url), {url}, Counter[str]()
    for to, found in zip(walk.urls, walk.found, strict=True):
        if (
            (row := found.place.row)
            and not to.startswith(own)
            and _is_document(to, site, url, seen)
        ):
            seen.add(to)
            rows[row] += 1
    return max(rows.values(), default=0) >= LEAST


def _are_rows(
    walk: Walk,
    words: Sequence[str],
    counts: Sequence[int],
    rows: Sequence[_Entry],
    texts: Sequence[tuple[int, int]],
    end: int,
) -> bool:
    """Whether these titles, with what stands between each and the next, make up their page. Where
    titles are as short as the names of a thread's authors, what is said besides the links in one
    row, and in no other, is less than the links say: of posts it is more."""
    begins = [row.begin for row in rows]
    sizes = [after - before for before, after in pairwise(begins)]
    longest = int(LONGEST * median(sizes))
    end = min(end, begins[-1] + longest)
    inside = [(begin, size) for begin, size in texts if begins[0] <= begin < end]
    before = [size for begin, size in texts if begin < begins[0]]
    beside = [size for begin, size in texts if size >= RUNNING and not begins[0] <= begin < end]
    if sum(beside) > sum(min(size, longest) for size in [*sizes, end - begins[-1]]):
        return False
    if max([*before, *(size for _, size in inside)], default=0) > OWN:
        return False
    if _below_date(walk, counts, begins[0]) > OWN_DATED:
        return False
    ends = [*begins[1:], end]
    dated = [
        is_dated or _CLOCK.search(" ".join(words[max(0, begin - NEAR) : to])) is not None
        for is_dated, begin, to in zip(
            _dated(walk.times, words, rows, end), begins, ends, strict=True
        )
    ]
    if sum(dated) < DATED * len(rows):
        return False
    if sum(row.title - row.begin for row in rows) >= TITLE * len(rows):
        return True
    said = [set[str]() for _ in rows]
    for begin, size in inside:
        said[bisect_right(begins, begin) - 1].update(words[begin : begin + size])
    often = Counter(word for its in said for word in its if not _DIGIT.search(word))
    own = sum(count for count in often.values() if 2 * count <= len(rows))
    return own <= end - begins[0] - sum(size for _, size in inside)


def _titles_of_rows(
    walk: Walk, words: Sequence[str], counts: Sequence[int], url: str
) -> list[Sequence[_Entry]]:
    """The links that stand at one place of each row, as far as the tags and classes between the row
    and the link say, each to another page of the site with other words; those that say most
    first."""
    site = _site(url)
    groups: defaultdict[str, list[int]] = defaultdict(list)
    for number, (found, end) in enumerate(zip(walk.found, walk.ends, strict=True)):
        if end >= 0 and counts[end] > counts[found.begin] and (group := found.place.row):
            groups[group].append(number)
    titled = list[tuple[int, Sequence[_Entry]]]()
    for numbers in groups.values():
        if len(numbers) < LEAST:
            continue
        rows, seen = list[_Entry](), {url}
        for number in numbers:
            to, found = walk.urls[number], walk.found[number]
            if _is_document(to, site, url, seen):
                seen.add(to)
                marks = (found.place.in_entry, found.place.in_article, False)
                end = counts[walk.ends[number]]
                rows.append(_Entry(found.begin, counts[found.begin], end, *marks, number))
        if len(rows) >= LEAST and _are_titles(words, rows):
            titles = {" ".join(words[row.begin : row.title]) for row in rows}
            if len(titles) >= DATED * len(rows):
                titled.append((sum(row.title - row.begin for row in rows), rows))
    titled.sort(key=lambda one: (-one[0], one[1][0].number))
    return [rows for _, rows in titled[:_GROUPS]]


def _entries(walk: Walk, counts: Sequence[int], url: str) -> list[_Entry]:
    """The links in headings that lead to other pages of the site, each page once; none to a folder
    that this page is in, or to the home page. And links without words over an `article` that has a
    heading."""
    seen, entries = {url, walk.canonical}, list[_Entry]()
    site = _site(url)
    for number in walk.titles:
        to, place = walk.urls[number], walk.found[number].place
        if walk.ends[number] < 0 or place.in_text or not _is_document(to, site, url, seen):
            continue
        if place.in_entry or place.region not in ("nav", "aside", "footer"):
            seen.add(to)
            cut = walk.found[number].begin
            title = counts[walk.ends[number]]
            is_own = place.in_article and (place.of_article or place.region != "header")
            marks = (place.in_entry, is_own, not place.is_heading)
            entries.append(_Entry(cut, counts[cut], title, *marks, number))
    if entries or len(walk.articles) < LEAST:
        return entries
    covers = list(_covers(walk, counts, url))
    return covers if len(covers) >= max(LEAST, DATED * len(walk.articles)) else []


def _covers(walk: Walk, counts: Sequence[int], url: str) -> Iterator[_Entry]:
    """The first link without words after the first heading of each `article`."""
    seen, site, last = {url, walk.canonical}, _site(url), -1
    for number, (to, found, end) in enumerate(zip(walk.urls, walk.found, walk.ends, strict=True)):
        place = found.place
        if end < 0 or counts[end] > counts[found.begin] or not place.in_article:
            continue
        article = bisect_right(walk.articles, found.begin) - 1
        head = walk.heads_before[article]
        is_headed = head < len(walk.heads) and walk.heads[head] <= found.begin
        if article == last or not is_headed or not _is_document(to, site, url, seen):
            continue
        if not place.is_beside:
            seen.add(to)
            last, cut = article, walk.heads[head]
            begin = counts[max(0, cut - 1)]
            yield _Entry(cut, begin, begin, place.in_entry, True, True, number)


def _rows(walk: Walk, words: Sequence[str], counts: Sequence[int], url: str) -> list[_Entry]:
    """The links beside menus that have a date right before them, or right after, as far as there is
    no long text."""
    links, gaps = list[tuple[int, int, int]](), list[bool]()
    last, cut = 0, -1
    for number, (found, end) in enumerate(zip(walk.found, walk.ends, strict=True)):
        begin, title = counts[found.begin], counts[end]
        if end >= 0 and title > begin:
            if begin - last > OWN:
                break
            gaps.append(_is_day(walk.times, words[last:begin], cut, found.begin))
            links.append((number, begin, title))
            last, cut = title, end
    gaps.append(_is_day(walk.times, words[last : last + OWN], cut, walk.cuts))
    if sum(gaps) < FILES:
        return []
    site = _site(url)
    rows: dict[bool, list[_Entry]] = {False: [], True: []}
    for is_before in rows:
        seen = {url, walk.canonical}
        for link, is_dated in zip(links, gaps if is_before else gaps[1:], strict=False):
            number, begin, title = link
            to, found = walk.urls[number], walk.found[number]
            if is_dated and not found.place.is_beside and _is_document(to, site, url, seen):
                seen.add(to)
                place = found.place
                marks = (place.in_entry, place.in_article, False)
                rows[is_before].append(_Entry(found.begin, begin, title, *marks, number))
    return max(rows.values(), key=len)


def _is_day(times: Sequence[int], gap: Sequence[str], cut: int, end: int) -> bool:
    """Whether a date stands in the words between two links: one that ends at a cut and one that
    begins at another."""
    if times and (at := bisect_right(times, cut)) < len(times) and times[at] <= end:
        return True
    return len(gap) > 0 and _has_day_near(gap)


def _is_document(to: str, site: str, url: str, seen: Container[str | None]) -> bool:
    """Whether a link leads to another page of the site that is no folder of this one."""
    if to in seen or (to.endswith("/") and url.startswith(to)):
        return False
    return _site(to) == site


def _site(url: str) -> str:
    """The host of a URL; empty for a chapter of a book, which has none."""
    return url.partition("://")[2].partition("/")[0]


def _around(walk: Walk, counts: Sequence[int], last: int) -> tuple[int, int]:
    """Words before the end of the list whose last entry has this number, and how many of these are
    links beside it, of menus, or choices of forms."""
    beside, to, at = 0, counts[-1], walk.cuts + 1
    for number, (found, end) in enumerate(zip(walk.found, walk.ends, strict=True)):
        place = found.place
        if place.is_beside and not place.in_entry and end >= 0:
            if number > last:
                to, at = counts[found.begin], found.begin
                break
            beside += counts[end] - counts[found.begin]
    return to, beside + sum(size for cut, size in walk.choices if cut <= at)


def _texts(walk: Walk, counts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Texts without a link: where each begins, and its words."""
    last = 0
    for found, end in zip(walk.found, walk.ends, strict=True):
        yield last, counts[found.begin] - last
        last = counts[end] if end >= 0 else last
    yield last, counts[-1] - last


def _said(walk: Walk, counts: Sequence[int]) -> list[tuple[int, int]]:
    """Texts without a link, and without the choices of forms: where each begins, and its words."""
    choices = [(counts[cut - 1] if cut else 0, size) for cut, size in walk.choices]
    said = list[tuple[int, int]]()
    at = 0
    for begin, size in _texts(walk, counts):
        while at < len(choices) and choices[at][0] < begin:
            at += 1
        its = at
        while its < len(choices) and choices[its][0] < begin + size:
            size -= choices[its][1]
            its += 1
        if size > 0:
            said.append((begin, size))
    return said


def _below_date(walk: Walk, counts: Sequence[int], end: int) -> int:
    """Words of text between the first time of a page and its first entry, before which so many
    words stand."""
    date = walk.before_first_time(counts)
    if date >= end:
        return 0
    texts = [(begin, min(size, end - begin)) for begin, size in _texts(walk, counts) if begin < end]
    return sum(max(0, begin + size - max(begin, date)) for begin, size in texts if size >= RUNNING)


def _above_nested(walk: Walk, counts: Sequence[int], cut: int, end: int) -> int:
    """Words of text between the begin of an `article` and the first entry, before which so many
    words stand and whose `article` stands in that one: a comment on a document does."""
    at = bisect_right(walk.articles, cut) - 1
    if at < 0 or not walk.nested[at]:
        return 0
    outer = next((one for one in range(at, -1, -1) if not walk.nested[one]), 0)
    before = walk.articles[outer]
    begin = counts[before - 1] if before else 0
    texts = _said(walk, counts)
    return sum(min(size, end - at) for at, size in texts if begin <= at < end and size >= RUNNING)


def _are_titles(words: Sequence[str], entries: Sequence[_Entry]) -> bool:
    """Whether most of these links have more than a word, as the names of a thread's authors, or
    hold a heading."""
    long = 0
    for entry in entries:
        title = words[entry.begin : entry.title]
        long += entry.is_card or len(title) != 1 or UNSPACED.match(title[0]) is not None
    return 2 * long > len(entries)


def _are_files(walk: Walk, words: Sequence[str], rows: Sequence[_Entry], url: str) -> bool:
    """Whether these links lead to what lies in the folder of their page, and say its names."""
    folder = url.partition("?")[0].rpartition("/")[0]
    named = 0
    for row in rows:
        to = walk.urls[row.number].partition("?")[0].rstrip("/")
        above, _, name = to.rpartition("/")
        said = " ".join(words[row.begin : row.title]).rstrip("/")
        begin, cut, _ = said.partition("..")  # a long one is cut short
        name = unquote(name)
        named += above == folder and (said == name or bool(cut and name.startswith(begin)))
    return named >= DATED * len(rows)


def _own_articles(articles: Sequence[int], entries: Sequence[_Entry]) -> list[bool]:
    """Whether each entry is the first of an `article`."""
    at = [bisect_right(articles, entry.cut) for entry in entries]
    first = [end > begin for begin, end in pairwise([0, *at])]
    return [one and entry.in_article for one, entry in zip(first, entries, strict=True)]


def _are_all(walk: Walk, own: Sequence[bool]) -> bool:
    """Whether a page has, below a heading, these articles and no other."""
    return all(own) and len(own) == len(walk.articles) and walk.heads_before[0] > 0


def _dated(
    times: Sequence[int], words: Sequence[str], entries: Sequence[_Entry], end: int
) -> list[bool]:
    """Whether a time stands between each entry and the next, or the one before where dates come
    first; or a day in words, near the title or right before the next entry."""
    at = [bisect_left(times, entry.cut) for entry in entries]
    after = [end > begin for begin, end in pairwise([*at, len(times)])]
    before = [end > begin for begin, end in pairwise([0, *at])]
    ends = [*(entry.begin for entry in entries[1:]), end]
    last = without = 0
    for number, (entry, to) in enumerate(zip(entries, ends, strict=True)):
        if to - entry.begin <= SHORT:
            before[number] = before[number] or _has_day(words[last : entry.begin], at_end=True)
            text = words[entry.title : to]
            after[number] = after[number] or _has_day_near(text)
            last = entry.title
        without += not (before[number] or after[number] or entry.is_marked)
        if len(entries) - without < DATED * len(entries):
            break  # whatever the others have
    return max(after, before, key=sum)


def _has_day_near(words: Sequence[str]) -> bool:
    """Whether a day is written among the first or the last of these words."""
    return _has_day(words) or (len(words) > NEAR + _DATE_WORDS and _has_day(words, at_end=True))


def _has_day(words: Sequence[str], *, at_end: bool = False) -> bool:
    """Whether a day is written among the first of these words, or among the last."""
    most = NEAR + _DATE_WORDS
    text = " ".join(words[-most:] if at_end else words[:most])
    return _YEARS.search(text) is not None and _DAY.search(text) is not None
