"""What a watch keeps of each page that matters, to say whether it has changed and in what.

Compared are sentences, in any order. What comes and goes by itself is learned: of a page, the
sentences that return after they went, the places between lasting sentences that differ at nearly
every look, the phrases of which only a number changes, and the rows of a table that change by
turns; of a host, the sentences that stand on several pages of it.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import chain, islice
from struct import Struct, pack, unpack_from
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spoor.bounded import remember
from spoor.columns import column, pieces_of
from spoor.types import Page, State
from spoor.watching.compact_tables import ByteRows
from spoor.watching.near_copies import LEAST_COMMON
from spoor.web.sentences import content, plain, signature, title, without_digits
from spoor.web.urls import registrable_domain
from spoor.web.view_relations import has_all

OFTEN = 3
"""Looks at which a place differed, or pages on which a sentence stands, before that counts."""

NEARLY_ALWAYS = 0.6
"""Share of the looks at which a place that changes by itself differs, in [0, 1] …"""

REPLACED = 0.3
"""… and, of the looks since it differed first, one at which a sentence that came has half of the
words of the one that went, or is a counter: what is at rest at night counts by day."""

BY_TURNS = 6
"""Looks at which a line of numbers gave way to one like it, anywhere on a page, before that counts:
the rows of a table change by turns, each too seldom to count by itself."""

MOST_FLIPS = 500
"""Sentences and places of a page that are remembered as coming and going."""

MOST_SHARED = 5_000
"""Sentences of a host that are counted over its pages; those seen longest ago leave."""

MOST_COUNTED = 1_000_000
"""The same of all hosts together, some 140 bytes each: beyond, the older half leaves of the host of
which a page was seen longest ago, in the domain that has most."""

MOST_TEXTS = 20_000
"""Pages of which the sentences themselves are kept; those that changed longest ago leave, and of
what they lose only the number can be told."""

MOST_BYTES = 128 << 20
"""Bytes of these, packed: beyond, the one that changed longest ago leaves, of those that have more
than their share."""

MOST_OF_A_TEXT = 32 << 20
"""Bytes of the sentences of a page whose text is told: a state may come from a stranger, and zlib
packs a thousand to one."""

LEAST_WORDS = 3
"""Words that have to come or go."""

UNKNOWN_WORDS = 10
"""Words that a sentence counts for of which the text is no more kept."""

NEAR = 0.8
"""Least resemblance of a sentence and a corrected one, in [0, 1]."""


MOST_PARTS = 8
"""Of a title, that are looked at."""

BETWEEN = re.compile(r" [-–—|·•»]+ ")
"""Where the name of a site begins in a title."""


class Change(NamedTuple):
    """What changed in a page."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    share: float
    """Words that came or went, of those before and after, in [0, 1]."""
    title_before: str | None = None
    """The title before, where it is another now."""


@dataclass(slots=True)
class _Seen:
    """Of one page."""

    title: str
    keys: list[int]
    """Signatures of its content, in reading order."""
    looks: int = 0
    """Comparisons so far."""
    gone: OrderedDict[int, None] = field(default_factory=OrderedDict)
    """Sentences that went."""
    flips: OrderedDict[int, None] = field(default_factory=OrderedDict)
    """Sentences that come and go."""
    places: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """Place → looks at which it differed, and above these 16 bits the look at which it did first.
    A place is the lasting sentence before it (with `_SLOT` for where a sentence gave way to one
    like it), or the words of a counter."""

    def packed(self) -> bytes:
        """In some 30 bytes, and 8 for each sentence: of 10⁵ pages of a site all are kept."""
        parts: tuple[Collection[int], ...] = self.keys, self.gone, self.flips, self.places
        sizes = list(map(len, parts))
        count = sum(sizes)
        numbers = pack(f"<{count}Q{len(self.places)}I", *chain(*parts, self.places.values()))
        title = self.title.encode("utf-8", "surrogatepass")
        return _SIZES.pack(self.looks, *sizes) + numbers + title

    @classmethod
    def unpacked(cls, row: bytes) -> _Seen:
        """What `packed` was asked of. Raises ValueError for what is no such row."""
        looks, *sizes, end = _parts(row)
        numbers = iter(unpack_from(f"<{sum(sizes)}Q{sizes[3]}I", row, _SIZES.size))
        keys, gone, flips, places = (list(islice(numbers, size)) for size in sizes)
        return cls(
            _title(row, end),
            keys,
            looks,
            OrderedDict.fromkeys(gone),
            OrderedDict.fromkeys(flips),
            OrderedDict(zip(places, numbers, strict=True)),
        )


_SLOT = 1
_TURNS = 2
"""The place of all rows of a page that change by turns."""
_LOOKS = 0xFFFF
"""Looks that are counted."""

_SIZES = Struct("<5I")
"""Looks, and how many sentences, those that went, those that come and go, and places a row has."""


def _parts(row: bytes) -> tuple[int, ...]:
    """These, and where the title begins. Raises ValueError for what is no row."""
    if len(row) < _SIZES.size:
        raise ValueError("the content of a page is cut")
    looks, *sizes = _SIZES.unpack_from(row)
    end = _SIZES.size + 8 * sum(sizes) + 4 * sizes[3]
    if end > len(row):
        raise ValueError("the content of a page is cut")
    return looks, *sizes, end


def _title(row: bytes, begin: int) -> str:
    return row[begin:].decode("utf-8", "surrogatepass")


class Contents:
    """The contents of pages by the URL's number."""

    def __init__(self) -> None:
        self.rows = ByteRows()
        """A row of each (`_Seen.packed`); nothing for one that is not kept."""
        self._count = 0
        self._texts: OrderedDict[int, bytes] = OrderedDict()
        self._bytes = 0
        """Of these."""
        self._shared: OrderedDict[str, OrderedDict[int, int]] = OrderedDict()
        """Host → signature → pages on which it came; those of which a page was seen last behind."""
        self._counted = Counter[str]()
        """Registrable domain → how many of these."""

    def __len__(self) -> int:
        return self._count

    def __contains__(self, url: int) -> bool:
        return bool(self.rows[url])

    def _keep(self, url: int, row: bytes) -> None:
        self._count += bool(row) - bool(self.rows[url])
        self.rows[url] = row

    def keys(self, url: int) -> list[int]:
        """Signatures of the sentences of a page; those of one that is not kept are none."""
        row = self.rows[url]
        return list(unpack_from(f"<{_parts(row)[1]}Q", row, _SIZES.size)) if row else []

    def own(self, url: int, host: str) -> set[int]:
        """Those of a page of a host that do not stand on several others of it."""
        shared: Mapping[int, int] = self._shared.get(host, {})
        return {key for key in self.keys(url) if shared.get(key, 0) < OFTEN}

    def title(self, url: int) -> str:
        """The title of a page; empty for one that is not kept."""
        row = self.rows[url]
        return _title(row, _parts(row)[-1]) if row else ""

    def resemblance(self, url: int, other: int, host: str) -> float:
        """Share of the words of two pages of a host that stand in sentences which both have, in
        [0, 1]; 0 where these are few. What stands on several pages of the host does not count."""
        one, two = self.own(url, host), self.own(other, host)
        common, both = one & two, one | two
        if len(common) < LEAST_COMMON:
            return 0.0
        texts = {**self._text(other, self.keys(other)), **self._text(url, self.keys(url))}
        words = {key: len(texts.get(key, "").split()) or UNKNOWN_WORDS for key in both}
        return sum(words[key] for key in common) / sum(words.values())

    def holds(self, url: int, other: int, host: str) -> bool | None:
        """Whether a page of a host says all, but for little, of what another one says and several
        of the host do not; None where that is too little to tell."""
        own = self.own(other, host)
        if len(own) < LEAST_COMMON:
            return None
        texts, there = self._text(other, self.keys(other)), set(self.keys(url))
        words = {key: len(texts.get(key, "").split()) or UNKNOWN_WORDS for key in own}
        return has_all(sum(words.values()), sum(words[key] for key in own & there))

    def resembles(self, url: int, host: str, page: Page) -> bool:
        """Whether a download says half of what the page said before that does not stand on several
        others of its host, and several sentences of it."""
        own, now = self.own(url, host), content(page).keys()
        return len(own & now) >= max(LEAST_COMMON, len(own) / 2)

    def forget(self, url: int) -> None:
        """Keep nothing of a page."""
        if self.rows[url]:
            self._keep(url, b"")
        self._bytes -= len(self._texts.pop(url, b""))

    def leave_hosts(self, left: Collection[str]) -> None:
        """No URL of these is known any more."""
        for host in left:
            self._counted[registrable_domain(host)] -= len(self._shared.pop(host, ()))
        self._counted = +self._counted

    def note(self, url: int, page: Page, now: Mapping[int, str]) -> None:
        """Keep a content, of which nothing is said to be on several pages of its host."""
        self._keep(url, _Seen(title(page), list(now)).packed())
        self._keep_text(url, now.values())

    def see(self, url: int, host: str, page: Page) -> Change | None:
        """Take in a download; what changed since the one before, None where nothing did that
        counts, and for the first."""
        now = content(page)
        row = self.rows[url]
        if not row:
            self.note(url, page, now)
            self._share(host, now)
            return None
        seen = _Seen.unpacked(row)
        seen.looks += 1
        before = dict.fromkeys(seen.keys)
        came = [key for key in now if key not in before]
        went = [key for key in before if key not in now]
        texts = self._text(url, seen.keys)
        self._learn(seen, now, came, went, texts)
        shared = self._share(host, came)
        counted = [key for key in came if key not in seen.flips and shared.get(key, 0) < OFTEN]
        lost = [key for key in went if key not in seen.flips and shared.get(key, 0) < OFTEN]
        added = tuple(now[key] for key in counted)
        removed = tuple(texts[key] for key in lost if key in texts)
        heading, old_title = title(page), seen.title
        added, removed = _beside_titles(added, heading, removed, old_title)
        change = _change(added, removed, now.values(), texts.values(), len(lost))
        renamed = plain(heading) != plain(old_title) and bool(heading)
        if renamed and old_title:
            added, removed, share = change[:3] if change else ((), (), 0.0)
            change = Change(added, removed, share, old_title)
        for key in went:
            remember(seen.gone, key, None, MOST_FLIPS)
        if heading:
            seen.title = heading
        if now.keys() != before.keys():
            seen.keys = list(now)
            self._keep_text(url, now.values())
        self._keep(url, seen.packed())
        return change

    def _learn(
        self,
        seen: _Seen,
        now: Mapping[int, str],
        came: list[int],
        went: list[int],
        texts: Mapping[int, str],
    ) -> None:
        """What comes and goes by itself. O(sentences)."""
        said = {key: plain(texts[key]) for key in went if key in texts}
        counters = {signature(without_digits(words)): key for key, words in said.items()}
        before, now_at = _places(went, seen.keys, seen), _places(came, now, seen)
        differ: dict[int, list[int]] = {}
        """Place → what came or went there."""
        rows = list[int]()
        """Those that say numbers, and gave way to one like them with others."""
        kept: set[int] = set()
        """Those of which a sentence, or a number, gave way to another one of the same kind."""
        for place, keys in now_at.items():
            for at, key in enumerate(keys):
                if key in seen.gone:
                    remember(seen.flips, key, None, MOST_FLIPS)
                words = plain(now[key])
                masked = without_digits(words)
                mask = signature(masked)
                if mask in counters:
                    rows += key, counters[mask]
                    differ.setdefault(mask, []).extend((key, counters[mask]))
                    kept.add(mask)
                others = before.get(place, [])[max(0, at - 1) : at + 2]
                like = (one for one in others if _alike(without_digits(said.get(one, "")), masked))
                old = next(like, None)
                if old is not None:
                    differ.setdefault(place ^ _SLOT, []).extend((key, old))
                    kept.add(place ^ _SLOT)
                    if _numbers(words) != _numbers(said[old]):
                        rows += key, old
                elif mask not in counters:
                    differ.setdefault(place, []).append(key)
        if rows:
            differ[_TURNS] = rows
            kept.add(_TURNS)
        look = min(seen.looks, _LOOKS)
        for place, keys in differ.items():
            first, often = divmod(seen.places.pop(place, look * (_LOOKS + 1)), _LOOKS + 1)
            often = min(often + 1, _LOOKS)
            seen.places[place] = first * (_LOOKS + 1) + often
            least = REPLACED * (look - first) if place in kept else NEARLY_ALWAYS * seen.looks
            if often >= max(BY_TURNS if place == _TURNS else OFTEN, least):
                for key in keys:
                    remember(seen.flips, key, None, MOST_FLIPS)
        while len(seen.places) > MOST_FLIPS:
            seen.places.popitem(last=False)

    def _share(self, host: str, keys: Iterable[int]) -> Mapping[int, int]:
        """Count sentences that came on a page of a host."""
        counts, domain = self._shared.setdefault(host, OrderedDict()), registrable_domain(host)
        self._shared.move_to_end(host)
        before = len(counts)
        for key in keys:
            counts[key] = counts.pop(key, 0) + 1
        while len(counts) > MOST_SHARED:
            counts.popitem(last=False)
        self._counted[domain] += len(counts) - before
        while self._counted.total() > MOST_COUNTED:
            most = max(self._counted, key=lambda name: (self._counted[name], name))
            oldest = next(its for its in self._shared if registrable_domain(its) == most)
            self._shared.move_to_end(oldest)
            its = self._shared[oldest]
            for _ in range((len(its) + 1) // 2):
                its.popitem(last=False)
                self._counted[most] -= 1
        return counts

    # -- the sentences themselves

    def _keep_text(self, url: int, sentences: Iterable[str]) -> None:
        joined = "\n".join(sentences).encode("utf-8", "replace")
        text = zlib.compress(joined, 1)
        self._bytes += len(text) - len(self._texts.pop(url, b""))
        self._texts[url] = text
        if len(self._texts) > MOST_TEXTS:
            self._bytes -= len(self._texts.popitem(last=False)[1])
        while self._bytes > MOST_BYTES:
            share = MOST_BYTES // MOST_TEXTS
            large = next(one for one, its in self._texts.items() if len(its) > share)
            self._bytes -= len(self._texts.pop(large))

    def _text(self, url: int, keys: list[int]) -> dict[int, str]:
        decoder = zlib.decompressobj()
        text = decoder.decompress(self._texts.get(url, b""), MOST_OF_A_TEXT)
        if not text or decoder.unconsumed_tail:
            return {}
        return dict(zip(keys, text.decode().split("\n"), strict=False))

    # -- durable

    def save(self) -> State:
        texts = list(self._texts.values())
        return {
            "row_sizes": np.array(list(map(len, self.rows)), dtype=np.int64),
            "rows": np.frombuffer(b"".join(self.rows), dtype=np.uint8),
            "texts_of": column(self._texts, len(texts), np.int64),
            "text_sizes": column(map(len, texts), len(texts), np.int64),
            "texts": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "hosts": list(self._shared),
            "shared": _ragged(list(self._shared.values())),
            "pages": _ragged([counts.values() for counts in self._shared.values()]),
        }

    def load(self, state: State) -> None:
        self.rows, self._count = ByteRows(), 0
        for url, row in _cut(state):
            self._keep(url, row)
        texts = _pieces(state["texts"], state["text_sizes"])
        self._texts = OrderedDict(zip(state["texts_of"].tolist(), texts, strict=True))
        self._bytes = sum(map(len, self._texts.values()))
        shared = zip(_rows(state["shared"]), _rows(state["pages"]), strict=True)
        self._shared = OrderedDict(
            (host, OrderedDict(zip(keys, counts, strict=True)))
            for host, (keys, counts) in zip(state["hosts"], shared, strict=True)
        )
        self._counted = Counter()
        for host, its in self._shared.items():
            self._counted[registrable_domain(host)] += len(its)


def _cut(state: State) -> Iterator[tuple[int, bytes]]:
    """The rows of a state by the numbers of their URLs. Raises ValueError for what is no row."""
    for url, row in enumerate(_pieces(state["rows"], state["row_sizes"])):
        if row:
            _title(row, _parts(row)[-1])
            yield url, row


def _pieces(data: NDArray[np.uint8], sizes: NDArray[np.int64]) -> Iterator[bytes]:
    """Bytes cut into pieces of these sizes."""
    return pieces_of(data.tobytes(), sizes)


def _places(keys: Collection[int], whole: Iterable[int], seen: _Seen) -> dict[int, list[int]]:
    """Some sentences of a whole page by the places at which they stand."""
    some, found, last = set(keys), dict[int, list[int]](), 0
    for key in whole:
        if key in some:
            found.setdefault(last, []).append(key)
        else:
            last = 0 if key in seen.flips else key
    return found


def _alike(one: str, other: str) -> bool:
    """Whether two sentences, as `plain` gives them, have half of their words in common; any number
    is one word, where they are masked."""
    its, own = set(one.split()), set(other.split())
    return bool(its) and 2 * len(its & own) >= max(len(its), len(own))


def _numbers(sentence: str) -> list[str]:
    """The words of a sentence that have digits, as `plain` gives it."""
    return [word for word in sentence.split() if any(map(str.isdigit, word))]


def identity_of(keys: Iterable[int]) -> int:
    """A number that two pages of the same sentences have; 0 for one that says too little."""
    different = sorted(set(keys))
    return signature(" ".join(map(str, different))) if len(different) >= 2 else 0


def _beside_titles(
    added: tuple[str, ...], heading: str, removed: tuple[str, ...], old_title: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Sentences that came and went, without a title that is another now and stands in the text,
    too: as a sentence, or before the first one where that has no end. The title is told itself."""
    if not (heading and old_title) or plain(heading) == plain(old_title):
        return added, removed
    came = {one: _without_title(one, heading) for one in added}
    went = {one: _without_title(one, old_title) for one in removed}
    same = {plain(rest) for rest in came.values()} & {plain(rest) for rest in went.values()}
    same.add("")
    return (
        tuple(one for one, rest in came.items() if plain(rest) not in same),
        tuple(one for one, rest in went.items() if plain(rest) not in same),
    )


def _without_title(sentence: str, title: str) -> str:
    """What a sentence says behind a title, with or without the name of the site that ends it."""
    for name in (
        title,
        *(title[: found.start()] for found in islice(BETWEEN.finditer(title), MOST_PARTS)),
    ):
        if sentence.startswith(name):
            return sentence[len(name) :].strip()
    return sentence


def _change(
    added: tuple[str, ...],
    removed: tuple[str, ...],
    now: Iterable[str],
    before: Iterable[str],
    lost: int,
) -> Change | None:
    """None where too few words came and went."""
    came = sum(len(plain(sentence).split()) for sentence in added)
    went = sum(len(plain(sentence).split()) for sentence in removed)
    few = came + went < LEAST_WORDS
    if not (added or lost) or (few and not any(_corrects(one, removed) for one in added)):
        return None
    total = sum(len(sentence.split()) for part in (now, before) for sentence in part)
    return Change(added, removed, round(min(1.0, (came + went) / max(1, total)), 4))


def _corrects(sentence: str, others: tuple[str, ...]) -> bool:
    """Whether a sentence of a few words is a correction of another one."""
    words = plain(sentence).split()
    return any(
        SequenceMatcher(None, words, plain(other).split(), autojunk=False).ratio() >= NEAR
        for other in others[:50]
    )


def _ragged(rows: Sequence[Collection[int]]) -> dict[str, Any]:
    sizes = column(map(len, rows), len(rows), np.int64)
    values = chain.from_iterable(rows)
    return {"sizes": sizes, "values": column(values, int(sizes.sum()), np.uint64)}


def _rows(ragged: Mapping[str, Any]) -> list[list[int]]:
    return [*pieces_of(ragged["values"].tolist(), ragged["sizes"])]
