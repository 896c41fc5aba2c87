"""Tree frontier and double deep Q-learning: one link of each leaf is looked at, the best is taken.

TRES: Kontogiannis, Kelesis, Pollatos, Giannakopoulos and Paliouras (2021-25), "Tree-based focused
Web crawling with reinforcement learning", arXiv 2112.07620. Card: docs/algorithms/tres.md.
"""

from __future__ import annotations

import zlib
from dataclasses import KW_ONLY, InitVar, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from spoor.learn.dqn import DoubleDqn
from spoor.learn.hashed_linear import HashedLinear, join, logistic, split
from spoor.learn.link_words import content_stems, url_words
from spoor.learn.parameters import at_least, between, check_parameters
from spoor.learn.randomized_queue import RandomizedQueue
from spoor.learn.saved_attributes import GENERATOR, PART, VALUE, Saved, attributes, rows
from spoor.protocols import Offer
from spoor.types import Choice, InLinks, LinkId, Outcome, State, Task
from spoor.web.text import stem

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Row = NDArray[np.int32]

FEATURES = (
    "score of its page",
    "nearness of the last relevant page",
    "relevant share of its path",
    "keyword in URL",
    "keyword in anchor",
    "chance by its words",
    "relevant share of its host",
    "host never fetched",
)
HIDDEN = (30, 15)
BITS = 16
RATE = 0.5
NEVER = -1


# ---------------------------------------------------------------- the tree frontier


class Leaf:
    """Links that wait, and the rewards of links with like features."""

    __slots__ = ("bag", "depth", "rewards", "rows")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.bag = RandomizedQueue()
        self.rows: list[Floats] = []
        self.rewards: list[float] = []


class Split(NamedTuple):
    """An inner node: rows whose feature is at most `threshold` go left."""

    feature: int
    threshold: float
    left: int
    right: int


class TreeFrontier:
    """An on-line regression tree on rewards, split where that lowers their variance most."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self.nodes: list[Leaf | Split] = [Leaf(0)]

    def leaf(self, row: Floats) -> Leaf:
        """Where a row belongs. O(depth)."""
        node = self.nodes[0]
        while isinstance(node, Split):
            node = self.nodes[node.left if row[node.feature] <= node.threshold else node.right]
        return node

    def leaves(self) -> list[Leaf]:
        return [node for node in self.nodes if isinstance(node, Leaf)]

    def learn(self, row: Floats, reward: float, rows: dict[LinkId, Floats]) -> None:
        """One more experience; `rows` holds the features of the links that wait."""
        leaf = self.leaf(row)
        leaf.rows.append(row)
        leaf.rewards.append(reward)
        split = best_split(leaf) if leaf.depth < self._depth else None
        if split is None:
            return
        feature, threshold = split
        place = self.nodes.index(leaf)
        sides = (Leaf(leaf.depth + 1), Leaf(leaf.depth + 1))
        for row_before, reward_before in zip(leaf.rows, leaf.rewards, strict=True):
            side = sides[bool(row_before[feature] > threshold)]
            side.rows.append(row_before)
            side.rewards.append(reward_before)
        for link, host in leaf.bag:
            sides[bool(rows[link][feature] > threshold)].bag.add(link, host)
        self.nodes[place] = Split(feature, threshold, len(self.nodes), len(self.nodes) + 1)
        self.nodes.extend(sides)

    def save(self) -> list[Any]:
        return [
            list(node)
            if isinstance(node, Split)
            else {
                "depth": node.depth,
                "bag": node.bag.save(),
                "rows": np.array(node.rows).reshape(-1, len(FEATURES)),
                "rewards": list(node.rewards),
            }
            for node in self.nodes
        ]

    def load(self, state: list[Any]) -> None:
        self.nodes = []
        for saved in state:
            if isinstance(saved, list):
                self.nodes.append(Split(*saved))
                continue
            leaf = Leaf(saved["depth"])
            leaf.bag = RandomizedQueue.load(saved["bag"])
            leaf.rows = list(saved["rows"])
            leaf.rewards = list(saved["rewards"])
            self.nodes.append(leaf)


def best_split(leaf: Leaf) -> tuple[int, float] | None:
    """Feature and threshold that lower the variance of a leaf's rewards most; None if none does."""
    y = np.array(leaf.rewards)
    if np.ptp(y) == 0.0:
        return None
    x = np.array(leaf.rows)
    n = len(y)
    best = 1e-12
    split: tuple[int, float] | None = None
    left = np.arange(1, n)
    for feature in range(x.shape[1]):
        order = np.argsort(x[:, feature], kind="stable")
        values, sums = x[order, feature], np.cumsum(y[order])
        # The fall of Σ (y − mean)² is what the squared sums of the two sides gain.
        gain = sums[:-1] ** 2 / left + (sums[-1] - sums[:-1]) ** 2 / (n - left) - sums[-1] ** 2 / n
        gain[values[1:] == values[:-1]] = 0.0
        place = int(np.argmax(gain))
        if gain[place] > best:
            best = float(gain[place])
            split = feature, float((values[place] + values[place + 1]) / 2.0)
    return split


# ---------------------------------------------------------------- the crawl


class Path(NamedTuple):
    """The way from a seed to a page, itself included."""

    last: int = NEVER
    """Links since the last relevant page on it."""
    relevant: int = 0
    length: int = 0


class Open(NamedTuple):
    """A link that waits or is in flight, as it was first seen."""

    host: str
    path: Path
    """The path to its page."""
    words: Row


@dataclass(eq=False)
class Tres(Saved):
    """The highest Q among one random link of each leaf; the first `warm` links are of random
    leaves.

    `depth`: of the tree at most. `gamma`: discount. `every`: answers between two steps of
    learning, on `batch` transitions; `copy` steps make the second network the first. `relevant`:
    score from which on a page of a path counts as relevant.
    """

    task: InitVar[Task]
    _: KW_ONLY
    warm: int = at_least(0, 300)
    depth: int = at_least(1, 18)
    gamma: float = between(0, 1, 0.99)
    alpha: float = between(0, 1, 0.001)
    batch: int = at_least(1, 60)
    every: int = at_least(1, 3)
    copy: int = at_least(1, 500)
    relevant: float = between(0, 1, 0.5)

    SAVED = attributes(
        _rng=GENERATOR,
        _dqn=PART,
        _tree=PART,
        _words=PART,
        _hosts=rows(list),
        _choices=VALUE,
        _answers=VALUE,
    )

    def __post_init__(self, task: Task) -> None:
        check_parameters("tres", self)
        self._rng = task.rng
        self._keywords = frozenset(content_stems(task.topic.text))
        self._dqn = DoubleDqn(
            len(FEATURES),
            HIDDEN,
            task.rng,
            gamma=self.gamma,
            alpha=self.alpha,
            batch=self.batch,
            copy=self.copy,
        )
        self._tree = TreeFrontier(self.depth)
        self._of: dict[LinkId, Open] = {}
        self._rows: dict[LinkId, Floats] = {}
        self._words = HashedLinear(BITS)
        self._hosts: dict[str, list[int]] = {}
        self._waiting: list[tuple[Floats, float]] = []
        """Experiences whose next candidates are those of the next choice."""
        self._choices = 0
        self._answers = 0

    # -- states and actions

    def observe(self, seen: InLinks) -> None:
        parent = self._of.get(seen.parent)
        path = Path() if parent is None else self._further(parent.path, seen.parent_score)
        for index, (link, url, host) in enumerate(
            zip(seen.links, seen.urls, seen.hosts, strict=True)
        ):
            if link in self._of:
                continue
            in_url, in_anchor = stem(url_words(url)), content_stems(seen.anchor(index).text)
            named = (*(f"URL {word}" for word in in_url), *(f"anchor {word}" for word in in_anchor))
            words = self._words.row(
                {zlib.crc32(word.encode("utf-8", "surrogatepass")) for word in named}
            )
            tried, relevant = self._hosts.get(host, (0, 0))
            row = np.array(
                [
                    seen.parent_score,
                    0.0 if path.last == NEVER else 1.0 / (1 + path.last),
                    path.relevant / max(1, path.length),
                    float(not self._keywords.isdisjoint(in_url)),
                    float(not self._keywords.isdisjoint(in_anchor)),
                    logistic(self._words.value(words)),
                    relevant / max(1, tried),
                    float(not tried),
                ]
            )
            self._of[link] = Open(host, path, words)
            self._rows[link] = row
            self._tree.leaf(row).bag.add(link, host)

    def _further(self, path: Path, score: float) -> Path:
        if score >= self.relevant:
            return Path(0, path.relevant + 1, path.length + 1)
        last = NEVER if path.last == NEVER else path.last + 1
        return Path(last, path.relevant, path.length + 1)

    # -- one link of each leaf, the best Q

    def choose(self, offer: Offer) -> Choice:
        drawn = [
            (leaf, link)
            for leaf in self._tree.leaves()
            if len(leaf.bag)
            for link in [leaf.bag.draw(offer, self._rng)]
            if link is not None
        ]
        rows = np.array([self._rows[link] for _, link in drawn])
        for row, reward in self._waiting:
            self._dqn.remember(row, reward, rows)
        self._waiting.clear()
        values = self._dqn.online.values(rows)
        if self._choices < self.warm:
            index = int(self._rng.integers(len(drawn)))
        else:
            index = int(np.argmax(values))
        self._choices += 1
        leaf, link = drawn[index]
        leaf.bag.discard(link)
        return Choice(link, None, (("Q, the best of one link a leaf", float(values[index])),))

    # -- learning

    def learn(self, outcome: Outcome) -> None:
        link = outcome.choice.link
        opened, row = self._of.pop(link), self._rows.pop(link)
        self._tree.learn(row, outcome.reward, self._rows)
        self._waiting.append((row, outcome.reward))
        counts = self._hosts.setdefault(opened.host, [0, 0])
        counts[0] += 1
        if outcome.judgement is not None:
            relevant = outcome.judgement.relevant
            counts[1] += relevant
            error = float(relevant) - logistic(self._words.value(opened.words))
            self._words.step(opened.words, RATE * error)
        self._answers += 1
        if self._answers % self.every == 0:
            self._dqn.step()

    # -- state

    def save(self) -> State:
        opened = list(self._of.values())
        waiting = [row for row, _ in self._waiting]
        return {
            **super().save(),
            "links": list(self._of),
            "hosts_of": [item.host for item in opened],
            "paths": [list(item.path) for item in opened],
            "words_of": join(item.words for item in opened),
            "rows": np.array(list(self._rows.values())).reshape(-1, len(FEATURES)),
            "waiting": np.array(waiting).reshape(-1, len(FEATURES)),
            "rewards": [reward for _, reward in self._waiting],
        }

    def load(self, state: State) -> None:
        super().load(state)
        links = state["links"]
        columns = (state["hosts_of"], state["paths"], split(state["words_of"]))
        self._of = {
            link: Open(host, Path(*path), words)
            for link, host, path, words in zip(links, *columns, strict=True)
        }
        self._rows = dict(zip(links, state["rows"], strict=True))
        self._waiting = list(zip(state["waiting"], state["rewards"], strict=True))
