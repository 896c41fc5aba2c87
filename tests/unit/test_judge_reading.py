"""What the judge of words counts on a page, by quick ways, is what its terms say one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spoor.judges.relevance import Relevance, link_numbers
from spoor.judges.relevance.feedback import Topic
from spoor.judges.relevance.frequencies import Frequencies, Slots
from spoor.judges.relevance.link_numbers import LinkNumbers
from spoor.judges.relevance.matching import Matcher, Tree
from spoor.judges.relevance.nearness import nearness
from spoor.judges.relevance.reading import Reader
from spoor.judges.relevance.surest_pages import SEEDS, Likeness, written_alike
from spoor.judges.relevance.url_numbers import as_id, number_of_url, site_of
from spoor.judges.relevance.wish_evidence import value_of, value_on_page
from spoor.judges.relevance.word_counts import (
    WordNumbers,
    _numbers_of,
    most_of,
    number_of,
    parted,
    scripts_of,
)
from spoor.judges.wish import parse
from spoor.types import Anchor, Link, Page
from spoor.web.text import UNSPACED, terms, tokens, words_of

LETTERS = "데이터 확장のーデタ数窯이를 kiln's 12٣၁"


@given(st.text(LETTERS, max_size=40), st.text(LETTERS, max_size=40))
def test_terms_are_counted_as_one_by_one(title: str, text: str) -> None:
    wish = parse("데이터 확장, ーー, データ, kiln, 窯, 이")
    matcher = Matcher(wish)
    reader = Reader(wish, matcher)
    kept, *_ = reader.read(Page("http://pots.example/", title=title, text=text))
    words = words_of(text).first(1_000)
    each = [*terms(title), *(term for word in words for term in terms(word))]
    expected = Counter(number_of(term) for term in each if not term.isdigit())
    found = kept.ids[: kept.terms].tolist()
    assert dict(zip(found, kept.often.tolist(), strict=False)) == expected
    fits = Counter(fit for word in words for term in terms(word) for fit in matcher.fits(term, ""))
    exact, like = reader._memo("").count(words)
    assert exact == {part: n for (part, same, _), n in fits.items() if same}
    assert set(like) == {part for part, same, _ in fits if not same}


ANY_SCRIPT = st.text(st.characters(exclude_categories=()) | st.sampled_from(LETTERS), max_size=40)


@given(ANY_SCRIPT, st.integers(0, 9))
@example("ssl을 인증 𠀀𠀁 ｱｲ 〆切 ไทย don't \ud800가", 9)
@example("10 ฿ a kiln", 9)
@example("a long text, whose end is not read 水", 3)
def test_runs_and_other_words_are_parted_as_one_by_one(text: str, first: int) -> None:
    """Also where of the letters of such a script none stands in a word that is read."""
    words = tokens(text)[:first]
    runs = [word for word in words if UNSPACED.fullmatch(word)]
    others = [word for word in words if not UNSPACED.fullmatch(word)]
    assert parted(words, scripts_of(text)) == (runs, others)


@pytest.mark.parametrize(
    ("wish", "text", "is_named"),
    [
        ("茶", "緑茶の話", True),
        ("茶", "茶叶和茶道", True),
        ("茶", "窯の話", False),
        ("차", "차를 마시다", True),
        ("차", "그는 차에 탔다", True),
        ("차", "자동차와 기차표", False),
    ],
)
def test_a_word_of_one_character_stands_within_others_where_it_is_an_ideograph(
    wish: str, text: str, is_named: bool
) -> None:
    """A crawl for *tea* found nothing in Chinese or Japanese, and a watch told nothing."""
    for page in (Page("http://a/", text=text), Page("http://a/", title=text)):
        assert bool(Relevance(parse(wish)).judge(page).score) == is_named


@given(st.lists(st.text("데이를窯ー", min_size=1, max_size=6)))
def test_what_stands_in_runs_is_counted_as_in_each(runs: list[str]) -> None:
    matcher = Matcher(parse("데이터 ーー 이 窯"))
    each = Counter(part for run in runs for part, _, _ in matcher.fits_of_run(run))
    assert dict(matcher.fits_of_runs(runs)) == each
    assert matcher.runs_that_fit(runs) == {
        run: fits for run in runs if (fits := matcher.fits_of_run(run))
    }


@given(st.text(LETTERS, max_size=60))
def test_words_stand_as_near_as_a_memo_of_all_words_says(text: str) -> None:
    """Of runs, too, which no memo holds."""
    matcher = Matcher(parse("데이 터장 kiln"))
    reader = Reader(parse("데이 터장 kiln"), matcher)
    words = tokens(text)
    runs, others = parted(words, scripts_of(text))
    of_all, of_others = (WordNumbers(matcher, "", reader.frequencies.slots) for _ in range(2))
    of_all.of(words)
    of_others.of(others)
    evidence = np.ones((len(matcher.leaves), 2))
    near = nearness(words, runs, of_others, reader._matcher, evidence)
    assert near == nearness(words, [], of_all, reader._matcher, evidence)


@given(st.lists(st.text(st.characters(min_codepoint=0xE00, max_codepoint=0xD7FF), min_size=2)))
def test_pairs_of_letters_have_the_numbers_of_their_words(pairs: list[str]) -> None:
    first, second = (np.array([ord(pair[at]) for pair in pairs], np.uint32) for at in (0, 1))
    assert _numbers_of(first, second).tolist() == [number_of(pair[:2]) for pair in pairs]


@given(st.lists(st.sets(st.integers(0, 40)), max_size=9), st.sampled_from([5, 1_000]))
def test_numbers_in_order_have_the_counts_of_their_slots(
    pages: list[set[int]], vocabulary: int
) -> None:
    frequencies, asked = Frequencies(), np.arange(45, dtype=np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spoor.judges.relevance.frequencies.VOCABULARY", vocabulary)
        for numbers in pages:
            known = len(frequencies.slots)
            slots = frequencies.slots.of([*numbers, *numbers])
            assert slots == [frequencies.slots[number] for number in numbers] * 2
            assert sorted({*slots} - {*range(known)}) == [*range(known, len(frequencies.slots))]
            frequencies.add(np.array(slots[: len(numbers)], np.int64))
            state = frequencies.save()
            counts = dict(zip(state["ids"].tolist(), state["counts"].tolist(), strict=True))
            assert frequencies.of(asked).tolist() == [counts.get(n, 1) for n in range(45)]


@given(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=9), max_size=6))
def test_links_are_numbered_as_one_by_one(pages: list[list[str]]) -> None:
    """Whatever was forgotten between two pages."""
    slots = Slots()
    known = LinkNumbers(slots)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_numbers, "MOST", 4)
        for page in pages:
            urls = [f"http://pots.example/{name}" for name in page]
            known.trim()
            assert len(known) <= 4
            numbers, its_slots, once = known.of(urls)
            expected = [number_of_url(url) for url in urls]
            assert numbers.tolist() == expected
            assert its_slots.tolist() == [slots[as_id(number)] for number in expected]
            assert [urls[at] for at in once.tolist()] == [*dict.fromkeys(urls)]


HOSTS = ("pots.example", "kilns.example")


@given(
    st.lists(
        st.tuples(
            st.sampled_from(HOSTS),
            st.lists(
                st.tuples(
                    st.sampled_from(HOSTS), st.integers(0, 6), st.sampled_from(["kiln", "pot", ""])
                ),
                max_size=8,
            ),
        ),
        max_size=5,
    )
)
def test_anchors_of_new_links_are_read_as_one_by_one(
    pages: list[tuple[str, list[tuple[str, int, str]]]],
) -> None:
    """Also where two links of a page have one place among those that were seen."""
    wish = parse("kiln")
    matcher = Matcher(wish)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spoor.judges.relevance.anchors.SLOTS", 3)
        reader = Reader(wish, matcher)
        seen, said = [0] * 3, dict[int, float]()
        for at, (host, links) in enumerate(pages):
            page = Page(
                f"http://{host}/page/{at}",
                links=tuple(Link(f"http://{to}/{name}", Anchor(text)) for to, name, text in links),
            )
            for link in page.links:
                number = number_of_url(link.url)
                if seen[number % 3] == number:
                    continue
                own = site_of(link.url) == site_of(page.url)
                seen[number % 3] = number if own else -number
                if own and link.anchor.text == "kiln":
                    said[number] = said.get(number, 0.0) + 1.0
            reader.read(page)
            assert reader.save()["seen"].tolist() == seen
            assert {
                number: counts[0][0] for number, counts in reader._anchors._said.items()
            } == said


@given(st.text("abrewit", max_size=9))
def test_what_fits_may_fit(word: str) -> None:
    matcher = Matcher(parse("rewrite, tab, ab, writer, bear"))
    if matcher.fits(word, "english"):
        assert matcher.may_fit([word])(word)


@pytest.mark.parametrize("kind", ["sitemap", "index", "search"])
def test_lists_that_robots_txt_names_are_no_links_of_the_page(kind: str) -> None:
    """They come with the first page of a host that a process reads: after a resume, with another."""
    url = "http://pots.example/"
    links = [Link(f"{url}{name}", Anchor(name, tag_path="html/body/a")) for name in ("a", "b")]
    page = Page(url, links=links, text="kiln")
    with_lists = Page(url, links=[*links, Link(f"{url}list", Anchor(), kind)], text="kiln")
    wish = parse("kiln")
    one, other = (Reader(wish, Matcher(wish)).read(read)[0] for read in (page, with_lists))
    assert one.links.tolist() == other.links.tolist()
    assert one.ids.tolist() == other.ids.tolist()


def test_rare_numbers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spoor.judges.relevance.frequencies.VOCABULARY", 10)
    frequencies = Frequencies()
    for page in range(6):
        slots = [frequencies.slots[number] for number in (1, 2, 100 + page, 200 + page)]
        counts, numbers = frequencies.add(np.array(slots))
        assert numbers.tolist() == [1, 2, 100 + page, 200 + page]
        assert counts.tolist() == [page + 1, page + 1, 1, 1]
    assert frequencies.forgot == 1
    # Forgotten after the fifth page, when twelve were known.
    assert frequencies.of(np.array([1, 2, 100, 105, 999], np.uint32)).tolist() == [6, 6, 1, 1, 1]
    assert frequencies.save()["ids"].tolist() == [1, 2, 105, 205]


def test_frequencies_are_saved_whatever_was_read_meanwhile() -> None:
    one, other = Frequencies(), Frequencies()
    other.slots[7]  # of an anchor: no page has it
    for frequencies in (one, other):
        frequencies.add(np.array([frequencies.slots[number] for number in (9, 3)]))
    other.load(other.save())
    for frequencies in (one, other):
        frequencies.add(np.array([frequencies.slots[number] for number in (7, 3)]))
    for name, its in one.save().items():
        assert np.array_equal(its, other.save()[name])


def times_of(wish: str, text: str) -> tuple[float, float]:
    """How often the only leaf of a wish stands in a text, as it is and as something like it."""
    matcher = Matcher(parse(wish))
    (leaf,) = range(len(matcher.leaves))
    exact: dict[int, float] = {}
    like: dict[int, float] = {}
    for term in terms(text):
        for part, same, likeness in matcher.fits(term, "english"):
            found = exact if same else like
            found[part] = found.get(part, 0.0) + likeness
    return matcher.leaf_counts(leaf, exact, like, text)


@pytest.mark.parametrize(
    ("wish", "text", "times"),
    [
        ("e-mail", "Send an e-mail. An email? Emails!", 3),
        ("email", "Send an e-mail. An email? Emails!", 3),
        ("UTF-8", "UTF-8 or utf8", 2),
        ("log-in", "log in: the login form", 2),
        ("email", "females", 0),
    ],
)
def test_a_word_with_a_hyphen_stands_in_one_as_well(wish: str, text: str, times: float) -> None:
    assert times_of(wish, text) == (times, 0)


def test_mail_is_like_e_mail_and_is_counted_once() -> None:
    assert times_of("e-mail", "the mail of an e-mail server") == (1, 1)
    assert times_of("re-use", "use it") == (0, 0)


def test_another_first_letter_is_no_slip() -> None:
    assert times_of("clocks", "blocks of memory") == (0, 0)
    assert times_of("clocks", "a clokcs and a clcks")[1] > 0


@given(
    st.dictionaries(st.integers(0, 30), st.floats(-1, 1), max_size=9),
    st.lists(st.integers(0, 30), unique=True, max_size=9),
    st.sampled_from([3, 1_000]),
)
def test_likeness_is_that_of_the_numbers_whatever_was_forgotten(
    weights: dict[int, float], ids: list[int], vocabulary: int
) -> None:
    frequencies = Frequencies()
    likeness = Likeness([Topic(weights, 2.0)], frequencies)
    values = np.linspace(0.1, 1.0, len(ids))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spoor.judges.relevance.frequencies.VOCABULARY", vocabulary)
        for page in range(3):  # the second one makes the first forgotten
            new = [*ids, 100 + page, 200 + page, 300 + page]
            frequencies.add(np.array([frequencies.slots[number] for number in new]))
            slots = np.array([frequencies.slots[number] for number in ids], np.int64)
            (found,) = likeness.of(slots, values)
            said = [
                weights.get(number, 0.0) * value for number, value in zip(ids, values, strict=True)
            ]
            assert found == pytest.approx(sum(said) / 2.0)


TREES = st.recursive(
    st.integers(0, 3),
    lambda node: st.lists(node, min_size=1, max_size=2).flatmap(
        lambda nodes: st.sampled_from(["all", "any"]).map(lambda kind: (kind, *nodes))
    ),
    max_leaves=7,
)
SHARES = st.lists(st.floats(0, 1), min_size=4, max_size=4)


@given(TREES, SHARES, SHARES, st.none() | SHARES, st.booleans(), st.booleans())
def test_one_page_has_the_value_that_it_has_among_others(
    node: Tree | int,
    leaves: list[float],
    weights: list[float],
    tells: list[float] | None,
    several: bool,
    loose: bool,
) -> None:
    tree = ("all", node)
    weights = [0.1 + weight for weight in weights]
    tells = None if tells is None else [0.1 + its for its in tells]
    worth, all_loose = (
        {tree: 0.5},
        [one for one in (node, tree) if loose and isinstance(one, tuple)],
    )
    alone = value_on_page(
        tree, leaves, weights, worth, tells=tells, several=several, loose=all_loose
    )
    among = value_of(
        tree,
        np.array([leaves]),
        np.array(weights),
        {tree: np.array([0.5])},
        tells=None if tells is None else np.array(tells),
        several=several,
        loose=all_loose,
    )
    assert alone == among[0]


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("", 0),
        ("a kiln", 0),
        ("der Ofen für Töpfe – “größer”", 0),
        ("가마를 때는 사람", 1),
        ("窯で焼く", 1),
        ("печь", 2),
        ("φούρνος", 2),
        ("𝕜𝕚𝕝𝕟 🔥", 0),
        ("a page of the manual, not translated: 가마", 0),
    ],
)
def test_the_script_of_a_text(text: str, script: int) -> None:
    assert most_of(scripts_of(text)) == script


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(0, 2)), min_size=1, max_size=30
    )
)
def test_pages_beside_the_surest_are_in_their_scripts(pages: list[tuple[float, int]]) -> None:
    likely = np.array([one for one, _ in pages])
    scripts = np.array([script for _, script in pages])
    rest = 1.0 - likely
    weights = written_alike(rest, likely, scripts)
    assert (weights >= 0.0).all()
    if len(set(scripts.tolist())) == 1 or not likely.any():
        assert weights.tolist() == rest.tolist()
        return
    surest = likely * (likely >= np.sort(likely)[-SEEDS:][0])
    there = {script for script in (0, 1, 2) if rest[scripts == script].sum()}
    wanted = {script: float(surest[scripts == script].sum()) for script in there}
    found = {script: float(weights[scripts == script].sum()) for script in there}
    assert found == pytest.approx(wanted)


def test_a_script_is_not_what_the_surest_pages_have_in_common() -> None:
    """A site of which three quarters are not translated: a translated page of another topic is no
    more like the surest ones than a page that is not translated."""
    rng = np.random.default_rng(5)

    def page(number: int, words: list[str], common: list[str]) -> Page:
        text = " ".join(rng.choice([*words, *common * 3], 60))
        return Page(f"http://pots.example/{number:02d}", title=words[number % 2], text=text)

    common = "그리고 하지만 그러나 때문에 입니다 합니다 있습니다 됩니다".split()
    english = "the and but because is does has was".split()
    pages = [page(at, ["가마", "점토", "유약"], common) for at in range(8)]
    pages += [page(at, ["선박", "항구", "바다"], common) for at in range(8, 16)]
    pages += [page(at, ["ship", "harbour", "sea"], english) for at in range(16, 64)]
    judge = Relevance(parse("가마"))
    for at in rng.permutation(len(pages)).tolist():
        judge.judge(pages[at])
    judge.revise()
    likeness = dict(zip(judge._pages, judge._learned.likeness.tolist(), strict=True))
    other_topic = max(likeness[its.url] for its in pages[8:16])
    assert other_topic < 0.1  # it was 0.84
    assert np.median([likeness[its.url] for its in pages[:8]]) > 0.5
