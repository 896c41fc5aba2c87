"""Pages that a user names one by one: URLs, fetched as a crawl would fetch them, and files.

A URL is fetched once, with the address guard, the robots.txt, the limits and the politeness of a
crawl; its links are not followed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.documents.errors import UnreadableError
from spoor.errors import InputError
from spoor.files import files_below, plain, read_plain
from spoor.formats.reading_costs import recordings
from spoor.formats.sources import open_source, sniff
from spoor.frontier.memory import MemoryFrontier
from spoor.http.failures import in_words
from spoor.isolate.parsing import parse_page
from spoor.judges.facts import Function
from spoor.judges.topic_draft import NOWHERE
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.live.driver import HttpDriver
from spoor.politeness.robots import origin_of
from spoor.protocols import LinkFilter
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, Fetched, Outcome, Page, Task
from spoor.web.media_types import media_of_name
from spoor.web.urls import canonical
from spoor.worlds.generated import GeneratedWorld
from spoor.worlds.recorded import RecordedWorld

MAX_FILE = 10 << 20

OnPage = Callable[[int], None]
"""Called with the number of pages requested so far."""


@dataclass(frozen=True, slots=True)
class Example:
    """One page, or why there is none."""

    name: str
    """The URL or file."""
    page: Page | None
    failure: str = ""
    """Why there is no page."""


class ExampleReader:
    """Reads examples; `settings` say how URLs are fetched."""

    def __init__(self, settings: Settings, *, on_page: OnPage = lambda count: None) -> None:
        self._settings = settings
        self._on_page = on_page

    def read(self, *groups: Sequence[str]) -> list[list[Example]]:
        """The pages that groups of sources hold, in order: URLs, files of URLs (one a line), pages
        as files, folders of such files, JSON lines, WARC files and webs.

        Raises InputError for what is none of these. A URL that cannot be fetched is an Example
        without a page.
        """
        sources = [[part for source in group for part in _parts(source)] for group in groups]
        urls = list(
            dict.fromkeys(part for parts in sources for part in parts if isinstance(part, str))
        )
        fetched = dict(zip(urls, self._fetch(urls), strict=True))
        return [
            [fetched[part] if isinstance(part, str) else part for part in row] for row in sources
        ]

    def at_random(self, urls: Sequence[str], count: int) -> list[Page]:
        """At most `count` pages of the registrable domains of these URLs, reached by random steps
        from the roots of their hosts."""
        scope = Scope.of(urls, "domain")
        roots = dict.fromkeys(f"{origin_of(url)}/" for url in urls)
        link_filter = CrawlFilter(scope, traps=Traps(), per_host=None, per_domain=None)
        outcomes = self._crawl("random", list(roots), count, link_filter)
        return [outcome.page for outcome in outcomes if outcome.page is not None]

    def _fetch(self, urls: Sequence[str]) -> list[Example]:
        if not urls:
            return []
        outcomes = {
            outcome.choice.link: outcome
            for outcome in self._crawl("breadth-first", urls, len(urls), None)
        }
        return [_example(url, outcomes.get(number)) for number, url in enumerate(urls)]

    def _crawl(
        self, policy: str, urls: Sequence[str], pages: int, link_filter: LinkFilter | None
    ) -> list[Outcome]:
        task = Task(np.random.default_rng(self._settings.seed))
        crawl = Crawl(
            registry.build("policies", policy, task),
            Function(lambda page: False),
            MemoryFrontier(delay=self._settings.delay, per_host=1),
            pages=pages,
            attempts=1,
            admit=lambda page, depth: (),
            link_filter=link_filter,
        )
        crawl.seed(urls)
        outcomes: list[Outcome] = []

        def on_step(fetch: Fetch, step: Outcome | Deferred) -> None:
            if isinstance(step, Outcome):
                outcomes.append(step)
                self._on_page(len(outcomes))

        asyncio.run(HttpDriver(crawl, self._settings, on_step=on_step).run())
        return outcomes


def _example(url: str, outcome: Outcome | None) -> Example:
    reply = None if outcome is None else outcome.reply
    if isinstance(reply, Fetched):
        return Example(url, reply.page)
    reason = in_words(reply) if isinstance(reply, Failed) else "it was not requested"
    return Example(url, None, reason)


def _parts(source: str) -> Iterator[str | Example]:
    """Canonical URLs to fetch, and pages of files."""
    if "://" in source:
        yield _url(source, "")
        return
    path = Path(source)
    if path.is_dir():
        if (path / "web.json").exists() or (path / "web.toml").exists():
            recorded = (path / "web.json").exists()
            world = RecordedWorld(path) if recorded else GeneratedWorld.open(path)
            for page in world.pages():
                yield Example(page.url, page)
            return
        files = [file for file in files_below(path) if _kind(file)]
        if not files:
            raise InputError(f"{path} holds no page: no file in it is .html, .htm, .xhtml or .txt")
        for file in files:
            yield _file(file, _read(file))
        return
    data = _read(path)
    lines = _lines(data)
    if lines is not None:
        for number, line in lines:
            yield _url(line, f"{path}, line {number}: ")
    elif _archive(path, data):
        for recording in recordings([open_source(path)]):
            if isinstance(recording.reply, Fetched):
                yield Example(recording.url, recording.reply.page)
    else:
        yield _file(path, data)


def _url(text: str, where: str) -> str:
    try:
        return canonical(text)
    except ValueError as error:
        raise InputError(f"{where}{error}") from None


def _read(path: Path) -> bytes:
    try:
        if plain(path).stat().st_size <= MAX_FILE:
            return read_plain(path, MAX_FILE)
        if not _archive(path, b""):
            raise InputError(f"{path} is larger than {MAX_FILE >> 20} MiB, and so no page")
        return b""
    except OSError as error:
        raise InputError(
            f"{str(path)[:100]!r} is neither a URL (http://…) nor a file ({error.strerror})"
        ) from error


def _archive(path: Path, data: bytes) -> bool:
    try:
        return sniff(path) in ("warc", "jsonlines")
    except InputError:
        return False


def _lines(data: bytes) -> list[tuple[int, str]] | None:
    """The URLs of a file of URLs, with their lines; None for another file."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    urls = all("://" in line and " " not in line and line[0] not in "<{" for _, line in lines)
    return lines if lines and urls else None


def _kind(path: Path) -> str:
    """Media type of a file that holds a page, by its name; empty for others."""
    kind = media_of_name(path.name)
    return kind if kind in ("text/html", "text/plain", "application/xhtml+xml") else ""


def _file(path: Path, data: bytes) -> Example:
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path} is no page of text; give its text or its HTML")
    try:
        page = parse_page(data, NOWHERE, content_type=_kind(path) or "text/html")
    except UnreadableError as error:
        raise InputError(f"{path}: {error}") from error
    if not page.title.strip() and not page.text.strip():
        raise InputError(f"{path} is a page without a word")
    return Example(str(path), page)
