"""The values that the parts exchange: immutable, without behaviour.

Types with one object a link (`Anchor`, `Link`, `InLink`) are named tuples, which take a third of
the time of a frozen dataclass to make; all others are frozen dataclasses with slots.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, overload

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
    """The words and the markup of one hyperlink on its page."""

    text: str = ""
    """Visible words of the link, alternatives of images included."""
    before: str = ""
    """Words just before it in reading order."""
    after: str = ""
    """Words just after it in reading order."""
    headings: tuple[str, ...] = ()
    """The nearest heading of each level above it, outermost first."""
    tag_path: str = ""
    """Elements from the root to the link, with ids and classes: `html/body/div#main/ul.news/a`.
    Numbers of three digits and more in these are 0: each item of a list has its own."""
    position: int = 0
    """0-based index among the links of the page."""
    region: str = "main"
    """`main`, `nav`, `header`, `footer` or `aside`."""
    nofollow: bool = False
    """rel=nofollow on the link or on the whole page; or the page asks first whether to follow it on
    its own host, as before something is deleted."""


class Link(NamedTuple):
    """One hyperlink on one page."""

    url: str
    """Absolute, in canonical form (`spoor.web.urls.canonical`)."""
    anchor: Anchor = Anchor()
    kind: str = "a"
    """`a`, `place` (the same, to a place within a page: `spoor.web.other_ways`), `area`, `frame`,
    `iframe`, `refresh`, `canonical`, `seed`, `sitemap` (the target is a sitemap), `index` (a search
    index), `search` (an answer of the site's search) or `listed` (one of these lists it)."""


def urls_of(links: Sequence[Link]) -> Sequence[str]:
    """The URLs of links; makes no `Link` of a sequence that has `urls`."""
    lazy: Sequence[str] | None = getattr(links, "urls", None)
    return [link.url for link in links] if lazy is None else lazy


def kinds_of(links: Sequence[Link]) -> Sequence[str]:
    """The kinds of links; makes no `Link` of a sequence that has `kinds`."""
    lazy: Sequence[str] | None = getattr(links, "kinds", None)
    return [link.kind for link in links] if lazy is None else lazy


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
    """Any of `truncated`, `undecodable`, `noindex`, `nofollow`, `noai`, `tdm-reserved`, `not-html`,
    `too-deep`, `list` (a page made of headings that lead to documents, and their dates), `dated`
    (it says when something on it was published, or its URL does), `sitemap`, `answer` (with
    `sitemap`: of a site's search), `feed` (the last where a watch reads it)."""
    labels: frozenset[str] = frozenset()
    """Classes from the recording of the page; empty on the live web."""
    site: str = ""
    """The site of the recording; empty on the live web."""
    fetched_at: float | None = None
    """Unix seconds."""
    modified: float | None = None
    """Unix seconds of the last change of the content, if its source states it."""
    main: str = ""
    """The main text, a block a line, where it was read: a watch compares it."""
    feeds: tuple[str, ...] = ()
    """Canonical URLs of the feeds that it names as its own."""
    dated: tuple[tuple[str, float], ...] = ()
    """Of a feed or sitemap that a watch reads: (URL, Unix seconds of its last change) of the
    entries that say it. Of another document: its own URL, and when it says that it was published;
    midnight (UTC) where it says the day alone."""
    keywords: tuple[str, ...] = ()
    """What it says that it is filed under: its tags and categories (`rel=tag`, `article:tag`), and
    its section. The keywords in its head are none: they stand there for search engines."""


class InLink(NamedTuple):
    """One link seen on one page, with the number of its target in the frontier."""

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
    """Links from a seed along that page; 0 for a seed."""
    first: bool
    """Whether the target was unknown before."""


class InLinks(Sequence[InLink]):
    """The links of one page to targets not fetched yet, in page order. Each `InLink` is made only
    on access.

    The columns are for policies that need only numbers, or work on arrays.
    """

    __slots__ = (
        "_hosts",
        "_page_links",
        "_urls",
        "depth",
        "first",
        "indices",
        "links",
        "page",
        "parent",
        "parent_score",
    )

    def __init__(
        self,
        page_links: Sequence[Link],
        indices: Sequence[int],
        links: Sequence[LinkId],
        first: Sequence[bool],
        parent: LinkId,
        parent_score: float,
        depth: int,
        urls: Sequence[str],
        hosts: Sequence[str],
    ) -> None:
        self._page_links = page_links
        self.indices = indices
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

    def of_kinds(self, kinds: Container[str]) -> list[InLink]:
        """Those of some kinds; makes no others."""
        known = kinds_of(self._page_links)
        return [self[at] for at, index in enumerate(self.indices) if known[index] in kinds]

    def anchor(self, index: int) -> Anchor:
        """The anchor of one of these links."""
        return self._page_links[self.indices[index]].anchor

    def __len__(self) -> int:
        return len(self.links)

    @overload
    def __getitem__(self, index: int, /) -> InLink: ...
    @overload
    def __getitem__(self, index: slice, /) -> Sequence[InLink]: ...
    def __getitem__(self, index: int | slice, /) -> InLink | Sequence[InLink]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        link = self._page_links[self.indices[index]]
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


class HeldLink(NamedTuple):
    """A link of a page that a filter holds back for now."""

    link: Link
    parent: LinkId
    score: float
    """Of its page."""
    depth: int
    dropped: bool
    """Whether it was in the frontier, which dropped it."""

    def row(self) -> list[Any]:
        """As a saved state holds it."""
        url, anchor, kind = self.link
        return [url, list(anchor), kind, *self[1:]]

    @classmethod
    def of(cls, row: Sequence[Any]) -> HeldLink:
        """From `row`."""
        url, (text, before, after, headings, *rest), kind, *place = row
        anchor = Anchor(text, before, after, tuple(headings), *rest)
        return cls(Link(url, anchor, kind), *place)


class Origin(NamedTuple):
    """The page that links are of."""

    parent: LinkId
    """The page's own link."""
    score: float
    """The judge's, of the page."""
    depth: int
    """Of its links."""

    def held(self, link: Link) -> HeldLink:
        """A link of it that waits before the frontier has it."""
        return HeldLink(link, self.parent, self.score, self.depth, False)


class LeftOut(NamedTuple):
    """Links that were not followed."""

    rules: Mapping[str, int]
    """Rule → URLs that it left out."""
    held: Sequence[tuple[str, int, str]]
    """(group of URLs, links that wait, why) of what is held back for now."""

    @property
    def waiting(self) -> int:
        """Links that are held back."""
        return sum(links for _, links, _ in self.held)

    def as_json(self) -> dict[str, Any]:
        """As JSON values of a summary."""
        held = [dict(zip(_HELD, group, strict=True)) for group in self.held]
        return {"left_out": dict(self.rules), "held_back": held}

    @classmethod
    def of(cls, *summaries: Mapping[str, Any]) -> LeftOut:
        """The sum of what one or more summaries say."""
        rules: dict[str, int] = {}
        for one in summaries:
            for rule, count in one["left_out"].items():
                rules[rule] = rules.get(rule, 0) + count
        held = [group for one in summaries for group in one["held_back"]]
        rows = [(group["group"], group["links"], group["why"]) for group in held]
        return cls(rules, sorted(rows, key=lambda row: -row[1]))


_HELD = ("group", "links", "why")
NOTHING_LEFT_OUT = LeftOut({}, ())


LEFT_OUT = "…"
"""Stands at the beginning of a path of URLs for those that are left out."""


class Ways(NamedTuple):
    """What comes nearer to the seeds with a fetched page: it goes with the page to another shard
    where hosts move."""

    url: str
    """The page's."""
    depth: int
    lead: str
    """Where it is redirected to; empty for nowhere."""
    links: tuple[str, ...]
    """URLs that it links to."""
    deep: tuple[Link, ...]
    """Its links that are too deep so far."""
    score: float
    """The judge's, of the page."""
    told: bool
    """Whether the owners of its links know that they are as near as it makes them."""


@dataclass(frozen=True, slots=True)
class LinkBatch:
    """Links from a page that one shard of a crawl fetched to hosts of another shard."""

    page: Page | None
    """The page without links and with its text cut short. None for seeds."""
    score: float
    """The judge's score of that page."""
    depth: int
    """Depth of the links."""
    path: tuple[str, ...]
    """URLs from a seed to the page; of a long path `LEFT_OUT` and the last ones."""
    links: tuple[Link, ...]
    done: tuple[str, ...] = ()
    """URLs that another shard requested before their hosts moved here: they are done."""
    crossed: int = 0
    """Of a target of redirects: how many of them led to another domain or shard."""
    ways: Ways | None = None
    """Of the page, which moved here."""
    rests: tuple[tuple[str, float], ...] = ()
    """Hosts that moved here, and the seconds for which each is still left alone."""

    @property
    def weight(self) -> int:
        """So many links it counts as, wherever these are bounded."""
        ways = self.ways
        moved = 0 if ways is None else 1 + len(ways.links) + len(ways.deep)
        return len(self.links) + len(self.done) + len(self.rests) + moved


# ---------------------------------------------------------------- a step of the crawl


@dataclass(frozen=True, slots=True)
class Choice:
    """The link that a policy chooses to fetch next."""

    link: LinkId
    probability: float | None = None
    """The probability with which the policy chose this link of the offer; None if unknown."""
    why: tuple[tuple[str, float], ...] = ()
    """Reasons: (feature in words, contribution to the value)."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """`next`'s answer: request this URL, and hand the reply to `receive` under this ticket."""

    ticket: int
    """Each Choice has one ticket; retries and redirects have the same."""
    url: str
    host: str
    choice: Choice
    attempt: int = 1
    """1 for the first request, one more for each retry or redirect."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """`next`'s answer: nothing may be fetched before `until`; call again then, or after a reply."""

    until: float


@dataclass(frozen=True, slots=True)
class Starved:
    """`next`'s answer: nothing can be requested before the next reply."""


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
    """Time of the download; simulated in a replay."""
    size: int = 0
    """Bytes of the body after decompression."""
    fresh_for: float = 0.0
    """Seconds for which the page is fresh by its headers; only a watch reads it."""


@dataclass(frozen=True, slots=True)
class Redirected:
    """A redirect to another URL; the crawl requests that once its host is free."""

    ticket: int
    location: str
    """Absolute and canonical."""
    status: int = 302
    seconds: float = 0.0


UNREACHED = ("timeout", "connection")
"""Kinds of failures of a host that cannot be reached."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A reply without a document."""

    ticket: int
    kind: str
    """`absent`, `http`, `timeout`, `connection`, `robots`, `blocked`, `limit`, `unreadable` (a
    damaged or encrypted document), `refused` (in place of documents the host sends a challenge, a
    block or a rate limit), `gated` (it sends a log-in, a wall of consent, a page that needs
    scripts: `spoor.web.refusals`), `redirect`, `duplicate`, `unchanged` (since an earlier visit),
    `skipped` (never requested), `later` (put off, since other hosts of its domain at the same
    address come first), `cancelled` or `moved` (to another shard)."""
    reason: str = ""
    status: int = 0
    transient: bool = False
    """Worth another attempt."""
    retry_after: float | None = None
    """Seconds that the host asked for."""
    seconds: float = 0.0
    size: int = 0
    """Bytes of the body, if there was one: packed or unpacked, whichever are more."""
    instead: str = ""
    """URL that is asked for once this one is not worth another attempt."""

    @property
    def counts(self) -> bool:
        """Whether it is a failure: a page that is as it was is none, and neither is one that was
        left and is open again."""
        return self.kind not in ("unchanged", "cancelled")

    @property
    def unanswered(self) -> bool:
        """Whether the host did not answer in time, or its robots.txt could not be fetched."""
        return self.transient and (self.kind == "timeout" or self.of_robots)

    @property
    def of_robots(self) -> bool:
        """Whether robots.txt forbids it, or could not be fetched: `retry_after` is that of the host
        then, since only so a host that cannot be reached has one."""
        waits = self.transient and self.retry_after is not None
        return self.kind == "robots" or (waits and self.kind in UNREACHED)

    @property
    def concerns(self) -> str:
        """What the failure says something about: `link` (it leads to no page that may be read:
        absent, refused, unreadable, known already), `host` (busy, or out of reach), or nothing
        (empty: the link was never requested, or we ended the request)."""
        if self.kind in ("skipped", "later", "cancelled", "moved"):
            return ""
        host = self.transient or self.kind in (*UNREACHED, "blocked")
        return "host" if host else "link"


@dataclass(frozen=True, slots=True)
class NotModified:
    """A reply to a conditional request (`spoor.web.validators`): the document has not changed since
    it was fetched. The reply has no body, so no page is judged."""

    ticket: int
    seconds: float = 0.0
    """Time of the exchange."""
    fresh_for: float = 0.0
    """As in `Fetched`."""

    def as_failed(self) -> Failed:
        """The same as a failure, for a crawl that keeps no earlier page."""
        return Failed(self.ticket, "unchanged", "not changed since it was fetched before", 304)


Reply = Fetched | Redirected | Failed
LiveReply = Reply | NotModified
"""What the live web may answer where a page is visited again."""


class Recording(NamedTuple):
    """One URL with its recorded reply: an entry of an archive, which recorded webs replay.

    The ticket of the reply has no meaning.
    """

    url: str
    """Canonical."""
    reply: Reply
    where: str = ""
    """Its place in the archive, for messages: `pages.jsonl line 3`."""
    time: float | None = None
    """Unix seconds of the recording; a later one of the same URL replaces an earlier one."""
    aliases: tuple[str, ...] = ()
    """Other canonical URLs of the same page."""
    extra: Mapping[str, Any] | None = None
    """Further fields of its archive, as JSON values."""


BY_PERSON = "a person said so"
"""The reason of a judgement that is a person's."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How relevant one page is to the user's topic."""

    score: float
    """In [0, 1]."""
    relevant: bool
    reward: float
    """What the policies maximise: by default 1 for a relevant page, else 0."""
    why: tuple[tuple[str, float], ...] = ()
    """(reason in words, its share of the score)."""
    topic: str = ""
    """Of several topics the one that the page is most about, as the user named it; empty where
    there is one, or none that the judge can tell."""
    leads: float = 0.0
    """Of a page that is none itself, how much what it lists is, in [0, 1]."""

    @property
    def of_links(self) -> float:
        """What the links of the page inherit of its score."""
        return max(self.score, self.leads)


@dataclass(frozen=True, slots=True)
class Revision:
    """A newer verdict of the judge on a page that was judged before."""

    number: int
    """From 1 in the order of the crawl."""
    ticket: int
    """Of the page's fetch."""
    link: LinkId
    url: str
    """Of the page."""
    before: Judgement
    """The judge's last judgement, without its reasons."""
    after: Judgement


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one Choice; the policy learns from it exactly once."""

    choice: Choice
    reply: Fetched | Failed
    judgement: Judgement | None
    """None without a page."""
    reward: float
    """The reward of the judgement, or 0."""

    @property
    def page(self) -> Page | None:
        """The page; None if the fetch failed."""
        return self.reply.page if isinstance(self.reply, Fetched) else None


@dataclass(frozen=True, slots=True)
class Deferred:
    """`receive`'s answer where the ticket will be requested again (redirect, retry)."""

    ticket: int
    url: str
    until: float
    reason: str


# ---------------------------------------------------------------- what a policy is given


@dataclass(frozen=True, slots=True)
class Topic:
    """What the user looks for, in words."""

    name: str = ""
    description: str = ""
    keywords: tuple[str, ...] = ()
    """Words and phrases."""
    examples: tuple[str, ...] = ()
    """Texts of relevant pages."""
    categories: Mapping[str, str] = field(default_factory=dict)
    """Broader categories of the topic: name → text (Han et al. 2018)."""

    @property
    def text(self) -> str:
        """All words of the topic, without the examples."""
        return " ".join(part for part in (self.name, self.description, *self.keywords) if part)


@dataclass(frozen=True, slots=True)
class WebGraph:
    """A complete web with its targets; only the oracle and the lab may use it."""

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
    """One completely known site with its targets, for training."""

    name: str
    graph: WebGraph
    root: int
    """Number of the page where crawls of it begin."""
    page: Callable[[int], Page]
    """Page by its number in the graph. Its links have URLs of the graph, or lead out of it."""
    roots: tuple[int, ...] = ()
    """All pages where crawls of it may begin, `root` first; if empty, only `root`."""

    @property
    def every_root(self) -> tuple[int, ...]:
        return self.roots or (self.root,)


@dataclass(frozen=True, slots=True)
class Task:
    """The input from which a policy is made."""

    rng: np.random.Generator
    """Its only source of randomness."""
    topic: Topic = Topic()
    model: State | None = None
    """The trained model, for policies that can be trained."""
    graph: WebGraph | None = None
    """In the lab only."""
    vectors: object | None = None
    """Word vectors (`spoor.web.text.Vectors`), for policies that use them."""
