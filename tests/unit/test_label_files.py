"""Labels of archived pages from a file of their own."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spoor.cli.main import run
from spoor.errors import InputError
from spoor.judges.facts import Label
from spoor.worlds.import_web import record
from spoor.worlds.label_files import PageLabels
from spoor.worlds.recorded import RecordedWorld

PAGES = ("http://a.example/", "http://a.example/kilns/", "http://a.example/b")


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    source = tmp_path / "pages.jsonl"
    lines = [{"url": url, "html": f"<a href=/kilns/>k</a><a href=/b>{url}</a>"} for url in PAGES]
    lines[2]["label"] = "given"
    source.write_text("\n".join(map(json.dumps, lines)))
    return source


def labels_of(web: Path) -> dict[str, set[str]]:
    return {page.url: set(page.labels) for page in RecordedWorld(web).pages()}


def test_each_place_has_the_labels_of_its_urls(
    tmp_path: Path, pages: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv, tsv, plain = tmp_path / "l.csv", tmp_path / "l.tsv", tmp_path / "wanted.txt"
    csv.write_text(
        "\ufeffurl,label,more\n# what a person said\n\n"
        'https://a.example/kilns/index.html,"kilns, all",warm\nhttp://A.example/b,glaze\n'
        "http://a.example/none,kilns\n"
    )
    tsv.write_text("http://a.example/b\tsecond, third\n")
    plain.write_text("http://a.example\nhttp://other.example/\n")
    web = tmp_path / "web"
    options = [part for file in (csv, tsv, plain) for part in ("--labels", str(file))]
    assert run(["web", "import", str(pages), str(web), *options]) == 0
    assert labels_of(web) == {
        PAGES[0]: {"wanted"},
        PAGES[1]: {"kilns, all", "warm"},
        PAGES[2]: {"given", "glaze", "second, third"},
    }
    said = capsys.readouterr().out
    assert "2 URLs of --labels are not in this web, as http://a.example/none" in said
    assert RecordedWorld(web).graph(Label("glaze")).targets.sum() == 1
    assert run(["web", "import", str(pages), str(web), *options, "--replace", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unlabelled"] == 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"kilns,http://a.example/", r"l\.csv:1: 'kilns' is no URL"),
        (b'\n\nhttp://a.example/,"x', r"l\.csv:3 is no line of CSV"),
        (b"\xff\xfe\x00", r"no text in UTF-8"),
        (b"x" * 70_000, r"l\.csv:1 has more than 65,536 characters"),
        (
            b"".join(b"http://a.example/,l%d\n" % number for number in range(1_000)),
            r"l\.csv:257: 'http://a\.example/' has more than 256 labels",
        ),
    ],
)
def test_what_is_no_such_file_is_told(
    tmp_path: Path, pages: Path, content: bytes, why: str
) -> None:
    file = tmp_path / "l.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=why):
        record([pages], tmp_path / "web", labels=[file])
    assert not (tmp_path / "web").exists()
    with pytest.raises(InputError, match="cannot read"):
        PageLabels([tmp_path / "none.csv"])
    with pytest.raises(InputError, match="cannot read"):
        PageLabels([tmp_path])


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=80))
def test_no_file_gives_another_error(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "l.csv"
    file.write_bytes(content)
    with suppress(InputError):
        PageLabels([file])


def test_a_line_without_end_is_not_read_whole(tmp_path: Path) -> None:
    """Half a gigabyte of nothing took one of memory."""
    file = tmp_path / "l.csv"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 29)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="more than 65,536 characters"):
            PageLabels([file])
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
