"""Passages of a document: pieces of its text, sized for retrieval, with the topic's say on each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from spoor.errors import InputError
from spoor.judges.similarity import Bm25, content_stems
from spoor.types import Topic

MOST = 1_200
"""Characters of a passage: some 250 words, which every retrieval model reads whole."""

_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n+")


class Block(Protocol):
    """What a passage is made of (`spoor.documents.document.Block`)."""

    @property
    def kind(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def headings(self) -> tuple[str, ...]: ...
    @property
    def begin(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document's text."""

    text: str
    """Equal to `document.text[start:end]`."""
    headings: tuple[str, ...]
    """That it stands under, outermost first."""
    start: int
    end: int
    score: float
    """Of the topic's words in it, in [0, 1]; 0 where the run has no topic in words."""


class PassageScores:
    """Scores passages by the words of a topic, with BM25: how common a word is, is learned from the
    passages so far, so that scores are compared within one document."""

    def __init__(self, topic: Topic | None) -> None:
        self._words = "" if topic is None else topic.text

    def of(self, texts: Sequence[str]) -> list[float]:
        """The scores of the passages of one document."""
        try:
            judge = Bm25(self._words)
        except InputError:  # it has no word
            return [0.0] * len(texts)
        stems = [content_stems(text) for text in texts]
        for words in stems:
            judge.learn(words)
        return [round(sum(share for *_, share in judge.shares(words)), 4) for words in stems]


def passages_of(
    blocks: Sequence[Block], scores: PassageScores, text: str, *, everything: bool = False
) -> list[Passage]:
    """The passages of a document that hold words of the topic, in the order of the text; all of
    them where none does, or where `everything` is asked for."""
    spans = list(_spans(blocks))
    pieces = [text[start:end] for start, end, _ in spans]
    found = [
        Passage(piece, headings, start, end, score)
        for piece, (start, end, headings), score in zip(
            pieces, spans, scores.of(pieces), strict=True
        )
    ]
    telling = [passage for passage in found if passage.score > 0]
    return found if everything or not telling else telling


def _spans(blocks: Sequence[Block]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """(start, end, headings) of passages: whole blocks under the same headings as long as they fit;
    a longer block is cut between sentences. A heading stands with its passages and is none."""
    start = end = -1
    above: tuple[str, ...] = ()
    for block in blocks:
        last = block.begin + len(block.text)
        if start >= 0 and (
            block.kind == "heading" or block.headings != above or last - start > MOST
        ):
            yield start, end, above
            start = -1
        if block.kind == "heading":
            continue
        if len(block.text) > MOST:
            for begin, until in _sentences(block.text):
                yield block.begin + begin, block.begin + until, block.headings
            continue
        if start < 0:
            start, above = block.begin, block.headings
        end = last
    if start >= 0:
        yield start, end, above


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of pieces of a long text, at most `MOST` characters each."""
    start = 0
    while len(text) - start > MOST:
        cut = start + MOST
        ends = list(_SENTENCE.finditer(text, start + MOST // 2, cut))
        if ends:
            end, after = ends[-1].span()
        else:
            space = text.rfind(" ", start + MOST // 2, cut)
            end, after = (space, space + 1) if space > 0 else (cut, cut)
        yield start, end
        start = after
    if start < len(text):
        yield start, len(text)
