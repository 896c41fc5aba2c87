"""How many documents are taken for pages that are sent in their place, and what that check costs.

    .venv/bin/python benchmarks/refusals.py FOLDER… WEB.jsonl.zst…

FOLDER: of HTML files, of which every one is a document. WEB: one page a line, with `html`, or
`text` with `title`, as the recorded webs of the tests have it. Prints for each: pages, those that
are taken for others by name with examples, and microseconds of CPU a page.
"""

from __future__ import annotations

import io
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import zstandard

from spoor.types import Page
from spoor.web.page import parse
from spoor.web.refusals import refusal


def pages(place: Path) -> Iterator[tuple[Page, bytes]]:
    """The pages of a folder or a recorded web, with the bytes that they were made of."""
    if place.is_dir():
        for file in sorted(place.rglob("*.htm*")):
            body = file.read_bytes()
            yield parse(body, file.as_uri()), body
        return
    with place.open("rb") as packed:
        for line in io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(packed), "utf-8"):
            row = json.loads(line)
            body = (row.get("html") or "").encode("utf-8", "replace")
            url = row.get("url") or "http://recorded.example/"
            if body:
                yield parse(body, url), body
            else:
                yield Page(url, title=row.get("title") or "", text=row.get("text") or ""), b""


def main() -> None:
    for place in map(Path, sys.argv[1:]):
        many, spent, found = 0, 0.0, Counter[str]()
        examples: dict[str, Page] = {}
        for page, body in pages(place):
            many += 1
            began = time.process_time()
            why = refusal(page, {}, body)
            spent += time.process_time() - began
            if why is not None:
                found[why.name] += 1
                examples.setdefault(why.name, page)
        print(f"{place}: {many:,} pages, {dict(found)}, {spent / max(many, 1) * 1e6:.0f} µs a page")
        for name, page in examples.items():
            print(f"  {name}: {page.url} {page.title[:60]!r} {page.text[:80]!r}")


if __name__ == "__main__":
    main()
