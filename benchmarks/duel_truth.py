"""Makes the truths of the duel (`duel/dataset/qrels.txt`) from rules (`tasks.toml`).

    python benchmarks/duel_truth.py [--cache FOLDER] [--dataset FOLDER] [TASK …]

A rule looks at the file itself: its URL, title, HTML, or how often its main text has an expression.
A right page can be reached from the task's start by links in the files; nothing is fetched, and no
judge or crawler has a say. Prints pages that can be reached, and right ones, of each task.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urljoin

from selectolax.lexbor import LexborHTMLParser

from spoor.lab.duel.dataset import Dataset, Site, Task, page_key, read, read_qrels, write_qrels
from spoor.lab.duel.sites import site_folder

HERE = Path(__file__).resolve().parent
PAGE = re.compile(r"\.x?html?$", re.IGNORECASE)
FURNITURE = "script, style, noscript, nav, header, footer, form, [role=navigation]"
LINKS = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}


@dataclass(frozen=True, slots=True)
class File:
    """What is served under a URL."""

    path: Path
    links: tuple[str, ...]
    """Keys of what it links to."""


class Files:
    """The files of all sites by the keys of their URLs, each read once for its links."""

    def __init__(self, dataset: Dataset, folder: Path, cache: Path) -> None:
        self._roots = {
            site.base: (site, site_folder(site, folder, cache)) for site in dataset.sites.values()
        }
        self._read: dict[str, File | None] = {}
        self._keys: dict[str, str] = {}

    def file(self, url: str) -> File | None:
        """What is served under a URL; None for nothing."""
        if url not in self._read:
            self._read[url] = self._open(url)
        return self._read[url]

    def site(self, url: str) -> Site:
        """The site of a URL that is served."""
        return next(site for base, (site, _) in self._roots.items() if url.startswith(base))

    def _open(self, url: str) -> File | None:
        for base, (_, root) in self._roots.items():
            if not url.startswith(base):
                continue
            path = (root / unquote(url[len(base) :].partition("?")[0])).resolve()
            if not path.is_relative_to(root):
                return None
            if path.is_dir() and (path / "index.html").is_file():
                path /= "index.html"
            if path.is_dir():  # the server lists it
                names = [f"{each.name}/" if each.is_dir() else each.name for each in path.iterdir()]
                return File(path, tuple(page_key(url + quote(name)) for name in sorted(names)))
            if path.is_file():
                return File(path, self._links(url, path) if PAGE.search(path.name) else ())
        return None

    def _links(self, url: str, path: Path) -> tuple[str, ...]:
        tree = LexborHTMLParser(path.read_text("utf-8", "replace"))
        base_node = tree.css_first("base[href]")
        base = urljoin(url, (base_node.attributes.get("href") or "") if base_node else "")
        found = {
            (node.attributes.get(LINKS[node.tag or "a"]) or "").partition("#")[0]
            for node in tree.css(", ".join(LINKS))
        }
        return tuple(filter(None, {self._key(urljoin(base, link)) for link in found if link}))

    def _key(self, url: str) -> str:
        if url not in self._keys:
            try:
                self._keys[url] = page_key(url) if url.startswith(tuple(self._roots)) else ""
            except ValueError:
                self._keys[url] = ""
        return self._keys[url]


def reached(task: Task, dataset: Dataset, files: Files) -> Iterator[str]:
    """Keys of all that can be reached from the start by links within the task's sites."""
    bases = tuple(dataset.sites[name].base for name in task.sites)
    seen, ahead = {task.start}, [task.start]
    while ahead:
        url = ahead.pop()
        file = files.file(url)
        if file is None:
            continue
        yield url
        for key in file.links:
            if key not in seen and key.startswith(bases):
                seen.add(key)
                ahead.append(key)


def is_right(url: str, path: Path, site: Site, rule: Mapping[str, Any]) -> bool:
    """Whether a file is what the rule tells."""
    if "url" in rule and not re.search(rule["url"], url):
        return False
    if rule.keys() == {"url"}:
        return path.suffix == ".pdf" or bool(PAGE.search(path.name))
    if not PAGE.search(path.name):
        return False
    html = path.read_text("utf-8", "replace")
    if "html" in rule and not re.search(rule["html"], html):
        return False
    tree = LexborHTMLParser(html)
    if "title" in rule:
        node = tree.css_first("title")
        title = " ".join((node.text() if node else "").split())
        if not re.search(rule["title"], title, re.IGNORECASE):
            return False
    return "text" not in rule or _times(rule["text"], tree, site) >= int(rule.get("times", 1))


def _times(expression: str, tree: LexborHTMLParser, site: Site) -> int:
    """How often the main text has an expression."""
    main = (tree.css_first(site.main) if site.main else None) or tree.body
    if main is None:
        return 0
    for node in main.css(FURNITURE):
        node.decompose()
    return len(re.findall(expression, main.text(separator=" "), re.IGNORECASE))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dataset", type=Path, default=HERE / "duel" / "dataset")
    parser.add_argument("--cache", type=Path, default=Path("lab-out/duel-cache"))
    parser.add_argument("tasks", nargs="*", help="globs of names; of the others the truth stays")
    told = parser.parse_args()
    dataset = read(told.dataset, truths=False)
    files = Files(dataset, told.dataset, told.cache)
    right = {name: sorted(urls) for name, urls in read_qrels(told.dataset).items()}
    for task in dataset.tasks:
        if told.tasks and not any(fnmatchcase(task.name, glob) for glob in told.tasks):
            continue
        found = list(reached(task, dataset, files))
        right[task.name] = [
            url
            for url in found
            if (file := files.file(url)) and is_right(url, file.path, files.site(url), task.rule)
        ]
        print(f"{task.name:36} {len(right[task.name]):5} of {len(found):6}", flush=True)
        write_qrels(told.dataset, right)


if __name__ == "__main__":
    main()
