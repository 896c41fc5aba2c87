"""How many documents of each kind a run has, and their bytes, kept up to date."""

from __future__ import annotations

from dataclasses import dataclass

from spoor.documents.kinds import tell
from spoor.formats.warc_reader import head_at
from spoor.runs.reader import Run

AT_ONCE = 5_000
"""Most documents that are looked at in one refresh: each takes .1 ms, more on a spinning disk."""


@dataclass(slots=True)
class Kind:
    """The sums of one kind."""

    name: str
    """As in `spoor.documents.document.Document`, told by its first bytes; else `not archived` or
    `damaged`."""
    pages: int = 0
    relevant: int = 0
    size: int = 0
    """Bytes, decompressed."""


class Kinds:
    """Sums over the documents of a run, as far as they were looked at."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._last = 0
        self._kinds: dict[str, Kind] = {}

    def refresh(self) -> list[Kind]:
        """Look at new documents; the kinds, those with most documents first."""
        if self._run.in_shards:  # rows of before come in between
            self._last, self._kinds = 0, {}
        for count, row in enumerate(self._run.places(self._last)):
            if count == AT_ONCE:
                break
            self._last = row["seq"]
            name = "not archived"
            file, *place = row["warc_file"], row["warc_offset"], row["warc_length"]
            if None not in (file, *place):
                head = head_at(self._run.path / file, *place)
                name = "damaged"
                if head is not None:
                    name = tell(head.body, head.content_type, row["url"]).kind
            kind = self._kinds.setdefault(name, Kind(name))
            kind.pages += 1
            kind.relevant += bool(row["relevant"])
            kind.size += row["size"]
        return sorted(self._kinds.values(), key=lambda kind: (-kind.pages, kind.name))
