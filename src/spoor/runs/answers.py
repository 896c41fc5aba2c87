"""Passages of what was fetched that answer a question best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spoor.judges.similarity import Bm25, content_stems, content_words
from spoor.runs.documents import RunDocument
from spoor.runs.passages import PassageScores, passages_of
from spoor.types import Page

MOST_PER_DOCUMENT = 2
"""Passages of one document."""

MOST_COMPARED = 5_000
"""Passages, of all documents together; further ones are not read."""
_MOST_HEADING = 300
"""Characters of a title or heading: they stand with each passage."""


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
    """Words of the question of which neither it nor what it stands under has any form."""

    def as_json(self) -> dict[str, Any]:
        """As a line for a program."""
        return {
            "url": self.url,
            "title": self.title,
            "headings": list(self.headings),
            "score": round(self.score, 3),
            "lacks": list(self.lacks),
            "text": self.text,
        }


def answers(question: str, documents: Iterable[RunDocument], *, limit: int = 5) -> list[Answer]:
    """The passages of some documents that hold most of a question's words, best first, two of a
    document at most. It reads one document after the other, and keeps none: O(their bytes). Raises
    InputError where the question has no word that tells topics apart."""
    judge = Bm25(question)
    words = dict(zip(content_stems(question), content_words(question), strict=True))
    found: dict[str, tuple[str, str, tuple[str, ...], Page]] = {}
    """Text of a passage → URL and title of its document, headings, and what is judged."""
    for document in documents:
        url, title, text = document.url, document.title[:_MOST_HEADING], document.text
        unscored = passages_of(document.content.blocks, PassageScores(None), text, everything=True)
        for one in unscored:
            if one.text not in found and len(found) < MOST_COMPARED:
                headings = tuple(heading[:_MOST_HEADING] for heading in one.headings)
                page = Page("", title=" ".join((title, *headings))[:1_000], text=one.text)
                judge.judge(page)
                found[one.text] = url, title, headings, page
        if len(found) == MOST_COMPARED:
            break
    known, ranked = judge.save(), list[tuple[float, int, tuple[str, ...]]]()
    passages = [*found.values()]
    for at, (*_, page) in enumerate(passages):
        judge.load(known)
        if score := judge.judge(page).score:
            held = frozenset(content_stems(f"{page.title} {page.text}"))
            lacks = tuple(word for stem, word in words.items() if stem not in held)
            ranked.append((score * (1 - len(lacks) / len(words)), at, lacks))
    best, of_document = list[Answer](), Counter[str]()
    for score, at, lacks in sorted(ranked, key=lambda one: (-one[0], one[1])):
        url, title, headings, page = passages[at]
        of_document[url] += 1
        if of_document[url] <= MOST_PER_DOCUMENT:
            best.append(Answer(url, title, headings, page.text, score, lacks))
        if len(best) == limit:
            break
    return best
