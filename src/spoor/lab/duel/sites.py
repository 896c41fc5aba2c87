"""The sites of the duel as folders: the files of Debian packages, as a web server has them."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path

from spoor.errors import InputError
from spoor.files import subfolder
from spoor.lab.duel.dataset import Site
from spoor.lab.manuals import unpacked

SERVED_COMPRESSED = ".pdf.gz"
"""Debian compresses documents that pages link to without the ending; they are served unpacked."""


def site_folder(site: Site, dataset: Path, cache: Path) -> Path:
    """The folder of a site, made in `cache` where it is missing; packages are downloaded. Symbolic
    links become what they lead to, or nothing where that is outside the package. Raises InputError
    where a package cannot be had or has no such folder."""
    if not site.package:
        return (dataset / site.folder).resolve()
    folder = cache / "sites" / site.name
    if folder.exists():
        return folder.resolve()
    tree = unpacked(site.package, subfolder(cache, "debian").resolve())
    source = tree / site.folder
    if not source.is_dir():
        raise InputError(f"site {site.name}: the package {site.package} has no {site.folder}")
    part = subfolder(cache, "sites") / f"{site.name}.{os.getpid()}.part"
    if part.exists():
        shutil.rmtree(part)  # raises OSError for a link
    inside = str(tree.resolve())
    for base, folders, files in os.walk(source):
        folders[:] = sorted(name for name in folders if not (Path(base) / name).is_symlink())
        for name in files:
            path = (Path(base) / name).resolve()
            if not path.is_file() or not str(path).startswith(inside):
                continue
            target = part / (Path(base) / name).relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(SERVED_COMPRESSED):
                with gzip.open(path) as packed, target.with_suffix("").open("wb") as plain:
                    shutil.copyfileobj(packed, plain)
            else:
                os.link(path, target)
    part.rename(folder)
    return folder.resolve()
