"""`spoor crawl --refresh RUN`: what an earlier run has is visited again, and costs next to nothing
where it did not change."""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from contextlib import closing
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # has no stubs

import spoor
from loopback import MISSING, Asked, Loopback, beside, reply
from spoor.cli.crawl import describe
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.learn.state import read
from spoor.link_filter import sampled_refresh
from spoor.live.live_crawl import LiveCrawl
from spoor.policies.host_bandit import HostBandit
from spoor.runs import files, snapshot
from spoor.runs.assemble import located, make_crawl, make_crawl_to_look_at
from spoor.runs.inputs import with_inputs
from spoor.runs.reader import Run
from spoor.runs.refreshed_run import as_begun, in_words
from spoor.runs.schema import read_settings
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.web.freshness import fresh_for, heuristically_fresh_for

pytestmark = pytest.mark.server


@pytest.fixture(autouse=True)
def few_in_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A helper reads each document that a report shows, and each crawl here ends with one."""
    monkeypatch.setattr("spoor.views.run_totals.BEST", 8)


SITE = "http://a.example"
KINDS = ("etag", "plain", "fresh")
NAMES = [f"/{KINDS[number % 3]}{number}" for number in range(36)]


class Site(Loopback):
    """A home page with links to 36 pages: of `/etag…` the server keeps validators, of `/plain…`
    nothing, and `/fresh…` are fresh for a day by their own word."""

    def __init__(self) -> None:
        super().__init__(self._counted)
        self.versions: Counter[str] = Counter()
        self.gone: set[str] = set()
        self.more: list[str] = []
        self.lastmod = ""
        self.sent = 0

    def _counted(self, asked: Asked) -> bytes:
        found = self._answer(asked.path, self.heads[-1])
        self.sent += len(found)
        return found

    def _answer(self, path: str, head: str) -> bytes:
        if path == "/sitemap.xml" and self.lastmod:
            urls = "".join(
                f"<url><loc>{SITE}{name}</loc><lastmod>{self.lastmod}</lastmod></url>"
                for name in ["/listed", *NAMES]
            )
            return reply(f"<urlset>{urls}</urlset>", media="application/xml")
        if path in self.gone or path not in ["/", *NAMES, *self.more]:
            return MISSING
        tag = f'"{self.versions[path]}"'
        if path.startswith("/etag") and f"If-None-Match: {tag}" in head:
            return reply(status=304, ETag=tag)
        links = [*NAMES] if path == "/" else self.more if self.versions[path] else []
        text = f"clay of {path[1:] or 'all'} of a kiln " * 150  # its own: a menu says nothing
        body = f"<title>Clay {path}</title><p>version {tag} {text}</p>"
        body += "".join(f'<a href="{name}">clay</a>' for name in links)
        if path.startswith("/etag"):
            return reply(body, ETag=tag)
        return reply(
            body, Cache_Control="max-age=86400" if path.startswith("/fresh") else "private"
        )


class CrashError(Exception):
    pass


def relevant(path: Path) -> list[str]:
    """The paths in the results, in their order."""
    lines = (path / "relevant.jsonl").read_text().splitlines()
    return [json.loads(line)["url"].removeprefix(SITE) for line in lines]


def explained(path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `spoor explain` says of a page."""
    assert run(["explain", str(path), f"{SITE}{name}"]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_what_an_earlier_run_has_is_visited_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site()

    def crawl(name: str, *more: str) -> dict[str, Any]:
        site.sent = 0
        site.asked.clear()
        told = [
            "--connect-to",
            f"127.0.0.1:{site.port}",
            "--delay",
            "0",
            "--per-host",
            "8",
            "--json",
        ]
        assert run(["crawl", "--out", str(tmp_path / name), *told, *more]) == 0
        summary: dict[str, Any] = json.loads(capsys.readouterr().out)
        return summary

    with beside(site.serving):
        assert crawl("1", f"{SITE}/", "--topic", "clay")["fetched"] == 37
        bytes_before, run_before = site.sent, (tmp_path / "1" / "pages.warc.gz").read_bytes()

        # Nothing changed. What is fresh by its own word is left out, but for the sample.
        summary = crawl("2", "--refresh", str(tmp_path / "1"))
        assert "not changed" not in summary["last_failure"], (
            "a page that is as it was is no failure"
        )
        again = summary["refreshed"]
        assert (again["changed"], again["gone"], again["new"]) == (0, 0, 0)
        assert again["unchanged"] + again["not_asked"] == 37
        assert 9 <= again["not_asked"] <= 12
        assert sorted(relevant(tmp_path / "2")) == sorted(["/", *NAMES])

        # Its sitemap says so of all: a sample is asked, five pages here.
        site.lastmod = "2001-01-01"
        again = crawl("3", "--refresh", str(tmp_path / "2"))["refreshed"]
        assert again["not_asked"] >= 32
        assert len(site.asked) <= 9
        assert site.sent <= 0.25 * bytes_before
        assert "/listed" not in site.pages, "what a sitemap lists is no page of the earlier run"
        spared = next(name for name in NAMES if name not in site.pages)
        asked_for = next(name for name in NAMES if name in site.pages)
        why = "not asked for again: its sitemap called it unchanged: --no-hints asks for it"
        assert why in explained(tmp_path / "3", spared, capsys)
        assert "again" not in explained(tmp_path / "3", asked_for, capsys)

        # Nothing of it is fetched then, but that is no crawl to which nothing came.
        site.lastmod = ""
        to = ["--connect-to", f"127.0.0.1:{site.port}", "--delay", "0"]
        assert (
            run(["crawl", "--refresh", str(tmp_path / "3"), "--out", str(tmp_path / "5"), *to]) == 0
        )
        told, lines = capsys.readouterr()
        assert "not changed" not in lines
        assert "no seed brought a page" not in told
        assert "of 37 pages" in told
        assert "in all   37 documents count" in told
        assert "have 1 of 1 words of the topic" in told, "pages that are unchanged show none"

        # Something changed, something is gone, and a changed page links to what is new.
        site.versions.update(["/etag3", "/plain7"])
        site.gone, site.more = {"/fresh2"}, ["/new", "/newer"]
        last = crawl("4", "--refresh", str(tmp_path / "3"), "--no-hints", "--pages", "1")
        since = last["refreshed"].pop("since")
        assert last["refreshed"] == {
            "pages": 37,
            "unchanged": 34,
            "not_asked": 0,
            "changed": 2,
            "gone": 1,
            "new": 1,
            "left_out": {},
            "sampled": None,
        }
        site.asked.clear()
        same = crawl("4", "--refresh", str(tmp_path / "3"), "--no-hints", "--pages", "1")
        assert (same["resumed"], site.pages) == (True, []), "and it is over"
        assert same["refreshed"] == last["refreshed"] | {"since": since}
    told = describe(last | {"refreshed": same["refreshed"]}, tmp_path / "4")
    command = re.search(r"anew .*: spoor (export .*)", told)
    assert command is not None
    monkeypatch.chdir(tmp_path)
    assert run([*shlex.split(command[1])]) == 0, "what is new or has changed, and nothing else"
    rows = (tmp_path / "anew.csv").read_text().splitlines()[1:]
    anew = {row.split(",")[0].removeprefix(SITE) for row in rows}
    assert anew - {"/new", "/newer"} == {"/etag3", "/plain7"}
    found = relevant(tmp_path / "4")
    (new,) = {"/new", "/newer"} & {*found}
    assert sorted(found) == sorted({"/", new, *NAMES} - {"/fresh2"})
    latest = Run(tmp_path / "4")
    texts = {one.url.removeprefix(SITE): one.text for one in latest.documents()}
    assert all(f'version "{site.versions[name]}"' in texts[name] for name in found)
    assert {row.url.removeprefix(SITE) for row in latest.pages() if "changed" in row.flags} == (
        {"/etag3", "/plain7"}
    )
    assert (tmp_path / "1" / "pages.warc.gz").read_bytes() == run_before
    check_revisits(tmp_path / "4")
    assert latest.export(tmp_path / "out.warc.gz") == len(found)
    assert run(["forget", str(tmp_path / "4"), f"{SITE}/etag6"]) == 0
    assert "/etag6" not in relevant(tmp_path / "4")


def check_revisits(path: Path) -> None:
    """Each revisit record refers to a response in the same archive (read by warcio)."""
    responses, revisits = {}, list[tuple[str, str, str]]()
    for file in sorted(path.glob("pages*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                head = record.rec_headers
                uri = head["WARC-Target-URI"]
                if record.rec_type == "response":
                    responses[head["WARC-Record-ID"]] = uri, head["WARC-Date"]
                elif record.rec_type == "revisit":
                    refers = head["WARC-Refers-To-Target-URI"], head["WARC-Refers-To-Date"]
                    assert responses[head["WARC-Refers-To"]] == refers
                    assert refers[0] == uri
                    assert record.content_stream().read() == b""
                    kind = head["WARC-Profile"].rpartition("/")[2]
                    # Players send the headers of a revisit record, and those of the page without any.
                    headers = record.http_headers
                    status = headers.get_statuscode() if headers else head["Content-Length"]
                    revisits.append((uri[len(SITE) + 1 :].rstrip("0123456789"), kind, status))
                    assert (
                        kind != "identical-payload-digest"
                        or "sha1:" in (head["WARC-Payload-Digest"])
                    )
    told = {
        "etag": ("etag", "server-not-modified", "0"),
        "plain": ("plain", "identical-payload-digest", "200"),
    }
    assert {told["etag"], told["plain"]} <= set(revisits)
    assert sum(one == told["etag"] for one in revisits) >= 2 * 11


def test_it_goes_on_after_a_crash(tmp_path: Path) -> None:
    """Once while it copies the earlier run, and once in the middle."""

    site, out = Site(), tmp_path / "2"
    site.lastmod = "2001-01-01"
    with beside(site.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{site.port}", "delay": 0.0, "per_host": 8}
        spoor.run(f"{SITE}/", "clay", out=tmp_path / "1", progress=False, **told)
        again = Settings.of({"refresh": str(tmp_path / "1"), "hints": False, **told})
        settings, commits = with_inputs(again, []), 0

        def crash(step: str) -> None:
            nonlocal commits
            commits += step == "committed"
            if commits == 6:
                raise CrashError

        commits = 5
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("spoor.runs.refreshed_run.sync_folder", lambda path: crash("committed"))
            with pytest.raises(CrashError):
                RunWriter(out, settings)
        commits = 0
        with closing(RunWriter(out, settings, failpoint=crash)) as folder:
            halfway = LiveCrawl(folder, make_crawl(settings))
            with pytest.raises(CrashError):
                halfway.run()
        with closing(RunWriter(out, settings)) as folder:
            run_again = LiveCrawl(folder, make_crawl(settings))
            assert 0 < run_again.crawl.counts.unchanged < 37
            reason = run_again.run()
            refreshed = run_again.summary(reason)["refreshed"]
    assert refreshed == {
        "pages": 37,
        "unchanged": 37,
        "not_asked": 0,
        "changed": 0,
        "gone": 0,
        "new": 0,
        "since": None,
        "left_out": {},
        "sampled": None,
    }
    assert sorted(relevant(out)) == sorted(["/", *NAMES])


def test_a_refresh_that_lost_its_database_keeps_its_archive(tmp_path: Path) -> None:
    site, out = Site(), tmp_path / "2"
    with beside(site.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{site.port}", "delay": 0.0, "per_host": 8}
        spoor.run(f"{SITE}/", "clay", out=tmp_path / "1", progress=False, pages=5, **told)
        again = {"refresh": str(tmp_path / "1"), "pages": 2, "progress": False, **told}
        spoor.run((), out=out, **again)
    for file in [*out.glob("state.db*"), out / files.SETTINGS]:
        file.unlink()
    archive = (out / files.archive(0)).read_bytes()
    settings = with_inputs(Settings.of({"refresh": str(tmp_path / "1"), **told}), [])
    with pytest.raises(InputError, match="pages"):
        RunWriter(out, settings)
    assert (out / files.archive(0)).read_bytes() == archive


def test_what_was_not_there_is_news_once_a_changed_page_links_to_it(tmp_path: Path) -> None:
    """Whoever links to pages before they exist does not keep them out of every refresh."""
    site, out = Site(), tmp_path / "2"
    site.gone = {"/plain7"}
    with beside(site.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{site.port}", "delay": 0.0, "per_host": 8}
        spoor.run(f"{SITE}/", "clay", out=tmp_path / "1", progress=False, **told)
        assert "/plain7" in site.pages
        site.gone, site.versions["/"] = set(), 1
        again = {"refresh": str(tmp_path / "1"), "hints": False, "progress": False, **told}
        spoor.run((), out=out, **again)
    assert "/plain7" in {page.url.removeprefix(SITE) for page in Run(out).pages()}


def test_a_view_of_a_page_that_is_gone_is_a_result_in_its_place(tmp_path: Path) -> None:
    gone = set[str]()

    def answer(asked: Asked) -> bytes:
        name, *_ = asked.path.partition("?")
        if asked.path == "/":
            names = [
                f"/{at}?sort={order}" if order else f"/{at}"
                for at in range(9)
                for order in ("", "up", "down")
            ]
            return reply("".join(f'<a href="{name}">clay</a>' for name in names))
        if asked.path in gone or not name[1:].isdigit():
            return MISSING
        own = " ".join(f"{name[1:]}x{at}" for at in range(40))
        return reply(f"<title>Clay {name[1:]}</title>clay of a kiln {own}", ETag='"1"')

    server, out = Loopback(answer), tmp_path / "2"
    with beside(server.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{server.port}", "delay": 0.0}
        spoor.run(f"{SITE}/", "clay", out=tmp_path / "1", progress=False, **told)
        assert sorted(relevant(tmp_path / "1")) == [f"/{at}" for at in range(9)]
        shown = [
            page.url.removeprefix(f"{SITE}/")
            for page in Run(tmp_path / "1").pages()
            if "?" in page.url
        ]
        twice = next(name[0] for name in shown if sum(one[0] == name[0] for one in shown) == 2)
        gone.add(f"/{twice}")
        spoor.run((), out=out, refresh=str(tmp_path / "1"), hints=False, progress=False, **told)
    of_it = {name for name in relevant(out) if name.startswith(f"/{twice}")}
    assert len(of_it) == 1
    assert len(relevant(out)) == 9


def test_pages_that_moved_are_results_where_they_are_now(tmp_path: Path) -> None:
    """By a redirect, to a page that is known by then and to one that is not, or without one."""
    moved = dict[str, str]()

    def answer(asked: Asked) -> bytes:
        if asked.path == "/":
            names = [moved.get(name) or name for name in ("/a", "/b")]
            links = "".join(f'<a href="{name}">clay</a>' for name in [*names, "/c"])
            return reply(f"<title>All</title>{len(moved)}{links}")
        if to := moved.get(asked.path):
            return reply(status=301, Location=to) if asked.path != "/a" else MISSING
        if asked.path not in (moved.values() or ["/a", "/b", "/c"]):
            return MISSING
        own = " ".join(f"{asked.path[-1]}{at}" for at in range(40))
        return reply(f"<title>Clay {asked.path[-1]}</title>clay of a kiln {own}")

    server, out = Loopback(answer), tmp_path / "2"
    with beside(server.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{server.port}", "delay": 0.0}
        spoor.run(f"{SITE}/", "clay", out=tmp_path / "1", progress=False, **told)
        assert {"/a", "/b", "/c"} <= {*relevant(tmp_path / "1")}
        moved |= {name: f"/new{name}" for name in ("/a", "/b", "/c")}
        spoor.run((), out=out, refresh=str(tmp_path / "1"), hints=False, progress=False, **told)
    assert sorted(set(relevant(out)) - {"/"}) == ["/new/a", "/new/b", "/new/c"]


def test_sitemaps_of_a_host_whose_first_page_did_not_change_are_read(tmp_path: Path) -> None:
    """Of any host in scope, not of the seed's alone."""
    listed = ["http://b.example/1"]

    def answer(asked: Asked) -> bytes:
        if asked.path == "/sitemap.xml" and asked.host == "b.example":
            urls = "".join(f"<url><loc>{url}</loc></url>" for url in listed)
            return reply(f"<urlset>{urls}</urlset>", media="application/xml")
        links = '<a href="http://b.example/">b</a>' if asked.host == "a.example" else ""
        return reply(f"<p>clay {asked.url}</p>{links}") if "xml" not in asked.path else MISSING

    server, out = Loopback(answer), tmp_path / "2"
    with beside(server.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{server.port}", "delay": 0.0}
        told |= {"scope": "anywhere", "sitemaps": True}
        spoor.run(f"{SITE}/", "clay", out=tmp_path / "1", progress=False, **told)
        listed.append("http://b.example/2")
        told = {"connect_to": f"127.0.0.1:{server.port}", "delay": 0.0}
        spoor.run((), out=out, refresh=str(tmp_path / "1"), hints=False, progress=False, **told)
    assert "http://b.example/2" in {page.url for page in Run(out).pages()}


def test_an_original_that_is_damaged_is_told_and_replaced(tmp_path: Path) -> None:
    """Its bytes, or its head: whether the page changed, nobody can tell."""
    site, out, said = Site(), tmp_path / "2", list[str]()
    names = [name for name in NAMES if name.startswith("/plain")][:2]
    with beside(site.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{site.port}", "delay": 0.0, "per_host": 8}
        spoor.run(f"{SITE}/", "clay", out=tmp_path / "1", progress=False, **told)
        again = Settings.of({"refresh": str(tmp_path / "1"), "hints": False, **told})
        settings = with_inputs(again, [])
        RunWriter(out, settings).close()
        places = {page.url: page.place for page in Run(out).pages()}
        for name, share in zip(names, (0.5, 0.0), strict=True):
            place = places[SITE + name]
            assert place is not None
            file = out / place[0]
            data = bytearray(file.read_bytes())
            data[place[1] + int(share * place[2])] ^= 1
            file.write_bytes(data)
        with closing(RunWriter(out, settings)) as folder:
            running = LiveCrawl(folder, make_crawl(settings))
            running.on_fault = said.append
            refreshed = running.summary(running.run())["refreshed"]
    assert (refreshed["unchanged"], refreshed["changed"]) == (35, 2)
    assert len(said) == 2
    assert all("is damaged at byte" in line and "\n" not in line for line in said)
    texts = {one.url.removeprefix(SITE): one.text for one in Run(out).documents()}
    assert all("of a kiln" in texts[name] for name in names)


def test_a_policy_goes_on_with_what_it_learned(tmp_path: Path) -> None:
    """Until the wish is another; and what it learned over three runs is not only that of the last."""
    site = Site()
    told: dict[str, Any] = {"delay": 0.0, "per_host": 8, "progress": False}

    def shared(name: str) -> list[Any]:
        return list(read(tmp_path / name / files.EARLIER)["policies"])

    def known(name: str) -> Any:
        state = snapshot.last_checkpoint(tmp_path / name)
        assert state is not None
        crawl = make_crawl_to_look_at(located(read_settings(tmp_path / name)))
        crawl.policy.load(state.state["policy"])
        policy: Any = crawl.policy
        return policy

    with beside(site.serving):
        told |= {"connect_to": f"127.0.0.1:{site.port}", "policy": "host-bandit"}
        spoor.run(f"{SITE}/", "clay", pages=12, out=tmp_path / "1", **told)
        spoor.run((), refresh=str(tmp_path / "1"), out=tmp_path / "2", pages=4, **told)
        spoor.run((), refresh=str(tmp_path / "2"), out=tmp_path / "3", pages=4, **told)
        spoor.run((), "a kiln", refresh=str(tmp_path / "2"), out=tmp_path / "4", pages=4, **told)
    assert shared("2") == [known("1").share()]
    assert shared("3") == [known("1").share(), known("2").share()]
    assert shared("4") == []
    (bad, good), (worse, better) = (known(name).share()["pages"] for name in "12")
    assert (bad, good) == (0, 12)
    inner = known("3")
    while not isinstance(inner, HostBandit):
        inner = inner.policy
    assert inner.save()["received"][1] == [bad + worse, good + better]


def test_from_python_and_what_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site()
    with beside(site.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{site.port}", "delay": 0.0, "per_host": 8}
        told |= {"progress": False}
        spoor.run(f"{SITE}/", "clay", pages=5, out=tmp_path / "1", **told)
        spoor.run((), refresh=str(tmp_path / "1"), out=tmp_path / "2", pages=3, **told)
        assert Run(tmp_path / "2").settings.topic == "clay"
        one, two = ({page.url for page in Run(tmp_path / name).pages()} for name in "12")
        assert len(one) == 5
        assert one <= two
    again = ("crawl", "--refresh", str(tmp_path / "1"), "--connect-to", told["connect_to"])
    refused = {
        ("crawl",): "say where to begin",
        ("crawl", "--refresh", str(tmp_path)): "is no folder of a run",
        (*again, "--shards", "2"): "runs in one process",
        (*again, "--topic", "x", "--out", str(tmp_path / "2")): (
            "the run was begun with topic = 'clay'"
        ),
    }
    for command, line in refused.items():
        assert run(list(command)) == 2
        assert line in capsys.readouterr().err


def says_nothing(names: list[str], changed: set[str]) -> Loopback:
    """A site without validators, dates or a sitemap: its first page links to the others. Those that
    `changed` have another text."""

    def answer(asked: Asked) -> bytes:
        if asked.path not in ["/", *names]:
            return MISSING
        links = names if asked.path == "/" else ()
        body = "".join(f'<a href="{name}">clay</a>' for name in links)
        return reply(f"<title>Clay</title><p>{asked.path in changed} clay{asked.path}</p>{body}")

    return Loopback(answer)


def test_a_sample_speaks_for_pages_of_which_nobody_says_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """160 pages in eight folders, without validators, dates or a sitemap."""
    names = [f"/s{at // 20}/{at}" for at in range(160)]
    changed = set[str]()
    site = says_nothing(names, changed)

    def again(name: str, *more: str) -> dict[str, Any]:
        site.asked.clear()
        first = ("--refresh", str(tmp_path / "1"), "--connect-to", f"127.0.0.1:{site.port}")
        told = ("--delay", "0", "--per-host", "8", "--out", str(tmp_path / name))
        assert run(["crawl", *first, *told, "--json", *more]) == 0
        summary: dict[str, Any] = json.loads(capsys.readouterr().out)["refreshed"]
        return summary

    with beside(site.serving):
        told: dict[str, Any] = {"connect_to": f"127.0.0.1:{site.port}", "delay": 0.0, "per_host": 8}
        spoor.run(f"{SITE}/", "clay", out=tmp_path / "1", progress=False, **told)
        seen = again("same", "--may-miss", "0.2")
        assert seen["changed"] == seen["gone"] == seen["new"] == 0
        assert seen["not_asked"] == seen["sampled"]["left_out"] >= 120
        assert seen["sampled"]["asked"] == len({*site.pages} & {"/", *names}) <= 40
        assert seen["sampled"]["at_most"] <= 0.2
        assert "/" in site.pages, "what led to all others is asked for"
        spared = next(name for name in names if name not in site.pages)
        sample, asked_for = seen["sampled"], next(name for name in names if name in site.pages)
        why = (
            f"not asked for again: a sample of a.example speaks for it ({sample['asked']} pages asked "
            f"for, 0 had changed; of the {sample['left_out']} left out at most "
            f"{sample['by_host'][0]['at_most']} did, at 95 %): --may-miss 0 asks for it"
        )
        assert why in explained(tmp_path / "same", spared, capsys)
        assert "again" not in explained(tmp_path / "same", asked_for, capsys)
        left = f"{seen['not_asked']:,} were left out since a sample of each host says that at most "
        assert left in (tmp_path / "same" / files.REPORT).read_text()
        assert len(relevant(tmp_path / "same")) == 161

        changed |= set(names[40:80])
        seen = again("changed", "--may-miss", "0.2")
        assert seen["changed"] == seen["sampled"]["by_host"][0]["changed"]
        assert seen["changed"] % 20 == 0, "one change opens its folder"
        assert 40 - seen["changed"] <= 0.2 * seen["sampled"]["left_out"]

        # A crash in between draws no other sample.
        again_settings = Settings.of({"refresh": str(tmp_path / "1"), "may_miss": 0.2, **told})
        settings, commits = with_inputs(again_settings, []), 0

        def crash(step: str) -> None:
            nonlocal commits
            commits += step == "committed"
            if commits == 8:
                raise CrashError

        site.asked.clear()
        with closing(RunWriter(tmp_path / "crashed", settings, failpoint=crash)) as folder:
            halfway = LiveCrawl(folder, make_crawl(settings))
            with pytest.raises(CrashError):
                halfway.run()
        assert site.pages
        with closing(RunWriter(tmp_path / "crashed", settings)) as folder:
            on = LiveCrawl(folder, make_crawl(settings))
            seen = on.summary(on.run())["refreshed"]
        assert seen["sampled"]["asked"] == len({*site.pages} & {"/", *names})
        assert seen["sampled"]["asked"] + seen["sampled"]["left_out"] == 161
    again_settings = as_begun(Settings.of({"refresh": str(tmp_path / "same"), **told}))
    assert again_settings.may_miss == 0.01, "each refresh says it anew"


def test_it_is_said_how_pages_that_hints_spared_are_asked_for() -> None:
    counts = {"pages": 2, "unchanged": 1, "changed": 0, "gone": 0, "not_asked": 1, "new": 0}
    told = in_words({**counts, "left_out": {"its own headers": 1}, "sampled": None})
    assert told[1:] == ["1 left out by the word of its own headers; --no-hints asks for them, too"]


def test_for_how_long_a_reply_is_fresh() -> None:
    date = formatdate(1_000_000_000.0, usegmt=True)
    for headers, seconds in (
        ({}, 0),
        ({"Cache-Control": "public, max-age=600"}, 600),
        ({"Cache-Control": 'S-MaxAge=9, Max-Age="60"', "Age": "20"}, 40),
        ({"Cache-Control": "max-age=600, no-cache"}, 0),
        ({"Cache-Control": "max-age=60", "Age": "x"}, 60),
        ({"Cache-Control": "max-age=9999999999999"}, 365 * 86_400),
        ({"Cache-Control": "stale-max-age=5"}, 0),
        ({"Expires": formatdate(1_000_000_100.0, usegmt=True), "Date": date}, 100),
        ({"Expires": "0", "Date": date}, 0),
    ):
        assert fresh_for(headers) == seconds, headers
    assert heuristically_fresh_for(date, 1_000_001_000.0) == 100
    assert heuristically_fresh_for(date, 0.0) == heuristically_fresh_for("x", 5.0) == 0


def test_all_pages_take_turns_from_refresh_to_refresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """240 pages of which nobody says anything; one changes each time, and is found by its turn."""
    monkeypatch.setattr(sampled_refresh, "TURNS", 3)
    names = [f"/s{at // 20}/{at}" for at in range(240)]
    changed = set[str]()
    site = says_nothing(names, changed)

    def to_it() -> tuple[str, ...]:
        return ("--connect-to", f"127.0.0.1:{site.port}", "--delay", "0", "--per-host", "8")

    def again(earlier: str, name: str, *more: str) -> set[str]:
        site.asked.clear()
        told = ("--refresh", str(tmp_path / earlier), "--out", str(tmp_path / name))
        assert run(["crawl", *told, *to_it(), *more]) == 0
        return {*site.pages} & {"/", *names}

    with beside(site.serving):
        first = ("crawl", f"{SITE}/", "--topic", "clay", "--out", str(tmp_path / "0"))
        assert run([*first, *to_it()]) == 0
        assert again("0", "all") == {"/", *names}, "so few pages are all asked for"
        assert "left out" not in capsys.readouterr().out
        seen: list[set[str]] = []
        for at in range(4):
            late = next(name for name in names if sampled_refresh.turn_of(SITE + name) == at % 3)
            changed.add(late)
            seen.append(again(str(at), str(at + 1), "--may-miss", "0.3"))
            assert late in seen[-1]
            assert len(seen[-1]) < 180
            due = {name for name in names if sampled_refresh.turn_of(SITE + name) == at % 3}
            assert due <= seen[-1]
            out = " ".join(capsys.readouterr().out.split())
            assert "were left out since a sample of each host says that at most" in out
            assert "--may-miss 0 asks for all" in out
        assert set(names) <= set.union(*seen[:3])
        numbers = [read(tmp_path / str(at) / files.EARLIER)["refresh"] for at in range(1, 5)]
        assert numbers == [0, 1, 2, 3]

        # One that ended before it had asked for its first pages leaves them their turn.
        stopped = Settings.of(
            {"refresh": str(tmp_path / "4"), "connect_to": f"127.0.0.1:{site.port}", "delay": 0.0}
        )

        steps: list[str] = []

        def crash(step: str) -> None:
            steps.append(step)
            if steps.count("committed") == 3:
                raise CrashError

        with closing(
            RunWriter(tmp_path / "stopped", with_inputs(stopped, []), failpoint=crash)
        ) as (folder):
            halfway = LiveCrawl(folder, make_crawl(folder.settings))
            with pytest.raises(CrashError):
                halfway.run()
        again("stopped", "on", "--may-miss", "0.3")
    numbers = [read(tmp_path / name / files.EARLIER)["refresh"] for name in ("stopped", "on")]
    assert numbers == [4, 4]


def test_a_page_that_broke_off_is_asked_for_whole(tmp_path: Path) -> None:
    """Its validators are those of the whole document: by them half of it would never change."""
    broken = [True]

    class Breaking(Site):
        def _answer(self, path: str, head: str) -> bytes:
            found = super()._answer(path, head)
            if path == "/etag0" and broken:
                broken.clear()
                return found[: len(found) // 2]
            return found

    site, sizes = Breaking(), []
    told: dict[str, Any] = {"delay": 0.0, "per_host": 8, "progress": False, "hints": False}
    with beside(site.serving):
        told["connect_to"] = f"127.0.0.1:{site.port}"
        for number in range(3):
            seeds = () if number else (f"{SITE}/etag0",)
            earlier = str(tmp_path / str(number - 1)) if number else ""
            spoor.run(seeds, "clay", out=tmp_path / str(number), refresh=earlier, **told)
            pages = Run(tmp_path / str(number)).pages()
            sizes += [page.size for page in pages if page.url == f"{SITE}/etag0"]
    assert sizes[0] < sizes[1] == sizes[2]
    asked = [head for head in site.heads if head.startswith("GET /etag0 ")]
    assert ["If-None-Match" in head for head in asked] == [False, False, True]
