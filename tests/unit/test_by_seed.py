"""A table of the seeds: of each site its best page, or why there is none."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import spoor
from loopback import ADDRESS, Asked, Loopback, beside, page, reply
from ray_in_process import in_process
from spoor.cli.main import run
from spoor.formats.exporters.crawl_log import write_without
from spoor.runs.by_seed import brought, sites_of_seeds
from spoor.runs.reader import Run

pytestmark = pytest.mark.server

SITES = {
    "kilns.example": page("/a", "/b", text="Home"),
    "boats.example": page("/c", text="Nothing here"),
    "one.example": page(text="Only this"),
    "closed.example": reply("", 404),
    "a.shared.example": page("/e", text="A"),
    "b.shared.example": page("/d", text="B"),
    "forbids.example": page(text="kiln"),
    "old.example": reply("", 301, Location="http://renamed.example/start"),
}
ELSEWHERE = {
    "hop.example": reply("", 302, Location="http://twice.example/"),
    "safe.example": reply("", 301, Location="http://www.safe.example/"),
    "www.safe.example": reply("", 301, Location="http://secured.example/start"),
    "port.example": reply("", 302, Location="http://inner.example:6379/"),
    "high.example": reply("", 302, Location="http://inner.example:9999/"),
}
SEEDS = [f"http://{name}/" for name in SITES]


def answer(asked: Asked) -> bytes:
    if asked.path == "/robots.txt":
        forbids = asked.host == "forbids.example"
        return (
            reply("User-agent: *\nDisallow: /\n", media="text/plain") if forbids else reply("", 404)
        )
    if asked.path == "/":
        return (SITES | ELSEWHERE).get(asked.host) or elsewhere(asked)
    if asked.host.split(".")[0] in ("renamed", "twice", "gone", "secured") and asked.path != "/b":
        return elsewhere(asked)
    kilns = {"/b": 30, "/e": 30, "/a": 30 if asked.host == "www.kilns.example" else 0}
    words = "kiln " * kilns.get(asked.path, 0) or "clay and water"
    return page(text=f"{words} {asked.path}")


def elsewhere(asked: Asked) -> bytes:
    if asked.host == "secured.example":
        return page("http://other.example/b", text="A kiln " * 30)
    if asked.host == "renamed.example":
        return page("/b", "http://other.example/b", text="Here now")
    return (
        reply("", 302, Location="http://gone.example/") if "twice" in asked.host else reply("", 410)
    )


@pytest.fixture(scope="module", params=[(), ("--shards", "2")], ids=["whole", "shards"])
def sites(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("by-seed") / "run"
    seeds = out.parent / "seeds.txt"
    seeds.write_text("\n".join(SEEDS))
    server = Loopback(answer)
    with beside(server.serving), in_process():
        command = ["crawl", str(seeds), "--topic", "kiln", "--out", str(out), "--delay", "0"]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--found-per-host", "1"]
        assert run([*command, *request.param]) == 0
    return out


def rows(path: Path) -> dict[str, dict[str, Any]]:
    with path.open(newline="") as file:
        return {row["seed"]: row for row in csv.DictReader(file)}


def test_each_seed_has_its_row(
    sites: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "sites.csv"
    assert run(["export", str(sites), str(table), "--by-seed", "--with", "language"]) == 0
    assert "8 seeds:" in capsys.readouterr().out
    assert "<dt>sites with a page</dt><dd>2 of 8</dd>" in (sites / "report.html").read_text("utf-8")
    told = rows(table)
    assert list(told) == SEEDS
    found = {seed: row["url"] for seed, row in told.items() if row["relevant"] == "true"}
    assert found == {
        "http://kilns.example/": "http://kilns.example/b",
        "http://a.shared.example/": "http://a.shared.example/e",
    }
    notes = {seed: row["note"] for seed, row in told.items()}
    assert notes["http://kilns.example/"] == ""
    assert notes["http://boats.example/"] == "none of the 2 pages of its site counts"
    assert notes["http://one.example/"] == "the only page of its site does not count"
    assert notes["http://closed.example/"] == "404 Not Found"
    assert notes["http://b.shared.example/"] == "none of the 2 pages of its site counts"
    assert notes["http://forbids.example/"] == "robots.txt forbids it"
    assert notes["http://old.example/"] == (
        "it redirects to http://renamed.example/start, which is left out by --scope domain "
        "(--follow-seeds takes it)"
    )
    assert [row["outcome"] for row in told.values()] == (
        ["found", "none", "none", "absent", "found", "none", "robots", "skipped"]
    )
    assert told["http://boats.example/"]["url"], "the best of them stands there"
    assert told["http://closed.example/"]["url"] == ""
    assert {site.seed: (site.pages, site.relevant) for site in sites_of_seeds(Run(sites))} == {
        seed: (int(row["site_pages"]), int(row["site_relevant"])) for seed, row in told.items()
    }


def test_a_list_comes_back_in_its_order_with_its_columns(
    sites: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owned, table = tmp_path / "own.csv", tmp_path / "found.csv"
    owned.write_text(
        "Name,title,Website\nBoats,x,http://Boats.example\n,,\nKilns,y,http://kilns.example/\n"
        "Mail,z,not an address\nAgain,,http://boats.example/\nOther,,http://other.example/\n"
    )
    assert run(["export", str(sites), str(table), "--list", str(owned)]) == 0
    with table.open(newline="") as file:
        told = [*csv.DictReader(file)]
    assert [*told[0]][:5] == ["Name", "list_title", "seed", "outcome", "note"]
    assert [(row["Name"], row["seed"], row["note"][:26]) for row in told] == [
        ("Boats", "http://Boats.example", "none of the 2 pages of its"),
        ("", "", "the list has no address fo"),
        ("Kilns", "http://kilns.example/", ""),
        ("Mail", "not an address", "'not an address' is not a "),
        ("Again", "http://boats.example/", "none of the 2 pages of its"),
        ("Other", "http://other.example/", "no seed of this run"),
    ]
    assert told[0]["url"] == told[4]["url"] != told[2]["url"] == "http://kilns.example/b"
    assert [row["list_title"] for row in told[:3]] == ["x", "", "y"]
    capsys.readouterr()
    listed = ["--list", str(owned)]
    for options in (listed, ["--by-seed"], [*listed, "--format", "jsonl"]):
        assert run(["export", str(sites), str(owned), *options]) == 2
        assert "own.csv is there, and is no export" in capsys.readouterr().err
    assert owned.read_text().startswith("Name,title,Website")
    assert run(["export", str(sites), str(table), "--by-seed"]) == 0, "one of before is replaced"


def test_why_no_page_came_of_a_site_is_told(tmp_path: Path) -> None:
    """Whether more pages would help, or other options would, or nothing."""
    front = {
        "full.example": page("/a", "/b", "/c", text="Home"),
        "dead.example": page("/gone1", "/gone2", "/gone3", text="Home"),
        "bars.example": reply("<meta name=robots content=nofollow><a href=/a>a</a> Home"),
        "app.example": reply("<title>App</title><div id=app></div><script src=x.js></script>"),
        "long.example": reply("<p>" + "Home " * 2_000),
    }

    def answers(asked: Asked) -> bytes:
        if asked.path == "/":
            return front[asked.host]
        return reply("", 404) if "gone" in asked.path or asked.path == "/robots.txt" else page()

    seeds, server, out = [f"http://{name}/" for name in front], Loopback(answers), tmp_path / "run"
    with beside(server.serving):
        command = ["crawl", *seeds, "--topic", "kiln", "--out", str(out), "--delay", "0"]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--found-per-host", "1"]
        command += ["--body-limit", "5000", "--render", "never"]
        command += ["--pages-per-host", "2"]
        assert run([*command, "--pages", "5"]) == 0
        early = {site.seed: (site.outcome, site.note) for site in sites_of_seeds(Run(out))}
        assert run([*command, "--pages", "50"]) == 0
        late = {site.seed: (site.outcome, site.note) for site in sites_of_seeds(Run(out))}
        assert run([*command, "--pages-per-host", "9"]) == 0, "of the same run"
        assert run([*command, "--pages-per-host", "0"]) == 2, "what had none was not counted"
    more = [(site.outcome, site.pages) for site in sites_of_seeds(Run(out))]
    assert more[:2] == [("none", 4), ("none", 1)], "links that waited for a place got one"
    only = "the only page of its site does not count"
    assert early[seeds[0]] == (
        "waits",
        f"{only}; 3 of its links wait: more pages or time would ask for them",
    )
    assert [late[seed] for seed in seeds] == [
        ("limit", "none of the 2 pages of its site counts; it has had its 2 (--pages-per-host)"),
        ("limit", f"{only}; 2 of its links came to nothing (--pages-per-host)"),
        ("none", f"{only}; it asks not to follow its links (--no-nofollow does)"),
        ("none", f"{only}; it shows little without JavaScript (--render)"),
        ("none", f"{only}; it was cut off, since it is too large or came too slowly"),
    ]


def test_a_crawl_of_few_sites_says_what_each_gave(sites: Path) -> None:
    each = brought(Run(sites), len(SEEDS))
    assert each[0] == ("kilns.example", 1, 3)
    assert ("closed.example", 0, 0) in each
    assert brought(Run(sites), 6) == [], "of many a table says it"


def test_columns_of_a_list_come_back_as_they_are(sites: Path, tmp_path: Path) -> None:
    """Each once, cells of several lines whole, and none as a formula."""
    owned, table = tmp_path / "own.csv", tmp_path / "found.csv"
    head = ["a", "a (3)", "a", "=1+1", "x\ny", "url", "a (4)"]
    with owned.open("w", newline="") as file:
        csv.writer(file).writerows([head, ["1", "2", "3", "4", "5\n6", SEEDS[0], "7"]])
    assert run(["export", str(sites), str(table), "--list", str(owned)]) == 0
    with table.open(newline="") as file:
        (row,) = csv.DictReader(file)
    own = dict([*row.items()][:6])
    assert own == {"a": "1", "a (3)": "2", "a (5)": "3", "'=1+1": "4", "x\ny": "5\n6", "a (4)": "7"}


def test_all_requests_are_a_table_and_a_log(
    sites: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, table = tmp_path / "crawl.log", tmp_path / "requests.csv"
    assert run(["export", str(sites), str(log)]) == 0
    assert run(["export", str(sites), str(table), "--requests"]) == 0
    with table.open(newline="") as file:
        told = {row["url"]: row for row in csv.DictReader(file)}
    pages = {page.url for page in spoor.open(sites).pages()}
    assert {url for url, row in told.items() if row["outcome"] == "page"} == pages
    assert told["http://kilns.example/b"]["found_on"] == "http://kilns.example/"
    closed, forbids = told["http://closed.example/"], told["http://forbids.example/"]
    assert (closed["status"], closed["outcome"], closed["reason"]) == (
        "404",
        "absent",
        "404 Not Found",
    )
    assert (forbids["status"], forbids["outcome"]) == ("", "robots")
    lines = [line.split() for line in log.read_text().splitlines()]
    assert {len(line) for line in lines} == {12}
    assert [line[3] for line in lines] == [*told], "in the order of their ends"
    codes = {line[3]: (line[1], line[4], line[11]) for line in lines}
    assert codes["http://kilns.example/b"] == ("200", "L", "page")
    assert codes["http://closed.example/"] == ("404", "-", "absent:404_Not_Found")
    assert codes["http://forbids.example/"][0] == "-9998"
    write_without(log, tmp_path / "less.log", {"http://closed.example/"})
    assert len((tmp_path / "less.log").read_text().splitlines()) == len(lines) - 1
    for options in (["--requests", "--all"], ["--requests", "--with", "text"]):
        assert run(["export", str(sites), str(table), *options]) == 2
        assert "no other choice of rows" in capsys.readouterr().err


def test_tables_of_all_forms_say_the_same(sites: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    lines, table = tmp_path / "sites.jsonl", tmp_path / "sites.parquet"
    assert spoor.open(sites).export(lines, by_seed=True, fields=["head=title"]) == len(SEEDS)
    assert spoor.open(sites).export(table, by_seed=True) == len(SEEDS)
    told = [json.loads(line) for line in lines.read_text().splitlines()]
    kept = parquet.read_table(table).to_pylist()
    for name in ("seed", "note", "site_pages", "url", "score", "relevant"):
        assert [row[name] for row in told] == [row[name] for row in kept]
    assert all("head" in row for row in told)


def test_what_no_such_table_has_is_told(
    sites: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in (["x.csv", "--all"], ["x.csv", "--no-copies"], ["x.wacz"], ["folder"]):
        target, *options = more
        command = ["export", str(sites), str(tmp_path / target), "--by-seed", *options]
        assert run(command) == 2
        assert "--by-seed" in capsys.readouterr().err
        assert not (tmp_path / target).exists()


def test_many_seeds_that_fail_take_few_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seeds, server = tmp_path / "seeds.txt", Loopback(lambda asked: reply("", 404))
    seeds.write_text("\n".join(f"http://gone{n}.example/" for n in range(60)))
    with beside(server.serving):
        command = ["crawl", str(seeds), "--topic", "kiln", "--out", str(tmp_path / "run")]
        command += ["--delay", "0", "--connect-to", f"{ADDRESS}:{server.port}"]
        assert run([*command, "--found-per-host", "1"]) != 0
    told = capsys.readouterr()
    assert (told.out + told.err).count("404 Not Found") <= 12
    assert "more seeds that fail are told at the end" in told.err


@pytest.mark.parametrize("scope", ["domain", "host", "directory"])
def test_a_seed_is_followed_where_it_leads(tmp_path: Path, scope: str) -> None:
    server, out = Loopback(answer), tmp_path / "run"
    with beside(server.serving):
        seeds = ["http://old.example/", "http://hop.example/", "http://port.example/"]
        seeds += ["http://high.example/"]
        command = ["crawl", *seeds, "--topic", "kiln", "--out", str(out), "--delay", "0"]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--follow-seeds"]
        command += ["--scope", scope, "--json"]
        assert run([*command, "--pages", "1"]) == 0
        assert run([*command, "--pages", "50"]) == 0
    fetched = {page.url for page in spoor.open(out).pages()}
    assert fetched == {"http://renamed.example/start", "http://renamed.example/b"}, "no other site"
    told = {site.seed: site for site in sites_of_seeds(Run(out))}
    old, hop, port, high = (told[seed] for seed in seeds)
    assert (old.pages, old.relevant, old.note) == (2, 1, "")
    assert old.best is not None
    assert old.best.url == "http://renamed.example/b"
    assert hop.note == "410 Gone"
    assert port.note.startswith("it redirects to http://inner.example:6379/, which is left out by")
    assert high.note == (
        f"it redirects to http://inner.example:9999/, which is left out by --scope {scope}"
    ), "and --follow-seeds, which it has, does not take it"


def test_seeds_are_not_followed_in_shards(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["crawl", SEEDS[0], "--topic", "kiln", "--follow-seeds", "--shards", "2"]) == 2
    assert "leave out --shards" in capsys.readouterr().err


def test_a_seed_is_followed_over_its_own_site(tmp_path: Path) -> None:
    """As most are that have moved: to https or www first, and then away."""
    server, out = Loopback(answer), tmp_path / "run"
    with beside(server.serving):
        command = ["crawl", "http://safe.example/", "--topic", "kiln", "--out", str(out)]
        command += ["--connect-to", f"{ADDRESS}:{server.port}", "--follow-seeds", "--delay", "0"]
        assert run([*command, "--pages", "9", "--json"]) == 0
    assert [page.url for page in spoor.open(out).pages()] == ["http://secured.example/start"]
    (site,) = sites_of_seeds(Run(out))
    assert (site.seed, site.pages, site.relevant) == ("http://safe.example/", 1, 1)
