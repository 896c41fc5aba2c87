"""Opening the web in a folder, of any kind, by its path; optionally cut to one site.

It is part of the worlds, not of the lab: `spoor replay`, `spoor train` and `spoor web serve` open
webs as experiments do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from spoor import registry
from spoor.errors import InputError, PluginError
from spoor.protocols import KnownWorld
from spoor.registry import nearest
from spoor.worlds.generated import GeneratedWorld
from spoor.worlds.recorded import RecordedWorld


def open_web(path: Path, *, site: str | None = None, absent: bool = False) -> KnownWorld:
    """The world in a folder: generated, recorded or of another package, by the marker file in it.
    Raises InputError if there is none, PluginError if a plug-in cannot be imported that might be
    the one."""
    if (path / GeneratedWorld.marker).exists():
        return GeneratedWorld.open(path)
    if not (path / RecordedWorld.marker).exists():
        world = _outside_world(path, {"site": site, "absent": absent})
        if world is not None:
            return world
    return RecordedWorld(path, site=site, absent=absent)


def _outside_world(path: Path, settings: Mapping[str, object]) -> KnownWorld | None:
    """The world of another package whose marker is in the folder."""
    broken: list[PluginError] = []
    for name in registry.outside("worlds") if path.is_dir() else ():
        try:
            factory = registry.find("worlds", name)
        except PluginError as error:
            broken.append(error)
            continue
        marker = getattr(factory, "marker", "")
        if marker and (path / marker).exists():
            known = registry.parameters(factory)
            world: KnownWorld = factory(
                path, **{key: value for key, value in settings.items() if key in known}
            )
            return world
    if broken:
        raise broken[0]
    return None


def open_scope(
    path: Path, root: str | None, scope: str, *, absent: bool = False
) -> tuple[KnownWorld, str]:
    """The world that a crawl from `root` may see, and its root.

    `scope` is `site` (pages recorded with the root's site, where pages have one) or `web`.
    """
    if scope not in ("site", "web"):
        raise InputError(f"unknown scope {scope!r}; it is 'site' or 'web'")
    world = open_web(path, absent=absent)
    if root is None:
        roots = world.roots()
        if len(roots) != 1:
            some = ", ".join(roots[:6]) + (", …" if len(roots) > 6 else "")
            raise InputError(f"{path} has {len(roots)} roots; choose one by --root: {some}")
        root = roots[0]
    page = world.page(root)
    if scope == "site" and page.site and len(world.sites()) > 1:
        world = open_web(path, site=page.site, absent=absent)
    return world, page.url


def check_labels(path: Path, targets: Sequence[str]) -> None:
    """Raises InputError for a `label:X` that no page of the web carries; a single site of it may
    well be without."""
    labels = [
        value.strip()
        for kind, _, value in (spec.partition(":") for spec in targets)
        if kind == "label"
    ]
    if not labels:
        return
    world = open_web(path)
    if isinstance(world, RecordedWorld):
        known = list(world.labels())
    elif isinstance(world, GeneratedWorld):
        known = [*world.topics, *(["trap"] if world.settings.traps else [])]
    else:
        return
    for label in labels:
        if label not in known:
            some = ", ".join(known) or "none at all"
            raise InputError(
                f"no page of {path} is labelled {label!r}{nearest(label, known)}; "
                f"its labels are: {some}"
            )
