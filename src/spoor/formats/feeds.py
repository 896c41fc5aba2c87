"""Web feeds: documents as RSS 2.0."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from xml.etree import ElementTree


def rss(lines: Sequence[Mapping[str, Any]], title: str) -> bytes:
    """Lines of a watch, oldest first (`spoor.live.changes.Line`), as RSS 2.0, newest first."""
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    _add(channel, "title", title)
    _add(channel, "link", lines[0]["url"] if lines else "")
    _add(channel, "description", "New and changed documents")
    for line in reversed(lines):
        item = ElementTree.SubElement(channel, "item")
        _add(item, "title", _NOT_XML.sub("", line["title"]) or line["url"])
        _add(item, "link", line["url"])
        _add(item, "guid", f"{line['url']}#{line['version']}", isPermaLink="false")
        _add(item, "category", line["kind"])
        published = datetime.fromisoformat(line["date"] or line["found_at"]).astimezone(UTC)
        _add(item, "pubDate", format_datetime(published))
    ElementTree.indent(root)
    xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return xml


def _add(parent: ElementTree.Element, name: str, text: str, **attributes: str) -> None:
    ElementTree.SubElement(parent, name, attributes).text = _NOT_XML.sub("", text)


_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML document may hold (XML 1.0, 2.2): control characters, halves of surrogates."""
