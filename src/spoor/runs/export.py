"""Exports the documents of a run in any form, while it goes on or after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoor.errors import InputError
from spoor.formats.export import FORMS, form_of, write
from spoor.formats.exporters.columns import COLUMNS, COPIES, ON_REQUEST, Options
from spoor.formats.fields import FieldSpec, column_of, field_specs, require_microdata
from spoor.runs import files
from spoor.runs.documents import signature
from spoor.runs.near_copies import Copies, near_copies
from spoor.runs.selection import Selection

if TYPE_CHECKING:
    from spoor.runs.reader import Run


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export wrote."""

    form: str
    pages: int
    copies: int = 0
    """Near-copies that were left out."""


def export_run(
    run: Run,
    out: Path,
    form: str | None = None,
    *,
    selection: Selection | None = None,
    columns: Sequence[str] = (),
    fields: Sequence[str] = (),
    index: str = "spoor",
) -> Exported:
    """Write the documents of a selection to a file or folder.

    `form`: one of `spoor.formats.export.FORMS`; None: as the name says. `columns`: more columns, of
    `spoor.formats.exporters.columns.ON_REQUEST`. `fields`: `NAME=SELECTOR` each
    (`spoor.formats.fields`). Raises InputError where it cannot be written, or is the run's own.
    """
    selected = Selection() if selection is None else selection
    form = form_of(out, form)
    _refuse_own(run, out)
    needs = FORMS[form].needs
    asked = [name.strip().replace("-", "_") for name in columns]
    for name in asked:
        if name not in ON_REQUEST:
            have = ", ".join(ON_REQUEST)
            raise InputError(f"there is no column {name!r} to ask for; there are: {have}")
    if "microdata" in asked:
        require_microdata()
    specs = field_specs(fields)
    kinds = {name: kind for name, kind in COLUMNS.items() if name not in ON_REQUEST}
    kinds |= {name: kind for name, kind in ON_REQUEST.items() if name in asked or name in needs}
    kinds |= {} if selected.copies else {COPIES: "list<string>"}
    kinds |= column_of(specs)
    with ExitStack() as undo:
        copies = None
        if not selected.copies:
            copies = undo.enter_context(near_copies(map(signature, run.select(selected))))
        options = Options(kinds, run.path, index, _title(run))
        rows = _rows(run, selected, copies, kinds, specs, passages="passages" in needs)
        pages = write(rows, out, form, options)
        return Exported(form, pages, copies.count if copies else 0)


def _rows(
    run: Run,
    selection: Selection,
    copies: Copies | None,
    columns: dict[str, str],
    specs: Sequence[FieldSpec],
    *,
    passages: bool,
) -> Iterator[dict[str, Any]]:
    for document in run.select(selection):
        number = document.row.number
        if copies is not None and copies.is_copy(number):
            continue
        row = document.exported(columns)
        if copies is not None:
            row[COPIES] = copies.of(number)
        if specs:
            row |= document.fields(specs)
        if passages:
            found = document.all_passages if selection.everything else document.passages
            row["passages"] = [
                {
                    "number": place,
                    "text": one.text,
                    "headings": list(one.headings),
                    "start": one.start,
                    "end": one.end,
                    "passage_score": one.score,
                }
                for place, one in enumerate(found, 1)
            ]
        yield row


def _title(run: Run) -> str:
    settings = run.settings
    about = settings.topic or ", ".join(settings.want) or settings.topic_file
    return f"Pages about {about}" if about else ""


def _refuse_own(run: Run, out: Path) -> None:
    """Raises InputError where an export would replace the run, or a file of it."""
    folder, target = run.path.resolve(), out.resolve()
    shards = [shard.resolve() for shard in files.shards(run.path)]
    own = target.parent == folder and files.is_own(target.name)
    if own or target == folder or {target, *target.parents} & {*shards} or target in folder.parents:
        raise InputError(f"{out} is the run's own; give another name")
