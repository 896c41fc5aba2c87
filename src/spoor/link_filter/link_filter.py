"""What a live crawl keeps out of: links out of scope, links that do something, traps, hosts that
have had their share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from spoor.link_filter.action_trials import ActionTrials
from spoor.link_filter.depths import Depths
from spoor.link_filter.domain_shares import DomainShares
from spoor.link_filter.left_out_urls import LeftOutUrls
from spoor.link_filter.page_limits import PageLimits
from spoor.link_filter.page_views import LinkedFrom
from spoor.link_filter.revisits import Revisits
from spoor.link_filter.scope import Scope
from spoor.link_filter.sitemap_filter import SitemapFilter, sitemaps_among
from spoor.link_filter.thread_replies import Answers
from spoor.link_filter.trap_groups import asked_last
from spoor.link_filter.traps import Traps
from spoor.link_filter.unwanted_names import UnwantedNames, why_unwanted
from spoor.link_filter.url_rules import DOES, UrlRules
from spoor.link_filter.vain_links import VainLinks
from spoor.link_filter.waiting_places import TOO_MANY, Holder
from spoor.types import (
    NO_PARENT,
    Failed,
    HeldLink,
    InLink,
    LeftOut,
    Link,
    LinkBatch,
    LinkId,
    Origin,
    Outcome,
    Page,
    Reply,
    State,
    Ways,
    urls_of,
)
from spoor.web.actions import action
from spoor.web.other_ways import other_ways, without_repeats
from spoor.web.page_links import at_hand, not_to_follow, those
from spoor.web.urls import bare_host, domain_of, host

BEYOND = "sitemaps list more than may wait"
NOFOLLOW = "a page asks not to follow it (nofollow)"
_FOLLOWED = " (--follow-seeds takes it)"


class CrawlFilter:
    """No URL outside of `scope` is fetched, by a link or by a redirect, and none that does
    something (`spoor.web.actions`) unless `actions` are asked for, or what came of such links says
    that they are documents (`action_trials.py`). `traps` is None without trap
    detection.

    At most `per_host` pages of a host and `per_domain` of a registrable domain are fetched, as many
    links of a host may come to nothing, and a host is left once `found_per_host` of its pages were
    relevant (None: no limit). Pages in flight count too: a URL over the limit waits in case one of
    them fails (`page_limits.py`). With the scope `anywhere` and `per_domain` None, domains
    keep to shares that grow with what they give (`domain_shares.py`). Where links are taken
    from `sitemaps`, they and what they list enter little by little; `sitemaps_last`: once the crawl
    has no other link (`sitemap_filter.py`). Where a seed redirects out of the scope, what it
    leads to is a seed as well with `follow_seeds`. With `traps`, links that come to nothing have a
    bound (`vain_links.py`). Without `traps` and `repeats`, other ways to what a page is, or
    links to plainly too, are no links. `data`: what a page shows as data
    (`a.csv` of `a`) is wanted, and no other way to it. `unwanted` tells names of files that nobody
    wants, of which few are asked for (`unwanted_names.py`).
    """

    def __init__(
        self,
        scope: Scope,
        *,
        traps: Traps | None = None,
        actions: bool = False,
        per_host: int | None = None,
        per_domain: int | None = None,
        found_per_host: int | None = None,
        sitemaps: bool = False,
        sitemaps_last: bool = False,
        follow_seeds: bool = False,
        repeats: bool = True,
        data: bool = False,
        unwanted: Callable[[str], bool] | None = None,
    ) -> None:
        self.scope = scope
        self._follow_seeds = follow_seeds
        self._repeats = repeats
        self._data = data
        self.owns: Callable[[str], bool] | None = None
        self.knows: Callable[[str], bool] = _nothing
        self.revisits: Revisits | None = None
        """The pages of an earlier run that are asked for again."""
        self._traps = traps
        self._actions = None if actions else ActionTrials()
        self._depths = None if scope.max_depth is None else Depths(scope.max_depth)
        self._limits = PageLimits(per_host, per_domain, found_per_host)
        anywhere = scope.scope == "anywhere" and per_domain is None
        self._domains = DomainShares() if anywhere else None
        self._vain = None if traps is None else VainLinks()
        self._answers = None if traps is None else Answers()
        self._unwanted = None if unwanted is None else UnwantedNames(unwanted)
        self._rules = UrlRules(scope, self._actions, guarded=traps is not None)
        self._left_out = LeftOutUrls(self._depths, f"--max-depth {scope.max_depth}")
        self._sitemaps = SitemapFilter(ask=sitemaps, last=sitemaps_last, most=scope.max_depth)
        self._flying: dict[LinkId, str] = {}
        self._asked: dict[LinkId, str] = {}
        """What was asked for first, of those of them that led elsewhere."""
        self._holder = ("", "", "")
        """URL that `skip` was asked for last, by which of `_holders` it is held back, and in which
        group."""

    def seed(self, urls: Sequence[str]) -> None:
        self.scope.seed(urls)
        if self._depths is not None:
            self._depths.seed(urls)
        if self._domains is not None:
            self._domains.seed(urls)
        if self._vain is not None:
            self._vain.seed(urls)
        self._rules.memo.clear()

    def limit(
        self, per_host: int | None, per_domain: int | None, found_per_host: int | None
    ) -> None:
        """Go on with other limits of a host and a domain; None where there was none."""
        self._limits.set(per_host, per_domain, found_per_host)

    def go_on(self) -> None:
        """Somebody wants the run to go on: links may come to nothing again."""
        if self._vain is not None:
            self._vain.go_on()

    @property
    def by_depth(self) -> bool:
        return self._depths is not None

    def linked_by(self, linked_from: LinkedFrom) -> None:
        if self._traps is not None:
            self._traps.linked_from = linked_from

    def nearest(self, page: Page, depth: int) -> int:
        return depth if self._depths is None else self._depths.of_links(page.url, depth)

    def arrived(self, batch: LinkBatch) -> None:
        if self._depths is not None:
            site = "" if batch.page is None else domain_of(batch.page.url)
            self._depths.arrived(urls_of(batch.links), batch.depth, site)

    def admit(
        self,
        page: Page,
        depth: int,
        parent: LinkId = NO_PARENT,
        score: float = 0.0,
        found_on: Callable[[], str] = str,
    ) -> Sequence[Link]:
        depths, origin = self._depths, Origin(parent, score, depth)
        ending = self.scope.why_ended(page, depth)
        if self.scope.nofollow and "nofollow" in page.flags:
            page, ending = self._with_sitemaps_alone(page), "" if ending == "nofollow" else ending
        listed = "sitemap" in page.flags
        if listed and not ending:
            page = self._sitemaps.enter(page, origin)
        links = [] if ending else self._allowed(page, origin)
        if ending:
            for url in urls_of(page.links):
                self._left_out.note(ending, url)
        if depths is not None and ending:
            depths.cut(page.url, self._cut(page, origin))
        else:
            self._linked(page, links, origin)
        if self.revisits is not None and listed:
            # Of its own host, and of the host whose robots.txt named it.
            whose = {host(page.url), host(found_on() or page.url)}
            self.revisits.read(one for one in page.dated if host(one[0]) in whose)
        links = self._that_may_enter(links, origin, listed=listed)
        if "answer" in page.flags:
            links = without_repeats(page, links, all_but_places=True)
        links = self._sitemaps.without_lists(page, links, origin, self.knows)
        if self._vain:
            links = self._vain.worth_a_request(page, links, origin, self.knows)
        traps = self._traps
        if traps is None:
            return links if self._repeats else without_repeats(page, links, all_but_places=True)
        news = traps.read(page, links, found_on)
        return self._outside_traps(page, links, origin, news=news)

    def _with_sitemaps_alone(self, page: Page) -> Page:
        """A page whose links are not to be followed: those to sitemaps are not its own, since
        robots.txt names them; that to a search index is."""
        listed = sitemaps_among(page.links, ("sitemap",))
        for index, url in enumerate(urls_of(page.links)):
            if index not in listed:
                self._left_out.note(NOFOLLOW, url)
        return replace(page, links=[page.links[index] for index in listed])

    def _linked(self, page: Page, links: Sequence[Link], origin: Origin) -> None:
        """Note how deep what a page links to is."""
        if self._depths is None:
            return
        urls = urls_of(links)
        named = self._sitemaps.named_before(page, links)
        self._depths.link(page.url, [*urls, *named], origin.depth)
        if self.owns is not None and origin.depth > 2:
            others = [index for index, url in enumerate(urls) if not self.owns(url)]
            self._depths.elsewhere(page.url, [origin.held(links[index]) for index in others])

    def _that_may_enter(
        self, links: Sequence[Link], origin: Origin, *, listed: bool
    ) -> Sequence[Link]:
        """Those of allowed links that need not wait for a share. `listed`: by a sitemap."""
        if self.revisits is not None:
            links = [link for link in links if self.revisits.is_news(link, listed=listed)]
        else:
            links = self._sitemaps.within_shares(links, origin)
        domains = self._domains
        if domains is not None and domains.may_hold():
            urls = enumerate(urls_of(links))
            held = [at for at, url in urls if domains.holds(url) and not self.knows(url)]
            for index in held:
                domains.hold(domain_of(links[index].url), origin.held(links[index]))
            known = frozenset(held)
            links = those(links, [index for index in range(len(links)) if index not in known])
        return links

    def _outside_traps(
        self, page: Page, links: Sequence[Link], origin: Origin, *, news: bool = False
    ) -> Sequence[Link]:
        """Those of a page's links that no trap holds back. `news`: the page brought any."""
        traps = self._traps
        if traps is None:
            return links
        last = frozenset[str]()
        if "sitemap" not in page.flags:
            views = traps.views(page.url, links, self.knows)
            last = other_ways(page, links, data=not self._data) | views
        if not (last or traps.may_hold):
            return links
        admitted = []
        for index, url in enumerate(urls_of(links)):
            name = ""
            if not self.knows(url):
                name = asked_last(url) if url in last else traps.holder_on(url, page, news=news)
            if name:
                traps.hold(name, origin.held(links[index]))
            else:
                admitted.append(index)
        return those(links, admitted)

    def _more_listed(self, *, over: bool) -> list[HeldLink]:
        """Links of a sitemap that waited, and may enter now."""
        while (more := self._sitemaps.more_listed(over=over)) is not None:
            page, origin = more.page, more.origin
            links = self._allowed(page, origin)
            self._linked(page, links, origin)
            links = self._that_may_enter(links, origin, listed=True)
            links = self._outside_traps(page, links, origin)
            if links or not over:
                return [origin.held(link) for link in links]
        return []

    def _cut(self, page: Page, origin: Origin) -> Sequence[HeldLink]:
        """The links of a page that are too deep, and else would be followed."""
        links = at_hand(page.links)
        barred = not_to_follow(links) if self.scope.nofollow else ()
        known = [(link, *self._rules.verdict(link.url)) for link in links]
        return [
            origin.held(link._replace(url=plain))
            for index, (link, plain, why) in enumerate(known)
            if not why and index not in barred
        ]

    def _allowed(self, page: Page, origin: Origin) -> Sequence[Link]:
        """The links of a page that no rule leaves out."""
        memo, strict, trials = self._rules.memo, self.scope.nofollow, self._actions
        # What a sitemap lists is a document; an answer of a search has the links of any page.
        is_answer = "answer" in page.flags
        listed = "sitemap" in page.flags and not is_answer
        links = at_hand(page.links)
        barred = not_to_follow(links) if strict else ()
        sitemaps = sitemaps_among(links)
        allowed: list[int] = []
        urls: list[str] = []
        for index, url in enumerate(urls_of(links)):
            if index in barred:
                self._left_out.note(NOFOLLOW, url)
                continue
            is_index = index in sitemaps and links[index].kind == "index"
            if is_index and self._sitemaps.has_another(url):
                continue
            known = memo.get(url)
            if known is None:
                known = self._rules.look(url)
                if known[1] and index not in sitemaps:
                    self._left_out.note(known[1], url)
            plain, why = known
            if is_answer and links[index].kind == "search":
                plain = url  # what names a visit elsewhere (`sid`) may name an answer
            if not why:
                allowed.append(index)
                urls.append(plain)
                continue
            if why.startswith(DOES) and trials is not None:
                link = links[index]._replace(url=plain)
                # A sitemap speaks for its host.
                its = listed and bare_host(plain) == bare_host(page.url)
                if trials.offer(origin.held(link), listed=its):
                    self._left_out.take_back(why, url)
                    allowed.append(index)
                    urls.append(plain)
                continue
            if index in sitemaps and self.takes_sitemap(url):
                allowed.append(index)
                urls.append(plain)
        return those(links, allowed, urls)

    def why_not(self, url: str) -> str:
        """The rule that leaves out a canonical URL whatever the crawl has seen; empty for none."""
        return self._rules.why_not(url)

    def left_out_by(self, url: str) -> str:
        """As `why_not`, for a link that somebody wants to follow: it is counted."""
        if why := self.why_not(url):
            self._left_out.note(why, url)
        return why

    def explained(self, url: str) -> str:
        """Why a canonical URL is not asked for, by its look or by what the crawl has seen; empty
        where nothing speaks against it."""
        if why := self.why_not(url):
            return why
        traps = self._traps
        if name := "" if traps is None else traps.holder(url) or traps.copied(url):
            return f"held back: {name}"
        if rule := self._left_out.rule_of(url):
            return rule
        if full := self._limits.full(url):
            return self._limits.why(full)
        name = "" if self._unwanted is None else self._unwanted.left_out_with(url)
        return why_unwanted(name) if name else ""

    def takes_sitemap(self, url: str) -> bool:
        """Whether a sitemap may be asked for, wherever it lies: that of a seed's host, unless it
        does something by its look."""
        if self.scope.scope == "page" or self.scope.excludes(url):
            return False
        if not self.scope.has_host(url) or (self._actions is not None and action(url)):
            return False
        self._sitemaps.take(url)
        return True

    def skip(self, link: LinkId, url: str, linked_by: Callable[[], Collection[str]] = tuple) -> str:
        self._holder = ("", "", "")
        before = self._flying.pop(link, None)
        if before is not None:
            self._count(before, -1)
            self._asked.setdefault(link, before)
            if self._depths is not None:
                leaves = self.owns is not None and not self.owns(url)
                self._depths.redirected(before, url, leaves=leaves)
        if url in self._sitemaps:
            return self._full(url) or self._passes(link, url)
        of_seed = before is not None and self.scope.is_seed(self._asked[link])
        leads_away = of_seed and self.scope.is_elsewhere(url)
        if leads_away and self._follow_seeds:
            self.seed([url])
        if self.revisits is not None and url in self.revisits:
            if why := self.scope.why_not(url):
                self._left_out.note(why, url)
                return why
            return self._passes(link, url)
        if why := self.why_not(url):
            self._left_out.note(why, url)
            return why + _FOLLOWED * leads_away
        if self.revisits is not None and (why := self.revisits.barred(self._flying.values())):
            self._holder = (url, "revisits", domain_of(url))
            return why
        if why := self._full(url):
            return why
        tried = self._traps is not None and self._traps.tries(url)
        name = ""
        if self._traps is not None:
            is_view = self._traps.is_view(url)
            name = asked_last(url) if is_view else self._traps.passes(url, linked_by)
        if name:
            self._holder = (url, "trap", name)
            return f"held back: {name}"
        # Whatever a domain has had, what is tried of a group decides on all of it.
        if self._domains is not None and not self._domains.passes(url) and not tried:
            self._holder = (url, "domain", domain_of(url))
            return f"held back: {domain_of(url)} has had its share so far"
        if self._answers is not None and self._traps is not None:
            name = self._answers.holder(url, self._traps.linked_from)
            if name:
                self._holder = (url, "answer", name)
                return "held back: what it answers is not relevant"
        if why := self._in_vain(link, url, linked_by):
            return why
        its = self._unwanted
        name = "" if its is None or self.scope.is_seed(url) else its.holder(link, url)
        if name:
            self._holder = (url, "name", name)
            return why_unwanted(name)
        return self._passes(link, url)

    @property
    def _holders(self) -> dict[str, Holder]:
        """What may hold a link back, by name."""
        named = {
            "limit": self._limits,
            "revisits": self.revisits,
            "trap": self._traps,
            "domain": self._domains,
            "answer": self._answers,
            "vain": self._vain,
            "name": self._unwanted,
        }
        return {name: one for name, one in named.items() if one is not None}

    def _full(self, url: str) -> str:
        """The limit that a URL waits for; empty for none."""
        key = self._limits.full(url)
        if not key:
            return ""
        self._holder = (url, "limit", key)
        return self._limits.why(key)

    def _in_vain(self, link: LinkId, url: str, linked_by: Callable[[], Collection[str]]) -> str:
        """Why a URL waits, since links of all pages that have it come to nothing; empty if it does
        not."""
        if not (self._vain and (domain := self._vain.choose(link, linked_by()))):
            return ""
        self._holder = (url, "vain", domain)
        return f"held back: what {domain} links comes to nothing"

    def _passes(self, link: LinkId, url: str) -> str:
        self._flying[link] = url
        self._count(url, 1)
        return ""

    def dropped(self, url: str, seen: InLink | None, *, redirected: bool = False) -> None:
        whose, by, name = self._holder
        if seen is None or whose != url or not by:
            return
        link = Link(url, seen.anchor, seen.kind)
        held = HeldLink(link, seen.parent, seen.parent_score, seen.depth, not redirected)
        self._holders[by].hold(name, held)

    def release(self, *, over: bool, last: bool) -> Sequence[HeldLink]:
        if over and self.revisits is not None and (rest := self.revisits.rest()):
            return rest
        tried = [] if self._actions is None else self._actions.release()
        for held in tried:
            self._left_out.take_back(f"{DOES}{action(held.link.url)}", held.link.url)
        nearer = [] if self._depths is None else self._depths.release(over=over)
        domains = () if self._domains is None else self._domains.release(over=over)
        lists, sitemaps = self._sitemaps.release(over=over)
        freed = self._limits.release(over=over)
        freed += [] if self._vain is None else self._vain.release()
        freed += [] if self._unwanted is None else self._unwanted.release()
        if self.revisits is not None:
            freed += self.revisits.release(self._flying.values())
        found = [*tried, *nearer, *freed, *domains, *sitemaps, *self._more_listed(over=over)]
        found += lists
        if over and not found:
            found += self._sitemaps.release_last()
        if self._answers is not None:
            found += self._answers.release(over=last and not found)
        # Nobody else asks for the rest of a shard's own hosts; a trap is worth less than any link.
        found += () if self._traps is None else self._traps.release(over=last and not found)
        return self._as_near(found)

    def leave(self, owns: Callable[[str], bool]) -> Sequence[HeldLink]:
        return self._as_near([held for one in self._holders.values() for held in one.leave(owns)])

    def _as_near(self, links: Sequence[HeldLink]) -> Sequence[HeldLink]:
        """The same as near as they are now, for other shards, which may own them."""
        depths = self._depths
        if depths is None or self.owns is None:
            return links
        return [
            held._replace(depth=depths.of_links(held.link.url, held.depth + 1) - 1)
            for held in links
        ]

    def move(
        self, urls: Iterable[str], find: Callable[[str], LinkId | None], owns: Callable[[str], bool]
    ) -> Sequence[Ways]:
        moved = [] if self._depths is None else self._depths.move(urls, find, owns)
        for ways in moved:
            for url in urls_of(ways.deep):
                self._left_out.take_back(self._left_out.too_deep, url)
        return moved

    def moved(self, ways: Ways, page: LinkId) -> None:
        if self._depths is not None and self.owns is not None:
            self._depths.moved(ways, page, self.owns)
            for url in urls_of(ways.deep):
                self._left_out.note(self._left_out.too_deep, url)

    def ended(self, outcome: Outcome, found_on: Callable[[], str]) -> None:
        url = self._flying.pop(outcome.choice.link, None)
        asked = self._asked.pop(outcome.choice.link, url)
        if self.revisits is not None and url is not None:
            self.revisits.ended(url, outcome)
        page, judgement = outcome.page, outcome.judgement
        relevant = judgement is not None and judgement.relevant
        if self._vain is not None:
            self._vain.ended(outcome, url or asked or "", found_on)
        if self._unwanted is not None:
            self._unwanted.ended(outcome.choice.link, page)
        self._sitemaps.ended(asked or url or "", page, relevant=relevant)
        if page is None:
            if url is not None and asked is not None:
                self._count(url, -1)
                reply = outcome.reply
                if isinstance(reply, Failed) and reply.concerns and not reply.of_robots:
                    self._limits.in_vain(url)
                in_vain = isinstance(reply, Failed) and reply.kind in _IN_VAIN
                if self._traps is not None and in_vain:
                    # Where a link led to says nothing of what else is there.
                    self._traps.failed(asked, found_on())
            elif asked is not None and self._traps is not None and _led_to_action(outcome.reply):
                self._traps.led_to_action(asked, found_on())
            return
        if self._answers is not None:
            self._answers.ended(page, 1.0 if judgement is None else judgement.score)
        if relevant:
            self._limits.found(page.url, 1)
        if relevant and self._domains is not None:
            self._domains.judged(page.url, 1)
        traps = self._traps
        news = (
            True
            if traps is None
            else traps.ended(page, found_on, relevant=relevant, asked=asked or "")
        )
        trials, success = self._actions, relevant and news
        if trials is not None and url is not None and trials.ended(url, success=success):
            self._rules.memo.clear()

    def judged_anew(self, url: str, *, relevant: bool) -> None:
        self._limits.found(url, 1 if relevant else -1)
        if self._answers is not None:
            self._answers.judged_anew(url, relevant=relevant)
        if self._domains is not None:
            self._domains.judged(url, 1 if relevant else -1)

    def view_of(self, url: str) -> Sequence[str]:
        return () if self._traps is None else self._traps.view_of(url)

    def left_out(self) -> LeftOut:
        rules = Counter(self._left_out.counts())
        for one in self._holders.values():
            rules.update(one.left_out())
        rules += Counter({BEYOND: self._sitemaps.left, TOO_MANY: self._sitemaps.lost})
        return LeftOut(
            dict(rules),
            [group for one in self._holders.values() for group in one.held_groups()],
        )

    def _count(self, url: str, by: int) -> None:
        if self._domains is not None:
            self._domains.count(url, by)
        self._limits.count(url, by)

    def save(self) -> State:
        return {
            "holders": {name: one.save() for name, one in self._holders.items()},
            **({} if self._actions is None else {"actions": self._actions.save()}),
            **({} if self._depths is None else {"depths": self._depths.save()}),
            "seeds": list(self.scope.seeds),
            **self._sitemaps.save(),
            "flying": [[link, url] for link, url in self._flying.items()],
            "asked": [[link, url] for link, url in self._asked.items()],
            "left_out": self._left_out.save(),
        }

    def load(self, state: State) -> None:
        if self._actions is not None:
            self._actions.load(state["actions"])
        if self._depths is not None:
            self._depths.load(state["depths"])
        self.scope.forget_seeds()
        self.seed(state["seeds"])
        for name, one in self._holders.items():
            if name in state["holders"]:  # else it holds links back since
                one.load(state["holders"][name])
        self._sitemaps.load(state)
        self._flying = dict(state["flying"])
        self._asked = dict(state["asked"])
        self._left_out.load(state["left_out"])


def revisits_in(state: State) -> State:
    """What `CrawlFilter.save` has of the pages of an earlier run."""
    its: State = state["holders"]["revisits"]
    return its


_IN_VAIN = ("http", "absent", "duplicate")
"""Failures that say that there is nothing at a URL."""


def _led_to_action(reply: Reply) -> bool:
    if not isinstance(reply, Failed) or reply.kind != "skipped":
        return False
    return reply.reason.startswith(DOES)


def _nothing(url: str) -> bool:
    return False
