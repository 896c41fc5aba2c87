"""What a user gets for a wish: pages in a language, a cut that leans to one side, and a word where
nothing is found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopback import ADDRESS, Loopback, beside, reply, site
from spoor.cli.main import run
from spoor.errors import InputError
from spoor.judges.advice import Advisor
from spoor.judges.no_results import Verdict
from spoor.judges.relevance import Relevance
from spoor.judges.spec import judge_of
from spoor.judges.wish import parse
from spoor.runs.assemble import judge_and_topic
from spoor.settings import Settings
from spoor.types import Page

Capture = pytest.CaptureFixture[str]

TEXTS = {
    "is": "Veðrið á Íslandi er oft kalt og blautt, en fólkið sem býr þar er vant því. Á sumrin eru "
    "næturnar bjartar og margir ganga á fjöll eða fara í sund með börnin sín.",
    "no": "Været på kysten er ofte kaldt og vått, men folk som bor der er vant til det. Om sommeren "
    "er nettene lyse, og mange går på fjellet eller bader sammen med barna sine.",
    "de": "Das Wetter an der Küste ist oft kalt und nass, aber die Leute, die dort wohnen, sind es "
    "gewohnt. Im Sommer sind die Nächte hell, und viele gehen in die Berge oder schwimmen.",
    "en": "The weather on the coast is often cold and wet, but the people who live there are used "
    "to it. In summer the nights are light, and many walk in the mountains or swim.",
}


def test_a_corpus_in_icelandic(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lang:icelandic` as the whole wish: pages in other languages, also near ones, stay out."""
    monkeypatch.chdir(tmp_path)
    names = [f"/{code}{at}" for at in range(5) for code in TEXTS]
    links = "".join(f'<a href="{name}">{name}</a> ' for name in names)
    pages = {"/": reply(f"<title>Start</title><p>{TEXTS['en']}</p>{links}")}
    for name in names:
        pages[name] = reply(f"<title>{name}</title><p>{TEXTS[name[1:3]]}</p>")
    server = Loopback(site(pages))
    with beside(server.serving):
        at = ("--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0", "--pages", "21")
        assert (
            run(["crawl", "http://a.example/", "--topic", "lang:icelandic", *at, "--out", "x"]) == 0
        )
    assert capsys.readouterr().err.startswith("looking for pages in Icelandic\n")
    assert run(["export", "x", "--out", "corpus.jsonl", "--with", "text"]) == 0
    rows = [json.loads(line) for line in Path("corpus.jsonl").read_text("utf-8").splitlines()]
    assert sorted(row["url"] for row in rows) == [f"http://a.example/is{at}" for at in range(5)]
    assert all("næturnar bjartar" in row["text"] for row in rows)


WISHES = (
    *("blur filters", '"virtual tables"', "kiln, glaze; raku", "zeppelin OR airship", "kiln -oven"),
    *("title:pottery", "url:(pottery, kiln)", "pages about pottery", "kiln lang:is", "lang:is"),
    *("Töpferei", "Seiten über Öfen", "páginas sobre hornos", "gestion des paquets", "vaso, forno"),
    *("ceramika", "keramiikka", "çömlek", "печь", "страницы о печи", "κεραμική", "خزف", "कुम्हार"),
    *("数据库", "关于数据库的网页", "陶芸", "バーチャルホスト", "가마", "เครื่องปั้นดินเผา"),
)


@pytest.mark.parametrize("pages", [8, 40], ids=["test", "crawl"])
def test_a_wish_that_selects_nothing_says_so(pages: int) -> None:
    """Whatever the form and the language: before 16 pages, and after feedback on many."""
    harbour = [
        Page(
            f"http://harbour.example/{at}",
            title=f"Ships {at}",
            text=f"Ship number {at} waits in the harbour. " + TEXTS["en"] * (at % 3),
        )
        for at in range(pages)
    ]
    for typed in WISHES:
        wish = parse(typed)
        judge, advisor = Relevance(wish), Advisor(wish)
        newest = {}
        for page in harbour:
            newest[page.url] = judge.judge(page)
            advisor.see(page)
        newest |= judge.revise()
        rows = [Verdict(url, "", said.score, said.relevant) for url, said in newest.items()]
        advice = advisor.advice(rows, none_after=5, nearly_all_after=10)
        assert advice.relevant or advice.warning.startswith(f"none of {pages} pages"), typed
        assert not advice.relevant, typed


def test_a_preference_moves_the_cut(tmp_path: Path, capsys: Capture) -> None:
    """`--prefer`, in words and as a number, for a crawl, a target and a test of a topic."""
    weak = Page("http://a.example/", text="kiln " + "ship " * 299)

    def relevant(**given: object) -> bool:
        judge, _ = judge_and_topic(Settings.of(given))
        return judge.judge(weak).relevant

    assert not relevant(topic="kiln")
    assert not relevant(topic="kiln", prefer="balanced")
    assert relevant(topic="kiln", prefer="recall")
    assert relevant(topic="kiln", prefer="2.5")
    assert relevant(want=("query:kiln",), prefer="recall")
    file = tmp_path / "t.topic"
    file.write_text('wish = "kiln"\n[relevant]\nbeta = 2.0\n')
    assert relevant(topic_file=str(file))
    assert not relevant(topic_file=str(file), prefer="precision")
    for given, message in (
        ({"topic": "kiln", "prefer": "speed"}, "precision, balanced, recall, or a number"),
        ({"topic": "kiln", "prefer": "0"}, "a number from 0.1 to 10"),
        ({"want": ("url:kiln",), "prefer": "recall"}, "url:kiln is none; leave it out"),
    ):
        with pytest.raises(InputError, match=message):
            relevant(**given)
    with pytest.raises(InputError, match="--prefer moves the cut of a topic in words"):
        judge_of(["url:kiln"], 2.0)
    (tmp_path / "weak.html").write_text(f"<p>{weak.text}")
    test = ["topic", "test", "kiln", str(tmp_path / "weak.html"), "--json", "--prefer"]
    assert run([*test, "recall"]) == run([*test, "precision"]) == 0
    told = [json.loads(line)["relevant"] for line in capsys.readouterr().out.splitlines()]
    assert told == [1, 0]


def test_a_run_that_goes_on_knows_the_words_of_its_pages(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of the wish, and those like them, are read back from the pages of the run."""
    monkeypatch.chdir(tmp_path)
    names = [f"/{at}" for at in range(30)]
    links = "".join(f'<a href="{name}">{name}</a> ' for name in names)
    pages = {"/": reply(f"<title>Pottery</title><p>A kiln is hot.</p>{links}")}
    pages |= {name: reply("<title>Ships</title><p>They wait in the harbour.</p>") for name in names}
    server = Loopback(site(pages))
    with beside(server.serving):
        at = ("--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0", "--out", "x")
        for most in (2, 24, 24):
            wish = ("--topic", "potery kiln")
            run(["crawl", "http://a.example/", *wish, *at, "--pages", str(most), "--json"])
            advice = json.loads(capsys.readouterr().out)["advice"]
            assert list(advice["known"]) == ["kiln"]
            assert advice["unknown"]["potery"] == ["pottery"]
