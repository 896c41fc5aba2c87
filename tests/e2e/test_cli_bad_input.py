"""Bad input on the command line: one clear line on standard error, exit code 2, nothing lost."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from spoor.cli.main import run
from spoor.errors import InputError
from spoor.http import address_guard as gate
from spoor.runs.inputs import read_seeds
from spoor.runs.schema import FORMAT
from spoor.settings import Settings

SEED = "http://a.example/"
ROW = {"url": SEED, "html": "<title>A</title><a href=/b>pottery</a>", "root": True}
OTHER = {"url": f"{SEED}b", "html": "<title>B</title>kiln and clay", "label": "pottery"}
EXPERIMENT = """
[[webs]]
path = "web"
[[targets]]
want = ["label:pottery"]
[[policies]]
policy = "breadth-first"
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """What slips through must not ask a name server."""

    def refuse() -> Any:
        raise AssertionError("bad input got as far as the network")

    monkeypatch.setattr(gate, "Names", refuse)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the commands run; `plain` is a file below which nothing can be made,
    whoever runs the tests."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text("a file")
    return tmp_path


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def told(capsys: Capture, *arguments: str) -> str:
    """The one line that a command ends with."""
    capsys.readouterr()
    code = run(list(arguments))
    out, err = capsys.readouterr()
    assert code == 2, out + err
    assert out == ""
    assert len(err.splitlines()) == 1
    assert err.startswith("spoor: ")
    assert "Traceback" not in err
    return err


def test_an_option_that_did_nothing_says_so(capsys: Capture) -> None:
    message = told(capsys, "watch", SEED, "--recheck", "5m")
    assert "--recheck: " in message
    assert "--param recheck=SECONDS" in message
    begun = Settings.from_dict({"crawl": {"command": "watch", "recheck": 1_800.0}})
    assert begun.command == "watch"  # of an older version
    with pytest.raises(InputError, match="recheck: no fleet"):
        Settings.of({"recheck": 5.0}, "watch")


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


CRAWL: dict[str, tuple[list[str], str]] = {
    "a seed file without a URL": (["empty.txt"], "the seed file empty.txt has no URL in it"),
    "no seed file": (["none.txt"], "'none.txt' is neither a URL"),
    "a host without a domain": (["localhost"], "'localhost' is neither a URL"),
    "a folder": (["."], "'.' is neither a URL"),
    "a seed of 5,000 letters": (["x" * 5000], "is neither a URL"),
    "a binary seed file": (["binary.txt"], "the seed file binary.txt is no text in UTF-8"),
    "a malformed URL in a line": (
        ["bad.txt"],
        "bad.txt, line 3: 'http://[bad/' is not a valid URL",
    ),
    "a seed of another scheme": (["ftp://a.example/"], "'ftp://a.example/' is not an http or"),
    "an unknown policy": ([SEED, "--policy", "best-frist"], "(did you mean 'best-first'?)"),
    "the oracle": ([SEED, "--policy", "oracle"], "it runs in replay only"),
    "an unknown parameter": (
        [SEED, "--policy", "shark-search", "--param", "detla=1"],
        "policy 'shark-search' has no parameter 'detla' (did you mean 'delta'?)",
    ),
    "a parameter of another kind": (
        [SEED, "--policy", "shark-search", "--param", "delta=much"],
        "policy 'shark-search': delta is a number, not 'much'",
    ),
    "a whole number that is none": (
        [SEED, "--policy", "best-n-first", "--param", "n=2.5"],
        "policy 'best-n-first': n is a whole number, not 2.5",
    ),
    "a parameter without a value": ([SEED, "--param", "gamma"], "is not of the form name=value"),
    "a folder below a file": ([SEED, "--out", "plain/run"], "cannot write the run folder"),
    "a folder that is a file": ([SEED, "--out", "plain"], "cannot write the run folder plain"),
    "no address to connect to": ([SEED, "--connect-to", "nonsense"], "is not ADDRESS:PORT"),
    "a name to connect to": ([SEED, "--connect-to", "a.example:80"], "is not ADDRESS:PORT"),
    "no port": ([SEED, "--connect-to", "127.0.0.1:"], "is not ADDRESS:PORT"),
    "a port too many": ([SEED, "--connect-to", "127.0.0.1:65536"], "is not ADDRESS:PORT"),
    "a URL for a host": ([SEED, "--allow-private", "http://b/"], "is not a host"),
    "an unknown scope": ([SEED, "--scope", "planet"], "unknown scope 'planet'"),
    "an unknown frontier": ([SEED, "--frontier", "tape"], "unknown frontier 'tape'"),
    "no pages": ([SEED, "--pages", "0"], "--pages 0 is not a whole number from 1 on"),
    "pages in words": ([SEED, "--pages", "all"], "--pages 'all' is not a whole number from 1 on"),
    "a delay that is no number": ([SEED, "--delay", "nan"], "--delay nan is not a number from 0"),
    "an unknown option": ([SEED, "--policee", "x"], "--policy"),
    "no model file": ([SEED, "--model", "none"], "cannot read none"),
    "a model file of something else": ([SEED, "--model", "plain"], "not a Spoor state or model"),
    "a model file that is damaged": ([SEED, "--model", "damaged"], "damaged"),
    "a model file of the future": ([SEED, "--model", "future"], "format version 2"),
    "vectors of a device": ([SEED, "--vectors", "/dev/zero"], "not a plain file"),
    "a model of a device": ([SEED, "--model", "/dev/zero"], "not a plain file"),
    "a seed of randomness below nothing": (
        [SEED, "--seed", "-5"],
        "--seed -5 is not a whole number",
    ),
    "a folder whose name is no text": ([SEED, "--out", "\udcff"], "is no text in UTF-8"),
    "vectors that are none": ([SEED, "--vectors", "plain"], "not a word and numbers"),
}


@pytest.mark.parametrize("case", CRAWL)
def test_a_crawl_does_not_begin_with(case: str, here: Path, capsys: Capture) -> None:
    (here / "empty.txt").write_text("# none yet\n\n")
    (here / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (here / "bad.txt").write_text(f"{SEED}\n# a comment counts\nhttp://[bad/\n")
    (here / "damaged").write_bytes(b"spoor-state 1\n" + b"0" * 64 + b"\nxxxx")
    (here / "future").write_bytes(b"spoor-state 2\n" + b"0" * 64 + b"\nxxxx")
    before = files(here)
    arguments, message = CRAWL[case]
    given = ["--out", "run", *arguments] if "--out" not in arguments else arguments
    assert message in told(capsys, "crawl", "--topic", "pottery", *given)
    assert files(here) == before, "what is refused leaves nothing behind"


WANTED: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "say what is wanted"),
    "no word": (["--topic", "!?"], "has no word in it"),
    "an unknown kind": (["--want", "lable:x"], "(did you mean 'label'?)"),
    "a bad pattern": (["--want", "url:["], "bad regular expression '['"),
    "an empty pattern": (["--want", "url:"], "says nothing after the colon"),
    "both": (["--topic", "x", "--topic-file", "t.toml"], "not both"),
    "no file": (["--topic-file", "none.toml"], "cannot read topic file none.toml"),
}

TOPICS: dict[str, tuple[str, str]] = {
    "no TOML": ('name = "', "t.toml: not a TOML file"),
    "an unknown key": ('name = "x"\nkeyword = ["a"]', "'keyword' (did you mean 'keywords'?)"),
    "an unknown key within": ('name = "x"\n[relevant]\ntreshold = 1', "mean 'threshold'?)"),
    "another kind": ("name = 5", "'name' must be a string, not 5"),
    "a list of numbers": ("keywords = [1]", "'keywords' must be a list of strings"),
    "no word": ("", "says nothing of the topic"),
    "an unknown method": ('name = "x"\n[relevant]\nmethod = "magic"', "unknown method 'magic'"),
    "a language unheard of": ('name = "x"\n[relevant]\nlanguage = "klingon"', "'klingon'"),
    "a field unheard of": ('name = "x"\n[relevant.fields]\nfooter = 1', "'footer'"),
    "a field without a weight": ('name = "x"\n[relevant.fields]\ntitle = "much"', "'much'"),
    "a threshold below all": ('name = "x"\n[relevant]\nthreshold = -1', "threshold"),
    "a threshold above all": ('name = "x"\n[relevant]\nthreshold = 2', "threshold"),
}


@pytest.mark.parametrize("case", WANTED)
def test_a_crawl_is_told_what_is_wanted(case: str, here: Path, capsys: Capture) -> None:
    arguments, message = WANTED[case]
    assert message in told(capsys, "crawl", SEED, "--out", "run", *arguments)
    assert not (here / "run").exists()


@pytest.mark.parametrize("case", TOPICS)
def test_a_topic_file_is_checked(case: str, here: Path, capsys: Capture) -> None:
    text, message = TOPICS[case]
    (here / "t.toml").write_text(text)
    line = told(capsys, "crawl", SEED, "--out", "run", "--topic-file", "t.toml")
    assert message in line
    assert not (here / "run").exists()


IMPORTS: dict[str, tuple[bytes | None, str]] = {
    "no file": (None, "no such file"),
    "an empty file": (b"", "empty"),
    "something else": (b"%PDF-1.7 ...", "none of JSON lines, WARC"),
    "a broken row": (lines(ROW).encode() + b"{oops\n", "src line 2: not JSON"),
    "a row without a URL": (b'{"html": "x"}\n', "src line 1: no url"),
    "a row twice, with other content": (
        lines(ROW, {**ROW, "html": "other"}).encode(),
        "src line 2: http://a.example/ is in src line 1 already, with other content",
    ),
    "a link to a row that is not there": (
        lines({"id": "1", "url": SEED, "text": "x", "links": [{"to": "9"}]}).encode(),
        "src line 1: a link leads to row '9', which is not there",
    ),
    "a .zst cut short": (zstandard.compress(lines(ROW).encode() * 99)[:-9], "cut short"),
    "a .gz cut short": (gzip.compress(lines(ROW).encode() * 99)[:-9], "cut short"),
    "a .zst damaged": (zstandard.compress(lines(ROW).encode() * 99)[:9] + b"x" * 50, "src: "),
}


@pytest.mark.parametrize("case", IMPORTS)
def test_an_import_is_whole_or_not_at_all(case: str, here: Path, capsys: Capture) -> None:
    data, message = IMPORTS[case]
    if data is not None:
        (here / "src").write_bytes(data)
    before = files(here)
    assert message in told(capsys, "web", "import", "src", "web")
    assert files(here) == before


def test_an_import_needs_a_place(here: Path, capsys: Capture) -> None:
    (here / "src").write_text(lines(ROW, OTHER))
    assert "SRC... DEST" in told(capsys, "web", "import", "src")
    assert "cannot write" in told(capsys, "web", "import", "src", "plain/web")
    assert run(["web", "import", "src", "web", "--json"]) == 0
    before = files(here)
    assert "is a web already" in told(capsys, "web", "import", "src", "web")
    assert files(here) == before


@pytest.fixture
def web(here: Path, capsys: Capture) -> Path:
    (here / "src").write_text(lines(ROW, OTHER))
    assert run(["web", "import", "src", "web", "--json"]) == 0
    return here / "web"


REPLAYS: dict[str, tuple[list[str], str]] = {
    "no web": (["none", "--target", "label:x"], "none: no recorded web"),
    "no such root": (
        ["web", "--target", "label:x", "--root", "http://z.example/"],
        "no page http://z.example/",
    ),
    "an unknown policy": (
        ["web", "--target", "label:pottery", "--policy", "pagerunk"],
        "(did you mean 'pagerank'?)",
    ),
    "an unknown target": (["web", "--target", "lable:x"], "(did you mean 'label'?)"),
    "a misspelt label": (
        ["web", "--target", "label:potery"],
        "is labelled 'potery' (did you mean 'pottery'?); its labels are: pottery",
    ),
    "an unknown way": (["web", "--target", "label:x", "--absent", "huh"], "--absent"),
    "an unknown scope": (["web", "--target", "label:x", "--scope", "all"], "unknown scope 'all'"),
    "no model": (["web", "--target", "label:pottery", "--model", "none"], "cannot read none"),
}


@pytest.mark.parametrize("case", REPLAYS)
def test_a_replay_is_refused(case: str, web: Path, capsys: Capture) -> None:
    arguments, message = REPLAYS[case]
    assert message in told(capsys, "replay", *arguments)


def test_a_damaged_web_is_told(web: Path, capsys: Capture) -> None:
    words = web / "words.bin"
    words.write_bytes(words.read_bytes()[:-1])
    assert "damaged" in told(capsys, "replay", "web", "--target", "label:pottery")
    (web / "web.json").write_text("{")
    assert "web.json" in told(capsys, "web", "info", "web")


def test_a_model_serves_its_policy_and_topic_only(web: Path, capsys: Capture) -> None:
    topic = ("--topic", "pottery")
    about = ("--target", "label:pottery")
    assert run(["train", "naive-bayes", "web", *about, *topic, "--out", "model"]) == 0
    capsys.readouterr()
    assert "is one of 'naive-bayes'" in told(
        capsys, "replay", "web", *about, *topic, "--policy", "td-lambda", "--model", "model"
    )
    command = ("crawl", SEED, "--out", "run", "--policy", "naive-bayes", "--model", "model")
    assert "was trained for" in told(capsys, *command, "--topic", "chess")
    assert not (web.parent / "run").exists()
    assert "cannot write" in told(
        capsys, "train", "naive-bayes", "web", *about, "--out", "plain/model"
    )
    assert "did you mean 'naive-bayes'?" in told(
        capsys, "train", "naive-bays", "web", *about, "--out", "x"
    )
    assert "not a Spoor state" in told(capsys, "explain", "plain")
    assert "is no run" in told(capsys, "label", "nothing", SEED, "yes")
    assert "Choose from: yes, no" in told(capsys, "label", "nothing", SEED)
    assert "is no run" in told(capsys, "explain", "nothing", SEED)


LABS: dict[str, tuple[str, str]] = {
    "no TOML": ("[[webs", "e.toml is no TOML"),
    "an unknown key": (f"sedes = 1\n{EXPERIMENT}", "'sedes' (did you mean 'seeds'?)"),
    "an unknown key within": (f"{EXPERIMENT}polcy = 1", "policy 1: unknown key 'polcy'"),
    "no seeds": (f"seeds = 0\n{EXPERIMENT}", "seeds is a whole number from 1 on to 10,000, not 0"),
    "pages in words": (f"pages = 'all'\n{EXPERIMENT}", "pages is a whole number"),
    "a share of two": (f"share = 2\n{EXPERIMENT}", "share is a share of the pages in (0, 1]"),
    "an unknown kind": (f"kind = 'race'\n{EXPERIMENT}", "unknown kind 'race'"),
    "no policies": (EXPERIMENT.partition("[[policies")[0], "names no policies"),
    "an unknown policy": (EXPERIMENT.replace("breadth", "breath"), "mean 'breadth-first'?)"),
    "an unknown parameter": (f"{EXPERIMENT}params = {{ x = 1 }}", "has no parameter 'x'"),
    "parameters that are none": (f"{EXPERIMENT}params = 1", "params is a table"),
    "no web": (EXPERIMENT.replace('"web"', '"none"'), "no recorded web"),
    "two webs in one": (EXPERIMENT.replace("path", "sources = []\npath"), "give one of path"),
    "a web of a number": (EXPERIMENT.replace('"web"', "5"), "path is a string, not 5"),
    "a web generated of words": (
        EXPERIMENT.replace('path = "web"', 'generated = { pages = "x" }'),
        "pages is a whole number, not 'x'",
    ),
    "a web generated of nonsense": (
        EXPERIMENT.replace('path = "web"', "generated = { page = 5 }"),
        "'page' (did you mean 'pages'?)",
    ),
    "data that is missing": (
        EXPERIMENT.replace('path = "web"', 'sources = ["none.jsonl"]'),
        "none.jsonl is missing",
    ),
    "an unknown target": (EXPERIMENT.replace("label:", "lable:"), "(did you mean 'label'?)"),
    "a training that there is not": (
        f"{EXPERIMENT}train = 'leave-one-out'",
        "unknown policy with a training 'breadth-first'",
    ),
}


@pytest.mark.parametrize("case", LABS)
def test_an_experiment_is_checked_before_it_runs(case: str, web: Path, capsys: Capture) -> None:
    text, message = LABS[case]
    Path("e.toml").write_text(text)
    assert message in told(capsys, "lab", "run", "e.toml", "--out", "out")
    assert not list(Path("out").rglob("*.json"))


def test_an_experiment_is_found(web: Path, capsys: Capture) -> None:
    assert "(did you mean 'baselines'?)" in told(capsys, "lab", "run", "baselnes")
    assert "cannot read none.toml" in told(capsys, "lab", "run", "none.toml")
    Path("e.toml").write_text(EXPERIMENT)
    assert "cannot write" in told(capsys, "lab", "run", "e.toml", "--out", "plain/out")


MAKES: dict[str, tuple[list[str], str]] = {
    "nothing": ([], "give a topic"),
    "another name": (["--query", "kiln", "--out", "t.txt"], "ends with .topic or .toml"),
    "nowhere to write": (["--query", "kiln", "--out", "none/t.topic"], "cannot write none/t.topic"),
    "an unknown method": (["--query", "x", "--method", "tfdif"], "(did you mean 'tfidf'?)"),
    "a threshold above all": (["--query", "x", "--threshold", "2"], "--threshold lies in (0, 1]"),
    "negatives for words": (
        ["--query", "x", "--negative", "page.html"],
        "--negative goes with the method 'classifier', and this is 'bm25'",
    ),
    "a budget for nothing": (["--query", "x", "--budget", "5"], "--budget goes with"),
    "a query of stop words": (["--query", "of the"], "no word that tells topics apart"),
    "a pattern that is none": (["--pattern", "("], "bad regular expression '('"),
    "no page": (["--positive", "none.html"], "'none.html' is neither a URL"),
    "a malformed URL": (["--positive", "http://[bad/"], "'http://[bad/' is not a valid URL"),
    "an empty folder": (["--positive", "empty"], "empty holds no page"),
    "a page without a word": (["--positive", "blank.html"], "is a page without a word"),
    "a picture": (["--positive", "picture.png"], "is no page of text"),
    "no negatives": (
        ["--positive", "page.html", "--method", "classifier"],
        "give --negative, or --background",
    ),
    "too few examples": (
        ["--positive", "page.html", "--negative", "other.html", "--method", "classifier"],
        "needs at least 5 positive pages with different texts, not 1",
    ),
    "a stranger's encoder": (["--encoder", "some/model", "--name", "x"], "are never downloaded"),
    "a function that is not there": (["--ask", "no_such_module:x", "--name", "x"], "PYTHONPATH"),
    "a function that is not marked": (["--ask", "os:system", "--name", "x"], "is not marked"),
    "a language unheard of": (["--query", "x y", "--language", "klingon"], "'klingon'"),
    "vectors that are none": (["--vectors", "plain", "--name", "x"], "not a word and numbers"),
}


@pytest.mark.parametrize("case", MAKES)
def test_a_topic_is_not_made(case: str, here: Path, capsys: Capture) -> None:
    (here / "empty").mkdir()
    (here / "blank.html").write_text("<p>")
    (here / "page.html").write_text("<p>kiln")
    (here / "other.html").write_text("<p>ledger")
    (here / "picture.png").write_bytes(b"\x89PNG\r\n\x00\x00")
    before = files(here)
    arguments, message = MAKES[case]
    given = arguments if "--out" in arguments else ["--out", "t.topic", *arguments]
    assert message in told(capsys, "topic", "make", *given)
    assert files(here) == before


def test_a_topic_is_not_tested(here: Path, capsys: Capture) -> None:
    (here / "page.html").write_text("<p>kiln")
    (here / "bad.topic").write_text('nam = "x"')
    assert "cannot read topic file x.topic" in told(capsys, "topic", "test", "x.topic", "page.html")
    assert "did you mean 'name'?" in told(capsys, "topic", "test", "bad.topic", "page.html")
    assert "has no word in it" in told(capsys, "topic", "test", "!", "page.html")
    assert "is neither a URL" in told(capsys, "topic", "test", "kiln", "none.html")
    command = ("topic", "test", "kiln", "page.html")
    assert "is not ADDRESS:PORT" in told(capsys, *command, "--connect-to", "nonsense")
    assert "is not a host" in told(capsys, *command, "--allow-private", "http://x/")


OTHERS: dict[str, tuple[list[str], str]] = {
    "a command that there is not": (["crwal"], "Did you mean 'crawl'?"),
    "too many topics": (["web", "generate", "g", "--topics", "99"], "2 ≤ topics"),
    "an unknown trap": (["web", "generate", "g", "--trap", "calender"], "mean 'calendar'?)"),
    "a share above one": (["web", "generate", "g", "--locality", "2"], "locality lies in [0, 1]"),
    "nowhere to generate": (["web", "generate", "plain/g"], "cannot write plain/g"),
    "no web to serve": (["web", "serve", "none"], "no recorded web"),
    "a fault that there is not": (["web", "serve", "web", "--faults", "418=1"], "'418=1'"),
    "a port that there is not": (["web", "serve", "web", "--port", "65536"], "'--port'"),
    "no robots.txt": (["web", "serve", "web", "--robots", "none"], "cannot read none"),
    "no web to describe": (["web", "info", "none"], "no recorded web"),
    "nowhere for a demo": (["demo", "--out", "plain/demo"], "cannot write plain/demo"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_the_other_commands_refuse(case: str, web: Path, capsys: Capture) -> None:
    arguments, message = OTHERS[case]
    assert message in told(capsys, *arguments)
    assert not Path("g").exists()


SETTINGS: dict[str, tuple[Callable[[str], str], str]] = {
    "of another version": (
        lambda text: text.replace(f"format = {FORMAT}", f"format = {FORMAT + 1}"),
        f"run format {FORMAT + 1}",
    ),
    "damaged": (lambda text: text[: len(text) // 2] + "=", "spoor.toml is damaged"),
    "of something else": (lambda text: "format = 1\n", "spoor.toml is damaged"),
}


def begun(here: Path, capsys: Capture) -> tuple[str, ...]:
    """A run that has begun and fetched nothing: its one seed is an address that is refused."""
    command = ("crawl", "http://127.0.0.1:9/", "--topic", "pottery", "--out", "run")
    assert run([*command]) == 3, "nothing was fetched"
    capsys.readouterr()
    assert (here / "run" / "state.db").exists()
    return command


def test_a_run_goes_on_with_its_own_settings_only(here: Path, capsys: Capture) -> None:
    command = begun(here, capsys)
    before = files(here / "run")
    assert "was begun with topic = 'pottery', not 'chess'" in told(
        capsys, *command[:3], "chess", *command[4:]
    )
    assert "was begun with policy" in told(capsys, *command, "--policy", "breadth-first")
    assert f"begun with '{command[1]}' among its seeds" in told(capsys, "crawl", SEED, *command[2:])
    assert files(here / "run") == before


def test_a_run_that_cannot_be_used_is_told(here: Path, capsys: Capture) -> None:
    command = begun(here, capsys)
    file = here / "run" / "spoor.toml"
    text = file.read_text()
    for change, message in SETTINGS.values():
        file.write_text(change(text))
        before = files(here / "run")
        assert message in told(capsys, *command)
        assert files(here / "run") == before
    file.write_text(text)
    (here / "run" / "state.db").write_bytes(b"no database at all" * 100)
    for rest in ("state.db-wal", "state.db-shm"):
        (here / "run" / rest).unlink(missing_ok=True)
    assert "state.db" in told(capsys, *command)


def test_no_traceback_from_a_process_of_its_own(here: Path) -> None:
    command = [sys.executable, "-m", "spoor", "crawl", SEED, "--topic", "x", "--policy", "nearst"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=here)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--netrc", "missing", "cannot read --netrc missing"),
        ("--cookies", "plain", "--cookies plain, line 1"),
        ("--header", "Authorization: sesame", "--netrc"),
        ("--proxy", "http://anna:sesame@p.example:80", "SPOOR_BASIC"),
        ("--sign-key", "plain", "is no Ed25519 key"),
        ("--sign-key", "/dev/zero", "is no Ed25519 key"),
        ("--netrc", "/dev/zero", "not a plain file"),
    ],
)
def test_who_asks_is_checked_before_a_run_begins(
    here: Path, capsys: Capture, option: str, value: str, says: str
) -> None:
    before = files(here)
    err = told(capsys, "crawl", SEED, "--topic", "clay", "--out", "run", option, value)
    assert says in err
    assert "sesame" not in err
    assert files(here) == before


@pytest.mark.parametrize("in_a_file", [False, True])
def test_a_password_in_an_address_is_refused(here: Path, capsys: Capture, in_a_file: bool) -> None:
    seed = "https://anna:sesame@a.example/x"
    Path("seeds").write_text(f"{SEED}\n{seed}\n")
    err = told(capsys, "crawl", "seeds" if in_a_file else seed, "--topic", "clay", "--out", "run")
    where = "seeds, line 2: " if in_a_file else ""
    assert f"{where}the address https://a.example/x has a password before it" in err
    assert "--netrc" in err
    assert "sesame" not in err
    assert not Path("run").exists()
    for harmless in (
        "https://anna@a.example/",
        "https://a.example/me@b:c",
        "https://a.example/?a:b@c",
    ):
        assert read_seeds([harmless])


def test_a_line_that_quotes_a_file_is_not_longer_than_a_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A key of a megabyte; what mends it stands behind it."""
    topic = tmp_path / "long.toml"
    topic.write_text(f'"{"k" * 1_000_000}" = 1\n')
    out = str(tmp_path / "run")
    assert run(["crawl", "http://a.example/", "--topic-file", str(topic), "--out", out]) == 2
    said = capsys.readouterr().err
    assert len(said) < 2_100
    assert "unknown key" in said
    assert "keywords" in said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["search", "run"],
            "Missing argument 'words'. Usage: spoor search [OPTIONS] {run} {words}; ",
        ),
        (["crawl", "--page", "3"], "--types). Usage: spoor crawl [OPTIONS] [seeds]...; "),
        (["crawls"], "Did you mean 'crawl'? Usage: spoor [OPTIONS] COMMAND [ARGS]...; "),
    ],
)
def test_what_is_missing_is_told_with_the_form_of_the_command(
    arguments: list[str], said: str, here: Path, capsys: Capture
) -> None:
    line = told(capsys, *arguments)
    assert said in line
    assert line.endswith(" --help tells more\n")
