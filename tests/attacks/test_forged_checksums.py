"""A stranger chooses its addresses and names so that they have the checksum of another site's."""

import zlib
from collections.abc import Callable

import numpy as np
import pytest

from kilns_and_ledgers import KILNS, LEDGERS, honest
from noisy_news import article
from spoor.hashing import KEY_SIZE, hash64
from spoor.judges.relevance import Relevance
from spoor.judges.relevance.url_numbers import number_of_url
from spoor.judges.wish import parse
from spoor.link_filter.traps import Traps
from spoor.runs.near_copies import HASHES, near_copies
from spoor.types import Anchor, Link, Page
from spoor.web.minhash import MinHasher, triples
from spoor.web.text import tokens

URL = "http://victim.example/"


def crc(text: str) -> int:
    return zlib.crc32(text.encode())


def forged(before: str, behind: str, wanted: int, letters: int = 14) -> str:
    """A text with the CRC-32 that is wanted: a change of bits of the text changes the same bits of
    its checksum whatever else stands there, so that the bits to change solve linear equations."""

    def text(low: list[int]) -> str:
        return before + "".join(chr(ord("h") + one) for one in low) + behind

    nothing = [0] * letters
    basis: dict[int, tuple[int, int]] = {}
    for at in range(3 * letters):
        low = nothing.copy()
        low[at // 3] = 1 << at % 3
        column, changed = crc(text(low)) ^ crc(text(nothing)), 1 << at
        while column and (known := basis.get(column.bit_length())):
            column, changed = column ^ known[0], changed ^ known[1]
        if column:
            basis[column.bit_length()] = column, changed
    rest, bits = wanted ^ crc(text(nothing)), 0
    while rest:
        column, changed = basis[rest.bit_length()]
        rest, bits = rest ^ column, bits ^ changed
    return text([bits >> 3 * at & 7 for at in range(letters)])


def test_a_checksum_is_forged() -> None:
    assert crc(forged("http://a.example/", "", crc(LEDGERS[0]))) == crc(LEDGERS[0])


@pytest.mark.parametrize("number", [hash64, number_of_url])
def test_no_number_is_linear(number: Callable[[str], int]) -> None:
    """What is affine over bits can be solved for, whatever its width: three texts give a fourth."""
    texts = ["http://a.example/hh", "http://a.example/ih", "http://a.example/hi"]
    one, other, third = map(number, texts)
    assert crc("http://a.example/ii") == crc(texts[0]) ^ crc(texts[1]) ^ crc(texts[2])
    assert number("http://a.example/ii") != one ^ other ^ third


@pytest.mark.parametrize("kilns", [True, False])
def test_links_to_own_pages_say_nothing_of_another_site(kilns: bool) -> None:
    """A page of a stranger links with the words of the wish to pages of its own."""
    own = [forged("http://stranger.example/k/", "", crc(url)) for url in LEDGERS]
    links = [Link(url, Anchor("kiln", position=at)) for at, url in enumerate(own)]
    pages = [Page("http://stranger.example/", title="x", text="plain words " * 20, links=links)]
    pages += [page for page in honest() if kilns or page.url in LEDGERS]
    judge = Relevance(parse("kiln"))
    told = {page.url: judge.judge(page).relevant for page in pages}
    now = {url: verdict.relevant for url, verdict in judge.revise()}
    assert not any(verdicts.get(url) for url in LEDGERS for verdicts in (told, now))
    assert not kilns or all((told | now)[url] for url in KILNS)


def test_gibberish_is_no_copy() -> None:
    """A text of which all triples of words have the checksums of those of another text."""
    text = " ".join(article(3) + article(4))
    words = ["hello", "world"]
    for triple in triples(tokens(text)):
        before = f"{words[-2]} {words[-1]} "
        words.append(forged(before, "", crc(triple), letters=12).removeprefix(before))
    with near_copies(
        [(1, "http://e.example/", " ".join(words), b"1"), (2, URL, text, b"2")]
    ) as found:
        assert not found.is_copy(2)


@pytest.mark.parametrize("length", [0, 2_900])
def test_a_few_phrases_of_a_page_do_not_stand_for_it(length: int) -> None:
    """They have the sketch of the page, whether other words follow them or not."""
    text = " ".join(f"{chr(97 + at % 26)}{at}" for at in range(3_000))
    hasher, features = MinHasher(HASHES), sorted(triples(tokens(text)))
    of_each = np.array([hasher.sketch([one]) for one in features])
    least = of_each.min(axis=0)
    words = " ".join(features[at] for at in set(of_each.argmin(axis=0).tolist())).split()
    assert len(words) < 300
    number = 0
    while len(words) < length:
        number += 1
        if (hasher.sketch([" ".join([*words[-2:], f"no{number}"])]) > least).all():
            words.append(f"no{number}")
    forged_text = " ".join(words)
    assert (hasher.sketch(triples(words)) == least).mean() > 0.88
    documents = [(1, "http://e.example/", forged_text, b"1"), (2, URL, text, b"2")]
    with near_copies(documents, b"\1" * KEY_SIZE) as found:
        assert not found.is_copy(2)


def test_a_mirror_does_not_hold_a_site_back() -> None:
    """A domain whose name has the checksum of another one shows some of its pages."""
    mirror = forged("", ".example", crc("victim.example"))
    guard = Traps()

    def show(url: str, number: int) -> None:
        guard.ended(
            Page(url, title=f"Pot {number}", text=" ".join(article(number))), relevant=False
        )

    for number in range(40):
        show(f"http://{mirror}/{chr(97 + number % 26)}{number // 26}", number)
    held = 0
    for number in range(120):
        url = f"http://victim.example/pot/{number}"
        if guard.holder(url):
            held += 1
        else:
            show(url, number)
    assert held == 0
