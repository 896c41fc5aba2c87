"""Text from the web for a reader that gets characters and not how they look: a language model, or
a person at a terminal.

Letters that nobody sees can spell whole sentences: tag characters, runs of variation selectors,
fillers, marks of the writing direction. `legible` leaves out those that show nothing where they
stand, and keeps those that emoji, Arabic, Indic, Mongolian and Han writing need.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode calls default ignorable, or shows nothing for another reason."""

_BLANK = re.compile("[^\\S\n\t]|[\u2800\u3164\uffa0]")
"""What looks like a space."""

_FLAGS = frozenset(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)
"""The flags that are written with tag characters."""
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f")

_JOINING = re.compile(
    "[\u0600-\u1bff\u1c00-\u1cff\ua800-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff]"
)
"""Letters of scripts in which a joiner changes what is read: Arabic, Indic and their kin."""

_PICTURES = frozenset(("So", "Sm", "Sk", "Po", "Nd"))
"""Kinds of characters that may be pictures, or of two shapes."""

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SIGN = re.compile("[0\uff01\uff0c\uff10\u2100-\u214f\U0001d400-\U0001d7ff]")
"""Further signs of mathematics, and of print, that have variants."""
_MONGOLIAN = re.compile("[\u1800-\u180a\u1810-\u18af]")
_SELECTED = re.compile(
    "[\u1000-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f\ua840-\ua877\U00010ac0-\U00010aff\U00013000-\U0001345f]"
)
"""Other letters that have variants."""


def legible(text: str) -> str:
    """A text without letters that show nothing; blanks of any kind are spaces, and controls,
    but for ends of lines and tabs, and what no standard knows are U+FFFD. O(length)."""
    if text.isascii() and text.isprintable():
        return text
    if _HIDDEN.search(text):
        text = "".join(_kept(text))
    text = _BLANK.sub(" ", text)
    if text.isprintable():
        return text
    return _NONE.sub("\ufffd", text)


_NONE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff"
    "\U000f0000-\U0010ffff]"
)
"""Controls, halves of pairs, and what is nobody's: a character that this version of Python does not
know may be a picture of a later year."""


def _kept(text: str) -> list[str]:
    kept: list[str] = []
    end = 0
    for found in _HIDDEN.finditer(text):
        at = found.start()
        if at < end:
            continue
        kept.append(text[end:at])
        end = at + 1
        char = found[0]
        if "\U000e0020" <= char <= "\U000e007f":
            flag = _FLAG.match(text, at - 1) if at else None
            if flag is not None and flag[0] in _FLAGS:
                kept.append(flag[0][1:])
                end = flag.end()
        elif is_needed(char, text, at):
            kept.append(char)
        elif char in "\u3164\uffa0":
            kept.append(" ")
    kept.append(text[end:])
    return kept


def is_needed(char: str, text: str, at: int) -> bool:
    """Whether a letter that shows nothing by itself changes how its neighbours look or are read."""
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if not before or _HIDDEN.match(before):
        # A joiner behind the variation selector of an emoji.
        return char == "\u200d" and before == "\ufe0f" and _is_picture(after)
    if char in "\u200c\u200d":
        if _JOINING.match(before) and unicodedata.category(before)[0] in "LM":
            return True
        return char == "\u200d" and _is_picture(before) and _is_picture(after)
    if char in "\ufe0e\ufe0f":
        is_sign = unicodedata.category(before) in _PICTURES or before in "\u2139\u3030"
        return is_sign or _is_picture(before)
    if "\ufe00" <= char <= "\ufe06":
        is_sign = unicodedata.category(before) in ("Sm", "Po") or _SIGN.match(before) is not None
        has_three = char <= "\ufe02" and (is_sign or _HAN.match(before) is not None)
        return has_three or _SELECTED.match(before) is not None
    if "\u180b" <= char <= "\u180f":
        return _MONGOLIAN.match(before) is not None
    if "\U000e0100" <= char <= "\U000e011f":
        return _HAN.match(before) is not None
    if char == "\u1160":
        return "\u1100" <= before <= "\u115e"
    return char == "\u115f" and "\u1161" <= after <= "\u11a7"


def _is_picture(char: str) -> bool:
    known = unicodedata.category(char) if char else ""
    return known in ("So", "Sk") or "\U0001f000" <= char <= "\U0001fbff"
