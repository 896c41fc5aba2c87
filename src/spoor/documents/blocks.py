"""Builds the blocks of a document, and their Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from spoor.documents.document import Block

_SIGNS = "\\`*_[]<"
"""What Markdown reads within a line; the backslash first."""
_INLINE = re.compile(f"[{re.escape(_SIGNS)}]")
_LINE_START = re.compile(r"^(\s*)([-+>#=~|]|\d+[.)](?=\s))")
_POINTED = re.compile("[()<> ]")
"""Signs that the target of a link may hold between `<` and `>` alone."""
_REFERENCE = re.compile(r"&(?=#?\w{1,40};)", re.ASCII)
"""Where a reference to a character begins."""
_FENCE = re.compile(r"`{3,}")
_BREAK = re.compile("\r\n?")
_CONTROLS = re.compile("[\0-\x08\x0b\x0e-\x1f\x7f-\x9f]")
"""Control characters, which a terminal obeys and no text needs."""

MOST_BLOCKS = 100_000
"""Of a document: each takes some 4 µs, and one of a megabyte may else have 500,000, of a letter."""
MOST_COLUMNS = 100
MOST_ROWS = 100_000
_ROWS_TOGETHER = 100
"""Rows of a long table that are one block."""


class Blocks:
    """Takes the parts of a document in reading order; keeps at most `room` characters of text, and
    `MOST_BLOCKS` parts."""

    def __init__(self, room: int, *, bare: bool = False) -> None:
        """`bare`: without Markdown."""
        self.blocks: list[Block] = []
        self._bare = bare
        self.cut = False
        """Whether something was left out."""
        self._room = room
        self._end = 0
        self._above: list[tuple[int, str]] = []
        self._headings: tuple[str, ...] = ()
        """The words of those above."""
        self._lists: list[int] = []
        """Depths of the items that the last block, an item, stands in and its own."""

    @property
    def full(self) -> bool:
        """Whether no more text fits."""
        return self._end >= self._room or len(self.blocks) >= MOST_BLOCKS

    def notes(self) -> list[str]:
        """What was left out, in a line."""
        if len(self.blocks) >= MOST_BLOCKS:
            return [f"cut after {MOST_BLOCKS} parts"]
        return [f"cut after {self._room} characters"] if self.cut else []

    def heading(self, level: int, text: str, markdown: str | None = None) -> None:
        """Levels are 1 to 6."""
        text = one_line(text)
        if not text:
            return
        while self._above and self._above[-1][0] >= level:
            self._above.pop()
        self._headings = tuple([words for _, words in self._above])
        words = "" if self._bare else one_line(markdown or "") or escaped(text)
        self._add("heading", text, words and "#" * level + " " + words)
        self._above.append((level, text[:200]))
        self._headings = (*self._headings, text[:200])

    def paragraph(self, text: str, markdown: str | None = None, kind: str = "paragraph") -> None:
        """Lines of the text stay lines; of a quote each is marked."""
        text = _lines(text)
        if not text:
            return
        if self._bare:
            self._add(kind, text, "")
            return
        written = _lines(markdown or escaped(text))
        lines = [_LINE_START.sub(r"\1\\\2", line) for line in written.split("\n")]
        mark = "> " if kind == "quote" else ""
        self._add(kind, text, "  \n".join(mark + line for line in lines))

    def item(self, text: str, markdown: str | None = None, depth: int = 0, number: int = 0) -> None:
        """One of a list, `depth` lists inside others; number 0: it has none. It is written as far
        inside as items that were written before it: a list in one without words stands alone."""
        text = one_line(text)
        if self._bare:
            if text:
                self._add("item", text, "")
            return
        while self._lists and self._lists[-1] >= depth:
            self._lists.pop()
        mark = f"{number}." if number else "-"
        written = _LINE_START.sub(r"\1\\\2", one_line(markdown or "") or escaped(text))
        if text:
            inside = min(len(self._lists), 8)
            self._lists.append(depth)
            self._add("item", text, f"{'    ' * inside}{mark} {written}")

    def code(self, text: str, language: str = "") -> None:
        """Lines and spaces stay as they are."""
        text = text.strip("\n").rstrip()
        if self._bare and text.strip():
            self._add("code", text, "")
        elif text.strip():
            longest = max((len(run) for run in _FENCE.findall(text)), default=2)
            fence = "`" * (longest + 1)
            language = re.sub(r"[^\w+#.-]", "", language)[:30]
            self._add("code", text, f"{fence}{language}\n{text}\n{fence}")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """Rows of cells; the first is the head. In the text a row is a line, cells between tabs."""
        lines = [[one_line(cell) for cell in row[:MOST_COLUMNS]] for row in rows]
        lines = [line for line in lines if any(line)]
        width = max(map(len, lines), default=0)
        if width == 0:
            return
        if width == 1:
            for line in lines:
                self.paragraph(line[0])
            return
        text = "\n".join("\t".join(line) for line in lines)
        if self._bare:
            self._add("table", text, "")
            return
        written = ["| " + " | ".join(map(_cell, _padded(line, width))) + " |" for line in lines]
        written.insert(1, "|" + " --- |" * width)
        self._add("table", text, "\n".join(written))

    def long_table(self, rows: Iterable[Sequence[str]]) -> None:
        """A table in parts, each with the head."""
        lines = list(islice(rows, MOST_ROWS))
        for at in range(0, len(lines), _ROWS_TOGETHER):
            if self.full:
                return
            self.table((lines[:1] if at else []) + lines[at : at + _ROWS_TOGETHER])

    def extend(self, blocks: Iterable[Block], *, cut: bool = False) -> None:
        """The blocks of a part of the document that was read by itself, under the headings here.
        `cut`: that part was not read to its end."""
        self.cut = self.cut or cut
        for block in blocks:
            self._add(block.kind, block.text, block.markdown, (*self._headings, *block.headings))

    def _add(
        self, kind: str, text: str, markdown: str, under: tuple[str, ...] | None = None
    ) -> None:
        if len(self.blocks) >= MOST_BLOCKS:
            self.cut = True
            return
        if kind != "item":
            self._lists.clear()
        text, markdown = cleaned(text), cleaned(markdown)
        begin = self._end + 2 if self.blocks else 0
        room = self._room - begin
        if room <= 0:
            self.cut, self._end = True, self._room
            return
        if len(text) > room:
            self.cut = True
            text = text[:room]
            markdown = "" if self._bare else escaped(text)
        above = self._headings if under is None else under
        self.blocks.append(Block(kind, text, markdown, above, begin))
        self._end = begin + len(text)


def cleaned(text: str) -> str:
    """Text with line feeds alone for line breaks, and without control characters."""
    return text if text.isprintable() else _CONTROLS.sub("�", _BREAK.sub("\n", text))


def _lines(text: str) -> str:
    """Text with single spaces between words, and no empty lines."""
    if "\n" not in text:
        return one_line(text)
    return "\n".join(filter(None, map(one_line, text.split("\n"))))


def one_line(text: str) -> str:
    """Text with single spaces between words."""
    return " ".join(text.split())


def escaped(text: str) -> str:
    """The text with all Markdown escaped."""
    if text.isalnum() or _INLINE.search(text) is None:
        return text
    # As a substitution by the pattern, in a twentieth of its time where there are many.
    for sign in _SIGNS:
        text = text.replace(sign, f"\\{sign}")
    return text


def link_target(url: str) -> str:
    """A canonical URL as the target of a link, from `(` to `)`: what in it would end the target, or
    be read as another URL, is escaped."""
    if "\\" in url:  # which nothing escapes in a query
        url = url.replace("\\", "%5C")
    if "&" in url and ";" in url:
        url = _REFERENCE.sub("&amp;", url)
    if not _POINTED.search(url):
        return f"({url})"
    return f"(<{url.replace('<', '%3C').replace('>', '%3E')}>)"


def _cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")


def _padded(line: list[str], width: int) -> list[str]:
    return line + [""] * (width - len(line))
