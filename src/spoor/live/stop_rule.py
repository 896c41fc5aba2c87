"""When a run has found enough, or no longer finds enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spoor.learn.harvest_estimate import Estimate

LEAST_PAGES = 50
"""No run ends by an estimate before."""


@dataclass(frozen=True, slots=True)
class StopRule:
    """When a run has found enough, or no longer finds enough."""

    found: int | None = None
    """Relevant pages after which it ends."""
    floor: float = 0.0
    """Harvest rate, in [0, 1], of the last `window` pages below which it ends."""
    window: int = 200
    saturation: float = 0.0
    """Share of all relevant pages, in [0, 1]: it ends once the upper end of the estimate of what is
    left falls below it."""
    least: float = 0.0
    """Relevant pages: it ends once the upper end of what the next hundred pages will find falls
    below it."""

    @property
    def estimates(self) -> bool:
        """Whether it goes by an estimate."""
        return bool(self.saturation or self.least)

    def reason(
        self, found: int, recent: Sequence[bool], estimate: Estimate | None = None
    ) -> str | None:
        """Why to stop now, with so many found, these verdicts on the last pages, and an estimate of
        what is left where there is one; or None."""
        if estimate is not None and estimate.pages >= LEAST_PAGES:
            high = estimate.share_left.high
            if high < self.saturation:
                return f"saturated: at most {high:.0%} of the relevant pages is left, by estimate"
            if estimate.next.high < self.least:
                most = estimate.next.high
                return f"the next hundred pages will find {most:.0f} more at most, by estimate"
        if self.found is not None and found >= self.found:
            return f"found {found} relevant pages"
        if len(recent) >= self.window and sum(recent) < self.floor * len(recent):
            rate = sum(recent) / len(recent)
            return f"harvest of the last {len(recent)} pages fell to {rate:.1%}"
        return None
