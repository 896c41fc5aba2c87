"""What a watch reports: documents that are new, that changed, that moved, and that are gone."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Collection, Container, Iterable, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from math import isfinite
from typing import Any

import numpy as np

from spoor.bounded import forget
from spoor.durations import HOUR
from spoor.foragers.fleet import Counts, Fleet
from spoor.live.conditional import Conditions
from spoor.live.sources import Sources
from spoor.types import Deferred, Failed, Fetched, LiveReply, NextStep, Outcome, Page, State
from spoor.watching.compact_tables import NumberMap
from spoor.watching.contents import Change
from spoor.watching.hosts import Hosts
from spoor.watching.urls import NEVER
from spoor.web.sentences import content, plain
from spoor.web.urls import host as host_of
from spoor.web.urls import registrable_domain

Line = dict[str, Any]
"""A document, as `news.jsonl` has it: id (the same whenever the line is told), kind, url, title,
date and found_at (RFC 3339; the date is None where it is not known), version, and the number of the
forager that was rewarded for it, None where none was. `story` is the id of the first line of which
this one is a near-copy, its own id where there is none.

The kind is `new`; `changed` (with added and removed sentences, the share of the words that came or
went, and title_before where the title is another); `moved` (the content of `from`, which was told);
`gone`; or `flood` (the first line of a registrable domain beyond `MOST_TOLD` in an hour, which
stands for the rest of the hour). With a topic each has the score and the reasons (why) of the
judge, and `topic` where there are several: the one that the document is most about."""

MOST_TOLD = 200
"""Lines of one registrable domain in an hour, which has as many hosts as it likes."""

MOST_PENDING = 200
"""Changes that are kept of pages that the fleet may yet submit; beyond, the oldest of the domain
that has most of them goes."""

MOST_TEXT = 20_000
"""Characters of the sentences that came, and of those that went, that a line has; and of all else
that is text in it."""

_MOST_TITLE = 1_500
"""Characters. Two titles, two URLs and the rest fit into `MOST_TEXT`."""

_TEXTS = ("id", "kind", "url", "title", "found_at")
_OPTIONAL_TEXTS = ("story", "from", "title_before", "topic")
_SENTENCES = ("added", "removed")

MOST_SENTENCES = 50_000
"""Sentences of documents that were told, by which near-copies of them are found."""

GONE_AFTER = 600.0
"""Seconds for which a document has to be absent before it is gone: a server that is being changed
says of everything that it is not there."""


class ChangeTracker:
    """Says after each reply to a fleet what is to be told."""

    def __init__(self, fleet: Fleet, changes: str = "found") -> None:
        self._fleet = fleet
        self._changes = changes
        self._titles: dict[int, str] = {}
        """Of pages that may be told, or were, where it is not the one that the contents have."""
        self._pending: dict[int, Line] = {}
        """What changed in pages that the fleet may yet submit."""
        self._reported = 0
        """Documents that the fleet found and that were reported."""
        self._versions = NumberMap()
        self._absent: dict[int, float] = {}
        """Documents that were told and are not there → since when."""
        self._gone: set[int] = set()
        """Those of which that was told."""
        self._hours: dict[str, tuple[float, int]] = {}
        """Registrable domain, and behind a blank that of strangers who led to its documents →
        (begin of its hour, lines in it)."""
        self._sentences: OrderedDict[int, str] = OrderedDict()
        """Sentence of a document that was told → its story."""
        self.sources = Sources()
        self._catch_up()
        fleet.follower = self

    def _catch_up(self) -> None:
        """All that the fleet knows now has been reported."""
        discoveries = self._fleet.agent.discoveries
        self._reported = len(discoveries)
        versions = self._fleet.known.version
        self._versions = NumberMap((entry.url, versions[entry.url]) for entry in discoveries)
        before = self._fleet.known.told_before
        self._versions.update((url, versions[url]) for url in before if versions[url])
        if self._changes == "all":
            self._versions.update((url, seen) for url, seen in enumerate(versions) if seen)

    def lines(self, step: Outcome | Deferred, now: float) -> list[Line]:
        """What a reply brought: documents judged relevant by now, and what became of others."""
        if isinstance(step, Deferred):
            return []
        url, lines = step.choice.link, list[Line]()
        self.sources.asked(self._fleet.known.hosts[url], now)
        if isinstance(step.reply, Failed):
            if step.reply.kind == "absent":
                lines += self._lost((url, *self._fleet.known.redirects.leading_to(url)), now)
            elif step.reply.kind == "unchanged":
                self._back(url)
                lines += self._moved_here(url, now)
        else:
            lines += self._fetched(url, step.reply, now)
        return self.found(now, lines)

    def found(self, now: float, others: Sequence[Line] = ()) -> list[Line]:
        """The documents that the fleet found since the last call, behind `others`: those that may
        be told. A judge that judges anew may want what came long before the last reply."""
        known, lines = self._fleet.known, list(others)
        discoveries = self._fleet.agent.discoveries
        newest = discoveries[self._reported :] if len(discoveries) > self._reported else []
        for entry in newest:
            # What appeared while it was watched is new when it is told first, also where it came
            # to be wanted by an edit.
            untold = entry.url not in self._versions
            new = entry.version == 1 or (untold and known.came(entry.url))
            self._versions[entry.url] = known.version[entry.url]
            kind, more = "new" if new else "changed", self._pending.pop(entry.url, {})
            lines.append(self._line(kind, entry.url, entry.date, now, by=entry.by, **more))
        self._reported = len(discoveries)
        told = [line for line in lines if self._may_tell(line, now)]
        for line in told:
            self._find_story(line)
            self.sources.told(self._host(line), line["kind"], now)
        return told

    def _fetched(self, url: int, reply: Fetched, now: float) -> list[Line]:
        known, lines = self._fleet.known, list[Line]()
        self._back(url)
        version, date, watching = known.version[url], known.date[url], known.watching
        before = self._versions.get(url)
        if before is None and url in known.told_before:
            before = version  # it came back: what it says now is where its changes begin
        change = None if watching is None else watching.change
        if (whole := known.part_of(url)) >= 0:
            return lines + self._of_part(url, whole, reply.page, change, now)
        title = reply.page.title
        if date > NEVER or before is not None:
            told_title = self._titles.get(url, "")
            self._titles[url] = title
            if watching is not None and watching.contents.title(url) == title:
                del self._titles[url]
        wanted = watching is None or url in watching.wanted
        more: Line = {}
        if change is not None:
            more = {"added": _some(change.added), "removed": _some(change.removed)}
            more["share"] = change.share
            if change.title_before is not None:
                more["title_before"] = change.title_before
        elif before is not None and version > before:
            # It was told when the judge judged anew: what it said then is not known, but its title.
            more = {"added": (), "removed": ()}
            if told_title and title and plain(told_title) != plain(title):
                more["title_before"] = told_title
        tells = self._changes == "all" or not (known.is_list(url) or known.is_view(url))
        tells &= wanted and self._changes != "none"
        if before is not None and version > before and tells:
            lines.append(self._line("changed", url, date, now, **more))
        elif change is not None and before is None:
            self._pending[url] = more
            while len(self._pending) > MOST_PENDING:
                self._forget_pending()
        if before is not None or (self._changes == "all" and wanted):
            self._versions[url] = version
        return lines + self._moved_here(url, now)

    def _of_part(
        self, url: int, whole: int, page: Page, change: Change | None, now: float
    ) -> list[Line]:
        """A further part of a document is there: what is new in it is a change of the document."""
        known = self._fleet.known
        first, self._versions[url] = url not in self._versions, known.version[url]
        if change is None and first and known.came(url):
            change = Change(tuple(content(page).values()), (), 1.0)
        if change is None or self._changes == "none":
            return []
        self._versions[whole] = known.version[whole]
        more: Line = {"added": _some(change.added), "removed": _some(change.removed)}
        return [self._line("changed", whole, known.date[url], now, **more, share=change.share)]

    def _moved_here(self, url: int, now: float) -> list[Line]:
        """A page is there: whether it is that of a document which has left its URL; whether such
        lead here for good and are no more, as a deleted page leads to the front page."""
        known, watching = self._fleet.known, self._fleet.known.watching
        old = -1 if watching is None else watching.copy_of.get(url, -1)
        left = old >= 0 and (known.redirects.end(old) == url or old in self._absent)
        if left and url not in self._versions and self._matters(old):
            return self._moved(old, url, now)
        if url in self._versions:
            return []
        leading = known.redirects.leading_to(url, lasting=True)
        return self._lost([one for one in leading if one != old])

    def _moved(self, old: int, url: int, now: float) -> list[Line]:
        known = self._fleet.known
        self._versions[url] = known.version[url]
        self._absent.pop(old, None)
        self._gone.add(old)
        if self._changes == "none":
            return []
        more: Line = {"from": known.urls[old]}
        return [self._line("moved", url, known.date[old], now, **more)]

    def _lost(self, urls: Collection[int], now: float | None = None) -> list[Line]:
        """Documents are not there: each is looked at once more before it is gone. `now`: None for
        when each was asked for last. O(copies) where one of them was told and is not gone yet."""
        known, lines = self._fleet.known, list[Line]()
        lost = [url for url in urls if url not in self._gone and self._matters(url)]
        copies = self._copies_of(lost) if lost else {}
        for url in lost:
            at = known.fetched[url] if now is None else now
            since = self._absent.setdefault(url, at)
            if (new := copies.get(url)) is not None and new not in self._versions:
                lines += self._moved(url, new, at)
            elif at - since < GONE_AFTER:
                known.again[url] = since + GONE_AFTER
            else:
                self._gone.add(url)
                if self._changes != "none":
                    lines.append(self._line("gone", url, known.date[url], at))
        return lines

    def _copies_of(self, urls: Collection[int]) -> dict[int, int]:
        """Document → the one that was taken for its copy last."""
        watching, its = self._fleet.known.watching, set(urls)
        copies = {} if watching is None else watching.copy_of
        return {old: new for new, old in copies.items() if old in its}

    def _matters(self, url: int) -> bool:
        """Whether a document was told, or is one on topic that stood there at the first look."""
        known, watching = self._fleet.known, self._fleet.known.watching
        if known.part_of(url) >= 0 or known.view_of(url) >= 0:
            return False
        if url in self._versions:
            return True
        if watching is None or watching.judge is None:
            return False
        return url in watching.wanted and watching.copy_of.get(url, -1) not in watching.wanted

    def _back(self, url: int) -> None:
        """A document is there."""
        self._absent.pop(url, None)
        self._gone.discard(url)

    def _forget_pending(self) -> None:
        """The oldest change of the registrable domain that has most."""
        hosts, first = self._fleet.known.hosts, dict[str, int]()
        domains = {url: registrable_domain(hosts[url]) for url in self._pending}
        for url, domain in domains.items():
            first.setdefault(domain, url)
        ((most, _),) = Counter(domains.values()).most_common(1)
        del self._pending[first[most]]

    def _host(self, line: Line) -> str:
        return self._fleet.known.hosts[self._fleet.known.number(line["url"])]

    def _find_story(self, line: Line) -> None:
        """The story of a document: that with which it shares half of its sentences."""
        watching = self._fleet.known.watching
        keys = (
            []
            if watching is None
            else watching.contents.keys(self._fleet.known.number(line["url"]))
        )
        votes = Counter(self._sentences[key] for key in keys if key in self._sentences)
        story, shared = max(votes.items(), key=lambda vote: vote[1], default=("", 0))
        line["story"] = story if shared >= 2 and 2 * shared >= len(keys) else line["id"]
        for key in keys:
            self._sentences.setdefault(key, line["story"])
        while len(self._sentences) > MOST_SENTENCES:
            self._sentences.popitem(last=False)

    def _may_tell(self, line: Line, now: float) -> bool:
        """Count a line; whether it is told. The first of too many stands for the rest. What only
        pages of another domain led to is counted apart, for that one."""
        known = self._fleet.known
        number = known.number(line["url"])
        domain = registrable_domain(known.hosts[number])
        stranger = known.stranger(known.parent[number], known.hosts[number])
        counted = f"{domain} {stranger}".rstrip()
        begin, told = self._hours.get(counted, (now, 0))
        if now - begin >= HOUR:
            begin, told = now, 0
        self._hours[counted] = (begin, told + 1)
        if told == MOST_TOLD:
            line["kind"] = "flood"
            line["title"] = f"{domain} told more than {MOST_TOLD} documents in an hour"
            if stranger:
                line["title"] += f" to which only {stranger} linked"
            line["id"] = _id(line)
        return told <= MOST_TOLD

    def told(self) -> Container[int]:
        """What is not to be told as new again, as a fleet asks."""
        return self._versions

    def leave(self, left: Collection[int]) -> None:
        """Of these pages of the fleet nothing is kept."""
        for url in left:
            self._versions.pop(url)
        forget(left, self._titles, self._pending, self._absent)
        self._gone.difference_update(left)
        self.sources.leave_hosts(self._fleet.known.hosts_left)
        self._reported = len(self._fleet.agent.discoveries)

    def save(self) -> State:
        """What the fleet does not know."""
        return {
            "titles": {str(url): title for url, title in self._titles.items()},
            "pending": {str(url): dict(more) for url, more in self._pending.items()},
            "moved": self._versions.among(self._copies()),
            "absent": {str(url): since for url, since in self._absent.items()},
            "gone": sorted(self._gone),
            "hours": {host: list(hour) for host, hour in self._hours.items()},
            "sentences": np.array(list(self._sentences), dtype=np.uint64),
            "stories": list(self._sentences.values()),
            "sources": self.sources.save(),
        }

    def _copies(self) -> set[int]:
        watching = self._fleet.known.watching
        return set() if watching is None else set(watching.copy_of)

    def load(self, state: State) -> None:
        """Go on with a fleet that has been loaded."""
        self._catch_up()
        versions = self._fleet.known.version
        self._versions.update((url, versions[url]) for url in state["moved"])
        self._titles = {int(url): title for url, title in state["titles"].items()}
        self._pending = {int(url): dict(more) for url, more in state["pending"].items()}
        self._absent = {int(url): since for url, since in state["absent"].items()}
        self._gone = set(state["gone"])
        self._hours = {name: (begin, told) for name, (begin, told) in state["hours"].items()}
        pairs = zip(state["sentences"].tolist(), state["stories"], strict=True)
        self._sentences = OrderedDict(pairs)
        self.sources.load(state["sources"])

    def _line(
        self, kind: str, number: int, date: float, now: float, by: int | None = None, **more: object
    ) -> Line:
        known = self._fleet.known
        line: Line = {
            "id": "",
            "kind": kind,
            "url": known.urls[number],
            "title": self._title(number),
            "date": _rfc3339(date) if date > NEVER else None,
            "found_at": _rfc3339(known.dated(now)),
            "version": known.version[number],
            "forager": by,
            **more,
        }
        watching = known.watching
        if watching is not None and (verdict := watching.verdicts.get(number)) is not None:
            line["score"], line["why"], topic = verdict
            if topic:
                line["topic"] = topic
        line["id"] = _id(line)
        return bounded(line)

    def _title(self, number: int) -> str:
        title, watching = self._titles.get(number), self._fleet.known.watching
        if title is None and watching is not None:
            return watching.contents.title(number)
        return title or ""


def _id(line: Line) -> str:
    told = f"{line['kind']} {line['version']} {line['found_at']} {line['url']}"
    return blake2b(told.encode("utf-8", "replace"), digest_size=10).hexdigest()


class TrackedFleet:
    """A fleet with its tracker: the engine of which a watch keeps the journal, so that the same
    lines come again as its calls are made again."""

    def __init__(self, fleet: Fleet, changes: str, conditions: Conditions) -> None:
        self.fleet = fleet
        self.tracker = ChangeTracker(fleet, changes)
        self._conditions = conditions
        self.lines: list[Line] = []
        """Not yet written."""
        self.left: list[str] = []
        """URLs that the fleet left, of which the folder still keeps something."""
        fleet.on_left = self.left.extend
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

    def foreign(self, ticket: int) -> bool:
        """As of a `KnowsWhoLinks`."""
        return self.fleet.foreign(ticket)

    def receive(self, reply: LiveReply, now: float) -> Outcome | Deferred:
        step = self.fleet.receive(reply, now)
        self.lines += self.tracker.lines(step, now)
        return step

    def revise_documents(self, now: float) -> bool:
        """As of a `RevisesDocuments`."""
        asked = self.fleet.revise(now)
        if asked:
            self.lines += self.tracker.found(now)
        return asked

    def relabel_document(self, url: str, relevant: bool, now: float) -> None:
        """As of a `RevisesDocuments`."""
        self.fleet.relabel(url, relevant, now)
        self.lines += self.tracker.found(now)

    def date_from(self, ahead: float) -> None:
        """As of a `DatesDocuments`."""
        self.fleet.known.ahead = ahead

    def save(self) -> State:
        return {
            "fleet": self.fleet.save(),
            "tracker": self.tracker.save(),
            "news_end": self.news_end,
            "conditions": self._conditions.save(),
        }

    def load(self, state: State) -> None:
        self.fleet.load(state["fleet"])
        self.tracker.load(state["tracker"])
        self._conditions.load(state["conditions"])
        self.news_end = state["news_end"]


def bounded(line: Line) -> Line:
    """A line whose texts are cut to what `told_line` takes."""
    kept: Line = {**line}
    for name in ("title", "title_before", "topic"):
        if name in kept:
            kept[name] = kept[name][:_MOST_TITLE]
    if "why" in kept:
        room = MOST_TEXT - sum(len(kept.get(name, "")) for name in (*_TEXTS, *_OPTIONAL_TEXTS))
        room -= len(line["id"])  # of its story, which is told later
        kept["why"] = [
            (reason, share) for reason, share in line["why"] if (room := room - len(reason)) >= 0
        ]
    return kept


def json_line(line: Line) -> bytes:
    """A line of `news.jsonl`, its line break included."""
    return json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def told_line(raw: bytes) -> Line | None:
    """What a line of a `news.jsonl` says, which may come from a stranger; None where it is none
    that a watch writes."""
    try:
        line = bounded({"date": None, "version": 1, **json.loads(raw)})
        texts = [line[name] for name in _TEXTS]
        texts += [line[name] for name in _OPTIONAL_TEXTS if name in line]
        if "why" in line:
            texts += [reason for reason, _ in line["why"]]
            numbers = [line["score"], *(share for _, share in line["why"])]
        else:
            numbers = [line["score"]] if "score" in line else []
        sentences = {name: list(line[name]) for name in _SENTENCES if name in line}
        moments = [line["found_at"]] if line["date"] is None else [line["found_at"], line["date"]]
        if not (
            sum(map(len, texts)) <= MOST_TEXT
            and all(isinstance(one, int | float) and isfinite(one) for one in numbers)
            and isinstance(line["version"], int)
            # Of years that every zone has.
            and all(1970 <= datetime.fromisoformat(moment).year < 9000 for moment in moments)
            and line["url"].startswith(("http://", "https://"))
            and host_of(line["url"])
        ):
            return None
        "".join(texts + [one for found in sentences.values() for one in found]).encode()
        return {**line, **{name: _some(found) for name, found in sentences.items()}}
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError):
        return None


def _some(sentences: Iterable[str]) -> tuple[str, ...]:
    """The first of them, together at most `MOST_TEXT` characters."""
    found, room = list[str](), MOST_TEXT
    for sentence in sentences:
        if not room:
            break
        found.append(sentence[:room])
        room -= len(found[-1])
    return tuple(found)


def _rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
