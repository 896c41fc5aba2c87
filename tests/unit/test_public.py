"""The public names, pinned: what is taken away or renamed here breaks somebody's notebook."""

from __future__ import annotations

import subprocess
import sys
from pkgutil import iter_modules

import spoor

NAMES = """
    CallerError Choice Crawl CrawlRun InputError Judgement Link MemoryFrontier Orderer Outcome Page PluginError Replay
    Result Run SpoorError Task Topic open parse plot replay resolve run stream
""".split()


def test_the_public_names_are_these() -> None:
    assert sorted(spoor.__all__) == sorted(NAMES)
    for name in NAMES:
        assert getattr(spoor, name).__doc__


def test_no_module_hides_a_public_name() -> None:
    """Importing `spoor.x` sets the attribute `x` of the package."""
    modules = {module.name for module in iter_modules(spoor.__path__)}
    assert not modules & set(NAMES)


def test_importing_spoor_imports_nothing_heavy() -> None:
    code = "import spoor, sys; print([m for m in ('numpy', 'aiohttp', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
