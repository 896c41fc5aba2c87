"""The report of a run and its live page: who may see it, what it shows, and in a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from browsing import Tab, ask, chromium, shown
from forked_commands import Command
from loopback import Asked, Loopback, beside, reply
from spoor.cli.main import run
from spoor.documents.document import Unreadable
from spoor.runs import documents
from spoor.runs import snapshot as snapshot_module
from spoor.runs.database import reading
from spoor.runs.lock import is_running
from spoor.runs.reader import Run
from spoor.runs.schema import FORMAT
from spoor.runs.snapshot import Snapshot, snapshot
from spoor.types import LeftOut
from spoor.views.explain import in_lines, of_page
from spoor.views.html import in_words, render, write_report
from spoor.views.link_rates import link_rates
from spoor.views.live_page import LivePage
from spoor.views.report import Left, Reporter, left, report_of
from spoor.views.run_list import ON_A_PAGE, run_names, runs_page
from spoor.views.run_totals import wilson
from spoor.views.snippets import snippet

SEED = "http://pots.example/"
EVIL = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 2'> kiln"


def filler(seed: str) -> str:
    """Words that no other page has, so that none is taken for a copy."""
    rng = Random(seed)
    return " ".join("".join(rng.choices("aeiounrst", k=6)) for _ in range(80))


def answer(asked: Asked) -> bytes:
    """Two sections of twenty pages each. Pages of pots name the topic, pages of boats do not; one
    of either carries a script in all that can be shown."""
    if asked.path == "/robots.txt":
        return reply("User-agent: *\nDisallow: /private/\nCrawl-delay: 0", media="text/plain")
    if asked.path == "/":
        links = "".join(
            f'<p>Read <a href="/{kind}/{at}">{word} {html.escape(EVIL) if at == 0 else at}'
            f"{' 77' * (at > 9 and kind == 'pots')}</a></p>"
            for at in range(20)
            for kind, word in (("pots", "glaze"), ("boats", "keel"))
        )
        return reply(
            f"<title>Home</title>{links}<a href='/private/x'>private</a><a href=/gone>x</a>"
        )
    found = re.fullmatch(r"/(pots|boats)/(\d+)", asked.path)
    if found is None:
        return reply("not here", 404)
    words = "Every kiln and glaze of this pottery" if found[1] == "pots" else "Sails and hulls"
    evil = html.escape(EVIL) if found[2] == "0" else ""
    return reply(
        f"<title>{found[1].title()} {found[2]} {'kiln' * (found[1] == 'pots')} {evil}</title><h1>About</h1>"
        f"<p>{filler(found[0])}. {words} {evil}</p>"
    )


def command(port: int, out: Path, pages: int, *more: str) -> list[str]:
    return [
        *("crawl", SEED, "--topic", "kiln, glaze", "--out", str(out), "--pages", str(pages)),
        *("--connect-to", f"127.0.0.1:{port}", "--delay", "0", "--in-flight", "1", "--json", *more),
    ]


@pytest.fixture(scope="module")
def web() -> Iterator[Loopback]:
    server = Loopback(answer)
    with beside(server.serving):
        yield server


@pytest.fixture(scope="module")
def stopped(web: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that stopped at its budget, with open links; not to be changed."""
    out = tmp_path_factory.mktemp("ui") / "run"
    assert run(command(web.port, out, 12)) == 0
    return out


@pytest.fixture
def mine(stopped: Path, tmp_path: Path) -> Path:
    """A copy of it, to be changed."""
    shutil.copytree(stopped, tmp_path / "run")
    return tmp_path / "run"


def files(path: Path) -> dict[str, bytes]:
    return {
        file.name: file.read_bytes()
        for file in path.iterdir()
        if not file.name.endswith(("-wal", "-shm"))
    }


def test_which_links_paid_is_measured_and_told_in_plain_words(
    web: Loopback,
    stopped: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = tmp_path / "run"
    assert run(command(web.port, out, 41, "--policy", "breadth-first")) == 0
    rates = link_rates(Run(out))
    assert (rates.followed, rates.paid, rates.pages) == (40, 20, 41), "pots, and no boat"
    glaze, keel = rates.pays[0], rates.fails[0]
    assert glaze.sentence == (
        "Links that say ‘glaze’ pay 2 × the average: 20 of 20 led to a relevant page."
    )
    assert keel.sentence == ("Links that say ‘keel’ never paid: 0 of 20.")
    assert all("/pots/" in one.url and one.relevant for one in glaze.examples)
    assert all("/boats/" in one.url and not one.relevant for one in keel.examples)
    assert len(rates.pays) == len(rates.fails) == 1, "a number says nothing"
    capsys.readouterr()
    assert run(["explain", str(out)]) == 0
    told = capsys.readouterr().out
    report = (out / "report.html").read_text()
    for text in (told, report):
        assert glaze.sentence in text
        assert keel.sentence in text
        assert "Measured on 40 links that were followed: 50% led to a relevant page" in text
    assert f'href="{glaze.examples[0].url}"' in report
    assert run(["explain", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["paid"]["pays"][0]["paid"] == 20
    assert "too few to say" in link_rates(Run(stopped)).lead
    monkeypatch.setattr("spoor.views.link_rates.MOST_BYTES", 1_000)
    assert link_rates(Run(out)).followed == 0, "a page with more bytes than that is not read"
    low, high = wilson(0, 20, 2.58)
    assert low == 0.0
    assert 0.2 < high < 0.3


def test_the_page_says_where_a_label_teaches_nothing(web: Loopback, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(command(web.port, out, 4, "--policy", "breadth-first")) == 0
    with shown(out) as page:
        _, text, _ = ask(page.url)
        assert "does not learn from an answer" in text
        own = {"Origin": f"http://127.0.0.1:{page.port}", "Accept": "application/json"}
        form = {"token": page.token, "page": "1", "relevant": "yes"}
        code, said, _ = ask(f"{page.url}label", form, **own)
        assert code == 200
        assert "does not learn from it" in said


# ---------------------------------------------------------------- the report


def test_a_report_says_what_the_issue_asks_for(stopped: Path) -> None:
    report = report_of(stopped)
    with reading(stopped) as db:
        found = [row[0] for row in db.execute("SELECT url FROM pages WHERE relevant")]
        asked_for = {row[0] for row in db.execute("SELECT url FROM pages")}
    assert {page.url for page in report.best} == set(found)
    assert all(page.path[0] == SEED and page.path[-1] == page.url for page in report.best)
    pots = [page for page in report.best if "/pots/" in page.url]
    assert pots
    assert all(any(hit for _, hit in report.snippets[page.number]) for page in pots)
    assert report.lines["trail"][-1] == [12.0, float(len(found))]
    assert report.budget == 12
    assert report.snapshot is not None
    links = report.snapshot.next
    assert links
    assert all(link.why and link.url not in asked_for for link in links)
    assert report.snapshot.learned["numbers"]
    (host,) = report.hosts
    assert (host.name, host.pages, host.relevant) == ("pots.example", 12, len(found))
    assert host.delay == 0.0
    page = (stopped / "report.html").read_text("utf-8")
    for heading in (
        "Harvest",
        "Best pages",
        "Next links",
        "What it has learned",
        "Hosts",
        "Settings",
    ):
        assert f">{heading}</h2>" in page
    assert "<mark>" in page
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\'' in page
    assert not re.findall(r"<script|<img|url\(http", page), "self-contained, and text stays text"
    assert "<button" not in page, "there is nobody to press it"


def test_what_was_kept_out_is_told(web: Loopback, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(command(web.port, out, 100, "--pages-per-host", "41")) == 0
    report = report_of(out)
    assert [(row.kind, row.example) for row in report.refused] == [
        ("robots", "http://pots.example/private/x")
    ]
    assert [(row.kind, row.times) for row in report.failures] == [("absent", 1)]
    assert report.hosts[0].failed == 1, "what robots.txt forbids is no error of the host"
    page = (out / "report.html").read_text("utf-8")
    assert "robots.txt forbids it" in page
    assert "404 Not Found" in page


def explained(out: Path, url: str) -> str:
    return "\n".join(in_lines(of_page(out, url)))


def test_what_was_trapped_is_told(tmp_path: Path) -> None:
    months = "".join(f"<a href='/calendar/{at}'>{at}</a> " for at in range(40))
    body = f"<title>Calendar</title><p>Nothing is on, kiln. {months}</p>"
    server = Loopback(lambda asked: reply(body))
    with beside(server.serving):
        assert run(command(server.port, tmp_path / "run", 30)) == 0
    report = report_of(tmp_path / "run")
    assert report.snapshot is not None
    assert any("calendar" in group for group, _, _ in report.snapshot.left_out.held)
    assert "held back, since they led to nothing new" in render(report)
    why = explained(tmp_path / "run", "http://pots.example/calendar/1234")
    assert "held back: pots.example/calendar/#" in why
    assert "(--traps follows it)" in why


def test_reading_disturbs_nothing_and_goes_on(web: Loopback, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run(command(web.port, out, 10)) == 0
    before = files(out)
    reader = Reporter(out)
    assert reader.sums.pages == 10
    assert not is_running(out)
    old = snapshot(out, links=40)
    first = reader.report(old)
    assert files(out) == before
    assert run(command(web.port, out, 20)) == 0
    reader.refresh()
    again = reader.report(snapshot(out))
    assert (again.hosts, again.lines) == (report_of(out).hosts, report_of(out).lines)
    assert again.budget == 20 != first.budget
    # What was fetched since a checkpoint is no next link, and how long ago that was is told.
    stale = reader.report(old)
    assert old is not None
    assert stale.snapshot is not None
    with reading(out) as db:
        fetched = {row[0] for row in db.execute("SELECT url FROM pages")}
    assert stale.since == 10
    assert "Chosen 10 pages ago" in render(stale)
    assert "pages ago" not in render(again)
    was, now = ([link.url for link in one.next] for one in (old, stale.snapshot))
    assert fetched.intersection(was)
    assert now == [url for url in was if url not in fetched][:20] != []


def test_a_frontier_on_disk_is_read_as_well(
    web: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways = {}
    for where in ("memory", "disk"):
        out = tmp_path / where
        assert run(command(web.port, out, 12, "--frontier", where)) == 0
        before = (out / "frontier.db").read_bytes() if where == "disk" else b""
        known = snapshot(out)
        assert known is not None
        ways[where] = (known.next, known.hosts, known.open_links, known.learned, known.missing)
        assert before == ((out / "frontier.db").read_bytes() if where == "disk" else b"")
    assert ways["memory"] == ways["disk"]
    assert ways["memory"][0]
    # While a run goes on, the file is for its crawl alone.
    monkeypatch.setattr(snapshot_module, "is_running", lambda path: True)
    known = snapshot(tmp_path / "disk")
    assert known is not None
    assert (known.next, known.open_links, known.missing) == ([], None, "")
    assert known.learned == ways["disk"][3]
    assert "they are shown once it stops" in render(Reporter(tmp_path / "disk").report(known))


def test_a_run_in_shards_is_read_whole(web: Loopback, tmp_path: Path) -> None:
    """Two shards as they lie on the disk; one fetched pots, the other boats."""
    out = tmp_path / "run"
    for number, kind in enumerate(("pots", "boats")):
        shard = command(web.port, out / f"shard-{number}", 7)
        shard[1] = f"http://{kind}.example/{kind}/1"
        shard[2:2] = [f"http://{kind}.example/{kind}/{at}" for at in range(2, 10)]
        assert run(shard) == 0
    shutil.copy(out / "shard-0" / "spoor.toml", out)
    report = report_of(out)
    assert [(host.name, host.pages, host.relevant) for host in report.hosts] == [
        ("boats.example", 7, 0),
        ("pots.example", 7, 7),
    ]
    assert [(group.name, group.relevant) for group in report.directories] == [
        ("boats.example/boats/", 0),
        ("pots.example/pots/", 7),
    ]
    assert report.directories[0].share[1] < 0.25 < 0.75 < report.directories[1].share[0]
    assert report.snapshot is not None
    assert {link.url.split("/")[2] for link in report.snapshot.next} == {
        "boats.example",
        "pots.example",
    }
    assert report.snapshot.open_links == 4
    assert all(report.snippets[page.number] for page in report.best), "archives are found"
    assert len(list(Run(out).pages())) == 14
    assert run(["export", str(out), "--out", str(tmp_path / "a.warc.gz")]) == 0
    page = LivePage(out, "token", wait=100.0)
    (boat, *_) = (row for row in Reporter(out).report(None, recent=True).recent if not row.relevant)
    assert "Noted as wanted" in page.label(boat.number, True)
    assert (out / "labels.jsonl").exists(), "those of all shards"
    assert not list(out.glob("shard-*/labels.jsonl"))
    assert report_of(out).hosts[0].relevant == 1


def test_a_run_of_a_lost_topic_still_has_a_report(web: Loopback, tmp_path: Path) -> None:
    topic = tmp_path / "pots.toml"
    topic.write_text('name = "pots"\nkeywords = ["kiln"]\n')
    out = tmp_path / "run"
    asked = command(web.port, out, 8)
    asked[2:4] = ["--topic-file", str(topic)]
    assert run(asked) == 0
    topic.unlink()
    write_report(out)
    assert "This cannot be shown: cannot read topic file" in (out / "report.html").read_text()


def test_a_snippet_shows_where_the_topic_is() -> None:
    text = f"{'one two three ' * 30} then came Kilns and more. {'four five ' * 50}"
    pieces = snippet(text, frozenset({"kiln"}), size=12)
    assert [piece for piece, hit in pieces if hit] == ["Kilns"]
    assert pieces[0][0].startswith("…")
    assert pieces[-1] == ("…", False)
    assert len(" ".join(piece for piece, _ in pieces).split()) <= 12 + 2
    assert snippet("", frozenset({"kiln"})) == []
    assert snippet("a b c", frozenset()) == [("a b c", False)]
    # What a site repeats tells nothing of this page, but where there is nothing else.
    repeated, said = "home kiln pots kiln shop about", set[str]()
    for text, first in ((repeated, "home"), (f"{repeated} {'one two ' * 9} a kiln burns", "…")):
        pieces = snippet(text, frozenset({"kiln"}), size=5, seen=said)
        assert pieces[0][0].startswith(first), pieces
    assert "kiln" in dict(snippet(repeated, frozenset({"kiln"}), seen=said))
    # Where characters stand for words.
    text, wanted = (
        f"{'応答の圧縮は' * 40}、バーチャルホストの設定です。{'応答の圧縮は' * 40}",
        {"設定"},
    )
    pieces = snippet(text, frozenset(wanted), size=12)
    assert [piece for piece, hit in pieces if hit] == ["設定"]
    assert "ホストの設定です" in "".join(piece for piece, _ in pieces)
    assert len("".join(piece for piece, _ in pieces)) < 30
    text = "A kiln, the kilns of PostgreSQLの設定 here"
    assert "".join(piece for piece, _ in snippet(text, frozenset({"kiln", "設定"}))) == text


def test_a_crawl_without_open_links_has_nothing_left() -> None:
    told = left([1] * 30, Snapshot(0.0, requests=30, pages=30, open_links=0))
    assert told is not None
    assert (told.lead[:23], told.numbers) == ("No link is left open: t", ())
    held = LeftOut({}, [("a.example/#", 1_203, ""), ("b.example/#", 297, "")])
    told = left([1] * 30, Snapshot(0.0, requests=30, pages=30, open_links=0, left_out=held))
    assert told == Left(
        "No link is left open but the 1,500 links that are held back: --traps follows them."
    )
    later = left([1] * 40, Snapshot(0.0, requests=30, pages=30, open_links=0))
    assert later is None or later.numbers, "links were found since"


def test_what_was_learned_in_words() -> None:
    learned = {"numbers": [("any link", -9.0), ("depth", -1.0)], "URL": [("pot", 2.0)]}
    assert in_words(learned) == [
        ("Speaks most for a link", ["URL ‘pot’"]),
        ("Speaks most against it", ["depth"]),
    ]
    assert in_words({"a class": [("pot", 2.0)]}) == [], "no sign, no side"


# ---------------------------------------------------------------- who may see the live page


def test_only_who_knows_the_address_gets_in(stopped: Path) -> None:
    with shown(stopped) as page:
        status, body, headers = ask(page.url)
        assert status == 200
        assert "Latest pages" in body
        nonce = re.search(r"script-src 'nonce-([\w-]+)'", headers["Content-Security-Policy"])
        assert nonce
        assert f'<script nonce="{nonce[1]}">' in body
        assert headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert headers["Cache-Control"] == "no-store"
        assert ask(page.url)[2]["Content-Security-Policy"] != headers["Content-Security-Policy"]
        root = f"http://127.0.0.1:{page.port}/"
        for wrong in ("", "news", f"{page.token}", f"{page.token}x/", f"{'a' * 32}/", "%2e%2e/"):
            status, body, headers = ask(root + wrong)
            assert (status, "pottery" in body) == (404, False)
            assert headers["Cache-Control"] == "no-store"
        for host in (
            "evil.example",
            f"evil.example:{page.port}",
            "127.0.0.1",
            f"0.0.0.0:{page.port}",
        ):
            assert ask(page.url, Host=host)[0] == 421
        assert ask(page.url, Host=f"localhost:{page.port}")[0] == 200


def test_a_document_that_takes_long_holds_nothing_else_up(
    stopped: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, done = threading.Event(), threading.Event()

    def slow(*_: object, **__: object) -> Unreadable:
        asked.set()
        assert done.wait(100)
        return Unreadable("it took long", "html")

    monkeypatch.setattr(documents, "extract", slow)
    with shown(stopped) as page:
        reader = threading.Thread(target=ask, args=(f"{page.url}document?page=1",))
        reader.start()
        try:
            assert asked.wait(100)
            status, body, _ = ask(f"{page.url}pages?which=all")
            assert (status, "pots" in body) == (200, True)
        finally:
            done.set()
            reader.join()
        done.clear()
        # A file is told by its bytes, and not read for its name.
        status, _, headers = ask(f"{page.url}file?page=2")
        assert status == 200
        assert headers["Content-Disposition"].endswith('-2.html"')
        done.set()


def test_a_label_comes_from_the_page_itself(mine: Path) -> None:
    with shown(mine) as page:
        label, own = f"{page.url}label", f"http://127.0.0.1:{page.port}"
        right = {"token": page.token, "page": "1", "relevant": "yes"}
        assert ask(label)[0] == 405
        assert ask(page.url, right, Origin=own)[0] == 405
        assert ask(label, right)[0] == 403, "no origin"
        assert ask(label, right, Origin="http://evil.example")[0] == 403
        assert ask(label, right, Origin="null")[0] == 403
        assert ask(label, {**right, "token": "x"}, Origin=own)[0] == 403
        assert ask(label, {**right, "page": "-1"}, Origin=own)[0] == 400
        assert ask(label, {**right, "relevant": "perhaps"}, Origin=own)[0] == 400
        assert ask(label, {**right, "page": "9" * 5000}, Origin=own)[0] == 413
        packed = {"Origin": own, "Content-Encoding": "gzip"}
        assert ask(label, right, **packed)[:2] == (400, "this form cannot be read\n")
        status, body, _ = ask(label, {**right, "page": "999"}, Origin=own)
        assert (status, body) == (409, "this run has no page 999\n")
        assert not (mine / "labels.jsonl").exists()
        status, _, headers = ask(label, right, Origin=own)
        assert (status, headers["Location"]) == (303, f"/{page.token}/#best"), "without a script"
    (line,) = (mine / "labels.jsonl").read_text().splitlines()
    assert (json.loads(line)["url"], json.loads(line)["relevant"]) == (SEED, True)


def test_news_are_what_changed(mine: Path) -> None:
    with shown(mine) as page:
        news = json.loads(ask(f"{page.url}news")[1])
        assert all("html" in part for part in news["sections"])
        have = urlencode({part["id"]: part["digest"] for part in news["sections"]})
        again = json.loads(ask(f"{page.url}news?{have}")[1])
        assert not any("html" in part for part in again["sections"])
        own = {"Origin": f"http://127.0.0.1:{page.port}", "Accept": "application/json"}
        form = {"token": page.token, "page": "1", "relevant": "no"}
        status, said, _ = ask(f"{page.url}label", form, **own)
        assert status == 200
        assert "when the crawl goes on" in json.loads(said)["said"]
        changed = json.loads(ask(f"{page.url}news?{have}")[1])["sections"]
        assert {"summary", "harvest", "best"} <= {part["id"] for part in changed if "html" in part}
        assert "settings" not in {part["id"] for part in changed if "html" in part}


def test_a_folder_of_runs_is_a_table_with_the_page_of_each(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "spoor.toml").write_text("no settings")
    (tmp_path / "no run").mkdir()
    (tmp_path / "linked").symlink_to(mine)
    assert run_names(tmp_path) == ["broken", "run"] or run_names(tmp_path) == ["run", "broken"]
    with shown(tmp_path) as page:
        status, table, headers = ask(page.url)
        assert (status, headers["Cache-Control"]) == (200, "no-store")
        assert '<a href="run/run/">run</a>' in table
        assert "kiln, glaze" in table
        assert "12 of 12" in table
        assert "budget of 12 pages reached" in table
        assert "is damaged" in table
        status, body, _ = ask(f"{page.url}run/run/")
        assert status == 200
        assert "Latest pages" in body
        assert json.loads(ask(f"{page.url}run/run/news")[1])["sections"]
        own = {"Origin": f"http://127.0.0.1:{page.port}"}
        form = {"token": page.token, "page": "1", "relevant": "no"}
        assert ask(f"{page.url}run/run/label", form)[0] == 403, "from nowhere"
        status, _, headers = ask(f"{page.url}run/run/label", form, **own)
        assert status == 303
        assert headers["Location"] == f"/{page.token}/run/run/#best"
        for wrong in ("news", "run/", "run/run", "run/none/", "run/linked/", "run/no%20run/"):
            assert ask(page.url + wrong)[0] == 404, wrong
        for wrong in ("run/../run/", "run/%2e%2e/", "run/..%2frun/", "run/%2fetc/"):
            assert "Latest pages" not in ask(page.url + wrong)[1], wrong
        assert ask(f"{page.url}run/broken/")[0] == 409
        assert ask(page.url, Host="evil.example")[0] == 421
    for at in range(ON_A_PAGE + 1):
        (tmp_path / f"more-{at}").mkdir()
        shutil.copy(mine / "spoor.toml", tmp_path / f"more-{at}")
    assert runs_page(tmp_path).count("<tr>") == 1 + ON_A_PAGE
    last = runs_page(tmp_path, 99)
    assert last.count("<tr>") == 1 + 3
    assert "Page 2 of 2" in last
    assert "No run is here yet" in runs_page(tmp_path / "no run")


def test_what_cannot_be_shown_is_told(
    stopped: Path, mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: str) -> str:
        capsys.readouterr()
        assert run(["ui", "--no-open", "--for", "0", *arguments]) == 2
        out, err = capsys.readouterr()
        assert (out, len(err.splitlines())) == ("", 1)
        return err

    assert "is no run: it has no spoor.toml" in told(str(tmp_path / "none"))
    assert "'--port'" in told(str(stopped), "--port", "65536")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        assert "cannot listen on 127.0.0.1" in told(
            str(stopped), "--port", str(held.getsockname()[1])
        )
    (mine / "state.db").write_bytes(b"no database at all" * 100)
    for rest in mine.glob("state.db-*"):
        rest.unlink()
    assert "state.db cannot be used (" in told(str(mine))
    (mine / "spoor.toml").write_text(f"format = {FORMAT}\n[crawl]\ncommand = 'watch'\nseeds = []\n")
    assert "state.db cannot be used (" in told(str(mine)), "nor as the page of a watch"


# ---------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def browser(stopped: Path) -> Iterator[Any]:
    """After the crawl: Playwright keeps a loop running in this thread."""
    with chromium() as made:
        yield made


CONTRAST = """
() => {
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const worst = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (["SCRIPT", "STYLE"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const inSvg = element.closest("svg");
    const ink = inSvg && style.fill !== "none" ? style.fill : style.color;
    const [a, b] = [light(parse(ink)), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const name = `${element.tagName}.${element.className.baseVal ?? element.className}`;
    worst[name] = Math.min(worst[name] ?? 99, ratio);
  }
  return worst;
}
"""


@pytest.mark.browser
def test_the_table_of_runs_can_be_used_by_keys(browser: Any, mine: Path, tmp_path: Path) -> None:
    with shown(tmp_path) as page:
        tab = browser.new_page()
        tab.goto(page.url)
        tab.keyboard.press("Tab")
        assert tab.evaluate("document.activeElement.textContent") == "Skip to the content"
        for name in ("New crawl", "New watch", "run"):
            tab.keyboard.press("Tab")
            assert tab.evaluate("document.activeElement.textContent") == name
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#best")
        tab.close()


def test_the_command_ends_as_it_is_told(stopped: Path) -> None:
    told = [sys.executable, "-m", "spoor", "ui", str(stopped), "--no-open"]
    with Command([*told, "--for", "600"], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            assert ask(url)[0] == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(100) == 0
        finally:
            process.kill()


@pytest.mark.browser
def test_the_pages_are_fit_to_be_read(browser: Any, stopped: Path) -> None:
    with shown(stopped) as live:
        for url in ((stopped / "report.html").as_uri(), live.url):
            tab = Tab(browser, url)
            tab.page.wait_for_selector("#settings")
            for width, scheme in ((1200, "light"), (400, "dark")):
                tab.page.set_viewport_size({"width": width, "height": 800})
                tab.page.emulate_media(color_scheme=scheme)
                assert tab.js("document.documentElement.scrollWidth <= innerWidth"), (
                    "no sideways scroll"
                )
                paper = tab.js("getComputedStyle(document.body).backgroundColor")
                assert (paper == "rgb(255, 255, 255)") == (scheme == "light")
                contrast = tab.js(CONTRAST)
                assert len(contrast) > 20
                assert {name: ratio for name, ratio in contrast.items() if ratio < 4.5} == {}
            assert tab.wrong == []
            assert [asked for asked in tab.asked if not asked.startswith((url, "data:"))] == []
            tab.page.close()


@pytest.mark.browser
def test_the_pages_speak_to_all(browser: Any, stopped: Path) -> None:
    """Landmarks, headings in order, captions, names of buttons, and the keyboard alone."""
    with shown(stopped) as live:
        for url in ((stopped / "report.html").as_uri(), live.url):
            tab = Tab(browser, url)
            for landmark in ("header", "nav[aria-label]", "main", "footer"):
                assert tab.page.locator(landmark).count() == 1, landmark
            levels = tab.js("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
            assert levels[0] == 1
            assert all(below - above <= 1 for above, below in pairwise(levels))
            assert tab.page.locator("table:not(:has(caption))").count() == 0
            assert tab.page.locator("th:not([scope])").count() == 0
            assert tab.page.locator("svg[role=img]").first.get_attribute("aria-labelledby")
            names = tab.js(
                "[...document.querySelectorAll('form.label button')].map(b => b.ariaLabel)"
            )
            assert all(": " in name for name in names)
            tab.page.keyboard.press("Tab")
            assert tab.js("document.activeElement.className") == "skip"
            assert tab.page.locator(".skip").bounding_box()["x"] >= 0, "seen once it has the focus"
            tab.page.keyboard.press("Enter")
            assert tab.js("document.activeElement.id") == "main"
            tab.page.keyboard.press("Tab")
            outline = "getComputedStyle(document.activeElement).outlineStyle"
            assert tab.js(outline) == "solid", "the focus is seen"
            assert tab.wrong == []
            tab.page.close()


@pytest.mark.browser
def test_scripts_in_what_was_crawled_stay_text(browser: Any, stopped: Path) -> None:
    with shown(stopped) as live:
        for url in ((stopped / "report.html").as_uri(), live.url):
            tab = Tab(browser, url)
            assert "<script>window.pwned" in tab.page.locator("#best").inner_text()
            if url == live.url:
                # The parts that come later are made by the script, another way in.
                tab.js(
                    "document.querySelectorAll('main > section').forEach(s => s.dataset.digest = '')"
                )
                tab.until(
                    "[...document.querySelectorAll('main > section')].every(s => s.dataset.digest)"
                )
                assert "<script>window.pwned" in tab.page.locator("#best").inner_text()
            assert tab.js("window.pwned") is None
            assert tab.page.locator("main script, main img").count() == 0
            assert tab.wrong == []
            tab.page.close()


@pytest.mark.browser
def test_a_label_changes_the_queue(browser: Any, mine: Path) -> None:
    with shown(mine) as live:
        tab = Tab(browser, live.url)
        before = tab.queue()
        rows = tab.page.locator("#recent li", has_text="/pots/")
        labelled = rows.all()[:4]
        numbers = [row.locator("form").get_attribute("data-page") for row in labelled]
        urls = [row.locator("a").first.get_attribute("href") for row in labelled]
        for number in numbers:
            tab.page.locator(f'#recent form[data-page="{number}"] button.no').focus()
            tab.page.keyboard.press("Enter")
            pressed = f'#recent form[data-page="{number}"] button.no[aria-pressed="true"]'
            tab.page.wait_for_selector(pressed)
            assert "Noted as not wanted" in tab.page.locator("#said").inner_text()
            focused = tab.js("document.activeElement.closest('form').dataset.page")
            assert focused == number, "who labels by the keyboard stays where they were"
        after = tab.queue()
        assert place_of_pots(before) < place_of_pots(after), "what is not wanted waits longer"
        assert tab.wrong == []
        tab.page.close()
    found = (mine / "relevant.jsonl").read_text("utf-8")
    assert "http://pots.example/pots/" in found
    assert [url for url in urls if f'"url": "{url}"' in found] == []


@pytest.mark.browser
def test_the_page_works_without_its_script(browser: Any, mine: Path) -> None:
    with shown(mine) as live:
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.set_default_timeout(100_000)
        page.goto(live.url)
        number = page.locator("#best form.label").first.get_attribute("data-page")
        page.locator(f'#best form[data-page="{number}"] button.no').click()
        page.wait_for_url("**/#best")
        # No longer relevant, so it is among the latest only.
        pressed = f'#recent form[data-page="{number}"] button.no[aria-pressed="true"]'
        assert page.locator(pressed).count() == 1
        assert page.locator(f'#best form[data-page="{number}"]').count() == 0
        context.close()


def place_of_pots(queue: list[str]) -> float:
    """Their mean place."""
    places = [at for at, url in enumerate(queue) if "/pots/" in url] or [len(queue)]
    return sum(places) / len(places)


@pytest.mark.browser
def test_the_page_of_a_running_crawl_follows_it(browser: Any, tmp_path: Path) -> None:
    server = Loopback(without_end)
    with beside(server.serving):
        follow(browser, server.port, tmp_path / "run")


def without_end(asked: Asked) -> bytes:
    """The same site, whose crawl is not done before it has been looked at."""
    if asked.path != "/":
        return answer(asked)
    more = "".join(f'<p>Read <a href="/boats/{at}">keel {at}</a></p>' for at in range(20, 400))
    return reply(answer(asked).partition(b"\r\n\r\n")[2] + more.encode())


def follow(browser: Any, port: int, out: Path) -> None:
    asked = [sys.executable, "-m", "spoor", *command(port, out, 1000)]
    asked[asked.index("--delay") + 1] = "0.6"
    with Command(asked, stdout=subprocess.PIPE) as process:
        try:
            while not (out / "spoor.toml").exists() or not Reporter(out).sums.pages:
                assert process.poll() is None
                time.sleep(0.05)
            with shown(out) as live:
                tab = Tab(browser, live.url)
                assert tab.page.locator("#says").inner_text().startswith("Running: ")
                first = tab.queue()
                fetched = int(tab.page.locator("#summary dd").first.inner_text())
                tab.until(f"+document.querySelector('#summary dd').textContent > {fetched + 3}")
                tab.page.locator("#recent button.no").first.click()
                tab.until("document.querySelector('#said').textContent.includes('within a second')")
                tab.page.wait_for_selector('#recent button.no[aria-pressed="true"]')
                for _ in range(1000):
                    if tab.queue() != first:
                        break
                    tab.page.wait_for_timeout(100)
                assert tab.queue() != first
                process.send_signal(signal.SIGINT)
                out_text, _ = process.communicate(timeout=100)
                tab.until("document.querySelector('#says').textContent.startsWith('Not running')")
                assert tab.page.locator("#said").inner_text() == "The run has ended."
                assert tab.wrong == []
                tab.page.close()
        finally:
            process.kill()
    assert json.loads(out_text)["stopped_because"] == "interrupted"
    (line,) = (out / "labels.jsonl").read_text().splitlines()
    with reading(out) as db:
        row = db.execute(
            "SELECT relevant, why FROM pages WHERE url = ?", (json.loads(line)["url"],)
        ).fetchone()
    assert (row["relevant"], json.loads(row["why"])[0][0]) == (0, "a person said so")
