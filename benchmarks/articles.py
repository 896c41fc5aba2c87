"""How much of an article its main text holds, and how much else: against texts that people marked.

    .venv/bin/python benchmarks/articles.py FOLDER

FOLDER is a checkout of the Article Extraction Benchmark (Zyte, MIT licence): 181 pages of
newspapers and blogs as `html/NAME.html.gz`, and `ground-truth.json` with the URL and `articleBody`
of each. As there, texts are compared by runs of four words, each page counts alike, and F1 is of
the mean precision and the mean recall. CPU is that of this process, after a first page.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from resiliparse.extract.html2text import extract_plain_text

from spoor.documents.articles import is_installed
from spoor.documents.document import Document, Limits
from spoor.documents.extract import LIMITS, extract
from spoor.web.page import parse

_WORD = re.compile(r"\w+")


def runs(text: str) -> Counter[tuple[str, ...]]:
    words = _WORD.findall(text)
    return Counter(tuple(words[at : at + 4]) for at in range(max(1, len(words) - 3)))


def compared(found: str, right: str) -> tuple[float, float]:
    """Precision and recall of a text."""
    has, wanted = runs(found), runs(right)
    both = (has & wanted).total()
    return both / max(1, has.total()), both / max(1, wanted.total())


def main_text(url: str, body: bytes, limits: Limits = LIMITS) -> str:
    read = extract("text/html; charset=utf-8", url, body, limits)
    return read.text if isinstance(read, Document) else ""


def without_extra(url: str, body: bytes) -> str:
    return main_text(url, body, Limits(articles=False))


def by_trafilatura(url: str, body: bytes) -> str:
    import trafilatura

    return trafilatura.extract(body, include_comments=False) or ""


def by_resiliparse(url: str, body: bytes) -> str:
    html = body.decode("utf-8", "replace")
    return str(extract_plain_text(html, main_content=True, comments=False))


READERS: dict[str, Callable[[str, bytes], str]] = {
    "visible text": lambda url, body: parse(body, url, content_type="text/html").text,
    "Resiliparse": by_resiliparse,
    "Spoor": without_extra,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    pages = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    packed = {name: (folder / "html" / f"{name}.html.gz").read_bytes() for name in pages}
    bodies = {name: gzip.decompress(body) for name, body in packed.items()}
    readers = dict(READERS)
    if is_installed():
        readers |= {"Spoor with the extra `articles`": main_text, "trafilatura": by_trafilatura}
    print("| | F1 | precision | recall | ms a page, CPU |\n| --- | --- | --- | --- | --- |")
    for label, read in readers.items():
        name = next(iter(pages))
        read(pages[name]["url"], bodies[name])
        began = time.process_time()
        texts = {name: read(page["url"], bodies[name]) for name, page in pages.items()}
        cost = 1_000 * (time.process_time() - began) / len(pages)
        told = [compared(texts[name], page["articleBody"]) for name, page in pages.items()]
        precision, recall = (statistics.mean(column) for column in zip(*told, strict=True))
        f1 = 2 * precision * recall / (precision + recall)
        print(f"| {label} | {f1:.3f} | {precision:.3f} | {recall:.3f} | {cost:.1f} |")


if __name__ == "__main__":
    main()
