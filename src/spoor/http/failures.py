"""What went wrong with a request: exception → Failed, and Failed → words."""

from __future__ import annotations

import errno
import shlex
import ssl

import aiohttp

from spoor.errors import TOO_LITTLE_MEMORY, TOO_MANY_FILES, PausedError, SpoorError
from spoor.http.address_guard import BlockedAddressError
from spoor.http.client import LimitError
from spoor.http.proxies import SocksError
from spoor.process_memory import without_frames
from spoor.types import Failed


def failure(ticket: int, error: Exception) -> Failed:
    """What an exception of one request means to the crawl: one that nobody expected is that
    request's failure too, since no reply may end a crawl; it is dealt with then, and without its
    frames. Raises it again where it is one of ours, and PausedError where this machine is to blame.
    """
    failed = _failure(ticket, error)
    without_frames(error)
    return failed


def _failure(ticket: int, error: Exception) -> Failed:
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        raise PausedError(TOO_MANY_FILES) from error
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        raise PausedError(TOO_LITTLE_MEMORY) from error
    if isinstance(error, BlockedAddressError):
        return Failed(ticket, "blocked", str(error))
    if isinstance(error, LimitError):
        return Failed(ticket, "limit", str(error))
    if isinstance(error, TimeoutError):
        return Failed(ticket, "timeout", "no reply in time", transient=True)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return Failed(ticket, "connection", f"the proxy answers {error.status}", transient=True)
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return Failed(ticket, "connection", "the proxy cannot be reached", transient=True)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Failed(ticket, "connection", "the host's name has no address", transient=True)
    if isinstance(error, ssl.SSLError | aiohttp.ClientSSLError):
        return Failed(ticket, "connection", _insecure(error))
    if isinstance(error, aiohttp.ClientConnectionError | OSError):
        return Failed(ticket, "connection", _broken(error), transient=True)
    if isinstance(error, aiohttp.ClientResponseError):
        return Failed(ticket, "http", "what it answers is no HTTP/1")
    if isinstance(error, aiohttp.ClientError | ValueError):
        return Failed(ticket, "http", f"not understood: {type(error).__name__}")
    if isinstance(error, SpoorError):
        raise error
    return Failed(ticket, "http", f"unexpected {type(error).__name__}: {str(error)[:200]}")


_UNVERIFIED = {
    9: "its certificate is not valid yet",
    10: "its certificate has expired",
    18: "its certificate is signed by nobody known here",
    19: "its certificate is signed by nobody known here",
    20: "its certificate is signed by nobody known here",
    21: "its certificate is signed by nobody known here",
    62: "its certificate is another host's",
    64: "its certificate is another host's",
}
"""What is wrong, by the number that OpenSSL gives it."""


def _insecure(error: Exception) -> str:
    """What is wrong with TLS."""
    told = getattr(error, "os_error", error)
    if isinstance(told, ssl.SSLCertVerificationError):
        why = _UNVERIFIED.get(told.verify_code)
        return f"TLS could not be verified: {why}" if why else "TLS could not be verified"
    return "TLS failed: the host speaks another kind, or none"


_BROKEN = {
    errno.ECONNREFUSED: "connection refused",
    errno.EHOSTUNREACH: "the host cannot be reached",
    errno.ENETUNREACH: "its network cannot be reached",
    errno.ECONNRESET: "the connection was reset",
    errno.EPIPE: "the connection was reset",
    errno.ETIMEDOUT: "no reply in time",
}


def _broken(error: Exception) -> str:
    """What broke a connection. Of several addresses that were tried only the text says it."""
    told = getattr(error, "os_error", error)  # without a number: it ended while TLS began
    if isinstance(told, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError) or (
        isinstance(told, ConnectionResetError) and told.errno is None
    ):
        return "the connection was closed without a reply"
    if isinstance(told, SocksError):
        return f"the proxy does not connect: {told}"
    text = str(error)
    if "[SSL" in text:
        return "TLS broke off"
    for number, words in _BROKEN.items():
        if getattr(error, "errno", None) == number or f"[Errno {number}]" in text:
            return words
    return type(error).__name__


def in_words(failed: Failed) -> str:
    """Why a request failed, with what its user may do about it."""
    return with_advice(failed.kind, failed.reason)


def with_advice(kind: str, reason: str) -> str:
    """A kind and reason of failures, with what its user may do about it."""
    if kind == "blocked" and reason.endswith("not a public address"):
        host = reason.partition(" ")[0]
        return f"{reason}; give --allow-private {shlex.quote(host)} if you mean it"
    return reason or kind
