"""The journal of a run: all calls of its crawl, in order, so that they can be replayed.

The crawl is a pure object: the same calls bring the same crawl to the same state, bit for bit. So
the calls have to be durable, and not what they change: a page costs its own bytes, however many
links are open. After a crash the last checkpoint is loaded, and the calls since then are replayed
through the same code; the policy ends with the weights that it had.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from operator import attrgetter
from typing import Any, Protocol, runtime_checkable

from spoor.crawl import Crawl
from spoor.documents.errors import UnreadableError
from spoor.errors import InputError, PausedError, taking_in
from spoor.formats.warc_writer import Place
from spoor.learn.state import page_row, revive_page
from spoor.politeness.hosts import CountsRequests, share_of_time, times_late
from spoor.protocols import Engine, ListsHosts
from spoor.runs import files
from spoor.runs.events import Event, label_event, new_compressor, packed, parts_of, revision_rows
from spoor.runs.writer import RunWriter
from spoor.sharding import commands
from spoor.types import (
    Deferred,
    Failed,
    Fetch,
    Fetched,
    Judgement,
    LinkId,
    LiveReply,
    NextStep,
    NotModified,
    Outcome,
    Page,
    Redirected,
    Revision,
    State,
)
from spoor.web.exchange import Exchange, Source
from spoor.web.urls import Joiner

_LATEST = 2.0e11
"""Unix seconds of the year 8307."""

Resume = Callable[[float, Mapping[str, Any]], None]
"""Called with (now, settings) when a process goes on with the run of an earlier one."""


class _Counted(Protocol):
    requests: int


class Durable(Engine, Protocol):
    """An engine with a journal: a Crawl, or the fleet of a watch. The same calls bring it to the
    same state."""

    @property
    def counts(self) -> _Counted: ...
    def foreign(self, ticket: int) -> bool: ...
    def save(self) -> State: ...


@runtime_checkable
class DatesDocuments(Protocol):
    """An engine that tells new documents from old ones by their dates."""

    def date_from(self, ahead: float) -> None:
        """From now on the times of calls are `ahead` seconds ahead of the dates of documents."""
        ...


@runtime_checkable
class RevisesDocuments(Protocol):
    """An engine that keeps the newest verdicts on its documents itself."""

    def revise_documents(self, now: float) -> bool:
        """Ask the judge for newer verdicts; whether that was done."""
        ...

    def relabel_document(self, url: str, relevant: bool, now: float) -> None:
        """A person says whether a document is relevant."""
        ...


class Journal:
    """An Engine that stands between a driver and its crawl and notes every call.

    Nothing is durable before `commit`, which a driver calls before it sends anything.
    """

    def __init__(self, crawl: Durable, folder: RunWriter, resume: Resume) -> None:
        self.crawl = crawl
        self.last = 0.0
        """The time of the last call in an earlier process."""
        self._folder = folder
        self._resume = resume
        self._events: list[Event] = []
        self._bodies: list[bytes] = []
        self._exchange: Exchange | None = None
        self._place: Place | None = None
        self._joiner = Joiner()
        self._compressor = new_compressor()
        self._half_done = ""
        """The call that failed."""
        self._revised: list[Revision] = []
        """Revisions of the judge in the present call."""
        if isinstance(crawl, Crawl):
            crawl.on_revisions = self._revised.extend

    # -- the calls of a driver

    def next(self, now: float) -> NextStep:
        """As the crawl's. Answers without a Fetch are noted too: they may change the crawl."""
        answer = self.crawl.next(now)
        if isinstance(answer, Fetch):
            self._events.append(["fetch", now, answer.ticket, answer.url])
        elif not self._events or self._events[-1] != ["idle", now]:
            self._events.append(["idle", now])
        self._note_revisions(now)
        return answer

    def record(self, fetch: Fetch, exchange: Exchange) -> bool:
        """Archive the exchange of the next reply. Returns whether it is an unchanged page of an
        earlier run: the reply is then `NotModified`."""
        self._place = self._folder.record(fetch, exchange)
        self._exchange = exchange
        return self._folder.unchanged

    def receive(self, reply: LiveReply, now: float) -> Outcome | Deferred:
        """As the crawl's."""
        exchange, self._exchange = self._exchange, None
        place, self._place = self._place, None
        step = self.crawl.receive(reply, now)
        if isinstance(reply, Redirected):
            self._events.append(["redirected", now, _row(reply)])
        elif isinstance(reply, Failed):
            self._events.append(["failed", now, _row(reply)])
        elif isinstance(reply, NotModified):
            self._events.append(["unchanged", now, _row(reply)])
        else:
            row: Any
            if exchange is None:
                row = page_row(reply.page)
            else:
                self._folder.keep_validators(exchange)
                row = Source.values(exchange, reply.page.modified)
                document = exchange.document
                row[_BODY] = len(document)
                if place is None or exchange.truncated or not (document and exchange.plain):
                    self._bodies.append(document)
                else:
                    # The archive has it, and is on the disk before this event is.
                    row.append([place.file, place.offset, place.length])
            values = [reply.ticket, reply.seconds, reply.size, _score(step)]
            values += [reply.fresh_for] if reply.fresh_for else []
            self._events.append(["page", now, *values, row])
        self._note_revisions(now)
        self._folder.failpoint("reply received")
        return step

    def relabel(self, url: str, before: Judgement, after: Judgement, now: float) -> None:
        """As the crawl's, or the fleet's."""
        self._relabel(url, before, after, now)
        self._events.append(label_event(url, before, after, now))

    def _relabel(self, url: str, before: Judgement, after: Judgement, now: float) -> None:
        if isinstance(self.crawl, RevisesDocuments):
            self.crawl.relabel_document(url, after.relevant, now)
        else:
            self._crawl.relabel(url, before, after)

    def revise(self, now: float) -> None:
        """As the crawl's, or the fleet's."""
        if isinstance(self.crawl, RevisesDocuments):
            if self.crawl.revise_documents(now):
                self._events.append(["revise", now])
            return
        self._crawl.revise()
        if self._revised:
            self._events.append(["revise", now])
            self._note_revisions(now)

    def _note_revisions(self, now: float) -> None:
        if self._revised:
            self._events.append(["revised", now, revision_rows(self._revised)])
            self._folder.revise(self._revised, self._crawl.counts.pages)
            self._revised.clear()

    def foreign(self, ticket: int) -> bool:
        """As the crawl's. It changes nothing, so it is not noted."""
        return self.crawl.foreign(ticket)

    def call(self, name: str, now: float, *values: object, body: bytes = b"") -> None:
        """Make and note a call of `spoor.sharding.commands` on a crawl. One that fails may be half
        done, and is in no journal: nothing is committed any more, so that the run goes on from what
        was before it. Raises InputError where it holds what this version does not read."""
        try:
            with taking_in(f"what another shard sent ({name})", _SAME_VERSION):
                commands.apply(self._crawl, name, now, values, body)
        except BaseException:
            self._half_done = name
            raise
        self._events.append(["call", now, name, list(values), len(body)])
        self._bodies.append(body)

    @property
    def _crawl(self) -> Crawl:
        """Only a crawl has revisions that are numbered, and only a crawl is split."""
        assert isinstance(self.crawl, Crawl)
        return self.crawl

    @property
    def frontier(self) -> Journal:
        """The politeness of the crawl's frontier; its changes are noted too."""
        return self

    def hold(self, host: str, until: float) -> None:
        self.crawl.frontier.hold(host, until)
        self._events.append(["hold", host, until])

    def pace(self, host: str, delay: float) -> None:
        self.crawl.frontier.pace(host, delay)
        self._events.append(["pace", host, delay])

    def delay(self, host: str) -> float:
        return self.crawl.frontier.delay(host)

    def hosts(self) -> Sequence[tuple[str, int, int, float]]:
        frontier = self.crawl.frontier
        return frontier.hosts() if isinstance(frontier, ListsHosts) else ()

    def times_late(self, host: str) -> int | None:
        return times_late(self.crawl.frontier, host)

    def share_of_time(self, link: LinkId) -> float:
        return share_of_time(self.crawl.frontier, link)

    def left(self, host: str, now: float, *, own: bool = True) -> float:
        hosts = self.crawl.frontier
        return hosts.left(host, now, own=own) if isinstance(hosts, CountsRequests) else math.inf

    def spend(self, host: str, now: float) -> None:
        if isinstance(hosts := self.crawl.frontier, CountsRequests):
            hosts.spend(host, now)
            self._events.append(["spend", host, now])

    def date_from(self, ahead: float, now: float) -> None:
        """See `DatesDocuments.date_from`."""
        assert isinstance(self.crawl, DatesDocuments)
        self.crawl.date_from(ahead)
        self._events.append(["ahead", now, ahead])

    # -- durability

    def resume(self, now: float, settings: Mapping[str, Any]) -> None:
        """Go on with the run of an earlier process."""
        self._resume(now, settings)
        self._events.append(["resume", now, settings])
        self._folder.failpoint("resumed")

    def commit(self, *, noted: bool = False) -> None:
        """Make all calls so far durable, unless all of them found nothing to do or set a delay.
        `noted`: the folder has a note to make durable."""
        if noted or any(event[0] not in ("idle", "pace") for event in self._events):
            self._check_whole()
            self._folder.commit(self._packed())
            self._folder.failpoint("sending")

    def checkpoint(self, time: float, now: float) -> None:
        """Make the state of the crawl and all calls so far durable. `time`: by the clock of the
        machine; `now`: by that of the calls, which may be ahead of it."""
        self._check_whole()
        state, requests = {**self.crawl.save(), "clock": now}, self.crawl.counts.requests
        self._folder.checkpoint(state, requests, time, self._packed())
        self._folder.failpoint("sending")

    def _check_whole(self) -> None:
        if self._half_done:
            raise PausedError(f"paused: a call of another shard failed ({self._half_done})")

    def _packed(self) -> bytes:
        if not self._events:
            return b""
        events = packed(self._events, self._bodies, self._compressor)
        self._events, self._bodies = [], []
        return events

    def replay(self, state: State) -> None:
        """Replay the calls since the state that the folder gave.

        Raises InputError where the journal is damaged, or something answers otherwise than before:
        another version of the program, another model.
        """
        self.last = float(state["clock"])
        if not 0.0 <= self.last < _LATEST:
            raise self._broken("has a moment that no run comes to")
        for entry in self._folder.tail():
            for event, page in self._unpacked(entry):
                self._replay(event, page)
        self._folder.failpoint("gone through")

    def _unpacked(self, entry: bytes) -> Iterator[tuple[Event, Any]]:
        try:
            events, data = parts_of(entry)
        except ValueError as error:
            raise self._broken("is damaged") from error
        offset = 0
        for event in events:
            row = event.pop() if event[0] == "page" else None
            if isinstance(row, list):
                size = row[_BODY]
                if isinstance(row[-1], list):
                    row[_BODY] = self._folder.body(Place(*row.pop()), size)
                else:
                    row[_BODY] = data[offset : offset + size]
                    offset += size
            elif event[0] == "call":
                size = event.pop()
                row = data[offset : offset + size]
                offset += size
            yield event, row

    def _replay(self, event: Event, row: Any) -> None:
        crawl = self.crawl
        kind, *values = event
        if kind == "hold":
            crawl.frontier.hold(*values)
        elif kind == "pace":
            crawl.frontier.pace(*values)
        elif kind == "spend":
            assert isinstance(crawl.frontier, CountsRequests)
            crawl.frontier.spend(*values)
        elif kind == "resume":
            self._resume(*values)
        elif kind == "ahead":
            assert isinstance(crawl, DatesDocuments)
            crawl.date_from(values[1])
        elif kind in ("fetch", "idle"):
            now, *expected = values
            answer = crawl.next(now)
            got = [answer.ticket, answer.url] if isinstance(answer, Fetch) else []
            self._same("chose", got, expected)
        elif kind == "call":
            now, name, arguments = values
            commands.apply(self._crawl, name, now, arguments, row)
        elif kind == "label":
            now, url, before, after = values
            # It may have been given while no process held the folder, by a clock that was behind.
            self._relabel(url, Judgement(*before), Judgement(*after), max(now, self.last))
        elif kind == "revise":
            if isinstance(crawl, RevisesDocuments):
                crawl.revise_documents(*values)
            else:
                self._crawl.revise()
        elif kind == "revised":
            revised = revision_rows(self._revised)
            self._revised.clear()
            self._same("judged pages anew as", revised, values[1])
        elif kind == "page":
            now, ticket, seconds, size, score, *fresh = values
            page = self._page(row) if isinstance(row, list) else revive_page(row)
            step = crawl.receive(Fetched(ticket, page, seconds, size, *fresh), now)
            self._same(f"scored {page.url}", _score(step), score)
        else:
            now, row_values = values
            crawl.receive(_PAGELESS[kind](*row_values), now)
        if kind not in ("hold", "pace", "spend"):
            self.last = max(self.last, event[1])

    def _page(self, row: list[Any]) -> Page:
        """Parse a page as before, with more time and memory: it was not given up then."""
        from spoor.isolate.parsing import parse_page

        source = Source(*row)
        try:
            return source.page(self._joiner, partial(parse_page, again=True))
        except UnreadableError as error:
            raise self._broken(f"holds {source.url}, and {error}") from error

    def _same(self, what: str, got: object, expected: object) -> None:
        if got != expected:
            raise self._broken(
                f"cannot be gone through again: this Spoor {what} {got}, the one that wrote it "
                f"{expected}; go on with the version, model and topic that began it"
            )

    def _broken(self, what: str) -> InputError:
        return InputError(f"the journal in {self._folder.path / files.DATABASE} {what}")


_SAME_VERSION = "install the same version on all machines, and give the same command to go on"

_SOURCE = [field.name for field in fields(Source)]
_BODY = _SOURCE.index("body")


_PAGELESS: dict[str, Callable[..., LiveReply]] = {
    "redirected": Redirected,
    "failed": Failed,
    "unchanged": NotModified,
}


def _row(reply: Failed | Redirected | NotModified) -> list[Any]:
    return list(_VALUES[type(reply)](reply))


_VALUES = {
    kind: attrgetter(*(field.name for field in fields(kind)))
    for kind in (Failed, Redirected, NotModified)
}
"""The values of the fields of a reply without a page, in their order."""


def _score(step: Outcome | Deferred) -> float | None:
    judged = step.judgement if isinstance(step, Outcome) else None
    return None if judged is None else judged.score
