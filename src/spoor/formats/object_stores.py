"""Exports to object stores: s3:// and gs://, by fsspec."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spoor.distribution import import_extra
from spoor.errors import InputError

SCHEMES = ("s3", "gs")


def is_url(out: str) -> bool:
    """Whether an export goes to an object store."""
    return "://" in out


@contextmanager
def new_object(out: str) -> Iterator[Path]:
    """A file of this machine that becomes the object `out` once it is complete: a store shows an
    object whole or not at all. Needs room for it in the folder of temporary files.

    Raises InputError for another store, without the extra, and where it cannot be written.
    """
    scheme, _, place = out.partition("://")
    if scheme not in SCHEMES:
        known = ", ".join(f"{one}://" for one in SCHEMES)
        raise InputError(f"{out} is in no store that Spoor writes; there are: {known}")
    bucket, _, name = place.partition("/")
    if not bucket or not name or name.endswith("/"):
        raise InputError(f"{out} names no object; write {scheme}://BUCKET/NAME")
    store = _store(scheme)
    with tempfile.TemporaryDirectory(prefix="spoor-") as folder:
        part = Path(folder) / name.rpartition("/")[2]
        yield part
        try:
            store.put_file(str(part), place)
        except Exception as error:  # whatever its driver raises: access, network, no such bucket
            reason = " ".join(str(error).split())[:300] or type(error).__name__
            raise InputError(f"cannot write {out}: {reason}") from error


def _store(scheme: str) -> Any:
    try:
        if scheme == "s3":
            fsspec, _ = import_extra("s3", "s3://", "fsspec", "s3fs")
            return fsspec.filesystem("s3", skip_instance_cache=True)
        fsspec, gcsfs = import_extra("gcs", "gs://", "fsspec", "gcsfs.core")
        if os.environ.get("STORAGE_EMULATOR_HOST"):
            # It has no credentials, and no gRPC, which the default class asks for the kind of the
            # bucket.
            return gcsfs.GCSFileSystem(token="anon", skip_instance_cache=True)
        return fsspec.filesystem("gs", skip_instance_cache=True)
    except InputError:
        raise
    except Exception as error:  # credentials that are none
        raise InputError(f"cannot open {scheme}://: {error}") from error
