"""Topics from examples, by meaning, by BM25, by patterns, and judges that ask."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from spoor import distribution
from spoor.errors import InputError, PausedError, PluginError
from spoor.judges.classifier import Classifier, TextModel, fit, strongest_words
from spoor.judges.combined import AllOf, AnyOf
from spoor.judges.facts import Label, TextPattern
from spoor.judges.keywords import Keywords
from spoor.judges.llm import Answer, Llm
from spoor.judges.named import for_topics, named
from spoor.judges.semantic import PASSAGE, PASSAGES, Semantic, encoder_of, passages
from spoor.judges.similarity import Bm25, TfIdf, page_stems
from spoor.judges.spec import judge_of
from spoor.judges.topic import judge_of_topic, read_topic, topic_of
from spoor.learn.state import pack, unpack
from spoor.protocols import KeepsAnswers
from spoor.types import Judgement, Page
from spoor.web.text import Vectors
from spoor.worlds.generated import GeneratedSettings, GeneratedWorld

WORLD = GeneratedWorld(GeneratedSettings(pages=300, hosts=4, seed=3, target_share=0.25))


def page(text: str = "", *, title: str = "", url: str = "http://h/") -> Page:
    return Page(url, title=title, text=text)


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


# ---------------------------------------------------------------- the classifier


@pytest.fixture(scope="module")
def sides() -> tuple[list[Page], list[Page]]:
    pages = [(WORLD.label_of(number), found) for number, found in enumerate(WORLD.pages())]
    return (
        [found for label, found in pages if label == "pottery"],
        [found for label, found in pages if label != "pottery"],
    )


def test_a_score_is_the_probability_that_scikit_learn_gives(
    sides: tuple[list[Page], list[Page]], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Any] = []
    plain = import_module

    def watched(name: str) -> Any:
        module = plain(name)
        if name != "sklearn.calibration":
            return module

        class Calibrated(module.CalibratedClassifierCV):  # type: ignore[name-defined,misc]  # untyped
            def fit(self, *arguments: Any) -> Any:
                kept.append(super().fit(*arguments))
                return kept[-1]

        standing = ModuleType(name)
        standing.CalibratedClassifierCV = Calibrated  # type: ignore[attr-defined]  # a stand-in
        return standing

    monkeypatch.setattr(distribution, "import_module", watched)
    wanted, others = sides
    model, quality = fit(wanted[:30], others[:60])
    judge = Classifier(model)
    assert len(wanted) > 45
    unseen = [*wanted[30:45], *others[60:90], page(), page("zyzzyva")]
    said = [judge.judge(one) for one in unseen]
    expected = kept[0].predict_proba([page_stems(one) for one in unseen])[:, 1]
    assert [one.score for one in said] == pytest.approx(expected.tolist(), abs=1e-9)
    # It does what it is for, on pages that it has not seen.
    assert sum(one.relevant for one in said[:15]) >= 13
    assert sum(one.relevant for one in said[15:]) <= 3
    assert quality.auc > 0.9
    assert (quality.positives, quality.negatives, quality.folds) == (30, 60, 5)


def test_the_reasons_add_up_to_the_log_odds(sides: tuple[list[Page], list[Page]]) -> None:
    model = TextModel(
        ("clay", "kiln", "ledger"),
        np.array([1.0, 2.0, 1.5]),
        np.array([1.0, 2.0, -3.0]),
        -0.5,
        2.0,
        0.25,
    )
    said = Classifier(model).judge(page("Kilns, and a ledger. Nothing else is known."))
    # tf-idf of 1 each: idf 2 and 1.5, length 2.5.
    base, kiln, ledger = 0.25 - 1.0, 2 * 2 * 2 / 2.5, -3 * 1.5 * 2 / 2.5
    assert [reason for reason, _ in said.why] == [
        "'kilns' speaks for it",
        "'ledger' speaks against it",
        "where every page begins",
    ]
    assert [share for _, share in said.why] == pytest.approx([kiln, ledger, base])
    assert said.score == pytest.approx(1 / (1 + math.exp(-(base + kiln + ledger))))
    assert said.relevant is (said.score >= 0.5)
    nothing = Classifier(model).judge(page("unheard of"))
    assert nothing.why == (("where every page begins", base),)


def test_held_out_figures_do_not_praise_what_cannot_be_learned() -> None:
    rng = np.random.default_rng(3)
    vocabulary = [f"word{at}" for at in range(400)]
    pages = [page(" ".join(rng.choice(vocabulary, 40))) for _ in range(80)]
    # A model that saw its own test pages would tell these apart perfectly.
    _, quality = fit(pages[:40], pages[40:])
    assert 0.4 < quality.auc < 0.6
    assert quality.brier > 0.24


def on(site: str, *pages: Page) -> list[Page]:
    return [replace(one, url=f"http://www.{site}.example/{at}") for at, one in enumerate(pages)]


@pytest.mark.long
def test_examples_are_held_out_by_site_where_there_are_three() -> None:
    """Each site has a word of its own for what is wanted: seen by page it tells all, by site none."""
    rng = np.random.default_rng(4)
    vocabulary = [f"word{at}" for at in range(300)]

    def pages(*words: str) -> list[Page]:
        return [page(" ".join([*rng.choice(vocabulary, 30), *words])) for _ in range(12)]

    names = ("alder", "birch", "cedar", "dogwood")
    wanted = [one for name in names for one in on(name, *pages(*[f"only{name}"] * 4, "kiln"))]
    others = [one for name in names for one in on(name, *pages())]
    _, by_site = fit(wanted, others)
    assert (by_site.by, by_site.sites, by_site.folds) == ("site", 4, 4)
    nowhere = [replace(one, url="http://file.invalid/") for one in [*wanted, *others]]
    _, by_page = fit(nowhere[:48], nowhere[48:])
    assert (by_page.by, by_page.sites, by_page.folds) == ("page", 0, 5)
    assert by_page.auc > by_site.auc, "a site that was seen flatters"
    assert by_page.brier < by_site.brier
    # One site of wanted pages, or two sites in all: nothing to learn from with one left out.
    one_sided = on("alder", *wanted[:12])
    assert fit(one_sided, others[12:])[1].by == "page"
    assert fit(wanted[:24], others[:24])[1].by == "page"


def test_a_model_is_read_as_it_was_written(
    tmp_path: Path, sides: tuple[list[Page], list[Page]]
) -> None:
    wanted, others = sides
    model, _ = fit(wanted[:12], others[:20])
    model.write(tmp_path / "m.npz")
    again = TextModel.read(tmp_path / "m.npz")
    for one in (*wanted[12:20], *others[20:30]):
        assert Classifier(again).judge(one) == Classifier(model).judge(one)
    model.write(tmp_path / "n.npz")
    assert (tmp_path / "n.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()
    assert {"pottery", "kiln", "glaze"} & set(strongest_words(model, wanted))


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", b"no npz", "pickle"], ids=["empty", "cut", "other", "pickle"]
)
def test_what_is_no_model_is_refused(data: bytes | str, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    if data == "pickle":
        np.savez(path, words=np.array([object()], dtype=object))
    else:
        assert isinstance(data, bytes)
        path.write_bytes(data)
    with pytest.raises(InputError, match="is no classifier of") as raised:
        TextModel.read(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(InputError, match="cannot read the classifier"):
        TextModel.read(tmp_path / "none.npz")


def test_too_few_or_contradictory_examples_are_refused() -> None:
    some = [page(f"kiln number {at} word{at}") for at in range(6)]
    other = [page(f"ledger number {at} item{at}") for at in range(6)]
    with pytest.raises(InputError, match="at least 5 positive pages with different texts, not 4"):
        fit([*some[:4], some[0]], other)
    with pytest.raises(InputError, match="at least 5 negative pages"):
        fit(some, other[:2])
    with pytest.raises(InputError, match="among the positive and the negative ones: 'kiln number"):
        fit(some, [*other, some[3]])
    with pytest.raises(InputError, match="at least 5 positive"):
        fit([page("x")] * 6, [page("y")] * 6)


def test_learning_without_scikit_learn_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, sides: tuple[list[Page], list[Page]]
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.calibration", None)
    with pytest.raises(InputError, match=r"pip install 'spoor-crawler\[classifier\]'"):
        fit(*sides)


# ---------------------------------------------------------------- BM25 and patterns


def test_bm25_by_hand() -> None:
    judge = Bm25("rice wheat")
    said = judge.judge(page("rice rice maize"))
    # One page so far: idf(rice) = ln(1 + 0.5/1.5), idf(wheat) = ln(1 + 1.5/0.5); average length.
    rice, wheat = math.log(1 + 0.5 / 1.5), math.log(1 + 1.5 / 0.5)
    assert said.score == pytest.approx(rice * 2 * 2.2 / (2 + 1.2) / (2.2 * (rice + wheat)))
    assert [reason for reason, _ in said.why] == ["holds 'rice' 2 times"]
    assert judge.judge(page("")).score == 0.0
    once = Bm25("rice wheat").judge(page("rice wheat"))
    assert once.score == pytest.approx(1 / 2.2)
    assert once.relevant
    with pytest.raises(InputError, match="no word that tells topics apart"):
        Bm25("of the")


def test_bm25_prefers_short_pages_and_rare_words() -> None:
    judge = Bm25("rice wheat")
    for at in range(20):
        judge.judge(page(f"wheat field {at}"))
    long = judge.judge(page("rice " + "filler " * 50)).score
    short = judge.judge(page("rice field")).score
    assert short > long
    assert judge.judge(page("rice field")).score > judge.judge(page("wheat field")).score
    other = Bm25("rice wheat")
    other.load(judge.save())
    assert other.judge(page("rice maize")) == judge.judge(page("rice maize"))


@pytest.mark.parametrize(
    "judge",
    [Keywords(["設定"]), Bm25("ホストの設定"), TfIdf(["ホストの設定"])],
    ids=lambda one: type(one).__name__,
)
def test_words_of_a_script_without_spaces_are_found_within_its_runs(judge: Any) -> None:
    other = judge.judge(Page("", text="応答の圧縮です。クラスタのホスです"))
    right = judge.judge(Page("", text="バーチャルホストの設定です"))
    assert right.score > other.score
    assert not Keywords(["定設"]).judge(Page("", text="バーチャルホストの設定です")).score


def test_patterns_of_text() -> None:
    judge = TextPattern(r"(?:iso|en)[ -]?\d{4,5}")
    assert judge.judge(page(title="ISO 28500")).why == (("its title has 'ISO 28500'", 1.0),)
    assert judge.judge(page("as\nsaid in EN\n13485")).relevant is False
    assert judge.judge(page("said in EN 13485")).relevant
    with pytest.raises(InputError, match="bad regular expression"):
        TextPattern("(")


def test_a_pattern_that_backtracks_for_ever_finds_nothing() -> None:
    """A pattern with more ways to match than there is time for, on the page that shows it."""
    judge = TextPattern("(a+)+$")
    assert judge.judge(page(text="a" * 40)).relevant
    began = time.process_time()
    assert not judge.judge(page(text="a" * 40 + "!")).relevant
    assert time.process_time() - began < 10


def test_specifications_of_queries_and_patterns() -> None:
    assert judge_of(["query:kiln glaze"]).judge(page("kiln and glaze")).relevant
    assert judge_of([r"match:ISO \d+"]).judge(page("iso 9001")).relevant


# ---------------------------------------------------------------- meaning


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model2vec encoder of a few words whose vectors are known."""
    tokenizers = pytest.importorskip("tokenizers")
    model2vec = pytest.importorskip("model2vec")
    words = {"[UNK]": 0, "kiln": 1, "oven": 2, "glaze": 3, "ledger": 4, "account": 5}
    rows = np.array([[0, 0, 0], [1, 0, 0], [0.8, 0.6, 0], [0.9, 0, 0.1], [0, 0, 1], [0, 0.1, 0.9]])
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    path = tmp_path_factory.mktemp("encoder")
    model2vec.StaticModel(rows.astype(np.float32), tokenizer).save_pretrained(path)
    return path


def test_meaning_by_an_encoder_in_a_folder(folder: Path) -> None:
    judge = Semantic(["kiln"], encoder_of(str(folder)), threshold=0.7)
    oven = judge.judge(page("Oven"))
    assert oven.score == pytest.approx(0.8, abs=1e-6)
    assert oven.relevant
    assert oven.why == (("likeness of meaning, most of all in 'Oven …'", oven.score),)
    assert judge.judge(page("ledger")).score == 0.0
    assert judge.judge(page("unheard of words")) == Judgement(0.0, False, 0.0)
    # The nearest of several texts counts.
    both = Semantic(["kiln", "ledger"], encoder_of(str(folder)))
    assert both.judge(page("account")).score == pytest.approx(0.9 / math.hypot(0.1, 0.9), abs=1e-6)
    with pytest.raises(InputError, match="makes nothing of the topic's words"):
        Semantic(["zyzzyva"], encoder_of(str(folder)))


def test_a_name_that_is_no_folder_is_never_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = pytest.importorskip("huggingface_hub")

    def refuse(*arguments: Any, **settings: Any) -> Any:
        raise AssertionError("asked the hub")

    monkeypatch.setattr(hub, "snapshot_download", refuse)
    for name in ("minishlab/potion-base-8M", "potion", "../none", "a:b/c"):
        with pytest.raises(InputError, match="is no folder on this machine"):
            encoder_of(name)
    with pytest.raises(InputError, match=r"no model2vec encoder: it has no config\.json"):
        encoder_of(str(tmp_path))
    for file in ("config.json", "model.safetensors", "tokenizer.json"):
        (tmp_path / file).write_text("{}")
    with pytest.raises(InputError, match="cannot be read as a model2vec encoder") as raised:
        encoder_of(str(tmp_path))
    assert "\n" not in str(raised.value)


def test_an_encoder_without_its_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(InputError, match=r"pip install 'spoor-crawler\[encoder\]'"):
        encoder_of(str(folder))


def test_long_pages_are_read_in_passages() -> None:
    assert passages("") == []
    cut = passages("word " * (PASSAGE + 1))
    assert [len(one.split()) for one in cut] == [PASSAGE, 1]
    assert len(passages("word " * 100_000)) == PASSAGES
    seen: list[int] = []

    def ones(texts: Sequence[str]) -> NDArray[np.float64]:
        seen.append(len(texts))
        return np.ones((len(texts), 2))

    assert Semantic(["x"], ones).judge(page("word " * 100_000)).score == pytest.approx(1.0)
    assert seen == [1, PASSAGES]


@pytest.mark.parametrize(
    "rows", [np.ones(3), np.ones((2, 3)), np.full((1, 3), np.nan)], ids=["flat", "more", "nan"]
)
def test_an_encoder_that_breaks_its_word_is_named(rows: NDArray[np.float64]) -> None:
    def broken(texts: Sequence[str]) -> NDArray[np.float64]:
        return rows

    with pytest.raises(PluginError, match=r"broken\.encode returned shape"):
        Semantic(["kiln"], broken)


# ---------------------------------------------------------------- judges that ask


class Asked:
    """A model that costs 2 a question and hears voices after the fifth."""

    def __init__(self) -> None:
        self.questions: list[tuple[str, str]] = []

    def __call__(self, text: str, prompt: str) -> Answer:
        self.questions.append((text, prompt))
        if "sphinx" in text:
            raise TimeoutError("no answer")
        # Never the same twice, as language models are.
        return Answer(("kiln" in text) * 0.6 + len(self.questions) / 100, 2.0, "because")


def texts(*said: str) -> list[Page]:
    return [page(text, url=f"http://h/{at}") for at, text in enumerate(said)]


def test_what_is_asked_is_asked_once_and_counted() -> None:
    asked = Asked()
    judge = Llm(asked, Keywords(["glaze"]), prompt="Pots?", name="m:ask", characters=20)
    first, again = (
        judge.judge(page("a kiln", title="Kiln")),
        judge.judge(page("a kiln", title="Kiln")),
    )
    assert first == again
    assert first == Judgement(0.61, True, 1.0, (("m:ask says: because", 0.61),))
    assert asked.questions == [("Kiln\n\na kiln", "Pots?")]
    judge.judge(page("x" * 100))
    assert asked.questions[-1] == ("x" * 20, "Pots?")
    assert judge.judge(page(" \n!")).why == ()
    assert judge.costs() == {"asked": 2, "cost": 4.0, "fell_back": 0}


def test_from_the_budget_on_another_judge_goes_on_and_says_so_once(tmp_path: Path) -> None:
    asked, told = Asked(), list[str]()
    judge = Llm(asked, Keywords(["glaze"]), name="ask", instead="keywords", budget=3.0)
    judge.keep_answers(tmp_path / "answers.jsonl", told.append)
    pages = texts("kiln one", "kiln two", "kiln three", "kiln one", "glaze")
    said = [judge.judge(one) for one in pages]
    # Two answers cost 4: the second was asked for when only 2 were spent.
    assert [one.relevant for one in said] == [True, True, False, True, False]
    assert len(asked.questions) == 2
    assert told == ["ask: its budget of 3 is spent; keywords judges in its place"]
    assert said[2].why == (("judged by keywords, since of ask its budget of 3 is spent", 0.0),)
    assert said[4].why[0][0] == "'glaze' in its text"
    assert judge.costs() == {"asked": 2, "cost": 4.0, "fell_back": 2}


def test_an_answer_that_does_not_come_is_remembered_too(tmp_path: Path) -> None:
    asked, told = Asked(), list[str]()
    judge = Llm(asked, Keywords(["sphinx"], threshold=0.1), instead="keywords")
    judge.keep_answers(tmp_path / "answers.jsonl", told.append)
    pages = texts("sphinx", "sphinx", "kiln sphinx")
    assert [judge.judge(one).relevant for one in pages] == [True, True, True]
    assert len(asked.questions) == 2
    assert len(told) == 1
    assert "no answer came (TimeoutError: no answer)" in told[0]
    # The same run, gone through again: nothing is asked, the same is said.
    other = Llm(Asked(), Keywords(["sphinx"], threshold=0.1), instead="keywords")
    other.keep_answers(tmp_path / "answers.jsonl", told.append)
    pages_again = [other.judge(one) for one in pages]
    assert pages_again[0].why == judge.judge(pages[0]).why


@pytest.mark.parametrize("said", [1.5, float("nan"), -0.1, "yes", None, Answer(0.5, float("inf"))])
def test_what_is_no_score_is_no_answer(said: Any) -> None:
    judge = Llm(lambda text, prompt: said, Label("x"), name="ask")
    seen = judge.judge(page("kiln"))
    assert "no answer came" in seen.why[-1][0]
    assert not seen.relevant


@settings(max_examples=25)
@given(
    said=st.lists(
        st.sampled_from(["kiln", "kiln a", "ledger", "sphinx", "", "!", "glaze b"]), max_size=12
    ),
    budget=st.sampled_from([0.0, 1.0, 4.0, 9.0, math.inf]),
    cut=st.integers(0, 12),
)
def test_a_run_gone_through_again_hears_the_same(said: list[str], budget: float, cut: int) -> None:
    pages = texts(*said)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "answers.jsonl"

        def made() -> tuple[Asked, Llm, list[str]]:
            asked, told = Asked(), list[str]()
            judge = Llm(asked, TfIdf(["kiln"]), name="ask", budget=budget)
            judge.keep_answers(file, told.append)
            return asked, judge, told

        first, judge, lines = made()
        before = [judge.judge(one) for one in pages[:cut]]
        state = unpack(pack(judge.save()))
        after = [judge.judge(one) for one in pages[cut:]]
        # Nothing was asked for once the answers used had cost the budget.
        assert (
            2.0 * (len(first.questions) - said.count("sphinx")) < budget + 2.0
            or not first.questions
        )
        # From the checkpoint, and from the beginning, with a process of its own each time.
        asked, again, _ = made()
        again.load(state)
        assert [again.judge(one) for one in pages[cut:]] == after
        assert again.costs() == judge.costs()
        assert not asked.questions
        asked, anew, repeated = made()
        assert [anew.judge(one) for one in pages] == [*before, *after]
        assert not asked.questions
        assert repeated == lines


def test_half_a_line_is_cut_off_and_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    judge = Llm(Asked(), Label("x"))
    judge.keep_answers(file, lambda line: None)
    judge.judge(page("kiln"))
    whole = file.read_bytes()
    assert json.loads(whole)["score"] == pytest.approx(0.61)
    file.write_bytes(whole + b'{"digest": "ab')
    other = Llm(Asked(), Label("x"))
    other.keep_answers(file, lambda line: None)
    assert file.read_bytes() == whole
    file.write_bytes(b'{"digest": "ab", "nonsense": 1}\n' + whole)
    with pytest.raises(InputError, match=r"answers\.jsonl line 1 is no answer of a judge"):
        Llm(Asked(), Label("x")).keep_answers(file, lambda line: None)


def test_a_full_disk_pauses(tmp_path: Path) -> None:
    judge = Llm(Asked(), Label("x"))
    file = tmp_path / "answers.jsonl"
    judge.keep_answers(file, lambda line: None)
    file.mkdir()
    with pytest.raises(PausedError, match="paused: cannot write"):
        judge.judge(page("kiln"))


def test_combined_judges_hand_on_what_is_kept(tmp_path: Path) -> None:
    judge = AllOf(
        [Label("x"), AnyOf([Llm(Asked(), Label("x")), Llm(Asked(), Label("y"), prompt="p")])]
    )
    assert isinstance(judge, KeepsAnswers)
    judge.keep_answers(tmp_path / "a.jsonl", lambda line: None)
    judge.judge(page("kiln"))
    assert judge.costs() == {"asked": 2, "cost": 4.0, "fell_back": 0}
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 2
    assert not isinstance(AnyOf([Label("x")]), KeepsAnswers)


@pytest.mark.parametrize("settings", [{"budget": -1.0}, {"budget": math.nan}, {"characters": 0}])
def test_bad_budgets(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Llm(Asked(), Label("x"), **settings)


# ---------------------------------------------------------------- functions that files name


@for_topics
def verdict(text: str, prompt: str) -> bool:
    return "kiln" in text


def unmarked(text: str, prompt: str) -> bool:
    return True


def test_only_marked_functions_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPOOR_FUNCTIONS", "no_such_module:named")
    assert named(f"{__name__}:verdict") is verdict
    for name, message in {
        f"{__name__}:unmarked": "is not marked for topic files",
        "os:system": "is not marked for topic files",
        f"{__name__}:WORLD": "is no function",
        f"{__name__}:none": "cannot be imported: AttributeError",
        "no_such_module_here:x": "SPOOR_FUNCTIONS=no_such_module_here:x",
        "no_such_module:named": "set PYTHONPATH to its folder",
        "os": "is not of the form module:function",
        "../x:y": "is not of the form module:function",
    }.items():
        with pytest.raises(InputError, match=message) as raised:
            named(name)
        assert "\n" not in str(raised.value)


# ---------------------------------------------------------------- topic files


def test_topic_files_name_their_method(tmp_path: Path, folder: Path) -> None:
    vectors = Vectors(["kiln", "oven"], np.array([[1.0, 0.0], [0.8, 0.6]]))
    np.savez(tmp_path / "v.npz", words=np.array(vectors.words()), vectors=vectors.matrix)
    asked = f"{__name__}:verdict"
    for text, kind, wanted in (
        ('name = "kiln"\n[relevant]\nmethod = "bm25"', "bm25", "kilns"),
        ('patterns = ["kiln \\\\d"]', "patterns", "Kiln 7"),
        ('url_patterns = ["/k/$"]\npatterns = ["kiln"]', "patterns", "kiln"),
        ('name = "kiln"\n[relevant]\nvectors = "v.npz"', "vectors", "oven"),
        (f'name = "kiln"\n[relevant]\nencoder = "{folder}"', "encoder", "oven"),
        (f'name = "pots"\n[relevant]\nask = "{asked}"', "llm", "a kiln"),
    ):
        found = read_topic(written(tmp_path / "t.topic", text))
        assert found.method == kind
        judge = judge_of_topic(found)
        assert judge.judge(page(wanted)).relevant, text
        assert not judge.judge(page("a ledger")).relevant, text


def test_a_topic_names_all_its_files(tmp_path: Path, folder: Path) -> None:
    text = f'name = "kiln"\n[relevant]\nencoder = "{folder}"'
    found = read_topic(written(tmp_path / "t.topic", text))
    assert {path.name for path in found.files} == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    assert read_topic(written(tmp_path / "t.topic", 'name = "kiln"')).files == []


def test_a_topic_is_a_file_where_its_name_ends_as_one(tmp_path: Path) -> None:
    path = written(tmp_path / "t.topic", 'name = "kiln"')
    assert topic_of(str(path)).topic.name == "kiln"
    assert topic_of("kiln.topic of the day").topic.name == "kiln.topic of the day"
    with pytest.raises(InputError, match=r"cannot read topic file none\.topic"):
        topic_of("none.topic")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"\n[relevant]\nmethod = "classifier"', "'classifier' needs 'model'"),
        ('name = "x"\n[relevant]\nmethod = "llm"', "'llm' needs 'ask'"),
        ('name = "x"\n[relevant]\nmodel = "x.npz"', "cannot read the classifier .*x.npz"),
        (
            'name = "x"\n[relevant]\nmethod = "bm25"\nmodel = "y"',
            "'model' goes with .* 'classifier'",
        ),
        ('name = "x"\n[relevant]\nstemmed = false\nmethod = "bm25"', "'stemmed' goes with"),
        ('name = "x"\n[relevant]\nencoder = "some/name"', "never downloaded"),
        ('name = "x"\n[relevant]\nask = "os:system"', "is not marked"),
        ('name = "x"\n[relevant]\nask = "a:b"\nfallback = "llm"', "'fallback' is one of"),
        ('name = "x"\n[relevant]\nask = "a:b"\nbudget = "all"', "'budget' must be a number"),
        ('patterns = ["("]', "bad regular expression"),
        ('patterns = "x"', "'patterns' must be a list of strings"),
        ('name = "x"\n[relevant]\nmethod = "patterns"', "needs 'patterns' or 'url_patterns'"),
    ],
)
def test_bad_topic_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        judge_of_topic(read_topic(written(tmp_path / "t.topic", text)))
    assert "\n" not in str(raised.value)
