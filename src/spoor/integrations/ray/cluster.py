"""Imports Ray, and starts it on this machine or connects to a cluster."""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from spoor.distribution import import_extra
from spoor.errors import InputError, PausedError
from spoor.files import temporary_folder

HEAD_SECONDS = 5
"""Seconds that the processes of a local Ray wait for a dead head, which nobody restarts. Ray's
default of 60 is for heads that move to another machine. A head that is only slow keeps its
connection."""

MEMORY = 80 * 1024 * 1024
"""Bytes of the object store of a local Ray: messages are small."""


LOCAL = {
    # By the environment: the raylet ignores `_system_config` here (ray issue 62074).
    "RAY_gcs_rpc_server_reconnect_timeout_s": str(HEAD_SECONDS),
    # It takes a machine's own address for loopback's otherwise, and listens on all.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
}
"""Environment of a local Ray."""

SHUTDOWN_SECONDS = 30.0
"""Seconds that a local Ray has to end."""

UNUSED = ("start_monitor", "start_api_server", "start_log_monitor")
"""What starts processes that a local Ray does not need: one that adds machines, one that answers
its command line, one that sends lines of logs."""


class HeadDiedError(PausedError):
    """The head of a local Ray died."""


def import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    return import_extra("ray", "crawling in shards", "ray", "ray.exceptions")[0]


def ray_is_gone(error: BaseException) -> PausedError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return PausedError(f"paused: Ray is gone ({reason}); give the same command to go on")


def check_reachable(cluster: str) -> None:
    """Raises InputError if nothing answers at this address; Ray would wait a minute or more."""
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
        reason = getattr(error, "strerror", None) or "it does not answer"
        raise InputError(f"no Ray at {cluster}: {reason}") from error


@contextmanager
def _private(ray: Any) -> Iterator[str]:
    """A Ray that is started within it listens on loopback alone, asks for a token that no file
    holds, and keeps its files in a folder that nobody else reads and that is removed (where this
    process is killed, by the next one): what this gives."""
    before = {**os.environ}
    with ExitStack() as undo:
        undo.callback(_set_environment, before)
        os.environ.update({name: os.environ.get(name, value) for name, value in LOCAL.items()})
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # Ray read these when it was imported; a version that has them no more has other defaults.
        with suppress(AttributeError):
            constants = ray._private.ray_constants
            undo.callback(setattr, constants, "ENABLE_RAY_CLUSTER", constants.ENABLE_RAY_CLUSTER)
            constants.ENABLE_RAY_CLUSTER = False
        with suppress(AttributeError):
            node = ray._private.node.Node
            for name in UNUSED:
                undo.callback(setattr, node, name, getattr(node, name))
                setattr(node, name, lambda node, **told: None)
        with suppress(AttributeError):
            tokens = ray._raylet.AuthenticationTokenLoader.instance()
            undo.callback(tokens.reset_cache)
            tokens.reset_cache()
        # Sockets lie in it, whose paths are short: not in a TMPDIR that is long already.
        own = undo.enter_context(temporary_folder("/tmp"))
        # Ray opens the folder that it is given to everybody.
        yield str(own / "ray")


class _OwnPaths(list[str]):
    """Where workers look for modules: where this process does. Ray would have them look in the
    folder that it is started in first of all, which may be a stranger's."""

    def extend(self, paths: Iterable[str]) -> None:
        own = set(map(os.path.abspath, sys.path))
        super().extend(path for path in paths if path in own)


def _set_environment(values: dict[str, str]) -> None:
    for name in os.environ.keys() - values.keys():
        del os.environ[name]
    os.environ.update(values)


@contextmanager
def started(ray: Any, cluster: str | None, processes: int) -> Iterator[None]:
    job = ray.job_config.JobConfig()
    job._py_driver_sys_path = _OwnPaths()
    common = {
        "job_config": job,
        "log_to_driver": False,
        "configure_logging": True,
        "logging_level": logging.ERROR,
        "namespace": "spoor",
    }
    with ExitStack() as undo:
        try:
            if cluster is None:
                ray.init(
                    address="local",
                    num_cpus=processes,
                    num_gpus=0,
                    object_store_memory=MEMORY,
                    include_dashboard=False,
                    _node_ip_address="127.0.0.1",
                    _temp_dir=undo.enter_context(_private(ray)),
                    **common,
                )
            else:
                ray.init(address=cluster, **common)
        except Exception as error:  # Ray also raises a bare Exception if the start takes too long
            where = "on this machine" if cluster is None else f"at {cluster}"
            reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else "no answer"
            if cluster is not None and os.environ.get("RAY_AUTH_MODE") != "token":
                # Ray sends its token to a given address only if this is set.
                reason += "; one that asks for a token wants RAY_AUTH_MODE=token in the environment"
            raise InputError(f"no Ray {where}: {reason}") from error
        try:
            yield
        except HeadDiedError:
            raise  # Ray's rest ends by itself; `shutdown` would end this process before its message
        except BaseException:
            _shut_down(ray)
            raise
        _shut_down(ray)


def _shut_down(ray: Any) -> None:
    """Disconnect from Ray, and end one that was started here. It waits without end for a raylet or
    head that hangs: ours are killed then. Without a head Ray ends this process, whose results are
    written."""

    def kill() -> None:
        with suppress(AttributeError):
            for kind, (one, *_) in ray._private.worker._global_node.all_processes.items():
                if kind in ("raylet", "gcs_server"):
                    with suppress(OSError):
                        os.kill(one.process.pid, signal.SIGKILL)

    timer = threading.Timer(SHUTDOWN_SECONDS, kill)
    timer.start()
    try:
        ray.shutdown()
    finally:
        timer.cancel()


def listens(address: str) -> bool:
    """Whether a server listens there; a slow one does."""
    name, _, port = address.rpartition(":")
    try:
        socket.create_connection((name, int(port)), timeout=0.5).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        pass
    return True
