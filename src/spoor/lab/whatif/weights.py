"""The weight of each page of a run: how many pages like it the run could as well have fetched."""

from __future__ import annotations

import numpy as np

from spoor.errors import InputError
from spoor.lab.whatif.run_log import RunLog, end_of
from spoor.types import urls_of

CERTAIN = 1.0 - 1e-9
"""Probability from which on a choice left nothing to chance."""


def weights_of(log: RunLog) -> dict[str, float]:
    """URL of a page → how many pages it represents: 1/e. Raises InputError where all choices were
    deterministic, or their probabilities were not logged."""
    unknown = sum(item.probability is None for item in log.taken)
    if unknown:
        raise InputError(
            f"{log.policy or 'the policy'} noted no probability for {unknown} of its "
            f"{len(log.taken)} choices, so nothing can be estimated from them; crawl with random, "
            "or with a policy that explores (sarsa, q-learning, host-bandit)"
        )
    if all((item.probability or 1.0) >= CERTAIN for item in log.taken):
        raise InputError(
            f"{log.policy or 'the policy'} took every link with probability 1: what it never takes "
            "it says nothing of, and no other policy can be judged by it; crawl with random, or "
            "with a policy that explores (sarsa, q-learning, host-bandit)"
        )
    seen = _first_seen(log)
    last = len(log.taken)
    weights: dict[str, float] = {}
    for index, item in enumerate(log.taken):
        p = item.probability or 1.0
        choices = last - min(index, seen.get(item.page.url, index))
        weights[item.page.url] = 1.0 if p >= CERTAIN else 1.0 / -np.expm1(choices * np.log1p(-p))
    return weights


def _first_seen(log: RunLog) -> dict[str, int]:
    """URL of a page → choices made before a link to it was known."""
    seen = {end_of(url, log.redirects): 0 for url in log.seeds}
    for index, item in enumerate(log.taken, 1):
        for url in urls_of(item.page.links):
            seen.setdefault(end_of(url, log.redirects), index)
    return seen
