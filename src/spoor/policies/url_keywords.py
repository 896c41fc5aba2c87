"""URL keywords: the value of a link is the share of the keywords in its URL.

The keyword scorer of Crawl4AI's best-first deep crawl. Card: docs/algorithms/url-keywords.md.
"""

from __future__ import annotations

from spoor.learn.link_words import content_words
from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.queue_order import QueueOrder
from spoor.types import InLinks, Task


class UrlKeywords(QueueOrder):
    """Highest share of keywords in the URL first; a tie goes to the link discovered first.

    The keywords are those of the topic, unsplit; where it has none, the words of its name. A
    keyword counts anywhere in the URL, inside other words too.
    """

    WHY = "share of the keywords in its URL"

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
