"""The default judge on a manual with its whole table of contents on each page, beside the old one.

    python benchmarks/judge_menus.py FOLDER LANGUAGE...

FOLDER is `usr/share/doc/lilypond/html/Documentation` of Debian's packages `lilypond-doc-html` and
`lilypond-doc-html-XX`, unpacked. The first 300 pages breadth-first from the notation manual are
judged. A wish is the title of a section; wanted is what `rel="up"` leads to it from: no judge made
this truth. F1 of the default judge at the end and at arrival, at the best threshold, and of the
default before it.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections import defaultdict, deque
from pathlib import Path
from urllib.parse import urljoin

from spoor.judges.relevance import Relevance
from spoor.judges.wish import parse
from spoor.lab.kinds.judges import figures, judged, old_default
from spoor.types import Page
from spoor.web.page import parse as parse_page

SITE = "http://manual.example/"
MANUALS = ("notation", "learning", "usage", "extending")
PAGES = 300
LEAST, MOST = 4, 60
"""Pages below a section that is a task."""
LARGEST = 600_000
"""Bytes of a page; larger ones hold a whole manual."""
_UP = re.compile(r'<link href="([^"#]+)[^"]*" rel="up"')
_SECTION = re.compile(r":\s*(?:\d+|[A-Z])\.\d+\s+(.+)$")


def read(folder: Path, language: str) -> tuple[list[Page], dict[str, str]]:
    """Pages in the order of a crawl, and of each the URL of the page above it."""
    ending = ".html" if language == "en" else f".{language}.html"
    start = f"{SITE}notation/index{ending}"
    queue, seen, pages, above = deque([start]), {start}, list[Page](), dict[str, str]()
    while queue and len(pages) < PAGES:
        url = queue.popleft()
        path = folder / url.removeprefix(SITE)
        if not path.is_file() or path.stat().st_size > LARGEST:
            continue
        source = path.read_bytes()
        page = parse_page(source, url)
        pages.append(page)
        if up := _UP.search(source.decode("utf-8", "replace")):
            above[url] = urljoin(url, up[1])
        for link in page.links:
            target = link.url.partition("#")[0]
            manual, _, name = target.removeprefix(SITE).partition("/")
            its = name.endswith(ending) and name.count(".") == ending.count(".")
            if manual in MANUALS and its and target not in seen:
                seen.add(target)
                queue.append(target)
    return pages, above


def tasks(pages: list[Page], above: dict[str, str]) -> list[tuple[str, set[str]]]:
    """Wishes, and the URLs of the pages that are wanted."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for page in pages:
        url = page.url
        for _ in range(8):
            if url not in above:
                break
            url = above[url]
            below[url].add(page.url)
    return [
        (section[1].strip(), below[page.url] | {page.url})
        for page in pages
        if LEAST <= len(below[page.url]) <= MOST and (section := _SECTION.search(page.title))
    ]


def main() -> None:
    folder, *languages = sys.argv[1:]
    for language in languages:
        pages, above = read(Path(folder), language)
        rows = []
        for words, wanted in tasks(pages, above):
            truth = [page.url in wanted for page in pages]
            said = judged(Relevance(parse(words)), pages)
            end, arrival = (figures(said[when], truth) for when in ("end", "arrival"))
            before = figures(judged(old_default(words), pages)["arrival"], truth)
            rows.append((end["f1"], arrival["f1"], end["best_f1"], before["f1"]))
        means = [f"{statistics.mean(column):.3f}" for column in zip(*rows, strict=True)]
        print(language, len(rows), "tasks: end", means[0], "arrival", means[1], end=" ")
        print("best threshold", means[2], "old default", means[3], flush=True)


if __name__ == "__main__":
    main()
