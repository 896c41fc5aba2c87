"""Passages of what was fetched that answer a question best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from spoor.errors import InputError
from spoor.judges.similarity import Bm25, content_stems, query_words
from spoor.judges.wish.sentences import reduced
from spoor.runs.documents import RunDocument
from spoor.runs.passages import PassageScores, passages_of
from spoor.web.languages import stemmer_of
from spoor.web.text import IDEOGRAPH, stem

MOST_PER_DOCUMENT = 2
"""Passages of one document."""

MOST_COMPARED = 5_000
"""Passages, of all documents together; further ones are not read."""
_MOST_HEADING = 300
"""Characters of a title or heading: they stand with each passage."""

_CLOSE = 1.5
"""Content words of a passage for each word of the question that is looked for in its text."""


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
    is_close: bool
    """Whether those that its text alone has stand close together somewhere."""

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


def asked_words(question: str) -> list[str]:
    """The words that say what a question is about, as they are written: without *how do I* and the
    like; of scripts without spaces, pairs of characters. Raises InputError where it has none."""
    words = query_words(reduced(question)[0])
    if not words:
        raise InputError(f"{question[:100]!r} has no word to look for")
    return words


def answers(question: str, documents: Iterable[RunDocument], *, limit: int = 5) -> list[Answer]:
    """The passages of some documents that hold most of a question's words, best first, two of a
    document at most. It reads one document after the other, and keeps their passages alone:
    O(their bytes). Words are compared by their stems in the language that most of the documents
    declare. Raises InputError where the question has no word that tells topics apart."""
    asked = asked_words(question)
    found: dict[str, tuple[str, str, tuple[str, ...]]] = {}
    """Text of a passage → URL and title of its document, headings."""
    languages = Counter[str]()
    for document in documents:
        url, title, text = document.url, document.title[:_MOST_HEADING], document.text
        languages[stemmer_of(document.language) or "english"] += 1
        unscored = passages_of(document.content.blocks, PassageScores(None), text, everything=True)
        for one in unscored:
            if one.text not in found and len(found) < MOST_COMPARED:
                headings = tuple(heading[:_MOST_HEADING] for heading in one.headings)
                found[one.text] = url, title, headings
        if len(found) == MOST_COMPARED:
            break
    if not found:
        return []
    language = languages.most_common(1)[0][0]
    words = dict(zip(stem(asked, language), asked, strict=True))
    scores = Bm25(" ".join(asked), language=language)
    ideographs = frozenset(filter(IDEOGRAPH.fullmatch, asked))

    def stems(text: str) -> list[str]:
        return content_stems(text, language) + [one for one in text if one in ideographs]

    read = list[tuple[list[str], list[str]]]()
    """Stems of title and headings, and of the text, for each passage."""
    for text, (_, title, headings) in found.items():
        above, within = stems(" ".join((title, *headings))[:1_000]), stems(text)
        read.append((above, within))
        scores.learn([*above * 3, *within])
    ranked = list[tuple[float, int]]()
    for at, (above, within) in enumerate(read):
        shares = scores.shares([*above * 3, *within])
        if shares:
            score = min(1.0, sum(share for *_, share in shares))
            ranked.append((score * len(shares) / len(words), at))
    best, of_document, passages = list[Answer](), Counter[str](), [*found.items()]
    for score, at in sorted(ranked, key=lambda one: (-one[0], one[1])):
        text, (url, title, headings) = passages[at]
        of_document[url] += 1
        if of_document[url] <= MOST_PER_DOCUMENT:
            held, alone = frozenset(chain(*read[at])), frozenset(read[at][1]) - {*read[at][0]}
            lacks = tuple(word for one, word in words.items() if one not in held)
            is_close = _stand_close(alone & words.keys(), read[at][1])
            best.append(Answer(url, title, headings, text, score, lacks, is_close))
        if len(best) == limit:
            break
    return best


def _stand_close(wanted: Collection[str], within: Sequence[str]) -> bool:
    """Whether so many words of a text that follow one another hold all that is wanted. O(words)."""
    most, held, left = _CLOSE * len(wanted), Counter[str](), 0
    for at, word in enumerate(within):
        if word in wanted:
            held[word] += 1
        while len(held) == len(wanted) and left <= at:
            if at - left < most:
                return True
            if (gone := within[left]) in held:
                held[gone] -= 1
                if not held[gone]:
                    del held[gone]
            left += 1
    return not wanted
