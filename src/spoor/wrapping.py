"""The base of plug-ins that wrap others of their kind and have the same optional protocols.

`isinstance` on the outermost object shows what a policy or judge can do, however many wrappers it
has; no caller looks inside. The optional protocols are those of `protocols.OPTIONAL`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from spoor.protocols import OPTIONAL


class Wrapper:
    """A plug-in of `kind` that wraps others of its kind.

    A subclass calls `hold` with the wrapped plug-ins in its constructor, and again whenever they
    change. The wrapper then has each optional protocol that one of them has. Each name of the
    protocol is

    - the method of that name, if the class of the wrapper has one: it then always exists;
    - else the method `pass_NAME` of the class, which may do something before and after;
    - else the attribute of that name of the wrapped plug-in.

    These are attributes of the object, so that a call costs as much as a method call, and
    `isinstance` sees them. Wrappers around this one are updated too. Methods that a wrapped plug-in
    gains or loses later are not noticed; attributes that are not methods must not change.
    """

    kind: ClassVar[type]
    """Policy, Judge, Frontier or World."""

    _held: tuple[Any, ...] = ()
    _passed: tuple[str, ...] = ()
    _holders: tuple[Wrapper, ...] = ()

    def hold(self, *held: object) -> None:
        """Wrap these plug-ins from now on."""
        for plugin in self._held:
            if isinstance(plugin, Wrapper):
                plugin._holders = tuple(holder for holder in plugin._holders if holder is not self)
        self._held = held
        for plugin in held:
            if isinstance(plugin, Wrapper):
                plugin._holders += (self,)
        self._pass_on()

    def passes(self, protocol: type) -> bool:
        """Whether the wrapper has an optional protocol: by default if a wrapped plug-in has it."""
        return any(isinstance(plugin, protocol) for plugin in self._held)

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
