"""Reads which requisites pages and style sheets name, in a helper process of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from spoor.documents.kinds import as_html, tell
from spoor.errors import InputError
from spoor.formats.warc_reader import reply_at
from spoor.isolate.bounds import Bounds
from spoor.isolate.helper import GivenUpError
from spoor.isolate.helper_pool import more_queues
from spoor.runs.requisite_queue import DuePage
from spoor.runs.requisites import MOST_OF_A_PAGE
from spoor.web.exchange import Requisite
from spoor.web.requisites import requisites_row_of
from spoor.web.urls import domain_of, is_canonical

BOUNDS = Bounds(4.0, 128 << 20, 20)
"""What one document may take of the helper."""
MOST_SECONDS, SECONDS_EACH = 120.0, 0.5
"""That reading the documents of one domain may take together, and more for each of them: all sites
share what reads. The others are not read."""


class Named(NamedTuple):
    """What a document names."""

    found: list[Requisite]
    left: int
    """References that were left out."""
    seconds: float
    """That reading it took."""


NONE = Named([], 0, 0.0)


@dataclass(slots=True)
class _OfSite:
    """What reading the documents of one domain took."""

    documents: int = 0
    seconds: float = 0.0

    @property
    def is_spent(self) -> bool:
        return self.seconds > MOST_SECONDS + SECONDS_EACH * self.documents


class RequisiteReader:
    """Reads one document at a time, beside the event loop. `folder`: of the run, whose archive has
    the pages. `allows`: which URLs may be asked for. `report` is called with a line about a page
    that is damaged there."""

    def __init__(
        self, folder: Path, allows: Callable[[str], bool], report: Callable[[str], None]
    ) -> None:
        self._folder, self._allows, self._report = folder, allows, report
        self._undo = ExitStack()
        (self._queue,) = self._undo.enter_context(more_queues(1))
        self._thread = ThreadPoolExecutor(1, "requisites")
        self._sites: dict[str, _OfSite] = {}
        """By domain."""

    def close(self) -> None:
        """End the helper; what it reads is given up."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._undo.close()

    async def of_page(self, page: DuePage) -> Named | None:
        """What a page of the run names, and what it asked for in a browser; of one that is no HTML,
        or costs too much, the latter alone; None where it is damaged in the archive, which may be
        put back."""
        named = await self._apart(page.url, self._of_page, page)
        if named is None or not page.asked:
            return named
        found = {one.url: one for one in (*self._allowed(page.asked), *named.found)}
        return named._replace(found=[*found.values()])

    async def of_style(self, body: bytes, url: str, content_type: str) -> Named:
        """What a style sheet names."""
        named = await self._apart(url, self._read, body, url, content_type, True)
        return NONE if named is None else named

    async def _apart(
        self, url: str, call: Callable[..., Named | None], *values: Any
    ) -> Named | None:
        """The call in the thread, where the documents of the URL's domain had not their time."""
        of = self._sites.setdefault(domain_of(url), _OfSite())
        if of.is_spent:
            return NONE._replace(left=1)
        named = await asyncio.get_running_loop().run_in_executor(self._thread, call, *values)
        of.documents, of.seconds = of.documents + 1, of.seconds + (named or NONE).seconds
        return named

    def _of_page(self, page: DuePage) -> Named | None:
        place = page.place
        try:
            reply = reply_at(self._folder / place.file, place.offset, place.length, page.url)
        except InputError as error:
            self._report(str(error))
            return None
        if reply is None or tell(reply.body, reply.content_type, page.url).kind != "html":
            return NONE
        return self._read(reply.body, page.url, as_html(reply.body, reply.content_type), False)

    def _read(self, body: bytes, url: str, content_type: str, style: bool) -> Named:
        facts = {"url": url, "content_type": content_type, "style": style, "most": MOST_OF_A_PAGE}
        began = time.monotonic()
        try:
            row = self._queue.ask(requisites_row_of, body, facts, 1, BOUNDS)
            left = int(row["left"])
            urls = [Requisite(str(name), bool(is_style)) for name, is_style in row["urls"]]
        except (GivenUpError, LookupError, TypeError, ValueError):  # or it was taken over
            return NONE._replace(seconds=time.monotonic() - began)
        allowed = self._allowed(urls)
        return Named(allowed, max(0, min(left, 1 << 32)), time.monotonic() - began)

    def _allowed(self, urls: Iterable[Requisite]) -> list[Requisite]:
        """Those that may be asked for, by the word of a helper that may be taken over."""
        known = [one for one in urls if is_canonical(one.url)]
        return [one for one in known[:MOST_OF_A_PAGE] if self._allows(one.url)]
