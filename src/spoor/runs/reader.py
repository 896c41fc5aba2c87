"""A run as its users have it: what is stored, searched, exported and labelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spoor.distribution import import_extra
from spoor.documents.document import PARTS
from spoor.errors import InputError
from spoor.formats.exporters.columns import COLUMNS
from spoor.judges.languages import language_code
from spoor.runs import files, shards
from spoor.runs.answers import Answer, answers, asked_words
from spoor.runs.documents import RunDocument
from spoor.runs.export import export_run
from spoor.runs.labelling import label_page, policy_learns
from spoor.runs.labels import JUDGE_LEARNS, Label
from spoor.runs.pass_costs import PassCosts
from spoor.runs.search import Found, search
from spoor.runs.selection import Selection
from spoor.runs.stored_run import StoredRun

if TYPE_CHECKING:
    from pandas import DataFrame


LOOKED_AT = 12
"""Documents in which an answer is looked for."""


class Run(StoredRun):
    """A run in its folder. Only `label`, `export` and, for its index, `search` and `answers`
    write."""

    def search(self, words: str, *, limit: int = 10, everything: bool = True) -> list[Found]:
        """The documents that hold all `words`, best first (`spoor.runs.search.search`). Raises
        InputError where there is no word."""
        return search(self, words, limit=limit, everything=everything)

    def answers(self, question: str, *, limit: int = 5) -> list[Answer]:
        """The passages that hold most of a question's words, best first, out of the `LOOKED_AT`
        documents that hold them most (`spoor.runs.answers`). Raises InputError where it has no
        word."""
        words = " ".join(asked_words(question))
        return answers(question, self.documents_with(words), limit=limit)

    def documents_with(self, words: str, costs: PassCosts | None = None) -> Iterator[RunDocument]:
        """The `LOOKED_AT` documents that hold most of some words, best first, in a pass with these
        `costs`. Raises InputError where there is no word."""
        costs = PassCosts(in_order=False) if costs is None else costs
        found = search(self, words, limit=LOOKED_AT, any_word=True)
        for row in self.numbered([one.number for one in found]):
            yield self.document_of(row, costs)

    def to_pandas(
        self,
        *,
        everything: bool = False,
        min_score: float | None = None,
        since: float | None = None,
        copies: bool = True,
        columns: Sequence[str] = ("kind", "language", "date", "author", "text"),
    ) -> DataFrame:
        """The documents as a data frame, a row each, with what the run noted and these columns
        (`spoor.formats.exporters.columns.ON_REQUEST`). It stands in memory as a whole: Parquet, by
        `export`, is for more. Raises InputError without the extra `pandas`."""
        (pandas,) = import_extra("pandas", "A data frame", "pandas")
        parts = PARTS.intersection(columns)
        selection = Selection(everything, min_score, since, copies)
        rows = (
            document.exported(columns)
            for document, _ in self.select(selection, wanted=lambda row: parts)
        )
        names = [*(name for name in COLUMNS if name != "text"), *columns]
        frame: DataFrame = pandas.DataFrame.from_records(
            ([row[name] for name in names] for row in rows), columns=names
        )
        frame["fetched_at"] = pandas.to_datetime(frame["fetched_at"], utc=True)
        return frame

    def export(
        self,
        out: Path | str,
        kind: str | None = None,
        *,
        everything: bool = False,
        text: bool = False,
        index: str = "spoor",
        columns: Sequence[str] = (),
        fields: Sequence[str] = (),
        min_score: float | None = None,
        since: float | None = None,
        copies: bool = True,
        by_seed: bool = False,
        sites: Path | str | None = None,
        requests: bool = False,
        languages: Sequence[str] = (),
        not_in: Sequence[Path | str] = (),
        rows_per_file: int | None = None,
    ) -> int:
        """Write the relevant documents, or `everything`, to a file or folder; returns how many.

        `kind`: one of `spoor.formats.export.FORMS`; None: by the file's name. `text`: with the main
        text; `columns` and `fields`: more columns (`spoor.runs.export.export_run`). `index`: of
        bulk lines. `min_score`, `since`, `copies`: see `documents`. `by_seed`: a row for each seed
        instead, with the best page of its site (`spoor.runs.by_seed`). `sites`: a row for each of a
        list of sites, with its columns. `requests`: a row for each request that ended. `languages`:
        only documents in these, by their text. `not_in`: without those of earlier exports.
        `rows_per_file`: to a folder of files with so many rows each. Raises
        InputError where it cannot be written, or is the run's own.
        """
        return export_run(
            self,
            out,
            kind,
            selection=Selection(
                everything, min_score, since, copies, tuple(map(language_code, languages))
            ),
            not_in=not_in,
            rows_per_file=rows_per_file,
            columns=[*columns, *(("text",) if text else ())],
            fields=fields,
            index=index,
            by_seed=by_seed,
            sites=sites,
            requests=requests,
        ).pages

    def label(self, url: str, relevant: bool) -> Label:
        """Say whether a page is relevant; its crawl or watch learns from that.

        Raises InputError if the run has no such page, or cannot be written.
        """
        try:
            url = self.named(url)
        except ValueError as error:
            raise InputError(str(error)) from None
        row = self._find("pages", url)
        if row is None:
            raise InputError(
                f"{self.path} has no page {url}; its pages are those that were fetched"
            )
        folder = files.shard(self.path, row["shard"]) if self.in_shards else self.path
        learns = self._learns_from_labels()
        label = label_page(folder, url, relevant, was=bool(row["relevant"]), learns=learns)
        if folder != self.path and not label.running:
            shards.write_results(self.path)
        return label

    def _learns_from_labels(self) -> bool:
        if self.is_watch:
            return bool(self.noted(JUDGE_LEARNS))
        return policy_learns(self.settings.policy)
