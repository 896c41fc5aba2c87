"""What a watched site may have kept of it: long pages, and names without end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from spoor import registry
from spoor.durations import DAY
from spoor.foragers.fleet import Fleet
from spoor.foragers.fleets import FleetTask
from spoor.foragers.states import NoStates
from spoor.judges.facts import TextPattern
from spoor.learn.state import pack, unpack
from spoor.live.changes import ChangeTracker
from spoor.live.conditional import Conditions
from spoor.types import Fetch, Fetched, Link, Page
from spoor.watching import contents, crowding
from spoor.watching.contents import Contents
from spoor.watching.hosts import Hosts
from spoor.watching.watching import Watching
from spoor.web.sentences import MOST_LETTERS, sentences
from spoor.web.validators import Validators

BEGIN = 20_000 * DAY
SITE = "http://loud.example/"


def texts_of(kept: Contents) -> list[int]:
    return [page for page in range(40) if kept._text(page, kept.keys(page))]


def test_texts_of_long_pages_give_way_to_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20,000 pages of a MiB each, all texts were kept."""
    monkeypatch.setattr(contents, "MOST_TEXTS", 10)
    monkeypatch.setattr(contents, "MOST_BYTES", 2_000)
    kept = Contents()
    kept.see(0, "quiet.example", Page("http://quiet.example/", text="The kiln is lit."))
    for page in range(1, 30):
        words = np.random.default_rng(page).integers(1 << 40, size=60)
        kept.see(page, "loud.example", Page(SITE, text=" ".join(map("w{:x}".format, words))))
    assert len(kept._texts) <= 5
    assert kept._bytes == sum(map(len, kept._texts.values())) <= 2_000
    assert {0, 29} <= set(texts_of(kept))


def test_sentences_of_hosts_without_end_are_counted_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each name of a domain had 5,000 of its own, .7 MB, for good."""
    monkeypatch.setattr(contents, "MOST_COUNTED", 100)
    kept = Contents()

    def see(page: int, host: str, count: int) -> None:
        text = " ".join(f"The w{page}x{at}y is new." for at in range(count))
        kept.see(page, host, Page(f"http://{host}/{page}", text=text))

    see(0, "quiet.example", 30)
    for page in range(1, 40):
        see(page, f"w{page}.loud.example", 30)
    assert kept._counted == {"quiet.example": 30, "loud.example": kept._counted["loud.example"]}
    assert kept._counted.total() == sum(map(len, kept._shared.values())) <= 100
    assert len(kept._shared["w39.loud.example"]) == 30, "what was seen last stays"
    other = Contents()
    other.load(unpack(pack(kept.save())))
    assert other._counted == kept._counted
    kept.leave_hosts(["quiet.example", *(f"w{page}.loud.example" for page in range(1, 40))])
    assert not kept._counted
    assert not kept._shared


def test_of_a_long_page_so_much_is_compared() -> None:
    """A MiB of long sentences took .4 s, and 2.5 s at the next look, where all were others."""
    text = ". ".join(" ".join(f"w{n}x" for n in range(at, at + 59)) for at in range(2_000))
    assert sum(map(len, sentences(text))) <= MOST_LETTERS < len(text)


def hosts_in(state: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(where it stands, host) of each name of the loud site in a state."""
    if isinstance(state, dict):
        for key, value in state.items():
            if "loud.example" in key:
                yield path, key
            yield from hosts_in(value, f"{path}.{key}")
    elif isinstance(state, list):
        for value in state:
            yield from hosts_in(value, path)
    elif isinstance(state, str) and state.endswith("loud.example"):
        yield path, state


def test_of_hosts_that_left_nothing_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dozen tables had a row of each name for good, a kilobyte together, and the next visit was
    chosen in time in proportion to all of them."""
    monkeypatch.setattr(crowding, "MOST_KNOWN", 40)
    hosts, rng = Hosts(delay=1.0, per_host=1), np.random.default_rng(0)
    watching = Watching(TextPattern("kiln is lit"))
    task = FleetTask([SITE], NoStates(), rng, hosts=hosts, watching=watching)
    fleet: Fleet = registry.build("fleets", "change-rate", task)
    tracker, now, asked = ChangeTracker(fleet), BEGIN, 0
    while asked < 400:
        step = fleet.next(now)
        if not isinstance(step, Fetch):
            now = max(getattr(step, "until", now), now + 0.3)
            continue
        # After a while it brings nothing more, and more than a day goes by.
        names = [f"w{asked}n{n}.loud.example" for n in range(3 * (asked < 200))]
        links = [Link(f"http://{name}/?a={n}") for n, name in enumerate(names)]
        asked, now = asked + 1, now + (0.3 if asked < 200 else 600.0)
        text = f"Of w{asked}. The kiln is lit. It says w{asked + 1} and w{asked + 2}."
        page = Page(step.url, title=f"Kiln w{asked}", text=text, links=links)
        tracker.lines(fleet.receive(Fetched(step.ticket, page, 0.1, 100), now), now)
    known = set(fleet.known.names())
    state = unpack(pack({"fleet": fleet.save(), "tracker": tracker.save()}))
    left = {(path, host) for path, host in hosts_in(state) if host not in known}
    assert len(fleet.known.left) > 100
    assert not left
    assert len(fleet.known.numbered_hosts()) <= len(known) + 1
    assert not (hosts._late.keys() | hosts._busy.keys()) - known


def test_of_urls_that_left_no_validator_is_sampled_any_more() -> None:
    kept = Conditions(lambda url: Validators("e", ""))
    for number in range(200):
        kept.validators(
            f"http://w{number % 3}.loud.example/{number}", f"w{number % 3}.loud.example"
        )
    assert kept._samples
    for number in range(200):
        host = f"w{number % 3}.loud.example"
        kept.forget(f"http://{host}/{number}", host, last=True)
    assert not kept._samples
    assert kept.save() == {"asked": {}, "liars": []}


def test_long_pages_leave_as_several_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page may keep 36 kB of its sentences and links: 3.6 GB of 100,000 of a domain."""
    monkeypatch.setattr(crowding, "MOST_KNOWN", 100)
    monkeypatch.setattr(crowding, "BYTES", 1_000)
    rng, watching = np.random.default_rng(0), Watching(TextPattern("kiln is lit"))
    task = FleetTask([SITE], NoStates(), rng, hosts=Hosts(delay=1.0), watching=watching)
    fleet: Fleet = registry.build("fleets", "change-rate", task)
    now, asked = BEGIN, 0
    while asked < 150:
        step = fleet.next(now)
        if not isinstance(step, Fetch):
            now = max(getattr(step, "until", now), now + 0.3)
            continue
        asked, now = asked + 1, now + 0.3
        said = " ".join(f"The w{asked}x{at}y is new." for at in range(300))
        links = [Link(f"{SITE}{asked + 1}"), Link(f"{SITE}{asked}/a")]
        page = Page(step.url, title=f"Kiln w{asked}", text=f"The kiln is lit. {said}", links=links)
        fleet.receive(Fetched(step.ticket, page, 0.1, 100), now)
    assert fleet.known._weight < 250
    assert len(fleet.known.left) > 160, "135 leave where each counts as one"
