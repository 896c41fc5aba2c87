"""`spoor ui` without a run: new crawls and watches, and what can be asked of those that are there."""

from __future__ import annotations

import asyncio
import html
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any

import pytest
import typer
from aiohttp.test_utils import make_mocked_request
from typer.testing import CliRunner

from browsing import Tab, ask, chromium, shown
from loopback import Asked, Loopback, beside, reply
from spoor.cli.main import run
from spoor.cli.options import takes_settings
from spoor.errors import InputError
from spoor.runs.lock import is_running
from spoor.runs.reader import Run
from spoor.setting import LIVE
from spoor.settings import Settings
from spoor.views.commands import Commands, _pipe
from spoor.views.live_page import LivePage
from spoor.views.report import report_of
from spoor.views.server import Ui
from spoor.views.settings_form import arguments, fields, secrets, settings_of_form

SEED = "http://pots.example/"
EVIL = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'> kiln"


def answer(asked: Asked) -> bytes:
    """A site of 600 pages that name the topic; some carry a script in all that can be shown."""
    if asked.path == "/robots.txt":
        return reply("User-agent: *\nDisallow:", media="text/plain")
    at = asked.path.rpartition("/")[2]
    evil = html.escape(EVIL) if at in ("", "1", "2") else ""
    links = "".join(f"<p>Read <a href='/pots/{n}'>glaze {n} {evil}</a></p>" for n in range(600))
    rng = Random(asked.path)
    words = " ".join("".join(rng.choices("aeiounrst", k=6)) for _ in range(80))
    return reply(
        f"<title>Kiln {at} {evil}</title><h1>Kilns</h1><p>{words}. Every kiln and glaze {evil}</p>"
        f"{links if at == '' else ''}"
    )


@pytest.fixture(scope="module")
def web() -> Iterator[Loopback]:
    server = Loopback(answer)
    with beside(server.serving):
        yield server


@pytest.fixture(scope="module")
def runs(web: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one run of 12 pages; not to be changed."""
    folder = tmp_path_factory.mktemp("room")
    given = ["crawl", SEED, "--topic", "kiln, glaze", "--out", str(folder / "first"), "--json"]
    connected = ["--connect-to", f"127.0.0.1:{web.port}", "--delay", "0", "--pages", "12"]
    assert run([*given, *connected]) == 0
    return folder


@pytest.fixture
def mine(runs: Path, tmp_path: Path) -> Path:
    """A copy of the folder, to be changed."""
    shutil.copytree(runs, tmp_path / "runs")
    return tmp_path / "runs"


def until(holds: Callable[[], Any], seconds: float = 100.0) -> Any:
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


# ---------------------------------------------------------------- settings as a form and a command


VALUES: dict[str, Any] = {
    "bool": None,
    "int": 7,
    "float": 1.5,
    "floor": 0.25,
    "may_miss": 0.25,
    "saturation": 0.25,
    "prefer": "recall",
    "want": ("url:a.*", "match:b c"),
    "params": {"optimism": 0.5, "name": 'a "b"\n', "on": True},
    "allow_private": ("a.example", "b.example"),
    "connect_to": "127.0.0.1:8080",
    "header": ("X-Key: 1=2", "a.example|X: y"),
    "proxy": "http://proxy.example:3128",
    "sign_agent": "https://a.example/",
    "include": ("/docs/*", "re:^http"),
    "exclude": ("*.pdf",),
    "types": ("pdf", "html"),
    "type_limits": ("pdf=50",),
    "webhook": ("https://a.example/hook",),
}


@pytest.mark.parametrize("command", LIVE)
def test_every_setting_goes_through_the_form_and_the_command(command: str) -> None:
    known = {n: one for n, one in Settings.of_command(command).items() if not one.inner}
    values = {}
    for name, one in known.items():
        other = next((choice for choice in one.choices if choice != one.default), "--odd value")
        value = VALUES.get(name, VALUES.get(one.kind.__name__, other))
        values[name] = not one.default if one.kind is bool else value
    values.pop("refresh", None)  # it has to be there
    del values["topic_file"], values["connect_to" if "proxy" in values else "topic_file"]
    wanted = Settings.of(values, command)
    held = fields(command, {name: [_as_typed(value)] for name, value in values.items()})
    form = {field.name: [field.text] for field in held if field.text} | {"seeds": [SEED]}
    made = settings_of_form(command, form)
    assert {name: getattr(made, name) for name in known} == {
        name: getattr(wanted, name) for name in known
    }
    seen: list[Settings] = []

    @takes_settings(command, after={})
    def take(settings: Settings, seeds: list[str]) -> None:
        """Take them."""
        seen.append(settings)

    app = typer.Typer()
    app.command()(take)
    with ExitStack() as pipes:
        handed = [
            f"{option}=@/dev/fd/{pipes.enter_context(_pipe(of))}"
            for option, of in secrets(made).items()
        ]
        result = CliRunner().invoke(app, [*handed, *arguments(made)[1:]])
    assert result.exit_code == 0, result.output
    assert {name: getattr(seen[0], name) for name in known} == {
        name: getattr(wanted, name) for name in known
    }
    assert arguments(Settings.of({}, command)) == [command, "--"], "defaults need no option"


def test_secrets_stand_in_no_list_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[bytes] = []
    hooks = ("https://a.example/SECRET", "https://b.example/SECRET")
    settings = Settings.of({"header": ("X: SECRET",), "webhook": hooks, "seeds": (SEED,)}, "watch")

    class Begun:
        def __init__(self, command: list[str], *, pass_fds: list[int], **more: Any) -> None:
            assert "SECRET" not in f"{command}{more.get('env')}"
            named = [one.partition("/dev/fd/")[2] for one in command if "/dev/fd/" in one]
            assert [*map(int, named)] == pass_fds
            read.extend(os.read(handed, 1 << 16) for handed in pass_fds)

        def poll(self) -> int:
            return 0

    monkeypatch.setattr(subprocess, "Popen", Begun)
    Commands().begin_run(arguments(settings), tmp_path / "run", tmp_path, secrets(settings))
    assert sorted(read) == [b"X: SECRET\n", "".join(f"{one}\n" for one in hooks).encode()]
    many = Settings.of({"header": tuple(f"X{n}: {'y' * 999}" for n in range(99))}, "watch")
    with pytest.raises(InputError, match="secrets of more than"):
        Commands().begin_run(arguments(many), tmp_path / "run", tmp_path, secrets(many))


def test_a_file_of_secrets(tmp_path: Path) -> None:
    seen: list[Settings] = []

    @takes_settings("crawl", after={})
    def take(settings: Settings, seeds: list[str]) -> None:
        """Take them."""
        seen.append(settings)

    app, file = typer.Typer(), tmp_path / "headers"
    app.command()(take)
    file.write_text("X: 1\n\n  b.example|Y: 2\n")
    done = CliRunner().invoke(app, [f"--header=@{file}", "--header", "Z: 3", SEED])
    assert done.exit_code == 0, done.output
    assert seen[0].header == ("X: 1", "b.example|Y: 2", "Z: 3")
    missing = CliRunner().invoke(app, [f"--header=@{file}s", SEED])
    assert isinstance(missing.exception, InputError)
    assert "No such file" in str(missing.exception)


def _as_typed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, dict):
        return "\n".join(f"{name}={json.dumps(one)}" for name, one in value.items())
    return "\n".join(value) if isinstance(value, tuple) else str(value)


# ---------------------------------------------------------------- who may do what


def test_what_changes_something_comes_from_the_page_itself(mine: Path) -> None:
    before = sorted(mine.rglob("*"))
    with shown(mine) as page:
        own = f"http://127.0.0.1:{page.port}"
        right = {"token": page.token, "seeds": SEED, "topic": "kiln", "pages": "5"}
        for name in ("new", "try", "run/first/label", "run/first/stop", "run/first/more"):
            url = f"{page.url}{name}"
            assert ask(url, right)[0] == 403, "no origin"
            assert ask(url, right, Origin="http://evil.example")[0] == 403
            assert ask(url, {**right, "token": "x"}, Origin=own)[0] == 403
            assert ask(url, {"seeds": SEED}, Origin=own)[0] == 403, "no token"
            assert ask(url, {**right, "topic": "x" * 300_000}, Origin=own)[0] == 413
            assert ask(url, right, Origin=own, Host="evil.example")[0] == 421
            assert ask(url.replace(page.token, "x" * 32), right, Origin=own)[0] == 404
        assert ask(f"{page.url}try")[0] == ask(f"{page.url}run/first/stop")[0] == 405
        status, body, _ = ask(f"{page.url}run/first/stop", right, Origin=own)
        assert (status, "is not running" in body) == (409, True)
        # What is wrong with a form is said above it, and what was typed is still there.
        wrong = {**right, "delay": "-1", "topic": f'"{EVIL}'}
        status, body, _ = ask(f"{page.url}new", wrong, Origin=own)
        assert status == 400
        assert "“delay” -1.0 is not a number from 0 on" in body
        assert "<script>window" not in body
        assert "&#34;&lt;script&gt;window.pwned" in body
        for form, why in (
            ({"seeds": ""}, "say where to begin"),
            ({"seeds": "no-such-file"}, "neither a URL"),
            ({"command": "rm"}, "a crawl or a watch"),
            ({"command": "watch", "from": "../first"}, "no such run"),
            ({"max_time": "soon"}, "is no time"),
        ):
            body = ask(f"{page.url}new", {**right, **form}, Origin=own)[1]
            assert why in html.unescape(body), form
        assert "check two runs" in ask(f"{page.url}compare?run=first")[1]
        assert "no such run" in ask(f"{page.url}compare?run=first&run=..%2F..")[1]
    assert sorted(mine.rglob("*")) == before, "nothing was begun"


def test_a_stranger_s_run_reaches_nothing_before_its_user_says_so(mine: Path) -> None:
    with shown(mine) as page:
        more = f"{page.url}run/first/more"
        own = {"Origin": f"http://127.0.0.1:{page.port}"}
        told = ask(more)[1]
        assert "reach beyond its folder" in told
        assert "<code>--connect-to=127.0.0.1:" in told
        status, body, _ = ask(more, {"token": page.token, "pages": "20"}, **own)
        assert (status, "say that you trust" in body) == (400, True)
        status, body, _ = ask(more, {"token": page.token, "pages": "many"}, **own)
        assert status == 400
    assert not is_running(mine / "first")


def test_a_double_click_begins_one_run(tmp_path: Path) -> None:
    page = Ui(tmp_path)
    begun = list[int]()

    def begin() -> int:
        begun.append(len(begun))
        return begun[-1]

    async def click(*seeds: str) -> list[int]:
        request = make_mocked_request("POST", "/new")
        return await asyncio.gather(
            *(page._once(request, {"seeds": [one]}, begin) for one in seeds)
        )

    with closing(page):
        assert asyncio.run(click(SEED, SEED)) == [0, 0]
        assert asyncio.run(click(SEED, EVIL)) == [1, 2], "one that is over, and another one"


def test_a_command_that_is_killed_while_it_begins_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spoor.views.commands._LOOK_SECONDS", 0.001)
    dies = tmp_path / "dies"
    dies.write_text('#!/bin/sh\nkill -9 "$$"\n')
    dies.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(dies))
    with pytest.raises(InputError, match=r"ended the command \(Killed\)"):
        Commands().begin_run(["crawl"], tmp_path / "run", tmp_path)


# ---------------------------------------------------------------- long runs


@pytest.mark.parametrize("topic", ["kiln " * 40_000, "kiln\0"])
def test_a_value_that_is_no_argument_of_a_command_is_told_in_one_line(
    tmp_path: Path, topic: str
) -> None:
    """Longer than the system takes, or with a null byte."""
    with pytest.raises(InputError, match="the command cannot be started"):
        Commands().begin_run(["crawl", topic], tmp_path / "run", tmp_path)
    with pytest.raises(InputError, match="the command cannot be started"):
        Commands().answer(["topic", "test", topic])


def test_a_long_run_is_shown_while_it_is_read(mine: Path) -> None:
    whole = report_of(mine / "first")
    page = LivePage(mine / "first", "token", wait=0.0, rows=5)
    first = page.news({})
    last = until(lambda: (news := page.news({}))["says"].startswith("Not running") and news)
    page.close()
    assert first["says"] == "Opening the run" or "so far" in first["says"] or first == last
    summary = next(part["html"] for part in last["sections"] if part["id"] == "summary")
    assert f"<dd>{dict(whole.numbers)['pages of 12']}</dd>" in summary
    assert {"harvest", "best", "learned", "hosts"} <= {part["id"] for part in last["sections"]}


# ---------------------------------------------------------------- in a browser


@pytest.mark.browser
def test_the_control_room_from_the_first_word_to_the_last(
    web: Loopback, runs: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its user types, looks, labels by keys, stops, asks for more, compares and watches; each page
    is fit for everybody, and no page's script runs."""
    monkeypatch.chdir(mine.parent)
    begun: set[Path] = set()
    try:
        with chromium() as browser, shown(mine) as page:
            _walk(Tab(browser, page.url), page.url, web, mine, begun)
        # The last crawl goes on without the page that began it; `spoor stop` ends it.
        (going,) = (path for path in begun if is_running(path))
        assert run(["stop", str(going)]) == 0
        until(lambda: not is_running(going))
        assert Run(going).noted("stopped") == "interrupted"
        assert not (going / "stop").exists()
        assert run(["stop", str(going)]) == 2, "it is not running"
    finally:
        for path in begun:
            if is_running(path):
                run(["stop", str(path)])


def _walk(tab: Tab, url: str, web: Loopback, mine: Path, begun: set[Path]) -> None:
    page = tab.page

    def fit(name: str) -> None:
        for width in (1200, 400):
            page.set_viewport_size({"width": width, "height": 800})
            assert tab.js("document.documentElement.scrollWidth <= innerWidth"), name
        assert tab.violations() == [], name
        assert tab.js("window.pwned") is None
        assert tab.wrong == [], name

    fit("list")
    page.get_by_role("link", name="New crawl").click()
    fit("new")
    page.get_by_label("begin at").fill(SEED)
    page.get_by_label("topic", exact=True).fill("kiln, glaze")
    page.get_by_label("delay", exact=True).fill("0.8")  # it is to be going on as long as we look
    page.get_by_text("More: politeness").click()
    page.get_by_label("connect to").fill(f"127.0.0.1:{web.port}")
    page.get_by_role("button", name="Try the words").click()
    page.wait_for_selector("#tried")
    assert "would count" in page.locator("#tried .badge").inner_text()
    assert "<script>window.pwned" in page.locator("#tried .title").inner_text()
    fit("tried")
    page.get_by_role("button", name="Begin the crawl").click()
    page.wait_for_selector("#recent")
    name = page.url.rstrip("/").rpartition("/")[2]
    begun.add(mine / name)
    tab.until("document.querySelectorAll('#best li').length > 2")
    assert page.locator("#says").inner_text().startswith("Running: ")
    page.get_by_role("button", name="Pause updates").click()
    fit("live")
    # Labels by keys alone.
    page.locator("#best a.title").first.focus()
    page.keyboard.press("j")
    rows = "[...document.querySelectorAll('#best .pages > li')]"
    assert tab.js(f"{rows}.findIndex(row => row.contains(document.activeElement))") == 1
    page.keyboard.press("n")
    tab.until("document.querySelector('#said').textContent.includes('Noted as not wanted')")
    until(lambda: not all(Run(mine / name).labels().values()))
    page.goto(f"{url}run/{name}/pages?which=all")
    assert "<script>window.pwned" in page.locator(".pages").inner_text()
    fit("pages")
    page.goto(f"{url}run/{name}/hosts")
    fit("hosts")
    page.goto(f"{url}run/{name}/document?page=1")
    fit("document")
    page.goto(f"{url}run/{name}/")
    page.get_by_role("button", name="Stop the run").click()
    tab.until("document.querySelector('#says').textContent.startsWith('Not running')")
    assert Run(mine / name).noted("stopped") == "interrupted"
    # A watch, of what the first run found.
    page.goto(f"{url}run/first/")
    page.get_by_role("link", name="Watch what it found").click()
    assert page.get_by_label("watch what a crawl found").input_value() == "first"
    page.get_by_text("More: politeness").click()
    page.get_by_label("connect to").fill(f"127.0.0.1:{web.port}")
    fit("new watch")
    page.get_by_role("button", name="Begin the watch").click()
    page.wait_for_selector("#summary")
    watch = mine / page.url.rstrip("/").rpartition("/")[2]
    begun.add(watch)
    tab.until("document.querySelector('#says').textContent.startsWith('Running')")
    page.get_by_role("button", name="Stop the run").click()
    tab.until("document.querySelector('#says').textContent.startsWith('Not running')")
    told = {"id": "1", "kind": "new", "url": f"{SEED}?{EVIL}", "title": EVIL, "added": [EVIL]}
    told |= {"found_at": "2026-01-01T00:00:00Z", "story": "1"}
    (watch / "news.jsonl").write_text(f"{json.dumps(told)}\n")
    page.reload()
    assert "<script>window.pwned" in page.locator("#stories li").first.inner_text()
    fit("watch")
    # Both crawls side by side, and the report.
    page.goto(url)
    for row in ("first", name):
        page.get_by_label(f"Compare {row}").check()
    page.get_by_role("button", name="Compare the two").click()
    assert page.locator("table").first.locator("th[scope=row]").all_inner_texts()[:2] == [
        "pages",
        "relevant",
    ]
    fit("compare")
    page.goto((mine / "first" / "report.html").as_uri())
    fit("report")
    # More of what was stopped, which outlives us.
    page.goto(f"{url}run/{name}/more")
    assert "Its settings reach beyond" in page.locator("main").inner_text()
    page.get_by_label("pages in all").fill("100000")
    page.get_by_label("This run is mine").check()
    fit("more")
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector("#recent")
    tab.until("document.querySelector('#says').textContent.startsWith('Running: ')")
    tab.until("document.querySelector('#summary').textContent.includes('100,000')")
