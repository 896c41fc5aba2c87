"""The documents of a run, as they are read out of its archive when they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import Any

from spoor.display import html_link, html_reasons, shown
from spoor.documents.document import Document, Unreadable
from spoor.documents.errors import UnreadableError
from spoor.documents.kinds import tell
from spoor.documents.rows import html_parts_row_of, no_parts, parts_of, parts_row_of
from spoor.errors import InputError
from spoor.formats.exporters.columns import BODIES, ON_REQUEST
from spoor.formats.fields import FieldSpec, require_microdata, stated
from spoor.formats.warc_reader import Archived, reply_at
from spoor.isolate.bounds import DOCUMENT
from spoor.isolate.helper import MOST_ANSWER, GivenUpError, LateError, Question
from spoor.isolate.helper_pool import bounded
from spoor.isolate.parsing import extract, parse_page
from spoor.judges.page_language import surely
from spoor.runs.pass_costs import PassCosts
from spoor.runs.passages import Passage, PassageScores, passages_of
from spoor.runs.rows import PageRow, Why
from spoor.types import Page
from spoor.web.text import terms
from spoor.web.urls import domain_of

SOON = 0.5
"""Seconds of processor time of a page of HTML that is read before it is asked for."""
MOST_AHEAD, MOST_AHEAD_PER_BYTE = 1 << 19, 8
"""Bytes of what is said of a document that is read before it is asked for, and more for each of its
own. A page that was extracted says a tenth of its bytes; what is packed may say more, and is read
again where it does."""


class RunDocument:
    """One document of a run.

    What the run noted costs nothing; what the document itself says is read out of the archive once,
    when it is first asked for, and is empty where the document does not say it, cannot be read, or
    was not archived (`--no-warc`). Raises InputError where the archive is damaged there.
    """

    def __init__(
        self,
        folder: Path,
        row: PageRow,
        scores: PassageScores,
        costs: PassCosts | None = None,
    ) -> None:
        """`costs`: of the pass in which it is read."""
        self._folder = folder
        self._costs = PassCosts() if costs is None else costs
        self._scores = scores
        self._ahead: Mapping[str, Any] = {}
        """What was read before it was asked for, by its names in `PARTS`."""
        self.row = row
        """As the run noted it."""

    def __repr__(self) -> str:
        return f"RunDocument({self.url!r}, score={self.score:.2f})"

    def _repr_html_(self) -> str:
        """As a notebook shows it: title, address, score with its reasons, and how it begins."""
        score = f"score {self.score:.2f}{', relevant' if self.relevant else ''}"
        begins = escape(shown(self.text[:400]))
        head = (
            f"<b>{html_link(self.url, self.title)}</b><br><small>{escape(shown(self.url))}</small>"
        )
        return f"<div>{head}<br>{score}<br>{html_reasons(self.why)}<p>{begins}</p></div>"

    # -- noted by the run

    @property
    def url(self) -> str:
        return self.row.url

    @property
    def score(self) -> float:
        """Of the judge, in [0, 1]."""
        return self.row.score

    @property
    def relevant(self) -> bool:
        return self.row.relevant

    @property
    def why(self) -> Why:
        """(reason, share) of its score."""
        return self.row.why

    @property
    def path(self) -> Sequence[str]:
        """URLs from the seed to this document."""
        return self.row.path

    @property
    def fetched_at(self) -> datetime:
        """In UTC."""
        return datetime.fromtimestamp(self.row.time, UTC)

    @property
    def title(self) -> str:
        return self.row.title or str(self._part("title"))

    @property
    def metadata(self) -> dict[str, Any]:
        """What is known of it beside its text, as JSON values; `source` is its URL."""
        return {
            "source": self.url,
            "title": self.title,
            "kind": self.kind,
            "language": self.language,
            "date": self.date,
            "author": self.author,
            "score": self.score,
            "fetched_at": self.fetched_at.isoformat(),
        }

    # -- read out of the archive

    @cached_property
    def _reply(self) -> Archived | None:
        place = self.row.place
        if place is None:
            return None
        file = self._folder / place[0]
        reply = reply_at(file, *place[1:], self.url)
        if reply is not None:
            self._costs.unpacked(file, place[1], reply.length, len(reply.body))
        return reply

    @cached_property
    def content(self) -> Document:
        """What it becomes for a reader; without text where it cannot be read."""
        reply = self._reply
        if reply is None:
            return Document(self.url, "", "")
        with self._costs.reading(reply.length):
            seconds = self._costs.seconds(reply.length)
            read = extract(reply.content_type, self.url, reply.body, seconds=seconds)
        if isinstance(read, Unreadable):
            return Document(self.url, read.kind, "", notes=(read.reason,))
        return read

    def _part(self, name: str) -> Any:
        return self._ahead[name] if name in self._ahead else getattr(self.content, name)

    def question(self, names: Collection[str]) -> Question | None:
        """What a helper is asked for these `PARTS` before anybody asks for them; None where they
        are read then, or it stands in no archive."""
        try:
            reply = self._reply
        except (InputError, OSError):  # it says so then
            return None
        if reply is None:
            return None
        facts = {"url": self.url, "content_type": reply.content_type, "names": sorted(names)}
        is_html = self.kind == "html"
        bounds = DOCUMENT._replace(seconds=SOON) if is_html else DOCUMENT
        most = MOST_AHEAD + MOST_AHEAD_PER_BYTE * len(reply.body)
        parser = html_parts_row_of if is_html else parts_row_of
        return Question(parser, reply.body, facts, bounds=bounds, most=min(most, MOST_ANSWER))

    def take(self, question: Question, answer: Any) -> None:
        """The answer to a question of `question`, or a GivenUpError."""
        names = question.facts["names"]
        if isinstance(answer, LateError) and question.bounds == DOCUMENT:
            self._ahead = no_parts(names)
        elif not isinstance(answer, GivenUpError):
            with suppress(ValueError, TypeError):  # a helper that was taken over
                self._ahead = parts_of(answer, names)

    @property
    def length(self) -> int:
        """Bytes of the archive that are read for it."""
        return 0 if self._reply is None else self._reply.length

    @property
    def archived(self) -> bool:
        """Whether it stands in the archive."""
        return self._reply is not None

    @property
    def bytes(self) -> bytes:
        """As it was received, without its content encoding."""
        return b"" if self._reply is None else self._reply.body

    @property
    def kind(self) -> str:
        """`html`, `pdf`, …: see `spoor.documents.document.Document`."""
        reply = self._reply
        return "" if reply is None else tell(reply.body, reply.content_type, self.url).kind

    @property
    def media_type(self) -> str:
        return self.content.media_type

    @property
    def language(self) -> str:
        """A BCP 47 tag, as declared."""
        return str(self._part("language"))

    @property
    def date(self) -> str:
        """ISO 8601, as declared."""
        return str(self._part("date"))

    @property
    def author(self) -> str:
        return str(self._part("author"))

    @property
    def licence(self) -> str:
        """URL or name of the licence that it declares."""
        return str(self._part("licence"))

    @property
    def keywords(self) -> list[str]:
        """The tags and categories that a page says it is filed under, and what its breadcrumbs pass
        through; those that its head has for search engines are none."""
        if "keywords" in self._ahead:
            return list(self._ahead["keywords"])
        if self._reply is None or self.kind != "html":
            return []
        try:
            page = parse_page(self.bytes, self.url, content_type=self._reply.content_type)
        except UnreadableError:
            return []
        return [*page.keywords]

    @property
    def text(self) -> str:
        """The main content, an empty line between its parts."""
        return str(self._part("text"))

    @property
    def words(self) -> int:
        """Of the main content; of a script without spaces, roughly its signs."""
        return len(terms(self.text))

    @property
    def text_language(self) -> str:
        """The language of the main content by an identifier (ISO 639-1, mostly), whatever the
        document declares; empty where none is more probable than all others together. Raises
        InputError without the extra `language`."""
        return surely(Page(self.url, title=self.title, text=self.text))

    @property
    def markdown(self) -> str:
        """The same as Markdown."""
        return str(self._part("markdown"))

    @property
    def links(self) -> list[str]:
        """Canonical URLs of its links, each once."""
        if "links" in self._ahead:
            return list(self._ahead["links"])
        return list(dict.fromkeys(link.url for link in self.content.links))

    @property
    def passages(self) -> list[Passage]:
        """Pieces of the text, sized for retrieval, that hold words of the topic; all where none
        does."""
        return passages_of(self._part("blocks"), self._scores, self.text)

    @property
    def all_passages(self) -> list[Passage]:
        """Every passage of the text."""
        return passages_of(self._part("blocks"), self._scores, self.text, everything=True)

    @property
    def json_ld(self) -> list[Any] | None:
        """What the page states as JSON-LD; None where it states none."""
        return self._stated(["json_ld"]).get("json_ld")

    @property
    def microdata(self) -> list[Any] | None:
        """The items that it states as microdata; None where it states none. Raises InputError
        without the extra `fields`."""
        require_microdata()
        return self._stated(["microdata"]).get("microdata")

    @property
    def tables(self) -> list[Any] | None:
        """Its tables: {`caption`, `rows`}; None where it has none."""
        return self._stated(["tables"]).get("tables")

    def fields(self, specs: Sequence[FieldSpec]) -> dict[str, Any]:
        """The values of fields (`spoor.formats.fields.field_specs`); None where it has none."""
        values: dict[str, Any] = dict.fromkeys(spec.name for spec in specs)
        values.update(self._stated([], specs).get("fields", {}))
        return values

    def _stated(self, names: list[str], specs: Sequence[FieldSpec] = ()) -> dict[str, Any]:
        """What an HTML page states, read under limits; nothing of other kinds, and of a page that
        would cost too much."""
        reply = self._reply
        if reply is None or tell(reply.body, reply.content_type, self.url).kind != "html":
            return {}
        facts = {
            "url": self.url,
            "content_type": reply.content_type,
            "names": names,
            "selectors": [[spec.name, spec.selector, spec.many] for spec in specs],
        }
        try:
            with self._costs.reading(reply.length):
                bounds = DOCUMENT._replace(seconds=self._costs.seconds(reply.length))
                return dict(bounded(stated, reply.body, facts, bounds=bounds))
        except GivenUpError:
            return {}

    def exported(self, columns: Collection[str]) -> dict[str, Any]:
        """The document as a row of an export: what the run noted, and of what it says itself these
        columns; None where it says nothing."""
        row = self.row.exported()
        for name in ON_REQUEST:
            if name in columns:
                value = getattr(self, name)
                row[name] = None if value in ("", []) and name not in BODIES else value
        return row


def signatures(
    documents: Callable[[Callable[[PageRow], Collection[str]]], Iterable[RunDocument]],
    seeds: Sequence[str],
) -> Iterator[tuple[int, str, str, bytes]]:
    """What near-copies are found by: number, URL, text, digest of the bytes. The documents of the
    seeds' domains come first: what another site copied from them does not stand for them.
    `documents`: those of a selection, by what is asked of each."""
    named = {domain_of(url) for url in seeds}

    def is_own(url: str) -> bool:
        return domain_of(url) in named

    def wanted(own: bool, row: PageRow) -> Collection[str]:
        return ("text",) if is_own(row.url) == own else ()

    for own in (True, False):
        for document in documents(partial(wanted, own)):
            if is_own(document.url) == own:
                digest = hashlib.sha256(document.bytes).digest()
                yield document.row.number, document.url, document.text, digest
