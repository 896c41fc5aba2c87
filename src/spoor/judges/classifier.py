"""A text classifier trained on example pages: a calibrated logistic regression on tf-idf weights.

A sigmoid, fitted to the margins of held-out pages, turns margins into probabilities (Platt 1999).
Training needs scikit-learn (the extra `classifier`); judging does not, since a model is a few
arrays.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.distribution import import_extra
from spoor.errors import InputError, cannot_write
from spoor.files import read_plain, write_whole
from spoor.judges.similarity import page_stems, page_words
from spoor.types import Judgement, Page
from spoor.web.text import NO_ARRAYS, numbers_in, stem, words_in
from spoor.web.urls import domain_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

MIN_PAGES = 5
"""Fewest pages of each kind to train a classifier."""
FEW_PAGES = 20
"""With fewer pages of a kind, probabilities are unreliable."""
FOLDS = 5
MIN_SITES = 3
"""Fewest sites at which examples are held out by site."""
REASONS = 5
"""Most words for a page, and most words against it, that a judgement names."""
MAX_WORDS = 50_000
MOST_BYTES = 64 << 20
"""Of a classifier's file, also unpacked; one of so many words has some 10 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class TextModel:
    """A trained model. The logit of a page is `offset + slope · margin`; the margin is `bias` plus
    the sum of weight · tf-idf over its words."""

    words: tuple[str, ...]
    """Stems, as `page_stems` gives them."""
    idf: NDArray[np.float64]
    """(words,)"""
    weights: NDArray[np.float64]
    """(words,)"""
    bias: float
    slope: float
    offset: float
    language: str = "english"

    def write(self, path: Path) -> None:
        """Write a .npz file, atomically. Raises InputError."""
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
            raise cannot_write(path, error) from error

    @classmethod
    def read(cls, path: Path) -> TextModel:
        """Read a file of `write`. Raises InputError for a file that is missing, damaged or of
        another kind."""
        try:
            data = read_plain(path, MOST_BYTES)
            with zipfile.ZipFile(io.BytesIO(data)) as parts:
                if sum(part.file_size for part in parts.infolist()) > MOST_BYTES:
                    raise ValueError("it unpacks to more than any classifier")
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                words = tuple(words_in(arrays["words"]))
                idf, weights, sigmoid = (
                    numbers_in(arrays[name]).astype(float) for name in ("idf", "weights", "sigmoid")
                )
                bias, slope, offset = map(float, sigmoid)
                language = str(arrays["language"])
        except OSError as error:
            why = error.strerror or str(error)
            raise InputError(f"cannot read the classifier {path}: {why}") from error
        except NO_ARRAYS as error:
            raise InputError(f"{path} is no classifier of `spoor topic make`") from error
        numbers = np.concatenate([idf.ravel(), weights.ravel(), [bias, slope, offset]])
        if idf.shape != weights.shape or idf.shape != (len(words),):
            raise InputError(f"{path} is damaged: {len(words)} words, {weights.shape} weights")
        if not np.isfinite(numbers).all():
            raise InputError(f"{path} is damaged: it holds a weight that is no number")
        return cls(words, idf, weights, bias, slope, offset, language)


class Classifier:
    """Score: the probability that the page is relevant, among pages like the examples.

    Relevant if the score is `threshold` or more. The reasons are shares of the log-odds: words for
    and against the page, and the intercept.
    """

    def __init__(self, model: TextModel, *, threshold: float = 0.5) -> None:
        self._model = model
        self.threshold = threshold
        self._row = {word: row for row, word in enumerate(model.words)}

    def judge(self, page: Page) -> Judgement:
        model = self._model
        shares = self._shares(page)
        base = model.offset + model.slope * model.bias
        log_odds = base + sum(share for _, share in shares)
        score = float(1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0))))
        relevant = score >= self.threshold
        shares.sort(key=lambda pair: pair[1])
        against = [(f"{word!r} speaks against it", share) for word, share in shares if share < 0]
        for_it = [(f"{word!r} speaks for it", share) for word, share in shares[::-1] if share > 0]
        why = (*for_it[:REASONS], *against[:REASONS], ("where every page begins", base))
        return Judgement(score, relevant, float(relevant), why)

    def _shares(self, page: Page) -> list[tuple[str, float]]:
        """(word, share of the log-odds) of each known word of a page."""
        model = self._model
        written = page_words(page)
        stems = stem(written, model.language)
        counts = Counter(self._row[word] for word in stems if word in self._row)
        if not counts:
            return []
        rows = np.array(sorted(counts))
        values = (1.0 + np.log([counts[row] for row in rows])) * model.idf[rows]
        values = values / np.linalg.norm(values) * model.weights[rows] * model.slope
        # Reasons show words as they are written.
        shown = dict(zip(reversed(stems), reversed(written), strict=True))
        return [
            (shown[model.words[row]], float(value)) for row, value in zip(rows, values, strict=True)
        ]


# ---------------------------------------------------------------- training


@dataclass(frozen=True, slots=True)
class Quality:
    """How well held-out examples were classified: each by a model trained without it and, if `by`
    is `site`, without all pages of its site."""

    positives: int
    negatives: int
    folds: int
    auc: float
    """Area under the ROC curve."""
    brier: float
    """Mean squared error of the probabilities."""
    precision: float
    """At the threshold, like recall; 0 if no page reaches it."""
    recall: float
    by: str = "page"
    """`site` or `page`."""
    sites: int = 0
    """Number of sites of the examples; 0 if some are unknown."""


def fit(
    relevant: Sequence[Page],
    others: Sequence[Page],
    *,
    threshold: float = 0.5,
    language: str = "english",
    seed: int = 0,
) -> tuple[TextModel, Quality]:
    """Train a model on relevant and other pages; pages with the same text count once.

    A held-out page has no part in the words, idf and weights that judge it. If the pages are from
    `MIN_SITES` sites (registrable domains) or more, two of each kind, neither has its site. Raises
    InputError for too few pages, for a text on both sides, and if scikit-learn is missing.
    """
    read = partial(page_stems, language=language)
    positives, negatives = _distinct(relevant, read), _distinct(others, read)
    if both := positives.keys() & negatives.keys():
        words = " ".join(min(both)[:6])
        raise InputError(f"a page is among the positive and the negative ones: '{words} …'")
    for name, distinct in (("positive", positives), ("negative", negatives)):
        if len(distinct) < MIN_PAGES:
            raise InputError(
                f"a classifier needs at least {MIN_PAGES} {name} pages with different texts, not "
                f"{len(distinct)}; give more, or choose --method tfidf, which goes by likeness"
            )
    fitted: Any
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

    # In a fixed order, since the order of a set is not.
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
    uncalibrated = pipeline.make_pipeline(
        extraction.TfidfVectorizer(
            analyzer=_identity,
            sublinear_tf=True,
            min_df=2 if len(texts) >= 2 * FEW_PAGES else 1,
            max_features=MAX_WORDS,
        ),
        linear.LogisticRegression(C=10.0, class_weight="balanced", max_iter=2000),
    )
    try:
        fitted = calibration.CalibratedClassifierCV(
            uncalibrated, method="sigmoid", cv=split, ensemble=False
        ).fit(texts, truth)
    except ValueError as error:  # no word in two of the texts
        raise InputError(f"the example pages hold no words to learn from ({error})") from error
    (classifier,) = fitted.calibrated_classifiers_
    vectorizer, regression = classifier.estimator[0], classifier.estimator[1]
    (sigmoid,) = classifier.calibrators
    # scikit-learn's sigmoid is 1 / (1 + exp(a · margin + b)).
    slope, offset = -float(sigmoid.a_), -float(sigmoid.b_)
    model = TextModel(
        tuple(str(word) for word in vectorizer.get_feature_names_out()),
        np.asarray(vectorizer.idf_, float),
        np.asarray(regression.coef_[0], float),
        float(regression.intercept_[0]),
        slope,
        offset,
        language,
    )
    margins = selection.cross_val_predict(
        uncalibrated, texts, truth, cv=split, method="decision_function"
    )
    probabilities = 1.0 / (1.0 + np.exp(-(offset + slope * margins)))
    predicted = (probabilities >= threshold).astype(int)
    quality = Quality(
        len(positives),
        len(negatives),
        len(split),
        float(metrics.roc_auc_score(truth, margins)),
        float(metrics.brier_score_loss(truth, probabilities)),
        float(metrics.precision_score(truth, predicted, zero_division=0.0)),
        float(metrics.recall_score(truth, predicted, zero_division=0.0)),
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
    """Text → site of the first page with it; the site of a file without a known URL is empty."""
    sites: dict[tuple[str, ...], str] = {}
    for page in pages:
        if words := tuple(read(page)):
            site = domain_of(page.url)
            sites.setdefault(words, "" if site.endswith(".invalid") else site)
    return sites


def _by_site(
    selection: Any, sites: Sequence[str], truth: NDArray[np.int64], seed: int
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(training rows, held-out rows) of each fold, with no site in both; empty if that is
    impossible: a site is unknown, there are too few, or a fold would have one kind of page only."""
    sites_of_kind = [
        {site for site, label in zip(sites, truth, strict=True) if label == kind} for kind in (0, 1)
    ]
    if not all(sites) or len(set(sites)) < MIN_SITES or min(map(len, sites_of_kind)) < 2:
        return []
    for folds in range(min(FOLDS, len(set(sites))), 1, -1):
        split = selection.StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        rows = list(split.split(truth, truth, sites))
        if all(len(held) and len(set(truth[rest])) == 2 for rest, held in rows):
            return rows
    return []


def _identity(words: Sequence[str]) -> Sequence[str]:
    return words


def strongest_words(model: TextModel, pages: Sequence[Page], most: int = 12) -> list[str]:
    """The words with the largest positive weights, in their most frequent spelling on these pages;
    for policies that use keywords, and for people."""
    spellings: dict[str, Counter[str]] = {}
    for page in pages:
        written = page_words(page)
        for word, stemmed in zip(written, stem(written, model.language), strict=True):
            spellings.setdefault(stemmed, Counter())[word] += 1
    best = sorted(zip(-model.weights * model.slope, model.words, strict=True))
    words = [
        spellings[word].most_common(1)[0][0]
        for value, word in best
        if value < 0 and word in spellings
    ]
    return words[:most]
