"""The prior that ships: how much each kind of evidence tells before anything of a site is known.

It was learned over many webs and topics by `benchmarks/trail_prior.py`: of each plain number the
mean of its weight over the tasks, and how much it differs from task to task. It holds no word of a
topic, so it serves every topic.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from spoor.errors import InputError
from spoor.policies.trail.columns import DENSE, VERSION, Prior

FILE = Path(__file__).with_name("prior.json")


@cache
def shipped() -> Prior:
    """The prior in the package, read once; InputError where its file is damaged."""
    try:
        return read(json.loads(FILE.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"trail: its {FILE.name} is damaged ({error}); install Spoor again, or set "
            "shipped=false"
        ) from None


def read(data: Mapping[str, Any]) -> Prior:
    """A prior of a JSON object; ValueError, KeyError or TypeError if it is none of these."""
    if data["features"] != VERSION:
        raise ValueError(f"it is over {data['features']!r}, not {VERSION!r}")
    numbers = [data["numbers"][number.name] for number in DENSE]
    mean = [float(number["mean"]) for number in numbers]
    variance = [float(number["variance"]) for number in numbers]
    if not all(map(math.isfinite, mean)) or not all(0 < one < math.inf for one in variance):
        raise ValueError("a mean is no number, or a variance not above 0")
    return Prior(np.array(mean, dtype=np.float32), np.array(variance, dtype=np.float32))
