"""`spoor crawl`: a live, polite, focused crawl that can be stopped and gone on with."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoor.errors import InputError

if TYPE_CHECKING:
    from spoor.crawl import Crawl
    from spoor.drivers.http.folder import RunFolder
    from spoor.drivers.http.live import Live
    from spoor.judges.topic import TopicFile
    from spoor.protocols import Judge
    from spoor.types import Deferred, Fetch, Outcome

DEFAULT_POLICY = "best-first"

CHECKPOINT_SHARE = 0.05
"""At most this share of the time goes into checkpoints, once there is much to save."""

CHECKPOINT_SECONDS = 5.0


def add(app: typer.Typer) -> None:
    app.command()(crawl)


def crawl(
    seeds: Annotated[
        list[str], typer.Argument(help="URLs to begin at, or files of URLs, one a line.")
    ],
    topic: Annotated[str | None, typer.Option(help="What is wanted, in words.")] = None,
    topic_file: Annotated[Path | None, typer.Option(help="What is wanted: a TOML file.")] = None,
    want: Annotated[
        list[str] | None,
        typer.Option(help="url:REGEX, type:GLOB, text:WORDS or topic:FILE; several are or-ed."),
    ] = None,
    policy: Annotated[str, typer.Option(help="See `spoor policies`.")] = DEFAULT_POLICY,
    param: Annotated[list[str] | None, typer.Option(help="A parameter: name=value.")] = None,
    model: Annotated[Path | None, typer.Option(help="What `spoor train` wrote.")] = None,
    vectors: Annotated[Path | None, typer.Option(help="Word vectors (GloVe, word2vec).")] = None,
    pages: Annotated[int, typer.Option(min=1, help="Budget of pages.")] = 1000,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (runs/TIME).")] = None,
    delay: Annotated[float, typer.Option(min=0, help="Seconds between two requests.")] = 1.0,
    per_host: Annotated[int, typer.Option(min=1, help="Requests to a host at a time.")] = 1,
    in_flight: Annotated[int, typer.Option(min=1, help="Requests in flight in all.")] = 16,
    scope: Annotated[str, typer.Option(help="host, domain (of the seeds) or anywhere.")] = "domain",
    max_depth: Annotated[int | None, typer.Option(min=0, help="Links from a seed.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    allow_private: Annotated[
        list[str] | None,
        typer.Option(help="A host whose loopback or private address may be connected to."),
    ] = None,
    connect_to: Annotated[
        str | None, typer.Option(help="ADDRESS:PORT that every host stands for (a served web).")
    ] = None,
    contact: Annotated[str, typer.Option(help="URL or mail address of whoever crawls.")] = "",
    robots: Annotated[bool, typer.Option(help="Obey robots.txt.")] = True,
    warc: Annotated[bool, typer.Option(help="Write pages.warc.gz.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Crawl from SEEDS for what is wanted. The same command on the same --out goes on."""
    from spoor.drivers.http.folder import RunFolder
    from spoor.lab.cell import parse_params

    if scope not in ("host", "domain", "anywhere"):
        raise InputError(f"unknown scope {scope!r}; it is 'host', 'domain' or 'anywhere'")
    urls = read_seeds(seeds)
    judge, subject = wanted(topic, topic_file, want or [])
    settings = {
        "crawl": {
            "seeds": urls,
            "topic": topic or "",
            "topic_file": str(topic_file or ""),
            "want": list(want or []),
            "policy": policy,
            "params": parse_params(param or []),
            "model": str(model or ""),
            "vectors": str(vectors or ""),
            "scope": scope,
            "max_depth": -1 if max_depth is None else max_depth,
            "seed": seed,
        },
        "manners": {
            "delay": delay,
            "per_host": per_host,
            "in_flight": in_flight,
            "robots": robots,
            "contact": contact,
            "allow_private": list(allow_private or []),
            "connect_to": connect_to or "",
        },
        "pages": pages,
    }
    engine = make_crawl(settings, judge, subject)
    http = make_http(settings)
    path = out or Path("runs") / time.strftime("%Y-%m-%d-%H%M%S")
    folder = RunFolder(path, settings, warc=warc)
    try:
        run = Run(folder, engine, http, urls, quiet=as_json)
        reason = run.run()
    finally:
        folder.close()
    from spoor.lab.report import report_of_run

    report_of_run(path)
    summary = run.summary(reason)
    typer.echo(json.dumps(summary) if as_json else describe(summary, path))
    if reason in ("interrupted", "aborted") or not summary["fetched"]:
        raise typer.Exit(1)


def read_seeds(given: Sequence[str]) -> list[str]:
    """Canonical URLs from arguments and files. Raises InputError naming file and line."""
    from spoor.urls import canonical

    urls: list[str] = []
    for item in given:
        path = Path(item)
        lines = [(item, "")]
        if "://" not in item:
            if not path.is_file():
                raise InputError(
                    f"seed {item!r} is neither a URL (http://…) nor a file of URLs that exists"
                )
            try:
                text = path.read_text("utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"cannot read the seed file {path}: {error}") from error
            numbered = enumerate(text.splitlines(), 1)
            lines = [
                (line.strip(), f"{path}, line {number}: ")
                for number, line in numbered
                if line.strip() and not line.lstrip().startswith("#")
            ]
            if not lines:
                raise InputError(f"the seed file {path} has no URL in it; write one a line")
        for line, where in lines:
            try:
                urls.append(canonical(line))
            except ValueError as error:
                raise InputError(f"{where}{error}") from None
    return list(dict.fromkeys(urls))


def wanted(
    topic: str | None, topic_file: Path | None, want: Sequence[str]
) -> tuple[Judge, TopicFile | None]:
    """The judge of a crawl, and the words that its policy may go by."""
    from spoor.judges.spec import judge_of, words_of
    from spoor.judges.topic import judge_of_topic, read_topic, topic_of

    if topic and topic_file:
        raise InputError("give --topic or --topic-file, not both")
    subject = topic_of(topic) if topic else read_topic(topic_file) if topic_file else None
    if want:
        words = words_of(want)
        return judge_of(want), subject or (topic_of(words) if words else None)
    if subject is None:
        raise InputError('say what is wanted: --topic "…", --topic-file FILE or --want SPEC')
    return judge_of_topic(subject), subject


def make_crawl(settings: dict[str, Any], judge: Judge, subject: TopicFile | None) -> Crawl:
    """The crawl of a run's settings. Raises InputError as the registry does."""
    import numpy as np

    from spoor import registry
    from spoor.crawl import Crawl
    from spoor.drivers.http.live import Admission
    from spoor.learn.state import read
    from spoor.stores.memory import MemoryFrontier
    from spoor.text import Vectors
    from spoor.types import Task, Topic

    told, manners = settings["crawl"], settings["manners"]
    name = told["policy"]
    if name in registry.LAB_ONLY:
        raise InputError(f"policy {name!r} needs to know the whole web; it runs in replay only")
    task = Task(
        np.random.default_rng(told["seed"]),
        subject.topic if subject else Topic(),
        model=read(Path(told["model"])) if told["model"] else None,
        vectors=Vectors.read(told["vectors"]) if told["vectors"] else None,
    )
    policy = registry.build("policies", name, task, settings=told["params"])
    depth = None if told["max_depth"] < 0 else told["max_depth"]
    return Crawl(
        policy,
        judge,
        MemoryFrontier(delay=manners["delay"], per_host=manners["per_host"]),
        pages=settings["pages"],
        admit=Admission.of(told["seeds"], told["scope"], depth),
    )


def make_http(settings: dict[str, Any]) -> Any:
    """The HttpSettings of a run's settings."""
    from spoor.drivers.http.settings import HttpSettings

    manners = settings["manners"]
    connect: tuple[str, int] | None = None
    if manners["connect_to"]:
        address, colon, port = manners["connect_to"].rpartition(":")
        if not colon or not port.isdigit():
            raise InputError(
                f"--connect-to {manners['connect_to']!r} is not ADDRESS:PORT, as in 127.0.0.1:8080"
            )
        connect = (address.strip("[]"), int(port))
    return HttpSettings(
        contact=manners["contact"],
        in_flight=manners["in_flight"],
        robots=manners["robots"],
        allow_private=frozenset(manners["allow_private"]),
        connect_to=connect,
    )


class Run:
    """A crawl, its folder and its screen."""

    def __init__(
        self,
        folder: RunFolder,
        engine: Crawl,
        http: Any,
        seeds: Sequence[str],
        *,
        quiet: bool,
    ) -> None:
        self.folder = folder
        self.crawl = engine
        self.http = http
        self._began = time.monotonic()
        self._pages_before = 0
        self._saved = time.monotonic()
        self._cost = 0.0
        self._failure = ""
        state = folder.state()
        if state is None:
            engine.seed(seeds)
        else:
            engine.load(state)
            engine.reissue(time.time())
            self._pages_before = engine.counts.pages
        from spoor.cli.live_screen import screen

        self._screen = screen(engine, quiet=quiet)

    def run(self) -> str:
        """To the end; returns the reason."""
        from spoor.drivers.http.live import Live

        live = Live(self.crawl, self.http, record=self.folder.record, on_step=self._step)
        with self._screen:
            reason = asyncio.run(self._supervise(live))
        self._checkpoint()
        return reason

    async def _supervise(self, live: Live) -> str:
        loop = asyncio.get_running_loop()
        told = 0

        def interrupt() -> None:
            nonlocal told
            told += 1
            if told == 1:
                live.stop("interrupted")
                self._screen.say("stopping: what is in flight comes in; once more ends at once")
            else:
                live.abort("aborted")

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupt)
        return (await live.run()).reason

    def _step(self, fetch: Fetch, step: Outcome | Deferred) -> None:
        from spoor.types import Failed, Outcome

        path = self.crawl.path(step.choice.link) if isinstance(step, Outcome) else []
        self.folder.step(fetch, step, path, time.time())
        self._screen.step(fetch, step)
        if isinstance(step, Outcome) and isinstance(step.reply, Failed):
            self._failure = f"{fetch.url}: {step.reply.reason or step.reply.kind}"
            if step.reply.kind == "blocked":
                self._failure += "; name the host by --allow-private if you mean it"
        since = time.monotonic() - self._saved
        if since > max(CHECKPOINT_SECONDS, self._cost / CHECKPOINT_SHARE):
            self._checkpoint()

    def _checkpoint(self) -> None:
        began = time.monotonic()
        self.folder.checkpoint(self.crawl.save(), self.crawl.counts.requests, time.time())
        self._saved = time.monotonic()
        self._cost = self._saved - began

    def summary(self, reason: str) -> dict[str, Any]:
        """What was done, for `--json`."""
        counts = self.crawl.counts
        seconds = time.monotonic() - self._began
        return {
            "out": str(self.folder.path),
            "resumed": self.folder.resumed,
            "stopped_because": reason,
            "fetched": counts.pages,
            "found": counts.relevant,
            "failed": counts.failed,
            "requests": counts.requests,
            "harvest_rate": round(counts.relevant / counts.pages, 4) if counts.pages else 0.0,
            "open_links": self.crawl.frontier.open_count,
            "last_failure": self._failure,
            "seconds": round(seconds, 2),
            "pages_per_second": round((counts.pages - self._pages_before) / max(seconds, 1e-9), 2),
        }


def describe(summary: dict[str, Any], path: Path) -> str:
    """The end of a crawl for a person."""
    lost = [f"  nothing came: {summary['last_failure']}"] if not summary["fetched"] else []
    return "\n".join(
        [
            f"{summary['stopped_because']}",
            *lost,
            f"  fetched  {summary['fetched']} pages ({summary['pages_per_second']} a second), "
            f"{summary['failed']} failed",
            f"  found    {summary['found']} ({summary['harvest_rate']:.1%} of the pages)",
            f"  results  {path / 'relevant.jsonl'}",
            f"  report   {path / 'report.html'}",
        ]
    )
