"""The language of wishes: each form, what is shown of it, and one line for what is not understood."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.judges.relevance.matching import Matcher, without_particle
from spoor.judges.wish import AllOf, AnyOf, Field, Part, Phrase, Wish, Words, parse

FORMS = {
    "blur filters": "pages about *blur filters*",
    '"virtual table" sqlite': 'pages about *"virtual table"* and *sqlite*',
    "“blur filters”": 'pages about *"blur filters"*',
    "„Töpfe und Öfen“": 'pages about *"Töpfe und Öfen"*',
    "«mines d’or»": 'pages about *"mines d’or"*',
    "「陶芸」": 'pages about *"陶芸"*',
    "'blur filters'": 'pages about *"blur filters"*',
    "potter's wheel": "pages about *potter's wheel*",
    "kiln, glaze": "pages about *kiln* or *glaze*",
    "kiln; glaze\noven": "pages about *kiln* or *glaze* or *oven*",
    "数据库，安装、指南": "pages about *数据库* or *安装* or *指南*",
    "数据库 安装": "pages about *数据库 安装*",
    "1,000 ships": "pages about *1,000 ships*",
    "kiln glaze OR glazing -oven": "pages about *kiln* and (*glaze* or *glazing*), not *oven*",
    "kiln|glaze": "pages about *kiln* or *glaze*",
    "kiln AND glaze NOT oven": "pages about *kiln glaze*, not *oven*",
    "kiln -oven -stove": "pages about *kiln*, not *oven* or *stove*",
    "kiln −oven": "pages about *kiln*, not *oven*",
    "state-of-the-art - kilns": "pages about *state-of-the-art kilns*",
    "C++, std::vector, printf()": "pages about *C++* or *std::vector* or *printf()*",
    "title:kiln": "pages with *kiln* in the title",
    'intitle:"gas kiln" glaze': 'pages about *"gas kiln"* in the title and *glaze*',
    "url:(docs, manual)": "pages with (*docs* or *manual*) in the URL",
    "kiln lang:de": "pages about *kiln*, in German",
    "kiln, oven lang:pt-BR -lang:es": "pages about *kiln* or *oven*, in Portuguese, not in Spanish",
    "lang:Icelandic": "pages in Icelandic",
    "kiln (glaze, glazing) -(oven, stove)": (
        "pages about *kiln* and (*glaze* or *glazing*), not (*oven* or *stove*)"
    ),
    "Pages about blur filters": "pages about *blur filters*",
    "find me all pages about kilns or ovens, but not pizza.": (
        "pages about *kilns* or *ovens*, not *pizza*"
    ),
    "I am looking for blur filters": "pages about *blur filters*",
    "How do I read the arguments of my program?": "pages about *read the arguments of my program*",
    "where can I find kilns or ovens": "pages about *kilns or ovens*",
    "what is salt glaze?": "pages about *salt glaze*",
    "What is the best way to fire clay?": "pages about *fire clay*",
    "Is it possible to fire clay twice?": "pages about *fire clay twice*",
    "Why does a glaze crack?": "pages about *a glaze crack*",
    "can do": "pages about *can do*",
    "Comment cuire de l'argile ?": "pages about *cuire de l'argile*",
    "comment filter": "pages about *comment filter*",
    "¿Cómo cocer el barro?": "pages about *cocer el barro*",
    "Как обжигать глину?": "pages about *обжигать глину*",
    "如何烧制陶器": "pages about *烧制陶器*",
    "陶器を焼く方法は？": "pages about *陶器を焼く*",
    "窯を設定するにはどうすればよいですか？": "pages about *窯を設定*",
    "도자기를 굽는 방법": "pages about *도자기를 굽는*",
    "Wie kann ich Ton brennen?": "pages about *Ton brennen*",
    "¿qué es un horno?": "pages about *un horno*",
    "whatever is fired": "pages about *whatever is fired*",
    "how to": "pages about *how to*",
    "Seiten über Töpfe oder Öfen": "pages about *Töpfe* or *Öfen*",
    "trouve-moi des pages sur les fours sans pizza": "pages about *les fours*, not *pizza*",
    "páginas sobre hornos": "pages about *hornos*",
    "trovami pagine sul vino": "pages about *vino*",
    "páginas sobre fornos ou potes": "pages about *fornos ou potes*",
    "geef me pagina's over ovens": "pages about *ovens*",
    "strony o piecach": "pages about *piecach*",
    "страницы о базах данных": "pages about *базах данных*",
    "关于数据库安装的网页": "pages about *数据库安装*",
    "陶芸についてのページ": "pages about *陶芸*",
    "고양이에 대한 페이지": "pages about *고양이*",
    "pages about pages about kilns": "pages about *pages about kilns*",
    "+pages about kilns -oven": "pages about *pages about kilns*, not *oven*",
    "the find command": "pages about *the find command*",
    "mines d'or or argent": "pages about *mines d'or or argent*",
}


@pytest.mark.parametrize("typed", FORMS)
def test_a_wish_is_shown_in_plain_words(typed: str) -> None:
    wish = parse(typed)
    assert str(wish) == FORMS[typed]
    assert parse(wish.query) == wish
    assert wish.topic.text


BAD = {
    "": "has no word in it",
    "!!": "has no word in it",
    "-oven": "says only what is not wanted",
    "-lang:de": "says only what is not wanted",
    '"kiln': "is not closed",
    '""': "nothing between its quotes",
    "(kiln": "bracket is not closed",
    "kiln ()": "nothing between its brackets",
    "kiln OR": "OR stands between two words",
    "OR kiln": "OR stands between two words",
    "kiln OR -oven": "OR stands between two words",
    "kiln NOT": "a minus stands before a word",
    "kiln (oven -stove)": "outside of brackets",
    "(kiln lang:de)": "outside of brackets",
    "titel:kiln": "did you mean 'title'?",
    "title:": "title: needs a word",
    "title:(url:docs)": "holds another field",
    "lang:": "lang: needs a language",
    "lang:xx": "is no language",
    "lang:germn": "did you mean 'german'?",
    "site:example.org kiln": "give the site as the seed",
    "label:faculty": "a kind of --want",
    "https://example.org/": "give example pages",
    "(" * 30 + "kiln" + ")" * 30: "brackets within brackets",
    "kiln " * 3_000: "write at most 10,000",
}


@pytest.mark.parametrize("typed", BAD)
def test_what_is_not_understood_is_one_line(typed: str) -> None:
    with pytest.raises(InputError) as error:
        parse(typed)
    assert BAD[typed] in str(error.value)
    assert "\n" not in str(error.value)


def test_words_of_a_wish() -> None:
    wish = parse('Kiln (glaze OR "Glaze test") title:pots -oven lang:de')
    assert wish.words == ("kiln", "glaze", "test", "pots")
    assert wish.topic.name == "Kiln glaze Glaze test pots"
    assert parse("kiln, gas oven").topic.keywords == ("kiln", "gas oven")
    corrected = parse('potery, klin -title:"klin"').with_words(
        {"potery": "pottery", "klin": "kiln"}.__getitem__
    )
    assert corrected.query == '(pottery, kiln) -title:"klin"'


word = st.from_regex(r"[a-z陶ß]{1,8}", fullmatch=True)
words = st.lists(word, min_size=1, max_size=3).map(tuple)
leaf = words.map(Words) | words.map(Phrase)
part: st.SearchStrategy[Part] = st.recursive(
    leaf | st.builds(Field, st.sampled_from(["title", "url"]), leaf),
    lambda inner: st.builds(
        lambda kind, parts: kind(tuple(parts)),
        st.sampled_from([AnyOf, AllOf]),
        st.lists(inner, min_size=2, max_size=3),
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(part, st.lists(part, max_size=2), st.sets(st.sampled_from(["de", "is", "ja"]), max_size=2))
@example(Words(("find", "me")), [Words(("oven",))], set())
@example(Words(("pages", "on")), [], {"is"})
def test_its_query_is_the_same_wish(
    wanted: Part, unwanted: list[Part], languages: set[str]
) -> None:
    wish = Wish(wanted, tuple(unwanted), tuple(sorted(languages)))
    once = parse(wish.query)  # in its simplest form: nested alternatives are flat
    assert parse(once.query) == once
    assert set(once.words) == set(wish.words)
    assert once.languages == wish.languages


@given(st.text(max_size=60) | st.text("ab \"'-()|:,“”«»title:lang:deORNOT*+.", max_size=60))
def test_any_text_is_a_wish_or_one_line(text: str) -> None:
    try:
        wish = parse(text)
    except InputError:
        return
    assert str(wish).startswith("pages")
    assert parse(wish.query) == wish


@pytest.mark.parametrize(
    ("typed", "noun"),
    [
        ("인증을", "인증"),
        ("데이터를", "데이터"),
        ("데이터을", "데이터을"),  # no such form: 을 follows a consonant
        ("가상호스트의", "가상호스트"),
        ("서버에서", "서버"),
        ("회의", "회의"),  # one letter would be left
        ("고양이", "고양이"),
        ("CSS를", "CSS"),
        ("관리하기", "관리"),
        ("관리하는", "관리"),
        ("관리하기를", "관리"),
        ("곱하기", "곱하기"),  # one letter would be left
        ("authentication", "authentication"),
    ],
)
def test_a_korean_word_is_looked_for_without_its_particle(typed: str, noun: str) -> None:
    assert without_particle(typed) == noun
    assert [leaf.parts for leaf in Matcher(parse(f"{typed} 설정")).leaves] == [
        leaf.parts for leaf in Matcher(parse(f"{noun} 설정")).leaves
    ]
