"""The order of tests, and what no test may leave behind. No test fails because the machine is slow."""

from __future__ import annotations

import contextlib
import gc
import os
import stat
import sys
import typing
import warnings
from collections.abc import Generator, Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

# Tests run side by side and compute with small matrices: more threads for each of them, here or in
# a process that a test starts, only wait for one another. Before the first import of NumPy.
for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# Before Python 3.12 each `isinstance` of a protocol looks for its names anew.
if sys.version_info < (3, 12):
    vars(typing)["_get_protocol_attrs"] = cache(vars(typing)["_get_protocol_attrs"])

# The same commit has the same outcome. Who looks for new examples asks for `spoor-random` by
# pytest's --hypothesis-profile.
settings.register_profile(
    "spoor-random", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("spoor", settings.get_profile("spoor-random"), derandomize=True)
settings.load_profile("spoor")

# Nor does it depend on what else a process has imported: Hypothesis would read all of that for numbers
# and texts to try, in each process anew.
providers._get_local_constants = lambda: providers._local_constants


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The largest files first: nearly all that take long are large, so that what is begun last is
    short, and no process waits for another's at the end."""
    sizes = {path: path.stat().st_size for path in {item.path for item in items}}
    items.sort(key=lambda item: (-sizes[item.path], item.path))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Long bytes give a test no name: what is packed may hold the time, and each process must have
    the same names."""
    return argname if isinstance(val, bytes) and len(val) > 40 else None


@pytest.fixture(autouse=True, scope="session")
def no_browser() -> Iterator[None]:
    """Crawls render nothing, whatever is installed, but in tests that patch it back."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spoor.rendering.browser.is_installed", lambda: False)
        yield


@pytest.fixture(autouse=True, scope="session")
def forked_helpers() -> Iterator[None]:
    """Helpers start at once."""
    from forked_helpers import forked

    with forked():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """A test that leaves sockets to the garbage collector fails itself: else one that happens to run
    when they are found would. They are looked for where more are open than before."""
    yield
    left = list[str]()
    if (now := open_sockets()) > item.config.stash.get(SOCKETS, 0):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", ResourceWarning)
            gc.collect()
        messages = [str(one.message) for one in told if issubclass(one.category, ResourceWarning)]
        # From Python 3.13 on databases are told, too, which runs that a test kills leave behind.
        left = [message for message in messages if "unclosed database" not in message]
        now = open_sockets()
    item.config.stash[SOCKETS] = now
    if nextitem is None or nextitem.path != item.path:
        # What outlives its file is not looked through again: late in a process each look would take
        # a fifth of a second. A crawl ends with `gc.unfreeze`, after which this one would, too.
        if gc.get_freeze_count():
            gc.collect()
        gc.freeze()
    assert not left, f"left open: {left}"


SOCKETS = pytest.StashKey[int]()
"""How many were open after the last test."""


def open_sockets() -> int:
    count = 0
    for number in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):  # the listing's own
            count += stat.S_ISSOCK(os.fstat(int(number)).st_mode)
    return count


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays: to look for garbage among it took a fifth of that time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Garbage is looked for less often, and not among what was imported and collected."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
