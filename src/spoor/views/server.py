"""Serves the page of a run, or of the runs in a folder, on loopback, for the person at this machine
alone, who can also label pages, stop runs and begin new ones there.

Other programs and web sites can reach a loopback port too. So the path of every URL begins with a
random token; the Host header must be ours, against other names that resolve to 127.0.0.1 (DNS
rebinding); changes need a POST from our own page; the browser stores nothing; and the page may load
nothing and run no script but its own.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote

from aiohttp import web

from spoor.errors import InputError
from spoor.runs import files
from spoor.runs.stop_request import request_stop
from spoor.views import resume_page
from spoor.views.commands import Commands
from spoor.views.control_room import ControlRoom, command_of
from spoor.views.live_page import WAIT, LivePage
from spoor.views.run_list import has_run
from spoor.views.settings_form import Form
from spoor.views.watch_page import WatchPage, is_watch

MAX_FORM = 4_096
MAX_SETTINGS = 262_144
"""Most bytes of a form: of a label and the like, and of the settings of a run."""
FORM_SECONDS = 5.0
"""Seconds in which a form has to arrive."""

MOST_PAGES = 8
"""Pages of runs that are kept in memory, of a folder of runs."""

_POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_FORMS = {
    "label": MAX_FORM,
    "stop": MAX_FORM,
    "more": MAX_FORM,
    "new": MAX_SETTINGS,
    "try": MAX_SETTINGS,
}
"""What is asked for by POST, and the most bytes of its form."""

Post = Callable[[web.BaseRequest, "Form"], Awaitable[web.Response]]
"""Answers a request that changes something, by its form."""

T = TypeVar("T")


class Ui:
    """Serves the page of a run, or of a folder of runs a control room and the page of each. Pages
    are made in a thread, one at a time; `wait`: seconds that one waits for a run to be read.

    Raises InputError as `LivePage` does, and for a folder that cannot be read."""

    def __init__(self, path: Path, *, wait: float = WAIT) -> None:
        self.token = secrets.token_urlsafe(24)
        self.port = 0
        self._path = path
        self._wait = wait
        self._lock = asyncio.Lock()
        self._comparing = asyncio.Lock()
        """Of comparisons, which take seconds for a million pages: nobody else waits."""
        self._reading = asyncio.Lock()
        """Of documents, which may take as long."""
        self._commands = Commands()
        self._beginning: dict[str, asyncio.Task[Any]] = {}
        """Path and form of a request → the command that it begins just now."""
        is_folder = not files.is_run(path) and (path.is_dir() or path == Path(files.RUNS))
        self._room = ControlRoom(path, self.token, self._commands) if is_folder else None
        self._pages: dict[str, LivePage | WatchPage] = {}
        """Name of a run → its page, as far as somebody looked at it; the one run has no name."""
        if self._room is None:
            self._page_of("")

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def finish(self) -> None:
        """Write what is owed."""
        for page in self._pages.values():
            if isinstance(page, LivePage) and page.owes:
                page.close()

    def close(self) -> None:
        """End what reads runs; runs that were begun from here go on."""
        for page in self._pages.values():
            page.close()
        self._commands.close()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        nonce = secrets.token_urlsafe(16)
        try:
            response = await self._answer(request, nonce)
        except _RefusedError as refused:
            response = refused.response
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
        if self._room is None:
            return await self._of_run(request, "", name, nonce)
        kind, _, rest = name.partition("/")
        if kind != "run":
            return await self._of_folder(request, name, self._room)
        run, slash, name = rest.partition("/")
        # No name of a stranger's leads out of the folder.
        if not slash or not await asyncio.to_thread(has_run, self._room.folder, run):
            return _refused(404, "there is no such run")
        return await self._of_run(request, run, name, nonce)

    async def _of_folder(
        self, request: web.BaseRequest, name: str, room: ControlRoom
    ) -> web.Response:
        by_post = {"new": self._begin, "try": self._try}
        by_get: Mapping[str, Callable[[], str]] = {
            "": lambda: room.table(_number(request.query.get("page", "1")) or 1),
            "new": lambda: room.form(
                command_of({"command": [request.query.get("command", "")]}),
                from_run=request.query.get("from", "")[:255],
            ),
            "compare": lambda: room.compare(request.query.getall("run", [])),
        }
        return await self._by_method(request, name, by_get, by_post)

    async def _begin(self, request: web.BaseRequest, form: Form) -> web.Response:
        assert self._room is not None
        room = self._room
        try:
            run = await self._once(request, form, lambda: room.begin(form))
        except InputError as error:
            wrong = str(error)
            return _html(
                await self._ask(lambda: room.form(command_of(form), form, wrong=wrong)), 400
            )
        return _seen(f"/{self.token}/run/{quote(run)}/")

    async def _try(self, request: web.BaseRequest, form: Form) -> web.Response:
        assert self._room is not None
        room, wrong, tried = self._room, "", None
        try:
            tried = await asyncio.to_thread(room.try_words, form)
        except InputError as error:
            wrong = str(error)
        made = await self._ask(lambda: room.form(command_of(form), form, wrong=wrong, tried=tried))
        return _html(made, 400 if wrong else 200)

    def _page_of(self, run: str) -> LivePage | WatchPage:
        """The page of a run in the folder, or of the one run. Raises InputError as `LivePage`
        does."""
        if run not in self._pages:
            while len(self._pages) >= MOST_PAGES:
                self._pages.pop(next(iter(self._pages))).close()
            path, home = self._path_of(run), "../../" if run else ""
            if is_watch(path):
                self._pages[run] = WatchPage(path, self.token, home=home)
            else:
                self._pages[run] = LivePage(path, self.token, wait=self._wait, home=home)
        return self._pages[run]

    def _path_of(self, run: str) -> Path:
        return self._path / run if run else self._path

    async def _of_run(
        self, request: web.BaseRequest, run: str, name: str, nonce: str
    ) -> web.Response:
        query, path = request.query, self._path_of(run)
        page: LivePage | WatchPage = await self._ask(lambda: self._page_of(run))
        by_get: dict[str, Callable[[], str | web.Response]] = {
            "": lambda: page.page(nonce),
            "news": lambda: _json(page.news(_last_of(parse_qs(request.query_string)))),
            "more": lambda: resume_page.page(path, self.token),
        }
        by_post: dict[str, Post] = {
            "stop": lambda request, form: self._stop(request, path),
            "more": lambda request, form: self._go_on(request, path, form),
        }
        if isinstance(page, LivePage):
            crawl, number = page, _number(query.get("page", ""))
            by_get["pages"] = lambda: crawl.listed(
                _number(query.get("after", "")) or 0,
                everything=query.get("which") == "all",
                nonce=nonce,
            )
            by_get["hosts"] = lambda: crawl.hosts(number or 1)
            by_get["document"] = lambda: crawl.document(_given(number))
            by_get["file"] = lambda: _download(*crawl.file(_given(number)))
            by_post["label"] = lambda request, form: self._label(
                request, form, lambda one, relevant: crawl.label(_labelled(one), relevant), "best"
            )
        else:
            label = page.label
            by_post["label"] = lambda request, form: self._label(request, form, label, "stories")
        return await self._by_method(request, name, by_get, by_post)

    async def _by_method(
        self,
        request: web.BaseRequest,
        name: str,
        by_get: Mapping[str, Callable[[], str | web.Response]],
        by_post: Mapping[str, Post],
    ) -> web.Response:
        """Answer by what there is under a name for the method of a request."""
        methods = [
            method for method, known in (("GET", by_get), ("POST", by_post)) if name in known
        ]
        if not methods:
            return _refused(404, "there is no such page")
        if request.method not in methods:
            allowed = {"Allow": ", ".join(methods)}
            return web.Response(status=405, text=f"by {methods[0]} only", headers=allowed)
        if request.method == "POST":
            return await by_post[name](request, await self._form(request, _FORMS[name]))
        locks = {"compare": self._comparing, "document": self._reading, "file": self._reading}
        made = await self._ask(by_get[name], locks.get(name))
        return _html(made) if isinstance(made, str) else made

    async def _form(self, request: web.BaseRequest, most: int) -> Form:
        """The form of a request that changes something. Raises _RefusedError where it does not come
        from a page of ours."""
        # A page of another site can send a form here, but not under our origin.
        if request.headers.get("Origin") != f"http://{request.host}":
            raise _RefusedError(403, "this comes from the page itself")
        body = b""
        try:
            async with asyncio.timeout(FORM_SECONDS):
                async for piece in request.content.iter_chunked(most):
                    body += piece
                    if len(body) > most:
                        raise _RefusedError(413, "too long a form")
        except TimeoutError:
            raise _RefusedError(408, "a form comes at once") from None
        except web.RequestPayloadError:
            raise _RefusedError(400, "this form cannot be read") from None
        form = parse_qs(body.decode("ascii", "replace"), keep_blank_values=True)
        if not secrets.compare_digest("".join(form.get("token", ())).encode(), self.token.encode()):
            raise _RefusedError(403, "this comes from the page itself")
        return form

    async def _label(
        self, request: web.BaseRequest, form: Form, label: Callable[[str, bool], str], section: str
    ) -> web.Response:
        """Label what stands in a section of a page."""
        given = _last_of(form)
        one, relevant = given.get("page", ""), given.get("relevant")
        if relevant not in ("yes", "no"):
            raise _RefusedError(400, _NO_LABEL)
        sentence = await self._ask(lambda: label(one, relevant == "yes"))
        if "application/json" in request.headers.get("Accept", ""):
            return _json({"said": sentence})
        return _seen(f"{quote(request.path.rpartition('/')[0])}/#{section}")

    async def _stop(self, request: web.BaseRequest, path: Path) -> web.Response:
        await asyncio.to_thread(request_stop, path)
        return _seen(f"{quote(request.path.rpartition('/')[0])}/")

    async def _go_on(self, request: web.BaseRequest, path: Path, form: Form) -> web.Response:
        try:
            await self._once(request, form, lambda: resume_page.go_on(path, form, self._commands))
        except InputError as error:
            wrong = str(error)
            return _html(await self._ask(lambda: resume_page.page(path, self.token, wrong)), 400)
        return _seen(f"{quote(request.path.rpartition('/')[0])}/")

    async def _once(self, request: web.BaseRequest, form: Form, call: Callable[[], T]) -> T:
        """What a call returns, in a thread. A form that is sent again meanwhile, as by a double
        click, is answered with it."""
        key = json.dumps([request.path, form])
        if key not in self._beginning:
            task = self._beginning[key] = asyncio.create_task(asyncio.to_thread(call))
            task.add_done_callback(lambda _: self._beginning.pop(key))
        begun: T = await asyncio.shield(self._beginning[key])
        return begun

    async def _ask(self, call: Callable[[], T], lock: asyncio.Lock | None = None) -> T:
        async with lock or self._lock:
            return await asyncio.to_thread(call)


class _RefusedError(Exception):
    """A request that is not answered otherwise."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.response = _refused(status, why)


_NO_LABEL = "a label says yes or no of a page"


def _labelled(text: str) -> int:
    if (number := _number(text)) is None:
        raise _RefusedError(400, _NO_LABEL)
    return number


def _given(number: int | None) -> int:
    if number is None:
        raise _RefusedError(400, "a document is asked for by its number")
    return number


def _last_of(form: Form) -> dict[str, str]:
    return {name: values[-1] for name, values in form.items()}


def _number(text: str) -> int | None:
    """A number of a page, as an address or a form gives it; None where it is none."""
    return int(text[:18]) if text.isascii() and text.isdigit() else None


def _html(text: str, status: int = 200) -> web.Response:
    return web.Response(text=text, status=status, content_type="text/html", charset="utf-8")


def _seen(address: str) -> web.Response:
    """To be looked at there, by GET."""
    return web.Response(status=303, headers={"Location": address})


def _download(name: str, data: bytes) -> web.Response:
    """Bytes of a stranger, which the browser keeps as a file and shows to nobody."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return web.Response(body=data, content_type="application/octet-stream", headers=headers)


def _json(value: Mapping[str, Any]) -> web.Response:
    return web.Response(text=json.dumps(value), content_type="application/json")


def _refused(status: int, why: str) -> web.Response:
    return web.Response(status=status, text=f"{why}\n")
