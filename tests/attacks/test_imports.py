"""An import that is ended leaves nothing behind: no process, no folder."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from attacks.measure import Note
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.files import files_below
from spoor.formats import reading_costs
from spoor.worlds import import_web, store_writer
from spoor.worlds.import_evolving import from_archives
from spoor.worlds.recorded import RecordedWorld

MARK = "SPOOR_TEST_MARK"
ROW = json.dumps({"url": "http://a.example/", "html": "<p>words " * 200})


def marked(mark: str) -> list[int]:
    """Processes that were started with this mark, the workers of workers too."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            environment = (process / "environ").read_bytes()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except (OSError, IndexError):
            continue
        if f"{MARK}={mark}".encode() in environment and state != "Z":
            found.append(int(process.name))
    return found


def parts(folder: Path) -> list[Path]:
    return list(folder.glob(".web.*"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "pages.jsonl"
    file.write_text(f"{ROW}\n" * 40_000)
    return file


@pytest.fixture
def begun(source: Path, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """An import at work, by processes of its own."""
    mark = str(uuid.uuid4())
    command = [sys.executable, "-m", "spoor", "web", "import", str(source), str(tmp_path / "web")]
    process = subprocess.Popen(
        [*command, "--jobs", "2"], env={**os.environ, MARK: mark}, stderr=subprocess.PIPE
    )
    with process:
        while process.poll() is None and (len(marked(mark)) < 4 or not parts(tmp_path)):
            time.sleep(0.02)  # itself, two workers, Python's tracker of resources
        yield process, mark
        process.kill()
    for one in marked(mark):
        os.kill(one, signal.SIGKILL)


def wait_for_none(mark: str) -> int:
    """Waits, at most a minute, until no process is left; how many there are then."""
    end = time.monotonic() + 60.0
    while (left := len(marked(mark))) and time.monotonic() < end:
        time.sleep(0.02)
    return left


@pytest.mark.server
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_of_an_import_that_is_ended(
    number: signal.Signals,
    begun: tuple[subprocess.Popen[bytes], str],
    source: Path,
    tmp_path: Path,
    record_property: Note,
) -> None:
    process, mark = begun
    assert process.poll() is None
    process.send_signal(number)
    assert process.wait(60) == (1 if number == signal.SIGTERM else -signal.SIGKILL)
    left = wait_for_none(mark)
    record_property("bound", "0 processes, 0 folders")
    assert left == 0
    if number == signal.SIGKILL:
        assert parts(tmp_path), "nobody was left to remove it"
        source.write_text(f"{ROW}\n")
        import_web.record([source], tmp_path / "web")
    record_property("measured", f"{left} processes, {len(parts(tmp_path))} folders")
    assert not parts(tmp_path)


def test_a_folder_that_another_import_uses_is_left_alone(tmp_path: Path) -> None:
    # Nothing is recorded, so each ends with an InputError.
    with suppress(InputError), store_writer.Writer(tmp_path / "web"):
        (used,) = parts(tmp_path)
        with suppress(InputError), store_writer.Writer(tmp_path / "web"):
            assert used in parts(tmp_path)
        assert parts(tmp_path) == [used]
    assert not parts(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_command_as_an_interrupt_does(
    number: signal.Signals,
    source: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def pack(entry: object) -> None:
        signal.raise_signal(number)

    monkeypatch.setattr(import_web, "pack", pack)
    found = signal.signal(number, signal.SIG_DFL)  # `nohup` ignores one, as whatever it starts
    try:
        assert run(["web", "import", str(source), str(tmp_path / "web"), "--jobs", "1"]) == 1
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, found)
    assert capsys.readouterr().err == "spoor: stopped\n"
    assert not parts(tmp_path)


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The records of an import may take next to none."""
    monkeypatch.setattr(reading_costs, "SPARE", 0.0)
    monkeypatch.setattr(reading_costs, "PER_BYTE", 1e-9)


def pages_of(tmp_path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    file = tmp_path / "pages.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("jobs", [1, 2])
def test_documents_made_to_cost_take_a_share_of_time(
    jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond it what needs a helper is given up; other pages are read as ever."""
    monkeypatch.setattr(reading_costs, "FAR", math.inf)
    monkeypatch.setattr(import_web, "BATCH", 1)
    costs = "<b id=x><p>" * 3_000
    count = 4 * jobs + 2  # as many as are in the works at a time, and one more
    rows = [{"url": f"http://a.example/{at}", "html": costs} for at in range(count)]
    rows.append({"url": "http://a.example/plain", "html": "<p>kiln"})
    file = pages_of(tmp_path, rows)
    made = import_web.record([file], tmp_path / "web", jobs=jobs)
    assert made.failures >= 1
    assert made.pages >= 2  # the first and the last
    assert made.failures + made.pages == count + 1


PREPARED = {"links": ["/x"] * 1_500}


@pytest.mark.usefixtures("no_time")
@pytest.mark.parametrize("costs", [{"html": "<p>x" * 3_900}, PREPARED])
def test_documents_that_are_read_here_take_a_share_of_time(
    costs: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond it long ones are given up; short ones are read as ever."""
    monkeypatch.setattr(reading_costs, "FAR", math.inf)
    rows = [{"url": f"http://a.example/{at}", **costs} for at in range(3)]
    rows.append({"url": "http://a.example/plain", "html": "<p>kiln"})
    file = pages_of(tmp_path, rows)
    made = import_web.record([file], tmp_path / "web")
    assert (made.pages, made.failures) == (2, 2)  # the first and the last


@pytest.mark.usefixtures("no_time")
def test_records_without_end_are_read_no_further(tmp_path: Path) -> None:
    rows = ({"url": f"http://a.example/{at}", "text": ""} for at in range(9))
    file = pages_of(tmp_path, rows)
    with pytest.raises(InputError, match="made to cost"):
        import_web.record([file], tmp_path / "web")
    assert import_web.record([file], tmp_path / "web", keep_going=True).pages == 1


def test_a_category_of_many_levels_costs_little(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    row = {"url": "http://a.example/", "text": "", "categories": ["A.B.C", "a." * 100_000]}
    file.write_text(f"{json.dumps(row)}\n")
    began = time.process_time()
    import_web.record([file], tmp_path / "web")
    assert time.process_time() - began < 1
    labels = RecordedWorld(tmp_path / "web").labels()
    assert {"A", "A.B", "A.B.C"} <= set(labels)
    assert len(labels) < 30


@pytest.mark.usefixtures("no_time")
def test_captures_of_an_evolving_web_take_a_share_of_time(tmp_path: Path) -> None:
    row = {"url": "http://a.example/", "html": "<p>x", "fetched_at": 1}
    file = pages_of(tmp_path, [row] * 9)
    with pytest.raises(InputError, match="made to cost"):
        from_archives([file])


def test_half_a_pair_of_utf16_costs_no_web(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    odd = "text/html; charset=\ud800"
    row = {"url": "http://a.example/", "html": "<p>x", "content_type": odd, "label": "\ud800"}
    file.write_text(f"{json.dumps({**row, 'site': odd})}\n")
    import_web.record([file], tmp_path / "web")
    assert set(RecordedWorld(tmp_path / "web").labels()) == {"?"}


def test_folders_in_folders_without_end_are_read(tmp_path: Path) -> None:
    root = folder = tmp_path / "a.example"
    folder.mkdir()
    inner = os.open(root, os.O_RDONLY)
    for _ in range(1_200):
        os.mkdir("d", dir_fd=inner)
        outer, inner = inner, os.open("d", os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)
    (root / "page.html").write_text("<p>kiln")
    (root / "link").symlink_to("/etc")
    os.mkfifo(root / "pipe")
    assert list(files_below(root)) == [root / "page.html"]
    assert import_web.record([root], tmp_path / "web").pages == 1
    subprocess.run(["rm", "-r", root], check=True)
