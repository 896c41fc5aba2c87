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
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from spoor.lab.duel.dataset import Dataset, Site, Task, read, read_qrels, write_qrels
from spoor.lab.duel.files import PAGE, Files
from spoor.lab.duel.sites import site_folder

HERE = Path(__file__).resolve().parent
FURNITURE = "script, style, noscript, nav, header, footer, form, [role=navigation]"


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
    sites = dataset.sites.values()
    files = Files({site: site_folder(site, told.dataset, told.cache) for site in sites})
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
