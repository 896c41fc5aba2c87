"""English words that Korean has borrowed are told by their sound, on pages in Latin letters alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.judges.relevance import Relevance
from spoor.judges.relevance.loan_words import first_letters, sound_of_hangul, sounds_of_latin
from spoor.judges.relevance.matching import Matcher
from spoor.judges.wish import parse
from spoor.types import Page

BORROWED = [
    ("네트워크", "network"),
    ("블루투스", "bluetooth"),
    ("키보드", "keyboard"),
    ("프로그램", "program"),
    ("브라우저", "browser"),
    ("디스플레이", "display"),
    ("애플리케이션", "application"),
    ("배터리", "battery"),
    ("인터넷", "internet"),
    ("디렉터리", "directory"),
    ("카메라", "camera"),
    ("드라이버", "driver"),
    ("클릭", "click"),
    ("프록시", "proxy"),
]


@pytest.mark.parametrize(("korean", "english"), BORROWED)
def test_a_borrowed_word_sounds_like_the_english_one(korean: str, english: str) -> None:
    sound = sound_of_hangul(korean)
    assert sound in sounds_of_latin(english)
    assert english[0] in first_letters(sound)


@pytest.mark.parametrize(
    "korean", ["설정", "관리", "인쇄", "사용자", "표준", "마우스", "SSL", "가a나", ""]
)
def test_other_words_have_no_sound(korean: str) -> None:
    assert sound_of_hangul(korean) == ""


def test_sounds_that_differ() -> None:
    """Each of some words sounds like no other of them."""
    sounds = [sounds_of_latin(english) for _, english in BORROWED]
    for at, one in enumerate(sounds):
        assert not any(one & other for other in sounds[at + 1 :])


@given(st.text(max_size=80))
def test_any_text_has_sounds_or_none(word: str) -> None:
    assert len(sounds_of_latin(word.lower())) <= 2
    assert len(sound_of_hangul(word)) <= 3 * 32


def test_a_page_in_latin_letters_speaks_of_a_borrowed_word() -> None:
    judge = Relevance(parse("네트워크"))
    english = Page("http://pots.example/a", title="Network", text="How the network is set up. " * 9)
    other = Page("http://pots.example/b", title="Keyboard", text="How keys are set up. " * 9)
    korean = Page("http://pots.example/c", title="키보드", text="network 자판을 설정합니다. " * 9)
    assert judge.judge(english).relevant
    assert judge.judge(other).score == judge.judge(korean).score == 0.0


@given(
    st.sampled_from(["network", "networks", "keyboard", "net"]), st.sampled_from(["", "x", "12"])
)
def test_what_sounds_alike_may_fit(word: str, more: str) -> None:
    matcher = Matcher(parse("네트워크 키보드"))
    if matcher.fits(word + more, "english"):
        assert matcher.may_fit([word + more])(word + more)
