"""A text classifier learned from example pages: words weighed for and against, calibrated.

Learning asks for scikit-learn (the extra `classifier`); judging asks for nothing, since
a model is a few arrays. A logistic regression on tf-idf weights; its margin is turned into a
probability by a sigmoid that is fitted to margins of pages held out in turn (Platt 1999).
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.distribution import import_extra
from spoor.errors import InputError
from spoor.files import write_whole
from spoor.judges.similarity import page_texts, page_words
from spoor.types import Judgement, Page
from spoor.web.text import stem
from spoor.web.urls import host, registrable_domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST = 5
"""Pages of each kind that a classifier may be learned from."""
FEW = 20
"""Pages of a kind below which probabilities are worth little."""
FOLDS = 5
SITES = 3
"""From so many on, examples are held out by whole sites."""
REASONS = 5
"""Words for, and words against, that a judgement names."""
MOST_WORDS = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class TextModel:
    """What was learned. The logit of a page is `offset + slope · margin`, the margin the sum of
    weight by tf-idf over its words, plus `bias`."""

    words: tuple[str, ...]
    """Stems, as `page_words` gives them."""
    idf: NDArray[np.float64]
    """(words,)"""
    weights: NDArray[np.float64]
    """(words,)"""
    bias: float
    slope: float
    offset: float
    language: str = "english"

    def write(self, path: Path) -> None:
        """As .npz, whole or not at all. Raises InputError."""
        data = io.BytesIO()
        np.savez(
            data,
            words=np.array(self.words),
            idf=self.idf,
            weights=self.weights,
            sigmoid=np.array([self.bias, self.slope, self.offset]),
            language=np.array(self.language),
        )
        try:
            write_whole(path, data.getvalue())
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}") from error

    @classmethod
    def read(cls, path: Path) -> TextModel:
        """What `write` wrote. Raises InputError for what is missing, damaged or something else."""
        try:
            with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as arrays:
                words = tuple(str(word) for word in arrays["words"])
                idf, weights = (np.asarray(arrays[name], float) for name in ("idf", "weights"))
                bias, slope, offset = (float(value) for value in arrays["sigmoid"])
                language = str(arrays["language"])
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(f"cannot read the classifier {path}: {why}") from error
        except (LookupError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(f"{path} is no classifier of `spoor topic make`") from error
        numbers = np.concatenate([idf.ravel(), weights.ravel(), [bias, slope, offset]])
        if idf.shape != weights.shape or idf.shape != (len(words),):
            raise InputError(f"{path} is damaged: {len(words)} words, {weights.shape} weights")
        if not np.isfinite(numbers).all():
            raise InputError(f"{path} is damaged: it holds a weight that is no number")
        return cls(words, idf, weights, bias, slope, offset, language)


class Classifier:
    """Score: the probability that the page is wanted, among pages like those it was learned from.

    Relevant from `threshold` on. The reasons are shares of the log-odds: the words that speak
    for the page and against it, and where all pages begin.
    """

    def __init__(self, model: TextModel, *, threshold: float = 0.5) -> None:
        self._model = model
        self.threshold = threshold
        self._row = {word: at for at, word in enumerate(model.words)}

    def judge(self, page: Page) -> Judgement:
        model = self._model
        shares = self._shares(page)
        base = model.offset + model.slope * model.bias
        odds = base + sum(share for _, share in shares)
        score = float(1.0 / (1.0 + np.exp(-np.clip(odds, -700.0, 700.0))))
        relevant = score >= self.threshold
        shares.sort(key=lambda pair: pair[1])
        against = [(f"{word!r} speaks against it", share) for word, share in shares if share < 0]
        speaks = [(f"{word!r} speaks for it", share) for word, share in shares[::-1] if share > 0]
        why = (*speaks[:REASONS], *against[:REASONS], ("where every page begins", base))
        return Judgement(score, relevant, float(relevant), why)

    def _shares(self, page: Page) -> list[tuple[str, float]]:
        """What each known word of a page adds to its log-odds."""
        model = self._model
        written = page_texts(page)
        stems = stem(written, model.language)
        counts = Counter(self._row[word] for word in stems if word in self._row)
        if not counts:
            return []
        rows = np.array(sorted(counts))
        values = (1.0 + np.log([counts[row] for row in rows])) * model.idf[rows]
        values = values / np.linalg.norm(values) * model.weights[rows] * model.slope
        # A reader is shown words as they are written.
        shown = dict(zip(reversed(stems), reversed(written), strict=True))
        return [
            (shown[model.words[row]], float(value)) for row, value in zip(rows, values, strict=True)
        ]


# ---------------------------------------------------------------- learning


@dataclass(frozen=True, slots=True)
class Quality:
    """How well held-out examples were told apart, each judged by a model that had not seen it, nor,
    where they were held out by `site`, any page of its site."""

    positives: int
    negatives: int
    folds: int
    auc: float
    """Area under the ROC curve."""
    brier: float
    """Mean squared error of the probabilities."""
    precision: float
    """At the threshold, as is recall; 0 where nothing passes."""
    recall: float
    by: str = "page"
    """`site` or `page`."""
    sites: int = 0
    """That the examples come from; 0 where not all say."""


def fit(
    wanted: Sequence[Page],
    others: Sequence[Page],
    *,
    threshold: float = 0.5,
    language: str = "english",
    seed: int = 0,
) -> tuple[TextModel, Quality]:
    """Learn from pages that are wanted and pages that are not; the same text counts once.

    Words, their idf and the weights of a held-out page are all learned without it, and without its
    site (registrable domain) where pages come from `SITES` or more, of each kind two. Raises
    InputError for too few pages, for a text on both sides, and where scikit-learn is missing.
    """
    read = partial(page_words, language=language)
    positives, negatives = _distinct(wanted, read), _distinct(others, read)
    if both := positives.keys() & negatives.keys():
        words = " ".join(min(both)[:6])
        raise InputError(f"a page is among the positive and the negative ones: '{words} …'")
    for name, found in (("positive", positives), ("negative", negatives)):
        if len(found) < LEAST:
            raise InputError(
                f"a classifier needs at least {LEAST} {name} pages with different texts, not "
                f"{len(found)}; give more, or choose --method tfidf, which goes by likeness"
            )
    learned: Any
    calibration, extraction, linear, metrics, pipeline, selection = import_extra(
        "classifier",
        "learning a classifier",
        "sklearn.calibration",
        "sklearn.feature_extraction.text",
        "sklearn.linear_model",
        "sklearn.metrics",
        "sklearn.pipeline",
        "sklearn.model_selection",
    )

    # In a fixed order, whatever order a set has.
    texts = [*sorted(positives), *sorted(negatives)]
    truth = np.repeat([1, 0], [len(positives), len(negatives)])
    sites = [side[text] for side in (positives, negatives) for text in sorted(side)]
    split = _by_site(selection, sites, truth, seed)
    by = "site" if split else "page"
    if not split:
        pages = selection.StratifiedKFold(
            min(FOLDS, len(positives), len(negatives)), shuffle=True, random_state=seed
        )
        split = list(pages.split(texts, truth))
    plain = pipeline.make_pipeline(
        extraction.TfidfVectorizer(
            analyzer=_as_they_are,
            sublinear_tf=True,
            min_df=2 if len(texts) >= 2 * FEW else 1,
            max_features=MOST_WORDS,
        ),
        linear.LogisticRegression(C=10.0, class_weight="balanced", max_iter=2000),
    )
    try:
        learned = calibration.CalibratedClassifierCV(
            plain, method="sigmoid", cv=split, ensemble=False
        ).fit(texts, truth)
    except ValueError as error:  # no word in two of the texts
        raise InputError(f"the example pages hold no words to learn from ({error})") from error
    (whole,) = learned.calibrated_classifiers_
    words, weigher = whole.estimator[0], whole.estimator[1]
    (sigmoid,) = whole.calibrators
    # scikit-learn's sigmoid is 1 / (1 + exp(a · margin + b)).
    slope, offset = -float(sigmoid.a_), -float(sigmoid.b_)
    model = TextModel(
        tuple(str(word) for word in words.get_feature_names_out()),
        np.asarray(words.idf_, float),
        np.asarray(weigher.coef_[0], float),
        float(weigher.intercept_[0]),
        slope,
        offset,
        language,
    )
    margins = selection.cross_val_predict(plain, texts, truth, cv=split, method="decision_function")
    chance = 1.0 / (1.0 + np.exp(-(offset + slope * margins)))
    said = (chance >= threshold).astype(int)
    quality = Quality(
        len(positives),
        len(negatives),
        len(split),
        float(metrics.roc_auc_score(truth, margins)),
        float(metrics.brier_score_loss(truth, chance)),
        float(metrics.precision_score(truth, said, zero_division=0.0)),
        float(metrics.recall_score(truth, said, zero_division=0.0)),
        by,
        len(set(sites)) if all(sites) else 0,
    )
    if slope <= 0:
        raise InputError(
            "the words of the positive and the negative pages do not tell them apart (held-out "
            f"pages were ranked with an area under the curve of {quality.auc:.2f}); give more, or "
            "other, examples"
        )
    return model, quality


def _distinct(
    pages: Sequence[Page], read: Callable[[Page], Sequence[str]]
) -> dict[tuple[str, ...], str]:
    """Text → site, of the page that has it first; empty for a file of no known address."""
    found: dict[tuple[str, ...], str] = {}
    for page in pages:
        if words := tuple(read(page)):
            site = registrable_domain(host(page.url))
            found.setdefault(words, "" if site.endswith(".invalid") else site)
    return found


def _by_site(
    selection: Any, sites: Sequence[str], truth: NDArray[np.int64], seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(rows to learn from, rows held out), whole sites each; empty where that cannot be: a site is
    not known, there are too few, or one kind of page would be left out."""
    of_a_kind = [
        {site for site, is_ in zip(sites, truth, strict=True) if is_ == kind} for kind in (0, 1)
    ]
    if not all(sites) or len(set(sites)) < SITES or min(map(len, of_a_kind)) < 2:
        return []
    for folds in range(min(FOLDS, len(set(sites))), 1, -1):
        split = selection.StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        found = list(split.split(truth, truth, sites))
        if all(len(held) and len(set(truth[rest])) == 2 for rest, held in found):
            return found
    return []


def _as_they_are(words: Sequence[str]) -> Sequence[str]:
    return words


def telling(model: TextModel, pages: Sequence[Page], most: int = 12) -> list[str]:
    """The words that speak most for a page to be wanted, as they are most often written on these
    pages; for a policy that goes by words, and for the reader."""
    often: dict[str, Counter[str]] = {}
    for page in pages:
        written = page_texts(page)
        for word, stemmed in zip(written, stem(written, model.language), strict=True):
            often.setdefault(stemmed, Counter())[word] += 1
    best = sorted(zip(-model.weights * model.slope, model.words, strict=True))
    found = [
        often[word].most_common(1)[0][0] for value, word in best if value < 0 and word in often
    ]
    return found[:most]
