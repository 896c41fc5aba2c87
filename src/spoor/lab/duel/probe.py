"""Counts what a crawler does beside finding pages, on a small generated site.

The site has 61 pages in three levels and ten more below a folder that its robots.txt forbids, to
which pages of the first two levels link. The server answers ten requests a second. Once 20 pages
were asked for, all processes of the rival are killed, and the same command is run once more in the
same folder: requests that are made twice show what the first run lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from spoor.lab.duel.arena import Crawl
from spoor.lab.duel.dataset import Site, Task
from spoor.lab.duel.score import Request

NAME = "probe"
BASE = "http://probe.example.org/"
FORBIDDEN = "/closed/"
HUBS, LEAVES = 10, 5
PAGES = 1 + HUBS + HUBS * LEAVES
"""That may be asked for."""
BUDGET = 100
"""More than the site has: a crawl of it ends because there is nothing left."""
KILL_AT = 20
RATE = 10
"""Requests a second that the server answers."""
TASK = Task(NAME, (NAME,), "glazes for pottery", BASE, half=NAME, targets=frozenset({BASE}))
"""Its right page is its first: recall is no figure of the probe."""
SUBJECTS = ("ash", "salt", "celadon", "tenmoku", "shino", "raku", "slip", "lead", "tin", "copper")
TEXT = (
    "A {0} glaze for pottery is mixed from clay, silica and a flux, and fired in a kiln. "
    "The {0} glaze melts over the pot and becomes glass; potters test it on tiles first. "
)


@dataclass(frozen=True, slots=True)
class Probe:
    """What a crawl of the site showed."""

    asked_robots: bool
    forbidden: int
    """Requests for pages that robots.txt forbids."""
    fetched: int
    """Of PAGES, sent in the end."""
    before: int | None
    """Different pages that were sent before the kill; None: it ended before."""
    again: int | None
    """Of those, how many were asked for once more."""
    reasons: float
    """Share of the pages that the rival reports on for which it says in words why it took them for
    relevant or not."""
    scores: float
    """Share for which it gives a number."""
    markdown: float
    """Share that it gives as Markdown."""


def site(folder: Path) -> Site:
    """The site, written to `folder`."""
    for path, text in _files().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return Site(NAME, BASE, str(folder.resolve()))


def measured(crawl: Crawl) -> Probe:
    """What the requests and the rival's own rows say."""
    log, kill = crawl.log, crawl.outcome.get("before_kill")
    early, later = (log[:kill], log[kill:]) if kill is not None else (log, [])
    got = {it.key for it in early if _sent(it)}
    return Probe(
        any(it.kind == "robots" for it in log),
        sum(it.kind == "page" and not _open(it) for it in log),
        len({it.key for it in log if _sent(it)}),
        None if kill is None else len(got),
        None if kill is None else len(got & {it.key for it in later if it.kind == "page"}),
        *_shares(crawl.said),
    )


def _open(request: Request) -> bool:
    """Whether robots.txt allows it."""
    return not urlsplit(request.url).path.startswith(FORBIDDEN)


def _sent(request: Request) -> bool:
    """Whether it brought a page that is allowed."""
    whole = request.status == 200 and request.method == "GET"
    return request.kind == "page" and whole and _open(request)


def _shares(said: Sequence[Mapping[str, Any]]) -> tuple[float, float, float]:
    """Shares of the pages with `why`, with `score` and with `markdown`."""
    pages: dict[str, dict[str, Any]] = {}
    for row in said:
        pages.setdefault(row["url"], {}).update(row)
    if not pages:
        return 0.0, 0.0, 0.0
    why = sum(bool(row.get("why")) for row in pages.values())
    scores = sum(isinstance(row.get("score"), int | float) for row in pages.values())
    markdown = sum(bool(row.get("markdown")) for row in pages.values())
    return why / len(pages), scores / len(pages), markdown / len(pages)


def _files() -> dict[str, str]:
    files = {
        "robots.txt": f"User-agent: *\nDisallow: {FORBIDDEN}\n",
        "index.html": _page(
            "Glazes for pottery",
            [(f"hub{hub}.html", f"{SUBJECTS[hub]} glazes") for hub in range(HUBS)]
            + [(f"closed/{hub}.html", f"{SUBJECTS[hub]} glazes, closed") for hub in range(HUBS)],
        ),
    }
    for hub, subject in enumerate(SUBJECTS):
        leaves = [(f"leaf{hub}-{leaf}.html", f"{subject} glaze {leaf}") for leaf in range(LEAVES)]
        closed = (f"closed/{hub}.html", f"more {subject} glazes for pottery")
        files[f"hub{hub}.html"] = _page(f"{subject} glazes", [*leaves, closed])
        files[closed[0]] = _page(f"{subject} glazes, closed", [])
        for path, title in leaves:
            files[path] = _page(title, [])
    return files


def _page(title: str, links: Sequence[tuple[str, str]]) -> str:
    items = "".join(f'<li><a href="/{path}">{text}</a></li>\n' for path, text in links)
    body = TEXT.format(title) * 4
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{title}</title></head>\n<body><h1>{title}</h1><p>{body}</p>\n<ul>\n{items}</ul></body></html>\n"
    )
