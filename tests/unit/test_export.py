"""Exports: what other programs read is what the run holds, whole or not at all."""

from __future__ import annotations

import csv
import io
import json
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # it has no stubs

from loopback import Asked, Loopback, beside, page, reply, site
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.formats.export import write
from spoor.formats.exporters import warc
from spoor.formats.exporters.columns import COLUMNS, Options
from spoor.formats.exporters.csv import cell
from spoor.formats.exporters.jsonl import identifier
from spoor.runs.database import reading
from spoor.runs.reader import Run

pytestmark = pytest.mark.server

SEED = "http://pots.example/"
FORMULA = '=HYPERLINK("http://evil.example/","kiln")'

Capture = pytest.CaptureFixture[str]


def answer(asked: Asked) -> bytes:
    pages = {"/": page(*(f"/{at}" for at in range(30)), text="Home"), "/robots.txt": reply("", 404)}
    if asked.path in pages:
        return pages[asked.path]
    number = int(asked.path[1:])
    title = (
        FORMULA if number == 4 else f"Kiln {number} “glaze”, and\nmore" if number % 2 else "Boat"
    )
    rng = Random(number)
    words = " ".join("".join(rng.choices("aeiounrst", k=6)) for _ in range(80))
    return reply(f"<title>{title}</title><p>{words} end of {number}</p>")


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "run"
    server = Loopback(answer)
    with beside(server.serving):
        command = ["crawl", SEED, "--topic", "kiln", "--out", str(out), "--pages", "40", "--delay"]
        command += ["0", "--connect-to", f"127.0.0.1:{server.port}", "--json"]
        assert run(command) == 0
    return out


def relevant(path: Path) -> list[str]:
    with reading(path) as db:
        rows = db.execute("SELECT url FROM pages WHERE relevant ORDER BY seq").fetchall()
    return [row["url"] for row in rows]


def exported(stopped: Path, out: Path, *more: str) -> bytes:
    assert run(["export", str(stopped), "--out", str(out), *more]) == 0
    return out.read_bytes()


def test_json_lines(stopped: Path, tmp_path: Path, capsys: Capture) -> None:
    rows = [json.loads(line) for line in exported(stopped, tmp_path / "a.jsonl").splitlines()]
    assert [row["url"] for row in rows] == relevant(stopped)
    assert capsys.readouterr().out.startswith(f"{len(rows)} pages: ")
    assert all(row["relevant"] and row["path"][0] == SEED for row in rows)
    assert all(row["depth"] == len(row["path"]) - 1 for row in rows)
    assert all(row["fetched_at"].endswith("+00:00") for row in rows)
    assert all(any("'kiln'" in why["reason"] for why in row["why"]) for row in rows)
    everything = exported(stopped, tmp_path / "b.jsonl", "--all", "--text").splitlines()
    assert len(everything) == 31
    texts = {row["url"]: row["text"] for row in map(json.loads, everything)}
    assert texts["http://pots.example/7"].endswith(" end of 7")


def test_a_spreadsheet_finds_no_formula(stopped: Path, tmp_path: Path) -> None:
    text = exported(stopped, tmp_path / "a.csv").decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["url"] for row in rows] == relevant(stopped)
    titles = {row["url"]: row["title"] for row in rows}
    assert titles["http://pots.example/4"] == f"'{FORMULA}"
    assert titles["http://pots.example/5"] == "Kiln 5 “glaze”, and more"
    assert rows[0]["path"].split(" | ")[0] == SEED


@given(st.text())
def test_no_cell_begins_a_formula(text: str) -> None:
    told = cell(text)
    assert isinstance(told, str)
    assert not told.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
    kept = "".join(one for one in text if one in "\t\r\n" or category(one) != "Cc")
    assert told.replace("'", "") == kept.replace("'", "")
    assert cell(-1.5) == -1.5, "a number is no formula"
    assert cell("a\x1b[2J\x9b31m\0\tb\nc") == "a[2J31m\tb\nc", "nor is it for a terminal to obey"


@given(
    st.text("\u3000\u200b\u202e\u2028\u00ad\ufeff\u00a0 ", max_size=3), st.sampled_from("=+-@＝﹦")
)
def test_nothing_unseen_hides_a_formula(blank: str, sign: str) -> None:
    """What a program trims, or leaves out, before it."""
    assert cell(f"{blank}{sign}1") == f"'{blank}{sign}1"
    assert cell(f"a;{blank}{sign}1") == f"a;'{blank}{sign}1"


def test_parquet(stopped: Path, tmp_path: Path) -> None:
    read = pytest.importorskip("pyarrow.parquet", reason="the extra parquet is not installed")
    exported(stopped, tmp_path / "a.parquet", "--all")
    table = read.read_table(tmp_path / "a.parquet")
    rows = table.to_pylist()
    assert [row["url"] for row in rows if row["relevant"]] == relevant(stopped)
    assert len(rows) == 31
    assert str(table.schema.field("fetched_at").type) == "timestamp[ms, tz=UTC]"
    assert rows[1]["why"] == [] or any(why["share"] > 0 for why in rows[1]["why"])
    assert table.schema.names == list(COLUMNS)


def test_the_archive_of_what_is_relevant(stopped: Path, tmp_path: Path) -> None:
    data = exported(stopped, tmp_path / "a.warc.gz")
    whole = (stopped / "pages.warc.gz").read_bytes()
    kinds: Counter[str] = Counter()
    urls = []
    for record in ArchiveIterator(io.BytesIO(data)):
        kinds[record.rec_type] += 1
        if record.rec_type == "response":
            urls.append(record.rec_headers.get_header("WARC-Target-URI"))
            assert b"<title>" in record.content_stream().read()
    count = len(relevant(stopped))
    assert urls == relevant(stopped)
    assert (kinds["response"], kinds["request"], kinds["metadata"]) == (count, count, count)
    assert kinds["warcinfo"] == 1
    assert data[:100] == whole[:100], "records as they were archived"


def test_bulk_lines(stopped: Path, tmp_path: Path) -> None:
    lines = exported(stopped, tmp_path / "a.ndjson", "--index", "pots").splitlines()
    told = [json.loads(line) for line in lines]
    assert [line["index"]["_index"] for line in told[::2]] == ["pots"] * len(relevant(stopped))
    assert [line["index"]["_id"] for line in told[::2]] == relevant(stopped)
    assert [line["url"] for line in told[1::2]] == relevant(stopped)
    assert lines[-1]
    assert identifier("http://a.example/" + "x" * 600).startswith("sha256:")
    assert exported(stopped, tmp_path / "a.ndjson").endswith(b"}\n"), "the API wants the last one"


def test_standard_output_takes_what_is_one_file(
    stopped: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(["export", str(stopped), "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert [json.loads(line)["url"] for line in out.splitlines()] == relevant(stopped)
    assert err.decode().strip() == f"{len(relevant(stopped))} pages: standard output"
    assert run(["export", str(stopped), "-", "--format", "markdown"]) == 2


def test_an_export_to_no_output_and_to_no_name_is_refused(
    stopped: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["export", str(stopped), ""]) == 2
    assert "is empty" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stdout", None)  # as after `>&-`
    assert run(["export", str(stopped), "-"]) == 2
    assert "standard output is closed" in capsys.readouterr().err


REFUSED: dict[str, tuple[list[str], str]] = {
    "no run": (["none", "--out", "a.jsonl"], "none is no run"),
    "no format": (["RUN", "--out", "a.txt"], "a.txt does not say its format"),
    "an unknown format": (["RUN", "--out", "a", "--format", "xml"], "there are: jsonl, csv"),
    "a folder": (["RUN", "--out", "there.csv"], "there.csv is a folder"),
    "no folder": (["RUN", "--out", "none/a.csv"], "cannot write none/a.csv"),
    "no index": (["RUN", "--out", "a.ndjson", "--index", "A/b"], "'A/b' names no index"),
    "the run's own": (["RUN", "--out", "RUN/relevant.jsonl"], "is the run's own"),
    "its archive": (["RUN", "--out", "RUN/pages.warc.gz"], "is the run's own"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(
    case: str, stopped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.csv").mkdir()
    arguments, message = REFUSED[case]
    given = [argument.replace("RUN", str(stopped)) for argument in arguments]
    before = (stopped / "relevant.jsonl").read_bytes()
    assert run(["export", *given]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert message in err
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert (stopped / "relevant.jsonl").read_bytes() == before


def test_without_an_archive_there_is_none(tmp_path: Path, capsys: Capture) -> None:
    server = Loopback(site({"/": reply("<title>kiln</title>kiln")}))
    out = tmp_path / "run"
    with beside(server.serving):
        command = ["crawl", SEED, "--topic", "kiln", "--out", str(out), "--no-warc", "--json"]
        assert run([*command, "--connect-to", f"127.0.0.1:{server.port}"]) == 0
    capsys.readouterr()
    assert run(["export", str(out), "--out", str(tmp_path / "a.warc.gz")]) == 2
    assert "(--no-warc)" in capsys.readouterr().err
    assert not (tmp_path / "a.warc.gz").exists()
    assert json.loads(exported(out, tmp_path / "a.jsonl", "--text"))["text"] == ""


def test_a_damaged_archive_is_told(stopped: Path, tmp_path: Path) -> None:
    rows = [row.exported() for row in Run(stopped).pages(relevant=True)]
    (tmp_path / "pages.warc.gz").write_bytes((stopped / "pages.warc.gz").read_bytes()[:900])
    with pytest.raises(InputError, match="is damaged at"):
        warc.write(rows, tmp_path / "out", Options(folder=tmp_path))


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    out.write_text("old")

    def rows() -> Iterator[dict[str, Any]]:
        yield {"url": SEED}
        assert out.read_text() == "old"
        raise InputError("it broke")

    with pytest.raises(InputError, match="it broke"):
        write(rows(), out, "jsonl", Options())
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    assert out.read_text() == "old"


@pytest.mark.parametrize(
    ("kind", "many"), [("jsonl", 4_000), ("csv", 4_000), ("bulk", 4_000), ("parquet", 12_000)]
)
@pytest.mark.long
def test_memory_is_flat(kind: str, many: int, tmp_path: Path) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="the extra parquet is not installed")

    def rows(count: int) -> Iterator[dict[str, Any]]:
        for at in range(count):
            yield {
                "url": f"{SEED}{at}",
                "title": "t" * (24_000_000 // many),
                "score": 0.5,
                "fetched_at": "2026-01-01T00:00:00+00:00",
                "path": [SEED],
                "why": [{"reason": "r", "share": 0.5}],
            }

    columns = {
        name: COLUMNS[name] for name in ("url", "title", "score", "fetched_at", "path", "why")
    }
    options = Options(columns)
    write(rows(10), tmp_path / "warm", kind, options)
    tracemalloc.start()
    try:
        assert write(rows(many), tmp_path / "out", kind, options) == many
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "out").stat().st_size > 10_000
    assert peak < 8e6, "24 MB of titles went through"
