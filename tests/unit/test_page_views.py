"""What holds nothing but what another page has is asked for last, once a site has shown how it is
told; what a list shows in full is not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spoor.crawl import Crawl
from spoor.frontier.memory import MemoryFrontier
from spoor.judges.keywords import Keywords
from spoor.judges.no_results import SHOWN_AT, SHOWS_AGAIN
from spoor.judges.relevance import Relevance
from spoor.judges.second_opinion import Limits, SecondOpinion
from spoor.judges.wish import parse as wish
from spoor.learn.state import pack, unpack
from spoor.link_filter.link_filter import CrawlFilter
from spoor.link_filter.page_views import PageViews
from spoor.link_filter.scope import Scope
from spoor.link_filter.traps import Traps
from spoor.policies.random import Random
from spoor.protocols import Rejudges
from spoor.simulation.replay import Replay
from spoor.types import Fetch, Fetched, Page, Task
from spoor.web.page import parse
from spoor.web.view_relations import relation

HOME = "http://a.example/"
ISSUES, MESSAGES = 60, 4
WORDS = np.random.default_rng(3).integers(97, 117, (20_000, 8), dtype=np.uint8)


def words(number: int, count: int = 30) -> str:
    at = number * count % (len(WORDS) - count)
    return " ".join(bytes(word).decode() for word in WORDS[at : at + count])


@pytest.mark.parametrize(
    ("page", "url", "found"),
    [
        ("bugs/issue7", "bugs/msg12", "a.example 1/msg#?"),
        ("talk/20240101.17@a.org/T/", "talk/20240102.9@a.org/raw", "a.example 2/*.org/raw?"),
        ("talk/20240101.17@a.org/T/", "talk/20240101.17@a.org/t.atom", "a.example 1/t.atom?"),
        ("wiki/Kiln", "wiki/Kiln?version=3", "a.example 0/?version=#"),
        ("wiki/Kiln", "wiki/Kiln?format=txt", "a.example 0/?format=txt"),
        ("?p=x;a=history;f=y", "?p=x;a=rss;f=y", "a.example 0/?a=rss"),
        ("bugs/issue7", "bugs/issue7", ""),
        ("en/kilns/3", "de/kilns/3", ""),
        ("en/3", "de/3", ""),
        ("1/s2/3.html", "4/s2/3.html", ""),
    ],
)
def test_how_a_url_stands_to_that_of_another_page(page: str, url: str, found: str) -> None:
    assert relation(HOME + page, HOME + url) == found


URLS = st.from_regex(
    r"http://[ab]\.example(/[a-z0-9.@]{0,20}){0,4}(\?[a-z0-9=&;]{0,20})?", fullmatch=True
)


@given(URLS, URLS)
def test_a_relation_is_of_one_host_and_another_page(page: str, url: str) -> None:
    found = relation(page, url)
    assert not found or found.startswith(url.split("/")[2].partition("?")[0])
    assert relation(page, page) == ""


class Tracker:
    """Issues with all of their messages, each of which has a page of its own."""

    titled = False
    """Whether links to messages say what they say."""
    more = False
    """Whether messages say more on their own pages."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def answer(self, fetch: Fetch) -> Fetched:
        self.asked.append(fetch.url.removeprefix(HOME))
        return Fetched(fetch.ticket, self.page(fetch.url))

    def page(self, url: str) -> Page:
        path = url.split("/", 3)[3]
        number = int((re.search(r"\d+", path) or ["0"])[0])
        body = "".join(f'<a href="/issue{one}">{words(one, 4)}</a> ' for one in range(ISSUES))
        if path.startswith("issue"):
            body = f"<h1>{words(number, 4)}</h1>"
            for one in range(MESSAGES * number, MESSAGES * (number + 1)):
                text = words(one, 5) if self.titled else f"msg{one} (view)"
                body += f'<p>{words(1_000 + one)}</p><a href="/msg{one}">{text}</a>'
        elif path.startswith("msg"):
            rest = words(5_000 + number) if self.more else ""
            body = f"<h1>Message {number}</h1><p>{words(1_000 + number)}</p>{rest}"
        frame = "Tracker of all that breaks, with a list of issues, people and words"
        return parse(f"<p>{frame}</p>{body}".encode(), url)


class Titled(Tracker):
    titled = True


class Longer(Tracker):
    more = True


def crawl(world: Tracker | Diary, pages: int, guard: CrawlFilter | None = None) -> list[str]:
    """What was asked for, in order."""
    made = Crawl(
        Random(Task(np.random.default_rng(1))),
        Keywords(["kiln"]),
        MemoryFrontier(),
        pages=pages,
        link_filter=guard or CrawlFilter(Scope(), traps=Traps()),
    )
    made.seed([HOME])
    list(Replay(made, world))
    return world.asked


def test_messages_wait_until_all_issues_are_there() -> None:
    asked = crawl(Tracker(), 1 + ISSUES + MESSAGES)
    issues = {one for one in asked if one.startswith("issue")}
    assert len(issues) >= ISSUES - 2 * MESSAGES


class Wiki:
    """Articles, each with its history below it, which has the title and says little."""

    def answer(self, fetch: Fetch) -> Fetched:
        name = fetch.url.removeprefix(HOME).partition("/")[2].split("/")[0]
        number = int((re.search(r"\d+", name) or ["0"])[0])
        title = f"Kiln {words(number, 2)}" if number % 6 == 0 else words(number, 3)
        body = "".join(f'<a href="/wiki/page{one}/">{words(one, 4)}</a> ' for one in range(ISSUES))
        if "/_history" in fetch.url:
            body = f"<title>History: {title}</title><h1>History: {title}</h1>Changed 2 weeks ago"
        elif name:
            body = f"<title>{title}</title><h1>{title}</h1><p>{words(number)} {title}</p>"
            body += f'<a href="/wiki/{name}/_history/">History</a>'
        frame = "Wiki of all that burns, with a list of articles, people and words"
        return Fetched(fetch.ticket, parse(f"<p>{frame}</p>{body}".encode(), fetch.url))


class Films:
    """Films, each with its reviews below it: of one in six they say much, else that there are
    none."""

    def answer(self, fetch: Fetch) -> Fetched:
        name, _, below = fetch.url.removeprefix(HOME).removeprefix("film/").partition("/")
        body = "".join(f'<a href="/film/f{one}">{words(one, 4)}</a> ' for one in range(ISSUES))
        if name:
            number = int(name[1:])
            title = f"Kiln {words(number, 2)}" if number % 3 == 0 else words(number, 3)
            body = f"{words(number)} {title} <a href='/film/{name}/reviews'>Reviews</a>"
            if below:
                title = f"Reviews of {title}"
                body = f"{words(300 + number)} {title}" if number % 6 == 0 else "None yet"
            body = f"<title>{title}</title><h1>{title}</h1><p>{body}</p>"
        frame = "Site of all that was filmed, with a list of pictures, people and words"
        return Fetched(fetch.ticket, parse(f"<p>{frame}</p>{body}".encode(), fetch.url))


class Permalinks:
    """A blog whose lists nobody tells show posts in full: links say their titles, and how many
    comments they have."""

    def answer(self, fetch: Fetch) -> Fetched:
        name = fetch.url.removeprefix(HOME)
        at = int(name[1:] or "0")
        following = f'<a href="/l{at + 1}">older</a>' if at < 12 else ""
        body = "".join(map(self.post, range(5 * at, 5 * at + 5))) + following
        title = f"Blog about a kiln, {at}"
        if name.startswith("p"):
            body, title = self.post(at), self.title(at)
        frame = "Blog of all that burns, with a list of articles, people and words"
        body = f"<title>{title}</title><p>{frame}</p>{body}"
        return Fetched(fetch.ticket, parse(body.encode(), fetch.url))

    @staticmethod
    def title(at: int) -> str:
        return f"Kiln {words(at, 2)}" if at % 4 == 0 else words(at, 3)

    def post(self, at: int) -> str:
        title = self.title(at)
        head = f'<h2><a href="/p{at}">{title}</a></h2><p>{words(at)} {title}</p>'
        return f'{head}<p><a href="/p{at}#comments">{at} comments</a></p>'


class Lite:
    """A board whose threads stand in a bare form as well, by the same numbers, listed by titles."""

    def answer(self, fetch: Fetch) -> Fetched:
        number = int((re.search(r"\d+", fetch.url.removeprefix(HOME)) or ["0"])[0])
        title = f"Kiln {words(number, 2)}" if number % 4 == 0 else words(number, 3)
        post = f"<p>{words(number)} {title}</p>"
        if "?" not in fetch.url:
            title = "Board of all that burns"
            body = "".join(
                f'<a href="/{form}{one}">{words(one, 3)}</a> '
                for one in range(1, ISSUES)
                for form in ("show?tid=", "lite/?thread-")
            )
        elif "show" in fetch.url:
            body = f"Rating of this: none {post} <a href='/lite/?thread-{number}'>Lite form</a>"
        else:
            body = f"Full form: {post}"
        frame = "Board of all that burns, with a list of articles, people and words"
        body = f"<title>{title}</title><p>{frame}</p>{body}"
        return Fetched(fetch.ticket, parse(body.encode(), fetch.url))


class Shop:
    """Goods, each with a page of its own that shows it above a form for a review."""

    def answer(self, fetch: Fetch) -> Fetched:
        name, _, below = fetch.url.removeprefix(HOME).partition("/")
        body = "".join(f'<a href="/g{one}/">{words(one, 4)}</a> ' for one in range(ISSUES))
        if name:
            number = int(name[1:])
            title = f"Kiln {words(number, 2)}" if number % 3 == 0 else words(number, 3)
            below = below and f"<p>{words(999, 30)}</p>"
            body = f"<h1>{title}</h1>{words(number)} <a href='/{name}/review'>Write one</a>{below}"
            body = f"<title>{title}</title>{body}"
        frame = "Shop of all that burns, with a list of goods, people and words"
        return Fetched(fetch.ticket, parse(f"<p>{frame}</p>{body}".encode(), fetch.url))


def results_of(world: Wiki | Films | Permalinks | Lite | Shop) -> dict[str, bool]:
    """The pages of a whole crawl for kilns, in their order: whether each is a result at last."""
    results = dict[str, bool]()
    guard = CrawlFilter(Scope(), traps=Traps())
    policy, judge = Random(Task(np.random.default_rng(2))), Relevance(wish("kiln"))
    made = Crawl(policy, judge, MemoryFrontier(), link_filter=guard)
    made.on_revisions = lambda found: results.update({one.url: one.after.relevant for one in found})
    made.seed([HOME])
    for outcome in Replay(made, world):
        if outcome.page is not None and outcome.judgement is not None:
            results.setdefault(outcome.page.url, outcome.judgement.relevant)
    return {url.removeprefix(HOME): relevant for url, relevant in results.items()}


def test_what_shows_a_result_again_is_none() -> None:
    results = results_of(Wiki())
    histories = [url for url in results if "_history" in url]
    assert len(histories) > ISSUES / 4  # they came, until they were known and at the end
    assert not any(results[url] for url in histories[1:]), "what the first one says was new"
    assert {url for url in results if results[url] and url not in histories} == {
        f"wiki/page{one}/" for one in range(0, ISSUES, 6)
    }


def test_a_form_below_what_a_result_has_makes_no_other_result() -> None:
    results = results_of(Shop())
    told = [url for url, relevant in results.items() if relevant]
    assert {url for url in told if "review" not in url} == {f"g{at}/" for at in range(0, ISSUES, 3)}
    assert sum("review" in url for url in told) <= 2, "until the form is known"


def test_what_another_form_of_a_url_with_the_same_numbers_says_again_is_no_result() -> None:
    results = results_of(Lite())
    told = [int(re.findall(r"\d+", url)[0]) for url, relevant in results.items() if relevant]
    assert {*told} == set(range(4, ISSUES, 4))
    assert len(told) < 1.25 * len({*told}), "but for the first ones, each is told once"


def test_a_page_with_words_of_its_own_below_a_result_is_one_beside_others_that_have_none() -> None:
    results = results_of(Films())
    reviews = {url: int(url.split("/")[1][1:]) for url in results if url.endswith("reviews")}
    assert len(reviews) > ISSUES / 2
    told = {url for url in reviews if results[url]}
    assert told == {url for url, at in reviews.items() if at % 6 == 0}


def test_empty_pages_of_one_user_take_no_results_of_another_on_their_host() -> None:
    traps = Traps()

    def post(user: str, number: int, text: str) -> str:
        url = f"{HOME}users/{user}/posts/{number}"
        traps.ended(parse(f"<p>{text}</p>".encode(), url), relevant=True)
        return url

    empty = [post("mallory", one, "A kiln and nothing") for one in range(20)]
    own = [post("alice", one, words(one)) for one in range(4)]
    assert traps.view_of(empty[9])[1] == f"{HOME}users/mallory/posts"
    other = Traps()
    other.load(unpack(pack(traps.save())))
    assert other.view_of(empty[9]) == traps.view_of(empty[9])
    assert not any(map(traps.view_of, own))


def test_posts_that_links_call_by_their_titles_are_results_beside_a_list_of_them() -> None:
    results = results_of(Permalinks())
    posts = {url for url in results if url.startswith("p")}
    assert len(posts) > 12
    assert {url for url in posts if results[url]} == {url for url in posts if int(url[1:]) % 4 == 0}


def test_a_view_of_what_is_no_result_may_be_one() -> None:
    """One that a person wants is one, and of two that show one another one stays."""
    pages = [
        parse(f"<title>{words(one, 3)}</title>{words(one)}".encode(), f"{HOME}{one}")
        for one in range(20)
    ]
    kilns = [
        parse(f"<title>Kiln</title>Kiln {words(30 + one)} kiln".encode(), f"{HOME}k{one}")
        for one in range(4)
    ]
    whole = {f"{HOME}k0": f"{HOME}1", f"{HOME}k1": f"{HOME}k2", f"{HOME}k2": f"{HOME}k1"}
    judge = Relevance(wish("kiln"))
    judge.views_by(lambda url: (whole[url],) if url in whole else ())
    told = {page.url: judge.judge(page).relevant for page in [*pages, *kilns]}

    def results() -> set[str]:
        told.update({url: one.relevant for url, one in judge.revise()})
        return {url.removeprefix(HOME) for url in told if told[url]}

    assert results() in ({"k0", "k1", "k3"}, {"k0", "k2", "k3"})
    whole[f"{HOME}k2"] = f"{HOME}k3"
    assert results() == {"k0", "k3"}
    judge.label(f"{HOME}k1", True)
    assert results() == {"k0", "k1", "k3"}
    judge.label(f"{HOME}k3", False)
    judge.label(f"{HOME}k1", False)
    assert results() == {"k0", "k2"}, "what it showed again is no result any more"


def test_a_copy_of_a_result_of_its_site_is_none() -> None:
    """Under another URL of the site; not on another site, in a watch, or where there are a few
    words alone."""
    kiln, frame = f"Kiln {words(30)} kiln", f"Kiln {words(31, 4)}"
    texts = {
        **{f"{HOME}{one}": f"Pot {words(one)}" for one in range(20)},
        **{f"{HOME}{name}": kiln for name in ("k?id=1", "k?id=2", "l")},
        "http://b.example/k": kiln,
        **{f"{HOME}{name}": frame for name in ("s1", "s2")},
    }
    pages = [
        parse(f"<title>{text.split()[0]}</title>{text}".encode(), url)
        for url, text in texts.items()
    ]
    for watch in (False, True):
        judge = Relevance(wish("kiln"))
        judge.tells_once = watch
        told = {page.url: judge.judge(page).relevant for page in pages[:-1]}
        other = Relevance(wish("kiln"))
        other.load(unpack(pack(judge.save())))
        told[pages[-1].url] = judge.judge(pages[-1]).relevant
        assert other.judge(pages[-1]).relevant == told[pages[-1].url]
        told |= {url: one.relevant for url, one in judge.revise()}
        copies = {url for url in texts if texts[url] in (kiln, frame) and not told[url]}
        assert copies == (set() if watch else {f"{HOME}k?id=2", f"{HOME}l"})
        judge.label(f"{HOME}k?id=2", True)
        told |= {url: one.relevant for url, one in judge.revise()}
        assert told[f"{HOME}k?id=2"]
        assert told[f"{HOME}k?id=1"]


def copied(*names: str, cut: bool = False) -> list[Page]:
    """Pages about pots, and behind them pages of a kiln that say the same."""
    text = f"<title>Kiln</title>Kiln {words(30)} kiln"
    pots = [f"<title>Pot</title>Pot {words(one)}" for one in range(20)]
    return [
        *(parse(one.encode(), f"{HOME}{at}") for at, one in enumerate(pots)),
        *(
            parse(text.encode(), name if "//" in name else HOME + name, truncated=cut)
            for name in names
        ),
    ]


def results_by(judge: Relevance | SecondOpinion, pages: Sequence[Page]) -> set[str]:
    told = {page.url: judge.judge(page).relevant for page in pages}
    return {url for url, its in (told | newest(judge)).items() if its}


def newest(judge: Relevance | SecondOpinion) -> dict[str, bool]:
    assert isinstance(judge, Rejudges)
    return {url: one.relevant for url, one in judge.revise()}


def test_of_copies_one_is_a_result_though_the_first_is_none() -> None:
    judge = Relevance(wish("kiln"))
    assert results_by(judge, copied("k0", "k1", "k2", "k3")) == {f"{HOME}k0"}
    judge.label(f"{HOME}k0", False)
    assert newest(judge) == {f"{HOME}k0": False, f"{HOME}k1": True}
    judge.label(f"{HOME}k1", False)
    assert newest(judge) == {f"{HOME}k1": False, f"{HOME}k2": True}
    assert not judge.judge(copied("k4")[-1]).relevant
    judge.judge(parse(b"<title>Pot</title>Pot", f"{HOME}k2"))  # rendered, it says something else
    assert judge.judge(copied("k5")[-1]).relevant


def test_a_copy_of_a_view_of_a_result_is_none_beside_it() -> None:
    """Wherever the view came; and each says where what it shows stands."""
    for order in (("k", "v", "c"), ("c", "v", "k"), ("v", "k", "c")):
        judge = Relevance(wish("kiln"))
        judge.views_by(lambda url: (f"{HOME}k",) if url == f"{HOME}v" else ())
        pages = copied(*order)
        at = [page.url for page in pages].index(f"{HOME}k")
        pages[at] = replace(pages[at], text=f"{pages[at].text} sort of kiln")
        told = {page.url: judge.judge(page) for page in pages}
        told |= dict(judge.revise())
        assert {url for url, one in told.items() if one.relevant} == {f"{HOME}k"}
        for name in "vc":
            (first, _), (where, score), *_ = told[HOME + name].why
            assert first == SHOWS_AGAIN
            assert where.startswith(f"{SHOWN_AT}{HOME}")
            assert score > told[HOME + name].score


def test_a_stranger_under_the_same_domain_takes_no_result_by_a_copy_of_it() -> None:
    for where in ("http://{}.blogs.example/k", "http://a.example/~{}/k"):
        pages = {where.format(one) for one in ("mallory", "alice")}
        assert results_by(Relevance(wish("kiln")), copied(*pages)) == pages


def test_documents_that_begin_alike_are_no_copies() -> None:
    """Nor are those of which the end is not known."""
    judge = Relevance(wish("kiln"))
    begin = "Kiln " + " ".join(words(one) for one in range(60, 100))
    assert len(begin) > 10_000
    for end in ("clay", "loam"):
        page = replace(copied("k")[-1], url=HOME + end, text=begin * 15 + end)
        assert judge.judge(page).relevant
    whole = {f"{HOME}k0", f"{HOME}k1"}
    assert results_by(Relevance(wish("kiln")), copied("k0", "k1", cut=True)) == whole


def test_a_page_of_an_earlier_crawl_that_moved_is_a_result_where_it_is_now() -> None:
    before = Relevance(wish("kiln"))
    assert results_by(before, copied("old")) == {f"{HOME}old"}
    judge = Relevance(wish("kiln"))
    judge.key_sample(b"of a crawl that begins")
    judge.load(unpack(pack(before.save())))
    assert judge.judge(copied("new")[-1]).relevant
    again = Relevance(wish("kiln"))
    again.load(unpack(pack(judge.save())))
    for one in (judge, again):
        assert not one.judge(copied("other")[-1]).relevant
        assert not newest(one).get(f"{HOME}other", False)


def test_a_copy_is_no_result_by_a_second_opinion() -> None:
    names = [f"k{one}" for one in range(6)]
    for yes in (True, False):
        asked = list[str]()

        def ask(text: str, prompt: str, yes: bool = yes, asked: list[str] = asked) -> float:
            asked.append(text)
            return float(yes and "Kiln" in text)

        judge = SecondOpinion(Relevance(wish("kiln")), ask, limits=Limits(share=1.0))
        assert results_by(judge, copied(*names)) == ({f"{HOME}k0"} if yes else set())
        assert len(asked) == len({*asked})


def test_a_judge_that_goes_on_from_a_saved_state_takes_the_same_pages_for_views() -> None:
    """Also where it has learned from the page that came last, and is asked for verdicts next."""
    titles = ["Kiln" if one % 4 == 3 else "Pot" for one in range(40)]
    pages = [
        parse(f"<title>{title}</title>{title} {words(at)} {title}".encode(), f"{HOME}{at}")
        for at, title in enumerate(titles)
    ]

    def made() -> Relevance:
        judge = Relevance(wish("kiln"))
        judge.views_by(lambda url: (f"{HOME}{int(url.removeprefix(HOME)) - 4}",))
        return judge

    judge, other = made(), made()
    for page in pages:
        judge.judge(page)
        other.load(unpack(pack(judge.save())))
        assert judge.revise() == other.revise()


def test_a_page_with_a_parameter_that_does_not_matter_is_a_view_of_the_page_without() -> None:
    traps = Traps()
    for one in range(8):
        for path in (f"p{one}", f"p{one}?print=1"):
            traps.ended(parse(f"{words(one)} {words(90)}".encode(), HOME + path), relevant=False)
    assert traps.view_of(f"{HOME}p9?print=1") == (f"{HOME}p9",)
    assert traps.view_of(f"{HOME}p9") == traps.view_of(f"{HOME}p9?page=1") == ()


def test_they_are_asked_for_once_nothing_else_is_left() -> None:
    traps = Traps()
    asked = crawl(Tracker(), 5_000, CrawlFilter(Scope(), traps=traps))
    messages = [one for one in asked if one.startswith("msg")]
    assert len(asked) == len(set(asked))
    assert len({*asked} - {*messages}) == 1 + ISSUES
    last = asked[-len(messages) + 8 :]
    assert len(messages) > 8
    assert all(one.startswith("msg") for one in last)
    views = {one: traps.view_of(HOME + one) for one in asked}
    assert not any(views[one] for one in asked if one not in messages)
    wholes = [(f"{HOME}issue{int(one[3:]) // MESSAGES}",) for one in messages]
    assert sum(views[one] == whole for one, whole in zip(messages, wholes, strict=True)) > 8
    assert all(views[one] in ((), whole) for one, whole in zip(messages, wholes, strict=True))


@pytest.mark.parametrize("world", [Titled, Longer])
def test_what_a_link_calls_by_its_title_and_what_says_more_are_documents(
    world: type[Tracker],
) -> None:
    asked = crawl(world(), 1 + ISSUES + ISSUES)
    plain = CrawlFilter(Scope(), traps=Traps())
    assert plain._traps is not None
    plain._traps._views.is_view = lambda *_: False  # type: ignore[method-assign]
    plain._traps._views.among = lambda *_: frozenset()  # type: ignore[method-assign]
    assert asked == crawl(world(), 1 + ISSUES + ISSUES, guard=plain)


class Diary:
    """A blog of 200 days, each in full on a list and on a page of its own with nothing more: their
    links say dates, and their URLs differ in numbers."""

    def __init__(self) -> None:
        self.asked = list[str]()

    def answer(self, fetch: Fetch) -> Fetched:
        self.asked.append(fetch.url.removeprefix(HOME))
        name, _, number = self.asked[-1].partition("/")
        at = int(number or "1")
        days = [at] if name == "day" else range(10 * at - 9, 10 * at + 1)
        following = f'<a href="/page/{at + 1}">older</a>' if name != "day" and at < 20 else ""
        body = "".join(map(self.entry, days)) + following
        return Fetched(fetch.ticket, parse(f"<p>A diary</p>{body}".encode(), fetch.url))

    @staticmethod
    def entry(day: int) -> str:
        time = f"<time>{day % 28 + 1} May {2000 + day // 28}</time>"
        return f'<h2><a href="/day/{day}">{time}</a></h2><p>{words(day)}</p>'


def test_what_a_list_has_in_full_is_no_view_and_news_all_the_same() -> None:
    """Else nothing of most of it is found, since lists of documents are no results."""
    world = Diary()
    crawl(world, 5_000)
    assert {one for one in world.asked if one.startswith("day/")} == {
        f"day/{at}" for at in range(1, 201)
    }


def seen(views: PageViews, numbers: range, home: str = HOME) -> list[object]:
    """Take in issues and their messages by the words of each, as a crawl does."""
    told: list[object] = []
    traps = Traps()
    traps._views = views
    for number in numbers:
        page = Tracker().page(f"{home}issue{number}")
        traps.linked_from = _linked_from
        told.append(sorted(_views(traps, page, home)))
        url = f"{home}msg{MESSAGES * number}"
        message = Tracker().page(url)
        told.append(sorted(_views(traps, message, page.url)))
        told.append(views.is_view(f"{home}msg{MESSAGES * number + 1}", _linked_from))
    return told


def _views(traps: Traps, page: Page, found_on: str) -> frozenset[str]:
    traps.read(page, page.links, lambda: found_on)
    return traps.views(page.url, page.links, lambda url: False)


def _linked_from(url: str) -> list[tuple[str, str]]:
    home, _, name = url.rpartition("/")
    if "msg" not in name:
        return [(f"{home}/", "one of them")]
    number = int(name.removeprefix("msg"))
    return [(f"{home}/issue{number // MESSAGES}", f"msg{number} (view)")]


def test_what_is_known_goes_on_from_a_saved_state() -> None:
    whole, first, second = PageViews(), PageViews(), PageViews()
    both = seen(whole, range(20))
    assert any(both)
    before = seen(first, range(12))
    second.load(unpack(pack(first.save())))
    assert pack(second.save()) == pack(first.save())
    assert before == both[: len(before)]
    traps = Traps()
    traps._views = second
    page = Tracker().page(f"{HOME}issue12")
    assert len(traps.views(page.url, page.links, lambda url: False)) == MESSAGES


def test_no_page_of_another_host_speaks_for_a_relation() -> None:
    views = PageViews()
    seen(views, range(20))
    assert not views.is_view(
        "http://b.example/msg7", lambda url: [(f"{HOME}issue1", "msg7 (view)")]
    )
    assert not views.is_view(f"{HOME}msg7", lambda url: [("http://b.example/", "msg7 (view)")])
    assert not views.is_view(f"{HOME}msg7", lambda url: [("", "")]), "a seed"
    assert not views.is_view(f"{HOME}msg7", lambda url: [])


def test_what_was_seen_of_one_host_says_nothing_of_another_whose_name_differs_in_a_number() -> None:
    one, other = "http://mirror-of-a-tracker-1.example/", "http://mirror-of-a-tracker-2.example/"
    views = PageViews()
    assert any(seen(views, range(30), one))
    assert not any(seen(views, range(6), other)), "two views of its own are too few"


def test_tables_are_bounded() -> None:
    views = PageViews()
    traps = Traps()
    traps._views = views
    for number in range(400):
        page = parse(f"<p>{words(number)}</p>".encode(), f"{HOME}{words(number, 1)}{number}")
        traps.read(page, page.links, lambda: HOME)
    assert len(views._sketches) == 256


def test_versions_with_names_of_their_own_are_views_of_one_another() -> None:
    """Of files, of which each version has one line more; the words of each file are its own."""
    views = PageViews()
    traps = Traps()
    traps._views = views

    def version(file: int, number: int) -> Page:
        text = f"{words(10 + file, 60)} {words(600 + 9 * file + number, 3)}"
        url = f"{HOME}?a=blob;f=file-{chr(97 + file)}.py;hb={number}{'f' * 8}{file}"
        return parse(f"<p>{text}</p>".encode(), url)

    def linked_from(url: str) -> list[tuple[str, str]]:
        return [(HOME, "blob")]

    for file in range(8):
        for number in range(2):
            page = version(file, number)
            traps.read(page, page.links, lambda: HOME)
    listing = "".join(f'<a href="{version(one, 7).url}">blob</a>' for one in range(8))
    home = parse(listing.encode(), HOME)
    traps.read(home, home.links)
    assert {version(one, 7).url for one in range(3, 8)} <= traps.views(
        home.url, home.links, lambda url: False
    )
    assert views.is_view(version(2, 8).url, linked_from)
    assert not views.is_view(version(9, 8).url, linked_from), "a file of which none is there"
    assert not views.is_view(f"{HOME}?a=commit;h=1{'f' * 8}", linked_from)
    assert not views.is_view(version(2, 8).url, lambda url: [(HOME, "file-c.py")])
