"""The page of a run, or of the runs in a folder, on loopback, for the person at this machine and
nobody else.

Other programs and web sites can reach a loopback port too. So the path of every URL begins with a
random token; the Host header must be ours, against other names that resolve to 127.0.0.1 (DNS
rebinding); changes need a POST from our own page; the browser stores nothing; and the page may load
nothing and run no script but its own.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote

from aiohttp import web

from spoor.errors import InputError
from spoor.runs import files
from spoor.views.live_page import LivePage
from spoor.views.run_list import run_names, runs_page
from spoor.views.watch_page import WatchPage, is_watch

MAX_FORM = 4_096
"""Most bytes of a form."""
FORM_SECONDS = 5.0
"""Seconds in which it has to arrive."""

MOST_PAGES = 8
"""Pages of runs that are kept in memory, of a folder of runs."""

_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

T = TypeVar("T")


class Ui:
    """Serves the page of a run, or of a folder of runs a table of them and the page of each. It is
    made in a thread, one request at a time.

    Raises InputError as `LivePage` does, and for a folder that cannot be read."""

    def __init__(self, path: Path) -> None:
        self.token = secrets.token_urlsafe(24)
        self.port = 0
        self._lock = asyncio.Lock()
        self._folder = None if files.is_run(path) or not path.is_dir() else path
        self._pages: dict[str, LivePage | WatchPage] = {}
        """Name of a run → its page, as far as somebody looked at it; the one run has no name."""
        if self._folder is None:
            self._pages[""] = _page(path, self.token)
        else:
            run_names(self._folder)

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        nonce = secrets.token_urlsafe(16)
        try:
            response = await self._answer(request, nonce)
        except InputError as error:
            response = _refused(409, str(error))
        except Exception as error:  # of a plug-in, or ours: the page requests again
            response = _refused(500, f"{type(error).__name__}: {error}")
        response.headers.update(
            {
                "Content-Security-Policy": _POLICY.format(nonce=nonce),
                "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff",
                "X-Frame-Options": "DENY",
                "Referrer-Policy": "same-origin",
                "Cross-Origin-Opener-Policy": "same-origin",
                "Cross-Origin-Resource-Policy": "same-origin",
            }
        )
        return response

    async def _answer(self, request: web.BaseRequest, nonce: str) -> web.Response:
        if request.host not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return _refused(421, "this is another host")
        token, slash, name = request.path.removeprefix("/").partition("/")
        if not slash or not secrets.compare_digest(token.encode(), self.token.encode()):
            return _refused(404, "open the address that `spoor ui` printed")
        if self._folder is None:
            return await self._of_run(request, name, self._pages[""], nonce)
        if not name:
            number = _number(request.query.get("page", "1")) or 1
            table = await self._ask(runs_page, self._folder, number)
            return web.Response(text=table, content_type="text/html", charset="utf-8")
        kind, _, rest = name.partition("/")
        run, slash, name = rest.partition("/")
        # Only what the table lists: no name of a stranger's leads out of the folder.
        if kind != "run" or not slash or run not in await self._ask(run_names, self._folder):
            return _refused(404, "there is no such run")
        return await self._of_run(request, name, await self._ask(self._page_of, run), nonce)

    def _page_of(self, run: str) -> LivePage | WatchPage:
        """The page of a run in the folder. Raises InputError as `LivePage` does."""
        assert self._folder is not None
        if run not in self._pages:
            while len(self._pages) >= MOST_PAGES:
                del self._pages[next(iter(self._pages))]
            self._pages[run] = _page(self._folder / run, self.token)
        return self._pages[run]

    async def _of_run(
        self, request: web.BaseRequest, name: str, run: LivePage | WatchPage, nonce: str
    ) -> web.Response:
        method = "POST" if name == "label" else "GET"
        if name not in ("", "news", "label", "document", "file"):
            return _refused(404, "there is no such page")
        if request.method != method:
            return web.Response(status=405, text=f"by {method} only", headers={"Allow": method})
        if name == "label":
            return await self._label(request, run)
        if name == "news":
            have = {part: values[-1] for part, values in parse_qs(request.query_string).items()}
            return _json(await self._ask(run.news, have))
        if name in ("document", "file"):
            number = _number(request.query.get("page", ""))
            if number is None:
                return _refused(400, "a document is asked for by its number")
            if name == "file":
                return _download(*await self._ask(run.file, number))
            page = await self._ask(run.document, number)
        else:
            page = await self._ask(run.page, nonce)
        return web.Response(text=page, content_type="text/html", charset="utf-8")

    async def _label(self, request: web.BaseRequest, run: LivePage | WatchPage) -> web.Response:
        # A page of another site can send a form here, but not under our origin.
        if request.headers.get("Origin") != f"http://{request.host}":
            return _refused(403, "labels come from the page itself")
        body = b""
        try:
            async with asyncio.timeout(FORM_SECONDS):
                async for piece in request.content.iter_chunked(MAX_FORM):
                    body += piece
                    if len(body) > MAX_FORM:
                        return _refused(413, "too long for a label")
        except TimeoutError:
            return _refused(408, "a label comes at once")
        form = {
            name: values[-1] for name, values in parse_qs(body.decode("ascii", "replace")).items()
        }
        if not secrets.compare_digest(form.get("token", "").encode(), self.token.encode()):
            return _refused(403, "labels come from the page itself")
        number, relevant = _number(form.get("page", "")), form.get("relevant")
        if number is None or relevant not in ("yes", "no"):
            return _refused(400, "a label says yes or no of a page")
        sentence = await self._ask(run.label, number, relevant == "yes")
        if "application/json" in request.headers.get("Accept", ""):
            return _json({"said": sentence})
        page = request.path.rpartition("/")[0]
        return web.Response(status=303, headers={"Location": f"{quote(page)}/#best"})

    async def _ask(self, call: Callable[..., T], *arguments: object) -> T:
        async with self._lock:
            return await asyncio.to_thread(call, *arguments)


def _page(path: Path, token: str) -> LivePage | WatchPage:
    return WatchPage(path) if is_watch(path) else LivePage(path, token)


def _number(text: str) -> int | None:
    """A number of a page, as an address or a form gives it; None where it is none."""
    return int(text[:18]) if text.isascii() and text.isdigit() else None


def _download(name: str, data: bytes) -> web.Response:
    """Bytes of a stranger, which the browser keeps as a file and shows to nobody."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=data, content_type="application/octet-stream", headers=headers)


def _json(value: Mapping[str, Any]) -> web.Response:
    return web.Response(text=json.dumps(value), content_type="application/json")


def _refused(status: int, why: str) -> web.Response:
    return web.Response(status=status, text=f"{why}\n")
