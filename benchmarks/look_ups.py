"""Questions of agents, looked up live: how often the first passage is of a right page.

    .venv/bin/python benchmarks/look_ups.py --cache build/duel [--half reported] [SITE…]

The questions of `look_ups.toml` and the manuals that answer them, of Debian packages that the first
run downloads. Each site is served on this machine, and each question is asked of a server of its
own by the client of the protocol (`look_up`, 30 pages), so that nothing is known before. Prints a
line a question: the place of the first passage of a right page (0: among none of five), pages that
were fetched, whether the answer was said to be one (+), and what came first; then the means. A
request each `--delay` seconds: some five minutes for a half.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import tempfile
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mcp.client import Client

from spoor.integrations.mcp.crawls import AgentCrawls, AgentLimits
from spoor.integrations.mcp.server import make_server
from spoor.lab.manuals import unpacked
from spoor.settings import Settings

PAGES = 30


@dataclass(frozen=True)
class LookUp:
    """How a question was answered."""

    place: int
    fetched: int
    is_sure: bool
    first: str


class Quiet(SimpleHTTPRequestHandler):
    """Serves a folder without a line for each request."""

    def log_message(self, *_: object) -> None:
        pass

    def copyfile(self, source: Any, outputfile: Any) -> None:
        with suppress(ConnectionError):  # a crawl that is over reads no further
            super().copyfile(source, outputfile)


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder that is served on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


async def look_up(question: str, start: str, right: str, delay: float) -> LookUp:
    """Ask one question, of a server that knows nothing yet."""
    settings = Settings(delay=delay, allow_private=("127.0.0.1",), contact="me@example.org")
    with tempfile.TemporaryDirectory() as folder:
        crawls = AgentCrawls(Path(folder), AgentLimits(pages=PAGES, settings=settings))
        async with Client(make_server(crawls)) as client:
            asked = {"question": question, "start": start, "pages": PAGES, "seconds": 300.0}
            result = await client.call_tool("look_up", asked)
            said = "\n".join(getattr(part, "text", "") for part in result.content)
            status = (await client.call_tool("status", {"crawl": "crawl-1"})).structured_content
    rows = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    paths = [row["url"].split("/", 3)[3] for row in rows]
    places = [place for place, path in enumerate(paths, 1) if re.search(right, path)]
    is_sure = bool(rows) and "No passage has" not in said
    fetched = status["fetched"] if status else 0
    return LookUp(places[0] if places else 0, fetched, is_sure, paths[0] if paths else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sites", nargs="*", help="only these")
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--half", choices=["development", "reported"])
    parser.add_argument("--delay", type=float, default=0.25)
    given = parser.parse_args()
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["site"]
    found = list[LookUp]()
    for name, site in tables.items():
        if (given.sites and name not in given.sites) or given.half not in (None, site["half"]):
            continue
        folder = unpacked(site["package"], (given.cache / "debian").resolve()) / site["folder"]
        with served(folder) as address:
            for question, right in site["questions"]:
                start = address + site.get("start", "")
                found.append(one := asyncio.run(look_up(question, start, right, given.delay)))
                sign = "+" if one.is_sure else "-"
                print(
                    f"{name:12} {one.place} {one.fetched:3} {sign} {question} → {one.first}",
                    flush=True,
                )
    sure = [one for one in found if one.is_sure]
    print(
        f"{len(found)} questions: first {sum(one.place == 1 for one in found) / len(found):.2f}, "
        f"among five {sum(one.place > 0 for one in found) / len(found):.2f}, "
        f"pages {sum(one.fetched for one in found) / len(found):.1f}; said to be answered "
        f"{len(sure) / len(found):.2f}, "
        f"of these first {sum(one.place == 1 for one in sure) / max(1, len(sure)):.2f}"
    )


if __name__ == "__main__":
    main()
