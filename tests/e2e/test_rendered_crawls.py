"""Pages rendered in a Chromium: what leaves, what is kept, what a page can break."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator as Warc  # type: ignore[import-untyped]

import render_sites
from loopback import Asked, Loopback, beside, reply
from spoor.live.live_crawl import LiveCrawl
from spoor.rendering import browser
from spoor.rendering.browser_processes import processes_of
from spoor.runs.assemble import make_crawl
from spoor.runs.reader import Run
from spoor.runs.renders import all_renders, render_of
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.views.explain import in_lines, of_page
from spoor.views.report import report_of

CHROMIUM = next(filter(None, map(shutil.which, browser.NAMES)), None)
pytestmark = [
    pytest.mark.server,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH: apt install chromium"),
]
SEED = "http://site.test/"
HANG = "<title>Hang</title><div id=app></div><script>for (;;);</script>"


def item(number: str) -> str:
    words = " ".join(f"w{number}x{at}" for at in range(60))
    return (
        f"<title>Item {number}</title><div id=app></div>"
        f"<script>app.textContent = 'kiln glaze {words}'; open('/popup'); location = '/left'</script>"
    )


LIST = """
const tell = (what, value) => fetch("/told/" + what + "/" + value);
fetch("/api/list.json").then(reply => reply.json()).then(items => {
  app.innerHTML = items.map(one => `<a href="/item/${one}">kiln ${one}</a>`).join(" ");
  const box = document.createElement("div");
  box.attachShadow({mode: "open"}).innerHTML = '<a href="/shadow">in a shadow</a>';
  document.body.append(box);
});
for (const url of ["/secret/x", "http://169.254.169.254/", "http://else.test/data", "ftp://site.test/"])
  fetch(url).catch(() => 0);
fetch("/post", {method: "POST", body: "x"}).catch(() => 0);
navigator.sendBeacon("/beacon");
new WebSocket("ws://site.test/socket");
new Worker("/worker.js");
navigator.serviceWorker && navigator.serviceWorker.register("/service.js").catch(() => 0);
new Image().src = "/image.png";
tell("peer", typeof RTCPeerConnection);
"""


def answer(asked: Asked) -> bytes:
    pages = {
        "/robots.txt": reply("User-agent: *\nDisallow: /secret", media="text/plain"),
        "/": reply(
            '<title>Home</title><link rel=stylesheet href=/style.css><div id="app"></div>'
            '<iframe src="/frame"></iframe><script src="/moved.js"></script>'
        ),
        "/moved.js": reply("", 302, Location="/list.js"),
        "/list.js": reply(LIST, media="text/javascript"),
        "/worker.js": reply("fetch('/from-worker')", media="text/javascript"),
        "/api/list.json": reply(json.dumps(["1", "2", "hang"]), media="application/json"),
        "/item/1": reply(item("1")),
        "/item/2": reply(item("2")),
        "/item/hang": reply(HANG),
    }
    return pages.get(asked.path, reply("<p>nothing here</p>", 404))


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with beside((server := Loopback(answer)).serving):
        yield server


def settings(server: Loopback, **more: object) -> Settings:
    values = {
        "seeds": [SEED],
        "topic": "kiln, glaze",
        "connect_to": f"127.0.0.1:{server.port}",
        "delay": 0.0,
        "render": "always",
        "render_timeout": 2.0,
        **more,
    }
    return Settings.of(values)


def crawl(path: Path, wanted: Settings) -> tuple[LiveCrawl, str]:
    with closing(RunWriter(path, wanted)) as folder:
        run = LiveCrawl(folder, make_crawl(wanted))
        return run, run.run()


def processes(mark: str) -> list[int]:
    return [process for process, *_ in processes_of(mark)]


def test_what_is_rendered_is_kept_and_what_is_forbidden_does_not_leave(
    tmp_path: Path, server: Loopback
) -> None:
    server.asked.clear()
    run, reason = crawl(tmp_path / "run", settings(server))
    assert reason == "no open link left"
    # Scripts and data came, by our own client and rules; nothing else left the browser.
    assert sorted(set(server.pages)) == [
        *("/", "/api/list.json", "/frame", "/from-worker", "/item/1", "/item/2", "/item/hang"),
        *("/left", "/list.js", "/moved.js", "/shadow", "/told/peer/undefined", "/worker.js"),
    ]
    assert {asked.host for asked in server.asked} == {"site.test"}
    assert all("Spoor/" in head for head in server.heads)
    # A page that hangs costs its own rendering.
    known = Run(tmp_path / "run")
    rows = {page.url.removeprefix(SEED): page for page in known.pages()}
    renders = {name: render_of(known.path, page) for name, page in rows.items()}
    assert set(rows) == {"", "item/1", "item/2", "item/hang"}
    assert [rows[name].relevant for name in ("item/1", "item/2", "item/hang")] == [
        True,
        True,
        False,
    ]
    hang, home, first = renders["item/hang"], renders[""], renders["item/1"]
    assert hang is not None
    assert "over 2 s" in hang.failed
    assert home is not None
    assert first is not None
    assert (home.links, home.failed, home.lack) == (4, "", "an empty app root")
    assert home.held_back >= 4
    assert first.relevant
    # It is told, in the report and by explain, and by --json.
    assert "rendered (all pages are rendered): 4 links" in "\n".join(
        in_lines(of_page(tmp_path / "run", SEED))
    )
    report = report_of(tmp_path / "run")
    assert ("rendered", "4") in report.numbers
    assert report.advice[-1].startswith("rendered 4 pages (1 in vain): ")
    rendered = run.summary(reason)["rendered"]
    assert (rendered["pages"], rendered["failed"], rendered["relevant"]) == (4, 1, 2)
    # The archive has the reply and, by the standard, what was made of it; readers take the latter.
    with (tmp_path / "run" / "pages.warc.gz").open("rb") as file:
        records = [
            (one.rec_type, one.rec_headers, one.content_stream().read()) for one in Warc(file)
        ]
    converted = [(headers, body) for kind, headers, body in records if kind == "conversion"]
    responses = {h["WARC-Record-ID"]: body for kind, h, body in records if kind == "response"}
    assert len(converted) == 3
    for headers, body in converted:
        assert headers["Content-Type"] == "text/html; charset=utf-8"
        assert b"<script" in responses[headers["WARC-Refers-To"]]
        assert body.startswith(b"<!doctype html>")
    document = known.document(f"{SEED}item/1")
    assert document is not None
    assert "w1x59" in document.text
    assert "w1x59" in known.text(rows["item/1"])
    assert known.export(tmp_path / "out.warc.gz") == 2
    with (tmp_path / "out.warc.gz").open("rb") as file:
        assert sum(one.rec_type == "conversion" for one in Warc(file)) == 2


def test_what_its_scripts_ask_for_is_archived_with_a_page(tmp_path: Path, server: Loopback) -> None:
    """So that the page plays back out of the archive."""
    crawl(tmp_path / "run", settings(server, requisites="all", pages=1))
    with (tmp_path / "run" / "pages.warc.gz").open("rb") as file:
        came = {
            one.rec_headers["WARC-Target-URI"].removeprefix(SEED)
            for one in Warc(file)
            if one.rec_type == "response"
        }
    assert came >= {"", "style.css", "moved.js", "list.js", "api/list.json", "image.png"}
    assert not came & {"post", "beacon", "secret/x"}


def test_a_crawl_that_is_killed_leaves_no_browser_and_renders_nothing_again(
    tmp_path: Path, server: Loopback
) -> None:
    """Killed while a page hangs in the browser: what was rendered before is read back."""
    server.asked.clear()
    out, script = tmp_path / "run", "from spoor.cli.main import main; main()"
    command = [
        *(sys.executable, "-c", script, "crawl", SEED, "--topic", "kiln, glaze", "--out", str(out)),
        *("--connect-to", f"127.0.0.1:{server.port}", "--delay", "0", "--render", "always"),
        *("--render-timeout", "500", "--in-flight", "1", "--json"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mark = f"--spoor={process.pid}-"
    try:
        until = time.monotonic() + 120
        while "/item/hang" not in server.pages and time.monotonic() < until:
            time.sleep(0.05)
        assert processes(mark)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    while processes(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert not processes(mark)
    before = {page.ticket for page in Run(out).pages()}
    asked = len(server.pages)
    run, reason = crawl(out, settings(server, in_flight=1))
    assert reason == "no open link left"
    assert before
    assert all(render_of(out, page) for page in Run(out).pages())
    assert run.crawl.counts.relevant == 2
    again = [path for path in server.pages[asked:] if path in server.pages[:asked]]
    assert "/" not in again


def test_a_browser_that_is_gone_is_started_again(tmp_path: Path, server: Loopback) -> None:
    """Ended once from outside, while a page asks for its script."""
    killed: list[int] = []

    def killing(asked: Asked) -> bytes:
        if asked.path == "/list.js" and not killed:
            killed.extend(processes(f"--spoor={os.getpid()}-"))
            os.kill(killed[0], signal.SIGKILL)
        return answer(asked)

    with beside((other := Loopback(killing)).serving):
        crawl(tmp_path / "run", settings(other, pages=1))
    assert killed
    (page,) = Run(tmp_path / "run").pages()
    render = render_of(tmp_path / "run", page)
    assert render is not None
    assert (render.failed, render.links) == ("", 4)
    assert not processes(f"--spoor={os.getpid()}-")


FRAMEWORK = """const Vue = {
  h: (tag, props, inside) => { const made = document.createElement(tag);
    Object.entries(props || {}).forEach(([name, value]) => made.setAttribute(name, value));
    made.append(...[inside].flat()); return made; },
  createApp: app => ({mount: at => app.setup && document.querySelector(at).append(...[app.setup()()].flat())}),
};"""


def test_auto_finds_what_always_finds_where_rendering_pays(tmp_path: Path) -> None:
    """The small form of `benchmarks/render.py`."""
    kinds = ("plain", "analytics", "hydrated", "noscript", "lazy", "routed", "hashed")
    counts = dict.fromkeys(kinds, 1) | {"buttons": 2, "cards": 2}
    webs = render_sites.sites(counts, {"vue": FRAMEWORK.encode()})

    def served(asked: Asked) -> bytes:
        media, body = webs.get(asked.host, {}).get(asked.path, ("", b""))
        return reply(body, 200 if media else 404, media=media or "text/plain")

    seeds = [f"http://{host}/" for host in webs]
    wish = {"want": [f"match:{render_sites.WORD}"], "topic": "", "scope": "host", "seeds": seeds}
    with beside((server := Loopback(served)).serving), pytest.MonkeyPatch.context() as patch:
        patch.setattr(browser, "is_installed", lambda: True)
        crawl(tmp_path, settings(server, **wish, render="auto", render_timeout=20.0))
    relevant = {page.url for page in Run(tmp_path).pages(relevant=True)}
    targets = {
        f"{seed}{'#/' if 'hashed' in seed else ''}article/{at}"
        for seed in seeds
        for at in range(0, render_sites.PAGES - 1, 2)
    }
    assert relevant == targets
    renders = Counter(row.host.partition("-")[0] for row in all_renders(tmp_path))
    assert renders.pop("routed") == renders.pop("hashed") == render_sites.PAGES
    assert 1 <= renders.pop("lazy") <= 3
    assert 2 <= renders.pop("buttons") <= 6
    assert renders.pop("cards") == 2 * render_sites.PAGES
    assert "plain" not in renders
    assert max(renders.values()) <= 3
