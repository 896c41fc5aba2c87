"""JSON: its strings and numbers, each with its name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from spoor.documents.blocks import Blocks, escaped, one_line
from spoor.documents.declared import iso_date, language_tag, people
from spoor.documents.document import Document, Limits
from spoor.documents.errors import UnreadableError
from spoor.documents.links import Links
from spoor.web.encoding import decode
from spoor.web.media_types import media_of

_TITLES = ("title", "name", "headline")
_DATES = ("datePublished", "published", "date", "created", "updated", "dateModified")


def read_json(content_type: str, url: str, body: bytes, limits: Limits) -> Document:
    """One value, or one a line. Raises UnreadableError for what is not JSON."""
    text, _, _ = decode(body, "application/json; charset=utf-8" if body[:1] in b"{[" else "")
    notes = list[str]()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        values = _lines(text, limits)
        if not values:
            why = "nested too deep" if isinstance(error, RecursionError) else error
            raise UnreadableError(f"the JSON is damaged ({why})") from error
        value = values
    blocks, links = Blocks(limits.characters), Links(url, limits.links)
    for name, words in _leaves(value):
        target = words.startswith(("http://", "https://")) and " " not in words
        if target:
            links.add(words, name)
        else:
            links.add_bare(words)
        blocks.paragraph(
            f"{name}: {words}" if name else words,
            f"**{escaped(name)}:** {escaped(words)}" if name else None,
        )
        if blocks.full:
            break
    notes += blocks.notes() or [f"cut after {limits.characters} characters"] * blocks.full
    top: dict[str, Any] = value if isinstance(value, dict) else {}
    author = top.get("author")
    author = author.get("name") if isinstance(author, dict) else author
    language = top.get("language") or top.get("lang") or top.get("inLanguage")
    media = media_of(content_type)
    return Document(
        url,
        "json",
        media or "application/json",
        next((one_line(top[key])[:2_000] for key in _TITLES if isinstance(top.get(key), str)), ""),
        language_tag(language if isinstance(language, str) else ""),
        next(
            filter(None, (iso_date(top[key]) for key in _DATES if isinstance(top.get(key), str))),
            "",
        ),
        people([author] if isinstance(author, str) else []),
        one_line(top["description"])[:2_000] if isinstance(top.get("description"), str) else "",
        tuple(blocks.blocks),
        tuple(links),
        tuple(notes),
        top["license"][:500] if isinstance(top.get("license"), str) else "",
    )


def _lines(text: str, limits: Limits) -> list[Any]:
    """The values of JSON lines; none where a line is something else."""
    values = []
    for line in text.splitlines():
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError):
                # The last line of a file that was cut.
                return values if len(values) > 1 else []
    return values if len(values) > 1 else []


def _leaves(value: Any) -> Iterator[tuple[str, str]]:
    """(name, words) of all strings and numbers, in order."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        name, one = waiting.pop()
        if isinstance(one, dict):
            waiting += reversed([(str(key), inner) for key, inner in one.items()])
        elif isinstance(one, list):
            waiting += reversed([(name, inner) for inner in one])
        elif one is not None and not isinstance(one, bool) and (words := one_line(str(one))):
            yield one_line(name)[:100], words
