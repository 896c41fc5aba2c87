"""A flame graph of the CPU of a process: which functions its threads were in, and who called them.

    flame = Flame()
    crawl()
    svg = drawn(flame.end(), pages)

A thread looks at the stacks of all others a hundred times a second. A look counts as much as the
processor clock of its thread went on since the look before, so that neither waiting nor other
processes count. What lies below the first function of Spoor (the event loop, the thread's own
beginning) is left out.
"""

from __future__ import annotations

import sys
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from types import FrameType

EVERY = 0.01
"""Seconds between two looks."""
WIDTH, HEIGHT, LETTER = 1200, 17, 6.6
"""Pixels of the graph, of a row, and of a letter."""
LEAST = 0.002
"""Share of the whole from which a function is drawn."""
DEEPEST = 40


class Flame:
    """Looks at all threads but its own, from now on."""

    def __init__(self) -> None:
        self._seconds: defaultdict[tuple[str, ...], float] = defaultdict(float)
        self._used: dict[int, float] = {}
        """Of each thread, what its processor clock showed last."""
        self._ended = threading.Event()
        # A thread is seen where it is, and not where it next lets others run by itself.
        self._before = sys.getswitchinterval()
        sys.setswitchinterval(EVERY / 100)
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def end(self) -> dict[str, float]:
        """Seconds of each stack: names from the outermost function on, parted by `;`."""
        self._ended.set()
        self._thread.join()
        sys.setswitchinterval(self._before)
        return {";".join(stack): seconds for stack, seconds in self._seconds.items()}

    def _watch(self) -> None:
        own = threading.get_ident()
        while not self._ended.wait(EVERY):
            for thread, frame in sys._current_frames().items():
                if thread == own:
                    continue
                used = time.clock_gettime(time.pthread_getcpuclockid(thread))
                since = used - self._used.get(thread, used)
                self._used[thread] = used
                if since > 0:
                    self._seconds[_stack(frame)] += since


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    names = list[str]()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        names.append(f"{module}.{frame.f_code.co_name}")
        frame = frame.f_back
    names.reverse()
    first = next((at for at, name in enumerate(names) if _is_of_a_crawl(name)), len(names))
    return tuple(names[first:][:DEEPEST]) or ("event loop",)


def _is_of_a_crawl(name: str) -> bool:
    """Not what only runs the event loop."""
    return name.startswith("spoor.") and not name.startswith("spoor.live.live_crawl.run")


@dataclass
class _Node:
    """A function in one place of the graph."""

    seconds: float = 0.0
    inner: dict[str, _Node] = field(default_factory=dict)


def drawn(stacks: Mapping[str, float], pages: int) -> str:
    """The graph as SVG: the outermost functions on top, each as wide as its share; a pointer that
    rests on one shows its name and milliseconds a page."""
    root = _Node()
    for stack, seconds in stacks.items():
        root.seconds += seconds
        node = root
        for name in stack.split(";"):
            node = node.inner.setdefault(name, _Node())
            node.seconds += seconds
    boxes = list(_boxes("all", root, 0.0, 0, root.seconds, pages))
    height = (max(row for row, _ in boxes) + 1) * HEIGHT
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
            'font-family="monospace" font-size="11">',
            *(box for _, box in boxes),
            "</svg>\n",
        ]
    )


def _boxes(
    name: str, node: _Node, left: float, row: int, whole: float, pages: int
) -> Iterator[tuple[int, str]]:
    """(row, element) of a function and of those that it called."""
    width = WIDTH * node.seconds / whole
    shown = escape(name)
    letters = int((width - 4) / LETTER)
    short = name.removeprefix("spoor.")
    label = escape(short if len(short) <= letters else short[: max(0, letters - 1)] + "…")
    text = f'<text x="{left + 2:.1f}" y="{row * HEIGHT + 12}">{label}</text>' if letters > 3 else ""
    yield (
        row,
        f"<g><title>{shown}: {1000 * node.seconds / pages:.3f} ms a page</title>"
        f'<rect x="{left:.1f}" y="{row * HEIGHT}" width="{max(width - 0.5, 0.5):.1f}" '
        f'height="{HEIGHT - 1}" fill="{_color(name)}"/>{text}</g>',
    )
    for inner, one in sorted(node.inner.items(), key=lambda item: -item[1].seconds):
        if one.seconds >= LEAST * whole:
            yield from _boxes(inner, one, left, row + 1, whole, pages)
        left += WIDTH * one.seconds / whole


def _color(name: str) -> str:
    """One for each package: warm for Spoor's, grey for others."""
    package = ".".join(name.split(".")[:2])
    if not name.startswith("spoor."):
        return "#d8d8d8"
    return f"hsl({zlib.crc32(package.encode()) % 70},75%,{68 + zlib.crc32(name.encode()) % 14}%)"
