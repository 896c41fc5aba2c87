"""What hosts that never answer cost the others: pages a second of good hosts, alone and beside.

    .venv/bin/python benchmarks/slow_hosts.py [--seconds 30] [--delay 0.25] [--good 8]
        [--bad 10 200] [--kinds mute drip slow-dns lists] [--first] [--policy breadth-first]
        [--in-flight 16]

Eight hosts are served on loopback and crawled as `spoor crawl` does, with 16 requests in flight;
then again beside so many bad hosts, three URLs each, among the seeds in random order (`--first`:
before all good ones). `mute` hosts accept and never answer, robots.txt included; `drip` hosts
answer robots.txt, and each page at a byte a second; the names of `slow-dns` hosts are never looked
up. The three pages of a `lists` host have 5,000 links each to pages that all say the same. Each
crawl is a process of its own and is ended after so many seconds. Prints a table; goal: good hosts
keep 90 % of their rate. PYTHONPATH may name another version of Spoor.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

LINKS = 5_000
"""Of a page of a host with lists."""
PAGES = 2000
"""Of each good host."""
SYLLABLES = [f"{first}{last}" for first in "bdfgklmnprstvz" for last in "aeiou"]
LATENCY = 0.02
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


async def serve() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                host = next(line[6:] for line in head if line.lower().startswith("host: "))
                path = head[0].split()[1]
                if host.startswith("mute"):
                    await asyncio.Event().wait()
                if path == "/robots.txt":
                    body = b"User-agent: *\nAllow: /\n"
                elif host.startswith("drip"):
                    writer.write(OK + b"\r\n")
                    while True:
                        writer.write(b"x")
                        await writer.drain()
                        await asyncio.sleep(1.0)
                elif host.startswith("lists"):
                    names = range(LINKS) if path.count("/") == 1 else ()
                    links = "".join(f"<a href=/of{path}/{n}>Kiln {n}</a> " for n in names)
                    body = f"<title>Kilns</title>{links or 'One kiln'}".encode()
                else:
                    number = int(path.strip("/") or 0)
                    links = "".join(f"<a href=/{number + step}>{step}</a>" for step in range(1, 11))
                    words = random.Random(number).choices(SYLLABLES, k=60)
                    said = " ".join(map("".join, zip(words[::2], words[1::2], strict=True)))
                    links = links if number < PAGES else ""
                    body = f"<title>{number}</title><p>{said}</p>{links}".encode()
                    await asyncio.sleep(LATENCY)
                writer.write(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the crawler has hung up
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (replies that never come)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)


def crawl(told: argparse.Namespace, port: int, kind: str, bad: int) -> None:
    """In a process of its own."""
    from spoor.live.live_crawl import LiveCrawl
    from spoor.runs.assemble import make_crawl
    from spoor.runs.writer import RunWriter
    from spoor.settings import Settings
    from spoor.types import Deferred, Fetch, Fetched, Outcome

    forever = threading.Event()

    def getaddrinfo(host: str, port: int, *options: Any, **more: Any) -> list[Any]:
        if host.startswith("slow-dns"):
            forever.wait(10.0)  # as the system's resolver does with one mute name server
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    socket.getaddrinfo = getaddrinfo  # type: ignore[assignment]
    good = [f"good{host}.example" for host in range(told.good)]
    others = [f"{kind}{host}.example" for host in range(bad)]
    seeds = [f"http://{host}:{port}/" for host in good]
    if not told.first:
        seeds += [f"http://{host}:{port}/{n}" for host in others for n in range(3)]
        random.Random(0).shuffle(seeds)
    else:
        seeds = [f"http://{host}:{port}/{n}" for n in range(3) for host in others] + seeds
    settings = Settings(
        seeds=tuple(seeds),
        topic="pottery, kiln, glaze",
        policy=told.policy,
        pages=100_000,
        scope="anywhere",
        delay=told.delay,
        allow_private=(*good, *others),
        traps=kind != "lists",
        per_address=0,
        in_flight=told.in_flight,
    )
    at: list[float] = []
    firsts: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place:
        engine = make_crawl(settings)
        folder = RunWriter(Path(place) / "run", settings)
        run = LiveCrawl(folder, engine)
        began = time.monotonic()

        def step(fetch: Fetch, done: Outcome | Deferred) -> None:
            if isinstance(done, Outcome) and isinstance(done.reply, Fetched):
                now = time.monotonic() - began
                if fetch.host.startswith("good"):
                    at.append(now)
                    firsts.setdefault(fetch.host, now)

        run.on_step = step
        live = run.driver()

        async def go() -> None:
            asyncio.get_running_loop().call_later(told.seconds, live.abort, "long enough")
            await run.serve(live)

        asyncio.run(go())
        folder.close()
        hold = getattr(getattr(run, "loop_watch", None), "longest", None)
    late = sum(told.seconds * 2 / 3 < one <= told.seconds for one in at) / (told.seconds / 3)
    row = {"pages": len(at), "late": late, "found": sorted(firsts.values()), "hold": hold}
    print(json.dumps(row), flush=True)
    os._exit(0)  # threads that look up names are not waited for


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--delay", type=float, default=0.25)
    parser.add_argument("--good", type=int, default=8)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--policy", default="breadth-first")
    parser.add_argument("--bad", type=int, nargs="*", default=[10, 200])
    parser.add_argument("--kinds", nargs="*", default=["mute", "drip", "slow-dns"])
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crawl", nargs=3, help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.serve:
        asyncio.run(serve())
        return
    if told.crawl:
        port, kind, bad = told.crawl
        crawl(told, int(port), kind, int(bad))
        return
    same = [sys.executable, __file__, "--seconds", str(told.seconds), "--delay", str(told.delay)]
    same += ["--good", str(told.good), "--policy", told.policy]
    same += ["--in-flight", str(told.in_flight)]
    server = subprocess.Popen(
        [*same, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    port = server.stdout.readline().strip()
    alone = last_alone = 0.0
    print(
        f"{'beside':>14} {'pages/s':>8} {'share':>6} {'last third':>11} {'found after':>18}  load"
    )
    for kind, bad in [("none", 0), *((kind, bad) for kind in told.kinds for bad in told.bad)]:
        more = ["--first"] if told.first else []
        done = subprocess.run(
            [*same, *more, "--crawl", port, kind, str(bad)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        row = json.loads(done.stdout)
        rate = row["pages"] / told.seconds
        alone, last_alone = alone or rate, last_alone or row["late"]
        found = row["found"]
        times = f"{found[0]:.1f}-{found[-1]:.1f} s ({len(found)})" if found else "never"
        name, load, last = f"{bad} {kind}", os.getloadavg()[0], row["late"] / last_alone
        print(
            f"{name:>14} {rate:8.1f} {rate / alone:6.0%} {last:11.0%} {times:>18}  {load:.1f}",
            flush=True,
        )
    server.communicate()


if __name__ == "__main__":
    main()
