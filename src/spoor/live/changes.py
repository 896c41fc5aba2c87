"""What a watch reports: documents that are new, and documents that changed."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from spoor.foragers.fleet import Counts, Fleet
from spoor.foragers.hosts import Hosts
from spoor.foragers.known import NEVER
from spoor.types import Deferred, Fetched, LiveReply, NextStep, Outcome, State

"""Of which documents changes are reported: those found as relevant, all, or none."""

Line = dict[str, Any]
"""A document, as `news.jsonl` has it: kind (`new`; `changed` where the fleet had seen an earlier
content), url, title, date and found_at (RFC 3339; the date is None where it is not known), version,
and the number of the forager that was rewarded for it, None for a later change."""


class ChangeTracker:
    """Says after each reply to a fleet which documents are new and which changed."""

    def __init__(self, fleet: Fleet, changes: str = "found") -> None:
        self._fleet = fleet
        self._changes = changes
        self._titles: dict[int, str] = {}
        self._reported = 0
        """Documents that the fleet found and that were reported."""
        self._versions: dict[int, int] = {}
        self._catch_up()

    def _catch_up(self) -> None:
        """All that the fleet knows now has been reported."""
        discoveries = self._fleet.agent.discoveries
        self._reported = len(discoveries)
        versions = self._fleet.known.version
        self._versions = {entry.url: versions[entry.url] for entry in discoveries}
        if self._changes == "all":
            self._versions |= {url: seen for url, seen in enumerate(versions) if seen}

    def lines(self, step: Outcome | Deferred, now: float) -> list[Line]:
        """What a reply brought: documents judged relevant by now, and contents that changed."""
        if isinstance(step, Deferred) or not isinstance(step.reply, Fetched):
            return []
        url, page = step.choice.link, step.reply.page
        known, lines = self._fleet.known, list[Line]()
        version, date = known.version[url], known.date[url]
        before = self._versions.get(url)
        if before is not None and version > before and self._changes != "none":
            lines.append(self._line("changed", url, page.title, date, now))
        if before is not None or self._changes == "all":
            self._versions[url] = version
        if date > NEVER:
            self._titles[url] = page.title
        for entry in self._fleet.agent.discoveries[self._reported :]:
            title = self._titles.pop(entry.url, page.title if entry.url == url else "")
            self._versions[entry.url] = known.version[entry.url]
            kind = "new" if entry.version == 1 else "changed"
            lines.append(self._line(kind, entry.url, title, entry.date, now, entry.by))
        self._reported = len(self._fleet.agent.discoveries)
        if self._fleet.resting:  # what its step brought has been submitted
            self._titles.clear()
        return lines

    def save(self) -> State:
        """What the fleet does not know: titles of pages that may yet be reported."""
        return {str(url): title for url, title in self._titles.items()}

    def load(self, state: State) -> None:
        """Go on with a fleet that has been loaded."""
        self._catch_up()
        self._titles = {int(url): title for url, title in state.items()}

    def _line(
        self, kind: str, number: int, title: str, date: float, now: float, by: int | None = None
    ) -> Line:
        known = self._fleet.known
        return {
            "kind": kind,
            "url": known.urls[number],
            "title": title,
            "date": _rfc3339(date) if date > NEVER else None,
            "found_at": _rfc3339(now),
            "version": known.version[number],
            "forager": by,
        }


class TrackedFleet:
    """A fleet with its tracker: the engine of which a watch keeps the journal, so that the same
    lines come again as its calls are made again."""

    def __init__(self, fleet: Fleet, changes: str) -> None:
        self.fleet = fleet
        self.tracker = ChangeTracker(fleet, changes)
        self.lines: list[Line] = []
        """Not yet written."""
        self.news_end = 0
        """Bytes of `news.jsonl` when it was saved."""

    @property
    def frontier(self) -> Hosts:
        return self.fleet.frontier

    @property
    def counts(self) -> Counts:
        return self.fleet.counts

    def next(self, now: float) -> NextStep:
        return self.fleet.next(now)

    def receive(self, reply: LiveReply, now: float) -> Outcome | Deferred:
        step = self.fleet.receive(reply, now)
        self.lines += self.tracker.lines(step, now)
        return step

    def save(self) -> State:
        return {
            "fleet": self.fleet.save(),
            "titles": self.tracker.save(),
            "news_end": self.news_end,
        }

    def load(self, state: State) -> None:
        self.fleet.load(state["fleet"])
        self.tracker.load(state["titles"])
        self.news_end = state["news_end"]


def json_line(line: Line) -> bytes:
    """A line of `news.jsonl`, its line break included."""
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
