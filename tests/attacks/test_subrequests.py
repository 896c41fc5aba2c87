"""Pages in a browser that ask for more than they may."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from multidict import CIMultiDict, CIMultiDictProxy

from spoor.http import subrequests
from spoor.http.subrequests import Subrequests
from spoor.rendering import browser
from spoor.rendering.browser import HeldBackError
from spoor.web.exchange import Exchange


def exchange(url: str, headers: dict[str, str]) -> Exchange:
    known = CIMultiDictProxy(CIMultiDict(headers))
    return Exchange(url, 200, "OK", (), known, b"", b"", 0.0, 0.0)


def test_requests_that_are_held_back_have_a_bound() -> None:
    """Each may cost a look-up and a request for a robots.txt, wherever a page likes."""
    asked: list[str] = []

    async def load(url: str, kind: str) -> Exchange:
        asked.append(url)
        raise HeldBackError("robots.txt forbids it")

    async def ask() -> None:
        visit = browser._Visit(exchange("http://a.example/", {}), load, 1000)
        for number in range(browser.MOST_HELD_BACK + 50):

            async def abort(code: str) -> None:
                assert code == "blockedbyclient"

            request = SimpleNamespace(
                url=f"http://{number}.example/x.js",
                resource_type="script",
                method="GET",
                is_navigation_request=lambda: False,
            )
            route: Any = SimpleNamespace(request=request, abort=abort)
            await browser._answer(route, visit)

    asyncio.run(ask())
    assert len(asked) == browser.MOST_HELD_BACK


def test_replies_that_are_headers_only_are_kept_within_the_bound() -> None:
    nothing: Any = None
    yes, no_time = (lambda host: True), (lambda: 0.0)
    kept = Subrequests(nothing, nothing, None, nothing, yes, lambda url, kind: True, no_time)
    for number in range(400):
        url = f"http://a.example/{number}"
        kept._keep(url, exchange(url, {"Link": "x" * 200_000}))
    held = sum(len(one.headers["Link"]) for one in kept._kept.values())
    assert 0 < held <= subrequests.KEPT
