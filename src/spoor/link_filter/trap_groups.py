"""What looks alike to a guard against traps (`traps.py`), and what is known of it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import numpy as np

from spoor.columns import column, texts_column, texts_of
from spoor.link_filter.chosen_by_others import is_of_stranger
from spoor.link_filter.mirrored_folders import Folders
from spoor.types import State
from spoor.web.actions import is_view
from spoor.web.url_groups import groups
from spoor.web.urls import host

SAMPLE = 6
"""Pages without news in a row that hold back a group of one shape."""
VIEWS = 3
"""The same where the parameters sort, filter or page through time."""
WIDE = 12
"""The same for a folder, and for the same parameters on a whole host."""
RELEVANT = 4
"""A relevant page without news counts one part in so many."""

VOUCHED = -1
"""News of a page without any whose links lead to something new: it counts neither way."""

LAST = ": other ways to pages"
"""End of the name of what is asked for last (`spoor.web.other_ways`), after its host."""
_COPIES = ": copies of "
"""Between the names of mirrored folders, the first of which waits."""
NEVER = 1 << 40
"""Pages after which it is tried before that."""
HOSTS = "hosts of "
"""Begin of the name of a group of all hosts of one domain."""


class Count:
    """What is known of a group. Runs count in quarters of a page."""

    __slots__ = ("blamed", "held", "new", "next", "pages", "run", "same", "tries")

    def __init__(self) -> None:
        self.pages = self.new = self.run = self.same = 0
        self.held = self.tries = self.next = self.blamed = 0

    def why(self, name: str) -> str:
        """Why the group of this name is held back, in words."""
        if is_asked_last(name):
            return "asked for last"
        if name.endswith("="):
            return "the same pages as without this parameter"
        return f"{self.pages - self.new} of {self.pages} pages brought nothing new"


_PAGES = ("pages", "new", "run", "same")
_HOLDS = ("held", "tries", "next", "blamed")
"""Which are 0 in most groups."""


def saved_counts(counts: Mapping[str, Count]) -> State:
    """Groups and what is known of them, as arrays: a crawl has tens of thousands. O(groups)."""
    its = [*counts.values()]
    held = [at for at, count in enumerate(its) if any(_holds(count))]
    return {
        "names": texts_column(counts),
        "pages": np.array(
            [column(map(attrgetter(name), its), len(its), np.int64) for name in _PAGES]
        ),
        "held": np.array(held, np.int64),
        "holds": np.array([_holds(its[at]) for at in held], np.uint64).reshape(-1, len(_HOLDS)),
    }


def counts_of(saved: State) -> OrderedDict[str, Count]:
    """What `saved_counts` was given. Raises ValueError or LookupError for anything else."""
    its = [Count() for _ in saved["pages"][0]]
    for name, values in zip(_PAGES, saved["pages"].tolist(), strict=True):
        for count, value in zip(its, values, strict=True):
            setattr(count, name, value)
    for at, values in zip(saved["held"].tolist(), saved["holds"].tolist(), strict=True):
        for name, value in zip(_HOLDS, values, strict=True):
            setattr(its[at], name, value)
    return OrderedDict(zip(texts_of(saved["names"]), its, strict=True))


_holds = attrgetter(*_HOLDS)


def longest_run(name: str, url: str) -> int:
    """The run at which a group is held back."""
    if is_folder(name) or "/**?" in name:
        return WIDE * RELEVANT
    few = is_view(url) if "?" in name else "/**/" in name
    return (VIEWS if few else SAMPLE) * RELEVANT


def is_folder(name: str) -> bool:
    """Whether a group is of a folder, or of all below one."""
    return name.endswith(("/*", "/**"))


def is_below_others(name: str) -> bool:
    """Whether a group is of what has one name below other documents (`film/*/reviews/add`)."""
    return "/*/" in name and "?" not in name


def is_anywhere(name: str) -> bool:
    """Whether it is of what has one name below documents of any folder (`*/*/add`)."""
    return "/*/*/" in name


def newsless(url: str) -> str:
    """The group of what only pages without news link to, on the host of a URL."""
    return f"{host(url)}: links of pages without news"


def asked_last(url: str) -> str:
    """The group of what is asked for last, on the host of a URL."""
    return f"{host(url)}{LAST}"


def copies(folders: Folders | None) -> str:
    """The group of what is below a folder and, fetched already, below another; empty for none."""
    if folders is None:
        return ""
    one, other = (folder.partition("://")[2] for folder in folders)
    return f"{one}{_COPIES}/{other.partition('/')[2]}"


def is_asked_last(name: str) -> bool:
    """Whether a group is of what is asked for once there is nothing else."""
    return name.endswith(LAST) or is_of_copies(name)


def is_of_copies(name: str) -> bool:
    """Whether a group is of what is below a folder and, fetched already, below another."""
    return _COPIES in name


@lru_cache(maxsize=16_384)
def names_of(url: str) -> Sequence[str]:
    """The groups of a URL, the narrowest first; the one of links that no page with news lists is
    last."""
    return (*(name for name, _ in groups(url)), newsless(url))


def narrowest(url: str) -> str:
    """The narrowest group of a URL."""
    return groups(url)[0][0]


def in_rests(name: str) -> bool:
    """Whether more and more of a group may be asked for in the end: what strangers chose, and the
    same without a parameter, is not."""
    return not (name.endswith("=") or is_of_stranger(name))
