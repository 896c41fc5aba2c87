"""The laws of a judge, checked on ordinary, empty, huge and odd pages."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from spoor.errors import SpoorError
from spoor.learn.state import pack, unpack
from spoor.protocols import Judge, KeepsAnswers, Rejudges, Stateful, TakesLabels
from spoor.testing.small_worlds import random_web
from spoor.types import Anchor, Judgement, Link, Page


def check_judge(factory: Callable[..., Any], *arguments: Any, **settings: Any) -> None:
    """Check a judge, made as `factory(*arguments, **settings)`, against the laws of its protocol.

    For every page it returns a score in [0, 1], relevant or not, a finite reward, and reasons in
    words; it never raises; it judges the same pages in the same way; without `save` it does not
    depend on earlier pages, with `save` it continues from a saved state. One with `revise` has
    `save`, too; it judges anew only pages that it has judged, each once, in the same way after a
    load, and says nothing twice. Raises AssertionError with the law that it broke. Takes about a
    second.
    """

    def make() -> Judge:
        judge: Judge = factory(*arguments, **settings)
        return judge

    pages = [*ordinary_pages(), *(page for _, page in odd_pages())]
    try:
        first = [_judged(make(), page) for page in pages]
        _check_sequence(make, pages, first)
        if isinstance(make(), Rejudges):
            _check_revisions(make, pages)
    except AssertionError as error:
        raise AssertionError(f"{type(make()).__name__}: {error}") from None


def _judged(judge: Judge, page: Page) -> Judgement:
    """The judgement of one page, checked against the laws of a single judgement."""
    where = f"{page.url[:80]} ({page.title[:40]!r})"
    try:
        result = judge.judge(page)
    except SpoorError as error:
        raise AssertionError(f"judge of {where}: {error}") from error
    except Exception as error:
        kind = type(error).__name__
        raise AssertionError(f"judge of {where} raised {kind}: {error}") from error
    _demand(
        isinstance(result, Judgement),
        f"judge of {where} returned {result!r}, not a Judgement",
    )
    _demand(
        isinstance(result.relevant, bool),
        f"{where}: relevant is {result.relevant!r}, no bool",
    )
    for what, value in (("score", result.score), ("reward", result.reward)):
        number = isinstance(value, float | int) and math.isfinite(value)
        _demand(number, f"{where}: {what} is {value!r}, not a finite number")
    _demand(0.0 <= result.score <= 1.0, f"{where}: score {result.score} does not lie in [0, 1]")
    _check_reasons(result, where)
    return result


def _check_reasons(result: Judgement, where: str) -> None:
    good = isinstance(result.why, tuple) and all(
        isinstance(reason, str) and bool(reason.strip()) and math.isfinite(share)
        for reason, share in result.why
    )
    _demand(good, f"{where}: why is {result.why!r}, not pairs of words and a finite number")
    has_reason = bool(result.why) or not (result.relevant or result.score > 0)
    _demand(
        has_reason,
        f"{where}: score {result.score}, relevant {result.relevant}, and no word why",
    )


def _check_sequence(make: Callable[[], Judge], pages: list[Page], alone: list[Judgement]) -> None:
    judge, other = make(), make()
    judgements = [_judged(judge, page) for page in pages]
    _demand(judgements == [_judged(other, page) for page in pages], "two of the same make disagree")
    if not isinstance(judge, Stateful):
        for page, one, two in zip(pages, alone, judgements, strict=True):
            law = f"{page.url[:80]} is judged by what came before it, and there is no save"
            _demand(one == two, law)
        return
    for at in (0, len(pages) // 3, len(pages) - 2):
        broken = make()
        for page in pages[:at]:
            _judged(broken, page)
        assert isinstance(broken, Stateful)
        try:
            state = pack(broken.save())
        except TypeError as error:
            law = f"save holds what is neither JSON nor a NumPy array: {error}"
            raise AssertionError(law) from error
        again = make()
        assert isinstance(again, Stateful)
        again.load(unpack(state))
        _demand(pack(again.save()) == state, "a state that is loaded and saved again is another")
        if not isinstance(again, KeepsAnswers):
            _judged(again, pages[0])
            again.load(unpack(state))
            again_saved = pack(again.save())
            _demand(again_saved == state, "a state that is loaded once more is another")
        few = slice(at, None if at else 10)  # all of them are judged by two that were never saved
        rest = [_judged(again, page) for page in pages[few]]
        _demand(
            rest == judgements[few], f"saved and loaded after {at} pages, it judges differently"
        )


def _check_revisions(make: Callable[[], Judge], pages: list[Page]) -> None:
    judge, again = make(), make()
    _demand(isinstance(judge, Stateful), "it has revise, and no save")
    assert isinstance(judge, Rejudges)
    assert isinstance(judge, Stateful)
    assert isinstance(again, Rejudges)
    assert isinstance(again, Stateful)
    seen: set[str] = set()
    at = [len(pages) // 2, len(pages)]
    for first, last in zip([0, *at[:-1]], at, strict=True):
        for page in pages[first:last]:
            judge.judge(page)
            seen.add(page.url)
        if isinstance(judge, TakesLabels):
            judge.label(pages[first].url, True)
            judge.label("http://nowhere.example/never-seen", False)
        again.load(unpack(pack(judge.save())))
        revised = list(judge.revise())
        _demand(list(again.revise()) == revised, "loaded, it judges anew in another way")
        urls = [url for url, _ in revised]
        _demand(len(set(urls)) == len(urls), "revise has a page twice")
        _demand(seen.issuperset(urls), "revise has a page that was not judged")
        for url, judgement in revised:
            _demand(0.0 <= judgement.score <= 1.0, f"{url}: score {judgement.score} not in [0, 1]")
            _check_reasons(judgement, f"{url} judged anew")
        _demand(not judge.revise(), "revise says the same again, without a page or label between")


def _demand(holds: bool, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


# ---------------------------------------------------------------- pages


@cache
def ordinary_pages() -> tuple[Page, ...]:
    """Twenty pages of a small web, and two with most words of all the checks."""
    rng = np.random.default_rng(0)
    pages = list(random_web(rng, pages=20).pages.values())
    words = "pottery kiln glaze clay stoneware ledger harbour engine orchard census violin"
    url = "http://odd.example/pottery/kiln.html"
    pages.append(Page(url, title="Pottery and kilns", headings=("Glaze",), text=f"{words} " * 20))
    pages.append(
        Page(
            "http://odd.example/paper.pdf",
            content_type="application/pdf",
            title="A paper",
            labels=frozenset({"target", "faculty"}),
        )
    )
    return tuple(pages)


@cache
def odd_pages() -> tuple[tuple[str, Page], ...]:
    """(oddity, page): unusual pages of the web, as a parser may return them."""
    url = "http://odd.example/page"
    many = [Link(f"{url}/{at}", Anchor("more", position=at)) for at in range(2_000)]
    words = " ".join(f"word{at % 5_000}" for at in range(40_000))
    pages = {
        "nothing": Page(url),
        "no path": Page("http://odd.example/"),
        "white space": Page(url, title=" \n\t", text=" \u00a0\u2003\n" * 100),
        "many words": Page(url, title="Long", text=words),
        "one word of many letters": Page(url, text="a" * 300_000),
        "a long title": Page(url, title="kiln " * 20_000, description="clay " * 20_000),
        "many headings": Page(url, headings=tuple(f"part {at}" for at in range(5_000))),
        "many links": Page(url, text="links", links=many),
        "a long URL": Page(f"{url}/{'x/' * 2_000}?{'q=1&' * 2_000}"),
        "percent signs": Page(f"{url}/%E0%A4%A/%zz?%00=%ff"),
        "zero bytes": Page(url, title="\x00", text="kiln\x00glaze \x07\x1b[31m"),
        "lone surrogates": Page(url, title="\ud800", text="\udfff clay \ud83d"),
        "marks without letters": Page(url, title="\u0301" * 50, text="\u200b\u202e\ufeff" * 50),
        "many scripts": Page(url, title="陶芸 керамика खड्ड", text="שלום عالم 陶芸 🏺 " * 50),
        "regular expressions": Page(url, title="(a+)+$", text="(((( [[[[ \\ ^$ .* " + "a" * 5_000),
        "no media type": Page(url, content_type="", text="kiln"),
        "an odd media type": Page(url, content_type="; ;/=", text="kiln"),
        "an image": Page(url, content_type="image/png", flags=frozenset({"not-html"})),
        "cut off": Page(url, text="kiln gl", flags=frozenset({"truncated", "undecodable"})),
        "an error page": Page(url, status=500, title="500", text="Internal Server Error"),
        "many labels": Page(url, labels=frozenset({"", "target", "a b", "é"})),
    }
    return tuple(pages.items())
