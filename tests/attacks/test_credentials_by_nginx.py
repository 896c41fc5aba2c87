"""What a user is known by, against servers that none of us wrote: nginx with TLS by a CA of our own, straight
and through proxy.py (HTTP, and HTTP over TLS) and dante (SOCKS5)."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from attacks.test_credentials import everything
from e2e.test_proxies import started
from forked_commands import run as run_command
from loopback import ADDRESS, beside, free_ports
from nginx import nginx, require_nginx, required
from spoor.runs import files
from spoor.runs.reader import Run
from spoor.views.html import write_report

pytestmark = pytest.mark.server

HEADER, PASSWORD, TOKEN, COOKIE, SESSION, PROXY = (f"sesame-{n}-Zk4" for n in range(6))
BASIC = base64.b64encode(f"anna:{PASSWORD}".encode()).decode()
PROXY_BASIC = base64.b64encode(f"bob:{PROXY}".encode()).decode()
OWN = (HEADER, PASSWORD, BASIC, COOKIE, SESSION)
SECRETS = (*OWN, TOKEN, PROXY, PROXY_BASIC)
OTHER = "127.0.0.2"

HTTP = """    log_format told escape=json '$https|$http_host|$request_uri|$http_authorization|$http_cookie|'
        '$http_x_key|$http_referer|$http_proxy_authorization|$http_proxy_connection';
    access_log {folder}/log told;
    default_type text/html;
    map $https:$host $sets {{
        on:a.test "sid={session}; Path=/";
        on:{address} "sid={session}; Path=/";
    }}
    server {{
        listen {address}:{port} ssl;
        listen {other}:{port} ssl;
        root {folder}/site;
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        error_page 497 =200 /got;  # plain HTTP to this port
        location = /robots.txt {{ return 404; }}
        location / {{ add_header Set-Cookie $sets; }}
{redirects}
    }}
"""


class Site(NamedTuple):
    port: int
    folder: Path

    @property
    def told(self) -> list[list[str]]:
        """Of each request: whether over TLS, host, path, and the headers that may tell."""
        lines = (self.folder / "log").read_text().splitlines()
        return [line.split("|") for line in lines]


def authority(folder: Path) -> Path:
    """A CA, and a certificate by it for every name of the tests; the CA's own."""
    names = ["a.test", "*.a.test", "a.test.evil.test", "evil.test", "b.test", "localhost"]
    more = ",".join([f"DNS:{name}" for name in names] + [f"IP:{ADDRESS}", f"IP:{OTHER}"])
    (folder / "more").write_text(f"subjectAltName={more}\nauthorityKeyIdentifier=keyid\n")
    may_sign = ("-addext", "keyUsage=critical,keyCertSign")  # Python asks for it, from 3.13 on
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    for command in (
        (
            "req",
            "-x509",
            *may_sign,
            *key,
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-subj",
            "/CN=Ours",
        ),
        ("req", *key, "-keyout", "key.pem", "-out", "request", "-subj", "/CN=a.test"),
        (
            *("x509", "-req", "-in", "request", "-CA", "ca.pem", "-CAkey", "ca.key"),
            "-CAcreateserial",
            "-extfile",
            "more",
            "-out",
            "cert.pem",
        ),
    ):
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    return folder / "ca.pem"


@contextmanager
def site_of(tmp_path: Path, *hosts: str) -> Iterator[Site]:
    """A site that redirects and links to these hosts (`#` stands for its port)."""
    require_nginx()
    authority(tmp_path)
    (port,), pages = free_ports(), tmp_path / "site"
    pages.mkdir()
    targets = [f"{host.replace('#', str(port))}/got" for host in hosts]
    redirects = "\n".join(
        f"        location = /to/{at} {{ return 302 {target}; }}"
        for at, target in enumerate(targets)
    )
    links = "".join(f"<a href=/to/{at}>{at}</a> " for at in range(len(targets)))
    further = "".join(f"<a href={target}>{target}</a> " for target in targets)
    (pages / "index.html").write_text(f"<p>clay {links}{further}<a href=/second>second</a>")
    for name in ("got", "second", "again"):
        (pages / name).write_text(f"<p>clay of {name}, fired once")
    conf = {"folder": tmp_path, "port": port, "address": ADDRESS, "other": OTHER}
    with nginx(tmp_path, port, HTTP.format(redirects=redirects, session=SESSION, **conf)):
        yield Site(port, tmp_path)


def crawled(site: Site, seed: str, name: str, *more: str, **environment: str) -> Path:
    """A `spoor crawl` as a user gives it, and nothing of it in its run, exports or output."""
    folder, out = site.folder, site.folder / name
    jar, netrc = folder / "cookies.txt", folder / "netrc"
    hosts = (ADDRESS, "a.test")
    jar.write_text("".join(f"{one}\tFALSE\t/\tTRUE\t0\tuser\t{COOKIE}\n" for one in hosts))
    netrc.write_text("".join(f"machine {one} login anna password {PASSWORD}\n" for one in hosts))
    command = [
        *(sys.executable, "-m", "spoor", "crawl", seed, "--topic", "clay", "--scope", "anywhere"),
        *("--delay", "0", "--traps", "--json", "--out", str(out), "--render", "never"),
        *("--cookies", str(jar), "--netrc", str(netrc), "--header", f"X-Key: {HEADER}", *more),
    ]
    for host in (ADDRESS, OTHER, "localhost"):
        command += ["--allow-private", host]
    known = {**os.environ, "SSL_CERT_FILE": str(folder / "ca.pem"), **environment}
    known["SPOOR_BEARER"] = f"b.test={TOKEN}"
    ended = run_command(command, env=known)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["fetched"] >= 3
    assert SESSION in (out / files.COOKIES).read_text()
    (out / files.COOKIES).unlink()
    exports = folder / f"{name}-exports"
    exports.mkdir()
    for form in ("jsonl", "warc", "wacz", "sqlite"):
        assert Run(out).export(exports / f"out-{form}", form, everything=True)
    write_report(out)
    for place in (out, exports):
        for file, data in everything(place):
            assert not [one for one in SECRETS if one.encode() in data], file
    assert not any(one in ended.stdout + ended.stderr for one in SECRETS)
    return out


def check_heads(site: Site, own: str, *, direct: bool) -> set[str]:
    """What each request told, and the hosts that were asked; all of the own host's has it all."""
    hosts = set()
    for https, host, path, authorization, cookie, key, referer, proxy, connection in site.told:
        hosts.add(f"{'https' if https else 'http'}://{host}")
        told = " ".join((authorization, cookie, key))
        assert (referer, proxy, connection) == ("", "", ""), (host, path)
        if https and host == own:
            assert all(one in told for one in (HEADER, BASIC, COOKIE)), path
            assert (SESSION in told) or path in ("/", "/robots.txt") or "/to/" in path
        elif https and direct and host.startswith("a.test:"):
            # Cookies know no ports (RFC 6265, section 8.5); all else does.
            assert not any(one in told for one in (HEADER, BASIC, TOKEN)), (host, path)
        else:
            assert not any(one in told for one in OWN), (https, host, path, told)
    return hosts


HOSTILE = (
    *("https://sub.a.test", "https://evil.test", "https://a.test.evil.test", "https://b.test"),
    *("https://a.test:8443", "http://a.test"),
)


def test_straight(tmp_path: Path) -> None:
    with site_of(tmp_path, *HOSTILE) as site:
        crawled(site, "https://a.test/", "run", "--connect-to", f"{ADDRESS}:{site.port}")
    assert check_heads(site, "a.test", direct=True) == {"https://a.test", *HOSTILE}
    bearers = {row[1] for row in site.told if f"Bearer {TOKEN}" in row[3]}
    assert bearers == {"b.test"}


@asynccontextmanager
async def recording(port: int, heard: list[bytes]) -> AsyncIterator[int]:
    """Stands before a proxy, and writes down what it is sent; at the port that this gives."""

    async def pass_on(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, note: bool
    ) -> None:
        try:
            while data := await reader.read(1 << 16):
                if note:
                    heard.append(data)
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, before = await asyncio.open_connection(ADDRESS, port)
        await asyncio.gather(pass_on(reader, before, True), pass_on(behind, writer, False))

    server = await asyncio.start_server(handle, ADDRESS, 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.mark.parametrize("scheme", ["http", "https", "socks5"])
def test_through_a_proxy(tmp_path: Path, scheme: str) -> None:
    folder, (port,), heard = tmp_path, free_ports(), list[bytes]()
    if scheme == "socks5":
        program = required("danted", "dante-server")
        (folder / "socks").write_text(
            f"logoutput: {folder}/socks.log\ninternal: {ADDRESS} port = {port}\n"
            f"external: {ADDRESS}\nclientmethod: none\nsocksmethod: none\n"
            "client pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }\n"
            "socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 log: connect }\n"
        )
        command = [program, "-f", str(folder / "socks"), "-p", str(folder / "socks.pid"), "-N", "1"]
    else:
        pytest.importorskip("proxy", reason="proxy.py is not installed")
        command = [sys.executable, "-m", "proxy", "--hostname", ADDRESS, "--port", str(port)]
        command += ["--num-workers", "1", "--num-acceptors", "1", "--basic-auth", f"bob:{PROXY}"]
        if scheme == "https":
            command += [
                "--cert-file",
                str(folder / "cert.pem"),
                "--key-file",
                str(folder / "key.pem"),
            ]
    ports: list[int] = []

    @asynccontextmanager
    async def recorded() -> AsyncIterator[None]:
        async with recording(port, heard) as at:
            ports.append(at)
            yield

    others = f"https://{OTHER}:#", "https://localhost:#", f"http://{ADDRESS}:#"
    with (
        site_of(folder, *others) as site,
        started(command, port, folder / "proxy.log"),
        beside(recorded),
    ):
        proxy = f"{scheme}://{ADDRESS}:{ports[0]}"
        password = {"SPOOR_BASIC": f"{ADDRESS}:{ports[0]}=bob:{PROXY}"}
        own = f"{ADDRESS}:{site.port}"
        crawled(site, f"https://{own}/", "run", "--proxy", proxy, **password)
    hosts = check_heads(site, own, direct=False)
    assert hosts == {f"https://{own}", *(one.replace("#", str(site.port)) for one in others)}
    sent = b"".join(heard)
    assert not [one for one in (*OWN, TOKEN) if one.encode() in sent], (
        "the proxy reads nothing of it"
    )
    assert (PROXY_BASIC.encode() in sent) == (scheme == "http")
    log = (folder / "proxy.log").read_text("utf-8", "replace")
    assert not any(one in log for one in SECRETS)
