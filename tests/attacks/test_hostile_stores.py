"""An object store, or what stands before it, that is hostile or does not answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from loopback import ADDRESS
from spoor.errors import InputError
from spoor.formats import object_stores
from spoor.formats.object_stores import new_object

pytestmark = pytest.mark.server

SECRET = "the-token-of-a-session"


@contextmanager
def answering(answer: Callable[[socket.socket], None]) -> Iterator[tuple[int, list[bytes]]]:
    """A server that does this with each connection, once something came; its port, and what came."""
    came: list[bytes] = []
    with socket.create_server((ADDRESS, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(connection,), daemon=True).start()

        def one(connection: socket.socket) -> None:
            with connection:
                came.append(connection.recv(1 << 16))
                try:
                    answer(connection)
                except OSError:
                    return

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield server.getsockname()[1], came
        finally:
            server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def to(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def point(port: int) -> None:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_SESSION_TOKEN": SECRET,
            "AWS_MAX_ATTEMPTS": "1",
            "AWS_ENDPOINT_URL": f"http://{ADDRESS}:{port}",
            "STORAGE_EMULATOR_HOST": f"http://{ADDRESS}:{port}",
        }.items():
            monkeypatch.setenv(name, value)

    return point


def export(scheme: str) -> None:
    with new_object(f"{scheme}://corpora/x.jsonl") as part:
        part.write_text('{"text": "a document"}\n')


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_redirect_takes_nothing_to_another_host(scheme: str, to: Callable[[int], None]) -> None:
    def good(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with answering(good) as (other, taken):

        def away(connection: socket.socket) -> None:
            location = f"http://{ADDRESS}:{other}/x"
            head = f"HTTP/1.1 307 X\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(head.encode())

        with answering(away) as (port, came):
            to(port)
            with pytest.raises(InputError, match=r"redirects; nothing is sent there"):
                export(scheme)
    assert came
    assert not taken


def endless(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 403 X\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"10000\r\n" + b"<a>b" * (1 << 14) + b"\r\n")


def mute(connection: socket.socket) -> None:
    connection.recv(1 << 20)
    threading.Event().wait(20)


@pytest.mark.parametrize("answer", [endless, mute])
def test_no_answer_of_a_store_lasts_for_ever(
    answer: Callable[[socket.socket], None],
    to: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(object_stores, "PATIENCE", 2.0)
    with answering(answer) as (port, _):
        to(port)
        with pytest.raises(InputError, match=r"cannot write s3://corpora/x\.jsonl"):
            export("s3")
