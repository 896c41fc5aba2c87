"""Answers in an archive of mails or a forum, whose links say what they answer: `Re: Glazes`.

Where a page with that subject is not relevant, what answers it is asked for last: once a crawl has
no other link, or once a page of the thread is relevant after all. So of a thread that is about
something else one message is read, and not all of them. The first message is never held back by
its answers, of which one may say no more than thanks.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from itertools import accumulate

from spoor.bounded import remember
from spoor.hashing import hash64
from spoor.link_filter.page_views import LinkedFrom
from spoor.link_filter.waiting_places import HeldGroup, Holder
from spoor.types import HeldLink, Page, State
from spoor.web.urls import host

_ANSWER = re.compile(
    r"(?:\s*\[[^\][]{1,40}\])*\s*"
    r"(?:re|aw|sv|vs|antw|odp|rif|res|ynt|回复|答复|回覆|返信)(?:\[\d{1,3}\])?\s?[:：]",
    re.IGNORECASE,
)
"""What an answer's subject begins with, behind the name of its list."""
_LIST = re.compile(r"(?:\s*\[[^\][]{1,40}\])+\s*(?=\S)")
_PARTS = 3
"""Of a title, behind which the names of the list and the author may stand."""
_LETTERS = 200
"""Of a subject."""
_IRRELEVANT = 2
"""Answers that are not relevant from which on the others wait; the first message is enough."""
DOUBTED = 0.25
"""Score of a page from which on it may be relevant once more is known."""
_SUBJECTS, _PAGES = 20_000, 20_000


class Answers(Holder):
    """What is known of threads by their subjects. O(length of a title) a page."""

    def __init__(self) -> None:
        self._against: OrderedDict[int, int] = OrderedDict()
        """Subject on a host → answers that are not relevant, of which the first message counts
        `_IRRELEVANT`."""
        self._relevant: OrderedDict[int, None] = OrderedDict()
        """Subjects of relevant pages, and those whose answers were let in at the end."""
        self._pages: OrderedDict[int, tuple[int, ...]] = OrderedDict()
        """URL of a page, hashed → what may be its subject."""
        super().__init__()

    def ended(self, page: Page, score: float) -> None:
        """Take in a page that was judged."""
        its = host(page.url)
        parts = page.title.split(" - ", _PARTS)[:_PARTS]
        titles = [page.title, *accumulate(parts, "{} - {}".format), *page.headings[:1]]
        known = {_subject(title): _is_answer(title) for title in titles if title.strip()}
        subjects = tuple(hash64(f"{its} {subject}") for subject in known if subject)
        remember(self._pages, hash64(page.url), subjects, _PAGES)
        if score >= DOUBTED:
            self._are_relevant(subjects)
            return
        against = 1 if any(known.values()) else _IRRELEVANT
        for subject in subjects:
            remember(self._against, subject, self._against.get(subject, 0) + against, _SUBJECTS)

    def judged_anew(self, url: str, *, relevant: bool) -> None:
        if relevant:
            self._are_relevant(self._pages.get(hash64(url), ()))

    def _are_relevant(self, subjects: Sequence[int]) -> None:
        for subject in subjects:
            remember(self._relevant, subject, None, _SUBJECTS)
            self._free(f"{subject:x}")

    def holder(self, url: str, linked_from: LinkedFrom) -> str:
        """By which subject a URL is held back that is about to be asked for, as the name of a group
        for `hold`: a link of its own host calls it an answer. Empty where none does."""
        if not self._against:
            return ""
        for page, text in linked_from(url):
            if _is_answer(text) and host(page) == host(url):
                subject = hash64(f"{host(url)} {_subject(text)}")
                known = self._against.get(subject, 0) >= _IRRELEVANT
                return f"{subject:x}" if known and subject not in self._relevant else ""
        return ""

    def release(self, *, over: bool) -> Sequence[HeldLink]:
        """Links that may enter the frontier again; `over`: there are no others in any shard, and
        those of the thread that waited longest may."""
        if over and not self._freed and (name := next(iter(self._waiting), "")):
            self._are_relevant([int(name, 16)])
        return self._all_freed()

    def held_groups(self) -> list[HeldGroup]:
        its = self._waiting
        return [
            HeldGroup(
                f"answers on {domain}",
                sum(map(its.count, its.groups(domain))),
                "what they answer is not relevant",
            )
            for domain in its.domains()
        ]

    def save(self) -> State:
        return {
            "against": [*self._against.items()],
            "relevant": [*self._relevant],
            "pages": [[page, [*subjects]] for page, subjects in self._pages.items()],
            **super().save(),
        }

    def load(self, state: State) -> None:
        self._against = OrderedDict(map(tuple, state["against"]))
        self._relevant = OrderedDict.fromkeys(state["relevant"])
        self._pages = OrderedDict((page, tuple(subjects)) for page, subjects in state["pages"])
        super().load(state)


def _is_answer(text: str) -> bool:
    return _ANSWER.match(text) is not None


def _subject(text: str) -> str:
    """A subject without the name of its list and the marks of answers, in lower case."""
    text = text[:_LETTERS]
    while (mark := _ANSWER.match(text) or _LIST.match(text)) is not None:
        text = text[mark.end() :]
    return " ".join(text.lower().split())
