"""Snippets: the part of a page with most words of a topic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, islice, pairwise

from spoor.judges.similarity import query_words
from spoor.runs.pass_costs import PassCosts
from spoor.runs.reader import Run
from spoor.runs.rows import PageRow
from spoor.types import Topic
from spoor.views.preview import Previews
from spoor.web.text import UNSPACED, UNSPACED_LETTERS, stem, terms

SNIPPET = 44
"""Words of a snippet; where characters stand for words, twice as many."""

MAX_CACHED = 1_000

_MAX_CHARACTERS = 300
"""Most characters of a snippet, about, since words of program code are long."""

_WORD = re.compile(f"[{UNSPACED_LETTERS}]|[^\\s{UNSPACED_LETTERS}]+")
"""What stands between blanks; of a script without spaces, a character."""

Snippet = Sequence[tuple[str, bool]]
"""Pieces of text; whether each is a word of the topic."""


class Snippets:
    """Snippets of the pages of a run, with a cache: of their main text, as their previews have it;
    where that has no word of the topic, of all that is visible, which is read in a pass with these
    `costs`, after which there are no more of these."""

    def __init__(self, run: Run, topic: Topic | None, previews: Previews, costs: PassCosts) -> None:
        self._run, self._previews, self._costs = run, previews, costs
        self._terms = terms_of(topic)
        self._made: dict[int, Snippet] = {}
        self._seen: set[str] = set()
        """Topic words of earlier snippets, each with the words before and after it."""

    def of(self, page: PageRow) -> Snippet:
        """The snippet of a page; empty if the page is not in the archive."""
        if page.number not in self._made:
            if len(self._made) > MAX_CACHED:
                self._made.clear()
                self._seen.clear()
            shown = self._previews.of(page)
            text = " ".join(part for _, part in shown.parts) if shown else ""
            if not self._has_term(text) and page.place is not None:
                if self._costs.is_spent:
                    return ()
                with self._costs.reading(page.place[2]):
                    text = self._run.text(page) or text
            self._made[page.number] = snippet(text, self._terms, seen=self._seen) if text else ()
        return self._made[page.number]

    def _has_term(self, text: str) -> bool:
        return bool(text) and (not self._terms or not self._terms.isdisjoint(stem(terms(text))))


def terms_of(topic: Topic | None) -> frozenset[str]:
    """Stems of the words of a topic, and pairs of characters where they have no spaces between."""
    return frozenset() if topic is None else frozenset(stem(query_words(topic.text)))


def snippet(
    text: str, wanted: frozenset[str], size: int = SNIPPET, seen: set[str] | None = None
) -> list[tuple[str, bool]]:
    """The `size` words of a text that hold most of the terms that are `wanted`, in pieces: (piece,
    whether it is one of the terms). The first such place; without a term, the beginning. A term
    between the same two words as on an earlier page (`seen`) is probably in text that a site
    repeats; it counts only if the page has no other term. Blanks stand in the pieces."""
    found = [*islice(_WORD.finditer(text), 20_000)]
    words = [word[0] for word in found]
    size = 2 * size if UNSPACED.search(text) else size
    is_term = {word: not wanted.isdisjoint(stem(terms(word))) for word in set(words) if wanted}
    hits = [is_term.get(word, False) for word in words]
    for at, (one, two) in enumerate(pairwise(words)):
        if one + two in wanted and found[at].end() == found[at + 1].start():
            hits[at] = hits[at + 1] = True
    counted = hits
    if seen is not None:
        around = {
            index: " ".join(words[max(0, index - 1) : index + 2])
            for index, hit in enumerate(hits)
            if hit
        }
        fresh = [hit and around[index] not in seen for index, hit in enumerate(hits)]
        seen.update(around.values())
        counted = fresh if any(fresh) else hits
    totals = [0, *accumulate(counted)]
    begins = range(max(1, len(words) - size + 1))
    begin = max(begins, key=lambda start: totals[min(start + size, len(words))] - totals[start])
    if totals[-1]:
        # A few words before the first term.
        begin = max(0, min(counted.index(True, begin) - 6, len(words) - size))
    pieces = [("… ", False)] if begin else []
    end, room = begin, _MAX_CHARACTERS
    while end < min(begin + size, len(words)) and room > 0:
        word, hit = words[end], hits[end]
        between = " " if end > begin and found[end].start() > found[end - 1].end() else ""
        if pieces and pieces[-1][1] == hit:
            pieces[-1] = (f"{pieces[-1][0]}{between}{word}", hit)
        elif pieces and hit:
            pieces[-1] = (f"{pieces[-1][0]}{between}", False)
            pieces.append((word, True))
        else:
            pieces.append((f"{between}{word}", hit))
        room -= len(word) + 1
        end += 1
    return [*pieces, *([("…", False)] if end < len(words) else [])]
