"""Exports the documents of a run in any form, while it goes on or after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.distribution import need_extra
from spoor.documents.document import PARTS
from spoor.errors import InputError
from spoor.formats.export import FORMS, form_of, urls_of, write
from spoor.formats.exporters.columns import (
    COLUMNS,
    COPIES,
    ON_REQUEST,
    REQUESTS,
    RESERVED,
    SEEDS,
    LeftOut,
    Options,
)
from spoor.formats.exporters.csv import cell
from spoor.formats.fields import column_of, field_specs, require_microdata
from spoor.formats.object_stores import is_url, new_object
from spoor.hashing import hash64
from spoor.judges.page_language import one_norwegian
from spoor.runs import files
from spoor.runs.by_seed import NO_SEED, listed_sites, sites_of_seeds
from spoor.runs.documents import RunDocument
from spoor.runs.pass_costs import PassCosts
from spoor.runs.selection import Selection
from spoor.runs.stored_run import StoredRun

if TYPE_CHECKING:
    from spoor.runs.requisites import Needed

_MORE = 1 << 20
"""URLs of earlier exports that are taken at a time, and as many as are known."""
_HEAD = 100_000
"""Characters of the first line of a table that are looked at."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote."""

    form: str
    pages: int
    copies: int = 0
    """Near-copies that were left out."""
    others: int = 0
    """Documents of other languages, or of an earlier export, that were left out."""
    left_out: LeftOut = field(default_factory=LeftOut)
    """Pages that the form has no room for."""


def export_run(
    run: StoredRun,
    out: Path | str,
    form: str | None = None,
    *,
    selection: Selection | None = None,
    columns: Sequence[str] = (),
    fields: Sequence[str] = (),
    index: str = "spoor",
    by_seed: bool = False,
    sites: Path | str | None = None,
    requests: bool = False,
    not_in: Sequence[Path | str] = (),
    rows_per_file: int | None = None,
    report_progress: Callable[[int], object] = lambda done: None,
) -> Exported:
    """Write the documents of a selection to a file or folder, or a file to an object store
    (`s3://BUCKET/NAME`, `gs://BUCKET/NAME`). `by_seed`: instead of a selection the best page of the
    site of each seed, or why there is none, in a table. `sites`: the same for each row of a list of
    sites, in its order, with its own columns before these.
    `requests`: instead of them all requests that ended, in a table or as a log. `not_in`: without
    the documents of these earlier exports. `rows_per_file`: to a folder of files with so many rows
    each.

    `form`: one of `spoor.formats.export.FORMS`; None: as the name says. `columns`: more columns, of
    `spoor.formats.exporters.columns.ON_REQUEST`. `fields`: `NAME=SELECTOR` each
    (`spoor.formats.fields`). `report_progress`: how many documents were read, of those that
    `StoredRun.reads` counts. Raises InputError where it cannot be written, or is the run's own.
    """
    if run.is_watch and (by_seed or sites is not None or requests or form == "log"):
        raise InputError(
            f"{run.path} is a watch, which has no row for each seed or request: what it told can be"
            f" exported, and all requests that brought a page stand in its {files.archive(0)}"
        )
    selected = Selection() if selection is None else selection
    if is_url(str(out)):
        form = form_of(Path(str(out).rpartition("/")[2]), form)
        if FORMS[form].is_folder or rows_per_file is not None:
            raise InputError(f"{form} is a folder of files; {out} can be a file only")
    else:
        out = Path(out)
        form = form_of(out, form)
        _refuse_own(run, out)
        _refuse_list(out, form, sites)
    by_seed = by_seed or sites is not None
    requests = requests or form == "log"
    if by_seed or requests:
        option, row = ("--requests", "request") if requests else ("--by-seed", "seed")
        if not FORMS[form].is_table:
            tables = ", ".join(name for name, one in FORMS.items() if one.is_table)
            raise InputError(f"{option} is for a table ({tables}), and {form} is none")
        if selected != Selection() or not_in or (requests and (by_seed or columns or fields)):
            raise InputError(f"{option} has a row for each {row}; it takes no other choice of rows")
    if requests:
        from spoor.runs.requests import requests_of

        options = Options(REQUESTS, run.path)
        with nullcontext(out) if isinstance(out, Path) else new_object(out) as place:
            count = write(requests_of(run), place, form, options, rows_per_file)
            return Exported(form, count)
    needs = FORMS[form].needs
    asked = [name.strip().replace("-", "_") for name in columns]
    for name in asked:
        if name in COLUMNS and name not in ON_REQUEST:
            raise InputError(f"column {name!r} is in every table; leave it out of --with")
        if name not in ON_REQUEST:
            have = ", ".join(ON_REQUEST)
            raise InputError(f"there is no column {name!r} to ask for; there are: {have}")
    if "microdata" in asked:
        require_microdata()
    specs = field_specs(fields)
    if FORMS[form].is_bare:
        asked, specs = [], []
    listed = None
    if sites is not None:
        listed = listed_sites(Path(sites), routes=run.settings.render != "never")
    own = () if listed is None else _names_of(listed.columns)
    kinds = dict.fromkeys(own, "string") | ({**SEEDS} if by_seed else {})
    kinds |= {name: kind for name, kind in COLUMNS.items() if name not in ON_REQUEST}
    kinds |= {name: kind for name, kind in ON_REQUEST.items() if name in asked or name in needs}
    kinds |= {} if selected.copies else {COPIES: "list<string>"}
    kinds |= column_of(specs)
    parts = {*PARTS, "keywords"} & kinds.keys() & ON_REQUEST.keys()
    if selected.languages or {"words", "text_language"} & kinds.keys():
        parts |= {"text", "language"}
    if selected.languages:
        need_extra("language", "--language", "py3langid")
    earlier = _Earlier(not_in)
    if "passages" in needs:
        parts |= {"text", "blocks"}
    copied = others = 0

    def rows(needed: Needed | None) -> Iterator[dict[str, Any]]:
        nonlocal copied, others
        seen = set[int]()
        for document, copies in run.select(selected, report_progress, lambda row: parts):
            if document.url in earlier or not _is_in(document, selected.languages):
                others += 1
                continue
            copied += len(copies)
            row = document.exported(kinds)
            if specs:
                row |= document.fields(specs)
            if not selected.copies:
                row[COPIES] = copies
            if "passages" in needs:
                row["passages"] = _passages(document, everything=selected.everything)
            if needed is not None:
                row["requisites"] = needed.archived(document.row.ticket, seen)
            yield row

    def seed_rows() -> Iterator[dict[str, Any]]:
        seeds = None if listed is None else [seed for _, seed, _, _ in listed.rows]
        costs = PassCosts(in_order=False)
        for at, site in enumerate(sites_of_seeds(run, seeds, costs)):
            report_progress(at)
            row = dict.fromkeys(kinds)
            if site.best is not None:
                document = run.document_of(site.best, costs)
                row |= document.exported(kinds) | (document.fields(specs) if specs else {})
            given, _, why, cells = (site.seed, "", "", ()) if listed is None else listed.rows[at]
            outcome = NO_SEED if why else site.outcome
            said = (given, outcome, why or site.note, site.pages, site.relevant)
            yield row | dict(zip(SEEDS, said, strict=True)) | dict(zip(own, cells, strict=True))

    named = (*asked, *(spec.name for spec in specs), *(() if selected.copies else (COPIES,)))
    options = Options(kinds, run.path, index, _title(run), run.begins_page, named)
    needing: AbstractContextManager[Needed | None] = nullcontext()
    if FORMS[form].is_archive:
        from spoor.runs.requisites import needed_by_pages

        needing = needed_by_pages(run.path)
    with nullcontext(out) if isinstance(out, Path) else new_object(out) as place, needing as needed:
        written = seed_rows() if by_seed else rows(needed)
        pages = write(written, place, form, options, rows_per_file)
    return Exported(form, pages, copied, others, options.left_out)


class _Earlier:
    """The URLs of the documents of earlier exports: 8 bytes each, and thrice as much while they are
    read."""

    def __init__(self, exports: Sequence[Path | str]) -> None:
        found = (hash64(url) for path in exports for url in urls_of(Path(path)))
        self._hashes = np.empty(0, np.uint64)
        # An export may have one URL again and again.
        while len(more := np.fromiter(islice(found, max(_MORE, len(self._hashes))), np.uint64)):
            self._hashes = np.union1d(self._hashes, more)

    def __contains__(self, url: str) -> bool:
        # A table for spreadsheets has some of them otherwise.
        return len(self._hashes) > 0 and any(
            self._has(hash64(one)) for one in {url, str(cell(url))}
        )

    def _has(self, number: int) -> bool:
        at = int(self._hashes.searchsorted(np.uint64(number)))
        return at < len(self._hashes) and int(self._hashes[at]) == number


def _is_in(document: RunDocument, languages: Sequence[str]) -> bool:
    if not languages:
        return True
    code = document.text_language or document.language.partition("-")[0].lower()
    return one_norwegian(code) in map(one_norwegian, languages)


def _passages(document: RunDocument, *, everything: bool) -> list[dict[str, Any]]:
    return [
        {
            "number": place,
            "text": one.text,
            "headings": list(one.headings),
            "start": one.start,
            "end": one.end,
            "passage_score": one.score,
        }
        for place, one in enumerate(document.all_passages if everything else document.passages, 1)
    ]


def _title(run: StoredRun) -> str:
    settings = run.settings
    about = settings.topic or ", ".join(settings.want) or settings.topic_file
    return f"Pages about {about}" if about else ""


def _names_of(columns: Sequence[str]) -> list[str]:
    """What the columns of a list are called in a table: as they are there, each once, and not as
    one of ours."""
    names: dict[str, None] = {}
    given = frozenset(columns)
    for number, column in enumerate(columns, 1):
        name = column or f"column {number}"
        name = free = f"list_{name}" if name.lower() in RESERVED else name
        while free in names or (free != name and free in given):
            number, free = number + 1, f"{name} ({number})"
        names[free] = None
    return [*names]


def _refuse_list(out: Path, form: str, sites: Path | str | None) -> None:
    """Raises InputError where an export would replace the list of sites itself, or another table
    that no export wrote: of a list its owner may have no copy."""
    if not os.path.isfile(out):  # which is no error of a name that is too long
        return
    head = list[str]()
    if form == "csv":
        try:
            with out.open(encoding="utf-8-sig", errors="replace") as file:
                head = file.readline(_HEAD).rstrip("\r\n").split(",")
        except OSError as error:
            raise InputError(f"cannot read {out}: {error.strerror}") from error
    same = sites is not None and os.path.isfile(sites) and out.samefile(sites)
    if same or (form == "csv" and not {"url", "score", "relevant", "fetched_at"} <= {*head}):
        raise InputError(f"{out} is there, and is no export: give another name, or take it away")


def _refuse_own(run: StoredRun, out: Path) -> None:
    """Raises InputError where an export would replace the run, or a file of it."""
    folder, target = run.path.resolve(), out.resolve()
    shards = [shard.resolve() for shard in files.shards(run.path)]
    own = target.parent == folder and files.is_own(target.name)
    if own or target == folder or {target, *target.parents} & {*shards} or target in folder.parents:
        raise InputError(f"{out} is the run's own; give another name")
