"""What a page says behind a label that it is filed under: `Category: Food`, as trackers, wikis,
shops and archives of papers do, in a table, a list or a line of text.

The label is all that its text says, or what this begins with; what follows is one text of few
words, with commas between several, or links with nothing but commas or blocks between them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import compress, count, islice, repeat
from operator import contains, or_

from spoor.web.tree_walk import BREAK, MOST_KEYWORDS, Walk, cuts_among, is_cut

LABELS = frozenset(
    label.replace("_", " ")
    for label in """
    category categories tag tags topics subjects keyword keywords component components labels
    filed_under posted_in kategorie kategorien schlagwort schlagwörter schlagworte stichwörter
    stichworte themen catégorie catégories étiquettes mots-clés sujets rubrique categoría
    categorías etiqueta etiquetas palabras_clave temas categoria categorie parole_chiave
    argomenti categorieën trefwoorden onderwerpen kategori kategorier etiketter nyckelord
    emneord kategoria tagi słowa_kluczowe kategória címkék категория категории рубрика теги
    метки カテゴリ カテゴリー タグ キーワード 分类 标签 关键词 分類 標籤 關鍵詞 카테고리 태그
    """.split()
)
"""In lower case. `Topic` and `Subject` are those of a thread or a mail, which is its title."""
_WORDS = 8
"""Of what stands behind a label, at most, …"""
VALUES = 8
"""… and how many of them; …"""
_AHEAD = 200
"""… in so many texts and breaks."""
_LOOKED_AT, _COLONS = 32, 2_000
"""Labels of a page, and texts with a colon."""
_LINKS = re.compile(r"\0([^\0\n]+)\0([\s,;|/·•・、]*)")
_TEXT = re.compile(r"[^\0\n]+")
_PARTS = re.compile(r"[,;|·•、，]")


def labelled(walk: Walk, text: str) -> list[str]:
    """What stands behind the labels of a page with this `text`, each once; of a label that comes
    again nothing: such a page has several documents. O(texts)."""
    found: dict[str, list[str]] = {}
    more = set[str]()
    last = cuts = 0
    for at, label, rest in _labels(walk.texts, text):
        cuts += cuts_among(walk.texts[last:at])
        last = at
        if its := _behind(walk, at, rest, cuts):
            more |= {label} & found.keys()
            found[label] = its
    told = (value for label, its in found.items() if label not in more for value in its)
    return [*islice(told, MOST_KEYWORDS)]


def _labels(texts: Sequence[str], text: str) -> Iterator[tuple[int, str, str]]:
    """Of each label the number of its text, itself, and what else that text says."""
    looked_at = 0
    colons = map(contains, texts, repeat(":"))
    if "：" in text:
        colons = map(or_, colons, map(contains, texts, repeat("：")))
    for at in islice(compress(count(), colons), _COLONS):
        its = texts[at]
        label, _, rest = its.replace("：", ":", 1).partition(":")
        if not label.strip():  # a link to all labels ends before it
            label = next((one for one in texts[max(0, at - 3) : at][::-1] if one.strip(" \0")), "")
        label = " ".join(label.split()).lower() if len(label) < 100 else ""
        if label in LABELS:
            looked_at += 1
            if looked_at > _LOOKED_AT:
                return
            yield at, label, rest


def _behind(walk: Walk, at: int, rest: str, cuts: int) -> list[str]:
    """What stands behind a label, in the text of this number and after it."""
    parts = (
        "\n" if text is BREAK else "\0" if is_cut(text) else text.replace("\n", " ")
        for text in walk.texts[at + 1 : at + _AHEAD]
    )
    text = " ".join(rest.split()) + "".join(parts)
    begin = len(text) - len(text.lstrip("\n\t ,"))
    if text.startswith("\0", begin):
        return _linked(walk, text, begin, cuts)
    its = _TEXT.match(text, begin)
    if (
        its is None
        or text.startswith("\0", its.end())
        or any(cut == cuts for cut, _ in walk.choices)
    ):
        return []
    return _values(_PARTS.split(its[0]))


def _linked(walk: Walk, text: str, begin: int, cuts: int) -> list[str]:
    """What the links say that begin here, as far as no more stands between two than before the
    first one."""
    breaks, values = text.count("\n", 0, begin), list[str]()
    while (its := _LINKS.match(text, begin)) and len(values) <= VALUES:
        number = bisect_left(walk.found, cuts, key=lambda found: found.begin)
        if number == len(walk.found) or walk.found[number].place.is_beside:
            return []
        values.append(its[1])
        begin, cuts = its.end(), cuts + 2
        if its[2].count("\n") > breaks:
            break
    return _values(values)


def _values(values: Sequence[str]) -> list[str]:
    """Those of what stands behind a label; none where it is a sentence, or the next label."""
    its = [" ".join(value.split()) for value in values if value.strip()]
    if not 0 < len(its) <= VALUES or its[-1].endswith(":"):
        return []
    if any(len(value.split()) > _WORDS or len(value) > 100 for value in its):
        return []
    return [value for value in its if any(map(str.isalpha, value))]
