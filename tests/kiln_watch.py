"""A watch of one site for what is about kilns, of so many requests a day."""

from __future__ import annotations

import numpy as np

from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask, change_rate
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching

LIT = "The kiln is lit."
"""What a wanted document says."""


def fleet_of(seed: str, per_day: int) -> Fleet:
    hosts = Hosts(delay=1.0, per_host=1, per_day=per_day)
    watching = Watching(TextPattern("kiln is lit"))
    rng = np.random.default_rng(0)
    return change_rate(FleetTask([seed], NoStates(), rng, hosts=hosts, watching=watching))
