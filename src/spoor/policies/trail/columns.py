"""The parts of a row of link features: columns of hashed features, and plain numbers.

Fields and their columns are fixed, so that a row of `MixedEffectsRegression` always has K numbers.
Every field is there because a published crawler or an ablation of `trail` showed that it is
informative: words near the link (Rennie and McCallum 1999), its relation to its parent, and links
in the same place of a page, which succeed or fail together.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spoor.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

BITS = 20
"""2^BITS slots for hashed features."""
VERSION = "link-features 5"
"""Changes with anything below that changes what a number means."""


class Field(NamedTuple):
    """Some columns of a row."""

    name: str
    columns: int
    variance: float
    """Prior variance of each weight."""


FIELDS = (
    Field("anchor", 8, 0.2),
    Field("anchor pair", 4, 0.2),
    Field("URL", 8, 0.2),
    Field("URL kept", 4, 0.2),
    Field("context", 8, 0.1),
    Field("heading", 6, 0.1),
    Field("title", 6, 0.1),
    Field("place", 2, 0.2),
    Field("shape", 6, 0.4),
    Field("list", 1, 2.0),
    Field("page", 1, 1.0),
    Field("directory", 1, 1.0),
    Field("pattern", 1, 1.0),
    Field("tag path", 1, 0.5),
    Field("host", 1, 0.5),
)
COLUMNS = sum(field.columns for field in FIELDS)
GROUPS = ("list", "page", "directory", "pattern", "tag path", "host")
"""Fields whose number is the identity of a group of links."""

START = dict(
    zip(
        [field.name for field in FIELDS],
        accumulate([field.columns for field in FIELDS], initial=0),
        strict=False,
    )
)
"""First column of each field."""


class Dense(NamedTuple):
    """A plain number of each row, with the prior of its weight."""

    name: str
    mean: float
    variance: float


DENSE = (
    Dense("any link", -4.0, 1.0),
    Dense("anchor like the topic", 3.0, 2.0),
    Dense("URL like the topic", 2.0, 2.0),
    Dense("URL kept like the topic", 1.0, 1.0),
    Dense("context like the topic", 0.7, 1.0),
    Dense("heading like the topic", 0.7, 1.0),
    Dense("title like the topic", 0.5, 1.0),
    Dense("vectors like the topic", 2.0, 1.0),
    Dense("score of the page it stands on", 1.0, 1.0),
    Dense("depth", -1.0, 0.1),
    Dense("in navigation", 0.0, 0.5),
    Dense("mentions of the topic", 0.5, 0.25),
    Dense("pages that link to it", 0.1, 0.25),
)


class Prior(NamedTuple):
    """Prior of the weights of the plain numbers, each (len(DENSE),)."""

    mean: NDArray[np.float32]
    variance: NDArray[np.float32]


BY_HAND = Prior(
    np.array([number.mean for number in DENSE], dtype=np.float32),
    np.array([number.variance for number in DENSE], dtype=np.float32),
)


GROUP_COLUMNS = {START[field]: field for field in GROUPS}
WORDS = START["list"]
"""So many first columns are of words and shapes."""
SHARED = np.array(
    [field.name not in ("list", "page") for field in FIELDS for _ in range(field.columns)]
)
"""Columns whose numbers mean the same to every shard: pages are numbered by each for itself."""
_NAMES = [dense.name for dense in DENSE]
PARENT_SCORE = _NAMES.index("score of the page it stands on")
LINKING_PAGES = _NAMES.index("pages that link to it")


def variances(without: Iterable[str] = ()) -> NDArray[np.float32]:
    """Prior variance of every column; next to nothing for the fields in `without`. InputError for
    an unknown field there."""
    left_out, names = set(without), [field.name for field in FIELDS]
    if unknown := sorted(left_out.difference(names)):
        raise InputError(f"trail: no field {unknown[0]!r} to go without; {', '.join(names)}")
    return np.array(
        [
            1e-9 if field.name in left_out else field.variance
            for field in FIELDS
            for _ in range(field.columns)
        ],
        dtype=np.float32,
    )
