"""A live watch: a fleet, its folder and the network.

The folder is that of any run (`spoor.toml`, `state.db`, `pages.warc.gz`), with `news.jsonl`, one
line a document as it was found, and `feed.xml`, the newest of them as RSS. A line is on the disk
before the state that knows of it is: after a crash lines that the state does not know are taken
into it, so that nothing found is lost, and nothing is told twice.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from spoor.drivers.http.folder import RunFolder
from spoor.drivers.http.live import Live, stop_on_signals
from spoor.drivers.http.settings import HttpSettings
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.foragers.agent import Found
from spoor.foragers.fleet import Fleet
from spoor.foragers.known import NEVER
from spoor.types import Deferred, Failed, Fetch, Fetched, Outcome

CHECKPOINT_SECONDS = 5.0
CHECKPOINT_SHARE = 0.05
"""At most this share of the time goes into checkpoints."""

FEED_ITEMS = 200
CHANGES = ("found", "all", "none")

News = dict[str, Any]
"""A line of `news.jsonl`: kind (`new`; `changed` where the fleet had seen an earlier content), url,
title, date and found_at (RFC 3339; the date is None where it is not known), version, and the number
of the forager that was paid for it, None for a later change."""


class Newsroom:
    """What a fleet has found, as lines: asks the fleet after each reply what came of it."""

    def __init__(self, fleet: Fleet, changes: str = "found") -> None:
        if changes not in CHANGES:
            raise InputError(f"changes are 'found', 'all' or 'none', not {changes!r}")
        self._fleet = fleet
        self._changes = changes
        self._titles: dict[int, str] = {}
        self._told = 0
        self._versions: dict[int, int] = {}
        self.catch_up()

    def catch_up(self) -> None:
        """All that the fleet knows now has been told."""
        found = self._fleet.agent.found
        self._told = len(found)
        # One that an earlier process told of may not have been downloaded by this state yet.
        versions = self._fleet.known.version
        self._versions = {entry.url: max(1, versions[entry.url]) for entry in found}

    def after(self, step: Outcome | Deferred, now: float) -> list[News]:
        """What a reply brought: documents taken as relevant by now, and contents that changed."""
        if isinstance(step, Deferred) or not isinstance(step.reply, Fetched):
            return []
        url, page = step.choice.link, step.reply.page
        known, lines = self._fleet.known, list[News]()
        version, date = known.version[url], known.date[url]
        before = self._versions.get(url)
        if before is not None and version > before and self._changes != "none":
            lines.append(self._line("changed", url, page.title, date, now))
        if before is not None or self._changes == "all":
            self._versions[url] = version
        if date > NEVER:
            self._titles[url] = page.title
        for entry in self._fleet.agent.found[self._told :]:
            title = self._titles.pop(entry.url, page.title if entry.url == url else "")
            self._versions[entry.url] = known.version[entry.url]
            kind = "new" if entry.version == 1 else "changed"
            lines.append(self._line(kind, entry.url, title, entry.date, now, entry.by))
        self._told = len(self._fleet.agent.found)
        return lines

    def _line(
        self, kind: str, number: int, title: str, date: float, now: float, by: int | None = None
    ) -> News:
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


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _seconds(said: str) -> float:
    return datetime.fromisoformat(said).timestamp()


def feed(lines: list[News], title: str) -> bytes:
    """News as RSS 2.0, the newest first."""
    rss = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(rss, "channel")
    ElementTree.SubElement(channel, "title").text = title
    ElementTree.SubElement(channel, "link").text = lines[0]["url"] if lines else ""
    ElementTree.SubElement(channel, "description").text = "New and changed documents"
    for line in reversed(lines):
        item = ElementTree.SubElement(channel, "item")
        ElementTree.SubElement(item, "title").text = _clean(line["title"]) or line["url"]
        ElementTree.SubElement(item, "link").text = line["url"]
        mark = ElementTree.SubElement(item, "guid", isPermaLink="false")
        mark.text = f"{line['url']}#{line['version']}"
        ElementTree.SubElement(item, "category").text = line["kind"]
        when = datetime.fromtimestamp(_seconds(line["date"] or line["found_at"]), UTC)
        ElementTree.SubElement(item, "pubDate").text = format_datetime(when)
    ElementTree.indent(rss)
    made: bytes = ElementTree.tostring(rss, encoding="utf-8", xml_declaration=True)
    return made


def _clean(text: str) -> str:
    """Without the control characters that XML does not have."""
    return "".join(letter for letter in text if letter >= " ")


class Watch:
    """A fleet over HTTP, kept in a run's folder; `on_news` sees each line as it is found."""

    def __init__(
        self,
        folder: RunFolder,
        fleet: Fleet,
        http: HttpSettings,
        *,
        title: str,
        changes: str = "found",
        on_news: Callable[[News], None] = lambda line: None,
    ) -> None:
        self.folder = folder
        self.fleet = fleet
        self.http = http
        self.on_news = on_news
        self.on_interrupt: Callable[[], None] = lambda: None
        self.last_failure = ""
        self.lines = 0
        self._title = title
        self._began = self._saved = time.monotonic()
        self._cost = 0.0
        self._recent: deque[News] = deque(maxlen=FEED_ITEMS)
        self._fed = -1
        state = folder.state()
        if state is not None:
            fleet.load(state["fleet"])
            fleet.reissue(time.time())
        self._take_back(folder.path / "news.jsonl", 0 if state is None else state["news_end"])
        self._room = Newsroom(fleet, changes)
        try:
            self._news = (folder.path / "news.jsonl").open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write {folder.path}: {error.strerror}") from error

    def _take_back(self, path: Path, end: int) -> None:
        """Lines of an earlier process: those after `end` were found after its last checkpoint."""
        if not path.exists():
            return
        whole = path.read_bytes()
        kept = whole.rfind(b"\n") + 1
        if kept < len(whole):
            os.truncate(path, kept)
        at = 0
        for raw in whole[:kept].splitlines(keepends=True):
            at += len(raw)
            try:
                line: News = json.loads(raw)
            except ValueError as error:
                raise InputError(f"{path}: damaged line; move it away to go on") from error
            self._recent.append(line)
            self.lines += 1
            if at > end and line["forager"] is not None:
                date = _seconds(line["date"]) if line["date"] else 0.0
                number = self.fleet.known.number(line["url"])
                found_at = _seconds(line["found_at"])
                self.fleet.agent.recall(Found(number, line["version"], date, found_at, -1))

    def run(self, seconds: float | None) -> str:
        """For so many seconds, or until it is stopped; returns why it ended."""
        live = Live(self.fleet, self.http, record=self.folder.record, on_step=self._step)
        with self.folder.pausing(), self._news:
            reason = asyncio.run(self._supervise(live, seconds))
            self._checkpoint()
        return reason

    async def _supervise(self, live: Live, seconds: float | None) -> str:
        stop_on_signals(live, self.on_interrupt)
        if seconds is not None:
            asyncio.get_running_loop().call_later(seconds, live.stop, "time is over")
        return (await live.run()).reason

    def _step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        self.folder.describe(fetch, step)
        for line in self._room.after(step, time.time()):
            with self.folder.pausing():
                self._news.write(json.dumps(line, ensure_ascii=False) + "\n")
                self._news.flush()
            self._recent.append(line)
            self.lines += 1
            self.on_news(line)
        if isinstance(step, Outcome) and isinstance(step.reply, Failed):
            self.last_failure = f"{fetch.url}: {step.reply.reason or step.reply.kind}"
            if step.reply.kind == "blocked":
                self.last_failure += "; name the host by --allow-private if you mean it"
        since = time.monotonic() - self._saved
        if since > max(CHECKPOINT_SECONDS, self._cost / CHECKPOINT_SHARE):
            self._checkpoint()

    def _checkpoint(self) -> None:
        began = time.monotonic()
        with self.folder.pausing():
            self._write_news()
        end = (self.folder.path / "news.jsonl").stat().st_size
        state = {"fleet": self.fleet.save(), "news_end": end}
        self.folder.checkpoint(state, self.fleet.counts.requests, time.time())
        self._saved = time.monotonic()
        self._cost = self._saved - began

    def _write_news(self) -> None:
        self._news.flush()
        os.fsync(self._news.fileno())
        if self._fed != self.lines:
            write_whole(self.folder.path / "feed.xml", feed(list(self._recent), self._title))
            self._fed = self.lines

    def summary(self, reason: str) -> dict[str, Any]:
        """What was done, for `--json`."""
        counts, agent = self.fleet.counts, self.fleet.agent.counts
        return {
            "out": str(self.folder.path),
            "resumed": self.folder.resumed,
            "stopped_because": reason,
            "fetched": counts.pages,
            "failed": counts.failed,
            "requests": counts.requests,
            "known_urls": len(self.fleet.known.urls),
            "sent": agent.sent,
            "found": agent.relevant,
            "lines": self.lines,
            "foragers": len(getattr(self.fleet.crew, "foragers", [None])),
            "last_failure": self.last_failure,
            "seconds": round(time.monotonic() - self._began, 2),
        }
