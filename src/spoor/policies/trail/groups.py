"""Groups of links in the same place: their record, and which are revalued."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from spoor.learn.priority_queue import PriorityQueue
from spoor.learn.slot_rows import SlotRows
from spoor.policies.trail.columns import START, WORDS
from spoor.policies.trail.rows import joined, split_again
from spoor.types import LinkId, State

MEMBERS = 64
"""Links of a group that are revalued when one of them was tried."""
SWEEP = 32
"""Open links that are revalued with every page, in turn."""

NEAR = [START[field] for field in ("list", "directory", "pattern")]
"""Columns of the groups whose links are revalued together."""


class Groups:
    """Links tried and their reward by group, and the links of each group that were seen last."""

    def __init__(self, rows: SlotRows) -> None:
        self._rows = rows
        self._tried = np.zeros((rows.room, 2), dtype=np.float32)
        """By row of a group: links tried, their reward."""
        self.members: dict[int, array[LinkId]] = {}
        self.sweep = array("i")
        """Open links in turn, from index `swept` on."""
        self.swept = 0

    def enter(self, links: Iterable[LinkId], groups: Iterable[Sequence[int]]) -> None:
        """Each link into its groups."""
        members = self.members
        for link, numbers in zip(links, groups, strict=True):
            for number in numbers:
                group = members.get(number)
                if group is None:
                    members[number] = array("i", (link,))
                    continue
                if len(group) == MEMBERS:
                    del group[0]
                group.append(link)

    def count(self, slots: NDArray[np.int32], reward: float, tried: float = 1.0) -> None:
        """Credit each group among the slots of a page's rows once."""
        groups = np.array(list(set(slots[:, WORDS:].ravel().tolist())), np.int32)
        rows = self._rows.enter(groups)
        self._make_room()
        self._tried[rows] += np.array((tried, reward), dtype=np.float32)

    def record(self, groups: Sequence[int] | NDArray[np.int32]) -> NDArray[np.float32]:
        """Of each group how many links were tried, and their reward: (groups, 2)."""
        self._make_room()
        return self._tried[self._rows.of(np.array(groups, np.int32))]

    def _make_room(self) -> None:
        more = self._rows.room - len(self._tried)
        if more > 0:
            self._tried = np.concatenate([self._tried, np.zeros((more, 2), np.float32)])

    def stale(self, groups: Iterable[int], queue: PriorityQueue) -> NDArray[np.int32]:
        """Links that wait in the same groups, and a few others in turn; some more than once."""
        found = [
            (group, members)
            for group in dict.fromkeys(groups)
            if (members := self.members.get(group)) is not None
        ]
        turn = self.sweep[self.swept : self.swept + SWEEP]
        seen = joined([*(members for _, members in found), turn], np.int32)
        waits = queue.among(seen)
        begin = 0
        for group, members in found:
            here = slice(begin, begin := begin + len(members))
            if waits[here].all():
                continue
            if waiting := seen[here][waits[here]].tobytes():
                self.members[group] = array("i", waiting)
            else:
                del self.members[group]
        self.swept += len(turn)
        self.sweep.frombytes(seen[begin:][waits[begin:]].tobytes())
        if 2 * self.swept > len(self.sweep):
            del self.sweep[: self.swept]
            self.swept = 0
        return seen[waits]

    def save(self) -> State:
        tried = np.flatnonzero(self._tried[:, 0] != 0.0)
        return {
            "members": {
                "groups": np.fromiter(self.members, np.int32, len(self.members)),
                "links": joined(self.members.values(), np.int32),
                "counts": np.array([len(links) for links in self.members.values()], np.int32),
            },
            "tried": {"groups": self._rows.slots(tried), "counts": self._tried[tried]},
            "sweep": np.array(self.sweep[self.swept :], dtype=np.int32),
        }

    def load(self, state: State) -> None:
        members = state["members"]
        links = split_again(members["links"], members["counts"])
        self.members = {
            group: array("i", part.tobytes())
            for group, part in zip(members["groups"].tolist(), links, strict=True)
        }
        rows = self._rows.enter(state["tried"]["groups"])
        self._tried = np.zeros((self._rows.room, 2), dtype=np.float32)
        self._tried[rows] = state["tried"]["counts"]
        self.sweep, self.swept = array("i", state["sweep"].tolist()), 0
