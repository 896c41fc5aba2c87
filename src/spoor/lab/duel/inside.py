"""One crawl inside its own network: `python -m spoor.lab.duel.inside FOLDER`, in new namespaces.

The network has one interface, on which nginx answers for every host of the task under an address
that looks public; the hosts file has the names, and there is no name server. The process is the
first of its process namespace, so that all that a rival starts ends with it and is counted: CPU by
the kernel when a process ends, memory as the largest sum of what its processes have (Pss), looked
at five times a second. FOLDER/cell.json says what to run; FOLDER/log.jsonl and FOLDER/outcome.json
are left there. Where it has `kill_at`, all processes of the rival are killed once it asked for so
many pages, and it is started again in the folder that they left.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from spoor.lab.duel.score import request_of

LOOK = 0.2
"""Seconds between two looks at the log and the memory."""
KILLED = "killed"
GRACE = 240.0
"""Seconds that a rival has to end by itself, once the log has its budget."""

CONFIGURATION = """
user root;
worker_processes 1;
daemon off;
pid nginx.pid;
error_log nginx-errors.log;
events {{ worker_connections 512; }}
http {{
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  charset utf-8;
  charset_types text/plain;
  autoindex on;
  keepalive_requests 1000000;
  client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
  uwsgi_temp_path t4; scgi_temp_path t5;
{limit}
  log_format duel escape=json '{{"url":"$scheme://$host$request_uri","method":"$request_method",'
    '"status":$status,"bytes":$bytes_sent,"type":"$sent_http_content_type","at":$msec,'
    '"agent":"$http_user_agent"}}';
  access_log log.jsonl duel;
{servers}
}}
"""
SERVER = (
    "  server {{ listen {address}:80; server_name {host}; location {path} {{ alias {root}/; }} }}"
)
LIMIT = """  limit_req_zone $server_name zone=rate:1m rate={rate}r/s;
  limit_req zone=rate burst=100000;
  limit_req_log_level info;"""


def main(folder: Path) -> None:
    """Run what `cell.json` says."""
    cell = json.loads((folder / "cell.json").read_text())
    bring_up(cell["servers"], folder, cell.get("rate"))
    with subprocess.Popen(
        ["nginx", "-p", f"{folder}/", "-e", "nginx-errors.log", "-c", "nginx.conf"],
        stdin=subprocess.DEVNULL,
    ) as server:
        wait_for(cell["servers"][0]["address"])
        began = time.monotonic()
        log = folder / "log.jsonl"
        rival = start(cell, folder)
        ended, peak = watch(rival, log, cell, server.pid, cell.get("kill_at"))
        before: dict[str, int] = {}
        if ended == KILLED:
            end_all(spared=server_processes(server.pid))
            time.sleep(LOOK)  # what was under way is logged
            before = {"before_kill": len(log.read_text("utf-8").splitlines())}
            rival = start(cell, folder)
            ended, peak = watch(rival, log, cell, server.pid)
        seconds = time.monotonic() - began
        end_all(spared=server_processes(server.pid))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        outcome = {
            "ended": ended,
            "exit": rival.returncode,
            "seconds": round(seconds, 2),
            "cpu_seconds": round(used.ru_utime + used.ru_stime, 2),
            "peak_mb": round(peak / 1024),
            **before,
        }
        server.send_signal(signal.SIGQUIT)
    (folder / "outcome.json").write_text(json.dumps(outcome))


def start(cell: dict[str, Any], folder: Path) -> subprocess.Popen[bytes]:
    """Start the rival; what it prints is added to FOLDER/output."""
    with (folder / "output").open("ab") as output:
        return subprocess.Popen(
            cell["command"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=cell["environment"],
            cwd=folder,
            start_new_session=True,
        )


def bring_up(servers: Iterable[dict[str, str]], folder: Path, rate: int | None) -> None:
    """The interface, its addresses, the names, and what nginx is told: with `rate`, to answer so
    many requests a second."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    names = ["127.0.0.1 localhost"]
    for server in servers:
        subprocess.run(["ip", "address", "add", f"{server['address']}/32", "dev", "lo"], check=True)
        names.append(f"{server['address']} {server['host']}")
    for name, text in (("hosts", "\n".join(names) + "\n"), ("resolv.conf", "")):
        (folder / name).write_text(text)
        subprocess.run(["mount", "--bind", folder / name, f"/etc/{name}"], check=True)
    (folder / "nginx.conf").write_text(
        CONFIGURATION.format(
            servers="\n".join(SERVER.format(**server) for server in servers),
            limit=LIMIT.format(rate=rate) if rate else "",
        )
    )


def wait_for(address: str) -> None:
    """Until the server answers; ten seconds at most."""
    last = time.monotonic() + 10
    while True:
        try:
            socket.create_connection((address, 80), 1).close()
            return
        except OSError:
            if time.monotonic() > last:
                raise
            time.sleep(0.02)


def watch(
    rival: subprocess.Popen[bytes],
    log: Path,
    cell: dict[str, Any],
    server: int,
    kill_at: int | None = None,
) -> tuple[str, int]:
    """Wait until the rival is done, or end it; (how it ended, peak memory in KiB). KILLED where it
    asked for `kill_at` pages: then the caller kills it."""
    pages, peak = 0, 0
    began = time.monotonic()
    full: float | None = None
    with log.open(encoding="utf-8") as lines:
        rest = ""
        while rival.poll() is None:
            time.sleep(LOOK)
            peak = max(peak, memory(server_processes(server)))
            more, rest = whole_lines(lines, rest)
            pages += sum(request_of(line, str(log)).kind == "page" for line in more)
            if kill_at is not None and pages >= kill_at:
                return KILLED, peak
            now = time.monotonic()
            if full is None and pages >= cell["pages"]:
                full = now
            if full is not None and (pages >= 2 * cell["pages"] or now - full > GRACE):
                return end(rival, "had its requests"), peak
            if now - began > cell["seconds"]:
                return end(rival, "had its time"), peak
    return "by itself", peak


def whole_lines(lines: TextIO, rest: str) -> tuple[list[str], str]:
    """Lines that were written since, and what is begun of the next."""
    text = rest + lines.read()
    *whole, begun = text.split("\n")
    return [line for line in whole if line], begun


def end(rival: subprocess.Popen[bytes], why: str) -> str:
    """Ask it to end, then end it."""
    rival.send_signal(signal.SIGINT)
    try:
        rival.wait(10)
    except subprocess.TimeoutExpired:
        rival.kill()
        rival.wait()
    return why


def processes() -> dict[int, int]:
    """Process → its parent, of this namespace."""
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                stat = Path("/proc", entry, "stat").read_text()
            except OSError:
                continue
            found[int(entry)] = int(stat.rpartition(")")[2].split()[1])
    return found


def server_processes(server: int) -> set[int]:
    """This process, nginx and its workers."""
    return {os.getpid(), server, *(pid for pid, above in processes().items() if above == server)}


def memory(spared: set[int]) -> int:
    """KiB that all other processes have, what they share divided among them."""
    total = 0
    for pid in processes().keys() - spared:
        try:
            rollup = Path("/proc", str(pid), "smaps_rollup").read_text()
        except OSError:
            continue
        found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
        total += int(found[1]) if found else 0
    return total


def end_all(spared: set[int]) -> None:
    """End every other process and wait for it, so that its CPU is counted."""
    while left := processes().keys() - spared:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
