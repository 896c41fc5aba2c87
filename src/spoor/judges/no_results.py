"""Pages that are about the topic, and are no results wherever the threshold lies.

It imports nothing heavy: who reads a run asks it.
"""

from __future__ import annotations

from typing import NamedTuple

LIST_SCORE = 0.4
"""Highest score of such a page: it leads to what is wanted."""
LEADS = 0.9
"""What the links of one inherit whose title, URL or anchors name what is wanted, as those of the
page of a tag do."""
ONLY_LISTS = "it lists documents, and is none"
"""The reason of one that lists documents …"""
SHOWS_AGAIN = "it shows again what another result has"
"""… and of a copy or a view of a page that is a result."""
SHOWN_AT = "that stands at "
"""Begin of the reason after that one, with the URL of the result; its share is the score that the
page would have. Either may be a page that shows a third one again by now."""
REASONS = (ONLY_LISTS, SHOWS_AGAIN)


class Verdict(NamedTuple):
    """The newest verdict on a page."""

    url: str
    title: str
    score: float
    relevant: bool
    settled: bool = False
    """Whether it is no result for one of `REASONS`."""
