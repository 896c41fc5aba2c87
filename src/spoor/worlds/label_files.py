"""Labels of pages from a file of their own: of archives, which have none."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from spoor.errors import InputError
from spoor.web.urls import canonical
from spoor.worlds.store import place_of
from spoor.worlds.store_rows import Packed

LONGEST_LINE = 1 << 16
"""Characters of a line."""

MOST_LABELS = 256
"""Of a URL."""


class PageLabels:
    """The labels that files give to URLs. The pages of a place (`place_of`: with or without index
    file or last slash, http or https) have the labels of each of its URLs.

    A file is CSV, or TSV by its name: a URL and a label a line; more columns are more labels, a
    first line that begins with `url` names the columns. A line that is only a URL has the name of
    the file as its label, without the suffix. Empty lines, and such as begin with `#`, say nothing.
    Raises InputError with file and line. O(lines) memory.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        self._labels: dict[str, tuple[str, ...]] = {}
        self._unused: dict[str, str] = {}
        """Place → the URL by which it was named, of those that no page had yet."""
        for file in files:
            self._read(file)

    def _read(self, file: Path) -> None:
        try:
            with file.open(encoding="utf-8-sig", newline="") as lines:
                read = iter(partial(lines.readline, LONGEST_LINE + 1), "")
                for number, line in enumerate(read, 1):
                    if line.strip() and not line.startswith("#"):
                        self._take(file, number, line)
        except UnicodeDecodeError as error:
            raise InputError(f"{file} is no text in UTF-8") from error
        except OSError as error:
            raise InputError(f"cannot read {file}: {error.strerror}") from error

    def _take(self, file: Path, number: int, line: str) -> None:
        where = f"{file}:{number}"
        if len(line) > LONGEST_LINE:
            raise InputError(f"{where} has more than {LONGEST_LINE:,} characters")
        tabs = file.suffix.lower() == ".tsv"
        try:
            (cells,) = csv.reader([line], delimiter="\t" if tabs else ",", strict=True)
        except (csv.Error, ValueError) as error:
            raise InputError(
                f"{where} is no line of {'TSV' if tabs else 'CSV'}: {error}"
            ) from error
        url, *labels = [cell.strip() for cell in cells]
        if number == 1 and url.lower() == "url":
            return
        try:
            place = place_of(canonical(url))
        except ValueError as error:
            raise InputError(
                f"{where}: {url!r} is no URL ({error}); a line is a URL and its label"
            ) from error
        mine = [label for label in labels if label] if labels else [file.stem]
        known = self._labels.get(place, ())
        if new := [label for label in dict.fromkeys(mine) if label not in known]:
            if len(known) + len(new) > MOST_LABELS:
                raise InputError(f"{where}: {url!r} has more than {MOST_LABELS} labels")
            self._labels[place] = (*known, *new)
        self._unused.setdefault(place, url)

    def of(self, packed: Packed) -> Packed:
        """The recording, with the labels that the files give to its URL too."""
        if not self._labels:
            return packed
        place = place_of(packed.url)
        if place not in self._labels:
            return packed
        self._unused.pop(place, None)
        labels = tuple(sorted({*packed.labels, *self._labels[place]}))
        return packed._replace(labels=labels)

    def unused(self) -> list[str]:
        """URLs of the files that no recording had."""
        return list(self._unused.values())
