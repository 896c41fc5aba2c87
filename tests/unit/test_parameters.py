"""Parameters of policies are held to their ranges where they come in, in one clear line."""

from __future__ import annotations

import math
from numbers import Integral

import numpy as np
import pytest

from spoor import registry
from spoor.errors import InputError
from spoor.learn.parameters import in_range
from spoor.types import Task, Topic

FREE = {("sarsa", "prior")}
"""May be any finite number."""

NUMBERS = [
    (policy, name)
    for policy in registry.BUILT_IN["policies"]
    for name, parameter in registry.parameters(registry.find("policies", policy)).items()
    if type(parameter.default) in (int, float)
]


@pytest.mark.parametrize(("policy", "name"), NUMBERS)
def test_no_policy_takes_a_number_from_outside_its_range(policy: str, name: str) -> None:
    default = registry.parameters(registry.find("policies", policy))[name].default
    far: list[float] = [] if (policy, name) in FREE else [-1_000_000]
    if not isinstance(default, Integral):
        far += [math.inf, -math.inf]
    task = Task(np.random.default_rng(0), Topic("pottery"))
    for value in far:
        with pytest.raises(
            InputError, match=f"{policy}: {name} (lies in|is at least|is a finite)"
        ) as told:
            registry.build("policies", policy, task, settings={name: value})
        assert "\n" not in str(told.value)


def test_ranges_hold_their_bounds() -> None:
    in_range("x", a=(0, 0, 1), b=(1.0, 0, 1), c=(5, 5, math.inf))
    for value, least, most, told in (
        (1.01, 0, 1, r"x: a lies in \[0, 1\], not 1.01"),
        (0, 1, math.inf, "x: a is at least 1, not 0"),
        (math.nan, 0, 1, "not nan"),
        (math.inf, -math.inf, math.inf, "x: a is a finite number, not inf"),
    ):
        with pytest.raises(InputError, match=told):
            in_range("x", a=(value, least, most))


def test_a_field_that_trail_does_not_have() -> None:
    task = Task(np.random.default_rng(0), Topic("pottery"))
    with pytest.raises(InputError, match="trail: no field 'ancor' to go without"):
        registry.build("policies", "trail", task, settings={"without": ["ancor"]})
