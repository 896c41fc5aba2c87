"""A wish for a kind of page that each of many sites has once, and nearly every page mentions."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisy_news import sentence
from spoor.judges.relevance import Relevance, many_sites
from spoor.judges.relevance.frequencies import Frequencies
from spoor.judges.relevance.kept_pages import KeptPage
from spoor.judges.relevance.many_sites import (
    Templates,
    are_many,
    cut_by_sites,
    first_of_each,
    frames_of,
    sites_read,
    weights_of_mentions,
    without_frames,
)
from spoor.judges.wish import parse
from spoor.types import Anchor, Link, Page

WORDS = "amber birch cedar delta ember fjord glade heron inlet jetty kelp lagoon maple".split()
SITES, PAGES = 30, 8


def page(site: int, number: int) -> Page:
    """Each site has another subject; its first page lists the others, the second is wanted."""
    host = f"http://{WORDS[site % 13]}{site}.example"
    subject = f"{WORDS[site % 13]}{site} {WORDS[site * 5 % 13]}"
    names = ["", "installation.html", *(f"part{at}.html" for at in range(2, PAGES))]
    titles = [subject, f"Installation - {subject}"]
    titles += [f"{WORDS[(site + at) % 13].title()} - {subject}" for at in range(2, PAGES)]
    if number == 1 and site == 3:
        titles[1] = f"Installation instructions - {subject}"
    links = [
        Link(f"{host}/{name}", Anchor(title.partition(" - ")[0], position=at))
        for at, (name, title) in enumerate(zip(names, titles, strict=True))
    ]
    menu = " ".join(link.anchor.text for link in links)
    about = f"{WORDS[number]} of {subject} and its instructions" if number != 1 else "pip download"
    text = f"{menu} {titles[number]} {about} " + f"{WORDS[(7 * site + number) % 13]} " * 30
    return Page(f"{host}/{names[number]}", title=titles[number], text=text, links=links)


PAGES_IN_TURN = [page(site, number) for number in range(PAGES) for site in range(SITES)]


def told(judge: Relevance, pages: list[Page]) -> set[str]:
    verdicts = {one.url: judge.judge(one).relevant for one in pages}
    verdicts |= {url: its.relevant for url, its in judge.revise()}
    return {url for url, relevant in verdicts.items() if relevant}


@pytest.mark.parametrize("wish", ["installation", "installation instructions"])
def test_the_page_of_each_site_is_told_and_not_those_that_mention_it(wish: str) -> None:
    wanted = {one.url for one in PAGES_IN_TURN if one.url.endswith("installation.html")}
    found = told(Relevance(parse(wish)), PAGES_IN_TURN)
    assert len(found & wanted) >= 0.9 * SITES
    assert len(found - wanted) <= 0.1 * SITES


def test_without_what_many_sites_change_it_would_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_sites, "MANY", float("inf"))
    wanted = {one.url for one in PAGES_IN_TURN if one.url.endswith("installation.html")}
    found = told(Relevance(parse("installation instructions")), PAGES_IN_TURN)
    assert len(found & wanted) < 0.5 * SITES


def test_a_judge_of_many_sites_goes_on_as_it_was() -> None:
    half = len(PAGES_IN_TURN) // 2
    judge = Relevance(parse("installation instructions"))
    for one in PAGES_IN_TURN[:half]:
        judge.judge(one)
    again = Relevance(parse("installation instructions"))
    again.load(judge.save())
    rest = PAGES_IN_TURN[half:]
    assert [judge.judge(one) for one in rest] == [again.judge(one) for one in rest]
    assert judge.revise() == again.revise()


def test_sites_are_many_where_no_few_have_most_of_the_pages() -> None:
    assert not are_many(np.zeros(0, np.uint64))
    assert not are_many(np.repeat(np.arange(9, dtype=np.uint64), 50))
    assert are_many(np.repeat(np.arange(12, dtype=np.uint64), 50))
    assert not are_many(np.append(np.arange(100, dtype=np.uint64), np.zeros(200, np.uint64)))


pages_of_sites = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=60
).map(lambda rows: (np.array([row[0] for row in rows]), np.array([row[1] for row in rows])))


@given(pages_of_sites)
def test_what_stands_beyond_the_frame_of_a_site_keeps_the_order_of_its_pages(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    words, sites = rows[0], rows[1].astype(np.uint64)
    frames = frames_of(words, sites)
    beyond = without_frames(words, sites.tolist(), frames)
    assert (beyond >= 0).all()
    assert (beyond <= words + 1e-12).all()
    for site in np.unique(sites).tolist():
        its, of_site = beyond[sites == site], words[sites == site]
        assert (np.diff(its[np.argsort(of_site, kind="stable")]) >= -1e-12).all()
        if site not in frames:
            assert (its == of_site).all()
        else:
            assert len(its) >= many_sites.FEW_PAGES
            assert (its == 0).sum() >= many_sites.FRAME * len(its)


def test_a_site_whose_pages_say_it_plainly_has_no_frame() -> None:
    words = np.array([0.9, 0.8, 0.8, 0.7, 0.9, 0.2, 0.2, 0.2])
    sites = np.array([1, 1, 1, 1, 2, 2, 2, 2], np.uint64)
    assert frames_of(words, sites) == {2: 0.2}


def test_where_few_sites_have_a_frame_they_are_about_it() -> None:
    """One paper of twenty has a sentence about it in most of its stories."""
    sites = np.repeat(np.arange(20, dtype=np.uint64), 8)
    words = np.where(sites == 3, 0.2, 0.0)
    words[-1] = 0.9
    assert frames_of(words, sites) == {}
    words[sites < 4] = 0.2
    assert set(frames_of(words, sites)) == {0, 1, 2, 3}


def test_new_stories_of_the_one_site_that_is_about_it_are_told() -> None:
    """Of twenty sites one has eight old stories with a sentence about kilns, and prints five."""
    judge, rng = Relevance(parse("kilns")), Random(1)

    def story(name: str, *, on_topic: bool, site: int) -> Page:
        text = [sentence(rng).replace("kiln", "garden") for _ in range(41)]
        if on_topic:
            text[20] = "The kiln of the town was fired again."
        said = " ".join(text)
        return Page(f"http://{WORDS[site % 13]}{site}.example/{name}", title=name, text=said)

    for site in range(SITES - 10):
        for number in range(8 if site == 0 else 0):
            judge.judge(story(f"old{number}", on_topic=True, site=site))
        for number in range(3):
            judge.judge(story(f"other{number}", on_topic=False, site=site))
    plain = "Kilns are ovens. A kiln fires pots. Kilns need wood and kiln builders."
    judge.judge(Page("http://world.example/kilns", title="Kilns of the world", text=plain))
    judge.revise()
    new = [judge.judge(story(f"new{number}", on_topic=True, site=0)) for number in range(5)]
    assert [one.relevant for one in new] == [True] * 5


def test_the_cut_lies_between_the_best_page_of_each_site_and_the_others() -> None:
    sites = np.repeat(np.arange(40, dtype=np.uint64), 6)
    values = np.tile([2.5, 1.3, 1.2, 1.1, 1.0, 0.2], 40) + 0.001 * np.arange(240)
    cut = cut_by_sites(values, np.ones(240), sites, 0.9)
    assert (values >= cut).sum() == 40
    assert list(first_of_each(sites)) == list(range(0, 240, 6))


def test_the_cut_stays_where_sites_have_many_wanted_pages() -> None:
    sites = np.repeat(np.arange(40, dtype=np.uint64), 6)
    topical = np.where(sites < 12, 2.0, 0.1) + 0.001 * (np.arange(240) * 37 % 240)
    assert cut_by_sites(topical, np.ones(240), sites, 0.9) == 0.9


def test_the_cut_stays_where_the_best_of_their_sites_are_few_of_the_pages_above_it() -> None:
    sites = np.repeat(np.arange(40, dtype=np.uint64), 6)
    values = 1.2 + 0.01 * sites.astype(np.float64)
    values[:60:6] = 4.0  # of 10 of the 40
    assert cut_by_sites(values, np.ones(240), sites, 0.9) == 0.9
    values[:78:6] = 4.0  # of 13 sites: nearly a third
    assert cut_by_sites(values, np.ones(240), sites, 0.9) > 1.5


def test_a_page_that_stands_out_of_its_site_is_wanted_though_other_sites_say_it_more_plainly() -> (
    None
):
    """*Who we are* leads to the team of half of the sites, *Leadership team* to that of the others:
    these alone were told, and of half of the sites every page was asked for."""
    sites = np.repeat(np.arange(60, dtype=np.uint64), 2)
    values = np.tile([1.3, 0.1, 2.4, 0.4], 30) + 0.001 * np.arange(120)
    cut = cut_by_sites(values, np.ones(120), sites, 0.9)
    assert (values >= cut).sum() == 59, "three in a hundred may be none"
    values[1::4] = 1.0  # all of the site mentions it
    cut = cut_by_sites(values, np.ones(120), sites, 0.9)
    assert (values >= cut).sum() == 30


def kept(
    site: int, number: int, terms: list[int], said: float = 0.0, *, named: bool = False
) -> KeptPage:
    return KeptPage(
        f"http://site{site}.example/{number}",
        np.array(terms, np.uint32),
        np.ones(len(terms), np.uint8),
        len(terms),
        np.array([[said, said]]),
        named=np.array([named]),
    )


def test_a_word_that_most_sites_mention_counts_half_in_a_text() -> None:
    pages = [kept(site, at, [], 0.3 * (at == site % 4)) for site in range(20) for at in range(4)]
    sites = np.array([page.site for page in pages], np.uint64)
    assert weights_of_mentions(pages, sites).tolist() == [0.5]
    for page in pages[16:]:
        page.evidence[:] = 0.0
    assert weights_of_mentions(pages, sites).tolist() == [pytest.approx(0.8)]


def test_the_surest_pages_are_of_different_templates() -> None:
    """Sites 0 to 9 have one menu of twenty terms and two of their own; the others their own."""
    menu = [*range(20)]
    pages = [
        kept(
            site, at, (menu if site < 10 else [*range(100 * site, 100 * site + 20)]) + [5000 + site]
        )
        for site in range(30)
        for at in range(5)
    ]
    sites = np.array([page.site for page in pages], np.uint64)
    frequencies = Frequencies()
    for page in pages:
        frequencies.add(np.array(frequencies.slots.of(page.ids.tolist()), np.int64))
    templates = Templates(pages, sites, frequencies)
    every = [*range(len(pages))]
    assert templates.of_different(every, 4) == [0, 50, 55, 60]
    assert templates.of_different(every[::-1], 99)[-1] == 49
    assert templates.of_different(every, 0) == templates.of_different([], 4) == []
    # Of few pages of a site it is not known what they say as a rule.
    some = [at for at in every if at % 5 < 3]
    few = Templates([pages[at] for at in some], sites[some], frequencies)
    assert len(few.of_different([*range(len(some))], 99)) == 30


def test_sites_once_read_stay_so() -> None:
    sites = np.array([1, 1, 1, 1, 2, 2], np.uint64)
    assert sites_read(sites, frozenset({7})) == {1, 7}


GUIDES = "User guide. Administrator guide. Reference guide. Installation guide."


def of_template(site: int, number: int) -> Page:
    """As `page`, of sites that are one project: each page has a menu of all guides of it."""
    its = page(site, number)
    host = f"http://{WORDS[site % 13]}{site}.example"
    names = ["", "setup/index.html", "user.html", "admin.html", *(f"m{at}.html" for at in range(4))]
    titles = ["", "Installation", "Users guide", "Administrators guide", *WORDS[:4]]
    title = f"Cumulus Docs: {titles[number] or WORDS[site % 13]}"
    links = [
        Link(f"{host}/{name}", Anchor(WORDS[at], position=at)) for at, name in enumerate(names)
    ]
    project = "Cumulus nimbus stratus project bugs translators mailing lists licence releases team"
    text = f"{project}. {GUIDES} {GUIDES} {title}. {its.text[-60:]}"
    return Page(f"{host}/{names[number]}", title=title, text=text, links=links)


def of_its_own(site: int, number: int) -> Page:
    """As `page`; its first page mentions the installation, and a later one a guide."""
    its = page(site, number)
    said = {0: "Installation and more.", 1: "Installation. " * 3, 5: "A guide."}.get(number, "")
    return Page(its.url, title=its.title, text=f"{said} {its.text[-200:]}", links=its.links)


def with_template(sites: int, of: int) -> list[Page]:
    return [
        (of_template if site < of else of_its_own)(site, number)
        for number in range(PAGES)
        for site in range(sites)
    ]


def test_the_menu_of_a_template_is_not_what_sites_say() -> None:
    pages = with_template(36, 12)
    wanted = {one.url for one in pages if "installation" in one.title.lower()}
    found = told(Relevance(parse("installation guide")), pages)
    assert len(wanted) == 36
    assert len(found & wanted) >= 32
    guides = {one.url for one in pages if "guide" in one.title.lower()}  # a word of the wish
    assert len(found - wanted - guides) <= 4


def test_a_front_page_that_mentions_it_often_is_not_told_when_it_comes() -> None:
    pages = []
    for one in PAGES_IN_TURN:
        front = one.url.endswith(".example/")
        text = "Installation: see installation. " * 4 + one.text[:150] if front else one.text
        pages.append(Page(one.url, title=one.title, text=text, links=one.links))
    judge = Relevance(parse("installation"))
    at_once = {one.url for one in pages if judge.judge(one).relevant}
    wanted = {one.url for one in pages if one.url.endswith("installation.html")}
    assert len(at_once & wanted) >= 0.9 * SITES
    assert len(at_once - wanted) <= 3
