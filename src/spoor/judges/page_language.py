"""The language of a page: what it says of itself, or what an identifier makes of its main text."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from spoor.distribution import import_extra
from spoor.types import Page

SAMPLE = 1_200
"""Characters by which a language is identified: more tell little more, and take longer."""


@lru_cache(maxsize=1)
def _identifier() -> Any:
    (langid,) = import_extra("language", "lang:", "py3langid.langid")
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


def identified(page: Page) -> list[tuple[str, float]]:
    """(language, probability) by the main text of a page, the most probable first. About 1 ms, and
    a second and 120 MB once."""
    text = page.text
    begin = max(0, min(len(text) // 6, len(text) - SAMPLE))  # menus stand above, notes below
    sample = f"{page.title} {text[begin : begin + SAMPLE]}".strip()
    sample = sample.encode("utf-8", "replace").decode("utf-8")
    if not any(map(str.isalpha, sample)):
        return []
    return [(str(code), float(share)) for code, share in _identifier().rank(sample)]


def surely(page: Page) -> str:
    """The language of the main text of a page, where it is more probable than all others together;
    else empty."""
    code, share = max(identified(page), key=lambda one: one[1], default=("", 0.0))
    return code if share > 0.5 else ""


def probability(page: Page, languages: Sequence[str], unwanted: Sequence[str]) -> float:
    """Probability that a page is in one of the languages, and in none that is not wanted; codes of
    ISO 639-1. Norwegian is one language, whatever a page calls it."""
    ranked = [(one_norwegian(code), share) for code, share in identified(page)]
    if not ranked:
        return 0.0
    not_wanted = sum(share for code, share in ranked if code in map(one_norwegian, unwanted))
    if not languages:
        return max(0.0, 1.0 - not_wanted)
    wanted = sum(share for code, share in ranked if code in set(map(one_norwegian, languages)))
    return min(1.0, max(0.0, wanted - not_wanted))


def one_norwegian(code: str) -> str:
    """A code, the same for all ways to write Norwegian."""
    return "no" if code in ("nb", "nn") else code
