"""Every seam of Spoor on one screen.

A plug-in is any object with these methods; nothing is inherited. `spoor.testing` holds checks of
the laws below that anyone can run on a plug-in of theirs.

Laws of a crawl (`spoor.crawl`), each a property test over random reply orders:

1. Each Choice is learned from exactly once, and each fetched page is judged exactly once.
2. Never two fetches for one host at a time unless the host's limit says so; never earlier than its
   delay.
3. `Policy.learn` may come in any order, with many fetches in flight.
4. Same seed, same world, same settings: same crawl, byte for byte.
5. A crawl saved and loaded at any point goes on as if nothing had happened.
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
        InLink,
        InLinks,
        Judgement,
        Link,
        LinkId,
        NextStep,
        Outcome,
        Page,
        Redirected,
        Reply,
        State,
        WebGraph,
    )


class Offer(Protocol):
    """The open links whose host is free now; valid until the next call on its frontier."""

    def __len__(self) -> int: ...
    def __contains__(self, link: object) -> bool: ...
    def draw(self, rng: np.random.Generator, k: int) -> Sequence[LinkId]:
        """At most `k` links, uniform without replacement, in O(k) on average."""
        ...

    def hosts(self) -> Collection[str]:
        """Hosts that are free and have open links; membership in O(1)."""
        ...


class OpenLinks(Protocol):
    """The words of all open links, for a policy that asks (`Policy.attach`)."""

    def open(self) -> Iterator[LinkId]:
        """Every open link, in the order of discovery."""
        ...

    def in_links(self, link: LinkId) -> Sequence[InLink]:
        """How this link was seen, oldest first; the first few in-links are kept, and none once
        it is fetched."""
        ...


class Policy(Protocol):
    """Says which link to follow next, and learns from what came back.

    Made as `factory(task, **parameters)`; all its randomness comes from `task.rng`.
    """

    def observe(self, seen: InLinks) -> None:
        """Links of one page (or the seeds), new and repeated, to targets not fetched yet. Comes
        before `learn` of the same page."""
        ...

    def choose(self, offer: Offer) -> Choice:
        """Exactly one link of a non-empty offer. It will not be offered again."""
        ...

    def learn(self, outcome: Outcome) -> None:
        """Once for each Choice, in any order."""
        ...

    def save(self) -> State:
        """All that `load` needs to go on bit for bit, random state included."""
        ...

    def load(self, state: State) -> None: ...


@runtime_checkable
class UsesOpenLinks(Protocol):
    """A policy that wants to look at the open links at any time."""

    def attach(self, links: OpenLinks) -> None:
        """Before anything else, and again after a load."""
        ...


@runtime_checkable
class LookAhead(Protocol):
    """A policy that fetches pages before it decides which of them to expand.

    Fetched pages keep their links back. When no link is open and nothing is in flight, `expand`
    names the fetched page whose links enter the frontier next.
    """

    look_ahead: bool
    """False turns it off: fetched is then expanded at once, as for any other policy."""

    def expand(self, fetched: Sequence[LinkId]) -> LinkId:
        """One of the fetched pages not expanded yet, which come in the order of their fetching."""
        ...


@runtime_checkable
class Mergeable(Protocol):
    """A policy that can share its learning between shards."""

    def share(self) -> State:
        """What it learned itself, as others need it and no more; changes nothing. What was merged
        into it is not told again."""
        ...

    def merge(self, others: Sequence[State]) -> None:
        """Go by what others learned, too, in the place of what they told before: states of
        `share`, of policies made with the same settings."""
        ...


@runtime_checkable
class Relearns(Protocol):
    """A policy that can take back what it learned from a judgement."""

    def relearn(self, link: LinkId, before: Judgement, after: Judgement) -> None:
        """A person said otherwise of a page that was learned from. May come at any time."""
        ...


@runtime_checkable
class ValuesLinks(Protocol):
    """A policy that can say what an open link is worth to it, and why."""

    def weigh(self, link: LinkId) -> Choice | None:
        """The choice that it would be, its value first among the reasons; None where it does not
        wait. Changes nothing."""
        ...


@runtime_checkable
class Explains(Protocol):
    """A policy that can say in words what it has learned."""

    def explain(self) -> Sequence[tuple[str, str, float]]:
        """(group, feature, weight), most telling first within each group."""
        ...


@runtime_checkable
class FallsBack(Protocol):
    """A policy that goes on as another one where it fails."""

    def fault(self) -> str:
        """What failed and what goes on in its place, in one line; empty where nothing failed."""
        ...

    def report_fault(self, report: Callable[[str], None]) -> None:
        """`report` is called with that line when it happens."""
        ...


class Frontier(Protocol):
    """Every known target, and when its host may be asked."""

    def add(
        self, found: Sequence[Link], parent: LinkId, parent_score: float, depth: int
    ) -> InLinks:
        """Enter links seen at `depth`; returns those to targets not fetched yet."""
        ...

    def offer(self, now: float) -> Offer: ...
    def due(self, now: float) -> LinkId | None:
        """A taken link that waits for another request (redirect, retry) whose time has come and
        whose host is free."""
        ...

    def take(self, link: LinkId, now: float) -> tuple[str, str]:
        """Begin a request for an open or due link: (URL, host). The host is busy until settled."""
        ...

    def settle(self, link: LinkId, now: float, retry_at: float | None = None) -> None:
        """End the request; the host's delay starts. With `retry_at` the link waits for another."""
        ...

    def drop(self, link: LinkId) -> None:
        """An open link that is not worth asking for is open no more; its host is not disturbed."""
        ...

    def reopen(self, link: LinkId) -> None:
        """A link that is done with may be chosen again."""
        ...

    def redirect(self, link: LinkId, url: str, now: float) -> bool:
        """End the request; the link now waits for `url`. False if that is already fetched, taken
        or redirected to: the link is then done."""
        ...

    def next_ready(self, now: float) -> float | None:
        """When a host with something to ask for becomes free; None if none will without a reply."""
        ...

    def next_due(self, now: float) -> float | None:
        """As `next_ready`, of links that wait for another request only."""
        ...

    def hold(self, host: str, until: float) -> None:
        """No request to this host before `until` (Retry-After)."""
        ...

    def pace(self, host: str, delay: float) -> None:
        """From now on leave this host alone for at least `delay` seconds (Crawl-delay)."""
        ...

    def delay(self, host: str) -> float:
        """Seconds that this host is left alone between two requests."""
        ...

    def url(self, link: LinkId) -> str: ...
    def find(self, url: str) -> LinkId | None:
        """The link that stands for a canonical URL; None for one that is not known."""
        ...

    def path(self, link: LinkId) -> Sequence[LinkId]:
        """From a seed to the link by the pages that first showed each."""
        ...

    def depth(self, link: LinkId) -> int: ...
    def open(self) -> Iterator[LinkId]: ...
    def done(self) -> Iterator[str]:
        """URLs that will not be offered again: fetched, failed, dropped, redirected from."""
        ...

    def in_links(self, link: LinkId) -> Sequence[InLink]: ...
    @property
    def open_count(self) -> int:
        """Links that may still be chosen, whether their host is free or not."""
        ...

    def save(self) -> State: ...
    def load(self, state: State) -> None:
        """Links that were taken stay taken: the crawl that saved them holds their tickets."""
        ...


@runtime_checkable
class HostClocks(Protocol):
    """A frontier that a live crawl may follow: its politeness can change, its hosts be listed."""

    def configure(self, *, delay: float, per_host: int) -> None:
        """Seconds between two requests to a host, and requests to a host at a time (0: no limit),
        as when it was made. Hosts that are known keep their delay until `pace`."""
        ...

    def hosts(self) -> Sequence[tuple[str, int, int, float]]:
        """(host, open links, requests in flight, time at which it is free), in the order of
        discovery."""
        ...


class LiveFrontier(Frontier, HostClocks, Protocol):
    """What a live crawl needs of its frontier."""


@runtime_checkable
class OnDisk(Protocol):
    """A frontier in a file of its own; `save` returns only what names the state in that file."""

    def saved(self) -> State:
        """What names the state that was saved or loaded last."""
        ...

    def holds(self, state: State) -> bool:
        """Whether the file has the state that `save` named so."""
        ...

    def forget(self, but: Iterable[State]) -> None:
        """Only these of the states saved here can be loaded from now on."""
        ...

    def close(self) -> None:
        """Close the file; what was done after the last save is gone."""
        ...


class Judge(Protocol):
    """Says how much a page is what the user wants."""

    def judge(self, page: Page) -> Judgement: ...


@runtime_checkable
class Stateful(Protocol):
    """A judge that learns as the crawl goes (document frequencies, say)."""

    def save(self) -> State: ...
    def load(self, state: State) -> None: ...


@runtime_checkable
class KeepsAnswers(Protocol):
    """A judge whose answers cost, and may differ the second time: it writes each to a file before
    it uses it, so that a run can be replayed."""

    def keep_answers(self, file: Path, report: Callable[[str], None]) -> None:
        """Called before the first page, and before `load`: the file of its answers, which may hold
        some already. `report` is called with each line that a user must read, once."""
        ...

    def costs(self) -> Mapping[str, float]:
        """`asked`, `cost` and `fell_back` so far."""
        ...


class LinkFilter(Protocol):
    """What a live crawl keeps out of, whatever its policy wants: other scopes, traps, hosts that
    have had their share."""

    def admit(self, page: Page, depth: int) -> Sequence[Link]:
        """Which links of a page, whose targets are `depth` links from a seed, enter the frontier.
        Once for each page that is expanded."""
        ...

    def skip(self, link: LinkId, url: str) -> str:
        """Why this link, chosen or redirected here, is not to be asked for; empty where it is."""
        ...

    def ended(self, outcome: Outcome) -> None:
        """What came of a link that was not skipped."""
        ...

    def save(self) -> State: ...
    def load(self, state: State) -> None: ...


class Outbox(Protocol):
    """Where links to hosts of other shards leave a crawl that is one of several."""

    grant: int
    """Pages that this shard may fetch, of the budget of all."""

    def owns(self, url: str) -> bool: ...
    def keep(
        self,
        page: Page | None,
        links: Sequence[Link],
        score: float,
        depth: int,
        path: Callable[[], Sequence[str]],
    ) -> Sequence[Link]:
        """Which links of a page are this shard's; the others are posted, `depth` links from a seed,
        with the page's score and the path to it."""
        ...

    def done(self, urls: Iterable[str]) -> None:
        """Tell whoever owns these now that they are done with."""
        ...

    def save(self) -> State: ...
    def load(self, state: State) -> None: ...


class Politeness(Protocol):
    """When hosts may be asked, as far as a driver has a say in it; a Frontier is one."""

    def hold(self, host: str, until: float) -> None: ...
    def pace(self, host: str, delay: float) -> None: ...
    def delay(self, host: str) -> float: ...


class Engine(Protocol):
    """What a driver runs: a Crawl, or a Fleet of foragers."""

    @property
    def frontier(self) -> Politeness: ...
    def next(self, now: float) -> NextStep: ...
    def receive(self, reply: Reply, now: float) -> Outcome | Deferred: ...


@runtime_checkable
class Changing(Protocol):
    """A world with a clock."""

    def advance(self, now: float) -> None:
        """The world as it stands at `now`, which never goes back."""
        ...


class World(Protocol):
    """Answers a fetch without a network."""

    def answer(self, fetch: Fetch) -> Fetched | Redirected | Failed: ...


class KnownWorld(World, Protocol):
    """A world all of whose pages are known, as replays and the lab need it.

    One of another package is made as `factory(folder)`; `factory.marker` is the name of the file
    by which its folders are recognised. A factory may have the keyword-only parameters `site` (only
    pages recorded with this site) and `absent` (links to what is not recorded stay in its pages).
    """

    def __len__(self) -> int:
        """Pages."""
        ...

    def roots(self) -> Sequence[str]:
        """URLs of pages where crawls may begin."""
        ...

    def sites(self) -> Mapping[str, int]:
        """Site → number of its pages; pages without a site may be left out."""
        ...

    def page(self, url: str) -> Page:
        """The page that answers at this URL. Raises InputError where there is none."""
        ...

    def pages(self) -> Iterator[Page]:
        """Every page, in the order of the graph's."""
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
    Judge: (Stateful, KeepsAnswers),
    Frontier: (HostClocks, OnDisk),
    World: (Changing,),
}
"""What a plug-in of each kind may have beyond its protocol. Whoever needs it asks by `isinstance`;
a wrapper has what the plug-in that it holds has (`spoor.wrapping`)."""
