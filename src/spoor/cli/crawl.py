"""`spoor crawl`: a live, polite, focused crawl that can be stopped and continued."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spoor.cli.options import AsJson, no_start, takes_settings
from spoor.display import command_line, printable, shown
from spoor.runs import files
from spoor.settings import Settings
from spoor.types import Deferred, Failed, Fetch, LeftOut, Outcome

NOTHING_CAME = 3
"""Exit code of a run none of whose seeds brought a page."""

MOST_LINES = 10
"""Lines about seeds that fail, while a crawl goes on."""

_BEST = 3
"""Pages that the last lines of a crawl name."""
_SITES = 6
"""Sites that they name with what each gave."""

_REASONS = 3
"""Reasons for failures that they name."""

if TYPE_CHECKING:
    from spoor.judges.advice import Advice
    from spoor.runs.reader import Run


def add(app: typer.Typer) -> None:
    app.command()(crawl)


@takes_settings("crawl", after={"out": "least"})
def crawl(
    settings: Settings,
    seeds: Annotated[
        list[str] | None,
        typer.Argument(help="URLs or sites to begin at, or files of them, one a line."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the run (runs/TIME).")] = None,
    as_json: AsJson = False,
) -> None:
    """Crawl from SEEDS for relevant pages. The same command with the same --out continues."""
    from spoor.cli.screen import say
    from spoor.runs.inputs import with_inputs

    if not (seeds or settings.refresh):
        raise no_start(out, "say where to begin: a URL, a file of URLs, or --refresh RUN")
    settings = with_inputs(settings, seeds or [], say)
    split = bool(settings.shards or settings.cluster)
    with files.run_folder(out) as path:
        summary = (in_shards if split else in_one_process)(path, settings, as_json=as_json)
    if summary["stopped_because"] in ("interrupted", "aborted"):
        raise typer.Exit(1)
    from spoor.runs.refreshed_run import came  # a refusal would wait for what it imports

    if not came(summary):
        raise typer.Exit(NOTHING_CAME if summary["last_failure"] else 1)


def in_one_process(path: Path, settings: Settings, *, as_json: bool) -> dict[str, Any]:
    """Crawl with a screen; prints and returns the summary."""
    from spoor.process_memory import allow_many_files, few_collections, share_heap
    from spoor.runs.writer import RunWriter

    share_heap()
    allow_many_files()
    with ExitStack() as after:
        after.enter_context(few_collections())  # what is imported is no garbage
        folder = None
        if files.is_run(path):
            # An existing run refuses before anything heavy is imported; a new one is created after
            # its settings are checked.
            folder = after.enter_context(closing(RunWriter(path, settings)))
        certificates = threading.Thread(target=_read_certificates, args=(settings.verify_tls,))
        certificates.start()
        after.callback(certificates.join)
        from spoor.cli.live_screen import screen
        from spoor.cli.plan import say_plan
        from spoor.http.client import check_user
        from spoor.live.exporters import exporters
        from spoor.live.live_crawl import LiveCrawl
        from spoor.live.loop_watch import LoopWatch
        from spoor.live.metrics import Download, crawl_metrics
        from spoor.rendering.browser import require_browser
        from spoor.runs.assemble import make_crawl
        from spoor.runs.recovery import kept_aside

        engine = make_crawl(settings)
        check_user(settings)
        require_browser(settings.render, settings.chromium)
        watch = LoopWatch()
        exporting = exporters(
            lambda: crawl_metrics(engine, watch.longest), settings.metrics, settings.otel
        )
        for exporter in exporting:
            after.callback(exporter.close)
        if folder is None:
            folder = after.enter_context(closing(RunWriter(path, settings)))
        run = LiveCrawl(folder, engine)
        run.loop_watch = watch
        # Standard output is for the JSON; a terminal still shows the progress.
        shown = screen(engine, run.estimate, quiet=as_json and not sys.stderr.isatty())

        seeds, failed_seeds = frozenset(settings.seeds), FailedSeeds()

        def on_step(fetch: Fetch, step: Outcome | Deferred) -> None:
            shown.step(fetch, step)
            if fetch.url in seeds and (line := failed_line(fetch, step, run.now())):
                shown.say(*failed_seeds.lines(line))
            if exporting and (download := Download.of(fetch, step)) is not None:
                for exporter in exporting:
                    exporter.add(download)

        run.on_step, run.on_second = on_step, shown.second
        run.on_interrupt = lambda: shown.say(
            "stopping: requests in flight are finished first; Ctrl-C again ends at once"
        )
        run.on_fault = shown.say
        advised = set[str]()

        def on_advice(advice: Advice) -> None:
            lines = [line for line in advice.lines(near=False) if line not in advised]
            advised.update(lines)
            shown.say(*lines)

        run.on_advice = on_advice
        if not as_json:
            say_plan(settings, path, engine.judge, engine.counts.pages)
        certificates.join()
        with shown:
            for aside in folder.recovered:
                shown.say(kept_aside(aside))
            reason = run.run()
    from spoor.views.html import write_report

    summary = run.summary(reason)
    write_report(path, engine)
    typer.echo(json.dumps(summary) if as_json else describe(summary, path))
    return summary


def _read_certificates(verify: bool) -> None:
    """Read those of the authorities that are trusted, which takes a tenth of a second, as aiohttp
    does twice when it is imported: beside the imports of the crawl, since Python's lock is free
    meanwhile."""
    from spoor.http.connections import tls

    tls(verify=verify)


class FailedSeeds:
    """The lines about seeds that fail: `MOST_LINES` at most, since of a list of a thousand sites
    many may be gone."""

    def __init__(self) -> None:
        self._lines = 0

    def lines(self, line: str) -> list[str]:
        """What to say of one more."""
        self._lines += 1
        if self._lines < MOST_LINES:
            return [line]
        rest = "more seeds that fail are told at the end, in the report and by export --by-seed"
        return [line, rest] if self._lines == MOST_LINES else []


def _sites(run: Run) -> list[str]:
    """How many sites gave what was wanted, where one page of each is; else, of few, what each
    gave."""
    from spoor.runs.by_seed import brought, seeds_found

    if (found := seeds_found(run)) is None:
        each = [f"{name} {count:,} of {pages:,}" for name, count, pages in brought(run, _SITES)]
        return [f"  sites    {', '.join(each)} pages"] if each else []
    table = command_line("export", run.path, f"{run.path.name}-by-seed.csv", "--by-seed")
    return [f"  sites    {found[0]:,} of {found[1]:,} have a page that counts; all: {table}"]


def failed_line(fetch: Fetch, step: Outcome | Deferred, now: float) -> str:
    """Why a seed did not come, and whether it is tried again; empty where it came, led on, or waits
    for its turn."""
    if isinstance(step, Outcome):
        from spoor.http.failures import in_words

        reply = step.reply
        return (
            f"{fetch.url}: {in_words(reply)}" if isinstance(reply, Failed) and reply.counts else ""
        )
    from spoor.http.host_queues import NAMES_FIRST, OTHERS_FIRST

    if step.reason in (NAMES_FIRST, OTHERS_FIRST) or step.reason.startswith("redirect"):
        return ""
    return f"{fetch.url}: {step.reason}; tried again in {max(0.0, step.until - now):.0f} s"


def in_shards(path: Path, settings: Settings, *, as_json: bool) -> dict[str, Any]:
    """Crawl in several processes; prints and returns the summary."""
    from spoor.cli.plan import say_plan
    from spoor.cli.shards import Screen, describe_shards
    from spoor.http.client import check_user
    from spoor.integrations.ray import crawl
    from spoor.process_memory import allow_many_files
    from spoor.rendering.browser import require_browser
    from spoor.runs.assemble import make_crawl
    from spoor.views.html import write_report

    allow_many_files()
    # Raise InputError for bad settings before a process starts.
    engine = make_crawl(settings)
    check_user(settings)
    require_browser(settings.render, settings.chromium)

    def on_start() -> None:
        if not as_json:
            say_plan(settings, path, engine.judge)

    with Screen(quiet=as_json and not sys.stderr.isatty()) as screen:
        summary = crawl(path, settings, on_start=on_start, watch=screen.show)
    summary["advice"] = advice_of(path, settings).as_json(str(path))
    write_report(path)
    typer.echo(
        json.dumps(summary) if as_json else describe(summary, path) + describe_shards(summary)
    )
    return summary


def advice_of(path: Path, settings: Settings) -> Advice:
    """What to tell of the topic of a run that has ended, by its pages: each shard saw some only."""
    from spoor.runs.reader import Run
    from spoor.runs.topic_advice import advisor_of

    return advisor_of(path, settings).advice(Run(path).judged(), over=True)


def _no_results(run: Run) -> list[str]:
    """Lines on list pages that are about the topic, and on views of results; none where there are
    none."""
    from spoor.judges.no_results import ONLY_LISTS, SHOWS_AGAIN

    lists, views = run.results_but_for(ONLY_LISTS), run.results_but_for(SHOWS_AGAIN)
    lines = []
    if lists:
        which = "pages that list documents were" if lists > 1 else "page that lists some was"
        lines += [f"  lists    {lists:,} {which} read for these: --list-pages counts them, too"]
    if views:
        which = "pages show" if views > 1 else "page shows"
        lines += [f"  views    {views:,} {which} again what a result has, and count for nothing"]
    return lines


def _anew(path: Path, refreshed: Mapping[str, Any] | None) -> list[str]:
    """How to have what a refresh found new or changed alone, for whoever keeps an index of it."""
    if not refreshed or refreshed["since"] is None:
        return []
    since = f"{datetime.fromtimestamp(int(refreshed['since']), UTC):%Y-%m-%dT%H:%M:%SZ}"
    table = command_line("export", path, "anew.csv", "--since", since)
    return [f"  anew     what is new or has changed alone: {table}"]


def describe(summary: dict[str, Any], path: Path) -> str:
    """The summary of a crawl for a person; one line where nothing came."""
    from spoor.runs.refreshed_run import came, in_words

    why = summary["last_failure"]
    interrupted = summary["stopped_because"] in ("interrupted", "aborted")
    if why and not came(summary) and not interrupted:
        from spoor.web.robots import FORBIDDEN

        mend = "mend that and give the same command again"
        if why.endswith(FORBIDDEN):
            mend = "on a site of your own give --no-robots as well"
        return f"no seed brought a page: {shown(why)}; {mend}, or begin at another URL"
    from spoor.judges.advice import answers_in_words
    from spoor.runs.reader import Run
    from spoor.views.explain import left_out_lines

    left = summary["estimate"]["words"] if summary.get("estimate") else []
    lost = []
    if summary["judge"]:
        lost.append(f"  judge    {answers_in_words(summary['judge'])}")
    lost += [
        f"  {part:8} {shown(fault)}"
        for part in ("policy", "judge")
        if (fault := summary[f"{part}_fault"])
    ]
    if rendered := summary.get("rendered"):
        lost += [f"  rendered {line}" for line in rendered["lines"]]
    if requisites := summary.get("requisites"):
        lost.append(f"  requisites {requisites['words']}")
    run = Run(path)
    reasons = run.failure_reasons(_REASONS) if summary["failed"] else []
    rest = summary["failed"] - sum(count for _, count in reasons)
    failed = [f"{count}: {why}" for why, count in reasons] + [f"{rest} others"] * (rest > 0)
    refreshed = summary.get("refreshed")
    found = run.best(_BEST) if summary["found"] or refreshed else []
    best = [f"           {row.score:.2f} {shown(f'{row.url} {row.title}')}" for row in found]
    skipped = summary["skipped"]
    spent = re.fullmatch(r"budget of \d+ (pages|bytes) reached", summary["stopped_because"])
    option = {"pages": "--pages", "bytes": "--max-bytes"}[spent[1]] if spent else ""
    passed = f", {skipped} link{'s'[: skipped > 1]} passed over" if skipped else ""
    return "\n".join(
        [
            f"{summary['stopped_because']}",
            *lost,
            f"  fetched  {summary['fetched']} pages ({summary['pages_per_second']:.3g} a second), "
            f"{summary['failed']} failed{passed}",
            *([f"  failed   {shown('; '.join(failed))}"] if failed else []),
            *(f"  {shown(line)}" for line in left_out_lines(LeftOut.of(summary))),
            *(f"  again    {shown(line)}" for line in in_words(summary.get("refreshed"))),
            f"  found    {summary['found']} ({summary['harvest_rate']:.1%} of the pages)"
            + ("; the best:" if best and not refreshed else ""),
            *(best if not refreshed else ()),
            *_no_results(run),
            *_sites(run),
            *_anew(path, refreshed),
            *(
                [
                    f"  in all   {sum(run.verdicts()):,} documents count, unchanged ones included; "
                    "the best:",
                    *best,
                ]
                if refreshed
                else []
            ),
            *(f"  {head:<9}{line}" for head, line in zip(("left", "next"), left, strict=False)),
            *(f"  {printable(line)}" for line in summary.get("advice", {}).get("lines", ())),
            f"  results  {path / files.RELEVANT}; as a table: "
            f"{command_line('export', path, 'found.csv')}",
            f"  report   {path / files.REPORT}; to look on: {command_line('ui', path)}",
            *(
                [f"  more     the same command with --out {path} and more {option}"]
                if option and summary["found"]
                else []
            ),
        ]
    )
