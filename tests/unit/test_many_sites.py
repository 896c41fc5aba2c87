"""A wish for a kind of page that each of many sites has once, and nearly every page mentions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.judges import many_sites
from spoor.judges.many_sites import (
    are_many,
    cut_by_sites,
    first_of_each,
    frames_of,
    without_frames,
)
from spoor.judges.relevance import Relevance
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
