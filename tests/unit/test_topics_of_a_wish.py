"""A wish that names several topics: each has its own surest pages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from spoor.judges.relevance import Relevance
from spoor.judges.relevance.feedback import Model, Topic
from spoor.judges.relevance.surest_pages import topics_of
from spoor.judges.spec import judge_of
from spoor.judges.wish import parse
from spoor.learn.state import pack, unpack
from spoor.protocols import Rejudges, Stateful
from spoor.types import Anchor, Link, Page

SITE = "http://manual.example/"


def chapter(name: str, words: str, pages: int, says: str, every: int) -> list[Page]:
    """Pages of a chapter, each with its words and links to the next two; so many say its name."""
    urls = [f"{SITE}{name}/{number}" for number in range(pages)]
    return [
        Page(
            url,
            title=f"{says} {number}" if number % every == 0 else f"Part {number}",
            text=f"{words} {words} item{number} {f'{says} ' * 3 if number % every == 0 else ''}",
            links=[Link(urls[(number + step) % pages], Anchor("next")) for step in (1, 2)],
        )
        for number, url in enumerate(urls)
    ]


def manual() -> list[Page]:
    """Chapters whose pages come in turn; two of them are wanted, of which one says more."""
    every = [
        *chapter("hosts", "server address listen directive port name", 24, "Virtual hosts", 1),
        *chapter("rules", "pattern substitution regular match flag", 12, "Rewrite rules", 3),
        *chapter("logs", "log format rotate error access pipe", 24, "Logs", 3),
        *chapter("cache", "cache expire disk memory proxy store", 24, "Cache", 3),
        *chapter("start", "install compile configure start stop binary", 24, "Start", 3),
    ]
    return [every[at] for at in np.random.default_rng(0).permutation(len(every))]


def told(words: str) -> set[str]:
    judge, pages = Relevance(parse(words)), manual()
    said = {page.url: judge.judge(page) for page in pages}
    said.update(judge.revise())
    return {url for url, its in said.items() if its.relevant}


def test_two_chapters_between_which_a_comma_stands_are_both_found() -> None:
    hosts = {f"{SITE}hosts/{number}" for number in range(24)}
    rules = {f"{SITE}rules/{number}" for number in range(12)}
    assert told("virtual hosts") == hosts
    assert told("rewrite rules") == rules
    assert told("virtual hosts, rewrite rules") == hosts | rules


def test_where_no_page_says_the_whole_wish_its_words_mean_something_else() -> None:
    """Each page is worth a share of the best one, so some would be found on any site."""
    judge = Relevance(parse("kubernetes hosts"))
    for page in manual():
        judge.judge(page)
    assert not any(its.relevant for _, its in judge.revise())
    one = f"{SITE}hosts/0"
    judge.label(one, True)
    assert {url for url, its in judge.revise() if its.relevant} > {one}, "unless somebody says so"
    judge.label(one, False)
    judge.revise()
    wanted = Page(f"{SITE}new", title="Kubernetes hosts", text="kubernetes hosts " * 5)
    assert judge.judge(wanted).relevant


def test_a_page_is_of_the_topic_that_it_says_most_of_or_is_most_like() -> None:
    judge = Relevance(parse("virtual hosts, rewrite rules"))
    said = {page.url: judge.judge(page) for page in manual()}
    back = Relevance(parse("virtual hosts, rewrite rules"))
    back.load(unpack(pack(judge.save())))
    revised = dict(judge.revise())
    assert dict(back.revise()) == revised
    said.update(revised)
    chapters = {"hosts": "virtual hosts", "rules": "rewrite rules"}
    for url, its in said.items():
        assert its.topic == (chapters[url.split("/")[3]] if its.relevant else ""), url
    silent = [
        url for url, its in said.items() if its.relevant and "stands on it" not in str(its.why)
    ]
    assert silent  # pages without a word of either
    one = Relevance(parse("virtual hosts"))
    assert {one.judge(page).topic for page in manual()} == {""}


def test_several_wants_are_topics_and_a_resume_knows_them() -> None:
    specs = ["match:kiln", "query:harbour, bridge"]
    judge, pages = judge_of(specs), manual()
    kiln, bridge = (
        Page(f"{SITE}{words}", title=words, text=f"{words} " * 9) for words in ("kiln", "bridge")
    )
    assert judge.judge(kiln).topic == "match:kiln"
    assert judge.judge(bridge).topic == "bridge"
    assert judge.judge(pages[0]).topic == ""
    assert isinstance(judge, Stateful)
    back: Any = judge_of(specs)
    back.load(unpack(pack(judge.save())))
    for page in pages[1:]:
        assert judge.judge(page) == back.judge(page)
    assert isinstance(judge, Rejudges)
    assert judge.revise() == back.revise()


def test_a_judge_of_two_topics_goes_on_where_it_was() -> None:
    pages = manual()
    judge, other = (Relevance(parse("virtual hosts, rewrite rules")) for _ in range(2))
    for page in pages[:60]:
        judge.judge(page)
    state = judge.save()
    assert len(state["model"]["sizes"]) == 2
    other.load(unpack(pack(state)))
    assert [judge.judge(page) for page in pages[60:]] == [other.judge(page) for page in pages[60:]]
    assert judge.revise() == other.revise()


def test_parts_whose_surest_pages_say_one_another_are_one_topic() -> None:
    customers = np.array([0.9, 0.8, 0.7, 0.0, 0.0, 0.0, 0.1, 0.0])
    invoices = np.array([0.8, 0.9, 0.6, 0.1, 0.0, 0.0, 0.0, 0.0])
    loans = np.array([0.0, 0.0, 0.0, 0.5, 0.4, 0.3, 0.0, 0.0])
    nowhere = np.zeros(8)
    assert topics_of([customers, loans, nowhere, invoices]) == [[0, 3], [1]]
    assert topics_of([loans]) == [[0]]
    assert topics_of([nowhere]) == []


def test_a_chain_of_parts_is_one_topic() -> None:
    pages = np.eye(3).repeat(6, axis=1)
    between = (pages[0] + pages[1]) / 2
    assert topics_of([pages[0], pages[1]]) == [[0], [1]]
    assert topics_of([pages[0], pages[1], between, pages[2]]) == [[0, 1, 2], [3]]


@pytest.mark.parametrize("topics", [1, 2, 3])
def test_the_model_of_several_topics_comes_back(topics: int) -> None:
    names = [f"topic {at}" if topics > 1 else "" for at in range(topics)]
    its = [Topic({at: 0.5, 7 + at: 0.25 * at}, 1.0 + at, name) for at, name in enumerate(names)]
    model = Model(its, cut=0.5, cut_of_new=0.6, top=2.0, sure=4.0, pages=30)
    back = Model.load(model.save())
    assert back == model
    assert back.topics[0].weights[0] / back.topics[0].scale == 0.5


@pytest.mark.parametrize("wish", ["title:(kiln, ledger)", "url:(kiln, ledger)", "kiln, ledger"])
def test_several_topics_may_stand_in_one_part_of_a_page(wish: str) -> None:
    judge = Relevance(parse(wish))
    told = {}
    for at in range(40):
        word = {0: "kiln", 1: "ledger"}.get(at % 5, "sea")
        url = f"http://a.example/{word}/{at}"
        told[url] = judge.judge(Page(url, title=f"{word} {at}", text=f"{word} word{at} " * 9))
    told |= dict(judge.revise())
    topics = {url.split("/")[3]: one.topic for url, one in told.items() if one.relevant}
    assert topics == {"kiln": "kiln", "ledger": "ledger"}
