"""How long a call takes, for what is asked of others and kept with the answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")


def timed(call: Callable[[], _Result]) -> tuple[_Result, float]:
    """(what the call returned, seconds that it took)."""
    began = time.monotonic()
    result = call()
    return result, time.monotonic() - began
