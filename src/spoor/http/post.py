"""One POST to an address that the user named, from a thread that waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import aiohttp
from yarl import URL

from spoor.errors import InputError
from spoor.http.connections import BoundedConnector, tls
from spoor.http.names import Names
from spoor.http.proxies import Proxies
from spoor.settings import Settings, user_agent

_OF_THE_BODY = frozenset({400, 413, 422})
"""Statuses of answers that say that what was sent is wrong."""
_HEAD = 256 << 10
"""Bytes before the body of an answer, interim answers included."""


class RefusedError(ValueError):
    """The server says that what it was sent is wrong: it will say so again."""


def address(url: str) -> URL:
    """The address that a URL names, which may have a user and a password. Raises ValueError, whose
    text has nothing of the URL, where it names none."""
    try:
        found = URL(url)
        usable = found.scheme in ("http", "https") and bool(found.host) and found.port
    except ValueError:
        usable = None
    if not usable or not url.isprintable():
        raise ValueError("it is no http or https URL with a host")
    return found


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, seconds: float, most: int = 0
) -> bytes:
    """Send a body once, follow no redirect: the first `most` bytes of the answer. All of it takes
    at most so many seconds. Proxies are those that the environment names; passwords are those of
    the URL alone.

    Raises TimeoutError, and ValueError for an address that is none, a server that cannot be
    reached or speaks another language, and any status but 2xx (RefusedError for some); their texts
    have nothing of the URL but its host.
    """
    asked = _post(address(url), body, headers, seconds, most)
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asked)
    with ThreadPoolExecutor(1) as thread:  # a notebook's loop runs in this one
        return thread.submit(asyncio.run, asked).result()


async def _post(
    url: URL, body: bytes, headers: Mapping[str, str], seconds: float, most: int
) -> bytes:
    try:
        async with asyncio.timeout(seconds):
            proxies = Proxies(Settings(), lambda host, port: ("", ""))
            through = proxies.by_name(url)
            in_the_open = {} if through is None else dict(through.headers)
            connector = BoundedConnector(
                head_limit=_HEAD,
                body_limit=most + _HEAD,
                proxies=proxies,
                resolver=Names(),  # whose threads nobody waits for at the end
                use_dns_cache=False,
                ssl=tls(verify=True),
            )
            session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": user_agent()},
            )
            async with (
                session,
                session.post(
                    url,
                    data=body,
                    headers={**headers, **in_the_open},
                    allow_redirects=False,
                    proxy=None if through is None else through.proxy,
                    proxy_headers=None if through is None else through.proxy_headers,
                ) as reply,
            ):
                if not 200 <= reply.status < 300:
                    refused = RefusedError if reply.status in _OF_THE_BODY else ValueError
                    raise refused(f"it answered {reply.status}")
                found = bytearray()
                while len(found) < most and (part := await reply.content.read(most - len(found))):
                    found += part
                return bytes(found)
    except TimeoutError as error:
        raise TimeoutError(f"no whole answer within {seconds:g} s") from error
    except InputError as error:
        raise ValueError(str(error)) from None
    except aiohttp.ClientConnectorError as error:
        reason = error.os_error.strerror or type(error.os_error).__name__
        raise ValueError(f"it cannot be reached: {reason}") from error
    except aiohttp.ClientError as error:
        raise ValueError(f"its answer cannot be read ({type(error).__name__})") from error
