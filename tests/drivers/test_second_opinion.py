"""Second opinions: a language model behind a server on loopback, and an encoder in a folder."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kills import KilledError, check_run, digest, open_run, served
from rejudging import Warming
from spoor.crawl import Crawl
from spoor.errors import InputError
from spoor.http import chat
from spoor.judges.facts import Function
from spoor.judges.second_opinion import Limits, SecondOpinion
from spoor.judges.topic import judge_of_topic, read_topic
from spoor.protocols import Judge, KeepsAnswers, Rejudges
from spoor.runs import assemble
from spoor.types import Page
from spoor.views.report import report_of


class Model:
    """A stand-in for a server of a language model: yes, where a page has the word "glaze"."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = ""
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                question = json.loads(self.rfile.read(size))
                model.asked.append(question["messages"][-1]["content"])
                page = model.asked[-1].partition("The page:")[2]
                said = model.broken or ("Yes: glaze" if "glaze" in page else "No. Nothing of it.")
                body = json.dumps({"choices": [{"message": {"content": said}}]}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    made = Model()
    url = f"http://127.0.0.1:{made.server.server_port}/v1/chat/completions"
    monkeypatch.setenv("SPOOR_CHAT_URL", url)
    made.thread.start()
    yield made
    made.server.shutdown()
    made.thread.join()
    made.server.server_close()


def page(number: int, text: str) -> Page:
    return Page(f"http://pots.example/{number}", title=f"Page {number}", text=text)


def pages(count: int) -> Sequence[Page]:
    """Far from the threshold of `by_length`, and every fifth near it; those in turn of glaze."""
    near = ("of glaze and more words yet here", "a harbour and more words yet here")
    return [page(at, near[at // 5 % 2] if at % 5 == 0 else "short") for at in range(count)]


def by_length(page: Page) -> float:
    """A cheap judge: .5 is near 32 letters."""
    return min(1.0, len(page.text) / 64)


def test_only_pages_near_the_threshold_are_asked_about(model: Model, tmp_path: Path) -> None:
    judge = SecondOpinion(Function(by_length), chat.ask, prompt="Pots?", name="model")
    judge.keep_answers(tmp_path / "answers.jsonl", print)
    said = {one.url: judge.judge(one) for one in pages(60)}
    asked = judge.costs()["asked"]
    assert len(model.asked) == asked == 10, "every fifth, after the first ten pages"
    assert all("more words yet" in question for question in model.asked)
    assert model.asked[0].startswith("Pots?\n\nThe page:\n\nPage 10\n\n")
    verdict = said["http://pots.example/10"]
    assert (verdict.score, verdict.relevant) == (1.0, True)
    assert verdict.why == (("model says: glaze", 1.0),)
    assert not said["http://pots.example/15"].relevant
    assert 0 < judge.costs()["agreed"] < asked
    # Known answers are not asked for again, whatever the server says by now.
    model.broken = "Yes."
    again = SecondOpinion(Function(by_length), chat.ask, prompt="Pots?", name="model")
    again.keep_answers(tmp_path / "answers.jsonl", print)
    assert {one.url: again.judge(one) for one in pages(60)} == said
    assert again.costs() == judge.costs()
    assert again.save() == judge.save()
    assert len(model.asked) == asked


@pytest.mark.parametrize("limits", [Limits(asks=3), Limits(cost=3.0)])
def test_what_is_asked_has_a_limit(limits: Limits, model: Model, tmp_path: Path) -> None:
    lines: list[str] = []
    judge = SecondOpinion(Function(by_length), chat.ask, name="model", limits=limits)
    judge.keep_answers(tmp_path / "answers.jsonl", lines.append)
    for one in pages(60):
        judge.judge(one)
    assert len(model.asked) == judge.costs()["asked"] == 3
    assert judge.costs()["fell_back"] == 7
    assert len(lines) == 1
    assert lines[0].endswith("no more second opinions")
    slow = SecondOpinion(Function(by_length), chat.ask, limits=Limits(seconds=0.0))
    assert not any(slow.judge(one).why[0][0].startswith("ask says") for one in pages(30))


def test_what_a_model_thinks_is_no_verdict(model: Model) -> None:
    model.broken = "<think>No menu, so yes or no?</think>Yes: glaze"
    assert chat.ask("A page", "Pots?").score == 1.0
    model.broken = "<think>No menu, so"
    with pytest.raises(ValueError, match="still thought"):
        chat.ask("A page", "Pots?")


def test_without_an_answer_the_cheap_verdict_stays(model: Model, tmp_path: Path) -> None:
    model.broken = "Perhaps."
    judge = SecondOpinion(Function(by_length), chat.ask, name="model")
    plain = Function(by_length)
    for one in pages(30):
        judgement, cheap = judge.judge(one), plain.judge(one)
        assert (judgement.score, judgement.relevant) == (cheap.score, cheap.relevant)
    assert "the model said neither yes nor no: 'Perhaps.'" in judgement_reason(judge, 30)
    assert judge.costs()["fell_back"] == judge.costs()["asked"] == 5


def judgement_reason(judge: Judge, number: int) -> str:
    return judge.judge(pages(number + 1)[number]).why[-1][0]


def test_the_cheap_judge_learns_from_the_answers(model: Model) -> None:
    cheap = Warming()
    labels: list[tuple[str, bool]] = []
    label = cheap.label

    def noting(url: str, relevant: bool) -> None:
        labels.append((url, relevant))
        label(url, relevant)

    cheap.label = noting  # type: ignore[method-assign]
    judge = SecondOpinion(cheap, chat.ask, limits=Limits(share=1.0, asks=4))
    assert isinstance(judge, Rejudges)
    for one in pages(40):
        judge.judge(one)
    assert len(labels) == 4
    assert {url for url, _ in judge.revise()}.isdisjoint(url for url, _ in labels)
    judge.label(labels[0][0], not labels[0][1])  # type: ignore[attr-defined]
    assert labels[-1] == (labels[0][0], not labels[0][1])


def test_a_run_that_goes_on_does_not_ask_again(model: Model, tmp_path: Path) -> None:
    path, last = tmp_path / "run", ""
    with served(40, hosts=3) as web:

        def at(reached: str, crawl: Crawl) -> None:
            nonlocal last
            if reached == "committed":
                last = digest(crawl)
            if reached == "exchange recorded" and crawl.counts.pages >= 28:
                raise KilledError

        more: dict[str, Any] = {"second_opinion": "spoor.http.chat:ask", "second_asks": 8}
        run = open_run(path, web.root, web.port, at=at, **more)
        with pytest.raises(KilledError):
            run.run()
        run.folder.close()
        questions = len(model.asked)
        assert questions > 0
        again: list[str] = []

        def look(reached: str, crawl: Crawl) -> None:
            if reached == "gone through":
                again.append(digest(crawl))

        run = open_run(path, web.root, web.port, at=look, **more)
        assert again == [last]
        assert len(model.asked) == questions
        run.run()
        judge = run.crawl.judge
        assert isinstance(judge, KeepsAnswers)
        assert len(model.asked) == len(set(model.asked)) <= 8
        run.folder.close()
        check_run(path)
    assert any("agreed with the verdict before" in line for line in report_of(path).advice)


def test_an_encoder_in_a_folder_is_asked(tmp_path: Path) -> None:
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "kiln": 1, "glaze": 2, "harbour": 3}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    rows = np.array([[0, 0], [1, 0], [0.9, 0.1], [0, 1]], dtype=np.float32)
    model2vec.StaticModel(rows, tokenizer).save_pretrained(tmp_path / "encoder")
    topic = tmp_path / "pots.topic"
    topic.write_text(
        'wish = "kiln"\n[judge]\nencoder = "encoder"\nthreshold = 0.6\nshare = 1.0\nasks = 2\n'
    )
    source = read_topic(topic)
    assert {file.parent.name for file in source.files} == {"encoder"}
    judge = judge_of_topic(source)
    for at in range(10):
        judge.judge(page(at, "engine " * at))
    assert judge.judge(page(10, "glaze glaze")).relevant, "near in meaning, without the word"
    assert not judge.judge(page(11, "kiln " + "harbour " * 9)).relevant
    assert isinstance(judge, KeepsAnswers)
    assert judge.costs()["asked"] == 2
    assert judge.costs()["cost"] == 0


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('ask = "a:b"\nencoder = "c"', "needs 'ask' or 'encoder'"),
        ("asks = 3", "needs 'ask' or 'encoder'"),
        ('ask = "os:remove"', "is not marked for topic files"),
        ('ask = "spoor.http.chat:ask"\nshare = 2.0', "share lies in"),
        ('ask = "spoor.http.chat:ask"\naks = 2', "did you mean 'asks'?"),
    ],
)
def test_bad_tables_are_refused_in_one_line(table: str, message: str, tmp_path: Path) -> None:
    topic = tmp_path / "pots.topic"
    topic.write_text(f'wish = "kiln"\n[judge]\n{table}\n')
    with pytest.raises(InputError) as error:
        judge_of_topic(read_topic(topic))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_second_opinion_needs_a_topic() -> None:
    from spoor.settings import Settings

    settings = Settings(want=("url:kiln",), second_opinion="spoor.http.chat:ask")
    with pytest.raises(InputError, match="give --topic"):
        assemble.judge_and_topic(settings)
