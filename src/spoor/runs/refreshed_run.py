"""What a crawl takes from an earlier run that it visits again (`spoor crawl --refresh RUN`).

The new run begins as a copy: rows, archive, validators. A page that changed takes the place of its
row, one that is gone loses it, and of one that did not change a revisit record is archived, which
names the record that stands in the same archive. So the new run is whole by itself, and the earlier
one stays what it was.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from spoor.display import shown
from spoor.errors import InputError
from spoor.files import sync_folder
from spoor.formats.warc_reader import original_at
from spoor.formats.warc_records import DamagedError, checked
from spoor.formats.warc_writer import revisit_headers
from spoor.hashing import hash64
from spoor.judges.no_results import SHOWN_AT, SHOWS_AGAIN
from spoor.learn.state import read, write
from spoor.link_filter.link_filter import revisits_in
from spoor.link_filter.revisits import Revisits
from spoor.link_filter.sampled_refresh import TURNS
from spoor.protocols import FallsBack, Mergeable
from spoor.runs import files, requisites, snapshot
from spoor.runs.assemble import located, make_crawl_to_look_at
from spoor.runs.database import reading
from spoor.runs.originals import Originals
from spoor.runs.recovery import read_mark, refuse_loss, telling
from spoor.runs.rows import FIRST_TICKET, PageRow
from spoor.runs.schema import read_settings
from spoor.runs.shards import each_once
from spoor.setting import CRAWL, LIMITS, POLITENESS
from spoor.settings import Settings, described
from spoor.types import State
from spoor.web.exchange import Exchange
from spoor.web.freshness import heuristically_fresh_for

_LEARNED_FOR = ("policy", "params", "topic", "topic_file", "want", "vectors", "model")
"""Settings that have to be the same for a policy to go on with what another one learned."""

MOST_SHARED = 8
"""Runs, each of which visited the one before again, whose policies are learned from."""

_MAY_COME = ("absent", "http", "timeout", "connection")
"""Failures of URLs that are news where a page links to them that is another now: who links to what
is not there yet does not keep it out for ever."""

_PIECE = 1 << 20
_OWN = ("seeds", "refresh", "may_miss", "files", "folder", "command", "verify_tls")
"""Settings that are not taken from the earlier run, or in another way."""
_KEEPS = ("requisites", "save_files", "render")
"""What is taken beside groups of settings: it decides what the archive has of a page."""


def as_begun(settings: Settings) -> Settings:
    """Settings with what decided the earlier run, where they do not say otherwise themselves. That
    run may be a stranger's: what of it names a program, another machine or who asks, its user has
    to say again. Raises InputError where that is missing, and for what is no run of `spoor crawl`.
    """
    earlier = Path(settings.refresh)
    if not files.is_run(earlier):
        raise InputError(f"--refresh {settings.refresh} is no folder of a run")
    begun = located(read_settings(earlier))
    if begun.command != "crawl":
        raise InputError(f"--refresh {settings.refresh} is a {begun.command}; give a crawl")
    known = described(Settings)
    taken: dict[str, Any] = {}
    wants = ("topic", "topic_file", "want")
    says = any(getattr(settings, name) for name in wants)
    reaching: list[str] = []
    for name, one in known.items():
        inherits = one.group in (CRAWL, POLITENESS, LIMITS) or name in _KEEPS
        inherits = inherits and name not in _OWN and not one.secret
        said = name in settings.said or getattr(settings, name) != one.default
        if inherits and not (said or (says and name in wants)):
            if one.reaches or (one.path and one.group is POLITENESS):
                reaching += one.arguments(getattr(begun, name))
            else:
                taken[name] = getattr(begun, name)
    if reaching:
        raise InputError(
            f"--refresh {settings.refresh}: that run was made with "
            f"{shown(shlex.join(reaching))[:300]}, which reaches beyond its folder; say so again, "
            f"or take it out of its {files.SETTINGS}"
        )
    return replace(settings, **taken, refresh=str(earlier.resolve()), seeds=begun.seeds)


def copy_into(path: Path, db: sqlite3.Connection, settings: Settings, now: float) -> dict[str, int]:
    """Copy an earlier run into a folder whose tables were just made, within a transaction; returns
    the bytes of each file of the archive. Raises InputError where the earlier one is no run, or
    cannot be read, OSError where the copy cannot be written. O(pages), a copy of its archive, which
    costs nothing where the file system can share what is in two files, and before it a look at each
    document there: what is damaged would be carried on from run to run."""
    earlier = Path(settings.refresh)
    with reading(earlier) as old:
        newest = dict[str, tuple[PageRow, sqlite3.Row]]()
        for raw in each_once(earlier, old.execute("SELECT * FROM pages ORDER BY seq")):
            row = PageRow.of(raw)
            if "sitemap" not in row.flags:  # lists of pages are no pages
                newest[row.url] = row, raw
        rows = [row for row, _ in newest.values()]
        fresh = _freshness(earlier, rows)
        asked = [
            url
            for url, kind in each_once(earlier, old.execute("SELECT url, kind FROM failures"))
            if kind not in _MAY_COME
        ]
    asked += [row.path[-1] for row in rows if row.path]
    open_urls = snapshot.open_urls(earlier) or frozenset[str]()
    last = None if files.shards(earlier) else snapshot.last_checkpoint(earlier)
    revisits = Revisits(
        [row.url for row in rows],
        [row.time for row in rows],
        [fresh.get(row.url, 0.0) for row in rows],
        {hash64(url) for url in (*asked, *open_urls)},
        began=now,
        hubs=_hubs(rows),
        refresh=_refreshes_before(earlier, last),
    )
    judge, policies = _learned(earlier, last, settings)
    places = (None if row.place is None else (*row.place, row.url) for row in rows)
    originals = Originals.of(
        zip((row.url for row in rows), checked(earlier, places), strict=True), len(rows)
    )
    known = {**revisits.row(), "originals": originals.save()}
    write(path / files.EARLIER, {**known, "judge": judge, "policies": policies})
    ends, names = _copy_archives(earlier, path)
    if settings.requisites != "none" and not files.shards(earlier):
        with reading(earlier) as old:
            requisites.copy(old, db, names)
    columns = [one.name for one in fields(PageRow)][:19]
    marks = ", ".join("?" * len(columns))
    values = (_values(*one, seq, names, columns) for seq, one in enumerate(newest.values(), 1))
    db.executemany(f"INSERT INTO pages VALUES ({marks})", values)
    with telling(earlier):
        _name_results(db)
    for part in files.shards(earlier) or [earlier]:
        with reading(part) as old:
            for table, width in (("validators", 3), ("freshness", 2)):
                found = [*each_once(part, old.execute(f"SELECT * FROM {table}"))]
                marks = ", ".join("?" * width)
                db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", found)
    return ends


def left_over(path: Path, earlier: Path) -> bool:
    """Whether a copy of an earlier run was begun in a folder and not ended: what lies there is a
    copy. An archive that is longer holds more than a copy."""
    if not (path / files.EARLIER).exists() or files.is_run(path):
        return False
    copied = files.archives(path)
    whole = [one for of in files.shards(earlier) or [earlier] for one in files.archives(of)]
    sizes = zip(copied, whole, strict=False)
    return len(copied) <= len(whole) and all(
        one.stat().st_size <= other.stat().st_size for one, other in sizes
    )


def remove_left_over(path: Path) -> None:
    """Delete a copy that was not ended. Raises OSError."""
    for file in files.archives(path):
        file.unlink()
    (path / files.EARLIER).unlink()


def originals_of(path: Path) -> Originals:
    """What the copy has of them."""
    with telling(path):
        return Originals.load(read(path / files.EARLIER)["originals"])


def revisits_of(path: Path, settings: Settings) -> tuple[Revisits, State | None, list[State]]:
    """The pages of the earlier run, the state of its judge, and what its policy had learned, as the
    copy has them. Raises InputError where they cannot be read."""
    files.refuse_links(path)
    row = read(path / files.EARLIER)
    more = {
        "most_new": settings.pages,
        "hints": settings.hints,
        "listed": settings.sitemaps,
        "may_miss": settings.may_miss,
    }
    with telling(path):
        return Revisits.of(row, **more), row["judge"], row.get("policies", [])


def revisit_of(
    path: Path,
    db: sqlite3.Connection,
    revisits: Revisits,
    exchange: Exchange,
    originals: Originals | None = None,
) -> dict[str, str] | None:
    """Headers of a revisit record, where a page of the earlier run is what it was: by the word of
    its server, or since the same bytes came. None where it is not; empty where the record that one
    would stand for is not there (`--no-warc`). Raises DamagedError where that record is not as it
    was written, so that nobody can tell."""
    number = revisits.numbers.get(exchange.url)
    if number is None or exchange.status not in (200, 304):
        return None
    if exchange.status == 304 and originals is not None and (said := originals.said(number)):
        return revisit_headers(exchange.url, *said, None)
    query = "SELECT warc_file, warc_offset, warc_length FROM pages WHERE seq = ? AND url = ?"
    row = db.execute(query, (number + 1, exchange.url)).fetchone()
    place = None if row is None or row[0] is None else (row[0], row[1], row[2])
    found = None if place is None else original_at(files.archive_at(path, place[0]), *place[1:])
    if exchange.status == 304:
        return {} if found is None else revisit_headers(found.uri, found.date, found.record, None)
    if place is None or exchange.truncated:
        return None
    if found is None:
        raise DamagedError(f"{place[0]} is damaged at byte {place[1]}")
    if found.payload() != exchange.raw:
        return None
    return revisit_headers(found.uri, found.date, found.record, exchange.raw)


def told(db: sqlite3.Connection, revisits: Revisits, unchanged: int) -> dict[str, Any]:
    """What became of the pages of the earlier run, of which `unchanged` were asked for in vain, by
    the rows that are committed; and which were left out, and why."""
    pages = len(revisits)
    (left,) = db.execute("SELECT count(*) FROM pages WHERE ticket >= ?", (FIRST_TICKET,)).fetchone()
    query = "SELECT flags, time FROM pages WHERE ticket < ?"
    rows = [(str(flags).split(), time) for flags, time in db.execute(query, (FIRST_TICKET,))]
    times = [time for flags, time in rows if "sitemap" not in flags]  # of new and changed pages
    changed = sum("changed" in flags for flags, _ in rows)
    return {
        "pages": pages,
        "unchanged": unchanged,
        "not_asked": max(0, left - unchanged),
        "changed": changed,
        "gone": max(0, pages - left - changed),
        "new": len(times) - changed,
        "since": min(times, default=None),
        "left_out": dict(revisits.called_unchanged),
        "sampled": revisits.samples(),
    }


def stand_ins(db: sqlite3.Connection) -> dict[int, tuple[float, int, str]]:
    """Ticket → score, relevant and reasons, as of a revision, of pages that were no results since
    they showed one again that is gone now; of each such one the first. O(pages)."""
    found: dict[int, tuple[float, int, str]] = {}
    gone = (
        "SELECT NOT EXISTS (SELECT 1 FROM pages WHERE url = :url) AND EXISTS"
        " (SELECT 1 FROM failures WHERE url = :url AND kind = 'absent')"
    )
    shown = set[str]()
    for ticket, _, why in _shown_again(db):
        url, score = _where(why)
        if url not in shown and db.execute(gone, {"url": url}).fetchone()[0]:
            shown.add(url)
            rest = [one for one in why if one[0] not in (SHOWS_AGAIN, f"{SHOWN_AT}{url}")]
            why = [[f"{url}, which it showed again, is gone", 0.0], *rest]
            found[ticket] = score, 1, json.dumps(why)
    return found


def _name_results(db: sqlite3.Connection) -> None:
    """Where a page shows another one again that itself shows a third one, it shows that one."""
    rows = [*_shown_again(db)]
    shown = {url: _where(why)[0] for _, url, why in rows}
    for ticket, url, why in rows:
        last, seen = shown[url], {url}
        while last in shown and last not in seen:
            seen.add(last)
            last = shown[last]
        if last != shown[url] and last not in seen:
            named = [
                [f"{SHOWN_AT}{last}", share] if one.startswith(SHOWN_AT) else [one, share]
                for one, share in why
            ]
            db.execute("UPDATE pages SET why = ? WHERE ticket = ?", (json.dumps(named), ticket))


def _shown_again(db: sqlite3.Connection) -> Iterator[tuple[int, str, list[Any]]]:
    """Ticket, URL and reasons of pages that are no results since they show one again."""
    query = f"SELECT ticket, url, why FROM pages WHERE NOT relevant AND instr(why, '{SHOWN_AT}')"
    for ticket, url, text in db.execute(f"{query} ORDER BY seq"):
        why = json.loads(text)
        if any(reason == SHOWS_AGAIN for reason, _ in why) and _where(why)[0]:
            yield ticket, url, why


def _where(why: Iterable[tuple[str, float]]) -> tuple[str, float]:
    """The result that these reasons name, and the score but for that; empty where they do not."""
    found = (
        (one.removeprefix(SHOWN_AT), float(share)) for one, share in why if one.startswith(SHOWN_AT)
    )
    return next(found, ("", 0.0))


def came(summary: Mapping[str, Any]) -> bool:
    """Whether a crawl of this summary has a page; one of the earlier run that is what it was
    counts."""
    return bool(summary["fetched"] or (summary.get("refreshed") or {}).get("unchanged"))


def in_words(told: dict[str, Any] | None) -> list[str]:
    """The same for a person; nothing where there is no earlier run."""
    if not told:
        return []
    lines = [
        f"of {told['pages']:,} pages {told['unchanged']:,} are unchanged, {told['changed']:,} "
        f"changed, {told['gone']:,} gone; {told['not_asked']:,} were not asked for or did not "
        f"come; {told['new']:,} are new"
    ]
    lines += [
        f"{count:,} left out by the word of {who}; --no-hints asks for them, too"
        for who, count in told["left_out"].items()
    ]
    if (sampled := told["sampled"]) and sampled["left_out"]:
        lines.append(
            f"{sampled['left_out']:,} were left out since a sample of each host says that at most "
            f"{sampled['at_most']:.1%} of them changed (95 %); the turn of each comes once in "
            f"{TURNS} refreshes; --may-miss 0 asks for all"
        )
    return lines


def revisited(path: Path, url: str) -> str:
    """What a refresh made of a page of the earlier run, in words, by its last checkpoint; empty
    where there is nothing to say."""
    settings = read_settings(path)
    last = snapshot.last_checkpoint(path) if settings.refresh else None
    if last is None:
        return ""
    revisits, _, _ = revisits_of(path, settings)
    with telling(path):
        revisits.load(revisits_in(last.state["link_filter"]))
    why = revisits.why_left_out(url)
    return f"not asked for again: {why}" if why else ""


def _hubs(rows: Sequence[PageRow]) -> list[int]:
    """Pages that led to two others or more, those that led to most first."""
    numbers = {row.url: number for number, row in enumerate(rows)}
    numbers |= {row.path[-1]: number for number, row in enumerate(rows) if row.path}
    led = Counter(row.path[-2] for row in rows if len(row.path) > 1)
    found = {numbers[url]: count for url, count in led.items() if count > 1 and url in numbers}
    return sorted(found, key=lambda number: (-found[number], number))


def _refreshes_before(earlier: Path, last: snapshot.Checkpoint | None) -> int:
    """How many refreshes the runs before are, each of the one before it. One that ended before it
    had asked for its first pages is none: their turn comes again."""
    if last is None or not located(read_settings(earlier)).refresh:
        return 0
    with telling(earlier):
        before: int = read(earlier / files.EARLIER).get("refresh", 0)
        return before + bool(revisits_in(last.state["link_filter"])["released"])


def _freshness(earlier: Path, rows: Iterable[PageRow]) -> dict[str, float]:
    """URL → until when it needs no new visit, by its own word."""
    until: dict[str, float] = {}
    modified: dict[str, str] = {}
    for part in files.shards(earlier) or [earlier]:
        with reading(part) as db:
            found = db.execute("SELECT url, until FROM freshness")
            until.update(map(tuple, each_once(part, found)))
            found = db.execute("SELECT url, last_modified FROM validators")
            modified.update(map(tuple, each_once(part, found)))
    for row in rows:
        if row.url not in until and (date := modified.get(row.url)):
            until[row.url] = row.time + heuristically_fresh_for(date, row.time)
    return until


def _learned(
    earlier: Path, last: snapshot.Checkpoint | None, settings: Settings
) -> tuple[State | None, list[State]]:
    """What the judge of a run knew at its last checkpoint, and what its policy had learned itself
    (`spoor.protocols.Mergeable`), after what the runs had that it visited again. Of a run in shards
    nothing; of a policy nothing where another one goes on, or for another wish."""
    if last is None:
        return None, []
    begun = located(read_settings(earlier))
    if any(getattr(begun, name) != getattr(settings, name) for name in _LEARNED_FOR):
        return last.state["judge"], []
    with telling(earlier):
        crawl = make_crawl_to_look_at(begun)
        if not isinstance(crawl.policy, Mergeable):
            return last.state["judge"], []
        crawl.policy.load(last.state["policy"])
        before: list[State] = []
        if begun.refresh:
            before = read(earlier / files.EARLIER).get("policies", [])
        if isinstance(crawl.policy, FallsBack) and crawl.policy.fault():
            return last.state["judge"], before
        return last.state["judge"], [*before, crawl.policy.share()][-MOST_SHARED:]


def _copy_archives(earlier: Path, path: Path) -> tuple[dict[str, int], dict[str, str]]:
    """Bytes of each copy, and its name by that of what it is a copy of. Only what was committed is
    copied: a file of a stranger may have a name of an archive and terabytes of nothing."""
    ends: dict[str, int] = {}
    names: dict[str, str] = {}
    for folder in files.shards(earlier) or [earlier]:
        with reading(folder) as old:
            committed = refuse_loss(folder, read_mark(folder), old)
        for archive in files.archives(folder):
            if archive.name not in committed:
                continue
            name = files.archive(len(ends))
            with (
                open(files.open_own(archive, os.O_RDONLY), "rb") as whole,
                open(path / name, "xb") as copy,
            ):
                left = ends[name] = committed[archive.name]
                while left and (piece := whole.read(min(left, _PIECE))):
                    left -= copy.write(piece)
            names[str(archive.relative_to(earlier))] = name
    sync_folder(path)
    return ends, names


def _values(
    row: PageRow, raw: sqlite3.Row, seq: int, names: dict[str, str], columns: list[str]
) -> list[Any]:
    """A row as it was read, with a number and an archive of this run."""
    values = {name: raw[name] for name in columns}
    values |= {"seq": seq, "ticket": FIRST_TICKET + seq}
    values["warc_file"] = None if row.warc_file is None else names.get(row.warc_file)
    values["flags"] = " ".join(flag for flag in row.flags if flag != "changed")
    return list(values.values())
