"""A judge by similarity of meaning, with a sentence encoder: a local folder or a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spoor.distribution import import_extra
from spoor.errors import InputError, PluginError
from spoor.judges.named import named
from spoor.types import Judgement, Page

if TYPE_CHECKING:
    from numpy.typing import NDArray

Encoder = Callable[[Sequence[str]], "NDArray[Any]"]
"""Texts → one row of numbers each, (texts, dimensions)."""

PASSAGE = 120
"""Words of one passage: encoders ignore a text after a few hundred tokens."""
PASSAGES = 16
NEEDED = {"config.json": 1 << 20, "model.safetensors": 1 << 31, "tokenizer.json": 1 << 28}
"""Files of an encoder's folder, and the most bytes of each: one that a topic names may have a
hole."""


def encoder_of(name: str) -> Encoder:
    """The encoder in a folder (model2vec), or the function `module:function`.

    Nothing is ever downloaded. Raises InputError for a name that is neither.
    """
    folder = Path(name)
    if not os.path.isdir(folder):  # whatever its name is
        if ":" in name and "/" not in name:
            return named(name)
        raise InputError(
            f"the encoder {name!r} is no folder on this machine; encoders are never downloaded: "
            "get one yourself and name its folder, or a function as module:function"
        )
    missing = [file for file in NEEDED if not (folder / file).is_file()]
    if missing:
        raise InputError(f"{folder} is no model2vec encoder: it has no {missing[0]}")
    for file, most in NEEDED.items():
        if (size := (folder / file).stat().st_size) > most:
            raise InputError(f"{folder / file} has {size:,} bytes, and at most {most:,} are read")
    (model2vec,) = import_extra("encoder", "an encoder in a folder", "model2vec")
    try:
        model = model2vec.StaticModel.from_pretrained(folder.resolve())
    except Exception as error:  # of its tokenizer, of safetensors, of its JSON
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{folder} cannot be read as a model2vec encoder: {reason[:200]}"
        ) from error
    # Worker processes would take more time than a page.
    return lambda texts: np.asarray(model.encode(list(texts), use_multiprocessing=False))


class Semantic:
    """Score: cosine of the page's vector with that of the nearest topic text; at least 0.

    The vector of a page is the mean of the unit vectors of its first 16 passages of 120 words; the
    first begins with the title. Raises PluginError if the encoder does not return one finite row
    for each text.
    """

    def __init__(self, texts: Sequence[str], encoder: Encoder, *, threshold: float = 0.5) -> None:
        self._encoder = encoder
        self.threshold = threshold
        given = [text for text in texts if text.strip()]
        if not given:
            raise InputError("a topic by meaning needs a text; give 'name' or 'example_texts'")
        self._topics = np.stack([self._vector(passages(text))[0] for text in given])
        if not self._topics.any():
            raise InputError(f"the encoder makes nothing of the topic's words: {given[0][:80]!r}")

    def judge(self, page: Page) -> Judgement:
        parts = passages(f"{page.title}\n{page.text}")
        if not parts:
            return Judgement(0.0, False, 0.0)
        vector, rows = self._vector(parts)
        cosines = self._topics @ vector
        nearest = int(cosines.argmax())
        score = float(min(1.0, max(0.0, cosines[nearest])))
        relevant = score >= self.threshold
        best = parts[int((rows @ self._topics[nearest]).argmax())]
        shown = " ".join(best.split()[:12])
        why = ((f"likeness of meaning, most of all in '{shown} …'", score),)
        return Judgement(score, relevant, float(relevant), why if score or relevant else ())

    def _vector(self, texts: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The vector of all passages, (dimensions,), and of each, (passages, dimensions)."""
        rows = np.asarray(self._encoder(texts), dtype=np.float64)
        if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(rows).all():
            problem = f"returned shape {rows.shape} for {len(texts)} texts, or what is no number"
            raise PluginError(getattr(self._encoder, "__name__", "encoder"), "encode", problem)
        rows = _unit(rows)
        return _unit(rows.mean(axis=0, keepdims=True))[0], rows


def passages(text: str) -> list[str]:
    """The first passages of a text."""
    # Encoders reject lone surrogates.
    words = text.encode("utf-8", "replace").decode("utf-8").split()[: PASSAGE * PASSAGES]
    return [" ".join(words[start : start + PASSAGE]) for start in range(0, len(words), PASSAGE)]


def _unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float64] = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit
