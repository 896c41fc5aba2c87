"""Line charts as SVG, for pages with a light or a dark background."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import cycle
from pathlib import Path

from spoor.files import write_whole

Points = Sequence[Sequence[float]]
"""[x, y] each."""

GREY = "#7d8894"
COLOURS = ("#12926b", "#c2621b", "#5a6fd6", "#b0417c", "#8a7a10", "#3c8fb0", "#8d5bc1", "#6b7680")
"""Middle tones, visible on white and on black."""

_INCH = 72.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 14.0, 10.0, 42.0
"""Room around the axes, for what is written there."""
_ROW = 16.0
"""Height of a row of the legend."""
_LETTER = 6.2
"""Width of a letter, more or less."""
_KEY = 22.0
"""Width of the line beside a name."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart that a notebook shows by itself."""

    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> None:
        """Write it as an SVG file, whole or not at all. Raises OSError where that fails."""
        write_whole(Path(path), self.svg)


@dataclass(frozen=True, slots=True)
class _Axes:
    """The area of the lines, in points of 1/72 inch, and what its sides stand for."""

    width: float
    height: float
    right: float
    top: float

    def x(self, value: float) -> float:
        return _LEFT + value / self.right * self.width

    def y(self, value: float) -> float:
        return _TOP + self.height - value / self.top * self.height


def line_chart(
    lines: Mapping[str, Points],
    *,
    x: str,
    y: str,
    size: tuple[float, float] = (8.0, 3.6),
    until: float | None = None,
    level: tuple[float, float, float] | None = None,
    marks: Mapping[str, Points] | None = None,
) -> str:
    """Named lines of [x, y] points, both at least 0, as one SVG element: text is text, and nothing
    outside is referred to.

    `size`: width and height in inches, without the legend below, which is there where there is
    more than one name. The x axis reaches `until` at least. `level`: a horizontal line for
    comparison, with the ends of its interval. `marks`: named points from other sources.
    O(points).
    """
    marks = marks or {}
    every = [point for points in (*lines.values(), *marks.values()) for point in points]
    right = max((float(point[0]) for point in every), default=0.0)
    highest = top = max((float(point[1]) for point in every), default=0.0)
    if level is not None:
        # A wide interval must not hide the curves.
        top = max(1.0, highest, min(level[2], max(level[0], 2 * highest)))
    axes = _Axes(
        size[0] * _INCH - _LEFT - _RIGHT,
        size[1] * _INCH - _TOP - _BOTTOM,
        max(right, until or 0.0) or 1.0,
        1.05 * top or 1.0,
    )
    parts = [*_grid(axes, x, y)]
    if level is not None:
        parts += _level(axes, level)
    for (_, points), colour in zip(lines.items(), cycle(COLOURS), strict=False):
        path = "L".join(f"{px:.1f} {py:.1f}" for px, py in _visible(axes, points))
        if path:
            parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    for number, points in enumerate(marks.values()):
        parts += [_mark(number, axes.x(point[0]), axes.y(point[1])) for point in points]
    width, height = size[0] * _INCH, size[1] * _INCH
    if len(lines) + len(marks) > 1:
        legend, rows = _legend(lines, marks, width, height)
        parts += legend
        height += rows * _ROW + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}pt" height="{height:.0f}pt" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="11" '
        f'fill="{GREY}">{"".join(parts)}</svg>'
    )


def _visible(axes: _Axes, points: Points) -> Iterator[tuple[float, float]]:
    """The points of a line, without those that nobody can tell from the one before."""
    last = None
    for index, point in enumerate(points):
        place = axes.x(point[0]), axes.y(point[1])
        ends = index == len(points) - 1
        if last is None or ends or max(abs(place[0] - last[0]), abs(place[1] - last[1])) >= 0.5:
            yield place
            last = place


def _steps(end: float, most: int) -> list[float]:
    """Round numbers from 0 to `end`, at most `most` intervals of them."""
    size: float = 10.0 ** math.floor(math.log10(end / most))
    step = next(size * times for times in (1, 2, 5, 10, 20) if end / (size * times) <= most)
    return [number * step for number in range(math.floor(end / step + 1e-9) + 1)]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:g}"


def _grid(axes: _Axes, x: str, y: str) -> Iterator[str]:
    left, bottom = _LEFT, _TOP + axes.height
    line = f'stroke="{GREY}" stroke-width="1"'
    for value in _steps(axes.right, max(2, int(axes.width / 70))):
        at = axes.x(value)
        yield f'<path d="M{at:.1f} {bottom:.1f}V{_TOP}" {line} opacity=".2"/>'
        text = _number(value)
        within = min(at, left + axes.width + _RIGHT - len(text) * _LETTER / 2)
        yield f'<text x="{within:.1f}" y="{bottom + 15:.1f}" text-anchor="middle">{text}</text>'
    for value in _steps(axes.top, max(2, int(axes.height / 34))):
        at = axes.y(value)
        yield f'<path d="M{left} {at:.1f}H{left + axes.width:.1f}" {line} opacity=".2"/>'
        yield f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">{_number(value)}</text>'
    yield f'<path d="M{left} {_TOP}V{bottom:.1f}H{left + axes.width:.1f}" fill="none" {line}/>'
    middle, across = left + axes.width / 2, _TOP + axes.height / 2
    yield (
        f'<text x="{middle:.1f}" y="{bottom + 33:.1f}" text-anchor="middle">{escape(x)}</text>'
        f'<text x="12" y="{across:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 12 {across:.1f})">{escape(y)}</text>'
    )


def _level(axes: _Axes, level: tuple[float, float, float]) -> Iterator[str]:
    value, low, high = (min(max(end, 0.0), axes.top) for end in level)
    y, bottom, top = axes.y(value), axes.y(low), axes.y(high)
    yield (
        f'<path d="M{_LEFT} {bottom:.1f}V{top:.1f}h{axes.width:.1f}V{bottom:.1f}Z" opacity=".15"/>'
        f'<path d="M{_LEFT} {y:.1f}h{axes.width:.1f}" stroke="{GREY}" stroke-width="1.2" '
        'stroke-dasharray="4 3"/>'
    )


_SHAPES = (
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
    "m-3.5 -3.5h7v7h-7z",
    "m0 -4.5l4.2 7.5h-8.4z",
    "m0 -5l4 5l-4 5l-4 -5z",
    "m0 4.5l4.2 -7.5h-8.4z",
)


def _mark(number: int, x: float, y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f}{_SHAPES[number % len(_SHAPES)]}"/>'


def _legend(
    lines: Mapping[str, Points], marks: Mapping[str, Points], width: float, top: float
) -> tuple[list[str], int]:
    """The names with their colours and marks, in rows below `top`; and how many rows."""
    parts: list[str] = []
    x, row = _LEFT, 0
    colours = cycle(COLOURS)
    for index, name in enumerate((*lines, *marks)):
        room = _KEY + _LETTER * len(name) + 14
        if x > _LEFT and x + room > width:
            x, row = _LEFT, row + 1
        y = top + row * _ROW + 8
        if index < len(lines):
            colour = next(colours)
            parts.append(f'<path d="M{x:.1f} {y - 4:.1f}h16" stroke="{colour}" stroke-width="2"/>')
        else:
            parts.append(_mark(index - len(lines), x + 8, y - 4))
        parts.append(f'<text x="{x + _KEY:.1f}" y="{y:.1f}">{escape(name)}</text>')
        x += room
    return parts, row + 1
