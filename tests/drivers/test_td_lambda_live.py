"""Both scorings of `td-lambda` over real HTTP go the way they go in replay."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http.world_server import Server, serving
from spoor.judges.facts import UrlPattern
from spoor.live.driver import HttpDriver
from spoor.policies.td_lambda import TDLambda, train
from spoor.settings import Settings
from spoor.simulation.replay import Replay
from spoor.testing.policies import TOPIC
from spoor.testing.small_worlds import SmallWorld
from spoor.types import Fetched, KnownWeb, Outcome, State, Task
from spoor.worlds.company import LABEL, CompanySite, recordings


def world(name: str) -> SmallWorld:
    replies = [recording.reply for recording in recordings([CompanySite(name, 40, 200, 3)], 0)]
    return SmallWorld([reply.page for reply in replies if isinstance(reply, Fetched)])


@pytest.fixture(scope="module")
def model() -> State:
    sites = []
    for name in ("maker", "trader"):
        site = world(name)
        pages = list(site.pages.values())
        sites.append(KnownWeb(name, site.graph(LABEL), 0, pages.__getitem__))
    task = Task(np.random.default_rng(0), TOPIC)
    return train(task, sites, lambda done, of: None, keywords=40, episodes=200)


@pytest.mark.parametrize("scoring", ["inherit", "look-ahead"])
def test_a_live_crawl_goes_the_way_of_its_replay(model: State, scoring: str) -> None:
    site = world("banker")

    def crawl() -> Crawl:
        task = Task(np.random.default_rng(0), TOPIC, model=model)
        policy = TDLambda(task, scoring=scoring)
        made = Crawl(policy, UrlPattern("p[0-9]+"), MemoryFrontier(), pages=30)
        made.seed([next(iter(site.pages))])
        return made

    async def live() -> list[str]:
        fetched: list[str] = []

        def note(fetch: object, step: object) -> None:
            if isinstance(step, Outcome) and step.page is not None:
                fetched.append(step.page.url)

        async with serving(Server(site)) as port:
            host = next(iter(site.pages)).split("/")[2]
            settings = Settings(
                per_host=100,
                in_flight=1,
                allow_private=(host,),
                connect_to=f"127.0.0.1:{port}",
                robots=False,
            )
            await HttpDriver(crawl(), settings, on_step=note).run()
        return fetched

    replayed = [outcome.page.url for outcome in Replay(crawl(), site) if outcome.page]
    assert asyncio.run(live()) == replayed
    assert len(replayed) == 30
