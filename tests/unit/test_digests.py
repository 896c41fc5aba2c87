"""What a finished cell is stored under leaves out only what no cell runs."""

from __future__ import annotations

import grimp

from spoor import registry
from spoor.lab.digests import NOT_RUN

CELLS = ("spoor.simulation", "spoor.lab.kinds")


def test_no_cell_imports_what_its_digest_leaves_out() -> None:
    graph = grimp.build_graph("spoor", exclude_type_checking_imports=True, cache_dir=None)
    plug_ins = {
        place.partition(":")[0] for kind in registry.BUILT_IN.values() for place in kind.values()
    }
    waiting = [name for name in graph.modules if name.startswith(CELLS) or name in plug_ins]
    run: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module not in run:
            run.add(module)
            waiting += graph.find_modules_directly_imported_by(module)
    left_out = tuple(f"spoor.{part}" for part in NOT_RUN if part != "lab")
    assert sorted(name for name in run if name.startswith(left_out)) == []
    assert {"spoor.crawl.crawl", "spoor.frontier.sqlite", "spoor.web.page"} <= run
