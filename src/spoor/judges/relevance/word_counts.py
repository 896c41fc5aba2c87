"""The words of a page as numbers, so that its terms are counted by arrays instead of word by word;
and which of them fit the wish.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import chain, compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from spoor.judges.relevance.frequencies import Slots
from spoor.judges.relevance.matching import Matcher
from spoor.web.text import UNSPACED, UNSPACED_LETTERS, terms

Numbers = NDArray[np.int64]

Fit = tuple[int, bool, float]
"""Part of the wish, whether it is the part itself or a form of it, and likeness."""
Found = tuple[dict[int, float], dict[int, float]]
"""Part of a leaf → how often it stands there, and how often what is like it."""

LONGEST = 64
"""Letters of a word that is no word."""
MOST = 100_000
"""Words that are known at most between two pages."""
_NO_TERM, _RUN = -1, -2


def number_of(term: str) -> int:
    """The number of a term: of a word that of its first six letters, which most of its forms
    share."""
    return zlib.crc32(term[:6].encode("utf-8", "surrogatepass"))


class Counted:
    """How often each slot stands among some, by an array with a place for every slot: O(slots
    given), whatever they are."""

    def __init__(self) -> None:
        self._first = np.zeros(1, np.int64)

    def of(
        self, slots: Numbers, often: Numbers | None = None, *, known: int
    ) -> tuple[Numbers, NDArray[Any]]:
        """The different ones in the order of their first places, and of each the sum of its
        numbers in `often`, none of which is 0; without these, how often it stands there. `known`:
        slots that there are."""
        if len(self._first) < known:
            self._first = np.zeros(2 * known, np.int64)
        first, at = self._first, np.arange(len(slots))
        first[slots[::-1]] = at[::-1]  # the last one that is written stays
        times = np.bincount(first.take(slots), often, len(slots))
        once = times.nonzero()[0]
        return slots.take(once), times.take(once)


class Pairs:
    """The slots of pairs of letters of scripts without spaces, each in one number: the first letter
    above 16 bits; of one that stands alone nothing is above them."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self.forget()

    def forget(self) -> None:
        """Forget all."""
        self._known = np.zeros(0, np.uint32)
        """In order."""
        self._of = np.zeros(0, np.int64)
        """The slot of each, or `_NO_TERM`."""

    def of(self, runs: str) -> tuple[Numbers, Numbers]:
        """The slots of all pairs of letters in runs with blanks between them, and how often
        each stands there. O(n log n), by sorts of numbers instead of a look-up for each pair."""
        letters = np.frombuffer(f" {runs} ".encode("utf-16-le"), np.uint16).astype(np.uint32)
        inside = letters != ord(" ")
        both = inside[1:] & inside[:-1]
        alone = inside[1:-1] & ~both[1:] & ~both[:-1]
        pairs = (letters[:-1] << np.uint32(16) | letters[1:])[both]
        found = np.concatenate([pairs, letters[1:-1][alone]]) if alone.any() else pairs
        found.sort()
        is_last = np.ones(len(found), np.bool_)
        np.not_equal(found[1:], found[:-1], out=is_last[:-1])
        ends = np.flatnonzero(is_last)
        often, different = ends.copy(), found[ends]
        often[1:] -= ends[:-1]
        often[:1] += 1
        place = self._known.searchsorted(different)
        is_new = np.ones(len(different), np.bool_)
        if len(self._known):
            is_new = self._known.take(place, mode="clip") != different
        if is_new.any():
            place += np.cumsum(is_new) - is_new  # where each stands among old and new ones
            self._insert(place[is_new], different[is_new])
        slots = self._of[place]
        if len(self._known) > MOST:
            self.forget()
        is_term = slots >= 0
        return slots[is_term], often[is_term]

    def _insert(self, places: Numbers, pairs: NDArray[np.uint32]) -> None:
        """Know some in order, at these places. `numpy.insert` takes twice as long."""
        size = len(self._known) + len(pairs)
        old = np.ones(size, np.bool_)
        old[places] = False
        known, of = np.empty(size, np.uint32), np.empty(size, np.int64)
        known[places], of[places] = pairs, self._new(pairs)
        known[old], of[old] = self._known, self._of
        self._known, self._of = known, of

    def _new(self, pairs: NDArray[np.uint32]) -> list[int]:
        """The slots of some in order."""
        alone = int(pairs.searchsorted(1 << 16))
        first, second = pairs >> np.uint32(16), pairs & np.uint32(0xFFFF)
        both = first[alone:], second[alone:]
        numbers = [*map(number_of, map(chr, second[:alone].tolist())), *_numbers_of(*both).tolist()]
        slots = self._slots.of(numbers)
        for at in np.flatnonzero(second <= _LAST_DIGIT).tolist():
            if chr(second[at]).isdigit() and (at < alone or chr(first[at]).isdigit()):
                slots[at] = _NO_TERM
        return slots


def _numbers_of(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """`number_of` the words of two letters, each of three bytes in UTF-8."""
    of_first, of_second = _parts_of_numbers()
    return of_first.take(first) ^ of_second.take(second)


@lru_cache(maxsize=1)
def _parts_of_numbers() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Of each letter of 16 bits that has three bytes in UTF-8, what it gives to the number of a
    word as the first and as the second one: CRC-32 is linear, so that the number of a word is the
    exclusive or of both. 512 kB, and 5 ms once."""
    letters = np.arange(1 << 16, dtype=np.uint32)
    second = np.zeros_like(letters)
    for shift, mark in ((12, 0xE0), (6, 0x80), (0, 0x80)):
        second = _next(second ^ ((letters >> np.uint32(shift)) & np.uint32(0x3F) | np.uint32(mark)))
    first = _next(_next(_next(second)))
    return first, second ^ np.uint32(zlib.crc32(bytes(6)))


def _next(registers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    found: NDArray[np.uint32] = _CRC[registers & np.uint32(0xFF)] ^ (registers >> np.uint32(8))
    return found


_CRC = np.array([zlib.crc32(bytes([byte ^ 0xFF])) ^ 0xFF000000 for byte in range(256)], np.uint32)
"""The table of CRC-32."""
_LAST_DIGIT = 0x17E9
"""Of the scripts without spaces."""


class Scripts(NamedTuple):
    """How many characters of 16 bits a text has, and how many of these are in which script."""

    letters: int = 0
    unspaced: int = 0
    """In one without spaces."""
    others: int = 0
    """Neither in such a one nor Latin."""


def scripts_of(text: str) -> Scripts:
    """The scripts of a text. O(length), by arrays; of a text in Latin letters with signs few
    characters are looked up."""
    if text.isascii():
        return Scripts()
    letters = _letters_of(text)
    is_high = letters >= _NO_LATIN
    if 4 * np.count_nonzero(is_high) < len(letters):  # a few signs, as a rule
        letters = letters[is_high]
    found = _SCRIPTS.take(letters)
    unspaced = int(np.count_nonzero(found == UNSPACED_SCRIPT))
    others = int(np.count_nonzero(found == OTHER_SCRIPT))
    return Scripts(len(is_high), unspaced, others)


def numbers_of_runs(runs: Sequence[str]) -> NDArray[np.uint64]:
    """A number of the letters of each run, in their order. O(letters), by arrays."""
    if not runs:
        return np.zeros(0, np.uint64)
    letters = _letters_of(" ".join(runs)).astype(np.uint64)
    pairs = letters * np.uint64(0x9E3779B1)
    pairs[1:] ^= letters[:-1] << np.uint64(32)
    pairs *= pairs | np.uint64(1)
    begins = np.append(0, np.flatnonzero(letters == ord(" ")) + 1)
    return np.add.reduceat(pairs, begins)


def most_of(scripts: Scripts) -> int:
    """The script of a third or more of a text's characters: `UNSPACED_SCRIPT`, `OTHER_SCRIPT`, or
    `LATIN`."""
    if 3 * scripts.unspaced > scripts.letters:
        return UNSPACED_SCRIPT
    return OTHER_SCRIPT if 3 * scripts.others > scripts.letters else LATIN


def _letters_of(text: str) -> NDArray[np.uint16]:
    return np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)


def parted(words: list[str], scripts: Scripts) -> tuple[list[str], list[str]]:
    """Runs of scripts without spaces, and the other words of a text, each in their order. O(letters
    of both), by arrays: most runs are parts of a sentence, which stand nowhere else, so that what
    is known of a run is of no use for the next page. `scripts`: those of the text."""
    if not scripts.unspaced:
        return [], words
    together = " ".join(words)
    if together.isascii():  # what the text has is no word: a sign, as Thai's of its currency
        return [], words
    its = _SCRIPTS.take(_letters_of(together))
    begins = np.append(0, np.flatnonzero(its == _BLANK) + 1)
    is_run = np.bitwise_and.reduceat(its, begins) & 1
    runs = is_run.tolist()
    is_run ^= 1
    return [*compress(words, runs)], [*compress(words, is_run.tolist())]


LATIN, UNSPACED_SCRIPT, OTHER_SCRIPT, _BLANK = range(4)  # those of a run are odd
_SCRIPTS = np.full(1 << 16, LATIN, np.uint8)
_NO_LATIN = 0x370
"""What is below is Latin."""
_SCRIPTS[_NO_LATIN:0x1E00] = OTHER_SCRIPT
for _first, _, _last in zip(*[iter(UNSPACED_LETTERS)] * 3, strict=True):
    _SCRIPTS[ord(_first) : ord(_last) + 1] = UNSPACED_SCRIPT
_SCRIPTS[ord(" ")] = _BLANK


class WordNumbers(dict[str, int]):
    """Word → its number, by which arrays know the slot of its term, or a code below 0: `_NO_TERM`,
    a run of a script without spaces (`_RUN`), or one of several terms."""

    def __init__(self, matcher: Matcher, stemmer: str, slots: Slots) -> None:
        super().__init__()
        self._matcher = matcher
        self._stemmer = stemmer
        self._slots = slots
        self._coded: dict[int, tuple[int, ...]] = {}
        """Code of a word → the slots of its terms."""
        self._new: list[str] = []
        """Words that have a number, and nothing else yet."""
        self._long: list[str] = []
        self._forget()

    def _forget(self) -> None:
        self.clear()
        self._coded.clear()
        self._next, self._code = 0, _RUN
        self._slot = np.zeros(1_024, np.int64)
        """Of each number, its slot or code …"""
        self._may_say = np.zeros(1_024, np.bool_)
        """… whether its word may be in `fits` …"""
        self._hash = np.zeros(1_024, np.uint32)
        """… and the number of its first letters."""
        self.fits: dict[str, tuple[Fit, ...]] = {}
        """What parts of the wish a word fits, if any."""
        self.words: dict[int, str] = {}
        """Number → its word, of those that fit the wish and of runs."""

    def trim(self) -> None:
        """Between two pages: forget all words where there are too many, and those that are long."""
        if self._next > MOST:
            self._forget()
        for word in self._long:
            if (number := self.pop(word, None)) is not None:
                self._coded.pop(int(self._slot[number]), None)
                self.fits.pop(word, None)
                self.words.pop(number, None)
        self._long.clear()

    def __missing__(self, word: str) -> int:
        self._new.append(word)
        number = self[word] = self._next
        self._next += 1
        return number

    def of(self, words: Collection[str]) -> Numbers:
        """The numbers of words in lower case. O(words)."""
        numbers = np.fromiter(map(self.__getitem__, words), np.int64, len(words))
        if self._new:
            self._add()
        return numbers

    def _add(self) -> None:
        """What is to be known of the new words."""
        words, self._new = self._new, []
        matcher, slots, codes = self._matcher, self._slots, list[int]()
        hashes = [*map(number_of, words)]
        may_fit, runs_may_fit = matcher.may_fit(words), matcher.runs_may_fit(words)
        any_may_fit = runs_may_fit or matcher.has_spaced
        first = self._next - len(words)
        for word, number in zip(words, hashes, strict=True):
            if not word.isascii() and UNSPACED.fullmatch(word):
                self.words[first + len(codes)] = word
                codes.append(_RUN)
                if runs_may_fit and (fits := matcher.fits_of_run(word)):
                    self.fits[word] = fits
            elif (
                len(word) <= LONGEST
                and word.isalnum()
                and (word.isascii() or not UNSPACED.search(word))
                and not may_fit(word)
            ):
                codes.append(_NO_TERM if word.isdigit() else slots[number])
            else:
                codes.append(self._code_of(word, may_fit=any_may_fit))
            if len(word) > LONGEST:
                self._long.append(word)
        if self._next > len(self._slot):
            more = 2 * self._next - len(self._slot)
            self._slot = np.append(self._slot, np.zeros(more, np.int64))
            self._may_say = np.append(self._may_say, np.zeros(more, np.bool_))
            self._hash = np.append(self._hash, np.zeros(more, np.uint32))
        self._slot[first : self._next] = codes
        self._hash[first : self._next] = hashes
        if any_may_fit and self.fits:
            may_say = [*map(self.fits.__contains__, words)]
            self._may_say[first : self._next] = may_say
            self.words.update(compress(enumerate(words, first), may_say))

    def _code_of(self, word: str, *, may_fit: bool) -> int:
        """Of one that may fit the wish or be several terms."""
        found = terms(word) if len(word) <= LONGEST or UNSPACED.search(word) else []
        if may_fit:
            fits = tuple(fit for term in found for fit in self._matcher.fits(term, self._stemmer))
            if fits:
                self.fits[word] = fits
        several = tuple(self._slots[number_of(term)] for term in found if not term.isdigit())
        if len(several) < 2:
            return several[0] if several else _NO_TERM
        self._code -= 1
        self._coded[self._code] = several
        return self._code

    def places(self, numbers: Numbers) -> list[int]:
        """Where words stand that may say something of the wish."""
        places: list[int] = self._may_say.take(numbers).nonzero()[0].tolist()
        return places

    def hashes(self, numbers: Numbers) -> NDArray[np.uint64]:
        """`number_of` each word, whatever else is known."""
        return self._hash.take(numbers).astype(np.uint64)

    def found(self, numbers: Numbers, ends: Sequence[int]) -> list[Found]:
        """What words say of the parts of the wish, by the part of the page in which they stand:
        after which word each of these ends."""
        if not self.fits:
            return [({}, {}) for _ in ends]
        places = self.places(numbers)
        words = [self.words[number] for number in numbers.take(places).tolist()]
        found, begin = [], 0
        for end in ends:
            until = bisect_left(places, end)
            found.append(self._said(words[begin:until]))
            begin = until
        return found

    def count(self, words: Sequence[str]) -> Found:
        """The same of any words, of one part."""
        for word in words:
            self[word]
        if self._new:
            self._add()
        return self._said([*filter(self.fits.__contains__, words)])

    def _said(self, words: Sequence[str]) -> Found:
        exact: dict[int, float] = {}
        like: dict[int, float] = {}
        for word, often in Counter(words).items() if words else ():
            for part, same, likeness in self.fits.get(word, ()):
                into = exact if same else like
                into[part] = into.get(part, 0.0) + often * likeness
        return exact, like

    def terms(
        self, numbers: Numbers, runs: Sequence[str], counted: Counted, pairs: Pairs
    ) -> tuple[Numbers, NDArray[Any]]:
        """The slots of all terms of some words and more runs, in the order of their first places,
        those that stand in runs at last, and how often each stands there."""
        codes = self._slot.take(numbers)
        if len(codes) and int(codes.min()) <= _RUN:
            if (is_run := codes == _RUN).any():
                runs = [*runs, *map(self.words.__getitem__, numbers[is_run].tolist())]
            if (is_coded := codes < _RUN).any():
                several = [self._coded[code] for code in codes[is_coded].tolist()]
                times = np.ones(len(codes), np.int64)
                times[is_coded] = [*map(len, several)]
                codes = np.repeat(codes, times)
                codes[codes < _RUN] = [*chain.from_iterable(several)]
        codes, often = codes[codes >= 0], None
        if runs:
            slots, times = pairs.of(" ".join(runs))
            often = np.concatenate([np.ones(len(codes), np.int64), times])
            codes = np.concatenate([codes, slots])
        return counted.of(codes, often, known=len(self._slots))
