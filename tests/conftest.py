"""The order of tests: the long files first, so that no process waits for another's at the end, and
processes that wait beside those that compute. And no test fails because the machine is slow."""

from __future__ import annotations

import contextlib
import gc
import os
import stat
import sys
import typing
import warnings
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, settings

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

LONG = (
    *("test_docs.py", "test_scrapy.py", "test_policies.py", "test_kill.py", "test_control_room.py"),
    *("test_small_documents.py", "test_read_ahead.py", "test_search_indexes.py", "test_disk.py"),
    *("test_shards.py", "test_hostile_documents.py", "test_refresh.py", "test_watching.py"),
    *("test_trap_rests.py", "test_moved_documents.py", "test_chains.py", "test_agents.py"),
    *("test_rendered_crawls.py", "test_rendered_watch.py", "test_watch_for_months.py"),
    *("test_frontiers.py", "test_durable.py", "test_ui.py", "test_documents_crawl.py"),
    *("test_damaged_files.py", "test_watch.py", "test_lab_commands.py", "test_isolate.py"),
    *("test_watch_durable.py", "test_turns_of_hosts.py", "test_whatif.py", "test_evolving.py"),
    *("test_sampled_refresh.py", "test_watches.py", "test_traps.py", "test_crawl_laws.py"),
    *("test_shard_laws.py", "test_td.py", "test_sarsa.py", "test_live.py", "test_worse_model.py"),
    *("test_watch_ends.py", "test_watching_seldom.py", "test_site_search.py", "test_repeated.py"),
)
"""Files that take five seconds or more on a quiet machine, or start what others wait for: the
longest first, so that what is begun last is short."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files first, in their order. Of the others, those that wait for servers and commands
    stand among those that compute, one after two."""
    paths = list(dict.fromkeys(item.path for item in items))
    waiting = [path for path in paths if "e2e" in path.parts]
    computing = [path for path in paths if "e2e" not in path.parts]
    place = {path: 2.0 * at for at, path in enumerate(waiting)}
    place |= {path: at + 0.5 for at, path in enumerate(computing)}
    place |= {path: LONG.index(path.name) - len(LONG) for path in paths if path.name in LONG}
    items.sort(key=lambda item: place[item.path])


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


def pytest_collection_finish() -> None:
    """Garbage is looked for less often, and not among what was imported and collected."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
