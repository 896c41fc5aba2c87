"""The webs of an experiment: found, imported or generated under the folder of the output."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

from spoor.errors import InputError
from spoor.files import safe_name, subfolder
from spoor.lab import manuals
from spoor.lab.digests import digest, part_digest
from spoor.lab.experiment import WebSpec, data_folder
from spoor.worlds import company
from spoor.worlds.folders import open_web
from spoor.worlds.generated import GeneratedWorld, settings_of
from spoor.worlds.import_web import record

WEBS = "webs"
"""Folder of those that are made, below that of the output."""


def web_folder(web: WebSpec, out: Path) -> Path:
    """The folder of a web, made first where it must be imported or generated."""
    if web.path:
        return Path(web.path)
    if web.generated:
        settings = settings_of(web.generated, f"web {web.name!r}")
        return _made(web, out, asdict(settings), GeneratedWorld(settings).save)
    if web.company:
        table, seed = web.company.get("table"), web.company.get("seed", 0)
        if table not in company.TABLES or not isinstance(seed, int):
            have = " or ".join(company.TABLES)
            raise InputError(f"web {web.name!r}: company = {{ table = {have}, seed = a number }}")
        sites, together = company.TABLES[table], company.DIRECTORY in web.roots
        source = [_store_digest(), part_digest("worlds/company.py"), table, seed, together]
        return _made(
            web,
            out,
            source,
            lambda folder: company.write(folder, sites, seed, with_directory=together),
        )
    if web.manuals:
        cache = out / "debian"
        return _made(
            web,
            out,
            [
                [asdict(manual) for manual in web.manuals],
                part_digest("lab/manuals.py"),
                _store_digest(),
            ],
            lambda folder: manuals.make(web.manuals, web.name, cache, folder),
        )
    files = [data_folder() / source for source in web.sources]
    for file in files:
        if not file.exists():
            raise InputError(f"{file} is missing; SPOOR_DATA names the folder of recorded webs")
    stats = [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files]
    # Webs of the same sources are one, whatever an experiment calls them.
    common = replace(web, name=Path(web.sources[0]).parent.name or web.name)
    return _made(
        common,
        out,
        [stats, _store_digest()],
        lambda folder: record(files, folder, keep_going=True),
    )


def _made(web: WebSpec, out: Path, source: object, make: Callable[[Path], object]) -> Path:
    """The folder named by a digest of the web's source; written completely or not at all."""
    folder = out / WEBS / f"{safe_name(web.name, 80, 'web')}-{digest(source, 12)}"
    if not folder.exists():
        part = folder.with_suffix(".part")
        if part.exists():
            shutil.rmtree(part)
        subfolder(out, WEBS)
        make(part)
        part.rename(folder)
    return folder


def _store_digest() -> str:
    """Digest of the code that writes a recorded web."""
    store = ("worlds/store.py", "worlds/store_rows.py", "worlds/store_writer.py")
    parts = ("formats", *store, "web/encoding.py", "web/page.py")
    return "".join(part_digest(part) for part in parts)


def roots_of(web: WebSpec, folder: Path) -> list[tuple[str, str]]:
    """(site, root) of every crawl of a web."""
    if web.roots:
        return [("", root) for root in web.roots]
    world = open_web(folder)
    sites = list(world.sites())
    if not sites:
        return [("", root) for root in world.roots()]
    chosen = web.sites or sites
    for site in chosen:
        if site not in sites:
            raise InputError(f"web {web.name!r} has no site {site!r}; it has {', '.join(sites)}")
    return [(site, open_web(folder, site=site).roots()[0]) for site in chosen]
