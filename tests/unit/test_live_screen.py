"""What a live crawl shows on a terminal: what is left, and why links were chosen."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from spoor import registry
from spoor.cli.crawl import failed_line
from spoor.cli.live_screen import Progress, _Panel
from spoor.cli.plan import plan, watch_plan
from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.http.host_queues import OTHERS_FIRST
from spoor.judges.facts import Label
from spoor.learn.harvest_estimate import Harvest
from spoor.settings import Settings
from spoor.types import Choice, Deferred, Fetch, Fetched, Outcome, Task, Topic
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld


def test_the_panel_says_what_is_left_and_why_links_were_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_Panel, "_draw", lambda self: None)
    world = GeneratedWorld(GeneratedSettings(pages=200, hosts=3, seed=3, target_share=0.3))
    task = Task(np.random.default_rng(0), Topic(name="pottery", keywords=("kiln", "glaze")))
    crawl = Crawl(registry.build("policies", "trail", task), Label("pottery"), MemoryFrontier())
    crawl.seed([world.url_of(0)])
    harvest = Harvest()
    console = Console(file=io.StringIO(), force_terminal=True, width=160)
    panel = _Panel(crawl, lambda: harvest.estimate(crawl.frontier.open_count))

    def shown() -> str:
        panel.second(None)
        with console.capture() as said:
            console.print(panel.render())
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
    assert "sets the pace" not in text, "no host has a delay"
    assert isinstance(crawl.frontier, MemoryFrontier)
    host, links, *_ = max(crawl.frontier.hosts(), key=lambda row: row[1])
    crawl.frontier.configure(delay=2.0, per_host=1)
    for name, *_ in crawl.frontier.hosts():
        crawl.frontier.pace(name, 2.0)
    assert (f"{host} sets the pace: {links} of" in shown()) == (
        2 * links >= crawl.frontier.open_count
    )
    assert "of the next hundred pages" in text
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

    assert "to go" not in progress.line(5.0)
    fetch()
    # Opening the run and the delays of its hosts took a hundred seconds: two pages a second since.
    progress.reply_arrived(100.0)
    assert "to go" not in progress.line(100.0), "one page says nothing"
    for second in range(1, 11):
        fetch()
        fetch()
        progress.reply_arrived(100.0 + second)
    assert progress.line(110.0).startswith("21 of 41 pages, found ")
    assert progress.line(110.0).endswith(", 2.0 a second, 10 s to go")
    # Nothing more comes: the rate falls, and who waits for a host is not told how long it takes.
    assert progress.line(500.0).endswith(", 3.0 a minute, 7 minutes to go")
    assert progress.line(110.0, "waiting for a.example").endswith("failed 0; waiting for a.example")
    while crawl.frontier.open_count >= 41 - 21:
        crawl.frontier.drop(next(crawl.frontier.open()))
    assert progress.line(110.0).endswith(", at most 10 s to go")


def test_the_first_lines_say_what_counts_how_far_and_how_long() -> None:
    seeds = tuple(f"http://{name}.example/" for name in "abcde")
    wish = Settings(seeds=seeds[:1], topic="kiln, glaze", pages=600, delay=2.0)
    one = "\n".join(plan(wish, Path("runs/pots"), Judge()))
    assert one.startswith("looking for pages about *kiln* or *glaze*\n")
    assert "scores 0.25 or more" in one
    assert "up to 600 pages, from a.example" in one
    assert "2 s between two requests to a host: about 20 minutes or more from one host" in one
    assert "all in runs/pots; Ctrl-C stops" in one
    anew = "\n".join(plan(replace(wish, refresh="runs/pots"), Path("runs/now"), Judge()))
    assert "takes: the pages of runs/pots again, and up to 600 pages that are new, from" in anew
    again = "\n".join(plan(wish, Path("runs/pots"), Judge(), 570))
    assert "30 of 600 pages, as before" in again
    assert "about 60 s or more" in again
    many = replace(wish, seeds=seeds, want=("type:pdf",), scope="anywhere")
    told = "\n".join(plan(many, Path("runs/pots"), Judge()))
    assert told.startswith("counts: a page that fits type:pdf\n")
    assert "from a.example, b.example, c.example and 2 more hosts; then from any" in told
    assert "about 4 minutes or more from 5 hosts, 20 minutes where only one has" in told
    assert "share an address" not in told, "each is a domain of its own"
    hosts = replace(many, seeds=tuple(f"http://{at}.one.example/" for at in range(40)))
    told = "\n".join(plan(hosts, Path("runs/pots"), Judge()))
    assert "from 40 hosts, 20 minutes where only one has" in told
    assert "20 minutes where those of a domain share an address" in told
    assert "no page of HTML" not in told
    pdf = "\n".join(plan(replace(wish, seeds=seeds[:4], types=("pdf",)), Path(), Judge()))
    assert "no page of HTML is read, nor a link on one, since --types leaves html out" in pdf
    assert "c.example and 1 more host;" in pdf
    assert "as fast as the hosts answer" in "".join(plan(replace(wish, delay=0.0), Path(), Judge()))


class Judge(Label):
    """One that counts from .25 on."""

    threshold = 0.25

    def __init__(self) -> None:
        super().__init__("pottery")


def test_the_first_lines_of_a_watch_say_what_is_told_and_how_often_hosts_are_asked() -> None:
    seeds = tuple(f"http://{name}.example/" for name in "abcd")
    told = "\n".join(watch_plan(Settings(seeds=seeds, topic="kiln, glaze"), Path("runs/news")))
    assert told.startswith("looking for pages about *kiln* or *glaze*\n")
    assert "what is new or changes, on a.example, b.example, c.example and 1 more host;" in told
    assert "not older than 24 hours (--new-for)" in told
    assert "1 s between two requests to a host, 5,000 of them in a day, a tenth of these" in told
    assert "spoor ui runs/news shows it" in told
    endless = "\n".join(watch_plan(Settings(seeds=seeds, requests_per_day=0), Path()))
    assert endless.startswith("tells: what is new or changes, whatever it is about, on a.example")
    assert "pace: 1 s between two requests to a host\n" in endless


def test_a_seed_that_waits_for_its_turn_does_not_fail() -> None:
    fetch = Fetch(0, "http://a.one.example/", "a.one.example", Choice(0))
    waits, fails = (Deferred(0, fetch.url, 3.0, why) for why in (OTHERS_FIRST, "refused"))
    assert failed_line(fetch, waits, 1.0) == ""
    assert failed_line(fetch, fails, 1.0) == "http://a.one.example/: refused; tried again in 2 s"
