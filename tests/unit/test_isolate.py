"""What a stranger sends costs at most its share of time and memory, and ends nobody's crawl."""

from __future__ import annotations

import base64
import errno
import json
import os
import resource
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from forked_helpers import started_anew
from parsers import holding, leaves
from spoor.documents.document import Document
from spoor.errors import PausedError
from spoor.http.failures import failure
from spoor.isolate import bounds, child, helper_pool, parsing, pipes
from spoor.isolate.bounds import MEMORY, PER_BYTE, SECONDS, Bounds
from spoor.isolate.child import page_of
from spoor.isolate.helper import GivenUpError, Helper
from spoor.isolate.parsing import parse_page
from spoor.web.page import parse
from spoor.web.parse_cost import may_cost_much

URL = "http://www.example.com/"
HALF = 0.5
"""Of the limits: what hostile documents may cost here."""
N = 20_000
NUMBERS = range(N)
HOSTILE = {
    "blocks": "<div>" * N,
    "lists": "<ul><li>" * N,
    "tables": "<table><td>" * N,
    "links": "<a href=x><div>" * N,
    "formatting": "".join(f"<b id={n}>" for n in NUMBERS),
    "formatting opened again": "".join(f"<b id={n}>" for n in range(500)) + "</p><p>x" * N,
    "formatting across blocks": "<b><p>" * N + "</b>" * N,
    "attributes copied": "".join(f"<b id={'x' * 900}{n}>" for n in range(60)) + "<p>" * N,
    "paragraphs under bold ones": "<b>" * 8 + "<p>x" * 1_000_000,
    "ends of headings": "</h1>" * 800_000,
    "headings in quotes": "<h1><q>" * 400 + "</h1>" * 600_000,
    "items in blocks": "<div><li>" * 400 + "<li></div>" * 300_000,
    "items under blocks": "<div>" * 400 + "<li></li>" * 400_000,
    "attributes": "<a " + "".join(f"attribute{n} " for n in NUMBERS) + ">",
    "attributes of the root": "".join(f"<html a{n}><body b{n}>" for n in NUMBERS),
    "names of elements": "".join(f"<x{n}></x{n}>" for n in NUMBERS),
    "list boxes": "<select><style></select><div>" * N,
    "templates": "<template><col><title></template><div></title>" * N,
}


@pytest.fixture(autouse=True)
def anew(request: pytest.FixtureRequest) -> Iterator[None]:
    """But for the one that is warm: a document that it gives up has the next one wait for its start."""
    with nullcontext() if "helper" in request.fixturenames else started_anew():
        yield


@pytest.fixture(scope="module")
def helpers() -> Iterator[list[Helper]]:
    """One that is warm; a test that loses it leaves none."""
    made = [warm_helper()]
    yield made
    for one in made:
        one.close()


@pytest.fixture
def helper(helpers: list[Helper]) -> Helper:
    if not helpers or not helpers[0].alive:
        helpers[:] = [warm_helper()]
    return helpers[0]


def warm_helper() -> Helper:
    """One that has loaded all that it needs."""
    helper = Helper()
    helper.ask(page_of, b"<p>warm", {"url": URL})
    return helper


def cost(helper: Helper) -> tuple[float, int]:
    """Processor seconds so far and the most memory since the last call, by the kernel's account."""
    process = Path("/proc", str(helper._process.pid))
    user, system = process.joinpath("stat").read_text("ascii").rpartition(")")[2].split()[11:13]
    status = process.joinpath("status").read_text("ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    process.joinpath("clear_refs").write_text("5", "ascii")
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK"), 1024 * int(peak.split()[1])


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_hostile_documents_stay_within_their_limits(source: str, helper: Helper) -> None:
    body = source.encode()
    seconds, _ = cost(helper)
    _, before = cost(helper)
    try:
        page = helper.ask(page_of, body, {"url": URL}, HALF)
    except GivenUpError:
        # The kernel ended it, or gave it no more memory.
        assert not helper.alive
        return
    after, peak = cost(helper)
    assert page["url"] == URL
    assert after - seconds <= HALF * SECONDS + 0.1
    assert peak - before <= HALF * MEMORY + (PER_BYTE + 2) * len(body)


def test_html_whose_main_text_costs_too_much_is_all_of_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was no document."""
    monkeypatch.setattr(parsing, "document_row_of", json.loads)  # fails in the helper
    body = b"<title>T</title><nav>Menu</nav><p>kiln <a href=/x>y</a>"
    read = parsing.extract("text/html", URL, body)
    assert isinstance(read, Document)
    assert (read.title, read.text, [link.url for link in read.links]) == (
        "T",
        "Menu kiln y",
        [f"{URL}x"],
    )
    assert read.notes[0].startswith("all of its text, navigation included, and not its main text")


def test_a_watched_page_whose_main_text_costs_too_much_is_all_of_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was a failure."""
    monkeypatch.setattr(parsing, "page_row_of", json.loads)  # fails in the helper
    body = b"<nav>Menu</nav>" + b"<p>kiln" * 20_000
    assert may_cost_much(body)
    page = parse_page(body, URL, content_type="text/html", main=True, brief=True)
    assert page.main == page.text
    assert page.main.startswith("Menu kiln kiln")


def test_a_page_is_the_same_in_a_helper_and_here() -> None:
    row = '<li><a href="/p/{0}" title="Page {0}" rel=nofollow>Entry <b>{0}</b></a> ☃ words</li>'
    body = f"<html lang=de><title>T</title><ul>{''.join(map(row.format, range(3_000)))}".encode()
    facts = {
        "content_type": "text/html; charset=utf-8",
        "status": 203,
        "labels": frozenset({"x", "y"}),
        "fetched_at": 1.5,
        "robots": "noindex",
        "truncated": True,
    }
    here = parse(body, URL, **facts)  # type: ignore[arg-type]
    assert len(here.links) == 3_000
    assert parse_page(body, URL, **facts) == here  # type: ignore[arg-type]


def test_a_helper_makes_no_anchor_of_a_link(helper: Helper) -> None:
    """Of a hundred links most lead to known pages: their words are not sent, but those of the page
    once."""
    words = " ".join(f"word{at}" for at in range(2_000))
    row = helper.ask(page_of, f"<p>{words}{'<a href=/x>y</a> z' * 500}".encode(), {"url": URL})
    assert "after" not in row["links"]
    assert len(json.dumps(row)) < 3 * len(json.dumps({"text": row["text"], "urls": [URL] * 500}))


def packed(*numbers: int) -> str:
    return base64.b64encode(struct.pack(f"{len(numbers)}i", *numbers)).decode()


@pytest.mark.parametrize(
    ("column", "value"),
    {
        "all_kinds": [1],
        "all_own": [None],
        "all_places": [["a"]],
        "begins": packed(9, 0),
        "barred": packed(0, 2),
        "counts": packed(0, 1, 99, 3, 4),
        "ends": packed(-2, 0),
        "headings": packed(0, 0)[:-1],
        "kinds": packed(0),
        "numbers": [0, 1],
        "own": packed(0, 1),
        "places": packed(0, 0) + "☃",
        "urls": [None, None],
    }.items(),
)
def test_what_a_helper_says_that_is_no_page_is_given_up(
    column: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was taken over may say anything; the crawl goes on without that page."""
    row = page_of(b"<p>a <a href=/x>b</a> c <a href=/y>d</a>", URL)
    whole = b"<p>" * 5_000
    monkeypatch.setattr(parsing, "bounded", lambda *asked, **bounds: row)
    assert [link.url for link in parse_page(whole, URL).links] == [f"{URL}x", f"{URL}y"]
    row["links"][column] = value
    with pytest.raises(GivenUpError, match="is no page"):
        parse_page(whole, URL)


def test_after_a_document_that_was_given_up_the_next_one_is_parsed() -> None:
    with pytest.raises(GivenUpError, match="parsing it takes over"):
        parse_page(HOSTILE["paragraphs under bold ones"].encode(), URL)
    links = "<li><a href=/x>x</a>" * 4_500
    assert len(parse_page(links.encode(), URL).links) == 4_500


def test_a_helper_that_dies_or_stops_gives_up_one_document(
    helper: Helper, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.kill(helper._process.pid, signal.SIGSEGV)
    with pytest.raises(GivenUpError, match="crashed"):
        helper.ask(page_of, b"<p>x", {"url": URL})
    assert not helper.alive
    stopped = Helper()
    stopped.ask(page_of, b"<p>x", {"url": URL})
    os.kill(stopped._process.pid, signal.SIGSTOP)
    monkeypatch.setattr("spoor.isolate.helper.PATIENCE", 0.05)
    with pytest.raises(GivenUpError, match="did not answer"):
        stopped.ask(page_of, b"<p>x", {"url": URL})
    assert not stopped.alive


def test_a_document_is_read_again_where_the_machine_stood_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a container does that is paused, for longer than a helper is waited for."""
    queue, receive = helper_pool.HelperQueue(), pipes.receive
    late = [True]

    def received(*given: Any) -> bytes:
        if late:
            late.pop()
            raise TimeoutError
        return receive(*given)

    monkeypatch.setattr("spoor.isolate.helper.receive", received)
    assert queue.ask(page_of, b"<p>x", {"url": URL})["text"] == "x"
    queue.close()


def test_documents_are_read_where_thousands_of_connections_are_open() -> None:
    """As a crawl has whose hosts do not answer: `select` takes no descriptor above 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2_048, hard), hard))
    held = [os.open(os.devnull, os.O_RDONLY)]
    queue = helper_pool.HelperQueue()
    try:
        while held[-1] < 1_100:
            held.append(os.dup(held[0]))
        for text in "abc":
            row = queue.ask(page_of, f"<p>{text}".encode(), {"url": URL})
            assert row["text"] == text
    finally:
        queue.close()
        for one in held:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_no_document_gets_the_answer_to_one_that_was_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As by Ctrl-C in a notebook, while a document is sent, or its answer waited for."""
    queue = helper_pool.HelperQueue()
    for interrupted in ("send", "receive"):
        with monkeypatch.context() as patched:

            def interrupt(*_: Any) -> None:
                raise KeyboardInterrupt

            queue.ask(page_of, b"<p>x", {"url": URL})
            patched.setattr(f"spoor.isolate.helper.{interrupted}", interrupt)
            with pytest.raises(KeyboardInterrupt):
                queue.ask(page_of, b"<p>one", {"url": URL})
        assert queue.ask(page_of, b"<p>another", {"url": URL})["text"] == "another"
    queue.close()


def test_a_machine_without_memory_is_not_the_documents_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel kills the helper, or none can be started."""
    queue, kills = helper_pool.HelperQueue(), [2]
    ask = Helper.ask

    def killed(self: Helper, *question: Any) -> Any:
        if kills[0]:
            kills[0] -= 1
            os.kill(self._process.pid, signal.SIGKILL)
        return ask(self, *question)

    monkeypatch.setattr(Helper, "ask", killed)
    with pytest.raises(GivenUpError, match="killed, as where memory runs out"):
        queue.ask(page_of, b"<p>x", {"url": URL})
    kills[0] = 1
    assert queue.ask(page_of, b"<p>x", {"url": URL})["url"] == URL
    queue.close()
    monkeypatch.setattr(subprocess, "Popen", _no_memory)
    with pytest.raises(PausedError, match=r"cannot start a parser \(Cannot allocate memory\)"):
        queue.ask(page_of, b"<p>x", {"url": URL})
    for error in (MemoryError(), OSError(errno.ENOMEM, "no")):
        with pytest.raises(PausedError, match="no memory left"):
            failure(0, error)


def _no_memory(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))


def test_what_is_parsed_again_gets_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bounds, "room", lambda self, size, times: int(times * (MEMORY // 4)))
    body = b"<table>" + b"<tr><td>a<td>b" * 30_000
    page = parse_page(body, URL, again=True)
    assert len(page.text) == 119_999


def test_what_a_document_held_is_free_for_the_next() -> None:
    queue = helper_pool.HelperQueue()
    first, *_, last = [queue.ask(holding, b"<p>x", {}) for _ in range(20)]
    queue.close()
    assert last < first + 3 * (4 << 20)


@pytest.mark.parametrize("sent", [b"", b"\xff" * 8, (9).to_bytes(8, "little") + b"half"])
def test_a_helper_that_was_taken_over_neither_keeps_nor_fills_who_asked(sent: bytes) -> None:
    """Silence, a message of 2^64 bytes, and half of one."""
    out, into = os.pipe()
    with open(out, "rb") as pipe, open(into, "wb", 0) as answer:
        answer.write(sent)
        with pytest.raises((EOFError, TimeoutError)):
            pipes.receive(pipe, time.monotonic(), 1 << 20)
        answer.write(b" and the rest")


@pytest.mark.parametrize(("size", "documents"), [(20 << 10, 4), (0, child.MOST_DOCUMENTS)])
def test_what_documents_leave_in_a_helper_is_bounded(size: int, documents: int) -> None:
    """14 documents, each of other elements, filled libxml2's list of names: every document of any
    host was damaged from then on."""
    queue = helper_pool.HelperQueue()
    body = b"x" * size
    processes = [queue.ask(leaves, body, {}, 1, bounds.DOCUMENT) for _ in range(documents + 1)]
    queue.close()
    assert processes[0] == processes[1] != processes[-1]


def test_html_wears_a_helper_less_than_what_a_library_may_keep() -> None:
    """A helper takes a quarter of a second to start: half a millisecond for each of 500 pages."""
    queue = helper_pool.HelperQueue()
    for _ in range(child.MOST_DOCUMENTS + 1):
        page = queue.ask(child.page_of, b"<p><a href=/x>kiln</a>", {"url": "http://a.example/"})
    assert page["links"]["urls"] == ["http://a.example/x"]
    worn = [queue.helper and queue.helper.worn]
    for _ in range(child.MOST_DOCUMENTS):
        queue.ask(leaves, b"", {})
    worn.append(queue.helper and queue.helper.worn)
    queue.close()
    assert worn == [False, True]


def test_a_program_that_ends_does_not_wait_for_what_is_being_read() -> None:
    """Threads that wait for a document, and one that has the next turn, are told at once."""
    heavy = b"<div><span>kiln <table><tr><td>" * 200_000
    told: list[BaseException] = []

    def read() -> None:
        try:
            parsing.extract("text/html", "http://a.example/", heavy, seconds=100.0)
        except BaseException as error:
            told.append(error)

    parsing.extract("text/html", "http://a.example/", b"<p>kiln")
    helper = helper_pool._documents.helper
    assert helper is not None
    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    while not helper_pool._documents._lock.locked():
        time.sleep(0.01)
    with helper_pool.ending():
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
    assert [type(error) for error in told] == [PausedError, PausedError]
    helper._process.wait(10)  # it is killed, and gone a moment later
    assert not helper.alive
    again = parsing.extract("text/html", "http://a.example/", b"<p>kiln")
    assert isinstance(again, Document)
