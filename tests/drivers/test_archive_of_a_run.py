"""The WARC files of a run: read by two readers, cut by size, and what its journal leaves to them."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # it has no stubs

from kills import KilledError, check_run, digest
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, page, reply
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.live.live_crawl import LiveCrawl
from spoor.runs.assemble import make_crawl
from spoor.runs.database import reading
from spoor.runs.writer import RunWriter
from spoor.settings import Settings

SEED = "http://a.example/"
PAGES = 12
BIG = 11 << 20


def answer(asked: Asked) -> bytes:
    if asked.path == "/":
        return page(*(f"/{number}" for number in range(PAGES)), "/moved", "/big", "/gone", "/zip")
    name = asked.path[1:]
    if name == "moved":
        return reply("", 301, Location="/target")
    if name == "zip":
        return reply(b"PK\3\4" + bytes(5_000), media="application/zip")
    if name == "big":
        return reply(b"<p>clay " + b"x" * BIG)
    if name == "target" or name.isdigit():
        body = f"<title>{name}</title><p>clay and {name}, again and again {name * 40}".encode()
        if name.isdigit() and int(name) % 3 == 0:
            return reply(gzip.compress(body), Content_Encoding="gzip")
        if name.isdigit() and int(name) % 3 == 1:
            return reply(zlib.compress(body)[2:-4], Content_Encoding="deflate")
        return reply(body)
    return MISSING


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    loopback = Loopback(answer)
    with beside(loopback.serving):
        yield loopback


def opened(
    server: Loopback,
    out: Path,
    *,
    pages: int = 100,
    at: Callable[[str, Crawl], None] = lambda point, crawl: None,
    warc: bool = True,
    **more: Any,
) -> LiveCrawl:
    settings = Settings(
        seeds=(SEED,),
        want=("text:clay",),
        policy="trail",
        scope="anywhere",
        pages=pages,
        delay=0.0,
        robots=False,
        traps=True,
        warc=warc,
        connect_to=f"{ADDRESS}:{server.port}",
    )
    crawl = make_crawl(settings)
    folder = RunWriter(out, settings, failpoint=lambda point: at(point, crawl), **more)
    try:
        return LiveCrawl(folder, crawl)
    except BaseException:
        folder.close()
        raise


def killed(server: Loopback, out: Path, **more: Any) -> str:
    """Let a run die after its fourth commit, with three pages; the digest of the crawl then."""
    commits, pages, last = 0, 0, ""

    def at(point: str, crawl: Crawl) -> None:
        nonlocal commits, pages, last
        if point == "committed":
            commits, pages, last = commits + 1, crawl.counts.pages, digest(crawl)
        elif point == "sending" and commits > 4 and pages > 2:
            raise KilledError

    run = opened(server, out, at=at, **more)
    with pytest.raises(KilledError):
        run.run()
    run.folder.close()
    return last


def going(run: LiveCrawl) -> None:
    try:
        run.run()
    finally:
        run.folder.close()


def records(out: Path) -> list[tuple[str, str, dict[str, str], bytes]]:
    """(file, type, headers, content) of every record, by two readers that must agree."""
    found: list[tuple[str, str, dict[str, str], bytes]] = []
    for file in sorted(out.glob("pages*.warc.gz")):
        assert gzip.decompress(file.read_bytes()), "as gzip -t would say"
        with file.open("rb") as stream:
            by_warcio = [
                (record.rec_type, dict(record.rec_headers.headers), record.raw_stream.read())
                for record in ArchiveIterator(
                    stream, check_digests="raise", no_record_parse=True, ensure_http_headers=False
                )
            ]
        with file.open("rb") as stream:
            by_fastwarc = [
                (record.headers["WARC-Type"], dict(record.headers), record.reader.read())
                for record in FastIterator(stream, parse_http=False, verify_digests=True)
            ]
        assert by_fastwarc == by_warcio
        assert by_warcio[0][0] == "warcinfo"
        found += [(file.name, *record) for record in by_warcio]
    return found


def test_each_page_is_there_with_what_was_thought_of_it(server: Loopback, tmp_path: Path) -> None:
    going(opened(server, tmp_path / "run"))
    with reading(tmp_path / "run") as db:
        rows = {row["url"]: dict(row) for row in db.execute("SELECT * FROM pages")}
    responses: dict[str, str] = {}
    described: dict[str, dict[str, Any]] = {}
    for _, kind, headers, content in records(tmp_path / "run"):
        if kind == "response":
            responses[headers["WARC-Record-ID"]] = headers["WARC-Target-URI"]
            cut = headers.get("WARC-Truncated")
            name = headers["WARC-Target-URI"].rpartition("/")[2]
            # The body of a kind that is not read was not received.
            assert cut == {"big": "length", "zip": "unspecified"}.get(name)
        elif kind == "metadata":
            url = responses[headers["WARC-Concurrent-To"]]
            # Of any other type pywb and cdxj-indexer make a capture, and play it for the page.
            assert headers["Content-Type"] == "application/warc-fields"
            field, value = content.decode().split(": ", 1)
            assert (field, value[-2:]) == ("json-metadata", "\r\n")
            described[url] = json.loads(value)
    pages = {url: told for url, told in described.items() if "score" in told}
    assert set(pages) == set(rows)
    for url, told in pages.items():
        assert told["score"] == rows[url]["score"]
        assert told["relevant"] == bool(rows[url]["relevant"])
        assert told["path"] == json.loads(rows[url]["path"])
        assert told["path"][0] == SEED
        assert told["why"] == json.loads(rows[url]["why"])
        assert told["ticket"] == rows[url]["ticket"]
    assert described[f"{SEED}gone"] == {"ticket": described[f"{SEED}gone"]["ticket"], "attempt": 1,
                                        "failed": "absent"}  # fmt: skip
    assert described[f"{SEED}moved"]["again"] == "redirect 301"
    assert len(rows) == PAGES + 4


def test_files_are_cut_by_size_also_over_restarts(server: Loopback, tmp_path: Path) -> None:
    for budget in (4, 9, 100):
        going(opened(server, tmp_path / "run", pages=budget, rotate_at=3_000))
    found = records(tmp_path / "run")
    files = {file for file, *_ in found}
    assert len(files) > 3
    more = {f"pages-{number:05}.warc.gz" for number in range(1, len(files))}
    assert files == {"pages.warc.gz", *more}, "numbered without a gap"
    kinds = Counter(kind for _, kind, *_ in found)
    assert kinds["response"] == kinds["request"] == kinds["metadata"] == PAGES + 6
    assert len(check_run(tmp_path / "run")) == PAGES + 4


@pytest.mark.parametrize("warc", [True, False])
def test_what_is_gone_through_again_comes_from_the_archive(
    server: Loopback, tmp_path: Path, warc: bool
) -> None:
    out = tmp_path / "run"
    before = killed(server, out, warc=warc, rotate_at=3_000)
    with reading(out) as db:
        entries = [row[0] for row in db.execute("SELECT events FROM journal")]
        assert db.execute("SELECT count(*) FROM pages").fetchone()[0] >= 3
    held = sum(b"again and again" in zstandard.decompress(entry) for entry in entries)
    assert bool(held) is not warc, "no body is kept twice"
    seen: list[str] = []

    def at(point: str, crawl: Crawl) -> None:
        if point == "gone through":
            seen.append(digest(crawl))

    going(opened(server, out, at=at, warc=warc, rotate_at=3_000))
    assert seen == [before], "bit for bit"
    with reading(out) as db:
        assert db.execute("SELECT count(*) FROM pages").fetchone()[0] == PAGES + 4


def test_a_damaged_archive_is_named(server: Loopback, tmp_path: Path) -> None:
    out = tmp_path / "run"
    killed(server, out)
    with reading(out) as db:
        offset, length = db.execute(
            "SELECT warc_offset, warc_length FROM pages ORDER BY seq DESC LIMIT 1"
        ).fetchone()
    with (out / "pages.warc.gz").open("r+b") as file:
        file.seek(offset + length // 2)
        byte = file.read(1)[0]
        file.seek(offset + length // 2)
        file.write(bytes([byte ^ 0x55]))
    with pytest.raises(InputError, match=r"pages\.warc\.gz is damaged at byte"):
        opened(server, out)
