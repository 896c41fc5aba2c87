"""Pages as a judge keeps them: a short vector of their rarest terms and links and of their place
(the folders of the URL and the words of its name), and what the words of the wish say of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spoor.columns import parts_of, pieces_of
from spoor.judges.relevance.frequencies import Floats
from spoor.judges.relevance.repeated import TEXTS, InText
from spoor.judges.relevance.repeated import as_arrays as texts_as_arrays
from spoor.judges.relevance.repeated import from_arrays as texts_from_arrays
from spoor.judges.relevance.url_numbers import number_of_url, site_of
from spoor.types import State
from spoor.web.actions import is_view
from spoor.web.urls import with_query

MOST_TERMS = 160
"""Terms of a page that are kept."""
MOST_LINKS = 32
"""Links of a page that are kept."""
KEPT = 3_000
"""Pages that are kept at most: the best, and the rest as a uniform sample."""


FILED = 4
"""Pages of a site that are filed under what is wanted and nothing else, from which on those that it
files under one other thing are about that. What breadcrumbs pass through has what is wanted in it,
and a page with several tags is about each."""


@dataclass(slots=True)
class KeptPage:
    """One page as it is kept."""

    url: str
    ids: NDArray[np.uint32]
    """Terms, then links, then parts of its place."""
    often: NDArray[np.uint8]
    terms: int
    """How many of the ids are terms."""
    evidence: Floats
    """What its words say: (leaves, 2), with what is only like them and without."""
    near: float = 0.0
    """How near to one another the words of the wish stand, in [0, 1]."""
    tongue: float = 1.0
    """Probability that it is in a language that is wanted."""
    label: int = 0
    """1 if a person or the examples say that it is wanted, −1 if not."""
    told: tuple[float, bool] = (0.0, False)
    """Score and relevance as last told."""
    rank: float = 0.0
    """Its value when it was last judged, by which pages are kept."""
    places: int = 0
    """How many of the ids are parts of its place."""
    links: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The whole numbers of the ids that are links."""
    together: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Of each part of the wish that names several words or alternatives: whether they stand
    together in its title, its URL or an anchor to it."""
    named: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    """Of each leaf of the wish, whether it stands in its title, its URL or an anchor to it."""
    content: int = 0
    """64 bits of its title and text, the same for copies; 0 for a page without words. One that was
    cut has no copy."""
    number: int = -1
    """`number_of_url` of it, and …"""
    site: int = -1
    """… `site_of` it; found by itself where it is not given."""
    script: int = 0
    """Which kind of script most of its text is in."""
    in_text: InText | None = None
    """What it says by its text, until its site is known."""
    is_early: bool = False
    """Whether it may have terms and links of a menu that was not known yet."""

    is_list: bool = False
    """It is a list of documents (`spoor.web.list_pages`)."""
    first_part: int = 0
    """`number_of_url` of the first part of its document, where it is a further one of that
    (`spoor.web.parts`)."""
    is_filed: bool = False
    """Its site files it under just what is wanted."""
    is_alone: bool = False
    """Its site files it under one thing, and no more."""
    is_earlier: bool = False
    """It came in the crawl that this one visits again, and may have moved since."""

    def __post_init__(self) -> None:
        if self.number < 0:
            self.number, self.site = number_of_url(self.url), site_of(self.url)

    @property
    def is_elsewhere(self) -> bool:
        """Its site files it under one thing, and that is not what is wanted."""
        return self.is_alone and not self.is_filed


def without(page: KeptPage, ids: NDArray[np.uint32]) -> None:
    """Take these terms and links from a page."""
    is_own = np.isin(page.ids, ids, invert=True)
    is_own[len(page.ids) - page.places :] = True
    page.links = page.links[is_own[page.terms : len(page.ids) - page.places]]
    page.terms = int(is_own[: page.terms].sum())
    page.ids, page.often = page.ids[is_own], page.often[is_own]


def copies(
    pages: Sequence[KeptPage], may_speak: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], Floats]:
    """Of pages that `may_speak` first, and of these those with labels, whether each is the first
    with its title and text, and which share of these it is: one page under many URLs counts as
    one."""
    contents = np.array([page.content for page in pages], np.uint64)
    unlabelled = np.array([page.label == 0 for page in pages], bool)
    order = np.lexsort((unlabelled, ~may_speak))
    _, at, inverse, counts = np.unique(
        contents[order], return_index=True, return_inverse=True, return_counts=True
    )
    first, shares = contents == 0, np.ones(len(pages))
    first[order[at]] = True
    shares[order] = 1.0 / counts[inverse]
    shares[contents == 0] = 1.0
    return first, shares


def as_arrays(pages: Sequence[KeptPage], leaves: int) -> Mapping[str, Any]:
    """Kept pages as JSON values and arrays, to save them."""
    in_text = [page.in_text for page in pages]
    lists, earlier = [page.is_list for page in pages], [page.is_earlier for page in pages]
    filed = [page.is_filed + 2 * page.is_alone for page in pages]
    first_parts = [page.first_part for page in pages]
    return {
        "urls": [page.url for page in pages],
        "sizes": np.array([len(page.ids) for page in pages], np.uint32),
        "terms": np.array([page.terms for page in pages], np.uint32),
        "ids": np.concatenate([np.zeros(0, np.uint32), *(page.ids for page in pages)]),
        "links": np.concatenate([np.zeros(0, np.uint64), *(page.links for page in pages)]),
        "often": np.concatenate([np.zeros(0, np.uint8), *(page.often for page in pages)]),
        "evidence": np.array([page.evidence for page in pages], float).reshape(
            len(pages), leaves, 2
        ),
        "numbers": np.array(
            [(page.near, page.tongue, page.told[0], page.rank) for page in pages], float
        ).reshape(-1, 4),
        "labels": np.array([page.label for page in pages], np.int8),
        "relevant": np.array([page.told[1] for page in pages], np.uint8),
        "places": np.array([page.places for page in pages], np.uint16),
        "together": np.array([page.together for page in pages], np.uint8),
        "named": np.array([page.named for page in pages], np.uint8),
        "contents": np.array([page.content for page in pages], np.uint64),
        "scripts": np.array([page.script for page in pages], np.uint8),
        "early": np.array([page.is_early for page in pages], np.uint8),
        **({"lists": np.array(lists, np.uint8)} if any(lists) else {}),
        **({"filed": np.array(filed, np.uint8)} if any(filed) else {}),
        **({"earlier": np.array(earlier, np.uint8)} if any(earlier) else {}),
        **({"first_parts": np.array(first_parts, np.uint64)} if any(first_parts) else {}),
        **{f"text_{name}": its for name, its in texts_as_arrays(in_text, leaves).items()},
    }


def from_arrays(state: State) -> list[KeptPage]:
    """The pages that `as_arrays` saved."""
    links = state["sizes"].astype(int) - state["terms"] - state["places"]
    parts = starmap(slice, parts_of(state["sizes"], len(state["ids"])))
    of_links = pieces_of(state["links"], links)
    texts = texts_from_arrays({name: state[f"text_{name}"] for name in TEXTS}, len(state["urls"]))
    none = np.zeros(len(state["urls"]))
    lists, earlier = state.get("lists", none), state.get("earlier", none)
    filed = state.get("filed", none)
    first_parts = state.get("first_parts", none)
    if state["text_misses"].shape[1] != state["evidence"].shape[1]:
        raise ValueError("texts of another wish")
    pages = []
    for at, (url, part, its) in enumerate(zip(state["urls"], parts, of_links, strict=True)):
        near, tongue, score, rank = state["numbers"][at].tolist()
        pages.append(
            KeptPage(
                url,
                state["ids"][part].copy(),
                state["often"][part].copy(),
                int(state["terms"][at]),
                state["evidence"][at].copy(),
                near,
                tongue,
                int(state["labels"][at]),
                (score, bool(state["relevant"][at])),
                rank,
                int(state["places"][at]),
                its.copy(),
                state["together"][at].astype(np.bool_),
                state["named"][at].astype(np.bool_),
                int(state["contents"][at]),
                script=int(state["scripts"][at]),
                in_text=texts.get(at),
                is_early=bool(state["early"][at]),
                is_list=bool(lists[at]),
                is_filed=bool(int(filed[at]) & 1),
                is_alone=bool(int(filed[at]) & 2),
                first_part=int(first_parts[at]),
                is_earlier=bool(earlier[at]),
            )
        )
    return pages


def may_be_told(
    pages: Sequence[KeptPage], views: Collection[str], *, lists: bool
) -> NDArray[np.bool_]:
    """Which pages may be results: no `views` of others (URLs), and lists only where these are
    wanted, or where there is nothing else."""
    told = np.array(
        [
            page.label > 0 or ((lists or not page.is_list) and page.url not in views)
            for page in pages
        ]
    )
    return told if told.any() else ~told


def views_again(pages: Sequence[KeptPage]) -> NDArray[np.bool_]:
    """Of each page, whether it shows a list in another order, or a part of it (by its URL), where
    another page of the same list is there. O(pages)."""
    at = [index for index, page in enumerate(pages) if is_view(page.url)]
    again = np.zeros(len(pages), bool)
    if at:
        views = set(at)
        lists = {_list(page.url) for index, page in enumerate(pages) if index not in views}
        for index in at:
            path = _list(pages[index].url)
            again[index] = path in lists
            lists.add(path)
    return again


def filing_sites(pages: Sequence[KeptPage]) -> frozenset[int]:
    """Sites that file several pages under what is wanted and nothing else. O(pages)."""
    alone = (page for page in pages if page.is_filed and page.is_alone and not page.is_list)
    wanted = Counter(page.site for page in alone)
    return frozenset(site for site, often in wanted.items() if often >= FILED)


def elsewhere(pages: Sequence[KeptPage], filing: frozenset[int]) -> NDArray[np.bool_]:
    """Of each page whether one of the sites whose `filing` tells files it under something else."""
    return np.array(
        [page.is_elsewhere and page.site in filing and page.label <= 0 for page in pages], np.bool_
    )


def further_parts(pages: Sequence[KeptPage]) -> NDArray[np.bool_]:
    """Of each page, whether it is a further part of a document whose first part is there.
    O(pages)."""
    there = {page.number for page in pages}
    return np.array([page.first_part in there for page in pages], np.bool_)


def _list(url: str) -> str:
    """The URL of a list without what sorts or filters it."""
    return with_query(url).partition("?")[0]
