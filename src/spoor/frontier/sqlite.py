"""The frontier on disk: URLs and the words of links in one SQLite file, clocks and lists in memory.

The rules and most of the code are those of `spoor.frontier.memory`; only the storage differs, so a
crawl makes the same choices on either. A link takes about 45 bytes of memory: its state, its host,
its indices in the lists of open links, and a 64-bit hash of its URL, which identifies the URL (with
ten million links, the probability that any two have the same hash is 3 in a million). Its URL,
parent, depth and in-links are on disk; `buffer` new ones are written at a time.

`save` makes a *generation*: the chunks of the arrays that changed, and the number of rows of each
table. Rows are only added; so `load` of an earlier generation ignores all later rows, among them
those that a process wrote between its last `save` and its end. `forget` deletes generations.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableSequence, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.frontier.arrays import (
    CHUNK,
    ArrayDigests,
    Column,
    as_array,
    chunks_of,
    digests_of,
    open_by_host,
    open_positions,
    table_digest,
)
from spoor.frontier.foreign_redirects import Strangers
from spoor.frontier.frontier_file import FrontierFile, in_link_row
from spoor.frontier.hosts import Host
from spoor.frontier.in_links import Seen, revived
from spoor.frontier.memory import DONE, OPEN, MemoryFrontier
from spoor.frontier.url_index import HostNumbers, UrlIndex
from spoor.hashing import url_hash64
from spoor.learn.state import revive_link
from spoor.types import NO_PARENT, InLink, InLinks, Link, LinkId, State, urls_of
from spoor.web.urls import host as host_of

POINTS = ("links begun", "links written", "frontier begun", "frontier written", "frontier saved")
"""Steps of a flush and of a save, with which `failpoint` is called: a test may end it there."""

_ROWS = 1_024
"""Rows that are kept of those that were read: some 300 bytes each."""

_IN_LINKS, _MOVED = 0x7F, 0x80
"""Bits of a link's marks: number of its stored in-links; whether it was redirected."""


class SqliteFrontier(MemoryFrontier):
    """All known links in a file to which only this process writes.

    A new frontier is empty, whatever is in the file; `load` continues a state that was saved there,
    or the state of a MemoryFrontier. `delay`, `per_host` and `keep` (at most 127) are as in
    MemoryFrontier. `buffer`: number of new links and in-links that are written together.

    Cost: about 14 µs for a new link with one in-link; 20 µs for the URL of a chosen link, and a
    read of the disk if it is not cached. A save takes time for the changes, and a second for each
    ten million links; opening takes twice that.

    Raises InputError if the file is damaged, cannot be created or is of another program;
    PausedError if an existing file cannot be written, since the disk is full for instance.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        delay: float = 0.0,
        per_host: int = 0,
        keep: int = 8,
        buffer: int = 4096,
        failpoint: Callable[[str], None] = lambda step: None,
    ) -> None:
        self._by_number: list[Host] = []
        super().__init__(delay=delay, per_host=per_host, keep=min(keep, _IN_LINKS))
        self._buffer = buffer
        self._failpoint = failpoint
        self._clear()
        self._file = FrontierFile(Path(path))

    def _clear(self) -> None:
        self._host_numbers = HostNumbers(self._by_number)
        self._hosts_of = self._host_numbers
        self._positions = array("i")
        self._host_positions = array("i")
        self._marks = bytearray()
        self._index = UrlIndex()
        self._new: list[tuple[str, LinkId, int]] = []
        """(URL, parent, depth) of links that are not written yet."""
        self._new_moved: list[tuple[LinkId, str]] = []
        self._pending = 0
        """Number of links and in-links that are not written yet."""
        self._links_written = self._hosts_written = self._moved_written = 0
        self._last_url: tuple[LinkId, str] = (NO_PARENT, "")
        """Of the link that was asked for last, from the file."""
        self._rows: dict[LinkId, tuple[str, LinkId, int]] = {}
        """Rows of the file that were read: pages of one site have most of their paths in common."""
        self._in_flight_urls: dict[LinkId, str] = {}
        """URLs of links in flight."""
        self._finished: list[LinkId] = []
        """Links done since the last save whose in-links are still in the file."""
        self._leftover: list[tuple[int, list[LinkId]]] = []
        """(generation, links done before it whose in-links are still in the file)."""
        self._base = 0
        """The current generation; later ones in the file are void."""
        self._digest = ""
        self._chunks: dict[str, list[bytes]] = {}
        """Array → digests of its chunks in that generation."""
        # Hashes by link are only needed for writing: written chunks of them are dropped.
        self._prints = array("Q")
        self._prints_dropped = 0

    def _numbers(self) -> MutableSequence[LinkId]:
        return array("i")

    def close(self) -> None:
        """Close the file; changes after the last save are lost."""
        self._file.close()

    # -- the file

    def _flush(self) -> None:
        """Write the new rows, which the next save includes."""
        self._failpoint("links begun")
        hosts = self._by_number[self._hosts_written :]
        self._file.write_rows(
            self._written(),
            [host.name for host in hosts],
            self._new,
            self._new_moved,
            # In-links of a link stay until it is done.
            self._new_in_links(),
        )
        self._hosts_written += len(hosts)
        self._links_written += len(self._new)
        self._moved_written += len(self._new_moved)
        self._new, self._new_moved, self._seen, self._pending = [], [], {}, 0
        self._failpoint("links written")

    def _written(self) -> tuple[int, int, int]:
        """Numbers of rows in the file: links, hosts, redirected links."""
        return self._links_written, self._hosts_written, self._moved_written

    def _new_in_links(self) -> Iterator[tuple[LinkId, int, str]]:
        for link, seen in self._seen.items():
            first = (self._marks[link] & _IN_LINKS) - len(seen)
            for place, (links, offset, *in_link) in enumerate(seen, first):
                yield link, place, in_link_row(links[offset], in_link)

    # -- entering links

    def add(
        self, page_links: Sequence[Link], parent: LinkId, parent_score: float, depth: int
    ) -> InLinks:
        urls, stored = urls_of(page_links), getattr(page_links, "stored", False)
        state, marks, keep, find = self._state, self._marks, self._keep, self._index.get
        host_numbers, by_number = self._host_numbers.numbers, self._by_number
        indices: list[int] = []
        links: list[LinkId] = []
        first: list[bool] = []
        hosts: list[str] = []
        seen_urls: list[str] = []
        for index, url in enumerate(urls):
            key = url_hash64(url)
            link = find(key)
            new = link < 0
            if new:
                link = self._enter_new(url, key, parent, depth)
            elif state[link] == DONE:
                continue
            if marks[link] & _IN_LINKS < keep:
                marks[link] += 1
                self._pending += 1
                source, offset = (page_links, index) if stored else ((page_links[index],), 0)
                seen = (source, offset, parent, parent_score, depth, new)
                self._seen.setdefault(link, []).append(seen)
            indices.append(index)
            links.append(link)
            first.append(new)
            hosts.append(by_number[host_numbers[link]].name)
            seen_urls.append(url)
        if self._pending >= self._buffer:
            self._flush()
        return InLinks(
            page_links, indices, links, first, parent, parent_score, depth, seen_urls, hosts
        )

    def _enter_new(self, url: str, key: int, parent: LinkId, depth: int) -> LinkId:
        link = len(self._state)
        self._index.put(key, link)
        self._prints.append(key)
        self._marks.append(0)
        self._new.append((url, parent, depth))
        self._pending += 1
        name = host_of(url)
        self._add_open(link, self._hosts.get(name) or self._host(name))
        return link

    def _host(self, name: str) -> Host:
        host = super()._host(name)
        if host.number == len(self._by_number):
            self._by_number.append(host)
        return host

    # -- one request

    def take(self, link: LinkId, now: float) -> tuple[str, str]:
        url, host = super().take(link, now)
        self._in_flight_urls[link] = url
        return url, host

    def settle(self, link: LinkId, now: float, retry_at: float | None = None) -> None:
        super().settle(link, now, retry_at)
        self._in_flight_urls.pop(link, None)

    def reopen(self, link: LinkId) -> None:
        super().reopen(link)
        # New in-links replace its old ones in the file, so these must not be deleted later.
        for links in (self._finished, *(links for _, links in self._leftover)):
            if link in links:
                links.remove(link)

    def redirect(self, link: LinkId, url: str, now: float, *, stranger: bool = False) -> bool:
        waits = super().redirect(link, url, now, stranger=stranger)
        self._in_flight_urls.pop(link, None)
        return waits

    def _done(self, link: LinkId) -> None:
        self._state[link] = DONE
        self._slow.done(link)
        pending = self._seen.pop(link, ())
        self._pending -= len(pending)
        if self._marks[link] & _IN_LINKS > len(pending):
            self._finished.append(link)
        self._marks[link] &= _MOVED

    def _rename(self, link: LinkId, url: str) -> None:
        self._index.put(url_hash64(url), link)
        self._last_url = NO_PARENT, ""
        self._marks[link] |= _MOVED
        self._new_moved.append((link, url))
        self._pending += 1

    # -- reading

    def find(self, url: str) -> LinkId | None:
        link = self._index.get(url_hash64(url))
        return None if link < 0 else link

    def url(self, link: LinkId) -> str:
        url = self._in_flight_urls.get(link)
        if url is None and self._last_url[0] == link:
            return self._last_url[1]
        if url is None:
            url = self._redirected_to(link) if self._marks[link] & _MOVED else None
            url = self._link_row(link)[0] if url is None else url
            if self._index.get(url_hash64(url)) < 0:
                raise self._file.damaged(f"the URL of link {link} is another")
            self._last_url = link, url
        return url

    def _redirected_to(self, link: LinkId) -> str | None:
        newest = (url for moved, url in reversed(self._new_moved) if moved == link)
        return next(newest, None) or self._file.redirected_to(link)

    def _link_row(self, link: LinkId) -> tuple[str, LinkId, int]:
        """(URL before redirects, parent, depth)."""
        if link >= self._links_written:
            return self._new[link - self._links_written]
        row = self._rows.get(link)
        if row is None:
            if len(self._rows) >= _ROWS:
                del self._rows[next(iter(self._rows))]
            row = self._rows[link] = self._file.link_row(link)
        return row

    def depth(self, link: LinkId) -> int:
        return self._link_row(link)[2]

    def path(self, link: LinkId, most: int | None = None) -> Sequence[LinkId]:
        steps = [link]
        while len(steps) != most and (parent := self._link_row(steps[-1])[1]) != NO_PARENT:
            if not 0 <= parent < steps[-1]:
                raise self._file.damaged("a link was found on a later one")
            steps.append(parent)
        return steps[::-1]

    def open(self) -> Iterator[LinkId]:
        links = np.flatnonzero(np.frombuffer(bytes(self._state), dtype=np.uint8) == OPEN)
        return (
            link for block in range(0, len(links), 4096) for link in links[block:][:4096].tolist()
        )

    def done(self) -> Iterator[str]:
        if self._pending:
            self._flush()
        # A URL to which a link was redirected belongs to that link.
        moved = dict(self._file.redirects(self._moved_written))
        for block in range(0, self._links_written, 4096):
            end = min(block + 4096, self._links_written)
            for url, link in self._file.link_urls(block, end):
                if url not in moved and self._state[link] == DONE:
                    yield url
        yield from (url for url, link in moved.items() if self._state[link] == DONE)

    def in_links(self, link: LinkId) -> Sequence[InLink]:
        if self._state[link] == DONE:
            return []
        pending = self._seen.get(link, ())
        written = (self._marks[link] & _IN_LINKS) - len(pending)
        rows = self._file.in_links(link, written)
        rows += [json.loads(in_link_row(links[offset], seen)) for links, offset, *seen in pending]
        url, host = self.url(link), self._hosts_of[link].name
        in_links = []
        for anchor, kind, *seen in rows:
            revived = revive_link((url, anchor, kind))
            in_links.append(InLink(link, url, host, revived.anchor, kind, *seen))
        return in_links

    # -- saving

    def save(self) -> State:
        """Write the current state as a generation, durable after a loss of power; returns its
        identifier. Without changes, that is the identifier of the last one."""
        if self._pending or self._hosts_written < len(self._by_number):
            self._flush()
        columns = self._columns()
        digests = digests_of(columns, self._chunks, {"prints": self._prints_dropped})
        if table_digest(digests.table) != self._digest:
            self._write_generation(digests, columns)
            self._chunks = dict(digests.chunks)
            complete = len(self._prints) * 8 // CHUNK
            del self._prints[: complete * CHUNK // 8]
            self._prints_dropped += complete
        return self.saved()

    def saved(self) -> State:
        """The identifier of the generation that was saved or loaded last."""
        return {"digest": self._digest}

    def _columns(self) -> dict[str, Column]:
        """Everything in memory, as arrays."""
        hosts, later = self._hosts, self._queued()
        waiting = [(host.number, link) for host in self._by_number for link in host.waiting]
        columns: dict[str, Column] = {
            "state": self._state,
            "marks": self._marks,
            "host": self._host_numbers.numbers,
            "open": as_array(self._open),
            "at host": self._host_positions,
            "prints": self._prints,
            "ready": array("i", (hosts[name].number for name in self._ready.proven.hosts)),
            "later at": array("d", (time for time, _ in later)),
            "later": array("i", (hosts[name].number for _, name in later)),
            "due at": array("d", (time for time, _ in self._due)),
            "due": array("i", (link for _, link in self._due)),
            "delay": array("d", (host.delay for host in self._by_number)),
            "in flight": array("i", (host.in_flight for host in self._by_number)),
            "free at": array("d", (float(host.free_at) for host in self._by_number)),
            "waiting": array("i", (number for pair in waiting for number in pair)),
        }
        if self._slow.limit:
            columns |= {
                "slow": bytearray(json.dumps(self._slow_state()).encode()),
                "unproven": array("i", (hosts[name].number for name in self._ready.may_not_answer)),
                "trust": array("i", (host.trust for host in self._by_number)),
                "misses": array("i", (host.misses for host in self._by_number)),
            }
        if self._strangers:
            numbers = {host.name: host.number for host in self._by_number}
            columns["strangers"] = array("i", self._strangers.save(numbers))
        return columns

    def _write_generation(self, digests: ArrayDigests, columns: Mapping[str, Column]) -> None:
        self._failpoint("frontier begun")
        new, digest = self._base + 1, table_digest(digests.table)
        chunks = (
            (name, index, chunk)
            for name, column in columns.items()
            for index, chunk in chunks_of(column, self._prints_dropped if name == "prints" else 0)
            if (name, index) in digests.changed
        )
        self._file.write_generation(
            (new, digest, *self._written(), digests.table),
            chunks,
            lambda: self._failpoint("frontier written"),
        )
        self._base, self._digest = new, digest
        self._leftover.append((new, self._finished))
        self._finished = []
        self._file.empty_log()
        self._failpoint("frontier saved")

    def holds(self, state: State) -> bool:
        """Whether the file has the generation with this identifier."""
        return "digest" in state and self._file.generation(state) is not None

    def forget(self, but: Iterable[State]) -> None:
        """Delete all saved states `but` these; their space is used again."""
        rows = [self._file.generation(state) for state in but]
        remaining = sorted(row[0] for row in rows if row is not None)
        oldest = remaining[0] if remaining else 0
        void = [link for number, links in self._leftover if number <= oldest for link in links]
        self._leftover = [entry for entry in self._leftover if entry[0] > oldest]
        self._file.forget(remaining, void)

    def load(self, state: State) -> None:
        """Continue the state with this identifier, or the state of a MemoryFrontier.

        Raises InputError if the file does not have it completely.
        """
        delay, per_host, keep = self._delay, self._per_host, self._keep
        MemoryFrontier.__init__(self, delay=delay, per_host=per_host, keep=keep)
        self._by_number.clear()
        self._clear()
        if "digest" not in state:
            self._file.start_after(0, 0, 0, 0)
            self._load_memory_state(state)
            return
        generation = self._file.generation(state)
        if generation is None:
            raise self._file.damaged("it does not hold the frontier of the last checkpoint")
        self._base, links, hosts, moved, arrays = generation
        self._links_written, self._hosts_written, self._moved_written = links, hosts, moved
        self._digest = state["digest"]
        self._file.start_after(self._base, *self._written())
        self._file.check_rows(links, hosts)
        if table_digest(arrays) != self._digest:
            raise self._file.damaged("its list of arrays does not fit its digest")
        self._restore(links, json.loads(arrays))

    def _restore(self, count: int, arrays: Mapping[str, tuple[int, str]]) -> None:
        """Restore the frontier from its arrays, one after the other to save memory."""

        def column(name: str) -> bytearray:
            data, self._chunks[name] = self._file.read_array(name, *arrays[name], self._base)
            return data

        def numbers(name: str, kind: str = "i4") -> list[Any]:
            values: list[Any] = np.frombuffer(column(name), dtype=kind).tolist()
            return values

        for name in self._file.host_names(self._hosts_written):
            self._host(name)
        clocks = zip(
            numbers("delay", "f8"), numbers("in flight"), numbers("free at", "f8"), strict=True
        )
        delays = dict[float, float]()
        for host, clock in zip(self._by_number, clocks, strict=True):
            delay, host.in_flight, host.free_at = clock
            host.delay = delays.setdefault(delay, delay)
        pairs = iter(numbers("waiting"))
        for number, link in zip(pairs, pairs, strict=True):
            self._by_number[number].wait(link)
        names = [host.name for host in self._by_number]
        later, due = numbers("later at", "f8"), numbers("due at", "f8")
        self._queue(
            (time, names[number]) for time, number in zip(later, numbers("later"), strict=True)
        )
        self._due = list(zip(due, numbers("due"), strict=True))
        if "strangers" in arrays:
            self._strangers = Strangers.of(numbers("strangers"), names)
        self._state, self._marks = column("state"), column("marks")
        self._host_numbers.numbers.frombytes(column("host"))
        self._host_positions.frombytes(column("at host"))
        self._open = opened = array("i")
        opened.frombytes(column("open"))
        self._list_all_open(np.frombuffer(opened, dtype="i4"), count)
        unproven: list[int] = []
        if "slow" in arrays:
            self._load_slow(json.loads(column("slow")))
            unproven = numbers("unproven")
            trusts, misses = numbers("trust"), numbers("misses")
            for host, trust, late in zip(self._by_number, trusts, misses, strict=True):
                host.trust, host.misses = trust, late
        ready = (names[number] for number in numbers("ready"))
        self._ready.restore(self._hosts, ready, (names[number] for number in unproven))
        prints = column("prints")
        self._prints_dropped = count * 8 // CHUNK
        self._prints.frombytes(prints[self._prints_dropped * CHUNK :])
        self._index = UrlIndex.of(np.frombuffer(prints, dtype="u8"))
        for url, link in self._file.redirects(self._moved_written):
            self._index.put(url_hash64(url), link)

    def _list_all_open(self, opened: NDArray[np.int32], count: int) -> None:
        """Restore the lists of open links of the hosts, and the index of each link in `opened`."""
        self._positions = open_positions(opened, count)
        hosts = np.frombuffer(self._host_numbers.numbers, dtype="i4")
        host_positions = np.frombuffer(self._host_positions, dtype="i4")
        lists = open_by_host(opened, hosts, host_positions, len(self._by_number))
        for host, links in zip(self._by_number, lists, strict=True):
            host.open = links or ()

    def _load_memory_state(self, state: State) -> None:
        """Continue the state of a MemoryFrontier."""
        urls: list[str] = state["urls"]
        for (name, delay, in_flight, free_at), waiting in zip(
            state["hosts"], state["host_waiting"], strict=True
        ):
            host = self._host(name)
            host.delay, host.in_flight, host.waiting = delay, in_flight, list(waiting) or ()
            host.free_at = -np.inf if free_at is None else free_at
        self._state = bytearray(state["state"].tobytes())
        self._host_numbers.numbers.extend(self._host(host_of(url)).number for url in urls)
        self._host_positions = array("i", bytes(4 * len(urls)))
        for links in state["host_open"]:
            for position, link in enumerate(links):
                self._host_positions[link] = position
        self._open = array("i", state["open"].tolist())
        self._list_all_open(np.frombuffer(self._open, dtype="i4"), len(urls))
        self._load_queues(state)
        self._marks = bytearray(len(urls))
        for link, url in enumerate(urls):
            self._prints.append(url_hash64(url))
            self._index.put(self._prints[link], link)
        for url, link in state["aliases"]:
            self._rename(link, url)
        for link in sorted({link for _, link in state["aliases"]}):
            self._new_moved.append((link, urls[link]))  # the last one counts
        self._new = list(zip(urls, state["parent"].tolist(), state["depth"].tolist(), strict=True))
        self._flush()
        with self._file.writing() as db:
            db.executemany(
                "INSERT INTO in_links VALUES (?, ?, ?)",
                self._in_link_rows(revived(state["seen"])),
            )

    def _in_link_rows(
        self, seen: Iterable[tuple[LinkId, list[Seen]]]
    ) -> Iterator[tuple[LinkId, int, str]]:
        for link, every in seen:
            first = every[: self._keep]
            self._marks[link] += len(first)
            for place, (links, offset, *in_link) in enumerate(first):
                yield link, place, in_link_row(links[offset], in_link)
