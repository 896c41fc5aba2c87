"""Where the words of a wish stand on a page: as they are, inflected, in compounds, with a slip.

Each word or phrase of a wish is a *leaf*. What a page says of a leaf is one number in [0, 1], in
which the parts of the page count apart, as independent evidence: 1 − Π (1 − weight · saturation).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import and_, or_
from typing import Any

from spoor.judges.relevance.loan_words import (
    LEAST_LETTERS,
    first_letters,
    sound_of_hangul,
    sounds_of_latin,
)
from spoor.judges.wish import AllOf, AnyOf, Field, Part, Phrase, Wish, Words, words_within
from spoor.web.languages import says_little
from spoor.web.spellings import american, stems
from spoor.web.text import IDEOGRAPH, UNSPACED, stem, terms

WEIGHTS: Mapping[str, float] = {
    "title": 0.6,
    "headings": 0.45,
    "anchors": 0.45,
    "keywords": 0.45,
    "url": 0.4,
    "description": 0.3,
    "text": 0.5,
}
"""Part of a page → what a word there is worth at most."""
SHORT_PARTS = ("title", "anchors", "url", "keywords")
"""Parts in which the words that stand together are one name."""
FEW = 3
"""Parts of "any of", and words, at most that may be the words of one name."""
INEXACT = 0.6
"""Worth of a word that is only like the typed one, where the typed one is known …"""
INEXACT_RUN = 0.2
"""… and of a part of a run without spaces: half of its letters say little."""
SHORT_TEXT = 200
"""A text with fewer words counts as one of so many."""
HALF = 300
"""Words of a text in which a word that stands once is worth half of what a text can give …"""
LENGTH = 0.75
"""… and in one so many times as long, a word that stands this power of it as often (as BM25)."""
_LIKE = 0.4
"""Least share of common character trigrams (Jaccard) of words that are alike."""

_BETWEEN = r"[の的을를의]?[\s・]?"
"""What may stand within a compound of a script without spaces: a particle, a space."""
_KOREAN = re.compile("[가-힣]{3,}")
_PARTICLES = "을은과의에", "를는와의에로"
"""Particles of one letter at the end of a Korean word: after a consonant, after a vowel. Others
(이, 가, 도, 만) end many nouns; a noun that is cut wrongly is found all the same."""
_AFTER_SYLLABLE = re.compile("(?:[이가도만은는을를과와의에로]|에서|으로|에게|까지|부터)?")
"""Particles that may follow a noun that is known to be one."""
_VERB_ENDINGS = ("하기", "하는", "하다", "되기", "되는")
"""That make a verb of a noun (`관리하기`, to manage, of `관리`, management)."""
_LONG_PARTICLES = ("에서", "으로", "에게", "까지", "부터")
_LATIN_AND_PARTICLE = re.compile(
    rf"([A-Za-z0-9]+)(?:[{''.join(_PARTICLES)}]|{'|'.join(_LONG_PARTICLES)})"
)
_ELECTRONIC = re.compile(r"(?i)\be(mail|book|commerce|learning)")
"""Typed without its hyphen."""
SHORTEST_REST = 4
"""Letters at least of what stands after *e-*, to be looked for by itself."""
_PLURAL = re.compile(r"\b([A-Z][A-Z0-9]+)['’]?s\b")
"""Of an abbreviation, as in PDFs; stemmers of most languages do not know it."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One word or phrase of a wish, to be found in one part of the page or in any."""

    shown: str
    parts: tuple[str, ...]
    """Its terms; several of a phrase, or of a run without spaces."""
    ordered: bool = False
    """Whether the parts must follow one another as words."""
    field: str = ""
    joined: str = ""
    """A word that was typed with a hyphen, without it: *email* for *e-mail*."""

    @property
    def is_run(self) -> bool:
        return not self.ordered and bool(UNSPACED.match(self.parts[0]))


Tree = tuple[Any, ...]
"""("all" or "any", subtrees and numbers of leaves …)."""


class Matcher:
    """The leaves of a wish, and how well a term of a page fits each part of them."""

    def __init__(self, wish: Wish | None) -> None:
        self.leaves: list[Leaf] = []
        self.wanted = None if wish is None or wish.wanted is None else self._tree(wish.wanted, "")
        self.name = self.wanted if wish is not None and _may_be_name(wish.wanted) else None
        """What is wanted, where it may be a name (*borrow checker*)."""
        self.topics = () if wish is None else _topics(wish)
        """The parts of "any of" as typed, in the order of the tree; none where one is wanted."""
        self.words_of_phrases: dict[int, Tree] = {
            at: self._tree(Words(tuple(leaf.shown.split())), "")
            for at, leaf in enumerate(self.leaves.copy())
            if leaf.ordered and not leaf.field and " " in leaf.shown
        }
        """Phrase that is wanted anywhere on a page → all of its words."""
        trees = (self.wanted, *self.words_of_phrases.values())
        self.conjunctions = tuple(dict.fromkeys(tree for one in trees for tree in _joined(one)))
        """The parts of the tree that name several words, phrases or alternatives."""
        self.unwanted = [] if wish is None else [self._tree(part, "") for part in wish.unwanted]
        joined = [leaf.joined for leaf in self.leaves if leaf.joined]
        parts = (part for leaf in self.leaves for part in leaf.parts)
        self.parts = list(dict.fromkeys([*parts, *joined]))
        number = {part: at for at, part in enumerate(self.parts)}
        self.part_numbers = [tuple(number[part] for part in leaf.parts) for leaf in self.leaves]
        self._spaced = [(at, part) for at, part in enumerate(self.parts) if not _is_unspaced(part)]
        self._heads = tuple({part[:2] for _, part in self._spaced})
        self._tails = tuple({part[3:] for _, part in self._spaced if len(part) > 4})
        self._roots = tuple({part[:4] for _, part in self._spaced if len(part) > 3})
        self._unspaced = [(at, part) for at, part in enumerate(self.parts) if _is_unspaced(part)]
        self._ideographs = {part for _, part in self._unspaced if IDEOGRAPH.fullmatch(part)}
        """Parts that stand for a word within a run of characters, too (茶 in 緑茶)."""
        self._syllables = {part for _, part in self._unspaced if len(part) == 1} - self._ideographs
        sounds = (sound_of_hangul(leaf.shown) if leaf.is_run else "" for leaf in self.leaves)
        self._borrowed = {at: sound for at, sound in enumerate(sounds) if sound}
        """Leaf in Korean that may be a loan word → its sound."""
        borrowed = dict.fromkeys(self._borrowed.values())
        self._sounds = {sound: at for at, sound in enumerate(borrowed, len(self.parts))}
        """Sound → its number, after those of the parts."""
        self._first_letters = tuple({*"".join(map(first_letters, self._sounds))})
        self._stems: dict[tuple[str, str], str] = {}
        self._trigrams = {part: _trigrams(part) for _, part in self._spaced}
        self._number = number
        self._phrases = {
            at: re.compile(r"(?<!\w)" + r"[\W_]+".join(map(re.escape, leaf.parts)) + r"(?!\w)")
            for at, leaf in enumerate(self.leaves)
            if leaf.ordered
        }
        self._compounds = {
            at: re.compile(_BETWEEN.join(leaf.shown))
            for at, leaf in enumerate(self.leaves)
            if len(leaf.parts) > 1 and UNSPACED.fullmatch(leaf.shown)
        }

    # ---------------------------------------------------------------- the tree

    def _tree(self, part: Part, field: str) -> Tree:
        match part:
            case Words(words):
                chosen = [word for word in words if not says_little(word)] or list(words)
                return ("all", *(self._leaf(word, field) for word in chosen))
            case Phrase(words):
                return ("all", self._leaf(" ".join(words), field, ordered=True))
            case Field(name, inner):
                return self._tree(inner, name)
            case AnyOf(parts):
                return ("any", *(self._tree(one, field) for one in _alternatives(parts)))
            case AllOf(parts):
                return ("all", *(self._tree(one, field) for one in parts))

    def _leaf(self, word: str, field: str, *, ordered: bool = False) -> int:
        word = word if ordered else without_particle(word)
        typed = word if ordered else _ELECTRONIC.sub(r"e-\1", word)
        parts = tuple(terms(_PLURAL.sub(r"\1", typed))) or (word.lower(),)
        several = len(parts) > 1 and not any(map(_is_unspaced, parts))
        joined = "".join(parts) if several and not ordered else ""
        leaf = Leaf(word, parts, ordered=several, field=field, joined=joined)
        if leaf not in self.leaves:
            self.leaves.append(leaf)
        return self.leaves.index(leaf)

    # ---------------------------------------------------------------- terms

    @property
    def has_spaced(self) -> bool:
        """Whether a word in a script with spaces may fit the wish."""
        return bool(self._spaced or self._sounds)

    def may_fit(self, words: Sequence[str]) -> Callable[[str], bool]:
        """Tells of each of some words with spaces, in lower case, whether it may fit a part of the
        wish: most do not, and are told at once. A slip in the first two letters leaves those from
        the fourth on."""
        heads, tails, together = self._heads, self._tails, " ".join(words)
        if self._sounds:
            heads += self._first_letters
        roots = [re.escape(root) for root in self._roots if root in together]
        if not roots:
            return lambda word: word.startswith(heads) or word.endswith(tails)
        within = re.compile("|".join(roots)).search
        return lambda word: (
            word.startswith(heads) or word.endswith(tails) or within(word) is not None
        )

    def runs_may_fit(self, words: Sequence[str]) -> bool:
        """Whether a run of a script without spaces among some words may fit a part of the wish."""
        if not self._unspaced:
            return False
        together = " ".join(words)
        return any(part in together for _, part in self._unspaced)

    def fits_of_run(self, run: str) -> tuple[tuple[int, bool, float], ...]:
        """As `fits`, of all terms of a run of a script without spaces."""
        found: list[tuple[int, bool, float]] = []
        for at, part in self._unspaced:
            if part in run:
                found += [(at, True, 1.0)] * self._times(part, run)
        return tuple(found)

    def fits_of_runs(self, runs: Sequence[str]) -> Iterator[tuple[int, float]]:
        """The parts of the wish that stand in runs of scripts without spaces, and how often."""
        if not runs or not self._unspaced:
            return
        together = " ".join(runs)
        for at, part in self._unspaced:
            if part in together:
                each = runs if part in self._syllables else (together,)
                if times := sum(self._times(part, run) for run in each):
                    yield at, float(times)

    def _times(self, part: str, run: str) -> int:
        return _is_noun(part, run) if part in self._syllables else _overlapping(part, run)

    def places_in_runs(self, runs: Sequence[str]) -> list[tuple[int, int]]:
        """Where parts of the wish stand in runs of scripts without spaces: run and part."""
        if not runs or not self._unspaced:
            return []
        together = " ".join(runs)
        there = [(at, part) for at, part in self._unspaced if part in together]
        return [(place, at) for at, part in there for place, run in enumerate(runs) if part in run]

    def runs_that_fit(
        self, runs: Iterable[str]
    ) -> Mapping[str, tuple[tuple[int, bool, float], ...]]:
        """`fits_of_run` of each that fits anything."""
        fits = ((run, self.fits_of_run(run)) for run in dict.fromkeys(runs))
        return {run: its for run, its in fits if its}

    def fits(self, term: str, stemmer: str) -> tuple[tuple[int, bool, float], ...]:
        """(part, whether it is the part itself or a form of it, likeness) of each part that a term
        of a page fits; `stemmer` is the Snowball algorithm for the page's language, if any."""
        if _is_unspaced(term):
            return self.fits_of_run(term)
        found = []
        if self._sounds and len(term) >= LEAST_LETTERS and term.startswith(self._first_letters):
            sounds = sounds_of_latin(term)
            found += [(at, True, 1.0) for sound, at in self._sounds.items() if sound in sounds]
        for at, part in self._spaced:
            if term == part:
                found.append((at, True, 1.0))
            elif term[:2] == part[:2] or (len(part) > 3 and part[:4] in term):
                likeness, same = self._likeness(term, part, stemmer)
                if likeness:
                    found.append((at, same, likeness))
            elif (
                len(part) > 4
                and abs(len(term) - len(part)) < 2
                and term[0] == part[0]  # *clocks* is no slip for *blocks*
                and one_slip(term, part)
            ):
                found.append((at, False, 0.9))
        return tuple(found)

    def _likeness(self, term: str, part: str, stemmer: str) -> tuple[float, bool]:
        root, spelled, its_root = part, term, term
        if stemmer:
            root = self._stems.get((stemmer, part), "")
            if not root:
                root = self._stems[stemmer, part] = stems([part], stemmer)[0]
            spelled = american(term) if stemmer == "english" else term
            its_root = stem([spelled], stemmer)[0]
            if its_root == root:
                return 1.0, True
        if len(root) > 3 and root in spelled:
            return 0.7, False  # a compound, or a form that the stemmer does not know
        if min(len(term), len(part)) < 5:
            return 0.0, False
        if one_slip(term, part):
            return 0.9, False
        if _slip_and_ending(its_root, root):
            return 0.7, False
        mine, its = _trigrams(term), self._trigrams[part]
        common = len(mine & its)
        likeness = common / (len(mine) + len(its) - common)
        return (likeness if likeness >= _LIKE else 0.0), False

    # ---------------------------------------------------------------- leaves

    def stand_together(self, places: Sequence[int]) -> list[bool]:
        """Of each of the conjunctions, whether all that it names stands in one part of a page; the
        parts in which each leaf stands are bits."""
        return [_common(("all", *tree[1:]), places) != 0 for tree in self.conjunctions]

    def is_named(self, named: Iterable[bool]) -> bool:
        """Whether a page that names these leaves names all that is wanted."""
        return self.wanted is not None and _common(self.wanted, [*map(int, named)]) != 0

    def is_named_by(self, text: str, words: Sequence[str], exact: Mapping[int, float]) -> bool:
        """Whether a text says what is wanted, and nothing else: `words` are its terms, and `exact`
        how often the parts of the leaves stand in it."""
        if self.wanted is None or not exact:
            return False
        stands = [
            int(not leaf.field and self.leaf_counts(at, exact, {}, text)[0] > 0)
            for at, leaf in enumerate(self.leaves)
        ]
        telling = sum(not says_little(word) for word in words)
        return _common(self.wanted, stands) != 0 and sum(exact.values()) >= telling

    def leaf_counts(
        self,
        leaf: int,
        exact: Mapping[int, float],
        like: Mapping[int, float],
        text: str,
        *,
        is_latin: bool = False,
    ) -> tuple[float, float]:
        """How often a leaf stands in a part of a page, as it is and as something like it, from how
        often its parts do. `text` is that part of the page; where that is in Latin letters
        (`is_latin`), the English word that a Korean one was borrowed from stands for it."""
        times, inexact = self._counts(leaf, exact, like, text)
        if is_latin and leaf in self._borrowed:
            times += exact.get(self._sounds[self._borrowed[leaf]], 0.0)
        return times, inexact

    def _counts(
        self, leaf: int, exact: Mapping[int, float], like: Mapping[int, float], text: str
    ) -> tuple[float, float]:
        numbers = self.part_numbers[leaf]
        if leaf in self._phrases:
            times = 0.0
            if all(number in exact for number in numbers):
                times = float(len(self._phrases[leaf].findall(text.lower())))
            if not (joined := self.leaves[leaf].joined):
                return times, 0.0
            # Also in one, and *mail* for *e-mail*.
            number, last = self._number[joined], numbers[-1]
            inexact = like.get(number, 0.0)
            if len(self.parts[numbers[0]]) == 1 and len(self.parts[last]) >= SHORTEST_REST:
                inexact += max(0.0, exact.get(last, 0.0) - times)
            return times + exact.get(number, 0.0), inexact
        if len(numbers) == 1:
            (number,) = numbers
            part = self.parts[number]
            if part in self._ideographs:  # in titles it stands in two pairs of characters
                return min(exact.get(number, 0.0), float(text.count(part))), 0.0
            if part in self._syllables:  # and there a pair may begin within a word
                alone = sum(_is_noun(part, run) for run in UNSPACED.findall(text))
                return min(exact.get(number, 0.0), float(alone)), 0.0
            return exact.get(number, 0.0), like.get(number, 0.0)
        counts = [exact[number] for number in numbers if number in exact]
        share = len(counts) / len(numbers)
        if share == 1.0:
            return min(counts), 0.0
        if share < 0.5:
            return 0.0, 0.0
        if leaf in self._compounds and (found := self._compounds[leaf].findall(text)):
            return float(len(found)), 0.0
        return 0.0, share * share * min(counts)


def without_particle(word: str) -> str:
    """A Korean word of a wish without the particle that is written to it, and without the ending
    that makes a verb of it, if two letters are left: a page has the noun with others, or with
    none."""
    if latin := _LATIN_AND_PARTICLE.fullmatch(word):
        return latin[1]
    if not _KOREAN.fullmatch(word):
        return word
    if len(word) > 3 and word.endswith(_VERB_ENDINGS):
        return word[:-2]
    if word.endswith(_LONG_PARTICLES):
        noun = word[:-2] if len(word) > 3 else word
    else:
        after_vowel = (ord(word[-2]) - ord("가")) % 28 == 0
        noun = word[:-1] if word[-1] in _PARTICLES[after_vowel] else word
    return noun[:-2] if len(noun) > 3 and noun.endswith(_VERB_ENDINGS) else noun


def _alternatives(parts: Sequence[Part]) -> list[Part]:
    """Parts of "any of"; a function word between commas is none, unless there is no other."""
    return [one for one in parts if not _is_function_word(one)] or list(parts)


def _topics(wish: Wish) -> tuple[str, ...]:
    wanted = wish.wanted
    while isinstance(wanted, Field):  # as in the tree
        wanted = wanted.part
    parts = _alternatives(wanted.parts) if isinstance(wanted, AnyOf) else []
    return tuple(" ".join(words_within(part)) for part in parts) if len(parts) > 1 else ()


def _may_be_name(wanted: Part | None) -> bool:
    """Whether it is a few words that were typed one after the other."""
    several = isinstance(wanted, Words) and 1 < len(wanted.words) <= FEW
    return several and not any(map(says_little, words_within(wanted)))


def _is_function_word(part: Part) -> bool:
    return isinstance(part, Words) and all(map(says_little, part.words))


def _is_unspaced(term: str) -> bool:
    return not term.isascii() and UNSPACED.match(term) is not None


def _is_noun(syllable: str, run: str) -> bool:
    """Whether a run of characters is a word of one syllable, perhaps with a particle."""
    return run.startswith(syllable) and _AFTER_SYLLABLE.fullmatch(run, 1) is not None


def _overlapping(part: str, run: str) -> int:
    """How often a part stands in a run, also across one another."""
    if len(set(part)) > 1 or len(part) == 1:
        return run.count(part)  # two letters that differ, or one
    return len(re.findall(f"(?={re.escape(part)})", run))


def _trigrams(word: str) -> frozenset[str]:
    padded = f" {word} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


@lru_cache(maxsize=65_536)
def one_slip(word: str, other: str) -> bool:
    """Whether one letter too many, too few or wrong, or two exchanged, lie between two words
    (restricted Damerau–Levenshtein distance 1)."""
    if abs(len(word) - len(other)) > 1 or word == other:
        return False
    short, long = sorted((word, other), key=len)
    at = next((i for i, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if len(short) < len(long):
        return short[at:] == long[at + 1 :]
    if short[at + 1 :] == long[at + 1 :]:
        return True
    return short[at + 2 :] == long[at + 2 :] and short[at : at + 2] == long[at : at + 2][::-1]


def _common(tree: Tree, places: Sequence[int]) -> int:
    """The parts of a page, as bits, in which a tree is found as a whole."""
    kind, *nodes = tree
    each = [places[node] if isinstance(node, int) else _common(node, places) for node in nodes]
    return reduce(and_ if kind == "all" else or_, each)


def _joined(tree: Tree | None) -> Iterator[Tree]:
    """The parts of a tree that name several things; of more than `FEW` alternatives no page is to
    name all."""
    for node in tree or ():
        if isinstance(node, tuple):
            yield from _joined(node)
    if tree and (len(tree) > 2 if tree[0] == "all" else 2 < len(tree) <= FEW + 1):
        yield tree


def _slip_and_ending(word: str, other: str) -> bool:
    """Whether two words of six letters or more differ by one slip and by up to three letters at the
    end: a form of the word that was meant. A wrong letter near the end is no slip, but another
    ending; two exchanged ones are."""
    short, long = sorted((word, other), key=len)
    if len(short) < 6 or len(long) - len(short) > 3:
        return False
    begins = [long[: len(short) + more] for more in (0, 1, -1)]
    return any(
        (begin[-3:] == short[-3:] or sorted(begin) == sorted(short)) and one_slip(short, begin)
        for begin in begins
    )


def leaves_of(tree: Tree) -> Iterable[int]:
    """The leaves of a tree."""
    for node in tree[1:]:
        if isinstance(node, int):
            yield node
        else:
            yield from leaves_of(node)
