"""Checks that plug-in authors can run on their plug-ins.

    from spoor.testing import check_policy
    check_policy(MyPolicy)

Each is a plain function that returns nothing, or raises AssertionError with the law that was broken
and where. They are deterministic, need no network and no test framework, and take seconds.
"""

from spoor.testing.frontiers import check_frontier, check_live_frontier
from spoor.testing.judges import check_judge
from spoor.testing.policies import check_policy
from spoor.testing.worlds import check_world

__all__ = ["check_frontier", "check_judge", "check_live_frontier", "check_policy", "check_world"]
