"""Each form of an export, read back by a reader that is not ours, is what was fetched; and a
stranger's run writes nowhere but there."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import sqlite3
import struct
import subprocess
import sys
import tracemalloc
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # has no types
from markdown_it import MarkdownIt
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # has no stubs

import spoor
from loopback import Asked, Loopback, beside, page, reply
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.files import safe_name, write_whole
from spoor.formats.export import PARTED, form_by_ending, parts, remove, urls_of, write
from spoor.formats.exporters import csv
from spoor.formats.exporters.columns import Options
from spoor.formats.exporters.wacz import keys, payload_digest
from spoor.formats.fields import field_specs, json_ld, microdata, tables_of, values_of
from spoor.http.world_server import serving
from spoor.runs.documents import signatures
from spoor.runs.export import _Earlier
from spoor.runs.near_copies import near_copies
from spoor.runs.reader import Run
from spoor.views.live_page import LivePage
from spoor.views.server import Ui

pytestmark = pytest.mark.server

SEED = "http://pots.example/"
GUIDE = f"{SEED}guide"
WORDS = " ".join(f"word{at}" for at in range(120))
ARTICLE = f"""<!doctype html><html lang="en-GB"><head><title>Firing a kiln: “cones” & more</title>
<meta name="author" content="Ada Clay"><meta property="article:published_time" content="2026-03-04">
<meta property="article:tag" content="Old kilns"><meta name="keywords" content="pots, cheap">
<link rel="license" href="https://creativecommons.org/licenses/by/4.0/">
<script type="application/ld+json">{{"@type": "Article", "headline": "Firing"}}</script></head>
<body><nav><a href="/">Home</a> <a href="/about">About</a></nav><main><h1>Firing a kiln</h1>
<p>A kiln is fired slowly, so that no pot cracks. {WORDS}</p>
<h2>Cones</h2><p>Cone six is enough for stoneware. Nothing else is said here of heat and time.</p>
<table><caption>Temperatures</caption><tr><th>cone</th><th>degrees</th></tr>
<tr><td>6</td><td>1222</td></tr></table>
<pre><code>def fire(kiln):
    return kiln.heat(1222)
</code></pre>
<div itemscope itemtype="https://schema.org/Product"><b itemprop="name">Cone 6</b></div>
<p class="price">12 €</p></main></body></html>"""
SCRIPT = "<script>alert(1)</script> kiln"
TITLES = [SCRIPT, "../../x", "CON", "t" * 300, "Kiln", "KILN", '"\u2028---\ntitle: other', "=1+1"]


def answer(asked: Asked) -> bytes:
    pages = {
        "/": page("/guide", "/copy", *(f"/{at}" for at in range(len(TITLES))), text="Home"),
        "/guide": reply(ARTICLE),
        "/copy": reply(ARTICLE.replace("word7 ", "other ")),
        "/about": reply("", 404),
        "/robots.txt": reply("", 404),
    }
    if asked.path in pages:
        return pages[asked.path]
    number = int(asked.path[1:])
    words = " ".join(f"kiln{number}x{at}" for at in range(60))
    return reply(f"<title>{TITLES[number]}</title><p>{words} \x1b]0;x\x07\x9b</p>")


@pytest.fixture(scope="module")
def pots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("forms") / "run"
    server = Loopback(answer)
    with beside(server.serving):
        command = ["crawl", SEED, "--topic", "kiln", "--out", str(out), "--pages", "20", "--delay"]
        command += ["0", "--connect-to", f"127.0.0.1:{server.port}", "--json"]
        assert run(command) == 0
    return out


def exported(pots: Path, target: Path, *more: str) -> Path:
    assert run(["export", str(pots), str(target), *more]) == 0
    return target


def by_url(rows: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["url"]: row for row in rows}


def test_documents_are_what_was_fetched(pots: Path) -> None:
    opened = spoor.open(pots)
    every = {document.url: document for document in opened.documents(everything=True)}
    assert len(every) == 3 + len(TITLES)
    guide = every[GUIDE]
    assert guide.bytes.decode() == ARTICLE
    assert (guide.kind, guide.language, guide.author) == ("html", "en-GB", "Ada Clay")
    assert guide.date.startswith("2026-03-04")
    assert guide.licence == "https://creativecommons.org/licenses/by/4.0/"
    assert SEED in guide.links
    assert "def fire(kiln):\n    return kiln.heat(1222)" in guide.text
    assert "About" not in guide.text, "navigation is no main text"
    assert all(guide.text[one.start : one.end] == one.text for one in guide.all_passages)
    first = guide.passages[0]
    assert first.headings == ("Firing a kiln",)
    assert first.score > 0
    best = list(opened.documents(min_score=guide.score))
    assert all(document.score >= guide.score and document.relevant for document in best)
    assert list(opened.documents(since=guide.fetched_at.timestamp() + 1e6)) == []
    assert opened.document(GUIDE) is not None
    assert opened.document("http://pots.example/none") is None


def test_a_folder_of_markdown(pots: Path, tmp_path: Path) -> None:
    before = {file.name: file.read_bytes() for file in pots.iterdir() if file.is_file()}
    out = exported(pots, tmp_path / "md", "--all", "--field", "price=.price")
    listed = [json.loads(line) for line in (out / "index.jsonl").read_text("utf-8").splitlines()]
    files = sorted(out.rglob("*.md"))
    assert sorted(row["file"] for row in listed) == [str(one.relative_to(out)) for one in files]
    assert [path.name for path in tmp_path.iterdir()] == ["md"]
    assert len({str(one).lower() for one in files}) == len(files) == 3 + len(TITLES)
    assert all(re.fullmatch(r"[\w-]{1,80}-[0-9a-f]{10}\.md", one.name) for one in files)
    documents = {one.url: one for one in Run(pots).documents(everything=True)}
    for file in files:
        _, head, body = file.read_text("utf-8").split("---\n", 2)
        told = yaml.safe_load(head)
        document = documents[told["url"]]
        assert told.get("title", "") == document.title
        assert (told["score"], told["path"]) == (document.score, list(document.path))
        assert body.strip() == document.markdown.strip()
        assert not set(body) & {"\x1b", "\x07", "\x9b"}
    (guide,) = (out / row["file"] for row in listed if row["url"] == GUIDE)
    assert guide.name.startswith("firing-a-kiln-cones-more-")
    _, head, body = guide.read_text("utf-8").split("---\n", 2)
    told = yaml.safe_load(head)
    assert told["licence"] == "https://creativecommons.org/licenses/by/4.0/"
    assert told["price"] == "12 €"
    assert told["why"][0]["reason"].startswith("'kiln' in its t")
    kinds = [token.type for token in MarkdownIt().enable("table").parse(body)]
    assert {"heading_open", "table_open", "fence", "paragraph_open"} <= set(kinds)
    assert {file.name: file.read_bytes() for file in pots.iterdir() if file.is_file()} == before
    # The same again replaces it; what no export wrote is left alone.
    exported(pots, out)
    assert len(list(out.rglob("*.md"))) < len(files)
    (out / "mine.txt").write_text("mine")
    assert run(["export", str(pots), str(out)]) == 2
    assert (out / "mine.txt").read_text() == "mine"
    text = exported(pots, tmp_path / "txt", "--format", "text")
    listed = [json.loads(line) for line in (text / "index.jsonl").read_text("utf-8").splitlines()]
    assert {row["file"] for row in listed} == {
        str(one.relative_to(text)) for one in text.rglob("*.txt")
    }


def test_no_export_takes_the_place_of_a_pipe_or_of_what_a_process_has_open(
    pots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As one of root did of `/dev/null`."""
    pipe, output = tmp_path / "pipe", tmp_path / "stdout"
    os.mkfifo(pipe)
    output.symlink_to("/proc/self/fd/1")
    for out in (pipe, output):
        assert run(["export", str(pots), str(out), "--format", "jsonl"]) == 2
        assert f"cannot write {out}: not a plain file" in capsys.readouterr().err
        with pytest.raises(OSError, match="not a plain file"):
            write_whole(out, "text")
    assert pipe.is_fifo()
    assert output.is_symlink()
    assert len([*tmp_path.iterdir()]) == 2


def test_what_another_site_copied_does_not_stand_for_a_page_of_a_seed() -> None:
    """It was fetched first; it is the same to the byte, or but for little."""
    words = [f"w{at}" for at in range(400)]
    texts = [" ".join(words), " ".join(["stolen", *words]), " ".join(words)]
    urls = ["http://scraper.example/1", "http://scraper.example/2", "http://www.pots.example/guide"]
    documents: list[Any] = [
        SimpleNamespace(url=url, text=text, bytes=text.encode(), row=SimpleNamespace(number=at + 1))
        for at, (url, text) in enumerate(zip(urls, texts, strict=True))
    ]
    with near_copies(signatures(lambda wanted: documents, ["http://pots.example/"])) as copies:
        assert [number for number in (1, 2, 3) if not copies.is_copy(number)] == [3]
        assert copies.of(3) == urls[:2]
    with near_copies(signatures(lambda wanted: documents, ["http://hub.example/"])) as copies:
        assert copies.of(1) == urls[1:]


def test_near_copies_and_passages(
    pots: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = exported(pots, tmp_path / "a.jsonl", "--no-copies", "--with", "kind,json-ld,tables")
    rows = by_url(map(json.loads, out.read_text("utf-8").splitlines()))
    assert "(1 near-copies left out)" in capsys.readouterr().out
    (kept,) = ({GUIDE, f"{SEED}copy"} & rows.keys(),)
    assert [row["copies"] for url, row in rows.items() if url not in kept and row["copies"]] == []
    assert {*rows[min(kept)]["copies"], *kept} == {GUIDE, f"{SEED}copy"}
    for name in ("txt", "md", "a.wacz"):
        form = ["--format", "text"] if name == "txt" else []
        told = exported(pots, tmp_path / name, "--no-copies", *form)
        if name == "a.wacz":
            with zipfile.ZipFile(told) as file:
                text = file.read("pages/pages.jsonl").decode()
        else:
            files = [file for file in told.rglob("*") if file.is_file()]
            text = "".join(file.read_text("utf-8") for file in files)
        assert re.search(rf'copies"?: ?\["{SEED}(guide|copy)"\]', text), name
    row = rows[min(kept)]
    assert row["json_ld"] == [{"@type": "Article", "headline": "Firing"}]
    assert row["tables"][0] == {
        "caption": "Temperatures",
        "rows": [["cone", "degrees"], ["6", "1222"]],
    }
    assert rows[f"{SEED}4"]["json_ld"] is None
    more = ["--with", "kind,text,markdown"]  # a document is not repeated beside each passage
    out = exported(pots, tmp_path / "a.passages.jsonl", "--min-score", "0.5", *more)
    document = spoor.open(pots).document(GUIDE)
    assert document is not None
    found = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    for one in found:
        assert one["id"] == f"{one['url']}#{one['start']}-{one['end']}"
        assert (one["kind"], "markdown" in one) == ("html", False)
    of_guide = [one for one in found if one["url"] == GUIDE]
    assert [one["text"] for one in of_guide] == [one.text for one in document.passages]
    assert all(one["passage_score"] > 0 for one in of_guide)


@pytest.mark.parametrize("form", PARTED)
def test_a_corpus_in_parts_and_what_came_since(
    pots: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, alone = tmp_path / "corpus", tmp_path / f"alone.{form}"
    parted = exported(pots, out, "--all", "--format", form, "--rows-per-file", "4")
    names = [f"part-0000{number}.{form}" for number in range(3)]
    assert [file.name for file in parts(parted)] == names
    every = [page.url for page in spoor.open(pots).pages()]
    assert [*urls_of(out)] == every
    assert len([*urls_of(out / names[0])]) == 4
    exported(pots, alone)
    relevant = [*urls_of(alone)]
    assert 0 < len(relevant) < len(every)
    capsys.readouterr()
    rest = exported(pots, tmp_path / f"rest.{form}", "--all", "--not-in", str(alone))
    assert f"({len(relevant)} others left out)" in capsys.readouterr().out
    assert sorted([*urls_of(rest), *relevant]) == sorted(every)
    assert remove(out, form, {GUIDE}) >= 1, "also as a copy of another"
    assert [*urls_of(out)] == [url for url in every if url != GUIDE]
    exported(pots, out, "--all", "--format", form, "--rows-per-file", "99")
    assert [file.name for file in out.iterdir()] == names[:1], "one of before is replaced"
    assert run(["export", str(pots), str(tmp_path / "x"), "--not-in", str(pots)]) == 2
    assert run(["export", str(pots), str(tmp_path / "x.wacz"), "--rows-per-file", "4"]) == 2


def test_a_corpus_of_one_language(pots: Path, tmp_path: Path) -> None:
    pytest.importorskip("py3langid")
    columns = ["--with", "words,text-language,keywords", "--field", "price=.price"]
    out = exported(pots, tmp_path / "en.jsonl", "--all", "--language", "English", *columns)
    rows = by_url(map(json.loads, out.read_text("utf-8").splitlines()))
    assert GUIDE in rows
    assert rows[GUIDE]["text_language"] in ("en", None)
    assert rows[GUIDE]["words"] > 150
    assert rows[GUIDE]["keywords"] == ["Old kilns"], "those for search engines are none"
    assert [one.keywords for one in spoor.open(pots).documents() if one.url == GUIDE] == [
        ["Old kilns"]
    ]
    assert f"{SEED}0" not in rows, "made-up words are of no language"
    assert spoor.open(pots).export(tmp_path / "de.jsonl", everything=True, languages=["de"]) == 0
    assert run(["export", str(pots), str(out), "--language", "klingon"]) == 2


def test_sqlite_with_full_text_search(pots: Path, tmp_path: Path) -> None:
    out = exported(pots, tmp_path / "a.sqlite", "--all", "--field", "price[]=.price::text")
    with closing(sqlite3.connect(out)) as db:
        db.row_factory = sqlite3.Row
        assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        found = db.execute(
            "SELECT pages.* FROM search JOIN pages ON pages.id = search.rowid"
            " WHERE search MATCH 'stoneware cone'"
        ).fetchall()
        assert {row["url"] for row in found} == {GUIDE, f"{SEED}copy"}
        stored = by_url(map(dict, db.execute("SELECT * FROM pages")))
    for document in spoor.open(pots).documents(everything=True):
        row = stored[document.url]
        assert (row["text"], row["title"], row["score"]) == (
            document.text,
            document.title,
            document.score,
        )
        assert json.loads(row["path"]) == list(document.path)
    assert json.loads(stored[GUIDE]["price"]) == ["12 €"]
    assert stored[f"{SEED}4"]["price"] is None


MOMENT = "2026-01-01T00:00:00.000+00:00"
NAMED = {"price": "12 €", "none": None, "json_ld": [{"@type": "Article", "headline": "Firing"}]}


@pytest.mark.parametrize("name", ["md", "txt", "a.passages.jsonl", "a.wacz", "a.warc.gz"])
def test_columns_that_were_named_stand_in_every_form(pots: Path, tmp_path: Path, name: str) -> None:
    """Also where they are empty, and after something was taken out; but for WARC, which has none."""
    more = ["--with", "json-ld,tables", "--field", "price=.price", "--field", "none=.none"]
    more += ["--format", "text"] if name == "txt" else []
    out = exported(pots, tmp_path / name, "--all", *more)
    form = {"md": "markdown", "txt": "text"}.get(name) or form_by_ending(name)
    assert form is not None
    assert remove(out, form, {f"{SEED}4"}) > 0
    if name == "md":
        rows = [
            yaml.safe_load(file.read_text("utf-8").split("---\n")[1]) for file in out.rglob("*.md")
        ]
    elif name == "a.wacz":
        with zipfile.ZipFile(out) as file:
            rows = [json.loads(line) for line in file.read("pages/pages.jsonl").splitlines()][1:]
    elif name == "a.warc.gz":
        assert b"json_ld" not in gzip.decompress(out.read_bytes())
        return
    else:
        listed = out / "index.jsonl" if name == "txt" else out
        rows = [json.loads(line) for line in listed.read_text("utf-8").splitlines()]
    told = by_url(rows)
    assert {key: told[GUIDE][key] for key in NAMED} == NAMED
    assert told[GUIDE]["tables"][0]["caption"] == "Temperatures"
    assert [told[f"{SEED}5"][key] for key in (*NAMED, "tables")] == [None] * 4


def test_data_frames_read_the_same(pots: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="the extra pandas is not installed")
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    more = ["--all", "--with", "kind,language,date,author,text,tables", "--field", "price=.price"]
    out = exported(pots, tmp_path / "\udcff.parquet", *more)  # a name that is no text
    table = pandas.read_parquet(out.rename(tmp_path / "a.parquet"))
    frame = spoor.open(pots).to_pandas(everything=True)
    assert list(table["url"]) == list(frame["url"])
    assert list(table["text"]) == list(frame["text"])
    assert [*table["fetched_at"]] == [*frame["fetched_at"]]
    guide = table[table["url"] == GUIDE].iloc[0]
    assert (guide["price"], json.loads(guide["tables"])[0]["caption"]) == ("12 €", "Temperatures")
    assert table[table["url"] == f"{SEED}4"]["price"].isna().all()


def test_groups_of_a_table_end_where_their_texts_are_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    monkeypatch.setattr("spoor.formats.exporters.parquet.CHARACTERS", 1_000)
    rows = ({"url": f"{SEED}{at}", "fetched_at": MOMENT, "text": "x" * 400} for at in range(7))
    columns = {"url": "string", "fetched_at": "time", "text": "string"}
    out = tmp_path / "a.parquet"
    assert write(rows, out, "parquet", Options(columns)) == 7
    with parquet.ParquetFile(out) as file:
        groups = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
        assert file.read().column("url").to_pylist() == [f"{SEED}{at}" for at in range(7)]
    assert groups == [3, 3, 1]


def test_duckdb_reads_tables_and_lines(pots: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    documents = [(one.url, one.score, one.text) for one in spoor.open(pots).documents()]
    for name in ("a.parquet", "a.jsonl"):
        file = exported(pots, tmp_path / name, "--with", "text")
        assert duckdb.sql(f"SELECT url, score, text FROM '{file}'").fetchall() == documents


def test_wacz_holds_what_was_fetched(pots: Path, tmp_path: Path) -> None:
    """Its index is that of another indexer; `wacz validate` checks one in the guide of archives."""
    out = exported(pots, tmp_path / "a.wacz", "--all")
    with zipfile.ZipFile(out) as file:
        (tmp_path / "data.warc.gz").write_bytes(file.read("archive/data.warc.gz"))
        ours = gzip.decompress(file.read("indexes/index.cdx.gz")).decode().splitlines()
        pages = [json.loads(line) for line in file.read("pages/pages.jsonl").splitlines()]
        for part in file.infolist():
            # ReplayWeb.page takes a part without an extra field in the directory for one without
            # an extra field at all, and would read on from the wrong byte.
            (there,) = struct.unpack_from("<H", out.read_bytes(), part.header_offset + 28)
            assert there == 0 or part.extra, part
    command = ["cdxj-indexer", "-s", "--records", "response", str(tmp_path / "data.warc.gz")]
    theirs = tool(command).stdout.splitlines()
    assert [line.split(" ", 2)[:2] for line in ours] == [line.split(" ", 2)[:2] for line in theirs]
    assert [*map(told, ours)] == [*map(told, theirs)]
    documents = {one.url: one for one in Run(pots).documents(everything=True)}
    assert [row["url"] for row in pages[1:]] == list(documents)
    bodies = {}
    with (tmp_path / "data.warc.gz").open("rb") as archive:
        for record in ArchiveIterator(archive):
            if record.rec_type == "response":
                url = record.rec_headers.get_header("WARC-Target-URI")
                bodies[url] = record.content_stream().read()
    assert bodies == {url: document.bytes for url, document in documents.items()}


def tool(command: list[str]) -> subprocess.CompletedProcess[str]:
    """A command that is installed beside this Python."""
    path = Path(sys.executable).parent / command[0]
    return subprocess.run([path, *command[1:]], capture_output=True, text=True, check=False)


def told(line: str) -> list[Any]:
    value = json.loads(line.split(" ", 2)[2])
    names = ("url", "mime", "status", "digest", "length", "offset", "filename")
    return [value.get(name) for name in names]


@pytest.mark.parametrize("url", ["http://a.example:99999999/", "http://[::1/", "http://[a]b/"])
def test_a_url_of_a_stranger_that_cannot_be_taken_apart_is_its_own_key(url: str) -> None:
    assert [*keys(url)] == [url]
    assert [*keys(f"{url}\nx )")] == [f"{url}%0ax%20)"]


# The library warns where it is compiled.
@pytest.mark.filterwarnings("ignore:invalid escape")
def test_keys_of_an_index_are_those_of_others() -> None:
    from surt import surt as theirs

    for url, player in (
        ("http://example.com/", "com,example)/"),
        ("https://www.example.com/A/b?z=1&a=2", "com,example)/a/b?a=2&z=1"),
        ("http://www2.example.co.uk:8080/x", "uk,co,example:8080)/x"),
        ("http://example.com/docs/", "com,example)/docs/"),
        ("http://example.com//docs//?b&a", "com,example)//docs//?a&b"),
        ("http://example.com/a%2F..%2541?a-=1&a=%7C%20", "com,example)/a%2f..%2541?a-=1&a=%7c%20"),
        ("http://[::1]/%C3%A4?%23%25%22", "[::1])/%c3%a4?%23%25%22"),
    ):
        found = [*keys(url)]
        assert found[0] == player
        assert found[-1].replace(":8080", "") == theirs(url).replace(":8080", "")
        assert len(found) == len({*found})


def test_a_reader_reads_without_leaving_the_report(pots: Path) -> None:
    report = (pots / "report.html").read_text("utf-8")
    assert "Cone six is enough for stoneware." in report
    assert "return kiln.heat(1222)" in report
    assert '<th scope="row">html</th>' in report
    live = LivePage(pots, "token", wait=100.0)
    numbers = {one.url: one.row.number for one in Run(pots).documents(everything=True)}
    assert f'href="document?page={numbers[GUIDE]}"' in live.page("nonce")
    served = Ui(pots, wait=100.0)
    with beside(lambda: serving(served)):
        for name, kind in (("document", "text/html"), ("file", "application/octet-stream")):
            address = f"{served.url}{name}?page={numbers[f'{SEED}0']}"
            with urllib.request.urlopen(address, timeout=30) as reply:
                body = reply.read().decode()
                assert reply.headers.get_content_type() == kind
                policy = reply.headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; script-src 'nonce-")
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
            if name == "document":
                assert "<script" not in body
                assert "&lt;script&gt;alert(1)&lt;/script&gt; kiln" in body
            else:
                said = reply.headers["Content-Disposition"]
                assert re.fullmatch(r'attachment; filename="[a-z0-9-]+\.html"', said)
                assert body.startswith(f"<title>{SCRIPT}</title>")
        for asked in ("document?page=99", "file?page=x", "document"):
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(f"{served.url}{asked}", timeout=30)


def test_a_record_without_headers_is_no_bomb() -> None:
    bomb = gzip.compress(bytes(20_000_000), 1)
    tracemalloc.start()
    try:
        nothing = payload_digest(bomb)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()
    assert nothing == payload_digest(b"")
    record = b"WARC/1.1\r\nContent-Length: 26\r\n\r\nHTTP/1.1 200 OK\r\n\r\n1234567\r\n\r\n"
    digest = base64.b32encode(hashlib.sha1(b"1234567").digest()).decode()
    assert payload_digest(gzip.compress(record)) == f"sha1:{digest}"


def test_fields_are_what_stands_there_or_nothing() -> None:
    html = """<p class=t>one <b>two</b></p><a href=/x>1</a><a href=/y>2</a>
    <script type="application/ld+json">{broken</script>
    <script type="application/ld+json">[{"@type": "A"}]</script>
    <div itemscope itemtype="http://schema.org/Thing"><span itemprop=name>N</span></div>
    <table><tr><th colspan=2>wide</th></tr><tr><td rowspan=2>a<td>b</tr><tr><td>c</table>"""
    specs = field_specs(["t=.t", "hrefs[]=a::attr(href)", "n=xpath:count(//a)", "no=.none"])
    assert values_of(html, specs) == {
        "t": "one two",
        "hrefs": ["/x", "/y"],
        "n": "2.0",
        "no": None,
    }
    assert json_ld(html) == [{"@type": "A"}]
    assert microdata(html, SEED) == [
        {"type": "http://schema.org/Thing", "properties": {"name": "N"}}
    ]
    assert tables_of(html) == [
        {"caption": None, "rows": [["wide", "wide"], ["a", "b"], ["a", "c"]]}
    ]
    assert values_of("", specs)["t"] is None
    assert json_ld("") is microdata("", SEED) is tables_of("") is None
    assert microdata("<div ITEMSCOPE>" * 100_000, SEED) is None
    numbers = '<script type="application/ld+json">{"a": [NaN, -Infinity, 1e999, 1.5]}</script>'
    assert json_ld(numbers) == [{"a": [None, None, None, 1.5]}]
    taken = ("url=a", "URL=a", "id=a", "passages=a", "Archive=a", "start=a", "copies=a")
    for spec in ("x", "x=", "9=a", "a=a[[", "a=xpath://[", *taken):
        with pytest.raises(InputError, match="--field"):
            field_specs([spec])


@pytest.mark.parametrize(
    "title", ["../../x", "CON", "nul", "t" * 300, "…", "", ".hidden", "a/b\\c"]
)
def test_a_name_is_safe(title: str) -> None:
    name = safe_name(title, 80)
    assert re.fullmatch(r"[\w-]{1,85}", name)
    assert name.lower() not in ("con", "nul")


def test_near_copies_say_which_stands_for_which() -> None:
    words = [f"w{at}" for at in range(400)]
    other = [f"v{at}" for at in range(400)]
    changed = [*words[:200], "new", *words[201:]]
    documents = [
        (1, "u1", " ".join(words), b"1"),
        (2, "u2", " ".join(other), b"2"),
        (3, "u3", " ".join(changed), b"3"),
        (4, "u4", " ".join(words[:200] + other[:200]), b"4"),
        (5, "u5", "", b"image"),
        (6, "u6", "", b"image"),
        (7, "u7", "", b"another image"),
    ]
    with near_copies(documents) as copies:
        assert [number for number, *_ in documents if copies.is_copy(number)] == [3, 6]
        assert (copies.of(1), copies.of(5), copies.of(2)) == (["u3"], ["u6"], [])


def test_urls_of_a_table_for_spreadsheets_are_known_and_taken_out(tmp_path: Path) -> None:
    """Where one looks like a formula behind a semicolon, an apostrophe stands in it."""
    urls = [f"{SEED}x;=1", f"{SEED}y;-a", f"{SEED}z"]
    out = tmp_path / "x.csv"
    write([{"url": url} for url in urls], out, "csv", Options({"url": "string"}))
    earlier = _Earlier([out])
    assert [url in earlier for url in [*urls, f"{SEED}x"]] == [True, True, True, False]
    assert remove(out, "csv", urls[:2]) == 2
    assert [*urls_of(out)] == urls[2:]


@pytest.mark.parametrize("row", ['"' + "a" * 99, '"a\n",' * 50, "a" * 200])
def test_a_row_without_end_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    monkeypatch.setattr(csv, "MOST_LINE", 90)
    monkeypatch.setattr("csv.field_size_limit", int)  # it is one for the whole process
    (tmp_path / "x.csv").write_text(f"url,title\n{row}\n")
    with pytest.raises(InputError, match="a row has more than 90 characters"):
        [*urls_of(tmp_path / "x.csv")]
