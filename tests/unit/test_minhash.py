from hypothesis import given
from hypothesis import strategies as st

from spoor.web.minhash import MinHasher, triples

FEATURES = st.sets(st.text(min_size=1, max_size=9), min_size=1, max_size=400)


def test_a_sketch_is_the_same_for_ever() -> None:
    # Exports leave out the same near-copies on every machine.
    sketch = MinHasher(4).sketch(["a b c", "b c d"])
    assert sketch.tolist() == [
        6641573754191142418,
        15352355119794538546,
        2580284456306530728,
        12806510001219970850,
    ]
    assert MinHasher(3).sketch([]).tolist() == [0xFFFFFFFFFFFFFFFF] * 3


@given(FEATURES, FEATURES)
def test_equal_hashes_tell_the_share_of_common_features(one: set[str], other: set[str]) -> None:
    hasher = MinHasher(256)
    equal = float((hasher.sketch(one) == hasher.sketch(other)).mean())
    alike = len(one & other) / len(one | other)
    # Six standard deviations of 256 throws.
    assert abs(equal - alike) <= 6 * (max(alike * (1 - alike), 1 / 256) / 256) ** 0.5


@given(FEATURES, FEATURES)
def test_the_sketch_of_a_union_is_the_least_of_both(one: set[str], other: set[str]) -> None:
    hasher = MinHasher(16)
    both = hasher.sketch(one | other)
    assert (
        both == [min(pair) for pair in zip(hasher.sketch(one), hasher.sketch(other), strict=True)]
    ).all()


def test_triples_of_words() -> None:
    assert triples(["a", "b", "c", "d"]) == {"a b c", "b c d"}
    assert triples(["a", "b"]) == set()
