"""The default judge on small webs whose scores are worked by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.judges.relevance import Relevance
from spoor.judges.relevance.cut import lowered, otsu, parted, unclear
from spoor.judges.relevance.feedback import Among
from spoor.judges.relevance.frequencies import Frequencies
from spoor.judges.relevance.kept_pages import KeptPage
from spoor.judges.relevance.linked import Links
from spoor.judges.relevance.matching import Matcher
from spoor.judges.relevance.reading import Reader
from spoor.judges.relevance.term_matrix import LINKS, PLACES, SHORT_LOGS, matrix, numbered, vector
from spoor.judges.relevance.url_numbers import as_id, number_of_url
from spoor.judges.relevance.url_places import places_of
from spoor.judges.wish import parse
from spoor.types import Anchor, Link, Page

SITE = "http://pots.example/"


def score(judge: Relevance, name: str, title: str = "", text: str = "") -> tuple[float, bool]:
    said = judge.judge(Page(SITE + name, title=title, text=text))
    return said.score, said.relevant


def test_five_pages_at_arrival() -> None:
    """One word, before the first feedback: relevant from evidence 0.3 on, which has score 0.5.

    A word in a title is worth 0.6 · (1 − 0.4^times), one in the text 0.5 · (1 − 2^(−times ·
    (300 / words)^0.75)) where a text counts as 200 words at least; together 1 − (1 − a) · (1 − b). Above the
    cut the score is 0.5 + 0.5 · (evidence − 0.3) / 0.7, below it 0.5 · evidence / 0.3.
    """
    judge = Relevance(parse("kiln"))
    # Title, once: 0.6 · 0.6 = 0.36; 0.5 + 0.5 · 0.06 / 0.7 = 0.543.
    assert score(judge, "a", title="The kiln") == (0.54, True)
    # Another form of the word has its stem, and counts as the word.
    assert score(judge, "b", title="Kilns") == (0.54, True)
    # Text, once in 4 words: 0.5 · (1 − 2^(−1.355)) = 0.3046; 0.5 + 0.5 · 0.0046 / 0.7 = 0.503.
    assert score(judge, "c", text="The kiln is hot.") == (0.5, True)
    # Text, once in 300 words: 0.5 · (1 − 2^(−1)) = 0.25; 0.5 · 0.25 / 0.3 = 0.417.
    assert score(judge, "c300", text="kiln " + "ship " * 299) == (0.42, False)
    # Text, once in 1,000 words: 0.5 · (1 − 2^(−0.405)) = 0.1225; 0.5 · 0.1225 / 0.3 = 0.204.
    assert score(judge, "d", text="kiln " + "ship " * 999) == (0.2, False)
    # Both: 1 − 0.64 · 0.6954 = 0.5549; 0.5 + 0.5 · 0.2549 / 0.7 = 0.682.
    assert score(judge, "e", title="The kiln", text="The kiln is hot.") == (0.68, True)
    assert score(judge, "f", title="The harbour") == (0.0, False)


def test_a_rare_word_of_two_weighs_more() -> None:
    """Of all words the value is (Σ share · √evidence)²; the share of a word goes by
    ln((pages + 10) / (pages with it + 1)) + 0.1."""
    judge = Relevance(parse("kiln glaze"))
    # kiln: ln(11/2) + 0.1 = 1.805, glaze: ln(11/1) + 0.1 = 2.498; share of kiln 0.4195.
    # (0.4195 · √0.36)² = 0.0633; 0.5 · 0.0633 / 0.3 = 0.106.
    assert score(judge, "a", title="The kiln") == (0.11, False)
    # Now of 2 pages kiln is on 1, glaze on 1: shares are equal: (0.5 · 0.6)² = 0.09; 0.15.
    assert score(judge, "b", title="The glaze") == (0.15, False)
    # Both in the title, not side by side in a text: 0.36, as one word.
    assert score(judge, "c", title="Kiln and glaze") == (0.54, True)


def test_function_words_between_commas_are_no_topics() -> None:
    """`authentication, and, access` is any of two words: a page with "and" has none of them."""
    judge = Relevance(parse("authentication, and, access"))
    assert score(judge, "a", title="Ships and harbours", text="And the sea.") == (0.0, False)
    assert score(judge, "b", title="Access") == (0.54, True)  # 0.36, as one word
    # Where there is nothing else, they are what is asked for.
    assert score(Relevance(parse("and, the")), "a", title="And") == (0.54, True)


def test_a_page_of_menus_must_say_more_at_first() -> None:
    """Before the first feedback a page that links to three pages needs 0.55, not 0.3: the word in
    its title, 0.36, is not enough (0.5 · 0.36 / 0.55 = 0.327), in title and text, 0.5549, it is:
    0.5 + 0.5 · 0.0049 / 0.45 = 0.505."""
    menu = tuple(Link(SITE + name, Anchor(text=name)) for name in ("one", "two", "three"))
    for links, text, expected in (
        (menu[:2], "", (0.54, True)),
        (menu, "", (0.33, False)),
        (menu, "The kiln is hot.", (0.51, True)),
    ):
        page = Page(SITE, title="The kiln", text=text, links=links)
        said = Relevance(parse("kiln")).judge(page)
        assert (said.score, said.relevant) == expected


def test_a_word_found_everywhere_is_no_alternative_of_its_own() -> None:
    """Of `system, kiln` one is on 29 of 30 pages: ln(40/30) + 0.1 = 0.388, of the 0.7 that an
    alternative needs to be enough by itself. The other one, on one page, has 0.1 + ln(40/2). From
    16 pages on a page has √(mean of the squares) of both: one alone is worth 1/√2 of that."""
    judge = Relevance(parse("system, kiln"))
    for number in range(29):
        judge.judge(Page(f"{SITE}{number}", title=f"System {number}", text="ship sea boat"))
    judge.judge(Page(SITE + "rare", title="The kiln", text="ship sea boat"))
    common, rare = judge._pages[SITE + "3"], judge._pages[SITE + "rare"]
    system = common.evidence[0, 0] * (math.log(40 / 30) + 0.1) / 0.7
    assert judge._said.wanted([common])[0] == pytest.approx(system / math.sqrt(2))
    assert judge._said.wanted([rare])[0] == pytest.approx(0.36 / math.sqrt(2))


def test_three_of_many_alternatives_are_as_good_as_all() -> None:
    """Titles with 0, 1, 3 and 4 of four alternatives, each worth 0.36, from 16 pages on: √(mean of
    the squares of the best three). Before, the best alone."""
    judge = Relevance(parse("kiln, glaze, raku, bisque"))
    titles = ("Ships", "A kiln", "Kiln, glaze and raku", "Kiln, glaze, raku and bisque")
    for at, title in enumerate(titles):
        judge.judge(Page(f"{SITE}{at}", title=title))
    pages = [*judge._pages.values()]
    assert judge._said.wanted(pages)[:2] == pytest.approx([0.0, 0.36])
    for number in range(30):
        judge.judge(Page(f"{SITE}sea{number}", title="Harbour", text="ship sea boat"))
    values = [0.0, 0.36 / math.sqrt(3), 0.36, 0.36]
    assert judge._said.wanted(pages) == pytest.approx(values)


@pytest.mark.parametrize(
    ("typed", "written", "likeness"),
    [
        ("scrpiting", "scripts", 0.7),  # exchanged, and another ending
        ("fremdwhärungen", "fremdwährung", 0.7),
        ("fremdwärungen", "fremdwährung", 0.7),  # left out
        ("fremdwähhrung", "fremdwährungen", 0.7),  # twice
        ("scripting", "scripted", 1.0),  # its stem
        ("scripts", "scribble", 0.0),
        ("rechnungen", "rechnend", 0.0),
    ],
)
def test_a_slip_in_another_form_of_the_word(typed: str, written: str, likeness: float) -> None:
    found = Matcher(parse(typed)).fits(written, "english")
    assert [fit[2] for fit in found] == [likeness] * (likeness > 0)


@pytest.mark.parametrize(
    ("typed", "parts"),
    [
        ("Firefox OSs", ["firefox", "os"]),
        ("PDF's", ["pdf"]),
        ('"free PDFs"', ["free", "pdf"]),
        ("OSS bus", ["oss", "bus"]),
        ("Paris", ["paris"]),
    ],
)
def test_the_plural_of_an_abbreviation_is_the_abbreviation(typed: str, parts: list[str]) -> None:
    assert Matcher(parse(typed)).parts == parts


@pytest.mark.parametrize(
    ("typed", "title", "exact"),
    [
        ("데이터베이스", "데이터 베이스를 설치", True),
        ("데이터베이스", "데이터베이스에서", True),
        ("데비안설치", "데비안을 설치하려면", True),
        ("데비안설치", "데비안, 그리고 설치", False),
        ("データベース", "データ・ベース入門", True),
        ("网络应用", "网络的应用", True),
        ("网络应用", "应用于网络", False),
    ],
)
def test_a_space_or_a_particle_within_a_compound(typed: str, title: str, exact: bool) -> None:
    judge = Relevance(parse(typed))
    judge.judge(Page(SITE, title=title))
    found = float(judge._pages[SITE].evidence[0, 0])
    assert found == pytest.approx(0.36 * exact)


def test_what_a_page_is_filed_under_counts_as_a_heading_does() -> None:
    """0.45 (1 − 0.4) for one tag; beside a title 1 − (1 − 0.27) (1 − 0.36)."""
    judge = Relevance(parse("kiln"))
    for name, title, expected in (("a", "Ship", 0.27), ("b", "Kiln", 0.5328)):
        judge.judge(Page(SITE + name, title=title, keywords=("Clay", "Kiln")))
        assert float(judge._pages[SITE + name].evidence[0, 0]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("wish", "keyword", "filed"),
    [
        ("philosophers", "Philosopher", True),
        ("philosophers", "Greek philosophers", False),
        ("US presidents", "Presidents of the US", True),
        ("US presidents", "USA Presidents", False),
        ("kings and queens", "Kings", False),
        ("kiln, glaze", "Glaze", True),
        ("kiln -oven", "Kiln", True),
        ("kiln -oven", "Oven", False),
        ("数据库", "数据库", True),
        ("数据库", "数据库安装", False),
        ("title:kiln", "Kiln", False),
    ],
)
def test_what_a_site_files_under_just_that_is_relevant(
    wish: str, keyword: str, filed: bool
) -> None:
    judge, page = Relevance(parse(wish)), Page(SITE, title="x", text="y z", keywords=(keyword,))
    assert judge.judge(page).relevant == filed
    again = Relevance(parse(wish))
    again.load(judge.save())
    assert again._pages[SITE].is_filed == filed


def test_of_a_document_in_parts_the_first_one_is_filed() -> None:
    judge = Relevance(parse("kiln"))
    first = Page(f"{SITE}tea/", title="x", text="y", keywords=("Kiln",))
    to_first = Link(first.url, Anchor("1"))
    further = Page(f"{SITE}tea/2/", title="x", text="z", keywords=("Kiln",), links=(to_first,))
    assert [judge.judge(page).relevant for page in (first, further)] == [True, False]


def test_words_that_are_all_wanted_stand_together_in_a_title() -> None:
    """Title and heading with one word each: ((√0.36 + s √0.27) / (1 + s))², where s is how much
    less the second tells: (0.27 + 5 · 0.3) / (0.36 + 5 · 0.3) = 0.9516, so 0.3145. Once a title, a
    URL or an anchor has both, of 16 pages or more, that page counts 1.1 times and this one half."""

    def value(more: float) -> float:
        tells = (0.27 + more + 1.5) / (0.36 + more + 1.5)
        return ((math.sqrt(0.36) + tells * math.sqrt(0.27)) / (1.0 + tells)) ** 2

    assert value(0.0) == pytest.approx(0.3145, abs=1e-4)
    apart = Page(SITE + "apart", title="A kiln", headings=("A glaze",))
    others = [Page(f"{SITE}sea{at}", title="Harbour", text="ship sea boat") for at in range(20)]
    anchor = Link(SITE + "led", anchor=Anchor("A kiln with glaze"))
    for page, exact in (
        (Page(SITE + "both", title="Glaze in a kiln"), 0.36),
        (Page(SITE + "glaze-kiln"), 0.4 * 0.6),
        (Page(SITE + "led", text="ship"), 0.45 * 0.6),
    ):
        judge = Relevance(parse("kiln glaze"))
        judge.judge(Page(SITE, links=(anchor,)))
        for one in (apart, *others):
            judge.judge(one)
        assert judge._said.wanted([judge._pages[apart.url]])[0] == pytest.approx(value(0.0))
        judge.judge(page)
        found = judge._said.wanted([judge._pages[one.url] for one in (apart, page)])
        assert found == pytest.approx([0.5 * value(exact), 1.1 * exact])
        # Saved and loaded, it says the same.
        again = Relevance(parse("kiln glaze"))
        again.load(judge.save())
        assert again._said.wanted([again._pages[page.url]])[0] == pytest.approx(1.1 * exact)


def test_words_that_stand_together_nowhere_tell_by_themselves() -> None:
    """Of "kiln glaze" a title with one has (share · √0.36)² up to 79 pages and, if no title, URL or
    anchor has both, (share · 0.36^1.5)^(2/3) from 80 on; a phrase goes on to want both."""
    one, other = Page(SITE + "one", title="A kiln"), Page(SITE + "other", title="A glaze")
    judges = [Relevance(parse(typed)) for typed in ("kiln glaze", '"kiln glaze"')]
    harbours = [Page(f"{SITE}sea{at}", title="Harbour", text="ship sea boat") for at in range(78)]

    def values() -> list[float]:
        return [float(judge._said.wanted([judge._pages[one.url]])[0]) for judge in judges]

    for judge in judges:
        for page in (one, other, *harbours[:77]):
            judge.judge(page)
    assert values() == pytest.approx([0.25 * 0.36] * 2)
    for judge in judges:
        judge.judge(harbours[77])
    assert values() == pytest.approx([0.5 ** (2 / 3) * 0.36, 0.25 * 0.36])
    both = Page(SITE + "both", title="Glaze in a kiln")
    judges[0].judge(both)
    assert values()[0] < 0.25 * 0.36


def test_a_word_that_pages_are_about_weighs_more_than_one_that_they_mention() -> None:
    """Of 20 pages one has *midi* in its title (0.36), another *playing* in its text, once in few
    words: 0.5 · (1 − 0.5^(300/200)^0.75) = 0.3046. Both are as rare. Before 16 pages a title with
    *midi* has (½ · √0.36)² = 0.09; from then on its share is 1 / (1 + s) with
    s = (0.3046 + 1.5) / (0.36 + 1.5) = 0.9702."""
    judge = Relevance(parse("playing midi"))
    midi, playing = Page(SITE + "m", title="MIDI"), Page(SITE + "p", text="playing")
    for page in (midi, playing):
        judge.judge(page)
    assert judge._said.wanted([judge._pages[midi.url]]) == pytest.approx(0.09)
    for at in range(20):
        judge.judge(Page(f"{SITE}sea{at}", title="Harbour", text="ship sea boat"))
    said = 0.5 * (1.0 - 0.5 ** (1.5**0.75))
    assert said == pytest.approx(0.3046, abs=1e-4)
    tells = (said + 1.5) / (0.36 + 1.5)
    of_title, of_text = judge._said.wanted([judge._pages[one.url] for one in (midi, playing)])
    assert of_title == pytest.approx(0.36 / (1.0 + tells) ** 2)
    assert of_text == pytest.approx(said * (tells / (1.0 + tells)) ** 2)


def test_the_words_of_a_sentence_tell_by_themselves_from_the_first_feedback_on() -> None:
    """Of four words or more a title with one has (share · 0.36^1.5)^(2/3) from 16 pages on, if no
    title has them all; a name of three words waits for 80 pages."""
    for typed, power in (("raku kiln bisque glaze", 1.5), ("kiln bisque glaze", 0.5)):
        judge = Relevance(parse(typed))
        pages = [Page(f"{SITE}{at}", title=one) for at, one in enumerate(typed.split())]
        harbours = [Page(f"{SITE}sea{at}", title="Harbour", text="ship") for at in range(12)]
        for page in (*pages, *harbours):
            judge.judge(page)
        share = 1 / len(pages)
        expected = (share * 0.36**power) ** (1 / power)
        if len(pages) == 3:  # 15 pages so far
            judge.judge(Page(SITE + "quay", title="Quay"))
        assert judge._said.wanted([judge._pages[pages[0].url]]) == pytest.approx(expected)


def test_commas_between_the_words_of_a_name() -> None:
    """Of "kiln, glaze" a title with one counts 0.36 / √2, and half of that once a title has both;
    of two words each and of one excluded word nothing is joined that the wish does not join."""
    judge = Relevance(parse("kiln, glaze"))
    one = Page(SITE + "one", title="A kiln")
    for page in (one, *(Page(f"{SITE}{at}", title="Harbour", text="ship") for at in range(20))):
        judge.judge(page)
    assert judge._said.wanted([judge._pages[one.url]]) == pytest.approx(0.36 / math.sqrt(2))
    both = Page(SITE + "both", title="Glaze in a kiln")
    judge.judge(both)
    found = judge._said.wanted([judge._pages[page.url] for page in (one, both)])
    assert found == pytest.approx([0.5 * 0.36 / math.sqrt(2), 1.1 * 0.36])
    tree = Matcher(parse("kiln glaze, raku -bisque"))
    assert tree.conjunctions == (("all", 0, 1), ("any", ("all", 0, 1), ("all", 2)))
    assert tree.stand_together([1, 1, 2, 0]) == [True, False]
    assert tree.stand_together([3, 1, 1, 0]) == [True, True]


def test_a_larger_chapter_that_shares_a_word_does_not_take_the_wish() -> None:
    """Of "data management", where a chapter of ten pages is called so and one of thirty "package
    management": what is learned from the surest pages are the words of the smaller one."""

    def chapter(name: str, title: str, words: str, size: int, both: str) -> list[Page]:
        pages = [f"{SITE}{name}{at}.html" for at in range(size)]
        links = tuple(Link(url, anchor=Anchor(f"{name} {at}")) for at, url in enumerate(pages))
        sections = [
            Page(
                url,
                title=f"{words.split()[at % 4]} {both}",
                text=f"{words} section {at} {both}",
                links=(Link(f"{SITE}{name}.html", anchor=Anchor("Up")),),
            )
            for at, url in enumerate(pages)
        ]
        return [Page(f"{SITE}{name}.html", title=title, text=words, links=links), *sections]

    wanted = chapter("ch10", "Data management", "archive tape backup copy", 9, "")
    other = chapter("ch02", "Package management", "install depend upgrade remove", 29, "management")
    other = [*other[:20], *(replace(page, text=f"{page.text} data") for page in other[20:])]
    rest = chapter("ch05", "Network", "address route cable router", 40, "")
    judge = Relevance(parse("data management"))
    for page in (*wanted[:1], *other, *rest, *wanted[1:]):
        judge.judge(page)
    judge.revise()
    told = {page.url for page in judge._pages.values() if page.told[1]}
    assert told == {page.url for page in wanted}


def test_words_stand_for_a_phrase_that_no_page_has() -> None:
    """Of `"kiln glaze"`, which two pages have, pages with both words have what `kiln glaze` gives
    them; a third page with the phrase makes the words alone worthless."""
    judges = [Relevance(parse(typed)) for typed in ('"kiln glaze"', "kiln glaze")]
    about = [Page(f"{SITE}{at}", title="Kiln glaze") for at in range(3)]
    apart = Page(SITE + "apart", title="Glaze in a kiln")
    others = [Page(f"{SITE}sea{at}", title="Harbour", text="ship sea boat") for at in range(20)]
    for judge in judges:
        for page in (*about[:2], apart, *others):
            judge.judge(page)
    phrase = judges[0]
    assert phrase._said.wanted([phrase._pages[apart.url]])[0] == pytest.approx(1.1 * 0.36)
    for url in (about[0].url, apart.url, others[0].url):
        its = [judge._said.wanted([judge._pages[url]])[0] for judge in judges]
        assert its[0] == pytest.approx(its[1])
    phrase.judge(about[2])
    found = phrase._said.wanted([phrase._pages[page.url] for page in (about[0], apart)])
    assert found == pytest.approx([0.36, 0.0])


def count_page(frequencies: Frequencies, ids: Sequence[int]) -> None:
    frequencies.add(np.array([*map(frequencies.slots.__getitem__, ids)], np.int64))


def kept(name: str, *links: str) -> KeptPage:
    numbers = np.array([number_of_url(SITE + link) for link in links], np.uint64)
    ids = numbers.astype(np.uint32)
    often, nothing = np.ones(len(ids), np.uint8), np.zeros((1, 2))
    return KeptPage(SITE + name, ids, often, 0, nothing, links=numbers)


def test_what_linked_pages_say() -> None:
    """A chapter links to two sections, the first of which links back; another page stands alone.

    Every link stands on one page, so all have one weight. The chapter's words say 0.36, those of
    the others nothing."""
    pages = [kept("chapter", "one", "two", "away"), kept("one", "chapter"), kept("two")]
    pages.append(kept("alone"))
    frequencies = Frequencies()
    for page in pages:
        count_page(frequencies, page.ids.tolist())
    links = Links(pages, frequencies)
    words = np.array([0.36, 0.0, 0.0, 0.0])
    assert links.outward(words) == pytest.approx([0.0, 0.36, 0.0, 0.0])
    assert links.inward(words) == pytest.approx([0.0, 0.36, 0.36, 0.0])
    # Of pages that come later: one that the chapter links to, and one that links to both sections
    # and to the chapter (all links as rare as one another: a mean of 0, 0 and 0.36).
    linked = links.tables(words, 2.0 * words)
    assert linked.of(kept("away"), frequencies, np.zeros(0)) == pytest.approx((0.0, 0.36, 0.72))
    new = kept("new", "one", "two", "chapter")
    assert linked.of(new, frequencies, np.ones(3))[0] == pytest.approx(0.12)


def test_the_cut_between_numbers() -> None:
    """Of 0, 0.1, 0.1 and 1: parted after the first, 1 · 3 · (0.4 − 0)² = 0.48; before the last,
    3 · 1 · (1 − 0.0667)² = 2.61, the most. The cut is in the middle of 0.1 and 1."""
    assert otsu(np.array([0.1, 1.0, 0.0, 0.1]), np.ones(4)) == pytest.approx(0.55)
    # With 1 standing for no less than 20 pages, and 0 for 20, the cut is the same gap.
    assert otsu(np.array([0.0, 0.2, 1.0]), np.array([20.0, 1.0, 20.0])) == pytest.approx(0.6)


def test_the_cut_is_lower_where_many_are_wanted() -> None:
    """38 pages at 0, one at 0.5, one at 1. Between the values the cut is 0.25 (38 · 2 · 0.75² =
    42.75; after 0.5: 39 · 1 · 0.987² = 38.0), above which 1 page of 20 is: few. On the 1.5th powers
    0, 0.354, 1 it is after the second (39 · 1 · 0.991² = 38.3; 38 · 2 · 0.677² = 34.8)."""
    few = np.array([0.0] * 38 + [0.5, 1.0])
    high = ((0.5**1.5 + 1) / 2) ** (1 / 1.5)
    assert parted(few, np.ones(40), [0.0, 0.5]) == pytest.approx([high, high])
    # 34, 3 and 3: 6 of 40 are above 0.25, in the middle of 0.1 and 0.2. Of the 1.5th powers the cut
    # is after the second (37 · 3 · (1 − 0.0287)² = 104.7; 34 · 6 · 0.6768² = 93.4).
    # Without doubt half of the way from the one to the other, with a doubt of 0.5 a quarter.
    low = 0.25
    some = np.array([0.0] * 34 + [0.5] * 3 + [1.0] * 3)
    half, quarter = high**0.5 * low**0.5, high**0.75 * low**0.25
    assert parted(some, np.ones(40), [0.0, 0.5]) == pytest.approx([half, quarter])


def test_how_little_values_fall_apart() -> None:
    """Of 20 pages at 0 and 8 at 0.7 none lies near the cut, the middle of 0.7. Where one of the 8
    is at 0.5, the cut between the 1.5th powers (0, 0.354, 0.586) is after the first (20 · 8 ·
    0.557² = 49.6; 21 · 7 · 0.569² = 47.6): at (0.354 / 2)^(2/3) = 0.315, less than 0.2 away. One
    page is half of a quarter of 8; where it stands for two, they are 2 of a quarter of 9."""
    assert unclear(np.array([0.0] * 20 + [0.7] * 8), np.ones(28)) == 0.0
    near, often = np.array([0.0] * 20 + [0.5] + [0.7] * 7), np.ones(28)
    assert unclear(near, often) == pytest.approx(0.5)
    often[20] = 2.0
    assert unclear(near, often) == pytest.approx(8 / 9)
    assert unclear(np.zeros(4), np.ones(4)) == 1.0


def test_what_wanted_pages_have_in_common_is_no_commonplace() -> None:
    """Of 7 pages, 5 surely wanted: a term on 4, 3 of them wanted, has ln(8 / 5) for a page that
    comes, and among the rest ln(3 / 2); so it weighs 0.405 / 0.470 times as much. One on 4 wanted
    pages has ln(3 / 1) there: 2.34 times as much, of which 2 count."""
    terms = [[1, 2], [1, 2], [1, 2], [2], [], [1], []]
    wanted = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    frequencies, pages = Frequencies(), []
    for number, its in enumerate(terms):
        ids = np.array(its, np.uint32)
        page = KeptPage(f"{SITE}{number}", ids, np.ones(len(ids), np.uint8), len(ids), np.zeros(1))
        count_page(frequencies, its)
        pages.append(page)
    stretch = matrix(pages, frequencies, wanted).stretch
    assert stretch == pytest.approx([math.log(3 / 2) / math.log(8 / 5), 2.0])
    assert matrix(pages, frequencies, np.zeros(7)).stretch == pytest.approx([1.0, 1.0])


def test_verdicts_stand_where_most_pages_are_wanted() -> None:
    """A chapter of 40 sections, which do not name it, after 15 other pages: when all are read, what
    the sections have in common is on most pages of the crawl, and still is what is wanted."""
    judge = Relevance(parse("kiln"))

    def page(name: str, title: str, text: str, *links: str) -> None:
        to = tuple(Link(SITE + link, Anchor(text="")) for link in links)
        judge.judge(Page(SITE + name, title=title, text=text, links=to))

    sections = [f"kilns/{number}" for number in range(40)]
    page("", "Manual", "chapters", "kilns/", "ships/")
    page("kilns/", "Kilns", "The kiln is hot.", *sections)
    for at in range(15):
        page(f"ships/{at}", f"Ship {at}", f"sea boat sail harbour{at % 3} rope{at % 5}", "ships/")
    for at, section in enumerate(sections):
        page(section, f"Firing {at}", f"clay heat brick chimney{at % 3} wood{at % 5}", "kilns/")
    judge.revise()
    told = {url for url, page in judge._pages.items() if page.told[1]}
    assert told == {SITE + name for name in ("kilns/", *sections)}


def test_pages_here_and_there_that_speak_of_it_are_told() -> None:
    """Six pages of one folder are named after the topic; two pages in each of seven other folders
    speak of it as often, and are like the others beside them. Likeness alone puts these between
    the six and the rest, where it parts nothing; so their words count again."""
    judge = Relevance(parse("kiln"))
    speak = set()
    for at, folder in enumerate(
        ("clay", "glaze", "trade", "law", "tools", "health", "wood", "roads")
    ):
        for number in range(8):
            speaks = number in (3, 6) if at else number < 6
            page = Page(
                f"{SITE}{folder}/{number}",
                title=f"The kiln {number}" if speaks and not at else f"{folder} {number}",
                text=f"{folder} craft " * 20
                + f"own{at}{number} other{at % 3} " * 5
                + "kiln " * 6 * speaks,
                links=(Link(f"{SITE}{folder}/", Anchor(text="")),),
            )
            judge.judge(page)
            if speaks:
                speak.add(page.url)
    judge.revise()
    assert {url for url, page in judge._pages.items() if page.told[1]} == speak


def test_parts_of_a_run_are_no_word_of_it() -> None:
    """Half of the pairs of letters of 関数定義 (定義 of three) says a fifth of what it says where
    the crawl does not know the word; where three pages have the word, it is known for good."""
    judge = Relevance(parse("関数定義"))
    for number in range(3):
        judge.judge(Page(f"{SITE}{number}", title="関数定義"))
    for number in range(60):
        judge.judge(Page(f"{SITE}like{number}", title="数定義"))
    one = judge._pages[SITE + "like7"]
    assert judge._reader.known.tolist() == [[3, 63]]
    assert one.evidence[0, 0] == 0.0
    assert judge._said.wanted([one])[0] == pytest.approx(0.2 * one.evidence[0, 1])
    strange = Relevance(parse("関数定義"))
    for number in range(20):
        strange.judge(Page(f"{SITE}like{number}", title="数定義"))
    one = strange._pages[SITE + "like7"]
    assert strange._said.wanted([one])[0] == pytest.approx(one.evidence[0, 1])


def test_half_of_the_pages_that_say_it_keep_their_verdict() -> None:
    """Feedback may lead away from pages that say the words themselves: the cut is at most the
    median of their values, and three quarters of itself at least."""
    assert lowered(1.0, np.array([0.2, 0.9, 0.8])) == 0.8
    assert lowered(1.0, np.array([0.2, 0.3, 0.9])) == 0.75
    assert lowered(1.0, np.array([1.2, 1.3, 0.1])) == 1.0
    assert lowered(1.0, np.array([1.2, 0.8, 0.2, 0.9])) == pytest.approx(0.85)
    assert lowered(1.0, np.array([0.1, 0.1])) == 1.0  # two say nothing


def test_where_a_page_stands() -> None:
    """Its host, its folders but numbers and letters, the words of its name but numbers, and how the
    name begins."""
    parts = ["pots.example/", "pots.example/kilns/", "pots.example/kilns/k/7/gas/"]
    parts += ["name kiln", "name fire", "begins kiln02"]
    expected = [as_id(number_of_url(part)) for part in parts]
    assert places_of("http://pots.example/kilns/k/7/gas/kiln02fire.html?page=3") == expected
    assert places_of("http://pots.example/") == expected[:1]
    assert len(places_of("http://a/")) == 1
    deep = "http://pots.example/" + "xx/" * 5_000 + "y-" * 5_000
    assert len(places_of(deep)) == 1 + 8 + 1 + 1


def test_the_place_of_a_page_counts() -> None:
    """Two pages of one folder have their place in common: of tf-idf vectors with one term, one link
    and one folder, each of length 1 before its weight, they have what the folder gives. Of a page
    that comes as one of 8, it has 8 / 68 of its weight."""
    frequencies, pages = Frequencies(), []
    for number, folder in enumerate((7, 7, 8, 8)):
        ids = np.array([100 + number, 200 + number, folder], np.uint32)
        for _ in range(2):  # what one page has alone counts for nothing
            count_page(frequencies, ids.tolist())
        ones = np.ones(3, np.uint8)
        pages.append(KeptPage(f"/{number}", ids, ones, 1, np.zeros((0, 2)), places=1))
    rows = matrix(pages, frequencies, np.zeros(len(pages)))
    counts = frequencies.of(pages[0].ids)
    mine, place = vector(pages[0], frequencies, counts), PLACES * 8 / 68
    assert mine == pytest.approx([1.0, LINKS, place], abs=2e-3)
    weights = np.zeros(len(rows.ids))
    weights[np.searchsorted(rows.ids, pages[0].ids)] = mine
    other = rows.times(weights).tolist()
    assert other == pytest.approx(
        [1.0 + LINKS**2 + PLACES * place, PLACES * place, 0.0, 0.0], abs=2e-3
    )


def test_precision_and_recall_move_the_cut() -> None:
    """The cut is divided by the root of beta: 0.3 becomes 0.212 for 2, and 0.424 for 0.5."""
    # Once in 300 words: 0.5 · (1 − 2^(−1)) = 0.25.
    page = Page(SITE, text="kiln " + "ship " * 299)
    verdicts = [Relevance(parse("kiln"), beta=beta).judge(page) for beta in (0.5, 1.0, 2.0)]
    assert [said.relevant for said in verdicts] == [False, False, True]
    title = Page(SITE, title="The kiln")
    verdicts = [Relevance(parse("kiln"), beta=beta).judge(title) for beta in (0.5, 1.0, 2.0)]
    assert [said.relevant for said in verdicts] == [True, True, True]  # plain evidence: 0.36 ≥ 0.35


@pytest.mark.parametrize("size", [0, 1, 5000])
def test_numbers_are_those_of_unique(size: int) -> None:
    ids = np.random.default_rng(1).integers(0, 2**32, size, dtype=np.uint32)
    ids[::3] %= 97
    different, place = np.unique(ids, return_inverse=True)
    got = numbered(ids)
    assert np.array_equal(got[0], different)
    assert np.array_equal(got[1], place)


def test_a_matrix_of_many_rows_is_that_of_its_vectors() -> None:
    rng, frequencies, pages = np.random.default_rng(2), Frequencies(), []
    for number in range(600):  # several blocks of rows
        ids = rng.choice(400, 9, replace=False).astype(np.uint32)
        often = rng.integers(1, 256, 9).astype(np.uint8)
        count_page(frequencies, ids.tolist())
        pages.append(KeptPage(f"/{number}", ids, often, int(rng.integers(0, 10)), np.zeros((0, 2))))
    rows = matrix(pages, frequencies, np.zeros(len(pages)))
    dense = np.zeros((600, len(rows.ids)))
    for page, row in zip(pages, dense, strict=True):
        counts = frequencies.of(page.ids)
        row[np.searchsorted(rows.ids, page.ids)] = vector(page, frequencies, counts)
    columns, chosen = rng.random(len(rows.ids)), rng.random(600) < 0.1
    some = columns < 0.5
    # A vector alone has logarithms of 16 bits.
    assert rows.times(columns) == pytest.approx(dense @ columns, abs=2e-3)
    assert rows.squares(some) == pytest.approx((dense**2) @ some, abs=2e-3)
    assert rows.sum_of_rows(np.ones(600)) == pytest.approx(dense.sum(axis=0), rel=2e-3)
    assert (
        rows.those(np.flatnonzero(chosen).tolist()).often().tolist()
        == (dense[chosen] > 0).sum(axis=0).tolist()
    )


def test_a_feedback_is_not_made_again_of_the_same_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sixteenth page brings the first feedback; who asks then whether pages are judged anew
    gets the same as from a feedback that is made once more, until a label or a page comes."""
    judge, again = Relevance(parse("kiln")), Relevance(parse("kiln"))
    for number in range(16):
        score(judge, str(number), title="The kiln" * (number % 3 == 0), text=f"fire {number % 5}")
    again.load(judge.save())
    made: list[Relevance] = []
    learn = Relevance._learn

    def noted(judge: Relevance) -> None:
        made.append(judge)
        learn(judge)

    monkeypatch.setattr(Relevance, "_learn", noted)
    expected = again.revise()
    assert judge.revise() == expected
    assert len(expected) > 1
    assert made == [again]
    for name, state in judge.save()["pages"].items():
        assert np.array_equal(state, again.save()["pages"][name]), name
    judge.label(SITE + "1", True)
    judge.revise()
    score(judge, "new", title="The kiln")
    judge.revise()
    assert made == [again, judge, judge]


def test_the_best_pages_among_one_another() -> None:
    """0.99 + 0.01 · (value / best value + words / best words) / 2."""
    among = Among([1.5, 1.2, 0.2], [0.1, 0.8, 0.3])
    assert among.score(1.5, 0.2) == pytest.approx(0.99 + 0.01 * (1 + 0.25) / 2, abs=6e-5)
    assert among.score(1.2, 0.8) == pytest.approx(0.99 + 0.01 * (0.8 + 1) / 2, abs=6e-5)
    assert Among([], []).score(0.0, 0.0) == 0.99
    assert Among([1.5], [0.0]).score(1.5, 0.0) == 0.995


def test_the_best_pages_of_a_crawl_are_told_apart() -> None:
    """Ten or more had 1 before, and the one that was fetched first led."""
    judge = Relevance(parse("kiln glaze"))
    for at in range(40):
        wanted = at < 30 and at % 2
        text = "kiln, glaze and clay. " * (1 + at % 7) if wanted else "ship and harbour "
        title = f"Kiln {at}" if wanted else f"Ship {at}"
        judge.judge(Page(f"{SITE}{at}", title=title, text=text + f"word{at} " * (60 - at)))
    said = dict(judge.revise())
    best = {url: one.score for url, one in said.items() if one.score > 0.99}
    assert len(best) > 4
    assert len({*best.values()}) > 1


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), max_size=40), st.integers(1, 45))
def test_the_rarest_terms_are_those_of_a_sort_by_weight_and_number(
    terms: list[tuple[int, int]], most: int
) -> None:
    """Many weigh the same: of these the lowest numbers stay, and all in their order."""
    reader = Reader(parse("kiln"), Matcher(parse("kiln")))
    reader.frequencies.pages = 4
    often = np.array([times for times, _ in terms], np.uint8)
    known = np.array([pages for _, pages in terms], float)
    ids = np.random.default_rng(len(terms)).permutation(len(terms)).astype(np.uint32)
    weights = SHORT_LOGS[often] * np.log((20.0 + 4) / known)
    kept = sorted(np.lexsort((ids, -weights))[:most].tolist())
    found = reader._rarest(ids, often, known, most)
    assert found.tolist() == kept
