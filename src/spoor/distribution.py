"""The distribution that this package is installed from: its name, its version and its extras."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from spoor.errors import InputError

NAME = "spoor-crawler"
"""On package indexes, where `spoor` is another project."""

VERSION = "0.1.0"


def need_extra(extra: str, purpose: str, module: str) -> None:
    """Raises InputError, as `import_extra` does, if the extra is not installed. Imports nothing:
    for an extra that is used later or in another process."""
    if find_spec(module) is None:
        raise InputError(_missing(extra, purpose))


def import_extra(extra: str, purpose: str, *modules: str) -> tuple[Any, ...]:
    """The `modules`, in their order, which the optional dependency `extra` installs.

    `purpose` begins the message of the InputError that is raised if one of them is missing.
    """
    try:
        return tuple(import_module(module) for module in modules)
    except ImportError as error:
        raise InputError(_missing(extra, purpose)) from error


def _missing(extra: str, purpose: str) -> str:
    return f"{purpose} needs an extra: pip install '{NAME}[{extra}]'"
