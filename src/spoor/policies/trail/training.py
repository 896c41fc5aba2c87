"""Training: a prior from completely known webs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from spoor.learn.hierarchical_regression import fit
from spoor.learn.parameters import in_range
from spoor.learn.returns import link_values
from spoor.learn.trained_model import pack_model
from spoor.policies.trail.columns import BITS, BY_HAND, COLUMNS, DENSE, START, VERSION, variances
from spoor.policies.trail.features import LinkFeatures
from spoor.types import Anchor, KnownWeb, State, Task
from spoor.web.text import Vectors

APART = 0.3
"""How much the weights of plain numbers differ from site to site, as a share of their prior
variance."""
NEXT_TO_NOTHING = 1e-6
"""Precision of a word whose mean was taken over, beyond the prior's."""


def train(
    task: Task,
    webs: Sequence[KnownWeb],
    progress: Callable[[int, int], None],
    *,
    gamma: float = 0.4,
    between: float = 1.0,
) -> State:
    """A prior from completely known webs: how the words, shapes and numbers of their links predict,
    on all sites alike, the exact discounted return (Rennie and McCallum 1999, section 2.3), at most
    1.

    `between`: how much the weights differ from site to site, as a multiple of their prior variance
    (`spoor.learn.hierarchical_regression`). Effects of single sites are left out.
    O(250 · links).
    """
    in_range("trail", gamma=(gamma, 0, 1), between=(between, 0.001, math.inf))
    features = LinkFeatures(
        task.topic, BITS, task.vectors if isinstance(task.vectors, Vectors) else None
    )
    slots: list[NDArray[np.int32]] = []
    dense: list[NDArray[np.float32]] = []
    worth: list[float] = []
    site: list[int] = []
    number = 0
    for site_number, web in enumerate(webs):
        values = np.minimum(link_values(web.graph, gamma), 1.0)
        index = web.graph.index()
        depth = {web.root: 0}
        order = deque([web.root])
        while order:
            page = order.popleft()
            read = web.page(page)
            number += 1
            shown: list[tuple[str, str, Anchor]] = []
            for link in read.links:
                target = index.get(link.url, page)
                if target == page:
                    continue
                if target not in depth:
                    depth[target] = depth[page] + 1
                    order.append(target)
                shown.append((link.url, link.url.split("/", 3)[2], link.anchor))
                worth.append(float(values[target]))
                site.append(site_number)
            if shown:
                score = float(web.graph.targets[page])
                rows = features.rows(shown, read, number, score, depth[page] + 1)
                slots.append(rows[0])
                dense.append(rows[1])
    pooled = fit(
        np.concatenate([np.zeros((0, COLUMNS), np.int32), *slots]),
        np.concatenate([np.zeros((0, len(DENSE)), np.float32), *dense]),
        np.array(worth),
        np.array(site, dtype=np.int64),
        variance=variances(),
        shared=START["list"],
        mean=BY_HAND.mean,
        spread=BY_HAND.variance,
        between=between,
        progress=progress,
    )
    # A site never seen departs from what these have in common as each of them does: of a word its
    # mean is taken over and nothing of what they are sure of.
    weights = {
        "slots": pooled.slots,
        "w": pooled.weights.astype(np.float32),
        "h": np.full(len(pooled.slots), NEXT_TO_NOTHING, dtype=np.float32),
        "a": pooled.dense.astype(np.float32),
        "b": np.minimum(BY_HAND.variance, pooled.spread + APART * BY_HAND.variance).astype(
            np.float32
        ),
        "names": [[slot, features.names[slot]] for slot in pooled.slots.tolist()],
    }
    return pack_model(
        "trail",
        VERSION,
        task.topic,
        weights,
        webs=[web.name for web in webs],
        links=len(worth),
        training={"gamma": gamma, "between": between},
    )
