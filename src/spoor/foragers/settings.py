"""The numbers of Palotai, Farkas & Lőrincz 2005, each under the name that the paper gives it."""

from __future__ import annotations

from dataclasses import dataclass

from spoor.durations import DAY
from spoor.errors import InputError


def steps_of_a_path(requests_per_day: int) -> int:
    """Steps of a path after its start with so many requests a day (0: no limit), so that a fleet
    comes back to where paths begin about each half hour; the paper's 100 where that is enough."""
    return 100 if not requests_per_day else min(100, max(2, requests_per_day // 48))


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """What a fleet of foragers runs by. The defaults are the paper's, except where a line says
    that the paper leaves it open."""

    weblog: bool = True
    """Starting URLs are learned (Algorithm 1)."""
    learns: bool = True
    """The order of URLs is learned (Algorithm 4)."""
    weblog_size: int = 100
    start_size: int = 10
    beta: float = 0.3
    """Share of the new sum of rewards in a weblog value."""
    max_step: int = 100
    """Steps of a path after its start."""
    gamma: float = 0.9
    alpha: float = 0.1
    reward: float = 100.0
    penalty: float = -1.0
    init_score: float = 100.0
    sent_cost: float = 0.05
    """SCORE−: what each URL sent costs."""
    relevant_gain: float = 1.0
    """SCORE+: what each relevant one brings."""
    max_score: float = 200.0
    min_score: float = 0.0
    max_foragers: int = 16
    min_foragers: int = 2
    slice_seconds: float = 180.0
    new_for: float = DAY
    """Seconds for which a document is new."""
    identity: str = "url"
    """What one document is, which the paper leaves open: a `url`, or a `version` of one."""
    start: str = "random"
    """At which of its starting URLs a path begins: a `random` one, or by the `refresh` policy the
    one most worth a visit (section 2.1 of the paper, not in its experiments)."""
    recheck: float = 0.0
    """Seconds for which a linked page that the fleet has downloaded is not asked for again; 0, as
    in the paper, asks for every link of every step."""

    def __post_init__(self) -> None:
        """Raises InputError for settings that no fleet can have."""
        if self.identity not in ("url", "version"):
            raise InputError(f"identity is 'url' or 'version', not {self.identity!r}")
        if not 1 <= self.min_foragers <= self.max_foragers:
            raise InputError("a fleet has 1 ≤ min_foragers ≤ max_foragers")
        if self.new_for <= 0 or self.slice_seconds <= 0 or self.recheck < 0:
            raise InputError(
                "new_hours and slice_seconds lie above 0, recheck is 0 or more seconds"
            )
        if self.start not in ("random", "refresh"):
            raise InputError(f"start is 'random' or 'refresh', not {self.start!r}")
