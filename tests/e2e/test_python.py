"""Spoor from Python: a crawl in a script, a thread, a loop and a notebook; stopped, continued, shown."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import spoor
from forked import run_script
from loopback import ADDRESS, Loopback, beside, page, reply
from spoor.live.live_crawl import LiveCrawl
from spoor.runs.documents import RunDocument
from spoor.settings import described

pytestmark = pytest.mark.server

HOSTILE = "<script>alert('kiln')</script>"


def answer(asked: Any) -> bytes:
    """A site of 40 pages, each with links to the next ones; every fourth is about kilns."""
    if asked.path == "/robots.txt":
        return reply("", 404)
    number = int(asked.path.strip("/") or 0)
    text = (
        f"<title>{HOSTILE} {number}</title><p>A kiln.</p>" if number % 4 == 0 else "<p>Nothing.</p>"
    )
    return page(*(f"/{number + step}" for step in (1, 2, 3) if number + step < 40), text=text)


@pytest.fixture(scope="module")
def site() -> Iterator[Loopback]:
    server = Loopback(answer)
    with beside(server.serving):
        yield server


def options(site: Loopback) -> dict[str, Any]:
    return {
        "topic": "kiln",
        "traps": True,
        "delay": 0.0,
        "per_host": 2,
        "connect_to": f"{ADDRESS}:{site.port}",
    }


SEED = "http://kilns.example/"


def test_a_run_is_begun_stopped_continued_judged_and_shown(
    site: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, seen = tmp_path / "run", []
    here = threading.get_ident()

    def on_page(document: RunDocument) -> None:
        seen.append((document.url, "kiln" in document.text.lower(), threading.get_ident()))

    run = spoor.run(SEED, pages=10, out=out, on_page=on_page, **options(site))
    assert (run.fetched, len(seen)) == (10, 10)
    assert {thread for *_, thread in seen} == {here}, "in the caller's thread"
    assert sum(relevant for _, relevant, _ in seen) == run.found > 1
    assert run.figures["stopped_because"] == "budget of 10 pages reached"
    assert {document.url for document in run.documents()} == {url for url, yes, _ in seen if yes}

    assert len(spoor.Run(str(out)).verdicts()) == 10, "a folder may be a text"

    waiting = run.frontier(top=3)
    assert 0 < len(waiting) <= 3
    assert waiting[0].why
    assert "open" in str(run.explain(waiting[0].url))
    assert run.label(seen[1][0], True).relevant
    assert "relevant" in str(run.explain(seen[1][0]))
    with pytest.raises(spoor.InputError, match="never requested"):
        run.explain("http://kilns.example/none")

    # Whatever a page is called, it is text in a notebook.
    for shown in (run, waiting, run.explain(seen[0][0]), next(iter(run.documents()))):
        html = shown._repr_html_()
        assert "<script" not in html
        assert "kiln" in html
    assert HOSTILE.replace("<", "&lt;")[:10] in run._repr_html_()
    assert "relevant pages found" in run.plot()._repr_svg_()

    again = spoor.open(out).go_on(more=5)
    assert (again.fetched, again.budget()) == (15, 15)
    assert again.go_on(more=2, wait=False).wait(60)
    assert again.fetched == 17
    assert repr(again).startswith(f"<run {str(out)!r}: ")

    # A crawl in shards has ended where it is begun, and is its summary.
    monkeypatch.setattr("spoor.notebook.crawls.begin", lambda *path, **options: {"fetched": 20})
    assert again.go_on(more=3).figures == {"fetched": 20}


def test_a_crawl_is_cancelled_and_a_failing_callback_ends_it(
    site: Loopback, tmp_path: Path
) -> None:
    reached = threading.Event()
    slow = {**options(site), "delay": 0.05, "per_host": 1}
    run = spoor.run(
        SEED,
        out=tmp_path / "run",
        wait=False,
        on_page=lambda document: reached.set(),
        **slow,
    )
    assert reached.wait(60)
    assert run.is_running  # a process holds its folder
    with pytest.raises(spoor.InputError, match="in use"):
        spoor.run(SEED, out=tmp_path / "run", **slow)
    run.cancel()
    assert run.wait(60)
    assert run.figures["stopped_because"] == "cancelled"
    before = run.fetched
    assert before < 40

    class MineError(Exception):
        pass

    def fail(document: RunDocument) -> None:
        raise MineError

    with pytest.raises(MineError):
        run.go_on(on_page=fail)
    assert not spoor.open(run.path).is_running
    run.go_on()
    assert run.fetched == 40


def test_documents_are_streamed_within_a_loop(site: Loopback, tmp_path: Path) -> None:
    async def take(out: Path, most: int, **more: Any) -> list[str]:
        found = []
        streamed = spoor.stream(SEED, out=out, pages=30, **options(site), **more)
        async for document in streamed:
            found.append(document.url)
            if len(found) == most:
                break
        await streamed.aclose()  # type: ignore[attr-defined]
        return found

    found = asyncio.run(take(tmp_path / "all", 99))
    run = spoor.open(tmp_path / "all")
    # Verdicts when the pages came: what the judge learned since is in the run alone.
    assert len(found) == len(set(found)) >= 5
    last = [document.url for document in run.documents()]
    assert len({*found} & {*last}) >= len(found) - 1
    assert run.fetched == 30
    from spoor.integrations.langchain import SpoorLoader
    from spoor.integrations.llama_index import SpoorReader

    loaded = list(SpoorLoader(run.path, min_score=0.1).lazy_load())
    assert [one.metadata["source"] for one in loaded] == last
    assert {one.doc_id for one in SpoorReader().load_data(run.path, everything=True)} > set(found)
    assert all("kiln" in one.page_content.lower() for one in loaded)
    assert len(asyncio.run(take(tmp_path / "part", 2, everything=True))) == 2
    part = spoor.open(tmp_path / "part")
    assert not part.is_running
    assert part.noted("stopped") in ("cancelled", "budget of 30 pages reached")
    with pytest.raises(spoor.InputError, match="unknown setting page"):
        asyncio.run(take(tmp_path / "none", 1, page=3))


def test_a_stream_that_is_cancelled_while_it_opens_ends_its_crawl(
    site: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, cancelled = threading.Event(), threading.Event()

    def slow(*given: Any, **named: Any) -> LiveCrawl:
        opening.set()
        cancelled.wait(60)
        return LiveCrawl(*given, **named)

    async def take() -> None:
        async for _ in spoor.stream(SEED, out=tmp_path / "run", pages=30, **options(site)):
            raise AssertionError

    async def cancel() -> None:
        task = asyncio.create_task(take())
        await asyncio.to_thread(opening.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        cancelled.set()
        await task

    monkeypatch.setattr("spoor.live.background.LiveCrawl", slow)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    run = spoor.open(tmp_path / "run")
    assert (run.is_running, run.fetched, run.noted("stopped")) == (False, 0, "cancelled")


SCRIPT = """
import sys, threading
import spoor
def work():
    spoor.run(sys.argv[1], "kiln", out=sys.argv[2], pages=3, delay=0, connect_to=sys.argv[3])
thread = threading.Thread(target=work)
thread.start()
thread.join()
work()
print(spoor.open(sys.argv[2]).fetched)
"""


def test_it_runs_in_a_thread_and_in_a_script_without_a_main_guard(
    site: Loopback, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, "utf-8")
    done = run_script(script, SEED, str(tmp_path / "run"), f"{ADDRESS}:{site.port}")
    assert (done.returncode, done.stdout.split()) == (0, ["3"]), done.stderr


def test_a_seed_that_brings_nothing_is_an_error_that_says_why(tmp_path: Path) -> None:
    seed, out = "http://127.0.0.1:9/", tmp_path / "run"
    why = r"no seed brought a page: .*give --allow-private 127\.0\.0\.1 .*the same call with out="
    with pytest.raises(spoor.InputError, match=why):
        spoor.run(seed, topic="kiln", out=out, delay=0.0)
    begun = spoor.run(seed, topic="kiln", out=out, delay=0.0, wait=False)
    with pytest.raises(spoor.InputError, match=why):
        begun.wait()

    async def none() -> None:
        async for _ in spoor.stream(seed, topic="kiln", out=out, delay=0.0):
            raise AssertionError

    with pytest.raises(spoor.InputError, match=why):
        asyncio.run(none())


def test_a_notebook_shows_a_bar(
    site: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shown: list[Any] = []

    class Handle:
        update = staticmethod(shown.append)

    def display(drawn: Any, *, display_id: bool) -> Handle:
        shown.append(drawn)
        return Handle()

    shell = InteractiveShell.instance()
    try:
        monkeypatch.setattr("IPython.display.display", display)
        monkeypatch.setattr(shell, "kernel", object(), raising=False)
        spoor.run(SEED, out=tmp_path / "run", pages=5, **options(site))
        assert "<progress" in shown[0]._repr_html_()
        assert repr(shown[-1]).endswith("of 5 fetched")
        drawn = len(shown)
        spoor.run(SEED, out=tmp_path / "quiet", pages=2, progress=False, **options(site))
        assert len(shown) == drawn
    finally:
        InteractiveShell.clear_instance()
    assert "IPython" in sys.modules


def test_an_editor_shows_every_option_with_its_default() -> None:
    from spoor.settings import Settings

    known = {n: one for n, one in described(Settings).items() if "crawl" in one.commands}
    for function in (spoor.run, spoor.stream):
        parameters = inspect.signature(function).parameters
        for name, one in known.items():
            if not one.inner:
                assert parameters[name].default == one.default
                assert parameters[name].annotation
