"""Passages of what was fetched that answer a question best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spoor.judges.similarity import Bm25, content_stems
from spoor.runs.documents import RunDocument
from spoor.types import Page

MOST_PER_DOCUMENT = 2
"""Passages of one document."""

MOST_COMPARED = 5_000
"""Passages, of all documents together."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A passage of a document."""

    url: str
    title: str
    headings: tuple[str, ...]
    """That it stands under, outermost first."""
    text: str
    score: float
    """BM25 of the question's words among all passages that were compared, times the share of them
    that it has, in [0, 1]; 0.45 is a passage of average length with each of them once."""
    lacks: tuple[str, ...]
    """Words of the question, stemmed, that neither it nor what it stands under has."""

    def as_json(self) -> dict[str, Any]:
        """As a line for a program."""
        return {
            "url": self.url,
            "title": self.title[:300],
            "headings": [heading[:300] for heading in self.headings],
            "score": round(self.score, 3),
            "lacks": list(self.lacks),
            "text": self.text,
        }


def answers(question: str, documents: Iterable[RunDocument], *, limit: int = 5) -> list[Answer]:
    """The passages of some documents that hold most of a question's words, best first, two of a
    document at most. It reads the documents: O(their bytes). Raises InputError where the question
    has no word that tells topics apart."""
    judge = Bm25(question)
    words = list(dict.fromkeys(content_stems(question)))
    found: list[tuple[RunDocument, tuple[str, ...], str, Page]] = []
    seen = set[str]()
    for document in documents:
        for one in document.all_passages:
            if len(found) == MOST_COMPARED:
                break
            if one.text in seen:
                continue
            seen.add(one.text)
            page = Page("", title=" ".join((document.title, *one.headings))[:1_000], text=one.text)
            judge.judge(page)
            found.append((document, one.headings, one.text, page))
    known, ranked = judge.save(), list[tuple[float, int, tuple[str, ...]]]()
    for at, (*_, page) in enumerate(found):
        judge.load(known)
        if score := judge.judge(page).score:
            held = frozenset(content_stems(f"{page.title} {page.text}"))
            lacks = tuple(word for word in words if word not in held)
            ranked.append((score * (1 - len(lacks) / len(words)), at, lacks))
    best, of_document = list[Answer](), Counter[str]()
    for score, at, lacks in sorted(ranked, key=lambda one: (-one[0], one[1])):
        document, headings, text, _ = found[at]
        of_document[document.url] += 1
        if of_document[document.url] <= MOST_PER_DOCUMENT:
            best.append(Answer(document.url, document.title, headings, text, score, lacks))
        if len(best) == limit:
            break
    return best
