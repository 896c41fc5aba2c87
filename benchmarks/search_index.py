"""How soon a crawl finds what is wanted on a manual, with its search index and without it.

    PYTHONPATH=tests .venv/bin/python benchmarks/search_index.py FOLDER "WORDS=PART"…

The folder is served on loopback. Of each wish, the right pages are the HTML files in that part of
it: `"process scheduler=scheduler"`. For example Debian's linux-doc, which Sphinx made. Told is the
share of what can be found within 12, 30 and 100 requests, as the server counted them, robots.txt
left out, and the size of what was asked for.
"""

from __future__ import annotations

import argparse
import mimetypes
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.early_recall import BUDGETS, compare

import spoor
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, reply


def crawl(folder: Path, words: str, *, search_index: bool) -> list[tuple[str, int]]:
    """The files that were asked for in one crawl, in their order, and their bytes."""
    asked_for = list[tuple[str, int]]()

    def answer(asked: Asked) -> bytes:
        path = asked.path.partition("?")[0].lstrip("/")
        path += "index.html" if not path or path.endswith("/") else ""
        file = (folder / path).resolve()
        if path == "robots.txt":
            return MISSING
        body = file.read_bytes() if file.is_relative_to(folder) and file.is_file() else None
        asked_for.append((path, len(body or b"")))
        if body is None:
            return MISSING
        return reply(body, media=mimetypes.guess_type(path)[0] or "text/plain")

    server = Loopback(answer)
    with beside(server.serving), tempfile.TemporaryDirectory() as out:
        spoor.run(
            ["http://manual.example/"],
            words,
            out=Path(out) / "run",
            progress=False,
            pages=max(BUDGETS),
            delay=0.0,
            render="never",
            search_index=search_index,
            connect_to=f"{ADDRESS}:{server.port}",
        )
    return asked_for


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("wishes", nargs="+", metavar="WORDS=PART")
    chosen = options.parse_args()
    folder = chosen.folder.resolve()

    def asked(words: str, is_on: bool) -> tuple[list[str], str]:
        asked_for = crawl(folder, words, search_index=is_on)
        sent = sum(size for _, size in asked_for) / 1e6
        return [path for path, _ in asked_for], f"; {sent:.1f} MB"

    parts = (wish.partition("=")[::2] for wish in chosen.wishes)
    compare(
        (
            (words, {str(one.relative_to(folder)) for one in (folder / part).rglob("*.html")})
            for words, part in parts
        ),
        asked,
    )


if __name__ == "__main__":
    main()
