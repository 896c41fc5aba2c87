"""The laws of a policy, checked on small webs with faults, redirects and late replies."""

from __future__ import annotations

import inspect
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, cast

import numpy as np

from spoor import registry
from spoor.crawl import Crawl
from spoor.crawl.plugin_calls import choose
from spoor.errors import SpoorError
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Function, Label
from spoor.learn.known_links import knowing
from spoor.learn.state import generator_state, pack, unpack
from spoor.protocols import Explains, Mergeable, Policy, Relearns, ValuesLinks, World
from spoor.sharding.outbox import Outbox
from spoor.testing.shuffled import Shuffled
from spoor.testing.small_worlds import TARGET, SmallWorld, random_web
from spoor.types import Anchor, Judgement, Link, LinkBatch, Page, State, Task, Topic

TOPIC = Topic("pottery", keywords=("kiln", "glaze", "clay", "stoneware"))
"""What the webs of these checks are searched for."""

_WORDS = {"pottery", *TOPIC.keywords}
_TRIALS = 300


def check_policy(
    factory: Callable[..., Any],
    *,
    knows_web: bool = False,
    model: State | None = None,
    vectors: object | None = None,
    beats_random: bool = False,
    **settings: Any,
) -> None:
    """Check a policy, made as `factory(task, **settings)`, against the laws of its protocol.

    With `knows_web` its tasks hold the whole graph, with `model` what a training left, with
    `vectors` word vectors. `beats_random` demands of a policy that goes by a topic that it finds
    more on generated webs than random choice. Raises AssertionError with the law that it broke.
    Cost: some dozen crawls of 60 pages; with `beats_random` four more of 150.
    """
    subject = _Subject(factory, settings, knows_web, model, vectors)
    subject.check_parameters()
    subject.check_order_of_replies()
    subject.check_failures()
    subject.check_same_seed()
    subject.check_saving()
    subject.check_probabilities()
    subject.check_links_from_shards()
    subject.check_optional()
    if beats_random:
        subject.check_beats_random()


@dataclass
class _Subject:
    """A policy under examination."""

    factory: Callable[..., Any]
    settings: Mapping[str, Any]
    knows_web: bool
    model: State | None
    vectors: object | None
    _stage: str = field(default="being made", init=False)
    _whole: dict[_Case, Shuffled] = field(default_factory=dict, init=False)
    _end: dict[_Case, bytes] = field(default_factory=dict, init=False)

    @property
    def name(self) -> str:
        return getattr(self.factory, "__name__", repr(self.factory))

    def demand(self, holds: bool, sentence: str) -> None:
        if not holds:
            raise AssertionError(f"{self.name}: {sentence}")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Turn errors of the policy into AssertionErrors that name this stage."""
        try:
            yield
        except AssertionError as error:
            named = str(error).startswith(self.name)
            raise AssertionError(str(error) if named else f"{self.name}, {name}: {error}") from None
        except SpoorError as error:
            raise AssertionError(f"{self.name}, {name}: {error}") from error
        except Exception as error:
            kind = type(error).__name__
            raise AssertionError(f"{self.name}, {name}: raised {kind}: {error}") from error

    # -- making crawls

    def policy(self, world: SmallWorld | None, seed: int) -> Policy:
        graph = world.graph() if self.knows_web and world is not None else None
        rng = np.random.default_rng(seed)
        task = Task(rng, TOPIC, model=self.model, graph=graph, vectors=self.vectors)
        policy: Policy = self.factory(task, **self.settings)
        return policy

    def crawl(
        self, world: SmallWorld, seed: int, *, delay: float = 0.0, outbox: Outbox | None = None
    ) -> Crawl:
        frontier = MemoryFrontier(delay=delay, per_host=1 if delay else 0)
        judge = Function(_graded)
        return Crawl(self.policy(world, seed), judge, frontier, backoff=2.0, outbox=outbox)

    def driver(
        self, case: _Case, *, seed: int | None = None, seeds: Sequence[str] = ()
    ) -> Shuffled:
        world = faulty_web(case.seed)
        crawl = self.crawl(world, case.seed if seed is None else seed, delay=case.delay)
        rng = np.random.default_rng(case.seed + 1)
        driver = Shuffled(crawl, world, rng, case.in_flight)
        crawl.seed(seeds or [next(iter(world.pages))])
        return driver

    def whole(self, case: _Case) -> Shuffled:
        """The crawl of a case to its end, made once for all laws."""
        if case not in self._whole:
            driver = self.driver(case)
            driver.run()
            self._whole[case] = driver
        return self._whole[case]

    # -- the laws

    def check_parameters(self) -> None:
        """`factory(task, *, name=default…)`: what a user may set is keyword-only, with a default
        that a settings file can hold."""
        first, *rest = inspect.signature(self.factory).parameters.values()
        positional = (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)
        self.demand(first.kind in positional, "is not made as factory(task, …)")
        for parameter in rest:
            what = f"parameter {parameter.name!r}"
            keyword = parameter.kind is parameter.KEYWORD_ONLY
            self.demand(keyword, f"{what} is not keyword-only; put a * before it")
            given = parameter.default is not parameter.empty
            self.demand(given, f"{what} has no default")
            try:
                json.dumps(parameter.default)
            except TypeError:
                self.demand(False, f"{what} has a default that no settings file can hold")

    def check_order_of_replies(self) -> None:
        """One and eight fetches in flight, out of order and late, over faults and redirects."""
        for case in CASES:
            with self.stage(f"with {case}"):
                driver = self.whole(case)
                for choice in driver.choices:
                    self._check_why(choice.why)
                pages = [outcome.page.url for outcome in driver.outcomes if outcome.page]
                self.demand(
                    set(pages) == reach(faulty_web(case.seed)),
                    f"with {case}: the crawl ended before every page within reach was fetched",
                )

    def _check_why(self, why: object) -> None:
        good = isinstance(why, tuple) and all(
            isinstance(reason, str) and bool(reason.strip()) and math.isfinite(share)
            for reason, share in why
        )
        self.demand(good, f"a choice's why is {why!r}, not pairs of words and a finite number")

    def check_failures(self) -> None:
        """A crawl in which every request but the first fails."""
        web = faulty_web(0)
        root = next(iter(web.pages))
        with self.stage("where every request but the first fails"):
            world = SmallWorld([web.pages[root]])
            crawl = self.crawl(web, 0)
            crawl.seed([root])
            driver = Shuffled(crawl, world, np.random.default_rng(0), 8)
            driver.run()
            lost = sum(outcome.page is None for outcome in driver.outcomes)
            links = {link.url for link in web.pages[root].links} - {root}
            self.demand(lost == len(links), "did not try every link once where all of them fail")

    def check_same_seed(self) -> None:
        """The other cases are made again where they are saved."""
        case = CASES[-1]
        with self.stage(f"with {case}"):
            second = self.driver(case)
            second.run()
            self._same(case, second, f"with {case}: the same seed gives two crawls")

    def check_saving(self) -> None:
        """One in flight tells whether to save or to load made the difference; the other cases save
        between two loads."""
        apart, mixed = (_Saving(save=9), _Saving(load=13)), (_Saving(save=9, load=13),)
        for case in CASES[:3]:
            once = (_Saving(once=31),) if case is CASES[1] else ()
            for saving in (*(apart if case is CASES[0] else mixed), *once):
                with self.stage(f"{saving}, with {case}"):
                    broken = self.driver(case)
                    step = 0
                    while broken.step():
                        step += 1
                        if saving.saves(step):
                            self._save(broken, case, load=False)
                        if saving.loads(step):
                            self._save(broken, case, load=True)
                    self._same(case, broken, f"{saving}, with {case}: goes on differently")

    def _save(self, driver: Shuffled, case: _Case, *, load: bool) -> None:
        state = self._packed(driver.crawl)
        if not load:
            self.demand(state == self._packed(driver.crawl), "save twice in a row gives two states")
        else:
            driver.crawl = self.crawl(faulty_web(case.seed), case.seed + 100, delay=case.delay)
            driver.crawl.load(unpack(state))
            again = self._packed(driver.crawl)
            self.demand(state == again, "a state that is loaded and saved again is another one")

    def _packed(self, crawl: Crawl) -> bytes:
        try:
            return pack(crawl.save())
        except TypeError as error:
            law = f"{self.name}: save holds what is neither JSON nor a NumPy array: {error}"
            raise AssertionError(law) from error

    def _same(self, case: _Case, other: Shuffled, sentence: str) -> None:
        one = self.whole(case)
        for at, (a, b) in enumerate(zip(one.choices, other.choices, strict=False)):
            self.demand(a == b, f"{sentence}: choice {at} is {a} and {b}")
        self.demand(one.asked == other.asked, f"{sentence}: other requests")
        if case not in self._end:
            self._end[case] = self._packed(one.crawl)
        same = self._end[case] == self._packed(other.crawl)
        self.demand(same, f"{sentence}: the same requests, but not the same state at the end")

    def check_probabilities(self) -> None:
        """Loaded again and again from one state with other random numbers, a link is chosen as
        often as its probability says."""
        case = CASES[0]
        urls = list(faulty_web(case.seed).pages)
        for steps, seeds in ((0, urls[:8]), (25, urls[:1])):
            with self.stage(f"choosing after {steps} steps"):
                driver = self.driver(case, seeds=seeds)
                for _ in range(steps):
                    driver.step()
                state = unpack(pack(driver.crawl.save()))
                if _generators(state["policy"]):
                    self._check_draws(state, case, driver.now, f"after {steps} steps")

    def _check_draws(self, state: State, case: _Case, now: float, when: str) -> None:
        stated: dict[int, float] = {}
        counts: Counter[int] = Counter()
        crawl = self.crawl(faulty_web(case.seed), case.seed, delay=case.delay)
        crawl.load(state)
        while (again := crawl.frontier.due(now)) is not None:  # it is asked for without a choice
            crawl.frontier.take(again, now)
        if not len(crawl.frontier.offer(now)):
            return
        for trial in range(_TRIALS):
            with knowing(crawl.frontier.url):
                crawl.policy.load(_reseeded(state["policy"], np.random.default_rng(trial)))
            choice = choose(crawl.policy, crawl.frontier.offer(now))
            if choice.probability is None:
                return
            link, probability = choice.link, choice.probability
            before = stated.setdefault(link, probability)
            same = math.isclose(before, probability, rel_tol=1e-9)
            law = f"{when}: link {link} of one offer has probability {before} and {probability}"
            self.demand(same, law)
            counts[link] += 1
        total = sum(stated.values())
        self.demand(total <= 1 + 1e-6, f"{when}: probabilities of one offer sum to {total:.3f}")
        for link, probability in stated.items():
            share = counts[link] / _TRIALS
            margin = 5 * math.sqrt(probability * (1 - probability) / _TRIALS) + 1 / _TRIALS
            self.demand(
                abs(share - probability) <= margin,
                f"{when}: link {link} is chosen in {share:.3f} of {_TRIALS} trials, "
                f"and its probability is said to be {probability:.3f}",
            )

    def check_links_from_shards(self) -> None:
        """A crawl in shards: links arrive from a page that another shard fetched."""
        if self.knows_web:
            return
        world = faulty_web(0)
        root, *urls = world.pages
        away = "http://away.example/"
        with self.stage("where links come from another shard"):
            outbox = Outbox(0, 1)
            outbox.grant = 1000
            crawl = self.crawl(world, 0, outbox=outbox)
            crawl.seed([root])
            driver = Shuffled(crawl, world, np.random.default_rng(0), 4)
            for step in range(12):
                assert driver.step()
                links = tuple(Link(f"{away}{step}/{at}", Anchor("kiln")) for at in range(3))
                page = Page(away, title="Pottery", text="kiln and glaze")
                known = (Link(urls[-1 - step], Anchor("clay")),)
                crawl.enter(LinkBatch(page, 0.7, 1, (away,), links + known))
            state = self._packed(crawl)
            driver.crawl = self.crawl(world, 7, outbox=Outbox(0, 1))
            driver.crawl.load(unpack(state))
            self.demand(self._packed(driver.crawl) == state, "loaded, such links are other ones")
            driver.run()
            asked = {url for url in driver.asked if url.startswith(away)}
            self.demand(
                asked == {f"{away}{step}/{at}" for step in range(12) for at in range(3)},
                "links that another shard found are not all asked for",
            )

    def check_optional(self) -> None:
        """The optional protocols: explain, weigh, relearn, share and merge."""
        policy = self.whole(CASES[1]).crawl.policy
        if isinstance(policy, Explains):
            with self.stage("explaining"):
                for group, feature, weight in policy.explain():
                    good = isinstance(group, str) and isinstance(feature, str)
                    row = (group, feature, weight)
                    self.demand(good and math.isfinite(weight), f"explain gives {row!r}")
        if isinstance(policy, ValuesLinks):
            with self.stage("weighing"):
                before = pack(policy.save())
                for link in range(50):
                    choice = policy.weigh(link)
                    fits = choice is None or (choice.link == link and bool(choice.why))
                    self.demand(fits, f"weigh({link}) gives {choice!r}")
                self.demand(pack(policy.save()) == before, "weigh changes what is saved")
        if isinstance(policy, Relearns):
            with self.stage("relearning"):
                mine = pack(policy.save())
                corrected = []
                for _ in range(2):
                    policy.load(unpack(mine))
                    for link in range(0, 50, 5):  # a correction may train all anew
                        policy.relearn(link, *_CORRECTED[link % 2])
                    corrected.append(pack(policy.save()))
                self.demand(corrected[0] == corrected[1], "relearn differs after a load")
                self.demand(corrected[0] != mine, "relearn leaves all that was learned as it was")
                policy.load(unpack(mine))
        if isinstance(policy, Mergeable):
            with self.stage("merging"):
                others = [self.whole(case).crawl.policy for case in CASES[2:]]
                shared = [cast(Mergeable, other).share() for other in others]
                states = [unpack(pack(state)) for state in shared]
                mine = pack(policy.save())
                policy.share()
                self.demand(pack(policy.save()) == mine, "share changes what is saved")
                merged = []
                for order in (states, states[::-1]):
                    policy.load(unpack(mine))
                    policy.merge(order)
                    merged.append(pack(policy.save()))
                self.demand(bool(merged[0]), "merge leaves nothing to save")

    def check_beats_random(self) -> None:
        with self.stage("on generated webs"):
            own = sum(self._harvest(seed) for seed in range(2))
            plain = sum(map(_harvest_of_random, range(2)))
            self.demand(
                own > plain,
                f"finds {own} targets on two generated webs, random choice {plain}",
            )

    def _harvest(self, seed: int) -> int:
        task = Task(np.random.default_rng(seed), TOPIC, model=self.model, vectors=self.vectors)
        return _harvest(self.factory(task, **self.settings), seed)


@cache
def _harvest_of_random(seed: int) -> int:
    task = Task(np.random.default_rng(seed), TOPIC)
    return _harvest(registry.build("policies", "random", task), seed)


def _harvest(policy: Policy, seed: int) -> int:
    """Targets that a policy finds on a generated web."""
    world, root, target = generated_web(seed)
    crawl = Crawl(policy, Label(target), MemoryFrontier(), pages=150)
    crawl.seed([root])
    Shuffled(crawl, world, np.random.default_rng(seed), 8).run()
    return crawl.counts.relevant


# ---------------------------------------------------------------- webs


@dataclass(frozen=True)
class _Case:
    seed: int
    in_flight: int
    delay: float

    def __str__(self) -> str:
        return f"{self.in_flight} in flight, {self.delay:g} s a host (web {self.seed})"


@dataclass(frozen=True)
class _Saving:
    """After how many steps a crawl is saved, or saved and loaded: again and again, or once."""

    save: int = 0
    load: int = 0
    once: int = 0

    def saves(self, step: int) -> bool:
        return bool(self.save) and step % self.save == 0

    def loads(self, step: int) -> bool:
        return step == self.once or (bool(self.load) and step % self.load == 0)

    def __str__(self) -> str:
        if self.once:
            return f"saved and loaded after {self.once} steps"
        parts = [f"saved every {self.save} steps"] if self.save else []
        parts += [f"saved and loaded every {self.load} steps"] if self.load else []
        return ", ".join(parts)


_YES, _NO = Judgement(1.0, True, 1.0), Judgement(0.0, False, 0.0)
_CORRECTED = ((_YES, _NO), (_NO, _YES))
CASES = (_Case(0, 1, 0.0), _Case(1, 8, 0.0), _Case(2, 8, 1.0), _Case(3, 3, 1.0))


def _graded(page: Page) -> Judgement:
    """Relevant by its label; the score is the share of its words that are of the topic."""
    words = page.text.split()
    score = sum(word in _WORDS for word in words) / len(words) if words else 0.0
    relevant = TARGET in page.labels
    return Judgement(score, relevant, float(relevant), (("its words", score),))


@cache
def _pages(seed: int) -> tuple[Page, ...]:
    return tuple(random_web(np.random.default_rng(seed)).pages.values())


def faulty_web(seed: int) -> SmallWorld:
    """60 pages of which some time out once, twice or for good, some are gone, and some redirect:
    to a page that is linked elsewhere, to one that is not, and in a circle."""
    pages = {page.url: page for page in _pages(seed)}
    root, *urls = pages
    rng = np.random.default_rng(seed + 1)
    some = [urls[int(at)] for at in rng.choice(len(urls), 16, replace=False)]
    redirects = dict(zip(some[:4], some[4:8], strict=True))
    redirects |= {some[8]: f"{some[8]}?moved", some[9]: some[10], some[10]: some[9]}
    moved = pages[some[8]]
    for url in (*redirects, some[11], some[12]):
        del pages[url]
    pages[redirects[some[8]]] = Page(redirects[some[8]], text=moved.text, links=moved.links)
    failures = {some[13]: 1, some[14]: 2, some[15]: 3, root: 1}
    return SmallWorld(list(pages.values()), redirects=redirects, failures=failures)


def reach(world: SmallWorld, attempts: int = 3) -> set[str]:
    """Pages that a crawl without a budget must fetch, by the plainest code."""
    todo = [next(iter(world.pages))]
    reached: set[str] = set()
    tried: set[str] = set()
    while todo:
        url = todo.pop()
        while url in world.redirects and url not in tried:
            tried.add(url)
            url = world.redirects[url]
        if url in tried or url not in world.pages or world.failures.get(url, 0) >= attempts:
            continue
        tried.add(url)
        reached.add(url)
        todo += [link.url for link in world.pages[url].links]
    return reached


@cache
def generated_web(seed: int) -> tuple[World, str, str]:
    """A generated web of 1,000 pages, its root and the label of its targets."""
    from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

    world = GeneratedWorld(GeneratedSettings(pages=1_000, hosts=6, seed=seed))
    return world, world.roots()[0], world.topics[0]


# ---------------------------------------------------------------- random states


def _generators(state: object) -> int:
    """How many generators of random numbers a state holds."""
    if isinstance(state, Mapping):
        if "bit_generator" in state:
            return 1
        return sum(map(_generators, state.values()))
    return sum(map(_generators, state)) if isinstance(state, list) else 0


def _reseeded(state: Any, rng: np.random.Generator) -> Any:
    """The state with other generators of random numbers."""
    if isinstance(state, Mapping):
        if "bit_generator" in state:
            kind = getattr(np.random, state["bit_generator"])
            return generator_state(np.random.Generator(kind(int(rng.integers(1 << 62)))))
        return {key: _reseeded(value, rng) for key, value in state.items()}
    return [_reseeded(value, rng) for value in state] if isinstance(state, list) else state
