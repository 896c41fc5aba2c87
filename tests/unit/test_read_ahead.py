"""What is read ahead, several documents at a time in several helpers, is what each says when it is
read alone; and one that costs its helper costs no other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import document_makers
from loopback import Asked, Loopback, beside, reply
from parsers import counts, ends, fills, leaves, loops, says
from spoor.bounded_json import MOST_VALUES
from spoor.cli.main import run
from spoor.documents.document import PARTS, Document
from spoor.documents.rows import (
    document_row_of,
    html_parts_row_of,
    no_parts,
    parts_of,
    parts_row_of,
    revive_document,
)
from spoor.errors import PausedError
from spoor.isolate import child, helper, helper_pool
from spoor.isolate.bounds import DOCUMENT
from spoor.isolate.helper import GivenUpError, Question
from spoor.isolate.helper_pool import HelperQueue, more_queues
from spoor.runs import documents, read_ahead
from spoor.runs.pass_costs import SPARE, PassCosts
from spoor.runs.reader import Run
from spoor.runs.selection import Selection

pytestmark = pytest.mark.server

URL = "http://docs.example/a"
EVERY = Selection(everything=True)
PIECES = """<p> <li> <ul> <ol> </ul> <h1> <h2> </h2> <b> <code> </code> <a_href=/x> </a> <a>
<a_href=#x>¶</a> <pre> </pre> <blockquote> </blockquote> <nav> </nav> <table><tr><td> <td> <th>
</table> <br> <svg><title>s</title></svg> <title>kiln</title> <base_href=/b/> <html_lang=de>
<meta_name=author_content=Ada> <div_class=related> </div> <article> </article> <template> word
`tick` *star* [x] 1._2 é ☃ | \\ kilns_are_fired_slowly_and_no_pot_cracks. &amp; \x00""".split()
PAGES = st.lists(st.sampled_from(PIECES), max_size=60).map(lambda parts: " ".join(parts))
NAMES = st.frozensets(st.sampled_from(sorted(PARTS)), min_size=1)


def alone(body: bytes, content_type: str, names: Sequence[str]) -> dict[str, Any]:
    """What a document says when it is read as a whole, as it comes from a helper."""
    row = json.loads(json.dumps(document_row_of(body, URL, content_type)))
    document = Document(URL, "", "") if "unreadable" in row else revive_document(row)
    said = {name: getattr(document, name) for name in names}
    if "links" in said:
        said["links"] = list(dict.fromkeys(link.url for link in document.links))
    if "blocks" in said:
        said["blocks"] = tuple(one._replace(markdown="") for one in document.blocks)
    return said


def together(body: bytes, content_type: str, names: Sequence[str]) -> dict[str, Any]:
    row = parts_row_of(body, URL, content_type, names)
    return parts_of(json.loads(json.dumps(row)), names)


@given(PAGES, NAMES)
def test_parts_of_a_page_are_those_of_the_whole(page: str, names: frozenset[str]) -> None:
    body = page.replace("_", " ").encode()
    assert together(body, "text/html", [*names]) == alone(body, "text/html", [*names])


@pytest.mark.parametrize("kind", document_makers.MAKERS)
@pytest.mark.parametrize("names", [["text"], ["blocks", "text"], sorted(PARTS)], ids=len)
def test_parts_of_a_document_are_those_of_the_whole(kind: str, names: list[str]) -> None:
    make, media = document_makers.MAKERS[kind]
    body = make("The zanzibar kiln")
    assert together(body, media, names) == alone(body, media, names)
    assert together(body, media, ["text"])["text"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("<p>Ofen für Töpfe".encode("cp1252"), "text/html; charset=windows-1252"),
        ("<html lang=ja><p>陶器の窯".encode("shift_jis"), "text/html; charset=shift_jis"),
        ("<p>kiln \ud800 pot".encode("utf-16-le", "surrogatepass"), "text/html; charset=utf-16"),
        (b"<p>\xff\xfe\x00 <title>", "text/html"),
        (b" ", "text/html"),
        (b"%PDF-1.7 broken", "application/pdf"),
        (b"PK\x03\x04 broken", ""),
        (b"<div>" * 2_000 + b"deep", "text/html"),
        (b"<p>x<b>" * 9_000, "text/html"),
    ],
)
def test_broken_documents_and_other_encodings_say_the_same(body: bytes, content_type: str) -> None:
    names = sorted(PARTS)
    for asked in (names, ["text"], ["markdown"], ["language"]):
        assert together(body, content_type, asked) == alone(body, content_type, asked)


@pytest.mark.parametrize(
    "row",
    [
        *(None, [], {}, {"text": 1, "blocks": [], "links": []}),
        {"text": "", "blocks": [], "links": [], "more": ""},
        {"text": "", "blocks": [[1, "", "", [], 0]], "links": []},
        {"text": "", "blocks": [["item", "", "", [1], 0]], "links": []},
        {"text": "", "blocks": [["item", "", "", [], "0"]], "links": []},
        {"text": "", "blocks": [["item"]], "links": []},
        {"text": "", "blocks": [1], "links": []},
        {"text": "", "blocks": [], "links": [1]},
        {"text": "", "blocks": [], "links": "x"},
    ],
)
def test_what_is_no_answer_is_told(row: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        parts_of(row, ["text", "blocks", "links"])
    assert no_parts(["text", "blocks", "links"]) == {"text": "", "blocks": (), "links": []}


# ---------------------------------------------------------------- helpers


def question(text: bytes, **more: Any) -> Question:
    facts = {"url": URL, "content_type": "text/html", "names": ["text"]}
    return Question(html_parts_row_of, b"<p>" + text, facts, bounds=DOCUMENT, **more)


@pytest.fixture
def queue() -> Iterator[HelperQueue]:
    with more_queues(1) as (made,):
        yield made


@pytest.mark.parametrize("hostile", [loops, ends, fills])
def test_one_document_that_costs_its_helper_costs_no_other(
    hostile: Any, queue: HelperQueue
) -> None:
    bad = Question(hostile, b"<p>", {}, bounds=DOCUMENT._replace(seconds=0.05))
    asked = [question(b"a"), bad, question(b"b"), bad, question(b"c")]
    answers = [one.value for one in queue.ask_all(asked)]
    assert [answers[at] for at in (0, 2, 4)] == [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    assert all(isinstance(answers[at], GivenUpError) for at in (1, 3))


def test_an_answer_has_a_bound(queue: HelperQueue) -> None:
    """A helper that a document took over might say a gigabyte."""
    long = Question(says, bytes(100_000), {}, bounds=DOCUMENT)
    values = [one.value for one in queue.ask_all([long, long._replace(most=99_999), long])]
    assert values[0] == values[2] == "x" * 100_000
    assert isinstance(values[1], GivenUpError)
    too_many = helper._VALUES + MOST_VALUES + 2
    with pytest.raises(GivenUpError, match="is no page"):
        queue.ask(counts, str(too_many).encode(), {}, 1, DOCUMENT)
    whole = Question(says, bytes(1 << 26), {}, bounds=DOCUMENT)
    assert whole.room > 8 * helper.MOST_ANSWER
    with pytest.raises(GivenUpError):
        queue.ask(*whole[:5])


def test_documents_of_one_message_wear_a_helper_as_others(queue: HelperQueue) -> None:
    large = Question(leaves, bytes(20 << 10), {}, bounds=DOCUMENT)
    processes = [one.value for one in queue.ask_all([large] * 8)]
    assert processes[0] == processes[1] != processes[-1]


def test_pages_wear_a_helper_less_than_documents(queue: HelperQueue) -> None:
    """A helper that starts takes as long as a hundred pages."""
    asked = [question(b"kiln")] * (child.MOST_DOCUMENTS + 1)
    assert all(one.value == {"text": "kiln"} for one in queue.ask_all(asked))
    assert queue.helper is not None
    assert not queue.helper.worn


# ---------------------------------------------------------------- a run


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with documents of each kind, hostile ones among them."""
    web, _, _ = document_makers.documents_web(most=13)
    web["/hub/0"] = (web["/hub/0"][0], web["/hub/0"][1] + "<p>Öfen".encode("cp1252"))

    def answer(asked: Asked) -> bytes:
        media, body = web.get(asked.path, ("text/plain", b""))
        return reply(body, 200 if asked.path in web else 404, media=media)

    out = tmp_path_factory.mktemp("ahead") / "run"
    server = Loopback(answer)
    with beside(server.serving):
        command = ["crawl", "http://docs.example/", "--topic", "kiln", "--out", str(out), "--delay"]
        command += ["0", "--connect-to", f"127.0.0.1:{server.port}", "--json", "--pages", "500"]
        assert run(command) == 0
    helper_pool.close()
    return out


def rows(path: Path, wanted: read_ahead.Wanted | None) -> list[dict[str, Any]]:
    names = ["text", "markdown", "language", "author", "date", "licence", "links", "kind"]
    return [
        document.exported(names)
        | {"passages": document.all_passages, "title": document.title, "at": document.row.seq}
        for document, _ in Run(path).select(EVERY, wanted=wanted)
    ]


@pytest.fixture(scope="module")
def read_alone(every_kind: Path) -> list[dict[str, Any]]:
    """Its rows, none of which was read ahead."""
    return rows(every_kind, None)


def test_what_is_read_ahead_is_what_is_read_alone(
    every_kind: Path, read_alone: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_alone
    assert len(before) > 100
    assert len({row["kind"] for row in before}) > 9

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("it is read once more")

    monkeypatch.setattr(documents, "extract", refuse)
    assert rows(every_kind, lambda row: PARTS) == before
    monkeypatch.undo()
    some = rows(every_kind, lambda row: ("text", "links") if row.seq % 3 else ())
    assert some == before, "what else is asked is read then"


TOGETHER, SOME = 4, 9
"""Documents that are read together, and more than those: where each is given up, each takes a helper
of its own."""


@pytest.mark.parametrize("fault", ["late", "long", "lies", "no time", "none ahead"])
def test_what_cannot_be_read_ahead_is_read_alone(
    fault: str,
    every_kind: Path,
    read_alone: list[dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_ahead, "TOGETHER", TOGETHER)
    if fault == "late":
        monkeypatch.setattr(documents, "SOON", 1e-6)
    elif fault == "long":
        monkeypatch.setattr(documents, "MOST_AHEAD", 0)
        monkeypatch.setattr(documents, "MOST_AHEAD_PER_BYTE", 0)
    elif fault == "lies":
        monkeypatch.setattr(documents, "html_parts_row_of", says)
    elif fault == "no time":
        monkeypatch.setattr(PassCosts, "begin_ahead", lambda *_: False)
    else:
        monkeypatch.setattr(read_ahead, "MOST_BYTES", 0)
    html = [row for row in read_alone[:SOME] if row["kind"] == "html"]
    assert len(html) > 3
    read = [
        document.exported(["text", "markdown"])
        for document, _ in islice(Run(every_kind).select(EVERY, wanted=lambda row: PARTS), SOME)
        if document.kind == "html"
    ]
    assert [row["text"] for row in read] == [row["text"] for row in html]
    assert [row["markdown"] for row in read] == [row["markdown"] for row in html]


def test_little_waits_and_nothing_is_left(
    every_kind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(read_ahead, "readers", lambda: 2)
    monkeypatch.setattr(read_ahead, "TOGETHER", TOGETHER)
    question = documents.RunDocument.question

    def counted(self: Any, names: Any) -> Any:
        asked.append(self.row.seq)
        return question(self, names)

    monkeypatch.setattr(documents.RunDocument, "question", counted)
    before = len(helper_pool._queues)
    chosen = Run(every_kind).select(EVERY, wanted=lambda row: ("text",))
    first, _ = next(chosen)
    assert first.row.seq == 1
    assert len(asked) <= TOGETHER * (2 * 2 + 2)
    helpers = [queue.helper for queue in helper_pool._queues[before:]]
    chosen.close()  # type: ignore[attr-defined]
    assert len(helper_pool._queues) == before
    assert not any(helper.alive for helper in helpers if helper is not None)


def test_a_program_that_ends_does_not_wait_for_what_is_read_ahead(every_kind: Path) -> None:
    chosen = Run(every_kind).select(EVERY, wanted=lambda row: ("text",))
    next(chosen)
    with helper_pool.ending(), pytest.raises(PausedError):
        list(chosen)


def test_documents_that_are_read_ahead_take_no_more_time_together() -> None:
    """As those that are read one by one: a minute and one more document, all that wait included."""
    costs, waiting, taken = PassCosts(lambda: 0.0), 0, 0.0
    while costs.begin_ahead(DOCUMENT.seconds):
        waiting += 1
    for _ in range(waiting):
        costs.end_ahead(0, DOCUMENT.seconds, DOCUMENT.seconds)
        taken += DOCUMENT.seconds
    assert SPARE - DOCUMENT.seconds < taken <= SPARE
    assert not costs.begin_ahead(DOCUMENT.seconds)
    costs.end_ahead(1 << 20, 0.0, 0.0)
    assert costs.begin_ahead(DOCUMENT.seconds), "ordinary documents give time"
