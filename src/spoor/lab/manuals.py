"""Webs made of the manuals in Debian packages: downloaded, unpacked and cut into pages.

A manual is the HTML files of a package. One whose files are whole chapters is cut at its sections,
as DocBook cuts when it is told to: each section becomes a page, which the page above links to. The
name of the chapter is a label of its pages (`PACKAGE/ch02`, and `PACKAGE/ch02s03` below it).
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import quote, urldefrag, urljoin

from selectolax.lexbor import LexborHTMLParser

from spoor.errors import InputError
from spoor.files import subfolder
from spoor.web.encoding import decode
from spoor.worlds.import_web import record

SECTIONS = "div.section, section, div.sect1, div.sect2, div.sect3"
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]{1,99}")
LEAST = 200
"""Characters of a section that becomes a page; a shorter one stays in the page above it."""
LEVELS = 2
"""Levels of sections that become pages."""


@dataclass(frozen=True, slots=True)
class Manual:
    """The HTML files of one Debian package."""

    package: str
    files: str
    """Glob of the files in the unpacked package; `**` is any folders."""
    cut: bool = False
    """Whether files are cut at their sections."""
    skip: str = ""
    """Glob of names of files that are left out: one that holds the whole manual once more."""


def manual_of(table: Mapping[str, Any], where: str) -> Manual:
    """A manual as an experiment's file writes it. Raises InputError for a missing key."""
    unknown = set(table) - set(Manual.__dataclass_fields__)
    if unknown or not table.get("package") or not table.get("files"):
        raise InputError(
            f"{where}: a manual has `package`, `files`, perhaps `cut` and `skip`: {table}"
        )
    return Manual(
        package_name(table["package"], where),
        str(table["files"]),
        bool(table.get("cut", False)),
        str(table.get("skip", "")),
    )


def package_name(text: Any, where: str) -> str:
    """The name of a Debian package, which a stranger's file may hold: nothing that a program takes
    for an option, and no path. Raises InputError."""
    if not isinstance(text, str) or not _PACKAGE.fullmatch(text):
        raise InputError(f"{where}: {text!r} is no name of a Debian package")
    return text


def make(manuals: Sequence[Manual], name: str, cache: Path, folder: Path) -> None:
    """Write the recorded web of some manuals to a new folder. Raises InputError where a package
    cannot be had."""
    rows = folder.with_suffix(".jsonl")
    rows.parent.mkdir(parents=True, exist_ok=True)
    with rows.open("w", encoding="utf-8") as file:
        for row in _rows(manuals, f"https://{name}.example/", cache):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    record([rows], folder, keep_going=True)
    rows.unlink()


def unpacked(package: str, cache: Path) -> Path:
    """The folder of an unpacked package, downloaded with `apt-get` where it is missing."""
    tree = cache / package
    if tree.exists():
        return tree
    subfolder(cache.parent, cache.name)
    try:
        if not list(cache.glob(f"{package}_*.deb")):
            _command(["apt-get", "download", "-q", "--", package], cache)
        file = sorted(cache.glob(f"{package}_*.deb"))[-1]
        part = cache / f"{package}.part"
        if part.exists():
            shutil.rmtree(part)  # raises OSError for a link
        _command(["dpkg-deb", "-x", file.name, part.name], cache)
        part.rename(tree)
    except (OSError, subprocess.CalledProcessError, IndexError) as error:
        raise InputError(
            f"the Debian package {package} cannot be downloaded and unpacked ({error}); put its "
            f".deb into {cache}"
        ) from error
    return tree


def _command(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)


def _rows(manuals: Sequence[Manual], base: str, cache: Path) -> Iterator[dict[str, Any]]:
    items = []
    for manual in manuals:
        first = ""
        for row in _pages(manual, base, cache):
            yield row
            if not first or re.search(r"/index(\.[\w-]+)?\.html$", row["url"]):
                first = (
                    row["url"]
                    if first == "" or row["url"].count("/") <= first.count("/")
                    else first
                )
        items.append(f'<li><a href="{html.escape(first)}">{html.escape(manual.package)}</a>')
    body = f"<title>Manuals</title><h1>Manuals</h1><ul>{''.join(items)}</ul>"
    yield {"url": base, "html": body, "root": True}


def _pages(manual: Manual, base: str, cache: Path) -> Iterator[dict[str, Any]]:
    tree = unpacked(manual.package, cache)
    pattern = manual.files.replace("**/", "*")
    files = sorted(
        path
        for path in tree.rglob("*.html*")
        if path.is_file()
        and not path.is_symlink()
        and fnmatchcase(path.relative_to(tree).as_posix(), pattern)
        and not fnmatchcase(path.name, manual.skip)
    )
    if not files:
        raise InputError(f"{manual.package}: no file is like {manual.files!r}")
    above = Path(manual.files.partition("*")[0])
    above = tree / (above if manual.files.partition("*")[0].endswith("/") else above.parent)
    for path in files:
        inside = path.relative_to(above).as_posix()
        url = f"{base}{manual.package}/{quote(inside)}"
        text = decode(path.read_bytes(), "text/html")[0]
        labels = _labels(manual.package, inside)
        if manual.cut:
            yield from _cut(url, text, labels)
        else:
            yield {"url": url, "html": text, "label": labels}


def _labels(package: str, inside: str) -> list[str]:
    """The chapter of a file, and its section if the file is one: of `ch02s03s01.html` both."""
    folder, _, name = inside.rpartition("/")
    stem = name.partition(".")[0]
    parts = re.fullmatch(r"([a-z]+\d+)(s\d+)?.*", stem)
    names = [parts[1], parts[1] + parts[2]] if parts and parts[2] else [parts[1] if parts else stem]
    return [f"{package}/{folder + '/' if folder else ''}{label}" for label in names]


def _cut(url: str, text: str, labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The page of a file, and those of its sections."""
    tree = LexborHTMLParser(text)
    nodes = [node for node in tree.css(SECTIONS) if 0 < _level(node) <= LEVELS]
    stem = re.sub(r"(\.[\w-]+)?\.html$", "", url)
    place = {}
    pages: list[tuple[str, str, str]] = []
    # From the last to the first: what is nested is cut before what it is in.
    for number, node in reversed(list(enumerate(nodes, 1))):
        heading = node.css_first("h1, h2, h3, h4, h5, h6")
        title = " ".join((heading.text() if heading else "").replace("¶", " ").split())
        if not title or len(node.text()) < LEAST:
            continue
        target, mark = f"{stem}-{number:02d}.html", f"[[section {number}]]"
        pages.append((target, title, node.html or ""))
        place[mark] = f'<p><a href="{target}">{html.escape(title)}</a></p>'
        node.replace_with(mark)
    chapter = tree.html or ""
    for mark, link in place.items():
        chapter = chapter.replace(mark, link)
    yield {"url": url, "html": chapter, "label": [*labels]}
    for target, title, content in reversed(pages):
        for mark, link in place.items():
            content = content.replace(mark, link)
        top = f'<nav><a href="{url}">Up</a> <a href="index.html">Home</a></nav>'
        head = f"<head><title>{html.escape(title)}</title></head>"
        yield {
            "url": urldefrag(urljoin(url, target)).url,
            "html": f"<html>{head}<body>{top}<main>{content}</main></body></html>",
            "label": [*labels],
        }


def _level(node: Any) -> int:
    """How many sections a node is in; of Sphinx the outermost is the chapter itself."""
    level = 0 if node.css_first("h1") is not None and node.tag == "section" else 1
    above = node.parent
    while above is not None:
        kind = above.attributes.get("class") or ""
        in_section = above.tag == "section" or re.search(r"\b(section|sect\d)\b", kind)
        has_title = in_section and not (above.tag == "section" and above.css_first("h1"))
        level += bool(has_title)
        above = above.parent
    return level
