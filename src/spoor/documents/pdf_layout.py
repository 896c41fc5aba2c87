"""The parts of a PDF: from the lines of its pages to headings, paragraphs and code.

A PDF says where signs stand and in which font, not what they are. A line at the edge of a page that
stands at the edge of one of the next two pages, too, with the same numbers or such as grow with the
pages, is a running head. A title of the outline stands where a line says it. Without an outline,
short lines in larger letters are titles. Lines in a font of fixed width are code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from spoor.documents.blocks import Blocks, one_line

HYPHEN = re.compile("(?<=\\w)[\ufffe\x02\xad-]$")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ufffe\uffff\xad]")
_SENTENCE_END = (".", "!", "?", ":", "。", "”", '"')
_NUMBER = re.compile(r"(\d{1,9})")
_NUMBERING = re.compile(
    r"^(?:(?:Chapter|Section|Part|Appendix)\s+)?(?:(?:[A-Z]\.)?\d[\d.]*|[IVXLC]+|[A-Z])[.):]?\s+"
)
"""Of a title, which an outline may leave out."""
_BULLET = re.compile(r"^[•◦▪‣∙●■]\s*(?=\S)")
"""Marks of the entries of a list."""
_MORE_SPACE = 1.3
"""Space above a paragraph, by what is between most lines."""
_MOVED = 0.7
"""By how much the first line of a paragraph is moved in, by the size of its letters."""
_EDGE = 2
"""Lines at the top of a page, and at its end, that may be a running head."""
_NEAR = 2
"""Pages on which it stands again: left and right ones may differ."""
_LARGER = 1.15
"""Size of letters of a title, by that of most letters."""
_LONGEST = 150
"""Characters of a title, or of a running head."""
_MOST_SIZES = 4
"""Sizes of letters of titles that are told apart, the largest first."""
_MOSTLY = 0.7
"""Part of the letters that are of fixed width in a document whose text is."""
_CODE_LETTER = 0.55
"""Width of a letter of code, by its size."""
_DEEPEST = 40
"""Letters by which a line of code is moved in."""


class Line(NamedTuple):
    """A line of a page."""

    text: str
    size: float = 0.0
    """Of its first letter, in points; 0: unknown."""
    fixed: bool = False
    """Its font is one of fixed width."""
    left: float = 0.0
    base: float = 0.0
    """Where it begins, and stands above the page's lower edge, in points."""


@dataclass(slots=True)
class PageOfLines:
    """What is read of a page."""

    lines: list[Line]
    titles: list[tuple[int, str]] = field(default_factory=list)
    """(level, title) of the entries of the outline that lead there."""


class _Part(NamedTuple):
    kind: str
    text: str
    level: int = 0


def shown(text: str) -> str:
    """Without control characters."""
    return _CONTROL.sub("", text)


def lay_out(pages: Sequence[PageOfLines], blocks: Blocks) -> list[list[str]]:
    """Add the parts of the pages; returns of each page the title that its text is under, if any.
    O(size of the text)."""
    heads = [_running_heads(pages, at) for at in range(len(pages))]
    letters = Counter[float]()
    fixed = 0
    for page in pages:
        for line in page.lines:
            letters[round(line.size, 1)] += len(line.text)
            fixed += len(line.text) * line.fixed
    has_code = fixed < _MOSTLY * letters.total()
    sizes: dict[float, int] = {}
    if letters and not any(page.titles for page in pages):
        body = letters.most_common(1)[0][0]
        larger = sorted((size for size in letters if size >= _LARGER * body > 0), reverse=True)
        sizes = {size: min(level, _MOST_SIZES) for level, size in enumerate(larger, 1)}
    under, last = list[list[str]](), list[str]()
    open_: _Part | None = None
    for page, left_out in zip(pages, heads, strict=True):
        for part in _parts(page, left_out, sizes, has_code=has_code):
            if open_ is not None and _goes_on(open_, part):
                open_ = _Part("paragraph", f"{open_.text} {part.text}")
                continue
            if open_ is not None:
                _add(open_, blocks)
            open_ = part
            if part.kind == "heading":
                last = [part.text]
        under.append(last)
    if open_ is not None:
        _add(open_, blocks)
    return under


def _add(part: _Part, blocks: Blocks) -> None:
    if part.kind == "heading":
        blocks.heading(part.level, part.text)
    elif part.kind == "code":
        blocks.code(part.text)
    elif _BULLET.match(part.text):
        blocks.item(_BULLET.sub("", part.text))
    else:
        blocks.paragraph(part.text)


def _goes_on(before: _Part, part: _Part) -> bool:
    """Whether a paragraph begins in the midst of a sentence: a page or a column ended there."""
    if before.kind != "paragraph" or part.kind != "paragraph":
        return False
    return part.text[:1].islower() and not before.text.endswith(_SENTENCE_END)


def _running_heads(pages: Sequence[PageOfLines], number: int) -> set[int]:
    """The lines of a page that stand at the edges of pages near it; none where there are no other
    lines."""
    lines = pages[number].lines
    near = [at for at in range(number - _NEAR, number + _NEAR + 1) if at != number]
    near = [at for at in near if 0 <= at < len(pages)]
    found = set[int]()
    for top in (True, False):
        others = [(at - number, pages[at].lines[n]) for at in near for n in _edge(pages[at], top)]
        for index in _edge(pages[number], top):
            text = lines[index].text
            if len(text) <= _LONGEST and any(
                (away < 0 or _NUMBER.search(text)) and _is_again(text, other.text, away)
                for away, other in others
            ):
                found.add(index)
    rest = any(line.text.strip() for at, line in enumerate(lines) if at not in found)
    return found if rest else set()


def _edge(page: PageOfLines, top: bool) -> list[int]:
    """The first lines, or the last, that are not blank."""
    numbers = range(len(page.lines)) if top else range(len(page.lines) - 1, -1, -1)
    found = list[int]()
    for index in numbers:
        if page.lines[index].text.strip():
            found.append(index)
            if len(found) == _EDGE:
                break
    return found


def _is_again(text: str, other: str, away: int) -> bool:
    """Whether two lines, the second of so many pages later, are the same but for page numbers."""
    ours, theirs = _NUMBER.split(" ".join(text.split())), _NUMBER.split(" ".join(other.split()))
    if len(ours) != len(theirs):
        return False
    words = all(a.casefold() == b.casefold() for a, b in zip(ours[::2], theirs[::2], strict=True))
    return words and all(
        int(b) - int(a) in (0, away) for a, b in zip(ours[1::2], theirs[1::2], strict=True)
    )


def _parts(
    page: PageOfLines, left_out: set[int], sizes: dict[float, int], *, has_code: bool
) -> Iterator[_Part]:
    """The parts of a page. Lines are joined, and words that a line's end parts. A paragraph ends
    with a short line that ends a sentence, with an empty one, and before more space than is between
    most lines. It begins with a mark of a list, or after a sentence with a line that is moved in.
    """
    lines = [line for index, line in enumerate(page.lines) if index not in left_out]
    lengths = sorted(len(line.text) for line in lines)
    width = lengths[int(0.8 * len(lines))] if lines else 0
    usual = _usual(lines)
    titles, elsewhere = _places(page.titles, lines)
    yield from (_Part("heading", title, level) for level, title in elsewhere)
    open_, at = list[str](), 0
    while at < len(lines):
        line = lines[at]
        text = line.text.strip()
        taken, part = _title(lines, at, titles, sizes)
        if part is None and has_code and line.fixed and text:
            taken, part = _code(lines, at)
        if open_ and (part is not None or not text or _begins(lines, at, usual)):
            yield _Part("paragraph", one_line("".join(open_)))
            open_ = []
        if part is not None:
            yield part
            at += taken
            continue
        at += 1
        if not text:
            continue
        if HYPHEN.search(text):
            open_.append(shown(text if text[-1] == "-" else text[:-1]))
            continue
        open_.append(shown(text) + " ")
        if len(text) < 0.8 * width and text.endswith(_SENTENCE_END):
            yield _Part("paragraph", one_line("".join(open_)))
            open_ = []
    if open_:
        yield _Part("paragraph", one_line("".join(open_)))


def _usual(lines: Sequence[Line]) -> tuple[float, float]:
    """The space from a line to the next, and where lines begin, of most; 0 where it is unknown."""
    gaps = sorted(
        above.base - line.base for above, line in pairwise(lines) if above.base > line.base > 0
    )
    lefts = Counter(round(line.left) for line in lines if line.size)
    left = float(lefts.most_common(1)[0][0]) if lefts else 0.0
    return (gaps[len(gaps) // 2] if gaps else 0.0), left


def _begins(lines: Sequence[Line], at: int, usual: tuple[float, float]) -> bool:
    """Whether a line begins a paragraph, by what is above it."""
    line, above, (gap, left) = lines[at], lines[at - 1], usual
    if _BULLET.match(line.text.strip()):
        return True
    if not (line.size and above.size and gap):
        return False
    if above.base - line.base > _MORE_SPACE * gap:
        return True
    moved = line.left - left > _MOVED * line.size and abs(above.left - left) < line.size / 4
    return moved and above.text.rstrip().endswith(_SENTENCE_END)


def _places(
    titles: Sequence[tuple[int, str]], lines: Sequence[Line]
) -> tuple[dict[int, tuple[int, int, str]], list[tuple[int, str]]]:
    """Line → (lines, level, title) of the titles that stand there in one or two lines, and the
    others, which open the page."""
    said = dict[str, list[tuple[int, int]]]()
    """What a line says, and a line and the next → where, and how many lines."""
    if titles:
        bare = [_bare(line.text) for line in lines]
        for at, text in enumerate(bare):
            said.setdefault(text, []).append((at, 1))
            if at + 1 < len(bare):
                said.setdefault(text + bare[at + 1], []).append((at, 2))
    found, elsewhere = dict[int, tuple[int, int, str]](), list[tuple[int, str]]()
    for level, title in titles:
        free = [place for place in said.get(_bare(title), []) if place[0] not in found]
        if free:
            found[free[0][0]] = (free[0][1], level, title)
        else:
            elsewhere.append((level, title))
    return found, elsewhere


def _bare(text: str) -> str:
    """What a title is told by: its letters, without its number."""
    text = shown(text).strip()
    return "".join((_NUMBERING.sub("", text) or text).casefold().split())


def _title(
    lines: Sequence[Line],
    at: int,
    titles: dict[int, tuple[int, int, str]],
    sizes: dict[float, int],
) -> tuple[int, _Part | None]:
    """How many lines a title takes that begins here, and the title."""
    if at in titles:
        taken, level, title = titles[at]
        return taken, _Part("heading", title, level)
    size = round(lines[at].size, 1)
    if size not in sizes:
        return 0, None
    taken = 1
    while taken < 3 and at + taken < len(lines) and round(lines[at + taken].size, 1) == size:
        taken += 1
    title = one_line(" ".join(shown(line.text) for line in lines[at : at + taken]))
    if len(title) > _LONGEST or not any(map(str.isalpha, title)):
        return 0, None
    return taken, _Part("heading", title, sizes[size])


def _code(lines: Sequence[Line], at: int) -> tuple[int, _Part]:
    """How many lines of code begin here, and the code, moved in as on the page."""
    end = at
    while end < len(lines) and (lines[end].fixed or not lines[end].text.strip()):
        end += 1
    block = lines[at:end]
    first = min(line.left for line in block if line.text.strip())
    written = []
    for line in block:
        letter = max(1.0, _CODE_LETTER * line.size)
        inside = min(_DEEPEST, round((line.left - first) / letter)) if line.text.strip() else 0
        written.append(" " * inside + shown(line.text).strip())
    return end - at, _Part("code", "\n".join(written))
