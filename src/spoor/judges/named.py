"""Python functions that a topic file names as `module:function`.

Topic files are shared, and a file must not run just any function that it names: only functions
that their authors marked with `for_topics` are called.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from spoor.errors import InputError

_Function = TypeVar("_Function", bound=Callable[..., Any])


def for_topics(function: _Function) -> _Function:
    """Mark a function as one that topic files may name."""
    function.for_topics = True  # type: ignore[attr-defined]  # functions take attributes
    return function


def named(name: str) -> Callable[..., Any]:
    """The function `module:function`. Raises InputError for one that is missing or not marked."""
    module, _, attribute = name.partition(":")
    if not module or not attribute or not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"{name!r} is not of the form module:function")
    try:
        loaded = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{name!r} cannot be imported ({error}); install it, or set PYTHONPATH to its folder"
        ) from error
    except Exception as error:
        raise InputError(f"{name!r} cannot be imported: {type(error).__name__}: {error}") from error
    if not callable(loaded):
        raise InputError(f"{name!r} is no function")
    if not getattr(loaded, "for_topics", False):
        raise InputError(
            f"{name!r} is not marked for topic files; put @spoor.judges.named.for_topics above it"
        )
    function: Callable[..., Any] = loaded
    return function
