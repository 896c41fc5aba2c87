"""A reader of LlamaIndex over the documents of a run (extra `llama-index`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from spoor.legible import legible
from spoor.runs.reader import Run


class SpoorReader(BaseReader):
    """Reads the relevant documents of the run in a folder, or `everything`, as Markdown,
    without letters that nobody sees."""

    def lazy_load_data(
        self, run: str | Path, *, everything: bool = False, **selection: Any
    ) -> Iterator[Document]:
        """One by one, read when it is asked for. `selection` is as in `Run.documents`: min_score,
        since, copies. Raises InputError where there is no run."""
        for document in Run(Path(run)).documents(everything=everything, **selection):
            yield Document(
                text=legible(document.markdown), metadata=document.metadata, doc_id=document.url
            )
