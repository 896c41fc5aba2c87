"""What runs in a helper process: documents in, pages out."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from itertools import count
from typing import Any

from spoor.documents.rows import html_parts_row_of
from spoor.isolate.bounds import Bounds
from spoor.isolate.pipes import receive, send
from spoor.learn.state import page_row
from spoor.process_memory import at_most, used
from spoor.web.page import parse
from spoor.web.page_links import PageLinks
from spoor.web.urls import Joiner

MOST_LEFT = 64 << 20
"""Bytes that documents may leave behind in a helper, and …"""
MOST_DOCUMENTS = 500
"""… documents that one helper reads before a fresh one takes its place: a library may keep what it
saw (libxml2 keeps every name, up to a limit)."""
MOST_PAGES = 20 * MOST_DOCUMENTS
"""The same where all of them are HTML: lexbor keeps nothing, and a helper takes .25 s to start."""

_GARBAGE = 2_000
"""New objects from which what a page left is looked through; it takes .14 ms, and leaves some
twenty, of tables that are bounded."""


def main() -> None:
    """What the helper runs: documents in, pages out, until the one who asks is gone."""
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What a library prints is no answer.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    gc.disable()
    before, others = used(), 0
    rows, bodies = list[Any](), list[bytes]()
    for documents in count(1):
        try:
            if not rows:
                rows = json.loads(receive(source, None))
                bodies = [receive(source, None) for _ in rows]
                rows.reverse()
                bodies.reverse()
        except EOFError:
            return
        (module, name, facts, times, bounds), body = rows.pop(), bodies.pop()
        parser = getattr(import_module(module), name)
        send(target, _bounded(parser, body, facts, times, Bounds(*bounds)))
        others += parser not in (page_of, html_parts_row_of)
        many = others >= MOST_DOCUMENTS or documents >= MOST_PAGES
        left = used() - before - sum(map(len, bodies))  # but for what waits
        worn = many or left > MOST_LEFT
        send(target, b"1" if worn else b"")


def page_of(body: bytes, url: str, **facts: Any) -> dict[str, Any]:
    """The page of an HTML document as JSON values; its links in columns (`PageLinks.row`)."""
    if "labels" in facts:
        facts["labels"] = frozenset(facts["labels"])
    page = parse(body, url, joiner=_joiner, **facts)
    if not isinstance(page.links, PageLinks):
        return page_row(page)
    return page_row(replace(page, links=())) | {"links": page.links.row()}


_joiner = Joiner()
"""Of the helper's documents."""


def _bounded(
    parser: Callable[..., Any], body: bytes, facts: Mapping[str, Any], times: float, bounds: Bounds
) -> bytes:
    """What a parser returns as JSON; nothing where memory ran out. The kernel ends the process
    where time does."""
    signal.setitimer(signal.ITIMER_PROF, bounds.seconds * times)
    answer = b""
    try:
        with at_most(bounds.room(len(body), times)):
            # JSON and office files may hold half a pair of UTF-16, which is no text elsewhere.
            text = json.dumps(parser(body, **facts), ensure_ascii=False)
            answer = text.encode("utf-8", "replace")
    except Exception:  # the library has an error of its own where it gets no memory
        return b""
    else:
        return answer
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if not answer or parser is not page_of or gc.get_count()[0] > _GARBAGE:
            gc.collect()
            gc.freeze()  # the next one then looks through what is new, and not through libraries
