"""Words: tokens, stems, tf-idf, word vectors.

The per-link path uses regular expressions, dictionaries and caches: a vectoriser that builds a
matrix a call is about a hundred times slower on anchor texts.
"""

from __future__ import annotations

import gzip
import math
import os
import re
import sys
import tokenize
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np
import Stemmer

from spoor.bounded import Cache
from spoor.distribution import import_extra
from spoor.errors import DAMAGED, InputError, in_one_line
from spoor.files import plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spoor.types import State

STOP_WORDS = frozenset(
    """a about after all also an and any are as at be because been before being between both but by
    can could did do does down during each for from further had has have he her here hers him
    his how i if in into is it its just me more most my no nor not now of off on once only or
    other our out over own same she should so some such than that the their them then there
    these they this those through to too under until up us very was we were what when where
    which while who whom why will with would you your""".split()
)
"""English words that say nothing of a topic."""

_WITH_MARKS = (
    (0x300, 0x1100),
    (0x1350, 0x1380),
    (0x1700, 0x1D00),
    (0xA600, 0xAC00),
    (0xFB1E, 0xFB1F),
)
"""Blocks of Unicode with marks that are parts of words: vowel signs, accents that stand alone."""
_POINTS = re.compile(
    "[\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
)
"""Vowels of Hebrew and Arabic, which most texts leave out, and the stretch of an Arabic word."""
_DOTTED_I = "i\u0307"
"""What a Turkish İ is in lower case."""
_JOINER = "\u200d"
"""Joins the letters beside it into one sign."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_FIRST = 256
_CURLY = "\x01"
"""Stands for a ’ among characters that are ASCII."""
_BARE_QUOTE = re.compile(rb"['\x01](?:(?<![a-z0-9\x80-\xff].)|(?![a-z0-9\x80-\xff]))")
"""One that does not stand between two letters or digits; of what is not ASCII each byte counts."""
_LONG = 1_000
"""Bytes of a text from which on arrays find these sooner."""
_BLANKS = bytes(
    byte if bytes((byte,)).isalnum() or byte == ord("'") or byte > 127 else 32
    for byte in range(256)
)
_BLANKS_BUT_CURLY = _BLANKS[:1] + _CURLY.encode() + _BLANKS[2:]
_IN_WORDS = np.array([byte not in b" '" for byte in _BLANKS])
_MANY = 20_000
"""Characters from which on a table of all that there are costs less than a set."""
_SIGNS = 16
"""Different signs that are not ASCII, up to which each is looked for in a text."""
_LATIN = "\u024f"
"""The last letter of scripts whose words are mostly ASCII."""


@lru_cache(maxsize=1)
def _marks() -> str:
    """The marks of scripts, for a class of a regular expression; takes 3 ms."""
    every = (chr(code) for block in _WITH_MARKS for code in range(*block))
    return "".join(one for one in every if unicodedata.category(one)[0] == "M")


def _letters_with_marks(without: str = "") -> str:
    """The expression of a word: letters and digits, but for some, with their marks."""
    letters, marks = f"[^\\W_{without}]+", _marks()
    return f"{letters}(?:[{marks}'’](?:{letters}|(?<=[{marks}])))*"


@lru_cache(maxsize=1)
def _word() -> re.Pattern[str]:
    return re.compile(_letters_with_marks())


def _composed(text: str) -> str:
    """A text in lower case whose accents are one with their letters, as far as they can be, without
    the vowels that Hebrew and Arabic may leave out."""
    text = text.lower().replace(_JOINER, "").replace(_DOTTED_I, "i")
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    return _POINTS.sub("", text)


def tokens(text: str) -> list[str]:
    """Words of a text, lower-case; letters and digits of any script with their marks. O(length),
    and in a third of the time for a text whose letters are ASCII, in half of it where most are."""
    if text.isascii():
        return _parted(text.encode("ascii").lower())
    # A text of another script is told by its first characters, as a rule; a search for one sign in
    # a long text takes longer than to find all that there are.
    first = _NOT_ASCII.search(text, 0, _FIRST)
    if first and first[0] > _LATIN and first[0].isalnum():
        return _word().findall(_composed(text))
    others = _not_ascii(text)
    lower = others.lower()
    if any(unicodedata.category(one)[0] == "M" for one in lower):
        return _word().findall(_composed(text))
    signs = list[str]()
    if have_letters := any(map(str.isalnum, others)):
        text = text.lower()  # a Greek letter by what stands beside it
        signs = [sign for sign in {*lower} if sign > "\x7f" and not sign.isalnum()]
        if len(signs) > _SIGNS:
            return _parted_one_by_one(text)
    if curly := "’" in others:
        text = text.replace(_CURLY, " ").replace("’", _CURLY)
    if not have_letters:
        return _parted(text.encode("ascii", "replace").lower(), curly=curly)  # a "?" parts, too
    for sign in signs:
        text = text.replace(sign, " ")
    return _parted(text.encode("utf-8", "surrogatepass"), curly=curly)


def _parted_one_by_one(text: str) -> list[str]:
    """The words of a text in lower case, whatever it holds."""
    found = list[str]()
    for word in _parted(text.encode("utf-8", "surrogatepass")):
        if word.isalnum():
            found.append(word)
        else:
            found += _word().findall(word)
    return found


def _parted(text: bytes, *, curly: bool = False) -> list[str]:
    """What stands between the signs and blanks that are ASCII. `curly`: each `_CURLY` is a ’."""
    if curly or b"'" in text:
        text = _without_bare_quotes(text)
    if not curly:
        return text.translate(_BLANKS).decode("utf-8", "surrogatepass").split()
    words = text.translate(_BLANKS_BUT_CURLY).decode("utf-8", "surrogatepass")
    return words.replace(_CURLY, "’").split()


def _without_bare_quotes(text: bytes) -> bytes:
    if len(text) < _LONG:
        return _BARE_QUOTE.sub(b" ", text)
    letters = np.frombuffer(b" " + text + b" ", np.uint8).copy()
    quotes = np.flatnonzero((letters == ord("'")) | (letters == ord(_CURLY)))
    beside = _IN_WORDS.take(letters.take(quotes - 1)) & _IN_WORDS.take(letters.take(quotes + 1))
    letters[quotes[~beside]] = ord(" ")
    return letters[1:-1].tobytes()


def _not_ascii(text: str) -> str:
    """The characters of a text that are not ASCII, each once; by an array, in a third of the time
    of a regular expression. A megabyte of emoji as a set of numbers would keep all threads waiting
    for .05 s."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    codes = codes[codes > 127]
    if len(codes) < _MANY:
        return "".join(map(chr, set(codes.tolist())))
    known = np.zeros(sys.maxunicode + 1, bool)
    known[codes] = True
    return "".join(map(chr, np.flatnonzero(known).tolist()))


UNSPACED_LETTERS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
"""Of `UNSPACED`: from the first to the last of each block."""
UNSPACED = re.compile(f"[{UNSPACED_LETTERS}]+")
"""Runs of scripts that put no space between words, or join words as freely as Korean does."""

IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
"""A character that may be a word by itself, and be written as a part of others."""


@lru_cache(maxsize=1)
def _term() -> re.Pattern[str]:
    """Such runs, and words of other scripts. Compiled where it is needed: that takes 5 ms."""
    return re.compile(f"[{UNSPACED_LETTERS}]+|{_letters_with_marks(UNSPACED_LETTERS)}")


def terms(text: str) -> list[str]:
    """What pages are compared by, lower-case: words, and pairs of neighbouring characters where a
    script has no spaces between words (as Chinese, Japanese, Thai; a lone character is a term).
    O(length)."""
    if text.isascii() or not UNSPACED.search(text):
        return tokens(text)
    found: list[str] = []
    for run in _term().findall(_composed(text)):
        if len(run) > 2 and UNSPACED.match(run):
            found += [run[at : at + 2] for at in range(len(run) - 1)]
        else:
            found.append(run)
    return found


_CHARACTERS = 8
"""A word and what parts it from the next have fewer, on average."""
_LEAST = 1_000
"""Words for which a text is read at a time, if fewer are missing: it may go on without any."""
_BLANK = re.compile(r"\s")


class Words:
    """The words of a text as `tokens` gives them, read as far as they are asked for."""

    __slots__ = ("_read", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._read: tuple[list[str], int] = [], 0

    def first(self, count: int) -> list[str]:
        """At most so many, from the beginning. O(length of what is read now)."""
        words, end = self._read
        while len(words) < count and end < len(self._text):
            begin = end
            # No word crosses a blank, nor does a letter whose lower case depends on the next one.
            missing = max(count - len(words), _LEAST)
            blank = _BLANK.search(self._text, begin + _CHARACTERS * missing)
            end = len(self._text) if blank is None else blank.end()
            words = words + tokens(self._text[begin:end])
            self._read = words, end
        return words[:count]


@lru_cache(maxsize=1)
def words_of(text: str) -> Words:
    """Those of a page, which its judge and its policy read one after the other."""
    return Words(text)


@lru_cache(maxsize=8)
def _stemmer(language: str) -> Stemmer.Stemmer:
    try:
        return Stemmer.Stemmer(language, 0)  # whoever asks it has a cache
    except (KeyError, UnicodeError):
        have = ", ".join(Stemmer.algorithms())
        raise InputError(f"no stemmer for language {language!r}; there are: {have}") from None


@lru_cache(maxsize=8)
def _stems(language: str) -> Cache[str, str]:
    return Cache(_stemmer(language).stemWord, 262_144)


def stem(words: Iterable[str], language: str = "english") -> list[str]:
    """Snowball stems of lower-case words."""
    return list(map(_stems(language).__getitem__, words))


# ---------------------------------------------------------------- tf-idf


class DocumentFrequencies:
    """In how many documents each word occurs: learned as the crawl goes, or given.

    At most `limit` words are kept: beyond it, the rarest quarter or more is dropped.
    """

    def __init__(self, *, limit: int = 500_000) -> None:
        self.documents = 0
        self._counts: dict[str, int] = {}
        self._limit = limit

    def add(self, words: Iterable[str]) -> None:
        """Count one document."""
        self.documents += 1
        counts = self._counts
        for word in set(words):
            counts[word] = counts.get(word, 0) + 1
        rare = 0
        while len(self._counts) > (0.75 * self._limit if rare else self._limit):
            rare += 1
            self._counts = {word: n for word, n in self._counts.items() if n > rare}

    def idf(self, word: str) -> float:
        """ln((1 + documents) / (1 + frequency)) + 1, which no word can bring to 0."""
        return math.log((1 + self.documents) / (1 + self._counts.get(word, 0))) + 1.0

    def weights(self, words: Iterable[str]) -> dict[str, float]:
        """Word → (1 + ln tf) · idf, scaled to length 1; empty for no words."""
        raw = {word: (1.0 + math.log(n)) * self.idf(word) for word, n in Counter(words).items()}
        norm = math.sqrt(sum(value * value for value in raw.values()))
        return {word: value / norm for word, value in raw.items()} if norm else {}

    def save(self) -> State:
        """Words in order of first sight."""
        return {
            "documents": self.documents,
            "words": list(self._counts),
            "counts": np.fromiter(self._counts.values(), dtype=np.int64, count=len(self._counts)),
        }

    def load(self, state: State) -> None:
        self.documents = int(state["documents"])
        self._counts = dict(zip(state["words"], state["counts"].tolist(), strict=True))


def cosine(left: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Inner product of two weightings of length 1: in [0, 1] where no weight is negative."""
    if len(right) < len(left):
        left, right = right, left
    return min(1.0, sum(value * right[word] for word, value in left.items() if word in right))


# ---------------------------------------------------------------- word vectors


MOST_UNPACKED, MOST_TIMES = 1 << 24, 50
"""Bytes that a file of vectors may unpack to: so many, and so many times its own."""


class Vectors:
    """Word → row of a float32 matrix, and their source. The first of equal words counts."""

    def __init__(self, words: Sequence[str], matrix: NDArray[Any], *, source: str = "") -> None:
        first = {word: row for row, word in reversed(list(enumerate(words)))}
        if len(first) < len(words):
            matrix = matrix[sorted(first.values())]
        self.matrix: NDArray[np.float32] = np.ascontiguousarray(matrix, dtype=np.float32)
        self._rows = {word: row for row, word in enumerate(dict.fromkeys(words))}
        self.source = source
        """What a run says was used."""

    @property
    def dimension(self) -> int:
        return int(self.matrix.shape[1])

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def words(self) -> list[str]:
        """All words in row order."""
        return list(self._rows)

    def mean(self, words: Iterable[str]) -> NDArray[np.float32] | None:
        """Mean vector of the words that are known, repeated ones counted; None if none is."""
        rows = [row for row in map(self._rows.get, words) if row is not None]
        if not rows:
            return None
        return cast("NDArray[np.float32]", self.matrix[rows].mean(axis=0))

    @classmethod
    def read(cls, path: Path | str) -> Vectors:
        """GloVe text, word2vec text or binary, either also .gz, or .npz with `words` and `vectors`.

        Raises InputError naming the file and the line.
        """
        path = Path(path)
        try:
            plain(path)
            if path.suffix == ".npz":
                return cls._read_npz(path)
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                return cls._read_text_or_binary(cast("IO[bytes]", file), path)
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"cannot read word vectors {path}: {error}") from error

    @classmethod
    def _read_npz(cls, path: Path) -> Vectors:
        try:
            with zipfile.ZipFile(path) as parts:
                unpacked = sum(part.file_size for part in parts.infolist())
            if unpacked > _most_of(path):
                raise ValueError(f"it unpacks to over {MOST_TIMES} times its size")
            with np.load(path, allow_pickle=False) as arrays:
                words = words_in(arrays["words"])
                matrix = numbers_in(arrays["vectors"])
        except NO_ARRAYS as error:
            why = in_one_line(error)
            raise InputError(f"{path}: no arrays `words` and `vectors` ({why})") from error
        if matrix.ndim != 2 or len(matrix) != len(words):
            raise InputError(f"{path}: {len(words)} words and vectors of shape {matrix.shape}")
        return cls(words, matrix, source=str(path))

    @classmethod
    def _read_text_or_binary(cls, file: IO[bytes], path: Path) -> Vectors:
        most = _most_of(path)
        head = file.readline(most)
        fields = head.split()
        if len(fields) == 2 and all(re.fullmatch(rb"[0-9]{1,15}", field) for field in fields):
            count, dimension = int(fields[0]), int(fields[1])
            sample = file.read(4096)
            rest = sample + file.read(most)
            if len(rest) > most:
                raise InputError(f"{path}: unpacks to over {MOST_TIMES} times its size; refused")
            if _is_binary(sample):
                return _binary(rest, count, dimension, path)
            lines = rest.splitlines()
        else:
            rest = head + file.read(most)
            if len(rest) > most:
                raise InputError(f"{path}: unpacks to over {MOST_TIMES} times its size; refused")
            lines = rest.splitlines()
        words: list[str] = []
        rows: list[NDArray[np.float32]] = []
        for number, line in enumerate(lines, 1):
            # A word may have blanks in it, of which only the first vector must be free.
            word, *numbers = line.strip().rsplit(maxsplit=len(rows[0]) if rows else -1) or [b""]
            if not word:
                continue
            try:
                row = np.array(numbers, dtype=np.float32)
            except ValueError:
                raise InputError(f"{path}: vector {number} is not a word and numbers") from None
            if rows and len(row) != len(rows[0]):
                raise InputError(
                    f"{path}: vector {number} has {len(row)} numbers, not {len(rows[0])}"
                )
            words.append(word.decode("utf-8", "replace"))
            rows.append(row)
        if not rows or not len(rows[0]):
            raise InputError(f"{path}: no word vectors in it")
        return cls(words, np.vstack(rows), source=str(path))


NO_ARRAYS = (
    *(*DAMAGED, EOFError, RuntimeError, SystemError),
    *(zipfile.BadZipFile, tokenize.TokenError),
)
"""What reading arrays of a stranger's file may raise but OSError: NumPy reads their shapes as it
would a program's text, and takes any letters."""


def numbers_in(array: object) -> NDArray[Any]:
    """An array of a stranger's, if it is one of real numbers. Raises ValueError."""
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
        raise ValueError("its numbers are none")
    return array


def words_in(array: object) -> list[str]:
    """The texts of an array of a stranger's. Raises ValueError for what is no list of words: of
    texts of no letter, or rows of no text, there may be billions in no byte. Raises SystemError for
    letters that are none."""
    if not isinstance(array, np.ndarray):
        raise ValueError("its words are none")
    if array.ndim != 1 or (len(array) and (array.dtype.kind != "U" or not array.dtype.itemsize)):
        raise ValueError("its words are none")
    return list(map(str, array))


def _most_of(path: Path) -> int:
    """Bytes that a file of vectors may unpack to, by those before its first hole: a file with one
    may say that it has terabytes. Raises OSError."""
    with path.open("rb") as file:
        written = file.seek(0, os.SEEK_HOLE) if os.fstat(file.fileno()).st_size else 0
        return MOST_UNPACKED + MOST_TIMES * written


def _is_binary(sample: bytes) -> bool:
    return bool(re.search(rb"[\x00-\x08\x0e-\x1f]", sample))


def _binary(data: bytes, count: int, dimension: int, path: Path) -> Vectors:
    words: list[str] = []
    offset, width = 0, 4 * dimension
    # What the first line promises is no reason to take more memory than the file has.
    matrix = np.empty((min(count, len(data) // (width + 1)), dimension), dtype=np.float32)
    for row in range(count):
        space = data.find(b" ", offset)
        if space < 0 or space + 1 + width > len(data) or row >= len(matrix):
            raise InputError(f"{path}: ends after {row} of {count} vectors")
        words.append(data[offset:space].strip().decode("utf-8", "replace"))
        matrix[row] = np.frombuffer(data, dtype="<f4", count=dimension, offset=space + 1)
        offset = space + 1 + width
    return Vectors(words, matrix, source=str(path))


def learn_vectors(
    texts: Iterable[Sequence[str]], *, rng: np.random.Generator, dimension: int = 50
) -> Vectors | None:
    """Word vectors from tokenised texts, of the 20,000 commonest words that stand there five times
    or more: positive pointwise mutual information of words at most five apart, its singular
    vectors scaled by the root of their values (Levy, Goldberg and Dagan 2015).

    None where the texts hold too few words. Memory O(pairs seen).
    """
    sparse, linalg = import_extra(
        "lab", "learning word vectors", "scipy.sparse", "scipy.sparse.linalg"
    )
    documents = [list(text) for text in texts]
    often = Counter(word for text in documents for word in text)
    words = [word for word, n in often.most_common(20_000) if n >= 5]
    if len(words) < 10:
        return None
    number = {word: index for index, word in enumerate(words)}
    total = sparse.csr_matrix((len(words), len(words)), dtype=np.float64)
    for begin in range(0, len(documents), 500):
        rows: list[NDArray[Any]] = []
        columns: list[NDArray[Any]] = []
        for text in documents[begin : begin + 500]:
            ids = np.array([number[word] for word in text if word in number], dtype=np.int64)
            for step in range(1, 6):
                rows.append(ids[:-step])
                columns.append(ids[step:])
        row, column = np.concatenate(rows), np.concatenate(columns)
        part = sparse.coo_matrix((np.ones(len(row)), (row, column)), shape=total.shape)
        total = total + part.tocsr()
    pairs = (total + total.T).tocoo()
    margin = np.asarray(pairs.sum(axis=1)).ravel()
    all_pairs = margin.sum()
    if not all_pairs:
        return None
    value = np.log(pairs.data * all_pairs / (margin[pairs.row] * margin[pairs.col]))
    # What is 0 but for rounding is 0.
    positive = value > 1e-9
    if not positive.any():
        return None
    ppmi = sparse.csr_matrix(
        (value[positive], (pairs.row[positive], pairs.col[positive])), shape=pairs.shape
    )
    k = min(dimension, len(words) - 2)
    u, s, _ = linalg.svds(ppmi, k=k, v0=rng.standard_normal(len(words)))
    # The sign of a singular vector is free: fix it, so that a seed gives the same bytes anywhere.
    sign = np.sign(u[np.abs(u).argmax(axis=0), np.arange(k)])
    return Vectors(words, u * sign * np.sqrt(s), source=f"learned from {len(documents)} texts")
