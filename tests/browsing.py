"""`spoor ui` as a browser and as other programs see it."""

from __future__ import annotations

import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from loopback import beside
from spoor.http.world_server import serving
from spoor.rendering.browser import NAMES
from spoor.views.server import Ui

CHROMIUM = next(filter(None, map(shutil.which, (*NAMES, "chrome"))), None)
"""The smallest that is here first."""

_FOUND = find_spec("axe_playwright_python")
AXE = Path((_FOUND.submodule_search_locations or [""])[0] if _FOUND else "", "axe.min.js")
"""axe-core."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser. Playwright keeps a loop running in this thread: what needs one comes before."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    with playwright.sync_playwright() as started:
        made = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@contextmanager
def shown(path: Path) -> Iterator[Ui]:
    """It served; each of its pages waits for its run to be read."""
    page = Ui(path, wait=100.0)
    with closing(page), beside(lambda: serving(page)):
        yield page


def ask(
    url: str, form: dict[str, str] | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    """Status, body and headers of a reply, whatever the status; redirects are not followed."""
    data = None if form is None else urlencode(form).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, data, named)

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: object, **__: object) -> None:
            return None

    try:
        with urllib.request.build_opener(Stay).open(request, timeout=100) as got:
            return got.status, got.read().decode(), dict(got.headers)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), dict(error.headers)


class Tab:
    """A page in a browser, with what went wrong and what was asked for."""

    def __init__(self, browser: Any, url: str, **how: Any) -> None:
        self.page = browser.new_page(**how)
        self.page.set_default_timeout(100_000)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(url)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(message.text)

    def js(self, code: str) -> Any:
        return self.page.evaluate(code)

    def until(self, condition: str) -> None:
        """Waits for it. (Playwright's own way of waiting needs what our policy forbids.)"""
        for _ in range(2000):
            if self.js(condition):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never: {condition}, but {self.js('document.body.innerText')[:1000]}")

    def violations(self) -> list[str]:
        """What axe-core finds wrong with the page for people who do not see or point."""
        found = self.js(f"(() => {{ {AXE.read_text('utf-8')}; return axe.run(); }})()")
        return [f"{one['id']}: {[n['html'] for n in one['nodes']]}" for one in found["violations"]]

    def queue(self) -> list[str]:
        found: list[str] = self.js(
            "[...document.querySelectorAll('#next .pages > li')]"
            ".map(li => li.querySelector('.url').textContent)"
        )
        return found
