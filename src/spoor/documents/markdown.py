"""Markdown, read in linear time, without what its readers do not see of HTML within it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape

from spoor.documents.blocks import MOST_ROWS, Blocks, one_line
from spoor.documents.declared import iso_date, language_tag, people
from spoor.documents.document import Document, Limits
from spoor.documents.links import Links
from spoor.documents.plain import decoded, left_out

_LINK = re.compile(
    r"(?<!!)\[(?P<text>[^\[\]\n]{0,500}+)\]\(\s*+<?+"
    r"(?P<target>[^\s()<>]{1,2000}+(?:\([^\s()]{0,2000}+\)[^\s()<>]{0,2000}+)?)>?+"
    r"(?:\s[^)\n]{0,300}+)?\)"
)
"""Nothing shorter is tried where the longest one does not end in a link."""
_AUTO = re.compile(r"<(https?://[^\s<>]{1,2000})>", re.IGNORECASE)
_REFERENCE = re.compile(
    r"^ {0,3}\[([^\[\]\n]{1,200})\]:\s*<?(\S{1,2000}?)>?(?:\s.*)?$", re.MULTILINE
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)")
_HEADING = re.compile(r" {0,3}(#{1,6})\s+([^\n]{1,500})$")
_ITEM = re.compile(r"( *)(?:[-+*]|(\d{1,9})[.)])\s+(.*)")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"[\s|:-]+$")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})\s*$")
_IMAGE = re.compile(r"!\[([^\[\]\n]{0,500})\]\([^()\n]{0,2000}\)")
_TICKS = re.compile("`+")
_TICK = re.compile(r"(?<!\\)((?:\\\\)*)`")
"""One that is not escaped."""
_CODE_OR_TICK = re.compile(r"(?:(?<!`)|(?<=\\`))(`++).{0,2000}?(?<!`)\1(?!`)|\\`", re.DOTALL)
"""Code, or an escaped tick. Code is looked for once in a run of ticks, and not without end: others
may have none."""
_WORD = re.compile(r"\S+")
_ENDS_TITLE = {
    sign: re.compile(rf"(?<!\\){re.escape(end)}\s*\)")
    for sign, end in zip("\"'(", "\"')", strict=True)
}
_TAG = re.compile(
    r"<!--[^<]{0,2000}?-->|<(?:[A-Za-z][^\s<>/:@]{0,60}(?:[\s/][^<>]{0,2000})?|/[A-Za-z][^<>]{0,60}|[!?][^<>]{0,2000})>"
)
"""A tag, a comment or a declaration of HTML within a line; no address between `<` and `>`."""
_ENDS_WORD = re.compile(r"</?(?:br|div|hr|img|li|p|td|th|tr)\b", re.IGNORECASE)
_HIDDEN = re.compile(r" {0,3}<(!--|script\b|style\b)", re.IGNORECASE)
"""Begins lines that no reader of the document sees, …"""
_SHOWN = {"!--": "-->", "script": "</script>", "style": "</style>"}
"""… and what ends them."""
_ANCHOR = re.compile(
    r"<a\s(?:[^<>]{0,500}?\s)?href\s{0,9}=\s{0,9}[\"']?([^\"'<>\s]{1,2000})", re.IGNORECASE
)
_OPENS = re.compile(r"(?<!\\)(\\*+)<(?!https?://[^\s<>]{1,2000}>)", re.IGNORECASE)
"""What could begin a tag that is cut, or too long."""
_MARKUP = re.compile(r"(\*\*|__|``?|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w))")
_FRONT = re.compile(r"---[ \t]*\n(.{0,10000}?)\n(?:---|\.\.\.)[ \t]*\n", re.DOTALL)
_FACT = re.compile(r"^([A-Za-z_]{1,40}):([^\n]{1,500})$", re.MULTILINE)


def read_markdown(content_type: str, url: str, body: bytes, limits: Limits) -> Document:
    """Its headings, items, code, tables and paragraphs; title, date and author of a YAML head."""
    text, notes = decoded(content_type, body, limits)
    facts: dict[str, str] = {}
    if front := _FRONT.match(text):
        facts = {key.lower(): value.strip(" \t\"'") for key, value in _FACT.findall(front[1])}
        text = text[front.end() :]
    blocks, links = Blocks(limits.characters), Links(url, limits.links)
    _Reader(blocks).read(text)
    _links(text, links)
    notes += left_out(blocks, links)
    first = next((block.text for block in blocks.blocks if block.kind == "heading"), "")
    return Document(
        url,
        "markdown",
        "text/markdown",
        facts.get("title", "") or first,
        language_tag(facts.get("lang") or facts.get("language")),
        iso_date(facts.get("date")),
        people([facts.get("author")]),
        facts.get("description", ""),
        tuple(blocks.blocks),
        tuple(links),
        tuple(notes),
        facts.get("license", "") or facts.get("licence", ""),
    )


def _links(text: str, links: Links) -> None:
    for match in _LINK.finditer(text):
        links.add_within(match["target"], _plain(match["text"]), text, *match.span())
    for match in _AUTO.finditer(text):
        links.add(match[1])
    for match in _ANCHOR.finditer(text):
        links.add(unescape(match[1]))
    for match in _REFERENCE.finditer(text):
        links.add(match[2], match[1])
    for pattern in (_ANCHOR, _REFERENCE, _AUTO, _LINK):
        text = pattern.sub(" ", text)
    links.add_bare(text)


def _plain(text: str) -> str:
    if "\\`" in text:
        text = _CODE_OR_TICK.sub(lambda match: match[0] if match[1] else "`", text)
    if "](" in text:
        text = _LINK.sub(lambda match: match["text"], _IMAGE.sub(lambda match: match[1], text))
    if "*" in text or "_" in text or "`" in text:
        text = _MARKUP.sub("", text)
    return text.replace("\\<", "<")


def _without_tags(text: str, *, within_tags: bool = False) -> str:
    """Markdown without tags of HTML, which its readers do not see, and in which a page may hold
    what its author did not write; what looks like one within code stays. `within_tags`: there may
    be some in the lines beside it. O(length)."""
    if not within_tags and "<" not in text and not _begins_code(text):
        return text
    found = _told_apart(text)
    if (found == text or _told_apart(found) == found) and not _begins_code(found):
        return found
    # Without a tag it reads otherwise. In a text without code all tags can be told.
    return _told_apart(_TICK.sub(r"\1\\`", text))


def _told_apart(text: str) -> str:
    """Without tags outside of code; what begins no code is escaped, so that nobody takes it for
    code."""
    parts, at, closes = list[str](), 0, ""
    runs = [run.span() for run in _TICKS.finditer(text)]
    left = Counter(end - begin for begin, end in runs)
    targets = [*_targets(text)][::-1] if runs and "](" in text else []
    for begin, end in runs:
        left[end - begin] -= 1
        if closes:
            if text[begin:end] == closes:
                parts.append(text[at:end])
                at, closes = end, ""
            continue
        begin += _is_escaped(text, begin)
        while targets and targets[-1][1] <= begin:
            targets.pop()
        is_target = targets and targets[-1][0] <= begin
        if left[end - begin] and begin < end and not is_target:
            parts += _outside_code(text, at, begin)
            at, closes = begin, text[begin:end]
        elif begin < end:
            parts += _outside_code(text, at, begin)
            parts.append("\\`" * (end - begin))
            at = end
    parts += _outside_code(text, at, len(text))
    return "".join(parts)


def _targets(text: str) -> Iterator[tuple[int, int]]:
    """Where targets and titles of links may stand, in which ticks begin no code. O(length)."""
    after = ""
    """What the word before leaves to come: a target, or a title."""
    ends = dict[str, int]()
    at = 0
    for word in _WORD.finditer(text):
        begin, end = word.span()
        if begin < at:
            continue
        sign = word[0][0]
        if after and sign in _ENDS_TITLE:
            if ends.get(sign, begin) <= begin:
                closing = _ENDS_TITLE[sign].search(text, begin + 1)
                ends[sign] = closing.end() if closing else len(text) + 1
            if ends[sign] <= len(text):
                at = ends[sign]
                yield begin, at
                after = ""
                continue
        first = 0 if after == "target" else word[0].find("](")
        if first < 0:
            after = ""
            continue
        yield begin + first, end
        open_ = _is_open("](" * (after == "target") + word[0][first:])
        after = "target" if word[0].endswith("](") else "title" * open_


def _is_open(word: str) -> bool:
    """Whether a target that begins in a word may end with it, and a title follow."""
    depth = 0
    for sign in reversed(word):
        depth += (sign == ")") - (sign == "(")
        if sign == "(" and depth < 0:
            return True
    return "\\" in word


def _begins_code(text: str) -> bool:
    """Whether a first line of ticks would begin a block of code."""
    line = text.lstrip().partition("\n")[0]
    return line.startswith("```") and "`" not in line.lstrip("`")


def _outside_code(text: str, begin: int, end: int) -> Iterator[str]:
    """The parts of a text between its tags."""
    at = begin
    for tag in _TAG.finditer(text, begin, end):
        yield _OPENS.sub(_escaped_opening, text[at : tag.start()])
        at = tag.end()
        # What stands on either side of it is not to become one.
        if (
            _ENDS_WORD.match(tag[0])
            or text[max(0, tag.start() - 1)] in "`\\"
            or text[at : at + 1] == "`"
        ):
            yield " "
    yield _OPENS.sub(_escaped_opening, text[at:end])


def _escaped_opening(found: re.Match[str]) -> str:
    return f"{found[1]}<" if len(found[1]) % 2 else f"{found[1]}\\<"


def _is_escaped(text: str, at: int) -> bool:
    """Whether an odd number of backslashes stands before a place."""
    first = at
    while first and text[first - 1] == "\\":
        first -= 1
    return (at - first) % 2 == 1


def _fence_of(line: str) -> re.Match[str] | None:
    """What begins a block of code; ticks with others behind them are code within a line."""
    found = _FENCE.match(line)
    return None if found and found[1][0] == "`" and "`" in line[found.end(1) :] else found


class _Reader:
    """Lines of Markdown → blocks; each line is looked at once."""

    def __init__(self, blocks: Blocks) -> None:
        self._blocks = blocks
        self._open: list[str] = []

    def read(self, text: str) -> None:
        lines = iter(text.split("\n"))
        for line in lines:
            if self._blocks.full:
                return
            first = line.lstrip()[:1]
            if not first:
                self._end()
            elif first in "`~" and (fence := _fence_of(line)):
                self._end()
                self._fenced(fence, lines)
            elif first == "<" and not self._open and (hidden := _HIDDEN.match(line)):
                shown = _SHOWN[hidden[1].lower()]
                if shown not in line[hidden.end() :].lower():
                    next((inner for inner in lines if shown in inner.lower()), None)
            elif first == "#" and (heading := _HEADING.match(line)):
                self._end()
                written = _without_tags(heading[2].strip().rstrip("#").rstrip())
                self._blocks.heading(len(heading[1]), _plain(written), written)
            elif (
                self._open
                and first in "=-"
                and _UNDERLINE.match(line)
                and not _ROW.match(self._open[-1])
            ):
                title = _without_tags(" ".join(self._open))
                self._open = []
                self._blocks.heading(1 if "=" in line else 2, _plain(title), title)
            else:
                if _ITEM.match(line) or (
                    self._open and bool(_ROW.match(line)) != bool(_ROW.match(self._open[-1]))
                ):
                    self._end()
                self._open.append(line)
        self._end()

    def _end(self) -> None:
        """End the part that is open."""
        lines, self._open = self._open, []
        if not lines:
            return
        item = _ITEM.match(lines[0])
        if item:
            written = _without_tags(" ".join([item[3], *map(str.strip, lines[1:])]))
            depth, number = len(item[1]) // 2, int(item[2] or 0)
            self._blocks.item(_plain(written), written, depth, number)
        elif len(lines) > 1 and all(map(_ROW.match, lines)):
            rows = [
                _plain(_without_tags(line)).strip().strip("|").split("|")
                for line in lines[:MOST_ROWS]
                if not _RULE.match(line)
            ]
            self._blocks.table(rows)
        elif all(line.startswith("    ") for line in lines):
            self._blocks.code("\n".join(line[4:] for line in lines))
        elif all(line.startswith(">") for line in lines):
            self._quote([line.lstrip("> ") for line in lines])
        elif not all(map(_REFERENCE.match, lines)):
            written = one_line(_without_tags(" ".join(lines)))
            self._blocks.paragraph(_plain(written), written)

    def _quote(self, quoted: list[str]) -> None:
        """Each line by itself: code of several lines is none to every reader."""
        lines, tags = iter(quoted), any("<" in line for line in quoted)
        written: list[str] = []
        for line in lines:
            fence = _fence_of(line)
            if fence is None:
                written.append(_without_tags(line, within_tags=tags))
                continue
            self._blocks.paragraph(_plain("\n".join(written)), "\n".join(written), "quote")
            written = []
            self._fenced(fence, lines)
        self._blocks.paragraph(_plain("\n".join(written)), "\n".join(written), "quote")

    def _fenced(self, fence: re.Match[str], lines: Iterator[str]) -> None:
        """A block of code, of the lines after its fence."""
        code: list[str] = []
        for inner in lines:
            if inner.strip().startswith(fence[1]) and not inner.strip().strip(fence[1][0]):
                break
            code.append(inner)
        self._blocks.code("\n".join(code), fence[2])
