"""Words: tokens, stems, hashes, document frequencies, and word vectors read or learned."""

from __future__ import annotations

import gzip
import math
import re
import time
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spoor.errors import InputError
from spoor.web import text as text_module
from spoor.web.text import (
    DocumentFrequencies,
    Vectors,
    cosine,
    learn_vectors,
    stem,
    tokens,
    words_of,
)

# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("The CS101-course, don't_miss it!", ["the", "cs101", "course", "don't", "miss", "it"]),
        ("l’école 'quoted' rock'n'roll", ["l’école", "quoted", "rock'n'roll"]),
        ("Привет, 世界 x²", ["привет", "世界", "x²"]),
        ("a\u0000b\ud800c", ["a", "b", "c"]),
        ("नई किताबें", ["नई", "किताबें"]),  # vowel signs are marks
        ("books: புத்தகம்", ["books", "புத்தகம்"]),
        ("หนังสือ ใหม่", ["หนังสือ", "ใหม่"]),
        ("e\u0301te\u0301 – été", ["été", "été"]),
        ("كِتَاب الكـــتاب", ["كتاب", "الكتاب"]),
        ("שָׁלוֹם", ["שלום"]),
        ("क्\u200dष", ["क्ष"]),
        ("İstanbul’da", ["istanbul’da"]),
        ("❤️ 1️⃣ x", ["1", "x"]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


@given(st.text("aZ9_'’ -.\n\u200eéİß·–²中", max_size=30))
def test_tokens_are_what_the_pattern_of_a_word_finds(text: str) -> None:
    plain = text.lower().replace("i\u0307", "i")
    assert tokens(text) == re.findall(r"[^\W_]+(?:['’][^\W_]+)*", plain)


@given(st.text("aZ'’ –éİकि्\u0301\u200dبِ", max_size=20), st.booleans())
def test_a_word_has_its_marks_whatever_stands_beside_it(text: str, alone: bool) -> None:
    """Each word of Hindi was taken for its consonants, one by one."""
    expected, word = list[str](), ""
    plain = text.lower().replace("\u200d", "").replace("i\u0307", "i").replace("\u0650", "")
    plain = unicodedata.normalize("NFC", plain)
    for one, after in zip(plain, f"{plain[1:]} ", strict=False):
        is_mark, quotes = unicodedata.category(one)[0] == "M", one in "'’"
        if one.isalnum() or (
            word and (is_mark or (quotes and word[-1] not in "'’" and after.isalnum()))
        ):
            word += one
        else:
            expected, word = [*expected, word], ""
    assert tokens(text if alone else f"{text} q") == [one for one in (*expected, word) if one] + (
        [] if alone else ["q"]
    )


SIGNS = "".join(map(chr, range(0x2010, 0x2030)))


@pytest.mark.parametrize("times", [1, 60], ids=["short", "long"])
@pytest.mark.parametrize("letters", ["", "é", "Σ", "界"])
@pytest.mark.parametrize("signs", ["", "’", "—»", "\x01’\x01", SIGNS, f"{SIGNS}’"])
@settings(max_examples=25)  # of each of the 48
@given(data=st.data())
def test_tokens_are_the_same_whatever_signs_part_them(
    data: st.DataObject, signs: str, letters: str, times: int
) -> None:
    """Few signs or many, quotes straight or curly, with letters that are ASCII or not."""
    word = st.text(f"aZ9'_ -{signs}{letters}", max_size=20)
    text = f"{data.draw(word)}{signs}{data.draw(word)}" * times + signs
    assert tokens(text) == re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.lower())


def test_a_page_of_emoji_keeps_no_thread_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million of them as a set of numbers took .05 s, in which no other thread runs."""
    emoji = "".join(map(chr, range(0x1F300, 0x1F600))) * 100 + "a 😀b’c"

    def seconds(many: int) -> float:
        monkeypatch.setattr(text_module, "_MANY", many)
        began = time.thread_time()
        text_module._not_ascii(emoji * 5)
        return time.thread_time() - began

    as_set, as_table = (min(seconds(many) for _ in range(5)) for many in (1 << 30, 20_000))
    assert as_table < as_set / 2
    assert {*text_module._not_ascii(emoji)} == {*emoji} - {*"a bc"}


@given(st.text(max_size=50))
def test_characters_by_a_table_are_those_of_a_set(text: str) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_module, "_MANY", 0)
        found = text_module._not_ascii(text)
    assert sorted(found) == sorted({one for one in text if one > "\x7f"})


@given(
    st.lists(
        st.sampled_from(["kiln", "ΟΔΟΣ", "Σ", "don't", "界", "--", " ", "\n", "\x85", "İ"]),
        max_size=12,
    ),
    st.lists(st.integers(0, 4_000), min_size=1, max_size=4),
)
def test_words_are_read_as_far_as_they_are_asked_for(parts: list[str], counts: list[int]) -> None:
    text = "".join(part for part in parts for _ in range(3)) * 500
    for count in counts:
        assert words_of(text).first(count) == tokens(text)[:count]


def test_stem() -> None:
    assert stem(["courses", "course", "studying", "generously"]) == [
        "cours",
        "cours",
        "studi",
        "generous",
    ]
    assert stem(["häuser"], "german") == ["haus"]
    with pytest.raises(
        InputError, match=r"no stemmer for language 'klingon'; there are: .*english"
    ):
        stem(["x"], "klingon")


# ---------------------------------------------------------------- tf-idf


def test_document_frequencies_by_hand() -> None:
    seen = DocumentFrequencies()
    assert seen.idf("x") == pytest.approx(math.log(1 / 1) + 1)
    seen.add(["a", "b", "a"])
    seen.add(["a"])
    assert seen.documents == 2
    assert seen.idf("a") == pytest.approx(math.log(3 / 3) + 1)
    assert seen.idf("b") == pytest.approx(math.log(3 / 2) + 1)
    assert seen.idf("c") == pytest.approx(math.log(3 / 1) + 1)
    a, b = (1 + math.log(2)) * 1.0, 1.0 * (math.log(1.5) + 1)
    norm = math.hypot(a, b)
    assert seen.weights(["a", "b", "a"]) == pytest.approx({"a": a / norm, "b": b / norm})
    assert seen.weights([]) == {}


def test_document_frequencies_come_back_and_are_bounded() -> None:
    seen = DocumentFrequencies()
    seen.add(["a", "b"])
    seen.add(["b"])
    other = DocumentFrequencies()
    other.load(seen.save())
    assert [other.idf(word) for word in "abc"] == [seen.idf(word) for word in "abc"]
    small = DocumentFrequencies(limit=10)
    for number in range(40):
        small.add(["often", f"rare{number}"])
        assert len(small.save()["words"]) <= 10
    assert small.idf("often") == pytest.approx(1.0)
    # Words that are all seen twice are bounded as well.
    for number in range(40):
        small.add([f"twice{number}"])
        small.add([f"twice{number}"])
        assert len(small.save()["words"]) <= 10
    assert "often" in small.save()["words"]


def test_cosine_by_hand() -> None:
    assert cosine({"a": 0.6, "b": 0.8}, {"b": 0.8, "c": 0.6}) == pytest.approx(0.64)
    assert cosine({"a": 1.0}, {"b": 1.0}) == 0.0
    assert cosine({}, {"b": 1.0}) == 0.0


words = st.lists(st.sampled_from("abcdefg"), max_size=12)


@given(st.lists(words, max_size=8), words, words)
def test_cosines_lie_between_0_and_1(
    texts: list[list[str]], one: list[str], other: list[str]
) -> None:
    seen = DocumentFrequencies()
    for text in texts:
        seen.add(text)
    left, right = seen.weights(one), seen.weights(other)
    assert 0.0 <= cosine(left, right) <= 1.0
    assert cosine(left, right) == pytest.approx(cosine(right, left))
    assert cosine(left, left) == pytest.approx(1.0 if one else 0.0)


# ---------------------------------------------------------------- vectors read

MATRIX = np.array([[1.0, -2.5, 0.0], [0.5, 0.25, 3.0]], dtype=np.float32)
TEXT = b"the 1 -2.5 0\n\xc3\xa9t\xc3\xa9 0.5 0.25 3.0\n"


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


BINARY = b"2 3\n" + b"".join(
    word.encode() + b" " + row.astype("<f4").tobytes() + end
    for word, row, end in zip(("the", "été"), MATRIX, (b"\n", b""), strict=True)
)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("glove.txt", TEXT),
        ("glove.txt.gz", TEXT),
        ("glove-without-end.txt", TEXT.rstrip()),
        ("glove-of-windows.txt", TEXT.replace(b"\n", b"\r\n")),
        ("word2vec.vec", b"2 3\n" + TEXT),
        ("word2vec-with-blanks.vec", b"2 3\n" + TEXT.replace(b"\n", b" \n")),
        ("word2vec.bin", BINARY),
        ("word2vec.bin.gz", BINARY),
    ],
)
def test_read_vectors(tmp_path: Path, name: str, data: bytes) -> None:
    vectors = Vectors.read(written(tmp_path / name, data))
    assert vectors.words() == ["the", "été"]
    assert vectors.dimension == 3
    assert vectors.matrix.dtype == np.float32
    np.testing.assert_array_equal(vectors.matrix, MATRIX)
    assert name in vectors.source


def test_read_arrays(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npz"
    np.savez(path, words=np.array(["the", "été"]), vectors=MATRIX)
    assert Vectors.read(str(path)).words() == ["the", "été"]
    assert "été" in Vectors.read(path)


def test_words_with_blanks_and_words_twice(tmp_path: Path) -> None:
    # GloVe's largest file has both.
    data = b"the 1 2\n. . . 3 4\nthe 5 6\nname@example.com 7 8\n"
    vectors = Vectors.read(written(tmp_path / "glove.txt", data))
    assert vectors.words() == ["the", ". . .", "name@example.com"]
    np.testing.assert_array_equal(vectors.matrix, [[1, 2], [3, 4], [7, 8]])


def test_means() -> None:
    vectors = Vectors(["a", "b"], np.array([[1.0, 0.0], [0.0, 3.0]]))
    mean = vectors.mean(["a", "b", "b", "?"])
    assert mean is not None
    assert mean.tolist() == pytest.approx([1 / 3, 2.0])
    assert vectors.mean(["?"]) is None
    assert vectors.mean([]) is None
    assert len(vectors) == 2


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("empty.txt", b"", "no word vectors"),
        ("header.txt", b"2 3\n", "no word vectors"),
        ("words.txt", b"the quick brown fox\n", "vector 1 is not a word and numbers"),
        ("short.txt", b"the 1 2\nof 1\n", "vector 2 has 1 numbers, not 2"),
        ("lone.txt", b"the\n", "no word vectors"),
        ("cut.bin", BINARY[:-2], "ends after 1 of 2 vectors"),
        ("huge.bin", BINARY.replace(b"2 3", b"999999999999 300"), "ends after"),
        ("cut.txt.gz", b"", "cannot read word vectors"),
        ("no.txt.gz", b"", "cannot read word vectors"),
        ("no.npz", b"x", "words"),
        ("missing.txt", None, "cannot read word vectors"),
    ],
)
def test_bad_vectors_are_told_in_one_line(
    tmp_path: Path, name: str, data: bytes | None, message: str
) -> None:
    path = tmp_path / name
    if name == "cut.txt.gz":
        path.write_bytes(gzip.compress(TEXT * 100)[:-20])
    elif data is not None:
        path.write_bytes(b"no gzip" if name == "no.txt.gz" else data)
    with pytest.raises(InputError, match=message) as raised:
        Vectors.read(path)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


def test_arrays_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npz"
    np.savez(path, words=np.array(["a"]), vectors=MATRIX)
    with pytest.raises(InputError, match=r"vectors\.npz: 1 words and vectors of shape \(2, 3\)"):
        Vectors.read(path)
    np.savez(path, words=np.array(["a"]))
    with pytest.raises(InputError, match="no arrays `words` and `vectors`"):
        Vectors.read(path)


# ---------------------------------------------------------------- vectors learned

FIRST = "cat dog horse cow sheep".split()
SECOND = "red green blue black white".split()


def corpus() -> list[list[str]]:
    rng = np.random.default_rng(5)
    return [
        [str(word) for word in rng.permutation(group)]
        for _ in range(40)
        for group in (FIRST, SECOND)
    ]


def test_learned_vectors_put_together_what_stands_together() -> None:
    vectors = learn_vectors(corpus(), rng=np.random.default_rng(1), dimension=2)
    assert vectors is not None
    assert vectors.dimension == 2
    assert sorted(vectors.words()) == sorted(FIRST + SECOND)
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    rows = {word: unit[at] for at, word in enumerate(vectors.words())}
    inside = min(rows[a] @ rows[b] for group in (FIRST, SECOND) for a in group for b in group)
    across = max(rows[a] @ rows[b] for a in FIRST for b in SECOND)
    assert inside > 0.9
    assert across < 0.1
    again = learn_vectors(corpus(), rng=np.random.default_rng(1), dimension=2)
    assert again is not None
    np.testing.assert_array_equal(again.matrix, vectors.matrix)


def test_learned_vectors_by_hand() -> None:
    # Five pairs of words that stand beside each other only. A pair's pointwise mutual information
    # is ln(p(a, b) / p(a) p(b)) = ln(0.1 / 0.01) = ln 10, so that the matrix has the eigenvalues
    # +ln 10 and −ln 10, five times each, and every singular value is ln 10.
    pairs = [[f"{name}1", f"{name}2"] for name in "abcde"]
    vectors = learn_vectors(pairs * 5, rng=np.random.default_rng(1), dimension=3)
    assert vectors is not None
    np.testing.assert_allclose((vectors.matrix**2).sum(axis=0), [math.log(10)] * 3, rtol=1e-5)


def test_too_little_to_learn_from() -> None:
    rng = np.random.default_rng(1)
    assert learn_vectors([], rng=rng) is None
    assert learn_vectors([["a", "b"]] * 9, rng=rng) is None
    assert learn_vectors([[word] for word in FIRST + SECOND] * 9, rng=rng) is None
    # Ten words that all stand beside each other equally often tell nothing of each other.
    even = [[a, b] for a in FIRST + SECOND for b in FIRST + SECOND]
    assert learn_vectors(even, rng=rng) is None
    # Rare words are left out; texts shorter than the window are no fault.
    assert learn_vectors([["a", "b"], ["c"], []] * 3, rng=rng) is None
