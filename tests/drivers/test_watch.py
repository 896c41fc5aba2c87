"""`spoor watch` over real HTTP on loopback, and on evolving webs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from loopback import Asked, Loopback, beside, reply
from rolling import FRONT, lines_of, rolling, served
from spoor.cli.main import run
from spoor.formats.feeds import rss
from spoor.live.changes import json_line
from spoor.live.watch import SHARE_SENT
from spoor.runs.reader import Run
from spoor.views.server import Ui
from spoor.views.watch_page import HOURS, WatchPage, timeline
from spoor.worlds.evolving import EvolvingWorld, Version
from spoor.worlds.newsweb import NewsSettings, news_web


def command(port: int, out: Path, *more: str) -> list[str]:
    """With the default fleet, unless more is said."""
    told = ["watch", FRONT, "--out", str(out), "--connect-to", f"127.0.0.1:{port}", "--json"]
    return [*told, "--delay", "0.01", *more]


@pytest.mark.parametrize(
    "fleet", [["--fleet", "WLRL", "--param", "max_step=3"], ["--fleet", "change-rate"]]
)
def test_new_and_changed_documents_are_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fleet: list[str]
) -> None:
    out = tmp_path / "run"
    with served(rolling(60.0, 0.5)) as port:
        assert run(command(port, out, "--for", "6s", *fleet)) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["stopped_because"] == "time is over"
    lines = lines_of(out)
    new = [line["url"] for line in lines if line["kind"] == "new"]
    paid = [line["url"] for line in lines if line["forager"] is not None]
    assert len(paid) == len(set(paid)) == told["found"]
    assert len(new) == len(set(new))
    # What stood there at the start says nothing of its age; what came after is new.
    numbers = [int(url[len(FRONT) + 5 : -5]) for url in new if url != FRONT]
    assert numbers
    assert min(numbers) > 9
    assert f"{FRONT}story3.html" not in new  # robots.txt forbids it
    assert all(line["title"].startswith(("Story", "Front")) for line in lines)
    changed = [line for line in lines if line["kind"] == "changed"]
    assert any(line["url"].startswith(f"{FRONT}story") for line in changed)
    assert all(line["version"] > 1 for line in changed)
    corrected = [line for line in changed if line["url"].startswith(f"{FRONT}story")]
    assert all("A correction of " in line["added"][0] for line in corrected if "added" in line)
    items = ElementTree.parse(out / "feed.xml").findall("channel/item")
    assert [item.findtext("link") for item in items] == [line["url"] for line in lines[::-1]]
    assert (out / "pages.warc.gz").stat().st_size > 0
    assert (out / "spoor.toml").exists()
    check_page(out, lines)
    # What it archived is an evolving web itself: every content of the front page, each once.
    assert run(["web", "evolve", str(out), str(tmp_path / "web")]) == 0
    versions = EvolvingWorld.open(tmp_path / "web").versions
    fronts = [version.text for version in versions if version.url == FRONT]
    assert len(fronts) == len(set(fronts)) > 3


def check_page(out: Path, lines: list[dict[str, Any]]) -> None:
    """The live page of the watch says what was told; what a stranger wrote into its file is text,
    or left out."""
    hostile = {**lines[-1], "title": "<script>alert(1)</script>"}
    script = json.dumps({**lines[-1], "url": "javascript:alert(1)"})
    damaged = ["[]", script, '{"id": 1}', "no JSON", json.dumps({**lines[-1], "added": [1]})]
    with (out / "news.jsonl").open("a") as file:
        file.writelines(f"{line}\n" for line in [*damaged, json.dumps(hostile)])
    shown = WatchPage(out, "token")
    page = shown.page("nonce")
    assert f"{len(lines)} told" in page.replace(",", "") or f"{len(lines) + 1} told" in page
    assert lines[-1]["title"] in page
    assert "<script>alert" not in page
    assert 'href="javascript' not in page
    headings = [part["heading"] for part in shown.news({})["sections"]]
    assert headings == ["Summary", "Timeline", "Sources by what they brought", "What was told"]
    digests = {part["id"]: part["digest"] for part in shown.news({})["sections"]}
    assert not any("html" in part for part in shown.news(digests)["sections"])
    assert Ui(out).url.startswith("http://127.0.0.1")
    with (out / "news.jsonl").open("r+b") as whole:
        whole.truncate(sum(len(json_line(line)) for line in lines))


@pytest.mark.parametrize("fleet", ["change-rate", "WLRL"])
def test_a_crawl_is_turned_into_a_watch_of_what_it_found(
    fleet: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its topic, from the pages that led to what it found."""
    crawled, out = tmp_path / "crawled", tmp_path / "run"
    with served(rolling(60.0, 0.5)) as port:
        to = ["--connect-to", f"127.0.0.1:{port}", "--delay", "0", "--json"]
        crawl = ["crawl", FRONT, "--want", "match:story of", "--pages", "4", "--out", str(crawled)]
        assert run([*crawl, *to]) == 0
        watch = ["watch", "--from", str(crawled), "--out", str(out), *to]
        assert run([*watch, "--once", "--fleet", fleet]) == 0
    settings = Run(out).settings
    assert settings.seeds == (FRONT,)
    assert settings.want == ("match:story of",)
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["stopped_because"] == (
        "all was looked at"
    )
    assert run(["watch", "--from", str(tmp_path)]) == 2
    assert "is no folder of a run" in capsys.readouterr().err
    assert run(["watch", "--from", str(out), "--out", str(tmp_path / "other")]) == 2
    assert "is a watch; it goes on with its own command" in capsys.readouterr().err


def test_a_watch_from_a_crawl_goes_on_where_it_began(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Though the crawl has found more since."""
    crawled, out = str(tmp_path / "crawled"), str(tmp_path / "run")
    with served(rolling(60.0, 0.5)) as port:
        to = ["--connect-to", f"127.0.0.1:{port}", "--delay", "0", "--json"]
        crawl = ["crawl", FRONT, "--want", "match:story of", "--out", crawled, *to]
        watch = ["watch", "--from", crawled, "--out", out, *to, "--once"]
        assert run([*crawl, "--pages", "2"]) == 0
        assert run(watch) == 0
        before = Run(Path(out)).settings.seeds
        assert run(["label", crawled, FRONT, "yes"]) == 0
        assert run([*crawl, "--pages", "9"]) == 0
        capsys.readouterr()
        assert run(watch) == 0, capsys.readouterr().err
        assert Run(Path(out)).settings.seeds == before
        capsys.readouterr()
        assert run([*watch, "--topic", "kilns"]) == 2  # that would be another watch
        assert "was begun with topic = ''" in capsys.readouterr().err


PLAN = 4
"""Lines that a new watch without a topic begins with."""


def test_many_seeds_that_changed_are_said_in_one_short_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds = [f"{FRONT}story{number}.html" for number in range(40)]
    with served(rolling(10.0, 1.0)) as port:
        to = ["--connect-to", f"127.0.0.1:{port}", "--delay", "0", "--out", str(tmp_path / "run")]
        assert run(["watch", *seeds, *to, "--for", "0.1s", "--json"]) in (0, 1)
        capsys.readouterr()
        assert run(["watch", FRONT, *to, "--for", "1s"]) == 2
    said = capsys.readouterr().err
    assert "and 37 more, not 'http://news.example/'" in said
    assert len(said) < 500


def test_a_start_that_cannot_be_had_is_told_once_and_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A watch of months would be silent; a page that is not there is named beside one that is."""
    gone = f"{FRONT}nowhere.html"
    with served(rolling(60.0, 0.5)) as port:
        told = command(port, tmp_path / "run", "--for", "2s", gone)
        assert run([one for one in told if one != "--json"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[PLAN:] == [f"nothing came yet: {gone}: 404 Not Found"]
    private = ["watch", "http://127.0.0.1:9/", "--for", "1s", "--delay", "0.05"]
    assert run([*private, "--out", str(tmp_path / "private")]) == 1
    (line,) = capsys.readouterr().err.splitlines()[PLAN:]
    assert line.startswith("nothing came yet: http://127.0.0.1:9/: 127.0.0.1 is not a public")


def test_a_start_that_is_there_no_more_is_told_in_each_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A site that has died says nothing new, as one does that has nothing new to say."""
    lost = f"{FRONT}lost.html"
    pages = [Version(0.0, FRONT, "Front", "Front."), Version(0.0, lost, "Lost", "Lost.")]
    for there in (True, False, False):
        after = [] if there else [Version(1.0, lost, "", "", gone=True)]
        world = EvolvingWorld([*pages, *after], roots=[FRONT], start=2.0, end=3.0)
        with served(world) as port:
            to = ["--connect-to", f"127.0.0.1:{port}", "--delay", "0", "--once"]
            assert run(["watch", FRONT, lost, *to, "--out", str(tmp_path / "run")]) == 0
        said = capsys.readouterr().err.splitlines()
        assert len(said) == (PLAN if there else 1), "cron mails what a pass says"
        assert there or said[0].startswith(f"{lost}: 404 Not Found; it was there at 20")


def test_a_pass_ends_with_the_requests_that_may_be_sent_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others come one by one over the day: a pass would go on for hours."""

    def page(asked: Asked) -> bytes:
        links = "".join(f'<a href="{asked.path}{digit}">more</a>' for digit in (1, 2))
        return reply(f"<title>Clay {asked.path}</title><p>clay {links}")

    site = Loopback(page)
    with beside(site.serving):
        to = ["--connect-to", f"127.0.0.1:{site.port}", "--delay", "0", "--per-host", "8"]
        once = ["--requests-per-day", "1700", "--once", "--json", "--out", str(tmp_path / "run")]
        assert run(["watch", "http://a.example/", *to, *once]) == 0
    summary = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert summary["stopped_because"] == SHARE_SENT
    assert 160 <= summary["requests"] <= 175


def test_killed_it_goes_on_and_loses_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    with served(rolling(60.0, 0.4)) as port:
        told = [part for part in command(port, out, "--for", "400s") if part != "--json"]
        watch = [sys.executable, "-m", "spoor", *told]
        with subprocess.Popen(watch, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                for _ in range(3):
                    assert process.stdout.readline(), "it ended before three lines"
            finally:
                os.kill(process.pid, signal.SIGKILL)
        before = lines_of(out)
        assert run(command(port, out, "--for", "2s")) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["resumed"]
    after = lines_of(out)
    assert after[: len(before)] == before
    paid = [line["url"] for line in after if line["forager"] is not None]
    assert len(paid) == len(set(paid)) > sum(line["forager"] is not None for line in before)


def test_a_full_disk_pauses_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file may grow beyond 96 KiB; an empty database has 64."""
    out = tmp_path / "run"
    with served(rolling(60.0, 0.4)) as port:
        watch = [sys.executable, "-m", "spoor", *command(port, out, "--for", "60s")]
        shell = ["bash", "-c", 'ulimit -f 96 && exec "$@"', "bash", *watch]
        done = subprocess.run(shell, check=False, capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
        assert "paused: cannot write" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
        before = lines_of(out)
        assert run(command(port, out, "--for", "1s")) == 0
    assert json.loads(capsys.readouterr().out)["resumed"]
    assert lines_of(out)[: len(before)] == before


def test_other_settings_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    with served(rolling(10.0, 1.0)) as port:
        run(command(port, out, "--for", "0.5s"))
        assert run(command(port, out, "--fleet", "RL")) == 2
    assert "was begun with fleet = 'change-rate', not 'RL'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["watch"], "say what to watch"),
        (["watch", FRONT, "--for", "soon"], "is no time; write 90s, 30m, 12h or 7d"),
        (["watch", FRONT, "--fleet", "wl"], "unknown fleet 'wl'"),
        (["watch", FRONT, "--fleet", "WL", "--param", "max_stepp=3"], "did you mean 'max_step'"),
        (["watch", FRONT, "--replay", "x"], "not both"),
        (["watch", "--replay", "nowhere"], "no such file or folder"),
    ],
)
def test_bad_input(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("fleet", ["WL", "change-rate"])
def test_replay_on_an_evolving_web(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fleet: str
) -> None:
    web, out = tmp_path / "web", tmp_path / "out"
    news_web(NewsSettings(days=1.0, backlog_days=1.0, sections=3, words=10)).save(web)
    arguments = ["watch", "--replay", str(web), "--for", "1h", "--fleet", fleet, "--json"]
    assert run([*arguments, "--out", str(out)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["downloaded"] + told["failed"] == 3600 / 2.5
    lines = lines_of(out)
    paid = [line["url"] for line in lines if line["forager"] is not None]
    assert len(paid) == len(set(paid)) == told["found"] > 10
    assert all(line["date"] <= line["found_at"] for line in lines)
    assert run(["web", "info", str(web), "--json", "--sources", "20"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["at_start"] <= info["pages"] <= info["versions"]


def test_a_timeline_ends_when_the_watch_looked_last() -> None:
    """And not with the last line, which would hide a silence."""
    hour = 500_000
    shown = timeline([hour, hour - 2, hour - 2], 3600.0 * (hour + 20) + 5.0)
    assert [count for _, count in shown["bars"]] == [0] * (HOURS - 23) + [2, 0, 1] + [0] * 20
    assert (shown["told"], shown["most"]) == (3, 2)
    later = timeline([hour], 3600.0 * (hour + 1_000))
    assert (later["told"], later["most"], len(later["bars"])) == (0, 1, HOURS)
    assert timeline([hour], 0.0)["bars"][-1][1] == 1  # of which no look is known


def test_a_feed_of_hostile_titles() -> None:
    line = {
        "kind": "new",
        "url": "http://h.example/?a=1&b=<",
        "title": "A <b>\x00 & \x1b[31m",
        "date": None,
        "found_at": "2024-05-01T10:00:00Z",
        "version": 1,
        "forager": 0,
        "id": "x",
        "added": ["the <style> tag", "a & b"],
    }
    item = ElementTree.fromstring(rss([line], "t")).find("channel/item")
    assert item is not None
    assert item.findtext("title") == "A &lt;b> & [31m"
    assert item.findtext("description") == "+ the &lt;style&gt; tag<br>\n+ a &amp; b"
    assert item.findtext("link") == line["url"]
    assert item.findtext("pubDate") == "Wed, 01 May 2024 10:00:00 +0000"
