"""A document loader of LangChain over the documents of a run (extra `langchain`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from spoor.legible import legible
from spoor.runs.reader import Run


class SpoorLoader(BaseLoader):
    """The relevant documents of the run in a folder, or `everything`, as Markdown,
    without letters that nobody sees.

    `selection` is as in `Run.documents`: min_score, since, copies. Raises InputError where there is
    no run.
    """

    def __init__(self, run: str | Path, *, everything: bool = False, **selection: Any) -> None:
        self._run = Run(Path(run))
        self._selection = {"everything": everything, **selection}

    def lazy_load(self) -> Iterator[Document]:
        """One by one, read when it is asked for."""
        for document in self._run.documents(**self._selection):
            yield Document(page_content=legible(document.markdown), metadata=document.metadata)
