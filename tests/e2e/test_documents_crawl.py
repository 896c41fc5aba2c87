"""Documents of any kind, found by a live crawl: judged, saved, or told why not."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from document_makers import documents_web, reports_web
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, reply
from spoor.cli.main import run
from spoor.documents.document import Unreadable
from spoor.isolate import helper_pool, parsing
from spoor.runs.reader import Run
from spoor.runs.saved_files import remove_saved, saved_name

Web = dict[str, tuple[str, bytes]]


def server_of(web: Web) -> Loopback:
    def answer(asked: Asked) -> bytes:
        found = web.get(asked.path)
        if found is None:
            return MISSING
        whole = reply(found[1], media=found[0])
        return whole if found[0] else whole.replace(b"Content-Type: \r\n", b"")

    return Loopback(answer)


def crawl(server: Loopback, out: Path, pages: int, *more: str) -> None:
    command = ["crawl", "http://docs.example/", "--out", str(out), "--pages", str(pages), *more]
    command += ["--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0", "--per-host", "8"]
    assert run([*command, "--scope", "host", "--json"]) == 0


def rows(out: Path, query: str) -> list[Any]:
    db = sqlite3.connect(out / "state.db")
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


@pytest.mark.long
def test_every_readable_document_is_found_and_saved_and_every_other_told_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web, readable, reasons = documents_web(most=13)
    server, out = server_of(web), tmp_path / "run"
    assert len(readable) == len(set(readable)) > 100
    wanted = ["--want", "match:zanzibar", "--policy", "breadth-first", "--save-files"]
    with beside(server.serving):
        crawl(server, out, 60, *wanted)
        crawl(server, out, 1000, *wanted)
    base = "http://docs.example"
    by_url = dict(rows(out, "SELECT url, relevant FROM pages"))
    asked = Counter(f"{base}{path}" for path in server.pages)
    assert max(asked.values()) == 1, "a resume asks and reads nothing again"

    found = {url for url, relevant in by_url.items() if relevant}
    assert len(found) == len(readable)
    assert {unquote(url) for url in found} == {unquote(f"{base}{path}") for path in readable}
    failures = dict(rows(out, "SELECT url, kind || ': ' || reason FROM failures"))
    report = (out / "report.html").read_text("utf-8")
    for path, reason in reasons.items():
        told = failures[f"{base}{path}"]
        assert reason in told
        assert told.startswith(("unreadable: ", "limit: "))
        assert path in report
        assert told.partition(": ")[2].partition("(")[0] in report

    saved = [file for file in (out / "files").rglob("*") if file.is_file()]
    assert len(saved) == len(readable)
    assert sorted(os.listdir(tmp_path)) == ["run"]
    assert {file.parent for file in saved} == {out / "files" / "docs.example"}
    assert all(len(file.name.encode()) < 150 for file in saved)
    assert len({file.name.lower() for file in saved}) == len(readable)
    bodies = {body for _, body in web.values()}
    assert all(file.read_bytes() in bodies for file in saved)

    document = parsing.extract("", f"{base}/a", web["/pdf/CON"][1])
    assert not isinstance(document, Unreadable)
    assert "zanzibar" in document.text
    for queue in (helper_pool._pages, helper_pool._documents, helper_pool._slow):
        if queue.helper is not None and queue.helper.alive:
            status = Path("/proc", str(queue.helper._process.pid), "status").read_text("ascii")
            peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
            assert int(peak.split()[1]) < 200_000, "kB"
    assert remove_saved(out, next(iter(found))) == 1


@pytest.mark.long
def test_trail_finds_pdfs_by_their_words_with_half_the_requests_of_breadth_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    web, about_kilns = reports_web()
    targets = {f"http://docs.example{path}" for path in about_kilns}
    needed = {}
    with beside((server := server_of(web)).serving):
        for policy in ("breadth-first", "trail"):
            out = tmp_path / policy
            more = ("--topic", "kiln, glaze", "--policy", policy, "--in-flight", "1")
            crawl(server, out, len(web), *more, "--found", str(len(targets)))
            found = [url for (url,) in rows(out, "SELECT url FROM pages ORDER BY seq")]
            places = [place for place, url in enumerate(found, 1) if url in targets]
            assert len(places) == len(targets)
            needed[policy] = places[int(0.9 * len(places)) - 1]
            relevant = {url for (url,) in rows(out, "SELECT url FROM pages WHERE relevant")}
            assert relevant == targets, "whose words stand only inside the PDF"
    assert 2 * needed["trail"] <= needed["breadth-first"], json.dumps(needed)


def test_a_limit_of_a_kind_cuts_its_documents_alone_and_says_so(tmp_path: Path) -> None:
    web = {
        "/": ("text/html", b"kiln <a href=/short>kiln</a> <a href=/long>kiln</a>" + b" kiln" * 600),
        "/short": ("text/plain", b"kiln " * 300),
        "/long": ("application/octet-stream", b"kiln " * 3_000),
    }
    out = tmp_path / "run"
    with beside((server := server_of(web)).serving):
        crawl(server, out, 9, "--want", "match:kiln", "--type-limit", "text=1000", "--save-files")
    told = {one.url: (len(one.bytes), "truncated" in one.row.flags) for one in Run(out).documents()}
    base = "http://docs.example/"
    cut = (1_000, True)
    assert told == {base: (len(web["/"][1]), False), f"{base}short": cut, f"{base}long": cut}
    saved = [file for file in (out / "files").rglob("*") if file.is_file()]
    assert sorted((file.suffix, file.stat().st_size) for file in saved) == [
        (".html", len(web["/"][1])),
        (".txt", 1_000),
        (".txt", 1_000),
    ]


@pytest.mark.parametrize(
    ("url", "media", "folder", "readable", "ending"),
    [
        (
            "http://a.example/x/Annual%20report.pdf?y=1",
            "application/pdf",
            "a.example",
            "Annual-report",
            "pdf",
        ),
        ("http://a.example:8080/", "text/html", "a.example-8080", "index", "html"),
        ("http://con/CON", "application/pdf", "_con", "_CON", "pdf"),
        ("http://a.example/%2e%2e%2f%2e%2e%2fx", "text/plain", "a.example", "x", "txt"),
        (
            "http://a.example/%2Fetc%2Fpasswd%00.pdf",
            "application/pdf",
            "a.example",
            "etc-passwd",
            "pdf",
        ),
        ("http://a.example/陶芸.docx", "application/msword", "a.example", "陶芸.docx", "bin"),
        ("http://a.example/photo", "image/jpeg", "a.example", "photo", "jpg"),
    ],
)
def test_names_of_saved_files(
    url: str, media: str, folder: str, readable: str, ending: str
) -> None:
    where, name = saved_name(url, media)
    assert where == folder
    stem, _, rest = name.rpartition("-")
    assert (stem, rest.rpartition(".")[2]) == (readable, ending)
    assert saved_name(url + "x", media)[1] != name
    assert saved_name(url.upper().replace("HTTP", "http"), media)[1].lower() != name.lower()
