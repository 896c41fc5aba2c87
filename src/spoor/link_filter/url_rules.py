"""Which URLs a crawl leaves out whatever it has seen: by its scope, by what they would do, by a
form that only mistakes have."""

from __future__ import annotations

from spoor.link_filter.action_trials import ActionTrials
from spoor.link_filter.scope import Scope
from spoor.web.actions import action
from spoor.web.url_groups import excess, oddity
from spoor.web.urls import canonical

DOES = "it does something: "
"""Begin of the rule that leaves out what does something."""
_MEMO = 16_384
"""URLs whose verdict is cached."""


class UrlRules:
    """The rules. `trials` is None where what does something may be asked for; `guarded`: with trap
    detection, parameters that only track are taken off, and odd URLs are left out."""

    def __init__(self, scope: Scope, trials: ActionTrials | None, *, guarded: bool) -> None:
        self._scope = scope
        self._trials = trials
        self._guarded = guarded
        self.memo: dict[str, tuple[str, str]] = {}
        """URL → its verdict, of those that were looked at last; clear it where rules change."""

    def look(self, url: str) -> tuple[str, str]:
        """As `verdict`, and remember it in `memo`."""
        if self._guarded and (why := excess(url)):  # no table holds it
            return url, why
        if len(self.memo) >= _MEMO:
            self.memo.clear()
        known = self.memo[url] = self.verdict(url)
        return known

    def verdict(self, url: str) -> tuple[str, str]:
        """The URL to ask for instead of a link's, and the rule that leaves it out."""
        plain = url
        if self._guarded and ("?" in url or ";" in url):
            plain = canonical(url, strip_tracking=True, routes=True)
            plain = url if plain == url else plain
        return plain, self.why_not(plain)

    def why_not(self, url: str) -> str:
        """The rule that leaves out a canonical URL; empty for none."""
        if why := self._scope.why_not(url):
            return why
        if self._scope.is_seed(url):  # somebody asked for it, whatever it looks like
            return ""
        trials = self._trials
        does = "" if trials is None else action(url)
        if does and trials is not None and not trials.takes(url):
            return f"{DOES}{does}"
        return oddity(url) if self._guarded else ""
