"""Seeds that fail, that are mended, and that are added to a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopback import MISSING, Asked, Loopback, beside, reply
from spoor.cli.main import run
from spoor.runs.reader import Run
from spoor.views.explain import in_lines, of_page

pytestmark = pytest.mark.server

PAGE = "<title>{0}</title><p>kiln {0}</p><a href='/next'>next</a><a href='/logout'>Log out</a>"


def test_seeds_fail_are_mended_and_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = True

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return MISSING
        return reply("gone", 404) if broken else reply(PAGE.format(asked.host + asked.path))

    server = Loopback(answer)
    seeds = ["http://a.example/", "http://b.example/"]
    with beside(server.serving):
        options = [
            *("--topic", "kiln", "--delay", "0", "--scope", "host", "--out", str(tmp_path / "run")),
            *("--connect-to", f"127.0.0.1:{server.port}"),
        ]
        assert run(["crawl", *seeds, *options]) == 3
        out, err = capsys.readouterr()
        assert out.splitlines() == [
            "no seed brought a page: http://b.example/: 404 Not Found; mend that and give the same command "
            "again, or begin at another URL"
        ]
        assert "http://a.example/: 404 Not Found" in err, "and each is told at once"
        broken = False
        assert run(["crawl", *seeds, *options, "--json"]) == 0, "the same command starts"
        summary = json.loads(capsys.readouterr().out)
        assert (summary["fetched"], summary["resumed"]) == (4, True)
        assert summary["left_out"] == {"it does something: log in or out": 2}
        assert run(["crawl", *seeds, "http://c.example/", *options]) == 0
        out = capsys.readouterr().out
        assert "left out 3 links that do something (3 log in or out): --actions" in out
        assert run(["crawl", "http://b.example/", *options]) == 2, "a seed is not taken away"
    found = [page.url for page in Run(tmp_path / "run").pages()]
    assert sorted(found) == [f"http://{name}.example/{at}" for name in "abc" for at in ("", "next")]
    assert in_lines(of_page(tmp_path / "run", "http://c.example/logout"))[1] == (
        "  left out: it does something: log in or out (--actions follows it)"
    )
    assert in_lines(of_page(tmp_path / "run", "http://d.example/"))[1] == "  left out: --scope host"


def test_bytes_and_time_are_budgets_that_hold_across_parts_of_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return MISSING
        at = int(asked.path[1:] or 0)
        links = "".join(f"<a href='/{3 * at + more}'>on</a>" for more in (1, 2, 3))
        return reply(f"<p>kiln {at:<80}</p>{links}".ljust(200))

    server = Loopback(answer)

    def crawled(*more: str) -> tuple[int, str]:
        options = [
            *("--topic", "kiln", "--delay", "0", "--json"),
            *("--out", str(tmp_path / "".join((more[0], *more[2:])))),
            *("--connect-to", f"127.0.0.1:{server.port}", *more),
        ]
        run(["crawl", "http://a.example/", *options])
        summary = json.loads(capsys.readouterr().out)
        return summary["fetched"], summary["stopped_because"]

    with beside(server.serving):
        for _ in range(2):
            assert crawled("--max-bytes", "900") == (5, "budget of 900 bytes reached")
        assert crawled("--max-bytes", "1100") == (6, "budget of 1100 bytes reached")
        # What is in flight when the budget is used is not counted on top.
        eight = ("--per-host", "8", "--traps")
        for pages, size in ((20, "3900"), (20, "3900"), (33, "6500")):
            assert crawled("--max-bytes", size, *eight)[0] == pages
        fetched, why = crawled("--max-time", "1s", "--pages", "99999", "--traps")
        assert why == "time is over: 1 s"
        asked = len(server.asked)
        assert crawled("--max-time", "1s", "--pages", "99999", "--traps") == (fetched, why)
        assert len(server.asked) == asked, "an hour is not an hour for each part"


def test_a_seed_that_robots_txt_forbids_is_told_with_what_helps_on_a_site_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A copy of documentation may forbid all, and ask each page's links not to be followed."""

    def answer(asked: Asked) -> bytes:
        if asked.path == "/robots.txt":
            return reply("User-agent: *\nDisallow: /", media="text/plain")
        meta = '<meta name="robots" content="nofollow">'
        return reply(f"<title>kiln</title>{meta}<p>The kiln. <a href=/more>More</a>")

    server = Loopback(answer)
    command = ["crawl", "http://a.example/", "--topic", "kiln", "--delay", "0", "--out"]
    with beside(server.serving):
        options = ["--connect-to", f"127.0.0.1:{server.port}"]
        assert run([*command, str(tmp_path / "1"), *options]) == 3
        assert capsys.readouterr().out.splitlines() == [
            "no seed brought a page: http://a.example/: robots.txt forbids it; on a site of your own "
            "give --no-robots as well, or begin at another URL"
        ]
        options.append("--no-robots")
        assert run([*command, str(tmp_path / "1"), *options]) == 0
        assert "1 link that pages ask not to follow: --no-nofollow" in capsys.readouterr().out
        assert run([*command, str(tmp_path / "2"), *options, "--no-nofollow"]) == 0
    assert server.pages == ["/", "/", "/more"]
