"""All protocols between the parts of Spoor.

A plug-in is any object with these methods; it inherits nothing. `spoor.testing` has checks of the
laws below, which any author can run on a plug-in.

Laws of a crawl (`spoor.crawl`), each a property test over random reply orders:

1. Each Choice is learned from exactly once. Each fetched page is judged once at arrival, and its
   policy learns from that. Later judgements of its judge are revisions, numbered from 1 without a
   gap; each is passed once to a policy that can take it. A person's label of a page stands.
2. A host never gets more requests at a time than its limit allows, and never before its delay is
   over.
3. `Policy.learn` may be called in any order of the Choices, with many fetches in flight.
4. Same seed, same world, same settings: same crawl, byte for byte.
5. A crawl saved and loaded at any point goes on as if nothing had happened.
6. The budget of pages is never exceeded. Without one, each page that can be reached is fetched
   once, or its `LinkFilter` says why not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from spoor.types import (
        Choice,
        Deferred,
        Failed,
        Fetch,
        Fetched,
        HeldLink,
        InLink,
        InLinks,
        Judgement,
        LeftOut,
        Link,
        LinkBatch,
        LinkId,
        LiveReply,
        NextStep,
        Outcome,
        Page,
        Redirected,
        State,
        Ways,
        WebGraph,
    )


class Offer(Protocol):
    """The open links whose host is free now; valid until the next call on its frontier. Of many
    hosts that are free at once, one call may bring a part, and the next calls more."""

    def __len__(self) -> int: ...
    def __contains__(self, link: object) -> bool: ...
    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        """At most `k` links, uniform without replacement, in O(k) on average."""
        ...

    def hosts(self) -> Collection[str]:
        """Hosts that are free and have open links; membership in O(1)."""
        ...


class OpenLinks(Protocol):
    """All open links and their in-links, for a policy that uses them (`UsesOpenLinks.attach`)."""

    def open(self) -> Iterator[LinkId]:
        """Every open link, in the order of discovery."""
        ...

    def in_links(self, link: LinkId) -> Sequence[InLink]:
        """The first few in-links of this link, oldest first; none once it is fetched."""
        ...


class Policy(Protocol):
    """Chooses the link to follow next, and learns from the outcome.

    Made as `factory(task, **parameters)`; all its randomness comes from `task.rng`.
    """

    def observe(self, seen: InLinks) -> None:
        """Called with the links of one page (or the seeds), new and repeated, to targets not
        fetched yet; before `learn` of the same page."""
        ...

    def choose(self, offer: Offer) -> Choice:
        """Choose exactly one link of a non-empty offer. It will not be offered again."""
        ...

    def learn(self, outcome: Outcome) -> None:
        """Called once for each Choice, in any order."""
        ...

    def save(self) -> State:
        """Everything that `load` needs to continue bit for bit, random state included."""
        ...

    def load(self, state: State) -> None: ...


@runtime_checkable
class UsesOpenLinks(Protocol):
    """A policy that may read the open links at any time."""

    def attach(self, links: OpenLinks) -> None:
        """Called before every other method, and again after a load."""
        ...


@runtime_checkable
class LookAhead(Protocol):
    """A policy that fetches pages before it decides which of them to expand.

    The links of a fetched page stay out of the frontier at first. When no link is open and nothing
    is in flight, `expand` returns the fetched page whose links enter the frontier next.
    """

    look_ahead: bool
    """False turns it off: each fetched page is then expanded at once, as for other policies."""

    def expand(self, fetched: Sequence[LinkId]) -> LinkId:
        """Choose one of the pages that are `fetched` and not expanded, oldest first."""
        ...


@runtime_checkable
class Mergeable(Protocol):
    """A policy that can share its learning between shards."""

    def share(self) -> State:
        """What this policy learned itself, as others need it; without what was merged into it.
        Changes nothing."""
        ...

    def merge(self, others: Sequence[State]) -> None:
        """Use what others learned as well: states that `share` of policies with the same settings
        returned. They replace the states of an earlier merge."""
        ...


@runtime_checkable
class Relearns(Protocol):
    """A policy that can correct what it learned from a judgement."""

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """A person, or the judge itself, changed the judgement of a page that this policy has
        learned from. May be called at any time."""
        ...


@runtime_checkable
class ValuesLinks(Protocol):
    """A policy that can return the value of an open link, with reasons."""

    def weigh(self, link: LinkId) -> Choice | None:
        """The link as a Choice, its value first among the reasons; None if the link is not open.
        Changes nothing."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A policy that can describe in words what it has learned."""

    def explain(self) -> Sequence[tuple[str, str, float]]:
        """(group, feature, weight) rows, the most important first within each group."""
        ...


@runtime_checkable
class FallsBack(Protocol):
    """A policy or judge that is replaced by another one when it fails."""

    def fault(self) -> str:
        """What failed and what replaces it, in one line; empty if nothing failed."""
        ...

    def report_fault(self, report: Callable[[str], None]) -> None:
        """Set `report`, which is called with that line when a failure happens."""
        ...


class Frontier(Protocol):
    """All known links, and when their hosts may be requested."""

    def add(
        self, page_links: Sequence[Link], parent: LinkId, parent_score: float, depth: int
    ) -> InLinks:
        """Enter the links of a page, whose targets are at `depth`; returns those to targets that
        are not fetched yet."""
        ...

    def offer(self, now: float) -> Offer: ...
    def due(self, now: float) -> LinkId | None:
        """A taken link whose next request (redirect, retry) is due and whose host is free."""
        ...

    def take(self, link: LinkId, now: float) -> tuple[str, str]:
        """Begin a request for an open or due link; returns (URL, host). The request counts for the
        host until it is settled."""
        ...

    def settle(self, link: LinkId, now: float, retry_at: float | None = None) -> None:
        """End the request; the host's delay starts. With `retry_at` the link then waits for another
        request."""
        ...

    def drop(self, link: LinkId) -> None:
        """Close an open link without a request; the clock of its host does not change."""
        ...

    def reopen(self, link: LinkId) -> None:
        """Open a closed link again."""
        ...

    def redirect(self, link: LinkId, url: str, now: float, *, stranger: bool = False) -> bool:
        """End the request; the link then waits for a request of `url`. Returns False if that URL is
        already fetched, taken or the target of a redirect: the link is then closed. A `stranger`
        (a redirect from another domain) is closed also if that URL is open. It waits while its new
        host has open links, at most until 9 other requests to that host have begun since the last
        stranger, or, for the first one, since it came."""
        ...

    def next_ready(self, now: float) -> float | None:
        """The first time at which a host with links to request is free; None if none will be before
        a reply."""
        ...

    def next_due(self, now: float) -> float | None:
        """As `next_ready`, only for links that wait for another request."""
        ...

    def hold(self, host: str, until: float) -> None:
        """Allow no request to this host before `until` (Retry-After)."""
        ...

    def pace(self, host: str, delay: float) -> None:
        """Set the delay of this host to at least `delay` seconds (Crawl-delay)."""
        ...

    def delay(self, host: str) -> float:
        """Seconds between two requests to this host."""
        ...

    def url(self, link: LinkId) -> str: ...
    def find(self, url: str) -> LinkId | None:
        """The link of a canonical URL; None for an unknown URL."""
        ...

    def path(self, link: LinkId, most: int | None = None) -> Sequence[LinkId]:
        """Links from a seed to this one, along the pages on which each was first seen: the last
        `most` of them, all by default. O(`most`)."""
        ...

    def depth(self, link: LinkId) -> int: ...
    def open(self) -> Iterator[LinkId]: ...
    def done(self) -> Iterator[str]:
        """URLs that will not be offered again: fetched, failed, dropped, redirected from."""
        ...

    def in_links(self, link: LinkId) -> Sequence[InLink]: ...
    @property
    def open_count(self) -> int:
        """Number of links that may still be chosen, whether their host is free or not."""
        ...

    def save(self) -> State: ...
    def load(self, state: State) -> None:
        """Continue from a saved state. Links that were taken stay taken: the crawl that saved them
        has their tickets."""
        ...


@runtime_checkable
class ListsHosts(Protocol):
    """A frontier whose hosts can be listed."""

    def hosts(self) -> Sequence[tuple[str, int, int, float]]:
        """(host, open links, requests in flight, time from which it is free) rows, in the order of
        discovery."""
        ...


@runtime_checkable
class HostClocks(ListsHosts, Protocol):
    """One whose politeness can be changed."""

    def configure(self, *, delay: float, per_host: int) -> None:
        """Set the seconds between two requests to a host, and the requests to a host at a time (0:
        no limit). Known hosts keep their delay until `pace`."""
        ...


@runtime_checkable
class BoundsSlowHosts(Protocol):
    """A frontier that offers hosts which may not answer only while few requests wait for such
    hosts."""

    def bound_slow_hosts(self, limit: int) -> None:
        """At most `limit` requests at a time to hosts that have not answered yet, or answered late
        (0: no limit)."""
        ...

    def no_answer(self, link: LinkId, now: float) -> bool:
        """The host did not answer the request for this link in time; `settle` follows. Returns
        whether the link gives way to other links of its host, which answered others in time."""
        ...

    def share_of_time(self, link: LinkId) -> float:
        """The share of the usual timeout that a request for this link has, in (0, 1]: less than 1
        if its host answers in time and other links of it wait."""
        ...


@runtime_checkable
class RestsHosts(Protocol):
    """A frontier in which a host can rest while others have their turns."""

    def open_of(self, host: str) -> int:
        """Open links of a host; 0 for one that is not known. O(1)."""
        ...

    def rest(self, host: str, until: float) -> float:
        """As `hold`; returns when the host would be free otherwise."""
        ...

    def wake(self, host: str, until: float, free_at: float) -> None:
        """End the rest until `until`: the host is free at `free_at`, which `rest` returned, unless
        it was held for longer since. Called only where no request waits to be made again."""
        ...


class LiveFrontier(Frontier, HostClocks, Protocol):
    """The frontier of a live crawl."""


@runtime_checkable
class OnDisk(Protocol):
    """A frontier in a file of its own; `save` returns only an identifier of the state there."""

    def saved(self) -> State:
        """The identifier of the state that was saved or loaded last."""
        ...

    def holds(self, state: State) -> bool:
        """Whether the file has the state with this identifier."""
        ...

    def forget(self, but: Iterable[State]) -> None:
        """Delete all saved states `but` these."""
        ...

    def close(self) -> None:
        """Close the file; changes after the last save are lost."""
        ...


class Judge(Protocol):
    """Says how relevant a page is to the user's topic."""

    def judge(self, page: Page) -> Judgement: ...


@runtime_checkable
class Stateful(Protocol):
    """A judge that learns during the crawl (document frequencies, say)."""

    def save(self) -> State: ...
    def load(self, state: State) -> None:
        """Go on from a state of `save`, whatever this judge has judged: the crawl has it judge a
        page on trial, which tells a damaged state, and loads the state once more."""
        ...


@runtime_checkable
class KeepsAnswers(Protocol):
    """A judge whose answers cost something and may differ from call to call: it writes each answer
    to a file before it uses it, so that a run can be replayed."""

    def keep_answers(self, file: Path, report: Callable[[str], None]) -> None:
        """Set the file of the answers, which may have some already; called before the first page
        and before `load`. `report` is called once with each line that a user must read."""
        ...

    def costs(self) -> Mapping[str, float]:
        """`asked`: answers used; `cost`: their cost; `fell_back`: pages judged by the fallback."""
        ...


@runtime_checkable
class GivesUpAnswers(Protocol):
    """A judge that waits for answers, which may take longer than its run has time."""

    def give_up_answers(self) -> None:
        """Give up the question that waits for its answer, and all later ones, as if none came.
        Called from another thread."""
        ...


@runtime_checkable
class KeepsSample(Protocol):
    """A judge that keeps a sample of the pages that it has seen."""

    def key_sample(self, key: bytes) -> None:
        """Which pages are kept depends on this key (64 bytes at most), which no site knows; called
        before the first page of a run. It is part of the judge's state. Without a key it depends on
        the URLs alone, so that a replay of a known web is the same every time."""
        ...


@runtime_checkable
class Rejudges(Protocol):
    """A judge that learns with every page, and revises judgements that it made earlier."""

    def revise(self) -> Sequence[tuple[str, Judgement]]:
        """(`page.url`, newest judgement) of each page whose score or relevance differs from what
        this judge said last; each page once, in the order in which they were first judged.

        The crawl calls it at set points: after 16 pages, whenever there are twice as many as at the
        last call (at the latest 1,000 pages later, or an eighth of all), before the next choice
        after a label, and at the end. So it may judge every page again that the judge has kept.
        Hold tiny changes of a score back until they add up: each costs a row.
        """
        ...


@runtime_checkable
class TakesLabels(Protocol):
    """A judge that learns from what a person says of a page."""

    def label(self, url: str, relevant: bool) -> None:
        """A person said whether the page with this `page.url`, judged before, is relevant; the last
        label of a page counts. A page that the judge does not know is ignored. The person's verdict
        stands: what `revise` says of this page is ignored."""
        ...


@runtime_checkable
class LeavesOutViews(Protocol):
    """A judge to which a page that only shows another one again is no result beside that."""

    def views_by(self, view_of: Callable[[str], Sequence[str]]) -> None:
        """Called once, before the first page, with a function that gives the canonical URLs of
        pages the first of which that was fetched has all of a fetched page, as far as the crawl
        knows now; which of them were fetched it does not say. Empty for most pages, and that at
        once."""
        ...


class LinkFilter(Protocol):
    """Rejects links whatever the policy chooses: outside the scope, in crawler traps, of hosts that
    used up their limits."""

    owns: Callable[[str], bool] | None
    """Of a crawl in shards, whether a canonical URL is this shard's; None for the only one."""

    knows: Callable[[str], bool]
    """Whether the frontier has a canonical URL, open or done. The crawl sets it."""

    @property
    def by_depth(self) -> bool:
        """Whether it matters how many links from a seed a URL is."""
        ...

    def linked_by(self, linked_from: Callable[[str], Sequence[tuple[str, str]]]) -> None:
        """Called once, with a function that gives the pages that link to a canonical URL, as far as
        they are kept (empty for a seed's), and the texts of their links."""
        ...

    def seed(self, urls: Sequence[str]) -> None:
        """These canonical URLs are seeds of the crawl, whichever shard owns them."""
        ...

    def nearest(self, page: Page, depth: int) -> int:
        """Depth of what a page links to, by the shortest way that is known; `depth` is that by the
        way on which it was found. Called before `admit`, with what it says as its `depth`."""
        ...

    def arrived(self, batch: LinkBatch) -> None:
        """Another shard sent these links."""
        ...

    def admit(
        self, page: Page, depth: int, parent: LinkId, score: float, found_on: Callable[[], str]
    ) -> Sequence[Link]:
        """The links of a page that may enter the frontier. `depth`: of their targets, in links from
        a seed; `parent`: the page's own link; `score`: the page's; `found_on` gives the URL of the
        page on which `parent` was first seen, empty for a seed. Called once for each expanded
        page."""
        ...

    def dropped(self, url: str, seen: InLink | None, *, redirected: bool = False) -> None:
        """A link that `skip` rejected left the frontier; `seen` is its last in-link. `redirected`:
        the frontier had another URL, which was redirected to this one, and does not know this."""
        ...

    def release(self, *, over: bool, last: bool) -> Sequence[HeldLink]:
        """Links that were held back or dropped, and may enter the frontier now. `over`: no other
        link is open; `last`: nor is any in another shard of the crawl, which else would end."""
        ...

    def leave(self, owns: Callable[[str], bool]) -> Sequence[HeldLink]:
        """Links that the frontier dropped and that wait no longer, since `owns` says that their
        URLs are another shard's."""
        ...

    def move(
        self, urls: Iterable[str], find: Callable[[str], LinkId | None], owns: Callable[[str], bool]
    ) -> Sequence[Ways]:
        """What comes nearer to the seeds with pages that `owns` says are another shard's now, and
        is forgotten here. `urls`: all that are known; `find` gives their links."""
        ...

    def moved(self, ways: Ways, page: LinkId) -> None:
        """Another shard moved this here; `page` is the page's own link."""
        ...

    def left_out(self) -> LeftOut:
        """What was not followed, for a person."""
        ...

    def explained(self, url: str) -> str:
        """Why this canonical URL would not be requested now; empty if it would."""
        ...

    def skip(self, link: LinkId, url: str, linked_by: Callable[[], Collection[str]]) -> str:
        """Why this URL, chosen or the target of a redirect, must not be requested; else empty.
        `linked_by` gives the domains of the pages that link to it, empty for a seed's."""
        ...

    def ended(self, outcome: Outcome, found_on: Callable[[], str]) -> None:
        """Called with the outcome of each link that was not skipped; `found_on` as in `admit`."""
        ...

    def judged_anew(self, url: str, *, relevant: bool) -> None:
        """A fetched page is now relevant, or no longer."""
        ...

    def view_of(self, url: str) -> Sequence[str]:
        """As `LeavesOutViews` asks it."""
        ...

    def save(self) -> State: ...
    def load(self, state: State) -> None: ...


class Outbox(Protocol):
    """Collects the links that one shard of a crawl sends to the other shards."""

    grant: int
    """Pages of the common budget that this shard may fetch."""
    by_depth: bool
    """Whether a URL is sent once more for each shorter way to it."""

    def owns(self, url: str) -> bool: ...
    def keep(
        self,
        page: Page | None,
        links: Sequence[Link],
        score: float,
        depth: int,
        path: Callable[[], Sequence[str]],
        crossed: int = 0,
        passed_on: bool = False,
    ) -> Sequence[Link]:
        """Returns the links of a page that this shard owns, and sends the others, each URL a few
        times at most. `score`: the page's; `depth`: of the links, from a seed; `path`: to the page;
        `crossed`: for the target of redirects, how many of these led to another domain or shard;
        `passed_on`: they came from another shard, which may have closed them: sent more often."""
        ...

    def done(self, urls: Iterable[str]) -> None:
        """Report to the shards that own these URLs now that they are done."""
        ...

    def move(self, ways: Ways, path: Sequence[str]) -> None:
        """Tell the shard that owns a page now what comes nearer with it; `path`: to the page."""
        ...

    def rest(self, hosts: Iterable[tuple[str, float]]) -> None:
        """Tell the shards that own these hosts now for how many seconds each is left alone."""
        ...

    def save(self) -> State: ...
    def load(self, state: State) -> None: ...


class Politeness(Protocol):
    """The delays of hosts, which a driver may raise; a Frontier has these methods."""

    def hold(self, host: str, until: float) -> None: ...
    def pace(self, host: str, delay: float) -> None: ...
    def delay(self, host: str) -> float: ...


class Engine(Protocol):
    """What a driver runs: a Crawl or a Fleet of foragers."""

    @property
    def frontier(self) -> Politeness: ...
    def next(self, now: float) -> NextStep: ...
    def receive(self, reply: LiveReply, now: float) -> Outcome | Deferred: ...


@runtime_checkable
class Changing(Protocol):
    """A world that changes with time."""

    def advance(self, now: float) -> None:
        """Change the world to its state at `now`, which never goes back."""
        ...


class World(Protocol):
    """Answers fetches without a network."""

    def answer(self, fetch: Fetch) -> Fetched | Redirected | Failed: ...


class KnownWorld(World, Protocol):
    """A world all of whose pages are known, for replays and the lab.

    A plug-in is made as `factory(folder)`; `factory.marker` is the name of the file by which its
    folders are recognised. A factory may have the keyword-only parameters `site` (only
    pages recorded with this site) and `absent` (links to what is not recorded stay in its pages).
    """

    def __len__(self) -> int:
        """Number of pages."""
        ...

    def roots(self) -> Sequence[str]:
        """URLs of pages where crawls may begin."""
        ...

    def sites(self) -> Mapping[str, int]:
        """Site → number of its pages; pages without a site may be missing."""
        ...

    def page(self, url: str) -> Page:
        """The page that answers at this URL. Raises InputError where there is none."""
        ...

    def pages(self) -> Iterator[Page]:
        """All pages, in the order of the graph."""
        ...

    def graph(self, targets: Judge | None = None) -> WebGraph:
        """Pages and the links among them; the targets are the pages that the judge calls
        relevant."""
        ...


OPTIONAL: Mapping[type, Sequence[type]] = {
    Policy: (
        UsesOpenLinks,
        LookAhead,
        Mergeable,
        Relearns,
        ValuesLinks,
        Explains,
        FallsBack,
    ),
    Judge: (
        Stateful,
        KeepsAnswers,
        GivesUpAnswers,
        KeepsSample,
        Rejudges,
        TakesLabels,
        LeavesOutViews,
    ),
    Frontier: (ListsHosts, HostClocks, OnDisk, BoundsSlowHosts, RestsHosts),
    World: (Changing,),
}
"""Protocol → optional protocols that a plug-in of this kind may have too. Callers check them with
`isinstance`; a wrapper has those of the plug-in that it wraps (`spoor.wrapping`)."""
