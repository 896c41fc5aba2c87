"""Web feeds: documents as RSS 2.0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from xml.etree import ElementTree


def rss(lines: Sequence[Mapping[str, Any]], title: str) -> bytes:
    """Lines of a watch, oldest first (`spoor.live.changes.Line`), as RSS 2.0, newest first."""
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    ElementTree.SubElement(channel, "title").text = title
    ElementTree.SubElement(channel, "link").text = lines[0]["url"] if lines else ""
    ElementTree.SubElement(channel, "description").text = "New and changed documents"
    for line in reversed(lines):
        item = ElementTree.SubElement(channel, "item")
        ElementTree.SubElement(item, "title").text = _clean(line["title"]) or line["url"]
        ElementTree.SubElement(item, "link").text = line["url"]
        guid = ElementTree.SubElement(item, "guid", isPermaLink="false")
        guid.text = f"{line['url']}#{line['version']}"
        ElementTree.SubElement(item, "category").text = line["kind"]
        published = datetime.fromisoformat(line["date"] or line["found_at"]).astimezone(UTC)
        ElementTree.SubElement(item, "pubDate").text = format_datetime(published)
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml


def _clean(text: str) -> str:
    """Without the control characters that XML does not have."""
    return "".join(letter for letter in text if letter >= " ")
