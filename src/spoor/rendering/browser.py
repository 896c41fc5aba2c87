"""A headless Chromium that renders pages and sends nothing itself.

Every request of a page is intercepted. The page itself is answered with the reply that the crawl
has, its scripts and data with what the given `Load` returns, style sheets with nothing; all other
requests are refused. The browser also resolves no names and has a proxy that does not exist, so
that a request that was not intercepted could not leave the machine. No page outlives its rendering,
and no profile the browser.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.files import temporary_folder
from spoor.rendering import page_scripts
from spoor.rendering.browser_processes import MemoryBound, come_last, processes_of
from spoor.rendering.render_turns import RenderTurns
from spoor.rendering.visit import MOST_ASKED, Load, Visit, answer
from spoor.setting import MOST_OF_A_BODY
from spoor.turns import CrowdedError, SiteTimes
from spoor.web.exchange import Exchange, Rendered
from spoor.web.urls import domain_of

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import BrowserContext, Page, Playwright, Route

    from spoor.rendering.clicks import Ask, ClickValues

NAMES = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "chrome",
)
"""What a Chromium on PATH may be called. A headless shell takes a seventh of the time of a browser
(.19 s of CPU a page, not 1.3), so it comes first."""

MOST_WINDOWS = 10
"""Windows that a page opens, where Chromium lets it; each is a process until it is closed."""
MEMORY = 1 << 30
"""Bytes that all processes of the browser and its driver may have together; beyond, a page is ended
(`MemoryBound`)."""
BUSY = 2.0
"""A page that took so many seconds of processor time gets the lowest priority, with all its
threads: it takes what no other process wants."""
_HEAP = 384
"""MB that the scripts of one page may hold."""
PAGES = 500
"""Pages after which the browser is started anew, since its memory grows."""
_QUIET = 0.25
"""Seconds without a request and without a new element after which a page counts as complete."""
_SCROLLS = 8
_STEP = 0.05
_START = 60.0
"""Seconds that the browser has to start."""
_CLOSE = 2.0
"""Seconds that a page, or the browser, has to close before it is ended."""
_LAST = 1.0
"""Seconds that a page whose time is up has to give its document."""

_STARTERS = ("xdg-open", "xdg-email")
"""Programs by which Chromium starts another one, as for mail."""

_LONGEST_FOLDER = 60
"""Bytes of the name of a folder for a while: Chromium has a socket in one below it."""

_ARGUMENTS = (
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--disable-quic",
    "--block-new-web-contents",
    "--dns-prefetch-disable",
    "--disable-dev-shm-usage",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    f"--js-flags=--max-old-space-size={_HEAP}",
)


def chromium_at(path: str) -> str | None:
    """The program at a path; where that is empty, of the first of `NAMES` on PATH, or None for the
    one that Playwright has installed. Raises InputError where there is none."""
    if path:
        found = shutil.which(path)
        if found is None:
            raise InputError(f"--chromium {path!r} is no program; give the path of a Chromium")
        return found
    found = next(filter(None, map(shutil.which, NAMES)), None)
    own = os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache/ms-playwright"
    if found is None and not any(Path(own).glob("chromium*")):
        raise InputError(
            "no Chromium is on PATH; install one (Debian: chromium-headless-shell), give "
            "--chromium PATH, or --render never"
        )
    return found


def is_installed() -> bool:
    """Whether the extra `render` is installed."""
    return find_spec("playwright") is not None


def require_browser(render: str, path: str) -> None:
    """Raises InputError if all pages are to be rendered, or a Chromium is named, and there is
    none."""
    if render == "always" or (path and render != "never"):
        import_extra("render", "Rendering", "playwright")
        chromium_at(path)


class BrowserLostError(Exception):
    """The browser is gone, and the page is not known to be the cause."""


class Browser:
    """Chromium, started with the first page. `report` is called once with a line about its sandbox,
    where that is off."""

    def __init__(
        self,
        path: str = "",
        *,
        user_agent: str,
        timeout: float,
        body_limit: int,
        memory: int = MEMORY,
        clicks: bool = False,
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._path = path
        self._user_agent = user_agent
        self._timeout = timeout
        self._body_limit = body_limit
        self._memory = MemoryBound(memory)
        self._watching: asyncio.Task[None] | None = None
        self._clicks = clicks
        self._click_values: ClickValues | None = None
        self._report = report
        self._playwright: Playwright | None = None
        self._chromium: Chromium | None = None
        self._mark = f"--spoor={os.getpid()}-{id(self)}"
        """An argument that Chromium ignores, by which its processes are found."""
        self._pages = 0
        self._open = 0
        self._undo = contextlib.ExitStack()
        self._starters: Path | None = None
        """Where the browser finds what does nothing in place of `_STARTERS`."""
        self._starting = asyncio.Lock()
        self._turns = RenderTurns(SiteTimes(time.monotonic))
        self.starts = 0
        """How often the browser was started."""

    async def render(self, exchange: Exchange, load: Load) -> Rendered:
        """The document that a page becomes in at most `timeout` seconds, or why there is none. A
        page that hangs, crashes or takes too much memory fails alone, and one that takes long keeps
        no page of another site waiting (`spoor.rendering.render_turns`). A browser that is gone is
        started again, and the page rendered once more. Raises InputError where no browser can be
        started."""
        await self._started()  # which no page took
        try:
            site = domain_of(exchange.url)
            return await self._turns.render(site, lambda: self._rendered(exchange, load))
        except CrowdedError:
            return Rendered(b"", 0.0, failed="pages of its site take long, and others wait")

    async def _rendered(self, exchange: Exchange, load: Load) -> Rendered:
        for attempt in (1, 2):
            visit = Visit(exchange, load, self._body_limit)
            began = asyncio.get_running_loop().time()
            chromium = await self._started()
            try:
                self._pages += 1
                self._open += 1
                if self._watching is None or self._watching.done():
                    self._watching = asyncio.create_task(self._watch())
                try:
                    failed = await self._visited(chromium, visit)
                finally:
                    self._open -= 1
            except BrowserLostError:
                await self._end_lost(chromium)
                failed = "it ends the browser"
                if attempt == 1 and visit.html is None:
                    continue
            break
        seconds = asyncio.get_running_loop().time() - began
        html = b"" if visit.html is None else _marked(visit, visit.html)
        failed = "" if html else failed  # else its clicks ended it
        counts = visit.requests, visit.received, visit.held_back
        return Rendered(html, seconds, *counts, failed, asked=tuple(visit.needs.values()))

    # -- the browser

    async def _started(self) -> Chromium:
        async with self._starting:
            if (self._pages >= PAGES or self._memory.is_over) and not self._open:
                await self._end()
            if self._chromium is None or not self._chromium.is_connected():
                await self._end()
                self._chromium = await self._start()
                self._pages = 0
                self.starts += 1
            return self._chromium

    async def _start(self) -> Chromium:
        (api,) = import_extra("render", "Rendering", "playwright.async_api")
        program, is_root = chromium_at(self._path), os.geteuid() == 0
        if is_root and not self.starts:
            self._report("Chromium runs without its sandbox, since this is root; see the guide")
        try:
            self._starters = self._starters or self._undo.enter_context(temporary_folder())
            async with asyncio.timeout(_START):
                self._playwright = await api.async_playwright().start()
                chromium: Chromium = await self._playwright.chromium.launch(
                    executable_path=program,
                    args=[*_ARGUMENTS, self._mark],
                    # A page may change its address 200 times in ten seconds; without end it would
                    # hang the browser for all others.
                    ignore_default_args=["--disable-ipc-flooding-protection"],
                    env=_environment(self._starters),
                    chromium_sandbox=not is_root,
                    handle_sigint=False,
                    handle_sigterm=False,
                    handle_sighup=False,
                )
                return chromium
        except (api.Error, TimeoutError, OSError) as error:
            await self._end()
            line = next(iter(str(error).strip().splitlines()), "") or "no answer"
            if "Failed to move to new namespace" in str(error):
                line = "its sandbox may make no namespaces here: in a container --cap-add SYS_ADMIN"
            raise InputError(
                f"Chromium cannot be started ({line[:200]}); see the guide of rendering, or give "
                "--render never"
            ) from error

    async def _end_lost(self, chromium: Chromium) -> None:
        """End this browser, where another page has not yet: it may be starting the next one."""
        async with self._starting:
            if self._chromium is chromium:
                await self._end()

    async def _end(self) -> None:
        chromium, self._chromium = self._chromium, None
        playwright, self._playwright = self._playwright, None
        tree = await asyncio.to_thread(processes_of, self._mark) if playwright is not None else []
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_CLOSE):
                if chromium is not None and chromium.is_connected():
                    await chromium.close()
        with contextlib.suppress(Exception):
            async with asyncio.timeout(_CLOSE):
                if playwright is not None:
                    await playwright.stop()
        _forget_events()
        # What has ended did so within `_CLOSE`: its number is not another's yet.
        for process, *_ in tree:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)

    async def close(self) -> None:
        """End the browser, whatever its pages do."""
        if self._watching is not None:
            self._watching.cancel()
        await asyncio.shield(self._end())
        self._undo.close()

    # -- one page

    async def _visited(self, chromium: Chromium, visit: Visit) -> str:
        """Make the document of `visit`; returns why there is none."""
        from playwright.async_api import Error

        context: BrowserContext | None = None
        try:
            async with asyncio.timeout(self._timeout + _CLOSE) as limit:

                def end(why: str) -> None:
                    visit.ended = visit.ended or why
                    if not limit.expired():
                        limit.reschedule(0.0)

                visit.end = end
                context = await chromium.new_context(
                    user_agent=self._user_agent,
                    service_workers="block",
                    accept_downloads=False,
                    viewport={"width": 1280, "height": 2000},
                )
                await self._document(context, visit)
                return ""
        except TimeoutError as error:
            if not visit.ended and self._chromium is not chromium:  # another page hung it
                raise BrowserLostError from error
            return visit.ended or f"its scripts take over {self._timeout:g} s"
        except Exception as error:
            if visit.ended:
                return visit.ended
            # Playwright has other errors where its own process is gone.
            if self._chromium is not chromium or await _is_gone(chromium, error):
                raise BrowserLostError from error
            if not isinstance(error, Error):
                raise
            return f"Chromium gave it up: {str(error).splitlines()[0][:120]}"
        finally:
            visit.end = lambda why: None
            for task in visit.answers:
                task.cancel()
            if context is not None:
                if not await _closed(context):
                    # A page that does not close holds a process that never rests.
                    await self._end_lost(chromium)
                _forget_events(context)

    async def _document(self, context: BrowserContext, visit: Visit) -> None:
        async def answered(route: Route) -> None:
            try:
                await answer(route, visit)
            except Exception:
                # The page is gone, or the request failed: its page goes on without.
                with contextlib.suppress(Exception):
                    await route.abort("failed")

        def take(route: Route) -> None:
            visit.asked += 1
            if visit.asked > MOST_ASKED:
                return
            task = asyncio.ensure_future(answered(route))
            visit.answers.add(task)
            task.add_done_callback(visit.answers.discard)

        await context.add_init_script(page_scripts.BEFORE)
        await context.route("**/*", take)
        page = await context.new_page()
        context.on("page", lambda other: asyncio.ensure_future(_shut(other, visit)))
        page.on("crash", lambda *_: visit.end("it crashes, or takes too much memory"))
        loop = asyncio.get_running_loop()
        until = loop.time() + self._timeout
        await page.goto(visit.exchange.url, wait_until="commit", timeout=self._timeout * 1000)
        tab = await context.new_cdp_session(page)
        frame = (await tab.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        world = {"frameId": frame, "worldName": "spoor"}

        async def ask(script: str) -> Any:
            # Made anew each time: a world ends with its document.
            made = await tab.send("Page.createIsolatedWorld", world)
            asked = {"expression": script, "contextId": made["executionContextId"]}
            told = await tab.send("Runtime.evaluate", {**asked, "returnByValue": True})
            return told["result"].get("value")

        try:
            async with asyncio.timeout_at(until):
                await _complete(ask, visit)
            cut = False
        except TimeoutError:
            cut = True
        # One that hangs does not answer any more; one that is slow is taken as it is.
        async with asyncio.timeout(_LAST if cut else _CLOSE):
            html = str(await ask(page_scripts.DOCUMENT % visit.most) or "")
        if cut and "<" not in html:
            raise TimeoutError
        visit.html = html
        if self._clicks and not cut:
            await self._click(ask, visit, until)

    async def _click(self, ask: Ask, visit: Visit, until: float) -> None:
        """Click on what extends its lists, which may make another document, and on their items."""
        from playwright.async_api import Error

        from spoor.rendering.clicks import ClickedPage, ClickValues

        async def settle() -> None:
            await _complete(ask, visit, 0)

        async def restart() -> None:
            visit.opened = False
            await ask("location.reload()")
            await asyncio.sleep(_STEP)
            await settle()

        self._click_values = self._click_values or ClickValues()
        site = domain_of(visit.exchange.url)
        page = ClickedPage(site, ask, settle, restart, self._click_values, visit.clicked)
        try:
            async with asyncio.timeout_at(until):
                if await page.extend_lists():
                    visit.html = str(await ask(page_scripts.DOCUMENT % visit.most) or visit.html)
                await page.follow_items()
        except (TimeoutError, Error):
            page.end()
        except asyncio.CancelledError:
            if visit.ended:
                page.end()
            raise

    async def _watch(self) -> None:
        """While there are pages, end those to blame where the browser takes too much memory; give
        those that take much processor time the lowest priority."""
        loop = asyncio.get_running_loop()
        while self._open:
            await asyncio.sleep(0.5)
            tree = await asyncio.to_thread(processes_of, self._mark)
            come_last(
                [process for process, _, kind, busy in tree if kind == "renderer" and busy > BUSY]
            )
            for process in self._memory.to_end(tree, loop.time()):
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)


async def _complete(ask: Ask, visit: Visit, most_scrolls: int = _SCROLLS) -> None:
    """Wait until a page neither requests anything nor grows, also after it was scrolled to its
    end."""
    loop = asyncio.get_running_loop()
    size, since, scrolls, scrolled_at = -1, loop.time(), 0, -1
    while True:
        await asyncio.sleep(_STEP)
        if visit.asked > MOST_ASKED:
            return
        now = await ask(page_scripts.SIZE)
        ready = await ask(page_scripts.READY) != "loading"
        if now != size or visit.answers or not ready:
            size, since = now, loop.time()
        elif loop.time() - since >= _QUIET:
            if scrolls >= most_scrolls or scrolled_at == size:
                return
            scrolls, scrolled_at, since = scrolls + 1, size, loop.time()
            await ask(page_scripts.SCROLL)


def _forget_events(context: BrowserContext | None = None) -> None:
    """End what Playwright still makes of events of a page that is gone, or of all pages. Each would
    print a warning otherwise, and a page can have thousands."""
    for task in asyncio.all_tasks():
        frame = getattr(task.get_coro(), "cr_frame", None)
        if frame is None or _OF_PLAYWRIGHT not in frame.f_code.co_filename:
            continue
        if context is None or frame.f_locals.get("self") is context._impl_obj:
            task.cancel()


_OF_PLAYWRIGHT = os.path.join("playwright", "_impl")


async def _is_gone(chromium: Chromium, error: Exception) -> bool:
    """Whether the browser, or its driver, is what ended with an error: Playwright says that only a
    moment later."""
    if not chromium.is_connected():
        return True
    if "closed" not in str(error):
        return False
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_CLOSE):
            await (await chromium.new_browser_cdp_session()).detach()
            return False
    return True


async def _shut(page: Page, visit: Visit) -> None:
    visit.windows += 1
    if visit.windows > MOST_WINDOWS + visit.clicked.clicks:  # each may open one
        visit.end("it opens windows without end")
    with contextlib.suppress(Exception):
        await page.close()


def _environment(starters: Path) -> dict[str, str | float | bool]:
    """The environment without passwords and tokens of the user, since a page might break out, and
    with an empty folder filled by what does nothing, so that a page starts no other program."""
    for name in _STARTERS:
        with contextlib.suppress(FileExistsError):
            (starters / name).symlink_to(shutil.which("true") or "/bin/true")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().startswith("SPOOR_") and not name.upper().endswith("_PROXY")
    }
    if len(os.fsencode(starters)) < _LONGEST_FOLDER:  # what a browser that was ended leaves there
        kept["TMPDIR"] = str(starters)
    return {**kept, "PATH": f"{starters}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


async def _closed(context: BrowserContext) -> bool:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(_CLOSE):
            await context.close()
            return True
    return False


def _marked(visit: Visit, html: str) -> bytes:
    """A document with where its scripts wanted to go, and where clicks led, as a page without
    scripts says it."""
    marks = "".join(
        f'<meta http-equiv="refresh" content="0; url={escape(url)}">' for url in visit.leads_to
    )
    links = "".join(
        f'<li><a href="{escape(url)}">{escape(words)}</a></li>'
        for url, words in visit.clicked.links.items()
    )
    after = f"<nav><ul>{links}</ul></nav>" if links else ""
    made = f"<!doctype html>{marks}{html}{after}".encode("utf-8", "replace")
    return made[: min(4 * visit.most, MOST_OF_A_BODY)]
