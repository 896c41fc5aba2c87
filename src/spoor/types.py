"""The values that travel between the parts: frozen, without behaviour of their own.

What is made once for every link (`Anchor`, `Link`, `InLink`) is a named tuple, which costs a
third of a frozen dataclass to make; everything else is a frozen dataclass with slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, overload, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LinkId = int
"""A target URL's number in its frontier, from 0 in the order of discovery."""

NO_PARENT: LinkId = -1
"""The parent of a seed."""

State = Mapping[str, Any]
"""What a plug-in saves: nested mappings and lists of JSON values and NumPy arrays."""


# ---------------------------------------------------------------- pages and links


class Anchor(NamedTuple):
    """How one hyperlink stands on its page."""

    text: str = ""
    """Visible words of the link, alternatives of images included."""
    before: str = ""
    """Words just before it in reading order."""
    after: str = ""
    """Words just after it in reading order."""
    headings: tuple[str, ...] = ()
    """The nearest heading of each level above it, outermost first."""
    tag_path: str = ""
    """Elements from the root to the link, with ids and classes: `html/body/div#main/ul.news/a`."""
    position: int = 0
    """0-based place among the links of the page."""
    region: str = "main"
    """`main`, `nav`, `header`, `footer` or `aside`."""
    nofollow: bool = False
    """rel=nofollow on the link or on the whole page."""


class Link(NamedTuple):
    """One hyperlink on one page."""

    url: str
    """Absolute, in canonical form (`spoor.web.urls.canonical`)."""
    anchor: Anchor = Anchor()
    kind: str = "a"
    """`a`, `area`, `frame`, `iframe`, `refresh`, `canonical`, `seed`, `sitemap` (the target is one)
    or `listed` (it stands in one)."""


@runtime_checkable
class LazyLinks(Protocol):
    """A sequence of links that makes a `Link` only when asked, and knows the URLs without."""

    @property
    def urls(self) -> Sequence[str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Link: ...


def urls_of(links: Sequence[Link]) -> Sequence[str]:
    """Where links lead to; makes none of them where they are LazyLinks."""
    lazy: Sequence[str] | None = getattr(links, "urls", None)
    return [link.url for link in links] if lazy is None else lazy


@dataclass(frozen=True, slots=True)
class Page:
    """One fetched document, parsed."""

    url: str
    """Canonical form of the URL that answered, after redirects."""
    status: int = 200
    content_type: str = "text/html"
    title: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""
    """Visible text in reading order, without script and style."""
    links: Sequence[Link] = ()
    description: str = ""
    """The meta description."""
    canonical: str | None = None
    """Target of rel=canonical, if it differs from `url`."""
    language: str = ""
    encoding: str = ""
    flags: frozenset[str] = frozenset()
    """Of `truncated`, `undecodable`, `noindex`, `nofollow`, `noai`, `not-html`, `too-deep`,
    `sitemap`."""
    labels: frozenset[str] = frozenset()
    """Classes given by whoever recorded it; empty on the live web."""
    site: str = ""
    """The site it was recorded with; empty on the live web."""
    fetched_at: float | None = None
    """Unix seconds."""
    modified: float | None = None
    """Unix seconds of the last change of its content, where its source states it."""


class InLink(NamedTuple):
    """One link seen on one page, as its target stands in the frontier."""

    link: LinkId
    """Number of the target."""
    url: str
    host: str
    anchor: Anchor
    kind: str
    parent: LinkId
    """Number of the page that it was seen on; `NO_PARENT` for a seed."""
    parent_score: float
    """The judge's score of that page, in [0, 1]; 0 for a seed."""
    depth: int
    """Links from a seed by way of that page; 0 for a seed."""
    first: bool
    """Whether the target was unknown before."""


class InLinks(Sequence[InLink]):
    """What one page showed of targets not fetched yet, in page order; made only when asked for.

    The columns are for policies that need numbers only, or work on whole arrays.
    """

    __slots__ = (
        "_found",
        "_hosts",
        "_urls",
        "at",
        "depth",
        "first",
        "links",
        "page",
        "parent",
        "parent_score",
    )

    def __init__(
        self,
        found: Sequence[Link],
        at: Sequence[int],
        links: Sequence[LinkId],
        first: Sequence[bool],
        parent: LinkId,
        parent_score: float,
        depth: int,
        urls: Sequence[str],
        hosts: Sequence[str],
    ) -> None:
        self._found = found
        self.at = at
        """Index of each in-link among the links of the page."""
        self.links = links
        """Number of each target."""
        self.first = first
        """Whether each target was unknown before."""
        self.page: Page | None = None
        """The page itself; None for seeds."""
        self.parent = parent
        self.parent_score = parent_score
        self.depth = depth
        self._urls = urls
        self._hosts = hosts

    @property
    def urls(self) -> Sequence[str]:
        """URL of each target, as long as `links`."""
        return self._urls

    @property
    def hosts(self) -> Sequence[str]:
        """Host of each target, as long as `links`."""
        return self._hosts

    def anchor(self, index: int) -> Anchor:
        """How one of them stands on the page."""
        return self._found[self.at[index]].anchor

    def __len__(self) -> int:
        return len(self.links)

    @overload
    def __getitem__(self, index: int, /) -> InLink: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[InLink]: ...
    def __getitem__(self, index: int | slice, /) -> InLink | Sequence[InLink]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        link = self._found[self.at[index]]
        return InLink(
            self.links[index],
            self._urls[index],
            self._hosts[index],
            link.anchor,
            link.kind,
            self.parent,
            self.parent_score,
            self.depth,
            self.first[index],
        )

    def __iter__(self) -> Iterator[InLink]:
        for index in range(len(self.links)):
            yield self[index]


@dataclass(frozen=True, slots=True)
class LinkBatch:
    """Links that a page fetched by one shard of a crawl showed to hosts of another shard."""

    page: Page | None
    """As much of the page as its links need: no links, its text cut. None for seeds."""
    score: float
    """The judge's, of that page."""
    depth: int
    """Of the links."""
    path: tuple[str, ...]
    """URLs from a seed to the page, itself last."""
    links: tuple[Link, ...]
    done: tuple[str, ...] = ()
    """URLs that are not to be asked for: their host moved here, and they were."""


# ---------------------------------------------------------------- a step of the crawl


@dataclass(frozen=True, slots=True)
class Choice:
    """What a policy wants fetched next."""

    link: LinkId
    probability: float | None = None
    """With which the policy took this link of all that were offered; None if it cannot say."""
    why: tuple[tuple[str, float], ...] = ()
    """Reasons: feature in words, contribution to the value."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """`next`'s answer: request this URL, and hand the reply to `receive` under this ticket."""

    ticket: int
    """One a Choice; a retry and a redirect keep it."""
    url: str
    host: str
    choice: Choice
    attempt: int = 1
    """1 for the first request, one more for each retry or redirect."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """`next`'s answer: nothing may be fetched before `until`; ask again then, or after a reply."""

    until: float


@dataclass(frozen=True, slots=True)
class Starved:
    """`next`'s answer: nothing can be asked for until a reply comes in."""


@dataclass(frozen=True, slots=True)
class Finished:
    """`next`'s answer: the crawl is over, and nothing is in flight."""

    reason: str


NextStep = Fetch | Sleep | Starved | Finished


@dataclass(frozen=True, slots=True)
class Fetched:
    """A reply with a document."""

    ticket: int
    page: Page
    seconds: float = 0.0
    """What the download took; simulated in a replay."""
    size: int = 0
    """Bytes of the body after decompression."""


@dataclass(frozen=True, slots=True)
class Redirected:
    """A reply that names another URL; the crawl asks for it when its host's turn comes."""

    ticket: int
    location: str
    """Absolute and canonical."""
    status: int = 302
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Failed:
    """No document."""

    ticket: int
    kind: str
    """`absent`, `http`, `timeout`, `connection`, `robots`, `blocked`, `limit`, `redirect`,
    `duplicate`, `skipped` (never asked for), `cancelled` or `moved` (to another shard)."""
    reason: str = ""
    status: int = 0
    transient: bool = False
    """Worth another attempt."""
    retry_after: float | None = None
    """Seconds that the host asked for."""
    seconds: float = 0.0


Reply = Fetched | Redirected | Failed


class Recording(NamedTuple):
    """One URL with the reply that was recorded for it: what archives hold and recorded webs replay.

    The reply's ticket means nothing.
    """

    url: str
    """Canonical."""
    reply: Reply
    where: str = ""
    """Where it stands in its archive, for messages: `pages.jsonl line 3`."""
    time: float | None = None
    """Unix seconds of the recording; a later one of the same URL replaces an earlier one."""
    aliases: tuple[str, ...] = ()
    """Other canonical URLs of the same page."""
    extra: Mapping[str, Any] | None = None
    """What else its archive says of it, as JSON values."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How much one page is what the user wants."""

    score: float
    """In [0, 1]."""
    relevant: bool
    reward: float
    """What the policies maximise: 1 for a relevant page, else 0, unless the judge says more."""
    why: tuple[tuple[str, float], ...] = ()
    """Reasons in words, with their share of the score."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one Choice; learned from exactly once."""

    choice: Choice
    reply: Fetched | Failed
    judgement: Judgement | None
    """None where there is no page."""
    reward: float
    """The judgement's, or 0."""

    @property
    def page(self) -> Page | None:
        """The page, if one came."""
        return self.reply.page if isinstance(self.reply, Fetched) else None


@dataclass(frozen=True, slots=True)
class Deferred:
    """`receive`'s answer where the same ticket will be asked for again: a redirect or a retry."""

    ticket: int
    url: str
    until: float
    reason: str


# ---------------------------------------------------------------- what a policy is told


@dataclass(frozen=True, slots=True)
class Topic:
    """What the user wants, in words."""

    name: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    """Words and phrases."""
    examples: tuple[str, ...] = ()
    """Texts of pages that are wanted."""
    categories: Mapping[str, str] = field(default_factory=dict)
    """Wider fields that the topic lies in: name → text (Han et al. 2018)."""

    @property
    def text(self) -> str:
        """All its words, examples left out."""
        return " ".join(part for part in (self.name, self.description, *self.keywords) if part)


@dataclass(frozen=True, slots=True)
class WebGraph:
    """A whole web with its targets: what only the oracle and the lab may know."""

    urls: Sequence[str]
    indptr: NDArray[np.int64]
    """Compressed sparse rows: the targets of page i are indices[indptr[i]:indptr[i + 1]]."""
    indices: NDArray[np.int32]
    targets: NDArray[np.bool_]

    def index(self) -> dict[str, int]:
        """URL → number; O(pages) to build."""
        return {url: number for number, url in enumerate(self.urls)}


@dataclass(frozen=True, slots=True)
class KnownWeb:
    """One site known whole, with its targets: what a training learns from."""

    name: str
    graph: WebGraph
    root: int
    """Number of the page where crawls of it begin."""
    page: Callable[[int], Page]
    """Page by its number in the graph. URLs of its links are those of the graph, or stand for no
    page of it."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a policy is told when it is made."""

    rng: np.random.Generator
    """Its only source of randomness."""
    topic: Topic = Topic()
    model: State | None = None
    """What training left, for policies that have a training."""
    graph: WebGraph | None = None
    """In the lab only."""
    vectors: object | None = None
    """Word vectors (`spoor.web.text.Vectors`), for policies that use them."""
