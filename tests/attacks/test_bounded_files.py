"""Small files of a stranger that would take memory, disk or time without end."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
import zlib
from collections.abc import Callable
from http.cookies import SimpleCookie
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import brotli
import numpy as np
import pytest
import zstandard
from yarl import URL

from attacks.measure import Note, within_law
from spoor.bounded_json import json_of, json_of_line
from spoor.compression import FIRST_BYTES, zstd
from spoor.documents.document import Document
from spoor.documents.extract import extract
from spoor.errors import InputError
from spoor.files import toml_of
from spoor.formats import source_file
from spoor.formats.export import urls_of
from spoor.formats.exporters import parquet, wacz
from spoor.formats.jsonlines import recording
from spoor.formats.mirror import Mirror
from spoor.formats.source_file import MAX_BYTES, MAX_RATIO
from spoor.formats.warc_reader import Warc
from spoor.http.cookies import MOST_BYTES as MOST_OF_COOKIES
from spoor.http.cookies import Cookies, _Jar
from spoor.judges.classifier import MOST_BYTES, TextModel
from spoor.judges.spec import judge_of
from spoor.judges.topic import MOST_COMPARED, read_topic
from spoor.lab import experiment, papers
from spoor.lab.duel import dataset
from spoor.live.deliveries import Deliveries
from spoor.live.examples import _parts
from spoor.runs import inputs
from spoor.runs.inputs import read_seeds, with_inputs
from spoor.runs.schema import read_settings
from spoor.runs.shards import read_status
from spoor.setting import MOST_WANTED
from spoor.settings import Settings
from spoor.types import Recording
from spoor.web.content_encoding import Layers, decoded
from spoor.web.sitemaps import dates_of
from spoor.worlds.evolving import EvolvingWorld
from spoor.worlds.generated import GeneratedWorld
from spoor.worlds.import_evolving import rows
from spoor.worlds.import_web import record
from spoor.worlds.recorded import RecordedWorld


@pytest.mark.parametrize(
    "text", [".".join("a" * 20_000) + " = 1", '["a"' + ' . "b"' * 9 + "]", "a = " + "[" * 100_000]
)
def test_names_of_many_parts_and_deep_values_are_refused_at_once(text: str) -> None:
    """39 kB of one name took 2.4 GB."""
    with pytest.raises(ValueError, match=r"eight parts|too deep"):
        toml_of(text)


@pytest.mark.parametrize(
    "text",
    ['a.b.c.d = "e.f.g.h.i.j.k ... l"', "[settings.pages.x]\n1 = 2.5", 'u = "http://a.b/c.d"'],
)
def test_ordinary_tables_are_read(text: str) -> None:
    assert toml_of(text)


def large(file: Path, size: int = 50_000_000) -> str:
    """A file of this size that takes no room; what is told of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as opened:
        opened.truncate(size)
    return rf"{file}\b.* has {size:,} bytes.* at most [0-9,]+"


READERS: dict[str, Callable[[Path], object]] = {
    "topic.toml": read_topic,
    "experiment.toml": lambda file: experiment.read(file, "stranger"),
    "page.toml": lambda file: papers.read(file.parent),
    "tasks.toml": lambda file: dataset.read(file.parent),
    "web.toml": lambda file: GeneratedWorld.open(file.parent),
    "spoor.toml": lambda file: read_settings(file.parent),
    "seeds.txt": lambda file: read_seeds([str(file)]),
}


@pytest.mark.parametrize("name", READERS)
def test_a_large_file_is_told_with_its_size_and_the_limit(name: str, tmp_path: Path) -> None:
    """A `spoor.toml` of 50 MB took 20 s."""
    told = large(tmp_path / "given" / name)
    with pytest.raises(InputError, match=told):
        READERS[name](tmp_path / "given" / name)


@pytest.mark.parametrize(
    "text",
    [
        "a = [" + "1," * 600_000 + "]",
        "[[a]]\n" * 70_000,
        "a=1\n" * 130_000,
        f"a = [{'1979-05-27T07:32:00Z,' * 110_000}]",
        "a = [" + '"",' * 300_000 + "]",
        "#\n" * 600_000,
        "a.b.c.d = 1\n" * 200_000,
        f"a = ['''\"''', {'1,' * 600_000} '''\"''']",
        'a = """" """\nb = [' + "1," * 600_000 + '\n]\nc = """" """',
    ],
)
def test_values_of_a_file_have_a_bound(text: str) -> None:
    with pytest.raises(ValueError, match="values, and at most 500,000"):
        toml_of(text)


def test_signs_in_texts_are_no_values() -> None:
    text = "a, b, [c] = 'd'. # " * 40_000
    quoted = text.replace("'", "")
    assert toml_of(f'a = """{text}"""\nb = "{text}"\nc = \'{quoted}\'')["b"] == text


def test_seeds_that_no_settings_hold_are_refused_before_a_run_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run could not be opened again."""
    urls = [f"http://a.example/{number}" for number in range(9)]
    assert len(with_inputs(Settings(), urls).seeds) == 9
    monkeypatch.setattr(inputs, "MOST_SEEDS", 8)
    with pytest.raises(InputError, match=r"9 seeds of .* are more than a run has in spoor"):
        with_inputs(Settings(), urls)


def test_what_each_page_is_compared_with_has_a_bound(tmp_path: Path) -> None:
    """300,000 keywords took 37 s to begin with, and a minute and a half a page."""
    words = ",".join(f'"glaze {number}"' for number in range(MOST_COMPARED))
    topic = tmp_path / "topic.toml"
    topic.write_text(f"keywords = [{words}]")
    assert len(read_topic(topic).topic.keywords) == MOST_COMPARED
    topic.write_text(f'keywords = [{words}, "kiln"]')
    with pytest.raises(InputError, match=r"topic.toml: 'keywords' has 5,001 items.* the 5,000"):
        read_topic(topic)
    topic.write_text(f'name = "{"kiln " * 9_000}"')
    with pytest.raises(InputError, match=r"'name' has 45,000 characters; write at most 10,000"):
        read_topic(topic)


def test_what_is_wanted_has_a_bound() -> None:
    """100,000 `--want` were compared with each page."""
    many = tuple(f"text:kiln {number}" for number in range(MOST_WANTED))
    assert Settings.of({"want": many}).want == many
    assert judge_of(many)
    with pytest.raises(InputError, match=r"want has 201 items, and .* the 200 that say most"):
        Settings.of({"want": (*many, "text:x")})
    with pytest.raises(InputError, match="201 items"):
        Settings.from_dict({"crawl": {"want": [*many, "text:x"]}})
    with pytest.raises(InputError, match="201 items"):
        judge_of((*many, "text:x"))


def test_a_topic_is_a_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="cannot read topic file"):
        read_topic(tmp_path / "pipe")
    (tmp_path / "zero.html").symlink_to("/dev/zero")
    for name in ("pipe", "zero.html"):  # pages of `spoor topic test`
        with pytest.raises(InputError, match=r"nor a file \(not a plain file\)"):
            list(_parts(str(tmp_path / name)))


def test_a_classifier_is_bounded_and_a_plain_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(InputError, match="not a plain file"):
        TextModel.read(tmp_path / "pipe.npz")
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<U8", "fortran_order": False, "shape": (1 << 40,)}
    )
    for name, data in {
        "long": head.getvalue() + bytes(MOST_BYTES),
        "lying": head.getvalue(),
    }.items():
        with zipfile.ZipFile(tmp_path / f"{name}.npz", "w", zipfile.ZIP_DEFLATED) as made:
            made.writestr("words.npy", data)
        with pytest.raises(InputError, match="is no classifier"):
            TextModel.read(tmp_path / f"{name}.npz")


def test_a_pipe_in_a_mirror_is_no_page(tmp_path: Path) -> None:
    folder = tmp_path / "http" / "a.example"
    folder.mkdir(parents=True)
    (folder / "index.html").write_text("<p>clay")
    os.mkfifo(folder / "b.html")
    assert len(list(Mirror(tmp_path).jobs())) == 1


@pytest.mark.parametrize("scheme", ["", "http"])
def test_a_link_leads_out_of_no_mirror(scheme: str, tmp_path: Path) -> None:
    outside, host = tmp_path / "home", tmp_path / "mirror" / scheme / "a.example"
    for folder in (outside, host):
        folder.mkdir(parents=True)
        (folder / "index.html").write_text("<p>clay")
    (host.parent / "b.example").symlink_to(outside)
    assert len(list(Mirror(tmp_path / "mirror").jobs())) == 1


def test_a_name_in_a_mirror_need_not_be_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / "a.example"
    folder.mkdir()
    (folder / os.fsdecode(b"caf\xe9.html")).write_text("<p>clay")
    record([tmp_path], tmp_path / "web")
    (page,) = RecordedWorld(tmp_path / "web").pages()
    assert page.url == "http://a.example/caf%E9.html"


def test_kept_cookies_are_json(tmp_path: Path) -> None:
    """An ASCII pickle of tuples within tuples as a key hung every resume, deaf to Ctrl-C."""
    (tmp_path / "cookies.json").write_text("(lp0\n.")
    with pytest.raises(InputError, match="is damaged"):
        Cookies(kept=tmp_path / "cookies.json")


def test_a_row_group_of_a_table_is_as_small_as_one_of_an_export(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet as tables

    long = arrow.table({"url": ["http://a.example/"] * (parquet.BATCH + 1)})
    tables.write_table(long, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="rows in a group"):
        parquet.write_without(tmp_path / "x.parquet", tmp_path / "y.parquet", ["http://a.example/"])


def test_an_archive_that_unpacks_to_much_is_no_export(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.wacz", "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(f"archive/{wacz.ARCHIVE}", b"", zipfile.ZIP_STORED)
        made.writestr("pages/pages.jsonl", bytes(64 << 20))
    with pytest.raises(ValueError, match="times its size"):
        wacz.write_without(tmp_path / "x.wacz", tmp_path / "y.wacz", ["http://a.example/"])
    assert [path.name for path in tmp_path.iterdir()] == ["x.wacz"]


def test_searches_at_the_same_moment_make_one_index(tmp_path: Path) -> None:
    from spoor.runs.search import _opened_or_new

    for round_ in range(8):
        begin, file, faults = threading.Barrier(3), tmp_path / f"{round_}.db", list[BaseException]()

        def look() -> None:
            begin.wait()  # noqa: B023
            try:
                db = _opened_or_new(file)  # noqa: B023
                db.execute("BEGIN IMMEDIATE")
                db.execute("COMMIT")
                db.close()
            except BaseException as error:
                faults.append(error)  # noqa: B023

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults


def test_a_table_that_is_small_on_the_disk_is_not_unpacked(tmp_path: Path) -> None:
    """22 KiB took 6.4 GiB. What a page of the file unpacks to, its head says as it likes."""
    pyarrow = pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    from pyarrow import parquet

    file = tmp_path / "x.parquet"
    table = pyarrow.table({"url": ["http://a.example/"], "text": ["a" * (64 << 20)]})
    parquet.write_table(table, file, compression="zstd", use_dictionary=False)
    del table
    assert file.stat().st_size < 32_768
    # In a process that has no memory to spare.
    code = (
        "from pathlib import Path\n"
        f"file = Path({str(file)!r})\n"
        "from spoor.formats.export import remove\n"
        "from spoor.formats.exporters import parquet\n"
        "parquet.MOST_MEMORY = 32 << 20\n"
        "remove(file, 'parquet', ['http://a.example/'])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"InputError: cannot take pages out of {file}: " in told.stderr


def test_lists_of_rows_count_for_the_size_of_a_group() -> None:
    """300 rows with their links took 3.5 GB."""
    row = {"url": "http://a.example/", "links": ["x" * 2_000] * 1_000}
    groups = [len(group) for group in parquet._batches(row for _ in range(20))]
    assert groups == [9, 9, 2]


def test_short_links_below_a_long_address_make_no_long_text() -> None:
    """159 KiB gave 17 MB of Markdown."""
    base = f"<base href='http://a.example/{'x' * 1_900}/'>"
    links = "".join(f"<p>some words about kilns <a href={at}>kiln {at}</a>" for at in range(3_000))
    body = f"<title>Kilns</title>{base}<article>{links}".encode()
    read = extract("text/html", "http://a.example/", body)
    assert isinstance(read, Document)
    assert "kiln 2999" in read.markdown
    assert len(read.markdown) < (1 << 18) + 6 * len(body)


def cookies_of(host: str, number: int, value: str) -> tuple[SimpleCookie, URL]:
    cookies = SimpleCookie()
    for one in range(60):
        cookies[f"c{number}-{one}"] = value
        cookies[f"c{number}-{one}"].set(f"c{number}-{one}", value, value)
    return cookies, URL(f"https://{host}/")


def test_cookies_of_one_site_leave_those_of_others_and_their_file_can_be_read(
    tmp_path: Path,
) -> None:
    jar, kept = _Jar(), tmp_path / "cookies.json"
    jar.receive(*cookies_of("good.example", 0, "session"))
    for number in range(70):  # 53 MB, of which no resume reads more than 4
        jar.receive(*cookies_of(f"h{number}.evil.example", number, "\\" * 4_080))
    assert len(jar.filter_cookies(URL("https://good.example/"))) == 60
    assert jar.filter_cookies(URL("https://h69.evil.example/")), "the newest stay"
    jar.save(kept)
    assert kept.stat().st_size < 300_000
    again = Cookies(kept=kept)
    assert "c0-7=session" in again.header(URL("https://good.example/"))


def test_cookies_of_all_sites_have_a_bound_and_those_of_the_latest_stay(tmp_path: Path) -> None:
    jar, kept = _Jar(), tmp_path / "cookies.json"
    for number in range(60):
        jar.receive(*cookies_of(f"site-{number}.example", number, "\\" * 300))
    jar.save(kept)
    assert kept.stat().st_size < MOST_OF_COOKIES
    assert not jar.filter_cookies(URL("https://site-0.example/"))
    assert sum(one["domain"] == "site-59.example" for one in jar) == 60


def test_a_cookie_with_a_long_attribute_is_not_taken() -> None:
    jar, cookies = _Jar(), SimpleCookie()
    cookies["a"] = "1"
    cookies["a"]["path"] = "/" + "x" * 2_000
    assert not jar.receive(cookies, URL("https://site.example/"))
    assert not len(jar)


ENCODED = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=1),
    "zstd": zstandard.compress,
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_what_is_left_to_the_archive_comes_out_of_it_as_it_came(encoding: str) -> None:
    """However it is cut into pieces, and whatever stands behind it: else a run that crashed could
    not go on."""
    random, kept = Random(0), 0
    for turn in range(400):
        text = random.randbytes(random.choice([3, 700, 3_000]))
        ends = [b"", b"", b"\n", b"\x1f\x8b", b"\0\0", b"\x1f\x8b\x08\0", random.randbytes(3)]
        raw = ENCODED[encoding](text) + random.choice(ends) + random.choice([b"", b"\n"])
        if turn % 7 == 0:
            raw = raw[1:] if turn % 2 else random.randbytes(40)
        cuts = sorted(random.randrange(len(raw) + 1) for _ in range(random.randrange(4)))
        layers, body = Layers(encoding), b""
        try:
            for begin, end in pairwise([0, *cuts, len(raw)]):
                body += layers.feed(raw[begin:end], 1 << 20)
        except ValueError:
            continue
        if layers.complete and layers.plain and body:
            kept += 1
            assert decoded(raw, encoding, len(body)) == body
    assert kept >= 40


def _member(path: int, body: bytes) -> bytes:
    """A record of an archive, a member of its own as all writers make them."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nContent-Type: application/http; msgtype=response\r\n"
        f"WARC-Target-URI: http://a.example/{path}\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:{path}>\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


def test_a_site_with_blank_pages_keeps_no_archive_from_being_imported(tmp_path: Path) -> None:
    archive = tmp_path / "a.warc.gz"
    pages = [_member(page, b"<p>kiln" + b" " * (10 << 20)) for page in range(6)]
    archive.write_bytes(b"".join(pages))
    assert MAX_BYTES + MAX_RATIO * archive.stat().st_size < 6 * (10 << 20)
    assert [record.url[-1] for record in _read(archive)] == [*"012345"]


def test_a_member_that_unpacks_to_much_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "a.warc.gz"
    archive.write_bytes(_member(0, bytes(3 * MAX_BYTES)))
    with pytest.raises(InputError, match="over 200 times"):
        _read(archive)


def _skippable(data: bytes, kind: bytes = b"\x5d", size: int = -1) -> bytes:
    told = len(data) if size < 0 else size
    return kind + b"\x2a\x4d\x18" + told.to_bytes(4, "little") + data


def test_archives_with_a_dictionary_of_zstandard_are_read_and_it_is_bounded(tmp_path: Path) -> None:
    """They were told to be of no known form; the specification of WARC with zstandard has both."""
    records = [gzip.decompress(_member(page, b"<p>kiln %d" % page)) for page in range(40)]
    learned = zstd.train_dict(records, 1 << 12)
    content = learned.dict_content
    packed = zstd.compress(content)
    bomb = zstd.compress(content + bytes(MAX_BYTES))
    plain = b"".join(map(zstd.compress, records))
    by_it = b"".join(zstd.compress(record, zstd_dict=learned) for record in records)
    archive = tmp_path / "a.warc.zst"
    for whole in (
        _skippable(content) + by_it,
        _skippable(packed) + _skippable(b"a note", b"\x50") + by_it,
        _skippable(b"a note", b"\x5f") + plain,
    ):
        archive.write_bytes(whole)
        assert len(_read(archive)) == len(records)
    for wrong in (bomb, b"none", packed[:-9], b""):
        archive.write_bytes(_skippable(wrong) + by_it)
        with pytest.raises(InputError, match="damaged"):
            _read(archive)
    archive.write_bytes(_skippable(content, size=1 << 31) + by_it)
    with pytest.raises(InputError, match="too large"):
        _read(archive)


def _read(archive: Path) -> list[Recording]:
    return [record for job in Warc(archive).jobs() if (record := job()) is not None]


LISTS = b"[" + b"[]," * 600_000 + b"0]"
JSON_READERS: dict[str, Callable[[Path], object]] = {
    "web.json": lambda file: RecordedWorld(file.parent),
    "evolving.json": lambda file: EvolvingWorld.open(file.parent),
    "cookies.json": lambda file: Cookies(kept=file),
    "delivered.json": lambda file: Deliveries(file.parent, [], print),
}


@pytest.mark.parametrize("name", JSON_READERS)
def test_lists_without_end_are_not_read(name: str, tmp_path: Path) -> None:
    """64 MB of them took 3 GB."""
    (tmp_path / name).write_bytes(LISTS)
    with pytest.raises(InputError, match=rf"{name}.* damaged"):
        JSON_READERS[name](tmp_path / name)


def test_lists_without_end_in_a_line_are_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 880 bytes took 300 MB."""
    line = b'{"url": "http://a.example/", "links": ' + LISTS + b"}"
    monkeypatch.setattr(json, "loads", None)
    with pytest.raises(InputError, match=r"line 1: not JSON .*values"):
        recording(line, "line 1")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_lists_are_counted_in_every_encoding(encoding: str) -> None:
    """Between texts whose ends lie elsewhere in UTF-8, 15 MB of them were not counted."""
    text = '["\\"",' + "[]," * 600_000 + '"x"]'
    with pytest.raises(ValueError, match="value"):
        json_of(text.encode(encoding))


def test_a_text_that_does_not_end_costs_little(record_property: Note) -> None:
    """Of a site: a feed of 660 kB held a watch for half a minute, one of 2 MB for five."""
    feed = b'{"version": "https://jsonfeed.org/version/1", "items": ' + b"[" * 500_001 + b'"'
    feed += b'\\"' * 100_000
    dates = within_law(lambda: dates_of(feed, "http://a.example/"), len(feed), record_property)
    assert dates == ()


def test_a_page_with_very_many_links_is_a_line() -> None:
    links = [{"url": f"http://a.example/{n}", "anchor": f"kiln, {n}"} for n in range(150_000)]
    assert json_of_line(json.dumps({"links": links}).encode()) == {"links": links}


def test_lists_without_end_are_no_dates_and_no_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shards.json").write_bytes(b'{"shards": ' + LISTS + b"}")
    monkeypatch.setattr(json, "loads", None)
    assert read_status(tmp_path) is None
    feed = b'{"version": "https://jsonfeed.org/version/1", "items": ' + LISTS + b"}"
    assert dates_of(feed, "http://a.example/feed") == ()


@pytest.mark.parametrize("form", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_an_earlier_export_is_no_bomb(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """190 kB of Zstandard held 80 million rows, of which each took eight bytes and 5 µs."""
    monkeypatch.setattr(source_file, "MAX_BYTES", 10_000)
    path, count = tmp_path / f"corpus.{form}", 100_000
    line = b'{"url":"http://a.test/"}\n'
    if form == "parquet":
        table = pytest.importorskip("pyarrow").table({"url": ["http://a.test/"] * count})
        pytest.importorskip("pyarrow.parquet").write_table(table, path)
    else:
        opened: dict[str, Any] = {"jsonl.gz": gzip.open, "jsonl.zst": zstd.open}
        with opened.get(form, open)(path, "wb") as file:
            file.write(line * count)
    if form == "jsonl":
        assert sum(1 for _ in urls_of(path)) == count
        return
    with pytest.raises(InputError, match="unpacks to over 200 times its size"):
        for _ in urls_of(path):
            pass


def test_a_small_history_has_no_window_of_gigabytes(tmp_path: Path) -> None:
    row = b'{"t": 1}\n'
    for exponent, fits in ((10, True), (20, False)):
        head = FIRST_BYTES + bytes((0, exponent << 3)) + (len(row) << 3 | 1).to_bytes(3, "little")
        path = tmp_path / f"{exponent}.jsonl.zst"
        path.write_bytes(head + row)
        if fits:
            assert [*rows(path, ["t"])] == [{"t": 1}]
            continue
        with pytest.raises(InputError, match="damaged"):
            list(rows(path, ["t"]))
