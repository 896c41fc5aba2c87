"""Models: what a training of a policy left, with what it was trained for.

A model is a State {"policy", "features", "topic", "called", "about", "weights"};
`spoor.learn.state` writes and reads it with a format version and a digest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from spoor.errors import InputError
from spoor.types import State, Task, Topic
from spoor.web.text import tokens


def pack_model(policy: str, features: str, topic: Topic, weights: State, **about: object) -> State:
    """A model of `policy`; `features` names what its weights are over, and changes with it."""
    return {
        "policy": policy,
        "features": features,
        "topic": topic.text,
        "called": topic.name or topic.text,
        "about": about,
        "weights": weights,
    }


def weights_of(task: Task, policy: str, features: str) -> Mapping[str, Any] | None:
    """The weights in the model of a task; None without a model.

    Raises InputError for a model of another policy, of other features or for another topic.
    """
    model = task.model
    if model is None:
        return None
    if model.get("policy") != policy:
        raise InputError(
            f"the model is one of {model.get('policy', 'nothing known')!r}, not of {policy!r}; "
            f"choose --policy {model.get('policy', '…')} or train anew"
        )
    if model["features"] != features:
        raise InputError(
            f"the model is over features {model['features']!r}, this {policy} reads {features!r}; "
            "give the parameters that it was trained with, or train anew"
        )
    mine, its = set(tokens(task.topic.text)), set(tokens(model["topic"]))
    if mine and its and mine != its:
        raise InputError(
            f"the model was trained for {model.get('called', model['topic'])!r}, not for "
            f"{task.topic.name or task.topic.text!r}; "
            "give that topic, or train anew"
        )
    weights: Mapping[str, Any] = model["weights"]
    if not _all_finite(weights):
        raise InputError(
            f"the model of {policy!r} holds a number that is none (NaN, infinite); train "
            "anew, or get it again"
        )
    return weights


def _all_finite(value: Any) -> bool:
    """Whether all numbers in a state are real and finite: any other would make every choice one of
    chance, without a word."""
    if isinstance(value, Mapping):
        return all(map(_all_finite, value.values()))
    if isinstance(value, list):
        return all(map(_all_finite, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(
            value.dtype.kind == "f" and np.isfinite(value).all()
        )
    return not isinstance(value, float) or math.isfinite(value)


def needed_weights(task: Task, policy: str, features: str) -> Mapping[str, Any]:
    """The same for a policy that does nothing without a model: InputError where there is none."""
    weights = weights_of(task, policy, features)
    if weights is None:
        raise InputError(
            f"{policy} needs --model MODEL; "
            f"`spoor train {policy} WEB... --target SPEC --out MODEL` makes one"
        )
    return weights
