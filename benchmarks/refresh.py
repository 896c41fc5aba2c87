"""What a second pass over an unchanged site costs: requests, bytes, CPU.

    .venv/bin/python benchmarks/refresh.py [--pages 10000]

A site of pages of some 6 kB that link to their neighbours, with validators; once with a sitemap
whose `lastmod` is old, once without one but fresh by `Last-Modified`, once asked for page by page
(`--no-hints`). The server is a process of its own; the CPU is that of the crawl.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import tempfile
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from aiohttp import web

from spoor.live.live_crawl import LiveCrawl
from spoor.runs.assemble import make_crawl
from spoor.runs.inputs import with_inputs
from spoor.runs.writer import RunWriter
from spoor.settings import Settings

OLD = "Mon, 01 Jan 2001 00:00:00 GMT"


def serve(pages: int, pipe: Connection) -> None:
    counts = {"requests": 0, "bytes": 0, "not modified": 0}

    async def answer(request: web.Request) -> web.Response:
        counts["requests"] += 1
        path = request.path
        if path == "/counts":
            told = dict(counts)
            counts.update(dict.fromkeys(counts, 0))
            return web.json_response(told)
        if path == "/sitemap.xml" and request.host == "listed.example":
            urls = "".join(
                f"<url><loc>http://listed.example/{n}</loc><lastmod>2001-01-01</lastmod></url>"
                for n in range(pages)
            )
            reply = web.Response(text=f"<urlset>{urls}</urlset>", content_type="application/xml")
        elif not (path[1:] or "0").isdigit():
            reply = web.Response(status=404)
        elif "If-None-Match" in request.headers:
            counts["not modified"] += 1
            reply = web.Response(status=304, headers={"ETag": '"1"'})
        else:
            number = int(path[1:] or 0)
            links = "".join(f'<a href="/{(8 * number + k) % pages}">kiln</a>' for k in range(9))
            words = " ".join(f"kiln{(number * 31 + k * k) % 997}" for k in range(800))
            headers = {"ETag": '"1"', "Last-Modified": OLD}
            text = f"<title>{number}</title><p>{words}</p>{links}"
            reply = web.Response(text=text, content_type="text/html", headers=headers)
        counts["bytes"] += reply.content_length or 0
        return reply

    async def main() -> None:
        app = web.Application()
        app.router.add_get("/{path:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        pipe.send(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(main())


def crawl(out: Path, port: int, **told: Any) -> tuple[float, dict[str, int] | None]:
    """CPU seconds, and what became of the pages."""
    settings = Settings.of(
        {"connect_to": f"127.0.0.1:{port}", "delay": 0.0, "per_host": 16, **told}
    )
    settings = with_inputs(settings, [] if settings.refresh else [f"http://{out.parent.name}/"])
    began = resource.getrusage(resource.RUSAGE_SELF)
    with closing(RunWriter(out, settings)) as folder:
        run = LiveCrawl(folder, make_crawl(settings))
        reason = run.run()
    ended = resource.getrusage(resource.RUSAGE_SELF)
    cpu = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    return cpu, run.summary(reason)["refreshed"]


def counted(port: int) -> dict[str, int]:
    import json
    from urllib.request import urlopen

    with urlopen(f"http://127.0.0.1:{port}/counts") as reply:
        told: dict[str, int] = json.load(reply)
    return told


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=10_000)
    pages = options.parse_args().pages
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(pages, there), daemon=True)
    server.start()
    port = here.recv()
    with tempfile.TemporaryDirectory() as folder:
        rounds: list[tuple[str, dict[str, Any]]] = [
            ("listed.example", {}),
            ("dated.example", {}),
            ("dated.example", {"hints": False}),
        ]
        for host, more in rounds:
            first = Path(folder, host, "first")
            first.parent.mkdir(exist_ok=True)
            if not first.exists():
                counted(port)
                told: dict[str, Any] = {
                    "topic": "kiln",
                    "pages": pages,
                    "policy": "breadth-first",
                    "traps": True,
                }
                cpu, _ = crawl(first, port, **told)
                before = counted(port)
                print(f"{host}: first pass {before}, {cpu:.1f} s of CPU", flush=True)
            out = first.parent / f"again{len(more)}"
            cpu, became = crawl(out, port, refresh=str(first), **more)
            after = counted(port)
            each = 1000 * cpu / max(1, after["not modified"])
            print(
                f"{host} {more or ''}: {after}, {cpu:.1f} s of CPU, {each:.2f} ms for each "
                f"304; {after['requests'] / before['requests']:.1%} of the requests, "
                f"{after['bytes'] / before['bytes']:.2%} of the bytes; {became}",
                flush=True,
            )
    server.terminate()


if __name__ == "__main__":
    main()
