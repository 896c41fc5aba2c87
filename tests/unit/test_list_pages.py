"""List pages: which pages are made of headings that lead to documents, and what becomes of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopback import ADDRESS, Loopback, beside, reply, site
from spoor.cli.main import run
from spoor.documents.page import page_of
from spoor.judges.keywords import Keywords
from spoor.judges.no_results import LIST_SCORE, ONLY_LISTS
from spoor.judges.relevance import Relevance
from spoor.judges.second_opinion import Limits, SecondOpinion
from spoor.judges.topic import judge_of_topic, read_topic
from spoor.judges.topic_draft import TopicDraft
from spoor.judges.wish import parse as wish
from spoor.protocols import Rejudges
from spoor.runs import files
from spoor.runs.assemble import judge_and_topic
from spoor.runs.inputs import with_inputs
from spoor.runs.reader import Run
from spoor.runs.writer import RunWriter
from spoor.settings import Settings
from spoor.types import Page
from spoor.web import list_pages
from spoor.web.page import parse

SIDEBAR = "".join(f'<li><a href="/tag/{at}/">a tag</a></li>' for at in range(40))
MENU = '<nav><a href="/">Home</a> <a href="/about/">About us</a></nav>'
ASIDE = f"<aside><h2>Tags</h2><ul>{SIDEBAR}</ul></aside>"
TEXT = "A potter fires a kiln slowly because wet clay cracks when it is heated too fast. " * 12
DATE = '<time datetime="2024-05-06">6 May 2024</time>'


def is_list(body: str, url: str = "http://a.example/blog/") -> bool:
    page = parse(body.encode(), url, content_type="text/html; charset=utf-8")
    return "list" in page.flags


def entry(at: int, *, marked: bool, text: str = "What happened at the kiln that day …") -> str:
    """One of a blog's front page: as WordPress marks it, or with a date alone."""
    name = f'<h2><a href="/{at}/">Post number {at}</a></h2><p>{text}</p>'
    return f'<article class="post hentry">{name}</article>' if marked else f"<li>{name}{DATE}</li>"


def entries(count: int, *, marked: bool) -> str:
    return "".join(entry(at, marked=marked) for at in range(count))


@pytest.mark.parametrize("marked", [True, False])
def test_pages_of_a_blog_are_lists(marked: bool) -> None:
    assert is_list(f"{MENU}<h1>About kilns</h1>{entries(10, marked=marked)}{ASIDE}")


def test_the_page_of_a_tag_with_one_entry_is_a_list_where_it_is_marked() -> None:
    assert is_list(f"{MENU}<h1>About kilns</h1>{entries(1, marked=True)}{ASIDE}")
    assert not is_list(f"{MENU}<h1>About kilns</h1>{entries(2, marked=False)}{ASIDE}")


@pytest.mark.parametrize(
    "teaser",
    [
        f'<div><a href="/7/AT/"><h3>A card that is a link</h3><p>Of a few words.</p></a>{DATE}</div>',
        f'<div>{DATE}<h3><a href="/7/AT/">The date comes first</a></h3><p>Then words.</p></div>',
        f'<li><h3><a href="/7/AT/">窯の歴史</a></h3><p>短い 文</p>{DATE}</li>',
    ],
)
def test_teasers_of_many_kinds_make_a_list(teaser: str) -> None:
    assert is_list("<h1>News</h1>" + "".join(teaser.replace("AT", str(at)) for at in range(6)))


TITLES = ["A kiln of brick", "Ash glazes", "Cones and what they tell", "Raku at night"]
DAYS = ["June {}, 2025", "{} June 2025", "{}. Juni 2025", "{} de junio de 2025", "2025-06-0{}"]
DAYS += ["0{}.06.2025", "Fri 0{} June 2025", "2025年6月{}日"]


def dated(unit: str, day: str = DAYS[0]) -> str:
    """Four entries, each with a day in words."""
    return "".join(
        unit.format(at=at, title=title, day=day.format(at + 1)) for at, title in enumerate(TITLES)
    )


@pytest.mark.parametrize("day", DAYS)
def test_a_day_in_words_dates_an_entry(day: str) -> None:
    unit = '<div><h2><a href="/{at}">{title}</a></h2><p>Posted on {day}</p><p>What came …</p></div>'
    assert is_list(dated(unit, day))
    assert is_list(
        dated('<div>{day} <h2><a href="/{at}">{title}</a></h2><p>It came …</p></div>', day)
    )
    assert not is_list(dated(unit, "in June of that year"))
    assert not is_list(dated(unit, "with {} helpers from 2025"))


def test_a_day_that_a_text_speaks_of_dates_nothing() -> None:
    told = "She was born in a town of potters beside a long river in the hills on {day}, and " * 2
    after = "then learned there what her mother knew of clay and ash, of salt and of wood."
    assert not is_list(dated(f'<h2><a href="/{{at}}">{{title}}</a></h2><p>{told}{after}</p>'))


@pytest.mark.parametrize(
    "unit",
    [
        '<li><span>{day}</span> <a href="/{at}">{title}</a></li>',
        '<dt>{day}</dt><dd><a href="/{at}">{title}</a></dd>',
        '<li><a href="/{at}">{title}</a> <time datetime="2025-06-05">5th</time></li>',
        '<tr><td><a href="/{at}">{title}</a></td><td>Ann</td><td>{day}</td></tr>',
    ],
)
def test_links_with_their_dates_and_little_else_are_a_list(unit: str) -> None:
    assert is_list(f"{MENU}<h1>About kilns</h1>{dated(unit)}{ASIDE}")
    assert not is_list(f"<h1>Kilns</h1><p>{TEXT}</p>{dated(unit)}")
    assert not is_list(f"{dated(unit)}<p>{TEXT}</p>")


APACHE = (
    '<tr><td><a href="{name}">{said}</a></td><td align="right">2023-05-25 15:54</td>'
    '<td align="right">1.9K</td></tr>'
)
NGINX = '<a href="{name}">{cut}</a>{gap}25-May-2023 15:54{gap}1949\n'


def listing(row: str, names: list[str], *, above: str = "") -> str:
    said = [unquote(name) for name in names]
    cut = [f"{name[:13]}..&gt;" if len(name) > 16 else name for name in said]
    rows = (
        row.format(name=n, said=s, cut=c, gap=" " * 30)
        for n, s, c in zip(names, said, cut, strict=True)
    )
    orders = '<a href="?C=N;O=D">Name</a> <a href="?C=M;O=A">Last modified</a>'
    return f"<h1>Index of /blog</h1><table>{orders}{above}{''.join(rows)}</table>"


@pytest.mark.parametrize("row", [APACHE, NGINX])
def test_the_listing_of_a_folder_of_files_is_a_list(row: str) -> None:
    names = ["NEWS.Debian.gz", "kilns%20and%20glazes/", "potters-handbook.pdf"]
    assert is_list(listing(row, names))
    assert is_list(listing(row, names[:2], above='<a href="/">Parent Directory</a>'))
    assert not is_list(listing(row, [f"/people/{name}" for name in names[::2]]))
    assert not is_list(f"{listing(row, names)}<p>{TEXT}</p>".replace("<table>", f"<p>{TEXT}</p>"))


def test_a_short_article_above_links_with_dates_is_none() -> None:
    """Whether its own links part its text, or it has few words below its date."""
    row = '<li><a href="/PART{at}">{title}, and what came of it all in the end</a> {day}</li>'
    rows = "".join(dated(row.replace("PART", part)) for part in "abcde")
    said = "A potter fires a kiln slowly because wet clay cracks when heated. "
    parted = (said * 4 + '<a href="http://b.example/">so it is said</a> ') * 3
    assert is_list(f"<h1>Kilns</h1>{rows}")
    assert is_list(f"<h1>Kilns</h1><p>{said}</p>{rows}")
    assert not is_list(f"<h1>Kilns</h1><p>{parted}</p>{rows}")
    assert not is_list(f"<h1>Kilns</h1>{DATE}<p>{said * 4}</p>{rows}")


@pytest.mark.parametrize(
    ("link", "is_one"), [("<link>http://a.example/7</link>", True), ("", False)]
)
def test_a_feed_that_leads_to_documents_is_a_list(link: str, is_one: bool) -> None:
    item = f"<item><title>A kiln of brick</title>{link}<description>It burns.</description></item>"
    feed = f"<?xml version='1.0'?><rss version='2.0'><channel><title>Kilns</title>{item}</channel></rss>"
    page = page_of(feed.encode(), "http://a.example/kilns.xml", content_type="application/rss+xml")
    assert ("list" in page.flags) is is_one


CARD = '<article><a href="/{at}"><h2>{title}</h2></a><p>{text}</p></article>'
COVERED = (
    "<article><header><h2>{title}</h2></header><p>{text}</p>"
    '<a aria-label="to it" href="/{at}"></a></article>'
)
HEADED = '<article><header><h2><a href="/{at}">{title}</a></h2></header><p>{text}</p></article>'


def articles(unit: str, count: int, text: str = "It says what a kiln is …") -> str:
    return "".join(unit.format(at=at, title=TITLES[at], text=text) for at in range(count))


@pytest.mark.parametrize("unit", [CARD, COVERED, HEADED], ids=["card", "covered", "headed"])
def test_articles_that_each_lead_to_a_document_are_a_list(unit: str) -> None:
    assert is_list(f"{MENU}<h1>About kilns</h1>{articles(unit, 4)}")
    assert not is_list(f"{MENU}<h1>Kilns</h1><p>{TEXT}</p>{articles(unit, 4)}")
    assert not is_list(articles(unit, 4).replace("article>", "div>"))
    assert not is_list(f"<header>{articles(unit, 4)}</header><p>{TEXT}</p>")


@pytest.mark.parametrize("count", [1, 2])
def test_few_articles_are_a_list_where_a_heading_is_above_them_and_no_other_is_there(
    count: int,
) -> None:
    few = articles(CARD, count)
    assert is_list(f"<h1>Tagged with kilns</h1>{few}")
    assert not is_list(few)
    assert not is_list(f"<h1>Kilns</h1><article><p>Of my own.</p></article>{few}")
    assert not is_list(f"<h1>Kilns</h1><p>{TEXT}</p>{few}")


def test_what_a_form_offers_is_no_text_above_the_articles_of_a_list() -> None:
    offered = f"<form><select>{'<option>A tongue of many words' * 60}</select></form>"
    assert is_list(f"{offered}<h1>Kilns</h1>{offered}{articles(CARD, 3)}")


@pytest.mark.parametrize(("size", "is_one"), [(40, False), (8, True)])
def test_articles_in_an_article_with_a_text_of_its_own_are_comments(
    size: int, is_one: bool
) -> None:
    text = " ".join(TEXT.split()[:size])
    inner = f"<h1>A kiln</h1><p>{text}</p>{articles(CARD, 4)}"
    assert is_list(f"<article>{inner}</article>") == is_one
    assert is_list(inner)


def test_pictures_over_articles_are_no_documents() -> None:
    """Those of an avalanche report: a few articles lead to theirs, the others do not."""
    rest = "<article><h2>What the snow did</h2><p>It slid, and slid again.</p></article>" * 4
    assert not is_list(articles(COVERED, 3) + rest)


def test_kickers_and_related_stories_do_not_make_a_list_together() -> None:
    """A page of a newspaper: some articles in it begin with the name of a section, others have a
    date."""
    kicker = '<article><h6><a href="/s{at}">Business</a></h6></article>'
    related = '<div><h3><a href="/{at}">{title}</a></h3>{day}<p>'
    related += "What was said of it in town by those who saw it and by those who had not.</p></div>"
    assert not is_list(dated(kicker + related.replace("{at}", "r{at}")))


PERSON = '<li><h3><a href="/people/{at}/">Ada Person {at}</a></h3><p>Fires our kilns.</p></li>'
POST = (
    '<div><h4><a href="/members/{at}/">potter{at}</a></h4>'
    f"{DATE}<p>I would fire it again, and more slowly this time, if the glaze allows.</p></div>"
)
TERM = '<h2><a href="/g/{at}/">Cone {at}</a></h2><p>A cone that bends when a kiln is hot.</p>'


@pytest.mark.parametrize("unit", [PERSON, POST, TERM], ids=["team", "thread", "glossary"])
def test_what_has_no_dated_titles_is_none(unit: str) -> None:
    assert not is_list("<h1>All of them</h1>" + "".join(unit.format(at=at) for at in range(8)))


@pytest.mark.parametrize("marked", [True, False])
def test_an_article_with_related_ones_is_none(marked: bool) -> None:
    related = entries(6, marked=marked)
    article = f'<article class="hentry"><h1>Kilns</h1>{DATE}<p>{TEXT}</p></article>'
    logo = '<header><h2><a href="/">The Potter</a></h2></header>'
    assert not is_list(f"{logo}{MENU}{article}<h2>Related</h2>{related}{ASIDE}")
    assert not is_list(f"{related}{article}")


@pytest.mark.parametrize("size", [50, 150])
@pytest.mark.parametrize("linked", [False, True])
def test_a_short_article_with_related_ones_is_none(size: int, linked: bool) -> None:
    words = TEXT.split()[:size]
    if linked or size > 100:  # a long text without a link is told by that
        words[40] = f'<a href="/see/">{words[40]}</a>'
    if size > 100:
        words[110] = f'<a href="/see/too/">{words[110]}</a>'
    brief = f"<h1>A kiln burst</h1>{DATE}<p>{' '.join(words)}</p>"
    teaser = " ".join(TEXT.split()[:20])
    related = "".join(entry(at, marked=False, text=teaser) for at in range(10))
    assert not is_list(f"{MENU}{brief}<h2>Related</h2>{related}")


def test_a_list_may_say_what_it_is_of() -> None:
    about = f"<h1>About kilns</h1><p>{' '.join(TEXT.split()[:60])}</p>"
    assert is_list(f"{MENU}{about}{entries(10, marked=False)}")
    date_first = entries(10, marked=False).replace(DATE, "").replace("<h2>", f"{DATE}<h2>")
    assert is_list(f"{MENU}{about}{date_first}")


def test_linked_headings_in_the_text_of_an_entry_are_no_entries() -> None:
    parts = "".join(f'<h3><a href="/shop/{at}/">A good kiln</a></h3><p>Buy it.</p>' for at in "ab")
    text = f'<div class="entry-content">{parts}</div>'
    assert not is_list(f'<article class="hentry"><h1>Five kilns</h1>{text}</article>')


def test_the_title_of_a_page_and_of_its_folders_are_no_entries() -> None:
    own = '<article class="hentry"><h2><a href="{}">Kilns</a></h2><p>Short.</p></article>'
    at = "http://a.example/blog/kilns/"
    for url in ("/blog/kilns/", "/blog/", "/", "#top"):
        assert not is_list(own.format(url), at)
    named = f'<link rel="canonical" href="/?p=7">{own.format("/?p=7")}'
    assert not is_list(named, at)


UNITS = ("<h2>", "</h2>", '<a href="/x">', "</a>", "<time>", "<article class=hentry>", "a b", "<a>")


@given(st.lists(st.sampled_from(UNITS), max_size=60), st.sampled_from(("", "x:", "http://a/")))
def test_whatever_a_page_holds_and_wherever_it_stands_it_is_read(
    parts: list[str], url: str
) -> None:
    is_list("".join(parts), url)


# ---------------------------------------------------------------- the judge

WORDS = "Kilns, kilns and kilns. A kiln is an oven for clay. "


def pages(kind: str = "list") -> list[Page]:
    """Twelve articles, four of them about kilns, and two list pages about them."""
    found = [
        Page(f"http://a.example/{at}/", title=f"{word} {at}", text=f"{word} {at} and more. " * 20)
        for at, word in enumerate(["kiln"] * 4 + ["ledger"] * 8)
    ]
    lists = [
        Page(
            f"http://a.example/t/{at}/",
            title="About kilns",
            text=WORDS * 9,
            flags=frozenset({kind}),
        )
        for at in range(2)
    ]
    return [*found, *lists]


def told(judge: Relevance, seen: list[Page]) -> set[str]:
    now = {page.url: judge.judge(page) for page in seen}
    now |= dict(judge.revise())
    lists = [now[page.url] for page in seen if "list" in page.flags]
    assert all(one.score <= LIST_SCORE for one in lists if not one.relevant)
    assert all(one.why[0][0] == ONLY_LISTS for one in lists if not one.relevant)
    return {url.removeprefix("http://a.example") for url, one in now.items() if one.relevant}


LIST = frozenset({"list"})
ARTICLES = {f"/{at}/" for at in range(4)}
LISTS = {"/t/0/", "/t/1/"}


def test_a_list_page_is_no_result_but_where_it_is_wanted() -> None:
    assert told(Relevance(wish("kiln")), pages()) == ARTICLES
    assert told(Relevance(wish("kiln")), pages("noai")) == ARTICLES | LISTS
    judge = Relevance(wish("kiln"))
    judge.takes_lists = True
    assert told(judge, pages()) == ARTICLES | LISTS


def test_a_list_that_is_sorted_or_filtered_is_a_list_whatever_is_left_of_it() -> None:
    judge = Relevance(wish("kiln"))
    text = "Kiln kiln kiln: no results"
    some = [
        Page("http://a.example/c/?id=3", title="Kilns", text=text, flags=LIST),
        Page("http://a.example/c/?id=3&filter=blue", title="Kilns", text=text + " found"),
        Page("http://a.example/c/?id=3&page=about", title="Kilns", text=text + " here"),
        Page("http://a.example/c/?id=4&filter=blue", title="Kilns", text=text + " there"),
        Page("http://a.example/c/?id=3&filter=red", title="A kiln", text=text + " again"),
    ]
    results = [judge.judge(page).relevant for page in some[:2]]
    again = Relevance(wish("kiln"))
    again.load(judge.save())
    assert [*results, *(again.judge(page).relevant for page in some[1:])] == [
        *(False, False),
        *(False, True, True, True),
    ]


def test_who_gives_a_list_page_as_an_example_wants_list_pages() -> None:
    *_, example, other = pages()
    assert other.url.removeprefix("http://a.example") in told(
        Relevance(wish("kiln"), positive=[example]), pages()
    )


def test_a_topic_file_of_examples_that_are_list_pages_takes_list_pages(tmp_path: Path) -> None:
    for examples, takes in ((pages()[-2:], True), (pages()[:2], False)):
        draft = TopicDraft(name="kiln")
        draft.take_few(examples, [])
        draft.write(tmp_path / "kiln.topic")
        judge = judge_of_topic(read_topic(tmp_path / "kiln.topic"))
        assert isinstance(judge, Relevance)
        assert judge.takes_lists is takes


@pytest.mark.parametrize("also_lists", [False, True])
def test_one_of_several_targets_takes_list_pages_where_they_are_asked_for(also_lists: bool) -> None:
    wanted = ("query:kiln", "type:application/pdf")
    judge, _ = judge_and_topic(Settings(want=wanted, list_pages=also_lists))
    judged = {page.url: judge.judge(page) for page in pages()}
    assert isinstance(judge, Rejudges)
    judged |= dict(judge.revise())
    assert judged["http://a.example/0/"].relevant
    assert judged["http://a.example/t/1/"].relevant is also_lists


@pytest.mark.parametrize("also_lists", [False, True])
def test_a_second_opinion_is_asked_of_list_pages_where_they_may_count(also_lists: bool) -> None:
    asked: list[str] = []

    def ask(text: str, prompt: str) -> bool:
        asked.append(text)
        return True

    near = Keywords(["kiln", "glaze"], threshold=0.6)
    judge = SecondOpinion(near, ask, limits=Limits(share=1.0), list_pages=also_lists)
    for page in pages():
        judge.judge(page)
    told = judge.judge(Page("http://a.example/t/9/", text="a kiln", flags=frozenset({"list"})))
    assert told.relevant is also_lists
    assert ("a kiln" in "".join(asked)) is also_lists


def test_list_pages_have_no_say_in_what_is_a_result() -> None:
    """Pages of tags say little but the wish; the documents say it in passing."""
    rest = "The oven stands in a yard where clay dries, and it is hot for a day or two. " * 9
    found = [
        Page(
            f"http://a.example/{at}/", title=f"Yard {at}", text=f"A {word} stands here. {rest}{at}"
        )
        for at, word in enumerate(["kiln"] * 4 + ["ledger"] * 20)
    ]
    tags = [
        Page(
            f"http://a.example/t/{at}/",
            title=f"Kiln {at}",
            text=f"Kiln, kilns {at}. {WORDS}",
            flags=LIST,
        )
        for at in range(12)
    ]
    assert told(Relevance(wish("kiln")), found + tags) == ARTICLES


def test_a_person_has_the_last_word_on_a_list_page_also_after_a_restart() -> None:
    judge = Relevance(wish("kiln"))
    for page in pages():
        judge.judge(page)
    again = Relevance(wish("kiln"))
    again.load(judge.save())
    again.label("http://a.example/t/0/", True)
    now = dict(again.revise())
    assert now["http://a.example/t/0/"].relevant
    assert "http://a.example/t/1/" not in now or not now["http://a.example/t/1/"].relevant


def test_dates_are_looked_for_until_too_many_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words that are nearly dates took 48 ms of a page of 240 kB, four times the rest."""
    looked = list[bool]()

    def looks(words: Sequence[str], *, at_end: bool = False) -> bool:
        looked.append(at_end)
        return False

    monkeypatch.setattr(list_pages, "_has_day", looks)
    monkeypatch.setattr(list_pages, "_has_rows", lambda *_: False)
    titles = "".join(f"<h2><a href=/{at}>A kiln of {at}</a></h2>1/2/20" for at in range(100))
    assert "list" not in parse(titles.encode(), "http://a.example/").flags
    assert len(looked) == 2 * 21


# ---------------------------------------------------------------- a crawl


def test_only_lists_that_are_no_results_for_that_are_told(tmp_path: Path) -> None:
    """Not those of a crawl that takes lists, or of another judge, that are near enough to none."""
    home = "http://a.example/"
    writer = RunWriter(tmp_path / "x", with_inputs(Settings(topic="kiln"), [home]))
    rows = [(ONLY_LISTS, 0.4, 0), (ONLY_LISTS, 0.39, 0), ("said", 0.45, 0), (ONLY_LISTS, 1.0, 1)]
    with closing(sqlite3.connect(tmp_path / "x" / files.DATABASE)) as db, db:
        db.executemany(
            "INSERT INTO pages (url, host, flags, ticket, why, score, relevant)"
            " VALUES (?, 'a.example', 'list', ?, ?, ?, ?)",
            [
                (f"{home}{at}", at, json.dumps([[why, 0.0]]), *told)
                for at, (why, *told) in enumerate(rows)
            ],
        )
    settled = {one.url for one in writer.judged() if one.settled}
    assert settled == {f"{home}0", f"{home}1"}
    writer.close()
    assert {one.url for one in Run(tmp_path / "x").judged() if one.settled} == settled
    assert Run(tmp_path / "x").results_but_for(ONLY_LISTS) == 1


@pytest.mark.server
@pytest.mark.parametrize("also_lists", [False, True])
def test_a_crawl_reads_the_lists_of_a_blog_and_tells_its_articles(
    also_lists: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def post(at: int) -> str:
        return f"<title>Kiln {at}</title><article class=hentry><h1>Kiln {at}</h1>{TEXT}</article>"

    front = f"<title>Kilns, a blog about kilns</title><h1>Kilns</h1>{entries(6, marked=True)}"
    served = {"/blog/": reply(front), **{f"/{at}/": reply(post(at)) for at in range(6)}}
    server = Loopback(site(served))
    more = ["--list-pages"] if also_lists else []
    with beside(server.serving):
        at = ["--connect-to", f"{ADDRESS}:{server.port}", "--delay", "0", "--pages", "7"]
        out = ["--topic", "kiln", "--out", str(tmp_path / "x"), *more]
        assert run(["crawl", "http://a.example/blog/", *at, *out]) == 0
    found = {page.url for page in Run(tmp_path / "x").pages(relevant=True)}
    front = "http://a.example/blog/"
    assert (front in found) is also_lists
    assert found - {front} == {f"http://a.example/{at}/" for at in range(6)}
    line = "1 page that lists some was read for these: --list-pages counts them, too"
    assert (line in capsys.readouterr().out) is not also_lists


# ---- boards of a forum, issues of a tracker, what a member did


def thread_row(at: int, *, replies: int) -> str:
    """A thread on a board: its title, its pages, who began it, and its last post."""
    who = f'<a href="/member?uid={at}">Potter{at}</a>'
    title = f'<span class="new" id="t{at}"><a href="/thread?tid={at}">About glaze {at}</a></span>'
    last = (
        f'<td>02-1{at % 9}-2026, 08:4{at % 9} PM <a href="/thread?tid={at}&go=last">Last</a></td>'
    )
    cells = f"<td>{title}{who}, 01-2{at % 8}-2026</td><td>{replies}</td>{last}"
    return f'<tr class="{"odd" if at % 2 else "even unread"}">{cells}</tr>'


@pytest.mark.parametrize("count", [3, 20])
def test_the_threads_of_a_board_are_a_list_whatever_its_form_offers(count: int) -> None:
    rows = "".join(thread_row(at, replies=at) for at in range(count))
    jump = "".join(f"<option>-- The board of clay and kilns {at}</option>" for at in range(90))
    board = f"<h1>Glazes</h1><table>{rows}</table><form><select>{jump}</select></form>"
    assert is_list(board, "http://a.example/board?fid=1")
    assert not is_list(f"{board}<p>{TEXT * 6}</p>", "http://a.example/board?fid=1")


@pytest.mark.parametrize("name", ["Ann{}", "Ann Moss{}"])
@pytest.mark.parametrize("size", [14, 60])
def test_the_posts_of_a_thread_are_no_list(name: str, size: int) -> None:
    letters = "abcdefghij"
    posts = "".join(
        f'<tr><td><a href="/member?uid={at}">{name.format(chr(97 + at))}</a> 02-1{at}-2026, 08:45 PM'
        f"</td><td>{' '.join(letters[at:] + letters[word % 9 :] for word in range(size))}</td></tr>"
        for at in range(8)
    )
    assert not is_list(f"<h1>Glazes</h1><table>{posts}</table>", "http://a.example/thread?tid=1")


def test_what_a_member_did_is_a_list_with_a_time_of_day_each() -> None:
    did = "".join(
        f'<dt>10:0{at} AM <a href="/issues/{at}">Bug #{at}: The kiln stays cold</a></dt>'
        f"<dd>The element was replaced, and the door closes again. {at}</dd>"
        for at in range(6)
    )
    page = "<h2>Ann Moss</h2><p>Registered on 11/28/2026</p><h3>Activity</h3><h4>05/26/2026</h4>"
    assert is_list(f"{page}<dl>{did}</dl>", "http://a.example/users/4")


def sortable(rows: str, *, heads: Sequence[str] = ("id", "summary", "owner")) -> str:
    """What a tracker answers: a table whose heads put it in other orders."""
    links = "".join(f"<th><a href='/query?of=food&order={head}'>{head}</a>" for head in heads)
    return f"<h1>Query</h1><table><thead><tr>{links}</thead>{rows}</table>"


def test_a_table_that_can_be_put_in_other_orders_is_a_list_without_dates() -> None:
    url = "http://a.example/query?of=food"
    rows = "".join(f"<tr><td><a href='/ticket/{at}'>#{at}</a><td>new" for at in range(4))
    assert is_list(sortable(rows), url)
    assert is_list(sortable(rows), f"{url}&order=id")
    assert not is_list(sortable(rows, heads=("id", "owner")), url)
    assert not is_list(sortable(rows), "http://a.example/other")
    assert not is_list(sortable("<tr><td>Kiln<td>7<tr><td>Clay<td>8<tr><td>Glaze<td>9"), url)


@pytest.mark.parametrize("pager", ["/blog/?page=2", "/blog/page/2/", "?page=2"])
def test_entries_without_dates_are_a_list_where_it_has_further_parts(pager: str) -> None:
    body = "".join(f"<h2><a href='/{at}/'>Post number {at}</a></h2><p>What was." for at in range(4))
    assert not is_list(body)
    assert is_list(f"{body}<a href='{pager}'>next</a>")
    assert not is_list(f"{body}<a href='/2/'>next</a>")
    assert not is_list(f"<p>{TEXT}</p>{body}<a href='{pager}'>next</a>")


@pytest.mark.parametrize(
    ("row", "is_one"),
    [
        (
            '<td>-rw-r--r--</td><td><a href="/?p=a.git;a=blob;f=clay/{0}.txt;h=1{0}">{0}.txt</a>'
            '</td><td><a href="/?p=a.git;a=blame;f=clay/{0}.txt">blame</a></td>',
            True,
        ),
        ('<td><a href="/r/tree/{0}/">{0}/</a></td><td><a href="/r/log/{0}/">log</a></td>', True),
        ('<td><a href="/wiki/{0}">{0}</a></td>', False),
        ('<td><a href="/library/{0}.html">{0}</a></td><td>a module for clay</td>', False),
    ],
)
def test_the_folder_of_a_code_browser_is_a_list_without_dates(row: str, is_one: bool) -> None:
    rows = "".join(f"<tr>{row.format(name)}</tr>" for name in ("bisque", "glaze", "kiln", "raku"))
    head = '<a href="/?p=a.git;a=summary">summary</a> | <a href="/?p=a.git;a=log">log</a>'
    assert is_list(f"{head}<table>{rows}</table>", "http://a.example/r/tree/clay") == is_one


@pytest.mark.parametrize("goes_on", [True, False])
def test_excerpts_make_a_list_however_long_one_is(goes_on: bool) -> None:
    more = '<a href="/tag/clay/">Clay</a> <a href="/{0}/">Read more</a>' if goes_on else ""
    texts = [TEXT, *["Wet clay cracks, so the kiln is fired slowly."] * 4]
    posts = "".join(
        f'<article><h2><a href="/{at}/">Kilns</a></h2>{DATE}<p>{text}</p>{more.format(at)}'
        "</article>"
        for at, text in enumerate(texts)
    )
    assert is_list(f"<h1>5 posts tagged</h1>{posts}") == goes_on
