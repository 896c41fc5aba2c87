"""The weights in words, and the name of what they are over."""

from __future__ import annotations

from collections.abc import Collection

from spoor.policies.sarsa.values import Values

_FIVE = ("0-.2", ".2-.4", ".4-.6", ".6-.8", ".8-1")
_SIX = ("0-.1", ".1-.3", ".3-.5", ".5-.7", ".7-.9", ".9-1")
_CHANGE = ("about as its ancestors", "more", "much more", "less", "much less")


def weights_in_words(
    values: Values, categories: Collection[str], encoding: str
) -> list[tuple[str, str, float]]:
    """(group, bucket, weight), largest first within each group."""
    rows: list[tuple[str, str, float]] = []
    w = values.w
    names = dict(enumerate(categories))
    for row, name in enumerate(values.features):
        field = names.get(int(name.rpartition(" ")[2])) if "category" in name else None
        of = "page" if row < values.state_digits else "link"
        group = f"{of}: {name}" + (f" ({field})" if field else "")
        weights = [
            (group, bucket, float(w[row, column])) for column, bucket in _buckets(name, encoding)
        ]
        rows += sorted(weights, key=lambda weight: -abs(weight[2]))
    return rows


def _buckets(name: str, encoding: str) -> list[tuple[int, str]]:
    """(column of the weights, its meaning) of a feature."""
    single = name in ("change", "distance")
    if encoding == "index":
        return [(0, "bucket number")] if single else [(0, "of 5 buckets"), (5, "of 6 buckets")]
    if name == "change":
        return list(enumerate(_CHANGE))
    if name == "distance":
        return [(distance, f"{distance} from a relevant page") for distance in range(10)]
    return list(enumerate((*_FIVE, *_SIX)))


def features_of(encoding: str, count: int, categories: Collection[str]) -> str:
    """What the weights of a model are over."""
    return f"han 2018, {encoding}, {count} categories: {', '.join(categories) or 'none found'}"
