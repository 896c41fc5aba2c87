"""A watch of pages that their scripts make."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from e2e.test_rendered_crawls import CHROMIUM, processes
from loopback import Asked, Loopback, beside, reply
from rolling import lines_of
from spoor.foragers.fleet import Fleet
from spoor.learn.state import pack
from spoor.live.watch import Watch
from spoor.rendering import browser
from spoor.runs.assemble_fleet import make_fleet
from spoor.runs.renders import all_renders
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.watching.hosts import Hosts

pytestmark = [
    pytest.mark.server,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH: apt install chromium"),
]


@pytest.fixture(autouse=True)
def rendering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "is_installed", lambda: True)


FRONT = "http://app.test/"
CODE = """
const path = location.pathname;
fetch(path === "/" ? "/api/all.json" : `/api${path}.json`).then(reply => reply.json()).then(data => {
  if (Array.isArray(data)) app.innerHTML = data.map(at => `<a href="/story/${at}">piece ${at}</a>`).join(" ");
  else { document.title = data.title; app.innerHTML = `<p>${data.text}</p>`; }
});"""


class App:
    """A front page whose list grows with every look at it; every shell has the same validators."""

    def __init__(self) -> None:
        self.looks = 0
        self.broken = False

    def answer(self, asked: Asked) -> bytes:
        path = asked.path
        if path == "/app.js":
            return reply("for (;;);" if self.broken else CODE, media="text/javascript")
        if path == "/api/all.json":
            self.looks += 1
            return reply(json.dumps([*range(1 + self.looks)]), media="application/json")
        if path.startswith("/api/story/"):
            name = path.split("/")[-1].removesuffix(".json")
            text = f"The kiln {name} " + " ".join(f"glaze{name}x{at}" for at in range(40))
            told = json.dumps({"title": f"Story {name}", "text": text})
            return reply(told, media="application/json")
        if path == "/" or path.startswith("/story/"):
            body = "<title>App</title><div id=app></div><script src=/app.js></script>"
            return reply(body, ETag='"shell"')
        return reply("nothing here", 404)


def opened(
    path: Path,
    server: Loopback,
    at: Callable[[str, Fleet], None] = lambda point, fleet: None,
    **more: Any,
) -> Watch:
    """The caller closes its folder."""
    values = {
        "seeds": [FRONT],
        "topic": "kiln, glaze",
        "fleet": "change-rate",
        "delay": 0.0,
        "connect_to": f"127.0.0.1:{server.port}",
        **more,
    }
    settings = Settings.of(values, "watch")
    fleet = make_fleet(settings, [FRONT], hosts=Hosts(delay=0.0, per_host=1))
    folder = RunWriter(path, settings, failpoint=lambda point: at(point, fleet))
    return Watch(folder, fleet, title="t")


def watched(path: Path, server: Loopback, lines: int, seconds: float = 60.0, **more: Any) -> Watch:
    """Until it has told so many lines in this process."""
    watch = opened(path, server, **more)
    told: list[str] = []

    def count(line: dict[str, object]) -> None:
        told.append(str(line["url"]))
        if len(told) == lines:
            assert watch._driver is not None
            watch._driver.stop("enough")

    watch.on_line = count
    with closing(watch.folder):
        watch.run(seconds)
    assert len(told) >= lines
    return watch


def digest(fleet: Fleet) -> str:
    return hashlib.sha256(pack(fleet.save())).hexdigest()


def test_what_scripts_make_is_watched_and_a_resume_renders_nothing_again(tmp_path: Path) -> None:
    with beside((server := Loopback((app := App()).answer)).serving):
        watch = watched(tmp_path / "run", server, 3)
        news = lines_of(tmp_path / "run")
        assert len({line["url"] for line in news}) == len(news)
        assert all(line["title"].startswith("Story ") for line in news)
        # Its list comes anew at each look, its script once; its own validators are not asked by.
        asked = Counter(server.pages)
        assert app.looks == asked["/api/all.json"] >= 3
        assert asked["/app.js"] == 1
        assert not any("If-None-Match" in head for head in server.heads)
        assert watch.summary("")["rendered"]["relevant"] >= 3
        assert {row.failed for row in all_renders(tmp_path / "run")} == {""}

        # Ended between a commit and the next request: gone through again without a browser.
        told, copy = "", tmp_path / "copy"

        def at(point: str, fleet: Fleet) -> None:
            nonlocal told
            if point == "committed" and app.looks > seen + 2 and not told:
                told = digest(fleet)
                shutil.copytree(tmp_path / "run", copy)

        seen = app.looks
        watch = opened(tmp_path / "run", server, at)
        with closing(watch.folder):
            watch.on_line = lambda line: watch._driver.stop("") if told and watch._driver else None
            watch.run(60.0)
        assert told
        before = len(server.asked)
        again = opened(copy, server)
        with closing(again.folder):
            assert len(server.asked) == before, "neither asked for nor rendered"
            assert set(again.folder.rendered()) >= {FRONT, f"{FRONT}story/0"}
        assert not processes(f"--spoor={os.getpid()}-")

        # A page that is known as scripts make it is no other page where they fail.
        app.broken = True
        lines = len((copy / "news.jsonl").read_text().splitlines())
        reasons: set[str] = set()

        def failed(point: str, fleet: Fleet) -> None:
            if point == "commit begun" and failing._driver is not None:
                reasons.add(failing.last_failure)
                if any("cannot be rendered" in reason for reason in reasons):
                    failing._driver.stop("seen")

        failing = opened(copy, server, failed, render_timeout=0.2)
        with closing(failing.folder):
            assert failing.run(60.0) == "seen"
        assert len((copy / "news.jsonl").read_text().splitlines()) == lines


def test_its_budget_of_requests_counts_those_of_the_browser(tmp_path: Path) -> None:
    with beside((server := Loopback(App().answer)).serving):
        watch = opened(tmp_path / "run", server, requests_per_day=60)
        with closing(watch.folder):
            watch.run(4.0)
    # A tenth may be sent at once; the robots.txt is owed.
    assert "/api/all.json" in server.pages
    assert len(server.asked) <= 7
