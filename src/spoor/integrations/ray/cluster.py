"""Ray itself: imported, started on this machine or found on a cluster."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from spoor.distribution import import_extra
from spoor.errors import InputError, PausedError

HEAD_SECONDS = 5
"""Seconds that the parts of a local Ray wait for its head to come back: nobody would start it
again. Ray's own 60 are for heads that move to another machine. One that is only slow keeps its
connection and is waited for as long as ever."""

MEMORY = 80 * 1024 * 1024
"""Bytes of a local Ray's object store: what travels is small."""


class HeadDiedError(PausedError):
    """Ray's head is no longer there."""


def import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    return import_extra("ray", "crawling in shards", "ray", "ray.exceptions")[0]


def ray_is_gone(error: BaseException) -> PausedError:
    what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return PausedError(f"paused: Ray is gone ({what}); give the same command to go on")


def check_reachable(cluster: str) -> None:
    """Ray itself would wait for a minute and more."""
    if cluster == "auto":
        return
    name, _, port = cluster.rpartition(":")
    if not name or not port.isascii() or not port.isdigit() or "/" in name:
        raise InputError(
            f"--cluster {cluster!r} is not HOST:PORT, as in 192.0.2.10:6379, or 'auto'"
        )
    try:
        socket.create_connection((name, int(port)), timeout=10.0).close()
    except (OSError, OverflowError) as error:
        what = getattr(error, "strerror", None) or "it does not answer"
        raise InputError(f"no Ray at {cluster}: {what}") from error


@contextmanager
def started(ray: Any, cluster: str | None, processes: int) -> Iterator[None]:
    common = {
        "include_dashboard": False,
        "log_to_driver": False,
        "configure_logging": True,
        "logging_level": logging.ERROR,
        "namespace": "spoor",
    }
    try:
        if cluster is None:
            # By its environment: here the raylet does not heed `_system_config` (ray issue 62074).
            os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", str(HEAD_SECONDS))
            ray.init(
                address="local",
                num_cpus=processes,
                num_gpus=0,
                object_store_memory=MEMORY,
                _node_ip_address="127.0.0.1",
                **common,
            )
        else:
            common.pop("include_dashboard")
            ray.init(address=cluster, **common)
    except Exception as error:  # Ray raises bare ones, too: a start that took too long
        where = "on this machine" if cluster is None else f"at {cluster}"
        what = str(error).strip().splitlines()[0][:200] if str(error).strip() else "no answer"
        if cluster is not None and os.environ.get("RAY_AUTH_MODE") != "token":
            # Ray sends its token to an address that it was given only where this is set.
            what += "; one that asks for a token wants RAY_AUTH_MODE=token in the environment"
        raise InputError(f"no Ray {where}: {what}") from error
    try:
        yield
    except HeadDiedError:
        raise  # what is left of it ends by itself, and where asked would end us before we say why
    except BaseException:
        ray.shutdown()
        raise
    ray.shutdown()


def listens(address: str) -> bool:
    """Whether somebody is there; who is only slow is."""
    name, _, port = address.rpartition(":")
    try:
        socket.create_connection((name, int(port)), timeout=0.5).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        pass
    return True
