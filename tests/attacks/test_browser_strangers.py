"""What a page in the browser can do to the pages of others there, and to what they share: the
memory of the browser and its driver, and their processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from spoor.rendering import browser
from spoor.rendering.browser import Browser, BrowserLostError
from spoor.rendering.browser_processes import MemoryBound, processes_of
from spoor.rendering.browser_thread import BrowserThread
from spoor.rendering.visit import HeldBackError, Visit
from spoor.web.exchange import Exchange, Rendered

GIB = 1 << 30
BROWSER = (1, GIB // 16, "browser", 1.0)


def renderer(process: int, size: float, busy: float = 0.0) -> tuple[int, int, str, float]:
    return process, int(size * GIB), "renderer", busy


def test_the_page_that_holds_most_memory_is_ended() -> None:
    bound = MemoryBound(GIB)
    good, evil = renderer(2, 0.1, 9.0), renderer(3, 0.7)
    assert bound.to_end([BROWSER, good, evil], 0.0) == []
    assert bound.to_end([BROWSER, good, renderer(3, 0.9)], 0.5) == [3]


def test_all_that_take_the_room_of_others_are_ended_at_once() -> None:
    sizes = (0.1, 0.9, 0.15, 1.2, 0.8)
    pages = [renderer(at, size) for at, size in enumerate(sizes, 2)]
    assert MemoryBound(GIB).to_end([BROWSER, *pages], 0.0) == [5, 3, 6]


def test_no_other_page_is_ended_while_memory_becomes_free() -> None:
    """What a page that was ended sent lies in the browser and its driver for a moment."""
    bound, good = MemoryBound(GIB), renderer(2, 0.2)
    sent = (1, int(0.9 * GIB), "browser", 1.0)
    assert bound.to_end([sent, good, renderer(3, 0.8, 2.0)], 0.0) == [3]
    assert bound.to_end([sent, good], 0.5) == []
    assert bound.is_over
    assert bound.to_end([BROWSER, good], 1.5) == []
    assert not bound.is_over


def test_what_lies_with_the_driver_is_due_to_the_page_that_is_busy() -> None:
    bound = MemoryBound(GIB)
    good, evil = renderer(2, 0.05, 1.0), renderer(3, 0.04, 6.0)
    driver = (4, GIB, "driver", 5.0)
    assert bound.to_end([BROWSER, driver, good, evil], 0.0) == [3]
    assert bound.to_end([BROWSER, driver, good], 9.0) == [], "it took no more since"
    assert bound.to_end([BROWSER, (4, 2 * GIB, "driver", 5.0), good], 9.5) == [2]


# ---------------------------------------------------------------- in a Chromium

in_chromium = pytest.mark.skipif(
    not any(map(shutil.which, browser.NAMES)), reason="no Chromium on PATH: apt install chromium"
)
GOOD = "document.body.append('brought ' + 'by a script')"
LATER = (
    f"setTimeout(() => {{{GOOD}}}, 300); "
    + "let n = 0; "
    + (
        "const t = setInterval(() => { document.body.append(document.createElement('p')); "
        "if (++n > 12) clearInterval(t) }, 100)"
    )
)


def page(host: str, script: str) -> Exchange:
    body = f"<title>{host}</title><body><p>hello</p><script>{script}</script>".encode()
    headers = CIMultiDictProxy(CIMultiDict({"content-type": "text/html"}))
    return Exchange(f"http://{host}/", 200, "OK", (), headers, body, body, 0.0, 0.1)


async def nothing(*_: str) -> Exchange:
    raise HeldBackError


def rendered(
    call: Callable[[Browser], Awaitable[list[Rendered]]], memory: int, *, clicks: bool = False
) -> list[Rendered]:
    made = Browser(user_agent="x", timeout=4.0, body_limit=1 << 20, memory=memory, clicks=clicks)

    async def go() -> list[Rendered]:
        try:
            return await call(made)
        finally:
            await made.close()

    return asyncio.run(go())


@pytest.mark.browser
@in_chromium
@pytest.mark.parametrize(
    "script",
    [
        "for (let i = 0; i < 150; i++) { const a = document.createElement('a'); a.href = '/' + i;"
        " a.target = '_blank'; document.body.append(a); a.click() }",
        "const b = 'x'.repeat(1e8); for (let i = 0; i < 20; i++)"
        " fetch('/' + i, {method: 'POST', body: b})",
        "let n = 0; setInterval(() => { for (let i = 0; i < 200; i++) location.hash = n++ }, 1)",
        "onerror = () => { throw 1 }; setInterval(() => { for (let i = 0; i < 1000; i++) {"
        " console.log('x'.repeat(1e4)); Promise.reject(Error('x'.repeat(1e4)));"
        " setTimeout(() => { throw Error('x'.repeat(1e4)) }) } }, 1)",
    ],
    ids=["windows", "bodies", "addresses", "errors"],
)
def test_what_a_page_sends_and_opens_ends_no_other(script: str) -> None:
    async def both(made: Browser) -> list[Rendered]:
        await made.render(page("first.test", GOOD), nothing)
        evil = asyncio.ensure_future(made.render(page("evil.test", script), nothing))
        good = []
        for number in range(4):
            await asyncio.sleep(0.2)
            good.append(await made.render(page(f"good{number}.test", GOOD), nothing))
        await evil
        return good

    good = rendered(both, browser.MEMORY)  # a browser that is no headless shell takes .3 GiB
    assert [(one.failed, b"brought by a script" in one.html) for one in good] == [("", True)] * 4


@pytest.mark.browser
@in_chromium
def test_a_page_writes_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it makes itself and downloads, in a frame of its own too."""
    folder = Path(tempfile.mkdtemp())  # a longer name has no room for the socket of Chromium
    monkeypatch.setenv("TMPDIR", str(folder))
    script = (
        "const made = URL.createObjectURL(new Blob([new Uint8Array(3e7)]));"
        "const frame = document.createElement('iframe'); document.body.append(frame);"
        "for (const page of [document, frame.contentDocument])"
        " for (let i = 0; i < 20; i++) {"
        " const link = page.createElement('a'); link.href = made; link.download = 'x' + i;"
        " page.body.append(link); link.click() }"
    )
    script += LATER
    most = 0

    async def downloads(made: Browser) -> list[Rendered]:
        nonlocal most
        render = asyncio.ensure_future(made.render(page("evil.test", script), nothing))
        while not render.done():
            await asyncio.sleep(0.1)
            with contextlib.suppress(OSError):  # one that goes meanwhile
                sizes = (file.lstat().st_size for file in folder.rglob(".org.chromium*"))
                most = max(most, sum(sizes))
        return [await render]

    try:
        assert b"brought by a script" in rendered(downloads, browser.MEMORY)[0].html
        assert not most
        assert not [*folder.rglob(".org.chromium*")]
    finally:
        shutil.rmtree(folder)


CARDS = (
    "document.body.insertAdjacentHTML('beforeend', `<form><input name=children></form>"
    "<ol><li value=2></li></ol><div><p>a<p>b<p>c</div><div>"
    "<section>card0</section><section>card1</section><section>card2</section></div>"
    "<a href=mailto:a@b></a><button id=more>More</button>`);"
    "document.querySelector('[href]').click();"
)
"""What a script of forms may trip over, and a letter to somebody."""


@pytest.mark.browser
@in_chromium
def test_a_click_that_ends_its_page_leaves_its_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no page starts a program of this machine."""
    told = tmp_path / "told"
    for name in ("xdg-open", "xdg-email"):
        (tmp_path / name).write_text(f"#!/bin/sh\necho $@ >> {told}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    leads = "onclick = event => history.pushState(0, '', '/' + event.target.textContent)"

    async def go(made: Browser) -> list[Rendered]:
        async def end(*_: str) -> Exchange:
            tree = processes_of(f"--spoor={os.getpid()}-{id(made)}")
            for process in [process for process, _, kind, _ in tree if kind == "renderer"]:
                os.kill(process, signal.SIGKILL)
            raise HeldBackError

        ended = f"{CARDS} more.onclick = () => fetch('/end')"
        first = await made.render(page("evil.test", ended), end)
        return [first, await made.render(page("good.test", CARDS + leads), nothing)]

    evil, good = rendered(go, GIB, clicks=True)
    assert (evil.failed, b"card2" in evil.html) == ("", True)
    assert [b'"http://good.test/card%d"' % n in good.html for n in range(3)] == [True] * 3
    assert not told.exists()


def test_a_page_that_ran_out_of_time_in_a_browser_that_another_one_hung_is_rendered_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("playwright")
    monkeypatch.setattr(browser, "_CLOSE", 0.01)
    made = Browser(user_agent="x", timeout=0.0, body_limit=9)

    async def hung(**told: object) -> None:
        made._chromium = None  # it was ended meanwhile
        await asyncio.sleep(9)

    chromium: Any = SimpleNamespace(new_context=hung)
    visit = Visit(page("good.test", GOOD), nothing, 9)
    made._chromium = chromium
    with pytest.raises(BrowserLostError):
        asyncio.run(made._visited(chromium, visit))


def test_what_a_browser_leaves_that_is_ended_lies_in_a_folder_of_ours() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        assert browser._environment(Path(folder))["TMPDIR"] == folder


@pytest.mark.browser
@in_chromium
def test_pages_are_rendered_again_where_the_driver_is_gone() -> None:
    """A page fills it, or the system takes it: that of each page that was under way, of which one
    starts the browser while the other hears of it. Nobody is told of what nobody waits for."""
    told: list[object] = []

    async def both() -> tuple[list[Rendered], int]:
        made = Browser(user_agent="x", timeout=8.0, body_limit=1 << 20)
        thread = BrowserThread(made)
        thread._loop.default_exception_handler = told.append  # type: ignore[assignment,method-assign]
        try:
            await thread.render(page("first.test", GOOD), nothing)
            pages = [
                asyncio.ensure_future(thread.render(page(f"{at}.test", LATER), nothing))
                for at in range(2)
            ]
            await asyncio.sleep(0.7)
            tree = processes_of(f"--spoor={os.getpid()}-{id(made)}")
            (driver,) = [process for process, _, kind, _ in tree if kind == "driver"]
            os.kill(driver, signal.SIGKILL)
            return await asyncio.gather(*pages), made.starts
        finally:
            await thread.close()

    made, starts = asyncio.run(both())
    assert [(one.failed, b"brought by a script" in one.html) for one in made] == [("", True)] * 2
    assert starts == 2
    assert not told
