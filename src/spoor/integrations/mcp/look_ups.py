"""A question that an agent has about a site: the passages that answer it best, of what its crawls
fetched there."""

from __future__ import annotations

import time
from collections.abc import Iterator

from spoor.crawl.crawl import NO_LINK
from spoor.durations import DAY
from spoor.errors import InputError
from spoor.integrations.mcp.crawls import MOST_OF_A_WISH, AgentCrawls, listed, site_of
from spoor.runs.answers import Answer, answers, asked_words
from spoor.runs.documents import RunDocument
from spoor.runs.pass_costs import PassCosts
from spoor.runs.reader import Run

LEAST = 5
"""Pages, before which a crawl for a question does not end for a passage that answers it: the first
one that has its words may be an index."""

KNOWN_FOR = DAY
"""Seconds for which a page that was fetched before may answer."""

_MOST_RUNS = 8
"""Earlier crawls of a site that are looked into, the latest ones."""

_PASSAGES = 5

_MANY_WORDS = 5

_SETTLED = 5
"""Pages."""

_SPARE = 10.0
"""Seconds that documents may take together beyond what their bytes give them."""


def known_answer(crawls: AgentCrawls, question: str, start: str) -> str:
    """The answer by what crawls of the site fetched before, where a passage is one; else empty.
    Raises InputError where the question has no word, or the start may not be asked."""
    found = _answers(crawls, question, crawls.seed(start))
    if not _answered(question, found):
        return ""
    return _in_words("Of pages that were fetched before; no request was sent.", found, "known")


class AnswerCheck:
    """Whether a crawl for a question has what answers it, of what was fetched so far."""

    def __init__(self, crawls: AgentCrawls, question: str, start: str) -> None:
        self._crawls, self._question, self._start = crawls, question, crawls.seed(start)
        self._best = ("", 0)
        """Text of the best passage, and how many pages were fetched as it became that."""

    def is_answered(self, fetched: int) -> bool:
        """After so many pages: a passage answers the question, or one that has its words, though
        apart, has stayed the best one for `_SETTLED` pages."""
        if fetched < LEAST:
            return False
        found = _answers(self._crawls, self._question, self._start)
        if found and found[0].text != self._best[0]:
            self._best = found[0].text, fetched
        is_settled = fetched - self._best[1] >= _SETTLED
        return _has_words(self._question, found) and (found[0].is_close or is_settled)


def _answered(question: str, found: list[Answer]) -> bool:
    """The best passage has the words of the question, and close together."""
    return _has_words(question, found) and found[0].is_close


def _has_words(question: str, found: list[Answer]) -> bool:
    """The best passage has all words of the question, or all but one of five or more."""
    return bool(found) and len(found[0].lacks) <= (len(asked_words(question)) >= _MANY_WORDS)


def answer_of(crawls: AgentCrawls, question: str, start: str, name: str) -> str:
    """What a crawl for a question, and those before it, found."""
    found, now = _answers(crawls, question, crawls.seed(start)), crawls.status(name)
    if not now["fetched"]:
        return f"{name}: no page came. {now['ended_because']}"
    fetched = now["fetched"]
    said = f"{name}: {fetched} page{'s' * (fetched > 1)} fetched."
    more = "`go_on` fetches more, `read` gives whole pages."
    if now["ended_because"] == NO_LINK:
        said += " No link is left to follow."
        more = "`read` gives whole pages."
    if not found:
        return f"{said} Nothing fits: no passage has a word of the question."
    if not _answered(question, found):
        said += (
            " No passage has all words of the question close together; what comes nearest follows."
        )
    return _in_words(f"{said} {more}", found, name)


def _in_words(said: str, found: list[Answer], name: str) -> str:
    rows = (one.as_json() for one in found)
    return f"{said}\n\n{listed(rows, len(found), name)}"


def _answers(crawls: AgentCrawls, question: str, start: str) -> list[Answer]:
    documents = _documents(crawls, " ".join(asked_words(question)), site_of(start))
    return answers(question, documents, limit=_PASSAGES)


def _documents(crawls: AgentCrawls, words: str, site: str) -> Iterator[RunDocument]:
    """The documents of a site that hold most of some words, by what was fetched last of each."""
    since, seen = time.time() - KNOWN_FOR, set[str]()
    names = sorted(crawls.names(), key=lambda name: -int(name.rpartition("-")[2]))
    runs = list[Run]()
    for name in names:
        try:
            run = crawls.run(name)
        except InputError:  # it is just being begun, or damaged: others may answer
            continue
        if site in map(site_of, run.settings.seeds):
            runs.append(run)
        if len(runs) == _MOST_RUNS:
            break
    costs = PassCosts(spare=_SPARE, in_order=False)
    for run in runs:
        for document in run.documents_with(words, costs):
            here = site_of(document.url) == site
            if here and document.row.time >= since and document.url not in seen:
                seen.add(document.url)
                yield document


def checked_question(question: str) -> None:
    """Raises InputError where a question is long, or has no word to look for."""
    if len(question) > MOST_OF_A_WISH:
        raise InputError(f"ask in at most {MOST_OF_A_WISH} characters")
    asked_words(question)
