"""A live watch: a fleet, its folder and the network.

The folder is that of any run (`spoor.runs.files`), with a line of news
a document as it was found, and the newest of them as RSS. As of a crawl, a journal
is kept of all that goes into the fleet, and committed before anything is asked for; a line is
written after the commit of what it tells. After a crash the calls since the last checkpoint are
made once more, and bring the same lines: those that are not there yet are written.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from spoor.errors import InputError
from spoor.files import write_whole
from spoor.foragers.fleet import Abreast, Counts, Fleet
from spoor.foragers.hosts import Hosts
from spoor.foragers.known import NEVER
from spoor.live.driver import HttpDriver, stop_on_signals
from spoor.runs import files
from spoor.runs.journal import Journal
from spoor.runs.writer import RunWriter
from spoor.settings import HttpSettings
from spoor.types import Deferred, Failed, Fetch, Fetched, NextStep, Outcome, Reply, State

CHECKPOINT_SECONDS = 5.0
"""Nothing is lost between two: they shorten what is gone through again, and renew the feed."""

CHECKPOINT_SHARE = 0.05
"""At most this share of the time goes into checkpoints."""

COMMIT_SECONDS = 0.025
"""Between two commits: what comes in meanwhile shares one, and one wait for the disk."""

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
        versions = self._fleet.known.version
        self._versions = {entry.url: versions[entry.url] for entry in found}
        if self._changes == "all":
            self._versions |= {url: seen for url, seen in enumerate(versions) if seen}

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
        if self._fleet.resting:  # what its step brought has been submitted
            self._titles.clear()
        return lines

    def save(self) -> State:
        """What `catch_up` cannot know: titles of pages that may yet be told."""
        return {str(url): title for url, title in self._titles.items()}

    def load(self, state: State) -> None:
        """Go on with a fleet that has been loaded."""
        self.catch_up()
        self._titles = {int(url): title for url, title in state.items()}

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


def _line(told: News) -> bytes:
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


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


class Reporter:
    """A fleet that says what each reply brought: the engine that the journal of a watch is kept of,
    so that lines come again as its calls are made again."""

    def __init__(self, fleet: Fleet, changes: str) -> None:
        self.fleet = fleet
        self.room = Newsroom(fleet, changes)
        self.lines: list[News] = []
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

    def receive(self, reply: Reply, now: float) -> Outcome | Deferred:
        step = self.fleet.receive(reply, now)
        self.lines += self.room.after(step, now)
        return step

    def save(self) -> State:
        return {
            "fleet": self.fleet.save(),
            "titles": self.room.save(),
            "news_end": self.news_end,
        }

    def load(self, state: State) -> None:
        self.fleet.load(state["fleet"])
        self.room.load(state["titles"])
        self.news_end = state["news_end"]


class Watch:
    """A fleet over HTTP, kept in a run's folder; `on_news` sees each line as it is written."""

    def __init__(
        self,
        folder: RunWriter,
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
        self._ahead = 0.0
        self._recent: deque[News] = deque(maxlen=FEED_ITEMS)
        self._fed = -1
        self._reporter = Reporter(fleet, changes)
        self.journal = Journal(self._reporter, folder, self._resume)
        state = folder.state()
        if state is not None:
            self._configure(folder.ran_with["politeness"])
            self._reporter.load(state)
            self.journal.replay()
            # The clock of a fleet never goes back, even where the machine's did.
            self._ahead = max(0.0, self.journal.last - time.time())
            self.journal.resume(self.now(), {"politeness": folder.settings["politeness"]})
        self._take_back(folder.path / files.NEWS)
        try:
            self._news = (folder.path / files.NEWS).open("ab")
            folder.closing.append(self._news.close)
        except OSError as error:
            raise InputError(f"cannot write {folder.path}: {error.strerror}") from error
        if state is None:
            self._checkpoint()

    def now(self) -> float:
        """Unix seconds, never fewer than before."""
        return time.time() + self._ahead

    def _configure(self, politeness: Mapping[str, Any]) -> None:
        self.fleet.frontier.configure(delay=politeness["delay"], per_host=politeness["per_host"])
        params = [
            item.partition("=")[0].strip() for item in self.folder.settings["crawl"]["params"]
        ]
        if isinstance(self.fleet.crew, Abreast) and "abreast" not in params:
            self.fleet.crew.abreast = politeness["in_flight"]

    def _resume(self, now: float, settings: Mapping[str, Any]) -> None:
        """This process takes over; its politeness may be others."""
        self._configure(settings["politeness"])
        self.fleet.reissue(now)

    def _take_back(self, path: Path) -> None:
        """Of the lines that the journal brought once more, leave those to be written that no
        earlier process came to write; what else the file has at its end is cut off."""
        whole, end = path.read_bytes() if path.exists() else b"", self._reporter.news_end
        kept = whole[: whole.rfind(b"\n", 0, end) + 1]
        lines = self._reporter.lines
        while lines and len(kept) >= end and whole.startswith(raw := _line(lines[0]), len(kept)):
            kept += raw
            del lines[0]
        if len(kept) < len(whole):
            os.truncate(path, len(kept))
        for raw in kept.splitlines():
            try:
                self._recent.append(json.loads(raw))
            except ValueError as error:
                raise InputError(f"{path}: damaged line; move it away to go on") from error
            self.lines += 1

    def run(self, seconds: float | None) -> str:
        """For so many seconds, or until it is stopped; returns why it ended."""
        live = HttpDriver(
            self.journal,
            self.http,
            clock=self.now,
            record=self.journal.record,
            on_step=self._step,
            commit=self._commit,
            gather=COMMIT_SECONDS,
        )
        with self.folder.pausing(), self._news:
            reason = asyncio.run(self._supervise(live, seconds))
            if reason != "aborted":
                self._checkpoint()
        return reason

    async def _supervise(self, live: HttpDriver, seconds: float | None) -> str:
        stop_on_signals(live, self.on_interrupt)
        if seconds is not None:
            asyncio.get_running_loop().call_later(seconds, live.stop, "time is over")
        return (await live.run()).reason

    def _step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        self.folder.describe(fetch, step)
        if isinstance(step, Outcome) and isinstance(step.reply, Failed):
            self.last_failure = f"{fetch.url}: {step.reply.reason or step.reply.kind}"
            if step.reply.kind == "blocked":
                self.last_failure += "; name the host by --allow-private if you mean it"

    def _commit(self) -> None:
        """Make durable all that was done; then tell it."""
        if time.monotonic() - self._saved > max(CHECKPOINT_SECONDS, self._cost / CHECKPOINT_SHARE):
            self._checkpoint()
            return
        self.journal.commit()
        self._tell()

    def _tell(self) -> None:
        lines, self._reporter.lines = self._reporter.lines, []
        with self.folder.pausing():
            for line in lines:
                self._news.write(_line(line))
            self._news.flush()
        if lines:
            self.folder.at("news written")
        for line in lines:
            self._recent.append(line)
            self.lines += 1
            self.on_news(line)

    def _checkpoint(self) -> None:
        began = time.monotonic()
        self.journal.commit()
        self._tell()
        with self.folder.pausing():
            self._write_news()
        self._reporter.news_end = os.fstat(self._news.fileno()).st_size
        self.journal.checkpoint(time.time())
        self._saved = time.monotonic()
        self._cost = self._saved - began

    def _write_news(self) -> None:
        self._news.flush()
        os.fsync(self._news.fileno())
        if self._fed != self.lines:
            write_whole(self.folder.path / files.FEED, feed(list(self._recent), self._title))
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
