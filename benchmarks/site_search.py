"""How soon a crawl finds what is wanted on a site that has a search, with that and without it.

    .venv/bin/python benchmarks/site_search.py http://wiki.example/ WISHES --connect-to 127.0.0.1:80

The site runs already: a WordPress, say, with articles of which somebody has said what they are
about. WISHES is a file of JSON, each wish with the URLs of the right pages: `{"novels": ["…", …]}`.
Told is the share of what can be found within 12, 30 and 100 requests; searches count as requests.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.early_recall import BUDGETS, compare

import spoor
from spoor.web.urls import canonical


def crawl(start: str, words: str, connect_to: str, *, site_search: bool) -> list[str]:
    """The URLs of the pages and failures of one crawl, in their order."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        spoor.run(
            [start],
            words,
            out=out,
            progress=False,
            pages=max(BUDGETS),
            delay=0.0,
            render="never",
            site_search=site_search,
            connect_to=connect_to,
        )
        run = spoor.Run(out)
        rows = [(page.number, page.url) for page in run.pages()]
        rows += [(failure.number, failure.url) for failure in run.failures()]
    return [url for _, url in sorted(rows)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("start")
    parser.add_argument("wishes", type=Path)
    parser.add_argument("--connect-to", required=True, metavar="ADDRESS:PORT")
    args = parser.parse_args()
    compare(
        (
            (words, {canonical(url) for url in urls})
            for words, urls in json.loads(args.wishes.read_text()).items()
        ),
        lambda words, is_on: (crawl(args.start, words, args.connect_to, site_search=is_on), ""),
        start=1,
    )


if __name__ == "__main__":
    main()
