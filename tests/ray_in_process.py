"""In place of Ray: the shards of a crawl as threads of this process, each with a loop of its own.

What goes between them is packed and unpacked, as on its way to another process. A Ray takes some ten
seconds to start; what a test asks of a crawl in shards, and not of Ray, needs none
(`tests/e2e/test_shards.py` has a real one).
"""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from spoor.integrations.ray import driver


class RayError(Exception):
    pass


class RayTaskError(RayError):
    """What a method of an actor raised."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.cause = cause


class RayActorError(RayError):
    pass


class WorkerCrashedError(RayError):
    pass


class Actor:
    """An object in a thread of its own, whose coroutines are called from others."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._made = make()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __getattr__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(remote=partial(self._call, name))

    def _call(self, name: str, *values: object, **named: object) -> Future[bytes]:
        packed = pickle.dumps((values, named))

        async def answer() -> bytes:
            values, named = pickle.loads(packed)
            return pickle.dumps(await getattr(self._made, name)(*values, **named))

        return asyncio.run_coroutine_threadsafe(answer(), self._loop)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Ray:
    """As much of the module `ray` as a crawl in shards uses."""

    exceptions = SimpleNamespace(
        RayError=RayError,
        RayTaskError=RayTaskError,
        RayActorError=RayActorError,
        WorkerCrashedError=WorkerCrashedError,
    )
    job_config = SimpleNamespace(JobConfig=SimpleNamespace)

    def __init__(self) -> None:
        self._actors: list[Actor] = []

    def init(self, **told: object) -> None:
        pass

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(gcs_address="")

    def remote(self, **told: object) -> Callable[[Callable[[], object]], Any]:
        def made(make: Callable[[], object]) -> Actor:
            self._actors.append(Actor(make))
            return self._actors[-1]

        return lambda make: SimpleNamespace(
            options=lambda **told: SimpleNamespace(remote=partial(made, make))
        )

    def wait(
        self, pending: Sequence[Future[bytes]], *, num_returns: int, timeout: float
    ) -> tuple[list[Future[bytes]], list[Future[bytes]]]:
        done, left = wait(pending, timeout, FIRST_COMPLETED)
        return [*done], [*left]

    def get(self, called: Future[bytes]) -> Any:
        if (error := called.exception()) is not None:
            raise RayTaskError(error)
        return pickle.loads(called.result())

    def shutdown(self) -> None:
        for actor in self._actors:
            actor._stop()
        self._actors.clear()


@contextmanager
def in_process() -> Iterator[None]:
    """Crawls in shards begin no process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "import_ray", Ray)
        yield
