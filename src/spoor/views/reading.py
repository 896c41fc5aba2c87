"""What the folder of a run says, while it goes on or after: read only, and only what is new."""

from __future__ import annotations

import heapq
import json
import math
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.formats.warc_reader import page_at
from spoor.learn.harvest_estimate import Harvest
from spoor.runs import files
from spoor.runs.assemble import judge_and_topic
from spoor.runs.database import noted, reading
from spoor.runs.labels import learns
from spoor.runs.shards import read_status
from spoor.runs.snapshot import NEXT, HostClock, Snapshot, settings_of, snapshot
from spoor.settings import Settings
from spoor.types import Topic
from spoor.views.report import Failure, GroupRow, HostRow, Left, PageRow, RunReport, render
from spoor.web.text import STOP_WORDS, stem, tokens

BEST = 50
RECENT = 20
HOSTS = 100
CHUNK = 5_000
"""Rows that are read at once."""
FAILURES = 30
GROUPS = 12
"""Directories."""
LEAST = 3
"""Pages of a directory of which something is said."""
SNIPPET = 44
"""Words of a snippet."""
_MOST = 300
"""Characters of its words, about: those of programs are long."""

REFUSED = frozenset({"robots", "blocked", "skipped"})
"""Kinds of failures that are not the host's: we would not, or may not, ask."""


def report_of_run(path: Path, crawl: Crawl | None = None) -> Path:
    """Write the report into a run's folder; returns its path. `crawl` is that of the run, if it
    is over: its state is then that of the last checkpoint."""
    target = path / files.REPORT
    write_whole(target, render(read_run(path, crawl)))
    return target


def read_run(path: Path, crawl: Crawl | None = None) -> RunReport:
    """The report of a run, from its folder."""
    return RunReader(path).report(snapshot(path, crawl=crawl))


@dataclass(slots=True)
class _Host:
    pages: int = 0
    relevant: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Seen:
    """Sums over the rows read so far."""

    pages: int = 0
    """Number of the last one."""
    failed: int = 0
    relevant: bytearray = field(default_factory=bytearray)
    hosts: dict[str, _Host] = field(default_factory=dict)
    directories: dict[str, list[int]] = field(default_factory=dict)
    """[pages, relevant]"""
    failures: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: dict[tuple[str, str], str] = field(default_factory=dict)
    best: list[tuple[float, int, int]] = field(default_factory=list)
    """A heap of (score, -place, number) of the best relevant pages."""

    def page(
        self,
        seq: int,
        number: int,
        url: str,
        host: str,
        score: float,
        relevant: int,
        seconds: float | None,
    ) -> None:
        self.pages = seq
        self.relevant.append(relevant)
        row = self.hosts.setdefault(host, _Host())
        row.pages += 1
        row.relevant += relevant
        row.seconds += seconds or 0.0
        counts = self.directories.setdefault(directory(url), [0, 0])
        counts[0] += 1
        counts[1] += relevant
        if relevant:
            push = heapq.heappush if len(self.best) < BEST else heapq.heappushpop
            push(self.best, (score, -seq, number))

    def failure(self, seq: int, host: str, kind: str, reason: str, url: str) -> None:
        self.failed = seq
        self.failures[kind, reason] += 1
        self.examples.setdefault((kind, reason), url)
        if kind not in REFUSED:
            self.hosts.setdefault(host, _Host()).failed += 1


class RunReader:
    """Reads a run again and again, each time only what was added since.

    Raises InputError, at once or later, where there is no run or its database cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings = settings_of(path)
        self._seen = _Seen()
        subject = _subject(self.settings)
        self._terms = _terms(subject)
        settings = self.settings
        said = (subject.name if subject else "", settings.topic, settings.topic_file)
        self._wanted: str = next(filter(None, said), ", ".join(settings.want))
        self._snippets: dict[int, Sequence[tuple[str, bool]]] = {}
        self._said: set[str] = set()
        """Around the topic's words on the pages of these."""
        self._labels: dict[str, bool] = {}
        """URL → what a person said last."""
        self._heard = 0
        self._number = "number" if files.shards(path) else "seq"
        """What a page keeps, whatever is added: in shards, others come in before it."""
        self.refresh()

    @property
    def pages(self) -> int:
        """Pages read so far."""
        return self._seen.pages

    @property
    def relevant(self) -> int:
        """How many of them were judged relevant."""
        return sum(self._seen.relevant)

    def refresh(self) -> tuple[int, ...]:
        """Read what was added; returns numbers that change whenever anything did: of pages, of
        relevant ones, of failures, of words on its shards, of checkpoints, of labels."""
        if files.shards(self.path):  # their rows come in the order of time, late ones in between
            self._seen = _Seen()
        with reading(self.path) as db:
            self._hear(db)
            self._read(db)
            newest = db.execute("SELECT max(generation) FROM checkpoints").fetchone()[0] or 0
        said = int((read_status(self.path) or {"at": 0})["at"])
        return self.pages, self.relevant, self._seen.failed, said, newest, self._heard

    def url(self, number: int) -> str | None:
        """Of a page, by its number; None where there is none."""
        query = f"SELECT url FROM pages WHERE {self._number} = ?"
        with reading(self.path) as db:
            row = db.execute(query, (number,)).fetchone()
        return None if row is None else row["url"]

    def _hear(self, db: sqlite3.Connection) -> None:
        """What people said of its pages. Pages that were read may be judged otherwise now, so all
        are read again."""
        file = self.path / files.LABELS
        heard = int(noted(db, "labels") or 0)
        if files.shards(self.path):  # each takes in by itself what is its own
            heard = file.stat().st_size if file.exists() else 0
        if heard == self._heard:
            return
        with suppress(OSError), file.open("rb") as told:
            for line in told.read(heard).splitlines():
                with suppress(ValueError, LookupError, TypeError):
                    said = json.loads(line)
                    self._labels[str(said["url"])] = bool(said["relevant"])
        self._heard = heard
        self._seen = _Seen()

    def _read(self, db: sqlite3.Connection) -> None:
        # Some at a time: who reads long keeps the crawl from emptying its log.
        seen = self._seen
        while rows := db.execute(
            f"SELECT seq, {self._number}, url, host, score, relevant, seconds FROM pages"
            " WHERE seq > ? ORDER BY seq LIMIT ?",
            (seen.pages, CHUNK),
        ).fetchall():
            for row in rows:
                seen.page(*row)
        while rows := db.execute(
            "SELECT seq, host, kind, reason, url FROM failures WHERE seq > ? ORDER BY seq LIMIT ?",
            (seen.failed, CHUNK),
        ).fetchall():
            for row in rows:
                seen.failure(*row)

    # -- the report

    def report(self, known: Snapshot | None, *, recent: bool = False) -> RunReport:
        """Everything read so far, with what the last checkpoint says."""
        seen, settings = self._seen, self.settings
        with reading(self.path) as db:
            budget = _budget(db) or settings.pages or 0
            ended = noted(db, "stopped") or ""
            first = [number for *_, number in sorted(seen.best, reverse=True)]
            best = self._rows(db, first, snippets=True)
            latest = self._rows(db, self._latest(db)) if recent else []
            if known is not None:
                known = _still_open(db, known, in_shards=bool(files.shards(self.path)))
        pages, relevant = seen.pages, sum(seen.relevant)
        hosts = _host_rows(seen, {} if known is None else known.hosts)
        numbers = [
            (f"pages of {budget:,}", f"{pages:,}"),
            ("relevant", f"{relevant:,}"),
            ("harvest rate", f"{relevant / pages:.1%}" if pages else "–"),
            ("failed", f"{sum(row.failed for row in hosts):,}"),
            ("hosts", f"{len(hosts):,}"),
        ]
        if known is not None:
            asked = max(known.requests, pages + sum(seen.failures.values()))
            numbers[3:3] = [("requests", f"{asked:,}")]
            if known.open_links is not None:
                numbers.append(("open links", f"{known.open_links:,}"))
        refused, failures = _failures(seen)
        return RunReport(
            title=f"Crawl for “{self._wanted}”",
            lead=f"Policy {settings.policy}, from {', '.join(settings.seeds[:3])}"
            + (f"; ended: {ended}" if ended else ""),
            numbers=numbers,
            lines={settings.policy: thinned(seen.relevant)},
            budget=budget,
            left=left(seen.relevant, known),
            best=best,
            recent=latest,
            learns=learns(settings.policy),
            snapshot=known,
            since=0 if known is None else max(0, pages - known.pages),
            groups=_group_rows(seen.directories),
            hosts=hosts[:HOSTS],
            more_hosts=max(0, len(hosts) - HOSTS),
            standing=read_status(self.path),
            refused=refused,
            failures=failures,
            settings=flat(replace(settings, folder="").to_dict()),
        )

    def _latest(self, db: sqlite3.Connection) -> list[int]:
        query = f"SELECT {self._number} FROM pages ORDER BY seq DESC LIMIT ?"
        return [row[0] for row in db.execute(query, (RECENT,))]

    def _rows(
        self, db: sqlite3.Connection, numbers: Sequence[int], *, snippets: bool = False
    ) -> list[PageRow]:
        """Pages by their numbers, in this order."""
        found = db.execute(
            f"SELECT {self._number} AS number, url, title, score, relevant, path, why, choice_why,"
            f" warc_file, warc_offset, warc_length FROM pages"
            f" WHERE {self._number} IN ({', '.join('?' * len(numbers))})",
            list(numbers),
        ).fetchall()
        place = {number: at for at, number in enumerate(numbers)}
        found.sort(key=lambda row: place[row["number"]])
        return [
            PageRow(
                row["number"],
                row["url"],
                row["title"],
                row["score"],
                bool(row["relevant"]),
                json.loads(row["path"]),
                json.loads(row["why"])[:4],
                json.loads(row["choice_why"] or "[]")[:4],
                self._snippet(row) if snippets else (),
                self._labels.get(row["url"]),
            )
            for row in found
        ]

    def _snippet(self, row: sqlite3.Row) -> Sequence[tuple[str, bool]]:
        """The words of a page that say most of the topic, out of its archive."""
        known = self._snippets.get(row["number"])
        if known is None:
            page = None
            if row["warc_file"]:
                file = self.path / row["warc_file"]
                page = page_at(file, row["warc_offset"], row["warc_length"])
            known = () if page is None else snippet(page.text, self._terms, said=self._said)
            if len(self._snippets) > 20 * BEST:
                self._snippets.clear()
                self._said.clear()
            self._snippets[row["number"]] = known
        return known


def _still_open(db: sqlite3.Connection, known: Snapshot, *, in_shards: bool) -> Snapshot:
    """A snapshot whose next links leave out those that were asked for since."""
    # In shards, rows of before and after their checkpoints are mixed.
    since = (0, 0) if in_shards else (known.pages, known.failed)
    done = {
        row["url"]
        for table, last in zip(("pages", "failures"), since, strict=True)
        for row in db.execute(f"SELECT url FROM {table} WHERE seq > ?", (last,))
    }
    return replace(known, next=[link for link in known.next if link.url not in done][:NEXT])


def _subject(settings: Settings) -> Topic | None:
    """What a run is about, where it says it in words, and its file is still there."""
    try:
        source = judge_and_topic(settings)[1]
    except InputError:
        return None
    return None if source is None else source.topic


def _terms(subject: Topic | None) -> frozenset[str]:
    """Stems of the words of a topic."""
    words = [] if subject is None else tokens(subject.text)
    return frozenset(stem(word for word in words if word not in STOP_WORDS))


def snippet(
    text: str, terms: frozenset[str], size: int = SNIPPET, said: set[str] | None = None
) -> list[tuple[str, bool]]:
    """The `size` words of a text that hold most of the terms, in pieces: (piece, whether it is one
    of the terms). The first such place; where none is, the beginning. A term between the same two
    words as on another page, which `said` remembers, counts only where no other is: it stands in
    what a site repeats."""
    words = text.split()[:20_000]
    hits = [bool(terms) and any(part in terms for part in stem(tokens(word))) for word in words]
    telling = hits
    if said is not None:
        around = {
            at: " ".join(words[max(0, at - 1) : at + 2]) for at, hit in enumerate(hits) if hit
        }
        fresh = [hit and around[at] not in said for at, hit in enumerate(hits)]
        said.update(around.values())
        telling = fresh if any(fresh) else hits
    totals = [0, *accumulate(telling)]
    begins = range(max(1, len(words) - size + 1))
    begin = max(begins, key=lambda at: totals[min(at + size, len(words))] - totals[at])
    if totals[-1]:
        # A few words before the first of them.
        begin = max(0, min(telling.index(True, begin) - 6, len(words) - size))
    pieces = [("… ", False)] if begin else []
    end, room = begin, _MOST
    while end < min(begin + size, len(words)) and room > 0:
        word, hit = words[end], hits[end]
        if pieces and pieces[-1][1] == hit:
            pieces[-1] = (f"{pieces[-1][0]} {word}", hit)
        else:
            pieces.append((word, hit))
        room -= len(word) + 1
        end += 1
    return [*pieces, *([("…", False)] if end < len(words) else [])]


def left(relevant: Sequence[int], known: Snapshot | None) -> Left | None:
    """What is thought to be left; None where nothing can be said."""
    if known is None or known.open_links is None:
        return None
    if known.open_links == 0 and len(relevant) <= known.pages:
        return Left("No link is left open: this crawl has come to all that its scope lets it see.")
    requests = max(known.requests, len(relevant))
    estimate = Harvest(map(bool, relevant)).estimate(known.open_links, requests)
    if estimate is None:
        return None
    lead = "Of crawls that stood like this one, 8 of 10 had their truth within these bounds."
    rest, coming, cost = estimate.left, estimate.next, estimate.cost
    numbers = [("relevant pages left", str(rest)), ("in the next hundred pages", str(coming))]
    if math.isfinite(cost.middle):
        numbers.append(("requests for each of these", f"about {cost.middle:,.0f}"))
    found = estimate.found
    return Left(lead, numbers, (found + rest.middle, found + rest.low, found + rest.high))


def _budget(db: sqlite3.Connection) -> int:
    """Pages that the run may fetch by the settings that it goes on with."""
    row = db.execute("SELECT settings FROM checkpoints ORDER BY generation DESC LIMIT 1").fetchone()
    return (Settings.from_dict(json.loads(row[0])).pages or 0) if row else 0


def harvest(db: sqlite3.Connection) -> list[list[float]]:
    """[fetched, found] of a run, thinned to some hundreds of points."""
    return thinned([row[0] for row in db.execute("SELECT relevant FROM pages ORDER BY seq")])


def thinned(hits: Sequence[int]) -> list[list[float]]:
    """[fetched, found], some hundreds of points."""
    totals = [0, *accumulate(hits)]
    step = max(1, len(totals) // 400)
    points = [[float(at), float(totals[at])] for at in range(0, len(totals), step)]
    return [*points, [float(len(hits)), float(totals[-1])]]


def directory(url: str) -> str:
    """Host and path of a URL up to its last slash."""
    rest = url.partition("://")[2].partition("?")[0]
    return rest[: rest.rfind("/") + 1]


def _group_rows(directories: Mapping[str, Sequence[int]]) -> list[GroupRow]:
    """The directories with most pages."""
    most = sorted(directories.items(), key=lambda item: (-item[1][0], item[0]))[:GROUPS]
    return [
        GroupRow(name, pages, hits, *_interval(hits, pages))
        for name, (pages, hits) in most
        if pages >= LEAST
    ]


def _interval(hits: int, pages: int) -> tuple[float, float]:
    """80 % of the posterior of a share, under Jeffreys' prior Beta(½, ½)."""
    from scipy.special import betaincinv

    low, high = betaincinv(hits + 0.5, pages - hits + 0.5, [0.1, 0.9])
    return float(low), float(high)


def _host_rows(seen: _Seen, clocks: Mapping[str, HostClock]) -> list[HostRow]:
    """What each host gave, most pages first."""
    rows = []
    for name, row in seen.hosts.items():
        clock = clocks.get(name)
        rows.append(
            HostRow(
                name,
                row.pages,
                row.relevant,
                row.failed,
                row.seconds / row.pages if row.pages else 0.0,
                None if clock is None else clock.delay,
                None if clock is None else clock.open_links,
            )
        )
    return sorted(rows, key=lambda row: (-row.pages, row.name))


def _failures(seen: _Seen) -> tuple[list[Failure], list[Failure]]:
    """What was refused and what failed, most frequent first."""
    rows = [
        Failure(kind, reason, times, seen.examples[kind, reason])
        for (kind, reason), times in seen.failures.most_common()
    ]
    refused = [row for row in rows if row.kind in REFUSED]
    return refused[:FAILURES], [row for row in rows if row.kind not in REFUSED][:FAILURES]


def flat(settings: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """Nested settings as (dotted name, value) rows; empty ones are left out."""
    rows: list[tuple[str, str]] = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            rows += flat(value, f"{above}{key}.")
        elif value not in ("", [], None):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            rows.append((f"{above}{key}", shown))
    return rows
