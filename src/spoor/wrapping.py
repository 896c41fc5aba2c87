"""How a plug-in that stands before others has the optional protocols that they have.

`isinstance` on the outermost object tells what a policy or judge can do, however many wrappers
stand before it; nobody looks inside. The optional protocols are those of `protocols.OPTIONAL`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from spoor.protocols import OPTIONAL


class Wrapper:
    """A plug-in of `kind` that holds others of its kind.

    It calls `hold` when it is made, and again whenever it holds something else. From then on it has
    each optional protocol of its kind that one of them has: under each name of the protocol stands

    - the method of that name where its own class has one, which then is always there;
    - else the method `pass_NAME` of its class, which may do something before and after;
    - else what the plug-in that it holds has under that name.

    These are attributes of the object, so that a call costs what a call of a method costs, and
    `isinstance` sees them. What holds this wrapper follows. A plug-in that gains or loses methods
    by itself is not followed; attributes that are not methods must not change.
    """

    kind: ClassVar[type]
    """Policy, Judge, Frontier or World."""

    _held: tuple[Any, ...] = ()
    _passed: tuple[str, ...] = ()
    _holders: tuple[Wrapper, ...] = ()

    def hold(self, *held: object) -> None:
        """These are what it holds from now on."""
        for one in self._held:
            if isinstance(one, Wrapper):
                one._holders = tuple(it for it in one._holders if it is not self)
        self._held = held
        for one in held:
            if isinstance(one, Wrapper):
                one._holders += (self,)
        self._pass_on()

    def passes(self, protocol: type) -> bool:
        """Whether it has an optional protocol now: one that it holds does."""
        return any(isinstance(one, protocol) for one in self._held)

    def _pass_on(self) -> None:
        for name in self._passed:
            delattr(self, name)
        names = {
            name
            for protocol in OPTIONAL[self.kind]
            if self.passes(protocol)
            for name in members(protocol)
            if not hasattr(type(self), name)
        }
        for name in names:
            own = f"pass_{name}"
            if hasattr(self, own):
                setattr(self, name, getattr(self, own))
            else:
                (only,) = self._held
                setattr(self, name, getattr(only, name))
        self._passed = tuple(names)
        for holder in self._holders:
            holder._pass_on()


def members(protocol: type) -> list[str]:
    """Names of the methods and attributes of a protocol."""
    names = {**vars(protocol), **protocol.__annotations__}
    return sorted(name for name in names if not name.startswith("_"))
