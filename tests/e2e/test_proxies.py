"""Crawls through proxies that none of us wrote: proxy.py (HTTP) and dante (SOCKS5)."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from attacks.test_credentials import certificate
from loopback import ADDRESS, MISSING, Asked, Loopback, beside, free_ports, page, refusal
from spoor.errors import InputError
from spoor.http.address_guard import AddressGuard
from spoor.http.client import Client
from spoor.http.failures import failure
from spoor.http.post import post
from spoor.http.proxies import Proxies
from spoor.settings import Settings

pytestmark = pytest.mark.server


@contextlib.contextmanager
def started(command: list[str], port: int, log: Path) -> Iterator[int]:
    """A server that listens on a port of this machine."""
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as process:
        try:
            end = time.monotonic() + 100
            while True:
                with contextlib.suppress(OSError), socket.create_connection((ADDRESS, port)):
                    break
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end
                time.sleep(0.02)
            yield port
        finally:
            process.terminate()
            process.wait(100)


@pytest.fixture(scope="module")
def http_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """proxy.py, which asks for a password; its port and its log."""
    pytest.importorskip("proxy", reason="proxy.py is not installed")
    folder, (port,) = tmp_path_factory.mktemp("proxy"), free_ports()
    command = [sys.executable, "-m", "proxy", "--hostname", ADDRESS, "--port", str(port)]
    options = ["--num-workers", "1", "--num-acceptors", "1", "--basic-auth", "anna:sesame"]
    with started([*command, *options], port, folder / "log"):
        yield port, folder / "log"


@pytest.fixture(scope="module")
def socks_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """dante, which writes down what it was asked to connect to."""
    program = shutil.which("danted") or shutil.which("danted", path="/usr/sbin")
    if program is None:
        pytest.skip("danted is not installed (Debian: dante-server)")
    folder, (port,) = tmp_path_factory.mktemp("dante"), free_ports()
    (folder / "conf").write_text(
        f"logoutput: {folder}/log\ninternal: {ADDRESS} port = {port}\nexternal: {ADDRESS}\n"
        "clientmethod: none\nsocksmethod: none\n"
        "client pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }\n"
        "socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 log: connect }\n"
    )
    command = [program, "-f", str(folder / "conf"), "-p", str(folder / "pid"), "-N", "1"]
    with started(command, port, folder / "out"):
        yield port, folder / "log"


def answer(asked: Asked) -> bytes:
    return MISSING if asked.path == "/robots.txt" else page(text="clay")


def get(url: str, **given: object) -> int | str:
    """The status of one request, or why it failed."""

    async def go() -> int | str:
        settings = Settings(**({"timeout": 60.0, "verify_tls": False} | given))  # type: ignore[arg-type]
        guard = AddressGuard(settings)
        client = Client(settings, guard)
        try:
            return (await client.get(url, 0.0)).status
        except Exception as error:
            return failure(0, error).reason
        finally:
            await client.close()
            await guard.close()

    return asyncio.run(go())


def test_an_http_proxy_with_a_password(
    http_proxy: tuple[int, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port, _ = http_proxy
    proxy = f"http://{ADDRESS}:{port}"
    plain, secured = Loopback(answer), Loopback(answer)
    with beside(plain.serving), beside(lambda: secured.serving(tls=certificate(tmp_path))):
        urls = f"http://{ADDRESS}:{plain.port}/", f"https://{ADDRESS}:{secured.port}/"
        private = (ADDRESS,)
        for url in urls:
            assert get(url, proxy=proxy) == f"{ADDRESS} is not a public address"
        assert get(urls[0], proxy=proxy, allow_private=private) == 407
        assert get(urls[1], proxy=proxy, allow_private=private) == "the proxy answers 407"
        assert not plain.asked + secured.asked
        monkeypatch.setenv("SPOOR_BASIC", f"{ADDRESS}:{port}=anna:sesame")
        for url in urls:
            assert get(url, proxy=proxy, allow_private=private) == 200
        monkeypatch.delenv("SPOOR_BASIC")
        # The environment's proxies are not for this machine itself, but for all others.
        monkeypatch.setenv("http_proxy", f"http://anna:sesame@{ADDRESS}:{port}")
        monkeypatch.setenv("no_proxy", "intranet.example")
        assert get(urls[0], allow_private=private) == 200
        post(urls[0], b"{}", {}, seconds=20)
        for name in ("localhost.localdomain", "far.example"):
            assert "not a public address" in str(get(f"http://{name}/")) or "no address" in str(
                get(f"http://{name}/")
            )
    for server in (plain, secured):
        assert server.heads
        assert not any("proxy-auth" in head.lower() or "sesame" in head for head in server.heads)
    assert not any("authorization" in head.lower() for head in plain.heads)


def test_what_is_posted_has_no_password_that_nobody_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "netrc"
    known.write_text("default login anna password sesame\n")
    known.chmod(0o600)
    monkeypatch.setenv("NETRC", str(known))
    server = Loopback(answer)
    with beside(server.serving):
        url = f"http://{ADDRESS}:{server.port}/"
        post(url, b"{}", {}, seconds=20)
        post(url, b"{}", {"Authorization": "Bearer key"}, seconds=20)
    told = [line for head in server.heads for line in head.splitlines() if "Author" in line]
    assert told == ["Authorization: Bearer key"]


def test_what_is_wrong_with_tls_is_told_apart(tmp_path: Path) -> None:
    """A host that speaks none was said to be one that cannot be verified, and of one that closes
    the name of a class was told."""
    secured, (port,) = Loopback(answer), free_ports()
    says = dict[str, bytes]()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1 << 16)  # what is left unread would make of the end a reset
        writer.write(says["now"])
        writer.close()

    @contextlib.asynccontextmanager
    async def plain() -> AsyncIterator[None]:
        async with await asyncio.start_server(refuse, ADDRESS, port):
            yield

    with beside(plain), beside(lambda: secured.serving(tls=certificate(tmp_path))):
        private = (ADDRESS,)
        unknown = get(f"https://{ADDRESS}:{secured.port}/", allow_private=private, verify_tls=True)
        why = "its certificate is signed by nobody known here"
        assert unknown == f"TLS could not be verified: {why}"
        for said, why in (
            (b"HTTP/1.1 400 No\r\n\r\n", "TLS failed: the host speaks another kind, or none"),
            (b"", "the connection was closed without a reply"),
        ):
            says["now"] = said
            for verify in (False, True):
                told = get(f"https://{ADDRESS}:{port}/", allow_private=private, verify_tls=verify)
                assert told == why


def test_a_server_of_tls_that_says_no_goodbye_holds_no_socket(tmp_path: Path) -> None:
    """Its connection was left open by a client that had ended."""
    tls, left = certificate(tmp_path), list[bytes]()

    def serve(listening: socket.socket) -> None:
        with tls.wrap_socket(listening.accept()[0], server_side=True) as secured:
            secured.recv(1 << 16)
            secured.sendall(page(text="clay"))
            assert over.wait(60)
            left.append(secured.recv(1 << 16))
            with socket.socket(fileno=secured.detach()) as connection:
                connection.settimeout(20)
                left.append(connection.recv(1 << 16))

    over = threading.Event()
    with socket.create_server((ADDRESS, 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        port = listening.getsockname()[1]
        assert get(f"https://{ADDRESS}:{port}/", allow_private=(ADDRESS,)) == 200
        over.set()
        thread.join(60)
    assert left == [b"", b""], "the goodbye, and the end of the connection"


def test_a_proxy_that_is_not_there() -> None:
    (port,) = free_ports()
    for scheme in ("http", "https", "socks5"):
        why = get(
            "http://192.0.2.1/", proxy=f"{scheme}://{ADDRESS}:{port}", allow_private=("192.0.2.1",)
        )
        assert why in ("the proxy cannot be reached", "connection refused"), scheme


def test_a_socks5_proxy_is_given_addresses(socks_proxy: tuple[int, Path], tmp_path: Path) -> None:
    port, log = socks_proxy
    proxy = f"socks5://{ADDRESS}:{port}"
    plain, secured = Loopback(answer), Loopback(answer)
    with beside(plain.serving), beside(lambda: secured.serving(tls=certificate(tmp_path))):
        urls = f"http://localhost:{plain.port}/", f"https://localhost:{secured.port}/"
        for url in urls:
            assert "not a public address" in str(get(url, proxy=proxy))
        assert not plain.asked + secured.asked
        for url in urls:
            assert get(url, proxy=proxy, allow_private=("localhost",)) == 200
    assert f"{ADDRESS}.{plain.port}" in log.read_text(), "it was given an address"
    assert "localhost" not in log.read_text()


def test_which_proxy_a_url_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from yarl import URL

    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("ALL_PROXY", "socks5h://me:p%40ss@socks.example")
    monkeypatch.setenv("NO_PROXY", "intranet.example,10.0.0.1")

    def of(url: str, **given: object) -> str:
        proxy = Proxies(Settings(**given), lambda host, port: ("", "")).of(URL(url))  # type: ignore[arg-type]
        return "" if proxy is None else str(proxy.url)

    assert of("https://a.example/") == "http://proxy.example:3128"
    assert of("http://a.example/") == "socks5://socks.example:1080"
    known = Proxies(Settings(), lambda host, port: ("", "")).of(URL("http://a.example/"))
    assert known is not None
    assert (known.user, known.password) == ("me", "p@ss")
    assert "p@ss" not in repr(known) + str(known.url)
    for url in ("http://x.intranet.example/", "http://10.0.0.1/", "http://localhost:8/"):
        assert of(url) == ""
    assert (
        of("http://a.example/", proxy="direct")
        == of("http://a.example/", connect_to="127.0.0.1:1")
        == ""
    )
    assert of("http://localhost/", proxy="https://p.example:8443") == "https://p.example:8443"
    monkeypatch.setenv("HTTPS_PROXY", "ftp://x")
    with pytest.raises(InputError, match="https_proxy is not the URL"):
        of("https://a.example/")
    for wrong in (
        "http://me:secret@p.example:80",
        "p.example:80",
        "ftp://p.example:21",
        "http://p",
    ):
        with pytest.raises(InputError):
            Settings(proxy=wrong)


@pytest.mark.parametrize("answers", [b"\x05\xff", b"\x04\x00", b"\x05\x00\x05\x01\x00\x01"])
def test_what_a_socks5_proxy_answers_is_told_in_words(answers: bytes) -> None:
    pytest.importorskip("python_socks")

    async def go() -> Exception | None:
        async def reply(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(answers[:2])
            await reader.read(100)
            writer.write(answers[2:] + bytes(6))
            writer.close()

        async with await asyncio.start_server(reply, ADDRESS, 0) as server:
            proxy = f"socks5://{ADDRESS}:{server.sockets[0].getsockname()[1]}"
            return await refusal("http://93.184.215.14/", Settings(per_host=100, proxy=proxy))

    refused = asyncio.run(go())
    assert refused is not None
    assert failure(7, refused).reason.startswith("the proxy does not connect: ")
