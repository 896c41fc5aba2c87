"""How near to one another the words of a wish stand in a text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import numpy as np

from spoor.judges.relevance.frequencies import Floats
from spoor.judges.relevance.matching import Matcher
from spoor.judges.relevance.word_counts import WordNumbers


def nearness(
    words: Sequence[str],
    runs: Sequence[str],
    memo: WordNumbers,
    matcher: Matcher,
    evidence: Floats,
) -> float:
    """1 where all words of the wish that a page has stand side by side, less with the words between
    them; 0 where it has one of them. `words`: of its text; `runs`: those in a script without
    spaces; `evidence`: what each leaf finds, (leaves, 2). O(words)."""
    known = np.flatnonzero(evidence[:, 1])
    if len(known) < 2:
        return 0.0
    last: dict[int, int] = {}
    best = 0.0
    wanted = {part for at in known for part in matcher.part_numbers[at][:1]}
    fitting = memo.fits
    if runs and (its := matcher.runs_that_fit(runs)):
        fitting = {**fitting, **its}
    for place, word in compress(enumerate(words), map(fitting.__contains__, words)):
        for part, _, _ in fitting[word]:
            last[part] = place
        if len(last) >= len(wanted) > 1:
            spread = place - min(last.values()) + 1 - len(wanted)
            if spread <= 0:
                return 1.0
            best = max(best, 1.0 / (1.0 + spread / 4.0))
    return best
