"""The page that `spoor ui` shows of a watch: what it reported and when, what each site brought,
which requests brought nothing, and which sites are unusually silent."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from markupsafe import Markup

from spoor.clock import CrawlClock
from spoor.display import few, to_the_minute
from spoor.errors import InputError
from spoor.formats.digest import Story, headings, stories, story_item
from spoor.live.sources import Source, Sources
from spoor.runs import files
from spoor.runs.reader import Run
from spoor.runs.recovery import telling
from spoor.runs.snapshot import Checkpoint, last_checkpoint
from spoor.views.html import environment
from spoor.views.live_page import SHARE, Live, Parts, live_html, news, noted, with_digests
from spoor.views.watch_news import newest_lines

NEWEST = 300
"""Lines that are shown."""

HOURS = 72
"""Of the timeline."""

SOURCES = 200
"""Rows of a table of sites."""

_HEADINGS = {
    "summary": "Summary",
    "timeline": "Timeline",
    "brought": "Sources by what they brought",
    "nothing": "Asked for nothing",
    "stories": "What was told",
}


class WatchPage:
    """The page of one watch; it reads the run's folder and writes only labels. As
    `spoor.views.live_page.LivePage` to whoever serves it, but for pages to open.

    `home`: address of the list of runs. Raises InputError where there is no watch, or it cannot be
    read.
    """

    def __init__(self, path: Path, token: str, *, home: str = "") -> None:
        self._token = token
        self._home = home
        self._run = Run(path)
        self._run.revision()  # raises
        self._clock = CrawlClock()
        self._lines: list[dict[str, Any]] = []
        self._count = 0
        self._sources: list[Source] = []
        self._silences: list[str] = []
        self._until = 0.0
        """When the watch looked last, Unix seconds."""
        self._checkpoint = -1
        self._size = -1
        self._made: Parts = {}
        self._next = 0.0

    def page(self, nonce: str) -> str:
        """The page as HTML; its script carries the nonce."""
        self._update()
        settings = self._run.settings
        wanted = settings.topic or settings.topic_file or ", ".join(settings.want)
        lead = f"A watch of {few(settings.seeds)}"
        live = Live(
            nonce,
            self._token,
            self._run.is_running,
            self._says(),
            self._home,
            self._run.path.name,
            is_crawl=False,
        )
        title = wanted or "Everything that is new"
        return live_html(SimpleNamespace(title=title, lead=lead), self._made, live)

    def news(self, have: Mapping[str, str]) -> Mapping[str, Any]:
        """As that of a crawl's page."""
        self._update()
        return news(self._run.is_running, self._says(), self._made, have)

    def label(self, told: str, relevant: bool) -> str:
        """Label the document of the line with this id; returns a sentence for the user. Raises
        InputError where there is no such line, or the watch has left the document."""
        url = next((line["url"] for line in self._lines if line["id"] == told), None)
        if url is None:
            raise InputError("the watch told that long ago: spoor label takes its URL")
        label = self._run.label(url, relevant)
        self._next, self._checkpoint = 0.0, -1
        return f"{noted(relevant)}: {label.follows(is_watch=True)}."

    def close(self) -> None:
        """Nothing is open."""

    def _says(self) -> str:
        state = "Running" if self._run.is_running else "Not running"
        line = f"{state}: {self._count:,} told"
        if self._lines:
            line += f", the last at {self._lines[-1]['found_at'].replace('T', ' ')}"
        return line

    # -- what stands in the folder

    def _update(self) -> None:
        """Read what is new, at most as often as `SHARE` allows."""
        if self._clock() < self._next:
            return
        began = time.process_time()
        generation = self._run.revision()[1]
        size = self._news_size()
        if (generation, size) != (self._checkpoint, self._size):
            self._checkpoint, self._size = generation, size
            self._read_news()
            self._read_sources()
            self._made = with_digests(
                (name, _HEADINGS[name], html) for name, html in self._sections() if html.strip()
            )
        self._next = self._clock() + (time.process_time() - began) / SHARE

    def _news_size(self) -> int:
        try:
            return (self._run.path / files.NEWS).stat().st_size
        except OSError:
            return 0

    def _read_news(self) -> None:
        self._lines = [*map(_line, newest_lines(self._run.path))]

    def _read_sources(self) -> None:
        last = last_checkpoint(self._run.path)
        if last is None:
            return
        self._sources, self._silences, self._until = sources_of(last)
        self._count = max(sum(row.told for row in self._sources), len(self._lines))

    # -- the sections

    def _sections(self) -> Iterable[tuple[str, Markup]]:
        rows = self._sources
        paid, nothing = [row for row in rows if row.told], [row for row in rows if not row.told]
        numbers = {
            "told": f"{self._count:,}",
            "sites": f"{len(rows):,}",
            "sites that told something": f"{len(paid):,}",
            "requests": f"{sum(row.requests for row in rows):,}",
            "requests to sites that told nothing": f"{sum(row.requests for row in nothing):,}",
        }
        yield "summary", _part("summary", numbers=[*numbers.items()], silences=self._silences)
        if self._lines:
            hours = [line["hour"] for line in self._lines]
            yield "timeline", _part("timeline", **timeline(hours, self._until))
        table = {"when": _when}
        if paid:
            caption = "What each site told, and what that cost."
            yield "brought", _part("sources", rows=paid[:SOURCES], caption=caption, **table)
        if nothing:
            often = sorted(nothing, key=lambda row: -row.requests)[:SOURCES]
            caption = "Sites that told nothing yet, the most often asked first."
            yield "nothing", _part("sources", rows=often, caption=caption, **table)
        days, labels = stories(self._lines[-NEWEST:]), self._run.labels()
        told = [
            (
                day,
                [
                    (
                        heading,
                        [
                            (site, [self._item(story, labels) for story in its])
                            for site, its in topics[one].items()
                        ],
                    )
                    for one, heading in headings(topics).items()
                ],
            )
            for day, topics in days.items()
        ]
        yield "stories", _part("stories", days=told)

    def _item(self, story: Story, labels: Mapping[str, bool]) -> Markup:
        """A story, with buttons that say whether it was wanted; none where it is gone."""
        line = story.line
        if line["kind"] == "gone":
            return story_item(story)
        asked = SimpleNamespace(number=line["id"], title=line["title"], url=line["url"])
        macros: Any = environment().get_template("macros.html.jinja").module
        label = labels.get(line["url"])
        return story_item(story, Markup(macros.buttons(asked, label, self._token)))


def sources_of(last: Checkpoint) -> tuple[list[Source], list[str], float]:
    """By a checkpoint of a watch: its sources, those that told most first, what is unusual of them,
    and when it looked last, Unix seconds. Raises InputError."""
    sources = Sources()
    with telling(last.path):
        sources.load(last.state["tracker"]["sources"])
        return sources.rows(), sources.silences(), sources.now


def timeline(told: Sequence[int], until: float) -> dict[str, Any]:
    """Lines by hour, from the hours in which they were told, up to when the watch looked last (Unix
    seconds): silence is seen as well. `told` is not empty."""
    counts, last = Counter(told), max(*told, int(until // 3600))
    bars = [(_when(3600.0 * hour), counts[hour]) for hour in range(last - HOURS + 1, last + 1)]
    most, total = max(1, *(count for _, count in bars)), sum(count for _, count in bars)
    return {"bars": bars, "most": most, "told": total, "until": _when(3600.0 * last + 3600.0)}


def is_watch(path: Path) -> bool:
    """Whether a folder holds the run of a watch. Raises InputError where it holds none."""
    return Run(path).settings.command == "watch"


def _part(part: str, **more: Any) -> Markup:
    return Markup(environment().get_template("watch.html.jinja").render(part=part, **more))


def _line(line: dict[str, Any]) -> dict[str, Any]:
    """A line with its score and the number of its hour."""
    found = datetime.fromisoformat(line["found_at"])
    return {**line, "score": line.get("score", 0.0), "hour": _hour(found)}


def _hour(found: datetime) -> int:
    return int(found.replace(tzinfo=found.tzinfo or UTC).timestamp() // 3600)


def _when(seconds: float | None) -> str:
    return "–" if seconds is None else to_the_minute(seconds)
