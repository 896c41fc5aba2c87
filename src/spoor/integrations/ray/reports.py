"""Whether what a worker sends is a report that this version of Spoor reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from math import isfinite
from typing import Any

from spoor.errors import DAMAGED
from spoor.live.metrics import Download
from spoor.types import LeftOut

_LARGEST = 1 << 62
"""Above all that is counted."""

_COUNTS = frozenset(
    "pages relevant failed skipped requests grant in_flight open waiting posted entered pauses"
    " hosts".split()
)
_SECONDS = ("cpu", "busy", "loop_hold")
_KINDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("expects", "links", "bytes"), dict),
    **dict.fromkeys(("verdicts", "downloads"), list),
    "fault": str,
    "model": (bytes, type(None)),
}
"""What a report holds beside these."""

_SUMMARY: dict[str, type] = {
    "resumed": bool,
    "judged_anew": int,
    **dict.fromkeys(("last_failure", "policy_fault", "judge_fault"), str),
    **dict.fromkeys(("judge", "left_out"), dict),
    "held_back": list,
}
"""What is read of the summary in a last report."""


def misfit_of(report: Any, call: str, shards: Collection[int]) -> str:
    """What a report lacks, or has that is of another kind; empty where it is one. A machine of a
    cluster may have another version of Spoor. `call`: what it answers, `open`, `turn` or `end`;
    `shards`: those that there are."""
    if not isinstance(report, dict):
        return type(report).__name__
    for name in _COUNTS:
        if not _is_count(report.get(name)):
            return name
    for name in _SECONDS:
        if not _is_number(report.get(name)):
            return name
    for name, kind in _KINDS.items():
        if not isinstance(report.get(name, ...), kind):
            return name
    for name, fits in (
        ("expects", all(_is_count(one) for way in report["expects"].items() for one in way)),
        ("links", all(_is_batch(to, one, shards) for to, one in report["links"].items())),
        ("bytes", _is_account(report["bytes"])),
        ("verdicts", all(isinstance(one, bool) for one in report["verdicts"])),
        ("downloads", all(isinstance(one, Download) for one in report["downloads"])),
        ("notes", _are_texts(report.get("notes", []))),
        ("process", call != "open" or _is_count(report.get("process"))),
        ("summary", call != "end" or _is_summary(report.get("summary"))),
    ):
        if not fits:
            return name
    return ""


def _is_count(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < _LARGEST


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and isfinite(value)


def _is_batch(target: object, batch: object, shards: Collection[int]) -> bool:
    """Whether these are links for another shard: number of the first, how many, blob."""
    if not _is_count(target) or target not in shards:
        return False
    if not isinstance(batch, tuple) or [*map(type, batch)] != [int, int, int, bytes]:
        return False
    return all(map(_is_count, batch[:3]))


def _is_account(account: Mapping[str, object]) -> bool:
    return account.keys() == {"grant", "used", "wanted"} and all(map(_is_count, account.values()))


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(one, str) for one in values)


def _is_summary(summary: object) -> bool:
    if not isinstance(summary, dict):
        return False
    if not all(isinstance(summary.get(name), kind) for name, kind in _SUMMARY.items()):
        return False
    with suppress(*DAMAGED):
        LeftOut.of(summary)
        return all(map(_is_number, summary["judge"].values()))
    return False
