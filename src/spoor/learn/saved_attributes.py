"""Saving objects by a list of their attributes, each with its form in a state.

    class Bandit(Saved):
        SAVED = attributes(_rng=GENERATOR, _queue=PART, _pulls=VALUE, _rewards=PAIRS)

An attribute is in the state under its name without the underscore. A class whose parts belong
together in the state extends `save` and `load`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np

from spoor.learn.state import generator_state, restore_generator
from spoor.types import State


class Form(NamedTuple):
    """How an attribute is written into a state and read back."""

    save: Callable[[Any], Any]
    load: Callable[[Any, Any], Any]
    """From the attribute as it is and the saved value to the attribute as it was."""


def attributes(**forms: Form) -> Mapping[str, Form]:
    """The attributes of a class that its state holds, in the order in which they are loaded."""
    return MappingProxyType(forms)


class Saved:
    """An object whose state is made of the attributes in `SAVED`."""

    SAVED: ClassVar[Mapping[str, Form]] = MappingProxyType({})

    def save(self) -> State:
        """All that `load` needs to go on bit for bit."""
        return {
            name.lstrip("_"): form.save(getattr(self, name)) for name, form in self.SAVED.items()
        }

    def load(self, state: State) -> None:
        """Go on from a state of `save`, of an object made with the same settings."""
        for name, form in self.SAVED.items():
            setattr(self, name, form.load(getattr(self, name), state[name.lstrip("_")]))


def _load_part(part: Any, state: Any) -> Any:
    if part is not None:
        part.load(state)
    return part


def _load_generator(rng: np.random.Generator, state: Any) -> np.random.Generator:
    restore_generator(rng, state)
    return rng


def filled(old: dict[Any, Any], items: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """The same dict with other content, since it may be of a kind of its own."""
    old.clear()
    old.update(items)
    return old


def _copy(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


def rows(make: Callable[[Any], Any] = tuple, dump: Callable[[Any], Any] = tuple) -> Form:
    """A dict of rows as [[key, *row]…]; `make` and `dump` turn a list into a row and back."""
    return Form(
        lambda value: [[key, *dump(row)] for key, row in value.items()],
        lambda old, saved: filled(old, ((key, make(row)) for key, *row in saved)),
    )


def numbers(dtype: type[np.generic]) -> Form:
    """A list of numbers as an array."""
    return Form(lambda value: np.array(value, dtype=dtype), lambda old, saved: saved.tolist())


VALUE = Form(_copy, lambda old, saved: _copy(saved))
"""A number, a text or None; a list of such."""
TUPLE = Form(list, lambda old, saved: tuple(saved))
"""A tuple, as a list."""
PART = Form(lambda value: None if value is None else value.save(), _load_part)
"""An object that saves itself, or None."""
GENERATOR = Form(generator_state, _load_generator)
"""A generator of random numbers."""
ARRAY = Form(np.copy, lambda old, saved: np.array(saved))
QUEUE = Form(list, lambda old, saved: deque(saved, maxlen=old.maxlen))
"""A deque of numbers or texts."""
KEYS = Form(list, lambda old, saved: dict.fromkeys(saved))
"""A dict without values, which is a set in order."""
PAIRS = Form(
    lambda value: [[key, item] for key, item in value.items()],
    lambda old, saved: filled(old, saved),
)
"""A dict of numbers or texts, as [[key, value]…]."""
