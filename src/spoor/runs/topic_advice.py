"""What a run has shown of its topic's words, for a process that did not see its pages come."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from spoor.errors import DAMAGED
from spoor.formats.warc_records import DamagedError
from spoor.judges.advice import VOCABULARY_PAGES, Advisor
from spoor.runs.assemble import topic_of_settings
from spoor.settings import Settings
from spoor.types import Page

if TYPE_CHECKING:
    from spoor.runs.reader import Run

_RULES = ("url:", "type:", "match:")
"""How a wish begins that a page fits or does not, by a pattern."""

NEAR = "near"
"""The note of a run with the URLs of pages near its threshold, a JSON list."""

WORDS = "words"
"""The note of a run with the words of its topic that its pages have, a JSON list."""


def new_advisor(settings: Settings, known: frozenset[str] = frozenset()) -> Advisor:
    """An advisor that has seen no page, and knows that these words are on pages, and those of the
    run that is refreshed: a page that is unchanged shows none."""
    if settings.refresh:
        from spoor.runs.reader import Run

        known |= _noted(Run(Path(settings.refresh)))
    subject = topic_of_settings(settings)
    by_rule = subject is None and all(spec.startswith(_RULES) for spec in settings.want)
    return Advisor(None if subject is None else subject.wish, known, by_rule=by_rule)


def advisor_of(path: Path, settings: Settings) -> Advisor:
    """An advisor that has seen the first pages of a run, as archived, and knows the words noted. A
    page that is damaged there is left out: whoever needs it tells so."""
    from spoor.runs.reader import Run

    run = Run(path)
    advisor = new_advisor(settings, _noted(run))
    for row in islice(run.pages(), VOCABULARY_PAGES):
        with suppress(DamagedError):
            advisor.see(Page(row.url, title=row.title, text=run.text(row)))
    return advisor


def _noted(run: Run) -> frozenset[str]:
    try:
        words = json.loads(run.noted(WORDS) or "[]")
        return frozenset(word for word in words if isinstance(word, str))
    except DAMAGED:  # a stranger's folder
        return frozenset()
