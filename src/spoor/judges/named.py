"""Python functions that a topic file names as `module:function`.

Topic files are shared, and a file must not run just any function that it names. Importing a module
runs it, so only modules are imported whose functions the user has named: on the command line, or in
the environment variable SPOOR_FUNCTIONS. Of those, and of modules that are imported already, only
functions are called that their authors marked with `for_topics`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from spoor.errors import InputError

_Function = TypeVar("_Function", bound=Callable[..., Any])


VARIABLE = "SPOOR_FUNCTIONS"
_allowed: set[str] = set()


def allow(*names: str) -> None:
    """The user of this process has named these functions."""
    _allowed.update(names)


def allowed() -> list[str]:
    """The functions that the user has named."""
    return sorted(_allowed.union(os.environ.get(VARIABLE, "").replace(",", " ").split()))


def for_topics(function: _Function) -> _Function:
    """Mark a function as one that topic files may name."""
    function.for_topics = True  # type: ignore[attr-defined]  # functions take attributes
    return function


def named(name: str) -> Callable[..., Any]:
    """The function `module:function`. Raises InputError for one that is missing or not marked, and
    for one whose module would have to be imported though the user has not named it."""
    module, _, attribute = name.partition(":")
    if not module or not attribute or not all(part.isidentifier() for part in module.split(".")):
        raise InputError(f"{name!r} is not of the form module:function")
    own = module.partition(".")[0] == __name__.partition(".")[0]
    if not own and module not in sys.modules and name not in allowed():
        raise InputError(
            f"a topic names {name!r}, whose module would run; if you trust it, say so: "
            f"{VARIABLE}={name} before the command"
        )
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
