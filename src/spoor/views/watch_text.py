"""A watch in words, for a terminal: all of it, and what it made of one document and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spoor.display import few, to_the_minute
from spoor.errors import InputError
from spoor.live.sources import Source
from spoor.runs.reader import Run
from spoor.runs.rows import TOLD, PageRow, rfc3339
from spoor.runs.snapshot import last_checkpoint
from spoor.runs.watch_state import NextLook, WatchedUrl, WatchState
from spoor.views.watch_news import lines_about, newest_lines
from spoor.views.watch_page import sources_of

NEWEST = 10
"""Lines, sources and next looks that are shown of each."""


@dataclass(frozen=True, slots=True)
class WatchedDocument:
    """What a watch made of one URL."""

    url: str
    told: list[dict[str, Any]]
    """The lines about it, the newest last."""
    story: str
    """URL with which the story of the last of these began, where that is another."""
    row: PageRow | None
    """What it downloaded there last."""
    known: WatchedUrl | None
    """What it knew at its last checkpoint; None where it is not known any more."""

    @property
    def untold(self) -> str:
        """Why it was not told; empty where it was."""
        if self.told or (self.row is not None and TOLD in self.row.flags):
            return ""
        if self.known is None:
            return "it is not visited any more"
        return self.known.untold or "it is told with the next lines, unless its site told too many"


def of_document(run: Run, url: str) -> WatchedDocument:
    """Of a canonical URL, or of another form of it that the watch knows. Raises InputError where it
    knows nothing of either."""
    row, last = run.page(url), last_checkpoint(run.path)
    state = None if last is None else WatchState(last)
    if row is None and state is not None:
        url = state.named(url)
    told, story = lines_about(run.path, url)
    relevant = row is not None and row.relevant
    known = None if state is None else state.find(url, relevant=relevant)
    if row is None and known is None and not told:
        why = "no page that it looked at links to it"
        if state is not None and state.refuses(url):
            why = "links to it are not followed (--scope, --include, --exclude, --actions)"
        raise InputError(f"{run.path} does not know {url}: {why}")
    return WatchedDocument(url, told, story, row, known)


def as_json(one: WatchedDocument) -> dict[str, Any]:
    """The output of `spoor explain --json` for a document of a watch."""
    row, known = one.row, one.known
    names = ("id", "kind", "found_at", "title", "date")
    return {
        "url": one.url,
        "told": [{name: line[name] for name in names} for line in one.told],
        "untold": one.untold,
        "story": one.story,
        "relevant": None if row is None else row.relevant,
        "score": None if row is None else row.score,
        "why": [] if row is None else list(row.why),
        "path": [] if row is None else list(row.path),
        "found_on": "" if known is None else known.found_on,
        "appeared": _moment(None if known is None else known.appeared),
        "date": _moment(None if known is None else known.date),
        "looked": _moment(None if known is None else known.looked),
        "contents": 0 if known is None else known.contents,
        "next": None if known is None else _next_json(known.next),
    }


def in_lines(one: WatchedDocument) -> Iterator[str]:
    """The same as lines for a person; text from the web is not escaped yet."""
    row, known = one.row, one.known
    yield one.url
    if len(one.told) > NEWEST:
        yield f"  told {len(one.told):,} times, the last {NEWEST} of them"
    for line in one.told[-NEWEST:]:
        came, went = (len(line.get(name, ())) for name in ("added", "removed"))
        what = f" ({came:,} sentences came, {went:,} went)" if came or went else ""
        yield f"  told as {line['kind']} at {_when(line['found_at'])}: {line['title'] or '–'}{what}"
    if one.story:
        yield f"  one story with {one.story}"
    if one.untold:
        yield f"  not told: {one.untold}"
    if row is not None:
        yield f"  {'relevant' if row.relevant else 'not relevant'}, score {row.score:.2f}"
        yield from (f"    {reason}  {share:+.3g}" for reason, share in row.why)
    if known is not None:
        where = f"on {known.found_on}" if known.found_on else "as a start"
        if known.appeared is None:
            yield f"  seen first {where}, where it stood at the first look"
        else:
            yield f"  seen first {where}, where it appeared at {to_the_minute(known.appeared)}"
        if known.date is not None:
            yield f"  dated {to_the_minute(known.date)}"
        if known.looked is not None:
            said = "one content" if known.contents < 2 else f"{known.contents:,} contents so far"
            yield f"  looked at last at {to_the_minute(known.looked)}; {said}"
        yield f"  next look {_next(known.next)}"


def summary(run: Run) -> dict[str, Any]:
    """A watch as `spoor show --json` tells it. Raises InputError."""
    last, settings = last_checkpoint(run.path), run.settings
    sources, silences, looked = ([], [], 0.0) if last is None else sources_of(last)
    lines = newest_lines(run.path)
    upcoming = [] if last is None else WatchState(last).upcoming(NEWEST)
    names = ("id", "kind", "found_at", "url", "title")
    return {
        "watch": str(run.path),
        "seeds": list(settings.seeds),
        "wanted": settings.topic or settings.topic_file or ", ".join(settings.want),
        "running": run.is_running,
        "told": max(sum(row.told for row in sources), len(lines)),
        "requests": sum(row.requests for row in sources),
        "looked": _moment(looked or None),
        "newest": [{name: line[name] for name in names} for line in lines[: -NEWEST - 1 : -1]],
        "sources": [_source_json(row) for row in sources],
        "silent": silences,
        "next": [_next_json(one) for one in upcoming],
    }


def summary_in_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The same for a person; text from the web is not escaped yet."""
    state = "running" if told["running"] else "not running"
    wanted = told["wanted"] or "everything that is new"
    yield f"a watch of {few(told['seeds'])} for {wanted}, {state}"
    looked = "never" if told["looked"] is None else f"at {_when(told['looked'])}"
    yield f"  told {told['told']:,}, by {told['requests']:,} requests; looked last {looked}"
    if told["newest"]:
        yield "told last"
    for line in told["newest"]:
        when, title = _when(line["found_at"]), line["title"] or "–"
        yield f"  {when}  {line['kind']:<7}  {title}  {line['url']}"
    if told["sources"]:
        yield "sources"
    for row in told["sources"][:NEWEST]:
        last = "" if row["last"] is None else f", the last new one at {_when(row['last'])}"
        yield f"  {row['host']}  told {row['told']:,}{last}; {row['requests']:,} requests"
    if len(told["sources"]) > NEWEST:
        yield f"  and {len(told['sources']) - NEWEST:,} more"
    yield from (f"  {line}" for line in told["silent"])
    if told["next"]:
        yield "the next pass looks at" if told["next"][0]["at"] is None else "looks next at"
    for one in told["next"]:
        yield f"  {'' if one['at'] is None else _when(one['at']) + '  '}{one['url']}"
        yield f"    {one['why']}"


def _source_json(row: Source) -> dict[str, Any]:
    return {**row._asdict(), "last": _moment(row.last)}


def _next_json(look: NextLook) -> dict[str, Any]:
    return {"url": look.url, "at": _moment(look.at), "place": look.place, "why": look.why}


def _next(look: NextLook) -> str:
    if look.place is None:
        when = f"not by {to_the_minute(look.until)}, or not in the next pass"
    elif look.at is None:
        when = f"in the next pass, after {look.place:,} others"
    else:
        when = f"at about {to_the_minute(look.at)}, after {look.place:,} others, if nothing is new"
    return f"{when} ({look.why})"


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else rfc3339(seconds)


def _when(moment: str) -> str:
    """RFC 3339, to the minute."""
    return moment[:16].replace("T", " ")
