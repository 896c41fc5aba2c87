"""Documents of all kinds that are made to cost: none takes more time and memory than the law allows,
and none ends what reads it."""

from __future__ import annotations

import bz2
import gc
import gzip
import json
import time
import weakref
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest
import zstandard
from multidict import CIMultiDict, CIMultiDictProxy
from selectolax.lexbor import LexborHTMLParser

from attacks.measure import Note, within_law
from spoor.documents import html_walk
from spoor.documents.document import Limits
from spoor.documents.html import read_html
from spoor.documents.page import page_of
from spoor.errors import InputError
from spoor.formats import mediawiki, source_file
from spoor.formats.feeds import rss
from spoor.formats.mediawiki import Site
from spoor.formats.sources import open_source
from spoor.http.replies import helper_for, reply_of
from spoor.isolate import parsing
from spoor.isolate.bounds import SECONDS, Bounds
from spoor.isolate.helper_pool import close
from spoor.isolate.parsing import parse_page
from spoor.politeness.retry_after import retry_after
from spoor.politeness.robots import RobotsCache
from spoor.runs.search import around
from spoor.types import Anchor, Failed, Fetched, Link, Page, Recording
from spoor.web import robots, sitemaps
from spoor.web.exchange import Exchange
from spoor.web.freshness import fresh_for
from spoor.web.other_ways import without_repeats
from spoor.web.parts import first_part
from spoor.web.requisites import of_html
from spoor.web.search_index_readers import links_of as listed_in
from spoor.web.sitemaps import MAX_LINKS, links_of
from spoor.web.urls import Joiner

AT = "http://www.example.com/"
MB = 1 << 20

# ---------------------------------------------------------------- sitemaps and feeds

zipped = gzip.compress
URLSET = b"<urlset>"
SITEMAPS: dict[str, Callable[[], bytes]] = {
    "elements": lambda: URLSET + b"<a/>" * (4 * MB // 4),
    "elements, zipped": lambda: zipped(URLSET) + zipped(b"<url/>" * 100_000) * 40,
    "names of elements": lambda: URLSET + b"".join(b"<x%d/>" % n for n in range(300_000)),
    "one tag": lambda: URLSET + b"<a" + b"x" * 8 * MB,
    "attributes": lambda: URLSET + b"<a " + b"".join(b'a%d="" ' % n for n in range(300_000)),
    "references in one attribute": lambda: URLSET + b'<a b="' + b"&amp;" * MB + b'"/>',
    "references": lambda: URLSET + b"<url><loc>" + b"&amp;" * MB,
    "sections of text": lambda: URLSET + b"<url><loc>" + b"<![CDATA[a]]>" * 300_000,
    "long addresses, zipped": lambda: zipped(
        URLSET + b"".join(b"<url><loc>/%d/%s</loc></url>" % (n, b"x" * 1000) for n in range(9_000))
    ),
    "escaped addresses": lambda: (
        URLSET + b"".join(b"<url><loc>/%d/%s</loc></url>" % (n, b"%61" * 900) for n in range(1000))
    ),
    "addresses that are none": lambda: (
        URLSET + b"".join(b"<url><loc>mailto:%d</loc></url>" % n for n in range(9_000))
    ),
    "lines, zipped": lambda: zipped(b"x\n") + zipped(b"\n" * MB) * 24,
    "one address again, zipped": lambda: zipped(b"http://a.example/\n" * 10_000) * 100,
    "empty members": lambda: zipped(b"") * 100_000,
    "zipped twice": lambda: zipped(zipped(bytes(MB)) * 200),
}


@pytest.mark.parametrize("made", SITEMAPS.values(), ids=SITEMAPS)
def test_sitemaps(made: Callable[[], bytes], record_property: Note) -> None:
    body = made()
    links = within_law(lambda: links_of(body, AT), len(body), record_property)
    assert len(links) <= MAX_LINKS


def test_entries_before_a_limit_count() -> None:
    row = b"<url><loc>/%d</loc><lastmod>2026-01-01</lastmod></url>"
    body = URLSET + b"".join(row % n for n in range(900)) + b"<a/>" * 410_000
    assert len(links_of(body, AT)) == 900


INVENTORY = b"# Sphinx inventory version 2\n\n\n\n"
INDEXES = {
    "records": lambda: b"[{" + b'"href":"a","title":"b"},{' * 400_000,
    "records, titles first": lambda: b"[{" + b'"title":"b","url":"a"},{' * 400_000,
    "URLs without titles": lambda: b'[{"title":"b",' + b'"url":"a",' * 1_000_000,
    "titles that are none": lambda: b"[{" + b'"title":{},"url":"a",' * 480_000,
    "a search of its own": lambda: b'{"ref":"url"' + b',"title":{"1":{}}' * 600_000 + b"}",
    "quotes within": lambda: b'[{"url":"a","title":1},{"url":"b","x":"' + b'\\"' * 5 * MB,
    "quotes": lambda: b'[{"url":"a","title":' + b'"' * 10 * MB,
    "rows": lambda: b'[["a","b"],' + b'["a","b"],' * 1_000_000,
    "rows within": lambda: b'[["' + b',["' * 3_500_000,
    "types": lambda: b"typeSearchIndex = [" + b'{"p":"a","l":"B"},' * 580_000,
    "types that are none": lambda: b"typeSearchIndex = [" + b'{"p":' * 2_000_000,
    "lists in lists": lambda: b"sidebarNodes=" + b"[" * 10 * MB,
    "lists": lambda: b'sidebarNodes={"a":[' + b"[]," * 3_400_000,
    "a string": lambda: b'sidebarNodes={"a":"' + b'\\"' * 5 * MB,
    "packed": lambda: INVENTORY + zlib.compress(bytes(MB) * 100),
    "packed lines": lambda: INVENTORY + zlib.compress(b"a std:doc -1 $ b\n" * 4_000_000),
    "packed words": lambda: INVENTORY + zlib.compress(b"a std:doc x\n" * 5_000_000),
    "packed in vain": lambda: INVENTORY + zlib.compress(b"")[:-4] + b"\0\0\0\xff\xff" * 2_000_000,
}


@pytest.mark.parametrize("made", INDEXES.values(), ids=INDEXES)
def test_search_indexes(made: Callable[[], bytes], record_property: Note) -> None:
    body = made()[: 10 * MB]
    links = within_law(lambda: listed_in(body, AT), len(body), record_property)
    assert len(links) <= MAX_LINKS


# ---------------------------------------------------------------- headers

BLANKS = " " * 60_000
HEADERS = [
    f"text/html; charset={BLANKS};",
    f"text/html; charset={BLANKS}'{BLANKS};",
    "text/html; charset= " * 3_000,
    f"max-age{BLANKS}={BLANKS}x",
    f"Mon, 1 Jan{BLANKS}2020",
    "(" * 60_000,
    f"unavailable_after:{BLANKS}",
]


@pytest.mark.parametrize("name", ["Content-Type", "Cache-Control", "Last-Modified", "X-Robots-Tag"])
def test_a_header_costs_little(name: str) -> None:
    """Of 64 KiB: it is read in the loop."""
    began = time.process_time()
    for value in HEADERS:
        headers = CIMultiDictProxy(CIMultiDict([(name, value)]))
        exchange = Exchange(AT, 200, "OK", (), headers, b"kiln", b"kiln", 0.0, 0.0)
        assert isinstance(reply_of(0, exchange, 100.0, Joiner(), 0.0, page_of), Fetched | Failed)
        fresh_for(headers)
        retry_after(value, 0.0)
    assert time.process_time() - began < 1.0


# ---------------------------------------------------------------- robots.txt

EVERYONE = b"User-agent: *\n"
ROBOTS = {
    "wildcards": EVERYONE + b"Disallow: /%d*x\n" * 32_000,
    "one rule of wildcards": EVERYONE + b"Disallow: /" + b"*a" * 250_000,
    "rules": EVERYONE + b"".join(b"Disallow: /%d\n" % n for n in range(30_000)),
    "ends": EVERYONE + b"".join(b"Disallow: /%d$\n" % n for n in range(26_000)),
    "dollars": EVERYONE + b"Disallow: /" + b"$" * 500_000,
    "sitemaps": b"".join(b"Sitemap: /%d\n" % n for n in range(32_000)),
    "agents": b"".join(b"User-agent: x%d\n" % n for n in range(26_000)),
    "lines": b"\n" * 500_000,
    "blanks": b"User-agent" + b" " * 500_000,
}


@pytest.mark.parametrize("body", ROBOTS.values(), ids=ROBOTS)
def test_robots_txt(body: bytes, record_property: Note) -> None:
    url = AT + "a" * 2_000

    def ask() -> bool:
        rules = robots.parse(body, "spoor", url=f"{AT}robots.txt")
        return rules.allowed(url)

    allowed = within_law(ask, len(body), record_property)
    assert allowed is not (body is ROBOTS["wildcards"]), "whose rules take too long is left alone"


def test_long_rules_of_many_hosts_have_a_bound(record_property: Note) -> None:
    """Any name below a domain may have a robots.txt of its own."""
    body = ROBOTS["rules"]
    cache, kept = RobotsCache(), weakref.WeakSet[object]()
    small = cache.store("http://small.example", robots.parse(EVERYONE + b"Disallow: /x", "us"), 0.0)
    assert gc.isenabled()
    gc.disable()  # a crawl collects garbage seldom
    try:
        for host in range(5):
            rules = robots.parse(body, "us")
            kept.add(rules._patterns)
            assert cache.store(f"http://{host}.example", rules, 0.0) is rules
            del rules
    finally:
        gc.enable()
    record_property("bound", "32 MB")
    record_property("measured", f"{len(kept)} of 5 kept")
    assert 1 <= len(kept) < 4
    assert cache.rules("http://4.example", 1.0) is not None
    assert cache.rules("http://small.example", 1.0) is small


def test_short_rules_of_hosts_without_end_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were stored last stay, what could not be had is waited for as before."""
    monkeypatch.setattr("spoor.politeness.robots.MOST_OF_ALL", 1 << 20)
    cache, kept = RobotsCache(), weakref.WeakSet[object]()
    body = EVERYONE + b"".join(b"Disallow: /%d\n" % rule for rule in range(10))
    for host in range(1_000):
        rules = robots.parse(body, "us")
        kept.add(rules._patterns)
        cache.store(f"http://{host}.example", rules, 0.0)
        cache.store(f"http://{host}.gone.example", robots.DISALLOW_ALL, 0.0)
    assert 100 < len(kept) < 300
    assert cache.rules("http://999.example", 1.0) is not None
    assert cache.rules("http://0.example", 1.0) is None
    assert cache.wait("http://999.gone.example", 0.0) == 5.0
    assert cache.wait("http://0.gone.example", 0.0) == 0.0


# ---------------------------------------------------------------- links

HEADING = "h" * 30_000
LINKED = {
    "headings": (
        "text/html",
        "".join(f"<h{level}>{level}{HEADING[:400]}</h{level}>" for level in range(1, 7))
        + "".join(f"<a href=/{n}>x</a>" for n in range(5_000)),
    ),
    "a base": (
        "text/html",
        f"<base href=/{HEADING[:8_000]}/>" + "".join(f"<a href={n}>x</a>" for n in range(5_000)),
    ),
    "paths of elements": (
        "text/html",
        f"<div id={HEADING[:40]} class={HEADING[:60]}>" * 32
        + "".join(f"<a href=/{n}>x</a>" for n in range(5_000)),
    ),
    "the title of an entry": (
        "application/rss+xml",
        f"<rss version='2.0'><channel><title>{HEADING}</title><item><title>{HEADING}</title><description>"
        + " ".join(f"http://a.example/{n}" for n in range(4_000))
        + "</description></item></channel></rss>",
    ),
}


LONG_RUNS = {
    "digits in a fragment": lambda: page_of(
        f"<a href='/p?a=1#{'1' * 40_000}x'>y</a>".encode(), AT, content_type="text/html"
    ),
    "blanks in a srcset": lambda: of_html(b"<img srcset='%b'>" % (b",\n" * 20_000), AT, "", 1_000),
    "marks in an index": lambda: around("\x01" * 60_000),
    "escaped ticks": lambda: page_of(
        b"\\`" + b"`" * 20_000, f"{AT}x.md", content_type="text/markdown"
    ),
}


@pytest.mark.parametrize("name", LONG_RUNS)
def test_a_long_run_of_signs_costs_little(name: str, record_property: Note) -> None:
    """Each was looked at from each of its signs: 2 to 10 s, some of them in the crawl's process."""
    within_law(LONG_RUNS[name], 60_000, record_property)


@pytest.mark.parametrize("name", LINKED)
def test_what_is_kept_with_the_links_of_a_page(name: str, record_property: Note) -> None:
    media, text = LINKED[name]
    page = parse_page(text.encode(), AT, content_type=media)
    kept = sum(len(json.dumps(link)) for link in page.links)
    bound = 20 * len(text) + 5 * MB
    record_property("bound", f"{bound >> 10} KB")
    record_property("measured", f"{kept >> 10} KB")
    assert len(page.links) > 100
    assert kept <= bound
    assert len(page.title) <= 2_000


# ---------------------------------------------------------------- wikitext

WIKITEXT = {
    "attributes": "<div a=" * 20_000,
    "tags": "<ref>" * 50_000,
    "links": "[http://a " * 50_000,
    "quotes": "''" * 100_000,
}


@pytest.mark.parametrize("text", WIKITEXT.values(), ids=WIKITEXT)
def test_wikitext(text: str, record_property: Note) -> None:
    pytest.importorskip("mwparserfromhell")
    record_property("bound", f"{SECONDS} s, by the kernel")
    entry = mediawiki.recording("Title", None, text, None, Site(), "dump")
    assert isinstance(entry.reply, Fetched | Failed)
    given_up = isinstance(entry.reply, Failed)
    record_property("measured", "given up" if given_up else "parsed")
    if isinstance(entry.reply, Failed):
        assert entry.reply.kind == "limit"
        assert entry.reply.reason.startswith("parsing it takes over")


def test_an_article_after_one_that_was_given_up() -> None:
    pytest.importorskip("mwparserfromhell")
    close()
    text = "== Head ==\nA [[thing|word]] in [[place]]. [[Category:X]]"
    reply = mediawiki.recording("Title", None, text, None, Site(), "dump").reply
    assert isinstance(reply, Fetched)
    page = reply.page
    assert [link.anchor.text for link in page.links] == ["word", "place"]
    assert page.links[0].anchor.headings == ("Title", "Head")
    assert (page.labels, page.headings) == (frozenset({"X"}), ("Title", "Head"))


# ---------------------------------------------------------------- archives and dumps

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def record(block: bytes, date: str = "2026-01-01T00:00:00Z", length: object = None) -> bytes:
    fields = {
        "WARC-Type": "response",
        "WARC-Record-ID": "<urn:uuid:00000000-0000-0000-0000-000000000000>",
        "WARC-Target-URI": AT,
        "WARC-Date": date,
        "Content-Type": "application/http; msgtype=response",
        "Content-Length": len(block) if length is None else length,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return b"WARC/1.1\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"


LONG = record(HEAD, length=90 * MB)[:-4]
BOMB = HEAD + b"Content-Encoding: gzip\r\n\r\n" + zipped(bytes(MB)) * 200
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ZEROS = bytes(MB)
PAGE = b"<mediawiki><page><title>T</title><ns>0</ns><revision><text>"
LAUGHS = b"<!ENTITY a '%s'>" % (b"a" * 99)
BLANKS = "<!--" + " " * (7 * MB) + "-->"


def utf16(xml: str) -> bytes:
    """XML in UTF-16, in which a comment has the bytes of a dump in ASCII."""
    mark = b"<mediawiki".decode("utf-16-le")
    return f"\ufeff<!-- {mark} -->{xml}".encode("utf-16-le")


ARCHIVES: dict[str, Callable[[], bytes]] = {
    "a bomb in a record": lambda: record(BOMB),
    "a bomb in a zipped record": lambda: zipped(record(BOMB)),
    "a zipped record": lambda: zipped(LONG) + zipped(ZEROS) * 90,
    "a record in zstandard": lambda: zstandard.compress(LONG) + zstandard.compress(ZEROS) * 90,
    "a record in bzip2": lambda: bz2.compress(LONG) + bz2.compress(ZEROS) * 90,
    "a line of a head, zipped": lambda: zipped(b"WARC/1.1\r\nX: ") + zipped(ZEROS) * 90,
    "headers of a reply": lambda: record(HEAD + b"X: a\r\n" * 500_000),
    "chunks": lambda: record(CHUNKED + b"1\r\na\r\n" * 500_000 + b"0\r\n\r\n"),
    "the length of a chunk": lambda: record(CHUNKED + b"fffffffffffffff\r\nabc"),
    "empty members": lambda: zipped(record(HEAD)) + zipped(b"") * 100_000,
    "an article without end": lambda: bz2.compress(PAGE) + bz2.compress(b"a" * MB) * 40,
    "elements of a dump": lambda: zipped(b"<mediawiki>") + zipped(b"<a/>" * MB) * 10,
    "entities": lambda: b"<!DOCTYPE mediawiki [" + LAUGHS + b"]>" + PAGE + b"&a;" * MB,
    "entities in UTF-16": lambda: zipped(
        utf16(f"<!DOCTYPE m [<!ENTITY a '{'a ' * 30_000}'>]>{BLANKS}{PAGE.decode()}{'&a;' * 9_999}")
    ),
    "attributes that are declared": lambda: (
        b"<!-- <mediawiki --><!DOCTYPE m [<!ATTLIST a b CDATA '%s'>]><m>" % (b"b" * MB)
        + b"<a/>" * 300
    ),
    "a line of JSON, zipped": lambda: zipped(b'{"url": "') + zipped(b"a" * MB) * 90,
}


def read(file: Path) -> list[Recording | str]:
    """What a source holds, at most three records of it; the last may be why it ends."""
    read: list[Recording | str] = []
    try:
        for job in open_source(file).jobs():
            entry = job()
            read += [] if entry is None or len(read) > 3 else [entry]
    except InputError as error:
        read.append(str(error))
    return read


@pytest.mark.parametrize("made", ARCHIVES.values(), ids=ARCHIVES)
def test_archives(made: Callable[[], bytes], tmp_path: Path, record_property: Note) -> None:
    file = tmp_path / "source"
    file.write_bytes(made())
    # A record that is unpacked has the memory that a record may have.
    size = max(file.stat().st_size, min(source_file.MAX_BODY, 8 * MB))
    for told in within_law(lambda: read(file), size, record_property):
        assert isinstance(told, Recording) or "\n" not in told


@pytest.mark.parametrize(
    "date", ["yesterday", "99999-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "2026-13-41", ""]
)
def test_a_date_that_is_none_is_left_out(date: str, tmp_path: Path) -> None:
    file = tmp_path / "a.warc"
    file.write_bytes(record(HEAD + b"\r\n<p>words", date))
    (entry,) = read(file)
    assert isinstance(entry, Recording)
    assert isinstance(entry.reply, Fetched)
    assert entry.time is None
    assert entry.reply.page.text == "words"


@pytest.mark.parametrize("length", [-5, 2**63 - 1, 10**30, "x"])
def test_a_length_that_is_none_is_told_in_one_line(length: object, tmp_path: Path) -> None:
    file = tmp_path / "a.warc"
    file.write_bytes(record(HEAD, length=length))
    assert all(isinstance(told, Recording) or "\n" not in told for told in read(file))


@pytest.mark.parametrize(
    "row",
    [
        *('"fetched_at": 1e300', '"fetched_at": NaN', '"fetched_at": "0001-01-01T00:00:00+14:00"'),
        *(f'"status": {10**30}', '"fetched_at": -1'),
    ],
)
def test_a_number_that_is_none_is_told_in_one_line(row: str, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(f'{{"url": "{AT}", "text": "words", {row}}}\n')
    (told,) = read(file)
    assert isinstance(told, str)
    assert "line 1" in told


# ---------------------------------------------------------------- feeds that are written


def test_a_feed_is_well_formed_whatever_a_title_holds() -> None:
    title = "".join(map(chr, [*range(0x300), 0xD800, 0xDFFF, 0xFFFE, 0xFFFF, 0x1F600])) + "]]><&"
    line = {
        "id": title,
        "url": f"{AT}?{title}",
        "title": title,
        "version": 1,
        "kind": "new",
        "date": None,
        "found_at": "2026-01-01T00:00:00+00:00",
    }
    feed = ElementTree.fromstring(rss([line, {**line, "title": "\x00"}], title))
    titles = [item.findtext("title") or "" for item in feed.iter("item")]
    assert titles[0].startswith(AT)
    assert titles[1].endswith("]]>&lt;&")


# ---------------------------------------------------------------- main text of HTML

FILL = "x<br>" * 200_000
SHAPES = {
    "paragraphs": "<p>x" * 130_000,
    "items": "<li>x</li>" * 50_000,
    "links": "<a href=/x>y</a> " * 30_000,
    "blocks in blocks": "<div>x" * 40_000,
    "attributes": "<p a b c d e f g h i j>x" * 20_000,
    "items in items": "<ul><li>x" * 20_000,
    "formatting in blocks": "<i>x<div>" * 20_000,
    "formatting opened again": "".join(f"<b id={n}>" for n in range(300)) + "<p>x</p>" * 5_000,
    "formatting cut off": "<span><b id=a></span>x<u></p>" * 8_000,
    "drawings that end": "<svg><div>" + "<path/>" * 40_000,
    "end tags in attributes": "<div title='</div>'>x" * 25_000,
    "end tags in scripts": "<div><script></div></script>x" * 18_000,
    "end tags in comments": "<div><!--</div>-->x" * 27_000,
    "end tags out of reach": "<div><table></div></table>x" * 19_000,
    "end tags through blocks": "<span><div></span></div>x" * 20_000,
    "short links, 2 MiB": "<a href=x>y</a> " * 131_072,
    "bold letters, 2 MiB": "<b>x</b>" * 262_144,
    "tables, 2 MiB": "<table><tr><td>a<td>b<tr><td>c<td>d</table>" * 48_750,
    "signs of Markdown, 4 MiB": "*_[]" * 1_048_576,
}
"""Documents of .1 to .5 MB, and longer ones; the longest took up to a minute, and a gigabyte."""


ARTICLE = '<script type="application/ld+json">{"@type": "Article"}</script>'


@pytest.mark.parametrize(
    ("name", "head"),
    [*((name, "") for name in SHAPES), *((name, ARTICLE) for name in SHAPES if "MiB" not in name)],
)
def test_main_text(name: str, head: str, record_property: Note) -> None:
    body = f"{head}{SHAPES[name]}".encode()
    read_html("text/html", AT, f"{head}<p>{'a few words ' * 50}".encode(), Limits())  # loads all
    read = within_law(
        lambda: read_html("text/html", AT, body, Limits()), len(body), record_property
    )
    assert read.notes[0] == "the text or the links are cut"
    assert read.text or name == "drawings that end"


def test_lines_in_lines_of_a_listing_are_read_once() -> None:
    """Each line was read with all within it, up to the depth of the page times its text."""
    body = "<div class=fragment>" + "<div class=line>kiln" * 50 + "x<b>y</b>" * 500
    read = read_html("text/html", AT, body.encode(), Limits())
    assert [block.kind for block in read.blocks] == ["code"]
    assert read.text == "kiln" * 50 + "xy" * 500
    folds = "<div class=fragment><div class=line>a</div>" + "<div><div class=line>b</div>" * 2
    assert read_html("text/html", AT, folds.encode(), Limits()).text == "a\nb\nb"


@pytest.mark.parametrize(
    ("opened", "asked"),
    [("<a href=#><marquee>", html_walk._is_permalink), ("<table><tr><td>", html_walk._rows)],
)
def test_links_in_links_and_tables_in_tables_are_gone_through_once(
    opened: str, asked: Callable[[object], object], record_property: Note
) -> None:
    """Each was gone through with all within it."""
    source = opened * 250 + FILL
    tree = LexborHTMLParser(source)
    nodes = tree.css(opened[1 : opened.index(">")].split()[0])
    assert len(nodes) == 250
    made = within_law(lambda: [asked(node) for node in nodes], len(source), record_property)
    assert not any(made)
    once = LexborHTMLParser("<a href=#><b>¶</b></a><table><tr><th>a<td>b<tr><td>c<td>d")
    assert html_walk._is_permalink(once.css("a")[0])
    assert len(html_walk._rows(once.css("table")[0])) == 2


def test_a_long_feed_of_json_is_not_read_where_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python reads JSON in one piece, which for 6 MB within all bounds held every other site of a
    watch for .25 s, also in a thread."""
    url, entry = "http://a.example/feed", {"date_modified": "2020-01-01T00:00:00Z", "x": ["y"] * 6}
    items = [{"url": f"http://a.example/{number}", **entry} for number in range(1_000)]
    body = json.dumps({"version": "https://jsonfeed.org/version/1", "items": items}).encode()
    expected = sitemaps.dates_of(body, url)
    assert len(expected) == 1_000
    monkeypatch.delattr(sitemaps, "json_of")
    headers = CIMultiDictProxy(CIMultiDict({"Content-Type": "application/json"}))
    exchange = Exchange(
        *(url, 200, "OK", (), headers, body, body, 0.0, 1.0),
        sitemap=True,
        watched=True,
    )
    assert helper_for(exchange) == "documents"
    read = partial(reply_of, 0, exchange, 1000.0, Joiner(), 0.0)
    for parse in (parse_page, partial(parse_page, brief=True), partial(parse_page, slow=True)):
        reply = read(parse)
        assert isinstance(reply, Fetched)
        assert reply.page.dated == expected
        assert reply.page.flags == {"sitemap", "not-html"}
    monkeypatch.setattr(parsing, "DOCUMENT", Bounds(8.0, 1 << 10, 0))
    assert isinstance(read(parse_page), Failed), "as any other document that costs too much"


@pytest.mark.parametrize("queries", ["long", "none"])
def test_the_first_part_of_a_document_is_found_at_little_cost(
    queries: str, record_property: Note
) -> None:
    """Each parameter of the page was looked for among those of each link, parted anew each time."""
    own = "&".join(f"a{n:x}" for n in range(1_800))
    its = "&".join(f"b{n:x}" for n in range(1_800)) if queries == "long" else ""
    links = [
        Link(f"http://a.example/s?{n}&{its}", Anchor("1")) for n in range(500 if its else 5_000)
    ]
    page = Page(
        f"http://a.example/s?{own}&page=2",
        links=[*links, Link(f"http://a.example/s?{own}", Anchor("1"))],
    )
    size = sum(len(link.url) for link in links)
    first = within_law(lambda: first_part(page), size, record_property)
    assert first == f"http://a.example/s?{own}"


def test_links_of_a_page_with_thousands_of_parameters_cost_little(record_property: Note) -> None:
    """Each was compared with all of them: 10 seconds for a page of 2 MiB."""
    own = "&".join(f"{n:x}" for n in range(1_800))
    few = [Link(f"http://a.example/s?print={n}&x") for n in range(5_000)]
    many = [Link(f"http://a.example/s?print={n}&{own}") for n in range(500)]
    pages = [Page(f"http://a.example/{name}?{own}", links=few + many) for name in ("s", "tree/s")]
    size = sum(len(link.url) for link in few + many)

    def read() -> list[int]:
        return [len(without_repeats(page, page.links)) for page in pages]

    assert within_law(read, size, record_property) == [5_500, 5_500]
