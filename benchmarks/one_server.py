"""What a user pays where the hosts of one domain are one server: requests a second.

    PYTHONPATH=tests .venv/bin/python benchmarks/one_server.py [--seconds 20] [--delay 0.5]

Hosts at one address of loopback, all linked to each other, are crawled as `spoor crawl` does, 16
requests in flight: as hosts of one domain, which are asked as one, and as domains of their own.
Goal: the server of one domain is asked 90 % as often as its delay allows, however many hosts it
has; each host has its share; and other sites beside it are asked as often as without it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import spoor
from loopback import ADDRESS, Asked, Loopback, beside, page, reply

Log = list[tuple[float, str]]


def crawl(hosts: list[str], seconds: float, delay: float) -> Log:
    """Requests, as (seconds, host)."""
    asked_at: Log = []

    def answer(asked: Asked) -> bytes:
        asked_at.append((time.monotonic(), asked.host))
        if asked.path == "/robots.txt":
            return reply("")
        number = int(asked.path.strip("/") or 0)
        own = [f"/{number * 10 + step}" for step in range(1, 11)] if number < 10**4 else []
        return page(*own, *(f"http://{host}/{number}" for host in hosts), text="clay")

    server = Loopback(answer)
    with beside(server.serving), tempfile.TemporaryDirectory() as folder:
        spoor.run(
            [f"http://{host}/" for host in hosts],
            "clay",
            out=Path(folder) / "run",
            progress=False,
            delay=delay,
            policy="breadth-first",
            scope="anywhere",
            per_address=0,
            max_time=seconds,
            connect_to=f"{ADDRESS}:{server.port}",
            traps=True,
        )
    began = asked_at[0][0]
    return [(at - began, host) for at, host in asked_at if at - began <= seconds]


def show(name: str, log: Log, hosts: list[str], seconds: float, clocks: int, delay: float) -> None:
    """`clocks`: what these hosts would be asked by, each once in a delay."""
    times = Counter(dict.fromkeys(hosts, 0))
    times.update(host for _, host in log if host in times)
    rate, most = times.total() / seconds, clocks / delay
    least, often = min(times.values()), max(times.values())
    print(f"{name:>36} {rate:10.2f} {rate / most:9.0%} {least:5}-{often}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--delay", type=float, default=0.5)
    told = parser.parse_args()
    seconds, delay = told.seconds, told.delay
    print(f"{'hosts':>36} {'requests/s':>10} {'of most':>9} {'a host':>8}")
    for many in (1, 3, 12):
        for one_domain in (True, False) if many > 1 else (True,):
            hosts = [f"h{n}.site.example" if one_domain else f"h{n}.example" for n in range(many)]
            log = crawl(hosts, seconds, delay)
            name = f"{many} of {'one domain' if one_domain else 'as many domains'}"
            show(name, log, hosts, seconds, 1 if one_domain else many, delay)
    own = [f"h{n}.site.example" for n in range(12)]
    others = [f"other{n}.example" for n in range(4)]
    log = crawl([*own, *others], seconds, delay)
    show("12 of one domain, beside 4 others", log, own, seconds, 1, delay)
    show("these 4 others", log, others, seconds, 4, delay)


if __name__ == "__main__":
    main()
