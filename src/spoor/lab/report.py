"""The report of a run: one page that opens without a network and asks nothing of anyone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from spoor.display import shown
from spoor.drivers.http.folder import read_settings, reading
from spoor.lab.pictures import curves

BEST = 50
HOSTS = 100


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page worth showing."""

    url: str
    title: str
    score: float
    path: Sequence[str] = ()
    """URLs from the seed to the page."""
    why: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class HostRow:
    """What one host gave."""

    name: str
    pages: int
    relevant: int
    failed: int
    seconds: float
    """Mean of a download."""


@dataclass(frozen=True, slots=True)
class RunReport:
    """What a report shows."""

    title: str
    lead: str
    numbers: Sequence[tuple[str, str]]
    lines: Mapping[str, Sequence[Sequence[float]]]
    """Name → [fetched, found] points."""
    caption: str = "Relevant pages found against pages fetched."
    found: Sequence[FoundPage] = ()
    hosts: Sequence[HostRow] = ()
    failures: Sequence[tuple[str, str, int]] = ()
    """(kind, reason, times)."""
    settings: Sequence[tuple[str, str]] = field(default_factory=list)


def render(report: RunReport) -> str:
    """The report as HTML; everything that came from outside is escaped, without control characters
    and with the secrets of URLs masked."""
    environment = Environment(
        loader=PackageLoader("spoor.lab"),
        autoescape=select_autoescape(default=True),
        finalize=_shown,
    )
    picture = curves(report.lines, x="pages fetched", y="relevant pages found")
    # The picture is made by the plotting library, which escapes the names in it.
    return environment.get_template("report.html.jinja").render(
        report=report,
        picture=Markup(picture),
    )


def _shown(value: object) -> object:
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def report_of_run(path: Path) -> Path:
    """Write `report.html` of a run's folder; returns its path."""
    target = path / "report.html"
    target.write_text(render(read_run(path)), encoding="utf-8")
    return target


def read_run(path: Path) -> RunReport:
    """The report of a run, from its folder."""
    settings = read_settings(path)
    with reading(path) as db:
        line = harvest(db)
        found = best_pages(db)
        hosts = host_rows(db)
        failures = [
            (row["kind"], row["reason"], row["times"])
            for row in db.execute(
                "SELECT kind, reason, count(*) AS times FROM failures"
                " GROUP BY kind, reason ORDER BY times DESC LIMIT 30"
            )
        ]
        requests = db.execute("SELECT max(requests) FROM checkpoints").fetchone()[0] or 0
    pages, relevant = (int(value) for value in line[-1])
    told = settings["crawl"]
    wanted = told["topic"] or told["topic_file"] or ", ".join(told["want"])
    return RunReport(
        title=f"Crawl for “{wanted}”",
        lead=f"Policy {told['policy']}, from {', '.join(told['seeds'][:3])}",
        numbers=[
            ("pages fetched", f"{pages:,}"),
            ("relevant", f"{relevant:,}"),
            ("harvest rate", f"{relevant / pages:.1%}" if pages else "–"),
            ("requests", f"{requests:,}"),
            ("hosts", f"{len(hosts):,}"),
        ],
        lines={told["policy"]: line},
        found=found,
        hosts=hosts[:HOSTS],
        failures=failures,
        settings=flat(settings),
    )


def harvest(db: sqlite3.Connection) -> list[list[float]]:
    """[fetched, found] of a run, thinned to some hundreds of points."""
    hits = [row[0] for row in db.execute("SELECT relevant FROM pages ORDER BY seq")]
    totals = [0, *accumulate(hits)]
    step = max(1, len(totals) // 400)
    points = [[float(at), float(totals[at])] for at in range(0, len(totals), step)]
    return [*points, [float(len(hits)), float(totals[-1])]]


def best_pages(db: sqlite3.Connection) -> list[FoundPage]:
    """The relevant pages with the highest scores."""
    rows = db.execute(
        "SELECT url, title, score, path, why FROM pages WHERE relevant"
        " ORDER BY score DESC, seq LIMIT ?",
        (BEST,),
    )
    return [
        FoundPage(
            row["url"],
            row["title"],
            row["score"],
            json.loads(row["path"]),
            [reason for reason, _ in json.loads(row["why"])[:4]],
        )
        for row in rows
    ]


def host_rows(db: sqlite3.Connection) -> list[HostRow]:
    """What each host gave, most pages first."""
    failed = dict(db.execute("SELECT host, count(*) FROM failures GROUP BY host").fetchall())
    rows = [
        HostRow(
            row["host"],
            row["pages"],
            row["relevant"],
            failed.pop(row["host"], 0),
            row["seconds"] or 0.0,
        )
        for row in db.execute(
            "SELECT host, count(*) AS pages, sum(relevant) AS relevant, avg(seconds) AS seconds"
            " FROM pages GROUP BY host ORDER BY pages DESC, host"
        )
    ]
    return rows + [HostRow(name, 0, 0, count, 0.0) for name, count in sorted(failed.items())]


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
