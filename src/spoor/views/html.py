"""A report as HTML: one page that needs no network.

The page that `spoor ui` shows is the same, with buttons and a script that keeps it up to date.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup, escape

from spoor.crawl import Crawl
from spoor.display import masked, printable, shown
from spoor.files import write_whole
from spoor.runs import files
from spoor.runs.rows import Why
from spoor.views.line_chart import GREY, Points, line_chart
from spoor.views.preview import Preview
from spoor.views.report import RunReport, report_of

SECTIONS = (
    ("summary", "Summary"),
    ("harvest", "Harvest"),
    ("left", "What is left"),
    ("best", "Best pages"),
    ("near", "To check"),
    ("recent", "Latest pages"),
    ("kinds", "Kinds of documents"),
    ("next", "Next links"),
    ("learned", "What it has learned"),
    ("hosts", "Hosts"),
    ("shards", "Shards"),
    ("refused", "Kept out"),
    ("failed", "What failed"),
    ("settings", "Settings"),
)
"""Sections of a report, each with a template; empty ones are left out."""

FEATURES = 8
"""Most features of each learned group."""

GROUPS = 24

HOSTS = 100
"""Hosts that are shown at once."""

_PLAIN = ("numbers",)
"""Groups whose features are clear without the name of the group."""

_ANY = ("any link",)
"""Features of every link, which say nothing about one."""


def render(report: RunReport) -> str:
    """The report as HTML. All text from the web is escaped, without control characters, and secrets
    in URLs are masked."""
    page = environment().get_template("report.html.jinja")
    return page.render(report=report, sections=sections(report), live=None, digests={})


def write_report(path: Path, crawl: Crawl | None = None) -> Path:
    """Write the report of a run (`report_of`) into its folder; returns its path."""
    target = path / files.REPORT
    write_whole(target, render(report_of(path, crawl)))
    return target


def sections(report: RunReport, token: str = "") -> list[tuple[str, str, Markup]]:
    """(id, heading, HTML) of each section that is not empty; with buttons if a token is given."""
    rows = []
    for name, heading in SECTIONS:
        template = environment().get_template(f"{name}.html.jinja")
        html = template.render(report=report, token=token, **_MORE.get(name, _nothing)(report))
        if html.strip():
            rows.append((name, heading, Markup(html)))
    return rows


def _nothing(report: RunReport) -> dict[str, object]:
    return {}


def _harvest(report: RunReport) -> dict[str, object]:
    wide, narrow = (
        # It escapes the names in the plot.
        Markup(picture(report, size))
        for size in ((8.6, 3.3), (4.3, 3.3))
    )
    return {"wide": wide, "narrow": narrow, "rows": _thinned(report.lines)}


def _learned(report: RunReport) -> dict[str, object]:
    learned = {} if report.snapshot is None else report.snapshot.learned
    groups = [(name, [*rows][:FEATURES], len(rows)) for name, rows in learned.items()]
    return {"groups": groups[:GROUPS], "told": in_words(learned), "FEATURES": FEATURES}


def _hosts(report: RunReport) -> dict[str, object]:
    return {"HOSTS": HOSTS}


_MORE = {"harvest": _harvest, "learned": _learned, "hosts": _hosts}


def picture(report: RunReport, size: tuple[float, float]) -> str:
    """The curves of a report as SVG, in the text colour of the page around it."""
    level = None if report.left is None else report.left.total
    return picture_of(report.lines, size, until=report.budget, level=level)


def picture_of(lines: Mapping[str, Points], size: tuple[float, float], **more: Any) -> str:
    """Curves of relevant pages against pages as SVG; `more`: as for `line_chart`."""
    svg = line_chart(lines, x="pages fetched", y="relevant pages found", size=size, **more)
    svg = svg.replace(GREY, "currentColor")
    return svg.replace("<svg ", '<svg role="img" aria-labelledby="harvest-caption" ', 1)


def _thinned(lines: Mapping[str, Sequence[Sequence[float]]]) -> list[tuple[str, int, int]]:
    """About ten points of each curve, as text for readers without the plot."""
    rows = []
    for name, points in lines.items():
        step = max(1, len(points) // 10)
        some = [*points[step::step]]
        if points and (not some or some[-1] != points[-1]):
            some.append(points[-1])
        rows += [(name, int(x), int(y)) for x, y in some]
    return rows


def in_words(learned: Mapping[str, Why]) -> list[tuple[str, list[str]]]:
    """The features with the largest weights for and against a link, if there are both signs."""
    rows = [
        (weight, feature if group in _PLAIN else f"{group} ‘{feature}’")
        for group, features in learned.items()
        for feature, weight in features
        if feature not in _ANY
    ]
    if not any(weight < 0 for weight, _ in rows):
        return []
    best = sorted(rows, key=lambda row: -row[0])[:4]
    worst = sorted(rows, key=lambda row: row[0])[:4]
    return [
        ("Speaks most for a link", [name for weight, name in best if weight > 0]),
        ("Speaks most against it", [name for weight, name in worst if weight < 0]),
    ]


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates."""
    made = Environment(
        loader=PackageLoader("spoor.views"),
        autoescape=select_autoescape(default=True),
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["abs"] = abs
    made.filters["signed"] = lambda value: f"{value:+.3g}".replace("-", "−")
    made.filters["count"] = lambda value: f"{value:,}"
    made.filters["lines"] = _lines
    made.filters["bytes"] = in_bytes
    made.filters["emphasised"] = _emphasised
    made.filters["raw"] = lambda text: Markup(escape(text))
    made.filters["link"] = lambda url: url if url.startswith(("http://", "https://")) else "#"
    return made


def one_page(rows: Sequence[object], page: int, size: int) -> dict[str, Any]:
    """What a template that shows `size` rows at a time is given: the `rows` of the page with this
    number, from 1, the nearest where there is none; `page`, `pages`, and the `count` of rows."""
    pages = max(1, -(-len(rows) // size))
    page = min(max(1, page), pages)
    some = rows[(page - 1) * size : page * size]
    return {"rows": some, "page": page, "pages": pages, "count": len(rows)}


def in_bytes(size: int) -> str:
    """A number of bytes, in the unit that leaves one to three digits."""
    number = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            break
        number /= 1000
    return f"{number:,.0f} {unit}" if unit == "bytes" or number >= 10 else f"{number:.1f} {unit}"


def document_page(document: Preview) -> str:
    """A page that shows one document: its text only."""
    return environment().get_template("document.html.jinja").render(document=document)


_EMPHASIS = re.compile(r"(?<!\*)\*([^*]+)\*(?!\*)")
"""Not `***`, which stands for a secret."""


def _emphasised(text: str) -> Markup:
    """A text with what stands between asterisks emphasised."""
    return Markup(_EMPHASIS.sub(r"<em>\1</em>", str(escape(shown(text)))))


def _lines(text: str) -> Markup:
    """Text with the lines that it has; each as a reader may see it."""
    return Markup("\n").join(printable(masked(line)) for line in text.split("\n"))


def _shown(value: object) -> object:
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value
