"""What a page says of a whole wish, from what it says of each word and phrase of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.matching import Tree, leaves_of

Floats = NDArray[np.float64]

RARE = 0.7
"""Weight from which a word is enough by itself as one of several; a word that stands on more than
about half of the pages has less."""
ALTERNATIVES = 3
"""Parts of "any of" that a page needs at most to have all that they can give."""
TOGETHER, APART = 1.1, 0.5
"""Worth of several words, or of alternatives, where they stand together in a title, a URL or an
anchor to the page, and where they do not though those of another page do: people type commas
between the words of a name, too."""
STRICT, LOOSE = 0.5, 1.5
"""Power of the mean of "all". By the strict one a page that lacks a word has little; the loose one
is for words that no page has together: they are no name on this site, and each tells by itself."""


def value_of(
    tree: Tree,
    leaves: Floats,
    weights: Floats,
    worth: Mapping[Tree, Floats] | None = None,
    *,
    tells: Floats | None = None,
    several: bool = False,
    loose: Collection[Tree] = (),
) -> Floats:
    """The value of a tree from those of its leaves, (pages, leaves). Of `any` the best, in which a
    word that stands nearly everywhere counts less; `several`: the root of the mean square of the
    best `ALTERNATIVES`, so that of several parts a page with more of them has more (extended
    Boolean model, Salton, Fox and Wu 1983). Of `all` the mean of the power `STRICT`, or
    `LOOSE` where it is one of `loose`, in which a rare word weighs more, and one that `tells` more
    of its pages (1 for each: None). Each times its `worth` on the pages, if it has one."""
    kind, *nodes = tree
    columns = [
        leaves[:, node]
        if isinstance(node, int)
        else value_of(node, leaves, weights, worth, tells=tells, several=several, loose=loose)
        for node in nodes
    ]
    if kind == "any":
        rare = np.array([weights[list(leaves_of(("any", node)))].mean() for node in nodes])
        counted = np.array(columns) * np.minimum(1.0, rare / RARE)[:, None]
        if several:
            counted.sort(axis=0)
            value = np.sqrt((counted[-ALTERNATIVES:] ** 2).mean(axis=0))
        else:
            value = counted.max(axis=0)
    else:
        told = weights if tells is None else weights * tells
        each = np.array(
            [told[node] if isinstance(node, int) else max(told.mean(), 0.1) for node in nodes]
        )
        power = LOOSE if tree in loose else STRICT
        powers = np.array(columns) ** power
        value = (powers * (each / each.sum())[:, None]).sum(axis=0) ** (1.0 / power)
    return np.asarray(value * worth[tree] if worth and tree in worth else value)


FEW_LEAVES = 8
"""With fewer, `value_on_page` adds numbers as NumPy does."""


def value_on_page(
    tree: Tree,
    leaves: Sequence[float],
    weights: Sequence[float],
    worth: Mapping[Tree, float],
    *,
    tells: Sequence[float] | None,
    several: bool,
    loose: Collection[Tree],
) -> float:
    """As `value_of`, of one page and of a tree with fewer than `FEW_LEAVES`: the same number, in a
    tenth of the time, by plain floats."""
    kind, *nodes = tree
    each = [
        leaves[node]
        if isinstance(node, int)
        else value_on_page(node, leaves, weights, worth, tells=tells, several=several, loose=loose)
        for node in nodes
    ]
    if kind == "any":
        rare = [_mean([weights[at] for at in leaves_of(("any", node))]) for node in nodes]
        counted = [
            its * min(1.0, its_rare / RARE) for its, its_rare in zip(each, rare, strict=True)
        ]
        if several:
            best = sorted(counted)[-ALTERNATIVES:]
            value = math.sqrt(_mean([its * its for its in best]))
        else:
            value = max(counted)
    else:
        told = weights if tells is None else [a * b for a, b in zip(weights, tells, strict=True)]
        its = [told[node] if isinstance(node, int) else max(_mean(told), 0.1) for node in nodes]
        total = _sum(its)
        shares = [one / total for one in its]
        if tree in loose:
            powers = (np.array(each) ** LOOSE).tolist()
            said = _sum([power * share for power, share in zip(powers, shares, strict=True)])
            value = float((np.array([said]) ** (1.0 / LOOSE))[0])
        else:  # by the roots, as NumPy has them
            powers = map(math.sqrt, each)
            said = _sum([power * share for power, share in zip(powers, shares, strict=True)])
            value = said * said
    return value * worth[tree] if tree in worth else value


def _sum(numbers: Iterable[float]) -> float:
    """One after the other: `sum` does more from Python 3.12 on."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def _mean(numbers: Sequence[float]) -> float:
    return _sum(numbers) / len(numbers)
