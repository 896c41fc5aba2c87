"""Web feeds: documents as RSS 2.0 and as JSON Feed 1.1."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from html import escape
from typing import Any
from xml.etree import ElementTree

from spoor.formats.site_names import without_site_names


def rss(lines: Sequence[Mapping[str, Any]], title: str, home: str = "") -> bytes:
    """Lines of a watch, oldest first (`spoor.live.changes.Line`), as RSS 2.0, newest first. A
    description is HTML by the specification; what a page shows as text stays text in it. `home`:
    URL of what is watched."""
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    _add(channel, "title", title)
    _add(channel, "link", home or (lines[0]["url"] if lines else ""))
    _add(channel, "description", "New and changed documents")
    for line in reversed(without_site_names(lines)):
        item = ElementTree.SubElement(channel, "item")
        # Most readers of feeds take a title for HTML; one that does not shows the reference.
        _add(item, "title", _title(line, _NOT_XML.sub("", line["title"]).replace("<", "&lt;")))
        _add(item, "link", line["url"])
        _add(item, "guid", line["id"], isPermaLink="false")
        for tag in _tags(line):
            _add(item, "category", tag)
        _add(item, "description", "<br>\n".join(escape(summary(line), quote=False).split("\n")))
        published = datetime.fromisoformat(_date(line)).astimezone(UTC)
        _add(item, "pubDate", format_datetime(published))
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml


def json_feed(lines: Sequence[Mapping[str, Any]], title: str, home: str = "") -> bytes:
    """The same as JSON Feed 1.1; what the watch knows beside stands in `_spoor` of each item."""
    items = [
        {
            "id": line["id"],
            "url": line["url"],
            "title": _title(line, line["title"]),
            "content_text": summary(line),
            "date_published": _date(line),
            "tags": _tags(line),
            "_spoor": dict(whole),
        }
        for line, whole in zip(reversed(without_site_names(lines)), reversed(lines), strict=True)
    ]
    feed: dict[str, Any] = {"version": "https://jsonfeed.org/version/1.1", "title": title}
    feed |= {"home_page_url": home} if home else {}
    feed |= {"items": items}
    return json.dumps(feed, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def came_to_be_wanted(line: Mapping[str, Any]) -> bool:
    """Whether what a change says is that an old page is on the topic now: what came and went in it
    is not known."""
    return line["kind"] == "changed" and "added" not in line


_SAYS = {"changed": "Changed: ", "moved": "Moved: ", "gone": "Gone: "}
"""Kind → what stands before a title: most readers of feeds list titles alone."""


def _title(line: Mapping[str, Any], title: str) -> str:
    """The title of an item, given that of the document."""
    return _SAYS.get(line["kind"], "") + (title or line["url"])


def _date(line: Mapping[str, Any]) -> str:
    """When what a line tells happened: a document that moved or went has an older date itself."""
    date: str | None = None if line["kind"] in ("moved", "gone") else line["date"]
    return date or line["found_at"]


def _tags(line: Mapping[str, Any]) -> list[str]:
    return [line["kind"], *([line["topic"]] if line.get("topic") else [])]


def summary(line: Mapping[str, Any]) -> str:
    """A line without its title, in words."""
    parts = [f"+ {sentence}" for sentence in line.get("added", ())]
    parts += [f"- {sentence}" for sentence in line.get("removed", ())]
    if "from" in line:
        parts.append(f"moved from {line['from']}")
    if "title_before" in line:
        parts.append(f"the title was: {line['title_before']}")
    if line.get("why"):
        parts.append(f"{line['score']:.2f}: " + ", ".join(reason for reason, _ in line["why"][:3]))
    if came_to_be_wanted(line):
        return "\n".join(["an old page that is about it now", *parts])
    return "\n".join(parts if line["kind"] == "new" and parts else [line["kind"], *parts])


def _add(parent: ElementTree.Element, name: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(parent, name, attributes).text = _NOT_XML.sub("", text)


_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold (XML 1.0, 2.2): control characters, halves of surrogates."""
