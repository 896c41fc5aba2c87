"""What a live crawl shows on a terminal: what is left, and why links were chosen."""

from __future__ import annotations

import io

import numpy as np
from rich.console import Console

from spoor import registry
from spoor.cli.live_screen import Progress, _Panel
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.facts import Label
from spoor.learn.harvest_estimate import Harvest
from spoor.types import Fetch, Fetched, Outcome, Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld


def test_the_panel_says_what_is_left_and_why_links_were_chosen() -> None:
    world = GeneratedWorld(GeneratedSettings(pages=200, hosts=3, seed=3, target_share=0.3))
    task = Task(np.random.default_rng(0), Topic(name="pottery", keywords=("kiln", "glaze")))
    crawl = Crawl(registry.build("policies", "trail", task), Label("pottery"), MemoryFrontier())
    crawl.seed([world.url_of(0)])
    harvest = Harvest()
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    panel = _Panel(crawl, lambda: harvest.estimate(crawl.frontier.open_count), console)

    def shown() -> str:
        with console.capture() as said:
            console.print(panel._render())
        return said.get()

    assert "relevant pages" not in shown(), "nothing can be said yet"
    for _ in range(40):
        fetch = crawl.next(0.0)
        assert isinstance(fetch, Fetch)
        reply = world.answer(fetch)
        assert isinstance(reply, Fetched)
        step = crawl.receive(reply, 0.0)
        assert isinstance(step, Outcome)
        assert step.judgement is not None
        harvest.add(step.judgement.relevant)
        panel.step(fetch, step)
    coming = crawl.next(0.0)
    assert isinstance(coming, Fetch)
    text = shown()
    assert "relevant pages, if" in text
    assert "in the next hundred pages" in text
    assert f"→ {coming.url}" in text
    assert coming.choice.why[0][0][:20] in text


def test_the_rate_is_that_since_the_first_reply() -> None:
    world = GeneratedWorld(GeneratedSettings(pages=60, hosts=1, seed=3))
    task = Task(np.random.default_rng(0))
    policy = registry.build("policies", "breadth-first", task)
    crawl = Crawl(policy, Label("pottery"), MemoryFrontier(), pages=41)
    crawl.seed([world.url_of(0)])
    progress = Progress(crawl)

    def fetch() -> None:
        asked = crawl.next(0.0)
        assert isinstance(asked, Fetch)
        crawl.receive(world.answer(asked), 0.0)

    assert "left" not in progress.line(5.0)
    fetch()
    # Opening the run and the delays of its hosts took a hundred seconds: two pages a second since.
    progress.reply_arrived(100.0)
    assert "left" not in progress.line(100.0), "one page says nothing"
    for second in range(1, 11):
        fetch()
        fetch()
        progress.reply_arrived(100.0 + second)
    assert progress.line(110.0).startswith("21 of 41 pages, found ")
    assert progress.line(110.0).endswith(", 2.0 a second, 10 s left")
