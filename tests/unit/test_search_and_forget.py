"""Found by words, shown, and taken out again: what is forgotten is nowhere in the folder, and a run
opens whenever the process that took it out died."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]  # has no stubs

from loopback import Asked, Loopback, beside, page, reply
from spoor.cli import screen
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.files import remove_left, temporary_folder
from spoor.formats.export import remove
from spoor.formats.exporters.target import new_file, new_folder
from spoor.runs import files, forget
from spoor.runs.lock import BusyError, Lock
from spoor.runs.reader import Run
from spoor.runs.schema import read_settings
from spoor.runs.search import (
    _PART,
    CHARACTERS_SHOWN,
    WORDS_SHOWN,
    _marked,
    _open,
    _parted,
    _query,
    _stemmers,
    around,
    search,
)
from spoor.runs.selection import Selection
from spoor.runs.writer import RunWriter

pytestmark = pytest.mark.server

SEED = "http://pots.example/"
SECRET = "xylophagous"
GONE = f"{SEED}3"


def answer(asked: Asked) -> bytes:
    pages = {"/": page(*(f"/{at}" for at in range(6)), text="Home"), "/robots.txt": reply("", 404)}
    if asked.path in pages:
        return pages[asked.path]
    number = asked.path[1:]
    secret = SECRET if number == "3" else f"harmless{number}"
    words = " ".join(f"kiln{number}x{at}" for at in range(40))
    if number == "5":  # what is common in real pages, and no letter
        words += "<p>Donau\u00addampf, می\u200cخواهم\u200f, 陶器\u3000窯.</p>"
        words += f"<pre>fire(1);\n\u00a0\n\tfire(2);\x1b[2J</pre><p>{words}</p>"
    body = f"<h1>About {secret} kilns</h1><p>Never fire a {secret} kiln in rain. {words}</p>"
    return reply(f"<title>{secret} kiln {number}</title>{body}")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("forget") / "run"
    server = Loopback(answer)
    with beside(server.serving):
        command = ["crawl", SEED, "--topic", "kiln", "--out", str(out), "--pages", "20", "--delay"]
        command += ["0", "--connect-to", f"127.0.0.1:{server.port}", "--json"]
        assert run(command) == 0
    return out


@given(
    st.lists(st.sampled_from(["x", "word", "\x01a\x02", "\x01b\x02", "\x01c d\x02"]), max_size=80)
)
def test_a_snippet_is_where_most_of_what_is_marked_stands(words: list[str]) -> None:
    told = around(" ".join(words))
    shown = told.strip("…").split(" ") if words else []
    assert " ".join(shown) in " ".join(words)
    assert len(_PART.findall(told)) <= WORDS_SHOWN

    def marks(some: list[str]) -> tuple[int, int]:
        found = [word for word in some if word[0] == "\x01"]
        return len(set(found)), len(found)

    places = (words[at : at + WORDS_SHOWN] for at in range(len(words)))
    assert marks(_PART.findall(told)) == max(map(marks, places), default=(0, 0))


@pytest.mark.parametrize(
    "text", ["a" * 5_000 + " \x01b\x02 ", "\x01b\x02" + "a" * 5_000, "a" * 5_000]
)
def test_a_snippet_of_words_without_end_has_a_bound(text: str) -> None:
    told = around(text)
    assert ("\x01b\x02" in told) == ("\x01" in text)
    assert len(told) <= CHARACTERS_SHOWN + 2


def test_pages_that_say_one_word_again_and_again_are_searched_in_little_time() -> None:
    """One of 200,000 characters took 11 s, however many words were searched."""
    with closing(_open(":memory:")) as db:
        for number, text in enumerate(["clay " * 40_000, "a " * 100_000, "clay kiln " * 20_000]):
            db.execute("INSERT INTO words (rowid, title, text) VALUES (?, '', ?)", (number, text))
        began = time.process_time()
        for words in ("clay", "a", "clay kiln", " ".join(["clay"] * 32), '"a a" "a a a" a'):
            query = _query(words)
            for (number,) in db.execute("SELECT rowid FROM words WHERE words MATCH ?", (query,)):
                assert "\x01" in around(_marked(db, query, number))
        assert time.process_time() - began < 4.0


@pytest.mark.parametrize(
    ("words", "held"),
    [
        ("設定", "設定"),
        ("ホストの設定", "ホストの設定"),
        ("設定 PostgreSQL", "設定"),
        ("암호", "암호"),
        ("定設", ""),
        ("ホスト 定設", ""),
    ],
)
def test_a_word_of_a_script_without_spaces_is_found_within_its_run(words: str, held: str) -> None:
    """Of Chinese and Japanese a whole run between two signs was one word."""
    text = "バーチャルホストの設定は、PostgreSQLのために必要です。암호를 설정합니다"
    with closing(_open(":memory:")) as db:
        db.execute("INSERT INTO words (rowid, title, text) VALUES (1, '', ?)", (_parted(text),))
        found = db.execute("SELECT rowid FROM words WHERE words MATCH ?", (_query(words),))
        assert bool(found.fetchall()) == bool(held)
        if held:
            marked = _marked(db, _query(words), 1)
            assert f"\x01{held}\x02" in marked
            assert marked.replace("\x01", "").replace("\x02", "") == text


def test_words_have_the_endings_of_the_languages_that_documents_declare() -> None:
    with closing(_open(":memory:")) as db:
        texts = ["Umleitungen einrichten", "umgeleitet", "Um die Ecke", "a kiln"]
        for number, text in enumerate(texts):
            stemmer = "german" if number < 3 else "english"
            db.execute("INSERT INTO known VALUES (?, ?)", (number, stemmer))
            db.execute("INSERT INTO words (rowid, title, text) VALUES (?, '', ?)", (number, text))
        db.executemany("INSERT INTO known VALUES (?, 'french')", [(5,)])
        assert _stemmers(db) == ["french", "german"]
        db.executemany("INSERT INTO known VALUES (?, 'english')", [(at,) for at in range(10, 20)])
        db.executemany("INSERT INTO known VALUES (?, 'evil')", [(at,) for at in range(20, 30)])
        assert _stemmers(db) == ["german"]

        def found(words: str) -> list[int]:
            query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid"
            return [
                number for (number,) in db.execute(query, (_query(words, stemmers=["german"]),))
            ]

        assert found("Umleitung") == [0]
        assert found("einrichtung umleitungen") == [0]
        assert found('"Umleitung"') == []
        assert found("um") == [2]
        assert found("kilns") == [3]


def test_words_that_are_no_text_are_searched_for_what_they_are() -> None:
    """A shell hands over any bytes: one ended in a traceback."""
    assert _query("clay\udcff k\udc80iln") == '"clay?" AND "k?iln"'
    with pytest.raises(InputError, match="has no word"):
        _query("\udcff")


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A run of its own."""
    return shutil.copytree(made, tmp_path / "run")


@pytest.mark.parametrize("copies", [True, False])
def test_what_is_read_is_told_up_to_the_last(made: Path, copies: bool) -> None:
    told: list[int] = []
    opened = Run(made)
    selection = Selection(everything=True, copies=copies)
    assert [*opened.select(selection, told.append)]
    assert told == [*range(opened.reads(selection))]


def test_a_long_search_and_a_long_export_show_how_far_they_are(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "PLAIN_EVERY", -1.0)
    assert run(["search", str(path), "kiln"]) == 0
    pages = len([*Run(path).pages()])
    assert f"{pages - 1} of {pages} documents are searched, " in capsys.readouterr().err
    assert run(["export", str(path), str(path.parent / "a.jsonl"), "--all", "--text"]) == 0
    assert f"{pages - 1} of {pages} documents are read, " in capsys.readouterr().err
    assert run(["search", str(path), "kiln", "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_a_search_finds_words_and_phrases(
    path: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    opened = Run(path)
    (found,) = search(opened, f"{SECRET} kilns")
    assert (found.url, found.title) == (GONE, f"{SECRET} kiln 3")
    assert (SECRET, True) in found.snippet
    assert f"Never fire a {SECRET} kiln in" in "".join(piece for piece, _ in found.snippet)
    assert [one.url for one in search(opened, f'"fire a {SECRET}"')] == [GONE]
    assert search(opened, f'"rain {SECRET}"') == []
    assert len(search(opened, "kiln", limit=4)) == 4
    assert {one.relevant for one in search(opened, "kiln", everything=False)} == {True}
    with pytest.raises(InputError, match="no word"):
        search(opened, '" (')
    # An index that is damaged, or not ours, is made anew.
    for data in (b"damaged", (path / files.DATABASE).read_bytes()):
        (path / files.SEARCH).write_bytes(data)
        assert [one.url for one in search(opened, SECRET)] == [GONE]
    assert run(["search", str(path), SECRET, "--json"]) == 0
    assert [row["url"] for row in json.loads(capsys.readouterr().out)] == [GONE]
    assert run(["show", str(path), GONE]) == 0
    assert capsys.readouterr().out.startswith(f"# About {SECRET} kilns\n")
    assert run(["show", str(path), f"{SEED}none"]) == 2


def test_what_is_shown_is_what_a_reader_sees(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No mark of replacement stands for a blank, a joiner or a soft hyphen."""
    assert run(["show", str(path), f"{SEED}5"]) == 0
    told = capsys.readouterr().out
    assert "Donaudampf, می\u200cخواهم, 陶器 窯." in told
    assert "```\nfire(1);\n \n\tfire(2);\ufffd[2J\n```" in told


def test_whoever_reads_meanwhile_is_not_told_of_damage(path: Path) -> None:
    """Nor to forget the page that it reads: its archive was written anew."""
    first, second, *_ = Run(path).documents(everything=True)
    forget.forget(path, [first.url])
    with pytest.raises(InputError, match=r"is gone; if `spoor forget` takes pages out") as told:
        assert not second.bytes
    assert "damaged" not in str(told.value)
    assert {one.url for one in Run(path).documents(everything=True) if one.bytes} >= {second.url}


def holds(path: Path) -> list[str]:
    """Files below a folder in which the secret stands, packed or not."""
    found = []
    for file in (one for one in path.rglob("*") if one.is_file()):
        data = file.read_bytes()
        if file.name.endswith(".gz"):
            data = unpacked(data)
        if SECRET.encode() in data:
            found.append(file.name)
    return found


def unpacked(data: bytes) -> bytes:
    out = b""
    while data:
        decoder = zlib.decompressobj(wbits=31)
        out += decoder.decompress(data)
        data = decoder.unused_data
    return out


EXPORTS = (
    "a.jsonl",
    "a.csv",
    "a.ndjson",
    "a.warc.gz",
    "a.wacz",
    "a.sqlite",
    "a.passages.jsonl",
    "md",
)


def test_what_is_forgotten_is_nowhere(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in EXPORTS:
        assert run(["export", str(path), str(path / name), "--all", "--with", "text"]) == 0
    assert run(["export", str(path), str(tmp_path / "b.jsonl"), "--all", "--text"]) == 0
    Run(path).label(GONE, False)
    search(Run(path), SECRET)
    before = {one.url: (one.bytes, one.score) for one in Run(path).documents(everything=True)}
    capsys.readouterr()
    command = ["forget", str(path), GONE, f"{SEED}none", "--export", str(tmp_path / "b.jsonl")]
    assert run([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pages"], told["records"], told["labels"]) == (1, 3, 1)
    assert told["not_found"] == [f"{SEED}none"]
    assert {Path(name).name for name in told["exports"]} == {*EXPORTS, "b.jsonl"}
    # The state of the policy may hold words that it learned; all else is gone.
    assert holds(tmp_path) in ([], ["state.db"])
    after = {one.url: (one.bytes, one.score) for one in Run(path).documents(everything=True)}
    assert after == {url: value for url, value in before.items() if url != GONE}
    assert GONE not in (path / files.RELEVANT).read_text()
    with closing(sqlite3.connect(path / "a.sqlite")) as db:
        assert db.execute("SELECT count(*) FROM pages").fetchone()[0] == len(after)
        query = "SELECT count(*) FROM search WHERE search MATCH ?"
        assert db.execute(query, (SECRET,)).fetchone()[0] == 0
    with zipfile.ZipFile(path / "a.wacz") as file:
        pages = [json.loads(line) for line in file.read("pages/pages.jsonl").splitlines()][1:]
        (tmp_path / "wacz.warc.gz").write_bytes(file.read("archive/data.warc.gz"))
    assert {one["url"] for one in pages} == after.keys()
    for archive in (*files.archives(path), path / "a.warc.gz", tmp_path / "wacz.warc.gz"):
        with archive.open("rb") as stream:
            urls = [
                one.rec_headers.get_header("WARC-Target-URI") for one in ArchiveIterator(stream)
            ]
        assert GONE not in urls
        assert urls.count(f"{SEED}4") == 3
    # It opens, and goes on without fetching the page again.
    server = Loopback(answer)
    with beside(server.serving):
        command = ["crawl", SEED, "--topic", "kiln", "--out", str(path), "--pages", "20"]
        command += ["--delay", "0", "--connect-to", f"127.0.0.1:{server.port}", "--json"]
        assert run(command) == 0
    assert server.pages == []
    assert GONE not in {one.url for one in Run(path).documents(everything=True)}


class _EndedError(Exception):
    pass


@pytest.mark.parametrize("step", forget.POINTS)
def test_it_may_end_anywhere(path: Path, step: str) -> None:
    def end(reached: str) -> None:
        if reached == step:
            raise _EndedError

    before = {one.url for one in Run(path).documents(everything=True)}
    with pytest.raises(_EndedError):
        forget.forget(path, [GONE], failpoint=end)
    RunWriter(path, read_settings(path)).close()
    assert not list(path.glob("recovered-*")), "nothing is kept aside of what goes"
    documents = {one.url: one for one in Run(path).documents(everything=True)}
    committed = forget.POINTS.index(step) >= forget.POINTS.index("committed")
    assert documents.keys() == before - ({GONE} if committed else set())
    assert all(one.archived for one in documents.values())
    again = forget.forget(path, [GONE])
    assert again.pages == (not committed)
    # What the policy learned stays, and may be words.
    assert set(holds(path)) <= {"state.db", "report.html"}
    assert not list(path.glob("forgetting-*"))


KILLED = """
import os, signal, sys
from pathlib import Path
from spoor.formats.exporters.target import new_file, new_folder
with {made}(Path(sys.argv[1])) as part:
    (part / "a-0123456789.md" if part.is_dir() else part).write_text(sys.argv[2])
    {more}
    os.kill(os.getpid(), signal.SIGKILL)
"""


def export_killed(out: Path, made: str = "new_file", more: str = "") -> None:
    """An export is ended in the middle, as `kill -9` does."""
    script = KILLED.format(made=made, more=more)
    done = subprocess.run([sys.executable, "-c", script, str(out), SECRET], check=False)
    assert done.returncode == -signal.SIGKILL


def test_what_a_killed_export_left_behind_is_forgotten(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is in use stays."""
    export_killed(path / "all.jsonl")
    export_killed(path / "md", "new_folder")
    (path / "tmpabc1d_2f").mkdir()
    for name in ("tmpabc1d_2f/data.warc.gz", "relevant.jsonl.part"):
        (path / name).write_text(SECRET)
    (path / "tmpuser_s1").mkdir()
    (path / "tmpuser_s1" / "notes.txt").write_text("of a person")
    with new_file(path / "used.jsonl") as part:
        assert run(["forget", str(path), GONE]) == 0
        assert part.exists()
    assert set(holds(path)) <= {"state.db"}
    assert not [one for one in path.iterdir() if one.name.startswith(".")]
    assert (path / "tmpuser_s1" / "notes.txt").exists()


def test_an_export_follows_one_that_was_killed_and_stands_beside_another(tmp_path: Path) -> None:
    """In a container each process has the same number."""
    out, site = tmp_path / "all.jsonl", tmp_path / "md"
    export_killed(out)
    with new_file(out) as first, new_file(out) as second:
        first.write_text("first")
        second.write_text("second")
    assert out.read_text() == "first"
    with new_folder(site) as folder:
        (folder / "b-0123456789.md").write_text("whole")
    export_killed(site, "new_folder", "Path(sys.argv[1]).rename(part.parent / 'old')")
    assert not site.exists()
    remove_left(tmp_path)
    assert [one.name for one in site.iterdir()] == ["b-0123456789.md"], "it is put back"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["all.jsonl", "md"]
    (tmp_path / ".all.jsonl.abcd_123").mkdir()  # it died before it had locked it
    (tmp_path / ".all.jsonl.ours_123").mkdir()
    (tmp_path / ".all.jsonl.ours_123" / "notes.txt").write_text("of a person")
    with new_file(out) as part:
        part.write_text("third")
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == [".all.jsonl.ours_123", "all.jsonl", "md"]


def test_temporary_folders_of_a_process_that_was_killed_go_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    script = (
        "import os, sys; from spoor.files import temporary_folder\n"
        "with temporary_folder(sys.argv[1]) as folder: (folder / 'a').touch(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    (left,) = tmp_path.iterdir()
    with monkeypatch.context() as patch:
        patch.setattr("os.geteuid", lambda: os.getuid() + 1)  # it is of another user
        with temporary_folder():
            assert left.exists()
    with temporary_folder() as used, temporary_folder():
        assert not left.exists()
        assert used.exists()
    assert not [*tmp_path.iterdir()]


def test_what_cannot_be_forgotten_now(path: Path) -> None:
    with Lock(path) as lock:
        lock.hold()
        with pytest.raises(BusyError):
            forget.forget(path, [GONE])
    with pytest.raises(InputError, match="no address"):
        forget.forget(path, ["no address"])
    with pytest.raises(InputError, match="no export"):
        forget.forget(path, [GONE], exports=[path / "none.jsonl"])


def test_a_run_in_shards_and_one_that_goes_on(made: Path, tmp_path: Path) -> None:
    """Its documents, searches, exports and what is forgotten are those of all shards."""
    path = tmp_path / "run"
    shutil.copytree(made, path / "shard-0")
    shutil.copytree(made, path / "shard-1")
    shutil.copy(made / files.SETTINGS, path / files.SETTINGS)
    with Lock(path / "shard-0") as lock:  # as the process of a shard holds it
        lock.hold()
        every = list(Run(path).documents(everything=True))
        assert len(every) == 2 * len(list(Run(made).documents(everything=True)))
        assert {one.row.shard for one in every} == {0, 1}
        assert len(search(Run(path), SECRET)) == 2
        out = tmp_path / "a.warc.gz"
        assert run(["export", str(path), str(out), "--all", "--no-copies"]) == 0
        with out.open("rb") as stream:
            urls = [
                one.rec_headers.get_header("WARC-Target-URI")
                for one in ArchiveIterator(stream)
                if one.rec_type == "response"
            ]
        assert sorted(urls) == sorted({one.url for one in every})
        for own in ("shard-1/a.jsonl", "shard-1", "."):
            assert run(["export", str(path), str(path / own), "--format", "markdown"]) == 2
        with pytest.raises(BusyError):
            forget.forget(path, [GONE])
    told = forget.forget(path, [GONE])
    assert (told.pages, told.records) == (2, 6)
    assert GONE not in {one.url for one in Run(path).documents(everything=True)}
    assert set(holds(path)) <= {"state.db", "report.html"}


def test_a_run_of_a_stranger_leads_nowhere(path: Path, tmp_path: Path) -> None:
    """Neither names of archives nor links in the folder make a reader leave it, and what forget
    finds as an export is taken for one only where it lies there itself."""
    outside = tmp_path / "outside.jsonl"
    outside.write_text(json.dumps({"url": GONE}) + "\n")
    (path / "linked.jsonl").symlink_to(outside)
    (path / "md").mkdir()
    (path / "md" / "index.jsonl").write_text(
        json.dumps({"file": "../../outside.jsonl", "url": GONE}) + "\n"
    )
    told = forget.forget(path, [GONE])
    assert (told.pages, told.exports) == (1, {})
    assert "is no file of it" in told.failed[str(path / "md")]
    assert GONE in outside.read_text()
    assert run(["forget", str(path), GONE]) == 1, "it says what it could not do"
    (path / files.SEARCH).symlink_to(outside)
    with pytest.raises(InputError, match="not a plain file"):
        search(Run(path), "kiln")
    (path / files.SEARCH).unlink()
    with closing(sqlite3.connect(path / files.DATABASE)) as db, db:
        db.execute("UPDATE pages SET warc_file = '../../outside.jsonl'")
    assert run(["export", str(path), str(tmp_path / "a.warc.gz")]) == 2
    assert run(["export", str(path), str(tmp_path / "a.jsonl"), "--text"]) == 2
    assert not list(tmp_path.glob("a.*"))


def test_exports_of_a_stranger_neither_lead_out_nor_hang(path: Path, tmp_path: Path) -> None:
    outside, folder, trap = tmp_path / "precious", path / "md", path / "trap.sqlite"
    outside.write_text("precious")
    (path / "forgetting-x.part").mkdir()
    (folder / "h").mkdir(parents=True)
    (folder / "h" / "a.md").write_text("x")
    (folder / "index.jsonl").write_text(json.dumps({"file": "h/a.md", "url": GONE}) + "\n")
    (folder / "index.jsonl.part").symlink_to(outside)
    assert forget.forget(path, [GONE]).exports == {str(folder): 1}
    assert outside.read_text() == "precious"
    with closing(sqlite3.connect(trap)) as db:
        db.executescript(
            "CREATE TABLE pages (url); CREATE VIRTUAL TABLE search USING fts5(a);"
            f"INSERT INTO pages VALUES ('{GONE}'); CREATE TRIGGER t AFTER DELETE ON pages BEGIN "
            "INSERT INTO pages WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
            "SELECT count(*) FROM c; END"
        )
    os.mkfifo(path / "pipe.jsonl")
    with zipfile.ZipFile(path / "bomb.wacz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.warc.gz", bytes(1 << 20))
    (path / "empty.csv").touch()
    (path / "odd.ndjson").write_text("{}\n")
    for name in (trap.name, "pipe.jsonl", "bomb.wacz", "empty.csv", "odd.ndjson"):
        with pytest.raises(InputError, match=f"cannot take pages out of .*{name}"):
            remove(path / name, forget._form(path / name), {GONE})
