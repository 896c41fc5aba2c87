"""How fast webs are imported, and in how much memory.

    .venv/bin/python benchmarks/import_web.py [--dump PAGES] [--jobs N] [SRC...]

imports each source into a scratch folder, in a process of its own. `--dump` makes a MediaWiki dump
of that many articles first, of about the size and markup of Simple English Wikipedia's (250,000),
from the words of the Wikispeedia articles in SPOOR_DATA. Without sources or `--dump`, all recorded
webs of SPOOR_DATA are imported.
"""

from __future__ import annotations

import argparse
import bz2
import io
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from xml.sax.saxutils import escape

import zstandard

DATA = Path(os.environ.get("SPOOR_DATA", Path(__file__).parents[1] / "../shared/data"))
WEBS = ("webkb/pages", "company-sites/pages", "wikispeedia/pages", "uci-ics/links")

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="simple">
<siteinfo><base>https://wiki.example/wiki/Page_0</base><case>first-letter</case><namespaces>
<namespace key="6">File</namespace><namespace key="14">Category</namespace>
</namespaces></siteinfo>
"""
INFOBOX = (
    "{{{{Infobox settlement\n| name = {title}\n| image = {title}.jpg\n"
    "| caption = View of [[{other}]]\n| population = {number}\n"
    "| coordinates = {{{{coord|51|30|N|0|7|W|display=title}}}}\n"
    "| area = {{{{convert|{number}|km2}}}}\n| leader = [[{leader}]]\n}}}}\n"
)
CITATION = (
    "<ref>{{{{cite web |url=http://source.example/{number} |title={title} |last=Smith |first=A. "
    "|date=2 May 2011 |accessdate=3 June 2012 |publisher=[[{other}]]}}}}</ref>"
)


def articles() -> list[tuple[list[str], int]]:
    """(paragraphs, links) of each Wikispeedia article."""
    with (DATA / "wikispeedia/pages.jsonl.zst").open("rb") as file:
        stream = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(file)
        rows = [json.loads(line) for line in io.TextIOWrapper(stream, "utf-8")]
    return [(row["text"].split("\n"), len(row["links"])) for row in rows]


def wikitext(title: str, count: int, source: tuple[list[str], int], rng: random.Random) -> str:
    """An article of some 4 kB: an infobox, sections, links, citations, categories."""
    paragraphs, _ = source
    names = {"other": _title(count, rng), "leader": _title(count, rng)}
    parts = [INFOBOX.format(title=title, number=rng.randrange(10**6), **names)]
    size = 0
    for at, paragraph in enumerate(paragraphs):
        if len(paragraph) < 40:
            parts.append(f"\n== {paragraph} ==\n")
            continue
        words = paragraph.split()
        for place in range(rng.randrange(1, 12), len(words) - 1, 25):
            words[place] = f"[[{_title(count, rng)}|{words[place]}]]"
        citation = CITATION.format(number=at, title=title, other=_title(count, rng))
        parts.append(" ".join(words) + citation + "\n\n")
        size += len(paragraph)
        if size > rng.expovariate(1 / 6000):
            break
    parts.append(
        "{{stub}}\n" + "".join(f"[[Category:Topic {rng.randrange(3000)}]]\n" for _ in range(3))
    )
    return "".join(parts)


def _title(count: int, rng: random.Random) -> str:
    """Some articles are linked to far more often than others; some links lead to none."""
    return f"Page {int(count * 1.2 * rng.random() ** 3)}"


def make_dump(path: Path, count: int) -> None:
    rng = random.Random(1)
    sources = articles()
    with bz2.open(path, "wt", encoding="utf-8") as file:
        file.write(HEAD)
        for number in range(count):
            title = f"Page {number}"
            text = escape(wikitext(title, count, rng.choice(sources), rng))
            file.write(
                f"<page><title>{title}</title><ns>0</ns><revision>"
                f"<timestamp>2024-01-01T00:00:00Z</timestamp><text>{text}</text></revision></page>\n"
            )
        file.write("</mediawiki>\n")


def imported(source: Path, jobs: int) -> Iterator[str]:
    """Import one source in a process of its own; figures as cells of a table row."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "spoor", "web", "import", str(source), f"{folder}/web"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        done = subprocess.run(
            [*command, "--json", "--jobs", str(jobs)], check=True, stdout=subprocess.PIPE
        )
        seconds = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        said = json.loads(done.stdout)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        yield f"{source.parent.name}/{source.name}"
        yield f"{said['pages']:,}"
        yield f"{said['links']:,}"
        yield f"{seconds:.1f}"
        yield f"{cpu:.1f}"
        yield f"{said['pages'] / seconds:,.0f}"
        yield f"{said['bytes'] / 1e6:.1f}"
        yield f"{after.ru_maxrss / 1024:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", nargs="*", type=Path)
    parser.add_argument("--dump", type=int, metavar="PAGES")
    parser.add_argument("--jobs", type=int, default=0)
    given = parser.parse_args()
    sources = list(given.sources)
    with tempfile.TemporaryDirectory() as scratch:
        if given.dump:
            dump = Path(scratch) / "dump.xml.bz2"
            # In a process of its own, so that its memory is not taken for the import's.
            maker = get_context("spawn").Process(target=make_dump, args=(dump, given.dump))
            maker.start()
            maker.join()
            size = dump.stat().st_size / 1e6
            print(f"dump of {given.dump:,} articles: {size:.1f} MB", flush=True)
            sources.append(dump)
        if not sources:
            sources = [DATA / f"{name}.jsonl.zst" for name in WEBS]
        print("source | pages | links | s | CPU s | pages/s | MB on disk | peak MB of one process")
        for source in sources:
            print(" | ".join(imported(source, given.jobs)), flush=True)


if __name__ == "__main__":
    main()
