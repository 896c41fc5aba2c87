"""What is known of languages: their stemmers, and the words that say little in each."""

from __future__ import annotations

from functools import lru_cache

import Stemmer

from spoor.web.text import STOP_WORDS

STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Code of a language → its Snowball algorithm."""
FUNCTION_WORDS = STOP_WORDS | frozenset(
    """der die das den dem des ein eine einer und oder für mit von zu zum zur im am auf aus bei ist
    le la les un une des du de d l et ou en pour par sur dans avec au aux est
    el los las uno una unos unas y o u en con por para del al es
    il lo gli i e ed da di del dei delle della dello degli nel nella con su per che
    o os as um uma e ou do da dos das no na nos nas em por para com
    de het een en of van voor met op in is
    og i på av til for med et en den det som är och ett att från
    i w z na do o u oraz dla po od za
    и в на с по из для от о к у не
    v na s z k o a i se pro
    ve ile bir için da de
    dan yang di ke dari untuk
    ja tai on
    wie was wer wo warum wann welche welcher welches ich wir mir mich kann können soll muss mein
    meine einem einen einer
    pourquoi quand quel quelle quels quelles je mon mes
    qué cómo dónde cuál cuándo mi mis
    как что где когда почему какой какая какие мой моя
    about pages page""".split()
)
"""Words that say little of a topic, in the languages that are met most."""


@lru_cache(maxsize=256)
def stemmer_of(declared: str) -> str:
    """The Snowball algorithm for the language that a page declares; English where it says none, and
    empty for one that has no algorithm."""
    code = declared.strip().lower().replace("_", "-").partition("-")[0]
    name = STEMMERS.get(code, "" if code else "english")
    return name if name in Stemmer.algorithms() else ""


def says_little(word: str) -> bool:
    """Whether a word of a wish says little of its topic, and is looked for only where all do."""
    return word.lower() in FUNCTION_WORDS and not (word.isupper() and len(word) > 1)
