"""States of pages, as the foragers of a fleet see them: what it asks of whatever computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from spoor.types import Page, State


class Describe(Protocol):
    """Page → state: float32 of length `size`, each in [-1, 1]."""

    @property
    def size(self) -> int: ...
    @property
    def settled(self) -> bool:
        """Whether the same page will always have the same state."""
        ...

    def __call__(self, page: Page) -> NDArray[np.float32]: ...
    def save(self) -> State: ...
    def load(self, state: State) -> None: ...
