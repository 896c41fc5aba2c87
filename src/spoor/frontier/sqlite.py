"""The frontier on disk: URLs and the words of links in one SQLite file, clocks and lists in memory.

The rules are those of `spoor.frontier.memory`, by the same lines; only where things lie differs, so
the same crawl makes the same choices on either. In memory stay some 45 bytes a link: its state,
its host, its places in the lists of open links, and 64 bits of a hash of its URL, by which a URL is
known again (of ten million links any two are taken for one with a chance of 3 in a million). On
disk are its URL, parent, depth and in-links; new ones go there `buffer` at a time.

`save` makes a *generation*: the arrays in chunks, of which only those that changed are written, and
how many rows there are of everything else. Rows are only ever added; so `load` of an older
generation leaves away what is younger, and what a process wrote after its last `save` before it
died was never there. Which of the generations may go, `forget` says.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.frontier.frontier_file import CHUNK, FrontierFile, chunks_of, digest_of, in_link_row
from spoor.frontier.memory import DONE, OPEN, MemoryFrontier, _Host
from spoor.frontier.url_index import HostNumbers, UrlIndex, fingerprint
from spoor.learn.state import revive_link
from spoor.types import NO_PARENT, InLink, InLinks, Link, LinkId, State, urls_of
from spoor.web.urls import host as host_of

POINTS = ("links begun", "links written", "frontier begun", "frontier written", "frontier saved")
"""Steps of a flush and of a save, told to `at`: where a test may end the process."""

_KEPT, _MOVED = 0x7F, 0x80
"""Bits of a link's marks: how many of its in-links are kept, whether it was redirected."""


class SqliteFrontier(MemoryFrontier):
    """All known links in a file that only this process writes to.

    It begins empty, whatever the file holds; `load` goes on from what was saved there, or takes
    over the state of a MemoryFrontier. `delay`, `per_host` and `keep` (at most 127) are as there.
    `buffer`: new links and in-links that are held back, to be written together.

    Cost: about 14 µs a new link with one in-link; 20 µs for the URL of one that is chosen, and a
    read of the disk where it is not in the machine's cache. A save takes time for what changed, and
    a second for each ten million links; so does opening, twice.

    Raises InputError where the file is damaged, cannot be made or is another program's;
    PausedError where one that is there cannot be written: the disk is full.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        delay: float = 0.0,
        per_host: int = 0,
        keep: int = 8,
        buffer: int = 4096,
        at: Callable[[str], None] = lambda point: None,
    ) -> None:
        self._by_number: list[_Host] = []
        super().__init__(delay=delay, per_host=per_host, keep=min(keep, _KEPT))
        self._buffer = buffer
        self._point = at
        self._empty()
        self._file = FrontierFile(Path(path))

    def _empty(self) -> None:
        self._links = HostNumbers(self._by_number)
        self._hosts_of = self._links
        self._at = array("i")
        self._at_host = array("i")
        self._marks = bytearray()
        self._index = UrlIndex()
        self._new: list[tuple[str, LinkId, int]] = []
        """(URL, parent, depth) of links that are not written yet."""
        self._new_moved: list[tuple[LinkId, str]] = []
        self._pending = 0
        """Links and in-links not written yet."""
        self._links_written = self._hosts_written = self._moved_written = 0
        self._asked: dict[LinkId, str] = {}
        """URLs of links that are being asked for."""
        self._finished: list[LinkId] = []
        """Links that are done with since the last save, and have in-links in the file."""
        self._leftover: list[tuple[int, list[LinkId]]] = []
        """Those of each generation."""
        self._base = 0
        """The generation gone on from; younger ones in the file are void."""
        self._digest = ""
        self._chunks: dict[str, list[bytes]] = {}
        """Array → digests of its chunks, as they stand in that generation."""
        # Hashes are needed by link only to be written: the whole chunks of them that were are gone.
        self._prints = array("Q")
        self._prints_gone = 0

    def _numbers(self) -> MutableSequence[LinkId]:
        return array("i")

    def close(self) -> None:
        """Close the file; what came after the last save is gone."""
        self._file.close()

    # -- the file

    def _flush(self) -> None:
        """Write the new rows. They count from the next save on."""
        self._point("links begun")
        hosts = self._by_number[self._hosts_written :]
        self._file.write_rows(
            self._written(),
            [host.name for host in hosts],
            self._new,
            self._new_moved,
            # Those of a link that is taken are kept until it is done with.
            self._in_links(),
        )
        self._hosts_written += len(hosts)
        self._links_written += len(self._new)
        self._moved_written += len(self._new_moved)
        self._new, self._new_moved, self._seen, self._pending = [], [], {}, 0
        self._point("links written")

    def _written(self) -> tuple[int, int, int]:
        """Rows in the file: links, hosts, URLs that links were redirected to."""
        return self._links_written, self._hosts_written, self._moved_written

    def _in_links(self) -> Iterator[tuple[LinkId, int, str]]:
        for link, seen in self._seen.items():
            first = (self._marks[link] & _KEPT) - len(seen)
            for place, (found, at, *in_link) in enumerate(seen, first):
                yield link, place, in_link_row(found[at], in_link)

    # -- entering links

    def add(
        self, found: Sequence[Link], parent: LinkId, parent_score: float, depth: int
    ) -> InLinks:
        urls, lazy = urls_of(found), hasattr(found, "urls")
        state, marks, keep, known = self._state, self._marks, self._keep, self._index.get
        of, by_number = self._links.numbers, self._by_number
        at: list[int] = []
        links: list[LinkId] = []
        first: list[bool] = []
        hosts: list[str] = []
        seen_urls: list[str] = []
        for index, url in enumerate(urls):
            key = fingerprint(url)
            link = known(key)
            new = link < 0
            if new:
                link = self._enter_new(url, key, parent, depth)
            elif state[link] == DONE:
                continue
            if marks[link] & _KEPT < keep:
                marks[link] += 1
                self._pending += 1
                whole, place = (found, index) if lazy else ((found[index],), 0)
                seen = (whole, place, parent, parent_score, depth, new)
                self._seen.setdefault(link, []).append(seen)
            at.append(index)
            links.append(link)
            first.append(new)
            hosts.append(by_number[of[link]].name)
            seen_urls.append(url)
        if self._pending >= self._buffer:
            self._flush()
        return InLinks(found, at, links, first, parent, parent_score, depth, seen_urls, hosts)

    def _enter_new(self, url: str, key: int, parent: LinkId, depth: int) -> LinkId:
        link = len(self._state)
        self._index.put(key, link)
        self._prints.append(key)
        self._marks.append(0)
        self._new.append((url, parent, depth))
        self._pending += 1
        name = host_of(url)
        self._list(link, self._hosts.get(name) or self._host(name))
        return link

    def _host(self, name: str) -> _Host:
        host = super()._host(name)
        if host.number == len(self._by_number):
            self._by_number.append(host)
        return host

    # -- one request

    def take(self, link: LinkId, now: float) -> tuple[str, str]:
        taken = super().take(link, now)
        self._asked[link] = taken[0]
        return taken

    def settle(self, link: LinkId, now: float, retry_at: float | None = None) -> None:
        super().settle(link, now, retry_at)
        self._asked.pop(link, None)

    def reopen(self, link: LinkId) -> None:
        super().reopen(link)
        # New in-links take the places of what is left of its old ones, which may not go any more.
        for links in (self._finished, *(links for _, links in self._leftover)):
            if link in links:
                links.remove(link)

    def redirect(self, link: LinkId, url: str, now: float) -> bool:
        goes_on = super().redirect(link, url, now)
        self._asked.pop(link, None)
        return goes_on

    def _done(self, link: LinkId) -> None:
        self._state[link] = DONE
        pending = self._seen.pop(link, ())
        self._pending -= len(pending)
        if self._marks[link] & _KEPT > len(pending):
            self._finished.append(link)
        self._marks[link] &= _MOVED

    def _rename(self, link: LinkId, url: str) -> None:
        self._index.put(fingerprint(url), link)
        self._marks[link] |= _MOVED
        self._new_moved.append((link, url))
        self._pending += 1

    # -- looking

    def find(self, url: str) -> LinkId | None:
        link = self._index.get(fingerprint(url))
        return None if link < 0 else link

    def url(self, link: LinkId) -> str:
        url = self._asked.get(link)
        if url is None:
            url = self._moved_to(link) if self._marks[link] & _MOVED else None
            url = self._row_of(link)[0] if url is None else url
            if self._index.get(fingerprint(url)) < 0:
                raise self._file.damaged(f"the URL of link {link} is another")
        return url

    def _moved_to(self, link: LinkId) -> str | None:
        for moved, url in reversed(self._new_moved):
            if moved == link:
                return url
        rows = self._file.ask(
            "SELECT url FROM moved WHERE link = ? ORDER BY number DESC LIMIT 1", link
        )
        return str(rows[0][0]) if rows else None

    def _row_of(self, link: LinkId) -> tuple[str, LinkId, int]:
        """URL as it was discovered, parent, depth."""
        if link >= self._links_written:
            return self._new[link - self._links_written]
        rows = self._file.ask("SELECT url, parent, depth FROM links WHERE link = ?", link)
        if not rows:
            raise self._file.damaged(f"link {link} is missing")
        row: tuple[str, LinkId, int] = rows[0]
        return row

    def depth(self, link: LinkId) -> int:
        return self._row_of(link)[2]

    def path(self, link: LinkId) -> Sequence[LinkId]:
        steps = [link]
        while (parent := self._row_of(steps[-1])[1]) != NO_PARENT:
            steps.append(parent)
        return steps[::-1]

    def open(self) -> Iterator[LinkId]:
        found = np.flatnonzero(np.frombuffer(bytes(self._state), dtype=np.uint8) == OPEN)
        return (
            link for block in range(0, len(found), 4096) for link in found[block:][:4096].tolist()
        )

    def done(self) -> Iterator[str]:
        if self._pending:
            self._flush()
        # Where a link was redirected to the URL of another, that URL is the first one's.
        moved = dict(self._file.ask("SELECT url, link FROM moved ORDER BY number"))
        for block in range(0, self._links_written, 4096):
            rows = "SELECT url, link FROM links WHERE link >= ? AND link < ? ORDER BY link"
            for url, link in self._file.ask(rows, block, min(block + 4096, self._links_written)):
                if url not in moved and self._state[link] == DONE:
                    yield url
        yield from (url for url, link in moved.items() if self._state[link] == DONE)

    def in_links(self, link: LinkId) -> Sequence[InLink]:
        if self._state[link] == DONE:
            return []
        pending = self._seen.get(link, ())
        written = (self._marks[link] & _KEPT) - len(pending)
        rows: list[Any] = []
        if written:
            query = "SELECT seen FROM in_links WHERE link = ? AND place < ? ORDER BY place"
            rows = [json.loads(row) for (row,) in self._file.ask(query, link, written)]
            if len(rows) != written:
                raise self._file.damaged(f"the in-links of link {link} are missing")
        rows += [json.loads(in_link_row(whole[at], seen)) for whole, at, *seen in pending]
        url, host = self.url(link), self._hosts_of[link].name
        told = []
        for anchor, kind, *seen in rows:
            found = revive_link((url, anchor, kind))
            told.append(InLink(link, url, host, found.anchor, kind, *seen))
        return told

    # -- saving

    def save(self) -> State:
        """Makes what is known now a generation of the file, safe from a loss of power, and returns
        what names it. Unchanged, it names the same one."""
        if self._pending or self._hosts_written < len(self._by_number):
            self._flush()
        columns = self._columns()
        arrays, digests, changed = {}, {}, []
        for name, column in columns.items():
            gone = self._prints_gone if name == "prints" else 0
            known = self._chunks.get(name, [])
            found = known[:gone]
            for place, chunk in chunks_of(column, gone):
                found.append(digest_of(chunk))
                if place >= len(known) or found[place] != known[place]:
                    changed.append((name, place))
            with memoryview(column) as data:
                size = data.nbytes + gone * CHUNK
            arrays[name] = (size, digest_of(b"".join(found)).hex())
            digests[name] = found
        told = json.dumps(arrays)
        if _whole(told) != self._digest:
            self._write_generation(told, columns, changed)
            self._chunks = digests
            whole = len(self._prints) * 8 // CHUNK
            del self._prints[: whole * CHUNK // 8]
            self._prints_gone += whole
        return self.saved()

    def saved(self) -> State:
        """What names the generation that was saved or loaded last."""
        return {"digest": self._digest}

    def _columns(self) -> dict[str, array[Any] | bytearray]:
        """All that is in memory, as arrays."""
        hosts = self._hosts
        waiting = [(host.number, link) for host in self._by_number for link in host.waiting]
        return {
            "state": self._state,
            "marks": self._marks,
            "host": self._links.numbers,
            "open": _array(self._open),
            "at host": self._at_host,
            "prints": self._prints,
            "ready": array("i", (hosts[name].number for name in self._ready)),
            "later at": array("d", (at for at, _ in self._later)),
            "later": array("i", (hosts[name].number for _, name in self._later)),
            "due at": array("d", (at for at, _ in self._due)),
            "due": array("i", (link for _, link in self._due)),
            "delay": array("d", (host.delay for host in self._by_number)),
            "in flight": array("i", (host.in_flight for host in self._by_number)),
            "free at": array("d", (float(host.free_at) for host in self._by_number)),
            "waiting": array("i", (number for pair in waiting for number in pair)),
        }

    def _write_generation(
        self,
        arrays: str,
        columns: Mapping[str, array[Any] | bytearray],
        changed: Iterable[tuple[str, int]],
    ) -> None:
        self._point("frontier begun")
        new, digest = self._base + 1, _whole(arrays)
        wanted = set(changed)
        chunks = (
            (name, place, chunk)
            for name, column in columns.items()
            for place, chunk in chunks_of(column, self._prints_gone if name == "prints" else 0)
            if (name, place) in wanted
        )
        self._file.write_generation(
            (new, digest, *self._written(), arrays), chunks, lambda: self._point("frontier written")
        )
        self._base, self._digest = new, digest
        self._leftover.append((new, self._finished))
        self._finished = []
        self._file.empty_log()
        self._point("frontier saved")

    def holds(self, state: State) -> bool:
        """Whether the file has the generation that `save` named so."""
        return "digest" in state and self._file.generation(state) is not None

    def forget(self, but: Iterable[State]) -> None:
        """Only these of the states saved here can be loaded from now on; the room of the others is
        used again."""
        found = [self._file.generation(state) for state in but]
        kept = sorted(row[0] for row in found if row is not None)
        oldest = kept[0] if kept else 0
        void = [link for at, links in self._leftover if at <= oldest for link in links]
        self._leftover = [entry for entry in self._leftover if entry[0] > oldest]
        self._file.forget(kept, void)

    def load(self, state: State) -> None:
        """Go on from what `save` named, or from the state of a MemoryFrontier.

        Raises InputError where the file does not hold it, or not whole.
        """
        keep = (self._delay, self._per_host, self._keep)
        MemoryFrontier.__init__(self, delay=keep[0], per_host=keep[1], keep=keep[2])
        self._by_number.clear()
        self._empty()
        if "digest" not in state:
            self._file.start_after(0, 0, 0, 0)
            self._take_over(state)
            return
        found = self._file.generation(state)
        if found is None:
            raise self._file.damaged("it does not hold the frontier of the last checkpoint")
        self._base, links, hosts, moved, arrays = found
        self._links_written, self._hosts_written, self._moved_written = links, hosts, moved
        self._digest = state["digest"]
        self._file.start_after(self._base, *self._written())
        for table, column, count in (("links", "link", links), ("hosts", "host", hosts)):
            if self._file.ask(f"SELECT coalesce(max({column}), -1) FROM {table}")[0][0] < count - 1:
                raise self._file.damaged(f"its table {table} does not hold the {count} rows saved")
        if _whole(arrays) != self._digest:
            raise self._file.damaged("its list of arrays does not fit its digest")
        self._restore(links, json.loads(arrays))

    def _restore(self, count: int, arrays: Mapping[str, tuple[int, str]]) -> None:
        """The frontier as its arrays say; one after the other, so that little is there twice."""

        def column(name: str) -> bytearray:
            return self._column(name, *arrays[name])

        def numbers(name: str, kind: str = "i4") -> list[Any]:
            found: list[Any] = np.frombuffer(column(name), dtype=kind).tolist()
            return found

        for (name,) in self._file.ask(
            "SELECT name FROM hosts WHERE host < ? ORDER BY host", self._hosts_written
        ):
            self._host(name)
        delays, flights, frees = (
            numbers("delay", "f8"),
            numbers("in flight"),
            numbers("free at", "f8"),
        )
        for host, delay, in_flight, free_at in zip(
            self._by_number, delays, flights, frees, strict=True
        ):
            host.delay, host.in_flight, host.free_at = delay, in_flight, free_at
        pairs = iter(numbers("waiting"))
        for number, link in zip(pairs, pairs, strict=True):
            self._by_number[number].waiting.append(link)
        names = [host.name for host in self._by_number]
        later, due = numbers("later at", "f8"), numbers("due at", "f8")
        self._later = [(at, names[it]) for at, it in zip(later, numbers("later"), strict=True)]
        self._due = list(zip(due, numbers("due"), strict=True))
        self._state, self._marks = column("state"), column("marks")
        self._links.numbers.frombytes(column("host"))
        self._at_host.frombytes(column("at host"))
        self._open = opened = array("i")
        opened.frombytes(column("open"))
        self._place(np.frombuffer(opened, dtype="i4"), count)
        ready = numbers("ready")
        self._ready = dict.fromkeys(names[number] for number in ready)
        self._offered = sum(len(self._by_number[number].open) for number in ready)
        prints = column("prints")
        self._prints_gone = count * 8 // CHUNK
        self._prints.frombytes(prints[self._prints_gone * CHUNK :])
        self._index = UrlIndex.of(np.frombuffer(prints, dtype="u8"))
        for link, url in self._file.ask(
            "SELECT link, url FROM moved WHERE number < ? ORDER BY number", self._moved_written
        ):
            self._index.put(fingerprint(url), link)

    def _column(self, name: str, size: int, digest: str) -> bytearray:
        """An array of the generation gone on from."""
        data, self._chunks[name] = self._file.read_array(name, size, digest, self._base)
        return data

    def _place(self, opened: NDArray[np.int32], count: int) -> None:
        """The lists of open links a host, and where each stands in that of all."""
        self._at = array("i", bytes(4 * count))
        at = np.frombuffer(self._at, dtype="i4")
        at[opened] = np.arange(len(opened), dtype="i4")
        hosts = np.frombuffer(self._links.numbers, dtype="i4")[opened]
        counts = np.bincount(hosts, minlength=len(self._by_number))
        ends = np.cumsum(counts)
        starts = ends - counts
        places = starts.astype("i4")[hosts]
        places += np.frombuffer(self._at_host, dtype="i4")[opened]
        listed = np.empty(len(opened), dtype="i4")
        listed[places] = opened
        for host, start, end in zip(self._by_number, starts.tolist(), ends.tolist(), strict=True):
            host.open = array("i", listed[start:end].tobytes())

    def _take_over(self, state: State) -> None:
        """What a MemoryFrontier saved."""
        urls: list[str] = state["urls"]
        for (name, delay, in_flight, free_at), waiting in zip(
            state["hosts"], state["host_waiting"], strict=True
        ):
            host = self._host(name)
            host.delay, host.in_flight, host.waiting = delay, in_flight, list(waiting)
            host.free_at = -np.inf if free_at is None else free_at
        self._state = bytearray(state["state"].tobytes())
        self._links.numbers.extend(self._host(host_of(url)).number for url in urls)
        self._at_host = array("i", bytes(4 * len(urls)))
        for links in state["host_open"]:
            for place, link in enumerate(links):
                self._at_host[link] = place
        self._open = array("i", state["open"].tolist())
        self._place(np.frombuffer(self._open, dtype="i4"), len(urls))
        self._ready = dict.fromkeys(state["ready"])
        self._offered = sum(len(self._hosts[name].open) for name in self._ready)
        self._later = [(at, name) for at, name in state["later"]]
        self._due = [(at, link) for at, link in state["due"]]
        self._marks = bytearray(len(urls))
        for link, url in enumerate(urls):
            self._prints.append(fingerprint(url))
            self._index.put(self._prints[link], link)
        for url, link in state["aliases"]:
            self._rename(link, url)
        for link in sorted({link for _, link in state["aliases"]}):
            self._new_moved.append((link, urls[link]))  # the last one counts
        self._new = list(zip(urls, state["parent"].tolist(), state["depth"].tolist(), strict=True))
        self._flush()
        with self._file.writing() as db:
            db.executemany("INSERT INTO in_links VALUES (?, ?, ?)", self._taken_over(state["seen"]))

    def _taken_over(self, seen: Iterable[Any]) -> Iterator[tuple[LinkId, int, str]]:
        for link, rows in seen:
            kept = list(islice(rows, self._keep))
            self._marks[link] += len(kept)
            for place, ((_, anchor, kind), *in_link) in enumerate(kept):
                yield link, place, json.dumps([anchor, kind, *in_link])


def _whole(arrays: str) -> str:
    """Of all arrays, by what is told of each."""
    return digest_of(arrays.encode()).hex()


def _array(numbers: MutableSequence[int]) -> array[int]:
    assert isinstance(numbers, array)
    return numbers
