"""What a watch keeps of each URL in few bytes is what Python's own sets and dicts keep."""

from __future__ import annotations

from array import array
from random import Random

import numpy as np
import pytest

from spoor.learn.state import pack, unpack
from spoor.types import Page
from spoor.watching.compact_tables import KeyIndex, NumberMap, NumberSet
from spoor.watching.contents import Contents, _Seen
from spoor.watching.discoveries import Discoveries, Discovery
from spoor.watching.links_of_pages import LinksOfPages


@pytest.mark.parametrize("seed", range(3))
def test_numbers_and_keys_are_as_of_sets_and_dicts(seed: int) -> None:
    random = Random(seed)
    has, its, keys = NumberSet(), NumberMap(), array("Q", [0]) * 300
    index, expected, of, by_key = KeyIndex(keys), set[int](), dict[int, int](), dict[int, int]()
    for _ in range(3_000):
        number = random.randrange(300)
        if random.random() < 0.5:
            has.add(number)
            expected.add(number)
            its[number] = of[number] = random.randrange(1 << 30)
        else:
            has.discard(number)
            expected.discard(number)
            its.pop(number)
            of.pop(number, None)
        if keys[number]:
            index.remove(keys[number])
            del by_key[keys[number]]
            keys[number] = 0
        # Keys that differ in their highest bits only, as a hostile site may choose them.
        elif (key := random.randrange(1, 40) << 58) not in by_key:
            keys[number], by_key[key] = key, number
            index.add(number)
        assert len(index) == len(by_key)
    assert list(has) == sorted(expected)
    assert len(has) == len(expected)
    assert -1 not in has
    assert dict(its.pairs().tolist()) == of
    some = set(random.sample(range(400), 100))
    assert its.among(some) == sorted(some & of.keys())
    assert [its.get(number) for number in range(-1, 400)] == [of.get(n) for n in range(-1, 400)]
    assert [index.find(n << 58) for n in range(40)] == [by_key.get(n << 58, -1) for n in range(40)]


def test_links_of_pages_are_found_from_both_ends() -> None:
    random, links, expected = Random(1), LinksOfPages(), dict[int, list[int]]()
    for _ in range(200):
        page = random.randrange(60)
        # Numbers whose bytes stand in one another.
        its = random.sample([0, 1, 255, 256, 257, 65_536, 65_793, 16_777_216], random.randrange(8))
        if random.random() < 0.2:
            links.forget(page)
            expected.pop(page, None)
            continue
        links.note(page, page << 40, len(its), its)
        expected[page] = its
        assert links.is_as(page, page << 40, len(its))
        assert not links.is_as(page, page << 40, len(its) + 1)
    again = LinksOfPages()
    again.load(unpack(pack(links.save())), 99)
    for one in (links, again):
        assert [one.of(page) for page in range(61)] == [expected.get(n, []) for n in range(61)]
        for url in (0, 1, 256, 65_793):
            assert list(one.to(url)) == [n for n, its in sorted(expected.items()) if url in its]
    assert again.save().keys() == links.save().keys()


@pytest.mark.parametrize(("name", "wrong"), [("of", 2), ("of", -1), ("seen", -1), ("content", 0.5)])
def test_links_of_pages_that_nobody_knows_take_no_memory(name: str, wrong: float) -> None:
    links = LinksOfPages()
    links.note(1, 5, 6, [0, 1])
    with pytest.raises(ValueError, match=f"{name} of the links of pages"):
        LinksOfPages().load({**links.save(), name: np.array([wrong])}, 2)


def changing(pages: int) -> Contents:
    """Contents of pages that changed often."""
    contents, random = Contents(), Random(2)
    for look in range(6):
        for url in range(0, pages, 1 + look % 2):
            sentences = [f"Sentence {random.randrange(9)} of a page that says much." for _ in "abc"]
            text = " ".join(["The kiln is lit again today.", *sentences])
            contents.see(url, "paper.example", Page("", title=f"A kiln, look {look}", text=text))
    return contents


def test_contents_go_on_from_their_state() -> None:
    contents = changing(6)
    contents.forget(3)
    its = [_Seen.unpacked(row) for row in contents.rows if row]
    assert any(seen.flips for seen in its)
    now = unpack(pack(contents.save()))
    again = Contents()
    again.load(now)
    assert len(again) == len(contents) == 5
    assert pack(again.save()) == pack(contents.save())
    cut = {**now, "row_sizes": now["row_sizes"] + np.array([-1, 1, 0, 0, 0, 0])}
    with pytest.raises(ValueError, match="content of a page"):
        Contents().load(cut)


def test_discoveries_are_a_list_of_them() -> None:
    entries = [Discovery(url, 1, 2.5 * url, 3.0 * url, -1) for url in range(5)]
    found = Discoveries(entries)
    assert (list(found), found[3], found[2:]) == (entries, entries[3], entries[2:])
    assert list(found.without({1, 4})) == [entries[0], *entries[2:4]]
    assert list(Discoveries.revived(unpack(pack(found.save())))) == entries
