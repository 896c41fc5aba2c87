"""`sarsa` over real HTTP: alone it goes the way of its replay; with many fetches in flight, rewards
that come late are learned from all the same."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http.world_server import Server, serving
from spoor.judges.facts import UrlPattern
from spoor.live.driver import HttpDriver
from spoor.policies.sarsa import UPDATES, Sarsa
from spoor.settings import Settings
from spoor.simulation.replay import Replay
from spoor.testing.policies import TOPIC
from spoor.testing.small_worlds import SmallWorld
from spoor.types import Fetched, Outcome, Task
from spoor.worlds.company import CompanySite, recordings


@pytest.fixture(scope="module")
def site() -> SmallWorld:
    replies = [recording.reply for recording in recordings([CompanySite("maker", 40, 200, 3)], 0)]
    return SmallWorld([reply.page for reply in replies if isinstance(reply, Fetched)])


def crawl(site: SmallWorld, update: str) -> tuple[Crawl, Sarsa]:
    policy = Sarsa(Task(np.random.default_rng(0), TOPIC), update=update, alpha=0.01)
    made = Crawl(policy, UrlPattern("p[0-9]+"), MemoryFrontier(), pages=40)
    made.seed([next(iter(site.pages))])
    return made, policy


def live(site: SmallWorld, made: Crawl, in_flight: int) -> list[str]:
    fetched: list[str] = []

    def note(fetch: object, step: object) -> None:
        if isinstance(step, Outcome) and step.page is not None:
            fetched.append(step.page.url)

    async def run() -> None:
        async with serving(Server(site)) as port:
            host = next(iter(site.pages)).split("/")[2]
            settings = Settings(
                per_host=100,
                in_flight=in_flight,
                allow_private=(host,),
                connect_to=f"127.0.0.1:{port}",
                robots=False,
            )
            await HttpDriver(made, settings, on_step=note).run()

    asyncio.run(run())
    return fetched


@pytest.mark.parametrize("update", UPDATES)
def test_a_live_crawl_goes_the_way_of_its_replay(site: SmallWorld, update: str) -> None:
    replayed = [o.page.url for o in Replay(crawl(site, update)[0], site) if o.page]
    assert live(site, crawl(site, update)[0], 1) == replayed
    assert len(replayed) == 40


def test_late_rewards_are_learned_from(site: SmallWorld) -> None:
    made, policy = crawl(site, "synchronous")
    fetched = live(site, made, 8)
    assert len(set(fetched)) == 40
    assert policy.values.w.any()
    assert not policy.save()["in_flight"]
