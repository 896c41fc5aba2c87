"""A crawl in shards on Ray: what dies and what that loses, what the exchange costs. (What splitting
costs in harvest: `spoor lab run shards`.)

    .venv/bin/python benchmarks/shards.py deaths [--times 50] [--cluster] [--only coordinator]
    .venv/bin/python benchmarks/shards.py kills --kills 30
    .venv/bin/python benchmarks/shards.py faults
    .venv/bin/python benchmarks/shards.py cost --pages 1500
    .venv/bin/python benchmarks/shards.py latency
    .venv/bin/python benchmarks/shards.py peers PYTHON

`deaths` has each worker and the coordinator die by SIGKILL, at every named point and at random, so
many times each, on a Ray of the crawl's own or on a cluster of a head and two nodes. `kills` ends
processes of a crawl with SIGKILL at random moments (an actor, the raylet that stands
for a node, the head's GCS, the coordinator), gives the same command again where the coordinator
went, and compares with what one undisturbed process fetches. `cost` counts the CPU of all processes
of a crawl, Ray's own included. `peers` crawls the same web with two workers of scrapy-redis and
with two shards: PYTHON is one whose environment has Scrapy and scrapy-redis, and Debian's
`redis-server` is on the path. Each asks a host one thing at a time; ours also judges, learns,
archives and commits.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from spoor.errors import InputError
from spoor.live.shard import POINTS as TURN_POINTS
from spoor.runs import files
from spoor.runs.checkpoints import read_state
from spoor.runs.database import reading
from spoor.runs.writer import POINTS

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))

from kills import CountedWeb, check_run, served  # noqa: E402
from shard_kills import COORDINATOR_POINTS, IN_FLIGHT, SHARDS  # noqa: E402

CLOCK = os.sysconf("SC_CLK_TCK")


# ---------------------------------------------------------------- processes


def processes() -> dict[int, tuple[int, str, float]]:
    """Process → (parent, command, CPU seconds)."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            told = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (
                (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            )
        except OSError:
            continue
        found[int(entry.name)] = (int(told[1]), command, (int(told[11]) + int(told[12])) / CLOCK)
    return found


def below(root: int) -> dict[int, tuple[int, str, float]]:
    """The process and all that it started."""
    known, inside = processes(), {root}
    growing = True
    while growing:
        more = {pid for pid, (parent, *_) in known.items() if parent in inside} - inside
        growing = bool(more)
        inside |= more
    return {pid: known[pid] for pid in inside if pid in known}


class Meter:
    """CPU seconds of a process and all that it started, by what each is."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._last: dict[int, tuple[str, float]] = {}
        self.peak_mb = 0.0

    def look(self) -> None:
        total = 0.0
        for pid, (_, command, seconds) in below(self._root).items():
            # One that has ended and was not waited for has no command any more.
            kind = _kind(command) if command else self._last.get(pid, ("other", 0.0))[0]
            self._last[pid] = (kind, seconds)
            try:
                pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
                shared = int(Path(f"/proc/{pid}/statm").read_text().split()[2])
            except (OSError, IndexError):
                continue
            total += (pages - shared) * os.sysconf("SC_PAGE_SIZE") / 1e6
        self.peak_mb = max(self.peak_mb, total)

    def seconds(self) -> Counter[str]:
        told: Counter[str] = Counter()
        for kind, seconds in self._last.values():
            told[kind] += seconds  # type: ignore[assignment]  # a Counter of seconds
        return told


def _kind(command: str) -> str:
    for mark, kind in (
        ("ray::ShardActor", "shard"),
        ("gcs_server", "head"),
        ("raylet/raylet", "raylet"),
        ("ray::", "idle worker"),
        ("ray", "ray"),
        ("spoor", "coordinator"),
    ):
        if mark in command:
            return kind
    return "other"


def command(web: CountedWeb, out: Path, shards: int, *more: str) -> list[str]:
    split = ["--shards", str(shards)] if shards else []
    return web.command(out, "--json", *split, *more)


@contextmanager
def ended(process: subprocess.Popen[str]) -> Iterator[None]:
    """Nothing of ours is left, whatever comes."""
    try:
        yield
    finally:
        for pid in below(process.pid):
            with _gone():
                os.kill(pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _gone() -> Iterator[None]:
    with suppress(ProcessLookupError):
        yield


def start(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


# ---------------------------------------------------------------- faults


def plan_of(victim: str, how: str, times: int, rng: random.Random) -> list[list[Any]]:
    """Deaths of one process: by the points in turn, or after random seconds."""
    if how == "random":
        return [["after", rng.uniform(0.05, 3.0)] for _ in range(times)]
    if victim == "coordinator":
        points = [COORDINATOR_POINTS[at % len(COORDINATOR_POINTS)] for at in range(times)]
        # A crawl in two shards has two of them join.
        most = {"shard joined": SHARDS, "stopped": 1}
        return [[point, rng.randint(1, most.get(point, 12))] for point in points]
    opening = POINTS[: POINTS.index("exchange recorded")]
    points = [point for point in (*POINTS, *TURN_POINTS) if point != "created"]
    # A new run is created first, and only one that came to "sending" has a state to be read.
    turn = ["created", "sending", *points]
    plan = []
    for at in range(times):
        point = turn[at % len(turn)]
        rare = point in opening or point.startswith(("state", "log"))
        plan.append([point, 1 if rare else rng.randint(1, 6)])
    return plan


def deaths(times: int, pages: int, seed: int, only: str, *, cluster: bool) -> dict[str, Any]:
    """What is lost where workers or the coordinator die as planned."""
    rows: dict[str, Any] = {}
    os.environ["PYTHONPATH"] = f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    with ExitStack() as undo:
        address = undo.enter_context(two_nodes())[0].address if cluster else ""
        web = undo.enter_context(served(pages, hosts=20, latency=0.005))
        place = Path(undo.enter_context(tempfile.TemporaryDirectory()))
        plain = place / "plain"
        quick = command(web, plain, 0, "--policy", "best-first")
        subprocess.run(quick, check=True, capture_output=True, text=True)
        whole = urls(plain)
        for who in ("workers", "coordinator"):
            for how in ("points", "random"):
                if only in ("", who, how):
                    rng = random.Random(f"{seed} {who} {how}")
                    victims = [f"worker-{at}" for at in range(SHARDS)]
                    victims = victims if who == "workers" else [who]
                    plans = {victim: plan_of(victim, how, times, rng) for victim in victims}
                    found = _die(web, place / f"{who}-{how}", plans, whole, address)
                    rows[f"{who}, {how}"] = found
                    print(json.dumps({f"{who}, {how}": found}), flush=True)
    return rows


def _die(
    web: CountedWeb, place: Path, plans: dict[str, list[list[Any]]], whole: set[str], address: str
) -> dict[str, Any]:
    """Crawl, again and again, until all deaths of the plans have come."""
    told: Counter[str] = Counter()
    program = [sys.executable, "-c", "import shard_kills; shard_kills.main()"]
    while any(plans.values()):
        out = place.with_name(f"{place.name}-{told['crawls']}")
        plan_files = {victim: place.with_name(f"{out.name}.{victim}") for victim in plans}
        for victim, file in plan_files.items():
            file.write_text(json.dumps(plans[victim]))
        before = sum(map(len, plans.values()))
        web.asked.clear()
        code = -signal.SIGKILL
        while code == -signal.SIGKILL:
            process = start([*program, str(out), web.root, str(web.port), address])
            with ended(process):
                _, err = process.communicate(timeout=900)
            code = process.returncode
        if code:
            raise SystemExit(err)
        plans = {victim: json.loads(file.read_text()) for victim, file in plan_files.items()}
        died = before - sum(map(len, plans.values()))
        for folder in files.shards(out):
            check_run(folder)
        fetched = [url for url, _ in rows(out)]
        told["crawls"] += 1
        told["deaths"] += died
        told["pages"] += len(fetched)
        told["lost"] += len(whole - set(fetched))
        told["made up"] += len(set(fetched) - whole)
        told["judged twice"] += len(fetched) - len(set(fetched))
        told["refetched"] += web.again
        told["allowed"] += died * IN_FLIGHT * (SHARDS if "coordinator" in plans else 1)
        print(f"{place.name} {dict(told)}", file=sys.stderr, flush=True)
        if not died:
            raise SystemExit(f"these deaths never come: {plans}")
    return dict(told)


def kills(times: int, pages: int, shards: int, seed: int, policy: str) -> dict[str, Any]:
    """End processes at random moments until `times` are gone; what was lost."""
    rng = random.Random(seed)
    share = {"coordinator": 3, "raylet": 2, "head": 1}
    plan = [kind for kind, of_thirty in share.items() for _ in range(of_thirty * times // 30)]
    plan += ["actor"] * (times - len(plan))
    rng.shuffle(plan)
    done: Counter[str] = Counter()
    starts = 0
    with served(pages, hosts=20, latency=0.02) as web, tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain"
        more = ("--policy", policy, "--delay", "0.2")
        quick = ("--policy", policy)
        subprocess.run(command(web, plain, 0, *quick), check=True, capture_output=True, text=True)
        whole = urls(plain)
        web.asked.clear()
        out = Path(folder) / "run"
        said, code = "", 1
        while code:
            process = start(command(web, out, shards, *(more if plan else quick)))
            starts += 1
            with ended(process):
                while process.poll() is None:
                    time.sleep(rng.uniform(0.3, 2.0))
                    if not plan:
                        with suppress(subprocess.TimeoutExpired):
                            process.wait(timeout=300)
                        break
                    victim = find(process, plan[-1], rng)
                    if victim is not None and process.poll() is None:
                        with _gone():
                            os.kill(victim, signal.SIGKILL)
                            done[plan.pop()] += 1
                            print(f"{sum(done.values())} {dict(done)}", file=sys.stderr, flush=True)
                said, err = process.communicate(timeout=120)
                code = process.returncode
            print(code, err[-200:], file=sys.stderr, flush=True)
            if starts > times + 20:
                raise SystemExit(f"does not come to an end: {err}")
        told = json.loads(said.splitlines()[-1])
        fetched = [url for url, _ in rows(out)]
        return {
            "kills": dict(done),
            "kills left over": len(plan),
            "starts of the command": starts,
            "pages of one process": len(whole),
            "pages": len(fetched),
            "lost": len(whole - set(fetched)),
            "made up": len(set(fetched) - whole),
            "judged twice": len(fetched) - len(set(fetched)),
            "asked for again": web.again,
            "links": links(out),
            "reason": told["stopped_because"],
        }


def find(process: subprocess.Popen[str], kind: str, rng: random.Random) -> int | None:
    """A process of this kind that takes part; None while there is none."""
    alive = below(process.pid)
    shards = [pid for pid, (_, told, _) in alive.items() if "ray::ShardActor" in told]
    if not shards:
        return None
    if kind == "actor":
        return rng.choice(shards)
    if kind == "coordinator":
        return process.pid
    mark = {"head": "gcs_server", "raylet": "raylet/raylet"}[kind]
    found = [pid for pid, (_, told, _) in alive.items() if mark in told.split(" ")[0]]
    return rng.choice(found) if found else None


def rows(out: Path) -> list[tuple[str, float]]:
    with reading(out) as db:
        return [tuple(row) for row in db.execute("SELECT url, time FROM pages")]


def urls(out: Path) -> set[str]:
    return {url for url, _ in rows(out)}


def links(out: Path) -> dict[str, int]:
    """Links that left all shards, and that arrived at all."""
    posted = entered = kept = 0
    for folder in sorted(out.glob("shard-*")):
        with reading(folder) as db:
            row = db.execute(
                "SELECT state FROM checkpoints ORDER BY generation DESC LIMIT 1"
            ).fetchone()
            outbox = read_state(db, row["state"], source=folder.name)["outbox"]
        posted += outbox["posted"]
        entered += outbox["entered"]
        kept += sum(len(batches) for _, _, batches in outbox["out"])
    return {"posted": posted, "entered": entered, "still kept": kept}


def faults(pages: int) -> dict[str, Any]:
    """A node removed, a shard that stands still, a disk that is full: what each does to a crawl."""
    told: dict[str, Any] = {}
    with served(pages, hosts=20, latency=0.02) as web, tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain"
        quick = ("--policy", "best-first")
        subprocess.run(command(web, plain, 0, *quick), check=True, capture_output=True, text=True)
        whole = urls(plain)
        slow = (*quick, "--delay", "0.2")
        told["node removed"] = {
            **_without_a_node(command(web, Path(folder) / "node", 2, *slow)),
            **_against(whole, Path(folder) / "node"),
        }
        print(json.dumps(told), flush=True)
        out = Path(folder) / "still"
        process = start(command(web, out, 2, *slow))
        with ended(process):
            shard = _wait_for(process)
            time.sleep(3.0)
            os.kill(shard, signal.SIGSTOP)
            before = _counts(out)
            time.sleep(10.0)
            meanwhile = [now - then for now, then in zip(_counts(out), before, strict=True)]
            os.kill(shard, signal.SIGCONT)
            process.communicate(timeout=600)
        told["a shard stands still for 10 s"] = {
            "pages of each meanwhile": meanwhile,
            **_against(whole, out),
        }
        print(json.dumps(told), flush=True)
        out = Path(folder) / "full"
        small = out / "shard-1"
        small.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(small)], check=True)
        try:
            process = start(command(web, out, 2, *quick))
            with ended(process):
                _, err = process.communicate(timeout=600)
            said = err.strip().splitlines()[-1].replace(folder, "…")
            at = sum(_counts(out))
            subprocess.run(["mount", "-o", "remount,size=99m", str(small)], check=True)
            process = start(command(web, out, 2, *quick))
            with ended(process):
                process.communicate(timeout=600)
            told["a full disk"] = {"said": said, "at page": at, **_against(whole, out)}
        finally:
            subprocess.run(["umount", str(small)], check=True)
    return told


def _counts(out: Path) -> list[int]:
    told = []
    for folder in sorted(out.glob("shard-*")):
        # One that has not begun has no tables.
        with suppress(InputError), reading(folder) as db:
            told.append(db.execute("SELECT count(*) FROM pages").fetchone()[0])
    return told


def _against(whole: set[str], out: Path) -> dict[str, Any]:
    fetched = [url for url, _ in rows(out)]
    return {
        "pages": len(fetched),
        "lost": len(whole - set(fetched)),
        "judged twice": len(fetched) - len(set(fetched)),
        "links": links(out),
    }


def _wait_for(process: subprocess.Popen[str]) -> int:
    """A shard of a crawl that has begun."""
    while process.poll() is None:
        for pid, (_, told, _) in below(process.pid).items():
            if "ray::ShardActor.turn" in told:
                return pid
        time.sleep(0.2)
    raise SystemExit("it ended before it was disturbed")


@contextmanager
def two_nodes() -> Iterator[tuple[Any, list[Any]]]:
    """A cluster of a head and two nodes, on this machine, and those nodes."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    size = {"object_store_memory": 80_000_000, "include_dashboard": False}
    cluster: Any = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **size})
    try:
        nodes = [cluster.add_node(num_cpus=2, object_store_memory=80_000_000) for _ in range(2)]
        yield cluster, nodes
    finally:
        cluster.shutdown()


def _without_a_node(arguments: list[str]) -> dict[str, Any]:
    """Crawl on a cluster of a head and two nodes, one of which goes."""
    with two_nodes() as (cluster, nodes):
        process = start([*arguments, "--cluster", cluster.address])
        with ended(process):
            out = Path(arguments[arguments.index("--out") + 1])
            while sum(_counts(out)) < 100:
                time.sleep(0.5)
            cluster.remove_node(nodes[1], allow_graceful=False)
            at = sum(_counts(out))
            said, err = process.communicate(timeout=900)
        if process.returncode:
            raise SystemExit(err)
        deaths = json.loads(said.splitlines()[-1])["exchange"]["deaths"]
        return {"at page": at, "shards that came back elsewhere": deaths}


# ---------------------------------------------------------------- cost


def marginal(pages: int, repeats: int) -> None:
    """CPU of a page more: from a fifth of the pages to all, so that no start is in it."""
    for _ in range(repeats):
        few = cost(pages, [0, 2], 1, 0.0, "--pages", str(pages // 5))
        many = cost(pages, [0, 2], 1, 0.0)
        for one, other in zip(few, many, strict=True):
            new = other["pages"] - one["pages"]
            each = {
                kind: round((other["cpu_s"][kind] - one["cpu_s"].get(kind, 0.0)) * 1000 / new, 2)
                for kind in other["cpu_s"]
            }
            total = round(sum(each.values()), 2)
            print(json.dumps({"shards": one["shards"], "ms of a page more": total, **each}))


def cost(pages: int, shards: list[int], repeats: int, latency: float, *more: str) -> list[Any]:
    """CPU a page and pages a second, of one process and of shards, in turn."""
    told = []
    with served(pages, hosts=28, latency=latency) as web, tempfile.TemporaryDirectory() as folder:
        for repeat in range(repeats):
            for count in shards:
                out = Path(folder) / f"{count}-{repeat}"
                process = start(command(web, out, count, *more))
                meter = Meter(process.pid)
                with ended(process):
                    while process.poll() is None:
                        meter.look()
                        time.sleep(0.2)
                    said, err = process.communicate()
                if process.returncode:
                    raise SystemExit(err)
                summary = json.loads(said.splitlines()[-1])
                spent = meter.seconds()
                crawling = _crawling(out)
                told.append(
                    {
                        "shards": count,
                        "pages": summary["fetched"],
                        "cpu_ms_a_page": round(1000 * spent.total() / summary["fetched"], 2),
                        "cpu_s": {kind: round(value, 2) for kind, value in spent.items()},
                        "crawling_cpu_ms": summary.get("exchange", {}).get("cpu_ms_per_page"),
                        "seconds": summary["seconds"],
                        "pages_a_second": round(summary["fetched"] / crawling, 1),
                        "mb": round(meter.peak_mb),
                        "exchange": summary.get("exchange"),
                        "each": summary.get("each"),
                    }
                )
                print(json.dumps(told[-1]), flush=True)
    return told


def _crawling(out: Path) -> float:
    """Seconds from the first page to the last."""
    times = [at for _, at in rows(out)]
    return max(times) - min(times)


# ---------------------------------------------------------------- beside scrapy-redis

SPIDER = """
import json, os, sys
from scrapy.linkextractors import LinkExtractor
from scrapy_redis.spiders import RedisSpider


class All(RedisSpider):
    name = "all"
    redis_key = "all:start"
    max_idle_time = int(os.environ["IDLE"])
    custom_settings = {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "SCHEDULER_PERSIST": True,
        "REDIS_URL": os.environ["REDIS"],
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "HTTPPROXY_ENABLED": True,
    }
    extractor = LinkExtractor()

    def parse(self, response):
        with open(os.environ["PAGES"], "a") as file:
            file.write(json.dumps(response.url) + "\\n")
        for link in self.extractor.extract_links(response):
            yield response.follow(link, callback=self.parse)
"""


def scrapy_redis(python: str, web: CountedWeb, folder: Path, *, kill: bool) -> dict[str, Any]:
    """Crawl with two workers of scrapy-redis."""
    port = _free_port()
    folder.mkdir()
    spider, pages = folder / "spider.py", folder / "pages.jsonl"
    spider.write_text(SPIDER)
    url = f"redis://127.0.0.1:{port}/0"
    environment = {
        **os.environ,
        "REDIS": url,
        "PAGES": str(pages),
        "IDLE": "8",
        "http_proxy": f"http://127.0.0.1:{web.port}",
        "no_proxy": "",
    }
    with ExitStack() as undo:
        server = subprocess.Popen(
            ["redis-server", "--port", str(port), "--save", "", "--dir", str(folder)],
            stdout=subprocess.DEVNULL,
        )
        undo.callback(server.wait)
        undo.callback(server.terminate)
        time.sleep(1.0)
        subprocess.run(
            ["redis-cli", "-p", str(port), "lpush", "all:start", web.root],
            check=True,
            stdout=subprocess.DEVNULL,
        )

        def worker() -> subprocess.Popen[bytes]:
            told = [python, "-m", "scrapy", "runspider", str(spider)]
            return subprocess.Popen(told, env=environment, cwd=folder, stdin=subprocess.DEVNULL)

        workers = [worker(), worker()]
        meters = [Meter(one.pid) for one in (*workers, server)]
        killed = not kill
        while any(one.poll() is None for one in workers):
            for meter in meters:
                meter.look()
            time.sleep(0.2)
            if not killed and len(_lines(pages)) > 200:
                workers[0].kill()
                workers[0].wait()
                workers[0] = worker()
                meters.append(Meter(workers[0].pid))
                killed = True
    fetched = [json.loads(line) for line in _lines(pages)]
    spent = sum(sum(meter.seconds().values()) for meter in meters)
    return {
        "who": "scrapy-redis",
        "killed": kill,
        "pages": len(set(fetched)),
        "twice": len(fetched) - len(set(fetched)),
        "cpu_ms_a_page": round(1000 * spent / len(fetched), 2),
        "mb": round(sum(meter.peak_mb for meter in meters[:3])),
        "asked again": web.again,
    }


def _lines(pages: Path) -> list[str]:
    return pages.read_text().splitlines() if pages.exists() else []


def ours(web: CountedWeb, out: Path, *, kill: bool) -> dict[str, Any]:
    """Crawl with two shards."""
    process = start(command(web, out, 2))
    meter = Meter(process.pid)
    killed = not kill
    with ended(process):
        while process.poll() is None:
            meter.look()
            time.sleep(0.2)
            if not killed and sum(_counts(out)) > 200:
                shards = [
                    pid for pid, (_, told, _) in below(process.pid).items() if "ShardActor" in told
                ]
                if shards:
                    os.kill(shards[0], signal.SIGKILL)
                    killed = True
        _, err = process.communicate()
    if process.returncode:
        raise SystemExit(err)
    fetched = [url for url, _ in rows(out)]
    spent = meter.seconds()
    return {
        "who": "spoor --shards 2",
        "killed": kill,
        "pages": len(set(fetched)),
        "twice": len(fetched) - len(set(fetched)),
        "cpu_ms_a_page": round(1000 * sum(spent.values()) / len(fetched), 2),
        "cpu_ms_of_ray": round(
            1000
            * sum(value for kind, value in spent.items() if kind not in ("shard", "coordinator"))
            / len(fetched),
            2,
        ),
        "mb": round(meter.peak_mb),
        "pages_a_second": round(len(fetched) / _crawling(out), 1),
        "asked again": web.again,
    }


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


def peers(python: str, pages: int) -> None:
    """Both in turn, undisturbed and with a worker killed."""
    with served(pages, hosts=20) as web, tempfile.TemporaryDirectory() as folder:
        for kill in (False, True):
            for name in ("scrapy-redis", "spoor"):
                web.asked.clear()
                began = time.monotonic()
                out = Path(folder) / f"{name}-{kill}"
                if name == "spoor":
                    row = ours(web, out, kill=kill)
                else:
                    row = scrapy_redis(python, web, out, kill=kill)
                row["lost"] = pages - row["pages"]
                row["seconds"] = round(time.monotonic() - began, 1)
                print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True)
    one = commands.add_parser("deaths")
    one.add_argument("--times", type=int, default=50)
    one.add_argument("--pages", type=int, default=1200)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--cluster", action="store_true")
    only = ("workers", "coordinator", "points", "random")
    one.add_argument("--only", choices=only, default="")
    one = commands.add_parser("kills")
    one.add_argument("--kills", type=int, default=30)
    one.add_argument("--pages", type=int, default=1200)
    one.add_argument("--shards", type=int, default=2)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--policy", default="best-first")
    one = commands.add_parser("faults")
    one.add_argument("--pages", type=int, default=800)
    one = commands.add_parser("cost")
    one.add_argument("--pages", type=int, default=2500)
    one.add_argument("--repeats", type=int, default=1)
    one = commands.add_parser("latency")
    one.add_argument("--pages", type=int, default=800)
    one.add_argument("--latency", type=float, default=100.0, help="milliseconds")
    one = commands.add_parser("peers")
    one.add_argument("python")
    one.add_argument("--pages", type=int, default=1000)
    told = parser.parse_args()
    if told.what == "deaths":
        found = deaths(told.times, told.pages, told.seed, told.only, cluster=told.cluster)
        print(json.dumps(found, indent=1))
    elif told.what == "kills":
        print(
            json.dumps(kills(told.kills, told.pages, told.shards, told.seed, told.policy), indent=1)
        )
    elif told.what == "faults":
        print(json.dumps(faults(told.pages), indent=1))
    elif told.what == "cost":
        marginal(told.pages, told.repeats)
    elif told.what == "latency":
        # So few in flight a process that the network is what there is to wait for. The budget is
        # half of the web: a web crawled to its end measures the shard with the most hosts.
        budget = ("--pages", str(told.pages))
        cost(2 * told.pages, [1, 4], 1, told.latency / 1000, "--in-flight", "2", *budget)
    else:
        peers(told.python, told.pages)


if __name__ == "__main__":
    main()
