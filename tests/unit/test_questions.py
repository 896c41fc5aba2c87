"""Answers to questions: what is looked for, in which language, and how far apart it may stand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.runs.answers import _CLOSE, _stand_close, answers, asked_words


def document(name: str, *texts: str, title: str = "", language: str = "") -> Any:
    """A document whose paragraphs stand under headings of their own, so that each is a passage."""
    blocks, text = list[Any](), ""
    for number, one in enumerate(texts):
        headings = (f"{number}",)
        blocks.append(
            SimpleNamespace(kind="paragraph", text=one, headings=headings, begin=len(text))
        )
        text += one + "\n"
    content = SimpleNamespace(blocks=blocks)
    return SimpleNamespace(url=name, title=title, text=text, content=content, language=language)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("How do I fire a kiln?", ["fire", "kiln"]),
        ("Wie schütze ich ein Verzeichnis?", ["schütze", "verzeichnis"]),
        ("Comment limiter l'accès à un répertoire ?", ["limiter", "accès", "répertoire"]),
        ("如何压缩", ["压缩"]),
        ("応答を圧縮したい", ["応答", "圧縮"]),
        ("茶とは？", ["茶"]),
        ("what page", ["page"]),  # says little, and there is nothing else
    ],
)
def test_what_a_question_is_about(question: str, words: list[str]) -> None:
    assert asked_words(question) == words


def test_a_question_without_a_word_is_refused() -> None:
    with pytest.raises(InputError, match="'of the' has no word to look for"):
        asked_words("of the")


@pytest.mark.parametrize(
    ("language", "question", "right", "wrong"),
    [
        ("de", "Anfrage umleiten", "Umgeleitete Anfragen werden", "Server werden neu gestartet"),
        ("fr", "limiter l'accès", "L'accès se limite ainsi", "La langue se choisit ainsi"),
        ("ja", "ホストを設定するには", "バーチャルホストの設定です", "応答の圧縮です"),
        ("zh-CN", "怎么保护目录", "用密码来保护一个目录", "压缩响应的内容"),
        ("ja", "茶とは何ですか？", "緑茶の話です", "窯の話です"),
        ("ko", "암호를 거는 방법", "디렉토리의 암호는", "서버의 로그는"),
    ],
)
def test_words_are_compared_in_the_language_of_the_documents(
    language: str, question: str, right: str, wrong: str
) -> None:
    both = [
        document("wrong", wrong, language=language),
        document("right", right, language=language),
    ]
    found = answers(question, both)
    assert [one.url for one in found] == ["right"]
    assert found[0].text == right


def test_of_passages_with_all_words_one_that_has_them_together_says_so() -> None:
    apart = f"A kiln {'and other things of clay ' * 30} is fired."
    (one,) = answers("How is a kiln fired?", [document("a", apart)])
    assert (one.lacks, one.is_close) == ((), False)
    (one,) = answers("How is a kiln fired?", [document("a", "So a kiln is fired.")])
    assert (one.lacks, one.is_close) == ((), True)
    (one,) = answers("How is a kiln fired?", [document("a", apart, title="Firing a kiln")])
    assert one.is_close, "its title has them"


@given(st.text("abcd", max_size=30), st.sets(st.sampled_from("abc"), max_size=3))
def test_close_is_a_window_that_holds_all(within: str, wanted: set[str]) -> None:
    size = int(_CLOSE * len(wanted) - 0.5) + 1 if wanted else 0
    windows = [within[at : at + size] for at in range(len(within) + 1)]
    assert _stand_close(wanted, list(within)) == any(wanted <= set(window) for window in windows)
