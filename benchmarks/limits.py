"""What hostile hosts cost a crawl: its memory, and the rate of the other hosts.

    .venv/bin/python benchmarks/limits.py [--pages 400] [--delay 0.25] [--times 3] [--data FOLDER]

A site of eight hosts is served on loopback and crawled as `spoor crawl` does, durable and with its
WARC file, with the default limits and 16 in flight; then again with hostile hosts beside it, whose
URLs are seeds: decompression bombs (gzip, deflate, br, zstd, gzip in gzip; and those of
`conformance/compressed-scrapy` in the folder of the data), bodies, headers and robots.txt without
end, redirects in a loop and without end, gzip that breaks off, five URLs each; and nine hosts whose
replies come byte by byte or never, so that they hold nine of the 16 places for 30 seconds at a
time. In turn, so often, each crawl in a process of its own; medians. `--delay 0` leaves out the
delay of hosts: the rate is then that of the processor.

Goals: peak memory at most 300 MB above that of the crawl without them; each ended by its limit; the
other hosts keep at least 80 % of their rate. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import brotli
import zstandard

from spoor.live.live_crawl import LiveCrawl
from spoor.runs.assemble import make_crawl
from spoor.runs.database import reading
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Outcome
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

HOSTS = 8
URLS = 5
"""Of each hostile host that answers at once."""
SLOW = ("slow-headers", "slow-body", "silent")
SLOW_HOSTS = 3
"""Of each kind, with one URL."""
LATENCY = 0.02
MOST_SECONDS = 240.0
"""After which hostile hosts are waited for no more."""

Reply = AsyncIterator[bytes]
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


# ---------------------------------------------------------------- the server


async def whole(body: bytes, encoding: str = "") -> Reply:
    head = OK + b"Content-Length: %d\r\n" % len(body)
    if encoding:
        head += f"Content-Encoding: {encoding}\r\n".encode()
    yield head + b"\r\n"
    yield body


async def again_and_again(head: bytes, piece: bytes, pause: float = 0.0) -> Reply:
    yield head
    while True:
        yield piece
        await asyncio.sleep(pause)


async def never() -> Reply:
    await asyncio.Event().wait()
    yield b""


async def moved(to: str) -> Reply:
    yield f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode()


def bombs(data: Path | None) -> dict[str, tuple[bytes, str]]:
    """Name → (body, encoding): each stands for 256 MiB, and more in the second layer."""
    zeros = bytes(1 << 20)
    pieces = 256
    deflate, gzipped = zlib.compressobj(9), zlib.compressobj(9, zlib.DEFLATED, 31)
    zstd = zstandard.ZstdCompressor(3).compressobj()
    made = {"bomb-deflate": b"", "bomb-gzip": b"", "bomb-br": b"", "bomb-zstd": b""}
    for _ in range(pieces):
        made["bomb-deflate"] += deflate.compress(zeros)
        made["bomb-gzip"] += gzipped.compress(zeros)
        made["bomb-zstd"] += zstd.compress(zeros)
    made["bomb-deflate"] += deflate.flush()
    made["bomb-gzip"] += gzipped.flush()
    made["bomb-br"] = brotli.compress(zeros * pieces, quality=5)
    made["bomb-zstd"] += zstd.flush()
    found = {name: (body, name.removeprefix("bomb-")) for name, body in made.items()}
    found["bomb-gzip-gzip"] = gzip.compress(made["bomb-gzip"]), "gzip, gzip"
    folder = data / "conformance" / "compressed-scrapy" if data else None
    if folder is not None and folder.is_dir():
        for encoding in ("gzip", "deflate", "br", "zstd"):
            body = (folder / f"bomb-{encoding}.bin").read_bytes()
            found[f"scrapy-bomb-{encoding}"] = body, encoding
        found["scrapy-truncated"] = (folder / "unexpected-eof.gz").read_bytes(), "gzip"
    page = gzip.compress(b"<title>Clay</title>" + b"<p>a kiln is hot" * 20_000, 1)
    found["truncated-gzip"] = page[: len(page) // 2], "gzip"
    return found


def hostile(data: Path | None) -> dict[str, Callable[[str], Reply]]:
    """Host, less `.hostile.example` → what it answers to a path."""

    def compressed(body: bytes, encoding: str) -> Callable[[str], Reply]:
        return lambda path: whole(body, encoding)

    nothing = gzip.compress(b"") * 2000
    slow: dict[str, Callable[[str], Reply]] = {
        "slow-headers": lambda path: again_and_again(OK + b"X: ", b"y", 0.5),
        "slow-body": lambda path: again_and_again(OK + b"\r\n", b"x", 0.5),
        "silent": lambda path: never(),
    }
    found: dict[str, Callable[[str], Reply]] = {
        "endless-body": lambda path: again_and_again(OK + b"\r\n", b"<p>more</p>" * 4000),
        "endless-nothing": lambda path: again_and_again(
            OK + b"Content-Encoding: gzip\r\n\r\n", nothing
        ),
        "endless-headers": lambda path: again_and_again(OK, b"X-More: %s\r\n" % (b"y" * 4000)),
        "redirect-loop": lambda path: moved("/a" if path != "/a" else "/b"),
        "redirects-without-end": lambda path: moved(f"{path}x"),
    }
    found |= {f"{name}{at}": slow[name] for name in SLOW for at in range(SLOW_HOSTS)}
    return found | {name: compressed(*told) for name, told in bombs(data).items()}


async def serve(pages: int, data: Path | None) -> None:
    world, evil = (
        GeneratedWorld(GeneratedSettings(pages=pages, hosts=HOSTS, topics=4)),
        hostile(data),
    )

    def answer(host: str, path: str) -> Reply:
        name = host.removesuffix(".hostile.example")
        if path == "/robots.txt" and name == "endless-body":
            return again_and_again(OK + b"\r\n", b"Disallow: /elsewhere\n" * 1000)
        if path != "/robots.txt" and name in evil:
            return evil[name](path)
        found = None if path == "/robots.txt" else world.document(f"http://{host}{path}")
        if found is None:
            return missing()
        return whole(found[1].encode())

    async def missing() -> Reply:
        yield b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            host = next(line[6:] for line in head if line.lower().startswith("host: "))
            await asyncio.sleep(LATENCY)
            async for piece in answer(host.partition(":")[0], head[0].split()[1]):
                writer.write(piece)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the crawler has hung up
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    told = {
        "root": world.url_of(0),
        "port": server.sockets[0].getsockname()[1],
        "hostile": sorted(evil),
    }
    print(json.dumps(told), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)  # replies that never come are not waited for


# ---------------------------------------------------------------- the crawl


def crawl(
    out: Path, told: dict[str, Any], pages: int, delay: float, beside: bool
) -> dict[str, Any]:
    """In a process of its own."""
    evil = [
        f"http://{name}.hostile.example/{at}"
        for name in told["hostile"]
        for at in range(1 if name.startswith(SLOW) else URLS)
    ]
    settings = Settings(
        seeds=(told["root"], *(evil if beside else [])),
        topic="pottery, kiln, glaze",
        policy="breadth-first",
        pages=10 * pages,
        scope="anywhere",
        delay=delay,
        connect_to=f"127.0.0.1:{told['port']}",
        traps=True,
    )
    engine = make_crawl(settings)
    folder = RunWriter(out, settings)
    run = LiveCrawl(folder, engine)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    at: list[float] = []
    ended: dict[str, str] = {}
    began, cpu = time.monotonic(), time.process_time()

    def step(fetch: Fetch, done: Outcome | Deferred) -> None:
        if not fetch.host.endswith(".hostile.example"):
            if isinstance(done, Outcome):
                at.append(time.monotonic())
        elif isinstance(done, Outcome):
            reply = done.reply
            if isinstance(reply, Failed):
                ended[fetch.url] = f"{reply.kind}: {reply.reason}"
            else:
                flags = "cut" if "truncated" in reply.page.flags else "whole"
                ended[fetch.url] = f"{flags} at {reply.size / (1 << 20):.1f} MiB"
        over = time.monotonic() - began > MOST_SECONDS
        if over:
            live.stop("long enough")

    run.on_step = step
    live = run.driver()
    asyncio.run(run.serve(live))
    folder.close()
    with reading(out) as db:
        got = db.execute("SELECT count(*) FROM pages WHERE host NOT LIKE '%hostile.example'")
        fetched = got.fetchone()[0]
    kinds: dict[str, Counter[str]] = {}
    for url, how in ended.items():
        name = url.split("/")[2].partition(".")[0].rstrip("0123456789")
        kinds.setdefault(name, Counter())[how] += 1
    return {
        "pages": fetched,
        "pages_a_second": fetched / (at[-1] - at[0]),
        "cpu_seconds": time.process_time() - cpu,
        "base_mb": base,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "ended": {name: dict(how) for name, how in sorted(kinds.items())},
        "not ended": len(evil) - len(ended) if beside else 0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=400)
    parser.add_argument("--delay", type=float, default=0.25)
    parser.add_argument("--times", type=int, default=3)
    data = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=data)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crawl", nargs=3, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.serve:
        asyncio.run(serve(told.pages, told.data))
        return
    if told.crawl:
        out, server, beside = told.crawl
        row = crawl(Path(out), json.loads(server), told.pages, told.delay, beside == "beside")
        print(json.dumps(row))
        return
    same = [sys.executable, __file__, "--pages", str(told.pages), "--delay", str(told.delay)]
    rows: dict[str, list[dict[str, Any]]] = {"alone": [], "beside": []}
    server = subprocess.Popen(
        [*same, "--data", str(told.data), "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    with tempfile.TemporaryDirectory() as place:
        for number in range(told.times):
            for kind in rows:
                out = str(Path(place) / f"{kind}-{number}")
                done = subprocess.run(
                    [*same, "--crawl", out, line, kind], capture_output=True, text=True, check=True
                )
                rows[kind].append(json.loads(done.stdout))
    server.communicate()
    result: dict[str, Any] = {
        kind: {
            key: round(statistics.median(row[key] for row in some), 2)
            for key in ("pages", "pages_a_second", "cpu_seconds", "base_mb", "peak_mb")
        }
        for kind, some in rows.items()
    }
    alone, beside = result["alone"], result["beside"]
    result["share of the rate kept"] = round(beside["pages_a_second"] / alone["pages_a_second"], 3)
    result["MB above the crawl without them"] = max(
        round(with_["peak_mb"] - without["peak_mb"], 1)
        for with_, without in zip(rows["beside"], rows["alone"], strict=True)
    )
    result["ended"] = rows["beside"][-1]["ended"]
    result["not ended"] = [row["not ended"] for row in rows["beside"]]
    result["load"] = round(os.getloadavg()[0], 1)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
