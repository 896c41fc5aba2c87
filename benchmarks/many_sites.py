"""Of many sites the page of one kind: what the default judge tells of pages of 700 sites.

    .venv/bin/python benchmarks/many_sites.py --cache FOLDER [--most 3000] [--pages 12]

downloads each small package `python-…-doc` that this Debian knows (some 800, 250 MB; ten minutes)
and reads the first `--pages` pages of each, breadth-first from its index, as a site of its own. A
page is wanted by the name of its file alone (`install.html`, `changelog.html`, …), which no judge
made; and of wishes that are a topic of some sites, by the site or by a word in URL or title. Prints
a line a wish: pages that are wanted and told, F1 at the end and at arrival, precision, recall,
average precision, and of the sites with such a page the share whose best page is one.

`development`: half of the sites, by a hash of their names, and three kinds of page; `report`: the
other sites and other kinds. `topics` are topics of some sites, of the first half.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from spoor.hashing import hash64
from spoor.judges.spec import judge_of
from spoor.lab.manuals import unpacked
from spoor.types import Page, urls_of
from spoor.web.page import parse

LARGEST = 3_000_000
"""Bytes of a package."""
MOST_BYTES = 1 << 18
"""Of a page that is read."""
KINDS = {
    "development": [
        (
            r"install(ation|ing|guide|ation[-_](instructions|guide)|_guide)?",
            ["installation instructions", "installation", "how to install", "installation guide"],
        ),
        (
            r"change_?logs?|changes|history|release[-_ ]?notes|releases?|whats_?new|news",
            ["release notes", "changelog", "version history"],
        ),
        (
            r"tutorials?|quick_?start|getting[-_]?started|first_steps",
            ["getting started tutorial", "quickstart tutorial", "tutorial"],
        ),
    ],
    "report": [
        (r"faqs?", ["frequently asked questions", "FAQ"]),
        (
            r"contribut(ing|e|ions?)|hacking",
            ["how to contribute", "contributing guidelines"],
        ),
        (r"licen[sc]es?|copyright|copying", ["software license", "license"]),
        (r"api([-_]?reference)?|reference_api", ["API reference"]),
        (
            r"authors|credits|contributors|acknowledgements|thanks",
            ["authors and contributors"],
        ),
        (r"examples?|recipes|cookbook", ["usage examples", "code examples"]),
        (r"config(uration|uring)?|settings|options", ["configuration options", "settings"]),
    ],
}
TOPICS: list[tuple[Callable[[Page], object], list[str]]] = [
    (lambda page: "django" in _site(page), ["django", "django apps"]),
    (
        lambda page: re.search(r"skimage|imag|pillow|mahotas|pil\b|nipy|nibabel|dipy", _site(page)),
        ["image processing"],
    ),
    (lambda page: re.search("async|aio", _told(page)), ["asyncio"]),
    (lambda page: re.search(r"\btest|pytest", _told(page)), ["testing", "unit tests"]),
    (lambda page: re.search("exception|error", _own(page)), ["exceptions and errors"]),
    (lambda page: re.search("database|sql|postgres|mongo", _told(page)), ["database"]),
    (lambda page: re.search(r"command|cli\b", _own(page)), ["command line interface"]),
]


def _site(page: Page) -> str:
    return page.url.split("/")[2]


def _told(page: Page) -> str:
    return f"{page.url} {page.title}".lower()


def _own(page: Page) -> str:
    return f"{page.url.split('/', 3)[3]} {page.title.partition('—')[0]}".lower()


def packages() -> Iterator[str]:
    """Names of the documentation packages that are small."""
    search = ["apt-cache", "search", "--names-only", "^python.*-doc$"]
    found = subprocess.run(search, check=True, capture_output=True, text=True).stdout
    names = sorted(line.split(" ", 1)[0] for line in found.splitlines())
    show = ["apt-cache", "show", "--no-all-versions", *names]
    shown = subprocess.run(show, check=True, capture_output=True, text=True).stdout
    for name, size in re.findall(r"^Package: (\S+)$.*?^Size: (\d+)$", shown, re.M | re.S):
        if int(size) <= LARGEST:
            yield name


def pages_of(package: str, cache: Path, most: int) -> list[Page]:
    """The first pages of a site, breadth-first; none where the package has no index."""
    indices = (unpacked(package, cache) / "usr/share/doc").rglob("index.html")
    index = min(indices, key=lambda path: (len(path.parts), str(path)), default=None)
    if index is None:
        return []
    base = f"http://{package.removesuffix('-doc')}.example/"
    waiting, known, pages = [base], {base}, list[Page]()
    for url in waiting:
        file = index.parent / (url.removeprefix(base) or "index.html")
        if not (file.is_file() and file.stat().st_size <= MOST_BYTES):
            continue
        page = parse(file.read_bytes(), url, content_type="text/html")
        pages.append(page)
        if len(pages) == most:
            break
        targets = [link.partition("#")[0] for link in urls_of(page.links)]
        new = [link for link in targets if link.startswith(base) and link.endswith(".html")]
        waiting += [link for link in dict.fromkeys(new) if link not in known]
        known.update(new)
    return pages


def measure(wish: str, pages: list[Page], wanted: np.ndarray) -> tuple[float, ...]:
    """F1 at the end and at arrival, precision, recall, average precision, share of sites whose best
    page is wanted, and how many are told."""
    judge = judge_of([f"query:{wish}"])
    verdicts = {page.url: judge.judge(page) for page in pages}
    at_arrival = np.array([verdicts[page.url].relevant for page in pages])
    verdicts |= dict(judge.revise())  # type: ignore[attr-defined]
    told = np.array([verdicts[page.url].relevant for page in pages])
    scores = np.array([verdicts[page.url].score for page in pages])
    both = (told & wanted).sum()
    ranked = wanted[np.argsort(-scores, kind="stable")]
    average = (ranked * np.cumsum(ranked) / np.arange(1, len(ranked) + 1)).sum() / wanted.sum()
    best: dict[str, tuple[float, bool]] = {}
    for page, score, its in zip(pages, scores.tolist(), wanted.tolist(), strict=True):
        if score > best.get(_site(page), (-1.0, False))[0]:
            best[_site(page)] = score, its
    sites = {_site(page) for page, its in zip(pages, wanted.tolist(), strict=True) if its}
    return (
        2 * both / max(1, told.sum() + wanted.sum()),
        2 * (at_arrival & wanted).sum() / max(1, at_arrival.sum() + wanted.sum()),
        both / max(1, told.sum()),
        both / wanted.sum(),
        average,
        sum(best[site][1] for site in sites) / len(sites),
        told.sum(),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--most", type=int, default=3_000)
    parser.add_argument("--pages", type=int, default=12)
    told = parser.parse_args()
    sites = [pages_of(package, told.cache, told.pages) for package in packages()]
    # Breadth-first over all sites, as a crawl begins.
    turns = [page for at in range(told.pages) for site in sites for page in site[at : at + 1]]
    tasks: dict[str, list[tuple[Any, list[str]]]] = {**KINDS, "topics": TOPICS}
    for half, kinds in tasks.items():
        other = half == "report"
        pages = [page for page in turns if hash64(_site(page)) % 2 == other][: told.most]
        rows = []
        for rule, wishes in kinds:
            wanted = np.array([bool(_fits(rule, page)) for page in pages])
            for wish in wishes:
                rows.append(measure(wish, pages, wanted))
                print(f"{half:11} {wish:26}", *_shown(rows[-1], int(wanted.sum())), flush=True)
        print(f"{half:11} {'mean of ' + str(len(rows)):26}", *_shown(np.mean(rows, axis=0)[:-1]))


def _fits(rule: str | Callable[[Page], object], page: Page) -> object:
    if callable(rule):
        return rule(page)
    *folders, file = page.url.split("/", 3)[3].lower().split("/")
    name = file.partition(".")[0]
    # The first page of a folder has its name: `install/index.html`.
    return re.fullmatch(rule, folders[-1] if folders and name in ("", "index") else name)


def _shown(row: tuple[float, ...] | np.ndarray, wanted: int | None = None) -> Iterator[str]:
    names = ("F1", "arrival", "precision", "recall", "AP", "sites")
    if wanted is not None:
        yield f"wanted {wanted:4} told {int(row[6]):4}"
    yield from (f"{name} {its:.3f}" for name, its in zip(names, row, strict=False))


if __name__ == "__main__":
    main()
