"""How soon a crawl finds what is wanted on a site that has a search, with that and without it.

    .venv/bin/python benchmarks/site_search.py http://wiki.example/ WISHES --connect-to 127.0.0.1:80

The site runs already: a WordPress, say, with articles of which somebody has said what they are
about. WISHES is a file of JSON, each wish with the URLs of the right pages: `{"novels": ["…", …]}`.
Told is the share of what can be found within 12, 30 and 100 requests; searches count as requests.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path

import spoor
from spoor.web.urls import canonical

BUDGETS = (12, 30, 100)


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


def recalls(asked_for: Sequence[str], right: set[str]) -> list[float]:
    """Of the right pages that can be found within each budget, the share that was."""
    return [
        len(right & set(asked_for[:budget])) / min(budget - 1, len(right)) for budget in BUDGETS
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("start")
    parser.add_argument("wishes", type=Path)
    parser.add_argument("--connect-to", required=True, metavar="ADDRESS:PORT")
    args = parser.parse_args()
    rows: dict[bool, list[list[float]]] = {False: [], True: []}
    for words, urls in json.loads(args.wishes.read_text()).items():
        right = {canonical(url) for url in urls}
        for with_search, its in rows.items():
            asked_for = crawl(args.start, words, args.connect_to, site_search=with_search)
            its.append(recalls(asked_for, right))
            shares = " ".join(f"{share:.2f}" for share in its[-1])
            name = "with the search" if with_search else "without"
            print(f"{words}, {len(right)} right, {name}: {shares}", flush=True)
    for with_search, its in rows.items():
        means = " ".join(f"{statistics.mean(column):.2f}" for column in zip(*its, strict=True))
        print(f"{'with the search' if with_search else 'without'}, the mean: {means}")


if __name__ == "__main__":
    main()
