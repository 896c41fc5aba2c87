"""Models: what a training of a policy left, with what it was trained for.

A model is a State {"policy", "features", "topic", "called", "about", "weights"};
`spoor.learn.state` writes and reads it with a format version and a digest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
    return weights


def needed_weights(task: Task, policy: str, features: str) -> Mapping[str, Any]:
    """The same for a policy that does nothing without a model: InputError where there is none."""
    weights = weights_of(task, policy, features)
    if weights is None:
        raise InputError(
            f"{policy} needs --model MODEL; "
            f"`spoor train {policy} WEB... --target SPEC --out MODEL` makes one"
        )
    return weights
