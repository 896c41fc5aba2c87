"""When a run has found enough, or no longer finds enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spoor.learn.harvest_estimate import Estimate
from spoor.settings import Settings

LEAST_PAGES = 50
"""No run ends by an estimate before."""


@dataclass(frozen=True, slots=True)
class StopRule:
    """When a run has found enough, or no longer finds enough, by its settings: `found`, `floor`
    over a `window`, `saturation` and `least`. The last two look at the upper end of an estimate."""

    settings: Settings

    @property
    def estimates(self) -> bool:
        """Whether it goes by an estimate."""
        return bool(self.settings.saturation or self.settings.least)

    def used(self, seconds: float, size: int) -> str | None:
        """Why to stop now, with so many seconds and bytes of documents used; or None."""
        if self.settings.max_bytes and size >= self.settings.max_bytes:
            return f"budget of {self.settings.max_bytes} bytes reached"
        if self.settings.max_time and seconds >= self.settings.max_time:
            return f"time is over: {self.settings.max_time:g} s"
        return None

    def has_found(self, found: int) -> bool:
        """Whether so many found are enough."""
        return self.settings.found is not None and found >= self.settings.found

    def reason(
        self, found: int, recent: Sequence[bool], estimate: Estimate | None = None
    ) -> str | None:
        """Why to stop now, with so many found, these verdicts on the last pages, and an estimate of
        what is left where there is one; or None."""
        if estimate is not None and estimate.pages >= LEAST_PAGES:
            high = estimate.share_left.high
            if high < self.settings.saturation:
                return f"saturated: at most {high:.0%} of the relevant pages is left, by estimate"
            if estimate.next.high < self.settings.least:
                most = estimate.next.high
                return f"the next hundred pages will find {most:.0f} more at most, by estimate"
        if self.has_found(found):
            return f"found {found} relevant pages"
        if len(recent) >= self.settings.window and sum(recent) < self.settings.floor * len(recent):
            rate = sum(recent) / len(recent)
            return f"harvest of the last {len(recent)} pages fell to {rate:.1%}"
        return None
