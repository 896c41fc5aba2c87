"""What a watch tells others: each line, in order, once where nothing dies, and again where something
does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from spoor.errors import InputError
from spoor.formats import digest
from spoor.formats.feeds import json_feed, rss
from spoor.live import deliveries
from spoor.live.deliveries import Deliveries, receivers
from spoor.live.sources import Sources
from spoor.settings import Settings


def line(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"id{number}",
        "kind": "new",
        "url": f"http://site{number % 2}.example/{number}",
        "title": f"Title {number}",
        "date": None,
        "found_at": f"2026-11-2{number % 2}T10:00:00Z",
        "version": 1,
        "story": f"id{number}",
        **more,
    }


def write(folder: Path, lines: list[dict[str, Any]]) -> int:
    raw = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
    with (folder / "news.jsonl").open("ab") as news:
        news.write(raw)
    return (folder / "news.jsonl").stat().st_size


class Hook(BaseHTTPRequestHandler):
    """Refuses every third request."""

    asked = 0
    got: list[tuple[str, str]] = []  # noqa: RUF012  # one server a test

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Hook.asked += 1
        if self.path == "/wrong":
            Hook.got.append((json.loads(body)["id"], ""))
            self.send_response(422 if b"id0" in body else 204)
            self.end_headers()
            return
        if self.path == "/odd":
            if Hook.asked > 1:
                self.send_response(204)
                self.end_headers()
                Hook.got.append((body.decode(), self.headers["Idempotency-Key"]))
            else:
                self.wfile.write(b"this is no HTTP\r\n\r\n")
            return
        assert self.headers["User-Agent"].startswith("Spoor/")
        told = json.loads(body)
        refused = Hook.asked % 3 == 0
        if not refused:
            Hook.got.append((told["id"], self.headers["Idempotency-Key"]))
        self.send_response(503 if refused else 204)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Nothing."""


@pytest.fixture
def hook() -> Iterator[str]:
    Hook.asked, Hook.got = 0, []
    with HTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def deliver(
    folder: Path, on_new: str, webhooks: tuple[str, ...], size: int, seconds: float = 60.0
) -> list[str]:
    """Tell all there is; what was reported."""
    said: list[str] = []
    delivering = Deliveries(
        folder, receivers(on_new, webhooks), said.append, lambda ended, seconds: None
    )
    delivering.start()
    delivering.written(size)
    delivering.stop(seconds)
    return said


def test_a_command_and_a_webhook_are_told_each_line_in_order(tmp_path: Path, hook: str) -> None:
    script = "import sys,json; open(sys.argv[1],'a').write(json.load(sys.stdin)['id']+'\\n')"
    taken = tmp_path / "taken; echo no shell"
    command = f"{sys.executable} -c \"{script}\" '{taken}'"
    size = write(tmp_path, [line(number) for number in range(4)])
    said = deliver(tmp_path, command, (hook,), size)
    size = write(tmp_path, [line(4)])
    deliver(tmp_path, command, (hook,), size)  # another process goes on
    ids = [f"id{number}" for number in range(5)]
    assert taken.read_text().split() == ids
    assert Hook.got == [(one, one) for one in ids]
    assert len(said) == 1
    assert "503" in said[0]
    # What died before it noted its success tells once more, with the same id.
    (tmp_path / "delivered.json").unlink()
    deliver(tmp_path, "", (hook,), size)
    assert [told for told, _ in Hook.got] == [*ids, *ids]


def test_the_address_of_a_webhook_is_in_no_file(tmp_path: Path, hook: str) -> None:
    url = f"{hook}?token=OF-ITS-USER"
    size = write(tmp_path, [line(0), line(1)])
    said = deliver(tmp_path, "", (url,), size)
    assert [told for told, _ in Hook.got] == ["id0", "id1"]
    assert "OF-ITS-USER" not in (tmp_path / "delivered.json").read_text() + "".join(said)
    settings = Settings.of({"seeds": ("http://a.example/",), "webhook": (url,)}, "watch")
    assert "OF-ITS-USER" not in json.dumps([settings.to_dict(), repr(settings)])


def test_odd_answers_and_odd_lines_end_no_receiver(tmp_path: Path, hook: str) -> None:
    lines = [b'{"id": "one"}\n', b'{"id": "a\\nb"}\n', b"[" * 5_000 + b"\n", b"{}\n"]
    (tmp_path / "news.jsonl").write_bytes(b"".join(lines))
    size = (tmp_path / "news.jsonl").stat().st_size
    (said,) = deliver(tmp_path, "", (f"{hook}odd",), size)
    assert "cannot be read" in said
    assert [told for told, _ in Hook.got] == [told.decode() for told in lines]
    assert Hook.got[0][1] == "one"
    assert all(len(key) == 64 for _, key in Hook.got[1:])
    for damaged in ('{"a": -1}', '{"a": [0, "", -9]}', "[" * 100_000, '{"a": 1e999}', "[]"):
        (tmp_path / "delivered.json").write_text(damaged)
        with pytest.raises(InputError, match="is damaged"):
            deliver(tmp_path, "", (f"{hook}odd",), size)


def test_a_command_that_fails_holds_nothing_for_ever(tmp_path: Path) -> None:
    size = write(tmp_path, [line(0), line(1)])
    said = deliver(tmp_path, f"{sys.executable} -c 'raise SystemExit(3)'", (), size)
    assert [one.split(": ")[1].split(";")[1] for one in said] == [
        " it is told again later",
        " a line is passed over",
    ] * 2
    (done,) = json.loads((tmp_path / "delivered.json").read_text()).values()
    assert done == [size, "id1"]


def test_a_line_that_a_webhook_calls_wrong_holds_nothing_for_ever(
    tmp_path: Path, hook: str
) -> None:
    """A site chooses what a line says, and some receivers take no such thing."""
    size = write(tmp_path, [line(0), line(1)])
    again, passed = deliver(tmp_path, "", (f"{hook}wrong",), size)
    assert "it answered 422; it is told again later" in again
    assert "it answered 422; a line is passed over" in passed
    assert [told for told, _ in Hook.got] == ["id0"] * 8 + ["id1"]


def test_tries_of_a_command_count_over_short_passes(tmp_path: Path) -> None:
    """As cron runs them (`--once`): a line that always fails holds the others for eight passes."""
    size = write(tmp_path, [line(0), line(1)])
    script = "import sys,json; sys.exit(json.load(sys.stdin)['id'] == 'id0')"
    said = list[str]()
    for at in range(8):
        failed = threading.Event()

        def wait(ended: threading.Event, seconds: float, failed: threading.Event = failed) -> None:
            failed.set()
            ended.wait(60.0)

        delivering = Deliveries(
            tmp_path, receivers(f'{sys.executable} -c "{script}"', ()), said.append, wait
        )
        delivering.start()
        delivering.written(size)
        if at < 7:
            assert failed.wait(60.0)
            delivering.stop(0.0)
        else:
            delivering.stop(60.0)
    (done,) = json.loads((tmp_path / "delivered.json").read_text()).values()
    assert done == [size, "id1"]
    told_again, *waiting, passed = said
    assert "told again later" in told_again
    assert len(waiting) == 7
    assert all("2 lines wait for the same command to go on" in one for one in waiting)
    assert "a line is passed over" in passed


@pytest.mark.parametrize(
    ("on_new", "webhook", "said"),
    [
        ("'", (), "cannot be read"),
        (" ", (), "no command"),
        ("./none", (), "no program './none' can be run"),
        ("", ("ftp://x",), "no http or https"),
    ],
)
def test_bad_receivers(on_new: str, webhook: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        receivers(on_new, webhook)


def test_a_digest_groups_and_escapes() -> None:
    """By day, site and story; the text of others stays text."""
    lines = [
        line(0, title="<script>alert(1)</script>", score=0.4, why=[["kiln", 0.4]]),
        line(2, title="Better [x](y)", score=0.9, why=[]),
        line(1, story="id9", id="id9"),
        line(4, url="http://agency.example/4", story="id0"),
        line(
            6,
            kind="changed",
            added=("It costs eleven francs now.",),
            removed=("It costs ten francs now.",),
            share=0.1,
        ),
    ]
    days = digest.stories(lines)
    assert list(days) == ["2026-11-21", "2026-11-20"]
    (first, *_) = days["2026-11-20"][""]["site0.example"]
    assert first.line["title"] == "Better [x](y)"
    copied = [story for story in days["2026-11-20"][""]["site0.example"] if story.copies]
    assert [copy["url"] for story in copied for copy in story.copies] == ["http://agency.example/4"]
    sources = Sources()
    for day in range(6):
        sources.told("a.example", "new", day * 43_200.0)
    sources.asked("a.example", 3.0 * 86_400 + 5 * 43_200)
    (silence,) = sources.silences()
    assert silence == "a.example has told nothing for 3 days; it told 2 a day before"
    page = digest.html(lines, "A & B", sources.silences(), sources.rows())
    assert "lines, the newest of 2026-11-21" in page
    assert page.count("<i style=") == digest.HOURS  # hours without a line are there, too
    assert "<script>" not in page
    assert "<del>ten</del>" in page
    assert "<ins>eleven</ins>" in page
    assert silence in page
    text = digest.markdown(lines, "A & B", sources.silences())
    assert "+ It costs eleven francs now." in text
    assert "\\[x\\](y)" in text
    items = json.loads(json_feed(lines, "t"))["items"]
    assert [item["id"] for item in items] == [one["id"] for one in lines[::-1]]
    revived = Sources()
    revived.load(sources.save())
    assert revived.rows() == sources.rows()


def test_a_digest_of_several_topics_groups_by_them_first() -> None:
    """The topic with most stories first, what names none last; a copy stands with its story."""
    lines = [
        line(0, title="A kiln", topic="kiln"),
        line(2, title="A <b>bridge</b>", topic="harbour & bridge"),
        line(4, title="Another bridge", topic="harbour & bridge", url="http://b.example/4"),
        line(6, title="Something like these"),
        line(8, title="The kiln again", topic="harbour & bridge", story="id0"),
    ]
    days = digest.stories([one | {"found_at": lines[0]["found_at"]} for one in lines])
    (topics,) = days.values()
    assert list(topics) == ["harbour & bridge", "kiln", ""]
    assert list(topics["harbour & bridge"]) == ["b.example", "site0.example"]
    (kiln,) = topics["kiln"]["site0.example"]
    assert [copy["title"] for copy in kiln.copies] == ["The kiln again"]
    text = digest.markdown(lines, "News")
    places = [text.index(f"### {name}") for name in ("harbour & bridge", "kiln", digest.OTHER)]
    assert places == sorted(places)
    assert "\n#### b.example\n" in text
    page = digest.html(lines, "News")
    assert "<h3>harbour &amp; bridge</h3>\n<h4>b.example</h4>" in page
    assert f"<h3>{digest.OTHER}</h3>" in page
    assert digest.OTHER not in digest.markdown(lines[3:4], "News")  # nothing to tell it from
    (item, *_) = json.loads(json_feed(lines[:1], "t"))["items"]
    assert item["tags"] == ["new", "kiln"]
    assert b"<category>kiln</category>" in rss(lines[:1], "t")


def test_a_feed_says_in_the_title_what_became_of_a_document_and_when() -> None:
    """Readers list titles by date; a document that went yesterday may be of last year."""
    old, now = "2025-01-01T00:00:00Z", "2026-11-20T06:00:00Z"
    lines = [
        line(number, kind=kind, title="A kiln", date=old, found_at=now)
        for number, kind in enumerate(("new", "changed", "moved", "gone", "flood"))
    ]
    items = json.loads(json_feed(lines, "t", "http://a.example/"))
    assert items["home_page_url"] == "http://a.example/"
    assert [(item["title"], item["date_published"]) for item in reversed(items["items"])] == [
        ("A kiln", old),
        ("Changed: A kiln", old),  # of the change, where that is known
        ("Moved: A kiln", now),
        ("Gone: A kiln", now),
        ("A kiln", old),
    ]
    channel = ElementTree.fromstring(rss(lines, "t", "http://a.example/")).find("channel")
    assert channel is not None
    assert channel.findtext("link") == "http://a.example/"
    gone = channel.findall("item")[1]
    assert gone.findtext("title") == "Gone: A kiln"
    assert gone.findtext("pubDate") == "Fri, 20 Nov 2026 06:00:00 +0000"


def test_another_file_of_lines_is_told_whole(tmp_path: Path, hook: str) -> None:
    """As where a damaged one was moved away, and the next is longer by now."""
    size = write(tmp_path, [line(number) for number in range(3)])
    deliver(tmp_path, "", (hook,), size)
    for begin, count in ((10, 2), (20, 5)):
        (tmp_path / "news.jsonl").rename(tmp_path / f"moved{begin}")
        size = write(
            tmp_path, [line(number, title="t" * 40) for number in range(begin, begin + count)]
        )
        deliver(tmp_path, "", (hook,), size)
    told = [*range(3), *range(10, 12), *range(20, 25)]
    assert [name for name, _ in Hook.got] == [f"id{number}" for number in told]


def test_a_file_that_is_moved_away_meanwhile_is_told_of(tmp_path: Path, hook: str) -> None:
    size = write(tmp_path, [line(0)])
    (tmp_path / "news.jsonl").rename(tmp_path / "moved")
    said: list[str] = []
    delivering = Deliveries(tmp_path, receivers("", (hook,)), said.append)
    delivering.start()
    delivering.written(size)
    delivering.stop(0.1)
    assert [one.rpartition(": ")[2] for one in said] == [
        "cannot read news.jsonl (No such file or directory); it is told no more"
    ]


WATCH = """
import sys, time
from pathlib import Path
from spoor.live.deliveries import Deliveries, receivers
delivering = Deliveries(Path(sys.argv[1]), receivers(sys.argv[2], ()), print)
delivering.start()
delivering.written(int(sys.argv[3]))
time.sleep(600)
"""


@pytest.mark.parametrize("ended_by", ["its time", "the end of the watch", "a kill of the watch"])
def test_a_command_that_takes_too_long_ends_with_all_that_it_started(
    ended_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try of a hook that hangs left its processes."""
    monkeypatch.setattr(deliveries, "COMMAND_SECONDS", 0.3 if ended_by == "its time" else 60.0)
    os.mkfifo(tmp_path / "held")
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\nexec 3>{tmp_path / 'held'}\nsleep 600 &\nsleep 600\n")
    hook.chmod(0o755)
    size = write(tmp_path, [line(0), line(1, pad="x" * 300_000)])  # more than a pipe takes
    if ended_by == "a kill of the watch":
        watch = subprocess.Popen([sys.executable, "-c", WATCH, str(tmp_path), str(hook), str(size)])
        with (tmp_path / "held").open("rb") as held:
            watch.kill()
            watch.wait()
            assert held.read() == b""
        return
    said: list[str] = []
    delivering = Deliveries(
        tmp_path, receivers(str(hook), ()), said.append, lambda ended, seconds: ended.wait()
    )
    delivering.start()
    delivering.written(size)
    with (tmp_path / "held").open("rb") as held:
        if ended_by == "the end of the watch":
            delivering.stop(0.1)
        assert held.read() == b""  # nobody has it open any more
    delivering.stop(0.1)
    assert "2 lines wait" in said[-1]


def test_a_line_without_end_is_not_read(tmp_path: Path) -> None:
    size = write(tmp_path, [line(0), line(1, title="x" * (1 << 20))])
    (said, left) = deliver(tmp_path, f"{sys.executable} -c pass", (), size, 3.0)
    assert "a line has over 1,048,576 bytes" in said
    assert "1 line waits" in left
