"""Links whose names say that nobody wants what they lead to: photos of a blog that saves no images.

Of links of a host whose names end alike below one folder, the first `TRIED` are asked for. Where
none of them brought a text or a link, the others are left out: a page that shows ten photos does
not cost ten requests. Where one did, as on a wiki whose pages about files have names of files, all
of them are asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from spoor.bounded import remember
from spoor.link_filter.waiting_places import Holder
from spoor.types import HeldLink, LinkId, Page, State
from spoor.web.urls import host

TRIED = 3
"""Links of a group that are asked for."""
_GROUPS = 10_000
_WANTED = -1


def why_unwanted(group: str) -> str:
    """Why a group is left out, in words."""
    return f"--types: the first {TRIED} files like {group} had neither text nor links"


class UnwantedNames(Holder):
    """`unwanted`: whether the name of a file, the end of a URL's path, is that of what nobody
    wants. O(1) a call."""

    def __init__(self, unwanted: Callable[[str], bool]) -> None:
        super().__init__()
        self._unwanted = unwanted
        self._tried: OrderedDict[str, int] = OrderedDict()
        """Group → links that were asked for and brought no document, those in flight among them;
        `_WANTED` once one did."""
        self._flying: dict[LinkId, str] = {}

    def holder(self, link: LinkId, url: str) -> str:
        """The group with which a URL is left out that is about to be asked for; empty where it
        is asked for. It counts until it has `ended`."""
        if link in self._flying or not (group := self._group(url)):
            return ""
        tried = self._tried.get(group, 0)
        if tried >= TRIED:
            return group
        if tried != _WANTED:
            remember(self._tried, group, tried + 1, _GROUPS)
            self._flying[link] = group
        return ""

    def left_out_with(self, url: str) -> str:
        """The group with which a URL is left out by now; empty where it is not."""
        group = self._group(url)
        return group if self._tried.get(group, 0) >= TRIED else ""

    def _group(self, url: str) -> str:
        """Host, folder and ending; empty for a name that may be that of a document."""
        path = url.partition("?")[0]
        name = path.rpartition("/")[2]
        if "." not in name or not self._unwanted(name):
            return ""
        below = path.split("/", 4)[3:]
        folder = f"/{below[0]}" if len(below) > 1 else ""
        return f".{name.rpartition('.')[2]} on {host(url)}{folder}"

    def ended(self, link: LinkId, page: Page | None) -> None:
        """What a link brought; None where nothing came."""
        group = self._flying.pop(link, "")
        tried = self._tried.get(group, _WANTED)
        if tried == _WANTED:
            return
        if page is None:
            self._tried[group] = tried - 1
        elif page.text or len(page.links) or "not-html" not in page.flags:
            self._tried[group] = _WANTED
        else:
            return
        self._free(group)

    def release(self) -> list[HeldLink]:
        """Links that are asked for after all."""
        return self._all_freed()

    def left_out(self) -> dict[str, int]:
        links = sum(self._waiting.counts().values()) + self._waiting.lost
        return {"--types": links} if links else {}

    def save(self) -> State:
        return {
            "tried": [*self._tried.items()],
            "flying": [[link, group] for link, group in self._flying.items()],
            **super().save(),
        }

    def load(self, state: State) -> None:
        self._tried = OrderedDict(map(tuple, state["tried"]))
        self._flying = {LinkId(link): group for link, group in state["flying"]}
        super().load(state)
