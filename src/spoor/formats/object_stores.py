"""Exports to object stores, s3:// and gs://, by fsspec.

A store, or a proxy before it, can neither hold the export for ever, nor fill its memory, nor have
keys and documents sent to another host."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from spoor.distribution import import_extra
from spoor.errors import InputError, in_one_line
from spoor.files import temporary_folder
from spoor.process_memory import at_most

SCHEMES = ("s3", "gs")

PATIENCE = 120.0
"""Seconds for an object, and one more for each …"""
SLOWEST = 1 << 16
"""… bytes of it."""
MOST_MEMORY = 1 << 30
"""Bytes for sending an object."""


def is_url(out: str) -> bool:
    """Whether an export goes to an object store."""
    return "://" in out


@contextmanager
def new_object(out: str) -> Iterator[Path]:
    """A local file that becomes the object `out` once it is complete, so that the store has the
    whole object or none. It needs room in the folder for temporary files. Raises InputError for a
    store that is not known, without the extra, and if the object cannot be written.
    """
    scheme, _, place = out.partition("://")
    if scheme not in SCHEMES:
        known = ", ".join(f"{one}://" for one in SCHEMES)
        raise InputError(f"{out} is in no store that Spoor writes; there are: {known}")
    bucket, _, name = place.partition("/")
    if not bucket or not name or name.endswith("/"):
        raise InputError(f"{out} names no object; write {scheme}://BUCKET/NAME")
    store = _store(scheme)
    with temporary_folder() as folder:
        part = folder / name.rpartition("/")[2]
        yield part
        try:
            most = PATIENCE + part.stat().st_size / SLOWEST
            with at_most(MOST_MEMORY):
                store.put_file(str(part), place, timeout=most)
        except Exception as error:  # whatever its driver raises: access, network, no such bucket
            reason = in_one_line(error, 300) or type(error).__name__
            raise InputError(f"cannot write {out}: {reason}") from error


def _store(scheme: str) -> Any:
    try:
        if scheme == "s3":
            fsspec, _ = import_extra("s3", "s3://", "fsspec", "s3fs")
            told = {"http_session_cls": _session_without_redirects()}
            return fsspec.filesystem("s3", config_kwargs=told, skip_instance_cache=True)
        fsspec, gcsfs = import_extra("gcs", "gs://", "fsspec", "gcsfs.core")
        if os.environ.get("STORAGE_EMULATOR_HOST"):
            # It has no credentials, and no gRPC, which the default class asks for the kind of the
            # bucket.
            return gcsfs.GCSFileSystem(
                token="anon", session_kwargs=_refuses_redirects(), skip_instance_cache=True
            )
        return fsspec.filesystem(
            "gs", session_kwargs=_refuses_redirects(), skip_instance_cache=True
        )
    except InputError:
        raise
    except Exception as error:  # credentials that are none
        raise InputError(f"cannot open {scheme}://: {error}") from error


def _refuses_redirects() -> dict[str, Any]:
    """Arguments for a session of aiohttp. That follows a redirect with the whole request, its body
    and all headers but one; the libraries of the stores know by themselves where a bucket is."""
    aiohttp = import_module("aiohttp")

    async def refuse(_session: Any, _context: Any, asked: Any) -> None:
        # Storage of Google says 308 without a location for "go on".
        if asked.response.headers.get("Location"):
            raise InputError(f"{asked.url.host} redirects; nothing is sent there")

    config = aiohttp.TraceConfig()
    config.on_request_redirect.append(refuse)
    return {"trace_configs": [config]}


def _session_without_redirects() -> Any:
    """The class of the sessions of aiobotocore, which takes no arguments for those of aiohttp."""
    (library,) = import_extra("s3", "s3://", "aiobotocore.httpsession")

    class Session(library.AIOHTTPSession):  # type: ignore[misc, name-defined]
        async def _get_session(self, proxy_url: str | None) -> Any:
            session = await super()._get_session(proxy_url)
            if not session.trace_configs:
                for config in _refuses_redirects()["trace_configs"]:
                    config.freeze()
                    session.trace_configs.append(config)
            return session

    return Session
