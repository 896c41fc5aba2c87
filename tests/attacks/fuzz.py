"""Coverage-guided fuzzing (Atheris) of all that strangers send.

    python tests/attacks/fuzz.py TARGET [--minutes 10] [--found FOLDER]

Atheris is in the dependency group `fuzz` (`pip install atheris`). Each target begins with the
examples in `tests/attacks/corpus/TARGET`. An input is a finding where it raises what its function
does not promise, takes more than `SECONDS` of processor time, or more memory than the law allows;
findings go on being collected, one for each place in the code, into files of FOLDER, and the last
lines say rounds, crashes and hangs. Exit code 1 where there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atheris import FuzzedDataProvider

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"

SECONDS = 1.0
"""Processor time from which on an input is a hang. Twice the law's, since instrumented code takes
about twice as long."""

MEMORY, PER_BYTE = 64 << 20, 20
"""The law's."""

URL = "http://www.example.com/dir/page?x=1"

Try = Callable[[bytes], None]
"""Does what a crawl does with an input. Raises what no input may."""


def temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory, where there is one."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


class HangError(Exception):
    """An input took too long."""


# ---------------------------------------------------------------- targets


@contextmanager
def html() -> Iterator[Try]:
    """Documents: the first line is the Content-Type."""
    from spoor.isolate.parsing import parse_reply
    from spoor.types import Fetched

    def tried(data: bytes) -> None:
        head, _, body = data.partition(b"\n")
        kind = head[:200].decode("latin-1")
        reply = parse_reply(body, URL, content_type=kind, robots=kind[::-1])
        if isinstance(reply, Fetched):
            page = reply.page
            [link.url.encode() for link in page.links]
            page.text.encode()
            page.title.encode()

    yield tried


@contextmanager
def sitemap() -> Iterator[Try]:
    """Sitemaps and feeds."""
    from spoor.web.sitemaps import links_of

    def tried(data: bytes) -> None:
        for link in links_of(data, "http://www.example.com/sitemap.xml"):
            link.url.encode()

    yield tried


@contextmanager
def robots() -> Iterator[Try]:
    """robots.txt: the first line is the path of a page."""
    from spoor.web.robots import parse
    from spoor.web.urls import canonical

    def tried(data: bytes) -> None:
        head, _, body = data.partition(b"\n")
        rules = parse(body, "Spoor/1.0 (+http://example.org)", url="http://example.com/robots.txt")
        with suppress(ValueError):
            url = canonical(head.decode("latin-1"), "http://example.com/")
            rules.allowed(url)
        [canonical(url) for url in rules.sitemaps]
        assert rules.allowed("http://example.com/robots.txt")

    yield tried


@contextmanager
def reply() -> Iterator[Try]:
    """Bytes of a reply, through the real client, into the archive and a page."""
    from dataclasses import astuple

    import aiohttp

    from spoor.formats.warc_writer import WarcWriter
    from spoor.http.address_guard import AddressGuard
    from spoor.http.client import Client, LimitError
    from spoor.http.failures import failure
    from spoor.http.replies import reply_of
    from spoor.runs.exchanges import captured
    from spoor.settings import Settings
    from spoor.types import Failed
    from spoor.web.dates import last_modified
    from spoor.web.exchange import Source
    from spoor.web.urls import Joiner

    loop = asyncio.new_event_loop()
    sent = b""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(sent)
            await writer.drain()
        writer.close()

    async def opened() -> tuple[asyncio.Server, Client]:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        settings = Settings(connect_to=f"127.0.0.1:{port}", timeout=20.0)
        return server, Client(settings, AddressGuard(settings))

    async def asked(client: Client, warc: WarcWriter) -> None:
        try:
            exchange = await client.get(URL, 1e9)
        except (aiohttp.ClientError, TimeoutError, OSError, LimitError, ValueError) as error:
            json.dumps(astuple(failure(1, error)), ensure_ascii=False).encode()
            return
        warc.write(captured(exchange))
        warc.describe("{}")
        got = reply_of(1, exchange, 100.0, Joiner(), 1e9)
        if isinstance(got, Failed):
            json.dumps(astuple(got), ensure_ascii=False).encode()
        row = Source.values(exchange, last_modified(exchange))
        json.dumps([row[0], *row[2:]], ensure_ascii=False).encode()

    with temporary() as folder:
        warc = WarcWriter(Path(folder), "fuzz", software="fuzz", rotate_at=1 << 22)
        server, client = loop.run_until_complete(opened())

        def tried(data: bytes) -> None:
            nonlocal sent
            sent = data
            loop.run_until_complete(asked(client, warc))
            if len(os.listdir(folder)) > 2:
                os.unlink(min(os.scandir(folder), key=lambda entry: entry.name).path)

        try:
            yield tried
        finally:
            warc.close()
            loop.run_until_complete(client.close())
            server.close()
            loop.close()


@contextmanager
def warc() -> Iterator[Try]:
    """Archives, as `spoor web import` reads them."""
    from spoor.errors import InputError
    from spoor.formats.sources import open_source
    from spoor.formats.warc_reader import Warc, read_page

    with temporary() as folder:
        file = Path(folder, "a.warc")

        def tried(data: bytes) -> None:
            file.write_bytes(data)
            with suppress(InputError):
                for job in Warc(file).jobs():
                    with suppress(InputError):
                        job()
            with suppress(InputError):
                open_source(file)
            with suppress(InputError):
                read_page(file, 0, len(data), "http://a.example/")

        yield tried


@contextmanager
def wikitext() -> Iterator[Try]:
    """Articles of a MediaWiki dump."""
    from spoor.errors import InputError
    from spoor.formats.mediawiki import Site, recording

    def tried(data: bytes) -> None:
        with suppress(InputError):
            recording("Title", None, data.decode("utf-8", "replace"), None, Site(), "dump")

    yield tried


@contextmanager
def settings() -> Iterator[Try]:
    """Settings files and topic files."""
    from spoor.errors import InputError
    from spoor.judges.topic import read_topic
    from spoor.runs import files
    from spoor.runs.schema import read_settings

    with temporary() as folder:
        run, topic = Path(folder), Path(folder, "a.topic")

        def tried(data: bytes) -> None:
            (run / files.SETTINGS).write_bytes(data)
            topic.write_bytes(data)
            one_line(InputError, lambda: read_settings(run))
            one_line(InputError, lambda: read_topic(topic))

        yield tried


@contextmanager
def labels() -> Iterator[Try]:
    """Labels of people, and files of examples."""
    from spoor.runs import files
    from spoor.runs.labels import read_labels

    with temporary() as folder:
        run = Path(folder)

        def tried(data: bytes) -> None:
            (run / files.LABELS).write_bytes(data)
            found, end = read_labels(run)
            assert 0 <= end <= len(data)
            assert read_labels(run, 0, end) == (found, end)
            for url, _ in found:
                url.encode("utf-8", "surrogatepass")

        yield tried


@contextmanager
def state() -> Iterator[Try]:
    """Saved states and models, their digest mended."""
    import hashlib

    import zstandard

    from spoor.errors import InputError
    from spoor.learn.state import MAGIC, pack, unpack

    def tried(data: bytes) -> None:
        # The first byte says whether the rest is the frame, or the JSON with the arrays in it.
        packed = data[1:]
        if data[:1] != b"Z":
            head, _, arrays = packed.partition(b"\n")
            inner = len(head).to_bytes(8, "little") + head + arrays
            packed = zstandard.ZstdCompressor().compress(inner)
        whole = MAGIC + hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed
        with suppress(InputError):
            pack(unpack(whole))

    yield tried


@contextmanager
def run() -> Iterator[Try]:
    """A run's folder: bytes of its files, and values of its database."""
    import atheris

    from spoor.errors import SpoorError
    from spoor.runs import files
    from spoor.runs.reader import Run
    from spoor.runs.schema import read_settings
    from spoor.runs.writer import RunWriter
    from spoor.views.run_totals import Sums

    sys.path.append(str(HERE.parent))
    from kills import open_run, served

    def damaged(path: Path, given: FuzzedDataProvider) -> None:
        every = sorted(path.iterdir())
        for _ in range(given.ConsumeIntInRange(1, 3)):
            if given.ConsumeBool():
                change_database(path / files.DATABASE, given)
                continue
            file = every[given.ConsumeIntInRange(0, len(every) - 1)]
            data = file.read_bytes() if file.exists() else b""
            begin = given.ConsumeIntInRange(0, len(data))
            end = given.ConsumeIntInRange(begin, min(len(data), begin + 64))
            new = given.ConsumeBytes(given.ConsumeIntInRange(0, 64))
            file.write_bytes(data[:begin] + new + data[end:])

    def ways(path: Path) -> list[Callable[[], object]]:
        return [
            lambda: RunWriter(path, read_settings(path)).close(),
            lambda: Run(path).export(path.parent / "out.jsonl", everything=True, text=True),
            lambda: Sums(Run(path)).refresh(),
            lambda: [Run(path).snapshot(), Run(path).budget(), Run(path).revision()],
            lambda: Run(path).label("http://a.example/", relevant=True),
            lambda: [*Run(path).journal(), Run(path).estimates(), Run(path).open_urls()],
        ]

    with temporary() as made:
        whole = Path(made, "whole")
        with served(20, hosts=2) as web:
            crawl = open_run(whole, web.root, web.port, pages=8)
            crawl.run()
            crawl.folder.close()
        path = Path(made, "run")

        def tried(data: bytes) -> None:
            shutil.rmtree(path, ignore_errors=True)
            shutil.copytree(whole, path)
            given = atheris.FuzzedDataProvider(data)
            with suppress(sqlite3.Error, OverflowError):
                damaged(path, given)
            for way in ways(path):
                one_line(SpoorError, way)

        yield tried


def change_database(file: Path, given: FuzzedDataProvider) -> None:
    """Put one value of any type into one column of any table."""
    db = sqlite3.connect(file)
    with db:
        db.execute("PRAGMA ignore_check_constraints=ON")
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        table = tables[given.ConsumeIntInRange(0, len(tables) - 1)]
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        column = columns[given.ConsumeIntInRange(0, len(columns) - 1)]
        raw = given.ConsumeBytes(given.ConsumeIntInRange(0, 64))
        values: list[Any] = [
            raw,
            raw.decode("latin-1"),
            given.ConsumeIntInRange(-(2**63), 2**63 - 1),
        ]
        values += [given.ConsumeFloat(), None, "[[1]]", "{}", "[" * 5000, '{"a": 1}']
        value = values[given.ConsumeIntInRange(0, len(values) - 1)]
        db.execute(f"UPDATE {table} SET {column} = ?", (value,))
    db.close()


TARGETS = (html, sitemap, robots, reply, warc, wikitext, settings, labels, state, run)


def one_line(refused: type[Exception], way: Callable[[], object]) -> None:
    """Raises AssertionError where a refusal has more than one line."""
    try:
        way()
    except refused as error:
        if "\n" in str(error):
            raise AssertionError(f"more than one line: {str(error)[:200]!r}") from error


# ---------------------------------------------------------------- rounds


class Rounds:
    """Runs one target on many inputs, and collects what it must not do."""

    def __init__(self, tried: Try, found: Path, until: float) -> None:
        self.count = 0
        self.slowest = 0.0
        self.crashes: dict[str, str] = {}
        """Place in the code → the file of its first example, and the error."""
        self.hangs: dict[str, str] = {}
        self._tried = tried
        self._found = found
        self._until = until
        self._peak = 0

    def __call__(self, data: bytes) -> None:
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 4 * SECONDS)
        try:
            self._tried(data)
        except HangError as error:
            self._keep(self.hangs, data, error)
        except Exception as error:
            self._keep(self.crashes, data, error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        self.count += 1
        took = time.process_time() - began
        self.slowest = max(self.slowest, took)
        if took > SECONDS:
            self._keep(self.hangs, data, HangError(f"{took:.1f} s"), f"{took:.0f} s")
        self._weigh(data)
        if time.monotonic() > self._until:
            raise KeyboardInterrupt

    def _weigh(self, data: bytes) -> None:
        peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        if self.count == 100:  # all is imported
            self._peak = peak
        elif self.count > 100 and peak > self._peak + MEMORY + PER_BYTE * len(data):
            error = HangError(f"{(peak - self._peak) >> 20} MB for {len(data)} bytes")
            self._keep(self.hangs, data, error, "memory")
            self._peak = peak

    def _keep(self, kept: dict[str, str], data: bytes, error: Exception, place: str = "") -> None:
        frames = traceback.extract_tb(error.__traceback__)
        ours = [frame for frame in frames if "/spoor/" in frame.filename] or frames
        where = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else place
        key = f"{type(error).__name__} at {where or place}"
        if key in kept:
            return
        self._found.mkdir(parents=True, exist_ok=True)
        file = self._found / f"{len(self.crashes) + len(self.hangs):02}"
        file.write_bytes(data)
        kept[key] = f"{file}: {str(error)[:200]!r}"
        file.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))
        print(f"FOUND {key} {kept[key]}", flush=True)


def interrupt(number: int, frame: FrameType | None) -> None:
    raise HangError("too long")


def main() -> int:
    """Fuzz one target."""
    import atheris

    known = {target.__name__: target for target in TARGETS}
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    arguments.add_argument("target", choices=known)
    arguments.add_argument("--minutes", type=float, default=10.0)
    arguments.add_argument("--found", type=Path, default=Path("build/fuzz"))
    given = arguments.parse_args()
    signal.signal(signal.SIGPROF, interrupt)
    found = given.found / given.target
    grown = found / "corpus"
    grown.mkdir(parents=True, exist_ok=True)
    with atheris.instrument_imports(include=["spoor"]), known[given.target]() as tried:
        rounds = Rounds(tried, found, time.monotonic() + 60.0 * given.minutes)

        def one(data: bytes) -> None:
            try:
                rounds(data)
            except KeyboardInterrupt:
                print(
                    f"{given.target}: {rounds.count:,} rounds, {len(rounds.crashes)} crashes, "
                    f"{len(rounds.hangs)} hangs, slowest {rounds.slowest:.2f} s",
                    flush=True,
                )
                # libFuzzer has no way to end that closes anything.
                os._exit(bool(rounds.crashes or rounds.hangs))

        seeds = CORPUS / given.target
        options = ["-timeout=60", "-rss_limit_mb=0", "-max_len=65536", "-verbosity=0"]
        atheris.Setup(
            [sys.argv[0], *options, str(grown), *([str(seeds)] if seeds.is_dir() else [])], one
        )
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
