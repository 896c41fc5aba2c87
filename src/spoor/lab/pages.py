"""Pages about results: one text, as Markdown and as one HTML file; its tables for LaTeX, too.

A page is a sequence of blocks. Everything in them is plain text, with `code` and **strong** words,
and is escaped when it is written.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup, escape

from spoor.display import printable
from spoor.files import write_whole


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs, separated by empty lines."""

    text: str


@dataclass(frozen=True, slots=True)
class Grid:
    """A table."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1
    """The first columns are names; the others are numbers, aligned right on a terminal."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG under its name."""

    name: str
    svg: str
    caption: str


Block = Heading | Prose | Grid | Picture


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    lead: str
    blocks: Sequence[Block]
    foot: str = ""


# ---------------------------------------------------------------- writing


def markdown(page: Page, prefix: str = "") -> str:
    """The page as Markdown; pictures are files beside it, their names after `prefix`."""
    parts = [f"# {_plain(page.title)}", _prose(page.lead.strip())]
    for block in page.blocks:
        if isinstance(block, Heading):
            parts.append(f"{'#' * block.level} {_plain(block.text)}")
        elif isinstance(block, Prose):
            paragraphs = block.text.strip().split("\n\n")
            parts += [textwrap.fill(_prose(" ".join(text.split())), 118) for text in paragraphs]
        elif isinstance(block, Grid):
            lines = [block.head, ["---"] * len(block.head), *block.rows]
            parts.append("\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines))
        else:
            parts.append(f"![{_plain(block.caption)}]({prefix}{block.name}.svg)")
            parts.append(f"*{_plain(block.caption)}*")
    parts.append(_prose(page.foot.strip()))
    return "\n\n".join(part for part in parts if part) + "\n"


def _plain(text: str) -> str:
    plain = printable(" ".join(text.split())).replace("[", "(").replace("]", ")")
    return _HTML.sub("&lt;", plain)


def _prose(text: str) -> str:
    """Paragraphs, which may have `code` and links, but no HTML and no pictures."""
    lines = "\n".join(map(printable, text.split("\n")))
    return _HTML.sub("&lt;", lines).replace("![", "!\\[")


_HTML = re.compile(r"<(?=[a-zA-Z/!?])")


def _cell(text: str) -> str:
    return _plain(str(text)).replace("|", "\\|").replace("<", "&lt;")


def html(page: Page) -> str:
    """The page as one HTML file that opens without a network and asks nothing of anyone."""
    environment = Environment(
        loader=PackageLoader("spoor.lab"), autoescape=select_autoescape(default=True)
    )
    environment.filters["inline"] = inline
    environment.filters["plain"] = lambda text: printable(" ".join(str(text).split()))
    return environment.get_template("page.html.jinja").render(
        page=page, blocks=[(type(block).__name__, block) for block in page.blocks], svg=Markup
    )


_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")


def inline(text: str) -> Markup:
    """Escaped text with its `code` and **strong** words marked up."""
    safe = str(escape(printable(" ".join(str(text).split()))))
    safe = _CODE.sub(r"<code>\1</code>", safe)
    return Markup(_STRONG.sub(r"<strong>\1</strong>", safe))


def latex(page: Page) -> str:
    """The tables of the page, each after its heading as a comment, for `\\input` below
    `\\usepackage{booktabs}`."""
    parts = [f"% {_plain(page.title)}"]
    for block in page.blocks:
        if isinstance(block, Heading):
            parts.append(f"% {_plain(block.text)}")
        elif isinstance(block, Grid):
            columns = "".join(
                "l" if at < block.names or any(map(_has_word, cells)) else "r"
                for at, cells in enumerate(_columns(block))
            )
            head, *rows = (
                " & ".join(map(_tex, line)) + r" \\" for line in (block.head, *block.rows)
            )
            lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows]
            parts.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}"]))
    return "\n\n".join(parts) + "\n"


_TEX = str.maketrans(
    {
        **{char: rf"\{char}" for char in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "–": "--",
        "−": "$-$",
        "…": r"\dots{}",
    }
)


def _columns(table: Grid) -> list[tuple[str, ...]]:
    return [*zip(*(map(str, row) for row in table.rows), strict=True)] or [("a",)] * len(table.head)


def _has_word(cell: str) -> bool:
    return re.search(r"[^\W\d_]{2}", cell) is not None


def _tex(text: object) -> str:
    """A cell, its `code` and **strong** words marked up, and a minus before a number as one."""
    safe = printable(" ".join(str(text).split())).translate(_TEX)
    safe = re.sub(r"(?<!\w)-(?=\d)", "$-$", safe)
    return _STRONG.sub(r"\\textbf{\1}", _CODE.sub(r"\\texttt{\1}", safe))


def write(page: Page, folder: Path) -> Path:
    """Write `report.html`, `report.md`, `tables.tex` and the pictures of a page; returns the HTML
    file."""
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "report.md", markdown(page))
    _write(folder / "tables.tex", latex(page))
    _write_pictures(page, folder, "")
    target = folder / "report.html"
    _write(target, html(page))
    return target


def write_docs(page: Page, folder: Path, name: str) -> Path:
    """Write a page for a documentation: `NAME.md` and its pictures `NAME-….svg`. Pictures of an
    earlier page of this name go."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}-*.svg"):
        old.unlink()
    target = folder / f"{name}.md"
    _write(target, markdown(page, f"{name}-"))
    _write_pictures(page, folder, f"{name}-")
    return target


def _write_pictures(page: Page, folder: Path, prefix: str) -> None:
    for block in page.blocks:
        if isinstance(block, Picture):
            _write(folder / f"{prefix}{block.name}.svg", block.svg + "\n")


def _write(file: Path, text: str) -> None:
    # Results may have half a pair of UTF-16 in a name.
    write_whole(file, text.encode("utf-8", "replace"))


def slug(text: str) -> str:
    """A text as part of a file's name, cut after `LONGEST` characters."""
    return re.sub(r"[^a-z0-9]+", "-", text[: 4 * LONGEST].lower())[:LONGEST].strip("-")


LONGEST = 120


# ---------------------------------------------------------------- numbers


def number(value: float | None, digits: int = 3) -> str:
    """A figure, or a dash."""
    return "–" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def between(low: float | None, high: float | None, digits: int = 3) -> str:
    """An interval, or a dash."""
    return "–" if low is None or high is None else f"{low:.{digits}f} … {high:.{digits}f}"
