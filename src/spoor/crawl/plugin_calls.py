"""Calls of policies and judges: what they raise or return wrongly becomes a PluginError."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from spoor.errors import PausedError, PluginError
from spoor.protocols import Judge, Offer, Policy
from spoor.types import Choice, Judgement, Page

MOST_WHY = 1 << 16
"""Characters of all reasons for a judgement: the row of a run with far more of them is refused."""


def call_plugin(plugin: object, name: str, method: Callable[..., Any], *arguments: object) -> Any:
    """`method(*arguments)`; `name` is its name in the message."""
    try:
        return method(*arguments)
    except (PausedError, PluginError):  # the machine's fault; a fault that has its name already
        raise
    except Exception as error:
        raise PluginError(plugin, name, f"raised {type(error).__name__}: {_said(error)}") from error


def _said(error: Exception) -> str:
    """What an error says; nothing where it cannot say it."""
    try:
        return str(error)
    except Exception:
        return ""


def choose(policy: Policy, offer: Offer) -> Choice:
    """The policy's choice of an offer, checked."""
    choice = call_plugin(policy, "choose", policy.choose, offer)
    if not isinstance(choice, Choice):
        raise PluginError(policy, "choose", f"returned {choice!r}, not a Choice")
    if choice.link not in offer:
        raise PluginError(policy, "choose", f"returned link {choice.link}, which was not offered")
    probability = choice.probability
    if probability is not None and not 0.0 < probability <= 1.0 + 1e-9:
        raise PluginError(policy, "choose", f"gave probability {probability}, not in (0, 1]")
    return choice


def judge_page(judge: Judge, page: Page) -> Judgement:
    """The judge's judgement of a page, checked. A list that the crawl asked for by itself (a
    sitemap, a search index, an answer of a search) is no document, whatever pattern it fits."""
    judgement: Judgement = call_plugin(judge, "judge", judge.judge, page)
    check_judgement(judge, "judge", page.url, judgement)
    if judgement.relevant and "sitemap" in page.flags:
        return replace(judgement, relevant=False, reward=0.0)
    return judgement


def check_judgement(judge: object, name: str, url: str, judgement: object) -> None:
    """Check what the method `name` of a judge says of a page."""
    if not isinstance(judgement, Judgement):
        raise PluginError(judge, name, f"returned {judgement!r}, not a Judgement")
    try:
        is_number = 0.0 <= judgement.score <= 1.0 and math.isfinite(judgement.reward)
        is_why = all(isinstance(why, str) and math.isfinite(part) for why, part in judgement.why)
        long = sum(len(why) for why, _ in judgement.why) > MOST_WHY
    except (TypeError, ValueError, OverflowError):
        is_number = is_why = long = False
    if not is_number:
        problem = (
            f"returned score {judgement.score!r:.50}, reward {judgement.reward!r:.50} for {url}"
        )
        raise PluginError(judge, name, f"{problem}; a score lies in [0, 1]")
    if not is_why or long:
        problem = (
            f"more than {MOST_WHY:,} characters" if long else "what are no pairs (text, share)"
        )
        raise PluginError(judge, name, f"gave {problem} as reasons for {url}")
