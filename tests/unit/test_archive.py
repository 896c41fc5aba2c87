"""What `spoor web import` reads: JSON lines, WARC, mirror folders, MediaWiki dumps."""

from __future__ import annotations

import bz2
import gzip
import json
import uuid
from pathlib import Path

import pytest
import zstandard

from spoor.errors import InputError
from spoor.types import Choice, Failed, Fetch, Fetched, Redirected
from spoor.worlds.import_web import record
from spoor.worlds.recorded import RecordedWorld

ROWS = [
    {
        "url": "http://a.example/",
        "html": "<title>Front</title><a href=clay.html>clay</a> <a href=/none>none</a>",
        "label": ["home"],
        "site": "a",
    },
    {
        "url": "http://a.example/clay.html",
        "text": "Clay is earth.",
        "links": [{"url": "http://a.example/", "anchor": "back", "context": "go back home"}],
        "label": "pottery",
        "site": "a",
    },
    {"url": "http://a.example/gone", "status": 404, "html": "no", "site": "a"},
]
TEXT = "".join(json.dumps(row) + "\n" for row in ROWS)


def world_of(*sources: Path, tmp_path: Path, **options: str) -> RecordedWorld:
    record(sources, tmp_path / "web", base_url=options.get("base_url"))
    return RecordedWorld(tmp_path / "web")


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_json_lines(tmp_path: Path, ending: str) -> None:
    data = TEXT.encode()
    packed = {
        "jsonl": data,
        "jsonl.gz": gzip.compress(data),
        "jsonl.zst": zstandard.ZstdCompressor().compress(data),
    }[ending]
    source = tmp_path / f"pages.{ending}"
    source.write_bytes(packed)
    world = world_of(source, tmp_path=tmp_path)
    front = world.page("http://a.example/")
    assert (front.title, sorted(front.labels), front.site) == ("Front", ["home"], "a")
    assert [link.anchor.text for link in front.links] == ["clay"]
    clay = world.page("http://a.example/clay.html")
    assert clay.text == "Clay is earth."
    assert [(link.url, link.anchor.text) for link in clay.links] == [("http://a.example/", "back")]
    answer = world.answer(Fetch(1, "http://a.example/gone", "a.example", Choice(0)))
    assert isinstance(answer, Failed)
    assert answer.status == 404


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2"),
        ('{"html": "x"}', "url"),
        ('{"url": "http://a.example/x", "html": 3}', "html"),
        ("[1]", "line 2"),
    ],
)
def test_a_bad_line_is_told_with_its_number(tmp_path: Path, line: str, says: str) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_text(json.dumps(ROWS[0]) + "\n" + line + "\n")
    with pytest.raises(InputError) as error:
        record([source], tmp_path / "web")
    assert says in str(error.value)
    assert "pages.jsonl" in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "web").exists()


def test_a_bad_line_can_be_left_out_and_counted(tmp_path: Path) -> None:
    source = tmp_path / "pages.jsonl"
    source.write_text(TEXT + "{\n")
    summary = record([source], tmp_path / "web", keep_going=True)
    assert summary.skipped == 1
    assert len(RecordedWorld(tmp_path / "web")) == 2


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_a_truncated_file_is_told(tmp_path: Path, ending: str) -> None:
    data = TEXT.encode() * 300
    packed = gzip.compress(data) if ending == "gz" else zstandard.ZstdCompressor().compress(data)
    source = tmp_path / f"pages.jsonl.{ending}"
    source.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError) as error:
        record([source], tmp_path / "web")
    assert str(source) in str(error.value)


def warc(path: Path, *, version: str) -> None:
    """A WARC file by hand: a page, a redirect, a page, a failure."""
    html = "Content-Type: text/html; charset=utf-8\r\n"
    records = [
        response("http://w.example/", "200 OK", html, b"<title>W</title><a href='/b'>to b</a>"),
        response("http://w.example/b", "301 Moved", "Location: /c\r\n", b""),
        response("http://w.example/c", "200 OK", html, "<title>Ç</title>".encode()),
        response("http://w.example/d", "500 Oh", html, b"no"),
    ]
    whole = [f"{version}\r\n".encode() + made for made in records]
    packed = [gzip.compress(made) for made in whole] if path.suffix == ".gz" else whole
    path.write_bytes(b"".join(packed))


def response(url: str, status: str, headers: str, body: bytes) -> bytes:
    block = f"HTTP/1.1 {status}\r\n{headers}\r\n".encode() + body
    head = (
        f"WARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-06T07:08:09Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, url)}>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n"
    )
    return head.encode() + b"\r\n" + block + b"\r\n\r\n"


@pytest.mark.parametrize("version", ["WARC/1.0", "WARC/1.1"])
@pytest.mark.parametrize("name", ["all.warc", "all.warc.gz"])
def test_warc(tmp_path: Path, name: str, version: str) -> None:
    warc(tmp_path / name, version=version)
    world = world_of(tmp_path / name, tmp_path=tmp_path)
    front = world.page("http://w.example/")
    assert front.title == "W"
    assert front.fetched_at == 1714979289
    assert world.page("http://w.example/c").title == "Ç"
    moved = world.answer(Fetch(1, "http://w.example/b", "w.example", Choice(0)))
    assert isinstance(moved, Redirected)
    assert moved.location == "http://w.example/c"
    failed = world.answer(Fetch(2, "http://w.example/d", "w.example", Choice(0)))
    assert isinstance(failed, Failed)
    assert failed.status == 500


def test_a_mirror_folder(tmp_path: Path) -> None:
    root = tmp_path / "mirror" / "m.example"
    (root / "sub").mkdir(parents=True)
    (root / "index.html").write_text("<title>M</title><a href='sub/page.html'>page</a>")
    (root / "sub" / "page.html").write_text("<title>Sub</title><a href='../index.html'>up</a>")
    world = world_of(root, tmp_path=tmp_path, base_url="http://m.example/")
    titles = {page.title for page in world.pages()}
    assert titles == {"M", "Sub"}
    graph = world.graph()
    assert sorted(graph.indices.tolist()) == [0, 1]


DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">
<siteinfo><sitename>Test</sitename><base>https://wiki.example/wiki/Main_Page</base>
<namespaces><namespace key="0" case="first-letter" /><namespace key="14" case="first-letter">Category</namespace>
<namespace key="10" case="first-letter">Template</namespace></namespaces></siteinfo>
<page><title>Clay</title><ns>0</ns><id>1</id><revision><id>11</id><timestamp>2024-01-02T03:04:05Z</timestamp>
<text xml:space="preserve">'''Clay''' becomes [[pottery|ware of clay]] in a [[Kiln]].
== Uses ==
See [[stoneware#Glaze]] and [https://other.example/ elsewhere].
[[Category:Materials]]</text></revision></page>
<page><title>Pottery</title><ns>0</ns><id>2</id><revision><id>12</id><timestamp>2024-01-02T03:04:05Z</timestamp>
<text xml:space="preserve">Made of [[clay]]. {{stub}} [[Category:Crafts]]</text></revision></page>
<page><title>Kiln</title><ns>0</ns><id>3</id><redirect title="Pottery" /><revision><id>13</id>
<timestamp>2024-01-02T03:04:05Z</timestamp><text xml:space="preserve">#REDIRECT [[Pottery]]</text></revision></page>
<page><title>Template:Stub</title><ns>10</ns><id>4</id><revision><id>14</id>
<timestamp>2024-01-02T03:04:05Z</timestamp><text xml:space="preserve">a stub</text></revision></page>
</mediawiki>
"""


@pytest.mark.parametrize("head", ["", "\ufeff", '<?xml version="1.0" encoding="UTF-8"?>'])
def test_a_mediawiki_dump(head: str, tmp_path: Path) -> None:
    source = tmp_path / "dump-pages-articles.xml.bz2"
    source.write_bytes(bz2.compress(f"{head}{DUMP}".encode()))
    world = world_of(source, tmp_path=tmp_path)
    pages = {page.title: page for page in world.pages()}
    assert sorted(pages) == ["Clay", "Pottery"]
    clay = pages["Clay"]
    assert {label.lower() for label in clay.labels} == {"materials"}
    anchors = {link.anchor.text: link.url for link in clay.links}
    assert anchors["ware of clay"] == pages["Pottery"].url
    assert "becomes" in anchors_context(world, clay.url)
    # A link to a redirect leads to where the redirect leads.
    graph = world.graph()
    index = graph.index()
    row = graph.indices[graph.indptr[index[clay.url]] : graph.indptr[index[clay.url] + 1]]
    assert index[pages["Pottery"].url] in row.tolist()


def anchors_context(world: RecordedWorld, url: str) -> str:
    return " ".join(f"{link.anchor.before} {link.anchor.after}" for link in world.page(url).links)


def test_a_dump_that_breaks_off_is_told(tmp_path: Path) -> None:
    source = tmp_path / "dump.xml.bz2"
    source.write_bytes(bz2.compress(DUMP.encode()[:900]))
    with pytest.raises(InputError) as error:
        record([source], tmp_path / "web")
    assert "dump.xml.bz2" in str(error.value)


def test_what_a_run_archived_is_a_web_again(tmp_path: Path) -> None:
    """The files that a crawl writes are read like anybody's."""
    warc(tmp_path / "pages.warc.gz", version="WARC/1.1")
    (tmp_path / "more.jsonl").write_text(TEXT)
    world = world_of(tmp_path / "pages.warc.gz", tmp_path / "more.jsonl", tmp_path=tmp_path)
    answer = world.answer(Fetch(1, "http://a.example/", "a.example", Choice(0)))
    assert isinstance(answer, Fetched)
    assert {page.site for page in world.pages()} >= {"a"}
