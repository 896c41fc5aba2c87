"""The distribution that this package is installed from: its name, its version and its extras."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from spoor.errors import InputError

NAME = "spoor-crawler"
"""On package indexes, where `spoor` is another project."""

VERSION = "0.1.0"


def import_extra(extra: str, purpose: str, *modules: str) -> tuple[Any, ...]:
    """The `modules`, in their order, which the optional dependency `extra` installs.

    `purpose` begins the message of the InputError that is raised where one of them is missing.
    """
    try:
        return tuple(import_module(module) for module in modules)
    except ImportError as error:
        raise InputError(f"{purpose} needs an extra: pip install '{NAME}[{extra}]'") from error
