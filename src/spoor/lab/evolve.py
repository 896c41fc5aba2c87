"""Evolving webs from recordings: archives with several captures of a URL, news front pages, the
history of a wiki."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import translate
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from spoor.archive.sources import open_source
from spoor.errors import InputError
from spoor.types import Failed, Fetched, Recording, Redirected
from spoor.urls import canonical
from spoor.worlds.evolving import FILE, EvolvingWorld, Version, rewired
from spoor.worlds.newsweb import news_web, settings_of

DAY = 24 * 3600.0


def rows(file: Path) -> Iterator[Any]:
    """Rows of JSON lines in a zstandard frame. Raises InputError where it cannot be read."""
    try:
        with file.open("rb") as opened:
            stream = zstandard.ZstdDecompressor(max_window_size=1 << 31).stream_reader(opened)
            for line in io.TextIOWrapper(stream, "utf-8"):
                yield json.loads(line)
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, zstandard.ZstdError) as error:
        raise InputError(f"{file}: damaged ({error})") from error


# ---------------------------------------------------------------- (b) any archive


def from_archives(sources: Sequence[Path], **settings: Any) -> EvolvingWorld:
    """The web that archives hold (JSON lines, WARC, a run's folder of WARC files), each capture a
    version. A capture that shows what the one before it showed changes nothing.

    Raises InputError for captures without a time.
    """
    files = [
        file
        for source in sources
        for file in (sorted(source.glob("pages*.warc.gz")) if _is_run(source) else [source])
    ]
    recordings = (job() for file in files for job in open_source(file).jobs())
    versions = captures(recording for recording in recordings if recording is not None)
    return EvolvingWorld(versions, **settings)


def _is_run(path: Path) -> bool:
    return (path / "spoor.toml").exists()


def captures(recordings: Iterable[Recording]) -> list[Version]:
    """Captures as versions, in the order of their times. A redirect or a transient failure shows
    nothing of its URL; any other failure is its end."""
    versions: list[Version] = []
    last: dict[str, Version] = {}
    timed: list[tuple[float, Recording]] = []
    for recording in recordings:
        if recording.time is None:
            raise InputError(
                f"{recording.where}: no time of capture (fetched_at); an evolving web needs one"
            )
        timed.append((recording.time, recording))
    for time, recording in sorted(timed, key=lambda item: item[0]):
        reply = recording.reply
        if isinstance(reply, Redirected) or (isinstance(reply, Failed) and reply.transient):
            continue
        version = Version(time, recording.url, gone=True)
        if isinstance(reply, Fetched):
            page = reply.page
            links = tuple(dict.fromkeys(link.url for link in page.links))
            version = Version(time, recording.url, page.title, page.text, links)
        before = last.get(recording.url)
        if before is None and version.gone:
            continue
        if before is None or before._replace(time=time) != version:
            last[recording.url] = version
            versions.append(version)
    return versions


# ---------------------------------------------------------------- (a) a news front page


def news_front_page(
    folder: Path, *, start: float, days: float, listed: int = 30, related: int = 8
) -> EvolvingWorld:
    """A recorded front page and its stories (`docs.jsonl.zst`, `snapshots.jsonl.zst`).

    Recorded: which stories stood on the front page and when, their titles, sections and summaries.
    Not recorded, and made by rule: a page for each section that lists the newest `listed` stories
    of it that the front page has shown, and links of a story to the front page, its section and
    the `related` stories before it in its section. A story is dated by its first snapshot; its text
    does not change.
    """
    end = start + days * DAY
    docs = {row["id"]: row for row in rows(folder / "docs.jsonl.zst")}
    hosts = Counter("/".join(row["url"].split("/", 3)[:3]) for row in docs.values())
    base = hosts.most_common(1)[0][0] + "/"
    versions: list[Version] = []
    sections: dict[str, list[int]] = {}
    known: set[int] = set()
    last: list[int] | None = None
    section_urls = {row["section"] for row in docs.values()}
    pages = {name: f"{base}section/{_slug(name)}" for name in section_urls if name}
    for time, shown in rows_of_snapshots(folder / "snapshots.jsonl.zst"):
        if time > end:
            break
        new = [number for number in shown if number not in known]
        changed = set()
        for number in reversed(new):
            known.add(number)
            row = docs[number]
            name = row["section"]
            earlier = sections.setdefault(name, [])
            links = [base, *([pages[name]] if name else [])]
            links += [docs[at]["url"] for at in earlier[: -related - 1 : -1]]
            if time >= start - 30 * DAY:
                versions.append(
                    Version(
                        float(time),
                        row["url"],
                        row["title"],
                        f"{name} {row['summary']}",
                        tuple(link for link in dict.fromkeys(links) if link != row["url"]),
                    )
                )
            earlier.append(number)
            changed.add(name)
        if time < start - 30 * DAY:
            continue
        for name in sorted(changed - {""}):
            newest = [docs[at] for at in sections[name][: -listed - 1 : -1]]
            versions.append(_list(float(time), pages[name], name, [base], newest))
        if shown != last:
            nav = [pages[name] for name in sorted(sections) if name]
            stories = [docs[number] for number in shown]
            versions.append(_list(float(time), base, "Front page", nav, stories))
        last = shown
    return EvolvingWorld(versions, roots=[base], start=start, end=end)


def rows_of_snapshots(file: Path) -> Iterator[tuple[float, list[int]]]:
    """(time, story numbers) of each snapshot."""
    for time, shown in rows(file):
        yield float(time), list(shown)


def _list(
    time: float, url: str, title: str, nav: Sequence[str], stories: Sequence[dict[str, Any]]
) -> Version:
    links = dict.fromkeys([*nav, *(story["url"] for story in stories)])
    text = " ".join(story["title"] for story in stories)
    return Version(time, url, title, text, tuple(link for link in links if link != url))


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


# ---------------------------------------------------------------- (a) the history of a wiki


def wiki_history(folder: Path, *, start: float, days: float) -> EvolvingWorld:
    """A recorded wiki with every version of every page (`versions.jsonl.zst`).

    All of it is recorded: texts, links, comments (which change their page), deletions, and the
    lists that pages hold by pattern (news, forum, bugs …), which are laid out as the wiki does:
    matching pages, newest first.
    """
    end = start + days * DAY
    wiki = _Wiki("http://wiki.example/")
    versions: list[Version] = []
    for row in rows(folder / "versions.jsonl.zst"):
        if row["t"] > end:
            break
        if not versions and row["t"] > start:
            versions += wiki.standing()
        for page in wiki.take(row):
            if row["t"] > start:
                versions.append(wiki.version(page, float(row["t"])))
    return EvolvingWorld(versions, roots=[wiki.url("index")], start=start, end=end)


class _Wiki:
    """The wiki as it stands while its history is read."""

    def __init__(self, base: str) -> None:
        self._base = base
        self._rows: dict[str, dict[str, Any]] = {}
        self._comments: dict[str, list[str]] = {}
        self._created: dict[str, float] = {}
        self._changed: dict[str, float] = {}
        self._lists: dict[str, list[tuple[Callable[[str], bool], int]]] = {}
        self._listed: dict[str, list[str]] = {}
        """Page with lists → pages that it lists now, newest first."""
        self._urls: dict[str, str] = {}

    def url(self, page: str) -> str:
        url = self._urls.get(page)
        if url is None:
            path = "" if page == "index" else page.replace(" ", "_") + "/"
            url = self._urls[page] = canonical(self._base + path)
        return url

    def standing(self) -> list[Version]:
        """Every page that is there, dated by its last change."""
        return [self.version(page, self._changed[page]) for page in self._rows]

    def take(self, row: dict[str, Any]) -> list[str]:
        """Take in a row of the history. Returns the pages that it changes: its own, and those
        whose lists it enters or leaves."""
        page, time, kind = row["page"], float(row["t"]), row["kind"]
        changed = [page]
        if kind == "comment":
            self._comments.setdefault(page, []).append(row["text"])
            if page not in self._rows:
                return []
        else:
            self._rows.pop(page, None)
            self._lists.pop(page, None)
            self._listed.pop(page, None)
            if kind == "del":
                self._comments.pop(page, None)
            else:
                self._rows[page] = row
                self._created.setdefault(page, time)
                if row.get("inline"):
                    self._lists[page] = [
                        (matcher(spec, page, self._links_to), show) for spec, show in row["inline"]
                    ]
                    self._listed[page] = self._all(page)
            changed += [holder for holder in self._lists if self._relist(holder, page)]
        for name in changed:
            self._changed[name] = time
        return changed

    def _links_to(self, page: str, target: str) -> bool:
        row = self._rows.get(page)
        return row is not None and any(
            link[0] == "w" and len(link) > 3 and link[3] == target for link in row["links"]
        )

    def _relist(self, holder: str, page: str) -> bool:
        """Whether a page enters or leaves the list of another."""
        if holder == page:
            return False
        listed = self._listed[holder]
        here = page in self._rows and self._matches(holder, page)
        stood = page in listed
        if here and not stood:
            listed.append(page)
            listed.sort(key=lambda other: -self._created[other])
        elif stood and not here:
            listed.remove(page)
        return here != stood

    def _matches(self, holder: str, page: str) -> bool:
        return any(match(page) for match, _ in self._lists[holder])

    def _all(self, holder: str) -> list[str]:
        found = [page for page in self._rows if page != holder and self._matches(holder, page)]
        found.sort(key=lambda page: -self._created[page])
        return found

    def version(self, page: str, time: float) -> Version:
        """What a page shows now."""
        url, row = self.url(page), self._rows.get(page)
        if row is None:
            return Version(time, url, gone=True)
        links = [self.url(link[3]) for link in row["links"] if link[0] == "w" and len(link) > 3]
        text = " ".join([row.get("text", ""), *self._comments.get(page, ())])
        if page in self._lists:
            # A list that says nothing of its length shows all that match.
            shown = max((show or len(self._rows)) for _, show in self._lists[page])
            listed = self._listed[page][:shown]
            links += [self.url(other) for other in listed]
            text += " " + " ".join(listed)
        # Every page of the wiki has a bar that leads home and up.
        above = page.rpartition("/")[0]
        bar = [self.url("index"), *([self.url(above)] if above in self._rows else [])]
        unique = tuple(link for link in dict.fromkeys([*bar, *links]) if link != url)
        title = row.get("title") or page.rpartition("/")[2].replace("_", " ")
        return Version(time, url, title, text, unique)


_PART = re.compile(r"\s*(\(|\)|!|and\b|or\b|[^\s()!]+(?:\([^)]*\))?)")


def matcher(spec: str, page: str, links_to: Callable[[str, str], bool]) -> Callable[[str], bool]:
    """A page pattern of the wiki: globs, `link(PAGE)`, `!`, `and`, `or`, brackets. `./` stands for
    the folder of the page that holds it. Any other function matches nothing.

    Raises InputError where it cannot be read.
    """
    parts = _PART.findall(spec)
    at = 0

    def peek() -> str:
        return parts[at] if at < len(parts) else ""

    def take() -> str:
        nonlocal at
        at += 1
        return str(parts[at - 1]) if at <= len(parts) else ""

    def any_of() -> Callable[[str], bool]:
        terms = [all_of()]
        while peek() == "or":
            take()
            terms.append(all_of())
        return lambda other: any(term(other) for term in terms)

    def all_of() -> Callable[[str], bool]:
        terms = [single()]
        while peek() == "and":
            take()
            terms.append(single())
        return lambda other: all(term(other) for term in terms)

    def single() -> Callable[[str], bool]:
        part = take()
        if part == "!":
            inner = single()
            return lambda other: not inner(other)
        if part == "(":
            inner = any_of()
            if take() != ")":
                raise InputError(f"page pattern {spec!r}: a bracket is not closed")
            return inner
        if not part or part in (")", "and", "or"):
            raise InputError(f"page pattern {spec!r} ends too soon")
        if part.startswith("link("):
            target = _place(part[5:-1], page)
            return lambda other: links_to(other, target)
        if "(" in part:
            return lambda other: False
        pattern = re.compile(translate(_place(part, page)))
        return lambda other: pattern.match(other) is not None

    return any_of()


def _place(name: str, page: str) -> str:
    if not name.startswith("./"):
        return name
    above = page.rpartition("/")[0]
    return f"{above}/{name[2:]}" if above else name[2:]


# ---------------------------------------------------------------- by name


def open_evolving(path: Path) -> EvolvingWorld:
    """The evolving web in a folder, or in a run's folder or archive of captures."""
    if (path / FILE).exists():
        return EvolvingWorld.open(path)
    return from_archives([path])


def make(spec: dict[str, Any], data: Path) -> EvolvingWorld:
    """The evolving web that an experiment names.

    `spec` holds one of `news` (settings of a generated news web), `front_page` or `wiki` (a folder
    under `data`, with `start` in Unix seconds and `days`) and `path` (a folder); `rewired` (a
    seed) exchanges its links at random.
    """
    kinds = [kind for kind in ("news", "front_page", "wiki", "path") if kind in spec]
    if len(kinds) != 1:
        raise InputError("an evolving web is one of news, front_page, wiki and path")
    if "news" in spec:
        world = news_web(settings_of(spec["news"], "news web"))
    elif "path" in spec:
        world = open_evolving(Path(spec["path"]))
    else:
        recorded = news_front_page if "front_page" in spec else wiki_history
        folder = data / spec[kinds[0]]
        if not folder.exists():
            raise InputError(f"{folder} is missing; SPOOR_DATA names the folder of recorded webs")
        world = recorded(folder, start=float(spec["start"]), days=float(spec["days"]))
    if "rewired" in spec:
        world = rewired(world, np.random.default_rng(spec["rewired"]))
    return world
