"""Pages of other sites do not say what a site's pages are about: anybody may link to anything."""

from collections.abc import Sequence

import pytest

from kilns_and_ledgers import KILNS, LEDGERS, honest
from spoor.hashing import KEY_SIZE, hash64
from spoor.judges.relevance import Relevance
from spoor.judges.wish import parse
from spoor.types import Anchor, Link, Page


def linking(site: str) -> list[Page]:
    """Pages that say only the topic, and that each page about ledgers is about it."""
    links = [Link(url, Anchor("kiln glaze", position=at)) for at, url in enumerate(LEDGERS)]
    return [
        Page(f"{site}/kiln-glaze/{at}", title="kiln glaze", text="kiln glaze " * 40, links=links)
        for at in range(3)
    ]


def reasons(pages: Sequence[Page]) -> set[str]:
    """Why pages about ledgers were judged as they were, each for the newest verdict and those before."""
    judge = Relevance(parse("kiln glaze"))
    said = [(page.url, judge.judge(page)) for page in pages]
    said += judge.revise()
    return {why for url, verdict in said if url in LEDGERS for why, _ in verdict.why}


LINKED = {"'kiln' in an anchor to it", "'glaze' in an anchor to it"}
STANDS = "pages that it is linked with stand for it"


@pytest.mark.parametrize("first", [True, False])
def test_links_of_strangers_say_nothing_of_a_page(first: bool) -> None:
    hostile, pages = linking("http://stranger.example"), honest()
    found = reasons([*hostile, *pages] if first else [*pages, *hostile])
    assert not found & {*LINKED, STANDS}


def test_the_same_links_of_the_site_itself_count() -> None:
    assert reasons([*linking("http://www.ledgers.example"), *honest()]) >= {*LINKED, STANDS}


def test_an_anchor_of_the_site_itself_is_read_though_a_stranger_was_the_first_to_link() -> None:
    target, links = "http://pots.example/1", [Link("http://pots.example/1", Anchor("kiln"))]
    before = Page("http://pots.example/", title="Pots", text="Pots.", links=links)
    stranger = Page("http://stranger.example/", text="Pots.", links=[Link(target, Anchor("here"))])
    judge = Relevance(parse("kiln"))
    judge.judge(stranger)
    judge.judge(before)
    assert judge.judge(Page(target, title="One", text="A page.")).score > 0


def test_the_judge_goes_on_from_its_saved_state_with_the_links_that_it_knows() -> None:
    pages = [*linking("http://stranger.example"), *honest()]
    whole, first, second = (Relevance(parse("kiln glaze")) for _ in range(3))
    said = [whole.judge(page) for page in pages]
    assert [first.judge(page) for page in pages[:20]] == said[:20]
    second.load(first.save())
    assert [second.judge(page) for page in pages[20:]] == said[20:]
    assert second.revise() == whole.revise()


@pytest.mark.parametrize("key", [b"", bytes(range(KEY_SIZE))])
def test_whoever_chooses_urls_does_not_choose_the_sample(
    key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key, as in a replay, the addresses with the lowest hashes are all kept."""
    monkeypatch.setattr("spoor.judges.relevance.judge.KEPT", 60)
    judge = Relevance(parse("kiln glaze"))
    judge.key_sample(key)
    tried = (f"http://stranger.example/{number}" for number in range(10_000))
    chosen = sorted(tried, key=hash64)[:60]
    honest_ones = [f"http://pots.example/{number}" for number in range(240)]
    for number, url in enumerate([*honest_ones, *chosen]):
        judge.judge(Page(url, title="A page", text=f"Nothing of note in number {number}."))
        if number == 150:
            again = Relevance(parse("kiln glaze"))
            again.load(judge.save())
            judge = again
    kept = judge.save()["pages"]["urls"]
    strange = sum(url.startswith("http://stranger") for url in kept)
    share = strange / len(kept)
    assert (share > 0.5) == (not key)
    assert share < 0.4 or not key


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("count", [4, 40])
def test_one_page_under_many_urls_counts_as_one(count: int, *, first: bool) -> None:
    """`/about?ref=1` to `/about?ref=40` say the topic in their title, and little else of it."""
    text = "We are friends of the kiln and of glaze, open on Sundays with tea for all. " * 4
    abouts = [
        Page(f"http://kilns.example/about?ref={at}", title="About kiln glaze", text=text)
        for at in range(count)
    ]
    judge = Relevance(parse("kiln glaze"))
    pages = [*abouts, *honest()] if first else [*honest(), *abouts]
    verdicts = {page.url: judge.judge(page) for page in pages}
    verdicts |= dict(judge.revise())
    again = Relevance(parse("kiln glaze"))
    again.load(judge.save())
    verdicts |= dict(again.revise())
    assert all(verdicts[url].relevant for url in KILNS)
    assert not any(verdicts[url].relevant for url in LEDGERS)


def of_template(site: str, number: int, words: str) -> Page:
    """A site whose pages have one menu; the second one is wanted."""
    menu = "cumulus nimbus stratus cirrus altus docs team bugs translators mailing lists releases"
    names = ["", "installation.html", *(f"part{at}.html" for at in range(2, 6))]
    anchors = [Anchor(f"part {at}", position=at) for at in range(6)]
    links = [Link(f"{site}/{name}", anchor) for name, anchor in zip(names, anchors, strict=True)]
    title = "Installation" if number == 1 else f"Part {number}"
    text = f"{menu}. {title} of {site}. {words} " + f"{site}{number} " * 9
    return Page(f"{site}/{names[number]}", title=title, text=text, links=links)


@pytest.mark.parametrize("hostile", [0, 1, 12])
def test_sites_that_copy_a_template_do_not_silence_the_site_that_has_it(hostile: int) -> None:
    honest = [f"http://honest{at}.example" for at in range(24)]
    judge, told = Relevance(parse("installation")), {}
    for number in range(6):
        for at in range(hostile):
            page = of_template(f"http://copy{at}.example", number, "installation " * 20)
            told[page.url] = judge.judge(page)
        for site in honest:
            page = of_template(site, number, "Installation: see there." if number % 3 == 0 else "")
            if site != honest[0]:  # which alone has the template
                text = page.text.replace("cumulus nimbus stratus cirrus altus", f"{site} " * 3)
                page = Page(page.url, title=page.title, text=text, links=page.links)
            told[page.url] = judge.judge(page)
    told |= dict(judge.revise())
    found = {url for url, verdict in told.items() if verdict.relevant}
    assert f"{honest[0]}/installation.html" in found
    assert sum(f"{site}/installation.html" in found for site in honest) >= 22
