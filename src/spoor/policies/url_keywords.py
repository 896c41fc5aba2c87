"""URL keywords: the value of a link is the share of the keywords in its URL.

The keyword scorer of Crawl4AI's best-first deep crawl. Card: docs/algorithms/url-keywords.md.
"""

from __future__ import annotations

from spoor.learn.link_words import content_words
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.saved import PART, Saved, attributes
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, Outcome, Task


class UrlKeywords(Saved):
    """Highest share of keywords in the URL first; a tie goes to the link discovered first.

    The keywords are those of the topic, unsplit; where it has none, the words of its name. A
    keyword counts anywhere in the URL, inside other words too.
    """

    SAVED = attributes(_queue=PART)

    def __init__(self, task: Task) -> None:
        given = [word.lower() for word in task.topic.keywords if word.strip()]
        self._keywords = tuple(dict.fromkeys(given or content_words(task.topic.text)))
        self._queue = PriorityQueue()

    def observe(self, seen: InLinks) -> None:
        for link, url, host, first in zip(
            seen.links, seen.urls, seen.hosts, seen.first, strict=True
        ):
            if first:
                self._queue.push(link, host, self._share(url.lower()))

    def _share(self, url: str) -> float:
        if not self._keywords:
            return 0.0
        return sum(word in url for word in self._keywords) / len(self._keywords)

    def choose(self, offer: Offer) -> Choice:
        link, value = self._queue.pop(offer)
        return Choice(link, 1.0, (("share of the keywords in its URL", value),))

    def learn(self, outcome: Outcome) -> None:
        pass
