"""Scores a crawler's list of requests on a task: what `spoor lab score` prints.

A log is text, one request a line, in the order in which they were answered. A line is a URL, or a
JSON object that has one (`url`) and may have `task`, `status` (default 200), `method` (default
GET), `bytes`, `type` (the content type) and `relevant` (what the crawler says of the page; the
last word on a URL counts). A file whose name ends with `.xz` or `.gz` is read unpacked. Requests
are of three kinds:

- **helpers**: robots.txt, sitemaps, redirects. They cost nothing here; each is counted apart.
- **assets**: styles, scripts, images, fonts. They are counted in `requests` alone.
- **pages**: all others, failures and HEAD requests too. A budget is so many of these.

A right page is found when it was answered with 200 to a GET. Twice the same page costs twice.
"""

from __future__ import annotations

import gzip
import json
import lzma
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from spoor.display import printable
from spoor.errors import InputError
from spoor.files import plain
from spoor.lab.duel.dataset import BUDGETS, Dataset, Task, page_key
from spoor.lab.pages import number

LONGEST_LINE = 100_000
"""Characters; no honest line is longer."""
MOST_LINES = 1_000_000
MOST_CHARACTERS = 1_000_000_000
"""Most characters of a whole log: a small packed file may unpack to a huge one."""
ASSETS = re.compile(
    r"\.(?:css|js|mjs|map|png|jpe?g|gif|svg|ico|webp|bmp|woff2?|ttf|eot|mp[34]|json)$",
    re.IGNORECASE,
)
SITEMAPS = re.compile(r"[\w-]*?sitemap", re.IGNORECASE)
"""How the name of a sitemap begins …"""
SITEMAP_ENDS = re.compile(r"\.(?:xml|txt)(?:\.gz)?$", re.IGNORECASE)
"""… and ends."""
MOST_KEPT = 1 << 28
"""Bytes of the URLs of a log, which are kept until it is scored."""


@dataclass(frozen=True, slots=True)
class Request:
    """A line of a log."""

    url: str
    task: str = ""
    status: int = 200
    method: str = "GET"
    bytes: int = 0
    relevant: bool | None = None
    """What the crawler says of the page; None: nothing."""

    @property
    def kind(self) -> str:
        """`page`, `asset`, `robots`, `sitemap` or `redirect`; the last three are helpers."""
        try:
            path = urlsplit(self.url).path
        except ValueError:  # no server has such a page, but it was asked for
            return "page"
        if path == "/robots.txt":
            return "robots"
        if SITEMAP_ENDS.search(path) and SITEMAPS.match(path.rpartition("/")[2]):
            return "sitemap"
        if 300 <= self.status < 400:
            return "redirect"
        return "asset" if ASSETS.search(path) else "page"

    @property
    def key(self) -> str | None:
        """What its URL has in common with other spellings of it; None for what is no URL."""
        try:
            return page_key(self.url)
        except ValueError:
            return None


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a log on a task."""

    task: str
    targets: int
    pages: int
    """Requests for pages that count: the largest budget at most."""
    robots: int
    sitemaps: int
    redirects: int
    """Requests of the three kinds of helpers."""
    requests: int
    """All, with those for assets."""
    failures: int
    """Of the pages: answered with 400 or more."""
    bytes: int
    found: int
    recall: Mapping[int, float]
    """Share of the right pages found within each budget of requests for pages."""
    half: int | None
    """Requests for pages until half of the right pages were found; None: they were not."""
    told: int | None
    """Pages that the crawler says are relevant; None where it says nothing of any."""
    precision: float | None
    """Of what it says; None where it says of none that it is relevant."""
    said_recall: float | None
    """Right pages that it says are relevant, of all right pages."""


def score(task: Task, log: Iterable[Request], budgets: Sequence[int] = BUDGETS) -> Score:
    """The score of a log. What follows after the largest budget is not read."""
    log = list(counted(log, max(budgets)))
    found: list[int] = []
    seen: set[str] = set()
    said: dict[str, bool] = {}
    count: Counter[str] = Counter()
    failures = size = 0
    for request in log:
        kind = request.kind
        count[kind] += 1
        size += request.bytes
        failures += kind == "page" and request.status >= 400
        key = request.key
        if key is None:
            continue
        if request.relevant is not None:
            said[key] = request.relevant
        right = key in task.targets and key not in seen
        if right and request.status == 200 and request.method == "GET":
            seen.add(key)
            found.append(count["page"])
    targets = len(task.targets)
    half = (targets + 1) // 2
    told = {key for key, yes in said.items() if yes}
    return Score(
        task.name,
        targets,
        count["page"],
        count["robots"],
        count["sitemap"],
        count["redirect"],
        count.total(),
        failures,
        size,
        len(found),
        {budget: sum(at <= budget for at in found) / targets for budget in budgets},
        found[half - 1] if len(found) >= half else None,
        len(told) if said else None,
        len(told & task.targets) / len(told) if told else None,
        len(told & task.targets) / targets if said else None,
    )


def counted(log: Iterable[Request], pages: int) -> Iterator[Request]:
    """The requests of a log up to a budget of pages: what a score depends on."""
    seen = 0
    for request in log:
        if request.kind == "page":
            if seen == pages:
                return
            seen += 1
        yield request


def score_file(log: Path, dataset: Dataset, task: str = "") -> list[Score]:
    """The scores of a log file, of each task that it names; `task` is that of lines that name none.
    Raises InputError that names the line, and for a log that asks for nothing on a task's sites."""
    if task:
        dataset.task(task)
    elif len(dataset.tasks) == 1:
        task = dataset.tasks[0].name
    by_task: dict[str, list[Request]] = {}
    for request in read_log(log):
        by_task.setdefault(request.task or task, []).append(request)
    if not by_task:
        raise InputError(f"{log} has no request")
    if "" in by_task:
        raise InputError(f"{log}: lines name no task; name it with --task")
    for name, requests in by_task.items():
        bases = tuple(dataset.sites[site].base for site in dataset.task(name).sites)
        if not any((request.key or "").startswith(bases) for request in requests):
            more = f" or one of {len(bases) - 1} others" if len(bases) > 1 else ""
            raise InputError(
                f"{log}: no request of the task {name!r} is below {bases[0]}{more}: serve the "
                "sites under their own names"
            )
    return [score(dataset.task(name), requests) for name, requests in by_task.items()]


def read_log(file: Path) -> Iterator[Request]:
    """The requests of a log file, line by line. Raises InputError that names the line."""
    characters = kept = 0
    try:
        with _opened(file) as lines:
            for number in range(1, MOST_LINES + 2):
                line = lines.readline(LONGEST_LINE + 1)
                if not line:
                    return
                characters += len(line)
                if len(line) > LONGEST_LINE or number > MOST_LINES or characters > MOST_CHARACTERS:
                    raise InputError(
                        f"{file}, line {number}: a log has at most {MOST_LINES:,} lines of at most "
                        f"{LONGEST_LINE:,} characters, and {MOST_CHARACTERS:,} in all"
                    )
                if line.strip():
                    request = request_of(line, f"{file}, line {number}")
                    kept += sys.getsizeof(request.url) + sys.getsizeof(request.task)
                    if kept > MOST_KEPT:
                        raise InputError(
                            f"{file}, line {number}: the URLs of a log take at most "
                            f"{MOST_KEPT >> 20} MiB"
                        )
                    yield request
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        cause = getattr(error, "strerror", None) or error
        raise InputError(f"cannot read {file}: {cause}") from error


def _opened(file: Path) -> TextIO:
    """A log to read, unpacked where its name says that it is packed. Raises OSError, also for a
    pipe and a device."""
    plain(file)
    if file.suffix == ".xz":
        return lzma.open(file, "rt", encoding="utf-8-sig", errors="replace")
    if file.suffix == ".gz":
        return gzip.open(file, "rt", encoding="utf-8-sig", errors="replace")
    return file.open(encoding="utf-8-sig", errors="replace")


def request_of(line: str, where: str) -> Request:
    """A line of a log. Raises InputError that says where and what is wrong."""
    text = line.strip()
    if not text.startswith("{"):
        if not re.match(r"https?://\S+$", text):
            raise InputError(f"{where}: no URL and no JSON object: {printable(text[:100])!r}")
        return Request(text)
    try:
        row = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no JSON: {error}") from error
    try:
        relevant = row.get("relevant")
        if not isinstance(row["url"], str) or not isinstance(relevant, bool | None):
            raise TypeError("url is a string, relevant true or false")
        return Request(
            row["url"],
            str(row.get("task", "")),
            _whole(row, "status", 200),
            str(row.get("method", "GET")),
            _whole(row, "bytes", 0),
            relevant,
        )
    except KeyError:
        raise InputError(f"{where} has no url") from None
    except TypeError as error:
        raise InputError(f"{where}: {error}") from error


def _whole(row: Mapping[str, Any], key: str, default: int) -> int:
    value = row.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 62:
        raise TypeError(f"{key} is a whole number from 0 on, not {repr(value)[:40]}")
    return value


HEAD = (
    "task",
    "right pages",
    *(f"recall at {budget:,}" for budget in BUDGETS),
    "requests to half",
    "told: precision",
    "told: recall",
    "failures",
    "robots.txt",
    "sitemaps",
    "redirects",
)


def line(it: Score) -> list[str]:
    """A score as the cells of a table."""
    return [
        it.task,
        str(it.targets),
        *(number(share) for share in it.recall.values()),
        "–" if it.half is None else str(it.half),
        number(it.precision),
        number(it.said_recall),
        *map(str, (it.failures, it.robots, it.sitemaps, it.redirects)),
    ]
