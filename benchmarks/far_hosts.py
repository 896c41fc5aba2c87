"""Big pages of far hosts: CPU a page, rate and connections, beside Scrapy and Crawlee.

    .venv/bin/python benchmarks/far_hosts.py FOLDER [--hosts 1000] [--pages 3000]
        [--size 250000] [--in-flight 64] [--slow 10] [--runs 1] [--alone]

makes pages of `--size` bytes from FOLDER's (HTML, Debian's `cppreference-doc-en-html`, say), four a
host, with as many links as these have: three of four to the same host, one to others. nginx serves
them over TLS in a network namespace, each host under an address, a name and a certificate of its
own, by an authority made for this. A forwarder before it makes the distance: each host has a round
trip of 50 to 300 ms, which the handshakes, a request and its reply take as they would on a line of
that length, without losses or a limit of its rate. (A kernel's own delay needs a module that many
machines lack.) It counts lookups of names, too: the name server of the namespace is in it.

Each crawler begins with the first page of every host, has so many requests in flight, one a host,
obeys robots.txt, and ends after `--pages`; Spoor judges, learns, archives and commits meanwhile,
with `trail` and the default judge, and checks certificates, which the others, as they are set here,
do not. Crawlee does not obey robots.txt: told to, it asks for the file of each host that a page
links to, one after the other, before it goes on, for a quarter of an hour and longer. Then the same
once more with Spoor where of a hundred hosts `--slow` answer each request after ten seconds. Server
and forwarder are pinned to one core, the crawler to another. Needs Linux, root, nginx (Debian:
nginx-light); `--alone` leaves the others out. Prints one JSON object: medians.

Beside it stands what others published (Chan 2025): 17.5 ms of CPU and $0.46 for a million of such
pages. The price here takes $0.04 for an hour of one core, and says nothing of traffic and disks.

Goals: at most 12 ms a page; with the slow hosts nine tenths of the pages a second, since nine
tenths of the hosts are as they were; connections and memory as flat as the number in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import bare_crawlers
from benchmarks.live import DURABLY, run

PAGES_A_HOST = 4
ROUND_TRIP = (0.05, 0.3)
"""Seconds, the least and the most."""
SLOW = 10.0
"""Seconds that a slow host takes for a reply."""
NETWORK = "93.184.216.0/21"
"""Looks public, so that nobody refuses it; nothing outside of the namespace can be reached."""
FIRST_ADDRESS = int.from_bytes(socket.inet_aton("93.184.216.1"))
PRICE = 0.04
"""Dollars for an hour of one core: an assumption."""

NGINX = """
user root;
worker_processes 1;
worker_rlimit_nofile 20000;
pid nginx.pid;
daemon off;
events {{ worker_connections 8000; }}
http {{
  types {{ text/html html; }}
  access_log off;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
  uwsgi_temp_path t4; scgi_temp_path t5;
  keepalive_requests 1000000;
  server {{
    listen 127.0.0.1:8443 ssl;
    ssl_certificate certificates/$ssl_server_name.pem;
    ssl_certificate_key key.pem;
    root sites/$host;
  }}
}}
"""

SPOOR = f"""
import sys
from pathlib import Path
from spoor.settings import Settings
seeds, pages, in_flight = Path(sys.argv[1]).read_text().split(), int(sys.argv[2]), int(sys.argv[3])
settings = Settings(seeds=tuple(seeds), topic="iterator", policy="trail", pages=pages,
    scope="anywhere", delay=0.0, in_flight=in_flight, render="never")
{DURABLY}
"""


def name_of(host: int) -> str:
    return f"site{host}.example"


def address_of(host: int) -> str:
    return socket.inet_ntoa((FIRST_ADDRESS + host).to_bytes(4))


def round_trip(host: int) -> float:
    """Seconds, the same in each run."""
    drawn = int.from_bytes(hashlib.sha256(name_of(host).encode()).digest()[:4]) / 2**32
    least, most = ROUND_TRIP
    return least + drawn * (most - least)


def make_sites(source: Path, place: Path, hosts: int, size: int) -> None:
    """The pages of all hosts below `place`/sites, and the seeds."""
    bodies = []
    for path in sorted(source.rglob("*.html")):
        body = path.read_bytes().partition(b"<body")[2].partition(b">")[2].partition(b"</body")[0]
        bodies += [body] if len(body) < size else []
    rng = random.Random(0)
    for host in range(hosts):
        folder = place / "sites" / name_of(host)
        folder.mkdir(parents=True)

        def link(found: re.Match[bytes], host: int = host) -> bytes:
            page = rng.randrange(PAGES_A_HOST)
            if rng.random() < 0.75:
                return b'href="/%d.html"' % page
            other = name_of(rng.randrange(hosts)).encode()
            return b'href="https://%b/%d.html"' % (other, page)

        for number in range(PAGES_A_HOST):
            page = b'<!doctype html><meta charset="utf-8"><title>%d</title>' % number
            while len(page) < size:
                page += re.sub(rb'href="[^"]*"', link, rng.choice(bodies))
            (folder / f"{number}.html").write_bytes(page[:size].rpartition(b"<")[0])
    seeds = "\n".join(f"https://{name_of(host)}/0.html" for host in range(hosts))
    (place / "seeds").write_text(seeds)


def make_certificates(place: Path, hosts: int) -> None:
    """An authority, and a certificate for each host, all with one key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    now = datetime.datetime.now(datetime.UTC)
    key, root = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())

    def signed(name: str, public: ec.EllipticCurvePublicKey, authority: bool) -> bytes:
        issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "authority")])
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=30))
            .add_extension(x509.BasicConstraints(authority, None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key()),
                critical=False,
            )
        )
        if authority:
            usage = dict.fromkeys(
                (
                    *("digital_signature", "content_commitment", "key_encipherment"),
                    *("data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
                ),
                False,
            )
            builder = builder.add_extension(
                x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True
            )
        else:
            names = x509.SubjectAlternativeName([x509.DNSName(name)])
            builder = builder.add_extension(names, critical=False)
        return builder.sign(root, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    (place / "certificates").mkdir()
    (place / "authority.pem").write_bytes(signed("authority", root.public_key(), True))
    for host in range(hosts):
        made = signed(name_of(host), key.public_key(), False)
        (place / "certificates" / f"{name_of(host)}.pem").write_bytes(made)
    (place / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


class Later(asyncio.Protocol):
    """Passes on what one side of a connection sends, some seconds later."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.first = 0.0
        """Seconds more, before the first bytes."""
        self.other: asyncio.Transport | None = None
        self.waiting: list[Callable[[], None]] | None = []
        """What came before the other side was there."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.loop = asyncio.get_running_loop()
        self.ready = self.loop.time()

    def joined(self, other: asyncio.Transport) -> None:
        """The other side is there."""
        self.other = other
        waiting, self.waiting = self.waiting or [], None
        for done in waiting:
            done()

    def _later(self, do: Callable[[], None]) -> None:
        # Not before what came earlier: calls at the same instant have no order.
        self.ready = max(self.ready + 1e-6, self.loop.time() + self.delay + self.first)
        self.first = 0.0
        self.loop.call_at(self.ready, do)

    def data_received(self, data: bytes) -> None:
        def write() -> None:
            if self.waiting is not None:
                self.waiting.append(write)
            elif self.other is not None and not self.other.is_closing():
                self.other.write(data)

        self._later(write)

    def connection_lost(self, error: Exception | None) -> None:
        def close() -> None:
            if self.waiting is not None:
                self.waiting.append(close)
            elif self.other is not None:
                self.other.close()

        self._later(close)


class Arrived(Later):
    """A connection of the crawler: the line to its host begins here."""

    def __init__(self, slow: int) -> None:
        super().__init__(0.0)
        self.slow = slow

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        address = transport.get_extra_info("sockname")[0]
        host = int.from_bytes(socket.inet_aton(address)) - FIRST_ADDRESS
        trip = round_trip(host)
        self.delay = trip / 2
        self.first = trip  # of the handshake of TCP, which is made with us
        back = trip / 2 + (SLOW if host % 100 < self.slow else 0.0)
        self.task = self.loop.create_task(self._connect(back))

    async def _connect(self, back: float) -> None:
        made = await self.loop.create_connection(lambda: Later(back), "127.0.0.1", 8443)
        there, reply = made
        reply.joined(self.transport)
        self.joined(there)


class Names(asyncio.DatagramProtocol):
    """The name server: all names of ours have an address, and only of version 4."""

    asked = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: Any) -> None:
        Names.asked += 1
        question, labels = data[12:], []
        at = 0
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode())
            at += 1 + question[at]
        question = question[: at + 5]
        found = re.fullmatch(r"site(\d+)\.example", ".".join(labels))
        answer = b""
        if found and question[at + 1 : at + 3] == b"\0\1":
            place = socket.inet_aton(address_of(int(found[1])))
            answer = b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4" + place
        flags = b"\x81\x80" if found else b"\x81\x83"
        count = b"\0\1" if answer else b"\0\0"
        head = data[:2] + flags + b"\0\1" + count + b"\0\0\0\0"
        self.transport.sendto(head + question + answer, address)


def forward(slow: int, started: threading.Event) -> None:
    """The far lines and the name server, for good."""

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        await loop.create_server(lambda: Arrived(slow), "0.0.0.0", 443, backlog=4000)
        await loop.create_datagram_endpoint(Names, ("127.0.0.1", 53))
        started.set()
        await asyncio.Event().wait()

    asyncio.run(serve())


def connections() -> int:
    """How many the crawler has open, as the kernel says."""
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(row.split()[2].endswith(":01BB") and row.split()[3] == "01" for row in rows)


@contextmanager
def network(place: Path, cores: list[int]) -> Iterator[None]:
    """In namespaces of our own: addresses, names, server."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", NETWORK, "dev", "lo"], check=True)
    (place / "resolv.conf").write_text("nameserver 127.0.0.1\n")
    subprocess.run(["mount", "--bind", place / "resolv.conf", "/etc/resolv.conf"], check=True)
    (place / "nginx.conf").write_text(NGINX.format())
    command = ["taskset", "-c", str(cores[-1]), "nginx", "-p", f"{place}/", "-c", "nginx.conf"]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        server.terminate()
        server.wait(10)


def inside(
    place: Path, code: str, python: Path | str, pages: int, in_flight: int, slow: int
) -> None:
    """One crawl, in namespaces that were just made; prints its figures."""
    cores = sorted(os.sched_getaffinity(0))
    seen: list[int] = []
    done = threading.Event()
    with network(place, cores):
        os.sched_setaffinity(0, {cores[-1]})
        started = threading.Event()
        threading.Thread(target=forward, args=(slow, started), daemon=True).start()
        started.wait(10)
        time.sleep(0.5)

        def look() -> None:
            while not done.wait(0.5):
                seen.append(connections())

        threading.Thread(target=look, daemon=True).start()
        os.environ["SSL_CERT_FILE"] = str(place / "authority.pem")
        told = [str(place / "seeds"), str(pages), str(in_flight)]
        result = run(python, code, told, cores[0])
        done.set()
    tail = seen[len(seen) // 2 :]
    result |= {
        "connections": max(seen, default=0),
        "connections_later": max(tail, default=0),
        "lookups": Names.asked,
    }
    print("RESULT " + json.dumps(result))


def crawl(place: Path, told: argparse.Namespace, name: str, slow: int) -> dict[str, Any]:
    """One crawl in namespaces of its own."""
    command = [
        *("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
        *(sys.executable, __file__, "--inside", name, str(place)),
        *("--pages", str(told.pages), "--in-flight", str(told.in_flight), "--slow", str(slow)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3600)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return dict(json.loads(line.removeprefix("RESULT ")))
    raise SystemExit(f"{name}: no result\n{done.stdout[-500:]}{done.stderr[-2000:]}")


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of several runs."""

    def median(figure: Callable[[dict[str, Any]], float]) -> float:
        return statistics.median(map(figure, rows))

    cpu = median(lambda row: 1000 * (row["cpu"] + row["children"]) / row["pages"])
    return {
        "pages": rows[0]["pages"],
        "cpu_ms_a_page": round(cpu, 2),
        "dollars_a_million_pages": round(cpu * 1000 / 3600 * PRICE, 3),
        "pages_a_second": round(median(lambda row: row["pages"] / row["wall"]), 1),
        "peak_mb": round(median(lambda row: row["mb"])),
        "connections": median(lambda row: row["connections"]),
        "connections_in_the_second_half": median(lambda row: row["connections_later"]),
        "lookups_of_names": median(lambda row: row["lookups"]),
    }


def program(name: str, pages: int, in_flight: int) -> tuple[Path | str, str]:
    """The Python and the code of a crawler."""
    if name == "scrapy":
        bare = bare_crawlers.scrapy(in_flight=in_flight, per_host=1, pages=pages, one_host=False)
        return sys.executable, bare
    if name == "crawlee":
        bare = bare_crawlers.crawlee(
            in_flight=in_flight, pages=pages, one_host=False, any_certificate=True
        )
        return bare_crawlers.CRAWLEE_PYTHON, bare
    return sys.executable, SPOOR


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=3000)
    parser.add_argument("--size", type=int, default=250_000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--slow", type=int, default=10)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--only", help="one of spoor, scrapy, crawlee")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.inside:
        python, code = program(told.inside, told.pages, told.in_flight)
        inside(told.folder, code, python, told.pages, told.in_flight, told.slow)
        return
    missing = [name for name in ("nginx", "unshare", "ip", "taskset") if not shutil.which(name)]
    if missing or os.geteuid() != 0:
        raise SystemExit(f"this benchmark needs root, nginx, unshare, ip, taskset; {missing}")
    if not told.alone:
        bare_crawlers.install_crawlee()
    plan = [("spoor", "spoor", 0), ("spoor, slow hosts", "spoor", told.slow)]
    if not told.alone:
        plan += [("scrapy", "scrapy", 0), ("crawlee", "crawlee", 0)]
    plan = [one for one in plan if told.only in (None, one[1])]
    results: dict[str, list[dict[str, Any]]] = {name: [] for name, _, _ in plan}
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)
        make_sites(told.folder, place, told.hosts, told.size)
        make_certificates(place, told.hosts)
        for _, (name, crawler, slow) in itertools.product(range(told.runs), plan):
            results[name].append(crawl(place, told, crawler, slow))
            print(name, results[name][-1], file=sys.stderr, flush=True)
    print(json.dumps({name: summary(rows) for name, rows in results.items()}, indent=1))


if __name__ == "__main__":
    main()
